"""Snapshots and values as Flink's own serializers wrote them (``vectors.txt``)."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from serializers import SerializerSnapshot, describe, read_snapshot, read_snapshot_proxy
from serializers.scalars import BASE
from stateextract.columnar.convert.logical import apply_logical
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Layout
from stateextract.errors import UndecodableError
from stateextract.files.reader import Reader

LINES = (Path(__file__).parent / "vectors.txt").read_text().splitlines()
VECTORS = {
    name: bytes.fromhex(data) for name, _, data in (f"{line} ".partition(" = ") for line in LINES if line[:1] != "#")
}


def snapshot(name: str) -> SerializerSnapshot:
    """Reads the snapshot whole."""
    kind = name[0]
    reader = Reader(VECTORS[name])
    read = read_snapshot_proxy if kind == "P" or "proxy" in name else read_snapshot
    found = read(reader)
    assert reader.remaining == 0
    return found


def value(layout: Layout, data: bytes) -> Any:
    """Decodes one value whole."""
    wire, end = interpret(layout, data, 0, len(data))
    assert end == len(data)
    array = apply_logical(pa.array([wire], type=layout.wire_type), layout, Policy(), ChangeCounts())
    assert array.type == layout.arrow_type
    return array[0].as_py()


def simple(name: str) -> Layout:
    """The layout of a serializer of ``typeutils.base`` without parameters."""
    last = name.rsplit(".", 1)[-1]
    return describe(SerializerSnapshot(f"{BASE}{name}Serializer${last}SerializerSnapshot", 3))


_NODE = "struct<event: struct<id: int32, timestamp: int64>, page: string>"
_DEWEY = "list<item: int32>"
_MATCHES = (
    f"list<item: struct<state: string, previous: {_NODE}, version: {_DEWEY}, start_timestamp: int64, "
    "previous_timestamp: int64, start_event: struct<id: int32, timestamp: int64>>>"
)

TYPES = {
    "S GenericArray<Integer>": "list<item: int32>",
    "S List<String>": "list<item: string>",
    "S Map<String,Long>": "map<string, int64>",
    "S Set<Int>": "list<item: int32>",
    "S enum": "string",
    "S String": "string",
    "S Long": "int64",
    "S nullable padded int": "int32",
    "S Either": "struct<left: int32, right: string>",
    "S Tuple2<String,Int>": "struct<f0: string, f1: int32>",
    "S Tuple0": "bool",
    "S Row": "struct<f0: int32, f1: string, row_kind: string>",
    "S Row 1.13": "struct<f0: int32, row_kind: string>",
    "S pojo P": "struct<class: string, a: string, b: int32, c: int64, d: double, z: bool>",
    "S CopyableValue<IntValue>": "int32",
    "S Value<StringValue>": "string",
    "S Date": "timestamp[us, tz=UTC]",
    "S Rec": "struct<a: int32, b: string>",
    "S NullAwareMap": "list<item: struct<key: string, value: int64>>",
    "S TimeWindow": "struct<start: timestamp[us, tz=UTC], end: timestamp[us, tz=UTC]>",
    "S Timer": "struct<timestamp: int64, key: string, "
    "namespace: struct<start: timestamp[us, tz=UTC], end: timestamp[us, tz=UTC]>>",
    "S Ttl<String>": "struct<last_access: timestamp[us, tz=UTC], value: string>",
    "S List<Ttl>": "list<item: struct<last_access: timestamp[us, tz=UTC], value: string>>",
    "S TtlAware": "struct<last_access: timestamp[us, tz=UTC], value: string>",
    "S TtlAware list": "list<item: struct<last_access: timestamp[us, tz=UTC], value: string>>",
    "S StreamElement": "struct<timestamp: int64, record: string, watermark: int64, latency_marked_time: int64, "
    "latency_operator: binary, latency_subtask: int32, watermark_status: int32, backlog: bool, subpartition: int32>",
    "S ArrayList": "list<item: string>",
    "S BufferEntry": "struct<joined: bool, element: string>",
    "S Union": "struct<one: string, two: int32>",
    "S ByteArrayWrapper": "binary",
    "S NodeId": "struct<event: struct<id: int32, timestamp: int64>, page: string>",
    "S Lockable": "struct<references: int32, element: string>",
    "S NFAState": f"struct<partial_matches: {_MATCHES}, completed_matches: {_MATCHES}>",
    "S SharedBufferNode": f"list<item: struct<references: int32, edge: struct<target: {_NODE}, version: {_DEWEY}>>>",
    "S JavaSerializer": "struct<class: string, json: string>",
    "S python RowData": "struct<f0: int32, row_kind: string>",
    "S Option<String>": "string",
    "S Either (scala)": "struct<left: string, right: int32>",
    "S Unit": "bool",
    "S CaseClass": "struct<_1: string, _2: int32>",
    "S scala Tuple2": "struct<_1: string, _2: int32>",
    "S Traversable": "list<item: string>",
    "P proxy(String)": "string",
    "L proxy(Parameterless)": "int32",
    "L Collection": "list<item: int32>",
    "L GenericArrayCfg": "list<item: int32>",
}

ELSEWHERE = {
    "S RowData(INT NOT NULL, VARCHAR(5))",
    "S ArrayData<INT>",
    "S MapData",
    "S Decimal(25,3)",
    "S Timestamp(9)",
    "S StringData",
    "S Raw",
    "S BinaryRow(2)",
    "S LinkedList",
    "S External",
    "S Kryo ArrayList",
    "S Kryo G w/ regs",
}
"""Snapshots with tests of their own: of SQL and of Kryo."""


@pytest.mark.parametrize("name", TYPES)
def test_snapshot(name: str) -> None:
    assert str(describe(snapshot(name)).arrow_type) == TYPES[name]


def test_every_snapshot_is_tested() -> None:
    assert {*TYPES, *ELSEWHERE} == {name for name in VECTORS if name[0] in "SPL"}


SPECIAL = {
    "double NaN payload",
    "float NaN payload",
    "StreamRecord ts",
    "StreamRecord no ts",
    "Watermark",
    "pojo unregistered sub R2",
    "Timer ts=-1 key=k",
    "Row7 (all null but last=1) +U",
    "Row legacy(1,null)",
    "nullable unpadded null",
    "VoidNamespace",
    "GlobalWindow",
    "Flink-2 POJO List<String> field value [a,null]",
    "EventId(3,1000)",
    "Dewey 1.0.2",
    "Success x",
}
"""Values with a test of their own, at the bottom."""

UTC = UTC
POJO = {"class": "V$P", "a": "x", "b": 1, "c": None, "d": None, "z": None}

# Vector, the serializer (a snapshot's vector, or a name of typeutils.base), value.
VALUES: list[tuple[str, str, Any]] = [
    ("bool true", "Boolean", True),
    ("byte -2", "Byte", -2),
    ("short -2", "Short", -2),
    ("int 258", "Int", 258),
    ("long -1", "Long", -1),
    ("float 1.5", "Float", 1.5),
    ("double 1.5", "Double", 1.5),
    ("char U+20AC", "Char", "€"),
    ("string null", "String", None),
    ("string empty", "String", ""),
    ("string Hi", "String", "Hi"),
    ("string é€", "String", "é€"),
    ("string emoji U+1F600", "String", "\U0001f600"),
    ("string 127 x", "String", "x" * 127),
    ("string lone surrogate d800", "String", "�"),
    ("string U+0000", "String", "\0"),
    ("string U+3FFF", "String", "㿿"),
    ("string U+4000", "String", "䀀"),
    ("StringValue Hi", "StringValue", "Hi"),
    ("StringValue empty", "StringValue", ""),
    ("StringValue é€", "StringValue", "é€"),
    ("IntValue 258", "IntValue", 258),
    ("CharValue", "CharValue", "€"),
    ("BooleanValue", "BooleanValue", True),
    ("NullValue", "NullValue", None),
    ("CopyableValue IntValue 258", "S CopyableValue<IntValue>", 258),
    ("bigint null", "BigInt", None),
    ("bigint ZERO", "BigInt", "0"),
    ("bigint ONE", "BigInt", "1"),
    ("bigint TEN", "BigInt", "10"),
    ("bigint new(10)", "BigInt", "10"),
    ("bigint -256", "BigInt", "-256"),
    ("bigint 0 parsed", "BigInt", "0"),
    ("bigint ones", "BigInt", "1"),
    ("bigint valueOf(10)", "BigInt", "10"),
    ("bigdec null", "BigDec", None),
    ("bigdec ZERO", "BigDec", "0"),
    ("bigdec ONE", "BigDec", "1"),
    ("bigdec 12.345", "BigDec", "12.345"),
    ("bigdec 1E+3", "BigDec", "1E+3"),
    ("bigdec 0.00", "BigDec", "0.00"),
    ("Date null", "Date", None),
    ("Date 1000", "S Date", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
    ("SqlTimestamp", "SqlTimestamp", datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
    ("SqlTimestamp null", "SqlTimestamp", None),
    ("SqlTime null", "SqlTime", None),
    ("SqlDate 0", "SqlDate", datetime(1970, 1, 1, tzinfo=UTC)),
    ("LocalDate 2024-02-29", "LocalDate", date(2024, 2, 29)),
    ("LocalDate null", "LocalDate", None),
    ("LocalTime 23:59:58.000000007", "LocalTime", "23:59:58.000000007"),
    ("LocalTime null", "LocalTime", None),
    ("LocalDateTime", "LocalDateTime", datetime(2024, 2, 29, 23, 59, 58)),
    ("LocalDateTime null", "LocalDateTime", None),
    ("Instant -1s 5n", "Instant", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ("Instant null", "Instant", None),
    ("Void", "Void", None),
    ("int[]", "array.IntPrimitiveArray", [1, -1]),
    ("byte[]", "array.BytePrimitiveArray", b"\1\2\3"),
    ("boolean[]", "array.BooleanPrimitiveArray", [True, False]),
    ("char[]", "array.CharPrimitiveArray", ["A", "€"]),
    ("String[]", "array.StringArray", ["a", None, ""]),
    ("Integer[]{1,null}", "S GenericArray<Integer>", [1, None]),
    ("List[a,null]", "S List<String>", ["a", None]),
    ("Map{k:5,n:null}", "S Map<String,Long>", [("k", 5), ("n", None)]),
    ("Set{7,null}", "S Set<Int>", [7, None]),
    ("enum GREEN", "S enum", "GREEN"),
    ("nullable padded null", "S nullable padded int", None),
    ("nullable padded 5", "S nullable padded int", 5),
    ("either L7", "S Either", {"left": 7, "right": None}),
    ("either Rx", "S Either", {"left": None, "right": "x"}),
    ("Tuple2(a,1)", "S Tuple2<String,Int>", {"f0": "a", "f1": 1}),
    ("Tuple0", "S Tuple0", None),
    ("Row+I(1,null)", "S Row", {"f0": 1, "f1": None, "row_kind": "+I"}),
    ("Row-D(1,'x')", "S Row", {"f0": 1, "f1": "x", "row_kind": "-D"}),
    ("Row-U(null,'x')", "S Row", {"f0": None, "f1": "x", "row_kind": "-U"}),
    ("pojo P(b=1,a='x',c=null)", "S pojo P", POJO),
    ("pojo null", "S pojo P", None),
    (
        "pojo registered sub Q",
        "S pojo P",
        {"class": "V$Q", "a": None, "b": 2, "c": 3, "d": 1.0, "z": None},
    ),
    ("record Rec(1,x)", "S Rec", {"a": 1, "b": "x"}),
    ("double -0.0", "Double", -0.0),
    ("Variant {k:5}", "Variant", {"metadata": b"\x01\x01\0\x01k", "value": bytes.fromhex("02010000051405000000")}),
    ("NullAwareMap{null:5}", "S NullAwareMap", [{"key": None, "value": 5}]),
    ("Bitmap{1,5}", "Bitmap", bytes.fromhex("3a30000001000000000001001000000001000500")),
    (
        "TimeWindow(0,1000)",
        "S TimeWindow",
        {"start": datetime(1970, 1, 1, tzinfo=UTC), "end": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)},
    ),
    (
        "Timer ts=1000 key=k win",
        "S Timer",
        {
            "timestamp": 1000,
            "key": "k",
            "namespace": {
                "start": datetime(1970, 1, 1, tzinfo=UTC),
                "end": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
            },
        },
    ),
    ("Ttl(1000,'v')", "S Ttl<String>", {"last_access": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "value": "v"}),
    ("ArrayList[a]", "S ArrayList", ["a"]),
    ("BufferEntry('e',true)", "S BufferEntry", {"joined": True, "element": "e"}),
    ("NodeId", "S NodeId", {"event": {"id": 3, "timestamp": 1000}, "page": "start"}),
    ("NodeId null", "S NodeId", None),
    ("Lockable('e',2)", "S Lockable", {"references": 2, "element": "e"}),
    (
        "NFAState",
        "S NFAState",
        {
            "partial_matches": [
                {
                    "state": "middle",
                    "previous": {"event": {"id": 3, "timestamp": 1000}, "page": "start"},
                    "version": [1, 0, 2],
                    "start_timestamp": 500,
                    "previous_timestamp": 600,
                    "start_event": {"id": 3, "timestamp": 1000},
                }
            ],
            "completed_matches": [],
        },
    ),
    (
        "SharedBufferNode",
        "S SharedBufferNode",
        [
            {
                "references": 0,
                "edge": {"target": {"event": {"id": 3, "timestamp": 1000}, "page": "start"}, "version": [1, 0, 2]},
            }
        ],
    ),
    ("Java String", "S JavaSerializer", {"class": "java.lang.String", "json": '"x"'}),
    (
        "SimpleVersioned list element v1 'abc' through byte[] serializer",
        "array.BytePrimitiveArray",
        bytes.fromhex("0000000100000003616263"),
    ),
    ("Some('x')", "S Option<String>", "x"),
    ("None", "S Option<String>", None),
    ("scala Left x", "S Either (scala)", {"left": "x", "right": None}),
    ("scala Right 7", "S Either (scala)", {"left": None, "right": 7}),
    ("Unit", "S Unit", None),
    ("case class (a,1)", "S CaseClass", {"_1": "a", "_2": 1}),
    ("Tuple2 (a,1)", "S scala Tuple2", {"_1": "a", "_2": 1}),
    ("Seq(a,null)", "S Traversable", ["a", None]),
    ('TaggedUnion one "e" (String)', "S Union", {"one": "e", "two": None}),
    ("TaggedUnion two 7 (Int)", "S Union", {"one": None, "two": 7}),
]


@pytest.mark.parametrize(("vector", "serializer", "expected"), VALUES, ids=[v[0] for v in VALUES])
def test_value(vector: str, serializer: str, expected: Any) -> None:
    layout = describe(snapshot(serializer)) if serializer.startswith("S ") else simple(serializer)
    found = value(layout, VECTORS["V " + vector])
    assert found == expected
    if isinstance(expected, float):
        assert math.copysign(1, found) == math.copysign(1, expected)


def test_every_value_is_tested() -> None:
    assert {*SPECIAL, *(name for name, _, _ in VALUES)} == {name[2:] for name in VECTORS if name[0] == "V"}


@pytest.mark.parametrize("vector", ["double NaN payload", "float NaN payload"])
def test_nan(vector: str) -> None:
    assert math.isnan(value(simple(vector.split()[0].title()), VECTORS["V " + vector]))


def test_stream_elements() -> None:
    layout = describe(snapshot("S StreamElement"))
    columns = [
        {k: v for k, v in value(layout, VECTORS["V " + name]).items() if v is not None}
        for name in ("StreamRecord ts", "StreamRecord no ts", "Watermark")
    ]
    assert columns == [{"timestamp": 5, "record": "a"}, {"record": "a"}, {"watermark": 9}]


def test_unregistered_subclass() -> None:
    found = value(describe(snapshot("S pojo P")), VECTORS["V pojo unregistered sub R2"])
    assert found["class"] == "V$R2"
    assert found["z"] is True


def test_timer_without_namespace() -> None:
    void = SerializerSnapshot(
        "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", 3
    )
    key = snapshot("S String")
    timer = SerializerSnapshot(snapshot("S Timer").class_name, 3, 2, nested=(key, void))
    assert value(describe(timer), VECTORS["V Timer ts=-1 key=k"]) == {"timestamp": -1, "key": "k", "namespace": None}


def test_row_of_seven() -> None:
    row = snapshot("S Row")
    seven = SerializerSnapshot(
        row.class_name, 3, 4, {"row_kind": True}, (snapshot("S nullable padded int").nested[0],) * 7
    )
    assert value(describe(seven), VECTORS["V Row7 (all null but last=1) +U"]) == {
        **{f"f{i}": None for i in range(6)},
        "f6": 1,
        "row_kind": "+U",
    }


def test_row_without_kind() -> None:
    row = snapshot("S Row")
    old = SerializerSnapshot(row.class_name, 3, 2, {"row_kind": False}, row.nested)
    assert value(describe(old), VECTORS["V Row legacy(1,null)"]) == {"f0": 1, "f1": None}


def test_nullable_without_padding() -> None:
    padded = snapshot("S nullable padded int")
    unpadded = SerializerSnapshot(padded.class_name, 3, 2, {"padding": 0}, padded.nested)
    assert value(describe(unpadded), VECTORS["V nullable unpadded null"]) is None


def test_void_namespace_and_global_window() -> None:
    for name, vector in (
        ("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", "V VoidNamespace"),
        (
            "org.apache.flink.streaming.api.windowing.windows.GlobalWindow$Serializer$GlobalWindowSerializerSnapshot",
            "V GlobalWindow",
        ),
    ):
        assert value(describe(SerializerSnapshot(name, 3)), VECTORS[vector]) is None


def test_list_of_strings_in_a_pojo_of_flink_2() -> None:
    runtime = "org.apache.flink.api.java.typeutils.runtime."
    nullable = runtime + "NullableSerializer$NullableSerializerSnapshot"
    element = SerializerSnapshot(nullable, 3, 2, {"padding": 0}, (snapshot("S String"),))
    whole = SerializerSnapshot(BASE + "ListSerializerSnapshot", 3, 1, nested=(element,))
    outer = SerializerSnapshot(nullable, 3, 2, {"padding": 0}, (whole,))
    data = VECTORS["V Flink-2 POJO List<String> field value [a,null]"]
    # The list is not null; two elements, each with a flag.
    assert value(describe(outer), data) == ["a", None]


def test_event_id_and_version_of_cep() -> None:
    event, version = snapshot("S NFAState").nested[2], snapshot("S NFAState").nested[0]
    assert value(describe(event), VECTORS["V EventId(3,1000)"]) == {"id": 3, "timestamp": 1000}
    assert value(describe(version), VECTORS["V Dewey 1.0.2"]) == [1, 0, 2]


def test_try() -> None:
    throwable = SerializerSnapshot("com.acme.Throwables", 0, details={"unknown": "absent"})
    whole = SerializerSnapshot(
        "org.apache.flink.api.scala.typeutils.ScalaTrySerializerSnapshot",
        3,
        2,
        nested=(snapshot("S String"), throwable),
    )
    layout = describe(whole)
    assert value(layout, VECTORS["V Success x"]) == {"value": "x", "failure": None}
    with pytest.raises(UndecodableError, match=r"com\.acme\.Throwables"):
        interpret(layout, b"\0\1", 0, 2)
