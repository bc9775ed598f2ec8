"""PyFlink's state, with the types that the job gives its elements as wishes: what the job's input leaves behind.

A Python process writes what it added between two bundles as one value, so where the parts of a list begin and end is of no
matter here.
"""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import chain
from typing import Any

import pytest

import stateextract
from stateextract.api import Snapshot, State
from stateextract.metadata.uid import operator_id
from tests.conformance.notation import same_rows
from tests.golden.expected import DATA, load

CASES = sorted(path.parent.name for path in DATA.glob("*-pyflink-*/expected.json"))


def overrides(document: dict[str, Any]) -> dict[str, str]:
    """By column: the types of elements, and the keys that are pickles."""
    found = {"pickled/*/key.f0": "pickle"}
    for operator in document["operators"]:
        for state in operator["states"]:
            wish = state.get("wish")
            wish = f"elements({wish})" if wish and document["mode"] == "process" else wish
            paths = {"MAP": ("value.key", "value.value"), "LIST": ("value.element",)}.get(state["kind"], ("value",))
            found |= {f"{operator['uid']}/{state['name']}/{path}": wish for path in paths if wish}
    return found


def opened(case: str, engine: str) -> Snapshot:
    document = load(DATA / case)
    path = str(DATA / case / document["snapshot"])
    found = stateextract.open_snapshot(path, engine=engine)
    names = {(o.id, s.name) for o in found.operators for s in o.states}
    types = {}
    for place, wish in overrides(document).items():
        uid, state, column = place.split("/", 2) if "/_" not in place else place.rsplit("/", 2)
        wanted = [state] if state != "*" else [name for id_, name in names if id_ == operator_id(uid)]
        types |= {f"{uid}/{name}/{column}": wish for name in wanted}
    return stateextract.open_snapshot(path, engine=engine, types=types)


def plain(value: Any) -> Any:
    """A value as ``expected.json`` has it, with pickles as what they are pickles of."""
    if isinstance(value, dict) and value.keys() == {"bytes", "json"}:
        return json.loads(value["json"]) if value["json"] is not None else None
    return value


def elements(column: Any, wished: bool) -> list[Any]:
    return [plain(v) for v in (chain.from_iterable(column) if wished else column)]


def rows(state: State, expected: dict[str, Any], process: bool) -> list[tuple[Any, Any]]:
    table = state.to_table()
    assert (state.coverage.status, state.coverage.complete) == ("decoded", True)
    keys = [plain(key["f0"]) for key in table["key"].to_pylist()]
    if expected["kind"] == "TIMERS":
        return list(zip(keys, table["timestamp_ms"].to_pylist(), strict=True))
    assert state.kind == expected["kind"].lower()
    values = table["value"].to_pylist()
    wished = process and expected["wish"] is not None
    if expected["kind"] == "MAP":
        pairs = [[[plain(part) for part in (chain(*pair) if wished else pair)] for pair in value] for value in values]
        return [(key, sorted(value, key=repr)) for key, value in zip(keys, pairs, strict=True)]
    if expected["kind"] == "LIST":
        return [(key, elements(value, wished)) for key, value in zip(keys, values, strict=True)]
    return [(key, plain(value)) for key, value in zip(keys, values, strict=True)]


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
    snapshot = opened(case, engine)
    by_id = {o.id: o for o in snapshot.operators}
    for operator in document["operators"]:
        states = {s.name: s for s in by_id[operator_id(operator["uid"])].states}
        assert set(states) == {s["name"] for s in operator["states"]}
        for expected in operator["states"]:
            actual = rows(states[expected["name"]], expected, document["mode"] == "process")
            wanted = [(row["key"], row["value"]) for row in expected["rows"]]
            assert same_rows(map(frozen, map(list, wanted)), map(frozen, map(list, actual))) is None, expected["name"]


def test_both_modes_and_versions_are_there() -> None:
    found = {(d["flink_version"][:4], d["mode"]) for d in (load(DATA / case) for case in CASES)}
    assert found == {(version, mode) for version in ("1.20", "2.0.") for mode in ("process", "thread")}
