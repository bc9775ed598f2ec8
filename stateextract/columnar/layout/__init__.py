"""Layouts: what serialized bytes mean, as data.

A serializer module turns a serializer snapshot into a tree of the nodes below and does no decoding of its own. Three
things follow from a layout, each written once for all serializers: the Arrow schema (here), the program of the compiled
kernel (``program/``, ``kernel/``) and the slow interpreter (``interpreter/``).

The nodes are a small closed set of *wire primitives*: each says which bytes it takes and which Arrow value they make.
A node never knows where it is in a file. ``Logical`` sits on top of a primitive where Arrow's value is computed
from the wire's (dates, decimals, enum names); the computing is in ``logical.py``, vectorised, for both decoders.

May import pyarrow and plans only. Must not know of snapshots, files, numba.

==================  =================================================================  =============================
node                bytes                                                              wire value (Arrow)
==================  =================================================================  =============================
``Number``          1, 2, 4 or 8, big-endian unless ``little``                         int8…int64, uint8…, float32/64
``Bool``            1; 0 is false, all else true                                       bool
``Text``            by ``coding``: ``flink``, ``value``, ``utf``, ``utf8``, ``char``   string
``Bytes``           ``i32`` length and that many, or ``size`` many without a length     binary
``BigInteger``      Flink's ``BigIntSerializer``                                       binary: two's complement, big-endian
``Skip``            ``size`` many; if ``expect`` is given, exactly these               no column
``SkippedValue``          those of another layout                                            no column
``Null``            ``size`` many                                                      bool, always null
``Struct``          the fields one after the other                                     struct
``Nullable``        a flag, a byte or wider, then the value or ``padding`` bytes       the inner value, or null
``MaskedStruct``    null bits packed from the most significant bit, then the fields    struct
                    that are not null (Flink's Row)
``List``            ``i32`` count, then the elements; or counted blocks of them        list
``Map``             ``i32`` count, then key and value of each entry; or blocks         map
``Switch``          a tag, a byte or wider, then the fields of that case               struct of all cases' fields
``Subclasses``      Flink's POJO flags, then the fields of that class                  struct of all classes' fields
``Undecodable``     unknown                                                            none: meeting one is an error
``Python``          what its callable takes                                            what it says
==================  =================================================================  =============================

The nodes of SQL's binary rows, whose fields are at fixed places, are in ``binary.py``.

A struct without any column (all fields ``Skip``, or no field) gives a bool column, always null for ``Nullable`` nulls and
true otherwise, because Spark and Parquet refuse empty structs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

if TYPE_CHECKING:
    from stateextract.columnar.layout.kryo_plan import KryoPlan


@dataclass(frozen=True)
class Layout:
    """Base of all nodes. What is worked out once per batch is kept with the node.

    Layouts are not pickled: each task makes them of the serializer snapshots.
    """

    @cached_property
    def wire_type(self) -> pa.DataType | None:
        """Arrow type that the decoders build; ``None`` where the node makes no column."""
        raise NotImplementedError

    @cached_property
    def arrow_type(self) -> pa.DataType | None:
        """Arrow type after ``logical.py``: what the user gets."""
        return self.wire_type

    @property
    def children(self) -> tuple[Layout, ...]:
        """Nodes directly below."""
        return ()

    @property
    def least(self) -> int:
        """Fewest bytes that one value can take (bounds the counts of lists)."""
        raise NotImplementedError

    @cached_property
    def room(self) -> int:
        """Bytes that the columns of one value take in memory at least, if it is null, too; of a list without its elements."""
        return sum(child.room for child in self.children) or 4


# ---- what nodes have in common


@dataclass(frozen=True)
class SameValue(Layout):
    """A node whose value is that of another one."""

    inner: Layout

    @cached_property
    def wire_type(self) -> pa.DataType | None:
        return self.inner.wire_type

    @cached_property
    def arrow_type(self) -> pa.DataType | None:
        return self.inner.arrow_type

    @property
    def children(self) -> tuple[Layout, ...]:
        return (self.inner,)

    @property
    def least(self) -> int:
        return self.inner.least


@dataclass(frozen=True)
class Field:
    """A named part of a struct."""

    name: str
    layout: Layout


class StructValue(Layout):
    """A node whose value is a struct."""

    @cached_property
    def columns(self) -> tuple[Field, ...]:
        """The struct's fields."""
        raise NotImplementedError

    @cached_property
    def wire_type(self) -> pa.DataType:
        return _struct_type([(f.name, f.layout.wire_type) for f in self.columns])

    @cached_property
    def arrow_type(self) -> pa.DataType:
        return _struct_type([(f.name, f.layout.arrow_type) for f in self.columns])


