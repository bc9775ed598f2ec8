"""The compiled heart of the reader: the merge of sorted runs of data blocks into framed pairs.

``merge`` takes entries from all runs in order of user key and, within one, newest first; applies deletes, range
deletions and merge operands; and writes ``i32 nk · key · i32 nv · value`` (big-endian) as long as whole pairs fit. It
returns when it needs something: the next blocks of a run, a larger buffer, more room. Or it writes every key that there
is, with one byte: the bits of the databases whose newest entry of the key is no operand and newer than a bound of theirs.
Its whole state lies in arrays of
the caller, so that calling again goes on where it stopped. ``reference.py`` says the same in plain Python.

Rules that keep corrupt input harmless: no byte is read beyond the block it belongs to and none written beyond a
buffer's capacity (copies are exact, no slack is needed); lengths are checked against what is left of the block; the
entries of a run must rise, or the merge would be wrong without notice.

Arrays are given as addresses of ``int64`` arrays, as in ``stateextract.columnar.kernel``. Must not know of files,
families, Flink. RocksDB's side: ``table/block_based/block.cc``, ``db/merge_helper.cc``,
``db/range_del_aggregator.cc``.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    compile_kernel,
    copy_16,
    load_i32_le,
    load_i64,
    load_i64_le,
    load_u8,
    put,
    store_8,
    store_32,
    store_64,
)
from stateextract.rocksdb.block_kernel import (
    BAD_ENTRY,
    F_BEGIN,
    F_BEGIN_LEN,
    F_END,
    F_END_LEN,
    F_SEQ,
    F_WIDTH,
    LARGEST,
    OK,
    SIGN,
    compare,
    copy,
    entries_end,
    varint,
)

# Why a kernel stopped.
DONE = 1  #            no more pairs
NEED_BATCH = 2  #      run S_ARGUMENT needs its next blocks
FULL = 3  #            the next pair needs S_NEEDED bytes of room
KEY_FULL = 4  #        the key buffer of run S_ARGUMENT needs S_NEEDED bytes
GROUP_FULL = 5  #      the buffer of the current key needs S_NEEDED bytes
OPERANDS_FULL = 6  #   the buffer of merge operands needs S_NEEDED bytes
ENDED = 7  #           (inside) a run has no more entries
BAD_ORDER = 11  #      keys that do not rise
BAD_TYPE = 12  #       an entry of another type than put, delete, merge, single delete
BAD_DUPLICATE = 13  #  one key twice with one sequence number
BAD_LENGTH = 14  #     a value beyond 2 GiB

# Slots of a run.
R_ADDRESS, R_POS, R_END, R_BLOCK, R_BLOCKS, R_TABLE, R_LAST = 0, 1, 2, 3, 4, 5, 6
R_KEY, R_KEY_CAP, R_KEY_LEN, R_TRAILER, R_SEQ, R_TYPE, R_HEAD = 7, 8, 9, 10, 11, 12, 13
R_VALUE, R_VALUE_LEN, R_GLOBAL, R_ENTRIES = 14, 15, 16, 17
R_BIT, R_SETTLES, R_WIDTH = 18, 19, 20
# Columns of a run's table of blocks.
T_ADDRESS, T_PLAIN, T_WIDTH = 0, 1, 2
# Slots of the merge's state.
S_RUNS, S_RUN_COUNT, S_HEAP, S_HEAP_COUNT, S_OPENED, S_STALE = 0, 1, 2, 3, 4, 5
S_GROUP, S_GROUP_KEY, S_GROUP_LEN, S_GROUP_CAP, S_LAST_SEQ, S_COVER = 6, 7, 8, 9, 10, 11
S_OPERANDS, S_BUFFER, S_BUFFER_CAP, S_BUFFER_POS = 12, 13, 14, 15
S_PIECES, S_PIECE_COUNT, S_PIECE = 16, 17, 18
S_RANGES, S_RANGE_COUNT, S_RANGE, S_INSIDE, S_KEYS_ONLY = 19, 20, 21, 22, 23
S_OUT, S_ROOM, S_WRITTEN, S_PAIRS, S_ARGUMENT, S_NEEDED, S_SEEN, S_WIDTH = 24, 25, 26, 27, 28, 29, 30, 31
# S_GROUP: no current key; its older versions still count; they do not.
NONE, OPEN, CLOSED = 0, 1, 2
LAST_HEAD = 0x7FFFFFFFFFFFFFFF
EXCESS = 32
"""Bytes after what is copied fast that may be read and written too."""
UNKNOWN = -2
"""S_COVER: the range deletions over the current key have to be looked up."""

DELETE, PUT, MERGE, SINGLE_DELETE = 0, 1, 2, 7


def _head_of(key: int, key_len: int) -> int:
    """The first bytes of a user key as a number: most comparisons need no more. The trailer's bytes make the load safe."""
    head = load_i64(key)
    if key_len < 16:
        head = 0 if key_len == 8 else head & (-1 << (8 * (16 - key_len)))
    return head ^ SIGN  # type: ignore[no-any-return]


