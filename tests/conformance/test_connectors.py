"""Reported connector payloads (``shared/reports``): none is taken for another connector's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import stateextract
from serializers.connectors import FORMS, decode_coordinator
from tests.conformance.test_reported_headers import reported


def known(value: dict[str, Any]) -> dict[str, Any]:
    """Version and form, without the bytes."""
    return {name: part for name, part in value.items() if name != "bytes" and part is not None}


def test_a_doris_writer_is_not_kafkas() -> None:
    snapshot = stateextract.open_snapshot(reported("doris-writer-taken-for-kafka/savepoint"))
    (state,) = (s for s in snapshot.states if s.name == "writer_raw_states")
    prefix = b"\0\x0corders-label"
    raw = bytes([0, 0, 0, 1, 0, 0, 0, len(prefix)]) + prefix
    expected = {"bytes": raw, "version": 1} | dict.fromkeys(FORMS["writer_raw_states"])
    assert state.to_table()["value"].to_pylist() == [expected]


def test_splits_of_many_connectors() -> None:
    snapshot = stateextract.open_snapshot(reported("connector-splits/savepoint"))
    uids = ("mysqlcdc", "pulsar", "mongo", "jdbc", "dynkafka", "kafka", "hybrid-kafka", "paimon-simple", "iceberg-enum")
    found, coordinators = {}, {}
    for uid in uids:
        operator = snapshot.operator(uid)
        found[uid] = [known(v) for v in operator.state("SourceReaderState").to_table()["value"].to_pylist()]
        assert operator.coordinator is not None
        coordinators[uid] = known(operator.coordinator)
    kafka = [
        {"topic": "orders", "partition": 3, "starting_offset": 4711, "stopping_offset": None},
        {"topic": "orders", "partition": 4, "starting_offset": -2, "stopping_offset": -1},
    ]
    versions = {"mysqlcdc": 4, "pulsar": 2, "mongo": 0, "jdbc": 0, "dynkafka": 1, "paimon-simple": 0}
    assert found == {uid: [{"version": version}] for uid, version in versions.items()} | {
        "kafka": [{"version": 0, "kafka_split": split} for split in kafka],
        # HybridSource's wrapper around the first of them.
        "hybrid-kafka": [
            {
                "version": 0, "kafka_split": kafka[0],
                "hybrid_split": {"source_index": 1, "split_id": "orders-3", "version": 0, "finished": None},
            }
        ],
        "iceberg-enum": [],
    }  # fmt: skip
    # Version 2 of Kafka's enumerator, but of no partition: a count and a flag.
    assert coordinators == {
        uid: {"version": version}
        for uid, version in {
            "mysqlcdc": 5, "pulsar": 3, "mongo": 7, "jdbc": 7, "dynkafka": 7, "kafka": 2, "hybrid-kafka": 0,
            "paimon-simple": 0, "iceberg-enum": 2,
        }.items()
    }  # fmt: skip


def test_an_enumerator_of_kafka_5() -> None:
    coordinator = bytes.fromhex(Path(reported("kafka-enumerator-v3"), "coordinator.hex").read_text())
    offsets = {"topic": "orders", "stopping_offset": None}
    assert known(decode_coordinator(coordinator)) == {
        "version": 3,
        "kafka_enumerator": {
            "partitions": [
                {"partition": 0, "assigned": True, "starting_offset": -3} | offsets,
                {"partition": 1, "assigned": False, "starting_offset": 42} | offsets,
            ],
            "discovery_finished": True,
        },
    }
