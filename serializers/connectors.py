"""Connector payloads: what sources and sinks keep as bytes in operator state of ``byte[]``.

Around each payload stands Flink's wrapper (``SimpleVersionedSerialization``): ``i32`` version, ``i32`` length, the
payload. Which class wrote it is recorded nowhere, and connectors share shapes: one text of version 1 is what the writers
of Kafka and of Doris keep. So a payload is taken for one of the forms below only by the state's name *and* version *and* if
the form takes the bytes to the last one *and* if there is evidence that no other connector would give. The evidence is
either in the payload (a magic number, a path as Flink writes it, an offset that Kafka's class reserves, transactional ids
that begin with the prefix beside them), or around it: the coordinator of the same operator lists the split's partition, or
the committer counts the transactional id's subtask. All other payloads are bytes with their version, Kafka's writers of
version 1 and number sequences too. The bytes themselves are always kept, in the column ``bytes``.

==============================  ===================================================================================
state                           forms
==============================  ===================================================================================
SourceReaderState               Kafka's splits by their reserved offsets or the coordinator, file splits by their path
writer_raw_states               Kafka's writers with transactions, a file sink's buckets
bucket-states                   buckets of the StreamingFileSink
streaming_committer_raw_states  committables by checkpoint and subtask, those of Kafka and of file sinks in full
==============================  ===================================================================================

Where a file sink goes on (``RecoverableWriter``) only the file system's own class can read; these parts are bytes.

Classes: ``org.apache.flink.connector.kafka.source.split.KafkaPartitionSplitSerializer``,
``…kafka.sink.{KafkaWriterState,KafkaCommittable}Serializer``, ``…file.src.FileSourceSplitSerializer``,
``…file.sink.writer.FileWriterBucketStateSerializer``,
``…file.sink.FileSinkCommittableSerializer``,
``org.apache.flink.streaming.api.functions.sink.filesystem.BucketStateSerializer``,
``org.apache.flink.streaming.runtime.operators.sink.committables.CommittableCollectorSerializer``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from serializers.context import NO_PARTITIONS, Partitions
from serializers.snapshots import flink_string
from stateextract.columnar.layout import Layout, Python
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.reader import Reader

T = TypeVar("T")

BYTES = (
    "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"
)

_COMMITTER_MAGIC = 0xB91F252C - (1 << 32)
_BUCKET_MAGIC = 0x1E764B79
_FILE_COMMITTABLE_MAGIC = 0x1E765C80

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
# KafkaPartitionSplit: no stopping offset, the earliest one, the one of the consumer group.
_NO_OFFSET, _LATEST, _EARLIEST, _COMMITTED = -(1 << 63), -1, -2, -3
_TRANSACTIONAL_ID = re.compile(r"(.+)-(\d{1,10})-(\d{1,19})", re.ASCII | re.DOTALL)
_OWNERSHIP = ("IMPLICIT_BY_SUBTASK_ID", "EXPLICIT_BY_WRITER_STATE")


@dataclass(frozen=True)
class PayloadForm:
    """What a payload may be.

    :param name: of its column.
    :param versions: of the payload.
    :param read: takes the payload.
    :param type: of the column.
    :param certain: whether no other connector would write the value, if the coordinator lists these partitions.
    """

    name: str
    versions: tuple[int, ...]
    read: Callable[[Reader, int], Any]
    type: pa.DataType
    certain: Callable[[Any, Partitions], bool] = lambda value, listed: True


def payload_layout(state: str, snapshot_class: str, listed: Partitions = NO_PARTITIONS) -> Layout | None:
    """The layout of a state's elements, where Flink's connectors keep payloads in a state of this name.

    :param listed: by the operator's coordinator.
    """
    forms = FORMS.get(state)
    if forms is None or snapshot_class != BYTES:
        return None

    def decode(data: memoryview, pos: int, end: int) -> tuple[dict[str, Any], int]:
        reader = Reader(data, pos, end)
        raw = bytes(reader.bytes(reader.i32("the length of bytes"), "bytes"))
        return decode_payload(state, raw, listed), reader.pos

    columns = [pa.field("bytes", pa.binary()), pa.field("version", pa.int32())]
    type_ = pa.struct([*columns, *(pa.field(form.name, form.type) for form in forms)])
    return Python(decode, type_, uncertain=("payloads of connectors that are not known here stay bytes",))


def decode_payload(state: str, raw: bytes, listed: Partitions = NO_PARTITIONS) -> dict[str, Any]:
    """``bytes``, the payload's ``version``, and the one form that it has; null where it has none.

    :param state: the state's name, one of :data:`FORMS`.
    :param raw: the content of the ``byte[]``.
    :param listed: by the operator's coordinator.
    """
    forms = FORMS[state]
    columns: dict[str, Any] = {"bytes": raw, "version": None} | dict.fromkeys(form.name for form in forms)
    try:
        reader = Reader(raw)
        version, payload = read_versioned(reader)
        must_end(reader)
    except StateExtractError:
        return columns
    columns["version"] = version
    return columns | fitting(forms, version, payload, listed)


def fitting(
    forms: Sequence[PayloadForm], version: int, payload: bytes, listed: Partitions = NO_PARTITIONS
) -> dict[str, Any]:  # fmt: skip
    """The value of the one form that a payload certainly has, by the form's name; nothing if none fits, or several do."""
    fits = {form.name: value for form in forms if (value := try_form(form, version, payload)) is not None}
    if len(fits) != 1:
        return {}
    return {form.name: fits[form.name] for form in forms if form.name in fits and form.certain(fits[form.name], listed)}


