"""The config snapshots of Flink up to 1.7, and of serializers that stayed on that interface until 1.16.

They are turned into the snapshots of today, with today's class names, so that no other module needs to know them. Read are
those whose payload is a name, or a "resilient" list of snapshots; their Java-serialized serializers are skipped by
their length.

Flink's classes: ``TypeSerializerConfigSnapshot`` and its subclasses, ``BackwardsCompatibleSerializerSnapshot``.
"""

from __future__ import annotations

from typing import Any

from serializers.registry import KRYO_SNAPSHOT, PayloadReader, SerializerSnapshot, find_serializer, is_fixed_length
from serializers.scala import PACKAGES as SCALA_PACKAGES
from serializers.scalars import BASE
from serializers.snapshots import CONFIG_SNAPSHOTS, SnapshotReader, java_serialized_serializer, read_snapshot_proxy
from serializers.ttl import TTL_SNAPSHOTS
from serializers.tuples import NULLABLE_SNAPSHOT, RUNTIME
from serializers.windows import STREAMING, TIMER_SNAPSHOT
from stateextract.errors import FormatError
from stateextract.files.javastream import JavaArray, JavaEnum, parse_java_stream
from stateextract.files.reader import Reader

_TYPEUTILS = "org.apache.flink.api.common.typeutils."


