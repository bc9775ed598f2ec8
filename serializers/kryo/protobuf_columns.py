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
others have their default. What a message holds beyond its descriptor, and extensions, stand as JSON in the outermost struct's
last field.
A string that is not UTF-8, which proto2 allows, is mended and counted as in SQL's strings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from serializers.datetime import DATES
from serializers.kryo.shapes import (
    BYTES,
    PRIMITIVES,
    SCALARS,
    STRING,
    KryoColumn,
    Shaping,
    misfit,
    text,
)
from serializers.kryo.values import Obj
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

    def shape(value: Any, layout: Layout, out: Shaping) -> Any:
        if value is None:
            return None
        if not isinstance(value, Obj) or value.kind != "message":
            raise misfit(value, descriptor.full_name)
        if special is not None and beyond_json(value.value) is not None:
            raise ValueRefusedError(f"a message of the type {descriptor.full_name} has fields that are not Google's")
        return inner.shape(value.value, layout, out)

    return KryoColumn(inner.layout, shape)


def _of(read: Callable[[Any], Any], inner: KryoColumn) -> KryoColumn:
    """A column of what a function makes of a message."""
    below = inner.shape
    return KryoColumn(inner.layout, lambda message, layout, out: below(read(message), layout, out))


def _shape_unsigned(value: Any, layout: Layout, out: Shaping) -> Any:
    return int(value).to_bytes(9, "big")


def _shape_instant(value: Any, layout: Layout, out: Shaping) -> Any:
    check_timestamp(value)
    return {"seconds": value.seconds, "nanos": value.nanos}


def _shape_duration(value: Any, layout: Layout, out: Shaping) -> Any:
    return {"seconds": value.seconds, "nanos": value.nanos}


def _shape_string(value: Any, layout: Layout, out: Shaping) -> Any:
    if isinstance(value, str):
        return text(value, layout, out)
    if isinstance(layout, Text) and layout.as_binary:
        return value
    mended = value.decode("utf-8", "replace")
    out.counts.malformed_utf8 += mended.count("\N{REPLACEMENT CHARACTER}") - value.count(b"\xef\xbf\xbd")
    return mended


def _shape_itself(value: Any, layout: Layout, out: Shaping) -> Any:
    return value


_SCALARS: Final[dict[str, KryoColumn]] = {
    "DOUBLE": KryoColumn(Number(pa.float64()), _shape_itself),
    "FLOAT": KryoColumn(Number(pa.float32()), _shape_itself),
    "BOOL": PRIMITIVES["boolean"],
    "STRING": KryoColumn(STRING.layout, _shape_string),
    "BYTES": KryoColumn(BYTES.layout, _shape_itself),
    **dict.fromkeys(("INT32", "SINT32", "SFIXED32"), PRIMITIVES["int"]),
    **dict.fromkeys(("INT64", "SINT64", "SFIXED64", "UINT32", "FIXED32"), PRIMITIVES["long"]),
    **dict.fromkeys(("UINT64", "FIXED64"), KryoColumn(_UNSIGNED, _shape_unsigned)),
}
_WELL_KNOWN: Final[dict[str, KryoColumn]] = {
    "Timestamp": KryoColumn(DATES["Instant"], _shape_instant),
    "Duration": KryoColumn(SCALARS["java.time.Duration"].layout, _shape_duration),
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

        def shape(value: Any, rewritten: Layout, out: Shaping) -> Any:
            assert isinstance(rewritten, Struct)
            row = {}
            for (name, read, part), f in zip(parts, rewritten.fields, strict=True):
                found = read(value)
                row[name] = None if found is None else part.shape(found, f.layout, out)
            return row or True

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
    below = element.shape

    def shape(values: Any, layout: Layout, out: Shaping) -> Any:
        assert isinstance(layout, List)
        out.spend(len(values))
        return [below(value, layout.element, out) for value in values]

    return KryoColumn(List(element.layout), shape)


def _map(key: KryoColumn, item: KryoColumn) -> KryoColumn:
    def shape(values: Any, layout: Layout, out: Shaping) -> Any:
        assert isinstance(layout, Map)
        out.spend(len(values))
        pairs = [(key.shape(k, layout.key, out), item.shape(v, layout.value, out)) for k, v in map_items(values)]
        return [{"key": k, "value": v} for k, v in pairs] if layout.as_list else pairs

    return KryoColumn(Map(key.layout, item.layout), shape)
