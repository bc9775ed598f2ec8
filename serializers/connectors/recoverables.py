"""Files that a sink has not published: where a file system's ``RecoverableWriter`` goes on, or what it has to publish.

Each file system has a serializer of its own, which begins with a magic number; numbers are little-endian. Other file systems'
bytes (Google Cloud Storage has no magic number) stay bytes.

Classes: ``org.apache.flink.streaming.api.functions.sink.filesystem.OutputStreamBasedPartFileWriter`` (two serializers around),
``org.apache.flink.core.fs.local.LocalRecoverableSerializer``,
``org.apache.flink.runtime.fs.hdfs.HadoopRecoverableSerializer``,
``org.apache.flink.fs.s3.common.writer.S3RecoverableSerializer``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors.embedded import decode_utf8
from serializers.connectors.payload_parts import (
    I32,
    I64,
    TEXT,
    expect,
    must_end,
    part,
    read_flag,
    read_text,
    read_versioned,
    struct_of,
)
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.reader import Reader

_IN_PROGRESS_MAGIC = 0xB3A4073D - (1 << 32)
_PENDING_MAGIC = 0x2C853C89
_LOCAL_MAGIC = 0x1E744B57
_HADOOP_MAGIC = 0xD7436C5E
_S3_MAGIC = 0x98761432

UNPUBLISHED_FILE = struct_of(
    bytes=pa.binary(), target_path=TEXT, size=I64, file_system=TEXT, path=TEXT, temporary_path=TEXT, length=I64,
    upload_id=TEXT, parts=pa.list_(struct_of(number=I32, etag=TEXT)), incomplete_object=TEXT, incomplete_length=I64,
)  # fmt: skip
"""``target_path`` and ``size`` are what the sink recorded, the others what the file system did. ``length``: bytes in the
temporary file, or in the parts of an upload."""


def unpublished_file(version: int, data: bytes) -> dict[str, Any]:
    """What the sink's own serializer wrote for one file: ``bytes``, and the fields if the file system is known.

    :param version: of the sink's serializer. Until Flink 1.10 there was none, and the file system's own is recorded.
    """
    found: dict[str, Any] = {"bytes": data} | dict.fromkeys(
        field.name for field in UNPUBLISHED_FILE if field.name != "bytes"
    )
    try:
        return found | _unpublished(Reader(data), version)
    except StateExtractError:
        return found


def _unpublished(reader: Reader, version: int) -> dict[str, Any]:
    magic = reader.i32("a magic number")
    if magic not in (_IN_PROGRESS_MAGIC, _PENDING_MAGIC):
        reader.pos = 0
        return _recoverable(reader)
    expect(version, (1, 2))
    found: dict[str, Any] = {}
    if version == 2:
        found["target_path"] = read_text(reader) if read_flag(reader) else None
        size = reader.i64("a size") if magic == _PENDING_MAGIC else -1
        found["size"] = None if size == -1 else size
    inner_version, inner = read_versioned(reader)
    must_end(reader)
    expect(inner_version, (1,))
    return found | _recoverable(Reader(inner))


def _recoverable(reader: Reader) -> dict[str, Any]:
    magic = _number(reader, 4) & 0xFFFFFFFF
    read = {_LOCAL_MAGIC: _temporary_file, _HADOOP_MAGIC: _temporary_file, _S3_MAGIC: _upload}.get(magic)
    if read is None:
        raise FormatError("no file system that is known")
    value = {"file_system": _NAMES[magic]} | read(reader)
    must_end(reader)
    return value


_NAMES = {_LOCAL_MAGIC: "local", _HADOOP_MAGIC: "hadoop", _S3_MAGIC: "s3"}


def _temporary_file(reader: Reader) -> dict[str, Any]:
    length, path, temporary = _number(reader, 8), _number(reader, 4), _number(reader, 4)
    return {"length": length, "path": _sized(reader, path), "temporary_path": _sized(reader, temporary)}


def _upload(reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = {"path": _text(reader), "upload_id": _text(reader)}
    count = _number(reader, 4)
    if not 0 <= 8 * count <= reader.remaining:
        raise FormatError("more parts than bytes")
    found["parts"] = [{"number": _number(reader, 4), "etag": _text(reader)} for _ in range(count)]
    found["length"] = _number(reader, 8)
    return found | {"incomplete_object": _text(reader) or None, "incomplete_length": _number(reader, 8)}


def _number(reader: Reader, size: int) -> int:
    return int.from_bytes(reader.bytes(size, "a number"), "little", signed=True)


def _text(reader: Reader) -> str:
    return _sized(reader, _number(reader, 4))


def _sized(reader: Reader, size: int) -> str:
    return decode_utf8(reader.bytes(size, "a text"))


UNPUBLISHED = part(UNPUBLISHED_FILE, lambda reader: unpublished_file(*read_versioned(reader)))
"""The same after the version and the length of what the sink's serializer wrote."""
