"""Keys and their key groups, against what Java and Flink 2.3 compute, and against real snapshots."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from serializers import SerializerSnapshot
from serializers.containers import LIST_SNAPSHOT
from serializers.scalars import BASE
from serializers.sql import ROW_DATA_SNAPSHOT, TYPEUTILS
from serializers.sql_type import LogicalType
from serializers.tuples import ROW_SNAPSHOT, RUNTIME
from stateextract.columnar.convert.dates import civil_date
from stateextract.columnar.convert.policy import Policy
from stateextract.errors import UsageError
from stateextract.state.keys import row_hash
from stateextract.state.keys.java_hash import java_hashes
from stateextract.state.keys.key_groups import key_group_of_hash, key_groups, key_scalar
from stateextract.state.keys.lookup import groups_by_serializer
from stateextract.state.keys.row_hash import binary_rows
from tests.golden.test_rows import CASES, opened

UTC, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
NS_UTC, NS_LOCAL = pa.timestamp("ns", "UTC"), pa.timestamp("ns")


def simple(name: str) -> SerializerSnapshot:
    return SerializerSnapshot(f"{BASE}{name}Serializer${name}SerializerSnapshot", 3)


def tuple_of(*nested: SerializerSnapshot, class_name: str = "") -> SerializerSnapshot:
    details = {"class": class_name or f"org.apache.flink.api.java.tuple.Tuple{len(nested)}"}
    return SerializerSnapshot(RUNTIME + "TupleSerializerSnapshot", 3, 2, details, nested)


# Printed by Java 17 with Flink 2.3.0: hashCode(), and assignToKeyGroup(key, n) for n = 128 and 1000.
JAVA: list[tuple[str, pa.DataType, Any, int, int, int]] = [
    ("Boolean", pa.bool_(), True, 1231, 77, 765),
    ("Boolean", pa.bool_(), False, 1237, 3, 891),
    ("Byte", pa.int8(), -7, -7, 33, 249),
    ("Short", pa.int16(), -300, -300, 93, 45),
    ("Int", pa.int32(), -1, -1, 80, 648),
    ("Int", pa.int32(), -(2**31), -(2**31), 108, 732),
    ("Char", pa.string(), "é", 233, 30, 598),
    ("Long", pa.int64(), 5, 5, 126, 494),
    ("Long", pa.int64(), -1, 0, 94, 54),
    ("Long", pa.int64(), 1234567890123, 1912276436, 92, 916),
    ("Long", pa.int64(), -(2**63), -(2**31), 108, 732),
    ("Float", pa.float32(), 2.5, 1075838976, 82, 770),
    ("Float", pa.float32(), float("nan"), 2143289344, 83, 251),
    ("Double", pa.float64(), 2.5, 1074003968, 16, 880),
    ("Double", pa.float64(), float("nan"), 2146959360, 41, 89),
    ("Double", pa.float64(), -1e300, 1983353248, 83, 811),
    ("String", pa.string(), "key-4", 101943366, 19, 619),
    ("String", pa.string(), "", 0, 94, 54),
    ("String", pa.string(), "é\U0001d11ex", 61885637, 53, 285),
    ("String", pa.binary(), b"a\xed\xa0\x80", 58303, 60, 620),
    ("BigInt", pa.string(), "0", 0, 94, 54),
    ("BigInt", pa.string(), "-5", -5, 80, 840),
    ("BigInt", pa.string(), "-123456789012345678901234567890", -1915528825, 28, 12),
    ("BigDec", pa.string(), "1.50", 4652, 5, 237),
    ("BigDec", pa.string(), "-1.5", -464, 1, 401),
    ("BigDec", pa.string(), "1.2E+6", 367, 71, 991),
    ("BigDec", pa.string(), "0.00", 2, 127, 463),
    ("BigDec", pa.string(), "-12345678901234567890.123", -647166411, 42, 546),
    ("BigDec", pa.string(), "-9223372036854775809", 2147483617, 25, 497),
    ("BigDec", pa.string(), "9223372036854775807", 2147482656, 103, 71),
    ("BigDec", pa.string(), "-9223372036854775808", -(2**31), 108, 732),
    ("Date", UTC, -1234567890123_000, 1912276437, 30, 798),
    ("SqlDate", UTC, 1700000000000_000, -807048821, 64, 720),
    ("SqlTime", UTC, 3600000_000, 3600000, 18, 602),
    ("SqlTimestamp", UTC, 1700000000123_456, -807048720, 61, 965),
    ("SqlTimestamp", NS_UTC, -1_000_000, 0, 94, 54),
    ("Instant", NS_UTC, 1700000000_123456000, -593678592, 109, 413),
    ("Instant", NS_UTC, -4_000001000, -539658548, 74, 570),
    ("LocalDate", pa.date32(), 19782, 4145309, 30, 286),
    ("LocalTime", pa.string(), "23:59:58.123456789", 561346433, 113, 49),
    ("LocalTime", pa.string(), "01:02", 558322530, 54, 558),
    ("LocalDateTime", NS_LOCAL, -876544000, 1563280779, 119, 687),
    ("BooleanValue", pa.bool_(), True, 1, 86, 478),
    ("ByteValue", pa.int8(), -7, -7, 33, 249),
    ("ShortValue", pa.int16(), -7, -7, 33, 249),
    ("IntValue", pa.int32(), -7, -7, 33, 249),
    ("LongValue", pa.int64(), -7, 49, 54, 566),
    ("FloatValue", pa.float32(), 2.5, 1075838976, 82, 770),
    ("DoubleValue", pa.float64(), 2.5, 1074003999, 118, 598),
    ("CharValue", pa.string(), "x", 120, 55, 247),
    ("StringValue", pa.string(), "key-4", 101943366, 19, 619),
]


@pytest.mark.parametrize(("name", "type_", "value", "code", "of_128", "of_1000"), JAVA)
def test_hashes_and_key_groups(name: str, type_: pa.DataType, value: Any, code: int, of_128: int, of_1000: int) -> None:
    key, serializer = pa.scalar(value, type_), simple(name)
    assert java_hashes(key, serializer) == {code}
    assert key_groups(key, serializer, 128) == {of_128}
    assert key_groups(key, serializer, 1000) == {of_1000}
    other = pa.scalar(None, pa.large_string())
    assert key_groups(pa.scalar("1", pa.large_string()), serializer, 128) is None, "not the serializer's own type"
    assert key_groups(other, serializer, 128) is None


def test_zeros_are_equal_and_lie_in_two_key_groups() -> None:
    for zero in (0.0, -0.0):
        assert java_hashes(pa.scalar(zero, pa.float64()), simple("Double")) == {0, -(2**31)}
        assert key_groups(pa.scalar(zero, pa.float32()), simple("Float"), 128) == {94, 108}
        assert java_hashes(pa.scalar(zero), simple("DoubleValue")) == {31, 31 - 2**31}


def test_composites() -> None:
    string, long = simple("String"), simple("Long")
    pair = pa.scalar({"f0": "a", "f1": 1}, pa.struct({"f0": pa.string(), "f1": pa.int32()}))
    assert java_hashes(pair, tuple_of(string, simple("Int"))) == {3008}
    assert key_groups(pair, tuple_of(string, simple("Int")), 128) == {29}
    inner = pa.struct({"f0": pa.bool_(), "f1": pa.float64()})
    triple = pa.scalar((1, "x", (True, 2.0)), pa.struct({"f0": pa.int64(), "f1": pa.string(), "f2": inner}))
    serializer = tuple_of(long, string, tuple_of(simple("Boolean"), simple("Double")))
    assert java_hashes(triple, serializer) == {1073784666}
    nullable = SerializerSnapshot(RUNTIME + "NullableSerializer$NullableSerializerSnapshot", 1, nested=(string,))
    null = pa.scalar({"f0": None}, pa.struct({"f0": pa.string()}))
    assert java_hashes(null, tuple_of(nullable)) == {0}
    assert java_hashes(pair, tuple_of(string, simple("Int"), class_name="com.example.MyPair")) is None
    assert java_hashes(pair, tuple_of(string)) is None

    texts = SerializerSnapshot(BASE + "ListSerializerSnapshot", 1, nested=(nullable,))
    assert java_hashes(pa.scalar(["a", None, "b"]), texts) == {123106}
    members = SerializerSnapshot(BASE + "SetSerializerSnapshot", 1, nested=(string,))
    assert java_hashes(pa.scalar(["a", "b"]), members) == java_hashes(pa.scalar(["b", "a"]), members) == {195}
    entries = SerializerSnapshot(BASE + "MapSerializerSnapshot", 1, nested=(string, long))
    map_ = pa.scalar([("a", 5), ("b", None)], pa.map_(pa.string(), pa.int64()))
    assert java_hashes(map_, entries) == {198}
    either = SerializerSnapshot(RUNTIME + "JavaEitherSerializerSnapshot", 1, nested=(string, long))
    sides = pa.struct({"left": pa.string(), "right": pa.int64()})
    assert java_hashes(pa.scalar({"left": "a", "right": None}, sides), either) == {97}
    assert java_hashes(pa.scalar({"left": None, "right": 5}, sides), either) == {5}


KIND = pa.field("row_kind", pa.string())
ARRAY = SerializerSnapshot(BASE + "array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot", 1)


def row_of(*nested: SerializerSnapshot) -> SerializerSnapshot:
    return SerializerSnapshot(ROW_SNAPSHOT, 3, 4, {"row_kind": True}, nested)


# Printed by Java 17 with Flink 1.20.5 and 2.3.0: Row.ofKind(kind, …).hashCode() for +I, -U, +U and -D.
ROWS: list[tuple[SerializerSnapshot, list[tuple[pa.DataType, Any]], list[int]]] = [
    (row_of(simple("String")), [(pa.string(), "a")], [159, 190, 221, 252]),
    (row_of(simple("Long")), [(pa.int64(), 0)], [62, 93, 124, 155]),
    (row_of(simple("String")), [(pa.string(), None)], [31, 62, 93, 124]),
    (row_of(simple("String"), simple("Long")), [(pa.string(), "a"), (pa.int64(), 7)], [4967, 4998, 5029, 5060]),
    (row_of(ARRAY), [(pa.binary(), b"\1\2")], [1056, 1087, 1118, 1149]),
]


@pytest.mark.parametrize(("serializer", "fields", "hashes"), ROWS, ids=lambda v: str(v)[:20])
def test_hashes_of_rows(serializer: SerializerSnapshot, fields: list[tuple[pa.DataType, Any]], hashes: list[int]) -> None:
    type_ = pa.struct([*(pa.field(f"f{i}", t) for i, (t, _) in enumerate(fields)), KIND])
    values = {f"f{i}": value for i, (_, value) in enumerate(fields)}
    for kind, code in zip(("+I", "-U", "+U", "-D"), hashes, strict=True):
        assert java_hashes(pa.scalar({**values, "row_kind": kind}, type_), serializer) == {code}
    assert java_hashes(pa.scalar({**values, "row_kind": None}, type_), serializer) == set(hashes), "of any kind"
    if len(fields) == 1 and fields[0][1] is not None:
        assert java_hashes(pa.scalar(fields[0][1], fields[0][0]), serializer) == {hashes[0]}, "the field alone"


def test_hashes_of_what_rows_contain() -> None:
    """As printed: Row.of(Row.of("a")) is 221, Row.of(List.of("a", "b")) is 5089."""
    inner = row_of(simple("String"))
    nested = pa.struct([pa.field("f0", pa.struct([pa.field("f0", pa.string()), KIND])), KIND])
    value = {"f0": {"f0": "a", "row_kind": "+I"}, "row_kind": "+I"}
    assert java_hashes(pa.scalar(value, nested), row_of(inner)) == {221}
    texts = SerializerSnapshot(LIST_SNAPSHOT, 1, nested=(simple("String"),))
    list_ = pa.struct([pa.field("f0", pa.list_(pa.string())), KIND])
    assert java_hashes(pa.scalar({"f0": ["a", "b"], "row_kind": "+I"}, list_), row_of(texts)) == {5089}


def test_the_hash_of_a_row_is_likely_only() -> None:
    """Java's Rows may have fields by name, whose names are in the hash and in no snapshot."""
    key, serializer = pa.scalar("a"), row_of(simple("String"))
    assert groups_by_serializer([key], None, 128, Policy())(serializer) is None
    (group,) = groups_by_serializer([key], None, 128, Policy(), likely=True)(serializer) or ()
    assert group == key_group_of_hash(159, 128)


