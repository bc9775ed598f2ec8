"""Runs all benchmarks and prints one table: figure, goal, verdict.

    python -m benchmarks [--quick | --full] [--only NAME]... [--json FILE]
    python -m benchmarks --write-docs

Each benchmark runs in a process of its own, one after the other. A benchmark that needs what this machine does not have (a
JDK, Maven, a browser, a package index) is skipped with a note. ``--write-docs`` keeps the results in
``benchmarks/results.json`` and makes ``docs/performance.md`` of them. With ``--from FILE`` it makes the page of results
measured before. The exit code is 1 if a benchmark failed. A missed goal is a verdict, not a failure.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measuring import DEFAULT, FULL, QUICK, Measurement, Size, UnavailableError, machine, show

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "performance.md"
BENCHMARKS = (
    "state_processor", "kryo", "extract", "first_read", "decode", "canonical", "rocksdb", "sql", "avro", "pickle_values",
    "stats", "diff", "incremental_diff", "get", "plan", "small_files", "object_store", "value_costs", "restore", "report",
)  # fmt: skip
"""Modules with a function ``benchmark``, in the order of the table."""
SIZES = {"quick": QUICK, "default": DEFAULT, "full": FULL}

Result = dict[str, Any]


def run_one(name: str, size: Size) -> Result:
    """Run a benchmark in this process."""
    start = time.perf_counter()
    result: Result = {"measurements": []}
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        found = show(module.benchmark(size), name)
        result["measurements"] = [asdict(one) for one in found]
    except UnavailableError as error:
        print(f"{name:17}skipped: {error}", flush=True)
        result["skipped"] = str(error)
    result["seconds"] = round(time.perf_counter() - start, 1)
    return result


def run_apart(name: str, size: str) -> Result:
    """Run a benchmark in a process of its own, which prints its measurements."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "result.json"
        command = [sys.executable, "-m", "benchmarks", "--one", name, "--size", size, "--json", str(report)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code:
            print(f"{name:17}failed with exit code {code}", flush=True)
            return {"measurements": [], "failed": code}
        result: Result = json.loads(report.read_text())
        return result


def run_all(names: list[str], size: str) -> dict[str, Any]:
    """Run benchmarks one after the other.

    :returns: machine, versions, and the result of each.
    """
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    document: dict[str, Any] = {
        "machine": machine(), "python": platform.python_version(), "commit": commit.stdout.strip(), "size": size,
        "measured": datetime.now(UTC).strftime("%Y-%m-%d"), "benchmarks": {},
    }  # fmt: skip
    for name in names:
        document["benchmarks"][name] = run_apart(name, size)
    return document


def verdicts(document: dict[str, Any]) -> str:
    """One line: how many goals are met, which are missed, what was skipped or failed."""
    met, lines = 0, []
    for name, result in document["benchmarks"].items():
        for one in (Measurement(**fields) for fields in result["measurements"]):
            met += one.verdict == "met"
            if one.verdict == "missed":
                lines.append(
                    f"missed: {name}, {one.subject}, {one.quantity}: {one.value:.3g} {one.unit} ({one.goal_text})"
                )
        lines += [f"{state}: {name}: {result[state]}" for state in ("skipped", "failed") if state in result]
    seconds = sum(result.get("seconds", 0) for result in document["benchmarks"].values())
    return "\n".join(
        [*lines, f"{met} goals met, {sum(line.startswith('missed') for line in lines)} missed, in {seconds:.0f} s"]
    )


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").splitlines()[0])
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument(
        "--quick", dest="size", action="store_const", const="quick", help="a tenth of the sizes, one repetition"
    )
    scale.add_argument(
        "--full", dest="size", action="store_const", const="full", help="four times the sizes, five repetitions"
    )
    scale.add_argument("--size", choices=sorted(SIZES), default="default", help=argparse.SUPPRESS)
    parser.add_argument(
        "--only", action="append", choices=BENCHMARKS, metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument("--write-docs", action="store_true", help="keep the results and write docs/performance.md")
    parser.add_argument("--from", dest="earlier", type=Path, metavar="FILE", help="take these results, measure nothing")
    parser.add_argument("--one", choices=BENCHMARKS, help=argparse.SUPPRESS)
    parser.set_defaults(size="default")  # an action that stores a constant has None
    return parser.parse_args()


def main() -> int:
    """Run the benchmarks."""
    options = parse()
    if options.one:
        result = run_one(options.one, SIZES[options.size])
        options.json.write_text(json.dumps(result))
        return 0
    if options.earlier:
        document = json.loads(options.earlier.read_text())
    else:
        document = run_all(options.only or list(BENCHMARKS), options.size)
        print(verdicts(document))
    text = json.dumps(document, indent=1) + "\n"
    if options.json:
        options.json.write_text(text)
    if options.write_docs:
        from benchmarks.page import performance_page

        RESULTS.write_text(text)
        PAGE.write_text(performance_page(document), encoding="utf-8")
    return int(any("failed" in result for result in document["benchmarks"].values()))


if __name__ == "__main__":
    sys.exit(main())
