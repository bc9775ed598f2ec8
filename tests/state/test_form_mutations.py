"""Thousands of mutations of canonical bodies, RocksDB's files and operator state: only documented errors come out, or rows
that both engines give alike, in bounded time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.state.form_mutations import SUBJECTS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("form", SUBJECTS)
def test_mutations(form: str) -> None:
    """A crash would be a return code, an endless loop a time-out, a huge allocation a MemoryError."""
    count = 200 if form.startswith("SST") else 500
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.state.form_mutations", form, "20", str(count)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert summary["unexpected"] == []
    outcomes = summary["outcomes"]
    assert sum(outcomes.values()) == count
    assert summary["slowest"] < 10
    assert summary["grown"] < 400 << 20
    # Damage was found, and some damage cannot be: bits of values are values.
    assert outcomes["FormatError"] + outcomes["TruncatedError"] > count // 4
    assert 0 < outcomes["read"] < count // 2
