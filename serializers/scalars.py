"""Scalars: primitives and their boxes, String, big numbers, and types that have one value only.

Flink's classes: ``org.apache.flink.api.common.typeutils.base.*Serializer`` and the markers of the runtime. All of them
have a ``SimpleTypeSerializerSnapshot``, so there is nothing to read but the class name.

May import layouts and the registry.
"""

from __future__ import annotations

import pyarrow as pa

from serializers.registry import register
from stateextract.columnar.layout import BigInteger, Bool, Layout, Logical, Null, Number, Text

BASE = "org.apache.flink.api.common.typeutils.base."

NUMBERS: dict[str, Layout] = {
    "Boolean": Bool(),
    "Byte": Number(pa.int8()),
    "Short": Number(pa.int16()),
    "Int": Number(pa.int32()),
    "Long": Number(pa.int64()),
    "Float": Number(pa.float32()),
    "Double": Number(pa.float64()),
    "Char": Text("char"),
}
"""Primitives by the first part of their serializers' names; ``values`` and ``arrays`` use them as well."""

for _name, _layout in NUMBERS.items():
    register(f"{BASE}{_name}Serializer${_name}SerializerSnapshot", _layout, fixed_length=True)

register(BASE + "StringSerializer$StringSerializerSnapshot", Text())

# A BigDecimal's scale varies from value to value, so no decimal type holds a column of them exactly: digits it is.
register(
    BASE + "BigIntSerializer$BigIntSerializerSnapshot",
    Logical(BigInteger(), "big_integer", pa.string()),
)
register(
    BASE + "BigDecSerializer$BigDecSerializerSnapshot",
    Logical(BigInteger(scaled=True), "big_decimal", pa.string()),
)

register(BASE + "VoidSerializer$VoidSerializerSnapshot", Null(1), fixed_length=True)
register(BASE + "NullValueSerializer$NullValueSerializerSnapshot", Null(0), fixed_length=True)
register("org.apache.flink.api.java.typeutils.runtime.Tuple0SerializerSnapshot", Null(1), fixed_length=True)
register(
    (
        "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot",
        "org.apache.flink.queryablestate.client.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot",
        "org.apache.flink.table.dataview.NullSerializer$NullSerializerSnapshot",
    ),
    Null(1),
    fixed_length=True,
)
