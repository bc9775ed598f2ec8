"""The rows with the biggest keys or values: the largest few of a size, whatever the order in which they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from stateextract.audit.arrays import Sizer
from stateextract.audit.document import Big
from stateextract.audit.hashes import Hashes

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


class Biggest:
    """The ``top`` biggest of what was added."""

    def __init__(self, top: int) -> None:
        self.top = top
        self._ranked: list[_Ranked] = []

    def add(self, array: pa.Array, sizer: Sizer, hashes: Hashes, most: int | None, describe: Describe) -> None:
        """Add rows.

        :param most: no value takes more bytes; ``None``: it is not known.
        """
        if not self.top or not len(array):
            return
        least = last = -1
        if len(self._ranked) == self.top:
            least, last = -self._ranked[-1].minus_bytes, self._ranked[-1].hash
            if most is not None and most < least:
                return
        if most == least and last < _RARE:
            # Only rows of the same size and a smaller hash come in question, which few have.
            chosen = np.flatnonzero(hashes < np.uint64(last))
            sizes = sizer.before(array, chosen + 1) - sizer.before(array, chosen)
            chosen, sizes = chosen[sizes == least], sizes[sizes == least]
        else:
            varying, fixed = sizer.each(array)
            if varying.max() + fixed < least:
                return
            chosen = np.flatnonzero(varying >= least - fixed)
            sizes = varying[chosen].astype(np.int64) + fixed
            if least >= 0:
                kept = (sizes > least) | (hashes[chosen] < np.uint64(last))
                chosen, sizes = chosen[kept], sizes[kept]
        if len(chosen) > self.top:
            first = np.lexsort((hashes[chosen], -sizes))[: self.top]
            chosen, sizes = chosen[first], sizes[first]
        found = zip(chosen.tolist(), sizes.tolist(), strict=True)
        self._take(_Ranked(-size, int(hashes[i]), describe(i, size)) for i, size in found)

    def merge(self, other: Biggest) -> None:
        """Take in the biggest of other rows."""
        self._take(other._ranked)

    def _take(self, more: Any) -> None:
        self._ranked = sorted([*self._ranked, *more], key=lambda r: (r.minus_bytes, r.hash))[: self.top]

    @property
    def biggest(self) -> list[Big]:
        """The biggest first."""
        return [ranked.big for ranked in self._ranked]

    def as_list(self) -> list[Any]:
        """For JSON."""
        return [[r.minus_bytes, r.hash, *vars(r.big).values()] for r in self._ranked]

    @classmethod
    def from_list(cls, top: int, rows: list[Any]) -> Biggest:
        """The inverse of :meth:`as_list`."""
        made = cls(top)
        made._ranked = [_Ranked(minus, hash_, Big(*big)) for minus, hash_, *big in rows]
        return made


def cut(value: Any) -> Any:
    """JSON without what is too long to look at."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
    if isinstance(value, list):
        return [cut(item) for item in value[:_MOST]] + ["…"] * (len(value) > _MOST)
    if isinstance(value, dict):
        return {name: cut(item) for name, item in value.items()}
    return value


__all__ = ["Biggest", "cut"]
