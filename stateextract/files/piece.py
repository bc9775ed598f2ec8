"""A piece of an open file, such as a handle's bytes in a file of several handles."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from stateextract.files.filesystem import OpenFile


class FilePiece:
    """``read_at`` in ``size`` bytes of a file from ``start`` on.

    :param on_read: receives how many bytes are asked for.
    """

    def __init__(self, file: OpenFile, start: int, size: int, on_read: Callable[[int], None] | None = None) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._on_read = on_read

    def __call__(self, offset: int, length: int) -> bytes:
        return self._file.read_at(self._start + offset, self._within(offset, length))

    @property
    def remote(self) -> bool:
        """The file's reads take long to begin."""
        return self._file.remote

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        """As the call, without waiting for it."""
        return self._file.start_read(self._start + offset, self._within(offset, length))

    def into(self, offset: int, room: memoryview) -> int:
        """Fill ``room`` with the bytes from ``offset`` on, and say how many: fewer only at the end of the piece."""
        return self._file.read_into(self._start + offset, room[: self._within(offset, len(room))])

    def _within(self, offset: int, length: int) -> int:
        length = max(0, min(length, self._size - offset))
        if self._on_read is not None:
            self._on_read(length)
        return length
