"""The rows with the biggest keys or values: the largest few of a size, whatever the order in which they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from stateextract.audit.document import Big
from stateextract.audit.measure.arrays import Sizer
from stateextract.audit.measure.hashes import Hashes
from stateextract.audit.measure.rows import Few, rows_below, rows_of_size
from stateextract.columnar.arrow.arrays import Numbers

_LONGEST = 256
_MOST = 32
_RARE = 1 << 58
"""Of very many rows few have a hash below."""


Describe = Callable[[int, int], Big]
"""Makes the row of a number and size, of which only a few are asked for."""


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

    def add(
        self, array: pa.Array, sizer: Sizer, hashes: Hashes, few: Few | None, most: int | None, describe: Describe
    ) -> None:
        """Add rows.

        :param few: rows with a small hash that were found before.
        :param most: no value takes more bytes; ``None``: it is not known.
        """
        if not self.top or not len(array):
            return
        full = len(self._ranked) == self.top
        least, last = (-self._ranked[-1].minus_bytes, self._ranked[-1].hash) if full else (-1, 0)
        if most is not None and most < least:
            return
        if most == least and last < _RARE:
            # Only rows of the same size and a smaller hash come in question, which few have.
            chosen = rows_below(hashes, np.uint64(last), few)
            if not len(chosen):
                return
            sizes = sizer.before(array, chosen + 1) - sizer.before(array, chosen)
        else:
            every = sizer.each(array)
            chosen = rows_of_size(every, least)
            sizes = every[chosen]
        kept = np.flatnonzero((sizes > least) | (sizes == least) & (hashes[chosen] < np.uint64(last)))
        if not len(kept):
            return
        if len(kept) > self.top:
            kept = kept[_largest(sizes[kept], hashes[chosen[kept]], self.top)]
        found = zip(chosen[kept].tolist(), sizes[kept].tolist(), strict=True)
        self._take(_Ranked(-size, int(hashes[i]), describe(i, size)) for i, size in found)

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


def _largest(sizes: Numbers, hashes: Hashes, top: int) -> Numbers:
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


__all__ = ["Largest", "cut"]
