"""Statistics of one column, or of one field of structs: nulls, extremes, different values, lengths.

Exact but for the number of different values (``distinct.py``); quantiles come of a sample of rows (``sample.py``), for which
a column says what of it is to be sampled. Parts of a column are put together by ``merge``, in any order.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stateextract.audit.document import ColumnDocument, Lengths, Quantile
from stateextract.audit.measure.distinct import Smallest
from stateextract.audit.measure.hashes import NULL_HASH, Hashes, hashes_of, mixed
from stateextract.audit.measure.layout import (
    FLOATING,
    KIND,
    LEAST,
    NANS,
    NARROW,
    NOTHING,
    ROW,
    SHORTEST,
    TABLE,
    TEXT,
    WIDE,
)
from stateextract.audit.measure.measured_arrays import (
    canonical,
    fixed_values,
    is_bytes,
    is_number,
    raw_values,
    stored_type,
    struct_fields,
    valid_at,
)
from stateextract.audit.measure.selected_rows import compiled
from stateextract.columnar.arrow.json_values import json_value
from stateextract.columnar.arrow.numpy_views import Numbers, address, is_list, offsets_of

_U64 = pa.uint64().id
_LARGEST = 0x7FFFFFFFFFFFFFFF
_NO_TEXT = _LARGEST, 0, -1, -1, 0, _LARGEST, -_LARGEST - 1
_NO_NUMBER = 0, 0, _LARGEST, -_LARGEST - 1, 0, 0, 0
CONVERTED = -1
"""The kind of numbers that the kernel is given as others."""
_KINDS = {"int64": WIDE, "int32": NARROW, "float64": FLOATING}
Valid = npt.NDArray[np.bool_] | None
LONGEST_TEXT = 256
"""Characters (bytes) of an extreme that are shown; what is longer is cut."""


@dataclass(frozen=True)
class ColumnPath:
    """Where a column's statistics come from: a column of rows, and the way down its structs."""

    path: tuple[str, ...]
    type: pa.DataType

    @property
    def name(self) -> str:
        return ".".join(self.path)


def column_paths(field: pa.Field) -> list[ColumnPath]:
    """The column itself, and the fields of structs below it, in the order of :func:`parts`."""
    found = [ColumnPath((field.name,), field.type)]
    if pa.types.is_struct(field.type):
        found += [ColumnPath((field.name, *inner.path), inner.type) for child in field.type for inner in column_paths(child)]
    return found


