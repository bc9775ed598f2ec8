"""From wire values to the user's: dates, times, decimals, names. Whole columns at a time, for both decoders.

:func:`apply_logical` takes an array of a layout's wire type and returns one of its Arrow type. It walks structs, lists
and maps down to the ``Logical`` nodes and hands each of those columns to its function in ``CONVERSIONS`` (at the
bottom); what has no ``Logical`` below is returned as it is. Rows that are null, or that lie below a null, may hold any
bytes: a mask of the *live* rows goes along, and nothing outside of it is looked at.

Java's rules hold: ``BigDecimal.toString()``, the proleptic ISO calendar, nanoseconds that count forwards from the
second below, also before 1970. Impossible values (month 13) are :class:`FormatError`; values that are right but do not
fit are refused or changed to fit as the policy says. The sentinels for null are those of Flink's ``InstantSerializer``,
``DateSerializer``, ``SqlTimestampSerializer``, ``LocalDateSerializer``, ``LocalTimeSerializer`` and
``LocalDateTimeSerializer``.

May import layouts, the policy, errors, numpy and pyarrow. Must not know of bytes' positions, files, numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.convert import big_numbers
from stateextract.columnar.convert.conversions import MORE
from stateextract.columnar.convert.dates import date_text
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.convert.wire_columns import (
    Context,
    DescribeValue,
    Ints,
    Mask,
    bitmap,
    both,
    column,
    fitting,
    integers,
    parts_of,
    require,
    validity,
)
from stateextract.columnar.layout import (
    Field,
    Layout,
    ListValue,
    Logical,
    MapValue,
    Nullable,
    Python,
    SkippedValue,
    StructValue,
)
from stateextract.columnar.layout.binary import Framed
from stateextract.errors import ValueRefusedError

_LONG: Final = np.iinfo(np.int64)
_INT: Final = np.iinfo(np.int32)
_BYTE_MIN: Final = -128
_BILLION: Final = 1_000_000_000
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_MAX_YEAR: Final = 999_999_999
_INSTANT_SECONDS: Final = (-31_557_014_167_219_200, 31_556_889_864_403_199)  # Instant.MIN, Instant.MAX


def apply_logical(array: pa.Array, layout: Layout, policy: Policy, counts: ChangeCounts) -> pa.Array:
    """Convert a column of wire values.

    :param array: of the type ``layout.wire_type``; may be a slice.
    :param layout: the layout it was decoded by, with the policy already applied (``apply_policy``).
    :param policy: what to do with values that do not fit.
    :param counts: where changed values are counted.
    :returns: an array of the type ``layout.arrow_type``; ``array`` itself where there is nothing to convert.
    :raises FormatError: a value that Java could not have written.
    :raises ValueRefusedError: a value that does not fit, or a map key that is null.
    """
    return _convert(array, layout, None, Context(policy, counts))


# ---- down the tree


@lru_cache(maxsize=4096)
def _has_logical(node: Layout) -> bool:
    match node:
        case SkippedValue():
            return False
        case Logical():
            return True
        case StructValue():
            return any(_has_logical(f.layout) for f in node.columns)
    return any(map(_has_logical, node.children))


def _convert(array: pa.Array, node: Layout, live: Mask | None, ctx: Context) -> pa.Array:
    """:param live: rows that are not below a null; ``None``: all."""
    if not _has_logical(node):
        return array
    match node:
        case Python() if node.inner is not None:
            return _convert(array, node.inner, live, ctx)
        case Nullable() | Framed():
            return _convert(array, node.inner, live, ctx)
        case Logical():
            valid = both(live, validity(array))
            return CONVERSIONS[node.conversion](array, np.ones(len(array), bool) if valid is None else valid, node, ctx)
        case StructValue():
            return _convert_struct(array, node.columns, live, ctx)
        case ListValue():
            return _convert_list(array, node, live, ctx)
        case MapValue():
            return _convert_map(array, node, live, ctx)
    raise TypeError(f"no way through a {type(node).__name__}")


def _convert_struct(array: pa.Array, fields: Sequence[Field], live: Mask | None, ctx: Context) -> pa.Array:
    rows = both(live, validity(array))
    columns = [f for f in fields if f.layout.wire_type is not None]
    children = [_convert(array.field(i), f.layout, rows, ctx) for i, f in enumerate(columns)]
    type_ = pa.struct([pa.field(f.name, child.type) for f, child in zip(columns, children, strict=True)])
    return pa.Array.from_buffers(type_, len(array), [bitmap(validity(array))], children=children)


def _convert_list(array: pa.Array, node: ListValue, live: Mask | None, ctx: Context) -> pa.Array:
    offsets, narrow = _elements(array, live)
    values = _convert(narrow(array.values), node.element, None, ctx)
    return _list_array(pa.list_(values.type), array, offsets, values)


def _convert_map(array: pa.Array, node: MapValue, live: Mask | None, ctx: Context) -> pa.Array:
    offsets, narrow = _elements(array, live)
    raw_keys, raw_values = (array.values.field(0), array.values.field(1)) if node.as_list else (array.keys, array.items)
    keys = _convert(narrow(raw_keys), node.key, None, ctx)
    values = _convert(narrow(raw_values), node.value, None, ctx)
    if node.as_list:
        type_ = pa.list_(pa.struct([pa.field("key", keys.type), pa.field("value", values.type)]))
    elif keys.null_count:
        raise ValueRefusedError(
            "a map has a null key", advice="set --maps list to get lists of key and value, where the key may be null"
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
    rows = both(live, validity(array))
    if rows is None or not lengths[~rows].any():
        return (offsets - offsets[0]).astype(np.int32), lambda child: child.slice(first, last - first)
    keep = pa.array(np.repeat(rows, lengths))
    kept = np.concatenate([[0], np.cumsum(np.where(rows, lengths, 0))]).astype(np.int32)
    return kept, lambda child: child.slice(first, last - first).filter(keep)


def _list_array(type_: pa.DataType, like: pa.Array, offsets: npt.NDArray[np.int32], values: pa.Array) -> pa.Array:
    buffers = [bitmap(validity(like)), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(type_, len(like), buffers, children=[values])


# ---- instants


def _timestamps(seconds: Ints, nanos: Ints, valid: Mask, node: Logical, ctx: Context, describe: DescribeValue) -> pa.Array:
    """Seconds since 1970 and nanoseconds (0 to 999,999,999) after them, as the type's unit."""
    per_second = _PER_SECOND[node.type.unit]
    step = _BILLION // per_second
    ticks = nanos // step
    (low, low_ticks), (high, high_ticks) = divmod(_LONG.min, per_second), divmod(_LONG.max, per_second)
    above = (seconds > low) | ((seconds == low) & (ticks >= low_ticks))
    below = (seconds < high) | ((seconds == high) & (ticks <= high_ticks))
    valid = fitting(above & below, valid, node, ctx, describe)
    finer = valid & (nanos % step != 0)
    if finer.any():
        if ctx.policy.timestamps == "fail":
            raise ValueRefusedError(
                f"{describe(int(finer.argmax()))} has digits below the {_UNIT_NAMES[node.type.unit]}",
                advice="set --timestamps to floor (cut off and counted) or nanoseconds (which Spark cannot read)",
            )
        ctx.counts.sub_microsecond += int(finer.sum())
    # The product may wrap around near the lowest value; adding the ticks wraps it back.
    return column(node.type, seconds * per_second + ticks, valid)


