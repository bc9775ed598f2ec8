"""The slow, obvious decoder: one value at a time, by a layout, in plain Python.

It is the oracle that the compiled kernel is compared with, the way that ``Python`` leaves run, and the way that works
where nothing can be compiled. Each node class of ``layout.py`` has one function below, which is called once for a node, and
makes of it what reads its values: called with a :class:`Reader` at the value's first byte and the counters, it returns the
wire value and leaves the reader after the value's last byte. ``DECODERS`` at the bottom maps node classes to functions: the
table of contents.

Bytes go in; what comes out is a value, :class:`TruncatedError` ("needs more bytes") or another error. Every error
carries the position of the item that failed: the count, the tag or the varint itself, not the value around it.

May import layouts, the reader, errors and the counters. Must not know of snapshots, files or Arrow arrays.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final, NoReturn, TypeAlias

import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.interpreter import binary_slots as binary
from stateextract.columnar.layout import (
    BigInteger,
    Bool,
    Bytes,
    Field,
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
    Subclass,
    Subclasses,
    Switch,
    Text,
    Undecodable,
    values_of,
    walk,
)
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow, Framed, Rest
from stateextract.columnar.value_reader import Empty, ValueReader, room_of, room_of_texts
from stateextract.derived import derived
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError, ValueRefusedError
from stateextract.files.reader import Reader

# Elements that take no bytes give no bound on their number: so many values of them are believed in all lists of a row.
MAX_EMPTY: Final = 1 << 20

_MAX_I32: Final = 0x7FFF_FFFF
_SHORT_NUMBERS: Final = {1: b"\x00", 2: b"\x01", 3: b"\x0a"}
_IS_NULL, _DECLARED, _NAMED, _TAGGED = 1, 2, 4, 8
_NULL_KEY_ADVICE: Final = "set --maps list to get lists of key and value, where the key may be null"

_NUMBER_CODES: Final = {
    pa.int8(): "b", pa.int16(): "h", pa.int32(): "i", pa.int64(): "q",
    pa.uint8(): "B", pa.uint16(): "H", pa.uint32(): "I", pa.uint64(): "Q",
    pa.float32(): "f", pa.float64(): "d",
}  # fmt: skip


class _NoColumn:
    def __repr__(self) -> str:
        return "NO_COLUMN"


NO_COLUMN: Final = _NoColumn()
"""The value of a node that makes no column."""


def interpret(
    layout: Layout,
    data: bytes | bytearray | memoryview,
    pos: int,
    end: int,
    counts: ChangeCounts | None = None,
    empty: Empty | None = None,
) -> tuple[Any, int]:
    """Decode one value.

    :param layout: what the bytes mean.
    :param data: the bytes.
    :param pos: the value's first byte.
    :param end: first byte that must not be read.
    :param counts: where replaced surrogates are counted.
    :param empty: of the current row, where the value is a part of it.
    :returns: the wire value, fit for ``pa.array([value], type=layout.wire_type)``, and the position after its bytes.
        A map is a list of pairs (or, ``as_list``, of dicts), a struct without columns ``True``, and a node that makes
        no column gives :data:`NO_COLUMN`.
    :raises TruncatedError: the value goes on after ``end``.
    :raises FormatError: the bytes cannot be a value of this layout.
    :raises UndecodableError: a value or a class that no decoder here can read.
    :raises ValueRefusedError: a null map key.
    """
    reader = ValueReader(data, pos, end, empty=empty)
    value = decoder_of(layout)(reader, ChangeCounts() if counts is None else counts)
    return value, reader.pos


def has_column(node: Layout) -> bool:
    """Whether the node makes a column: as ``wire_type is not None``, without building a type."""
    while isinstance(node, Nullable | Logical | Framed):
        node = node.inner
    return not isinstance(node, Skip | SkippedValue)


Decode: TypeAlias = Callable[[ValueReader, ChangeCounts], Any]
"""Decodes a value of one layout."""


def decoder_of(node: Layout) -> Decode:
    """What decodes values of a layout."""
    return derived(node, "decode", None, lambda: DECODERS[type(node)](node))


def _value(node: Layout, r: ValueReader, counts: ChangeCounts) -> Any:
    return decoder_of(node)(r, counts)


def _item(node: Layout) -> Decode:
    """An element, map key or map value, which has a column in any case: a bool, true, if its layout makes none."""
    decode = decoder_of(node)
    if has_column(node):
        return decode

    def item(r: ValueReader, counts: ChangeCounts) -> bool:
        decode(r, counts)
        return True

    return item


# ---- numbers, strings, bytes


def _number(node: Number) -> Decode:
    number = struct.Struct(("<" if node.little else ">") + _NUMBER_CODES[node.type])
    size, unpack, sign = number.size, number.unpack_from, -1 if node.little else 0

    def plain(r: ValueReader, counts: ChangeCounts) -> Any:
        pos = r.pos
        if size > r.end - pos:
            r.bytes(size, "a number")  # which says what is missing
        r.pos = pos + size
        return unpack(r.data, pos)[0]

    def flipped(r: ValueReader, counts: ChangeCounts) -> Any:
        raw = bytearray(r.bytes(size, "a number"))
        raw[sign] ^= 0x80
        return unpack(raw)[0]

    return flipped if node.flip_sign else plain


def _bool(node: Bool) -> Decode:
    return lambda r, counts: r.bool()


def _text(node: Text) -> Decode:
    if node.coding == "utf8":
        return _section(node)
    units_of, as_binary = _UNITS[node.coding], node.as_binary

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        units = units_of(r)
        if units is None:
            return None
        if isinstance(units, bytes):
            return units if as_binary else units.decode("ascii")
        text, lone = "", 0
        for code_point in _join_surrogates(units):
            if 0xD800 <= code_point <= 0xDFFF and not as_binary:
                code_point, lone = 0xFFFD, lone + 1
            text += chr(code_point)
        counts.lone_surrogates += lone
        return text.encode("utf-8", "surrogatepass") if as_binary else text

    return decode


def _section(node: Layout) -> Decode:
    return lambda r, counts: binary.section(_value, node, r, counts)


def _join_surrogates(units: Sequence[int]) -> list[int]:
    """Code points of UTF-16 units; a lone surrogate stays."""
    points: list[int] = []
    for unit in units:
        if 0xDC00 <= unit <= 0xDFFF and points and 0xD800 <= points[-1] <= 0xDBFF:
            points[-1] = 0x10000 + ((points[-1] - 0xD800) << 10) + (unit - 0xDC00)
        else:
            points.append(unit)
    return points


def _flink_units(r: Reader) -> Sequence[int] | None:
    """Those of ASCII are bytes."""
    start = r.offset
    n = _varint(r, _MAX_I32, "a string's length")
    return None if n == 0 else _varint_units(r, n - 1, start)


def _value_units(r: Reader) -> Sequence[int]:
    start = r.offset
    return _varint_units(r, _varint(r, _MAX_I32, "a string's length"), start)


def _varint_units(r: Reader, n: int, start: int) -> Sequence[int]:
    if n > r.remaining:
        raise TruncatedError(f"the data ends inside a string of {n} units", offset=start)
    head = bytes(r.data[r.pos : r.pos + n])
    if head.isascii():
        r.pos += n
        return head
    return [_character(r) for _ in range(n)]


def _character(r: Reader) -> int:
    """A UTF-16 unit in one to three bytes, as ``StringValue`` writes it."""
    value = 0
    for shift in (0, 7, 14):
        byte = r.u8("a character")
        value |= (byte & 0x7F) << shift
        if byte < 0x80 and value <= 0xFFFF:
            return value
    raise FormatError("a string that Java does not write", offset=r.offset - 1)


def _varint(r: Reader, most: int, what: str) -> int:
    """Seven bits a byte, the lowest first; the top bit says that more follow. At most five bytes."""
    start, value = r.offset, 0
    for shift in range(0, 35, 7):
        byte = r.u8(what)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > most:
                raise FormatError(f"{value} is too large for {what}", expected=f"at most {most}", offset=start)
            return value
    raise FormatError(f"the varint of {what} does not end", expected="at most 5 bytes", offset=start)


def _utf_units(r: Reader) -> Sequence[int]:
    """``DataInput.readUTF``: takes what Java takes, so also a bare NUL and overlong forms."""
    raw = bytes(r.bytes(r.u16("a string's length"), "a string"))
    if raw.isascii():
        return raw
    start = r.offset - len(raw)
    units, i = [], 0
    while i < len(raw):
        size = _UTF_SIZES.get(raw[i] >> 4, 0)
        tail = raw[i + 1 : i + size]
        if size == 0 or len(tail) < size - 1 or any(byte & 0xC0 != 0x80 for byte in tail):
            raise FormatError("a string is not modified UTF-8", offset=start + i)
        unit = raw[i] & (0x7F, 0x1F, 0x0F)[size - 1]
        for byte in tail:
            unit = unit << 6 | byte & 0x3F
        units.append(unit)
        i += size
    return units


# Bytes of a character by the first one's upper four bits.
_UTF_SIZES: Final = {**dict.fromkeys(range(8), 1), 0xC: 2, 0xD: 2, 0xE: 3}


def _char_units(r: Reader) -> Sequence[int]:
    return [r.u16("a character")]


_UNITS: Final[dict[str, Callable[[Reader], Sequence[int] | None]]] = {
    "flink": _flink_units,
    "value": _value_units,
    "utf": _utf_units,
    "char": _char_units,
}


def _bytes(node: Bytes) -> Decode:
    size = node.size
    return lambda r, counts: bytes(r.bytes(_length(r, "bytes") if size is None else size))


def _big_integer(node: BigInteger) -> Decode:
    scaled = node.scaled

    def decode(r: ValueReader, counts: ChangeCounts) -> bytes | None:
        start = r.offset
        code = r.i32("a big number's length")
        if code == 0:
            return None
        if code < 0 or code == 4:
            raise FormatError(f"invalid length code {code} of a big number", offset=start)
        number = _SHORT_NUMBERS[code] if code < 4 else bytes(r.bytes(code - 4, "a big number"))
        return number + bytes(r.bytes(4, "a scale")) if scaled else number

    return decode


def _skip(node: Skip) -> Decode:
    size, expect = node.least, node.expect

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        found = r.bytes(size, "bytes without meaning")
        if expect is not None and found != expect:
            raise FormatError(f"found the bytes {found.hex()}", expected=expect.hex(), offset=r.offset - size)
        return NO_COLUMN

    return decode


def _skipped(node: SkippedValue) -> Decode:
    inner = decoder_of(node.inner)

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        inner(r, ChangeCounts())
        return NO_COLUMN

    return decode


def _null(node: Null) -> Decode:
    def decode(r: ValueReader, counts: ChangeCounts) -> None:
        r.bytes(node.size, "a null")

    return decode


# ---- structs


def _columns(groups: Sequence[Sequence[Field]]) -> dict[str, Any]:
    """A struct's columns, all null."""
    return {f.name: None for group in groups for f in group if has_column(f.layout)}


