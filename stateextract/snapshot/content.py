"""One face for the bodies of all state files: what of a file is to be read, how it may be cut into tasks, and reading it.

State of a changelog is what was materialized, in a body like any other, and the changes since: its content has both.

``Content`` is a plain value that a plan makes and a task carries out; :func:`read_content` hands it to the reader of its
form. May import the readers; knows no URIs, no Parquet, no Spark.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from stateextract.errors import FormatError, StateExtractError, TruncatedError, UnsupportedError
from stateextract.files.window import ReadAt
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.changes import Changes
from stateextract.state.bodies.database import Lookup, OpenDatabase, read_database
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.bodies.raw_timers import timers_header
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import KeyedHeader, OperatorHeader, parse_header, parse_operator_header
from stateextract.state.operator import Partition, read_operator_state
from stateextract.state.sessions import read_with_sessions
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead, Piece

Header: TypeAlias = KeyedHeader | OperatorHeader

if TYPE_CHECKING:
    from stateextract.changelog.log import Log
    from stateextract.changelog.replay import Materialized

OpenLog: TypeAlias = "Callable[[ReadOptions], Log]"
"""Opens the log of the current subtask."""

NO_DATA = {BodyKind.HEAP: None, BodyKind.UNDECIDED: None, BodyKind.FULL_SNAPSHOT: 0, BodyKind.RAW: -1}
"""By form, the offset of a key group without data."""


@dataclass(frozen=True)
class Content:
    """What of one file is to be read.

    :param size: of the handle's bytes; :param header_end: where the head ends.
    :param ranges: of keyed state: its key groups with data; :param partitions: of operator state: its states.
    :param whole: must be read in one go, from the head's end on.
    :param changes: of a changelog: the head of the states that changed. Then ``form`` is that of what was materialized,
        :attr:`BodyKind.CHANGELOG` if nothing was, and ``ranges`` has every key group, those without data as empty ranges.
    :param change_bytes: bytes of the log for each key group, about.
    :param lookup: of a database: what alone is read; ``None``: everything is.
    """

    form: BodyKind
    size: int
    header_end: int
    max_parallelism: int = 128
    ranges: tuple[KeyGroupRange, ...] = ()
    partitions: tuple[Partition, ...] = ()
    whole: bool = False
    changes: bytes | None = None
    change_bytes: int = 0
    lookup: Lookup | None = None

    @property
    def sizes(self) -> list[int]:
        """Bytes of each unit that can be read by itself."""
        if self.whole:
            return [self.size - self.header_end]
        return [r.end - r.start + self.change_bytes for r in self.ranges] or [p.size for p in self.partitions]

    @property
    def read_size(self) -> int:
        """Bytes of all units."""
        return sum(self.sizes)

    def beginning(self, most: int, header: bool = True) -> list[tuple[int, int]]:
        """Where reading begins: the head, or of small contents all that is read, as at most two ranges of the handle's bytes.

        :param most: bytes that are little.
        :param header: the head is read, too.
        """
        first = [(0, self.header_end)] if self.header_end and (header or self.changes is not None) else []
        units = [(p.offsets[0], p.end) for p in self.partitions if p.offsets]
        if self.changes is None and self.form is not BodyKind.SST_FILES:
            units += [(r.start, r.end) for r in self.ranges] + [(self.header_end, self.size)] * self.whole
        joined: list[tuple[int, int]] = []
        for begin, end in sorted(first + units):
            if joined and begin <= joined[-1][1]:
                begin, end = joined[-1][0], max(joined.pop()[1], end)
            joined.append((begin, end))
        if len(joined) > 2 or sum(end - begin for begin, end in joined) > most:
            joined = first if self.header_end <= most else []
        return joined

    @property
    def key_groups(self) -> tuple[int, int]:
        """The first and the last one; ``(0, -1)`` where there is none."""
        return (self.ranges[0].key_group, self.ranges[-1].key_group) if self.ranges else (0, -1)

    def cut(self, begin: int, end: int) -> Content:
        """The units from ``begin`` to before ``end``."""
        if self.whole:
            return self
        return replace(self, ranges=self.ranges[begin:end], partitions=self.partitions[begin:end])

    def of_key_groups(self, selected: Collection[int]) -> list[Content]:
        """Without other key groups. Databases and changelogs are read from a first to a last key group: there a content
        with gaps becomes several.
        """
        ranges = tuple(r for r in self.ranges if r.key_group in selected)
        if not ranges:
            return []
        kept = replace(self, ranges=ranges)
        if self.form is not BodyKind.SST_FILES and self.changes is None:
            return [kept]
        gaps = [i for i, (a, b) in enumerate(itertools.pairwise(ranges), 1) if a.key_group + 1 != b.key_group]
        return [kept.cut(begin, end) for begin, end in itertools.pairwise([0, *gaps, len(ranges)])]

    def finer(self, most: int) -> Content:
        """With long lists cut into runs of elements of about ``most`` bytes."""
        if self.whole or not self.partitions:
            return self
        return replace(self, partitions=tuple(run for p in self.partitions for run in _runs(p, most)))

    def only(self, selected: Collection[str]) -> Content:
        """Without states that are not wanted and need not be skipped."""
        if self.whole or not self.partitions:
            return self
        return replace(self, partitions=tuple(p for p in self.partitions if p.name in selected))


def _runs(part: Partition, most: int) -> Iterator[Partition]:
    offsets = part.offsets
    begin = 0
    while begin < len(offsets) and part.end - offsets[begin] > most and part.mode != "BROADCAST":
        end = max(bisect.bisect_left(offsets, offsets[begin] + most, begin + 1), begin + 1)
        if end >= len(offsets):
            break
        yield replace(part, offsets=offsets[begin:end], end=offsets[end], first=part.first + begin)
        begin = end
    yield replace(part, offsets=offsets[begin:], first=part.first + begin)


KnownHeaders: TypeAlias = dict[tuple[bool, bytes], Header]
"""Headers that were parsed, by whether they are of operator state, and the SHA-256 of their bytes."""

_MOST_HEADERS = 256


def read_header(read_at: ReadAt, content: Content, options: ReadOptions, known: KnownHeaders) -> Header:
    """The head of a file; of a changelog with the states that changed.

    :param known: headers that were read before. Equal bytes give the same object, which keeps what was made of it.
    """
    if content.changes is not None:
        from stateextract.changelog.declared import merged_header, parse_changes_header  # most snapshots have none

        base = None if content.form is BodyKind.CHANGELOG else _base_header(read_at, content)
        return merged_header(base, parse_changes_header(content.changes))
    if content.form is BodyKind.RAW:
        return timers_header(read_at, content.ranges[0], options.context)
    data = _header_bytes(read_at, content)
    key = (content.form is BodyKind.OPERATOR, sha256(data).digest())
    header = known.get(key)
    if header is None:
        header = (parse_operator_header if key[0] else parse_header)(data, 0, content.header_end)
        if len(known) >= _MOST_HEADERS:
            known.clear()
        known[key] = header
    return header


def _base_header(read_at: ReadAt, content: Content) -> KeyedHeader:
    return parse_header(_header_bytes(read_at, content), 0, content.header_end)


def _header_bytes(read_at: ReadAt, content: Content) -> bytes:
    data = read_at(0, content.header_end)
    if len(data) < content.header_end:
        raise TruncatedError("the file ends inside its header", expected=f"{content.header_end} bytes", offset=len(data))
    return data


def read_content(
    read_at: ReadAt,
    header: Header,
    content: Content,
    file_read: FileRead,
    skip_broadcast_states: Collection[str] = (),
    open_database: OpenDatabase | None = None,
    open_log: OpenLog | None = None,
) -> Iterator[Piece]:
    """Read the selected states.

    :param read_at: gives bytes of the handle's stream.
    :param skip_broadcast_states: broadcast states of which only the digest is taken.
    :param open_database: opens the database that ``read_at``'s file is the head of, for content of that form.
    :param open_log: opens the log, for content with changes.
    :raises StateExtractError: with state, key group and offset.
    """
    if isinstance(header, OperatorHeader):
        yield from read_operator_state(
            read_at, header, content.partitions, content.size, file_read, skip_broadcast_states
        )
        return
    # Sessions are read before the contents that they belong to, from the same database.
    keyed = _KeyedReader(read_at, content, None if open_database is None else cache(open_database), open_log)
    yield from read_with_sessions(lambda file_read: keyed.read(header, file_read), header, file_read)


@dataclass(frozen=True)
class _KeyedReader:
    """Reads keyed state of one file, database or changelog."""

    read_at: ReadAt
    content: Content
    open_database: OpenDatabase | None
    open_log: OpenLog | None

    def read(self, header: KeyedHeader, file_read: FileRead) -> Iterator[Piece]:
        """What is in it, of a changelog after all changes."""
        content = self.content
        if content.changes is None or self.open_log is None:
            return self._body(header, content, file_read, None)
        from stateextract.changelog.replay import Replay

        base = self._materialized(file_read)
        replay = Replay(self.open_log(file_read.options), content.changes, base, file_read, content.max_parallelism)
        return replay.read(content.ranges)

    def _materialized(self, file_read: FileRead) -> Materialized | None:
        """What was materialized before the changes of a changelog, if anything was."""
        from stateextract.changelog.replay import Materialized

        content, form = self.content, self.content.form
        if form is BodyKind.CHANGELOG:
            return None
        header = _base_header(self.read_at, content)
        if form is BodyKind.UNDECIDED:
            filled = tuple(r for r in content.ranges if r.end > r.start)
            form = _decided(self.read_at, header, replace(content, ranges=filled), file_read.options)

        def read(ranges: Sequence[KeyGroupRange], selected: Collection[str], changes: Changes) -> Iterator[Piece]:
            body = replace(content, form=form, ranges=tuple(ranges), changes=None)
            return self._body(header, body, replace(file_read, selected=selected), changes)

        return Materialized(header, form is not BodyKind.HEAP, read)

    def _body(
        self, header: KeyedHeader, content: Content, file_read: FileRead, changes: Changes | None
    ) -> Iterator[Piece]:
        form, most = content.form, content.max_parallelism
        if form is BodyKind.SST_FILES and self.open_database is not None:
            return read_database(self.open_database, header, content.ranges, file_read, most, changes, content.lookup)
        if form not in NO_DATA:
            raise UnsupportedError(f"{form.value} cannot be read from one file")
        if form is BodyKind.UNDECIDED:
            form = _decided(self.read_at, header, content, file_read.options)
        return read_key_groups(self.read_at, header, content.ranges, file_read, form, most, changes)


def _decided(read_at: ReadAt, header: KeyedHeader, content: Content, options: ReadOptions) -> BodyKind:
    """A body of one key group that may be either: only one can be skipped to its very end.

    :raises FormatError: with what is wrong of each, where neither can.
    """
    failures: list[StateExtractError] = []
    # Pairs say their lengths, so nothing but a full snapshot is one from end to end; entries may be undecodable.
    for form in (BodyKind.FULL_SNAPSHOT, BodyKind.HEAP):
        try:
            nothing = FileRead((), options, Counters(), 0)
            for _ in read_key_groups(read_at, header, content.ranges, nothing, form, content.max_parallelism):
                pass
            return form
        except StateExtractError as error:
            failures.append(error)
    full, heap = failures
    raise FormatError(
        f"the key group can be read neither as a heap body ({_described(heap)}) nor as a full snapshot "
        f"({_described(full)})",
        key_group=heap.key_group,
        state=heap.state,
        offset=heap.offset,
    )


def _described(error: StateExtractError) -> str:
    return f"{error.message} at {error.offset}"
