"""What is said of states before they are read, in Python, ``states`` and ``inspect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.cli import run
from stateextract.doors import Door, read_at
from stateextract.errors import UndecodableError
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot

KRYO = Path(__file__).parents[1] / "golden" / "data" / "f23-kryo-native"
NOT_KNOWN = "values of com.example.ShapeSerializerSnapshot cannot be decoded: the serializer's snapshot class is not known"


def everywhere(path: str, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str | None]]:
    """Status and reason of each state, which are the same in all three."""
    with read_at(Door.COMMAND_LINE):
        states = stateextract.open_snapshot(path).states
        found = {s.name: (str(s.coverage.status), s.coverage.reason) for s in states if s.kind != "timer"}
    for command in ("states", "inspect"):
        assert run([command, path, "--format", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        rows: list[dict[str, Any]] = document
        if command == "inspect":
            rows = [state for operator in document["operators"] for state in operator["states"]]
        assert {r["state_name"]: (r["status"], r["reason"]) for r in rows if r["state_name"] in found} == found
    return found


def test_classes_that_nothing_describes(capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = KRYO.glob("savepoint-*")
    found = everywhere(str(path), capsys)
    assert found["Trucks"] == ("uncertain", "classes not described: golden.Fleet$Truck")
    assert found["cars by fuel"] == ("uncertain", "classes not described: golden.Fleet$Fuel, golden.Fleet$Car")
    assert found["Object"] == ("uncertain", "values declared as java.lang.Object may be of any class")
    assert found["BigDecimal"] == ("decoded", None)
    assert found["Truck"][0] == "unsupported"
    assert str(found["Truck"][1]).startswith("values of golden.Fleet$Truck cannot be decoded: ")
    snapshot = stateextract.open_snapshot(str(path), classpath=[str(KRYO.parents[1] / "kryo.jar")])
    (trucks,) = [state for state in snapshot.states if state.name == "Trucks"]
    assert trucks.coverage.status == "decoded"


def test_states_after_one_that_cannot_be_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    states = {"a": numbered(8), "b": numbered(8), "c": numbered(8)}
    path = write_snapshot(tmp_path / "s", {"op": states}, values={"b": UNKNOWN})
    after = f"the files contain it after state 'b': {NOT_KNOWN}"
    found = everywhere(str(path), capsys)
    assert found == {"a": ("decoded", None), "b": ("unsupported", NOT_KNOWN), "c": ("uncertain", after)}
    state = stateextract.open_snapshot(str(path)).operator("op").state("c")
    with pytest.raises(UndecodableError):
        state.to_table()


def test_an_uncertain_state_may_turn_out_to_be_whole(tmp_path: Path) -> None:
    """The state before it is empty."""
    path = write_snapshot(tmp_path / "s", {"op": {"b": {}, "c": numbered(8)}}, values={"b": UNKNOWN})
    state = stateextract.open_snapshot(str(path)).operator("op").state("c")
    assert state.coverage.status == "uncertain"
    assert state.to_table().num_rows == 8
    assert (state.coverage.status, state.coverage.reason, state.coverage.complete) == ("decoded", None, True)


def test_in_compressed_files_the_states_are_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    states = {"b": numbered(8), "c": numbered(8)}
    path = write_snapshot(tmp_path / "s", {"op": states}, values={"b": UNKNOWN}, compressed=True)
    assert everywhere(str(path), capsys) == {"b": ("unsupported", NOT_KNOWN), "c": ("decoded", None)}
    snapshot = stateextract.open_snapshot(str(path), on_undecodable="skip")
    assert snapshot.operator("op").state("c").to_table().num_rows == 8
