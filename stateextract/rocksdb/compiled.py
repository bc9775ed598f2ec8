"""The reader's compiled parts, ready for use: block decoding in batches, and the driver of the merge kernel.

Holds the arrays that the kernel works on and gives it what it asks for: blocks, larger buffers, room. Its kernels
are compiled, or loaded, when they are first called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from stateextract.errors import FormatError, StateExtractError, UnsupportedError
from stateextract.metadata.opener import errors_of
from stateextract.rocksdb import block_kernel as b
from stateextract.rocksdb import blocks as formats
from stateextract.rocksdb import checksums
from stateextract.rocksdb import kernel as k
from stateextract.rocksdb.pieces import DeletionPiece
from stateextract.rocksdb.ranges import KeyRange, KeyRanges
from stateextract.rocksdb.runs import BlockBatch, Run, Starts
from stateextract.rocksdb.table import Blocks, IndexForm, Table

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

SLACK = 64
"""Bytes after the plain bytes of a batch, which ``expand`` may write."""

_MESSAGES: dict[int, tuple[type[StateExtractError], str]] = {
    b.BAD_BLOCK: (FormatError, "a block has a restart array that does not fit"),
    b.BAD_FEATURE: (UnsupportedError, "a block has features unknown here"),
    b.BAD_ENTRY: (FormatError, "an entry does not fit into its block"),
    k.BAD_ORDER: (FormatError, "keys do not rise"),
    k.BAD_TYPE: (UnsupportedError, "an entry is not a put, delete or merge"),
    k.BAD_DUPLICATE: (FormatError, "a key has two entries with one sequence number"),
    k.BAD_LENGTH: (FormatError, "a merged value has more than 2 GiB"),
    b.BAD_HANDLE: (FormatError, "a block handle cannot be"),
}


def address(data: Any) -> int:
    """Where an array's or bytes object's data lies. The caller keeps it alive."""
    array = data if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
    found: int = array.__array_interface__["data"][0]
    return found


def _fail(status: int, **where: Any) -> NoReturn:
    kind, message = _MESSAGES[status]
    raise kind(message, **where)


def _rows(ranges: Sequence[KeyRange]) -> tuple[Numbers, Bytes]:
    """Ranges as the kernels have them; the bytes that they refer to are to be kept alive."""
    bounds = [bound for one in ranges for bound in one]
    data = np.frombuffer(b"".join(bound or b"" for bound in bounds) + b"\0", np.uint8)
    sizes = np.fromiter((len(bound or b"") for bound in bounds), np.int64, len(bounds))
    there = np.fromiter((bound is not None for bound in bounds), np.bool_, len(bounds))
    rows = np.zeros((len(ranges) + 1, b.F_WIDTH), np.int64)
    rows[:-1, [b.F_BEGIN, b.F_END]] = (address(data) + np.cumsum(sizes) - sizes).reshape(-1, 2)
    rows[:-1, [b.F_BEGIN_LEN, b.F_END_LEN]] = np.where(there, sizes, -1).reshape(-1, 2)
    return rows, data


def read_index(plain: bytes, offset: int, form: IndexForm, ranges: KeyRanges) -> tuple[Blocks, bool]:
    """The compiled :class:`stateextract.rocksdb.table.IndexReader`."""
    formats.entries_end(plain, offset)
    key = np.empty(len(plain), np.uint8)
    out = np.empty((len(plain) // 3 + 1, 4), np.int64)
    found = np.zeros(3, np.int64)
    rows_of_ranges, kept = _rows(ranges)
    status = b.index(
        address(plain), len(plain), int(form.delta), int(form.first_key), form.trailer,
        address(rows_of_ranges), len(ranges), address(key), address(out), address(found),
    )  # fmt: skip
    del kept
    if status != b.OK:
        _fail(status, offset=offset)
    rows, skipped, more = found.tolist()
    # A copy: the array was made for as many entries as could be.
    return out[:rows].copy(), not skipped and not more


class BatchDecoder:
    """Decodes many blocks at a time, into a buffer of its own that the next call overwrites."""

    read_index = staticmethod(read_index)

    def __init__(self) -> None:
        self._arena: Bytes = np.empty(0, np.uint8)

    def decode(self, table: Table, raw: bytes, starts: Starts, blocks: Blocks, most: int) -> tuple[Numbers, int]:
        """The plain blocks as rows of address and size."""
        spans = np.empty((len(blocks), b.P_WIDTH), np.int64)
        found = np.empty(2, np.int64)
        raw_at, spans_at = address(raw), address(spans)
        blocks, starts = np.ascontiguousarray(blocks), np.ascontiguousarray(starts)
        where = address(starts), address(blocks), len(blocks)
        n = b.plan(raw_at, *where, table.form.version, most, spans_at, address(found))
        packed, others = found.tolist()
        if table.form.most is not None and packed > table.form.most:
            for plain, offset in zip(spans[:n, b.P_PLAIN].tolist(), blocks[:n, 0].tolist(), strict=True):
                formats.refuse_large(plain, table.form.most, offset)
        if others:
            spans = spans[:n]
            which = np.flatnonzero(spans[:, b.P_KIND])
            self._check(table, raw, starts, blocks, spans[which], which)
        if packed + SLACK > len(self._arena):
            self._arena = np.empty(packed + SLACK, np.uint8)
        plains = np.empty((n, k.T_WIDTH), np.int64)
        arena_at = address(self._arena)
        arrays = raw_at, len(raw), spans_at, address(plains)
        i = b.expand(*arrays, 0, n, arena_at, arena_at + len(self._arena))
        while i < n:
            # Another compression, or an error that says what is wrong.
            start, end, kind, plain, before = spans[i].tolist()
            room = self._arena.data[before : before + plain]
            formats.decompress(memoryview(raw)[start:end], kind, room, int(blocks[i, 0]))
            i = b.expand(*arrays, i + 1, n, arena_at, arena_at + len(self._arena))
        return plains, n

    def block(self, plains: Numbers, which: int) -> bytes:
        where, size = plains[which, [k.T_ADDRESS, k.T_PLAIN]].tolist()
        return ctypes.string_at(where, size)

    def _check(self, table: Table, raw: bytes, starts: Starts, blocks: Blocks, spans: Numbers, which: Numbers) -> None:
        """Lengths that cannot be end in the errors that the plain reader has for them."""
        ratios = np.zeros(256, np.int64)
        for kind, ratio in formats.RATIO.items():
            ratios[kind] = ratio
        stored = blocks[which, 1]
        kinds, plains = spans[:, b.P_KIND], spans[:, b.P_PLAIN]
        most = np.minimum(stored * ratios[kinds] + 64, formats.LARGEST_BLOCK)
        wrong = np.flatnonzero((ratios[kinds] == 0) | (plains < 0) | (plains > most))
        if len(wrong):
            offset, size = blocks[which[wrong[0]], :2].tolist()
            start = int(starts[which[wrong[0]]])
            formats.plain_size(raw, start, start + size, raw[start + size], table.form.version, offset)
            raise FormatError("a block's plain length is wrong", offset=offset)

    def verify(self, table: Table, raw: bytes, starts: Starts, blocks: Blocks) -> None:
        """Check the blocks' checksums."""
        form = table.form
        if form.checksum == checksums.NONE or not form.verify:
            return
        offsets, sizes = blocks[:, 0], blocks[:, 1]
        found = checksums.of_blocks(form.checksum, raw, starts, sizes, form.context, offsets)
        after = (starts + sizes + 1)[:, None] + np.arange(4)
        stored = np.frombuffer(raw, np.uint8)[after].view("<u4")[:, 0]
        for i in np.flatnonzero(found != stored)[:1].tolist():
            formats.check_sum(int(found[i]), int(stored[i]), form.checksum, int(offsets[i]))


