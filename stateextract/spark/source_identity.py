"""Which rows are of one key, exactly: numbers for keys of any type, and bytes back to text.

Joins of Arrow know no nested keys and take no null for equal to another. Here keys are numbered column by column: leaves by
their dictionary, structs by their fields and validity, floating point by its bits, and what is left (lists, maps) by its
representation in Python. Knows no files and no states.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.policy import Policy
from stateextract.columnar.schema import conform, merge_schemas
from stateextract.errors import ValueRefusedError

Numbers = npt.NDArray[np.int64]
_REPLACEMENT = "\ufffd"


def row_numbers(tables: Sequence[pa.Table]) -> tuple[list[Numbers], int]:
    """A number for each row of each table; rows whose columns are all equal have the same.

    :param tables: a column that one lacks is null there.
    :returns: the numbers, and how many there are: from 0 on, without gaps.
    """
    schema = merge_schemas([table.schema for table in tables])
    batches = [conform(batch, schema) for table in tables for batch in table.combine_chunks().to_batches()]
    codes = [_codes(pa.concat_arrays([batch.column(i) for batch in batches])) for i in range(len(schema))]
    numbers = _together(codes)
    bounds = np.cumsum([table.num_rows for table in tables])[:-1]
    return np.split(numbers, bounds), int(numbers.max()) + 1 if len(numbers) else 0


def _codes(array: pa.Array) -> Numbers:
    """Numbers that are equal where values are."""
    type_ = array.type
    if pa.types.is_struct(type_):
        valid = np.asarray(array.is_valid()).astype(np.int64)
        return _together([valid, *(_codes(array.field(i)) * valid for i in range(type_.num_fields))])
    if pa.types.is_nested(type_):
        array = pa.array([repr(value) for value in array.to_pylist()], pa.string())
    elif pa.types.is_floating(type_):
        array = array.view(pa.int64() if type_.bit_width == 64 else pa.int32())
    codes: Numbers = array.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
    return codes


def _together(codes: Sequence[Numbers]) -> Numbers:
    """One number for several."""
    first, *others = codes
    for other in others:
        # Both have as many numbers as there are rows at most, and rows are fewer than 2^31.
        first = np.unique(first * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1].astype(np.int64)
    numbers: Numbers = np.unique(first, return_inverse=True)[1].astype(np.int64)
    return numbers


def as_text(batch: pa.RecordBatch, schema: pa.Schema, policy: Policy) -> pa.RecordBatch:
    """A batch whose strings are bytes (WTF-8), with the strings that a policy makes of them.

    :param schema: of the result.
    :raises ValueRefusedError: where the policy refuses one.
    """
    columns = [_text(batch.column(f.name), f.type, policy) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _text(array: pa.Array, type_: pa.DataType, policy: Policy) -> pa.Array:
    if array.type == type_:
        return array
    if array.offset:
        array = pa.concat_arrays([array])
    if pa.types.is_string(type_):
        return _decoded(array, policy)
    if pa.types.is_struct(type_):
        children = [_text(array.field(i), f.type, policy) for i, f in enumerate(type_)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)
    buffers = array.buffers()[:2]
    if pa.types.is_map(type_):
        parts = [_text(array.keys, type_.key_type, policy), _text(array.items, type_.item_type, policy)]
        entries = pa.StructArray.from_arrays(parts, fields=[type_.key_field, type_.item_field])
        return pa.Array.from_buffers(type_, len(array), buffers, children=[entries])
    values = _text(array.values, type_.value_type, policy)
    return pa.Array.from_buffers(type_, len(array), buffers, children=[values])


def _decoded(array: pa.Array, policy: Policy) -> pa.Array:
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        if policy.strings == "refuse":
            raise ValueRefusedError(
                "met a lone surrogate in a string, which UTF-8 cannot hold",
                advice="set strings=replace (U+FFFD instead) or strings=binary (all strings as bytes)",
            ) from None
    return pa.array([None if value is None else _replaced(value) for value in array.to_pylist()], pa.string())


def _replaced(data: bytes) -> str:
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not text.isascii() else text


__all__ = ["as_text", "row_numbers"]
