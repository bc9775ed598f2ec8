"""SQL's snapshots and values as Flink's own serializers wrote them, by both engines."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from serializers import SerializerSnapshot, describe, is_fixed_length
from serializers.logical_types import _NoType, _Types, alone, in_row, raw_value, read_logical_type, row_fields
from serializers.scalars import BASE
from serializers.sql import ROW_DATA_SNAPSHOT, TABLE, TYPEUTILS
from serializers.sql_type import LogicalType
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.layout import Bytes, Field, Layout, Number, SkippedValue, Struct, Text, Undecodable
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow
from stateextract.errors import FormatError, UndecodableError, ValueRefusedError
from stateextract.files.block import Block
from stateextract.files.javastream import JavaArray, JavaEnum, JavaObject, JavaValue
from tests.serializers.test_vectors import snapshot, value


def both(layout: Layout, data: bytes, policy: Policy | None = None) -> Any:
    """The value by kernel and interpreter, which must agree."""
    found = []
    for engine in ("kernel", "interpreter"):
        decoder = make_decoder(layout, policy or Policy(), engine=engine)
        progress = decoder.decode(Block.of(data), 0, len(data), 1)
        assert (progress.entries, progress.pos) == (1, len(data))
        array = decoder.flush()
        array.validate(full=True)
        found.append(array.to_pylist()[0])
    assert repr(found[0]) == repr(found[1])
    return found[0]


def a(root: str, *children: LogicalType, **more: Any) -> LogicalType:
    return LogicalType(root, "org.apache.flink.table.types.logical.SomeType", children=children, **more)


INT, BIGINT, TEXT, BOOL, DOUBLE = a("INTEGER"), a("BIGINT"), a("VARCHAR"), a("BOOLEAN"), a("DOUBLE")
LOCAL, ZONED = "TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE"

SNAPSHOTS = {
    "S RowData(INT NOT NULL, VARCHAR(5))": "struct<f0: int32, f1: string, row_kind: string>",
    "S ArrayData<INT>": "list<item: int32>",
    "S MapData": "map<string, int64>",
    "S Decimal(25,3)": "decimal128(25, 3)",
    "S Timestamp(9)": "timestamp[us]",
    "S StringData": "string",
    "S Raw": "int32",
    "S BinaryRow(2)": "binary",
    "S LinkedList": "list<item: string>",
    "S External": "struct<a: int32, row_kind: string>",
}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_snapshot(name: str) -> None:
    assert str(describe(snapshot(name)).arrow_type) == SNAPSHOTS[name]


VALUES: list[tuple[str, str, Any]] = [
    (
        "S RowData(INT NOT NULL, VARCHAR(5))", "00000018000000000000000007000000000000006162630000000083",
        {"f0": 7, "f1": "abc", "row_kind": "+I"},
    ),
    (
        "S RowData(INT NOT NULL, VARCHAR(5))", "00000018000200000000000007000000000000000000000000000000",
        {"f0": 7, "f1": None, "row_kind": "+I"},
    ),
    ("S ArrayData<INT>", "00000018030000000200000001000000000000000300000000000000", [1, None, 3]),
    ("S MapData", "000000241000000001000000000000006b0000000000008101000000000000000500000000000000", [("k", 5)]),
    ("S Decimal(25,3)", "00000002fb2e", Decimal("-1.234")),
    ("S Timestamp(9)", "00000000000005dc00000007", datetime(1970, 1, 1, 0, 0, 1, 500_000)),
    ("S StringData", "00000009c3a9e282acf09f9880", "é€😀"),
    ("S Raw", "0000000400000102", 258),
    ("S LinkedList", "00000002400261", ["a", None]),
    ("S BinaryRow(2)", "0000000301aabb", bytes.fromhex("01aabb")),
]  # fmt: skip


COMPACT = SerializerSnapshot(snapshot("S Decimal(25,3)").class_name, 3, details={"precision": 10, "scale": 2})
ALONE: list[tuple[Layout, str, Any]] = [
    (
        alone(a("ARRAY", TEXT), snapshot("S ArrayData<INT>")),
        "000000300300000002000000610000000000008100000000000000000b000000200000006c6f6e67657220746578740000000000",
        ["a", None, "longer text"],
    ),
    (alone(a("DECIMAL", precision=10, scale=2), COMPACT), "000000000000007b", Decimal("1.23")),
    (describe(snapshot("S External")), "0000001000000000000000000700000000000000", {"a": 7, "row_kind": "+I"}),
]


@pytest.mark.parametrize(("layout", "data", "expected"), ALONE, ids=["array of text", "decimal", "external"])
def test_other_values(layout: Layout, data: str, expected: Any) -> None:
    assert both(layout, bytes.fromhex(data)) == expected


@pytest.mark.parametrize(("name", "data", "expected"), VALUES, ids=lambda v: v if isinstance(v, str) else "")
def test_value(name: str, data: str, expected: Any) -> None:
    layout = describe(snapshot(name))
    assert both(layout, bytes.fromhex(data)) == expected
    assert value(layout, bytes.fromhex(data)) == expected


EVERY = [
    INT, TEXT, TEXT, a("DECIMAL", precision=10, scale=2), a("DECIMAL", precision=25, scale=3),
    a(LOCAL, precision=3), a(LOCAL, precision=9), a("ARRAY", INT), a("MAP", TEXT, BIGINT),
    a("ROW", BOOL, DOUBLE, names=("x", "y")), BIGINT,
]  # fmt: skip
EVERY_DATA = (
    "000000e00200040000000000020100000000000068690000000000820b000000600000007b000000000000000200000070000000dc0500"
    "00000000000700000080000000180000008800000024000000a000000018000000c800000000000000000000006c6f6e67657220746578"
    "740000000000fb2e0000000000000000000000000000dc0500000000000003000000020000000100000000000000030000000000000010"
    "00000001000000000000006b000000000000810100000000000000050000000000000000000000000000000000000001000000000000000000000000000440"
)
VARIANT_DATA = "000000280000000000000000130000001000000000000005010100016b020100000514050000000000000000"
ROWS = [(EVERY, EVERY_DATA), ([a("VARIANT")], VARIANT_DATA)]


def test_rows_of_nulls() -> None:
    """Batches without a single byte of the columns' data."""
    row = row_fields(EVERY, kind=True)
    nulls = bytes.fromhex("00ff0700 00000000") + bytes(8 * len(EVERY))
    assert both(row, len(nulls).to_bytes(4, "big") + nulls) == dict.fromkeys(
        (f"f{i}" for i in range(len(EVERY))), None
    ) | {"row_kind": "+I"}


