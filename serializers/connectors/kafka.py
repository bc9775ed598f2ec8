"""What Kafka's connector keeps: splits and enumerators of its sources, writers and committables of its sink.

Classes, all of ``org.apache.flink.connector.kafka``: ``source.split.KafkaPartitionSplitSerializer``,
``source.enumerator.KafkaSourceEnumStateSerializer``, ``dynamic.source.split.DynamicKafkaSourceSplitSerializer``,
``dynamic.source.enumerator.DynamicKafkaSourceEnumStateSerializer``, ``sink.KafkaWriterStateSerializer``,
``sink.KafkaCommittableSerializer``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

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
from serializers.context import NO_PARTITIONS, Evidence, Partitions
from serializers.javaobjects import COLUMN as JAVA_OBJECT
from serializers.javaobjects import read_object
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_TRANSACTIONAL_ID = re.compile(r"(.+)-(\d{1,10})-(\d{1,19})", re.ASCII | re.DOTALL)
_OWNERSHIP = ("IMPLICIT_BY_SUBTASK_ID", "EXPLICIT_BY_WRITER_STATE")

_SERVERS = re.compile(r"[^\s,]+:\d{1,5}( *, *[^\s,]+:\d{1,5})*", re.ASCII)
_DYNAMIC_ENUMERATOR = "dynamic_kafka_enumerator"
_INITIALIZERS = ("starting_initializer", "stopping_initializer")

LATEST, EARLIEST, COMMITTED = -1, -2, -3
"""Offsets that Kafka's class reserves (``KafkaPartitionSplit``)."""
_NO_OFFSET = -(1 << 63)
"""As a stopping offset: none. As a starting offset in an enumerator: not looked up yet."""

# ---- KafkaSource


def _partition(reader: Reader) -> dict[str, Any]:
    """``topic`` and ``partition``; Kafka allows few letters in a topic's name."""
    topic, partition = read_text(reader), reader.i32("a partition")
    if partition < 0 or not _TOPIC.fullmatch(topic):
        raise FormatError("no partition of a topic")
    return {"topic": topic, "partition": partition}


def _split(reader: Reader) -> dict[str, Any]:
    """A partition, and where the split starts and stops: by offsets or by numbers that Kafka's class allows in their place."""
    partition = _partition(reader)
    starting, stopping = reader.i64("an offset"), reader.i64("an offset")
    if any(offset < COMMITTED and offset != _NO_OFFSET for offset in (starting, stopping)) or stopping == EARLIEST:
        raise FormatError("no offsets of a partition")
    return partition | {"starting_offset": _offset(starting), "stopping_offset": _offset(stopping)}


def _offset(number: int) -> int | None:
    return None if number == _NO_OFFSET else number


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
    if version == 0:
        return {"partitions": [_listed(split, True) for split in _assignments(reader)], "discovery_finished": None}
    partitions = []
    count = reader.count("partitions", least=6)
    if version == 1:
        named = [_partition(reader) for _ in range(count)]
        return {"partitions": [_listed(one, True) for one in named], "discovery_finished": None}
    if version == 3:
        expect(reader.i32("a version of splits"), (0,))
    for _ in range(count):
        partition = _partition(reader) if version == 2 else _enumerated_split(reader)
        status = reader.i32("a status")
        expect(status, (0, 1))
        partitions.append(_listed(partition, status == 0))
    return {"partitions": partitions, "discovery_finished": read_flag(reader)}


def _listed(partition: dict[str, Any], assigned: bool) -> dict[str, Any]:
    return {"assigned": assigned, "starting_offset": None, "stopping_offset": None} | partition


def _enumerated_split(reader: Reader) -> dict[str, Any]:
    inner = Reader(reader.bytes(reader.i32("a length"), "a split"))
    split = _split(inner)
    must_end(inner)
    return split


def _assignments(reader: Reader) -> list[dict[str, Any]]:
    """``SerdeUtils.serializeSplitAssignments``: subtasks, version of splits, and of each subtask its number and its splits."""
    subtasks = reader.count("subtasks", least=8)
    expect(reader.i32("a version of splits"), (0,))
    splits = []
    for _ in range(subtasks):
        reader.i32("a subtask")
        splits += [_enumerated_split(reader) for _ in range(reader.count("splits", least=4))]
    return splits


