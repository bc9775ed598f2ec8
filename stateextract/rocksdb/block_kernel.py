"""The compiled reading of blocks: numbers, byte strings, where entries end, index blocks, and plans for decompression.

The parts that ``kernel.py`` builds on, under the same rules: arrays are addresses, no byte is read beyond the block it
belongs to, copies are exact. ``blocks.py`` and ``table.py`` say the same in plain Python. Knows no file.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    compile_kernel,
    copy_16,
    load_i16_le,
    load_i32_le,
    load_i64,
    load_i64_le,
    load_u8,
    load_u16,
    put,
    store_8,
    store_32,
    store_64,
)

OK = 0
# Status codes that both kernels have; those of kernel.py alone are smaller.
BAD_BLOCK = 8  #       a restart array that is not there
BAD_FEATURE = 9  #     block features that are not known
BAD_ENTRY = 10  #      an entry that leaves its block, or shares more than there is
BAD_HANDLE = 15  #     a block handle that cannot be

# Columns of ranges of keys, and of range deletions that were cut into disjoint pieces, which alone have a number.
F_BEGIN, F_BEGIN_LEN, F_END, F_END_LEN, F_SEQ, F_WIDTH = 0, 1, 2, 3, 4, 5
# Columns of what ``plan`` says about blocks.
P_START, P_END, P_KIND, P_PLAIN, P_BEFORE, P_WIDTH = 0, 1, 2, 3, 4, 5

SIGN = -9223372036854775808
LARGEST = 0x7FFFFFFF
LARGEST_OFFSET = 1 << 60
# As in blocks.py.
LARGEST_BLOCK = 1 << 30
SNAPPY_RATIO = 64


def _copy(source: int, target: int, n: int) -> None:
    """Exactly ``n`` bytes, to where they do not overlap."""
    if n >= 8:
        # The last eight bytes at once, some of them a second time.
        k = 0
        while k + 8 < n:
            store_64(target + k, load_i64_le(source + k))
            k += 8
        store_64(target + n - 8, load_i64_le(source + n - 8))
        return
    if n >= 4:
        last = load_i32_le(source + n - 4)
        store_32(target, load_i32_le(source))
        store_32(target + n - 4, last)
        return
    k = 0
    while k < n:
        store_8(target + k, load_u8(source + k))
        k += 1


def _compare(a: int, a_len: int, b: int, b_len: int) -> int:
    """Order of two byte strings: negative, 0 or positive."""
    n = min(a_len, b_len)
    i = 0
    while i + 8 <= n:
        x = load_i64(a + i)
        y = load_i64(b + i)
        if x != y:
            return -1 if (x ^ SIGN) < (y ^ SIGN) else 1
        i += 8
    while i < n:
        x = load_u8(a + i)
        y = load_u8(b + i)
        if x != y:
            return x - y  # type: ignore[no-any-return]
        i += 1
    return a_len - b_len


def _varint(src: int, pos: int, end: int) -> tuple[int, int]:
    """(value, position behind it); the value is -1 where there is none of at most 63 bits."""
    value = 0
    shift = 0
    while pos < end and shift <= 63:
        byte = load_u8(src + pos)
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value if value >= 0 else -1, pos
        shift += 7
    return -1, pos


def _entries_end(src: int, size: int) -> int:
    """Where a block's entries end; negative: minus the status."""
    if size < 4:
        return -BAD_BLOCK
    word = load_i32_le(src + size - 4)
    if (word >> 28) & 7 != 0:
        return -BAD_FEATURE
    tail = 4
    if word < 0:
        if size < 6:
            return -BAD_BLOCK
        tail = 6 + load_u8(src + size - 6) + (load_u8(src + size - 5) << 8)
    end = size - tail - 4 * (word & 0x0FFFFFFF)
    return end if end >= 0 else -BAD_BLOCK


copy = compile_kernel(_copy)
compare = compile_kernel(_compare)
varint = compile_kernel(_varint)
entries_end = compile_kernel(_entries_end)


