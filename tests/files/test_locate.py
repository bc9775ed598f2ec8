"""Finding snapshots and the files their handles mean, in place and after a move."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stateextract.errors import (
    FormatError,
    MissingFileError,
    SnapshotDeletedError,
    SnapshotNotFoundError,
    TruncatedError,
    UnreadableFileError,
)
from stateextract.files.filesystem import DirectoryEntry, Store
from stateextract.metadata.locate import FoundSnapshot, Location, Locator, find_snapshot
from stateextract.metadata.model import (
    EmptySegmentHandle,
    FileHandle,
    InlineHandle,
    NestedKeyGroupsHandle,
    RelativeHandle,
    SegmentHandle,
)

JOB = "0123456789abcdef0123456789abcdef"


def put(path: Path, data: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# -- finding


def test_metadata_file_and_snapshot_folder(tmp_path: Path) -> None:
    put(tmp_path / "savepoint-1" / "_metadata")
    found = FoundSnapshot(f"{tmp_path}/savepoint-1/_metadata", f"{tmp_path}/savepoint-1")
    assert find_snapshot(f"{tmp_path}/savepoint-1", Store()) == found
    assert find_snapshot(f"file:{tmp_path}/savepoint-1/_metadata", Store()) == found


def test_newest_complete_checkpoint_by_number(tmp_path: Path) -> None:
    job = tmp_path / JOB
    put(job / "chk-9" / "_metadata")
    put(job / "chk-10" / "_metadata")
    put(job / "chk-11" / "state")
    put(job / "chk-12" / "_metadata", b"")
    put(job / "shared" / "x")
    (job / "chk-x").mkdir()
    found = find_snapshot(str(job), Store())
    assert found.directory_uri == f"{job}/chk-10"
    assert found.note == (
        f"chk-10 is the newest complete checkpoint of 4 in {job}; skipped, without _metadata: chk-12, chk-11"
    )
    # The same from one level up, as long as it is the only job there.
    assert find_snapshot(str(tmp_path), Store()) == found


def test_several_jobs_are_listed(tmp_path: Path) -> None:
    old = put(tmp_path / "jobA" / "chk-1" / "_metadata")
    put(tmp_path / "jobB" / "chk-7" / "_metadata")
    put(tmp_path / "savepoint-1" / "_metadata")
    put(tmp_path / "unfinished" / "chk-1" / "state")
    os.utime(old, (1, 1))
    os.utime(tmp_path / "jobB" / "chk-7" / "_metadata", (2, 2))
    with pytest.raises(SnapshotNotFoundError) as caught:
        find_snapshot(str(tmp_path), Store())
    assert str(caught.value) == (
        f"3 jobs or snapshots are in {tmp_path}, newest first: savepoint-1, jobB/chk-7, jobA/chk-1. "
        "Give the path of one of them."
    )


def test_nothing_found_says_what_was_looked_at(tmp_path: Path) -> None:
    put(tmp_path / "readme")
    put(tmp_path / JOB / "chk-1" / "state")
    with pytest.raises(SnapshotNotFoundError, match=f"{tmp_path}/no does not exist; .* contains {JOB}, readme"):
        find_snapshot(f"{tmp_path}/no", Store())
    with pytest.raises(SnapshotNotFoundError, match="does not exist, nor does its parent"):
        find_snapshot(f"{tmp_path}/no/way", Store())
    with pytest.raises(SnapshotNotFoundError, match=f"no complete checkpoint in .*{JOB}: no _metadata in chk-1"):
        find_snapshot(f"{tmp_path}/{JOB}", Store())
    with pytest.raises(SnapshotNotFoundError, match=r"chk-1 is not a complete checkpoint.*it contains state"):
        find_snapshot(f"{tmp_path}/{JOB}/chk-1", Store())
    with pytest.raises(SnapshotNotFoundError, match=f"none in the folder below; it contains {JOB}, readme"):
        find_snapshot(str(tmp_path), Store())


# -- locating


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job's checkpoint folder, with files of every sort."""
    job = tmp_path / "old" / "checkpoints" / JOB
    put(job / "chk-3" / "_metadata")
    put(job / "chk-3" / "rel", b"12345")
    put(job / "shared" / "sst", b"123")
    put(job / "shared" / "merged" / "seg", b"0123456789")
    put(job / "taskowned" / "job_tm" / "own", b"1234")
    put(job / "chk-2" / "older", b"12")
    return job


def locator_of(job: Path, **options: list[tuple[str, str]]) -> Locator:
    return Locator(find_snapshot(str(job), Store()), Store(), **options)


def handles(job: Path) -> dict[str, FileHandle]:
    return {
        "shared/sst": FileHandle(3, f"file:{job}/shared/sst"),
        "taskowned/job_tm/own": FileHandle(4, f"file:{job}/taskowned/job_tm/own"),
        "chk-2/older": FileHandle(2, f"file:{job}/chk-2/older"),
    }


