"""The kernel that looks for bytes in bytes: eight places at a time, at a speed near that of memory.

Knows nothing of what the bytes mean.
"""

from __future__ import annotations

import numpy as np

from stateextract.columnar.compiled.compile import compile_kernel, load_i64_le, load_u8

BLOCK = 128
"""Places that are looked at together."""

_LOW = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


@compile_kernel
def find(address: int, size: int, pattern: int, length: int, a: int, b: int, c: int) -> int:
    """Where bytes stand first, as an offset from ``address``; -1 where they do not.

    :param pattern: the address of the bytes, ``length`` many, at least one.
    :param a: and ``b``, ``c``: offsets in them of the bytes that are compared first.
    """
    places = size - length + 1
    x = np.uint64(load_u8(pattern + a)) * _LOW
    y = np.uint64(load_u8(pattern + b)) * _LOW
    z = np.uint64(load_u8(pattern + c)) * _LOW
    start = load_i64_le(pattern) if length >= 8 else 0
    i = 0
    while i < places:
        block = min(places - i, BLOCK)
        if block == BLOCK and i + length - 1 + BLOCK <= size:
            found = np.uint64(0)
            for j in range(BLOCK >> 3):
                at = address + i + (j << 3)
                # A byte of this is zero where all three agree. The test for it may see one too many, never one too few.
                other = (
                    (np.uint64(load_i64_le(at + a)) ^ x)
                    | (np.uint64(load_i64_le(at + b)) ^ y)
                    | (np.uint64(load_i64_le(at + c)) ^ z)
                )
                found |= (other - _LOW) & ~other & _HIGH
            if found == np.uint64(0):
                i += BLOCK
                continue
        for place in range(i, i + block):
            if length >= 8 and load_i64_le(address + place) != start:
                continue
            n = 0
            while n < length and load_u8(address + place + n) == load_u8(pattern + n):
                n += 1
            if n == length:
                return place
        i += block
    return -1
