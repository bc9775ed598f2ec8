"""Directories of Google Cloud Storage without an object of their own, on a bucket in memory that has none of them."""

from __future__ import annotations

from typing import Any

import pytest
from pyarrow import fs

from stateextract.files.google_storage import GoogleStorage

OBJECTS = ("b/job/chk-1/_metadata", "b/job/chk-1/x", "b/job/chk-10/_metadata", "b/job/shared/a", "b/job/notes", "b/jobs/x")


class Bucket:
    """As pyarrow's client: a listing of one level has objects only, and the marker of a directory that has one."""

    type_name = "gcs"

    def __init__(self) -> None:
        self.objects = set(OBJECTS)
        self.markers = {"b/job/taskowned"}

    def get_file_info(self, what: Any) -> Any:
        if isinstance(what, str):
            found = what in self.markers or any(one.startswith(f"{what}/") for one in self.objects)
            kind = fs.FileType.File if what in self.objects else fs.FileType.Directory if found else fs.FileType.NotFound
            return fs.FileInfo(what, kind)
        assert what.recursive
        base = f"{what.base_dir}/"
        files = [fs.FileInfo(one, fs.FileType.File, size=1) for one in sorted(self.objects) if one.startswith(base)]
        return files + [fs.FileInfo(one, fs.FileType.Directory) for one in self.markers if one.startswith(base)]

    def delete_dir(self, path: str) -> None:
        self.objects.discard(min(one for one in self.objects if one.startswith(f"{path}/")))
        raise FileNotFoundError(path)

    def delete_file(self, path: str) -> None:
        self.objects.remove(path)


def test_one_level() -> None:
    found = GoogleStorage(Bucket()).get_file_info(fs.FileSelector("b/job"))
    directory, file = fs.FileType.Directory, fs.FileType.File
    assert sorted((info.path, info.type) for info in found) == [
        ("b/job/chk-1", directory), ("b/job/chk-10", directory), ("b/job/notes", file), ("b/job/shared", directory),
        ("b/job/taskowned", directory),
    ]  # fmt: skip


def test_the_rest_is_as_before() -> None:
    files = GoogleStorage(Bucket())
    assert files.type_name == "gcs"
    assert files.get_file_info("b/job/notes").type == fs.FileType.File
    assert len(files.get_file_info(fs.FileSelector("b", recursive=True))) == len(OBJECTS) + 1
    assert files.get_file_info(fs.FileSelector("b/none", allow_not_found=True)) == []
    assert files.get_file_info(fs.FileSelector("b/job/taskowned")) == []
    with pytest.raises(FileNotFoundError, match="b/none"):
        files.get_file_info(fs.FileSelector("b/none"))


def test_a_directory_is_deleted_to_its_last_file() -> None:
    bucket = Bucket()
    GoogleStorage(bucket).delete_dir("b/job/chk-1")
    assert bucket.objects == {one for one in OBJECTS if "/chk-1/" not in one}
