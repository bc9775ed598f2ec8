"""Sorted runs: the data blocks of one level-0 file, or of all files of a deeper level one after the other.

A run reads only the blocks that its key range needs, in larger ranges (a remote store answers few large reads faster
than many small ones), and hands them on verified and decompressed, a batch at a time. Files are opened when their turn
comes; a file's range deletions are known from then on, which is early enough, because they count only within the
file's own bounds. Does I/O; leaves the entries to whoever merges them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from stateextract.errors import FormatError
from stateextract.files.read_ahead import AHEAD, ReadAhead
from stateextract.rocksdb.access import errors_of
from stateextract.rocksdb.blocks import TRAILER
from stateextract.rocksdb.manifest import LiveFile
from stateextract.rocksdb.table import Blocks, IndexReader, RangeDeletion, Table

READ_AHEAD = 32 << 20
"""Bytes that all runs of a merge may read ahead together."""
_LEAST_READ, _MOST_READ = 128 << 10, 4 << 20
PLAIN = 512 << 10
"""Plain bytes of a batch, if its last block does not make it more: small enough for the processor's cache."""

OpenTable = Callable[[LiveFile], Table]


@dataclass(slots=True)
class Batch:
    """Blocks that follow one another in a file.

    :param plains: the plain blocks, in the form of the decoder that made them.
    :param offsets: where they lie in the file, for errors.
    """

    table: Table
    plains: Any
    offsets: Sequence[int]


class BlockDecoder(Protocol):
    """Verifies and decompresses blocks."""

    read_index: IndexReader

    def verify(self, table: Table, raw: bytes, first: int, blocks: Blocks) -> None:
        """Check the checksums of all ``blocks``, which lie in ``raw``, bytes of the file from ``first`` on."""

    def decode(self, table: Table, raw: bytes, first: int, blocks: Blocks, most: int) -> tuple[Any, int]:
        """Decode blocks from the first on, until ``most`` plain bytes are reached.

        :param raw: bytes of the file from position ``first`` on, which hold all ``blocks``.
        :returns: the plain blocks, valid until the next call, and how many they are.
        """


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
        lower: bytes | None,
        upper: bytes | None,
        share: int,
        deletions: Callable[[tuple[RangeDeletion, ...]], None],
    ) -> None:
        self.bytes_read = 0
        self._waiting = list(reversed(files))
        self._open_table = open_table
        self._decoder = decoder
        self._lower = lower
        self._upper = upper
        each = READ_AHEAD // max(share, 1)
        self._read = min(max(each, _LEAST_READ), _MOST_READ)
        self._reads = min(max(each // self._read, 1), AHEAD)
        self._ahead: ReadAhead | None = None
        self._deletions = deletions
        self._table: Table | None = None
        self._parts: Iterator[tuple[Blocks, bool]] = iter(())
        self._blocks: Blocks = np.empty((0, 4), np.int64)
        self._next = 0  # of _blocks: not read yet
        self._raw = b""
        self._raw_at = 0
        self._chunk: Blocks = self._blocks
        self._end = 0  # of the last block in the file
        self._whole = True
        self._entries = 0  # when the file was opened

    @property
    def global_seqno(self) -> int | None:
        """The sequence number that all entries of the file at hand have, if the file was ingested."""
        return None if self._table is None else self._table.global_seqno

    def next_batch(self, entries: int) -> Batch | None:
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
                    plains, n = self._decoder.decode(table, self._raw, self._raw_at, self._chunk, PLAIN)
                    offsets = self._chunk[:n, 0].tolist()
                    self._chunk = self._chunk[n:]
                    return Batch(table, plains, offsets)
                if self._next < len(self._blocks):
                    self._fetch(table)
                    continue
                part = next(self._parts, None)
                if part is None:
                    self._finish(table, entries)
                    continue
                self._blocks, whole = part
                self._whole = self._whole and whole
                self._next = 0
                self._check(table)
                self._ahead = None
                if table.file.remote and self._reads > 1:
                    self._ahead = ReadAhead(table.start_fetch, self._pieces(), self._reads)

    def close(self) -> None:
        """Close the file at hand; nothing can be read any more."""
        self._waiting = []
        if self._table is not None:
            self.bytes_read += self._table.bytes_read
            self._table.file.close()
            self._table = None

    def _begin(self, live: LiveFile, entries: int) -> None:
        self._table = table = self._open_table(live)
        self._parts = table.data_blocks(self._decoder.read_index, self._lower, self._upper)
        self._end = 0
        self._whole = True
        self._entries = entries
        if table.range_deletions:
            self._deletions(table.range_deletions)

    def _finish(self, table: Table, entries: int) -> None:
        self.bytes_read += table.bytes_read
        table.file.close()
        self._table = None
        self._raw = b""
        stated = table.properties.entries
        if self._whole and stated is not None:
            found = entries - self._entries + table.properties.range_deletions
            if found != stated:
                raise FormatError(f"the file has {found} entries", expected=f"{stated} by its properties")

    def _check(self, table: Table) -> None:
        """Blocks must follow one another: a read then never takes more than the file has."""
        blocks = self._blocks
        if not len(blocks):
            return
        ends = blocks[:, 0] + blocks[:, 1] + TRAILER
        starts = np.concatenate(([self._end], ends[:-1]))
        wrong = np.flatnonzero((blocks[:, 0] < starts) | (ends > table.data_limit))
        if len(wrong):
            offset, size = blocks[wrong[0], :2].tolist()
            raise FormatError(
                f"a data block of {size} bytes at {offset} overlaps another, or ends after the end of the file", offset=offset
            )
        self._end = int(ends[-1])

    def _together(self, begin: int) -> tuple[int, int, int]:
        """The blocks from there on that are read together: where they begin in the file, their bytes, how many they are."""
        blocks = self._blocks[begin:]
        start = int(blocks[0, 0])
        ends = blocks[:, 0] + blocks[:, 1] + TRAILER
        n = max(int(np.searchsorted(ends, start + self._read, side="right")), 1)
        return start, int(ends[n - 1]) - start, n

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """Offsets and lengths of all reads."""
        at = 0
        while at < len(self._blocks):
            start, length, n = self._together(at)
            yield start, length
            at += n

    def _fetch(self, table: Table) -> None:
        start, length, n = self._together(self._next)
        self._raw = table.fetch(start, length) if self._ahead is None else self._ahead.next() or b""
        self._raw_at = start
        self._chunk = self._blocks[self._next : self._next + n]
        self._decoder.verify(table, self._raw, start, self._chunk)
        self._next += n
