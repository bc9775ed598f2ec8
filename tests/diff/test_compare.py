"""The comparison of two tables, held against plain Python on generated rows: nulls, NaN, sets, maps, nested values."""

from __future__ import annotations

import math
import struct
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateextract.columnar.arrow.unite_schemas import cast_batch
from stateextract.diff import equality
from stateextract.diff.comparable_types import Shape
from stateextract.diff.compare import Comparison, compare, comparison
from stateextract.diff.row_buffer import SpillingRowBuffer
from stateextract.diff.schemas import merged_schema, schema_changes
from stateextract.diff.summary import DiffCounts
from stateextract.errors import OutputError, UnsupportedError, ValueRefusedError
from tests.depth import examples

KEY = pa.struct([("n", pa.int64()), ("s", pa.binary())])
VALUE = pa.struct(
    [
        ("number", pa.float64()),
        ("small", pa.float32()),
        ("flag", pa.bool_()),
        ("money", pa.decimal128(20, 3)),
        ("words", pa.list_(pa.string())),
        ("set", pa.list_(pa.int32())),
        ("map", pa.map_(pa.string(), pa.list_(pa.struct([("x", pa.float64())])))),
        ("inner", pa.struct([("a", pa.int8()), ("b", pa.struct([("c", pa.string())]))])),
    ]
)
SCHEMA = pa.schema([("key", KEY), ("value", VALUE), ("key_group", pa.int32())])
SHAPE = Shape(children={"value": Shape(children={"set": Shape(unordered=True)})})
HOW = comparison("value", SCHEMA, SHAPE)

OTHER_NAN = struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0]

floats = st.sampled_from([0.0, -0.0, math.nan, OTHER_NAN, 1.5, math.inf])
words = st.sampled_from(["", "a", "ab", "a longer text than eight bytes", "a longer text than eight bytez"])
inner = st.fixed_dictionaries(
    {
        "a": st.none() | st.integers(-2, 2),
        "b": st.none() | st.fixed_dictionaries({"c": st.none() | words}),
    }
)
values = st.none() | st.fixed_dictionaries(
    {
        "number": st.none() | floats,
        "small": st.none() | st.sampled_from([0.0, -0.0, math.nan, 2.5]),
        "flag": st.none() | st.booleans(),
        "money": st.none() | st.decimals("-1.000", "1.000", places=3),
        "words": st.none() | st.lists(st.none() | words, max_size=3),
        "set": st.none() | st.lists(st.none() | st.integers(0, 4), max_size=4, unique=True),
        "map": st.none() | st.dictionaries(
            words, st.none() | st.lists(st.none() | st.fixed_dictionaries({"x": st.none() | floats}), max_size=2), max_size=3
        ).map(lambda d: list(d.items())),
        "inner": st.none() | inner,
    }
)  # fmt: skip
keys = st.fixed_dictionaries(
    {"n": st.none() | st.integers(0, 5), "s": st.none() | st.sampled_from([b"", b"\x00", b"x" * 9])}
)
tables = st.dictionaries(keys.map(lambda k: (k["n"], k["s"])), values, max_size=14)


