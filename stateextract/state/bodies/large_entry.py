"""One entry of a list or map state, or one pair of a list, that is larger than a window, read element by element.

An entry is decoded as a whole as long as it fits: that is fast, and unless rows are to be flat, its row needs it as a whole
anyway. A hot key may hold more than memory does; where its elements become rows of their own, or the state is only
skipped, nothing of it has to be kept: the parts before the value are decoded once, then the elements in batches.

May import decoders, windows and columns; knows no bodies but those of entries (``heap.py``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.decode.pair_decoder import make_pair_decoder
from stateextract.columnar.layout import Field, List, Map, Number, Skip, Struct
from stateextract.columnar.program.pair_programs import KEY_GROUP, PairLayout
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError
from stateextract.files.block import Block
from stateextract.files.window import Window
from stateextract.state.bodies.heap import ALL, UncountedEntries, decode_entries
from stateextract.state.counters import StateCounters
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import ReadOptions, build_batch, flattens, state_schema, value_layout

COUNT = "count"


def element_layout(row: RowLayout) -> Struct | None:
    """The columns of one element or entry of a state's values; ``None`` where values cannot be taken apart."""
    value = value_layout(row)
    if not flattens(row) or row.layout.fields[-1].layout is not value:
        return None
    fields: tuple[Field, ...] = ()
    if isinstance(value, Map) and not value.blocks:
        fields = (Field("map_key", value.key), Field("value", value.value))
    elif isinstance(value, List) and row.kind == "LIST" and not value.blocks and not value.null_mask:
        fields = (Field("value", value.element),)
    columns = all(field.layout.arrow_type is not None for field in fields)
    return Struct(fields) if fields and columns else None


class LargeEntry(UncountedEntries):
    """Reads the entry that a window is at; the target that the elements are decoded for.

    :param keep: ``False``: only skip it.
    """

    def __init__(
        self, row: RowLayout, element: Struct, options: ReadOptions, subtask: int, counters: StateCounters, keep: bool,
        budget: int,
    ) -> None:  # fmt: skip
        super().__init__(
            make_decoder(element, options.policy, options.engine, options.batch_rows, budget, keep=keep)
        )
        self.row = row
        self.schema = state_schema(row, options)
        self.options = options
        self.subtask = subtask
        self.counters = counters
        self.keep = keep
        self.header = Struct((*row.layout.fields[:-1], Field(COUNT, Number(pa.int32()))))
        self.key_group = -1
        self.index = 0
        self.front: pa.Array = None
        self.ready: list[pa.RecordBatch] = []

    def read(self, window: Window, key_group: int) -> Iterator[pa.RecordBatch]:
        """Read one entry, moving the window after it.

        :yields: batches as :func:`build_batch` makes them; none where ``keep`` is not set.
        :raises StateExtractError: with the offset in the stream.
        """
        self.key_group, self.index = key_group, 0
        start = window.offset()
        counts = ChangeCounts()
        self.front = self._front(window, counts)
        count = int(self.front.field(COUNT)[0].as_py())
        if count < 0:
            raise FormatError(f"a negative number of elements, {count}", offset=start)
        for _ in decode_entries(window, self, self.decoder, key_group, count):
            yield from self._take()
        self.full()
        yield from self._take()
        self.counters.counts += self.decoder.counts + counts
        self.decoder.counts = ChangeCounts()

    def _front(self, window: Window, counts: ChangeCounts) -> pa.Array:
        """What comes before the elements: namespace, key, and how many there are."""
        decoder = make_decoder(self.header, self.options.policy, engine="interpreter")
        for _ in decode_entries(window, UncountedEntries(decoder), decoder, self.key_group, 1):
            pass
        array = decoder.flush()
        for name in decoder.counts:
            counts[name] += decoder.counts[name]
        return array

    def _take(self) -> list[pa.RecordBatch]:
        ready, self.ready = self.ready, []
        return ready

    def full(self) -> None:
        """Make a batch of the elements that were decoded."""
        if not self.keep or not self.decoder.rows:
            return
        elements = self.decoder.flush()
        n = len(elements)
        first = pa.array(np.zeros(n, np.int32))
        columns = {f.name: self.front.field(i).take(first) for i, f in enumerate(self.front.type)}
        columns |= {f.name: elements.field(i) for i, f in enumerate(elements.type)}
        if self.row.kind != "MAP":
            columns["list_index"] = pa.array(np.arange(self.index, self.index + n, dtype=np.int32))
        self.index += n
        array = pa.StructArray.from_arrays(list(columns.values()), list(columns))
        groups = np.full(n, self.key_group, np.int32)
        batch = build_batch(array, groups, self.row, self.schema, self.options, self.subtask, self.counters, flat=True)
        self.counters.rows += batch.num_rows
        self.ready.append(batch)