def test_every_type_in_one_row() -> None:
    row = row_fields(EVERY, kind=True)
    data = bytes.fromhex(EVERY_DATA)
    moment = datetime(1970, 1, 1, 0, 0, 1, 500_000)
    assert both(row, data) == {
        "f0": 258, "f1": "hi", "f2": "longer text", "f3": Decimal("1.23"), "f4": Decimal("-1.234"), "f5": moment,
        "f6": moment, "f7": [1, None, 3], "f8": [("k", 5)], "f9": {"x": True, "y": 2.5}, "f10": None, "row_kind": "+U",
    }  # fmt: skip
    decoder = make_decoder(row, Policy(), engine="kernel")
    decoder.decode(Block.of(data), 0, len(data), 1)
    decoder.flush()
    assert decoder.counts.as_dict() == {
        "lone_surrogates": 0,
        "sub_microsecond": 1,
        "out_of_range": 0,
        "malformed_utf8": 0,
        "python_objects": 0,
        "unread_pickles": 0,
    }


def test_variant_and_bitmap_in_a_row() -> None:
    found = both(row_fields([a("VARIANT")]), bytes.fromhex(VARIANT_DATA))
    assert {name: part.hex() for name, part in found["f0"].items()} == {
        "metadata": "010100016b",
        "value": "02010000051405000000",
    }
    assert in_row(a("BITMAP")) == Bytes()


@pytest.mark.parametrize(
    ("type_", "slot", "expected"),
    [
        (a("TINYINT"), "ff00000000000000", -1),
        (a("SMALLINT"), "0080000000000000", -32768),
        (a("FLOAT"), "0000c03f00000000", 1.5),
        (a("DATE"), "ffffffff00000000", date(1969, 12, 31)),
        (a("TIME_WITHOUT_TIME_ZONE", precision=3), "ff5b260500000000", "23:59:59.999"),
        (a("INTERVAL_YEAR_MONTH"), "0d00000000000000", 13),
        (a("INTERVAL_DAY_TIME"), "00ca9a3b00000000", 1_000_000_000),
        (a(ZONED, precision=3), "ffffffffffffffff", datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)),
        (a("VARBINARY"), "01020304050607" + "87", bytes(range(1, 8))),
        (a("CHAR"), "0000000000000080", ""),
        (a("DECIMAL", precision=18, scale=18), "ffffffffffffffff", Decimal("-0.000000000000000001")),
        (a("DISTINCT_TYPE", a("INTEGER")), "0200000000000000", 2),
    ],
)
def test_slots(type_: LogicalType, slot: str, expected: Any) -> None:
    assert both(row_fields([type_]), bytes.fromhex("00000010" + "00" * 8 + slot)) == {"f0": expected}


