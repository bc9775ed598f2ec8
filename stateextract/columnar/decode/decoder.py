"""Decoders: entries from a window of bytes into Arrow batches, by a layout.

Two engines with one face. :class:`KernelDecoder` runs a compiled program; :class:`InterpreterDecoder` takes the slow way
for layouts with ``Python`` leaves and where nothing can be compiled. A decoder gathers entries over many windows and key
groups until its batch is full; ``flush`` then gives the batch as an Arrow array of the layout's ``arrow_type``.

A decoder takes a window and says how far it came and why it stopped; the caller that owns the window refills it. Knows no files
and no Flink. Imports Numba only when a kernel decoder is made.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from stateextract.columnar.convert.logical import apply_logical
from stateextract.columnar.convert.policy import (
    LARGE_VALUE_ADVICE,
    ROOM,
    ChangeCounts,
    Policy,
    apply_policy,
    skipped_layout,
)
from stateextract.columnar.decode.assembly import Arena
from stateextract.columnar.decode.by_python import Decoded, LookAhead
from stateextract.columnar.interpreter import decoder_of, interpret
from stateextract.columnar.layout import Layout, Python, walk
from stateextract.columnar.program import compile_layout, compile_skip
from stateextract.columnar.program.operations import ColumnNode, Kind, Program
from stateextract.columnar.value_reader import Empty, Leaf, ValueReader
from stateextract.derived import derived
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError, ValueRefusedError
from stateextract.files.block import Block

BATCH_ROWS = 1 << 16
"""Most entries of a batch."""
BATCH_BYTES = 32 << 20
"""Room that a batch's arena aims to stay below; a single larger entry gets what it needs."""

_FIRST_ROWS = 1 << 10
_MAX_DATA = (1 << 31) - 64  # Arrow's int32 offsets
_ENDLESS = 1 << 62


class Stop(Enum):
    """Why a decoder stopped."""

    DONE = "done"  #         all entries that were asked for
    NEED_INPUT = "input"  #  the window ends inside an entry
    FULL = "full"  #         the batch is full: flush it and go on
    LAST = "last"  #         the pair decoded last is the last one of its state (pair decoders only)
    UNDECODABLE = "undecodable"  # the pair at ``pos`` cannot be decoded, and its end is known (pair decoders only)


@dataclass(frozen=True)
class Progress:
    """Where a decoder stopped.

    :param stop: why.
    :param entries: whole entries decoded by this call.
    :param pos: position after the last whole entry.
    :param needed: for ``NEED_INPUT``: the window must reach at least to this position.
    :param rows: rows that the entries began: as many, but for pairs of maps, many of which make a row.
    :param error: for ``UNDECODABLE``: what is wrong.
    """

    stop: Stop
    entries: int
    pos: int
    needed: int = 0
    rows: int = 0
    error: UndecodableError | None = None


class Decoder(Protocol):
    """Decodes the entries of one state."""

    engine: str
    """``kernel`` or ``interpreter``."""
    counts: ChangeCounts
    """Values that were changed to fit their column so far."""

    @property
    def rows(self) -> int:
        """Entries in the unfinished batch."""

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        """Decode up to ``limit`` entries of ``data.array[pos:end]``.

        :raises StateExtractError: with the position in ``data`` as offset; the entries before it stay in the batch.
        """

    def flush(self) -> pa.Array:
        """The batch, of the layout's ``arrow_type``; the next one starts empty."""


def needs_interpreter(layout: Layout) -> bool:
    """Whether a layout has parts that only the slow way can run."""
    return any(node.plan is None for node in _python_parts(layout))


def is_guessed(layout: Layout) -> bool:
    """Whether the user describes classes of it, so that a description may be wrong."""
    return bool(_python_parts(layout))


def _python_parts(layout: Layout) -> list[Python]:
    return derived(layout, "python", None, lambda: [node for node in walk(layout) if isinstance(node, Python)])


def misread(what: str, error: FormatError) -> UndecodableError:
    """What an error in bytes of a known length is, where a class that the user describes says how they are read."""
    return UndecodableError(
        f"the {what} cannot be decoded: {error.message}",
        expected=error.expected,
        advice=error.advice,
        offset=error.offset,
    )