def _is_enumerator(state: dict[str, Any], evidence: Evidence) -> bool:
    """Texts with a number each (version 1), or a count of zero, may be of any connector."""
    partitions = state["partitions"]
    if state["discovery_finished"] is None:
        return any(p["starting_offset"] is not None and _is_reserved(p) for p in partitions)
    return bool(partitions)


def _partitions_of(state: dict[str, Any]) -> Partitions:
    return frozenset((p["topic"], p["partition"]) for p in state["partitions"])


# ---- DynamicKafkaSource


def _dynamic_split(reader: Reader, version: int) -> dict[str, Any]:
    cluster = read_text(reader)
    retained = reader.i64("a time") if version == 2 and read_flag(reader) else None
    expect(reader.i32("a version of splits"), (0,))
    return {"cluster_id": cluster, "retained_until_ms": retained} | _split(reader)


def _is_dynamic_split(split: dict[str, Any], evidence: Evidence) -> bool:
    return (
        _is_reserved(split)
        or evidence.enumerator == _DYNAMIC_ENUMERATOR
        or (split["topic"], split["partition"]) in evidence.partitions
        or evidence.split_id == f"{split['cluster_id']}-{split['topic']}-{split['partition']}"
    )


def _dynamic_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    """The streams with their clusters, as the metadata service gave them, and the state of each cluster's enumerator.

    From version 2 a cluster has where to start and to stop, from version 3 there are clusters that were removed.
    """
    streams = [
        {"stream_id": stream} | _cluster(reader, version)
        for stream in _repeated(reader, "streams")
        for _ in range(reader.count("clusters", least=8))
    ]
    inner = reader.i32("a version of enumerators")
    expect(inner, range(4))
    clusters = [_cluster_state(reader, inner, name, None) for name in _repeated(reader, "clusters")]
    if version == 3:
        clusters += [_cluster_state(reader, inner, name, reader.i64("a time")) for name in _repeated(reader, "clusters")]
    return {"streams": streams, "clusters": clusters}


def _repeated(reader: Reader, what: str) -> Iterator[str]:
    """The texts that begin each of some items; the caller reads the rest of an item before the next."""
    for _ in range(reader.count(what, least=6)):
        yield read_text(reader)


def _cluster(reader: Reader, version: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "cluster_id": read_text(reader), "topics": [*_texts(reader)], "bootstrap_servers": read_text(reader),
    }  # fmt: skip
    if not _SERVERS.fullmatch(found["bootstrap_servers"]):
        raise FormatError("no bootstrap servers")
    for name in _INITIALIZERS:
        is_there = version > 1 and read_flag(reader)
        found[name] = _initializer(reader) if is_there else None
    return found


def _initializer(reader: Reader) -> dict[str, str] | None:
    """An ``OffsetsInitializer``, an object of Java's own serialization."""
    inner = Reader(reader.bytes(reader.i32("a length"), "an initializer"))
    found = read_object(inner)
    must_end(inner)
    return found


def _texts(reader: Reader) -> Iterator[str]:
    return (read_text(reader) for _ in range(reader.count("topics", least=2)))


def _cluster_state(reader: Reader, version: int, cluster: str, retained: int | None) -> dict[str, Any]:
    inner = Reader(reader.bytes(reader.i32("a length"), "an enumerator's state"))
    state = _enumerator(inner, version)
    must_end(inner)
    return {"cluster_id": cluster, "retained_until_ms": retained} | state


def _is_dynamic_enumerator(state: dict[str, Any], evidence: Evidence) -> bool:
    """Servers with their ports, and partitions of the same clusters."""
    known = {cluster["cluster_id"] for cluster in state["streams"]}
    current = [cluster for cluster in state["clusters"] if cluster["retained_until_ms"] is None]
    return bool(known) and all(cluster["cluster_id"] in known for cluster in current)


def _dynamic_partitions(state: dict[str, Any]) -> Partitions:
    return NO_PARTITIONS.union(*map(_partitions_of, state["clusters"]))


# ---- KafkaSink


def _writer(reader: Reader, version: int) -> dict[str, Any]:
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


