"""State that has no name, or belongs to no operator: in the report with its size, and never silently left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import stateextract
from serializers.connectors import COORDINATOR as FORMS_OF_COORDINATORS
from serializers.connectors import FORMS
from stateextract.job.execute import in_this_process
from stateextract.job.output_manifest import Dataset
from stateextract.job.run import run_job
from stateextract.metadata.model import (
    ChannelPart,
    ChannelStateHandle,
    InlineHandle,
    KeyGroupsHandle,
    MasterState,
    OperatorState,
    OperatorStateHandle,
    OperatorStatePartition,
    SnapshotMetadata,
    SubtaskState,
)
from stateextract.options import JobOptions
from tests.metadata import writer as metadata_writer
from tests.state.keyed_writer import Entry, Keyed, State, heap, i64
from tests.state.operator_writer import simple, timers
from tests.writers.flink_writer import VOID_NAMESPACE

NUMBERS = heap(Keyed([State("numbers", [Entry(0, i64(1), i64(10))])], groups=range(2)))
TIMERS = timers({"user-timers": ([(i64(5), b"\0", 999)], [])}, simple("Long"), VOID_NAMESPACE)
# A source's: 1, the enumerator's version, a length, one split of a number sequence.
COORDINATOR = bytes.fromhex("00000001000000020000001000000001000174000000020000000101")
ENUMERATOR = {
    "partitions": [
        {"topic": "t", "partition": 2, "assigned": False, "starting_offset": None, "stopping_offset": None},
    ],
    "discovery_finished": True,
}  # fmt: skip


def raw_operator(size: int) -> OperatorStateHandle:
    partition = OperatorStatePartition("_default_", "SPLIT_DISTRIBUTE", (0,))
    return OperatorStateHandle(4, (partition,), InlineHandle("raw", bytes(size)))


def raw_keyed(first: int, data: bytes) -> KeyGroupsHandle:
    return KeyGroupsHandle(3, first, (0, -1), InlineHandle(f"raw-{first}", data))


def channel(subtask: int, size: int) -> ChannelStateHandle:
    part = ChannelPart(0, 0, size, (4,))
    return ChannelStateHandle(1, subtask, (part,), size, InlineHandle("channel", bytes(size + 4)))


def test_everything_is_listed_with_its_size(tmp_path: Path) -> None:
    subtasks = (
        SubtaskState(0, None, raw_operator(100), NUMBERS, raw_keyed(0, TIMERS), (channel(0, 30),), ()),
        SubtaskState(1, None, raw_operator(23), None, raw_keyed(2, b"my own bytes"), (channel(1, 12),), ()),
    )
    operator = OperatorState("0f" * 16, "op", "Op", 2, 4, coordinator=InlineHandle("c", COORDINATOR), subtasks=subtasks)
    masters = (MasterState(1, "a hook", bytes(9)), MasterState(1, "another", bytes(11)))
    snapshot = SnapshotMetadata(6, 7, masters, (operator,))
    path = tmp_path / "chk-7"
    path.mkdir()
    (path / "_metadata").write_bytes(metadata_writer.metadata(snapshot))

    outcome = run_job(JobOptions(snapshot=str(path), output=str(tmp_path / "out")), in_this_process)
    assert outcome.exit_code == 3
    report = json.loads((tmp_path / "out" / "_coverage.json").read_text())
    listed = {
        (e["state_kind"], e["state_name"] or e["form"]): (e["status"], e["size_in_bytes"], e["handle_count"])
        for e in report["entries"]
        if e["status"] != "decoded"
    }
    assert listed == {
        ("raw", "raw operator state"): ("unsupported", 123, 2),
        ("raw", "raw keyed state"): ("unsupported", len("my own bytes"), 1),
        ("channel", "input channels"): ("unsupported", 42, 2),
        ("master", "a hook"): ("unsupported", 9, 1),
        ("master", "another"): ("unsupported", 11, 1),
    }
    decoded = {e["state_name"]: e["read"]["rows"] for e in report["entries"] if e["status"] == "decoded"}
    assert decoded == {
        "numbers": 1, "_timer_state/event_user-timers": 1, "_timer_state/processing_user-timers": 0, None: 1,
    }  # fmt: skip
    value = {"bytes": COORDINATOR, "version": 2} | dict.fromkeys(FORMS[FORMS_OF_COORDINATORS])
    value["kafka_enumerator"] = ENUMERATOR
    assert pq.read_table(tmp_path / "out" / "op" / "coordinator").to_pylist() == [{"value": value}]
    (dataset,) = (d for d in outcome.manifest.datasets if d.state_kind == "coordinator")
    assert (dataset.state_name, dataset.folder, dataset.rows) == ("coordinator", "op/coordinator", 1)
    assert [(s.file, s.subtask, s.rows) for s in dataset.sources] == [(outcome.coverage.snapshot, None, 1)]

    found = stateextract.open_snapshot(str(path))
    assert [(m.name, len(m.data)) for m in found.master_states] == [("a hook", 9), ("another", 11)]
    assert found.operator("op").coordinator == value
    unnamed = {u.form: (u.kind, u.size, u.handles) for u in found.operator("op").unnamed}
    assert unnamed == {
        "coordinator state": ("coordinator", len(COORDINATOR), 1),
        "raw operator state": ("raw", 123, 2),
        "raw keyed state": ("raw", 12, 1),
        "input channels": ("channel", 42, 2),
    }


def test_a_coordinator_alone(tmp_path: Path) -> None:
    """A source whose readers keep nothing, beside a state that is called like its dataset."""
    subtasks = (
        SubtaskState(
            0, managed_keyed=heap(Keyed([State("coordinator", [Entry(0, i64(1), i64(10))])], groups=range(2)))
        ),
    )
    source = OperatorState("0a" * 16, "source", None, 1, 2, coordinator=InlineHandle("c", COORDINATOR))
    both = OperatorState("0b" * 16, "both", None, 1, 2, coordinator=InlineHandle("c", b"?"), subtasks=subtasks)
    path = tmp_path / "chk-7"
    path.mkdir()
    (path / "_metadata").write_bytes(metadata_writer.metadata(SnapshotMetadata(6, 7, (), (source, both))))

    def datasets(name: str, **more: Any) -> list[Dataset]:
        outcome = run_job(JobOptions(snapshot=str(path), output=str(tmp_path / name), **more), in_this_process)
        # The other coordinator's bytes have no form that is known: they are raw.
        assert outcome.exit_code == (0 if name == "alone" else 3)
        return list(outcome.manifest.datasets)

    (alone,) = datasets("alone", operator=("source",))
    assert (alone.folder, alone.rows) == ("source/coordinator", 1)
    kinds = [("both", "coordinator"), ("both", "value"), ("source", "coordinator")]
    for found in (datasets("all"), datasets("named", state=("coordinator",))):
        assert len({d.folder for d in found}) == 3
        assert sorted((str(d.operator_uid), d.state_kind) for d in found) == kinds
