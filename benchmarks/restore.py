"""``check`` with a jar of 50 MB and a snapshot of 300 states: seconds of processor time and of the clock.

Usage::

    python -m benchmarks.restore [--states 300] [--megabytes 50] [--runs 3]

The jar has the data class of a golden restore, a class for each of the states that declares it, and copies of the data class
with other constants under other names. Each state of the snapshot is of a POJO of this class as it was before it got a field,
with rows that a HashMap checkpoint has.
"""

from __future__ import annotations

import argparse
import random
import resource
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measuring import Measurement, Size, show
from tests.job.snapshots import write_snapshot
from tests.writers import flink_writer as flink

ROOT = Path(__file__).resolve().parents[1]
CELL = "pojo_field_added"


def make_jar(path: Path, classes: Path, megabytes: int, states: int, operators: int = 10) -> int:
    """A jar of that size; returns how many classes it has."""
    package = classes / "m" / CELL
    data, job = (package / "P.class").read_bytes(), (package / "Job.class").read_bytes()
    number = 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr(f"m/{CELL}/P.class", data)
        for i in range(states):
            declaring = _renamed(_renamed(job, "s", f"state-{i // operators}"), "op", f"operator-{i % operators}")
            jar.writestr(f"m/{CELL}/Job{i}.class", declaring)
        while jar.fp is not None and jar.fp.tell() < megabytes * 10**6:
            # Bytes that do not compress, since the code of a real job does not repeat.
            jar.writestr(f"library/p{number % 997}/C{number}.class", data + random.Random(number).randbytes(1_500))
            number += 1
    return number + states + 1


def _renamed(code: bytes, before: str, after: str) -> bytes:
    """A class file with another text in place of one."""
    old, new = (b"\x01" + struct.pack(">H", len(text)) + text.encode() for text in (before, after))
    assert code.count(old) == 1
    return code.replace(old, new)


def make_snapshot(path: Path, states: int, operators: int = 10) -> None:
    """A HashMap checkpoint with that many states, ten rows each."""
    value = flink.pojo(f"m.{CELL}.P", {"a": flink.INT, "b": flink.STRING})
    pojo = b"\x02\x00" + struct.pack(">i", 7) + b"\x00" + flink.flink_string("text")
    rows = {group: [struct.pack(">bq", 0, group * 100 + i) + pojo for i in range(2)] for group in range(5)}
    names = [f"state-{i}" for i in range(states // operators)]
    job: Any = {f"operator-{i}": dict.fromkeys(names, rows) for i in range(operators)}
    write_snapshot(path, job, values=dict.fromkeys(names, value))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--states", type=int, default=300)
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    show(measure(arguments.states, arguments.megabytes, arguments.runs))


def measure(states: int, megabytes: int, runs: int) -> Iterator[Measurement]:
    """``check`` in a process of its own."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with tarfile.open(ROOT / "tests" / "restore" / "golden.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        snapshot = folder / "states"
        make_snapshot(snapshot, states)
        jar = folder / "job.jar"
        classes = make_jar(jar, folder / "classes" / "new" / CELL, megabytes, states)
        command = [
            sys.executable, "-m", "stateextract", "check", str(snapshot), "--classpath", str(jar), "--flink", "2.3",
            "--backend", "rocksdb", "--format", "json",
        ]  # fmt: skip
        taken = []
        for _ in range(runs):
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=False)
            assert done.stdout.count(b'"state_name"') == states, done.returncode
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            taken.append((time.monotonic() - begun, used))
        subject = f"{states} states, JAR of {classes:,} classes"
        yield Measurement(subject, "checked", min(taken)[0], "s")
        yield Measurement(subject, "checked, processor time", min(used for _, used in taken), "s")


def benchmark(size: Size) -> Iterator[Measurement]:
    """300 states and a JAR of 50 MB."""
    return measure(300, 50, size.times)


if __name__ == "__main__":
    main()
