"""Conversions to names, big numbers and decimals, for ``logical.py``: whole columns at a time.

``BigDecimal`` becomes what Java's ``BigDecimal.toString()`` gives. May import layouts, the policy, errors, numpy and
pyarrow. Must not know of bytes' positions, files, numba.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    numbers, _, valid = _big_numbers(array, valid, node, ctx)
    texts = pa.array(numbers.words, mask=~valid).cast(pa.string())
    long = valid & (numbers.lengths > 8)
    if not long.any():
        return texts
    replacements = [big_integer_text(numbers.value(i)) for i in np.flatnonzero(long).tolist()]

    import pyarrow.compute as pc  # takes longer to load than a short command runs, and few need it

    return pc.replace_with_mask(texts, pa.array(long), pa.array(replacements, pa.string()))


def big_decimal(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """Numbers of up to 8 bytes with a scale from 0 to 38 go through Arrow's decimals, scale by scale: same text."""
    numbers, scales, valid = _big_numbers(array, valid, node, ctx, scaled=True)
    if len(scales) <= FEW:
        every = zip(range(len(scales)), scales.tolist(), valid, strict=True)
        return pa.array(
            [big_decimal_text(numbers.value(i), scale) if there else None for i, scale, there in every], pa.string()
        )
    fast = (numbers.lengths <= 8) & (scales >= 0) & (scales <= 38) & valid
    rest = np.flatnonzero(~fast)
    rows, parts = [], []
    for scale in np.unique(scales[fast]).tolist():
        group = np.flatnonzero(fast & (scales == scale))
        rows.append(group)
        parts.append(_decimals(numbers.words[group], scale).cast(pa.string()))
    texts = [big_decimal_text(numbers.value(i), int(scales[i])) if valid[i] else None for i in rest.tolist()]
    parts.append(pa.array(texts, pa.string()))
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate([*rows, rest]))))


def decimal(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """SQL's DECIMAL, whose scale is in its type: an integer, or bytes of two's complement."""
    if pa.types.is_integer(array.type):
        low = integers(array, valid)
        high = low >> 63
    else:
        numbers, _, valid = _big_numbers(array, valid, node, ctx)
        valid = fitting(numbers.lengths <= 16, valid, node, ctx, lambda i: f"a decimal of {numbers.lengths[i]} bytes")
        low = numbers.words
        ends = numbers.starts + numbers.lengths
        above = _words(numbers.data, ends - 8, np.where(valid & (numbers.lengths > 8), numbers.lengths - 8, 0))
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


def _decimals(words: Ints, scale: int) -> pa.Array:
    pairs = np.stack([words, words >> 63], axis=1).astype("<i8")
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(words), [None, pa.py_buffer(pairs)])


@dataclass(frozen=True)
class _BigNumbers:
    """Two's complement numbers of any length.

    :param words: the numbers of up to 8 bytes; of longer ones the lowest 8.
    """

    data: npt.NDArray[np.uint8]
    starts: Ints
    lengths: Ints
    words: Ints

    def value(self, row: int) -> int:
        raw = self.data[self.starts[row] : self.starts[row] + self.lengths[row]].tobytes()
        return int.from_bytes(raw, "big", signed=True)


def _big_numbers(
    array: pa.Array, valid: Mask, node: Logical, ctx: Context, scaled: bool = False
) -> tuple[_BigNumbers, Ints, Mask]:
    _, offset_buffer, data_buffer = array.buffers()
    if not valid.any() or data_buffer is None:
        zeros = np.zeros(len(array), np.int64)
        return _BigNumbers(np.zeros(0, np.uint8), zeros, zeros, zeros), zeros, valid
    data = np.frombuffer(data_buffer, np.uint8)
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    starts, ends = np.where(valid, offsets[:-1], 0), np.where(valid, offsets[1:], 0)
    tail = 4 if scaled else 0
    lengths = np.where(valid, ends - starts - tail, 0)
    require(lengths > 0, valid, lambda i: "a number without digits")
    valid = fitting(lengths <= MAX_DIGIT_BYTES, valid, node, ctx, lambda i: f"a number of {lengths[i]} bytes")
    scales = _words(data, ends, np.where(valid, tail, 0))
    return _BigNumbers(data, starts, lengths, _words(data, ends - tail, np.where(valid, lengths, 0))), scales, valid


def _words(data: npt.NDArray[np.uint8], ends: Ints, lengths: Ints) -> Ints:
    """The big-endian numbers that end at ``ends``, at most 8 bytes of each; 0 where there are none."""
    words = np.zeros(len(ends), np.uint64)
    if not len(data):
        return words.view(np.int64)
    fill = np.where((lengths > 0) & (data[np.where(lengths > 0, ends - lengths, 0)] >= 0x80), 0xFF, 0)
    for i in range(8):
        byte = np.where(lengths > i, data[np.where(lengths > i, ends - 1 - i, 0)], fill)
        words |= byte.astype(np.uint64) << np.uint64(8 * i)
    return words.view(np.int64)
