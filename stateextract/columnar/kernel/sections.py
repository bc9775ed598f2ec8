"""Operations on sections: SQL's binary format (``binary.py``). A bit and an offset count from the row's beginning."""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    load_i16_le,
    load_i32,
    load_i32_le,
    load_i64_le,
    load_u8,
    put,
    store_8,
    store_16,
    store_32,
    store_64,
)
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.assemble import inlined
from stateextract.columnar.kernel.characters import fill, put_utf8
from stateextract.columnar.kernel.lists import end_list, open_list, take_slots
from stateextract.columnar.kernel.machine import (
    BAD_COUNT,
    BAD_SECTION,
    C_DATA,
    C_VAR_N,
    F_AFTER,
    F_BASE,
    F_END,
    F_LEFT,
    F_SIZE,
    Machine,
)
from stateextract.columnar.kernel.variable import null_variable, put_bytes
from stateextract.columnar.program.operations import Op


@inlined
def open_section(m: Machine, base: int, end: int, after: int) -> None:
    """From here on positions are bounded by ``end``; when the section is left, the position is ``after``."""
    put(m.frames, m.depth * F_SIZE + F_BASE, m.base)
    put(m.frames, m.depth * F_SIZE + F_END, m.end)
    put(m.frames, m.depth * F_SIZE + F_AFTER, after)
    m.depth += 1
    m.sections += 1
    m.base = base
    m.end = end


def section(m: Machine) -> None:
    """A length of four bytes, the section."""
    m.require(4)
    n = load_i32(m.src + m.pos)
    if n < 0:
        m.bad(BAD_COUNT, m.pos)
    m.require(4 + n)
    m.pos += 4
    open_section(m, m.pos, m.pos + n, m.pos + n)


def region(m: Machine) -> None:
    """The section that the current slot points to: in the slot itself (sign bit set), or at an offset."""
    begin = m.pos
    word = load_i64_le(m.src + m.pos)
    n = word & 0xFFFFFFFF
    if word < 0:
        n = (word >> 56) & 0x7F
        if n > 7:
            m.bad(BAD_SECTION, m.pos)
    else:
        if (word >> 32) + n > m.end - m.base:
            m.bad(BAD_SECTION, m.pos)
        begin = m.base + (word >> 32)
    open_section(m, begin, begin + n, m.pos + 8)
    m.pos = begin


def leave(m: Machine, exact: int) -> None:
    """The section ends; ``exact``: all its bytes must have been taken."""
    if exact != 0 and m.pos != m.end:
        m.bad(BAD_SECTION, m.pos)
    m.depth -= 1
    m.sections -= 1
    m.base = at(m.frames, m.depth * F_SIZE + F_BASE)
    m.end = at(m.frames, m.depth * F_SIZE + F_END)
    m.pos = at(m.frames, m.depth * F_SIZE + F_AFTER)


def row_of(m: Machine, least: int, c: int) -> None:
    """A row of at least ``least`` bytes; ``c``: the column of its kind, or -1."""
    if m.end - m.base < least:
        m.bad(BAD_SECTION, m.base)
    if c >= 0:
        store_8(col(m.cols, c, C_DATA) + m.i, load_u8(m.src + m.base))


def slot_of(m: Machine, bit: int, offset: int, t: int) -> None:
    """To the slot, or on at ``t`` if its null bit is set."""
    if (load_u8(m.src + m.base + (bit >> 3)) >> (bit & 7)) & 1:
        m.pc = t
    else:
        m.pos = m.base + offset


def slot_number(m: Machine, c: int, bit: int, offset: int) -> None:
    """A number of as many bytes as the operation says, or a null."""
    if (load_u8(m.src + m.base + (bit >> 3)) >> (bit & 7)) & 1:
        fill(m.cols, m.levels, c, m.i)
    else:
        source = m.src + m.base + offset
        if m.op == Op.SLOT8:
            store_64(col(m.cols, c, C_DATA) + 8 * m.i, load_i64_le(source))
        elif m.op == Op.SLOT4:
            store_32(col(m.cols, c, C_DATA) + 4 * m.i, load_i32_le(source))
        elif m.op == Op.SLOT2:
            store_16(col(m.cols, c, C_DATA) + 2 * m.i, load_i16_le(source))
        else:
            store_8(col(m.cols, c, C_DATA) + m.i, load_u8(source))


