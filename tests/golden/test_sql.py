"""SQL: with the compiled plan that lies beside each snapshot, columns have the plan's names and types, and the same rows.

That the rows are right without a plan is tested in ``test_rows.py``, by both engines.
"""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from stateextract.api import Operator, Snapshot, State
from stateextract.metadata.uid import operator_id
from tests.golden.test_rows import CASES, DATA, RUN_BEGAN, RUN_ENDED, check, load, matched, opened

SQL = [case for case in CASES if case.split("-")[1] in ("sql", "sqlcore")]
FULL = [case for case in SQL if case.split("-")[1] == "sql"]

STAMP, LOCAL = "timestamp[us, tz=UTC]", "timestamp[us]"
WINDOW = f"struct<start: {STAMP}, end: {STAMP}>"
BUY = f"buy: int64, city: string, amount: decimal128(10, 2), stamp: {STAMP}, row_kind: string"
CUSTOMER = "id: int32, city: string, since: date32[day], row_kind: string"
NESTED = f"struct<flag: bool, name: string, at: {LOCAL}, inside: struct<n: int16, days: list<item: date32[day]>>"
"""Left open: a kind of row may follow."""
SIMPLE = {
    "b": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f32": "float", "f64": "double",
    "money": "decimal128(10, 2)", "big_money": "decimal128(30, 5)", "vc": "string", "str": "string",
    "d": "date32[day]", "t": "string", "ts0": LOCAL, "ts3": LOCAL, "ts6": LOCAL, "ts9": LOCAL, "ltz0": STAMP,
    "ltz3": STAMP, "ltz6": STAMP, "ltz9": STAMP,
}  # fmt: skip
BYTES = {"ch": "string", "bin": "binary", "vbin": "binary", "octets": "binary", "ym": "int32", "ds": "int64"}
NESTING = {
    "ints": "list<item: int32>", "lists": "list<item: list<item: string>>", "counts": "map<string, int64>",
    "places": "map<int32, struct<x: double, y: decimal128(20, 1)>>", "bag": "map<string, int32>", "r": NESTED + ">",
    "opaque": "struct<f0: string, f1: int64>",
}  # fmt: skip


def struct(fields: dict[str, str]) -> str:
    return f"struct<{', '.join(f'{name}: {type_}' for name, type_ in fields.items())}>"


EXTREMES = {f"f{i}": type_ for i, type_ in enumerate(["int64", *(t for t in SIMPLE.values() for _ in range(2))])}

KEYS = {
    "extremes": "k: string", "keys": struct(SIMPLE | BYTES)[7:-1], "sums": "k: string", "distincts": "k: string",
    "collections": "k: string", "arrays": "k: string", "retractions": "shelf: string", "lists": "shelf: string",
    "inner_join": "customer: int32", "left_join": "city: string", "full_join": "i32: int32", "key_join": "id: int32",
    "interval_join": "customer: int32", "top": "city: string", "top_changing": "shelf: string",
    "latest": "k: string", "earliest": "customer: int32, city: string", "first_seen": "customer: int32",
    "last_seen": "customer: int32", "over_rows": "city: string", "over_range": "city: string",
    "over_all": "city: string", "tumbling": "customer: int32", "hopping": "city: string",
    "sessions": "customer: int32", "old_sessions": "customer: int32", "old_hops": "customer: int32",
}  # fmt: skip
"""The fields of the key of each query; its one stateful operator is named by the query."""

