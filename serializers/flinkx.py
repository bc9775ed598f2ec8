"""flink-scala-api (``org.apache.flinkx``), the successor of Flink's Scala API, for Scala 2.13 and 3.

Its classes: ``org.apache.flinkx.api.serializer.*``. As in Flink's own Scala API (``scala.py``), the names of a case class'
fields are not recorded. A case class has its number of fields in front; for null that is negative (``Integer.MIN_VALUE``, -1
in releases 2.0). A sealed trait has a column for each of its classes, or is a name where all are case objects.

Snapshots of version 1 (up to release 1.2.8) have the classes of nested snapshots, but not their versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from serializers.datetime import DATES
from serializers.names import Names, simple_name
from serializers.pojo import POJO_SNAPSHOT
from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot, all_fixed_length, describe, inner, register
from serializers.scala import case_class_fields, option
from serializers.snapshots import check_version, composite, flink_string, read_snapshot, read_unversioned_snapshot
from serializers.tuples import either
from stateextract.columnar.layout import (
    Bytes,
    Case,
    Field,
    Layout,
    List,
    Logical,
    Map,
    Null,
    Nullable,
    Number,
    Skip,
    Struct,
    Switch,
    Text,
    Undecodable,
)
from stateextract.files.reader import Reader

FLINKX = "org.apache.flinkx.api.serializer."
_COPRODUCT = FLINKX + "CoproductSerializer$CoproductSerializerSnapshot"
_CASE_OBJECT = FLINKX + "ScalaCaseObjectSerializer$ScalaCaseObjectSerializerSnapshot"
_ENUM_VALUE = FLINKX + "Scala3EnumValueSerializerSnapshot"
_COLLECTION = FLINKX + "CollectionSerializerSnapshot"
_MAP = FLINKX + "MapSerializer$MapSerializerSnapshot"
_MAPPED = FLINKX + "MappedSerializer$MappedSerializerSnapshot"

_NULL_TAG = 0x80
"""``Byte.MIN_VALUE``, where the number of a class is expected."""

_FIRST_VERSIONS = {
    **dict.fromkeys((_COPRODUCT, _CASE_OBJECT, _COLLECTION, _MAP, _MAPPED), 1),
    **dict.fromkeys((KRYO_SNAPSHOT, POJO_SNAPSHOT), 2),
}
"""Versions of snapshots when releases up to 1.2.8 wrote them; all others had version 3."""


_UNVERSIONED = (_COPRODUCT, _COLLECTION, _MAP, _MAPPED)


def _nested(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    if version == 1 and name in _UNVERSIONED:
        return read_unversioned_snapshot(reader, lambda nested: _FIRST_VERSIONS.get(nested, 3))
    return read_snapshot(reader)


def _payload(
    nested: int, newest: int, classes: tuple[str, ...] = ()
) -> Callable[[Reader, str, int], SerializerSnapshot]:
    """A payload of class names, by what they are in ``details``, and nested snapshots after them."""

    def read(reader: Reader, name: str, version: int) -> SerializerSnapshot:
        check_version(version, tuple(range(1, newest + 1)), name, reader)
        details = {key: reader.utf("a class name") for key in classes}
        return SerializerSnapshot(
            name, version, details=details, nested=tuple(_nested(reader, name, version) for _ in range(nested))
        )

    return read


# ---- case classes


def _case_class_outer(reader: Reader, outer_version: int) -> dict[str, Any]:
    details: dict[str, Any] = {"class": reader.utf("the class of the values")}
    if outer_version > 2:
        reader.bool("whether a case class is immutable")
    return details


@register(
    FLINKX + "ScalaCaseClassSerializerSnapshot", payload=composite(None, _case_class_outer), fixed_length=all_fixed_length
)
def _case_class(snapshot: SerializerSnapshot) -> Layout:
    fields = case_class_fields(snapshot)
    if snapshot.outer_version is not None and snapshot.outer_version < 3 and not fields:
        return Struct(())
    # The first byte of the number of fields is 0, or not for null; null has the bytes of the fields if their length is fixed.
    arity = Skip(expect=len(fields).to_bytes(3, "big"))
    padding = sum(part.layout.least for part in fields) if all_fixed_length(snapshot) else 0
    return Nullable(Struct((Field("", arity), *fields)), padding=len(arity.expect or b"") + padding)


# ---- sealed traits and enumerations of Scala 3


def _names(reader: Reader) -> tuple[str, ...]:
    """What Flink's ``StringArraySerializer`` writes."""
    return tuple(flink_string(reader) or "" for _ in range(reader.count("names", least=1)))


