"""Stateful Functions: messages between functions, values of remote functions, and values of Protobuf's messages.

Flink's classes: ``org.apache.flink.statefun.flink.core.{message.MessageTypeSerializer,types.remote.RemoteValueSerializer}`` and
``org.apache.flink.statefun.flink.common.protobuf.ProtobufTypeSerializer``. Each value is a message of Protobuf after its
``i32`` length. The messages of the project itself are parsed here. Those of users are parsed by their descriptors, which the
snapshot contains, and by the library ``protobuf``.

States are called ``<namespace>.<function>.<name>``, and keys are the ids of addresses. Values of other types have Flink's own
serializers.
"""

from __future__ import annotations

import importlib.util
import struct as packing
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa

from serializers.leaves import as_text, leaf_of
from serializers.protobuf import ProtobufTypes, parse_message
from serializers.registry import SerializerSnapshot, register
from serializers.snapshots import check_version
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.layout import (
    Bool,
    Bytes,
    Field,
    Layout,
    Number,
    Python,
    Struct,
    Text,
    Undecodable,
    struct,
)
from stateextract.errors import FormatError, UsageError
from stateextract.files.reader import Reader

_CORE: Final = "org.apache.flink.statefun.flink.core."
MESSAGE_SNAPSHOT: Final = _CORE + "message.MessageTypeSerializer$Snapshot"
REMOTE_SNAPSHOT: Final = _CORE + "types.remote.RemoteValueSerializerSnapshot"
PROTOBUF_SNAPSHOT: Final = "org.apache.flink.statefun.flink.common.protobuf.ProtobufTypeSerializerSnapshot"
_TYPED_VALUE: Final = "org.apache.flink.statefun.sdk.reqreply.generated.TypedValue"

_VARINT, _I64, _BYTES, _I32 = 0, 1, 2, 5
"""How Protobuf writes a field."""

Wire = dict[int, Any]
"""The fields of a message by their number: an int, or bytes."""


def _message(reader: Reader, kinds: Mapping[int, int]) -> Wire:
    """The fields of a message to the end of the reader, the last of each number.

    :param kinds: how each field is written, by number.
    :raises FormatError: for other fields.
    """
    found: Wire = {}
    while reader.remaining:
        start = reader.offset
        tag = reader.varint(32, "a field of a message")
        number, kind = tag >> 3, tag & 7
        if kinds.get(number) != kind:
            raise FormatError(f"unknown field {number} of a message", expected=f"one of {sorted(kinds)}", offset=start)
        found[number] = _field(reader, kind)
    return found


def _field(reader: Reader, kind: int) -> Any:
    if kind == _VARINT:
        return reader.varint(64, "a number")
    size = {_I64: 8, _I32: 4}.get(kind)
    return bytes(reader.bytes(reader.varint(32, "a length") if size is None else size, "a field"))


def _framed(reader: Reader) -> Reader:
    """The bytes of a value after their ``i32`` length."""
    start = reader.offset
    return Reader(reader.bytes(reader.i32("the length of a value"), "a value"), base=start + 4)


# ---- values of remote functions


def _remote_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (1,), name, reader)
    type_name = f"{reader.utf('a namespace')}/{reader.utf('the name of a type')}"
    return SerializerSnapshot(name, version, details={"type": type_name})


def _standard(layout: Layout, kind: int, value_of: Callable[[Any], Any], default: Any) -> Python:
    """A type of the SDKs: a message whose field 1 is the value, and left out where it is 0 or empty."""

    def read(reader: Reader, inner: Layout, counts: ChangeCounts) -> Any:
        wire = _message(_framed(reader), {1: kind}).get(1, default)
        return as_text(wire, inner, counts) if isinstance(layout, Text) else value_of(wire)

    return leaf_of(layout, read)


def _unpacked(form: str) -> Callable[[bytes], Any]:
    return lambda raw: packing.unpack(form, raw)[0]


_STANDARD: Final = {
    "io.statefun.types/bool": _standard(Bool(), _VARINT, bool, 0),
    "io.statefun.types/int": _standard(Number(pa.int32()), _I32, _unpacked("<i"), bytes(4)),
    "io.statefun.types/long": _standard(Number(pa.int64()), _I64, _unpacked("<q"), bytes(8)),
    "io.statefun.types/float": _standard(Number(pa.float32()), _I32, _unpacked("<f"), bytes(4)),
    "io.statefun.types/double": _standard(Number(pa.float64()), _I64, _unpacked("<d"), bytes(8)),
    "io.statefun.types/string": _standard(Text("utf8"), _BYTES, bytes, b""),
}


@register(REMOTE_SNAPSHOT, payload=_remote_payload)
def _remote(snapshot: SerializerSnapshot) -> Layout:
    """What the function keeps by its type; bytes for one of the user's own."""
    return _STANDARD.get(snapshot.details.get("type", ""), Bytes())


# ---- messages between functions


def _message_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (2, 1), name, reader)
    details: dict[str, Any] = {"payloads": reader.utf("a kind of payloads")}
    if version > 1 and reader.bool("whether a class follows"):
        details["class"] = reader.utf("the class of the serializer of payloads")
    return SerializerSnapshot(name, version, details=details)