def test_multiset() -> None:
    keys = bytes.fromhex("01000000000000006100000000000081")
    counts = bytes.fromhex("01000000000000000300000000000000")
    section = len(keys).to_bytes(4, "little") + keys + counts
    row = bytes(8) + (16 << 32 | len(section)).to_bytes(8, "little") + section
    assert both(row_fields([a("MULTISET", TEXT)]), len(row).to_bytes(4, "big") + row) == {"f0": [("a", 3)]}


def decoded(layout: Layout, data: bytes, engine: str) -> list[Any]:
    decoder = make_decoder(layout, Policy(), engine=engine)
    decoder.decode(Block.of(data), 0, len(data), 1)
    return list(decoder.flush().to_pylist())


def test_null_keys_need_lists() -> None:
    """Arrow's maps have no null keys: refused, and told how to get them."""
    keys = bytes.fromhex("01000000010000000000000000000000")
    section = len(keys).to_bytes(4, "little") + keys + bytes.fromhex("01000000000000000300000000000000")
    data = len(section).to_bytes(4, "big") + section
    layout = in_row(a("MAP", TEXT, INT))
    for engine in ("kernel", "interpreter"):
        with pytest.raises(ValueRefusedError, match="null key"):
            decoded(layout, data, engine)
    assert both(layout, data, Policy(maps="list")) == [{"key": None, "value": 3}]


def test_row_longer_than_its_fields() -> None:
    """A sink's materializer writes four fields under a serializer of two (its version 1)."""
    row = bytes(8) + (5).to_bytes(8, "little") + b"abc\0\0\0\0\x83" + bytes(16)
    assert both(row_fields([INT, TEXT]), len(row).to_bytes(4, "big") + row) == {"f0": 5, "f1": "abc"}