class Merge:
    """The merge kernel over some runs.

    :param runs: each with a decoder of its own.
    :param databases: for keys alone: of each run a bit of its database, and the largest number that settles no key.
    """

    def __init__(self, runs: list[Run], ranges: KeyRanges, databases: Sequence[tuple[int, int]] | None = None) -> None:
        self.runs = runs
        self.pieces_changed = False
        self.pieces: list[DeletionPiece] = []
        n = max(len(runs), 1)
        self._rows: Numbers = np.zeros((n, k.R_WIDTH), np.int64)
        self._rows[:, k.R_GLOBAL] = -1
        self._state: Numbers = np.zeros(k.S_WIDTH, np.int64)
        self._heap: Numbers = np.zeros(n, np.int64)
        self._keys: list[Bytes] = [np.empty(256 + k.EXCESS, np.uint8) for _ in runs]
        self._group: Bytes = np.empty(256, np.uint8)
        self._operands: Bytes = np.empty(4096, np.uint8)
        self._batches: list[BlockBatch | None] = [None for _ in runs]
        rows, data = _rows(ranges)
        self._keep: list[Any] = [rows, data]
        state = self._state
        state[k.S_RUNS] = address(self._rows)
        state[k.S_RUN_COUNT] = len(runs)
        state[k.S_HEAP] = address(self._heap)
        state[k.S_GROUP_KEY], state[k.S_GROUP_CAP] = address(self._group), len(self._group)
        state[k.S_BUFFER], state[k.S_BUFFER_CAP] = address(self._operands), len(self._operands)
        state[k.S_BUFFER_POS] = len(self._operands)
        state[k.S_RANGES], state[k.S_RANGE_COUNT] = address(rows), len(ranges)
        state[k.S_KEYS_ONLY] = int(databases is not None)
        for row, (bit, number) in zip(self._rows, databases or (), strict=False):
            row[k.R_BIT], row[k.R_SETTLES] = bit, number
        for row, key in zip(self._rows, self._keys, strict=False):
            row[k.R_KEY], row[k.R_KEY_CAP] = address(key), len(key) - k.EXCESS

    @property
    def pairs(self) -> int:
        return int(self._state[k.S_PAIRS])

    @property
    def entries(self) -> int:
        return int(self._rows[:, k.R_ENTRIES].sum())

    def write(self, room: Bytes) -> tuple[int, int]:
        """Write whole pairs into ``room``.

        :returns: bytes written, and the bytes that the next pair needs (0 at the end).
        """
        state = self._state
        state[k.S_OUT], state[k.S_ROOM], state[k.S_WRITTEN] = address(room), len(room), 0
        where = address(state)
        while True:
            status = k.merge(where)
            if status == k.DONE:
                return int(state[k.S_WRITTEN]), 0
            if status == k.FULL:
                return int(state[k.S_WRITTEN]), int(state[k.S_NEEDED])
            if status == k.NEED_BATCH:
                self._refill(int(state[k.S_ARGUMENT]))
            elif status == k.KEY_FULL:
                i = int(state[k.S_ARGUMENT])
                self._keys[i] = key = _larger(self._keys[i], int(state[k.S_NEEDED]) + k.EXCESS)
                self._rows[i, k.R_KEY], self._rows[i, k.R_KEY_CAP] = address(key), len(key) - k.EXCESS
            elif status == k.GROUP_FULL:
                self._group = _larger(self._group, int(state[k.S_NEEDED]))
                state[k.S_GROUP_KEY], state[k.S_GROUP_CAP] = address(self._group), len(self._group)
            elif status == k.OPERANDS_FULL:
                self._grow_operands(int(state[k.S_NEEDED]))
            else:
                self._fail(status, int(state[k.S_ARGUMENT]))

    def _refill(self, i: int) -> None:
        row = self._rows[i]
        batch = self.runs[i].next_batch(int(row[k.R_ENTRIES]))
        self._batches[i] = batch
        row[k.R_POS] = row[k.R_END] = row[k.R_BLOCK] = row[k.R_BLOCKS] = 0
        if batch is None:
            row[k.R_LAST] = 1
        else:
            row[k.R_TABLE], row[k.R_BLOCKS] = address(batch.plains), len(batch.plains)
            seqno = self.runs[i].global_seqno
            row[k.R_GLOBAL] = -1 if seqno is None else seqno
        if self.pieces_changed:
            self._take_pieces()

    def _take_pieces(self) -> None:
        self.pieces_changed = False
        rows, data = _rows([piece[:2] for piece in self.pieces])
        rows[:-1, b.F_SEQ] = [seqno for _, _, seqno in self.pieces]
        self._keep = [*self._keep[:2], data, rows]
        state = self._state
        state[k.S_PIECES], state[k.S_PIECE_COUNT], state[k.S_PIECE] = address(rows), len(self.pieces), 0
        state[k.S_COVER] = k.UNKNOWN

    def _grow_operands(self, needed: int) -> None:
        i = (int(self._heap[0]) - address(self._rows)) // (8 * k.R_WIDTH)
        batch, old = self._batches[i], self._operands
        room = max(2 * len(old), needed)
        if batch is not None and batch.table.form.most is not None:
            with errors_of(batch.table.file, batch.table.live.names[0]):
                formats.refuse_large(needed, batch.table.form.most, self._offset(batch, i))
            room = max(min(room, batch.table.form.most + formats.OTHERS), needed)
        new = np.empty(room, np.uint8)
        new[len(new) - len(old) :] = old
        self._operands = new
        state = self._state
        state[k.S_BUFFER], state[k.S_BUFFER_CAP] = address(new), len(new)
        state[k.S_BUFFER_POS] += len(new) - len(old)

    def _fail(self, status: int, i: int) -> NoReturn:
        batch = self._batches[i]
        if batch is None:
            _fail(status)
        with errors_of(batch.table.file, batch.table.live.names[0]):
            _fail(status, offset=self._offset(batch, i))
        raise AssertionError("unreachable")

    def _offset(self, batch: BlockBatch, i: int) -> int:
        """Where the block of the current entry of a run is."""
        return batch.offsets[max(int(self._rows[i, k.R_BLOCK]) - 1, 0)]


def _larger(old: Bytes, needed: int) -> Bytes:
    new = np.empty(max(2 * len(old), needed), np.uint8)
    new[: len(old)] = old
    return new
