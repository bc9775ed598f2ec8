"""Bars: what they count, and when none is shown."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from stateextract.cli import run
from stateextract.cli.progress import HeadersBar, Meter
from stateextract.errors import EnvironmentProblem

ORDERS = str(Path(__file__).resolve().parents[2] / "examples" / "orders-checkpoint")


def until(condition: object, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():  # type: ignore[operator]
        time.sleep(0.01)


def test_a_bar_counts_tasks_bytes_and_rows() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=120, color_system=None)
    with Meter("extract", console=console, delay=0.0) as meter:
        meter.expect(4_000_000, 4)
        meter.add(1_000_000, 1234, 1)
        until(lambda: "1,234 rows" in written.getvalue())
        meter.add(9_000_000, 1, 1)
        until(lambda: "1,235 rows" in written.getvalue())
    assert "1 of 4 tasks · 1.0 MB of 4.0 MB · 1,234 rows" in written.getvalue()
    assert "2 of 4 tasks · 4.0 MB of 4.0 MB · 1,235 rows" in written.getvalue(), "never more than there is"


def test_what_is_quick_shows_nothing() -> None:
    written = io.StringIO()
    with Meter("extract", 10, console=Console(file=written, force_terminal=True), delay=60.0) as meter:
        meter.add(5, 5)
    assert written.getvalue() == ""
    assert (meter.done, meter.rows) == (5, 5)


def test_without_a_terminal_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert not sys.stderr.isatty()
    with Meter("extract", 10, delay=0.0) as meter:
        meter.add(5, 5)
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_a_bar_for_heads() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=120, color_system=None)
    headers = HeadersBar(console, delay=0.0)
    for done in range(3):
        headers(done, 3)
        until(lambda done=done: f"{done} of 3 files" in written.getvalue())
    headers(3, 3)
    shown = written.getvalue()
    assert "reading headers" in shown
    assert all(f"{done} of 3 files" in shown for done in range(3))
    headers(0, 0)
    assert written.getvalue() == shown, "gone, and none for nothing"


def test_a_bar_is_about_heads_first() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=120, color_system=None)
    with Meter("stats", console=console, delay=0.0) as meter:
        for done in range(2):
            meter.headers(done, 2)
            until(lambda done=done: f"{done} of 2 files" in written.getvalue())
        assert "stats" not in written.getvalue().replace("\n", "").split("1 of 2 files")[1]
        meter.headers(2, 2)
        meter.expect(4_000_000, 2)
        meter.add(1_000_000, 0, 1)
        until(lambda: "1 of 2 tasks" in written.getvalue())
    shown = written.getvalue()
    assert "reading headers" in shown
    assert "2 of 2 files" not in shown
    last = shown[shown.rindex("files") :]
    assert "stats" in last
    assert "1 of 2 tasks · 1.0 MB of 4.0 MB" in last


RULE = """
[[rules]]
state = "voucher"
sql = "SELECT key FROM state WHERE value = 'none'"
"""


@pytest.mark.parametrize(
    ("command", "times"),
    [
        (["extract", ORDERS, "--engine", "local", "--workers", "1", "--output", "out"], 1),
        (["extract", ORDERS, "--output", "out"], 1),
        (["stats", ORDERS], 1),
        (["history", ORDERS, "-o", "out"], 1),
        (["report", ORDERS, "-o", "out"], 1),
        (["audit", ORDERS, "--rules", "rules.toml"], 2),
        (["diff", ORDERS, ORDERS], 2),
        (["validate", ORDERS], 1),
        (["states", ORDERS], 1),
    ],
    ids=lambda value: " ".join(value[::2]) if isinstance(value, list) else "",
)
def test_every_command_says_how_far_it_is_with_heads(
    command: list[str], times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other where there are several snapshots, or a rule with SQL."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(Meter, "headers", lambda _, done, count: told.append((done, count)))
    monkeypatch.setattr(HeadersBar, "__call__", lambda _, done, count: told.append((done, count)))
    monkeypatch.setattr("stateextract.spark.job.open_session", no_session)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(RULE)
    run(command)
    capsys.readouterr()
    assert told == [(done, 4) for done in range(5)] * times


def no_session(*_: object) -> None:
    raise EnvironmentProblem("there is no Spark here")


def test_a_bar_shows_alone() -> None:
    first, second = io.StringIO(), io.StringIO()
    with Meter("extract", 10, console=Console(file=first, force_terminal=True), delay=0.0):
        until(lambda: "extract" in first.getvalue())
        headers = HeadersBar(Console(file=second, force_terminal=True), delay=0.0)
        headers(0, 2)
        time.sleep(0.05)
        headers(2, 2)
    assert second.getvalue() == ""
