"""Hypothesis strategies for layouts, and an encoder that knows nothing of the decoders.

* :func:`layouts` draws a layout of any nodes but ``Python`` and ``Undecodable``; :func:`items` those that may be map
  keys or list elements.
* :func:`values` draws a *written value* of a layout: what a writer puts on the wire, including bytes that mean nothing
  (skipped bytes, padding, the exact flag byte). Its shape is told at each branch of :func:`encode`.
* :func:`entries` draws a list of written values, :func:`layouts_and_entries` a layout with such a list.
* :func:`encode` gives a written value's bytes, :func:`expected` the wire value that a decoder must give for it, and
  :func:`lone_surrogates` how often it must count a replaced surrogate.
* :func:`same` compares wire values: NaN equals NaN, 0.0 is not -0.0, ``True`` is not 1.

The alphabets are small and awkward on purpose, and nothing is filtered, so that examples are cheap.
"""

from __future__ import annotations

import re
import struct
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

LONE = re.compile("[\ud800-\udfff]")
INTEGERS = {"b": pa.int8(), "h": pa.int16(), "i": pa.int32(), "q": pa.int64()}
UNSIGNED = {"B": pa.uint8(), "H": pa.uint16(), "I": pa.uint32(), "Q": pa.uint64()}
FLOATS = {"f": pa.float32(), "d": pa.float64()}
FORMATS = {type_: code for code, type_ in (INTEGERS | UNSIGNED | FLOATS).items()}
SHORT_NUMBERS = {1: 0, 2: 1, 3: 10}


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
        st.builds(Nullable, layouts(depth - 1), st.booleans(), st.integers(0, 5)),
        masked_structs(depth),
        st.builds(List, items(depth - 1)),
        maps(depth),
        switches(depth),
        subclasses(depth),
    )


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
    return Map(key, value, as_list=draw(st.booleans()) or isinstance(strip(key), Null))


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
    return Switch(tuple(Case(tag, draw(alternatives(depth, pool))) for tag in tags))


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


def strip(layout: Layout) -> Layout:
    """The node below ``Nullable`` and ``Logical``."""
    while isinstance(layout, Nullable | Logical):
        layout = layout.inner
    return layout


def makes_column(layout: Layout) -> bool:
    return not isinstance(strip(layout), Skip)


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


# ---- bytes of a written value


def utf16_units(text: str) -> list[int]:
    raw = text.encode("utf-16-be", "surrogatepass")
    return list(struct.unpack(f">{len(raw) // 2}H", raw))


def varint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def modified_utf8(text: str) -> bytes:
    units = "".join(map(chr, utf16_units(text)))
    return units.encode("utf-8", "surrogatepass").replace(b"\x00", b"\xc0\x80")


def encode_text(layout: Text, value: str | None) -> bytes:
    if value is None:
        return b"\x00"
    units = utf16_units(value)
    match layout.coding:
        case "char":
            return struct.pack(">H", *units)
        case "utf":
            raw = modified_utf8(value)
            return struct.pack(">H", len(raw)) + raw
        case coding:
            return varint(len(units) + (coding == "flink")) + b"".join(map(varint, units))


def encode_big_integer(layout: BigInteger, value: tuple[int | bytes, int] | None) -> bytes:
    if value is None:
        return bytes(4)
    number, scale = value
    out = struct.pack(">i", number) if isinstance(number, int) else struct.pack(">i", len(number) + 4) + number
    return out + struct.pack(">i", scale) if layout.scaled else out


def encode_number(layout: Number, value: Any) -> bytes:
    raw = bytearray(struct.pack(">" + FORMATS[layout.type], value))
    if layout.flip_sign:
        raw[0] ^= 0x80
    return bytes(reversed(raw)) if layout.little else bytes(raw)


def encode_subclasses(layout: Subclasses, value: Any) -> bytes:
    flags, index, parts = value
    if index is None:
        return bytes([flags])
    if index == 0:
        return bytes([flags]) + encode_fields(layout.fields, parts)
    sub = layout.subclasses[index - 1]
    name = modified_utf8(sub.class_name)
    which = struct.pack(">H", len(name)) + name if flags & 4 else bytes([sub.tag or 0])
    return bytes([flags]) + which + encode_fields(sub.fields, parts)


def encode_fields(group: tuple[Field, ...], parts: tuple[Any, ...]) -> bytes:
    return b"".join(encode(f.layout, part) for f, part in zip(group, parts, strict=True))