def _struct_type(columns: list[tuple[str, pa.DataType | None]]) -> pa.DataType:
    fields = [pa.field(name, type_) for name, type_ in columns if type_ is not None]
    return pa.struct(fields) if fields else pa.bool_()


@dataclass(frozen=True)
class RowValue(StructValue):
    """Fields that may be null. Field names must differ.

    :param fields: the fields in order.
    :param kind: the bytes have the row's kind, which becomes the field ``row_kind`` with the wire value 0 … 3 (int8) as the
        struct's last column.
    """

    fields: tuple[Field, ...]
    kind: bool = False

    KIND_FIELD: ClassVar[str] = "row_kind"

    def __post_init__(self) -> None:
        _refuse_twice(self.columns)

    @cached_property
    def kind_layout(self) -> Layout:
        """How the row kind appears: as the text ``+I``, ``-U``, ``+U``, ``-D``."""
        return Logical(Number(pa.int8()), "labels", pa.string(), ("+I", "-U", "+U", "-D"))

    @cached_property
    def columns(self) -> tuple[Field, ...]:
        """The fields, then the row kind if there is one."""
        return (*self.fields, Field(self.KIND_FIELD, self.kind_layout)) if self.kind else self.fields

    @property
    def children(self) -> tuple[Layout, ...]:
        return tuple(f.layout for f in self.fields)


@dataclass(frozen=True)
class ListValue(Layout):
    """A node whose value is a list. An element that makes no column becomes a bool.

    :param element: layout of an element.
    """

    element: Layout

    @cached_property
    def wire_type(self) -> pa.DataType:
        return pa.list_(self.element.wire_type or pa.bool_())

    @cached_property
    def arrow_type(self) -> pa.DataType:
        return pa.list_(self.element.arrow_type or pa.bool_())

    @property
    def children(self) -> tuple[Layout, ...]:
        return (self.element,)


@dataclass(frozen=True)
class MapValue(Layout):
    """A node whose value is a map.

    :param key: layout of a key; a null key at run time is an error that says to use ``as_list``.
    :param value: layout of a value (a ``Nullable`` where Flink writes a flag).
    :param as_list: make a list of ``struct<key, value>`` instead of a map: for keys that may be null.
    """

    key: Layout
    value: Layout
    as_list: bool = False

    def _type(self, key: pa.DataType | None, value: pa.DataType | None) -> pa.DataType:
        key, value = key or pa.bool_(), value or pa.bool_()
        if self.as_list:
            return pa.list_(pa.struct([pa.field("key", key), pa.field("value", value)]))
        return pa.map_(key, value)

    @cached_property
    def wire_type(self) -> pa.DataType:
        return self._type(self.key.wire_type, self.value.wire_type)

    @cached_property
    def arrow_type(self) -> pa.DataType:
        return self._type(self.key.arrow_type, self.value.arrow_type)

    @property
    def children(self) -> tuple[Layout, ...]:
        return (self.key, self.value)


# ---- the nodes


