"""Patterns: bytes that the serialized form of a value contains for certain, so that entries without them are not looked at.

Only forms that Flink writes in one way have any: whole numbers, strings without replaced characters, bytes, and what
consists of them. Bytes that are always adjacent make one pattern; of several patterns the longest is used.
:class:`Finder` looks for one. May import layouts, pyarrow, the codings of strings and a kernel; knows no files.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa

from stateextract.columnar.layout import (
    Bytes,
    Layout,
    MaskedStruct,
    Nullable,
    Number,
    Skip,
    Struct,
    Subclasses,
    Text,
)
from stateextract.columnar.layout.binary import BinaryRow
from stateextract.files.reader import encode_modified_utf8
from stateextract.files.second_thread import SecondThread

LEAST, MOST = 4, 64
"""Bytes of the shortest pattern, as shorter ones are found nearly everywhere, and of the longest."""

MUCH = 2 << 20
"""Bytes that two threads are worth it for."""

_UNKNOWN = None


def pattern(layout: Layout, value: pa.Scalar) -> bytes | None:
    """The longest bytes that are certainly in every entry of which this is a part.

    :param layout: of the value, after the policy was applied.
    :param value: what the column shows of it; of the layout's type.
    :returns: ``LEAST`` to ``MOST`` bytes; ``None`` where nothing is certain.
    """
    runs = [b""]
    for piece in _pieces(layout, value):
        if piece is _UNKNOWN:
            runs.append(b"")
        else:
            runs[-1] += piece
    longest = max(runs, key=len)[-MOST:]
    return longest if len(longest) >= LEAST else None


def beginning(layout: Layout, value: pa.Scalar) -> bytes:
    """The bytes that a value begins with for certain; none where that is not known.

    :param layout: and ``value``: as of :func:`pattern`.
    """
    return b"".join(itertools.takewhile(lambda piece: piece is not _UNKNOWN, _pieces(layout, value)))  # type: ignore[arg-type]


def _pieces(layout: Layout, value: pa.Scalar | None) -> Iterator[bytes | None]:
    """The bytes of a value in order; ``_UNKNOWN`` for any number of bytes that are not certain.

    :param value: ``None``: what has no column.
    """
    if isinstance(layout, Skip):
        yield layout.expect
        return
    if value is None or not value.is_valid:
        yield _UNKNOWN
        return
    is_struct = isinstance(value, pa.StructScalar)
    match layout:
        case Nullable():
            yield b"\0" * layout.width if layout.null_if else _UNKNOWN
            yield from _pieces(layout.inner, value)
        case Struct() if is_struct:
            for field in layout.fields:
                yield from _pieces(field.layout, value.get(field.name))
        case MaskedStruct() if is_struct:
            yield _UNKNOWN
            for field in layout.fields:
                # What shows nothing may be there or not.
                shown = value.get(field.name)
                yield from (_UNKNOWN,) if shown is None else _pieces(field.layout, shown)
        case Subclasses() if is_struct and not layout.subclasses:
            yield _UNKNOWN
            for field in layout.fields:
                yield from _pieces(field.layout, value.get(field.name))
        case BinaryRow() if is_struct:
            for field in layout.fields:
                yield _UNKNOWN
                shown = value.get(field.name)
                yield _UNKNOWN if shown is None or not shown.is_valid else _leaf(field.layout, shown, in_slot=True)
            yield _UNKNOWN
        case _:
            yield _leaf(layout, value)


def _leaf(layout: Layout, value: pa.Scalar, in_slot: bool = False) -> bytes | None:
    """A value that is there.

    :param in_slot: in a binary row, where the length of bytes and strings is elsewhere.
    """
    match layout:
        case Number() if pa.types.is_integer(value.type):
            return _number(layout, value.as_py())
        case Text() if pa.types.is_string(value.type):
            text = value.as_py()
            return _UNKNOWN if "\ufffd" in text else text.encode() if in_slot else _text(layout.coding, text)
        case Bytes() if pa.types.is_binary(value.type):
            data: bytes = value.as_py()
            return data if in_slot or layout.size is not None else len(data).to_bytes(4, "big") + data
    return _UNKNOWN


def _number(layout: Number, value: int) -> bytes:
    width = layout.least
    unsigned = value % (1 << 8 * width) ^ (layout.flip_sign << 8 * width - 1)
    return unsigned.to_bytes(width, "little" if layout.little else "big")


def _text(coding: str, text: str) -> bytes | None:
    if coding == "utf8":
        data = text.encode()
        return len(data).to_bytes(4, "big") + data
    if coding == "utf":
        data = encode_modified_utf8(text)
        return len(data).to_bytes(2, "big") + data
    units = memoryview(text.encode("utf-16-le")).cast("H").tolist()
    if coding in ("flink", "value"):
        return b"".join(map(_varint, [len(units) + (coding == "flink"), *units]))
    return _UNKNOWN


def _varint(number: int) -> bytes:
    """Flink's ``StringValue``: seven bits a byte, the lowest first; the top bit says that more follow."""
    made = bytearray()
    while number >= 0x80:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


class Finder:
    """Looks for a pattern, with two threads where there is much to look through.

    :param pattern: at least one byte.
    """

    def __init__(self, pattern: bytes) -> None:
        from stateextract.columnar.search.find_kernel import find

        self._find = find
        self._pattern = np.frombuffer(pattern, np.uint8)
        # Zeros are everywhere, and so are runs of one byte, as at the beginning of small negative numbers.
        telling = [i for i, byte in enumerate(pattern) if byte] or [0, len(pattern) - 1]
        self._arguments = (self._pattern.ctypes.data, len(pattern), telling[0], telling[len(telling) // 2], telling[-1])

    @property
    def size(self) -> int:
        """Bytes of the pattern."""
        return len(self._pattern)

    def find(self, address: int, size: int) -> int:
        """Where it is first in ``size`` bytes from an address on; -1 where it does not.

        The caller keeps the bytes alive.
        """
        if size < MUCH or not self._second_thread.is_there:
            return self._place(address, size)
        half = size // 2
        first, second = self._second_thread.run(
            lambda: self._place(address, half + self.size - 1), lambda: self._place(address + half, size - half)
        )
        behind = second.result()
        return first if first >= 0 or behind < 0 else half + behind

    def _place(self, address: int, size: int) -> int:
        place: int = self._find(address, size, *self._arguments)
        return place

    @cached_property
    def _second_thread(self) -> SecondThread:
        return SecondThread()
