"""What files of stores have in common, whichever client opened them: reading a whole file, and gathering bytes for writes.

A client has a limit of time for each call. So no call reads or writes more than 8 MiB. May import: errors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self

from stateextract.errors import NoAnswerError

PIECE = 8 << 20
"""Bytes of one read or write."""
_BUFFER = 1 << 20  # bytes that are gathered before a write


def no_answer(seconds: int) -> NoAnswerError:
    """The error where a store exceeds the limit."""
    return NoAnswerError(
        f"the store did not answer within {seconds} s",
        advice="check the network and the store's address; to wait longer, set --store-timeout SECONDS",
    )


class _StoreFile(ABC):
    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class InputFile(_StoreFile):
    """A file that is read, anywhere and from any thread."""

    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def read_at(self, length: int, offset: int) -> bytes:
        """The bytes from ``offset`` on: ``length`` of them, fewer only at the end of the file."""

    def read(self) -> bytes:
        return b"".join(self.read_at(PIECE, offset) for offset in range(0, self.size(), PIECE))


class OutputFile(_StoreFile):
    """A file that is written from its beginning to its end."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._written = 0
        self.closed = False

    @abstractmethod
    def _send(self, data: bytes) -> None:
        """Write at most :data:`PIECE` bytes."""

    @abstractmethod
    def _complete(self) -> None:
        """Make the file complete, after the last bytes."""

    def write(self, data: Any) -> int:
        self._buffer += data
        if len(self._buffer) >= _BUFFER:
            self.flush()
        return len(data)

    def flush(self) -> None:
        data, self._buffer = bytes(self._buffer), bytearray()
        self._written += len(data)
        for at in range(0, len(data), PIECE):
            self._send(data[at : at + PIECE])

    def tell(self) -> int:
        return self._written + len(self._buffer)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.flush()
            self._complete()
