"""What Kafka's connector keeps: splits and enumerators of its sources, writers and committables of its sink.

Classes, all of ``org.apache.flink.connector.kafka``: ``source.split.KafkaPartitionSplitSerializer``,
``source.enumerator.KafkaSourceEnumStateSerializer``, ``dynamic.source.split.DynamicKafkaSourceSplitSerializer``,
``dynamic.source.enumerator.DynamicKafkaSourceEnumStateSerializer``, ``sink.KafkaWriterStateSerializer``,
``sink.KafkaCommittableSerializer``.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from serializers.connectors.payload_forms import COMMITTABLE, COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import (
    I32,
    I64,
    INT,
    LONG,
    SHORT,
    TEXT,
    UTF,
    PayloadPart,
    checked,
    expect,
    fixed,
    in_order,
    joined,
    many,
    one_of,
    optional,
    part,
    read_flag,
    read_text,
    record,
    since,
    sized,
    struct_of,
)
from serializers.context import NO_PARTITIONS, Evidence, Partitions
from serializers.javaobjects import COLUMN as JAVA_OBJECT
from serializers.javaobjects import read_object
from stateextract.files.reader import Reader

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_TRANSACTIONAL_ID = re.compile(r"(.+)-(\d{1,10})-(\d{1,19})", re.ASCII | re.DOTALL)
_OWNERSHIP = ("IMPLICIT_BY_SUBTASK_ID", "EXPLICIT_BY_WRITER_STATE")

_SERVERS = re.compile(r"[^\s,]+:\d{1,5}( *, *[^\s,]+:\d{1,5})*", re.ASCII)
_DYNAMIC_ENUMERATOR = "dynamic_kafka_enumerator"

LATEST, EARLIEST, COMMITTED = -1, -2, -3
"""Offsets that Kafka's class reserves (``KafkaPartitionSplit``)."""
_NO_OFFSET = -(1 << 63)
"""As a stopping offset: none. As a starting offset in an enumerator: not looked up yet."""

# ---- KafkaSource

_PARTITION = checked(record(topic=UTF, partition=INT), lambda p: p["partition"] >= 0 and _TOPIC.fullmatch(p["topic"]))
"""Kafka allows few letters in a topic's name."""
_OFFSET = part(I64, lambda reader: None if (number := reader.i64()) == _NO_OFFSET else number)


def _has_offsets(split: dict[str, Any]) -> bool:
    """Whether the offsets, or the numbers in their place, are some that Kafka's class allows."""
    offsets = (split["starting_offset"], split["stopping_offset"])
    return all(offset is None or offset >= COMMITTED for offset in offsets) and offsets[1] != EARLIEST


_SPLIT = checked(joined(_PARTITION, record(starting_offset=_OFFSET, stopping_offset=_OFFSET)), _has_offsets)
"""A partition, and where the split starts and stops."""


def _is_split(split: dict[str, Any], evidence: Evidence) -> bool:
    """A text and three numbers may be of any connector."""
    return (
        _is_reserved(split)
        or (split["topic"], split["partition"]) in evidence.partitions
        or evidence.split_id == f"{split['topic']}-{split['partition']}"
    )


def _is_reserved(split: dict[str, Any]) -> bool:
    return split["starting_offset"] in (EARLIEST, COMMITTED) or split["stopping_offset"] in (None, COMMITTED)


def _enumerator(reader: Reader, version: int) -> dict[str, Any]:
    """Partitions with a status each, and whether all were looked for once; version 3 has splits in their length.

    Version 0 has the splits of each subtask, version 1 partitions and nothing else: both list only what is assigned.
    """
    if version < 2:
        assigned = _assignments(reader) if version == 0 else many(_PARTITION).read(reader, version)
        return {"partitions": [_listed(one, True) for one in assigned], "discovery_finished": None}
    count = reader.count("partitions")
    if version == 3:
        expect(reader.i32("a version of splits"), (0,))
    partitions = []
    for _ in range(count):
        partition = (_PARTITION if version == 2 else sized(_SPLIT)).read(reader, 0)
        status = reader.i32("a status")
        expect(status, (0, 1))
        partitions.append(_listed(partition, status == 0))
    return {"partitions": partitions, "discovery_finished": read_flag(reader)}


