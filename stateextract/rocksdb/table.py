"""One SST file: footer, metaindex, properties, range deletions, and the index that says where the data blocks lie.

Reads the end of the file and, when asked for data blocks, its index; never the data blocks themselves (``runs.py``
does). Filters are not used: they answer whether a key may be there, and here all keys of a range are read. Refuses what
it does not know by name. RocksDB's side: ``table/format.cc``, ``table/meta_blocks.cc``, ``table/table_properties.cc``,
``table/block_based/block_based_table_reader.cc``.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from stateextract.errors import FormatError, TruncatedError, UnsupportedError
from stateextract.files.piece import FilePiece
from stateextract.files.second_thread import done
from stateextract.metadata.opener import read_exactly
from stateextract.rocksdb import checksums
from stateextract.rocksdb.blocks import (
    TRAILER,
    BlockFormat,
    BlockHandle,
    check_sum,
    entries,
    index_entries,
    plain_block,
    read_handle,
    varint,
)
from stateextract.rocksdb.manifest import LARGEST_SEQNO, LiveFile
from stateextract.rocksdb.ranges import EVERYTHING, KeyRanges

_BLOCK_BASED = 0x88E241B785F4CFF7
_LEGACY = 0xDB4775248B80FB57
_OTHERS = {
    0x8242229663BF9564: "a plain table",
    0x4F3418EB7A8F13B8: "an old plain table",
    0x926789D0C5F17873: "a cuckoo table",
}
_FOOTER, _LEGACY_FOOTER = 53, 48
_NEWEST_FORMAT = 6
_PREFIX = b"rocksdb."
_TWO_LEVEL, _FIRST_KEY = 2, 3
_INDEX_TYPES = {0: "binary", 1: "hash", 2: "two-level", 3: "binary with first key"}
_MERGE_OPERATOR = b"StringAppendTESTOperator"
WHOLE = 128 << 10
"""A file up to this size is read in one go."""
_TAIL = 64 << 10


class Footer(NamedTuple):
    """``index_block`` is None where the metaindex has it (format 6); ``size`` is the footer's own."""

    form: BlockFormat
    metaindex: BlockHandle
    index_block: BlockHandle | None
    size: int


class RangeDeletion(NamedTuple):
    """All keys of [begin, end) with a smaller sequence number are gone."""

    begin: bytes
    end: bytes
    seqno: int


class IndexForm(NamedTuple):
    """How the entries of a file's index are written; ``trailer``: bytes at the end of its keys after the user key."""

    delta: bool
    first_key: bool
    trailer: int


class IndexReader(Protocol):
    """Finds, in an index block, the blocks that may hold keys of some ranges."""

    def __call__(self, plain: bytes, offset: int, form: IndexForm, ranges: KeyRanges) -> tuple[Blocks, bool]:
        """The blocks, and whether they are all blocks of the index."""


Blocks: TypeAlias = npt.NDArray[np.int64]
"""A row for each block: offset, size, the first two bytes of its separator as a number, the separator's length."""


@dataclass(frozen=True, slots=True)
class Properties:
    """Those of a file's properties that matter for reading it."""

    index_type: int = 0
    index_user_keys: bool = False
    index_delta: bool = False
    entries: int | None = None
    range_deletions: int = 0
    deletes: int = 0
    operands: int = 0
    external_version: int | None = None
    global_seqno: int | None = None


def parse_footer(tail: bytes, size: int, *, verify: bool = True) -> Footer:
    """The footer.

    :param tail: the last bytes of the file, 53 or all.
    :param size: the file's size.
    """
    if len(tail) < _LEGACY_FOOTER:
        raise TruncatedError(f"an SST file has {size} bytes", expected="at least 48", offset=0)
    magic = int.from_bytes(tail[-8:], "little")
    if magic == _LEGACY:
        start = size - _LEGACY_FOOTER
        metaindex, pos = read_handle(tail, len(tail) - _LEGACY_FOOTER, len(tail) - 8, start)
        index, _ = read_handle(tail, pos, len(tail) - 8, start)
        form = BlockFormat(0, checksums.CRC32C, verify=verify)
        return _checked(Footer(form, metaindex, index, _LEGACY_FOOTER), size)
    if magic != _BLOCK_BASED:
        if magic in _OTHERS:
            raise UnsupportedError(f"the file is {_OTHERS[magic]}", expected="a block-based table", offset=size - 8)
        raise FormatError(
            f"the file ends in 0x{magic:016X}", expected=f"the magic 0x{_BLOCK_BASED:016X}", offset=size - 8
        )
    if len(tail) < _FOOTER:
        raise TruncatedError(f"an SST file has {size} bytes", expected="at least 53", offset=0)
    start = len(tail) - _FOOTER
    footer = tail[start:]
    at = size - _FOOTER
    version = int.from_bytes(footer[41:45], "little")
    kind = checksums.check_kind(footer[0])
    if not 1 <= version <= _NEWEST_FORMAT:
        raise UnsupportedError(f"SST format version {version}", expected=f"0 to {_NEWEST_FORMAT}", offset=size - 12)
    if version < 6:
        metaindex, pos = read_handle(footer, 1, 41, at)
        index, _ = read_handle(footer, pos, 41, at)
        return _checked(Footer(BlockFormat(version, kind, verify=verify), metaindex, index, _FOOTER), size)
    if footer[1:5] != b"\x3e\x00\x7a\x00" or any(footer[33:41]):
        raise FormatError("the footer of format 6 has other marks", expected="3E 00 7A 00", offset=at + 1)
    stored, context, length = (int.from_bytes(footer[i : i + 4], "little") for i in (5, 9, 13))
    if verify and kind != checksums.NONE:
        blank = footer[:5] + bytes(4) + footer[9:]
        found = checksums.checksum(kind, blank, checksums.modifier(context, at))
        check_sum(found, stored, kind, at)
    metaindex = BlockHandle(at - TRAILER - length, length)
    return _checked(Footer(BlockFormat(version, kind, context, verify), metaindex, None, _FOOTER), size)


