"""Operations on numbers of fixed width, and on columns that only have validity."""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    load_i16,
    load_i16_le,
    load_i32,
    load_i32_le,
    load_i64,
    load_i64_le,
    load_u8,
    store_8,
    store_16,
    store_32,
    store_64,
)
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.characters import fill
from stateextract.columnar.kernel.machine import C_DATA, C_SIZE, Machine


def fixed1(m: Machine, c: int) -> None:
    """A byte into column ``c``."""
    m.require(1)
    store_8(col(m.cols, c, C_DATA) + m.i, load_u8(m.src + m.pos))
    m.pos += 1


def fixed2(m: Machine, c: int) -> None:
    """Two bytes, big-endian."""
    m.require(2)
    store_16(col(m.cols, c, C_DATA) + 2 * m.i, load_i16(m.src + m.pos))
    m.pos += 2


def fixed4(m: Machine, c: int) -> None:
    """Four bytes, big-endian."""
    m.require(4)
    store_32(col(m.cols, c, C_DATA) + 4 * m.i, load_i32(m.src + m.pos))
    m.pos += 4


def fixed8(m: Machine, c: int) -> None:
    """Eight bytes, big-endian."""
    m.require(8)
    store_64(col(m.cols, c, C_DATA) + 8 * m.i, load_i64(m.src + m.pos))
    m.pos += 8


def nfixed1(m: Machine, c: int) -> None:
    """A flag byte (not 0: null), then a byte."""
    if m.end - m.pos < 2 and (m.pos >= m.end or load_u8(m.src + m.pos) == 0):
        m.need_input(m.pos + 1 if m.pos >= m.end else m.pos + 2)
    if load_u8(m.src + m.pos) == 0:
        store_8(col(m.cols, c, C_DATA) + m.i, load_u8(m.src + m.pos + 1))
        m.pos += 2
    else:
        fill(m.cols, m.levels, c, m.i)
        m.pos += 1


def nfixed2(m: Machine, c: int) -> None:
    """A flag byte, then two bytes."""
    if m.end - m.pos < 3 and (m.pos >= m.end or load_u8(m.src + m.pos) == 0):
        m.need_input(m.pos + 1 if m.pos >= m.end else m.pos + 3)
    if load_u8(m.src + m.pos) == 0:
        store_16(col(m.cols, c, C_DATA) + 2 * m.i, load_i16(m.src + m.pos + 1))
        m.pos += 3
    else:
        fill(m.cols, m.levels, c, m.i)
        m.pos += 1


def nfixed4(m: Machine, c: int) -> None:
    """A flag byte, then four bytes."""
    if m.end - m.pos < 5 and (m.pos >= m.end or load_u8(m.src + m.pos) == 0):
        m.need_input(m.pos + 1 if m.pos >= m.end else m.pos + 5)
    if load_u8(m.src + m.pos) == 0:
        store_32(col(m.cols, c, C_DATA) + 4 * m.i, load_i32(m.src + m.pos + 1))
        m.pos += 5
    else:
        fill(m.cols, m.levels, c, m.i)
        m.pos += 1


def nfixed8(m: Machine, c: int) -> None:
    """A flag byte, then eight bytes."""
    if m.end - m.pos < 9 and (m.pos >= m.end or load_u8(m.src + m.pos) == 0):
        m.need_input(m.pos + 1 if m.pos >= m.end else m.pos + 9)
    if load_u8(m.src + m.pos) == 0:
        store_64(col(m.cols, c, C_DATA) + 8 * m.i, load_i64(m.src + m.pos + 1))
        m.pos += 9
    else:
        fill(m.cols, m.levels, c, m.i)
        m.pos += 1


def fixed(m: Machine, c: int, width: int, little: int, flip: int) -> None:
    """The rarer numbers: of ``width`` bytes, little-endian or not, with the sign bit flipped or not."""
    m.require(width)
    if width == 8:
        number = load_i64_le(m.src + m.pos) if little != 0 else load_i64(m.src + m.pos)
        if flip != 0:
            number ^= -9223372036854775808
        store_64(col(m.cols, c, C_DATA) + 8 * m.i, number)
    elif width == 4:
        number = load_i32_le(m.src + m.pos) if little != 0 else load_i32(m.src + m.pos)
        if flip != 0:
            number ^= 0x80000000
        store_32(col(m.cols, c, C_DATA) + 4 * m.i, number)
    elif width == 2:
        number = load_i16_le(m.src + m.pos) if little != 0 else load_i16(m.src + m.pos)
        if flip != 0:
            number ^= 0x8000
        store_16(col(m.cols, c, C_DATA) + 2 * m.i, number)
    else:
        number = load_u8(m.src + m.pos)
        if flip != 0:
            number ^= 0x80
        store_8(col(m.cols, c, C_DATA) + m.i, number)
    m.pos += width


def null(m: Machine, c: int, n: int) -> None:
    """A null, and ``n`` bytes that mean nothing."""
    m.require(n)
    m.pos += n
    fill(m.cols, m.levels, c, m.i)


def fill_columns(m: Machine, n: int) -> None:
    """A null or empty slot in each of the ``n`` columns that follow."""
    for k in range(n):
        fill(m.cols, m.levels, at(m.code, m.pc + k), m.i)
    m.pc += n


def present(m: Machine, c: int) -> None:
    """True, of no bytes."""
    store_8(at(m.cols, c * C_SIZE + C_DATA) + m.i, 1)


def position(m: Machine, c: int) -> None:
    """The position in the window."""
    store_64(col(m.cols, c, C_DATA) + 8 * m.i, m.pos)
