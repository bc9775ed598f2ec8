"""Objects that Java's own serialization wrote: the class, and the object as JSON text.

Flink's class: ``org.apache.flink.runtime.state.JavaSerializer`` (keyed state of old jobs, operator state without a type).
The stream is read as data (``files/javastream.py``); no class is looked for, none is loaded. Strings, booleans, numbers
and their boxes are themselves (NaN and the infinities as text), an enum constant is its name, arrays and the JDK's
lists are lists, ``byte[]`` is hexadecimal text; any other object is ``{"class": …, "fields": {…}}``, with what its own
``writeObject`` added under ``written``. An object inside itself is ``{"class": …, "cycle": true}``.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from serializers.registry import register
from stateextract.columnar.layout import Python
from stateextract.errors import ValueRefusedError
from stateextract.files.javastream import (
    JavaArray,
    JavaClass,
    JavaClassDescriptor,
    JavaEnum,
    JavaLimits,
    JavaObject,
    java_elements,
    parse_java_stream,
)
from stateextract.files.reader import Reader
from stateextract.printable import json_escapes, replaced

COLUMN = pa.struct([pa.field("class", pa.string()), pa.field("json", pa.string())])
MAX_VALUES = 100_000
_LIMITS = JavaLimits(depth=60, values=MAX_VALUES)
_BOXES = {f"java.lang.{n}" for n in ("Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double", "Character")}


def _decode(data: memoryview, pos: int, end: int) -> tuple[dict[str, str | None] | None, int]:
    reader = Reader(data, pos, end)
    value = parse_java_stream(reader, _LIMITS)
    if value is None:
        return None, reader.pos
    text = json.dumps(_Plain().of(value), ensure_ascii=False, separators=(",", ":"))
    return {"class": replaced(_class_of(value)), "json": json_escapes(text)}, reader.pos


def _class_of(value: Any) -> str:
    if isinstance(value, str):
        return "java.lang.String"
    if isinstance(value, JavaClass | JavaClassDescriptor):
        return "java.lang.Class"
    name: str = value.class_name
    return name


class _Plain:
    """One object as what JSON knows; an object met in several places is written in each, within a bound."""

    def __init__(self) -> None:
        self.values = 0
        self.open: list[int] = []

    def of(self, value: Any) -> Any:
        self.values += 1
        if self.values > MAX_VALUES:
            raise ValueRefusedError(f"a Java object unfolds to more than {MAX_VALUES} values")
        if isinstance(value, float):
            return value if abs(value) < float("inf") else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        if isinstance(value, JavaEnum | JavaClass | JavaClassDescriptor):
            return value.name
        if not isinstance(value, JavaArray | JavaObject):
            return value
        if id(value) in self.open:
            return {"class": value.class_name, "cycle": True}
        self.open.append(id(value))
        try:
            return self.array(value) if isinstance(value, JavaArray) else self.object(value)
        finally:
            self.open.pop()

    def array(self, value: JavaArray) -> Any:
        return value.elements.hex() if isinstance(value.elements, bytes) else [self.of(v) for v in value.elements]

    def object(self, value: JavaObject) -> Any:
        if value.class_name in _BOXES:
            return self.of(value.get("value"))
        elements = java_elements(value)
        if elements is not None:
            return [self.of(v) for v in elements]
        fields = {name: self.of(v) for group in value.fields.values() for name, v in group.items()}
        written = [
            v.hex() if isinstance(v, bytes) else self.of(v) for group in value.annotations.values() for v in group
        ]
        return {"class": value.class_name, "fields": fields} | ({"written": written} if written else {})


register("org.apache.flink.runtime.state.JavaSerializer$JavaSerializerSnapshot", Python(_decode, COLUMN))
