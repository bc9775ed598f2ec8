"""One comparable form for what we decode and for what others wrote down.

Three notations meet: Arrow values, the JSON of Flink's files (``flink-files/expected/README.md``) and the ``$``-tagged
JSON of the cases (``cases/README.md``). The last two are mapped to *our* types, with the floors that the documentation
promises (microseconds; lone surrogates replaced), so that equality means equality of what the user gets.

=======================  ==============================================================================
Arrow                    comparable
=======================  ==============================================================================
bool, integers, text     themselves; bytes as ``bytes``
floats                   ``Real("1.5")``, by shortest decimal: NaN equals NaN, -0.0 does not equal 0.0
timestamps, dates        integers: microseconds, days
struct                   tuple of (name, value), in the type's order
list                     tuple; a set's or map's: :class:`Bag`, equal to a tuple in any order
map                      tuple of (key, value), sorted
=======================  ==============================================================================
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any

import pyarrow as pa

from serializers.names import java_field, simple_name
from tests.conformance.json_notation import ANY, of_expected, of_json

_SURROGATE = re.compile("[\ud800-\udfff]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Real(str):
    """A floating-point number as text."""


class Bag(tuple[Any, ...]):
    """Elements in any order: equals every tuple of the same elements."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and len(self) == len(other) and same_rows(self, other) is None

    def __ne__(self, other: object) -> bool:
        return not self == other


def loose(value: Any) -> str:
    """A sort key that does not see the order of lists: equal values have equal keys."""
    if isinstance(value, tuple):
        return "(" + ",".join(sorted(map(loose, value))) + ")"
    return f"{type(value).__name__}:{value!r}"


def same_rows(expected: Iterable[Any], actual: Iterable[Any]) -> str | None:
    """Compare rows as bags. ``None`` if they are the same, else what differs first."""
    left, right = (sorted(((loose(row), row) for row in rows), key=itemgetter(0)) for rows in (expected, actual))
    if len(left) != len(right):
        return f"{len(left)} rows were expected, {len(right)} came"
    at = 0
    while at < len(left):
        upto = at
        while upto < len(left) and left[upto][0] == left[at][0]:
            upto += 1
        rest = [row for _, row in right[at:upto]]
        for _, row in left[at:upto]:
            if row not in rest:
                return f"expected {row!r}, nearest is {right[at][1]!r}"
            rest.remove(row)
        at = upto
    return None


# ---- ours


def comparable(value: Any, type_: pa.DataType) -> Any:
    """What we decoded: an Arrow scalar, or a Python value of this Arrow type (an integer for times also beyond Python's)."""
    if isinstance(value, pa.Scalar):
        if not value.is_valid:
            return None
        if pa.types.is_timestamp(type_) or pa.types.is_date32(type_):
            return value.value
        if type_ == ANY:
            return of_json(value.as_py()["json"])
        if pa.types.is_struct(type_):
            return tuple((f.name, comparable(value[i], f.type)) for i, f in enumerate(type_))
        if pa.types.is_map(type_):
            pairs = value.values
            items = [(comparable(e[0], type_.key_type), comparable(e[1], type_.item_type)) for e in pairs]
            return tuple(sorted(items, key=loose))
        if pa.types.is_list(type_) or pa.types.is_large_list(type_):
            return tuple(comparable(element, type_.value_type) for element in value.values)
        return comparable(value.as_py(), type_)
    if value is None:
        return None
    if pa.types.is_floating(type_):
        return _real(struct.unpack(">f", struct.pack(">f", value))[0] if pa.types.is_float32(type_) else value)
    if type_ == ANY:
        return of_json(value["json"])
    if pa.types.is_struct(type_):
        return tuple((f.name, comparable(value.get(f.name), f.type)) for f in type_)
    if pa.types.is_map(type_):
        pairs = value.items() if isinstance(value, dict) else value
        items = [(comparable(k, type_.key_type), comparable(v, type_.item_type)) for k, v in pairs]
        return tuple(sorted(items, key=loose))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return tuple(comparable(element, type_.value_type) for element in value)
    if pa.types.is_timestamp(type_) and isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(microseconds=1)
    if pa.types.is_date32(type_) and isinstance(value, date):
        return value.toordinal() - _EPOCH.toordinal()
    return value


def _real(value: float) -> Real:
    return Real("NaN" if value != value else repr(float(value)).replace("inf", "Infinity"))


# ---- the notation of Flink's files


