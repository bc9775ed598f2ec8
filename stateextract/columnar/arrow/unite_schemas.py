"""Schemas of one state across files: united into one, and batches brought to it.

The subtasks of an operator may hold different snapshots of one serializer: a POJO or an Avro record that evolved, an enum
that grew, TTL that was switched on. Flink restores such files, and a dataset has one schema. So structs are united by the
names of their fields, numbers become the wider type, and a value without TTL becomes one whose last access is null.

May import pyarrow and errors only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from stateextract.errors import UnsupportedError, ValueRefusedError

LAST_ACCESS, VALUE = "last_access", "value"
"""The fields of a value with TTL."""

Otherwise = Callable[[pa.DataType, pa.DataType, str], pa.DataType]
"""Gives the type for two types that are not alike, at a path; or raises :class:`UnsupportedError`."""


def _one_column(a: pa.DataType, b: pa.DataType, path: str) -> pa.DataType:
    if pa.types.is_floating(a) != pa.types.is_floating(b) and _are_numbers(a, b):
        return pa.float64()  # as Avro reads a long; a value that a double does not hold is refused when it is cast
    raise UnsupportedError(
        f"the column {path!r} is {a} in one subtask's file and {b} in another's, and no type holds both",
        advice="let the job write a savepoint with one schema",
    )


def merge_schemas(schemas: Sequence[pa.Schema], otherwise: Otherwise = _one_column) -> pa.Schema:
    """One schema that has every column and every struct field of all of them, in order of first appearance.

    :param otherwise: what becomes of two types that have no wider one.
    :raises UnsupportedError: where one column has two types that cannot be united.
    """
    first, *others = schemas
    type_ = pa.struct(list(first))
    for schema in others:
        type_ = _merge(type_, pa.struct(list(schema)), "", otherwise)
    return pa.schema([type_.field(i) for i in range(type_.num_fields)])


def inexact_column(schemas: Sequence[pa.Schema]) -> str | None:
    """Which column the merged schema may not hold exactly, in a sentence; ``None`` if it holds all of them."""
    found: list[str] = []

    def inexact(a: pa.DataType, b: pa.DataType, path: str) -> pa.DataType:
        type_ = _one_column(a, b, path)
        found.append(
            f"the column {path!r} is {a} in one subtask's file and {b} in another's: a whole number beyond 2^53 does not "
            f"fit into {type_}"
        )
        return type_

    merge_schemas(schemas, inexact)
    return found[0] if found else None


def replaced_in(schema: pa.Schema) -> int:
    """How many characters in the names of columns, and of fields in them, are U+FFFD: what lone surrogates became."""
    return sum(_replaced(field) for field in schema)


def _replaced(field: pa.Field) -> int:
    inside = (field.type.field(i) for i in range(field.type.num_fields))
    own: int = field.name.count("\ufffd")
    return own + sum(map(_replaced, inside))


def _merge(a: pa.DataType, b: pa.DataType, path: str, otherwise: Otherwise) -> pa.DataType:
    if a == b:
        return a
    with_ttl = _with_ttl(a, b, path, otherwise)
    if with_ttl is not None:
        return with_ttl
    if pa.types.is_struct(a) and pa.types.is_struct(b):
        fields = {f.name: f for f in a}
        for f in b:
            known = fields.get(f.name)
            where = f"{path}.{f.name}".lstrip(".")
            fields[f.name] = f if known is None else f.with_type(_merge(known.type, f.type, where, otherwise))
        return pa.struct(list(fields.values()))
    if pa.types.is_map(a) and pa.types.is_map(b):
        return pa.map_(
            _merge(a.key_type, b.key_type, f"{path}.key", otherwise),
            _merge(a.item_type, b.item_type, f"{path}.value", otherwise),
        )
    if pa.types.is_list(a) and pa.types.is_list(b):
        return pa.list_(_merge(a.value_type, b.value_type, f"{path}.item", otherwise))
    return _wider(a, b) or otherwise(a, b, path)


def is_ttl(type_: pa.DataType) -> bool:
    """Whether a type is that of a value with TTL."""
    return (
        pa.types.is_struct(type_)
        and [f.name for f in type_] == [LAST_ACCESS, VALUE]
        and pa.types.is_timestamp(type_.field(LAST_ACCESS).type)
    )


def ttl_value(ttl: pa.DataType, plain: pa.DataType, otherwise: Otherwise = _one_column) -> pa.DataType | None:
    """The united type of a value with TTL and of one without; ``None`` where they are not one value with and without TTL.

    A struct of the user's may look like a value with TTL. Then its fields are united like those of any other.
    """
    if not is_ttl(ttl) or is_ttl(plain) or (pa.types.is_struct(plain) and plain.get_field_index(LAST_ACCESS) >= 0):
        return None
    try:
        return _merge(ttl.field(VALUE).type, plain, "", otherwise)
    except UnsupportedError:
        return None


def _with_ttl(a: pa.DataType, b: pa.DataType, path: str, otherwise: Otherwise) -> pa.DataType | None:
    for ttl, plain in ((a, b), (b, a)):
        value = ttl_value(ttl, plain, otherwise)
        if value is not None:
            return pa.struct([ttl.field(LAST_ACCESS), ttl.field(VALUE).with_type(value)])
    return None


def _are_numbers(*types: pa.DataType) -> bool:
    return all(pa.types.is_signed_integer(t) or pa.types.is_floating(t) for t in types)


def _wider(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both exactly, if there is one."""
    if pa.types.is_null(a) or pa.types.is_null(b):
        return b if pa.types.is_null(a) else a
    if _are_numbers(a, b):
        whole = [t for t in (a, b) if pa.types.is_signed_integer(t)]
        if len(whole) == 2:
            return max(a, b, key=lambda t: t.bit_width)
        return pa.float64() if all(t.bit_width <= 32 for t in whole) else None
    texts = [pa.types.is_string(t) or pa.types.is_binary(t) for t in (a, b)]
    return pa.binary() if all(texts) else None


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly the columns of a merged schema: what it lacks is null.

    :raises ValueRefusedError: a value that the merged type does not hold exactly.
    """
    if batch.schema == schema:
        return batch
    columns = []
    for f in schema:
        index = batch.schema.get_field_index(f.name)
        try:
            columns.append(pa.nulls(batch.num_rows, f.type) if index < 0 else _conform(batch.column(index), f.type))
        except pa.ArrowInvalid as error:
            raise ValueRefusedError(
                f"a value of the column {f.name!r} does not fit exactly into {f.type}, which other subtasks need: {error}",
                advice="let the job write a savepoint with one schema",
            ) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _conform(array: pa.Array, type_: pa.DataType) -> pa.Array:
    have = array.type
    if have == type_:
        return array
    if pa.types.is_null(have):
        return pa.nulls(len(array), type_)
    if ttl_value(type_, have) == (type_.field(VALUE).type if is_ttl(type_) else ()):
        times = pa.nulls(len(array), type_.field(LAST_ACCESS).type)
        return pa.StructArray.from_arrays([times, _conform(array, type_.field(VALUE).type)], fields=list(type_))
    if not pa.types.is_nested(have) and not pa.types.is_nested(type_):
        return _cast(array, type_)
    if array.offset:
        array = pa.concat_arrays([array])
    mask = array.is_null() if array.null_count else None
    if pa.types.is_struct(type_) and pa.types.is_struct(have):
        # Where the struct is null, its fields may hold anything: flatten() makes them null.
        parts = array.flatten() if mask is not None else [array.field(i) for i in range(have.num_fields)]
        by_name = {f.name: part for f, part in zip(have, parts, strict=True)}
        children = [
            _conform(by_name[f.name], f.type) if f.name in by_name else pa.nulls(len(array), f.type) for f in type_
        ]
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)
    validity, offsets = array.buffers()[:2]
    if pa.types.is_map(type_) and pa.types.is_map(have):
        entries = pa.StructArray.from_arrays(
            [_conform(array.keys, type_.key_type), _conform(array.items, type_.item_type)],
            fields=[type_.key_field, type_.item_field],
        )
        return pa.Array.from_buffers(type_, len(array), [validity, offsets], children=[entries])
    if pa.types.is_list(type_) and pa.types.is_list(have):
        values = _conform(array.values, type_.value_type)
        return pa.Array.from_buffers(type_, len(array), [validity, offsets], children=[values])
    raise UnsupportedError(f"a column of type {have} cannot become {type_}")


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    is_text = pa.types.is_string(array.type) or pa.types.is_binary(array.type)
    if pa.types.is_binary(type_) and not is_text:
        array = array.cast(pa.string())
    return array.cast(type_)