def _coproduct_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    if version >= 3:
        return composite(None, lambda r, _: {"classes": _names(r)})(reader, name, version)
    check_version(version, (2, 1), name, reader)
    classes = tuple(reader.utf("a class name") for _ in range(reader.count("classes of a sealed trait", least=2)))
    nested = tuple(_nested(reader, name, version) for _ in classes)
    return SerializerSnapshot(name, version, details={"classes": classes}, nested=nested)


def _one_length(snapshot: SerializerSnapshot) -> bool:
    """Whether the serializer has a length: that of its classes, if they have the same."""
    return snapshot.version >= 3 and all_fixed_length(snapshot) and len({describe(n).least for n in snapshot.nested}) == 1


@register(_COPRODUCT, payload=_coproduct_payload, fixed_length=_one_length)
@register(
    FLINKX + "Scala3EnumSerializerSnapshot",
    payload=composite(None, lambda reader, _: {"classes": _names(reader)}),
    fixed_length=_one_length,
)
def _coproduct(snapshot: SerializerSnapshot) -> Layout:
    """The number of the class, and its value: a struct with one field that is not null."""
    classes = snapshot.details["classes"]
    if len(classes) != len(snapshot.nested):
        return Undecodable(snapshot.class_name, f"it has {len(classes)} classes and {len(snapshot.nested)} serializers")
    taken = Names()
    names = [taken.take(simple_name(name.removesuffix("$"))) for name in classes]
    if all(nested.class_name in (_CASE_OBJECT, _ENUM_VALUE) for nested in snapshot.nested):
        labels = tuple(f"{i}={name}" for i, name in enumerate(names))
        return Logical(Number(pa.int8()), "labels_by_number", pa.string(), (*labels, f"{_NULL_TAG - 256}"))
    values = zip(names, snapshot.nested, strict=True)
    cases = tuple(Case(i, (Field(name, describe(nested)),)) for i, (name, nested) in enumerate(values))
    return Switch((*cases, Case(_NULL_TAG, ())))


# Values without bytes: there is one of each.
register(_CASE_OBJECT, Struct(()), payload=_payload(0, 1, ("class",)), fixed_length=True)
register(_ENUM_VALUE, Struct(()), payload=_payload(0, 1, ("class", "name")), fixed_length=True)

register(FLINKX + "ScalaOptionSerializerSnapshot", option, payload=composite(1))
register(FLINKX + "ScalaEitherSerializerSnapshot", either(), payload=composite(2))


# ---- collections


def _is_set(snapshot: SerializerSnapshot) -> bool:
    return simple_name(snapshot.details["serializer"]) in ("SetSerializer", "MutableSetSerializer")


@register(_COLLECTION, payload=_payload(1, 2, ("serializer", "class")))
def _collection(snapshot: SerializerSnapshot) -> Layout:
    return List(describe(snapshot.nested[0]), unordered=_is_set(snapshot))


@register((_MAP, FLINKX + "MutableMapSerializerSnapshot"), payload=_payload(2, 2))
def _map(snapshot: SerializerSnapshot) -> Layout:
    key, value = map(describe, snapshot.nested)
    return Map(key, value, as_list=isinstance(key, Nullable))


