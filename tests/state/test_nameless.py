"""State that has no name, or belongs to no operator: in the report with its size, and never silently left out."""

from __future__ import annotations

import json
from pathlib import Path

import stateextract
from benchmarks.flink_writer import VOID_NAMESPACE
from stateextract.job.options import JobOptions
from stateextract.job.run import run_here, run_job
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
from tests.metadata import writer as metadata_writer
from tests.state.keyed_writer import Entry, Keyed, State, heap, i64
from tests.state.operator_writer import simple, timers

NUMBERS = heap(Keyed([State("numbers", [Entry(0, i64(1), i64(10))])], groups=range(2)))
TIMERS = timers({"user-timers": ([(i64(5), b"\0", 999)], [])}, simple("Long"), VOID_NAMESPACE)


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
    operator = OperatorState("0f" * 16, "op", "Op", 2, 4, coordinator=InlineHandle("c", bytes(77)), subtasks=subtasks)
    masters = (MasterState(1, "a hook", bytes(9)), MasterState(1, "another", bytes(11)))
    snapshot = SnapshotMetadata(6, 7, masters, (operator,))
    path = tmp_path / "chk-7"
    path.mkdir()
    (path / "_metadata").write_bytes(metadata_writer.metadata(snapshot))

    outcome = run_job(JobOptions(snapshot=str(path), output=str(tmp_path / "out")), run_here)
    assert outcome.exit_code == 3
    report = json.loads((tmp_path / "out" / "_coverage.json").read_text())
    listed = {
        (e["kind"], e["state"] or e["form"]): (e["status"], e["size"], e["handles"])
        for e in report["entries"]
        if e["status"] != "decoded"
    }
    assert listed == {
        ("COORDINATOR", "coordinator state"): ("unsupported", 77, 1),
        ("RAW", "raw operator state"): ("unsupported", 123, 2),
        ("RAW", "raw keyed state"): ("unsupported", len("my own bytes"), 1),
        ("CHANNEL", "input channels"): ("unsupported", 42, 2),
        ("MASTER", "a hook"): ("unsupported", 9, 1),
        ("MASTER", "another"): ("unsupported", 11, 1),
    }
    decoded = {e["state"]: e["read"]["rows"] for e in report["entries"] if e["status"] == "decoded"}
    assert decoded == {
        "numbers": 1, "_timer_state/event_user-timers": 1, "_timer_state/processing_user-timers": 0,
    }  # fmt: skip

    found = stateextract.open_snapshot(str(path))
    assert [(m.name, len(m.data)) for m in found.master_states] == [("a hook", 9), ("another", 11)]
    unnamed = {u.form: (u.kind, u.size, u.handles) for u in found.operator("op").unnamed}
    assert unnamed == {
        "coordinator state": ("coordinator", 77, 1),
        "raw operator state": ("raw", 123, 2),
        "raw keyed state": ("raw", 12, 1),
        "input channels": ("channel", 42, 2),
    }
