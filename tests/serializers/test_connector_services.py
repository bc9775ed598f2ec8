"""State of RabbitMQ's source, old sources of Kinesis and Flink CDC, Iceberg's old sink and Hudi, by their own classes."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.errors import UndecodableError
from stateextract.metadata.uid import operator_id
from tests.serializers.connector_bytes import as_printed, payloads

CONNECTORS = Path(__file__).parent / "connectors"
SEQUENCE_NUMBER = "org.apache.flink.streaming.connectors.kinesis.model.SequenceNumber"


def rows(uid: str, state: str, savepoint: str = "services", **options: Any) -> list[Any]:
    """The values of a state."""
    snapshot = stateextract.open_snapshot(str(CONNECTORS / savepoint), **options)
    values: list[Any] = snapshot.operator(operator_id(uid)).state(state).to_table()["value"].to_pylist()
    return values


def test_rabbitmq_has_the_ids_of_the_messages_of_each_checkpoint() -> None:
    """Three messages, none of them acknowledged: each id is a text with its length."""
    (value,) = rows("rabbit", "message-acknowledging-source-state")
    assert value["class"] == "[Lorg.apache.flink.streaming.api.functions.source.SerializedCheckpointData;"
    (checkpoint,) = json.loads(value["json"])
    assert (checkpoint["checkpointId"], checkpoint["numIds"]) == (1, 3)
    ids = base64.b64decode(checkpoint["serializedData"]["$value"])
    assert sorted(ids[i + 1 : i + 5].decode() for i in range(0, len(ids), 5)) == ["id-1", "id-2", "id-3"]


@pytest.mark.parametrize("described", [True, False])
def test_kinesis_has_shards_and_sequence_numbers_if_the_class_of_the_numbers_is_known(described: bool) -> None:
    fields = {"sequenceNumber": "java.lang.String", "subSequenceNumber": "long", "cachedHash": "int"}
    classes = [{"name": SEQUENCE_NUMBER, "fields": fields}]
    if not described:
        with pytest.raises(UndecodableError, match="SequenceNumber cannot be decoded"):
            rows("kinesis", "Kinesis-Stream-Shard-State")
        return
    values = rows("kinesis", "Kinesis-Stream-Shard-State", kryo_classes=classes)
    shards = [(value["f0"]["streamName"], value["f0"]["shardId"]) for value in values]
    assert shards == [("orders", f"shardId-00000000000{i}") for i in range(2)]
    numbers = [(value["f1"]["sequenceNumber"], value["f1"]["subSequenceNumber"]) for value in values]
    assert numbers == [("49570", -1), ("49571", 0)]


def test_iceberg_has_the_manifests_of_each_checkpoint() -> None:
    """Those of ``connectors/iceberg.txt``; a checkpoint without data has no bytes."""
    assert rows("committer", "iceberg-flink-job-id", "iceberg-committer") == ["a" * 32]
    (pending,) = rows("committer", "iceberg-files-committer-state", "iceberg-committer")
    (expected,) = (payload for payload in payloads() if payload.name == "iceberg_manifests 1.10")
    written, empty = pending
    assert (written[0], written[1]["bytes"], written[1]["version"]) == (7, expected.raw, 2)
    assert as_printed(written[1]["iceberg_manifests"]) == as_printed(expected.value)
    assert empty == (8, {"bytes": b"", "version": None, "iceberg_manifests": None})


def test_hudi_has_the_place_of_each_key_and_the_instant_of_its_writer() -> None:
    snapshot = stateextract.open_snapshot(str(CONNECTORS / "hudi-writer"))
    index = snapshot.operator("uid_bucket_assigner_orders").state("indexState").to_table().to_pylist()
    places = {row["key"]: row["value"]["partitionPath"] for row in index}
    assert places == {f"id-{n}": f"p{n % 2}" for n in range(8)}
    # All keys of a partition are in one file group.
    assert len({row["value"]["fileId"] for row in index}) == 2
    writer = snapshot.operator("uid_stream_write_orders")
    (written,) = writer.state("write-metadata-state").to_table()["value"].to_pylist()
    assert (written["taskID"], written["bootstrap"], written["endInput"], written["lastBatch"]) == (0, True, False, False)
    assert re.fullmatch(r"20\d{15}", written["instantTime"])
    assert written["writeStatuses"] == {"class": "java.util.ArrayList", "json": "[]"}
    # Its coordinator keeps nothing, which is not raw.
    assert {state.status for state in writer.unnamed if state.kind == "coordinator"} == {"decoded"}


def test_the_old_source_of_flink_cdc_has_its_offset_as_json() -> None:
    (offset,) = rows("debezium", "offset-states", "debezium")
    assert json.loads(offset) == {
        "sourcePartition": {"server": "mysql_binlog_source"}, "sourceOffset": {"file": "mysql-bin.000042", "pos": 15312},
    }  # fmt: skip
    assert rows("debezium", "history-records-states", "debezium") == []
