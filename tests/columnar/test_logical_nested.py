"""Conversions below structs, lists, maps and unions: nulls at any level, garbage below them, slices."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from stateextract.columnar.convert.logical import apply_logical
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.layout import (
    Case,
    Field,
    List,
    Map,
    MaskedStruct,
    Nullable,
    Struct,
    Subclass,
    Subclasses,
    Switch,
    Text,
    struct,
)
from tests.columnar.columns import (
    BIG_DECIMAL,
    BIG_INTEGER,
    COLOR,
    DATE,
    I8,
    I32,
    INSTANT,
    LOCAL_DATE,
    LOCAL_DATETIME,
    LOCAL_TIME,
    LONG_MAX,
    LONG_MIN,
    refused,
    run,
)
from tests.depth import examples

# ---- down the tree


def test_nothing_to_convert_gives_the_very_same_array() -> None:
    layout = struct(a=I32, b=List(Nullable(Text())), c=MaskedStruct((Field("x", I8),)), d=Subclasses("K", ()))
    array = pa.array([{"a": 1, "b": ["x", None], "c": {"x": None}, "d": True}], type=layout.wire_type)
    assert apply_logical(array, layout, Policy(), ChangeCounts()) is array


def test_structs() -> None:
    layout = struct(n=I32, color=COLOR, inner=Nullable(struct(at=Nullable(DATE), name=Text())))
    wire = [
        {"n": 1, "color": 0, "inner": {"at": 1, "name": "x"}},
        {"n": 2, "color": 1, "inner": None},
        None,
        {"n": 3, "color": 2, "inner": {"at": None, "name": None}},
        {"n": 4, "color": 2, "inner": {"at": LONG_MIN, "name": "y"}},
    ]
    at = datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, datetime.UTC)
    assert run(layout, wire).to_pylist() == [
        {"n": 1, "color": "RED", "inner": {"at": at, "name": "x"}},
        {"n": 2, "color": "GREEN", "inner": None},
        None,
        {"n": 3, "color": "BLUE", "inner": {"at": None, "name": None}},
        {"n": 4, "color": "BLUE", "inner": {"at": None, "name": "y"}},
    ]


def test_lists() -> None:
    assert run(List(COLOR), [[0, 1], [], None, [2]]).to_pylist() == [["RED", "GREEN"], [], None, ["BLUE"]]
    nested = List(Nullable(List(Nullable(struct(c=COLOR)))))
    assert run(nested, [[[{"c": 1}, None], None, []], [], [[{"c": 0}]]]).to_pylist() == [
        [[{"c": "GREEN"}, None], None, []], [], [[{"c": "RED"}]],
    ]  # fmt: skip


def test_maps() -> None:
    wire: list[Any] = [[(0, 1), (2, None)], None, [], [(1, 0)]]
    assert run(Map(COLOR, Nullable(COLOR)), wire).to_pylist() == [
        [("RED", "GREEN"), ("BLUE", None)], None, [], [("GREEN", "RED")],
    ]  # fmt: skip
    assert run(Map(Text(), List(COLOR)), [[("k", [0, 1])]]).to_pylist() == [[("k", ["RED", "GREEN"])]]
    assert run(Map(COLOR, I32), [[(1, 7)]]).to_pylist() == [[("GREEN", 7)]]


def test_maps_as_lists() -> None:
    layout = Map(Nullable(COLOR), COLOR, as_list=True)
    wire: list[Any] = [[{"key": 0, "value": 1}, {"key": None, "value": 2}], None]
    assert run(layout, wire).to_pylist() == [
        [{"key": "RED", "value": "GREEN"}, {"key": None, "value": "BLUE"}], None,
    ]  # fmt: skip


def test_a_key_that_becomes_null_needs_a_list() -> None:
    text = refused(Map(DATE, I32), [(LONG_MIN, 1)])
    assert "a map has a null key" in text
    assert "maps list" in text
    refused(Map(DATE, I32), [(LONG_MAX, 1)], Policy(out_of_range="null"))
    layout = Map(DATE, I32)
    assert run(layout, [[{"key": LONG_MIN, "value": 1}]], Policy(maps="list")).to_pylist() == [
        [{"key": None, "value": 1}]
    ]


def test_row_kind() -> None:
    layout = MaskedStruct((Field("color", COLOR), Field("n", I32)), kind=True)
    wire = [{"color": 1, "n": 5, "row_kind": 0}, {"color": None, "n": None, "row_kind": 3}]
    assert run(layout, wire).to_pylist() == [
        {"color": "GREEN", "n": 5, "row_kind": "+I"}, {"color": None, "n": None, "row_kind": "-D"},
    ]  # fmt: skip
    kinds = [{"row_kind": i} for i in range(4)]
    assert run(MaskedStruct((), kind=True), kinds).field("row_kind").to_pylist() == ["+I", "-U", "+U", "-D"]


def test_switch() -> None:
    layout = Switch((Case(1, (Field("left", COLOR),)), Case(0, (Field("right", Text()),))))
    wire = [{"left": 2, "right": None}, {"left": None, "right": "x"}, None]
    assert run(layout, wire).to_pylist() == [{"left": "BLUE", "right": None}, {"left": None, "right": "x"}, None]


def test_subclasses() -> None:
    layout = Subclasses("a.P", (Field("c", Nullable(COLOR)),), (Subclass("a.Q", 0, (Field("at", DATE),)),))
    wire = [{"class": 0, "c": 1, "at": None}, {"class": 1, "c": None, "at": 0}, None]
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert run(layout, wire).to_pylist() == [
        {"class": "a.P", "c": "GREEN", "at": None}, {"class": "a.Q", "c": None, "at": epoch}, None,
    ]  # fmt: skip


def garbage_struct(valid: list[bool], **columns: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns), mask=pc.invert(pa.array(valid)))


def test_garbage_below_nulls_is_not_looked_at() -> None:
    counts = ChangeCounts()
    layout = struct(
        c=COLOR, at=INSTANT, day=LOCAL_DATE, time=LOCAL_TIME, when=LOCAL_DATETIME, ms=DATE, big=BIG_INTEGER,
        dec=BIG_DECIMAL,
    )  # fmt: skip
    bad, good = 99, 1
    ints = {
        "at": ("seconds", "nanos"), "day": ("year", "month", "day"), "time": ("hour", "minute", "second", "nanos"),
        "when": ("year", "month", "day", "hour", "minute", "second", "nanos"),
    }  # fmt: skip
    types = {f.name: f.layout.wire_type for f in layout.fields}
    columns = {
        name: pa.array([dict.fromkeys(parts, bad), dict.fromkeys(parts, good)], type=types[name])
        for name, parts in ints.items()
    }
    columns |= {
        "c": pa.array([bad, good], pa.int32()),
        "ms": pa.array([LONG_MAX, good], pa.int64()),
        "big": pa.array([b"", b"\x01"], pa.binary()),
        "dec": pa.array([b"", b"\x01\0\0\0\0"], pa.binary()),
    }
    array = garbage_struct([False, True], **{f.name: columns[f.name] for f in layout.fields})
    result = apply_logical(array, layout, Policy(), counts)
    result.validate(full=True)
    assert result.type == layout.arrow_type
    assert result[0].as_py() is None
    assert result[1]["c"].as_py() == "GREEN"
    assert result[1]["big"].as_py() == result[1]["dec"].as_py() == "1"
    assert result[1]["time"].as_py() == "01:01:01.000000001"
    assert counts == ChangeCounts(sub_microsecond=2)


def test_garbage_in_null_lists_and_maps_is_left_out() -> None:
    mask = pa.array([False, True, False])
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 3, 4], pa.int32()), pa.array([0, 98, 99, 2], pa.int32()), mask=mask
    )
    assert len(lists.values) == 4
    result = apply_logical(lists, List(COLOR), Policy(), ChangeCounts())
    result.validate(full=True)
    assert result.to_pylist() == [["RED"], None, ["BLUE"]]
    entries = garbage_struct([True] * 4, key=lists.values, value=lists.values)
    maps = pa.Array.from_buffers(
        pa.map_(pa.int32(), pa.int32()), 3, [pa.py_buffer(b"\x05"), *lists.buffers()[1:2]], children=[entries]
    )
    result = apply_logical(maps, Map(COLOR, COLOR), Policy(), ChangeCounts())
    result.validate(full=True)
    assert result.to_pylist() == [[("RED", "RED")], None, [("BLUE", "BLUE")]]
    # The same below a struct that is null, where the list itself is not.
    plain = pa.ListArray.from_arrays(pa.array([0, 1, 3, 4], pa.int32()), lists.values)
    parent = garbage_struct([True, False, True], x=plain)
    result = apply_logical(parent, struct(x=List(COLOR)), Policy(), ChangeCounts())
    result.validate(full=True)
    assert result.to_pylist() == [{"x": ["RED"]}, None, {"x": ["BLUE"]}]


@settings(max_examples=examples(30), deadline=None)
@given(st.data())
def test_slices_of_nested_columns(data: st.DataObject) -> None:
    layout = List(Nullable(Struct((Field("c", Nullable(COLOR)), Field("m", Nullable(Map(COLOR, Nullable(COLOR))))))))
    color, index = st.none() | st.integers(0, 2), st.integers(0, 2)
    row = st.fixed_dictionaries({"c": color, "m": st.none() | st.lists(st.tuples(index, color), max_size=3)})
    wire = data.draw(st.lists(st.none() | st.lists(st.none() | row, max_size=3), max_size=12))
    start = data.draw(st.integers(0, len(wire)))
    length = data.draw(st.integers(0, len(wire) - start))
    array = pa.array(wire, type=layout.wire_type)
    whole = apply_logical(array, layout, Policy(), ChangeCounts())
    part = apply_logical(array.slice(start, length), layout, Policy(), ChangeCounts())
    part.validate(full=True)
    assert part.to_pylist() == whole.to_pylist()[start : start + length]

    def name(i: int | None) -> str | None:
        return None if i is None else ("RED", "GREEN", "BLUE")[i]

    def converted(item: Any) -> Any:
        entries = None if item["m"] is None else [(name(k), name(v)) for k, v in item["m"]]
        return {"c": name(item["c"]), "m": entries}

    named = [None if r is None else [None if item is None else converted(item) for item in r] for r in wire]
    assert whole.to_pylist() == named
