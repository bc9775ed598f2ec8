"""Avro: every type and logical type by both engines, types inside themselves, damaged schemas and values."""

from __future__ import annotations

import json
import random
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from serializers import SerializerSnapshot, describe
from serializers.avro import AVRO_SNAPSHOTS, schema_layout
from serializers.avrojson import MAX_VALUE_DEPTH
from serializers.avroschema import parse_schema
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Layout, Python, walk
from stateextract.errors import FormatError, StateExtractError, TruncatedError, ValueRefusedError
from stateextract.files.block import Block
from tests.serializers.avro_writer import encode

ENGINES = ("kernel", "interpreter")


def layout_of(schema: Any) -> Layout:
    return schema_layout(parse_schema(json.dumps(schema)))


def decode(layout: Layout, data: bytes, engine: str = "interpreter", policy: Policy | None = None) -> Any:
    """One value, whole."""
    decoder = make_decoder(layout, policy or Policy(), engine=engine)
    assert decoder.engine == engine
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.entries, progress.pos) == (1, len(data))
    array = decoder.flush()
    array.validate(full=True)
    return array.to_pylist()[0]


def field(name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": type_}


def logical(type_: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": type_, "logicalType": name, **more}


def fixed(name: str, size: int, **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


def test_the_worked_example() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            field("i", "int"), field("s", "string"), field("u", ["null", "long"]),
            field("a", {"type": "array", "items": "int"}),
        ],
    }  # fmt: skip
    data = bytes.fromhex("0000010200000002686900000001000000000000000502000000010000000200")
    for engine in ENGINES:
        assert decode(layout_of(schema), data, engine) == {"i": 258, "s": "hi", "u": 5, "a": [1, 2]}


DURATION = struct.pack("<3I", 1, 2, 0xFFFFFFFF)
INNER = {"type": "record", "name": "com.acme.Inner", "fields": [field("x", "int"), field("y", ["null", "string"])]}

# schema, column type, written value, decoded value
TYPES: list[tuple[Any, str, Any, Any]] = [
    ("null", "bool", None, None),
    ("boolean", "bool", True, True),
    ("int", "int32", -(2**31), -(2**31)),
    ("long", "int64", 2**63 - 1, 2**63 - 1),
    ("float", "float", 1.5, 1.5),
    ("double", "double", -0.1, -0.1),
    ("string", "string", "é€😀", "é€😀"),
    ("bytes", "binary", b"\0\xff", b"\0\xff"),
    (fixed("F", 3), "binary", b"abc", b"abc"),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "string", "B", "B"),
    ({"type": "array", "items": ["null", "int"]}, "list<item: int32>", [(1, 5), (0, None), (1, 7)], [5, None, 7]),
    ({"type": "array", "items": "string"}, "list<item: string>", [], []),
    ({"type": "map", "values": "long"}, "map<string, int64>", {"a": 1, "b": 2, "c": 3}, [("a", 1), ("b", 2), ("c", 3)]),
    (["string", "null"], "string", (1, None), None),
    (["string", "null"], "string", (0, "x"), "x"),
    (["null", "boolean"], "bool", (1, False), False),
    (
        ["null", "int", "string", INNER],
        "struct<int: int32, string: string, Inner: struct<x: int32, y: string>>",
        (3, {"x": 1, "y": (1, "z")}),
        {"int": None, "string": None, "Inner": {"x": 1, "y": "z"}},
    ),
    (["null", "int", "string"], "struct<int: int32, string: string>", (0, None), {"int": None, "string": None}),
    (logical("int", "date"), "date32[day]", 19782, date(2024, 2, 29)),
    (logical("int", "time-millis"), "string", 3_723_004, "01:02:03.004"),
    (logical("long", "time-micros"), "string", 3_723_000_004, "01:02:03.000004"),
    (logical("long", "time-micros"), "string", 3_723_000_000, "01:02:03"),
    (logical("long", "timestamp-millis"), "timestamp[us, tz=UTC]", 1500, datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)),
    (
        logical("long", "timestamp-micros"),
        "timestamp[us, tz=UTC]",
        -1,
        datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
    ),
    (logical("long", "timestamp-nanos"), "timestamp[us, tz=UTC]", -1, datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
    (logical("long", "local-timestamp-millis"), "timestamp[us]", 1500, datetime(1970, 1, 1, 0, 0, 1, 500_000)),
    (logical("long", "local-timestamp-micros"), "timestamp[us]", 7, datetime(1970, 1, 1, 0, 0, 0, 7)),
    (logical("bytes", "decimal", precision=5, scale=2), "decimal128(5, 2)", b"\xff\x85", Decimal("-1.23")),
    (
        fixed("D", 4, logicalType="decimal", precision=9, scale=0),
        "decimal128(9, 0)",
        b"\0\0\1\0",
        Decimal(256),
    ),
    (
        fixed("W", 20, logicalType="decimal", precision=38, scale=1),
        "decimal128(38, 1)",
        b"\xff" * 20,
        Decimal("-0.1"),
    ),
    (logical("bytes", "decimal", precision=50, scale=3), "string", (10**49).to_bytes(21, "big"), f"1{'0' * 46}.000"),
    (logical("bytes", "decimal", precision=2, scale=3), "binary", b"\1", b"\1"),
    (logical("bytes", "big-decimal"), "string", b"\x04\x01\x00\x04", "2.56"),
    (logical("string", "uuid"), "string", "a", "a"),
    (fixed("U", 16, logicalType="uuid"), "string", bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
    (
        fixed("P", 12, logicalType="duration"),
        "struct<months: int64, days: int64, milliseconds: int64>",
        DURATION,
        {"months": 1, "days": 2, "milliseconds": 0xFFFFFFFF},
    ),
    (logical("int", "no-such-type"), "int32", 5, 5),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("schema", "type_", "written", "expected"), TYPES, ids=lambda v: str(v)[:40])
def test_type(schema: Any, type_: str, written: Any, expected: Any, engine: str) -> None:
    layout = layout_of({"type": "record", "name": "Top", "fields": [field("v", schema), field("end", "int")]})
    wrapped = {"type": "record", "name": "Top", "fields": [field("v", schema), field("end", "int")]}
    assert decode(layout, encode(wrapped, {"v": written, "end": -1}), engine) == {"v": expected, "end": -1}
    assert str(layout_of(schema).arrow_type) == type_


def test_nanoseconds_are_kept_where_wanted() -> None:
    layout = layout_of(logical("long", "timestamp-nanos"))
    found = decode(layout, struct.pack(">q", 1_000_001), policy=Policy(timestamps="nanoseconds"))
    assert (type(found).__name__, found.value) == ("Timestamp", 1_000_001)
    with pytest.raises(ValueRefusedError, match="below the microsecond"):
        decode(layout, struct.pack(">q", 1), policy=Policy(timestamps="fail"))


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        (logical("bytes", "decimal", precision=2, scale=0), b"\0\0\0\1\x64"),
        (fixed("W", 17, logicalType="decimal", precision=2, scale=0), bytes(16) + b"\x64"),
        (logical("int", "time-millis"), struct.pack(">i", -1)),
        (logical("long", "time-micros"), struct.pack(">q", 86_400_000_000)),
    ],
)
def test_values_that_do_not_fit(schema: Any, data: bytes) -> None:
    with pytest.raises(ValueRefusedError, match="does not fit"):
        decode(layout_of(schema), data)
    assert decode(layout_of(schema), data, policy=Policy(out_of_range="null")) is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("schema", "data"),
    [
        (["null", "int"], b"\0\0\1\0"),
        (["int", "string", "null"], b"\0\0\0\3"),
        (["int", "string", "null"], b"\1\0\0\0" + bytes(4)),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\0\0\0\1"),
        ("string", b"\xff\xff\xff\xff"),
        ({"type": "array", "items": "int"}, b"\xff\xff\xff\xff\xff\x01"),
        ({"type": "array", "items": "null"}, b"\xff\xff\xff\x08" * 3 + b"\0"),
    ],
)
def test_damaged_values(schema: Any, data: bytes, engine: str) -> None:
    with pytest.raises(FormatError):
        decode(layout_of(schema), data, engine)