def _fields(fields: Sequence[Field]) -> list[tuple[str | None, Decode]]:
    """What decodes each field; the name of its column, if it has one."""
    return [(f.name if has_column(f.layout) else None, decoder_of(f.layout)) for f in fields]


def _fill(
    columns: dict[str, Any], fields: Iterable[tuple[str | None, Decode]], r: ValueReader, counts: ChangeCounts
) -> None:
    for name, decode in fields:
        value = decode(r, counts)
        if name is not None:
            columns[name] = value


def _struct(node: Struct) -> Decode:
    fields = _fields(node.fields)

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        columns: dict[str, Any] = {}
        for name, decode_field in fields:
            value = decode_field(r, counts)
            if name is not None:
                columns[name] = value
        return columns or True

    return decode


def _nullable(node: Nullable) -> Decode:
    inner, wide, null_if, padding = decoder_of(node.inner), node.width - 1, node.null_if, node.padding
    null = None if has_column(node) else NO_COLUMN

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        if wide:
            _zeros(r, wide)
        if r.bool("a null flag") is not null_if:
            return inner(r, counts)
        r.bytes(padding, "padding")
        return null

    return decode


def _zeros(r: Reader, n: int) -> None:
    """The bytes in front of the one that a wide flag or tag is decided by."""
    start = r.offset
    found = bytes(r.bytes(n, "a flag or tag"))
    if any(found):
        raise FormatError(f"found the bytes {found.hex()}", expected=bytes(n).hex(), offset=start)


