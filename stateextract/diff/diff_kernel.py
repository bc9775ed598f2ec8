"""The compiled part of a comparison: hashes of columns, equality of byte strings, and the pairing of rows by their hashes.

Arrays are addresses, as in every kernel here; the callers keep them alive and say how long they are. Hashes only bring
together what may be equal: the code that pairs rows by them also compares the values, so no collision makes a wrong row.
Knows nothing of states.
"""

from __future__ import annotations

import numpy as np

from stateextract.columnar.compiled.compile import (
    at,
    compile_kernel,
    load_i32_le,
    load_i64_le,
    load_u8,
    put,
    store_8,
    store_32,
)
from stateextract.columnar.compiled.mixing import mix

EMPTY = -2
"""In a table: an empty place."""
NONE = -1
"""No row."""

_K1 = np.uint64(0x9E3779B97F4A7C15)
_K2 = np.uint64(0xC2B2AE3D27D4EB4F)
_K3 = np.uint64(0x165667B19E3779F9)


def _hash_numbers(values: int, n: int, out: int) -> None:
    """A hash for each of ``n`` int64."""
    for i in range(n):
        put(out, i, np.int64(mix(np.uint64(at(values, i)) + _K1)))


def _hash_bytes(offsets: int, data: int, n: int, out: int) -> None:
    """A hash for each of ``n`` byte strings between int64 offsets."""
    for i in range(n):
        pos = at(offsets, i)
        end = at(offsets, i + 1)
        h = np.uint64(end - pos) * _K1
        while pos + 8 <= end:
            h = mix(h ^ np.uint64(load_i64_le(data + pos))) + _K1
            pos += 8
        tail = np.uint64(0)
        while pos < end:
            tail = (tail << np.uint64(8)) | np.uint64(load_u8(data + pos))
            pos += 1
        put(out, i, np.int64(mix(h ^ tail)))


def _combine(hashes: int, more: int, n: int) -> None:
    """Take one more column into ``hashes``."""
    for i in range(n):
        h = np.uint64(at(hashes, i)) * _K1 + np.uint64(at(more, i))
        put(hashes, i, np.int64(mix(h)))


def _fold_list(offsets: int, elements: int, n: int, out: int) -> None:
    """A hash for each of ``n`` lists, whose elements' order counts.

    :param offsets: int64, into the hashes of the elements.
    """
    for i in range(n):
        begin = at(offsets, i)
        end = at(offsets, i + 1)
        h = np.uint64(end - begin)
        for k in range(begin, end):
            h = mix(h * _K1 + np.uint64(at(elements, k)))
        put(out, i, np.int64(mix(h + _K2)))


def _fold_bag(offsets: int, elements: int, n: int, out: int) -> None:
    """As ``_fold_list``, but the order of the elements does not count."""
    for i in range(n):
        begin = at(offsets, i)
        end = at(offsets, i + 1)
        h = np.uint64(0)
        for k in range(begin, end):
            h += mix(np.uint64(at(elements, k)) ^ _K3)
        put(out, i, np.int64(mix(h * _K1 + np.uint64(end - begin))))


def _equal_bytes(
    offsets_a: int, data_a: int, rows_a: int, offsets_b: int, data_b: int, rows_b: int, n: int, out: int
) -> None:
    """Whether the byte strings at ``n`` pairs of places are the same; a byte for each pair."""
    for i in range(n):
        a = at(rows_a, i)
        b = at(rows_b, i)
        pos_a = at(offsets_a, a)
        pos_b = at(offsets_b, b)
        left = at(offsets_a, a + 1) - pos_a
        same = 1
        if left != at(offsets_b, b + 1) - pos_b:
            same = 0
        else:
            pos_a += data_a
            pos_b += data_b
            while left >= 8 and same == 1:
                if load_i64_le(pos_a) != load_i64_le(pos_b):
                    same = 0
                pos_a += 8
                pos_b += 8
                left -= 8
            while left > 0 and same == 1:
                if load_u8(pos_a) != load_u8(pos_b):
                    same = 0
                pos_a += 1
                pos_b += 1
                left -= 1
        store_8(out + i, same)


def _place_of(h: int, keys: int, heads: int, mask: int) -> int:
    """The place of a hash in the table of :func:`_pair`, or the empty one where it goes."""
    place = h & mask
    while load_i32_le(heads + 4 * place) != EMPTY and at(keys, place) != h:
        place = (place + 1) & mask
    return place


place_of = compile_kernel(_place_of)


def _pair(
    hashes_a: int,
    count_a: int,
    hashes_b: int,
    count_b: int,
    keys: int,
    heads: int,
    lasts: int,
    mask: int,
    next_a: int,
    before_b: int,
    partners_a: int,
    partners_b: int,
) -> None:
    """Pair rows of two sides that have the same hash: the first with the first, the second with the second, and so on.

    :param keys: int64, the table's hashes; :param heads: int32, the next row of A without a partner, all ``EMPTY`` before;
        :param lasts: int32, the last row of B met; each has ``mask + 1`` places, a power of two.
    :param next_a: int32 for each row of A, the next one with its hash; :param before_b: int32 for each of B, the one before.
    :param partners_a: int32 for each row of A; :param partners_b: for each of B.
    """  # fmt: skip
    for back in range(count_a):
        i = count_a - 1 - back
        h = at(hashes_a, i)
        place = place_of(h, keys, heads, mask)
        head = load_i32_le(heads + 4 * place)
        if head == EMPTY:
            put(keys, place, h)
            store_32(lasts + 4 * place, NONE)
            head = NONE
        store_32(next_a + 4 * i, head)
        store_32(heads + 4 * place, i)
        store_32(partners_a + 4 * i, NONE)
    for j in range(count_b):
        h = at(hashes_b, j)
        place = place_of(h, keys, heads, mask)
        head = load_i32_le(heads + 4 * place)
        if head == EMPTY:
            put(keys, place, h)
            store_32(lasts + 4 * place, NONE)
            store_32(heads + 4 * place, NONE)
            head = NONE
        store_32(before_b + 4 * j, load_i32_le(lasts + 4 * place))
        store_32(lasts + 4 * place, j)
        store_32(partners_b + 4 * j, head)
        if head != NONE:
            store_32(partners_a + 4 * head, j)
            store_32(heads + 4 * place, load_i32_le(next_a + 4 * head))


hash_numbers = compile_kernel(_hash_numbers)
hash_bytes = compile_kernel(_hash_bytes)
combine = compile_kernel(_combine)
fold_list = compile_kernel(_fold_list)
fold_bag = compile_kernel(_fold_bag)
equal_bytes = compile_kernel(_equal_bytes)
pair = compile_kernel(_pair)
