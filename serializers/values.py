"""Flink's ``Value`` types, Variant and Bitmap, and serializers that only name the class of their values.

Flink's classes: ``org.apache.flink.api.common.typeutils.base.{…Value,Variant,Bitmap}Serializer``,
``org.apache.flink.api.java.typeutils.runtime.{CopyableValue,Value}Serializer``, Hadoop's ``WritableSerializer``. The
latter three write what the class' own ``write`` method emits; known are only Flink's own value classes.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.registry import SerializerSnapshot, register
from serializers.scalars import BASE, NUMBERS
from serializers.snapshots import generic
from serializers.tuples import RUNTIME
from stateextract.columnar.layout import Bytes, Layout, Null, Python, Text, Undecodable
from stateextract.files.reader import Reader

_TYPES = "org.apache.flink.types."

VALUES: dict[str, Layout] = {f"{_TYPES}{name}Value": layout for name, layout in NUMBERS.items()}
VALUES[_TYPES + "StringValue"] = Text("value")
VALUES[_TYPES + "NullValue"] = Null(0)

for _name, _layout in NUMBERS.items():
    register(f"{BASE}{_name}ValueSerializer${_name}ValueSerializerSnapshot", _layout, fixed_length=True)
register(BASE + "StringValueSerializer$StringValueSerializerSnapshot", Text("value"))


def _value(snapshot: SerializerSnapshot) -> Layout:
    class_name = snapshot.details["class"]
    return VALUES.get(class_name, Undecodable(class_name, "only the class itself knows which bytes it writes"))


def _copyable_is_fixed(snapshot: SerializerSnapshot) -> bool:
    return snapshot.details["class"] in VALUES and snapshot.details["class"] != _TYPES + "StringValue"


register(
    RUNTIME + "CopyableValueSerializer$CopyableValueSerializerSnapshot",
    _value,
    payload=generic,
    fixed_length=_copyable_is_fixed,
)
register(
    (
        RUNTIME + "ValueSerializer$ValueSerializerSnapshot",
        RUNTIME + "WritableSerializer$WritableSerializerSnapshot",
    ),
    _value,
    payload=generic,
)


VARIANT = pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())])
"""As Parquet and Spark hold variants."""


def _read_variant(data: memoryview, pos: int, end: int) -> tuple[Any, int]:
    # Both lengths come first, the value's before the metadata's: no composition of layouts says that.
    reader = Reader(data, pos, end)
    lengths = reader.i32("the length of a variant's value"), reader.i32("the length of a variant's metadata")
    value, metadata = (bytes(reader.bytes(length, "a variant")) for length in lengths)
    return {"metadata": metadata, "value": value}, reader.pos


register(BASE + "VariantSerializer$VariantSerializerSnapshot", Python(_read_variant, VARIANT))

# The portable serialization of a 32-bit RoaringBitmap.
register(BASE + "BitmapSerializer$BitmapSerializerSnapshot", Bytes())
