"""Damaged changelogs: only documented errors come out, in bounded time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
def test_mutations(engine: str) -> None:
    """A crash would be a return code, an endless loop a time-out, a huge allocation a MemoryError."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.changelog.mutations", "7", "250", engine],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert summary["unexpected"] == []
    assert sum(summary["outcomes"].values()) == 250
    assert summary["slowest"] < 10
    assert summary["grown"] < 200 << 20
    assert {"read", "TruncatedError", "FormatError"} < set(summary["outcomes"])
