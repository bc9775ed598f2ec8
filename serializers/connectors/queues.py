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
from serializers.connectors.forms import (
    COMMITTABLE,
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
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

# ---- Pulsar

_TOPIC = re.compile(r"(?:non-)?persistent://[^/]+/[^/]+/.+", re.DOTALL)


def _topic(reader: Reader) -> str:
    topic = read_text(reader)
    if not _TOPIC.fullmatch(topic):
        raise FormatError("no topic of Pulsar")
    return topic


def _partition(reader: Reader, version: int) -> dict[str, Any]:
    """A topic, its partition (null if it has none), and ranges of the hashes of keys."""
    topic, partition = _topic(reader), reader.i32("a partition")
    count = 1 if version == 0 else reader.count("ranges", least=8)
    ranges = [{"start": reader.i32("a hash"), "end": reader.i32("a hash")} for _ in range(count)]
    if partition < -1 or any(not 0 <= one["start"] <= one["end"] <= 65_535 for one in ranges):
        raise FormatError("no partition of Pulsar")
    if version == 1:
        reader.i32("a mode of the ranges")
    return {"topic": topic, "partition": None if partition == -1 else partition, "ranges": ranges}


def _pulsar_split(reader: Reader, version: int) -> dict[str, Any]:
    split = _partition(reader, version)
    cursor = java_class_and_json(reader.bytes(reader.i32("a length"), "a cursor"))
    split |= dict(zip(("stop_cursor_class", "stop_cursor"), cursor, strict=True))
    split |= dict.fromkeys(("message_id", "ledger_id", "entry_id"))
    if read_flag(reader):
        split |= _message_id(bytes(reader.bytes(reader.i32("a length"), "a message")))
    split |= _transaction(reader) if read_flag(reader) else {"transaction": None}
    return split


def _message_id(data: bytes) -> dict[str, Any]:
    """Pulsar's ``MessageIdData``, a message of Protocol Buffers: its first two fields are the ledger and the entry."""
    reader = Reader(data)
    found: dict[str, Any] = {"message_id": data}
    for tag, name in ((0x08, "ledger_id"), (0x10, "entry_id")):
        expect(reader.u8("a tag"), (tag,))
        found[name] = reader.varint(64)
    return found


def _transaction(reader: Reader) -> dict[str, Any]:
    most, least = reader.i64("a transaction"), reader.i64("a transaction")
    # As Pulsar's TxnID prints itself.
    return {"transaction": f"({most},{least})"}


def _pulsar_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    """The partitions that were found. Version 0 also has splits that wait for a reader, and the readers of the others."""
    partitions = [_partition(reader, max(version - 1, 0)) for _ in range(reader.count("partitions", least=10))]
    if not partitions:
        raise FormatError("a count of zero, which may be of any connector")
    if version == 0:
        _pulsar_splits(reader)
        for read in (_pulsar_splits, _texts):
            for _ in range(reader.count("readers", least=8)):
                reader.i32("a reader")
                read(reader)
        read_flag(reader)
    return {"partitions": partitions}


def _pulsar_splits(reader: Reader) -> None:
    for _ in range(reader.count("splits", least=24)):
        _pulsar_split(reader, 0)


def _texts(reader: Reader) -> None:
    for _ in range(reader.count("splits", least=2)):
        read_text(reader)


def _pulsar_committable(reader: Reader, version: int) -> dict[str, Any]:
    return _transaction(reader) | {"topic": _topic(reader)}


# ---- Kinesis

_STREAM = re.compile(r"arn:[a-z0-9-]+:kinesis:[a-z0-9-]*:\d{12}:stream/[A-Za-z0-9_.-]+", re.ASCII)
_SHARD = re.compile(r"[A-Za-z0-9_.-]{1,128}", re.ASCII)
_POSITIONS = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP")


def _kinesis_split(reader: Reader, version: int) -> dict[str, Any]:
    split: dict[str, Any] = {
        "stream": read_text(reader), "shard_id": read_text(reader), "position": read_text(reader), "timestamp_ms": None,
        "sequence_number": None,
    }  # fmt: skip
    if (
        not _STREAM.fullmatch(split["stream"])
        or not _SHARD.fullmatch(split["shard_id"])
        or split["position"] not in _POSITIONS
    ):
        raise FormatError("no shard of Kinesis")
    if read_flag(reader):
        if read_flag(reader):
            split["timestamp_ms"] = reader.i64("a time")
        if read_flag(reader):
            split["sequence_number"] = read_text(reader)
    if version >= 1:
        split["parent_shard_ids"] = [read_text(reader) for _ in range(reader.count("shards", least=2))]
        split |= {"starting_hash_key": read_text(reader), "ending_hash_key": read_text(reader)}
    if version >= 2:
        split["finished"] = read_flag(reader)
    return split


def _kinesis_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    last = read_text(reader) if read_flag(reader) else None
    count, split_version = reader.i32("a number of splits"), reader.i32("a version of splits")
    expect(split_version, range(3))
    if not 0 <= 4 * count <= reader.remaining:
        raise FormatError("more splits than bytes")
    splits = []
    for _ in range(count):
        inner = Reader(reader.bytes(reader.i32("a length"), "a split"))
        split = _kinesis_split(inner, split_version)
        must_end(inner)
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


_RANGES = pa.list_(struct_of(start=I32, end=I32))
_SHARD_TYPE = struct_of(
    stream=TEXT, shard_id=TEXT, position=TEXT, timestamp_ms=I64, sequence_number=TEXT, parent_shard_ids=pa.list_(TEXT),
    starting_hash_key=TEXT, ending_hash_key=TEXT, finished=pa.bool_(),
)  # fmt: skip

register_form(
    "SourceReaderState",
    PayloadForm(
        "pulsar_split", (0, 1, 2), _pulsar_split,
        struct_of(
            topic=TEXT, partition=I32, ranges=_RANGES, stop_cursor_class=TEXT, stop_cursor=TEXT, message_id=pa.binary(),
            ledger_id=I64, entry_id=I64, transaction=TEXT,
        ),
        reason="a topic with the scheme of Pulsar, and a Java object",
    ),
)  # fmt: skip
register_form(
    COORDINATOR,
    PayloadForm(
        "pulsar_enumerator", (0, 1, 2, 3), _pulsar_enumerator,
        struct_of(partitions=pa.list_(struct_of(topic=TEXT, partition=I32, ranges=_RANGES))),
        reason="at least one topic with the scheme of Pulsar",
    ),
)  # fmt: skip
register_form(
    COMMITTABLE,
    PayloadForm(
        "pulsar_committable", (1,), _pulsar_committable, struct_of(transaction=TEXT, topic=TEXT),
        reason="a topic with the scheme of Pulsar",
    ),
)  # fmt: skip
register_form(
    "SourceReaderState",
    PayloadForm(
        "kinesis_split", (0, 1, 2), _kinesis_split, _SHARD_TYPE, reason="the ARN of a stream, and Kinesis' positions"
    ),
)
register_form(
    COORDINATOR,
    PayloadForm(
        "kinesis_enumerator", (0, 1), _kinesis_enumerator,
        struct_of(
            last_seen_shard_id=TEXT, splits=pa.list_(struct_of(**{f.name: f.type for f in _SHARD_TYPE}, assigned=pa.bool_()))
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
