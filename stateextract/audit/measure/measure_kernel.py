"""The compiled part of statistics: hashes of values, the smallest of them kept in a table, extremes, rows of large values.

Values are looked at by the block. What is done with every value is a loop without branches, of which LLVM makes vector
instructions; what few values need (a small hash, a new extreme) is done behind it, for the blocks that have such.

Under the rules of all kernels here (``columnar/compiled/compile.py``): arrays are addresses, the caller has checked
their lengths. ``hashes.py`` says the same in numpy, and a test holds the two together. Imports Numba; knows no Arrow.
"""

from __future__ import annotations

import numpy as np

from stateextract.audit.measure.layout import (
    BELOW,
    BIT,
    BOUNDS,
    BOUNDS_AT,
    BOUNDS_MASK,
    COUNT,
    COUNTER_HASHES,
    COUNTERS,
    COUNTERS_ROOM,
    DATA,
    EACH,
    ENTRIES,
    FLOATING,
    FLOOR,
    FOUND,
    GROUPS,
    HASHES,
    KIND,
    LEAST,
    LEAST_WORD,
    LIMIT,
    LONGEST,
    MASK,
    MOST,
    MOST_WORD,
    NANS,
    NARROW,
    NEW,
    NOTHING,
    ROOM,
    ROW,
    ROWS,
    ROWS_HASHES,
    RUNS,
    SEEN,
    SEEN_ROWS,
    SHORTEST,
    SIZES,
    SLOT_MASK,
    SLOTS,
    SOURCE,
    SPANS,
    TABLE,
    TEXT,
    THRESHOLD,
    USED,
    VALID,
    VALUES,
)
from stateextract.columnar.compiled.compile import (
    at,
    compile_kernel,
    item_32,
    item_64,
    load_i32_le,
    load_i64,
    load_u8,
    lowest_bit,
    put,
    set_item_64,
)
from stateextract.columnar.compiled.mixing import MIX_1, MIX_2, mix

STEP, SEED = np.uint64(0x9FB21C651E98DF25), np.uint64(0x9E3779B97F4A7C15)
NULL_HASH = np.uint64(0x6A09E667F3BCC909)
_33, _32, _1, _0 = np.uint64(33), np.uint64(32), np.uint64(1), np.uint64(0)
_ALL, _SIGN = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0x8000000000000000)
_LARGEST = 0x7FFFFFFFFFFFFFFF

BLOCK = 64
"""Values that are looked at at once: one for each bit of a number."""
BEHIND = 4 * BLOCK
"""Room behind the slots of a table, where a block is worked on."""

# Floating point numbers as integers: all but the sign, infinity, the one NaN.
MAGNITUDE, INFINITE, NAN = 0x7FFFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000


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


def _word(where: int, n: int) -> np.uint64:
    """The first eight of ``n`` bytes, big-endian and filled up with zeros, so that words compare as their bytes do."""
    word = _0
    for i in range(min(n, 8)):
        word |= np.uint64(load_u8(where + i)) << np.uint64(56 - 8 * i)
    return word


def _compare(a: int, a_len: int, b: int, b_len: int) -> int:
    """Order of two byte strings whose first words (``_word``) are the same: negative, 0 or positive."""
    n = min(a_len, b_len)
    if n <= 8:
        return a_len - b_len  # one begins with the other
    i = 8
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


keep = compile_kernel(_keep)
word_at = compile_kernel(_word)
compare = compile_kernel(_compare)


def _take(hashes: int, n: int, chosen: np.uint64, row: int) -> int:
    """Put hashes of a block of ``n`` into a column's table, if they are new.

    :param chosen: a bit for each of them: whether it is put there.
    :returns: whether the table is full now, which leaves slots for another block.
    """
    table = at(row, TABLE)
    mask = at(row, MASK)
    count = at(row, COUNT)
    if at(row, THRESHOLD) == -1:
        # All are chosen then, though few may be new. Most of the others are where they are first looked for.
        new = _0
        for i in range(n):
            h = at(hashes, i)
            new |= (_1 if at(table, h & mask) != h else _0) << np.uint64(i)
        chosen &= new
    while chosen != 0:
        count += keep(np.uint64(at(hashes, lowest_bit(chosen))), table, mask)
        chosen &= chosen - _1
    put(row, COUNT, count)
    return 1 if 2 * count > mask else 0