_UNIT_NAMES: Final = {"s": "second", "ms": "millisecond", "us": "microsecond"}


def _epoch_ms(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    ms = integers(array, valid)
    seconds, rest = np.divmod(ms, 1000)
    return _timestamps(seconds, rest * 1_000_000, valid, node, ctx, lambda i: f"the time {ms[i]} ms since 1970")


def _epoch_ns(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    if node.type.unit == "ns":
        return array.view(node.type)
    ns = integers(array, valid)
    return _timestamps(*np.divmod(ns, _BILLION), valid, node, ctx, lambda i: f"the time {ns[i]} ns since 1970")


def _ms_nanos(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """SQL's timestamps of more than three digits: the nanoseconds count from the millisecond."""
    ms, nanos = parts_of(array, valid, (0, 0))

    def describe(i: int) -> str:
        return f"the timestamp of {ms[i]} ms since 1970 and {nanos[i]} ns"

    require((nanos >= 0) & (nanos < 1_000_000), valid, describe)
    seconds, rest = np.divmod(ms, 1000)
    return _timestamps(seconds, rest * 1_000_000 + nanos, valid, node, ctx, describe)


def _date(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    return _epoch_ms(array, valid & (integers(array, valid) != _LONG.min), node, ctx)


def _sql_timestamp(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """``getTime()`` holds the milliseconds that ``getNanos()`` holds too: only its seconds count."""
    ms, nanos = parts_of(array, valid, (0, 0))
    valid = valid & (ms != _LONG.min)

    def describe(i: int) -> str:
        return f"the SQL timestamp of {ms[i]} ms since 1970 and {nanos[i]} ns"

    require((nanos >= 0) & (nanos < _BILLION), valid, describe)
    return _timestamps(ms // 1000, nanos, valid, node, ctx, describe)


def _instant(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    seconds, nanos = parts_of(array, valid, (0, 0))
    valid = valid & ~((seconds == _LONG.min) & (nanos == _INT.min))

    def describe(i: int) -> str:
        return f"the instant {seconds[i]} s since 1970 and {nanos[i]} ns"

    possible = (seconds >= _INSTANT_SECONDS[0]) & (seconds <= _INSTANT_SECONDS[1])
    require(possible & (nanos >= 0) & (nanos < _BILLION), valid, describe)
    return _timestamps(seconds, nanos, valid, node, ctx, describe)


# ---- local dates and times

_MONTH_DAYS: Final = np.array([-1, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, -1], np.int64)
_DAYS_BEFORE: Final = np.array([0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 0], np.int64)
"""The days of the year before each month, of a year that begins in March."""
_EPOCH: Final = (1970, 1, 1)
_MIDNIGHT: Final = (0, 0, 0, 0)


def _epoch_days(year: Ints, month: Ints, day: Ints, valid: Mask) -> Ints:
    """Days since 1970-01-01 in the proleptic ISO calendar."""
    if not valid.all():
        year, month, day = (np.where(valid, part, dead) for part, dead in zip((year, month, day), _EPOCH, strict=True))
    index = np.clip(month, 0, 13)
    possible = (np.abs(year) <= _MAX_YEAR) & (day >= 1) & (day <= _MONTH_DAYS[index])
    others = np.flatnonzero(~possible)
    if len(others):  # most dates are none of a leap day
        years = year[others]
        leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
        possible[others] = leap & (month[others] == 2) & (day[others] == 29) & (np.abs(years) <= _MAX_YEAR)
    require(possible, valid, lambda i: f"the date {date_text(year[i], month[i], day[i])}")
    # Years that begin in March, so that the leap day is the last one; there is one in 4 years, but none in 3 centuries of 4.
    march_year = year - (month <= 2)
    century = march_year // 100
    days: Ints = march_year * 365 + (march_year >> 2) - century + (century >> 2) + _DAYS_BEFORE[index] + day - 719_469
    return days


def _day_seconds(hour: Ints, minute: Ints, second: Ints, nanos: Ints, valid: Mask) -> Ints:
    possible = (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (second >= 0) & (second < 60)
    possible &= (nanos >= 0) & (nanos < _BILLION)
    require(possible, valid, lambda i: f"the time of day {hour[i]}:{minute[i]}:{second[i]} and {nanos[i]} ns")
    return hour * 3600 + minute * 60 + second


def _local_date(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    year, month, day = parts_of(array, valid, _EPOCH)
    valid = valid & (year != _INT.min)
    days = _epoch_days(year, month, day, valid)
    fits = (days >= _INT.min) & (days <= _INT.max)
    valid = fitting(fits, valid, node, ctx, lambda i: f"the date {date_text(year[i], month[i], day[i])}")
    return column(node.type, np.where(valid, days, 0).astype(np.int32), valid)


def _local_datetime(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    year, month, day, hour, minute, second, nanos = parts_of(array, valid, (*_EPOCH, *_MIDNIGHT))
    no_date, no_time = year == _INT.min, hour == _BYTE_MIN
    require(no_date == no_time, valid, lambda i: "a date-time of which only the date or only the time is null")
    valid = valid & ~no_date

    def describe(i: int) -> str:
        return f"the date-time {date_text(year[i], month[i], day[i])} {hour[i]:02}:{minute[i]:02}:{second[i]:02}"

    days = _epoch_days(year, month, day, valid)
    seconds = days * 86_400 + _day_seconds(hour, minute, second, nanos, valid)
    return _timestamps(seconds, nanos, valid, node, ctx, describe)


def _local_time(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """``HH:MM:SS`` and 0, 3, 6 or 9 digits after it, as few as the value needs."""
    hour, minute, second, nanos = parts = parts_of(array, valid, _MIDNIGHT)
    valid = valid & (hour != _BYTE_MIN)
    _day_seconds(hour, minute, second, nanos, valid)
    return _times_of_day(parts, valid)


def _times_of_day(parts: Sequence[Ints], valid: Mask) -> pa.Array:
    """``HH:MM:SS`` with digits after it of hours, minutes, seconds and nanoseconds."""
    nanos = parts[3]
    text = np.zeros((len(valid), 18), np.uint8)
    for part, first, digits in zip(parts, (0, 3, 6, 9), (2, 2, 2, 9), strict=True):
        for i in range(digits):
            text[:, first + i] = ord("0") + part // 10 ** (digits - 1 - i) % 10
    text[:, 2] = text[:, 5] = ord(":")
    text[:, 8] = ord(".")
    lengths = np.select([~valid, nanos == 0, nanos % 1_000_000 == 0, nanos % 1000 == 0], [0, 8, 12, 15], 18)
    return _strings(text[np.arange(18) < lengths[:, None]], lengths, valid)


def _day_units(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """SQL's and Avro's TIME: milliseconds or microseconds since midnight, as text."""
    number, unit = integers(array, valid), node.conversion.removeprefix("day_")
    per_second = _PER_SECOND[unit]
    fits = (number >= 0) & (number < 86_400 * per_second)
    valid = fitting(fits, valid, node, ctx, lambda i: f"the time of day {number[i]} {unit} since midnight")
    seconds, rest = np.divmod(np.where(valid, number, 0), per_second)
    return _times_of_day([seconds // 3600, seconds // 60 % 60, seconds % 60, rest * (_BILLION // per_second)], valid)


def _epoch_day(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    return array.view(node.type)


def _strings(characters: npt.NDArray[np.uint8], lengths: Ints, valid: Mask) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    buffers = [bitmap(valid), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(characters))]
    return pa.Array.from_buffers(pa.string(), len(lengths), buffers)


CONVERSIONS: Final[dict[str, Callable[[pa.Array, Mask, Logical, Context], pa.Array]]] = {
    "labels": big_numbers.labels,
    "big_integer": big_numbers.big_integer,
    "big_decimal": big_numbers.big_decimal,
    "date": _date,
    "sql_timestamp": _sql_timestamp,
    "instant": _instant,
    "local_date": _local_date,
    "local_time": _local_time,
    "local_datetime": _local_datetime,
    "epoch_ms": _epoch_ms,
    "epoch_day": _epoch_day,
    "epoch_ns": _epoch_ns,
    **dict.fromkeys(("day_ms", "day_us"), _day_units),
    "ms_micros": _ms_nanos,
    "ms_nanos": _ms_nanos,
    "decimal": big_numbers.decimal,
    **MORE,
}
