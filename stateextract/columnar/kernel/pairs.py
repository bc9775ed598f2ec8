"""Operations on pairs of key and value, as canonical bodies and RocksDB have them (``columnar/program/pair_programs.py``)."""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    compile_kernel,
    load_i32,
    load_i64,
    load_i64_le,
    load_u8,
    put,
    store_16,
    store_32,
    store_64,
)
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.assemble import inlined
from stateextract.columnar.kernel.characters import copy
from stateextract.columnar.kernel.lists import take_slots
from stateextract.columnar.kernel.machine import (
    BAD_COUNT,
    BAD_GROUP,
    BAD_PAIR,
    C_CHILD,
    C_DATA,
    C_SIZE,
    C_VAR,
    C_VAR_CAP,
    C_VAR_N,
    CONTINUED,
    HIGH_BITS,
    KEY,
    KEY_CAP,
    KEY_FULL,
    KEY_SIZE,
    L_CAP,
    L_COUNT,
    L_SIZE,
    NEED_INPUT,
    Machine,
)
from stateextract.columnar.kernel.variable import put_bytes


@inlined
def read_lengths(m: Machine, prefix: int) -> None:
    """Both lengths of a pair, and the key group, whose first bit says that no other pair of the state follows."""
    m.require(4)
    size = load_i32(m.src + m.pos)
    if size < prefix or prefix == 0:
        m.bad(BAD_COUNT, m.pos)
    m.require(8 + size)
    value_size = load_i32(m.src + m.pos + 4 + size)
    if value_size < 0:
        m.bad(BAD_COUNT, m.pos + 4 + size)
    m.require(8 + size + value_size)
    m.pair_end = m.pos + 8 + size + value_size
    m.pos += 4
    m.end = m.pos + size
    byte = load_u8(m.src + m.pos)
    m.last = byte >> 7
    m.group = byte & 0x7F
    for k in range(1, prefix):
        m.group = (m.group << 8) | load_u8(m.src + m.pos + k)
    if m.only_group >= 0 and m.group != m.only_group:
        m.stop(BAD_GROUP, argument=m.group, position=m.pos)
    m.pos += prefix
    m.row = m.i
    m.new_row = 1
    m.goes_on = 0


@inlined
def remember_key(m: Machine) -> None:
    """Keep the bytes that distinguish a new row from the next one."""
    if m.new_row != 0:
        if m.mark_size > at(m.out, KEY_CAP):
            m.stop(KEY_FULL, needed=m.mark_size)
        copy(m.src + m.mark, at(m.out, KEY), m.mark_size)
        put(m.out, KEY_SIZE, m.mark_size)
        if m.row == 0:
            put(m.out, CONTINUED, m.goes_on)


def pair(m: Machine, n: int) -> None:
    """Both lengths; the ``n`` bytes of the key group; what follows reads the key."""
    read_lengths(m, n)


def mark_key(m: Machine, n: int, c: int, child: int, t: int) -> None:
    """As ``PAIR``. If the bytes that distinguish rows are those of the row before: after them, and as ``MARKED``, on at
    ``t``."""
    read_lengths(m, n)
    # Keys end where their own bytes say: what begins with the row before's has just that.
    m.mark = m.pos
    size = at(m.out, KEY_SIZE)
    same = 1 if 0 <= size <= m.end - m.pos else 0
    if same != 0:
        known = at(m.out, KEY)
        k = 0
        while k < size:
            differ = load_i64_le(known + k) ^ load_i64_le(m.src + m.pos + k)
            if size - k < 8:
                differ &= (1 << (8 * (size - k))) - 1
            if differ != 0:
                same = 0
                break
            k += 8
    if same != 0 and m.i > 0:
        m.new_row = 0
        m.row = m.i - 1
        m.pos += size
        m.i = take_slots(m, child, 1)
        m.pc = t
    elif m.i >= m.slots:
        m.full(-1)
    else:
        m.goes_on = 1 if same != 0 else 0


def marked(m: Machine, c: int, child: int) -> None:
    """The bytes that distinguish rows end; one more element in the list ``c`` of the row."""
    m.mark_size = m.pos - m.mark
    m.i = take_slots(m, child, 1)


def part(m: Machine) -> None:
    """The key or the namespace begins."""
    m.part = m.pos


def length(m: Machine) -> None:
    """Its length, as Flink appends it: of the lowest byte on, as many bytes as it has."""
    n = m.pos - m.part
    while True:
        if m.pos >= m.end:
            m.stop(NEED_INPUT)
        if load_u8(m.src + m.pos) != n & 0xFF:
            m.bad(BAD_PAIR, m.pos)
        m.pos += 1
        n >>= 8
        if n == 0:
            break


