"""What an incremental comparison of two RocksDB checkpoints costs beside the full one, in one run.

    python -m benchmarks.incremental_diff [--gigabytes 2] [--percent 1] [--value 1000] [--keep DIR]

Writes the database of one subtask, all of its rows on level 1, and its two checkpoints: the later one has one file of level 0
more, with new values of some of the keys. These are spread evenly over all keys, which is the worst case, because each of
them is in another block. In turn and several times over, both checkpoints are compared in full and incrementally by one
process, the changes being made as rows; the ratios of the best processor times and of the bytes read are printed. What is
found is compared with what was written.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.measuring import Measurement, Size, show
from benchmarks.sst_writer import Shape, write_chain
from stateextract.diff import DiffOptions, make_diff_plan
from stateextract.diff.diff_task import DiffRunner
from stateextract.metadata.model import IncrementalHandle, InlineHandle, OperatorState, SnapshotMetadata, SubtaskState
from stateextract.options import JobOptions
from tests.metadata import writer
from tests.writers import flink_writer as flink

_BYTES = flink.simple(f"{flink.TYPEUTILS}.array.BytePrimitiveArraySerializer")


def snapshot(folder: Path, checkpoint: int, database: IncrementalHandle, groups: int) -> Path:
    """A checkpoint of an operator with the one subtask that has the database."""
    head = flink.head(flink.LONG, [flink.State("state", "VALUE", _BYTES)], compressed=False)
    handle = replace(database, checkpoint_id=checkpoint, meta=InlineHandle("meta", head))
    subtask = SubtaskState(0, managed_keyed=handle)
    operator = OperatorState(flink.operator_id("bench").hex(), "bench", "bench", 1, groups, subtasks=(subtask,))
    target = folder / f"chk-{checkpoint}"
    target.mkdir(parents=True, exist_ok=True)
    (target / "_metadata").write_bytes(writer.metadata(SnapshotMetadata(6, checkpoint, (), (operator,))))
    return target


def compare(pair: Sequence[Path], full: bool) -> tuple[float, int, int]:
    """Seconds of processor time, bytes read, and rows that changed."""
    start = time.process_time()
    jobs = [JobOptions(snapshot=str(path)) for path in pair]
    plan = make_diff_plan(jobs[0], jobs[1], DiffOptions(full=full))
    runner = DiffRunner(plan.context)
    changed = rows = 0
    for unit in plan.units:
        for changes in runner.run(unit):
            changed += changes.counts.changed
            rows += 0 if changes.rows is None else changes.rows.num_rows
            assert not changes.counts.added, changes.counts
            assert not changes.counts.removed, changes.counts
            assert not changes.counts.remarks, changes.counts
    assert changed == rows
    assert plan.states[0].incremental is not full
    return time.process_time() - start, runner.bytes_read, changed


def measure(folder: Path, gigabytes: float, percent: float, value: int, times: int) -> Iterator[Measurement]:
    """Compare two checkpoints in full and incrementally."""
    rows = int(gigabytes * 1e9 / (value + 10))
    shape = Shape(rows, value, updates=1, step=round(100 / percent))
    handles = write_chain(folder / "shared", shape)
    pair = [snapshot(folder, number, handle, shape.groups) for number, handle in enumerate(handles, 1)]
    wanted = -(-rows // shape.step)
    best: dict[bool, tuple[float, int, int]] = {}
    for _ in range(times):  # in turn, so that a change of the machine's speed touches both
        for full in (True, False):
            found = compare(pair, full)
            assert found[2] == wanted, (found, wanted)
            best[full] = min(best.get(full, found), found)
    (seconds, read, _), (seconds_less, read_less, _) = best[True], best[False]
    subject = f"{rows:,} rows, {percent:g} % changed"
    yield Measurement(subject, "full comparison, processor time", seconds, "s")
    yield Measurement(subject, "incremental ÷ full, processor time", seconds_less / seconds, "", 0.15)
    yield Measurement(subject, "incremental ÷ full, bytes read", read_less / read, "", 0.10)


def benchmark(size: Size) -> Iterator[Measurement]:
    """Values of 1,000 bytes, 1 % of which changed."""
    with tempfile.TemporaryDirectory() as folder:
        yield from measure(Path(folder), 2 * min(size.factor, 1), 1, 1000, min(size.times, 2))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--percent", type=float, default=1, help="of the keys that are updated")
    parser.add_argument("--value", type=int, default=1000, help="bytes of a value")
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--keep", metavar="DIR", type=Path, help="where the checkpoints are made, and stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        show(measure(options.keep or Path(scratch), options.gigabytes, options.percent, options.value, options.times))


if __name__ == "__main__":
    main()
