"""What the sources of Pulsar and of Kinesis keep, and the buffered requests of Flink's asynchronous sinks.

A Pulsar topic has a scheme (``persistent://tenant/namespace/topic``), a shard of Kinesis the name of its stream at Amazon and
an id of a fixed form: no other connector writes these. The asynchronous sinks (Kinesis, Firehose, DynamoDB, SQS,
Elasticsearch 8) begin with -1; what a request contains, only its own sink knows.

Classes: ``org.apache.flink.connector.pulsar.source.split.PulsarPartitionSplitSerializer``,
``…pulsar.source.enumerator.PulsarSourceEnumStateSerializer``, ``…pulsar.sink.committer.PulsarCommittableSerializer``,
``org.apache.flink.connector.kinesis.source.split.KinesisShardSplitSerializer``,
``…kinesis.source.enumerator.KinesisStreamsSourceEnumeratorStateSerializer``,
``org.apache.flink.connector.base.sink.writer.AsyncSinkWriterStateSerializer``.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from serializers.connectors.embedded import java_class_and_json
from serializers.connectors.payload_forms import COMMITTABLE, COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import (
    BLOB,
    FLAG,
    I32,
    I64,
    INT,
    LONG,
    TEXT,
    UTF,
    PayloadPart,
    checked,
    expect,
    joined,
    many,
    optional,
    part,
    read_flag,
    read_text,
    record,
    since,
    sized,
    struct_of,
)
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

# ---- Pulsar

_TOPIC = re.compile(r"(?:non-)?persistent://[^/]+/[^/]+/.+", re.DOTALL)


_TOPIC_NAME = checked(UTF, _TOPIC.fullmatch)
_RANGE = record(start=INT, end=INT)


def _partition(reader: Reader, version: int) -> dict[str, Any]:
    """A topic, its partition (null if it has none), and ranges of the hashes of keys."""
    topic, partition = _TOPIC_NAME.read(reader, version), reader.i32("a partition")
    count = 1 if version == 0 else reader.count("ranges")
    ranges = [_RANGE.read(reader, version) for _ in range(count)]
    if partition < -1 or any(not 0 <= one["start"] <= one["end"] <= 65_535 for one in ranges):
        raise FormatError("no partition of Pulsar")
    if version == 1:
        reader.i32("a mode of the ranges")
    return {"topic": topic, "partition": None if partition == -1 else partition, "ranges": ranges}


def _message_id(data: bytes) -> dict[str, Any]:
    """Pulsar's ``MessageIdData``, a message of Protocol Buffers: its first two fields are the ledger and the entry."""
    reader = Reader(data)
    found: dict[str, Any] = {"message_id": data}
    for tag, name in ((0x08, "ledger_id"), (0x10, "entry_id")):
        expect(reader.u8("a tag"), (tag,))
        found[name] = reader.varint(64)
    return found


def _cursor(reader: Reader) -> dict[str, Any]:
    return dict(zip(("stop_cursor_class", "stop_cursor"), java_class_and_json(reader.bytes(reader.remaining)), strict=True))


def _message(reader: Reader) -> dict[str, Any]:
    return _message_id(BLOB.read(reader, 0)) if read_flag(reader) else dict.fromkeys(("message_id", "ledger_id", "entry_id"))


# As Pulsar's TxnID prints itself: two numbers.
_TRANSACTION = part(TEXT, lambda reader: f"({reader.i64('a transaction')},{reader.i64('a transaction')})")
_PARTITION = PayloadPart(_partition, struct_of(topic=TEXT, partition=I32, ranges=pa.list_(_RANGE.type)))
_PULSAR_SPLIT = joined(
    _PARTITION,
    sized(part(struct_of(stop_cursor_class=TEXT, stop_cursor=TEXT), _cursor)),
    part(struct_of(message_id=pa.binary(), ledger_id=I64, entry_id=I64), _message),
    record(transaction=optional(_TRANSACTION)),
)


_WAITING = record(
    splits=many(_PULSAR_SPLIT), of_readers=many(record(reader=INT, splits=many(_PULSAR_SPLIT))),
    of_others=many(record(reader=INT, splits=many(UTF))), initialized=FLAG,
)  # fmt: skip