def test_a_key_of_one_field_needs_no_row_around_it() -> None:
    row = pa.struct([pa.field("f0", pa.string()), KIND])
    assert key_scalar("a", row).as_py() == {"f0": "a", "row_kind": None}
    assert key_scalar('{"f0": "b"}', row).as_py() == {"f0": "b", "row_kind": None}
    number = pa.struct([pa.field("f0", pa.int64())])
    assert key_scalar("7", number).as_py() == key_scalar(7, number).as_py() == {"f0": 7}
    two = pa.struct([pa.field("f0", pa.string()), pa.field("f1", pa.string())])
    with pytest.raises(UsageError):
        key_scalar("a", two)


def test_hashes_that_are_not_defined() -> None:
    for name in ("PojoSerializerSnapshot", "RowSerializer$RowSerializerSnapshot"):
        assert java_hashes(pa.scalar("x"), SerializerSnapshot(RUNTIME + name, 2)) is None
    enum = SerializerSnapshot(BASE + "EnumSerializer$EnumSerializerSnapshot", 3)
    assert java_hashes(pa.scalar("RED"), enum) is None
    unknown = SerializerSnapshot(f"{BASE}StringSerializer$StringSerializerSnapshot", 3, details={"unknown": "nothing"})
    assert java_hashes(pa.scalar("x"), unknown) is None
    zeros = pa.scalar([0.0] * 7)
    doubles = SerializerSnapshot(BASE + "ListSerializerSnapshot", 1, nested=(simple("Double"),))
    assert java_hashes(zeros, doubles) is None, "too many hashes to be of use"
    assert java_hashes(pa.scalar([0.0] * 6), doubles) == {-1259979967, 887503681}


