"""Payloads that Kafka's connector wrote: named where other state confirms them, and no other connector's are."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from serializers.connectors import (
    COMMITTABLE,
    COORDINATOR,
    FORMS,
    coordinator_type,
    decode_coordinator,
    decode_payload,
    evidence_of,
    payload_type,
    shapes_of,
)
from serializers.connectors.payload_forms import fits
from serializers.connectors.payloads import BYTES
from serializers.context import Evidence
from stateextract.metadata.model import InlineHandle, OperatorStateHandle
from tests.serializers.kafka_bytes import LINES, operator_of, snapshot_of, written
from tests.serializers.test_connectors import listed, utf, versioned
from tests.state.operator_writer import Lists
from tests.state.test_restored import extracted

SPLITS = [name for name in LINES if name.startswith("split 3.4 ")]
PARTITIONS = frozenset({("orders", 0), ("orders", 1), ("payments.eu", 7), ("orders", 2)})
NAMED = [
    {"topic": "orders", "partition": 1, "starting_offset": 42, "stopping_offset": None},
    {"topic": "payments.eu", "partition": 7, "starting_offset": -2, "stopping_offset": -1},
    {"topic": "orders", "partition": 2, "starting_offset": 5, "stopping_offset": -3},
]
NO_OFFSET = -(1 << 63)
PLAIN = {"topic": "orders", "partition": 0, "starting_offset": 10, "stopping_offset": 90}


def source(enumerator: str) -> bytes:
    """State of a coordinator: the enumerator's in the coordinator's own wrapper."""
    return struct.pack(">i", 1) + written(enumerator)


def payloads(name: str, *elements: bytes) -> OperatorStateHandle:
    """A file with the list state of these payloads."""
    bytes_ = utf(BYTES) + struct.pack(">i", 3)
    data, states = Lists({(name, "SPLIT_DISTRIBUTE", bytes_): [struct.pack(">i", len(e)) + e for e in elements]}).write()
    return OperatorStateHandle(4, tuple(states), InlineHandle("lists", data))


def test_serializers_of_both_versions_agree() -> None:
    """Flink 1.17's connector and the one of Flink 1.20 write splits alike, those of 1.17 and 4.0 committables."""
    assert [written(name) for name in SPLITS] == [written(name.replace(" 3.4 ", " 1.17 ")) for name in SPLITS]
    assert written("committable 1.17") == written("committable 4.0")


VERSIONS = ("1.12", "1.14", "1.17", "3.2", "3.4", "4.0", "5.0")
JAVA = {name.removeprefix("values "): json.loads(line) for name, line in LINES.items() if name.startswith("values ")}
"""By the name of a payload, all fields of the object that the connector's own serializer read from it."""
NOT_NAMED = frozenset({"enumerator 1.12", "enumerator 1.14", "enumerator 1.17"})
"""Texts with a number each."""


def value_of(name: str) -> tuple[str, dict[str, Any]]:
    """The one form that takes the bytes of a line, and its value."""
    raw = written(name)
    version, place = int.from_bytes(raw[:4], "big"), PLACES[next(kind for kind in PLACES if name.startswith(kind))]
    (found,) = ((form.name, value) for form, value in fits(place, version, raw[8:]))
    return found


PLACES = {
    "split": "SourceReaderState", "hybrid": "SourceReaderState", "dynamic split": "SourceReaderState",
    "enumerator": COORDINATOR, "dynamic enumerator": COORDINATOR, "committable": COMMITTABLE, "writer": "writer_raw_states",
}  # fmt: skip


def in_java(value: dict[str, Any]) -> dict[str, Any]:
    """A split as the fields of Kafka's class."""
    names = {"startingOffset": "starting_offset", "stoppingOffset": "stopping_offset"}
    offsets = {name: NO_OFFSET if value[field] is None else value[field] for name, field in names.items()}
    return {**offsets, "tp": {"partition": value["partition"], "topic": value["topic"]}}


