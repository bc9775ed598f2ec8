"""Completion: the scripts for shells, and what they are told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stateextract.cli import _COMMANDS
from stateextract.cli.completion import SHELLS
from tests.cli.test_cli import ROOT, Out, out
from tests.cli.test_tables import ORDERS

__all__ = ["out"]  # a fixture


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts(out: Out, shell: str) -> None:
    code, text, err = out("completion", shell)
    assert (code, err) == (0, "")
    assert f"_STATEEXTRACT_COMPLETE={shell}_complete" in text


def test_an_unknown_shell(out: Out) -> None:
    code, _, err = out("completion", "tcsh")
    assert code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in err


def completed(words: str) -> list[str]:
    """What the shell is told for a line whose last word is being typed."""
    line = f"stateextract {words}"
    environment = {"_STATEEXTRACT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "stateextract"],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_commands_and_options() -> None:
    assert completed("") == list(_COMMANDS)
    assert completed("head x --kee") == ["--keep-empty-maps"]
    assert completed("get x --k") == ["--key", "--keep-empty-maps", "--kryo"]


def test_names_of_the_snapshot(tmp_path: Path) -> None:
    assert completed(f"head {ORDERS} --operator ord") == ["orders", "orders-by-customer"]
    assert completed(f"get {ORDERS} --operator orders-by-customer --state o") == ["order-ids"]
    assert completed(f"schema {ORDERS} --state w") == ["window-contents"]
    assert completed(f"head {tmp_path} --operator o") == []
    # Of two snapshots the later one.
    assert completed(f"diff {tmp_path} {ORDERS} --operator sales-per-hour --state w") == ["window-contents"]
