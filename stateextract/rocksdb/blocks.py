"""RocksDB's blocks: trailer, checksum, compression, and the entries with their prefix-compressed keys.

::

    on disk   bytes[size] · u8 compression · u32 checksum
    plain     entry × … · u32 restart offset × n · u32 n (bit 31: a hash index is before it)
    entry     varint shared · varint unshared · varint value length · bytes[unshared] · bytes[value length]

Reads one block's bytes, gives plain bytes or entries, and stops where the restart array begins. Everything here is
plain Python: it reads the small blocks (metaindex, properties, index tops) and is the reference for the compiled form
in ``kernel.py``. Does no I/O; may import the checksums. RocksDB's side: ``table/format.cc``,
``table/block_based/block.cc``, ``util/compression.h``.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import cramjam

from stateextract.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from stateextract.files.window import too_large
from stateextract.rocksdb import checksums

TRAILER = 5
NO_COMPRESSION, SNAPPY, ZLIB, BZIP2, LZ4, LZ4HC, ZSTD = 0, 1, 2, 3, 4, 5, 7
LARGEST_BLOCK = 1 << 30
"""No block is larger: RocksDB's own limit for a value is 4 GiB, Java's arrays end at 2, and a list is one value."""

OTHERS = 64 << 20
"""The most bytes of a block beside its last entry: a block ends with the entry that makes it large enough."""

LARGEST_OFFSET = 1 << 60
"""Beyond it, sums would leave 64 bits in the compiled form."""

# The most that one compressed byte can represent: a length that asks for more is damage and allocates nothing.
RATIO = {SNAPPY: 64, ZLIB: 1040, BZIP2: 1 << 17, LZ4: 256, LZ4HC: 256, ZSTD: 1 << 16}
_NAMES = {SNAPPY: "Snappy", ZLIB: "zlib", BZIP2: "bzip2", LZ4: "LZ4", LZ4HC: "LZ4HC", ZSTD: "Zstandard"}


class BlockHandle(NamedTuple):
    """Where a block lies; ``size`` is without its trailer."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size + TRAILER


class BlockFormat(NamedTuple):
    """What a file's footer says about all its blocks.

    :param most: bytes of the largest value that is read; ``None``: any.
    """

    version: int
    checksum: int
    context: int = 0
    verify: bool = True
    most: int | None = None


# -- numbers


def varint(data: bytes | memoryview, pos: int, end: int, base: int = 0) -> tuple[int, int]:
    """A number of up to 64 bits, and the position after it."""
    value = shift = 0
    start = pos
    while pos < end:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, pos
        shift += 7
        if shift > 63:
            break
    if pos >= end and shift <= 63:
        raise TruncatedError("the data ends inside a varint", offset=base + start)
    raise FormatError("a varint has more than 64 bits", offset=base + start)


def zigzag(value: int) -> int:
    """A signed number out of an unsigned one."""
    return (value >> 1) ^ -(value & 1)


def length(data: bytes | memoryview, pos: int, end: int, base: int = 0) -> tuple[int, int]:
    """A varint that counts bytes which follow it."""
    value, after = varint(data, pos, end, base)
    if value > end - after:
        raise TruncatedError(f"{value} bytes are announced where {end - after} are left", offset=base + pos)
    return value, after


def read_slice(data: bytes | memoryview, pos: int, end: int, base: int = 0) -> tuple[bytes, int]:
    """A varint length and that many bytes."""
    n, pos = length(data, pos, end, base)
    return bytes(data[pos : pos + n]), pos + n


def read_handle(data: bytes | memoryview, pos: int, end: int, base: int = 0) -> tuple[BlockHandle, int]:
    offset, pos = varint(data, pos, end, base)
    size, pos = varint(data, pos, end, base)
    return BlockHandle(offset, size), pos


# -- from the file's bytes to plain ones


