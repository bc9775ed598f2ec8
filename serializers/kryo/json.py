"""Values as JSON that describes itself: what is where no column type is fixed.

============================================  ========================================================
Java                                          JSON
============================================  ========================================================
null, Boolean, String, Character              ``null``, ``true``, string
Byte, Short, Integer, Long, BigInteger        number, all digits
Float, Double                                 number, the shortest that gives the value; NaN and the infinities as strings
collections, arrays (but ``byte[]``)          array
maps                                          object where all keys are strings that do not begin with ``$``, else array of
                                              ``{"key": …, "value": …}``
messages of Protobuf                          ``{"$class": …, "$value": {…}}``: fields by name, those not set left out
trees of Jackson                              the JSON that they are, ``byte[]`` in base64
objects with fields                           object with ``"$class"`` and the fields
all others                                    ``{"$class": …, "$value": …}``: BigDecimal, dates, UUID, enums as strings,
                                              ``byte[]`` in base64
an object that contains itself                ``{"$ref": n}``: the object n levels below the outermost
============================================  ========================================================

The outermost value has no ``$class``: its class is in a column of its own. Knows no bytes.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any, Final

from serializers.kryo import jackson
from serializers.kryo.values import Byte, Char, Float, Long, Obj, Short
from serializers.protobuf import whole_json
from serializers.texts import date_text, date_time_text, duration_text, instant_text, shortest_single, time_text
from stateextract.columnar.convert.numerals import MAX_DIGIT_BYTES, big_decimal_text, big_integer_text
from stateextract.errors import ValueRefusedError
from stateextract.printable import json_escapes

MAX_PARTS: Final = 1 << 21
"""Brackets, names and values of one text. Objects that refer to each other can have a text of any length."""
MAX_CHARACTERS: Final = 1 << 27


def json_text(value: Any) -> str:
    """The JSON of a value that is not null, without its own class.

    :raises ValueRefusedError: where it would have more than :data:`MAX_PARTS` parts or :data:`MAX_CHARACTERS` characters.
    """
    writer = _Writer()
    if isinstance(value, Obj):
        writer.content(value)
    else:
        writer.value(value)
    return "".join(writer.parts)


class _Writer:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.left = MAX_CHARACTERS
        self.path: list[int] = []

    def put(self, text: str) -> None:
        """:raises ValueRefusedError: if the text becomes too large."""
        self.left -= len(text)
        self.parts.append(text)
        if self.left < 0 or len(self.parts) > MAX_PARTS:
            raise ValueRefusedError(
                f"the JSON of one value has more than {MAX_PARTS} parts or {MAX_CHARACTERS} characters, counting what it "
                "refers to twice"
            )

    def value(self, value: Any, before: str = "") -> None:
        """:param before: what comes before it."""
        text_of = _PLAIN.get(type(value))
        if text_of is not None:
            self.put(before + text_of(value))
        else:
            self.nested(value, before)

    def nested(self, obj: Obj, before: str) -> None:
        kind = obj.kind
        if self.path and id(obj) in self.path:
            self.put(f'{before}{{"$ref":{self.path.index(id(obj))}}}')
        elif kind in _WITHOUT_CLASS or jackson.is_node(obj):
            self.content(obj, before)
        elif kind == "fields":
            self.fields(obj, f'{before}{{"$class":{_string(obj.class_name)}', ",")
        else:
            self.content(obj, f'{before}{{"$class":{_string(obj.class_name)},"$value":')
            self.put("}")

    def content(self, obj: Obj, before: str = "") -> None:
        """Without the class."""
        kind, value = obj.kind, obj.value
        if jackson.is_node(obj):
            self.path.append(id(obj))
            self.tree(jackson.content(obj), before)
            self.path.pop()
        elif kind == "fields":
            self.fields(obj, before + "{", "")
        elif kind == "list" or kind == "set":
            self.path.append(id(obj))
            separator = before + "["
            for item in value:
                self.value(item, separator)
                separator = ","
            self.put("]" if value else separator + "]")
            self.path.pop()
        elif kind == "map":
            self.path.append(id(obj))
            self.map(value, before)
            self.path.pop()
        elif kind == "wrapped":
            self.path.append(id(obj))
            self.value(value, before)
            self.path.pop()
        elif kind == "big_integer":
            self.put(before + _big_integer(value))
        elif kind == "message":
            self.put(before + whole_json(value))
        else:
            self.put(before + _string(scalar_text(kind, value)))

    def tree(self, value: Any, before: str) -> None:
        """What a node of Jackson's is: an object by its members whatever their names, numbers of any kind as numbers."""
        if not isinstance(value, Obj):
            self.value(value, before)
        elif value.kind == "map":
            self.members(value.value, before)
        elif value.kind == "big_decimal":
            self.put(before + scalar_text(value.kind, value.value))
        elif value.kind == "bytes":
            self.put(before + _string(scalar_text(value.kind, value.value)))
        else:
            self.nested(value, before)

    def fields(self, obj: Obj, before: str, separator: str) -> None:
        self.path.append(id(obj))
        for name, value in obj.value.items():
            self.value(value, f"{before}{separator}{_string(name)}:")
            before, separator = "", ","
        self.put(before + "}")
        self.path.pop()

    def members(self, entries: Any, before: str) -> None:
        separator = before + "{"
        for key, value in entries:
            self.value(value, f"{separator}{_string(key)}:")
            separator = ","
        self.put("}" if entries else separator + "}")

    def map(self, entries: Any, before: str) -> None:
        if all(type(key) is str and not key.startswith("$") for key, _ in entries):
            self.members(entries, before)
            return
        separator = before + "["
        for key, value in entries:
            self.value(key, separator + '{"key":')
            self.value(value, ',"value":')
            self.put("}")
            separator = ","
        self.put("]")


def scalar_text(kind: str, value: Any) -> str:
    """A value that is one text."""
    if kind == "big_decimal":
        return decimal_text(value)
    if kind == "date":
        return instant_text(value // 1000, value % 1000 * 1_000_000)
    if kind == "sql_timestamp":
        return instant_text(value[0] // 1000, value[1])
    if kind == "instant":
        return instant_text(*value)
    if kind == "duration":
        return duration_text(*value)
    if kind == "local_date":
        return date_text(*value)
    if kind == "local_time":
        return time_text(*value)
    if kind == "local_datetime":
        return date_time_text(value)
    if kind == "bytes":
        return base64.b64encode(value).decode("ascii")
    return str(value)


def decimal_text(value: tuple[int, int]) -> str:
    """``BigDecimal.toString()``."""
    _check_digits(value[0])
    return big_decimal_text(*value)


def _big_integer(value: int) -> str:
    _check_digits(value)
    return big_integer_text(value)


def _check_digits(value: int) -> None:
    if value.bit_length() > 8 * MAX_DIGIT_BYTES:
        raise ValueRefusedError(f"a number of {value.bit_length() // 8} bytes is too long to be written in digits")


def _real(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return shortest_single(value) if isinstance(value, Float) else float.__repr__(value)


def _string(text: str) -> str:
    return json_escapes(_quoted(text))


_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode
_WITHOUT_CLASS: Final = frozenset(("list", "set", "map", "big_integer"))
_PLAIN: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda value: "null", bool: lambda value: "true" if value else "false",
    **dict.fromkeys((int, Long, Short, Byte), int.__repr__), float: _real, Float: _real, str: _string, Char: _string,
}  # fmt: skip
"""The JSON of values that are not an :class:`Obj`, by their type."""

__all__ = ["MAX_CHARACTERS", "MAX_PARTS", "decimal_text", "json_text", "scalar_text"]
