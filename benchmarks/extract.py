"""The whole job on ``local[2]``, compared with two bare processes that write the same rows from Arrow in memory.

    python -m benchmarks.extract [--gigabytes 4] [--files 8] [--shape pojo] [--single-key-group] [--keep DIR]

Generates a snapshot (or takes the one in DIR) and extracts a small one: the first job of a new session, which starts Python
workers and loads the kernel, is the price of starting cold. Then it extracts the small one (what a job costs besides the
bytes that it reads: the plan, Spark's job, the commit) and the big one, and writes bare, all in turn; the best of each counts.
Prints wall times, processor times (of the driver, the JVM and the Python workers together), the largest resident size that any
Python worker reached, and the ratio to the bare write.

A bare write: two new Python processes, without Spark, each read half of the files that the job wrote into Arrow tables in
memory and wait for each other. What is measured begins there: each writes its tables again as Parquet, one file for each file
of the job, the same columns, in row groups of the same size, and the slower process counts. It is done in two ways:

* as the job writes: the same codec, dictionaries, encodings and settings of the memory; the encodings are known in advance,
* as plain pyarrow writes: the same codec and dictionaries, other columns plain, pyarrow's own memory pool.

If other processes load the machine, compare processor times. Then the benchmark prints where the time of a task goes: a few
splits of the same job run in this process under Python's profiler.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import multiprocessing
import os
import pstats
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.measuring import Measurement, Size, UnavailableError, show
from stateextract.job.execute import OnReport, Tasks, keep_memory, opened
from stateextract.job.run import run_job
from stateextract.job.writer import DICTIONARY, column_encodings, parquet_settings
from stateextract.options import parse_arguments
from stateextract.spark.environment import read_properties
from stateextract.spark.job import extract
from tests.writers.generate import PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES

GOAL = 1.35
"""Extract ÷ bare write as the job writes."""
CONFIGURATION = Path(__file__).resolve().parent.parent / "conf" / "spark-defaults.conf"

PHASES = {
    "writing Parquet": {("core.py", "write_table")},
    "decoding (kernel)": {("native.py", "call"), ("decoder.py", "_run")},
    "reading": {("~", "<built-in method posix.preadv>"), ("window.py", "read_into")},
}
"""Functions, by file and name, whose own time is a phase's."""


def largest_worker() -> float:
    """MB that any of Spark's Python workers reached. They live on after a job, so that one look is enough."""
    peak = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            if b"pyspark" in (status.parent / "cmdline").read_bytes():
                fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
                if "java" not in fields["Name"]:
                    peak = max(peak, int(fields["VmHWM"].split()[0]))
    return peak * 1024 / 1e6


@dataclass(frozen=True)
class Cost:
    """Seconds of wall time and of processor time."""

    wall: float
    processor: float


def least(costs: Sequence[Cost]) -> Cost:
    """The best wall time and the best processor time."""
    return Cost(min(cost.wall for cost in costs), min(cost.processor for cost in costs))