def make_decoder(
    layout: Layout,
    policy: Policy,
    engine: str = "auto",
    batch_rows: int = BATCH_ROWS,
    batch_bytes: int = BATCH_BYTES,
    keep: bool = True,
) -> Decoder:
    """A decoder for the entries of a layout.

    :param keep: ``False``: only skip the entries.
    :param engine: ``interpreter`` forces that one; otherwise the kernel is taken wherever it can run the layout.
    """
    if not keep:
        # What is only skipped is never refused: a null map key, say, that no Arrow map could hold.
        policy = Policy(maps="list", out_of_range="null", max_value_bytes=policy.max_value_bytes)
    layout = apply_policy(layout, policy) if keep else skipped_layout(layout)
    if engine == "interpreter" or needs_interpreter(layout):
        return InterpreterDecoder(layout, policy, batch_rows, batch_bytes, keep)
    return KernelDecoder(layout, policy, batch_rows, batch_bytes, keep)


@lru_cache(maxsize=64)
def _program(layout: Layout, keep: bool, plans: tuple[int, ...]) -> Program:
    """:param plans: see :func:`plans_of`."""
    return compile_layout(layout) if keep else compile_skip(layout)


def plans_of(layout: Layout) -> tuple[int, ...]:
    """Which plans a layout has, for a cache of programs: those of Kryo are long, and layouts are equal without their plans.

    A caller that keeps the layout keeps the plans, so that no other ones get the same numbers.
    """
    return tuple(id(node.plan) for node in _python_parts(layout))


