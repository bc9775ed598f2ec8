"""Figures of one column, or of one field of structs: nulls, extremes, different values, lengths.

Exact but for the number of different values (``distinct.py``); quantiles come of a sample of rows (``sample.py``), for which
a column says what of it is to be sampled. Parts of a column are put together by ``merge``, in any order.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stateextract.audit.arrays import (
    canonical,
    fixed_values,
    is_bytes,
    is_nested_list,
    is_number,
    offsets_of,
    raw_values,
    struct_fields,
    valid_at,
)
from stateextract.audit.distinct import Smallest
from stateextract.audit.document import Column, Lengths, Quantile
from stateextract.audit.hashes import NULL_HASH, Hashes, hashes_of, mixed
from stateextract.audit.rows import compiled
from stateextract.columnar.json_values import json_value

_U64 = pa.uint64().id
Valid = npt.NDArray[np.bool_] | None
LONGEST_TEXT = 256
"""Characters (bytes) of an extreme that are shown; what is longer is cut."""


@dataclass(frozen=True)
class Place:
    """Where a column's figures come from: a column of rows, and the way down its structs."""

    path: tuple[str, ...]
    type: pa.DataType

    @property
    def name(self) -> str:
        return ".".join(self.path)


def places(field: pa.Field) -> list[Place]:
    """The column itself, and the fields of structs below it, in the order of :func:`parts`."""
    found = [Place((field.name,), field.type)]
    if pa.types.is_struct(field.type):
        found += [Place((field.name, *inner.path), inner.type) for child in field.type for inner in places(child)]
    return found


def parts(array: pa.Array) -> Iterator[pa.Array]:
    """The arrays of :func:`places`; a field is null where a struct around it is."""
    yield array
    if pa.types.is_struct(array.type):
        for child in struct_fields(array):
            yield from parts(child)


class ColumnFigures:
    """What is known of a column so far."""

    def __init__(self, place: Place) -> None:
        self.place = place
        type_ = place.type
        self._struct = pa.types.is_struct(type_)
        self._list, self.is_text, self._number = is_nested_list(type_), is_bytes(type_), is_number(type_)
        self._floating = pa.types.is_floating(type_)
        self.rows = self.nulls = self.nans = 0
        self.least: Any = None
        self.most: Any = None
        self.shortest: int | None = None
        self.longest = self.length_sum = 0
        self.different = Smallest()
        self.sampled = self._sampled()
        self.longest_added = 0
        """The length of the longest string that was added last."""

    # -- adding

    def add(self, array: pa.Array, hashes: Hashes | None = None) -> None:
        """Add values.

        :param hashes: where their hashes go, as ``hashes_of`` makes them; ``None``: nowhere. Structs have none.
        """
        n, nulls = len(array), array.null_count
        self.rows += n
        self.nulls += nulls
        if self._struct:
            return
        if nulls == n:
            self.longest_added = 0
            if hashes is not None:
                hashes[:] = NULL_HASH
        elif self._number:
            self._add_numbers(array, hashes)
        elif self.is_text:
            self._add_bytes(array, hashes)
        else:
            self._add_others(array)
            if hashes is not None:
                hashes[:] = hashes_of(array)

    def _add_others(self, array: pa.Array) -> None:
        if self._list:
            self._add_lists(array)
        elif pa.types.is_boolean(self.place.type):
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

    def _add_numbers(self, array: pa.Array, hashes: Hashes | None) -> None:
        kernel = compiled(8 * len(array))
        if kernel is None:
            self._add_few_numbers(array, hashes)
            return
        values = raw_values(array)
        if values.dtype not in (np.int64, np.float64, np.int32):
            values = fixed_values(array)[0]
        valid = (array.buffers()[0].address, array.offset) if array.null_count else (0, 0)
        least, most, nans = self.different.add_numbers(kernel, values, valid, hashes)
        self._take_numbers(array, least, most, nans)

    def _add_few_numbers(self, array: pa.Array, hashes: Hashes | None) -> None:
        values, every = fixed_values(array)[0], hashes_of(array)
        there = array.is_valid().to_numpy(zero_copy_only=False)
        self.different.add_hashes(every[there])
        if hashes is not None:
            hashes[:] = every
        values = values[there]
        numbers = canonical(values[~np.isnan(values)]) if self._floating else values
        least, most = (numbers.min().item(), numbers.max().item()) if len(numbers) else (None, None)
        self._take_numbers(array, least, most, len(values) - len(numbers))

    def _take_numbers(self, array: pa.Array, least: Any, most: Any, nans: int) -> None:
        self.nans += nans
        if least is not None:
            self._extremes(*(_unsigned(array) if self.place.type.id == _U64 else (least, most)))

    def _add_bytes(self, array: pa.Array, hashes: Hashes | None) -> None:
        shortest, longest, least, most = self.different.add_bytes(array, hashes)
        offsets = offsets_of(array)
        self._lengths(shortest, longest, int(offsets[-1] - offsets[0]))
        self.longest_added = longest
        data = memoryview(array.buffers()[2] or b"")
        small, large = (bytes(data[int(offsets[i]) : int(offsets[i + 1])]) for i in (least, most))
        self._extremes(small, large)

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

    def merge(self, other: ColumnFigures) -> None:
        """Take in the figures of other rows."""
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
        return self.place.type if self._number or pa.types.is_decimal(self.place.type) else None

    def sample(self, array: pa.Array, chosen: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], Valid]:
        """What a sample keeps of the chosen rows: values as they are stored, and which of them are not null."""
        if self.is_text or self._list:
            offsets = offsets_of(array)
            values = offsets[chosen + 1] - offsets[chosen]
        else:
            values = raw_values(array)[chosen]
        return values, valid_at(array, chosen)

    # -- the outcome

    def column(self, quantiles: Sequence[Quantile], rank_error: float) -> Column:
        """The column of the document.

        :param quantiles: of what was sampled.
        """
        type_ = self.place.type
        measured = self.is_text or self._list
        lengths = None
        if self.shortest is not None:
            mean = self.length_sum / (self.rows - self.nulls)
            lengths = Lengths(self.shortest, mean, self.longest, list(quantiles))
        scalar = not (self._struct or self._list or pa.types.is_null(type_))
        return Column(
            self.place.name, "struct" if self._struct else str(type_), self.rows, self.nulls,
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
        type_ = self.place.type
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
        return {
            "counts": [self.rows, self.nulls, self.nans, self.shortest, self.longest, self.length_sum],
            "extremes": [_packed(self.least), _packed(self.most)],
            "hashes": base64.b64encode(self.different.hashes.tobytes()).decode(),
        }

    @classmethod
    def from_dict(cls, place: Place, data: dict[str, Any]) -> ColumnFigures:
        """The inverse of :meth:`as_dict`."""
        made = cls(place)
        made.rows, made.nulls, made.nans, made.shortest, made.longest, made.length_sum = data["counts"]
        made.least, made.most = (_unpacked(place.type, value) for value in data["extremes"])
        made.different = Smallest(np.frombuffer(base64.b64decode(data["hashes"]), np.uint64))
        return made


def _unsigned(array: pa.Array) -> tuple[int, int]:
    """The extremes of numbers that int64 has no room for."""
    found = pc.min_max(array)
    return found["min"].as_py(), found["max"].as_py()


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


__all__ = ["LONGEST_TEXT", "ColumnFigures", "Place", "parts", "places"]
