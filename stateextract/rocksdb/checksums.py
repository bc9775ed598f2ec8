"""The checksums of RocksDB's blocks, in plain Python: CRC32C, xxHash (32 and 64 bit) and XXH3.

CRC32C comes from ``google_crc32c``; the others are written out here, because they are needed in two forms (here and
compiled, in ``hash_kernel.py``) that test each other. Reads bytes, gives numbers; knows no file. RocksDB's side of it:
``table/format.cc`` (``ComputeBuiltinChecksum``), ``util/crc32c.h`` (``Mask``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import google_crc32c

from stateextract.errors import UnsupportedError

NONE, CRC32C, XXHASH, XXHASH64, XXH3 = range(5)
NAMES = {NONE: "none", CRC32C: "CRC32C", XXHASH: "xxHash", XXHASH64: "xxHash64", XXH3: "XXH3"}
LAST_BYTE_FACTOR = 0x6B9083D9
"""XXH3 leaves the compression type out of the hash and xors its product with this number in."""

Checksum: TypeAlias = Callable[[int, bytes, int, int], int]
"""(kind, stored bytes, last byte, modifier) → checksum."""

_M32 = 0xFFFFFFFF
_M64 = 0xFFFFFFFFFFFFFFFF
_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
_P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


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
    """Masked CRC32C of bytes or of a ``uint8`` array."""
    return mask(google_crc32c.value(data))


def checksum(kind: int, stored: bytes, last: int, modifier: int = 0) -> int:
    """The checksum of a block.

    :param stored: the block as it lies in the file.
    :param last: the byte behind it, its compression type.
    :param modifier: what format 6 and later add, from the block's place in the file.
    """
    if kind == CRC32C:
        value = masked_crc(stored + bytes([last]))
    elif kind == XXHASH:
        value = xxh32(stored + bytes([last]))
    elif kind == XXHASH64:
        value = xxh64(stored + bytes([last])) & _M32
    elif kind == XXH3:
        value = (xxh3(stored) & _M32) ^ (last * LAST_BYTE_FACTOR & _M32)
    else:
        value = 0
    return (value + modifier) & _M32


def modifier(base: int, offset: int) -> int:
    """What is added to the checksum of a block (or footer) at ``offset``; ``base`` is the footer's context."""
    return 0 if base == 0 else base ^ (((offset & _M32) + (offset >> 32)) & _M32)


def _rotl32(value: int, n: int) -> int:
    return ((value << n) | (value >> (32 - n))) & _M32


def _rotl64(value: int, n: int) -> int:
    return ((value << n) | (value >> (64 - n))) & _M64


def _u32(data: bytes, pos: int) -> int:
    return int.from_bytes(data[pos : pos + 4], "little")


def _u64(data: bytes, pos: int) -> int:
    return int.from_bytes(data[pos : pos + 8], "little")


def xxh32(data: bytes) -> int:
    """XXH32, seed 0."""
    n = len(data)
    pos = 0
    if n >= 16:
        lanes = [(_P32[0] + _P32[1]) & _M32, _P32[1], 0, -_P32[0] & _M32]
        while pos + 16 <= n:
            for i in range(4):
                lanes[i] = _rotl32((lanes[i] + _u32(data, pos + 4 * i) * _P32[1]) & _M32, 13) * _P32[0] & _M32
            pos += 16
        h = _rotl32(lanes[0], 1) + _rotl32(lanes[1], 7) + _rotl32(lanes[2], 12) + _rotl32(lanes[3], 18)
    else:
        h = _P32[4]
    h = (h + n) & _M32
    while pos + 4 <= n:
        h = _rotl32((h + _u32(data, pos) * _P32[2]) & _M32, 17) * _P32[3] & _M32
        pos += 4
    for byte in data[pos:]:
        h = _rotl32((h + byte * _P32[4]) & _M32, 11) * _P32[0] & _M32
    h = (h ^ h >> 15) * _P32[1] & _M32
    h = (h ^ h >> 13) * _P32[2] & _M32
    return h ^ h >> 16


def _round64(lane: int, word: int) -> int:
    return _rotl64((lane + word * _P64[1]) & _M64, 31) * _P64[0] & _M64


