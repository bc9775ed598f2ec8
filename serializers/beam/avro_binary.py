"""Avro's own binary encoding, which Beam's ``AvroCoder`` writes; Flink's serializer has another (``serializers/avro.py``).

Numbers are zigzag numbers of variable length; texts and bytes have such a length in front. Known are records, arrays, unions of
null and a type, and the types without parts; of logical types the stored type. Beam's class: ``AvroCoder``; of KafkaIO: its
``KafkaCheckpointMark``.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa

from serializers.leaves import leaf, leaf_of, text_leaf
from serializers.names import Names
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import (
    Bool,
    Field,
    Layout,
    List,
    Null,
    Nullable,
    Number,
    Python,
    Struct,
    Undecodable,
)
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

_MAX_DEPTH: Final = 20


def _content(reader: Reader) -> bytes:
    size = reader.zigzag(64)
    if size < 0:
        raise FormatError(f"bytes have the length {size}", offset=reader.offset)
    return bytes(reader.bytes(size, "bytes"))


_PLAIN: Final[dict[str, Layout]] = {
    "null": Null(0), "boolean": Bool(), "int": leaf(pa.int32(), lambda reader: reader.zigzag(32)),
    "long": leaf(pa.int64(), lambda reader: reader.zigzag(64)),
    "float": Number(pa.float32(), little=True), "double": Number(pa.float64(), little=True),
    "string": text_leaf(_content), "bytes": leaf(pa.binary(), _content),
}  # fmt: skip


def _array(element: Layout) -> Python:
    """Blocks of elements with their number, up to a number of 0; a negative number has the block's bytes after it."""

    def read(reader: Reader, inner: List, counts: ChangeCounts) -> Any:
        values: list[Any] = []
        while number := reader.zigzag(64):
            if number < 0:
                number = -number
                reader.zigzag(64)
            if number > reader.remaining:
                raise FormatError(f"{number} elements do not fit", expected=f"at most {reader.remaining}", offset=reader.offset)
            for _ in range(number):
                value, reader.pos = interpret(inner.element, reader.data, reader.pos, reader.end, counts)
                values.append(value)
        return values

    return leaf_of(List(element), read)


def avro_layout(text: str) -> Layout:
    """What values of a schema look like.

    :param text: the schema, as JSON.
    """
    try:
        return _layout(json.loads(text), 0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Undecodable("AvroCoder", "its schema cannot be read")


def _layout(schema: Any, depth: int) -> Layout:
    if depth > _MAX_DEPTH:
        return Undecodable("AvroCoder", "its schema is nested too deeply")
    if isinstance(schema, list) and len(schema) == 2 and "null" in schema:
        null = schema.index("null")
        # The number of the branch is one byte, 0 or 2.
        return Nullable(_layout(schema[1 - null], depth + 1), null_if=bool(null))
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(kind, dict):
        return _layout(kind, depth + 1)
    if kind == "record":
        taken = Names()
        return Struct(tuple(Field(taken.take(f["name"]), _layout(f["type"], depth + 1)) for f in schema["fields"]))
    if kind == "array":
        return _array(_layout(schema["items"], depth + 1))
    known = _PLAIN.get(kind) if isinstance(kind, str) else None
    return known or Undecodable("AvroCoder", f"its schema has {json.dumps(kind)[:80]}")
