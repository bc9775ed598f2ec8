"""Strings that were read as bytes, so that keys are distinguished exactly, and that become text again.

Knows no files and no states.
"""

from __future__ import annotations

import pyarrow as pa

from stateextract.columnar.convert.policy import Policy
from stateextract.errors import ValueRefusedError

_REPLACEMENT = "\ufffd"


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
        if policy.strings == "fail":
            raise ValueRefusedError(
                "met a lone surrogate in a string, which UTF-8 cannot hold",
                advice="set --strings to replace (U+FFFD instead) or binary (all strings as bytes)",
            ) from None
    return pa.array([None if value is None else _replaced(value) for value in array.to_pylist()], pa.string())


def _replaced(data: bytes) -> str:
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not text.isascii() else text
