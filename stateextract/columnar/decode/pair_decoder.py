"""Decoders of pairs: the same face as the decoders of entries, and rows of the same layout.

A row of a map is made of many pairs, and a batch may fill up in the middle of one. The last row of a batch is then held
back until it is certain that no more pairs belong to it. May import layouts, programs, pyarrow; Numba only when used.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from stateextract.columnar.convert.policy import LARGE_VALUE_ADVICE, ROOM, ChangeCounts, Policy, apply_policy
from stateextract.columnar.decode.by_python import Decoded, LookAhead
from stateextract.columnar.decode.decoder import (
    BATCH_BYTES,
    BATCH_ROWS,
    InterpreterDecoder,
    KernelDecoder,
    Progress,
    Stop,
    is_guessed,
    misread,
    needs_interpreter,
    plans_of,
)
from stateextract.columnar.interpreter import NO_COLUMN, has_column, interpret
from stateextract.columnar.layout import Field, Layout, List, Map, Nullable, SkippedValue, Struct
from stateextract.columnar.program.operations import Program
from stateextract.columnar.program.pair_programs import KEY_GROUP, PairLayout, compile_pairs
from stateextract.columnar.value_reader import Empty, Leaf
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError, ValueRefusedError
from stateextract.files.block import Block
from stateextract.files.reader import Reader


class PairDecoder(Protocol):
    """Decodes the pairs of one state."""

    engine: str

    @property
    def counts(self) -> ChangeCounts:
        """Values that were changed to fit their column so far."""

    @property
    def rows(self) -> int:
        """Rows in the unfinished batch, one that is held back included."""

    def begin(self, key_group: int) -> None:
        """The pairs that follow are of this key group (-1: of any), and no row goes on from before."""

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        """As for entries; stops with ``LAST`` after a pair that says so in its key."""

    def flush(self, last: bool) -> pa.Array:
        """The batch. Unless ``last``, a row that may go on is held back."""


def make_pair_decoder(
    layout: PairLayout,
    policy: Policy,
    engine: str = "auto",
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    flat: bool = False,
) -> PairDecoder:
    """A decoder for the pairs of a state.

    :param flat: for maps: a row per entry, with ``map_key`` and ``value`` in the place of the map.
    """
    layout = _with_policy(layout, policy)
    flat = (flat or layout.raw) and layout.shape == "map"
    if engine == "interpreter" or needs_interpreter(layout.entry):
        return InterpreterPairDecoder(layout, policy, flat, batch_rows, batch_bytes)
    return KernelPairDecoder(layout, policy, flat, batch_rows, batch_bytes)


def _with_policy(layout: PairLayout, policy: Policy) -> PairLayout:
    fields = tuple(Field(f.name, apply_policy(f.layout, policy)) for f in layout.fields)
    return replace(layout, fields=fields)


@lru_cache(maxsize=64)
def _program(layout: PairLayout, flat: bool, plans: tuple[int, ...]) -> Program:
    return compile_pairs(layout, flat)


class KernelPairDecoder:
    """Decodes with the compiled kernel."""

    engine = "kernel"

    def __init__(self, layout: PairLayout, policy: Policy, flat: bool, batch_rows: int, batch_bytes: int) -> None:
        from stateextract.columnar import kernel

        self.kernel = kernel
        self.layout, self.policy, self.flat = layout, policy, flat
        entry = layout.flat_entry if flat else layout.entry
        program = _program(layout, flat, plans_of(layout.entry))
        self.inner = KernelDecoder(entry, policy, batch_rows, batch_bytes, program=program)
        self.merges = layout.shape == "map" and not flat
        self.held = _Held(max(ROOM * policy.max_value_bytes, 2 * batch_bytes))
        self.open = False
        self.key = np.zeros(0, np.uint8)
        self._key_room(1 << 10)
        self.begin(-1)

    @property
    def counts(self) -> ChangeCounts:
        return self.inner.counts

    @property
    def rows(self) -> int:
        return self.inner.rows + self.held.rows

    def _key_room(self, size: int) -> None:
        kernel, out = self.kernel, self.inner.out
        known = self.key[: max(int(out[kernel.KEY_SIZE]), 0)].copy()
        self.key = np.zeros(size + 2 * 16, np.uint8)
        self.key[: len(known)] = known
        out[kernel.KEY], out[kernel.KEY_CAP] = self.key.ctypes.data, size

    def begin(self, key_group: int) -> None:
        out = self.inner.out
        out[self.kernel.GROUP] = key_group
        out[self.kernel.KEY_SIZE] = -1
        self.open = False

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        kernel, inner = self.kernel, self.inner
        out = inner.out
        pairs = rows = 0
        decoded: Decoded | None = None
        while True:
            if inner.arena is None:
                inner.arena = inner._new_arena(limit - pairs)
                out[kernel.CONTINUED] = 0
            arena = inner.arena
            status, decoded = inner._run_with(decoded, arena, data, pos, end, limit - pairs)
            pairs += int(out[kernel.PAIRS])
            rows += int(out[kernel.ROWS])
            pos = int(out[kernel.CONSUMED])
            if out[kernel.PAIRS]:
                self.open = self.merges
            if status == kernel.DONE:
                if pairs < limit:
                    continue
                return Progress(Stop.DONE, pairs, pos, rows=rows)
            if status == kernel.LAST:
                self.open = False
                return Progress(Stop.LAST, pairs, pos, rows=rows)
            if status == kernel.NEED_INPUT:
                return Progress(Stop.NEED_INPUT, pairs, pos, int(out[kernel.NEEDED]), rows)
            if status == kernel.KEY_FULL:
                self._key_room(2 * int(out[kernel.NEEDED]))
            elif status == kernel.FULL:
                if arena.rows:
                    # Where there is no room for a row, the current pair begins one, and the last one is complete.
                    self.open = self.open and int(out[kernel.ARGUMENT]) != -1
                    inner._learn_from_full(int(out[kernel.ARGUMENT]))
                    return Progress(Stop.FULL, pairs, pos, rows=rows)
                inner._make_room(int(out[kernel.ARGUMENT]), int(out[kernel.NEEDED]), pos)
                inner.arena = None
            elif inner.look_ahead is not None and decoded is None:
                found = self._by_python(inner.look_ahead, data, pos, end)
                if isinstance(found, Progress):
                    return replace(found, entries=pairs, rows=rows)
                decoded = found
            else:
                error = self._in_words(self._error(status), data, pos, end)
                if isinstance(error, UndecodableError):
                    return Progress(Stop.UNDECODABLE, pairs, pos, rows=rows, error=error)
                raise error

    def _by_python(self, look_ahead: LookAhead, data: Block, pos: int, end: int) -> Decoded | Progress:
        """The pairs at ``pos``, decoded by Python, or why it has not decoded any."""
        slow = InterpreterPairDecoder(self.layout, self.policy, self.flat, BATCH_ROWS, BATCH_BYTES)
        slow.begin(int(self.inner.out[self.kernel.GROUP]))
        progress = Progress(Stop.DONE, 0, pos)

        def one(leaves: list[Leaf]) -> bool:
            nonlocal progress
            if progress.stop is not Stop.DONE:
                return False
            slow.leaves = leaves
            progress = slow.decode(data, progress.pos, end, 1)
            return progress.entries > 0

        decoded = look_ahead.decode(one)
        return progress if decoded is None else decoded

    def _in_words(self, error: StateExtractError, data: Block, pos: int, end: int) -> StateExtractError:
        """The interpreter's error for the same pair, as for entries."""
        slow = InterpreterPairDecoder(self.layout, self.policy, self.flat, 1, BATCH_BYTES)
        slow.begin(int(self.inner.out[self.kernel.GROUP]))
        try:
            other: StateExtractError | None = slow.decode(data, pos, end, 1).error
        except StateExtractError as raised:
            other = raised
        return other if other is not None and type(other) is type(error) else error

    def _error(self, status: int) -> StateExtractError:
        kernel, out = self.kernel, self.inner.out
        at = int(out[kernel.POSITION])
        if status == kernel.BAD_PAIR:
            return FormatError("a key or value does not end at its recorded length", offset=at)
        if status == kernel.BAD_GROUP:
            found = int(out[kernel.ARGUMENT])
            return FormatError(f"a key of key group {found}", expected=f"{int(out[kernel.GROUP])}", offset=at)
        return self.inner._error(status)

    def flush(self, last: bool) -> pa.Array:
        continued = bool(self.inner.out[self.kernel.CONTINUED]) and self.inner.rows > 0
        self.inner.out[self.kernel.CONTINUED] = 0
        return self.held.release(self.inner.flush(), continued, hold=self.open and not last)