class LargePair(LargeEntry):
    """Reads the list that the pair at a window's position holds.

    There is a byte between elements. The last one of the value's length is read as that before the first element.

    :param pairs: how pairs are read as a whole.
    :ivar stop: where the pair ends in the stream; :ivar last: whether it is the last one of its state. Known while it is read.
    """

    def __init__(
        self, row: RowLayout, pairs: PairLayout, element: Struct, options: ReadOptions, subtask: int, counters: StateCounters,
        budget: int,
    ) -> None:  # fmt: skip
        separated = Struct((Field("", Skip(1)), *element.fields))
        super().__init__(row, separated, options, subtask, counters, True, budget)
        self.pairs = pairs
        self.stop = -1
        self.last = False

    def read(self, window: Window, key_group: int) -> Iterator[pa.RecordBatch]:
        """As of an entry. After an element that cannot be decoded the window is there, and those before it are given out.

        :param key_group: -1: any.
        """
        self.index = 0
        start = window.offset()
        key, self.stop, self.last = pair_front(window)
        counts = self._key(key, key_group, start)
        limit = window.limit
        try:
            window.pos += len(key) + 3
            if window.offset() + 1 < self.stop:
                window.limit = self.stop if limit is None else min(limit, self.stop)
                for _ in decode_entries(window, self, self.decoder, self.key_group, ALL):
                    yield from self._take()
            else:
                window.pos += 1
        except TruncatedError as error:
            if window.offset(window.end) == self.stop:
                raise FormatError("a value does not end at its recorded length", offset=error.offset) from None
            raise
        except UndecodableError:
            self.full()
            yield from self._take()
            raise
        finally:
            window.limit = limit
        if window.offset() < self.stop:
            raise TruncatedError("the data ends inside a pair of key and value", offset=window.offset())
        self.full()
        yield from self._take()
        self.counters.counts += self.decoder.counts + counts
        self.decoder.counts = ChangeCounts()

    def _key(self, key: bytes, key_group: int, start: int) -> ChangeCounts:
        """Decode the key, as that of an empty list."""
        decoder = make_pair_decoder(self.pairs, self.options.policy, "interpreter")
        decoder.begin(key_group)
        data = key + bytes(4)
        try:
            progress = decoder.decode(Block.of(data), 0, len(data), 1)
            if progress.error is not None:
                raise progress.error
        except StateExtractError as error:
            error.offset = start if error.offset is None else start + error.offset
            raise
        self.front = decoder.flush(last=True)
        self.key_group = self.front.field(KEY_GROUP)[0].as_py() if key_group < 0 else key_group
        return decoder.counts


def pair_front(window: Window) -> tuple[bytes, int, bool]:
    """What comes before the value of a pair: the key with its length, without moving the window.

    :returns: that, where the pair ends in the stream, and whether it is the last one of its state.
    """
    key_size = 4 + _length_at(window, 0)
    value_size = _length_at(window, key_size)
    key = bytes(window.block.view[window.pos : window.pos + key_size])
    return key, window.offset() + key_size + 4 + value_size, key_size > 4 and key[4] & 0x80 != 0


def _length_at(window: Window, length_offset: int) -> int:
    """The length that is so many bytes after the window's position."""
    if not window.need(length_offset + 4):
        raise TruncatedError("the data ends inside a pair of key and value", offset=window.offset())
    at = window.pos + length_offset
    length = int.from_bytes(window.block.view[at : at + 4], "big", signed=True)
    if length < 0:
        raise FormatError(f"an invalid length {length}", offset=window.offset(at))
    return length
