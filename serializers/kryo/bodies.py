"""Bodies of the JDK's types and of Kryo's own serializers, by flavour.

``well_known`` looks up a class, ``of_serializer`` a Kryo serializer by its name, ``inherited`` what a subclass takes over
from a class of the JDK; collections and arrays are in ``collection_bodies.py``, ``java.time`` in ``times.py``. Kryo's class:
``serializers.DefaultSerializers``; and twitter/chill's, which Flink registers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from serializers.kryo import jdk, times, wire
from serializers.kryo.collection_bodies import (
    Factory,
    arrays_as_list2,
    collection2,
    collection5,
    empty,
    enum_set,
    map2,
    map5,
    optional_number,
    optional_number2,
    singleton,
    wrapped,
)
from serializers.kryo.forms import Plain, Single
from serializers.kryo.java_streams import java_object
from serializers.kryo.kryo_reader import Body, Form, Generics, Kryo
from serializers.kryo.kryo_values import Byte, Char, Float, Long, Obj, Short
from serializers.kryo.wire import Input
from serializers.protobuf import parse_message
from stateextract.errors import FormatError

WITHOUT_REFERENCES: Final = frozenset(
    f"java.lang.{name}" for name in ("Integer", "Float", "Boolean", "Byte", "Character", "Short", "Long", "Double")
)
"""The only classes whose objects have no reference mark (and, in Kryo 5, enums)."""

WRITES_ITSELF: Final = frozenset(["com.esotericsoftware.kryo.KryoSerializable"])


def simple(read: Callable[[Input], Any], kind: str, made: Callable[[Any], Any] | None = None) -> Factory:
    """A value that one function reads, as an :class:`Obj`."""
    return lambda class_name: Single(class_name, kind, lambda k: read, made)


def plain(type_: type, read: Callable[[Input], Any], made: Callable[[Any], Any] | None = None) -> Factory:
    """A number, a string or a boolean."""
    return lambda class_name: Plain(type_, lambda k: read, made)


def flavoured(type_: type, name: str, made: Callable[[Any], Any] | None = None) -> Factory:
    """A number of fixed width."""
    return lambda class_name: Plain(type_, lambda k: getattr(k.fixed, name), made)


def _big_integer(s: Input) -> int | None:
    n = wire.count_or_null(s, "bytes of a big number")
    if n < 0:
        return None
    if n == 0:
        raise FormatError("a big number without bytes", offset=s.pos)
    begin = s.pos
    s.pos = end = begin + n
    return int.from_bytes(s.data[begin:end], "big", signed=True)


def _big_decimal(s: Input) -> tuple[int, int] | None:
    unscaled = _big_integer(s)
    return None if unscaled is None else (unscaled, wire.zigzag_int(s))


def _blob(s: Input) -> bytes:
    return wire.take(s, wire.count(s, "bytes"), "bytes")


def _blob_or_null(s: Input) -> bytes | None:
    n = wire.count_or_null(s, "bytes")
    return None if n < 0 else wire.take(s, n, "bytes")


def _message(class_name: str, message_class: Any, read: Callable[[Input], bytes | None]) -> Form:
    """A message of Protobuf, parsed."""

    def message(s: Input) -> Any:
        start = s.pos
        raw = read(s)
        if raw is None:
            return None
        try:
            return parse_message(message_class, raw)
        except FormatError as error:
            raise error.at(offset=start) from None

    return Single(class_name, "message", lambda k: message)


# ---- odds and ends

_SIGNS: Final = (0, (1 << 64) - 1)
_TWO_LONGS: Final = struct.Struct(">QQ").pack


def _sql_timestamp2(s: Input) -> tuple[int, int]:
    start, millis = s.pos, wire.vlong_signed(s)
    return _timestamp(millis, wire.vint_signed(s), start)


def _sql_timestamp5(s: Input) -> tuple[int, int]:
    start, millis = s.pos, wire.vlong_signed(s)
    nanos = wire.vint_signed(s)
    return _timestamp(millis + nanos // 1_000_000, nanos, start)


def _timestamp(millis: int, nanos: int, at: int) -> tuple[int, int]:
    if not 0 <= nanos <= 999_999_999 or not -(1 << 63) <= millis < 1 << 63:
        raise FormatError(f"{millis} milliseconds and {nanos} nanoseconds as a timestamp", offset=at)
    return millis, nanos


def uuid_text(high: int, low: int) -> str:
    """Of two longs without signs."""
    pairs = _TWO_LONGS(high, low).hex("-", 2)
    return f"{pairs[:4]}{pairs[5:29]}{pairs[30:34]}{pairs[35:]}"


def _uuid2(s: Input) -> str:
    high, low = wire.vlong(s), wire.vlong(s)
    return uuid_text(high >> 1 ^ _SIGNS[high & 1], low >> 1 ^ _SIGNS[low & 1])


def _uuid5(s: Input) -> str:
    pairs = wire.take(s, 16, "two longs")[::-1].hex("-", 2)  # those of the low long first
    return f"{pairs[20:24]}{pairs[25:]}-{pairs[:9]}{pairs[10:14]}{pairs[15:19]}"


def bit_set(class_name: str) -> Body:
    """The allocated words, the lowest first."""

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        start = s.pos
        n = wire.vint(s)
        if n * 8 > s.end - s.pos:
            raise wire.truncated(f"{n} words of a bit set", start)
        bits = []
        for i, word in enumerate(k.fixed.array(s, "Q", n)):
            while word:
                low = word & -word
                bits.append(64 * i + low.bit_length() - 1)
                word ^= low
        return Obj(class_name, "list", bits)

    return body


def _locale5(s: Input) -> str:
    return locale_text(*(wire.string(s) or "" for _ in range(3)))


def locale_text(language: str, country: str, variant: str) -> str:
    """``Locale.toString()`` of one without script and extensions."""
    if variant:
        return f"{language}_{country}_{variant}"
    return f"{language}_{country}" if country else language


def locale2(class_name: str) -> Body:
    stream = java_object(class_name)

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        found = stream(k, s, slot, generics)
        if not isinstance(found, Obj) or found.kind != "fields":
            return found
        parts = [found.value.get(name) for name in ("language", "country", "variant")]
        return Obj(class_name, "text", locale_text(*(part if isinstance(part, str) else "" for part in parts)))

    return body


def _pattern5(s: Input) -> str | None:
    text = wire.string(s)
    wire.vint(s)
    return text


def pattern5(class_name: str) -> Form:
    """The pattern and its flags."""
    return Single(class_name, "text", lambda k: _pattern5, nullable=False)


def socket_address(class_name: str) -> Body:
    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        host = wire.string(s)
        return Obj(class_name, "fields", {"host": host, "port": wire.vint_signed(s)})

    return body


def class_object(class_name: str) -> Body:
    """A class, and whether it is a primitive type: in Kryo 2 always, in Kryo 5 only where that can be."""

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        name = k.class_name(s)
        if k.flavour == 2 or name in WITHOUT_REFERENCES:
            wire.u8(s)
        return None if name is None else Obj(class_name, "text", name)

    return body


def calendar(class_name: str) -> Body:
    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        zone = wire.string(s)
        time = Obj("java.util.Date", "date", wire.vlong_signed(s))
        lenient = wire.boolean(s)
        first_day, minimal_days = wire.vint_signed(s), wire.vint_signed(s)
        wire.zigzag_long(s)  # when the Gregorian calendar begins
        return Obj(class_name, "fields", {
            "zone": zone, "time": time, "lenient": lenient, "firstDayOfWeek": first_day,
            "minimalDaysInFirstWeek": minimal_days,
        })  # fmt: skip

    return body


_TEXT: Final = simple(wire.string, "text")


def uuid(read: Callable[[Kryo], Callable[[Input], str]]) -> Factory:
    """Of a function that gives its text."""
    return lambda class_name: Single(class_name, "text", read, is_plain=True)


_DATE: Final = simple(wire.vlong_signed, "date")

_COMMON: Final[dict[str, Factory]] = {
    "java.lang.Integer": plain(int, wire.zigzag_int),
    "java.lang.Long": plain(Long, wire.zigzag_long, Long),
    "java.lang.Short": flavoured(Short, "i16", Short),
    "java.lang.Character": lambda class_name: Plain(Char, lambda k: k.fixed.char, Char),
    "java.lang.Byte": plain(Byte, wire.i8, Byte),
    "java.lang.Boolean": plain(bool, wire.boolean),
    "java.lang.Float": flavoured(Float, "f32", Float),
    "java.lang.Double": flavoured(float, "f64"),
    "java.lang.String": plain(str, wire.string),
    "java.lang.StringBuilder": _TEXT,
    "java.lang.StringBuffer": _TEXT,
    "java.lang.Class": class_object,
    "java.math.BigInteger": simple(_big_integer, "big_integer"),
    "java.math.BigDecimal": simple(_big_decimal, "big_decimal"),
    "java.util.Date": _DATE,
    "java.sql.Date": _DATE,
    "java.sql.Time": _DATE,
    "java.util.Currency": _TEXT,
    "java.util.TimeZone": _TEXT,
    "sun.util.calendar.ZoneInfo": _TEXT,
    "java.util.SimpleTimeZone": _TEXT,
    "java.util.Calendar": calendar,
    "java.util.GregorianCalendar": calendar,
    "java.net.URI": _TEXT,
    "java.net.InetSocketAddress": socket_address,
    "java.util.BitSet": bit_set,
    "java.util.EnumSet": enum_set,
    "java.util.RegularEnumSet": enum_set,
    "java.util.JumboEnumSet": enum_set,
    "java.util.Collections$EmptyList": empty("list"),
    "java.util.Collections$EmptySet": empty("set"),
    "java.util.Collections$EmptyMap": empty("map"),
    "java.util.Collections$SingletonList": singleton("list"),
    "java.util.Collections$SingletonSet": singleton("set"),
    "java.util.Collections$SingletonMap": singleton("map"),
    "java.text.SimpleDateFormat": java_object,
    "java.util.concurrent.atomic.AtomicInteger": simple(wire.zigzag_int, "wrapped"),
    "java.util.concurrent.atomic.AtomicLong": simple(wire.zigzag_long, "wrapped", Long),
    "java.util.concurrent.atomic.AtomicBoolean": simple(wire.zigzag_int, "wrapped", bool),
    "java.util.concurrent.atomic.AtomicReference": wrapped(typed=True),
}

_OWN: Final[dict[int, dict[str, Factory]]] = {
    2: {
        **dict.fromkeys(jdk.SORTED_SETS, collection2("set", comparator=True)),
        **dict.fromkeys(jdk.QUEUES, collection2("list", comparator=True)),
        "java.util.TreeMap": map2(comparator=True),
        "java.util.Arrays$ArrayList": arrays_as_list2,
        "java.sql.Timestamp": simple(_sql_timestamp2, "sql_timestamp"),
        "java.util.UUID": uuid(lambda k: _uuid2),
        "java.util.Locale": locale2,
        "java.util.regex.Pattern": _TEXT,
        "java.util.Optional": wrapped(typed=True),
        "java.util.OptionalInt": optional_number2(lambda k: wire.zigzag_int, int),
        "java.util.OptionalLong": optional_number2(lambda k: wire.zigzag_long, Long),
        "java.util.OptionalDouble": optional_number2(lambda k: k.fixed.f64, float),
        **times.KRYO2,
    },
    5: {
        **dict.fromkeys(jdk.SORTED_SETS, collection5("set", comparator=True)),
        **dict.fromkeys(jdk.QUEUES, collection5("list", comparator=True)),
        **dict.fromkeys(jdk.SORTED_MAPS, map5(comparator=True)),
        **dict.fromkeys(jdk.IMMUTABLE_LISTS, collection5("list", nulls=False)),
        **dict.fromkeys(jdk.IMMUTABLE_SETS, collection5("set", nulls=False)),
        **dict.fromkeys(jdk.IMMUTABLE_MAPS, map5(nulls=False)),
        "java.util.Arrays$ArrayList": collection5("list"),
        "java.sql.Timestamp": simple(_sql_timestamp5, "sql_timestamp"),
        "java.util.UUID": uuid(lambda k: _uuid5),
        "java.util.Locale": simple(_locale5, "text"),
        "java.util.regex.Pattern": pattern5,
        "java.net.URL": _TEXT,
        **dict.fromkeys(
            ("java.nio.charset.Charset", "sun.nio.cs.UTF_8", "sun.nio.cs.US_ASCII", "sun.nio.cs.ISO_8859_1",
             "sun.nio.cs.UTF_16", "sun.nio.cs.UTF_16BE", "sun.nio.cs.UTF_16LE"), _TEXT,
        ),
        "java.util.Optional": wrapped(typed=False),
        "java.util.OptionalInt": optional_number("i32", int),
        "java.util.OptionalLong": optional_number("i64", Long),
        "java.util.OptionalDouble": optional_number("f64", float),
        **times.KRYO5,
    },
}  # fmt: skip


_CONTAINERS: Final[dict[int, tuple[Factory, Factory, Factory]]] = {
    2: (map2(), collection2("set"), collection2("list")),
    5: (map5(), collection5("set"), collection5("list")),
}


def _container(flavour: int, class_name: str) -> Factory | None:
    """What Kryo has for all classes below ``Map`` and ``Collection``."""
    groups = (jdk.MAP_LIKE, jdk.SET_LIKE, jdk.LIST_LIKE)
    found = zip(groups, _CONTAINERS[flavour], strict=True)
    return next((factory for group, factory in found if class_name in group), None)


def is_container(flavour: int, class_name: str) -> bool:
    """Whether a class is written like most collections and maps."""
    return not (class_name in _OWN[flavour] or class_name in _COMMON) and _container(flavour, class_name) is not None


def well_known(flavour: int, class_name: str, of: str | None = None) -> Body | Form | None:
    """The body of a class of the JDK; :param of: of another class that is written like it."""
    factory = _OWN[flavour].get(class_name) or _COMMON.get(class_name) or _container(flavour, class_name)
    if factory is not None:
        return factory(of or class_name)
    return java_object(class_name) if _is_throwable(class_name) else None


def _is_throwable(name: str) -> bool:
    return name.startswith("java.") and name.endswith(("Exception", "Error", ".Throwable"))


_HEIRS: Final = jdk.SORTED_SETS | jdk.QUEUES | jdk.SORTED_MAPS | frozenset(
    ("java.util.Date", "java.sql.Date", "java.sql.Time", "java.util.Calendar", "java.util.GregorianCalendar")
)  # fmt: skip


def inherited(flavour: int, above: str, class_name: str) -> Body | Form | None:
    """The body that a class takes over from a supertype of the JDK: Kryo chooses serializers by assignability."""
    factory = (_OWN[flavour].get(above) or _COMMON.get(above)) if above in _HEIRS else None
    factory = factory or _container(flavour, above)
    if factory is not None:
        return factory(class_name)
    return java_object(class_name) if _is_throwable(above) else None


# ---- Kryo serializers by name

KRYO: Final = "com.esotericsoftware.kryo.serializers."
_DEFAULT: Final = {
    "IntSerializer": "java.lang.Integer", "LongSerializer": "java.lang.Long", "ShortSerializer": "java.lang.Short",
    "CharSerializer": "java.lang.Character", "ByteSerializer": "java.lang.Byte", "BooleanSerializer": "java.lang.Boolean",
    "FloatSerializer": "java.lang.Float", "DoubleSerializer": "java.lang.Double", "StringSerializer": "java.lang.String",
    "StringBuilderSerializer": "java.lang.StringBuilder", "StringBufferSerializer": "java.lang.StringBuffer",
    "BigIntegerSerializer": "java.math.BigInteger", "BigDecimalSerializer": "java.math.BigDecimal",
    "DateSerializer": "java.util.Date", "CurrencySerializer": "java.util.Currency", "ClassSerializer": "java.lang.Class",
    "TimeZoneSerializer": "java.util.TimeZone", "CalendarSerializer": "java.util.Calendar",
    "TreeMapSerializer": "java.util.TreeMap", "TreeSetSerializer": "java.util.TreeSet",
    "EnumSetSerializer": "java.util.RegularEnumSet", "LocaleSerializer": "java.util.Locale",
    "URLSerializer": "java.net.URL", "CharsetSerializer": "java.nio.charset.Charset",
}  # fmt: skip
_CHILL: Final = {
    "ArraysAsListSerializer": "java.util.Arrays$ArrayList", "BitSetSerializer": "java.util.BitSet",
    "PriorityQueueSerializer": "java.util.PriorityQueue", "RegexSerializer": "java.util.regex.Pattern",
    "SqlDateSerializer": "java.sql.Date", "SqlTimeSerializer": "java.sql.Time", "TimestampSerializer": "java.sql.Timestamp",
    "URISerializer": "java.net.URI", "InetSocketAddressSerializer": "java.net.InetSocketAddress",
    "UUIDSerializer": "java.util.UUID", "LocaleSerializer": "java.util.Locale",
}  # fmt: skip

JAVA_SERIALIZERS: Final = (
    KRYO + "JavaSerializer",
    "org.apache.flink.api.java.typeutils.runtime.kryo.JavaSerializer",
)
NULLABLE_BLOB: Final = "de.javakaffee.kryoserializers.protobuf.ProtobufSerializer"
PROTOBUF_SERIALIZERS: Final = ("com.twitter.chill.protobuf.ProtobufSerializer", NULLABLE_BLOB)
BLOB_SERIALIZERS: Final = (*PROTOBUF_SERIALIZERS, "com.twitter.chill.thrift.TBaseSerializer")
_FLINK: Final = "org.apache.flink.api.java.typeutils.runtime.kryo.Serializers$"
AVRO_SCHEMA_SERIALIZER: Final = "org.apache.flink.formats.avro.utils.AvroKryoSerializerUtils$AvroSchemaSerializer"

_CONTAINER_SERIALIZERS: Final = {
    _FLINK + "SpecificInstanceCollectionSerializerForArrayList": "java.util.ArrayList",
    KRYO + "CollectionSerializer": "java.util.ArrayList",
    KRYO + "MapSerializer": "java.util.HashMap",
}

PLUGINS: dict[str, Factory] = {}
"""Bodies of Kryo serializers that plug-ins brought, by the serializer's class name."""


