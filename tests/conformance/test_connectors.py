"""Reported connector payloads (``shared/reports``): none is taken for another connector's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import stateextract
from serializers.connectors import FORMS, decode_coordinator
from tests.conformance.test_reported_headers import reported
from tests.serializers.connector_bytes import as_printed


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
    partition = {"topic": "persistent://public/default/orders", "partition": 3, "ranges": [{"start": 0, "end": 65535}]}
    never = "org.apache.flink.connector.pulsar.source.enumerator.cursor.stop.NeverStopCursor"
    documents = {"min": '{"_id": 1}', "max": '{"_id": 100}', "hint": '{"_id": 1}', "offset": 0}
    at = {"ts_sec": "0", "row": "0", "event": "0"}
    assert as_printed(found) == as_printed({
        "mysqlcdc": [
            {
                "version": 4,
                "cdc_split": {
                    "kind": "stream", "split_id": "binlog-split", "finished_splits": [], "finished_splits_in_all": 0,
                    "start": at | {"file": "mysql-bin.000042", "pos": "15312", "kind": "SPECIFIC"},
                    "end": at | {"file": "", "pos": "-9223372036854775808", "kind": "NON_STOPPING"},
                    "suspended": False, "tables": [],
                },
            }
        ],
        "pulsar": [{"version": 2, "pulsar_split": partition | {"stop_cursor_class": never, "stop_cursor": "{}"}}],
        "mongo": [
            {
                "version": 0,
                "mongodb_split": {"split_id": "shop.orders_0", "database": "shop", "collection": "orders"} | documents,
            }
        ],
        "jdbc": [
            {
                "version": 0,
                "jdbc_split": {
                    "split_id": "0000000001", "sql": "select * from orders where id between ? and ?",
                    "parameters": "[1,100]", "offset": 12, "records_after_offset": 0,
                },
            }
        ],
        "paimon-simple": [{"version": 0}],
        "kafka": [{"version": 0, "kafka_split": split} for split in kafka],
        "dynkafka": [
            {"version": 1, "dynamic_kafka_split": {"cluster_id": "cluster-eu", "retained_until_ms": None, **kafka[0]}}
        ],
        # HybridSource's wrapper around the first of them.
        "hybrid-kafka": [
            {
                "version": 0, "kafka_split": kafka[0],
                "hybrid_split": {"source_index": 1, "split_id": "orders-3", "version": 0, "finished": None},
            }
        ],
        "iceberg-enum": [],
    })  # fmt: skip
    # Version 2 of Kafka's enumerator, but of no partition: a count and a flag.
    versions = {"mysqlcdc": 5, "mongo": 7, "jdbc": 7, "dynkafka": 7, "kafka": 2, "hybrid-kafka": 0, "paimon-simple": 0}
    position = {"snapshot_id": 8_123_456_789, "snapshot_ms": 1_700_000_000_000, "splits": [], "split_counts": []}
    assert coordinators == {uid: {"version": version} for uid, version in versions.items()} | {
        "pulsar": {"version": 3, "pulsar_enumerator": {"partitions": [partition]}},
        "iceberg-enum": {"version": 2, "iceberg_enumerator": position},
    }


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