_ADDRESS: Final = struct(namespace=Text("utf8"), type=Text("utf8"), id=Text("utf8"))
_PAYLOAD: Final = Struct((Field("class", Text("utf8")), Field("typename", Text("utf8")), Field("bytes", Bytes())))
_ENVELOPE: Final = struct(
    source=_ADDRESS, target=_ADDRESS, cancellation_token=Text("utf8"), checkpoint_id=Number(pa.int64()), payload=_PAYLOAD
)
_SOURCE, _TARGET, _CONTENT, _CHECKPOINT, _TOKEN = 1, 2, 3, 4, 10


def _envelope(reader: Reader, inner: Struct, counts: ChangeCounts) -> dict[str, Any]:
    """``Envelope`` of ``stateful-functions.proto``."""
    wire = _message(_framed(reader), dict.fromkeys((_SOURCE, _TARGET, _CONTENT, _CHECKPOINT, _TOKEN), _BYTES))
    columns = {f.name: f.layout for f in inner.fields}

    def address(number: int, name: str) -> dict[str, Any] | None:
        if number not in wire:
            return None
        parts = _message(Reader(wire[number]), dict.fromkeys((1, 2, 3), _BYTES))
        return _texts(columns[name], [parts.get(n, b"") for n in (1, 2, 3)], counts)

    checkpoint = _message(Reader(wire[_CHECKPOINT]), {1: _VARINT}).get(1, 0) if _CHECKPOINT in wire else None
    token = wire.get(_TOKEN)
    return {
        "source": address(_SOURCE, "source"),
        "target": address(_TARGET, "target"),
        "cancellation_token": None if token is None else as_text(token, columns["cancellation_token"], counts),
        "checkpoint_id": checkpoint,
        "payload": _content(wire[_CONTENT], columns["payload"], counts) if _CONTENT in wire else None,
    }


def _texts(layout: Layout, parts: list[bytes], counts: ChangeCounts) -> dict[str, Any]:
    assert isinstance(layout, Struct)
    return {f.name: as_text(raw, f.layout, counts) for f, raw in zip(layout.fields, parts, strict=True)}


def _content(raw: bytes, layout: Layout, counts: ChangeCounts) -> dict[str, Any]:
    """``Payload``; of a ``TypedValue``, which remote functions exchange, its type and its value."""
    wire = _message(Reader(raw), {2: _BYTES, 3: _BYTES})
    name, content, typename = wire.get(2, b""), wire.get(3, b""), None
    if name == _TYPED_VALUE.encode():
        value = _message(Reader(content), {1: _BYTES, 2: _VARINT, 3: _BYTES})
        typename, content = value.get(1, b""), value.get(3, b"") if value.get(2) else None
    assert isinstance(layout, Struct)
    of_class, of_type, _ = (f.layout for f in layout.fields)
    return {
        "class": as_text(name, of_class, counts),
        "typename": None if typename is None else as_text(typename, of_type, counts),
        "bytes": content,
    }


register(MESSAGE_SNAPSHOT, leaf_of(_ENVELOPE, _envelope), payload=_message_payload)


# ---- messages of Protobuf


def _protobuf_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``ProtobufSerializerSnapshot``: the Java class, the message's name and the descriptors."""
    check_version(version, (1,), name, reader)
    wire = _message(_framed(reader), dict.fromkeys((1, 2, 3), _BYTES))
    return SerializerSnapshot(
        name, version,
        details={"class": wire.get(1, b"").decode("utf-8", "replace"), "descriptors": wire.get(3, b"")},
    )  # fmt: skip


@register(PROTOBUF_SNAPSHOT, payload=_protobuf_payload)
def _protobuf(snapshot: SerializerSnapshot) -> Layout:
    java = snapshot.details.get("class", snapshot.class_name)
    if importlib.util.find_spec("google.protobuf") is None:
        return Undecodable(java, "it is a message of Protobuf, and the library protobuf is not installed")
    try:
        message = ProtobufTypes((snapshot.details.get("descriptors", b""),)).message(java)
    except UsageError as error:
        return Undecodable(java, error.message)
    if message is None:
        return Undecodable(java, "the descriptors in the serializer's snapshot do not have it")
    return _by_descriptor(java, message)


def _by_descriptor(java: str, message_class: Any) -> Python:
    from serializers.kryo.kryo_values import Obj
    from serializers.kryo.protobuf_columns import column
    from serializers.kryo.shapes import Shaping

    made = column(message_class)
    known: tuple[Layout | None, Any] = None, None

    def read(reader: Reader, inner: Layout, counts: ChangeCounts) -> Any:
        nonlocal known
        layout, shaper = known
        if layout is not inner:
            shaper = made.shape(inner)
            known = inner, shaper
        raw = bytes(reader.bytes(reader.i32("the length of a message"), "a message"))
        return shaper(Obj(java, "message", parse_message(message_class, raw)), Shaping(counts))

    return leaf_of(made.layout, read)