def _index(
    src: int, size: int, delta: int, first_key: int, trailer: int, ranges: int, count: int, key: int, out: int, found: int
) -> int:
    """Read an index block: the handles of the blocks that may hold keys of some ranges.

    :param delta: the values are delta-encoded.
    :param first_key: and have the block's first key behind them.
    :param trailer: bytes at the end of each key that are no user key.
    :param ranges: [count, F_WIDTH]: the ranges; a negative length for no bound.
    :param key: room for ``size`` bytes.
    :param out: room for ``size // 3 + 1`` rows of (offset, size, first two bytes of the separator, its length).
    :param found: [rows written, entries that are left out before the last of them, whether entries follow it].
    """
    end = entries_end(src, size)
    if end < 0:
        return -end  # type: ignore[no-any-return]
    pos = 0
    key_len = 0
    rows = 0
    skipped = 0
    offset = 0
    block = 0
    current = 0
    put(found, 2, 0)
    while pos < end:
        first = pos == 0
        shared, pos = varint(src, pos, end)
        unshared, pos = varint(src, pos, end)
        value_len = 0
        if delta == 0:
            value_len, pos = varint(src, pos, end)
        if shared < 0 or unshared < 0 or value_len < 0 or shared > key_len or (first and shared != 0):
            return BAD_ENTRY
        if unshared > end - pos or value_len > end - pos - unshared:
            return BAD_ENTRY
        # The key's bytes were all in the block, so its length is below the block's.
        copy(src + pos, key + shared, unshared)
        key_len = shared + unshared
        pos += unshared
        if key_len < trailer:
            return BAD_ENTRY
        if delta != 0 and shared > 0:
            change, pos = varint(src, pos, end)
            if change < 0:
                return BAD_HANDLE
            offset = offset + block + 5
            block += (change >> 1) ^ -(change & 1)
        else:
            stop = end if delta != 0 else pos + value_len
            offset, after = varint(src, pos, stop)
            block, after = varint(src, after, stop)
            pos = after if delta != 0 else stop
        if offset < 0 or block < 0 or offset > LARGEST_OFFSET or block > LARGEST_OFFSET:
            return BAD_HANDLE
        if delta != 0 and first_key != 0:
            n, pos = varint(src, pos, end)
            if n < 0 or n > end - pos:
                return BAD_ENTRY
            pos += n
        user_len = key_len - trailer
        if current >= count:
            put(found, 2, 1)
            break
        row = current * F_WIDTH
        lower_len = at(ranges, row + F_BEGIN_LEN)
        if lower_len >= 0 and compare(key, user_len, at(ranges, row + F_BEGIN), lower_len) < 0:
            skipped += 1
            continue
        put(out, 4 * rows, offset)
        put(out, 4 * rows + 1, block)
        prefix = 0
        if user_len >= 2:
            prefix = load_u16(key)
        elif user_len == 1:
            prefix = load_u8(key) << 8
        put(out, 4 * rows + 2, prefix)
        put(out, 4 * rows + 3, user_len)
        rows += 1
        # All keys of the next block are at least this separator.
        while current < count:
            row = current * F_WIDTH
            upper_len = at(ranges, row + F_END_LEN)
            if upper_len < 0 or compare(key, user_len, at(ranges, row + F_END), upper_len) < 0:
                break
            current += 1
    put(found, 0, rows)
    put(found, 1, skipped)
    return OK


def _plan(src: int, starts: int, blocks: int, n: int, version: int, most: int, out: int, found: int) -> int:
    """Where the compressed bytes of some blocks begin and how many plain ones they announce.

    :param src: bytes that hold all blocks with their trailers; ``starts``: where each begins there.
    :param blocks: [n, 4]: of each row the second is the size.
    :param out: [n, P_WIDTH]: start and end in ``src``, compression, plain size (-1: the block does not say), plain bytes of the
        compressed blocks before it.
    :param found: [plain bytes of all compressed blocks, 1 if there are others than Snappy's with a possible size].
    :returns: how many blocks there are until ``most`` plain bytes are reached.
    """
    total = 0
    packed = 0
    put(found, 1, 0)
    i = 0
    while i < n and total < most:
        pos = at(starts, i)
        size = at(blocks, 4 * i + 1)
        end = pos + size
        kind = load_u8(src + end)
        plain = size
        if kind == 1:
            plain, _ = varint(src, pos, end)
        elif kind == 7 or (kind != 0 and version >= 2):
            plain, pos = varint(src, pos, end)
        elif kind != 0:
            # Formats 0 and 1: a length of four bytes and four more for LZ4, none for zlib and bzip2.
            plain = -1
            if (kind in (4, 5)) and end - pos >= 8:
                plain = load_i32_le(src + pos) & 0xFFFFFFFF
                pos += 8
        put(out, P_WIDTH * i + P_START, pos)
        put(out, P_WIDTH * i + P_END, end)
        put(out, P_WIDTH * i + P_KIND, kind)
        put(out, P_WIDTH * i + P_PLAIN, plain)
        put(out, P_WIDTH * i + P_BEFORE, packed)
        i += 1
        if kind != 0:
            if kind != 1 or plain < 0 or plain > min(SNAPPY_RATIO * size + 64, LARGEST_BLOCK):
                put(found, 1, 1)
            packed += plain
        if plain < 0 or plain > LARGEST:
            break
        total += plain
    put(found, 0, packed)
    return i