take = compile_kernel(_take)


def _there(valid: int, bit: int, n: int) -> np.uint64:
    """A bit for each of a block's ``n`` values: whether it is not null.

    :param valid: a bitmap, of which ``bit`` is the first one's; 0: none is null.
    """
    if valid == 0:
        return _ALL >> np.uint64(BLOCK - n)
    first = valid + (bit >> 3)
    bits = np.uint64(load_u8(first)) >> np.uint64(bit & 7)
    for i in range(1, ((bit & 7) + n + 7) >> 3):
        bits |= np.uint64(load_u8(first + i)) << np.uint64(8 * i - (bit & 7))
    return bits & (_ALL >> np.uint64(BLOCK - n))


def _mark_nulls(hashes: int, n: int, there: np.uint64) -> None:
    """Give the nulls of a block of ``n`` their hash.

    :param there: by ``_there``.
    """
    for j in range(n):
        h = np.uint64(item_64(hashes, j))
        set_item_64(hashes, j, np.int64(h if (there >> np.uint64(j)) & _1 != 0 else NULL_HASH))


there_of = compile_kernel(_there)
mark_nulls = compile_kernel(_mark_nulls)


def _numbers(row: int, n: int) -> int:
    """Hash the numbers that were not seen yet, keep the small hashes, and find the extremes (float64: by place in order).

    :returns: whether the table is full, before which all were seen or not.
    """
    values = at(row, VALUES)
    valid = at(row, VALID)
    bit = at(row, BIT)
    hashes = at(row, HASHES)
    narrow = at(row, KIND) == NARROW
    floating = at(row, KIND) == FLOATING
    # Compared with the sign turned over, as vector instructions know no unsigned order.
    threshold = np.int64(np.uint64(at(row, THRESHOLD)) ^ _SIGN)
    room = at(row, TABLE) + 8 * (at(row, MASK) + 1)
    taken = room + 8 * BLOCK
    least = at(row, LEAST)
    most = at(row, MOST)
    nans = at(row, NANS)
    # A value of the column replaces each null: so nulls add no extreme and no distinct value.
    instead = 0
    if valid != 0:
        i = 0
        while there_of(valid, bit + i, 1) == 0:
            i += 1
        instead = load_i32_le(values + 4 * i) if narrow else at(values, i)
    i = at(row, SEEN)
    done = 0
    while i < n and done == 0:
        size = min(BLOCK, n - i)
        block = values + 8 * i
        if narrow:
            narrow_block = values + 4 * i
            for j in range(size):
                set_item_64(taken, j, item_32(narrow_block, j))
            block = taken
        there = _ALL
        if valid != 0:
            there = there_of(valid, bit + i, size)
            for j in range(size):
                x = item_64(block, j)
                set_item_64(taken, j, x if (there >> np.uint64(j)) & _1 != 0 else instead)
            block = taken
        out = hashes + 8 * i if hashes != 0 else room
        chosen = _0
        if not floating:
            for j in range(size):
                x = item_64(block, j)
                least = min(least, x)
                most = max(most, x)
                h = mix(np.uint64(x))
                set_item_64(out, j, np.int64(h))
                chosen |= (_1 if np.int64(h ^ _SIGN) <= threshold else _0) << np.uint64(j)
        else:
            for j in range(size):
                x = item_64(block, j)
                magnitude = x & MAGNITUDE
                number = magnitude <= INFINITE
                x = (x if magnitude != 0 else 0) if number else NAN
                ordered = x ^ ((x >> 63) & MAGNITUDE)
                least = min(least, ordered if number else _LARGEST)
                most = max(most, ordered if number else -_LARGEST)
                nans += 0 if number or (there >> np.uint64(j)) & _1 == 0 else 1
                h = mix(np.uint64(x))
                set_item_64(out, j, np.int64(h))
                chosen |= (_1 if np.int64(h ^ _SIGN) <= threshold else _0) << np.uint64(j)
        if chosen != 0:
            done = take(out, size, chosen, row)
        if hashes != 0 and valid != 0:
            mark_nulls(out, size, there)
        i += size
    put(row, LEAST, least)
    put(row, MOST, most)
    put(row, NANS, nans)
    put(row, SEEN, i)
    return done


