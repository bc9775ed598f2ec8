"""``kafka_offsets``: what Kafka's own classes read from the savepoints of real jobs, and what cannot be read."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from serializers.connectors.payloads import BYTES
from stateextract.api.offset_table import SCHEMA
from stateextract.cli import run
from stateextract.errors import UsageError
from stateextract.metadata.model import FileHandle, InlineHandle, OperatorStateHandle
from tests.conformance.test_reported_headers import reported
from tests.serializers.kafka_bytes import consumer_file, operator_of, snapshot_of, written
from tests.serializers.test_connectors import FILE, utf, versioned
from tests.state.operator_writer import Lists

SNAPSHOTS = Path(__file__).parents[1] / "serializers" / "kafka" / "snapshots"
FOLDERS = sorted(folder.name for folder in SNAPSHOTS.iterdir())
NO_OFFSET = -(1 << 63)
NAMES = {-1: "LATEST", -2: "EARLIEST", -3: "COMMITTED"}
COLUMNS = ("cluster_id", "topic", "partition", "assigned", "next_offset", "start_offset", "start_offset_name", "stop_offset")


def values_of(folder: str) -> dict[str, Any]:
    """What the connector's classes read, by operator and kind."""
    lines = (SNAPSHOTS / folder / "values.txt").read_text().splitlines()
    pairs = (line.removeprefix("values ").split(" = ", 1) for line in lines)
    return {name: json.loads(value) for name, value in pairs}


def of_split(split: dict[str, Any]) -> tuple[Any, ...]:
    start, stop = split["startingOffset"], split["stoppingOffset"]
    place = (split.get("kafkaClusterId"), split["tp"]["topic"], split["tp"]["partition"])
    return (*place, True, start if start >= 0 else None, start, NAMES.get(start), None if stop == NO_OFFSET else stop)


