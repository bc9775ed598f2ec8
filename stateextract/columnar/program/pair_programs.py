"""Pairs: how canonical bodies and RocksDB write entries, as programs.

A pair is ``i32 nk · bytes[nk] key · i32 nv · bytes[nv] value``; big-endian, and in a key group of a canonical body the
highest bit of the key's first byte says that no other pair of its state follows. The key holds everything that tells
entries apart, one part after the other::

    key group        1 byte if the operator's max parallelism is at most 128, else 2
    key              [its length, if key and namespace are both variable-length]
    namespace        [its length, likewise]
    user key         of a map: one pair per map entry

and the value the rest: the value itself; for lists the elements with a byte between them; for maps a flag (true: null) and
the user value; nothing for queues, whose element is in the key. Lengths have no bound on their own bytes: least
significant byte first, until nothing is left.

Rows come out in the layout of heap entries, so the same state has the same columns. Flink's classes:
``CompositeKeySerializationUtils``, ``ListDelimitedSerializer``, ``RocksDBMapState``, ``HeapKeyValueStateIterator``.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from stateextract.columnar.layout import (
    Bytes,
    Field,
    Layout,
    List,
    Logical,
    Map,
    Nullable,
    Number,
    SkippedValue,
    Struct,
    Text,
)
from stateextract.columnar.program import Compiler, is_8
from stateextract.columnar.program.operations import ColumnNode, Label, Op, Program

KEY_GROUP = "key_group"


@dataclass(frozen=True)
class PairLayout:
    """What the pairs of one state hold.

    :param shape: ``value``, ``list``, ``map`` or ``queue``; ``skip``: pairs are only passed over, by their lengths.
    :param fields: the parts as fields of a heap entry: ``key``, ``namespace`` and ``value`` (of a list or map: the whole
        ``List`` or ``Map``); of a queue those of an element, in wire order.
    :param prefix: bytes of the key group.
    :param lengths: lengths come after key and namespace.
    :param raw: values (of maps: those of the entries) are not decoded but kept as bytes. A map is then flat.
    :param groups: rows have the field ``key_group``, taken from the key.
    """

    shape: str
    fields: tuple[Field, ...]
    prefix: int
    lengths: bool
    raw: bool = False
    groups: bool = False

    def part(self, name: str) -> Layout:
        """The layout of a field."""
        return next(f.layout for f in self.fields if f.name == name)

    @property
    def entry(self) -> Struct:
        """The rows: a struct of the fields."""
        fields = tuple(Field(f.name, Bytes()) if self.raw and f.name == "value" else f for f in self.fields)
        return Struct(fields + self._group)

    @property
    def _group(self) -> tuple[Field, ...]:
        return (Field(KEY_GROUP, Number(pa.int16())),) if self.groups else ()

    @property
    def flat_entry(self) -> Struct:
        """For maps: rows of one map entry each, with ``map_key`` and ``value`` in the place of the map."""
        value = self.part("value")
        assert isinstance(value, Map)
        others = tuple(f for f in self.fields if f.name != "value")
        inner = Bytes() if self.raw else value.value
        return Struct((*others, Field("map_key", value.key), Field("value", inner), *self._group))


def compile_pairs(layout: PairLayout, flat: bool = False) -> Program:
    """A program that decodes pairs.

    :param flat: for maps: a row per pair instead of a row per key and namespace.
    """
    return PairCompiler().pairs(layout, flat)


class PairCompiler(Compiler):
    """Compiles what reads pairs."""

    def pairs(self, layout: PairLayout, flat: bool) -> Program:
        if layout.shape == "skip":
            self.op(Op.PAIR, layout.prefix)
            self.op(Op.REST)
            self.op(Op.VALUE, 0)
            self.op(Op.REST)
            self.op(Op.END_PAIR, -1)
            return self.finish(None, 8 + layout.prefix)
        flat = layout.shape == "map" and (flat or layout.raw)
        root = self.allocate(layout.flat_entry if flat else layout.entry, 0, nullable=False)
        columns = root.children if root is not None else {}
        if layout.shape == "map" and not flat:
            self.map_row(layout, columns)
            return self.finish(root, 8 + layout.prefix)
        self.op(Op.PAIR, layout.prefix)
        if layout.groups:
            self.op(Op.GROUP, columns[KEY_GROUP].index)
        if layout.shape == "queue":
            for f in layout.fields:
                self.emit(f.layout, columns.get(f.name))
            self.value_begins()
            self.op(Op.REST)
        elif flat:
            self.row_key(layout, columns)
            value = layout.part("value")
            assert isinstance(value, Map)
            self.emit_some(value.key, columns.get("map_key"))
            if not layout.raw:
                self.user_value(value.value, columns.get("value"), -1)
                return self.finish(root, 8 + layout.prefix)
            self.value_begins()
            self.op(Op.BYTES_REST, columns["value"].index)
        else:
            self.row_key(layout, columns)
            node = columns.get("value")
            if node is not None and layout.shape == "value" and not layout.raw and is_8(layout.part("value")):
                skipped = self.skipped()
                group = [Op.GROUP, columns[KEY_GROUP].index] if layout.groups else []
                key = columns["key"].index if "key" in columns else -1
                plain = self.code == [Op.PAIR, layout.prefix, *group, Op.FIXED8, key]
                self.op(Op.VALUE8, skipped, node.index, layout.prefix, key if plain else -1, group[1] if group else -1)
                return self.finish(root, 8 + layout.prefix)
            self.value_begins()
            self.value(layout, node)
        self.op(Op.END_PAIR, -1)
        return self.finish(root, 8 + layout.prefix)

    def row_key(self, layout: PairLayout, columns: dict[str, ColumnNode]) -> None:
        for name in ("key", "namespace"):
            if layout.lengths:
                self.op(Op.PART)
            self.emit(layout.part(name), columns.get(name))
            if layout.lengths:
                self.op(Op.LENGTH)

    def skipped(self) -> int:
        """Bytes that the operation before only passes over; that operation is taken back."""
        if self.last_skip < 0 or self.last_skip != len(self.code) - 2:
            return 0
        size = self.code.pop()
        self.code.pop()
        self.last_skip = -1
        return size

    def value_begins(self) -> None:
        """The key must end here."""
        self.op(Op.VALUE, self.skipped())

    def value(self, layout: PairLayout, node: ColumnNode | None) -> None:
        value = layout.part("value")
        if layout.raw or isinstance(value, SkippedValue):
            self.op(Op.REST) if node is None else self.op(Op.BYTES_REST, node.index)
        elif layout.shape == "list":
            assert isinstance(value, List)
            if node is not None and is_8(value.element):
                self.op(Op.LIST8_REST, node.index, node.child_level, node.children["item"].index)
                return
            end = Label()
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
            self.op(Op.LIST_REST, -1 if node is None else node.index, 0 if node is None else node.child_level, end)
            self.here(Label())
            self.emit_some(value.element, None if node is None else node.children["item"])
            self.op(Op.NEXT_REST)
            self.here(end)
            self.depth -= 1
        else:
            self.emit_some(value, node) if node is not None else self.emit(value, None)

    def user_value(
        self, layout: Layout, node: ColumnNode | None, extended: int, run: tuple[int, int, int] = (0, 0, -1)
    ) -> None:
        """The value of a map entry, with which the pair ends; bytes may follow the flag of a null.

        :param extended: the column that the entry went into, or -1.
        :param run: the last operands of ``ENTRY8``.
        """
        assert isinstance(layout, Nullable)
        null = Label()
        if node is not None and extended >= 0 and is_8(layout.inner):
            self.op(Op.ENTRY8, null, node.index, extended, *run)
        else:
            self.op(Op.FLAG, null)
            self.emit_some(layout.inner, node)
            self.op(Op.END_PAIR, extended)
        self.here(null)
        if node is not None:
            self.fill(node.same_level())
        self.op(Op.REST)
        self.op(Op.END_PAIR, extended)

    def map_row(self, layout: PairLayout, columns: dict[str, ColumnNode]) -> None:
        """One pair is one entry of a map, and pairs of one key and namespace are adjacent: they make one row."""
        value = layout.part("value")
        assert isinstance(value, Map)
        node = columns["value"]
        entries = node.children["entries"]
        known = Label()
        self.op(Op.MARK, layout.prefix, node.index, node.child_level, known)
        if layout.groups:
            self.op(Op.GROUP, columns[KEY_GROUP].index)
        self.row_key(layout, columns)
        self.op(Op.MARKED, node.index, node.child_level)
        self.here(known)
        self.emit_some(value.key, entries.children["key"])
        self.user_value(
            value.value, entries.children["value"], node.index, (layout.prefix, *_user_key(value.key, entries))
        )


def _user_key(layout: Layout, entries: ColumnNode) -> tuple[int, int]:
    """The column of a map's keys, and what ``ENTRY8`` is to know of them."""
    kind = 0 if is_8(layout) else -1
    while isinstance(layout, Logical):
        layout = layout.inner
    if isinstance(layout, Text) and layout.coding == "flink":
        kind = 1
    return entries.children["key"].index, kind
