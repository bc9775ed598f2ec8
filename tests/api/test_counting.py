"""Counting many states reads each file once, and gives what counting them one by one gives."""

from __future__ import annotations

import tarfile
import weakref
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.api import counting
from stateextract.api.counting import count_rows
from stateextract.errors import MissingFileError, StateExtractError, UndecodableError
from stateextract.metadata.model import InlineHandle, KeyGroupsHandle, OperatorState, OperatorStateHandle, SubtaskState
from stateextract.metadata.parser import parse_metadata
from stateextract.snapshot import open_files
from stateextract.snapshot.open_files import SnapshotFiles
from tests.golden.expected import DATA, load
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.state.keyed_writer import i64, write_operators
from tests.state.operator_writer import Lists, simple

MANY = Path(__file__).parents[2] / ".." / "shared" / "reports" / "count-passes-once-per-state" / "chk-2.tar.xz"


def one_by_one(state: stateextract.State) -> int | str:
    try:
        return state.count()
    except StateExtractError as error:
        return str(error)


@pytest.mark.parametrize(
    "name",
    [
        "f120-kinds-checkpoint", "f117-kinds-native-snappy", "f120-changes-canonical", "f120-types-checkpoint",
        "f120-changes-checkpoint-rocksdb-incremental", "f120-changes-checkpoint-changelog-materialized",
    ],
)  # fmt: skip
@pytest.mark.parametrize("flatten", [False, True])
def test_as_one_by_one(name: str, flatten: bool) -> None:
    if not (DATA / name).exists():
        pytest.skip(name)
    states = stateextract.open_snapshot(str(DATA / name / load(DATA / name)["snapshot"]), flatten=flatten).states
    counts = counting.count_rows(states)
    assert counts == [one_by_one(state) for state in states]
    assert sum(count for count in counts if isinstance(count, int)) > 0


@pytest.mark.parametrize("form", ["plain", "compressed", "1.18", "1.18.0"])
def test_broadcast_states_beside_lists(form: str, tmp_path: Path) -> None:
    """A file of Flink 1.18 is read through, whatever of it is wanted."""
    lists = {("l", "SPLIT_DISTRIBUTE", simple("Long")): [i64(n) for n in range(3)], ("u", "UNION", simple("Long")): [i64(5)]}
    entries = [(i64(n), i64(n)) for n in range(4)]
    maps = {(name, simple("Long"), simple("Long")): entries[:count] for name, count in (("b", 2), ("c", 4))}
    data, states = Lists(lists, maps, form=form).write()
    handle = OperatorStateHandle(4, tuple(states), InlineHandle("file", data))
    operator = OperatorState("0f" * 16, "op", "op", 1, 4, subtasks=(SubtaskState(0, handle),))
    found = stateextract.open_snapshot(str(write_operators(tmp_path / "s", [operator]))).states
    counts = dict(zip((s.name for s in found), counting.count_rows(found), strict=True))
    assert counts == {"b": 2, "c": 4, "l": 3, "u": 1}


def test_what_cannot_be_counted(tmp_path: Path) -> None:
    states = {"a": numbered(80), "b": numbered(16), "c": numbered(8)}
    path = write_snapshot(tmp_path / "s", {"op": states, "other": {"a": numbered(8)}}, values={"b": UNKNOWN})
    (path / "other-0").unlink()
    a, b, c, other = counting.count_rows(stateextract.open_snapshot(str(path)).states)
    assert a == 80
    assert isinstance(b, StateExtractError)
    assert str(b).startswith("values of com.example.ShapeSerializerSnapshot cannot be decoded")
    assert isinstance(c, StateExtractError)
    assert (c.operator, c.state, str(c.status)) == ("op", "c", "unsupported")
    assert isinstance(other, MissingFileError)


def test_damage_concerns_the_states_that_it_reaches(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "s", {"op": {"a": numbered(80), "b": numbered(20)}})
    file = path / "op-1"
    file.write_bytes(file.read_bytes()[:-4] + b"")
    metadata = stateextract.open_snapshot(str(path)).states
    assert [s.coverage.status for s in metadata] == ["unreadable", "unreadable"]
    counts = counting.count_rows(metadata)
    assert all(isinstance(count, StateExtractError) for count in counts)


@pytest.mark.parametrize(
    ("failure", "message"),
    [(MemoryError(), "there is not enough memory to read it"), (KeyError("x"), "reading failed with KeyError: 'x'")],
)
def test_any_error_concerns_one_operator(
    failure: Exception, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what was read until then is not kept."""
    path = write_snapshot(tmp_path / "s", {"one": {"a": numbered(8), "b": numbered(8)}, "two": {"c": numbered(8)}})
    read_content = open_files.read_content
    kept: list[weakref.ref[Any]] = []

    def failing(read_at: Any, header: Any, *arguments: Any) -> Any:
        held = BytesIO()
        kept.append(weakref.ref(held))
        if "a" in {meta.name for meta in header.states}:
            raise failure
        return read_content(read_at, header, *arguments)

    monkeypatch.setattr(open_files, "read_content", failing)
    a, b, c = counting.count_rows(stateextract.open_snapshot(str(path), flatten=True).states)
    assert [one.message for one in (a, b) if isinstance(one, StateExtractError)] == [message] * 2
    assert c == 8
    failure.__traceback__ = None
    assert [reference() for reference in kept if reference() is not None] == []


def test_a_stored_count_beyond_the_file(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "s", {"op": {"a": numbered(80)}})
    handle = parse_metadata((path / "_metadata").read_bytes()).operators[0].subtasks[1].managed_keyed
    assert isinstance(handle, KeyGroupsHandle)
    file, at = path / "op-1", handle.offsets[0] + 6
    data = file.read_bytes()
    file.write_bytes(data[:at] + (2**31 - 1).to_bytes(4, "big") + data[at + 4 :])
    (state,) = stateextract.open_snapshot(str(path)).states
    with pytest.raises(StateExtractError, match="of 2147483647"):
        state.count()


@pytest.mark.skipif(not MANY.exists(), reason="the shared inputs are not there")
def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tarfile.open(MANY) as archive:
        archive.extractall(tmp_path, filter="data")
    states = stateextract.open_snapshot(str(tmp_path / "chk-2")).states
    opened: list[str] = []
    original = SnapshotFiles.opened

    def counted(self: SnapshotFiles, file, on_read=lambda size: None):  # type: ignore[no-untyped-def]
        opened.append(file.uri)
        return original(self, file, on_read)

    monkeypatch.setattr(SnapshotFiles, "opened", counted)
    counts = counting.count_rows(states)
    assert sum(count for count in counts if isinstance(count, int)) == 3000
    assert (len(states), len(opened), len(set(opened))) == (62, 4, 4)


@pytest.mark.parametrize("others", [{}, {"a": numbered(5)}])
def test_a_state_without_rows_needs_no_serializer(tmp_path: Path, others: Any) -> None:
    """``extract``, ``stats`` and ``validate`` say of it that nothing is missing."""
    values = {"empty": UNKNOWN, "full": UNKNOWN}
    path = write_snapshot(tmp_path / "s", {"op": {**others, "empty": numbered(0)}}, values=values)
    states = stateextract.open_snapshot(str(path)).states
    assert {state.name: count for state, count in zip(states, count_rows(states), strict=True)} == (
        {"empty": 0, **dict.fromkeys(others, 5)}
    )
    path = write_snapshot(tmp_path / "t", {"op": {**others, "full": numbered(1)}}, values=values)
    states = [state for state in stateextract.open_snapshot(str(path)).states if state.name == "full"]
    (count,) = count_rows(states)
    assert isinstance(count, UndecodableError)
