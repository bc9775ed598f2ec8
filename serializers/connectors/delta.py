"""What Delta Lake's source and sink for Flink keep: splits, the state of the enumerator, buckets and committables.

They wrap the forms of Flink's FileSource and FileSink, whose magic numbers they share.

Classes: ``io.delta.flink.source.internal.state.{DeltaSourceSplit,DeltaPendingSplitsCheckpoint}Serializer``,
``io.delta.flink.sink.internal.writer.DeltaWriterBucketStateSerializer``,
``io.delta.flink.sink.internal.committables.DeltaCommittableSerializer`` and
``org.apache.flink.streaming.api.functions.sink.filesystem.DeltaPendingFile``.
"""

from __future__ import annotations

import re

import pyarrow as pa

from serializers.connectors.file_connector import BUCKET_ID, BUCKET_MAGIC, COMMITTABLE_MAGIC, FILE_SPLIT, pending_splits
from serializers.connectors.payload_forms import COMMITTABLE, COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import (
    FLAG,
    LONG,
    TEXT,
    UTF,
    checked,
    fixed,
    in_order,
    joined,
    part,
    read_flag,
    read_text,
    record,
    sized,
)
from serializers.connectors.recoverables import UNPUBLISHED
from serializers.snapshots import flink_string
from stateextract.errors import FormatError
from stateextract.files.reader import Reader
from stateextract.printable import replaced

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_APP_ID = checked(UTF, _UUID.fullmatch)


def _partition(reader: Reader) -> list[tuple[str, str | None]]:
    """Flink's ``MapSerializer`` of the values of a partition."""
    values: dict[str, str | None] = {}
    for _ in range(reader.count("values of a partition")):
        name = flink_string(reader)
        if name is None:
            raise FormatError("a column without a name")
        values[name] = None if read_flag(reader) else flink_string(reader)
    return [(replaced(name), None if value is None else replaced(value)) for name, value in values.items()]


def _texts(reader: Reader) -> list[tuple[str, str]]:
    """The same as pairs of texts."""
    return [(read_text(reader), read_text(reader)) for _ in range(reader.count("values of a partition"))]


_VALUES = pa.map_(TEXT, TEXT)
_SPLIT = joined(sized(FILE_SPLIT), record(partition=part(_VALUES, _partition)))
_PATH = part(TEXT, lambda reader: bytes(reader.bytes(reader.i32("a length"), "a path")).decode("utf-8", "replace"))
_SPLIT_FORM = PayloadForm("delta_split", (1,), *_SPLIT, reason="a file's split with a path of Flink, and values of a partition")
_ENUMERATOR = in_order(
    joined(sized(pending_splits(_SPLIT_FORM)), record(table_version=LONG, monitors_changes=FLAG, table_path=_PATH)),
    "table_path", "table_version", "monitors_changes", "splits", "processed_paths",
)  # fmt: skip
_BUCKET = record(_magic=fixed(BUCKET_MAGIC), bucket_id=BUCKET_ID, path=UTF, app_id=_APP_ID)
_COMMITTABLE = record(
    _magic=fixed(COMMITTABLE_MAGIC), app_id=_APP_ID, checkpoint_id=LONG, partition=part(_VALUES, _texts), file_name=UTF,
    records=LONG, size=LONG, modification_ms=LONG, pending_file=UNPUBLISHED,
)  # fmt: skip

register_form("SourceReaderState", _SPLIT_FORM)
register_form(COORDINATOR, PayloadForm("delta_enumerator", (1,), *_ENUMERATOR, reason="a magic number"))
register_form("writer_raw_states", PayloadForm("delta_bucket", (2,), *_BUCKET, reason="a magic number and a UUID"))
register_form(COMMITTABLE, PayloadForm("delta_committable", (1,), *_COMMITTABLE, reason="a magic number and a UUID"))
