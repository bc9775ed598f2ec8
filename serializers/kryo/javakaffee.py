"""Bodies of the serializers of ``de.javakaffee:kryo-serializers``: what its ``write`` methods write, up to version 0.45.

The library has serializers for what Kryo itself cannot read back: ``Collections.unmodifiable…`` and ``synchronized…``, parts of
lists, Joda's times, Guava's immutable collections. Those for proxies (cglib, the JDK's) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from serializers.kryo import wire
from serializers.kryo.bodies import pattern5, simple, uuid, uuid_text
from serializers.kryo.collection_bodies import Factory, arrays_as_list2, empty, singleton
from serializers.kryo.forms import Items
from serializers.kryo.kryo_reader import Body, Generics, Kryo
from serializers.kryo.kryo_values import Obj, objects
from serializers.kryo.wire import Input
from stateextract.errors import FormatError

PACKAGE: Final = "de.javakaffee.kryoserializers."

_GUAVA = "com.google.common.collect."
_KINDS: Final = ("list", "list", "list", "set", "set", "map", "map")
"""Of what is unmodifiable or synchronized, by the number that is written: a collection, two lists, two sets, two maps."""


def _content(k: Kryo, s: Input, kinds: tuple[str, ...], what: str) -> Any:
    """The content of a collection or map, which is written with its class."""
    start = s.pos
    inner = k.value(s)
    if not isinstance(inner, Obj) or inner.kind not in kinds:
        raise FormatError(f"{what} that holds no such thing", expected=" or ".join(kinds), offset=start)
    return inner.value


def _view(class_name: str) -> Body:
    """``Unmodifiable…`` and ``SynchronizedCollectionsSerializer``: a number for the kind, then the collection inside."""

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        start = s.pos
        number = wire.vint(s)
        if number >= len(_KINDS):
            raise FormatError(f"the number {number} of a kind of collection", expected="0 to 6", offset=start)
        obj = Obj(class_name, _KINDS[number], None)
        obj.value = _content(k, s, ("map",) if obj.kind == "map" else ("list", "set"), class_name)
        return obj

    return body


def _sub_list(k: Kryo, s: Input) -> Any:
    """``SubListSerializers``: the whole list, the first position and the one after the last."""
    items = _content(k, s, ("list",), "a part of a list")
    at = s.pos
    start, end = wire.vint(s), wire.vint(s)
    if not start <= end <= len(items):
        raise FormatError(f"the part from {start} to {end} of a list of {len(items)}", offset=at)
    wire.spend(s, end - start)
    return items[start:end]


def _constant(k: Kryo, s: Input, enum: str) -> Any:
    """A constant of an enum by its position."""
    model = k.classes.get(enum)
    if model is None or model.kind != "enum":
        return k.type(enum).body(k, s, -1, None)  # which says what is missing
    start, at = s.pos, wire.vint(s)
    if at >= len(model.constants):
        expected = f"less than {len(model.constants)}"
        raise FormatError(f"constant {at} of the enum {enum}", expected=expected, offset=start)
    return Obj(enum, "enum", model.constants[at])


def _enum_class(k: Kryo, s: Input) -> str:
    start = s.pos
    name = k.class_name(s)
    if name is None:
        raise FormatError("a set or map of enum constants without a class", offset=start)
    return name


def _enum_map(class_name: str) -> Body:
    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        entries: list[Any] = []
        obj = Obj(class_name, "map", entries)
        s.refs[slot] = obj
        enum = _enum_class(k, s)
        for _ in range(wire.count(s, "entries")):
            key = _constant(k, s, enum)
            entries.append((key, k.value(s)))
        return obj

    return body


def _enum_set(k: Kryo, s: Input) -> Any:
    enum = _enum_class(k, s)
    return [_constant(k, s, enum) for _ in range(wire.count(s, "elements"))]


def _bit_set(k: Kryo, s: Input) -> Any:
    """A byte for each bit."""
    return [i for i, bit in enumerate(wire.take(s, wire.count(s, "bits"), "a bit set")) if bit]


def _instant(s: Input) -> Obj:
    return Obj("java.util.Date", "date", wire.vlong_signed(s))


def _calendar(k: Kryo, s: Input) -> Any:
    time, lenient = _instant(s), wire.boolean(s)
    first_day, minimal_days = wire.vint_signed(s), wire.vint_signed(s)
    return {
        "time": time, "zone": wire.string(s), "lenient": lenient, "firstDayOfWeek": first_day,
        "minimalDaysInFirstWeek": minimal_days,
    }  # fmt: skip


# ---- Joda


def _chronology(s: Input) -> str:
    """The calendar system; that of ISO has an empty name."""
    return wire.string(s) or "ISO"


def _joda_date_time(k: Kryo, s: Input) -> Any:
    time, chronology = _instant(s), _chronology(s)
    # Versions before 0.36 left the machine's own zone out.
    return {"time": time, "zone": wire.string(s) or None, "chronology": chronology}


_DATE_NAMES: Final = ("year", "month", "day")
_TIME_NAMES: Final = ("hour", "minute", "second", "nanos")


def _day(packed: int, at: int) -> tuple[int, int, int]:
    # There is room for months 0 to 12, so a thirteenth one (Coptic, Ethiopic) looks like month 0 of the next year.
    year, rest = divmod(packed, 13 * 32)
    month, day = divmod(rest, 32)
    if not day:
        raise FormatError(f"day {day} of month {month}", offset=at)
    return (year, month, day) if month else (year - 1, 13, day)


def _time(millis: int, at: int) -> tuple[int, int, int, int]:
    if not 0 <= millis < 86_400_000:
        raise FormatError(f"{millis} milliseconds of a day", offset=at)
    seconds, rest = divmod(millis, 1000)
    return seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1_000_000


def _moment(packed: int, at: int) -> tuple[int, ...]:
    day, millis = divmod(packed, 86_400_000)
    return (*_day(day, at), *_time(millis, at))


def _local(
    kind: str, names: tuple[str, ...], number: Callable[[Input], int], parts: Callable[[int, int], tuple[int, ...]]
) -> Factory:
    """A date or time of the ISO calendar; of another calendar its numbers, which no column of dates can hold.

    :param number: reads what all of it is packed into; :param parts: takes that apart, which begins at a position.
    """

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            start = s.pos
            values = parts(number(s), start)
            start, chronology = s.pos, _chronology(s)
            if chronology != "ISO":
                return Obj(class_name, "fields", {**dict(zip(names, values, strict=True)), "chronology": chronology})
            if names[1] == "month" and values[1] > 12:
                raise FormatError(f"month {values[1]} of the ISO calendar", offset=start)
            return Obj(class_name, kind, values)

        return body

    return make


# ---- Guava


def _items(kind: str, comparator: bool = False) -> Factory:
    """A count and the elements, always with their classes."""

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        if comparator:
            k.value(s)
        for _ in range(wire.count(s, "elements")):
            items.append(k.value(s))
        return True

    return lambda class_name: Items(class_name, kind, fill, early=False)


def _as_object(of: str, kind: str) -> Factory:
    """What is written as an object of another class, without that class."""

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            start = s.pos
            inner = k.type(of).read(s)
            if not isinstance(inner, Obj) or inner.kind != kind:
                raise FormatError(f"a {class_name} that holds no {kind}", offset=start)
            return Obj(class_name, kind, inner.value)

        return body

    return make


def _table(k: Kryo, s: Input) -> Any:
    """Rows, in each its columns: a map of maps."""
    rows = []
    for _ in range(wire.count(s, "rows")):
        key = k.value(s)
        cells = [(k.value(s), k.value(s)) for _ in range(wire.count(s, "cells"))]
        rows.append((key, Obj("java.util.Map", "map", cells)))
    return rows


_FACTORIES: Final[dict[str, Factory]] = {
    **dict.fromkeys(("UnmodifiableCollectionsSerializer", "SynchronizedCollectionsSerializer"), _view),
    "ArraysAsListSerializer": arrays_as_list2,
    **{
        f"SubListSerializers${name}SubListSerializer": objects("list", _sub_list)
        for name in ("", "ArrayList", "AbstractList", "JavaUtil")
    },
    "EnumMapSerializer": _enum_map,
    "EnumSetSerializer": objects("set", _enum_set),
    "BitSetSerializer": objects("list", _bit_set),
    "RegexSerializer": pattern5,
    "URISerializer": simple(wire.string, "text"),
    "UUIDSerializer": uuid(lambda k: lambda s: uuid_text(k.fixed.u64(s), k.fixed.u64(s))),
    "DateSerializer": simple(wire.vlong_signed, "date"),
    "GregorianCalendarSerializer": objects("fields", _calendar),
    **{f"CollectionsEmpty{kind}Serializer": empty(kind.lower()) for kind in ("List", "Set", "Map")},
    **{f"CollectionsSingleton{kind}Serializer": singleton(kind.lower()) for kind in ("List", "Set", "Map")},
    "jodatime.JodaDateTimeSerializer": objects("fields", _joda_date_time),
    "jodatime.JodaIntervalSerializer": objects(
        "fields", lambda k, s: {"start": _instant(s), "end": _instant(s), "chronology": _chronology(s)}
    ),
    "jodatime.JodaLocalDateSerializer": _local("local_date", _DATE_NAMES, wire.vint_signed, _day),
    "jodatime.JodaLocalTimeSerializer": _local("local_time", _TIME_NAMES, wire.vint_signed, _time),
    "jodatime.JodaLocalDateTimeSerializer": _local(
        "local_datetime", (*_DATE_NAMES, *_TIME_NAMES), wire.vlong_signed, _moment
    ),
    "guava.ImmutableListSerializer": _items("list"),
    "guava.ImmutableSetSerializer": _items("set"),
    "guava.ImmutableSortedSetSerializer": _items("set", comparator=True),
    "guava.ImmutableMapSerializer": _as_object("java.util.HashMap", "map"),
    "guava.ImmutableSortedMapSerializer": _as_object("java.util.TreeMap", "map"),
    "guava.ImmutableMultimapSerializer": _as_object(_GUAVA + "ImmutableMap", "map"),
    "guava.ImmutableTableSerializer": objects("map", _table),
}


def factory(serializer: str) -> Factory | None:
    """The bodies that a serializer of the library writes; ``None`` for other serializers."""
    if not serializer.startswith(PACKAGE):
        return None
    return _FACTORIES.get(serializer[len(PACKAGE) :])
