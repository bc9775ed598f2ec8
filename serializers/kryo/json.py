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
from typing import Any, Final

from serializers.kryo import jackson
from serializers.kryo.values import Float, Obj
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
        self.left -= len(text)
        self.parts.append(text)
        if self.left < 0 or len(self.parts) > MAX_PARTS:
            raise ValueRefusedError(
                f"the JSON of one value has more than {MAX_PARTS} parts or {MAX_CHARACTERS} characters, counting what it "
                "refers to twice"
            )

    def value(self, value: Any) -> None:
        if value is None:
            self.put("null")
        elif isinstance(value, bool):
            self.put("true" if value else "false")
        elif isinstance(value, int):
            self.put(str(int(value)))
        elif isinstance(value, float):
            self.put(_real(value))
        elif isinstance(value, str):
            self.put(_string(value))
        else:
            self.nested(value)

    def nested(self, obj: Obj) -> None:
        if id(obj) in self.path:
            self.put(f'{{"$ref":{self.path.index(id(obj))}}}')
        elif obj.kind in ("list", "set", "map", "big_integer") or jackson.is_node(obj):
            self.content(obj)
        elif obj.kind == "fields":
            self.fields(obj, obj.class_name)
        else:
            self.put(f'{{"$class":{_string(obj.class_name)},"$value":')
            self.content(obj)
            self.put("}")

    def content(self, obj: Obj) -> None:
        """Without the class."""
        kind, value = obj.kind, obj.value
        if jackson.is_node(obj):
            self.path.append(id(obj))
            self.tree(jackson.content(obj))
            self.path.pop()
        elif kind == "fields":
            self.fields(obj, None)
        elif kind in ("list", "set"):
            self.path.append(id(obj))
            self.sequence("[", value, self.value, "]")
            self.path.pop()
        elif kind == "map":
            self.path.append(id(obj))
            if all(type(key) is str and not key.startswith("$") for key, _ in value):
                self.sequence("{", value, self.member, "}")
            else:
                self.sequence("[", value, self.pair, "]")
            self.path.pop()
        elif kind == "wrapped":
            self.path.append(id(obj))
            self.value(value)
            self.path.pop()
        elif kind == "big_integer":
            self.put(_big_integer(value))
        elif kind == "message":
            self.put(whole_json(value))
        else:
            self.put(_string(scalar_text(kind, value)))

    def tree(self, value: Any) -> None:
        """What a node of Jackson's is: an object by its members whatever their names, numbers of any kind as numbers."""
        if not isinstance(value, Obj):
            self.value(value)
        elif value.kind == "map":
            self.sequence("{", value.value, self.member, "}")
        elif value.kind == "big_decimal":
            self.put(scalar_text(value.kind, value.value))
        elif value.kind == "bytes":
            self.put(_string(scalar_text(value.kind, value.value)))
        else:
            self.nested(value)

    def fields(self, obj: Obj, class_name: str | None) -> None:
        self.path.append(id(obj))
        first = [("$class", class_name)] if class_name is not None else []
        self.sequence("{", [*first, *obj.value.items()], self.member, "}")
        self.path.pop()

    def sequence(self, opening: str, items: Any, write: Any, closing: str) -> None:
        self.put(opening)
        for i, item in enumerate(items):
            if i:
                self.put(",")
            write(item)
        self.put(closing)

    def member(self, item: tuple[str, Any]) -> None:
        self.put(_string(item[0]))
        self.put(":")
        self.value(item[1])

    def pair(self, item: tuple[Any, Any]) -> None:
        self.put('{"key":')
        self.value(item[0])
        self.put(',"value":')
        self.value(item[1])
        self.put("}")


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
    return json_escapes(json.dumps(text, ensure_ascii=False))


__all__ = ["MAX_CHARACTERS", "MAX_PARTS", "decimal_text", "json_text", "scalar_text"]
