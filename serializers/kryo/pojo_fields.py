"""What the snapshot of a POJO serializer records of its class, for values of this class that Kryo wrote.

It has the class' fields, inherited ones too, with their serializers. It does not distinguish ``int`` and ``Integer``, a field's
own type from a type parameter that represents it (``T``, whose values Kryo writes with their class), or whether a class is
final. :class:`PojoField` has all types that a field can have; which one it is shows in the bytes. A field that leaves more
open (lists, maps, enums, whose constants Flink keeps in an order of its own) has none, and its class cannot be had this way.

Flink's classes: ``org.apache.flink.api.java.typeutils.{TypeExtractor,PojoTypeInfo}``. Knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from serializers.javatypes import OBJECT_CLASS
from serializers.kryo import jdk
from serializers.pojo import POJO_SNAPSHOT, REMOVED
from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot, parts_of
from serializers.scalars import BASE

UNDECIDED: Final = "stateextract.undecided.f"
"""Before the number of a field whose type is being looked for (``kryo_pojos.py``): the reader that meets it reports it."""

ZERO: Final = "stateextract.zero"
"""Type of a field that is one byte 0 in all values that were looked at. Its argument is the type if that is certainly null;
without it, the byte may be a number as well."""

WITH_CLASS: Final = "? extends "
"""Before the type of a field whose values Kryo writes with their class."""

_BOXED: Final = {
    "Boolean": ("boolean", "Boolean"), "Byte": ("byte", "Byte"), "Short": ("short", "Short"), "Int": ("int", "Integer"),
    "Long": ("long", "Long"), "Float": ("float", "Float"), "Double": ("double", "Double"), "Char": ("char", "Character"),
}  # fmt: skip
_FINAL: Final = {
    "String": "java.lang.String", "Instant": "java.time.Instant", "LocalDate": "java.time.LocalDate",
    "LocalTime": "java.time.LocalTime", "LocalDateTime": "java.time.LocalDateTime",
}  # fmt: skip
_OPEN: Final = {
    "Date": "java.util.Date", "SqlDate": "java.sql.Date", "SqlTime": "java.sql.Time", "SqlTimestamp": "java.sql.Timestamp",
    "BigInt": "java.math.BigInteger", "BigDec": "java.math.BigDecimal",
}  # fmt: skip
_PLAIN: Final = re.compile(r"java\.util\.UUID|java\.time\.[A-Z]\w*")
"""Classes without type parameters that Flink gives to Kryo."""


def _final(type_: str) -> tuple[str, ...]:
    """What the type of a field can be whose values are of a final class."""
    return type_, f"{WITH_CLASS}{type_}"


def _simple() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, (primitive, box) in _BOXED.items():
        found[f"{BASE}{name}Serializer"] = (primitive, *_final(f"java.lang.{box}"))
        found[f"{BASE}array.{name}PrimitiveArraySerializer"] = _final(f"{primitive}[]")
    found |= {f"{BASE}{name}Serializer": _final(type_) for name, type_ in _FINAL.items()}
    found |= {f"{BASE}{name}Serializer": (type_,) for name, type_ in _OPEN.items()}
    found[f"{BASE}array.StringArraySerializer"] = _final("java.lang.String[]")
    return {f"{name}${name.rpartition('.')[2]}Snapshot": types for name, types in found.items()}


_SIMPLE: Final = _simple()


@dataclass(frozen=True)
class PojoField:
    """A field of a POJO.

    :param types: what its type can be in the class, for a class model.
    :param pojo: the first of them is a POJO itself, and the type only if that is final.
    """

    name: str
    types: tuple[str, ...]
    pojo: bool = False


PojoFields = tuple[PojoField, ...]


def pojo_classes(snapshots: Iterable[SerializerSnapshot]) -> dict[str, PojoFields]:
    """The POJOs by class, without those that a field of an open type makes unclear, or of which two snapshots differ."""
    found: dict[str, PojoFields | None] = {}
    for snapshot in parts_of(snapshots):
        if snapshot.class_name == POJO_SNAPSHOT and not snapshot.is_unknown:
            name, fields = snapshot.details["class"], _fields(snapshot)
            found[name] = fields if found.get(name, fields) == fields else None
    return {name: fields for name, fields in found.items() if fields is not None}


def _fields(snapshot: SerializerSnapshot) -> PojoFields | None:
    fields = []
    for name, value in zip(snapshot.details["fields"], snapshot.nested, strict=False):
        types = _types(value)
        if not types or name.startswith(REMOVED):
            return None
        fields.append(PojoField(name, types, value.class_name == POJO_SNAPSHOT))
    return tuple(fields) or None


def _types(snapshot: SerializerSnapshot) -> tuple[str, ...]:
    if snapshot.is_unknown:
        return ()
    if snapshot.class_name == POJO_SNAPSHOT:
        return _final(snapshot.details["class"])
    if snapshot.class_name == KRYO_SNAPSHOT:
        name = snapshot.details["class"]
        if name == OBJECT_CLASS:
            return (OBJECT_CLASS,)
        if _PLAIN.fullmatch(name) and name in jdk.SUPERTYPES:
            return _final(name) if name in jdk.FINAL else (name,)
        return ()
    return _SIMPLE.get(snapshot.class_name, ())
