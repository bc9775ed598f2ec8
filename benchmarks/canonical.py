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
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.decode import StateFile
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
from stateextract.state.engine import Counters, ReadOptions, read_key_groups
from stateextract.state.header import parse_header
from stateextract.state.target import FileRead
from tests.writers.generate import PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES

GOAL = 1.3
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
        return [p.batch for p in read_database(opened, known, ranges, FileRead({STATE}, OPTIONS, Counters(), 0), GROUPS)]

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


def compare(name: str, megabytes: int, folder: Path, times: int) -> None:
    """Measure one shape and print a line."""
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
    best = dict.fromkeys(readers, float("inf"))
    for _ in range(times):  # in turn, so that a change of the machine's speed touches all
        for form, reader in readers.items():
            best[form] = min(best[form], timed(reader))
    sizes = {"heap": len(heap_file.data), "canonical": canonical_size, "RocksDB": rocksdb_size}
    shown = "   ".join(
        f"{form} {sizes[form] / 1e6:4.0f} MB {entries / seconds / 1e6:6.2f} M rows/s {seconds / best['heap']:5.2f}"
        for form, seconds in best.items()
    )
    print(
        f"{name:10} {shown}   {'' if best['canonical'] <= GOAL * best['heap'] else 'canonical: goal missed'}",
        flush=True,
    )


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


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200, help="size of each heap file")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES))
    parser.add_argument("--memory", type=float, metavar="GIGABYTES", help="extract a savepoint of that size instead")
    parser.add_argument("--form", choices=["canonical", "rocksdb"], default="canonical", help="with --memory")
    given = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in given.shape or SHAPES:
        folder = Path(tempfile.mkdtemp())
        try:
            if given.memory:
                extract(name, given.memory, given.form, folder)
            else:
                compare(name, given.megabytes, folder, given.times)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
