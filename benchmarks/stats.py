"""What statistics cost beside decoding, on one core, in one run.

    python -m benchmarks.stats [--megabytes 200] [--shape pojo]...

For each shape a heap state file of that size is generated and read into memory; then, in turn and several times over, its
key groups are decoded into Arrow batches, and decoded with statistics made of every batch, each with the batches that the
extract job and statistics read. The ratio of the best times is printed; the goal is 1.5. Those of statistics are larger, which
is faster for decoding too: the ratio to decoding these is printed beside it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.decode import StateFile
from benchmarks.measuring import Measurement, Size, in_turn, one_core, show
from stateextract.audit.collect import BATCH_ROWS
from stateextract.audit.measure.state_statistics import MeasureOptions, StateStatistics
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.state_columns import ReadOptions
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


def measure(name: str, megabytes: float, folder: Path, times: int) -> Iterator[Measurement]:
    """Measure one shape."""
    entries = int(megabytes * 1e6 / entry_size(SHAPES[name]))
    write_snapshot(folder, [PlannedOperator("bench", [PlannedState(name, entries)])])
    file = StateFile(folder)
    assert run(file, True, BATCH_ROWS)[0] == entries
    decoded, larger, counted = in_turn(
        times,
        lambda: run(file, False, ReadOptions().batch_rows)[1],
        lambda: run(file, False, BATCH_ROWS)[1],
        lambda: run(file, True, BATCH_ROWS)[1],
    )
    yield Measurement(name, "decoded, with statistics", entries / counted / 1e6, "M rows/s")
    yield Measurement(name, "with statistics ÷ decode", counted / decoded, "", GOAL)
    yield Measurement(name, "with statistics ÷ decode, same batches", counted / larger)


def shapes(names: Iterable[str], megabytes: float, times: int) -> Iterator[Measurement]:
    """Measure some shapes."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            yield from measure(name, megabytes, Path(folder), times)


def benchmark(size: Size) -> Iterator[Measurement]:
    """All shapes."""
    one_core()
    yield from shapes(SHAPES, 60 * size.factor, size.times)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES))
    options = parser.parse_args()
    one_core()
    show(shapes(options.shape or SHAPES, options.megabytes, options.times))


if __name__ == "__main__":
    main()
