"""PyFlink's state, with the types that the job gives its elements: what the job's input leaves behind.

Pickles, keys and the lists around values need no types. Both modes write other bytes of the same values.
"""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import stateextract
from stateextract.api import Snapshot, State
from stateextract.metadata.uid import operator_id
from tests.conformance.notation import same_rows
from tests.golden.expected import DATA, load

CASES = sorted(path.parent.name for path in DATA.glob("*-pyflink-*/expected.json") if "-tables-" not in path.parent.name)
TABLES = sorted(path.parent.name for path in DATA.glob("*-pyflink-tables-*-rocksdb/expected.json"))
ON_HEAP = "f23-pyflink-tables-checkpoint"


def is_one(state: dict[str, Any]) -> bool:
    """Whether a list has one element in each row, as values of a Python process have."""
    return all(len(row["value"]) == 1 for row in state["rows"])


def overrides(document: dict[str, Any]) -> dict[str, str]:
    """The types that nothing in the snapshot tells."""
    found = {}
    for operator in document["operators"]:
        for state in operator["states"]:
            wish = state.get("wish")
            if not wish or wish == "pickle":
                continue
            place = f"{operator['uid']}/{state['name']}/value"
            if document["mode"] == "thread":
                found[place] = wish
            elif state["kind"] == "MAP":
                found |= {f"{place}.{part}": f"element({wish})" for part in ("key", "value")}
            else:
                found[place] = f"{'element' if is_one(state) else 'elements'}({wish})"
    return found


def opened(case: str, engine: str) -> Snapshot:
    document = load(DATA / case)
    return stateextract.open_snapshot(str(DATA / case / document["snapshot"]), decoder=engine, types=overrides(document))


def shown(value: Any, pickled: bool) -> Any:
    """A value as ``expected.json`` has it."""
    if pickled:
        return json.loads(value)
    return value.isoformat() if isinstance(value, date) else value


def rows(state: State, expected: dict[str, Any], pickled: bool) -> list[tuple[Any, Any]]:
    table = state.to_table()
    assert (state.coverage.status, state.coverage.complete) == ("decoded", True)
    keys = [shown(key, pickled) for key in table["key"].to_pylist()]
    if expected["kind"] == "TIMERS":
        return list(zip(keys, table["timestamp_ms"].to_pylist(), strict=True))
    assert state.kind == expected["kind"].lower()
    values = table["value"].to_pylist()
    of_pickles = expected["wish"] == "pickle"
    if expected["kind"] == "MAP":
        pairs = [[[shown(part, of_pickles) for part in pair] for pair in value] for value in values]
        return [(key, sorted(value, key=repr)) for key, value in zip(keys, pairs, strict=True)]
    if expected["kind"] == "LIST" and not (expected["name"].startswith("python-state-") and is_one(expected)):
        return [(key, [shown(v, of_pickles) for v in value]) for key, value in zip(keys, values, strict=True)]
    return [(key, shown(value, of_pickles)) for key, value in zip(keys, values, strict=True)]


def frozen(value: Any) -> Any:
    """Lists as tuples, and what has a tag in ``expected.json`` as itself; objects as text."""
    if isinstance(value, dict) and value.keys() & {"$map", "$bytes", "$decimal"}:
        ((tag, inner),) = value.items()
        made = {"$map": lambda v: sorted(v, key=repr), "$bytes": bytes.fromhex, "$decimal": Decimal}[tag](inner)
        return frozen(made)
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else value


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
@pytest.mark.parametrize("case", CASES)
def test_rows(case: str, engine: str) -> None:
    document = load(DATA / case)
    by_id = {o.id: o for o in opened(case, engine).operators}
    for operator in document["operators"]:
        states = {s.name: s for s in by_id[operator_id(operator["uid"])].states}
        assert set(states) == {s["name"] for s in operator["states"]}
        for expected in operator["states"]:
            actual = rows(states[expected["name"]], expected, operator["uid"] == "pickled")
            one = expected["kind"] == "LIST" and document["mode"] == "process" and is_one(expected)
            wanted = [(row["key"], row["value"][0] if one else row["value"]) for row in expected["rows"]]
            assert same_rows(map(frozen, map(list, wanted)), map(frozen, map(list, actual))) is None, expected["name"]


