"""What Iceberg's source and its sink of Flink's Sink API keep: splits, the enumerator's position, committables.

The older sink keeps its committables in ``iceberg-files-committer-state``, as maps of checkpoints to bytes. Splits of version 1
are objects of Java's own serialization, and stay bytes.

Classes: ``org.apache.iceberg.flink.source.split.IcebergSourceSplitSerializer``,
``org.apache.iceberg.flink.source.enumerator.IcebergEnumeratorStateSerializer``,
``org.apache.iceberg.flink.sink.IcebergCommittableSerializer``, ``…sink.DeltaManifestsSerializer``,
``org.apache.iceberg.avro.AvroEncoderUtil``.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from serializers.connectors.embedded import json_object
from serializers.connectors.payload_forms import COMMITTABLE, COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import (
    BLOB,
    I32,
    I64,
    INT,
    LONG,
    TEXT,
    UTF,
    PayloadPart,
    checked,
    expect,
    many,
    must_end,
    optional,
    read_flag,
    read_text,
    read_versioned,
    record,
    sized,
    struct_of,
    versioned,
)
from serializers.context import Evidence
from stateextract.errors import FormatError
from stateextract.files.reader import Reader, decode_modified_utf8
from stateextract.printable import replaced

_ID = re.compile(r"[0-9a-f]{32}")
_STATUSES = ("UNASSIGNED", "ASSIGNED", "COMPLETED")
_AVRO_MAGIC = b"\xc2\x01"


# ---- the source


def _task(reader: Reader, version: int) -> dict[str, Any]:
    text = read_text(reader) if version == 2 else _long_text(reader)
    task = json_object(text)
    file = task.get("data-file")
    path = file.get("file-path") if isinstance(file, dict) else None
    if not isinstance(path, str):
        raise FormatError("no task to scan a file")
    start, length = (_int64(task.get(name)) for name in ("start", "length"))
    return {"path": replaced(path), "start": start, "length": length, "json": text}


def _int64(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _long_text(reader: Reader) -> str:
    """``i32`` length in bytes, then Java's modified UTF-8."""
    try:
        text = decode_modified_utf8(bytes(reader.bytes(reader.i32("a length"), "a text")))
    except UnicodeDecodeError:
        raise FormatError("a text is not modified UTF-8") from None
    return replaced(text)


_SPLIT = checked(
    record(
        file_offset=INT, record_offset=LONG,
        tasks=many(PayloadPart(_task, struct_of(path=TEXT, start=I64, length=I64, json=TEXT))),
    ),
    lambda split: 0 <= split["file_offset"] < len(split["tasks"]) and split["record_offset"] >= 0,
)  # fmt: skip
_POSITION = versioned(sized(record(snapshot_id=optional(LONG), snapshot_ms=optional(LONG))), (1,))


def _enumerator(reader: Reader, version: int) -> dict[str, Any]:
    found: dict[str, Any] = {"snapshot_id": None, "snapshot_ms": None}
    if read_flag(reader):
        found = _POSITION.read(reader, version)
        # Ids of snapshots have no sign, and a time is never without an id (``IcebergEnumeratorPosition.of``).
        snapshot = found["snapshot_id"]
        if found["snapshot_ms"] is not None if snapshot is None else snapshot < 0:
            raise FormatError("no position of Iceberg")
    split_version = reader.i32("a version of splits")
    expect(split_version, (1, 2, 3))
    splits = []
    for _ in range(reader.count("splits")):
        expect(split_version, (2, 3))
        splits.append(sized(_SPLIT).read(reader, split_version) | {"status": read_text(reader)})
        if splits[-1]["status"] not in _STATUSES:
            raise FormatError("no status of a split")
    return found | {"splits": splits, "split_counts": many(INT).read(reader, version) if version == 2 else None}


