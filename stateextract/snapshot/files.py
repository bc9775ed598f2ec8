"""The files of one snapshot, open for reading: databases, logs of changes, and the location of errors.

Both readers of state use it, that of the Python API (``api/access.py``) and that of a plan's parts (``reader.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING

from stateextract.changelog.log import Files
from stateextract.errors import MissingFileError, StateExtractError
from stateextract.files.prefetch import FilePrefetcher, PrefetchRequest
from stateextract.metadata.locate import Locator
from stateextract.metadata.model import ChangelogHandle, IncrementalHandle

if TYPE_CHECKING:
    from stateextract.changelog.log import Log
    from stateextract.rocksdb import RocksDB, RocksOptions
    from stateextract.rocksdb.access import StateFile as DatabaseFile
    from stateextract.state.columns import ReadOptions

OnRead = Callable[[int], None]
"""Called with the number of bytes that were read."""


class SnapshotFiles:
    """Opens files of one snapshot.

    :param data: returns the content of ``_metadata``, which contains small files.
    :param changelog_files: what was read of changelogs, if other readers of the snapshot share it.
    """

    def __init__(self, locator: Locator, data: Callable[[], bytes], changelog_files: Files | None = None) -> None:
        self.locator = locator
        self.metadata_uri = locator.found.metadata_uri
        self.prefetcher = FilePrefetcher(locator.store)
        self._data = data
        self._changelog_files = Files() if changelog_files is None else changelog_files

    def database(self, handle: IncrementalHandle, options: RocksOptions, on_read: OnRead | None = None) -> RocksDB:
        """A subtask's database."""
        from stateextract.rocksdb import open_rocksdb  # takes long to load, and most snapshots have no database
        from stateextract.rocksdb.access import Opener

        opener = Opener(self.locator, self.prefetcher, self.metadata_uri)
        if on_read is None:
            return open_rocksdb(handle, opener, options, opener.expect)
        return open_rocksdb(handle, lambda part: _CountedFile(opener(part), on_read), options, opener.expect)

    def first_of_database(self, handle: IncrementalHandle) -> Iterator[PrefetchRequest]:
        """The files that opening a database reads first."""
        from stateextract.rocksdb import Opener, first_files

        return first_files(handle, Opener(self.locator, self.prefetcher))

    def log(self, handle: ChangelogHandle, options: ReadOptions) -> Log:
        """The changes of a subtask since its state was materialized."""
        from stateextract.snapshot.changelogs import open_log

        return open_log(
            handle, self.locator, self._data, options.codec, options.verify_checksums, self._changelog_files
        )

    def with_location(self, error: StateExtractError, uri: str, start: int) -> StateExtractError:
        """The error with the file, its offset counted in the file.

        :param start: where the handle's bytes begin in the file.
        """
        if error.file is None and error.offset is not None:
            error.offset += start
        if isinstance(error, MissingFileError):
            error = self.locator.explain(error)
        return error.at(file=uri)


class _CountedFile:
    """A database's file whose reads are counted."""

    def __init__(self, file: DatabaseFile, on_read: OnRead) -> None:
        self._file, self._on_read = file, on_read
        self.uri, self.start, self.late = file.uri, file.start, file.late

    def read_at(self, offset: int, length: int) -> bytes:
        data = self._file.read_at(offset, length)
        self._on_read(len(data))
        return data

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        self._on_read(length)
        return self._file.start_read(offset, length)

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()


__all__ = ["OnRead", "SnapshotFiles"]
