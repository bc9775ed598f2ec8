"""Tuple, Row, Either, Nullable, Enum.

Flink's classes: ``org.apache.flink.api.java.typeutils.runtime.{Tuple,Row,Either,Nullable}Serializer``,
``org.apache.flink.api.common.typeutils.base.EnumSerializer``. Field names of tuples and rows are not recorded; they are
``f0``, ``f1``, …
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.names import positional
from serializers.registry import Describer, SerializerSnapshot, all_fixed_length, describe, register
from serializers.scalars import BASE
from serializers.snapshots import check_version, composite, delegate, outer_class, outer_flag
from stateextract.columnar.layout import (
    Case,
    Field,
    Layout,
    Logical,
    MaskedStruct,
    Null,
    Nullable,
    Number,
    Struct,
    Switch,
)
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
NULLABLE_SNAPSHOT = RUNTIME + "NullableSerializer$NullableSerializerSnapshot"
ENUM_SNAPSHOT = BASE + "EnumSerializer$EnumSerializerSnapshot"


@register(RUNTIME + "TupleSerializerSnapshot", payload=composite(None, outer_class), fixed_length=all_fixed_length)
def _tuple(snapshot: SerializerSnapshot) -> Layout:
    fields = positional(map(describe, snapshot.nested))
    return Struct(fields) if fields else Null(0)


ROW_SNAPSHOT = RUNTIME + "RowSerializer$RowSerializerSnapshot"
_ROW_KIND = outer_flag("row_kind", "supportsRowKind", "RowSerializerSnapshot", newest=4)


@register(ROW_SNAPSHOT, payload=composite(None, _ROW_KIND))
def _row(snapshot: SerializerSnapshot) -> Layout:
    return MaskedStruct(positional(map(describe, snapshot.nested)), kind=snapshot.details["row_kind"])


def _padding(reader: Reader, outer_version: int) -> dict[str, Any]:
    start = reader.offset
    padding = reader.i32("the padding of a nullable value")
    # The padding represents a value of fixed length; the longest that Flink has are tuples of those.
    if not 0 <= padding <= 1 << 16:
        raise FormatError(f"invalid padding {padding} of a nullable value", offset=start)
    return {"padding": padding}


@register(
    NULLABLE_SNAPSHOT,
    payload=composite(1, _padding),
    fixed_length=lambda snapshot: snapshot.details["padding"] > 0,
)
def _nullable(snapshot: SerializerSnapshot) -> Layout:
    return Nullable(describe(snapshot.nested[0]), padding=snapshot.details["padding"])


def either(left: str = "left", right: str = "right") -> Describer:
    """One of two values, by the names of their columns. The flag is a boolean: any byte but 0 means the first one."""

    def layout(snapshot: SerializerSnapshot) -> Layout:
        first, second = map(describe, snapshot.nested[:2])
        return Switch((Case(None, (Field(left, first),)), Case(0, (Field(right, second),))))

    return layout


register(RUNTIME + "JavaEitherSerializerSnapshot", either(), payload=composite(2))
register(RUNTIME + "EitherSerializerSnapshot", either(), payload=delegate)


def _enum_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``EnumSerializerSnapshot``: the enum's class and its constants, in the order that the values' numbers count."""
    check_version(version, (3,), name, reader)
    class_name = reader.utf("an enum class")
    constants = tuple(reader.utf("an enum constant") for _ in range(reader.count("enum constants", least=2)))
    return SerializerSnapshot(name, version, details={"class": class_name, "constants": constants})


@register(ENUM_SNAPSHOT, payload=_enum_payload, fixed_length=True)
def _enum(snapshot: SerializerSnapshot) -> Layout:
    return Logical(Number(pa.int32()), "labels", pa.string(), snapshot.details["constants"])
