"""The compiled checksums of blocks: XXH3, xxHash64 and xxHash32 (``checksums.py`` says the same in plain Python).

``verify`` checks a batch of blocks in one call. Hashes are computed in ``uint64``, because Numba takes it that signed
numbers never overflow; and with constants of that type only, because it makes a float out of signed and unsigned.
Addresses and lengths are ``int64``. Every load lies within the ``n`` bytes given. Knows no file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stateextract.columnar.compile import at, compile_kernel, intrinsic
from stateextract.rocksdb import checksums

_SECRET = np.frombuffer(checksums.SECRET, np.uint8)
SECRET_ADDRESS = int(_SECRET.ctypes.data)

U = np.uint64
M32 = U(0xFFFFFFFF)
A1, A2, A3, A4, A5 = U(0x9E3779B1), U(0x85EBCA77), U(0xC2B2AE3D), U(0x27D4EB2F), U(0x165667B1)
B1, B2, B3 = U(0x9E3779B185EBCA87), U(0xC2B2AE3D27D4EB4F), U(0x165667B19E3779F9)
B4, B5 = U(0x85EBCA77C2B2AE63), U(0x27D4EB2F165667C5)
START_1, START_4 = U(0x60EA27EEADC0B5D6), U(0x61C8864E7A143579)  # B1 + B2 and -B1
START_32_1, START_32_4 = U(0x24234428), U(0x61C8864F)  # A1 + A2 and -A1
AVALANCHE, MIDDLE = U(0x165667919E3779F9), U(0x9FB21C651E98DF25)
LAST_BYTE = U(checksums.LAST_BYTE_FACTOR)
ZERO, S1, S7, S8, S11, S12, S13 = U(0), U(1), U(7), U(8), U(11), U(12), U(13)
S15, S16, S17, S18, S23, S24, S27 = U(15), U(16), U(17), U(18), U(23), U(24), U(27)
S28, S29, S31, S32, S33, S35, S37, S47, S49, S64 = U(28), U(29), U(31), U(32), U(33), U(35), U(37), U(47), U(49), U(64)


def _load(bits: int) -> Any:
    @intrinsic
    def load(typingctx: Any, address: Any) -> Any:
        from llvmlite import ir
        from numba import types

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()), align=1)
            return value if bits == 64 else builder.zext(value, ir.IntType(64))

        return types.uint64(types.int64), codegen

    return load


word = _load(64)
half = _load(32)
byte = _load(8)


@intrinsic
def fold(typingctx: Any, a: Any, b: Any) -> Any:
    """The two halves of a 128-bit product, xored."""
    from llvmlite import ir
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        high = builder.lshr(product, ir.Constant(wide, 64))
        return builder.trunc(builder.xor(product, high), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def swap(typingctx: Any, a: Any) -> Any:
    """The bytes in reverse."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bswap(args[0])

    return types.uint64(types.uint64), codegen


def _rotate(value: Any, n: Any) -> Any:
    return (value << n) | (value >> (S64 - n))


def _rotate_32(value: Any, n: Any) -> Any:
    return ((value << n) | (value >> (S32 - n))) & M32


def _avalanche(h: Any) -> Any:
    h = (h ^ (h >> S37)) * AVALANCHE
    return h ^ (h >> S32)


def _avalanche_64(h: Any) -> Any:
    h = (h ^ (h >> S33)) * B2
    h = (h ^ (h >> S29)) * B3
    return h ^ (h >> S32)


def _mix(src: int, secret: int) -> Any:
    return fold(word(src) ^ word(secret), word(src + 8) ^ word(secret + 8))


def _product(mixed: Any) -> Any:
    return (mixed & M32) * (mixed >> S32)


def _round_64(lane: Any, value: Any) -> Any:
    return rotate(lane + value * B2, S31) * B1


def _round_32(lane: Any, value: Any) -> Any:
    return (rotate_32((lane + value * A2) & M32, S13) * A1) & M32


rotate = compile_kernel(_rotate)
rotate_32 = compile_kernel(_rotate_32)
avalanche = compile_kernel(_avalanche)
avalanche_64 = compile_kernel(_avalanche_64)
mix = compile_kernel(_mix)
product = compile_kernel(_product)
round_64 = compile_kernel(_round_64)
round_32 = compile_kernel(_round_32)


