"""The compiled part of statistics: hashes of values, the smallest of them kept in a table, extremes of byte strings.

Under the rules of all kernels here (``columnar/compile.py``): arrays are addresses, the caller has checked their lengths.
``hashes.py`` says the same in numpy, and a test holds the two together. Imports Numba; knows no Arrow.
"""

from __future__ import annotations

import numpy as np

from stateextract.columnar.compile import at, compile_kernel, load_i32_le, load_i64, load_u8, put

MIX_1, MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
STEP, SEED = np.uint64(0x9FB21C651E98DF25), np.uint64(0x9E3779B97F4A7C15)
NULL_HASH = np.uint64(0x6A09E667F3BCC909)
_33, _32, _1, _0 = np.uint64(33), np.uint64(32), np.uint64(1), np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

# Slots of `state`: no hash above THRESHOLD is wanted; the table has COUNT hashes and is full with ROOM.
THRESHOLD, COUNT, ROOM = 0, 1, 2
# Slots of `found`: extremes of lengths; of numbers the extremes, of byte strings which they are (-1: none); how many NaN.
SHORTEST, LONGEST, LEAST, MOST, NANS = 0, 1, 2, 3, 4
# Floating point numbers as integers: all but the sign, infinity, the one NaN.
MAGNITUDE, INFINITE, NAN = 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000


def _mix(x: np.uint64) -> np.uint64:
    """Murmur3's last steps on 64 bits: each bit of the outcome depends on each of the value. Never 0."""
    x ^= x >> _33
    x *= MIX_1
    x ^= x >> _33
    x *= MIX_2
    x ^= x >> _33
    return x if x != 0 else _1


def _keep(h: np.uint64, table: int, mask: int) -> int:
    """Put a hash into the table; 1 if it was not there."""
    value = np.int64(h)
    slot = value & mask
    while True:
        there = at(table, slot)
        if there == value:
            return 0
        if there == 0:
            put(table, slot, value)
            return 1
        slot = (slot + 1) & mask


def _word(where: int, n: int, limit: int) -> np.uint64:
    """The first eight of ``n`` bytes, big-endian and filled up with zeros, so that words compare as their bytes do.

    :param limit: no byte from there on may be read.
    """
    if where + 8 <= limit:
        # Twice, as nothing can be shifted by 64.
        shift = np.uint64(4 * (8 - min(n, 8)))
        return np.uint64(load_i64(where)) & ((_ALL << shift) << shift)
    word = _0
    for i in range(min(n, 8)):
        word |= np.uint64(load_u8(where + i)) << np.uint64(56 - 8 * i)
    return word


def _compare(a: int, a_len: int, b: int, b_len: int) -> int:
    """Order of two byte strings: negative, 0 or positive."""
    n = min(a_len, b_len)
    i = 0
    while i + 8 <= n:
        x = np.uint64(load_i64(a + i))
        y = np.uint64(load_i64(b + i))
        if x != y:
            return -1 if x < y else 1
        i += 8
    while i < n:
        x8 = load_u8(a + i)
        y8 = load_u8(b + i)
        if x8 != y8:
            return x8 - y8  # type: ignore[no-any-return]
        i += 1
    return a_len - b_len


mix = compile_kernel(_mix)
keep = compile_kernel(_keep)
word_at = compile_kernel(_word)
compare = compile_kernel(_compare)


def _numbers(
    values: int, floating: int, valid: int, bit: int, start: int, n: int, hashes: int, table: int, mask: int, state: int,
    found: int,
) -> int:  # fmt: skip
    """Hash the numbers from ``start`` on, keep the small hashes, and find the extremes.

    :param values: int64, or float64 if ``floating``, whose extremes are found as integers in their order.
    :param valid: the bitmap of values that are not null, of which ``bit`` is the first one's; 0: there is none.
    :param hashes: where the hash of each goes; 0: nowhere.
    :returns: how many were seen; fewer than ``n`` where the table is full.
    """
    threshold = np.uint64(at(state, THRESHOLD))
    count = at(state, COUNT)
    room = at(state, ROOM)
    least = at(found, LEAST)
    most = at(found, MOST)
    nans = at(found, NANS)
    i = start
    while i < n:
        if valid != 0 and (load_u8(valid + ((bit + i) >> 3)) >> ((bit + i) & 7)) & 1 == 0:
            if hashes != 0:
                put(hashes, i, np.int64(NULL_HASH))
            i += 1
            continue
        x = at(values, i)
        if floating == 0:
            least = min(least, x)
            most = max(most, x)
        elif x & MAGNITUDE > INFINITE:
            x = NAN
            nans += 1
        else:
            x = 0 if x & MAGNITUDE == 0 else x
            ordered = x ^ ((x >> 63) & MAGNITUDE)
            least = min(least, ordered)
            most = max(most, ordered)
        h = mix(np.uint64(x))
        if hashes != 0:
            put(hashes, i, np.int64(h))
        i += 1
        if h <= threshold:
            count += keep(h, table, mask)
            if count >= room:
                break
    put(state, COUNT, count)
    put(found, LEAST, least)
    put(found, MOST, most)
    put(found, NANS, nans)
    return i


