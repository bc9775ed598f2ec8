"""Classes that write themselves: Flink's ``Value`` and ``CopyableValue``, Hadoop's ``Writable``.

Their serializers name the class and call its ``write``; which bytes that makes, only the class knows. Known are Flink's
own value classes, Hadoop's plain ones, lists and maps of those (whose elements the class file of the job's jar shows:
``class Names extends ListValue<StringValue>``), and what the user describes: a class model with ``written`` says what
``write`` does, call by call. Of any other class values are bytes.

Flink's classes: ``org.apache.flink.types.*Value``, and of ``org.apache.flink.api.java.typeutils.runtime``
``{Value,CopyableValue,Writable}Serializer``, the last one in flink-hadoop-compatibility. Hadoop's:
``org.apache.hadoop.io.{*Writable,Text,MD5Hash}``, and the variable-length numbers of ``WritableUtils``.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from serializers.classes import ClassModel, FieldModel
from serializers.javatypes import parse_type
from serializers.leaves import leaf, text_leaf
from serializers.names import Names
from serializers.registry import SerializerSnapshot, current_context, load_family, register
from serializers.scalars import NUMBERS
from serializers.snapshots import generic
from serializers.tuples import RUNTIME
from stateextract.columnar.layout import (
    Bytes,
    Field,
    Layout,
    List,
    Map,
    Null,
    Python,
    Struct,
    Text,
    Undecodable,
)
from stateextract.errors import FormatError, UsageError
from stateextract.files.reader import Reader

_FLINK: Final = "org.apache.flink.types."
_HADOOP: Final = "org.apache.hadoop.io."
_MAX_DEPTH: Final = 10


def _vlong(reader: Reader) -> int:
    """``WritableUtils.readVLong``: one byte from -112 on, else a byte with sign and length, and the number."""
    first = int.from_bytes(reader.bytes(1, "a variable-length number"), "big", signed=True)
    if first >= -112:
        return first
    negative = first < -120
    number = int.from_bytes(reader.bytes(-(first + (120 if negative else 112)), "a variable-length number"), "big")
    return ~number if negative else number


def _variable(type_: pa.DataType) -> Python:
    bits = type_.bit_width

    def read(reader: Reader) -> int:
        start, number = reader.pos, _vlong(reader)
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise FormatError(f"the number {number} in {bits} bits", offset=start)
        return number

    return leaf(type_, read)


def _content(reader: Reader) -> bytes:
    """``Text.write``, ``Text.writeString``: a variable-length number of bytes, and UTF-8."""
    return bytes(reader.bytes(_vlong(reader), "a text"))


_TEXT: Final = text_leaf(_content)
_VINT: Final = _variable(pa.int32())
_VLONG: Final = _variable(pa.int64())

VALUES: dict[str, Layout] = {
    **{f"{_FLINK}{name}Value": layout for name, layout in NUMBERS.items()},
    _FLINK + "StringValue": Text("value"),
    _FLINK + "NullValue": Null(0),
    **{
        f"{_HADOOP}{name}Writable": NUMBERS[name]
        for name in ("Boolean", "Byte", "Short", "Int", "Long", "Float", "Double")
    },
    _HADOOP + "VIntWritable": _VINT,
    _HADOOP + "VLongWritable": _VLONG,
    _HADOOP + "NullWritable": Null(0),
    _HADOOP + "Text": _TEXT,
    _HADOOP + "BytesWritable": Bytes(),
    _HADOOP + "MD5Hash": Bytes(16),
}
"""What ``write`` makes, by class."""

_CALLS: Final[dict[str, Layout]] = {
    "boolean": NUMBERS["Boolean"], "byte": NUMBERS["Byte"], "short": NUMBERS["Short"], "char": NUMBERS["Char"],
    "int": NUMBERS["Int"], "long": NUMBERS["Long"], "float": NUMBERS["Float"], "double": NUMBERS["Double"],
    "utf": Text("utf"), "flink string": Text("flink"), "hadoop text": _TEXT, "hadoop vint": _VINT, "hadoop vlong": _VLONG,
}  # fmt: skip
"""What ``written`` of a class model may say, and its layout: ``writeUTF``, ``StringValue.writeString``, ``Text.writeString``,
``WritableUtils.writeVInt`` and ``writeVLong`` next to the numbers of ``DataOutput``."""


def _layout(name: str, model: ClassModel | None, depth: int = 0) -> Layout:
    if model is not None and model.written:
        names = Names()
        return Struct(tuple(Field(names.take(part.name), _written(model, part)) for part in model.written))
    load_family(name)
    known = VALUES.get(name) or _collection(model, depth)
    return known or Undecodable(name, "only the class determines which bytes its method write creates")


def _written(model: ClassModel, part: FieldModel) -> Layout:
    layout = _CALLS.get(part.type)
    if layout is None:
        raise UsageError(
            f"{model.name} writes itself, and {part.name!r} cannot be written as {part.type!r}",
            expected=f"one of {', '.join(_CALLS)}",
        )
    return layout


def _collection(model: ClassModel | None, depth: int) -> Layout | None:
    """A class directly below ``ListValue`` or ``MapValue``: a count, and elements without their classes."""
    if model is None or model.superclass is None or depth > _MAX_DEPTH:
        return None
    models = current_context().class_models
    above = parse_type(model.superclass)
    parts = [_layout(a.class_name, models.get(a.class_name), depth + 1) for a in above.arguments]
    if above.name == _FLINK + "ListValue" and len(parts) == 1:
        return List(parts[0])
    if above.name == _FLINK + "MapValue" and len(parts) == 2:
        return Map(parts[0], parts[1])
    return None


def _describe(snapshot: SerializerSnapshot) -> Layout:
    name = snapshot.details["class"]
    return _layout(name, current_context().class_models.get(name))


def _has_binary_length(snapshot: SerializerSnapshot) -> bool:
    """``CopyableValueSerializer.getLength`` asks the class; known is what Flink's own ones say."""
    name: str = snapshot.details["class"]
    return name.startswith(_FLINK) and name in VALUES and name != _FLINK + "StringValue"


register(
    RUNTIME + "CopyableValueSerializer$CopyableValueSerializerSnapshot",
    _describe,
    payload=generic,
    fixed_length=_has_binary_length,
)
register(
    (RUNTIME + "ValueSerializer$ValueSerializerSnapshot", RUNTIME + "WritableSerializer$WritableSerializerSnapshot"),
    _describe,
    payload=generic,
)
