"""The merge against a model: random histories spread over levels, range deletions, key group ranges, both engines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateextract.errors import FormatError
from stateextract.rocksdb import kernel
from tests.depth import examples
from tests.rocksdb.model import ENGINES, Pairs, drain, expected, opened, read
from tests.writers import sst as w
from tests.writers.sst import Entry, Format, SstFile, database

# Few and short keys, so that versions of one key meet; some are beginnings of others, some look like trailers.
SUFFIXES = [
    b"",
    b"\x00",
    b"a",
    b"ab",
    b"abcdefgh",
    b"abcdefghi",
    b"abcdefgh\x00\x01",
    b"\x01\x05\x00\x00\x00\x00\x00\x00",
    b"\xff" * 9,
]
KEYS = st.builds(lambda group, suffix: bytes([group]) + suffix, st.integers(0, 5), st.sampled_from(SUFFIXES))
VALUES = st.one_of(st.binary(max_size=6), st.sampled_from([b"", b",", b"x" * 200]))


@st.composite
def databases(draw: st.DrawFn) -> tuple[list[SstFile], list[Entry], list[tuple[bytes, bytes, int]]]:
    """A history of writes, cut at random into flushes (level 0) and compacted older parts (levels 1 and 2)."""
    n = draw(st.integers(1, 60))
    entries: list[Entry] = []
    deletions: list[tuple[bytes, bytes, int]] = []
    for seqno in range(1, n + 1):
        what = draw(st.integers(0, 11))
        if what == 0:
            begin, end = sorted(draw(st.tuples(KEYS, KEYS)))
            if begin < end:
                deletions.append((begin, end, seqno))
            continue
        kind = [w.PUT, w.PUT, w.PUT, w.PUT, w.MERGE, w.MERGE, w.MERGE, w.MERGE, w.DELETE, w.DELETE, w.SINGLE_DELETE][
            what - 1
        ]
        value = draw(VALUES) if kind in (w.PUT, w.MERGE) else b""
        entries.append(Entry(draw(KEYS), seqno, kind, value))
    cuts = sorted(draw(st.lists(st.integers(1, n), min_size=2, max_size=6)))
    files: list[SstFile] = []
    for i, (low, high) in enumerate(zip([0, *cuts], [*cuts, n], strict=True)):
        part = tuple(one for one in entries if low < one.seqno <= high)
        gone = tuple(one for one in deletions if low < one[2] <= high)
        form = Format(
            block_size=draw(st.sampled_from([1, 30, 500])),
            restart_interval=draw(st.sampled_from([1, 3, 16])),
            index_type=draw(st.sampled_from([w.BINARY, w.TWO_LEVEL])),
            user_keys=False,
        )
        level = max(2 - i, 0)
        if level == 0:
            files.append(SstFile(0, part, gone, form))
            continue
        # The files of a deeper level do not overlap: one for each pair of key groups, with its part of the deletions.
        for group in range(0, 6, 2):
            begin, end = bytes([group]), bytes([group + 2])
            inside = tuple(one for one in part if begin <= one.key < end)
            clipped = tuple((max(b, begin), min(e, end), s) for b, e, s in gone if max(b, begin) < min(e, end))
            files.append(SstFile(level, inside, clipped, form))
    return [file for file in files if file.entries or file.deletions], entries, deletions


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(databases(), st.tuples(st.integers(0, 6), st.integers(0, 6)), st.sampled_from([1, 9, 64, 1 << 16]))
def test_like_the_model(
    made: tuple[list[SstFile], list[Entry], list[tuple[bytes, bytes, int]]], groups: tuple[int, int], room: int
) -> None:
    files, entries, deletions = made
    base = database(files)
    everything = expected(entries, deletions)
    inside = [pair for pair in everything if groups[0] <= pair[0][0] <= groups[1]]
    for engine in ENGINES:
        assert read(base, engine, room=room) == everything
        assert drain(opened(base, engine).pairs("state", *groups, 1)) == inside


@st.composite
def long_keys(draw: st.DrawFn) -> list[Entry]:
    """Puts whose keys have long beginnings in common, as the entries of a map state have."""
    keys = [b"\x01"]
    for _ in range(draw(st.integers(1, 80))):
        other = draw(st.sampled_from(keys))
        shared = draw(st.integers(1, len(other)))
        keys.append(other[:shared] + draw(st.binary(min_size=1, max_size=draw(st.sampled_from([3, 20, 70])))))
    values = st.binary(max_size=draw(st.sampled_from([9, 40, 300])))
    return [Entry(key, number, w.PUT, draw(values)) for number, key in enumerate(sorted(set(keys)), 1)]


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(long_keys(), st.sampled_from([1, 2, 16]), st.sampled_from([64, 700, 4096]), st.sampled_from([200, 1 << 16]))
def test_runs_of_puts_with_long_keys(entries: list[Entry], interval: int, block_size: int, room: int) -> None:
    wanted = [(one.key, one.value) for one in entries]
    form = Format(block_size=block_size, restart_interval=interval)
    runs = [[SstFile(1, tuple(entries), form=form)]]
    runs.append([SstFile(1, tuple(entries[::2]), form=form), SstFile(2, tuple(entries[1::2]), form=form)])
    for files in (run for run in runs if all(file.entries for file in run)):
        base = database(files)
        for engine in ENGINES:
            assert read(base, engine, room=room) == wanted


def both(files: list[SstFile], wanted: Pairs) -> None:
    for engine in ENGINES:
        assert read(database(files), engine) == wanted


def test_operands_are_joined_oldest_first_over_levels() -> None:
    key = b"\x01list"
    both(
        [
            SstFile(0, (Entry(key, 9, w.MERGE, b"d"),)),
            SstFile(0, (Entry(key, 7, w.MERGE, b"c"), Entry(key, 6, w.MERGE, b"b"))),
            SstFile(1, (Entry(key, 3, w.PUT, b"a"),)),
            SstFile(2, (Entry(key, 1, w.PUT, b"older"),)),
        ],
        [(key, b"a,b,c,d")],
    )


def test_operands_above_a_delete_have_no_base() -> None:
    key = b"\x01list"
    both(
        [
            SstFile(0, (Entry(key, 9, w.MERGE, b"new"),)),
            SstFile(1, (Entry(key, 5, w.DELETE),)),
            SstFile(2, (Entry(key, 3, w.PUT, b"gone"), Entry(key, 2, w.MERGE, b"gone too"))),
        ],
        [(key, b"new")],
    )


def test_an_empty_operand_is_an_operand() -> None:
    key = b"\x01list"
    both([SstFile(0, (Entry(key, 2, w.MERGE, b""), Entry(key, 1, w.PUT, b"")))], [(key, b",")])


def test_many_operands_grow_the_buffer() -> None:
    key = b"\x01list"
    entries = tuple(Entry(key, 1 + i, w.MERGE, b"%06d" % i * 20) for i in range(500))
    both([SstFile(0, entries)], [(key, b",".join(b"%06d" % i * 20 for i in range(500)))])


def test_range_deletion_counts_by_sequence_number_not_by_level() -> None:
    older, newer = Entry(b"\x01a", 3, w.PUT, b"dead"), Entry(b"\x01b", 8, w.PUT, b"alive")
    both(
        [SstFile(1, (older, newer)), SstFile(2, (Entry(b"\x03z", 1, w.PUT, b"far"),), ((b"\x01", b"\x02", 5),))],
        [(b"\x01b", b"alive"), (b"\x03z", b"far")],
    )


def test_range_deletion_of_its_own_sequence_number_does_not_cover() -> None:
    both([SstFile(0, (Entry(b"\x01a", 5, w.PUT, b"v"),), ((b"\x01", b"\x02", 5),))], [(b"\x01a", b"v")])


def test_a_file_of_range_deletions_alone() -> None:
    """Foreign key groups after a rescale: their entries are still there, below range deletions."""
    entries = tuple(Entry(bytes([group, 7]), group + 1, w.PUT, b"v") for group in range(8))
    files = [SstFile(1, entries), SstFile(0, (), ((b"\x00", b"\x02", 100), (b"\x05", b"\x08", 101)))]
    both(files, [(bytes([group, 7]), b"v") for group in (2, 3, 4)])


def test_range_deletion_counts_only_within_its_files_bounds() -> None:
    # The file's own bounds end before the deletion does, as after a compaction that cut it.
    file = SstFile(1, (Entry(b"\x01m", 9, w.PUT, b"v"),), ((b"\x01", b"\x01z", 8),))
    base = database([file, SstFile(2, (Entry(b"\x01a", 2, w.PUT, b"dead"), Entry(b"\x01x", 1, w.PUT, b"kept")))])
    number = 10
    record = w.new_file(number, len(file.bytes()), file)
    narrow = w.new_file(number, len(file.bytes()), replace(file, deletions=((b"\x01", b"\x01m", 8),)))
    narrow = narrow.replace(w.piece(b"\x01m\x0f" + b"\xff" * 7), w.piece(w.internal_key(b"\x01m", 9, w.PUT)))
    listed = base.private[1][1].data  # type: ignore[union-attr]
    records = [bytes(one) for one, _ in _records(listed)]
    changed = w.log_file([one.replace(record, narrow) for one in records])
    assert changed != listed
    for engine in ENGINES:
        assert read(w.with_file(base, "MANIFEST-000005", changed), engine) == [(b"\x01m", b"v"), (b"\x01x", b"kept")]


def _records(data: bytes) -> list[tuple[bytes, int]]:
    from stateextract.rocksdb.manifest import log_records

    return list(log_records(data))


def test_versions_of_a_key_over_two_files_of_a_level() -> None:
    key = b"\x01k"
    both(
        [
            SstFile(1, (Entry(b"\x01a", 1, w.PUT, b"1"), Entry(key, 9, w.MERGE, b"b"))),
            SstFile(1, (Entry(key, 4, w.PUT, b"a"), Entry(b"\x01z", 2, w.PUT, b"2"))),
        ],
        [(b"\x01a", b"1"), (key, b"a,b"), (b"\x01z", b"2")],
    )


def test_long_keys_grow_the_buffers() -> None:
    keys = sorted(bytes([1]) + bytes([i]) * size for i, size in enumerate((5, 300, 5000, 20, 40000, 1)))
    entries = tuple(Entry(key, i + 1, w.PUT, b"%d" % i) for i, key in enumerate(keys))
    both([SstFile(0, entries)], [(one.key, one.value) for one in entries])


@pytest.mark.parametrize("engine", ENGINES)
def test_one_sequence_number_twice_is_damage(engine: str) -> None:
    files = [SstFile(0, (Entry(b"\x01a", 3, w.PUT, value),)) for value in (b"x", b"y")]
    with pytest.raises(FormatError, match="one sequence number"):
        read(database(files), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_overlapping_files_of_a_level_are_damage(engine: str) -> None:
    files = [
        SstFile(1, (Entry(b"\x01a", 1, w.PUT, b""), Entry(b"\x01m", 2, w.PUT, b""))),
        SstFile(1, (Entry(b"\x01c", 3, w.PUT, b""),)),
    ]
    with pytest.raises(FormatError, match="overlap"):
        read(database(files), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_that_do_not_rise_are_damage(engine: str) -> None:
    for pair in (
        [Entry(b"\x01b", 1, w.PUT), Entry(b"\x01a", 2, w.PUT)],
        [Entry(b"\x01b", 1, w.PUT), Entry(b"\x01b", 2, w.PUT)],
        [Entry(b"\x01bb", 1, w.PUT), Entry(b"\x01b", 2, w.PUT)],
        [Entry(b"\x01\x01\x02", 1, w.PUT), Entry(b"\x01", 2, w.PUT)],
    ):
        for interval in (1, 16):
            base = database([Unsorted(0, tuple(pair), form=Format(restart_interval=interval))])
            with pytest.raises(FormatError, match="do not rise") as caught:
                read(base, engine)
            assert caught.value.file == "000010.sst"
            assert caught.value.offset == 0


class Unsorted(SstFile):
    """Writes the entries as they stand."""

    def bytes(self) -> bytes:
        return w.SstWriter(self.form).write(self.entries)


def test_status_codes_differ() -> None:
    """Two kernels share them."""
    from stateextract.rocksdb import block_kernel

    codes = [value for name, value in vars(kernel).items() if name.startswith("BAD_") and name != "BAD_ENTRY"]
    codes += [value for name, value in vars(block_kernel).items() if name.startswith("BAD_")]
    codes += [kernel.DONE, kernel.NEED_BATCH, kernel.FULL, kernel.KEY_FULL, kernel.GROUP_FULL, kernel.OPERANDS_FULL]
    codes += [kernel.ENDED, block_kernel.OK]
    assert len(codes) == len(set(codes))
