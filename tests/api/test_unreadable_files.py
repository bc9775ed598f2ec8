"""States whose file is missing or unreadable are listed with their reason, under the same words everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stateextract
from stateextract.cli import run
from stateextract.errors import MissingFileError, StateExtractError
from tests.job.snapshots import numbered, write_snapshot

REPORT = Path(__file__).parents[2] / ".." / "shared" / "reports" / "count-passes-over-damaged-head" / "savepoint"
needs_report = pytest.mark.skipif(not REPORT.exists(), reason="the shared inputs are not there")


@needs_report
def test_count_has_a_line_for_an_operator_whose_head_is_corrupt(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["count", str(REPORT), "--format", "json"]) == 3
    rows = {(d["operator_label"], d["state_name"]): d for d in json.loads(capsys.readouterr().out)}
    unread = rows.pop(("u2", None))
    assert (unread["rows"], unread["status"], unread["state_kind"]) == (None, "unreadable", "keyed")
    assert "operator u2" in unread["reason"]
    assert {d["status"] for d in rows.values()} == {"decoded"}
    assert sum(d["rows"] for d in rows.values()) == 2 * 10 + 4 * 3 + 2 * 2
    assert run(["count", str(REPORT), "--operator", "u2"]) == 1
    assert run(["states", str(REPORT)]) == 3
    text = capsys.readouterr().out
    assert "unreadable" in text
    assert "unsupported" not in text


@needs_report
def test_snapshot_states_has_an_entry(capsys: pytest.CaptureFixture[str]) -> None:
    (state,) = stateextract.open_snapshot(str(REPORT)).operator("u2").states
    assert (state.name, state.kind, state.scope, str(state.coverage.status)) == ("", "keyed", "keyed", "unreadable")
    for read in (state.to_table, state.count, lambda: state.schema):
        with pytest.raises(StateExtractError, match="operator u2"):
            read()


def test_names_come_from_other_subtasks(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "s", {"op": {"a": numbered(8), "b": numbered(8)}})
    (path / "op-1").unlink()
    operator = stateextract.open_snapshot(str(path)).operator("op")
    assert [(s.name, str(s.coverage.status)) for s in operator.states] == [("a", "missing"), ("b", "missing")]
    for state in operator.states:
        with pytest.raises(MissingFileError) as caught:
            state.count()
        assert caught.value.state == state.name
