"""``--state timers`` and ``--state coordinator`` in the commands that show states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stateextract.cli import run
from stateextract.metadata.model import InlineHandle, OperatorState, SnapshotMetadata
from tests.metadata import writer
from tests.state.test_nameless import COORDINATOR, ENUMERATOR

ORDERS = str(Path(__file__).parents[2] / "examples" / "orders-checkpoint")


@pytest.fixture
def source(tmp_path: Path) -> str:
    operator = OperatorState("0a" * 16, "source", None, 1, 2, coordinator=InlineHandle("c", COORDINATOR))
    (tmp_path / "_metadata").write_bytes(writer.metadata(SnapshotMetadata(6, 7, (), (operator,))))
    return str(tmp_path)


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_coordinator(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = document(capsys, "head", source, "--operator", "source", "--state", "coordinator")
    assert (head["operator_uid"], head["state_name"], head["state_kind"]) == ("source", "coordinator", "coordinator")
    assert head["complete"] is True
    assert [row["value"]["kafka_enumerator"] for row in head["rows"]] == [ENUMERATOR]
    (count,) = document(capsys, "count", source, "--state", "coordinator")
    assert (count["state_kind"], count["rows"], count["status"]) == ("coordinator", 1, "decoded")
    (schema,) = document(capsys, "schema", source, "--state", "coordinator")
    assert [column["name"] for column in schema["columns"]] == ["value"]
    assert schema["columns"][0]["arrow"].startswith("struct<bytes: binary, version: int32, kafka_enumerator: ")


def test_timers(capsys: pytest.CaptureFixture[str]) -> None:
    head = document(capsys, "head", ORDERS, "--operator", "orders-by-customer", "--state", "timers", "-n", "1000")
    assert (head["state_name"], head["state_kind"], head["complete"], len(head["rows"])) == ("timers", "timer", True, 50)
    assert {row["service"] for row in head["rows"]} == {"user-timers"}
    counts = document(capsys, "count", ORDERS, "--state", "timers")
    assert [count["rows"] for count in counts] == [50, 0, 36, 0]
    assert {count["state_kind"] for count in counts} == {"timer"}
    one = document(capsys, "schema", ORDERS, "--operator", "sales-per-hour", "--state", "timers")
    assert [schema["state_name"] for schema in one] == [
        "_timer_state/event_window-timers", "_timer_state/processing_window-timers",
    ]  # fmt: skip
