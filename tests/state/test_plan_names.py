"""Names of fields out of compiled plans and names files, and where in a layout they land."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from serializers.field_names import named_row
from serializers.logical_types import in_row, row_fields
from serializers.sql_type import LogicalType, NameRule, decode_rules, encode_rules
from serializers.type_strings import plan_type
from stateextract.columnar.layout import Field, Layout, List, Map, Nullable, Number, Struct, Text, struct
from stateextract.errors import UsageError
from stateextract.metadata.uid import operator_id
from stateextract.state.plan_names import names_of_file, names_of_plan, note_on_plan


class OperatorNames(NamedTuple):
    id: str
    uid: str | None = None
    name: str | None = None


INT, TEXT = LogicalType("INTEGER", ""), LogicalType("VARCHAR", "")

TYPES = [
    ("INT", "int32"),
    ("VARCHAR(2147483647) NOT NULL", "string"),
    ("DECIMAL(10, 2)", "decimal128(10, 2)"),
    ("DECIMAL", "decimal128(10, 0)"),
    ("TIMESTAMP(3)", "timestamp[us]"),
    ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "timestamp[us, tz=UTC]"),
    ("TIMESTAMP_LTZ(9)", "timestamp[us, tz=UTC]"),
    ("TIME(0)", "string"),
    ("DATE", "date32[day]"),
    ("INTERVAL YEAR(4) TO MONTH NOT NULL", "int32"),
    ("INTERVAL DAY(3) TO SECOND(6)", "int64"),
    ("ARRAY<INT NOT NULL>", "list<item: int32>"),
    ("MULTISET<VARCHAR(3)>", "map<string, int32>"),
    ("MAP<VARCHAR(5), ROW<`a``b` INT 'a comment', `c` DOUBLE>> NOT NULL", "map<string, struct<a`b: int32, c: double>>"),
    ("ROW<`` INT>", "struct<: int32>"),
    ("RAW('java.lang.Object', 'AAAA==')", "binary"),
    ({"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "precision": 3, "kind": "ROWTIME"}, "timestamp[us]"),
    ({"type": "ROW", "fields": [{"name": "x", "fieldType": "BIGINT"}]}, "struct<x: int64>"),
    ({"type": "MAP", "keyType": "INT", "valueType": {"type": "ARRAY", "elementType": "INT"}}, "map<int32, list<item: int32>>"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "column"), TYPES, ids=[str(t) for t, _ in TYPES])
def test_types(text: Any, column: str) -> None:
    assert str(in_row(plan_type(text)).arrow_type) == column


@pytest.mark.parametrize(
    "text",
    ["", "ODD", "`cat`.`db`.`type`", "INT INT", "ROW<`a`>", "ROW<`a` INT", "MAP<INT>", "TIMESTAMP(3) WITH TIME ZONE",
     "DECIMAL(x)", "RAW('a'", "ARRAY<" * 90 + "INT" + ">" * 90, {"type": 5}, {"type": "ROW", "fields": [1]}, 7,
     {"type": "DECIMAL", "precision": "many"}],
)  # fmt: skip
def test_what_is_not_understood_has_no_root(text: Any) -> None:
    assert plan_type(text).root == ""


PLAN = {
    "flinkVersion": "2.3",
    "nodes": [
        {"id": 1, "type": "stream-exec-exchange_1", "outputType": "ROW<`user` VARCHAR(9), `n` INT>",
         "inputProperties": [{"requiredDistribution": {"type": "HASH", "keys": [0]}}]},
        {"id": 2, "type": "stream-exec-exchange_1", "outputType": "ROW<`city` VARCHAR(9), `m` INT>",
         "inputProperties": [{"requiredDistribution": {"type": "HASH", "keys": [0]}}]},
        {"id": 3, "type": "stream-exec-join_1", "description": "Join(joinType=[InnerJoin])", "outputType": "ROW<`a` INT>",
         "leftUpsertKeys": [[1]], "rightUpsertKeys": [[0], [1]]},
        {"id": 4, "type": "stream-exec-rank_1", "outputType": "ROW<`a` INT>",
         "rankStrategy": {"type": "UpdateFast", "primaryKeys": [1]}, "orderBy": {"fields": [{"index": 0}]}},
        {"id": 5, "type": "stream-exec-deduplicate_1", "outputType": "ROW<`a` INT>"},
    ],
    "edges": [{"source": 1, "target": 3}, {"source": 2, "target": 3}, {"source": 1, "target": 4}, {"source": 1, "target": 5}],
}  # fmt: skip


def entry(value: Layout) -> Struct:
    return Struct((Field("key", row_fields([TEXT])), Field("value", value)))


def named(value: Layout, state: str, operator: OperatorNames) -> str:
    rules = names_of_plan(json.dumps(PLAN), [operator, OperatorNames("f" * 32, "5_deduplicate")])
    return str(named_row(entry(value), state, [r for r in rules if r.operator == operator.id]).arrow_type)


@pytest.mark.parametrize(
    "operator",
    [
        OperatorNames(operator_id("3_join")),
        OperatorNames("0" * 32, "3_join"),
        OperatorNames("1" * 32, None, "Join[3] -> Calc[4]"),
    ],
)
def test_operators_are_found(operator: OperatorNames) -> None:
    row = row_fields([TEXT, INT], kind=True)
    assert named(Map(row, Number(pa.int32())), "left-records", operator) == (
        "struct<key: struct<user: string>, value: map<struct<user: string, n: int32, row_kind: string>, int32>>"
    )
    assert named(List(row), "right-records", operator) == (
        "struct<key: struct<user: string>, value: list<item: struct<city: string, m: int32, row_kind: string>>>"
    )


@pytest.mark.parametrize(
    "operator",
    [
        OperatorNames(operator_id("6_join")),
        OperatorNames("1" * 32, None, "Join[4]"),
        OperatorNames("1" * 32, None, "Rank[3]"),
    ],
)
def test_other_operators_are_left_alone(operator: OperatorNames) -> None:
    assert named(row_fields([TEXT, INT]), "left-records", operator) == (
        "struct<key: struct<f0: string>, value: struct<f0: string, f1: int32>>"
    )


def test_unique_keys() -> None:
    row, key = row_fields([TEXT, INT], kind=True), row_fields([INT], kind=True)
    value = "struct<user: string, n: int32, row_kind: string>"
    joined = named(Map(key, row), "left-records", OperatorNames(operator_id("3_join")))
    assert joined == f"struct<key: struct<user: string>, value: map<struct<n: int32, row_kind: string>, {value}>>"
    assert named(Map(key, row), "data-state-with-update", OperatorNames(operator_id("4_rank"))) == joined
    # Which of two unique keys it is, the plan does not say.
    several = named(Map(key, row), "right-records", OperatorNames(operator_id("3_join")))
    assert "map<struct<f0: int32, row_kind: string>, struct<city: string, m: int32, row_kind: string>>" in several


def test_a_row_that_waits_to_be_emitted() -> None:
    operator = OperatorNames(operator_id("5_deduplicate"))
    assert named(row_fields([TEXT, INT]), "waiting-to-emit-on-timer", operator) == (
        "struct<key: struct<user: string>, value: struct<user: string, n: int32>>"
    )


def test_other_types_and_states_are_left_alone() -> None:
    """A plan of another version of the job must give no wrong names."""
    operator = OperatorNames(operator_id("3_join"))
    for state, row in (
        ("left-records", row_fields([INT, TEXT])),
        ("left-records", row_fields([TEXT, INT, INT])),
        ("accState", row_fields([TEXT, INT])),
    ):
        assert "f0" in named(row, state, operator).split("value: ")[1]


@pytest.mark.parametrize("kind", ["async-calc", "async-correlate", "lookup-join"])
@pytest.mark.parametrize("state", ["_async_wait_operator_state_", "_keyed_async_wait_operator_state_"])
def test_rows_that_wait_for_an_asynchronous_call(kind: str, state: str) -> None:
    node = {"id": 6, "type": f"stream-exec-{kind}_1", "outputType": "ROW<`a` INT>"}
    plan = {**PLAN, "nodes": [*PLAN["nodes"], node], "edges": [{"source": 1, "target": 6}]}  # type: ignore[misc]
    rules = names_of_plan(json.dumps(plan), [OperatorNames(operator_id(f"6_{kind}"))])
    element = Struct((Field("record", row_fields([TEXT, INT], kind=True)), Field("timestamp", Number(pa.int64()))))
    found = named_row(Struct((Field("value", element),)), state, rules).arrow_type
    assert str(found) == (
        "struct<value: struct<record: struct<user: string, n: int32, row_kind: string>, timestamp: int64>>"
    )


def test_a_plan_that_fits_only_partly() -> None:
    state = [{"index": 0, "ttl": "0 ms", "name": "s"}]
    nodes = [{**node, "state": state} for node in PLAN["nodes"][2:]]  # type: ignore[index]
    plan = json.dumps({**PLAN, "nodes": [*PLAN["nodes"][:2], *nodes]})  # type: ignore[index]
    all_ = [OperatorNames(operator_id(uid)) for uid in ("3_join", "4_rank", "5_deduplicate")]
    assert note_on_plan(plan, all_) == []
    note = "2 of 3 operators with state in the plan not found in the snapshot: rank[4], deduplicate[5]"
    assert note_on_plan(plan, all_[:1]) == [note]
    assert note_on_plan(json.dumps(PLAN), all_[:1]) == [], "operators without state are in no snapshot"


def test_a_plan_of_another_job() -> None:
    with pytest.raises(UsageError, match="no operator of the snapshot is among the 5 nodes of the compiled plan"):
        names_of_plan(json.dumps(PLAN), [OperatorNames(operator_id("6_join"))])


TABLE = "ROW<`user` VARCHAR(9), `n` INT>"
LOOKUP = {
    "nodes": [
        {"id": 1, "type": "stream-exec-exchange_1", "outputType": TABLE,
         "inputProperties": [{"requiredDistribution": {"type": "HASH", "keys": [1]}}]},
        {"id": 2, "type": "stream-exec-lookup-join_1",
         "outputType": "ROW<`user` VARCHAR(9), `n` INT, `city` VARCHAR(9), `m` INT>"},
    ],
    "edges": [{"source": 1, "target": 2}],
}  # fmt: skip


@pytest.mark.parametrize(("upsert_key", "key"), [([0], "user: string"), (None, "f0: string")])
def test_a_lookup_join_holds_rows_of_the_table(upsert_key: list[int] | None, key: str) -> None:
    """The types are those of the input, the names are not; the key is the upsert key, not the fields of the exchange."""
    plan = json.loads(json.dumps(LOOKUP))
    if upsert_key is not None:
        plan["nodes"][1]["inputUpsertKey"] = upsert_key
    rules = names_of_plan(json.dumps(plan), [OperatorNames(operator_id("2_lookup-join-materialize"))])
    row = row_fields([TEXT, INT], kind=True)
    for state, value in (("unique-value", row), ("values", List(row))):
        fields = "struct<city: string, m: int32, row_kind: string>"
        expected = f"list<item: {fields}>" if state == "values" else fields
        found = str(named_row(entry(value), state, rules).arrow_type)
        assert found == f"struct<key: struct<{key}>, value: {expected}>"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"nodes": 5, "edges": []}', '{"nodes": [{"id": 1}], "edges": []}'])
def test_no_plan(text: str) -> None:
    with pytest.raises(UsageError, match="not a compiled plan"):
        names_of_plan(text, [])


NAMES = """
[operator."my-uid".state]
key = ["user"]
"value.value" = ["a", "b"]
"""
OPERATOR = OperatorNames("ab" * 16, "my-uid", "Name")


def test_names_file() -> None:
    rules = names_of_file(NAMES, [OPERATOR])
    assert rules == (
        NameRule("ab" * 16, "state", ("key",), ("user",)),
        NameRule("ab" * 16, "state", ("value", "value"), ("a", "b")),
    )
    value = Map(Text(), Nullable(struct(f0=Text(), f1=Number(pa.int8()))))
    assert str(named_row(entry(value), "state", rules).arrow_type) == (
        "struct<key: struct<user: string>, value: map<string, struct<a: string, b: int8>>>"
    )
    assert named_row(entry(value), "other", rules) == entry(value)
    as_json = json.dumps({"operator": {"my-uid": {"state": {"key": ["user"], "value.value": ["a", "b"]}}}})
    assert names_of_file(as_json, [OPERATOR], json_text=True) == rules
    assert names_of_file(NAMES.replace("my-uid", "Name"), [OPERATOR]) == rules


def test_names_pass_over_the_time_to_live() -> None:
    value = struct(last_access=Number(pa.int64()), value=row_fields([TEXT, INT]))
    rule = NameRule("", "s", ("value",), ("a", "b"))
    assert str(named_row(entry(value), "s", [rule]).arrow_type).endswith(
        "value: struct<last_access: int64, value: struct<a: string, b: int32>>>"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ", "not TOML"),
        ("[other]", "one table, operator"),
        ('[operator."unknown".s]\nkey = ["a"]', "unknown"),
        ('[operator]\n"my-uid" = 5', "table"),
        ('[operator."my-uid".s]\nkey = "a"', "list of strings"),
        ('[operator."my-uid".s]\nkey = []', "list of strings"),
        ('[operator."my-uid".s]\nnothing = ["a"]', "no column 'nothing'"),
    ],
)
def test_wrong_names_files(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        names_of_file(text, [OPERATOR])
    assert message in str(caught.value)


@pytest.mark.parametrize(("path", "names"), [(("value",), ("a",)), (("value", "odd"), ("a",)), (("key", "f0"), ("a",))])
def test_names_that_fit_nothing(path: tuple[str, ...], names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        named_row(entry(row_fields([TEXT, INT])), "s", [NameRule("", "s", path, names)])


def test_rules_travel() -> None:
    rules = names_of_plan(json.dumps(PLAN), [OperatorNames(operator_id("3_join"))])
    assert rules
    assert decode_rules(json.loads(json.dumps(encode_rules(rules)))) == rules
