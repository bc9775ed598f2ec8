"""Golden data: what our own Flink jobs put into their state must come out of the files, through the Python API.

``expected.json`` holds the jobs' own input, in the notation of the cases. Timestamps of TTL are the clock of the run, so
only that they are there is checked; everything else is compared exactly, by both engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from stateextract.api import Operator, Snapshot, State
from stateextract.errors import UndecodableError, ValueRefusedError
from stateextract.metadata.uid import operator_id
from tests.conformance.notation import Bag, comparable, from_truth, same_rows
from tests.golden.expected import DATA
from tests.golden.expected import load as load_folder

# These jobs have tests of their own.
CASES = sorted(
    path.parent.name
    for path in DATA.glob("*/expected.json")
    if not any(job in path.parent.name for job in ("-changes-", "-pyflink-"))
)
RUN_BEGAN, RUN_ENDED = 1_700_000_000_000_000, 4_000_000_000_000_000  # any clock that was right

OUT_OF_RANGE = {"extreme-date", "extreme-instant", "extreme-local-date", "extreme-local-date-time"}
"""Times that their column cannot hold: refused, or null under the option ``out_of_range``."""

NULL_KEYS = {"map-null-key"}
"""Maps that Arrow cannot hold as maps: refused, or lists under the option ``maps``."""


def load(case: str) -> dict[str, Any]:
    return load_folder(DATA / case)


def opened(case: str, **options: Any) -> Snapshot:
    options.setdefault("classpath", [str(DATA.parent / "kryo.jar")])
    return stateextract.open_snapshot(str(DATA / case / load(case)["snapshot"]), **options)


def matched(case: str, snapshot: Snapshot) -> Iterator[tuple[Operator, dict[str, Any]]]:
    """The operators with what is expected of them; one without a uid is told by the names of its states."""
    by_id = {o.id: o for o in snapshot.operators}
    nameless = []
    for expected in load(case)["operators"]:
        if expected["uid"] is None:
            nameless.append(expected)
        else:
            yield by_id.pop(operator_id(expected["uid"])), expected
    for expected in nameless:
        names = {s["name"] for s in expected["states"]}
        same = [o for o in by_id.values() if {s.name for s in o.states if s.scope == "keyed"} == names]
        assert len(same) == 1, expected["name"]
        yield by_id.pop(same[0].id), expected


def without_ttl(type_: pa.DataType) -> pa.DataType:
    """The type of the user's value."""
    if pa.types.is_struct(type_) and type_.num_fields == 2 and type_.field(0).name == "last_access":
        return type_.field(1).type
    if pa.types.is_map(type_):
        return pa.map_(type_.key_type, without_ttl(type_.item_type))
    if pa.types.is_list(type_):
        return pa.list_(without_ttl(type_.value_type))
    return type_


def unwrapped(value: Any) -> Any:
    """The user's value of a comparable one; the time of its last access must be one of the run."""
    if isinstance(value, tuple):
        if len(value) == 2 and isinstance(value[0], tuple) and value[0][0] == "last_access":
            assert RUN_BEGAN < value[0][1] < RUN_ENDED
            return value[1][1]
        return tuple(unwrapped(v) for v in value)
    return value


def expected_row(row: Mapping[str, Any], schema: pa.Schema, kind: str, ttl: bool) -> tuple[Any, ...]:
    cells = [from_truth(row["key"], schema.field("key").type)]
    if "namespace" in schema.names:
        cells.append(from_truth(row.get("namespace"), schema.field("namespace").type))
    if kind == "TIMERS":
        cells.append(row["value"])
    else:
        type_ = schema.field("value").type
        cells.append(from_truth(row["value"], without_ttl(type_) if ttl else type_))
    return tuple(cells)


def actual_rows(table: pa.Table, kind: str, ttl: bool) -> list[tuple[Any, ...]]:
    schema = table.schema
    names = [n for n in ("key", "namespace", "timestamp_ms" if kind == "TIMERS" else "value") if n in schema.names]
    columns = [[comparable(v, schema.field(name).type) for v in table[name]] for name in names]
    if ttl:
        columns[-1] = [unwrapped(value) for value in columns[-1]]
    return list(zip(*columns, strict=True))


def check(state: State, expected: Mapping[str, Any]) -> None:
    if state.name in OUT_OF_RANGE:
        check_out_of_range(state, expected)
        return
    if state.name in NULL_KEYS and pa.types.is_map(state.schema.field("value").type):
        check_null_keys(state, expected)
        return
    table = state.to_table()
    assert state.coverage.status == "decoded", state.coverage.reason
    assert table.schema == state.schema
    kind, ttl = expected["kind"], expected["ttl"]
    assert state.kind == {"TIMERS": "timer"}.get(kind, kind.lower())
    rows = [expected_row(row, table.schema, kind, ttl) for row in expected["rows"]]
    actual = actual_rows(table, kind, ttl)
    if expected.get("unordered"):
        actual = [(*row[:-1], Bag(row[-1])) for row in actual]
    assert same_rows(rows, actual) is None, state
    if "last_access" in table.schema.names:
        assert ttl
        assert all(RUN_BEGAN < moment.value < RUN_ENDED for moment in table["last_access"])
    counters = state.coverage.counters
    assert counters.rows == len(rows)
    # Canonical files and RocksDB have an entry for each of a map's.
    in_pairs = kind == "MAP" and not state.form.startswith("heap")
    assert counters.entries == (sum(len(row[-1]) for row in rows) if in_pairs else len(rows) + counters.empty_maps)
    assert counters.empty_maps == expected.get("empty_map_rows", 0)


