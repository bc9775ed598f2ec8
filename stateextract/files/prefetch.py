"""Files that are opened before their turn: each costs several answers of a store, and a snapshot may have thousands.

:func:`in_order` goes through a list of what is read one after the other, and has the files of what comes next opened
meanwhile by :class:`FilePrefetcher`, with the first bytes of each. Local files are opened when their turn comes. There are no
locks: what ends an abandoned reader may run anywhere, also amid a call of this module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import NamedTuple, TypeVar

from stateextract.files.filesystem import OpenFile, Store, is_remote, normalize
from stateextract.files.second_thread import done
from stateextract.files.threads import OPENING

AHEAD = 8
"""Items whose files are opened before their turn at most."""

T = TypeVar("T")


class PrefetchRequest(NamedTuple):
    """A file that will be opened.

    :param ranges: what is read first, where each range begins and ends; it is kept in memory until the file is closed.
    """

    uri: str
    ranges: Sequence[tuple[int, int]] = ()

    def shifted(self, start: int) -> PrefetchRequest:
        """The same with ranges that were counted from there on."""
        return self._replace(ranges=[(start + begin, start + end) for begin, end in self.ranges])


class PendingFile:
    """A file that is being opened before its turn."""

    def __init__(self, uri: str, file: Future[OpenFile]) -> None:
        self.uri = uri
        self.file = file

    def abandon(self) -> None:
        """Close it as soon as it is open."""
        if not self.file.cancel():
            self.file.add_done_callback(_close)


class FilePrefetcher:
    """Opens files of a store; those that were expected are open by then."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._expected: list[PendingFile] = []

    def open(self, uri: str) -> OpenFile:
        """Open a file for ranged reads, as the store does."""
        if not self._expected:
            return self.store.open(uri)
        name = normalize(uri)
        expected = next((one for one in tuple(self._expected) if one.uri == name), None)
        if expected is None or not self._take(expected):
            return self.store.open(uri)
        try:
            return expected.file.result()
        except Exception:
            return self.store.open(uri)  # it may be there by now; the caller that needs it reports what is wrong
        except BaseException:
            expected.abandon()
            raise

    def expect(self, file: PrefetchRequest) -> PendingFile | None:
        """Say that a file will be opened soon, and what of it will be read first. It is opened in the background.

        :returns: what to forget if the file is not opened after all; ``None`` for one that is opened in its turn.
        """
        if not is_remote(file.uri):
            return None
        opening = OPENING.submit(lambda: self._opened(file))
        if opening is None:
            return None
        expected = PendingFile(normalize(file.uri), opening)
        self._expected.append(expected)
        return expected

    def forget(self, expected: PendingFile) -> None:
        """Close a file that was expected, unless it was opened: then its user closes it."""
        if self._take(expected):
            expected.abandon()

    def _take(self, expected: PendingFile) -> bool:
        """Expect it no longer; whether it was."""
        try:
            self._expected.remove(expected)
        except ValueError:
            return False
        return True

    def _opened(self, file: PrefetchRequest) -> OpenFile:
        opened = self.store.open(file.uri)
        try:
            return PrefetchedFile(opened, [(start, opened.read_at(start, end - start)) for start, end in file.ranges])
        except BaseException:
            opened.close()
            raise


def in_order(files: FilePrefetcher, items: Iterable[T], coming: Callable[[T], Iterable[PrefetchRequest]]) -> Iterator[T]:
    """The items. Each one's files must be opened, if at all, before the next one is taken.

    At first those of one item are opened ahead, then of two, then of four …: if the caller stops early, little was in vain.

    :param coming: the files that an item is read from.
    """
    rest = iter(items)
    count = 1
    waiting: deque[tuple[T, list[PendingFile]]] = deque()
    try:
        while True:
            while len(waiting) < count:
                try:
                    item = next(rest)
                except StopIteration:
                    break
                expected: list[PendingFile] = []
                waiting.append((item, expected))
                for file in coming(item):
                    one = files.expect(file)
                    if one is not None:
                        expected.append(one)
            if not waiting:
                return
            count = min(2 * count, AHEAD)
            yield waiting[0][0]
            for one in waiting.popleft()[1]:
                files.forget(one)
    finally:
        for _, left in waiting:
            for one in left:
                files.forget(one)


def _close(opened: Future[OpenFile]) -> None:
    if not opened.cancelled() and opened.exception() is None:
        opened.result().close()


class PrefetchedFile(OpenFile):
    """A file of which some bytes are in memory.

    :param pieces: where they begin, and the bytes.
    """

    remote = True

    def __init__(self, file: OpenFile, pieces: Sequence[tuple[int, bytes]]) -> None:
        self._file = file
        self._pieces = [(start, memoryview(data)) for start, data in pieces]

    def _prefetched(self, offset: int, length: int) -> memoryview | None:
        for start, data in self._pieces:
            if start <= offset and offset + length <= start + len(data):
                return data[offset - start : offset - start + length]
        return None

    def read_at(self, offset: int, length: int) -> bytes:
        prefetched = self._prefetched(offset, length)
        return self._file.read_at(offset, length) if prefetched is None else bytes(prefetched)

    def read_into(self, offset: int, room: memoryview) -> int:
        prefetched = self._prefetched(offset, len(room))
        if prefetched is None:
            return self._file.read_into(offset, room)
        room[:] = prefetched
        return len(room)

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        prefetched = self._prefetched(offset, length)
        if prefetched is None:
            return self._file.start_read(offset, length)
        return done(lambda: bytes(prefetched))

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._pieces = []
        self._file.close()