def read_to_their_end(enumerator: dict[str, Any], found: set[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """Partitions of a source that an enumerator lists, and no subtask has."""
    items = enumerator.get("splits") or enumerator.get("partitions") or enumerator.get("assignedPartitions")
    assert items
    places = [item["split"]["tp"] if "split" in item else item.get("topicPartition", item) for item in items]
    assert all(item.get("assignmentStatus", "ASSIGNED") == "ASSIGNED" for item in items)
    listed = {(None, place["topic"], place["partition"]) for place in places}
    return {(*place, True, None, None, None, None) for place in listed - {row[:3] for row in found}}


def rows_of(table: pa.Table) -> set[tuple[Any, ...]]:
    assert set(table["status"].to_pylist()) == {"decoded"}
    return set(zip(*(table[name].to_pylist() for name in COLUMNS), strict=True))


@pytest.mark.parametrize("folder", FOLDERS)
def test_savepoints_of_real_jobs(folder: str) -> None:
    values, snapshot = values_of(folder), stateextract.open_snapshot(str(SNAPSHOTS / folder))
    for uid in ("orders", "bounded", "hybrid"):
        expected = {of_split(split) for split in values[f"{uid} splits"]}
        expected |= read_to_their_end(values[f"{uid} enumerator"], expected)
        table = snapshot.kafka_offsets(uid)
        assert rows_of(table) == expected, uid
        assert set(table["source"].to_pylist()) == {"KafkaSource"}
        assert set(table["source_index"].to_pylist()) == {1 if uid == "hybrid" else None}
    if "dynamic splits" in values:
        table = snapshot.kafka_offsets("dynamic")
        assert rows_of(table) == {of_split(split) for split in values["dynamic splits"]}
        assert set(table["source"].to_pylist()) == {"DynamicKafkaSource"}
    if "consumer consumer" in values:
        pattern = r"\(KafkaTopicPartition\{topic='(.*)', partition=(\d+)\},(-?\d+)\)"
        found = [re.fullmatch(pattern, text) for text in values["consumer consumer"]]
        table = snapshot.kafka_offsets("consumer")
        # The last record that was read, so the next one is one behind it.
        expected = {
            (None, m[1], int(m[2]), True, int(m[3]) + 1, int(m[3]), None, None) for m in found if m is not None
        }  # fmt: skip
        assert len(expected) == 3
        assert rows_of(table) == expected
        assert set(table["source"].to_pylist()) == {"FlinkKafkaConsumer"}
    everything = snapshot.kafka_offsets()
    assert everything.schema == SCHEMA
    assert everything.num_rows == 5 + 3 + 2 + 3 * ("dynamic splits" in values) + 3 * ("consumer consumer" in values)


@pytest.mark.parametrize("folder", FOLDERS)
def test_sinks_of_real_jobs(folder: str) -> None:
    """Writers of version 1 have nothing in them that is Kafka's alone."""
    values, snapshot = values_of(folder), stateextract.open_snapshot(str(SNAPSHOTS / folder))
    states = {state.name: state.to_table()["value"].to_pylist() for state in snapshot.states if "raw_states" in state.name}
    found = [
        {"epoch": one["epoch"], "producerId": one["producer_id"], "transactionalId": one["transactional_id"]}
        for value in states["streaming_committer_raw_states"]
        for checkpoint in value["checkpoints"]
        for subtask in checkpoint["subtasks"]
        for request in subtask["requests"]
        if (one := request["kafka_committable"])
    ]
    expected = [one for part in values["sink streaming_committer_raw_states"] for one in part]
    assert sorted(found, key=json.dumps) == sorted(expected, key=json.dumps)
    assert found
    writers = [value["kafka_writer"] for value in states["writer_raw_states"]]
    expected = [java.get("precommittedTransactionalIds", []) for java in values["sink writer_raw_states"]]
    ids = [[t["transactional_id"] for t in (writer or {"transactions": []})["transactions"]] for writer in writers]
    assert sorted(ids) == sorted([t["transactionalId"] for t in transactions] for transactions in expected)


def readers(*payloads: bytes) -> OperatorStateHandle:
    """A file with the splits of a reader."""
    serializer = utf(BYTES) + struct.pack(">i", 3)
    state = {("SourceReaderState", "SPLIT_DISTRIBUTE", serializer): [struct.pack(">i", len(p)) + p for p in payloads]}
    data, states = Lists(state).write()
    return OperatorStateHandle(4, tuple(states), InlineHandle("lists", data))


def offsets_of(folder: Path, handle: OperatorStateHandle | None, coordinator: bytes | None = None) -> list[dict[str, Any]]:
    """The rows of one operator, without what is the same in all and without nulls."""
    folder.mkdir(exist_ok=True)
    path = snapshot_of(folder, operator_of(1, handle, coordinator))
    found = stateextract.open_snapshot(path).kafka_offsets().to_pylist()
    return [{name: v for name, v in row.items() if v is not None and name not in _SAME} for row in found]


_SAME = ("checkpoint_id", "operator_id")


def enumerator(name: str) -> bytes:
    return struct.pack(">i", 1) + written(name)


def split(version: str, *values: Any) -> bytes:
    return written(f"split {version} {' '.join(map(str, values))}")


@pytest.mark.parametrize("version", ["1.12", "1.14", "1.17", "3.2", "3.4", "4.0", "5.0"])
def test_partitions_that_no_subtask_has(version: str, tmp_path: Path) -> None:
    """The enumerator lists four partitions, of which orders 2 is not assigned, as far as its version says so."""
    handle = readers(split(version, "orders", 1, 42, NO_OFFSET), split(version, "payments.eu", 7, -2, -1))
    rows = offsets_of(tmp_path / "s", handle, enumerator(f"enumerator {version}"))
    common = {"source": "KafkaSource", "status": "decoded"}
    finished = {"assigned": True, "reason": "no subtask has the split of the partition, so it was read to its end"}
    third = {"topic": "orders", "partition": 2, **finished}
    if version in ("3.2", "3.4", "4.0"):
        third = {"topic": "orders", "partition": 2, "assigned": False, "start_offset_name": "NOT_SET"}
    elif version == "5.0":
        third = {
            "topic": "orders", "partition": 2, "assigned": False, "next_offset": 5, "start_offset": 5, "stop_offset": -3,
            "stop_offset_name": "COMMITTED",
        }  # fmt: skip
    assert rows == [
        common | {"topic": "orders", "partition": 0, **finished},
        common | {"topic": "orders", "partition": 1, "subtask": 0, "assigned": True, "next_offset": 42, "start_offset": 42},
        common | third,
        common | {
            "topic": "payments.eu", "partition": 7, "subtask": 0, "assigned": True, "start_offset": -2,
            "start_offset_name": "EARLIEST", "stop_offset": -1, "stop_offset_name": "LATEST",
        },
    ]  # fmt: skip


def test_names_of_the_old_consumer(tmp_path: Path) -> None:
    rows = offsets_of(tmp_path / "s", consumer_file())
    found = [(r["topic"], r["partition"], r.get("next_offset"), r.get("start_offset_name")) for r in rows]
    assert found == [("orders", 0, 42, None), ("orders", 1, None, "COMMITTED"), ("payments.eu", 7, None, "EARLIEST")]


def test_what_cannot_be_read_has_a_row(tmp_path: Path) -> None:
    known, unknown = split("5.0", "orders", 1, 42, NO_OFFSET), versioned(9, b"?")
    rows = offsets_of(tmp_path / "a", readers(known, unknown, unknown), enumerator("enumerator 5.0"))
    # What is assigned may be among those that are not read, so nothing is said to be finished.
    assert [row.get("partition") for row in rows] == [1, 2, None]
    assert (rows[-1]["status"], rows[-1]["reason"]) == (
        "raw", "2 splits of version 9: the form is not known, and it may be of any connector",
    )  # fmt: skip
    rows = offsets_of(tmp_path / "b", readers(known), struct.pack(">i", 1) + versioned(9, b"?"))
    assert [row["status"] for row in rows] == ["decoded", "raw"]
    assert rows[1]["reason"].startswith("the form of the coordinator's bytes is not known")
    # Without a source's wrapper.
    rows = offsets_of(tmp_path / "d", readers(known), enumerator("enumerator 5.0")[:-1])
    assert [(row["status"], row.get("reason", "")[:37]) for row in rows] == [
        ("decoded", ""), ("raw", "the coordinator's bytes cannot be rea"),
    ]  # fmt: skip
    gone = replace(readers(known), stream=FileHandle(100, str(tmp_path / "gone")))
    (row,) = offsets_of(tmp_path / "c", gone)
    assert row["status"] == "missing"
    assert "does not exist" in row["reason"] or "gone" in row["reason"]


def test_other_connectors_have_no_row(tmp_path: Path) -> None:
    assert offsets_of(tmp_path / "a", readers(versioned(1, FILE)), struct.pack(">i", 1) + versioned(9, b"?")) == []
    assert offsets_of(tmp_path / "b", None, b"not of a source") == []


@pytest.mark.parametrize("version", ["1.12", "3.4", "5.0"])
def test_an_enumerator_without_partitions_lacks_nothing(version: str, tmp_path: Path) -> None:
    assert offsets_of(tmp_path / "s", readers(), enumerator(f"enumerator {version} empty")) == []


def test_types_that_the_user_chose_change_nothing() -> None:
    path = str(SNAPSHOTS / "f117-connector117")
    types = {"*/SourceReaderState/value.kafka_split.topic": "binary", "*/topic-partition-offset-states/value.f1": "string"}
    assert stateextract.open_snapshot(path, types=types).kafka_offsets() == stateextract.open_snapshot(path).kafka_offsets()


def test_names_of_operators_with_lone_surrogates(tmp_path: Path) -> None:
    operator = replace(operator_of(1, readers(split("5.0", "orders", 1, 42, NO_OFFSET))), name="a\ud800", uid="b\udc00")
    (row,) = stateextract.open_snapshot(snapshot_of(tmp_path, operator, version=5)).kafka_offsets().to_pylist()
    assert (row["operator_name"], row["operator_uid"], row["next_offset"]) == ("a\ufffd", "b\ufffd", 42)


def test_an_operator_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="no operator has the uid, name or id 'nothing'"):
        stateextract.open_snapshot(str(SNAPSHOTS / FOLDERS[0])).kafka_offsets("nothing")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SNAPSHOTS / "f22-connector50")
    expected = stateextract.open_snapshot(path).kafka_offsets().to_pylist()
    assert run(["kafka-offsets", path, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert run(["kafka-offsets", path, "--operator", "hybrid", "--format", "csv"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split(",") == SCHEMA.names
    assert len(lines) == 2
    # Splits that may be of any connector are not left out silently.
    assert run(["kafka-offsets", reported("connector-splits/savepoint")]) == 3
    out = capsys.readouterr().out
    assert "the form is not known" in out
    assert "4 partitions of 2 topics." in out


@pytest.mark.spark
def test_the_table_of_spark(spark: Any) -> None:
    path = str(SNAPSHOTS / "f22-connector50")
    frame = spark.read.format("flink-state-metadata").option("table", "kafka_offsets").load(path)
    rows = [row.asDict() for row in frame.collect()]
    assert rows == stateextract.open_snapshot(path).kafka_offsets().to_pylist()