@register(FLINKX + "SortedCollectionSerializerSnapshot", payload=_payload(2, 2, ("serializer", "class")))
def _sorted_collection(snapshot: SerializerSnapshot) -> Layout:
    element, ordering = map(describe, snapshot.nested)
    return _sorted(snapshot, List(element), ordering)


@register(
    (FLINKX + "SortedMapSerializerSnapshot", FLINKX + "MutableSortedMapSerializerSnapshot"), payload=_payload(3, 1)
)
def _sorted_map(snapshot: SerializerSnapshot) -> Layout:
    key, value, ordering = map(describe, snapshot.nested)
    return _sorted(snapshot, Map(key, value, as_list=isinstance(key, Nullable)), ordering)


def _sorted(snapshot: SerializerSnapshot, layout: Layout, ordering: Layout) -> Layout:
    """The ordering is written between the number of elements and the first one; those of Scala take no bytes."""
    if ordering == _NO_BYTES or ordering == Struct(()):
        return layout
    return Undecodable(snapshot.class_name, "its ordering is an object with a state of its own")


_NO_BYTES = Null(0)
_ORDERINGS = ("Boolean", "Byte", "Char", "Short", "Int", "Long", "Float", "Double", "BigInt", "BigDecimal", "String")
register(
    (
        FLINKX + "UnitOrderingSerializerSnapshot",
        FLINKX + "FloatIeeeOrderingSerializerSnapshot",
        FLINKX + "DoubleIeeeOrderingSerializerSnapshot",
        *(f"{FLINKX}Default{name}OrderingSerializerSnapshot" for name in _ORDERINGS),
    ),
    _NO_BYTES,
    fixed_length=True,
)


register(
    (FLINKX + "ReverseOrderingSerializerSnapshot", FLINKX + "OptionOrderingSerializerSnapshot"),
    inner,
    payload=_payload(1, 1),
    fixed_length=all_fixed_length,
)


# ---- single values


@register(_MAPPED, payload=_payload(1, 2, ("mapper",)), fixed_length=all_fixed_length)
def _mapped(snapshot: SerializerSnapshot) -> Layout:
    """What a function of the user's makes of a value; the library has some for numbers and UUIDs."""
    if snapshot.details["mapper"] == "org.apache.flinkx.api.mapper.UuidMapper":
        return Logical(Bytes(), "uuid_bytes", pa.string())
    return inner(snapshot)


_I32 = Number(pa.int32())
_UNITS = ("NANOSECONDS", "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS")
_FINITE = (
    Field("length", Number(pa.int64())),
    Field("unit", Logical(_I32, "labels", pa.string(), _UNITS)),
)
_LOCAL = DATES["LocalDateTime"]

register(FLINKX + "UnitSerializer$UnitSerializerSnapshot", _NO_BYTES, fixed_length=True)
register(FLINKX + "NothingSerializerSnapshot", _NO_BYTES)
register(FLINKX + "FiniteDurationSerializerSnapshot", Struct(_FINITE), fixed_length=True)
register(
    FLINKX + "DurationSerializerSnapshot",
    Switch(
        (
            Case(0, _FINITE),
            Case(1, (Field("undefined", Struct(())),)),
            Case(2, (Field("infinite", Struct(())),)),
            Case(3, (Field("minus_infinite", Struct(())),)),
            Case(0xFF, ()),
        )
    ),
)
register(FLINKX + "ZoneIdSerializerSnapshot", Text())
register(FLINKX + "ZoneOffsetSerializerSnapshot", _I32, fixed_length=True)
register(
    FLINKX + "OffsetDateTimeSerializerSnapshot",
    Struct((Field("local", _LOCAL), Field("offset_seconds", _I32))),
    fixed_length=True,
)
register(FLINKX + "ZonedDateTimeSerializerSnapshot", Struct((Field("local", _LOCAL), Field("zone", Text()))))
