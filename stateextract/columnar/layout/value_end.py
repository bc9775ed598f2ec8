"""Extents: where a value ends, by its layout and without decoding it.

For few values that are among others without lengths between them, as in the records of a changelog; where there are
many, the kernel skips them (``entry_bounds.py``). What most of them are, numbers, strings and sections, is
quick to skip in Python too; everything else is left to the interpreter. May import layouts and the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Bool, Bytes, Layout, Logical, Null, Number, Skip, Struct, Text
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow
from stateextract.errors import FormatError, TruncatedError

ValueEnd: TypeAlias = Callable[[bytes, int, int], int]
"""``value_end(data, pos, end)``: the position after the value that begins at ``pos``.

:raises TruncatedError: where the value goes on after ``end``; and what the interpreter raises.
"""


def value_end_of(layout: Layout) -> ValueEnd:
    """What skips values of a layout."""
    while isinstance(layout, Logical):
        layout = layout.inner
    size = _fixed_size(layout)
    if size is not None:
        return _fixed(size)
    match layout:
        case Struct():
            return _sequence([value_end_of(f.layout) for f in layout.fields])
        case Text(coding="flink"):
            return _flink_string(layout)
        case Bytes(size=None) | BinaryRow() | BinaryArray() | BinaryMap():
            return _section
    return _interpreted(layout)


def _fixed_size(layout: Layout) -> int | None:
    match layout:
        case Number() | Bool():
            return layout.least
        case Null():
            return layout.size
        case Skip(expect=None) | Bytes(size=int()):
            return layout.least
        case Logical():
            return _fixed_size(layout.inner)
        case Struct():
            sizes = [_fixed_size(f.layout) for f in layout.fields]
            return None if None in sizes else sum(size for size in sizes if size is not None)
    return None


def _fixed(size: int) -> ValueEnd:
    def fixed(data: bytes, pos: int, end: int) -> int:
        after = pos + size
        if after > end:
            raise _short(pos)
        return after

    return fixed


def _sequence(value_ends: Sequence[ValueEnd]) -> ValueEnd:
    def sequence(data: bytes, pos: int, end: int) -> int:
        for value_end in value_ends:
            pos = value_end(data, pos, end)
        return pos

    return sequence


def _flink_string(layout: Text) -> ValueEnd:
    """A varint of units + 1, then a varint for each unit, which for ASCII is its byte."""
    slow = _interpreted(layout)

    def flink_string(data: bytes, pos: int, end: int) -> int:
        if pos >= end:
            raise _short(pos)
        units = data[pos]
        if units < 0x80:
            after = pos + max(units, 1)
            if after <= end and data[pos + 1 : after].isascii():
                return after
        return slow(data, pos, end)

    return flink_string


def _section(data: bytes, pos: int, end: int) -> int:
    """``i32`` length, bytes."""
    if end - pos < 4:
        raise _short(pos)
    size = int.from_bytes(data[pos : pos + 4], "big", signed=True)
    if size < 0:
        raise FormatError(f"negative length {size} of a value", offset=pos)
    if size > end - pos - 4:
        raise _short(pos)
    return pos + 4 + size


def _interpreted(layout: Layout) -> ValueEnd:
    def interpreted(data: bytes, pos: int, end: int) -> int:
        return interpret(layout, data, pos, end, ChangeCounts())[1]

    return interpreted


def _short(pos: int) -> TruncatedError:
    return TruncatedError("the data ends inside a value", offset=pos)
