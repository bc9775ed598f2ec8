"""How fast the RocksDB reader is: megabytes of uncompressed keys and values through ``pairs()`` on one core.

    python -m benchmarks.rocksdb FOLDER [--megabytes 500] [--times 3]

Databases are written into FOLDER (and kept there for the next run). Each line is one database. Rates are by processor time,
the best of several passes. What rows of states cost beside the heap form is in ``benchmarks/canonical.py``.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Measurement, Size, in_turn, one_core, show
from benchmarks.sst_writer import Shape, write_database
from stateextract.files.filesystem import Store
from stateextract.files.piece import FilePiece, Inline
from stateextract.metadata.model import FileHandle, IncrementalHandle, InlineHandle, StreamHandle
from stateextract.rocksdb import RocksOptions, checksums, open_rocksdb

WINDOW = 4 << 20
GOAL = 150
"""MB of keys and values a second."""


def open_file(handle: StreamHandle) -> FilePiece:
    """Files by path, without a snapshot around them."""
    if isinstance(handle, InlineHandle):
        return Inline(handle.data, handle.name)
    assert isinstance(handle, FileHandle)
    return FilePiece(Store().open(handle.path), 0, handle.size, uri=handle.path)


def database(folder: Path, shape: Shape) -> IncrementalHandle:
    """Write the database, or take the one that is there."""
    name = f"{shape.rows}-{shape.value}-{shape.updates}-{shape.step}-{shape.compression}-{shape.checksum}"
    known = folder / name / "handle.pickle"
    if known.exists():
        loaded: IncrementalHandle = pickle.loads(known.read_bytes())
        return loaded
    handle = write_database(folder / name, shape)
    known.write_bytes(pickle.dumps(handle))
    return handle


def measure(handle: IncrementalHandle, options: RocksOptions) -> float:
    """Seconds of processor time for all pairs."""
    room = memoryview(bytearray(WINDOW))
    start = time.process_time()
    source = open_rocksdb(handle, open_file, options).pairs("state", 0, 32767, 1)
    while source.read_into(room):
        pass
    return time.process_time() - start


def databases(folder: Path, megabytes: float, times: int) -> Iterator[Measurement]:
    """Measure some shapes of databases."""
    for name, value, updates, compression, checksum in (
        ("Snappy, XXH3, one level", 100, 0, "snappy", checksums.XXH3),
        ("Snappy, CRC32C, one level", 100, 0, "snappy", checksums.CRC32C),
        ("no compression, XXH3, one level", 100, 0, "none", checksums.XXH3),
        ("Snappy, four files of level 0", 100, 4, "snappy", checksums.XXH3),
        ("Snappy, values of 16 bytes", 16, 0, "snappy", checksums.XXH3),
        ("Snappy, values of 1,000 bytes", 1000, 0, "snappy", checksums.XXH3),
    ):
        rows = int(megabytes * 1e6) // (value + 10)
        handle = database(folder, Shape(rows, value, updates=updates, compression=compression, checksum=checksum))
        read = rows * (value + 10) + updates * (rows // 10) * (value + 10)
        (seconds,) = in_turn(times, lambda handle=handle: measure(handle, RocksOptions()))
        yield Measurement(name, "pairs and their merge", read / seconds / 1e6, "MB/s", GOAL, at_least=True)


def benchmark(size: Size) -> Iterator[Measurement]:
    """All databases."""
    one_core()
    with tempfile.TemporaryDirectory() as folder:
        yield from databases(Path(folder), 150 * size.factor, size.times)


def main() -> None:
    """Measure some shapes of databases."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=500, help="uncompressed keys and values")
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    one_core()
    show(databases(given.folder, given.megabytes, given.times))


if __name__ == "__main__":
    main()
