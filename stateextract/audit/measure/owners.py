"""Who owns the bytes of a state: for each key (or window) its bytes, rows and entries, of the largest in bounded memory.

Owners are known by the hashes of their values, so that what they own in several states and tasks adds up. There are two ways:

- A state with one row for each owner keeps its largest rows (:class:`RowOwners`). No other row is larger than ``bounds[0]``.
- Where an owner has several rows, they are counted in a space-saving sketch with a filter (:class:`OwnerSketch`; Metwally et
  al., Efficient computation of frequent and top-k elements in data streams, 2005; Homem and Carvalho, Finding top-k elements
  in data streams, 2010). An owner without a counter has at most as many bytes as the cell of its hash in ``bounds``.

Up to :data:`MOST` owners all are counted, exactly. Beyond, what was counted of an owner is certain, and its ``error`` says how
many bytes more it may own. May import pyarrow and numpy.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stateextract.audit.document import Owned, Owner, Owners
from stateextract.audit.measure.hashes import Hashes
from stateextract.audit.measure.largest import RowSizes, cut, largest_of, largest_rows
from stateextract.audit.measure.layout import (
    BOUNDS_AT,
    BOUNDS_MASK,
    COUNTER_HASHES,
    COUNTERS,
    COUNTERS_ROOM,
    EACH,
    ENTRIES,
    FLOOR,
    NEW,
    OWNERS,
    SEEN_ROWS,
    SIZES,
    SLOT_MASK,
    SLOTS,
    SOURCE,
    USED,
)
from stateextract.audit.measure.measured_arrays import raw_values
from stateextract.audit.measure.selected_rows import Few, compiled
from stateextract.columnar.arrow.json_values import json_value
from stateextract.columnar.arrow.numpy_views import Numbers, address

MOST = 4096
"""Owners with a counter, as long as all have one."""
KEPT = 1024
"""Owners with a counter, if others have none."""
_BOUNDS = 8 * MOST
"""Cells of a sketch: 256 kB."""
_LABEL = 257
"""Characters (bytes) of an owner that are kept; one more than are shown."""
BYTES, ROWS, ENTRY, ERROR, GROUP = range(5)
"""What is counted of an owner, and its key group (-1: it has none)."""


class Counted:
    """Counters of owners.

    :param counters: int64, a row for each of ``BYTES`` to ``GROUP``, a column for each owner.
    :param labels: the owners themselves.
    :param bounds: the bytes that an owner without a counter has at most, by a part of its hash; their number is a power of two.
    """

    def __init__(self, hashes: Hashes, counters: Numbers, labels: pa.Array, bounds: Numbers) -> None:
        self.hashes, self.counters, self.labels, self.bounds = hashes, counters, labels, bounds

    @classmethod
    def empty(cls, type_: pa.DataType, bounds: int) -> Counted:
        """No owners."""
        return cls(np.empty(0, np.uint64), np.empty((GROUP + 1, 0), np.int64), pa.nulls(0, type_), np.zeros(bounds, np.int64))

    def __len__(self) -> int:
        return len(self.hashes)

    def bounds_of(self, hashes: Hashes) -> Numbers:
        """The bytes that owners without a counter have at most."""
        found: Numbers = self.bounds[_cells(hashes, len(self.bounds))]
        return found

    def kept(self, chosen: Numbers) -> Counted:
        """Only some of the owners; the bounds are the same."""
        return Counted(self.hashes[chosen], self.counters[:, chosen], self.labels.take(pa.array(chosen)), self.bounds)

    def joined(self, others: Sequence[Counted]) -> Counted:
        """With the counters of others, owners that are in several of them several times; the bounds are these."""
        parts = [self, *others]
        if len(parts) == 1:
            return self
        return Counted(
            np.concatenate([part.hashes for part in parts]), np.concatenate([part.counters for part in parts], axis=1),
            pa.concat_arrays([part.labels for part in parts]), self.bounds,
        )  # fmt: skip

    def summed(self) -> Counted:
        """Each owner once."""
        hashes, first, inverse = np.unique(self.hashes, return_index=True, return_inverse=True)
        counters = self.counters[:, first]
        counters[:GROUP] = 0
        for mine, theirs in zip(counters[:GROUP], self.counters[:GROUP], strict=True):
            np.add.at(mine, inverse, theirs)
        return Counted(hashes, counters, self.labels.take(pa.array(first)), self.bounds)

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        batch = pa.RecordBatch.from_arrays(
            [pa.array(self.hashes), *map(pa.array, self.counters), self.labels], [str(i) for i in range(GROUP + 3)]
        )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return {"owners": _text(bytes(sink.getvalue())), "bounds": _text(self.bounds.tobytes()) if self.bounds.any() else ""}

    def load(self, data: dict[str, str]) -> None:
        """The inverse of :meth:`as_dict`, into one of the same kind."""
        for batch in pa.ipc.open_stream(base64.b64decode(data["owners"])):
            hashes, *counters, self.labels = batch.columns
            self.hashes = hashes.to_numpy()
            self.counters = np.stack([counter.to_numpy() for counter in counters])
        if data["bounds"]:
            self.bounds = np.frombuffer(base64.b64decode(data["bounds"]), np.int64).copy()


@dataclass(frozen=True)
class Rows:
    """Rows of a batch by their owners.

    :param hashes: of the owners; :param labels: the owners; :param groups: their key groups, if they have any.
    :param sizes: of the rows; :param entries: offsets of the entries of each row (int32); ``None``: a row is one entry.
    """

    hashes: Hashes
    labels: pa.Array
    groups: pa.Array | None
    sizes: RowSizes
    entries: npt.NDArray[Any] | None

    def labels_at(self, rows: Numbers) -> pa.Array:
        """The owners of some rows, cut where they are long."""
        labels = self.labels.take(pa.array(rows))
        if pa.types.is_string(labels.type):
            return pc.utf8_slice_codeunits(labels, 0, _LABEL)
        return pc.binary_slice(labels, 0, _LABEL) if pa.types.is_binary(labels.type) else labels

    def groups_at(self, rows: Numbers) -> Numbers:
        """Their key groups."""
        if self.groups is None:
            return np.full(len(rows), -1, np.int64)
        return raw_values(self.groups)[rows].astype(np.int64)

    def counted(self, rows: Numbers, sizes: Numbers, bounds: Numbers) -> Counted:
        """Counters of some rows, one for each."""
        counters = np.empty((GROUP + 1, len(rows)), np.int64)
        counters[BYTES], counters[ROWS], counters[ERROR], counters[GROUP] = sizes, 1, 0, self.groups_at(rows)
        counters[ENTRY] = 1 if self.entries is None else self.entries[rows + 1] - self.entries[rows]
        return Counted(self.hashes[rows], counters, self.labels_at(rows), bounds)


class RowOwners:
    """The owners of a state that has one row for each: those of its largest rows.

    Which are kept does not depend on the order of rows.

    :param type_: of the owners; :param width: the bytes of every row; ``None``: not all have the same. Of more than
        :data:`MOST` rows of one size none is larger than others, and none is kept.
    """

    def __init__(self, type_: pa.DataType, width: int | None) -> None:
        self.counted = Counted.empty(type_, 1)
        self.width = width
        self.rows = 0
        self._more: list[Counted] = []
        self._count = 0
        self._least = (-1, 0)
        """Size and hash of the smallest row that is kept, if there are as many as can be."""

    def add(self, rows: Rows, few: Few | None) -> None:
        """Add rows.

        :param few: those with a small hash, as far as they are known.
        """
        self.rows += rows.sizes.count
        if self.width is not None and self.rows > MOST:
            self._more, self._count = [], 0
            return
        chosen, sizes = largest_rows(rows.sizes, rows.hashes, few, *self._least, self._most)
        if len(chosen):
            self._more.append(rows.counted(chosen, sizes, self.counted.bounds))
            self._count += len(chosen)
            # What the smallest has that is kept spares the next batches most of the work.
            if self.rows > MOST and (self._least[0] < 0 or self._count >= 2 * KEPT):
                self._cut()

    @property
    def _most(self) -> int:
        """How many rows are kept."""
        return MOST if self.rows <= MOST else KEPT

    def _cut(self) -> None:
        """Leave the largest; of equal size those with the smallest hashes."""
        counted = self.counted.joined(self._more)
        if self.rows > MOST and self.width is not None:
            counted = counted.kept(np.empty(0, np.int64))
            counted.bounds[0] = self.width
        elif self.rows > MOST:
            if len(counted) > KEPT:
                counted = counted.kept(largest_of(counted.counters[BYTES], counted.hashes, KEPT))
            sizes = counted.counters[BYTES]
            self._least = int(sizes.min()), int(counted.hashes[sizes == sizes.min()].max())
            counted.bounds[0] = self._least[0]
        self.counted, self._more, self._count = counted, [], len(counted)

    def finalize(self) -> Counted:
        """What is known of the owners."""
        self._cut()
        return self.counted

    def merge(self, other: RowOwners) -> None:
        """Take in the owners of other rows."""
        self.rows += other.rows
        self._more.append(other.finalize())
        self._cut()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"rows": self.rows, **self.finalize().as_dict()}

    def load(self, data: dict[str, Any]) -> None:
        """The inverse of :meth:`as_dict`, into one without rows."""
        self.rows = data["rows"]
        self.counted.load(data)
        self._cut()


class OwnerSketch:
    """The owners of a state that has several rows for each.

    :param type_: of the owners.
    """

    def __init__(self, type_: pa.DataType) -> None:
        self.counted = Counted.empty(type_, _BOUNDS)
        self._table: _Table | None = None

    def add(self, rows: Rows) -> None:
        """Add rows."""
        n = rows.sizes.count
        kernel = compiled(8 * n)
        if kernel is None:
            self._merge(rows.counted(np.arange(n), rows.sizes.each(), np.zeros(1, np.int64)).summed())
            return
        if self._table is None:
            self._table = _Table()
            self._table.open(self.counted, kernel)
        while self._table.add(rows, kernel):
            self.counted = _fewer(self._table.counted(self.counted.bounds), KEPT // 2)
            self._table.open(self.counted, kernel)
        self._table.rows_seen()

    def finalize(self) -> Counted:
        """What is known of the owners; what only adding needs is let go of."""
        if self._table is not None:
            self.counted = self._table.counted(self.counted.bounds)
            self._table = None
        return self.counted

    def merge(self, other: OwnerSketch) -> None:
        """Take in the owners of other rows."""
        self._merge(other.finalize())

    def _merge(self, theirs: Counted) -> None:
        mine = self.finalize()
        # What one of them has no counter of, it may have dropped.
        for one, other in ((mine, theirs), (theirs, mine)):
            missing = ~np.isin(one.hashes, other.hashes)
            one.counters[ERROR, missing] += other.bounds_of(one.hashes[missing])
        both = mine.joined([theirs])
        both.bounds = mine.bounds + theirs.bounds
        summed = both.summed()
        self.counted = summed if len(summed) <= _room(summed) else _fewer(summed, KEPT)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return self.finalize().as_dict()

    def load(self, data: dict[str, Any]) -> None:
        """The inverse of :meth:`as_dict`, into one without rows."""
        self.counted.load(data)


class _Table:
    """Counters where the kernel finds them by their hashes; some hundred kilobytes."""

    def __init__(self) -> None:
        self._row = np.zeros(OWNERS, np.int64)
        self._slots, self._counters = np.zeros(4 * MOST, np.int64), np.zeros((MOST, 4), np.int64)
        self._new, self._hashes = np.empty(MOST, np.int64), np.zeros(MOST, np.uint64)
        self._row[SLOTS], self._row[SLOT_MASK] = address(self._slots), 2 * MOST - 1
        self._row[COUNTERS], self._row[COUNTER_HASHES] = address(self._counters), address(self._hashes)
        self._row[NEW] = address(self._new)

    def open(self, counted: Counted, kernel: ModuleType) -> None:
        """Begin with these counters."""
        k = len(counted)
        self._slots[:] = 0
        self._counters[:k] = counted.counters[:GROUP].T
        self._hashes[:k] = counted.hashes
        self._labels, self._groups = [counted.labels], [counted.counters[GROUP]]
        # Owners that may have more bytes than that get a counter. It grows by an eighth, so that this is called rarely.
        upper = counted.counters[BYTES] + counted.counters[ERROR]
        self._row[FLOOR] = int(upper.min() * 9 // 8) if counted.bounds.any() and k else -1
        self._row[USED], self._row[COUNTERS_ROOM] = k, _room(counted)
        self._row[BOUNDS_AT], self._row[BOUNDS_MASK] = address(counted.bounds), len(counted.bounds) - 1
        kernel.seat(address(self._row))

    def add(self, rows: Rows, kernel: ModuleType) -> bool:
        """Count rows, from the first on that was not seen.

        :returns: whether all counters are used, before which all rows were seen or not.
        """
        row, width, known = self._row, rows.sizes.width, int(self._row[USED])
        sizes = rows.sizes.each() if width is None else None
        row[SOURCE], row[EACH] = address(rows.hashes), width or 0
        row[SIZES] = 0 if sizes is None else address(sizes)
        row[ENTRIES] = 0 if rows.entries is None else address(rows.entries)
        full = kernel.own(address(row), rows.sizes.count)
        new = self._new[known : int(row[USED])]
        if len(new):
            self._labels.append(rows.labels_at(new))
            self._groups.append(rows.groups_at(new))
        return bool(full)

    def rows_seen(self) -> None:
        """What is added next are other rows."""
        self._row[SEEN_ROWS] = 0

    def counted(self, bounds: Numbers) -> Counted:
        """The counters."""
        used = int(self._row[USED])
        counters = np.concatenate([self._counters[:used].T, np.concatenate(self._groups)[None, :]])
        return Counted(self._hashes[:used].copy(), counters, pa.concat_arrays(self._labels), bounds)


def _cells(hashes: Hashes, count: int) -> Numbers:
    """Which bound is that of an owner."""
    return ((hashes >> np.uint64(32)) & np.uint64(count - 1)).astype(np.int64)


def _room(counted: Counted) -> int:
    """For how many counters there is room."""
    return KEPT if counted.bounds.any() else MOST


def _fewer(counted: Counted, most: int) -> Counted:
    """Leave the counters of those that may own most; of the others the bounds know it."""
    upper = counted.counters[BYTES] + counted.counters[ERROR]
    order = np.argpartition(-upper, most)
    dropped = order[most:]
    np.maximum.at(counted.bounds, _cells(counted.hashes[dropped], len(counted.bounds)), upper[dropped])
    return counted.kept(order[:most])


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def owners_of(states: Sequence[tuple[str, Counted]], total: int, top: int) -> Owners | None:
    """The largest owners over some states.

    :param states: with their names; :param total: the bytes of all their rows; :param top: how many to list.
    :returns: ``None`` where there are no rows.
    """
    if not states or not total:
        return None
    hashes = np.unique(np.concatenate([counted.hashes for _, counted in states]))
    sums = np.zeros((GROUP, len(hashes)), np.int64)
    found = []
    for _, counted in states:
        order = np.argsort(counted.hashes)
        where = np.searchsorted(counted.hashes[order], hashes)
        where[where == len(order)] = 0
        at = order[where] if len(order) else np.full(len(hashes), -1)
        there = counted.hashes[at] == hashes if len(order) else np.zeros(len(hashes), np.bool_)
        sums[:, there] += counted.counters[:GROUP, at[there]]
        sums[ERROR, ~there] += counted.bounds_of(hashes[~there])
        found.append(np.where(there, at, -1))
    order = np.lexsort((hashes, -sums[ERROR], -sums[BYTES]))
    listed = order[: min(top, len(order))]
    upper = sums[BYTES] + sums[ERROR]
    others = [sum(int(counted.bounds.max()) for _, counted in states)]
    if len(order) > len(listed):
        others.append(int(upper[order[len(listed) :]].max()))
    owners = []
    for number in listed.tolist():
        parts, label, group = [], None, None
        for (name, counted), at in zip(states, found, strict=True):
            i = int(at[number])
            if i >= 0:
                size, rows, entries, error, own_group = counted.counters[:, i].tolist()
                parts.append(Owned(name, size, rows, entries, error))
                label = json_value(counted.labels[i]) if label is None else label
                group = own_group if own_group >= 0 else group
        size, rows, entries, error = sums[:, number].tolist()
        parts.sort(key=lambda part: (-part.bytes, part.state_name))
        owners.append(Owner(cut(label), group, size, rows, entries, error, parts))
    return Owners(total, max(others), owners)


__all__ = ["MOST", "Counted", "OwnerSketch", "RowOwners", "Rows", "owners_of"]