VALUES = {
    ("extremes", "accState"): struct(EXTREMES | {"row_kind": "string"}),
    ("keys", "accState"): "struct<f0: int64, row_kind: string>",
    ("sums", "accState"):
        "struct<f0: int32, f1: decimal128(38, 2), f2: int64, f3: int64, f4: double, f5: int64, f6: decimal128(38, 5), "
        "f7: int64, f8: int64, f9: string, f10: string, f11: int8, row_kind: string>",
    ("distincts", "accState"):
        "struct<f0: int64, f1: int64, f2: int64, f3: int64, f4: int32, f5: int32, f6: bool, f7: bool, f8: bool, "
        "f9: bool, f10: bool, row_kind: string>",
    ("distincts", "distinctAcc_0"): "map<string, int64>",
    ("distincts", "distinctAcc_1"): "map<decimal128(30, 5), int64>",
    ("distincts", "distinctAcc_2"): f"map<{STAMP}, int64>",
    ("distincts", "distinctAcc_3"): "map<list<item: int32>, int64>",
    ("distincts", "distinctAcc_4"): "map<int32, int64>",
    **{("distincts", f"distinctAcc_{i}_null_state"): "int64" for i in range(5)},
    ("collections", "accState"):
        "struct<f0: struct<map: bool>, f1: struct<map: bool>, f2: struct<map: bool>, row_kind: string>",
    ("collections", "agg0$map"): "map<string, int32>",
    ("collections", "agg1$map"): f"map<{NESTED}, row_kind: string>, int32>",
    ("collections", "agg2$map"): "map<map<string, int64>, int32>",
    ("arrays", "accState"):
        f"struct<f0: struct<list: list<item: {LOCAL}>, retractList: list<item: {LOCAL}>>, row_kind: string>",
    ("retractions", "accState"):
        "struct<f0: int64, f1: int64, f2: decimal128(38, 2), f3: int64, "
        "f4: struct<min: decimal128(10, 2), mapSize: int64, map: bool>, "
        f"f5: struct<max: int64, mapSize: int64, map: bool>, f6: struct<max: {LOCAL}, mapSize: int64, map: bool>, "
        "f7: int64, f8: int64, f9: bool, row_kind: string>",
    ("retractions", "agg2$map"): "map<decimal128(10, 2), int64>",
    ("retractions", "agg3$map"): "map<int64, int64>",
    ("retractions", "agg4$map"): f"map<{LOCAL}, int64>",
    ("retractions", "distinctAcc_0"): "map<decimal128(10, 2), int64>",
    ("retractions", "distinctAcc_0_null_state"): "int64",
    ("lists", "accState"):
        "struct<f0: struct<list: bool, retractList: bool>, f1: struct<map: bool>, f2: int64, row_kind: string>",
    ("lists", "agg0$list"): "list<item: string>",
    ("lists", "agg0$retractList"): "list<item: string>",
    ("lists", "agg1$map"): "map<decimal128(10, 2), int32>",
    ("inner_join", "left-records"):
        f"map<struct<buy: int64, customer: int32, amount: decimal128(10, 2), EXPR$3: {STAMP}, row_kind: string>, int32>",
    ("inner_join", "right-records"): f"struct<{CUSTOMER}>",
    ("left_join", "left-records"):
        f"map<struct<id: int32, row_kind: string>, struct<f0: struct<{CUSTOMER}>, f1: int32>>",
    ("left_join", "right-records"):
        "map<struct<buy: int64, city: string, amount: decimal128(10, 2), row_kind: string>, int32>",
    ("full_join", "left-records"):
        f"map<struct<id: int32, i32: int32, big_money: decimal128(30, 5), str: string, ts9: {LOCAL}, "
        f"ints: list<item: int32>, r: {NESTED}>, row_kind: string>, struct<f0: int32, f1: int32>>",
    ("full_join", "right-records"):
        f"map<struct<item: int32, shelf: string, price: decimal128(10, 2), units: int64, seen: {LOCAL}, "
        "row_kind: string>, struct<f0: int32, f1: int32>>",
    ("key_join", "left-records"): f"struct<f0: struct<{CUSTOMER}>, f1: int32>",
    ("key_join", "right-records"):
        "struct<f0: struct<customer: int32, most: decimal128(20, 2), row_kind: string>, f1: int32>",
    ("interval_join", "IntervalJoinLeftCache"):
        f"map<int64, list<item: struct<f0: struct<buy: int64, customer: int32, amount: decimal128(10, 2), "
        f"stamp: {STAMP}, row_kind: string>, f1: bool>>>",
    ("interval_join", "IntervalJoinRightCache"):
        f"map<int64, list<item: struct<f0: struct<payment: int32, customer: int32, stamp: {STAMP}, "
        "row_kind: string>, f1: bool>>>",
    ("interval_join", "IntervalJoinLeftTimerState"): "int64",
    ("interval_join", "IntervalJoinRightTimerState"): "int64",
    ("top", "data-state-with-append"):
        "map<struct<amount: decimal128(10, 2), buy: int64, row_kind: string>, "
        "list<item: struct<buy: int64, city: string, amount: decimal128(10, 2), row_kind: string>>>",
    ("top_changing", "data-state"):
        "map<struct<price: decimal128(10, 2), row_kind: string>, "
        "list<item: struct<item: int32, shelf: string, price: decimal128(10, 2), row_kind: string>>>",
    ("top_changing", "sorted-map"): "map<struct<price: decimal128(10, 2), row_kind: string>, int64>",
    ("latest", "deduplicate-state"): struct(
        {"id": "int32", "k": "string"} | SIMPLE | BYTES | NESTING | {"rt": LOCAL, "row_kind": "string"}
    ),
    ("earliest", "deduplicate-state"):
        f"struct<buy: int64, customer: int32, city: string, amount: decimal128(10, 2), stamp: {STAMP}, row_kind: string>",
    ("earliest", "already-emitted-state-boolean"): "bool",
    ("first_seen", "deduplicate-state"): "bool",
    ("last_seen", "deduplicate-state"): f"struct<buy: int64, customer: int32, p: {STAMP}, row_kind: string>",
    ("over_rows", "accState"): "struct<f0: int64, f1: decimal128(38, 2), f2: int64, row_kind: string>",
    ("over_rows", "inputState"): f"map<int64, list<item: struct<{BUY}>>>",
    ("over_rows", "lastTriggeringTsState"): "int64",
    ("over_rows", "processedCountState"): "int64",
    ("over_range", "accState"): "struct<f0: int64, f1: int64, row_kind: string>",
    ("over_range", "cleanupTsState"): "int64",
    ("over_range", "inputState"): f"map<int64, list<item: struct<{BUY}>>>",
    ("over_range", "lastTriggeringTsState"): "int64",
    ("over_all", "accState"): "struct<f0: int64, f1: decimal128(38, 2), f2: int32, row_kind: string>",
    ("tumbling", "window-aggs"):
        f"struct<f0: int64, f1: decimal128(38, 2), f2: {STAMP}, f3: int64, f4: bool, row_kind: string>",
    ("tumbling", "distinctAcc_0"): "map<string, int64>",
    ("tumbling", "distinctAcc_0_null_state"): "int64",
    ("hopping", "window-aggs"): "struct<f0: decimal128(38, 2), f1: int64, f2: int64, f3: int64, row_kind: string>",
    ("sessions", "window-aggs"): "struct<f0: int64, f1: decimal128(38, 2), row_kind: string>",
    ("sessions", "session-window-mapping"): f"map<{WINDOW}, {WINDOW}>",
    ("old_sessions", "window-aggs"): "struct<f0: int64, f1: decimal128(38, 2), row_kind: string>",
    ("old_sessions", "session-window-mapping"): f"map<{WINDOW}, {WINDOW}>",
    ("old_hops", "window-aggs"): "struct<f0: int64, f1: decimal128(10, 2), row_kind: string>",
}  # fmt: skip
VALUES["earliest", "waiting-to-emit-on-timer"] = VALUES["earliest", "deduplicate-state"]

