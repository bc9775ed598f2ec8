"""Columns of wire values: what of them is valid, their integers, and values that are wrong or do not fit.

Rows that are null, or that lie below a null, may hold any bytes: a mask of the valid rows goes along, and nothing outside
of it is looked at. For the conversions of ``logical.py`` and ``big_numbers.py``.

May import layouts, the policy, errors, numpy and pyarrow. Must not know of bytes' positions, files, numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.layout import Logical
from stateextract.errors import FormatError, ValueRefusedError

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Context:
    policy: Policy
    counts: ChangeCounts


# ---- masks and plain columns


def validity(array: pa.Array) -> Mask | None:
    if array.null_count == 0:
        return None
    bits = np.frombuffer(array.buffers()[0], np.uint8)
    first = array.offset % 8
    used = bits[array.offset // 8 : (array.offset + len(array) + 7) // 8]
    return np.unpackbits(used, bitorder="little")[first : first + len(array)].view(np.bool_)


def both(left: Mask | None, right: Mask | None) -> Mask | None:
    if left is None or right is None:
        return right if left is None else left
    return left & right


def bitmap(valid: Mask | None) -> pa.Buffer | None:
    return None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def integers(array: pa.Array, valid: Mask, dead: int = 0) -> Ints:
    """A column's integers, ``dead`` in the rows that are not valid."""
    if len(array) == 0:
        return np.zeros(0, np.int64)
    raw = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())[array.offset : array.offset + len(array)]
    return raw.astype(np.int64) if valid.all() else np.where(valid, raw, dead).astype(np.int64)


def parts_of(array: pa.Array, valid: Mask, dead: Sequence[int]) -> list[Ints]:
    """The integers of a struct's fields, by position."""
    return [integers(array.field(i), valid, fill) for i, fill in enumerate(dead)]


def column(type_: pa.DataType, numbers: npt.NDArray[Any], valid: Mask) -> pa.Array:
    return pa.Array.from_buffers(type_, len(numbers), [bitmap(valid), pa.py_buffer(numbers)])


# ---- values that are wrong, and values that do not fit

DescribeValue = Callable[[int], str]


def require(right: Mask, valid: Mask, describe: DescribeValue) -> None:
    wrong = valid & ~right
    if wrong.any():
        raise FormatError(f"invalid value: {describe(int(wrong.argmax()))}")


def fitting(fits: Mask, valid: Mask, node: Logical, ctx: Context, describe: DescribeValue) -> Mask:
    """The valid rows that fit: the others are refused, or counted and become null."""
    wrong = valid & ~fits
    if not wrong.any():
        return valid
    if ctx.policy.out_of_range == "fail":
        raise ValueRefusedError(
            f"{describe(int(wrong.argmax()))} does not fit the type {node.type}",
            advice="set --out-of-range null to get a null, which is counted",
        )
    ctx.counts.out_of_range += int(wrong.sum())
    return valid & fits
