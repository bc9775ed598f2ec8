"""The log of one subtask: its change sets in the order of the handle, out of files or out of ``_metadata``.

A changelog file is ``u8`` compression · change sets, one after the other, of several subtasks and operators. A handle's
offset counts plain bytes after that first byte, and the size that it states is the plain one too: neither is compared
with the file. A compressed file is one stream, which has to be decompressed from its start; as many subtasks read the
same files, :class:`DecompressedFiles` keeps what it has decompressed, up to a limit.

Does I/O through a function that opens stream handles. Flink's classes: ``ChangelogStateHandleStreamImpl``,
``InMemoryChangelogStateHandle``, ``StateChangelogHandleStreamHandleReader``, ``StateChangeFSUploader``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stateextract.changelog.records import METADATA_GROUP, Change, check_group, read_change_set, read_metadata
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.compression import stream_decoder
from stateextract.files.decompressed_files import DecompressedFiles
from stateextract.files.piece import FilePiece, Inline
from stateextract.files.window import DecompressedSource, RangeSource, ReadAt, Window
from stateextract.metadata.model import ChangelogBytesHandle, ChangelogFilesHandle, ChangelogHandle, StreamHandle
from stateextract.printable import pluralize

if TYPE_CHECKING:
    from stateextract.metadata.opener import OpenHandle

KEPT_FILE = 32 << 20
"""Most bytes of a decompressed file that is kept."""

_WINDOW = 1 << 20
_POSITION_BITS = 44


class Log:
    """The changes of one subtask since its state was materialized.

    :param handle: the subtask's.
    :param open_file: opens a changelog file, whatever size its handle states.
    :param metadata_uri: where changes in memory were found.
    :param metadata: gives the content of that file, to report where in it a change is.
    :param codec: of compressed files; ``verify``: check their checksums.
    :param files: what was decompressed by others.
    """

    def __init__(
        self,
        handle: ChangelogHandle,
        open_file: OpenHandle,
        metadata_uri: str,
        metadata: Callable[[], bytes] = bytes,
        codec: str = "snappy",
        verify: bool = True,
        files: DecompressedFiles | None = None,
    ) -> None:
        self.handle = handle
        self._open = open_file
        self._metadata_uri = metadata_uri
        self._metadata = metadata
        self._codec = codec
        self._verify = verify
        self._files = files or DecompressedFiles()
        # A place is the number of a set and a position in it. Here is what each set's positions count: bytes of a file, or
        # changes in memory.
        self._sets: list[_LogFile | ChangelogBytesHandle] = []

    @property
    def size(self) -> int:
        """Bytes of changes, as far as the handle records them."""
        return sum(increment.size for increment in self.handle.increments)

    def changes(self, selected: Container[int]) -> Iterator[Change]:
        """All changes of these key groups, and all metadata, in the order in which they have to be applied.

        :param selected: key groups.
        :raises StateExtractError: with file and offset.
        """
        self._sets = []
        for increment in self.handle.increments:
            if isinstance(increment, ChangelogBytesHandle):
                yield from self._in_memory(increment, selected)
            elif isinstance(increment, ChangelogFilesHandle):
                yield from self._in_files(increment, selected)

    def metadata(self) -> Iterator[Change]:
        """All metadata in order. Of each set in a file only the beginning is read."""
        self._sets = []
        for increment in self.handle.increments:
            if isinstance(increment, ChangelogBytesHandle):
                yield from self._in_memory(increment, ())
            elif isinstance(increment, ChangelogFilesHandle):
                for offset, stream in increment.files:
                    yield from self._set(offset, stream, None)

    def with_location(self, error: StateExtractError, location: int) -> StateExtractError:
        """The error with file and offset.

        :param error: an offset that it has counts from the first byte of the change.
        :param location: of the change.
        """
        found = self._sets[location >> _POSITION_BITS]
        at = location & (1 << _POSITION_BITS) - 1
        if isinstance(found, _LogFile):
            error.offset = at + (error.offset or 0)
            return found.with_location(error)
        group, data = found.changes[at]
        position = self._metadata().find(struct.pack(">ii", group, len(data)) + data)
        error.offset = None if position < 0 else position + 8 + (error.offset or 0)
        return error.at(file=self._metadata_uri)

    def _first_location(self, counted: _LogFile | ChangelogBytesHandle) -> int:
        self._sets.append(counted)
        return len(self._sets) - 1 << _POSITION_BITS

    def _in_memory(self, handle: ChangelogBytesHandle, selected: Container[int]) -> Iterator[Change]:
        numbers = handle.to_sequence - handle.from_sequence
        if numbers != len(handle.changes):
            raise FormatError(
                f"an increment of a changelog has {pluralize(len(handle.changes), 'change')}",
                expected=f"{numbers}, from sequence number {handle.from_sequence} to {handle.to_sequence}",
                file=self._metadata_uri,
            )
        for location, (group, data) in enumerate(handle.changes, self._first_location(handle)):
            try:
                check_group(group)
            except FormatError as invalid:
                raise self.with_location(invalid, location) from None
            if group == METADATA_GROUP or group in selected:
                if not data:
                    error = FormatError("a change of 0 bytes", expected="at least 1")
                    raise self.with_location(error, location)
                yield Change(group, location, data)

    def _in_files(self, handle: ChangelogFilesHandle, selected: Container[int]) -> Iterator[Change]:
        size = 0
        for offset, stream in handle.files:
            size += yield from self._set(offset, stream, selected)
        if handle.size and size != handle.size:
            raise FormatError(
                f"the change sets of a handle have {size} bytes of changes",
                expected=f"{handle.size}",
                file=next((found.uri for found in self._sets[-1:] if isinstance(found, _LogFile)), None),
            )

    def _set(self, offset: int, stream: StreamHandle, selected: Container[int] | None) -> Generator[Change, None, int]:
        """One set; ``selected`` is ``None``: only its metadata. Gives the bytes of all its changes."""
        with self._open(stream) as file:
            try:
                opened, window = self._window(file, offset)
                first = self._first_location(opened)
                try:
                    if selected is None:
                        yield from read_metadata(window, first)
                        return 0
                    return (yield from read_change_set(window, selected, first))
                except StateExtractError as error:
                    raise opened.with_location(error) from None
            except StateExtractError as error:
                raise error.at(file=file.uri) from None

    def _window(self, file: FilePiece, offset: int) -> tuple[_LogFile, Window]:
        """The sets of a file from an offset on."""
        size = file.size()
        flag = file.read_at(0, 1)
        if flag not in (b"\0", b"\1"):
            found = f"byte {flag[0]}" if flag else "nothing"
            raise FormatError(f"a changelog file begins with {found}", expected="0 or 1", offset=file.start)
        if flag == b"\0":
            _check_offset(offset, size - 1, file)
            start = file.start + 1 + offset
            window = Window(RangeSource(_by_position(file), start, file.start + size), start, _WINDOW)
            return _LogFile(file.uri), window
        if isinstance(file, Inline):  # which has no place of its own, by which it would be known
            plain = self._decompressed(file, size)
        else:
            plain = self._files.plain(file.uri, file.start, lambda: self._decompressed(file, size))
        if plain is None:
            source = self._stream(file, size)
            window = Window(source, 0, _WINDOW)
            window.skip(offset)
            return _LogFile(file.uri, source.begin, source), window
        _check_offset(offset, len(plain), file)

        def read_at(at: int, n: int) -> bytes:
            return plain[at : at + n]

        window = Window(RangeSource(read_at, offset, len(plain)), offset, _WINDOW)
        return _LogFile(file.uri, file.start + 1), window

    def _stream(self, file: FilePiece, size: int) -> DecompressedSource:
        raw = Window(RangeSource(_by_position(file), file.start + 1, file.start + size), file.start + 1, _WINDOW)
        return DecompressedSource(raw, stream_decoder(self._codec, self._verify))

    def _decompressed(self, file: FilePiece, size: int) -> bytes | None:
        window = Window(self._stream(file, size), 0, _WINDOW)
        data = bytearray()
        while window.need(1):
            data += window.block.view[window.pos : window.end]
            window.pos = window.end
            if len(data) > KEPT_FILE:
                return None
        return bytes(data)


@dataclass(frozen=True, eq=False)
class _LogFile:
    """A file of which a set is read.

    :param begin: of a compressed file, where the compressed bytes begin; :param source: what decompresses them now.
    """

    uri: str
    begin: int | None = None
    source: DecompressedSource | None = None

    def with_location(self, error: StateExtractError) -> StateExtractError:
        """An error whose offset is a position in the set's window."""
        by_codec = self.source is not None and error is self.source.failure
        if self.begin is not None and error.offset is not None and not by_codec:
            error.offset, error.plain_offset = self.begin, error.offset
        return error.at(file=self.uri)


def _check_offset(offset: int, size: int, file: FilePiece) -> None:
    if offset >= size:
        raise FormatError(f"a change set at {offset} of a file with {size} bytes of them", offset=file.start)


def _by_position(file: FilePiece) -> ReadAt:
    """``read_at`` by positions in the physical file, so that errors contain them."""
    return lambda at, n: file.read_at(at - file.start, n)
