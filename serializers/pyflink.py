"""PyFlink: the Java serializers that speak to Python processes, and what Python's coders wrote.

Flink's classes: ``org.apache.flink.table.runtime.typeutils.serializers.python.*``. They write as Python's coders do:
fixed-width numbers big-endian, text and decimals as an ``i32`` length and UTF-8, rows with a mask of nulls, lists with a
flag for each element (1: present), maps with a flag for each value (1: null).

Values of Python's own coders in a Java ``byte[]`` are described by nothing in the checkpoint. Type overrides read them:
``pickle`` shows a pickle as JSON (``files/pickles.py``, which runs nothing), ``element(TYPE)`` and ``elements(TYPE)`` what a
Python process added to its state (``columnar/convert/elements.py``); ``snapshot/python_types.py`` sets those that are certain.
"""

from __future__ import annotations

import pyarrow as pa

from serializers.logical_types import named, read_logical_type, timestamp_alone
from serializers.registry import SerializerSnapshot, describe, register
from serializers.snapshots import simple
from serializers.sql import TYPEUTILS, integers, java_objects, row_payload
from serializers.sql_type import LogicalType
from stateextract.columnar.layout import (
    Bool,
    Bytes,
    Layout,
    List,
    Logical,
    Map,
    MaskedStruct,
    Nullable,
    Number,
    Text,
    Undecodable,
)

_PYTHON = TYPEUTILS + "serializers.python."
_TEXT = Text("utf8")
_DATE = Logical(Number(pa.int32()), "epoch_day", pa.date32())
_TIME = Logical(Number(pa.int32()), "day_ms", pa.string())
_SIMPLE: dict[str, Layout] = {
    "CHAR": _TEXT, "VARCHAR": _TEXT, "BINARY": Bytes(), "VARBINARY": Bytes(), "BOOLEAN": Bool(),
    "TINYINT": Number(pa.int8()), "SMALLINT": Number(pa.int16()), "INTEGER": Number(pa.int32()),
    "BIGINT": Number(pa.int64()), "FLOAT": Number(pa.float32()), "DOUBLE": Number(pa.float64()),
    "INTERVAL_YEAR_MONTH": Number(pa.int32()), "INTERVAL_DAY_TIME": Number(pa.int64()),
    "DATE": _DATE, "TIME_WITHOUT_TIME_ZONE": _TIME,
}  # fmt: skip

for _name, _layout in {"BigDec": _TEXT, "Date": _DATE, "String": _TEXT, "Time": _TIME}.items():
    register(f"{_PYTHON}{_name}Serializer${_name}SerializerSnapshot", _layout, payload=simple)


@register(_PYTHON + "RowDataSerializer$RowDataSerializerSnapshot", payload=row_payload)
def _row(snapshot: SerializerSnapshot) -> Layout:
    layouts = [describe(nested) for nested in snapshot.nested]
    return MaskedStruct(named(layouts, snapshot.details.get("names", ()), kind=True), kind=True)


@register(_PYTHON + "ArrayDataSerializer$ArrayDataSerializerSnapshot", payload=java_objects(2, (1,)))
def _array(snapshot: SerializerSnapshot) -> Layout:
    return _list(read_logical_type(snapshot.details["java"][0]))


@register(_PYTHON + "MapDataSerializer$BaseMapSerializerSnapshot", payload=java_objects(4, (1,)))
def _map(snapshot: SerializerSnapshot) -> Layout:
    return _entries(*(read_logical_type(stream) for stream in snapshot.details["java"][:2]))


@register(_PYTHON + "DecimalDataSerializer$DecimalSerializerSnapshot", payload=integers("precision", "scale"))
def _decimal_data(snapshot: SerializerSnapshot) -> Layout:
    return _decimal(snapshot.details["precision"], snapshot.details["scale"])


@register(_PYTHON + "TimestampSerializer$TimestampSerializerSnapshot", payload=integers("precision"))
def _timestamp(snapshot: SerializerSnapshot) -> Layout:
    return timestamp_alone(snapshot.details["precision"], None)


def of_type(type_: LogicalType) -> Layout:
    """A value of an SQL type as Python's coders write it."""
    match type_.root:
        case "DECIMAL":
            return _decimal(type_.precision, type_.scale)
        case "TIMESTAMP_WITHOUT_TIME_ZONE":
            return timestamp_alone(type_.precision, None)
        case "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            return timestamp_alone(type_.precision, "UTC")
        case "ARRAY" if type_.children:
            return _list(type_.children[0])
        case "MAP" if len(type_.children) == 2:
            return _entries(*type_.children)
        case "ROW" | "STRUCTURED_TYPE":
            return MaskedStruct(named([of_type(child) for child in type_.children], type_.names, kind=True), kind=True)
    return _SIMPLE.get(type_.root) or Undecodable(type_.class_name, "PyFlink has no coder for this SQL type")


def _decimal(precision: int, scale: int) -> Layout:
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        return _TEXT
    return Logical(_TEXT, "decimal_text", pa.decimal128(precision, scale))


def _list(element: LogicalType) -> Layout:
    return List(Nullable(of_type(element), null_if=False))


def _entries(key: LogicalType, value: LogicalType) -> Layout:
    return Map(of_type(key), Nullable(of_type(value)))
