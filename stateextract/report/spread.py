"""Rows and bytes by key group or subtask, in few enough bins to be drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stateextract.errors import UsageError

BINS = 128
"""Bars of a chart: the usual number of key groups, and still distinct on a phone."""
HEAVIEST = 10


def spread(places: Iterable[tuple[int, int, int]], count: int) -> dict[str, Any] | None:
    """What the page draws of places (key groups, subtasks) from 0 to ``count`` - 1.

    :param places: number, rows and bytes of those that have any.
    :returns: ``width`` places to a bin, ``rows`` and ``bytes`` of each bin (sums, so exact), how many places are
        ``filled``, and the ``heaviest`` by rows as they are; ``None`` without places.
    :raises UsageError: for a place that cannot be.
    """
    found = sorted(places)
    if not found:
        return None
    if found[0][0] < 0:
        raise UsageError(f"the statistics document has a key group or subtask {found[0][0]}")
    count = max(count, found[-1][0] + 1)
    width = -(-count // BINS)
    bins = -(-count // width)
    rows, sizes = [0] * bins, [0] * bins
    for place, row_count, size in found:
        rows[place // width] += row_count
        sizes[place // width] += size
    heaviest = sorted(found, key=lambda p: (-p[1], -p[2], p[0]))[:HEAVIEST]
    return {
        "count": count,
        "width": width,
        "filled": len(found),
        "rows": rows,
        "bytes": sizes,
        "heaviest": [list(place) for place in heaviest],
    }
