"""State of SQL and of the Table API: rows, their parts, and what aggregates and joins keep.

Flink's classes: ``org.apache.flink.table.runtime.typeutils.*``, ``…table.runtime.operators.window.*Window``,
``…operators.sink.SortedLongSerializer``, ``…table.runtime.sequencedmultisetstate.linked.*``.

The types of a row's fields are in its snapshot as Java objects (``logical_types.py``); the names of the fields on top
do so only in snapshots of version 4, those of nested rows always. Every row that a ``RowDataSerializer`` writes has a
kind, which becomes the column ``row_kind``; nested rows have none, nor has the key of a state (``state/row_layout.py``).
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.containers import map_layout
from serializers.datetime import EPOCH_MS
from serializers.logical_types import (
    alone,
    decimal,
    in_row,
    raw_value,
    read_logical_type,
    row_fields,
    timestamp_alone,
)
from serializers.registry import PayloadReader, SerializerSnapshot, describe, inner, nested_struct, register
from serializers.snapshots import check_version, composite, nested_snapshots, read_snapshot
from stateextract.columnar.layout import Bytes, Layout, List, Null, Number, Text, struct
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap
from stateextract.errors import FormatError
from stateextract.files.javastream import parse_java_stream
from stateextract.files.reader import Reader

TABLE = "org.apache.flink.table.runtime."
TYPEUTILS = TABLE + "typeutils."
ROW_DATA_SNAPSHOT = TYPEUTILS + "RowDataSerializer$RowDataSerializerSnapshot"
_LINKED = TABLE + "sequencedmultisetstate.linked."
_I64 = Number(pa.int64())


# ---- payloads


def java_object(reader: Reader) -> bytes:
    """One Java object stream, parsed to find its end, and returned unchanged."""
    start = reader.pos
    parse_java_stream(reader)
    return bytes(reader.data[start : reader.pos])


def java_objects(count: int, versions: tuple[int, ...]) -> PayloadReader:
    """A payload of that many Java object streams."""

    def payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
        check_version(version, versions, name, reader)
        return SerializerSnapshot(name, version, details={"java": tuple(java_object(reader) for _ in range(count))})

    return payload


def integers(*names: str) -> PayloadReader:
    """A payload of integers."""

    def payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
        check_version(version, (1, 3), name, reader)
        return SerializerSnapshot(name, version, details={what: reader.i32(what) for what in names})

    return payload


def row_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``RowDataSerializerSnapshot``: the types, the serializers of the fields, from version 4 on their names."""
    check_version(version, (3, 4), name, reader)
    types = tuple(java_object(reader) for _ in range(reader.count("types of a row", least=5)))
    nested = nested_snapshots(reader)
    details: dict[str, Any] = {"types": types}
    if version == 4 and reader.bool("a flag for field names"):
        details["names"] = tuple(reader.utf("a field's name") for _ in types)
    return SerializerSnapshot(name, version, details=details, nested=nested)


def _sorted_map_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (3,), name, reader)
    comparator = java_object(reader)
    return SerializerSnapshot(name, version, details={"comparator": comparator}, nested=nested_snapshots(reader))


def _row_key_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (0,), name, reader)
    for what in ("a generated equaliser", "a generated hash function"):
        reader.bytes(reader.i32(f"the length of {what}"), what)
    return SerializerSnapshot(name, version, nested=(read_snapshot(reader),))


def _external_payload(reader: Reader, outer_version: int) -> dict[str, Any]:
    data_type = java_object(reader)
    return {"data_type": data_type, "internal_input": reader.bool("isInternalInput")}


def _linked_list_payload(reader: Reader, outer_version: int) -> dict[str, Any]:
    if not 1 <= outer_version <= 3:
        raise FormatError(f"unknown outer version {outer_version} of a linked list's snapshot", offset=reader.offset)
    return {"null_mask": reader.bool("hasNullMask") if outer_version == 3 else outer_version == 2}


# ---- rows and their parts


@register(ROW_DATA_SNAPSHOT, payload=row_payload)
def _row_data(snapshot: SerializerSnapshot) -> Layout:
    types = tuple(map(read_logical_type, snapshot.details["types"]))
    return row_fields(types, snapshot.nested, snapshot.details.get("names", ()), kind=True)