def _texts(
    offsets: int, data: int, limit: int, valid: int, bit: int, start: int, n: int, hashes: int, table: int, mask: int,
    state: int, found: int,
) -> int:  # fmt: skip
    """The same of byte strings, with the extremes of their lengths.

    :param offsets: int32, from the first value's on.
    :param limit: where the buffer of the data ends.
    """
    threshold = np.uint64(at(state, THRESHOLD))
    count = at(state, COUNT)
    room = at(state, ROOM)
    shortest = at(found, SHORTEST)
    longest = at(found, LONGEST)
    least = at(found, LEAST)
    most = at(found, MOST)
    least_word = most_word = _0
    if least >= 0:
        begin = load_i32_le(offsets + 4 * least)
        least_word = word_at(data + begin, load_i32_le(offsets + 4 * least + 4) - begin, limit)
        begin = load_i32_le(offsets + 4 * most)
        most_word = word_at(data + begin, load_i32_le(offsets + 4 * most + 4) - begin, limit)
    i = start
    end = load_i32_le(offsets + 4 * i)
    while i < n:
        begin = end
        end = load_i32_le(offsets + 4 * i + 4)
        if valid != 0 and (load_u8(valid + ((bit + i) >> 3)) >> ((bit + i) & 7)) & 1 == 0:
            if hashes != 0:
                put(hashes, i, np.int64(NULL_HASH))
            i += 1
            continue
        size = end - begin
        where = data + begin
        shortest = min(shortest, size)
        longest = max(longest, size)
        word = word_at(where, size, limit)
        h = ((SEED ^ (np.uint64(size) * MIX_1)) ^ word) * STEP
        h ^= h >> _32
        if size > 8:
            k = 8
            while k < size - 8:
                h = (h ^ np.uint64(load_i64(where + k))) * STEP
                h ^= h >> _32
                k += 8
            h = (h ^ np.uint64(load_i64(where + size - 8))) * STEP
            h ^= h >> _32
        h *= MIX_2
        h ^= h >> _33
        h = h if h != 0 else _1
        # Whether it is an extreme mostly follows from its first eight bytes.
        if word <= least_word or least < 0:
            other = load_i32_le(offsets + 4 * max(least, 0))
            other_size = load_i32_le(offsets + 4 * max(least, 0) + 4) - other
            if least < 0 or word < least_word or compare(where, size, data + other, other_size) < 0:
                least = i
                least_word = word
        if word >= most_word or most < 0:
            other = load_i32_le(offsets + 4 * max(most, 0))
            other_size = load_i32_le(offsets + 4 * max(most, 0) + 4) - other
            if most < 0 or word > most_word or compare(where, size, data + other, other_size) > 0:
                most = i
                most_word = word
        if hashes != 0:
            put(hashes, i, np.int64(h))
        i += 1
        if h <= threshold:
            count += keep(h, table, mask)
            if count >= room:
                break
    put(state, COUNT, count)
    put(found, SHORTEST, shortest)
    put(found, LONGEST, longest)
    put(found, LEAST, least)
    put(found, MOST, most)
    return i


def _insert(hashes: int, start: int, n: int, table: int, mask: int, state: int) -> int:
    """Keep the small ones of ``n`` hashes."""
    threshold = np.uint64(at(state, THRESHOLD))
    count = at(state, COUNT)
    room = at(state, ROOM)
    i = start
    while i < n:
        h = np.uint64(at(hashes, i))
        i += 1
        if h <= threshold:
            count += keep(h, table, mask)
            if count >= room:
                break
    put(state, COUNT, count)
    return i


def _runs(groups: int, n: int, bounds: int, room: int) -> int:
    """Where a value differs from the one before it.

    :param groups: ``n`` int32; :param bounds: where the positions go, of which there are at most ``room``.
    :returns: how many there are; -1: there is no room for them.
    """
    count = 0
    before = load_i32_le(groups)
    for i in range(1, n):
        group = load_i32_le(groups + 4 * i)
        if group != before:
            if count == room:
                return -1
            put(bounds, count, i)
            count += 1
            before = group
    return count


runs = compile_kernel(_runs)
numbers = compile_kernel(_numbers)
texts = compile_kernel(_texts)
insert = compile_kernel(_insert)
