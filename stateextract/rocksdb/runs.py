"""Sorted runs: the data blocks of one level-0 file, or of all files of a deeper level one after the other.

A run reads only the blocks that its key ranges need, in larger pieces (a remote store answers few large reads faster
than many small ones), and hands them on verified and decompressed, a batch at a time. Files are opened when their turn
comes; a file's range deletions are known from then on, which is early enough, because they count only within the
file's own bounds. Does I/O; leaves the entries to the caller that merges them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from stateextract.errors import FormatError
from stateextract.files.read_ahead import AHEAD, ReadAhead
from stateextract.metadata.opener import errors_of
from stateextract.rocksdb.blocks import TRAILER, entries, refuse_large
from stateextract.rocksdb.manifest import LiveFile
from stateextract.rocksdb.ranges import KeyRanges, meeting
from stateextract.rocksdb.table import Blocks, IndexReader, RangeDeletion, Table

READ_AHEAD = 32 << 20
"""Bytes that all runs of a merge may read ahead together."""
_LEAST_READ, _MOST_READ = 128 << 10, 4 << 20
REMOTE_GAP = 256 << 10
"""Bytes between two blocks that are read along, because a store takes longer to answer than to send them. Of local files only
the blocks are read."""
PLAIN = 1 << 20
"""Plain bytes of a batch, if its last block does not make it more: small enough for the processor's cache."""

OpenTable = Callable[[LiveFile], Table]

Starts: TypeAlias = npt.NDArray[np.int64]
"""Where blocks begin in the bytes that were read."""


@dataclass(slots=True)
class BlockBatch:
    """Blocks that follow one another in a file.

    :param plains: the plain blocks, in the form of the decoder that made them.
    :param offsets: where they lie in the file, for errors.
    """

    table: Table
    plains: Any
    offsets: Sequence[int]


@dataclass(slots=True)
class _Read:
    """What is read together: positions in the file and their bytes, and which blocks are in them."""

    pieces: list[tuple[int, int]]
    begin: int
    stop: int


class BlockDecoder(Protocol):
    """Verifies and decompresses blocks."""

    read_index: IndexReader

    def verify(self, table: Table, raw: bytes, starts: Starts, blocks: Blocks) -> None:
        """Check the checksums of all ``blocks``, which lie in ``raw``."""

    def decode(self, table: Table, raw: bytes, starts: Starts, blocks: Blocks, most: int) -> tuple[Any, int]:
        """Decode blocks from the first on, until ``most`` plain bytes are reached.

        :param raw: bytes that hold all ``blocks``.
        :returns: the plain blocks, valid until the next call, and how many they are.
        """

    def block(self, plains: Any, which: int) -> bytes:
        """One of the plain blocks."""


def runs_of(files: Sequence[LiveFile]) -> list[list[LiveFile]]:
    """Files in runs: each file of level 0 is one; from level 1 on, the files of a level are.

    :raises FormatError: if files of a deeper level overlap.
    """
    runs = [[live] for live in files if live.level == 0]
    for level in sorted({live.level for live in files if live.level > 0}):
        run = sorted((live for live in files if live.level == level), key=lambda live: (live.smallest, live.largest))
        for one, other in pairwise(run):
            if one.largest > other.smallest:
                raise FormatError(f"files {one.number} and {other.number} of level {level} overlap")
        runs.append(run)
    return runs


