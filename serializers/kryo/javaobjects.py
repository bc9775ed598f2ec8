"""Objects inside of Kryo that Java's own serialization wrote: read as data, field by field.

Kryo keeps one object stream per serializer and value, so only the first object of a value has the stream's header.
Kryo's class: ``serializers.JavaSerializer``; Flink's: ``typeutils.runtime.kryo.JavaSerializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from serializers.kryo.values import Byte, Char, Obj
from serializers.kryo.wire import Input
from stateextract.errors import UndecodableError
from stateextract.files.javastream import (
    MAGIC,
    JavaArray,
    JavaClass,
    JavaClassDescriptor,
    JavaEnum,
    JavaLimits,
    JavaObject,
    parse_java_stream,
)
from stateextract.files.reader import Reader

if TYPE_CHECKING:
    from serializers.kryo.reader import Body, Generics, Kryo

_LIMITS = JavaLimits(depth=60, values=200_000)


def java_object(class_name: str) -> Body:
    """One object of a Java object stream."""

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        reader = Reader(s.data, s.pos, s.end)
        if reader.remaining >= len(MAGIC) and bytes(s.data[s.pos : s.pos + len(MAGIC)]) != MAGIC:
            raise UndecodableError(
                f"a second Java-serialized object ({class_name}) stands in one value, in the stream of the first",
                offset=s.pos,
            )
        value = parse_java_stream(reader, _LIMITS)
        s.pos = reader.pos
        return _plain(value, {}, class_name)

    return body


def _plain(value: Any, seen: dict[int, Any], class_name: str | None = None) -> Any:
    """As this package holds values; objects that refer to each other still do."""
    if isinstance(value, JavaEnum):
        return Obj(value.class_name, "enum", value.name)
    if isinstance(value, JavaClass | JavaClassDescriptor):
        return Obj("java.lang.Class", "text", value.name)
    if isinstance(value, JavaArray | JavaObject):
        known = seen.get(id(value))
        if known is not None:
            return known
    if isinstance(value, JavaArray):
        if isinstance(value.elements, bytes):
            return Obj(value.class_name, "bytes", value.elements)
        items: list[Any] = []
        seen[id(value)] = obj = Obj(value.class_name, "list", items)
        items.extend(_plain(v, seen) for v in value.elements)
        return obj
    if isinstance(value, JavaObject):
        boxed = _unboxed(value)
        if boxed is not None:
            return boxed
        values: dict[str, Any] = {}
        seen[id(value)] = obj = Obj(value.class_name, "fields", values)
        for fields in value.fields.values():
            for name, field in fields.items():
                values[name] = _plain(field, seen)
        extra = [
            _plain(v, seen) if not isinstance(v, bytes) else Obj("[B", "bytes", v)
            for contents in value.annotations.values()
            for v in contents
        ]
        if extra:
            values["$written"] = Obj("java.util.ArrayList", "list", extra)
        return obj
    return value


def _unboxed(value: JavaObject) -> Any:
    if value.class_name in ("java.lang.Integer", "java.lang.Long", "java.lang.Short", "java.lang.Boolean",
                            "java.lang.Double", "java.lang.Float"):  # fmt: skip
        return value.get("value")
    if value.class_name == "java.lang.Byte":
        found = value.get("value")
        return Byte(found) if isinstance(found, int) else found
    if value.class_name == "java.lang.Character":
        return Char(value.get("value"))
    return None
