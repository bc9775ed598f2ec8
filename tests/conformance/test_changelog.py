"""Changelogs among Flink's files and the cases: every state equals what others read, and a checkpoint without changelog."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.metadata.model import ChangelogHandle
from stateextract.metadata.parser import parse_metadata
from tests.conformance.conftest import flink_cases, flink_files
from tests.conformance.handles import snapshot_folders
from tests.conformance.notation import same_rows
from tests.conformance.state_rows import expected_rows, rows_of, truth_rows


def changelogs() -> list[Path]:
    return [
        folder
        for folder in snapshot_folders()
        if any(
            isinstance(use.handle, ChangelogHandle)
            for o in parse_metadata((folder / "_metadata").read_bytes()).operators
            for use in o.handles()
        )
    ]


FOLDERS = changelogs()


def test_the_files_are_there() -> None:
    assert len(FOLDERS) >= 2


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: "-".join(p.parts[-4:])[-60:])
def test_every_state(folder: Path, engine: Any) -> None:
    in_cases = folder.is_relative_to(flink_cases())
    if in_cases:
        case = next(parent for parent in folder.parents if (parent / "truth.json").exists())
        operators = json.loads((case / "truth.json").read_text())["operators"]
        expected = {(o["operator_id"], s["name"]): s for o in operators for s in o["keyed_states"]}
        notation, without = truth_rows, ("key_group", "subtask")
    else:
        path = flink_files() / "expected" / f"{folder.relative_to(flink_files())}.json"
        operators = json.loads(path.read_text())["operators"]
        expected = {(o["id"], s["name"]): s for o in operators for s in o["states"] if s["scope"] == "keyed"}
        notation, without = expected_rows, ()
    snapshot = stateextract.open_snapshot(str(folder), decoder=engine)
    found = {(s.operator.id, s.name): s for s in snapshot.states if s.scope == "keyed"}
    assert set(found) == set(expected)
    for key, state in found.items():
        table = state.to_table()
        assert same_rows(notation(expected[key], table.schema), rows_of(table, without)) is None, key
        assert (state.coverage.status, state.coverage.counters.problems) == ("decoded", [])
