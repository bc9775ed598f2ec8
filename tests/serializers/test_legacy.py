"""Config snapshots of Flink up to 1.7: read as what they are called today."""

from __future__ import annotations

import struct

import pytest

from serializers import SerializerSnapshot, describe, read_snapshot_proxy
from serializers.pojo import POJO_SNAPSHOT
from serializers.scalars import BASE
from serializers.snapshots import CONFIG_SNAPSHOTS
from serializers.tuples import RUNTIME
from serializers.windows import STREAMING
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

PARAMETERLESS = "org.apache.flink.api.common.typeutils.ParameterlessTypeSerializerConfig"
JAVA = bytes.fromhex("aced000574000178")


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def old(name: str, version: int, payload: bytes) -> bytes:
    """In a proxy of version 1, as 1.3 to 1.6 wrote it."""
    return i32(1) + utf(name) + i32(version) + payload


def adapted(name: str, version: int, payload: bytes) -> bytes:
    """In a proxy of version 2, as serializers on the old interface wrote it until 1.16."""
    return i32(2) + utf(name) + i32(0x7A53C4F0, 1, len(JAVA)) + JAVA + i32(version) + payload


def parameterless(name: str) -> bytes:
    return old(PARAMETERLESS, 1, utf(f"{BASE}{name}Serializer"))


def resilient(*snapshots: bytes) -> bytes:
    """Serializers and snapshots in one buffer, with their offsets in front."""
    offsets, buffer = b"", b""
    for snapshot in snapshots:
        serializer = i32(1, len(JAVA)) + JAVA
        offsets += i32(len(buffer), len(buffer) + len(serializer))
        buffer += serializer + snapshot
    return i32(len(snapshots)) + offsets + i32(len(buffer)) + buffer


INT, STRING = parameterless("Int"), parameterless("String")

SCALA = "org.apache.flink.api.scala.typeutils."


def java_enum_class(name: str, above: bytes) -> bytes:
    """The class descriptor of an enum: no fields, no annotations."""
    return b"\x72" + utf(name) + bytes(8) + b"\x12" + b"\0\0" + b"\x78" + above


# new E[] {A, B}: the array's class, a constant with its classes, one that refers to its class.
ENUMS = (
    bytes.fromhex("aced000575")
    + b"\x72" + utf("[Lx.E;") + bytes(8) + b"\x02" + b"\0\0" + b"\x78\x70"
    + i32(2)
    + b"\x7e" + java_enum_class("x.E", java_enum_class("java.lang.Enum", b"\x70")) + b"\x74" + utf("A")
    + b"\x7e" + b"\x71" + i32(0x7E0002) + b"\x74" + utf("B")
)  # fmt: skip

CASES = {
    "list": (BASE + "CollectionSerializerConfigSnapshot", 1, resilient(INT), "list<item: int32>"),
    "map": (BASE + "MapSerializerConfigSnapshot", 1, resilient(STRING, INT), "map<string, int32>"),
    "either": (
        RUNTIME + "EitherSerializerConfigSnapshot",
        1,
        resilient(INT, STRING),
        "struct<left: int32, right: string>",
    ),
    "row": (
        RUNTIME + "RowSerializer$RowSerializerConfigSnapshot",
        1,
        resilient(INT, STRING),
        "struct<f0: int32, f1: string>",
    ),
    "tuple": (
        RUNTIME + "TupleSerializerConfigSnapshot",
        1,
        resilient(STRING, INT) + JAVA,
        "struct<f0: string, f1: int32>",
    ),
    "enum": (
        BASE + "EnumSerializer$EnumSerializerConfigSnapshot",
        2,
        utf("x.E") + i32(2) + utf("A") + utf("B"),
        "string",
    ),
    "value": (
        RUNTIME + "ValueSerializer$ValueSerializerConfigSnapshot",
        1,
        utf("org.apache.flink.types.IntValue"),
        "int32",
    ),
    "kryo": (
        RUNTIME + "kryo.KryoSerializer$KryoSerializerConfigSnapshot",
        1,
        utf("x.T") + i32(1) + utf("x.T") + utf("x.T") + i32(0),
        "binary",
    ),
    "kryo with a serializer's class and with a serializer": (
        RUNTIME + "kryo.KryoSerializer$KryoSerializerConfigSnapshot",
        1,
        utf("x.T") + i32(2) + utf("a") + utf("x.A") + i32(1) + utf("x.S") + utf("b") + utf("x.B") + i32(2) + JAVA,
        "binary",
    ),
    "pojo": (
        RUNTIME + "PojoSerializer$PojoSerializerConfigSnapshot",
        1,
        utf("x.P")
        + i32(1, 0, 0, 0, 0)
        + i32(len(utf("a") + i32(1, len(JAVA)) + JAVA + INT))
        + utf("a")
        + i32(1, len(JAVA))
        + JAVA
        + INT,
        "struct<a: int32>",
    ),
    "enum of version 1": (
        BASE + "EnumSerializer$EnumSerializerConfigSnapshot",
        1,
        utf("x.E") + ENUMS,
        "string",
    ),
    "nullable": (RUNTIME + "NullableSerializer$NullableSerializerConfigSnapshot", 1, resilient(STRING), "string"),
    "time to live": (
        "org.apache.flink.api.common.typeutils.CompositeSerializer$ConfigSnapshot",
        0,
        resilient(parameterless("Long"), STRING),
        "struct<last_access: timestamp[us, tz=UTC], value: string>",
    ),
    "option": (SCALA + "ScalaOptionSerializerConfigSnapshot", 1, resilient(STRING), "string"),
    "try": (
        SCALA + "ScalaTrySerializerConfigSnapshot",
        1,
        resilient(STRING, INT),
        "struct<value: string, failure: int32>",
    ),
    "traversable": (SCALA + "TraversableSerializerConfigSnapshot", 1, resilient(STRING), "list<item: string>"),
    "copyable value": (
        RUNTIME + "CopyableValueSerializer$CopyableValueSerializerConfigSnapshot",
        1,
        utf("org.apache.flink.types.LongValue"),
        "int64",
    ),
    "timer": (
        STREAMING + "api.operators.TimerSerializer$TimerSerializerConfigSnapshot",
        1,
        resilient(STRING, INT),
        "struct<timestamp: int64, key: string, namespace: int32>",
    ),
    "interval join's buffer": (
        STREAMING + "api.operators.co.IntervalJoinOperator$BufferSerializerConfigSnapshot",
        1,
        resilient(STRING),
        "struct<joined: bool, element: string>",
    ),
    "co-group's union": (
        STREAMING + "api.datastream.CoGroupedStreams$UnionSerializerConfigSnapshot",
        1,
        resilient(STRING, INT),
        "struct<one: string, two: int32>",
    ),
    "stream element": (
        STREAMING + "runtime.streamrecord.StreamElementSerializer$StreamElementSerializerConfigSnapshot",
        1,
        resilient(STRING),
        "struct<timestamp: int64, record: string, watermark: int64, latency_marked_time: int64, latency_operator: binary, "
        "latency_subtask: int32, watermark_status: int32, backlog: bool, subpartition: int32>",
    ),
    "simple": (PARAMETERLESS, 1, utf(BASE + "LongSerializer"), "int64"),
}