@dataclass(frozen=True)
class Number(Layout):
    """A number of fixed width.

    :param type: ``pa.int8()`` … ``pa.int64()``, the unsigned ones, ``pa.float32()`` or ``pa.float64()``.
    :param little: little-endian (no effect on one byte).
    :param flip_sign: the sign bit is inverted on the wire (Flink's timers, so that bytes sort like numbers).
    """

    type: pa.DataType
    little: bool = False
    flip_sign: bool = False

    @cached_property
    def room(self) -> int:
        return self.least

    @property
    def wire_type(self) -> pa.DataType:
        return self.type

    @property
    def least(self) -> int:
        width: int = self.type.bit_width // 8
        return width


@dataclass(frozen=True)
class Bool(Layout):
    """One byte: 0 is false, anything else true."""

    wire_type = pa.bool_()
    least = 1


@dataclass(frozen=True)
class Text(Layout):
    """A string of UTF-16 units.

    :param coding: ``flink``: varint of units + 1 (0 is null), then one varint per unit (``StringValue.writeString``);
        ``value``: varint of units, then one varint per unit (``StringValue.write``);
        ``utf``: ``u16`` length in bytes, then modified UTF-8 (``DataOutput.writeUTF``);
        ``utf8``: ``i32`` length in bytes, then UTF-8 (SQL's ``BinaryStringData``);
        ``char``: one unit in two bytes.

    Surrogate pairs become one code point. A lone surrogate becomes U+FFFD and is counted, or, where ``as_binary``, the
    three bytes that encode it like any other code point (WTF-8) and the column is binary. Of ``utf8``, each longest
    sequence that begins like a character and is none becomes U+FFFD and is counted, or all bytes stay as they are.
    """

    coding: str = "flink"
    as_binary: bool = False

    CODINGS: ClassVar[tuple[str, ...]] = ("flink", "value", "utf", "utf8", "char")

    def __post_init__(self) -> None:
        if self.coding not in self.CODINGS:
            raise ValueError(f"unknown text coding {self.coding!r}")

    @property
    def wire_type(self) -> pa.DataType:
        return pa.binary() if self.as_binary else pa.string()

    @property
    def least(self) -> int:
        return {"utf": 2, "char": 2, "utf8": 4}.get(self.coding, 1)


@dataclass(frozen=True)
class Bytes(Layout):
    """Bytes as they are.

    :param size: that many bytes; ``None``: an ``i32`` length comes first (negative is corrupt).
    """

    size: int | None = None

    wire_type = pa.binary()

    @property
    def least(self) -> int:
        return 4 if self.size is None else self.size


@dataclass(frozen=True)
class BigInteger(Layout):
    """Flink's ``BigIntSerializer``: ``i32`` c; 0 null, 1, 2, 3 the numbers 0, 1, 10; otherwise ``c - 4`` bytes follow.

    The wire value is the number's two's complement, big-endian, at least one byte.

    :param scaled: Flink's ``BigDecSerializer``: an ``i32`` scale follows, but not after null. The wire value then has the
        scale's four bytes after the number's.
    """

    scaled: bool = False

    wire_type = pa.binary()
    least = 4


@dataclass(frozen=True)
class Skip(Layout):
    """Bytes without meaning for the user.

    :param size: how many.
    :param expect: they must be exactly these (then ``size`` is their length), else the data is corrupt.
    """

    size: int = 0
    expect: bytes | None = None

    wire_type = None
    room = 0

    @property
    def least(self) -> int:
        return len(self.expect) if self.expect is not None else self.size


@dataclass(frozen=True)
class SkippedValue(SameValue):
    """The bytes of another layout that are not selected: read over as cheaply as can be.

    What is found in them is looked at no further than their end demands.
    """

    wire_type = arrow_type = None
    room = 0


@dataclass(frozen=True)
class Null(Layout):
    """A type whose only value is null (Void), ``size`` bytes on the wire. A bool column, because Spark reads no null type."""

    size: int = 0

    wire_type = pa.bool_()

    @property
    def least(self) -> int:
        return self.size