def try_form(form: PayloadForm, version: int, payload: bytes) -> Any:
    if version not in form.versions:
        return None
    reader = Reader(payload)
    try:
        value = form.read(reader, version)
        must_end(reader)
    except StateExtractError:
        return None
    return value


# ---- what payloads are made of


def read_versioned(reader: Reader) -> tuple[int, bytes]:
    version = reader.i32("a version")
    return version, bytes(reader.bytes(reader.i32("a length"), "a payload"))


def must_end(reader: Reader) -> None:
    if reader.remaining:
        raise FormatError(f"{reader.remaining} bytes are left of a payload", offset=reader.offset)


def _versioned_list(reader: Reader, read: Callable[[Reader], T]) -> list[T]:
    """``i32`` version, ``i32`` count, then each item in its length."""
    expect(reader.i32("a version"), range(8))
    return _listed(reader, read)


def _listed(reader: Reader, read: Callable[[Reader], T]) -> list[T]:
    items = []
    for _ in range(reader.count("items", least=4)):
        inner = Reader(reader.bytes(reader.i32("a length"), "an item"))
        items.append(read(inner))
        must_end(inner)
    return items


def expect(found: int, allowed: Sequence[int]) -> None:
    if found not in allowed:
        raise FormatError(f"found {found} in a payload", expected=" or ".join(map(str, allowed)))


def read_flag(reader: Reader) -> bool:
    """A boolean as Java writes it: bytes of something else are seldom only 0 and 1."""
    flag = reader.u8("a flag")
    expect(flag, (0, 1))
    return flag == 1


def read_text(reader: Reader) -> str:
    text = reader.utf()
    # No form has texts that UTF-8 cannot hold, and Arrow would refuse them.
    return text.encode("utf-8", "replace").decode()


def _nullable(reader: Reader) -> str | None:
    return flink_string(reader) if read_flag(reader) else None


