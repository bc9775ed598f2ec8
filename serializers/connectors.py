"""Connector payloads: what sources and sinks keep as bytes in operator state of ``byte[]``.

Around each payload stands Flink's wrapper (``SimpleVersionedSerialization``): ``i32`` version, ``i32`` length, the
payload. Which class wrote it is recorded nowhere. So a payload is taken for one of the forms below only by the state's
name *and* version *and* if the form takes the bytes to the last one; and if two forms did, it would be none of them. The
bytes themselves are always kept, in the column ``bytes``.

==============================  ===================================================================================
state                           forms
==============================  ===================================================================================
SourceReaderState               Kafka's splits, file splits, those of number sequences
writer_raw_states               Kafka's sink writers; the head of a file sink's buckets
streaming_committer_raw_states  committables by checkpoint and subtask, those of Kafka in full
==============================  ===================================================================================

Classes: ``org.apache.flink.connector.kafka.source.split.KafkaPartitionSplitSerializer``,
``…kafka.sink.{KafkaWriterState,KafkaCommittable}Serializer``, ``…file.src.FileSourceSplitSerializer``,
``…file.sink.writer.FileWriterBucketStateSerializer``, ``…source.lib.NumberSequenceSource$SplitSerializer``,
``org.apache.flink.streaming.runtime.operators.sink.committables.CommittableCollectorSerializer``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

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


@dataclass(frozen=True)
class Form:
    """What a payload may be.

    :param name: of its column.
    :param versions: of the payload.
    :param read: takes the payload.
    :param type: of the column.
    :param whole: the form takes all bytes; otherwise only the head of the payload is known.
    """

    name: str
    versions: tuple[int, ...]
    read: Callable[[Reader, int], Any]
    type: pa.DataType
    whole: bool = True


def payload_layout(state: str, snapshot_class: str) -> Layout | None:
    """The layout of a state's elements, where Flink's connectors keep payloads in a state of this name."""
    forms = FORMS.get(state)
    if forms is None or snapshot_class != BYTES:
        return None

    def decode(data: memoryview, pos: int, end: int) -> tuple[dict[str, Any], int]:
        reader = Reader(data, pos, end)
        raw = bytes(reader.bytes(reader.i32("the length of bytes"), "bytes"))
        return decode_payload(state, raw), reader.pos

    columns = [pa.field("bytes", pa.binary()), pa.field("version", pa.int32())]
    return Python(decode, pa.struct([*columns, *(pa.field(form.name, form.type) for form in forms)]))


def decode_payload(state: str, raw: bytes) -> dict[str, Any]:
    """``bytes``, the payload's ``version``, and the one form that it has; null where it has none.

    :param state: the state's name, one of :data:`FORMS`.
    :param raw: the content of the ``byte[]``.
    """
    forms = FORMS[state]
    columns: dict[str, Any] = {"bytes": raw, "version": None} | dict.fromkeys(form.name for form in forms)
    try:
        reader = Reader(raw)
        version, payload = _versioned(reader)
        _end(reader)
    except StateExtractError:
        return columns
    columns["version"] = version
    fits = [(form, value) for form in forms if (value := _try(form, version, payload)) is not None]
    if len(fits) == 1:
        form, value = fits[0]
        columns[form.name] = value
    return columns


def _try(form: Form, version: int, payload: bytes) -> Any:
    if version not in form.versions:
        return None
    reader = Reader(payload)
    try:
        value = form.read(reader, version)
        if form.whole:
            _end(reader)
    except StateExtractError:
        return None
    return value


# ---- what payloads are made of


def _versioned(reader: Reader) -> tuple[int, bytes]:
    version = reader.i32("a version")
    return version, bytes(reader.bytes(reader.i32("a length"), "a payload"))


def _end(reader: Reader) -> None:
    if reader.remaining:
        raise FormatError(f"{reader.remaining} bytes are left of a payload", offset=reader.offset)


def _versioned_list(reader: Reader, read: Callable[[Reader], T]) -> list[T]:
    """``i32`` version, ``i32`` count, then each item in its length."""
    _expect(reader.i32("a version"), range(8))
    items = []
    for _ in range(reader.count("items", least=4)):
        inner = Reader(reader.bytes(reader.i32("a length"), "an item"))
        items.append(read(inner))
        _end(inner)
    return items


def _expect(found: int, allowed: Sequence[int]) -> None:
    if found not in allowed:
        raise FormatError(f"found {found} in a payload", expected=" or ".join(map(str, allowed)))


def _flag(reader: Reader) -> bool:
    """A boolean as Java writes it: bytes of something else are seldom only 0 and 1."""
    flag = reader.u8("a flag")
    _expect(flag, (0, 1))
    return flag == 1


def _utf(reader: Reader) -> str:
    text = reader.utf()
    # No form has texts that UTF-8 cannot hold, and Arrow would refuse them.
    return text.encode("utf-8", "replace").decode()


def _nullable(reader: Reader) -> str | None:
    return flink_string(reader) if _flag(reader) else None


def _struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


_TEXT, _I32, _I64 = pa.string(), pa.int32(), pa.int64()


# ---- sources


def _kafka_split(reader: Reader, version: int) -> dict[str, Any]:
    topic, partition, starting, stopping = _utf(reader), reader.i32(), reader.i64(), reader.i64()
    if partition < 0 or not topic:
        raise FormatError("no partition of a topic")
    # The lowest number stands for none.
    stop = None if stopping == -(1 << 63) else stopping
    return {"topic": topic, "partition": partition, "starting_offset": starting, "stopping_offset": stop}


def _file_split(reader: Reader, version: int) -> dict[str, Any]:
    split: dict[str, Any] = {
        "id": _utf(reader), "path": _path(reader), "offset": reader.i64(), "length": reader.i64(),
        "modification_ms": reader.i64(), "file_size": reader.i64(),
        "hosts": [_utf(reader) for _ in range(reader.count("hosts", least=2))],
    }  # fmt: skip
    at = {"reader_offset": reader.i64(), "reader_records": reader.i64()} if _flag(reader) else {}
    return split | {"reader_offset": None, "reader_records": None} | at


def _path(reader: Reader) -> str | None:
    """A URI in its parts."""
    if not _flag(reader):
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


def _number_split(reader: Reader, version: int) -> dict[str, Any]:
    return {"id": _utf(reader), "from": reader.i64(), "to": reader.i64()}


# ---- sinks


def _kafka_writer(reader: Reader, version: int) -> dict[str, Any]:
    prefix = _utf(reader)
    if version == 1:
        return {"transactional_id_prefix": prefix, "transactions": None}
    transactions = [
        {"transactional_id": _utf(reader), "checkpoint_id": reader.i64()}
        for _ in range(reader.count("transactions", least=10))
    ]
    return {"transactional_id_prefix": prefix, "transactions": transactions}


def _file_bucket(reader: Reader, version: int) -> dict[str, Any]:
    _expect(reader.i32("a magic number"), (_BUCKET_MAGIC,))
    _, bucket = _versioned(reader)
    # SimpleVersionedStringSerializer: a little-endian length and UTF-8; other ids stay unread.
    text = bucket[4:].decode("utf-8", "replace") if int.from_bytes(bucket[:4], "little") == len(bucket) - 4 else None
    return {"bucket_id": text, "path": _utf(reader), "creation_ms": reader.i64()}


def _committer(reader: Reader, version: int) -> list[dict[str, Any]]:
    _expect(reader.i32("a magic number"), (_COMMITTER_MAGIC,))
    if version == 1:
        # Sink V1: committables and nothing else.
        requests = _versioned_list(reader, lambda inner: _request(inner.bytes(inner.remaining), None, None))
        return [{"checkpoint_id": None, "subtasks": [_subtask(None, requests, None, None)]}]
    return _versioned_list(reader, _checkpoint)


def _checkpoint(reader: Reader) -> dict[str, Any]:
    checkpoint = reader.i64()
    reader.i32("a number of subtasks")
    return {"checkpoint_id": checkpoint, "subtasks": _versioned_list(reader, _subtask_of)}


def _subtask_of(reader: Reader) -> dict[str, Any]:
    index = reader.i32("a subtask")
    requests = _versioned_list(reader, _request_of)
    return _subtask(index, requests, reader.i32("a number of committables"), reader.i32("a number of failures"))


def _subtask(index: int | None, requests: list[Any], expected: int | None, failed: int | None) -> dict[str, Any]:
    return {"subtask": index, "requests": requests, "committables": expected, "failed": failed}


def _request_of(reader: Reader) -> dict[str, Any]:
    version, committable = _versioned(reader)
    request = _request(committable, reader.i32("retries"), reader.i32("a state"))
    if version != 1:
        request |= _NO_KAFKA
    return request


_NO_KAFKA = {"transactional_id": None, "producer_id": None, "epoch": None}


def _request(committable: bytes | memoryview, retries: int | None, state: int | None) -> dict[str, Any]:
    """A committable, and what Kafka's means: ``i16`` epoch, ``i64`` producer id, the transactional id."""
    kafka: dict[str, Any] = dict(_NO_KAFKA)
    reader = Reader(committable)
    try:
        epoch, producer, transaction = reader.i16(), reader.i64(), _utf(reader)
        _end(reader)
        kafka = {"transactional_id": transaction, "producer_id": producer, "epoch": epoch}
    except StateExtractError:
        pass
    return {"committable": bytes(committable), "retries": retries, "state": state} | kafka


