"""Columns for Protobuf messages, by their descriptors.

=====================================  ===================================================================================
Protobuf                               column
=====================================  ===================================================================================
message                                struct of its fields, in the order of the ``.proto`` file
int32 …, int64 …                       int32, int64; uint32 and fixed32 int64; uint64 and fixed64 decimal128(20, 0)
float, double, bool, string, bytes     the obvious type
enum                                   string: the name, or the number where the descriptor has no name for it
repeated, map                          list, map
Timestamp                              timestamp[us, UTC]
Duration                               struct<seconds, nanos>, both negative in a negative one
Int64Value and its like                the value
Struct, Value, ListValue               string: JSON
FieldMask                              list of strings
a message inside itself                string: JSON
=====================================  ===================================================================================

A field that can be missing (a message, ``optional``, a member of a ``oneof``, any of proto2) is null where it is not set;
others have their default. What a message contains beyond its descriptor, and extensions, are JSON in the outermost struct's
last field.
A string that is not UTF-8, which proto2 allows, is mended and counted as in SQL's strings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from serializers.datetime import DATES
from serializers.kryo.kryo_values import Obj
from serializers.kryo.shapes import (
    BYTES,
    PRIMITIVES,
    SCALARS,
    STRING,
    KryoColumn,
    Shaper,
    Shaping,
    misfit,
    text_of,
)
from serializers.names import Names
from serializers.protobuf import (
    FREE_FORM,
    WELL_KNOWN,
    beyond_json,
    check_timestamp,
    enum_text,
    google_name,
    is_map,
    is_repeated,
    is_set,
    is_wrapper,
    map_items,
    message_json,
)
from stateextract.columnar.layout import Bytes, Field, Layout, List, Logical, Map, Number, Struct, Text
from stateextract.errors import ValueRefusedError

UNKNOWN: Final = "unknown_fields"
_MAX_DEPTH: Final = 20
_MAX_COLUMNS: Final = 1000

_UNSIGNED: Final = Logical(Bytes(), "decimal", pa.decimal128(20, 0))


def column(message_class: Any) -> KryoColumn:
    """The column of a message type."""
    descriptor = message_class.DESCRIPTOR
    planner = _Planner()
    special = planner.special(descriptor)
    inner = special or planner.message(descriptor, UNKNOWN)

    def shape(layout: Layout) -> Shaper:
        below = inner.shape(layout)

        def shaper(value: Any, out: Shaping) -> Any:
            if value is None:
                return None
            if not isinstance(value, Obj) or value.kind != "message":
                raise misfit(value, descriptor.full_name)
            if special is not None and beyond_json(value.value) is not None:
                raise ValueRefusedError(f"a message of the type {descriptor.full_name} has fields that are not Google's")
            return below(value.value, out)

        return shaper

    return KryoColumn(inner.layout, shape)


def _of(read: Callable[[Any], Any], inner: KryoColumn) -> KryoColumn:
    """A column of what a function makes of a message."""

    def shape(layout: Layout) -> Shaper:
        below = inner.shape(layout)
        return lambda message, out: below(read(message), out)

    return KryoColumn(inner.layout, shape)


def _column(layout: Layout, wire: Callable[[Any], Any]) -> KryoColumn:
    """A column of what a function makes of a value."""
    return KryoColumn(layout, lambda rewritten: lambda value, out: wire(value))


def _instant(value: Any) -> Any:
    check_timestamp(value)
    return {"seconds": value.seconds, "nanos": value.nanos}


def _shape_string(layout: Layout) -> Shaper:
    text, as_binary = text_of(layout), isinstance(layout, Text) and layout.as_binary

    def shaper(value: Any, out: Shaping) -> Any:
        if isinstance(value, str):
            return text(value, out)
        if as_binary:
            return value
        mended = value.decode("utf-8", "replace")
        out.counts.malformed_utf8 += mended.count("\N{REPLACEMENT CHARACTER}") - value.count(b"\xef\xbf\xbd")
        return mended

    return shaper


_SCALARS: Final[dict[str, KryoColumn]] = {
    "DOUBLE": _column(Number(pa.float64()), lambda value: value),
    "FLOAT": _column(Number(pa.float32()), lambda value: value),
    "BOOL": PRIMITIVES["boolean"],
    "STRING": KryoColumn(STRING.layout, _shape_string),
    "BYTES": _column(BYTES.layout, lambda value: value),
    **dict.fromkeys(("INT32", "SINT32", "SFIXED32"), PRIMITIVES["int"]),
    **dict.fromkeys(("INT64", "SINT64", "SFIXED64", "UINT32", "FIXED32"), PRIMITIVES["long"]),
    **dict.fromkeys(("UINT64", "FIXED64"), _column(_UNSIGNED, lambda value: int(value).to_bytes(9, "big"))),
}
_WELL_KNOWN: Final[dict[str, KryoColumn]] = {
    "Timestamp": _column(DATES["Instant"], _instant),
    "Duration": _column(
        SCALARS["java.time.Duration"].layout, lambda value: {"seconds": value.seconds, "nanos": value.nanos}
    ),
    **{name.removeprefix(WELL_KNOWN): _of(message_json, STRING) for name in FREE_FORM},
}


class _Planner:
    def __init__(self) -> None:
        self.open: list[str] = []
        self.columns = 0

    def message(self, descriptor: Any, unknown: str | None = None) -> KryoColumn:
        """A struct of the fields.

        :param unknown: what to call the field for what the descriptor does not know.
        """
        self.open.append(descriptor.full_name)
        names = Names()
        parts = [(names.take(f.name), _reader(f), self.field(f)) for f in descriptor.fields]
        if unknown is not None:
            parts.append((names.take(unknown), beyond_json, STRING))
        self.open.pop()
        layout = Struct(tuple(Field(name, part.layout) for name, _, part in parts))

        def shape(rewritten: Layout) -> Shaper:
            assert isinstance(rewritten, Struct)
            below = [
                (name, read, part.shape(f.layout)) for (name, read, part), f in zip(parts, rewritten.fields, strict=True)
            ]

            def shaper(value: Any, out: Shaping) -> Any:
                row = {}
                for name, read, part in below:
                    found = read(value)
                    row[name] = None if found is None else part(found, out)
                return row or True

            return shaper

        return KryoColumn(layout, shape)

    def field(self, field: Any) -> KryoColumn:
        self.columns += 1
        if is_map(field):
            return _map(*(self.one(field.message_type.fields_by_name[name]) for name in ("key", "value")))
        return _list(self.one(field)) if is_repeated(field) else self.one(field)

    def one(self, field: Any) -> KryoColumn:
        """The column of one value of a field."""
        if field.enum_type is not None:
            return _of(lambda number: enum_text(field, number), STRING)
        if field.message_type is None:
            return _SCALARS[_TYPES[field.type]]
        return self.inner(field.message_type)

    def special(self, descriptor: Any) -> KryoColumn | None:
        """The column of a message type that Google gave a meaning of its own."""
        name = google_name(descriptor)
        if name is None:
            return None
        if name.removeprefix(WELL_KNOWN) in _WELL_KNOWN:
            return _WELL_KNOWN[name.removeprefix(WELL_KNOWN)]
        if is_wrapper(descriptor):
            return _of(lambda message: message.value, self.one(descriptor.fields_by_name["value"]))
        if name == WELL_KNOWN + "FieldMask":
            return _of(lambda message: message.paths, _list(STRING))
        return None

    def inner(self, descriptor: Any) -> KryoColumn:
        """The column of a message inside of another."""
        found = self.special(descriptor)
        if found is not None:
            return found
        name = descriptor.full_name
        if name in self.open or len(self.open) >= _MAX_DEPTH or self.columns > _MAX_COLUMNS:
            return _of(message_json, STRING)
        return self.message(descriptor)


_TYPES: Final = dict(enumerate((
    "DOUBLE", "FLOAT", "INT64", "UINT64", "INT32", "FIXED64", "FIXED32", "BOOL", "STRING", "GROUP", "MESSAGE", "BYTES",
    "UINT32", "ENUM", "SFIXED32", "SFIXED64", "SINT32", "SINT64",
), 1))  # fmt: skip
"""``FieldDescriptorProto.Type`` by number."""


def _reader(field: Any) -> Callable[[Any], Any]:
    """What a field holds; ``None`` where it is not set."""
    name = field.name
    if not is_repeated(field) and field.has_presence:
        return lambda message: getattr(message, name) if is_set(message, name) else None
    return lambda message: getattr(message, name)


def _list(element: KryoColumn) -> KryoColumn:
    def shape(layout: Layout) -> Shaper:
        assert isinstance(layout, List)
        below = element.shape(layout.element)

        def shaper(values: Any, out: Shaping) -> Any:
            out.spend(len(values))
            return [below(value, out) for value in values]

        return shaper

    return KryoColumn(List(element.layout), shape)


def _map(key: KryoColumn, item: KryoColumn) -> KryoColumn:
    def shape(layout: Layout) -> Shaper:
        assert isinstance(layout, Map)
        of_key, of_item, as_list = key.shape(layout.key), item.shape(layout.value), layout.as_list

        def shaper(values: Any, out: Shaping) -> Any:
            out.spend(len(values))
            pairs = [(of_key(k, out), of_item(v, out)) for k, v in map_items(values)]
            return [{"key": k, "value": v} for k, v in pairs] if as_list else pairs

        return shaper

    return KryoColumn(Map(key.layout, item.layout), shape)
