"""Compiled loops that write rows as Flink's bytes and find the key groups of their keys.

What a row holds is said in ``shapes.py``; here it is written straight into a byte buffer: entries of a heap body, that
is the void namespace, the key and the value, one after the other.
"""

# Numba infers the types of the loops; annotating them would say nothing.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tests.writers import shapes
from tests.writers.flink_writer import flink_string

U64 = np.uint64
U32 = np.uint32
I64 = np.int64
GOLDEN, MIX_1, MIX_2 = U64(shapes.GOLDEN), U64(shapes.MIX_1), U64(shapes.MIX_2)
MASK_48, ODD_1, ODD_2 = U64(shapes.MASK_48), U64(shapes.ODD_1), U64(shapes.ODD_2)
TAILS = shapes.TAILS
LARGEST_ENTRY = shapes.LARGEST_ENTRY
FIRST_WORD, FIRST_CITY = shapes.FIRST_WORD, shapes.FIRST_CITY
FIRST_STREET, FIRST_SKU = shapes.FIRST_STREET, shapes.FIRST_SKU
NAME_COUNT, WORD_COUNT, CITY_COUNT = U64(len(shapes.NAMES)), len(shapes.WORDS), U64(len(shapes.CITIES))
WORD_BUCKETS = np.array(shapes.WORD_BUCKETS, dtype=np.uint8)
STREET_COUNT, SKU_COUNT = U64(len(shapes.STREETS)), U64(len(shapes.SKUS))
KEY_PREFIX = np.frombuffer(shapes.PREFIX.encode(), dtype=np.uint8)
NO_GROUP = -1


def _java_hash(text: str) -> int:
    code = 0
    for c in text.encode("ascii"):
        code = (code * 31 + c) & 0xFFFFFFFF
    return code


# Java's hash of a text comes piecewise: hash(a + b) = hash(a) * 31^len(b) + hash(b).
CODES_3 = np.array([_java_hash(f"{n:03x}") for n in range(4096)], dtype=np.uint32)
PREFIX_CODE = U32(_java_hash(shapes.PREFIX))
DASH_CODE = U32(_java_hash("-") * 31**6 & 0xFFFFFFFF)
POWER_3, POWER_7 = U32(31**3), U32(31**7 & 0xFFFFFFFF)


def texts() -> tuple[np.ndarray[Any, np.dtype[np.uint8]], np.ndarray[Any, np.dtype[np.int32]]]:
    """All texts of ``shapes.TEXTS`` as Flink writes strings, and where each begins."""
    encoded = [flink_string(text) for text in shapes.TEXTS]
    starts = np.concatenate([[0], np.cumsum([len(e) for e in encoded])]).astype(np.int32)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), starts


@njit(cache=True, inline="always")
def _draw(salt, i, column):
    z = salt + GOLDEN * (i * U64(64) + U64(column + 1))
    z = (z ^ (z >> U64(30))) * MIX_1
    z = (z ^ (z >> U64(27))) * MIX_2
    return z ^ (z >> U64(31))


@njit(cache=True, inline="always")
def _put_8(out, pos, value):
    v = U64(value)
    out[pos] = np.uint8(v >> U64(56))
    out[pos + 1] = np.uint8(v >> U64(48))
    out[pos + 2] = np.uint8(v >> U64(40))
    out[pos + 3] = np.uint8(v >> U64(32))
    out[pos + 4] = np.uint8(v >> U64(24))
    out[pos + 5] = np.uint8(v >> U64(16))
    out[pos + 6] = np.uint8(v >> U64(8))
    out[pos + 7] = np.uint8(v)
    return pos + 8


@njit(cache=True, inline="always")
def _put_4(out, pos, value):
    v = U32(value)
    out[pos] = np.uint8(v >> U32(24))
    out[pos + 1] = np.uint8(v >> U32(16))
    out[pos + 2] = np.uint8(v >> U32(8))
    out[pos + 3] = np.uint8(v)
    return pos + 4


@njit(cache=True, inline="always")
def _put_double(out, pos, value, bits):
    # Through an array of one: the bits of a double as an integer.
    bits[0] = value
    return _put_8(out, pos, bits.view(np.uint64)[0])


@njit(cache=True, inline="always")
def _put_text(out, pos, text, starts, index):
    start = starts[index]
    n = starts[index + 1] - start
    for j in range(n):
        out[pos + j] = text[start + j]
    return pos + n


# -- keys --------------------------------------------------------------------------------------------------------------


@njit(cache=True, inline="always")
def _rotl(x, r):
    return (x << U32(r)) | (x >> U32(32 - r))


