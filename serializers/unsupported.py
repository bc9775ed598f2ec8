"""Families that are read in heads but not decoded yet: Kryo, Avro, SQL, CEP, Scala, Java objects, PyFlink's exchange.

Their snapshots are read to the last byte, so that the states beside them stay readable; their values are
:class:`Undecodable`, each with the family in its reason.

Flink's classes: ``…typeutils.runtime.kryo.KryoSerializer``, ``org.apache.flink.formats.avro.typeutils.AvroSerializer``,
``org.apache.flink.table.runtime.typeutils.*`` (``…serializers.python.*`` for PyFlink), ``org.apache.flink.cep.nfa.*``,
``org.apache.flink.api.scala.typeutils.*``, ``org.apache.flink.runtime.state.JavaSerializer``. Logical types and
comparators stand in Java object streams, which are kept as bytes for whoever decodes the values.
"""

from __future__ import annotations

from typing import Any

from serializers.registry import FixedLength, PayloadReader, SerializerSnapshot, register
from serializers.snapshots import (
    check_version,
    composite,
    flink_string,
    linked_optional_map,
    outer_class,
    simple,
)
from serializers.sql import TYPEUTILS, integers, java_objects, row_payload
from serializers.tuples import RUNTIME
from stateextract.columnar.layout import Layout, Undecodable
from stateextract.files.reader import Reader

KRYO_SNAPSHOT = RUNTIME + "kryo.KryoSerializerSnapshot"


def _not_yet(family: str, names: str | tuple[str, ...], payload: PayloadReader, fixed: FixedLength = False) -> None:
    def describe_it(snapshot: SerializerSnapshot) -> Layout:
        return Undecodable(snapshot.class_name, f"{family} is not yet supported")

    register(names, describe_it, payload=payload, fixed_length=fixed)


# ---- Kryo


def _kryo(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (2,), name, reader)
    details: dict[str, Any] = {"class": reader.utf("Kryo's type class")}
    for key in ("registrations", "default_serializers", "default_serializer_classes"):
        entries = linked_optional_map(reader, f"Kryo's {key.replace('_', ' ')}")
        details[key] = tuple(
            (e.name, b"" if e.value is None else bytes(e.value.bytes(e.value.remaining))) for e in entries
        )
    return SerializerSnapshot(name, version, details=details)


_not_yet("Kryo", KRYO_SNAPSHOT, _kryo)


# ---- Avro


def _avro(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (1, 2, 3), name, reader)
    text = flink_string if version == 3 else Reader.utf
    class_name = text(reader) if version > 1 else None
    return SerializerSnapshot(name, version, details={"class": class_name, "schema": text(reader)})


_AVRO = "org.apache.flink.formats.avro.typeutils."
_not_yet("Avro", (_AVRO + "AvroSerializerSnapshot", _AVRO + "AvroSerializer$AvroSchemaSerializerConfigSnapshot"), _avro)


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

# ---- CEP

_NFA = "org.apache.flink.cep.nfa."
_BUFFER = _NFA + "sharedbuffer."


def _nfa_state(reader: Reader, outer_version: int) -> dict[str, Any]:
    return {"previous_timestamp": outer_version >= 2 and reader.bool("supportsPreviousTimestamp")}


_not_yet("CEP", f"{_NFA}DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot", simple)
_not_yet("CEP", f"{_NFA}NFAStateSerializerSnapshot", composite(3, _nfa_state))
_not_yet("CEP", f"{_BUFFER}EventId$EventIdSerializer$EventIdSerializerSnapshot", simple)
_not_yet("CEP", f"{_BUFFER}NodeId$NodeIdSerializer$NodeIdSerializerSnapshot", composite(1))
_not_yet("CEP", f"{_BUFFER}LockableTypeSerializerSnapshot", composite(1))
_not_yet(
    "CEP", f"{_BUFFER}SharedBufferEdge$SharedBufferEdgeSerializer$SharedBufferEdgeSerializerSnapshot", composite(2)
)
_not_yet("CEP", f"{_BUFFER}SharedBufferNodeSerializerSnapshotV2", composite(1))
_not_yet(
    "CEP", f"{_BUFFER}SharedBufferNode$SharedBufferNodeSerializer$SharedBufferNodeSerializerSnapshot", composite(1)
)

# ---- Scala: the API of 1.x, and the planner's copy in 2.x


def _scala_enum(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (3,), name, reader)
    class_name = reader.utf("an enumeration's class")
    constants = tuple(
        (reader.utf("an enumeration value"), reader.i32("an enumeration value's id"))
        for _ in range(reader.count("enumeration values", least=6))
    )
    return SerializerSnapshot(name, version, details={"class": class_name, "constants": constants})


for _package in ("org.apache.flink.api.scala.typeutils.", "org.apache.flink.table.api.typeutils."):
    _not_yet("Scala", f"{_package}ScalaCaseClassSerializerSnapshot", composite(None, outer_class))
    _not_yet("Scala", f"{_package}Tuple2CaseClassSerializerSnapshot", composite(None, outer_class))
    _not_yet("Scala", f"{_package}ScalaOptionSerializerSnapshot", composite(1))
    _not_yet("Scala", f"{_package}ScalaEitherSerializerSnapshot", composite(2))
    _not_yet("Scala", f"{_package}ScalaTrySerializerSnapshot", composite(2))
    _not_yet("Scala", f"{_package}TraversableSerializerSnapshot", composite(1, outer_class))
    _not_yet("Scala", f"{_package}ScalaEnumSerializerSnapshot", _scala_enum)
    _not_yet("Scala", f"{_package}UnitSerializer$UnitSerializerSnapshot", simple, True)
    _not_yet("Scala", f"{_package}NothingSerializerSnapshot", simple)

# ---- Java objects

_not_yet("Java serialization", "org.apache.flink.runtime.state.JavaSerializer$JavaSerializerSnapshot", simple)
