"""What the first read on a machine costs: a wheel in an environment of its own, an empty cache, no Numba.

    python -m benchmarks.first_read [--megabytes 100] [--times 3]

Builds the wheel, installs it with its requirements from the package index into a new virtual environment, and measures
``stateextract --version`` and then the first extract of a heap snapshot of that size, both with an empty home directory. The
machine code must not be compiled. Also measured: the size of the installation by package.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measuring import Measurement, Size, UnavailableError, show
from tests.writers.generate import PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES

GOAL = 3.0
"""Seconds for both commands."""
ROOT = Path(__file__).resolve().parent.parent


def install(folder: Path) -> Iterator[Measurement]:
    """A virtual environment with the wheel."""
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder / "wheel", ROOT], check=True)
    venv.create(folder / "venv", symlinks=True, with_pip=True)
    python = folder / "venv" / "bin" / "python"
    (wheel,) = (folder / "wheel").glob("*.whl")
    yield Measurement("wheel", "size", wheel.stat().st_size / 1e6, "MB")
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel]
    if subprocess.run(command, check=False).returncode:
        raise UnavailableError("the package index cannot be reached")
    yield from sizes(python)


def sizes(python: Path) -> Iterator[Measurement]:
    """What the installation takes, without pip."""
    packages = next((python.parent.parent / "lib").glob("python*")) / "site-packages"
    found: dict[str, int] = {}
    for entry in packages.iterdir():
        files = entry.rglob("*") if entry.is_dir() else [entry]
        name = entry.name.removesuffix(".libs").partition("-")[0]
        found[name] = found.get(name, 0) + sum(file.lstat().st_size for file in files if not file.is_dir())
    found = {name: size for name, size in found.items() if name not in ("pip", "setuptools", "_distutils_hack")}
    yield Measurement("installation without Spark", "size", sum(found.values()) / 1e6, "MB")
    for name in sorted(found, key=lambda name: -found[name])[:8]:
        yield Measurement(f"package {name}", "size", found[name] / 1e6, "MB")


def measure(python: Path, snapshot: Path, folder: Path) -> list[tuple[float, float]]:
    """Seconds and processor seconds of both commands, with an empty home."""
    home, output = folder / "home", folder / "output"
    shutil.rmtree(output, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    taken = []
    extract = ["extract", "--engine", "local", "--snapshot", str(snapshot), "--output", str(output)]
    for arguments in (["--version"], extract):
        start, used = time.perf_counter(), os.times()
        subprocess.run(
            [python, "-m", "stateextract", *arguments], env=environment, cwd=folder, check=True, capture_output=True
        )
        seconds = time.perf_counter() - start
        after = os.times()
        processor = after.children_user + after.children_system - used.children_user - used.children_system
        taken.append((seconds, processor))
    (entry,) = json.loads((output / "_coverage.json").read_text())["entries"]
    assert entry["read"]["engine"] == "kernel"
    assert not [path for path in home.rglob("*") if path.is_file()], "something was compiled"
    return taken


def first_commands(megabytes: float, times: int) -> Iterator[Measurement]:
    """Build, install, and run the first commands."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from install(folder)
        python = folder / "venv" / "bin" / "python"
        entries = int(megabytes * 1e6 / entry_size(SHAPES["pojo"]))
        write_snapshot(folder / "snapshot", [PlannedOperator("bench", [PlannedState("pojo", entries)])])
        runs = [measure(python, folder / "snapshot", folder) for _ in range(times)]
    best = min(runs, key=sum_of_seconds)
    subject = f"{entries:,} POJOs, {megabytes:.0f} MB"
    yield Measurement(subject, "stateextract --version", best[0][0], "s")
    yield Measurement(subject, "first extract", best[1][0], "s")
    yield Measurement(subject, "both", sum_of_seconds(best), "s", GOAL)
    yield Measurement(subject, "both, processor time", sum(processor for _, processor in best), "s")


def sum_of_seconds(taken: list[tuple[float, float]]) -> float:
    """By the clock."""
    return sum(seconds for seconds, _ in taken)


def benchmark(size: Size) -> Iterator[Measurement]:
    """100 MB of POJOs."""
    return first_commands(100 * min(size.factor, 1), size.times)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    show(first_commands(options.megabytes, options.times))


if __name__ == "__main__":
    main()
