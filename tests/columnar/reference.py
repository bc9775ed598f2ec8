"""An encoder for layouts, and what a decoder must give back: written from the format, knows nothing of the decoders.

* :func:`encode` gives the bytes of a *written value*: what a writer puts on the wire, including bytes that mean nothing
  (skipped bytes, padding, the exact flag byte). The shape of a written value is told at each branch.
* :func:`expected` is the wire value that a decoder must give for it, :func:`replaced` what it must count as
  replaced.
* :func:`same` compares wire values: NaN equals NaN, 0.0 is not -0.0, ``True`` is not 1.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts
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
    Skip,
    Struct,
    Subclasses,
    Switch,
    Text,
)
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow, Framed, Rest, SlotTimestamp

LONE = re.compile("[\ud800-\udfff]")
INTEGERS = {"b": pa.int8(), "h": pa.int16(), "i": pa.int32(), "q": pa.int64()}
UNSIGNED = {"B": pa.uint8(), "H": pa.uint16(), "I": pa.uint32(), "Q": pa.uint64()}
FLOATS = {"f": pa.float32(), "d": pa.float64()}
FORMATS = {type_: code for code, type_ in (INTEGERS | UNSIGNED | FLOATS).items()}
SHORT_NUMBERS = {1: 0, 2: 1, 3: 10}


def strip(layout: Layout) -> Layout:
    """The node below ``Nullable``, ``Framed`` and ``Logical``."""
    while isinstance(layout, Nullable | Framed | Logical):
        layout = layout.inner
    return layout


def makes_column(layout: Layout) -> bool:
    return not isinstance(strip(layout), Skip)


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


def encode_text(layout: Text, value: Any) -> bytes:
    if layout.coding == "utf8":
        return struct.pack(">i", len(value)) + bytes(value)
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


def encode_items(items: list[bytes], blocks: bool) -> bytes:
    """A count and the items; or in blocks, of which any three items or fewer make one."""
    if not blocks:
        return struct.pack(">i", len(items)) + b"".join(items)
    parts = [items[i : i + 3] for i in range(0, len(items), 3)]
    return b"".join(varint(len(part)) + b"".join(part) for part in parts) + b"\0"


def encode_fields(group: tuple[Field, ...], parts: tuple[Any, ...]) -> bytes:
    return b"".join(encode(f.layout, part) for f, part in zip(group, parts, strict=True))


def encode(layout: Layout, value: Any) -> bytes:
    """The bytes of a written value; the comments tell its shape."""
    match layout:
        case Number():  # the number
            return encode_number(layout, value)
        case Bool():  # the byte
            return bytes([value])
        case BinaryRow() | BinaryArray() | BinaryMap() | Framed():  # its content
            content = section(layout, value)
            return struct.pack(">i", len(content)) + content
        case Rest():  # the bytes
            return bytes(value)
        case Text():  # a str, or None; of utf8 the bytes
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
            rest = inner if bool(flag) is layout.null_if else encode(layout.inner, inner)
            return bytes(layout.width - 1) + bytes([flag]) + rest
        case MaskedStruct():  # (kind, a tuple of (is null, written value))
            kind, parts = value
            bits = ([kind & 1, kind >> 1] if layout.kind else []) + [int(is_null) for is_null, _ in parts]
            mask = "".join(map(str, bits)).ljust(-(-len(bits) // 8) * 8, "0")
            out = bytes(int(mask[i : i + 8], 2) for i in range(0, len(mask), 8))
            given = [(f, part) for f, (is_null, part) in zip(layout.fields, parts, strict=True) if not is_null]
            return out + b"".join(encode(f.layout, part) for f, part in given)
        case List(null_mask=True):  # a list of (is null, written value)
            mask = "".join(str(int(is_null)) for is_null, _ in value).ljust(-(-len(value) // 8) * 8, "0")
            out = bytes(int(mask[i : i + 8], 2) for i in range(0, len(mask), 8))
            elements = b"".join(encode(layout.element, v) for is_null, v in value if not is_null)
            return struct.pack(">i", len(value)) + out + elements
        case List():  # a list of written values
            return encode_items([encode(layout.element, v) for v in value], layout.blocks)
        case Map():  # a list of pairs of written values
            return encode_items([encode(layout.key, k) + encode(layout.value, v) for k, v in value], layout.blocks)
        case Switch():  # (tag, position of the case, a tuple of its fields' written values)
            tag, index, parts = value
            return bytes(layout.width - 1) + bytes([tag]) + encode_fields(layout.cases[index].fields, parts)
        case Subclasses():  # (flags, None or 0 or position of the subclass + 1, a tuple of written values)
            return encode_subclasses(layout, value)
        case Logical():
            return encode(layout.inner, value)
    raise TypeError(layout)


# ---- sections


def section(layout: Layout, value: Any) -> bytes:
    """The bytes of a section, without a length; the comments tell the shape of the written value."""
    match layout:
        case Text() | Bytes():  # the bytes
            return bytes(value)
        case Framed():  # the inner written value
            return encode(layout.inner, value)
        case BinaryRow():  # (kind, a tuple of slots, bytes behind that mean nothing); a slot is (is null, inline, value)
            kind, slots, junk = value
            bits = kind | sum(1 << 8 + i for i, (is_null, *_) in enumerate(slots) if is_null)
            head = bits.to_bytes((len(slots) + 8 + 63) // 64 * 8, "little")
            return with_slots(head, [f.layout for f in layout.fields], slots, [8] * len(slots)) + bytes(junk)
        case BinaryArray():  # a list of slots
            bits = sum(1 << i for i, (is_null, *_) in enumerate(value) if is_null)
            head = struct.pack("<i", len(value)) + bits.to_bytes((len(value) + 31) // 32 * 4, "little")
            return with_slots(head, [layout.element] * len(value), value, [element_width(layout.element)] * len(value))
        case BinaryMap():  # a list of pairs of slots
            keys = section(BinaryArray(layout.key), [k for k, _ in value])
            return struct.pack("<i", len(keys)) + keys + section(BinaryArray(layout.value), [v for _, v in value])
    raise TypeError(layout)


def element_width(layout: Layout) -> int:
    node = strip_logical(layout)
    return 1 if isinstance(node, Bool) else node.type.bit_width // 8 if isinstance(node, Number) else 8


def strip_logical(layout: Layout) -> Layout:
    while isinstance(layout, Logical):
        layout = layout.inner
    return layout


def with_slots(head: bytes, layouts: list[Layout], slots: Any, widths: list[int]) -> bytes:
    """Head, slots, and behind them what does not fit into them, each part beginning at a multiple of 8."""
    fixed = bytearray(head)
    variable = bytearray()
    begin = -(-(len(head) + sum(widths)) // 8) * 8
    for layout, (is_null, inline, value), width in zip(layouts, slots, widths, strict=True):
        node = strip_logical(layout)
        if is_null:
            slot = bytes(width)
        elif isinstance(node, Number | Bool):
            slot = encode(node, value).ljust(width, b"\xee")
        elif isinstance(node, SlotTimestamp):
            ms, nanos = value
            slot = struct.pack("<iI", nanos, begin + len(variable))
            variable += struct.pack("<q", ms)
        else:
            content = section(node, value)
            if inline and len(content) <= 7:
                slot = content.ljust(7, b"\x00") + bytes([0x80 | len(content)])
            else:
                slot = struct.pack("<II", len(content), begin + len(variable))
                variable += content.ljust(-(-len(content) // 8) * 8, b"\x00")
        fixed += slot
    return bytes(fixed.ljust(begin, b"\x00") + variable)


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


def expected_slot(layout: Layout, slot: Any) -> Any:
    is_null, _, value = slot
    return None if is_null else expected_item(layout, value)


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
        case Text(coding="utf8"):
            return value if layout.as_binary else value.decode("utf-8", "replace")
        case Text():
            return None if value is None else expected_text(layout, value)
        case Rest():
            return bytes(value)
        case SlotTimestamp():
            return {"ms": value[0], "nanos": value[1]}
        case Framed():
            return expected(layout.inner, value)
        case BinaryRow():
            kind, slots, _ = value
            given = [(f, expected_slot(f.layout, slot)) for f, slot in zip(layout.fields, slots, strict=True)]
            columns = {f.name: v for f, v in given if makes_column(f.layout)}
            return (columns | ({"row_kind": kind} if layout.kind else {})) or True
        case BinaryArray():
            return [expected_slot(layout.element, slot) for slot in value]
        case BinaryMap():
            entries = [(expected_slot(layout.key, k), expected_slot(layout.value, v)) for k, v in value]
            return [{"key": k, "value": v} for k, v in entries] if layout.as_list else entries
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
        case List(null_mask=True):
            return [None if is_null else expected_item(layout.element, v) for is_null, v in value]
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


def replaced(layout: Layout, value: Any) -> ChangeCounts:
    """What a decoder replaces in a written value: lone surrogates, and what is not UTF-8."""

    def total(counts: Iterable[ChangeCounts]) -> ChangeCounts:
        return sum(counts, ChangeCounts())

    def of_fields(group: tuple[Field, ...], parts: tuple[Any, ...]) -> ChangeCounts:
        return total(replaced(f.layout, part) for f, part in zip(group, parts, strict=True))

    def of_slot(node: Layout, slot: Any) -> ChangeCounts:
        return ChangeCounts() if slot[0] else replaced(node, slot[2])

    match layout:
        case Text(coding="utf8"):
            decoded = value.decode("utf-8", "replace")
            found = decoded.count("\ufffd") - value.count("\ufffd".encode())
            return ChangeCounts(malformed_utf8=0 if layout.as_binary else found)
        case Text():
            return ChangeCounts(lone_surrogates=0 if value is None or layout.as_binary else len(LONE.findall(joined(value))))
        case Framed():
            return replaced(layout.inner, value)
        case BinaryRow():
            return total(of_slot(f.layout, slot) for f, slot in zip(layout.fields, value[1], strict=True))
        case BinaryArray():
            return total(of_slot(layout.element, slot) for slot in value)
        case BinaryMap():
            return total(of_slot(layout.key, k) + of_slot(layout.value, v) for k, v in value)
        case List(null_mask=True):
            return total(replaced(layout.element, v) for is_null, v in value if not is_null)
        case Struct():
            return of_fields(layout.fields, value)
        case Nullable():
            return ChangeCounts() if bool(value[0]) is layout.null_if else replaced(layout.inner, value[1])
        case MaskedStruct():
            parts = zip(layout.fields, value[1], strict=True)
            return total(replaced(f.layout, part) for f, (is_null, part) in parts if not is_null)
        case List():
            return total(replaced(layout.element, v) for v in value)
        case Map():
            return total(replaced(layout.key, k) + replaced(layout.value, v) for k, v in value)
        case Switch():
            return of_fields(layout.cases[value[1]].fields, value[2])
        case Subclasses():
            _, index, parts = value
            groups = [layout.fields, *(s.fields for s in layout.subclasses)]
            return ChangeCounts() if index is None else of_fields(groups[index], parts)
        case Logical():
            return replaced(layout.inner, value)
    return ChangeCounts()


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
