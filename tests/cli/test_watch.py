"""``stateextract watch``: the checkpoints of a job that runs, one after the other."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stateextract.audit.history.history_files import read_history
from stateextract.cli import run, watch
from tests.job.snapshots import numbered, write_snapshot

JOB, OTHER = "0" * 32, "f" * 32
RULES = """
[[rules]]
name = "few keys"
state = "count"
max-keys = 2

[[rules]]
name = "all read"
decoded = true
"""


def checkpoint(jobs: Path, number: int, sizes: Mapping[str, int], job: str = JOB) -> Path:
    """A checkpoint of a job, with so many rows in its states; they complete a second after each other."""
    states = {name: numbered(size) for name, size in sizes.items()}
    folder = write_snapshot(jobs / job / f"chk-{number}", {"op": states}, checkpoint=number)
    os.utime(folder / "_metadata", (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def watched(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[Any], str]:
    """The exit code, the lines, and what is on standard error."""
    code = run(["watch", *map(str, arguments), "--workers", "1", "--format", "lines", "--interval", "0.05"])
    out, err = capfd.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


def test_each_checkpoint_is_compared_with_the_one_before(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    checkpoint(tmp_path, 1, {"count": 3, "sum": 5})
    checkpoint(tmp_path, 2, {"count": 10, "sum": 4})
    (tmp_path / JOB / "chk-3").mkdir()  # is being written
    checkpoint(tmp_path, 4, {"sum": 4, "new": 2}, OTHER)  # the job was restarted
    code, lines, _ = watched(capfd, tmp_path, "--all", "--once")
    assert code == 0
    assert [(one["job_id"], one["checkpoint_id"], one["rows"], one["rows_change"]) for one in lines] == [
        (JOB, 1, 8, None), (JOB, 2, 14, 6), (OTHER, 4, 6, -8),
    ]  # fmt: skip
    assert lines[0]["completed_ms"] == 1_700_000_001_000
    assert [(one["state_name"], one["rows"], one["rows_change"], one["new"], one["gone"]) for one in lines[2]["states"]] == [
        ("new", 2, 2, True, False), ("sum", 4, 0, False, False), ("count", None, -10, False, True),
    ]  # fmt: skip
    # Only the newest one, and of one job.
    assert [one["checkpoint_id"] for one in watched(capfd, tmp_path, "--once")[1]] == [4]
    assert [one["checkpoint_id"] for one in watched(capfd, tmp_path, "--once", "--job", "00")[1]] == [2]


def test_lines_for_people(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    checkpoint(tmp_path, 1, {"count": 3})
    checkpoint(tmp_path, 2, {"count": 1003})
    assert run(["watch", str(tmp_path), "--all", "--once", "--workers", "1"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "2023-11-14 22:13:21  checkpoint 1: 3 rows, 48 B",
        "2023-11-14 22:13:22  checkpoint 2: 1,003 rows (+1,000), 16.0 kB (+16.0 kB); largest growth: op / count +16.0 kB",
    ]


def test_a_directory_that_does_not_exist_yet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jobs = tmp_path / "jobs"
    assert watched(capfd, jobs, "--once")[0] == 1
    timers = [threading.Timer(0.2 * n, checkpoint, (jobs, n, {"count": n})) for n in (1, 2)]
    for timer in timers:
        timer.start()
    code, lines, err = watched(capfd, jobs, "--count", "2")
    assert (code, [one["rows"] for one in lines]) == (0, [1, 2])
    assert err == f"No checkpoint at {jobs} is complete yet: waiting for one.\n"


def test_a_checkpoint_that_is_deleted_while_it_is_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        checkpoint(tmp_path, number, {"count": number})
    measured = watch.measured

    def deleting(job: Any, *more: Any) -> Any:
        if job.snapshot.endswith("chk-2"):
            shutil.rmtree(job.snapshot)
        return measured(job, *more)

    monkeypatch.setattr(watch, "measured", deleting)
    code, lines, _ = watched(capfd, tmp_path, "--all", "--once")
    assert code == 0
    assert [(one["checkpoint_id"], one.get("rows"), one.get("rows_change")) for one in lines] == [
        (1, 1, None), (2, None, None), (3, 3, 2),
    ]  # fmt: skip
    assert lines[1]["reason"] == (
        "Flink deleted checkpoint 2 before it was read. Set state.checkpoints.num-retained in Flink to more checkpoints."
    )


def test_a_checkpoint_that_cannot_be_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        checkpoint(tmp_path, number, {"count": number})
    (tmp_path / JOB / "chk-1" / "_metadata").write_bytes(b"damaged")
    os.utime(tmp_path / JOB / "chk-1" / "_metadata", (1_700_000_001, 1_700_000_001))
    code, lines, _ = watched(capfd, tmp_path, "--all", "--once")
    assert (code, [one.get("rows") for one in lines]) == (3, [None, 2])


def test_history_has_what_was_watched(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jobs, history = tmp_path / "jobs", tmp_path / "history"
    checkpoint(jobs, 1, {"count": 3})
    checkpoint(jobs, 2, {"count": 5})
    assert watched(capfd, jobs, "--all", "--once", "--history", history)[0] == 0
    checkpoint(jobs, 3, {"count": 9})
    # The one before is the last of the history.
    assert [one["rows_change"] for one in watched(capfd, jobs, "--once", "--history", history)[1]] == [4]
    recorded = sorted((one.snapshot.checkpoint_id, one.totals.rows) for one in read_history(str(history)))
    assert recorded == [(1, 3), (2, 5), (3, 9)]


def test_a_rule_that_does_not_hold_ends_it_or_runs_a_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jobs, rules = tmp_path / "jobs", tmp_path / "rules.toml"
    rules.write_text(RULES)
    for number in (1, 2, 3):
        checkpoint(jobs, number, {"count": number + 1})
    code, lines, _ = watched(capfd, jobs, "--all", "--rules", rules)
    assert code == 5
    assert [(one["checkpoint_id"], one["broken_rules"]) for one in lines] == [(1, []), (2, ["few keys"])]
    own = " ".join(f"-e ^STATEEXTRACT_{name}" for name in ("BROKEN", "CHECKPOINT", "JOB", "SNAPSHOT"))
    script = f"env | grep {own} >> {tmp_path}/env; cat >> {tmp_path}/documents; echo said; exit 7"
    code, lines, err = watched(capfd, jobs, "--all", "--once", "--rules", rules, "--on-broken", f"sh -c '{script}'")
    assert (code, len(lines)) == (5, 3)
    assert err == "said\nError: --on-broken sh ended with exit code 7.\n" * 2
    assert sorted((tmp_path / "env").read_text().splitlines()) == [
        "STATEEXTRACT_BROKEN_RULES=few keys", "STATEEXTRACT_BROKEN_RULES=few keys",
        "STATEEXTRACT_CHECKPOINT=2", "STATEEXTRACT_CHECKPOINT=3",
        f"STATEEXTRACT_JOB={JOB}", f"STATEEXTRACT_JOB={JOB}",
        f"STATEEXTRACT_SNAPSHOT={jobs}/{JOB}/chk-2", f"STATEEXTRACT_SNAPSHOT={jobs}/{JOB}/chk-3",
    ]  # fmt: skip
    first, _ = json.JSONDecoder().raw_decode((tmp_path / "documents").read_text())
    assert [(rule["name"], rule["holds"]) for rule in first["rules"]] == [("few keys", False), ("all read", True)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--on-broken", "true"], "--on-broken is given, and there are no rules"),
        (["--rules", "{rules}", "--on-broken", "no-such-program x"], "there is no such program"),
        (["--rules", "{rules}", "--on-broken", "sh -c 'open"], "is not a command: No closing quotation"),
    ],
)
def test_options_that_cannot_be(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (tmp_path / "rules.toml").write_text(RULES)
    code, _, err = watched(capfd, tmp_path, *(one.format(rules=tmp_path / "rules.toml") for one in arguments))
    assert code == 2
    assert message in err


def test_a_terminal_has_a_table_until_ctrl_c(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, {"count": 3})
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = os.environ | {"TERM": "xterm", "NO_COLOR": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-m", "stateextract", "watch", str(tmp_path), "--interval", "0.1", "--workers", "1"],
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
    )  # fmt: skip
    os.close(theirs)
    screen = ""
    try:
        for number, text in enumerate(["checkpoint 1: 3 rows", "op        count     3", "+4 "]):
            if number == 2:
                checkpoint(tmp_path, 2, {"count": 7})
            while text not in screen:
                screen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(ours, 1 << 16).decode())
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        while True:
            try:
                screen += os.read(ours, 1 << 16).decode()
            except OSError:
                break
    finally:
        process.kill()
    assert process.wait() == 130
    assert screen.rstrip().endswith("Interrupted.")
    assert "Traceback" not in screen
    os.close(ours)
