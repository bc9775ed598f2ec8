"""Windows: a bounded piece of a stream of bytes that slides over it, because state is larger than memory.

A :class:`ByteSource` gives the bytes of one range, as they are (:class:`RangeSource`) or decompressed
(:class:`DecompressedSource`). A :class:`Window` holds the part of it that is being decoded: the reader of the window
moves ``pos``; ``need`` keeps what is left, reads after it, and grows only when one item is larger than the window.

Positions: ``window.offset(pos)`` is the offset in the source's stream; for compressed data that is the uncompressed
stream, because that is where the decoder's positions lie. May import the codecs; knows no Flink structure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from stateextract.errors import StateExtractError, TruncatedError, ValueRefusedError
from stateextract.files.block import SLACK, Block
from stateextract.files.compression import StreamDecoder
from stateextract.files.piece import FilePiece
from stateextract.files.read_ahead import ReadAhead

ReadAt = Callable[[int, int], bytes]
"""``read_at(offset, length)``: bytes of a file; fewer only at its end. A :class:`FilePiece` can do without a copy of them."""

WINDOW = 4 << 20
"""Bytes that a window holds at first."""

READ = 4 << 20
"""Bytes of one read from a file."""


class ByteSource(Protocol):
    """Gives the bytes of a stream in order."""

    def read_into(self, room: memoryview) -> int:
        """Write the next bytes into ``room`` (at least ``least`` long) and return how many; 0 at the end."""

    least: int
    """Room that ``read_into`` must be given."""


class RangeSource:
    """The bytes ``start`` to ``stop`` of a file."""

    least = 1

    def __init__(self, read_at: ReadAt, start: int, stop: int) -> None:
        self.read_at = read_at
        self.at = start
        self.stop = stop
        self._ahead: ReadAhead | None = None
        self._piece = memoryview(b"")
        if isinstance(read_at, FilePiece) and read_at.remote and stop - start > READ:
            starts = range(start, stop, READ)
            self._ahead = ReadAhead(read_at.start_read, ((at, min(READ, stop - at)) for at in starts))

    def read_into(self, room: memoryview) -> int:
        n = min(len(room), self.stop - self.at, READ)
        if n <= 0:
            return 0
        if self._ahead is not None:
            self._piece = self._piece or memoryview(self._ahead.next() or b"")
            got = n = min(n, len(self._piece))
            room[:n] = self._piece[:n]
            self._piece = self._piece[n:] or memoryview(b"")  # of a piece at its end nothing is kept
        elif isinstance(self.read_at, FilePiece):
            got = self.read_at.into(self.at, room[:n])
        else:
            data = self.read_at(self.at, n)
            got = len(data)
            room[:got] = data
        if got < n:
            raise TruncatedError(f"the file ends {n - got} bytes before its data does", offset=self.at + got)
        self.at += n
        return n


class DecompressedSource:
    """What a codec makes of the bytes of a window up to one of its positions.

    ``starts`` collects the positions, in the decompressed stream, where a new compressed stream begins.
    """

    def __init__(self, raw: Window, decoder: StreamDecoder) -> None:
        self.raw = raw
        self.begin = raw.offset()
        self.failure: StateExtractError | None = None
        self.decoder = decoder
        self.least = decoder.largest_output
        self.given = 0
        self.starts: list[int] = []
        self.finished = False

    def read_into(self, room: memoryview) -> int:
        """Decompress whole chunks of the raw window, up to its limit."""
        try:
            return self._read_into(room)
        except StateExtractError as error:
            self.failure = error
            raise

    def with_location(self, error: StateExtractError) -> StateExtractError:
        """The error of the caller that reads the decompressed stream, with both its offset there and that of the stream.

        What is wrong with the compressed bytes themselves, or in another file, says where it is, and stays as it is.
        """
        if error is not self.failure and error.file is None and error.offset is not None and error.plain_offset is None:
            error.offset, error.plain_offset = self.begin, error.offset
        return error

    def _read_into(self, room: memoryview) -> int:
        raw = self.raw
        while not self.finished:
            pos, n = self.decoder.decode(raw.block.view, raw.pos, raw.end, room, 0, raw.offset(0))
            raw.pos = pos
            self.starts.extend(self.given + start for start in self.decoder.stream_starts)
            if n:
                self.given += n
                return n
            if not raw.need(raw.end - raw.pos + 1):
                self.decoder.finish(raw.pos, raw.end, raw.offset(0))
                self.finished = True
        return 0


def too_large(size: int, most: int, offset: int | None = None) -> ValueRefusedError:
    """The error for a value of at least so many bytes."""
    return ValueRefusedError(
        f"a value of at least {size} bytes", expected=f"at most {most}", offset=offset,
        advice="set --max-value-bytes to a larger size if there is the memory for it; with --flatten the elements of a "
        "list and the entries of a map are rows of their own",
    )  # fmt: skip


class Window:
    """The part of a stream that is in memory.

    :param source: where the bytes come from.
    :param start: offset of the stream's first byte, for ``offset``.
    :param size: bytes to hold; ``WINDOW`` unless given.

    :param most: bytes of the largest item; one that goes on beyond them is refused. ``None``: no bound.

    ``block`` holds the bytes, of which ``pos`` … ``end`` are unread; nothing beyond ``limit`` is given out until the
    limit is moved.
    """

    def __init__(self, source: ByteSource, start: int = 0, size: int | None = None, most: int | None = None) -> None:
        self.source = source
        self.most = most
        self.size = max(size or WINDOW, source.least)
        # A range says how much there is: one read is cheaper than several, on an object store by far.
        expected = source.stop - source.at if isinstance(source, RangeSource) else 0
        self.block = Block(np.empty(min(self.size, max(expected, 1 << 16)) + SLACK, np.uint8))
        self.base = start  # offset in the stream of block[0]
        self.pos = 0
        self.filled = 0
        self.limit: int | None = None

    def offset(self, pos: int | None = None) -> int:
        """Offset in the stream of a position in the block (default: of the next byte)."""
        return self.base + (self.pos if pos is None else pos)

    @property
    def end(self) -> int:
        """Position after the last byte that may be read now."""
        end = self.filled if self.limit is None else min(self.filled, self.limit - self.base)
        return end if self.most is None else min(end, self.pos + self.most)

    def need(self, n: int) -> bool:
        """Make at least ``n`` bytes available from ``pos`` on.

        :returns: ``False`` if the stream, or its limit, ends before; then all that there is is available.
        :raises ValueRefusedError: where that is more than the largest item may have.
        """
        if self.end - self.pos >= n:
            return True
        if self.most is not None and n > self.most and self.need(self.most) and self._goes_on(n):
            raise too_large(n, self.most, self.offset())
        if self.limit is not None and self.limit - self.base - self.pos < n:
            n = self.limit - self.base - self.pos
            self._fill(n)
            return False
        return self._fill(n)

    def truncated(self, what: str, least: int) -> TruncatedError:
        """The error for something at ``pos`` that has at least so many bytes, which are not there."""
        left = f"{least} bytes, {self.end - self.pos} are left"
        return TruncatedError(f"the data ends inside {what}", expected=left, offset=self.offset())

    def _goes_on(self, n: int) -> bool:
        """Whether the stream may have ``n`` bytes from the position on: a length without bytes after it is damage."""
        last = self.base + self.pos + n
        if self.limit is not None and self.limit < last:
            return False
        return not isinstance(self.source, RangeSource) or self.source.stop - self.source.at >= self.pos + n - self.filled

    def skip(self, n: int) -> None:
        while n > 0:
            if not self.need(1):
                raise TruncatedError(f"the data ends {n} bytes early", offset=self.offset())
            step = min(n, self.end - self.pos)
            self.pos += step
            n -= step

    def take(self, n: int) -> memoryview | None:
        """The next ``n`` bytes, skipped; ``None`` if there are not that many. Valid until the next ``need``."""
        if not self.need(n):
            return None
        view = self.block.view[self.pos : self.pos + n]
        self.pos += n
        return view

    def _fill(self, n: int) -> bool:
        least = max(self.source.least, 1)
        while self.filled - self.pos < n:
            left = self.filled - self.pos
            capacity = len(self.block.array) - SLACK
            # Room doubles as bytes arrive, so a length without bytes after it allocates nothing much: up to the usual
            # size while the stream fills the block (but for what has no room for a whole pair), beyond it only for an item
            # that is larger.
            wanted = capacity
            if left > capacity // 2 or (capacity < self.size and self.filled > capacity - capacity // 8):
                wanted = 2 * capacity
            wanted = max(wanted, left + least)
            if wanted != capacity or capacity - self.filled < max(least, capacity // 2):
                self._move(wanted)
            got = self.source.read_into(self.block.view[self.filled : len(self.block.array) - SLACK])
            if not got:
                return False
            self.filled += got
        return True

    def _move(self, room: int) -> None:
        """Bring what is unread to the front, of a block of that many bytes."""
        left = self.filled - self.pos
        old = self.block.array
        if room + SLACK != len(old):
            new = np.empty(room + SLACK, np.uint8)
            new[:left] = old[self.pos : self.filled]
            self.block = Block(new)
        elif self.pos >= left:
            old[:left] = old[self.pos : self.filled]
        else:
            old[:left] = old[self.pos : self.filled].copy()
        self.base += self.pos
        self.filled = left
        self.pos = 0