class Run:
    """The blocks of some files in order.

    :param share: how many runs read ahead at once.
    :param deletions: is given the range deletions of each file when it is opened.
    """

    def __init__(
        self,
        files: Sequence[LiveFile],
        open_table: OpenTable,
        decoder: BlockDecoder,
        ranges: KeyRanges,
        share: int,
        deletions: Callable[[tuple[RangeDeletion, ...]], None],
    ) -> None:
        self._waiting = list(reversed(files))
        self._open_table = open_table
        self._decoder = decoder
        self._ranges = ranges
        each = READ_AHEAD // max(share, 1)
        self._read = min(max(each, _LEAST_READ), _MOST_READ)
        self._reads = min(max(each // self._read, 1), AHEAD)
        self._ahead: ReadAhead | None = None
        self._deletions = deletions
        self._table: Table | None = None
        self._parts: Iterator[tuple[Blocks, bool]] = iter(())
        self._blocks: Blocks = np.empty((0, 4), np.int64)
        self._reads_left: deque[_Read] = deque()
        self._raw = b""
        self._chunk: Blocks = self._blocks
        self._starts: Starts = self._blocks[:, 0]
        self._end = 0  # of the last block in the file
        self._whole = True
        self._first = True  # nothing of the file was read
        self._entries = 0  # when the file was opened

    @property
    def global_seqno(self) -> int | None:
        """The sequence number that all entries of the current file have, if the file was ingested."""
        return None if self._table is None else self._table.global_seqno

    def next_batch(self, entries: int) -> BlockBatch | None:
        """The next blocks, never of two files; None at the end.

        :param entries: how many entries of the run have been read, to check the counts that files state.
        """
        while True:
            if self._table is None:
                if not self._waiting:
                    return None
                self._begin(self._waiting.pop(), entries)
                continue
            table = self._table
            with errors_of(table.file, table.live.names[0]):
                if len(self._chunk):
                    plains, n = self._decoder.decode(table, self._raw, self._starts, self._chunk, PLAIN)
                    offsets = self._chunk[:n, 0].tolist()
                    self._chunk, self._starts = self._chunk[n:], self._starts[n:]
                    self._check_bounds(table, plains, offsets)
                    return BlockBatch(table, plains, offsets)
                if self._reads_left:
                    self._fetch(table, self._reads_left.popleft())
                    continue
                part = next(self._parts, None)
                if part is None:
                    self._finish(table, entries)
                    continue
                self._blocks, whole = part
                self._whole = self._whole and whole
                self._check(table)
                self._reads_left = deque(self._planned(REMOTE_GAP if table.file.remote else 0))
                self._ahead = None
                if table.file.remote and self._reads > 1:
                    pieces = [piece for read in self._reads_left for piece in read.pieces]
                    self._ahead = ReadAhead(table.start_fetch, pieces, self._reads)

    def close(self) -> None:
        """Close the current file; nothing can be read any more."""
        self._waiting = []
        if self._table is not None:
            self._table.file.close()
            self._table = None

    def _begin(self, live: LiveFile, entries: int) -> None:
        self._table = table = self._open_table(live)
        self._parts = table.data_blocks(self._decoder.read_index, meeting(self._ranges, live))
        self._end = 0
        self._whole = self._first = True
        self._entries = entries
        if table.range_deletions:
            self._deletions(table.range_deletions)

    def _finish(self, table: Table, entries: int) -> None:
        table.file.close()
        self._table = None
        self._raw = b""
        stated = table.properties.entries
        if self._whole and stated is not None:
            found = entries - self._entries + table.properties.range_deletions
            if found != stated:
                raise FormatError(f"the file has {found} entries", expected=f"{stated} by its properties")

    def _check_bounds(self, table: Table, plains: Any, offsets: Sequence[int]) -> None:
        """The first and the last key that are read lie where the MANIFEST says: by that, files are chosen."""
        last = not len(self._chunk) and not self._reads_left
        for which in [0] * self._first + [-1] * last:
            block = self._decoder.block(plains, which)
            keys = [key[:-8] for key, _ in entries(block, offsets[which]) if len(key) >= 8]
            if keys and not table.live.contains(keys[which]):
                raise FormatError(
                    f"a key is outside of the bounds of file {table.live.number} in the MANIFEST",
                    expected=f"keys from {table.live.smallest.hex()} to {table.live.largest.hex()}",
                    offset=offsets[which],
                )
        self._first = False

    def _check(self, table: Table) -> None:
        """Blocks must follow one another: a read then never takes more than the file has."""
        blocks = self._blocks
        if not len(blocks):
            return
        ends = blocks[:, 0] + blocks[:, 1] + TRAILER
        starts = np.concatenate(([self._end], ends[:-1]))
        wrong = np.flatnonzero((blocks[:, 0] < starts) | (ends > table.data_limit))
        largest = int(blocks[:, 1].argmax())
        refuse_large(int(blocks[largest, 1]), table.form.most, int(blocks[largest, 0]))
        if len(wrong):
            offset, size = blocks[wrong[0], :2].tolist()
            raise FormatError(
                f"a data block of {size} bytes at {offset} overlaps another, or ends after the end of the file", offset=offset
            )
        self._end = int(ends[-1])

    def _planned(self, gap: int) -> Iterator[_Read]:
        """The reads of the blocks; a read has blocks that lie apart as several pieces.

        :param gap: bytes between two blocks that are read along.
        """
        blocks = self._blocks
        ends = blocks[:, 0] + blocks[:, 1] + TRAILER
        cuts = np.flatnonzero(blocks[1:, 0] - ends[:-1] > gap) + 1
        waiting = _Read([], 0, 0)
        size = 0
        for begin, stop in pairwise([0, *cuts.tolist(), len(blocks)]):
            while begin < stop:
                start, end = int(blocks[begin, 0]), stop
                length = int(ends[end - 1]) - start
                if length > self._read:
                    end = begin + max(int(np.searchsorted(ends[begin:stop], start + self._read, side="right")), 1)
                    length = int(ends[end - 1]) - start
                if waiting.pieces and size + length > self._read:
                    yield waiting
                    waiting, size = _Read([], begin, begin), 0
                waiting.pieces.append((start, length))
                waiting.stop = begin = end
                size += length
        if waiting.pieces:
            yield waiting

    def _fetch(self, table: Table, read: _Read) -> None:
        pieces = read.pieces
        raws = [table.fetch(*piece) if self._ahead is None else self._ahead.next() or b"" for piece in pieces]
        self._raw = raws[0] if len(raws) == 1 else b"".join(raws)
        self._chunk = self._blocks[read.begin : read.stop]
        # Where the pieces begin in the file and in what was read.
        places = np.array(pieces, np.int64).reshape(-1, 2)
        moved = places[:, 0] - np.cumsum(places[:, 1]) + places[:, 1]
        offsets = self._chunk[:, 0]
        self._starts = offsets - moved[np.searchsorted(places[:, 0], offsets, side="right") - 1]
        self._decoder.verify(table, self._raw, self._starts, self._chunk)
