"""One job, taken in every kind of snapshot: the same rows and columns whichever way, and those of the job's own input.

The one lawful difference is a key whose map is empty: native files of the HashMap backend know it, and changelogs in which
no entries were put for it, but nothing else does. It is no row in any of them. A changelog without a materialized part
knows only of states that were changed: a queue of timers that never had one is not in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from stateextract.api import Snapshot, State
from stateextract.errors import MissingFileError
from stateextract.files.filesystem import Store
from stateextract.files.prefetch import FilePrefetcher
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import (
    ChangelogBytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    FileHandle,
    IncrementalHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    RelativeHandle,
    SegmentHandle,
    SubtaskState,
)
from stateextract.metadata.opener import Opener
from stateextract.metadata.parser import parse_metadata
from stateextract.metadata.uid import operator_id
from stateextract.rocksdb import RocksDB, RocksOptions, open_rocksdb
from tests.conformance.notation import comparable, same_rows
from tests.golden.expected import DATA, load
from tests.golden.test_rows import actual_rows, check_list, expected_row

CASES = sorted(path.parent.name for path in DATA.glob("*-changes-*/expected.json"))
CLAIMED_SAVEPOINT = "f23-changes-checkpoint-rocksdb-incremental-claimed-savepoint"
VERSIONS = ["f113", "f117", "f120", "f23"]
EMPTY_MAPS = "sometimes-empty"


def folder_of(case: str) -> Path:
    return DATA / case / load(DATA / case)["snapshot"]


def opened(case: str, **options: Any) -> Snapshot:
    for savepoint in (DATA / case).glob("savepoint-*") if case == CLAIMED_SAVEPOINT else ():
        options.setdefault("path_map", {str(folder_of(case)): str(savepoint)})
    return stateextract.open_snapshot(str(folder_of(case)), **options)


def states_of(case: str, snapshot: Snapshot) -> dict[tuple[str, str, str], State]:
    """By uid, scope and name."""
    uids = {operator_id(o["uid"]): o["uid"] for o in load(DATA / case)["operators"]}
    return {(uids[s.operator.id], s.scope, s.name): s for s in snapshot.states}


def expected_keyed(case: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(o["uid"], "keyed", s["name"]): s for o in load(DATA / case)["operators"] for s in o["states"]}


def expected_lists(case: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    operators = load(DATA / case)["operators"]
    return {(o["uid"], "operator", s["name"]): s for o in operators for s in o["operator_states"]}


def check_keyed(state: State, expected: dict[str, Any]) -> None:
    table = state.to_table()
    assert (state.coverage.status, state.coverage.complete) == ("decoded", True), state.coverage.reason
    kind, ttl = expected["kind"], expected["ttl"]
    assert state.kind == {"TIMERS": "timer"}.get(kind, kind.lower())
    rows = [expected_row(row, table.schema, kind, ttl) for row in expected["rows"]]
    assert same_rows(rows, actual_rows(table, kind, ttl)) is None, state
    assert state.coverage.counters.rows == len(rows)
    assert state.coverage.counters.problems == []


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_the_input(case: str, engine: str) -> None:
    document = load(DATA / case)
    snapshot = opened(case, decoder=engine)
    by_id = {operator.id: operator for operator in snapshot.operators}
    for operator in document["operators"]:
        found = by_id[operator_id(operator["uid"])]
        assert (found.parallelism, found.max_parallelism) == (operator["parallelism"], operator["max_parallelism"])
    states = states_of(case, snapshot)
    keyed, lists = expected_keyed(case), expected_lists(case)
    missing = {key for key in keyed if key not in states}
    assert not missing or (document["changelog"] and not has_base(case))
    assert all(not keyed[key]["rows"] for key in missing)
    assert set(states) == set(keyed) - missing | set(lists)
    for key, state in states.items():
        if key in keyed:
            check_keyed(state, keyed[key])
        else:
            check_list(state, lists[key])
    assert {state.coverage.status for state in snapshot.states} == {"decoded"}


def has_base(case: str) -> bool:
    """Whether a changelog has a materialized part."""
    return case.endswith(("changelog-materialized", "changelog-rescaled"))


@cache
def contents(case: str) -> dict[tuple[str, str, str], tuple[pa.Schema, list[Any]]]:
    """Schema and rows of every state; without key groups, whose number differs, and the run's clock."""
    out = {}
    ttl = {key for key, state in expected_keyed(case).items() if state["ttl"]}
    for key, state in states_of(case, opened(case)).items():
        table = state.to_table()
        if key in ttl:
            out[key] = (table.schema, actual_rows(table, "MAP", True))
            continue
        names = [name for name in table.schema.names if name not in ("key_group", "subtask")]
        columns = [[comparable(v, table.schema.field(name).type) for v in table[name]] for name in names]
        out[key] = (table.schema, list(zip(*columns, strict=True)))
    return out


