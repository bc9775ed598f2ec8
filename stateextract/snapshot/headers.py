"""Heads of all state files of a snapshot, read concurrently: what is in each file, and in which form.

State ids and serializer snapshots differ from file to file of one operator, so every file's own head is read. A head
ends at the smallest key-group offset that is not zero, so only ``[0, that)`` is read, and the few bytes that show which
body comes after. Subtasks often share their head byte for byte; each distinct one is parsed once.

Operator state files have a head of their own; timers in raw keyed state have none, and one is made of their first key
group. Raw state that operators wrote themselves is left to the inventory.

Gives :class:`StateFile` values; decides nothing about them. May import metadata, files, state; must not know of Arrow,
Spark or Parquet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from stateextract.errors import FormatError, MissingFileError, StateExtractError, expected_error
from stateextract.files.decompressed_files import DecompressedFiles
from stateextract.files.piece import FilePiece, Inline
from stateextract.files.prefetch import FilePrefetcher
from stateextract.metadata.key_group_assignment import WrongKeyGroups, wrong_key_groups
from stateextract.metadata.locate import Locator
from stateextract.metadata.model import (
    ChangelogHandle,
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    OperatorStateHandle,
    SnapshotMetadata,
    StreamHandle,
)
from stateextract.metadata.opener import Opener
from stateextract.metadata.operator_lookup import operator_label
from stateextract.snapshot.content import NO_DATA, Content, Header
from stateextract.state.bodies.body import KEY_GROUPS_V2, BodyKind, body_kind
from stateextract.state.bodies.database import shares
from stateextract.state.bodies.heap import key_group_ranges
from stateextract.state.bodies.raw_timers import is_timers, timers_header
from stateextract.state.header import KeyedHeader, OperatorHeader, parse_header, parse_operator_header
from stateextract.state.operator import note_of_1_18_0, operator_header_end, partitions

if TYPE_CHECKING:
    from stateextract.snapshot.changelogs import Changelog

StateScope = Literal["keyed", "operator"]
OnHeaders = Callable[[int, int], None]
"""Receives, at the beginning and after each, how many handles were looked at and how many there are."""


def ignore_progress(done: int, count: int) -> None:
    """No callback."""


_LARGEST_HEAD = 64 << 20
_PROBES = 2  # key groups whose numbers are looked at in a file that is not local; tasks check all of them
_HEAP_ONLY_SINCE = 4  # version of _metadata of Flink 1.16, where full snapshots left code 12


@dataclass(frozen=True)
class StateFile:
    """One handle of one subtask.

    :param operator: index of the operator in the metadata.
    :param kind: of the handle.
    :param uri: the file; for inline state the ``_metadata`` file.
    :param start: where the handle's bytes begin in the file, ``size`` how many there are.
    :param content: what can be read of it; absent where that takes more than this file.
    :param header: ``None`` if none could be read. Then ``problem`` says why, if something is wrong.
    :param problem: why no state of the file can be read or, if there is ``content``, why only a part of each. With a head it
        has the names of the states.
    :param lost: why single states of the head cannot be read, by name.
    :param header_key: equal for equal heads.
    :param handle: of a database; then ``uri``, ``start`` and ``size`` are those of its ``meta`` file, which is only a head.
    :param changelog: of a changelog; the rest is then of what was materialized, as far as anything was.
    :param note: what a report should say of it.
    :param named: name and kind of the states that ``_metadata`` lists for the file, where the head cannot be read.
    """

    operator: int
    subtask: int
    kind: str
    form: BodyKind
    uri: str
    start: int = 0
    size: int = 0
    content: Content | None = None
    header: Header | None = None
    header_key: bytes = b""
    problem: StateExtractError | None = None
    lost: Mapping[str, StateExtractError] = field(default_factory=dict)
    handle: IncrementalHandle | None = None
    changelog: ChangelogHandle | None = None
    note: str | None = None
    named: tuple[tuple[str, str], ...] = ()

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and kind of the states in it, as far as they are known."""
        return self.named if self.header is None else tuple((meta.name, meta.kind) for meta in self.header.states)

    @property
    def scope(self) -> StateScope:
        """Whether it holds keyed or operator state."""
        return "operator" if self.form is BodyKind.OPERATOR else "keyed"