head_of = compile_kernel(_head_of)


def _advance(state: int, run: int) -> int:
    """Go to the next entry of a run."""
    while at(run, R_POS) >= at(run, R_END):
        block = at(run, R_BLOCK)
        if block >= at(run, R_BLOCKS):
            return ENDED if at(run, R_LAST) != 0 else NEED_BATCH
        table = at(run, R_TABLE)
        src = at(table, block * T_WIDTH + T_ADDRESS)
        end = entries_end(src, at(table, block * T_WIDTH + T_PLAIN))
        put(run, R_BLOCK, block + 1)
        if end < 0:
            return -end  # type: ignore[no-any-return]
        put(run, R_ADDRESS, src)
        put(run, R_POS, 0)
        put(run, R_END, end)
    src = at(run, R_ADDRESS)
    begin = at(run, R_POS)
    end = at(run, R_END)
    pos = begin
    shared = 0
    unshared = 0
    value_len = 0
    if end - pos >= 3 and load_u8(src + pos) | load_u8(src + pos + 1) | load_u8(src + pos + 2) < 0x80:
        shared = load_u8(src + pos)
        unshared = load_u8(src + pos + 1)
        value_len = load_u8(src + pos + 2)
        pos += 3
    else:
        shared, pos = varint(src, pos, end)
        unshared, pos = varint(src, pos, end)
        value_len, pos = varint(src, pos, end)
    key_len = at(run, R_KEY_LEN)
    if shared < 0 or unshared < 0 or value_len < 0 or shared > key_len or (begin == 0 and shared != 0):
        return BAD_ENTRY
    if unshared > end - pos or value_len > end - pos - unshared:
        return BAD_ENTRY
    new_len = shared + unshared
    if new_len < 8:
        return BAD_ENTRY
    if new_len > at(run, R_KEY_CAP):
        put(state, S_NEEDED, new_len)
        return KEY_FULL
    key = at(run, R_KEY)
    # The new user key against the one before: they agree as far as both have shared bytes.
    order = 1
    if key_len > 0:
        old_user = key_len - 8
        new_user = new_len - 8
        common = min(shared, min(old_user, new_user))
        if common == shared:
            order = compare(src + pos, new_user - shared, key + shared, old_user - shared)
        else:
            order = new_user - old_user
        if order < 0:
            return BAD_ORDER
    copy(src + pos, key + shared, unshared)
    trailer = load_i64_le(key + new_len - 8)
    if order == 0 and (trailer ^ SIGN) >= (at(run, R_TRAILER) ^ SIGN):
        return BAD_ORDER
    kind = trailer & 0xFF
    if kind != PUT and kind != DELETE and kind != MERGE and kind != SINGLE_DELETE:
        return BAD_TYPE
    put(run, R_KEY_LEN, new_len)
    put(run, R_TRAILER, trailer)
    put(run, R_TYPE, kind)
    put(run, R_SEQ, (trailer >> 8) & 0xFFFFFFFFFFFFFF if at(run, R_GLOBAL) < 0 else at(run, R_GLOBAL))
    put(run, R_VALUE, src + pos + unshared)
    put(run, R_VALUE_LEN, value_len)
    put(run, R_POS, pos + unshared + value_len)
    put(run, R_ENTRIES, at(run, R_ENTRIES) + 1)
    put(run, R_HEAD, head_of(key, new_len))
    return OK


