"""Flink's ``Value`` types with serializers of their own, Variant and Bitmap.

Flink's classes: ``org.apache.flink.api.common.typeutils.base.{…Value,Variant,Bitmap}Serializer``.
"""

from __future__ import annotations

import pyarrow as pa

from serializers.leaves import leaf
from serializers.registry import register
from serializers.scalars import BASE, NUMBERS
from stateextract.columnar.layout import Bytes, Text
from stateextract.files.reader import Reader

for _name, _layout in NUMBERS.items():
    register(f"{BASE}{_name}ValueSerializer${_name}ValueSerializerSnapshot", _layout, fixed_length=True)
register(BASE + "StringValueSerializer$StringValueSerializerSnapshot", Text("value"))


VARIANT = pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())])
"""As Parquet and Spark hold variants."""


def _variant(reader: Reader) -> dict[str, bytes]:
    # Both lengths come first, the value's before the metadata's: no composition of layouts says that.
    lengths = reader.i32("the length of a variant's value"), reader.i32("the length of a variant's metadata")
    value, metadata = (bytes(reader.bytes(length, "a variant")) for length in lengths)
    return {"metadata": metadata, "value": value}


register(BASE + "VariantSerializer$VariantSerializerSnapshot", leaf(VARIANT, _variant))

# The portable serialization of a 32-bit RoaringBitmap.
register(BASE + "BitmapSerializer$BitmapSerializerSnapshot", Bytes())
