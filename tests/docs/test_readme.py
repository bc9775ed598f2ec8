"""The README's examples run, and the commands say what it says they say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("block", blocks("console"))
def test_console(block: str) -> None:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "stateextract"
        done = run(sys.executable, "-m", "stateextract.cli", *arguments)
        assert done.returncode == 0, done.stderr
        assert [line.rstrip() for line in done.stdout.splitlines()] == [line.rstrip() for line in shown.splitlines()]


@pytest.mark.parametrize("block", blocks("python"))
def test_python(block: str) -> None:
    done = run(sys.executable, "-c", block + "\nprint(orders.num_rows, orders.column_names)")
    assert done.returncode == 0, done.stderr
    assert "orders-by-customer last-order value" in done.stdout
    assert done.stdout.splitlines()[-1] == "5 ['key', 'value', 'key_group', 'subtask']"


def test_there_are_examples() -> None:
    assert blocks("console")
    assert blocks("python")


def test_files_that_are_named_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
