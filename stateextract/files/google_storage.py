"""Directories of Google Cloud Storage as pyarrow does not list them: those that have no object of their own.

pyarrow's listing of one level has the objects and the markers (objects whose names end with a slash) that are there. A copied
snapshot has no markers, so the directories ``chk-42`` and ``shared`` would not be found. Here a listing of one level takes the
names of all objects below it, 1,000 for each request, and groups them. Depends on pyarrow. Knows nothing of URIs.
"""

from __future__ import annotations

import errno
import os
from typing import Any


class GoogleStorage:
    """pyarrow's ``GcsFileSystem`` with its listing of one level replaced.

    :param files: the ``GcsFileSystem``, or its client in a helper process.
    """

    def __init__(self, files: Any) -> None:
        self._files = files

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def get_file_info(self, what: Any) -> Any:
        """As pyarrow's method.

        :raises FileNotFoundError: if there is nothing below the directory of a selector that requires it.
        """
        from pyarrow import fs

        if not isinstance(what, fs.FileSelector):
            return self._files.get_file_info(what)
        everything = fs.FileSelector(what.base_dir, recursive=True, allow_not_found=True)
        found = self._files.get_file_info(everything)
        if not found and not what.allow_not_found and self._files.get_file_info(what.base_dir).type != fs.FileType.Directory:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), what.base_dir)
        return found if what.recursive else _one_level(found, what.base_dir.rstrip("/") + "/")

    def delete_dir(self, path: str) -> None:
        """As pyarrow's method, which fails after the last file if the directory has no object of its own."""
        from pyarrow import fs

        try:
            self._files.delete_dir(path)
        except FileNotFoundError:
            for info in self._files.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True)):
                if info.type == fs.FileType.File:
                    self._files.delete_file(info.path)


def _one_level(infos: list[Any], base: str) -> list[Any]:
    from pyarrow import fs

    entries: dict[str, Any] = {}
    for info in infos:
        name, slash, _ = info.path.removeprefix(base).partition("/")
        if slash:
            entries.setdefault(name, fs.FileInfo(base + name, fs.FileType.Directory))
        else:
            entries[name] = info
    return list(entries.values())
