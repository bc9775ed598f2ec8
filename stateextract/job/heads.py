"""Heads of all keyed state files of a snapshot, read concurrently: what is in each file, and in which form.

State ids and serializer snapshots differ from file to file of one operator, so every file's own head is read. A head
ends at the smallest key-group offset that is not zero, so only ``[0, that)`` is read, and the few bytes that tell which
body stands behind. Subtasks often share their head byte for byte; each distinct one is parsed once.

Gives :class:`KeyedFile` values; decides nothing about them. May import metadata, files, state; must not know of Arrow,
Spark or Parquet.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from stateextract.errors import FormatError, MissingFileError, StateExtractError
from stateextract.files.filesystem import Store
from stateextract.files.locate import Locator
from stateextract.metadata.model import (
    ChangelogHandle,
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    OperatorState,
    SnapshotMetadata,
    StreamHandle,
)
from stateextract.state.body import KEY_GROUPS_V2, BodyKind, body_kind
from stateextract.state.head import KeyedHead, parse_head

_LARGEST_HEAD = 64 << 20
_PROBES = 2  # key groups whose numbers are looked at in a file that is not local; tasks check all of them
_HEAP_ONLY_SINCE = 4  # version of _metadata of Flink 1.16, where full snapshots left code 12


@dataclass(frozen=True)
class KeyedFile:
    """One keyed handle of one subtask.

    :param operator: index of the operator in the metadata.
    :param uri: the file; for inline state the ``_metadata`` file.
    :param start: where the handle's bytes begin in the file, ``size`` how many there are.
    :param head: ``None`` where there is none that could be read; then ``problem`` says why, if something is wrong.
    :param head_key: equal for equal heads.
    """

    operator: int
    subtask: int
    kind: str
    form: BodyKind
    uri: str
    start: int = 0
    size: int = 0
    first: int = 0
    offsets: tuple[int, ...] = ()
    head: KeyedHead | None = None
    head_key: bytes = b""
    problem: StateExtractError | None = None

    @property
    def head_end(self) -> int:
        """Where the head ends and the first key group begins."""
        return min((o for o in self.offsets if o), default=self.size)


class HeadReader:
    """Reads the heads of one snapshot.

    :param metadata: content of the ``_metadata`` file, where inline state lies.
    """

    def __init__(self, snapshot: SnapshotMetadata, metadata: bytes, locator: Locator, store: Store) -> None:
        self._snapshot = snapshot
        self._metadata = metadata
        self._locator = locator
        self._store = store
        self._heads: dict[bytes, tuple[KeyedHead, bytes]] = {}
        self._lock = threading.Lock()
        self._inline: dict[int, int] = {}

    def read(self, threads: int) -> list[KeyedFile]:
        """All keyed files, in the order of operators and subtasks.

        What is wrong with a file stands in its ``problem``: it matters only if the operator is wanted.
        """
        work = list(self._work())
        self._find_inline(handle for _, _, handle in work)
        with ThreadPoolExecutor(max_workers=max(1, min(threads, len(work))), thread_name_prefix="heads") as pool:
            return [file for files in pool.map(lambda item: self._files(*item), work) for file in files]

    def _work(self) -> Iterator[tuple[int, int, KeyedStateHandle]]:
        for number, operator in enumerate(self._snapshot.operators):
            for subtask in operator.subtasks:
                if subtask.managed_keyed is not None:
                    yield number, subtask.index, subtask.managed_keyed

    def _files(self, operator: int, subtask: int, handle: KeyedStateHandle) -> list[KeyedFile]:
        label = operator_label(self._snapshot.operators[operator])
        uri = self._locator.found.metadata_uri
        try:
            if isinstance(handle, KeyGroupsHandle):
                return [self._key_groups(operator, subtask, handle)]
            if isinstance(handle, IncrementalHandle):
                return [self._meta_file(operator, subtask, handle)]
            if isinstance(handle, ChangelogHandle):
                return self._materialized(operator, subtask, handle)
            form = BodyKind.CHANGELOG
            return [KeyedFile(operator, subtask, handle.kind, form, uri, size=handle.size)]
        except StateExtractError as error:
            if isinstance(error, MissingFileError):
                error = self._locator.explain(error)
            error.at(operator=label)
            return [KeyedFile(operator, subtask, handle.kind, _usual_form(handle), error.file or uri, problem=error)]

    def _key_groups(self, operator: int, subtask: int, handle: KeyGroupsHandle) -> KeyedFile:
        with self._opened(handle.stream) as stream:
            for number, offset in enumerate(handle.offsets, handle.first):
                if not 0 <= offset <= stream.size:
                    raise FormatError(f"key group {number} begins at {offset} of a file of {stream.size} bytes",
                                      file=stream.uri, key_group=number)
            end = min((o for o in handle.offsets if o), default=stream.size)
            head, key = self._head(stream, end)
            try:
                form = self._form(handle, head, stream)
            except StateExtractError as error:
                raise error.at(file=stream.uri) from None
            return KeyedFile(operator, subtask, handle.kind, form, stream.uri, stream.start, stream.size, handle.first,
                             handle.offsets, head, key)

    def _form(self, handle: KeyGroupsHandle, head: KeyedHead, stream: _Stream) -> BodyKind:
        offsets: Sequence[int] = handle.offsets
        if not stream.near:
            offsets = offsets[:_PROBES] if 0 not in offsets else (0,)
        form = body_kind(
            handle.code, offsets, handle.first, head.compressed, stream.read_at, states=len(head.states)
        )
        if form is BodyKind.UNDECIDED:
            since_1_16 = handle.code == KEY_GROUPS_V2 and self._snapshot.version >= _HEAP_ONLY_SINCE
            return BodyKind.HEAP if since_1_16 or len(handle.offsets) > 1 else BodyKind.UNDECIDED
        return form

    def _meta_file(self, operator: int, subtask: int, handle: IncrementalHandle) -> KeyedFile:
        """RocksDB's own files: only the head, for the names of the states."""
        with self._opened(handle.meta) as stream:
            head, key = self._head(stream, stream.size)
            return KeyedFile(operator, subtask, handle.kind, BodyKind.SST_FILES, stream.uri, size=handle.size,
                             head=head, head_key=key)

    def _materialized(self, operator: int, subtask: int, handle: ChangelogHandle) -> list[KeyedFile]:
        """A changelog: the heads of its materialized parts, for the names of the states."""
        files = []
        for part in handle.materialized:
            for file in self._files(operator, subtask, part):
                files.append(KeyedFile(operator, subtask, handle.kind, BodyKind.CHANGELOG, file.uri, head=file.head,
                                       head_key=file.head_key))
        uri = self._locator.found.metadata_uri
        return files or [KeyedFile(operator, subtask, handle.kind, BodyKind.CHANGELOG, uri, size=handle.size)]

    def _head(self, stream: _Stream, end: int) -> tuple[KeyedHead, bytes]:
        if end > _LARGEST_HEAD:
            raise FormatError(f"the first key group begins only at {end}", file=stream.uri,
                              expected="a head of less than 64 MiB before it")
        data = stream.read_at(0, end)
        with self._lock:
            known = self._heads.get(data)
        if known is None:
            try:
                known = (parse_head(data, 0, end), data)
            except StateExtractError as error:
                raise stream.moved(error) from None
            with self._lock:
                known = self._heads.setdefault(data, known)
        return known

    # -- streams

    def _opened(self, handle: StreamHandle) -> _Stream:
        if isinstance(handle, InlineHandle):
            start = self._inline.get(id(handle), 0)
            return _Stream(self._locator.found.metadata_uri, start, handle.size, handle.data, None)
        location = self._locator.locate(handle)
        if location.uri is None:
            return _Stream(self._locator.found.metadata_uri, 0, location.size, location.inline or b"", None)
        return _Stream(location.uri, location.start, location.size, None, self._store)

    def _find_inline(self, handles: Iterator[KeyedStateHandle]) -> None:
        """Positions of inline state in ``_metadata``, so that tasks read it there and no split has to carry it.

        The handles come in the order of the file, so one pass finds them all; any place with these bytes is right.
        """
        cursor = 0
        for keyed in handles:
            for stream in keyed.streams():
                if isinstance(stream, InlineHandle):
                    position = self._metadata.find(stream.data, cursor)
                    if position < 0:
                        position = self._metadata.find(stream.data)
                    self._inline[id(stream)] = position
                    cursor = max(cursor, position)


