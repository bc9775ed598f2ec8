"""Wishes: every conversion exactly or not at all, at every place of a schema."""

from __future__ import annotations

import pickle
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from stateextract.columnar.convert.elements import Conversion
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.convert.type_overrides import (
    UNWRAP_ALL,
    UNWRAP_ONE,
    UNWRAP_ROW,
    UNWRAP_TTL,
    apply_overrides,
    located,
    overridden_schema,
    parse_override,
)
from stateextract.errors import UsageError, ValueRefusedError

DAY = datetime(2024, 2, 29)


def granted(array: pa.Array, type_: str) -> pa.Array:
    batch = pa.RecordBatch.from_arrays([array], names=["v"])
    overrides = [parse_override("v", type_)]
    found = apply_overrides(batch, overrides)
    assert found.schema == overridden_schema(batch.schema, overrides)
    found.validate(full=True)
    return found.column(0)


EXACT: list[tuple[pa.DataType, Any, str, Any]] = [
    (pa.string(), "12.30", "decimal(5,2)", Decimal("12.30")),
    (pa.string(), "1E+3", "decimal(4,0)", Decimal(1000)),
    (pa.string(), "-0.5", "float64", -0.5),
    (pa.string(), "0.1", "float64", 0.1),
    (pa.string(), "0.1", "float32", 0.10000000149011612),
    (pa.string(), "Infinity", "float64", float("inf")),
    (pa.string(), "9223372036854775807", "int64", 2**63 - 1),
    (pa.string(), "2E+2", "int16", 200),
    (pa.string(), "true", "bool", True),
    (pa.string(), "é", "binary", "é".encode()),
    (pa.string(), "2024-02-29", "date", date(2024, 2, 29)),
    (pa.binary(), "é".encode(), "string", "é"),
    (pa.int64(), 127, "int8", 127),
    (pa.int32(), 1, "bool", True),
    (pa.int64(), 2**53, "float64", float(2**53)),
    (pa.int64(), 12, "decimal(4,2)", Decimal("12.00")),
    (pa.int64(), 12, "string", "12"),
    (pa.int64(), 1500, "timestamp[ms, UTC]", datetime.fromisoformat("1970-01-01T00:00:01.500+00:00")),
    (pa.int32(), 1, "date", date(1970, 1, 2)),
    (pa.float64(), 0.1, "decimal(3,2)", Decimal("0.10")),
    (pa.float32(), 0.5, "float64", 0.5),
    (pa.float64(), 3.0, "int32", 3),
    (pa.float64(), 0.1, "string", "0.1"),
    (pa.bool_(), True, "int8", 1),
    (pa.bool_(), False, "string", "false"),
    (pa.decimal128(10, 2), Decimal("1.50"), "decimal(4,1)", Decimal("1.5")),
    (pa.decimal128(10, 2), Decimal("1.50"), "float64", 1.5),
    (pa.decimal128(10, 2), Decimal("1.50"), "string", "1.50"),
    (pa.timestamp("us"), DAY, "timestamp[ms]", DAY),
    (pa.timestamp("us", "UTC"), DAY, "timestamp[us]", DAY),
    (pa.timestamp("us"), DAY, "date", date(2024, 2, 29)),
    (pa.timestamp("us", "UTC"), DAY, "date", date(2024, 2, 29)),
    (pa.date32(), date(2024, 2, 29), "timestamp[us]", DAY),
    (pa.struct([("a", pa.int64()), ("b", pa.binary())]), {"a": 2**62, "b": b"\1"}, "json", f'{{"a":{2**62},"b":"01"}}'),
    (pa.list_(pa.float64()), [1.5, float("nan")], "json", '[1.5,"NaN"]'),
    (pa.map_(pa.string(), pa.int8()), [("k", 1)], "json", '[["k",1]]'),
]  # fmt: skip