def _before(a: int, b: int) -> bool:
    """Whether run ``a`` is at an entry that comes before that of run ``b``."""
    x = at(a, R_HEAD)
    y = at(b, R_HEAD)
    if x != y:
        return x < y  # type: ignore[no-any-return]
    order = compare(at(a, R_KEY), at(a, R_KEY_LEN) - 8, at(b, R_KEY), at(b, R_KEY_LEN) - 8)
    if order != 0:
        return order < 0  # type: ignore[no-any-return]
    return at(a, R_SEQ) > at(b, R_SEQ)  # type: ignore[no-any-return]


advance = compile_kernel(_advance)
before = compile_kernel(_before)


def _sink(heap: int, count: int) -> None:
    """Bring the top of the heap to its place."""
    run = at(heap, 0)
    i = 0
    while 2 * i + 1 < count:
        child = 2 * i + 1
        if child + 1 < count and before(at(heap, child + 1), at(heap, child)):
            child += 1
        if not before(at(heap, child), run):
            break
        put(heap, i, at(heap, child))
        i = child
    put(heap, i, run)


def _rise(heap: int, count: int, run: int) -> None:
    """Add a run to a heap of ``count``."""
    i = count
    while i > 0:
        above = (i - 1) // 2
        if not before(run, at(heap, above)):
            break
        put(heap, i, at(heap, above))
        i = above
    put(heap, i, run)


def _cover(state: int) -> int:
    """Sequence number of the newest range deletion over the current key, -1 for none. Keys only ever rise."""
    key = at(state, S_GROUP_KEY)
    key_len = at(state, S_GROUP_LEN)
    piece = at(state, S_PIECE)
    pieces = at(state, S_PIECES)
    found = -1
    while piece < at(state, S_PIECE_COUNT):
        row = piece * F_WIDTH
        if compare(at(pieces, row + F_END), at(pieces, row + F_END_LEN), key, key_len) <= 0:
            piece += 1
            continue
        if compare(at(pieces, row + F_BEGIN), at(pieces, row + F_BEGIN_LEN), key, key_len) <= 0:
            found = at(pieces, row + F_SEQ)
        break
    put(state, S_PIECE, piece)
    return found


def _reach(state: int, key: int, key_len: int) -> bool:
    """Go on to the range that the key is in or before; whether there is one. Keys only ever rise."""
    ranges = at(state, S_RANGES)
    current = at(state, S_RANGE)
    while current < at(state, S_RANGE_COUNT):
        row = current * F_WIDTH
        if at(ranges, row + F_END_LEN) < 0 or compare(key, key_len, at(ranges, row + F_END), at(ranges, row + F_END_LEN)) < 0:
            if at(state, S_INSIDE) == 0 and (
                at(ranges, row + F_BEGIN_LEN) < 0
                or compare(key, key_len, at(ranges, row + F_BEGIN), at(ranges, row + F_BEGIN_LEN)) >= 0
            ):
                put(state, S_INSIDE, 1)
            return True
        current += 1
        put(state, S_RANGE, current)
        put(state, S_INSIDE, 0)
    return False


def _emit(state: int, value: int, value_len: int) -> bool:
    """Write the current key with a value, if there is room for all of it."""
    key_len = at(state, S_GROUP_LEN)
    written = at(state, S_WRITTEN)
    size = 8 + key_len + value_len
    if written + size > at(state, S_ROOM):
        put(state, S_NEEDED, size)
        return False
    target = at(state, S_OUT) + written
    store_32(target, _swapped(key_len))
    copy(at(state, S_GROUP_KEY), target + 4, key_len)
    store_32(target + 4 + key_len, _swapped(value_len))
    copy(value, target + 8 + key_len, value_len)
    put(state, S_WRITTEN, written + size)
    put(state, S_PAIRS, at(state, S_PAIRS) + 1)
    return True


def _swap32(value: int) -> int:
    return ((value & 0xFF) << 24) | ((value & 0xFF00) << 8) | ((value >> 8) & 0xFF00) | ((value >> 24) & 0xFF)


def _copy_fast(source: int, target: int, n: int) -> None:
    """Copy ``n`` bytes, sixteen at a time and sixteen at least; reads and writes up to sixteen after them."""
    copy_16(source, target)
    k = 16
    while k < n:
        copy_16(source + k, target + k)
        k += 16


