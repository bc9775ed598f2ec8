"""What statistics cost beside decoding, on one core, in one run.

    python benchmarks/stats.py [--megabytes 200] [--shape pojo]...

For each shape a heap state file of that size is generated and read into memory; then, in turn and several times over, its
key groups are decoded into Arrow batches, and decoded with statistics made of every batch, each with the batches that the
extract job and statistics read. The ratio of the best times is printed; the goal is 1.5. Those of statistics are larger, which
is faster for decoding too: the ratio to decoding these is printed beside it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.decode import StateFile
from stateextract.audit.collect import BATCH_ROWS
from stateextract.audit.measure.state import MeasureOptions, StateStatistics
from stateextract.state.engine import Counters, ReadOptions, read_key_groups
from stateextract.state.target import FileRead
from tests.writers.generate import PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES

GOAL = 1.5


def run(file: StateFile, statistics: bool, batch_rows: int) -> tuple[int, float]:
    """Read the file's one state.

    :returns: rows and seconds of the processor, since others may use it too.
    """
    start = time.process_time()
    view = memoryview(file.data)
    options = ReadOptions(engine="kernel", batch_rows=batch_rows)
    figures: StateStatistics | None = None
    rows = 0
    for piece in read_key_groups(
        lambda offset, length: view[offset : offset + length],
        file.head, file.groups, FileRead({m.name for m in file.head.states}, options, Counters(), 0),
    ):  # fmt: skip
        rows += piece.batch.num_rows
        if statistics:
            figures = figures or StateStatistics(piece.batch.schema, MeasureOptions(as_of_ms=1_700_000_000_000))
            figures.add(piece.batch, 0)
    if figures is not None:
        figures.document_columns()
    return rows, time.process_time() - start


def measure(name: str, megabytes: int, folder: Path, times: int) -> None:
    """Measure one shape and print a line."""
    entries = int(megabytes * 1e6 / entry_size(SHAPES[name]))
    write_snapshot(folder, [PlannedOperator("bench", [PlannedState(name, entries)])])
    file = StateFile(folder)
    run(file, True, BATCH_ROWS)
    plain, larger, counted = [], [], []
    for _ in range(times):  # in turn, so that a change of the machine's speed touches both
        plain.append(run(file, False, ReadOptions().batch_rows)[1])
        larger.append(run(file, False, BATCH_ROWS)[1])
        rows, seconds = run(file, True, BATCH_ROWS)
        counted.append(seconds)
    assert rows == entries
    best, most = min(plain), min(counted)
    print(
        f"{name:10} {rows / best / 1e6:6.2f} M entries/s decoded, {rows / most / 1e6:6.2f} with statistics   "
        f"ratio {most / best:5.2f} (goal {GOAL}), of the same batches {most / min(larger):5.2f}",
        flush=True,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES))
    options = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in options.shape or SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, options.megabytes, Path(folder), options.times)


if __name__ == "__main__":
    main()
