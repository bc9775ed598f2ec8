"""Equality of values at pairs of places in two columns of one type, exactly.

Two values are equal if both are null, or if both are there and: numbers, times and bytes are the same bit by bit, but every
NaN equals every other (so ``-0.0`` is not ``0.0``); structs are equal field by field; lists element by element; maps and
sets have the same entries, in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from stateextract.columnar.arrow.numpy_views import Bits, Numbers, address, is_list, validity
from stateextract.diff import diff_kernel as kernel
from stateextract.diff.comparable_types import ELEMENT, PLAIN, Shape
from stateextract.diff.compared_arrays import byte_strings, is_bytes, list_offsets, numbers
from stateextract.diff.exact import exact_value
from stateextract.diff.hashing import hashes

OnMap: TypeAlias = Callable[[str, pa.Array, pa.Array, Numbers, Numbers, Shape], None]
"""Receives of maps that differ: their path, both columns and the places in them, and their shape."""


def equal(a: pa.Array, b: pa.Array, rows_a: Numbers, rows_b: Numbers, shape: Shape = PLAIN) -> Bits:
    """Whether the values at each pair of places are equal.

    :param rows_a: places in ``a``; :param rows_b: as many in ``b``.
    """
    if shape.ignored or len(rows_a) == 0:
        return np.ones(len(rows_a), np.bool_)
    one, both = _nulls(a, b, rows_a, rows_b)
    if one is None or both is None:
        return _there(a, b, rows_a, rows_b, shape)
    result: Bits = ~one
    where = np.flatnonzero(both)
    result[where] = _there(a, b, rows_a[where], rows_b[where], shape)
    return result


def differences(
    a: pa.Array, b: pa.Array, rows_a: Numbers, rows_b: Numbers, shape: Shape, path: str, on_map: OnMap
) -> list[tuple[str, Bits]]:
    """By the path of a field, the pairs of rows in which it differs; structs are looked into, lists and maps are not.

    A struct that is there on one side only differs as a whole.
    """
    if shape.ignored:
        return []
    type_ = a.type
    if not pa.types.is_struct(type_):
        differ = ~equal(a, b, rows_a, rows_b, shape)
        if pa.types.is_map(type_) and differ.any():
            on_map(path, a, b, rows_a[differ], rows_b[differ], shape)
        return [(path, differ)]
    one, both = _nulls(a, b, rows_a, rows_b)
    found = [] if one is None or not one.any() else [(path, one)]
    where = None if both is None else np.flatnonzero(both)
    for i, f in enumerate(type_):
        places = (rows_a, rows_b) if where is None else (rows_a[where], rows_b[where])
        for name, differ in differences(a.field(i), b.field(i), *places, shape.of(f.name), f"{path}.{f.name}", on_map):
            if where is not None:
                whole = np.zeros(len(rows_a), np.bool_)
                whole[where] = differ
                differ = whole
            found.append((name, differ))
    return found


def _nulls(a: pa.Array, b: pa.Array, rows_a: Numbers, rows_b: Numbers) -> tuple[Bits | None, Bits | None]:
    """Where exactly one of two values is null, and where none is; ``None``: there are no nulls at all."""
    there_a, there_b = validity(a), validity(b)
    if there_a is None and there_b is None:
        return None, None
    left = np.ones(len(rows_a), np.bool_) if there_a is None else there_a[rows_a]
    right = np.ones(len(rows_b), np.bool_) if there_b is None else there_b[rows_b]
    return left != right, left & right


def _there(a: pa.Array, b: pa.Array, rows_a: Numbers, rows_b: Numbers, shape: Shape) -> Bits:
    """:func:`equal` of values none of which is null."""
    type_ = a.type
    if pa.types.is_struct(type_):
        result = np.ones(len(rows_a), np.bool_)
        for i, f in enumerate(type_):
            result &= equal(a.field(i), b.field(i), rows_a, rows_b, shape.of(f.name))
        return result
    if is_list(type_):
        return _lists(a, b, rows_a, rows_b, shape)
    if is_bytes(type_):
        offsets_a, data_a = byte_strings(a)
        offsets_b, data_b = byte_strings(b)
        rows_a, rows_b = np.ascontiguousarray(rows_a), np.ascontiguousarray(rows_b)
        out = np.zeros(len(rows_a), np.bool_)
        kernel.equal_bytes(
            address(offsets_a), address(data_a), address(rows_a), address(offsets_b), address(data_b), address(rows_b),
            len(rows_a), address(out),
        )  # fmt: skip
        return out
    same: Bits = numbers(a)[rows_a] == numbers(b)[rows_b]
    return same


def _lists(a: pa.Array, b: pa.Array, rows_a: Numbers, rows_b: Numbers, shape: Shape) -> Bits:
    offsets_a, elements_a = list_offsets(a)
    offsets_b, elements_b = list_offsets(b)
    lengths = offsets_a[rows_a + 1] - offsets_a[rows_a]
    result: Bits = lengths == offsets_b[rows_b + 1] - offsets_b[rows_b]
    some = np.flatnonzero(result & (lengths > 0))
    starts_a, starts_b, lengths = offsets_a[rows_a[some]], offsets_b[rows_b[some]], lengths[some]
    places_a, places_b = places_of_runs(starts_a, lengths), places_of_runs(starts_b, lengths)
    within = shape.of(ELEMENT)
    result[some] = _all(equal(elements_a, elements_b, places_a, places_b, within), lengths)
    if not (shape.unordered or pa.types.is_map(a.type)):
        return result
    unlike = ~result[some]
    if unlike.any():
        starts_a, starts_b, lengths, some = starts_a[unlike], starts_b[unlike], lengths[unlike], some[unlike]
        result[some] = _bags(elements_a, elements_b, starts_a, starts_b, lengths, within)
    return result


def _bags(a: pa.Array, b: pa.Array, starts_a: Numbers, starts_b: Numbers, lengths: Numbers, shape: Shape) -> Bits:
    """Whether runs of as many elements hold the same ones in any order."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    sides = []
    for elements, starts in ((a, starts_a), (b, starts_b)):
        part = elements.take(pa.array(places_of_runs(starts, lengths)))
        found = hashes(part, shape)
        order = np.lexsort((found, rows))
        sides.append((part, found[order], order))
    (part_a, hashes_a, order_a), (part_b, hashes_b, order_b) = sides
    # Only where the elements have the same hashes can they be the same.
    alike = _all(hashes_a == hashes_b, lengths)
    result = alike & _all(equal(part_a, part_b, order_a, order_b, shape), lengths)
    ends = np.cumsum(lengths)
    for i in np.flatnonzero(alike & ~result):
        # Two elements of one side have the same hash, which put them in different orders.
        begin, end = int(ends[i] - lengths[i]), int(ends[i])
        result[i] = _bag(part_a, begin, end, shape) == _bag(part_b, begin, end, shape)
    return result


def _bag(elements: pa.Array, begin: int, end: int, shape: Shape) -> Sequence[str]:
    return sorted(repr(exact_value(elements, i, shape)) for i in range(begin, end))


def places_of_runs(starts: Numbers, lengths: Numbers) -> Numbers:
    """The places of all elements of runs, one run after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: Numbers = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
    return places


def _all(bits: Bits, lengths: Numbers) -> Bits:
    """Whether all bits of a run are set; no run is empty."""
    if len(lengths) == 0:
        return np.zeros(0, np.bool_)
    starts = np.cumsum(lengths) - lengths
    result: Bits = np.logical_and.reduceat(bits, starts)
    return result
