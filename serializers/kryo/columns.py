"""Columns for Java types, and the wire values that fill them.

:class:`Planner` turns a Java type, as the snapshot or a class model declares it, into a :class:`Column`: a layout, which
gives the Arrow type and takes the user's policies, and a function from a decoded value to that layout's wire value. Where
the type fixes nothing (``Object``, interfaces, collections without a type argument) the column is ``struct<class, json>``.

Type arguments are followed as Java means them; how Kryo follows them matters only for bytes (``fields.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from serializers.classes import ClassModel, FieldModel, written_type
from serializers.datetime import DATES
from serializers.javatypes import OBJECT_CLASS, JavaType, parse_type
from serializers.kryo import jdk
from serializers.kryo.bodies import BLOB_SERIALIZERS
from serializers.kryo.hierarchy import upper_bound
from serializers.kryo.json import json_text
from serializers.kryo.reader import Kryo
from serializers.kryo.values import Obj, class_of
from serializers.pojo import Columns
from stateextract.columnar.layout import (
    BigInteger,
    Bool,
    Bytes,
    Field,
    Layout,
    List,
    Logical,
    Map,
    Number,
    Struct,
    Text,
    struct,
)
from stateextract.columnar.policy import Counts
from stateextract.errors import FormatError, StateExtractError, ValueRefusedError

MAX_COLUMNS: Final = 1000
"""A type with more columns than this becomes JSON."""
MAX_ELEMENTS: Final = 1 << 22
"""Elements of one value. Lists may hold one list many times, and that one another."""

_MAX_DEPTH: Final = 12

Shape = Callable[[Any, Layout, "Shaping"], Any]
"""``shape(value, layout, shaping)``: the wire value, by the layout as the user's policies have rewritten it."""


@dataclass(frozen=True)
class Column:
    """A layout and what fills it."""

    layout: Layout
    shape: Shape


class Shaping:
    """What shaping one value needs.

    :ivar counts: where bent values are counted.
    """

    __slots__ = ("counts", "elements")

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.elements = 0

    def spend(self, n: int) -> None:
        """Count elements."""
        self.elements += n
        if self.elements > MAX_ELEMENTS:
            raise ValueRefusedError(
                f"one value has more than {MAX_ELEMENTS} elements, counting what it refers to twice"
            )


def _misfit(value: Any, wanted: str) -> FormatError:
    return FormatError(
        f"a value of {class_of(value)} stands where {wanted} is declared",
        advice="if the data is sound, a class model is wrong (does it name the superclass?), or the flavour of Kryo (--kryo)",
    )


# ---- scalars


def _number(java: str, type_: pa.DataType) -> Column:
    bits = type_.bit_width

    def shape(value: Any, layout: Layout, out: Shaping) -> Any:
        if isinstance(value, Obj) and value.kind == "wrapped":
            value = value.value
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise _misfit(value, java)
        return int(value)

    return Column(Number(type_), shape)


def _real(java: str, type_: pa.DataType) -> Column:
    def shape(value: Any, layout: Layout, out: Shaping) -> Any:
        if isinstance(value, Obj) and value.kind == "wrapped":
            value = value.value
        if value is not None and not isinstance(value, float):
            raise _misfit(value, java)
        return None if value is None else float(value)

    return Column(Number(type_), shape)


def _shape_bool(value: Any, layout: Layout, out: Shaping) -> Any:
    if isinstance(value, Obj) and value.kind == "wrapped":
        value = value.value
    if value is not None and not isinstance(value, bool):
        raise _misfit(value, "boolean")
    return value


