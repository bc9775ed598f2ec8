"""Avro: records, and whatever else a schema describes, specific, generic and reflect alike.

Flink's classes: ``org.apache.flink.formats.avro.typeutils.AvroSerializer``, ``…AvroSerializerSnapshot``, and
``org.apache.flink.formats.avro.utils.{DataOutputEncoder,DataInputDecoder}``, whose bytes are *not* Avro's binary format:
numbers have a fixed width, the index of an enum or a union is an ``i32``, strings and bytes have an ``i32`` length, and
only the blocks of arrays and maps are counted by (plain) varints. The snapshot holds the schema that the values were
written by, so the class of the values makes no difference.

=============================  =============================================================================
Avro                           column
=============================  =============================================================================
record                         struct
``[null, X]``                  X, nullable
other unions                   struct with a field for each branch but null, at most one of them not null
enum                           string
fixed, bytes                   binary
array, map                     list, map
a type inside itself           text: JSON (``avrojson.py``)
=============================  =============================================================================
"""

from __future__ import annotations

import pyarrow as pa

from serializers.avrojson import json_leaf
from serializers.avroschema import AvroType, parse_schema
from serializers.datetime import LOCAL, UTC
from serializers.names import Names
from serializers.registry import SerializerSnapshot, register
from serializers.snapshots import check_version, flink_string
from stateextract.columnar.layout import (
    Bool,
    Bytes,
    Case,
    Field,
    Layout,
    List,
    Logical,
    Map,
    Null,
    Nullable,
    Number,
    Struct,
    Switch,
    Text,
)
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

_AVRO = "org.apache.flink.formats.avro.typeutils."
AVRO_SNAPSHOTS = (_AVRO + "AvroSerializerSnapshot", _AVRO + "AvroSerializer$AvroSchemaSerializerConfigSnapshot")

MAX_NODES = 20_000
MAX_NESTING = 40
_TAGS = 256

_I32, _I64 = Number(pa.int32()), Number(pa.int64())
_SIMPLE: dict[str, Layout] = {
    "null": Null(0),
    "boolean": Bool(),
    "int": _I32,
    "long": _I64,
    "float": Number(pa.float32()),
    "double": Number(pa.float64()),
    "string": Text("utf8"),
    "bytes": Bytes(),
}
_LOGICAL: dict[tuple[str, str], Layout] = {
    ("int", "date"): Logical(_I32, "epoch_day", pa.date32()),
    ("int", "time-millis"): Logical(_I32, "day_ms", pa.string()),
    ("long", "time-micros"): Logical(_I64, "day_us", pa.string()),
    ("long", "timestamp-millis"): Logical(_I64, "epoch_ms", UTC),
    ("long", "timestamp-micros"): Logical(_I64, "epoch_us", UTC),
    ("long", "timestamp-nanos"): Logical(_I64, "epoch_ns", UTC),
    ("long", "local-timestamp-millis"): Logical(_I64, "epoch_ms", LOCAL),
    ("long", "local-timestamp-micros"): Logical(_I64, "epoch_us", LOCAL),
    ("long", "local-timestamp-nanos"): Logical(_I64, "epoch_ns", LOCAL),
    ("bytes", "big-decimal"): Logical(Bytes(), "big_decimal_bytes", pa.string()),
}
_PART = Logical(Number(pa.uint32(), little=True), "widened", pa.int64())
_DURATION = Struct((Field("months", _PART), Field("days", _PART), Field("milliseconds", _PART)))


def _payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """The class of the values and the schema; version 3 has Flink's strings, so that long schemas fit."""
    check_version(version, (1, 2, 3), name, reader)
    text = flink_string if version == 3 else Reader.utf
    class_name = text(reader) if version > 1 else None
    return SerializerSnapshot(name, version, details={"class": class_name, "schema": text(reader)})


@register(AVRO_SNAPSHOTS, payload=_payload)
def _avro(snapshot: SerializerSnapshot) -> Layout:
    schema = snapshot.details["schema"]
    if schema is None:
        raise FormatError("an Avro serializer's snapshot has no schema")
    return schema_layout(parse_schema(schema))


def schema_layout(type_: AvroType) -> Layout:
    """The layout of values that Flink wrote by a schema."""
    return _Layouts().of(type_)


class _Layouts:
    def __init__(self) -> None:
        self.open: list[AvroType] = []
        self.nodes = 0

    def of(self, type_: AvroType) -> Layout:
        """A layout; JSON for a type that contains itself, and where a schema unfolds beyond measure."""
        self.nodes += 1
        if type_ in self.open or len(self.open) > MAX_NESTING or self.nodes > MAX_NODES:
            return json_leaf(type_)
        self.open.append(type_)
        try:
            return self.whole(type_)
        finally:
            self.open.pop()

    def whole(self, type_: AvroType) -> Layout:
        match type_.kind:
            case "record":
                names = Names()
                return Struct(tuple(Field(names.take(name), self.of(inner)) for name, inner in type_.fields))
            case "enum":
                return Logical(_I32, "labels", pa.string(), type_.symbols)
            case "fixed":
                return _decimal(type_, Bytes(type_.size)) or _fixed(type_)
            case "array":
                return List(self.of(type_.branches[0]), blocks=True)
            case "map":
                return Map(Text("utf8"), self.of(type_.branches[0]), blocks=True)
            case "union":
                return self.union(type_)
            case "bytes" if type_.logical == "decimal":
                return _decimal(type_, Bytes()) or Bytes()
        return _LOGICAL.get((type_.kind, type_.logical), _SIMPLE[type_.kind])

    def union(self, type_: AvroType) -> Layout:
        branches = type_.branches
        if len(branches) > _TAGS:
            return json_leaf(type_)
        kinds = [branch.kind for branch in branches]
        if len(branches) == 2 and kinds.count("null") == 1:
            null = kinds.index("null")
            inner = self.of(branches[1 - null])
            # Null may be the first or the second branch. A null as the last of two has any index but 0.
            return Nullable(inner, null_if=null == 1, width=4)
        names = Names()
        cases = [
            Case(tag, () if branch.kind == "null" else (Field(names.take(branch.simple_name), self.of(branch)),))
            for tag, branch in enumerate(branches)
        ]
        return Switch(tuple(cases), width=4)


def _decimal(type_: AvroType, inner: Bytes) -> Layout | None:
    precision, scale = type_.precision, type_.scale
    if type_.logical != "decimal" or precision < 1 or not 0 <= scale <= precision:
        return None  # Avro takes no notice of a logical type that cannot be
    if precision > 38:
        return Logical(inner, "scaled", pa.string(), (str(scale),))
    # A fixed of more than 16 bytes is filled up with the sign.
    if inner.size is not None and inner.size > 16:
        return Logical(inner, "scaled", pa.decimal128(precision, scale), (str(scale),))
    return Logical(inner, "decimal", pa.decimal128(precision, scale))


def _fixed(type_: AvroType) -> Layout:
    if type_.logical == "duration" and type_.size == 12:
        return _DURATION
    if type_.logical == "uuid" and type_.size == 16:
        return Logical(Bytes(16), "uuid_bytes", pa.string())
    return Bytes(type_.size)
