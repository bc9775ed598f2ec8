"""Arrow values as JSON. The JSON is exact and documented in ``docs/python-api.md``.

==============================  =======================================================================
Arrow                           JSON
==============================  =======================================================================
bool, integers, string          themselves; integers of 64 bits are numbers, not text
float                           a number; ``"NaN"``, ``"Infinity"``, ``"-Infinity"``
binary                          text in hex
decimal                         text
timestamp                       text as in ISO 8601, ``Z`` after it if the type has a time zone
date                            text as in ISO 8601; years beyond 9999 with a sign in front
list; map; struct               array; array of ``{"key": …, "value": …}``; object
null                            ``null``
==============================  =======================================================================
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from stateextract.columnar.convert.dates import civil_date, date_text

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400


def json_value(scalar: pa.Scalar) -> Any:
    """A value as :mod:`json` takes it."""
    if not scalar.is_valid:
        return None
    type_ = scalar.type
    if pa.types.is_struct(type_):
        return {f.name: json_value(scalar[i]) for i, f in enumerate(type_)}
    if pa.types.is_map(type_):
        return [{"key": json_value(entry[0]), "value": json_value(entry[1])} for entry in scalar.values or ()]
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return [json_value(element) for element in scalar.values or ()]
    if pa.types.is_timestamp(type_):
        return iso_timestamp(scalar.value, type_.unit, type_.tz is not None)
    if pa.types.is_date32(type_):
        return iso_date(scalar.value)
    value = scalar.as_py()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, bool | int | float | str) else str(value)


def iso_date(days: int) -> str:
    """``2024-02-29`` of days since 1970, in the proleptic ISO calendar, for any year."""
    return date_text(*civil_date(days))


def iso_timestamp(value: int, unit: str, utc: bool) -> str:
    """``2024-02-29T12:00:00.5Z``: as many digits as there are."""
    per_second = _PER_SECOND[unit]
    seconds, fraction = divmod(value, per_second)
    days, second = divmod(seconds, _DAY)
    digits = str(per_second + fraction)[1:].rstrip("0")
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}" + (f".{digits}" if digits else "")
    return f"{iso_date(days)}T{clock}{'Z' if utc else ''}"