def value(m: Machine, n: int) -> None:
    """The key ends ``n`` bytes further on, the value begins."""
    m.pos += n
    if m.pos != m.end:
        m.bad(BAD_PAIR, m.pos)
    m.pos += 4
    m.end = m.pair_end


def flag(m: Machine, t: int) -> None:
    """The key ends, the value begins with a flag. If it is not 0: on at ``t``."""
    if m.pos != m.end or m.end + 4 == m.pair_end:
        m.bad(BAD_PAIR, m.pos)
    m.end = m.pair_end
    if load_u8(m.src + m.pos + 4) != 0:
        m.pc = t
    m.pos += 5


def rest(m: Machine) -> None:
    """Skip the rest of the value."""
    m.pos = m.end


def bytes_rest(m: Machine, c: int) -> None:
    """The rest of the value, as bytes."""
    put_bytes(m, c, m.pos, m.end - m.pos)
    m.pos = m.end


def key_group(m: Machine, c: int) -> None:
    """The pair's key group."""
    store_16(col(m.cols, c, C_DATA) + 2 * m.i, m.group)


def end_pair(m: Machine, c: int) -> None:
    """The pair is complete; ``c``: the column that ``MARKED`` extended, or -1."""
    if m.pos != m.end:
        m.bad(BAD_PAIR, m.pos)
    if c >= 0:
        remember_key(m)
        store_32(col(m.cols, c, C_DATA) + 4 * m.row + 4, at(m.levels, col(m.cols, c, C_CHILD) * L_SIZE + L_COUNT))
    m.end = m.window_end
    m.end_entry()


def _plain_values(
    src: int, pos: int, end: int, most: int, prefix: int, skipped: int, group: int, keys: int, values: int, groups: int
) -> tuple[int, int, int]:
    """Pairs of a key and a value of eight bytes each, as long as nothing about them is unusual.

    :param most: how many; ``skipped``: bytes of the namespace; ``group``: the key group that they must be of.
    :param keys: addresses of the next slots of the columns; ``groups`` is 0 for no column.
    :returns: the position after them, how many they are, and 1 if the last one says that no other follows.
    """
    n = prefix + 8 + skipped
    done = 0
    last = 0
    while done < most and end - pos >= 16 + n:
        here = src + pos
        if load_i32(here) != n or load_i32(here + 4 + n) != 8:
            break
        byte = load_u8(here + 4)
        found = byte & 0x7F
        if prefix != 1:
            found = (found << 8) | load_u8(here + 5)
        if found != group:
            break
        store_64(keys + 8 * done, load_i64(here + 4 + prefix))
        store_64(values + 8 * done, load_i64(here + 8 + n))
        if groups != 0:
            store_16(groups + 2 * done, group)
        pos += 16 + n
        done += 1
        if byte >= 0x80:
            last = 1
            break
    return pos, done, last


def _plain_entries(
    src: int, pos: int, end: int, most: int, known: int, size: int, text: int, cols: int, user: int, values: int, i: int
) -> tuple[int, int]:
    """Pairs that are entries of one row of a map, with values of eight bytes, as long as nothing about them is unusual.

    What is unusual, wrong or not whole is left as it was, and so is the last pair of the state.

    :param most: how many; ``text``: as for ``entry8``.
    :param known: address of the ``size`` bytes that the pair before begins with: the key group and what tells the row.
    :param user: the column of the user keys; ``values``: the data of the values' column; ``i``: the next slot of both.
    :returns: the position after them, and the next slot.
    """
    whole = size & -8
    rest = (1 << (8 * (size & 7))) - 1
    users = col(cols, user, C_DATA)
    var = col(cols, user, C_VAR)
    var_n = col(cols, user, C_VAR_N)
    var_cap = col(cols, user, C_VAR_CAP)
    stop = i + most
    while i < stop and end - pos >= 17 + size:
        here = src + pos
        whole_key = load_i32(here)
        n = whole_key - size
        # The value's length is nine, its flag 0.
        if n < 1 or end - pos < 17 + whole_key or load_i64(here + 4 + whole_key) >> 24 != 0x900:
            break
        here += 4
        differ = (load_i64_le(known + whole) ^ load_i64_le(here + whole)) & rest
        k = 0
        while k < whole and differ == 0:
            differ = load_i64_le(known + k) ^ load_i64_le(here + k)
            k += 8
        if differ != 0:
            break
        here += size
        if text == 0:
            if n != 8:
                break
            store_64(users + 8 * i, load_i64(here))
        else:
            n -= 1
            if load_u8(here) != n + 1 or n > 126 or n == 0 or var_n + n > var_cap:
                break
            here += 1
            # Up to sixteen characters without a branch, since their number changes from text to text.
            eight = load_i64_le(here)
            more = load_i64_le(here + 8)
            store_64(var + var_n, eight)
            store_64(var + var_n + 8, more)
            short = (n - 9) >> 63
            differ = eight << (8 * (8 - n) & 63 & short)
            differ |= (more << (8 * (16 - n) & 63)) & ~short
            if n > 16:
                differ = eight | more
                k = 16
                while k < n and differ & HIGH_BITS == 0:
                    differ = load_i64_le(here + k)
                    store_64(var + var_n + k, differ)
                    if n - k < 8:
                        differ &= (1 << (8 * (n - k))) - 1
                    k += 8
            if differ & HIGH_BITS != 0:
                break
            var_n += n
            store_32(users + 4 * i + 4, var_n)
        store_64(values + 8 * i, load_i64(here + n + 5))
        pos += 17 + whole_key
        i += 1
    put(cols, user * C_SIZE + C_VAR_N, var_n)
    return pos, i