@pytest.mark.parametrize(("source", "value", "type_", "expected"), EXACT, ids=lambda v: str(v)[:30])
def test_exact(source: pa.DataType, value: Any, type_: str, expected: Any) -> None:
    assert granted(pa.array([value, None], source), type_).to_pylist() == [expected, None]


REFUSED: list[tuple[pa.DataType, Any, str]] = [
    (pa.string(), "12.345", "decimal(5,2)"),
    (pa.string(), "1000", "decimal(5,2)"),
    (pa.string(), "x", "decimal(5,2)"),
    (pa.string(), "NaN", "decimal(5,2)"),
    (pa.string(), "0.10000000000000000001", "float64"),
    (pa.string(), "1e400", "float64"),
    (pa.string(), "1.5", "int64"),
    (pa.string(), "9223372036854775808", "int64"),
    (pa.string(), "1e999999999", "int64"),
    (pa.string(), "1e999999999", "decimal(38,0)"),
    (pa.string(), "yes", "bool"),
    (pa.string(), "2024-02-30", "date"),
    (pa.binary(), b"\xff", "string"),
    (pa.int64(), 128, "int8"),
    (pa.int64(), 2, "bool"),
    (pa.int64(), 2**53 + 1, "float64"),
    (pa.int64(), 100, "decimal(2,0)"),
    (pa.int64(), 2**40, "date"),
    (pa.float64(), 0.1, "float32"),
    (pa.float64(), -0.0, "int32"),
    (pa.float64(), -0.0, "decimal(3,1)"),
    (pa.float64(), 1.5, "int32"),
    (pa.float64(), float("nan"), "decimal(3,1)"),
    (pa.decimal128(10, 2), Decimal("1.55"), "decimal(4,1)"),
    (pa.decimal128(38, 1), Decimal(10**30), "decimal(30,1)"),
    (pa.timestamp("us"), datetime(2024, 2, 29, 0, 0, 0, 1), "timestamp[ms]"),
    (pa.timestamp("us"), datetime(2024, 2, 29, 1), "date"),
    (pa.timestamp("us"), datetime(9999, 1, 1), "timestamp[ns]"),
]


@pytest.mark.parametrize(("source", "value", "type_"), REFUSED, ids=lambda v: str(v)[:30])
def test_refused(source: pa.DataType, value: Any, type_: str) -> None:
    with pytest.raises(ValueRefusedError, match="of the column v does not fit the wanted type") as caught:
        granted(pa.array([None, value], source), type_)
    keep = f"leave v out of `types` to keep its type {source}"
    assert caught.value.advice == (keep if type_ == "string" else f"choose a wider type, or string, or {keep}")


RAW = [pickle.dumps({"a": [1, 2.5]}), b"\0", None, pickle.dumps(print)]
TEXTS = ['{"a":[1,2.5]}', '{"$pickle":"00"}', None, '{"$python":"builtins.print"}']


def test_pickles() -> None:
    assert granted(pa.array(RAW, pa.binary()), "pickle").to_pylist() == TEXTS
    with_bytes = [
        {"bytes": raw, "json": text if raw != b"\0" else None} if raw else None
        for raw, text in zip(RAW, TEXTS, strict=True)
    ]
    assert granted(pa.array(RAW, pa.binary()), "pickle_with_bytes").to_pylist() == with_bytes
    one = pa.array([None if raw is None else behind_length(raw) for raw in RAW], pa.binary())
    assert granted(one, "element(pickle)").to_pylist() == TEXTS
    two = pa.array([behind_length(RAW[0], RAW[3]), None, b""], pa.binary())
    assert granted(two, "elements(pickle)").to_pylist() == [[TEXTS[0], TEXTS[3]], None, []]
    with pytest.raises(UsageError, match="cannot become"):
        overridden_schema(pa.schema([("v", pa.string())]), [parse_override("v", "pickle")])