@pytest.mark.parametrize(
    "section",
    [
        "00" * 15,  #                                     shorter than its slots
        "00" * 8 + "0900000010000000" + "61" * 8,  #      one byte beyond the end
        "00" * 8 + "01000000ffffff7f",  #                 far beyond
        "00" * 8 + "ffffffff00000000",  #                 a length of four gigabytes
        "00" * 8 + "6162636465666788",  #                 eight bytes in a slot
    ],
)
def test_damage(section: str) -> None:
    data = (len(section) // 2).to_bytes(4, "big") + bytes.fromhex(section)
    for engine in ("kernel", "interpreter"):
        decoder = make_decoder(row_fields([TEXT]), Policy(), engine=engine)
        with pytest.raises(FormatError):
            decoder.decode(Block.of(data + bytes(64)), 0, len(data) + 64, 1)


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
def test_values_that_are_not_selected_need_not_be_known(engine: str) -> None:
    """A row has a length: a type that is not known hinders only who wants the row."""
    row = bytes(8) + (5).to_bytes(8, "little") + bytes.fromhex("6162630000000083") * 2
    data = len(row).to_bytes(4, "big") + row
    unknown = row_fields([INT, a("GEOGRAPHY"), TEXT])
    layouts = (unknown, BinaryArray(unknown), BinaryMap(Text("utf8"), unknown))
    for layout in layouts:
        skipped = make_decoder(layout, Policy(), engine=engine, keep=False)
        assert skipped.decode(Block.of(data * 2), 0, 2 * len(data), 2).pos == 2 * len(data)
        beside = Struct((Field("a", SkippedValue(layout)), Field("b", Number(pa.int8()))))
        assert both(beside, data + b"\x07") == {"b": 7}
    with pytest.raises(UndecodableError, match="values of this SQL type have no binary form"):
        make_decoder(unknown, Policy(), engine=engine).decode(Block.of(data), 0, len(data), 1)


MAP_OF_ONE = "10000000010000000000000" + "06b0000000000008101000000000000000500000000000000"


@pytest.mark.parametrize(
    "section",
    [
        "100000",  #                                                                        ends inside the size of the keys
        "ffffffff" + MAP_OF_ONE[8:],
        "21000000" + MAP_OF_ONE[8:],  #                                                     keys beyond the end
        MAP_OF_ONE[:8] + "02000000" + MAP_OF_ONE[16:],  #                                   more keys than values
        MAP_OF_ONE[:40] + "00000000" + MAP_OF_ONE[48:],  #                                  fewer values than keys
    ],
)
def test_damaged_maps(section: str) -> None:
    data = (len(section) // 2).to_bytes(4, "big") + bytes.fromhex(section)
    layout = describe(snapshot("S MapData"))
    for engine in ("kernel", "interpreter"):
        decoder = make_decoder(layout, Policy(), engine=engine)
        with pytest.raises(FormatError):
            decoder.decode(Block.of(data + bytes(64)), 0, len(data) + 64, 1)


@pytest.mark.parametrize(
    "high", [b"\x4b\x3b\x4c\xa8\x5a\x86\xc4\x7a\x09\x8a\x22\x40\x00\x00\x00\x00", b"\x00\x98\x96\x80"]
)
def test_decimal_with_too_many_digits(high: bytes) -> None:
    precision = 38 if len(high) == 16 else 7
    if precision == 38:
        data = len(high).to_bytes(4, "big") + high
        layout = describe(decimal_snapshot(38, 0))
    else:
        data, layout = high.rjust(8, b"\0"), describe(decimal_snapshot(7, 2))
    decoder = make_decoder(layout, Policy(), engine="kernel")
    decoder.decode(Block.of(data), 0, len(data), 1)
    with pytest.raises(ValueRefusedError, match="does not fit"):
        decoder.flush()
    assert both(layout, data, Policy(out_of_range="null")) is None


def decimal_snapshot(precision: int, scale: int) -> SerializerSnapshot:
    name = TYPEUTILS + "DecimalDataSerializer$DecimalSerializerSnapshot"
    return SerializerSnapshot(name, 3, details={"precision": precision, "scale": scale})


def test_largest_decimal() -> None:
    largest = 10**38 - 1
    for sign in (1, -1):
        data = b"\0\0\0\x10" + (sign * largest).to_bytes(16, "big", signed=True)
        assert both(describe(decimal_snapshot(38, 0)), data) == sign * largest


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
def test_broken_utf8_is_counted(engine: str) -> None:
    layout = describe(snapshot("S StringData"))
    decoder = make_decoder(layout, Policy(), engine=engine)
    # The second entry is broken off, and counts nothing.
    decoder.decode(Block.of(b"\0\0\0\x04a\xff\xe2\x82" + b"\0\0\0\x04\xff"), 0, 13, 2)
    assert decoder.flush().to_pylist() == ["a\ufffd\ufffd"]
    assert decoder.counts == ChangeCounts(malformed_utf8=2)
    assert both(layout, b"\0\0\0\x02a\xff", Policy(strings="binary")) == b"a\xff"


def test_alone() -> None:
    """What a serializer does not tell, the type does."""
    whole = SerializerSnapshot(BASE + "IntSerializer$IntSerializerSnapshot", 3)
    moment = SerializerSnapshot(
        TYPEUTILS + "TimestampDataSerializer$TimestampDataSerializerSnapshot", 1, details={"precision": 3}
    )
    assert alone(a("DATE"), whole).arrow_type == pa.date32()
    assert alone(a("TIME_WITHOUT_TIME_ZONE"), whole).arrow_type == pa.string()
    assert alone(INT, whole).arrow_type == pa.int32()
    assert alone(a(ZONED, precision=3), moment).arrow_type == pa.timestamp("us", "UTC")
    assert is_fixed_length(moment)


def test_unknown_types_are_named() -> None:
    layout = in_row(LogicalType("", "com.acme.OddType"))
    assert layout == Undecodable("com.acme.OddType", "values of this SQL type have no binary form")
    assert both(row_fields([LogicalType("", "com.acme.OddType")]), b"\0\0\0\x10\0\x01" + bytes(14)) == {"f0": None}


def test_raw_of_an_unknown_serializer_is_bytes() -> None:
    assert raw_value(SerializerSnapshot("com.acme.Snapshot", 1)) == Bytes()


def test_names() -> None:
    row = row_fields([INT, INT, INT], names=("row_kind", "A", "a"), kind=True)
    assert [f.name for f in row.columns] == ["row_kind_2", "A", "a_2", "row_kind"]
    assert isinstance(row, BinaryRow)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("operators.sink.SortedLongSerializer$SortedLongSerializerSnapshot", "7fffffffffffffff", -1),
        ("operators.window.CountWindow$Serializer$CountWindowSerializerSnapshot", "0000000000000003", {"id": 3}),
        (
            "operators.window.TimeWindow$Serializer$TimeWindowSerializerSnapshot",
            "00000000000000010000000000000002",
            {
                "start": datetime(1970, 1, 1, 0, 0, 0, 1000, UTC),
                "end": datetime(1970, 1, 1, 0, 0, 0, 2000, UTC),
            },
        ),
    ],
)
def test_windows_and_sinks(name: str, data: str, expected: Any) -> None:
    assert both(describe(SerializerSnapshot(TABLE + name, 3)), bytes.fromhex(data)) == expected