plain_values = compile_kernel(_plain_values)
plain_entries = compile_kernel(_plain_entries)


def value8(m: Machine, skipped: int, value: int, prefix: int, key: int, group_column: int) -> None:
    """As ``VALUE``, with a value of eight bytes, and ``END_PAIR``; then all plain pairs of the key group.

    :param prefix: bytes of the key group; :param key: the column of the keys, which have eight bytes, or -1 for no more
        pairs; :param group_column: that of the key group, or -1.
    """
    m.pos += skipped
    if m.pos != m.end or m.pair_end - m.pos != 12:
        m.bad(BAD_PAIR, m.pos)
    values = col(m.cols, value, C_DATA)
    store_64(values + 8 * m.i, load_i64(m.src + m.pos + 4))
    m.pos = m.pair_end
    m.end = m.window_end
    if key >= 0 and m.last == 0:
        # The pairs after it, if their keys have eight bytes too.
        m.i = m.taken + 1
        keys = col(m.cols, key, C_DATA) + 8 * m.i
        groups = col(m.cols, group_column, C_DATA) + 2 * m.i if group_column >= 0 else 0
        most = min(m.limit - m.rows - 1, m.slots - m.i)
        m.pos, pairs, m.last = plain_values(
            m.src, m.pos, m.end, most, prefix, skipped, m.group, keys, values + 8 * m.i, groups
        )
        m.taken += pairs
        m.rows += pairs
    m.end_entry()


def entry8(m: Machine, t: int, value: int, c: int, prefix: int, user: int, text: int) -> None:
    """As ``FLAG``, then eight bytes for the column ``value``, and ``END_PAIR`` for ``c``; then all plain pairs of the row.

    :param prefix: bytes of the key group; :param user: the column of the user keys; :param text: their kind: eight bytes
        (0), text (1), others (-1: no more pairs).
    """
    if m.pos != m.end or m.end + 4 == m.pair_end:
        m.bad(BAD_PAIR, m.pos)
    m.end = m.pair_end
    m.pos += 5
    if load_u8(m.src + m.pos - 1) != 0:
        m.pc = t
        return
    if m.end - m.pos != 8:
        m.bad(BAD_PAIR, m.pos)
    values = col(m.cols, value, C_DATA)
    store_64(values + 8 * m.i, load_i64(m.src + m.pos))
    remember_key(m)
    m.pos = m.end
    m.end = m.window_end
    child = col(m.cols, c, C_CHILD)
    if text >= 0 and m.last == 0:
        # The pairs after it that are entries of the same row.
        slot = m.i + 1
        most = min(m.limit - m.rows - 1, at(m.levels, child * L_SIZE + L_CAP) - slot)
        known = m.src + m.mark - prefix
        size = prefix + at(m.out, KEY_SIZE)
        m.pos, m.i = plain_entries(m.src, m.pos, m.end, most, known, size, text, m.cols, user, values, slot)
        m.rows += m.i - slot
        put(m.levels, child * L_SIZE + L_COUNT, m.i)
    store_32(col(m.cols, c, C_DATA) + 4 * m.row + 4, at(m.levels, child * L_SIZE + L_COUNT))
    m.end_entry()
