"""What every command shows in a terminal of 80 and of 200 columns, and in a pipe; the texts are in ``tests/cli/screens``.

``UPDATE_SCREENS=1`` writes them anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from stateextract.cli import _COMMANDS
from stateextract.screen import TextTable

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "golden" / "data"
SCREENS = Path(__file__).parent / "screens"
ORDERS = "examples/orders-checkpoint"
HIGH_AVAILABILITY = "examples/high-availability"
KINDS = "tests/golden/data/f20-kinds-native/savepoint-f87621-afd0825e23c0"
CUSTOM = next(str(p.parent.relative_to(ROOT)) for p in (DATA / "f20-custom-native-snappy").rglob("_metadata"))
CHANGES = [
    str(next((DATA / f"f23-changes-checkpoint{name}").glob("*/")).relative_to(ROOT)) for name in ("", "-changelog-rescaled")
]
OF_KINDS = [KINDS, "--operator", "all-kinds", "--state"]

COMMANDS = [
    ["checkpoints", f"{HIGH_AVAILABILITY}/znodes.json"],
    ["checkpoints", f"{HIGH_AVAILABILITY}/ha"],
    ["inspect", KINDS],
    ["inspect", CUSTOM],
    ["states", KINDS],
    ["states", CUSTOM],
    ["schema", *OF_KINDS, "list-event"],
    ["files", KINDS],
    ["head", *OF_KINDS, "list-event", "-n", "3"],
    ["get", *OF_KINDS, "map-tuple", "--key", "plain"],
    ["count", CUSTOM],
    ["validate", CUSTOM],
    ["stats", ORDERS, "--as-of", "2023-11-29T00:00:00Z", "--workers", "1"],
    ["stats", ORDERS, "--state", "last-order", "--as-of", "2023-11-29T00:00:00Z", "--workers", "1"],
    ["audit", ORDERS, "--rules", "examples/rules.toml", "--workers", "1"],
    ["check", ORDERS, "--against", KINDS, "--flink", "2.3"],
    ["check", ORDERS, "--same-job", "--flink", "2.3"],
    ["history", ORDERS, "-o", "OUTPUT/history", "--workers", "1"],
    ["watch", f"{HIGH_AVAILABILITY}/checkpoints", "--all", "--once", "--workers", "1"],
    ["report", ORDERS, "-o", "OUTPUT/report.html", "--workers", "1"],
    ["extract", ORDERS, "--engine", "local", "--workers", "1", "-o", "OUTPUT/all"],
    ["extract", ORDERS, "--engine", "local", "--workers", "1", "-o", "OUTPUT/one", "--state", "voucher"],
    ["diff", *CHANGES, "--workers", "1"],
    ["kafka-offsets", "examples/kafka-savepoint"],
    ["types", "avro"],
    ["uid-hash", "one", "two"],
    ["states", KINDS, "--wide"],
    ["head", *OF_KINDS, "no-such-state"],
    ["head", KINDS, "--operator", "all-kinds"],
]
_RUN = """
import json, sys
from stateextract.cli import run
for arguments in json.loads(sys.argv[1]):
    print("$ stateextract", *arguments, flush=True)
    code = run(arguments)
    print(f"exit code {code}\\n", flush=True)
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """The snapshots at a path that is as long everywhere, so that lines end at the same words."""
    made = Path(tempfile.mkdtemp(prefix="screens-", dir="/tmp"))
    for place in ("examples", KINDS, CUSTOM, *(str(Path(path).parent) for path in CHANGES)):
        shutil.copytree(ROOT / place, made / place)
    # The times of a checkout's files are those of the checkout.
    for number, metadata in enumerate(sorted((made / HIGH_AVAILABILITY / "checkpoints").glob("*/chk-*/_metadata"))):
        os.utime(metadata, (1_700_000_000 + number, 1_700_000_000 + number))
    yield made
    shutil.rmtree(made)


def shown(width: int | None, folder: Path) -> str:
    """What the commands print to a terminal of this width; ``None``: to a pipe."""
    output = f"output-{width}"
    arguments = [[part.replace("OUTPUT", output) for part in command] for command in COMMANDS]
    ours, theirs = pty.openpty() if width else os.pipe()
    if width:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {
        "TERM": "xterm", "NO_COLOR": "1", "PYTHONPATH": str(ROOT), "TZ": "UTC", "PYTHONIOENCODING": "utf-8",
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, json.dumps(arguments)],
        stdout=theirs, stderr=subprocess.STDOUT, cwd=folder, env=environment,
    )  # fmt: skip
    os.close(theirs)
    data = b""
    while True:
        try:
            read = os.read(ours, 1 << 16)
        except OSError:
            break
        if not read:
            break
        data += read
    os.close(ours)
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode().replace("\r\n", "\n"))
    text = re.sub(r"[^\n]*\r", "", text).replace(str(folder), "/tmp/screens-snapshot").replace(output, "OUTPUT")
    return re.sub(r"[^\n]*━[^\n]*\n", "", text)  # bars, which are shown where it takes long


@pytest.mark.parametrize("width", [80, 200, None])
def test_screens(width: int | None, folder: Path) -> None:
    text = shown(width, folder)
    file = SCREENS / f"{width or 'pipe'}.txt"
    if "UPDATE_SCREENS" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert text.splitlines() == file.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("width", [80, 200])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    wide = False
    for line in (SCREENS / f"{width}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("$ "):
            wide = line.endswith("--wide")
        elif cell_len(line) > width and not wide:
            assert len(line.split()) == 1 or "/tmp/screens" in line, f"only a long path stays whole: {line}"


def test_every_command_is_looked_at() -> None:
    assert {command[0] for command in COMMANDS} == {*_COMMANDS} - {"completion"}


def test_a_table_without_rows_has_its_columns() -> None:
    for width in (None, 80):
        assert list(TextTable(["key", "value"], []).lines(width, True)) == [("key  value", True)]
