"""How maps that differ differ: entries that were added, removed and changed, counted.

Knows Arrow arrays only. Slower than telling that they differ, so it is asked for those alone.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stateextract.columnar.arrow.numpy_views import Numbers, validity
from stateextract.diff.comparable_types import ELEMENT, PLAIN, Shape
from stateextract.diff.compared_arrays import list_offsets
from stateextract.diff.equality import equal, places_of_runs
from stateextract.diff.pairing import pair_rows
from stateextract.diff.summary import EntryCounts


def changed_entries(a: pa.Array, b: pa.Array, rows_a: Numbers, rows_b: Numbers, shape: Shape) -> EntryCounts:
    """Compare maps entry by entry, by their keys; a null has none.

    :param rows_a: places of maps in ``a``; :param rows_b: as many in ``b``.
    """
    within = shape.of(ELEMENT)
    sides = [_entries(array, rows) for array, rows in ((a, rows_a), (b, rows_b))]
    columns = [[(pa.array(maps), PLAIN), (entries.field(0), within.of("key"))] for maps, entries in sides]
    (maps_a, entries_a), (maps_b, entries_b) = sides
    pairs = pair_rows(columns[0], len(maps_a), columns[1], len(maps_b))
    same = equal(entries_a.field(1), entries_b.field(1), pairs.before, pairs.after, within.of("value"))
    return EntryCounts(len(pairs.added), len(pairs.removed), int((~same).sum()))


def _entries(array: pa.Array, rows: Numbers) -> tuple[Numbers, pa.StructArray]:
    """All entries of some maps, and of each of which map it is."""
    offsets, elements = list_offsets(array)
    lengths = offsets[rows + 1] - offsets[rows]
    there = validity(array)
    if there is not None:
        lengths = np.where(there[rows], lengths, 0)
    maps: Numbers = np.repeat(np.arange(len(rows), dtype=np.int64), lengths)
    return maps, elements.take(pa.array(places_of_runs(offsets[rows], lengths)))
