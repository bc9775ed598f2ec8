"""Entries that the kernel has stopped at: Python decodes them, and the kernel puts what came out into its columns.

The kernel stops at a value of Kryo that its program does not have. Python then decodes the entry, and more after it if such
entries come often. Of each value of Kryo in them it gives the kernel the bounds and the result, written as ``Python.plain``
has it. The kernel reads the entry again and takes the results in the place of the values. So rows, maps of many pairs and
batches come about as ever, and a value is what Python says, or else the error is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from stateextract.columnar.layout import Bool, Layout, List, Map, Nullable, Number, Python, Struct, Text
from stateextract.columnar.value_reader import Leaf
from stateextract.errors import StateExtractError

_MOST: Final = 256
_RARE: Final = 4
"""Entries are decoded one by one, if so many times as many lie between them."""
_SLACK: Final = bytes(16)
_CODES: Final = {
    pa.int8(): "b", pa.int16(): "h", pa.int32(): "i", pa.int64(): "q", pa.uint8(): "B", pa.uint16(): "H", pa.uint32(): "I",
    pa.uint64(): "Q", pa.float32(): "f", pa.float64(): "d",
}  # fmt: skip

Write = Callable[[Any, bytearray], None]


class Decoded:
    """What came out, in an order: that of the program.

    :param ends: for each entry, how many values it and those before it have.
    """

    def __init__(self, leaves: list[Leaf], ends: list[int]) -> None:
        data = bytearray()
        rows = []
        for node, begin, end, value, surrogates in leaves[: ends[-1]]:
            start = len(data)
            _writer(node)(value, data)
            rows.append((begin, end, start, len(data), surrogates))
        data += _SLACK
        self.data = np.frombuffer(data, np.uint8)
        self.rows = np.array([*rows, (-1, 0, 0, 0, 0)], np.int64)
        self.rows[:, 2:4] += self.data.ctypes.data
        self.ends = [0, *ends]
        self.done = 0

    @property
    def left(self) -> int:
        """Entries that the kernel has not taken yet."""
        return len(self.ends) - 1 - self.done

    @property
    def address(self) -> int:
        """Where the next entry's first row lies."""
        return int(self.rows.ctypes.data) + self.ends[self.done] * self.rows.strides[0]


class LookAhead:
    """Decides how many entries Python decodes where the kernel has stopped."""

    def __init__(self) -> None:
        self.entries = 1
        self.passed = 0

    def decode(self, one: Callable[[list[Leaf]], bool]) -> Decoded | None:
        """The entries from the one on that the kernel stopped at.

        :param one: decodes the next one, and says whether it was there.
        :returns: ``None`` where none was there.
        :raises StateExtractError: where the first one cannot be decoded.
        """
        few = self.passed < _RARE * self.entries
        self.entries = min(2 * self.entries, _MOST) if few else max(self.entries // 2, 1)
        self.passed = 0
        leaves: list[Leaf] = []
        ends: list[int] = []
        while len(ends) < self.entries:
            try:
                if not one(leaves):
                    break
            except StateExtractError:
                if not ends:
                    raise
                break
            ends.append(len(leaves))
        return Decoded(leaves, ends) if ends else None


@lru_cache(maxsize=64)
def _writer_of(layout: Layout) -> Write:
    return _write(layout)


def _writer(node: Python) -> Write:
    return _writer_of(node.plain)


def _write(layout: Layout) -> Write:
    assert isinstance(layout, Nullable)
    inner = _write_some(layout.inner)

    def write(value: Any, out: bytearray) -> None:
        if value is None:
            out.append(1)
        else:
            out.append(0)
            inner(value, out)

    return write


def _write_some(layout: Layout) -> Write:
    match layout:
        case Number():
            pack = struct.Struct(">" + _CODES[layout.type]).pack
            return lambda value, out: out.extend(pack(value))
        case Bool():
            return lambda value, out: out.append(bool(value))
        case Struct():
            parts = [(f.name, _write(f.layout)) for f in layout.fields]

            def write_struct(value: Any, out: bytearray) -> None:
                for name, part in parts:
                    part(value[name], out)

            return write_struct
        case List():
            element = _write(layout.element)

            def write_list(value: Any, out: bytearray) -> None:
                out.extend(len(value).to_bytes(4, "big"))
                for item in value:
                    element(item, out)

            return write_list
        case Map():
            key, item = _write(layout.key), _write(layout.value)

            def write_map(value: Any, out: bytearray) -> None:
                out.extend(len(value).to_bytes(4, "big"))
                for entry in value:
                    first, second = entry.values() if layout.as_list else entry
                    key(first, out)
                    item(second, out)

            return write_map
    is_text = isinstance(layout, Text) and not layout.as_binary

    def write_bytes(value: Any, out: bytearray) -> None:
        data = value.encode() if is_text else value
        out.extend(len(data).to_bytes(4, "big"))
        out.extend(data)

    return write_bytes
