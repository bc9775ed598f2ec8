"""A table from every registered serializer to its column type, made from the registry.

Parameterised serializers are shown with samples inside: what is nested are strings, then longs, ints, booleans. May import
everything that describes; reads no files. ``scripts/types_page.py`` makes ``docs/types.md`` of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from serializers import DescribeContext, SerializerSnapshot, describe
from serializers.registry import all_serializers
from serializers.scalars import BASE
from serializers.snapshots import composite
from stateextract.columnar.decode.decoder import needs_interpreter
from stateextract.columnar.layout import Layout, Undecodable

_FLINK = "org.apache.flink."
_NESTED = [
    SerializerSnapshot(f"{BASE}{n}Serializer${n}SerializerSnapshot", 3) for n in ("String", "Long", "Int", "Boolean")
]
_NFA = _FLINK + "cep.nfa."
_BUFFER = _NFA + "sharedbuffer."
_EVENT = SerializerSnapshot(_BUFFER + "EventId$EventIdSerializer$EventIdSerializerSnapshot", 3)
_NODE = SerializerSnapshot(_BUFFER + "NodeId$NodeIdSerializer$NodeIdSerializerSnapshot", 3, nested=(_EVENT,))
_DEWEY = SerializerSnapshot(_NFA + "DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot", 3)
_EDGE = SerializerSnapshot(
    _BUFFER + "SharedBufferEdge$SharedBufferEdgeSerializer$SharedBufferEdgeSerializerSnapshot",
    3,
    nested=(_NODE, _DEWEY),
)
# INT NOT NULL as Flink writes it: a Java object of the class IntType.
_INT_TYPE = bytes.fromhex(
    "aced00057372002c6f72672e6170616368652e666c696e6b2e7461626c652e74797065732e6c6f676963616c2e496e74547970650000000000"
    "000001020000787200306f72672e6170616368652e666c696e6b2e7461626c652e74797065732e6c6f676963616c2e4c6f676963616c547970"
    "6500000000000000010200025a000a69734e756c6c61626c654c000874797065526f6f747400364c6f72672f6170616368652f666c696e6b2f"
    "7461626c652f74797065732f6c6f676963616c2f4c6f676963616c54797065526f6f743b7870017e7200346f72672e6170616368652e666c69"
    "6e6b2e7461626c652e74797065732e6c6f676963616c2e4c6f676963616c54797065526f6f7400000000000000001200007872000e6a617661"
    "2e6c616e672e456e756d00000000000000001200007870740007494e5445474552"
)
AVRO_RECORD = {
    "type": "record",
    "name": "R",
    "fields": [{"name": "a", "type": "string"}, {"name": "b", "type": ["null", "long"]}],
}
_CLASS = {"class": "com.acme.Some"}
# package com.acme; message R { string a = 1; int64 b = 2; }
_DESCRIPTORS = bytes.fromhex(
    "0a3a0a07722e70726f746f1208636f6d2e61636d6522190a015212090a016118012001280912090a01621802200128034202500162067072"
    "6f746f33"
)

_SAMPLES: dict[str, tuple[Mapping[str, Any], Iterable[SerializerSnapshot]]] = {
    "RowSerializer$RowSerializerSnapshot": ({"row_kind": True}, _NESTED[:2]),
    "NullableSerializer$NullableSerializerSnapshot": ({"padding": 0}, _NESTED[:1]),
    "EitherSerializerSnapshot": ({}, _NESTED[:2]),
    "EnumSerializer$EnumSerializerSnapshot": ({"constants": ("RED", "GREEN")}, ()),
    "ScalaEnumSerializerSnapshot": ({"constants": (("RED", 1), ("GREEN", 2))}, ()),
    "PojoSerializerSnapshot": (
        {"class": "com.acme.P", "fields": ("a", "b"), "registered": ("com.acme.Q",), "other": ()},
        (*_NESTED[:2], SerializerSnapshot("com.acme.QSerializerSnapshot", 3, details={"unknown": "framed"})),
    ),
    "AvroSerializerSnapshot": ({"schema": json.dumps(AVRO_RECORD)}, ()),
    "AvroSerializer$AvroSchemaSerializerConfigSnapshot": ({"schema": json.dumps(AVRO_RECORD)}, ()),
    "KryoSerializerSnapshot": (
        {"class": "java.util.UUID", "registrations": (), "default_serializers": (), "default_serializer_classes": ()},
        (),
    ),
    "NodeId$NodeIdSerializer$NodeIdSerializerSnapshot": ({}, (_EVENT,)),
    "SharedBufferEdge$SharedBufferEdgeSerializer$SharedBufferEdgeSerializerSnapshot": ({}, (_NODE, _DEWEY)),
    "SharedBufferNodeSerializerSnapshotV2": ({}, (_EDGE,)),
    "SharedBufferNode$SharedBufferNodeSerializer$SharedBufferNodeSerializerSnapshot": (
        {},
        (SerializerSnapshot(BASE + "ListSerializerSnapshot", 3, nested=(_EDGE,)),),
    ),
    "NFAStateSerializerSnapshot": ({"previous_timestamp": True}, (_DEWEY, _NODE, _EVENT)),
    "TwoPhaseCommitSinkFunction$StateSerializerSnapshot": ({"null_transaction": True}, _NESTED[:2]),
    "RowDataSerializer$RowDataSerializerSnapshot": ({"types": (_INT_TYPE,)}, _NESTED[2:3]),
    "ArrayDataSerializer$ArrayDataSerializerSnapshot": ({"java": (_INT_TYPE,) * 2}, ()),
    "MapDataSerializer$MapDataSerializerSnapshot": ({"java": (_INT_TYPE,) * 4}, ()),
    "MapDataSerializer$BaseMapSerializerSnapshot": ({"java": (_INT_TYPE,) * 4}, ()),
    "DecimalDataSerializer$DecimalSerializerSnapshot": ({"precision": 10, "scale": 2}, ()),
    "TimestampDataSerializer$TimestampDataSerializerSnapshot": ({"precision": 6}, ()),
    "TimestampSerializer$TimestampSerializerSnapshot": ({"precision": 6}, ()),
    "ExternalSerializer$ExternalSerializerSnapshot": ({"data_type": _INT_TYPE}, _NESTED[2:3]),
    "LinkedListSerializer$LinkedListSerializerSnapshot": ({"null_mask": True}, _NESTED[:1]),
    "SortedMapSerializerSnapshot": ({}, _NESTED[:2]),
    "RowDataKeySerializerSnapshot": ({}, _NESTED[:1]),
    "TtlAwareSerializerSnapshot": ({}, _NESTED[:1]),
    "CopyableValueSerializer$CopyableValueSerializerSnapshot": ({"class": _FLINK + "types.IntValue"}, ()),
    "ValueSerializer$ValueSerializerSnapshot": ({"class": _FLINK + "types.StringValue"}, ()),
    "WritableSerializer$WritableSerializerSnapshot": ({"class": "org.apache.hadoop.io.Text"}, ()),
    "GenericArraySerializerConfigSnapshot": (_CLASS, _NESTED[:1]),
    "RemoteValueSerializerSnapshot": ({"type": "io.statefun.types/long"}, ()),
    "ProtobufTypeSerializerSnapshot": ({"class": "com.acme.R", "descriptors": _DESCRIPTORS}, ()),
}
"""Details and what is nested, by the end of the snapshot class, where the registry does not say."""


def sample(class_name: str) -> SerializerSnapshot:
    """A snapshot of a registered class."""
    for end, (details, nested) in _SAMPLES.items():
        if class_name.endswith((f".{end}", f"${end}")):
            return SerializerSnapshot(class_name, 3, 1, details, tuple(nested))
    payload = all_serializers()[class_name].payload
    count = 0
    if isinstance(payload, composite):
        count = 2 if payload.count is None else payload.count
    nested_ones = tuple(_NESTED[i % len(_NESTED)] for i in range(count))
    return SerializerSnapshot(class_name, 3, 1, dict(_CLASS), nested_ones)


def sample_layout(class_name: str) -> Layout:
    """What values of the sample look like."""
    return describe(sample(class_name), DescribeContext(kryo=5))


@dataclass(frozen=True)
class SerializerColumn:
    """What becomes of the values of a serializer.

    :param column: the column's type; ``None`` where only bytes are kept, then ``reason`` says why.
    :param kernel: the compiled decoder reads it.
    """

    snapshot_class: str
    column: str | None
    kernel: bool
    reason: str | None = None


def serializer_columns() -> Iterator[SerializerColumn]:
    """Every serializer of Flink's that is registered, by the name of its snapshot class."""
    for name in sorted(n for n in all_serializers() if n.startswith(_FLINK)):
        layout = sample_layout(name)
        if isinstance(layout, Undecodable):
            yield SerializerColumn(name, None, False, layout.reason)
        else:
            type_ = layout.arrow_type
            yield SerializerColumn(
                name, "no column" if type_ is None else readable(type_), not needs_interpreter(layout)
            )


def readable(type_: pa.DataType) -> str:
    """As Arrow prints it, without what says nothing."""
    return str(type_).replace("item: ", "").replace(", tz=UTC", ", UTC").replace("date32[day]", "date32")
