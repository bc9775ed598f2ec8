"""Heap bodies: what the HashMap backend writes after the head of a keyed state file.

At the offset of each key group, also of an empty one::

    i32   key group id                    never compressed
          then each state of the head once, in any order, in a compressed file each in a stream of its own:
    u16   state id                        position in the head
    i32   count · (namespace · key · value) × count        queues: count · element × count

Entries have no lengths. So in an uncompressed file, a state that cannot be decoded makes all states after it in the same key
group unreadable. In a compressed one the next state begins where the next stream begins.

:class:`HeapWalker` reads one run of key groups through a window and calls back; it knows no files, layouts of states, or
what is done with batches. Flink's classes: ``HeapSnapshotStrategy``, ``HeapRestoreOperation``,
``CopyOnWriteStateMapSnapshot``, ``KeyGroupPartitioner``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from stateextract.columnar.decode.decoder import Decoder, Stop
from stateextract.errors import FormatError, StateExtractError, TruncatedError
from stateextract.files.compression import StreamDecoder
from stateextract.files.window import DecompressedSource, RangeSource, ReadAt, Window

T = TypeVar("T")
ReadStates = Callable[[Window, DecompressedSource | None], Generator[None, None, T]]
"""Reads the states of a key group out of a window, which a codec fills if they are compressed."""

LARGE = 32 << 20
ALL = 1 << 62
"""Bytes of one entry from which on it is not read as a whole, where that can be helped."""

_STATE_HEADER = 6  # the id of a state and its count
_SMALL = 64  # bytes per state that a key group without entries has at most, compressed streams with their headers


@dataclass(frozen=True)
class KeyGroupRange:
    """Where a key group's bytes lie in its file.

    :param start: offset of its ``i32`` id; ``end``: offset after its last byte.
    """

    key_group: int
    start: int
    end: int


@dataclass(frozen=True)
class Lost:
    """States of one key group that could not be read.

    :param state_id: the state whose bytes stopped the decoder.
    :param also: states after it that are lost with it.
    :param entries: entries of ``state_id`` that the file counts and that were not decoded.
    :param start: offset where the unread bytes begin, ``size`` how many there are, in a compressed file counted in the
        uncompressed stream of the state.
    """

    key_group: int
    state_id: int
    also: tuple[int, ...]
    entries: int
    start: int
    size: int
    error: StateExtractError


class EntryTarget(Protocol):
    """What becomes of the entries of one state."""

    @property
    def decoder(self) -> Decoder | None:
        """``None``: the state cannot be decoded at all."""

    @property
    def error(self) -> StateExtractError | None:
        """Then why not."""

    def decoded(self, key_group: int, rows: int, entries: int) -> None:
        """That many entries of a key group gave that many rows in the decoder's batch."""

    def full(self) -> None:
        """The decoder's batch is full and must be flushed."""

    def large(self, window: Window, key_group: int) -> Iterator[None] | None:
        """Read the next entry, which is larger than ``LARGE``, part by part; ``None``: it must be decoded as a whole."""

    def finished(self, key_group: int, entries: int, size: int) -> None:
        """The state's entries in a key group are complete; they took ``size`` bytes."""


class UncountedEntries:
    """A target of entries that are decoded or skipped without being counted."""

    error: StateExtractError | None = None

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder

    def decoded(self, key_group: int, rows: int, entries: int) -> None:
        pass

    def full(self) -> None:
        pass

    def large(self, window: Window, key_group: int) -> None:
        pass

    def finished(self, key_group: int, entries: int, size: int) -> None:
        pass


OnLost = Callable[[Lost, Callable[[], Iterator[bytes]]], None]
"""Called for states that cannot be decoded, with what is lost and the unread bytes (given as a function that yields them piece
by piece); it raises to stop, or returns to go on with what can be found again."""


class BodyWalker:
    """Walks key groups.

    :param start_decoder: makes what decompresses a key group; ``None``: they are not compressed.
    :param most: bytes of the largest entry.
    """

    def __init__(
        self, read_at: ReadAt, start_decoder: Callable[[], StreamDecoder] | None = None, most: int | None = None
    ) -> None:
        self.read_at, self.start_decoder, self.most = read_at, start_decoder, most

    def walk(self, groups: Sequence[KeyGroupRange]) -> Iterator[None]:
        """Read key groups; those that lie side by side in one go. Yields now and then, so that batches can be taken.

        :raises StateExtractError: with key group, state and offset.
        """
        for window, group in windows(self.read_at, groups, self.most if self.start_decoder is None else None):
            try:
                yield from self._group(window, group)
            except StateExtractError as error:
                raise error.at(key_group=group.key_group) from None

    def _group(self, window: Window, group: KeyGroupRange) -> Iterator[None]:
        raise NotImplementedError

    def _plain(self, window: Window, read: ReadStates[T]) -> Generator[None, None, T]:
        """Let the states of a key group be read, out of a window of the decompressed bytes if they are compressed."""
        if self.start_decoder is None:
            return (yield from read(window, None))
        source = DecompressedSource(window, self.start_decoder())
        try:
            return (yield from read(Window(source, most=self.most), source))
        except StateExtractError as error:
            raise source.with_location(error) from None