def register_kryo_serializer(serializer: str, factory: Factory) -> None:
    """Teach the reader a Kryo serializer of the user's own.

    :param serializer: its class name.
    :param factory: called with the class of the values, gives the function that reads a body.
    """
    PLUGINS[serializer] = factory


def of_serializer(k: Kryo, serializer: str, class_name: str) -> Body | Form | None:
    """The body that a Kryo serializer writes for a class; ``None`` where it is not known."""
    from serializers.kryo import fields

    if serializer in PLUGINS:
        return PLUGINS[serializer](class_name)
    if serializer in JAVA_SERIALIZERS:
        return java_object(class_name)
    if serializer in BLOB_SERIALIZERS:
        read = _blob_or_null if serializer == NULLABLE_BLOB else _blob
        message = k.protobuf.message(class_name) if serializer in PROTOBUF_SERIALIZERS else None
        return simple(read, "bytes")(class_name) if message is None else _message(class_name, message, read)
    if serializer == AVRO_SCHEMA_SERIALIZER:
        return _TEXT(class_name)
    if serializer == KRYO + "FieldSerializer":
        model = k.classes.get(class_name)
        return None if model is None else fields.object_body(model)
    known = written_as(serializer)
    return None if known is None else well_known(k.flavour, known, class_name)


def written_as(serializer: str) -> str | None:
    """The class of the JDK that a Kryo serializer writes its objects like."""
    package, _, name = serializer.rpartition("$")
    if package == KRYO + "DefaultSerializers":
        return _DEFAULT.get(name)
    if serializer.startswith("com.twitter.chill.java."):
        return _CHILL.get(serializer.rsplit(".", 1)[-1])
    return _CONTAINER_SERIALIZERS.get(serializer)
