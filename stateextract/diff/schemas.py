"""The schema that two snapshots of a state are compared with, and how they differ.

Structs are united by the names of their fields: a field that one side lacks is null there, as in the data that a job's
evolved POJO reads back. Where a type changed, both become the wider number if there is one that holds all values of both,
else text. May import pyarrow and errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from stateextract.diff.arrays import is_bytes, is_list
from stateextract.diff.shapes import ELEMENT
from stateextract.errors import UnsupportedError

ADDED, REMOVED, RETYPED = "added", "removed", "retyped"


@dataclass(frozen=True)
class SchemaChange:
    """A column or field that is not the same on both sides.

    :param place: names of columns and fields; ``element`` is what is in a list or map, of maps ``struct<key, value>``.
    :param before: its type; ``None``: there was none. :param after: likewise.
    """

    place: tuple[str, ...]
    before: str | None
    after: str | None

    @property
    def path(self) -> str:
        """The names, parted by dots."""
        return ".".join(self.place)

    @property
    def change(self) -> str:
        """``added``, ``removed`` or ``retyped``."""
        return ADDED if self.before is None else REMOVED if self.after is None else RETYPED

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.path} added ({self.after})"
        if self.after is None:
            return f"{self.path} removed ({self.before})"
        return f"{self.path} {self.before} → {self.after}"


def schema_changes(before: pa.Schema, after: pa.Schema) -> list[SchemaChange]:
    """What differs between two schemas, in the order of columns."""
    return list(_changes(pa.struct(list(before)), pa.struct(list(after)), ()))


def _changes(a: pa.DataType, b: pa.DataType, place: tuple[str, ...]) -> Iterator[SchemaChange]:
    if a == b:
        return
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        yield from _field_changes({f.name: f.type for f in a}, {f.name: f.type for f in b}, place)
    elif pa.types.is_map(a) and pa.types.is_map(b):
        yield from _changes(a.key_type, b.key_type, (*place, ELEMENT, "key"))
        yield from _changes(a.item_type, b.item_type, (*place, ELEMENT, "value"))
    elif pa.types.is_list(a) and pa.types.is_list(b):
        yield from _changes(a.value_type, b.value_type, (*place, ELEMENT))
    else:
        yield SchemaChange(place, str(a), str(b))


def _field_changes(
    a: dict[str, pa.DataType], b: dict[str, pa.DataType], place: tuple[str, ...]
) -> Iterator[SchemaChange]:
    for name in dict.fromkeys([*a, *b]):
        where = (*place, name)
        if name not in a:
            yield SchemaChange(where, None, str(b[name]))
        elif name not in b:
            yield SchemaChange(where, str(a[name]), None)
        else:
            yield from _changes(a[name], b[name], where)


def united_schema(before: pa.Schema, after: pa.Schema) -> pa.Schema:
    """The schema that holds the rows of both.

    :raises UnsupportedError: where a column is nested on one side and something else on the other.
    """
    type_ = _united(pa.struct(list(before)), pa.struct(list(after)), "")
    return pa.schema(list(type_))


def _united(a: pa.DataType, b: pa.DataType, path: str) -> pa.DataType:
    if a == b:
        return a
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        fields = {f.name: f for f in a}
        for f in b:
            known = fields.get(f.name)
            where = f"{path}.{f.name}".lstrip(".")
            fields[f.name] = f if known is None else f.with_type(_united(known.type, f.type, where))
        return pa.struct(list(fields.values()))
    if pa.types.is_map(a) and pa.types.is_map(b):
        return pa.map_(
            _united(a.key_type, b.key_type, f"{path}.key"), _united(a.item_type, b.item_type, f"{path}.value")
        )
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(_united(a.value_type, b.value_type, f"{path}.element"))
    if pa.types.is_nested(a) or pa.types.is_nested(b):
        raise UnsupportedError(f"{path} was {a} and is {b}, which cannot be compared")
    return _wider(a, b)


def _wider(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """A type that holds the values of both exactly: a number, else text."""
    if pa.types.is_null(a) or pa.types.is_null(b):
        return b if pa.types.is_null(a) else a
    if pa.types.is_signed_integer(a) and pa.types.is_signed_integer(b):
        return max(a, b, key=lambda t: t.bit_width)
    if pa.types.is_floating(a) and pa.types.is_floating(b):
        return pa.float64()
    for whole, other in ((a, b), (b, a)):
        if pa.types.is_signed_integer(whole) and whole.bit_width <= 32 and pa.types.is_floating(other):
            return pa.float64()
    return pa.binary() if pa.types.is_binary(a) or pa.types.is_binary(b) else pa.string()


def bring(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """An array with a united type."""
    have = array.type
    if have == type_:
        return array
    if pa.types.is_null(have):
        return pa.nulls(len(array), type_)
    if not pa.types.is_nested(type_):
        return _cast(array, type_)
    if array.offset:
        array = pa.concat_arrays([array])
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(type_):
        places = {f.name: i for i, f in enumerate(have)}
        children = [
            bring(array.field(places[f.name]), f.type) if f.name in places else pa.nulls(len(array), f.type)
            for f in type_
        ]
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)
    assert is_list(type_)
    validity, offsets = array.buffers()[:2]
    values = bring(array.values, type_.field(0).type)
    return pa.Array.from_buffers(type_, len(array), [validity, offsets], children=[values])


def bring_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch with the columns of a united schema; what it lacks is null."""
    if batch.schema == schema:
        return batch
    columns = []
    for f in schema:
        index = batch.schema.get_field_index(f.name)
        columns.append(pa.nulls(batch.num_rows, f.type) if index < 0 else bring(batch.column(index), f.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_binary(type_) and not is_bytes(array.type):
        array = array.cast(pa.string())
    if pa.types.is_decimal(array.type) and pa.types.is_binary(type_):
        array = array.cast(pa.string())
    return array.cast(type_)


__all__ = ["SchemaChange", "bring", "bring_batch", "schema_changes", "united_schema"]
