"""From wire values to the user's: dates, times, decimals, names. Whole columns at a time, for both decoders.

:func:`apply_logical` takes an array of a layout's wire type and returns one of its Arrow type. It walks structs, lists
and maps down to the ``Logical`` nodes and hands each of those columns to its function in ``CONVERSIONS`` (at the
bottom); what has no ``Logical`` below is returned as it is. Rows that are null, or that lie below a null, may hold any
bytes: a mask of the *live* rows goes along, and nothing outside of it is looked at.

Java's rules hold: ``BigDecimal.toString()``, the proleptic ISO calendar, nanoseconds that count forwards from the
second below, also before 1970. Impossible values (month 13) are :class:`FormatError`; values that are right but do not
fit are refused or bent as the policy says. The sentinels for null are those of Flink's ``InstantSerializer``,
``DateSerializer``, ``SqlTimestampSerializer``, ``LocalDateSerializer``, ``LocalTimeSerializer`` and
``LocalDateTimeSerializer``.

May import layouts, the policy, errors, numpy and pyarrow. Must not know of bytes' positions, files, numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.binary import BinaryArray, BinaryMap, BinaryRow, Framed
from stateextract.columnar.conversions import MORE
from stateextract.columnar.layout import (
    Field,
    Layout,
    List,
    Logical,
    Map,
    MaskedStruct,
    Nullable,
    Python,
    Struct,
    Subclasses,
    Switch,
)
from stateextract.columnar.numerals import MAX_DIGIT_BYTES, big_decimal_text, big_integer_text
from stateextract.columnar.policy import Counts, Policy
from stateextract.errors import FormatError, ValueRefusedError

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_LONG: Final = np.iinfo(np.int64)
_INT: Final = np.iinfo(np.int32)
_BYTE_MIN: Final = -128
_BILLION: Final = 1_000_000_000
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MAX_YEAR: Final = 999_999_999
_INSTANT_SECONDS: Final = (-31_557_014_167_219_200, 31_556_889_864_403_199)  # Instant.MIN, Instant.MAX


def apply_logical(array: pa.Array, layout: Layout, policy: Policy, counts: Counts) -> pa.Array:
    """Convert a column of wire values.

    :param array: of the type ``layout.wire_type``; may be a slice.
    :param layout: the layout it was decoded by, with the policy already applied (``apply_policy``).
    :param policy: what to do with values that do not fit.
    :param counts: where bent values are counted.
    :returns: an array of the type ``layout.arrow_type``; ``array`` itself where there is nothing to convert.
    :raises FormatError: a value that Java could not have written.
    :raises ValueRefusedError: a value that does not fit, or a map key that is null.
    """
    return _convert(array, layout, None, _Context(policy, counts))


@dataclass(frozen=True)
class _Context:
    policy: Policy
    counts: Counts


# ---- down the tree


@lru_cache(maxsize=4096)
def _has_logical(node: Layout) -> bool:
    match node:
        case Logical():
            return True
        case MaskedStruct(kind=True) | BinaryRow(kind=True):
            return True
        case Subclasses() if node.subclasses:
            return True
    return any(_has_logical(child) for child in node.children)


def _convert(array: pa.Array, node: Layout, live: Mask | None, ctx: _Context) -> pa.Array:
    """:param live: rows that are not below a null; ``None``: all."""
    if not _has_logical(node):
        return array
    match node:
        case Python() if node.inner is not None:
            return _convert(array, node.inner, live, ctx)
        case Nullable() | Framed():
            return _convert(array, node.inner, live, ctx)
        case Logical():
            valid = _both(live, _validity(array))
            return CONVERSIONS[node.conversion](array, np.ones(len(array), bool) if valid is None else valid, node, ctx)
        case Struct():
            return _convert_struct(array, node.fields, live, ctx)
        case MaskedStruct() | Switch() | Subclasses() | BinaryRow():
            return _convert_struct(array, node.columns, live, ctx)
        case List() | BinaryArray():
            return _convert_list(array, node, live, ctx)
        case Map() | BinaryMap():
            return _convert_map(array, node, live, ctx)
    raise TypeError(f"no way through a {type(node).__name__}")


def _convert_struct(array: pa.Array, fields: Sequence[Field], live: Mask | None, ctx: _Context) -> pa.Array:
    rows = _both(live, _validity(array))
    columns = [f for f in fields if f.layout.wire_type is not None]
    children = [_convert(array.field(i), f.layout, rows, ctx) for i, f in enumerate(columns)]
    type_ = pa.struct([pa.field(f.name, child.type) for f, child in zip(columns, children, strict=True)])
    return pa.Array.from_buffers(type_, len(array), [_bitmap(_validity(array))], children=children)


def _convert_list(array: pa.Array, node: List | BinaryArray, live: Mask | None, ctx: _Context) -> pa.Array:
    offsets, narrow = _elements(array, live)
    values = _convert(narrow(array.values), node.element, None, ctx)
    return _list_array(pa.list_(values.type), array, offsets, values)


def _convert_map(array: pa.Array, node: Map | BinaryMap, live: Mask | None, ctx: _Context) -> pa.Array:
    offsets, narrow = _elements(array, live)
    raw_keys, raw_values = (array.values.field(0), array.values.field(1)) if node.as_list else (array.keys, array.items)
    keys = _convert(narrow(raw_keys), node.key, None, ctx)
    values = _convert(narrow(raw_values), node.value, None, ctx)
    if node.as_list:
        type_ = pa.list_(pa.struct([pa.field("key", keys.type), pa.field("value", values.type)]))
    elif keys.null_count:
        raise ValueRefusedError(
            "a map has a null key", advice="set maps=list to get lists of key and value, where the key may be null"
        )
    else:
        type_ = pa.map_(keys.type, values.type)
    entry = type_.value_type if node.as_list else pa.struct([type_.key_field, type_.item_field])
    return _list_array(type_, array, offsets, pa.Array.from_buffers(entry, len(keys), [None], children=[keys, values]))


def _elements(array: pa.Array, live: Mask | None) -> tuple[npt.NDArray[np.int32], Callable[[pa.Array], pa.Array]]:
    """Offsets that begin at 0, and a function that cuts a child column to the elements of the live lists."""
    offsets = array.offsets.to_numpy() if len(array) else np.zeros(1, np.int32)
    first, last = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    rows = _both(live, _validity(array))
    if rows is None or not lengths[~rows].any():
        return (offsets - offsets[0]).astype(np.int32), lambda child: child.slice(first, last - first)
    keep = pa.array(np.repeat(rows, lengths))
    kept = np.concatenate([[0], np.cumsum(np.where(rows, lengths, 0))]).astype(np.int32)
    return kept, lambda child: child.slice(first, last - first).filter(keep)


def _list_array(type_: pa.DataType, like: pa.Array, offsets: npt.NDArray[np.int32], values: pa.Array) -> pa.Array:
    buffers = [_bitmap(_validity(like)), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(type_, len(like), buffers, children=[values])


# ---- masks and plain columns


def _validity(array: pa.Array) -> Mask | None:
    if array.null_count == 0:
        return None
    bits = np.frombuffer(array.buffers()[0], np.uint8)
    first = array.offset % 8
    used = bits[array.offset // 8 : (array.offset + len(array) + 7) // 8]
    return np.unpackbits(used, bitorder="little")[first : first + len(array)].view(np.bool_)


def _both(left: Mask | None, right: Mask | None) -> Mask | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _bitmap(valid: Mask | None) -> pa.Buffer | None:
    return None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _ints(array: pa.Array, valid: Mask, dead: int = 0) -> Ints:
    """A column's integers, ``dead`` in the rows that are not valid."""
    if len(array) == 0:
        return np.zeros(0, np.int64)
    raw = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())[array.offset : array.offset + len(array)]
    return np.where(valid, raw, dead).astype(np.int64)