def _is_writer(writer: dict[str, Any], evidence: Evidence) -> bool:
    """All transactional ids begin with the prefix that the writer records. Without transactions, nothing is Kafka's alone."""
    ids = [_TRANSACTIONAL_ID.fullmatch(one["transactional_id"]) for one in writer["transactions"]]
    return bool(ids) and all(match is not None and match[1] == writer["transactional_id_prefix"] for match in ids)


def _committable(reader: Reader, version: int) -> dict[str, Any]:
    epoch, producer, id_ = reader.i16("an epoch"), reader.i64("a producer"), read_text(reader)
    if min(epoch, producer) < 0:
        raise FormatError("no transaction")
    return {"transactional_id": id_, "producer_id": producer, "epoch": epoch}


def _is_committable(transaction: dict[str, Any], evidence: Evidence) -> bool:
    """The id ends with the subtask that began the transaction, and a number. Later versions of the committer have it too."""
    match = _TRANSACTIONAL_ID.fullmatch(transaction["transactional_id"])
    return match is not None and evidence.subtask in (None, int(match[2]))


# ---- forms

_SPLIT = struct_of(topic=TEXT, partition=I32, starting_offset=I64, stopping_offset=I64)
_LISTED = struct_of(topic=TEXT, partition=I32, assigned=pa.bool_(), starting_offset=I64, stopping_offset=I64)

register_form(
    "SourceReaderState",
    PayloadForm(
        "kafka_split", (0,), lambda reader, version: _split(reader), _SPLIT, _is_split,
        "an offset that Kafka's class reserves: no stopping offset, -3 (the committed one), or a start at -2 (earliest). Or "
        "the coordinator of the same operator lists the topic and the partition, as the enumerators of all versions of "
        "Kafka's connector do. Bounded sources have such splits",
    ),
)  # fmt: skip
register_form(
    COORDINATOR,
    PayloadForm(
        "kafka_enumerator", (0, 1, 2, 3), _enumerator,
        struct_of(partitions=pa.list_(_LISTED), discovery_finished=pa.bool_()), _is_enumerator,
        "a status of each partition (versions 2, 3), an offset that Kafka's class reserves (version 0)", _partitions_of,
    ),
)  # fmt: skip
register_form(
    "SourceReaderState",
    PayloadForm(
        "dynamic_kafka_split", (1, 2), _dynamic_split,
        pa.struct([pa.field("cluster_id", TEXT), pa.field("retained_until_ms", I64), *_SPLIT]), _is_dynamic_split,
        "as for `kafka_split`, or a `dynamic_kafka_enumerator` in the coordinator of the same operator",
    ),
)  # fmt: skip
_CLUSTER = struct_of(
    stream_id=TEXT, cluster_id=TEXT, topics=pa.list_(TEXT), bootstrap_servers=TEXT, **dict.fromkeys(_INITIALIZERS, JAVA_OBJECT)
)
_CLUSTER_STATE = struct_of(
    cluster_id=TEXT, retained_until_ms=I64, partitions=pa.list_(_LISTED), discovery_finished=pa.bool_()
)
register_form(
    COORDINATOR,
    PayloadForm(
        _DYNAMIC_ENUMERATOR, (1, 2, 3), _dynamic_enumerator,
        struct_of(streams=pa.list_(_CLUSTER), clusters=pa.list_(_CLUSTER_STATE)), _is_dynamic_enumerator,
        "servers with ports, and state of the clusters that they belong to", _dynamic_partitions,
    ),
)  # fmt: skip
register_form(
    "writer_raw_states",
    PayloadForm(
        "kafka_writer", (2,), _writer,
        struct_of(
            transactional_id_prefix=TEXT, subtask=I32, subtasks=I32, ownership=TEXT,
            transactions=pa.list_(struct_of(transactional_id=TEXT, checkpoint_id=I64)),
        ),
        _is_writer, "transactional ids *prefix*-*subtask*-*number*, with the prefix that the writer records",
    ),
)  # fmt: skip
register_form(
    COMMITTABLE,
    PayloadForm(
        "kafka_committable", (1,), _committable, struct_of(transactional_id=TEXT, producer_id=I64, epoch=pa.int16()),
        _is_committable, "an id *prefix*-*subtask*-*number*, with the subtask that the committer records if it does",
    ),
)  # fmt: skip
