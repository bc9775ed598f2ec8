"""Operations that choose where the program goes on."""

from __future__ import annotations

from stateextract.columnar.compiled.compile import at, load_u8, load_u16, put, store_8, store_16
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.machine import (
    BAD_POJO,
    BAD_SUBCLASS,
    BAD_TAG,
    C_DATA,
    UNDECODABLE,
    Machine,
)


def end(m: Machine) -> None:
    """The entry is complete."""
    m.end_entry()


def jump(m: Machine, t: int) -> None:
    """Go on at ``t``."""
    m.pc = t


def fail(m: Machine, index: int) -> None:
    """What follows cannot be decoded: the reason is ``Program.undecodable[index]``."""
    m.stop(UNDECODABLE, argument=index, position=m.pos)


def nullable(m: Machine, null_if: int, padding: int, t: int) -> None:
    """A flag byte. If its being set is ``null_if``: ``padding`` bytes follow, go on at ``t``."""
    m.require(1)
    if (load_u8(m.src + m.pos) != 0) == (null_if != 0):
        m.require(1 + padding)
        m.pos += 1 + padding
        m.pc = t
    else:
        m.pos += 1


def mask(m: Machine, bits: int, c: int) -> None:
    """The mask of a ``Row``, whose first two bits are the kind of the row, for column ``c`` or -1."""
    n = (bits + 7) >> 3
    m.require(n)
    put(m.masks, m.mask_depth, m.pos)
    m.mask_depth += 1
    if c >= 0:
        byte = load_u8(m.src + m.pos)
        store_8(col(m.cols, c, C_DATA) + m.i, (byte >> 7) | ((byte >> 5) & 2))
    m.pos += n


def mask_bit(m: Machine, bit: int, t: int) -> None:
    """Go on at ``t`` if the bit of the mask is set."""
    byte = load_u8(m.src + at(m.masks, m.mask_depth - 1) + (bit >> 3))
    if (byte >> (7 - (bit & 7))) & 1:
        m.pc = t


def mask_end(m: Machine) -> None:
    """The row is complete."""
    m.mask_depth -= 1


def switch(m: Machine, n: int, others: int) -> None:
    """A tag byte, and ``n`` pairs of tag and where to go on; ``others``: where other tags go on, or -1."""
    m.require(1)
    tag = load_u8(m.src + m.pos)
    target = others
    for k in range(n):
        if at(m.code, m.pc + 2 * k) == tag:
            target = at(m.code, m.pc + 2 * k + 1)
            break
    if target < 0:
        m.bad(BAD_TAG, m.pos)
    m.pos += 1
    m.pc = target


def pojo(m: Machine, label: int, t_null: int, t_declared: int, n: int) -> None:
    """The flags of ``PojoSerializer``: null, the declared class, or one of ``n`` subclasses by name or by tag.

    For each subclass: tag or -1, its name in the constants and the name's length, where to go on. The column ``label``
    (or -1) takes its number, counted from 1.
    """
    m.require(1)
    flags = load_u8(m.src + m.pos)
    begin = m.pos
    m.pos += 1
    if flags & 1:
        m.pc = t_null
    elif flags & 4:
        m.require(2)
        size = load_u16(m.src + m.pos)
        m.require(2 + size)
        found = -1
        for s in range(n):
            if at(m.code, m.pc + 4 * s + 2) == size:
                differ = 0
                name = m.constants + at(m.code, m.pc + 4 * s + 1)
                for k in range(size):
                    if load_u8(name + k) != load_u8(m.src + m.pos + 2 + k):
                        differ = 1
                        break
                if differ == 0:
                    found = s
                    break
        if found < 0:
            m.bad(BAD_SUBCLASS, begin)
        m.pos += 2 + size
        if label >= 0:
            store_16(col(m.cols, label, C_DATA) + 2 * m.i, found + 1)
        m.pc = at(m.code, m.pc + 4 * found + 3)
    elif flags & 8:
        m.require(1)
        tag = load_u8(m.src + m.pos)
        found = -1
        for s in range(n):
            if at(m.code, m.pc + 4 * s) == tag:
                found = s
                break
        if found < 0:
            m.bad(BAD_SUBCLASS, begin)
        m.pos += 1
        if label >= 0:
            store_16(col(m.cols, label, C_DATA) + 2 * m.i, found + 1)
        m.pc = at(m.code, m.pc + 4 * found + 3)
    elif flags & 2:
        if label >= 0:
            store_16(col(m.cols, label, C_DATA) + 2 * m.i, 0)
        m.pc = t_declared
    else:
        m.bad(BAD_POJO, begin)
