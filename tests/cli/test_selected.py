"""``--state timers`` and ``--state coordinator`` in the commands that show states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stateextract.cli import _COMMANDS, command_of, run
from stateextract.metadata.model import InlineHandle, OperatorState, SnapshotMetadata
from tests.metadata import writer
from tests.state.test_nameless import COORDINATOR, ENUMERATOR

ROOT = Path(__file__).parents[2]
ORDERS = str(ROOT / "examples" / "orders-checkpoint")


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
    (checked,) = document(capsys, "validate", source)["states"]
    assert (checked["state_kind"], checked["rows"], checked["status"]) == ("coordinator", 1, "sound")
    (schema,) = document(capsys, "schema", source, "--state", "coordinator")
    assert [column["name"] for column in schema["columns"]] == ["value"]
    arrow = schema["columns"][0]["arrow"]
    assert arrow.startswith("struct<bytes: binary, version: int32, ")
    assert ", kafka_enumerator: struct<" in arrow


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


WITH_STATE = {
    "schema": [], "head": [], "get": ["--key", "elif"], "count": [], "stats": ["--workers", "1"],
    "history": ["--workers", "1", "-o", "OUTPUT"], "report": ["--workers", "1", "-o", "OUTPUT"],
    "extract": ["--engine", "local", "--workers", "1", "-o", "OUTPUT"], "diff": ["--workers", "1"],
}  # fmt: skip
"""The commands that take ``--state``, with what else they need."""


def test_these_commands_take_a_state() -> None:
    commands = {name: command_of(name) for name in _COMMANDS}
    assert {n for n, c in commands.items() if any("--state" in p.opts for p in c.params)} == {*WITH_STATE, "watch"}


@pytest.mark.parametrize("command", WITH_STATE)
@pytest.mark.parametrize("state", ["timers", "coordinator"])
def test_every_command_takes_timers_and_coordinators(
    command: str, state: str, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ORDERS if state == "timers" else source
    more = [str(tmp_path.parent / f"{tmp_path.name}-output") if part == "OUTPUT" else part for part in WITH_STATE[command]]
    if state == "coordinator" and command == "get":
        more = []
    chosen = ["--operator", "orders-by-customer"] if state == "timers" else []
    assert run([command, path, *[path] * (command == "diff"), *chosen, "--state", state, *more]) == 0
    assert capsys.readouterr().out


def test_get_of_timers_and_of_a_coordinator(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    timers = document(capsys, "get", ORDERS, "--operator", "orders-by-customer", "--state", "timers", "--key", "elif")
    assert (timers["state_name"], timers["state_kind"], timers["status"], timers["key_groups"]) == (
        "timers", "timer", "decoded", [0],
    )  # fmt: skip
    assert len(timers["rows"]) == 10
    assert {(row["key"], row["service"]) for row in timers["rows"]} == {("elif", "user-timers")}
    one = document(capsys, "get", source, "--state", "coordinator")
    assert (one["state_kind"], one["key_groups"]) == ("coordinator", None)
    assert [row["value"]["kafka_enumerator"] for row in one["rows"]] == [ENUMERATOR]
    assert run(["get", source, "--state", "coordinator", "--key", "1"]) == 2
    assert "The state of a coordinator has no keys" in capsys.readouterr().err
    assert run(["get", ORDERS, "--state", "voucher"]) == 2
    assert "--key is missing" in capsys.readouterr().err


def test_bytes_of_a_coordinator_in_no_known_form_are_raw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    operator = OperatorState("0a" * 16, "source", None, 1, 2, coordinator=InlineHandle("c", b"\0\1\2"))
    (tmp_path / "_metadata").write_bytes(writer.metadata(SnapshotMetadata(6, 7, (), (operator,))))
    reason = "the form of the coordinator's bytes is not known, so they are kept as they are"
    for command, code in (("states", 0), ("schema", 0), ("count", 3), ("head", 3), ("get", 3)):
        selected = [] if command == "states" else ["--state", "coordinator"]
        assert run([command, str(tmp_path), *selected, "--format", "json"]) == code, command
        found = json.loads(capsys.readouterr().out)
        (one,) = [found] if isinstance(found, dict) else found
        assert (one["status"], one["reason"]) == ("raw", reason), command
    # Without a selection, count lists what extract lists, and ends as it does.
    assert run(["extract", str(tmp_path), "--output", str(tmp_path.parent / "rows"), "--engine", "local"]) == 3
    capsys.readouterr()
    assert run(["count", str(tmp_path), "--format", "json"]) == 3
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["state_kind"], one["rows"], one["status"], one["reason"]) == ("coordinator", 1, "raw", reason)
    arguments = ["extract", str(tmp_path), "--engine", "local", "-o", str(tmp_path.parent / "out"), "--format", "json"]
    assert run(arguments) == 3
    extracted = json.loads(capsys.readouterr().out)
    assert [(e["state_kind"], e["status"]) for e in extracted["coverage"]["entries"]] == [("coordinator", "raw")]
    assert [d["rows"] for d in extracted["datasets"]] == [1]


def test_a_state_of_the_other_scope_is_not_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["head", ORDERS, "--operator", "orders-by-customer", "--state", "voucher", "--scope", "operator"]) == 2
    assert " ".join(capsys.readouterr().err.split()) == (
        "Error: no operator state of the operator is called 'voucher'; in operator orders-by-customer. There are no states."
    )


def test_a_column_that_is_named_twice(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["head", ORDERS, "--operator", "orders-by-customer", "--state", "voucher", "--columns"]
    assert run([*arguments, "value, key,value"]) == 2
    assert capsys.readouterr().err == "Error: --columns names 'value' twice; expected each column once.\n"
    assert run([*arguments, "value,key", "-n", "1"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [["value", "key"], ["WELCOME-179", "elif"]]


def test_strict(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every command that has the option fails, with advice that it takes itself."""
    custom = str(ROOT / "tests" / "golden" / "data" / "f23-custom-checkpoint")
    for command in (["stats", custom], ["report", custom, "-o", str(tmp_path / "page.html")], ["diff", custom, custom]):
        assert run([*command, "--operator", "nested"]) == 3, command
        capsys.readouterr()
        assert run([*command, "--operator", "nested", "--strict"]) == 1, command
        values = "skip" if command[0] == "diff" else "skip or raw"
        assert f" Set --on-undecodable to {values} to go on without it" in " ".join(capsys.readouterr().err.split()), command


def test_descriptions_end_alike_whatever_is_to_be_left_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    custom = str(ROOT / "tests" / "golden" / "data" / "f23-custom-checkpoint")
    for value in ("fail", "skip", "raw"):
        (tmp_path / "job.toml").write_text(f'[decoding]\non-undecodable = "{value}"\n')
        for command in ("states", "inspect", "schema"):
            assert run([command, custom, "--config", str(tmp_path / "job.toml")]) == 0, (value, command)
