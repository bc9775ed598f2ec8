"""How long ``stateextract get`` takes, in a new process each time.

    python -m benchmarks.get [--megabytes 5 50 490] [--shape pojo long-long] [--form heap] [--directory DIR]

Makes a snapshot of two key groups of each size, and looks for a key that is not there, whose bytes are looked for in all of its
key group, and for the middle and the last key of a key group, in front of which all entries are passed over. Prints the median
of some runs: seconds by the clock, and of processor time. The byte code, the kernel's machine code and the files lie in memory
by then: the first run of each is not counted.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from benchmarks.measuring import Measurement, Size, show
from benchmarks.pairs import Pairs, write_canonical, write_rocksdb
from stateextract.api import open_snapshot
from tests.writers.generate import entry_size, plan_operators, write_snapshot
from tests.writers.shapes import SHAPES

FORMS = ["heap", "heap-snappy", "canonical", "rocksdb"]
LENGTHS = 9
"""Bytes of a pair that an entry does not have: two lengths and a key group."""
ABSENT = {True: "-1", False: "nobody"}
"""Keys that no row has, by whether keys are longs."""
# Some containers forbid Python to keep byte code; an installed package has its own.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Seconds by the clock and of processor time that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write(path: Path, form: str, shape: str, megabytes: float) -> None:
    """A snapshot of two key groups of that size.

    :param form: one of ``FORMS``.
    """
    if form.startswith("heap"):
        plans = plan_operators([shape], gigabytes=megabytes * 2e-3, max_parallelism=2)
        write_snapshot(path, plans, compression="snappy" if form == "heap-snappy" else "none")
        return
    pairs = Pairs(SHAPES[shape], int(megabytes * 2e6 / (entry_size(SHAPES[shape]) + LENGTHS)), key_groups=2)
    if form == "canonical":
        write_canonical(path, pairs)
    else:
        write_rocksdb(path, pairs)


def present_keys(path: Path) -> dict[str, str]:
    """The middle key of a snapshot's first key group with rows, and the last one, by what they are called."""
    (state,) = open_snapshot(str(path)).states
    for group in range(2):
        keys = [str(batch.column("key")[-1].as_py()) for batch in state.to_batches(key_groups={group})]
        if keys:
            return {"middle": keys[(len(keys) - 1) // 2], "last": keys[-1]}
    raise ValueError(f"{path} has no rows")


def measure(folder: Path, form: str, shape: str, megabytes: float, runs: int) -> Iterator[Measurement]:
    """Look for three keys in one snapshot, which is written if the folder has none."""
    path = folder / f"{shape}-{megabytes:g}-{form}"
    if not path.exists():
        write(path, form, shape, megabytes)
    keys = {"absent": ABSENT[SHAPES[shape].long_key], **present_keys(path)}
    for which, key in keys.items():
        command = [sys.executable, "-m", "stateextract", "get", str(path), f"--key={key}"]
        taken = [timed(command) for _ in range(runs + 1)][1:]
        clock, processor = (sorted(column)[len(column) // 2] for column in zip(*taken, strict=True))
        subject = f"{form}, {shape}, {megabytes:g} MB a key group"
        yield Measurement(subject, f"{which} key", clock, "s")
        yield Measurement(subject, f"{which} key, processor time", processor, "s")


def benchmark(size: Size) -> Iterator[Measurement]:
    """POJOs in the heap form and in a database."""
    with tempfile.TemporaryDirectory() as folder:
        for form, megabytes in product(("heap", "rocksdb"), (5.0, 100 * size.factor)):
            yield from measure(Path(folder), form, "pojo", megabytes, size.times)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[5, 50, 490], help="of a key group")
    parser.add_argument("--shape", nargs="+", choices=sorted(SHAPES), default=["pojo", "long-long"])
    parser.add_argument("--form", nargs="+", choices=FORMS, default=["heap"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--directory", type=Path, help="keeps the snapshots, or takes those in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for form, shape, megabytes in product(options.form, options.shape, options.megabytes):
            show(measure(options.directory or Path(temporary), form, shape, megabytes, options.runs))


if __name__ == "__main__":
    main()
