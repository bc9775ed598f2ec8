"""Operations on lists and maps: a count and elements, each of which takes a slot of the level below."""

from __future__ import annotations

from stateextract.columnar.compiled.compile import at, load_i32, load_i64, load_u8, put, store_32, store_64
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.assemble import inlined
from stateextract.columnar.kernel.machine import (
    BAD_COUNT,
    BAD_PAIR,
    C_DATA,
    F_BODY,
    F_LEFT,
    F_LEVEL,
    F_MASK,
    F_SIZE,
    F_SLOT,
    F_TOTAL,
    L_CAP,
    L_COUNT,
    L_SIZE,
    MAX_EMPTY,
    Machine,
)
from stateextract.columnar.kernel.variable import varint


@inlined
def take_slots(m: Machine, child: int, n: int) -> int:
    """The first of ``n`` more slots of a level."""
    slot: int = at(m.levels, child * L_SIZE + L_COUNT)
    if slot + n > at(m.levels, child * L_SIZE + L_CAP):
        m.full_level(child, slot + n)
    put(m.levels, child * L_SIZE + L_COUNT, slot + n)
    return slot


@inlined
def believe(m: Machine, n: int, least: int, begin: int) -> None:
    """Stop at more elements without bytes than are believed; ``-least`` values each, if they are such."""
    if least < 0:
        m.empty -= n * least
        if m.empty > MAX_EMPTY:
            m.bad(BAD_COUNT, begin)


@inlined
def end_list(m: Machine, c: int, slot: int) -> None:
    """The list in the current slot ends before this slot of its elements."""
    store_32(col(m.cols, c, C_DATA) + 4 * m.i + 4, slot)


@inlined
def open_list(m: Machine, left: int) -> None:
    """Elements come next, whose code begins here."""
    put(m.frames, m.depth * F_SIZE + F_LEFT, left)
    put(m.frames, m.depth * F_SIZE + F_SLOT, m.i)
    put(m.frames, m.depth * F_SIZE + F_BODY, m.pc)
    put(m.frames, m.depth * F_SIZE + F_LEVEL, m.level)
    m.depth += 1


@inlined
def close_list(m: Machine) -> None:
    """Back to the slot and level of the list."""
    m.depth -= 1
    m.i = at(m.frames, m.depth * F_SIZE + F_SLOT)
    m.level = at(m.frames, m.depth * F_SIZE + F_LEVEL)


def list_of(m: Machine, c: int, child: int, least: int, t: int) -> None:
    """A count of four bytes. ``c``: the column, or -1 where nothing is kept; an element has at least ``least`` bytes, or,
    negative, makes so many values of none; after them the program goes on at ``t``."""
    m.require(4)
    n = load_i32(m.src + m.pos)
    if n < 0:
        m.bad(BAD_COUNT, m.pos)
    believe(m, n, least, m.pos)
    m.pos += 4
    m.require(n * least)
    slot = 0
    if c >= 0:
        slot = take_slots(m, child, n)
        end_list(m, c, slot + n)
    if n == 0:
        m.pc = t
    else:
        open_list(m, n)
        if c >= 0:
            m.level = child
            m.i = slot


def next_element(m: Machine) -> None:
    """The end of an element of ``LIST``, ``ARRAY``, ``MASKED_LIST``."""
    f = m.depth - 1
    m.i += 1
    left = at(m.frames, f * F_SIZE + F_LEFT) - 1
    if left > 0:
        put(m.frames, f * F_SIZE + F_LEFT, left)
        m.pc = at(m.frames, f * F_SIZE + F_BODY)
    else:
        close_list(m)


def masked_list(m: Machine, c: int, child: int, t: int) -> None:
    """A count of four bytes, and a bit for each element that is null."""
    m.require(4)
    n = load_i32(m.src + m.pos)
    if n < 0:
        m.bad(BAD_COUNT, m.pos)
    size = (n + 7) >> 3
    m.require(4 + size)
    slot = 0
    if c >= 0:
        slot = take_slots(m, child, n)
        end_list(m, c, slot + n)
    m.pos += 4
    if n == 0:
        m.pc = t
    else:
        put(m.frames, m.depth * F_SIZE + F_TOTAL, n)
        put(m.frames, m.depth * F_SIZE + F_MASK, m.pos)
        open_list(m, n)
        m.pos += size
        if c >= 0:
            m.level = child
            m.i = slot