_TRANSACTIONS = pa.list_(_struct(transactional_id=_TEXT, checkpoint_id=_I64))
_REQUEST = _struct(
    committable=pa.binary(), retries=_I32, state=_I32, transactional_id=_TEXT, producer_id=_I64, epoch=pa.int16()
)
_SUBTASK = _struct(subtask=_I32, requests=pa.list_(_REQUEST), committables=_I32, failed=_I32)

FORMS: dict[str, tuple[Form, ...]] = {
    "SourceReaderState": (
        Form(
            "kafka_split", (0,), _kafka_split,
            _struct(topic=_TEXT, partition=_I32, starting_offset=_I64, stopping_offset=_I64),
        ),
        Form(
            "file_split", (1,), _file_split,
            _struct(
                id=_TEXT, path=_TEXT, offset=_I64, length=_I64, modification_ms=_I64, file_size=_I64,
                hosts=pa.list_(_TEXT), reader_offset=_I64, reader_records=_I64,
            ),
        ),
        Form("number_split", (1,), _number_split, pa.struct([("id", _TEXT), ("from", _I64), ("to", _I64)])),
    ),
    "writer_raw_states": (
        Form(
            "kafka_writer", (1, 2), _kafka_writer, _struct(transactional_id_prefix=_TEXT, transactions=_TRANSACTIONS)
        ),
        Form("file_bucket", (3,), _file_bucket, _struct(bucket_id=_TEXT, path=_TEXT, creation_ms=_I64), whole=False),
    ),
    "streaming_committer_raw_states": (
        Form("checkpoints", (1, 2), _committer, pa.list_(_struct(checkpoint_id=_I64, subtasks=pa.list_(_SUBTASK)))),
    ),
}  # fmt: skip
"""What may stand in the states of Flink's sources and sinks, by the state's name."""