def test_what_a_column_has_lost_is_not_guessed() -> None:
    text = pa.scalar("a\ufffd")
    assert java_hashes(text, simple("String")) is None, "a lone surrogate may have stood there"
    assert java_hashes(text, simple("String"), Policy(strings="fail")) == {97 * 31 + 0xFFFD}
    instant = pa.scalar(1700000000_123456, UTC)
    assert java_hashes(instant, simple("Instant")) is None
    assert java_hashes(instant, simple("Instant"), Policy(timestamps="fail")) == {-593678592}
    local = pa.scalar(-876544, LOCAL)
    assert java_hashes(local, simple("LocalDateTime")) is None
    assert java_hashes(local, simple("LocalDateTime"), Policy(timestamps="fail")) == {1563280779}


@pytest.mark.parametrize("precision", [0, 3, 4, 6, 9])
@pytest.mark.parametrize("root", ["TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE"])
def test_times_of_sql_whose_bytes_are_known(root: str, precision: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A null may stand for a time that the column cannot hold; a source may give more digits than the type has."""
    unit = pa.timestamp("us")
    key = pa.scalar({"a": 5_000, "b": 1}, pa.struct({"a": unit, "b": pa.int64()}))
    null = pa.scalar({"a": None, "b": 1}, key.type)
    types = LogicalType(root, "", precision=precision), LogicalType("BIGINT", "")
    monkeypatch.setattr(row_hash, "read_logical_type", lambda stream: types[int(stream)])
    row = SerializerSnapshot(ROW_DATA_SNAPSHOT, 3, details={"types": (b"0", b"1")})
    assert (binary_rows(key, row, Policy()) is None) == (precision > 3)
    assert binary_rows(key, row, Policy(timestamps="fail")) is not None
    assert len(binary_rows(null, row, Policy()) or ()) == 1
    assert binary_rows(null, row, Policy(out_of_range="null")) is None
    assert java_hashes(null, row, Policy(out_of_range="null")) is None


def sql_row(monkeypatch: pytest.MonkeyPatch, *types: LogicalType) -> SerializerSnapshot:
    """The snapshot of rows of these types."""
    monkeypatch.setattr(row_hash, "read_logical_type", lambda stream: types[int(stream)])
    numbers = tuple(str(number).encode() for number in range(len(types)))
    return SerializerSnapshot(ROW_DATA_SNAPSHOT, 3, details={"types": numbers})


@pytest.mark.parametrize(
    ("data", "written"),
    [
        (b"abc", "61626300 00000083"),
        (b"\x00\xff", "00ff0000 00000082"),
        (b"abcdefg", "61626364 65666787"),
        (b"abcdefgh", "08000000 10000000 6162636465666768"),
        (b"abcdefghi", "09000000 10000000 61626364656667686900000000000000"),
    ],
)
def test_bytes_of_sql(data: bytes, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to seven bytes are in the slot, more are behind it; texts, and distinct types of both, are written like bytes."""
    expected = [bytes(8) + bytes.fromhex(written)]
    key = pa.scalar({"f0": data}, pa.struct({"f0": pa.binary()}))
    for root in ("BINARY", "VARBINARY"):
        row = sql_row(monkeypatch, LogicalType(root, ""))
        assert binary_rows(key, row, Policy()) == expected
    distinct = LogicalType("DISTINCT_TYPE", "", children=(LogicalType("VARBINARY", ""),))
    row = sql_row(monkeypatch, distinct)
    assert binary_rows(key, row, Policy()) == expected
    only_bytes = SerializerSnapshot(TYPEUTILS + "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot", 3)
    assert java_hashes(pa.scalar(expected[0]), only_bytes) == java_hashes(key, row)
    if data.isascii():
        text = pa.scalar({"f0": data.decode()}, pa.struct({"f0": pa.string()}))
        assert binary_rows(text, sql_row(monkeypatch, LogicalType("VARCHAR", "")), Policy()) == expected


def test_rows_of_sql_whose_bytes_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN has many forms, U+FFFD may stand for another character, and each zero may have a sign."""
    double, text = LogicalType("DOUBLE", ""), LogicalType("VARCHAR", "")
    nan = pa.scalar({"f0": float("nan")}, pa.struct({"f0": pa.float64()}))
    assert binary_rows(nan, sql_row(monkeypatch, double), Policy()) is None
    replaced = pa.scalar({"f0": "a\ufffd"}, pa.struct({"f0": pa.string()}))
    row = sql_row(monkeypatch, text)
    assert binary_rows(replaced, row, Policy()) is None
    assert len(binary_rows(replaced, row, Policy(strings="fail")) or ()) == 1
    for zeros in (6, 7):
        fields = {f"f{n}": pa.float64() for n in range(zeros)}
        key = pa.scalar(dict.fromkeys(fields, 0.0), pa.struct(fields))
        found = binary_rows(key, sql_row(monkeypatch, *[double] * zeros), Policy())
        assert (found is None) == (zeros > 6)
    raw = pa.scalar({"f0": b"abc"}, pa.struct({"f0": pa.binary()}))
    assert binary_rows(raw, sql_row(monkeypatch, LogicalType("RAW", "")), Policy()) is None


def test_keys_of_another_type_than_their_serializer_writes() -> None:
    """Nothing can be left out for them. A key's column has such a type if it was overridden."""
    long = simple("Long")
    nested = [
        SerializerSnapshot(f"{RUNTIME}EitherSerializer$EitherSerializerSnapshot", 3, nested=(long, long)),
        SerializerSnapshot(LIST_SNAPSHOT, 3, nested=(long,)),
        SerializerSnapshot(f"{BASE}MapSerializerSnapshot", 3, nested=(long, long)),
        SerializerSnapshot(TYPEUTILS + "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot", 3),
    ]
    for serializer in (simple("String"), *nested):
        assert java_hashes(pa.scalar(5), serializer) is None
    assert java_hashes(pa.scalar(b"\xff"), simple("String")) is None
    assert java_hashes(pa.scalar(b"a"), simple("String")) == {97}


def test_times_as_objects() -> None:
    at, aware = datetime.datetime(2024, 2, 29, 12), datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
    assert key_scalar(at, UTC).as_py() == key_scalar(aware, UTC).as_py() == aware
    assert key_scalar(at, LOCAL).as_py() == at


def test_a_null_may_stand_for_a_time_that_the_column_cannot_hold() -> None:
    null = pa.scalar(None, UTC)
    assert java_hashes(null, simple("Instant")) == {0}
    assert java_hashes(null, simple("Instant"), Policy(out_of_range="null")) is None


def test_key_groups_of_hashes() -> None:
    assert [key_group_of_hash(code, 1) for code in (0, -1, 2**31)] == [0, 0, 0]
    assert key_group_of_hash(0xFFFFFFFF, 128) == key_group_of_hash(-1, 128) == 80
    groups = {key_group_of_hash(code, 32768) for code in range(1000)}
    assert 0 <= min(groups) < max(groups) < 32768


def test_dates_of_any_year() -> None:
    day = datetime.date(1970, 1, 1)
    for days in (*range(-3000, 3000, 7), -719_162, 2_932_896, 11_016, 19_782):
        date = day + datetime.timedelta(days)
        assert civil_date(days) == (date.year, date.month, date.day)
    assert civil_date(-735_525) == (-44, 3, 15)


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("42", pa.int64(), 42),
        ("-7", pa.int8(), -7),
        ("true", pa.bool_(), True),
        ("0.1", pa.float32(), pa.scalar(0.1, pa.float32()).as_py()),
        ("12.50", pa.decimal128(10, 2), Decimal("12.50")),
        ("0x00ff", pa.binary(), b"\x00\xff"),
        ("42", pa.string(), "42"),
        ("2024-02-29", pa.date32(), datetime.date(2024, 2, 29)),
        ("2024-02-29T12:00:00.5", UTC, datetime.datetime(2024, 2, 29, 12, 0, 0, 500000, datetime.UTC)),
        ("2024-02-29T13:00:00+01:00", UTC, datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)),
        ("2024-02-29 12:00", LOCAL, datetime.datetime(2024, 2, 29, 12)),
        ('["a", 1]', pa.struct({"f0": pa.string(), "f1": pa.int32()}), {"f0": "a", "f1": 1}),
        ('{"f1": 1, "f0": "a"}', pa.struct({"f0": pa.string(), "f1": pa.int32()}), {"f0": "a", "f1": 1}),
        ('[["a", "2024-02-29"]]', pa.map_(pa.string(), pa.date32()), [("a", datetime.date(2024, 2, 29))]),
        ("[1, 2]", pa.list_(pa.int64()), [1, 2]),
    ],
)
def test_keys_from_text(text: str, type_: pa.DataType, value: Any) -> None:
    key = key_scalar(text, type_)
    assert (key.type, key.as_py()) == (type_, value)
    assert key_scalar(value, type_).equals(key)
    assert key_scalar(key, type_).equals(key)


