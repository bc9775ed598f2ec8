"""Targets of operator state: elements of a list with their positions, entries of a broadcast map with a digest of all.

The copies of a broadcast state are alike if they hold the same entries; a hash map on the heap gives them in any order.
So a copy's digest is the sum of its entries' digests. The digest is of bytes: where an entry holds a map or set itself,
whose order may differ too, the digest is one of the entry's bytes in order of size, which sees less and never a
difference that is none.

Decodes from a window; knows no files.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.decode.decoder import (
    Decoder,
    InterpreterDecoder,
    Progress,
    Stop,
    is_guessed,
    make_decoder,
    misread,
)
from stateextract.columnar.layout import Map, Python, walk
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError
from stateextract.files.window import Window
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import build_operator_batch
from stateextract.state.target import FileRead, Piece, Target, advised

Bounds = Callable[[], Sequence[int] | None]
"""Where each element begins and the last one ends, in the window's stream; ``None`` if it is not known."""

_STEP = 1 << 12  # elements between two looks at their offsets
_SUM = (1 << 128) - 1


class OperatorTarget(Target):
    """A list or broadcast state.

    :param keep: give out rows; otherwise a wanted state is only read.
    """

    def __init__(self, file_read: FileRead, row: RowLayout, keep: bool) -> None:
        super().__init__(file_read, row)
        self.selected = row.name in file_read.selected
        self.keep = self.keep and keep
        self.runs: list[tuple[int, int]] = []
        self.decoder: Decoder | None = None
        self.guessed = is_guessed(row.layout)
        if self.error is None:
            engine = "interpreter" if self.guessed else file_read.options.engine  # few elements, each in bounds of its own
            self.decoder = make_decoder(
                self.row.layout, self.options.policy, engine, self.options.batch_rows, file_read.budget, keep=self.keep
            )
            if self.selected:
                self.counters.engine = self.decoder.engine
        self.orderless = any(isinstance(node, Map | Python) for node in walk(row.layout))

    def elements(self, first: int, count: int) -> None:
        """Elements from that position on were decoded."""
        if self.selected:
            self.counters.entries += count
        if self.keep and count:
            self.runs.append((first, count))

    def flush(self, last: bool) -> None:
        if self.decoder is None or not self.keep or not self.runs:
            return
        try:
            array = self.decoder.flush()
        except StateExtractError as error:
            raise error.at(state=self.name) from None
        index = np.concatenate([np.arange(first, first + count, dtype=np.int64) for first, count in self.runs])
        self.runs.clear()
        self.give(array, index)

    def give(self, array: pa.Array, index: npt.NDArray[np.int64]) -> None:
        """A batch of elements or entries."""
        assert self.decoder is not None
        self.record_changes(self.decoder.counts)
        batch = build_operator_batch(array, index, self.row, self.options, self.file_read.subtask)
        self.counters.rows += batch.num_rows
        if batch.num_rows:
            self.file_read.ready.append(Piece(self.name, False, batch))

    def lose(self, error: UndecodableError, entries: int | None, data: bytes | None) -> None:
        """Elements cannot be decoded: stop, leave them out, or keep their bytes."""
        if not self.selected:
            return
        error.at(state=self.name)
        if self.options.on_undecodable == "fail":
            raise advised(error)
        self.counters.lost_entries += entries or 0
        self.counters.problem(error.message)
        if self.keep and self.options.on_undecodable == "raw" and data is not None:
            self.raw(None, 0, entries, data, error.message)

    def digest(self, entry: memoryview) -> int:
        """Of one entry of a broadcast map."""
        data = bytes(np.sort(np.frombuffer(entry, np.uint8))) if self.orderless else entry
        return int.from_bytes(hashlib.blake2b(data, digest_size=16).digest(), "big")


def read_elements(
    window: Window, target: OperatorTarget, first: int, count: int, bounds: Bounds, exact: bool
) -> Iterator[None]:
    """Decode a list's elements, one after the other.

    :param first: position of the first one in its list.
    :param bounds: called where an element cannot be decoded.
    :param exact: elements must begin at the bounds, so these are looked at from time to time.
    """
    start = window.offset()
    known = bounds() if exact or target.guessed else None
    done = 0
    if target.guessed and known is not None:
        yield from _read_guessed(window, target, first, known)
        done = count
    while done < count:
        if known is not None and window.offset() != known[done]:
            raise FormatError(
                f"an element ends at {window.offset()}",
                expected=f"{known[done]}, the next offset",
                offset=window.offset(),
            )
        progress, error = _decode(window, target, min(count - done, _STEP))
        target.elements(first + done, progress.entries)
        done += progress.entries
        if error is not None:
            known = known or bounds()
            if known is None:
                _lose_rest(target, error)
            _lose_element(window, target, error, known, done)
            done += 1
        elif progress.stop is Stop.FULL:
            target.full()
        elif progress.stop is Stop.NEED_INPUT:
            _refill(window, progress, f"element {first + done}")
        yield
    if target.selected:
        target.counters.bytes += window.offset() - start


