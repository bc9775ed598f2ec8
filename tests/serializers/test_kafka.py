"""Payloads that Kafka's connector wrote: named where other state confirms them, and no other connector's are."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pytest

import stateextract
from serializers.connectors import COMMITTABLE, COORDINATOR, FORMS, decode_coordinator, decode_payload, evidence_of
from serializers.connectors.forms import fits
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
    inner = struct.pack(">i", subtask) + listed(request) + struct.pack(">ii", 1, 0)
    raw = versioned(2, bytes.fromhex("b91f252c") + listed(struct.pack(">qi", 9, 4) + listed(inner)))
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
    """Not even of the shape that Kafka's serializers write, if nothing else confirms it."""
    rng = random.Random(14)
    shapes = 0
    states = [name for name in FORMS if name not in (COMMITTABLE, COORDINATOR)]
    for _ in range(20_000):
        state, raw, version = rng.choice(states), other_connectors(rng), rng.choice([0, 0, 1, 2, 3])
        evidence = Evidence(partitions=frozenset({("other", 0)}))
        found: dict[str, Any] = decode_payload(state, versioned(version, raw), evidence)
        names = {name for name, value in found.items() if value is not None} - {"bytes", "version"}
        assert names == set(), (state, version, raw)
        shapes += any(True for _ in fits(state, version, raw))
    assert shapes > 100