def _straight(state: int, run: int) -> bool:
    """Write the entries that follow in the block of the top run, as long as each is the only one of its key that counts.

    Each must be a put of a new key, which comes before the current keys of all other runs and is in the range, with some
    room after its pair and some bytes after it in the block. ``merge`` handles the first one that is not. The entry on top,
    and the current key, must be done with; there are no range deletions.

    :returns: whether the run is at an entry that was not written; otherwise its entry is done with, as before.
    """
    src = at(run, R_ADDRESS)
    pos = src + at(run, R_POS)
    # Where all entries are done with, the block may not be in memory any more.
    if at(run, R_POS) >= at(run, R_END) or (pos == src and load_u8(src) != 0):
        return False
    # The restart array belongs to the block too, so most entries can be copied with some bytes after them.
    fast = src + at(at(run, R_TABLE), (at(run, R_BLOCK) - 1) * T_WIDTH + T_PLAIN) - EXCESS
    end = min(fast, src + at(run, R_END))
    most = min(at(run, R_KEY_CAP), at(state, S_GROUP_CAP))
    # The key that is not reached any more: the end of the range or the current key of another run. It is compared as a whole
    # only where the first bytes do not suffice.
    row = at(state, S_RANGE) * F_WIDTH
    bound = at(at(state, S_RANGES), row + F_END)
    bound_len = at(at(state, S_RANGES), row + F_END_LEN)
    heap = at(state, S_HEAP)
    if at(state, S_HEAP_COUNT) > 1:
        other = at(heap, 1)
        if at(state, S_HEAP_COUNT) > 2 and before(at(heap, 2), other):
            other = at(heap, 2)
        other_len = at(other, R_KEY_LEN) - 8
        if bound_len < 0 or compare(at(other, R_KEY), other_len, bound, bound_len) < 0:
            bound = at(other, R_KEY)
            bound_len = other_len
    bound_head = LAST_HEAD
    if bound_len >= 8:
        bound_head = load_i64(bound) ^ SIGN
    elif bound_len >= 0:
        bound_head = 0
        for k in range(8):
            bound_head = (bound_head << 8) | (load_u8(bound + k) if k < bound_len else 0)
        bound_head ^= SIGN
    # Where the next pair is written, and up to where one may end.
    target = at(state, S_OUT) + at(state, S_WRITTEN)
    limit = at(state, S_OUT) + at(state, S_ROOM) - EXCESS - 8
    # The key before: first in the run, then in the pair that was written last.
    key = at(run, R_KEY)
    user = at(run, R_KEY_LEN) - 8
    entries = 0
    value = 0
    value_len = 0
    taken = False
    while pos < end:
        word = load_i32_le(pos)
        shared = word & 0xFF
        unshared = (word >> 8) & 0xFF
        size = (word >> 16) & 0xFF
        rest = pos + 3
        if word & 0x808080 != 0:
            shared, rest = varint(0, pos, end)
            unshared, rest = varint(0, rest, end)
            size, rest = varint(0, rest, end)
            if shared < 0 or unshared < 0 or size < 0 or unshared > end - rest:
                break
        new_user = shared + unshared - 8
        stop = rest + unshared + size
        if (
            unshared < 8 or stop > fast or shared > user or new_user + 8 > most or target + new_user + size > limit
            or load_u8(rest + unshared - 8) != PUT
        ):  # fmt: skip
            break
        # Where more bytes are common than are shared, as at a restart, one byte does not suffice.
        rises = shared < user and unshared > 8 and load_u8(rest) > load_u8(key + shared)
        if not rises and compare(rest, unshared - 8, key + shared, user - shared) <= 0:
            break
        # The key in words that begin at the same bytes in each key: a load that spans the ends of two stores before it would
        # have to wait for them. The bytes before the rest belong to the block, because some are shared.
        place = target + 4
        whole = shared & -8
        store_64(place, load_i64_le(key))
        store_64(place + 8, load_i64_le(key + 8))
        k = 16
        while k < whole:
            store_64(place + k, load_i64_le(key + k))
            k += 8
        keep = (1 << (8 * (shared - whole))) - 1
        begin = rest - shared
        store_64(place + whole, (load_i64_le(key + whole) & keep) | (load_i64_le(begin + whole) & ~keep))
        store_64(place + whole + 8, load_i64_le(begin + whole + 8))
        store_64(place + whole + 16, load_i64_le(begin + whole + 16))
        k = whole + 24
        while k < new_user:
            store_64(place + k, load_i64_le(begin + k))
            k += 8
        value = rest + unshared
        value_len = size
        key = place
        user = new_user
        entries += 1
        pos = stop
        if (load_i64(key) ^ SIGN) >= bound_head and bound_len >= 0 and compare(key, user, bound, bound_len) >= 0:
            taken = True
            break
        store_32(target, _swapped(user))
        target = place + user
        store_32(target, _swapped(size))
        copy_fast(value, target + 4, size)
        target += 4 + size
    if entries == 0:
        return False
    trailer = load_i64_le(value - 8)
    copy(key, at(run, R_KEY), user)
    key = at(run, R_KEY)
    store_64(key + user, trailer)
    seq = (trailer >> 8) & 0xFFFFFFFFFFFFFF if at(run, R_GLOBAL) < 0 else at(run, R_GLOBAL)
    put(run, R_POS, pos - src)
    put(run, R_KEY_LEN, user + 8)
    put(run, R_ENTRIES, at(run, R_ENTRIES) + entries)
    put(state, S_WRITTEN, target - at(state, S_OUT))
    put(state, S_PAIRS, at(state, S_PAIRS) + entries - (1 if taken else 0))
    put(run, R_TRAILER, trailer)
    put(run, R_TYPE, PUT)
    put(run, R_SEQ, seq)
    put(run, R_VALUE, value)
    put(run, R_VALUE_LEN, value_len)
    put(run, R_HEAD, head_of(key, user + 8))
    if not taken:
        copy(key, at(state, S_GROUP_KEY), user)
        put(state, S_GROUP_LEN, user)
        put(state, S_GROUP, CLOSED)
        put(state, S_LAST_SEQ, seq)
    elif entries > 1:
        put(state, S_GROUP, NONE)
    return taken


