"""Splits by key group: sizes from the MANIFEST, from indexes, and what is proposed."""

from __future__ import annotations

import pytest

from stateextract.rocksdb import key_group_sizes, propose_splits
from tests.rocksdb.model import ENGINES, drain, opened
from tests.writers import sst as w
from tests.writers.sst import Entry, Format, SstFile, database

BIG = Format(compression=w.NONE, block_size=400)


def entries(groups: range, each: int, start: int = 1) -> tuple[Entry, ...]:
    return tuple(
        Entry(bytes([group]) + b"%04d" % i, start + i, w.PUT, b"x" * 100) for group in groups for i in range(each)
    )


def test_sizes_by_the_manifest() -> None:
    base = database(
        [SstFile(1, entries(range(4), 10), form=BIG), SstFile(1, entries(range(6, 7), 10), form=BIG)], count=8
    )
    sizes = key_group_sizes(opened(base), 1)
    first, second = (stream.size for _, stream in base.shared)
    assert sizes.tolist() == [first / 4] * 4 + [0, 0, second, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_sizes_by_the_index(engine: str) -> None:
    skewed = (*entries(range(1), 100), *entries(range(1, 8), 4))
    base = database([SstFile(1, skewed, form=BIG)], count=8)
    guess = key_group_sizes(opened(base, engine), 1)
    exact = key_group_sizes(opened(base, engine), 1, exact=True)
    assert guess[0] == guess[7]
    assert 90 * 100 < exact[0] < 130 * 100
    assert all(200 < size < 1000 for size in exact[1:])


def test_only_the_handles_key_groups_count() -> None:
    base = database([SstFile(1, entries(range(10), 5), form=BIG)], first=2, count=3)
    sizes = key_group_sizes(opened(base), 1)
    assert sizes.tolist() == [base.shared[0][1].size / 10] * 3
    exact = key_group_sizes(opened(base), 1, exact=True)
    assert len(exact) == 3
    assert all(exact > 400)


def test_only_the_named_states_count() -> None:
    files = [SstFile(1, entries(range(2), 5), form=BIG, state=state) for state in ("a", "b")]
    base = database(files, states=("a", "b"), count=2)
    assert key_group_sizes(opened(base), 1, ["a"]).sum() == base.shared[0][1].size


def test_a_bare_key_group_as_end_does_not_count() -> None:
    base = database([SstFile(0, (), ((b"\x02", b"\x04", 9),))], count=8)
    assert key_group_sizes(opened(base), 1).nonzero()[0].tolist() == [2, 3]


@pytest.mark.parametrize("target", [1, 3000, 10**9])
def test_splits_cover_everything_once(target: int) -> None:
    base = database([SstFile(1, entries(range(3, 40), 10), form=BIG)], first=3, count=37)
    db = opened(base)
    splits = propose_splits(db, 1, target)
    assert [group for split in splits for group in range(split.first, split.last + 1)] == list(range(3, 40))
    assert len(splits) == {1: 37, 3000: 19, 10**9: 1}[target]
    parts = [drain(db.pairs("state", split.first, split.last, 1)) for split in splits]
    assert [pair for part in parts for pair in part] == drain(db.pairs("state", 0, 127, 1))
    assert sum(split.size for split in splits) == pytest.approx(base.shared[0][1].size, abs=40)


def test_two_byte_prefixes() -> None:
    made = tuple(Entry(group.to_bytes(2, "big") + b"k", 1, w.PUT, b"x" * 500) for group in range(250, 270))
    base = database([SstFile(1, made, form=BIG)], first=200, count=100)
    for exact in (False, True):
        sizes = key_group_sizes(opened(base), 2, exact=exact)
        assert sizes.nonzero()[0].tolist() == list(range(50, 70))
