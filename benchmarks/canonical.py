"""What canonical bodies and RocksDB's files cost beside heap bodies, for the same rows, on one core, in one run.

    python -m benchmarks.canonical [--megabytes 200] [--shape pojo]...
    python -m benchmarks.canonical --memory 4 --shape pojo --form canonical

First: for each shape a heap file, a canonical file and a database of the same rows are written and decoded in turn, several
times over, each read from memory and from local files alike; the best times are compared (the goal for canonical is 1.3
times the heap's), and the rows of all three. Second: a savepoint of so many gigabytes is extracted by a whole job in this
process, and the most memory that it took is printed.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.decode import StateFile
from benchmarks.measuring import Measurement, Size, in_turn, one_core, show
from benchmarks.pairs import GROUPS, OPERATOR, STATE, Pairs, head, write_canonical, write_rocksdb
from benchmarks.rocksdb import open_file
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.parser import parse_metadata
from stateextract.options import JobOptions
from stateextract.rocksdb import RocksDB, RocksOptions, open_rocksdb
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.database import read_database, shares
from stateextract.state.bodies.heap import key_group_ranges
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import parse_header
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead
from tests.writers.generate import PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES

GOALS: dict[str, dict[str, float | None]] = {
    "canonical": {"": 1.3},
    "RocksDB": {"": None, "pojo": 3.5, "map": 3.5},
}
"""How many times the heap form's time per row, by shape."""
OPTIONS = ReadOptions(engine="kernel", key_group_column=False, subtask_column=False)
Batches = list[pa.RecordBatch]


def canonical_reader(folder: Path) -> tuple[Callable[[], Batches], int]:
    """A function that decodes the file of a savepoint, which is in memory; and the file's size."""
    handle = parse_metadata((folder / "_metadata").read_bytes()).operators[0].subtasks[0].managed_keyed
    data = (folder / "state").read_bytes()
    view = memoryview(data)
    known = parse_header(data, 0, min(offset for offset in handle.offsets if offset))
    ranges = key_group_ranges(0, handle.offsets, len(data), 0)

    def decode() -> Batches:
        pieces = read_key_groups(
            lambda offset, length: view[offset : offset + length],
            known, ranges, FileRead({STATE}, OPTIONS, Counters(), 0), BodyKind.FULL_SNAPSHOT, GROUPS,
        )  # fmt: skip
        return [piece.batch for piece in pieces]

    return decode, len(data)


def rocksdb_reader(folder: Path, pairs: Pairs) -> tuple[Callable[[], Batches], int]:
    """A function that decodes a database; and the size of its files."""
    handle = write_rocksdb(folder, pairs)
    start = head(pairs.shape)
    known = parse_header(start, 0, len(start))

    def opened(options: RocksOptions) -> RocksDB:
        return open_rocksdb(handle, open_file, options)

    def decode() -> Batches:
        ranges = shares(range(GROUPS), handle.size)
        return [
            p.batch for p in read_database(opened, known, ranges, FileRead({STATE}, OPTIONS, Counters(), 0), GROUPS)
        ]

    return decode, handle.size


def timed(action: Callable[[], Batches]) -> float:
    """Seconds of processor time."""
    gc.collect()
    start = time.process_time()
    action()
    return time.process_time() - start


def same(one: Batches, other: Batches) -> bool:
    """Whether the rows are equal, in any order of keys."""
    first, second = (pa.Table.from_batches(batches) for batches in (one, other))
    if first.num_rows != second.num_rows or first.schema != second.schema:
        return False
    step = max(first.num_rows // 20_000, 1)
    order = [pc.sort_indices(t, [("key", "ascending")]).slice(0) for t in (first, second)]
    chosen = [t.take(pa.array(o.to_numpy()[::step])) for t, o in zip((first, second), order, strict=True)]
    return [_comparable(row) for row in chosen[0].to_pylist()] == [_comparable(row) for row in chosen[1].to_pylist()]


def _comparable(row: dict[str, object]) -> tuple[str, object]:
    value = row["value"]
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        value = sorted(value, key=str)
    return str(row["key"]), value


def compare(name: str, megabytes: float, folder: Path, times: int) -> Iterator[Measurement]:
    """Measure one shape."""
    shape = SHAPES[name]
    entries = int(megabytes * 1e6 / entry_size(shape))
    pairs = Pairs(shape, entries)
    write_snapshot(folder / "heap", [PlannedOperator(OPERATOR, [PlannedState(name, entries, STATE)])])
    heap_file = StateFile(folder / "heap")
    canonical, canonical_size = canonical_reader(write_canonical(folder / "canonical", pairs))
    rocksdb, rocksdb_size = rocksdb_reader(folder / "rocksdb", pairs)
    readers = {"heap": lambda: heap_file.decode("kernel"), "canonical": canonical, "RocksDB": rocksdb}
    reference = readers["heap"]()
    assert sum(batch.num_rows for batch in reference) == entries
    for form in ("canonical", "RocksDB"):
        assert same(reference, readers[form]()), form
    del reference
    heap, *others = in_turn(times, *(lambda read=reader: timed(read) for reader in readers.values()))
    yield Measurement(name, "heap", entries / heap / 1e6, "M rows/s")
    sizes = canonical_size, rocksdb_size
    for form, seconds, size in zip(GOALS, others, sizes, strict=True):
        yield Measurement(
            name, f"{form}, {size / len(heap_file.data):.1f} × the bytes", entries / seconds / 1e6, "M rows/s"
        )
        yield Measurement(name, f"{form} ÷ heap, time", seconds / heap, "", GOALS[form].get(name, GOALS[form][""]))


def extract(name: str, gigabytes: float, form: str, folder: Path) -> None:
    """Extract a large savepoint in this process and print the most memory that it took."""
    shape = SHAPES[name]
    pairs = Pairs(shape, int(gigabytes * 1e9 / entry_size(shape)))
    # In a process of its own: what writing takes does not count.
    child = os.fork()
    if not child:
        write = write_canonical if form == "canonical" else write_rocksdb
        write(folder / "savepoint", pairs)
        os._exit(0)
    os.waitpid(child, 0)
    size = sum(file.stat().st_size for file in (folder / "savepoint").iterdir())
    start, cpu = time.perf_counter(), time.process_time()
    outcome = run_job(JobOptions(snapshot=str(folder / "savepoint"), output=str(folder / "out")), in_this_process)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    assert sum(dataset.rows for dataset in outcome.manifest.datasets) == pairs.entries
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(
        f"{name} {form}: {size / 1e9:.2f} GB of files, {pairs.entries:,} rows, {seconds:.0f} s "
        f"({cpu:.0f} s of processor time), peak {peak:.0f} MB"
    )


def shapes(names: Iterable[str], megabytes: float, times: int) -> Iterator[Measurement]:
    """Compare the forms of some shapes."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            yield from compare(name, megabytes, Path(folder), times)


def benchmark(size: Size) -> Iterator[Measurement]:
    """All shapes."""
    one_core()
    yield from shapes(SHAPES, 100 * size.factor, size.times)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200, help="size of each heap file")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES))
    parser.add_argument("--memory", type=float, metavar="GIGABYTES", help="extract a savepoint of that size instead")
    parser.add_argument("--form", choices=["canonical", "rocksdb"], default="canonical", help="with --memory")
    given = parser.parse_args()
    one_core()
    names = given.shape or SHAPES
    if given.memory is None:
        show(shapes(names, given.megabytes, given.times))
    for name in names if given.memory else ():
        with tempfile.TemporaryDirectory() as folder:
            extract(name, given.memory, given.form, Path(folder))


if __name__ == "__main__":
    main()