def _masked_struct(node: MaskedStruct) -> Decode:
    empty, fields, size, kind = _columns([node.fields]), _fields(node.fields), node.least, node.kind
    first = 2 if kind else 0

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        mask = r.bytes(size, "a null mask")
        bits = [byte >> (7 - i) & 1 for byte in mask for i in range(8)]
        columns = empty.copy()
        _fill(columns, [f for f, null in zip(fields, bits[first:], strict=False) if not null], r, counts)
        if kind:
            columns[node.KIND_FIELD] = bits[0] + 2 * bits[1]
        return columns or True

    return decode


def _switch(node: Switch) -> Decode:
    empty, wide, tags = _columns([c.fields for c in node.cases]), node.width - 1, [c.tag for c in node.cases]
    cases = {c.tag: _fields(c.fields) for c in reversed(node.cases)}
    other = cases.get(None)

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        _zeros(r, wide)
        start = r.offset
        tag = r.u8("a tag")
        fields = cases.get(tag, other)
        if fields is None:
            raise FormatError(f"unknown tag {tag}", expected=f"one of {tags}", offset=start)
        columns = empty.copy()
        _fill(columns, fields, r, counts)
        return columns or True

    return decode


def _subclasses(node: Subclasses) -> Decode:
    empty: dict[str, Any] = {node.CLASS_FIELD: 0} if node.subclasses else {}
    empty |= _columns([node.fields, *(s.fields for s in node.subclasses)])
    fields = [_fields(group) for group in (node.fields, *(s.fields for s in node.subclasses))]

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        start = r.offset
        flags = r.u8("the flags of a POJO")
        if flags & _IS_NULL:
            return None
        if flags & _NAMED:
            index = _named_subclass(node, r)
        elif flags & _TAGGED:
            index = _tagged_subclass(node, r)
        elif flags & _DECLARED:
            index = 0
        else:
            raise FormatError(f"invalid flags {flags:#04x} of a POJO", expected="1, 2, 4 or 8", offset=start)
        columns = empty.copy()
        if index:
            columns[node.CLASS_FIELD] = index
        _fill(columns, fields[index], r, counts)
        return columns or True

    return decode


