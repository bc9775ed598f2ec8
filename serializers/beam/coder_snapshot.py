"""Snapshots of Beam's serializers: the serializer itself as a Java object, which has the coder.

Beam's classes: ``CoderTypeSerializer``, ``UnversionedTypeSerializerSnapshot`` (of ``SerializableUtils``: Snappy blocks),
and ``CoderTypeSerializer$LegacySnapshot`` of releases up to 2.27, whose serializer is before it, uncompressed.
"""

from __future__ import annotations

import cramjam

from serializers.beam.coder_layouts import coder_layout
from serializers.beam.coders import Coder, read_coder
from serializers.beam.varints import framed
from serializers.registry import SerializerSnapshot, register
from serializers.snapshots import SnapshotReader, check_version
from stateextract.columnar.layout import Layout, Text, Undecodable
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.javastream import JavaLimits, JavaObject, parse_java_stream
from stateextract.files.reader import Reader

_TYPES = "org.apache.beam.runners.flink.translation.types."
UNVERSIONED = (_TYPES + "UnversionedTypeSerializerSnapshot", _TYPES + "compat.UnversionedTypeSerializerSnapshot")
LEGACY = _TYPES + "CoderTypeSerializer$LegacySnapshot"
NAMESPACE = (
    "org.apache.beam.runners.flink.translation.wrappers.streaming.state.FlinkStateInternals$FlinkStateNamespaceKeySerializer"
    "$FlinkStateNameSpaceSerializerSnapshot"
)
_SERIALIZER = _TYPES + "CoderTypeSerializer"

_HEADER = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
_MAX_OBJECT = 1 << 24
"""Bytes of a serializer. Most of it is the options of the pipeline, as text."""
_LIMITS = JavaLimits(depth=200, values=200_000)


def _uncompressed(data: memoryview, offset: int) -> bytes:
    """``SnappyOutputStream``: a header with two versions, then blocks of Snappy with their lengths."""
    reader = Reader(data, 0, len(data), offset)
    if bytes(reader.bytes(len(_HEADER), "a stream of Snappy blocks")) != _HEADER:
        raise FormatError("not a stream of Snappy blocks", expected=_HEADER.hex(), offset=offset)
    plain = bytearray()
    while reader.remaining:
        start = reader.offset
        block = reader.bytes(reader.i32("the length of a Snappy block"), "a Snappy block")
        try:
            if cramjam.snappy.decompress_raw_len(block) + len(plain) > _MAX_OBJECT:
                raise FormatError("a serializer is too large", expected=f"at most {_MAX_OBJECT} bytes", offset=start)
            plain += bytes(cramjam.snappy.decompress_raw(block))
        except cramjam.DecompressionError as error:
            raise FormatError(f"a Snappy block cannot be decompressed ({error})", offset=start) from None
    return bytes(plain)


def _snapshot(name: str, version: int, data: bytes) -> SerializerSnapshot:
    """The snapshot, with the coder, or why it cannot be read; the snapshot's own bytes have been read in any case."""
    try:
        value = parse_java_stream(Reader(data), _LIMITS)
        if not isinstance(value, JavaObject) or value.class_name != _SERIALIZER:
            raise FormatError("the serializer of a coder is of another class")
        return SerializerSnapshot(name, version, details={"coder": read_coder(value.get("coder"))})
    except StateExtractError as error:
        return SerializerSnapshot(name, version, details={"why": error.message})


def _unversioned(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (1,), name, reader)
    size = reader.i32("the length of a serializer")
    start = reader.offset
    data = reader.bytes(size, "a serializer")
    return _snapshot(name, version, _uncompressed(memoryview(data), start))


def _legacy(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (1,), name, reader)
    serializer = reader.serializer if isinstance(reader, SnapshotReader) else b""
    return _snapshot(name, version, bytes(serializer))


def coder_of(snapshot: SerializerSnapshot) -> Coder | None:
    """The coder that a snapshot has; ``None`` for another serializer's snapshot, and for a coder that cannot be read."""
    coder = snapshot.details.get("coder")
    return coder if isinstance(coder, Coder) else None


@register(UNVERSIONED, payload=_unversioned)
@register(LEGACY, payload=_legacy)
def _layout(snapshot: SerializerSnapshot) -> Layout:
    coder = coder_of(snapshot)
    if coder is None:
        return Undecodable(snapshot.class_name, f"the coder cannot be read: {snapshot.details.get('why')}")
    key = snapshot.details.get("key")
    return framed(coder_layout(key)) if isinstance(key, Coder) else coder_layout(coder)


def _namespace(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """The coder of windows as a Java object, or null; values are the namespace's text all the same."""
    check_version(version, (0,), name, reader)
    parse_java_stream(reader, _LIMITS)
    return SerializerSnapshot(name, version)


register(NAMESPACE, Text(), payload=_namespace)