def plain_block(
    stored: bytes | memoryview,
    handle: BlockHandle,
    form: BlockFormat,
) -> bytes:
    """The plain bytes of a block.

    :param stored: exactly the block's bytes with its trailer.
    """
    size = handle.size
    if len(stored) != size + TRAILER:
        raise TruncatedError(
            f"a block has {len(stored)} bytes", expected=f"{size + TRAILER} bytes", offset=handle.offset
        )
    kind = stored[size]
    if form.verify and form.checksum != checksums.NONE:
        found = checksums.checksum(form.checksum, stored[: size + 1], checksums.modifier(form.context, handle.offset))
        check_sum(found, int.from_bytes(stored[size + 1 :], "little"), form.checksum, handle.offset)
    if kind == NO_COMPRESSION:
        return bytes(stored[:size])
    plain, pos = plain_size(stored, 0, size, kind, form.version, handle.offset)
    refuse_large(plain, form.most, handle.offset)
    room = bytearray(plain)
    decompress(memoryview(stored)[pos:size], kind, memoryview(room), handle.offset)
    return bytes(room)


def refuse_large(plain: int, most: int | None, offset: int | None = None) -> None:
    """:raises ValueRefusedError: if a block, or what is merged, is so large that a value is larger than the largest one."""
    if most is not None and plain > most + OTHERS:
        raise too_large(plain - OTHERS, most, offset)


def check_sum(found: int, stored: int, kind: int, offset: int) -> None:
    """:raises ChecksumError: if the two differ."""
    if found != stored:
        raise ChecksumError(
            f"the {checksums.NAMES[kind]} of a block is 0x{found:08X}",
            expected=f"0x{stored:08X}",
            advice="the file is corrupt: copy it again; to read it all the same, switch the verification off",
            offset=offset,
        )


def plain_size(data: bytes | memoryview, pos: int, end: int, kind: int, version: int, offset: int) -> tuple[int, int]:
    """How many bytes come out of a compressed block, and where the compressed bytes begin.

    -1 where the block does not say (zlib and bzip2 in formats 0 and 1).
    """
    if kind not in RATIO:
        raise UnsupportedError(
            f"a block is compressed in way {kind}", expected="none, " + ", ".join(_NAMES.values()), offset=offset
        )
    start = pos
    if kind == SNAPPY:
        size, _ = varint(data, pos, end, offset)
    elif kind == ZSTD or version >= 2:
        size, pos = varint(data, pos, end, offset)
    elif kind in (LZ4, LZ4HC):
        if end - pos < 8:
            raise TruncatedError("a block ends inside its length", offset=offset)
        size = int.from_bytes(data[pos : pos + 4], "little")
        pos += 8
    else:
        raise UnsupportedError(f"a {_NAMES[kind]} block of format {version} does not record its length", offset=offset)
    check_plain_size(size, end - start, kind, offset)
    return size, pos


def check_plain_size(size: int, stored: int, kind: int, offset: int) -> None:
    """:raises FormatError: if that many bytes cannot come out of so few."""
    if size > min(stored * RATIO[kind] + 64, LARGEST_BLOCK):
        raise FormatError(
            f"a {_NAMES[kind]} block of {stored} bytes claims {size} plain ones",
            expected=f"at most {min(stored * RATIO[kind] + 64, LARGEST_BLOCK)}",
            offset=offset,
        )


def decompress(stored: memoryview, kind: int, room: memoryview, offset: int) -> None:
    """Fill ``room`` exactly with what comes out of ``stored``."""
    try:
        if not len(room):
            # The libraries differ in what an empty block is; only one without entries is empty, and it has a count.
            raise FormatError("a compressed block has no plain bytes", offset=offset)
        if kind == SNAPPY:
            written = cramjam.snappy.decompress_raw_into(stored, room)
        elif kind in (LZ4, LZ4HC):
            written = cramjam.lz4.decompress_block_into(stored, room)
        elif kind == ZSTD:
            written = cramjam.zstd.decompress_into(stored, room)
        else:
            written = _decompress_std(stored, kind, room)
    except (cramjam.DecompressionError, zlib.error, OSError, EOFError, ValueError) as error:
        if "not enough memory" in str(error):  # by zstd, whose errors are all of one class
            raise MemoryError(str(error)) from None
        raise FormatError(f"a {_NAMES[kind]} block cannot be decompressed ({error})", offset=offset) from None
    if written != len(room):
        raise FormatError(f"a {_NAMES[kind]} block gave {written} bytes", expected=f"{len(room)} bytes", offset=offset)


