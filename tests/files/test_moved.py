"""Real snapshots that were moved as Flink laid them out: all of their files are found without ``--path-map``."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import stateextract
from stateextract.api import Snapshot
from stateextract.files.filesystem import Store
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import (
    FileHandle,
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    StreamHandle,
)
from stateextract.metadata.parser import parse_metadata
from tests.golden.expected import DATA
from tests.metadata.writer import metadata
from tests.rocksdb.test_forst import SNAPSHOT

CHANGELOG = DATA / "f23-changes-checkpoint-changelog-materialized"
JOB = "b91f440a7fd82f69ffffffff845e7705"


def rows(snapshot: Snapshot) -> dict[tuple[str, str, str], int]:
    return {(s.operator.id, s.scope, s.name): s.to_table().num_rows for s in snapshot.states}


@pytest.mark.parametrize(
    ("checkpoints", "changelogs"),
    [
        ("flink/checkpoints", "flink/change-logs"),  # beside the folder of all jobs' checkpoints
        ("flink", "flink/change-logs"),
        ("flink", "flink"),  # in the job's own folder
    ],
)
def test_changelogs_in_a_folder_beside_the_checkpoints(checkpoints: str, changelogs: str, tmp_path: Path) -> None:
    """Where ``dstl.dfs.base-path`` is not the checkpoints' folder."""
    expected = rows(stateextract.open_snapshot(str(CHANGELOG / JOB)))
    job = tmp_path / checkpoints / JOB
    shutil.copytree(CHANGELOG / JOB, job)
    path = job / "chk-3" / "_metadata"
    data = path.read_bytes()
    old = f"checkpoints/{JOB}/dstl".encode()
    assert data.count(old) == 2
    path.write_bytes(data.replace(old, f"change-logs/{JOB}/dstl".encode()))
    (tmp_path / changelogs / JOB).mkdir(parents=True, exist_ok=True)
    shutil.move(job / "dstl", tmp_path / changelogs / JOB / "dstl.moved")
    (tmp_path / changelogs / JOB / "dstl.moved").rename(tmp_path / changelogs / JOB / "dstl")
    snapshot = stateextract.open_snapshot(str(job))
    assert snapshot.missing_files().paths == ()
    assert rows(snapshot) == expected
    found = dict(snapshot.relocations)
    name = "708a5331-0e74-495a-aca8-967d2127aec2"
    old_place = f"/flink/{CHANGELOG.name}/change-logs/{JOB}/dstl/{name}"
    assert found[old_place] == str(tmp_path / changelogs / JOB / "dstl" / name)
    # Also where no other file was found before, whose place tells where this one is.
    alone = Locator(find_snapshot(str(job), Store()), Store())
    assert alone.locate(FileHandle(1, old_place), exact_size=False).uri == found[old_place]


@pytest.mark.parametrize("claimed", [False, True])
def test_a_checkpoint_of_forst(claimed: bool, tmp_path: Path) -> None:
    """Its files are four parts deep: ``shared/op_…/db/<uuid>``; those of a claimed job are in that job's folder."""
    expected = rows(stateextract.open_snapshot(str(SNAPSHOT)))
    job = tmp_path / "checkpoints" / "job-2"
    owner = tmp_path / "checkpoints" / "job-1" if claimed else job
    (job / "chk-1").mkdir(parents=True)

    def moved(stream: StreamHandle, place: str) -> StreamHandle:
        assert isinstance(stream, InlineHandle)
        name = stream.name.rpartition("/")[2]
        target = owner / "shared" / place / "db" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(stream.data)
        return FileHandle(stream.size, f"s3a://old/flink/checkpoints/{owner.name}/shared/{place}/db/{name}")

    def of(handle: KeyedStateHandle | None, place: str) -> KeyedStateHandle | None:
        if isinstance(handle, KeyGroupsHandle):
            return replace(handle, stream=moved(handle.stream, place))
        if isinstance(handle, IncrementalHandle):
            shared, private = (
                tuple((name, moved(stream, place)) for name, stream in files) for files in (handle.shared, handle.private)
            )
            return replace(handle, meta=moved(handle.meta, place), shared=shared, private=private)
        return handle

    snapshot = parse_metadata((SNAPSHOT / "_metadata").read_bytes())
    operators = []
    for operator in snapshot.operators:
        tasks = [
            replace(
                task,
                managed_keyed=of(task.managed_keyed, f"op_{operator.id}_{task.index}"),
                raw_keyed=of(task.raw_keyed, f"op_{operator.id}_{task.index}"),
            )
            for task in operator.subtasks
        ]
        operators.append(replace(operator, subtasks=tuple(tasks)))
    (job / "chk-1" / "_metadata").write_bytes(metadata(replace(snapshot, operators=tuple(operators))))
    opened = stateextract.open_snapshot(str(job))
    assert opened.missing_files().paths == ()
    assert rows(opened) == expected
    assert sum(expected.values()) > 100
    assert len(opened.relocations) > 10
    assert {found for _, found in opened.relocations} == {str(path) for path in owner.glob("shared/op_*/db/*")}