def encode(layout: Layout, value: Any) -> bytes:
    """The bytes of a written value; the comments tell its shape."""
    match layout:
        case Number():  # the number
            return encode_number(layout, value)
        case Bool():  # the byte
            return bytes([value])
        case Text():  # a str, or None
            return encode_text(layout, value)
        case Bytes():  # the bytes
            return bytes(value) if layout.size is not None else struct.pack(">i", len(value)) + value
        case BigInteger():  # (code of a short number or two's complement bytes, scale), or None
            return encode_big_integer(layout, value)
        case Skip():  # the bytes, None if expected
            return bytes(value) if layout.expect is None else layout.expect
        case Null():  # the bytes
            return bytes(value)
        case Struct():  # a tuple of the fields' written values
            return encode_fields(layout.fields, value)
        case Nullable():  # (flag byte, written value or padding)
            flag, inner = value
            return bytes([flag]) + (inner if bool(flag) is layout.null_if else encode(layout.inner, inner))
        case MaskedStruct():  # (kind, a tuple of (is null, written value))
            kind, parts = value
            bits = ([kind & 1, kind >> 1] if layout.kind else []) + [int(is_null) for is_null, _ in parts]
            mask = "".join(map(str, bits)).ljust(-(-len(bits) // 8) * 8, "0")
            out = bytes(int(mask[i : i + 8], 2) for i in range(0, len(mask), 8))
            given = [(f, part) for f, (is_null, part) in zip(layout.fields, parts, strict=True) if not is_null]
            return out + b"".join(encode(f.layout, part) for f, part in given)
        case List():  # a list of written values
            return struct.pack(">i", len(value)) + b"".join(encode(layout.element, v) for v in value)
        case Map():  # a list of pairs of written values
            pairs = (encode(layout.key, k) + encode(layout.value, v) for k, v in value)
            return struct.pack(">i", len(value)) + b"".join(pairs)
        case Switch():  # (tag, position of the case, a tuple of its fields' written values)
            tag, index, parts = value
            return bytes([tag]) + encode_fields(layout.cases[index].fields, parts)
        case Subclasses():  # (flags, None or 0 or position of the subclass + 1, a tuple of written values)
            return encode_subclasses(layout, value)
        case Logical():
            return encode(layout.inner, value)
    raise TypeError(layout)


# ---- what a decoder must give


def joined(text: str) -> str:
    """The text with its surrogate pairs as one character each."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def expected_text(layout: Text, value: str) -> str | bytes:
    if layout.as_binary:
        return joined(value).encode("utf-8", "surrogatepass")
    return LONE.sub("\ufffd", joined(value))


def expected_big_integer(layout: BigInteger, value: tuple[int | bytes, int]) -> bytes:
    number, scale = value
    raw = bytes([SHORT_NUMBERS[number]]) if isinstance(number, int) else number
    return raw + struct.pack(">i", scale) if layout.scaled else raw


def expected_item(layout: Layout, value: Any) -> Any:
    return expected(layout, value) if makes_column(layout) else True


def expected_struct(
    groups: list[tuple[Field, ...]], given: list[tuple[Field, Any]], more: dict[str, Any] | None = None
) -> Any:
    columns = {f.name: None for group in groups for f in group if makes_column(f.layout)} | (more or {})
    columns |= {f.name: expected(f.layout, part) for f, part in given if makes_column(f.layout)}
    return columns or True


def expected(layout: Layout, value: Any) -> Any:
    """The wire value of a written value, as the interpreter gives it."""
    match layout:
        case Number():
            return value
        case Bool():
            return value != 0
        case Text():
            return None if value is None else expected_text(layout, value)
        case Bytes():
            return bytes(value)
        case BigInteger():
            return None if value is None else expected_big_integer(layout, value)
        case Null():
            return None
        case Struct():
            return expected_struct([layout.fields], list(zip(layout.fields, value, strict=True)))
        case Nullable():
            flag, inner = value
            return None if bool(flag) is layout.null_if else expected(layout.inner, inner)
        case MaskedStruct():
            kind, parts = value
            given = [(f, part) for f, (is_null, part) in zip(layout.fields, parts, strict=True) if not is_null]
            return expected_struct([layout.fields], given, {"row_kind": kind} if layout.kind else None)
        case List():
            return [expected_item(layout.element, v) for v in value]
        case Map():
            pairs = [(expected_item(layout.key, k), expected_item(layout.value, v)) for k, v in value]
            return [{"key": k, "value": v} for k, v in pairs] if layout.as_list else pairs
        case Switch():
            _, index, parts = value
            return expected_struct(
                [c.fields for c in layout.cases], list(zip(layout.cases[index].fields, parts, strict=True))
            )
        case Subclasses():
            _, index, parts = value
            if index is None:
                return None
            groups = [layout.fields, *(s.fields for s in layout.subclasses)]
            label = {"class": index} if layout.subclasses else None
            return expected_struct(groups, list(zip(groups[index], parts, strict=True)), label)
        case Logical():
            return expected(layout.inner, value)
    raise TypeError(layout)


def lone_surrogates(layout: Layout, value: Any) -> int:
    """How many lone surrogates a decoder replaces in a written value."""

    def of_fields(group: tuple[Field, ...], parts: tuple[Any, ...]) -> int:
        return sum(lone_surrogates(f.layout, part) for f, part in zip(group, parts, strict=True))

    match layout:
        case Text():
            return 0 if value is None or layout.as_binary else len(LONE.findall(joined(value)))
        case Struct():
            return of_fields(layout.fields, value)
        case Nullable():
            return 0 if bool(value[0]) is layout.null_if else lone_surrogates(layout.inner, value[1])
        case MaskedStruct():
            parts = zip(layout.fields, value[1], strict=True)
            return sum(lone_surrogates(f.layout, part) for f, (is_null, part) in parts if not is_null)
        case List():
            return sum(lone_surrogates(layout.element, v) for v in value)
        case Map():
            return sum(lone_surrogates(layout.key, k) + lone_surrogates(layout.value, v) for k, v in value)
        case Switch():
            return of_fields(layout.cases[value[1]].fields, value[2])
        case Subclasses():
            _, index, parts = value
            groups = [layout.fields, *(s.fields for s in layout.subclasses)]
            return 0 if index is None else of_fields(groups[index], parts)
        case Logical():
            return lone_surrogates(layout.inner, value)
    return 0


def same(left: Any, right: Any) -> bool:
    """Whether two wire values are the same to the bit, and of the same Python types."""
    if type(left) is not type(right):
        return False
    match left:
        case float():
            return struct.pack(">d", left) == struct.pack(">d", right)
        case list() | tuple():
            return len(left) == len(right) and all(map(same, left, right))
        case dict():
            return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return bool(left == right)
