"""``_metadata`` that contradicts itself: the operator or the file is an error, and all others are read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stateextract import open_snapshot
from stateextract.metadata.model import (
    ChangelogHandle,
    IncrementalHandle,
    InlineHandle,
    KeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    SnapshotMetadata,
)
from stateextract.metadata.parser import parse_metadata
from tests.cli.test_cli import DATA, Out, out
from tests.job.snapshots import numbered, write_snapshot
from tests.metadata import writer

__all__ = ["out"]  # a fixture

ROCKSDB = "f113-changes-checkpoint-rocksdb-incremental"


def rewritten(folder: Path, change: Callable[[SnapshotMetadata], SnapshotMetadata]) -> str:
    (path,) = folder.rglob("_metadata")
    path.write_bytes(writer.metadata(change(parse_metadata(path.read_bytes()))))
    return str(path.parent)


def of_operators(**changes: Any) -> Callable[[SnapshotMetadata], SnapshotMetadata]:
    """Changes the operator ``a``."""

    def change(metadata: SnapshotMetadata) -> SnapshotMetadata:
        operators = (replace(o, **changes) if o.uid == "a" else o for o in metadata.operators)
        return replace(metadata, operators=tuple(operators))

    return change


def statuses(text: str) -> dict[tuple[str | None, str | None], tuple[str, int | None]]:
    found = json.loads(text)
    entries = found["coverage"]["entries"] if isinstance(found, dict) else found
    rows = [(e["operator_uid"], e["state_name"], e["status"], e["read"]["rows"] if "read" in e else e["rows"]) for e in entries]
    return {(uid, name): (status, rows) for uid, name, status, rows in rows}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parallelism": 0}, "invalid parallelism 0 with max parallelism 8"),
        ({"max_parallelism": 1 << 20}, "invalid parallelism 2 with max parallelism 1048576"),
        ({"id": "b"}, "a second operator has the id"),
    ],
)
def test_an_operator(tmp_path: Path, out: Out, changes: dict[str, Any], reason: str) -> None:
    states = {"count": numbered(20)}
    folder = write_snapshot(tmp_path / "chk-7", {"a": states, "b": states, "c": states})
    metadata = parse_metadata((folder / "_metadata").read_bytes())
    ids = {o.uid: o.id for o in metadata.operators}
    changes = {"id": ids["b"]} if "id" in changes else changes
    path = rewritten(folder, of_operators(**changes))
    code, text, err = out("extract", path, "--output", str(tmp_path / "rows"), "--engine", "local", "--format", "json")
    assert (code, err) == (3, "")
    found = statuses(text)
    whole = {key: one for key, one in found.items() if one == ("decoded", 20)}
    assert whole == {(uid, "count"): ("decoded", 20) for uid in (("c",) if "id" in changes else ("b", "c"))}
    assert {status for key, (status, _) in found.items() if key not in whole} == {"unreadable"}
    assert reason in text
    assert pq.read_table(tmp_path / "rows" / "c" / "count")["value"].to_pylist() == [10 * key for key in in_order(20)]
    for command, expected in (("count", 3), ("inspect", 3), ("states", 3), ("stats", 3), ("validate", 1)):
        code, text, err = out(command, path)
        assert (command, code, err) == (command, expected, "")
        assert reason in text
    code, text, _ = out("extract", path, "--output", str(tmp_path / "none"), "--engine", "local", "--operator", "a")
    assert code == 1
    assert not (tmp_path / "none").exists()
    (row,) = out.json("checkpoints", path, expected=3)["snapshots"]
    assert (row["status"], row["file_count"], row["reason"].startswith(reason)) == ("partial", 7, True)


EMPTY_LIST = OperatorStateHandle(4, (), InlineHandle("empty", b""))
EMPTY_LOG = ChangelogHandle(8, 0, 8, 0, (), (), 0, None, "handle")


@pytest.mark.parametrize("keyed", ["a state", "an empty log", "nothing"])
def test_an_operator_with_empty_operator_state(tmp_path: Path, out: Out, keyed: str) -> None:
    """Its states are listed, or if it has none, the operator."""
    folder = write_snapshot(tmp_path / "chk-7", {"a": {"count": numbered(20)}, "b": {"count": numbered(20)}})
    operator = next(o for o in parse_metadata((folder / "_metadata").read_bytes()).operators if o.uid == "a")
    tasks = tuple(replace(task, managed_operator=EMPTY_LIST) for task in operator.subtasks)
    if keyed != "a state":
        tasks = tuple(replace(task, managed_keyed=EMPTY_LOG if keyed == "an empty log" else None) for task in tasks)
    path = rewritten(folder, of_operators(parallelism=0, subtasks=tasks))
    reason = (
        "invalid parallelism 0 with max parallelism 8; expected 1 <= parallelism <= max parallelism <= 32768; "
        f"in file {path}/_metadata, operator a, byte offset 54."
    )
    for command in ("states", "count", "extract"):
        job = ("--engine", "local", "--output", str(tmp_path / "rows")) if command == "extract" else ()
        found = out.json(command, path, *job, expected=3)
        entries = found["coverage"]["entries"] if command == "extract" else found
        entry, other = sorted(entries, key=lambda e: e["operator_uid"])
        assert (entry["state_name"], entry["status"]) == ("count" if keyed == "a state" else None, "unreadable")
        assert entry["reason"].replace(", state count", "") == reason
        assert (other["state_name"], other["status"]) == ("count", "decoded")
    code, _, err = out("extract", path, "--engine", "local", "--output", str(tmp_path / "strict"), "--strict")
    assert (code, err.startswith("Error: invalid parallelism 0")) == (1, True)


def in_order(count: int) -> list[int]:
    return sorted(range(count), key=lambda number: (number % 8, number))


def fewer(metadata: SnapshotMetadata) -> SnapshotMetadata:
    """The handle of the first operator's last subtask without its last key group."""
    operator = next(o for o in metadata.operators if o.subtasks and o.subtasks[-1].managed_keyed is not None)
    *others, task = operator.subtasks
    handle = task.managed_keyed
    if isinstance(handle, IncrementalHandle | ChangelogHandle):
        handle = replace(handle, count=handle.count - 1)
    elif isinstance(handle, KeyGroupsHandle):
        handle = replace(handle, offsets=handle.offsets[:-1])
    changed = replace(operator, subtasks=(*others, replace(task, managed_keyed=handle)))
    return replace(metadata, operators=tuple(changed if o is operator else o for o in metadata.operators))


