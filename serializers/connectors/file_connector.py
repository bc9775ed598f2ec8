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

from serializers.connectors.payload_forms import COMMITTABLE, COORDINATOR, PayloadForm, register_form, try_form
from serializers.connectors.payload_parts import (
    BLOB,
    I64,
    LONG,
    TEXT,
    UTF,
    PayloadPart,
    checked,
    expect,
    fixed,
    joined,
    many,
    nullable_text,
    optional,
    part,
    read_flag,
    read_versioned,
    record,
    since,
    struct_of,
)
from serializers.connectors.recoverables import UNPUBLISHED, UNPUBLISHED_FILE, unpublished_file
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

BUCKET_MAGIC = 0x1E764B79
COMMITTABLE_MAGIC = 0x1E765C80
_PENDING_MAGIC = 0xDEADBEEF - (1 << 32)

# ---- the source


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
    return uri


_LENGTH = checked(LONG, lambda number: number >= 0)
_POSITION = record(reader_offset=LONG, reader_records=LONG)


def _position(reader: Reader, version: int) -> Any:
    return _POSITION.read(reader, version) if read_flag(reader) else dict.fromkeys(("reader_offset", "reader_records"))


FILE_SPLIT = joined(
    record(
        id=UTF, path=checked(part(TEXT, _path), bool), offset=_LENGTH, length=_LENGTH, modification_ms=LONG,
        file_size=_LENGTH, hosts=many(UTF),
    ),
    PayloadPart(_position, _POSITION.type),
)  # fmt: skip


def pending_splits(form: PayloadForm) -> PayloadPart:
    """Splits that no reader has yet, and paths that are done; its own numbers are little-endian.

    :param form: of a split.
    """

    def read(reader: Reader) -> dict[str, Any]:
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

    split = struct_of(bytes=pa.binary(), **{form.name: form.column.type})
    return part(struct_of(splits=pa.list_(split), processed_paths=pa.list_(TEXT)), read)


# ---- sinks


def _bucket_id(reader: Reader) -> str | None:
    """``SimpleVersionedStringSerializer``: a little-endian length and UTF-8. Other ids are ``None``."""
    _, bucket = read_versioned(reader)
    return bucket[4:].decode("utf-8", "replace") if int.from_bytes(bucket[:4], "little") == len(bucket) - 4 else None


def _pending_files(reader: Reader, version: int) -> list[dict[str, Any]] | None:
    """``i32`` version, ``i32`` count of checkpoints, of each ``i64`` id, ``i32`` count, each in its length."""
    if version == 3:
        return None
    file_version, checkpoints = reader.i32("a version"), many(record(id=LONG, files=many(BLOB))).read(reader, version)
    return [
        {"checkpoint_id": checkpoint["id"], "file": unpublished_file(file_version, file)}
        for checkpoint in checkpoints
        for file in checkpoint["files"]
    ]


BUCKET_ID, _FILE = part(TEXT, _bucket_id), optional(UNPUBLISHED)
_BUCKET = record(
    _magic=fixed(BUCKET_MAGIC), bucket_id=BUCKET_ID, path=UTF, creation_ms=LONG, in_progress_file=_FILE,
    pending_files=PayloadPart(_pending_files, pa.list_(struct_of(checkpoint_id=I64, file=UNPUBLISHED_FILE))),
)  # fmt: skip
_COMMITTABLE = record(
    _magic=fixed(COMMITTABLE_MAGIC), bucket_id=since(2, UTF), pending_file=_FILE, file_to_clean_up=_FILE,
    compacted_file_to_clean_up=since(2, optional(UTF)),
)  # fmt: skip
_SPLIT_FORM = PayloadForm("file_split", (1,), *FILE_SPLIT, reason="a path of Flink with its flags")

register_form("SourceReaderState", _SPLIT_FORM)
register_form(COORDINATOR, PayloadForm("file_enumerator", (1,), *pending_splits(_SPLIT_FORM), reason="a magic number"))
for _state, _versions in (("writer_raw_states", (1, 2, 3)), ("bucket-states", (1, 2))):
    register_form(_state, PayloadForm("file_bucket", _versions, *_BUCKET, reason="a magic number"))
register_form(COMMITTABLE, PayloadForm("file_committable", (1, 2), *_COMMITTABLE, reason="a magic number"))
