"""Some columns instead of all: the same as taking them out of all, and what nobody wants is not decoded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from stateextract.api import State
from stateextract.columnar.layout import (
    Bool,
    Field,
    List,
    Map,
    Nullable,
    Number,
    SkippedValue,
    Struct,
    Subclasses,
    Text,
)
from stateextract.errors import StateExtractError
from stateextract.state.projection import project_row, projected
from stateextract.state.state_columns import ReadOptions
from tests.golden.test_rows import opened

LENIENT: dict[str, Any] = {"out_of_range": "null", "maps": "list", "on_undecodable": "skip"}
BY_INTERPRETER = [
    ("f113-keys-checkpoint", False),
    ("f23-kinds-native", False),
    ("f23-kinds-native", True),
    ("f23-windows-native-snappy", False),
    ("f20-async-checkpoint", True),
]
BY_KERNEL = [("f120-kinds-checkpoint", False), ("f20-records-native", True)]


def choices(schema: pa.Schema) -> Iterator[list[str]]:
    """Every column alone, and all but the first, which is the key."""
    yield from ([name] for name in schema.names)
    yield schema.names[1:]


def projected_table(state: State, wanted: pa.Schema) -> pa.Table:
    other = State(state.operator, state._entry, state._named_state)
    vars(other)["_options"] = replace(state._options, columns={state.name: wanted})
    vars(other)["schema"] = wanted
    return other.to_table()


def check(state: State) -> int:
    try:
        table = state.to_table()
    except StateExtractError:
        return 0
    if state.coverage.counters.lost_entries:
        return 0  # a value that cannot be decoded costs no row where it is not wanted and its length is known
    for names in choices(table.schema):
        wanted = pa.schema([table.schema.field(name) for name in names])
        found = projected_table(state, wanted)
        assert found.column_names == names
        expected = table.select(names)
        same = found.equals(expected) or repr(found.to_pylist()) == repr(expected.to_pylist())  # NaN is not NaN
        assert same, (state, names)
    return 1


@pytest.mark.slow
@pytest.mark.parametrize(("case", "flatten"), BY_INTERPRETER)
def test_columns_of_the_golden_snapshots(case: str, flatten: bool) -> None:
    snapshot = opened(case, decoder="interpreter", flatten=flatten, **LENIENT)
    assert sum(check(state) for state in snapshot.states) >= 1


@pytest.mark.parametrize(("case", "flatten"), BY_KERNEL)
def test_columns_by_the_kernel(case: str, flatten: bool) -> None:
    snapshot = opened(case, decoder="kernel", flatten=flatten, **LENIENT)
    assert sum(check(state) for state in snapshot.states) == len(snapshot.states)


def test_fields_of_structs() -> None:
    snapshot = opened("f23-records-checkpoint", decoder="interpreter")
    state = next(s for s in snapshot.states if s.kind == "value" and pa.types.is_struct(s.schema.field("value").type))
    fields = list(state.schema.field("value").type)
    assert len(fields) > 1
    table = state.to_table()
    for field in fields:
        wanted = pa.schema([pa.field("key", table.schema.field("key").type), pa.field("value", pa.struct([field]))])
        rows = [
            {"key": row["key"], "value": None if row["value"] is None else {field.name: row["value"][field.name]}}
            for row in table.to_pylist()
        ]
        assert projected_table(state, wanted).to_pylist() == rows


def row_of(kind: str, value: Any) -> Any:
    from serializers import SerializerSnapshot
    from stateextract.state.row_layout import RowLayout

    snapshot = SerializerSnapshot("x", 1)
    layout = Struct((Field("namespace", Text()), Field("key", Text()), Field("value", value)))
    return RowLayout("s", kind, layout, False, (), snapshot, snapshot, snapshot)


def parts(kind: str, value: Any, *names: str, **options: Any) -> dict[str, Any]:
    schema = pa.schema([(name, pa.string()) for name in names])
    row = project_row(row_of(kind, value), ReadOptions(columns={"s": schema}, **options))
    return {f.name: f.layout for f in row.layout.fields}


def test_what_is_passed_over() -> None:
    number, text = Number(pa.int64()), Text()
    assert parts("VALUE", number, "key") == {"namespace": SkippedValue(text), "key": text, "value": SkippedValue(number)}
    assert parts("VALUE", number, "value", "namespace")["key"] == SkippedValue(text)
    assert parts("LIST", List(text), "key")["value"] == SkippedValue(List(text))
    map_, empty = Map(text, Nullable(number)), Map(SkippedValue(text), Nullable(SkippedValue(number)))
    assert parts("MAP", map_, "key")["value"] == empty, "whether a map is empty has to be known"
    assert parts("MAP", map_, "key", keep_empty_maps=True)["value"] == empty, "and of pairs each is an entry"
    assert parts("MAP", map_, "map_key", flatten=True)["value"] == replace(empty, key=text)
    assert parts("MAP", map_, "value", flatten=True)["value"] == replace(map_, key=SkippedValue(text))
    assert parts("LIST", List(text), "key", "list_index", flatten=True)["value"] == List(SkippedValue(text))
    assert project_row(row := row_of("VALUE", number), ReadOptions()) is row
    assert project_row(row, ReadOptions(columns={"other": pa.schema([])})) is row


def test_fields_below() -> None:
    pojo = Subclasses(
        "P", (Field("a", Nullable(Bool())), Field("b", Nullable(Struct((Field("c", Bool()), Field("d", Text()))))))
    )
    wanted = pa.struct([("b", pa.struct([("d", pa.string())]))])
    assert projected(pojo, wanted) == Subclasses(
        "P",
        (
            Field("a", SkippedValue(Nullable(Bool()))),
            Field("b", Nullable(Struct((Field("c", SkippedValue(Bool())), Field("d", Text()))))),
        ),
    )
    assert projected(Text(), pa.string()) == Text()
