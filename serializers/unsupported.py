"""Families that are read in heads but not decoded yet: Kryo, Java objects, PyFlink's exchange.

Their snapshots are read to the last byte, so that the states beside them stay readable; their values are
:class:`Undecodable`, each with the family in its reason.

Flink's classes: ``…typeutils.runtime.kryo.KryoSerializer``, ``org.apache.flink.runtime.state.JavaSerializer``,
``org.apache.flink.table.runtime.typeutils.serializers.python.*``.
"""

from __future__ import annotations

from serializers.registry import FixedLength, PayloadReader, SerializerSnapshot, register
from serializers.snapshots import (
    simple,
)
from serializers.sql import TYPEUTILS, integers, java_objects, row_payload
from stateextract.columnar.layout import Layout, Undecodable


def _not_yet(family: str, names: str | tuple[str, ...], payload: PayloadReader, fixed: FixedLength = False) -> None:
    def describe_it(snapshot: SerializerSnapshot) -> Layout:
        return Undecodable(snapshot.class_name, f"{family} is not yet supported")

    register(names, describe_it, payload=payload, fixed_length=fixed)


# ---- PyFlink's exchange with Python processes

_PYTHON = TYPEUTILS + "serializers.python."

_PYFLINK = "PyFlink's exchange format"
_not_yet(_PYFLINK, f"{_PYTHON}RowDataSerializer$RowDataSerializerSnapshot", row_payload)
_not_yet(_PYFLINK, f"{_PYTHON}ArrayDataSerializer$ArrayDataSerializerSnapshot", java_objects(2, (1,)))
_not_yet(_PYFLINK, f"{_PYTHON}MapDataSerializer$BaseMapSerializerSnapshot", java_objects(4, (1,)))
_not_yet(_PYFLINK, f"{_PYTHON}DecimalDataSerializer$DecimalSerializerSnapshot", integers("precision", "scale"))
_not_yet(_PYFLINK, f"{_PYTHON}TimestampSerializer$TimestampSerializerSnapshot", integers("precision"))
for _name in ("BigDec", "Date", "String", "Time"):
    _not_yet(_PYFLINK, f"{_PYTHON}{_name}Serializer${_name}SerializerSnapshot", simple)

# ---- Java objects

_not_yet("Java serialization", "org.apache.flink.runtime.state.JavaSerializer$JavaSerializerSnapshot", simple)
