"""The bytes of Beam that no layout describes: variable-length numbers, and what has them in front.

Beam's classes: ``util.VarInt``, ``coders.{StringUtf8,ByteArray,BigInteger,BigDecimal,IterableLike,LengthPrefix}Coder``. Each
function gives a ``Python`` leaf, whose ``inner`` layout says what the values are.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from serializers.datetime import UTC
from serializers.leaves import leaf, leaf_of, text_leaf
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import BigInteger, Layout, List, Logical, Number, Python
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


def _text(reader: Reader) -> bytes:
    return bytes(reader.bytes(length(reader, "a text"), "a text"))


def rest(reader: Reader) -> bytes:
    """All bytes that are left."""
    return bytes(reader.bytes(reader.remaining))


VARINT: Final = leaf(pa.int32(), lambda reader: reader.varint(32))
VARLONG: Final = leaf(pa.int64(), lambda reader: reader.varint(64))
TEXT: Final = text_leaf(_text)
REST_OF_TEXT: Final = text_leaf(rest)
BYTES: Final = leaf(pa.binary(), lambda reader: bytes(reader.bytes(length(reader, "bytes"), "bytes")))
REST: Final = leaf(pa.binary(), rest)


def _digits(reader: Reader, outer: bool) -> bytes:
    """``BigIntegerCoder``: two's complement, big-endian."""
    start = reader.offset
    size = reader.remaining if outer else length(reader, "a number")
    if not size:
        raise FormatError("a number has no bytes", offset=start)
    return bytes(reader.bytes(size, "a number"))


def integer(outer: bool) -> Python:
    """``BigIntegerCoder``, as its decimal digits."""
    layout = Logical(BigInteger(), "big_integer", pa.string())
    return leaf_of(layout, lambda reader, inner, counts: _digits(reader, outer))


def decimal(outer: bool) -> Python:
    """``BigDecimalCoder``: the scale, then the digits."""

    def read(reader: Reader, inner: Layout, counts: ChangeCounts) -> bytes:
        scale = reader.varint(32)
        return _digits(reader, outer) + scale.to_bytes(4, "big", signed=True)

    return leaf_of(Logical(BigInteger(scaled=True), "big_decimal", pa.string()), read)


def framed(layout: Layout) -> Python:
    """A length, and as many bytes, which are a value in the outer context: ``LengthPrefixCoder``, and the keys of states."""

    def read(reader: Reader, inner: Layout, counts: ChangeCounts) -> Any:
        size = length(reader, "a value")
        reader.bytes(size, "a value")
        value, after = interpret(inner, reader.data, reader.pos - size, reader.pos, counts)
        if after != reader.pos:
            raise FormatError(f"{reader.pos - after} bytes follow a value inside its length", offset=after)
        return value

    return leaf_of(layout, read)


def iterable(element: Layout) -> Python:
    """``IterableCoder``: a number of elements, or -1, and then numbers of elements with as many, up to one of 0."""

    def read(reader: Reader, inner: Layout, counts: ChangeCounts) -> Any:
        start, number = reader.pos, reader.i32("a number of elements")
        if number >= 0:
            value, reader.pos = interpret(inner, reader.data, start, reader.end, counts)
            return value
        if number != -1 or not isinstance(inner, List):
            raise FormatError(f"a list has {number} elements", offset=start)
        values: list[Any] = []
        while more := reader.varint(64):
            if not 0 < more <= reader.remaining:
                raise FormatError(f"{more} elements do not fit", expected=f"at most {reader.remaining}", offset=reader.pos)
            for _ in range(more):
                value, reader.pos = interpret(inner.element, reader.data, reader.pos, reader.end, counts)
                values.append(value)
        return values

    return leaf_of(List(element), read)
