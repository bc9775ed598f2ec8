"""The compiled decoder: one interpreter of programs, one fixed signature, compiled once by Numba and cached.

``run`` decodes whole entries from a window of bytes into columns that lie in one arena of fixed capacity, and stops
after the last whole entry when the input ends, when a column is full, when the wanted number of entries is reached, or
at an error. There is no growing and no second pass. Whatever stopped it, the columns' counts are then those of the
whole entries; ``decoder.py`` hands over the batch, refills the window or grows the arena, and calls again.

Rules that keep corrupt input harmless: every read is checked against the window's end before it happens, every write
against the column's capacity; a list's count is checked against the bytes that its elements need at least; the caller
gives 16 readable bytes behind the window and as many writable ones behind each data buffer (eight-byte loads and stores
overrun by at most seven).

At its first call on a machine it is compiled, which takes half a minute; afterwards its machine code is loaded
(``native.py``). Must not know of layouts, Arrow, files, Flink.
"""

from __future__ import annotations

from stateextract.columnar.compile import (
    at,
    compile_kernel,
    load_i16,
    load_i16_le,
    load_i32,
    load_i32_le,
    load_i64,
    load_i64_le,
    load_u8,
    load_u16,
    put,
    store_8,
    store_16,
    store_32,
    store_64,
)
from stateextract.columnar.compile import (
    at_row as col,
)
from stateextract.columnar.operations import Op

# Why `run` stopped.
DONE = 0  #           as many entries as wanted
NEED_INPUT = 1  #     the window ends inside an entry; out[NEEDED] says up to where bytes are needed at least
FULL = 2  #           out[ARGUMENT] is the column that is full, or -1 - level for a level without free slots
BAD_COUNT = 3  #      a negative length or count, or a count of zero-width elements beyond reason
BAD_TEXT = 4  #       a varint or UTF-8 sequence that Java does not write
BAD_CONSTANT = 5  #   bytes that had to be others
BAD_TAG = 6  #        a tag byte that no case has
BAD_POJO = 7  #       POJO flags without meaning
BAD_SUBCLASS = 8  #   a subclass that the snapshot does not have
UNDECODABLE = 9  #    out[ARGUMENT]: index into Program.undecodable
LAST = 10  #          the pair that was decoded last says that no other of its state follows
BAD_PAIR = 11  #      a key or value that does not end where its length says
BAD_GROUP = 12  #     a key of another key group; out[ARGUMENT] says of which
KEY_FULL = 13  #      out[NEEDED] bytes are needed at out[KEY]
BAD_SECTION = 14  #   a part of a section that reaches beyond it

# Slots of `out`.
ROWS, CONSUMED, ARGUMENT, POSITION, NEEDED, SURROGATES = 0, 1, 2, 3, 4, 5
# Its slots for pairs: how many were decoded; the key group they must be of (-1: any); the bytes that tell the row at hand
# from the next (address, length or -1, room); whether the first row goes on with the last one of the batch before.
PAIRS, GROUP, KEY, KEY_SIZE, KEY_CAP, CONTINUED = 6, 7, 8, 9, 10, 11
# Sequences that are no UTF-8, beside lone surrogates.
MALFORMED, OUT_SIZE = 12, 13
# Columns of `cols`, one row per column.
C_KIND, C_DATA, C_VALID, C_VAR, C_VAR_N, C_VAR_CAP, C_LEVEL, C_CHILD, C_SIZE = 0, 1, 2, 3, 4, 5, 6, 7, 8
# What C_KIND says: the width of a fixed column, or one of these.
K_VAR, K_LIST, K_VALID = 16, 17, 18
# Columns of `levels`.
L_COUNT, L_CAP, L_SIZE = 0, 1, 2
# Columns of `frames`, one row per open list: elements left, slot and level of the list, where an element's code begins,
# all elements, where their null bits begin.
F_LEFT, F_SLOT, F_BODY, F_LEVEL, F_TOTAL, F_MASK, F_SIZE = 0, 1, 2, 3, 4, 5, 6
# The same rows for open sections: the bounds around, and the position behind.
F_BASE, F_END, F_AFTER = 0, 1, 2

MAX_ZERO_WIDTH = 1 << 24
SLACK = 16


HIGH_BITS = -9187201950435737472  # 0x8080808080808080

_END = int(Op.END)
_FIXED1, _FIXED2, _FIXED4, _FIXED8 = int(Op.FIXED1), int(Op.FIXED2), int(Op.FIXED4), int(Op.FIXED8)
_NFIXED1, _NFIXED2, _NFIXED4, _NFIXED8 = int(Op.NFIXED1), int(Op.NFIXED2), int(Op.NFIXED4), int(Op.NFIXED8)
_TEXT, _NTEXT, _TEXT_VALUE, _UTF, _CHAR = int(Op.TEXT), int(Op.NTEXT), int(Op.TEXT_VALUE), int(Op.UTF), int(Op.CHAR)
_BYTES, _BYTES_N, _BIG_INTEGER = int(Op.BYTES), int(Op.BYTES_N), int(Op.BIG_INTEGER)
_SKIP, _EXPECT, _SKIP_TEXT, _SKIP_UTF = int(Op.SKIP), int(Op.EXPECT), int(Op.SKIP_TEXT), int(Op.SKIP_UTF)
_NSKIP = int(Op.NSKIP)
_SKIP_BYTES, _SKIP_BIG, _NULL, _PRESENT = int(Op.SKIP_BYTES), int(Op.SKIP_BIG), int(Op.NULL), int(Op.PRESENT)
_NULLABLE, _JUMP, _FILL, _LIST, _NEXT = int(Op.NULLABLE), int(Op.JUMP), int(Op.FILL), int(Op.LIST), int(Op.NEXT)
_MASK, _MASK_BIT, _MASK_END = int(Op.MASK), int(Op.MASK_BIT), int(Op.MASK_END)
_SWITCH, _POJO, _FAIL, _FIXED = int(Op.SWITCH), int(Op.POJO), int(Op.FAIL), int(Op.FIXED)
_PAIR, _PART, _LENGTH, _MARK, _MARKED = int(Op.PAIR), int(Op.PART), int(Op.LENGTH), int(Op.MARK), int(Op.MARKED)
_VALUE, _REST, _BYTES_REST = int(Op.VALUE), int(Op.REST), int(Op.BYTES_REST)
_LIST_REST, _NEXT_REST, _END_PAIR, _GROUP = int(Op.LIST_REST), int(Op.NEXT_REST), int(Op.END_PAIR), int(Op.GROUP)
_LIST_BLOCKS, _NEXT_BLOCK, _PLACE, _FLAG = int(Op.LIST_BLOCKS), int(Op.NEXT_BLOCK), int(Op.PLACE), int(Op.FLAG)
_VALUE8, _ENTRY8, _LIST8_REST = int(Op.VALUE8), int(Op.ENTRY8), int(Op.LIST8_REST)