@pytest.mark.parametrize("case", TABLES)
def test_aggregates_of_tables(case: str) -> None:
    """Without any type the accumulators are JSON; ListView and MapView are states of their own."""
    document = load(DATA / case)
    types = {"*/python-state-*$l/value": "elements(string)", "*/*$m/value.key": "element(string)",
             "*/*$m/value.value": "element(int64)"}  # fmt: skip
    snapshot = stateextract.open_snapshot(str(DATA / case / document["snapshot"]), types=types)
    states = {s.name: s for o in snapshot.operators for s in o.states if s.kind != "timer"}
    (operator,) = document["operators"]
    assert set(states) == {expected["name"] for expected in operator["states"]}
    for expected in operator["states"]:
        table = states[expected["name"]].to_table()
        found = {key["f0"]: value for key, value in zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)}
        wanted = {row["key"]: row["value"] for row in expected["rows"]}
        if expected["kind"] == "MAP":
            found = {key: dict(pairs) for key, pairs in found.items()}
            wanted = {key: dict(value["$map"]) for key, value in wanted.items()}
        if expected["name"].endswith("accumulators"):
            found = {key: [json.loads(text)] for key, text in found.items()}
        assert found == wanted, expected["name"]


@pytest.mark.parametrize("key", ['[1,"key"]', '[1, "key"]', (1, "key")])
@pytest.mark.parametrize("case", CASES)
def test_pickled_keys_are_found_where_their_hash_leads(case: str, key: Any) -> None:
    document = load(DATA / case)
    snapshot = stateextract.open_snapshot(str(DATA / case / document["snapshot"]))
    prefix = "python-state-" if document["mode"] == "process" else ""
    state = snapshot.operator("pickled").state(f"{prefix}value")
    found = state.get(key)
    assert found["key"].to_pylist() == ['[1,"key"]']
    assert state.searched is not None
    assert found["key_group"].to_pylist()[0] in state.searched
    assert len(state.searched) <= 2
    assert state.get('[9, "key"]').num_rows == 0
    assert state.searched is None


def test_keys_that_contradict_their_key_groups() -> None:
    """On the heap PyFlink's aggregation writes all entries under the one key object that it reuses."""
    document = load(DATA / ON_HEAP)
    snapshot = stateextract.open_snapshot(str(DATA / ON_HEAP / document["snapshot"]))
    findings = {f.state: f for f in snapshot.validate() if f.state is not None}
    accumulators = findings["python-state-accumulators"]
    assert (accumulators.status, accumulators.rows, accumulators.misplaced) == ("sound", 5, 2)
    (note,) = accumulators.notes
    assert note == (
        '2 keys of those looked at are not in the key group that the hash leads to: {"f0": "東京"} is in key group 1, and its '
        "hash leads to 3; Flink finds no value by such a key"
    )
    paths = [str(DATA / case / load(DATA / case)["snapshot"]) for case in TABLES]
    sound = [finding for path in paths for finding in stateextract.open_snapshot(path).validate()]
    assert [f for f in sound if f.misplaced or f.notes] == []
    assert sum(f.rows for f in sound) == 2 * 3 * 5


def test_both_modes_and_versions_are_there() -> None:
    found = {(d["flink_version"][:4], d["mode"]) for d in (load(DATA / case) for case in CASES)}
    assert found == {(version, mode) for version in ("1.20", "2.3.") for mode in ("process", "thread")}
    assert {load(DATA / case)["flink_version"][:4] for case in TABLES} == {"1.20", "2.3."}