def _texts(row: int, n: int) -> int:
    """Hash the byte strings that were not seen yet, keep the small hashes, find those that may be extremes and their lengths.

    :returns: whether the table is full, before which all were seen or not.
    """
    offsets = at(row, VALUES)
    data = at(row, DATA)
    limit = at(row, LIMIT)
    valid = at(row, VALID)
    bit = at(row, BIT)
    hashes = at(row, HASHES)
    threshold = np.int64(np.uint64(at(row, THRESHOLD)) ^ _SIGN)
    room = at(row, TABLE) + 8 * (at(row, MASK) + 1)
    words = room + 8 * BLOCK
    middles = words + 8 * BLOCK
    lasts = middles + 8 * BLOCK
    shortest = at(row, SHORTEST)
    longest = at(row, LONGEST)
    least = at(row, LEAST)
    most = at(row, MOST)
    least_word = at(row, LEAST_WORD)
    most_word = at(row, MOST_WORD)
    i = at(row, SEEN)
    done = 0
    while i < n and done == 0:
        size = min(BLOCK, n - i)
        begins = offsets + 4 * i
        ends = begins + 4
        there = there_of(valid, bit + i, size)
        out = hashes + 8 * i if hashes != 0 else room
        short = _LARGEST
        long = 0
        for j in range(size):
            length = item_32(ends, j) - item_32(begins, j)
            short = min(short, length)
            long = max(long, length)
            shortest = min(shortest, length if (there >> np.uint64(j)) & _1 != 0 else _LARGEST)
            longest = max(longest, length if (there >> np.uint64(j)) & _1 != 0 else 0)
        end = load_i32_le(begins)
        if short >= 8:
            for j in range(size):
                where = data + end
                end = load_i32_le(ends + 4 * j)
                more = data + end - where - 8
                put(words, j, load_i64(where))
                put(middles, j, load_i64(where + min(more, 8)))
                put(lasts, j, load_i64(where + more))
        elif data + load_i32_le(begins + 4 * size) + 8 <= limit:
            # What is shorter than eight bytes is read with what lies behind it, which is cut off.
            for j in range(size):
                where = data + end
                end = load_i32_le(ends + 4 * j)
                more = data + end - where - 8
                # Twice, as nothing can be shifted by 64.
                shift = np.uint64(4 * max(-more, 0))
                own = (_ALL << shift) << shift
                more = max(more, 0)
                put(words, j, np.int64(np.uint64(load_i64(where)) & own))
                put(middles, j, np.int64(np.uint64(load_i64(where + min(more, 8))) & own))
                put(lasts, j, np.int64(np.uint64(load_i64(where + more)) & own))
        else:
            for j in range(size):
                where = data + end
                end = load_i32_le(ends + 4 * j)
                length = data + end - where
                more = max(length - 8, 0)
                put(words, j, np.int64(word_at(where, length)))
                put(middles, j, np.int64(word_at(where + min(more, 8), min(length, 8))))
                put(lasts, j, np.int64(word_at(where + more, min(length, 8))))
        for j in range(size):
            length = item_32(ends, j) - item_32(begins, j)
            h = ((SEED ^ (np.uint64(length) * MIX_1)) ^ np.uint64(item_64(words, j))) * STEP
            h ^= h >> _32
            h = (h ^ np.uint64(item_64(middles, j))) * STEP
            set_item_64(middles, j, np.int64(h ^ (h >> _32)))
        if long > 24:
            for j in range(size):
                k = data + load_i32_le(begins + 4 * j) + 16
                stop = data + load_i32_le(ends + 4 * j) - 8
                if k < stop:
                    h = np.uint64(at(middles, j))
                    while k < stop:
                        h = (h ^ np.uint64(load_i64(k))) * STEP
                        h ^= h >> _32
                        k += 8
                    put(middles, j, np.int64(h))
        for j in range(size):
            h = (np.uint64(item_64(middles, j)) ^ np.uint64(item_64(lasts, j))) * STEP
            h ^= h >> _32
            h *= MIX_2
            h ^= h >> _33
            set_item_64(out, j, np.int64(h if h != 0 else _1))
            set_item_64(words, j, np.int64(np.uint64(item_64(words, j)) ^ _SIGN))
        chosen = small = large = _0
        for j in range(size):
            one = np.uint64(j)
            chosen |= (_1 if np.int64(np.uint64(item_64(out, j)) ^ _SIGN) <= threshold else _0) << one
            small |= (_1 if item_64(words, j) <= least_word else _0) << one
            large |= (_1 if item_64(words, j) >= most_word else _0) << one
        # Whether a value is an extreme mostly follows from its first eight bytes.
        small &= there
        while small != 0:
            j = lowest_bit(small)
            small &= small - _1
            begin = load_i32_le(begins + 4 * j)
            word_here = at(words, j)
            other = load_i32_le(offsets + 4 * max(least, 0))
            other_length = load_i32_le(offsets + 4 * max(least, 0) + 4) - other
            length = load_i32_le(ends + 4 * j) - begin
            if (
                word_here < least_word
                or least < 0
                or (word_here == least_word and compare(data + begin, length, data + other, other_length) < 0)
            ):
                least = i + j
                least_word = word_here
        large &= there
        while large != 0:
            j = lowest_bit(large)
            large &= large - _1
            begin = load_i32_le(begins + 4 * j)
            word_here = at(words, j)
            other = load_i32_le(offsets + 4 * max(most, 0))
            other_length = load_i32_le(offsets + 4 * max(most, 0) + 4) - other
            length = load_i32_le(ends + 4 * j) - begin
            if (
                word_here > most_word
                or most < 0
                or (word_here == most_word and compare(data + begin, length, data + other, other_length) > 0)
            ):
                most = i + j
                most_word = word_here
        chosen &= there
        if chosen != 0:
            done = take(out, size, chosen, row)
        if hashes != 0 and valid != 0:
            mark_nulls(out, size, there)
        i += size
    put(row, SHORTEST, shortest)
    put(row, LONGEST, longest)
    put(row, LEAST, least)
    put(row, MOST, most)
    put(row, LEAST_WORD, least_word)
    put(row, MOST_WORD, most_word)
    put(row, SEEN, i)
    return done


