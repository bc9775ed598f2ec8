"""Hypothesis strategies for layouts and for values of them.

* :func:`layouts` draws a layout of any nodes but ``Python`` and ``Undecodable``; :func:`items` those that may be map
  keys or list elements.
* :func:`values` draws a *written value* of a layout, whose shape ``reference.encode`` tells; :func:`entries` a list of
  them; :func:`layouts_and_values` and :func:`layouts_and_entries` a layout with its own.

``encode``, ``expected``, ``replaced`` and ``same`` of ``reference.py`` are here too. The alphabets are small and
awkward on purpose, and next to nothing is filtered, so that examples are cheap.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from stateextract.columnar.layout import (
    BigInteger,
    Bool,
    Bytes,
    Case,
    Field,
    Layout,
    List,
    Logical,
    Map,
    MaskedStruct,
    Null,
    Nullable,
    Number,
    Skip,
    Struct,
    Subclass,
    Subclasses,
    Switch,
    Text,
)
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow, Framed, Rest, SlotTimestamp, in_slot
from tests.columnar.reference import (
    FLOATS,
    INTEGERS,
    UNSIGNED,
    encode,
    expected,
    makes_column,
    replaced,
    same,
    strip,
)

# ---- layouts


@cache
def numbers() -> st.SearchStrategy[Layout]:
    """All number types, little-endian too; the sign is flipped in integers only."""
    whole = st.sampled_from([*INTEGERS.values(), *UNSIGNED.values()])
    integers = st.builds(Number, whole, st.booleans(), st.booleans())
    return integers | st.builds(Number, st.sampled_from([*FLOATS.values()]), st.booleans())


@cache
def leaves() -> st.SearchStrategy[Layout]:
    """Nodes with nothing below that make a column."""
    return st.one_of(
        numbers(),
        st.just(Bool()),
        st.builds(Text, st.sampled_from(Text.CODINGS), st.booleans()),
        st.builds(Bytes, st.none() | st.integers(0, 5)),
        st.builds(BigInteger, st.booleans()),
        st.builds(Null, st.integers(0, 2)),
        st.sampled_from(
            [
                Logical(Number(pa.int64()), "date", pa.timestamp("us", "UTC")),
                Logical(Number(pa.int32()), "labels", pa.string(), ("RED", "GREEN", "BLUE")),
                Logical(BigInteger(), "big_integer", pa.string()),
            ]
        ),
    )


@cache
def skips() -> st.SearchStrategy[Layout]:
    """Nodes that make no column."""
    plain = st.builds(Skip, st.integers(0, 9)) | st.builds(Skip, expect=st.binary(max_size=3))
    return plain | st.builds(Nullable, plain, st.booleans(), st.integers(0, 2))


@cache
def layouts(depth: int = 3) -> st.SearchStrategy[Layout]:
    """Any layout with at most ``depth`` levels below it that makes a column."""
    if depth == 0:
        return leaves()
    return st.one_of(
        leaves(),
        st.builds(Struct, fields(depth)),
        st.builds(Nullable, layouts(depth - 1), st.booleans(), st.integers(0, 5), st.sampled_from([1, 1, 1, 4])),
        masked_structs(depth),
        st.builds(List, items(depth - 1), st.booleans()),
        maps(depth),
        switches(depth),
        subclasses(depth),
        sections(depth),
        plain_lists(),
        st.builds(List, items(depth - 1), null_mask=st.just(True)),
    )


@cache
def plain_lists() -> st.SearchStrategy[Layout]:
    """Lists and maps of what the operations ``PLAIN`` and ``LIST8`` read."""
    numbers = st.sampled_from([Number(type_) for type_ in (pa.int32(), pa.int64(), pa.float32(), pa.float64())])
    parts = st.one_of(numbers, st.builds(Nullable, numbers), st.just(Text()))
    structs = st.lists(parts, min_size=1, max_size=3).map(lambda p: Struct(tuple(Field(f"p{i}", v) for i, v in enumerate(p))))
    return st.builds(List, parts | structs | st.builds(Nullable, structs)) | st.builds(Map, numbers | st.just(Text()), parts)


@cache
def slots(depth: int) -> st.SearchStrategy[Layout]:
    """Layouts that have a form in a slot."""
    little = st.builds(Number, st.sampled_from([*INTEGERS.values(), *FLOATS.values()]), st.just(True))
    simple = st.one_of(
        little,
        st.just(Bool()),
        st.builds(Text, st.just("utf8"), st.booleans()),
        st.just(Bytes()),
        st.just(SlotTimestamp()),
        st.just(Logical(Number(pa.int64(), little=True), "date", pa.timestamp("us", "UTC"))),
    )
    return simple if depth <= 0 else simple | sections(depth)


@st.composite
def sections(draw: st.DrawFn, depth: int) -> Layout:
    """Rows, arrays, maps, and frames of anything, some of which end with whatever is left."""
    match draw(st.integers(0, 5)):
        case 0:
            return BinaryArray(draw(slots(depth - 1)))
        case 1:
            return BinaryMap(draw(slots(min(depth - 1, 0))), draw(slots(depth - 1)), draw(st.booleans()))
        case 2:
            if draw(st.booleans()):
                return Framed(Struct((Field("head", draw(items(depth - 1))), Field("rest", Rest()))))
            return Framed(draw(layouts(max(depth - 1, 0))))
        case _:
            made = tuple(Field(f"s{i}", draw(slots(depth - 1))) for i in range(draw(st.integers(0, 5))))
            if draw(st.integers(0, 9)) == 0:
                made += tuple(Field(f"wide{i}", Number(pa.int8())) for i in range(draw(st.sampled_from([50, 56, 60]))))
            return BinaryRow(made, kind=draw(st.booleans()))


@cache
def items(depth: int) -> st.SearchStrategy[Layout]:
    """Layouts of list elements, map keys and map values: now and then one without a column."""
    return st.integers(0, 9).flatmap(lambda n: skips() if n == 0 else layouts(depth))


@st.composite
def fields(draw: st.DrawFn, depth: int, least: int = 0) -> tuple[Field, ...]:
    """Fields with names that differ; some make no column, and of those some have no name."""
    made = []
    for i in range(draw(st.integers(least, 4))):
        if draw(st.integers(0, 5)) == 5:
            made.append(Field(draw(st.sampled_from(["", f"skip{i}"])), draw(skips())))
        else:
            made.append(Field(draw(st.sampled_from("abc")) + str(i), draw(layouts(depth - 1))))
    return tuple(made)


@st.composite
def masked_structs(draw: st.DrawFn, depth: int) -> Layout:
    """Rows, some of them with so many fields that the mask takes two or three bytes."""
    made = draw(fields(depth))
    if draw(st.integers(0, 4)) == 0:
        made += tuple(Field(f"wide{i}", Number(pa.int8())) for i in range(draw(st.integers(3, 14))))
    return MaskedStruct(made, kind=draw(st.booleans()))


@st.composite
def maps(draw: st.DrawFn, depth: int) -> Layout:
    """Maps; those whose keys can only be null are lists of entries."""
    key, value = draw(items(min(depth - 1, 1))), draw(items(depth - 1))
    return Map(key, value, draw(st.booleans()) or isinstance(strip(key), Null), draw(st.booleans()))


@st.composite
def alternatives(draw: st.DrawFn, depth: int, pool: tuple[Field, ...]) -> tuple[Field, ...]:
    """Some fields of a pool in any order (so that alternatives share columns), some behind one more null flag."""
    chosen = draw(st.permutations(pool))[: draw(st.integers(0, len(pool)))]
    wrapped = draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    return tuple(Field(f.name, Nullable(f.layout) if w else f.layout) for f, w in zip(chosen, wrapped, strict=True))


@st.composite
def switches(draw: st.DrawFn, depth: int) -> Layout:
    """Tagged unions of one to three cases, perhaps one of them for all other tags."""
    pool = draw(fields(depth, least=1))
    tags = draw(st.lists(st.none() | st.integers(0, 2) | st.integers(0, 255), min_size=1, max_size=3, unique=True))
    return Switch(tuple(Case(tag, draw(alternatives(depth, pool))) for tag in tags), draw(st.sampled_from([1, 1, 4])))


@st.composite
def subclasses(draw: st.DrawFn, depth: int) -> Layout:
    """POJOs: fields behind null flags; subclasses with a flags byte of their own, tagged and by name only."""
    pool = draw(fields(depth, least=1))
    declared = tuple(Field(f.name, Nullable(f.layout)) for f in pool[: draw(st.integers(0, len(pool)))])
    below = []
    for i in range(draw(st.integers(0, 2))):
        tag = draw(st.sampled_from([None, i, i + 100]))
        own = (Field("", Skip(expect=b"\x02")), *draw(alternatives(depth, pool)))
        below.append(Subclass(draw(st.sampled_from(["org.Sub", "Ünter$K", "a\x00b", "😀"])) + str(i), tag, own))
    return Subclasses("org.Base", declared, tuple(below))


# ---- written values


@cache
def texts(longest: int = 20) -> st.SearchStrategy[str]:
    """Strings of characters that take one, two and three bytes, pairs and halves of pairs, NUL; some long ones."""
    awkward = "a~ \x00\x7f\x80é€\u07ff\u0800\u3fff\u4000\ud800\udbff\udc00\udfff\uffff😀\U0010ffff"
    long = st.builds(
        lambda head, n, tail: head + "x" * n + tail,
        st.sampled_from(["", "é", "\udc00"]), st.integers(118, 130), st.sampled_from(["", "\ud800", "😀"]),
    )  # fmt: skip
    plain = st.text("abcdefgh 0123", max_size=longest)
    return st.one_of(plain, st.text(awkward, max_size=longest), long)


@cache
def exactly(size: int) -> st.SearchStrategy[bytes]:
    """That many bytes, of few sorts: what they are never matters."""
    return st.sampled_from([bytes(size), b"\xff" * size, bytes(range(0x7F, 0x7F + size))])


def number_values(layout: Number) -> st.SearchStrategy[Any]:
    if pa.types.is_floating(layout.type):
        special = st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5])
        return special | st.floats(width=layout.type.bit_width, allow_nan=False)
    bits = layout.type.bit_width
    low = 0 if pa.types.is_unsigned_integer(layout.type) else -(1 << bits - 1)
    high = low + (1 << bits) - 1
    return st.sampled_from([low, high, 0, 1, high >> 1]) | st.integers(low, high)


def values(layout: Layout, null: bool = True) -> st.SearchStrategy[Any]:
    """Written values of a layout.

    :param null: whether the value itself (not what is in it) may be null.
    """
    match layout:
        case Number():
            return number_values(layout)
        case Bool():
            return st.sampled_from([0, 1, 1, 2, 0x80, 255])
        case Text(coding="utf8"):
            whole = texts().map(lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
            broken = st.lists(st.sampled_from(BROKEN), max_size=8).map(b"".join)
            return st.one_of(whole, broken, st.binary(max_size=9))
        case BinaryRow():
            parts = st.tuples(*(slot_values(f.layout) for f in layout.fields))
            return st.tuples(st.integers(0, 3), parts, st.sampled_from([b"", b"", bytes(8), b"\xff" * 16]))
        case BinaryArray():
            long = st.integers(0, 9).flatmap(lambda n: st.integers(30, 40) if n == 0 else st.integers(0, 4))
            return long.flatmap(lambda n: st.lists(slot_values(layout.element), min_size=n, max_size=n))
        case BinaryMap():
            return st.lists(st.tuples(slot_values(layout.key, layout.as_list), slot_values(layout.value)), max_size=4)
        case Framed():
            return values(layout.inner, null)
        case Rest():
            return st.binary(max_size=9)
        case SlotTimestamp():
            return st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 999_999) | st.just(-1))
        case Text(coding="char"):
            return st.sampled_from("a\x00é€\ud800\udfff\uffff")
        case Text(coding="flink"):
            return maybe(texts(), null)
        case Text():
            return texts()
        case Bytes():
            return st.binary(max_size=12) if layout.size is None else exactly(layout.size)
        case BigInteger():
            digits = st.sampled_from([1, 2, 3]) | st.binary(min_size=1, max_size=20)
            return maybe(st.tuples(digits, st.integers(-(2**31), 2**31 - 1) | st.integers(-9, 9)), null)
        case Skip():
            return exactly(layout.least) if layout.expect is None else st.none()
        case Null():
            return exactly(layout.size)
        case Struct():
            return st.tuples(*(values(f.layout) for f in layout.fields))
        case Nullable():
            return nullable_values(layout, null)
        case MaskedStruct():
            parts = st.tuples(*(st.tuples(st.booleans(), values(f.layout)) for f in layout.fields))
            return st.tuples(st.integers(0, 3), parts)
        case List(null_mask=True):
            return st.lists(st.tuples(st.booleans(), values(layout.element)), max_size=4) | st.lists(
                st.tuples(st.booleans(), values(layout.element)), min_size=8, max_size=9
            )
        case List():
            return st.lists(values(layout.element), max_size=4)
        case Map():
            return st.lists(st.tuples(values(layout.key, null=layout.as_list), values(layout.value)), max_size=4)
        case Switch():
            return st.one_of([case_values(layout, case) for case in layout.cases])
        case Subclasses():
            return st.one_of(subclass_values(layout, null))
        case Logical():
            return values(layout.inner, null)
    raise TypeError(layout)


BROKEN = [
    b"a", b"abcdefgh", "é".encode(), "€".encode(), "😀".encode(), "\ufffd".encode(), b"\x80", b"\xc0\x80", b"\xc2",
    b"\xe0\x80", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xf0\x80", b"\xf4\x90\x80\x80", b"\xf5", b"\xff",
]  # fmt: skip
"""Characters, and what begins like one."""


def slot_values(layout: Layout, null: bool = True) -> st.SearchStrategy[Any]:
    """(is null, whether to stand in the slot itself if it can, written value)."""
    nulls = st.sampled_from([False, False, False, True]) if null else st.just(False)
    return st.tuples(nulls, st.booleans(), values(in_slot(layout), null))


def maybe(strategy: st.SearchStrategy[Any], null: bool) -> st.SearchStrategy[Any]:
    """``None`` in one of four draws."""
    return st.one_of(strategy, strategy, strategy, st.none()) if null else strategy


def nullable_values(layout: Nullable, null: bool) -> st.SearchStrategy[Any]:
    """A key without column counts as true, so it may be null."""
    flags = {True: st.sampled_from([1, 1, 2, 255]), False: st.just(0)}
    present = st.tuples(flags[not layout.null_if], values(layout.inner, null))
    absent = st.tuples(flags[layout.null_if], exactly(layout.padding))
    return st.one_of(present, present, absent) if null or not makes_column(layout) else present


def case_values(layout: Switch, case: Case) -> st.SearchStrategy[Any]:
    taken = {c.tag for c in layout.cases}
    free = [tag for tag in (0, 1, 2, 3, 7, 128, 255) if tag not in taken]
    tags = st.sampled_from(free) if case.tag is None else st.just(case.tag)
    return st.tuples(tags, st.just(layout.cases.index(case)), st.tuples(*(values(f.layout) for f in case.fields)))


def subclass_values(layout: Subclasses, null: bool) -> list[st.SearchStrategy[Any]]:
    """The tested bits are as given, all others as they come, because only the order of the tests counts."""
    kinds: list[st.SearchStrategy[Any]] = []
    if null:
        kinds.append(st.tuples(st.sampled_from([1, 1, 3, 15, 255]), st.none(), st.just(())))
    for index, group in enumerate([layout.fields, *(s.fields for s in layout.subclasses)]):
        parts = st.tuples(*(values(f.layout) for f in group))
        flags = [2, 0x12] if index == 0 else [4, 4, 6, 0x0C]
        if index and layout.subclasses[index - 1].tag is not None:
            flags += [8, 8, 0x0A]
        kinds.append(st.tuples(st.sampled_from(flags), st.just(index), parts))
    return kinds


def entries(layout: Layout, most: int = 6) -> st.SearchStrategy[list[Any]]:
    """Lists of written values of one layout: the entries of a window."""
    return st.lists(values(layout), max_size=most)


def layouts_and_values(depth: int = 3) -> st.SearchStrategy[tuple[Layout, Any]]:
    """A layout and one written value of it."""
    return layouts(depth).flatmap(lambda layout: st.tuples(st.just(layout), values(layout)))


def layouts_and_entries(depth: int = 3, most: int = 6) -> st.SearchStrategy[tuple[Layout, list[Any]]]:
    """A layout and some written values of it."""
    return layouts(depth).flatmap(lambda layout: st.tuples(st.just(layout), entries(layout, most)))


__all__ = [
    "encode", "entries", "expected", "items", "layouts", "layouts_and_entries", "layouts_and_values", "makes_column",
    "replaced", "same", "values",
]  # fmt: skip
