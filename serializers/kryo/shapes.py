"""Columns of values that Kryo wrote, and the wire values that fill them: scalars, collections, what describes itself.

A :class:`KryoColumn` is a layout, which gives the Arrow type and takes the user's policies, and what makes a function of it,
from a decoded value to that layout's wire value. Which column a Java type has is decided in ``columns.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from serializers.datetime import DATES
from serializers.kryo.json_texts import json_text
from serializers.kryo.kryo_values import Obj, class_of
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.layout import (
    BigInteger,
    Bool,
    Bytes,
    Layout,
    List,
    Logical,
    Map,
    Number,
    Struct,
    Text,
    struct,
)
from stateextract.errors import FormatError, UndecodableError, ValueRefusedError

MAX_ELEMENTS: Final = 1 << 22
"""Elements of one value. Lists may hold one list many times, and that one another."""

Shaper = Callable[[Any, "Shaping"], Any]
"""The wire value of a value."""

Shape = Callable[[Layout], Shaper]
"""The shaper for a layout as the user's policies have rewritten it."""


@dataclass(frozen=True)
class KryoColumn:
    """A layout and what fills it.

    :param form: how it is put together, for plans (``plans.py``); ``None``: plans have nothing for it.
    """

    layout: Layout
    shape: Shape
    form: Form | None = None


@dataclass(frozen=True)
class ScalarForm:
    """One value of a class."""

    declared: str


@dataclass(frozen=True)
class ListForm:
    declared: str
    element: KryoColumn


@dataclass(frozen=True)
class MapForm:
    declared: str
    key: KryoColumn
    value: KryoColumn


@dataclass(frozen=True)
class WrapperForm:
    """What holds one value, and is that in the column."""

    declared: str
    inner: KryoColumn


@dataclass(frozen=True)
class KryoField:
    """A field: its key in a value, the name of its column in the struct, the column."""

    key: str
    column: str
    content: KryoColumn


@dataclass(frozen=True)
class ObjectForm:
    """A struct of the fields of several classes, by class; :param labelled: and of the class' name."""

    parts: Mapping[str, list[KryoField]]
    labelled: bool


Form = ScalarForm | ListForm | MapForm | WrapperForm | ObjectForm


class Shaping:
    """What shaping one value needs.

    :ivar counts: where changed values are counted.
    """

    __slots__ = ("counts", "elements")

    def __init__(self, counts: ChangeCounts) -> None:
        self.counts = counts
        self.elements = 0

    def spend(self, n: int) -> None:
        """Count elements."""
        self.elements += n
        if self.elements > MAX_ELEMENTS:
            raise ValueRefusedError(
                f"one value has more than {MAX_ELEMENTS} elements, counting what it refers to twice"
            )


def misfit(value: Any, wanted: str) -> FormatError:
    return FormatError(
        f"found a value of {class_of(value)} where {wanted} is declared",
        advice="if the data is sound, a class model is wrong (does it name the superclass?), or the flavour of Kryo (--kryo)",
    )


# ---- scalars


def _number(java: str, type_: pa.DataType) -> KryoColumn:
    low, high = -(1 << type_.bit_width - 1), 1 << type_.bit_width - 1

    def shaper(value: Any, out: Shaping) -> Any:
        if type(value) is int and low <= value < high:
            return value
        if isinstance(value, Obj) and value.kind == "wrapped":
            value = value.value
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value < high:
            raise misfit(value, java)
        return int(value)

    return KryoColumn(Number(type_), lambda layout: shaper)


def _real(java: str, type_: pa.DataType) -> KryoColumn:
    def shaper(value: Any, out: Shaping) -> Any:
        if isinstance(value, Obj) and value.kind == "wrapped":
            value = value.value
        if value is not None and not isinstance(value, float):
            raise misfit(value, java)
        return None if value is None else float(value)

    return KryoColumn(Number(type_), lambda layout: shaper)


def _bool(value: Any, out: Shaping) -> Any:
    if isinstance(value, Obj) and value.kind == "wrapped":
        value = value.value
    if value is not None and not isinstance(value, bool):
        raise misfit(value, "boolean")
    return value


def text_of(layout: Layout) -> Callable[[str, Shaping], Any]:
    """What makes the wire value of a string."""
    if isinstance(layout, Text) and layout.as_binary:
        return lambda value, out: value.encode("utf-8", "surrogatepass")
    return _text


