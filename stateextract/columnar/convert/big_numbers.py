"""Conversions to names, big numbers and decimals, for ``logical.py``: whole columns at a time.

``BigDecimal`` becomes what Java's ``BigDecimal.toString()`` gives. May import layouts, the policy, errors, numpy and
pyarrow. Must not know of bytes' positions, files, numba.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.convert.numerals import MAX_DIGIT_BYTES, big_decimal_text, big_integer_text
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.convert.wire_columns import Context, Ints, Mask, bitmap, fitting, integers, require
from stateextract.columnar.layout import Logical
from stateextract.printable import distinct, lone_surrogates

FEW = 256
"""Values that are converted one by one, since loading what converts columns takes longer."""


def labels(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    index = integers(array, valid)
    known = (index >= 0) & (index < len(node.labels))
    require(known, valid, lambda i: f"the index {index[i]} among {len(node.labels)} names")
    lone = np.array([lone_surrogates(label) for label in node.labels], np.int64)
    if lone.any():
        # Counted where it is met, as in strings; all labels are distinguished, those with such a letter too.
        met = ChangeCounts(lone_surrogates=int(lone[index[valid]].sum()))
        ctx.policy.check(met)
        ctx.counts.lone_surrogates += met.lone_surrogates
    texts = distinct(node.labels)
    if len(index) <= FEW:
        return pa.array([texts[i] if there else None for i, there in zip(index, valid, strict=True)], node.type)
    names = pa.array(texts, node.type)
    return names.take(pa.array(index, mask=~valid)) if len(names) else pa.nulls(len(index), node.type)


def big_integer(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    numbers, valid = _big_numbers(array, valid, node, ctx)
    texts = pa.array(numbers.words, mask=~valid).cast(pa.string())
    long = valid & (numbers.lengths > 8)
    if not long.any():
        return texts
    replacements = [big_integer_text(numbers.value(i)) for i in np.flatnonzero(long).tolist()]

    import pyarrow.compute as pc  # takes longer to load than a short command runs, and few need it

    return pc.replace_with_mask(texts, pa.array(long), pa.array(replacements, pa.string()))


def big_decimal(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    numbers, valid = _big_numbers(array, valid, node, ctx, scaled=True)
    count = len(valid)
    texts, left = _decimal_texts(numbers, valid) if count > FEW else (pa.nulls(count, pa.string()), np.flatnonzero(valid))
    if not len(left):
        return texts
    replacements = [big_decimal_text(numbers.value(i), int(numbers.scales[i])) for i in left.tolist()]
    if len(left) == count:
        return pa.array(replacements, pa.string())

    import pyarrow.compute as pc

    chosen = np.zeros(count, np.bool_)
    chosen[left] = True
    return pc.replace_with_mask(texts, pa.array(chosen), pa.array(replacements, pa.string()))


def _decimal_texts(numbers: _BigNumbers, valid: Mask) -> tuple[pa.Array, Ints]:
    """The texts of the numbers that the kernel has them of, and the other rows that are not null."""
    from stateextract.columnar.convert.decimal_kernel import MOST_BYTES, decimal_texts

    count = len(valid)
    if not len(numbers.data) or not decimal_texts.is_usable:
        return pa.nulls(count, pa.string()), np.flatnonzero(valid)
    rows, ends = valid.astype(np.uint8), np.empty(count + 1, np.int32)
    out = np.empty(MOST_BYTES * (count + 1), np.uint8)
    data, offsets = numbers.padded, numbers.offsets
    left = decimal_texts(
        data.ctypes.data + _PADDING, offsets.ctypes.data, rows.ctypes.data, count, out.ctypes.data, ends.ctypes.data
    )
    buffers = [bitmap(valid), pa.py_buffer(ends), pa.py_buffer(out[: ends[-1]].copy())]
    return pa.Array.from_buffers(pa.string(), count, buffers), np.flatnonzero(rows == 2) if left else np.zeros(0, np.int64)


def decimal(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """SQL's DECIMAL, whose scale is in its type: an integer, or bytes of two's complement."""
    if pa.types.is_integer(array.type):
        low = integers(array, valid)
        high = low >> 63
    else:
        numbers, valid = _big_numbers(array, valid, node, ctx)
        valid = fitting(numbers.lengths <= 16, valid, node, ctx, lambda i: f"a decimal of {numbers.lengths[i]} bytes")
        low = numbers.words
        above = numbers.word(numbers.ends - 8, np.where(valid & (numbers.lengths > 8), numbers.lengths - 8, 0))
        high = np.where(numbers.lengths > 8, above, low >> 63)
    bound = 10**node.type.precision
    fits = _below(low.view(np.uint64), high, bound)

    def describe(i: int) -> str:
        return f"the decimal {int(high[i]) << 64 | int(low[i]) & (1 << 64) - 1} / 10^{node.type.scale}"

    valid = fitting(fits, valid, node, ctx, describe)
    pairs = np.where(valid[:, None], np.stack([low, high], axis=1), 0).astype("<i8")
    return pa.Array.from_buffers(node.type, len(pairs), [bitmap(valid), pa.py_buffer(pairs)])


def _below(low: npt.NDArray[np.uint64], high: Ints, bound: int) -> Mask:
    """Whether the absolute values of 128-bit numbers are below a bound."""
    negative = high < 0
    size_low = np.where(negative, ~low + np.uint64(1), low)
    size_high = np.where(negative, ~high + (low == 0), high).view(np.uint64)
    bound_high, bound_low = np.uint64(bound >> 64), np.uint64(bound & (1 << 64) - 1)
    below: Mask = (size_high < bound_high) | ((size_high == bound_high) & (size_low < bound_low))
    return below


_PADDING: Final = 8


class _BigNumbers:
    """Two's complement numbers of any length, big-endian.

    :ivar offsets: ``int32``: where each row begins in the data, and the end of the last one.
    :ivar lengths: of the numbers, 0 where there are none.
    """

    def __init__(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], valid: Mask, tail: int) -> None:
        self.data = data
        self.offsets = offsets
        self.tail = tail
        self.ends = offsets[1:].astype(np.int64) - tail
        self.lengths = self.ends - offsets[:-1]
        if not valid.all():
            self.lengths[~valid] = 0

    @cached_property
    def padded(self) -> npt.NDArray[np.uint8]:
        """The data after eight bytes."""
        return np.concatenate([np.zeros(_PADDING, np.uint8), self.data])

    @cached_property
    def words(self) -> Ints:
        """The numbers of up to 8 bytes; of longer ones the lowest 8; 0 where there are none."""
        return self.word(self.ends, self.lengths)

    @cached_property
    def scales(self) -> Ints:
        """What comes after the numbers."""
        return self.word(self.ends + self.tail, np.where(self.lengths > 0, self.tail, 0))

    def word(self, ends: Ints, lengths: Ints) -> Ints:
        """The big-endian numbers that end at ``ends``, at most 8 bytes of each."""
        count = len(self.padded) - 7
        every = np.ndarray((count,), ">i8", self.padded, strides=(1,))
        eight = every[np.where(lengths > 0, ends, 0)].astype(np.int64)
        unused = 8 * np.clip(8 - lengths, 0, 7)
        return np.where(lengths > 0, eight << unused >> unused, 0)

    def value(self, row: int) -> int:
        raw = self.data[self.ends[row] - self.lengths[row] : self.ends[row]].tobytes()
        return int.from_bytes(raw, "big", signed=True)


def _big_numbers(
    array: pa.Array, valid: Mask, node: Logical, ctx: Context, scaled: bool = False
) -> tuple[_BigNumbers, Mask]:
    _, offset_buffer, data_buffer = array.buffers()
    tail = 4 if scaled else 0
    if not valid.any() or data_buffer is None:
        none = np.zeros(len(array), np.bool_)
        return _BigNumbers(np.zeros(0, np.uint8), np.zeros(len(array) + 1, np.int32), none, tail), valid
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    numbers = _BigNumbers(np.frombuffer(data_buffer, np.uint8), offsets, valid, tail)
    lengths = numbers.lengths
    require(lengths > 0, valid, lambda i: "a number without digits")
    return numbers, fitting(lengths <= MAX_DIGIT_BYTES, valid, node, ctx, lambda i: f"a number of {lengths[i]} bytes")
