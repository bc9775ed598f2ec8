"""Texts of dates and times as Java's ``toString`` makes them, and of what is in JSON."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from stateextract.columnar.convert.dates import civil_date, date_text, year_text

_TWO: Final = tuple(f"{n:02}" for n in range(60))
_MINUTES: Final = tuple(f"{n // 60:02}:{n % 60:02}" for n in range(24 * 60))


def time_text(hour: int, minute: int, second: int, nanos: int) -> str:
    """A time of day with seconds; the fraction has three, six or nine digits, or is left out."""
    return _time_text(60 * hour + minute, second, nanos)


def _time_text(minute: int, second: int, nanos: int) -> str:
    """:param minute: of the day."""
    text = f"{_MINUTES[minute]}:{_TWO[second]}"
    if not nanos:
        return text
    if nanos % 1000:
        return f"{text}.{nanos:09}"
    return f"{text}.{nanos // 1000:06}" if nanos % 1_000_000 else f"{text}.{nanos // 1_000_000:03}"


def date_time_text(parts: Sequence[int]) -> str:
    """A date, ``T`` and a time of day."""
    year, month, day, hour, minute, second, nanos = parts
    return f"{date_text(year, month, day)}T{time_text(hour, minute, second, nanos)}"


def offset_text(seconds: int) -> str:
    """``ZoneOffset.toString()``."""
    if seconds == 0:
        return "Z"
    sign, seconds = ("-", -seconds) if seconds < 0 else ("+", seconds)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return f"{text}:{seconds % 60:02}" if seconds % 60 else text


def zoned_text(moment: Sequence[int], offset: int | str | None, zone: str | None) -> str:
    """A date and time with its offset, as far as that is written, and its zone in brackets."""
    text = date_time_text(moment)
    if offset is not None:
        text += offset if isinstance(offset, str) else offset_text(offset)
    if zone is None:
        return text
    return text + zone if offset is None and (zone == "Z" or zone[:1] in "+-") else f"{text}[{zone}]"


def year_month_text(year: int, month: int) -> str:
    """``YearMonth.toString()``."""
    return f"{year_text(year)}-{month:02}"


def month_day_text(month: int, day: int) -> str:
    """``MonthDay.toString()``."""
    return f"--{month:02}-{day:02}"


def period_text(years: int, months: int, days: int) -> str:
    """``Period.toString()``."""
    parts = [f"{n}{unit}" for n, unit in ((years, "Y"), (months, "M"), (days, "D")) if n]
    return "P" + ("".join(parts) or "0D")


def instant_text(seconds: int, nanos: int) -> str:
    """``Instant`` in ISO 8601, in the proleptic calendar, for any year."""
    days, of_day = divmod(seconds, 86400)
    return f"{_day_text(days)}T{_time_text(of_day // 60, of_day % 60, nanos)}Z"


def moment_text(millis: int) -> str:
    """The same of milliseconds."""
    days, of_day = divmod(millis, 86_400_000)
    second, fraction = divmod(of_day, 1000)
    text = f"{_day_text(days)}T{_MINUTES[second // 60]}:{_TWO[second % 60]}"
    return f"{text}.{fraction:03}Z" if fraction else text + "Z"


@lru_cache(maxsize=1 << 12)
def _day_text(days: int) -> str:
    return date_text(*civil_date(days))


def duration_text(seconds: int, nanos: int) -> str:
    """Seconds with their fraction in ISO 8601: ``PT90.5S``. Nanoseconds count upwards, also of negative durations."""
    total = seconds * 10**9 + nanos
    sign, total = ("-", -total) if total < 0 else ("", total)
    whole, fraction = divmod(total, 10**9)
    text = f"{sign}{whole}"
    if fraction:
        text += f".{fraction:09}".rstrip("0")
    return f"PT{text}S"


def shortest_single(value: float) -> str:
    """The shortest decimal that gives this single-precision number back."""
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if struct.pack(">f", float(text)) == struct.pack(">f", value):
            return repr(float(text))
    return repr(float(value))