def _pulsar_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    """The partitions that were found. Version 0 also has splits that wait for a reader, and the readers of the others."""
    partitions = [_partition(reader, max(version - 1, 0)) for _ in range(reader.count("partitions", least=10))]
    if not partitions:
        raise FormatError("a count of zero, which may be of any connector")
    if version == 0:
        _WAITING.read(reader, 0)
    return {"partitions": partitions}


# ---- Kinesis

_STREAM = re.compile(r"arn:[a-z0-9-]+:kinesis:[a-z0-9-]*:\d{12}:stream/[A-Za-z0-9_.-]+", re.ASCII)
_SHARD = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)
_POSITIONS = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP")


def _position(reader: Reader) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(("timestamp_ms", "sequence_number"))
    return _PLACE.read(reader, 0) if read_flag(reader) else found


_PLACE = record(timestamp_ms=optional(LONG), sequence_number=optional(UTF))
_KINESIS_SPLIT = joined(
    record(
        stream=checked(UTF, _STREAM.fullmatch), shard_id=checked(UTF, _SHARD.fullmatch),
        position=checked(UTF, lambda name: name in _POSITIONS),
    ),
    part(_PLACE.type, _position),
    record(
        parent_shard_ids=since(1, many(UTF)), starting_hash_key=since(1, UTF), ending_hash_key=since(1, UTF),
        finished=since(2, FLAG),
    ),
)  # fmt: skip


def _kinesis_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    last = read_text(reader) if read_flag(reader) else None
    count, split_version = reader.i32("a number of splits"), reader.i32("a version of splits")
    expect(split_version, range(3))
    if not 0 <= 4 * count <= reader.remaining:
        raise FormatError("more splits than bytes")
    splits = []
    for _ in range(count):
        split = sized(_KINESIS_SPLIT).read(reader, split_version)
        if version >= 1:
            code = reader.i32("a status")
            expect(code, (0, 1))
            split["assigned"] = code == 0
        splits.append(split)
    if not splits and (last is None or not last.startswith("shardId-")):
        raise FormatError("a count of zero, which may be of any connector")
    return {"last_seen_shard_id": last, "splits": splits}


# ---- asynchronous sinks

_LARGEST_REQUEST = 1 << 30
"""Bytes. No service of these sinks takes a request of 1 GiB."""


def _async_writer(reader: Reader, version: int) -> dict[str, Any]:
    if reader.i64("a mark") != -1:
        raise FormatError("no buffer of an asynchronous sink")
    count = reader.i32("a number of requests")
    requests = bytes(reader.bytes(reader.remaining))
    # Each request has its size, which is first, and at least one byte.
    size = int.from_bytes(requests[:8], "big")
    if not 0 <= 9 * count <= len(requests) or (count == 0) != (not requests) or size > _LARGEST_REQUEST:
        raise FormatError("no requests")
    return {"requests": count, "data": requests}


register_form(
    "SourceReaderState",
    PayloadForm(
        "pulsar_split", (0, 1, 2), *_PULSAR_SPLIT, reason="a topic with the scheme of Pulsar, and a Java object"
    ),
)
register_form(
    COORDINATOR,
    PayloadForm(
        "pulsar_enumerator", (0, 1, 2, 3), _pulsar_enumerator, struct_of(partitions=pa.list_(_PARTITION.type)),
        reason="at least one topic with the scheme of Pulsar",
    ),
)  # fmt: skip
register_form(
    COMMITTABLE,
    PayloadForm(
        "pulsar_committable", (1,), *record(transaction=_TRANSACTION, topic=_TOPIC_NAME),
        reason="a topic with the scheme of Pulsar",
    ),
)  # fmt: skip
register_form(
    "SourceReaderState",
    PayloadForm("kinesis_split", (0, 1, 2), *_KINESIS_SPLIT, reason="the ARN of a stream, and Kinesis' positions"),
)
register_form(
    COORDINATOR,
    PayloadForm(
        "kinesis_enumerator", (0, 1), _kinesis_enumerator,
        struct_of(
            last_seen_shard_id=TEXT, splits=pa.list_(pa.struct([*_KINESIS_SPLIT.type, pa.field("assigned", pa.bool_())]))
        ),
        reason="such a split, or the id of a shard",
    ),
)  # fmt: skip
register_form(
    "writer_raw_states",
    PayloadForm(
        "async_writer", (0, 1), _async_writer, struct_of(requests=I32, data=pa.binary()),
        reason="a mark of -1, and the size of the first request",
    ),
)  # fmt: skip
