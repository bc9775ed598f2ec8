"""Layouts of SQL's binary format: rows, arrays and maps whose fields are at fixed places.

A *section* is a stretch of bytes with a length. The nodes here are sections, and so are ``Bytes()`` and ``Text("utf8")``:
outside of a section an ``i32`` (big-endian) length comes before each. A row or an array has *slots*; in a slot of
eight bytes contain the position of a section instead, as one little-endian number: the offset from the beginning of the row
or array in its upper half, the length in its lower half. If the highest bit is set, the section is in the slot itself:
its first bytes, as many as the seven bits below say, at most seven.

==================  =================================================================  =============================
node                content                                                            wire value (Arrow)
==================  =================================================================  =============================
``BinaryRow``       the row's kind; null bits, least significant first, from bit 8     struct
                    on, padded to 8 bytes; a slot of 8 bytes for each field; then
                    the sections of the fields
``BinaryArray``     ``i32`` count; null bits, padded to 4 bytes; a slot for each       list
                    element, as wide as its number, else 8 bytes; then the sections
``BinaryMap``       ``i32`` size of the keys' array; the keys and the values, each a   map, or list of entries
                    ``BinaryArray``
``Framed``          any other layout, which takes all bytes                            the inner value
``SlotTimestamp``   in a slot only: the offset of an ``i64`` in the upper half, an     struct<ms, nanos>
                    ``i32`` in the lower half
``Rest``            what is left of the section                                        binary
==================  =================================================================  =============================

Inside of rows, arrays and maps numbers are little-endian (Flink writes them as the machine does, and nothing records
which it was). Every field and element may be null. Bytes that no slot points at mean nothing: a row may be longer than
its fields account for.

Flink's classes: ``org.apache.flink.table.data.binary.{BinaryRowData,BinaryArrayData,BinaryMapData,BinarySegmentUtils}``.
May import layouts only. Must not know of snapshots, files, numba.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from stateextract.columnar.layout import (
    Bool,
    Bytes,
    Layout,
    ListValue,
    Logical,
    MapValue,
    Number,
    RowValue,
    SameValue,
    Text,
    Undecodable,
)

KIND_BITS = 8
"""The null bits of a row begin after the byte of its kind."""


@dataclass(frozen=True)
class SlotTimestamp(Layout):
    """Milliseconds since 1970 and the nanoseconds after them, where a slot is too narrow for both."""

    wire_type = pa.struct([pa.field("ms", pa.int64()), pa.field("nanos", pa.int32())])
    least = 8


@dataclass(frozen=True)
class Rest(Layout):
    """What is left of the section, as it is."""

    wire_type = pa.binary()
    least = 0


@dataclass(frozen=True)
class Framed(SameValue):
    """A section that another layout fills to its last byte."""

    least = 4


@dataclass(frozen=True)
class BinaryRow(RowValue):
    """A row of fields at fixed places, each fit for a slot. Without ``kind``, the byte of the row's kind is skipped."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for f in self.fields:
            slot_width(f.layout)

    @property
    def null_bytes(self) -> int:
        """Bytes of the kind and the null bits."""
        return (KIND_BITS + len(self.fields) + 63) // 64 * 8

    @property
    def fixed_bytes(self) -> int:
        """Bytes of the section that are always there."""
        return self.null_bytes + 8 * len(self.fields)

    @property
    def least(self) -> int:
        return 4 + self.fixed_bytes


@dataclass(frozen=True)
class BinaryArray(ListValue):
    """A list of elements at fixed places, fit for a slot."""

    least = 8

    def __post_init__(self) -> None:
        slot_width(self.element)


@dataclass(frozen=True)
class BinaryMap(MapValue):
    """Keys and values, fit for a slot, in two arrays of the same length."""

    least = 16

    def __post_init__(self) -> None:
        slot_width(self.key)
        slot_width(self.value)


def in_slot(layout: Layout) -> Layout:
    """The node that describes how a slot is read: below the conversions."""
    while isinstance(layout, Logical):
        layout = layout.inner
    return layout


def slot_width(layout: Layout) -> int:
    """Bytes that an array's slot has for such an element; a row's always has eight.

    :raises ValueError: for a layout that has no form in a slot.
    """
    node = in_slot(layout)
    if isinstance(node, Bool):
        return 1
    if isinstance(node, Number) and not node.flip_sign and (node.little or node.least == 1):
        return node.least
    if isinstance(node, SlotTimestamp | BinaryRow | BinaryArray | BinaryMap | Framed | Undecodable):
        return 8
    if (isinstance(node, Bytes) and node.size is None) or (isinstance(node, Text) and node.coding == "utf8"):
        return 8
    raise ValueError(f"a {type(node).__name__} has no form in a slot: {node!r}")