def _decompress_std(stored: memoryview, kind: int, room: memoryview) -> int:
    # One byte more than there should be: it distinguishes a block that gives too much from one that fits.
    if kind == ZLIB:
        data = zlib.decompressobj(wbits=-15).decompress(stored, len(room) + 1)
    else:
        data = bz2.BZ2Decompressor().decompress(bytes(stored), len(room) + 1)
    if len(data) <= len(room):
        room[: len(data)] = data
    return len(data)


# -- entries


def entries_end(plain: bytes | memoryview, offset: int) -> int:
    """Position where a block's entries end and its restart array begins."""
    size = len(plain)
    if size < 4:
        raise TruncatedError(f"a block has {size} plain bytes", expected="at least 4", offset=offset)
    word = int.from_bytes(plain[size - 4 :], "little")
    if word >> 28 & 7:
        raise UnsupportedError(f"a block has features unknown here (0x{word:08X})", offset=offset)
    tail = 4
    if word >> 31:
        if size < 6:
            raise TruncatedError("a block ends inside its hash index", offset=offset)
        tail = 6 + int.from_bytes(plain[size - 6 : size - 4], "little")
    end = size - tail - 4 * (word & 0x0FFFFFFF)
    if end < 0:
        raise FormatError(f"a block of {size} plain bytes claims {word & 0x0FFFFFFF} restart points", offset=offset)
    return end


def entries(plain: bytes | memoryview, offset: int) -> Iterator[tuple[bytes, bytes]]:
    """The (key, value) pairs of a data block, metaindex, properties or range deletion block.

    :param offset: where the block lies in its file, for errors.
    """
    end = entries_end(plain, offset)
    pos = 0
    key = b""
    while pos < end:
        first = pos == 0
        shared, pos = varint(plain, pos, end, offset)
        unshared, pos = varint(plain, pos, end, offset)
        size, pos = varint(plain, pos, end, offset)
        if shared > len(key) or (first and shared):
            raise FormatError(f"an entry shares {shared} bytes with a key of {len(key)}", offset=offset)
        if unshared + size > end - pos:
            raise TruncatedError(f"an entry of {unshared + size} bytes where {end - pos} are left", offset=offset)
        key = key[:shared] + bytes(plain[pos : pos + unshared])
        pos += unshared
        yield key, bytes(plain[pos : pos + size])
        pos += size


def index_entries(
    plain: bytes | memoryview, offset: int, *, delta: bool, first_key: bool = False
) -> Iterator[tuple[bytes, BlockHandle]]:
    """The (separator, handle) pairs of an index block.

    :param delta: the values are delta-encoded and have no length (``rocksdb.index.value.is.delta.encoded``).
    :param first_key: after each handle comes the first key of its block (index type 3).
    """
    if not delta:
        for key, value in entries(plain, offset):
            handle, _ = read_handle(value, 0, len(value), offset)
            if max(handle) > LARGEST_OFFSET:
                raise FormatError(f"a block handle records {handle.size} bytes at {handle.offset}", offset=offset)
            yield key, handle
        return
    end = entries_end(plain, offset)
    pos = 0
    key = b""
    before = BlockHandle(0, 0)
    while pos < end:
        first = pos == 0
        shared, pos = varint(plain, pos, end, offset)
        unshared, pos = length(plain, pos, end, offset)
        if shared > len(key) or (first and shared):
            raise FormatError(f"an entry shares {shared} bytes with a key of {len(key)}", offset=offset)
        # The length above is that of `unshared`, which comes right after it.
        key = key[:shared] + bytes(plain[pos : pos + unshared])
        pos += unshared
        if shared == 0:
            handle, pos = read_handle(plain, pos, end, offset)
        else:
            change, pos = varint(plain, pos, end, offset)
            handle = BlockHandle(before.end, before.size + zigzag(change))
        if first_key:
            _, pos = read_slice(plain, pos, end, offset)
        if max(handle) > LARGEST_OFFSET or min(handle) < 0:
            raise FormatError(f"a block handle records {handle.size} bytes at {handle.offset}", offset=offset)
        yield key, handle
        before = handle
