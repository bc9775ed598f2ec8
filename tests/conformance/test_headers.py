"""Every head of every real state file: it ends exactly where the data begins, and names the states that it should."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stateextract.metadata.model import KeyGroupsHandle
from stateextract.state.bodies.body import BodyKind, body_kind
from stateextract.state.header import parse_header, parse_operator_header
from stateextract.state.row_layout import row_layout
from tests.conformance.conftest import flink_cases, flink_files
from tests.conformance.handles import (
    KeyedFile,
    harness_files,
    harness_keyed_files,
    keyed_files,
    operator_files,
    operators_with_changes,
    snapshot_folders,
)
from tests.state.unknown_classes import unknown_classes

FOLDERS = snapshot_folders()
HARNESS = harness_files()


def name_of(path: Path) -> str:
    for root in (flink_files(), flink_cases()):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return str(path)


def check(files: Iterable[KeyedFile]) -> tuple[int, dict[tuple[str, str], str]]:
    """Parses all heads; gives their number and the kind of each operator's states."""
    count, kinds = 0, {}
    for file in files:
        head = parse_header(file.data, 0, file.header_end)
        assert head.end == file.header_end
        for meta in head.states:
            assert unknown_classes(meta) == ()
            rows = row_layout(head, meta)
            assert rows.schema.names[-1:] != []
            kinds[file.operator, meta.name] = meta.kind
        count += 1
    return count, kinds


def expected_kinds(operators: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    return {
        (operator["id"], state["name"]): state["kind"]
        for operator in operators
        for state in operator["states"]
        if state["scope"] == "keyed"
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_keyed_heads_of_a_snapshot(folder: Path) -> None:
    _, kinds = check(keyed_files(folder))
    expected = flink_files() / "expected" / f"{name_of(folder)}.json"
    if expected.is_file():
        changing = operators_with_changes(folder)
        wanted = expected_kinds(json.loads(expected.read_text())["operators"])
        assert kinds.items() <= wanted.items()
        assert {operator for operator, _ in wanted.keys() - kinds.keys()} <= changing
    else:
        assert folder.is_relative_to(flink_cases())


@pytest.mark.parametrize("case", [p for p in sorted(flink_cases().glob("*")) if p.is_dir()], ids=name_of)
def test_keyed_states_of_a_case(case: Path) -> None:
    truth = json.loads((case / "truth.json").read_text())
    _, kinds = check(keyed_files(case / truth["path"]))
    expected = {
        (operator["operator_id"], state["name"]): state["kind"].replace("TIMERS", "TIMER")
        for operator in truth["operators"]
        for state in operator["keyed_states"]
    }
    assert kinds == expected


@pytest.mark.parametrize("path", HARNESS, ids=name_of)
def test_keyed_heads_of_a_harness_file(path: Path) -> None:
    count, kinds = check(harness_keyed_files(path))
    assert bool(count) == bool(kinds)


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_operator_heads(folder: Path) -> None:
    for _, handle, data in operator_files(folder):
        head = parse_operator_header(data)
        offsets = [offset for state in handle.states for offset in state.offsets]
        # A compressed stream has its identifier between the head and the first element.
        end = min(offsets, default=len(data)) - (10 if head.compressed else 0)
        assert head.end == end
        assert parse_operator_header(data, 0, end) == head
        assert {s.name for s in handle.states} <= {s.name for s in head.states}
        assert {(s.name, s.mode) for s in handle.states} <= {(s.name, s.kind) for s in head.states}


def test_there_is_something_to_test() -> None:
    if not flink_files().is_dir():
        pytest.skip("Flink's files are not there")
    assert len(FOLDERS) > 200
    assert len(HARNESS) > 50


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_bodies(folder: Path) -> None:
    """By the names of Flink's test folders; files without any key group tell nothing."""
    for file in keyed_files(folder):
        if not isinstance(file.handle, KeyGroupsHandle):
            continue
        head = parse_header(file.data, 0, file.header_end)
        kind = body_kind(
            file.handle.code,
            file.handle.offsets,
            file.handle.first,
            head.compressed,
            lambda at, n, data=file.data: data[at : at + n],  # type: ignore[misc]
            states=len(head.states),
        )
        if folder.name.endswith(("hashmap-checkpoint", "hashmap-savepoint-native")):
            assert kind is BodyKind.HEAP
        elif "rocksdb" in folder.name or file.handle.code == 7:
            # Also native savepoints of RocksDB on 1.15, if it was not set to work incrementally.
            assert kind is BodyKind.FULL_SNAPSHOT
        assert kind in (BodyKind.HEAP, BodyKind.FULL_SNAPSHOT)