def _has_position(value: dict[str, Any], evidence: Evidence) -> bool:
    """Without splits, the time of a snapshot between 2010 and 2100 has to be there."""
    time = value["snapshot_ms"]
    return bool(value["splits"]) or (time is not None and 1_262_304_000_000 < time < 4_102_444_800_000)


# ---- the sink


_IDS = record(
    job_id=checked(UTF, _ID.fullmatch), operator_id=checked(UTF, _ID.fullmatch),
    checkpoint_id=checked(LONG, lambda number: number >= 0),
)  # fmt: skip


def _committable(reader: Reader, version: int) -> dict[str, Any]:
    found: dict[str, Any] = _IDS.read(reader, version)
    data = BLOB.read(reader, version)
    return found | (_manifests(Reader(data)) if data else dict.fromkeys(_MANIFESTS))


_MANIFESTS = ("data_manifest", "delete_manifest", "referenced_data_files")


def _manifests(reader: Reader) -> dict[str, Any]:
    version, data = read_versioned(reader)
    must_end(reader)
    expect(version, (1, 2))
    inner = Reader(data)
    found = _delta_manifests(inner, version)
    must_end(inner)
    return found


def _delta_manifests(reader: Reader, version: int) -> dict[str, Any]:
    """``DeltaManifests``: of version 1 one manifest and nothing else."""
    if version == 1:
        manifest = _manifest(bytes(reader.bytes(reader.remaining)))
        return dict(zip(_MANIFESTS, (manifest, None, []), strict=True))
    manifests = [_manifest(BLOB.read(reader, version)) for _ in range(2)]
    return dict(zip(_MANIFESTS, (*manifests, many(UTF).read(reader, version)), strict=True))


def _manifest(data: bytes) -> dict[str, Any] | None:
    """A manifest file of Avro with its schema, whose first two fields are its path and its length."""
    if not data:
        return None
    inner = Reader(data)
    if inner.bytes(2, "a magic number") != _AVRO_MAGIC:
        raise FormatError("no manifest of Iceberg")
    fields = json_object(read_text(inner)).get("fields")
    names = [field.get("name") for field in fields[:2] if isinstance(field, dict)] if isinstance(fields, list) else []
    if names != ["manifest_path", "manifest_length"]:
        raise FormatError("no manifest of Iceberg")
    try:
        path = bytes(inner.bytes(inner.zigzag(64), "a path")).decode()
    except UnicodeDecodeError:
        raise FormatError("a path is not UTF-8") from None
    return {"path": path, "length": inner.zigzag(64), "avro": data}


_MANIFEST_TYPE = struct_of(path=TEXT, length=I64, avro=pa.binary())
_MANIFESTS_TYPE = struct_of(
    data_manifest=_MANIFEST_TYPE, delete_manifest=_MANIFEST_TYPE, referenced_data_files=pa.list_(TEXT)
)

register_form(
    "SourceReaderState", PayloadForm("iceberg_split", (2, 3), *_SPLIT, reason="tasks as JSON with the path of a data file")
)
register_form(
    COORDINATOR,
    PayloadForm(
        "iceberg_enumerator", (1, 2), _enumerator,
        struct_of(
            snapshot_id=I64, snapshot_ms=I64, splits=pa.list_(pa.struct([*_SPLIT.type, pa.field("status", TEXT)])),
            split_counts=pa.list_(I32),
        ),
        _has_position, reason="such a split, or a snapshot with a time between 2010 and 2100",
    ),
)  # fmt: skip
register_form(
    COMMITTABLE,
    PayloadForm(
        "iceberg_committable", (1,), _committable, pa.struct([*_IDS.type, *_MANIFESTS_TYPE]),
        reason="two ids of Flink, and manifests with Iceberg's magic number and schema",
    ),
)  # fmt: skip
register_form(
    "iceberg-files-committer-state",
    PayloadForm(
        "iceberg_manifests", (1, 2), _delta_manifests, _MANIFESTS_TYPE,
        reason="the name of the state, and manifests with Iceberg's magic number and schema",
    ),
)  # fmt: skip
