"""What decoding costs beside writing Parquet, on one core, in one run.

    python -m benchmarks.decode [--megabytes 200] [--shape pojo]...

For each shape: a heap state file of that size is generated and read into memory; then, in turn and several times over,
its key groups are decoded into Arrow batches (no files, no Spark), and the same rows, from Arrow in memory, are written as
Parquet into memory with the settings that the job's writer would choose. The ratio of the best times is printed, and how
much faster the kernel is than the interpreter (on a small part of the file). The decoded rows are compared with the rows
that were generated.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measuring import Measurement, Size, in_turn, one_core, show
from stateextract.files.filesystem import Store
from stateextract.job.writer import column_encodings, parquet_settings
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import KeyGroupsHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import parse_header
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead
from tests.writers.generate import PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES, rows

GOALS = {"long-long": 0.6, "pojo": 0.3, "map": 0.5, "list": 0.5, "nested": 0.5}


class StateFile:
    """A keyed state file in memory."""

    def __init__(self, folder: Path) -> None:
        store = Store()
        found = find_snapshot(str(folder), store)
        metadata = parse_metadata(store.read(found.metadata_uri))
        handle = next(s.managed_keyed for o in metadata.operators for s in o.subtasks if s.managed_keyed is not None)
        assert isinstance(handle, KeyGroupsHandle)
        location = Locator(found, store).locate(handle.stream)
        assert location.uri is not None
        self.data = store.read(location.uri)
        self.head = parse_header(self.data, 0, min(handle.offsets))
        ends = [*handle.offsets[1:], len(self.data)]
        self.groups = [KeyGroupRange(g, s, e) for g, s, e in zip(handle.key_groups, handle.offsets, ends, strict=True)]

    def decode(self, engine: str, groups: int | None = None) -> list[pa.RecordBatch]:
        """All batches of its one state."""
        view = memoryview(self.data)
        options = ReadOptions(engine=engine, key_group_column=False, subtask_column=False)
        pieces = read_key_groups(
            lambda offset, length: view[offset : offset + length],
            self.head, self.groups[:groups], FileRead({m.name for m in self.head.states}, options, Counters(), 0),
        )  # fmt: skip
        return [piece.batch for piece in pieces]


def best(action: Callable[[], object], times: int) -> float:
    """The shortest of several runs, in seconds of processor time."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return min(taken)


def write(table: pa.Table, settings: dict[str, object]) -> None:
    """The table as Parquet in memory, row groups of the size that the job writes."""
    sink = pa.BufferOutputStream()
    writer = pq.ParquetWriter(sink, table.schema, **settings)
    step = max(1, int(64e6 / max(table.nbytes / max(table.num_rows, 1), 1)))
    for at in range(0, table.num_rows, step):
        writer.write_table(table.slice(at, step), row_group_size=step)
    writer.close()


def measure(name: str, megabytes: float, folder: Path, times: int) -> Iterator[Measurement]:
    """Measure one shape."""
    shape = SHAPES[name]
    entries = int(megabytes * 1e6 / entry_size(shape))
    write_snapshot(folder, [PlannedOperator("bench", [PlannedState(name, entries)])])
    file = StateFile(folder)
    file.decode("kernel", 1)
    batches = file.decode("kernel")
    table = pa.Table.from_batches(batches)
    assert table.num_rows == entries
    _check(table, name, entries)
    settings = parquet_settings("zstd", column_encodings(table.slice(0, 65536), "zstd"))
    decode, written = in_turn(
        times, lambda: best(lambda: file.decode("kernel"), 1), lambda: best(lambda: write(table, settings), 1)
    )
    part = max(1, int(len(file.groups) * 5e6 / len(file.data)))
    slow, fast = best(lambda: file.decode("interpreter", part), 1), best(lambda: file.decode("kernel", part), 5)
    yield Measurement(name, "decoded by the kernel", entries / decode / 1e6, "M rows/s")
    yield Measurement(name, "decoded by the kernel", len(file.data) / decode / 1e6, "MB/s")
    yield Measurement(name, "decode ÷ write Parquet", decode / written, "", GOALS[name])
    yield Measurement(name, "kernel ÷ interpreter, speed", slow / fast)


def _check(table: pa.Table, name: str, entries: int) -> None:
    """A sample of the generated rows must be among the decoded ones, exactly."""
    sample = rows(name, 1, 0, min(entries, 1000))
    keys = set(sample["key"].to_pylist())
    mask = pa.array([key in keys for key in table["key"].to_pylist()])
    found = {repr(row["key"]): row["value"] for row in table.filter(mask).to_pylist()}
    for row in sample.to_pylist():
        have, want = found[repr(row["key"])], row["value"]
        if name == "map":
            have, want = dict(have), dict(want)
        assert repr(have) == repr(want), (have, want)


def shapes(names: Iterable[str], megabytes: float, times: int) -> Iterator[Measurement]:
    """Measure some shapes."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            yield from measure(name, megabytes, Path(folder), times)


def benchmark(size: Size) -> Iterator[Measurement]:
    """All shapes."""
    one_core()
    yield from shapes(GOALS, 100 * size.factor, size.times)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--shape", action="append", choices=sorted(GOALS))
    options = parser.parse_args()
    one_core()
    show(shapes(options.shape or GOALS, options.megabytes, options.times))


if __name__ == "__main__":
    main()
