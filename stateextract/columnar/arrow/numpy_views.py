"""Arrow arrays as numpy sees them: where they are, their offsets, and which values are not null.

The statistics and the comparison of snapshots both read columns this way. What a value is to them, which bytes count and which
values are equal, each of them defines itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


def address(array: npt.NDArray[Any]) -> int:
    """Where an array's data is. The caller keeps it alive."""
    return int(array.__array_interface__["data"][0])


def is_list(type_: pa.DataType) -> bool:
    """Whether values are lists or maps; a map is a list of its entries."""
    return bool(pa.types.is_list(type_) or pa.types.is_map(type_))


def offsets_of(array: pa.Array) -> npt.NDArray[Any]:
    """The offsets of strings, bytes, lists or maps, one more than there are values: int32, of large strings and bytes int64."""
    large = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    dtype, buffer = np.int64 if large else np.int32, array.buffers()[1]
    if buffer is None or not buffer.size or not len(array):
        return np.zeros(len(array) + 1, dtype)
    return np.frombuffer(buffer, dtype)[array.offset : array.offset + len(array) + 1]


def validity(array: pa.Array) -> Bits | None:
    """Which values are not null; ``None``: all."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.bool_)
    if array.null_count == 0:
        return None
    found: Bits = array.is_valid().to_numpy(zero_copy_only=False)
    return found