class HeapWalker(BodyWalker):
    """Walks the key groups of a heap body.

    :param targets: one per state of the head, by id.
    """

    def __init__(
        self,
        read_at: ReadAt,
        targets: Sequence[EntryTarget],
        start_decoder: Callable[[], StreamDecoder] | None,
        on_lost: OnLost,
        most: int | None,
    ) -> None:
        super().__init__(read_at, start_decoder, most)
        self.targets = targets
        self.on_lost = on_lost
        # A key group without entries has the same bytes after its id as the last one, and is not looked into again.
        self.empty: bytes | None = None

    def _is_empty(self, window: Window, group: KeyGroupRange, empty: bytes) -> bool:
        """Skip a key group if its bytes are those of one that was read and has no entries."""
        size = group.end - group.start
        if size != 4 + len(empty) or not window.need(size):
            return False
        found = window.block.array[window.pos : window.pos + size].tobytes()
        if found != group.key_group.to_bytes(4, "big", signed=True) + empty:
            return False
        window.pos += size
        for target in self.targets:
            target.finished(group.key_group, 0, _STATE_HEADER)
        return True

    def _group(self, window: Window, group: KeyGroupRange) -> Iterator[None]:
        if self.empty is not None and self._is_empty(window, group, self.empty):
            return
        start = window.offset()
        header = window.take(4)
        if header is None:
            raise TruncatedError("the key group has no room for its id", offset=start)
        found = int.from_bytes(header, "big", signed=True)
        if found != group.key_group:
            raise FormatError(f"found key group {found}", expected=f"key group {group.key_group}", offset=start)
        size = group.end - window.offset()
        content = None
        if size <= _SMALL * len(self.targets) and window.need(size):
            content = window.block.array[window.pos : window.pos + size].tobytes()
        entries = yield from self._plain(window, partial(self._states, group))
        if self.start_decoder is not None and window.need(1):
            raise FormatError("bytes follow the last state of the key group", offset=window.offset())
        if not entries:
            self.empty = content

    def _states(
        self, group: KeyGroupRange, window: Window, compressed: DecompressedSource | None
    ) -> Generator[None, None, int]:
        """Read the states of a key group.

        :returns: how many entries the file counts in them, as far as it could be read.
        """
        total = 0
        missing = set(range(len(self.targets)))
        while missing:
            start = window.offset()
            header = window.take(_STATE_HEADER)
            if header is None:
                raise TruncatedError(f"the key group ends before {len(missing)} of its states", offset=window.offset())
            state_id = int.from_bytes(header[:2], "big")
            count = int.from_bytes(header[2:6], "big", signed=True)
            if state_id not in missing:
                what = "is twice in the key group" if state_id < len(self.targets) else "is not in the header"
                raise FormatError(f"state id {state_id} {what}", offset=window.offset())
            missing.remove(state_id)
            if count < 0:
                raise FormatError(f"a negative number of entries, {count}", offset=window.offset()).at(
                    state=self._name(state_id)
                )
            target = self.targets[state_id]
            if not count:
                target.finished(group.key_group, 0, _STATE_HEADER)
                continue
            total += count
            done = 0
            try:
                if target.decoder is not None:
                    for entries in decode_entries(window, target, target.decoder, group.key_group, count):
                        done += entries
                        yield
                else:
                    assert target.error is not None
                    raise target.error
            except StateExtractError as error:
                self._lost(window, group, state_id, missing, count - done, error, compressed)
                if compressed is None:
                    return total
                continue
            target.finished(group.key_group, count, window.offset() - start)
            yield
        if window.need(1):
            raise FormatError("bytes follow the last state of the key group", offset=window.offset())
        return total

    def _name(self, state_id: int) -> str:
        return str(getattr(self.targets[state_id], "name", state_id))

    def _lost(
        self,
        window: Window,
        group: KeyGroupRange,
        state_id: int,
        missing: set[int],
        entries: int,
        error: StateExtractError,
        compressed: DecompressedSource | None,
    ) -> None:
        """Report what is lost, then skip it: to the end of the key group, or to the next stream."""
        error.at(key_group=group.key_group, state=self._name(state_id))
        if error.offset is None:
            error.offset = window.offset()
        start = window.offset()
        passed = [0]

        def rest() -> Iterator[bytes]:
            """The unread bytes of the state (uncompressed: of the key group), which are skipped."""
            while True:
                if compressed is not None:
                    boundary = next((s for s in compressed.starts if s > start), None)
                    window.limit = boundary
                if not window.need(1):
                    window.limit = None if compressed is not None else window.limit
                    return
                if compressed is not None:
                    # Reading on may have found the next stream inside of what is in memory now.
                    boundary = next((s for s in compressed.starts if s > start), None)
                    window.limit = boundary
                n = window.end - window.pos
                piece = bytes(window.block.array[window.pos : window.pos + n])
                window.pos += n
                passed[0] += n
                yield piece

        also = tuple(sorted(missing)) if compressed is None else ()
        pieces = rest()
        size = (group.end - start) if compressed is None else -1
        self.on_lost(Lost(group.key_group, state_id, also, entries, start, size, error), lambda: pieces)
        for _ in pieces:
            pass
        window.limit = None if compressed is not None else group.end


