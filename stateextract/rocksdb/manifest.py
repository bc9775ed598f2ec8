"""RocksDB's MANIFEST: which SST files live, to which column family and level they belong, and which keys they span.

Reads the whole of a MANIFEST (a log of version edits) and of CURRENT (its name). Stops at the log's end. Refuses what
would make the list of files not be all of the data: blob files, files on other paths, write-ahead logs. Does no I/O;
may import the checksums. RocksDB's side: ``db/log_format.h``, ``db/log_reader.cc``, ``db/version_edit.cc``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stateextract.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from stateextract.files.compression import masked_crc
from stateextract.rocksdb.blocks import read_slice, varint

BLOCK = 32768
_HEADER = 7
_COMPARATOR = b"leveldb.BytewiseComparator"
LARGEST_SEQNO = (1 << 56) - 1
_RANGE_END = b"\xff" * 7
"""Sequence number of a largest key that is the exclusive end of a range deletion (its type byte is 15)."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """An SST file that belongs to the database.

    :param smallest: first user key, range deletions included; ``largest`` the last one, which is ``exclusive`` if a
        range deletion ends there.
    :param smallest_seqno: and ``largest_seqno``: bounds of its entries' sequence numbers.
    :param tail: bytes from the end of the data blocks to the end of the file, where the MANIFEST says it.
    """

    number: int
    level: int
    size: int
    smallest: bytes
    largest: bytes
    exclusive: bool
    smallest_seqno: int
    largest_seqno: int
    tail: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Local names it may have: six digits, and what very old releases wrote."""
        return f"{self.number:06d}.sst", f"{self.number:06d}.ldb"

    def contains(self, key: bytes) -> bool:
        """Whether a user key lies within the file's bounds."""
        return self.smallest <= key and (key < self.largest or (key == self.largest and not self.exclusive))


@dataclass(slots=True)
class Family:
    """A column family: in Flink's databases, one state of the operator.

    :param by_number: its live SST files.
    """

    id: int
    name: str
    by_number: dict[int, LiveFile] = field(default_factory=dict)

    @property
    def files(self) -> tuple[LiveFile, ...]:
        return tuple(self.by_number.values())

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(live.size for live in self.files)


@dataclass(slots=True)
class _Edit:
    family: int = 0
    add: str | None = None
    drop: bool = False
    deleted: list[tuple[int, int]] = field(default_factory=list)
    new: list[LiveFile] = field(default_factory=list)
    group: int | None = None


def parse_current(data: bytes) -> str:
    """The name of the MANIFEST in use."""
    name = data[:-1]
    if not data.endswith(b"\n") or not name.startswith(b"MANIFEST-") or not name[9:].isdigit():
        raise FormatError("CURRENT does not name a MANIFEST", expected="MANIFEST-<number> and a newline", offset=0)
    return name.decode("ascii")


def parse_manifest(data: bytes, *, verify: bool = True) -> tuple[Family, ...]:
    """The families and live files of a database.

    :param verify: check each record's CRC32C.
    """
    families: dict[int, Family] = {0: Family(0, "default")}
    waiting: list[tuple[_Edit, int]] = []
    for record, offset in log_records(data, verify=verify):
        edit = _parse_edit(record, offset)
        # Edits of a group count only together; an incomplete group at the end is void.
        waiting.append((edit, offset))
        if edit.group:
            continue
        for ready, where in waiting:
            _apply(families, ready, where)
        waiting = []
    return tuple(families.values())


def log_records(data: bytes, *, verify: bool = True) -> Iterator[tuple[bytes, int]]:
    """The records of a log file, put together from their fragments, each with the position of its first fragment."""
    pos = 0
    parts: list[bytes] | None = None
    start = 0
    while pos < len(data):
        left = BLOCK - pos % BLOCK
        if left < _HEADER:
            pos += left
            continue
        if len(data) - pos < _HEADER:
            raise TruncatedError("the log ends inside a record's header", offset=pos)
        size = int.from_bytes(data[pos + 4 : pos + 6], "little")
        kind = data[pos + 6]
        if kind == 0 and size == 0:
            return
        header = _HEADER + 4 if 5 <= kind <= 8 else _HEADER
        if header + size > left:
            raise FormatError(
                f"a record of {size} bytes crosses a block's end", expected=f"at most {left - header}", offset=pos
            )
        end = pos + header + size
        if end > len(data):
            raise TruncatedError(f"the log ends {end - len(data)} bytes before a record does", offset=pos)
        if verify:
            stored = int.from_bytes(data[pos : pos + 4], "little")
            found = masked_crc(data[pos + 6 : end])
            if found != stored:
                raise ChecksumError(
                    f"the CRC32C of a log record is 0x{found:08X}",
                    expected=f"0x{stored:08X}",
                    advice="the file is corrupt: copy it again; to read it all the same, switch the verification off",
                    offset=pos,
                )
        body = data[pos + header : end]
        role = kind - 4 if kind > 4 else kind
        if role in (1, 2):
            if parts is not None:
                raise FormatError("a record begins before the last one has ended", offset=pos)
            start = pos
            parts = [body]
        elif role in (3, 4):
            if parts is None:
                raise FormatError("a record has no beginning", offset=pos)
            parts.append(body)
        elif kind < 128:
            raise UnsupportedError(f"a log record of type {kind}", offset=pos)
        if role in (1, 4) and parts is not None:
            yield b"".join(parts), start
            parts = None
        pos = end
    if parts is not None:
        raise TruncatedError("the log ends inside a record", offset=start)


