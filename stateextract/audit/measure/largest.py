"""The rows with the biggest keys or values: the largest few of a size, whatever the order in which they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.audit.document import Big
from stateextract.audit.measure.hashes import Hashes
from stateextract.audit.measure.layout import ROOM, SPANS, SUMMANDS
from stateextract.audit.measure.measured_arrays import Sizer
from stateextract.audit.measure.selected_rows import Few, compiled, rows_below
from stateextract.columnar.arrow.numpy_views import Numbers, address

_LONGEST = 256
_MOST = 32
_RARE, _SOME = 1 << 58, 1 << 61
"""Of very many rows few have a hash below the first, and not most of them one below the second."""
_GUESSED_OF = 4096
"""So many rows are looked at for a guess."""


Describe = Callable[[int, int], Big]
"""Makes the row of a number and size, of which only a few are asked for."""


class ColumnSizes:
    """How many bytes the values of a column take, computed when it is asked for.

    :param most: no value takes more bytes; ``None``: it is not known.
    """

    def __init__(self, array: pa.Array, sizer: Sizer, most: int | None) -> None:
        self._array, self._sizer, self.most = array, sizer, most
        self._each: Numbers | None = None

    def each(self) -> Numbers:
        """Of all values."""
        if self._each is None:
            self._each = self._sizer.each(self._array)
        return self._each

    def at(self, rows: Numbers) -> Numbers:
        """Of some values."""
        if self._each is not None:
            return self._each[rows]
        sizes: Numbers = self._sizer.before(self._array, rows + 1) - self._sizer.before(self._array, rows)
        return sizes

    def parts(self) -> tuple[int, list[npt.NDArray[Any]]]:
        """What all values take at least, and what is more in each: offsets (int32), or numbers (int64)."""
        flat = self._sizer.flat(self._array) if self._each is None else None
        return (0, [self.each()]) if flat is None else (flat[0], [*flat[1]])


class RowSizes:
    """How many bytes rows take.

    :param count: the number of rows; :param fixed: what each takes in columns of fixed width; :param columns: the others.
    """

    def __init__(self, count: int, fixed: int, columns: Sequence[ColumnSizes]) -> None:
        self.count, self._fixed, self._columns = count, fixed, columns
        self.width = None if columns else fixed
        """What every row takes; ``None``: not all take the same."""
        self._each: Numbers | None = None

    @property
    def most(self) -> int | None:
        """No row takes more bytes; ``None``: it is not known."""
        total = self._fixed
        for column in self._columns:
            if column.most is None:
                return None
            total += column.most
        return total

    def each(self) -> Numbers:
        """Of all rows."""
        if self._each is None:
            self._each = np.full(self.count, self._fixed, np.int64)
            for column in self._columns:
                self._each += column.each()
        return self._each

    def at(self, rows: Numbers) -> Numbers:
        """Of some rows."""
        total = np.full(len(rows), self._fixed, np.int64)
        for column in self._columns:
            total += column.at(rows)
        return total

    def rows_of(self, least: int) -> Numbers:
        """The rows that take so many bytes or more."""
        few = self.few_of(least)
        return np.flatnonzero(self.each() >= least) if few is None else few

    def few_of(self, least: int) -> Numbers | None:
        """As :meth:`rows_of`, where these are few; ``None``: they are many, or it is not known without all sizes."""
        kernel = compiled(8 * self.count)
        if kernel is not None:
            parts: list[npt.NDArray[Any]] = []
            rest = least - self._fixed
            for column in self._columns:
                fixed, more = column.parts()
                rest -= fixed
                parts += more
            kinds = [(SPANS if part.dtype == np.int32 else SUMMANDS, address(part)) for part in parts]
            described = np.zeros(2 * len(kinds) + kernel.BLOCK, np.int64)
            described[: 2 * len(kinds)] = np.array(kinds, np.int64).ravel()
            rows = np.empty(ROOM, np.int64)
            found = kernel.larger(address(described), len(kinds), self.count, rest, address(rows), ROOM)
            if found >= 0:
                return rows[:found]
        return None


def largest_rows(
    sizes: RowSizes, hashes: Hashes, few: Few | None, least: int, last: int, top: int
) -> tuple[Numbers, Numbers]:
    """The ``top`` largest of the rows that are larger than ``least``, or of that size and with a smaller hash than ``last``.

    :param few: rows with a small hash that were found before.
    :returns: their numbers and their sizes.
    """
    none = np.empty(0, np.int64)
    most = sizes.most
    if most is not None and most < least:
        return none, none
    rare = last < _RARE and least >= 0
    chosen = None if rare else sizes.few_of(least)
    if chosen is None and least >= 0 and last < _SOME:
        larger = none if most == least else sizes.few_of(least + 1)
        if larger is not None:
            # Of the rows of that size, which may be many, fewer have a smaller hash.
            same = rows_below(hashes, np.uint64(last), few)
            chosen = np.concatenate([larger, same[sizes.at(same) == least]])
    if chosen is None:
        chosen = _guessed(sizes, least, top)
    if not len(chosen):
        return none, none
    found = sizes.at(chosen)
    kept = np.flatnonzero((found > least) | (found == least) & (hashes[chosen] < np.uint64(last)))
    if len(kept) > top:
        kept = kept[largest_of(found[kept], hashes[chosen[kept]], top)]
    return chosen[kept], found[kept]


def _guessed(sizes: RowSizes, least: int, top: int) -> Numbers:
    """The rows that take so many bytes or more; or fewer, but the ``top`` largest of them, by a guess of their size."""
    step = sizes.count // _GUESSED_OF
    rank = 3 * top // (2 * max(step, 1)) + 8
    if step >= 4 and rank < _GUESSED_OF // 2:
        guessed = int(np.partition(sizes.at(np.arange(0, sizes.count, step)), -rank)[-rank])
        chosen = sizes.rows_of(max(guessed, least))
        if guessed <= least or len(chosen) >= top:
            return chosen
    return sizes.rows_of(least)


@dataclass(frozen=True, order=True)
class _Ranked:
    """By size, the biggest first; of equal size by the row's hash, so that any order of rows gives the same."""

    minus_bytes: int
    hash: int
    big: Big


