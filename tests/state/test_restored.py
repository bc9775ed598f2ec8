"""Snapshots of jobs that were restored, rescaled, moved or are half finished: every row once, whoever holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import stateextract
from stateextract.errors import MissingFileError, UsageError
from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.metadata.model import (
    ChangelogHandle,
    FileHandle,
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    OperatorStatePartition,
    RelativeHandle,
    SubtaskState,
)
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions
from tests.state.keyed_writer import FORMS, Entry, Keyed, State, canonical, head, heap, i64, rocksdb, write_operators
from tests.state.operator_writer import Lists, simple, timers
from tests.writers.flink_writer import VOID_NAMESPACE, key_group_range
from tests.writers.sst import PUT, SstFile, database
from tests.writers.sst import Entry as Pair

Rows = list[tuple[int, int, int, int]]
"""Key, value, key group, subtask."""


def numbers(groups: Sequence[int], times: int = 10) -> State:
    """A row for each key group, whose key is the group."""
    return State("numbers", [Entry(g, i64(g), i64(times * g)) for g in groups])


def one(subtasks: Sequence[SubtaskState], parallelism: int, max_parallelism: int = 8, **more: Any) -> OperatorState:
    return OperatorState("0f" * 16, "op", "An operator", parallelism, max_parallelism, subtasks=tuple(subtasks), **more)


def read(path: Path, operator: str = "op", **options: Any) -> Rows:
    table = stateextract.open_snapshot(str(path), **options).operator(operator).state("numbers").to_table()
    return sorted(zip(*(table[name].to_pylist() for name in ("key", "value", "key_group", "subtask")), strict=True))


def extracted(path: Path, output: Path, **more: Any) -> tuple[JobResult, dict[str, list[dict[str, Any]]]]:
    """A job's outcome, and its rows by state."""
    outcome = run_job(JobOptions(snapshot=str(path), output=str(output), **more), in_this_process)
    return outcome, {d.state_name: pq.read_table(output / d.folder).to_pylist() for d in outcome.manifest.datasets}


def job_rows(path: Path, output: Path, **more: Any) -> Rows:
    _, states = extracted(path, output, **more)
    return sorted((r["key"], r["value"], r["key_group"], r["subtask"]) for r in states["numbers"])


# ---- subtasks


@pytest.mark.parametrize("max_parallelism", [8, 300])
@pytest.mark.parametrize("form", FORMS)
def test_every_subtask_has_its_range(form: str, max_parallelism: int, tmp_path: Path) -> None:
    """Three subtasks share key groups unevenly; with 300 of them, keys begin with two bytes."""
    ranges = [key_group_range(i, 3, max_parallelism) for i in range(3)]
    subtasks = [
        SubtaskState(i, managed_keyed=FORMS[form](Keyed([numbers(r)], groups=r, max_parallelism=max_parallelism)))
        for i, r in enumerate(ranges)
    ]
    path = write_operators(tmp_path / "snapshot", [one(subtasks, 3, max_parallelism)])
    expected = [(g, 10 * g, g, i) for i, r in enumerate(ranges) for g in r]
    assert read(path) == expected
    assert job_rows(path, tmp_path / "out", split_bytes=1 if max_parallelism == 8 else 10**6) == expected


