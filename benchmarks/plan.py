"""Planning a snapshot of very many files: time, memory and the size of the plan.

    python benchmarks/plan.py [--directory DIR]

Makes 5,000 files of 128 key groups each (or takes those in DIR), plans an extract of all of them with every head read,
and prints the seconds, the largest resident size of the process and the bytes of all splits together.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from stateextract.job.plan import make_plan
from stateextract.job.split import encode_split
from stateextract.options import parse_arguments
from tests.writers.plan_files import write_plan_files


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--directory", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.directory or Path(temporary) / "snapshot"
        if not folder.exists():
            write_plan_files(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        plan = make_plan(parse_arguments(["--snapshot", str(folder), "--output", temporary]))
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = sum(len(encode_split(split)) for split in plan.splits)
        print(
            f"{len(plan.files)} files, {len(plan.splits)} splits: {seconds:.1f} s (goal 60), "
            f"{peak * 1024 / 1e6:.0f} MB resident, {before * 1024 / 1e6:.0f} before (goal 1000), "
            f"splits {size / 1e6:.2f} MB (goal 50)"
        )


if __name__ == "__main__":
    main()
