"""Which of many rows are to be looked at: those with a small hash, those of a large size, those where something changes.

Few rows are, so the kernel passes over the others by the block; without it numpy does the same. May import numpy.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
_WORTH_COMPILED = 1 << 17
_ROOM = 1 << 13


def compiled(size: int) -> ModuleType | None:
    """The kernel, where it is worth it or state is decoded by a kernel anyway.

    :param size: bytes that are to be looked at.
    """
    if size < _WORTH_COMPILED and "stateextract.columnar.kernel" not in sys.modules:
        return None
    from stateextract.audit import kernel

    return kernel


def address(array: npt.NDArray[Any]) -> int:
    """Where an array's data lies. The caller keeps it alive."""
    return int(array.__array_interface__["data"][0])


def rows_below(hashes: npt.NDArray[np.uint64], threshold: np.uint64) -> Numbers:
    """The rows whose hash is smaller than that."""
    kernel = compiled(hashes.nbytes)
    if kernel is not None:
        rows = np.empty(_ROOM, np.int64)
        count = kernel.below(address(hashes), len(hashes), int(threshold.view(np.int64)), address(rows), _ROOM)
        if count >= 0:
            return rows[:count]
    return np.flatnonzero(hashes < threshold)


def rows_of_size(sizes: Numbers, least: int) -> Numbers:
    """The rows whose size is that or larger."""
    kernel = compiled(sizes.nbytes)
    if kernel is not None:
        rows = np.empty(_ROOM, np.int64)
        count = kernel.larger(address(sizes), len(sizes), least, address(rows), _ROOM)
        if count >= 0:
            return rows[:count]
    return np.flatnonzero(sizes >= least)


def bounds_of(groups: npt.NDArray[np.int32]) -> Numbers:
    """0, the rows whose value differs from the one before, and how many rows there are."""
    n = len(groups)
    kernel = compiled(groups.nbytes)
    if kernel is not None:
        bounds = np.empty(_ROOM, np.int64)
        count = kernel.runs(address(groups), n, address(bounds), _ROOM - 1)
        if count >= 0:
            bounds[count] = n
            return bounds[: count + 1]
    return np.concatenate([[0], np.flatnonzero(groups[1:] != groups[:-1]) + 1, [n]]).astype(np.int64)


__all__ = ["Numbers", "address", "bounds_of", "compiled", "rows_below", "rows_of_size"]
