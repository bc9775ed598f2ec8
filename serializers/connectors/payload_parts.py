"""What payloads of connectors are made of: each part is what reads it and the type of its column, so both come from one place.

A payload's form is a :class:`PayloadPart`, mostly a :func:`record` of others. What no composition says is a function.

Depends on the byte cursor. Does not know any connector.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from serializers.snapshots import flink_string
from stateextract.errors import FormatError
from stateextract.files.reader import Reader
from stateextract.printable import replaced

TEXT, I32, I64 = pa.string(), pa.int32(), pa.int64()


class PayloadPart(NamedTuple):
    """A part of a payload.

    :param read: takes the part from a cursor, by the version of the payload; a :class:`FormatError` for other bytes.
    :param type: of what it returns.
    """

    read: Callable[[Reader, int], Any]
    type: pa.DataType


def part(type_: pa.DataType, read: Callable[[Reader], Any]) -> PayloadPart:
    """A part that all versions write alike."""
    return PayloadPart(lambda reader, version: read(reader), type_)


def record(**parts: PayloadPart) -> PayloadPart:
    """Parts one after the other, as a struct of those whose names do not begin with ``_``. The others are only read."""
    kept = [name for name in parts if not name.startswith("_")]

    def read(reader: Reader, version: int) -> dict[str, Any]:
        found = {name: part.read(reader, version) for name, part in parts.items()}
        return {name: found[name] for name in kept}

    return PayloadPart(read, struct_of(**{name: parts[name].type for name in kept}))


def joined(*structs: PayloadPart) -> PayloadPart:
    """Structs one after the other, as one struct of all their fields."""

    def read(reader: Reader, version: int) -> dict[str, Any]:
        return {name: value for struct in structs for name, value in struct.read(reader, version).items()}

    return PayloadPart(read, pa.struct([field for struct in structs for field in struct.type]))


def in_order(struct: PayloadPart, *names: str) -> PayloadPart:
    """A struct with these columns: in another order than its bytes, or without a part that no column shows."""
    return PayloadPart(struct.read, struct_of(**{name: struct.type.field(name).type for name in names}))


def many(item: PayloadPart) -> PayloadPart:
    """``i32`` count, then the items."""
    return PayloadPart(
        lambda reader, version: [item.read(reader, version) for _ in range(reader.count("items"))], pa.list_(item.type)
    )


def sized(inner: PayloadPart) -> PayloadPart:
    """``i32`` length, then a part that takes so many bytes."""

    def read(reader: Reader, version: int) -> Any:
        content = Reader(reader.bytes(reader.i32("a length"), "a part"))
        value = inner.read(content, version)
        must_end(content)
        return value

    return PayloadPart(read, inner.type)


def versioned(inner: PayloadPart, versions: Container[int]) -> PayloadPart:
    """``i32`` version of its own, then a part."""

    def read(reader: Reader, version: int) -> Any:
        own = reader.i32("a version")
        expect(own, versions)
        return inner.read(reader, own)

    return PayloadPart(read, inner.type)


def since(first: int, inner: PayloadPart) -> PayloadPart:
    """A part that versions from ``first`` on write; null in older ones."""
    return PayloadPart(lambda reader, version: inner.read(reader, version) if version >= first else None, inner.type)


def optional(inner: PayloadPart) -> PayloadPart:
    """A boolean "is present", then the part."""
    return PayloadPart(lambda reader, version: inner.read(reader, version) if read_flag(reader) else None, inner.type)


def checked(inner: PayloadPart, is_valid: Callable[[Any], object]) -> PayloadPart:
    """A part whose value the connector would write."""

    def read(reader: Reader, version: int) -> Any:
        value = inner.read(reader, version)
        if not is_valid(value):
            raise FormatError("a value that the connector would not write", offset=reader.offset)
        return value

    return PayloadPart(read, inner.type)


def fixed(number: int) -> PayloadPart:
    """``i32`` that is always the same: a magic number, a version."""
    return checked(INT, lambda value: value == number)


def one_of(names: Sequence[str]) -> PayloadPart:
    """``i32`` that counts in names."""
    index = checked(INT, lambda value: 0 <= value < len(names))
    return PayloadPart(lambda reader, version: names[index.read(reader, version)], TEXT)


def read_versioned(reader: Reader) -> tuple[int, bytes]:
    """``i32`` version, ``i32`` length, the bytes: ``SimpleVersionedSerialization``."""
    version = reader.i32("a version")
    return version, bytes(reader.bytes(reader.i32("a length"), "a payload"))


def must_end(reader: Reader) -> None:
    """Refuse bytes that are left."""
    if reader.remaining:
        raise FormatError(f"{reader.remaining} bytes are left of a payload", offset=reader.offset)


def expect(found: int, allowed: Container[int]) -> None:
    """Refuse a number that the connector would not write."""
    if found not in allowed:
        raise FormatError(f"found {found} in a payload", expected=str(allowed))


def read_flag(reader: Reader) -> bool:
    """A boolean as Java writes it: bytes of something else are seldom only 0 and 1."""
    flag = reader.u8("a flag")
    expect(flag, (0, 1))
    return flag == 1


def read_text(reader: Reader) -> str:
    """``DataOutput.writeUTF``, with U+FFFD for lone surrogates, which Arrow does not take."""
    return replaced(reader.utf())


def nullable_text(reader: Reader) -> str | None:
    """A boolean "is present", then ``StringValue.writeString``, with U+FFFD for lone surrogates."""
    text = flink_string(reader) if read_flag(reader) else None
    return None if text is None else replaced(text)


def struct_of(**fields: pa.DataType) -> pa.DataType:
    """A struct type by the names of its fields."""
    return pa.struct(list(fields.items()))


UTF, FLAG = part(TEXT, read_text), part(pa.bool_(), read_flag)
SHORT, INT, LONG = part(pa.int16(), Reader.i16), part(I32, Reader.i32), part(I64, Reader.i64)
BLOB = part(pa.binary(), lambda reader: bytes(reader.bytes(reader.i32("a length"), "bytes")))
"""``i32`` length, then the bytes."""