def decode_entries(window: Window, target: EntryTarget, decoder: Decoder, group: int, count: int) -> Iterator[int]:
    """Decode the entries of a state, yielding how many each step gave.

    :param count: how many there are; :data:`ALL`: as many as the window has up to its limit.
    """
    done = 0
    while done < count:
        base = window.base
        try:
            rows, end = decoder.rows, window.end
            progress = decoder.decode(window.block, window.pos, end, count - done)
        except StateExtractError as error:
            entries = decoder.rows - rows
            if entries:
                target.decoded(group, entries, entries)
                yield entries
            error.moved(base)
            raise
        window.pos = progress.pos
        if progress.entries:
            target.decoded(group, progress.rows, progress.entries)
            done += progress.entries
            yield progress.entries
        if progress.stop is Stop.FULL:
            target.full()
        elif progress.stop is Stop.NEED_INPUT:
            # A list of numbers says at its count how many bytes it has.
            size = max(window.end, progress.needed) - window.pos
            parts = target.large(window, group) if size >= LARGE else None
            if parts is not None:
                for _ in parts:
                    yield 0
                done += 1
                target.decoded(group, 0, 1)
                yield 1
                continue
            least = max(progress.needed, end + 1) - progress.pos
            if not window.need(least):
                if count == ALL and window.end == window.pos:
                    return
                raise window.truncated(f"entry {done + 1} of {count}", least)


def key_group_ranges(
    first: int, offsets: Sequence[int], size: int, nothing: int | None = None, others: Iterable[int] = ()
) -> list[KeyGroupRange]:
    """Where each key group lies: from its offset to the next larger one, or to the end.

    :param first: number of the first key group; :param offsets: of each, in order; :param size: of the handle's bytes.
    :param nothing: the offset that says that a key group has no data; heap files have none.
    :param others: offsets of key groups in the same file that the handle has not.
    """
    bounds = sorted({*offsets, *others, size} - {nothing})
    following = dict(itertools.pairwise(bounds))
    ranges = []
    for number, offset in enumerate(offsets, first):
        if offset == nothing:
            continue
        if offset not in following:
            raise FormatError(
                f"key group {number} begins at {offset}, the end of the file",
                key_group=number,
                expected=f"an offset below {size}",
            )
        ranges.append(KeyGroupRange(number, offset, following[offset]))
    return ranges


def windows(
    read_at: ReadAt, groups: Sequence[KeyGroupRange], most: int | None = None
) -> Iterator[tuple[Window, KeyGroupRange]]:
    """The key groups in file order, each with a window that is at its start and ends where it ends.

    :param most: bytes of the largest entry.
    """
    for run in _adjacent(groups):
        window = Window(RangeSource(read_at, run[0].start, run[-1].end), run[0].start, most=most)
        for group in run:
            window.limit = group.end
            window.skip(group.start - window.offset())
            yield window, group


def _adjacent(groups: Sequence[KeyGroupRange]) -> Iterator[list[KeyGroupRange]]:
    """Key groups in file order, cut into runs without gaps."""
    run: list[KeyGroupRange] = []
    for group in sorted(groups, key=lambda g: g.start):
        if run and run[-1].end != group.start:
            yield run
            run = []
        run.append(group)
    if run:
        yield run
