"""The reader in plain Python: the oracle of the compiled one, and its stand-in where Numba is not there.

Block decoding and the merge of runs, said as plainly as the format's description does. Does the I/O that its runs do.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from stateextract.errors import FormatError, UnsupportedError
from stateextract.rocksdb.access import errors_of
from stateextract.rocksdb.blocks import TRAILER, BlockHandle, entries, plain_block
from stateextract.rocksdb.runs import Run
from stateextract.rocksdb.table import Blocks, IndexForm, RangeDeletion, Table, read_index_block

DELETE, PUT, MERGE, SINGLE_DELETE = 0, 1, 2, 7


def read_index(
    plain: bytes, offset: int, form: IndexForm, lower: bytes | None, upper: bytes | None
) -> tuple[Blocks, bool]:
    """:func:`read_index_block` as rows of numbers."""
    found, whole = read_index_block(plain, offset, form, lower, upper)
    rows = [(*handle, int.from_bytes(key[:2].ljust(2, b"\0"), "big"), len(key)) for key, handle in found]
    return np.array(rows, np.int64).reshape(-1, 4), whole


class PlainDecoder:
    """Decodes one block at a time."""

    read_index = staticmethod(read_index)

    def verify(self, table: Table, raw: bytes, first: int, blocks: Blocks) -> None:
        """Nothing: each block is verified when it is decoded."""

    def decode(self, table: Table, raw: bytes, first: int, blocks: Blocks, most: int) -> tuple[list[bytes], int]:
        plains: list[bytes] = []
        size = 0
        for offset, stored in blocks[:, :2].tolist():
            start = offset - first
            plains.append(plain_block(raw[start : start + stored + TRAILER], BlockHandle(offset, stored), table.form))
            size += len(plains[-1])
            if size >= most:
                break
        return plains, len(plains)


class Entry:
    """One version of a key. Entries are ordered as a merge needs them: by key, the newest version first."""

    __slots__ = ("key", "kind", "seqno", "value")

    def __init__(self, key: bytes, seqno: int, kind: int, value: bytes) -> None:
        self.key = key
        self.seqno = seqno
        self.kind = kind
        self.value = value

    def __lt__(self, other: Entry) -> bool:
        return (self.key, -self.seqno) < (other.key, -other.seqno)


def entries_of(run: Run, counts: list[int], which: int) -> Iterator[Entry]:
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
                    yield Entry(key, seqno, trailer & 0xFF, value)


def merge(
    runs: list[Run], counts: list[int], deletions: list[RangeDeletion], lower: bytes | None, upper: bytes | None
) -> Iterator[tuple[bytes, bytes]]:
    """The pairs of [lower, upper) in order of key.

    :param deletions: grows while files are opened.
    """
    key: bytes | None = None
    seqno = -1
    operands: list[bytes] = []
    open_ = False
    for entry in heapq.merge(*(entries_of(run, counts, i) for i, run in enumerate(runs))):
        if lower is not None and entry.key < lower:
            continue
        if entry.key != key:
            if operands and key is not None:
                yield key, b",".join(reversed(operands))
            key, operands, open_ = entry.key, [], True
            if upper is not None and key >= upper:
                return
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
        open_ = entry.kind == MERGE
    if operands and key is not None:
        yield key, b",".join(reversed(operands))


def frames(pairs: Iterator[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Pairs as ``i32 nk · key · i32 nv · value``."""
    for key, value in pairs:
        yield len(key).to_bytes(4, "big") + key + len(value).to_bytes(4, "big") + value
