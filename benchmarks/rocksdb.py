"""How fast the RocksDB reader is: megabytes of uncompressed keys and values through ``pairs()`` on one core.

    python -m benchmarks.rocksdb FOLDER [--megabytes 500]

Databases are written into FOLDER (and kept there for the next run). Each line is one database; the first pass over a
small one compiles the kernel and is not counted. The target is 150 MB/s. On a busy machine look at the rate by processor
time.
"""

from __future__ import annotations

import argparse
import pickle
import resource
import time
from pathlib import Path

from benchmarks.sst_writer import Shape, write_database
from stateextract.files.filesystem import Store
from stateextract.metadata.model import FileHandle, IncrementalHandle, InlineHandle, StreamHandle
from stateextract.rocksdb import DatabaseFile, RocksOptions, checksums, open_rocksdb
from stateextract.rocksdb.access import FileRange, Inline

WINDOW = 4 << 20


def open_file(handle: StreamHandle) -> DatabaseFile:
    """Files by path, without a snapshot around them."""
    if isinstance(handle, InlineHandle):
        return Inline(handle.data, handle.name)
    assert isinstance(handle, FileHandle)
    return FileRange(Store().open(handle.path), handle.path, 0, handle.size)


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


def measure(handle: IncrementalHandle, options: RocksOptions) -> tuple[float, float, int]:
    """Seconds by the clock and of processor time, and pairs."""
    room = memoryview(bytearray(WINDOW))
    start, cpu = time.perf_counter(), time.process_time()
    source = open_rocksdb(handle, open_file, options).pairs("state", 0, 32767, 1)
    while source.read_into(room):
        pass
    return time.perf_counter() - start, time.process_time() - cpu, source.pairs


def main() -> None:
    """Measure some shapes of databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=500, help="uncompressed keys and values")
    given = parser.parse_args()
    measure(database(given.folder, Shape(1000)), RocksOptions())
    measure(database(given.folder, Shape(1000, checksum=checksums.CRC32C)), RocksOptions())
    for name, value, updates, compression, checksum in (
        ("Snappy, XXH3, one level", 100, 0, "snappy", checksums.XXH3),
        ("Snappy, CRC32C, one level", 100, 0, "snappy", checksums.CRC32C),
        ("none, XXH3, one level", 100, 0, "none", checksums.XXH3),
        ("Snappy, XXH3, four files of level 0 above", 100, 4, "snappy", checksums.XXH3),
        ("Snappy, XXH3, small values", 16, 0, "snappy", checksums.XXH3),
        ("Snappy, XXH3, large values", 1000, 0, "snappy", checksums.XXH3),
    ):
        rows = (given.megabytes << 20) // (value + 10)
        handle = database(given.folder, Shape(rows, value, 128, updates, compression, checksum))
        read = rows * (value + 10) + updates * (rows // 10) * (value + 10)
        seconds, cpu, pairs = measure(handle, RocksOptions())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:45} {pairs:9} pairs {handle.size / 1e6:6.0f} MB of files {seconds:6.2f} s "
            f"{read / seconds / 1e6:5.0f} MB/s (of processor time {read / cpu / 1e6:.0f} MB/s), peak {peak:.0f} MB"
        )


if __name__ == "__main__":
    main()