NODE = {"type": "record", "name": "n.Node", "fields": [field("v", "long"), field("next", ["null", "Node"])]}


def _chain(length: int) -> bytes:
    return b"".join(struct.pack(">qi", i, int(i < length - 1)) for i in range(length))


def test_a_type_inside_itself_is_json() -> None:
    layout = layout_of(NODE)
    assert str(layout.arrow_type) == "struct<v: int64, next: string>"
    assert [type(node) for node in walk(layout)].count(Python) == 1
    assert decode(layout, _chain(1)) == {"v": 0, "next": None}
    assert decode(layout, _chain(3)) == {"v": 0, "next": '{"v":1,"next":{"v":2,"next":null}}'}
    with pytest.raises(ValueRefusedError, match="nested more than"):
        decode(layout, _chain(MAX_VALUE_DEPTH + 2))


def test_types_inside_themselves_by_way_of_arrays_maps_and_each_other() -> None:
    leaf = {"type": "record", "name": "Leaf", "fields": [field("up", ["null", "Tree"])]}
    tree = {
        "type": "record", "name": "Tree",
        "fields": [
            field("below", {"type": "array", "items": "Tree"}), field("by", {"type": "map", "values": leaf}),
            field("nothing", {"type": "array", "items": "null"}),
        ],
    }  # fmt: skip
    layout = layout_of(tree)
    up = "map<string, struct<up: string>>"
    assert str(layout.arrow_type) == f"struct<below: list<item: string>, by: {up}, nothing: list<item: bool>>"
    empty = b"\0\0\0"
    data = b"\1" + empty + b"\0" + b"\1" + struct.pack(">i", 1) + b"k" + struct.pack(">i", 1) + empty + b"\0" + b"\2\0"
    text = '{"below":[],"by":{},"nothing":[]}'
    assert decode(layout, data) == {"below": [text], "by": [("k", {"up": text})], "nothing": [None, None]}
    # Nulls take no bytes, so their number is bounded by nothing that is there.
    endless = b"\1" + b"\0\0" + b"\xff\xff\xff\xff\x07"
    with pytest.raises(TruncatedError, match="inside 2147483647 items"):
        interpret(layout, endless + bytes(8), 0, len(endless) + 8)


