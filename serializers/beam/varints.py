"""The bytes of Beam that no layout describes: variable-length numbers, and what has them in front.

Beam's classes: ``util.VarInt``, ``coders.{StringUtf8,ByteArray,BigInteger,BigDecimal,IterableLike,LengthPrefix}Coder``. Each
function gives a ``Python`` leaf, whose ``inner`` layout says what the values are.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from serializers.datetime import UTC
from serializers.texts import as_text
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import BigInteger, Layout, List, Logical, Number, Python, Text
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

INSTANT: Final = Logical(Number(pa.int64(), flip_sign=True), "epoch_ms", UTC)
"""``InstantCoder``: milliseconds whose sign is flipped, so that bytes sort like times."""


def length(reader: Reader, what: str) -> int:
    """The length of something, which is not negative."""
    start = reader.offset
    number = reader.varint(32)
    if number < 0:
        raise FormatError(f"{what} has the length {number}", offset=start)
    return number


def _number(bits: int, type_: pa.DataType) -> Python:
    def decode(data: memoryview, pos: int, end: int) -> tuple[int, int]:
        reader = Reader(data, pos, end)
        return reader.varint(bits), reader.pos

    return Python(decode, type_)


VARINT: Final = _number(32, pa.int32())
VARLONG: Final = _number(64, pa.int64())


def _text(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[Any, int]:
    reader = Reader(data, pos, end)
    return as_text(bytes(reader.bytes(length(reader, "a text"), "a text")), inner, counts), reader.pos


def _rest_of_text(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[Any, int]:
    return as_text(bytes(data[pos:end]), inner, counts), end


def _bytes(data: memoryview, pos: int, end: int) -> tuple[bytes, int]:
    reader = Reader(data, pos, end)
    return bytes(reader.bytes(length(reader, "bytes"), "bytes")), reader.pos


TEXT: Final = Python(_text, pa.string(), Text("utf8"))
REST_OF_TEXT: Final = Python(_rest_of_text, pa.string(), Text("utf8"))
BYTES: Final = Python(_bytes, pa.binary())
REST: Final = Python(lambda data, pos, end: (bytes(data[pos:end]), end), pa.binary())


def _digits(reader: Reader, outer: bool) -> bytes:
    """``BigIntegerCoder``: two's complement, big-endian."""
    start = reader.offset
    size = reader.remaining if outer else length(reader, "a number")
    if not size:
        raise FormatError("a number has no bytes", offset=start)
    return bytes(reader.bytes(size, "a number"))


def integer(outer: bool) -> Python:
    """``BigIntegerCoder``, as its decimal digits."""

    def decode(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[bytes, int]:
        reader = Reader(data, pos, end)
        return _digits(reader, outer), reader.pos

    return Python(decode, pa.string(), Logical(BigInteger(), "big_integer", pa.string()))


def decimal(outer: bool) -> Python:
    """``BigDecimalCoder``: the scale, then the digits."""

    def decode(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[bytes, int]:
        reader = Reader(data, pos, end)
        scale = reader.varint(32)
        return _digits(reader, outer) + scale.to_bytes(4, "big", signed=True), reader.pos

    return Python(decode, pa.string(), Logical(BigInteger(scaled=True), "big_decimal", pa.string()))


def framed(layout: Layout) -> Python:
    """A length, and as many bytes, which are a value in the outer context: ``LengthPrefixCoder``, and the keys of states."""

    def decode(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[Any, int]:
        reader = Reader(data, pos, end)
        size = length(reader, "a value")
        reader.bytes(size, "a value")
        value, after = interpret(inner, data, reader.pos - size, reader.pos, counts)
        if after != reader.pos:
            raise FormatError(f"{reader.pos - after} bytes follow a value inside its length", offset=after)
        return value, reader.pos

    return Python(decode, layout.arrow_type, layout)


def iterable(element: Layout) -> Python:
    """``IterableCoder``: a number of elements, or -1, and then numbers of elements with as many, up to one of 0."""

    def decode(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[Any, int]:
        reader = Reader(data, pos, end)
        number = reader.i32("a number of elements")
        if number >= 0:
            return interpret(inner, data, pos, end, counts)
        if number != -1 or not isinstance(inner, List):
            raise FormatError(f"a list has {number} elements", offset=pos)
        values: list[Any] = []
        while more := reader.varint(64):
            if not 0 < more <= reader.remaining:
                raise FormatError(f"{more} elements do not fit", expected=f"at most {reader.remaining}", offset=reader.pos)
            for _ in range(more):
                value, reader.pos = interpret(inner.element, data, reader.pos, end, counts)
                values.append(value)
        return values, reader.pos

    return Python(decode, pa.list_(element.arrow_type or pa.bool_()), List(element))