def _apply(families: dict[int, Family], edit: _Edit, offset: int) -> None:
    if edit.add is not None:
        if edit.family in families and edit.family != 0:
            raise FormatError(f"column family {edit.family} is added twice", offset=offset)
        families[edit.family] = Family(edit.family, edit.add)
    family = families.get(edit.family)
    if family is None:
        raise FormatError(f"an edit is about column family {edit.family}, which does not exist", offset=offset)
    if edit.drop:
        del families[edit.family]
        return
    # Deletions first: a file that moves to another level is deleted and added in one edit.
    for level, number in edit.deleted:
        if number not in family.by_number or family.by_number[number].level != level:
            raise FormatError(f"file {number} of level {level} is deleted, but was never there", offset=offset)
        del family.by_number[number]
    for live in edit.new:
        if live.number in family.by_number:
            raise FormatError(f"file {live.number} is added twice", offset=offset)
        family.by_number[live.number] = live


class _Cursor:
    """Reads the fields of one edit. Positions in errors are in the record, after the position of its fragment."""

    def __init__(self, data: bytes, offset: int) -> None:
        self.data = data
        self.pos = 0
        self.offset = offset

    @property
    def more(self) -> bool:
        return self.pos < len(self.data)

    def number(self) -> int:
        value, self.pos = varint(self.data, self.pos, len(self.data), self.offset)
        return value

    def slice(self) -> bytes:
        value, self.pos = read_slice(self.data, self.pos, len(self.data), self.offset)
        return value

    def key(self) -> tuple[bytes, bytes]:
        """An internal key: user key and trailer."""
        key = self.slice()
        if len(key) < 8:
            raise FormatError(f"a key has {len(key)} bytes", expected="at least 8", offset=self.offset + self.pos)
        return key[:-8], key[-8:]


def _parse_edit(record: bytes, offset: int) -> _Edit:
    edit = _Edit()
    cursor = _Cursor(record, offset + _HEADER)
    while cursor.more:
        at = offset + _HEADER + cursor.pos
        tag = cursor.number()
        if tag == 1:
            name = cursor.slice()
            if name != _COMPARATOR:
                raise UnsupportedError(
                    f"keys are in the order of {name.decode('utf-8', 'replace')}",
                    expected=_COMPARATOR.decode(),
                    offset=at,
                )
        elif tag in (2, 3, 4, 9, 10, 203):
            cursor.number()
        elif tag == 5:
            cursor.number()
            cursor.slice()
        elif tag == 6:
            level = cursor.number()
            edit.deleted.append((level, cursor.number()))
        elif tag in (7, 100, 102, 103):
            edit.new.append(_new_file(cursor, tag, at))
        elif tag == 200:
            edit.family = cursor.number()
        elif tag == 201:
            # Java gave the name as UTF-8; what is not (a lone surrogate) arrived as a question mark.
            edit.add = cursor.slice().decode("utf-8", "replace")
        elif tag == 202:
            edit.drop = True
        elif tag == 300:
            edit.group = cursor.number()
        elif tag & 8192 and tag not in (8194, 8195, 8196, 8197):
            cursor.slice()
        else:
            what = {400: "blob files", 401: "blob files", 8194: "blob files", 8195: "blob files"}.get(tag)
            raise UnsupportedError(
                f"the MANIFEST lists {what}" if what else f"the MANIFEST has a record of type {tag}", offset=at
            )
    return edit


def _new_file(cursor: _Cursor, tag: int, at: int) -> LiveFile:
    level = cursor.number()
    number = cursor.number()
    path = cursor.number() if tag == 102 else 0
    size = cursor.number()
    smallest, _ = cursor.key()
    largest, trailer = cursor.key()
    seqnos = (0, LARGEST_SEQNO) if tag == 7 else (cursor.number(), cursor.number())
    tail: int | None = None
    while tag == 103:
        custom = cursor.number()
        if custom == 1:
            break
        value = cursor.slice()
        if custom == 15:
            tail, _ = varint(value, 0, len(value), at)
        elif custom == 65:
            path = 1
        elif custom == 4:
            raise UnsupportedError(f"file {number} refers to a blob file", offset=at)
        elif custom & 64:
            raise UnsupportedError(f"file {number} has a property of type {custom}", offset=at)
    if path:
        raise UnsupportedError(f"file {number} is on another path", offset=at)
    if smallest > largest:
        raise FormatError(f"the smallest key of file {number} is larger than its largest", offset=at)
    exclusive = trailer == b"\x0f" + _RANGE_END
    return LiveFile(number, level, size, smallest, largest, exclusive, *seqnos, tail)
