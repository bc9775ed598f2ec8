"""SQL's logical types: read out of Java object streams, and turned into layouts.

Snapshots of SQL's serializers hold the types of their fields as Java objects of
``org.apache.flink.table.types.logical.*``. ``read_logical_type`` takes one of them apart as plain data; no class is
loaded. Two forms of a value are described then: ``in_row``, in a slot of a binary row, array or map, and ``alone``, as
the serializer of that type writes it (``InternalSerializers`` says which one that is).

=====================================================  =====================================================
SQL type                                               column
=====================================================  =====================================================
CHAR, VARCHAR                                          string
BOOLEAN, TINYINT … BIGINT, FLOAT, DOUBLE               bool, int8 … int64, float32, float64
DECIMAL(p, s)                                          decimal128(p, s)
DATE                                                   date32
TIME                                                   string, HH:MM:SS[.fff]
TIMESTAMP(p)                                           timestamp[us]
TIMESTAMP_LTZ(p)                                       timestamp[us, UTC]
INTERVAL YEAR TO MONTH, INTERVAL DAY TO SECOND         int32 (months), int64 (milliseconds)
BINARY, VARBINARY, BITMAP, RAW                         binary (RAW: the inner value where it can be read)
ARRAY                                                  list
MAP, MULTISET                                          map; of a multiset the numbers of occurrences, int32
ROW, structured types                                  struct
VARIANT                                                struct<metadata, value>
=====================================================  =====================================================

May import layouts, the registry and the parser of Java streams; knows no snapshot class and no files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import pyarrow as pa

from serializers.names import Names, positional
from serializers.registry import SerializerSnapshot, describe
from serializers.sql_type import LogicalType
from stateextract.columnar.layout import (
    Bool,
    Bytes,
    Field,
    Layout,
    Logical,
    MaskedStruct,
    Number,
    Python,
    Text,
    Undecodable,
    struct,
    walk,
)
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow, Framed, Rest, SlotTimestamp
from stateextract.files.javastream import JavaEnum, JavaObject, JavaValue, java_elements, parse_java_stream
from stateextract.files.reader import Reader

COMPACT_DIGITS = 18
"""Decimals of so many digits are kept in eight bytes."""
COMPACT_PRECISION = 3
"""Timestamps of so many digits are kept as milliseconds."""
_MAX_DEPTH = 60
_MAX_TYPES = 100_000
_MICROS = 6


# ---- out of Java's objects


@lru_cache(maxsize=1 << 12)
def read_logical_type(stream: bytes) -> LogicalType:
    """The type in a Java object stream; for anything else a type without root, named after the object's class.

    :raises FormatError: where the bytes are no Java object stream.
    """
    value = parse_java_stream(Reader(stream))
    try:
        return _Types().of(value)
    except _NoType:
        return LogicalType("", value.class_name if isinstance(value, JavaObject) else type(value).__name__)


class _NoType(Exception):
    """A Java object is not a type of SQL."""


class _Types:
    """Takes the objects of one stream apart. They may refer to one another, so their number is bounded here too."""

    def __init__(self) -> None:
        self.left = _MAX_TYPES

    def of(self, value: JavaValue, depth: int = 0) -> LogicalType:
        """The type that a Java object is; a ``DataType`` is the one that it wraps."""
        self.left -= 1
        if not isinstance(value, JavaObject) or depth > _MAX_DEPTH or self.left < 0:
            raise _NoType
        wrapped = value.get("logicalType")
        if isinstance(wrapped, JavaObject):
            return self.of(wrapped, depth + 1)
        root = value.get("typeRoot")
        children, names = self.parts(value, depth + 1)
        return LogicalType(
            root.name if isinstance(root, JavaEnum) else "",
            value.class_name,
            value.get("isNullable") is not False,
            _integer(value.get("precision")),
            _integer(value.get("scale")),
            children,
            names,
        )

    def parts(self, value: JavaObject, depth: int) -> tuple[tuple[LogicalType, ...], tuple[str, ...]]:
        """What a type is made of, by the fields of its class."""
        for single in ("elementType", "sourceType"):
            inner = value.get(single)
            if isinstance(inner, JavaObject):
                return (self.of(inner, depth),), ()
        if isinstance(value.get("keyType"), JavaObject):
            return tuple(self.of(value.get(name), depth) for name in ("keyType", "valueType")), ()
        children: list[LogicalType] = []
        names: list[str] = []
        above = value.get("superType")
        if isinstance(above, JavaObject):
            parent = self.of(above, depth)
            children.extend(parent.children)
            names.extend(parent.names)
        for listed in ("fields", "attributes"):
            for part in java_elements(value.get(listed)) or ():
                name = part.get("name") if isinstance(part, JavaObject) else None
                if not isinstance(part, JavaObject) or not isinstance(name, str):
                    raise _NoType
                children.append(self.of(part.get("type"), depth))
                names.append(name)
        return tuple(children), tuple(names)


def _integer(value: JavaValue) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


# ---- fields of rows


def row_fields(
    types: Sequence[LogicalType],
    snapshots: Sequence[SerializerSnapshot] = (),
    names: Sequence[str] = (),
    kind: bool = False,
) -> BinaryRow:
    """A binary row.

    :param snapshots: those of the fields' serializers: RAW fields need them.
    :param names: of the fields; ``f0``, ``f1``, … where there are none.
    :param kind: the row's kind becomes a column.
    """
    known: Sequence[SerializerSnapshot | None] = snapshots if len(snapshots) == len(types) else [None] * len(types)
    layouts = [in_row(type_, snapshot) for type_, snapshot in zip(types, known, strict=True)]
    return BinaryRow(named(layouts, names, kind), kind)


def named(layouts: Sequence[Layout], names: Sequence[str], kind: bool) -> tuple[Field, ...]:
    """Fields with their names made distinct; a name too few or too many: all are positional."""
    if len(names) != len(layouts):
        return positional(layouts)
    free = Names([MaskedStruct.KIND_FIELD] if kind else [])
    return tuple(Field(free.take(name), layout) for name, layout in zip(names, layouts, strict=True))


def in_row(type_: LogicalType, snapshot: SerializerSnapshot | None = None) -> Layout:
    """A value in a slot.

    :param snapshot: of the serializer of the values, where there is one.
    """
    describer = _IN_ROW.get(type_.root)
    return _unknown(type_) if describer is None else describer(type_, snapshot)


def alone(type_: LogicalType, snapshot: SerializerSnapshot) -> Layout:
    """A value as its own serializer writes it: what the snapshot says, as exactly as the type knows it."""
    match type_.root:
        case "DATE" | "TIME_WITHOUT_TIME_ZONE":
            return _conversion(type_, Number(pa.int32()))
        case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            return timestamp_alone(type_.precision, _zone(type_))
        case "ROW" | "STRUCTURED_TYPE":
            return row_fields(type_.children, snapshot.nested, type_.names, kind=True)
        case "ARRAY" | "MAP" | "MULTISET" | "VARIANT" if type_.root != "VARIANT":
            return in_row(type_)
        case "DISTINCT_TYPE" if type_.children:
            return alone(type_.children[0], snapshot)
    return describe(snapshot)


def _unknown(type_: LogicalType) -> Layout:
    return Undecodable(type_.class_name, "values of this SQL type have no binary form")


# ---- one type after the other

_NUMBERS = {
    "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(),
    "INTERVAL_YEAR_MONTH": pa.int32(), "INTERVAL_DAY_TIME": pa.int64(),
}  # fmt: skip


def decimal(precision: int, scale: int, compact: Number) -> Layout:
    """A decimal; ``compact`` is how its eight bytes are read where it has no more digits."""
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        return Undecodable("DecimalType", f"no decimal has {precision} digits, {scale} of them after the point")
    inner: Layout = compact if precision <= COMPACT_DIGITS else Bytes()
    return Logical(inner, "decimal", pa.decimal128(precision, scale))


def _decimal(type_: LogicalType, _: SerializerSnapshot | None) -> Layout:
    if type_.class_name.endswith(".LegacyTypeInformationType"):
        return decimal(38, 18, Number(pa.int64(), little=True))
    return decimal(type_.precision, type_.scale, Number(pa.int64(), little=True))


def _conversion(type_: LogicalType, days_or_ms: Number) -> Layout:
    if type_.root == "DATE":
        return Logical(days_or_ms, "epoch_day", pa.date32())
    return Logical(days_or_ms, "day_ms", pa.string())


def _zone(type_: LogicalType) -> str | None:
    return "UTC" if type_.root == "TIMESTAMP_WITH_LOCAL_TIME_ZONE" else None


def timestamp(precision: int, zone: str | None, compact: Layout, wide: Layout) -> Layout:
    """A timestamp: ``compact`` as milliseconds, ``wide`` with the nanoseconds after them."""
    type_ = pa.timestamp("us", zone)
    if precision <= COMPACT_PRECISION:
        return Logical(compact, "epoch_ms", type_)
    return Logical(wide, "ms_nanos" if precision > _MICROS else "ms_micros", type_)


def timestamp_alone(precision: int, zone: str | None) -> Layout:
    """What ``TimestampDataSerializer`` writes."""
    wide = struct(ms=Number(pa.int64()), nanos=Number(pa.int32()))
    return timestamp(precision, zone, Number(pa.int64()), wide)


def _timestamp(type_: LogicalType, _: SerializerSnapshot | None) -> Layout:
    return timestamp(type_.precision, _zone(type_), Number(pa.int64(), little=True), SlotTimestamp())


def _of_children(type_: LogicalType, snapshot: SerializerSnapshot | None) -> Layout:
    match type_.root, type_.children:
        case "ARRAY", (element, *_):
            return BinaryArray(in_row(element))
        case "MAP", (key, value):
            return BinaryMap(in_row(key), in_row(value))
        case "MULTISET", (element, *_):
            return BinaryMap(in_row(element), Number(pa.int32(), little=True))
        case "DISTINCT_TYPE", (source, *_):
            return in_row(source, snapshot)
    return _unknown(type_)


def _row(type_: LogicalType, snapshot: SerializerSnapshot | None) -> Layout:
    return row_fields(type_.children, snapshot.nested if snapshot else (), type_.names)


def _raw(_: LogicalType, snapshot: SerializerSnapshot | None) -> Layout:
    return Bytes() if snapshot is None or len(snapshot.nested) != 1 else raw_value(snapshot.nested[0])


def raw_value(serializer: SerializerSnapshot) -> Layout:
    """Bytes of any serializer, with their length: the value, or the bytes where not all of it can be read."""
    inner = describe(serializer)
    readable = not any(isinstance(node, Python | Undecodable) for node in walk(inner))
    return Framed(inner) if readable and inner.wire_type is not None else Bytes()


_VARIANT = Framed(struct(metadata=Bytes(), value=Rest()))

_IN_ROW: dict[str, Callable[[LogicalType, SerializerSnapshot | None], Layout]] = {
    **dict.fromkeys(("CHAR", "VARCHAR"), lambda *_: Text("utf8")),
    "BOOLEAN": lambda *_: Bool(),
    **dict.fromkeys(("BINARY", "VARBINARY", "BITMAP"), lambda *_: Bytes()),
    **{root: lambda type_, _: Number(_NUMBERS[type_.root], little=True) for root in _NUMBERS},
    "DECIMAL": _decimal,
    **dict.fromkeys(
        ("DATE", "TIME_WITHOUT_TIME_ZONE"), lambda type_, _: _conversion(type_, Number(pa.int32(), little=True))
    ),
    **dict.fromkeys(("TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE"), _timestamp),
    **dict.fromkeys(("ARRAY", "MAP", "MULTISET", "DISTINCT_TYPE"), _of_children),
    **dict.fromkeys(("ROW", "STRUCTURED_TYPE"), _row),
    "RAW": _raw,
    "VARIANT": lambda *_: _VARIANT,
}
