"""Targets: one per state of a file, where what a decoder gathers becomes batches with a user's columns.

The caller that walks a body knows its states as targets; they own a decoder each and hand finished batches to the job that they
share. Which key group a row is of is noted in runs, since decoders know only rows. May import columns and tallies; knows
no bodies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.decode.decoder import Decoder, make_decoder
from stateextract.columnar.layout import Struct
from stateextract.columnar.search.key_pattern import Finder
from stateextract.columnar.search.parallel_skip import ParallelSkipDecoder
from stateextract.columnar.search.searching import SearchingDecoder
from stateextract.derived import derived
from stateextract.errors import StateExtractError, UndecodableError
from stateextract.files.window import Window
from stateextract.state.bodies.changes import Changes, EntriesUnder
from stateextract.state.bodies.heap import Lost
from stateextract.state.bodies.large_entry import LargeEntry, element_layout
from stateextract.state.causes import problem_after
from stateextract.state.counters import Counters, StateCounters
from stateextract.state.keys.lookup import key_pattern
from stateextract.state.projection import project_row
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import ReadOptions, build_batch, certainly_undecodable, raw_schema, state_schema

ARENAS = 256 << 20  # room for the unfinished batches of all states of a file together
_RAW_PART = 16 << 20


@dataclass(frozen=True)
class Piece:
    """A batch of one state. ``raw``: it has the columns of :func:`raw_schema`."""

    state: str
    raw: bool
    batch: pa.RecordBatch


@dataclass
class FileRead:
    """How one file is read: what all its states share.

    :param selected: names of the states to return; the others are skipped.
    :param counters: is added to; the entries of every key group are checked against the counts in the file.
    :param ready: pieces that are finished. Two reads need one each.
    """

    selected: Collection[str]
    options: ReadOptions
    counters: Counters
    subtask: int
    ready: deque[Piece] = field(default_factory=deque)

    @property
    def budget(self) -> int:
        """Bytes for the unfinished batch of one state."""
        return max(1 << 20, min(self.options.batch_bytes, ARENAS // max(len(self.selected), 1)))


def advised(error: UndecodableError, also: Sequence[Target] = ()) -> UndecodableError:
    """The error with what can be done.

    :param also: the wanted states after the value's own.
    """
    names = ", ".join(repr(t.name) for t in also)
    lost = f" and without {names} after it" if names else ""
    return error.at(
        advice=f"set --on-undecodable to skip or raw to go on without it{lost}, or register a serializer as a plug-in"
    )


class Target:
    """One state: the batches made of what its decoder gathers."""

    def __init__(self, file_read: FileRead, row: RowLayout) -> None:
        self.file_read = file_read
        self.options = file_read.options.of_state(row.name)
        self.whole_row = row
        self.row = derived(row, "projected", file_read.options, lambda: project_row(row, file_read.options))
        self.name = row.name
        self.keep = row.name in file_read.selected
        self.flat = False
        self.counters = file_read.counters.of(row.name) if self.keep else StateCounters()
        self.counted = ChangeCounts()
        part = certainly_undecodable(row.layout)
        self.error: UndecodableError | None = None
        if part is not None:
            self.error = UndecodableError(f"values of {part.class_name} cannot be decoded: {part.reason}")

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a user's rows."""
        return derived(self.row, "schema", self.options, lambda: state_schema(self.row, self.options))

    @cached_property
    def finder(self) -> Finder | None:
        """Looks for bytes that all wanted entries contain; ``None``: none are known."""
        key = self.options.key
        found = key_pattern(self.row, key, self.options.policy) if key is not None and self.keep else None
        return None if found is None else Finder(found)

    # -- what the walkers call

    def decoded(self, key_group: int, rows: int, entries: int) -> None:
        if self.keep:
            self.counters.entries += entries

    def finished(self, key_group: int, entries: int, size: int) -> None:
        self.counters.key_groups += 1
        self.counters.bytes += size

    def full(self) -> None:
        self.flush(last=False)

    # -- batches

    def flush(self, last: bool) -> None:
        raise NotImplementedError

    def give_out(self, array: pa.Array, groups: np.ndarray[Any, np.dtype[np.int32]], counts: ChangeCounts) -> None:
        """A batch of what was decoded."""
        self.record_changes(counts)
        subtask = self.file_read.subtask
        batch = build_batch(array, groups, self.row, self.schema, self.options, subtask, self.counters, self.flat)
        self.counters.rows += batch.num_rows
        if batch.num_rows:
            self.file_read.ready.append(Piece(self.name, False, batch))

    def record_changes(self, counts: ChangeCounts) -> None:
        """The current values of the decoder's counters."""
        self.counters.counts += counts - self.counted
        self.counted = counts + ChangeCounts()

    def raw(self, key_group: int | None, part: int, entries: int | None, data: bytes, reason: str) -> None:
        """A row of bytes in the place of values."""
        self.counters.raw_rows += 1
        row: dict[str, Any] = {
            "key_group": key_group,
            "part": part,
            "entries": entries,
            "bytes": data,
            "reason": reason,
            "subtask": self.file_read.subtask,
        }
        schema = raw_schema(self.whole_row, self.options)
        batch = pa.RecordBatch.from_pylist([{n: row.get(n) for n in schema.names}], schema=schema)
        self.file_read.ready.append(Piece(self.name, True, batch))


