"""The interpreter's part for SQL's binary format (``layout/binary.py``): sections, and the slots in them.

``section`` is called for a node outside of a section, where a length comes first; ``_slot`` for a node in a slot.
Both end in the function of ``CONTENTS`` for that node, with a reader of exactly the section's bytes. What goes on beyond
a section's end is damage: nothing that comes later could complete it.

May import layouts, the reader, errors and the counters. Other layouts are handed back to the interpreter.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.layout import Bool, Bytes, Layout, MaskedStruct, Number, Text, Undecodable
from stateextract.columnar.layout.binary import (
    KIND_BITS,
    BinaryArray,
    BinaryMap,
    BinaryRow,
    Framed,
    SlotTimestamp,
    in_slot,
    slot_width,
)
from stateextract.columnar.value_reader import ValueReader
from stateextract.errors import FormatError, TruncatedError, ValueRefusedError

Interpret: TypeAlias = Callable[[Layout, ValueReader, ChangeCounts], Any]
"""Decodes a value that is at the reader's position."""

_REPLACEMENT: Final = "\ufffd"


def section(interpret: Interpret, node: Layout, r: ValueReader, counts: ChangeCounts) -> Any:
    """A section behind its ``i32`` length."""
    start = r.offset
    n = r.i32("a section's length")
    if n < 0:
        raise FormatError(f"negative length {n} of a section", offset=start)
    begin = r.pos
    r.bytes(n, "a section")
    return _content(interpret, node, r.part(begin, begin + n), counts)


def _content(interpret: Interpret, node: Layout, r: ValueReader, counts: ChangeCounts) -> Any:
    try:
        return CONTENTS[type(node)](interpret, node, r, counts)
    except TruncatedError as error:
        raise FormatError(error.message, expected=error.expected, offset=error.offset) from None


def _slot(interpret: Interpret, node: Layout, r: ValueReader, at: int, counts: ChangeCounts) -> Any:
    """The value of a slot at position ``at`` of the section ``r``."""
    node = in_slot(node)
    if isinstance(node, Number | Bool | Undecodable):
        return interpret(node, r.part(at, r.end), counts)
    (word,) = struct.unpack_from("<q", r.data, at)
    offset, low = word >> 32, word & 0xFFFFFFFF
    if isinstance(node, SlotTimestamp):
        begin = _inside(r, offset, 8, at)
        (ms,) = struct.unpack_from("<q", r.data, begin)
        return {"ms": ms, "nanos": low - (1 << 32) if low >> 31 else low}
    if word < 0:
        begin, low = at, word >> 56 & 0x7F
        if low > 7:
            raise FormatError(f"a slot of 8 bytes that holds {low}", expected="at most 7", offset=r.base + at)
    else:
        begin = _inside(r, offset, low, at)
        r.empty.take(low, r.base + at)  # other slots may point there too
    return _content(interpret, node, r.part(begin, begin + low), counts)


def _inside(r: ValueReader, offset: int, size: int, at: int) -> int:
    begin = _start(r) + offset
    if offset < 0 or begin + size > r.end:
        raise FormatError(
            f"a slot tells {size} bytes at {offset}", expected=f"at most {r.end - _start(r)}", offset=r.base + at
        )
    return begin


def _start(r: ValueReader) -> int:
    # The reader of a section of slots is never moved.
    return r.pos


def _text(interpret: Interpret, node: Text, r: ValueReader, counts: ChangeCounts) -> Any:
    raw = bytes(r.data[r.pos : r.end])
    if node.as_binary:
        return raw
    text = raw.decode("utf-8", "replace")
    counts.malformed_utf8 += text.count(_REPLACEMENT) - raw.count(_REPLACEMENT.encode())
    return text


def _bytes(interpret: Interpret, node: Bytes, r: ValueReader, counts: ChangeCounts) -> bytes:
    return bytes(r.data[r.pos : r.end])


def _framed(interpret: Interpret, node: Framed, r: ValueReader, counts: ChangeCounts) -> Any:
    value = interpret(node.inner, r, counts)
    if r.remaining:
        raise FormatError(f"{r.remaining} bytes are left after a value", offset=r.offset)
    return value


def _row(interpret: Interpret, node: BinaryRow, r: ValueReader, counts: ChangeCounts) -> Any:
    start = r.pos
    if r.remaining < node.fixed_bytes:
        raise FormatError(f"a row of {r.remaining} bytes", expected=f"at least {node.fixed_bytes}", offset=r.offset)
    columns: dict[str, Any] = {}
    for i, f in enumerate(node.fields):
        bit = KIND_BITS + i
        value = None
        if not r.data[start + bit // 8] >> bit % 8 & 1:
            value = _slot(interpret, f.layout, r, start + node.null_bytes + 8 * i, counts)
        if not isinstance(in_slot(f.layout), Framed) or f.layout.wire_type is not None:
            columns[f.name] = value
    if node.kind:
        (columns[MaskedStruct.KIND_FIELD],) = struct.unpack_from("b", r.data, start)
    return columns or True


def _array(interpret: Interpret, node: BinaryArray, r: ValueReader, counts: ChangeCounts) -> list[Any]:
    return _elements(interpret, node.element, r, counts)


def _elements(interpret: Interpret, element: Layout, r: ValueReader, counts: ChangeCounts) -> list[Any]:
    start, width = r.pos, slot_width(element)
    n = _i32(r, "the number of elements")
    slots = 4 + (n + 31) // 32 * 4
    if n < 0 or slots + n * width > r.remaining:
        raise FormatError(f"{n} elements in {r.remaining} bytes", offset=r.offset)
    r.empty.take(n * element.room, r.offset)
    values: list[Any] = []
    has_column = element.wire_type is not None
    for i in range(n):
        if r.data[start + 4 + i // 8] >> i % 8 & 1:
            values.append(None)
        else:
            value = _slot(interpret, element, r, start + slots + i * width, counts)
            values.append(value if has_column else True)
    return values


def _map(interpret: Interpret, node: BinaryMap, r: ValueReader, counts: ChangeCounts) -> list[Any]:
    size = _i32(r, "the size of a map's keys")
    if size < 0 or 4 + size > r.remaining:
        raise FormatError(f"keys of {size} bytes in a map of {r.remaining}", offset=r.offset)
    middle = r.pos + 4 + size
    keys = _elements(interpret, node.key, r.part(r.pos + 4, middle), counts)
    values = _elements(interpret, node.value, r.part(middle, r.end), counts)
    if len(keys) != len(values):
        raise FormatError(f"a map of {len(keys)} keys and {len(values)} values", offset=r.offset)
    if node.as_list:
        return [{"key": key, "value": value} for key, value in zip(keys, values, strict=True)]
    if None in keys:
        raise ValueRefusedError(
            "a map has a null key",
            advice="set --maps list to get lists of key and value, where the key may be null",
            offset=r.offset,
        )
    return list(zip(keys, values, strict=True))


def _i32(r: ValueReader, what: str) -> int:
    """The little-endian number that a section begins with; the reader stays where it is."""
    if r.remaining < 4:
        raise FormatError(f"a section of {r.remaining} bytes ends inside {what}", offset=r.offset)
    number: int = struct.unpack_from("<i", r.data, r.pos)[0]
    return number


CONTENTS: Final[dict[type[Layout], Callable[[Interpret, Any, ValueReader, ChangeCounts], Any]]] = {
    Text: _text,
    Bytes: _bytes,
    Framed: _framed,
    BinaryRow: _row,
    BinaryArray: _array,
    BinaryMap: _map,
}

__all__ = ["CONTENTS", "section"]
