"""Of many rows a guess leaves out most: what is found is what looking at all of them finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from stateextract.audit.measure.distinct import K, Smallest
from stateextract.audit.measure.largest import ColumnSizes, RowSizes, largest_rows
from stateextract.audit.measure.measured_arrays import Sizer
from stateextract.audit.measure.sample import ROWS, Sample

COUNT = 50_000
LENGTHS: dict[str, Callable[[np.random.Generator], npt.NDArray[Any]]] = {
    "alike": lambda random: np.full(COUNT, 7),
    "few sizes": lambda random: random.integers(0, 5, COUNT),
    "many sizes": lambda random: random.integers(0, 400, COUNT),
    "ascending": lambda random: np.arange(COUNT) // 200,
    "a few are large": lambda random: np.where(random.random(COUNT) < 0.0005, 300, 3),
    "those that are looked at are large": lambda random: np.where(np.arange(COUNT) % (COUNT // 4096) == 0, 200, 3),
    "those that are looked at are small": lambda random: np.where(np.arange(COUNT) % (COUNT // 4096) == 0, 1, 50),
}


def hashes_of_rows(random: np.random.Generator) -> npt.NDArray[np.uint64]:
    return random.integers(1, 2**64, COUNT, dtype=np.uint64)


@pytest.mark.parametrize("top", [1, 10, 1024])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_largest_of_many_rows_are_those_of_all(lengths: str, top: int) -> None:
    random = np.random.default_rng(7)
    sizes = LENGTHS[lengths](random)
    hashes = hashes_of_rows(random)
    column = pa.array(["x" * n for n in sizes.tolist()])
    sizer = Sizer(column.type)
    each = sizer.each(column)
    order = np.lexsort((hashes, -each))
    for least, last in ((-1, 0), (int(each[order[top]]), int(hashes[order[top]])), (int(each[order[top]]), 1 << 40)):
        rows = RowSizes(COUNT, 0, [ColumnSizes(column, sizer, None)])
        chosen, found = largest_rows(rows, hashes, None, least, last, top)
        larger = (each > least) | ((each == least) & (hashes < np.uint64(last)))
        expected = [i for i in order.tolist() if larger[i]][:top]
        assert sorted(chosen.tolist()) == sorted(expected)
        assert found.tolist() == each[chosen].tolist()


@pytest.mark.parametrize("shift", [0, 3, 40])
def test_a_sample_of_many_rows_is_that_of_all(shift: int) -> None:
    """Also where hashes are large, so that fewer than were expected are small."""
    random = np.random.default_rng(8)
    parts = [~(hashes_of_rows(random) >> np.uint64(shift)) for _ in range(3)]
    sample = Sample([pa.int64()])
    for hashes in parts:
        chosen = sample.chosen(hashes)
        if chosen is not None:
            sample.add(hashes[chosen], [(hashes[chosen].view(np.int64), None)])
    (column,) = sample.columns()
    kept = np.asarray(column.to_numpy()).view(np.uint64)
    assert kept.tolist() == np.sort(np.concatenate(parts))[:ROWS].tolist()


@pytest.mark.parametrize("shift", [0, 3, 40])
def test_the_smallest_hashes_of_many_are_those_of_all(shift: int) -> None:
    """Also where they are not spread evenly."""
    random = np.random.default_rng(9)
    parts = [
        np.concatenate([~(hashes_of_rows(random) >> np.uint64(shift)), np.arange(1, 200, dtype=np.uint64)])
        for _ in range(3)
    ]
    smallest = Smallest()
    for hashes in parts:
        smallest.add_hashes(hashes)
    assert smallest.hashes.tolist() == np.unique(np.concatenate(parts))[:K].tolist()
