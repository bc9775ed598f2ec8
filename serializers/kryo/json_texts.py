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
from serializers.kryo.kryo_values import Byte, Char, Float, Long, Obj, Short
from serializers.protobuf import whole_json
from serializers.time_texts import (
    date_time_text,
    duration_text,
    instant_text,
    moment_text,
    shortest_single,
    time_text,
)
from stateextract.columnar.convert.dates import date_text
from stateextract.columnar.convert.numerals import MAX_DIGIT_BYTES, big_decimal_text, big_integer_text
from stateextract.errors import ValueRefusedError
from stateextract.printable import json_escapes

MAX_PARTS: Final = 1 << 21
"""Brackets, names and values of one text. Objects that refer to each other can have a text of any length."""
MAX_CHARACTERS: Final = 1 << 27
_LONG: Final = 1 << 63


class Quoted(str):
    """The JSON in quotes of what is not a string."""

    __slots__ = ()


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
        text_of = PLAIN.get(type(value))
        if text_of is not None:
            self.put(before + text_of(value))
        else:
            self.nested(value, before)

    def nested(self, obj: Obj, before: str) -> None:
        kind = obj.kind
        if self.path and id(obj) in self.path:
            self.put(f'{before}{{"$ref":{self.path.index(id(obj))}}}')
        elif kind in WITHOUT_CLASS or jackson.is_node(obj):
            self.content(obj, before)
        elif kind == "fields":
            self.fields(obj, f'{before}{{"$class":{string_text(obj.class_name)}', ",")
        else:
            self.content(obj, f'{before}{{"$class":{string_text(obj.class_name)},"$value":')
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
        else:
            self.put(before + SCALARS.get(kind, _text)(value))

    def tree(self, value: Any, before: str) -> None:
        """What a node of Jackson's is: an object by its members whatever their names, numbers of any kind as numbers."""
        if not isinstance(value, Obj):
            self.value(value, before)
        elif value.kind == "map":
            self.members(value.value, before)
        elif value.kind == "big_decimal":
            self.put(before + decimal_text(value.value))
        elif value.kind == "bytes":
            self.put(before + SCALARS[value.kind](value.value))
        else:
            self.nested(value, before)

    def fields(self, obj: Obj, before: str, separator: str) -> None:
        self.path.append(id(obj))
        for name, value in obj.value.items():
            self.value(value, f"{before}{separator}{string_text(name)}:")
            before, separator = "", ","
        self.put(before + "}")
        self.path.pop()

    def members(self, entries: Any, before: str) -> None:
        separator = before + "{"
        for key, value in entries:
            self.value(value, f"{separator}{string_text(key)}:")
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


def decimal_text(value: tuple[int, int]) -> str:
    """``BigDecimal.toString()``."""
    unscaled, scale = value
    if not -_LONG < unscaled < _LONG:
        _check_digits(unscaled)
    return big_decimal_text(unscaled, scale)


def _big_integer(value: int) -> str:
    _check_digits(value)
    return big_integer_text(value)


def _check_digits(value: int) -> None:
    if value.bit_length() > 8 * MAX_DIGIT_BYTES:
        raise ValueRefusedError(f"a number of {value.bit_length() // 8} bytes is too long to be written in digits")


def _real(value: float) -> str:
    text = float.__repr__(value)
    return text if text[-1] not in "nf" else Quoted(_NOT_FINITE[text])


_NOT_FINITE: Final = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def string_text(text: str) -> str:
    """A string in quotes."""
    return quoted(text) if text.isascii() else json_escapes(quoted(text))


def _char(text: str) -> Quoted:
    return Quoted(string_text(text))


def _single(value: float) -> str:
    return shortest_single(value) if math.isfinite(value) else _real(value)


def _text(value: Any) -> str:
    return string_text(str(value))


def _date(millis: int) -> str:
    return f'"{moment_text(millis)}"'


quoted: Final[Callable[[str], str]] = json.encoder.encode_basestring
WITHOUT_CLASS: Final = frozenset(("list", "set", "map", "big_integer"))
PLAIN: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda value: "null", bool: lambda value: "true" if value else "false",
    **dict.fromkeys((int, Long, Short, Byte), int.__repr__), float: _real, Float: _single, str: string_text, Char: _char,
}  # fmt: skip
"""The JSON of values that are not an :class:`Obj`, by their type."""

SCALARS: Final[dict[str, Callable[[Any], str]]] = {
    "big_integer": _big_integer, "big_decimal": lambda value: f'"{decimal_text(value)}"', "message": whole_json,
    "date": _date, "sql_timestamp": lambda value: f'"{instant_text(value[0] // 1000, value[1])}"',
    "instant": lambda value: f'"{instant_text(*value)}"', "duration": lambda value: f'"{duration_text(*value)}"',
    "local_date": lambda value: f'"{date_text(*value)}"', "local_time": lambda value: f'"{time_text(*value)}"',
    "local_datetime": lambda value: f'"{date_time_text(value)}"',
    "bytes": lambda value: f'"{base64.b64encode(value).decode("ascii")}"',
    "text": _text, "enum": string_text,
    "wrapped": lambda value: PLAIN[type(value)](value),
}  # fmt: skip
"""The JSON of an :class:`Obj` without parts, by its kind; of ``wrapped`` where it holds no other object."""