def test_counts_that_do_not_end_inside_of_json() -> None:
    layout = layout_of({"type": "record", "name": "N", "fields": [field("c", {"type": "array", "items": "N"})]})
    assert decode(layout, b"\1\0\0") == {"c": ['{"c":[]}']}
    with pytest.raises(FormatError, match="the varint of a number of items does not end") as caught:
        decode(layout, b"\1" + b"\xff" * 5 + bytes(8))
    assert (caught.value.offset, caught.value.expected) == (1, "at most 5 bytes")


@pytest.mark.parametrize(("branches", "value"), [(256, {"F255": b"\x07"}), (257, "\"07\"")])
def test_unions_of_many_types(branches: int, value: Any) -> None:
    """A column for each of at most 256; else JSON."""
    found = decode(layout_of([fixed(f"F{i}", 1) for i in range(branches)]), struct.pack(">i", branches - 1) + b"\x07")
    assert (found if isinstance(found, str) else {k: v for k, v in found.items() if v is not None}) == value


def test_a_snapshot_without_a_schema() -> None:
    with pytest.raises(FormatError, match="an Avro serializer's snapshot has no schema"):
        describe(SerializerSnapshot(AVRO_SNAPSHOTS[0], 3, details={"class": "x", "schema": None}))


def test_json_of_every_type() -> None:
    inside = [
        field("b", "boolean"), field("i", "int"), field("f", "float"), field("d", "double"), field("s", "string"),
        field("y", "bytes"), field("x", fixed("X", 2)), field("e", {"type": "enum", "name": "E", "symbols": ["A", "B"]}),
        field("m", logical("bytes", "decimal", precision=5, scale=2)),
        field("a", {"type": "array", "items": "int"}), field("o", {"type": "map", "values": "long"}),
    ]  # fmt: skip
    # The top is a record that holds itself, so what is below is JSON.
    tree = {"type": "record", "name": "T", "fields": [*inside, field("t", ["null", "T"])]}
    values = {
        "b": True, "i": -1, "f": float("inf"), "d": float("nan"), "s": "é\"", "y": b"\0\1", "x": b"ab", "e": "B",
        "m": b"\x7b", "a": [1, 2, 3], "o": {"k": 2**63 - 1},
    }  # fmt: skip
    flat = encode({"type": "record", "fields": inside}, values)
    found = json.loads(decode(layout_of(tree), flat + b"\0\0\0\1" + flat + bytes(4))["t"])
    assert found == {
        "b": True, "i": -1, "f": "Infinity", "d": "NaN", "s": "é\"", "y": "0001", "x": "6162", "e": "B", "m": "1.23",
        "a": [1, 2, 3], "o": {"k": 2**63 - 1}, "t": None,
    }  # fmt: skip


