"""The compiled conversion of ``BigDecimal``: two's complement and scale to the text of Java's ``BigDecimal.toString()``.

Knows nothing of Arrow.
"""

from __future__ import annotations

from stateextract.columnar.compiled.compile import (
    compile_kernel,
    load_i32,
    load_i32_le,
    load_i64,
    load_u8,
    store_8,
    store_32,
)
from stateextract.columnar.kernel.texts import put_scaled

MOST_BYTES = 32
"""Room for a text that is written."""


@compile_kernel
def decimal_texts(data: int, offsets: int, rows: int, count: int, out: int, ends: int) -> int:
    """Write the texts of numbers that fit into 64 bits and have no exponent.

    :param data: the address of the numbers, big-endian, each with a scale of four bytes behind it; eight bytes in front of them
        can be read; :param offsets: ``int32[count + 1]``, where each begins in them.
    :param rows: ``uint8[count]``: 1 for rows that are not null. Becomes 2 where nothing was written.
    :param out: takes the texts, ``MOST_BYTES`` of room each; :param ends: ``int32[count + 1]``, where each begins there.
    :returns: in how many rows that are not null nothing was written.
    """
    left = 0
    target = out
    store_32(ends, 0)
    for row in range(count):
        if load_u8(rows + row) != 0:
            begin = data + load_i32_le(offsets + 4 * row)
            end = data + load_i32_le(offsets + 4 * row + 4) - 4
            behind = 0
            unused = 64 - 8 * (end - begin)
            if 0 <= unused < 64:
                behind = put_scaled(target, (load_i64(end - 8) << unused) >> unused, load_i32(end))
            if behind == 0:
                left += 1
                store_8(rows + row, 2)
            else:
                target = behind
        store_32(ends + 4 * row + 4, target - out)
    return left