@dataclass(frozen=True)
class Struct(StructValue):
    """Fields one after the other, nothing between them. Field names must differ."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        _refuse_twice(self.fields)

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.fields

    @property
    def children(self) -> tuple[Layout, ...]:
        return tuple(f.layout for f in self.fields)

    @property
    def least(self) -> int:
        return sum(f.layout.least for f in self.fields)


@dataclass(frozen=True)
class Nullable(SameValue):
    """A flag byte before a value that may be missing.

    :param inner: the value.
    :param null_if: ``True``: a flag other than 0 means null (NullableSerializer, POJO fields, map values, sets);
        ``False``: the flag 0 means null (generic arrays, Scala's Option).
    :param padding: bytes that follow the flag of a null and mean nothing.
    :param width: the flag is the last of that many bytes, the others must be 0 (Avro's union of null and a type).
    """

    null_if: bool = True
    padding: int = 0
    width: int = 1

    @cached_property
    def room(self) -> int:
        return 1 + self.inner.room

    @property
    def least(self) -> int:
        return self.width + min(self.padding, self.inner.least)


@dataclass(frozen=True)
class MaskedStruct(RowValue):
    """Flink's ``RowSerializer``: a mask, most significant bit first and padded to whole bytes; then the non-null fields.

    If it has the row's ``kind``, the mask begins with its two bits (low bit first).
    """

    @property
    def least(self) -> int:
        return (len(self.fields) + (2 if self.kind else 0) + 7) // 8


@dataclass(frozen=True)
class List(ListValue):
    """A count, then the elements.

    :param blocks: instead of an ``i32`` count and the elements: a varint count and as many elements, any number of times,
        and the count 0 at the end (Flink's Avro).
    :param null_mask: after the ``i32`` count comes a bit per element, most significant bit first and padded to whole
        bytes; only elements whose bit is 0 follow, the others are null (``LinkedListSerializer`` of SQL).
    :param unordered: the elements are those of a set: their order is a hash table's and means nothing. The bytes are read
        alike.
    """

    blocks: bool = False
    null_mask: bool = False
    unordered: bool = False

    room = 4

    @property
    def least(self) -> int:
        return 1 if self.blocks else 4


@dataclass(frozen=True)
class Map(MapValue):
    """A count, then key and value of each entry. Where keys are always null, by their type, it is a list in any case.

    :param blocks: as for :class:`List`.
    """

    blocks: bool = False

    room = 4

    def __post_init__(self) -> None:
        if always_null(self.key):
            object.__setattr__(self, "as_list", True)

    @property
    def least(self) -> int:
        return 1 if self.blocks else 4


@dataclass(frozen=True)
class Case:
    """One alternative of a :class:`Switch`.

    :param tag: value of the tag byte (0 … 255); ``None``: any byte that no other case has.
    :param fields: the fields that follow, in wire order; they land in the struct column of the same name.
    """

    tag: int | None
    fields: tuple[Field, ...]


def _merged(groups: tuple[tuple[Field, ...], ...]) -> tuple[Field, ...]:
    """All fields of all groups by name, in order of first appearance."""
    seen: dict[str, Field] = {}
    for group in groups:
        for f in group:
            if f.layout.wire_type is None:
                continue
            known = seen.setdefault(f.name, f)
            if not same_column(known.layout, f.layout):
                raise ValueError(f"the field {f.name!r} has two types: {known.layout.arrow_type} and {f.layout.arrow_type}")
    return tuple(seen.values())


@dataclass(frozen=True)
class Switch(StructValue):
    """A tag that says which fields follow: Either, tagged unions, stream elements.

    The value is a struct with every field of every case (same name: same column, so same type), null where the case
    that is read has no such field. Arrow's unions are refused by Spark and Parquet.

    :param cases: the alternatives.
    :param width: the tag is the last of that many bytes, the others must be 0 (Avro's unions).
    """

    cases: tuple[Case, ...]
    width: int = 1

    def __post_init__(self) -> None:
        tags = [c.tag for c in self.cases]
        if len(set(tags)) != len(tags):
            raise ValueError("two cases of a switch have the same tag")
        for case in self.cases:
            _refuse_twice(case.fields)
        _ = self.columns

    @cached_property
    def columns(self) -> tuple[Field, ...]:
        """The struct's fields, in order of first appearance."""
        return _merged(tuple(c.fields for c in self.cases))

    @property
    def children(self) -> tuple[Layout, ...]:
        return tuple(f.layout for c in self.cases for f in c.fields)

    @property
    def least(self) -> int:
        return self.width + min((sum(f.layout.least for f in c.fields) for c in self.cases), default=0)


@dataclass(frozen=True)
class Subclass:
    """A class below a POJO.

    :param class_name: Java class name, as the bytes and the ``class`` column give it.
    :param tag: its position among the registered subclasses, or ``None``: it is written by name only.
    :param fields: what follows, in wire order, *including* whatever precedes its fields (a POJO's own flags byte is
        ``Field("", Skip(expect=b"\\x02"))``); a field lands in the column of the same name.
    """

    class_name: str
    tag: int | None
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Subclasses(StructValue):
    """Flink's ``PojoSerializer``: a flags byte, tested in the order 1 (null), 4 (named), 8 (tagged), 2 (declared class).

    4: ``writeUTF`` class name, then the subclass' value; 8: one tag byte, then the subclass' value; 2: the fields.

    :param class_name: the declared class.
    :param fields: its fields in wire order (each usually ``Nullable``).
    :param subclasses: known subclasses; then the struct's first column is ``class`` with the class of each value.
    """

    class_name: str
    fields: tuple[Field, ...]
    subclasses: tuple[Subclass, ...] = ()

    CLASS_FIELD: ClassVar[str] = "class"
    least = 1

    def __post_init__(self) -> None:
        _refuse_twice(self.fields)
        _ = self.columns

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names by the wire value of the ``class`` column: the declared class first, then the subclasses in order."""
        return (self.class_name, *(s.class_name for s in self.subclasses))

    @cached_property
    def columns(self) -> tuple[Field, ...]:
        """The struct's fields: ``class`` (wire: int16 index) if there are subclasses, then all fields of all classes."""
        fields = _merged((self.fields, *(s.fields for s in self.subclasses)))
        if not self.subclasses:
            return fields
        label = Field(self.CLASS_FIELD, Logical(Number(pa.int16()), "labels", pa.string(), self.class_names))
        return _merged(((label,), fields))

    @property
    def children(self) -> tuple[Layout, ...]:
        return tuple(f.layout for group in (self.fields, *(s.fields for s in self.subclasses)) for f in group)


@dataclass(frozen=True)
class Undecodable(Layout):
    """Bytes that no decoder here can read. Meeting a value of it is an error; a type that only *may* hold one is fine.

    :param class_name: the snapshot or serializer class.
    :param reason: why, one clause.
    """

    class_name: str
    reason: str

    wire_type = pa.binary()
    least = 0


@dataclass(frozen=True)
class Python(Layout):
    """What cannot be described: decoded by a callable. The whole state then takes the slow way, unless there is a plan.

    :param decode: ``decode(data: memoryview, pos: int, end: int) -> (value, new position)``; raises
        ``stateextract.errors.TruncatedError`` where the bytes end too early. With ``inner`` it is also given that and
        the counters: ``decode(data, pos, end, inner, counts)``.
    :param type: Arrow type of the values, which must be acceptable to ``pa.array``.
    :param inner: says what the values mean, so that policies and logical conversions reach them: ``decode`` gives the
        wire values of this layout, though the bytes are others. ``type`` is then its wire type.
    :param not_described: classes that values may have and of which nothing is known: a value of one cannot be decoded.
    :param uncertain: why else only a read shows whether all values can be decoded, one clause each.
    :param plan: how the kernel reads most values (``kryo_plan.py``). Each has a byte at least.
    :param faster: gives what decodes most values faster for the interpreter: of this layout and of what decodes all values,
        which it leaves the others to.
    """

    decode: Callable[..., tuple[Any, int]] = field(compare=False)
    type: pa.DataType
    inner: Layout | None = None
    not_described: tuple[str, ...] = field(default=(), compare=False)
    uncertain: tuple[str, ...] = field(default=(), compare=False)
    plan: KryoPlan | None = field(default=None, compare=False)
    faster: Callable[[Python, Callable[..., Any]], Callable[..., Any]] | None = field(default=None, compare=False)

    @cached_property
    def wire_type(self) -> pa.DataType | None:
        return self.type if self.inner is None else self.inner.wire_type

    @cached_property
    def plain(self) -> Layout:
        """A layout for what ``decode`` gives: any part may be null, and texts and bytes have a length in front."""
        assert self.inner is not None
        return _plain(self.inner)

    @cached_property
    def arrow_type(self) -> pa.DataType | None:
        return self.type if self.inner is None else self.inner.arrow_type

    @property
    def children(self) -> tuple[Layout, ...]:
        return () if self.inner is None else (self.inner,)

    @property
    def least(self) -> int:
        return 0 if self.plan is None else 1


def _plain(layout: Layout) -> Nullable:
    made: Layout
    match layout:
        case Logical() | Nullable():
            return _plain(layout.inner)
        case Number():
            made = Number(layout.type)
        case Bool():
            made = layout
        case Text():
            made = Text("utf8", layout.as_binary)
        case Bytes() | BigInteger():
            made = Bytes()
        case Struct():
            made = Struct(tuple(Field(f.name, _plain(f.layout)) for f in layout.fields))
        case List():
            made = List(_plain(layout.element))
        case Map():
            made = Map(_plain(layout.key), _plain(layout.value), layout.as_list)
        case _:
            raise TypeError(f"{type(layout).__name__} in the column of a plan")
    return Nullable(made)


@dataclass(frozen=True)
class Logical(SameValue):
    """A value computed from a wire value.

    :param inner: what is on the wire.
    :param conversion: name of the function in ``logical.CONVERSIONS``.
    :param type: Arrow type of the result.
    :param labels: the names that ``labels`` picks from by index.
    """

    conversion: str
    type: pa.DataType
    labels: tuple[str, ...] = ()

    @property
    def arrow_type(self) -> pa.DataType:
        return self.type


def always_null(layout: Layout) -> bool:
    """Whether a layout has no value but null (``Void``)."""
    while isinstance(layout, Nullable | Logical):
        layout = layout.inner
    return isinstance(layout, Null)


def same_column(a: Layout, b: Layout) -> bool:
    """Whether values of two layouts can be in one column: their wire values have one type and mean the same."""
    return a.wire_type == b.wire_type and a.arrow_type == b.arrow_type and _meaning(a) == _meaning(b)


def _meaning(layout: Layout) -> tuple[Any, ...]:
    """The conversions of a layout, in order; flags and lengths on the wire make no difference."""
    own = ((layout.conversion, layout.labels),) if isinstance(layout, Logical) else ()
    below = [f.layout for f in layout.columns] if isinstance(layout, StructValue) else layout.children
    return (*own, *(part for node in below if node.wire_type is not None for part in _meaning(node)))


def struct(**fields: Layout) -> Struct:
    """Shorthand: ``struct(a=Bool(), b=Text())``."""
    return Struct(tuple(Field(name, layout) for name, layout in fields.items()))


def walk(layout: Layout) -> list[Layout]:
    """The node and all nodes below it, parents first."""
    nodes = [layout]
    for child in layout.children:
        nodes.extend(walk(child))
    return nodes


def values_of(layout: Layout) -> int:
    """How many values an element makes that takes no bytes: those of its leaves, and one at least."""
    return sum(map(values_of, layout.children)) or 1


def undecodable_parts(layout: Layout) -> list[Undecodable]:
    """Nodes that would stop the decoder if a value of them were met."""
    return [node for node in walk(layout) if isinstance(node, Undecodable)]


def _refuse_twice(fields: tuple[Field, ...]) -> None:
    named = [f.name for f in fields if f.name]
    if len(set(named)) != len(named):
        raise ValueError(f"two fields have the same name: {sorted(n for n in named if named.count(n) > 1)[0]!r}")

