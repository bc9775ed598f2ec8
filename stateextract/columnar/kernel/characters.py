"""Functions that operations call: null slots, copies, and the three ways in which Java writes characters.

They are compiled functions of their own, since many operations use them, or few values need them.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    compile_kernel,
    load_i64_le,
    load_u8,
    put,
    store_8,
    store_16,
    store_32,
    store_64,
)
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.machine import (
    ARGUMENT,
    BAD_TEXT,
    C_CHILD,
    C_DATA,
    C_KIND,
    C_SIZE,
    C_VALID,
    C_VAR,
    C_VAR_CAP,
    C_VAR_N,
    DONE,
    FULL,
    HIGH_BITS,
    K_LIST,
    K_VAR,
    L_COUNT,
    L_SIZE,
    MALFORMED,
    NEED_INPUT,
    NEEDED,
    POSITION,
    SLOW,
    SURROGATES,
)


def _fill(cols: int, levels: int, c: int, i: int) -> None:
    """A null slot."""
    kind = col(cols, c, C_KIND)
    data = col(cols, c, C_DATA)
    if col(cols, c, C_VALID) != 0:
        store_8(col(cols, c, C_VALID) + i, 0)
    if kind == K_VAR:
        store_32(data + 4 * i + 4, col(cols, c, C_VAR_N))
    elif kind == K_LIST:
        store_32(data + 4 * i + 4, at(levels, col(cols, c, C_CHILD) * L_SIZE + L_COUNT))
    elif kind == 8:
        store_64(data + 8 * i, 0)
    elif kind == 4:
        store_32(data + 4 * i, 0)
    elif kind == 2:
        store_16(data + 2 * i, 0)
    elif kind == 1:
        store_8(data + i, 0)


def _copy(source: int, target: int, n: int) -> None:
    """Copy ``n`` bytes, eight at a time; reads and writes up to seven beyond."""
    k = 0
    while k < n:
        store_64(target + k, load_i64_le(source + k))
        k += 8


def _put_code_point(target: int, code: int) -> int:
    """Write a code point (a lone surrogate like any other) as UTF-8 and return the position behind it."""
    if code < 0x80:
        store_8(target, code)
        return target + 1
    if code < 0x800:
        store_8(target, 0xC0 | (code >> 6))
        store_8(target + 1, 0x80 | (code & 0x3F))
        return target + 2
    if code < 0x10000:
        store_8(target, 0xE0 | (code >> 12))
        store_8(target + 1, 0x80 | ((code >> 6) & 0x3F))
        store_8(target + 2, 0x80 | (code & 0x3F))
        return target + 3
    store_8(target, 0xF0 | (code >> 18))
    store_8(target + 1, 0x80 | ((code >> 12) & 0x3F))
    store_8(target + 2, 0x80 | ((code >> 6) & 0x3F))
    store_8(target + 3, 0x80 | (code & 0x3F))
    return target + 4


fill = compile_kernel(_fill)
copy = compile_kernel(_copy)
put_code_point = compile_kernel(_put_code_point)


def _varint_units(src: int, pos: int, end: int, n: int, target: int, binary: int, out: int) -> tuple[int, int]:
    """Decode ``n`` UTF-16 units, a varint each, to UTF-8 at ``target`` (three bytes of room per unit).

    Returns (position behind the input or -1 - status, position behind the output).
    """
    high = -1  # a high surrogate that waits for its low one
    for _ in range(n):
        if pos >= end:
            put(out, NEEDED, pos + 1)
            return -1 - NEED_INPUT, 0
        unit = load_u8(src + pos)
        pos += 1
        if unit >= 0x80:
            if pos >= end:
                put(out, NEEDED, pos + 1)
                return -1 - NEED_INPUT, 0
            more = load_u8(src + pos)
            pos += 1
            unit = (unit & 0x7F) | ((more & 0x7F) << 7)
            if more >= 0x80:
                if pos >= end:
                    put(out, NEEDED, pos + 1)
                    return -1 - NEED_INPUT, 0
                last = load_u8(src + pos)
                pos += 1
                if last > 3:  # beyond 16 bits
                    put(out, POSITION, pos - 1)
                    return -1 - BAD_TEXT, 0
                unit |= last << 14
        if high >= 0:
            if 0xDC00 <= unit < 0xE000:
                target = put_code_point(target, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00))
                high = -1
                continue
            target = put_code_point(target, high if binary else 0xFFFD)
            put(out, SURROGATES, at(out, SURROGATES) + (1 - binary))
            high = -1
        if 0xD800 <= unit < 0xDC00:
            high = unit
        elif 0xDC00 <= unit < 0xE000:
            target = put_code_point(target, unit if binary else 0xFFFD)
            put(out, SURROGATES, at(out, SURROGATES) + (1 - binary))
        else:
            target = put_code_point(target, unit)
    if high >= 0:
        target = put_code_point(target, high if binary else 0xFFFD)
        put(out, SURROGATES, at(out, SURROGATES) + (1 - binary))
    return pos, target


varint_units = compile_kernel(_varint_units)


def _modified_utf8(src: int, pos: int, stop: int, target: int, binary: int, out: int) -> int:
    """Decode modified UTF-8 between ``pos`` and ``stop`` to UTF-8; position behind the output, or -1 if it is none."""
    high = -1
    while pos < stop:
        first = load_u8(src + pos)
        if first < 0x80:
            unit = first
            size = 1
        elif first & 0xE0 == 0xC0:
            size = 2
            if pos + 2 > stop or load_u8(src + pos + 1) & 0xC0 != 0x80:
                put(out, POSITION, pos)
                return -1
            unit = ((first & 0x1F) << 6) | (load_u8(src + pos + 1) & 0x3F)
        elif first & 0xF0 == 0xE0:
            size = 3
            if pos + 3 > stop or load_u8(src + pos + 1) & 0xC0 != 0x80 or load_u8(src + pos + 2) & 0xC0 != 0x80:
                put(out, POSITION, pos)
                return -1
            unit = ((first & 0x0F) << 12) | ((load_u8(src + pos + 1) & 0x3F) << 6) | (load_u8(src + pos + 2) & 0x3F)
        else:
            put(out, POSITION, pos)
            return -1
        pos += size
        if high >= 0:
            if 0xDC00 <= unit < 0xE000:
                target = put_code_point(target, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00))
                high = -1
                continue
            target = put_code_point(target, high if binary else 0xFFFD)
            put(out, SURROGATES, at(out, SURROGATES) + (1 - binary))
            high = -1
        if 0xD800 <= unit < 0xDC00:
            high = unit
        elif 0xDC00 <= unit < 0xE000:
            target = put_code_point(target, unit if binary else 0xFFFD)
            put(out, SURROGATES, at(out, SURROGATES) + (1 - binary))
        else:
            target = put_code_point(target, unit)
    if high >= 0:
        target = put_code_point(target, high if binary else 0xFFFD)
        put(out, SURROGATES, at(out, SURROGATES) + (1 - binary))
    return target


modified_utf8 = compile_kernel(_modified_utf8)


def _kryo_units(src: int, pos: int, end: int, n: int, target: int, binary: int, out: int) -> tuple[int, int]:
    """Decode ``n`` UTF-16 units of one to three bytes as Kryo writes them; ``target`` 0: only pass over them.

    As ``varint_units``; continuation bytes are taken as they are, as Kryo and its decoder in Python do.
    """
    high = -1
    keep = target != 0
    replaced = 0
    for _ in range(n):
        if pos >= end:
            put(out, NEEDED, pos + 1)
            return -1 - NEED_INPUT, 0
        unit = load_u8(src + pos)
        size = 1
        if unit >= 0x80:
            size = 2 if unit >> 5 == 6 else 3
            if size == 3 and unit >> 4 != 14:
                return -1 - SLOW, 0
            if pos + size > end:
                put(out, NEEDED, pos + size)
                return -1 - NEED_INPUT, 0
            if size == 2:
                unit = ((unit & 0x1F) << 6) | (load_u8(src + pos + 1) & 0x3F)
            else:
                unit = ((unit & 0x0F) << 12) | ((load_u8(src + pos + 1) & 0x3F) << 6) | (load_u8(src + pos + 2) & 0x3F)
        pos += size
        if not keep:
            continue
        if high >= 0:
            if 0xDC00 <= unit < 0xE000:
                target = put_code_point(target, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00))
                high = -1
                continue
            target = put_code_point(target, high if binary else 0xFFFD)
            replaced += 1
            high = -1
        if 0xD800 <= unit < 0xDC00:
            high = unit
        elif 0xDC00 <= unit < 0xE000:
            target = put_code_point(target, unit if binary else 0xFFFD)
            replaced += 1
        else:
            target = put_code_point(target, unit)
    if high >= 0:
        target = put_code_point(target, high if binary else 0xFFFD)
        replaced += 1
    if not binary:
        put(out, SURROGATES, at(out, SURROGATES) + replaced)
    return pos, target


kryo_units = compile_kernel(_kryo_units)


def _hex8(bits: int) -> int:
    """The eight hexadecimal digits of 32 bits, highest first, as little-endian bytes."""
    spread = ((bits & 0xFFFF) << 32) | (bits >> 16)
    spread = ((spread & 0xFF000000FF) << 16) | ((spread >> 8) & 0xFF000000FF)
    spread = ((spread & 0xF000F000F000F) << 8) | ((spread >> 4) & 0xF000F000F000F)
    letters = ((spread + 0x0606060606060606) >> 4) & 0x0101010101010101
    return spread + 0x3030303030303030 + letters * 39


hex8 = compile_kernel(_hex8)


def _put_uuid(high: int, low: int, target: int) -> None:
    """The text of a UUID, 36 bytes."""
    store_64(target, hex8((high >> 32) & 0xFFFFFFFF))
    store_8(target + 8, 0x2D)
    eight = hex8(high & 0xFFFFFFFF)
    store_32(target + 9, eight)
    store_8(target + 13, 0x2D)
    store_32(target + 14, eight >> 32)
    store_8(target + 18, 0x2D)
    eight = hex8((low >> 32) & 0xFFFFFFFF)
    store_32(target + 19, eight)
    store_8(target + 23, 0x2D)
    store_32(target + 24, eight >> 32)
    store_64(target + 28, hex8(low & 0xFFFFFFFF))


put_uuid = compile_kernel(_put_uuid)


def _utf8(src: int, pos: int, stop: int, target: int, out: int) -> int:
    """Copy UTF-8 between ``pos`` and ``stop``; position behind the output (three bytes of room per byte).

    U+FFFD takes the place of every longest sequence that begins like a character and is none: what Python and Unicode
    recommend.
    """
    while pos < stop:
        first = load_u8(src + pos)
        size = 1
        wrong = False
        if first >= 0x80:
            low = 0x80
            high = 0xBF
            more = 0
            if 0xC2 <= first < 0xE0:
                more = 1
            elif 0xE0 <= first < 0xF0:
                more = 2
                if first == 0xE0:
                    low = 0xA0
                elif first == 0xED:
                    high = 0x9F
            elif 0xF0 <= first < 0xF5:
                more = 3
                if first == 0xF0:
                    low = 0x90
                elif first == 0xF4:
                    high = 0x8F
            wrong = more == 0
            for _ in range(more):
                byte = load_u8(src + pos + size) if pos + size < stop else 0
                if byte < low or byte > high:
                    wrong = True
                    break
                size += 1
                low = 0x80
                high = 0xBF
        if wrong:
            target = put_code_point(target, 0xFFFD)
            put(out, MALFORMED, at(out, MALFORMED) + 1)
        else:
            for k in range(size):
                store_8(target + k, load_u8(src + pos + k))
            target += size
        pos += size
    return target


utf8 = compile_kernel(_utf8)


def _put_utf8(src: int, pos: int, n: int, cols: int, c: int, i: int, out: int) -> int:
    """Put ``n`` bytes of UTF-8 into a column; returns whether it was full."""
    var_n = col(cols, c, C_VAR_N)
    cap = col(cols, c, C_VAR_CAP)
    if var_n + n > cap:
        put(out, ARGUMENT, c)
        return FULL
    target = col(cols, c, C_VAR) + var_n
    k = 0
    while k < n:
        eight = load_i64_le(src + pos + k)
        if n - k < 8:
            eight &= (1 << (8 * (n - k))) - 1
        if eight & HIGH_BITS != 0:
            break
        store_64(target + k, eight)
        k += 8
    if k >= n:
        var_n += n
    else:
        if var_n + k + 3 * (n - k) > cap:
            put(out, ARGUMENT, c)
            return FULL
        var_n += utf8(src, pos + k, pos + n, target + k, out) - target
    put(cols, c * C_SIZE + C_VAR_N, var_n)
    store_32(col(cols, c, C_DATA) + 4 * i + 4, var_n)
    return DONE


put_utf8 = compile_kernel(_put_utf8)