def _insert(hashes: int, row: int, n: int) -> int:
    """Keep the small ones of ``n`` hashes, from the first on that was not seen yet.

    :returns: whether the table is full.
    """
    threshold = np.int64(np.uint64(at(row, THRESHOLD)) ^ _SIGN)
    i = at(row, SEEN)
    done = 0
    while i < n and done == 0:
        size = min(BLOCK, n - i)
        block = hashes + 8 * i
        chosen = _0
        for j in range(size):
            h = np.uint64(item_64(block, j))
            chosen |= (_1 if np.int64(h ^ _SIGN) <= threshold else _0) << np.uint64(j)
        if chosen != 0:
            done = take(block, size, chosen, row)
        i += size
    put(row, SEEN, i)
    return done


def _sift(table: int, slots: int, most: int, hashes: int) -> int:
    """Copy the hashes of a table that are ``most`` or smaller.

    :param hashes: where they go; there is room for one more than there are slots.
    :returns: how many there are.
    """
    bound = np.int64(np.uint64(most) ^ _SIGN)
    count = 0
    for i in range(slots):
        h = at(table, i)
        put(hashes, count, h)
        count += 1 if (h != 0) & (np.int64(np.uint64(h) ^ _SIGN) <= bound) else 0
    return count


def _runs(groups: int, n: int, bounds: int, room: int) -> int:
    """Where runs of the same value begin.

    :param groups: ``n`` int32; :param bounds: where the positions go, of which there are at most ``room``.
    :returns: how many there are; -1: there is no room for them.
    """
    put(bounds, 0, 0)
    count = 1
    i = 1
    while i < n:
        size = min(BLOCK, n - i)
        block = groups + 4 * i
        before = block - 4
        differ = 0
        for j in range(size):
            differ |= item_32(block, j) ^ item_32(before, j)
        if differ != 0:
            if count + size > room:
                return -1
            for j in range(size):
                put(bounds, count, i + j)
                count += 1 if item_32(block, j) != item_32(before, j) else 0
        i += size
    return count