def _parameterless(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``ParameterlessTypeSerializerConfig``: the class name of a serializer without parameters."""
    serializer = reader.utf("a serializer's class name")
    simple = serializer.rsplit(".", 1)[-1].rsplit("$", 1)[-1]
    for candidate in (f"{serializer}${simple}Snapshot", f"{serializer}Snapshot"):
        if find_serializer(candidate) is not None:
            return SerializerSnapshot(candidate, 3)
    return SerializerSnapshot(serializer, version, details={"unknown": "config snapshot"})


def resilient(reader: Reader) -> tuple[SerializerSnapshot, ...]:
    """``TypeSerializerSerializationUtil``'s list of serializers with their snapshots, found by offsets in a buffer."""
    count = reader.count("serializers with snapshots", least=8)
    offsets = [(reader.i32("an offset"), reader.i32("an offset")) for _ in range(count)]
    start = reader.pos + 4
    reader.bytes(reader.i32("the length of serializers with snapshots"), "serializers with snapshots")
    depth = reader.depth if isinstance(reader, SnapshotReader) else 0
    found = []
    for _, snapshot in offsets:
        if not 0 <= snapshot <= reader.pos - start:
            raise FormatError(f"a snapshot's offset {snapshot} is outside of its buffer", offset=reader.base + start)
        found.append(
            read_snapshot_proxy(SnapshotReader(reader.data, start + snapshot, reader.pos, reader.base, depth=depth))
        )
    return tuple(found)


def _composite(today: str, details: dict[str, Any] | None = None) -> PayloadReader:
    def payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
        return SerializerSnapshot(today, 3, 1, details or {}, resilient(reader))

    return payload


def _generic(today: str) -> PayloadReader:
    def payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
        return SerializerSnapshot(today, 2, details={"class": reader.utf("the class of the values")})

    return payload


def _tuple(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    nested = resilient(reader)
    parse_java_stream(reader)  # the tuple's class
    return SerializerSnapshot(RUNTIME + "TupleSerializerSnapshot", 3, 2, nested=nested)


def _enum(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    class_name = reader.utf("an enum class")
    if version < 2:
        constants = _constants(reader)
    else:
        constants = tuple(reader.utf("an enum constant") for _ in range(reader.count("enum constants", least=2)))
    return SerializerSnapshot(
        BASE + "EnumSerializer$EnumSerializerSnapshot", 3, details={"class": class_name, "constants": constants}
    )


def _constants(reader: Reader) -> tuple[str, ...]:
    """A Java array of the enum's constants, in ordinal order."""
    start = reader.offset
    array = parse_java_stream(reader)
    constants = [] if not isinstance(array, JavaArray) or isinstance(array.elements, bytes) else array.elements
    names = tuple(constant.name for constant in constants if isinstance(constant, JavaEnum))
    if not names or len(names) != len(constants):
        raise FormatError("the constants of an enum are not an array of enum constants", offset=start)
    return names


def _nullable(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """Whether nulls are padded is in the Java-serialized serializer; values without a fixed length never are."""
    nested = resilient(reader)
    if not nested or is_fixed_length(nested[0]):
        return SerializerSnapshot(name, version, details={"unknown": "config snapshot"}, nested=nested)
    return SerializerSnapshot(NULLABLE_SNAPSHOT, 3, 2, {"padding": 0}, nested)


def _timed(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``CompositeSerializer``: the one that Flink had was that of values with a time to live."""
    nested = resilient(reader)
    if len(nested) != 2 or nested[0].class_name != f"{BASE}LongSerializer$LongSerializerSnapshot":
        return SerializerSnapshot(name, version, details={"unknown": "config snapshot"}, nested=nested)
    return SerializerSnapshot(TTL_SNAPSHOTS[0], 3, 2, nested=nested)


def _kryo(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    class_name = reader.utf("Kryo's type class")
    registrations = []
    for _ in range(reader.count("Kryo registrations", least=8)):
        entry, start = reader.utf("a Kryo registration's name"), reader.pos
        reader.utf("a registered class")
        at = reader.offset
        kind = reader.i32("a kind of Kryo registration")
        if kind == 1:
            reader.utf("a Kryo serializer's class")
        elif kind == 2:
            parse_java_stream(reader)
        elif kind != 0:
            raise FormatError(f"unknown kind {kind} of a Kryo registration", expected="0 to 2", offset=at)
        registrations.append((entry, bytes(reader.data[start : reader.pos])))
    return SerializerSnapshot(KRYO_SNAPSHOT, 2, details={"class": class_name, "registrations": tuple(registrations)})


def _pojo(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``PojoSerializerConfigSnapshot``: three tables of offsets, then the buffer that all of them point into."""
    class_name = reader.utf("a POJO's class")
    tables = [
        [(reader.i32("an offset"), reader.i32("an offset")) for _ in range(reader.count(what, least=8))]
        for what in ("POJO fields", "registered subclasses", "other subclasses")
    ]
    length = reader.i32("the length of a POJO's serializers")
    buffer = Reader(reader.bytes(length, "a POJO's serializers"))
    names: list[tuple[str, ...]] = []
    nested: list[SerializerSnapshot] = []
    for table in tables:
        row = []
        for _ in table:
            row.append(buffer.utf("a name"))
            java_serialized_serializer(buffer)
            nested.append(read_snapshot_proxy(buffer))
        names.append(tuple(row))
    return SerializerSnapshot(
        RUNTIME + "PojoSerializerSnapshot",
        2,
        details={"class": class_name, "fields": names[0], "registered": names[1], "other": names[2]},
        nested=tuple(nested),
    )


CONFIG_SNAPSHOTS.update(
    {
        _TYPEUTILS + "ParameterlessTypeSerializerConfig": _parameterless,
        BASE + "CollectionSerializerConfigSnapshot": _composite(BASE + "ListSerializerSnapshot"),
        BASE + "MapSerializerConfigSnapshot": _composite(BASE + "MapSerializerSnapshot"),
        RUNTIME + "EitherSerializerConfigSnapshot": _composite(RUNTIME + "JavaEitherSerializerSnapshot"),
        RUNTIME + "RowSerializer$RowSerializerConfigSnapshot": _composite(
            RUNTIME + "RowSerializer$RowSerializerSnapshot", {"row_kind": False}
        ),
        RUNTIME + "TupleSerializerConfigSnapshot": _tuple,
        RUNTIME + "NullableSerializer$NullableSerializerConfigSnapshot": _nullable,
        _TYPEUTILS + "CompositeSerializer$ConfigSnapshot": _timed,
        **{
            f"{SCALA_PACKAGES[0]}{old}ConfigSnapshot": _composite(f"{SCALA_PACKAGES[0]}{old}Snapshot")
            for old in ("ScalaOptionSerializer", "ScalaTrySerializer", "TraversableSerializer")
        },
        RUNTIME + "ValueSerializer$ValueSerializerConfigSnapshot": _generic(
            RUNTIME + "ValueSerializer$ValueSerializerSnapshot"
        ),
        RUNTIME + "CopyableValueSerializer$CopyableValueSerializerConfigSnapshot": _generic(
            RUNTIME + "CopyableValueSerializer$CopyableValueSerializerSnapshot"
        ),
        BASE + "EnumSerializer$EnumSerializerConfigSnapshot": _enum,
        RUNTIME + "kryo.KryoSerializer$KryoSerializerConfigSnapshot": _kryo,
        RUNTIME + "PojoSerializer$PojoSerializerConfigSnapshot": _pojo,
        STREAMING + "api.operators.TimerSerializer$TimerSerializerConfigSnapshot": _composite(TIMER_SNAPSHOT),
        STREAMING + "api.operators.co.IntervalJoinOperator$BufferSerializerConfigSnapshot": _composite(
            STREAMING + "api.operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot"
        ),
        STREAMING + "api.datastream.CoGroupedStreams$UnionSerializerConfigSnapshot": _composite(
            STREAMING + "api.datastream.CoGroupedStreams$UnionSerializerSnapshot"
        ),
        STREAMING + "runtime.streamrecord.StreamElementSerializer$StreamElementSerializerConfigSnapshot": _composite(
            STREAMING + "runtime.streamrecord.StreamElementSerializer$StreamElementSerializerSnapshot"
        ),
    }
)
