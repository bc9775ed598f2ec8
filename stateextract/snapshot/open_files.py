"""The files of one snapshot, open for reading: state files, databases, logs of changes, and the location of errors.

The only reader of state files. The Python API uses it with the files of an inventory, ``part_reader.py`` with the parts of a
plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from stateextract.errors import MissingFileError, StateExtractError, expected_error
from stateextract.files.decompressed_files import DecompressedFiles
from stateextract.files.filesystem import is_remote
from stateextract.files.piece import FilePiece, Inline
from stateextract.files.prefetch import FilePrefetcher, PrefetchRequest, in_order
from stateextract.files.window import READ, ReadAt
from stateextract.metadata.locate import Locator
from stateextract.metadata.opener import Opener
from stateextract.snapshot.content import Content, read_content
from stateextract.snapshot.headers import StateFile
from stateextract.state.counters import Counters
from stateextract.state.target import FileRead, Piece

if TYPE_CHECKING:
    from stateextract.changelog.log import Log
    from stateextract.metadata.model import IncrementalHandle
    from stateextract.rocksdb import RocksDB, RocksOptions
    from stateextract.state.state_columns import ReadOptions

OnRead = Callable[[int], None]
"""Called with the number of bytes that were read."""


Prefetch = Callable[[Content], Sequence[tuple[int, int]]]
"""Returns the ranges of a handle's bytes that are read in advance."""


class SnapshotFiles:
    """Opens files of one snapshot.

    :param data: the content of ``_metadata``, which contains small files; if it was not read yet, a function that returns it.
    :param changelog_files: what was read of changelogs, if other readers of the snapshot share it.
    """

    def __init__(
        self, locator: Locator, data: bytes | Callable[[], bytes], changelog_files: DecompressedFiles | None = None
    ) -> None:
        self.locator = locator
        self.metadata_uri = locator.found.metadata_uri
        self.prefetcher = FilePrefetcher(locator.store)
        self._data = data
        self._changelog_files = DecompressedFiles() if changelog_files is None else changelog_files
        self._last: tuple[IncrementalHandle, RocksOptions, OnRead | None, RocksDB] | None = None

    def opened(self, file: StateFile, on_read: OnRead | None = None) -> FilePiece:
        """The bytes of a file's handle, which may be in ``_metadata``.

        :param on_read: called with the number of bytes of each read.
        """
        if isinstance(self._data, bytes) and file.uri == self.metadata_uri:
            return Inline(self._data[file.start : file.start + file.size], file.uri, file.start, on_read)
        return FilePiece(self.prefetcher.open(file.uri), file.start, file.size, on_read)

    def in_order(
        self,
        work: Iterable[tuple[StateFile, Content]],
        prefetch: Prefetch | None = None,
    ) -> Iterator[tuple[StateFile, Content]]:
        """The work; files of what comes next are opened meanwhile. Each has to be read before the next is taken.

        :param prefetch: what is read in advance; ``None``: :func:`beginning`.
        """

        return in_order(self.prefetcher, work, lambda item: self.requests(*item, prefetch or beginning))

    def requests(self, file: StateFile, content: Content, prefetch: Prefetch) -> Iterator[PrefetchRequest]:
        """What is opened and read in advance for a file; nothing, if it is local.

        :param prefetch: what is read in advance of ``content``.
        """
        if not is_remote(file.uri) or file.uri == self.metadata_uri:
            return
        yield PrefetchRequest(file.uri, prefetch(content)).shifted(file.start)
        if file.handle is not None and file.changelog is None:
            from stateextract.rocksdb import first_files

            yield from first_files(file.handle, Opener(self.locator, self.prefetcher))

    def pieces(
        self,
        read_at: ReadAt,
        file: StateFile,
        content: Content,
        selected: Collection[str],
        options: ReadOptions,
        counters: Counters,
        skip_broadcast_states: Collection[str] = (),
        on_read: OnRead | None = None,
    ) -> Iterator[Piece]:
        """Batches of the wanted states, out of what ``content`` says of an opened file, whose header is known.

        :param on_read: called with the number of bytes of each read of a database's files.
        :raises StateExtractError: with state, key group and offset; :meth:`with_location` adds the file. No other error is
            raised, so what one file causes concerns no other.
        """
        assert file.header is not None
        try:
            yield from read_content(
                read_at, file.header, content, FileRead(selected, options, counters, file.subtask), skip_broadcast_states,
                partial(self.database, file, on_read), partial(self._log, file),
            )  # fmt: skip
        except StateExtractError:
            raise
        except Exception as error:
            raise expected_error(error) from error

    def database(self, file: StateFile, on_read: OnRead | None, options: RocksOptions) -> RocksDB:
        """A subtask's database; the last one is kept, since its MANIFEST may be long."""
        from stateextract.rocksdb import open_rocksdb  # takes long to load, and most snapshots have no database

        handle = file.handle
        assert handle is not None
        if self._last is not None and self._last[0] is handle and self._last[1:3] == (options, on_read):
            return self._last[3]
        opener = Opener(self.locator, self.prefetcher, on_read=on_read)
        database = open_rocksdb(handle, opener, options, opener.expect, opener.identify)
        self._last = handle, options, on_read, database
        return database

    def _log(self, file: StateFile, options: ReadOptions) -> Log:
        """The changes of a subtask since its state was materialized."""
        from stateextract.snapshot.changelogs import open_log

        assert file.changelog is not None
        data = self._data
        return open_log(
            file.changelog, self.locator, (lambda: data) if isinstance(data, bytes) else data, options.codec,
            options.verify_checksums, self._changelog_files,
        )  # fmt: skip

    def with_location(self, error: StateExtractError, file: StateFile) -> StateExtractError:
        """The error with the file, its offset counted in the file."""
        error.moved(file.start)
        if isinstance(error, MissingFileError):
            error = self.locator.explain(error)
        return error.at(file=file.uri)


def beginning(content: Content) -> list[tuple[int, int]]:
    """Where reading begins, if the header is known."""
    return content.beginning(READ, header=False)


def with_header(content: Content) -> list[tuple[int, int]]:
    """Where reading begins, if the header is read, too."""
    return content.beginning(READ)


def nothing(_: Content) -> list[tuple[int, int]]:
    """No ranges: of files that may not be read to their end."""
    return []