def _listed(partition: dict[str, Any], assigned: bool) -> dict[str, Any]:
    return {"assigned": assigned, "starting_offset": None, "stopping_offset": None} | partition


_LISTED = struct_of(topic=TEXT, partition=I32, assigned=pa.bool_(), starting_offset=I64, stopping_offset=I64)
_ENUMERATOR = PayloadPart(_enumerator, struct_of(partitions=pa.list_(_LISTED), discovery_finished=pa.bool_()))


def _assignments(reader: Reader) -> list[dict[str, Any]]:
    """``SerdeUtils.serializeSplitAssignments``: subtasks, version of splits, and of each subtask its number and its splits."""
    subtasks = reader.count("subtasks")
    expect(reader.i32("a version of splits"), (0,))
    of_subtask = record(_subtask=INT, splits=many(sized(_SPLIT)))
    return [split for _ in range(subtasks) for split in of_subtask.read(reader, 0)["splits"]]


def _is_enumerator(state: dict[str, Any], evidence: Evidence) -> bool:
    """Texts with a number each (version 1), or a count of zero, may be of any connector."""
    partitions = state["partitions"]
    if state["discovery_finished"] is None:
        return any(p["starting_offset"] is not None and _is_reserved(p) for p in partitions)
    return bool(partitions)


def _partitions_of(state: dict[str, Any]) -> Partitions:
    return frozenset((p["topic"], p["partition"]) for p in state["partitions"])


# ---- DynamicKafkaSource


_DYNAMIC_SPLIT = joined(record(cluster_id=UTF, retained_until_ms=since(2, optional(LONG)), _version=fixed(0)), _SPLIT)


def _is_dynamic_split(split: dict[str, Any], evidence: Evidence) -> bool:
    return (
        _is_reserved(split)
        or evidence.enumerator == _DYNAMIC_ENUMERATOR
        or (split["topic"], split["partition"]) in evidence.partitions
        or evidence.split_id == f"{split['cluster_id']}-{split['topic']}-{split['partition']}"
    )


_INITIALIZER = since(2, optional(sized(part(JAVA_OBJECT, read_object))))
"""An ``OffsetsInitializer``, an object of Java's own serialization: where to start and to stop."""
_CLUSTER = record(
    cluster_id=UTF, topics=many(UTF), bootstrap_servers=checked(UTF, _SERVERS.fullmatch), starting_initializer=_INITIALIZER,
    stopping_initializer=_INITIALIZER,
)  # fmt: skip


def _dynamic_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    """The streams with their clusters, as the metadata service gave them, and the state of each cluster's enumerator.

    From version 3 there are clusters that were removed, with the time until which they are kept.
    """
    streams = [
        {"stream_id": stream["id"]} | cluster
        for stream in many(record(id=UTF, clusters=many(_CLUSTER))).read(reader, version)
        for cluster in stream["clusters"]
    ]
    inner = reader.i32("a version of enumerators")
    expect(inner, range(4))
    clusters = [
        {"cluster_id": read_text(reader), "retained_until_ms": reader.i64("a time") if removed else None}
        | sized(_ENUMERATOR).read(reader, inner)
        for removed in ((False, True) if version == 3 else (False,))
        for _ in range(reader.count("clusters"))
    ]
    return {"streams": streams, "clusters": clusters}


def _is_dynamic_enumerator(state: dict[str, Any], evidence: Evidence) -> bool:
    """Servers with their ports, and partitions of the same clusters."""
    known = {cluster["cluster_id"] for cluster in state["streams"]}
    current = [cluster for cluster in state["clusters"] if cluster["retained_until_ms"] is None]
    return bool(known) and all(cluster["cluster_id"] in known for cluster in current)