def struct_of(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


TEXT, I32, I64 = pa.string(), pa.int32(), pa.int64()


# ---- sources


def kafka_partition(reader: Reader) -> dict[str, Any]:
    """``topic`` and ``partition``; Kafka allows few letters in a topic's name."""
    topic, partition = read_text(reader), reader.i32("a partition")
    if partition < 0 or not _TOPIC.fullmatch(topic):
        raise FormatError("no partition of a topic")
    return {"topic": topic, "partition": partition}


def kafka_offsets(reader: Reader) -> dict[str, Any]:
    """Where a split starts and stops, by offsets or by the numbers that Kafka's class allows in their place."""
    starting, stopping = reader.i64("an offset"), reader.i64("an offset")
    if starting < _COMMITTED or (stopping < 0 and stopping not in (_NO_OFFSET, _LATEST, _COMMITTED)):
        raise FormatError("no offsets of a partition")
    return {"starting_offset": starting, "stopping_offset": None if stopping == _NO_OFFSET else stopping}


def _kafka_split(reader: Reader, version: int) -> dict[str, Any]:
    return kafka_partition(reader) | kafka_offsets(reader)


def _is_kafka_split(split: dict[str, Any], listed: Partitions) -> bool:
    """A text and three numbers may be of any connector."""
    reserved = split["starting_offset"] in (_EARLIEST, _COMMITTED) or split["stopping_offset"] in (None, _COMMITTED)
    return reserved or (split["topic"], split["partition"]) in listed


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
    scheme, user, host = (_nullable(reader) for _ in range(3))
    port = reader.i32("a port")
    path, query, fragment = (_nullable(reader) for _ in range(3))
    uri = f"{scheme}:" if scheme is not None else ""
    if host is not None:
        uri += f"//{f'{user}@' if user is not None else ''}{host}{f':{port}' if port >= 0 else ''}"
    uri += path or ""
    uri += f"?{query}" if query is not None else ""
    uri += f"#{fragment}" if fragment is not None else ""
    return uri.encode("utf-8", "replace").decode()


# ---- sinks


def _kafka_writer(reader: Reader, version: int) -> dict[str, Any]:
    writer: dict[str, Any] = {
        "transactional_id_prefix": read_text(reader), "subtask": reader.i32("a subtask"), "subtasks": reader.i32("subtasks"),
    }  # fmt: skip
    ownership = reader.i32("an ownership")
    expect(ownership, (0, 1))
    transactions = [
        {"transactional_id": read_text(reader), "checkpoint_id": reader.i64()}
        for _ in range(reader.count("transactions", least=10))
    ]
    return writer | {"ownership": _OWNERSHIP[ownership], "transactions": transactions}


def _is_kafka_writer(writer: dict[str, Any], listed: Partitions) -> bool:
    """All transactional ids begin with the prefix beside them; without transactions, nothing is Kafka's alone."""
    ids = [_TRANSACTIONAL_ID.fullmatch(one["transactional_id"]) for one in writer["transactions"]]
    return bool(ids) and all(match is not None and match[1] == writer["transactional_id_prefix"] for match in ids)


def _file_bucket(reader: Reader, version: int) -> dict[str, Any]:
    expect(reader.i32("a magic number"), (_BUCKET_MAGIC,))
    _, bucket = read_versioned(reader)
    # SimpleVersionedStringSerializer: a little-endian length and UTF-8; other ids stay unread.
    text = bucket[4:].decode("utf-8", "replace") if int.from_bytes(bucket[:4], "little") == len(bucket) - 4 else None
    fields = {"bucket_id": text, "path": read_text(reader), "creation_ms": reader.i64()}
    current = read_versioned(reader)[1] if read_flag(reader) else None
    pending = None if version == 3 else _pending_files(reader)
    return fields | {"in_progress_file": current, "pending_files": pending}


def _pending_files(reader: Reader) -> list[dict[str, Any]]:
    """``i32`` version, ``i32`` count of checkpoints, of each ``i64`` id, ``i32`` count, each in its length."""
    reader.i32("a version")
    found = []
    for _ in range(reader.count("checkpoints", least=12)):
        checkpoint = reader.i64("a checkpoint")
        for _ in range(reader.count("pending files", least=4)):
            found.append({"checkpoint_id": checkpoint, "file": bytes(reader.bytes(reader.i32("a length"), "a file"))})
    return found


def _committer(reader: Reader, version: int) -> list[dict[str, Any]]:
    expect(reader.i32("a magic number"), (_COMMITTER_MAGIC,))
    if version == 1:
        # Sink V1: committables and nothing else.
        written_by = reader.i32("a version")
        requests = _listed(reader, lambda inner: _request(written_by, inner.bytes(inner.remaining), None, None, None))
        return [{"checkpoint_id": None, "subtasks": [_subtask(None, requests, None, None)]}]
    return _versioned_list(reader, _checkpoint)


def _checkpoint(reader: Reader) -> dict[str, Any]:
    checkpoint = reader.i64()
    reader.i32("a number of subtasks")
    return {"checkpoint_id": checkpoint, "subtasks": _versioned_list(reader, _subtask_of)}


def _subtask_of(reader: Reader) -> dict[str, Any]:
    index = reader.i32("a subtask")
    requests = _versioned_list(reader, lambda inner: _request_of(inner, index))
    return _subtask(index, requests, reader.i32("a number of committables"), reader.i32("a number of failures"))


def _subtask(index: int | None, requests: list[Any], expected: int | None, failed: int | None) -> dict[str, Any]:
    return {"subtask": index, "requests": requests, "committables": expected, "failed": failed}


def _request_of(reader: Reader, subtask: int) -> dict[str, Any]:
    version, committable = read_versioned(reader)
    return _request(version, committable, subtask, reader.i32("retries"), reader.i32("a state"))


def _request(
    version: int, committable: bytes | memoryview, subtask: int | None, retries: int | None, state: int | None
) -> dict[str, Any]:
    """A committable, and what it means, if a file sink's magic number is in it, or an id that is the subtask's."""
    found: dict[str, Any] = {"committable": bytes(committable), "version": version, "retries": retries, "state": state}
    found |= dict.fromkeys((*_FILES, *_TRANSACTION))
    for form in (_file_committable, partial(_kafka_committable, subtask=subtask)):
        reader = Reader(committable)
        try:
            value = form(reader, version)
            must_end(reader)
        except StateExtractError:
            continue
        return found | value
    return found


def _file_committable(reader: Reader, version: int) -> dict[str, Any]:
    expect(version, (1,))
    expect(reader.i32("a magic number"), (_FILE_COMMITTABLE_MAGIC,))
    return {name: read_versioned(reader)[1] if read_flag(reader) else None for name in _FILES}


def _kafka_committable(reader: Reader, version: int, subtask: int | None) -> dict[str, Any]:
    """A transaction; its id ends with the subtask that began it and a number."""
    expect(version, (1,))
    epoch, producer, id_ = reader.i16("an epoch"), reader.i64("a producer"), read_text(reader)
    match = _TRANSACTIONAL_ID.fullmatch(id_)
    if min(epoch, producer) < 0 or match is None or int(match[2]) != subtask:
        raise FormatError("no transaction of the subtask")
    return dict(zip(_TRANSACTION, (id_, producer, epoch), strict=True))


_FILES = ("pending_file", "file_to_clean_up")
_TRANSACTION = ("transactional_id", "producer_id", "epoch")


_REQUEST = struct_of(
    committable=pa.binary(), version=I32, retries=I32, state=I32, pending_file=pa.binary(), file_to_clean_up=pa.binary(),
    transactional_id=TEXT, producer_id=I64, epoch=pa.int16(),
)  # fmt: skip
_SUBTASK = struct_of(subtask=I32, requests=pa.list_(_REQUEST), committables=I32, failed=I32)

FILE_SPLIT = PayloadForm(
    "file_split", (1,), _file_split,
    struct_of(
        id=TEXT, path=TEXT, offset=I64, length=I64, modification_ms=I64, file_size=I64, hosts=pa.list_(TEXT),
        reader_offset=I64, reader_records=I64,
    ),
)  # fmt: skip
_BUCKET = struct_of(
    bucket_id=TEXT, path=TEXT, creation_ms=I64, in_progress_file=pa.binary(),
    pending_files=pa.list_(struct_of(checkpoint_id=I64, file=pa.binary())),
)  # fmt: skip

FORMS: dict[str, tuple[PayloadForm, ...]] = {
    "SourceReaderState": (
        PayloadForm(
            "kafka_split", (0,), _kafka_split,
            struct_of(topic=TEXT, partition=I32, starting_offset=I64, stopping_offset=I64), _is_kafka_split,
        ),
        FILE_SPLIT,
    ),
    "writer_raw_states": (
        PayloadForm("file_bucket", (1, 2, 3), _file_bucket, _BUCKET),
        PayloadForm(
            "kafka_writer", (2,), _kafka_writer,
            struct_of(
                transactional_id_prefix=TEXT, subtask=I32, subtasks=I32, ownership=TEXT,
                transactions=pa.list_(struct_of(transactional_id=TEXT, checkpoint_id=I64)),
            ),
            _is_kafka_writer,
        ),
    ),
    "bucket-states": (PayloadForm("file_bucket", (1, 2), _file_bucket, _BUCKET),),
    "streaming_committer_raw_states": (
        PayloadForm("checkpoints", (1, 2), _committer, pa.list_(struct_of(checkpoint_id=I64, subtasks=pa.list_(_SUBTASK)))),
    ),
}  # fmt: skip
"""What may be in the states of Flink's sources and sinks, by the state's name."""