def plain(value: Any, type_: pa.DataType, unordered: bool = False) -> Any:
    """What is equal where values are; written without the project's code."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return tuple((f.name, plain(value[f.name], f.type, f.name == "set")) for f in type_)
    if pa.types.is_map(type_):
        return frozenset((k, plain(v, type_.item_type)) for k, v in value)
    if pa.types.is_list(type_):
        elements = [plain(v, type_.value_type) for v in value]
        return frozenset(elements) if unordered else tuple(elements)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value)
    return value


def batch(rows: dict[Any, Any]) -> pa.RecordBatch:
    found = [{"key": {"n": n, "s": s}, "value": value, "key_group": 3} for (n, s), value in rows.items()]
    return pa.RecordBatch.from_pylist(found, schema=SCHEMA)


def different_fields(a: Any, b: Any, type_: pa.DataType, path: str, name: str = "") -> list[str]:
    if pa.types.is_struct(type_) and a is not None and b is not None:
        return [p for f in type_ for p in different_fields(a[f.name], b[f.name], f.type, f"{path}.{f.name}", f.name)]
    return [path] if plain(a, type_, name == "set") != plain(b, type_, name == "set") else []


def expected_changes(before: dict[Any, Any], after: dict[Any, Any]) -> dict[Any, tuple[str, list[str]]]:
    found = {key: ("removed", list[str]()) for key in before if key not in after}
    found |= {key: ("added", list[str]()) for key in after if key not in before}
    for key in before.keys() & after.keys():
        fields = different_fields(before[key], after[key], VALUE, "value")
        if fields:
            found[key] = ("changed", fields)
    return found


def expected_entries(before: dict[Any, Any], after: dict[Any, Any]) -> dict[str, dict[str, int]]:
    """Of the maps that differ the entries that do."""
    type_ = VALUE.field("map").type
    found: Counter[str] = Counter()
    for key in before.keys() & after.keys():
        if before[key] is None or after[key] is None:
            continue
        maps = before[key]["map"], after[key]["map"]
        if plain(maps[0], type_) == plain(maps[1], type_):
            continue
        was, is_ = ({k: plain(v, type_.item_type) for k, v in m or ()} for m in maps)
        found["added"] += len(is_.keys() - was.keys())
        found["removed"] += len(was.keys() - is_.keys())
        found["changed"] += sum(was[k] != is_[k] for k in was.keys() & is_.keys())
    return {"value.map": dict(found)} if found else {}


def check(
    before: dict[Any, Any], after: dict[Any, Any], parts: list[tuple[pa.RecordBatch, pa.RecordBatch]], bits: int
) -> None:
    counts, actual = DiffCounts(), {}
    for one, other in parts:
        rows = compare(HOW, one, other, counts, bits=bits)
        for row in [] if rows is None else rows.to_pylist():
            key = (row["key"]["n"], row["key"]["s"])
            assert key not in actual
            actual[key] = (row["change"], row["changed_fields"])
            for side, name in ((before, "before"), (after, "after")):
                there = (row["change"], name) not in (("added", "before"), ("removed", "after"))
                assert (row[name] is not None) == there
                if there:
                    assert plain(row[name]["value"], VALUE) == plain(side[key], VALUE)
    expected = expected_changes(before, after)
    assert actual == expected
    kinds = Counter(change for change, _ in expected.values())
    assert (counts.before, counts.after) == (len(before), len(after))
    assert (counts.added, counts.removed, counts.changed) == (kinds["added"], kinds["removed"], kinds["changed"])
    assert counts.fields == Counter(path for _, fields in expected.values() for path in fields)
    assert {path: asdict(entries) for path, entries in counts.entries.items()} == expected_entries(before, after)
    assert counts.unchanged == len(before.keys() & after.keys()) - kinds["changed"]


@settings(max_examples=examples(75), deadline=None)
@given(tables, tables, st.data(), st.sampled_from([64, 64, 2, 0]))
def test_changes_are_those_of_plain_python(before: dict[Any, Any], later: dict[Any, Any], data: Any, bits: int) -> None:
    # Some rows stay, in another order and as other objects.
    kept = data.draw(st.sets(st.sampled_from(sorted(before, key=repr))) if before else st.just(set()))
    after = {**later, **{key: shuffled(before[key]) for key in kept}}
    after = dict(reversed(after.items()))
    check(before, after, [(batch(before), batch(after))], bits)


def shuffled(value: Any) -> Any:
    """The same value with maps and sets in another order, and another NaN."""
    if value is None:
        return None
    turned = {name: part[::-1] if name in ("map", "set") and part is not None else part for name, part in value.items()}
    if turned["number"] is not None and math.isnan(turned["number"]):
        turned["number"] = -OTHER_NAN
    return turned


@settings(max_examples=examples(20), deadline=None)
@given(tables, tables, st.integers(200, 3000), st.integers(1, 5))
def test_rows_on_disk_are_compared_like_rows_in_memory(
    before: dict[Any, Any], after: dict[Any, Any], memory: int, size: int
) -> None:
    with SpillingRowBuffer({"s": HOW}, memory) as gathered:
        for side, rows in enumerate((batch(before), batch(after))):
            for start in range(0, rows.num_rows, size):
                gathered.add(side, "s", rows.slice(start, size))
        parts = list(gathered.parts("s"))
        assert list(gathered.parts("s")) == []
    check(before, after, parts, 64)


def test_a_part_on_disk_is_parted_again_until_it_is_small() -> None:
    rows = {(i, b"k" * (i % 7)): None for i in range(3000)}
    with SpillingRowBuffer({"s": HOW}, 20_000) as gathered:
        gathered.add(0, "s", batch(rows))
        gathered.add(1, "s", batch({**rows, (-1, None): None}))
        parts = list(gathered.parts("s"))
    # 16 parts would hold some 190 rows of each side, which take more than the limit.
    assert len(parts) > 100
    assert max(one.num_rows + other.num_rows for one, other in parts) < 200
    assert sum(one.num_rows for one, _ in parts) == 3000
    check(rows, {**rows, (-1, None): None}, parts, 64)


def test_nothing_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = batch({(i, b""): None for i in range(200)})
    with SpillingRowBuffer({"s": HOW}, 1000) as gathered:
        gathered.add(0, "s", rows)
        assert len(list(tmp_path.rglob("*.arrow"))) == 16
        next(gathered.parts("s"))
    assert list(tmp_path.iterdir()) == []

    def fail() -> None:
        with SpillingRowBuffer({"s": HOW}, 1000) as gathered:
            gathered.add(0, "s", rows)
            gathered.drop("s")
            gathered.add(1, "s", rows)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    buffer = SpillingRowBuffer({"s": HOW}, 1)
    with pytest.raises(OutputError, match="rows cannot be kept on disk") as caught, buffer as gathered:
        gathered.add(0, "s", batch({(1, b""): None}))
    assert "TMPDIR" in str(caught.value)


# -- lists without keys


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(words, max_size=12), st.lists(words, max_size=12), st.sampled_from([64, 1, 0]))
def test_elements_without_keys_are_counted(before: list[str], after: list[str], bits: int) -> None:
    schema = pa.schema([("value", pa.string()), ("index", pa.int64())])
    how = comparison("list (split)", schema, Shape())
    one, other = (
        pa.RecordBatch.from_pylist([{"value": v, "index": i} for i, v in enumerate(side)], schema=schema)
        for side in (before, after)
    )
    counts = DiffCounts()
    rows = compare(how, one, other, counts, bits=bits)
    found = [] if rows is None else rows.to_pylist()
    removed = Counter(row["before"]["value"] for row in found if row["change"] == "removed")
    added = Counter(row["after"]["value"] for row in found if row["change"] == "added")
    assert removed == Counter(before) - Counter(after)
    assert added == Counter(after) - Counter(before)
    assert (counts.changed, counts.unchanged) == (0, (Counter(before) & Counter(after)).total())


@pytest.mark.parametrize("bits", [64, 0])
@pytest.mark.parametrize("side", [0, 1])
def test_two_rows_of_one_key_are_refused(bits: int, side: int) -> None:
    once, twice = batch({(1, b"a"): None, (2, b"b"): None}), batch({(1, b"a"): None})
    twice = pa.concat_batches([twice, once])
    sides = [once, once]
    sides[side] = twice
    with pytest.raises(ValueRefusedError, match="two rows of one snapshot have the same key") as caught:
        compare(HOW, *sides, DiffCounts(), bits=bits)
    assert caught.value.key_group == 3


# -- timers, and rows that are not wanted


def test_timers_are_a_set() -> None:
    schema = pa.schema(
        [
            ("key", pa.int64()),
            ("timestamp", pa.timestamp("us", "UTC")),
            ("timestamp_ms", pa.int64()),
            ("key_group", pa.int32()),
        ]
    )
    how = comparison("timer", schema, Shape())
    far = 2**63 - 1  # beyond any date
    one = pa.RecordBatch.from_pylist([row(1, 5), row(1, far), row(2, 5)], schema=schema)
    other = pa.RecordBatch.from_pylist([row(2, 5), row(1, far - 1), row(1, far)], schema=schema)
    counts = DiffCounts()
    rows = compare(how, one, other, counts)
    assert rows is not None
    assert rows.schema.names == ["change", "key", "timestamp", "timestamp_ms", "key_group"]
    assert [(r["change"], r["key"], r["timestamp_ms"]) for r in rows.to_pylist()] == [
        ("removed", 1, 5),
        ("added", 1, far - 1),
    ]
    assert counts.unchanged == 2
    assert compare(how, one, other, DiffCounts(), rows=False) is None


def row(key: int, at: int) -> dict[str, Any]:
    return {"key": key, "timestamp": None if at > 2**60 else at, "timestamp_ms": at, "key_group": 0}


# -- schemas


def test_retyped_fields_are_compared_by_the_wider_type() -> None:
    types = [
        (pa.int32(), pa.int64(), pa.int64(), [1, -2, None], [1, -2, 3]),
        (pa.int32(), pa.float64(), pa.float64(), [1, 2, 3], [1.0, 2.5, 3.0]),
        (pa.float32(), pa.float64(), pa.float64(), [0.5, 2.0, None], [0.5, 2.0, 0.0]),
        (pa.int64(), pa.binary(), pa.binary(), [1, 20, 3], [b"1", b"20", b"-3"]),
        (pa.decimal128(5, 1), pa.string(), pa.string(), None, None),
        (pa.null(), pa.int8(), pa.int8(), [None, None, None], [None, None, 1]),
    ]
    for a, b, merged, before, after in types:
        one, other = (pa.schema([("key", pa.int64()), ("value", pa.struct([("f", t)]))]) for t in (a, b))
        both = merged_schema(one, other)
        assert both.field("value").type.field("f").type == merged
        assert [str(change) for change in schema_changes(one, other)] == [f"value.f {a} → {b}"]
        if before is None:
            continue
        sides = [
            cast_batch(
                pa.RecordBatch.from_pylist([{"key": k, "value": {"f": v}} for k, v in enumerate(vs)], schema=s), both
            )
            for s, vs in ((one, before), (other, after))
        ]
        counts = DiffCounts()
        compare(comparison("value", both, Shape()), *sides, counts)
        different = 1 if a != pa.int32() or b == pa.float64() or b == pa.int64() else 0
        assert counts.changed == different


def test_fields_that_one_side_lacks_are_null_there() -> None:
    old = pa.schema([("key", pa.int64()), ("value", pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())])))])
    new = pa.schema([("key", pa.int64()), ("value", pa.list_(pa.struct([("c", pa.int8()), ("a", pa.int64())])))])
    both = merged_schema(old, new)
    assert both.field("value").type.value_type == pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.int8())])
    assert [str(c) for c in schema_changes(old, new)] == [
        "value.element.b removed (string)",
        "value.element.c added (int8)",
    ]
    rows = pa.RecordBatch.from_pylist(
        [{"key": 0, "value": [{"a": 1, "b": "x"}]}, {"key": 1, "value": None}], schema=old
    )
    brought = cast_batch(rows.slice(0), both)
    assert brought.column("value").to_pylist() == [[{"a": 1, "b": "x", "c": None}], None]


def test_ttl_that_was_switched_on_or_off() -> None:
    plain = pa.schema([("key", pa.int64()), ("value", pa.struct([("a", pa.int64())]))])
    ttl = pa.struct([("last_access", pa.timestamp("us", "UTC")), ("value", pa.struct([("a", pa.int64()), ("b", pa.int8())]))])
    with_ttl = pa.schema([("key", pa.int64()), ("value", ttl)])
    assert [str(c) for c in schema_changes(plain, with_ttl)] == [
        "value.last_access added (timestamp[us, tz=UTC])", "value.value.b added (int8)",
    ]  # fmt: skip
    assert [str(c) for c in schema_changes(with_ttl, plain)] == [
        "value.last_access removed (timestamp[us, tz=UTC])", "value.value.b removed (int8)",
    ]  # fmt: skip


def test_elements_without_order_whose_hashes_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then they are compared as Python values."""
    monkeypatch.setattr(equality, "hashes", lambda array, shape: np.zeros(len(array), np.uint64))
    lists = pa.list_(pa.list_(pa.int64()))
    before = pa.array([[[1], [2, 3]], [[1], [1], [2]], [[0], None, [4]], [[5]], None], lists)
    after = pa.array([[[2, 3], [1]], [[1], [2], [2]], [None, [4], [0]], [[6]], None], lists)
    rows = np.arange(5)
    assert equality.equal(before, after, rows, rows, Shape(unordered=True)).tolist() == [True, False, True, False, True]
    maps = pa.map_(pa.string(), pa.list_(pa.int8()))
    before = pa.array([[("a", [1]), ("b", [])], [("a", [1]), ("b", None)]], maps)
    after = pa.array([[("b", []), ("a", [1])], [("b", [1]), ("a", None)]], maps)
    assert equality.equal(before, after, rows[:2], rows[:2]).tolist() == [True, False]


