"""Ranges of stored keys: which of them a read is about, and which of them a file may have keys of.

Ranges are sorted and disjoint; a bound is ``None`` where there is none, so only the first range can have no lower bound and
only the last no upper one. Lower bounds are inclusive, upper ones exclusive.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from stateextract.rocksdb.manifest import LiveFile

KeyRange: TypeAlias = tuple[bytes | None, bytes | None]
KeyRanges: TypeAlias = Sequence[KeyRange]

EVERYTHING: KeyRanges = ((None, None),)


def clipped(ranges: Iterable[KeyRange], within: KeyRange) -> Iterator[KeyRange]:
    """What of the ranges lies in another one."""
    lower, upper = within
    for begin, end in ranges:
        begin = begin if lower is None or (begin is not None and begin > lower) else lower
        end = end if upper is None or (end is not None and end < upper) else upper
        if end is None or begin is None or begin < end:
            yield begin, end


def united(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """Ranges in any order as sorted, disjoint ones that contain the same keys; neighbours become one."""
    found: list[KeyRange] = []
    for begin, end in sorted(ranges, key=lambda one: one[0] or b""):
        if found and (found[-1][1] is None or (begin or b"") <= found[-1][1]):
            last = found[-1]
            if last[1] is not None and (end is None or end > last[1]):
                found[-1] = (last[0], end)
        else:
            found.append((begin, end))
    return found


def following(prefix: bytes) -> bytes | None:
    """The first key after all that begin with some bytes; ``None``: there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def meeting(ranges: KeyRanges, live: LiveFile) -> KeyRanges:
    """The ranges that a file may have keys of."""
    first = bisect.bisect_right(ranges, (False, live.smallest), key=_end)
    cut = bisect.bisect_left if live.exclusive else bisect.bisect_right
    return ranges[first : max(first, cut(ranges, live.largest, key=_begin))]


def _begin(one: KeyRange) -> bytes:
    return one[0] or b""


def _end(one: KeyRange) -> tuple[bool, bytes]:
    return one[1] is None, one[1] or b""
