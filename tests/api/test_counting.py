"""Counting many states reads each file once, and gives what counting them one by one gives."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import stateextract
from stateextract.api import counting
from stateextract.errors import MissingFileError, StateExtractError
from stateextract.snapshot.files import SnapshotFiles
from tests.golden.expected import DATA, load
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot

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