def _checked(footer: Footer, size: int) -> Footer:
    for handle in (footer.metaindex, footer.index_block):
        if handle is not None:
            check_handle(handle, size - footer.size, size - footer.size)
    return footer


def check_handle(handle: BlockHandle, limit: int, where: int) -> None:
    """:raises FormatError: if the block does not lie below ``limit``."""
    if handle.offset < 0 or handle.end > limit:
        raise FormatError(
            f"a block of {handle.size} bytes at {handle.offset} ends after the end of the file",
            expected=f"an end at most at {limit}",
            offset=where,
        )


def parse_properties(plain: bytes, offset: int) -> Properties:
    found = {key[len(_PREFIX) :]: value for key, value in entries(plain, offset) if key.startswith(_PREFIX)}

    def number(name: bytes) -> int:
        value = found.get(name, b"\0")
        return varint(value, 0, len(value), offset)[0]

    def fixed(name: bytes, size: int) -> int | None:
        value = found.get(name)
        if value is None:
            return None
        if len(value) != size:
            raise FormatError(f"property {name.decode()} has {len(value)} bytes", expected=str(size), offset=offset)
        return int.from_bytes(value, "little")

    index_type = fixed(b"block.based.table.index.type", 4) or 0
    if index_type not in _INDEX_TYPES:
        raise UnsupportedError(f"index type {index_type}", expected=", ".join(_INDEX_TYPES.values()), offset=offset)
    comparator = found.get(b"comparator", b"leveldb.BytewiseComparator")
    if comparator != b"leveldb.BytewiseComparator":
        raise UnsupportedError(f"keys are in the order of {comparator.decode('utf-8', 'replace')}", offset=offset)
    operands = number(b"merge.operands")
    operator = found.get(b"merge.operator", _MERGE_OPERATOR)
    if operands and operator != _MERGE_OPERATOR:
        raise UnsupportedError(
            f"values are merged by {operator.decode('utf-8', 'replace')}",
            expected=_MERGE_OPERATOR.decode(),
            offset=offset,
        )
    return Properties(
        index_type=index_type,
        index_user_keys=number(b"index.key.is.user.key") != 0,
        index_delta=number(b"index.value.is.delta.encoded") != 0,
        entries=number(b"num.entries") if b"num.entries" in found else None,
        range_deletions=number(b"num.range-deletions"),
        deletes=number(b"deleted.keys"),
        operands=operands,
        external_version=fixed(b"external_sst_file.version", 4),
        global_seqno=fixed(b"external_sst_file.global_seqno", 8),
    )


def first_read(live: LiveFile) -> int:
    """How many of a file's last bytes are read first."""
    length = live.size if live.size <= WHOLE else min(live.size, live.tail or _TAIL, 4 << 20)
    return max(length, min(live.size, _FOOTER))