def from_expected(value: Any, type_: pa.DataType) -> Any:
    """A value in the notation of ``flink-files/expected``, as the column of this type should hold it."""
    if value is None:
        return None
    if pa.types.is_boolean(type_):
        # Types without columns are booleans: null for those of one value, true for a struct without fields.
        if isinstance(value, dict):
            return None if "tuple" in value else True
        return value
    if type_ == ANY:
        return of_expected(value)
    if pa.types.is_floating(type_):
        return _real(float(_untagged(value)))
    if pa.types.is_integer(type_):
        return int(_untagged(value))
    if pa.types.is_decimal(type_):
        return Decimal(value["decimal"])
    if pa.types.is_string(type_):
        return _text(value)
    if pa.types.is_binary(type_):
        return _binary(value)
    if pa.types.is_timestamp(type_):
        return _micros(value)
    if pa.types.is_date32(type_):
        if isinstance(value, dict):
            return value["date"] if "date" in value else _days(*value["local_date"])
        return value
    if pa.types.is_struct(type_):
        return _struct(value, type_)
    if pa.types.is_map(type_):
        pairs = [(from_expected(k, type_.key_type), from_expected(v, type_.item_type)) for k, v in value["map"]]
        return tuple(sorted(pairs, key=loose))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _list(value, type_.value_type)
    raise TypeError(f"no notation for {type_}: {value!r}")