def parts(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays of :func:`column_paths`; a field is null where a struct around it is."""
    yield array
    if pa.types.is_struct(array.type):
        for child in struct_fields(array):
            yield from parts(child)


class ColumnStatistics:
    """What is known of a column so far.

    :param row: its description for the kernel; ``None``: one of its own.
    """

    def __init__(self, column_path: ColumnPath, row: Numbers | None = None) -> None:
        self.column_path = column_path
        type_ = column_path.type
        self._struct = pa.types.is_struct(type_)
        self._list, self.is_text, self._number = is_list(type_), is_bytes(type_), is_number(type_)
        self._unsigned = type_.id == _U64
        """Numbers that int64 has no room for, whose extremes Arrow finds."""
        self._floating = pa.types.is_floating(type_)
        self._kind = _KINDS.get(np.dtype(stored_type(type_)).name, CONVERTED) if self._number else TEXT
        self.rows = self.nulls = self.nans = 0
        self.least: Any = None
        self.most: Any = None
        self.shortest: int | None = None
        self.longest = self.length_sum = 0
        self.row: Numbers = np.zeros(ROW, np.int64) if row is None else row
        self.row[SHORTEST:] = _NO_TEXT if self.is_text else _NO_NUMBER
        self.different = Smallest(row=self.row)
        self.sampled = self._sampled()
        self.longest_added = 0
        """The length of the longest string that was added last."""
        self._converted: npt.NDArray[Any] | None = None

    # -- adding

    def add(self, array: pa.Array, hashes: Hashes | None = None) -> None:
        """Add values.

        :param hashes: where their hashes go, as ``hashes_of`` makes them; ``None``: nowhere. Structs have none.
        """
        add_all([self], [array], [hashes], compiled(array.nbytes))

    def describe(self, array: pa.Array, hashes: Hashes | None, kernel: ModuleType | None) -> None:
        """Tell the kernel what to add, or add what it is not for.

        :param hashes: as of :meth:`add`.
        :param kernel: ``None``: nothing is for it.
        """
        n, nulls = len(array), array.null_count
        self.rows += n
        self.nulls += nulls
        self.row[KIND] = NOTHING
        self.longest_added = 0
        if self._struct:
            return
        if nulls == n:
            if hashes is not None:
                hashes[:] = NULL_HASH
        elif kernel is not None and (self._number or self.is_text):
            self._describe(array, hashes, kernel)
        else:
            if self._number:
                self._add_few_numbers(array)
            elif self.is_text:
                self._add_few_bytes(array)
            else:
                self._add_others(array)
            if hashes is not None:
                hashes[:] = hashes_of(array)

    def _describe(self, array: pa.Array, hashes: Hashes | None, kernel: ModuleType) -> None:
        self.different.prepare(kernel)
        valid, values, *data = array.buffers()
        there = (valid.address, array.offset) if array.null_count else (0, 0)
        to = 0 if hashes is None else address(hashes)
        if self.is_text:
            begin, size = (data[0].address, data[0].size) if data[0] is not None else (0, 0)
            self.row[:TABLE] = TEXT, values.address + 4 * array.offset, begin, begin + size, *there, to, 0
            self.row[SHORTEST:NANS] = _LARGEST, 0, -1, -1
        elif self._kind == CONVERTED:
            self._converted = fixed_values(array)[0]
            kind = FLOATING if self._floating else WIDE
            self.row[:TABLE] = kind, address(self._converted), 0, 0, *there, to, 0
        else:
            width = 4 if self._kind == NARROW else 8
            self.row[:TABLE] = self._kind, values.address + width * array.offset, 0, 0, *there, to, 0

    def take(self, array: pa.Array) -> None:
        """Take what the kernel found in a batch, of byte strings; of numbers it is taken when it is asked for."""
        if self._unsigned and array.null_count < len(array):
            found = pc.min_max(array)
            self._extremes(found["min"].as_py(), found["max"].as_py())
        elif self.is_text and self.row[KIND] == TEXT:
            shortest, longest, least, most = self.row[SHORTEST:NANS].tolist()
            offsets = offsets_of(array)
            self._lengths(shortest, longest, int(offsets[-1] - offsets[0]))
            self.longest_added = longest
            data = array.buffers()[2]
            for i in (least, most):
                if i >= 0:
                    begin, end = int(offsets[i]), int(offsets[i + 1])
                    value = bytes(data[begin:end]) if end > begin else b""
                    self._extremes(value, value)

    def finalize(self) -> None:
        """Take what the kernel found in numbers, and let go of what only adding needs."""
        if self._number:
            least, most, nans = self.row[LEAST : NANS + 1].tolist()
            self.row[SHORTEST:] = _NO_NUMBER
            self.nans += nans
            if least <= most and not self._unsigned:
                self._extremes(*((_double(least), _double(most)) if self._floating else (least, most)))
        self._converted = None
        self.different.finalize()

    def _add_others(self, array: pa.Array) -> None:
        if self._list:
            self._add_lists(array)
        elif pa.types.is_boolean(self.column_path.type):
            self._add_booleans(array)
        else:
            valid = array.drop_null()
            found = pc.min_max(valid)
            self._extremes(found["min"].as_py(), found["max"].as_py())
            self.different.add_hashes(hashes_of(valid))

    def _add_booleans(self, array: pa.Array) -> None:
        true = array.true_count
        there = [number for number, count in enumerate((array.false_count, true)) if count]
        known = self.least, self.most
        self._extremes(there[0], there[-1])
        if known != (self.least, self.most):
            self.different.add_hashes(mixed(np.array(there, np.int64)))

    def _add_few_numbers(self, array: pa.Array) -> None:
        there = array.drop_null()
        self.different.add_hashes(hashes_of(there))
        values = fixed_values(there)[0]
        numbers = canonical(values[~np.isnan(values)]) if self._floating else values
        self.nans += len(values) - len(numbers)
        if len(numbers) and not self._unsigned:
            self._extremes(numbers.min().item(), numbers.max().item())

    def _add_few_bytes(self, array: pa.Array) -> None:
        there = array.drop_null()
        self.different.add_hashes(hashes_of(there))
        values = [value.encode() if isinstance(value, str) else value for value in there.to_pylist()]
        lengths = [len(value) for value in values]
        self.longest_added = max(lengths)
        self._lengths(min(lengths), max(lengths), sum(lengths))
        self._extremes(min(values), max(values))

    def _add_lists(self, array: pa.Array) -> None:
        lengths = np.diff(offsets_of(array))
        if array.null_count:
            lengths = lengths[array.is_valid().to_numpy(zero_copy_only=False)]
        self._lengths(int(lengths.min()), int(lengths.max()), int(lengths.sum()))

    def _extremes(self, least: Any, most: Any) -> None:
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)

    def _lengths(self, shortest: int, longest: int, total: int) -> None:
        self.shortest = shortest if self.shortest is None else min(self.shortest, shortest)
        self.longest = max(self.longest, longest)
        self.length_sum += total

    def merge(self, other: ColumnStatistics) -> None:
        """Take in the statistics of other rows."""
        self.finalize()
        other.finalize()
        self.rows += other.rows
        self.nulls += other.nulls
        self.nans += other.nans
        if other.least is not None:
            self._extremes(other.least, other.most)
        if other.shortest is not None:
            self._lengths(other.shortest, other.longest, other.length_sum)
        self.different.merge(other.different)

    # -- what is sampled

    def _sampled(self) -> pa.DataType | None:
        """The type of what a sample keeps: numbers and times themselves, of strings and lists the length."""
        if self.is_text or self._list:
            return pa.int32()
        return self.column_path.type if self._number or pa.types.is_decimal(self.column_path.type) else None

    def sample(self, array: pa.Array, chosen: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], Valid]:
        """What a sample keeps of the chosen rows: values as they are stored, and which of them are not null."""
        if self.is_text or self._list:
            offsets = offsets_of(array)
            values = offsets[chosen + 1] - offsets[chosen]
        else:
            values = raw_values(array)[chosen]
        return values, valid_at(array, chosen)

    # -- the outcome

    def column(self, quantiles: Sequence[Quantile], rank_error: float) -> ColumnDocument:
        """The column of the document.

        :param quantiles: of what was sampled.
        """
        self.finalize()
        type_ = self.column_path.type
        measured = self.is_text or self._list
        lengths = None
        if self.shortest is not None:
            mean = self.length_sum / (self.rows - self.nulls)
            lengths = Lengths(self.shortest, mean, self.longest, list(quantiles))
        scalar = not (self._struct or self._list or pa.types.is_null(type_))
        return ColumnDocument(
            self.column_path.name, "struct" if self._struct else str(type_), self.rows, self.nulls,
            self.nulls / self.rows if self.rows else 0.0,
            self.nans if self._floating else None,
            self._shown(self.least), self._shown(self.most),
            self.different.distinct if scalar else None,
            [] if measured else list(quantiles), rank_error if quantiles else 0.0, lengths,
        )  # fmt: skip

    def _shown(self, value: Any) -> Any:
        """An extreme as JSON."""
        if value is None:
            return None
        type_ = self.column_path.type
        if pa.types.is_string(type_):
            text = bytes(value[: 4 * LONGEST_TEXT + 4]).decode("utf-8", "ignore")
            return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
        if pa.types.is_binary(type_):
            return value.hex() if len(value) <= LONGEST_TEXT else value[: LONGEST_TEXT - 1].hex() + "…"
        if isinstance(value, int) and not pa.types.is_boolean(type_) and not pa.types.is_integer(type_):
            return json_value(pa.scalar(value, _storage(type_)).cast(type_))
        return json_value(pa.scalar(bool(value) if pa.types.is_boolean(type_) else value, type_))

    # -- between processes

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        self.finalize()
        return {
            "counts": [self.rows, self.nulls, self.nans, self.shortest, self.longest, self.length_sum],
            "extremes": [_packed(self.least), _packed(self.most)],
            "hashes": base64.b64encode(self.different.hashes.tobytes()).decode(),
        }

    def load(self, data: dict[str, Any]) -> None:
        """The inverse of :meth:`as_dict`, into statistics that are empty."""
        self.rows, self.nulls, self.nans, self.shortest, self.longest, self.length_sum = data["counts"]
        self.least, self.most = (_unpacked(self.column_path.type, value) for value in data["extremes"])
        self.different.replace(np.frombuffer(base64.b64decode(data["hashes"]), np.uint64))


def add_all(
    statistics: Sequence[ColumnStatistics],
    arrays: Sequence[pa.Array],
    hashes: Sequence[Hashes | None],
    kernel: ModuleType | None,
    batch: int = 0,
) -> None:
    """Add the columns of one batch, each to its statistics.

    :param statistics: their descriptions for the kernel lie one after the other.
    :param hashes: where the hashes of each go; ``None``: nowhere.
    :param kernel: ``None``: numpy does it.
    :param batch: where the description of the batch is, which the kernel looks at as well.
    """
    for column, array, to in zip(statistics, arrays, hashes, strict=True):
        column.describe(array, to, kernel)
    if kernel is not None:
        first, n = address(statistics[0].row), len(arrays[0])
        while kernel.columns(first, len(statistics), n, batch):
            for column in statistics:
                if column.row[KIND] != NOTHING:
                    column.different.make_room(kernel)
    for column, array in zip(statistics, arrays, strict=True):
        column.take(array)


def _double(ordered: int) -> float:
    """The number that has this place in the order of all."""
    bits = ordered if ordered >= 0 else ordered ^ _LARGEST
    return float(np.array([bits], np.int64).view(np.float64)[0])


def _storage(type_: pa.DataType) -> pa.DataType:
    return pa.int32() if type_.bit_width == 32 else pa.int64()


def _packed(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if value is None or isinstance(value, int | float) else str(value)


def _unpacked(type_: pa.DataType, value: Any) -> Any:
    if isinstance(value, str):
        if pa.types.is_decimal(type_):
            from decimal import Decimal

            return Decimal(value)
        return base64.b64decode(value)
    return value


__all__ = ["LONGEST_TEXT", "ColumnPath", "ColumnStatistics", "add_all", "column_paths", "parts"]
