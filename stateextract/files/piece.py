"""A piece of an open file, such as a handle's bytes in a file of several handles, or in memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from stateextract.files.filesystem import OpenFile


class FilePiece:
    """``size`` bytes of a file from ``start`` on; calling it reads. A context manager, which closes the file.

    :param on_read: receives how many bytes are asked for.
    :param uri: of the file, for errors.
    """

    def __init__(
        self, file: OpenFile, start: int, size: int, on_read: Callable[[int], None] | None = None, uri: str = ""
    ) -> None:
        self.start, self.uri = start, uri
        self._file, self._size, self._on_read = file, size, on_read

    @property
    def remote(self) -> bool:
        """The file's reads take long to begin."""
        return self._file.remote

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes from ``offset`` on, fewer only at the end of the piece."""
        return self._file.read_at(self.start + offset, self._within(offset, length))

    __call__ = read_at

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        """As :meth:`read_at`, without waiting for it."""
        return self._file.start_read(self.start + offset, self._within(offset, length))

    def into(self, offset: int, room: memoryview) -> int:
        """Fill ``room`` with the bytes from ``offset`` on, and say how many: fewer only at the end of the piece."""
        return self._file.read_into(self.start + offset, room[: self._within(offset, len(room))])

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> FilePiece:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _within(self, offset: int, length: int) -> int:
        length = max(0, min(length, self._size - offset))
        if self._on_read is not None:
            self._on_read(length)
        return length


class InMemory(OpenFile):
    """A file of which the bytes from ``start`` on are in memory."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._start = data, start

    def read_at(self, offset: int, length: int) -> bytes:
        return self._data[offset - self._start : offset - self._start + length]

    def size(self) -> int:
        return self._start + len(self._data)

    def close(self) -> None: ...


class Inline(FilePiece):
    """Bytes that are in memory. ``start`` is where they begin in the file ``uri``."""

    def __init__(self, data: bytes, uri: str, start: int = 0, on_read: Callable[[int], None] | None = None) -> None:
        super().__init__(InMemory(data, start), start, len(data), on_read, uri)