def _untagged(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1:
        return next(iter(value.values()))
    return value


def _text(value: Any) -> str:
    if isinstance(value, dict):
        if "decimal" in value:
            # Python's rules for this text are those of BigDecimal.toString().
            return str(Decimal(value["decimal"]))
        if "local_time" in value:
            return _time_of_day(*value["local_time"])
        if "time_ms" in value:
            seconds, ms = divmod(value["time_ms"], 1000)
            return _time_of_day(seconds // 3600, seconds // 60 % 60, seconds % 60, ms * 1_000_000)
        for tag in ("char", "enum", "bigint", "class", "uuid"):
            if tag in value:
                return _text(str(value[tag]))
        raise TypeError(f"no text: {value!r}")
    return _SURROGATE.sub("�", value)


def _time_of_day(hour: int, minute: int, second: int, nanos: int) -> str:
    text = f"{hour:02}:{minute:02}:{second:02}"
    for digits in (3, 6, 9):
        if nanos and nanos % 10 ** (9 - digits) == 0:
            return f"{text}.{nanos // 10 ** (9 - digits):0{digits}}"
    return text


def _binary(value: Any) -> bytes:
    if isinstance(value, dict) and "bitmap" in value:
        return _roaring(value["bitmap"])
    return bytes.fromhex(_untagged(value))


def _roaring(numbers: Sequence[int]) -> bytes:
    """The portable serialization of a small RoaringBitmap without runs."""
    groups: dict[int, list[int]] = {}
    for n in sorted(number & 0xFFFFFFFF for number in numbers):
        groups.setdefault(n >> 16, []).append(n & 0xFFFF)
    out = (12346).to_bytes(4, "little") + len(groups).to_bytes(4, "little")
    for high, lows in groups.items():
        out += high.to_bytes(2, "little") + (len(lows) - 1).to_bytes(2, "little")
    offset = len(out) + 4 * len(groups)
    for lows in groups.values():
        out += offset.to_bytes(4, "little")
        offset += 2 * len(lows)
    return out + b"".join(low.to_bytes(2, "little") for lows in groups.values() for low in lows)


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970 in the proleptic ISO calendar, for any year."""
    cycles, within = divmod(year - 1, 400)
    return date(within + 1, month, day).toordinal() + cycles * 146_097 - _EPOCH.toordinal()


def _micros(value: Any) -> int:
    if isinstance(value, int):
        return value * 1000
    for tag in ("date_ms", "sql_date_ms", "sql_time_ms"):
        if tag in value:
            return int(value[tag]) * 1000
    if "sql_timestamp" in value:
        millis, nanos = value["sql_timestamp"]
        return millis // 1000 * 1_000_000 + nanos // 1000
    for tag in ("timestamp", "timestamp_ltz"):
        if tag in value:
            millis, nanos = value[tag]
            return millis * 1000 + nanos // 1000
    if "instant" in value:
        seconds, nanos = value["instant"]
        return int(seconds) * 1_000_000 + nanos // 1000
    if "local_datetime" in value:
        year, month, day, hour, minute, second, nanos = value["local_datetime"]
        return ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + nanos // 1000
    raise TypeError(f"no moment: {value!r}")


def _list(value: Any, element: pa.DataType) -> tuple[Any, ...]:
    if isinstance(value, dict) and "dewey" in value:
        return tuple(int(part) for part in value["dewey"].split("."))
    if isinstance(value, dict) and "set" in value:
        return Bag(from_expected(v, element) for v in value["set"])
    if isinstance(value, dict) and "map" in value:
        key, item = element.field("key").type, element.field("value").type
        return Bag((("key", from_expected(k, key)), ("value", from_expected(v, item))) for k, v in value["map"])
    return tuple(from_expected(v, element) for v in value)


def _struct(value: Any, type_: pa.StructType) -> tuple[Any, ...]:
    return tuple((f.name, from_expected(v, f.type)) for f, v in zip(type_, _columns(value, type_), strict=True))


def _columns(value: Any, type_: pa.StructType) -> list[Any]:
    """The JSON of each column of a struct."""
    names = [f.name for f in type_]
    if "tuple" in value:
        return list(value["tuple"])
    if "row" in value:
        # Rows of Flink up to 1.10 have no kind, and then no column for it.
        return [*value["row"].values(), *([value.get("kind")] if names[-1] == "row_kind" else [])]
    if "pojo" in value:
        named = _pojo(value, names)
    elif "ttl" in value:
        named = {"last_access": value["ttl"], "value": value["value"]}
    elif "variant" in value:
        named = value["variant"]
    elif "record" in value and "fields" in value:
        named = value["fields"]
    elif "record" in value and names == ["timestamp", "value"]:
        # An element of a window with an evictor.
        named = {"timestamp": value["timestamp"], "value": value["record"]}
    else:
        named = {k if k in names else _RENAMED.get(k, k): v for k, v in value.items()}
    unknown = set(named) - set(names) - {"iso"}
    if unknown:
        raise KeyError(f"no column for {sorted(unknown)} in {names}")
    return [named.get(name) for name in names]


# Fields of CEP's state, by their names in the notation.
_RENAMED = {
    "refs": "references",
    "partial": "partial_matches",
    "completed": "completed_matches",
    "start": "start_timestamp",
}


def _pojo(value: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Fields by column: the subclass' own column of a field first, then the common one."""
    named: dict[str, Any] = {"class": value["pojo"]} if "class" in names else {}
    for name, v in value["fields"].items():
        own = f"{name}_{simple_name(value['pojo'])}"
        named[own if own in names else java_field(name)] = v
    return named


# ---- the notation of the cases


def from_truth(value: Any, type_: pa.DataType) -> Any:
    """A value in the notation of ``cases/*/truth.json``, as the column of this type should hold it."""
    return from_expected(_translated(value), type_)


def _translated(value: Any) -> Any:
    """From ``$``-tags to the notation of Flink's files."""
    if isinstance(value, list):
        return [_translated(v) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or not next(iter(value)).startswith("$"):
        return {k: _translated(v) for k, v in value.items()}
    tag, inner = next((k[1:], v) for k, v in value.items())
    if tag not in _TAGS:
        raise TypeError(f"no notation for ${tag}")
    return _TAGS[tag](inner)


def _instant(iso: str) -> dict[str, Any]:
    day, clock = iso.removesuffix("Z").split("T")
    hour, minute, second, nanos = _clock(clock)
    return {"instant": [_days(*_ymd(day)) * 86400 + hour * 3600 + minute * 60 + second, nanos]}


def _ymd(iso: str) -> tuple[int, int, int]:
    match = re.fullmatch(r"([+-]?\d+)-(\d\d)-(\d\d)", iso)
    assert match is not None, iso
    return int(match[1]), int(match[2]), int(match[3])


def _clock(iso: str) -> tuple[int, int, int, int]:
    whole, _, fraction = iso.partition(".")
    parts = [int(p) for p in whole.split(":")]
    hour, minute, second = (*parts, 0)[:3]
    assert time(hour, minute, second) is not None
    return hour, minute, second, int(fraction.ljust(9, "0")) if fraction else 0


def _local_datetime(iso: str) -> dict[str, Any]:
    day, clock = iso.split("T")
    return {"local_datetime": [*_ymd(day), *_clock(clock)]}


_TAGS: dict[str, Any] = {
    "float": lambda v: {"double": v},
    "char": lambda v: {"char": v},
    "decimal": lambda v: {"decimal": v},
    "bigint": lambda v: {"bigint": v},
    "bytes": lambda v: {"bytes": v},
    "uuid": lambda v: {"uuid": v},
    "instant": _instant,
    "localdate": lambda v: {"local_date": list(_ymd(v))},
    "localtime": lambda v: {"local_time": list(_clock(v))},
    "localdatetime": _local_datetime,
    "date_ms": lambda v: {"date_ms": v},
    "sqldate": lambda v: {"sql_date_ms": v},
    "sqltime": lambda v: {"sql_time_ms": v},
    "sqltimestamp": lambda v: {"sql_timestamp": [v["epoch_ms"], v["nanos"]]},
    "enum": lambda v: {"enum": v["name"]},
    "tuple": lambda v: {"tuple": _translated(v)},
    "row": lambda v: {"row": dict(enumerate(_translated(v["values"]))), "kind": v["kind"]},
    "rowdata": lambda v: {"row": dict(enumerate(_translated(v["values"]))), "kind": v["kind"]},
    "pojo": lambda v: {"pojo": v["class"], "fields": {k: _translated(f) for k, f in v["fields"].items()}},
    "map": lambda v: {"map": _translated(v)},
    "set": lambda v: {"set": _translated(v)},
    "left": lambda v: {"left": _translated(v)},
    "right": lambda v: {"right": _translated(v)},
    "window": lambda v: None if v == "global" else {"start": v[0], "end": v[1]},
    "record": lambda v: {"record": _translated(v["value"]), "timestamp": v["ts"]},
    "ttl": lambda v: {"ttl": v["ts"], "value": _translated(v["value"])},
    "value": lambda v: _value_type(v["class"], v["toString"]),
}


def _value_type(class_name: str, text: str) -> Any:
    if class_name in ("ByteValue", "ShortValue", "IntValue", "LongValue"):
        return int(text)
    if class_name in ("FloatValue", "DoubleValue"):
        return {"double": text}
    return text == "true" if class_name == "BooleanValue" else text
