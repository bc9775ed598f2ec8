"""What comparing two snapshots costs beside decoding both, in one run.

    python -m benchmarks.diff [--gigabytes 2] [--shape pojo] [--single-key-group] [--keep DIR]

Generates two snapshots of the HashMap backend, of other parallelism each. The later one has 2 % more rows, and beside the state
that stays it has one of 5 % of the size whose values are all others. In turn and several times over, all rows of both are
decoded by one process, and both are compared by one process, the changes being made as rows; the ratio of the best times is
printed. Then they are compared by as many processes as there are cores, with the changes as Parquet, and the largest resident
size that any process reached is printed. What is found is compared with what was generated.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Measurement, Size, show
from stateextract.diff import DiffCounts, DiffOptions, DiffPlan, make_diff_plan
from stateextract.diff.diff_task import DiffRunner
from stateextract.files.cores import usable_cores
from stateextract.options import JobOptions
from stateextract.snapshot.part_reader import PartReader
from stateextract.snapshot.reading import read_options
from stateextract.state.counters import Counters
from tests.writers.generate import SINGLE_KEY_GROUP, PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES

OTHER_SEED = 2


def generate(folder: Path, shape: str, gigabytes: float, single: bool) -> tuple[Path, Path, int]:
    """The two snapshots, if they are not there, and how many rows of the state that stays the earlier one has."""
    size = entry_size(SHAPES[shape])
    rows, few = int(gigabytes * 1e9 / size), int(gigabytes * 5e7 / size)
    group = SINGLE_KEY_GROUP if single else None
    made = []
    for name, count, seed, files in (("before", rows, None, 4), ("after", rows + rows // 50, OTHER_SEED, 2)):
        made.append(folder / name)
        if not (made[-1] / "_metadata").exists():
            states = [PlannedState(shape, count, "kept"), PlannedState(shape, few, "changed", seed)]
            write_snapshot(made[-1], [PlannedOperator("bench", states, files, key_group=group)])
    return made[0], made[1], rows


def plan_of(pair: tuple[Path, Path]) -> DiffPlan:
    """The plan of the comparison."""
    before, after = (JobOptions(snapshot=str(path)) for path in pair)
    return make_diff_plan(before, after, DiffOptions())


def decode(plan: DiffPlan) -> int:
    """Decode all rows of both sides, in the same pieces; how many there are."""
    count = 0
    for number, side in enumerate(plan.context.sides):
        reader = PartReader(side.metadata_uri, read_options(side.options, side.describe))
        for unit in plan.units:
            for part in unit.parts[number]:
                for piece in reader.pieces(part, side.targets[unit.operator], Counters()):
                    count += piece.batch.num_rows
    return count


def compare(plan: DiffPlan) -> dict[str, DiffCounts]:
    """Compare both sides, state by state."""
    found: dict[str, DiffCounts] = {}
    runner = DiffRunner(plan.context)
    for unit in plan.units:
        for changes in runner.run(unit):
            found.setdefault(changes.state.name, DiffCounts()).add(changes.counts)
    return found


class Sizes(threading.Thread):
    """Watches the resident size of the processes below one."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root = root
        self.peaks: dict[int, int] = {}
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.1):
            for process in _below(self.root):
                try:
                    lines = Path(f"/proc/{process}/status").read_text().splitlines()
                except OSError:
                    continue
                peak = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
                self.peaks[process] = max(peak * 1024, self.peaks.get(process, 0))


def _below(process: int) -> Iterator[int]:
    yield process
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _below(int(child))


def command(pair: tuple[Path, Path], out: Path, workers: int) -> tuple[float, float]:
    """``stateextract diff --output`` in processes: seconds, and the largest resident size in MB."""
    start = time.perf_counter()
    arguments = ["diff", *map(str, pair), "--output", str(out), "--workers", str(workers)]
    process = subprocess.Popen([sys.executable, "-m", "stateextract", *arguments], stdout=subprocess.DEVNULL)
    sizes = Sizes(process.pid)
    sizes.start()
    if process.wait():
        raise SystemExit("stateextract diff failed")
    taken = time.perf_counter() - start
    sizes.done.set()
    sizes.join()
    return taken, max(sizes.peaks.values()) / 1e6


def measure(pair: tuple[Path, Path], rows: int, times: int) -> Iterator[Measurement]:
    """Decode both snapshots and compare them."""
    plan = plan_of(pair)
    compare(plan_of(pair))  # kernels are loaded
    decoding, comparing = [], []
    for _ in range(times):  # in turn, so that a change of the machine's speed touches both
        for action, taken in ((decode, decoding), (compare, comparing)):
            start = time.process_time()
            result = action(plan)
            taken.append(time.process_time() - start)
    assert isinstance(result, dict)
    kept, changed = result["kept"], result["changed"]
    assert (kept.before, kept.added, kept.removed, kept.changed) == (rows, rows // 50, 0, 0), kept
    assert (changed.added, changed.removed) == (0, 0), changed
    assert changed.changed > 0.99 * changed.before, changed
    subject = f"{rows:,} rows"
    yield Measurement(subject, "compared", rows / min(comparing) / 1e6, "M rows/s")
    yield Measurement(subject, "compare ÷ decode both", min(comparing) / min(decoding), "", 4)
    workers = usable_cores()
    with tempfile.TemporaryDirectory() as out:
        seconds, peak = command(pair, Path(out) / "changes", workers)
    yield Measurement(subject, f"{workers} processes, changes as Parquet", seconds, "s")
    yield Measurement(subject, "largest process", peak, "MB", 600)


def benchmark(size: Size) -> Iterator[Measurement]:
    """Two snapshots of POJOs."""
    with tempfile.TemporaryDirectory() as folder:
        *pair, rows = generate(Path(folder), "pojo", 0.3 * size.factor, False)
        yield from measure((pair[0], pair[1]), rows, size.times)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="pojo")
    parser.add_argument("--single-key-group", action="store_true")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--keep", metavar="DIR", type=Path, help="where the snapshots are made, and stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        *pair, rows = generate(folder, options.shape, options.gigabytes, options.single_key_group)
        show(measure((pair[0], pair[1]), rows, options.times))


if __name__ == "__main__":
    main()