_SECTION, _REGION, _LEAVE, _ROW, _SLOT = int(Op.SECTION), int(Op.REGION), int(Op.LEAVE), int(Op.ROW), int(Op.SLOT)
_SLOT8, _SLOT4, _SLOT2, _SLOT1 = int(Op.SLOT8), int(Op.SLOT4), int(Op.SLOT2), int(Op.SLOT1)
_SLOT_BYTES, _SLOT_UTF8, _UTF8_REST = int(Op.SLOT_BYTES), int(Op.SLOT_UTF8), int(Op.UTF8_REST)
_TIMESTAMP, _ARRAY, _ARRAY_ELEMENT = int(Op.TIMESTAMP), int(Op.ARRAY), int(Op.ARRAY_ELEMENT)
_MAP_KEYS, _MAP_VALUES, _MAP_ARRAY = int(Op.MAP_KEYS), int(Op.MAP_VALUES), int(Op.MAP_ARRAY)
_MASKED_LIST, _MASKED_ELEMENT = int(Op.MASKED_LIST), int(Op.MASKED_ELEMENT)


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


def _run(
    code: int,
    constants: int,
    src: int,
    start: int,
    end: int,
    limit: int,
    columns: int,
    cols: int,
    levels: int,
    frames: int,
    masks: int,
    out: int,
) -> int:
    """Decode up to ``limit`` entries. Arrays are given as addresses: of int64 arrays, if nothing else is said.

    :param code: the program.
    :param constants: the program's constants, bytes.
    :param src: the window, bytes; ``start`` and ``end`` are positions in it.
    :param columns: how many rows ``cols`` has.
    :param cols: [columns, C_SIZE]: kind, addresses, counts and capacities.
    :param levels: [levels, L_SIZE]: slots taken and slots there are. Level 0 goes on where it stood.
    :param frames: [depth, F_SIZE], room for the open lists and sections; ``masks`` [depth], for the open rows' masks.
    :param out: [OUT_SIZE]: entries decoded, position behind the last whole one, and what is wrong.
    :returns: why it stopped.
    """
    status = DONE
    rows = 0
    pos = start
    entry = start
    first = at(levels, L_COUNT)
    taken = first
    slots = at(levels, L_CAP)
    surrogates = at(out, SURROGATES)
    malformed = at(out, MALFORMED)
    window_end = end
    pair_end = 0
    mark = 0
    mark_size = 0
    part = 0
    row = 0
    new_row = 1
    goes_on = 0
    last = 0
    group = 0
    only_group = at(out, GROUP)
    base = start
    makes_row = at(code, 0) != _MARK
    while rows < limit:
        i = taken
        entry = pos
        surrogates = at(out, SURROGATES)
        malformed = at(out, MALFORMED)
        if makes_row and i >= slots:
            status = FULL
            put(out, ARGUMENT, -1)
            break
        pc = 0
        depth = 0
        mask_depth = 0
        sections = 0
        level = 0
        pair_end = 0
        while True:
            op = at(code, pc)
            if op == _NFIXED8:
                c = at(code, pc + 1)
                pc += 2
                if end - pos < 9 and (pos >= end or load_u8(src + pos) == 0):
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1 if pos >= end else pos + 9)
                    break
                if load_u8(src + pos) == 0:
                    store_64(col(cols, c, C_DATA) + 8 * i, load_i64(src + pos + 1))
                    pos += 9
                else:
                    fill(cols, levels, c, i)
                    pos += 1
            elif op == _NFIXED4:
                c = at(code, pc + 1)
                pc += 2
                if end - pos < 5 and (pos >= end or load_u8(src + pos) == 0):
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1 if pos >= end else pos + 5)
                    break
                if load_u8(src + pos) == 0:
                    store_32(col(cols, c, C_DATA) + 4 * i, load_i32(src + pos + 1))
                    pos += 5
                else:
                    fill(cols, levels, c, i)
                    pos += 1
            elif op == _NFIXED1:
                c = at(code, pc + 1)
                pc += 2
                if end - pos < 2 and (pos >= end or load_u8(src + pos) == 0):
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1 if pos >= end else pos + 2)
                    break
                if load_u8(src + pos) == 0:
                    store_8(col(cols, c, C_DATA) + i, load_u8(src + pos + 1))
                    pos += 2
                else:
                    fill(cols, levels, c, i)
                    pos += 1
            elif op == _NFIXED2:
                c = at(code, pc + 1)
                pc += 2
                if end - pos < 3 and (pos >= end or load_u8(src + pos) == 0):
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1 if pos >= end else pos + 3)
                    break
                if load_u8(src + pos) == 0:
                    store_16(col(cols, c, C_DATA) + 2 * i, load_i16(src + pos + 1))
                    pos += 3
                else:
                    fill(cols, levels, c, i)
                    pos += 1
            elif op == _FIXED8:
                c = at(code, pc + 1)
                pc += 2
                if end - pos < 8:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 8)
                    break
                store_64(col(cols, c, C_DATA) + 8 * i, load_i64(src + pos))
                pos += 8
            elif op == _FIXED4:
                c = at(code, pc + 1)
                pc += 2
                if end - pos < 4:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 4)
                    break
                store_32(col(cols, c, C_DATA) + 4 * i, load_i32(src + pos))
                pos += 4
            elif op == _TEXT or op == _NTEXT or op == _TEXT_VALUE:
                c = at(code, pc + 1)
                binary = at(code, pc + 2)
                pc += 3
                begin = pos
                if op == _NTEXT:
                    if pos >= end:
                        status = NEED_INPUT
                        put(out, NEEDED, pos + 1)
                        break
                    if load_u8(src + pos) != 0:
                        pos += 1
                        store_8(col(cols, c, C_VALID) + i, 0)
                        store_32(col(cols, c, C_DATA) + 4 * i + 4, col(cols, c, C_VAR_N))
                        continue
                    pos += 1
                n = 0
                shift = 0
                while True:
                    if pos >= end:
                        status = NEED_INPUT
                        put(out, NEEDED, pos + 1)
                        break
                    byte = load_u8(src + pos)
                    n |= (byte & 0x7F) << shift
                    pos += 1
                    if byte < 0x80:
                        break
                    shift += 7
                    if shift > 28:
                        status = BAD_TEXT
                        put(out, POSITION, begin)
                        break
                if status != DONE:
                    break
                var_n = col(cols, c, C_VAR_N)
                if op != _TEXT_VALUE:
                    if n == 0:
                        store_8(col(cols, c, C_VALID) + i, 0)
                        store_32(col(cols, c, C_DATA) + 4 * i + 4, var_n)
                        continue
                    n -= 1
                if n > 0x7FFFFFFF:
                    status = BAD_COUNT
                    put(out, POSITION, begin)
                    break
                if end - pos < n:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + n)
                    break
                if var_n + n > col(cols, c, C_VAR_CAP):
                    status = FULL
                    put(out, ARGUMENT, c)
                    break
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
                    pos += n
                    var_n += n
                else:
                    if var_n + k + 3 * (n - k) > col(cols, c, C_VAR_CAP):
                        status = FULL
                        put(out, ARGUMENT, c)
                        break
                    behind, target_end = varint_units(src, pos + k, end, n - k, target + k, binary, out)
                    if behind < 0:
                        status = -1 - behind
                        break
                    pos = behind
                    var_n += target_end - target
                put(cols, c * C_SIZE + C_VAR_N, var_n)
                store_32(col(cols, c, C_DATA) + 4 * i + 4, var_n)
            elif op == _POJO:
                label = at(code, pc + 1)
                n = at(code, pc + 4)
                if pos >= end:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1)
                    break
                flags = load_u8(src + pos)
                begin = pos
                pos += 1
                if flags & 1:
                    pc = at(code, pc + 2)
                elif flags & 4:
                    if end - pos < 2:
                        status = NEED_INPUT
                        put(out, NEEDED, pos + 2)
                        break
                    size = load_u16(src + pos)
                    if end - pos < 2 + size:
                        status = NEED_INPUT
                        put(out, NEEDED, pos + 2 + size)
                        break
                    found = -1
                    for s in range(n):
                        if at(code, pc + 5 + 4 * s + 2) == size:
                            same = True
                            name = constants + at(code, pc + 5 + 4 * s + 1)
                            for k in range(size):
                                if load_u8(name + k) != load_u8(src + pos + 2 + k):
                                    same = False
                                    break
                            if same:
                                found = s
                                break
                    if found < 0:
                        status = BAD_SUBCLASS
                        put(out, POSITION, begin)
                        break
                    pos += 2 + size
                    if label >= 0:
                        store_16(col(cols, label, C_DATA) + 2 * i, found + 1)
                    pc = at(code, pc + 5 + 4 * found + 3)
                elif flags & 8:
                    if pos >= end:
                        status = NEED_INPUT
                        put(out, NEEDED, pos + 1)
                        break
                    tag = load_u8(src + pos)
                    found = -1
                    for s in range(n):
                        if at(code, pc + 5 + 4 * s) == tag:
                            found = s
                            break
                    if found < 0:
                        status = BAD_SUBCLASS
                        put(out, POSITION, begin)
                        break
                    pos += 1
                    if label >= 0:
                        store_16(col(cols, label, C_DATA) + 2 * i, found + 1)
                    pc = at(code, pc + 5 + 4 * found + 3)
                elif flags & 2:
                    if label >= 0:
                        store_16(col(cols, label, C_DATA) + 2 * i, 0)
                    pc = at(code, pc + 3)
                else:
                    status = BAD_POJO
                    put(out, POSITION, begin)
                    break
            elif op == _NEXT:
                f = depth - 1
                i += 1
                left = at(frames, f * F_SIZE + F_LEFT) - 1
                if left > 0:
                    put(frames, f * F_SIZE + F_LEFT, left)
                    pc = at(frames, f * F_SIZE + F_BODY)
                else:
                    i = at(frames, f * F_SIZE + F_SLOT)
                    level = at(frames, f * F_SIZE + F_LEVEL)
                    depth = f
                    pc += 1
            elif op == _LIST:
                c = at(code, pc + 1)
                child = at(code, pc + 2)
                if end - pos < 4:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 4)
                    break
                n = load_i32(src + pos)
                least = at(code, pc + 3)
                if n < 0 or (least == 0 and n > MAX_ZERO_WIDTH):
                    status = BAD_COUNT
                    put(out, POSITION, pos)
                    break
                pos += 4
                if end - pos < n * least:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + n * least)
                    break
                slot = 0
                if c >= 0:
                    slot = at(levels, child * L_SIZE + L_COUNT)
                    if slot + n > at(levels, child * L_SIZE + L_CAP):
                        status = FULL
                        put(out, ARGUMENT, -1 - child)
                        put(out, NEEDED, slot + n)
                        break
                    put(levels, child * L_SIZE + L_COUNT, slot + n)
                    store_32(col(cols, c, C_DATA) + 4 * i + 4, slot + n)
                if n == 0:
                    pc = at(code, pc + 4)
                else:
                    put(frames, depth * F_SIZE + F_LEFT, n)
                    put(frames, depth * F_SIZE + F_SLOT, i)
                    put(frames, depth * F_SIZE + F_BODY, pc + 5)
                    put(frames, depth * F_SIZE + F_LEVEL, level)
                    depth += 1
                    if c >= 0:
                        level = child
                        i = slot
                    pc += 5
            elif op == _NEXT_BLOCK:
                f = depth - 1
                left = at(frames, f * F_SIZE + F_LEFT) - 1
                if left > 0:
                    put(frames, f * F_SIZE + F_LEFT, left)
                    i += 1
                    pc = at(frames, f * F_SIZE + F_BODY)
                    continue
                c = at(code, pc + 1)
                child = at(code, pc + 2)
                least = at(code, pc + 3)
                begin = pos
                n = 0
                shift = 0
                while True:
                    if pos >= end:
                        status = NEED_INPUT
                        put(out, NEEDED, pos + 1)
                        break
                    byte = load_u8(src + pos)
                    n |= (byte & 0x7F) << shift
                    pos += 1
                    if byte < 0x80:
                        break
                    shift += 7
                    if shift > 28:
                        status = BAD_COUNT
                        put(out, POSITION, begin)
                        break
                if status != DONE:
                    break
                total = at(frames, f * F_SIZE + F_TOTAL) + n
                if n > 0x7FFFFFFF or (least == 0 and total > MAX_ZERO_WIDTH):
                    status = BAD_COUNT
                    put(out, POSITION, begin)
                    break
                if end - pos < n * least:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + n * least)
                    break
                if n == 0:
                    slot = i + 1
                    i = at(frames, f * F_SIZE + F_SLOT)
                    level = at(frames, f * F_SIZE + F_LEVEL)
                    depth = f
                    if c >= 0:
                        store_32(col(cols, c, C_DATA) + 4 * i + 4, slot)
                    pc += 4
                else:
                    if c >= 0:
                        slot = at(levels, child * L_SIZE + L_COUNT)
                        if slot + n > at(levels, child * L_SIZE + L_CAP):
                            status = FULL
                            put(out, ARGUMENT, -1 - child)
                            put(out, NEEDED, slot + n)
                            break
                        put(levels, child * L_SIZE + L_COUNT, slot + n)
                        i = slot
                    put(frames, f * F_SIZE + F_LEFT, n)
                    put(frames, f * F_SIZE + F_TOTAL, total)
                    pc = at(frames, f * F_SIZE + F_BODY)
            elif op == _LIST_BLOCKS:
                c = at(code, pc + 1)
                child = at(code, pc + 2)
                put(frames, depth * F_SIZE + F_LEFT, 0)
                put(frames, depth * F_SIZE + F_SLOT, i)
                put(frames, depth * F_SIZE + F_BODY, pc + 4)
                put(frames, depth * F_SIZE + F_LEVEL, level)
                put(frames, depth * F_SIZE + F_TOTAL, 0)
                depth += 1
                if c >= 0:
                    level = child
                    i = at(levels, child * L_SIZE + L_COUNT) - 1
                pc = at(code, pc + 3)
            elif op == _SKIP:
                n = at(code, pc + 1)
                pc += 2
                if end - pos < n:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + n)
                    break
                pos += n
            elif op == _NSKIP:
                n = at(code, pc + 1)
                pc += 2
                if end - pos <= n and (pos >= end or load_u8(src + pos) == 0):
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1 if pos >= end else pos + 1 + n)
                    break
                pos += 1 + n if load_u8(src + pos) == 0 else 1
            elif op == _END:
                break
            elif op == _JUMP:
                pc = at(code, pc + 1)
            elif op == _NULLABLE:
                if pos >= end:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1)
                    break
                if (load_u8(src + pos) != 0) == (at(code, pc + 1) != 0):
                    n = 1 + at(code, pc + 2)
                    if end - pos < n:
                        status = NEED_INPUT
                        put(out, NEEDED, pos + n)
                        break
                    pos += n
                    pc = at(code, pc + 3)
                else:
                    pos += 1
                    pc += 4
            elif op == _FILL:
                n = at(code, pc + 1)
                for k in range(n):
                    fill(cols, levels, at(code, pc + 2 + k), i)
                pc += 2 + n
            elif op == _FIXED1:
                c = at(code, pc + 1)
                pc += 2
                if end - pos < 1:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1)
                    break
                store_8(col(cols, c, C_DATA) + i, load_u8(src + pos))
                pos += 1
            elif op == _FIXED2:
                c = at(code, pc + 1)
                pc += 2
                if end - pos < 2:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 2)
                    break
                store_16(col(cols, c, C_DATA) + 2 * i, load_i16(src + pos))
                pos += 2
            elif op == _BYTES or op == _BYTES_N or op == _BIG_INTEGER or op == _UTF:
                c = at(code, pc + 1)
                operand = at(code, pc + 2)
                var_n = col(cols, c, C_VAR_N)
                n = 0
                head = 0
                if op == _BYTES_N:
                    n = operand
                elif op == _UTF:
                    head = 2
                else:
                    head = 4
                if end - pos < head:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + head)
                    break
                if op == _UTF:
                    n = load_u16(src + pos)
                elif head == 4:
                    n = load_i32(src + pos)
                    if n < 0:
                        status = BAD_COUNT
                        put(out, POSITION, pos)
                        break
                short = -1
                if op == _BIG_INTEGER:
                    if n == 0:
                        pos += 4
                        pc += 3
                        store_8(col(cols, c, C_VALID) + i, 0)
                        store_32(col(cols, c, C_DATA) + 4 * i + 4, var_n)
                        continue
                    if n < 4:
                        short = 10 if n == 3 else n - 1
                        n = 0
                    else:
                        n -= 4
                        if n == 0:
                            status = BAD_COUNT
                            put(out, POSITION, pos)
                            break
                tail = 4 if op == _BIG_INTEGER and operand != 0 else 0
                if end - pos < head + n + tail:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + head + n + tail)
                    break
                room = n + tail + 1  # modified UTF-8 never grows: U+FFFD is as long as the surrogate it replaces
                if var_n + room > col(cols, c, C_VAR_CAP):
                    status = FULL
                    put(out, ARGUMENT, c)
                    break
                pos += head
                target = col(cols, c, C_VAR) + var_n
                if op == _UTF:
                    behind = modified_utf8(src, pos, pos + n, target, operand, out)
                    if behind < 0:
                        status = BAD_TEXT
                        break
                    var_n += behind - target
                else:
                    if short >= 0:
                        store_8(target, short)
                        target += 1
                        var_n += 1
                    copy(src + pos, target, n + tail)
                    var_n += n + tail
                pos += n + tail
                put(cols, c * C_SIZE + C_VAR_N, var_n)
                store_32(col(cols, c, C_DATA) + 4 * i + 4, var_n)
                pc += 2 if op == _BYTES else 3
            elif op == _SKIP_TEXT:
                begin = pos
                n = 0
                shift = 0
                while True:
                    if pos >= end:
                        status = NEED_INPUT
                        put(out, NEEDED, pos + 1)
                        break
                    byte = load_u8(src + pos)
                    n |= (byte & 0x7F) << shift
                    pos += 1
                    if byte < 0x80:
                        break
                    shift += 7
                    if shift > 28:
                        status = BAD_TEXT
                        put(out, POSITION, begin)
                        break
                if status != DONE:
                    break
                n -= at(code, pc + 1)
                pc += 2
                if n > 0x7FFFFFFF:
                    status = BAD_COUNT
                    put(out, POSITION, begin)
                    break
                if end - pos < n:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + n)
                    break
                k = 0
                while n - k >= 8 and load_i64_le(src + pos) & HIGH_BITS == 0:
                    pos += 8
                    k += 8
                if 0 < n - k < 8 and load_i64_le(src + pos) & HIGH_BITS & ((1 << (8 * (n - k))) - 1) == 0:
                    pos += n - k
                    k = n
                while k < n:
                    size = 1
                    while True:
                        if pos >= end:
                            status = NEED_INPUT
                            put(out, NEEDED, pos + 1)
                            break
                        byte = load_u8(src + pos)
                        pos += 1
                        if byte < 0x80:
                            if size == 3 and byte > 3:
                                status = BAD_TEXT
                                put(out, POSITION, pos - 1)
                            break
                        if size == 3:
                            status = BAD_TEXT
                            put(out, POSITION, pos - 1)
                            break
                        size += 1
                    if status != DONE:
                        break
                    k += 1
                if status != DONE:
                    break
            elif op == _MASK:
                n = (at(code, pc + 1) + 7) >> 3
                if end - pos < n:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + n)
                    break
                put(masks, mask_depth, pos)
                mask_depth += 1
                c = at(code, pc + 2)
                if c >= 0:
                    byte = load_u8(src + pos)
                    store_8(col(cols, c, C_DATA) + i, (byte >> 7) | ((byte >> 5) & 2))
                pos += n
                pc += 3
            elif op == _MASK_BIT:
                bit = at(code, pc + 1)
                byte = load_u8(src + at(masks, mask_depth - 1) + (bit >> 3))
                if (byte >> (7 - (bit & 7))) & 1:
                    pc = at(code, pc + 2)
                else:
                    pc += 3
            elif op == _MASK_END:
                mask_depth -= 1
                pc += 1
            elif op == _SWITCH:
                if pos >= end:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 1)
                    break
                tag = load_u8(src + pos)
                target = at(code, pc + 2)
                for k in range(at(code, pc + 1)):
                    if at(code, pc + 3 + 2 * k) == tag:
                        target = at(code, pc + 4 + 2 * k)
                        break
                if target < 0:
                    status = BAD_TAG
                    put(out, POSITION, pos)
                    break
                pos += 1
                pc = target
            elif op == _CHAR:
                c = at(code, pc + 1)
                binary = at(code, pc + 2)
                pc += 3
                if end - pos < 2:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 2)
                    break
                var_n = col(cols, c, C_VAR_N)
                if var_n + 3 > col(cols, c, C_VAR_CAP):
                    status = FULL
                    put(out, ARGUMENT, c)
                    break
                unit = load_u16(src + pos)
                pos += 2
                if binary == 0 and 0xD800 <= unit < 0xE000:
                    put(out, SURROGATES, at(out, SURROGATES) + 1)
                    unit = 0xFFFD
                target = col(cols, c, C_VAR) + var_n
                var_n += put_code_point(target, unit) - target
                put(cols, c * C_SIZE + C_VAR_N, var_n)
                store_32(col(cols, c, C_DATA) + 4 * i + 4, var_n)
            elif op == _NULL:
                c = at(code, pc + 1)
                n = at(code, pc + 2)
                pc += 3
                if end - pos < n:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + n)
                    break
                pos += n
                fill(cols, levels, c, i)
            elif op == _PRESENT:
                store_8(at(cols, at(code, pc + 1) * C_SIZE + C_DATA) + i, 1)
                pc += 2
            elif op == _SKIP_BYTES or op == _SKIP_UTF or op == _SKIP_BIG:
                n = 0
                head = 2 if op == _SKIP_UTF else 4
                if end - pos < head:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + head)
                    break
                n = load_u16(src + pos) if op == _SKIP_UTF else load_i32(src + pos)
                if n < 0 or (op == _SKIP_BIG and n == 4):
                    status = BAD_COUNT
                    put(out, POSITION, pos)
                    break
                if op == _SKIP_BIG:
                    scale = 4 if at(code, pc + 1) != 0 and n != 0 else 0
                    n = (0 if n < 4 else n - 4) + scale
                    pc += 1
                pc += 1
                if end - pos < head + n:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + head + n)
                    break
                pos += head + n
            elif op == _EXPECT:
                n = at(code, pc + 1)
                if end - pos < n:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + n)
                    break
                for k in range(n):
                    if load_u8(src + pos + k) != load_u8(constants + at(code, pc + 2) + k):
                        status = BAD_CONSTANT
                        put(out, POSITION, pos + k)
                        break
                if status != DONE:
                    break
                pos += n
                pc += 3
            elif op == _FIXED:
                c = at(code, pc + 1)
                width = at(code, pc + 2)
                if end - pos < width:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + width)
                    break
                little = at(code, pc + 3) != 0
                if width == 8:
                    number = load_i64_le(src + pos) if little else load_i64(src + pos)
                    if at(code, pc + 4) != 0:
                        number ^= -9223372036854775808
                    store_64(col(cols, c, C_DATA) + 8 * i, number)
                elif width == 4:
                    number = load_i32_le(src + pos) if little else load_i32(src + pos)
                    if at(code, pc + 4) != 0:
                        number ^= 0x80000000
                    store_32(col(cols, c, C_DATA) + 4 * i, number)
                elif width == 2:
                    number = load_i16_le(src + pos) if little else load_i16(src + pos)
                    if at(code, pc + 4) != 0:
                        number ^= 0x8000
                    store_16(col(cols, c, C_DATA) + 2 * i, number)
                else:
                    number = load_u8(src + pos)
                    if at(code, pc + 4) != 0:
                        number ^= 0x80
                    store_8(col(cols, c, C_DATA) + i, number)
                pos += width
                pc += 5
            elif op == _PAIR or op == _MARK:
                n = at(code, pc + 1)
                if end - pos < 4:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 4)
                    break
                size = load_i32(src + pos)
                if size < n or n == 0:
                    status = BAD_COUNT
                    put(out, POSITION, pos)
                    break
                if end - pos < 8 + size:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 8 + size)
                    break
                value_size = load_i32(src + pos + 4 + size)
                if value_size < 0:
                    status = BAD_COUNT
                    put(out, POSITION, pos + 4 + size)
                    break
                if end - pos < 8 + size + value_size:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 8 + size + value_size)
                    break
                pair_end = pos + 8 + size + value_size
                pos += 4
                end = pos + size
                byte = load_u8(src + pos)
                last = byte >> 7
                group = byte & 0x7F
                for k in range(1, n):
                    group = (group << 8) | load_u8(src + pos + k)
                if only_group >= 0 and group != only_group:
                    status = BAD_GROUP
                    put(out, ARGUMENT, group)
                    put(out, POSITION, pos)
                    break
                pos += n
                row = i
                new_row = 1
                goes_on = 0
                if op == _PAIR:
                    pc += 2
                else:
                    # Keys end where their own bytes say: what begins with the row before's has just that.
                    mark = pos
                    size = at(out, KEY_SIZE)
                    same = 0 <= size <= end - pos
                    if same:
                        known = at(out, KEY)
                        k = 0
                        while k < size:
                            differ = load_i64_le(known + k) ^ load_i64_le(src + pos + k)
                            if size - k < 8:
                                differ &= (1 << (8 * (size - k))) - 1
                            if differ != 0:
                                same = False
                                break
                            k += 8
                    if same and i > 0:
                        new_row = 0
                        row = i - 1
                        pos += size
                        child = at(code, pc + 3)
                        pc = at(code, pc + 4)
                        i = at(levels, child * L_SIZE + L_COUNT)
                        if i >= at(levels, child * L_SIZE + L_CAP):
                            status = FULL
                            put(out, ARGUMENT, -1 - child)
                            put(out, NEEDED, i + 1)
                            break
                        put(levels, child * L_SIZE + L_COUNT, i + 1)
                    elif i >= slots:
                        status = FULL
                        put(out, ARGUMENT, -1)
                        break
                    else:
                        goes_on = 1 if same else 0
                        pc += 5
            elif op == _PART:
                part = pos
                pc += 1
            elif op == _LENGTH:
                n = pos - part
                pc += 1
                while True:
                    if pos >= end:
                        status = NEED_INPUT
                        break
                    if load_u8(src + pos) != n & 0xFF:
                        status = BAD_PAIR
                        put(out, POSITION, pos)
                        break
                    pos += 1
                    n >>= 8
                    if n == 0:
                        break
                if status != DONE:
                    break
            elif op == _MARKED:
                mark_size = pos - mark
                child = at(code, pc + 2)
                pc += 3
                i = at(levels, child * L_SIZE + L_COUNT)
                if i >= at(levels, child * L_SIZE + L_CAP):
                    status = FULL
                    put(out, ARGUMENT, -1 - child)
                    put(out, NEEDED, i + 1)
                    break
                put(levels, child * L_SIZE + L_COUNT, i + 1)
            elif op == _VALUE:
                pos += at(code, pc + 1)
                if pos != end:
                    status = BAD_PAIR
                    put(out, POSITION, pos)
                    break
                pos += 4
                end = pair_end
                pc += 2
            elif op == _VALUE8:
                pos += at(code, pc + 1)
                if pos != end or pair_end - pos != 12:
                    status = BAD_PAIR
                    put(out, POSITION, pos)
                    break
                values = col(cols, at(code, pc + 2), C_DATA)
                store_64(values + 8 * i, load_i64(src + pos + 4))
                pos = pair_end
                end = window_end
                c = at(code, pc + 4)
                if c >= 0:
                    # The pairs behind it, if their keys are eight bytes too, as long as nothing about them is unusual.
                    prefix = at(code, pc + 3)
                    keys = col(cols, c, C_DATA)
                    c = at(code, pc + 5)
                    groups = col(cols, c, C_DATA) if c >= 0 else 0
                    n = prefix + 8 + at(code, pc + 1)
                    while last == 0 and rows + 1 < limit and taken + 1 < slots and end - pos >= 16 + n:
                        if load_i32(src + pos) != n or load_i32(src + pos + 4 + n) != 8:
                            break
                        byte = load_u8(src + pos + 4)
                        found = byte & 0x7F
                        if prefix != 1:
                            found = (found << 8) | load_u8(src + pos + 5)
                        if found != group:
                            break
                        taken += 1
                        store_64(keys + 8 * taken, load_i64(src + pos + 4 + prefix))
                        store_64(values + 8 * taken, load_i64(src + pos + 8 + n))
                        if groups != 0:
                            store_16(groups + 2 * taken, group)
                        pos += 16 + n
                        rows += 1
                        last = byte >> 7
                break
            elif op == _ENTRY8:
                if pos != end or end + 4 == pair_end:
                    status = BAD_PAIR
                    put(out, POSITION, pos)
                    break
                end = pair_end
                pos += 5
                if load_u8(src + pos - 1) != 0:
                    pc = at(code, pc + 1)
                    continue
                if end - pos != 8:
                    status = BAD_PAIR
                    put(out, POSITION, pos)
                    break
                value = at(code, pc + 2)
                store_64(col(cols, value, C_DATA) + 8 * i, load_i64(src + pos))
                c = at(code, pc + 3)
                prefix = at(code, pc + 4)
                user = at(code, pc + 5)
                text = at(code, pc + 6)
                if new_row != 0:
                    if mark_size > at(out, KEY_CAP):
                        status = KEY_FULL
                        put(out, NEEDED, mark_size)
                        break
                    copy(src + mark, at(out, KEY), mark_size)
                    put(out, KEY_SIZE, mark_size)
                    if row == 0:
                        put(out, CONTINUED, goes_on)
                pos = end
                end = window_end
                # The pairs behind it, as long as they are entries of the same row and nothing about them is unusual: what
                # is, or wrong, or not whole, is left as it was.
                child = col(cols, c, C_CHILD)
                room = at(levels, child * L_SIZE + L_CAP)
                known = at(out, KEY)
                mark_size = at(out, KEY_SIZE)
                begin = prefix + mark_size
                values = col(cols, value, C_DATA)
                users = col(cols, user, C_DATA)
                var = col(cols, user, C_VAR)
                var_n = col(cols, user, C_VAR_N)
                var_cap = col(cols, user, C_VAR_CAP)
                i += 1
                while text >= 0 and last == 0 and rows + 1 < limit and i < room and end - pos >= 17 + begin:
                    size = load_i32(src + pos)
                    n = size - begin
                    if n < 1 or end - pos < 17 + size or load_i32(src + pos + 4 + size) != 9:
                        break
                    byte = load_u8(src + pos + 4)
                    found = byte & 0x7F
                    if prefix != 1:
                        found = (found << 8) | load_u8(src + pos + 5)
                    if found != group or load_u8(src + pos + 8 + size) != 0:
                        break
                    here = pos + 4 + prefix
                    differ = 0
                    k = 0
                    while k < mark_size:
                        eight = load_i64_le(known + k) ^ load_i64_le(src + here + k)
                        if mark_size - k < 8:
                            eight &= (1 << (8 * (mark_size - k))) - 1
                        differ |= eight
                        k += 8
                    if differ != 0:
                        break
                    here += mark_size
                    if text == 0:
                        if n != 8:
                            break
                        store_64(users + 8 * i, load_i64(src + here))
                    else:
                        n -= 1
                        if load_u8(src + here) != n + 1 or n > 126 or var_n + n > var_cap:
                            break
                        here += 1
                        k = 0
                        while k < n:
                            eight = load_i64_le(src + here + k)
                            if n - k < 8:
                                eight &= (1 << (8 * (n - k))) - 1
                            differ |= eight & HIGH_BITS
                            store_64(var + var_n + k, eight)
                            k += 8
                        if differ != 0:
                            break
                        var_n += n
                        store_32(users + 4 * i + 4, var_n)
                    store_64(values + 8 * i, load_i64(src + here + n + 5))
                    pos += 17 + size
                    i += 1
                    rows += 1
                    last = byte >> 7
                if text > 0:
                    put(cols, user * C_SIZE + C_VAR_N, var_n)
                put(levels, child * L_SIZE + L_COUNT, i)
                store_32(col(cols, c, C_DATA) + 4 * row + 4, i)
                break
            elif op == _FLAG:
                if pos != end or end + 4 == pair_end:
                    status = BAD_PAIR
                    put(out, POSITION, pos)
                    break
                end = pair_end
                pc = pc + 2 if load_u8(src + pos + 4) == 0 else at(code, pc + 1)
                pos += 5
            elif op == _REST:
                pos = end
                pc += 1
            elif op == _BYTES_REST:
                c = at(code, pc + 1)
                pc += 2
                n = end - pos
                var_n = col(cols, c, C_VAR_N)
                if var_n + n > col(cols, c, C_VAR_CAP):
                    status = FULL
                    put(out, ARGUMENT, c)
                    break
                copy(src + pos, col(cols, c, C_VAR) + var_n, n)
                pos = end
                put(cols, c * C_SIZE + C_VAR_N, var_n + n)
                store_32(col(cols, c, C_DATA) + 4 * i + 4, var_n + n)
            elif op == _LIST_REST:
                c = at(code, pc + 1)
                child = at(code, pc + 2)
                slot = at(levels, child * L_SIZE + L_COUNT) if c >= 0 else 0
                if pos == end:
                    if c >= 0:
                        store_32(col(cols, c, C_DATA) + 4 * i + 4, slot)
                    pc = at(code, pc + 3)
                else:
                    if c >= 0 and slot >= at(levels, child * L_SIZE + L_CAP):
                        status = FULL
                        put(out, ARGUMENT, -1 - child)
                        put(out, NEEDED, slot + 1)
                        break
                    put(frames, depth * F_SIZE + F_LEFT, c)
                    put(frames, depth * F_SIZE + F_SLOT, i)
                    put(frames, depth * F_SIZE + F_BODY, pc + 4)
                    put(frames, depth * F_SIZE + F_LEVEL, level)
                    depth += 1
                    if c >= 0:
                        put(levels, child * L_SIZE + L_COUNT, slot + 1)
                        level = child
                        i = slot
                    pc += 4
            elif op == _LIST8_REST:
                c = at(code, pc + 1)
                child = at(code, pc + 2)
                n = (end - pos + 1) // 9
                if end - pos != 0 and (end - pos) % 9 != 8:
                    status = BAD_PAIR
                    put(out, POSITION, pos + 9 * ((end - pos) // 9))
                    break
                slot = at(levels, child * L_SIZE + L_COUNT)
                if slot + n > at(levels, child * L_SIZE + L_CAP):
                    status = FULL
                    put(out, ARGUMENT, -1 - child)
                    put(out, NEEDED, slot + n)
                    break
                element = col(cols, at(code, pc + 3), C_DATA) + 8 * slot
                for k in range(n):
                    store_64(element + 8 * k, load_i64(src + pos + 9 * k))
                put(levels, child * L_SIZE + L_COUNT, slot + n)
                store_32(col(cols, c, C_DATA) + 4 * i + 4, slot + n)
                pos = end
                pc += 4
            elif op == _NEXT_REST:
                f = depth - 1
                c = at(frames, f * F_SIZE + F_LEFT)
                if pos < end:
                    pos += 1  # the ',' between elements; Flink does not look at it either
                    if pos == end:
                        status = BAD_PAIR
                        put(out, POSITION, pos)
                        break
                    if c >= 0:
                        i += 1
                        if i >= at(levels, level * L_SIZE + L_CAP):
                            status = FULL
                            put(out, ARGUMENT, -1 - level)
                            put(out, NEEDED, i + 1)
                            break
                        put(levels, level * L_SIZE + L_COUNT, i + 1)
                    pc = at(frames, f * F_SIZE + F_BODY)
                else:
                    slot = i + 1
                    i = at(frames, f * F_SIZE + F_SLOT)
                    level = at(frames, f * F_SIZE + F_LEVEL)
                    depth = f
                    if c >= 0:
                        store_32(col(cols, c, C_DATA) + 4 * i + 4, slot)
                    pc += 1
            elif op == _GROUP:
                store_16(col(cols, at(code, pc + 1), C_DATA) + 2 * i, group)
                pc += 2
            elif op == _PLACE:
                store_64(col(cols, at(code, pc + 1), C_DATA) + 8 * i, pos)
                pc += 2
            elif op == _END_PAIR:
                if pos != end:
                    status = BAD_PAIR
                    put(out, POSITION, pos)
                    break
                c = at(code, pc + 1)
                if c >= 0:
                    if new_row != 0:
                        if mark_size > at(out, KEY_CAP):
                            status = KEY_FULL
                            put(out, NEEDED, mark_size)
                            break
                        copy(src + mark, at(out, KEY), mark_size)
                        put(out, KEY_SIZE, mark_size)
                        if row == 0:
                            put(out, CONTINUED, goes_on)
                    store_32(col(cols, c, C_DATA) + 4 * row + 4, at(levels, col(cols, c, C_CHILD) * L_SIZE + L_COUNT))
                end = window_end
                break
            elif op == _SLOT8 or op == _SLOT4 or op == _SLOT2 or op == _SLOT1:
                c = at(code, pc + 1)
                bit = at(code, pc + 2)
                if (load_u8(src + base + (bit >> 3)) >> (bit & 7)) & 1:
                    fill(cols, levels, c, i)
                else:
                    slot = src + base + at(code, pc + 3)
                    if op == _SLOT8:
                        store_64(col(cols, c, C_DATA) + 8 * i, load_i64_le(slot))
                    elif op == _SLOT4:
                        store_32(col(cols, c, C_DATA) + 4 * i, load_i32_le(slot))
                    elif op == _SLOT2:
                        store_16(col(cols, c, C_DATA) + 2 * i, load_i16_le(slot))
                    else:
                        store_8(col(cols, c, C_DATA) + i, load_u8(slot))
                pc += 4
            elif op == _SLOT_UTF8 or op == _SLOT_BYTES:
                c = at(code, pc + 1)
                bit = at(code, pc + 2)
                if (load_u8(src + base + (bit >> 3)) >> (bit & 7)) & 1:
                    store_8(col(cols, c, C_VALID) + i, 0)
                    store_32(col(cols, c, C_DATA) + 4 * i + 4, col(cols, c, C_VAR_N))
                    pc += 4
                    continue
                begin = base + at(code, pc + 3)
                word = load_i64_le(src + begin)
                if word < 0:
                    n = (word >> 56) & 0x7F
                    if n > 7:
                        status = BAD_SECTION
                        put(out, POSITION, begin)
                        break
                else:
                    n = word & 0xFFFFFFFF
                    if (word >> 32) + n > end - base:
                        status = BAD_SECTION
                        put(out, POSITION, begin)
                        break
                    begin = base + (word >> 32)
                if op == _SLOT_UTF8:
                    status = put_utf8(src, begin, n, cols, c, i, out)
                    if status != DONE:
                        break
                else:
                    var_n = col(cols, c, C_VAR_N)
                    if var_n + n > col(cols, c, C_VAR_CAP):
                        status = FULL
                        put(out, ARGUMENT, c)
                        break
                    copy(src + begin, col(cols, c, C_VAR) + var_n, n)
                    put(cols, c * C_SIZE + C_VAR_N, var_n + n)
                    store_32(col(cols, c, C_DATA) + 4 * i + 4, var_n + n)
                pc += 4
            elif op == _SECTION:
                if end - pos < 4:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 4)
                    break
                n = load_i32(src + pos)
                if n < 0:
                    status = BAD_COUNT
                    put(out, POSITION, pos)
                    break
                if end - pos < 4 + n:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 4 + n)
                    break
                put(frames, depth * F_SIZE + F_BASE, base)
                put(frames, depth * F_SIZE + F_END, end)
                put(frames, depth * F_SIZE + F_AFTER, pos + 4 + n)
                depth += 1
                sections += 1
                pos += 4
                base = pos
                end = pos + n
                pc += 1
            elif op == _ROW:
                if end - base < at(code, pc + 1):
                    status = BAD_SECTION
                    put(out, POSITION, base)
                    break
                c = at(code, pc + 2)
                if c >= 0:
                    store_8(col(cols, c, C_DATA) + i, load_u8(src + base))
                pc += 3
            elif op == _LEAVE:
                if at(code, pc + 1) != 0 and pos != end:
                    status = BAD_SECTION
                    put(out, POSITION, pos)
                    break
                depth -= 1
                sections -= 1
                base = at(frames, depth * F_SIZE + F_BASE)
                end = at(frames, depth * F_SIZE + F_END)
                pos = at(frames, depth * F_SIZE + F_AFTER)
                pc += 2
            elif op == _SLOT:
                bit = at(code, pc + 1)
                if (load_u8(src + base + (bit >> 3)) >> (bit & 7)) & 1:
                    pc = at(code, pc + 3)
                else:
                    pos = base + at(code, pc + 2)
                    pc += 4
            elif op == _REGION:
                begin = pos
                word = load_i64_le(src + pos)
                if word < 0:
                    n = (word >> 56) & 0x7F
                    if n > 7:
                        status = BAD_SECTION
                        put(out, POSITION, pos)
                        break
                else:
                    n = word & 0xFFFFFFFF
                    if (word >> 32) + n > end - base:
                        status = BAD_SECTION
                        put(out, POSITION, pos)
                        break
                    begin = base + (word >> 32)
                put(frames, depth * F_SIZE + F_BASE, base)
                put(frames, depth * F_SIZE + F_END, end)
                put(frames, depth * F_SIZE + F_AFTER, pos + 8)
                depth += 1
                sections += 1
                pos = begin
                base = begin
                end = begin + n
                pc += 1
            elif op == _UTF8_REST:
                status = put_utf8(src, pos, end - pos, cols, at(code, pc + 1), i, out)
                if status != DONE:
                    break
                pos = end
                pc += 2
            elif op == _TIMESTAMP:
                word = load_i64_le(src + pos)
                if word < 0 or (word >> 32) + 8 > end - base:
                    status = BAD_SECTION
                    put(out, POSITION, pos)
                    break
                store_64(col(cols, at(code, pc + 1), C_DATA) + 8 * i, load_i64_le(src + base + (word >> 32)))
                store_32(col(cols, at(code, pc + 2), C_DATA) + 4 * i, word)
                pc += 3
            elif op == _ARRAY or op == _MAP_ARRAY:
                c = at(code, pc + 1)
                child = at(code, pc + 2)
                if end - base < 4:
                    status = BAD_SECTION
                    put(out, POSITION, base)
                    break
                n = load_i32_le(src + base)
                if n < 0 or 4 + ((n + 31) >> 5) * 4 + n * at(code, pc + 3) > end - base:
                    status = BAD_SECTION
                    put(out, POSITION, base)
                    break
                slot = 0
                if op == _MAP_ARRAY:
                    if c >= 0:
                        slot = load_i32_le(col(cols, c, C_DATA) + 4 * i)
                        if load_i32_le(col(cols, c, C_DATA) + 4 * i + 4) - slot != n:
                            status = BAD_SECTION
                            put(out, POSITION, base)
                            break
                elif c >= 0:
                    slot = at(levels, child * L_SIZE + L_COUNT)
                    if slot + n > at(levels, child * L_SIZE + L_CAP):
                        status = FULL
                        put(out, ARGUMENT, -1 - child)
                        put(out, NEEDED, slot + n)
                        break
                    put(levels, child * L_SIZE + L_COUNT, slot + n)
                    store_32(col(cols, c, C_DATA) + 4 * i + 4, slot + n)
                if n == 0:
                    pc = at(code, pc + 4)
                else:
                    put(frames, depth * F_SIZE + F_LEFT, n)
                    put(frames, depth * F_SIZE + F_SLOT, i)
                    put(frames, depth * F_SIZE + F_BODY, pc + 5)
                    put(frames, depth * F_SIZE + F_LEVEL, level)
                    depth += 1
                    if c >= 0:
                        level = child
                        i = slot
                    pc += 5
            elif op == _ARRAY_ELEMENT:
                n = load_i32_le(src + base)
                k = n - at(frames, (depth - 1) * F_SIZE + F_LEFT)
                if (load_u8(src + base + 4 + (k >> 3)) >> (k & 7)) & 1:
                    pc = at(code, pc + 2)
                else:
                    pos = base + 4 + ((n + 31) >> 5) * 4 + k * at(code, pc + 1)
                    pc += 3
            elif op == _MAP_KEYS:
                if end - base < 4:
                    status = BAD_SECTION
                    put(out, POSITION, base)
                    break
                n = load_i32_le(src + base)
                if n < 0 or 4 + n > end - base:
                    status = BAD_SECTION
                    put(out, POSITION, base)
                    break
                put(frames, depth * F_SIZE + F_BASE, base)
                put(frames, depth * F_SIZE + F_END, end)
                put(frames, depth * F_SIZE + F_AFTER, base + 4 + n)
                depth += 1
                sections += 1
                base += 4
                end = base + n
                pc += 1
            elif op == _MAP_VALUES:
                put(frames, depth * F_SIZE + F_BASE, base)
                put(frames, depth * F_SIZE + F_END, end)
                put(frames, depth * F_SIZE + F_AFTER, end)
                depth += 1
                sections += 1
                base = pos
                pc += 1
            elif op == _MASKED_LIST:
                c = at(code, pc + 1)
                child = at(code, pc + 2)
                if end - pos < 4:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 4)
                    break
                n = load_i32(src + pos)
                if n < 0:
                    status = BAD_COUNT
                    put(out, POSITION, pos)
                    break
                size = (n + 7) >> 3
                if end - pos < 4 + size:
                    status = NEED_INPUT
                    put(out, NEEDED, pos + 4 + size)
                    break
                slot = 0
                if c >= 0:
                    slot = at(levels, child * L_SIZE + L_COUNT)
                    if slot + n > at(levels, child * L_SIZE + L_CAP):
                        status = FULL
                        put(out, ARGUMENT, -1 - child)
                        put(out, NEEDED, slot + n)
                        break
                    put(levels, child * L_SIZE + L_COUNT, slot + n)
                    store_32(col(cols, c, C_DATA) + 4 * i + 4, slot + n)
                pos += 4
                if n == 0:
                    pc = at(code, pc + 3)
                else:
                    put(frames, depth * F_SIZE + F_LEFT, n)
                    put(frames, depth * F_SIZE + F_SLOT, i)
                    put(frames, depth * F_SIZE + F_BODY, pc + 4)
                    put(frames, depth * F_SIZE + F_LEVEL, level)
                    put(frames, depth * F_SIZE + F_TOTAL, n)
                    put(frames, depth * F_SIZE + F_MASK, pos)
                    depth += 1
                    pos += size
                    if c >= 0:
                        level = child
                        i = slot
                    pc += 4
            elif op == _MASKED_ELEMENT:
                f = depth - 1
                k = at(frames, f * F_SIZE + F_TOTAL) - at(frames, f * F_SIZE + F_LEFT)
                byte = load_u8(src + at(frames, f * F_SIZE + F_MASK) + (k >> 3))
                if (byte >> (7 - (k & 7))) & 1:
                    pc = at(code, pc + 1)
                else:
                    pc += 2
            elif op == _FAIL:
                status = UNDECODABLE
                put(out, ARGUMENT, at(code, pc + 1))
                put(out, POSITION, pos)
                break
            else:
                status = BAD_TAG
                put(out, POSITION, pos)
                break
        if status != DONE:
            if status == NEED_INPUT and (sections > 0 or pair_end != 0):
                # The whole section or pair is there, so it is too short for what it should hold.
                status = BAD_SECTION if sections > 0 else BAD_PAIR
                put(out, POSITION, pos)
            break
        rows += 1
        taken += new_row
        entry = pos
        if last != 0:
            status = LAST
            surrogates = at(out, SURROGATES)
            malformed = at(out, MALFORMED)
            break
    put(levels, L_COUNT, taken)
    # Cut off what a broken entry left behind: every count follows from the offsets of the column above.
    put(out, SURROGATES, surrogates if status != DONE else at(out, SURROGATES))
    put(out, MALFORMED, malformed if status != DONE else at(out, MALFORMED))
    for c in range(columns):
        n = at(levels, col(cols, c, C_LEVEL) * L_SIZE + L_COUNT)
        if col(cols, c, C_KIND) == K_VAR:
            put(cols, c * C_SIZE + C_VAR_N, load_i32_le(col(cols, c, C_DATA) + 4 * n))
        elif col(cols, c, C_KIND) == K_LIST:
            put(levels, col(cols, c, C_CHILD) * L_SIZE + L_COUNT, load_i32_le(col(cols, c, C_DATA) + 4 * n))
    put(out, ROWS, taken - first)
    put(out, PAIRS, rows)
    put(out, CONSUMED, entry)
    return status


run = compile_kernel(_run)
