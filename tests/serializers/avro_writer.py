"""Flink's encoding of Avro values, written from its description for the tests: knows nothing of the decoders."""

from __future__ import annotations

import struct
from typing import Any

_NUMBERS = {"int": ">i", "long": ">q", "float": ">f", "double": ">d", "boolean": ">?"}


def encode(schema: Any, value: Any) -> bytes:
    """The bytes of a value of a schema as Python reads its JSON; a union's value is (branch, value).

    Names of types are not resolved, so a schema spells out each type. Arrays and maps are written in blocks of two.
    """
    kind = schema if isinstance(schema, str) else "union" if isinstance(schema, list) else schema["type"]
    match kind:
        case "null":
            return b""
        case "string":
            return _sized(value.encode())
        case "bytes":
            return _sized(value)
        case "fixed":
            return bytes(value)
        case "enum":
            return struct.pack(">i", schema["symbols"].index(value))
        case "union":
            branch, inner = value
            return struct.pack(">i", branch) + encode(schema[branch], inner)
        case "record":
            return b"".join(encode(f["type"], value[f["name"]]) for f in schema["fields"])
        case "array":
            return blocks([encode(schema["items"], v) for v in value])
        case "map":
            return blocks([_sized(k.encode()) + encode(schema["values"], v) for k, v in value.items()])
    return struct.pack(_NUMBERS[kind], value)


def blocks(items: list[bytes]) -> bytes:
    """Blocks of at most two items, then the count 0."""
    groups = [items[i : i + 2] for i in range(0, len(items), 2)]
    return b"".join(bytes([len(group)]) + b"".join(group) for group in groups) + b"\0"


def _sized(raw: bytes) -> bytes:
    return struct.pack(">i", len(raw)) + raw
