"""Tuple, Row, Either, Nullable, Enum.

Flink's classes: ``org.apache.flink.api.java.typeutils.runtime.{Tuple,Row,Either,Nullable}Serializer``,
``org.apache.flink.api.common.typeutils.base.EnumSerializer``. Field names of tuples and rows are not recorded; they are
``f0``, ``f1``, …
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.names import positional
from serializers.registry import SerializerSnapshot, describe, is_fixed_length, register
from serializers.scalars import BASE
from serializers.snapshots import check_version, composite, delegate, outer_class
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
from stateextract.errors import FormatError, UnsupportedVersionError
from stateextract.files.reader import Reader

RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
NULLABLE_SNAPSHOT = RUNTIME + "NullableSerializer$NullableSerializerSnapshot"
ENUM_SNAPSHOT = BASE + "EnumSerializer$EnumSerializerSnapshot"


def _all_fixed(snapshot: SerializerSnapshot) -> bool:
    return all(map(is_fixed_length, snapshot.nested))


@register(RUNTIME + "TupleSerializerSnapshot", payload=composite(None, outer_class), fixed_length=_all_fixed)
def _tuple(snapshot: SerializerSnapshot) -> Layout:
    fields = positional(map(describe, snapshot.nested))
    return Struct(fields) if fields else Null(0)


def _row_payload(reader: Reader, outer_version: int) -> dict[str, Any]:
    if not 1 <= outer_version <= 4:
        raise UnsupportedVersionError(
            f"outer version {outer_version} of RowSerializerSnapshot is not known",
            expected="1 to 4",
            offset=reader.offset,
        )
    if outer_version == 4:
        return {"row_kind": reader.bool("supportsRowKind")}
    return {"row_kind": outer_version == 3}


ROW_SNAPSHOT = RUNTIME + "RowSerializer$RowSerializerSnapshot"


@register(ROW_SNAPSHOT, payload=composite(None, _row_payload))
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


def _either(snapshot: SerializerSnapshot) -> Layout:
    left, right = (describe(nested) for nested in snapshot.nested[:2])
    # The flag is a boolean: any byte but 0 means left.
    return Switch((Case(None, (Field("left", left),)), Case(0, (Field("right", right),))))


register(RUNTIME + "JavaEitherSerializerSnapshot", _either, payload=composite(2))
register(RUNTIME + "EitherSerializerSnapshot", _either, payload=delegate)


def _enum_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``EnumSerializerSnapshot``: the enum's class and its constants, in the order that the values' numbers count."""
    check_version(version, (3,), name, reader)
    class_name = reader.utf("an enum class")
    constants = tuple(reader.utf("an enum constant") for _ in range(reader.count("enum constants", least=2)))
    return SerializerSnapshot(name, version, details={"class": class_name, "constants": constants})


@register(ENUM_SNAPSHOT, payload=_enum_payload, fixed_length=True)
def _enum(snapshot: SerializerSnapshot) -> Layout:
    return Logical(Number(pa.int32()), "labels", pa.string(), snapshot.details["constants"])