class Runs:
    """Which key group the rows of a batch are of: (key group, rows) in order."""

    def __init__(self) -> None:
        self.runs: deque[tuple[int, int]] = deque()

    def add(self, key_group: int, rows: int) -> None:
        if self.runs and self.runs[-1][0] == key_group:
            rows += self.runs.pop()[1]
        if rows:
            self.runs.append((key_group, rows))

    def take(self, rows: int) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The key groups of the first ``rows`` rows, which are forgotten."""
        groups, counts = [], []
        while rows:
            group, n = self.runs.popleft()
            if n > rows:
                self.runs.appendleft((group, n - rows))
                n = rows
            groups.append(group)
            counts.append(n)
            rows -= n
        return np.repeat(np.array(groups, np.int32), np.array(counts, np.int64))


class HeapTarget(Target):
    """A state of a heap body."""

    def __init__(self, file_read: FileRead, row: RowLayout) -> None:
        super().__init__(file_read, row)
        self.runs = Runs()
        self.under: EntriesUnder | None = None
        if self.keep and self.decoder is not None:
            self.counters.engine = self.decoder.engine

    @cached_property
    def decoder(self) -> Decoder | None:
        """Made when it is asked for: a file may have many states that are only skipped, and without entries."""
        if self.error is not None:
            return None
        options = self.options
        made = make_decoder(
            self.row.layout, options.policy, options.engine, options.batch_rows, self.file_read.budget, keep=self.keep
        )
        if self.finder is None or made.engine != "kernel":
            return made
        return SearchingDecoder(made, ParallelSkipDecoder(self.row.layout, options.policy), self.finder)

    def decoded(self, key_group: int, rows: int, entries: int) -> None:
        super().decoded(key_group, rows, entries)
        if self.keep:
            self.runs.add(key_group, rows)

    def put_under(self, changes: Changes) -> None:
        """Entries that were changed since the body was written must not come out of it."""
        if self.keep and self.decoder is not None:
            self.under = changes.filter_entries(self.name, self.decoder)
            self.decoder = self.under or self.decoder

    def large(self, window: Window, key_group: int) -> Iterator[None] | None:
        if self.under is not None and self.under.touches(window.block, window.pos, window.end):
            return None
        element = element_layout(self.row) if self.options.flatten or not self.keep else None
        return None if element is None else self._in_parts(element, window, key_group)

    def _in_parts(self, element: Struct, window: Window, key_group: int) -> Iterator[None]:
        file_read = self.file_read
        entry = LargeEntry(self.row, element, self.options, file_read.subtask, self.counters, self.keep, file_read.budget)
        self.full()
        for batch in entry.read(window, key_group):
            file_read.ready.append(Piece(self.name, False, batch))
            yield

    def flush(self, last: bool) -> None:
        if not self.keep or not self.runs.runs or self.decoder is None:
            return
        try:
            array = self.decoder.flush()
            self.give_out(array, self.runs.take(len(array)), self.decoder.counts)
        except StateExtractError as error:
            raise error.at(state=self.name) from None

    def lost(self, lost: Lost, unread: Iterator[bytes] | None) -> None:
        """Entries of a key group cannot be decoded; ``unread`` gives their bytes, if they are to be kept."""
        self.counters.lost_key_groups += 1
        self.counters.lost_entries += lost.entries
        self.counters.problem(lost.error.message)
        if unread is None or not self.keep:
            return
        part = 0
        gathered = bytearray()
        for piece in unread:
            gathered += piece
            if len(gathered) >= _RAW_PART:
                self.raw(lost.key_group, part, None if part else lost.entries, bytes(gathered), lost.error.message)
                gathered.clear()
                part += 1
        if gathered or not part:
            self.raw(lost.key_group, part, None if part else lost.entries, bytes(gathered), lost.error.message)


def on_lost(
    targets: Sequence[HeapTarget],
    options: ReadOptions,
    lost: Lost,
    unread: Callable[[], Iterator[bytes]],
    changes: Changes | None = None,
) -> None:
    """What becomes of heap entries that cannot be decoded, and of the states that are unreadable after them."""
    target = targets[lost.state_id]
    also = [targets[i] for i in lost.also if targets[i].keep]
    if not isinstance(lost.error, UndecodableError):
        raise lost.error
    if not target.keep and not also:
        return
    choice = target.options.on_undecodable
    if choice == "fail" and (target.keep or not options.pass_undecodable):
        raise advised(lost.error, also)
    target.lost(lost, unread() if choice == "raw" else None)
    if changes is not None:
        for incomplete in (target, *also):
            changes.lost(incomplete.name, lost.key_group)
    for other in also:
        other.counters.lost_key_groups += 1
        other.counters.problem(problem_after(target.name, lost.error.message))