@pytest.mark.parametrize(
    ("value", "type_", "words"),
    [
        ("x", pa.int64(), "expected a number"),
        ("1_7", pa.int64(), "'1_7' is not a whole number"),
        (" 17", pa.int64(), "' 17' is not a whole number"),
        ("1_7", pa.float64(), "'1_7' is not a number"),
        ("17 ", pa.decimal128(9, 2), "'17 ' is not a number"),
        ("\udcff", pa.string(), "expected text in UTF-8"),
        ("300", pa.int8(), "not a key of the type int8"),
        (1.5, pa.int64(), "not a whole number"),
        (True, pa.int32(), "not a whole number"),
        (1, pa.string(), "not text"),
        ("yes", pa.bool_(), "neither true nor false"),
        ("noon", UTC, "expected a time such as"),
        ("2024-02-29T12:00:00Z", LOCAL, "has no zone"),
        (datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC), LOCAL, "has no zone"),
        (5, UTC, "5 is not a time"),
        (5, pa.list_(pa.int64()), "5 is not a list"),
        ('{"g": 1}', pa.struct({"f": pa.int32()}), "no field 'g'; there are f"),
        ("[1, 2]", pa.struct({"f": pa.int32()}), "The fields are f"),
        ("{", pa.list_(pa.int32()), "expected JSON such as"),
        ("zz", pa.binary(), "expected hex digits"),
    ],
)
def test_what_is_no_key(value: Any, type_: pa.DataType, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        key_scalar(value, type_)


def test_every_key_of_the_golden_snapshots_lies_where_its_hash_says() -> None:
    checked: Counter[str] = Counter()
    for case in CASES:
        snapshot = opened(case, out_of_range="null", maps="list", on_undecodable="skip")
        for operator in snapshot.operators:
            states = [s for s in operator.states if s.scope == "keyed" and s.kind != "timer"]
            for state in states[:1]:
                serializer = state._rows[0].key_serializer
                assert serializer is not None
                name = serializer.class_name.rsplit(".", 1)[-1].split("Serializer")[0]
                table = state.to_table()
                for key, group in zip(table["key"], table["key_group"].to_pylist(), strict=True):
                    groups = key_groups(key, serializer, operator.max_parallelism)
                    if groups is not None:
                        assert groups == {group}, (case, operator, key)
                    else:
                        # POJOs, Avro's records and Scala's products hash themselves. A row of SQL is hashed by its bytes,
                        # which a time cut to microseconds does not give back.
                        cut = name == "RowData" and any(pa.types.is_timestamp(f.type) for f in key.type)
                        assert name in ("Pojo", "Avro", "ScalaCaseClass") or cut or "\ufffd" in str(key)
                    checked[name if groups is not None else f"no {name}"] += 1
    assert set(checked) == {"Int", "Long", "String", "Tuple", "RowData"} | {
        f"no {name}" for name in ("Pojo", "Avro", "ScalaCaseClass", "String", "Tuple", "RowData")
    }
    assert min(checked[name] for name in ("Int", "Long", "String", "Tuple", "RowData")) >= 20, checked
