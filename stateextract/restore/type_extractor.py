"""Flink's ``TypeExtractor``: which serializer the new job has, by its class files.

Makes the serializer snapshot that a job with these classes would write. What follows from more than classes (type
information that the job gives, custom serializers, type parameters) is not known, and gives ``None``.

Flink's classes: ``org.apache.flink.api.java.typeutils.{TypeExtractor,PojoTypeInfo}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from serializers.arrays import ARRAY
from serializers.avro import AVRO_SNAPSHOTS
from serializers.classes import FieldModel
from serializers.classfile import ClassShape
from serializers.containers import LIST_SNAPSHOT, MAP_SNAPSHOT, SET_SNAPSHOT
from serializers.javatypes import PRIMITIVES, JavaType, parse_type
from serializers.pojo import POJO_SNAPSHOT
from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot
from serializers.scalars import BASE
from serializers.tuples import ENUM_SNAPSHOT, NULLABLE_SNAPSHOT, RUNTIME
from stateextract.restore.answers import Release
from stateextract.restore.job_classes import JobClasses

_MAX_DEPTH: Final = 30
_BOXES: Final = {"Integer": "Int", "Character": "Char"}
_SCALARS: Final = {
    "java.lang.String": "String", "java.math.BigInteger": "BigInt", "java.math.BigDecimal": "BigDec",
    "java.util.Date": "Date", "java.sql.Date": "SqlDate", "java.sql.Time": "SqlTime", "java.sql.Timestamp": "SqlTimestamp",
    "java.time.Instant": "Instant", "java.time.LocalDate": "LocalDate", "java.time.LocalTime": "LocalTime",
    "java.time.LocalDateTime": "LocalDateTime", "java.lang.Void": "Void",
    **{name: name.capitalize() for name in PRIMITIVES},
    **{
        f"java.lang.{boxed}": _BOXES.get(boxed, boxed)
        for boxed in ("Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double", "Character")
    },
}  # fmt: skip
_TUPLE: Final = "org.apache.flink.api.java.tuple.Tuple"
_OWN_TYPE: Final = frozenset(
    {
        "org.apache.flink.types.Value", "org.apache.hadoop.io.Writable",
        "org.apache.avro.specific.SpecificRecord", "org.apache.avro.specific.SpecificRecordBase",
        "org.apache.flink.types.Row",
    }
)  # fmt: skip
"""Who extends one of these has type information of another kind."""
STRING_ARRAY: Final = SerializerSnapshot(ARRAY + "StringArraySerializer$StringArraySerializerSnapshot", 3)
TUPLE_SNAPSHOT: Final = RUNTIME + "TupleSerializerSnapshot"
_SETTER: Final = re.compile(r"\(\[*(L[^;]*;|[BCDFIJSZ])\)V")
"""The type of a method with one parameter that returns nothing."""
_MAP: Final = "java.util.Map"
_SET: Final = "java.util.Set"
COLLECTIONS: Final = frozenset({_MAP, _SET, "java.util.List", "java.util.Collection", "java.lang.Iterable"})
"""Interfaces that Kryo writes in Flink 1, and serializers of their own in Flink 2."""


class Extractor:
    """Derives serializer snapshots of a job's classes.

    :param release: of the new job, which decides on fields that are lists or maps; ``None``: not known.
    """

    def __init__(self, classes: JobClasses, release: Release | None) -> None:
        self.classes = classes
        self.release = release
        self._open: list[str] = []

    def of_type(self, type_: JavaType) -> SerializerSnapshot | None:
        """The serializer of a declared type."""
        if type_.dimensions:
            return self._array(type_)
        if type_.name in _SCALARS:
            return simple(_SCALARS[type_.name])
        if type_.name in COLLECTIONS:
            return self._collection(type_)
        if type_.name.startswith(_TUPLE) and type_.arguments:
            nested = all_known(map(self.of_type, type_.arguments))
            return None if nested is None else composite(TUPLE_SNAPSHOT, *nested, **{"class": type_.name})
        if type_.name == "?" or type_.arguments or len(self._open) > _MAX_DEPTH:
            return None
        return self.of_class(type_.name)

    def of_class(self, name: str) -> SerializerSnapshot | None:
        """The serializer of ``TypeInformation.of(name.class)``; ``None`` where that is not known."""
        if name in _SCALARS:
            return simple(_SCALARS[name])
        shape = self.classes.shape(name)
        if shape is not None and shape.annotated:
            return None
        if shape is None:
            return kryo(name) if name.startswith("java.") and name not in COLLECTIONS else None
        if shape.model.kind == "enum":
            return self.enum(shape)
        if shape.model.parameters:
            return None
        lineage = self.classes.lineage(name)
        if lineage is None or _has_own_type(lineage):
            return None
        if name in self._open:
            return kryo(name)  # a type inside of itself
        self._open.append(name)
        try:
            fields = self._pojo_fields(lineage)
            if fields is None:
                return kryo(name)
            return self._pojo(name, fields)
        finally:
            self._open.pop()

    def enum(self, shape: ClassShape) -> SerializerSnapshot:
        details = {"class": shape.model.name, "constants": shape.model.constants}
        return SerializerSnapshot(ENUM_SNAPSHOT, 3, details=details)

    def avro(self, name: str) -> SerializerSnapshot | None:
        """The serializer of a class that Avro's compiler made: its schema is a text in its code."""
        shape = self.classes.shape(name)
        for text in () if shape is None else shape.texts:
            try:
                document = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if not isinstance(document, dict) or document.get("type") not in ("record", "enum", "fixed"):
                continue
            full = document.get("name", "")
            full = full if "." in full or "namespace" not in document else f"{document['namespace']}.{full}"
            if full.replace("$", ".") == name.replace("$", "."):
                return SerializerSnapshot(AVRO_SNAPSHOTS[0], 3, details={"class": name, "schema": text})
        return None

    def _pojo(self, name: str, fields: list[tuple[str, FieldModel]]) -> SerializerSnapshot | None:
        nested = []
        for _, field in fields:
            type_ = parse_type(field.type)
            nested.append(self.of_type(type_) or not_derived(str(type_)))
        details = {
            "class": name,
            "fields": tuple(field.name for _, field in fields),
            "declared": tuple(declaring for declaring, _ in fields),
            "registered": (),
            "other": (),
        }
        return SerializerSnapshot(POJO_SNAPSHOT, 2, details=details, nested=tuple(nested))

    def _pojo_fields(self, lineage: list[ClassShape]) -> list[tuple[str, FieldModel]] | None:
        """The fields with the classes that declare them, by name; ``None`` where Flink takes the class for no POJO."""
        first = lineage[0]
        record = first.model.kind == "record"
        if not first.public or first.model.kind not in ("class", "record"):
            return None
        constructors = [public for name, descriptor, public in first.methods if (name, descriptor) == ("<init>", "()V")]
        if not record and not first.abstract and constructors != [True]:
            return None
        found: dict[str, tuple[str, FieldModel]] = {}
        for shape in lineage:
            for field in shape.model.fields:
                if field.name in found:
                    return None
                if not (record or field.name in shape.public_fields or _has_accessors(field, lineage)):
                    return None
                found[field.name] = (shape.model.name, field)
        return [found[name] for name in sorted(found)] or None

    def _array(self, type_: JavaType) -> SerializerSnapshot | None:
        component = type_.component
        if component.is_primitive:
            return primitive_array(component.name.capitalize())
        if not component.dimensions and component.name == "java.lang.String":
            return STRING_ARRAY
        element = self.of_type(component)
        if element is None:
            return None
        return composite(BASE + "GenericArraySerializerSnapshot", element, **{"class": component.class_name})

    def _collection(self, type_: JavaType) -> SerializerSnapshot | None:
        """A collection of Java, as the type of a field. Flink 2 has a serializer for it if all its arguments are classes."""
        if self.release is None:
            return None
        if self.release.major < 2 or not type_.arguments or any(a.name == "?" or a.arguments for a in type_.arguments):
            return kryo(type_.name)
        nested = all_known(map(self.of_type, type_.arguments))
        return None if nested is None else in_flink_2(type_.name, *nested)


