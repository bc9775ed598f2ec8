"""Which of many rows are to be looked at: those with a small hash, those where something changes.

Few rows are, so the kernel passes over the others by the block; without it numpy does the same. May import pyarrow and numpy.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.audit.measure.layout import BATCH, BELOW, FOUND, ROOM, RUNS
from stateextract.columnar.arrow.numpy_views import Numbers, address

Hashes = npt.NDArray[np.uint64]
_WORTH_COMPILED = 1 << 17


def compiled(size: int) -> ModuleType | None:
    """The kernel, where it is worth it or state is decoded by a kernel anyway; ``None`` also where there is none.

    :param size: bytes that are to be looked at.
    """
    if size < _WORTH_COMPILED and "stateextract.columnar.kernel" not in sys.modules:
        return None
    from stateextract.audit.measure import measure_kernel as kernel

    return kernel if kernel.columns.is_usable else None


@dataclass(frozen=True)
class Few:
    """Rows that were found before.

    :param rows: all whose hash is smaller than the threshold.
    """

    threshold: np.uint64
    rows: Numbers


class Batch:
    """The description of a batch for the kernel, and what it finds: where key groups change, and rows with small hashes.

    It is the same for every batch, as what was just used is near the processor.
    """

    def __init__(self) -> None:
        self._row = np.zeros(BATCH, np.int64)
        self._bounds, self._rows = np.empty(ROOM + 1, np.int64), np.empty(ROOM, np.int64)
        self.at = address(self._row)
        self._addresses = address(self._bounds), address(self._rows)

    def describe(self, groups: pa.Array | None, hashes: Hashes | None, threshold: np.uint64) -> None:
        """Say what to look for.

        :param hashes: of the rows, by then; ``None``: for none.
        """
        values = 0 if groups is None else groups.buffers()[1].address + 4 * groups.offset
        to = 0 if hashes is None else address(hashes)
        self._row[:] = values, self._addresses[0], -1, to, threshold.view(np.int64), self._addresses[1], -1

    def bounds(self, n: int) -> Numbers | None:
        """As :func:`bounds_of`; ``None``: they were not found."""
        count = self._row[RUNS]
        if count < 0:
            return None
        self._bounds[count] = n
        return self._bounds[: count + 1]

    @property
    def few(self) -> Few | None:
        """The rows whose hash is smaller than the threshold; ``None``: they were not found."""
        count = self._row[FOUND]
        return None if count < 0 else Few(self._row[BELOW : BELOW + 1].view(np.uint64)[0], self._rows[:count])


def rows_below(hashes: Hashes, threshold: np.uint64, few: Few | None = None) -> Numbers:
    """The rows whose hash is smaller than that.

    :param few: rows that were found before, which may have all of them.
    """
    if few is not None and threshold <= few.threshold:
        return few.rows[hashes[few.rows] < threshold]
    return np.flatnonzero(hashes < threshold)


def bounds_of(groups: npt.NDArray[np.int32]) -> Numbers:
    """0, the rows whose value differs from the one before, and how many rows there are."""
    changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    return np.concatenate([[0], changes, [len(groups)]]).astype(np.int64)


__all__ = ["Batch", "Few", "Numbers", "address", "bounds_of", "compiled", "rows_below"]
