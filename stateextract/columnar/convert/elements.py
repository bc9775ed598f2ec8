"""Elements that PyFlink's coders wrote one after the other into one ``byte[]``.

State of a Python process is a list of ``byte[]``, also where Python sees a value: each holds what was added between two
bundles, and nothing in the snapshot records its type. The user does, with the types ``element(TYPE)`` and ``elements(TYPE)``,
in PyFlink's own words for types (:data:`TYPES`).

Forms of ``pyflink/fn_execution/coder_impl_slow.py``: numbers big-endian, booleans a byte, dates ``i32`` days, timestamps
``i64`` milliseconds and beyond those ``i32`` nanoseconds; text, bytes, decimals (as text) and pickles after an ``i32``
length; rows a mask of their kind and their nulls, then their fields; tuples their fields; lists and maps a count, with a flag
before each element and each value. Nothing is unpickled.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa

from stateextract.columnar.convert.pickles_to_json import unread_json
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.errors import StateExtractError
from stateextract.files.pickles import PickleNotes, pickle_json
from stateextract.files.reader import Reader

TYPES: Final = {
    "bool, int8, int16, int32, int64, float32, float64, string, binary, decimal(p,s), date": "",
    "time": "a time of day, as text with milliseconds",
    "timestamp[ms]": "a timestamp of up to three digits",
    "timestamp[us]": "one of more digits",
    "instant": "an Instant; digits below the microsecond as the option `timestamps` has it",
    "window": "a time window, with its start and end",
    "pickle": "what has no other type, as JSON text",
    "pickle<TYPE>": "the same as a column of one of the types above, alone",
    "row<TYPE, …>, row<name: TYPE, …>": "a Row; its kind is the field `row_kind`",
    "tuple<TYPE, …>": "a tuple",
    "list<TYPE>": "a list, or an array of objects",
    "array<TYPE>": "an array of primitive values",
    "map<TYPE, TYPE>": "a dictionary",
}
"""What an element can be, and what that is in PyFlink."""

_DEEPEST: Final = 16
_DECIMAL: Final = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_NESTED: Final = re.compile(r"(row|tuple|list|array|map)\s*<(.*)>", re.DOTALL)
_NAMED: Final = re.compile(r"(\w+)\s*:\s*(.*)", re.DOTALL)
_KINDS: Final = ("+I", "-U", "+U", "-D")
_NO_INSTANT: Final = (-(1 << 63), -(1 << 31))


@dataclass
class Conversion:
    """What converting values needs, and what it met.

    :param counts: values that were changed to fit their column; :param notes: the same of pickles.
    """

    policy: Policy = field(default_factory=Policy)
    counts: ChangeCounts = field(default_factory=ChangeCounts)
    notes: PickleNotes = field(default_factory=PickleNotes)


class ElementReader(Reader):
    """The bytes of elements."""

    def __init__(self, data: bytes, conversion: Conversion) -> None:
        super().__init__(data)
        self.conversion = conversion


@dataclass(frozen=True)
class Element:
    """A type of PyFlink's.

    :param read: takes a value from a reader; raises ``ValueError`` or a :class:`StateExtractError` where there is none.
    :param form: of numbers, for ``struct``; what has one needs no ``read``.
    :param is_text: text or bytes after their length.
    """

    type: pa.DataType
    read: Callable[[ElementReader], Any]
    form: str | None = None
    is_text: bool = False


def parse_element(text: str, fine: bool = False, depth: int = 0) -> Element | None:
    """The element that a text of :data:`TYPES` names; ``None`` where it names none.

    :param fine: instants have nanoseconds.
    """
    text = text.strip()
    if text in _PLAIN:
        return _FINE.get(text, _PLAIN[text]) if fine else _PLAIN[text]
    if match := _DECIMAL.fullmatch(text):
        precision, scale = int(match[1]), int(match[2])
        return (
            Element(pa.decimal128(precision, scale), _decimal) if 1 <= precision <= 38 and scale <= precision else None
        )
    match = _NESTED.fullmatch(text)
    if match is None or depth == _DEEPEST:
        return None
    names, inner = [], []
    for i, part in enumerate(_parts(match[2])):
        named = _NAMED.fullmatch(part.strip()) if match[1] == "row" else None
        names.append(named[1] if named else f"f{i}")
        inner.append(parse_element(named[2] if named else part, fine, depth + 1))
    known = [element for element in inner if element is not None]
    if len(known) < len(inner) or len(set(names)) < len(names):
        return None
    return _nested(match[1], names, known)


def _parts(text: str) -> list[str]:
    """The texts between the commas that are outside of all brackets."""
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return [*parts, text[begin:]]


def _nested(kind: str, names: Sequence[str], inner: Sequence[Element]) -> Element | None:
    fields = [pa.field(name, element.type) for name, element in zip(names, inner, strict=True)]
    if kind == "row":
        if "row_kind" in names:
            return None
        return Element(pa.struct([*fields, pa.field("row_kind", pa.string())]), _row(names, inner))
    if kind == "tuple":
        return Element(pa.struct(fields), _tuple(names, inner))
    if kind == "map":
        return Element(pa.map_(inner[0].type, inner[1].type), _map(*inner)) if len(inner) == 2 else None
    return Element(pa.list_(inner[0].type), _list(inner[0], flags=kind == "list")) if len(inner) == 1 else None


def split(data: bytes, element: Element, conversion: Conversion) -> list[Any]:
    """The elements that bytes hold.

    :raises ValueError: where the bytes are not a whole number of such elements.
    """
    if element.form is not None:
        if len(data) % struct.calcsize(element.form):
            raise ValueError("a part of an element is left")
        return [number for (number,) in struct.iter_unpack(element.form, data)]
    reader = ElementReader(data, conversion)
    found = []
    try:
        while reader.remaining:
            found.append(element.read(reader))
    except StateExtractError as error:
        raise ValueError(error.message) from None
    return found


def split_pickles(data: bytes) -> list[bytes]:
    """The pickles that bytes hold, each after its length.

    :raises ValueError: where they do not.
    """
    found, at = [], 0
    while at < len(data):
        start = at + 4
        at = start + int.from_bytes(data[at:start], "big")
        if at > len(data) or start > len(data):
            raise ValueError("a pickle goes beyond the end")
        found.append(data[start:at])
    return found


def _number(type_: pa.DataType, form: str) -> Element:
    size = struct.calcsize(form)
    return Element(type_, lambda reader: struct.unpack(form, reader.bytes(size, "a number"))[0], form)


def _bytes(reader: ElementReader) -> bytes:
    return bytes(reader.bytes(reader.i32("a length"), "an element"))


def _bool(reader: ElementReader) -> bool:
    flag = reader.u8("a boolean")
    if flag > 1:
        raise ValueError("no boolean")
    return flag == 1


def _micros(reader: ElementReader) -> int:
    millis, nanos = reader.i64("milliseconds"), reader.i32("nanoseconds")
    if not 0 <= nanos < 1_000_000:
        raise ValueError("no nanoseconds of a millisecond")
    return _in_64_bits(millis * 1000 + _floored(nanos, reader.conversion))


def _instant(reader: ElementReader) -> int | None:
    return _instant_of(reader, 1_000_000, lambda nanos: _floored(nanos, reader.conversion))


def _fine_instant(reader: ElementReader) -> int | None:
    return _instant_of(reader, 1_000_000_000, lambda nanos: nanos)


def _instant_of(reader: ElementReader, per_second: int, below: Callable[[int], int]) -> int | None:
    seconds, nanos = reader.i64("seconds"), reader.i32("nanoseconds")
    if (seconds, nanos) == _NO_INSTANT:
        return None
    if not 0 <= nanos < 1_000_000_000:
        raise ValueError("no nanoseconds of a second")
    return _in_64_bits(seconds * per_second + below(nanos))


def _floored(nanos: int, conversion: Conversion) -> int:
    """Nanoseconds as microseconds, by the policy for timestamps."""
    if nanos % 1000:
        if conversion.policy.timestamps == "fail":
            raise ValueError("digits below the microsecond")
        conversion.counts.sub_microsecond += 1
    return nanos // 1000


def _time(reader: ElementReader) -> str:
    millis = reader.i32("milliseconds of the day")
    if not 0 <= millis < 86_400_000:
        raise ValueError("no time of day")
    minutes, rest = divmod(millis, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}.{rest % 1000:03}"


def _window(reader: ElementReader) -> dict[str, int]:
    start, end = reader.i64("a window's start"), reader.i64("a window's end")
    if start > end:
        raise ValueError("a window that ends before it starts")
    return {"start": _in_64_bits(start * 1000), "end": _in_64_bits(end * 1000)}


def _in_64_bits(number: int) -> int:
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError("a time beyond 64 bits")
    return number


def _pickle(reader: ElementReader) -> str:
    data, notes = _bytes(reader), reader.conversion.notes
    found = pickle_json(data, notes)
    return unread_json(data) if found is None else found


def _decimal(reader: ElementReader) -> Decimal:
    text = _bytes(reader).decode("ascii")
    if "_" in text or text != text.strip():  # which Python takes and never writes
        raise ValueError("no decimal")
    try:
        return Decimal(text)  # Arrow refuses what does not fit its type
    except InvalidOperation:
        raise ValueError("no decimal") from None


def _row(names: Sequence[str], inner: Sequence[Element]) -> Callable[[ElementReader], dict[str, Any]]:
    size = (2 + len(inner) + 7) // 8

    def read(reader: ElementReader) -> dict[str, Any]:
        mask = int.from_bytes(reader.bytes(size, "a row's mask"), "big")
        bits = [mask >> (8 * size - 1 - i) & 1 for i in range(8 * size)]
        if any(bits[2 + len(inner) :]):
            raise ValueError("no mask of a row")
        row = {
            name: None if null else element.read(reader)
            for name, element, null in zip(names, inner, bits[2 : 2 + len(inner)], strict=True)
        }
        return row | {"row_kind": _KINDS[bits[0] + 2 * bits[1]]}

    return read


def _tuple(names: Sequence[str], inner: Sequence[Element]) -> Callable[[ElementReader], dict[str, Any]]:
    return lambda reader: {name: element.read(reader) for name, element in zip(names, inner, strict=True)}


def _list(element: Element, flags: bool) -> Callable[[ElementReader], list[Any]]:
    return lambda reader: [element.read(reader) if not flags or _bool(reader) else None for _ in range(_count(reader))]


def _map(key: Element, value: Element) -> Callable[[ElementReader], list[tuple[Any, Any]]]:
    return lambda reader: [
        (key.read(reader), None if _bool(reader) else value.read(reader)) for _ in range(_count(reader))
    ]


def _count(reader: ElementReader) -> int:
    count = reader.i32("a count")
    if not 0 <= count <= reader.remaining:  # each takes a byte at least
        raise ValueError("no count")
    return count


_PLAIN: Final[dict[str, Element]] = {
    "bool": Element(pa.bool_(), _bool),
    "int8": _number(pa.int8(), ">b"),
    "int16": _number(pa.int16(), ">h"),
    "int32": _number(pa.int32(), ">i"),
    "int64": _number(pa.int64(), ">q"),
    "float32": _number(pa.float32(), ">f"),
    "float64": _number(pa.float64(), ">d"),
    "date": _number(pa.date32(), ">i"),
    "timestamp[ms]": _number(pa.timestamp("ms"), ">q"),
    "timestamp[us]": Element(pa.timestamp("us"), _micros),
    "instant": Element(pa.timestamp("us", "UTC"), _instant),
    "string": Element(pa.string(), lambda reader: _bytes(reader).decode("utf-8"), is_text=True),
    "binary": Element(pa.binary(), _bytes, is_text=True),
    "time": Element(pa.string(), _time),
    "window": Element(pa.struct([("start", pa.timestamp("us", "UTC")), ("end", pa.timestamp("us", "UTC"))]), _window),
    "pickle": Element(pa.string(), _pickle),
}
_FINE: Final = {"instant": Element(pa.timestamp("ns", "UTC"), _fine_instant)}
