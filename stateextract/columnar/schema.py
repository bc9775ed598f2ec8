"""Schemas of one state across files: united into one, and batches brought to it.

The subtasks of an operator may hold different snapshots of one serializer (a POJO that evolved, an enum that grew), and a
dataset has one schema. Structs are united by field name; everything else must agree.

May import pyarrow and errors only.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from stateextract.errors import UnsupportedError


def merge_schemas(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """One schema that has every column and every struct field of all of them, in order of first appearance.

    :raises UnsupportedError: where one column has two types that cannot be united.
    """
    first, *others = schemas
    type_ = pa.struct(list(first))
    for schema in others:
        type_ = _merge(type_, pa.struct(list(schema)), "")
    return pa.schema([type_.field(i) for i in range(type_.num_fields)])


def replaced_in(schema: pa.Schema) -> int:
    """How many characters in the names of columns, and of fields in them, are U+FFFD: what lone surrogates became."""
    return sum(_replaced(field) for field in schema)


def _replaced(field: pa.Field) -> int:
    inside = (field.type.field(i) for i in range(field.type.num_fields))
    own: int = field.name.count("\ufffd")
    return own + sum(map(_replaced, inside))


def _merge(a: pa.DataType, b: pa.DataType, path: str) -> pa.DataType:
    if a == b:
        return a
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        fields = {f.name: f for f in a}
        for f in b:
            known = fields.get(f.name)
            fields[f.name] = (
                f if known is None else f.with_type(_merge(known.type, f.type, f"{path}.{f.name}".lstrip(".")))
            )
        return pa.struct(list(fields.values()))
    if pa.types.is_map(a) and pa.types.is_map(b):
        return pa.map_(_merge(a.key_type, b.key_type, f"{path}.key"), _merge(a.item_type, b.item_type, f"{path}.value"))
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(_merge(a.value_type, b.value_type, f"{path}.item"))
    raise UnsupportedError(
        f"the column {path!r} is {a} in one subtask's file and {b} in another's",
        advice="extract the subtasks' files of this state apart, or let the job write a savepoint with one schema",
    )


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly the columns of a merged schema: what it lacks is null."""
    if batch.schema == schema:
        return batch
    columns = []
    for f in schema:
        index = batch.schema.get_field_index(f.name)
        columns.append(pa.nulls(batch.num_rows, f.type) if index < 0 else _conform(batch.column(index), f.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _conform(array: pa.Array, type_: pa.DataType) -> pa.Array:
    if array.type == type_:
        return array
    if array.offset:
        array = pa.concat_arrays([array])
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(type_):
        have = {f.name: i for i, f in enumerate(array.type)}
        children = [
            _conform(array.field(have[f.name]), f.type) if f.name in have else pa.nulls(len(array), f.type)
            for f in type_
        ]
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)
    validity, offsets = array.buffers()[:2]
    if pa.types.is_map(type_):
        entries = pa.StructArray.from_arrays(
            [_conform(array.keys, type_.key_type), _conform(array.items, type_.item_type)],
            fields=[type_.key_field, type_.item_field],
        )
        return pa.Array.from_buffers(type_, len(array), [validity, offsets], children=[entries])
    if pa.types.is_list(type_):
        values = _conform(array.values, type_.value_type)
        return pa.Array.from_buffers(type_, len(array), [validity, offsets], children=[values])
    raise UnsupportedError(f"a column of type {array.type} cannot become {type_}")