def timers_once(files: Sequence[StateFile]) -> list[StateFile]:
    """The files, without the content of raw keyed state whose timers are in the same subtask's full snapshot too.

    So it is in checkpoints of Flink 1.13's RocksDB that are not incremental and whose timers are kept on the heap: the
    snapshot has the queues (``FullSnapshotResources``), and the timer service writes them into raw keyed state as well
    (``RocksDBKeyedStateBackend.requiresLegacySynchronousTimerSnapshots``). Flink reads both into one set.
    """
    queues = {
        (file.operator, file.subtask, meta.name)
        for file in files
        if file.form is BodyKind.FULL_SNAPSHOT and file.header is not None
        for meta in file.header.states
    }

    def again(file: StateFile) -> bool:
        names = [meta.name for meta in file.header.states] if file.header is not None else []
        double = all((file.operator, file.subtask, name) in queues for name in names)
        return file.form is BodyKind.RAW and bool(names) and double

    return [replace(file, content=None, header=None, header_key=b"") if again(file) else file for file in files]


@dataclass(frozen=True)
class _Work:
    """A handle to look at."""

    operator: int
    subtask: int
    handle: KeyedStateHandle | OperatorStateHandle
    raw: bool = False


class HeaderReader:
    """Reads the heads of one snapshot.

    :param metadata: content of the ``_metadata`` file, where inline state lies.
    :param codec: of compressed changelog files; ``verify``: check their checksums.
    """

    def __init__(
        self,
        snapshot: SnapshotMetadata,
        metadata: bytes,
        locator: Locator,
        codec: str = "snappy",
        verify: bool = True,
    ) -> None:
        self._snapshot = snapshot
        self._metadata = metadata
        self._locator = locator
        self._store = locator.store
        self._headers: dict[tuple[bool, bytes], tuple[Header, bytes]] = {}
        self._lock = threading.Lock()
        self._inline: dict[int, int] = {}
        self._codec = codec
        self._verify = verify
        self._changelog_files = DecompressedFiles()
        self._bounds: dict[StreamHandle, set[int]] = {}
        self._wrong_key_groups: list[dict[tuple[int, str], WrongKeyGroups]] = []

    def read(self, threads: int, on_headers: OnHeaders = ignore_progress) -> list[StateFile]:
        """All files, in the order of operators and subtasks.

        What is wrong with a file is in its ``problem``: it matters only if the operator is wanted.

        :param on_headers: receives how far it is.
        """
        work = list(self._work())
        for operator in self._snapshot.operators:
            if operator.problem is not None:
                operator.problem.at(file=self._locator.found.metadata_uri)
        self._wrong_key_groups = [{} if o.problem else wrong_key_groups(o) for o in self._snapshot.operators]
        self._find_inline(item.handle for item in work)
        self._find_bounds(item.handle for item in work)
        with ThreadPoolExecutor(max_workers=max(1, min(threads, len(work))), thread_name_prefix="heads") as pool:
            on_headers(0, len(work))
            looked_at = []
            # A thread takes longer to start than a header to read.
            for found in (map if len(work) < 2 else pool.map)(self._look, work):
                looked_at.append(found)
                on_headers(len(looked_at), len(work))
        self._find_keys([one for one in looked_at if not isinstance(one, list)])
        files = [f for one in looked_at for f in (one if isinstance(one, list) else self._finished(one))]
        return timers_once(files)

    def _work(self) -> Iterator[_Work]:
        for number, operator in enumerate(self._snapshot.operators):
            for subtask in operator.subtasks:
                # In the order of the handles in the file.
                if subtask.managed_operator is not None:
                    yield _Work(number, subtask.index, subtask.managed_operator)
                if subtask.managed_keyed is not None:
                    yield _Work(number, subtask.index, subtask.managed_keyed)
                if isinstance(subtask.raw_keyed, KeyGroupsHandle):
                    yield _Work(number, subtask.index, subtask.raw_keyed, raw=True)

    def _look(self, work: _Work) -> list[StateFile] | Changelog:
        """The files of a handle; of a changelog what has to be finished when those of all subtasks are known."""
        if not isinstance(work.handle, ChangelogHandle):
            return self._with_problem(work, self._files(work))
        try:
            return self._changelog(work, work.handle)
        except Exception as error:
            return [self._failed(work, error)]

    def _with_problem(self, work: _Work, files: list[StateFile]) -> list[StateFile]:
        """The files of a handle, with what is wrong with the handle itself."""
        problem, readable = self._problem(work)
        if problem is None:
            return files
        operator = self._snapshot.operators[work.operator]
        problem.at(file=self._locator.found.metadata_uri, operator=operator_label(operator))
        if not files and not work.handle.size and problem is operator.problem:
            return []  # It has no states, and the operator itself is reported.
        # The headers have the names of the states.
        return [
            replace(file, problem=file.problem or problem, content=file.content if readable else None) for file in files
        ] or [self._failed(work, problem)]

    def _problem(self, work: _Work) -> tuple[FormatError | None, bool]:
        """How ``_metadata`` contradicts itself about a handle, and whether its rows can be read all the same."""
        operator = self._snapshot.operators[work.operator]
        if operator.problem is not None or isinstance(work.handle, OperatorStateHandle):
            return operator.problem, False
        role = "raw_keyed" if work.raw else "managed_keyed"
        return self._wrong_key_groups[work.operator].get((work.subtask, role), (None, True))

    def _files(self, work: _Work) -> list[StateFile]:
        handle = work.handle
        try:
            if isinstance(handle, OperatorStateHandle):
                return self._operator_state(work, handle)
            if isinstance(handle, KeyGroupsHandle):
                return self._raw(work, handle) if work.raw else [self._key_groups(work, handle)]
            if isinstance(handle, IncrementalHandle):
                return [self._meta_file(work, handle)]
            raise FormatError(f"a {handle.kind} handle outside of a changelog", file=self._locator.found.metadata_uri)
        except Exception as error:
            return [self._failed(work, error)]

    def _failed(self, work: _Work, failure: Exception) -> StateFile:
        """Whatever it is: no file takes others with it."""
        error = self._explained(expected_error(failure))
        error.at(operator=operator_label(self._snapshot.operators[work.operator]))
        uri = error.file or self._locator.found.metadata_uri
        states = work.handle.states if isinstance(work.handle, OperatorStateHandle) else ()
        named = tuple((state.name, state.mode) for state in states)
        return StateFile(
            work.operator, work.subtask, work.handle.kind, _usual_form(work), uri, problem=error, named=named
        )

    def _explained(self, error: StateExtractError) -> StateExtractError:
        return self._locator.explain(error) if isinstance(error, MissingFileError) else error

    def _key_groups(self, work: _Work, handle: KeyGroupsHandle) -> StateFile:
        with self._opened(handle.stream) as stream:
            _check_offsets(handle, stream, 0)
            bounds = self._bounds.get(handle.stream, set())
            end = min((o for o in (*handle.offsets, *bounds) if o), default=stream.size())
            header, key = self._header(stream, end, parse_header)
            assert isinstance(header, KeyedHeader)
            try:
                form = self._form(handle, header, stream)
                ranges = key_group_ranges(handle.first, handle.offsets, stream.size(), NO_DATA[form], bounds)
            except StateExtractError as error:
                raise error.at(file=stream.uri) from None
            most = self._snapshot.operators[work.operator].max_parallelism
            content = Content(form, stream.size(), end, most, tuple(ranges))
            return _state_file(work, stream, content, header, key)

    def _raw(self, work: _Work, handle: KeyGroupsHandle) -> list[StateFile]:
        """Raw keyed state, if it is one of timers."""
        with self._opened(handle.stream) as stream:
            _check_offsets(handle, stream, NO_DATA[BodyKind.RAW] or 0)
            form = BodyKind.RAW
            try:
                ranges = tuple(key_group_ranges(handle.first, handle.offsets, stream.size(), NO_DATA[form]))
                if not ranges or not is_timers(stream.read_at, ranges[0]):
                    return []
                header = timers_header(stream.read_at, ranges[0])
            except StateExtractError as error:
                raise error.moved(stream.start).at(file=stream.uri) from None
            content = Content(form, stream.size(), 0, self._snapshot.operators[work.operator].max_parallelism, ranges)
            key = repr([(meta.name, meta.serializers) for meta in header.states]).encode()
            return [_state_file(work, stream, content, header, key)]

    def _operator_state(self, work: _Work, handle: OperatorStateHandle) -> list[StateFile]:
        if handle.empty or not handle.size:
            return []
        with self._opened(handle.stream) as stream:
            end = operator_header_end(handle.states, stream.size(), stream.read_at)
            header, key = self._header(stream, end, parse_operator_header)
            assert isinstance(header, OperatorHeader)
            form = BodyKind.OPERATOR
            try:
                parts = tuple(partitions(header, handle.states, stream.size()))
                note = note_of_1_18_0(header, handle.states, stream.size(), stream.read_at)
            except StateExtractError as error:
                raise error.moved(stream.start).at(file=stream.uri) from None
            content = Content(form, stream.size(), header.end, partitions=parts, whole=header.compressed)
            return [_state_file(work, stream, content, header, key, note=note)]

    def _form(self, handle: KeyGroupsHandle, header: KeyedHeader, stream: FilePiece) -> BodyKind:
        offsets: Sequence[int] = handle.offsets
        if handle.code == KEY_GROUPS_V2 and self._snapshot.version >= _HEAP_ONLY_SINCE and 0 not in offsets:
            return BodyKind.HEAP
        if stream.remote:
            offsets = offsets[:_PROBES] if 0 not in offsets else (0,)
        form = body_kind(handle.code, offsets, handle.first, header.compressed, stream.read_at, states=len(header.states))
        if form is BodyKind.UNDECIDED and len(handle.offsets) > 1:
            return BodyKind.HEAP
        return form

    def _meta_file(self, work: _Work, handle: IncrementalHandle) -> StateFile:
        """RocksDB's own files: the head says which states the database holds."""
        with self._opened(handle.meta) as stream:
            header, key = self._header(stream, stream.size(), parse_header)
            form, most = BodyKind.SST_FILES, self._snapshot.operators[work.operator].max_parallelism
            content = Content(form, stream.size(), stream.size(), most, shares(handle.key_groups, handle.size))
            # The head is valid, so the states that cannot be read have names.
            label = operator_label(self._snapshot.operators[work.operator])
            problem: StateExtractError | None = None
            lost: dict[str, StateExtractError] = {}
            try:
                lost, problem = self._lost(handle, [meta.name for meta in header.states])
            except StateExtractError as error:
                problem = self._explained(error)
            if problem is not None:
                problem.at(file=stream.uri, operator=label)
            lost = {n: self._explained(e).at(file=stream.uri, operator=label, state=n) for n, e in lost.items()}
            return _state_file(work, stream, content, header, key, problem=problem, lost=lost, handle=handle)

    def _lost(
        self, handle: IncrementalHandle, states: Sequence[str]
    ) -> tuple[dict[str, StateExtractError], StateExtractError | None]:
        """Why states of a database cannot be read, by name, and why rows of any state may be missing.

        The SST files are looked for, not opened.

        :param states: what the head lists.
        :raises StateExtractError: where none can be read.
        """
        from stateextract.rocksdb import RocksOptions, open_rocksdb

        database = open_rocksdb(handle, Opener(self._locator, FilePrefetcher(self._store)), RocksOptions(self._verify))
        lost = database.contradictions(states)
        for name in filter(database.has, states):
            for stream in database.streams(name):
                try:
                    self._locator.locate(stream)
                except StateExtractError as error:
                    lost.setdefault(name, error)
        return lost, database.unlisted()

    # -- changelogs

    def _changelog(self, work: _Work, handle: ChangelogHandle) -> Changelog | list[StateFile]:
        from stateextract.snapshot.changelogs import Changelog, materialized_parts, open_log

        parts = []
        for part in materialized_parts(handle):
            for file in self._files(replace(work, handle=part)):
                if file.problem is not None:
                    return [replace(file, kind=handle.kind, form=BodyKind.CHANGELOG, content=None)]
                parts.append((part, file))
        log = open_log(handle, self._locator, lambda: self._metadata, self._codec, self._verify, self._changelog_files)
        changelog = Changelog(work.operator, work.subtask, handle, log, parts)
        changelog.look()
        return changelog

    def _find_keys(self, changelogs: Sequence[Changelog]) -> None:
        if not changelogs:
            return
        from stateextract.snapshot.changelogs import find_keys

        for number in dict.fromkeys(changelog.operator for changelog in changelogs):
            mine = [changelog for changelog in changelogs if changelog.operator == number]
            operator = self._snapshot.operators[number]
            try:
                problem: StateExtractError | None = find_keys(mine, operator.max_parallelism)
            except Exception as error:
                problem = expected_error(error)
            if problem is not None:
                problem.at(operator=operator_label(operator))
                for changelog in mine:
                    if changelog.key is None and changelog.handle.increments:
                        changelog.problem = problem

    def _finished(self, changelog: Changelog) -> list[StateFile]:
        work = _Work(changelog.operator, changelog.subtask, changelog.handle)
        most = self._snapshot.operators[work.operator].max_parallelism
        try:
            files = changelog.files(self._locator.found.metadata_uri, StateFile, most)
        except Exception as error:
            return [self._failed(work, error)]
        notes = (changelog.note, *[None] * len(files))
        files = [replace(file, problem=changelog.problem, note=note) for file, note in zip(files, notes, strict=False)]
        return self._with_problem(work, files)

    def _find_bounds(self, handles: Iterable[KeyedStateHandle | OperatorStateHandle]) -> None:
        """Where key groups begin in the files of changelogs' materialized parts.

        After a rescaling each subtask refers to some key groups of an old file: that the first of these is where the head
        ends, and that one ends where the next begins, is true only of all key groups together.
        """
        for handle in handles:
            for part in handle.materialized if isinstance(handle, ChangelogHandle) else ():
                if isinstance(part, KeyGroupsHandle):
                    self._bounds.setdefault(part.stream, set()).update(o for o in part.offsets if o)

    def _header(self, stream: FilePiece, end: int, parse: Callable[[bytes, int, int], Header]) -> tuple[Header, bytes]:
        if end < 0:
            raise FormatError("the first element begins inside the header", file=stream.uri)
        if end > _LARGEST_HEAD:
            raise FormatError(
                f"the first data begins only at {end}", file=stream.uri, expected="a header of less than 64 MiB before it"
            )
        if end > stream.size():
            raise FormatError(
                f"the first data begins only at {end}",
                file=stream.uri,
                expected=f"an offset in the file's {stream.size()} bytes",
            )
        data = stream.read_at(0, end)
        with self._lock:
            known = self._headers.get((parse is parse_header, data))
        if known is None:
            try:
                known = (parse(data, 0, end), data)
            except StateExtractError as error:
                raise error.moved(stream.start).at(file=stream.uri) from None
            with self._lock:
                known = self._headers.setdefault((parse is parse_header, data), known)
        return known

    # -- streams

    def _opened(self, handle: StreamHandle) -> FilePiece:
        (handle,) = handle.streams()  # the one inside, if key groups are nested
        location = self._locator.locate(handle)
        if location.uri is None:
            return Inline(location.inline or b"", self._locator.found.metadata_uri, self._inline.get(id(handle), 0))
        return FilePiece(self._store.open(location.uri), location.start, location.size, uri=location.uri)

    def _find_inline(self, handles: Iterator[KeyedStateHandle | OperatorStateHandle]) -> None:
        """Positions of inline state in ``_metadata``, so that tasks read it there and no split has to carry it.

        The handles come in the order of the file, so one pass finds them all; any place with these bytes is right.
        """
        cursor = 0
        for handle in handles:
            for stream in handle.streams():
                if isinstance(stream, InlineHandle):
                    position = self._metadata.find(stream.data, cursor)
                    if position < 0:
                        position = self._metadata.find(stream.data)
                    self._inline[id(stream)] = position
                    cursor = max(cursor, position)


def _check_offsets(handle: KeyGroupsHandle, stream: FilePiece, least: int) -> None:
    for number, offset in enumerate(handle.offsets, handle.first):
        if not least <= offset <= stream.size():
            raise FormatError(
                f"key group {number} begins at {offset} of a file of {stream.size()} bytes",
                file=stream.uri,
                key_group=number,
            )


def _usual_form(work: _Work) -> BodyKind:
    handle = work.handle
    if isinstance(handle, OperatorStateHandle):
        return BodyKind.OPERATOR
    if work.raw:
        return BodyKind.RAW
    if isinstance(handle, IncrementalHandle):
        return BodyKind.SST_FILES
    if isinstance(handle, KeyGroupsHandle):
        return BodyKind.FULL_SNAPSHOT if handle.savepoint else BodyKind.HEAP
    return BodyKind.CHANGELOG


def _state_file(
    work: _Work, stream: FilePiece, content: Content, header: Header, key: bytes, **more: Any
) -> StateFile:
    place = stream.uri, stream.start, stream.size()
    return StateFile(work.operator, work.subtask, work.handle.kind, content.form, *place, content, header, key, **more)
