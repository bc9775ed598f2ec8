"""What the first read on a machine costs: a wheel in an environment of its own, an empty cache, no Numba.

    python -m benchmarks.first_read [--megabytes 100] [--times 3]

Builds the wheel, installs it with its requirements from the package index into a new virtual environment, and measures
``stateextract --version`` and then the first extract of a heap snapshot of that size, both with an empty home directory. Prints
the seconds of each, their sum against the goal, the rows, and the size of the installation by package.
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
from pathlib import Path

from tests.writers.generate import PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES

GOAL = 3.0
"""Seconds for both commands."""
ROOT = Path(__file__).resolve().parent.parent


def install(folder: Path) -> Path:
    """A virtual environment with the wheel; gives its Python."""
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder / "wheel", ROOT], check=True)
    venv.create(folder / "venv", symlinks=True, with_pip=True)
    python = folder / "venv" / "bin" / "python"
    (wheel,) = (folder / "wheel").glob("*.whl")
    print(f"wheel: {wheel.stat().st_size / 1e6:.2f} MB")
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel], check=True)
    return python


def print_sizes(python: Path) -> None:
    """What the installation takes, without pip."""
    packages = next((python.parent.parent / "lib").glob("python*")) / "site-packages"
    sizes = {}
    for entry in packages.iterdir():
        files = entry.rglob("*") if entry.is_dir() else [entry]
        name = entry.name.removesuffix(".libs").partition("-")[0]
        sizes[name] = sizes.get(name, 0) + sum(file.lstat().st_size for file in files if not file.is_dir())
    sizes = {name: size for name, size in sizes.items() if name not in ("pip", "setuptools", "_distutils_hack")}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:8]
    print(f"installation: {sum(sizes.values()) / 1e6:.0f} MB: " + ", ".join(f"{n} {s / 1e6:.0f}" for n, s in largest))


def measure(python: Path, snapshot: Path, folder: Path) -> float:
    """Seconds of both commands, with an empty home."""
    home, output = folder / "home", folder / "output"
    shutil.rmtree(output, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    total, line = 0.0, ""
    extract = ["extract", "--engine", "local", "--snapshot", str(snapshot), "--output", str(output)]
    for arguments in (["--version"], extract):
        start, used = time.perf_counter(), os.times()
        subprocess.run(
            [python, "-m", "stateextract", *arguments], env=environment, cwd=folder, check=True, capture_output=True
        )
        seconds = time.perf_counter() - start
        after = os.times()
        processor = after.children_user + after.children_system - used.children_user - used.children_system
        total += seconds
        line += f"{arguments[0]} {seconds:.2f} s ({processor:.2f} s of processor time), "
    kept = [path for path in home.rglob("*") if path.is_file()]
    (entry,) = json.loads((output / "_coverage.json").read_text())["entries"]
    verdict = "met" if total <= GOAL else "missed"
    print(
        f"{line}together {total:.2f} s, goal {GOAL} s {verdict}; {entry['read']['rows']:,} rows by the "
        f"{entry['read']['engine']}, {len(kept)} files compiled into the cache",
        flush=True,
    )
    return total


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = install(folder)
        print_sizes(python)
        entries = int(options.megabytes * 1e6 / entry_size(SHAPES["pojo"]))
        write_snapshot(folder / "snapshot", [PlannedOperator("bench", [PlannedState("pojo", entries)])])
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        best = min(measure(python, folder / "snapshot", folder) for _ in range(options.times))
    print(f"best: {best:.2f} s")


if __name__ == "__main__":
    main()
