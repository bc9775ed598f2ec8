"""How many different values there are: the smallest hashes of them, of which the number follows.

Of hashes that are spread evenly the ``K`` smallest say how densely all lie. Up to ``K`` different values are counted
exactly. Which hashes are kept does not depend on the order of values nor on how they were divided, so parts can be put
together in any order. (Bar-Yossef et al., Counting distinct elements in a data stream, 2002; the theta sketches of
Apache DataSketches are a refinement, whose Python binding takes one value at a time.)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.audit.arrays import address
from stateextract.audit.document import Distinct
from stateextract.audit.hashes import Hashes, hashes_of

K = 4096
"""How many hashes are kept: 32 kB for a column with that many different values."""
ERROR = 2 / (K - 2) ** 0.5
"""Twice the relative standard error of an estimate."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SLOTS = 4 * K
_LARGEST = 0x7FFFFFFFFFFFFFFF
_WORTH_COMPILED = 1 << 17


def compiled(size: int) -> ModuleType | None:
    """The kernel, where it is worth it or state is decoded by a kernel anyway.

    :param size: bytes that are to be looked at.
    """
    if size < _WORTH_COMPILED and "stateextract.columnar.kernel" not in sys.modules:
        return None
    from stateextract.audit import kernel

    return kernel


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
            table = self._table.view(np.uint64)
            self._keep(table[table != 0])
            self._table = None

    def _keep(self, hashes: Hashes) -> None:
        if len(hashes) > K:
            hashes = np.partition(hashes, K - 1)[:K]
        self._kept = np.sort(hashes)

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
        self, kernel: ModuleType, where: int, n: int, floating: bool, valid: tuple[int, int], wants_hashes: bool
    ) -> tuple[Hashes | None, Any, Any, int]:
        """Add numbers with the kernel.

        :param where: the address of ``n`` int64, or float64 if ``floating``.
        :param valid: address and first bit of the bitmap of those that are not null; address 0: none is null.
        :returns: their hashes, if they are wanted; the smallest and the largest (``None``: all are NaN or null), and how
            many are NaN.
        """
        found = np.array([0, 0, _LARGEST, -_LARGEST - 1, 0], np.int64)
        out = np.empty(n, np.uint64) if wants_hashes else None
        to, extremes = 0 if out is None else address(out), address(found)
        run, (bitmap, bit) = kernel.numbers, valid
        self._fill(
            kernel, lambda start, *t: run(where, int(floating), bitmap, bit, start, n, to, *t, extremes), n
        )  # fmt: skip
        _, _, least, most, nans = found.tolist()
        if least > most:
            return out, None, None, nans
        return (out, _double(least), _double(most), nans) if floating else (out, least, most, nans)

    def add_bytes(self, array: pa.Array, wants_hashes: bool = False) -> tuple[Hashes | None, int, int, int, int]:
        """Add strings or binary values, of which one at least is not null, with the kernel or without.

        :returns: their hashes; the shortest and the longest length; which is the smallest, and which the largest.
        """
        n, offset = len(array), array.offset
        valid, offsets, data = array.buffers()
        kernel = compiled(8 * n + (data.size if data is not None else 0))
        if kernel is None:
            return self._add_few(array)
        found = np.array([_LARGEST, -1, -1, -1, 0], np.int64)
        out = np.empty(n, np.uint64) if wants_hashes else None
        where_valid = valid.address if valid is not None and array.null_count else 0
        begin, size = (data.address, data.size) if data is not None else (0, 0)
        arguments = offsets.address + 4 * offset, begin, begin + size, where_valid, offset
        to, extremes = 0 if out is None else address(out), address(found)
        self._fill(kernel, lambda start, *where: kernel.texts(*arguments, start, n, to, *where, extremes), n)
        shortest, longest, least, most, _ = found.tolist()
        return out, shortest, longest, least, most

    def _add_few(self, array: pa.Array) -> tuple[Hashes, int, int, int, int]:
        hashes = hashes_of(array)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        self.add_hashes(hashes[valid])
        values = [value.encode() if isinstance(value, str) else value for value in array.to_pylist()]
        order = sorted(np.flatnonzero(valid).tolist(), key=lambda i: values[i])
        lengths = [len(values[i]) for i in order]
        return hashes, min(lengths), max(lengths), order[0], order[-1]

    def _fill(self, kernel: ModuleType, step: Callable[..., int], n: int) -> None:
        """Call the kernel until it has seen everything, making room in between."""
        seen = 0
        while True:
            if self._table is None:
                self._table = np.zeros(_SLOTS, np.int64)
                where, kept = address(self._table), self._kept
                self._state[:] = -1, 0, _SLOTS
                kernel.insert(address(kept), 0, len(kept), where, _SLOTS - 1, self._state_at)
                self._state[0] = int(np.array([self._threshold], np.uint64).view(np.int64)[0])
                self._state[2] = 2 * K
            seen = step(seen, address(self._table), _SLOTS - 1, self._state_at)
            if self._state[1] >= 2 * K:
                self.settle()
            if seen >= n:
                return

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


def _double(ordered: int) -> float:
    """The number that has this place in the order of all."""
    bits = ordered if ordered >= 0 else ordered ^ _LARGEST
    return float(np.array([bits], np.int64).view(np.float64)[0])


__all__ = ["ERROR", "K", "Smallest", "compiled"]
