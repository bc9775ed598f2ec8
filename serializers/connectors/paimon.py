"""What Paimon's source and its sink's committer keep: splits, the enumerator's splits, and what is to be committed.

Files of a table are rows in Paimon's binary format, which is Flink's. Later versions add fields to the end, so the first eleven
are read in all versions. Partitions are rows whose types the table's schema has: they stay bytes. An enumerator without
splits keeps two numbers, and splits of metadata tables two texts, which may be of any connector.

Classes: ``org.apache.paimon.flink.source.FileStoreSourceSplitSerializer``, ``…source.PendingSplitsCheckpointSerializer``,
``org.apache.paimon.table.source.DataSplit`` (versions 2 to 8), ``org.apache.paimon.manifest.ManifestCommittableSerializer``,
``org.apache.paimon.table.sink.CommitMessageSerializer`` (versions 3 to 10), ``org.apache.paimon.io.DataFileMeta``,
``org.apache.paimon.index.IndexFileMeta``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors.embedded import java_object
from serializers.connectors.forms import (
    COORDINATOR,
    I32,
    I64,
    TEXT,
    PayloadForm,
    expect,
    must_end,
    read_flag,
    read_text,
    register_form,
    struct_of,
)
from serializers.context import Evidence
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Bytes, Field, Layout, Number, Text
from stateextract.columnar.layout.binary import BinaryRow
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

_MAGIC = -2394839472490812314
_LONG, _TEXT = Number(pa.int64(), little=True), Text("utf8")
_ROWS: dict[str, tuple[tuple[str, Layout], ...]] = {
    "file": (
        ("file_name", _TEXT), ("file_size", _LONG), ("row_count", _LONG), ("min_key", Bytes()), ("max_key", Bytes()),
        ("key_stats", Bytes()), ("value_stats", Bytes()), ("min_sequence_number", _LONG), ("max_sequence_number", _LONG),
        ("schema_id", _LONG), ("level", Number(pa.int32(), little=True)),
    ),
    "index": (("index_type", _TEXT), ("file_name", _TEXT), ("file_size", _LONG), ("row_count", _LONG)),
}  # fmt: skip
_LAYOUTS = {kind: BinaryRow(tuple(Field(name, layout) for name, layout in fields)) for kind, fields in _ROWS.items()}
_SHOWN = {
    kind: [(name, layout) for name, layout in fields if not isinstance(layout, Bytes)] for kind, fields in _ROWS.items()
}


# ---- the source


def _split(reader: Reader, version: int) -> dict[str, Any]:
    split: dict[str, Any] = {"split_id": read_text(reader)}
    written = java_object(reader, "org.apache.paimon.table.source.DataSplit", fields=False).annotations
    data = b"".join(part for parts in written.values() for part in parts if isinstance(part, bytes))
    split |= _data_split(Reader(data))
    return split | {"records_to_skip": reader.i64("a number of records")}


def _data_split(reader: Reader) -> dict[str, Any]:
    if reader.i64("a magic number") != _MAGIC:
        raise FormatError("no split of Paimon")
    version = reader.i32("a version")
    expect(version, range(2, 9))
    split: dict[str, Any] = {
        "snapshot_id": reader.i64("a snapshot"), "partition": _partition(reader), "bucket": reader.i32("a bucket"),
        "bucket_path": read_text(reader), "total_buckets": _total_buckets(reader) if version >= 6 else None,
    }  # fmt: skip
    for when in ("before", "data"):
        split[f"{when}_files"] = _rows(reader, "file")
        split[f"{when}_deletion_files"] = _deletion_files(reader, version)
    split |= {"streaming": read_flag(reader), "raw_convertible": read_flag(reader)}
    must_end(reader)
    return split


def _deletion_files(reader: Reader, version: int) -> list[dict[str, Any] | None] | None:
    if not read_flag(reader):
        return None
    return [_deletion_file(reader, version) for _ in range(reader.count("deletion files"))]


def _deletion_file(reader: Reader, version: int) -> dict[str, Any] | None:
    if not read_flag(reader):
        return None
    file: dict[str, Any] = {
        "path": read_text(reader),
        "offset": reader.i64("an offset"),
        "length": reader.i64("a length"),
    }
    cardinality = reader.i64("a cardinality") if version >= 4 else -1
    return file | {"cardinality": None if cardinality == -1 else cardinality}


def _enumerator(reader: Reader, version: int) -> dict[str, Any]:
    splits = []
    for _ in range(reader.count("splits", least=4)):
        inner = Reader(reader.bytes(reader.i32("a length"), "a split"))
        splits.append(_split(inner, version))
        must_end(inner)
    snapshot = reader.i64("a snapshot")
    return {"splits": splits, "snapshot_id": None if snapshot == -1 else snapshot}


# ---- the sink


def _manifest(reader: Reader, version: int) -> dict[str, Any]:
    found: dict[str, Any] = {"checkpoint_id": reader.i64("an identifier")}
    found["watermark_ms"] = None if read_flag(reader) else reader.i64("a watermark")
    found["log_offsets"] = [
        {"bucket": reader.i32("a bucket"), "offset": reader.i64("an offset")}
        for _ in range(reader.count("offsets", least=12))
    ]
    if version >= 4:
        found["properties"] = [
            {"key": read_text(reader), "value": read_text(reader)} for _ in range(reader.count("properties", least=4))
        ]
    message_version = reader.i32("a version of messages")
    expect(message_version, range(3, 11))
    found["messages"] = [_message(reader, message_version) for _ in range(reader.count("messages", least=16))]
    return found


def _message(reader: Reader, version: int) -> dict[str, Any]:
    message: dict[str, Any] = {"partition": _partition(reader), "bucket": reader.i32("a bucket")}
    message["total_buckets"] = _total_buckets(reader) if version >= 7 else None
    for name, kind in _INCREMENTS_10 if version >= 10 else _INCREMENTS:
        message[name] = message.get(name, []) + _rows(reader, kind)
    return message


def _names_files(value: dict[str, Any], evidence: Evidence) -> bool:
    return any(message[name] for message in value["messages"] for name, _ in _INCREMENTS)


# ---- what they have in common


def _partition(reader: Reader) -> bytes:
    """A row without its schema: ``i32`` length, ``i32`` number of fields, the row."""
    row = bytes(reader.bytes(reader.i32("a length"), "a row"))
    fields = int.from_bytes(row[:4], "big")
    # The kind and a bit of null for each field in words of 8 bytes, and 8 bytes for each field.
    if len(row) < 4 + 8 * (fields + (fields + 71) // 64):
        raise FormatError("no row of a partition")
    return row


def _total_buckets(reader: Reader) -> int | None:
    return reader.i32("a number of buckets") if read_flag(reader) else None


def _rows(reader: Reader, kind: str) -> list[dict[str, Any]]:
    rows = []
    for _ in range(reader.count("rows", least=4)):
        row, reader.pos = interpret(_LAYOUTS[kind], reader.data, reader.pos, reader.end)
        if row is None or any(row[name] is None for name, _ in _SHOWN[kind]):
            raise FormatError("no row of a file")
        rows.append({name: row[name] for name, _ in _SHOWN[kind]})
    return rows


_INCREMENTS = (
    ("new_files", "file"), ("deleted_files", "file"), ("changelog_files", "file"),
    ("compacted_before", "file"), ("compacted_after", "file"), ("compacted_changelog_files", "file"),
    ("new_index_files", "index"), ("deleted_index_files", "index"),
)  # fmt: skip
_INCREMENTS_10 = (*_INCREMENTS[:3], *_INCREMENTS[6:], *_INCREMENTS[3:])
_TYPES = {kind: struct_of(**{name: layout.wire_type for name, layout in fields}) for kind, fields in _SHOWN.items()}
_DELETION = struct_of(path=TEXT, offset=I64, length=I64, cardinality=I64)
_SPLIT_TYPE = struct_of(
    split_id=TEXT, snapshot_id=I64, partition=pa.binary(), bucket=I32, bucket_path=TEXT, total_buckets=I32,
    before_files=pa.list_(_TYPES["file"]), before_deletion_files=pa.list_(_DELETION), data_files=pa.list_(_TYPES["file"]),
    data_deletion_files=pa.list_(_DELETION), streaming=pa.bool_(), raw_convertible=pa.bool_(), records_to_skip=I64,
)  # fmt: skip
_MESSAGE_TYPE = struct_of(
    partition=pa.binary(), bucket=I32, total_buckets=I32, **{name: pa.list_(_TYPES[kind]) for name, kind in _INCREMENTS}
)

register_form(
    "SourceReaderState",
    PayloadForm(
        "paimon_split", (1,), _split, _SPLIT_TYPE, reason="a Java object of Paimon's class with its magic number"
    ),
)
register_form(
    COORDINATOR,
    PayloadForm(
        "paimon_enumerator", (1,), _enumerator, struct_of(splits=pa.list_(_SPLIT_TYPE), snapshot_id=I64),
        lambda value, evidence: bool(value["splits"]), reason="at least one such split",
    ),
)  # fmt: skip
register_form(
    "streaming_committer_raw_states",
    PayloadForm(
        "paimon_manifest", (2, 3, 4), _manifest,
        struct_of(
            checkpoint_id=I64, watermark_ms=I64, log_offsets=pa.list_(struct_of(bucket=I32, offset=I64)),
            properties=pa.list_(struct_of(key=TEXT, value=TEXT)), messages=pa.list_(_MESSAGE_TYPE),
        ),
        _names_files, reason="at least one file, as a row of Paimon",
    ),
)  # fmt: skip
