"""The data source ``flink-state-diff``: the same rows as the command line's, in Spark."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stateextract.errors import UnsupportedError, UsageError, ValueRefusedError
from stateextract.spark import register, source_diff
from stateextract.spark.source_types import arrow_schema
from tests.diff.pairs import Found, copies_of_rules, found, golden
from tests.job.snapshots import TUPLE, numbered, write_snapshot
from tests.writers import flink_writer as flink

BEFORE = golden("f23-changes-checkpoint")
AFTER = golden("f23-changes-checkpoint-changelog-rescaled")
ROWS = numbered(64)


def in_process(options: Mapping[str, str], schema: Any = None) -> tuple[list[dict[str, Any]], int]:
    """The rows that Spark's tasks would give, and how many tasks there are."""
    data, made = source_diff.planned(options)
    data = source_diff.with_schema(data, schema or made)
    tasks = source_diff.for_tasks(data)
    splits = source_diff.splits(data)
    batches = [batch for split in splits for batch in source_diff.read(tasks, split)]
    assert all(batch.schema == arrow_schema(schema or made) for batch in batches)
    return sorted((row for batch in batches for row in batch.to_pylist()), key=repr), len(splits)


@pytest.fixture(scope="module")
def changes() -> Found:
    return found(BEFORE, AFTER)


def test_every_state_has_the_rows_of_the_command_line(changes: Found) -> None:
    compared = 0
    for key, state in changes.states.items():
        options = {"before": BEFORE, "after": AFTER, "operatorUid": str(state.uid), "stateName": state.name}
        rows, _ = in_process(options)
        assert rows == changes.changes_of(key)
        compared += len(rows)
    assert compared == sum(c.added + c.removed + c.changed for c in changes.counts.values()) > 150


@pytest.mark.spark
def test_spark_reads_them(changes: Found, spark: Any) -> None:
    register(spark)
    reader = spark.read.format("flink-state-diff").option("before", BEFORE).option("after", AFTER)
    frame = reader.option("operatorUid", "changing").option("stateName", "text").option("splitBytes", "1").load()
    assert frame.columns == ["change", "key", "before", "after", "changed_fields", "key_group"]
    assert sorted(frame.toArrow().to_pylist(), key=repr) == changes.changes("text")
    counts = {row["change"]: row["count"] for row in frame.groupBy("change").count().collect()}
    assert counts == {"added": 2, "removed": 3, "changed": 9}


def test_tasks_are_runs_of_key_groups(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"s": ROWS}})
    other = write_snapshot(tmp_path / "b", {"op": {"s": {**ROWS, 3: []}}}, parallelism=4)
    rows, tasks = in_process({"before": str(one), "after": str(other), "splitBytes": "1"})
    assert (len(rows), tasks) == (8, 8)
    assert {row["key_group"] for row in rows} == {3}
    only, _ = in_process(
        {"before": str(one), "after": str(other)},
        source_diff.spark_schema(pa.schema([("key", pa.int64()), ("change", pa.string())])),
    )
    assert sorted(row["key"] for row in only) == [8 * i + 3 for i in range(8)]
    assert {(row["change"], *row) for row in only} == {("removed", "key", "change")}


def test_a_remark_is_a_warning(tmp_path: Path) -> None:
    one, other = copies_of_rules(tmp_path / "a", {1: 1}, {1: 1}), copies_of_rules(tmp_path / "b", {1: 1}, {1: 99, 2: 2})
    with pytest.warns(
        UserWarning, match="op / rules: the copies that the subtasks 1 of the later snapshot have are not"
    ):
        rows, _ = in_process({"before": str(one), "after": str(other)})
    assert rows == []


def test_a_policy_of_one_state(tmp_path: Path) -> None:
    """A map with a null key is compared as a list of entries."""

    def entry(key: int, value: int) -> bytes:
        name = b"\0" if key == 5 else b"\2k"
        return struct.pack(">bqi", 0, key, 1) + name + b"\0" + struct.pack(">q", value)

    paths = {}
    for name, changed in (("before", 7), ("after", 8)):
        maps: Any = {key: [entry(key, changed if key == 5 else key)] for key in range(8)}
        values = {"m": flink.map_of(flink.STRING, flink.LONG)}
        paths[name] = str(write_snapshot(tmp_path / name, {"op": {"m": maps, "n": ROWS}}, values=values))
    with pytest.raises(ValueRefusedError, match="a map has a null key"):
        in_process({**paths, "stateName": "m"})
    (row,), _ = in_process({**paths, "stateName": "m", "policies": "m/maps=list"})
    assert (row["key"], row["change"]) == (5, "changed")
    assert (row["before"]["value"], row["after"]["value"]) == ([{"key": None, "value": 7}], [{"key": None, "value": 8}])


def test_what_it_refuses(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"s": ROWS, "t": ROWS}})
    other = write_snapshot(tmp_path / "b", {"op": {"s": ROWS, "t": ROWS}}, values={"t": TUPLE})
    both = {"before": str(one), "after": str(other)}
    for options, error, message in (
        ({"before": str(one)}, UsageError, "there is no after"),
        ({**both, "path": "/x"}, UsageError, "a path is for streams"),
        (both, UsageError, "the options match 2 states"),
        ({**both, "stateName": "s", "stateScope": "operator"}, UsageError, "the options match no operator state"),
        ({**both, "stateName": "s", "operatorUid": "op", "operatorId": "x"}, UsageError, "exclude each other"),
        ({**both, "stateName": "t"}, UnsupportedError, "cannot be compared: value was int64 and is struct"),
    ):
        with pytest.raises(error, match=message):
            source_diff.planned(options)


def test_checkpoints_of_one_folder_incrementally_and_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateextract.diff.incremental.MOST_UNSHARED", 0.5)  # 34 % are in files of one checkpoint alone
    folder = str(Path(__file__).parents[2] / "examples/high-availability/checkpoints")
    options = {
        "before": folder, "after": folder, "beforeCheckpoint": "3", "afterCheckpoint": "4",
        "operatorId": "e34650bb56cd6e0043bc532589c0f9ae", "stateName": "texts",
    }  # fmt: skip
    incremental = in_process({**options, "splitBytes": "1"})
    (state,) = source_diff.PlannedDiff.from_bytes(source_diff.planned({**options, "splitBytes": "1"})[0]).context.states
    assert state.incremental
    full = in_process({**options, "full": "true"})
    assert incremental[0] == full[0]
    assert [row["change"] for row in full[0]] == ["added"] * 2 + ["changed"] * 9 + ["removed"]