class KernelDecoder:
    """Decodes with the compiled kernel."""

    engine = "kernel"

    def __init__(
        self,
        layout: Layout,
        policy: Policy,
        batch_rows: int = BATCH_ROWS,
        batch_bytes: int = BATCH_BYTES,
        keep: bool = True,
        program: Program | None = None,
    ) -> None:
        from stateextract.columnar import kernel

        self.kernel = kernel
        self.layout = layout
        self.kept = layout  # what batches are of
        self.policy = policy
        if program is None:
            program = _program(layout, keep, plans_of(layout))
        self.program = program
        self.run = kernel.run_kryo if program.kryo else kernel.run
        self.skips = 0 if keep else program.skips
        self.counts = ChangeCounts()
        self.batch_rows = batch_rows
        self.batch_bytes = batch_bytes
        self.code = self.program.code.astype(np.int64)
        self.frames = np.zeros((self.program.depth, kernel.F_SIZE), np.int64)
        self.masks = np.zeros(self.program.masks, np.int64)
        self.out = np.zeros(kernel.OUT_SIZE, np.int64)
        arrays = (self.code, self.program.constants, self.frames, self.masks, self.out)
        self.addresses = tuple(int(array.ctypes.data) for array in arrays)
        self.arena: Arena | None = None
        # What the next arena holds: slots of level 0, elements per slot of the level above, data bytes per slot.
        self.slots = min(_FIRST_ROWS, batch_rows)
        self.parents = _parents(self.program)
        self.per_slot = [1.0] + [4.0] * (self.program.levels - 1)
        self.data_per_slot = [16.0 if node.kind is Kind.VAR else 0.0 for node in self.program.columns]
        self.least_slots = [1] * self.program.levels
        self.least_data = [16 if node.kind is Kind.VAR else 0 for node in self.program.columns]
        self.look_ahead = LookAhead() if is_guessed(layout) else None
        self.most_room = max(ROOM * policy.max_value_bytes, 2 * batch_bytes)

    @property
    def rows(self) -> int:
        return 0 if self.arena is None else self.arena.rows

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        kernel = self.kernel
        total = 0
        if self.skips:
            total = max(min(limit, (end - pos) // self.skips), 0)
            pos += total * self.skips
            if total == limit:
                return Progress(Stop.DONE, total, pos, rows=total)
            return Progress(Stop.NEED_INPUT, total, pos, pos + self.skips, total)
        decoded: Decoded | None = None
        while True:
            if self.arena is None:
                self.arena = self._new_arena(limit - total)
            arena = self.arena
            out = self.out
            status, decoded = self._run_with(decoded, arena, data, pos, end, limit - total)
            total += int(out[kernel.ROWS])
            pos = int(out[kernel.CONSUMED])
            if status == kernel.DONE:
                if total < limit:
                    continue
                return Progress(Stop.DONE, total, pos, rows=total)
            if status == kernel.NEED_INPUT:
                return Progress(Stop.NEED_INPUT, total, pos, int(out[kernel.NEEDED]), total)
            if status != kernel.FULL:
                if self.look_ahead is None or decoded is not None:
                    raise self._in_words(self._error(status), data, pos, end)
                decoded = self._by_python(self.look_ahead, data, pos, end)
                if decoded is None:
                    return Progress(Stop.NEED_INPUT, total, pos, end + 1, total)
                continue
            if arena.rows:
                self._learn_from_full(int(out[kernel.ARGUMENT]))
                return Progress(Stop.FULL, total, pos, rows=total)
            self._make_room(int(out[kernel.ARGUMENT]), int(out[kernel.NEEDED]), pos)
            self.arena = None

    def position_after(self, data: Block, pos: int, end: int, entries: int) -> int:
        """The position after so many entries, of a decoder that skips them; -1 where they cannot be read."""
        self.arena = self.arena or self._new_arena(entries)
        status = self._run(self.arena, data, pos, end, entries)
        return int(self.out[self.kernel.CONSUMED]) if status == self.kernel.DONE else -1

    def _by_python(self, look_ahead: LookAhead, data: Block, pos: int, end: int) -> Decoded | None:
        """The entries at ``pos``, decoded by Python; ``None`` where the window ends inside of the first one."""

        def one(leaves: list[Leaf]) -> bool:
            nonlocal pos
            try:
                _, pos = interpret(self.layout, data.view, pos, end, ChangeCounts(), Empty(self.most_room, leaves))
            except TruncatedError:
                return False
            return True

        return look_ahead.decode(one)

    def _run_with(
        self, decoded: Decoded | None, arena: Arena, data: Block, pos: int, end: int, limit: int
    ) -> tuple[int, Decoded | None]:
        """The status, and what is left of the entries that Python has decoded, which are run first and alone."""
        if decoded is None:
            status = self._run(arena, data, pos, end, limit)
            if self.look_ahead is not None:
                self.look_ahead.passed += int(self.out[self.kernel.PAIRS])
            return status, None
        self.out[self.kernel.DECODED] = decoded.address
        status = self._run(arena, data, pos, end, min(decoded.left, limit))
        self.out[self.kernel.DECODED] = 0
        decoded.done += int(self.out[self.kernel.PAIRS])
        return status, decoded if decoded.left else None

    def _run(self, arena: Arena, data: Block, pos: int, end: int, limit: int) -> int:
        code, constants, *room = self.addresses
        status: int = self.run(
            code, constants, data.address, pos, end, limit,
            len(arena.cols), arena.cols_address, arena.levels_address, *room,
        )  # fmt: skip
        return status

    def flush(self) -> pa.Array:
        array = self.flush_wire()
        return array if self.kept.wire_type is None else apply_logical(array, self.kept, self.policy, self.counts)

    def flush_wire(self) -> pa.Array:
        """The batch, of the layout's ``wire_type``: before the logical conversions."""
        arena = self.arena
        if arena is None:
            return pa.array([], self.kept.wire_type or pa.bool_())
        self._learn(arena)
        self.arena = None
        self.counts.lone_surrogates += int(self.out[self.kernel.SURROGATES])
        self.counts.malformed_utf8 += int(self.out[self.kernel.MALFORMED])
        self.out[[self.kernel.SURROGATES, self.kernel.MALFORMED]] = 0
        self.policy.check(self.counts)
        return arena.array()

    # -- room

    def _new_arena(self, expected: int) -> Arena:
        program = self.program
        slots = [1] * program.levels
        if not program.columns:
            return Arena(program, [_ENDLESS], [])
        # No more rows than fit in the budget, by what the entries so far took.
        rows = max(1, min(self.slots, self.batch_rows, int(self.batch_bytes / max(self._row_bytes(), 1.0))))
        slots[0] = rows
        for level in range(1, program.levels):
            parent = slots[self.parents[level]]
            slots[level] = max(int(parent * self.per_slot[level]) + 16, self.least_slots[level])
        data = []
        for index, node in enumerate(program.columns):
            wanted = int(slots[node.level] * self.data_per_slot[index]) + 64 if node.kind is Kind.VAR else 0
            data.append(min(max(wanted, self.least_data[index]), _MAX_DATA))
        most = self.most_room
        if self._room(slots, data) > most:
            # The size of the entries so far is not a measure any more: room for one, as far as its needs are known.
            slots, data = [1, *self.least_slots[1:]], self.least_data
            room = self._room(slots, data)
            if room > most:
                # Few bytes may represent many columns: a byte for a null is enough.
                raise ValueRefusedError(
                    f"one row needs {room} bytes in memory", expected=f"at most {most}", advice=LARGE_VALUE_ADVICE
                )
        return Arena(program, slots, data)

    def _room(self, slots: list[int], data: list[int]) -> int:
        """Bytes of an arena."""
        return sum(
            slots[node.level] * (_fixed_width(node) + node.nullable) + size
            for node, size in zip(self.program.columns, data, strict=True)
        )

    def _row_bytes(self) -> float:
        """Bytes of arena that an entry takes, estimated."""
        slots = [1.0] * self.program.levels
        for level in range(1, self.program.levels):
            slots[level] = slots[self.parents[level]] * self.per_slot[level]
        total = 0.0
        for index, node in enumerate(self.program.columns):
            total += slots[node.level] * (_fixed_width(node) + node.nullable + self.data_per_slot[index])
        return total

    def _learn(self, arena: Arena) -> None:
        """Take the batch that is complete as the measure of the next one, with a quarter to spare."""
        counts = [int(n) for n in arena.levels[:, 0]]
        if 2 * counts[0] >= arena.slots[0]:
            self.slots = min(self.slots * 16, self.batch_rows)
        for level in range(1, self.program.levels):
            parent = counts[self.parents[level]]
            if parent:
                self.per_slot[level] = max(counts[level] / parent * 1.25, self.per_slot[level] * 0.5)
        for index, node in enumerate(self.program.columns):
            if node.kind is Kind.VAR and counts[node.level]:
                used = int(arena.cols[index, self.kernel.C_VAR_N]) / counts[node.level]
                self.data_per_slot[index] = max(used * 1.25, self.data_per_slot[index] * 0.5)
        self.least_slots = [1] * self.program.levels
        self.least_data = [16 if node.kind is Kind.VAR else 0 for node in self.program.columns]

    def _learn_from_full(self, argument: int) -> None:
        """A column below the rows ran full before the rows did: the next arena gives it more."""
        if argument >= 0:
            self.data_per_slot[argument] *= 1.5
        elif argument < -1:
            self.per_slot[-1 - argument] *= 1.5

    def _make_room(self, argument: int, needed: int, pos: int) -> None:
        """The first entry of a batch does not fit: grow what was full."""
        if argument >= 0:
            self.least_data[argument] = self._grown(int(self._capacity(argument)), pos)
        else:
            level = -1 - argument
            assert self.arena is not None
            self.least_slots[level] = max(
                self._grown(self.arena.slots[level], pos), needed if needed < _MAX_DATA else 0
            )
        self.slots = 1 if self.slots == 1 else max(1, self.slots // 4)
        if self.arena is not None:
            # What was found to be needed for the other columns must not be forgotten.
            for level in range(1, self.program.levels):
                self.least_slots[level] = max(self.least_slots[level], min(self.arena.slots[level], needed or 1))

    def _capacity(self, column: int) -> int:
        assert self.arena is not None
        return int(self.arena.cols[column, self.kernel.C_VAR_CAP])

    def _grown(self, capacity: int, pos: int) -> int:
        if capacity >= _MAX_DATA:
            raise ValueRefusedError(
                "one entry has more than 2 GiB of one kind of value, which an Arrow column cannot hold",
                advice="write lists and maps one row per element with the option flatten",
                offset=pos,
            )
        return min(max(2 * capacity, 1 << 10), _MAX_DATA)

    def _in_words(self, error: StateExtractError, data: Block, pos: int, end: int) -> StateExtractError:
        """The interpreter's error for the same entry, which names what the kernel only has a code for."""
        try:
            interpret(self.layout, data.view, pos, end, ChangeCounts())
        except StateExtractError as other:
            return other if type(other) is type(error) else error
        return error

    def _error(self, status: int) -> StateExtractError:
        kernel = self.kernel
        at = int(self.out[kernel.POSITION])
        if status == kernel.UNDECODABLE:
            part = self.program.undecodable[int(self.out[kernel.ARGUMENT])]
            return UndecodableError(f"a value of {part.class_name} cannot be decoded: {part.reason}", offset=at)
        messages = {
            kernel.BAD_COUNT: "an invalid length or count",
            kernel.BAD_TEXT: "a string that Java does not write",
            kernel.BAD_CONSTANT: "bytes that are always the same are others here",
            kernel.BAD_TAG: "a tag that no alternative has",
            kernel.BAD_SECTION: "a row, array or map with a part that lies beyond its end",
            kernel.SLOW: "a value of Kryo that is not as its class lets expect",
            kernel.BAD_POJO: "POJO flags without meaning",
            kernel.BAD_SUBCLASS: "a POJO subclass that the serializer snapshot does not describe",
        }
        kind = UndecodableError if status == kernel.BAD_SUBCLASS else FormatError
        return kind(messages[status], expected="1, 2, 4 or 8" if status == kernel.BAD_POJO else None, offset=at)


def _fixed_width(node: ColumnNode) -> int:
    """Bytes of a column's slot, without its validity and its text."""
    return node.width if node.kind is Kind.FIXED else 0 if node.kind is Kind.VALID else 4


def _parents(program: Program) -> list[int]:
    """The level of each level's lists."""
    parents = [0] * program.levels
    for node in program.columns:
        if node.kind is Kind.LIST:
            parents[node.child_level] = node.level
    return parents


class InterpreterDecoder:
    """Decodes value by value in Python."""

    engine = "interpreter"

    def __init__(
        self,
        layout: Layout,
        policy: Policy,
        batch_rows: int = BATCH_ROWS,
        batch_bytes: int = BATCH_BYTES,
        keep: bool = True,
    ) -> None:
        self.keep = keep
        self.layout = layout
        self.policy = policy
        self.counts = ChangeCounts()
        self.batch_rows = min(batch_rows, 1 << 14)
        self.batch_bytes = batch_bytes // 8  # Python values take far more room than their bytes
        self.batch_room = batch_bytes
        self.most_room = max(ROOM * policy.max_value_bytes, 2 * batch_bytes)
        self.least_room = layout.room
        self.values: list[Any] = []
        self.bytes = self.room = 0

    @property
    def rows(self) -> int:
        return len(self.values)

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        values, keep, least = self.values, self.keep, self.least_room
        counts, empty = ChangeCounts(), Empty(self.most_room)
        read = decoder_of(self.layout)
        rows = min(limit, max(self.batch_rows - len(values), 0)) if keep else limit
        reader = ValueReader(data.view, pos, end, empty=empty)
        # Where the batch is full; what takes no bytes takes room all the same.
        full, room, most_room = pos + self.batch_bytes - self.bytes, self.room, self.batch_room
        try:
            for entries in range(rows):
                if pos >= full or room >= most_room:
                    return Progress(Stop.FULL, entries, pos, rows=entries)
                value = read(reader, counts)
                if keep:
                    values.append(value)
                    full -= empty.values
                    room += empty.room + least
                else:
                    full += reader.pos - pos
                empty.values = empty.room = 0
                pos = reader.pos
            return Progress(Stop.DONE if rows == limit else Stop.FULL, rows, pos, rows=rows)
        except StateExtractError as error:
            if counts:
                counts -= self._counted(data, pos, end)
            if not isinstance(error, TruncatedError):
                raise
            return Progress(Stop.NEED_INPUT, entries, pos, end + 1, entries)
        finally:
            self.bytes, self.room = self.batch_bytes - (full - pos), room
            if keep:
                self.counts += counts

    def _counted(self, data: Block, pos: int, end: int) -> ChangeCounts:
        """What an entry that is cut off or wrong counts before that is noticed."""
        counts = ChangeCounts()
        with suppress(StateExtractError):
            interpret(self.layout, data.view, pos, end, counts, Empty(self.most_room))
        return counts

    @property
    def is_full(self) -> bool:
        """Whether the batch is to be taken before the next entry."""
        return len(self.values) >= self.batch_rows or self.bytes >= self.batch_bytes or self.room >= self.batch_room

    def decode_whole(self, data: Block, pos: int, end: int) -> None:
        """Decode one entry whose length is known.

        :raises UndecodableError: where the entry is not what exactly these bytes hold: its class is described wrongly.
        """
        counts, empty = ChangeCounts(), Empty(self.most_room)
        try:
            value, after = interpret(self.layout, data.view, pos, end, counts, empty)
            if after != end:
                raise FormatError("it does not end at its recorded length", offset=after)
        except FormatError as error:
            raise misread("entry", error) from None
        if self.keep:
            self.values.append(value)
            self.counts += counts
            self.bytes += end - pos
            self.room += empty.room + self.least_room

    def flush(self) -> pa.Array:
        array = self.flush_wire()
        return array if self.layout.wire_type is None else apply_logical(array, self.layout, self.policy, self.counts)

    def flush_wire(self) -> pa.Array:
        values, self.values, self.bytes, self.room = self.values, [], 0, 0
        self.policy.check(self.counts)
        type_ = self.layout.wire_type
        return pa.nulls(len(values), pa.bool_()) if type_ is None else pa.array(values, type_)
