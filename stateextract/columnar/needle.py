"""Needles: bytes that the serialized form of a value contains for certain, so that entries without them are not looked at.

Only forms that Flink writes in one way have any: whole numbers, strings without replaced characters, bytes, and what
consists of them. Bytes that stand side by side for certain make one needle; of several the longest is taken.
:class:`Finder` looks for one. May import layouts, pyarrow, the codings of strings and a kernel; knows no files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from stateextract.columnar.binary import BinaryRow
from stateextract.columnar.layout import (
    Bytes,
    Field,
    Layout,
    MaskedStruct,
    Nullable,
    Number,
    Skip,
    Struct,
    Subclasses,
    Text,
)
from stateextract.files.reader import encode_modified_utf8

LEAST, MOST = 4, 64
"""Bytes of the shortest needle, as shorter ones are found nearly everywhere, and of the longest."""

_UNKNOWN = None


def needle(layout: Layout, value: Any) -> bytes | None:
    """The longest bytes that are certainly in every entry of which this is a part.

    :param layout: of the value, after the policy was applied.
    :param value: what the column shows of it, as pyarrow gives it to Python; its type is the layout's.
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


def _pieces(layout: Layout, value: Any) -> Iterator[bytes | None]:
    """The bytes of a value in order; ``_UNKNOWN`` for any number of bytes that are not certain."""
    match layout:
        case Skip(expect=bytes()):
            yield layout.expect
        case Nullable() if value is not None and layout.null_if:
            yield b"\0" * layout.width
            yield from _pieces(layout.inner, value)
        case Nullable() if value is not None:
            yield _UNKNOWN
            yield from _pieces(layout.inner, value)
        case Struct() if isinstance(value, Mapping):
            for field in layout.fields:
                yield from _pieces(field.layout, value.get(field.name))
        case MaskedStruct() if isinstance(value, Mapping):
            yield _UNKNOWN
            for field in layout.fields:
                # What shows nothing may be there or not.
                shown = value.get(field.name)
                yield from (_UNKNOWN,) if shown is None else _pieces(field.layout, shown)
        case Subclasses() if isinstance(value, Mapping) and not layout.subclasses:
            yield _UNKNOWN
            for field in layout.fields:
                yield from _pieces(field.layout, value.get(field.name))
        case BinaryRow() if isinstance(value, Mapping):
            yield _UNKNOWN
            for field in layout.fields:
                yield _slot(field, value.get(field.name))
                yield _UNKNOWN
        case _:
            yield _leaf(layout, value)


def _leaf(layout: Layout, value: Any) -> bytes | None:
    match layout:
        case Number():
            return _number(layout, value)
        case Text() if isinstance(value, str) and "\ufffd" not in value:
            return _text(layout.coding, value)
        case Bytes() if isinstance(value, bytes):
            return (len(value).to_bytes(4, "big") if layout.size is None else b"") + value
    return _UNKNOWN


def _slot(field: Field, value: Any) -> bytes | None:
    """A field of a binary row: its length stands elsewhere."""
    match field.layout:
        case Number():
            return _number(field.layout, value)
        case Text() if isinstance(value, str) and "\ufffd" not in value:
            return value.encode()
        case Bytes() if isinstance(value, bytes):
            return value
    return _UNKNOWN


def _number(layout: Number, value: Any) -> bytes | None:
    if not isinstance(value, int) or not pa.types.is_integer(layout.type):
        return _UNKNOWN
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
    """Looks for a needle.

    :param needle: at least one byte.
    """

    def __init__(self, needle: bytes) -> None:
        from stateextract.columnar.find_kernel import find

        self._find = find
        self._needle = np.frombuffer(needle, np.uint8)
        # Zeros are everywhere, and so are runs of one byte, as at the beginning of small negative numbers.
        telling = [i for i, byte in enumerate(needle) if byte] or [0, len(needle) - 1]
        self._arguments = (self._needle.ctypes.data, len(needle), telling[0], telling[len(telling) // 2], telling[-1])

    @property
    def size(self) -> int:
        """Bytes of the needle."""
        return len(self._needle)

    def find(self, address: int, size: int) -> int:
        """Where it stands first in ``size`` bytes from an address on; -1 where it does not.

        The caller keeps the bytes alive.
        """
        place: int = self._find(address, size, *self._arguments)
        return place


__all__ = ["LEAST", "MOST", "Finder", "needle"]
