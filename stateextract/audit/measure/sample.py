"""A sample of rows, for quantiles: the rows with the smallest hashes.

Which rows are in it does not depend on their order nor on how they were divided, since a row's hash is that of what tells
it from the others (key, namespace, a timer's time; an element's subtask and position), so samples can be put together in
any order and any two kinds of snapshot of one state give the same. Up to ``ROWS`` rows all are in it, and quantiles are
exact; beyond, their ranks are within ``rank_error`` by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stateextract.audit.document import Quantile
from stateextract.audit.measure.hashes import Hashes
from stateextract.audit.measure.measured_arrays import raw_values
from stateextract.audit.measure.selected_rows import Few, rows_below
from stateextract.columnar.arrow.json_values import json_value

ROWS = 4096
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)

ALL_HASHES = np.uint64(0xFFFFFFFFFFFFFFFF)

Kept = tuple[npt.NDArray[Any], "npt.NDArray[np.bool_] | None"]
"""Values of a column as they are stored, and which of them are not null (``None``: all)."""


class Sample:
    """The sampled rows, as columns.

    :param types: of what is kept of each row.
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.types = list(types)
        self._hashes: list[Hashes] = []
        self._kept: list[list[Kept]] = []
        self._rows = 0
        self.threshold = ALL_HASHES

    @property
    def rows_are_few(self) -> bool:
        """Whether only rows with a hash below the threshold are added."""
        return bool(self.threshold != ALL_HASHES)

    def likely(self, n: int) -> np.uint64:
        """Of ``n`` rows those that are added most likely have hashes below that, which are spread evenly."""
        return min(self.threshold, np.uint64(2**64 // n * 3 * ROWS // 2)) if n > 2 * ROWS else self.threshold

    def chosen(self, hashes: Hashes, few: Few | None = None) -> npt.NDArray[np.int64] | None:
        """Which of these rows are to be added; ``None``: none.

        :param few: rows that were found before.
        """
        likely = self.likely(len(hashes))
        chosen = np.arange(len(hashes)) if likely == ALL_HASHES else rows_below(hashes, likely, few)
        if len(chosen) < ROWS and likely < self.threshold:
            chosen = rows_below(hashes, self.threshold) if self.rows_are_few else np.arange(len(hashes))
        if len(chosen) > ROWS:
            chosen = chosen[np.argpartition(hashes[chosen], ROWS - 1)[:ROWS]]
        return chosen if len(chosen) else None

    def add(self, hashes: Hashes, columns: list[Kept]) -> None:
        """Add rows."""
        self._hashes.append(hashes)
        self._kept.append(columns)
        self._rows += len(hashes)
        if self._rows > 2 * ROWS or (self.threshold == ALL_HASHES and self._rows >= ROWS):
            self._cut()

    def merge(self, other: Sample) -> None:
        """Take in a sample of other rows."""
        self._hashes += other._hashes
        self._kept += other._kept
        self._rows += other._rows
        self._cut()

    def _cut(self) -> None:
        """Put the parts together, and leave no more rows than a sample has."""
        if not self._rows:
            return
        hashes = np.concatenate(self._hashes)
        order = np.argsort(hashes, kind="stable")[:ROWS]
        self._kept = [[_joined([part[i] for part in self._kept], order) for i in range(len(self.types))]]
        self._hashes, self._rows = [hashes[order]], len(order)
        if self._rows == ROWS:
            self.threshold = self._hashes[0][-1]

    def columns(self) -> list[pa.Array]:
        """What was kept of the rows."""
        self._cut()
        if not self._rows:
            return [pa.nulls(0, type_) for type_ in self.types]
        return [_array(type_, *kept) for type_, kept in zip(self.types, self._kept[0], strict=True)]

    def to_bytes(self) -> bytes:
        """For the way between processes: Arrow's streaming format."""
        arrays = self.columns()
        hashes = pa.array(self._hashes[0] if self._rows else [], pa.uint64())
        batch = pa.RecordBatch.from_arrays([hashes, *arrays], names=[str(i) for i in range(len(arrays) + 1)])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, types: Sequence[pa.DataType], data: bytes) -> Sample:
        """The inverse of :meth:`to_bytes`."""
        made = cls(types)
        for batch in pa.ipc.open_stream(data):
            hashes, *arrays = batch.columns
            if len(hashes):
                made.add(raw_values(hashes), [(raw_values(a), _valid(a)) for a in arrays])
        made._cut()
        return made


def _joined(parts: list[Kept], order: npt.NDArray[np.int64]) -> Kept:
    values = np.concatenate([values for values, _ in parts])[order]
    if all(valid is None for _, valid in parts):
        return values, None
    return values, np.concatenate([np.ones(len(v), bool) if valid is None else valid for v, valid in parts])[order]


def _array(type_: pa.DataType, values: npt.NDArray[Any], valid: npt.NDArray[np.bool_] | None) -> pa.Array:
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type_, len(values), [bitmap, pa.py_buffer(np.ascontiguousarray(values))])


def _valid(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def quantiles_of(column: pa.Array, values: int) -> tuple[list[Quantile], float]:
    """Quantiles of a sampled column, and by how much their ranks may be off.

    :param values: how many there are outside of the sample too, without nulls and NaN.
    """
    found = column.drop_null()
    if pa.types.is_floating(found.type):
        found = found.filter(pc.invert(pc.is_nan(found)))
    n = len(found)
    if not n:
        return [], 0.0
    ordered = found.take(pc.array_sort_indices(found))
    quantiles = [Quantile(q, json_value(ordered[max(math.ceil(q * n), 1) - 1])) for q in QUANTILES]
    return quantiles, 0.0 if n >= values else rank_error(n)


def rank_error(n: int) -> float:
    """What a quantile's rank in a sample of ``n`` is within in 95 of 100 cases, as a share; a step of the sample included."""
    return min(1.0, math.sqrt(math.log(2 / 0.05) / (2 * n)) + 1 / n)


__all__ = ["ALL_HASHES", "QUANTILES", "ROWS", "Sample", "quantiles_of", "rank_error"]