def _dynamic_partitions(state: dict[str, Any]) -> Partitions:
    return NO_PARTITIONS.union(*map(_partitions_of, state["clusters"]))


# ---- KafkaSink


def _is_whole(number: int) -> bool:
    return number >= 0


_WRITER = record(
    transactional_id_prefix=UTF, subtask=INT, subtasks=INT, ownership=one_of(_OWNERSHIP),
    transactions=many(record(transactional_id=UTF, checkpoint_id=LONG)),
)  # fmt: skip


def _is_writer(writer: dict[str, Any], evidence: Evidence) -> bool:
    """All transactional ids begin with the prefix that the writer records. Without transactions, nothing is Kafka's alone."""
    ids = [_TRANSACTIONAL_ID.fullmatch(one["transactional_id"]) for one in writer["transactions"]]
    return bool(ids) and all(match is not None and match[1] == writer["transactional_id_prefix"] for match in ids)


_COMMITTABLE = in_order(
    record(epoch=checked(SHORT, _is_whole), producer_id=checked(LONG, _is_whole), transactional_id=UTF),
    "transactional_id", "producer_id", "epoch",
)  # fmt: skip


def _is_committable(transaction: dict[str, Any], evidence: Evidence) -> bool:
    """The id ends with the subtask that began the transaction, and a number. Later versions of the committer have it too."""
    match = _TRANSACTIONAL_ID.fullmatch(transaction["transactional_id"])
    return match is not None and evidence.subtask in (None, int(match[2]))


# ---- forms

register_form(
    "SourceReaderState",
    PayloadForm(
        "kafka_split", (0,), *_SPLIT, _is_split,
        "an offset that Kafka's class reserves: no stopping offset, -3 (the committed one), or a start at -2 (earliest). Or "
        "the coordinator of the same operator lists the topic and the partition, as the enumerators of all versions of "
        "Kafka's connector do. Bounded sources have such splits",
    ),
)  # fmt: skip
register_form(
    COORDINATOR,
    PayloadForm(
        "kafka_enumerator", (0, 1, 2, 3), *_ENUMERATOR, _is_enumerator,
        "a status of each partition (versions 2, 3), an offset that Kafka's class reserves (version 0)", _partitions_of,
    ),
)  # fmt: skip
register_form(
    "SourceReaderState",
    PayloadForm(
        "dynamic_kafka_split", (1, 2), *_DYNAMIC_SPLIT, _is_dynamic_split,
        "as for `kafka_split`, or a `dynamic_kafka_enumerator` in the coordinator of the same operator",
    ),
)  # fmt: skip
register_form(
    COORDINATOR,
    PayloadForm(
        _DYNAMIC_ENUMERATOR, (1, 2, 3), _dynamic_enumerator,
        struct_of(
            streams=pa.list_(pa.struct([pa.field("stream_id", TEXT), *_CLUSTER.type])),
            clusters=pa.list_(
                pa.struct([pa.field("cluster_id", TEXT), pa.field("retained_until_ms", I64), *_ENUMERATOR.type])
            ),
        ),
        _is_dynamic_enumerator, "servers with ports, and state of the clusters that they belong to", _dynamic_partitions,
    ),
)  # fmt: skip
register_form(
    "writer_raw_states",
    PayloadForm(
        "kafka_writer", (2,), *_WRITER, _is_writer,
        "transactional ids *prefix*-*subtask*-*number*, with the prefix that the writer records",
    ),
)  # fmt: skip
register_form(
    COMMITTABLE,
    PayloadForm(
        "kafka_committable", (1,), *_COMMITTABLE, _is_committable,
        "an id *prefix*-*subtask*-*number*, with the subtask that the committer records if it does",
    ),
)  # fmt: skip
