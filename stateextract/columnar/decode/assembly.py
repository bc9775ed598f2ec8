"""From the kernel's columns to Arrow arrays, without copying what Arrow can take as it is.

The arena is one Arrow buffer that all columns are slices of. Offsets and data go into arrays as they are; validity and
booleans, a byte per slot in the arena, are packed to bits here.

May import programs, numpy, pyarrow. Must not know of layouts, numba, files, Flink.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.program.operations import ColumnNode, Kind, Program
from stateextract.errors import ValueRefusedError

_ALIGN = 64
_SLACK = 16
# How the kernel calls a column: a fixed one by its width.
_KERNEL_KINDS = {Kind.VAR: 16, Kind.LIST: 17, Kind.VALID: 18}


class Arena:
    """Room for one batch: the buffers of every column of a program.

    :param slots: capacity of each level.
    :param data: capacity in bytes of each column's variable data (0 where it has none).
    :raises MemoryError: where the machine has no such room.
    """

    def __init__(self, program: Program, slots: list[int], data: list[int]) -> None:
        self.program = program
        self.slots = slots
        total = 0
        places: list[tuple[int, int, int]] = []
        for node, var in zip(program.columns, data, strict=True):
            cap = slots[node.level]
            size = node.width * cap if node.kind is Kind.FIXED else 0 if node.kind is Kind.VALID else 4 * (cap + 1)
            place = []
            for part in (size, cap if node.nullable else 0, var):
                place.append(total)
                total += -(-(part + _SLACK) // _ALIGN) * _ALIGN
            places.append((place[0], place[1], place[2]))
        self.buffer = pa.allocate_buffer(total, resizable=False)
        self.bytes = np.frombuffer(self.buffer, np.uint8)
        self.places = places
        address = self.buffer.address
        self.cols: npt.NDArray[np.int64] = np.zeros((len(program.columns), 8), np.int64)
        for index, (node, (at, valid_at, var_at), var) in enumerate(zip(program.columns, places, data, strict=True)):
            cap = slots[node.level]
            if node.nullable:
                self.bytes[valid_at : valid_at + cap] = 1
            if node.kind in (Kind.VAR, Kind.LIST):
                self.bytes[at : at + 4] = 0
            self.cols[index] = (
                _KERNEL_KINDS.get(node.kind, node.width),
                address + at,
                address + valid_at if node.nullable else 0,
                address + var_at,
                0,
                var,
                node.level,
                node.child_level,
            )
        self.levels: npt.NDArray[np.int64] = np.zeros((program.levels, 2), np.int64)
        self.levels[:, 1] = slots
        self.cols_address = int(self.cols.ctypes.data)
        self.levels_address = int(self.levels.ctypes.data)

    @property
    def rows(self) -> int:
        """Entries in it."""
        return int(self.levels[0, 0])

    def array(self) -> pa.Array:
        """The wire-typed array of all entries so far. The arena must not be written any more."""
        if self.program.root is None:
            return pa.nulls(self.rows, pa.bool_())
        return self._array(self.program.root)

    def _array(self, node: ColumnNode) -> pa.Array:
        length = int(self.levels[node.level, 0])
        at, valid_at, var_at = self.places[node.index]
        validity = self._bits(valid_at, length) if node.nullable else None
        if node.kind is Kind.FIXED:
            if pa.types.is_boolean(node.type):
                values = pa.py_buffer(np.packbits(self.bytes[at : at + length], bitorder="little"))
            else:
                values = self.buffer.slice(at, node.width * length)
            return pa.Array.from_buffers(node.type, length, [validity, values])
        if node.kind is Kind.VAR:
            offsets = self.buffer.slice(at, 4 * (length + 1))
            data = self.buffer.slice(var_at, int(self.cols[node.index, 4]))
            return pa.Array.from_buffers(node.type, length, [validity, offsets, data])
        children = [self._array(child) for child in node.children.values()]
        if node.kind is Kind.VALID:
            return pa.Array.from_buffers(node.type, length, [validity], children=children)
        if pa.types.is_map(node.type) and children[0].field(0).null_count:
            # Before the map is made: Arrow aborts the process over a map with a null key.
            raise ValueRefusedError(
                "a map has a null key",
                advice="set --maps list to get lists of key and value, where the key may be null",
            )
        offsets = self.buffer.slice(at, 4 * (length + 1))
        return pa.Array.from_buffers(node.type, length, [validity, offsets], children=children)

    def _bits(self, at: int, length: int) -> pa.Buffer | None:
        """A validity bitmap, or ``None`` where no slot is null."""
        flags = self.bytes[at : at + length]
        if flags.all():
            return None
        return pa.py_buffer(np.packbits(flags, bitorder="little"))