def _text(value: str, out: Shaping) -> str:
    if value.isascii():
        return value if type(value) is str else str(value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        out.counts.lone_surrogates += sum(0xD800 <= ord(c) <= 0xDFFF for c in value)
        return "".join("�" if 0xD800 <= ord(c) <= 0xDFFF else c for c in value)
    return str(value)


def _shape_text(layout: Layout) -> Shaper:
    text = text_of(layout)

    def shaper(value: Any, out: Shaping) -> Any:
        if isinstance(value, str):
            return text(value, out)
        if value is None:
            return None
        if isinstance(value, Obj) and value.kind in ("text", "enum"):
            return None if value.value is None else text(value.value, out)
        raise misfit(value, "a string")

    return shaper


def _of_kind(wanted: str, wire: Mapping[str, Callable[[Any], Any]]) -> Shape:
    """The content of objects of some kinds."""

    def shaper(value: Any, out: Shaping) -> Any:
        if value is None:
            return None
        if not isinstance(value, Obj) or value.kind not in wire:
            raise misfit(value, wanted)
        return wire[value.kind](value.value)

    return lambda layout: shaper


def _of_iso(kind: str, names: tuple[str, ...]) -> Shape:
    """Joda's dates and times, which can be of another calendar."""

    def shape(layout: Layout) -> Shaper:
        of_kind = _of_kind(kind, {kind: _named(*names)})(layout)

        def shaper(value: Any, out: Shaping) -> Any:
            if isinstance(value, Obj) and value.kind == "fields" and "chronology" in value.value:
                calendar = value.value["chronology"]
                raise UndecodableError(
                    f"a value of {value.class_name} is of the {calendar} calendar, which has no column of dates"
                )
            return of_kind(value, out)

        return shaper

    return shape


def _two_complement(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _scaled(value: tuple[int, int]) -> bytes:
    return _two_complement(value[0]) + (value[1] & 0xFFFF_FFFF).to_bytes(4, "big")


def _moment(millis: int) -> dict[str, int]:
    return {"ms": millis, "nanos": millis % 1000 * 1_000_000}


def _named(*names: str) -> Callable[[Any], dict[str, int]]:
    return lambda parts: dict(zip(names, parts, strict=True))


STRING: Final = KryoColumn(Text(), _shape_text)
_DATE: Final = KryoColumn(
    DATES["SqlTimestamp"],
    _of_kind("a date", {"date": _moment, "sql_timestamp": _named("ms", "nanos")}),
)
BYTES: Final = KryoColumn(Bytes(), _of_kind("bytes", {"bytes": bytes}))
_HOURS: Final = ("hour", "minute", "second", "nanos")
_DAYS: Final = ("year", "month", "day")

PRIMITIVES: Final = {
    "boolean": KryoColumn(Bool(), lambda layout: _bool),
    "byte": _number("byte", pa.int8()),
    "short": _number("short", pa.int16()),
    "int": _number("int", pa.int32()),
    "long": _number("long", pa.int64()),
    "float": _real("float", pa.float32()),
    "double": _real("double", pa.float64()),
    "char": STRING,
}

SCALARS: Final = {
    **PRIMITIVES,
    "java.lang.Boolean": PRIMITIVES["boolean"],
    "java.lang.Byte": PRIMITIVES["byte"],
    "java.lang.Short": PRIMITIVES["short"],
    "java.lang.Integer": PRIMITIVES["int"],
    "java.lang.Long": PRIMITIVES["long"],
    "java.lang.Float": PRIMITIVES["float"],
    "java.lang.Double": PRIMITIVES["double"],
    **dict.fromkeys(
        (
            "java.lang.Character", "java.lang.String", "java.lang.CharSequence", "java.lang.StringBuilder",
            "java.lang.StringBuffer", "java.lang.Class", "java.util.UUID", "java.util.Locale", "java.util.Currency",
            "java.util.TimeZone", "java.util.regex.Pattern", "java.net.URI", "java.net.URL", "java.nio.charset.Charset",
            "java.time.ZonedDateTime", "java.time.OffsetDateTime", "java.time.OffsetTime", "java.time.YearMonth",
            "java.time.MonthDay", "java.time.Period", "java.time.ZoneId", "java.time.ZoneOffset",
        ),
        STRING,
    ),
    "java.math.BigInteger": KryoColumn(
        Logical(BigInteger(), "big_integer", pa.string()), _of_kind("BigInteger", {"big_integer": _two_complement})
    ),
    "java.math.BigDecimal": KryoColumn(
        Logical(BigInteger(scaled=True), "big_decimal", pa.string()), _of_kind("BigDecimal", {"big_decimal": _scaled})
    ),
    **dict.fromkeys(("java.util.Date", "java.sql.Date", "java.sql.Time", "java.sql.Timestamp"), _DATE),
    "java.time.Instant": KryoColumn(DATES["Instant"], _of_kind("Instant", {"instant": _named("seconds", "nanos")})),
    "java.time.Duration": KryoColumn(
        struct(seconds=Number(pa.int64()), nanos=Number(pa.int32())),
        _of_kind("Duration", {"duration": _named("seconds", "nanos")}),
    ),
    "java.time.LocalDate": KryoColumn(DATES["LocalDate"], _of_kind("LocalDate", {"local_date": _named(*_DAYS)})),
    "java.time.LocalTime": KryoColumn(DATES["LocalTime"], _of_kind("LocalTime", {"local_time": _named(*_HOURS)})),
    "java.time.LocalDateTime": KryoColumn(
        DATES["LocalDateTime"], _of_kind("LocalDateTime", {"local_datetime": _named(*_DAYS, *_HOURS)})
    ),
    "org.joda.time.LocalDate": KryoColumn(DATES["LocalDate"], _of_iso("local_date", _DAYS)),
    "org.joda.time.LocalTime": KryoColumn(DATES["LocalTime"], _of_iso("local_time", _HOURS)),
    "org.joda.time.LocalDateTime": KryoColumn(DATES["LocalDateTime"], _of_iso("local_datetime", (*_DAYS, *_HOURS))),
    "java.time.Year": PRIMITIVES["int"],
    "java.util.OptionalInt": PRIMITIVES["int"],
    "java.util.OptionalLong": PRIMITIVES["long"],
    "java.util.OptionalDouble": PRIMITIVES["double"],
    "java.util.concurrent.atomic.AtomicInteger": PRIMITIVES["int"],
    "java.util.concurrent.atomic.AtomicLong": PRIMITIVES["long"],
    "java.util.concurrent.atomic.AtomicBoolean": PRIMITIVES["boolean"],
}  # fmt: skip
"""Columns of types that are fixed by their class alone."""

JODA: Final[Mapping[str, Mapping[str, KryoColumn]]] = {
    "org.joda.time.DateTime": {"time": _DATE, "zone": STRING, "chronology": STRING},
    "org.joda.time.Interval": {"start": _DATE, "end": _DATE, "chronology": STRING},
}
"""Structs of Joda's types: a moment has its zone and its calendar."""


# ---- what describes itself

CLASS: Final = "class"
JSON: Final = "json"


def _shape_any(layout: Layout) -> Shaper:
    class_and_json = class_and_json_of(layout)
    return lambda value, out: None if value is None else class_and_json(class_of(value), json_text(value), out.counts)


def is_plain(layout: Layout) -> bool:
    """Whether a class and JSON of ASCII are their own wire values."""
    assert isinstance(layout, Struct)
    return all(text_of(f.layout) is _text for f in layout.fields)


def class_and_json_of(layout: Layout) -> Callable[[str, str, ChangeCounts], dict[str, Any]]:
    """What makes the wire value of a class and JSON."""
    assert isinstance(layout, Struct)
    of_class, of_json = (text_of(f.layout) for f in layout.fields)

    def class_and_json(name: str, json: str, counts: ChangeCounts) -> dict[str, Any]:
        out = Shaping(counts)
        return {CLASS: of_class(name, out), JSON: of_json(json, out)}

    return class_and_json


ANY: Final = KryoColumn(struct(**{CLASS: Text(), JSON: Text()}), _shape_any)
"""Any value: its class and its content as JSON."""


# ---- collections


def list_of(element: KryoColumn, wanted: str, unordered: bool = False) -> KryoColumn:
    def shape(layout: Layout) -> Shaper:
        assert isinstance(layout, List)
        inner = element.shape(layout.element)

        def shaper(value: Any, out: Shaping) -> Any:
            if value is None:
                return None
            if not isinstance(value, Obj) or value.kind not in ("list", "set"):
                raise misfit(value, wanted)
            out.spend(len(value.value))
            return [inner(item, out) for item in value.value]

        return shaper

    return KryoColumn(List(element.layout, unordered=unordered), shape, ListForm(wanted, element))


def map_of(key: KryoColumn, item: KryoColumn, wanted: str = "a map") -> KryoColumn:
    def shape(layout: Layout) -> Shaper:
        assert isinstance(layout, Map)
        of_key, of_item, as_list = key.shape(layout.key), item.shape(layout.value), layout.as_list

        def shaper(value: Any, out: Shaping) -> Any:
            if value is None:
                return None
            if not isinstance(value, Obj) or value.kind != "map":
                raise misfit(value, wanted)
            out.spend(len(value.value))
            entries: list[Any] = []
            for k, v in value.value:
                name, content = of_key(k, out), of_item(v, out)
                if as_list:
                    entries.append({"key": name, "value": content})
                elif name is None:
                    raise ValueRefusedError(
                        "a map has a null key",
                        advice="set --maps list to get lists of key and value, where the key may be null",
                    )
                else:
                    entries.append((name, content))
            return entries

        return shaper

    return KryoColumn(Map(key.layout, item.layout), shape, MapForm(wanted, key, item))


def wrapper(inner: KryoColumn, declared: str = "") -> KryoColumn:
    def shape(layout: Layout) -> Shaper:
        below = inner.shape(layout)

        def shaper(value: Any, out: Shaping) -> Any:
            if isinstance(value, Obj) and value.kind == "wrapped":
                value = value.value
            return below(value, out)

        return shaper

    return KryoColumn(inner.layout, shape, WrapperForm(declared, inner))