def enumerator_in_java(value: dict[str, Any], like: dict[str, Any]) -> dict[str, Any]:
    """An enumerator's state as the fields of the class that has those of ``like``."""
    tps = [{"partition": p["partition"], "topic": p["topic"]} for p in value["partitions"]]
    unassigned = "UNASSIGNED" if "splits" in like else "UNASSIGNED_INITIAL"
    statuses = ["ASSIGNED" if p["assigned"] else unassigned for p in value["partitions"]]
    if "assignedPartitions" in like:
        return {"assignedPartitions": in_order(tps)}
    finished = {"initialDiscoveryFinished": value["discovery_finished"]}
    if "splits" in like:
        splits = zip(statuses, map(in_java, value["partitions"]), strict=True)
        return finished | {"splits": in_order([{"assignmentStatus": s, "split": split} for s, split in splits])}
    named = zip(statuses, tps, strict=True)
    return finished | {"partitions": in_order([{"assignmentStatus": s, "topicPartition": tp} for s, tp in named])}


def in_order(items: list[Any]) -> list[Any]:
    return sorted(items, key=json.dumps)


@pytest.mark.parametrize("name", [name for name in JAVA if name.startswith("split")])
def test_splits_are_what_kafkas_class_reads(name: str) -> None:
    form, value = value_of(name)
    assert (form, in_java(value)) == ("kafka_split", JAVA[name])


@pytest.mark.parametrize("name", [name for name in JAVA if name.startswith("enumerator") and "empty" not in name])
def test_enumerators_are_what_kafkas_class_reads(name: str) -> None:
    form, value = value_of(name)
    assert (form, enumerator_in_java(value, JAVA[name])) == ("kafka_enumerator", JAVA[name])
    named = decode_coordinator(source(name))["kafka_enumerator"]
    assert named == (None if name in NOT_NAMED else value)


@pytest.mark.parametrize("version", VERSIONS)
def test_enumerators_without_partitions(version: str) -> None:
    """A count of zero may be of any connector. No version of Kafka's can list anything then."""
    assert decode_coordinator(source(f"enumerator {version} empty"))["kafka_enumerator"] is None
    assert "kafka_enumerator" in shapes_of(source(f"enumerator {version} empty"))


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_hybrid_splits(version: str) -> None:
    """The wrapper has the id of the split inside, which names it."""
    java = JAVA[f"hybrid {version}"]
    assert (java["sourceIndex"], java["splitId"], java["wrappedSplitSerializerVersion"]) == (1, "orders-3", 0)
    found = decode_payload("SourceReaderState", written(f"hybrid {version}"))
    assert found["hybrid_split"] == {"source_index": 1, "split_id": "orders-3", "version": 0, "finished": None}
    inner = {"topic": "orders", "partition": 3, "starting_offset": 4711, "stopping_offset": None}
    assert found["kafka_split"] == inner
    # Two plain offsets are Kafka's by the id that the wrapper has next to them, and not by another one.
    plain = utf("orders") + struct.pack(">iqq", 3, 10, 90)
    for id_, named in (("orders-3", True), ("orders-4", False)):
        payload = versioned(1, struct.pack(">i", 0) + utf(id_) + versioned(0, plain) + b"\1")
        found = decode_payload("SourceReaderState", payload)
        assert (found["kafka_split"] is not None, found["hybrid_split"] is not None) == (named, named)


