"""Cases of PyFlink, made by jobs in Python: ``jobs/pyflink/job.py``, and ``tables.py`` for the Table API."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.golden.case import CANONICAL, NATIVE, Case

JOBS = Path(__file__).resolve().parent / "jobs" / "pyflink"
PROGRAMS = {"pyflink": "job.py", "pyflink-tables": "tables.py"}
VERSIONS = {"f120": "1.20.5", "f23": "2.3.0"}
PYTHON = "python3.11"
"""The newest for which both versions have wheels."""


def pyflink_cases() -> list[Case]:
    """State of a Python process, and of Python in the JVM's thread, which writes with Java's serializers."""
    return [
        Case("f120", "pyflink", max_parallelism=8),
        Case("f120", "pyflink", CANONICAL, max_parallelism=8, suffix="thread"),
        Case("f23", "pyflink", NATIVE, compression=True, max_parallelism=8),
        Case("f23", "pyflink", max_parallelism=8, suffix="thread"),
        *(Case(version, "pyflink-tables", max_parallelism=8, backend="rocksdb") for version in VERSIONS),
        # On the heap PyFlink's tables keep one key object, so that each key becomes the last one.
        Case("f23", "pyflink-tables", max_parallelism=8),
    ]


def run_pyflink(cases: Sequence[Case], work: Path, data: Path) -> None:
    """Runs each case in a virtual environment with apache-flink, which is kept in ``work``."""
    for case in cases:
        folder = work / f"pyflink-{VERSIONS[case.version]}"
        if not folder.exists():
            _run([PYTHON, "-m", "venv", str(folder)])
            pip = [str(folder / "bin" / "pip"), "install", "-q"]
            _run([*pip, "setuptools<80", "wheel"])  # what old releases without wheels are built with
            _run([*pip, f"apache-flink=={VERSIONS[case.version]}"])
        mode = "thread" if case.suffix == "thread" else "process"
        arguments = [case.name, case.kind, mode, str(work / case.name), str(data / case.name)]
        # Python inside of the JVM does not know the virtual environment.
        packages = next(folder.glob("lib/python*/site-packages"))
        program = JOBS / PROGRAMS[case.job]
        _run(["env", f"PYTHONPATH={packages}:{JOBS}", str(folder / "bin" / "python"), str(program), *arguments])


def _run(command: list[str]) -> None:
    if subprocess.run(command).returncode != 0:
        sys.exit(f"{command[0]} failed")


__all__ = ["pyflink_cases", "run_pyflink"]
