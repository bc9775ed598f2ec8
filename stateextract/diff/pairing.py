"""Which row of one side is which of the other: pairs of rows whose identities are equal.

Rows come together by their hashes, and then their values are compared: those of every pair, and those of rows of one side
with the same hash. Where a comparison fails two identities have one hash, and all rows of that hash are paired anew by
their values. So the result is exact, and the slow way is gone for collisions only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.arrow.numpy_views import Bits, Numbers, address
from stateextract.diff import diff_kernel as kernel
from stateextract.diff.comparable_types import PLAIN, Shape
from stateextract.diff.equality import equal
from stateextract.diff.exact import exact_row
from stateextract.diff.hashing import row_hashes

Columns: TypeAlias = Sequence[tuple[pa.Array, Shape]]
Rows: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Pairs:
    """How the rows of two sides belong together.

    :param before: rows of the one side that have a partner; :param after: their partners.
    :param removed: rows of the one side without; :param added: rows of the other without.
    :param repeated: a row of each side that another row before it is equal to; ``None``: there is none.
    """

    before: Numbers
    after: Numbers
    removed: Numbers
    added: Numbers
    repeated: tuple[int | None, int | None] = (None, None)


def pair_rows(a: Columns, count_a: int, b: Columns, count_b: int, bits: int = 64) -> Pairs:
    """Pair the rows of two sides by their identities.

    Of rows with one identity the first is paired with the first, the second with the second, and so on.

    :param a: the columns that make the identity; :param b: those of the other side, of the same types.
    :param bits: how many bits of hashes are looked at; for tests of what collisions do.
    """
    hashes_a, hashes_b = row_hashes(a, count_a), row_hashes(b, count_b)
    if bits < 64:
        hashes_a &= (1 << bits) - 1
        hashes_b &= (1 << bits) - 1
    next_a, before_b, partners_a, partners_b = _by_hash(hashes_a, hashes_b)
    before = np.flatnonzero(partners_a != kernel.NONE)
    after = partners_a[before].astype(np.int64)
    first_a, first_b = np.flatnonzero(next_a != kernel.NONE), np.flatnonzero(before_b != kernel.NONE)
    colliding = [
        hashes_a[before[~_equal(a, b, before, after)]],
        hashes_a[first_a[~_equal(a, a, first_a, next_a[first_a].astype(np.int64))]],
        hashes_b[first_b[~_equal(b, b, first_b, before_b[first_b].astype(np.int64))]],
    ]
    bad = np.unique(np.concatenate(colliding))
    repeats = [next_a[first_a].astype(np.int64), first_b]
    if len(bad):
        again_a, again_b = np.isin(hashes_a, bad), np.isin(hashes_b, bad)
        again = _by_value(a, np.flatnonzero(again_a), b, np.flatnonzero(again_b), partners_a, partners_b)
        repeats = [r[~mask[r]] for r, mask in zip(repeats, (again_a, again_b), strict=True)]
        repeats = [np.concatenate([r, more]) for r, more in zip(repeats, again, strict=True)]
        before = np.flatnonzero(partners_a != kernel.NONE)
        after = partners_a[before].astype(np.int64)
    some_a, some_b = (int(r[0]) if len(r) else None for r in repeats)
    return Pairs(
        before, after, np.flatnonzero(partners_a == kernel.NONE), np.flatnonzero(partners_b == kernel.NONE),
        (some_a, some_b),
    )  # fmt: skip


def _by_hash(hashes_a: Numbers, hashes_b: Numbers) -> tuple[Rows, Rows, Rows, Rows]:
    count_a, count_b = len(hashes_a), len(hashes_b)
    places = 1 << max(4, ((count_a + count_b) * 5 // 4).bit_length())
    keys, heads, lasts = np.empty(places, np.int64), np.full(places, kernel.EMPTY, np.int32), np.empty(places, np.int32)
    next_a, partners_a = np.empty(count_a, np.int32), np.empty(count_a, np.int32)
    before_b, partners_b = np.empty(count_b, np.int32), np.empty(count_b, np.int32)
    kernel.pair(
        address(hashes_a), count_a, address(hashes_b), count_b, address(keys), address(heads), address(lasts), places - 1,
        address(next_a), address(before_b), address(partners_a), address(partners_b),
    )  # fmt: skip
    return next_a, before_b, partners_a, partners_b


def _equal(a: Columns, b: Columns, rows_a: Numbers, rows_b: Numbers) -> Bits:
    result = np.ones(len(rows_a), np.bool_)
    for (left, shape), (right, _) in zip(a, b, strict=True):
        result &= equal(left, right, rows_a, rows_b, shape)
    return result


def _by_value(
    a: Columns, rows_a: Numbers, b: Columns, rows_b: Numbers, partners_a: Rows, partners_b: Rows
) -> tuple[list[int], list[int]]:
    """Pair some rows anew, by their values; which of them are equal to one before them on their side."""
    waiting: dict[Any, list[int]] = {}
    again_a, again_b = [], []
    for i in rows_a.tolist():
        same = waiting.setdefault(exact_row(a, i), [])
        if same:
            again_a.append(i)
        same.append(i)
        partners_a[i] = kernel.NONE
    seen = set()
    for j in rows_b.tolist():
        value = exact_row(b, j)
        if value in seen:
            again_b.append(j)
        seen.add(value)
        same = waiting.get(value, [])
        partners_b[j] = same.pop(0) if same else kernel.NONE
        if partners_b[j] != kernel.NONE:
            partners_a[partners_b[j]] = j
    return again_a, again_b


def compile_once() -> None:
    """Compile the kernels, or load them: processes that are started then find them in Numba's cache."""
    bag = Shape(unordered=True)
    columns = [(pa.array([1]), PLAIN), (pa.array(["x"]), PLAIN), (pa.array([[1]]), PLAIN), (pa.array([[1]]), bag)]
    pair_rows(columns, 1, columns, 1)