def _below(hashes: int, n: int, threshold: int, rows: int, room: int) -> int:
    """Which hashes are smaller than a threshold.

    :param rows: where their numbers go, of which there are at most ``room``.
    :returns: how many there are; -1: there is no room for them.
    """
    bound = np.int64(np.uint64(threshold) ^ _SIGN)
    count = 0
    i = 0
    while i < n:
        size = min(BLOCK, n - i)
        block = hashes + 8 * i
        lowest = _LARGEST
        for j in range(size):
            lowest = min(lowest, int(np.int64(np.uint64(item_64(block, j)) ^ _SIGN)))
        if lowest < bound:
            if count + size > room:
                return -1
            for j in range(size):
                put(rows, count, i + j)
                count += 1 if np.int64(np.uint64(item_64(block, j)) ^ _SIGN) < bound else 0
        i += size
    return count


def _larger(parts: int, count: int, n: int, least: int, rows: int, room: int) -> int:
    """Which of ``n`` sizes are ``least`` or larger; else as ``_below``.

    :param parts: what sizes are the sums of: ``count`` pairs of a kind (``SPANS``: int32, one more than there are sizes, whose
        distances count; ``SUMMANDS``: int64) and where these are. After them there is room for a block.
    """
    block = parts + 16 * count
    found = 0
    i = 0
    while i < n:
        size = min(BLOCK, n - i)
        for j in range(size):
            set_item_64(block, j, 0)
        for part in range(count):
            if at(parts, 2 * part) == SPANS:
                begins = at(parts, 2 * part + 1) + 4 * i
                ends = begins + 4
                for j in range(size):
                    set_item_64(block, j, item_64(block, j) + (item_32(ends, j) - item_32(begins, j)))
            else:
                summands = at(parts, 2 * part + 1) + 8 * i
                for j in range(size):
                    set_item_64(block, j, item_64(block, j) + item_64(summands, j))
        largest = -_LARGEST
        for j in range(size):
            largest = max(largest, item_64(block, j))
        if largest >= least:
            if found + size > room:
                return -1
            for j in range(size):
                put(rows, found, i + j)
                found += 1 if item_64(block, j) >= least else 0
        i += size
    return found


def _spans(offsets: int, inner: int, n: int, each: int, sizes: int) -> int:
    """Add to ``n`` sizes how many bytes lie between an offset and the next one.

    :param offsets: int32, one more than there are sizes.
    :param inner: int32 that the offsets point at, where they are those of elements; 0: they are those of bytes.
    :param each: bytes that an element takes besides them; 1 where offsets are those of bytes.
    """
    if inner == 0:
        ends = offsets + 4
        for i in range(n):
            set_item_64(sizes, i, item_64(sizes, i) + (item_32(ends, i) - item_32(offsets, i)) * each)
        return 0
    end = load_i32_le(offsets)
    end_byte = load_i32_le(inner + 4 * end)
    for i in range(n):
        begin, begin_byte = end, end_byte
        end = load_i32_le(offsets + 4 * i + 4)
        end_byte = load_i32_le(inner + 4 * end)
        put(sizes, i, at(sizes, i) + (end - begin) * each + (end_byte - begin_byte))
    return 0


def _slot(h: int, slots: int, mask: int) -> int:
    """The slot of a hash, or the free one where it is to go."""
    slot = h & mask
    there = at(slots, 2 * slot)
    while there != h and there != 0:
        slot = (slot + 1) & mask
        there = at(slots, 2 * slot)
    return slot


slot_of = compile_kernel(_slot)


