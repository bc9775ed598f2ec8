"""State of coordinators: enumerators typed where they fit to the last byte, bytes in every case."""

from __future__ import annotations

import random
import struct
from typing import Any

import pyarrow as pa
import pytest

from serializers.connectors import COORDINATOR, FORMS, coordinator_type, decode_coordinator
from tests.serializers.test_connectors import FILE, utf, versioned


def source(version: int, payload: bytes) -> bytes:
    return struct.pack(">i", 1) + versioned(version, payload)


def little(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


PARTITIONS = utf("orders") + struct.pack(">ii", 0, 0) + utf("orders") + struct.pack(">ii", 1, 1)
MAGIC = bytes.fromhex("efbeadde")
PENDING = MAGIC + little(1, 1, 2) + little(len(FILE)) + FILE + little(2) + b"/a" + little(0)
FILE_SPLIT = {
    "id": "0000000001", "path": "hdfs://nn:8020/in/a.csv", "offset": 10, "length": 20, "modification_ms": 1_700_000_000_000,
    "file_size": 99, "hosts": ["h1"], "reader_offset": 15, "reader_records": 2,
}  # fmt: skip
NO_OFFSETS = {"starting_offset": None, "stopping_offset": None}
CASES: list[tuple[bytes, dict[str, Any]]] = [
    (
        source(2, struct.pack(">i", 2) + PARTITIONS + b"\1"),
        {
            "version": 2,
            "kafka_enumerator": {
                "partitions": [
                    {"topic": "orders", "partition": 0, "assigned": True} | NO_OFFSETS,
                    {"topic": "orders", "partition": 1, "assigned": False} | NO_OFFSETS,
                ],
                "discovery_finished": True,
            },
        },
    ),
    # As flink-connector-kafka 5.0.0 wrote it (shared/reports/kafka-enumerator-v3).
    (
        bytes.fromhex(
            "00000001000000030000005100000002000000000000001c00066f726465727300000000fffffffffffffffd8000000000000000"
            "000000000000001c00066f726465727300000001000000000000002a80000000000000000000000101"
        ),
        {
            "version": 3,
            "kafka_enumerator": {
                "partitions": [
                    {
                        "topic": "orders", "partition": 0, "assigned": True, "starting_offset": -3,
                        "stopping_offset": None,
                    },
                    {
                        "topic": "orders", "partition": 1, "assigned": False, "starting_offset": 42,
                        "stopping_offset": None,
                    },
                ],
                "discovery_finished": True,
            },
        },
    ),
    # Nothing in these is of Kafka alone: texts with a number, a count of zero with a flag.
    (source(1, struct.pack(">i", 1) + utf("t") + struct.pack(">i", 7)), {"version": 1}),
    (source(2, bytes(4) + b"\1"), {"version": 2}),
    (source(3, bytes(4) + b"\1"), {"version": 3}),
    (source(2, struct.pack(">i", 1) + utf("a b") + struct.pack(">ii", 0, 0) + b"\1"), {"version": 2}),
    (
        source(1, PENDING),
        {
            "version": 1,
            "file_enumerator": {
                "splits": [{"bytes": FILE, "file_split": FILE_SPLIT}], "processed_paths": ["/a", ""],
            },
        },
    ),
    # A split of another class.
    (
        source(1, MAGIC + little(2, 1, 0) + little(1) + b"x"),
        {"version": 1, "file_enumerator": {"splits": [{"bytes": b"x", "file_split": None}], "processed_paths": []}},
    ),
    # Splits of a number sequence.
    (source(1, struct.pack(">i", 1) + utf("2") + struct.pack(">qq", 5, 9)), {"version": 1}),
    # As Flink 1.20 wrote it: no splits of a number sequence, or no partitions of Kafka.
    (bytes.fromhex("00000001000000010000000400000000"), {"version": 1}),
    # As tests of Flink's planner wrote it: an enumerator without state.
    (bytes.fromhex("000000010000000000000000"), {"version": 0}),
    (source(1, MAGIC + little(1, 1 << 30, 0)), {"version": 1}),
    (source(1, MAGIC + little(1, -1, 0)), {"version": 1}),
    (source(2, struct.pack(">i", 2) + PARTITIONS + b"\1")[:-1], {}),
    (source(2, struct.pack(">i", 2) + PARTITIONS + b"\1") + b"\0", {}),
    (b"\0\0\0\2" + versioned(1, PENDING), {}),
    (b"", {}),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "expected"), CASES)
def test_coordinator(raw: bytes, expected: dict[str, Any]) -> None:
    everything = {"bytes": raw, "version": None} | dict.fromkeys(FORMS[COORDINATOR]) | expected
    assert decode_coordinator(raw) == everything
    assert pa.array([decode_coordinator(raw)], coordinator_type()).to_pylist() == [everything]


def test_damaged_state_keeps_its_bytes() -> None:
    rng = random.Random(6)
    for _ in range(3_000):
        damaged = bytearray(rng.choice(CASES)[0] or b"\0")
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        del damaged[rng.randrange(1, len(damaged) + 1) :]
        found = decode_coordinator(bytes(damaged))
        assert found["bytes"] == damaged
        pa.array([found], coordinator_type())
