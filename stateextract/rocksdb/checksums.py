"""The checksums of RocksDB's blocks: CRC32C, xxHash (32 and 64 bit) and XXH3.

Takes bytes and returns numbers; does no I/O. RocksDB's side of it: ``table/format.cc`` (``ComputeBuiltinChecksum``),
``util/crc32c.h`` (``Mask``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import xxhash

from stateextract.errors import UnsupportedError
from stateextract.files.compression import masked_crc

NONE, CRC32C, XXHASH, XXHASH64, XXH3 = range(5)
NAMES = {NONE: "none", CRC32C: "CRC32C", XXHASH: "xxHash", XXHASH64: "xxHash64", XXH3: "XXH3"}
LAST_BYTE_FACTOR = 0x6B9083D9
"""XXH3 leaves the compression type out of the hash and xors its product with this number in."""

Numbers = npt.NDArray[np.int64]

_M32 = 0xFFFFFFFF


def check_kind(kind: int) -> int:
    """The kind itself.

    :raises UnsupportedError: for one that no release writes.
    """
    if kind not in NAMES:
        raise UnsupportedError(f"unknown checksum type {kind}", expected="one of " + ", ".join(NAMES.values()))
    return kind


def checksum(kind: int, stored: bytes | memoryview, modifier: int = 0) -> int:
    """The checksum of a block.

    :param stored: the bytes of the block as they are in the file, with the byte after it, its compression type.
    :param modifier: what format 6 and later add, from the block's position in the file.
    """
    if kind == NONE:
        return modifier & _M32
    value = _VALUES[kind](stored[:-1] if kind == XXH3 else stored)
    if kind == XXH3:
        value ^= stored[-1] * LAST_BYTE_FACTOR
    return (value + modifier) & _M32


def of_blocks(kind: int, raw: bytes, starts: Numbers, sizes: Numbers, context: int, offsets: Numbers) -> Numbers:
    """The checksums of many blocks, as :func:`checksum` has them; arrays are int64[n].

    :param raw: bytes that contain the blocks; :param starts: where each begins in them; :param sizes: without the byte after
        it, its compression type.
    :param context: the footer's context, 0 for none; :param offsets: the blocks' positions in the file.
    """
    # One step for each block; the rest is computed for all at once.
    value_of = _VALUES[kind]
    view = memoryview(raw)
    ends = starts + sizes
    spans = zip(starts.tolist(), (ends if kind == XXH3 else ends + 1).tolist(), strict=True)
    values = np.array([value_of(view[start:end]) for start, end in spans], np.uint64).astype(np.int64)
    if kind == XXH3:
        values ^= np.frombuffer(raw, np.uint8)[ends] * np.int64(LAST_BYTE_FACTOR)
    if context:
        values = (values & _M32) + (context ^ (((offsets & _M32) + (offsets >> 32)) & _M32))
    return values & _M32


_VALUES = {
    CRC32C: masked_crc, XXHASH: xxhash.xxh32_intdigest, XXHASH64: xxhash.xxh64_intdigest, XXH3: xxhash.xxh3_64_intdigest,
}  # fmt: skip


def modifier(base: int, offset: int) -> int:
    """What is added to the checksum of a block (or footer) at ``offset``; ``base`` is the footer's context."""
    return 0 if base == 0 else base ^ (((offset & _M32) + (offset >> 32)) & _M32)