def _own(row: int, n: int) -> int:
    """Count rows, bytes and entries by owner, from the first row on that was not seen yet.

    :param row: the description of the table; :param n: the number of rows.
    :returns: whether all counters are used, before which all rows were seen or not.
    """
    hashes = at(row, SOURCE)
    sizes = at(row, SIZES)
    each = at(row, EACH)
    entries = at(row, ENTRIES)
    slots = at(row, SLOTS)
    mask = at(row, SLOT_MASK)
    counters = at(row, COUNTERS)
    counter_hashes = at(row, COUNTER_HASHES)
    new = at(row, NEW)
    used = at(row, USED)
    room = at(row, COUNTERS_ROOM)
    bounds = at(row, BOUNDS_AT)
    bounds_mask = at(row, BOUNDS_MASK)
    floor = at(row, FLOOR)
    i = at(row, SEEN_ROWS)
    done = 0
    while i < n and done == 0:
        h = at(hashes, i)
        size = each if sizes == 0 else at(sizes, i)
        count = 1
        if entries != 0:
            count = load_i32_le(entries + 4 * i + 4) - load_i32_le(entries + 4 * i)
        slot = slot_of(h, slots, mask)
        if at(slots, 2 * slot) == h:
            counter = counters + 32 * at(slots, 2 * slot + 1)
            put(counter, 0, at(counter, 0) + size)
            put(counter, 1, at(counter, 1) + 1)
            put(counter, 2, at(counter, 2) + count)
            i += 1
        else:
            bound = np.int64(np.uint64(h) >> _32) & bounds_mask
            before = at(bounds, bound)
            if before + size <= floor:
                put(bounds, bound, before + size)
                i += 1
            elif used < room:
                put(slots, 2 * slot, h)
                put(slots, 2 * slot + 1, used)
                counter = counters + 32 * used
                put(counter, 0, size)
                put(counter, 1, 1)
                put(counter, 2, count)
                put(counter, 3, before)
                put(counter_hashes, used, h)
                put(new, used, i)
                used += 1
                i += 1
            else:
                done = 1
    put(row, USED, used)
    put(row, SEEN_ROWS, i)
    return done


def _seat(row: int) -> int:
    """Put the hashes of the counters into the slots, which are free.

    :param row: the description of the table.
    """
    slots = at(row, SLOTS)
    mask = at(row, SLOT_MASK)
    hashes = at(row, COUNTER_HASHES)
    used = at(row, USED)
    for i in range(used):
        h = at(hashes, i)
        slot = slot_of(h, slots, mask)
        put(slots, 2 * slot, h)
        put(slots, 2 * slot + 1, i)
    return used  # type: ignore[no-any-return]


def _columns(rows: int, count: int, n: int, batch: int) -> int:
    """Look at a batch of ``n`` rows.

    :param rows: the descriptions of ``count`` columns, one behind the other.
    :param batch: that of the batch; 0: only its columns count.
    :returns: how many tables are full: room is to be made in them, then this is to be called again.
    """
    done = 0
    for i in range(count):
        row = rows + 8 * ROW * i
        kind = at(row, KIND)
        if kind == NOTHING:
            continue
        done += texts(row, n) if kind == TEXT else numbers(row, n)
    if done == 0 and batch != 0:
        if at(batch, GROUPS) != 0:
            put(batch, RUNS, runs(at(batch, GROUPS), n, at(batch, BOUNDS), ROOM))
        if at(batch, ROWS_HASHES) != 0:
            put(batch, FOUND, below(at(batch, ROWS_HASHES), n, at(batch, BELOW), at(batch, ROWS), ROOM))
    return done


numbers = compile_kernel(_numbers)
texts = compile_kernel(_texts)
columns = compile_kernel(_columns)
insert = compile_kernel(_insert)
sift = compile_kernel(_sift)
runs = compile_kernel(_runs)
below = compile_kernel(_below)
larger = compile_kernel(_larger)
spans = compile_kernel(_spans)
own = compile_kernel(_own)
seat = compile_kernel(_seat)
KERNELS = columns, insert, sift, larger, spans, own, seat
"""All that Python calls."""