def test_what_was_nested_and_is_not_cannot_be_compared() -> None:
    old, new = (pa.schema([("value", t)]) for t in (pa.struct([("a", pa.int64())]), pa.int64()))
    with pytest.raises(UnsupportedError, match="value was struct<a: int64> and is int64"):
        merged_schema(old, new)


def test_slices_are_compared_like_whole_columns() -> None:
    rows = {(i, b"s"): None if i % 3 else {**_VALUE, "words": [str(i)] * (i % 5)} for i in range(40)}
    whole = batch(rows)
    for start in (0, 1, 7, 39):
        part = dict(list(rows.items())[start:])
        check(part, part, [(whole.slice(start), batch(part))], 64)


_VALUE = {"number": 1.0, "small": None, "flag": True, "money": None, "words": None, "set": [1, 2],
          "map": [("k", [{"x": -0.0}])], "inner": {"a": 1, "b": None}}  # fmt: skip


def test_many_rows() -> None:
    """Enough for tables of pairing to be crowded."""
    schema = pa.schema([("key", pa.int64()), ("value", pa.int64()), ("key_group", pa.int32())])
    how: Comparison = comparison("value", schema, Shape())
    n = 100_000
    order = np.random.default_rng(1).permutation(n)
    old = np.arange(n)
    one = pa.record_batch([pa.array(old * 8), pa.array(old), pa.array(old % 7, pa.int32())], schema=schema)
    new = order[order % 10 != 0]  # a tenth is gone
    value = np.where(new % 10 == 1, -new, new)  # a tenth is changed
    keys = np.concatenate([new * 8, [-5]])
    other = pa.record_batch(
        [pa.array(keys), pa.array(np.concatenate([value, [0]])), pa.array(keys % 7, pa.int32())], schema=schema
    )
    counts = DiffCounts()
    rows = compare(how, one, other, counts)
    assert (counts.added, counts.removed, counts.changed, counts.unchanged) == (1, n // 10, n // 10, n * 8 // 10)
    assert rows is not None
    changed = rows.slice(rows.num_rows - 3).to_pylist()
    assert all(r["before"]["value"] == -r["after"]["value"] == r["key"] // 8 for r in changed)