def _named_subclass(node: Subclasses, r: Reader) -> int:
    start = r.offset
    name = "".join(map(chr, _join_surrogates(_utf_units(r))))
    return _subclass_index(node, lambda s: s.class_name == name, name, start)


def _tagged_subclass(node: Subclasses, r: Reader) -> int:
    start = r.offset
    tag = r.u8("a subclass tag")
    return _subclass_index(node, lambda s: s.tag == tag, f"with tag {tag}", start)


def _subclass_index(node: Subclasses, wanted: Callable[[Subclass], bool], what: str, start: int) -> int:
    for index, subclass in enumerate(node.subclasses, start=1):
        if wanted(subclass):
            return index
    raise UndecodableError(
        f"a value of {node.class_name} is of the subclass {what!s}, which the serializer's snapshot does not list",
        offset=start,
    )


# ---- lists and maps


def _length(r: Reader, what: str) -> int:
    start = r.offset
    n = r.i32(f"the number of {what}")
    if n < 0:
        raise FormatError(f"negative number {n} of {what}", offset=start)
    return n


def _believe(r: ValueReader, n: int, values: int, what: str, start: int) -> None:
    """Refuse elements without bytes, of so many values each, before anything is made of them."""
    r.empty.values += n * values
    if r.empty.values > MAX_EMPTY:
        raise FormatError(
            f"invalid number {n} of {what} that take no bytes", expected=f"at most {MAX_EMPTY} values in a row", offset=start
        )


def _count(r: ValueReader, least: int, values: int, room: int, what: str) -> int:
    """A number of items that take at least ``least`` bytes each, refused before anything is allocated for them."""
    start = r.offset
    n = _length(r, what)
    if n * least > r.remaining:
        raise TruncatedError(
            f"the data ends inside {n} {what}", expected=f"{n * least} bytes, {r.remaining} are left", offset=start
        )
    if least == 0:
        _believe(r, n, values, what, start)
    r.empty.take(n * room, start)
    return n


def _blocks(r: ValueReader, least: int, values: int, room: int, what: str) -> Iterator[None]:
    """Once for every item of counted blocks."""
    while True:
        start = r.offset
        n = _varint(r, _MAX_I32, f"the number of {what}")
        if n * least > r.remaining:
            raise TruncatedError(
                f"the data ends inside {n} {what}", expected=f"{n * least} bytes, {r.remaining} are left", offset=start
            )
        if least == 0:
            _believe(r, n, values, what, start)
        r.empty.take(n * room, start)
        if n == 0:
            return
        yield from repeat(None, n)