copy_fast = compile_kernel(_copy_fast)
sink = compile_kernel(_sink)
rise = compile_kernel(_rise)
cover = compile_kernel(_cover)
reach = compile_kernel(_reach)
_swapped = compile_kernel(_swap32)
emit = compile_kernel(_emit)
straight = compile_kernel(_straight)


def _merge(state: int) -> int:
    """Write pairs until there is no more room, or something is needed."""
    heap = at(state, S_HEAP)
    while True:
        # Runs that have not been opened yet.
        opened = at(state, S_OPENED)
        if opened < at(state, S_RUN_COUNT):
            run = at(state, S_RUNS) + 8 * R_WIDTH * opened
            status = advance(state, run)
            if status == OK:
                rise(heap, at(state, S_HEAP_COUNT), run)
                put(state, S_HEAP_COUNT, at(state, S_HEAP_COUNT) + 1)
            elif status != ENDED:
                put(state, S_ARGUMENT, opened)
                return status  # type: ignore[no-any-return]
            put(state, S_OPENED, opened + 1)
            continue
        # The entry on top is done with.
        if at(state, S_STALE) != 0:
            run = at(heap, 0)
            status = OK
            plain = at(state, S_GROUP) != OPEN and at(state, S_INSIDE) != 0 and at(state, S_PIECE_COUNT) == 0
            if not (plain and at(state, S_OPERANDS) == 0 and at(state, S_KEYS_ONLY) == 0 and straight(state, run)):
                status = advance(state, run)
            if status == ENDED:
                count = at(state, S_HEAP_COUNT) - 1
                put(heap, 0, at(heap, count))
                put(state, S_HEAP_COUNT, count)
            elif status != OK:
                put(state, S_ARGUMENT, (run - at(state, S_RUNS)) // (8 * R_WIDTH))
                return status  # type: ignore[no-any-return]
            if at(state, S_HEAP_COUNT) > 1:
                sink(heap, at(state, S_HEAP_COUNT))
            put(state, S_STALE, 0)
        run = at(heap, 0)
        more = at(state, S_HEAP_COUNT) > 0
        group = at(state, S_GROUP)
        if not more or group == NONE or compare(
            at(run, R_KEY), at(run, R_KEY_LEN) - 8, at(state, S_GROUP_KEY), at(state, S_GROUP_LEN)
        ) != 0:  # fmt: skip
            # Another key: what was gathered for the last one is its value.
            if group != NONE and at(state, S_OPERANDS) > 0:
                pos = at(state, S_BUFFER_POS)
                if not emit(state, at(state, S_BUFFER) + pos, at(state, S_BUFFER_CAP) - pos):
                    return FULL
                put(state, S_OPERANDS, 0)
            put(state, S_GROUP, NONE)
            if not more:
                return DONE
            key = at(run, R_KEY)
            key_len = at(run, R_KEY_LEN) - 8
            if not reach(state, key, key_len):
                put(state, S_HEAP_COUNT, 0)
                return DONE
            if at(state, S_INSIDE) == 0:
                put(state, S_STALE, 1)
                continue
            if key_len > at(state, S_GROUP_CAP):
                put(state, S_NEEDED, key_len)
                return GROUP_FULL
            copy(key, at(state, S_GROUP_KEY), key_len)
            put(state, S_GROUP_LEN, key_len)
            put(state, S_GROUP, OPEN)
            put(state, S_LAST_SEQ, -1)
            put(state, S_COVER, UNKNOWN)
            put(state, S_BUFFER_POS, at(state, S_BUFFER_CAP))
            group = OPEN
        if at(state, S_KEYS_ONLY) != 0:
            # Of two databases: one entry may be in files of both. The newest one of each says whether it settles the key.
            pos = at(state, S_BUFFER_POS)
            bit = at(run, R_BIT)
            if at(state, S_OPERANDS) == 0:
                put(state, S_OPERANDS, 1)
                pos -= 1
                put(state, S_BUFFER_POS, pos)
                store_8(at(state, S_BUFFER) + pos, 0)
                put(state, S_SEEN, 0)
            if at(state, S_SEEN) & bit == 0:
                put(state, S_SEEN, at(state, S_SEEN) | bit)
                if at(run, R_TYPE) != MERGE and at(run, R_SEQ) > at(run, R_SETTLES):
                    store_8(at(state, S_BUFFER) + pos, load_u8(at(state, S_BUFFER) + pos) | bit)
            put(state, S_STALE, 1)
            continue
        seq = at(run, R_SEQ)
        if seq == at(state, S_LAST_SEQ):
            put(state, S_ARGUMENT, (run - at(state, S_RUNS)) // (8 * R_WIDTH))
            return BAD_DUPLICATE
        if group == OPEN:
            if at(state, S_COVER) == UNKNOWN:
                put(state, S_COVER, cover(state))
            kind = at(run, R_TYPE)
            operands = at(state, S_OPERANDS)
            if seq < at(state, S_COVER) or kind in (DELETE, SINGLE_DELETE):
                put(state, S_GROUP, CLOSED)
            elif kind == PUT and operands == 0:
                if not emit(state, at(run, R_VALUE), at(run, R_VALUE_LEN)):
                    return FULL
                put(state, S_GROUP, CLOSED)
            else:
                # Newest first, so each older operand goes in front of what is there.
                size = at(run, R_VALUE_LEN) + (1 if operands > 0 else 0)
                pos = at(state, S_BUFFER_POS) - size
                if pos < 0:
                    put(state, S_NEEDED, at(state, S_BUFFER_CAP) - pos)
                    if at(state, S_NEEDED) > LARGEST:
                        put(state, S_ARGUMENT, (run - at(state, S_RUNS)) // (8 * R_WIDTH))
                        return BAD_LENGTH
                    return OPERANDS_FULL
                copy(at(run, R_VALUE), at(state, S_BUFFER) + pos, at(run, R_VALUE_LEN))
                if operands > 0:
                    store_8(at(state, S_BUFFER) + pos + size - 1, 0x2C)
                put(state, S_BUFFER_POS, pos)
                put(state, S_OPERANDS, operands + 1)
                if kind == PUT:
                    put(state, S_GROUP, CLOSED)
        put(state, S_LAST_SEQ, seq)
        put(state, S_STALE, 1)


merge = compile_kernel(_merge)