def test_what_pickles_have_is_counted() -> None:
    conversion = Conversion()
    batch = pa.RecordBatch.from_arrays(
        [pa.array([*RAW, pickle.dumps([Decimal(1), Thing()])], pa.binary())], names=["v"]
    )
    found = apply_overrides(batch, [parse_override("v", "pickle")], conversion).column(0).to_pylist()
    assert found[-1] == f'["1",{{"$python":"{__name__}.Thing"}}]'
    assert (conversion.notes.objects, conversion.notes.unread) == (1, 1)
    assert list(conversion.notes.reasons) == ["the bytes are not a pickle of protocol 2 to 5", f"{__name__}.Thing"]


class Thing:
    pass


SCALARS: list[tuple[str, list[Any], list[Any]]] = [
    ("int64", [2**62, None], [2**62, None]),
    ("float64", [0.1, -1.5], [0.1, -1.5]),
    ("bool", [True, None, False], [True, None, False]),
    ("string", ["ä", ""], ["ä", ""]),
    ("decimal(10,2)", [Decimal("1.20"), 7, None], [Decimal("1.20"), Decimal("7.00"), None]),
    ("date", [date(2024, 2, 29)], [date(2024, 2, 29)]),
    ("timestamp[us]", [datetime(2024, 2, 29, 1, 2, 3, 4)], [datetime(2024, 2, 29, 1, 2, 3, 4)]),
    (
        "timestamp[us, UTC]",
        [datetime(2024, 2, 29, 1, tzinfo=ZoneInfo("UTC"))],
        [datetime(2024, 2, 29, 1, tzinfo=ZoneInfo("UTC"))],
    ),
]


@pytest.mark.parametrize(("type_", "values", "expected"), SCALARS, ids=lambda v: str(v)[:20])
def test_pickles_as_columns(type_: str, values: list[Any], expected: list[Any]) -> None:
    raw = [pickle.dumps(value) for value in values]
    assert granted(pa.array([*raw, None], pa.binary()), f"pickle<{type_}>").to_pylist() == [*expected, None]
    lists = granted(pa.array([behind_length(*raw)], pa.binary()), f"elements(pickle<{type_}>)")
    assert lists.to_pylist() == [expected]


@pytest.mark.parametrize(
    ("type_", "value"),
    [("int64", [1]), ("int64", 1.5), ("int8", 300), ("date", "x"), ("timestamp[us]", datetime(2024, 1, 1, tzinfo=UTC)),
     ("decimal(3,1)", Decimal("1.25"))],
)  # fmt: skip
def test_pickles_of_something_else(type_: str, value: Any) -> None:
    with pytest.raises(ValueRefusedError, match="does not fit the wanted type"):
        granted(pa.array([pickle.dumps(value)], pa.binary()), f"pickle<{type_}>")


def test_one_element_and_no_other_number() -> None:
    array = pa.array([struct.pack(">q", 7), None], pa.binary())
    assert granted(array, "element(int64)").to_pylist() == [7, None]
    for data in (b"", struct.pack(">qq", 1, 2), b"\0"):
        with pytest.raises(ValueRefusedError, match=r"wanted type int64 \(one element of PyFlink\)"):
            granted(pa.array([data], pa.binary()), "element(int64)")


def test_instants_with_nanoseconds() -> None:
    data = pa.array([struct.pack(">qi", -26, 123_456_789)], pa.binary())
    batch, conversion = pa.RecordBatch.from_arrays([data], names=["v"]), Conversion()
    found = apply_overrides(batch, [parse_override("v", "element(instant)")], conversion)
    assert found.column(0).cast(pa.int64()).to_pylist() == [-26_000_000 + 123_456]
    assert conversion.counts.sub_microsecond == 1
    fine = apply_overrides(batch, [parse_override("v", "element(instant)", fine=True)], Conversion())
    assert fine.column(0).type == pa.timestamp("ns", "UTC")
    assert fine.column(0).cast(pa.int64()).to_pylist() == [-26 * 10**9 + 123_456_789]
    with pytest.raises(ValueRefusedError, match="does not fit"):
        apply_overrides(batch, [parse_override("v", "element(instant)")], Conversion(Policy(timestamps="fail")))


