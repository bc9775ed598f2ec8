"""Elements of lists and maps that are made of numbers and texts alone, which a small loop of its own reads.

It has fewer operations than ``run``, needs fewer registers, and tells no errors.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    at,
    compile_kernel,
    load_i32,
    load_i64,
    load_i64_le,
    load_u8,
    put,
    stay_apart,
    store_32,
    store_64,
)
from stateextract.columnar.compiled.compile import at_row as col
from stateextract.columnar.kernel.lists import close_list
from stateextract.columnar.kernel.machine import (
    C_DATA,
    C_SIZE,
    C_VAR,
    C_VAR_CAP,
    C_VAR_N,
    F_LEFT,
    F_SIZE,
    HIGH_BITS,
    Machine,
)
from stateextract.columnar.program.operations import Op

FIXED4, FIXED8, NFIXED4, NFIXED8 = int(Op.FIXED4), int(Op.FIXED8), int(Op.NFIXED4), int(Op.NFIXED8)
TEXT, NULLABLE, NEXT = int(Op.TEXT), int(Op.NULLABLE), int(Op.NEXT)


def _read_plain(code: int, pc: int, src: int, pos: int, end: int, cols: int, i: int, frame: int) -> tuple[int, int, int]:
    """Run the operations from ``pc`` on, where an element begins, as long as nothing about the values is unusual.

    What is unusual, wrong or not whole is left to ``run``, and so is the end of the list.

    :param frame: address of the list's frame.
    :returns: the position, that in the program, and the slot at which ``run`` goes on: at ``NEXT`` behind the last element.
    """
    stay_apart()
    body = pc
    left = at(frame, F_LEFT)
    while True:
        op = at(code, pc)
        if op == TEXT:
            place = at(code, pc + 1) * C_SIZE
            here = src + pos + 1
            n = load_u8(src + pos) - 1
            var_n = at(cols, place + C_VAR_N)
            if n < 1 or n > 126 or end - pos <= n or var_n + n > at(cols, place + C_VAR_CAP):
                break
            # Up to sixteen characters without a branch, since their number changes from text to text.
            target = at(cols, place + C_VAR) + var_n
            eight = load_i64_le(here)
            more = load_i64_le(here + 8)
            store_64(target, eight)
            store_64(target + 8, more)
            short = (n - 9) >> 63
            high = eight << (8 * (8 - n) & 63 & short)
            high |= (more << (8 * (16 - n) & 63)) & ~short
            if n > 16:
                high = eight | more
                k = 16
                while k < n and high & HIGH_BITS == 0:
                    high = load_i64_le(here + k)
                    store_64(target + k, high)
                    if n - k < 8:
                        high &= (1 << (8 * (n - k))) - 1
                    k += 8
            if high & HIGH_BITS != 0:
                break
            put(cols, place + C_VAR_N, var_n + n)
            store_32(at(cols, place + C_DATA) + 4 * i + 4, var_n + n)
            pos += 1 + n
            pc += 3
        elif op == NFIXED8:
            if end - pos < 9 or load_u8(src + pos) != 0:
                break
            store_64(col(cols, at(code, pc + 1), C_DATA) + 8 * i, load_i64(src + pos + 1))
            pos += 9
            pc += 2
        elif op == FIXED8:
            if end - pos < 8:
                break
            store_64(col(cols, at(code, pc + 1), C_DATA) + 8 * i, load_i64(src + pos))
            pos += 8
            pc += 2
        elif op == FIXED4:
            if end - pos < 4:
                break
            store_32(col(cols, at(code, pc + 1), C_DATA) + 4 * i, load_i32(src + pos))
            pos += 4
            pc += 2
        elif op == NFIXED4:
            if end - pos < 5 or load_u8(src + pos) != 0:
                break
            store_32(col(cols, at(code, pc + 1), C_DATA) + 4 * i, load_i32(src + pos + 1))
            pos += 5
            pc += 2
        elif op == NULLABLE:
            if pos >= end or load_u8(src + pos) != 0:
                break
            pos += 1
            pc += 4
        else:
            if op != NEXT or left == 1:
                break
            left -= 1
            i += 1
            pc = body
    put(frame, F_LEFT, left)
    return pos, pc, i


read_plain = compile_kernel(_read_plain)


def plain(m: Machine) -> None:
    """An element begins, all of whose operations up to ``NEXT`` may be numbers and texts."""
    frame = m.frames + 8 * F_SIZE * (m.depth - 1)
    m.pos, m.pc, m.i = read_plain(m.code, m.pc, m.src, m.pos, m.end, m.cols, m.i, frame)
    if at(m.code, m.pc) == Op.NEXT:
        m.pc += 1
        close_list(m)
