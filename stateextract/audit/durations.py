"""Times and durations as people write them in options. Imports the standard library and errors only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from stateextract.errors import UsageError

_UNITS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST = 10_000 * 366 * _UNITS["d"]
_FIRST, _LAST = -62_135_596_800_000, 253_402_300_799_999  # the milliseconds that ISO 8601 has a year for
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)")


def milliseconds(text: str, option: str) -> int:
    """``7d``, ``12h``, ``30 min``, ``1.5s``, ``200ms``.

    :raises UsageError: for anything else.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{option} {text!r} is not a duration", expected="a number with ms, s, min, h or d, as in 30d")
    length = float(match[1]) * _UNITS[match[2]]
    if length > _LONGEST:
        raise UsageError(f"{option} {text!r} is too long", expected="at most 10,000 years")
    return round(length)


def moment(text: str, option: str) -> int:
    """Milliseconds since 1970 of a time in ISO 8601, without a zone in UTC, or of such a number.

    :raises UsageError: for anything else.
    """
    if re.fullmatch(r"-?\d{9,}", text):
        if len(text) > 20 or not _FIRST <= int(text) <= _LAST:
            raise UsageError(f"{option} {text!r} is not a time", expected="milliseconds of the years 1 to 9999")
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is not a time", expected="ISO 8601 as in 2026-11-28T12:00:00Z, or milliseconds since 1970"
        ) from None
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time
    return round(time.timestamp() * 1000)


def times_to_live(texts: Iterable[str], option: str) -> dict[str, int]:
    """Milliseconds by what they are for, of ``[[OPERATOR/]STATE=]DURATION`` (:class:`~audit.statistics.StatisticsOptions`).

    :raises UsageError: for anything else.
    """
    by_name = {}
    for text in texts:
        name, _, duration = text.rpartition("=")
        by_name[name] = milliseconds(duration, option)
    return by_name


def text_duration(ms: int) -> str:
    """``3 d``: with the largest unit of which there is one, floored."""
    for unit in ("d", "h", "min", "s"):
        if ms >= _UNITS[unit]:
            return f"{ms // _UNITS[unit]} {unit}"
    return f"{ms} ms"