def check_list(state: State, expected: Mapping[str, Any]) -> None:
    """Operator state: the elements of every subtask, or one copy of a broadcast state."""
    table = state.to_table()
    assert (state.coverage.status, state.coverage.complete) == ("decoded", True), state.coverage.reason
    assert state.coverage.counters.problems == []
    type_ = table.schema.field("value").type
    if expected["mode"] == "BROADCAST":
        assert state.kind == "broadcast"
        key_type = table.schema.field("key").type
        copies = [subtask["entries"] for subtask in expected["subtasks"]]
        assert all(copy == copies[0] for copy in copies)
        rows = [(from_truth(key, key_type), from_truth(value, type_)) for key, value in copies[0]]
        names = ["key", "value"]
    else:
        assert state.kind == {"UNION": "list (union)", "SPLIT_DISTRIBUTE": "list (split)"}[expected["mode"]]
        rows = [
            (from_truth(value, type_), at, subtask["subtask"])
            for subtask in expected["subtasks"]
            for at, value in enumerate(subtask["values"])
        ]
        names = ["value", "index", "subtask"]
    columns = [[comparable(v, table.schema.field(name).type) for v in table[name]] for name in names]
    assert same_rows(rows, zip(*columns, strict=True)) is None, state


def check_out_of_range(state: State, expected: Mapping[str, Any]) -> None:
    with pytest.raises(ValueRefusedError) as caught:
        state.to_table()
    assert (caught.value.operator, caught.value.state) == (state.operator.label, state.name)
    snapshot = stateextract.open_snapshot(state.operator.snapshot.path, out_of_range="null")
    other = snapshot.operator(state.operator.id).state(state.name)
    table = other.to_table()
    bits = 31 if pa.types.is_date32(table.schema.field("value").type) else 63
    exact = [expected_row(row, table.schema, expected["kind"], False) for row in expected["rows"]]
    rows = [(key, value if -(1 << bits) <= value < 1 << bits else None) for key, value in exact]
    assert same_rows(rows, actual_rows(table, expected["kind"], False)) is None, state
    beyond = sum(value is None for _, value in rows)
    assert table["value"].null_count == other.coverage.counters.counts.out_of_range == beyond > 0


def check_null_keys(state: State, expected: Mapping[str, Any]) -> None:
    with pytest.raises(ValueRefusedError, match="a map has a null key") as caught:
        state.to_table()
    assert (caught.value.operator, caught.value.state) == (state.operator.label, state.name)
    snapshot = stateextract.open_snapshot(state.operator.snapshot.path, maps="list")
    check(snapshot.operator(state.operator.id).state(state.name), expected)


def check_custom(state: State, expected: Mapping[str, Any], undecodable: Mapping[str, str], compressed: bool) -> None:
    """Values of classes that nobody knows are refused, and what is lost with them is said to be lost.

    :param undecodable: the class in the way, by state of the operator.
    """
    if state.name in undecodable:
        with pytest.raises(UndecodableError) as caught:
            state.to_table()
        assert caught.value.state in (undecodable if not compressed else {state.name})
        assert undecodable[caught.value.state or ""] in caught.value.message
        return
    if compressed:
        check(state, expected)
        return
    try:
        check(state, expected)
    except UndecodableError as error:
        lost_with, also = error.state, error.advice or ""
    else:
        return
    assert lost_with in undecodable
    assert state.name in also


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
@pytest.mark.parametrize("case", CASES)
def test_rows(case: str, engine: str) -> None:
    document = load(case)
    snapshot = opened(case, decoder=engine)
    for operator, expected in matched(case, snapshot):
        assert operator.parallelism == expected["parallelism"]
        assert operator.max_parallelism == expected["max_parallelism"]
        keyed = {s.name: s for s in operator.states if s.scope == "keyed"}
        assert set(keyed) == {s["name"] for s in expected["states"]}
        undecodable = {s["name"]: s["undecodable"] for s in expected["states"] if "undecodable" in s}
        lists = {s.name: s for s in operator.states if s.scope == "operator"}
        assert set(lists) == {s["name"] for s in expected["operator_states"]}
        for state in expected["operator_states"]:
            check_list(lists[state["name"]], state)
        finished = tuple(expected.get("finished_subtasks", ()))
        assert operator.fully_finished == (len(finished) == operator.parallelism)
        assert operator.finished_subtasks == (() if operator.fully_finished else finished)
        for state in expected["states"]:
            if undecodable:
                check_custom(keyed[state["name"]], state, undecodable, document["compression"])
            else:
                check(keyed[state["name"]], state)


def test_there_is_something_to_test() -> None:
    assert len(CASES) >= 40
