"""What Delta Lake's source and sink for Flink keep: splits, the state of the enumerator, buckets and committables.

They wrap the forms of Flink's FileSource and FileSink, whose magic numbers they share.

Classes: ``io.delta.flink.source.internal.state.{DeltaSourceSplit,DeltaPendingSplitsCheckpoint}Serializer``,
``io.delta.flink.sink.internal.writer.DeltaWriterBucketStateSerializer``,
``io.delta.flink.sink.internal.committables.DeltaCommittableSerializer`` and
``org.apache.flink.streaming.api.functions.sink.filesystem.DeltaPendingFile``.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from serializers.connectors.file_connector import (
    BUCKET_MAGIC,
    COMMITTABLE_MAGIC,
    FILE_SPLIT,
    bucket_id,
    pending_splits,
)
from serializers.connectors.forms import (
    COMMITTABLE,
    COORDINATOR,
    I64,
    TEXT,
    PayloadForm,
    expect,
    must_end,
    read_flag,
    read_text,
    read_versioned,
    register_form,
    struct_of,
)
from serializers.connectors.recoverables import UNPUBLISHED_FILE, unpublished_file
from serializers.snapshots import flink_string
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_PARTITIONS = pa.map_(TEXT, TEXT)


def _split(reader: Reader, version: int) -> dict[str, Any]:
    """A split of a file in its length, and Flink's ``MapSerializer`` of the partition's values."""
    inner = Reader(reader.bytes(reader.i32("a length"), "a split"))
    split = FILE_SPLIT.read(inner, version)
    must_end(inner)
    values: dict[str, str | None] = {}
    for _ in range(reader.count("values of a partition", least=2)):
        name = flink_string(reader)
        if name is None:
            raise FormatError("a column without a name")
        values[name] = None if read_flag(reader) else flink_string(reader)
    return {**split, "partition": list(values.items())}


def _enumerator(reader: Reader, version: int) -> dict[str, Any]:
    inner = Reader(reader.bytes(reader.i32("a length"), "splits"))
    found = pending_splits(inner, _SPLIT)
    must_end(inner)
    snapshot, monitors = reader.i64("a version of a table"), read_flag(reader)
    path = bytes(reader.bytes(reader.i32("a length"), "a path")).decode("utf-8", "replace")
    return {"table_path": path, "table_version": snapshot, "monitors_changes": monitors, **found}


def _bucket(reader: Reader, version: int) -> dict[str, Any]:
    expect(reader.i32("a magic number"), (BUCKET_MAGIC,))
    return {"bucket_id": bucket_id(reader), "path": read_text(reader), "app_id": _app_id(reader)}


def _committable(reader: Reader, version: int) -> dict[str, Any]:
    expect(reader.i32("a magic number"), (COMMITTABLE_MAGIC,))
    found: dict[str, Any] = {"app_id": _app_id(reader), "checkpoint_id": reader.i64("a checkpoint")}
    count = reader.count("values of a partition", least=4)
    found["partition"] = list({read_text(reader): read_text(reader) for _ in range(count)}.items())
    found |= {"file_name": read_text(reader), "records": reader.i64(), "size": reader.i64(), "modification_ms": reader.i64()}
    return found | {"pending_file": unpublished_file(*read_versioned(reader))}


def _app_id(reader: Reader) -> str:
    found = read_text(reader)
    if not _UUID.fullmatch(found):
        raise FormatError("no id of a Delta sink")
    return found


_SPLIT = PayloadForm(
    "delta_split", (1,), _split,
    struct_of(**{field.name: field.type for field in FILE_SPLIT.column.type}, partition=_PARTITIONS),
    reason="a file's split with a path of Flink, and values of a partition",
)  # fmt: skip

register_form("SourceReaderState", _SPLIT)
register_form(
    COORDINATOR,
    PayloadForm(
        "delta_enumerator", (1,), _enumerator,
        struct_of(
            table_path=TEXT, table_version=I64, monitors_changes=pa.bool_(),
            splits=pa.list_(struct_of(bytes=pa.binary(), delta_split=_SPLIT.column.type)), processed_paths=pa.list_(TEXT),
        ),
        reason="a magic number",
    ),
)  # fmt: skip
register_form(
    "writer_raw_states",
    PayloadForm(
        "delta_bucket", (2,), _bucket, struct_of(bucket_id=TEXT, path=TEXT, app_id=TEXT), reason="a magic number and a UUID"
    ),
)
register_form(
    COMMITTABLE,
    PayloadForm(
        "delta_committable", (1,), _committable,
        struct_of(
            app_id=TEXT, checkpoint_id=I64, partition=_PARTITIONS, file_name=TEXT, records=I64, size=I64, modification_ms=I64,
            pending_file=UNPUBLISHED_FILE,
        ),
        reason="a magic number and a UUID",
    ),
)  # fmt: skip