class Largest:
    """The ``top`` biggest of what was added."""

    def __init__(self, top: int) -> None:
        self.top = top
        self._ranked: list[_Ranked] = []

    def add(self, sizes: RowSizes, hashes: Hashes, few: Few | None, describe: Describe) -> None:
        """Add rows.

        :param few: rows with a small hash that were found before.
        """
        if not self.top or not len(hashes):
            return
        full = len(self._ranked) == self.top
        least, last = (-self._ranked[-1].minus_bytes, self._ranked[-1].hash) if full else (-1, 0)
        chosen, found = largest_rows(sizes, hashes, few, least, last, self.top)
        if len(chosen):
            rows = zip(chosen.tolist(), found.tolist(), strict=True)
            self._take(_Ranked(-size, int(hashes[i]), describe(i, size)) for i, size in rows)

    def merge(self, other: Largest) -> None:
        """Take in the biggest of other rows."""
        self._take(other._ranked)

    def _take(self, more: Any) -> None:
        self._ranked = sorted([*self._ranked, *more], key=lambda r: (r.minus_bytes, r.hash))[: self.top]

    @property
    def largest(self) -> list[Big]:
        """The biggest first."""
        return [ranked.big for ranked in self._ranked]

    def as_list(self) -> list[Any]:
        """For JSON."""
        return [[r.minus_bytes, r.hash, *vars(r.big).values()] for r in self._ranked]

    @classmethod
    def from_list(cls, top: int, rows: list[Any]) -> Largest:
        """The inverse of :meth:`as_list`."""
        made = cls(top)
        made._ranked = [_Ranked(minus, hash_, Big(*big)) for minus, hash_, *big in rows]
        return made


def largest_of(sizes: Numbers, hashes: Hashes, top: int) -> Numbers:
    """Which are the largest; of equal size those with the smallest hashes."""
    last = np.partition(sizes, -top)[-top]
    larger, same = np.flatnonzero(sizes > last), np.flatnonzero(sizes == last)
    missing = top - len(larger)
    return np.concatenate([larger, same[np.argpartition(hashes[same], missing - 1)[:missing]]])


def cut(value: Any) -> Any:
    """JSON without what is too long to look at."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
    if isinstance(value, list):
        return [cut(item) for item in value[:_MOST]] + ["…"] * (len(value) > _MOST)
    if isinstance(value, dict):
        return {name: cut(item) for name, item in value.items()}
    return value


__all__ = ["ColumnSizes", "Largest", "RowSizes", "cut", "largest_of", "largest_rows"]
