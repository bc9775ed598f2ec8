"""Objects that Java's own serialization wrote, as this package holds values: read as data, field by field.

The JDK's lists, sets and maps are lists, sets and maps, boxes are what they hold; any other object has its fields, with what
its own ``writeObject`` added as ``$written``. Kryo keeps one object stream per serializer and value, so only the first object
of a value has the stream's header.
Kryo's class: ``serializers.JavaSerializer``; Flink's: ``typeutils.runtime.kryo.JavaSerializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from serializers.kryo.kryo_values import Byte, Char, Float, Long, Obj, Short
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
    java_container,
    parse_java_stream,
)
from stateextract.files.reader import Reader

if TYPE_CHECKING:
    from serializers.kryo.kryo_reader import Body, Generics, Kryo

LIMITS = JavaLimits(depth=60, values=200_000)


def java_object(class_name: str) -> Body:
    """One object of a Java object stream."""

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        reader = Reader(s.data, s.pos, s.end)
        if reader.remaining >= len(MAGIC) and bytes(s.data[s.pos : s.pos + len(MAGIC)]) != MAGIC:
            raise UndecodableError(
                f"one value contains a second Java-serialized object ({class_name}), in the stream of the first",
                offset=s.pos,
            )
        value = parse_java_stream(reader, LIMITS)
        s.pos = reader.pos
        return plain(value)

    return body


def plain(value: Any) -> Any:
    """As this package holds values; objects that refer to each other still do."""
    return _plain(value, {})


def _plain(value: Any, seen: dict[int, Any]) -> Any:
    if isinstance(value, JavaEnum):
        return Obj(value.class_name, "enum", value.name)
    if isinstance(value, JavaClass | JavaClassDescriptor):
        return Obj("java.lang.Class", "text", value.name)
    if not isinstance(value, JavaArray | JavaObject):
        return value
    known = seen.get(id(value))
    if known is not None:
        return known
    if isinstance(value, JavaArray) and isinstance(value.elements, bytes):
        return Obj(value.class_name, "bytes", value.elements)
    if isinstance(value, JavaObject):
        boxed = _unboxed(value)
        if boxed is not None:
            return boxed
    container = java_container(value)
    if container is not None:
        kind, elements = container
        seen[id(value)] = obj = Obj(value.class_name, kind, [])
        single = value.class_name == "[F"
        items = [Float(v) if single and isinstance(v, float) else _plain(v, seen) for v in elements]
        obj.value.extend(items if kind != "map" else zip(items[::2], items[1::2], strict=False))
        return obj
    assert isinstance(value, JavaObject)
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


_BOXES = {
    "Boolean": bool, "Byte": Byte, "Short": Short, "Integer": int, "Long": Long, "Float": Float, "Double": float,
    "Character": Char,
}  # fmt: skip


def _unboxed(value: JavaObject) -> Any:
    package, _, name = value.class_name.rpartition(".")
    box = _BOXES.get(name) if package == "java.lang" else None
    content = value.get("value")
    return None if box is None or not isinstance(content, bool | int | float | str) else box(content)
