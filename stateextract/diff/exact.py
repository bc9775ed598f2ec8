"""Values as plain Python that is equal where the values are: for the few rows that hashes cannot distinguish.

Agrees with ``equality.py``; slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from stateextract.columnar.arrow.numpy_views import is_list
from stateextract.diff.comparable_types import ELEMENT, PLAIN, Shape
from stateextract.diff.compared_arrays import byte_strings, is_bytes, list_offsets, numbers


def exact_value(array: pa.Array, row: int, shape: Shape = PLAIN) -> Any:
    """The value at a place, as nested tuples of numbers and bytes."""
    type_ = array.type
    if shape.ignored or pa.types.is_null(type_) or not array[row].is_valid:
        return None
    one = array.slice(row, 1)
    if pa.types.is_struct(type_):
        return tuple(exact_value(one.field(i), 0, shape.of(f.name)) for i, f in enumerate(type_))
    if is_list(type_):
        _, elements = list_offsets(one)
        values = [exact_value(elements, i, shape.of(ELEMENT)) for i in range(len(elements))]
        if shape.unordered or pa.types.is_map(type_):
            values.sort(key=repr)
        return tuple(values)
    if is_bytes(type_):
        offsets, data = byte_strings(one)
        return bytes(data[int(offsets[0]) : int(offsets[1])])
    return int(numbers(one)[0])


def exact_row(columns: Sequence[tuple[pa.Array, Shape]], row: int) -> tuple[Any, ...]:
    return tuple(exact_value(array, row, shape) for array, shape in columns)