# A ranking of an aggregate has two operators with states, which the query's name does not tell apart.
COUNTS = {
    "data-state-with-update": (
        "city: string",
        "map<struct<city: string, customer: int32, row_kind: string>, "
        "struct<f0: struct<city: string, customer: int32, n: int64, row_kind: string>, f1: int32>>",
    ),
    "accState": ("city: string, customer: int32", "struct<f0: int64, row_kind: string>"),
}


def planned(case: str, folder: Path) -> Snapshot:
    """The snapshot, opened with the compiled plan beside it."""
    plan = folder / "plan.json"
    plan.write_bytes(gzip.decompress((DATA / case / "plan.json.gz").read_bytes()))
    return opened(case, plan=str(plan))


def keyed(operator: Operator) -> list[State]:
    return [s for s in operator.states if s.scope == "keyed"]


def types(query: str, state: str) -> tuple[str, str]:
    """The key's fields and the value's type."""
    return COUNTS[state] if query == "top_counts" else (KEYS[query], VALUES[query, state])


@pytest.mark.parametrize("case", SQL)
def test_names_types_and_rows_with_a_plan(case: str, tmp_path: Path) -> None:
    for operator, expected in matched(case, planned(case, tmp_path)):
        states = {s.name: s for s in keyed(operator)}
        for state in expected["states"]:
            found = states[state["name"]]
            if state["kind"] != "TIMERS":
                key, value = types(expected["name"], state["name"])
                assert str(found.schema.field("key").type) == f"struct<{key}>", found
                assert str(found.schema.field("value").type) == value, found
            check(found, state)