class _Stream:
    """The bytes of one stream handle, wherever they lie."""

    def __init__(self, uri: str, start: int, size: int, inline: bytes | None, store: Store | None) -> None:
        self.uri = uri
        self.start = start
        self.size = size
        self._inline = inline
        self._file = store.open(uri) if store is not None else None
        self.near = inline is not None or "://" not in uri

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes from ``offset`` of the stream on, fewer only at its end."""
        length = max(0, min(length, self.size - offset))
        if self._inline is not None:
            return self._inline[offset : offset + length]
        assert self._file is not None
        return self._file.read_at(self.start + offset, length)

    def moved(self, error: StateExtractError) -> StateExtractError:
        """The error with its offset counted in the file."""
        if error.offset is not None:
            error.offset += self.start
        return error.at(file=self.uri)

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def operator_label(operator: OperatorState) -> str:
    """How a person calls an operator."""
    return operator.uid or operator.name or operator.id


def _usual_form(handle: KeyedStateHandle) -> BodyKind:
    if isinstance(handle, IncrementalHandle):
        return BodyKind.SST_FILES
    if isinstance(handle, KeyGroupsHandle):
        return BodyKind.FULL_SNAPSHOT if handle.savepoint else BodyKind.HEAP
    return BodyKind.CHANGELOG


__all__ = ["HeadReader", "KeyedFile", "operator_label"]