def xxh64(data: bytes) -> int:
    """XXH64, seed 0."""
    n = len(data)
    pos = 0
    if n >= 32:
        lanes = [(_P64[0] + _P64[1]) & _M64, _P64[1], 0, -_P64[0] & _M64]
        while pos + 32 <= n:
            for i in range(4):
                lanes[i] = _round64(lanes[i], _u64(data, pos + 8 * i))
            pos += 32
        h = (_rotl64(lanes[0], 1) + _rotl64(lanes[1], 7) + _rotl64(lanes[2], 12) + _rotl64(lanes[3], 18)) & _M64
        for lane in lanes:
            h = ((h ^ _round64(0, lane)) * _P64[0] + _P64[3]) & _M64
    else:
        h = _P64[4]
    h = (h + n) & _M64
    while pos + 8 <= n:
        h = (_rotl64(h ^ _round64(0, _u64(data, pos)), 27) * _P64[0] + _P64[3]) & _M64
        pos += 8
    if pos + 4 <= n:
        h = (_rotl64(h ^ (_u32(data, pos) * _P64[0] & _M64), 23) * _P64[1] + _P64[2]) & _M64
        pos += 4
    for byte in data[pos:]:
        h = _rotl64(h ^ (byte * _P64[4] & _M64), 11) * _P64[0] & _M64
    return _avalanche64(h)


def _avalanche64(h: int) -> int:
    h = (h ^ h >> 33) * _P64[1] & _M64
    h = (h ^ h >> 29) * _P64[2] & _M64
    return h ^ h >> 32


def _avalanche3(h: int) -> int:
    h &= _M64
    h = (h ^ h >> 37) * 0x165667919E3779F9 & _M64
    return h ^ h >> 32


def _fold(a: int, b: int) -> int:
    product = (a & _M64) * (b & _M64)
    return (product ^ product >> 64) & _M64


def xxh3(data: bytes) -> int:
    """XXH3, 64 bit, seed 0."""
    n = len(data)
    if n > 240:
        return _xxh3_long(data)

    def s(pos: int) -> int:
        return _u64(SECRET, pos)

    def mix(pos: int, secret: int) -> int:
        return _fold(_u64(data, pos) ^ s(secret), _u64(data, pos + 8) ^ s(secret + 8))

    if n > 128:
        a = _avalanche3(n * _P64[0] + sum(mix(16 * k, 16 * k) for k in range(8)))
        b = sum(mix(16 * k, 16 * (k - 8) + 3) for k in range(8, n // 16))
        return _avalanche3(a + b + mix(n - 16, 119))
    if n > 16:
        total = n * _P64[0]
        for k in range((n - 1) // 32 + 1):
            total += mix(16 * k, 32 * k) + mix(n - 16 * (k + 1), 32 * k + 16)
        return _avalanche3(total)
    if n > 8:
        low = _u64(data, 0) ^ s(24) ^ s(32)
        high = _u64(data, n - 8) ^ s(40) ^ s(48)
        return _avalanche3(n + int.from_bytes(low.to_bytes(8, "little"), "big") + high + _fold(low, high))
    if n > 3:
        h = (_u32(data, n - 4) + (_u32(data, 0) << 32)) ^ s(8) ^ s(16)
        h ^= _rotl64(h, 49) ^ _rotl64(h, 24)
        h = h * 0x9FB21C651E98DF25 & _M64
        h = (h ^ ((h >> 35) + n)) * 0x9FB21C651E98DF25 & _M64
        return h ^ h >> 28
    if n > 0:
        c = data[0] << 16 | data[n // 2] << 24 | data[n - 1] | n << 8
        return _avalanche64(c ^ _u32(SECRET, 0) ^ _u32(SECRET, 4))
    return _avalanche64(s(56) ^ s(64))


def _xxh3_long(data: bytes) -> int:
    n = len(data)
    acc = [_P32[2], _P64[0], _P64[1], _P64[2], _P64[3], _P32[1], _P64[4], _P32[0]]

    def stripe(pos: int, secret: int) -> None:
        for i in range(8):
            word = _u64(data, pos + 8 * i)
            mixed = word ^ _u64(SECRET, secret + 8 * i)
            acc[i ^ 1] = (acc[i ^ 1] + word) & _M64
            acc[i] = (acc[i] + (mixed & _M32) * (mixed >> 32)) & _M64

    for k in range((n - 1) // 64):
        stripe(64 * k, 8 * (k % 16))
        if k % 16 == 15:
            for i in range(8):
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ _u64(SECRET, 128 + 8 * i)) * _P32[0] & _M64
    stripe(n - 64, 121)
    total = n * _P64[0]
    for i in range(4):
        total += _fold(acc[2 * i] ^ _u64(SECRET, 11 + 16 * i), acc[2 * i + 1] ^ _u64(SECRET, 19 + 16 * i))
    return _avalanche3(total)
