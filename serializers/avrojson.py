"""Avro values that no column can hold, because their type contains itself: as JSON text.

Reads one value in Flink's encoding (see ``avro.py``) and stops after its last byte. Records are objects, arrays lists,
maps objects; a union's value is the value itself; bytes and fixed are hexadecimal text, decimals decimal text; numbers
are exact; NaN and the infinities are text. Other logical types stay numbers. A value nested more than
:data:`MAX_VALUE_DEPTH` deep is refused.

May import schemas, layouts, the byte cursor. Must not know where a value is stored.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import pyarrow as pa

from serializers.avroschema import AvroType
from stateextract.columnar.convert.numerals import MAX_DIGIT_BYTES, big_decimal_text
from stateextract.columnar.layout import Layout, Python
from stateextract.columnar.value_reader import ValueReader
from stateextract.errors import FormatError, TruncatedError, ValueRefusedError
from stateextract.files.reader import Reader
from stateextract.printable import json_escapes

MAX_VALUE_DEPTH = 100
# Items without bytes give no bound on their number.
_MAX_EMPTY_ITEMS = 1 << 16


def json_leaf(type_: AvroType) -> Layout:
    """A layout whose values are JSON text."""

    def decode(data: memoryview, pos: int, end: int) -> tuple[str, int]:
        reader = ValueReader(data, pos, end)
        value = _value(type_, reader, 0)
        return json_escapes(json.dumps(value, ensure_ascii=False, separators=(",", ":"))), reader.pos

    return Python(decode, pa.string())


def _value(type_: AvroType, r: ValueReader, depth: int) -> Any:
    if depth > MAX_VALUE_DEPTH:
        raise ValueRefusedError(
            f"an Avro value is nested more than {MAX_VALUE_DEPTH} levels deep, which JSON columns do not allow",
            offset=r.offset,
        )
    match type_.kind:
        case "null":
            return None
        case "boolean":
            return r.bool()
        case "int":
            return r.i32()
        case "long":
            return r.i64()
        case "float":
            return _real(struct.unpack(">f", r.bytes(4, "a float"))[0])
        case "double":
            return _real(struct.unpack(">d", r.bytes(8, "a double"))[0])
        case "string":
            return bytes(r.bytes(r.i32("the length of a string"), "a string")).decode("utf-8", "replace")
        case "bytes":
            return _bytes(type_, bytes(r.bytes(r.i32("the length of bytes"))))
        case "fixed":
            return _bytes(type_, bytes(r.bytes(type_.size, "a fixed")))
        case "enum":
            return type_.symbols[_index(r, len(type_.symbols), "an enum")]
        case "union":
            return _value(type_.branches[_index(r, len(type_.branches), "a union")], r, depth + 1)
        case "record":
            return {name: _value(inner, r, depth + 1) for name, inner in type_.fields}
        case "array":
            return [_value(type_.branches[0], r, depth + 1) for _ in _blocks(r)]
        case "map":
            entries = {}
            for _ in _blocks(r):
                key = _value(_STRING, r, depth + 1)
                entries[key] = _value(type_.branches[0], r, depth + 1)
            return entries
    raise TypeError(type_.kind)


_STRING = AvroType("string")


def _real(value: float) -> Any:
    if value != value:
        return "NaN"
    return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"


def _bytes(type_: AvroType, raw: bytes) -> str:
    if type_.logical == "decimal" and 0 < len(raw) <= MAX_DIGIT_BYTES and 0 <= type_.scale <= type_.precision:
        return big_decimal_text(int.from_bytes(raw, "big", signed=True), type_.scale)
    return raw.hex()


def _index(r: Reader, n: int, what: str) -> int:
    start = r.offset
    index = r.i32(f"the index of {what}")
    if not 0 <= index < n:
        raise FormatError(f"invalid index {index} of {what}", expected=f"0 to {n - 1}", offset=start)
    return index


def _blocks(r: ValueReader) -> Any:
    """Once for every item of counted blocks; the count 0 ends them. Items without bytes are bounded in the whole value."""
    while True:
        start = r.offset
        n = _varint(r)
        if n == 0:
            return
        if n > r.remaining and n > _MAX_EMPTY_ITEMS:
            raise TruncatedError(f"the data ends inside {n} items", offset=start)
        for _ in range(n):
            before = r.pos
            yield
            r.empty.values += r.pos == before
            if r.empty.values > _MAX_EMPTY_ITEMS:
                raise FormatError(f"invalid number of items without bytes: {r.empty.values}", offset=start)


def _varint(r: Reader) -> int:
    start, value = r.offset, 0
    for shift in range(0, 35, 7):
        byte = r.u8("the number of items")
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
    raise FormatError("the varint of a number of items does not end", expected="at most 5 bytes", offset=start)