def test_a_handle_with_fewer_key_groups(tmp_path: Path, out: Out) -> None:
    """All other key groups are read. Key group 7 is missing, and 6 has its bytes at the end, which do not belong there."""
    states = {"count": numbered(20), "sum": numbered(9)}
    path = rewritten(write_snapshot(tmp_path / "chk-7", {"a": states, "b": states}), fewer)
    arguments = ("extract", path, "--engine", "local", "--output", str(tmp_path / "rows"), "--format", "json")
    code, text, err = out(*arguments)
    assert (code, err) == (3, "")
    assert statuses(text) == {
        ("a", "count"): ("partial", 16), ("a", "sum"): ("partial", 7),
        ("b", "count"): ("decoded", 20), ("b", "sum"): ("decoded", 9),
    }  # fmt: skip
    assert (
        "the state handle of subtask 1 has key groups 4-6; expected key groups 4-7, with parallelism 2 and max parallelism 8"
    ) in text
    codes = {command: out(command, path)[0] for command in ("count", "states", "inspect", "validate", "stats", "checkpoints")}
    assert codes == {"count": 3, "states": 3, "inspect": 3, "validate": 1, "stats": 3, "checkpoints": 3}


def test_a_database_with_more_key_groups_than_its_handle(tmp_path: Path, out: Out) -> None:
    """A database may have rows of other key groups, from before a rescaling. So only the range of the handle tells."""
    shutil.copytree(DATA / ROCKSDB, tmp_path / "job")
    path = rewritten(tmp_path / "job", lambda metadata: metadata)
    whole = statuses(out("count", path, "--format", "json")[1])
    assert {status for status, _ in whole.values()} == {"decoded"}
    rewritten(tmp_path / "job", fewer)
    code, text, _ = out("count", path, "--format", "json")
    found = statuses(text)
    assert code == 3
    assert found[None, "sum"] == ("unreadable", None)
    others = {"window-contents", "merging-window-set", "limits", "rules", "split-list", "union-list"}
    whole = {key: one for key, one in whole.items() if key[1] in others or "window-timers" in str(key[1])}
    assert {key: one for key, one in found.items() if one[0] == "decoded"} == whole