@njit(cache=True, inline="always")
def _key_group(code, max_parallelism):
    """``KeyGroupRangeAssignment.assignToKeyGroup`` of a Java hash code."""
    x = _rotl(U32(code * U32(0xCC9E2D51)), 15)
    x = _rotl(U32(x * U32(0x1B873593)), 13)
    x = U32(x * U32(5) + U32(0xE6546B64))
    x ^= U32(4)
    x ^= x >> U32(16)
    x = U32(x * U32(0x85EBCA6B))
    x ^= x >> U32(13)
    x = U32(x * U32(0xC2B2AE35))
    x ^= x >> U32(16)
    if x >= U32(0x80000000):
        x = U32(0) if x == U32(0x80000000) else U32(U32(0) - x)
    return I64(x % U32(max_parallelism))


@njit(cache=True, inline="always")
def _scramble(salt, i):
    x = (i ^ salt) & MASK_48
    x = (x * ODD_1) & MASK_48
    x ^= x >> U64(24)
    return (x * ODD_2) & MASK_48


@njit(cache=True, inline="always")
def _hex_char(x, shift):
    digit = np.uint8((x >> U64(shift)) & U64(15))
    return np.uint8(digit + (np.uint8(48) if digit < 10 else np.uint8(87)))


@njit(cache=True, inline="always")
def _text_code(x):
    """Java's hash of the prefix and the twelve hex digits of ``x``."""
    code = PREFIX_CODE
    for shift in (36, 24, 12, 0):
        code = U32(code * POWER_3 + CODES_3[I64((x >> U64(shift)) & U64(0xFFF))])
    return code


@njit(cache=True, inline="always")
def _tail_code(code, tail):
    """The hash of a text of hash ``code`` after a dash and the six hex digits of ``tail`` were appended."""
    high, low = CODES_3[tail >> 12], CODES_3[tail & 0xFFF]
    return U32(U32(code * POWER_7) + U32(DASH_CODE) + U32(high * POWER_3) + low)


@njit(cache=True, inline="always")
def _long_code(key):
    return U32((key ^ (key >> U64(32))) & U64(0xFFFFFFFF))


@njit(cache=True)
def _group_of(long_key, salt, i, max_parallelism):
    if long_key:
        return _key_group(_long_code(_draw(salt, i, 0)), max_parallelism)
    return _key_group(_text_code(_scramble(salt, i)), max_parallelism)


@njit(cache=True)
def count_groups(long_key, salt, n, max_parallelism, counts):
    """Add to ``counts`` how many of the rows 0 … n − 1 lie in each key group."""
    for i in range(n):
        counts[_group_of(long_key, salt, U64(i), max_parallelism)] += 1


@njit(cache=True)
def collect(long_key, salt, n, max_parallelism, first, ends, indices):
    """Sort the rows of the key groups ``first …`` by key group into ``indices``.

    :param ends: where each of these groups begins; holds afterwards where it ends.
    """
    for i in range(n):
        group = _group_of(long_key, salt, U64(i), max_parallelism) - first
        if 0 <= group < len(ends):
            indices[ends[group]] = i
            ends[group] += 1


@njit(cache=True)
def _put_key(out, pos, long_key, salt, i, group, max_parallelism):
    if long_key:
        if group == NO_GROUP:
            return _put_8(out, pos, _draw(salt, i, 0))
        for tail in range(TAILS):
            key = i * U64(TAILS) + U64(tail)
            if _key_group(_long_code(key), max_parallelism) == group:
                return _put_8(out, pos, key)
        return -1
    x = _scramble(salt, i)
    out[pos] = np.uint8(len(KEY_PREFIX) + 13 + (0 if group == NO_GROUP else 7))
    pos += 1
    for c in KEY_PREFIX:
        out[pos] = c
        pos += 1
    for j in range(12):
        out[pos + j] = _hex_char(x, 44 - 4 * j)
    pos += 12
    if group == NO_GROUP:
        return pos
    code = _text_code(x)
    for tail in range(TAILS):
        if _key_group(_tail_code(code, tail), max_parallelism) == group:
            out[pos] = np.uint8(45)
            for j in range(6):
                out[pos + 1 + j] = _hex_char(U64(tail), 20 - 4 * j)
            return pos + 7
    return -1


# -- values ------------------------------------------------------------------------------------------------------------


@njit(cache=True)
def _put_long(out, pos, salt, i):
    return _put_8(out, pos, I64(_draw(salt, i, 1) % U64(2_000_001)) - 1_000_000)


@njit(cache=True)
def _put_customer(out, pos, salt, i, text, starts, bits):
    out[pos] = 2
    out[pos + 1] = 0
    out[pos + 2] = np.uint8(1 if _draw(salt, i, 1) % U64(8) != U64(0) else 0)
    out[pos + 3] = 0
    balance = (I64(_draw(salt, i, 2) % U64(20_000_001)) - 1_000_000) / 100.0
    pos = _put_double(out, pos + 4, balance, bits)
    name = _draw(salt, i, 3)
    if name % U64(50) == U64(0):
        out[pos] = 1
        pos += 1
    else:
        out[pos] = 0
        pos = _put_text(out, pos + 1, text, starts, I64((name >> U64(8)) % NAME_COUNT))
    out[pos] = 0
    pos = _put_4(out, pos + 1, _draw(salt, i, 4) % U64(1000))
    out[pos] = 0
    return _put_8(out, pos + 1, _draw(salt, i, 5) % U64(50_000_000_000) + U64(1_700_000_000_000))


