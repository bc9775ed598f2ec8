"""CURRENT and MANIFEST: records, edits, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stateextract.errors import ChecksumError, FormatError, MissingFileError, TruncatedError, UnsupportedError
from stateextract.metadata.model import InlineHandle
from stateextract.rocksdb.manifest import LiveFile, log_records, parse_current, parse_manifest
from stateextract.rocksdb.ranges import meeting
from tests.rocksdb.model import opened
from tests.writers import sst as w
from tests.writers.sst import Entry, SstFile, database, log_file, piece, varint

ADD = varint(201) + piece(b"one") + varint(200) + varint(1)


def live(level: int, number: int, key: bytes = b"\x01k", custom: bytes = b"") -> bytes:
    return w.new_file(number, 1000, SstFile(level, (Entry(key, number, w.PUT),)), custom)


def files(*records: bytes) -> dict[str, list[tuple[int, int]]]:
    return {family.name: [(one.level, one.number) for one in family.files] for family in parse_manifest(log_file(records))}


def live_files(data: bytes) -> list[LiveFile]:
    return [one for family in parse_manifest(data) for one in family.files]


def test_bytes_of_flink() -> None:
    """The first records of a MANIFEST of Flink's own tests, and the file's record."""
    comparator = bytes.fromhex("011A") + b"leveldb.BytewiseComparator" + bytes.fromhex("89400101")
    head = bytes.fromhex("052B2843000001" + "35403F88200001") + comparator + bytes.fromhex("F4030C5A04000102000400")
    assert list(log_records(head)) == [(b"", 0), (comparator, 7), (bytes.fromhex("02000400"), 46)]
    family = bytes.fromhex("011A") + b"leveldb.BytewiseComparator" + bytes.fromhex("020203080403C801 01C9010A")
    file = bytes.fromhex(
        "0204 0900 030B 0401 67000AB10812030000000000000002000101000000000000120300000000000000020001010000000000000101"
        "0505F2F3F9D2060605F2F3F9D2060D0101070008 07" + b"Unknown".hex() + "0C10" + "11" * 16 + "0F02900801 C80101"
    )
    families = parse_manifest(log_file([b"", comparator, family + b"state-name", file]))
    assert [(one.id, one.name) for one in families] == [(0, "default"), (1, "state-name")]
    (found,) = families[1].files
    assert (found.level, found.number, found.size, found.tail) == (0, 10, 1073, 1040)
    assert found.smallest == found.largest == bytes.fromhex("03000000000000000200")
    assert (found.smallest_seqno, found.largest_seqno, found.exclusive) == (1, 1, False)


def test_family_of_an_edit_may_stand_behind_its_files() -> None:
    assert files(ADD, live(0, 7) + varint(200) + varint(1)) == {"default": [], "one": [(0, 7)]}
    assert files(ADD, varint(200) + varint(1) + live(0, 7)) == {"default": [], "one": [(0, 7)]}
    assert files(ADD, live(0, 7)) == {"default": [(0, 7)], "one": []}


def test_a_file_that_moves_is_deleted_first() -> None:
    moved = live(2, 7) + varint(6) + varint(0) + varint(7)
    assert files(live(0, 7), moved) == {"default": [(2, 7)]}


def test_dropped_family() -> None:
    dropped = varint(202) + varint(200) + varint(1)
    assert files(ADD, live(0, 7) + varint(200) + varint(1), dropped) == {"default": []}


def test_groups_count_only_when_complete() -> None:
    group = [live(0, 7) + varint(300) + varint(1), live(0, 8) + varint(300) + varint(0)]
    assert files(*group) == {"default": [(0, 7), (0, 8)]}
    assert files(live(0, 6), group[0]) == {"default": [(0, 6)]}


def test_records_over_several_blocks() -> None:
    long = [live(0, 100 + i, b"\x01" + bytes([i]) * 40000) for i in range(5)]
    data = log_file(long)
    assert len(data) > 10 * 32768
    assert files(*long) == {"default": [(0, 100 + i) for i in range(5)]}


@pytest.mark.parametrize("size", range(32768 - 30, 32768 + 4))
def test_block_borders(size: int) -> None:
    """A record that ends near a block's end: what is left is too short for a header, or just long enough."""
    first = varint(8193) + piece(b"x" * (size - 7 - 5))
    assert files(first, live(0, 7), live(0, 8)) == {"default": [(0, 7), (0, 8)]}


def test_preallocated_space_ends_the_log() -> None:
    assert files(live(0, 7)) == {"default": [(0, 7)]}
    assert [one.number for one in live_files(log_file([live(0, 7)]) + bytes(100))] == [7]


def test_recyclable_fragments() -> None:
    body = live(0, 7)
    checked = b"\x05" + (9).to_bytes(4, "little") + body
    crc = w.checksums.masked_crc(checked)
    data = crc.to_bytes(4, "little") + len(body).to_bytes(2, "little") + checked
    assert [one.number for one in live_files(data)] == [7]


def test_old_and_new_file_records() -> None:
    key = piece(b"\x01a" + bytes(8))
    plain = varint(3) + varint(7) + varint(50)
    assert files(varint(7) + plain + key + key) == {"default": [(3, 7)]}
    assert files(varint(100) + plain + key + key + b"\x01\x02") == {"default": [(3, 7)]}
    assert files(varint(102) + varint(3) + varint(7) + varint(0) + varint(50) + key + key + b"\x01\x02") == {
        "default": [(3, 7)]
    }


