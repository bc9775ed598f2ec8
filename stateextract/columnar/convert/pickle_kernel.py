"""The compiled pass over pickles that finds those of plain data: what C's ``pickle`` may load, and a JSON writer may write.

A pickle passes if each of its opcodes makes ``None``, a boolean, a whole number of 64 bits, a finite float that JSON writes
without an exponent, a string, bytes, a tuple, a list or a dict with strings as keys; if it recalls nothing but strings; if
every length, memo index and depth is within bounds; and if it ends with one value. It names no class, so that loading it
can call nothing. All others are left to ``files/pickles.py``, which decides what they are.

Opcodes are those of ``Lib/pickletools.py`` of CPython. Knows nothing of Arrow.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    compile_kernel,
    load_i32_le,
    load_i64,
    load_i64_le,
    load_u8,
    put,
    store_8,
)

MOST_BYTES = 1 << 16
"""Larger pickles are not for the fast way: a value takes memory before it is seen how much."""
MOST_RECALLED = 1 << 20
"""Bytes of all strings of one pickle that are recalled."""

_DEEPEST = 32
_OTHER, _TEXT, _LIST, _DICT, _MARK = 0, 1, 2, 3, 4
_LEAST_FLOAT = 0x3F1A36E2EB1C432D  # 0.0001 as bits
_MOST_FLOAT = 0x4341C37937E08000  # 1e16 as bits


@compile_kernel
def check(data: int, offsets: int, count: int, out: int, kinds: int, depths: int, memo: int) -> int:
    """Which pickles pass.

    :param data: the address of the bytes of all pickles; :param offsets: ``int64[count + 1]``, where each begins in them.
    :param out: ``uint8[count]``: 1 of a pickle that passes, else 0.
    :param kinds: and ``depths``, ``memo``: room for ``int64[MOST_BYTES]`` each.
    :returns: how many pass.
    """
    passed = 0
    for number in range(count):
        pos = data + at(offsets, number)
        end = data + at(offsets, number + 1)
        store_8(out + number, 0)
        if end - pos < 4 or end - pos > MOST_BYTES or load_u8(pos) != 0x80 or load_u8(end - 1) != 0x2E:
            continue
        if load_u8(pos + 1) < 2 or load_u8(pos + 1) > 5:
            continue
        pos += 2
        top = 0  # values and marks on the stack
        known = 0  # entries of the memo
        recalled = 0
        good = True
        while good:
            if pos >= end:
                good = False
                break
            op = load_u8(pos)
            pos += 1
            left = end - pos
            kind = -1  # of a new value
            depth = 0
            size = -1  # of a text or of bytes
            if op == 0x2E:  # STOP
                good = left == 0 and top == 1 and at(kinds, 0) != _MARK
                break
            elif op == 0x94:  # MEMOIZE
                good = top > 0 and at(kinds, top - 1) != _MARK
                if good:
                    put(memo, known, at(depths, top - 1) if at(kinds, top - 1) == _TEXT else -1)
                    known += 1
            elif op == 0x4B:  # BININT1
                good = left > 1
                kind, pos = _OTHER, pos + 1
            elif op == 0x4D:  # BININT2
                good = left > 2
                kind, pos = _OTHER, pos + 2
            elif op == 0x4A:  # BININT
                good = left > 4
                kind, pos = _OTHER, pos + 4
            elif op == 0x47:  # BINFLOAT
                good = left > 8
                if good:
                    bits = load_i64(pos) & 0x7FFFFFFFFFFFFFFF
                    good = bits == 0 or (bits >= _LEAST_FLOAT and bits < _MOST_FLOAT)
                kind, pos = _OTHER, pos + 8
            elif op == 0x8C or op == 0x58:  # SHORT_BINUNICODE, BINUNICODE
                width = 1 if op == 0x8C else 4
                good = left > width
                if good:
                    size = load_u8(pos) if width == 1 else load_i32_le(pos)
                    pos += width
                    good = size >= 0 and size < end - pos
                if good:
                    for i in range(size - 1):
                        if load_u8(pos + i) == 0xED and load_u8(pos + i + 1) >= 0xA0:  # half of a surrogate pair
                            good = False
                    pos += size
                kind, depth = _TEXT, size
            elif op == 0x43 or op == 0x42:  # SHORT_BINBYTES, BINBYTES
                width = 1 if op == 0x43 else 4
                good = left > width
                if good:
                    size = load_u8(pos) if width == 1 else load_i32_le(pos)
                    pos += width
                    good = size >= 0 and size < end - pos
                    if good:
                        pos += size
                kind = _OTHER
            elif op == 0x4E or op == 0x88 or op == 0x89 or op == 0x29:  # NONE, NEWTRUE, NEWFALSE, EMPTY_TUPLE
                kind = _OTHER
            elif op == 0x5D:  # EMPTY_LIST
                kind = _LIST
            elif op == 0x7D:  # EMPTY_DICT
                kind = _DICT
            elif op == 0x28:  # MARK
                kind = _MARK
            elif op == 0x8A:  # LONG1
                good = left > 1 and load_u8(pos) <= 8 and load_u8(pos) < left - 1
                if good:
                    pos += 1 + load_u8(pos)
                kind = _OTHER
            elif op == 0x68:  # BINGET
                good = left > 1 and load_u8(pos) < known and at(memo, load_u8(pos)) >= 0
                if good:
                    depth = at(memo, load_u8(pos))
                    recalled += depth
                    good = recalled <= MOST_RECALLED
                kind, pos = _TEXT, pos + 1
            elif op == 0x6A:  # LONG_BINGET
                good = left > 4 and load_i32_le(pos) >= 0 and load_i32_le(pos) < known
                if good:
                    depth = at(memo, load_i32_le(pos))
                    recalled += depth
                    good = depth >= 0 and recalled <= MOST_RECALLED
                kind, pos = _TEXT, pos + 4
            elif op == 0x71 or op == 0x72:  # BINPUT, LONG_BINPUT
                width = 1 if op == 0x71 else 4
                good = left > width and top > 0
                if good:
                    index = load_u8(pos) if width == 1 else load_i32_le(pos)
                    good = index == known and at(kinds, top - 1) != _MARK
                    put(memo, known, at(depths, top - 1) if at(kinds, top - 1) == _TEXT else -1)
                    known += 1
                pos += width
            elif op == 0x95:  # FRAME
                good = left > 8 and load_i64_le(pos) >= 0 and load_i64_le(pos) <= left - 8
                pos += 8
            elif op == 0x85 or op == 0x86 or op == 0x87:  # TUPLE1, TUPLE2, TUPLE3
                n = op - 0x84
                good = top >= n
                if good:
                    for _ in range(n):
                        top -= 1
                        if at(kinds, top) == _MARK:
                            good = False
                        elif at(kinds, top) != _TEXT:
                            depth = max(depth, at(depths, top))
                    depth += 1
                kind = _OTHER
            elif op == 0x61:  # APPEND
                good = top >= 2 and at(kinds, top - 2) == _LIST and at(kinds, top - 1) != _MARK
                if good:
                    top -= 1
                    inner = at(depths, top) if at(kinds, top) != _TEXT else 0
                    put(depths, top - 1, max(at(depths, top - 1), inner + 1))
                    good = inner < _DEEPEST
            elif op == 0x73:  # SETITEM
                good = top >= 3 and at(kinds, top - 3) == _DICT and at(kinds, top - 2) == _TEXT and at(kinds, top - 1) != _MARK
                if good:
                    top -= 2
                    inner = at(depths, top + 1) if at(kinds, top + 1) != _TEXT else 0
                    put(depths, top - 1, max(at(depths, top - 1), inner + 1))
                    good = inner < _DEEPEST
            elif op == 0x74 or op == 0x65 or op == 0x75:  # TUPLE, APPENDS, SETITEMS
                first = top
                while first > 0 and at(kinds, first - 1) != _MARK:
                    first -= 1
                good = first > 0
                if good:
                    for i in range(first, top):
                        if at(kinds, i) != _TEXT:
                            depth = max(depth, at(depths, i))
                        if op == 0x75 and (i - first) & 1 == 0 and at(kinds, i) != _TEXT:
                            good = False
                    depth += 1
                    if op == 0x75 and (top - first) & 1:
                        good = False
                    top = first - 1
                    if op == 0x74:
                        kind = _OTHER
                    else:
                        good = good and top > 0 and at(kinds, top - 1) == (_LIST if op == 0x65 else _DICT)
                        if good:
                            put(depths, top - 1, max(at(depths, top - 1), depth))
                            good = depth < _DEEPEST
            else:
                good = False
            if good and kind >= 0:
                if kind != _TEXT and depth >= _DEEPEST:
                    good = False
                else:
                    put(kinds, top, kind)
                    put(depths, top, depth)
                    top += 1
        if good:
            store_8(out + number, 1)
            passed += 1
    return passed
