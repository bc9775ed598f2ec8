"""Files that are opened before their turn: each costs several answers of a store, and a snapshot may have thousands.

:func:`in_order` goes through a list of what is read one after the other, and has the files of what comes next opened
meanwhile, with the first bytes of each. Local files are opened when their turn comes. Knows of the file systems what they are
asked for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from stateextract.files.filesystem import OpenFile, Store

EARLY = 8
"""Files that are opened before their turn at most."""

T = TypeVar("T")


class Coming(NamedTuple):
    """A file that will be opened.

    :param ranges: what is read first, where each range begins and ends; it is kept in memory until the file is closed.
    """

    uri: str
    ranges: Sequence[tuple[int, int]] = ()


def in_order(store: Store, items: Iterable[T], coming: Callable[[T], Iterable[Coming]]) -> Iterator[T]:
    """The items. Each one's files must be opened, if at all, before the next one is taken.

    At first those of one item are opened ahead, then of two, then of four …: whoever stops early has asked for little in vain.

    :param coming: the files that an item is read from.
    """
    rest = iter(items)
    count = 1
    waiting: deque[tuple[T, list[Expectation]]] = deque()
    try:
        while True:
            while len(waiting) < count:
                try:
                    item = next(rest)
                except StopIteration:
                    break
                expected = [store.expect(*file) for file in coming(item)]
                waiting.append((item, [one for one in expected if one is not None]))
            if not waiting:
                return
            count = min(2 * count, EARLY)
            yield waiting[0][0]
            for one in waiting.popleft()[1]:
                store.forget(one)
    finally:
        for _, left in waiting:
            for one in left:
                store.forget(one)


class Expectation:
    """A file that is being opened before its turn."""

    def __init__(self, uri: str, file: Future[OpenFile]) -> None:
        self.uri = uri
        self.file = file

    def abandon(self) -> None:
        """Close it as soon as it is open."""
        if not self.file.cancel():
            self.file.add_done_callback(_close)


def _close(opened: Future[OpenFile]) -> None:
    if not opened.cancelled() and opened.exception() is None:
        opened.result().close()


class EarlyFile:
    """A file of which some bytes are in memory.

    :param pieces: where they begin, and the bytes.
    """

    late = True

    def __init__(self, file: OpenFile, pieces: Sequence[tuple[int, bytes]]) -> None:
        self._file = file
        self._pieces = [(start, memoryview(data)) for start, data in pieces]

    def _here(self, offset: int, length: int) -> memoryview | None:
        for start, data in self._pieces:
            if start <= offset and offset + length <= start + len(data):
                return data[offset - start : offset - start + length]
        return None

    def read_at(self, offset: int, length: int) -> bytes:
        here = self._here(offset, length)
        return self._file.read_at(offset, length) if here is None else bytes(here)

    def read_into(self, offset: int, room: memoryview) -> int:
        here = self._here(offset, len(room))
        if here is None:
            return self._file.read_into(offset, room)
        room[:] = here
        return len(room)

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        here = self._here(offset, length)
        if here is None:
            return self._file.start_read(offset, length)
        read: Future[bytes] = Future()
        read.set_result(bytes(here))
        return read

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._pieces = []
        self._file.close()

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


__all__ = ["EARLY", "Coming", "EarlyFile", "Expectation", "in_order"]