@pytest.mark.parametrize("version", VERSIONS)
def test_all_kinds_of_a_version_are_equal(version: str) -> None:
    """Lists of operators are not in it: they name the subtasks, whose number differs."""
    cases = [case for case in CASES if case.startswith(version) and load(DATA / case)["restored_from"] is None]
    assert len(cases) >= {"f113": 5, "f117": 10, "f120": 14, "f23": 14}[version]
    compared: dict[tuple[str, str, str], int] = defaultdict(int)
    for case in cases[1:]:
        first, other = contents(cases[0]), contents(case)
        for key, (schema, rows) in other.items():
            assert schema == first[key][0], (key, case)
            if key[2] not in ("split-list", "union-list"):
                assert same_rows(first[key][1], rows) is None, (key, case)
                compared[key] += 1
    assert {key[2] for key, n in compared.items() if n == len(cases) - 1} >= {
        "text", "numbers", "texts", EMPTY_MAPS, "sum", "mean", "ttl-map", "window-contents", "merging-window-set",
        "_timer_state/event_user-timers", "_timer_state/processing_user-timers", "_timer_state/event_window-timers",
        "limits", "rules",
    }  # fmt: skip


@pytest.mark.parametrize("case", [case for case in CASES if load(DATA / case)["changelog"] is None])
def test_a_key_whose_map_is_empty_is_no_row_and_in_native_heap_files_only(case: str) -> None:
    state = states_of(case, opened(case))["changing", "keyed", EMPTY_MAPS]
    table = state.to_table()
    assert 0 not in [len(value.as_py()) for value in table["value"]]
    expected = expected_keyed(case)["changing", "keyed", EMPTY_MAPS]
    assert ("empty_map_rows" in expected) == (state.form == "heap")
    assert state.coverage.counters.empty_maps == expected.get("empty_map_rows", 0)
    kept = states_of(case, opened(case, keep_empty_maps=True))["changing", "keyed", EMPTY_MAPS].to_table()
    assert kept.num_rows - table.num_rows == expected.get("empty_map_rows", 0)


def test_files_of_a_claimed_savepoint_are_named_as_if_they_lay_beside_metadata() -> None:
    """Flink 2.3.0 finds them no more than we do; with the savepoint's folder, or the files in their place, we read them."""
    snapshot = stateextract.open_snapshot(str(folder_of(CLAIMED_SAVEPOINT)))
    with pytest.raises(MissingFileError) as caught:
        snapshot.operator("changing").state("ttl-map").to_table()
    assert "claimed a native savepoint" in (caught.value.advice or "")
    assert str(folder_of(CLAIMED_SAVEPOINT)) in (caught.value.file or "")
    mapped = opened(CLAIMED_SAVEPOINT).operator("changing").state("ttl-map").to_table()
    assert mapped.num_rows == len(expected_keyed(CLAIMED_SAVEPOINT)["changing", "keyed", "ttl-map"]["rows"]) > 0


@pytest.mark.parametrize("case", [case for case in CASES if case.endswith("-claimed")])
def test_a_claimed_checkpoint_names_files_of_the_job_before(case: str) -> None:
    """By absolute paths that are no more; its own are beside them, absolute or relative."""
    job = folder_of(case).parent.name
    other = {path.name for path in (DATA / case).iterdir() if path.is_dir()} - {job}
    assert len(other) == 1
    streams = [stream for handle in keyed_handles(case) for stream in handle.streams()]
    folders = {stream.path.split("/")[-3] for stream in streams if isinstance(stream, FileHandle)}
    assert folders == {job, *other}
    assert any(isinstance(stream, RelativeHandle) for stream in streams)


