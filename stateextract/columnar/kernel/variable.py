"""Operations on values of variable length: texts, bytes, big numbers."""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    load_i32,
    load_i64_le,
    load_u8,
    load_u16,
    put,
    store_8,
    store_32,
    store_64,
)
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.assemble import inlined
from stateextract.columnar.kernel.characters import copy, modified_utf8, put_code_point, varint_units
from stateextract.columnar.kernel.machine import (
    BAD_COUNT,
    BAD_TEXT,
    C_DATA,
    C_SIZE,
    C_VALID,
    C_VAR,
    C_VAR_CAP,
    C_VAR_N,
    HIGH_BITS,
    SURROGATES,
    Machine,
)
from stateextract.columnar.program.operations import Op


@inlined
def varint(m: Machine, begin: int, wrong: int) -> int:
    """An unsigned number of at most five bytes, seven bits each; ``wrong``: the status if it has more."""
    n: int = 0
    shift = 0
    while True:
        m.require(1)
        byte = load_u8(m.src + m.pos)
        n |= (byte & 0x7F) << shift
        m.pos += 1
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            m.bad(wrong, begin)
    return n


@inlined
def end_variable(m: Machine, c: int, var_n: int) -> None:
    """The value ends after ``var_n`` bytes of the column's data."""
    put(m.cols, c * C_SIZE + C_VAR_N, var_n)
    store_32(col(m.cols, c, C_DATA) + 4 * m.i + 4, var_n)


@inlined
def null_variable(m: Machine, c: int, var_n: int) -> None:
    """A null in a nullable column."""
    store_8(col(m.cols, c, C_VALID) + m.i, 0)
    store_32(col(m.cols, c, C_DATA) + 4 * m.i + 4, var_n)


@inlined
def put_bytes(m: Machine, c: int, begin: int, n: int) -> None:
    """``n`` bytes of the window from ``begin`` on, all of which are there."""
    var_n = col(m.cols, c, C_VAR_N)
    if var_n + n > col(m.cols, c, C_VAR_CAP):
        m.full(c)
    copy(m.src + begin, col(m.cols, c, C_VAR) + var_n, n)
    end_variable(m, c, var_n + n)


def text(m: Machine, c: int, binary: int) -> None:
    """Flink's ``StringValue``: a varint of UTF-16 units + 1 (0: null), then a varint for each unit.

    ``NTEXT`` has a flag byte (not 0: null) before it. ``TEXT_VALUE`` counts the units as they are.
    """
    begin = m.pos
    if m.op == Op.NTEXT:
        m.require(1)
        if load_u8(m.src + m.pos) != 0:
            m.pos += 1
            null_variable(m, c, col(m.cols, c, C_VAR_N))
            return
        m.pos += 1
    n = varint(m, begin, BAD_TEXT)
    var_n = col(m.cols, c, C_VAR_N)
    if m.op != Op.TEXT_VALUE:
        if n == 0:
            null_variable(m, c, var_n)
            return
        n -= 1
    if n > 0x7FFFFFFF:
        m.bad(BAD_COUNT, begin)
    m.require(n)
    if var_n + n > col(m.cols, c, C_VAR_CAP):
        m.full(c)
    target = col(m.cols, c, C_VAR) + var_n
    k = 0
    while k < n:
        eight = load_i64_le(m.src + m.pos + k)
        if n - k < 8:
            eight &= (1 << (8 * (n - k))) - 1
        if eight & HIGH_BITS != 0:
            break
        store_64(target + k, eight)
        k += 8
    if k >= n:
        m.pos += n
        var_n += n
    else:
        if var_n + k + 3 * (n - k) > col(m.cols, c, C_VAR_CAP):
            m.full(c)
        behind, target_end = varint_units(m.src, m.pos + k, m.end, n - k, target + k, binary, m.out)
        if behind < 0:
            m.stop(-1 - behind)
        m.pos = behind
        var_n += target_end - target
    end_variable(m, c, var_n)


def char(m: Machine, c: int, binary: int) -> None:
    """One UTF-16 unit of two bytes."""
    m.require(2)
    var_n = col(m.cols, c, C_VAR_N)
    if var_n + 3 > col(m.cols, c, C_VAR_CAP):
        m.full(c)
    unit = load_u16(m.src + m.pos)
    m.pos += 2
    if binary == 0 and 0xD800 <= unit < 0xE000:
        put(m.out, SURROGATES, at(m.out, SURROGATES) + 1)
        unit = 0xFFFD
    target = col(m.cols, c, C_VAR) + var_n
    var_n += put_code_point(target, unit) - target
    end_variable(m, c, var_n)


def length_bytes(m: Machine, c: int) -> None:
    """A length of four bytes, and as many bytes."""
    m.require(4)
    n = load_i32(m.src + m.pos)
    if n < 0:
        m.bad(BAD_COUNT, m.pos)
    m.require(4 + n)
    put_bytes(m, c, m.pos + 4, n)
    m.pos += 4 + n


def fixed_bytes(m: Machine, c: int, n: int) -> None:
    """``n`` bytes."""
    m.require(n)
    put_bytes(m, c, m.pos, n)
    m.pos += n


def utf(m: Machine, c: int, binary: int) -> None:
    """``DataOutput.writeUTF``: a length of two bytes, modified UTF-8."""
    m.require(2)
    n = load_u16(m.src + m.pos)
    m.require(2 + n)
    var_n = col(m.cols, c, C_VAR_N)
    # Modified UTF-8 never grows: U+FFFD is as long as the surrogate that it replaces.
    if var_n + n + 1 > col(m.cols, c, C_VAR_CAP):
        m.full(c)
    m.pos += 2
    target = col(m.cols, c, C_VAR) + var_n
    behind = modified_utf8(m.src, m.pos, m.pos + n, target, binary, m.out)
    if behind < 0:
        m.stop(BAD_TEXT)
    m.pos += n
    end_variable(m, c, var_n + behind - target)


def big_integer(m: Machine, c: int, scaled: int) -> None:
    """Flink's ``BigIntSerializer``: a length + 4 (0: null; 1, 2, 3: the numbers 0, 1, 10), bytes; ``scaled``: the scale
    of a ``BigDecimal`` follows, four bytes."""
    m.require(4)
    n = load_i32(m.src + m.pos)
    if n < 0 or n == 4:
        m.bad(BAD_COUNT, m.pos)
    var_n = col(m.cols, c, C_VAR_N)
    if n == 0:
        m.pos += 4
        null_variable(m, c, var_n)
        return
    short = -1
    if n < 4:
        short = 10 if n == 3 else n - 1
        n = 0
    else:
        n -= 4
    tail = 4 if scaled != 0 else 0
    m.require(4 + n + tail)
    if var_n + n + tail + 1 > col(m.cols, c, C_VAR_CAP):
        m.full(c)
    m.pos += 4
    target = col(m.cols, c, C_VAR) + var_n
    if short >= 0:
        store_8(target, short)
        target += 1
        var_n += 1
    copy(m.src + m.pos, target, n + tail)
    m.pos += n + tail
    end_variable(m, c, var_n + n + tail)
