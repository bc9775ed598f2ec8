"""The engine: key groups of one keyed state file into Arrow batches, one stream of batches per state.

Puts together what the stations before it know: the head says which states there are (``header.py``), ``row_layout.py`` what
their entries look like, ``heap.py`` and ``canonical.py`` walk the bodies, a decoder per state gathers entries, and
``state_columns.py`` makes of them the columns that a user gets.

Works on a ``read_at`` function and gives batches; knows no URIs, no Parquet, no Spark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from serializers import is_fixed_length
from stateextract.columnar.decode.pair_decoder import PairDecoder, make_pair_decoder
from stateextract.columnar.layout import List, Map
from stateextract.columnar.program.pair_programs import KEY_GROUP, PairLayout
from stateextract.columnar.search.searching import SearchingPairDecoder
from stateextract.errors import StateExtractError, UndecodableError, UnsupportedError
from stateextract.files.compression import stream_decoder
from stateextract.files.window import ByteSource, ReadAt, Window
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.canonical import CanonicalWalker, read_pairs
from stateextract.state.bodies.changes import Changes
from stateextract.state.bodies.heap import HeapWalker, KeyGroupRange
from stateextract.state.bodies.large_entry import LargePair, element_layout, pair_front
from stateextract.state.bodies.raw_pairs import RawPairs
from stateextract.state.bodies.raw_timers import TimersWalker, timers_row
from stateextract.state.counters import Counters
from stateextract.state.header import KeyedHeader
from stateextract.state.row_layout import RowLayout, row_layout
from stateextract.state.state_columns import (
    ReadOptions,
    value_layout,
)
from stateextract.state.target import FileRead, HeapTarget, Piece, Runs, Target, advised, on_lost


def prefix_bytes(max_parallelism: int) -> int:
    """Bytes of the key group before keys (Flink's ``CompositeKeySerializationUtils``)."""
    return 1 if max_parallelism <= 128 else 2


def read_key_groups(
    read_at: ReadAt,
    header: KeyedHeader,
    key_groups: Sequence[KeyGroupRange],
    file_read: FileRead,
    body: BodyKind = BodyKind.HEAP,
    max_parallelism: int = 128,
    changes: Changes | None = None,
) -> Iterator[Piece]:
    """Read key groups of a heap or canonical file, or of timers in raw keyed state.

    :param read_at: gives bytes of the file (of the handle's stream, where it is a segment).
    :param key_groups: those to read; of a canonical or raw file only those with data.
    :param max_parallelism: of the operator; decides how canonical keys begin.
    :param changes: made since; ``None``: none.
    :yields: batches; those of one state in the order of the file.
    :raises StateExtractError: with state, key group and offset. Batches given out before are sound but incomplete.
    """
    file_read = _own_read(file_read, changes)
    options, ready = file_read.options, file_read.ready
    start_decoder = None
    if header.compressed:
        # What skips most entries waits for their bytes more than for anything else.
        two = options.key is not None
        start_decoder = partial(stream_decoder, options.codec, options.verify_checksums, two_threads=two)
    if changes is not None:
        changes.attach(ready)
    targets: Sequence[Target]
    if body is BodyKind.HEAP:
        heap = [HeapTarget(file_read, row_layout(header, meta, options.context)) for meta in header.states]
        targets = heap
        if changes is not None:
            for state in heap:
                state.put_under(changes)
        steps = HeapWalker(
            read_at, heap, start_decoder,
            lambda lost, unread: on_lost(heap, options, lost, unread, changes), options.policy.max_value_bytes,
        ).walk(key_groups)  # fmt: skip
    elif body is BodyKind.FULL_SNAPSHOT:
        prefix = prefix_bytes(max_parallelism)
        pairs = [
            _PairTarget(file_read, row_layout(header, meta, options.context), prefix, changes=changes) for meta in header.states
        ]
        targets = pairs
        steps = CanonicalWalker(
            read_at, pairs, start_decoder,
            lambda state_id, group, error, data: pairs[state_id].undecodable(group, error, data),
            options.policy.max_value_bytes,
        ).walk(key_groups)  # fmt: skip
    elif body is BodyKind.RAW:
        timers = [HeapTarget(file_read, timers_row(header, meta, options.context)) for meta in header.states]
        targets = timers
        steps = TimersWalker(read_at, header, timers, lambda lost, unread: on_lost(timers, options, lost, unread)).walk(
            key_groups
        )
    else:
        raise UnsupportedError(f"a body of kind {body.value!r} is not read by key groups")
    before = {target.name: target.counters.key_groups for target in targets if target.keep}
    try:
        for _ in steps:
            while ready:
                yield ready.popleft()
    except StateExtractError as error:
        # What comes after all wanted states in the last key group does not matter to them.
        read = all(t.counters.key_groups - before[t.name] == len(key_groups) for t in targets if t.keep)
        if changes is not None or not before or error.state is None or error.state in before or not read:
            raise
    for target in targets:
        target.flush(last=True)
    yield from ready


def read_pair_stream(
    source: ByteSource,
    row: RowLayout,
    file_read: FileRead,
    max_parallelism: int,
    changes: Changes | None = None,
) -> Iterator[Piece]:
    """Read the pairs of one state that come one after the other, of any key groups: out of RocksDB's files.

    :param source: gives pairs framed as in a canonical body, without its marks.
    :param changes: made since; ``None``: none.
    :yields: batches, in the order of the pairs.
    """
    file_read = replace(_own_read(file_read, changes), selected={row.name})
    if changes is not None:
        changes.attach(file_read.ready)
    yield from _read_all(source, _PairTarget(file_read, row, prefix_bytes(max_parallelism), by_key=True, changes=changes))


def read_entry_pairs(
    source: ByteSource, row: RowLayout, lengths: bool, options: ReadOptions, counters: Counters, subtask: int,
    entries: bool = False,
) -> Iterator[Piece]:
    """Read rows that were framed as pairs, with their whole values as entries of heap bodies have them.

    :param source: gives ``i32 nk · u16 key group · key · namespace · i32 nv · value``; of queues the element is the key.
    :param lengths: the lengths of key and namespace come after them.
    :param entries: of a map: each pair is one entry, as in canonical bodies.
    :yields: batches, in the order of the rows.
    """
    file_read = FileRead({row.name}, options, counters, subtask)
    yield from _read_all(source, _PairTarget(file_read, row, 2, by_key=True, entry_lengths=lengths, entries=entries))


def _own_read(file_read: FileRead, changes: Changes | None) -> FileRead:
    """A read with pieces of its own. With changes it skips no entry, since the log may change each of them."""
    options = file_read.options
    return replace(file_read, options=options if changes is None else replace(options, key=None), ready=deque())


def _read_all(source: ByteSource, target: _PairTarget) -> Iterator[Piece]:
    ready = target.file_read.ready
    window = Window(source, most=target.options.policy.max_value_bytes)
    for _ in read_pairs(window, target, -1, lambda e, d: target.undecodable(-1, e, d), to_the_end=True):
        while ready:
            yield ready.popleft()
    target.flush(last=True)
    yield from ready


class _PairTarget(Target):
    """A state of a canonical body, or out of RocksDB's files.

    :param by_key: rows are of any key group, which is taken from the key.
    :param changes: made since the body was written.
    :param entry_lengths: values are as in heap bodies; the flag says whether lengths come after key and namespace.
    :param entries: those of maps are not: each entry is a pair.
    """

    def __init__(
        self,
        file_read: FileRead,
        row: RowLayout,
        prefix: int,
        by_key: bool = False,
        changes: Changes | None = None,
        entry_lengths: bool | None = None,
        entries: bool = False,
    ) -> None:
        super().__init__(file_read, row)
        self.runs = Runs()
        self.by_key = by_key
        self.changes = changes
        self.made: PairDecoder | None = None
        self.entry_lengths = entry_lengths
        self.entries = entries
        self.layout = self._shaped(replace(pair_layout(self.row, prefix), groups=by_key))
        self.flat = self.options.flatten and self.layout.shape == "map"
        # Where no value can be decoded, no attempt is made at each.
        self.hopeless = self.keep and changes is None and self.options.on_undecodable != "fail" and RawPairs.suits(row)
        self.raw_pairs: RawPairs | None = None

    def _shaped(self, layout: PairLayout) -> PairLayout:
        if self.entry_lengths is None:
            return layout
        shape = "value" if layout.shape in ("list", "map") and not self.entries else layout.shape
        return replace(layout, shape=shape, lengths=self.entry_lengths)

    @property
    def skips(self) -> bool:
        """Pairs are not looked into."""
        return not self.keep or (self.hopeless and self.options.on_undecodable == "skip")

    @property
    def decoder(self) -> PairDecoder:
        if self.made is None:
            options = self.options
            layout = self.layout
            if self.skips:
                layout = PairLayout("skip", (), layout.prefix, False)
            elif self.hopeless:
                layout = replace(layout, raw=True)
            self.made = make_pair_decoder(
                layout, options.policy, options.engine, options.batch_rows, self.file_read.budget, flat=self.flat
            )
            self.counters.engine = self.made.engine
            if self.finder is not None and self.made.engine == "kernel":
                skipping = make_pair_decoder(PairLayout("skip", (), layout.prefix, False), options.policy)
                merges = layout.shape == "map" and not self.flat
                self.made = SearchingPairDecoder(self.made, skipping, self.finder, merges)
            if self.changes is not None and self.keep:
                self.made = self.changes.filter_pairs(self.name, self.layout, self.made)
        return self.made

    def decoded(self, key_group: int, rows: int, entries: int) -> None:
        if self.hopeless and self.error is not None:
            self.counters.lost_entries += entries
            self.counters.problem(self.error.message)
        else:
            super().decoded(key_group, rows, entries)
        self.runs.add(key_group, rows)

    def large(self, window: Window, key_group: int) -> Generator[None, None, bool] | None:
        if self.skips:
            return self._skipped(window, key_group)
        # What is kept as bytes, and what may have changed since, is needed as a whole.
        whole = self.layout.shape != "list" or not self.options.flatten or self.options.on_undecodable == "raw"
        element = None if whole or self.changes is not None else element_layout(self.row)
        if element is None or not element.least:
            return None
        subtask, budget = self.file_read.subtask, self.file_read.budget
        pair = LargePair(self.row, self.layout, element, self.options, subtask, self.counters, budget)
        return self._in_parts(pair, window, key_group)

    def _skipped(self, window: Window, key_group: int) -> Generator[None, None, bool]:
        """Skip a pair, which need not be in memory for that."""
        _, stop, last = pair_front(window)
        window.skip(stop - window.offset())
        self.decoded(key_group, 0, 1)
        yield
        return last

    def _in_parts(self, pair: LargePair, window: Window, key_group: int) -> Generator[None, None, bool]:
        self.full()
        try:
            for batch in pair.read(window, key_group):
                self.file_read.ready.append(Piece(self.name, False, batch))
                yield
            self.decoded(key_group, 0, 1)
        except UndecodableError as error:
            self.undecodable(key_group, error, b"")
            window.skip(pair.stop - window.offset())
        return pair.last

    def finished(self, key_group: int, entries: int, size: int) -> None:
        if self.by_key:
            self.counters.bytes += size  # the caller that opened the database counts its key groups
        else:
            super().finished(key_group, entries, size)

    def flush(self, last: bool) -> None:
        if last and self.raw_pairs is not None:
            self._give_raw(self.raw_pairs.flush())
        if self.made is None or not self.made.rows or self.skips:
            return
        try:
            array = self.made.flush(last)
            groups = self.runs.take(len(array))
            if self.by_key:
                groups = array.field(array.type.get_field_index(KEY_GROUP)).to_numpy().astype(np.int32)
            if not self.hopeless:
                self.give_out(array, groups, self.made.counts)
            elif self.error is not None:
                reasons = pa.repeat(pa.scalar(self.error.message), len(array))
                self._give_raw([self._raw_pairs().batch(array, groups, reasons)])
        except StateExtractError as error:
            raise error.at(state=self.name) from None

    def undecodable(self, key_group: int, error: UndecodableError, pair: bytes) -> None:
        """A pair cannot be decoded: its row is unreadable, or kept as far as it is known."""
        if not self.keep:
            return
        error.at(state=self.name)
        if self.options.on_undecodable == "fail":
            raise advised(error)
        self.counters.lost_entries += 1
        self.counters.problem(error.message)
        if self.options.on_undecodable == "raw":
            if self.by_key:
                key_group = int.from_bytes(pair[4 : 4 + self.layout.prefix], "big")
            self._give_raw(self._raw_pairs().add(pair, key_group, error.message))

    def _raw_pairs(self) -> RawPairs:
        if self.raw_pairs is None:
            layout = self._shaped(pair_layout(self.whole_row, self.layout.prefix))
            self.raw_pairs = RawPairs(self.whole_row, layout, self.options, self.file_read.subtask, self.file_read.budget)
        return self.raw_pairs

    def _give_raw(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            self.counters.raw_rows += batch.num_rows
            self.file_read.ready.append(Piece(self.name, True, batch))


def pair_layout(row: RowLayout, prefix: int) -> PairLayout:
    """How the entries of a state are stored in pairs."""
    fields = row.layout.fields
    if row.kind in ("TIMER", "PRIORITY_QUEUE"):
        return PairLayout("queue", fields, prefix, False)
    assert row.key_serializer is not None
    assert row.namespace_serializer is not None
    lengths = not is_fixed_length(row.key_serializer) and not is_fixed_length(row.namespace_serializer)
    value = value_layout(row)
    shape = "value"
    if row.kind == "LIST" and isinstance(value, List):
        shape = "list"
    elif row.kind == "MAP" and isinstance(value, Map):
        shape = "map"
    return PairLayout(shape, fields, prefix, lengths)