class Table:
    """An open SST file.

    :param live: what the MANIFEST says of it; :param most: bytes of the largest value that is read.
    """

    def __init__(
        self,
        file: FilePiece,
        live: LiveFile,
        *,
        verify: bool = True,
        most: int | None = None,
    ) -> None:
        self.file = file
        self.live = live
        self.size = file.size()
        if self.size != live.size:
            kind = TruncatedError if self.size < live.size else FormatError
            raise kind(
                f"the file has {self.size} bytes",
                expected=f"{live.size} by the MANIFEST",
                offset=min(self.size, live.size),
            )
        # The end of the file in one read: footer, metaindex, properties and, if it fits, the index.
        length = first_read(live)
        self._tail_at = self.size - length
        self._tail = read_exactly(file, self._tail_at, length)
        self.footer = parse_footer(self._tail[-_FOOTER:], self.size, verify=verify)
        self.form = self.footer.form._replace(most=most)
        self._limit = self.size - self.footer.size
        named = self._metaindex()
        self.properties = self._properties(named)
        index = self.footer.index_block or named.get(b"rocksdb.index")
        if index is None:
            raise FormatError("the metaindex does not contain the location of the index", offset=self.footer.metaindex.offset)
        self._index = index
        self.global_seqno = self._global_seqno()
        self.range_deletions = self._range_deletions(named.get(b"rocksdb.range_del"))

    def fetch(self, offset: int, length: int) -> bytes:
        """Bytes of the file, which lie below its size."""
        start = offset - self._tail_at
        if start >= 0:
            return self._tail[start : start + length]
        return read_exactly(self.file, offset, length)

    def start_fetch(self, offset: int, length: int) -> Future[bytes]:
        """As :meth:`fetch`, without waiting for it; fewer bytes where the file ends."""
        if offset >= self._tail_at:
            return done(lambda: self.fetch(offset, length))
        return self.file.start_read(offset, length)

    def block(self, handle: BlockHandle) -> bytes:
        """A block's plain bytes."""
        check_handle(handle, self._limit, self._limit)
        return plain_block(self.fetch(handle.offset, handle.size + TRAILER), handle, self.form)

    @property
    def data_limit(self) -> int:
        """No data block ends after this position."""
        return self._limit

    def data_blocks(self, read_index: IndexReader, ranges: KeyRanges = EVERYTHING) -> Iterator[tuple[Blocks, bool]]:
        """The data blocks that may hold keys of some ranges, index block by index block.

        :returns: blocks, and whether these are all that the index (block) has.
        """
        properties = self.properties
        form = IndexForm(
            properties.index_delta, properties.index_type == _FIRST_KEY, 0 if properties.index_user_keys else 8
        )
        plain = self.block(self._index)
        if properties.index_type != _TWO_LEVEL:
            yield read_index(plain, self._index.offset, form, ranges)
            return
        tops, whole = read_index_block(plain, self._index.offset, form, ranges)
        for _, handle in tops:
            found, complete = read_index(self.block(handle), handle.offset, form, ranges)
            yield found, complete and whole
        if not tops:
            yield np.empty((0, 4), np.int64), whole

    def _metaindex(self) -> dict[bytes, BlockHandle]:
        where = self.footer.metaindex
        named: dict[bytes, BlockHandle] = {}
        for name, value in entries(self.block(where), where.offset):
            if name == b"rocksdb.compression_dict":
                raise UnsupportedError("blocks are compressed with a dictionary", offset=where.offset)
            if name.startswith(_PREFIX):
                named[name], _ = read_handle(value, 0, len(value), where.offset)
        return named

    def _properties(self, named: dict[bytes, BlockHandle]) -> Properties:
        handle = named.get(b"rocksdb.properties") or named.get(b"rocksdb.stats")
        if handle is None:
            raise FormatError("the file has no properties", offset=self.footer.metaindex.offset)
        return parse_properties(self.block(handle), handle.offset)

    def _global_seqno(self) -> int | None:
        """The sequence number of all entries of a file that was ingested."""
        version = self.properties.external_version
        if version is None or version < 2:
            return None
        stored, listed = self.properties.global_seqno, self.live.largest_seqno
        if stored and listed not in (stored, LARGEST_SEQNO):
            raise FormatError(
                f"the file has the sequence number {stored} by its properties", expected=f"{listed} by the MANIFEST"
            )
        return stored or listed

    def _range_deletions(self, handle: BlockHandle | None) -> tuple[RangeDeletion, ...]:
        """Clipped to the file's bounds: what lies outside is some other file's to delete."""
        where = self.footer.metaindex if handle is None else handle
        found: list[RangeDeletion] = []
        count = 0
        last = self.live.largest if self.live.exclusive else self.live.largest + b"\0"
        for key, end in () if handle is None else entries(self.block(handle), handle.offset):
            if len(key) < 8 or key[-8] != 15:
                raise FormatError("an entry of the range deletions is something else", offset=where.offset)
            count += 1
            seqno = int.from_bytes(key[-7:], "little") if self.global_seqno is None else self.global_seqno
            begin, end = max(key[:-8], self.live.smallest), min(end, last)
            if begin < end:
                found.append(RangeDeletion(begin, end, seqno))
        if count != self.properties.range_deletions:
            raise FormatError(
                f"the file has {count} range deletions",
                expected=f"{self.properties.range_deletions} by its properties",
                offset=where.offset,
            )
        return tuple(found)


def read_index_block(
    plain: bytes, offset: int, form: IndexForm, ranges: KeyRanges
) -> tuple[list[tuple[bytes, BlockHandle]], bool]:
    """Separators (user keys) and handles of the blocks that may hold keys of the ranges; whether that is all."""
    found: list[tuple[bytes, BlockHandle]] = []
    whole = True
    left = list(reversed(ranges))
    for key, handle in index_entries(plain, offset, delta=form.delta, first_key=form.first_key):
        if len(key) < form.trailer:
            raise FormatError(f"an index key has {len(key)} bytes", expected=f"at least {form.trailer}", offset=offset)
        if not left:
            return found, False
        user_key = key[: len(key) - form.trailer]
        if (left[-1][0] or b"") <= user_key:
            found.append((user_key, handle))
        else:
            whole = False
        # All keys of the next block are at least this separator.
        while left and left[-1][1] is not None and left[-1][1] <= user_key:
            left.pop()
    return found, whole
