"""Ranges of keys, and the keys of files that two databases do not share, in both engines."""

from __future__ import annotations

from random import Random

import pytest

from stateextract.metadata.model import IncrementalHandle, InlineHandle, StreamHandle
from stateextract.rocksdb import RocksDB, RocksOptions, open_rocksdb
from stateextract.rocksdb.lsm import keys_of, unshared_files
from stateextract.rocksdb.ranges import KeyRange, clipped, following, united
from tests.rocksdb.model import ENGINES, drain, expected, open_inline, opened
from tests.writers import sst as w
from tests.writers.sst import Entry, Format, SstFile, database

KEYS = [bytes([group, number]) + b"k" * (number % 4) for group in range(4) for number in range(0, 200, 2)]


def entries(seed: int, numbers: range) -> tuple[Entry, ...]:
    random = Random(seed)
    kinds = [w.PUT, w.PUT, w.MERGE, w.DELETE]
    return tuple(Entry(random.choice(KEYS), number, random.choice(kinds), b"v%d" % number) for number in numbers)


def test_arithmetic_of_ranges() -> None:
    assert united([(b"c", b"d"), (None, b"a"), (b"cc", b"e"), (b"a", b"b"), (b"x", None), (b"y", b"z")]) == [
        (None, b"b"), (b"c", b"e"), (b"x", None),
    ]  # fmt: skip
    assert list(clipped([(None, b"b"), (b"c", b"e"), (b"x", None)], (b"a", b"d"))) == [(b"a", b"b"), (b"c", b"d")]
    assert [following(key) for key in (b"a", b"a\xff", b"\xff\xff", b"")] == [b"b", b"b", None, None]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_the_pairs_of_many_ranges(engine: str, seed: int) -> None:
    random = Random(seed)
    form = Format(block_size=random.choice([1, 40, 300]), index_type=random.choice([w.BINARY, w.TWO_LEVEL]), user_keys=seed > 0)
    parts = [entries(seed, range(1 + 100 * i, 100 + 100 * i)) for i in range(4)]
    base = opened(database([SstFile(0, part, form=form) for part in parts]), engine)
    bounds = [*sorted(random.sample(KEYS, 20)), b"\x07"]
    ranges: list[KeyRange] = [(None, bounds[0]), *zip(bounds[1::2], bounds[2::2], strict=False)]
    everything = expected(entry for part in parts for entry in part)
    inside = [pair for pair in everything if any((low or b"") <= pair[0] and (high or b"") > pair[0] for low, high in ranges)]
    source = base.pairs("state", 0, 127, 1, ranges)
    assert drain(source, 50) == inside
    assert 0 < len(inside) < len(everything)
    assert source.entries < 396 or form.block_size == 300
    assert drain(base.pairs("state", 0, 127, 1, [])) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_of_files_that_are_not_shared(engine: str) -> None:
    """Every key that such a file has, and whether its newest entry there makes all other files void."""
    both, mine, other = (SstFile(0, entries(i, range(1 + 100 * i, 60 + 100 * i))) for i in range(3))
    moved = SstFile(2, both.entries, form=both.form)
    one, two = (identified(database(files), engine) for files in ([both, mine], [mine_older(mine), moved, other]))
    parts = unshared_files([one, two], "state")
    assert [len(part.files) for part in parts] == [1, 2]
    assert [part.settles for part in parts] == [59, 59]
    found = dict(drain(keys_of(parts, (b"\x01", b"\x03")), 40))
    older = mine_older(mine).entries
    assert list(found) == sorted({e.key for e in (*mine.entries, *older, *other.entries) if 1 <= e.key[0] < 3})
    for key, bits in found.items():
        newest = [max((e for e in side if e.key == key), key=lambda e: e.seqno, default=None)
                  for side in (mine.entries, (*older, *other.entries))]  # fmt: skip
        settled = [e is not None and e.kind != w.MERGE and e.seqno > 59 for e in newest]
        assert bits == bytes([settled[0] + 2 * settled[1]])
    assert {bytes([n]) for n in range(4)} == set(found.values())


def mine_older(file: SstFile) -> SstFile:
    """Some of the entries of a file, with numbers that are smaller than those of the shared file."""
    return SstFile(1, tuple(entry._replace(seqno=0) for entry in {e.key: e for e in file.entries[:20]}.values()))


def identified(handle: IncrementalHandle, engine: str) -> RocksDB:
    def identify(stream: StreamHandle) -> tuple[str | bytes, int, int]:
        assert isinstance(stream, InlineHandle)
        return stream.data, 0, stream.size

    return open_rocksdb(handle, open_inline, RocksOptions(True, engine), identify=identify)