def slot_variable(m: Machine, c: int, bit: int, offset: int) -> None:
    """The bytes that a slot points to, as bytes or as text, or a null."""
    if (load_u8(m.src + m.base + (bit >> 3)) >> (bit & 7)) & 1:
        null_variable(m, c, col(m.cols, c, C_VAR_N))
        return
    begin = m.base + offset
    word = load_i64_le(m.src + begin)
    n = word & 0xFFFFFFFF
    if word < 0:
        n = (word >> 56) & 0x7F
        if n > 7:
            m.bad(BAD_SECTION, begin)
    else:
        if (word >> 32) + n > m.end - m.base:
            m.bad(BAD_SECTION, begin)
        begin = m.base + (word >> 32)
    if m.op == Op.SLOT_UTF8:
        m.check(put_utf8(m.src, begin, n, m.cols, c, m.i, m.out))
    else:
        put_bytes(m, c, begin, n)


def utf8_rest(m: Machine, c: int) -> None:
    """The rest of the section, as text."""
    m.check(put_utf8(m.src, m.pos, m.end - m.pos, m.cols, c, m.i, m.out))
    m.pos = m.end


def timestamp(m: Machine, c: int, nanoseconds: int) -> None:
    """Milliseconds into column ``c``, and nanoseconds, of the current slot."""
    word = load_i64_le(m.src + m.pos)
    if word < 0 or (word >> 32) + 8 > m.end - m.base:
        m.bad(BAD_SECTION, m.pos)
    store_64(col(m.cols, c, C_DATA) + 8 * m.i, load_i64_le(m.src + m.base + (word >> 32)))
    store_32(col(m.cols, nanoseconds, C_DATA) + 4 * m.i, word)


def array(m: Machine, c: int, child: int, width: int, t: int) -> None:
    """Elements of ``width`` bytes. ``c``: the column, or -1 where nothing is kept; after them the program goes on at
    ``t``. ``MAP_ARRAY``: a map's values, next to the keys that are there already."""
    if m.end - m.base < 4:
        m.bad(BAD_SECTION, m.base)
    n = load_i32_le(m.src + m.base)
    if n < 0 or 4 + ((n + 31) >> 5) * 4 + n * width > m.end - m.base:
        m.bad(BAD_SECTION, m.base)
    slot = 0
    if m.op == Op.MAP_ARRAY:
        if c >= 0:
            slot = load_i32_le(col(m.cols, c, C_DATA) + 4 * m.i)
            if load_i32_le(col(m.cols, c, C_DATA) + 4 * m.i + 4) - slot != n:
                m.bad(BAD_SECTION, m.base)
    elif c >= 0:
        slot = take_slots(m, child, n)
        end_list(m, c, slot + n)
    if n == 0:
        m.pc = t
    else:
        open_list(m, n)
        if c >= 0:
            m.level = child
            m.i = slot


def array_element(m: Machine, width: int, t: int) -> None:
    """To the element's slot, or on at ``t`` if it is null."""
    n = load_i32_le(m.src + m.base)
    k = n - at(m.frames, (m.depth - 1) * F_SIZE + F_LEFT)
    if (load_u8(m.src + m.base + 4 + (k >> 3)) >> (k & 7)) & 1:
        m.pc = t
    else:
        m.pos = m.base + 4 + ((n + 31) >> 5) * 4 + k * width


def map_keys(m: Machine) -> None:
    """The section of a map's keys: a length of four bytes, an array."""
    if m.end - m.base < 4:
        m.bad(BAD_SECTION, m.base)
    n = load_i32_le(m.src + m.base)
    if n < 0 or 4 + n > m.end - m.base:
        m.bad(BAD_SECTION, m.base)
    open_section(m, m.base + 4, m.base + 4 + n, m.base + 4 + n)


def map_values(m: Machine) -> None:
    """The section after the keys."""
    open_section(m, m.pos, m.end, m.end)
