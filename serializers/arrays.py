"""Arrays: of primitives, of strings, of objects.

Flink's classes: ``org.apache.flink.api.common.typeutils.base.array.*``, ``…base.GenericArraySerializer``; PyFlink's
``ByteArrayWrapperSerializer`` has the bytes of ``byte[]``.
"""

from __future__ import annotations

from serializers.registry import SerializerSnapshot, describe, register
from serializers.scalars import BASE, NUMBERS
from serializers.snapshots import check_version, composite, nested_snapshots, outer_class
from stateextract.columnar.layout import Bytes, Layout, List, Nullable, Text
from stateextract.files.reader import Reader

ARRAY = BASE + "array."

for _name, _element in NUMBERS.items():
    register(
        f"{ARRAY}{_name}PrimitiveArraySerializer${_name}PrimitiveArraySerializerSnapshot",
        Bytes() if _name == "Byte" else List(_element),
    )
register(ARRAY + "StringArraySerializer$StringArraySerializerSnapshot", List(Text()))
register("org.apache.flink.streaming.api.utils.ByteArrayWrapperSerializer$ByteArrayWrapperSerializerSnapshot", Bytes())


def _old_generic_array(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``GenericArraySerializerConfigSnapshot``: the component class, then the nested snapshots."""
    check_version(version, (2,), name, reader)
    component = reader.utf("a component class")
    return SerializerSnapshot(name, version, details={"class": component}, nested=nested_snapshots(reader))


def _generic_array(snapshot: SerializerSnapshot) -> Layout:
    return List(Nullable(describe(snapshot.nested[0]), null_if=False))


register(BASE + "GenericArraySerializerSnapshot", _generic_array, payload=composite(1, outer_class))
register(BASE + "GenericArraySerializerConfigSnapshot", _generic_array, payload=_old_generic_array)