def test_nested_serializers() -> None:
    row = snapshot("S RowData(INT NOT NULL, VARCHAR(5))")
    key = SerializerSnapshot(TYPEUTILS + "WindowKeySerializer$WindowKeySerializerSnapshot", 3, 1, nested=(row,))
    data = "000000000000000900000018000000000000000007000000000000006162630000000083"
    assert both(describe(key), bytes.fromhex(data)) == {
        "window": 9,
        "key": {"f0": 7, "f1": "abc", "row_kind": "+I"},
    }
    text = SerializerSnapshot(BASE + "StringSerializer$StringSerializerSnapshot", 3)
    whole = SerializerSnapshot(BASE + "LongSerializer$LongSerializerSnapshot", 3)
    view = SerializerSnapshot(
        "org.apache.flink.table.dataview.NullAwareMapSerializerSnapshot", 3, 1, nested=(text, whole)
    )
    assert both(describe(view), bytes.fromhex("0000000101000000000000000005")) == [{"key": None, "value": 5}]
    ordered = SerializerSnapshot(TYPEUTILS + "SortedMapSerializerSnapshot", 3, nested=(text, whole))
    assert both(describe(ordered), bytes.fromhex("000000010261000000000000000005")) == [("a", 5)]


def java(fields: str, class_name: str) -> bytes:
    """A Java object with one field, whose value is the object itself."""
    name = class_name.encode()
    described = b"\x72" + len(name).to_bytes(2, "big") + name + bytes(8) + b"\x02\x00\x01"
    field = b"L" + len(fields).to_bytes(2, "big") + fields.encode() + b"\x74\x00\x12Ljava/lang/Object;"
    return b"\xac\xed\x00\x05\x73" + described + field + b"\x78\x70" + b"\x71\x00\x7e\x00\x02"


@pytest.mark.parametrize("field", ["elementType", "logicalType", "keyType", "superType", "typeRoot"])
def test_types_that_hold_themselves(field: str) -> None:
    """Nothing endless, nothing huge: such an object is a type that is not known."""
    found = read_logical_type(java(field, "com.acme.Odd"))
    assert (found.root, found.class_name) == ("", "com.acme.Odd")


def test_a_structured_type_has_the_attributes_of_its_supertype_first() -> None:
    def attribute(name: str, root: str) -> JavaObject:
        type_ = JavaObject("x.Type", {"x.Type": {"typeRoot": JavaEnum("x.Root", root)}})
        return JavaObject("x.Attribute", {"x.Attribute": {"name": name, "type": type_}})

    def structured(above: JavaValue, *attributes: JavaValue) -> JavaObject:
        fields = {"attributes": JavaArray("[L", list(attributes)), "superType": above}
        return JavaObject("x.S", {"x.S": {**fields, "typeRoot": JavaEnum("x.Root", "STRUCTURED_TYPE")}})

    above = structured(None, attribute("a", "INTEGER"), attribute("b", "BIGINT"))
    found = _Types().of(structured(above, attribute("c", "DOUBLE")))
    assert (found.names, [child.root for child in found.children]) == (("a", "b", "c"), ["INTEGER", "BIGINT", "DOUBLE"])
    with pytest.raises(_NoType):
        _Types().of(structured(None, "an attribute"))


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (5, 6), (5, -1)])
def test_decimals_that_there_are_not(precision: int, scale: int) -> None:
    expected = Undecodable("DecimalType", f"no decimal has {precision} digits, {scale} of them after the point")
    assert in_row(a("DECIMAL", precision=precision, scale=scale)) == expected


def test_a_distinct_type_alone_is_its_source_type() -> None:
    layout = alone(a("DISTINCT_TYPE", a(LOCAL, precision=9)), snapshot("S Timestamp(9)"))
    assert both(layout, bytes.fromhex("00000000000005dc00000007")) == datetime(1970, 1, 1, 0, 0, 1, 500_000)


def test_types_of_another_kind() -> None:
    assert read_logical_type(b"\xac\xed\x00\x05\x74\x00\x01x").root == ""
    row = SerializerSnapshot(ROW_DATA_SNAPSHOT, 3, details={"types": (b"\xac\xed\x00\x05\x70",)})
    assert [type(f.layout) for f in describe(row).fields] == [Undecodable]  # type: ignore[attr-defined]
