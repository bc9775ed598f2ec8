"""Planning a snapshot of very many files: time, memory and the size of the plan.

    python -m benchmarks.plan [--directory DIR]

Makes 5,000 files of 128 key groups each (or takes those in DIR), plans an extract of all of them with every head read,
and prints the seconds, the largest resident size of the process and the bytes of all splits together.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Measurement, Size, show
from stateextract.job.plan import make_plan
from stateextract.job.split import encode_split
from stateextract.options import parse_arguments
from tests.writers.plan_files import write_plan_files


def measure(folder: Path) -> Iterator[Measurement]:
    """Plan an extract of one snapshot."""
    start = time.perf_counter()
    plan = make_plan(parse_arguments(["--snapshot", str(folder), "--output", str(folder / "output")]))
    seconds = time.perf_counter() - start
    size = sum(len(encode_split(split)) for split in plan.splits)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    subject = f"{len(plan.files):,} files"
    yield Measurement(subject, "planned", seconds, "s", 60)
    yield Measurement(subject, "planned, per file", seconds / len(plan.files) * 1e3, "ms")
    yield Measurement(subject, "largest resident size", peak * 1024 / 1e6, "MB", 1000)
    yield Measurement(subject, "descriptors of the splits", size / 1e6, "MB", 50)


def benchmark(size: Size) -> Iterator[Measurement]:
    """50 operators."""
    with tempfile.TemporaryDirectory() as folder:
        write_plan_files(Path(folder) / "snapshot", files=int(max(100 * min(size.factor, 1), 4)))
        yield from measure(Path(folder) / "snapshot")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--directory", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.directory or Path(temporary) / "snapshot"
        if not folder.exists():
            write_plan_files(folder)
        show(measure(folder))


if __name__ == "__main__":
    main()
