"""What the compiler emits for SQL's binary format (``binary.py``).

A section is entered by ``SECTION`` (a length comes first) or ``REGION`` (a slot tells where it lies) and left by
``LEAVE``; between them positions count from its beginning and nothing beyond its end can be read. ``ROW`` and ``ARRAY``
check once that all slots are there. Numbers, strings and bytes in a row's slot have operations of their own, which look
at the null bit, the slot and the content at once; all else comes after ``SLOT`` or ``ARRAY_ELEMENT``, which go to a
slot unless it is null.

May import layouts and operations. Must not know of numba, files, Flink.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stateextract.columnar.layout import Bool, Bytes, Layout, MaskedStruct, Number, Text, Undecodable
from stateextract.columnar.layout.binary import (
    KIND_BITS,
    BinaryArray,
    BinaryMap,
    BinaryRow,
    Framed,
    Rest,
    SlotTimestamp,
    in_slot,
    slot_width,
)
from stateextract.columnar.program.operations import ColumnNode, Label, Op

if TYPE_CHECKING:
    from stateextract.columnar.program import Compiler

_FIXED = {1: Op.SLOT1, 2: Op.SLOT2, 4: Op.SLOT4, 8: Op.SLOT8}


def emit_section(c: Compiler, layout: Layout, node: ColumnNode | None) -> None:
    """A section with a length in front."""
    _enter(c, Op.SECTION)
    _emit_content(c, layout, node)
    _leave(c, _is_exact(layout, node))


def _is_exact(layout: Layout, node: ColumnNode | None) -> bool:
    return isinstance(layout, Framed) and (node is not None or _may_fail(layout))


def emit_rest(c: Compiler, layout: Rest, node: ColumnNode | None) -> None:
    c.op(Op.REST) if node is None else c.op(Op.BYTES_REST, node.index)


def _enter(c: Compiler, op: Op) -> None:
    c.op(op)
    c.depth += 1
    c.deepest = max(c.deepest, c.depth)


def _leave(c: Compiler, exact: bool = False) -> None:
    c.op(Op.LEAVE, int(exact))
    c.depth -= 1


def _emit_content(c: Compiler, layout: Layout, node: ColumnNode | None) -> None:
    if node is None and not _may_fail(layout):
        return
    match layout:
        case BinaryRow():
            _emit_row(c, layout, node)
        case BinaryArray():
            _emit_array(c, Op.ARRAY, layout.element, node, None if node is None else node.children["item"])
        case BinaryMap():
            _emit_map(c, layout, node)
        case Framed():
            c.emit(layout.inner, node)
        case Text() if node is not None and not layout.as_binary:
            c.op(Op.UTF8_REST, node.index)
        case _:
            assert node is not None
            c.op(Op.BYTES_REST, node.index)


def _emit_row(c: Compiler, layout: BinaryRow, node: ColumnNode | None) -> None:
    kind = node.children[MaskedStruct.KIND_FIELD].index if node is not None and layout.kind else -1
    c.op(Op.ROW, layout.fixed_bytes, kind)
    for i, f in enumerate(layout.fields):
        child = None if node is None else node.children.get(f.name)
        place = KIND_BITS + i, layout.null_bytes + 8 * i
        if child is None:
            if _may_fail(f.layout):
                _emit_guarded(c, f.layout, None, Op.SLOT, *place)
            continue
        direct = in_slot(f.layout)
        if isinstance(direct, Number | Bool):
            c.op(_FIXED[direct.least], child.index, *place)
        elif isinstance(direct, Text) and not direct.as_binary:
            c.op(Op.SLOT_UTF8, child.index, *place)
        elif isinstance(direct, Text | Bytes):
            c.op(Op.SLOT_BYTES, child.index, *place)
        else:
            _emit_guarded(c, f.layout, child, Op.SLOT, *place)
    if node is not None and not node.children:
        c.op(Op.PRESENT, node.index)


def _may_fail(layout: Layout) -> bool:
    """Whether a value has to be looked at even where it makes no column: to fail where it is wrong."""
    if isinstance(layout, Undecodable) or (isinstance(layout, Framed) and layout.wire_type is None):
        return True
    return any(map(_may_fail, layout.children))


def _emit_guarded(c: Compiler, layout: Layout, node: ColumnNode | None, guard: Op, *operands: int) -> None:
    """What reads a slot, or a null."""
    null, end = Label(), Label()
    c.op(guard, *operands, null)
    valueless = node is not None and layout.wire_type is None
    _emit_slot(c, in_slot(layout), None if valueless else node)
    if node is not None:
        if valueless:
            c.op(Op.PRESENT, node.index)
        c.op(Op.JUMP, end)
        c.here(null)
        c.fill(node.same_level())
    else:
        c.here(null)
    c.here(end)


def _emit_slot(c: Compiler, layout: Layout, node: ColumnNode | None) -> None:
    match layout:
        case Number() | Bool() | Undecodable():
            c.emit(layout, node)
        case SlotTimestamp():
            if node is not None:
                c.op(Op.TIMESTAMP, node.children["ms"].index, node.children["nanos"].index)
        case _:
            _enter(c, Op.REGION)
            _emit_content(c, layout, node)
            _leave(c, _is_exact(layout, node))


def _emit_array(c: Compiler, op: Op, element: Layout, node: ColumnNode | None, child: ColumnNode | None) -> None:
    end = Label()
    width = slot_width(element)
    c.depth += 1
    c.deepest = max(c.deepest, c.depth)
    c.op(op, -1 if node is None else node.index, 0 if node is None else node.child_level, width, end)
    c.here(Label())
    _emit_guarded(c, element, child, Op.ARRAY_ELEMENT, width)
    c.op(Op.NEXT)
    c.here(end)
    c.depth -= 1


def _emit_map(c: Compiler, layout: BinaryMap, node: ColumnNode | None) -> None:
    entry = None if node is None else node.children["entries"]
    _enter(c, Op.MAP_KEYS)
    _emit_array(c, Op.ARRAY, layout.key, node, None if entry is None else entry.children["key"])
    _leave(c)
    _enter(c, Op.MAP_VALUES)
    _emit_array(c, Op.MAP_ARRAY, layout.value, node, None if entry is None else entry.children["value"])
    _leave(c)


EMIT: dict[type[Layout], Callable[..., None]] = {
    BinaryRow: emit_section,
    BinaryArray: emit_section,
    BinaryMap: emit_section,
    Framed: emit_section,
    Rest: emit_rest,
}
"""For the compiler, by node; ``SlotTimestamp`` is in slots only."""
