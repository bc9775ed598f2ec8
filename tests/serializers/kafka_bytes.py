"""What Kafka's connectors wrote (``kafka/kafka.txt``), and snapshots that contain it."""

from __future__ import annotations

from pathlib import Path

from stateextract.metadata.model import (
    InlineHandle,
    OperatorState,
    OperatorStateHandle,
    OperatorStatePartition,
    SnapshotMetadata,
    SubtaskState,
)
from tests.metadata.writer import metadata

LINES = dict(
    line.split(" = ")
    for line in (Path(__file__).parent / "kafka" / "kafka.txt").read_text().splitlines()
    if not line.startswith("#")
)
"""By the line's name, the bytes in hex."""


def written(name: str) -> bytes:
    """The bytes of a line."""
    return bytes.fromhex(LINES[name])


def producer_file(producer: str) -> OperatorStateHandle:
    """The operator state file that Flink's backend wrote for a producer."""
    return _file(f"producer {producer} ")


def consumer_file() -> OperatorStateHandle:
    """The operator state file that Flink's backend wrote for FlinkKafkaConsumer."""
    return _file("consumer FlinkKafkaConsumer ")


def _file(prefix: str) -> OperatorStateHandle:
    (name,) = (line for line in LINES if line.startswith(prefix))
    states = (part.split(":") for part in name.rsplit(" ", 1)[1].split(";"))
    parts = tuple(OperatorStatePartition(n, mode, tuple(map(int, offsets.split(",")))) for n, mode, offsets in states)
    return OperatorStateHandle(4, parts, InlineHandle("file", written(name)))


def snapshot_of(folder: Path, *operators: OperatorState, version: int = 4) -> str:
    """A savepoint of these operators."""
    (folder / "_metadata").write_bytes(metadata(SnapshotMetadata(version, 7, (), operators)))
    return str(folder)


def operator_of(number: int, handle: OperatorStateHandle | None, coordinator: bytes | None = None) -> OperatorState:
    """An operator of one subtask."""
    inline = None if coordinator is None else InlineHandle("coordinator", coordinator)
    return OperatorState(
        f"{number:032x}", None, None, 1, 128, coordinator=inline, subtasks=(SubtaskState(0, handle),)
    )  # fmt: skip
