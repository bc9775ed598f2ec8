"""Hashes of Arrow columns, value by value, such that equal values have equal ones whatever batch they are in.

``equality.py`` defines what is equal; hashing agrees with it: the entries of maps have no order, all NaN are one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from stateextract.columnar.arrow.numpy_views import Numbers, address, is_list, validity
from stateextract.diff import diff_kernel as kernel
from stateextract.diff.comparable_types import ELEMENT, PLAIN, Shape
from stateextract.diff.compared_arrays import byte_strings, is_bytes, list_offsets, numbers

_NULL = np.int64(0x6E756C6C)


def row_hashes(columns: Sequence[tuple[pa.Array, Shape]], count: int) -> Numbers:
    """A hash for each row of several columns."""
    result = np.zeros(count, np.int64)
    for array, shape in columns:
        if not shape.ignored:
            more = hashes(array, shape)
            kernel.combine(address(result), address(more), count)
    return result


def hashes(array: pa.Array, shape: Shape = PLAIN) -> Numbers:
    """A hash for each value."""
    type_, count = array.type, len(array)
    out = np.zeros(count, np.int64)
    if count == 0:
        return out
    if pa.types.is_struct(type_):
        fields = [(array.field(i), shape.of(type_.field(i).name)) for i in range(type_.num_fields)]
        out = row_hashes(fields, count)
    elif is_list(type_):
        offsets, elements = list_offsets(array)
        within = hashes(elements, shape.of(ELEMENT))
        bag = shape.unordered or pa.types.is_map(type_)
        fold = kernel.fold_bag if bag else kernel.fold_list
        fold(address(offsets), address(within), count, address(out))
    elif is_bytes(type_):
        offsets, data = byte_strings(array)
        kernel.hash_bytes(address(offsets), address(data), count, address(out))
    else:
        values = numbers(array)
        kernel.hash_numbers(address(values), count, address(out))
    there = validity(array)
    if there is not None:
        out[~there] = _NULL
    return out
