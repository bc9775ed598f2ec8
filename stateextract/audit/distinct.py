"""How many different values there are: the smallest hashes of them, of which the number follows.

Of hashes that are spread evenly the ``K`` smallest say how densely all lie. Up to ``K`` different values are counted
exactly. Which hashes are kept does not depend on the order of values nor on how they were divided, so parts can be put
together in any order. (Bar-Yossef et al., Counting distinct elements in a data stream, 2002; the theta sketches of
Apache DataSketches are a refinement, whose Python binding takes one value at a time.)
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.audit.document import Distinct
from stateextract.audit.hashes import Hashes, hashes_of
from stateextract.audit.rows import address, compiled

K = 4096
"""How many hashes are kept: 32 kB for a column with that many different values."""
ERROR = 2 / (K - 2) ** 0.5
"""Twice the relative standard error of an estimate."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SLOTS = 4 * K
_FULL = 2 * K
_LARGEST = 0x7FFFFFFFFFFFFFFF


class Smallest:
    """The ``K`` smallest different hashes of what was added."""

    def __init__(self, hashes: Hashes | None = None) -> None:
        self._kept: Hashes = np.empty(0, np.uint64) if hashes is None else hashes
        self._table: npt.NDArray[np.int64] | None = None
        self._state = np.zeros(3, np.int64)
        self._state_at = address(self._state)

    @property
    def hashes(self) -> Hashes:
        """Those that are kept, in order."""
        self.settle()
        return self._kept

    def settle(self) -> None:
        """Let go of what only adding needs, some hundred kilobytes."""
        if self._table is not None:
            self._keep(self._in_table(self._table))
            self._table = None

    def _keep(self, hashes: Hashes) -> None:
        self._kept = np.sort(_least(hashes))

    @staticmethod
    def _in_table(table: npt.NDArray[np.int64]) -> Hashes:
        slots = table[:_SLOTS].view(np.uint64)
        found: Hashes = slots[slots != 0]
        return found

    @property
    def _threshold(self) -> np.uint64:
        return self._kept[-1] if len(self._kept) == K else _ALL

    def add_hashes(self, hashes: Hashes) -> None:
        """Add values by their hashes."""
        kernel = compiled(hashes.nbytes)
        if kernel is not None:
            self._fill(
                kernel, lambda start, *where: kernel.insert(address(hashes), start, len(hashes), *where), len(hashes)
            )
            return
        kept = self.hashes
        hashes = hashes[hashes <= self._threshold]
        self._keep(np.union1d(kept, hashes))

    def add_numbers(
        self, kernel: ModuleType, values: npt.NDArray[Any], valid: tuple[int, int], out: Hashes | None
    ) -> tuple[Any, Any, int]:
        """Add numbers with the kernel.

        :param values: int64, int32 or float64.
        :param valid: address and first bit of the bitmap of those that are not null, of which there is one; address 0: none
            is null.
        :param out: where their hashes go; ``None``: nowhere.
        :returns: the smallest and the largest (``None``: all are NaN), and how many are NaN.
        """
        found = np.array([0, 0, _LARGEST, -_LARGEST - 1, 0], np.int64)
        n, extremes, floating = len(values), address(found), values.dtype.kind == "f"
        given = address(values), int(values.itemsize == 4), int(floating), *valid
        to = 0 if out is None else address(out)
        self._fill(kernel, lambda start, *where: kernel.numbers(*given, start, n, to, *where, extremes), n)
        _, _, least, most, nans = found.tolist()
        if least > most:
            return None, None, nans
        return (_double(least), _double(most), nans) if floating else (least, most, nans)

    def add_bytes(self, array: pa.Array, out: Hashes | None) -> tuple[int, int, int, int]:
        """Add strings or binary values, of which one at least is not null, with the kernel or without.

        :param out: where their hashes go; ``None``: nowhere.
        :returns: the shortest and the longest length; which is the smallest, and which the largest.
        """
        n, offset = len(array), array.offset
        valid, offsets, data = array.buffers()
        kernel = compiled(8 * n + (data.size if data is not None else 0))
        if kernel is None:
            return self._add_few(array, out)
        found = np.array([_LARGEST, -1, -1, -1, 0], np.int64)
        where_valid = valid.address if valid is not None and array.null_count else 0
        begin, size = (data.address, data.size) if data is not None else (0, 0)
        arguments = offsets.address + 4 * offset, begin, begin + size, where_valid, offset
        to, extremes = 0 if out is None else address(out), address(found)
        self._fill(kernel, lambda start, *where: kernel.texts(*arguments, start, n, to, *where, extremes), n)
        shortest, longest, least, most, _ = found.tolist()
        return shortest, longest, least, most

    def _add_few(self, array: pa.Array, out: Hashes | None) -> tuple[int, int, int, int]:
        hashes = hashes_of(array)
        if out is not None:
            out[:] = hashes
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        self.add_hashes(hashes[valid])
        values = [value.encode() if isinstance(value, str) else value for value in array.to_pylist()]
        order = sorted(np.flatnonzero(valid).tolist(), key=lambda i: values[i])
        lengths = [len(values[i]) for i in order]
        return min(lengths), max(lengths), order[0], order[-1]

    def _fill(self, kernel: ModuleType, step: Callable[..., int], n: int) -> None:
        """Call the kernel until it has seen everything, making room in between."""
        if self._table is None:
            self._table = np.zeros(_SLOTS + kernel.BEHIND, np.int64)
            self._put_back(kernel, self._table, self._kept)
        table, seen = self._table, 0
        while True:
            seen = step(seen, address(table), _SLOTS - 1, self._state_at)
            if self._state[1] >= _FULL:
                kept = _least(self._in_table(table))
                table[:_SLOTS] = 0
                self._put_back(kernel, table, kept)
            if seen >= n:
                return

    def _put_back(self, kernel: ModuleType, table: npt.NDArray[np.int64], kept: Hashes) -> None:
        """Put hashes into the empty table."""
        self._state[:] = -1, 0, _SLOTS
        kernel.insert(address(kept), 0, len(kept), address(table), _SLOTS - 1, self._state_at)
        threshold = kept.max() if len(kept) == K else _ALL
        self._state[0] = threshold.view(np.int64)
        self._state[2] = _FULL

    def merge(self, other: Smallest) -> None:
        """Take in what another part of the values gave."""
        mine = self.hashes
        self._keep(np.union1d(mine, other.hashes))

    @property
    def distinct(self) -> Distinct:
        """The number of different values."""
        hashes = self.hashes
        if len(hashes) < K:
            return Distinct(len(hashes))
        return Distinct(round((K - 1) * 2**64 / int(hashes[-1])), False, ERROR)


def _least(hashes: Hashes) -> Hashes:
    return np.partition(hashes, K - 1)[:K] if len(hashes) > K else hashes


def _double(ordered: int) -> float:
    """The number that has this place in the order of all."""
    bits = ordered if ordered >= 0 else ordered ^ _LARGEST
    return float(np.array([bits], np.int64).view(np.float64)[0])


__all__ = ["ERROR", "K", "Smallest"]