def test_bounds() -> None:
    file = SstFile(0, (Entry(b"\x01b", 1, w.PUT),), ((b"\x01a", b"\x01c", 2),))
    (found,) = live_files(log_file([w.new_file(7, 9, file)]))
    assert (found.smallest, found.largest, found.exclusive) == (b"\x01a", b"\x01c", True)
    assert meeting([(None, None)], found)
    assert meeting([(b"\x01bb", None)], found)
    assert not meeting([(b"\x01c", None)], found)
    assert not meeting([(None, b"\x01a")], found)
    assert meeting([(b"\x01c", b"\x01d")], replace(found, exclusive=False))
    several = [(None, b"\x01a"), (b"\x01a", b"\x01b"), (b"\x01bx", b"\x01by"), (b"\x01c", b"\x01d"), (b"\x02", None)]
    assert meeting(several, found) == several[1:3]
    assert meeting(several, replace(found, exclusive=False)) == several[1:4]


@pytest.mark.parametrize(
    ("record", "error", "message"),
    [
        (varint(1) + piece(b"rocksdb.ReverseBytewiseComparator"), UnsupportedError, "ReverseBytewise"),
        (varint(400), UnsupportedError, "blob files"),
        (varint(8194), UnsupportedError, "blob files"),
        (varint(8196), UnsupportedError, "type 8196"),
        (varint(77), UnsupportedError, "type 77"),
        (live(0, 7, custom=varint(4) + piece(b"\x01")), UnsupportedError, "blob file"),
        (live(0, 7, custom=varint(65) + piece(b"\x01")), UnsupportedError, "another path"),
        (live(0, 7, custom=varint(70) + piece(b"")), UnsupportedError, "type 70"),
        (live(0, 7) + live(1, 7), FormatError, "added twice"),
        (varint(6) + varint(0) + varint(9), FormatError, "never there"),
        (live(0, 7) + varint(200) + varint(5), FormatError, "does not exist"),
        (varint(103) + b"\x00\x07\x09" + piece(b"short"), FormatError, "5 bytes"),
        (varint(7) + b"\x00\x07\x09" + piece(b"b" * 9) + piece(b"a" * 9), FormatError, "larger"),
        (varint(8193) + varint(50) + b"x", TruncatedError, "50 bytes"),
        (b"\xff" * 11, FormatError, "64 bits"),
    ],
)
def test_refused(record: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        files(record)
    assert caught.value.offset is not None  # type: ignore[attr-defined]


def test_custom_fields_without_the_bit_are_passed_over() -> None:
    custom = (
        varint(5)
        + piece(b"\x01")
        + varint(12)
        + piece(b"u" * 16)
        + varint(14)
        + piece(b"\x05")
        + varint(15)
        + piece(b"\x20")
    )
    (found,) = live_files(log_file([live(0, 7, custom=custom)]))
    assert found.tail == 32


def test_damaged_log() -> None:
    data = log_file([live(0, 7), live(0, 8)])
    broken = data[:12] + bytes([data[12] ^ 1]) + data[13:]
    with pytest.raises(ChecksumError, match="CRC32C"):
        parse_manifest(broken)
    with pytest.raises(TruncatedError):
        parse_manifest(data[:-1])
    assert live_files(data[: len(data) // 2])[0].number == 7


def test_fragments_out_of_order() -> None:
    data = log_file([b"x" * 40000])
    with pytest.raises(FormatError, match="no beginning"):
        list(log_records(data[32768:]))
    with pytest.raises(TruncatedError, match="inside a record"):
        list(log_records(data[:32768]))
    with pytest.raises(FormatError, match="before the last one has ended"):
        list(log_records(data[:32768] + log_file([b"y"])))


@pytest.mark.parametrize("data", [b"", b"MANIFEST-5", b"MANIFEST-\n", b"manifest-5\n", b"MANIFEST-5/../x\n"])
def test_current(data: bytes) -> None:
    assert parse_current(b"MANIFEST-000005\n") == "MANIFEST-000005"
    with pytest.raises(FormatError, match="CURRENT"):
        parse_current(data)


def test_files_that_must_be_there() -> None:
    base = database([SstFile(0, (Entry(b"\x01k", 1, w.PUT),))])
    for name in ("CURRENT", "MANIFEST-000005"):
        without = tuple(one for one in base.private if one[0] != name)
        with pytest.raises(MissingFileError, match=name):
            opened(replace(base, private=without))
    db = opened(replace(base, shared=()))
    with pytest.raises(MissingFileError, match=r"000010\.sst"):
        db.pairs("state", 0, 127, 1).read_into(memoryview(bytearray(100)))


@pytest.mark.parametrize(("name", "message"), [("000003.log", "a write log"), ("000004.blob", "blob files")])
def test_files_that_must_not_be_there(name: str, message: str) -> None:
    base = database([SstFile(0, (Entry(b"\x01k", 1, w.PUT),))])
    with pytest.raises(UnsupportedError, match=message):
        opened(replace(base, shared=(*base.shared, (name, InlineHandle("x", b"")))))
    with pytest.raises(FormatError, match="twice"):
        opened(replace(base, shared=(*base.shared, base.shared[0])))