def _text(value: str, layout: Layout, out: Shaping) -> Any:
    if isinstance(layout, Text) and layout.as_binary:
        return value.encode("utf-8", "surrogatepass")
    if value.isascii():
        return str(value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        out.counts.lone_surrogates += sum(0xD800 <= ord(c) <= 0xDFFF for c in value)
        return "".join("�" if 0xD800 <= ord(c) <= 0xDFFF else c for c in value)
    return str(value)


def _shape_text(value: Any, layout: Layout, out: Shaping) -> Any:
    if value is None:
        return None
    if isinstance(value, Obj) and value.kind in ("text", "enum"):
        return None if value.value is None else _text(value.value, layout, out)
    if not isinstance(value, str):
        raise _misfit(value, "a string")
    return _text(value, layout, out)


def _of_kind(wanted: str, wire: Mapping[str, Callable[[Any], Any]]) -> Shape:
    """The content of objects of some kinds."""

    def shape(value: Any, layout: Layout, out: Shaping) -> Any:
        if value is None:
            return None
        if not isinstance(value, Obj) or value.kind not in wire:
            raise _misfit(value, wanted)
        return wire[value.kind](value.value)

    return shape


def _two_complement(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _scaled(value: tuple[int, int]) -> bytes:
    return _two_complement(value[0]) + (value[1] & 0xFFFF_FFFF).to_bytes(4, "big")


def _moment(millis: int) -> dict[str, int]:
    return {"ms": millis, "nanos": millis % 1000 * 1_000_000}


def _named(*names: str) -> Callable[[Any], dict[str, int]]:
    return lambda parts: dict(zip(names, parts, strict=True))


_STRING: Final = Column(Text(), _shape_text)
_DATE: Final = Column(
    DATES["SqlTimestamp"],
    _of_kind("a date", {"date": _moment, "sql_timestamp": _named("ms", "nanos")}),
)
_BYTES: Final = Column(Bytes(), _of_kind("bytes", {"bytes": bytes}))
_HOURS: Final = ("hour", "minute", "second", "nanos")
_DAYS: Final = ("year", "month", "day")

_PRIMITIVES: Final = {
    "boolean": Column(Bool(), _shape_bool),
    "byte": _number("byte", pa.int8()),
    "short": _number("short", pa.int16()),
    "int": _number("int", pa.int32()),
    "long": _number("long", pa.int64()),
    "float": _real("float", pa.float32()),
    "double": _real("double", pa.float64()),
    "char": _STRING,
}

SCALARS: Final = {
    **_PRIMITIVES,
    "java.lang.Boolean": _PRIMITIVES["boolean"],
    "java.lang.Byte": _PRIMITIVES["byte"],
    "java.lang.Short": _PRIMITIVES["short"],
    "java.lang.Integer": _PRIMITIVES["int"],
    "java.lang.Long": _PRIMITIVES["long"],
    "java.lang.Float": _PRIMITIVES["float"],
    "java.lang.Double": _PRIMITIVES["double"],
    **dict.fromkeys(
        (
            "java.lang.Character", "java.lang.String", "java.lang.CharSequence", "java.lang.StringBuilder",
            "java.lang.StringBuffer", "java.lang.Class", "java.util.UUID", "java.util.Locale", "java.util.Currency",
            "java.util.TimeZone", "java.util.regex.Pattern", "java.net.URI", "java.net.URL", "java.nio.charset.Charset",
            "java.time.ZonedDateTime", "java.time.OffsetDateTime", "java.time.OffsetTime", "java.time.YearMonth",
            "java.time.MonthDay", "java.time.Period", "java.time.ZoneId", "java.time.ZoneOffset",
        ),
        _STRING,
    ),
    "java.math.BigInteger": Column(
        Logical(BigInteger(), "big_integer", pa.string()), _of_kind("BigInteger", {"big_integer": _two_complement})
    ),
    "java.math.BigDecimal": Column(
        Logical(BigInteger(scaled=True), "big_decimal", pa.string()), _of_kind("BigDecimal", {"big_decimal": _scaled})
    ),
    **dict.fromkeys(("java.util.Date", "java.sql.Date", "java.sql.Time", "java.sql.Timestamp"), _DATE),
    "java.time.Instant": Column(DATES["Instant"], _of_kind("Instant", {"instant": _named("seconds", "nanos")})),
    "java.time.Duration": Column(
        struct(seconds=Number(pa.int64()), nanos=Number(pa.int32())),
        _of_kind("Duration", {"duration": _named("seconds", "nanos")}),
    ),
    "java.time.LocalDate": Column(DATES["LocalDate"], _of_kind("LocalDate", {"local_date": _named(*_DAYS)})),
    "java.time.LocalTime": Column(DATES["LocalTime"], _of_kind("LocalTime", {"local_time": _named(*_HOURS)})),
    "java.time.LocalDateTime": Column(
        DATES["LocalDateTime"], _of_kind("LocalDateTime", {"local_datetime": _named(*_DAYS, *_HOURS)})
    ),
    "java.time.Year": _PRIMITIVES["int"],
    "java.util.OptionalInt": _PRIMITIVES["int"],
    "java.util.OptionalLong": _PRIMITIVES["long"],
    "java.util.OptionalDouble": _PRIMITIVES["double"],
    "java.util.concurrent.atomic.AtomicInteger": _PRIMITIVES["int"],
    "java.util.concurrent.atomic.AtomicLong": _PRIMITIVES["long"],
    "java.util.concurrent.atomic.AtomicBoolean": _PRIMITIVES["boolean"],
}  # fmt: skip
"""Columns of types that are fixed by their class alone."""

_WRAPPERS: Final = ("java.util.Optional", "java.util.concurrent.atomic.AtomicReference")
_ENUMS: Final = frozenset(name for name, model in jdk.FIELD_BY_FIELD.items() if model.kind == "enum")


# ---- what describes itself

CLASS: Final = "class"
JSON: Final = "json"


def _shape_any(value: Any, layout: Layout, out: Shaping) -> Any:
    if value is None:
        return None
    assert isinstance(layout, Struct)
    name, json = (f.layout for f in layout.fields)
    return {CLASS: _text(class_of(value), name, out), JSON: _text(json_text(value), json, out)}


ANY: Final = Column(struct(**{CLASS: Text(), JSON: Text()}), _shape_any)
"""Any value: its class and its content as JSON."""


# ---- collections


def _list(element: Column, wanted: str) -> Column:
    inner = element.shape

    def shape(value: Any, layout: Layout, out: Shaping) -> Any:
        if value is None:
            return None
        if not isinstance(value, Obj) or value.kind not in ("list", "set"):
            raise _misfit(value, wanted)
        assert isinstance(layout, List)
        out.spend(len(value.value))
        below = layout.element
        return [inner(item, below, out) for item in value.value]

    return Column(List(element.layout), shape)


def _map(key: Column, item: Column) -> Column:
    def shape(value: Any, layout: Layout, out: Shaping) -> Any:
        if value is None:
            return None
        if not isinstance(value, Obj) or value.kind != "map":
            raise _misfit(value, "a map")
        assert isinstance(layout, Map)
        out.spend(len(value.value))
        entries: list[Any] = []
        for k, v in value.value:
            name, content = key.shape(k, layout.key, out), item.shape(v, layout.value, out)
            if layout.as_list:
                entries.append({"key": name, "value": content})
            elif name is None:
                raise ValueRefusedError(
                    "a map has a null key",
                    advice="set maps=list to get lists of key and value, where the key may be null",
                )
            else:
                entries.append((name, content))
        return entries

    return Column(Map(key.layout, item.layout), shape)


def _wrapper(inner: Column) -> Column:
    def shape(value: Any, layout: Layout, out: Shaping) -> Any:
        if isinstance(value, Obj) and value.kind == "wrapped":
            value = value.value
        return inner.shape(value, layout, out)

    return Column(inner.layout, shape)


# ---- objects


@dataclass(frozen=True)
class _Part:
    """A field: its key in a value, its place in the struct, its column."""

    key: str
    column: str
    shape: Shape


def _object(declared: str, layout: Struct, parts: Mapping[str, list[_Part]], labelled: bool) -> Column:
    """A struct of the fields of several classes."""
    index = {f.name: i for i, f in enumerate(layout.fields)}
    empty = dict.fromkeys(index)

    def shape(value: Any, rewritten: Layout, out: Shaping) -> Any:
        if value is None:
            return None
        if not isinstance(value, Obj) or value.kind != "fields" or value.class_name not in parts:
            raise _misfit(value, declared)
        assert isinstance(rewritten, Struct)
        fields = rewritten.fields
        row: dict[str, Any] = dict(empty)
        if labelled:
            row[CLASS] = _text(value.class_name, fields[0].layout, out)
        for part in parts[value.class_name]:
            row[part.column] = part.shape(value.value.get(part.key), fields[index[part.column]].layout, out)
        return row or True

    return Column(layout, shape)


class Planner:
    """Columns by the classes that a decoder knows."""

    def __init__(self, kryo: Kryo) -> None:
        self.kryo = kryo
        self.classes = kryo.classes
        self.columns = 0

    def plan(self, type_: JavaType) -> Column:
        """The column of a declared type; JSON where it would be too wide, or hold a class that is not known."""
        self.columns = 0
        try:
            return self.column(type_)
        except StateExtractError:
            return ANY

    def column(self, type_: JavaType, above: tuple[str, ...] = ()) -> Column:
        """The column of a type.

        :param above: classes that the type stands in; one that is met again becomes JSON.
        """
        type_ = upper_bound(type_)
        if type_.dimensions:
            return self._array(type_, above)
        name = type_.name
        if name in self.kryo.registrations.serializers and name not in SCALARS:
            found = self._registered(name)
            if found is not None:
                return found
        scalar = SCALARS.get(name)
        if scalar is not None:
            return scalar
        if len(above) >= _MAX_DEPTH:
            return ANY
        if name == "java.util.BitSet":
            return _list(_PRIMITIVES["int"], name)
        if name in _WRAPPERS:
            return _wrapper(self.column(type_.arguments[0], above)) if type_.arguments else ANY
        if name in jdk.LIST_LIKE or name in jdk.SET_LIKE:
            return _list(self.column(type_.arguments[0], above), name) if len(type_.arguments) == 1 else ANY
        if name in jdk.MAP_LIKE:
            if len(type_.arguments) != 2:
                return ANY
            return _map(*(self.column(argument, above) for argument in type_.arguments))
        return self._user_class(type_, above)

    def _registered(self, name: str) -> Column | None:
        """A class with a serializer of its own has the column of what that writes."""
        model = self.classes.models.get(name)
        if model is not None and model.written:
            return None
        serializer = self.kryo.registrations.serializers[name]
        if serializer in BLOB_SERIALIZERS:
            return _BYTES
        return None if serializer.endswith(".FieldSerializer") else ANY

    def _array(self, type_: JavaType, above: tuple[str, ...]) -> Column:
        component = type_.component
        if component == JavaType("byte"):
            return _BYTES
        return _list(self.column(component, above), type_.class_name)

    def _user_class(self, type_: JavaType, above: tuple[str, ...]) -> Column:
        name = type_.name
        model = self.classes.get(name)
        if name in above or name == OBJECT_CLASS:
            return ANY
        if model is not None and model.kind == "enum":
            return _STRING
        names = self.classes.subclasses(name)
        if model is not None and not self._is_collection(name):
            if model.kind != "interface":
                names = [name, *names]
            if names and len(names) <= MAX_COLUMNS:
                return self._struct(name, names, type_, above)
        return ANY

    def _is_collection(self, name: str) -> bool:
        known = (jdk.LIST_LIKE, jdk.SET_LIKE, jdk.MAP_LIKE)
        return any(above in group for above in self.classes.supertypes(name) for group in known)

    def _struct(self, declared: str, names: list[str], type_: JavaType, above: tuple[str, ...]) -> Column:
        labelled = len(names) > 1
        columns = Columns()
        fields: dict[str, Field] = {}
        parts: dict[str, list[_Part]] = {}
        for name in names:
            model = self.classes.get(name)
            assert model is not None
            arguments = type_.arguments if name == declared else ()
            found = self._fields(model, arguments, (*above, declared, name))
            named = columns.of_class(
                [(key, column.layout) for key, column in found], None if name == declared else name
            )  # fmt: skip
            parts[name] = []
            for (key, column), field in zip(found, named, strict=True):
                fields.setdefault(field.name, field)
                parts[name].append(_Part(key, field.name, column.shape))
        label = (Field(CLASS, Text()),) if labelled else ()
        return _object(declared, Struct((*label, *fields.values())), parts, labelled)

    def _fields(
        self, model: ClassModel, arguments: tuple[JavaType, ...], above: tuple[str, ...]
    ) -> list[tuple[str, Column]]:
        if model.written:
            return [(part.name, self.column(self._written(model, part), above)) for part in model.written]
        found = []
        for f in self.classes.fields(model):
            # Classes that refer to each other in all ways would otherwise have columns without end.
            self.columns += 1
            if self.columns > MAX_COLUMNS:
                raise ValueRefusedError(f"{model.name} and what it holds have more than {MAX_COLUMNS} columns")
            type_ = self._substituted(f.type, model, f.owner, arguments)
            found.append((f.key, self.column(type_, above)))
        return found

    @staticmethod
    def _written(model: ClassModel, part: FieldModel) -> JavaType:
        """The type of what a serializer of the user's own writes: the field's of that name, or that of how it is written."""
        declared = next((f.type for f in model.fields if f.name == part.name), None)
        return parse_type(declared or written_type(model, part))

    def _substituted(
        self, type_: JavaType, model: ClassModel, owner: ClassModel, arguments: tuple[JavaType, ...]
    ) -> JavaType:
        """A declared type with the type arguments in the place of type parameters."""
        if type_.name in owner.parameters:
            found = self.classes.argument(model, owner, type_.name)
            if found is not None and found.name in model.parameters and not found.dimensions:
                index = model.parameters.index(found.name)
                found = arguments[index] if index < len(arguments) else None
            if found is None or found.name in owner.parameters:
                found = JavaType(OBJECT_CLASS)
            found = upper_bound(found)
            return JavaType(found.name, found.arguments, found.dimensions + type_.dimensions)
        inside = tuple(self._substituted(a, model, owner, arguments) for a in type_.arguments)
        return JavaType(type_.name, inside, type_.dimensions, type_.lower)


__all__ = ["ANY", "SCALARS", "Column", "Planner", "Shaping"]
