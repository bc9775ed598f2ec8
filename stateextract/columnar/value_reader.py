"""The interpreter's cursor: a :class:`Reader` that knows how much of a row was made of no bytes.

Parts of a row have cursors of their own, which share that knowledge. May import the cursor only.
"""

from __future__ import annotations

from stateextract.files.reader import Reader


class Empty:
    """:ivar values: made in the lists of a row of elements that take no bytes."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = 0


class ValueReader(Reader):
    """Reads the bytes of a row, or of a part of one."""

    __slots__ = ("empty",)

    def __init__(self, data: bytes | bytearray | memoryview, pos: int = 0, end: int | None = None, base: int = 0) -> None:
        super().__init__(data, pos, end, base)
        self.empty = Empty()

    def part(self, begin: int, end: int) -> ValueReader:
        """A cursor over some of the bytes."""
        reader = ValueReader(self.data, begin, end, self.base)
        reader.empty = self.empty
        return reader


__all__ = ["Empty", "ValueReader"]
