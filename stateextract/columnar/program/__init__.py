"""The compiler: from a layout to a program that the kernel runs for every entry.

``compile_layout`` walks a layout twice. First it allocates *columns*; then it emits
*operations* that read the bytes of one entry and append to those columns. A field that is not selected gets no column; its
operations only advance. What both are is in ``operations.py``; what is emitted for SQL's binary format in
``binary_program.py``, for Kryo's values in ``kryo_program.py``.

May import layouts, numpy, pyarrow. Must not know of numba, files, Flink.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from stateextract.columnar.layout import (
    BigInteger,
    Bool,
    Bytes,
    Layout,
    List,
    Logical,
    Map,
    MaskedStruct,
    Null,
    Nullable,
    Number,
    Python,
    Skip,
    SkippedValue,
    Struct,
    Subclasses,
    Switch,
    Text,
    Undecodable,
    values_of,
)
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow, Framed, Rest, SlotTimestamp
from stateextract.columnar.program import binary_program
from stateextract.columnar.program.operations import MAX_CALLS, ColumnNode, Kind, Label, Op, Program
from stateextract.files.reader import encode_modified_utf8

_KRYO, _SKIP, _JUMP = Op.KRYO.value, Op.SKIP.value, Op.JUMP.value


class NeedsInterpreterError(Exception):
    """The layout has a ``Python`` leaf without a plan, which only the interpreter can run."""


def compile_layout(layout: Layout) -> Program:
    """Compile a layout.

    :raises NeedsInterpreterError: for layouts with ``Python`` leaves that have no plan.
    """
    return Compiler().compile(layout)


def compile_skip(layout: Layout) -> Program:
    """Compile a layout to a program without output, for states that are only passed over."""
    compiler = Compiler()
    compiler.emit(layout, None)
    compiler.op(Op.END)
    return compiler.finish(None, layout.least)


def _bare(layout: Layout) -> Layout:
    """The layout of the bytes, without conversions of their value."""
    while isinstance(layout, Logical):
        layout = layout.inner
    return layout


def _is_number(layout: Layout) -> bool:
    """Whether it is a number as Java writes it."""
    if isinstance(layout, Number):
        return not layout.flip_sign and (not layout.little or layout.least == 1)
    return isinstance(layout, Bool)


def is_8(layout: Layout) -> bool:
    """Whether values are eight bytes that go into a column as they are, but for their order."""
    return _is_number(_bare(layout)) and layout.least == 8


def _has_flag(layout: Nullable) -> bool:
    """Whether nothing follows a flag that says null."""
    return layout.null_if and layout.padding == 0


def _is_plain(layout: Layout) -> bool:
    """Whether ``PLAIN`` reads it: numbers of four and eight bytes, which may be null, texts, and structs, which may be null."""
    layout = _bare(layout)
    if isinstance(layout, Struct):
        return bool(layout.fields) and all(_is_plain(f.layout) for f in layout.fields)
    if isinstance(layout, Nullable) and _has_flag(layout) and layout.width == 1:
        layout = _bare(layout.inner)
        if isinstance(layout, Struct):
            return _is_plain(layout)
    elif isinstance(layout, Text):
        return layout.coding == "flink"
    return _is_number(layout) and layout.least in (4, 8)


class Compiler:
    """Allocates columns and emits operations; one use gives one program."""

    def __init__(self) -> None:
        self.code: list[int] = []
        self.constants = bytearray()
        self.offsets: dict[bytes, int] = {}
        self.columns: list[ColumnNode] = []
        self.levels = 1
        self.depth = 0
        self.masks = 0
        self.deepest = 0
        self.most_masks = 0
        self.undecodable: list[Undecodable] = []
        self.classes: dict[bytes, int] = {}
        self.kryo = False
        self.routines: dict[Any, Label] = {}
        self.pending: list[tuple[Label, Callable[[], None]]] = []
        self.last_skip = self.last_jump = self.last_label = -1

    def compile(self, layout: Layout) -> Program:
        root = self.allocate(layout, 0, nullable=False)
        self.emit(layout, root)
        self.op(Op.END)
        return self.finish(root, layout.least)

    def routine(self, key: Any, emit: Callable[[], None]) -> Label:
        """The position of the code that ``emit`` emits once for a key, after the program, to be called."""
        label = self.routines.get(key)
        if label is None:
            label = self.routines[key] = Label()
            self.pending.append((label, emit))
        return label

    def aside(self, label: Label, emit: Callable[[], None]) -> None:
        """Emit what is rare after the program, so that what is common needs no jump over it. ``emit`` ends with a jump."""
        depth = self.depth

        def emit_there() -> None:
            outer, self.depth = self.depth, depth
            emit()
            self.depth = outer

        self.pending.append((label, emit_there))

    def finish(self, root: ColumnNode | None, least: int) -> Program:
        while self.pending:
            label, emit = self.pending.pop()
            self.here(label)
            emit()
        if self.routines:
            self.deepest = (self.deepest + 3) * (MAX_CALLS + 1)
        return Program(
            np.array(self.code, np.int32),
            np.frombuffer(bytes(self.constants) + b"\0" * 8, np.uint8).copy(),
            self.columns,
            root,
            self.levels,
            max(self.deepest, 1),
            max(self.most_masks, 1),
            least,
            self.undecodable,
            self.kryo,
        )

    # -- columns

    def column(self, kind: Kind, type_: pa.DataType, level: int, nullable: bool, width: int = 0) -> ColumnNode:
        node = ColumnNode(len(self.columns), kind, type_, width, level, nullable)
        self.columns.append(node)
        return node

    def open_level(self) -> int:
        self.levels += 1
        return self.levels - 1

    def allocate(self, layout: Layout, level: int, nullable: bool) -> ColumnNode | None:
        type_ = layout.wire_type
        match layout:
            case Skip() | SkippedValue():
                return None
            case Number():
                return self.column(Kind.FIXED, type_, level, nullable, layout.least)
            case Bool():
                return self.column(Kind.FIXED, type_, level, nullable, 1)
            case Null():
                return self.column(Kind.FIXED, type_, level, True, 1)
            case Text():
                return self.column(Kind.VAR, type_, level, nullable or layout.coding == "flink")
            case Bytes() | Rest():
                return self.column(Kind.VAR, type_, level, nullable)
            case SlotTimestamp():
                parts: list[tuple[str, Layout]] = [("ms", Number(pa.int64())), ("nanos", Number(pa.int32()))]
                return self.allocate_struct(parts, level, nullable, children_nullable=False)
            case BigInteger() | Undecodable():
                return self.column(Kind.VAR, type_, level, True)
            case Nullable():
                return self.allocate(layout.inner, level, nullable=True)
            case Logical() | Framed():
                return self.allocate(layout.inner, level, nullable)
            case Struct():
                fields = [(f.name, f.layout) for f in layout.fields]
                return self.allocate_struct(fields, level, nullable, children_nullable=False)
            case MaskedStruct() | Switch() | Subclasses() | BinaryRow():
                fields = [(f.name, f.layout) for f in layout.columns]
                own_null = isinstance(layout, Subclasses)
                return self.allocate_struct(fields, level, nullable or own_null, children_nullable=True)
            case List() | BinaryArray():
                node = self.column(Kind.LIST, type_, level, nullable)
                node.child_level = self.open_level()
                null = isinstance(layout, BinaryArray) or layout.null_mask
                node.children["item"] = self.allocate_some(layout.element, node.child_level, null)
                return node
            case Map() | BinaryMap():
                assert type_ is not None
                node = self.column(Kind.LIST, type_, level, nullable)
                node.child_level = self.open_level()
                # The entries' struct exactly as the map's type has it (its key is not nullable): Arrow aborts the
                # process when a value is taken from a map whose parts disagree with its type.
                entry_type = type_.value_type if layout.as_list else pa.struct([type_.key_field, type_.item_field])
                entry = self.column(Kind.VALID, entry_type, node.child_level, False)
                null = isinstance(layout, BinaryMap)
                entry.children["key"] = self.allocate_some(layout.key, node.child_level, null)
                entry.children["value"] = self.allocate_some(layout.value, node.child_level, null)
                node.children["entries"] = entry
                return node
            case Python():
                if layout.plan is None:
                    raise NeedsInterpreterError
                return self.allocate(layout.plain, level, nullable)
        raise TypeError(f"no column for {type(layout).__name__}")

    def allocate_some(self, layout: Layout, level: int, nullable: bool = False) -> ColumnNode:
        """A column in any case: a bool where the layout makes none."""
        return self.allocate(layout, level, nullable) or self.column(Kind.FIXED, pa.bool_(), level, nullable, 1)

    def allocate_struct(
        self, fields: list[tuple[str, Layout]], level: int, nullable: bool, children_nullable: bool
    ) -> ColumnNode:
        node = self.column(Kind.VALID, pa.struct([]), level, nullable)
        for name, layout in fields:
            child = self.allocate(layout, level, children_nullable)
            if child is not None:
                node.children[name] = child
        if node.children:
            node.type = pa.struct([(name, child.type) for name, child in node.children.items()])
        else:
            node.kind, node.type, node.width = Kind.FIXED, pa.bool_(), 1
        return node

    # -- operations

    def op(self, op: Op, *operands: int | Label) -> None:
        code, number = self.code, op._value_
        if number >= _KRYO:
            self.kryo = True
        elif number == _SKIP:
            (size,) = operands
            assert isinstance(size, int)
            if size == 0:
                return
            if self.last_skip >= 0 and self.last_skip == len(code) - 2:
                code[-1] += size
                return
            self.last_skip = len(code)
        elif number == _JUMP:
            self.last_jump = len(code)
        code.append(number)
        if operands:
            self.operands(*operands)

    def operands(self, *operands: int | Label) -> None:
        """More of the operation that was emitted last."""
        code = self.code
        for operand in operands:
            if type(operand) is Label:
                operand.uses.append(len(code))
                operand = -1 if operand.position is None else operand.position
            code.append(operand)  # type: ignore[arg-type]

    def here(self, label: Label) -> None:
        end = len(self.code)
        if end - 2 == self.last_jump and label.uses[-1:] == [end - 1] and self.last_label < end:
            del self.code[-2:]  # a jump to what follows, which nothing else comes to either
            label.uses.pop()
            self.last_jump = -1
        self.last_label = len(self.code)
        label.position = len(self.code)
        self.last_skip = -1  # a jump may land here: what follows must not melt into what precedes
        for use in label.uses:
            self.code[use] = label.position

    def constant(self, data: bytes) -> int:
        offset = self.offsets.get(data)
        if offset is None:
            offset = self.offsets[data] = len(self.constants)
            self.constants += data
        return offset

    def fill(self, nodes: list[ColumnNode]) -> None:
        if nodes:
            self.op(Op.FILL, len(nodes), *(n.index for n in nodes))

    def emit(self, layout: Layout, node: ColumnNode | None) -> None:
        """Emit what reads one value; into ``node``'s columns, or past it where ``node`` is ``None``."""
        self.EMIT[type(layout)](self, layout, node)

    def emit_some(self, layout: Layout, node: ColumnNode | None) -> None:
        """As ``emit`` for a column made by ``allocate_some``: a layout without value leaves a true, whatever it holds."""
        if layout.wire_type is not None:
            self.emit(layout, node)
            return
        self.emit(layout, None)
        if node is not None:
            self.op(Op.PRESENT, node.index)

    def emit_number(self, layout: Number, node: ColumnNode | None) -> None:
        width = layout.least
        if node is None:
            self.op(Op.SKIP, width)
        elif _is_number(layout):
            self.op({1: Op.FIXED1, 2: Op.FIXED2, 4: Op.FIXED4, 8: Op.FIXED8}[width], node.index)
        else:
            self.op(Op.FIXED, node.index, width, int(layout.little), int(layout.flip_sign))

    def emit_bool(self, _: Bool, node: ColumnNode | None) -> None:
        # Kept as the byte it is; packing to bits takes any byte but 0 for true, as Java does.
        self.op(Op.SKIP, 1) if node is None else self.op(Op.FIXED1, node.index)

    def emit_text(self, layout: Text, node: ColumnNode | None) -> None:
        if layout.coding == "utf8":
            binary_program.emit_section(self, layout, node)
        elif node is not None:
            ops = {"flink": Op.TEXT, "value": Op.TEXT_VALUE, "utf": Op.UTF, "char": Op.CHAR}
            self.op(ops[layout.coding], node.index, int(layout.as_binary))
        elif layout.coding == "char":
            self.op(Op.SKIP, 2)
        elif layout.coding == "utf":
            self.op(Op.SKIP_UTF)
        else:
            self.op(Op.SKIP_TEXT, int(layout.coding == "flink"))

    def emit_bytes(self, layout: Bytes, node: ColumnNode | None) -> None:
        if layout.size is None:
            self.op(Op.SKIP_BYTES) if node is None else self.op(Op.BYTES, node.index)
        else:
            self.op(Op.SKIP, layout.size) if node is None else self.op(Op.BYTES_N, node.index, layout.size)

    def emit_big_integer(self, layout: BigInteger, node: ColumnNode | None) -> None:
        if node is None:
            self.op(Op.SKIP_BIG, int(layout.scaled))
        else:
            self.op(Op.BIG_INTEGER, node.index, int(layout.scaled))

    def emit_skip(self, layout: Skip, _: ColumnNode | None) -> None:
        if layout.expect is not None:
            if layout.expect:
                self.op(Op.EXPECT, len(layout.expect), self.constant(layout.expect))
        else:
            self.op(Op.SKIP, layout.size)

    def emit_passed(self, layout: SkippedValue, _: ColumnNode | None) -> None:
        self.emit(layout.inner, None)

    def emit_null(self, layout: Null, node: ColumnNode | None) -> None:
        self.op(Op.SKIP, layout.size) if node is None else self.op(Op.NULL, node.index, layout.size)

    def emit_logical(self, layout: Logical, node: ColumnNode | None) -> None:
        self.emit(layout.inner, node)

    def emit_struct(self, layout: Struct, node: ColumnNode | None) -> None:
        self.emit_fields([(f.name, f.layout) for f in layout.fields], node)
        if node is not None and not node.children:
            self.op(Op.PRESENT, node.index)

    def emit_fields(self, fields: list[tuple[str, Layout]], node: ColumnNode | None) -> None:
        for name, layout in fields:
            self.emit(layout, None if node is None else node.children.get(name))

    def emit_nullable(self, layout: Nullable, node: ColumnNode | None) -> None:
        inner = _bare(layout.inner)
        if _has_flag(layout):
            if node is None and isinstance(inner, Number | Bool):
                self.emit_zeros(layout.width - 1)
                self.op(Op.NSKIP, inner.least)
                return
            if node is not None and _is_number(inner):
                self.emit_zeros(layout.width - 1)
                self.op({1: Op.NFIXED1, 2: Op.NFIXED2, 4: Op.NFIXED4, 8: Op.NFIXED8}[inner.least], node.index)
                return
            if node is not None and isinstance(inner, Text) and inner.coding == "flink":
                self.emit_zeros(layout.width - 1)
                self.op(Op.NTEXT, node.index, int(inner.as_binary))
                return
        null = Label()
        self.emit_zeros(layout.width - 1)
        self.op(Op.NULLABLE, int(layout.null_if), layout.padding, null)
        self.emit(layout.inner, node)
        self.emit_null_at(null, node)

    def emit_null_at(self, null: Label, node: ColumnNode | None, end: Label | None = None) -> None:
        """After a value: what its null does begins at ``null``, and both go on here, where ``end`` is."""
        end = end or Label()
        if node is None:
            self.here(null)
        else:

            def emit() -> None:
                self.fill(node.same_level())
                self.op(Op.JUMP, end)

            self.aside(null, emit)
        self.here(end)

    def emit_zeros(self, n: int) -> None:
        """The bytes in front of the one that a wide flag or tag is decided by."""
        if n:
            self.op(Op.EXPECT, n, self.constant(bytes(n)))

    def emit_masked(self, layout: MaskedStruct, node: ColumnNode | None) -> None:
        kind = node.children[MaskedStruct.KIND_FIELD].index if node is not None and layout.kind else -1
        first = 2 if layout.kind else 0
        self.masks += 1
        self.most_masks = max(self.most_masks, self.masks)
        self.op(Op.MASK, first + len(layout.fields), kind)
        for bit, f in enumerate(layout.fields, first):
            child = None if node is None else node.children.get(f.name)
            null = Label()
            self.op(Op.MASK_BIT, bit, null)
            self.emit(f.layout, child)
            self.emit_null_at(null, child)
        self.op(Op.MASK_END)
        self.masks -= 1
        if node is not None and not node.children:
            self.op(Op.PRESENT, node.index)

    def emit_list(self, layout: List, node: ColumnNode | None) -> None:
        child = None if node is None else node.children["item"]
        if layout.null_mask:
            self.emit_masked_list(layout, node, child)
            return
        if node is not None and child is not None and not layout.blocks and is_8(layout.element):
            self.op(Op.LIST8, node.index, node.child_level, child.index)
            return
        self.emit_elements(node, (layout.element,), layout.blocks, lambda: self.emit_some(layout.element, child))

    def emit_masked_list(self, layout: List, node: ColumnNode | None, child: ColumnNode | None) -> None:
        null, end = Label(), Label()
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        self.op(Op.MASKED_LIST, *((-1, 0) if node is None else (node.index, node.child_level)), end)
        self.here(Label())
        self.op(Op.MASKED_ELEMENT, null)
        valueless = child is not None and layout.element.wire_type is None
        self.emit_some(layout.element, None if valueless else child)
        if child is not None and valueless:
            self.op(Op.PRESENT, child.index)
        self.emit_null_at(null, child)
        self.op(Op.NEXT)
        self.here(end)
        self.depth -= 1

    def emit_map(self, layout: Map, node: ColumnNode | None) -> None:
        entry = None if node is None else node.children["entries"]

        def pair() -> None:
            self.emit_some(layout.key, None if entry is None else entry.children["key"])
            self.emit_some(layout.value, None if entry is None else entry.children["value"])

        self.emit_elements(node, (layout.key, layout.value), layout.blocks, pair)

    def emit_elements(
        self, node: ColumnNode | None, parts: Sequence[Layout], blocks: bool, element: Callable[[], None]
    ) -> None:
        least = sum(part.least for part in parts) or -sum(map(values_of, parts))
        end = Label()
        column, level = (-1, 0) if node is None else (node.index, node.child_level)
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        if blocks:
            self.op(Op.LIST_BLOCKS, column, level, end)
        else:
            self.op(Op.LIST, column, level, least, end)
        self.here(Label())
        if node is not None and not blocks and all(map(_is_plain, parts)):
            self.op(Op.PLAIN)
        element()
        if blocks:
            self.here(end)
            self.op(Op.NEXT_BLOCK, column, level, least)
        else:
            self.op(Op.NEXT)
            self.here(end)
        self.depth -= 1

    def emit_switch(self, layout: Switch, node: ColumnNode | None) -> None:
        self.emit_zeros(layout.width - 1)
        end, other = Label(), Label()
        labels = [Label() for _ in layout.cases]
        tagged = [(case.tag, label) for case, label in zip(layout.cases, labels, strict=True) if case.tag is not None]
        rest = [label for case, label in zip(layout.cases, labels, strict=True) if case.tag is None]
        self.op(Op.SWITCH, len(tagged), rest[0] if rest else other)
        for tag, label in tagged:
            self.operands(tag, label)
        for case, label in zip(layout.cases, labels, strict=True):
            self.here(label)
            self.emit_case([(f.name, f.layout) for f in case.fields], node, end)
        self.here(end)
        if node is not None and not node.children:
            self.op(Op.PRESENT, node.index)

    def emit_case(self, fields: list[tuple[str, Layout]], node: ColumnNode | None, end: Label, label: int = -1) -> None:
        """One alternative: its fields, then nulls in the columns of the others."""
        self.emit_fields(fields, node)
        if node is not None:
            names = {name for name, layout in fields if layout.wire_type is not None}
            if label >= 0:
                names.add(Subclasses.CLASS_FIELD)
            absent = [c for name, child in node.children.items() if name not in names for c in child.same_level()]
            self.fill(absent)
        self.op(Op.JUMP, end)

    def emit_subclasses(self, layout: Subclasses, node: ColumnNode | None) -> None:
        null, declared, end = Label(), Label(), Label()
        label_column = -1
        if node is not None and layout.subclasses:
            label_column = node.children[Subclasses.CLASS_FIELD].index
        labels = [Label() for _ in layout.subclasses]
        self.op(Op.POJO, label_column, null, declared, len(layout.subclasses))
        for sub, label in zip(layout.subclasses, labels, strict=True):
            name = encode_modified_utf8(sub.class_name)
            self.operands(-1 if sub.tag is None else sub.tag, self.constant(name), len(name), label)
        labelled = 0 if label_column >= 0 else -1
        self.here(declared)
        self.emit_case([(f.name, f.layout) for f in layout.fields], node, end, labelled)
        for sub, label in zip(layout.subclasses, labels, strict=True):
            self.here(label)
            self.emit_case([(f.name, f.layout) for f in sub.fields], node, end, labelled)
        self.here(end)
        if node is not None and not node.children:
            self.op(Op.PRESENT, node.index)
        self.emit_null_at(null, node)

    def emit_undecodable(self, layout: Undecodable, _: ColumnNode | None) -> None:
        self.op(Op.FAIL, len(self.undecodable))
        self.undecodable.append(layout)

    def emit_python(self, layout: Python, node: ColumnNode | None) -> None:
        if layout.plan is None:
            raise NeedsInterpreterError
        from stateextract.columnar.program import kryo_program

        kryo_program.emit_value(self, layout, node)

    EMIT: ClassVar[dict[type[Layout], Callable[..., None]]] = {
        Number: emit_number,
        Bool: emit_bool,
        Text: emit_text,
        Bytes: emit_bytes,
        BigInteger: emit_big_integer,
        Skip: emit_skip,
        SkippedValue: emit_passed,
        Null: emit_null,
        Logical: emit_logical,
        Struct: emit_struct,
        Nullable: emit_nullable,
        MaskedStruct: emit_masked,
        List: emit_list,
        Map: emit_map,
        Switch: emit_switch,
        Subclasses: emit_subclasses,
        Undecodable: emit_undecodable,
        Python: emit_python,
        **binary_program.EMIT,
    }
