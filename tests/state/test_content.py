"""Where reading a file begins: what a store that answers late is asked for before the file's turn comes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stateextract.files.prefetch import PrefetchRequest
from stateextract.snapshot.content import Content
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.operator import Partition

RANGES = (KeyGroupRange(0, 10, 20), KeyGroupRange(1, 20, 50), KeyGroupRange(3, 60, 90))
HEAP = Content(BodyKind.HEAP, 90, 10, ranges=RANGES)
PARTS = tuple(Partition(name, "SPLIT_DISTRIBUTE", offsets, end) for name, offsets, end in (("a", (8, 12), 20), ("b", (), 20)))


@pytest.mark.parametrize(
    ("content", "most", "expected"),
    [
        (HEAP, 80, [(0, 50), (60, 90)]),
        (replace(HEAP, ranges=(*RANGES, KeyGroupRange(5, 92, 95))), 100, [(0, 10)]),
        (HEAP, 79, [(0, 10)]),
        (HEAP, 9, []),
        (HEAP.cut(2, 3), 40, [(0, 10), (60, 90)]),
        (HEAP.cut(0, 1), 20, [(0, 20)]),
        (Content(BodyKind.RAW, 90, 0, ranges=RANGES[:2]), 40, [(10, 50)]),
        (Content(BodyKind.RAW, 90, 0, ranges=RANGES[:2]), 39, []),
        (Content(BodyKind.SST_FILES, 9, 9, ranges=RANGES), 100, [(0, 9)]),
        (Content(BodyKind.HEAP, 90, 10, ranges=RANGES, changes=b""), 100, [(0, 10)]),
        (Content(BodyKind.OPERATOR, 30, 6, partitions=PARTS), 100, [(0, 6), (8, 20)]),
        (Content(BodyKind.OPERATOR, 30, 8, partitions=PARTS), 100, [(0, 20)]),
        (Content(BodyKind.OPERATOR, 30, 6, partitions=PARTS, whole=True), 100, [(0, 30)]),
    ],
)
def test_where_reading_begins(content: Content, most: int, expected: list[tuple[int, int]]) -> None:
    assert content.beginning(most) == expected
    without = content.beginning(most, header=False)
    assert (0, content.header_end) not in without or content.changes is not None
    assert content.changes is not None or all(begin >= content.header_end for begin, _ in without)
    moved = PrefetchRequest("x", content.beginning(most)).shifted(1000)
    assert moved == ("x", [(1000 + begin, 1000 + end) for begin, end in expected])