def _parts(array: pa.Array, valid: Mask, dead: Sequence[int]) -> list[Ints]:
    """The integers of a struct's fields, by position."""
    return [_ints(array.field(i), valid, fill) for i, fill in enumerate(dead)]


def _array(type_: pa.DataType, numbers: npt.NDArray[Any], valid: Mask) -> pa.Array:
    return pa.Array.from_buffers(type_, len(numbers), [_bitmap(valid), pa.py_buffer(numbers)])


# ---- values that are wrong, and values that do not fit

Describe = Callable[[int], str]


def _require(right: Mask, valid: Mask, describe: Describe) -> None:
    wrong = valid & ~right
    if wrong.any():
        raise FormatError(f"impossible value: {describe(int(wrong.argmax()))}")


def _fitting(fits: Mask, valid: Mask, node: Logical, ctx: _Context, describe: Describe) -> Mask:
    """The valid rows that fit: the others are refused, or counted and become null."""
    wrong = valid & ~fits
    if not wrong.any():
        return valid
    if ctx.policy.out_of_range == "fail":
        raise ValueRefusedError(
            f"{describe(int(wrong.argmax()))} does not fit the type {node.type}",
            advice="set out_of_range=null to get a null, which is counted",
        )
    ctx.counts.out_of_range += int(wrong.sum())
    return valid & fits