def in_flink_2(name: str, *nested: SerializerSnapshot) -> SerializerSnapshot:
    """``NullableMapTypeInfo``, ``NullableSetTypeInfo``, ``NullableListTypeInfo``: a map's keys may be null.

    :param name: of the interface; :param nested: of its arguments, if they are known.
    """
    class_name = {_MAP: MAP_SNAPSHOT, _SET: SET_SNAPSHOT}.get(name, LIST_SNAPSHOT)
    if nested and name != _SET:
        nested = (_nullable(nested[0]), *nested[1:])
    return _nullable(composite(class_name, *nested))


def _nullable(snapshot: SerializerSnapshot) -> SerializerSnapshot:
    if snapshot.class_name == NULLABLE_SNAPSHOT:
        return snapshot
    return SerializerSnapshot(NULLABLE_SNAPSHOT, 3, 2, {"padding": 0}, (snapshot,))


def _has_own_type(lineage: list[ClassShape]) -> bool:
    above = {
        parse_type(text).name for shape in lineage for text in (shape.model.superclass, *shape.model.interfaces) if text
    }
    annotated = any(shape.annotated for shape in lineage)
    return annotated or bool(above & _OWN_TYPE) or any(name.startswith(_TUPLE) for name in above)


def _has_accessors(field: FieldModel, lineage: list[ClassShape]) -> bool:
    """Whether a getter and a setter make a field that is not public one of a POJO."""
    low = field.name.lower().replace("_", "")
    getter = setter = False
    for name, descriptor, public in (method for shape in lineage for method in shape.methods):
        plain = name.lower().replace("_", "")
        if not public:
            continue
        if plain in (f"get{low}", f"is{low}", low) and descriptor.startswith("()") and descriptor != "()V":
            getter = True
        if _SETTER.fullmatch(descriptor) and (plain in (f"set{low}", low) or name == f"{field.name}_$eq"):
            setter = True
    return getter and setter


def all_known(snapshots: Iterable[SerializerSnapshot | None]) -> list[SerializerSnapshot] | None:
    """The snapshots; ``None`` if one of them is not known."""
    found = list(snapshots)
    known = [snapshot for snapshot in found if snapshot is not None]
    return known if len(known) == len(found) else None


def simple(name: str) -> SerializerSnapshot:
    """The serializer ``LongSerializer`` of ``Long``."""
    return SerializerSnapshot(f"{BASE}{name}Serializer${name}SerializerSnapshot", 3)


def kryo(name: str) -> SerializerSnapshot:
    """A generic type."""
    return SerializerSnapshot(KRYO_SNAPSHOT, 2, details={"class": name})


def primitive_array(name: str) -> SerializerSnapshot:
    """The serializer ``LongPrimitiveArraySerializer`` of ``Long``."""
    return SerializerSnapshot(f"{ARRAY}{name}PrimitiveArraySerializer${name}PrimitiveArraySerializerSnapshot", 3)


def not_derived(type_: str) -> SerializerSnapshot:
    """In place of a serializer that does not follow from class files."""
    return SerializerSnapshot("", 0, details={"unknown": "derived", "type": type_})


def composite(class_name: str, *nested: SerializerSnapshot, **details: str) -> SerializerSnapshot:
    """A serializer of these parts."""
    return SerializerSnapshot(class_name, 3, 1, details=details, nested=nested)
