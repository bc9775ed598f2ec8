"""What extracting very many small files costs: processor time of a file.

    python -m benchmarks.small_files [--files 1000] [--key-groups 128] [--times 2]

Writes a heap snapshot of that many files (``tests/writers/plan_files.py``) and extracts it in this process, planning included.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Measurement, Size, one_core, show
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.options import JobOptions
from tests.writers.plan_files import write_plan_files

OPERATORS = 10
GOALS = {128: 2.95, 1: 0.85}
"""Milliseconds of processor time a file, by its key groups: half of what it took before files with equal headers shared one."""


def extracted(snapshot: Path, output: Path) -> float:
    """Seconds of processor time."""
    shutil.rmtree(output, ignore_errors=True)
    start = time.process_time()
    run_job(JobOptions(snapshot=str(snapshot), output=str(output)), in_this_process)
    return time.process_time() - start


def measure(files: int, key_groups: int, times: int) -> Iterator[Measurement]:
    """Files of ten operators."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_plan_files(folder / "snapshot", OPERATORS, files // OPERATORS, key_groups)
        seconds = min(extracted(folder / "snapshot", folder / "output") for _ in range(times))
    subject = f"{files:,} files of {key_groups} key groups"
    yield Measurement(subject, "extracted, processor time per file", seconds / files * 1e3, "ms", GOALS.get(key_groups))


def benchmark(size: Size) -> Iterator[Measurement]:
    """Files of many key groups, and of one."""
    one_core()
    for key_groups in GOALS:
        yield from measure(int(2000 * min(size.factor, 1)), key_groups, min(size.times, 2))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--key-groups", type=int, default=128)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    one_core()
    show(measure(options.files, options.key_groups, options.times))


if __name__ == "__main__":
    main()
