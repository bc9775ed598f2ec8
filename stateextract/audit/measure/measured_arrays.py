"""Arrow arrays as numpy sees them: offsets, numbers as 64 bits, and how many bytes values take.

What ``decoded_bytes`` means is defined here (``docs/statistics.md``): by type and content, so that it does not depend on how
values were cut into batches. May import pyarrow and numpy.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.audit.measure.selected_rows import compiled
from stateextract.columnar.arrow.numpy_views import Numbers, address, is_list, offsets_of

LENGTH = 4
"""Bytes that count for the length of a string, list or map."""


def is_bytes(type_: pa.DataType) -> bool:
    """Strings and binary values of any length."""
    return bool(pa.types.is_string(type_) or pa.types.is_binary(type_))


def list_parts(array: pa.Array) -> tuple[npt.NDArray[np.int32], list[pa.Array]]:
    """The offsets of lists or maps, and what they point into: the elements, or keys and items."""
    children = [array.keys, array.items] if pa.types.is_map(array.type) else [array.values]
    return offsets_of(array), children


def struct_fields(array: pa.Array) -> list[pa.Array]:
    """The fields of structs; null where the struct is."""
    return array.flatten() if array.null_count else [array.field(i) for i in range(array.type.num_fields)]


def is_number(type_: pa.DataType) -> bool:
    """Numbers and times of at most 64 bits."""
    return type_.id in _DTYPES


def stored_type(type_: pa.DataType) -> Any:
    """How numpy sees values of a type: numbers and times as numbers, decimals as bytes."""
    return _DTYPES[type_.id] if is_number(type_) else np.dtype(f"V{type_.bit_width // 8}")


def raw_values(array: pa.Array) -> npt.NDArray[Any]:
    """Values of fixed width as they are stored, nulls as whatever is there."""
    dtype = stored_type(array.type)
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype)[array.offset : array.offset + len(array)]


def valid_at(array: pa.Array, positions: Numbers) -> npt.NDArray[np.bool_] | None:
    """Which of the values at these positions are not null; ``None``: all values of the array are not."""
    if not array.null_count:
        return None
    bits = positions + array.offset
    found: npt.NDArray[np.uint8] = np.frombuffer(array.buffers()[0], np.uint8)[bits >> 3] >> (bits & 7).astype(np.uint8)
    return (found & 1).astype(np.bool_)


def canonical(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Floating point numbers with one NaN and one zero."""
    doubles = values.astype(np.float64) + 0.0
    nan = np.isnan(doubles)
    if nan.any():
        doubles[nan] = np.nan
    return doubles


