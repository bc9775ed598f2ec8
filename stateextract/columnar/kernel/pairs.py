"""Operations on pairs of key and value, as canonical bodies and RocksDB have them (``columnar/program/pairs.py``)."""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
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
    if key >= 0:
        # The pairs after it, if their keys have eight bytes too, as long as nothing about them is unusual.
        keys = col(m.cols, key, C_DATA)
        groups = col(m.cols, group_column, C_DATA) if group_column >= 0 else 0
        n = prefix + 8 + skipped
        while m.last == 0 and m.rows + 1 < m.limit and m.taken + 1 < m.slots and m.end - m.pos >= 16 + n:
            if load_i32(m.src + m.pos) != n or load_i32(m.src + m.pos + 4 + n) != 8:
                break
            byte = load_u8(m.src + m.pos + 4)
            found = byte & 0x7F
            if prefix != 1:
                found = (found << 8) | load_u8(m.src + m.pos + 5)
            if found != m.group:
                break
            m.taken += 1
            store_64(keys + 8 * m.taken, load_i64(m.src + m.pos + 4 + prefix))
            store_64(values + 8 * m.taken, load_i64(m.src + m.pos + 8 + n))
            if groups != 0:
                store_16(groups + 2 * m.taken, m.group)
            m.pos += 16 + n
            m.rows += 1
            m.last = byte >> 7
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
    store_64(col(m.cols, value, C_DATA) + 8 * m.i, load_i64(m.src + m.pos))
    remember_key(m)
    m.pos = m.end
    m.end = m.window_end
    # The pairs after it, as long as they are entries of the same row and nothing about them is unusual. What is unusual,
    # wrong or not whole is left as it was.
    child = col(m.cols, c, C_CHILD)
    room = at(m.levels, child * L_SIZE + L_CAP)
    known = at(m.out, KEY)
    m.mark_size = at(m.out, KEY_SIZE)
    begin = prefix + m.mark_size
    values = col(m.cols, value, C_DATA)
    users = col(m.cols, user, C_DATA)
    var = col(m.cols, user, C_VAR)
    var_n = col(m.cols, user, C_VAR_N)
    var_cap = col(m.cols, user, C_VAR_CAP)
    m.i += 1
    while text >= 0 and m.last == 0 and m.rows + 1 < m.limit and m.i < room and m.end - m.pos >= 17 + begin:
        size = load_i32(m.src + m.pos)
        n = size - begin
        if n < 1 or m.end - m.pos < 17 + size or load_i32(m.src + m.pos + 4 + size) != 9:
            break
        byte = load_u8(m.src + m.pos + 4)
        found = byte & 0x7F
        if prefix != 1:
            found = (found << 8) | load_u8(m.src + m.pos + 5)
        if found != m.group or load_u8(m.src + m.pos + 8 + size) != 0:
            break
        here = m.pos + 4 + prefix
        differ = 0
        k = 0
        while k < m.mark_size:
            eight = load_i64_le(known + k) ^ load_i64_le(m.src + here + k)
            if m.mark_size - k < 8:
                eight &= (1 << (8 * (m.mark_size - k))) - 1
            differ |= eight
            k += 8
        if differ != 0:
            break
        here += m.mark_size
        if text == 0:
            if n != 8:
                break
            store_64(users + 8 * m.i, load_i64(m.src + here))
        else:
            n -= 1
            if load_u8(m.src + here) != n + 1 or n > 126 or var_n + n > var_cap:
                break
            here += 1
            k = 0
            while k < n:
                eight = load_i64_le(m.src + here + k)
                if n - k < 8:
                    eight &= (1 << (8 * (n - k))) - 1
                differ |= eight & HIGH_BITS
                store_64(var + var_n + k, eight)
                k += 8
            if differ != 0:
                break
            var_n += n
            store_32(users + 4 * m.i + 4, var_n)
        store_64(values + 8 * m.i, load_i64(m.src + here + n + 5))
        m.pos += 17 + size
        m.i += 1
        m.rows += 1
        m.last = byte >> 7
    if text > 0:
        put(m.cols, user * C_SIZE + C_VAR_N, var_n)
    put(m.levels, child * L_SIZE + L_COUNT, m.i)
    store_32(col(m.cols, c, C_DATA) + 4 * m.row + 4, m.i)
    m.end_entry()
