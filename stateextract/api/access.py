"""The files of one snapshot, open for reading: what every reader of them in this process needs.

Opens files, databases and logs of changes, and gives errors their place. May import heads, engine and files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from stateextract.errors import StateExtractError
from stateextract.files.filesystem import OpenFile, is_remote
from stateextract.files.piece import FilePiece
from stateextract.files.prefetch import FilePrefetcher, PrefetchRequest, in_order
from stateextract.files.window import READ, ReadAt
from stateextract.snapshot.content import Content, read_content
from stateextract.snapshot.files import OnRead, SnapshotFiles
from stateextract.snapshot.headers import StateFile
from stateextract.state.engine import Counters, Piece, ReadOptions

if TYPE_CHECKING:
    from stateextract.changelog.log import Log
    from stateextract.rocksdb import RocksDB, RocksOptions
    from stateextract.snapshot.source import SnapshotSource


Early = Callable[[Content], Sequence[tuple[int, int]]]
"""Ranges of a handle's bytes that are read early."""


def _ignore_progress(size: int) -> None:
    """Nobody wants to know."""


class FileAccess:
    """Reads state files of a snapshot."""

    def __init__(self, source: SnapshotSource) -> None:
        self._source = source
        self._files = SnapshotFiles(source.locator, lambda: source.data, source.changelog_files)

    def opened(self, file: StateFile, on_read: OnRead = _ignore_progress) -> HandleBytes:
        """The bytes of a file's handle; a context manager that gives ``read_at``.

        :param on_read: is told how many bytes were read.
        """
        if file.uri == self._source.found.metadata_uri:
            return HandleBytes(file, self._source.data, on_read)
        return HandleBytes(file, self._files.prefetcher, on_read)

    def in_order(
        self, work: Iterable[tuple[StateFile, Content]], early: Early | None = None
    ) -> Iterator[tuple[StateFile, Content]]:
        """The work; files of what comes next are opened meanwhile. Each has to be read before the next is taken.

        :param early: what of a content is read early; ``None``: where reading begins. Heads are known.
        """
        source = self._source

        def coming(item: tuple[StateFile, Content]) -> Iterator[PrefetchRequest]:
            file, content = item
            if not is_remote(file.uri) or file.uri == source.found.metadata_uri:
                return
            ranges = content.beginning(READ, head=False) if early is None else early(content)
            yield PrefetchRequest(file.uri, ranges).behind(file.start)
            if file.handle is not None and file.changelog is None:
                yield from self._files.first_of_database(file.handle)

        return in_order(self._files.prefetcher, work, coming)

    def pieces(
        self,
        read_at: ReadAt,
        file: StateFile,
        content: Content,
        wanted: Collection[str],
        options: ReadOptions,
        tally: Counters,
        silent: Collection[str] = (),
        on_read: OnRead = _ignore_progress,
    ) -> Iterator[Piece]:
        """Batches of the wanted states, out of what ``content`` says of an opened file.

        :param on_read: is told how many bytes of a database's files were read.
        :raises StateExtractError: with state, key group and offset; :meth:`placed` adds the file.
        """
        assert file.head is not None
        return read_content(
            read_at, file.head, content, wanted, options, tally, file.subtask, silent,
            partial(self._database, file, on_read), partial(self._log, file),
        )  # fmt: skip

    def _database(self, file: StateFile, on_read: OnRead, options: RocksOptions) -> RocksDB:
        assert file.handle is not None
        return self._files.database(file.handle, options, on_read)

    def _log(self, file: StateFile, options: ReadOptions) -> Log:
        assert file.changelog is not None
        return self._files.log(file.changelog, options)

    def placed(self, error: StateExtractError, file: StateFile) -> StateExtractError:
        """The error with the file, and its offset counted in that."""
        return self._files.with_location(error, file.uri, file.start)


class HandleBytes:
    """``read_at`` in a handle's bytes, which may be a piece of a file or lie in memory."""

    def __init__(self, file: StateFile, place: bytes | FilePrefetcher, on_read: OnRead) -> None:
        self._opened: OpenFile | None = None
        self._read_at: ReadAt
        if isinstance(place, bytes):
            data = memoryview(place)[file.start : file.start + file.size]

            def read_at(offset: int, length: int) -> bytes:
                found = bytes(data[offset : offset + max(length, 0)])
                on_read(len(found))
                return found

            self._read_at = read_at
        else:
            self._opened = place.open(file.uri)
            self._read_at = FilePiece(self._opened, file.start, file.size, on_read)

    def __enter__(self) -> ReadAt:
        return self._read_at

    def __exit__(self, *_: object) -> None:
        if self._opened is not None:
            self._opened.close()


def nothing_early(_: Content) -> list[tuple[int, int]]:
    """No ranges: of files that may not be read to their end."""
    return []


__all__ = ["FileAccess", "HandleBytes", "nothing_early"]