BYTES, TTL = pa.binary(), pa.struct([("last_access", pa.timestamp("us", "UTC")), ("value", pa.binary())])
SHAPES = [
    (pa.schema([("value", pa.list_(BYTES))]), "value.element"),
    (pa.schema([("value", pa.list_(TTL))]), "value.element.value"),
    (pa.schema([("list_index", pa.int32()), ("value", BYTES)]), "value"),
    (pa.schema([("value", BYTES)]), "value"),
    (pa.schema([("value", TTL)]), "value.value"),
]


@pytest.mark.parametrize("path", ["value", "value.element", "value.element.value"])
@pytest.mark.parametrize(("schema", "expected"), SHAPES, ids=lambda v: str(v)[:60])
def test_the_shortest_path_and_the_longest_lead_to_the_same_bytes(schema: pa.Schema, expected: str, path: str) -> None:
    override = parse_override(path, "element(int64)")
    assert str(located(schema, override)) == expected
    assert "binary" not in str(overridden_schema(schema, [override]))


def test_paths_of_maps_that_are_flattened() -> None:
    whole = pa.schema([("value", pa.map_(BYTES, TTL))])
    flat = pa.schema([("map_key", BYTES), ("value", BYTES), ("last_access", pa.timestamp("us", "UTC"))])
    for path, deep, row in (("value.key", "value.key", "map_key"), ("value.value", "value.value.value", "value")):
        override = parse_override(path, "element(string)")
        assert str(located(whole, override)) == deep
        assert str(located(flat, override)) == row


def test_unwrapping() -> None:
    moment = datetime(2024, 1, 1, tzinfo=ZoneInfo("UTC"))
    ttl = pa.list_(pa.struct([("last_access", pa.timestamp("us", "UTC")), ("value", pa.list_(pa.int8()))]))
    rows = [
        {"key": {"f0": "a", "row_kind": "+I"}, "one": [7], "all": [[1, 2], [], [3]],
         "ttl": [{"last_access": moment, "value": [1, 2]}, {"last_access": None, "value": [3]}]},
        {"key": {"f0": None, "row_kind": "+I"}, "one": None, "all": None, "ttl": None},
        {"key": {"f0": "c", "row_kind": "-D"}, "one": [None], "all": [], "ttl": []},
    ]  # fmt: skip
    schema = pa.schema([
        ("key", pa.struct([("f0", pa.string()), ("row_kind", pa.string())])), ("one", pa.list_(pa.int8())),
        ("all", pa.list_(pa.list_(pa.int8()))), ("ttl", ttl),
    ])  # fmt: skip
    paths = {"key": UNWRAP_ROW, "one": UNWRAP_ONE, "all": UNWRAP_ALL, "ttl": UNWRAP_ALL}
    overrides = [parse_override(path, type_) for path, type_ in paths.items()]
    expected = [
        {"key": "a", "one": 7, "all": [1, 2, 3], "ttl": [
            {"last_access": moment, "value": 1}, {"last_access": moment, "value": 2}, {"last_access": None, "value": 3},
        ]},
        {"key": None, "one": None, "all": None, "ttl": None},
        {"key": "c", "one": None, "all": [], "ttl": []},
    ]  # fmt: skip
    for start in (0, 1, 2):
        batch = pa.RecordBatch.from_pylist(rows, schema).slice(start)
        found = apply_overrides(batch, overrides)
        found.validate(full=True)
        assert found.schema == overridden_schema(schema, overrides)
        assert found.to_pylist() == expected[start:]
    split = [parse_override("v", UNWRAP_ONE), parse_override("v", UNWRAP_TTL)]
    batch = pa.RecordBatch.from_pylist(
        [{"v": [{"last_access": moment, "value": b"a"}]}], pa.schema([("v", pa.list_(TTL))])
    )
    assert apply_overrides(batch, split).to_pylist() == [{"v": b"a", "last_access": moment}]
    assert overridden_schema(batch.schema, split).names == ["v", "last_access"]