@pytest.mark.parametrize("version", VERSIONS[3:])
def test_dynamic_sources(version: str) -> None:
    java = JAVA[f"dynamic split {version}"]
    form, split = value_of(f"dynamic split {version}")
    assert form == "dynamic_kafka_split"
    assert (split["cluster_id"], in_java(split)) == (java["kafkaClusterId"], java["kafkaPartitionSplit"])
    assert decode_payload("SourceReaderState", written(f"dynamic split {version}"))[form] == split

    java = JAVA[f"dynamic enumerator {version}"]
    form, state = value_of(f"dynamic enumerator {version}")
    (cluster,), (stream,) = state["clusters"], state["streams"]
    ((name, inner),) = java["clusterEnumeratorStates"].items()
    assert (cluster["cluster_id"], enumerator_in_java(cluster, inner)) == (name, inner)
    (known,) = java["kafkaStreams"]
    ((name, metadata),) = known["clusterMetadataMap"].items()
    assert (stream["stream_id"], stream["cluster_id"]) == (known["streamId"], name)
    assert stream["topics"] == metadata["topics"]
    assert stream["bootstrap_servers"] == "kafka-1:9092,kafka-2:9092"
    initializer = stream["starting_initializer"]
    assert (initializer or {}).get("class") == (LATEST if version == "5.0" else None)
    assert stream["stopping_initializer"] is None
    assert decode_coordinator(source(f"dynamic enumerator {version}"))[form] == state
    assert evidence_of(source(f"dynamic enumerator {version}")).partitions == PARTITIONS


LATEST = "org.apache.flink.connector.kafka.source.enumerator.initializer.LatestOffsetsInitializer"


def test_retained_clusters() -> None:
    """Version 3 of the dynamic source's enumerator and version 2 of its splits, which no release has yet."""
    split = utf("orders") + struct.pack(">iqq", 3, 4711, NO_OFFSET)
    found = decode_payload("SourceReaderState", versioned(2, utf("eu") + b"\1" + struct.pack(">qi", 99, 0) + split))
    assert found["dynamic_kafka_split"] == {
        "cluster_id": "eu", "retained_until_ms": 99, "topic": "orders", "partition": 3, "starting_offset": 4711,
        "stopping_offset": None,
    }  # fmt: skip
    state = written("enumerator 5.0")[8:]
    cluster = utf("eu") + struct.pack(">i", 1) + utf("orders") + utf("a:1") + b"\0\0"
    streams = struct.pack(">i", 1) + utf("all") + struct.pack(">i", 1) + cluster
    one = utf("eu") + struct.pack(">i", len(state)) + state
    gone = utf("us") + struct.pack(">qi", 99, len(state)) + state
    raw = streams + struct.pack(">ii", 3, 1) + one + struct.pack(">i", 1) + gone
    found = decode_coordinator(struct.pack(">i", 1) + versioned(3, raw))["dynamic_kafka_enumerator"]
    assert [(c["cluster_id"], c["retained_until_ms"]) for c in found["clusters"]] == [("eu", None), ("us", 99)]


def test_an_enumerator_of_the_first_version() -> None:
    """Flink 1.12.0 kept the splits of each subtask (``SerdeUtils.serializeSplitAssignments``)."""

    def state(*offsets: int) -> bytes:
        split = utf("orders") + struct.pack(">iqq", 3, *offsets)
        payload = struct.pack(">iiiii", 1, 0, 5, 1, len(split)) + split
        return struct.pack(">i", 1) + versioned(0, payload)

    listed = {"topic": "orders", "partition": 3, "assigned": True, "starting_offset": 7, "stopping_offset": None}
    assert decode_coordinator(state(7, NO_OFFSET))["kafka_enumerator"] == {"partitions": [listed], "discovery_finished": None}
    assert decode_coordinator(state(7, 9))["kafka_enumerator"] is None
    assert evidence_of(state(7, 9)).partitions == frozenset({("orders", 3)})


def test_an_offset_that_is_not_looked_up_yet() -> None:
    """A job that went from version 2 to 3 of the enumerator's state (``KafkaPartitionSplit.MIGRATED``)."""
    split = utf("orders") + struct.pack(">iqq", 0, NO_OFFSET, NO_OFFSET)
    payload = struct.pack(">iii", 1, 0, len(split)) + split + struct.pack(">i", 1) + b"\1"
    (partition,) = decode_coordinator(struct.pack(">i", 1) + versioned(3, payload))["kafka_enumerator"]["partitions"]
    assert (partition["starting_offset"], partition["assigned"]) == (None, False)