def _expand_snappy(pos: int, end: int, limit: int, out: int, size: int, room: int) -> bool:
    """Decompress a Snappy block; whether it is valid and has ``size`` plain bytes. All positions are addresses.

    :param limit: up to which bytes may be read; :param room: up to which they may be written, also after the block's own.
    """
    plain, pos = varint(0, pos, end)
    if plain != size:
        return False
    start = out
    stop = out + size
    while pos < end:
        # Far from both ends nothing but the distance has to be checked: no element has more than 64 bytes.
        while end - pos >= 66 and stop - out >= 80:
            tag = load_u8(pos)
            kind = tag & 3
            n = (tag >> 2) + 1
            if kind == 0:
                if n > 60:
                    break
                k = 0
                while k < n:
                    copy_16(pos + 1 + k, out + k)
                    k += 16
                pos += 1 + n
                out += n
                continue
            back = load_i16_le(pos + 1) & 0xFFFF
            if kind == 1:
                n = 4 + ((tag >> 2) & 7)
                back = ((tag >> 5) << 8) | (back & 0xFF)
            elif kind == 3:
                break
            if back == 0 or back > out - start:
                return False
            pos += 1 + kind
            k = 0
            if back >= 16:
                while k < n:
                    copy_16(out + k - back, out + k)
                    k += 16
            elif back >= 8:
                while k < n:
                    store_64(out + k, load_i64_le(out + k - back))
                    k += 8
            else:
                while k < n:
                    store_8(out + k, load_u8(out + k - back))
                    k += 1
            out += n
        tag = load_u8(pos)
        pos += 1
        kind = tag & 3
        n = (tag >> 2) + 1
        if kind == 0:
            if n > 60:
                more = n - 60
                if more > end - pos:
                    return False
                n = 1
                k = 0
                while k < more:
                    n += load_u8(pos + k) << (8 * k)
                    k += 1
                pos += more
            if n > end - pos or n > stop - out:
                return False
            if n <= 16 and limit - pos >= 16 and room - out >= 16:
                copy_16(pos, out)
            else:
                copy(pos, out, n)
            pos += n
        else:
            width = 1 if kind == 1 else 2 if kind == 2 else 4
            if width > end - pos:
                return False
            if kind == 1:
                n = 4 + ((tag >> 2) & 7)
                back = ((tag >> 5) << 8) | load_u8(pos)
            elif kind == 2:
                back = load_u8(pos) | (load_u8(pos + 1) << 8)
            else:
                back = load_i32_le(pos) & 0xFFFFFFFF
            pos += width
            if back == 0 or back > out - start or n > stop - out:
                return False
            k = 0
            if back >= 8 and room - out >= n + 8:
                while k < n:
                    store_64(out + k, load_i64_le(out + k - back))
                    k += 8
            else:
                while k < n:
                    store_8(out + k, load_u8(out + k - back))
                    k += 1
        out += n
    return out == stop


expand_snappy = compile_kernel(_expand_snappy)


def _expand(raw: int, size: int, spans: int, plains: int, i: int, n: int, arena: int, room: int) -> int:
    """Decompress the Snappy blocks of a batch, from block ``i`` on, in order.

    :param raw: the bytes that contain the compressed blocks; ``size``: how many they are.
    :param spans: what ``plan`` wrote; ``plains``: [n, 2]: becomes where the plain bytes of each block are, and how many.
    :param arena: memory for the plain bytes of compressed blocks; ``room``: its end. What comes after a block in it may be
        overwritten.
    :returns: the first block that has another compression or is invalid; ``n`` if there is none.
    """
    while i < n:
        row = spans + 8 * P_WIDTH * i
        kind = at(row, P_KIND)
        start = raw + at(row, P_START)
        plain = at(row, P_PLAIN)
        target = start if kind == 0 else arena + at(row, P_BEFORE)
        put(plains, 2 * i, target)
        put(plains, 2 * i + 1, plain)
        if kind != 0 and (
            kind != 1 or not expand_snappy(start, raw + at(row, P_END), raw + size, target, plain, room)
        ):
            return i
        i += 1
    return n


index = compile_kernel(_index)
plan = compile_kernel(_plan)
expand = compile_kernel(_expand)