def fixed_values(array: pa.Array) -> list[npt.NDArray[Any]]:
    """Values of fixed width as one int64 each (floating point numbers as float64), or several.

    Nulls are whatever is there.
    """
    type_ = array.type
    if pa.types.is_boolean(type_):
        return [np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False), np.int64)]
    if pa.types.is_null(type_):
        return [np.zeros(len(array), np.int64)]
    width = type_.bit_width // 8
    if is_number(type_):
        values = raw_values(array)
        if values.dtype.kind == "f":
            return [values.astype(np.float64, copy=False)]
        return [values.view(np.int64) if width == 8 else values.astype(np.int64)]
    words = np.zeros((len(array), -(-width // 8)), np.int64)
    data = np.frombuffer(array.buffers()[1], np.uint8)[array.offset * width : (array.offset + len(array)) * width]
    words.view(np.uint8).reshape(len(array), words.shape[1] * 8)[:, :width] = data.reshape(len(array), width)
    return [np.ascontiguousarray(words[:, i]) for i in range(words.shape[1])]


class Sizer:
    """How many bytes values of a type take; the type is looked at once, as asking takes longer than adding up.

    Below a null there must be nulls, zeros and empty values only, as decoders leave it.
    """

    def __init__(self, type_: pa.DataType) -> None:
        self._bytes, self._lists, self._map = is_bytes(type_), is_list(type_), pa.types.is_map(type_)
        self.inner: list[Sizer] = []
        self.width: int | None = None
        if pa.types.is_struct(type_):
            self.inner = [Sizer(f.type) for f in type_]
        elif self._lists:
            types = [type_.key_type, type_.item_type] if self._map else [type_.value_type]
            self.inner = [Sizer(t) for t in types]
        self._fixed = sum(part.width for part in self.inner if part.width is not None)
        self._varying = [(i, part) for i, part in enumerate(self.inner) if part.width is None]
        if not (self._bytes or self._lists or self._varying):
            self.width = self._fixed if pa.types.is_struct(type_) else _width(type_)

    def most(self, longest: Iterator[int]) -> int | None:
        """No value takes more bytes than that; ``None`` where it is not known.

        :param longest: the length of the longest of each string, in the order in which they are in structs.
        """
        if self.width is not None:
            return self.width
        if self._bytes:
            return LENGTH + next(longest)
        if self._lists:
            return None
        total = self._fixed
        for _, part in self._varying:
            inner = part.most(longest)
            if inner is None:
                return None
            total += inner
        return total

    def before(self, array: pa.Array, positions: Numbers) -> Numbers:
        """How many bytes the values before each position take, counted from one point for all of them.

        :param positions: from 0 up to the number of values.
        """
        if self.width is not None:
            return positions * self.width
        if self._bytes:
            offsets: Numbers = offsets_of(array)[positions]
            return positions * LENGTH + offsets
        if not self._lists:
            total = positions * self._fixed
            for i, part in self._varying:
                total = total + part.before(array.field(i), positions)
            return total
        at = offsets_of(array)[positions].astype(np.int64)
        total = positions * LENGTH + at * self._fixed
        for i, part in self._varying:
            total += part.before(self._child(array, i), at)
        return total

    def _child(self, array: pa.Array, i: int) -> pa.Array:
        return (array.items if i else array.keys) if self._map else array.values

    def each(self, array: pa.Array) -> Numbers:
        """How many bytes each value takes."""
        n = len(array)
        kernel = compiled(8 * n)
        if kernel is None:
            return np.diff(self.before(array, np.arange(n + 1)))
        sizes = np.full(n, self.least, np.int64)
        self._add_each(kernel, array, sizes)
        return sizes

    @property
    def least(self) -> int:
        """What a value takes whose strings and lists are empty."""
        if self.width is not None:
            return self.width
        return LENGTH if self._bytes or self._lists else self._fixed + sum(part.least for _, part in self._varying)

    def _add_each(self, kernel: ModuleType, array: pa.Array, sizes: Numbers) -> None:
        """Add what each value takes beyond the least."""
        n = len(sizes)
        if self._bytes:
            offsets = offsets_of(array)
            kernel.spans(address(offsets), 0, n, 1, address(sizes))
        elif not self._lists:
            for i, part in self._varying:
                part._add_each(kernel, array.field(i), sizes)
        else:
            offsets, each, inner = offsets_of(array), 0, []
            for i, part in enumerate(self.inner):
                flat = part.flat(self._child(array, i))
                if flat is None:
                    sizes += np.diff(part.before(self._child(array, i), offsets.astype(np.int64)))
                else:
                    each += flat[0]
                    inner += flat[1]
            kernel.spans(address(offsets), address(inner[0]) if inner else 0, n, each, address(sizes))
            for more in inner[1:]:
                kernel.spans(address(offsets), address(more), n, 0, address(sizes))

    def flat(self, array: pa.Array) -> tuple[int, list[npt.NDArray[np.int32]]] | None:
        """What a value takes at least, and the offsets of the strings in it; ``None`` where there is a list in it."""
        if self._lists:
            return None
        if self._bytes:
            return LENGTH, [offsets_of(array)]
        inner = []
        for i, part in self._varying:
            flat = part.flat(array.field(i))
            if flat is None:
                return None
            inner += flat[1]
        return self.least, inner


def _width(type_: pa.DataType) -> int:
    if pa.types.is_boolean(type_):
        return 1
    return 0 if pa.types.is_null(type_) else int(type_.bit_width) // 8


_DTYPES: dict[int, Any] = {
    type_.id: dtype
    for type_, dtype in (
        (pa.int8(), np.int8), (pa.int16(), np.int16), (pa.int32(), np.int32), (pa.int64(), np.int64),
        (pa.uint8(), np.uint8), (pa.uint16(), np.uint16), (pa.uint32(), np.uint32), (pa.uint64(), np.uint64),
        (pa.float32(), np.float32), (pa.float64(), np.float64), (pa.date32(), np.int32), (pa.timestamp("us"), np.int64),
        (pa.time32("ms"), np.int32), (pa.time64("us"), np.int64), (pa.duration("us"), np.int64),
    )
}  # fmt: skip


__all__ = [
    "LENGTH", "Sizer", "canonical", "fixed_values", "is_bytes", 
    "is_number", "list_parts", "raw_values", "stored_type", "struct_fields", "valid_at",
]  # fmt: skip