def test_there_is_a_case_of_every_class() -> None:
    assert {name for name, *_ in CASES.values()} == set(CONFIG_SNAPSHOTS)


@pytest.mark.parametrize("wrapped", [old, adapted], ids=["1.3 to 1.6", "until 1.16"])
@pytest.mark.parametrize("case", CASES)
def test_config_snapshot(case: str, wrapped) -> None:  # type: ignore[no-untyped-def]
    name, version, payload, type_ = CASES[case]
    reader = Reader(wrapped(name, version, payload) + b"next")
    snapshot = read_snapshot_proxy(reader)
    assert bytes(reader.bytes(reader.remaining)) == b"next"
    assert str(describe(snapshot).arrow_type) == type_


def test_a_registration_of_kryo_of_an_unknown_kind() -> None:
    payload = utf("x.T") + i32(1) + utf("a") + utf("x.A") + i32(3)
    data = old(RUNTIME + "kryo.KryoSerializer$KryoSerializerConfigSnapshot", 1, payload)
    with pytest.raises(FormatError, match="unknown kind 3 of a Kryo registration") as caught:
        read_snapshot_proxy(Reader(data))
    assert (caught.value.expected, caught.value.offset) == ("0 to 2", len(data) - 4)


def test_they_become_the_snapshots_of_today() -> None:
    name, version, payload, _ = CASES["pojo"]
    snapshot = read_snapshot_proxy(Reader(old(name, version, payload)))
    assert snapshot == SerializerSnapshot(
        POJO_SNAPSHOT,
        2,
        details={"class": "x.P", "fields": ("a",), "registered": (), "other": ()},
        nested=(SerializerSnapshot(f"{BASE}IntSerializer$IntSerializerSnapshot", 3),),
    )


def test_a_serializer_without_parameters_that_nobody_knows() -> None:
    snapshot = read_snapshot_proxy(Reader(old(PARAMETERLESS, 1, utf("com.acme.XSerializer"))))
    assert (snapshot.class_name, snapshot.is_unknown) == ("com.acme.XSerializer", True)


def test_a_modern_class_behind_the_adapter() -> None:
    """A class that was converted in place."""
    name = f"{BASE}IntSerializer$IntSerializerSnapshot"
    assert read_snapshot_proxy(Reader(adapted(name, 3, b""))) == SerializerSnapshot(name, 3)


def test_enum_constants_of_version_1() -> None:
    name, version, payload, _ = CASES["enum of version 1"]
    assert read_snapshot_proxy(Reader(old(name, version, payload))).details == {"class": "x.E", "constants": ("A", "B")}
    with pytest.raises(FormatError, match="not an array of enum constants"):
        read_snapshot_proxy(Reader(old(name, version, utf("x.E") + JAVA)))


def test_what_the_config_snapshot_does_not_tell() -> None:
    """Padding of nulls in front of an int, and a composite of another serializer."""
    for name, version, payload in (
        (RUNTIME + "NullableSerializer$NullableSerializerConfigSnapshot", 1, resilient(INT)),
        ("org.apache.flink.api.common.typeutils.CompositeSerializer$ConfigSnapshot", 0, resilient(INT, STRING)),
    ):
        assert read_snapshot_proxy(Reader(old(name, version, payload))).is_unknown


def test_an_offset_outside_of_the_buffer() -> None:
    bad = i32(1, 0, 99) + i32(4) + b"abcd"
    with pytest.raises(FormatError, match="a snapshot's offset 99 is outside of its buffer"):
        read_snapshot_proxy(Reader(old(BASE + "CollectionSerializerConfigSnapshot", 1, bad)))