@pytest.mark.parametrize("case", ["f120-changes-checkpoint-changelog", "f23-changes-checkpoint-rocksdb-changelog-rescaled"])
def test_a_changelog_with_fewer_key_groups(tmp_path: Path, out: Out, case: str) -> None:
    """The rows of all other key groups are read, with nothing materialized and with the parts of other subtasks."""
    shutil.copytree(DATA / case, tmp_path / "job")
    path = rewritten(tmp_path / "job", lambda metadata: metadata)
    names = ("sum", "ttl-map", "numbers")
    states = {name: open_snapshot(path).operator("e34650bb56cd6e0043bc532589c0f9ae").state(name) for name in names}
    expected = {name: state.to_batches(key_groups=range(15)).read_all() for name, state in states.items()}
    assert all(0 < table.num_rows < states[name].count() for name, table in expected.items())
    rewritten(tmp_path / "job", fewer)
    code, text, err = out("extract", path, "--engine", "local", "--output", str(tmp_path / "rows"), "--format", "json")
    assert (code, err) == (3, "")
    entries = {e["state_name"]: e for e in json.loads(text)["coverage"]["entries"] if e["state_name"] in names}
    for name, table in expected.items():
        folder = Path(tmp_path, "rows", entries[name]["folder"])
        assert (entries[name]["status"], entries[name]["read"]["rows"]) == ("partial", table.num_rows)
        rows = pq.read_table(folder).select(table.schema.names).to_pylist()
        assert sorted(map(str, rows)) == sorted(map(str, table.to_pylist()))
    assert text.count("; expected key groups ") == 2 * 9  # the reason of each state, and of its reading
    assert out("validate", path)[0] == 1


def test_a_materialized_part_with_invalid_key_groups(tmp_path: Path, out: Out) -> None:
    """Only what changed since would be there."""
    case = "f120-changes-checkpoint-changelog-materialized"
    shutil.copytree(DATA / case, tmp_path / "job")
    path = rewritten(tmp_path / "job", lambda metadata: metadata)
    whole = statuses(out("count", path, "--format", "json")[1])

    def change(metadata: SnapshotMetadata) -> SnapshotMetadata:
        number, task = next(
            (number, task)
            for number, operator in enumerate(metadata.operators)
            for task in operator.subtasks
            if isinstance(task.managed_keyed, ChangelogHandle) and task.managed_keyed.materialized
        )
        handle = task.managed_keyed
        assert isinstance(handle, ChangelogHandle)
        wrong = replace(handle, materialized=tuple(replace(part, first=-7) for part in handle.materialized))  # type: ignore[type-var,call-arg]
        operator = metadata.operators[number]
        tasks = tuple(replace(one, managed_keyed=wrong) if one is task else one for one in operator.subtasks)
        changed = replace(operator, subtasks=tasks)
        return replace(metadata, operators=tuple(changed if o is operator else o for o in metadata.operators))

    rewritten(tmp_path / "job", change)
    code, text, _ = out("count", path, "--format", "json")
    found = statuses(text)
    assert code == 3
    assert "a materialized part of a changelog has no valid key groups" in text
    assert {key: one for key, one in found.items() if one != whole.get(key)} == {(None, None): ("unreadable", None)}
    assert (None, "sum") in whole.keys() - found.keys()


def test_the_coordinator_of_a_corrupt_operator(tmp_path: Path, out: Out) -> None:
    """Its bytes are there, and its operator is not known for sure."""
    operator = OperatorState("0a" * 16, "source", None, 0, 2, coordinator=InlineHandle("c", b"state"))
    (tmp_path / "chk-7").mkdir()
    (tmp_path / "chk-7" / "_metadata").write_bytes(writer.metadata(SnapshotMetadata(6, 7, (), (operator,))))
    for arguments in (("count",), ("count", "--operator", "source", "--state", "coordinator")):
        code, text, _ = out(arguments[0], str(tmp_path / "chk-7"), *arguments[1:], "--format", "json")
        (found,) = json.loads(text)
        assert (code, found["status"]) == (1, "unreadable"), arguments
        assert "invalid parallelism 0 with max parallelism 2" in found["reason"]
    (row,) = out.json("checkpoints", str(tmp_path / "chk-7"), expected=1)["snapshots"]
    assert (row["status"], row["checkpoint_id"], row["file_count"]) == ("unreadable", 7, 1)