@pytest.mark.parametrize("version", ["4.0", "5.0"])
def test_writers_are_what_kafkas_class_reads(version: str) -> None:
    form, value = value_of(f"writer {version}")
    ids = [{"checkpointId": t["checkpoint_id"], "transactionalId": t["transactional_id"]} for t in value["transactions"]]
    assert form == "kafka_writer"
    java = JAVA[f"writer {version}"]
    assert java["transactionOwnership"]["name"] == value["ownership"]
    assert {name: java[name] for name in java if name != "transactionOwnership"} == {
        "ownedSubtaskId": value["subtask"], "totalNumberOfOwnedSubtasks": value["subtasks"],
        "precommittedTransactionalIds": ids, "transactionalIdPrefix": value["transactional_id_prefix"],
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_committables_are_what_kafkas_class_reads(version: str) -> None:
    form, value = value_of(f"committable {version}")
    names = {"transactionalId": "transactional_id", "producerId": "producer_id", "epoch": "epoch"}
    assert (form, {java: value[name] for java, name in names.items()}) == ("kafka_committable", JAVA[f"committable {version}"])


def test_damaged_payloads_of_kafka() -> None:
    """No damage makes an error, and the bytes are always there."""
    rng = random.Random(7)
    for _ in range(700):
        name = rng.choice([*JAVA])
        damaged = bytearray(written(name))
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        del damaged[rng.randrange(1, len(damaged) + 1) :]
        raw = bytes(damaged)
        if "enumerator" in name:
            found = decode_coordinator(raw := struct.pack(">i", 1) + raw)
            pa.array([found], coordinator_type())
        else:
            found = decode_payload("SourceReaderState", raw)
            pa.array([found], payload_type("SourceReaderState"))
        assert found["bytes"] == raw


@pytest.mark.parametrize("enumerator", ["enumerator 1.17", "enumerator 3.4"])
def test_the_coordinator_confirms_splits_between_offsets(enumerator: str, tmp_path: Path) -> None:
    """A bounded source: one split starts and stops at plain offsets. The coordinator of its own operator lists it."""
    assert evidence_of(source(enumerator)).partitions == PARTITIONS
    splits = payloads("SourceReaderState", *map(written, SPLITS))
    (tmp_path / "in").mkdir()
    path = snapshot_of(tmp_path / "in", operator_of(1, splits, source(enumerator)), operator_of(2, splits))
    one, other = stateextract.open_snapshot(path).operators
    found = [[v["kafka_split"] for v in o.state("SourceReaderState").to_table()["value"].to_pylist()] for o in (one, other)]
    assert found == [[PLAIN, *NAMED], [None, *NAMED]]
    # The same in the job, whose tasks get what they know from the plan.
    outcome, rows = extracted(Path(path), tmp_path / "out", operator=(one.id,), state=("SourceReaderState",))
    assert outcome.exit_code == 0
    assert [v["value"]["kafka_split"] for v in rows["SourceReaderState"]] == [PLAIN, *NAMED]


def test_enumerators() -> None:
    """Version 2 is named; version 1 is texts with a number each, which may be of any connector."""
    named = decode_coordinator(source("enumerator 3.4"))["kafka_enumerator"]
    assert {(p["topic"], p["partition"]): p["assigned"] for p in named["partitions"]} == {
        pair: pair != ("orders", 2) for pair in PARTITIONS
    }
    assert named["discovery_finished"] is True
    old = decode_coordinator(source("enumerator 1.17"))
    assert (old["version"], old["kafka_enumerator"], old["file_enumerator"]) == (1, None, None)


@pytest.mark.parametrize(
    "partition", [("orders", 3), ("order", 0), ("payments.eu", 0)], ids=lambda pair: f"{pair[0]}-{pair[1]}"
)
def test_a_split_that_the_coordinator_does_not_list(partition: tuple[str, int]) -> None:
    payload = versioned(0, utf(partition[0]) + struct.pack(">iqq", partition[1], 10, 90))
    assert decode_payload("SourceReaderState", payload, Evidence(partitions=PARTITIONS))["kafka_split"] is None
    listed = Evidence(partitions=frozenset({partition}))
    assert decode_payload("SourceReaderState", payload, listed)["kafka_split"]["partition"] == partition[1]


def test_writers() -> None:
    """Transactional ids with the writer's prefix confirm it; the prefix alone, of version 1, may be Doris', too."""
    writer = decode_payload("writer_raw_states", written("writer 4.0"))["kafka_writer"]
    assert writer == {
        "transactional_id_prefix": "orders-label", "subtask": 0, "subtasks": 2, "ownership": "EXPLICIT_BY_WRITER_STATE",
        "transactions": [
            {"transactional_id": "orders-label-0-3", "checkpoint_id": 8},
            {"transactional_id": "orders-label-0-4", "checkpoint_id": 8},
        ],
    }  # fmt: skip
    for name, version in (("writer 1.17", 1), ("writer 4.0 empty", 2)):
        found = decode_payload("writer_raw_states", written(name))
        assert (found["version"], found["kafka_writer"], found["file_bucket"]) == (version, None, None)


@pytest.mark.parametrize("subtask", [5, 6])
def test_committables(subtask: int) -> None:
    """The committer of subtask 5 records that number; the transactional id has it, too."""
    request = written("committable 4.0") + struct.pack(">ii", 0, 0)
    inner = struct.pack(">i", subtask) + listed(request, version=0) + struct.pack(">ii", 1, 0)
    raw = versioned(2, bytes.fromhex("b91f252c") + listed(struct.pack(">qi", 9, 4) + listed(inner, version=2)))
    (checkpoint,) = decode_payload("streaming_committer_raw_states", raw)["checkpoints"]
    (found,) = checkpoint["subtasks"][0]["requests"]
    transaction = {"transactional_id": "orders-label-5-9", "producer_id": 42, "epoch": 7}
    assert found["kafka_committable"] == (transaction if subtask == 5 else None)
    assert found["committable"] == written("committable 4.0")[8:]


def other_connectors(rng: random.Random) -> bytes:
    """What another connector may write: texts and numbers, often in the order of Kafka's, and no offset that it reserves."""
    texts = ["orders", "a", "", "x y", "p-0-1", "p", "1"]

    def number(kind: str) -> bytes:
        return struct.pack(f">{kind}", rng.choice([0, 1, 2, 5, -1, 90]))

    def part(kind: str) -> bytes:
        return utf(rng.choice(texts)) if kind == "s" else number(kind)

    shape = rng.choice(["siqq", "siii", "siiisq", "s", "hqs", "sqq", "isi", "".join(rng.choices("siqb", k=rng.randint(0, 6)))])
    raw = b"".join(map(part, shape))
    return raw if rng.random() < 0.9 else raw + rng.randbytes(rng.randint(1, 5))


def test_no_payload_is_named_without_evidence() -> None:
    """Not even of the shape that Kafka's serializers write. Iceberg's older sink has a state with a name of its own."""
    rng = random.Random(14)
    shapes = 0
    states = [name for name in FORMS if name not in (COMMITTABLE, COORDINATOR, "iceberg-files-committer-state")]
    for _ in range(6_000):
        state, raw, version = rng.choice(states), other_connectors(rng), rng.choice([0, 0, 1, 2, 3])
        evidence = Evidence(partitions=frozenset({("other", 0)}))
        found: dict[str, Any] = decode_payload(state, versioned(version, raw), evidence)
        names = {name for name, value in found.items() if value is not None} - {"bytes", "version"}
        assert names == set(), (state, version, raw)
        shapes += any(True for _ in fits(state, version, raw))
    assert shapes > 40