@pytest.mark.parametrize("case", SQL)
def test_nothing_else_has_keyed_state(case: str) -> None:
    document = load(case)
    assert len(document["operators"]) >= 8
    names = {operator_id(o["uid"]) for o in document["operators"]}
    others = [o for o in opened(case).operators if o.id not in names and keyed(o)]
    assert len(others) == (1 if case in FULL else 0)  # FIRST_VALUE and LAST_VALUE, below


@pytest.mark.parametrize("case", SQL)
def test_watermarks_of_windows(case: str) -> None:
    checked = 0
    for operator, expected in matched(case, opened(case)):
        for state in expected["operator_states"]:
            rows = operator.state(state["name"], scope="operator").to_table().to_pylist()
            values = [[r["value"] for r in rows if r["subtask"] == s["subtask"]] for s in state["subtasks"]]
            assert values == [s["values"] for s in state["subtasks"]]
            checked += 1
    assert checked >= 1


# ---- FIRST_VALUE and LAST_VALUE order by the clock of the run

PRICES = {"top": ["0.50", "2.50", "9.75"], "floor": ["1.50", "9.75", "9.75"]}  # in the order that the job met them
UNITS = {"top": [0, 60, 20], "floor": [10, 70]}


@pytest.mark.parametrize("case", FULL)
def test_first_and_last_values(case: str, tmp_path: Path) -> None:
    names = {operator_id(o["uid"]) for o in load(case)["operators"]}
    (operator,) = (o for o in planned(case, tmp_path).operators if o.id not in names and keyed(o))
    tables = {s.name: {r["key"]["shelf"]: r["value"] for r in s.to_table().to_pylist()} for s in keyed(operator)}
    assert set(tables) == {
        "accState", "agg0$orderToValueMap", "agg0$valueToOrderMap", "agg1$orderToValueMap", "agg1$valueToOrderMap",
        "_timer_state/event_user-timers", "_timer_state/processing_user-timers",
    }  # fmt: skip
    for shelf, row in tables["accState"].items():
        prices, units = [Decimal(p) for p in PRICES[shelf]], UNITS[shelf]
        assert (row["f0"]["firstValue"], row["f1"]["lastValue"], row["f2"]) == (prices[0], units[-1], 3)
        assert [row["f0"]["valueToOrderMap"], row["f1"]["orderToValueMap"], row["row_kind"]] == [None, None, "+I"]
        ordered(tables["agg0$orderToValueMap"][shelf], tables["agg0$valueToOrderMap"][shelf], prices)
        ordered(tables["agg1$orderToValueMap"][shelf], tables["agg1$valueToOrderMap"][shelf], units)
        assert row["f0"]["firstOrder"] == min(t for t, _ in tables["agg0$orderToValueMap"][shelf])
        assert row["f1"]["lastOrder"] == max(t for t, _ in tables["agg1$orderToValueMap"][shelf])
    assert set(tables["accState"]) == {"top", "floor"}


def ordered(by_time: list[tuple[int, list[Any]]], by_value: list[tuple[Any, list[int]]], values: list[Any]) -> None:
    """Both views of one argument: the values by the time that they came, and the times of each value."""
    assert [value for _, some in sorted(by_time) for value in some] == values
    assert all(RUN_BEGAN < time * 1000 < RUN_ENDED for time, _ in by_time)
    pairs = sorted((time, value) for value, times in by_value for time in times)
    assert pairs == sorted((time, value) for time, some in by_time for value in some)


def test_all_versions_and_kinds() -> None:
    found = {(d["flink_version"][:4].rstrip("."), d["kind"], d["backend"]) for d in map(load, SQL)}
    assert found == {
        *((version, "checkpoint", "hashmap") for version in ("1.17", "1.20", "2.3")),
        *((version, "canonical-savepoint", "hashmap") for version in ("1.17", "1.20", "2.3")),
        ("1.20", "native-savepoint", "rocksdb"),
    }
