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
from serializers.context import Evidence, Partitions
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_TRANSACTIONAL_ID = re.compile(r"(.+)-(\d{1,10})-(\d{1,19})", re.ASCII | re.DOTALL)
_OWNERSHIP = ("IMPLICIT_BY_SUBTASK_ID", "EXPLICIT_BY_WRITER_STATE")

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
    if starting < COMMITTED or (stopping < 0 and stopping not in (_NO_OFFSET, LATEST, COMMITTED)):
        raise FormatError("no offsets of a partition")
    return partition | {"starting_offset": starting, "stopping_offset": None if stopping == _NO_OFFSET else stopping}


def _is_split(split: dict[str, Any], evidence: Evidence) -> bool:
    """A text and three numbers may be of any connector."""
    reserved = split["starting_offset"] in (EARLIEST, COMMITTED) or split["stopping_offset"] in (None, COMMITTED)
    return (
        reserved
        or (split["topic"], split["partition"]) in evidence.partitions
        or evidence.split_id == f"{split['topic']}-{split['partition']}"
    )


def _enumerator(reader: Reader, version: int) -> dict[str, Any]:
    """Partitions with a status each, and whether all were looked for once; version 3 has splits in their length.

    Version 1 has partitions and nothing else.
    """
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


def _is_enumerator(state: dict[str, Any], evidence: Evidence) -> bool:
    """Texts with a number each (version 1), or a count of zero, may be of any connector."""
    return bool(state["partitions"]) and state["discovery_finished"] is not None


def _partitions_of(state: dict[str, Any]) -> Partitions:
    return frozenset((p["topic"], p["partition"]) for p in state["partitions"])


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
    """All transactional ids begin with the prefix beside them; without transactions, nothing is Kafka's alone."""
    ids = [_TRANSACTIONAL_ID.fullmatch(one["transactional_id"]) for one in writer["transactions"]]
    return bool(ids) and all(match is not None and match[1] == writer["transactional_id_prefix"] for match in ids)


def _committable(reader: Reader, version: int) -> dict[str, Any]:
    epoch, producer, id_ = reader.i16("an epoch"), reader.i64("a producer"), read_text(reader)
    if min(epoch, producer) < 0:
        raise FormatError("no transaction")
    return {"transactional_id": id_, "producer_id": producer, "epoch": epoch}


def _is_committable(transaction: dict[str, Any], evidence: Evidence) -> bool:
    """The id ends with the subtask that began the transaction, which the committer records too, and a number."""
    match = _TRANSACTIONAL_ID.fullmatch(transaction["transactional_id"])
    return match is not None and int(match[2]) == evidence.subtask


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
        "kafka_enumerator", (1, 2, 3), _enumerator,
        struct_of(partitions=pa.list_(_LISTED), discovery_finished=pa.bool_()), _is_enumerator,
        "a status of each partition, which version 1 does not have", _partitions_of,
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
        _is_committable, "its subtask is the one that the committer records",
    ),
)  # fmt: skip