# ---- instants


def _timestamps(seconds: Ints, nanos: Ints, valid: Mask, node: Logical, ctx: _Context, describe: Describe) -> pa.Array:
    """Seconds since 1970 and nanoseconds (0 to 999,999,999) behind them, as the type's unit."""
    per_second = _PER_SECOND[node.type.unit]
    step = _BILLION // per_second
    ticks = nanos // step
    (low, low_ticks), (high, high_ticks) = divmod(_LONG.min, per_second), divmod(_LONG.max, per_second)
    above = (seconds > low) | ((seconds == low) & (ticks >= low_ticks))
    below = (seconds < high) | ((seconds == high) & (ticks <= high_ticks))
    valid = _fitting(above & below, valid, node, ctx, describe)
    finer = valid & (nanos % step != 0)
    if finer.any():
        if ctx.policy.timestamps == "refuse":
            raise ValueRefusedError(
                f"{describe(int(finer.argmax()))} has digits below the {_UNIT_NAMES[node.type.unit]}",
                advice="set timestamps=floor (cut off and counted) or timestamps=nanoseconds (which Spark cannot read)",
            )
        ctx.counts.sub_microsecond += int(finer.sum())
    # The product may wrap around near the lowest value; adding the ticks wraps it back.
    return _array(node.type, seconds * per_second + ticks, valid)


_UNIT_NAMES: Final = {"s": "second", "ms": "millisecond", "us": "microsecond"}