def _xxh3_short(src: int, n: int, secret: int) -> Any:
    size = U(n)
    if n > 128:
        h = size * B1
        for k in range(8):
            h += mix(src + 16 * k, secret + 16 * k)
        h = avalanche(h)
        for k in range(8, n // 16):
            h += mix(src + 16 * k, secret + 16 * (k - 8) + 3)
        return avalanche(h + mix(src + n - 16, secret + 119))
    if n > 16:
        h = size * B1
        for k in range((n - 1) // 32 + 1):
            h += mix(src + 16 * k, secret + 32 * k) + mix(src + n - 16 * (k + 1), secret + 32 * k + 16)
        return avalanche(h)
    if n > 8:
        low = word(src) ^ word(secret + 24) ^ word(secret + 32)
        high = word(src + n - 8) ^ word(secret + 40) ^ word(secret + 48)
        return avalanche(size + swap(low) + high + fold(low, high))
    if n > 3:
        h = (half(src + n - 4) + (half(src) << S32)) ^ word(secret + 8) ^ word(secret + 16)
        h ^= rotate(h, S49) ^ rotate(h, S24)
        h *= MIDDLE
        h = (h ^ ((h >> S35) + size)) * MIDDLE
        return h ^ (h >> S28)
    if n > 0:
        c = (byte(src) << S16) | (byte(src + n // 2) << S24) | byte(src + n - 1) | (size << S8)
        return avalanche_64(c ^ half(secret) ^ half(secret + 4))
    return avalanche_64(word(secret + 56) ^ word(secret + 64))


def _xxh3_long(src: int, n: int, secret: int) -> Any:
    a0, a1, a2, a3, a4, a5, a6, a7 = A3, B1, B2, B3, B4, A2, B5, A1
    stripes = (n - 1) // 64
    for k in range(stripes + 1):
        p = src + 64 * k if k < stripes else src + n - 64
        s = secret + 8 * (k % 16) if k < stripes else secret + 121
        d0, d1, d2, d3 = word(p), word(p + 8), word(p + 16), word(p + 24)
        d4, d5, d6, d7 = word(p + 32), word(p + 40), word(p + 48), word(p + 56)
        a0 += d1 + product(d0 ^ word(s))
        a1 += d0 + product(d1 ^ word(s + 8))
        a2 += d3 + product(d2 ^ word(s + 16))
        a3 += d2 + product(d3 ^ word(s + 24))
        a4 += d5 + product(d4 ^ word(s + 32))
        a5 += d4 + product(d5 ^ word(s + 40))
        a6 += d7 + product(d6 ^ word(s + 48))
        a7 += d6 + product(d7 ^ word(s + 56))
        if k < stripes and k % 16 == 15:
            a0 = (a0 ^ (a0 >> S47) ^ word(secret + 128)) * A1
            a1 = (a1 ^ (a1 >> S47) ^ word(secret + 136)) * A1
            a2 = (a2 ^ (a2 >> S47) ^ word(secret + 144)) * A1
            a3 = (a3 ^ (a3 >> S47) ^ word(secret + 152)) * A1
            a4 = (a4 ^ (a4 >> S47) ^ word(secret + 160)) * A1
            a5 = (a5 ^ (a5 >> S47) ^ word(secret + 168)) * A1
            a6 = (a6 ^ (a6 >> S47) ^ word(secret + 176)) * A1
            a7 = (a7 ^ (a7 >> S47) ^ word(secret + 184)) * A1
    h = U(n) * B1
    h += fold(a0 ^ word(secret + 11), a1 ^ word(secret + 19))
    h += fold(a2 ^ word(secret + 27), a3 ^ word(secret + 35))
    h += fold(a4 ^ word(secret + 43), a5 ^ word(secret + 51))
    h += fold(a6 ^ word(secret + 59), a7 ^ word(secret + 67))
    return avalanche(h)


xxh3_short = compile_kernel(_xxh3_short)
xxh3_long = compile_kernel(_xxh3_long)


def _xxh3(src: int, n: int, secret: int) -> Any:
    """XXH3 of ``n`` bytes, seed 0."""
    return xxh3_long(src, n, secret) if n > 240 else xxh3_short(src, n, secret)


def _xxh64(src: int, n: int) -> Any:
    """XXH64 of ``n`` bytes, seed 0."""
    pos = 0
    h = B5
    if n >= 32:
        v1, v2, v3, v4 = START_1, B2, ZERO, START_4
        while pos + 32 <= n:
            v1 = round_64(v1, word(src + pos))
            v2 = round_64(v2, word(src + pos + 8))
            v3 = round_64(v3, word(src + pos + 16))
            v4 = round_64(v4, word(src + pos + 24))
            pos += 32
        h = rotate(v1, S1) + rotate(v2, S7) + rotate(v3, S12) + rotate(v4, S18)
        h = (h ^ round_64(ZERO, v1)) * B1 + B4
        h = (h ^ round_64(ZERO, v2)) * B1 + B4
        h = (h ^ round_64(ZERO, v3)) * B1 + B4
        h = (h ^ round_64(ZERO, v4)) * B1 + B4
    h += U(n)
    while pos + 8 <= n:
        h = rotate(h ^ round_64(ZERO, word(src + pos)), S27) * B1 + B4
        pos += 8
    if pos + 4 <= n:
        h = rotate(h ^ (half(src + pos) * B1), S23) * B2 + B3
        pos += 4
    while pos < n:
        h = rotate(h ^ (byte(src + pos) * B5), S11) * B1
        pos += 1
    return avalanche_64(h)


def _xxh32(src: int, n: int) -> Any:
    """XXH32 of ``n`` bytes, seed 0."""
    pos = 0
    h = A5
    if n >= 16:
        v1, v2, v3, v4 = START_32_1, A2, ZERO, START_32_4
        while pos + 16 <= n:
            v1 = round_32(v1, half(src + pos))
            v2 = round_32(v2, half(src + pos + 4))
            v3 = round_32(v3, half(src + pos + 8))
            v4 = round_32(v4, half(src + pos + 12))
            pos += 16
        h = rotate_32(v1, S1) + rotate_32(v2, S7) + rotate_32(v3, S12) + rotate_32(v4, S18)
    h = (h + U(n)) & M32
    while pos + 4 <= n:
        h = (rotate_32((h + half(src + pos) * A3) & M32, S17) * A4) & M32
        pos += 4
    while pos < n:
        h = (rotate_32((h + byte(src + pos) * A5) & M32, S11) * A1) & M32
        pos += 1
    h = ((h ^ (h >> S15)) * A2) & M32
    h = ((h ^ (h >> S13)) * A3) & M32
    return h ^ (h >> S16)


xxh3 = compile_kernel(_xxh3)
xxh64 = compile_kernel(_xxh64)
xxh32 = compile_kernel(_xxh32)


def _verify(kind: int, src: int, first: int, handles: int, n: int, context: int, secret: int) -> int:
    """Index of the first block whose checksum is wrong, or -1.

    :param kind: XXH3, xxHash64 or xxHash32.
    :param src: bytes of the file from position ``first`` on, which hold all blocks with their trailers.
    :param handles: [n, 2]: offset and size of each block.
    :param context: the footer's base context, 0 for none.
    """
    for i in range(n):
        offset = at(handles, 2 * i)
        size = at(handles, 2 * i + 1)
        block = src + offset - first
        found = ZERO
        if kind == XXH3:
            found = xxh3(block, size, secret) ^ (byte(block + size) * LAST_BYTE)
        elif kind == XXHASH64:
            found = xxh64(block, size + 1)
        else:
            found = xxh32(block, size + 1)
        if context != 0:
            found += U(context ^ (((offset & 0xFFFFFFFF) + (offset >> 32)) & 0xFFFFFFFF))
        if (found ^ half(block + size + 1)) & M32 != ZERO:
            return i
    return -1


XXH3, XXHASH64 = checksums.XXH3, checksums.XXHASH64
verify = compile_kernel(_verify)
