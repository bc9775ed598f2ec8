"""The rows with the biggest keys or values: the largest few of a size, whatever the order in which they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stateextract.audit.document import Big
from stateextract.audit.hashes import Hashes

_LONGEST = 256
_MOST = 32


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

    def add(self, sizes: npt.NDArray[Any], fixed: int, hashes: Hashes, describe: Callable[[int, int], Big]) -> None:
        """Add rows.

        :param sizes: how many bytes each takes beside ``fixed`` ones.
        :param describe: makes the row of that number and size, of which only a few are asked for.
        """
        if not self.top or not len(sizes):
            return
        if len(self._ranked) < self.top:
            chosen = np.arange(len(sizes))
        else:
            last = self._ranked[-1]
            least = -last.minus_bytes - fixed
            if sizes.max() < least:
                return
            chosen = np.flatnonzero(sizes >= least)
            chosen = chosen[(sizes[chosen] > least) | (hashes[chosen] < np.uint64(last.hash))]
        if len(chosen) > self.top:
            chosen = chosen[np.lexsort((hashes[chosen], -sizes[chosen].astype(np.int64)))[: self.top]]
        self._take(
            _Ranked(-size, int(hashes[i]), describe(int(i), size))
            for i, size in zip(chosen, (sizes[chosen].astype(np.int64) + fixed).tolist(), strict=True)
        )

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