def test_every_stream_handle_in_place(job: Path) -> None:
    locator = locator_of(job)
    assert locator.locate(InlineHandle("n", b"abc")) == Location(None, b"abc", 0, 3)
    assert locator.locate(EmptySegmentHandle()) == Location(None, b"", 0, 0)
    assert locator.locate(RelativeHandle("rel", 5)) == Location(f"{job}/chk-3/rel", None, 0, 5)
    assert locator.locate(NestedKeyGroupsHandle(0, (1,), RelativeHandle("rel", 5))).uri == f"{job}/chk-3/rel"
    segment = SegmentHandle(2, 5, "SHARED", f"file:{job}/shared/merged/seg", "id")
    assert locator.locate(segment) == Location(f"{job}/shared/merged/seg", None, 2, 5)
    for path, handle in handles(job).items():
        assert locator.locate(handle) == Location(f"{job}/{path}", None, 0, handle.size)
    assert locator.relocations == []


@pytest.mark.parametrize("renamed", [JOB, "copy"])
def test_a_moved_job_folder(job: Path, tmp_path: Path, renamed: str) -> None:
    moved = tmp_path / "new" / renamed
    shutil.move(job, moved)
    locator = locator_of(moved)
    for path, handle in handles(job).items():
        assert locator.locate(handle) == Location(f"{moved}/{path}", None, 0, handle.size)
    segment = SegmentHandle(2, 8, "SHARED", f"file:{job}/shared/merged/seg", "id")
    assert locator.locate(segment) == Location(f"{moved}/shared/merged/seg", None, 2, 8)
    assert locator.locate(RelativeHandle("rel", 5)).uri == f"{moved}/chk-3/rel"
    paths = [*handles(job), "shared/merged/seg"]
    assert locator.relocations == sorted((f"{job}/{path}", f"{moved}/{path}") for path in paths)


def test_files_of_another_job_that_moved_along(job: Path, tmp_path: Path) -> None:
    other = job.parent / "other"
    put(other / "chk-1" / "_metadata")
    put(job.parent / "savepoint-1" / "state", b"1")
    shutil.move(job.parent, tmp_path / "new")
    locator = locator_of(tmp_path / "new" / "other")
    assert locator.locate(handles(job)["shared/sst"]).uri == f"{tmp_path}/new/{JOB}/shared/sst"
    assert locator.locate(handles(job)["taskowned/job_tm/own"]).uri == f"{tmp_path}/new/{JOB}/taskowned/job_tm/own"
    at = Locator(FoundSnapshot(f"{tmp_path}/new/savepoint-2/_metadata", f"{tmp_path}/new/savepoint-2"), Store())
    assert at.locate(FileHandle(1, f"{job.parent}/savepoint-1/state")).uri == f"{tmp_path}/new/savepoint-1/state"


def test_a_file_put_beside_metadata(job: Path) -> None:
    put(job / "chk-3" / "lost", b"1")
    locator = locator_of(job)
    assert locator.locate(FileHandle(1, "s3a://bucket/x/shared/lost")) == Location(f"{job}/chk-3/lost", None, 0, 1)
    assert locator.relocations == [("s3://bucket/x/shared/lost", f"{job}/chk-3/lost")]


def test_path_map_comes_first(job: Path, tmp_path: Path) -> None:
    put(tmp_path / "mapped" / "shared" / "sst", b"abc")
    locator = locator_of(
        job, path_map=[("s3p://bucket/a", str(tmp_path / "mapped")), (f"file:{job}/", f"{tmp_path}/mapped")]
    )
    assert locator.locate(FileHandle(3, f"file:{job}/shared/sst")).uri == f"{tmp_path}/mapped/shared/sst"
    assert locator.locate(FileHandle(3, "s3a://bucket/a/shared/sst")).uri == f"{tmp_path}/mapped/shared/sst"
    # What the mapping does not have is looked for as without it, and a prefix is whole parts of a path.
    assert locator.locate(handles(job)["chk-2/older"]).uri == f"{job}/chk-2/older"
    with pytest.raises(MissingFileError):
        locator.locate(FileHandle(3, f"file:{job}x/shared/sst2"))


def test_sizes_are_checked(job: Path) -> None:
    locator = locator_of(job)
    with pytest.raises(TruncatedError, match="the file has 3 bytes, but by the snapshot the file has 4") as caught:
        locator.locate(FileHandle(4, f"file:{job}/shared/sst"))
    assert (caught.value.file, caught.value.offset) == (f"{job}/shared/sst", 3)
    with pytest.raises(FormatError, match="the file has 3 bytes, but by the snapshot the file has 2"):
        locator.locate(FileHandle(2, f"file:{job}/shared/sst"))
    with pytest.raises(TruncatedError, match="the segment ends at byte 11"):
        locator.locate(SegmentHandle(3, 8, "SHARED", f"{job}/shared/merged/seg", "id"))
    # The handle of a changelog file tells another size.
    assert locator.locate(FileHandle(99, f"{job}/shared/sst"), exact_size=False).size == 3


