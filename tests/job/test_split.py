from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateextract.errors import FormatError
from stateextract.job.split import SplitContext, decode_split, encode_split, pack, plan_file
from stateextract.options import JobOptions
from stateextract.snapshot.content import Content
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.heap import KeyGroupRange, key_group_ranges
from stateextract.state.operator import Partition

MB = 10**6


def _part(file: int, sizes: list[int], first: int = 0, start: int = 100) -> Part:
    ranges, at = [], start
    for number, size in enumerate(sizes, first):
        ranges.append(KeyGroupRange(number, at, at + size))
        at += size
    content = Content(BodyKind.HEAP, at, start, ranges=tuple(ranges))
    return Part(file, file % 2, file, f"/snap/file-{file}", 0, content)


def _groups(splits: list[list[Part]]) -> list[list[tuple[int, int]]]:
    return [[(p.file, r.key_group) for p in split for r in p.content.ranges] for split in splits]


def test_key_groups_reach_to_the_next_larger_offset() -> None:
    assert key_group_ranges(5, (100, 300, 200), 350) == [
        KeyGroupRange(5, 100, 200),
        KeyGroupRange(6, 300, 350),
        KeyGroupRange(7, 200, 300),
    ]


def test_an_offset_at_the_end_of_the_file_is_damage() -> None:
    with pytest.raises(FormatError, match="key group 6 begins at 350"):
        key_group_ranges(5, (100, 350), 350)


def test_a_large_file_is_cut_between_key_groups() -> None:
    splits = pack([_part(0, [10 * MB] * 10)], 30 * MB)
    assert [len(s) for s in _groups(splits)] == [2, 3, 3, 2]
    assert [g for s in _groups(splits) for g in s] == [(0, i) for i in range(10)]


def test_a_key_group_is_never_split() -> None:
    splits = pack([_part(0, [1000, 500 * MB, 1000])], MB)
    assert (0, 1) in [g for s in _groups(splits) for g in s]
    assert sum(len(s) for s in _groups(splits)) == 3


def test_small_files_of_several_operators_share_a_split() -> None:
    splits = pack([_part(i, [1000] * 4) for i in range(20)], 128 * MB)
    assert len(splits) == 1
    assert {p.operator for p in splits[0]} == {0, 1}


def test_very_many_tiny_files_are_spread() -> None:
    splits = pack([_part(i, [10]) for i in range(1900)], 128 * MB)
    assert len(splits) == 4
    assert [len(s) for s in splits] == [475, 475, 475, 475]


@given(
    st.lists(st.lists(st.integers(4, 3 * MB), min_size=1, max_size=8), min_size=1, max_size=8),
    st.integers(1, 10 * MB),
)
def test_every_key_group_is_in_exactly_one_split(files: list[list[int]], split_bytes: int) -> None:
    parts = [_part(i, sizes) for i, sizes in enumerate(files)]
    splits = pack(parts, split_bytes)
    assert [g for s in _groups(splits) for g in s] == [
        (i, k) for i, sizes in enumerate(files) for k in range(len(sizes))
    ]
    assert all(splits)
    assert [decode_split(encode_split(s)) for s in splits] == splits


def test_a_record_holds_ranges_that_do_not_follow_each_other() -> None:
    for ranges in ([(4, 500, 600), (5, 20, 500)], [(4, 20, 500), (9, 500, 600)], []):
        groups = tuple(KeyGroupRange(*r) for r in ranges)
        part = Part(3, 1, 2, "s3://b/ä", 50, Content(BodyKind.FULL_SNAPSHOT, 1000, 20, 300, groups))
        assert decode_split(encode_split([part])) == [part]


def _lists(whole: bool = False) -> Part:
    parts = (
        Partition("a", "UNION", tuple(range(100, 1100, 10)), 1100),
        Partition("b", "SPLIT_DISTRIBUTE", (), 1500),
        Partition("c", "BROADCAST", (1100,), 1500),
    )
    content = Content(BodyKind.OPERATOR, 1500, 100, partitions=parts, whole=whole)
    return Part(0, 0, 0, "/f", 0, content, ("c",))


def test_lists_are_cut_between_elements() -> None:
    fine = _lists().content.finer(300)
    assert [(p.name, p.first, len(p.offsets), p.size) for p in fine.partitions] == [
        ("a", 0, 30, 300), ("a", 30, 30, 300), ("a", 60, 30, 300), ("a", 90, 10, 100), ("b", 0, 0, 0), ("c", 0, 1, 400),
    ]  # fmt: skip
    assert [o for p in fine.partitions[:4] for o in p.offsets] == list(range(100, 1100, 10))
    splits = pack([Part(0, 0, 0, "/f", 0, fine)], 1 + (256_000 + 1400) // 2)
    assert [p for s in splits for part in s for p in part.content.partitions] == list(fine.partitions)
    assert [decode_split(encode_split(s)) for s in splits] == splits


def test_an_element_is_never_cut_nor_a_map() -> None:
    sizes = [p.size for p in _lists().content.finer(1).partitions]
    assert sizes == [10] * 100 + [0, 400]


def test_a_compressed_file_of_lists_is_read_as_one() -> None:
    part = _lists(whole=True)
    assert part.content.finer(300) == part.content
    assert part.content.only({"a"}) == part.content
    assert pack([part], 1) == [[part]]
    assert decode_split(encode_split([part])) == [part]


def test_records_are_small() -> None:
    parts = [_part(i, [1000 + 7 * k for k in range(128)]) for i in range(100)]
    assert len(encode_split(parts)) < 100 * 128


def test_the_plan_file_holds_context_and_records() -> None:
    schema = pa.schema([("key", pa.string()), ("value", pa.map_(pa.string(), pa.timestamp("us", "UTC")))])
    operators = [OperatorTargets("op", {"s": StateTarget("op/s", "op/s__raw", schema)})]
    options = JobOptions(snapshot="in", output="out", state=("s",))
    context = SplitContext("j", "out", "/out/_staging-j/data", "/snap/_metadata", options, operators)
    splits = [[_part(0, [10, 20])], [_part(1, [30])]]
    data, context_bytes = plan_file(context, splits)
    again = SplitContext.from_bytes(data[:context_bytes])
    assert again.options == options
    assert again.operators == operators
    at = context_bytes
    for length, split in zip(again.lengths, splits, strict=True):
        assert decode_split(data[at : at + length]) == split
        at += length
    assert at == len(data)