def masked_element(m: Machine, t: int) -> None:
    """Go on at ``t`` if the element is null."""
    f = m.depth - 1
    k = at(m.frames, f * F_SIZE + F_TOTAL) - at(m.frames, f * F_SIZE + F_LEFT)
    byte = load_u8(m.src + at(m.frames, f * F_SIZE + F_MASK) + (k >> 3))
    if (byte >> (7 - (k & 7))) & 1:
        m.pc = t


def list_blocks(m: Machine, c: int, child: int, t: int) -> None:
    """A list of counted blocks; ``t``: its ``NEXT_BLOCK``."""
    open_list(m, 0)
    if c >= 0:
        m.level = child
        m.i = at(m.levels, child * L_SIZE + L_COUNT) - 1
    m.pc = t


def next_block(m: Machine, c: int, child: int, least: int) -> None:
    """The end of an element of blocks, or the beginning of their list: a varint counts the next block (0: the end)."""
    f = m.depth - 1
    left = at(m.frames, f * F_SIZE + F_LEFT) - 1
    if left > 0:
        put(m.frames, f * F_SIZE + F_LEFT, left)
        m.i += 1
        m.pc = at(m.frames, f * F_SIZE + F_BODY)
        return
    begin = m.pos
    n = varint(m, begin, BAD_COUNT)
    if n > 0x7FFFFFFF:
        m.bad(BAD_COUNT, begin)
    believe(m, n, least, begin)
    m.require(n * least)
    if n == 0:
        slot = m.i + 1
        close_list(m)
        if c >= 0:
            end_list(m, c, slot)
    else:
        if c >= 0:
            m.i = take_slots(m, child, n)
        put(m.frames, f * F_SIZE + F_LEFT, n)
        m.pc = at(m.frames, f * F_SIZE + F_BODY)


def list_rest(m: Machine, c: int, child: int, t: int) -> None:
    """Elements with a byte between them, up to the end of the value; after them the program goes on at ``t``."""
    slot = at(m.levels, child * L_SIZE + L_COUNT) if c >= 0 else 0
    if m.pos == m.end:
        if c >= 0:
            end_list(m, c, slot)
        m.pc = t
    else:
        if c >= 0 and slot >= at(m.levels, child * L_SIZE + L_CAP):
            m.full_level(child, slot + 1)
        open_list(m, c)
        if c >= 0:
            put(m.levels, child * L_SIZE + L_COUNT, slot + 1)
            m.level = child
            m.i = slot


def next_rest(m: Machine) -> None:
    """The end of an element of ``LIST_REST``."""
    f = m.depth - 1
    c = at(m.frames, f * F_SIZE + F_LEFT)
    if m.pos < m.end:
        m.pos += 1  # the ',' between elements; Flink does not look at it either
        if m.pos == m.end:
            m.bad(BAD_PAIR, m.pos)
        if c >= 0:
            m.i += 1
            if m.i >= at(m.levels, m.level * L_SIZE + L_CAP):
                m.full_level(m.level, m.i + 1)
            put(m.levels, m.level * L_SIZE + L_COUNT, m.i + 1)
        m.pc = at(m.frames, f * F_SIZE + F_BODY)
    else:
        slot = m.i + 1
        close_list(m)
        if c >= 0:
            end_list(m, c, slot)


@inlined
def numbers8(m: Machine, c: int, child: int, element: int, n: int, step: int) -> None:
    """A list of ``n`` numbers of eight bytes, every ``step`` bytes one, which go into the column ``element``."""
    slot = take_slots(m, child, n)
    target = col(m.cols, element, C_DATA) + 8 * slot
    for k in range(n):
        store_64(target + 8 * k, load_i64(m.src + m.pos + step * k))
    end_list(m, c, slot + n)


def list8(m: Machine, c: int, child: int, element: int) -> None:
    """As ``LIST``, of numbers of eight bytes, which go into the column ``element``."""
    m.require(4)
    n = load_i32(m.src + m.pos)
    if n < 0:
        m.bad(BAD_COUNT, m.pos)
    m.require(4 + 8 * n)
    m.pos += 4
    numbers8(m, c, child, element, n, 8)
    m.pos += 8 * n


def list8_rest(m: Machine, c: int, child: int, element: int) -> None:
    """As ``LIST_REST``, of numbers of eight bytes, which go into the column ``element``."""
    n = (m.end - m.pos + 1) // 9
    if m.end - m.pos != 0 and (m.end - m.pos) % 9 != 8:
        m.bad(BAD_PAIR, m.pos + 9 * ((m.end - m.pos) // 9))
    numbers8(m, c, child, element, n, 9)
    m.pos = m.end
