"""Rows of keyed state in heap bodies, against what others read from the same files.

Both engines read every heap file of Flink's own snapshots, of its operator tests and of the cases in one pass, all states
at once; then the Python API reads each state alone. The rows must be those of ``flink-files/expected`` or ``truth.json``,
and no byte may be left over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stateextract
from serializers import DescribeContext
from stateextract.state.state_columns import ReadOptions
from tests.conformance.classes import context_of, entries
from tests.conformance.conftest import flink_cases, flink_files
from tests.conformance.handles import KeyedFile, harness_files, harness_keyed_files, keyed_files, snapshot_folders
from tests.conformance.notation import same_rows
from tests.conformance.state_rows import ReadState, expected_rows, read_heap_files, rows_of, truth_rows

ENGINES = ("auto", "interpreter")  # auto: the kernel, but for values that Kryo wrote

CHANGELOGS = {"flink-tests/new-stateful-udf-migration-itcase-flink1.17-hashmap-checkpoint"}
"""Called a checkpoint of the HashMap backend, and written with a changelog."""

FLINK = [p for p in snapshot_folders() if p.is_relative_to(flink_files())]
CASES = [p for p in sorted(flink_cases().glob("*")) if p.is_dir()]


def name_of(path: Path) -> str:
    root = flink_files() if path.is_relative_to(flink_files()) else flink_cases()
    return str(path.relative_to(root))


def expected_states(path: Path) -> dict[tuple[str, str], Any]:
    """Keyed states of ``flink-files/expected``; harness files have one operator without an id."""
    document = json.loads((flink_files() / "expected" / f"{name_of(path)}.json").read_text())
    operators = document["operators"]
    return {
        ("" if path.is_file() else operator["id"], state["name"]): state
        for operator in operators
        for state in operator["states"]
        if state["scope"] == "keyed"
    }


def truth_states(case: Path) -> dict[tuple[str, str], Any]:
    truth = json.loads((case / "truth.json").read_text())
    return {(o["operator_id"], s["name"]): s for o in truth["operators"] for s in o["keyed_states"]}


def case_folder(case: Path) -> Path:
    return case / json.loads((case / "truth.json").read_text())["path"]


def check_tally(state: ReadState) -> None:
    """The walker has held each key group to its counts and its end; here: every key group was walked."""
    counters = state.counters
    assert counters.key_groups == state.key_groups
    assert counters.entries == counters.rows + counters.empty_maps
    assert (counters.lost_entries, counters.raw_rows, counters.problems) == (0, 0, [])


def check(
    context: DescribeContext,
    files: Iterable[KeyedFile],
    expected: Mapping[tuple[str, str], Any],
    engine: str,
    notation: Any,
    without: tuple[str, ...] = (),
) -> set[tuple[str, str]]:
    """Compare all states of heap files; gives those that were found."""
    files = list(files)
    options = ReadOptions(on_undecodable="skip", engine=engine, context=context)
    found = read_heap_files(files, options)
    assert {key[1] for key, state in found.items() if not state.whole} == set()
    for key, state in found.items():
        check_tally(state)
        table = state.table()
        assert same_rows(notation(expected[key], table.schema), rows_of(table, without)) is None, key
        if state.counters.empty_maps and "empty_map_rows" not in expected[key]:
            kept = read_heap_files(files, replace(options, keep_empty_maps=True))
            whole = kept[key].table()
            assert whole.num_rows == table.num_rows + state.counters.empty_maps
            assert same_rows(notation(expected[key], whole.schema, True), rows_of(whole, without)) is None, key
        if "empty_map_rows" in expected[key]:
            assert state.counters.empty_maps == expected[key]["empty_map_rows"]
    return set(found)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", FLINK, ids=name_of)
def test_flinks_snapshots(folder: Path, engine: str) -> None:
    expected = expected_states(folder)
    found = check(context_of(folder), keyed_files(folder), expected, engine, expected_rows)
    if folder.name.endswith(("-hashmap-checkpoint", "-hashmap-savepoint-native")):
        assert found == (set() if name_of(folder) in CHANGELOGS else set(expected))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("path", harness_files(), ids=name_of)
def test_flinks_operator_tests(path: Path, engine: str) -> None:
    expected = expected_states(path)
    found = check(context_of(path), harness_keyed_files(path), expected, engine, expected_rows)
    if path.name.startswith("win-op-"):
        assert found == set(expected) != set()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_cases(case: Path, engine: str) -> None:
    expected = truth_states(case)
    files = keyed_files(case_folder(case))
    found = check(context_of(case_folder(case)), files, expected, engine, truth_rows, ("key_group", "subtask"))
    if "canonical" in case.name or "rocksdb" in case.name:
        assert found == set()
    elif "changelog" not in case.name:
        assert found == set(expected)


@pytest.mark.parametrize("folder", [*FLINK, *map(case_folder, CASES)], ids=name_of)
def test_each_state_alone(folder: Path) -> None:
    """The Python API reads one state at a time, the others being passed over: the same rows in the same order."""
    options = ReadOptions(on_undecodable="skip", engine="interpreter", context=context_of(folder))
    whole = read_heap_files(keyed_files(folder), options)
    snapshot = stateextract.open_snapshot(
        str(folder), on_undecodable="skip", decoder="interpreter", kryo_classes=entries()
    )
    seen = set()
    for state in snapshot.states:
        if state.scope != "keyed" or state.form != "heap":
            continue
        seen.add((state.operator.id, state.name))
        table = state.to_table()
        other = whole[state.operator.id, state.name]
        assert table.schema == state.schema
        assert other.whole
        assert rows_of(table) == rows_of(other.table())
        assert (state.coverage.status, state.coverage.complete) == ("decoded", True)
        assert state.coverage.counters == other.counters
    if "changelog" not in str(folder):
        assert seen == set(whole)