# Nothing is known of the fields but their number.
register(TYPEUTILS + "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot", Bytes(), payload=integers("fields"))


@register(TYPEUTILS + "ArrayDataSerializer$ArrayDataSerializerSnapshot", payload=java_objects(2, (3,)))
def _array_data(snapshot: SerializerSnapshot) -> Layout:
    return BinaryArray(in_row(read_logical_type(snapshot.details["java"][0])))


@register(TYPEUTILS + "MapDataSerializer$MapDataSerializerSnapshot", payload=java_objects(4, (3,)))
def _map_data(snapshot: SerializerSnapshot) -> Layout:
    key, value = (in_row(read_logical_type(stream)) for stream in snapshot.details["java"][:2])
    return BinaryMap(key, value)


register(TYPEUTILS + "StringDataSerializer$StringDataSerializerSnapshot", Text("utf8"))


@register(TYPEUTILS + "DecimalDataSerializer$DecimalSerializerSnapshot", payload=integers("precision", "scale"))
def _decimal_data(snapshot: SerializerSnapshot) -> Layout:
    return decimal(snapshot.details["precision"], snapshot.details["scale"], _I64)


@register(
    TYPEUTILS + "TimestampDataSerializer$TimestampDataSerializerSnapshot",
    payload=integers("precision"),
    fixed_length=True,
)
def _timestamp_data(snapshot: SerializerSnapshot) -> Layout:
    # The snapshot does not distinguish TIMESTAMP from TIMESTAMP_LTZ.
    return timestamp_alone(snapshot.details["precision"], None)


@register(TYPEUTILS + "RawValueDataSerializer$RawValueDataSerializerSnapshot", payload=composite(1))
def _raw_value(snapshot: SerializerSnapshot) -> Layout:
    return raw_value(snapshot.nested[0])


@register(TYPEUTILS + "ExternalSerializer$ExternalSerializerSnapshot", payload=composite(1, _external_payload))
def _external(snapshot: SerializerSnapshot) -> Layout:
    # What is written is the internal form; the data type knows the names, and what an integer or a timestamp means.
    return alone(read_logical_type(snapshot.details["data_type"]), snapshot.nested[0])


# ---- collections


@register(TYPEUTILS + "LinkedListSerializer$LinkedListSerializerSnapshot", payload=composite(1, _linked_list_payload))
def _linked_list(snapshot: SerializerSnapshot) -> Layout:
    return List(describe(snapshot.nested[0]), null_mask=snapshot.details["null_mask"])


register(TYPEUTILS + "SortedMapSerializerSnapshot", map_layout, payload=_sorted_map_payload)


# ---- windows, sinks

register(
    TABLE + "operators.sink.SortedLongSerializer$SortedLongSerializerSnapshot",
    Number(pa.int64(), flip_sign=True),
    fixed_length=True,
)
_WINDOWS = TABLE + "operators.window."
for _name, _layout in {
    "TimeWindow": struct(start=EPOCH_MS, end=EPOCH_MS),
    "CountWindow": struct(id=_I64),
    "GlobalWindow": Null(1),
}.items():
    register(f"{_WINDOWS}{_name}$Serializer${_name}SerializerSnapshot", _layout, fixed_length=True)


@register(TYPEUTILS + "WindowKeySerializer$WindowKeySerializerSnapshot", payload=composite(1))
def _window_key(snapshot: SerializerSnapshot) -> Layout:
    return struct(window=_I64, key=describe(snapshot.nested[0]))


for _name, _parts in {
    "Node": ("row", "sqn", "prev_sqn", "next_sqn", "next_sqn_for_record", "timestamp"),
    "MetaSqnInfo": ("high_sqn", "size"),
    "RowSqnInfo": ("first_sqn", "last_sqn"),
}.items():
    register(
        f"{_LINKED}{_name}Serializer${_name}SerializerSnapshot", nested_struct(*_parts), payload=composite(len(_parts))
    )
register(_LINKED + "RowDataKeySerializerSnapshot", inner, payload=_row_key_payload)
