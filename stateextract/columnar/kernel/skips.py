"""Operations without output: bytes that no column takes."""

from __future__ import annotations

from stateextract.columnar.compiled.compile import load_i32, load_i64_le, load_u8, load_u16
from stateextract.columnar.kernel.machine import BAD_CONSTANT, BAD_COUNT, BAD_TEXT, HIGH_BITS, Machine
from stateextract.columnar.kernel.variable import varint


def skip(m: Machine, n: int) -> None:
    """``n`` bytes."""
    m.require(n)
    m.pos += n


def nskip(m: Machine, n: int) -> None:
    """A flag byte (not 0: null, and nothing follows), then ``n`` bytes."""
    if m.end - m.pos <= n and (m.pos >= m.end or load_u8(m.src + m.pos) == 0):
        m.need_input(m.pos + 1 if m.pos >= m.end else m.pos + 1 + n)
    m.pos += 1 + n if load_u8(m.src + m.pos) == 0 else 1


def expect(m: Machine, n: int, constant: int) -> None:
    """``n`` bytes that have to be those at ``constant``."""
    m.require(n)
    for k in range(n):
        if load_u8(m.src + m.pos + k) != load_u8(m.constants + constant + k):
            m.bad(BAD_CONSTANT, m.pos + k)
    m.pos += n


def skip_bytes(m: Machine) -> None:
    """As ``BYTES``."""
    m.require(4)
    n = load_i32(m.src + m.pos)
    if n < 0:
        m.bad(BAD_COUNT, m.pos)
    m.require(4 + n)
    m.pos += 4 + n


def skip_utf(m: Machine) -> None:
    """As ``UTF``."""
    m.require(2)
    n = load_u16(m.src + m.pos)
    m.require(2 + n)
    m.pos += 2 + n


def skip_big(m: Machine, scaled: int) -> None:
    """As ``BIG_INTEGER``."""
    m.require(4)
    n = load_i32(m.src + m.pos)
    if n < 0 or n == 4:
        m.bad(BAD_COUNT, m.pos)
    scale = 4 if scaled != 0 and n != 0 else 0
    n = (0 if n < 4 else n - 4) + scale
    m.require(4 + n)
    m.pos += 4 + n


def skip_text(m: Machine, bias: int) -> None:
    """As ``TEXT`` (bias 1) or ``TEXT_VALUE`` (0)."""
    begin = m.pos
    n = varint(m, begin, BAD_TEXT)
    n -= bias
    if n > 0x7FFFFFFF:
        m.bad(BAD_COUNT, begin)
    m.require(n)
    k = 0
    while n - k >= 8 and load_i64_le(m.src + m.pos) & HIGH_BITS == 0:
        m.pos += 8
        k += 8
    if 0 < n - k < 8 and load_i64_le(m.src + m.pos) & HIGH_BITS & ((1 << (8 * (n - k))) - 1) == 0:
        m.pos += n - k
        k = n
    while k < n:
        size = 1
        while True:
            m.require(1)
            byte = load_u8(m.src + m.pos)
            m.pos += 1
            if byte < 0x80:
                if size == 3 and byte > 3:
                    m.bad(BAD_TEXT, m.pos - 1)
                break
            if size == 3:
                m.bad(BAD_TEXT, m.pos - 1)
            size += 1
        k += 1
