"""Payloads of connectors: typed where they fit to the last byte, bytes in every case."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from serializers.connectors import COMMITTABLE, FORMS, decode_payload, payload_layout
from serializers.connectors.payloads import BYTES
from serializers.connectors.recoverables import unpublished_file
from serializers.registry import SerializerSnapshot
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.files.block import Block


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def fstr(text: str | None) -> bytes:
    return b"\0" if text is None else b"\1" + bytes([len(text) + 1]) + text.encode()


def versioned(version: int, payload: bytes) -> bytes:
    return struct.pack(">ii", version, len(payload)) + payload


def listed(*items: bytes, version: int = 1) -> bytes:
    return struct.pack(">ii", version, len(items)) + b"".join(struct.pack(">i", len(item)) + item for item in items)


def kafka(starting: int, stopping: int) -> bytes:
    return utf("orders") + struct.pack(">iqq", 3, starting, stopping)


KAFKA = kafka(4711, -(1 << 63))
FILE = (
    utf("0000000001")
    + b"\1" + fstr("hdfs") + fstr(None) + fstr("nn") + struct.pack(">i", 8020) + fstr("/in/a.csv") + fstr(None) * 2
    + struct.pack(">qqqqi", 10, 20, 1_700_000_000_000, 99, 1) + utf("h1") + b"\1" + struct.pack(">qq", 15, 2)
)  # fmt: skip
TRANSACTION = struct.pack(">hq", 7, 42) + utf("tx-1")
REQUEST = versioned(1, TRANSACTION) + struct.pack(">ii", 2, 1)
SUBTASK = struct.pack(">i", 5) + listed(REQUEST, version=0) + struct.pack(">iii", 1, 0, 0)
CHECKPOINTS = bytes.fromhex("b91f252c") + listed(struct.pack(">qi", 9, 4) + listed(SUBTASK))
OPAQUE: dict[str, Any] = {"version": 1} | dict.fromkeys(FORMS[COMMITTABLE])
KAFKA_REQUEST = OPAQUE | {"committable": TRANSACTION, "retries": 2, "state": 1}
FILE_COMMITTABLE = bytes.fromhex("1e765c80") + b"\1" + versioned(1, b"pending") + b"\0"
FILE_REQUEST = OPAQUE | {
    "committable": FILE_COMMITTABLE, "retries": 0, "state": 0,
    "file_committable": {
        "bucket_id": None, "pending_file": unpublished_file(1, b"pending"), "file_to_clean_up": None,
        "compacted_file_to_clean_up": None,
    },
}  # fmt: skip
FILE_SUBTASK = (
    struct.pack(">i", 0) + listed(versioned(1, FILE_COMMITTABLE) + bytes(8), version=0) + struct.pack(">ii", 1, 0)
)  # fmt: skip
BUCKET = bytes.fromhex("1e764b79") + versioned(1, b"\2\0\0\0b1") + utf("/out/b1") + struct.pack(">q", 1_700_000_000_000)
WRITER = utf("p") + struct.pack(">iii", 0, 2, 1)
PENDING = struct.pack(">iiqiii", 1, 1, 8, 2, 1, 0x61000000)[:-3] + struct.pack(">i", 0)
IN_BUCKET = {"bucket_id": "b1", "path": "/out/b1", "creation_ms": 1_700_000_000_000}

CASES: list[tuple[str, bytes, dict[str, Any]]] = [
    (
        "SourceReaderState", versioned(0, KAFKA),
        {"version": 0, "kafka_split": {"topic": "orders", "partition": 3, "starting_offset": 4711, "stopping_offset": None}},
    ),
    (
        "SourceReaderState", versioned(1, FILE),
        {
            "version": 1,
            "file_split": {
                "id": "0000000001", "path": "hdfs://nn:8020/in/a.csv", "offset": 10, "length": 20,
                "modification_ms": 1_700_000_000_000, "file_size": 99, "hosts": ["h1"], "reader_offset": 15,
                "reader_records": 2,
            },
        },
    ),
    # A start or stop that Kafka's class reserves says it as well as no stop does; two plain offsets say nothing.
    (
        "SourceReaderState", versioned(0, kafka(7, -3)),
        {"version": 0, "kafka_split": {"topic": "orders", "partition": 3, "starting_offset": 7, "stopping_offset": -3}},
    ),
    ("SourceReaderState", versioned(0, kafka(-3, -2)), {"version": 0}),
    (
        "SourceReaderState", versioned(0, kafka(-2, -1)),
        {"version": 0, "kafka_split": {"topic": "orders", "partition": 3, "starting_offset": -2, "stopping_offset": -1}},
    ),
    (
        "SourceReaderState", versioned(0, kafka(-3, 90)),
        {"version": 0, "kafka_split": {"topic": "orders", "partition": 3, "starting_offset": -3, "stopping_offset": 90}},
    ),
    ("SourceReaderState", versioned(0, kafka(10, 90)), {"version": 0}),
    ("SourceReaderState", versioned(0, kafka(-1, -1)), {"version": 0}),
    ("SourceReaderState", versioned(0, kafka(-4, -(1 << 63))), {"version": 0}),
    ("SourceReaderState", versioned(0, utf("or ders") + KAFKA[8:]), {"version": 0}),
    ("SourceReaderState", versioned(0, utf("") + KAFKA[8:]), {"version": 0}),
    # A number sequence's split, as Flink 1.20 wrote it: a text and two numbers.
    ("SourceReaderState", bytes.fromhex("000000010000001300013240000000000000317ffffffffffffffe"), {"version": 1}),
    # A split of a file without its path.
    ("SourceReaderState", versioned(1, utf("1") + b"\0" + FILE[FILE.index(b"\0" * 7 + b"\n") :]), {"version": 1}),
    ("SourceReaderState", versioned(0, KAFKA + b"\0"), {"version": 0}),
    ("SourceReaderState", versioned(7, KAFKA), {"version": 7}),
    ("SourceReaderState", b"\0\0\0", {}),
    ("SourceReaderState", versioned(0, KAFKA) + b"\0", {}),
    # What Kafka's writer keeps, and Doris', too.
    ("writer_raw_states", versioned(1, utf("p")), {"version": 1}),
    # A text, three numbers, and texts with a number each.
    ("writer_raw_states", versioned(2, WRITER + struct.pack(">i", 1) + utf("q-0-1") + struct.pack(">q", 8)), {"version": 2}),
    ("writer_raw_states", versioned(2, WRITER + struct.pack(">i", 1) + utf("p-0-x") + struct.pack(">q", 8)), {"version": 2}),
    (
        "writer_raw_states", versioned(3, BUCKET + b"\0"),
        {"version": 3, "file_bucket": IN_BUCKET | {"in_progress_file": None, "pending_files": None}},
    ),
    (
        "writer_raw_states", versioned(3, BUCKET + b"\1" + versioned(1, b"open")),
        {"version": 3, "file_bucket": IN_BUCKET | {"in_progress_file": unpublished_file(1, b"open"), "pending_files": None}},
    ),
    ("writer_raw_states", versioned(3, BUCKET), {"version": 3}),
    (
        "bucket-states", versioned(2, BUCKET + b"\0" + PENDING),
        {
            "version": 2,
            "file_bucket": IN_BUCKET | {
                "in_progress_file": None,
                "pending_files": [{"checkpoint_id": 8, "file": unpublished_file(1, file)} for file in (b"a", b"")],
            },
        },
    ),
    (
        "streaming_committer_raw_states",
        versioned(2, bytes.fromhex("b91f252c") + listed(struct.pack(">qi", 9, 1) + listed(FILE_SUBTASK, version=2))),
        {
            "version": 2,
            "checkpoints": [
                {
                    "checkpoint_id": 9,
                    "subtasks": [{"subtask": 0, "requests": [FILE_REQUEST], "committables": 1, "failed": 0}],
                }
            ],
        },
    ),
    (
        "streaming_committer_raw_states", versioned(2, CHECKPOINTS),
        {
            "version": 2,
            "checkpoints": [
                {
                    "checkpoint_id": 9,
                    "subtasks": [{"subtask": 5, "requests": [KAFKA_REQUEST], "committables": 1, "failed": 0}],
                }
            ],
        },
    ),
    (
        "streaming_committer_raw_states", versioned(1, bytes.fromhex("b91f252c") + listed(b"opaque")),
        {
            "version": 1,
            "checkpoints": [
                {
                    "checkpoint_id": None,
                    "subtasks": [
                        {
                            "subtask": None, "committables": None, "failed": None,
                            "requests": [OPAQUE | {"committable": b"opaque", "retries": None, "state": None}],
                        }
                    ],
                }
            ],
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("state", "raw", "expected"), CASES)
def test_payload(state: str, raw: bytes, expected: dict[str, Any]) -> None:
    everything = {"bytes": raw, "version": None} | dict.fromkeys(FORMS[state]) | expected
    assert decode_payload(state, raw) == everything
    layout = payload_layout(state, SerializerSnapshot(BYTES, 3))
    assert layout is not None
    data = struct.pack(">i", len(raw)) + raw
    decoder = make_decoder(layout, Policy())
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.entries, progress.pos) == (1, len(data))
    assert decoder.flush().to_pylist() == [everything]


def test_other_states_and_serializers_have_no_payload() -> None:
    assert payload_layout("my-state", SerializerSnapshot(BYTES, 3)) is None
    assert payload_layout("SourceReaderState", SerializerSnapshot(BYTES.replace("Byte", "Int"), 3)) is None


def test_damaged_payloads_keep_their_bytes() -> None:
    rng = random.Random(5)
    for _ in range(4_000):
        state, raw, _ = rng.choice(CASES)
        damaged = bytearray(raw)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        del damaged[rng.randrange(1, len(damaged) + 1) :]
        assert decode_payload(state, bytes(damaged))["bytes"] == bytes(damaged)
