"""The reader in plain Python: the reference for the compiled one, and its replacement where no kernel is available.

Block decoding and the merge of runs, written as plainly as the format's description. Does the I/O that its runs do.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from stateextract.errors import FormatError, UnsupportedError
from stateextract.metadata.opener import errors_of
from stateextract.rocksdb.blocks import TRAILER, BlockHandle, entries, plain_block, refuse_large
from stateextract.rocksdb.ranges import KeyRanges
from stateextract.rocksdb.runs import Run, Starts
from stateextract.rocksdb.table import Blocks, IndexForm, RangeDeletion, Table, read_index_block

DELETE, PUT, MERGE, SINGLE_DELETE = 0, 1, 2, 7


def read_index(plain: bytes, offset: int, form: IndexForm, ranges: KeyRanges) -> tuple[Blocks, bool]:
    """:func:`read_index_block` as rows of numbers."""
    found, whole = read_index_block(plain, offset, form, ranges)
    rows = [(*handle, int.from_bytes(key[:2].ljust(2, b"\0"), "big"), len(key)) for key, handle in found]
    return np.array(rows, np.int64).reshape(-1, 4), whole


class PlainDecoder:
    """Decodes one block at a time."""

    read_index = staticmethod(read_index)

    def verify(self, table: Table, raw: bytes, starts: Starts, blocks: Blocks) -> None:
        """Nothing: each block is verified when it is decoded."""

    def decode(self, table: Table, raw: bytes, starts: Starts, blocks: Blocks, most: int) -> tuple[list[bytes], int]:
        plains: list[bytes] = []
        size = 0
        for start, (offset, stored) in zip(starts.tolist(), blocks[:, :2].tolist(), strict=True):
            plains.append(plain_block(raw[start : start + stored + TRAILER], BlockHandle(offset, stored), table.form))
            size += len(plains[-1])
            if size >= most:
                break
        return plains, len(plains)

    def block(self, plains: list[bytes], which: int) -> bytes:
        return plains[which]


class KeyVersion:
    """One version of a key. Entries are ordered as a merge needs them: by key, the newest version first."""

    __slots__ = ("key", "kind", "seqno", "value")

    def __init__(self, key: bytes, seqno: int, kind: int, value: bytes) -> None:
        self.key = key
        self.seqno = seqno
        self.kind = kind
        self.value = value

    def __lt__(self, other: KeyVersion) -> bool:
        return (self.key, -self.seqno) < (other.key, -other.seqno)


def entries_of(run: Run, counts: list[int], which: int) -> Iterator[KeyVersion]:
    """The entries of a run; ``counts[which]`` is kept up to date."""
    last: tuple[bytes, int] | None = None
    while True:
        batch = run.next_batch(counts[which])
        if batch is None:
            return
        with errors_of(batch.table.file, batch.table.live.names[0]):
            for plain, offset in zip(batch.plains, batch.offsets, strict=True):
                for internal, value in entries(plain, offset):
                    if len(internal) < 8:
                        raise FormatError(f"a key has {len(internal)} bytes", expected="at least 8", offset=offset)
                    key, trailer = internal[:-8], int.from_bytes(internal[-8:], "little")
                    if last is not None and (key, -trailer) <= last:
                        raise FormatError("keys do not rise", offset=offset)
                    last = (key, -trailer)
                    counts[which] += 1
                    seqno = trailer >> 8 if run.global_seqno is None else run.global_seqno
                    if trailer & 0xFF not in (DELETE, PUT, MERGE, SINGLE_DELETE):
                        raise UnsupportedError(f"an entry of type {trailer & 0xFF}", offset=offset)
                    yield KeyVersion(key, seqno, trailer & 0xFF, value)


def merge(
    runs: list[Run],
    counts: list[int],
    deletions: list[RangeDeletion],
    ranges: KeyRanges,
    databases: Sequence[tuple[int, int]] | None = None,
    most: int | None = None,
) -> Iterator[tuple[bytes, bytes]]:
    """The pairs of the ranges in order of key.

    :param deletions: grows while files are opened.
    :param databases: for keys alone: of each run a bit of its database, and the largest number that settles no key. The
        values are then the bits of the databases whose newest entry settles the key.
    :param most: bytes of the largest value; ``None``: any.
    """
    if databases is not None:
        yield from _keys(runs, counts, ranges, databases)
        return
    key: bytes | None = None
    seqno = -1
    operands: list[bytes] = []
    size = 0
    open_ = False
    left = list(reversed(ranges))
    for entry in heapq.merge(*(entries_of(run, counts, i) for i, run in enumerate(runs))):
        while left and left[-1][1] is not None and left[-1][1] <= entry.key:
            left.pop()
        if not left:
            break
        if entry.key < (left[-1][0] or b""):
            continue
        if entry.key != key:
            if operands and key is not None:
                yield key, b",".join(reversed(operands))
            key, operands, size, open_ = entry.key, [], 0, True
        elif entry.seqno == seqno:
            raise FormatError("a key has two entries with one sequence number")
        seqno = entry.seqno
        if not open_:
            continue
        covered = max((one.seqno for one in deletions if one.begin <= key < one.end), default=-1)
        if seqno < covered or entry.kind in (DELETE, SINGLE_DELETE):
            open_ = False
            continue
        operands.append(entry.value)
        size += len(entry.value) + 1
        refuse_large(size, most)
        open_ = entry.kind == MERGE
    if operands and key is not None:
        yield key, b",".join(reversed(operands))


def _keys(
    runs: list[Run], counts: list[int], ranges: KeyRanges, databases: Sequence[tuple[int, int]]
) -> Iterator[tuple[bytes, bytes]]:
    def numbered(i: int) -> Iterator[tuple[KeyVersion, int]]:
        return ((entry, i) for entry in entries_of(runs[i], counts, i))

    merged = heapq.merge(*map(numbered, range(len(runs))), key=lambda one: one[0])
    for key, entries_of_key in itertools.groupby(merged, key=lambda one: one[0].key):
        if not any((begin or b"") <= key and (end is None or key < end) for begin, end in ranges):
            continue
        seen = settled = 0
        for entry, i in entries_of_key:
            bit, number = databases[i]
            if not seen & bit and entry.kind != MERGE and entry.seqno > number:
                settled |= bit
            seen |= bit
        yield key, bytes([settled])


def frames(pairs: Iterator[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Pairs as ``i32 nk · key · i32 nv · value``."""
    for key, value in pairs:
        yield len(key).to_bytes(4, "big") + key + len(value).to_bytes(4, "big") + value
