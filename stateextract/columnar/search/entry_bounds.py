"""Where consecutive entries, or pairs, begin and end, without decoding them.

For callers that look at the bytes of entries before they are decoded, or that leave some of them out. Bounds are positions
in the window::

    entries    value_start · end                     from the end of the entry before on; of a queue both are the end
    pairs      key_start · row_end · key_end · end   the key without its length; ``row_end``: of a map, where what tells
                                                     rows apart ends, else as ``key_end``

The kernel runs a program that notes positions and keeps nothing else; the interpreter does the same slowly. May import
layouts, programs and decoders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.decode.decoder import KernelDecoder, Stop, is_guessed, misread
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Field, Layout, Number, Struct
from stateextract.columnar.program.operations import Op, Program
from stateextract.columnar.program.pair_programs import PairCompiler, PairLayout
from stateextract.columnar.value_reader import Empty
from stateextract.errors import FormatError, StateExtractError, TruncatedError
from stateextract.files.block import Block
from stateextract.files.reader import Reader

MOST = 1 << 13
"""Most entries of one call."""

_PLACE = Number(pa.int64())
ENTRY = ("value_start", "end")
PAIR = ("key_start", "row_end", "key_end", "end")


@dataclass(frozen=True)
class EntryBounds:
    """:param bounds: a row for each whole entry that was found.
    :param stop: ``DONE``; ``NEED_INPUT`` where the window ends inside an entry; ``LAST`` where the last pair says that it is.
    :param needed: for ``NEED_INPUT``: the window must reach at least to this position.
    """

    bounds: npt.NDArray[np.int64]
    stop: Stop
    needed: int = 0


class EntryScanner(Protocol):
    """Finds the bounds of entries of one state."""

    def scan(self, data: Block, pos: int, end: int, most: int) -> EntryBounds:
        """The bounds of up to ``most`` entries of ``data.array[pos:end]``.

        :raises StateExtractError: with the position as offset, where the first one cannot be skipped.
        """


def entry_scanner(key: Sequence[Layout], value: Layout | None, engine: str = "auto") -> EntryScanner:
    """A scanner of entries.

    :param key: what identifies entries, in wire order; :param value: what follows, if anything does.
    """
    layouts = [*key, *([] if value is None else [value])]
    if engine == "interpreter" or any(map(is_guessed, layouts)):
        return _InterpretedEntries(key, value)
    return _Kernel(
        _Compiler().entries(key, value), Struct(tuple(Field(str(i), p) for i, p in enumerate(layouts))), ENTRY
    )


def pair_scanner(layout: PairLayout, engine: str = "auto") -> EntryScanner:
    """A scanner of pairs."""
    if engine == "interpreter" or (layout.shape == "map" and is_guessed(layout.entry)):
        return _InterpretedPairs(layout)
    return _Kernel(_Compiler().pair_bounds(layout), Struct(()), PAIR)


class _Compiler(PairCompiler):
    def _columns(self, names: Sequence[str]) -> list[int]:
        self.root = self.allocate(Struct(tuple(Field(name, _PLACE) for name in names)), 0, nullable=False)
        assert self.root is not None
        return [self.root.children[name].index for name in names]

    def entries(self, key: Sequence[Layout], value: Layout | None) -> Program:
        value_start, end = self._columns(ENTRY)
        for layout in key:
            self.emit(layout, None)
        self.op(Op.PLACE, value_start)
        if value is not None:
            self.emit(value, None)
        self.op(Op.PLACE, end)
        self.op(Op.END)
        return self.finish(self.root, sum(layout.least for layout in key) + (0 if value is None else value.least))

    def pair_bounds(self, layout: PairLayout) -> Program:
        key_start, row_end, key_end, end = self._columns(PAIR)
        self.op(Op.PAIR, layout.prefix)
        self.op(Op.PLACE, key_start)
        if layout.shape == "map":
            self.row_key(layout, {})
            self.op(Op.PLACE, row_end)
        self.op(Op.REST)
        if layout.shape != "map":
            self.op(Op.PLACE, row_end)
        self.op(Op.PLACE, key_end)
        self.value_begins()
        self.op(Op.REST)
        self.op(Op.PLACE, end)
        self.op(Op.END_PAIR, -1)
        return self.finish(self.root, 8 + layout.prefix)


class _Kernel:
    def __init__(self, program: Program, layout: Struct, names: Sequence[str]) -> None:
        from stateextract.columnar import kernel

        self.kernel = kernel
        self.prefix = int(program.code[1]) if program.code[0] == Op.PAIR else 0
        places = Struct(tuple(Field(name, _PLACE) for name in names))
        self.inner = KernelDecoder(layout, Policy(), MOST, program=program)
        self.inner.kept = places
        self.inner.out[kernel.GROUP] = -1

    def scan(self, data: Block, pos: int, end: int, most: int) -> EntryBounds:
        kernel, inner = self.kernel, self.inner
        most = min(most, MOST)
        if inner.arena is None:
            inner.arena = inner._new_arena(most)
        status = inner._run(inner.arena, data, pos, end, most)
        rows = inner.arena.rows
        if not rows and status not in (kernel.DONE, kernel.NEED_INPUT):
            inner.arena = None
            raise self._error(status, data, pos, end)
        stop, needed = Stop.DONE, 0
        if status == kernel.LAST:
            stop = Stop.LAST
        elif status == kernel.NEED_INPUT and not rows:
            stop, needed = Stop.NEED_INPUT, int(inner.out[kernel.NEEDED])
        array = inner.flush_wire()
        bounds = np.stack([array.field(i).to_numpy() for i in range(array.type.num_fields)], axis=1)
        if self.prefix:
            bounds[:, 0] -= self.prefix
        return EntryBounds(bounds, stop, needed)

    def _error(self, status: int, data: Block, pos: int, end: int) -> StateExtractError:
        if status == self.kernel.BAD_PAIR:
            at = int(self.inner.out[self.kernel.POSITION])
            return FormatError("a key or value does not end at its recorded length", offset=at)
        error = self.inner._error(status)
        return error if self.prefix else self.inner._in_words(error, data, pos, end)


class _InterpretedEntries:
    def __init__(self, key: Sequence[Layout], value: Layout | None) -> None:
        self.key = key
        self.value = value

    def scan(self, data: Block, pos: int, end: int, most: int) -> EntryBounds:
        view = data.view
        found: list[tuple[int, int]] = []
        for _ in range(min(most, MOST)):
            empty = Empty()
            try:
                for layout in self.key:
                    pos = interpret(layout, view, pos, end, ChangeCounts(), empty)[1]
                value_start = pos
                if self.value is not None:
                    pos = interpret(self.value, view, pos, end, ChangeCounts(), empty)[1]
            except TruncatedError:
                break
            except StateExtractError:
                if found:
                    break
                raise
            found.append((value_start, pos))
        stop = Stop.DONE if found else Stop.NEED_INPUT
        return EntryBounds(np.array(found, np.int64).reshape(-1, 2), stop, 0 if found else end + 1)


class _InterpretedPairs:
    def __init__(self, layout: PairLayout) -> None:
        self.layout = layout
        keys = [f.layout for f in layout.fields if f.name in ("key", "namespace")]
        # A key of classes whose description may be wrong: the pair's length is right.
        self.guessed = any(map(is_guessed, keys))

    def scan(self, data: Block, pos: int, end: int, most: int) -> EntryBounds:
        found: list[tuple[int, int, int, int]] = []
        for _ in range(min(most, MOST)):
            reader = Reader(data.view, pos, end)
            try:
                bounds = self._bounds(reader)
            except TruncatedError:
                break
            except StateExtractError:
                if found:
                    break
                raise
            found.append(bounds)
            pos = reader.pos
            if data.view[bounds[0]] & 0x80:
                return EntryBounds(np.array(found, np.int64), Stop.LAST)
        stop = Stop.DONE if found else Stop.NEED_INPUT
        return EntryBounds(np.array(found, np.int64).reshape(-1, 4), stop, 0 if found else end + 1)

    def _bounds(self, reader: Reader) -> tuple[int, int, int, int]:
        at = reader.pos
        size = reader.i32("a key's length")
        if size < max(self.layout.prefix, 1):
            raise FormatError(f"an invalid key length {size}", offset=at)
        key_start = reader.pos
        reader.bytes(size, "a key")
        key_end = reader.pos
        reader.bytes(reader.i32("a value's length"), "a value")
        row_end = key_end
        if self.layout.shape == "map":
            try:
                row_end = self._row_end(Reader(reader.data, key_start, key_end))
            except FormatError as error:
                if self.guessed:
                    raise misread("pair", error) from None
                if isinstance(error, TruncatedError):
                    message = "a key or value does not end at its recorded length"
                    raise FormatError(message, offset=error.offset) from None
                raise
        return key_start, row_end, key_end, reader.pos

    def _row_end(self, key: Reader) -> int:
        key.bytes(self.layout.prefix)
        empty = Empty()
        for name in ("key", "namespace"):
            begin = key.pos
            key.pos = interpret(self.layout.part(name), key.data, key.pos, key.end, ChangeCounts(), empty)[1]
            size = key.pos - begin
            while self.layout.lengths:
                if key.u8("a length") != size & 0xFF:
                    raise FormatError("a key or value does not end at its recorded length", offset=key.pos - 1)
                size >>= 8
                if not size:
                    break
        return key.pos
