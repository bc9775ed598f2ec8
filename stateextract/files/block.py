"""A block of bytes that a decoder reads: a NumPy array with some spare bytes after its data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SLACK = 16
"""Bytes after the data of a block that the kernel's eight-byte loads may touch."""


class Block:
    """``array`` (uint8) and where it lies in memory, because asking NumPy each time is slow.

    The last :data:`SLACK` bytes of the array are never data.
    """

    __slots__ = ("address", "array")

    def __init__(self, array: npt.NDArray[np.uint8]) -> None:
        self.array = array
        self.address = int(array.ctypes.data)

    @classmethod
    def of(cls, data: bytes | bytearray | memoryview) -> Block:
        """A copy of the bytes with slack after them."""
        array = np.zeros(len(data) + SLACK, np.uint8)
        array[: len(data)] = np.frombuffer(data, np.uint8)
        return cls(array)

    @property
    def view(self) -> memoryview:
        """The bytes, slack included."""
        return self.array.data