def test_several_elements_where_one_is_expected() -> None:
    batch = pa.RecordBatch.from_pylist([{"v": [1]}, {"v": [1, 2]}], pa.schema([("v", pa.list_(pa.int8()))]))
    with pytest.raises(ValueRefusedError, match="the column v has 2 elements in a row where one was expected"):
        apply_overrides(batch, [parse_override("v", UNWRAP_ONE)])


PYFLINKS = bytes.fromhex("8004950d000000000000007d948c0161945d944b0161732e")
ONE, TWO = pickle.dumps({"a": [1]}), pickle.dumps(print)


def behind_length(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


ELEMENTS: list[tuple[str, bytes, list[Any]]] = [
    ("int8", b"\x01\xff", [1, -1]),
    ("int16", b"\x01\x02", [258]),
    ("int32", struct.pack(">ii", 7, -(2**31)), [7, -(2**31)]),
    ("int64", struct.pack(">qq", 1, 2**63 - 1), [1, 2**63 - 1]),
    ("float32", struct.pack(">ff", 1.5, -0.0), [1.5, -0.0]),
    ("float64", struct.pack(">d", 0.1), [0.1]),
    ("bool", b"\1\0", [True, False]),
    ("string", behind_length("é".encode(), b""), ["é", ""]),
    ("binary", behind_length(b"\xff", b""), [b"\xff", b""]),
    ("date", struct.pack(">i", -1), [date(1969, 12, 31)]),
    ("timestamp[ms]", struct.pack(">q", 1500), [datetime(1970, 1, 1, 0, 0, 1, 500_000)]),
    ("timestamp[us]", struct.pack(">qi", -1, 7_000), [datetime(1969, 12, 31, 23, 59, 59, 999_007)]),
    ("decimal(5,2)", behind_length(b"-1.20", b"3"), [Decimal("-1.20"), Decimal("3.00")]),
    # As PyFlink 1.20 and 2.0 wrote them.
    ("string", bytes.fromhex("00000002c3a900000000"), ["é", ""]),
    ("timestamp[us]", bytes.fromhex("00000000000005dc00001b58"), [datetime(1970, 1, 1, 0, 0, 1, 500_007)]),
    ("decimal(5,2)", bytes.fromhex("000000052d312e3230"), [Decimal("-1.20")]),
    ("instant", struct.pack(">qiqi", -1, 500_000_000, -(2**63), -(2**31)),
     [datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=ZoneInfo("UTC")), None]),
    # A mask of the kind's two bits and a bit for each null field; fields have names, or those of a row.
    ("row<int32, string>", bytes.fromhex("00000000070000000161" + "9000000007" + "f0"),
     [{"f0": 7, "f1": "a", "row_kind": "+I"}, {"f0": 7, "f1": None, "row_kind": "-U"},
      {"f0": None, "f1": None, "row_kind": "-D"}]),
    ("row<a: int8, b: list<row<int8>>>", bytes.fromhex("40" "05" "00000002" "01" "0003" "00"),
     [{"a": 5, "b": [{"f0": 3, "row_kind": "+I"}, None], "row_kind": "+U"}]),
    ("row<int8, int8, int8, int8, int8, int8, int8>", bytes.fromhex("0080" "010203040506"),
     [{"f0": 1, "f1": 2, "f2": 3, "f3": 4, "f4": 5, "f5": 6, "f6": None, "row_kind": "+I"}]),
    ("tuple<int8, tuple<string, bool>>", bytes.fromhex("05" "0000000161" "01"), [{"f0": 5, "f1": {"f0": "a", "f1": True}}]),
    ("list<int16>", bytes.fromhex("00000002" "010007" "00" "00000000"), [[7, None], []]),
    ("array<int16>", bytes.fromhex("00000002" "0007" "ffff"), [[7, -1]]),
    ("map<string, date>", bytes.fromhex("00000002" "0000000161" "00" "00000001" "0000000162" "01"),
     [[("a", date(1970, 1, 2)), ("b", None)]]),
    ("list<decimal(5, 2)>", bytes.fromhex("00000001" "01" "00000003312e35"), [[Decimal("1.50")]]),
    ("pickle", behind_length(PYFLINKS), ['{"a":[1]}']),
    ("pickle", behind_length(ONE, TWO),
     ['{"a":[1]}', '{"$python":"builtins.print"}']),
    ("time", struct.pack(">i", 86_399_123), ["23:59:59.123"]),
    ("window", struct.pack(">qq", 0, 1500),
     [{"start": datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC")), "end": datetime(1970, 1, 1, 0, 0, 1, 500_000, ZoneInfo("UTC"))}]),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "data", "expected"), ELEMENTS)
def test_elements_of_python(type_: str, data: bytes, expected: list[Any]) -> None:
    found = granted(pa.array([data, None, b""], pa.binary()), f"elements({type_})").to_pylist()
    assert repr(found) == repr([expected, None, []])
    if type_ != "int8":
        with pytest.raises(
            ValueRefusedError, match=r"the value b'\\x02\\x00\\x00' of the column v does not fit the wanted type list<"
        ):
            granted(pa.array([data, b"\2\0\0"], pa.binary()), f"elements({type_})")


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("bool", b"\2"),
        ("string", behind_length(b"\xff")),
        ("time", struct.pack(">i", 86_400_000)),
        ("window", struct.pack(">qq", 1, 0)),
        ("timestamp[us]", struct.pack(">qi", 0, 1_000_000)),
        ("decimal(3,2)", behind_length(b"10.00")),
        ("decimal(3,1)", behind_length(b"1.23")),
        ("decimal(3,2)", behind_length(b"NaN")),
        ("decimal(3,2)", behind_length(b"x")),
        ("decimal(4,1)", behind_length(b"1_5")),
        ("decimal(4,1)", behind_length(b" 15")),
        ("row<int8>", b"\x10\1"),  # a bit behind the last field's
        ("row<int8>", b"\0"),
        ("list<int8>", b"\0\0\0\1\2\1"),
        ("list<int8>", b"\xff\xff\xff\xff"),
        ("array<int8>", b"\x7f\xff\xff\xff"),
        ("map<int8, int8>", b"\0\0\0\1\1\2\1"),
        ("map<instant, int8>", b"\0\0\0\1" + struct.pack(">qi", -(2**63), -(2**31)) + b"\0\1"),
        ("instant", struct.pack(">qi", 0, 1_000_000_000)),
        ("instant", struct.pack(">qi", 2**62, 0)),
        ("binary", b"\x7f\xff\xff\xff"),
        ("binary", b"\xff\xff\xff\xff"),
    ],
)
def test_what_are_no_such_elements(type_: str, data: bytes) -> None:
    with pytest.raises(ValueRefusedError, match="does not fit the wanted type list<"):
        granted(pa.array([data], pa.binary()), f"elements({type_})")


@pytest.mark.parametrize(
    "type_",
    [
        "json",
        "timestamp[s]",
        "timestamp[us, UTC]",
        "elements(int8)",
        "elements(" * 5000 + ")" * 5000,
        "int",
        "",
        "row<>",
        "row<a: int8, a: int8>",
        "row<row_kind: int8>",
        "map<int8>",
        "list<int8, int8>",
        "tuple<int8,>",
        "list<int8",
        "list<" * 5000 + "int8" + ">" * 5000,
        "decimal(39,0)",
        "decimal(3,4)",
    ],
    ids=str.__len__,
)
def test_elements_without_a_coder(type_: str) -> None:
    with pytest.raises(UsageError, match="is not a type of a column"):
        parse_override("v", f"elements({type_})")
    with pytest.raises(UsageError, match="cannot become"):
        overridden_schema(pa.schema([("v", pa.string())]), [parse_override("v", "elements(int8)")])


def test_the_value_is_named() -> None:
    with pytest.raises(ValueRefusedError, match=r"the value '7\.25' of the column v"):
        granted(pa.array(["1.5", "7.25", "8.25"]), "decimal(5,1)")


INNER = pa.struct([("amount", pa.string()), ("n", pa.int32())])
DEEP = pa.schema(
    [
        ("key", pa.int64()),
        ("value", pa.struct([("rows", pa.list_(INNER)), ("by", pa.map_(pa.string(), INNER)), ("one", INNER)])),
    ]
)
ROWS = [
    {
        "key": 1,
        "value": {"rows": [{"amount": "1.5", "n": 1}, None], "by": [("a", {"amount": "2", "n": 2})], "one": None},
    },
    {"key": 2, "value": None},
    {"key": 3, "value": {"rows": None, "by": [], "one": {"amount": None, "n": 3}}},
]
PATHS = ("value.rows.element.amount", "value.by.value.amount", "value.one.amount")


@pytest.mark.parametrize("start", [0, 1])
def test_paths(start: int) -> None:
    batch = pa.RecordBatch.from_pylist(ROWS, DEEP).slice(start)
    overrides = [*(parse_override(path, "decimal(4,1)") for path in PATHS), parse_override("value.one.n", "string")]
    found = apply_overrides(batch, overrides)
    found.validate(full=True)
    assert found.schema == overridden_schema(batch.schema, overrides)
    assert (
        str(found.schema.field("value").type.field("by").type)
        == "map<string, struct<amount: decimal128(4, 1), n: int32>>"
    )
    assert found.to_pylist() == [
        {
            "key": 1,
            "value": {
                "rows": [{"amount": Decimal("1.5"), "n": 1}, None],
                "by": [("a", {"amount": Decimal("2.0"), "n": 2})],
                "one": None,
            },
        },
        {"key": 2, "value": None},
        {"key": 3, "value": {"rows": None, "by": [], "one": {"amount": None, "n": "3"}}},
    ][start:]  # fmt: skip


def test_fields_below_a_null_are_not_looked_at() -> None:
    child = pa.array(["", "1"])
    struct = pa.StructArray.from_arrays([child], ["a"], mask=pa.array([True, False]))
    found = apply_overrides(pa.RecordBatch.from_arrays([struct], names=["v"]), [parse_override("v.a", "int8")])
    assert found.to_pylist() == [{"v": None}, {"v": {"a": 1}}]


def test_a_batch_without_the_path_stays() -> None:
    batch = pa.RecordBatch.from_pylist(ROWS, DEEP)
    assert apply_overrides(batch, [parse_override("other", "int8"), parse_override("value.other.x", "int8")]) == batch


@pytest.mark.parametrize("path", ["other", "value.other", "value.rows.amount", "value.by.amount", "key.x"])
def test_paths_that_lead_nowhere(path: str) -> None:
    with pytest.raises(UsageError, match="leads nowhere"):
        overridden_schema(DEEP, [parse_override(path, "string")])


def test_types_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="cannot become string"):
        overridden_schema(DEEP, [parse_override("value.one", "string")])
    with pytest.raises(UsageError, match="cannot become"):
        overridden_schema(DEEP, [parse_override("key", "binary")])
    for type_ in ("", "decimal(0,0)", "decimal(39,1)", "decimal(3,4)", "timestamp", "timestamp[us, CET]", "list"):
        with pytest.raises(UsageError, match="is not a type"):
            parse_override("v", type_)
    with pytest.raises(UsageError, match="is not a path"):
        parse_override("a..b", "string")
