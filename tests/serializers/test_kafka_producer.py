"""What ``FlinkKafkaProducer`` (Flink 1.17) and ``FlinkKafkaProducer011`` (Flink 1.11) keep, in files that Flink wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

import stateextract
from tests.serializers.kafka_bytes import operator_of, producer_file, snapshot_of

PRODUCERS = ["FlinkKafkaProducer", "FlinkKafkaProducer011"]


@pytest.mark.parametrize("producer", PRODUCERS)
def test_states(producer: str, tmp_path: Path) -> None:
    """A pending transaction, one to commit, and the ids in use; of at-least-once, a transaction without an id."""
    snapshot = stateextract.open_snapshot(snapshot_of(tmp_path, operator_of(1, producer_file(producer))))
    rows = {state.name: state.to_table()["value"].to_pylist() for state in snapshot.states}
    hint = {"nextFreeTransactionalId": 5_000_000_000, "lastParallelism": 4}
    assert rows == {
        "state": [
            {
                "pending": {
                    "transaction": {"transactional_id": "orders-7", "producer_id": 4_000_000_001, "epoch": 3},
                    "start": 1_700_000_000_000,
                },
                "to_commit": [
                    {
                        "transaction": {"transactional_id": "orders-6", "producer_id": 4_000_000_000, "epoch": -1},
                        "start": 1_699_999_999_000,
                    }
                ],
                "context": {"transactional_ids": ["orders-6", "orders-7"]},
            },
            {
                "pending": {
                    "transaction": {"transactional_id": None, "producer_id": -1, "epoch": -1},
                    "start": 1_700_000_001_000,
                },
                "to_commit": [],
                "context": None,
            },
        ],
        # A POJO serializer wrote the first one, a serializer of the producer the second one.
        "next-transactional-id-hint": [hint],
        "next-transactional-id-hint-v2": [hint],
    }
    assert {state.name: state.kind for state in snapshot.states} == {
        "state": "list (split)", "next-transactional-id-hint": "list (union)",
        "next-transactional-id-hint-v2": "list (union)",
    }  # fmt: skip
