"""Which rows are of one key, exactly: numbers for keys of any type.

Joins of Arrow know no nested keys and take no null for equal to another. Here keys are numbered column by column: leaves by
their dictionary, structs by their fields and validity, floating point by its bits, and what is left (lists, maps) by its
representation in Python. Knows no files and no states.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.arrow.unite_schemas import cast_batch, merge_schemas

Numbers = npt.NDArray[np.int64]


def row_numbers(tables: Sequence[pa.Table]) -> tuple[list[Numbers], int]:
    """A number for each row of each table; rows whose columns are all equal have the same.

    :param tables: a column that one lacks is null there.
    :returns: the numbers, and how many there are: from 0 on, without gaps.
    """
    schema = merge_schemas([table.schema for table in tables])
    if not len(schema) or not any(table.num_rows for table in tables):
        return [np.zeros(table.num_rows, np.int64) for table in tables], int(any(table.num_rows for table in tables))
    batches = [cast_batch(batch, schema) for table in tables for batch in table.combine_chunks().to_batches()]
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
