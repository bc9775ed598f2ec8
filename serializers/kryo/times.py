"""``java.time`` in Kryo: Kryo 2 writes the classes' fields by name, Kryo 5 has a short form for each.

Kryo's class: ``serializers.TimeSerializers``; for Kryo 2 the fields of the JDK's classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from serializers.kryo import wire
from serializers.kryo.forms import Single
from serializers.kryo.kryo_values import Obj, objects
from serializers.kryo.wire import Input
from serializers.time_texts import (
    month_day_text,
    offset_text,
    period_text,
    time_text,
    year_month_text,
    zoned_text,
)
from stateextract.errors import FormatError

if TYPE_CHECKING:
    from serializers.kryo.kryo_reader import Body, Form, Kryo

ReadTime = Callable[["Kryo", Input], Any]
_TIME = "java.time."


def _body(kind: str, read: ReadTime) -> Callable[[str], Form]:
    return lambda class_name: Single(class_name, kind, lambda k: partial(read, k), nullable=False)


def _date(year: int, month: int, day: int, at: int) -> tuple[int, int, int]:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        raise FormatError(f"month {month} and day {day} of a date", offset=at)
    return year, month, day


def _time(hour: int, minute: int, second: int, nanos: int, at: int) -> tuple[int, int, int, int]:
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59 and 0 <= nanos <= 999_999_999):
        raise FormatError(f"{hour}, {minute}, {second} and {nanos} as a time of day", offset=at)
    return hour, minute, second, nanos


# ---- Kryo 5


def _date5(k: Kryo, s: Input) -> tuple[int, int, int]:
    start = s.pos
    year = wire.vint_signed(s)
    month = wire.i8(s)
    return _date(year, month, wire.i8(s), start)


def _time5(k: Kryo, s: Input) -> tuple[int, int, int, int]:
    start, parts = s.pos, [0, 0, 0]
    for i in range(3):
        value = wire.i8(s)
        if value < 0:
            parts[i] = ~value
            return _time(parts[0], parts[1], parts[2], 0, start)
        parts[i] = value
    return _time(parts[0], parts[1], parts[2], wire.vint_signed(s), start)


def _date_time5(k: Kryo, s: Input) -> tuple[int, ...]:
    return (*_date5(k, s), *_time5(k, s))


def _offset5(k: Kryo, s: Input) -> int:
    value = wire.i8(s)
    return int(k.fixed.i32(s)) if value == 127 else value * 900


KRYO5: Final[dict[str, Callable[[str], Body | Form]]] = {
    _TIME + "Instant": _body("instant", lambda k, s: (wire.vlong_signed(s), wire.vint_signed(s))),
    _TIME + "Duration": _body("duration", lambda k, s: (k.fixed.i64(s), wire.vint_signed(s))),
    _TIME + "LocalDate": _body("local_date", _date5),
    _TIME + "LocalTime": _body("local_time", _time5),
    _TIME + "LocalDateTime": _body("local_datetime", _date_time5),
    _TIME + "ZoneOffset": _body("text", lambda k, s: offset_text(_offset5(k, s))),
    _TIME + "ZoneId": _body("text", lambda k, s: wire.string(s)),
    _TIME + "ZoneRegion": _body("text", lambda k, s: wire.string(s)),
    _TIME + "ZonedDateTime": _body("text", lambda k, s: zoned_text(_date_time5(k, s), None, wire.string(s) or "")),
    _TIME + "OffsetDateTime": _body("text", lambda k, s: zoned_text(_date_time5(k, s), _offset5(k, s), None)),
    _TIME + "OffsetTime": _body("text", lambda k, s: time_text(*_time5(k, s)) + offset_text(_offset5(k, s))),
    _TIME + "Year": _body("wrapped", lambda k, s: wire.vint_signed(s)),
    _TIME + "YearMonth": _body("text", lambda k, s: year_month_text(wire.vint_signed(s), wire.i8(s))),
    _TIME + "MonthDay": _body("text", lambda k, s: month_day_text(wire.i8(s), wire.i8(s))),
    _TIME + "Period": _body("text", lambda k, s: period_text(*(wire.vint_signed(s) for _ in range(3)))),
}

# ---- Kryo 2


def _instant2(k: Kryo, s: Input) -> tuple[int, int]:
    nanos = wire.zigzag_int(s)
    return wire.zigzag_long(s), nanos


def _date2(k: Kryo, s: Input) -> tuple[int, int, int]:
    start = s.pos
    day = k.fixed.i16(s)
    month = k.fixed.i16(s)
    return _date(wire.zigzag_int(s), month, day, start)


def _time2(k: Kryo, s: Input) -> tuple[int, int, int, int]:
    start = s.pos
    hour, minute = wire.i8(s), wire.i8(s)
    nanos = wire.zigzag_int(s)
    return _time(hour, minute, wire.i8(s), nanos, start)


def _part(k: Kryo, s: Input, name: str) -> Any:
    """A field of a final class, which is never null in these classes."""
    start = s.pos
    found = k.type(_TIME + name).read(s)
    if not isinstance(found, Obj) or found.class_name != _TIME + name:
        raise FormatError(f"a date or time without its {name}", offset=start)
    return found.value


def _zoned2(k: Kryo, s: Input) -> str:
    moment, offset = _part(k, s, "LocalDateTime"), _part(k, s, "ZoneOffset")
    start = s.pos
    zone = k.value(s)
    if not isinstance(zone, Obj) or not isinstance(zone.value, str):
        raise FormatError("a date and time without its zone", offset=start)
    return zoned_text(moment, None if zone.class_name == _TIME + "ZoneOffset" else offset, zone.value)


def _offset_time2(k: Kryo, s: Input) -> str:
    offset = _part(k, s, "ZoneOffset")
    return time_text(*_part(k, s, "LocalTime")) + str(offset)


def _year_month2(k: Kryo, s: Input) -> str:
    month = wire.zigzag_int(s)
    return year_month_text(wire.zigzag_int(s), month)


def _month_day2(k: Kryo, s: Input) -> str:
    day = wire.zigzag_int(s)
    return month_day_text(wire.zigzag_int(s), day)


def _period2(k: Kryo, s: Input) -> str:
    days, months = wire.zigzag_int(s), wire.zigzag_int(s)
    return period_text(wire.zigzag_int(s), months, days)


KRYO2: Final[dict[str, Callable[[str], Body | Form]]] = {
    _TIME + "Instant": _body("instant", _instant2),
    _TIME + "Duration": _body("duration", _instant2),
    _TIME + "LocalDate": _body("local_date", _date2),
    _TIME + "LocalTime": _body("local_time", _time2),
    _TIME + "LocalDateTime": objects("local_datetime", lambda k, s: (*_part(k, s, "LocalDate"), *_part(k, s, "LocalTime"))),
    _TIME + "ZoneOffset": _body("text", lambda k, s: offset_text(wire.zigzag_int(s))),
    _TIME + "ZoneRegion": objects("text", lambda k, s: k.type("java.lang.String").read_or_null(s)),
    _TIME + "ZonedDateTime": objects("text", _zoned2),
    _TIME + "OffsetDateTime": objects(
        "text", lambda k, s: zoned_text(_part(k, s, "LocalDateTime"), None, _part(k, s, "ZoneOffset"))
    ),
    _TIME + "OffsetTime": objects("text", _offset_time2),
    _TIME + "Year": _body("wrapped", lambda k, s: wire.zigzag_int(s)),
    _TIME + "YearMonth": _body("text", _year_month2),
    _TIME + "MonthDay": _body("text", _month_day2),
    _TIME + "Period": _body("text", _period2),
}