def _items(node: List | Map, what: str) -> Callable[[ValueReader], Iterable[Any]]:
    """Once for every item."""
    least = sum(part.least for part in node.children)
    room = sum(part.room for part in node.children)
    values = 0 if least else sum(map(values_of, node.children))
    unknown = least == 0 and any(isinstance(part, Python) for below in node.children for part in walk(below))
    if unknown:
        values = 0
    blocks = node.blocks

    def items(r: ValueReader) -> Iterable[Any]:
        found = _blocks(r, least, values, room, what) if blocks else range(_count(r, least, values, room, what))
        return _unbounded(r, found, what) if unknown else found

    return items


def _unbounded(r: ValueReader, items: Iterable[Any], what: str) -> Iterator[None]:
    """Once for every item that may have bytes or not, which is not known beforehand."""
    for _ in items:
        before = r.pos
        yield
        if r.pos == before:
            _believe(r, 1, 1, what, r.offset)


def _list(node: List) -> Decode:
    item, room, items = _item(node.element), node.element.room, _items(node, "elements")

    def masked(r: ValueReader, counts: ChangeCounts) -> list[Any]:
        start = r.offset
        n = _length(r, "elements")
        mask = r.bytes((n + 7) // 8, "a null mask")
        nulls = [mask[i >> 3] >> (7 - (i & 7)) & 1 for i in range(n)]
        r.empty.take(n * room, start)
        return [None if null else item(r, counts) for null in nulls]

    return masked if node.null_mask else lambda r, counts: [item(r, counts) for _ in items(r)]


def _map(node: Map) -> Decode:
    key_of, value_of, items, as_list = _item(node.key), _item(node.value), _items(node, "entries"), node.as_list

    def decode(r: ValueReader, counts: ChangeCounts) -> list[Any]:
        entries: list[Any] = []
        for _ in items(r):
            start = r.offset
            key = key_of(r, counts)
            if key is None and not as_list:
                raise ValueRefusedError("a map has a null key", advice=_NULL_KEY_ADVICE, offset=start)
            value = value_of(r, counts)
            entries.append({"key": key, "value": value} if as_list else (key, value))
        return entries

    return decode


# ---- what no bytes describe


def _undecodable(node: Undecodable) -> Decode:
    def decode(r: ValueReader, counts: ChangeCounts) -> NoReturn:
        raise UndecodableError(f"a value of {node.class_name} cannot be decoded: {node.reason}", offset=r.offset)

    return decode


def _python(node: Python) -> Decode:
    decode_leaf, inner, has_plan = node.decode, node.inner, node.plan is not None
    is_pair = isinstance(inner, Struct) and [type(f.layout) for f in inner.fields] == [Text, Text]
    room = room_of_texts if is_pair else room_of

    def decode(r: ValueReader, counts: ChangeCounts) -> Any:
        begin, before, empty = r.pos, counts.lone_surrogates, r.empty
        try:
            if inner is None:
                value, r.pos = decode_leaf(r.data, begin, r.end)
            else:
                value, r.pos = decode_leaf(r.data, begin, r.end, inner, counts)
        except StateExtractError as error:
            raise error.at(offset=r.base + begin) from None
        if has_plan and empty.leaves is not None:
            empty.leaves.append((node, begin, r.pos, value, counts.lone_surrogates - before))
        # Objects may refer to each other, so that a long value has few bytes.
        empty.room += room(value)
        if empty.room > empty.most:
            empty.take(0, r.base + begin)
        return value

    return decode if node.faster is None else node.faster(node, decode)


DECODERS: Final[dict[type[Layout], Callable[[Any], Decode]]] = {
    Number: _number,
    Bool: _bool,
    Text: _text,
    Bytes: _bytes,
    BigInteger: _big_integer,
    Skip: _skip,
    SkippedValue: _skipped,
    Null: _null,
    Struct: _struct,
    Nullable: _nullable,
    MaskedStruct: _masked_struct,
    List: _list,
    Map: _map,
    Switch: _switch,
    Subclasses: _subclasses,
    Undecodable: _undecodable,
    Python: _python,
    Logical: lambda node: decoder_of(node.inner),
    **dict.fromkeys((BinaryRow, BinaryArray, BinaryMap, Framed), _section),
    Rest: lambda node: lambda r, counts: bytes(r.bytes(r.remaining)),
}

__all__ = ["DECODERS", "MAX_EMPTY", "NO_COLUMN", "decoder_of", "has_column", "interpret"]
