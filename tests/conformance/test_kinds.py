"""Every kind of snapshot gives the same rows: through the Python API, as users get them.

Flink's migration tests took the state of one job in each release as checkpoint, canonical and native savepoint of both
backends. All states of all of these are held against ``flink-files/expected``, and those of one job and release against
each other. The cases with canonical and RocksDB snapshots are held against their truth.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.api import State
from tests.conformance.classes import entries
from tests.conformance.conftest import flink_cases, flink_files
from tests.conformance.notation import from_expected, same_rows
from tests.conformance.state_rows import Row, expected_rows, rows_of, truth_rows
from tests.conformance.test_operator_state import by_text
from tests.conformance.test_operator_state import row as list_row

JOBS = re.compile(r"(?P<job>.+)-flink(?P<version>[\d.]+)-(?P<kind>.+)")

FOLDERS = sorted((flink_files() / "flink-tests").glob("new-*"))
CASES = [p for p in sorted(flink_cases().glob("*")) if p.is_dir()]


def opened(folder: Path, **options: Any) -> stateextract.Snapshot:
    return stateextract.open_snapshot(str(folder), on_undecodable="skip", **options)


def expected_of(folder: Path) -> dict[tuple[str, str, str], Any]:
    name = folder.relative_to(flink_files())
    document = json.loads((flink_files() / "expected" / f"{name}.json").read_text())
    return {(o["id"], s["scope"], s["name"]): s for o in document["operators"] for s in o["states"]}


def rows_expected(state: State, expected: Mapping[str, Any]) -> list[Row]:
    if state.scope == "operator":
        return [list_row(r, state.schema, from_expected) for r in expected["rows"]]
    return expected_rows(expected, state.schema)


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_flinks_snapshots(folder: Path, engine: Any) -> None:
    expected = expected_of(folder)
    snapshot = opened(folder, decoder=engine)
    assert {(s.operator.id, s.scope, s.name) for s in snapshot.states} >= {k for k in expected if k[1] == "operator"}
    for state in snapshot.states:
        table = state.to_table()
        wanted = rows_expected(state, expected[state.operator.id, state.scope, state.name])
        assert same_rows(wanted, rows_of(table)) is None, state
        coverage = state.coverage
        assert (coverage.status, coverage.complete, coverage.counters.problems) == ("decoded", True, [])
        assert coverage.counters.rows == table.num_rows


GROUPS: dict[tuple[str, str], list[Path]] = defaultdict(list)
for _folder in FOLDERS:
    _match = JOBS.fullmatch(_folder.name)
    assert _match is not None
    GROUPS[_match["job"], _match["version"]].append(_folder)


@pytest.mark.parametrize("group", sorted(GROUPS), ids="-".join)
def test_all_kinds_of_one_job_and_release_are_equal(group: tuple[str, str]) -> None:
    found: dict[tuple[str, str, str], list[tuple[str, Any, list[Row]]]] = defaultdict(list)
    for folder in GROUPS[group]:
        for state in opened(folder).states:
            if any("by trial" in note for note in state.operator.notes):
                continue  # the commoner of types with the same bytes was taken: Long for a Tuple1 of it
            key = (state.operator.id, state.scope, state.name)
            # Times of processing-time timers are those of the run's clock.
            clock = ("timestamp", "timestamp_ms") if "/processing_" in state.name else ()
            found[key].append((folder.name, state.schema, rows_of(state.to_table(), clock)))
    compared = 0
    for key, kinds in found.items():
        first = kinds[0]
        for other in kinds[1:]:
            assert other[1] == first[1], (key, first[0], other[0])
            assert same_rows(first[2], other[2]) is None, (key, first[0], other[0])
            compared += 1
    assert compared


@pytest.mark.parametrize("engine", ["interpreter", "auto"])
@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name)
def test_cases(case: Path, engine: Any) -> None:
    truth = json.loads((case / "truth.json").read_text())
    expected = {(o["operator_id"], s["name"]): s for o in truth["operators"] for s in o["keyed_states"]}
    snapshot = opened(
        case / truth["path"], decoder=engine, key_group_column=False, subtask_column=False, kryo_classes=entries()
    )
    for state in snapshot.states:
        if state.scope == "operator":
            continue
        table = state.to_table()
        wanted = truth_rows(expected[state.operator.id, state.name], state.schema)
        assert same_rows(wanted, rows_of(table)) is None, state
        assert (state.coverage.status, state.coverage.complete) == ("decoded", True)


def test_the_timers_of_an_operator_whatever_queue() -> None:
    folder = flink_files() / "flink-tests" / "new-stateful-udf-migration-itcase-flink1.20-hashmap-savepoint"
    expected = expected_of(folder)
    seen = 0
    for operator in opened(folder).operators:
        queues = [s for s in operator.states if s.kind == "timer"]
        if queues and len({s.schema for s in queues}) == 1:
            rows = [r for s in queues for r in rows_expected(s, expected[operator.id, "keyed", s.name])]
            assert by_text(rows_of(operator.timers().read_all())) == by_text(rows)
            seen += len(rows)
    assert seen


def test_a_uid_given_for_a_hash() -> None:
    """Before Flink 2.0 the snapshot knows only the hash of a uid."""
    case = flink_cases() / "f1205-pojos-hashmap-canonical-zip"
    truth = json.loads((case / "truth.json").read_text())
    snapshot = opened(case / truth["path"])
    uids = {o["uid"]: o["operator_id"] for o in truth["operators"] if o["uid"]}
    assert uids
    for uid, identity in uids.items():
        assert snapshot.operator(uid).id == identity


def test_broadcast_state_once_or_in_all_copies() -> None:
    folder = flink_files() / "flink-tests" / "new-stateful-broadcast-udf-migration-itcase-flink1.20-hashmap-savepoint"
    expected = expected_of(folder)
    seen = 0
    for once, every in zip(opened(folder).states, opened(folder, all_copies=True).states, strict=True):
        if once.kind == "broadcast":
            rows = expected[once.operator.id, "operator", once.name]
            assert len(once.to_table()) == len(rows["rows"])
            assert len(every.to_table()) == len(rows["rows"]) * rows["copies"]
            assert set(every.to_table()["subtask"].to_pylist()) == set(range(rows["copies"]))
            assert len(once.coverage.counters.copies) == rows["copies"]
            assert once.coverage.counters.differing == []
            seen += 1
    assert seen >= 2
