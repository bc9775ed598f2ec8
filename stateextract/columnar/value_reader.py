"""The interpreter's cursor: a :class:`Reader` that knows how much of a row was made of no bytes, of few, or of the same ones.

Parts of a row have cursors of their own, which share that knowledge. May import the cursor, layouts, errors and policies only.
"""

from __future__ import annotations

from typing import Any, Final

from stateextract.columnar.convert.policy import LARGE_VALUE_ADVICE
from stateextract.columnar.layout import Python
from stateextract.errors import ValueRefusedError
from stateextract.files.reader import Reader

Leaf = tuple[Python, int, int, Any, int]


class Empty:
    """:ivar values: made in the lists of a row of elements that take no bytes.
    :ivar room: bytes that the elements of a row's lists take in memory at least, and values that may refer to the same bytes
        many times; few bytes may represent many columns.
    :param most: of that room.
    :param leaves: takes what values of ``Python`` layouts with a plan came to: layout, begin, end, value, and how many lone
        surrogates were replaced.
    """

    __slots__ = ("leaves", "most", "room", "values")

    def __init__(self, most: int = 1 << 62, leaves: list[Leaf] | None = None) -> None:
        self.values = self.room = 0
        self.most = most
        self.leaves = leaves

    def take(self, room: int, start: int) -> None:
        """Elements need so much more room.

        :raises ValueRefusedError: if that is too much.
        """
        self.room += room
        if self.room > self.most:
            raise ValueRefusedError(
                f"one row needs {self.room} bytes in memory",
                expected=f"at most {self.most}",
                advice=LARGE_VALUE_ADVICE,
                offset=start,
            )


class ValueReader(Reader):
    """Reads the bytes of a row, or of a part of one; :param empty: what is known of the row so far."""

    __slots__ = ("empty",)

    def __init__(
        self,
        data: bytes | bytearray | memoryview,
        pos: int = 0,
        end: int | None = None,
        base: int = 0,
        empty: Empty | None = None,
    ) -> None:
        super().__init__(data, pos, end, base)
        self.empty = Empty() if empty is None else empty

    def part(self, begin: int, end: int) -> ValueReader:
        """A cursor over some of the bytes."""
        return ValueReader(self.data, begin, end, self.base, self.empty)


def room_of(value: Any) -> int:
    """Bytes that a value and all that it holds take in memory at least; what it holds twice counts twice."""
    room = 8
    kind = type(value)
    if kind is str or kind is bytes:
        return room + len(value)
    if kind is dict:
        value = value.values()
    elif kind is not list and kind is not tuple:
        return room + (len(value) if isinstance(value, str | bytes) else 0)
    left = [value]
    while left:
        for one in left.pop():
            room += 8
            kind = type(one)
            if kind is str or kind is bytes:
                room += len(one)
            elif kind is dict:
                left.append(one.values())
            elif kind is list or kind is tuple:
                left.append(one)
            elif kind not in _FIXED and isinstance(one, str | bytes):
                room += len(one)
    return room


def room_of_texts(value: Any) -> int:
    """The same for a struct of two texts, or null."""
    try:
        first, second = value.values()
        return 24 + len(first) + len(second)
    except (AttributeError, TypeError):
        return room_of(value)


_FIXED: Final = frozenset((int, float, bool, type(None)))
