"""``docs/cli.md``: every example runs, and prints what the page shows.

``python -m tests.docs.test_cli`` writes what comes out into the page.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from stateextract.cli import _COMMANDS, run

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cli.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUT = "/tmp/orders"


def examples() -> list[str]:
    """The commands of the page, in order."""
    return [line.removeprefix("$ ") for block in BLOCK.findall(PAGE.read_text()) for line in block.splitlines()[:1]]


def shown(text: str, out: str) -> str:
    """What a command printed, without what differs from machine to machine."""
    text = text.replace(f"{ROOT}/", "…/").replace(out, OUT)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def outcome(command: str, out: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What an example prints; ``out`` stands in for the folder that examples write to."""
    program, *arguments = shlex.split(command)
    assert program == "stateextract"
    run([argument.replace(OUT, out) for argument in arguments])
    printed = capsys.readouterr()
    return shown(printed.out + printed.err, out)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cli") / "orders")


@pytest.mark.parametrize("command", examples())
def test_example(command: str, out: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "110")
    blocks = dict(block.split("\n", 1) for block in BLOCK.findall(PAGE.read_text()))
    assert outcome(command, out, capsys) == blocks[f"$ {command}"]


def test_every_command_has_an_example() -> None:
    assert {command.split()[1] for command in examples()} == set(_COMMANDS)


def write() -> None:
    """Run the examples and put what they print into the page."""
    import subprocess
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/orders"

        def filled(match: re.Match[str]) -> str:
            command = match[1].split("\n", 1)[0]
            arguments = [a.replace(OUT, out) for a in shlex.split(command)[2:]]
            done = subprocess.run(
                [sys.executable, "-m", "stateextract.cli", *arguments],
                cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "110"},
            )  # fmt: skip
            return f"```console\n{command}\n{shown(done.stdout + done.stderr, out)}```"

        PAGE.write_text(BLOCK.sub(filled, PAGE.read_text()))


if __name__ == "__main__":
    write()