def test_all_handles_of_one_subtask(tmp_path: Path) -> None:
    """Managed and raw state, of the operator and of keys, side by side, beside a subtask that has finished."""
    data, states = Lists({("list", "UNION", simple("Long")): [i64(1), i64(2)]}).write()
    managed = OperatorStateHandle(4, tuple(states), InlineHandle("list", data))
    partition = OperatorStatePartition("_default_", "SPLIT_DISTRIBUTE", (0,))
    raw = OperatorStateHandle(4, (partition,), InlineHandle("raw", b"whatever"))
    group = timers({"user-timers": ([(i64(5), b"\0", 999)], [])}, simple("Long"), VOID_NAMESPACE)
    raw_keyed = KeyGroupsHandle(3, 4, (-1, 0, -1, -1), InlineHandle("timers", group))
    task = SubtaskState(1, managed, raw, heap(Keyed([numbers(range(4, 8))], groups=range(4, 8))), raw_keyed)
    operator_state = one([task], 2, finished_subtasks=(0,), coordinator=InlineHandle("c", b"12345"))
    path = write_operators(tmp_path / "snapshot", [operator_state])
    assert read(path) == [(g, 10 * g, g, 1) for g in range(4, 8)]
    operator = stateextract.open_snapshot(str(path)).operator("op")
    assert operator.finished_subtasks == (0,)
    assert operator.state("list").to_table().to_pylist() == [
        {"value": 1, "index": 0, "subtask": 1},
        {"value": 2, "index": 1, "subtask": 1},
    ]
    assert [(r["key"], r["timestamp_ms"], r["key_group"]) for r in operator.timers().read_all().to_pylist()] == [
        (5, 999, 5)
    ]
    assert [(u.kind, u.size) for u in operator.unnamed] == [("coordinator", 5), ("raw", 8)]
    outcome, rows = extracted(path, tmp_path / "out")
    assert outcome.exit_code == 3
    assert {name: len(found) for name, found in rows.items()} == {
        "numbers": 4,
        "list": 2,
        "timers": 1,
        "coordinator": 1,
    }
    entries = {(e.state or e.form): (e.status, e.size) for e in outcome.coverage.entries}
    assert entries["raw operator state"] == ("unsupported", 8)
    assert entries["coordinator state"] == ("raw", 5)
    assert [(r["value"]["bytes"], r["value"]["version"]) for r in rows["coordinator"]] == [(b"12345", None)]


def test_finished_operators_and_subtasks(tmp_path: Path) -> None:
    done = OperatorState("01" * 16, "done", "Done", 2, 8, fully_finished=True)
    idle = OperatorState("02" * 16, "idle", "Idle", 2, 8, subtasks=(SubtaskState(0), SubtaskState(1)))
    half = one(
        [SubtaskState(2, managed_keyed=heap(Keyed([numbers([6])], groups=range(6, 8))))], 3, finished_subtasks=(0, 1)
    )
    path = write_operators(tmp_path / "snapshot", [done, half, idle])
    assert read(path) == [(6, 60, 6, 2)]
    outcome, rows = extracted(path, tmp_path / "out")
    assert (outcome.exit_code, list(rows)) == (0, ["numbers"])
    shown = {e.label: (e.status, e.reason) for e in outcome.coverage.entries}
    assert shown == {
        "done": ("no state", "the operator had finished"),
        "idle": ("no state", None),
        "op": ("decoded", None),
    }


# ---- key groups that are another subtask's


def foreign(groups: range) -> IncrementalHandle:
    """A database that was taken over from a wider subtask, as its backend would have uploaded it."""
    pairs = tuple(Pair(bytes([g]) + i64(g) + b"\0", g + 1, PUT, i64(10 * g)) for g in range(8))
    made = database([SstFile(0, pairs, state="numbers")], ["numbers"], groups.start, len(groups))
    return replace(made, meta=InlineHandle("meta", head(Keyed([numbers(range(8))]), False)))


