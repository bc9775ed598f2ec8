"""How many different values there are: the smallest hashes of them, of which the number follows.

Of hashes that are spread evenly the ``K`` smallest say how densely all lie. Up to ``K`` different values are counted
exactly. Which hashes are kept does not depend on the order of values nor on how they were divided, so parts can be put
together in any order. (Bar-Yossef et al., Counting distinct elements in a data stream, 2002; the theta sketches of
Apache DataSketches are a refinement, whose Python binding takes one value at a time.)
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from stateextract.audit.document import Distinct
from stateextract.audit.measure.hashes import Hashes
from stateextract.audit.measure.layout import COUNT, MASK, ROW, SEEN, SHORTEST, TABLE, THRESHOLD
from stateextract.audit.measure.selected_rows import compiled
from stateextract.columnar.arrow.numpy_views import Numbers, address

K = 4096
"""How many hashes are kept: 32 kB for a column with that many different values."""
ERROR = 2 / (K - 2) ** 0.5
"""Twice the relative standard error of an estimate."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
SLOTS = 4 * K
"""Of a table of hashes, which is full when half of them are taken. At first it has fewer, to lie near the processor."""
_FIRST_SLOTS = K // 4


class Smallest:
    """The ``K`` smallest different hashes of what was added.

    :param row: a column's description for the kernel, which has the table of the hashes; ``None``: one of its own.
    """

    def __init__(self, hashes: Hashes | None = None, row: Numbers | None = None) -> None:
        self._kept: Hashes = np.empty(0, np.uint64) if hashes is None else hashes
        self._table: Numbers | None = None
        self.row: Numbers = np.zeros(ROW, np.int64) if row is None else row
        self._row_at = address(self.row)

    @property
    def hashes(self) -> Hashes:
        """Those that are kept, in order."""
        self.finalize()
        return self._kept

    def finalize(self) -> None:
        """Let go of what only adding needs, some hundred kilobytes."""
        if self._table is not None:
            self._keep(self._in_table(self._table))
            self._table = None

    def _keep(self, hashes: Hashes) -> None:
        self._kept = np.sort(_least(hashes))

    def _in_table(self, table: Numbers) -> Hashes:
        """The hashes in a table, of many rather few more than the smallest.

        Hashes are spread evenly, so where the last of the smallest lies follows from their number, but for chance.
        """
        from stateextract.audit.measure import measure_kernel as kernel

        slots, count = int(self.row[MASK]) + 1, int(self.row[COUNT])
        found = np.empty(slots + 1, np.uint64)
        highest = int(self.row[THRESHOLD : THRESHOLD + 1].view(np.uint64)[0])
        likely = np.uint64(min(highest * K * 17 // (16 * count), highest) if count > K else highest)
        size = kernel.sift(address(table), slots, int(likely.view(np.int64)), address(found))
        if size < min(count, K):
            size = kernel.sift(address(table), slots, -1, address(found))
        return found[:size]

    def replace(self, hashes: Hashes) -> None:
        """Forget what was added for these hashes, of which there are at most ``K``, in order."""
        self._kept, self._table = hashes, None

    def add_hashes(self, hashes: Hashes) -> None:
        """Add values by their hashes."""
        kernel = compiled(hashes.nbytes)
        if kernel is None:
            kept = self.hashes
            threshold = kept[-1] if len(kept) == K else _ALL
            self._keep(np.union1d(kept, hashes[hashes <= threshold]))
            return
        self.make_room(kernel)
        self._insert(kernel, hashes)

    def _insert(self, kernel: ModuleType, hashes: Hashes) -> None:
        self.row[SEEN] = 0
        while kernel.insert(address(hashes), self._row_at, len(hashes)):
            self.make_room(kernel)

    def prepare(self, kernel: ModuleType) -> None:
        """See to it that there is a table."""
        if self._table is None:
            self.make_room(kernel)

    def make_room(self, kernel: ModuleType) -> None:
        """See to it that there is a table with room for more hashes."""
        slots, kept = len(self._table) - kernel.BEHIND if self._table is not None else 0, self._kept
        if self._table is not None:
            if 2 * self.row[COUNT] < slots:
                return
            kept = _least(self._in_table(self._table))
        needed = _FIRST_SLOTS
        while needed < min(4 * len(kept), SLOTS):
            needed *= 4
        if needed == slots and self._table is not None:
            self._table[:slots] = 0
        else:
            self._table = np.zeros(needed + kernel.BEHIND, np.int64)
        seen = self.row[SEEN]
        self.row[TABLE:SHORTEST] = address(self._table), needed - 1, -1, 0
        self._insert(kernel, kept)
        if len(kept) == K:
            self.row[THRESHOLD] = kept.max().view(np.int64)
        self.row[SEEN] = seen

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


__all__ = ["ERROR", "K", "Smallest"]
