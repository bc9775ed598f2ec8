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
from serializers.connectors.payload_forms import COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import (
    BLOB,
    FLAG,
    I64,
    INT,
    LONG,
    UTF,
    PayloadPart,
    checked,
    joined,
    many,
    must_end,
    optional,
    part,
    read_flag,
    record,
    since,
    sized,
    struct_of,
    versioned,
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


# ---- what they have in common


def _is_row(row: bytes) -> bool:
    """Whether it can be a row of a partition: ``i32`` number of fields, the row without its schema."""
    fields = int.from_bytes(row[:4], "big")
    # The kind and a bit of null for each field in words of 8 bytes, and 8 bytes for each field.
    return len(row) >= 4 + 8 * (fields + (fields + 71) // 64)


_PARTITION = checked(BLOB, _is_row)


def _rows(kind: str) -> PayloadPart:
    shown = [(name, layout) for name, layout in _ROWS[kind] if not isinstance(layout, Bytes)]

    def read(reader: Reader) -> dict[str, Any]:
        row, reader.pos = interpret(_LAYOUTS[kind], reader.data, reader.pos, reader.end)
        if row is None or any(row[name] is None for name, _ in shown):
            raise FormatError("no row of a file")
        return {name: row[name] for name, _ in shown}

    return many(part(struct_of(**{name: layout.wire_type for name, layout in shown}), read))


_FILES, _INDEXES = _rows("file"), _rows("index")

# ---- the source


def _absent(number: int) -> int | None:
    return None if number == -1 else number


_NUMBER = part(I64, lambda reader: _absent(reader.i64("a number")))
_DELETIONS = optional(many(optional(record(path=UTF, offset=LONG, length=LONG, cardinality=since(4, _NUMBER)))))
_DATA_SPLIT = versioned(
    record(
        snapshot_id=LONG, partition=_PARTITION, bucket=INT, bucket_path=UTF, total_buckets=since(6, optional(INT)),
        before_files=_FILES, before_deletion_files=_DELETIONS, data_files=_FILES, data_deletion_files=_DELETIONS,
        streaming=FLAG, raw_convertible=FLAG,
    ),
    range(2, 9),
)  # fmt: skip


def _data_split(reader: Reader, version: int) -> Any:
    written = java_object(reader, "org.apache.paimon.table.source.DataSplit", fields=False).annotations
    data = Reader(b"".join(part for parts in written.values() for part in parts if isinstance(part, bytes)))
    if data.i64("a magic number") != _MAGIC:
        raise FormatError("no split of Paimon")
    split = _DATA_SPLIT.read(data, version)
    must_end(data)
    return split


_SPLIT = joined(record(split_id=UTF), PayloadPart(_data_split, _DATA_SPLIT.type), record(records_to_skip=LONG))
_ENUMERATOR = record(splits=many(sized(_SPLIT)), snapshot_id=_NUMBER)

# ---- the sink

_INCREMENTS = {
    **dict.fromkeys(("new_files", "deleted_files", "changelog_files"), _FILES),
    **dict.fromkeys(("compacted_before", "compacted_after", "compacted_changelog_files"), _FILES),
    **dict.fromkeys(("new_index_files", "deleted_index_files"), _INDEXES),
}
_NAMES = tuple(_INCREMENTS)
_NAMES_10 = (*_NAMES[:3], *_NAMES[6:], *_NAMES[3:])
"""Versions from 10 on have indexes twice: those of new data and those of compaction."""
_PLACE = record(partition=_PARTITION, bucket=INT, total_buckets=since(7, optional(INT)))
_MESSAGE_TYPE = pa.struct([*_PLACE.type, *(pa.field(name, part.type) for name, part in _INCREMENTS.items())])


def _message(reader: Reader, version: int) -> dict[str, Any]:
    message: dict[str, Any] = _PLACE.read(reader, version)
    for name in _NAMES_10 if version >= 10 else _NAMES:
        message[name] = message.get(name, []) + _INCREMENTS[name].read(reader, version)
    return message


_MANIFEST = record(
    checkpoint_id=LONG, watermark_ms=part(I64, lambda reader: None if read_flag(reader) else reader.i64("a watermark")),
    log_offsets=many(record(bucket=INT, offset=LONG)), properties=since(4, many(record(key=UTF, value=UTF))),
    messages=versioned(many(PayloadPart(_message, _MESSAGE_TYPE)), range(3, 11)),
)  # fmt: skip


def _names_files(value: dict[str, Any], evidence: Evidence) -> bool:
    return any(message[name] for message in value["messages"] for name in _INCREMENTS)


register_form(
    "SourceReaderState",
    PayloadForm("paimon_split", (1,), *_SPLIT, reason="a Java object of Paimon's class with its magic number"),
)
register_form(
    COORDINATOR,
    PayloadForm(
        "paimon_enumerator", (1,), *_ENUMERATOR, lambda value, evidence: bool(value["splits"]),
        reason="at least one such split",
    ),
)  # fmt: skip
register_form(
    "streaming_committer_raw_states",
    PayloadForm(
        "paimon_manifest", (2, 3, 4), *_MANIFEST, _names_files, reason="at least one file, as a row of Paimon"
    ),
)