@njit(cache=True)
def _put_map(out, pos, salt, i, text, starts):
    pos = _put_4(out, pos, 10)
    words = _draw(salt, i, 1)
    first = I64(words % U64(WORD_COUNT))
    step = I64((words >> U64(16)) % U64(WORD_COUNT - 1)) + 1
    # Sorted by the words' buckets, in order of j where those are the same.
    sorted_by = U64(0)
    for j in range(10):
        bucket = WORD_BUCKETS[(first + j * step) % WORD_COUNT]
        at = j
        while at > 0:
            before = I64((sorted_by >> U64(4 * (at - 1))) & U64(15))
            if WORD_BUCKETS[(first + before * step) % WORD_COUNT] <= bucket:
                break
            at -= 1
        low = sorted_by & ((U64(1) << U64(4 * at)) - U64(1))
        sorted_by = low | (U64(j) << U64(4 * at)) | ((sorted_by ^ low) << U64(4))
    for at in range(10):
        j = I64((sorted_by >> U64(4 * at)) & U64(15))
        pos = _put_text(out, pos, text, starts, FIRST_WORD + (first + j * step) % WORD_COUNT)
        number = _draw(salt, i, 8 + j)
        if number % U64(100) == U64(0):
            out[pos] = 1
            pos += 1
        else:
            out[pos] = 0
            pos = _put_8(out, pos + 1, (number >> U64(8)) % U64(100_000))
    return pos


@njit(cache=True)
def _put_list(out, pos, salt, i):
    pos = _put_4(out, pos, 10)
    for j in range(10):
        pos = _put_8(out, pos, _draw(salt, i, 8 + j) % U64(1_000_000_000_000))
    return pos


@njit(cache=True)
def _put_basket(out, pos, salt, i, text, starts, bits):
    out[pos] = 2
    pos += 1
    if _draw(salt, i, 1) % U64(64) == U64(0):
        out[pos] = 1
        pos += 1
    else:
        out[pos] = 0
        out[pos + 1] = 2
        out[pos + 2] = 0
        pos = _put_text(out, pos + 3, text, starts, FIRST_CITY + I64(_draw(salt, i, 2) % CITY_COUNT))
        out[pos] = 0
        pos = _put_4(out, pos + 1, _draw(salt, i, 3) % U64(300))
        out[pos] = 0
        pos = _put_text(out, pos + 1, text, starts, FIRST_STREET + I64(_draw(salt, i, 4) % STREET_COUNT))
    # The field's null flag, then NullableSerializer's own.
    out[pos] = 0
    out[pos + 1] = 0
    items = I64(_draw(salt, i, 5) % U64(6))
    pos = _put_4(out, pos + 2, items)
    for j in range(items):
        out[pos] = 0
        pos = _put_text(out, pos + 1, text, starts, FIRST_SKU + I64(_draw(salt, i, 8 + j) % SKU_COUNT))
        pos = _put_4(out, pos, _draw(salt, i, 16 + j) % U64(20) + U64(1))
        pos = _put_double(out, pos, I64(_draw(salt, i, 24 + j) % U64(100_000)) / 100.0, bits)
    out[pos] = 0
    return _put_8(out, pos + 1, _draw(salt, i, 6) % U64(50_000_000_000) + U64(1_700_000_000_000))


@njit(cache=True)
def fill(
    shape, out, pos, indices, k, end, long_key, key_salt, value_salt, group, max_parallelism, text, starts
):
    """Write the entries of the rows ``indices[k:end]`` behind ``pos``, until ``out`` may be too short for one more.

    :param shape: ``Shape.number``.
    :param group: key group that all keys are made for, or ``NO_GROUP``.
    :returns: the next of ``indices`` and the next position in ``out``; the position is −1 if a key was not found.
    """
    bits = np.empty(1, dtype=np.float64)
    room = len(out) - LARGEST_ENTRY
    while k < end and pos <= room:
        i = U64(indices[k])
        out[pos] = 0
        pos = _put_key(out, pos + 1, long_key, key_salt, i, group, max_parallelism)
        if pos < 0:
            return k, pos
        if shape == 0:
            pos = _put_long(out, pos, value_salt, i)
        elif shape == 1:
            pos = _put_customer(out, pos, value_salt, i, text, starts, bits)
        elif shape == 2:
            pos = _put_map(out, pos, value_salt, i, text, starts)
        elif shape == 3:
            pos = _put_list(out, pos, value_salt, i)
        else:
            pos = _put_basket(out, pos, value_salt, i, text, starts, bits)
        k += 1
    return k, pos