class _Held:
    """The last row of a batch, whose map may go on in the next one.

    :param most: bytes that its entries may take in memory.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.row: pa.Array | None = None
        self.entries: list[pa.Array] = []

    @property
    def rows(self) -> int:
        return 0 if self.row is None else 1

    def release(self, array: pa.Array, continued: bool, hold: bool) -> pa.Array:
        """What is certain of a batch, and of what was held back before."""
        ready = []
        if self.row is not None:
            if continued:
                self.entries.append(_map_entries(array.slice(0, 1)))
                room = sum(entries.nbytes for entries in self.entries)
                if room > self.most:
                    raise ValueRefusedError(
                        f"one map needs {room} bytes in memory", expected=f"at most {self.most}", advice=LARGE_VALUE_ADVICE
                    )
                array = array.slice(1)
            if len(array) or not hold:
                ready.append(self._joined())
                self.row = None
        if hold and len(array):
            self.row = array.slice(len(array) - 1)
            self.entries = [_map_entries(self.row)]
            array = array.slice(0, len(array) - 1)
        ready.append(array)
        return ready[0] if len(ready) == 1 else pa.concat_arrays(ready)

    def _joined(self) -> pa.Array:
        row = self.row
        assert row is not None
        if len(self.entries) == 1:
            return row
        entries = pa.concat_arrays(self.entries)
        if len(entries) >= (1 << 31) - 1:
            raise ValueRefusedError(
                "one map has more than 2^31 entries", advice="write maps one row per entry with the option flatten"
            )
        index = row.type.get_field_index("value")
        offsets = pa.py_buffer(np.array([0, len(entries)], np.int32))
        value = pa.Array.from_buffers(row.type.field(index).type, 1, [None, offsets], children=[entries])
        children = [value if i == index else row.field(i) for i in range(row.type.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(row.type))


def _map_entries(row: pa.Array) -> pa.Array:
    """The entries of the map in the one row of an array, as structs."""
    value = row.field(row.type.get_field_index("value"))
    start, stop = value.offsets[0].as_py(), value.offsets[1].as_py()
    if pa.types.is_map(value.type):
        entry = pa.StructArray.from_arrays(
            [value.keys, value.items], fields=[value.type.key_field, value.type.item_field]
        )
        return entry.slice(start, stop - start)
    return value.values.slice(start, stop - start)


class InterpreterPairDecoder(InterpreterDecoder):
    """Decodes pair by pair in Python."""

    def __init__(self, layout: PairLayout, policy: Policy, flat: bool, batch_rows: int, batch_bytes: int) -> None:
        entry: Struct = layout.flat_entry if flat else layout.entry
        super().__init__(entry, policy, batch_rows, batch_bytes)
        self.pairs = layout
        self.merges = layout.shape == "map" and not flat
        self.key_group = -1
        self.last_key: bytes | None = None
        parts = {f.name: f.layout for f in layout.fields}
        value, keys = parts.pop("value", None), list(parts.values())
        if layout.shape == "map" and isinstance(value, Map):
            keys.append(value.key)
            value = value.value
        self.width = entry.room + (keys[-1].room + value.room if self.merges and value is not None else 0)
        self.guessed = any(map(is_guessed, keys)), value is not None and is_guessed(value)
        self.leaves: list[Leaf] | None = None
        self.empty = Empty(self.most_room)

    def begin(self, key_group: int) -> None:
        self.key_group = key_group
        self.last_key = None

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        view, pairs, before = data.view, 0, len(self.values)

        def progress(stop: Stop, needed: int = 0, error: UndecodableError | None = None) -> Progress:
            return Progress(stop, pairs, pos, needed, len(self.values) - before, error)

        while pairs < limit:
            full = self.is_full
            large = self.bytes > max(self.policy.max_value_bytes, self.batch_bytes) or self.room > self.most_room
            if len(self.values) == 1 and large:
                raise ValueRefusedError(
                    f"a map of at least {self.bytes} bytes", expected=f"at most {self.policy.max_value_bytes}",
                    advice=LARGE_VALUE_ADVICE, offset=pos,
                )  # fmt: skip
            if full and not (self.merges and self.last_key is not None and len(self.values) == 1):
                return progress(Stop.FULL)
            reader = Reader(view, pos, end)
            try:
                key_start, key_end, value_end = self._bounds(reader)
            except TruncatedError:
                return progress(Stop.NEED_INPUT, end + 1)
            group = self._group(view, key_start)
            counts = ChangeCounts()
            try:
                self._pair(view, group, key_start + self.pairs.prefix, key_end, value_end, counts)
            except UndecodableError as error:
                return progress(Stop.UNDECODABLE, error=error)
            except FormatError as error:
                if self._is_guess(error, key_end):
                    return progress(Stop.UNDECODABLE, error=misread("pair", error))
                if isinstance(error, TruncatedError):
                    message = "a key or value does not end at its recorded length"
                    raise FormatError(message, offset=error.offset) from None
                raise
            self.counts += counts
            self.bytes += value_end - pos + self.empty.values
            self.room += self.empty.room + self.width
            pairs += 1
            pos = value_end
            if view[key_start] & 0x80:
                return progress(Stop.LAST)
        return progress(Stop.DONE)

    def _bounds(self, reader: Reader) -> tuple[int, int, int]:
        start = reader.pos
        size = reader.i32("a key's length")
        if size < self.pairs.prefix:
            raise FormatError(f"an invalid key length {size}", offset=start)
        key_start = reader.pos
        reader.bytes(size, "a key")
        at = reader.pos
        value_size = reader.i32("a value's length")
        if value_size < 0:
            raise FormatError(f"an invalid value length {value_size}", offset=at)
        reader.bytes(value_size, "a value")
        return key_start, key_start + size, key_start + size + 4 + value_size

    def _is_guess(self, error: FormatError, key_end: int) -> bool:
        """Whether the bytes that cannot be read are of classes whose description may be wrong: the pair's length is right."""
        in_value = error.offset is not None and error.offset > key_end
        return self.guessed[in_value]

    def _group(self, view: memoryview, pos: int) -> int:
        group = view[pos] & 0x7F
        for i in range(1, self.pairs.prefix):
            group = group << 8 | view[pos + i]
        if self.key_group >= 0 and group != self.key_group:
            raise FormatError(f"a key of key group {group}", expected=str(self.key_group), offset=pos)
        return group

    def _pair(self, view: memoryview, group: int, pos: int, key_end: int, value_end: int, counts: ChangeCounts) -> None:
        layout = self.pairs
        self.empty = Empty(self.most_room, self.leaves)
        if layout.shape == "skip":
            return
        row: dict[str, Any] = {KEY_GROUP: group} if layout.groups else {}
        value_start = key_end + 4
        if layout.shape == "queue":
            for f in layout.fields:
                pos = self._part(row, f.name, f.layout, view, pos, key_end, counts)
            self._ends(pos, key_end)
            self.values.append(row or True)
            return
        start = pos
        key_counts = ChangeCounts()
        for name in ("key", "namespace"):
            begin = pos
            pos = self._part(row, name, layout.part(name), view, pos, key_end, key_counts)
            if layout.lengths:
                pos = self._length(view, pos, pos - begin, key_end)
        if layout.shape == "map":
            self._entry(row, view, start, pos, key_end, value_end, key_counts, counts)
            return
        counts += key_counts
        self._ends(pos, key_end)
        value = layout.part("value")
        if layout.raw:
            row["value"] = bytes(view[value_start:value_end])
        elif isinstance(value, SkippedValue):
            pass  # whatever is in it: its length is known
        elif layout.shape == "list":
            assert isinstance(value, List)
            row["value"] = self._elements(view, value.element, value_start, value_end, counts)
        else:
            self._ends(self._part(row, "value", value, view, value_start, value_end, counts), value_end)
            row.setdefault("value", True)
        self.values.append(row or True)

    def _part(
        self, row: dict[str, Any], name: str, node: Layout, view: memoryview, pos: int, end: int, counts: ChangeCounts
    ) -> int:
        value, after = interpret(node, view, pos, end, counts, self.empty)
        if value is not NO_COLUMN:
            row[name] = value
        return after

    def _entry(
        self,
        row: dict[str, Any],
        view: memoryview,
        start: int,
        pos: int,
        key_end: int,
        value_end: int,
        key_counts: ChangeCounts,
        counts: ChangeCounts,
    ) -> None:
        """One entry of a map: its user key is at ``pos``, what identifies rows begins at ``start``."""
        value = self.pairs.part("value")
        assert isinstance(value, Map)
        assert isinstance(value.value, Nullable)
        key = bytes(view[start:pos])
        value_start = key_end + 4
        user_key, pos = interpret(value.key, view, pos, key_end, counts, self.empty)
        user_key = True if user_key is NO_COLUMN else user_key
        self._ends(pos, key_end)
        user_value: Any = None
        if self.pairs.raw:
            user_value = bytes(view[value_start:value_end])
        elif value_start >= value_end:
            raise TruncatedError("a map entry without its flag", offset=value_start)
        elif view[value_start] == 0:
            user_value, after = interpret(
                value.value.inner, view, value_start + 1, value_end, counts, self.empty
            )  # fmt: skip
            user_value = True if user_value is NO_COLUMN else user_value
            self._ends(after, value_end)
        if not self.merges:
            counts += key_counts
            parts = (("map_key", value.key, user_key), ("value", value.value, user_value))
            row |= {name: found for name, node, found in parts if has_column(node)}
            self.values.append(row or True)
            return
        if user_key is None and not value.as_list:
            raise ValueRefusedError(
                "a map has a null key",
                advice="set --maps list to get lists of key and value, where the key may be null",
            )
        item = {"key": user_key, "value": user_value} if value.as_list else (user_key, user_value)
        if key == self.last_key and self.values:
            self.values[-1]["value"].append(item)
        else:
            counts += key_counts
            self.values.append({**row, "value": [item]})
        self.last_key = key

    def _elements(self, view: memoryview, element: Layout, pos: int, end: int, counts: ChangeCounts) -> list[Any]:
        elements: list[Any] = []
        while pos < end:
            if elements:
                pos += 1
                if pos == end:
                    raise FormatError("a list ends after a separator", offset=pos)
            self.empty.take(element.room, pos)
            value, pos = interpret(element, view, pos, end, counts, self.empty)
            elements.append(True if value is NO_COLUMN else value)
        return elements

    @staticmethod
    def _ends(pos: int, end: int) -> None:
        if pos != end:
            raise FormatError("a key or value does not end at its recorded length", offset=pos)

    @staticmethod
    def _length(view: memoryview, pos: int, size: int, end: int) -> int:
        while True:
            if pos >= end:
                raise TruncatedError("a key ends inside a length", offset=pos)
            if view[pos] != size & 0xFF:
                raise FormatError("a key or value does not end at its recorded length", offset=pos)
            pos += 1
            size >>= 8
            if not size:
                return pos

    def flush(self, last: bool = True) -> pa.Array:
        hold = self.values.pop() if self.merges and not last and self.last_key is not None and self.values else None
        array = super().flush()
        if hold is not None:
            self.values.append(hold)
        return array
