"""What Flink's FileSource, FileSink and StreamingFileSink keep: splits, buckets, committables and pending splits.

Where a file sink goes on is in ``recoverables.py``.

Classes: ``org.apache.flink.connector.file.src.FileSourceSplitSerializer``,
``org.apache.flink.connector.file.src.PendingSplitsCheckpointSerializer``,
``org.apache.flink.connector.file.sink.writer.FileWriterBucketStateSerializer``,
``org.apache.flink.connector.file.sink.FileSinkCommittableSerializer``,
``org.apache.flink.streaming.api.functions.sink.filesystem.BucketStateSerializer``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors.forms import (
    COMMITTABLE,
    COORDINATOR,
    I64,
    TEXT,
    PayloadForm,
    expect,
    nullable_text,
    read_flag,
    read_text,
    read_versioned,
    register_form,
    struct_of,
    try_form,
)
from serializers.connectors.recoverables import UNPUBLISHED_FILE, unpublished_file
from stateextract.errors import FormatError
from stateextract.files.reader import Reader
from stateextract.printable import replaced

BUCKET_MAGIC = 0x1E764B79
COMMITTABLE_MAGIC = 0x1E765C80
_PENDING_MAGIC = 0xDEADBEEF - (1 << 32)
_FILES = ("pending_file", "file_to_clean_up")

# ---- the source


def _file_split(reader: Reader, version: int) -> dict[str, Any]:
    split: dict[str, Any] = {
        "id": read_text(reader), "path": _path(reader), "offset": reader.i64(), "length": reader.i64(),
        "modification_ms": reader.i64(), "file_size": reader.i64(),
        "hosts": [read_text(reader) for _ in range(reader.count("hosts", least=2))],
    }  # fmt: skip
    if not split["path"] or min(split["offset"], split["length"], split["file_size"]) < 0:
        raise FormatError("no part of a file")
    at = {"reader_offset": reader.i64(), "reader_records": reader.i64()} if read_flag(reader) else {}
    return split | {"reader_offset": None, "reader_records": None} | at


def _path(reader: Reader) -> str | None:
    """A URI in its parts."""
    if not read_flag(reader):
        return None
    scheme, user, host = (nullable_text(reader) for _ in range(3))
    port = reader.i32("a port")
    path, query, fragment = (nullable_text(reader) for _ in range(3))
    uri = f"{scheme}:" if scheme is not None else ""
    if host is not None:
        uri += f"//{f'{user}@' if user is not None else ''}{host}{f':{port}' if port >= 0 else ''}"
    uri += path or ""
    uri += f"?{query}" if query is not None else ""
    uri += f"#{fragment}" if fragment is not None else ""
    return replaced(uri)


def _file_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    return pending_splits(reader, FILE_SPLIT)


def pending_splits(reader: Reader, form: PayloadForm) -> dict[str, Any]:
    """Splits that no reader has yet, and paths that are done; its own numbers are little-endian.

    :param form: of a split.
    """

    def i32() -> int:
        return int.from_bytes(reader.bytes(4, "a number"), "little", signed=True)

    expect(i32(), (_PENDING_MAGIC,))
    split_version, splits, paths = i32(), i32(), i32()
    # Each has a length of four bytes.
    if min(splits, paths) < 0 or 4 * (splits + paths) > reader.remaining:
        raise FormatError("more splits than bytes")
    pending = []
    for _ in range(splits):
        raw = bytes(reader.bytes(i32(), "a split"))
        pending.append({"bytes": raw, form.name: try_form(form, split_version, raw)})
    done = [bytes(reader.bytes(i32(), "a path")).decode("utf-8", "replace") for _ in range(paths)]
    return {"splits": pending, "processed_paths": done}


# ---- sinks


def _file_bucket(reader: Reader, version: int) -> dict[str, Any]:
    expect(reader.i32("a magic number"), (BUCKET_MAGIC,))
    fields = {"bucket_id": bucket_id(reader), "path": read_text(reader), "creation_ms": reader.i64()}
    current = _file(reader)
    pending = None if version == 3 else _pending_files(reader)
    return fields | {"in_progress_file": current, "pending_files": pending}


def bucket_id(reader: Reader) -> str | None:
    """``SimpleVersionedStringSerializer``: a little-endian length and UTF-8. Other ids are ``None``."""
    _, bucket = read_versioned(reader)
    return bucket[4:].decode("utf-8", "replace") if int.from_bytes(bucket[:4], "little") == len(bucket) - 4 else None


def _pending_files(reader: Reader) -> list[dict[str, Any]]:
    """``i32`` version, ``i32`` count of checkpoints, of each ``i64`` id, ``i32`` count, each in its length."""
    version = reader.i32("a version")
    found = []
    for _ in range(reader.count("checkpoints", least=12)):
        checkpoint = reader.i64("a checkpoint")
        for _ in range(reader.count("pending files", least=4)):
            data = bytes(reader.bytes(reader.i32("a length"), "a file"))
            found.append({"checkpoint_id": checkpoint, "file": unpublished_file(version, data)})
    return found


def _file_committable(reader: Reader, version: int) -> dict[str, Any]:
    expect(reader.i32("a magic number"), (COMMITTABLE_MAGIC,))
    found: dict[str, Any] = {"bucket_id": read_text(reader) if version == 2 else None}
    found |= {name: _file(reader) for name in _FILES}
    found["compacted_file_to_clean_up"] = read_text(reader) if version == 2 and read_flag(reader) else None
    return found


def _file(reader: Reader) -> dict[str, Any] | None:
    return unpublished_file(*read_versioned(reader)) if read_flag(reader) else None


FILE_SPLIT = PayloadForm(
    "file_split", (1,), _file_split,
    struct_of(
        id=TEXT, path=TEXT, offset=I64, length=I64, modification_ms=I64, file_size=I64, hosts=pa.list_(TEXT),
        reader_offset=I64, reader_records=I64,
    ),
    reason="a path of Flink with its flags",
)  # fmt: skip
_BUCKET_TYPE = struct_of(
    bucket_id=TEXT, path=TEXT, creation_ms=I64, in_progress_file=UNPUBLISHED_FILE,
    pending_files=pa.list_(struct_of(checkpoint_id=I64, file=UNPUBLISHED_FILE)),
)  # fmt: skip

register_form("SourceReaderState", FILE_SPLIT)
register_form(
    COORDINATOR,
    PayloadForm(
        "file_enumerator", (1,), _file_enumerator,
        struct_of(
            splits=pa.list_(struct_of(bytes=pa.binary(), file_split=FILE_SPLIT.column.type)), processed_paths=pa.list_(TEXT)
        ),
        reason="a magic number",
    ),
)  # fmt: skip
for _state, _versions in (("writer_raw_states", (1, 2, 3)), ("bucket-states", (1, 2))):
    register_form(_state, PayloadForm("file_bucket", _versions, _file_bucket, _BUCKET_TYPE, reason="a magic number"))
register_form(
    COMMITTABLE,
    PayloadForm(
        "file_committable", (1, 2), _file_committable,
        struct_of(bucket_id=TEXT, **dict.fromkeys(_FILES, UNPUBLISHED_FILE), compacted_file_to_clean_up=TEXT),
        reason="a magic number",
    ),
)  # fmt: skip