def test_a_schema_that_unfolds_beyond_measure_ends_in_json() -> None:
    schema: Any = "int"
    for i in range(24):
        schema = {
            "type": "record",
            "name": f"R{i}",
            "fields": [field("a", schema), field("b", f"R{i - 1}" if i else "int")],
        }
    layout = layout_of(schema)
    assert len(walk(layout)) < 100_000
    assert any(isinstance(node, Python) for node in walk(layout))


def test_names_that_differ_in_case_only_and_namespaces() -> None:
    schema = {
        "type": "record", "name": "R", "namespace": "a.b",
        "fields": [field("x", fixed("F", 1)), field("X", "F"), field("y", "a.b.F")],
    }  # fmt: skip
    assert decode(layout_of(schema), b"123") == {"x": b"1", "X_2": b"2", "y": b"3"}


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "5", "null", '"Unknown"', '{"type": "record", "name": "R"}', '{"type": "record", "fields": []}',
        '{"type": "fixed", "name": "F", "size": -1}', '{"type": "fixed", "name": "F", "size": 99999999}',
        '{"type": "enum", "name": "E", "symbols": [1]}', '{"type": "array"}', '{"type": "record", "name": "R", "fields": [1]}',
        "[" * 100_000, '{"type":' * 500 + '"int"' + "}" * 500,
    ],
)  # fmt: skip
def test_damaged_schemas(text: str) -> None:
    with pytest.raises(FormatError):
        parse_schema(text)


def test_mutated_values_and_schemas_raise_only_our_errors() -> None:
    """Some thousand seeded mutations."""
    rng = random.Random(41)
    schema = {
        "type": "record",
        "name": "Top",
        "fields": [field(f"f{i}", s) for i, (s, *_) in enumerate(TYPES) if i != 16],
    }
    schema["fields"].append(field("rec", NODE))
    value = {f"f{i}": w for i, (_, _, w, _) in enumerate(TYPES)}
    tail = {"type": "record", "fields": schema["fields"][:-1]}
    data = encode(tail, value) + _chain(4)
    text = json.dumps(schema)
    layout = schema_layout(parse_schema(text))
    for round_ in range(4_000):
        raw = bytearray(data if round_ % 2 else text.encode())
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(raw))
            raw[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        if rng.random() < 0.3:
            del raw[rng.randrange(len(raw)) :]
        try:
            if round_ % 2:
                decoder = make_decoder(layout, Policy(), engine="interpreter")
                decoder.decode(Block.of(bytes(raw)), 0, len(raw), 1)
                decoder.flush()
            else:
                schema_layout(parse_schema(raw.decode("utf-8", "replace")))
        except StateExtractError:
            pass