@pytest.mark.parametrize("version", ["f120", "f23"])  # Flink 1.13 wrote both databases anew
def test_a_rescaled_database_has_rows_of_foreign_key_groups(version: str) -> None:
    """Each subtask has copies of one database's files: half of the keys are not its own, or lie in deleted ranges."""
    foreign = ranges = 0
    for database in databases(f"{version}-changes-checkpoint-rocksdb-incremental-rescaled"):
        own = database.handle.key_groups
        for live in chain.from_iterable(family.files for family in database.column_families.values()):
            first, last = (int.from_bytes(key[:2], "big") for key in (live.smallest, live.largest))
            foreign += first not in own or last not in own
            table = database.open_table(live)
            ranges += table.properties.range_deletions
            table.file.close()
    assert foreign
    assert ranges


# -- the data is what its names say


def subtasks(case: str) -> Iterator[SubtaskState]:
    for operator in parse_metadata((folder_of(case) / "_metadata").read_bytes()).operators:
        yield from operator.subtasks


def keyed_handles(case: str) -> list[KeyedStateHandle]:
    return [subtask.managed_keyed for subtask in subtasks(case) if subtask.managed_keyed is not None]


def databases(case: str) -> Iterator[RocksDB]:
    store = Store()
    found = find_snapshot(str(folder_of(case)), store)
    open_file = Opener(Locator(found, store), FilePrefetcher(store))
    for handle in keyed_handles(case):
        assert isinstance(handle, IncrementalHandle)
        yield open_rocksdb(handle, open_file, RocksOptions(engine="interpreter"))


@pytest.mark.parametrize("version", VERSIONS)
def test_incremental_checkpoints_have_levels_and_deletions(version: str) -> None:
    levels: dict[str, set[int]] = defaultdict(set)
    deletes: dict[str, int] = defaultdict(int)
    operands = 0
    uploaded = set()
    for database in databases(f"{version}-changes-checkpoint-rocksdb-incremental"):
        uploaded |= {str(stream) for _, stream in database.handle.shared}
        for name, family in database.column_families.items():
            levels[name] |= {live.level for live in family.files}
            for live in family.files:
                table = database.open_table(live)
                deletes[name] += table.properties.deletes
                operands += table.properties.operands
                table.file.close()
    changed = ["text", "numbers", "texts", "sum", "mean", "ttl-map", "window-contents"]
    assert all(len(levels[name]) > 1 for name in changed), levels
    assert all(deletes[name] for name in changed), deletes
    assert operands
    assert len(uploaded) > 20


def test_every_form_of_snapshot_is_there() -> None:
    forms = {case: {type(handle) for handle in keyed_handles(case)} for case in CASES}
    assert all(len(types) == 1 for types in forms.values()), forms
    assert {type_ for types in forms.values() for type_ in types} == {
        KeyGroupsHandle, IncrementalHandle, ChangelogHandle,
    }  # fmt: skip
    for case in CASES:
        document = load(DATA / case)
        changelog = document["changelog"]
        assert (forms[case] == {ChangelogHandle}) == (changelog is not None), case
        segments = [
            stream
            for subtask in subtasks(case)
            for handle in (subtask.managed_keyed, subtask.managed_operator)
            if handle is not None
            for stream in handle.streams()
            if isinstance(stream, SegmentHandle)
        ]
        assert bool(segments) == (document["storage"] == "merged"), case


@pytest.mark.parametrize("case", [case for case in CASES if "changelog" in case])
def test_changelogs_have_the_parts_that_they_should(case: str) -> None:
    document = load(DATA / case)
    handles = [handle for handle in keyed_handles(case) if isinstance(handle, ChangelogHandle)]
    assert handles
    for handle in handles:
        assert bool(handle.materialized) == has_base(case)
        expected = ChangelogBytesHandle if document["changelog"] == "memory" else ChangelogFilesHandle
        assert handle.increments
        assert all(isinstance(part, expected) for part in handle.increments)
    based = {type(part) for part in chain.from_iterable(handle.materialized for handle in handles)}
    if has_base(case):
        assert based == {IncrementalHandle if document["backend"] == "rocksdb" else KeyGroupsHandle}


@pytest.mark.parametrize("case", [case for case in CASES if "heap-timers" in case])
def test_timers_of_the_heap_stand_in_raw_keyed_state(case: str) -> None:
    """Flink 1.13 has them in its full snapshot as well; they are rows once, and nothing is reported as unread."""
    assert [subtask for subtask in subtasks(case) if subtask.raw_keyed is not None]
    states = states_of(case, opened(case))
    form = "full snapshot" if case.startswith("f113") else "raw keyed state"
    assert states["changing", "keyed", "_timer_state/event_user-timers"].form == form
    assert states["changing", "keyed", "text"].form == ("full snapshot" if case.startswith("f113") else "SST files")
