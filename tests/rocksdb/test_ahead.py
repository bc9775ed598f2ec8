"""Databases in stores that answer late: reads under way at once give the pairs that reads one by one give."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from stateextract.errors import ChecksumError
from stateextract.files.piece import Inline
from stateextract.metadata.model import InlineHandle, StreamHandle
from stateextract.rocksdb import RocksOptions, open_rocksdb, runs, table
from tests.rocksdb.model import ENGINES, drain, expected
from tests.rocksdb.test_formats import ENTRIES
from tests.writers import sst as w
from tests.writers.sst import Entry, Format, SstFile, database, with_file


class Late(Inline):
    """Bytes that come by a thread; ``asked`` counts the reads that were begun."""

    remote = True
    asked = 0
    threads = ThreadPoolExecutor(4)

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        Late.asked += 1
        return self.threads.submit(self.read_at, offset, length)


def open_late(stream: StreamHandle) -> Late:
    assert isinstance(stream, InlineHandle)
    return Late(stream.data, "")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads of some blocks each, and files that are not read as a whole."""
    monkeypatch.setattr(table, "WHOLE", 0)
    monkeypatch.setattr(table, "_TAIL", 60)
    monkeypatch.setattr(runs, "_LEAST_READ", 200)
    monkeypatch.setattr(runs, "_MOST_READ", 400)
    monkeypatch.setattr(Late, "asked", 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("index_type", [w.BINARY, w.TWO_LEVEL])
@pytest.mark.parametrize("share", [1, 2, 1 << 20])
def test_the_same_pairs(engine: str, index_type: int, share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "READ_AHEAD", 1600 // share)
    newer = tuple(Entry(key, 1000 + i, w.PUT, b"new") for i, (key, _) in enumerate(expected(ENTRIES)[::5]))
    form = Format(index_type=index_type)
    handle = database([SstFile(1, ENTRIES, form=form), SstFile(0, newer, form=form)])
    db = open_rocksdb(handle, open_late, RocksOptions(engine=engine))
    source = db.pairs("state", 0, 127, 1)
    assert drain(source) == expected(ENTRIES + newer)
    assert (Late.asked > 10) == (share == 1)
    assert drain(db.pairs("state", 3, 5, 1)) == [p for p in expected(ENTRIES + newer) if 3 <= p[0][0] <= 5]


@pytest.mark.parametrize("engine", ENGINES)
def test_damage_is_said_with_its_place(engine: str) -> None:
    handle = database([SstFile(1, ENTRIES)])
    ((name, stream),) = [(n, s) for n, s in handle.shared if n.endswith(".sst")]
    assert isinstance(stream, InlineHandle)
    data = bytearray(stream.data)
    data[700] ^= 1
    db = open_rocksdb(with_file(handle, name, bytes(data)), open_late, RocksOptions(engine=engine))
    with pytest.raises(ChecksumError) as caught:
        drain(db.pairs("state", 0, 127, 1))
    assert caught.value.file == name
    assert caught.value.offset is not None
    assert 500 < caught.value.offset <= 700


class Watched:
    """Opens files in memory; notes which were expected, forgotten and opened."""

    def __init__(self, inline: frozenset[str] = frozenset()) -> None:
        self.inline = inline
        self.expected: list[str] = []
        self.forgotten: list[str] = []
        self.opened: list[str] = []
        self.early: list[str] = []

    def open(self, stream: StreamHandle) -> Late:
        assert isinstance(stream, InlineHandle)
        if stream.name.startswith("s"):
            self.opened.append(stream.name)
            if stream.name in set(self.expected) - set(self.opened[:-1]):
                self.early.append(stream.name)
        return Late(stream.data, "")

    def expect(self, stream: StreamHandle, last: int) -> Callable[[], None]:
        assert isinstance(stream, InlineHandle)
        name = stream.name
        if name in self.inline:
            return lambda: None
        self.expected.append(name)
        return lambda: self.forgotten.append(name)


def levels(counts: dict[int, int]) -> list[SstFile]:
    """So many files in each level, whose keys lie between those of other levels."""
    files = []
    for level, count in counts.items():
        keys = [b"\x00%08d" % (n * 1000 // count * 10 + level) for n in range(count)]
        files += [SstFile(level, (Entry(key, n + 1, w.PUT, b"v"),)) for n, key in enumerate(keys)]
    return files


@pytest.mark.parametrize("counts", [{1: 12, 2: 150}, {0: 20}, {1: 3}, {0: 2, 1: 40, 3: 7}])
@pytest.mark.parametrize("inline", [0, 1])
def test_files_are_opened_early_and_once(counts: dict[int, int], inline: int) -> None:
    handle = database(levels(counts))
    number = sum(counts.values())
    watched = Watched(frozenset({"s13"} if inline else ()))
    db = open_rocksdb(handle, watched.open, RocksOptions(engine="interpreter"), watched.expect)
    source = db.pairs("state", 0, 127, 1)
    assert len(drain(source)) == number
    assert len(watched.opened) == len(set(watched.opened)) == number
    assert len(watched.expected) == len(set(watched.expected)) == number - (inline and number > 3)
    # The first file is expected and opened at once; none is expected when it has been opened.
    assert watched.early == [name for name in watched.opened if name not in watched.inline]
    assert sorted(watched.forgotten) == sorted(watched.expected)


def test_whoever_stops_forgets_what_was_expected() -> None:
    watched = Watched()
    db = open_rocksdb(database(levels({0: 20})), watched.open, RocksOptions(engine="interpreter"), watched.expect)
    source = db.pairs("state", 0, 127, 1)
    assert source.read_into(memoryview(bytearray(10))) == 10
    source.close()
    assert sorted(watched.forgotten) == sorted(watched.expected)
