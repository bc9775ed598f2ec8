"""What ``FlinkKafkaProducer`` and ``FlinkKafkaProducer011`` keep: bytes as their serializers write them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from serializers import describe, is_fixed_length
from stateextract.files.reader import Reader
from tests.serializers.test_vectors import read_snapshot, value

PRODUCERS = ["FlinkKafkaProducer", "FlinkKafkaProducer011"]
SINK = "org.apache.flink.streaming.api.functions.sink."


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def simple(producer: str, name: str) -> bytes:
    """A versioned snapshot of one of the producer's serializers."""
    outer = f"org.apache.flink.streaming.connectors.kafka.{producer}${name}Serializer"
    return utf(f"{outer}${name}SerializerSnapshot") + struct.pack(">i", 3)


def layout(snapshot: bytes) -> Any:
    reader = Reader(snapshot)
    found = read_snapshot(reader)
    assert reader.remaining == 0
    return describe(found)


def transaction(id_: str | None, producer_id: int, epoch: int) -> bytes:
    return (b"\0" if id_ is None else b"\1" + utf(id_)) + struct.pack(">qh", producer_id, epoch)


@pytest.mark.parametrize("producer", PRODUCERS)
def test_state(producer: str) -> None:
    """The list state ``state``: a pending transaction, those to commit, and the ids that the sink uses."""
    nested = simple(producer, "TransactionState") + simple(producer, "ContextState")
    snapshot = (
        utf(SINK + "TwoPhaseCommitSinkFunction$StateSerializerSnapshot")
        + struct.pack(">iii", 3, 911_108, 2) + struct.pack(">iii", 1_333_245, 1, 2) + nested
    )  # fmt: skip
    data = (
        transaction("orders-7", 4_000_000_001, 3) + struct.pack(">q", 1_700_000_000_000)
        + struct.pack(">i", 1) + transaction("orders-6", 4_000_000_000, -1) + struct.pack(">q", 1_699_999_999_000)
        + b"\1" + struct.pack(">i", 2) + utf("orders-6") + utf("orders-7")
    )  # fmt: skip
    assert value(layout(snapshot), data) == {
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
    }


@pytest.mark.parametrize("producer", PRODUCERS)
def test_a_transaction_without_an_id(producer: str) -> None:
    """At least once: there is no transaction."""
    assert value(layout(simple(producer, "TransactionState")), transaction(None, -1, -1)) == {
        "transactional_id": None, "producer_id": -1, "epoch": -1,
    }  # fmt: skip


@pytest.mark.parametrize("producer", PRODUCERS)
def test_hint(producer: str) -> None:
    """The list state ``next-transactional-id-hint-v2``."""
    snapshot = simple(producer, "NextTransactionalIdHint")
    assert is_fixed_length(read_snapshot(Reader(snapshot)))
    expected = {"nextFreeTransactionalId": 5_000_000_000, "lastParallelism": 4}
    assert value(layout(snapshot), struct.pack(">qi", 5_000_000_000, 4)) == expected