def processor_time() -> float:
    """Seconds of this process and of all that descend from it, those that have ended included."""
    ticks: dict[int, tuple[int, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            ticks[int(stat.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family = {os.getpid()}
    while more := {pid for pid, (parent, _) in ticks.items() if parent in family} - family:
        family |= more
    return sum(ticks[pid][1] for pid in family) / os.sysconf("SC_CLK_TCK")


def job(session: Any, snapshot: Path, output: Path, *more: str) -> Cost:
    """Extract a snapshot."""
    shutil.rmtree(output, ignore_errors=True)
    options = parse_arguments(["--snapshot", str(snapshot), "--output", str(output), *more])
    os.sync()  # or the system writes files of before while this is measured
    start, processor = time.perf_counter(), processor_time()
    outcome = extract(options, None, session)
    taken = Cost(time.perf_counter() - start, processor_time() - processor)
    assert outcome.exit_code == 0
    return taken


def bare(files: list[str], folder: str, as_the_job: bool, barrier: Any, costs: Any) -> None:
    """One of the bare processes: read, wait, write."""
    if as_the_job:
        keep_memory()
    tables = [pq.read_table(file) for file in files]
    encodings = column_encodings(tables[0].slice(0, 65536), "zstd")
    if not as_the_job:
        encodings = {path: encoding for path, encoding in encodings.items() if encoding == DICTIONARY}
    settings = parquet_settings("zstd", encodings)
    barrier.wait()
    start, processor = time.perf_counter(), time.process_time()
    for number, table in enumerate(tables):
        writer = pq.ParquetWriter(f"{folder}/{number}.parquet", table.schema, **settings)
        step = max(1, int(64e6 / (table.nbytes / table.num_rows)))
        for at in range(0, table.num_rows, step):
            writer.write_table(table.slice(at, step), row_group_size=step)
        writer.close()
    costs.put(Cost(time.perf_counter() - start, time.process_time() - processor))


def bare_write(output: Path, folder: Path, as_the_job: bool) -> Cost:
    """Two processes write what the job wrote; the wall time of the slower one."""
    files = sorted(map(str, output.glob("*/*/*.parquet")), key=lambda f: Path(f).stat().st_size)
    context = multiprocessing.get_context("spawn")
    barrier, costs = context.Barrier(2), context.Queue()
    processes = []
    targets = [folder / f"bare-{as_the_job}-{half}" for half in (0, 1)]
    for half, target in enumerate(targets):
        target.mkdir(exist_ok=True)
        arguments = (files[half::2], str(target), as_the_job, barrier, costs)
        processes.append(context.Process(target=bare, args=arguments))
    os.sync()
    for process in processes:
        process.start()
    both = [costs.get(), costs.get()]
    for process in processes:
        process.join()
    return Cost(max(cost.wall for cost in both), sum(cost.processor for cost in both))


class _EnoughError(Exception):
    """Ends a job that was only begun to look at its tasks."""


def phases(snapshot: Path, folder: Path, splits: int = 5) -> dict[str, float]:
    """Share of a task's time by what it is spent on; the first split is left out, it is there to warm up."""
    profile = cProfile.Profile()

    def some(tasks: Tasks, on_report: OnReport) -> None:
        run = opened(tasks.open, tasks.shared)
        run(0, tasks.record(0))
        profile.enable()
        for split in range(1, min(tasks.count, splits + 1)):
            run(split, tasks.record(split))
        profile.disable()
        raise _EnoughError

    with contextlib.suppress(_EnoughError):
        run_job(parse_arguments(["--snapshot", str(snapshot), "--output", str(folder / "phases")]), some)
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    found = dict.fromkeys((*PHASES, "else"), 0.0)
    for (file, _, function), (_, _, own, _, _) in stats.items():
        place = (Path(file).name, function)
        found[next((name for name, places in PHASES.items() if place in places), "else")] += own
    total = sum(found.values()) or 1.0
    return {name: seconds / total for name, seconds in found.items()}


@dataclass(frozen=True)
class Setting:
    """What to extract. :param keep: directory for the snapshot, used again if it is there."""

    gigabytes: float = 4.0
    files: int = 8
    shape: str = "pojo"
    single_key_group: bool = False
    keep: Path | None = None
    bare: bool = True
    times: int = 3


def generate(setting: Setting, big: Path, small: Path) -> None:
    """The two snapshots."""
    entries = int(setting.gigabytes * 1e9 / entry_size(SHAPES[setting.shape]))
    group = 42 if setting.single_key_group else None
    operator = PlannedOperator("bench", [PlannedState(setting.shape, entries)], setting.files, key_group=group)
    write_snapshot(big, [operator])
    write_snapshot(small, [PlannedOperator("bench", [PlannedState(setting.shape, 10_000)], setting.files)])


def measure(setting: Setting) -> Iterator[Measurement]:
    """Extract, write bare, and profile some tasks."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as temporary:
        work = setting.keep or Path(temporary)
        big, small, output = work / "big", work / "small", work / "out"
        if not big.exists():
            generate(setting, big, small)
        builder = SparkSession.builder
        for name, value in read_properties(CONFIGURATION.read_text()).items():
            builder = builder.config(name, value)
        session = builder.master("local[2,4]").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        first: Cost | None = None
        costs: dict[str, list[Cost]] = {"small": [], "extract": [], "as the job": [], "as plain pyarrow": []}
        for _ in range(setting.times):
            # Splits of 64 KB: enough of them for every worker to get one. Spark ends workers that wait for a minute.
            warming = job(session, small, output, "--split-bytes", "64 KB")
            first = first or warming
            costs["small"].append(job(session, small, output))
            costs["extract"].append(job(session, big, output))
            # Each of the two processes needs a file.
            if setting.bare and len(list(output.glob("*/*/*.parquet"))) > 1:
                costs["as the job"].append(bare_write(output, Path(temporary), True))
                costs["as plain pyarrow"].append(bare_write(output, Path(temporary), False))
        peak = largest_worker()
        size = sum(f.stat().st_size for f in big.iterdir())
        written = sum(f.stat().st_size for f in output.glob("*/*/*.parquet"))
        session.stop()
        assert first is not None
        warm = least(costs["extract"])
        subject = f"{setting.shape}, {size / 1e9:.1f} GB"
        yield Measurement(subject, "first job of a session, small", first.wall, "s")
        yield Measurement(subject, "extract", warm.wall, "s")
        yield Measurement(subject, "a job of 10,000 rows", least(costs["small"]).wall, "s")
        yield Measurement(subject, "extract, per GB of state", warm.wall / size * 1e9, "s")
        yield Measurement(subject, "extract, processor time per GB", warm.processor / size * 1e9, "s")
        yield Measurement(subject, "Parquet ÷ state, bytes", written / size)
        yield Measurement(subject, "largest Python worker", peak, "MB")
        for how, goal in (("as the job", GOAL), ("as plain pyarrow", None)):
            if costs[how]:
                alone = least(costs[how])
                yield Measurement(subject, f"extract ÷ bare write, {how}", warm.wall / alone.wall, "", goal)
                yield Measurement(subject, "the same, processor time", warm.processor / alone.processor)
        for name, share in phases(big, Path(temporary)).items():
            yield Measurement(subject, f"share of a task: {name}", 100 * share, "%")


def benchmark(size: Size) -> Iterator[Measurement]:
    """POJOs in eight files."""
    if shutil.which("java") is None:
        raise UnavailableError("Spark needs Java")
    return measure(Setting(min(4.0, 4 * size.factor), times=size.times))  # a bare write holds all rows in memory


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--shape", default="pojo", choices=sorted(SHAPES))
    parser.add_argument("--single-key-group", action="store_true")
    parser.add_argument("--keep", type=Path, help="folder for the snapshot, used again if it is there")
    parser.add_argument(
        "--no-bare", dest="bare", action="store_false", help="no bare write (it holds all rows in memory)"
    )
    show(measure(Setting(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