def test_foreign_key_groups_of_a_database(tmp_path: Path) -> None:
    """Both subtasks' files hold all eight key groups; each gives those of its handle, however they are split."""
    subtasks = [SubtaskState(i, managed_keyed=foreign(r)) for i, r in enumerate((range(4), range(4, 8)))]
    path = write_operators(tmp_path / "snapshot", [one(subtasks, 2)])
    expected = [(g, 10 * g, g, g // 4) for g in range(8)]
    assert read(path) == expected
    assert job_rows(path, tmp_path / "out", split_bytes=1) == expected


def test_deleted_foreign_key_groups_of_a_database(tmp_path: Path) -> None:
    """The other half was deleted by a range, and one of its keys written anew: a key group that came back."""
    old = tuple(Pair(bytes([g]) + i64(g) + b"\0", g + 1, PUT, i64(g)) for g in range(8))
    new = (Pair(b"\x05" + i64(5) + b"\0", 30, PUT, i64(50)),)
    files = [SstFile(1, old, state="numbers"), SstFile(0, new, ((b"\x04", b"\x08", 20),), state="numbers")]
    handle = replace(database(files, ["numbers"], 0, 8), meta=InlineHandle("meta", head(Keyed([numbers([])]), False)))
    path = write_operators(tmp_path / "snapshot", [one([SubtaskState(0, managed_keyed=handle)], 1)])
    assert read(path) == [*((g, g, g, 0) for g in range(4)), (5, 50, 5, 0)]


def cut(handle: KeyGroupsHandle, groups: range) -> KeyGroupsHandle:
    """A part of the key groups of an unchanged file."""
    first = groups.start - handle.first
    return replace(handle, first=groups.start, offsets=handle.offsets[first : first + len(groups)])


@pytest.mark.parametrize("form", [heap, canonical, rocksdb])
@pytest.mark.parametrize("compressed", [False, True])
def test_parts_of_old_files_under_a_changelog(form: Any, compressed: bool, tmp_path: Path) -> None:
    """Two subtasks became three; nothing was materialized or changed since, so each refers to the old files."""
    if form is rocksdb and compressed:
        pytest.skip("RocksDB's files are not compressed by Flink")
    more = {} if form is rocksdb else {"compressed": compressed}
    old: list[KeyedStateHandle] = [form(Keyed([numbers(r)], groups=r), **more) for r in (range(4), range(4, 8))]
    subtasks = []
    for index in range(3):
        mine = key_group_range(index, 3, 8)
        parts: list[KeyedStateHandle] = []
        for handle in old:
            common = range(max(mine.start, handle.key_groups.start), min(mine.stop, handle.key_groups.stop))
            if common:
                parts.append(cut(handle, common) if isinstance(handle, KeyGroupsHandle) else handle)
        changelog = ChangelogHandle(14, mine.start, len(mine), 0, tuple(parts), (), 1, 7, "id")
        subtasks.append(SubtaskState(index, managed_keyed=changelog))
    assert [len(s.managed_keyed.materialized) for s in subtasks] == [1, 2, 1]  # type: ignore[union-attr]
    path = write_operators(tmp_path / "snapshot", [one(subtasks, 3)])
    expected = [(g, 10 * g, g, next(i for i in range(3) if g in key_group_range(i, 3, 8))) for g in range(8)]
    assert read(path) == expected
    assert job_rows(path, tmp_path / "out", split_bytes=1) == expected


# ---- operators by what is known of them


def named(identity: str, uid: str | None, name: str | None, times: int) -> OperatorState:
    task = SubtaskState(0, managed_keyed=heap(Keyed([numbers([1], times)], groups=range(8))))
    return OperatorState(identity, uid, name, 1, 8, subtasks=(task,))


def test_operators_without_uid(tmp_path: Path) -> None:
    """Chosen by id or name; two of one name only by id, and in folders of their own."""
    first, second, third = "ab" * 16, "cd" * 16, "ef" * 16
    path = write_operators(
        tmp_path / "chk-1",
        [named(first, None, "Map", 10), named(second, None, "Map", 20), named(third, None, None, 30)],
    )
    assert [read(path, identity) for identity in (first, second.upper(), third)] == [
        [(1, times, 1, 0)] for times in (10, 20, 30)
    ]
    with pytest.raises(UsageError, match="Map"):
        stateextract.open_snapshot(str(path)).operator("Map")
    outcome, _ = extracted(path, tmp_path / "out")
    folders = {d.operator_id: d.folder.split("/")[0] for d in outcome.manifest.datasets}
    assert folders == {first: "Map-abababab", second: "Map-cdcdcdcd", third: third}
    both, _ = extracted(path, tmp_path / "both", operator=("Map",))
    assert {d.operator_id for d in both.manifest.datasets} == {first, second}


@pytest.mark.parametrize("version", [3, 4, 6])
def test_a_uid_of_which_only_the_hash_is_stored(version: int, tmp_path: Path) -> None:
    identity = operator_id("my-uid")
    stored = version >= 5
    path = write_operators(tmp_path / "chk-1", [named(identity, "my-uid" if stored else None, None, 10)], version)
    for name in ("my-uid", identity, identity.upper()):
        assert read(path, name) == [(1, 10, 1, 0)]
        assert job_rows(path, tmp_path / f"out-{name}", operator=(name,)) == [(1, 10, 1, 0)]
    operator = stateextract.open_snapshot(str(path)).operator("my-uid")
    assert (operator.id, operator.uid) == (identity, "my-uid" if stored else None)
    with pytest.raises(UsageError, match="other-uid"):
        stateextract.open_snapshot(str(path)).operator("other-uid")


def test_a_uid_that_is_not_what_the_id_was_made_of(tmp_path: Path) -> None:
    """``setUidHash`` sets an id; another operator may have the hash of the first one's uid."""
    chosen = named("12" * 16, "orders", None, 10)
    hashed = named(operator_id("orders"), None, None, 20)
    path = write_operators(tmp_path / "snapshot", [hashed, chosen])
    assert read(path, "orders") == [(1, 10, 1, 0)]
    assert read(path, operator_id("orders")) == [(1, 20, 1, 0)]


# ---- files in several places


def test_relative_and_absolute_handles(tmp_path: Path) -> None:
    """What was claimed from another job lies there; what is this one's own lies beside ``_metadata`` or was moved."""
    claimed, here = tmp_path / "old-job" / "shared", tmp_path / "moved" / "chk-3"
    claimed.mkdir(parents=True)
    here.mkdir(parents=True)
    (here / "left-over").write_bytes(b"a file of nobody")
    subtasks = []
    for i, groups in enumerate((range(3), range(3, 6), range(6, 8))):
        made = heap(Keyed([numbers(groups)], groups=groups))
        data = made.stream.data  # type: ignore[union-attr]
        stream: RelativeHandle | FileHandle = RelativeHandle("own", len(data))
        if i == 1:
            stream = FileHandle(len(data), f"file:{claimed}/theirs")
        elif i == 2:
            stream = FileHandle(len(data), "file:/gone/7eda87/chk-3/before")
        (claimed if i == 1 else here).joinpath(("own", "theirs", "before")[i]).write_bytes(data)
        subtasks.append(SubtaskState(i, managed_keyed=replace(made, stream=stream)))
    path = write_operators(here, [one(subtasks, 3)])
    expected = [(g, 10 * g, g, min(g // 3, 2)) for g in range(8)]
    assert read(path) == expected
    assert job_rows(path, tmp_path / "out") == expected
    snapshot = stateextract.open_snapshot(str(path))
    assert [file for s in snapshot.states for file in s.files] == [
        f"{here}/own", f"{claimed}/theirs", f"{here}/before",
    ]  # fmt: skip
    assert snapshot.relocations == [("/gone/7eda87/chk-3/before", f"{here}/before")]
    (claimed / "theirs").unlink()
    with pytest.raises(MissingFileError) as caught:
        read(path)
    assert f"{claimed}/theirs" in str(caught.value)
    assert caught.value.operator == "op"


def test_relocated_by_hand(tmp_path: Path) -> None:
    """Several folders moved to several places."""
    subtasks = []
    for i, groups in enumerate((range(4), range(4, 8))):
        made = heap(Keyed([numbers(groups)], groups=groups))
        data = made.stream.data  # type: ignore[union-attr]
        place = tmp_path / f"place-{i}"
        place.mkdir()
        (place / "state").write_bytes(data)
        moved = replace(made, stream=FileHandle(len(data), f"s3://bucket-{i}/flink/state"))
        subtasks.append(SubtaskState(i, managed_keyed=moved))
    path = write_operators(tmp_path / "chk-1", [one(subtasks, 2)])
    pairs = tuple(f"s3://bucket-{i}/flink={tmp_path}/place-{i}" for i in range(2))
    assert job_rows(path, tmp_path / "out", path_map=pairs) == [(g, 10 * g, g, g // 4) for g in range(8)]
