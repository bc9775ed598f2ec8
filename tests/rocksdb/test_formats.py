"""Every format, checksum, compression and index of SST files, read by both engines."""

from __future__ import annotations

import itertools
import random

import pytest

from stateextract.errors import FormatError, UnsupportedError
from stateextract.rocksdb import checksums
from tests.rocksdb.model import ENGINES, drain, expected, opened, read
from tests.writers import sst as w
from tests.writers.sst import Entry, Format, SstFile, database


def some_entries(n: int, seed: int = 0) -> tuple[Entry, ...]:
    """Keys of key groups 0 to 9 with long common prefixes, values of all sizes, some keys twice."""
    rng = random.Random(seed)
    entries = []
    for i in range(n):
        key = bytes([i * 10 // n]) + b"customer-%06d" % i
        entries.append(
            Entry(key, 2 * i + 1, w.PUT, rng.randbytes(rng.choice([0, 1, 5, 130])) + b"v" * rng.randrange(40))
        )
        if i % 7 == 0:
            entries.append(Entry(key, 2 * i, w.PUT, b"old"))
    return tuple(entries)


ENTRIES = some_entries(60)
FORMATS = [
    *(Format(version=v, checksum=c) for v in range(1, 7) for c in range(5)),
    *(Format(version=v, compression=c, block_size=500) for v in (1, 2, 5) for c in (0, 1, 4, 5, 7)),
    *(Format(version=v, compression=c, block_size=500) for v in (2, 5, 6) for c in (w.ZLIB, w.BZIP2)),
    *(
        Format(index_type=t, delta=d, user_keys=u, index_restart_interval=i, restart_interval=r)
        for t, d, u, (i, r) in itertools.product(range(4), (True, False), (True, False), [(1, 16), (4, 1), (9, 3)])
    ),
    Format(data_hash_index=True),
    Format(version=0, checksum=checksums.CRC32C, delta=False, user_keys=False),
    Format(version=0, checksum=checksums.CRC32C, delta=False, user_keys=False, compression=w.LZ4, block_size=500),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_format(form: Format, engine: str) -> None:
    base = database([SstFile(0, ENTRIES, form=form)])
    assert read(base, engine) == expected(ENTRIES)
    # A range of key groups inside: the index is searched, the last block read in part.
    inside = [pair for pair in expected(ENTRIES) if 3 <= pair[0][0] <= 5]
    source = opened(base, engine).pairs("state", 3, 5, 1)
    assert drain(source) == inside
    assert source.entries < len(ENTRIES)


@pytest.mark.parametrize("engine", ENGINES)
def test_other_bounds(engine: str) -> None:
    base = database([SstFile(0, ENTRIES)])
    everything = expected(ENTRIES)
    lower, upper = everything[11][0], everything[17][0]
    assert drain(opened(base, engine).pairs("state", 0, 127, 1, [(lower, upper)])) == everything[11:17]
    assert drain(opened(base, engine).pairs("state", 2, 2, 1, [(lower, b"\xff")])) == everything[12:18]
    assert drain(opened(base, engine).pairs("state", 100, 127, 1)) == []
    assert drain(opened(base, engine).pairs("state", 5, 4, 1)) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_two_byte_prefix_and_the_handles_own_groups(engine: str) -> None:
    entries = tuple(Entry(group.to_bytes(2, "big") + b"k", group, w.PUT, b"v") for group in (0, 255, 256, 700, 32767))
    base = database([SstFile(1, entries)], first=255, count=446)
    assert [pair[0][:-1] for pair in drain(opened(base, engine).pairs("state", 0, 32767, 2))] == [
        b"\x00\xff", b"\x01\x00", b"\x02\xbc"
    ]  # fmt: skip
    assert [pair[0][:-1] for pair in drain(opened(base, engine).pairs("state", 256, 256, 2))] == [b"\x01\x00"]


@pytest.mark.parametrize("engine", ENGINES)
def test_ingested_file_has_one_sequence_number(engine: str) -> None:
    newer = Entry(b"\x01a", 9, w.PUT, b"by number 9")
    ingested = Entry(b"\x01a", 0, w.PUT, b"ingested")
    for number, value in ((5, b"by number 9"), (20, b"ingested")):
        base = database(
            [SstFile(0, (newer,)), SstFile(0, (ingested,), form=Format(global_seqno=number))],
        )
        assert read(base, engine) == [(b"\x01a", value)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("room", [1, 7, 100])
def test_pairs_larger_than_the_room(room: int, engine: str) -> None:
    entries = (
        Entry(b"\x00a", 1, w.PUT, b"x" * 1000),
        Entry(b"\x00b" * 300, 2, w.PUT, b""),
        Entry(b"\x00c", 3, w.MERGE, b"y" * 5000),
        Entry(b"\x00c", 4, w.MERGE, b"z" * 9000),
    )
    entries = tuple(sorted(entries, key=lambda one: (one.key, -one.seqno)))
    assert read(database([SstFile(0, entries)]), engine, room=room) == expected(entries)


def test_empty_family_and_unknown_one() -> None:
    base = database([SstFile(0, ENTRIES, state="full")], states=("empty", "full", "größe €😀"))
    db = opened(base)
    assert list(db.column_families) == ["empty", "full", "größe €😀"]
    assert drain(db.pairs("empty", 0, 127, 1)) == []
    assert db.family("empty").size == 0
    assert db.family("full").size == len(base.shared[0][1].data)  # type: ignore[union-attr]
    with pytest.raises(FormatError, match="no column family 'other'"):
        db.pairs("other", 0, 127, 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_counts(engine: str) -> None:
    base = database([SstFile(0, ENTRIES)])
    source = opened(base, engine).pairs("state", 0, 127, 1)
    pairs = drain(source)
    assert source.pairs == len(pairs) == 60
    assert source.entries == len(ENTRIES)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (Format(merge_operator=b"UInt64AddOperator"), "UInt64AddOperator"),
        (Format(index_type=4), "index type 4"),
    ],
)
def test_refused_by_name(form: Format, message: str) -> None:
    entries = (Entry(b"\x01a", 1, w.MERGE, b"1"),)
    with pytest.raises(UnsupportedError, match=message):
        read(database([SstFile(0, entries, form=form)]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", [3, 15, 0x11, 0x16, 255])
def test_unknown_entry_types_are_refused(kind: int, engine: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        read(database([SstFile(0, (Entry(b"\x01a", 1, kind, b"1"),))]), engine)
    assert caught.value.file == "000010.sst"
    assert caught.value.offset == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("index_type", [w.BINARY, w.TWO_LEVEL])
def test_range_behind_all_blocks_of_a_file(index_type: int, engine: str) -> None:
    """A range deletion makes the file's bounds wider than its index."""
    file = SstFile(0, (Entry(b"\x01a", 2, w.PUT, b""),), ((b"\x03", b"\x05", 1),), Format(index_type=index_type))
    source = opened(database([file]), engine).pairs("state", 4, 4, 1)
    assert drain(source) == []
    assert source.entries == 0