def _epoch_ms(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    ms = _ints(array, valid)
    seconds, rest = np.divmod(ms, 1000)
    return _timestamps(seconds, rest * 1_000_000, valid, node, ctx, lambda i: f"the time {ms[i]} ms since 1970")


def _ms_nanos(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    """SQL's timestamps of more than three digits: the nanoseconds count from the millisecond."""
    ms, nanos = _parts(array, valid, (0, 0))

    def describe(i: int) -> str:
        return f"the timestamp of {ms[i]} ms since 1970 and {nanos[i]} ns"

    _require((nanos >= 0) & (nanos < 1_000_000), valid, describe)
    seconds, rest = np.divmod(ms, 1000)
    return _timestamps(seconds, rest * 1_000_000 + nanos, valid, node, ctx, describe)


def _date(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    return _epoch_ms(array, valid & (_ints(array, valid) != _LONG.min), node, ctx)


def _sql_timestamp(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    """``getTime()`` holds the milliseconds that ``getNanos()`` holds too: only its seconds count."""
    ms, nanos = _parts(array, valid, (0, 0))
    valid = valid & (ms != _LONG.min)

    def describe(i: int) -> str:
        return f"the SQL timestamp of {ms[i]} ms since 1970 and {nanos[i]} ns"

    _require((nanos >= 0) & (nanos < _BILLION), valid, describe)
    return _timestamps(ms // 1000, nanos, valid, node, ctx, describe)


def _instant(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    seconds, nanos = _parts(array, valid, (0, 0))
    valid = valid & ~((seconds == _LONG.min) & (nanos == _INT.min))

    def describe(i: int) -> str:
        return f"the instant {seconds[i]} s since 1970 and {nanos[i]} ns"

    possible = (seconds >= _INSTANT_SECONDS[0]) & (seconds <= _INSTANT_SECONDS[1])
    _require(possible & (nanos >= 0) & (nanos < _BILLION), valid, describe)
    return _timestamps(seconds, nanos, valid, node, ctx, describe)


# ---- local dates and times

_MONTH_DAYS: Final = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)
_EPOCH: Final = (1970, 1, 1)
_MIDNIGHT: Final = (0, 0, 0, 0)


def _epoch_days(year: Ints, month: Ints, day: Ints, valid: Mask) -> Ints:
    """Days since 1970-01-01 in the proleptic ISO calendar."""
    year, month, day = (np.where(valid, part, dead) for part, dead in zip((year, month, day), _EPOCH, strict=True))
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    longest = _MONTH_DAYS[np.clip(month, 1, 12) - 1] + ((month == 2) & leap)
    possible = (np.abs(year) <= _MAX_YEAR) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= longest)
    _require(possible, valid, lambda i: f"the date {_iso_date(year[i], month[i], day[i])}")
    # Years that begin in March, so that the leap day is the last one; 400 of them always have 146,097 days.
    march_year = year - (month <= 2)
    era, year_of_era = np.divmod(march_year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    days: Ints = era * 146_097 + day_of_era - 719_468
    return days


def _day_seconds(hour: Ints, minute: Ints, second: Ints, nanos: Ints, valid: Mask) -> Ints:
    possible = (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (second >= 0) & (second < 60)
    possible &= (nanos >= 0) & (nanos < _BILLION)
    _require(possible, valid, lambda i: f"the time of day {hour[i]}:{minute[i]}:{second[i]} and {nanos[i]} ns")
    return hour * 3600 + minute * 60 + second


def _iso_date(year: int, month: int, day: int) -> str:
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _local_date(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    year, month, day = _parts(array, valid, _EPOCH)
    valid = valid & (year != _INT.min)
    days = _epoch_days(year, month, day, valid)
    fits = (days >= _INT.min) & (days <= _INT.max)
    valid = _fitting(fits, valid, node, ctx, lambda i: f"the date {_iso_date(year[i], month[i], day[i])}")
    return _array(node.type, np.where(valid, days, 0).astype(np.int32), valid)


def _local_datetime(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    year, month, day, hour, minute, second, nanos = _parts(array, valid, (*_EPOCH, *_MIDNIGHT))
    no_date, no_time = year == _INT.min, hour == _BYTE_MIN
    _require(no_date == no_time, valid, lambda i: "a date-time of which only the date or only the time is null")
    valid = valid & ~no_date

    def describe(i: int) -> str:
        return f"the date-time {_iso_date(year[i], month[i], day[i])} {hour[i]:02}:{minute[i]:02}:{second[i]:02}"

    days = _epoch_days(year, month, day, valid)
    seconds = days * 86_400 + _day_seconds(hour, minute, second, nanos, valid)
    return _timestamps(seconds, nanos, valid, node, ctx, describe)


def _local_time(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    """``HH:MM:SS`` and 0, 3, 6 or 9 digits behind it, as few as the value needs."""
    hour, minute, second, nanos = parts = _parts(array, valid, _MIDNIGHT)
    valid = valid & (hour != _BYTE_MIN)
    _day_seconds(hour, minute, second, nanos, valid)
    return _times_of_day(parts, valid)


def _times_of_day(parts: Sequence[Ints], valid: Mask) -> pa.Array:
    """``HH:MM:SS`` with digits behind it of hours, minutes, seconds and nanoseconds."""
    nanos = parts[3]
    text = np.zeros((len(valid), 18), np.uint8)
    for part, first, digits in zip(parts, (0, 3, 6, 9), (2, 2, 2, 9), strict=True):
        for i in range(digits):
            text[:, first + i] = ord("0") + part // 10 ** (digits - 1 - i) % 10
    text[:, 2] = text[:, 5] = ord(":")
    text[:, 8] = ord(".")
    lengths = np.select([~valid, nanos == 0, nanos % 1_000_000 == 0, nanos % 1000 == 0], [0, 8, 12, 15], 18)
    return _strings(text[np.arange(18) < lengths[:, None]], lengths, valid)


def _day_ms(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    """SQL's TIME: milliseconds since midnight, as text."""
    ms = _ints(array, valid)
    fits = (ms >= 0) & (ms < 86_400_000)
    valid = _fitting(fits, valid, node, ctx, lambda i: f"the time of day {ms[i]} ms since midnight")
    seconds, rest = np.divmod(np.where(valid, ms, 0), 1000)
    return _times_of_day([seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1_000_000], valid)


def _epoch_day(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    return array.view(node.type)


def _strings(characters: npt.NDArray[np.uint8], lengths: Ints, valid: Mask) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    buffers = [_bitmap(valid), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(characters))]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


# ---- names and big numbers


def _labels(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    index = _ints(array, valid)
    known = (index >= 0) & (index < len(node.labels))
    _require(known, valid, lambda i: f"the index {index[i]} among {len(node.labels)} names")
    names = pa.array(node.labels, node.type)
    return names.take(pa.array(index, mask=~valid)) if len(names) else pa.nulls(len(index), node.type)


def _big_integer(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    numbers, _, valid = _big_numbers(array, valid, node, ctx)
    texts = pa.array(numbers.words, mask=~valid).cast(pa.string())
    long = valid & (numbers.lengths > 8)
    if not long.any():
        return texts
    replacements = [big_integer_text(numbers.value(i)) for i in np.flatnonzero(long).tolist()]
    import pyarrow.compute as pc  # takes a while to load, and few columns come here

    return pc.replace_with_mask(texts, pa.array(long), pa.array(replacements, pa.string()))


def _big_decimal(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    """Numbers of up to 8 bytes with a scale from 0 to 38 go through Arrow's decimals, scale by scale: same text."""
    numbers, scales, valid = _big_numbers(array, valid, node, ctx, scaled=True)
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


def _decimal(array: pa.Array, valid: Mask, node: Logical, ctx: _Context) -> pa.Array:
    """SQL's DECIMAL, whose scale stands in its type: an integer, or bytes of two's complement."""
    if pa.types.is_integer(array.type):
        low = _ints(array, valid)
        high = low >> 63
    else:
        numbers, _, valid = _big_numbers(array, valid, node, ctx)
        valid = _fitting(numbers.lengths <= 16, valid, node, ctx, lambda i: f"a decimal of {numbers.lengths[i]} bytes")
        low = numbers.words
        ends = numbers.starts + numbers.lengths
        above = _words(numbers.data, ends - 8, np.where(valid & (numbers.lengths > 8), numbers.lengths - 8, 0))
        high = np.where(numbers.lengths > 8, above, low >> 63)
    bound = 10**node.type.precision
    fits = _below(low.view(np.uint64), high, bound)

    def describe(i: int) -> str:
        return f"the decimal {int(high[i]) << 64 | int(low[i]) & (1 << 64) - 1} / 10^{node.type.scale}"

    valid = _fitting(fits, valid, node, ctx, describe)
    pairs = np.where(valid[:, None], np.stack([low, high], axis=1), 0).astype("<i8")
    return pa.Array.from_buffers(node.type, len(pairs), [_bitmap(valid), pa.py_buffer(pairs)])


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
    array: pa.Array, valid: Mask, node: Logical, ctx: _Context, scaled: bool = False
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
    _require(lengths > 0, valid, lambda i: "a number without digits")
    valid = _fitting(lengths <= MAX_DIGIT_BYTES, valid, node, ctx, lambda i: f"a number of {lengths[i]} bytes")
    scales = _words(data, ends, np.where(valid, tail, 0))
    return _BigNumbers(data, starts, lengths, _words(data, ends - tail, np.where(valid, lengths, 0))), scales, valid


def _words(data: npt.NDArray[np.uint8], ends: Ints, lengths: Ints) -> Ints:
    """The big-endian numbers that end at ``ends``, at most 8 bytes of each; 0 where there are none."""
    words = np.zeros(len(ends), np.uint64)
    fill = np.where((lengths > 0) & (data[np.where(lengths > 0, ends - lengths, 0)] >= 0x80), 0xFF, 0)
    for i in range(8):
        byte = np.where(lengths > i, data[np.where(lengths > i, ends - 1 - i, 0)], fill)
        words |= byte.astype(np.uint64) << np.uint64(8 * i)
    return words.view(np.int64)


CONVERSIONS: Final[dict[str, Callable[[pa.Array, Mask, Logical, _Context], pa.Array]]] = {
    "labels": _labels,
    "big_integer": _big_integer,
    "big_decimal": _big_decimal,
    "date": _date,
    "sql_timestamp": _sql_timestamp,
    "instant": _instant,
    "local_date": _local_date,
    "local_time": _local_time,
    "local_datetime": _local_datetime,
    "epoch_ms": _epoch_ms,
    "epoch_day": _epoch_day,
    "day_ms": _day_ms,
    "ms_micros": _ms_nanos,
    "ms_nanos": _ms_nanos,
    "decimal": _decimal,
    **MORE,
}

__all__ = ["CONVERSIONS", "apply_logical"]