def test_missing_file_says_where_it_was_looked_for(job: Path) -> None:
    with pytest.raises(MissingFileError) as caught:
        locator_of(job).locate(FileHandle(3, "file:/nowhere/shared/gone"))
    text = str(caught.value)
    assert not isinstance(caught.value, SnapshotDeletedError)
    assert caught.value.file == "/nowhere/shared/gone"
    for place in ("/nowhere/shared/gone", f"{job}/chk-3/gone", f"{job}/shared/gone"):
        assert place in text
    assert "--path-map OLD=NEW" in text


def test_a_snapshot_that_is_deleted_meanwhile(job: Path) -> None:
    locator = locator_of(job)
    shutil.rmtree(job / "chk-3")
    with pytest.raises(SnapshotDeletedError, match="deleted while it was read") as caught:
        locator.locate(RelativeHandle("rel", 5))
    assert caught.value.file == f"{job}/chk-3/rel"
    gone = MissingFileError("no such file", file="x")
    assert isinstance(locator.explain(gone), SnapshotDeletedError)
    put(job / "chk-3" / "_metadata")
    assert locator.explain(gone) is gone


@pytest.mark.parametrize(
    "path", ["", "/", "\0", "x\0/y", "../..", "\ud800", "nonsense://h/x", "x" * 5000, "file://h/x"]
)
def test_damaged_paths_are_missing_or_unreadable(job: Path, path: str) -> None:
    locator = locator_of(job)
    for handle in (FileHandle(1, path), RelativeHandle(path, 1), SegmentHandle(0, 1, "SHARED", path, "")):
        with pytest.raises((MissingFileError, UnreadableFileError)):
            locator.locate(handle)


class CountingStore(Store):
    def __init__(self, broken: str = "\0", allow: Sequence[str] = ()) -> None:
        super().__init__(allow=allow)
        self.listed: list[str] = []
        self.asked: list[str] = []
        self.broken = broken

    def list(self, uri: str) -> list[DirectoryEntry]:
        self.listed.append(uri)
        if uri.startswith(self.broken):
            raise UnreadableFileError("connection refused", file=uri)
        return super().list(uri)

    def info(self, uri: str) -> DirectoryEntry | None:
        self.asked.append(uri)
        if uri.startswith(self.broken):
            raise UnreadableFileError("connection refused", file=uri)
        return super().info(uri)


def test_thousands_of_files_cost_a_few_listings(tmp_path: Path) -> None:
    put(tmp_path / "new" / "chk-1" / "_metadata")
    for i in range(2000):
        put(tmp_path / "new" / "shared" / f"f{i}")
    store = CountingStore()
    locator = Locator(find_snapshot(str(tmp_path / "new"), store), store)
    store.listed.clear()
    store.asked.clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: locator.locate(FileHandle(1, f"/old/job/shared/f{i}")).uri, range(2000)))
    assert found == [f"{tmp_path}/new/shared/f{i}" for i in range(2000)]
    assert len(locator.relocations) == 2000
    assert len(store.listed) == len(set(store.listed)) <= 8
    assert store.asked == []


def test_a_store_out_of_reach_is_asked_once(job: Path) -> None:
    store = CountingStore("/far")
    locator = Locator(find_snapshot(str(job), store), store)
    put(job / "shared" / "other", b"123")
    assert locator.locate(FileHandle(3, "/far/away/shared/sst")).uri == f"{job}/shared/sst"
    assert locator.locate(FileHandle(3, "/far/away/shared/other")).uri == f"{job}/shared/other"
    for _ in range(3):
        with pytest.raises(UnreadableFileError, match=r"connection refused; expected a readable file, .* --path-map"):
            locator.locate(FileHandle(3, "/far/away/shared/none"))
    assert [uri for uri in store.asked if uri.startswith("/far")] == ["/far/away/shared/sst"]


def test_another_store_is_asked_last(job: Path) -> None:
    """A snapshot that was copied off its store is read without a question to that store."""
    store = CountingStore("s3://", allow=["s3://bucket"])
    locator = Locator(find_snapshot(str(job), store), store)
    assert locator.locate(FileHandle(3, "s3a://bucket/flink/job/shared/sst")).uri == f"{job}/shared/sst"
    assert [uri for uri in store.listed + store.asked if uri.startswith("s3")] == []
    with pytest.raises(UnreadableFileError, match="connection refused"):
        locator.locate(FileHandle(3, "s3a://bucket/flink/job/shared/none"))
