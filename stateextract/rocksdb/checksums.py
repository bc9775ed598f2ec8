"""The checksums of RocksDB's blocks: CRC32C, xxHash (32 and 64 bit) and XXH3.

Takes bytes and returns numbers; does no I/O. RocksDB's side of it: ``table/format.cc`` (``ComputeBuiltinChecksum``),
``util/crc32c.h`` (``Mask``).
"""

from __future__ import annotations

from typing import Any

import google_crc32c
import numpy as np
import xxhash

from stateextract.errors import UnsupportedError

NONE, CRC32C, XXHASH, XXHASH64, XXH3 = range(5)
NAMES = {NONE: "none", CRC32C: "CRC32C", XXHASH: "xxHash", XXHASH64: "xxHash64", XXH3: "XXH3"}
LAST_BYTE_FACTOR = 0x6B9083D9
"""XXH3 leaves the compression type out of the hash and xors its product with this number in."""

_M32 = 0xFFFFFFFF


def check_kind(kind: int) -> int:
    """The kind itself.

    :raises UnsupportedError: for one that no release writes.
    """
    if kind not in NAMES:
        raise UnsupportedError(f"unknown checksum type {kind}", expected="one of " + ", ".join(NAMES.values()))
    return kind


def mask(crc: int) -> int:
    """RocksDB stores CRCs disturbed, so that the CRC of data with CRCs in it is worth something."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & _M32


def masked_crc(data: Any) -> int:
    """Masked CRC32C of bytes, or of what gives its bytes as a buffer."""
    return mask(google_crc32c.value(data if isinstance(data, bytes) else np.frombuffer(data, np.uint8)))


def checksum(kind: int, stored: Any, modifier: int = 0) -> int:
    """The checksum of a block.

    :param stored: the bytes of the block as they are in the file, with the byte after it, its compression type.
    :param modifier: what format 6 and later add, from the block's position in the file.
    """
    if kind == CRC32C:
        value = masked_crc(stored)
    elif kind == XXHASH:
        value = xxhash.xxh32_intdigest(stored)
    elif kind == XXHASH64:
        value = xxhash.xxh64_intdigest(stored)
    elif kind == XXH3:
        value = xxhash.xxh3_64_intdigest(stored[:-1]) ^ stored[-1] * LAST_BYTE_FACTOR
    else:
        value = 0
    return (value + modifier) & _M32


def modifier(base: int, offset: int) -> int:
    """What is added to the checksum of a block (or footer) at ``offset``; ``base`` is the footer's context."""
    return 0 if base == 0 else base ^ (((offset & _M32) + (offset >> 32)) & _M32)