def _read_guessed(window: Window, target: OperatorTarget, first: int, bounds: Sequence[int]) -> Iterator[None]:
    """Decode elements of classes whose description may be wrong: each in its own bounds, which are right."""
    for number in range(len(bounds) - 1):
        start, end = bounds[number], bounds[number + 1]
        window.skip(start - window.offset())
        if not window.need(end - start):
            raise TruncatedError(f"an element of {end - start} bytes is not there completely", offset=start)
        decoder = target.decoder
        try:
            if decoder is None:
                assert target.error is not None
                raise UndecodableError(target.error.message, offset=start - window.base)
            assert isinstance(decoder, InterpreterDecoder)
            if decoder.is_full:
                target.full()
            decoder.decode_whole(window.block, window.pos, window.pos + end - start)
        except UndecodableError as error:
            _lose_element(window, target, error.moved(window.base), bounds, number)
        else:
            window.pos += end - start
            target.elements(first + number, 1)
        yield


def _decode(window: Window, target: OperatorTarget, limit: int) -> tuple[Progress, UndecodableError | None]:
    """Decode up to ``limit`` elements; moves the window after those that were decoded."""
    decoder = target.decoder
    if decoder is None:
        assert target.error is not None
        return Progress(Stop.UNDECODABLE, 0, window.pos), UndecodableError(target.error.message, offset=window.offset())
    base, rows = window.base, decoder.rows
    try:
        progress = decoder.decode(window.block, window.pos, window.end, limit)
    except UndecodableError as error:
        error.moved(base)
        if target.keep:
            return Progress(Stop.UNDECODABLE, decoder.rows - rows, window.pos), error
        # Elements that are only skipped are not counted by the decoder, and may be skipped again.
        return Progress(Stop.UNDECODABLE, skip(window, decoder), window.pos), error
    except StateExtractError as error:
        error.moved(base)
        raise
    window.pos = progress.pos
    return progress, None


def skip(window: Window, decoder: Decoder) -> int:
    """Skip the elements before the one that cannot be decoded; how many there are."""
    for number in itertools.count():
        try:
            window.pos = decoder.decode(window.block, window.pos, window.end, 1).pos
        except UndecodableError:
            return number
    raise AssertionError


def _lose_element(
    window: Window, target: OperatorTarget, error: UndecodableError, bounds: Sequence[int], number: int
) -> None:
    """Go to the next element, by its offset."""
    start, end = bounds[number], bounds[number + 1]
    if window.offset() > start or not (error.offset is None or start <= error.offset <= end):
        raise FormatError(
            "an element is not at its offset",
            expected=f"it between {start} and {end}",
            offset=error.offset,
        )
    window.skip(start - window.offset())
    data = None
    if target.selected and target.options.on_undecodable == "raw":
        view = window.take(end - start)
        if view is None:
            raise TruncatedError(f"an element of {end - start} bytes is not there completely", offset=start)
        data = bytes(view)
    else:
        window.skip(end - start)
    target.lose(error, 1, data)


def _lose_rest(target: OperatorTarget, error: UndecodableError) -> NoReturn:
    """Where the next element begins is not known, so nothing after it can be read."""
    advice = (
        "the file was written by Flink 1.18.0 or 1.18.1, whose offsets do not mark where the next element begins; register "
        "a serializer as a plug-in, or omit the states after this one with --state"
    )
    raise error.at(advice=advice, state=target.name)


def _refill(window: Window, progress: Progress, what: str) -> None:
    least = progress.needed - progress.pos
    if not window.need(least):
        raise window.truncated(what, least)


def read_broadcast(window: Window, target: OperatorTarget, bounds: Bounds | None = None) -> Iterator[None]:
    """Decode the entries of a broadcast map.

    :param bounds: where the map ends, if it is not the end of the window's stream.
    """
    start = window.offset()
    header = window.take(4)
    if header is None:
        raise TruncatedError("a broadcast state has no room for its count", offset=start)
    count = int.from_bytes(header, "big", signed=True)
    if count < 0:
        raise FormatError(f"a broadcast state of {count} entries", offset=start)
    done = total = 0
    while done < count:
        before = window.pos
        try:
            progress, error = _decode(window, target, 1)
            if progress.stop is Stop.NEED_INPUT:
                _refill(window, progress, f"entry {done + 1} of {count} of a broadcast state")
        except FormatError as wrong:
            if not target.guessed:
                raise
            # The map's length is right; a class whose description may be wrong says how its entries are read.
            error = misread("entry", wrong)
        if error is not None:
            yield from _lose_map(window, target, error, start, count - done, bounds)
            return
        if progress.entries and target.selected:
            total = (total + target.digest(window.block.view[before : window.pos])) & _SUM
        target.elements(done, progress.entries)
        done += progress.entries
        if progress.stop is Stop.FULL:
            target.full()
        if progress.stop is not Stop.DONE:
            yield
    if target.selected:
        target.counters.bytes += window.offset() - start
        target.counters.copies[str(target.file_read.subtask)] = f"{count}:{total:032x}"
    yield


def _lose_map(
    window: Window, target: OperatorTarget, error: UndecodableError, start: int, entries: int, bounds: Bounds | None
) -> Iterator[None]:
    """The rest of a map, whose entries have no offsets."""
    known = None if bounds is None else bounds()
    if bounds is not None and known is None:
        _lose_rest(target, error)
    if known is not None:
        window.limit = known[1]
    data = bytearray()
    raw = target.selected and target.options.on_undecodable == "raw"
    while window.need(1):
        piece = window.take(window.end - window.pos)
        assert piece is not None
        if raw:
            data += piece
    window.limit = None
    target.lose(error, entries, bytes(data) if raw else None)
    yield
