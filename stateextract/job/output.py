"""The output as a folder on some file system: what the driver and the tasks write with.

Any URI that pyarrow opens, a plain local path, Flink's aliases of ``s3://``, and whatever ``fsspec`` knows beside.
Knows nothing of what is written.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from stateextract.errors import OutputError, UsageError
from stateextract.job.writer import write_error

_ALIASES = {"s3a": "s3", "s3n": "s3", "s3p": "s3"}
_RENAMING = frozenset({"local", "hdfs"})


@dataclass(frozen=True)
class Output:
    """A folder; ``root`` is its path on ``fs`` without a slash at the end."""

    uri: str
    fs: pafs.FileSystem
    root: str

    @property
    def renames(self) -> bool:
        """Whether moving a file or folder is one step on this store."""
        return self.fs.type_name in _RENAMING

    def path(self, relative: str) -> str:
        """Path on ``fs`` of something in the folder."""
        return f"{self.root}/{relative}"

    def read(self, path: str) -> bytes:
        """A whole file, by its path on ``fs``."""
        with self.fs.open_input_stream(path) as stream:
            data: bytes = stream.read()
        return data

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Part of a file."""
        with self.fs.open_input_file(path) as file:
            data: bytes = file.read_at(length, offset)
        if len(data) != length:
            raise OutputError(f"{length} bytes from {offset} were asked for and {len(data)} came", file=path)
        return data

    def write(self, path: str, data: bytes) -> None:
        """A whole file; an existing one is replaced."""
        with self.fs.open_output_stream(path) as stream:
            stream.write(data)


def open_output(uri: str) -> Output:
    """The folder that a URI or local path names; it need not exist.

    :raises UsageError: where no file system knows such a URI.
    """
    scheme, sign, rest = uri.partition(":")
    try:
        if not sign or len(scheme) < 2 or "/" in scheme:
            return Output(uri, pafs.LocalFileSystem(), _trimmed(os.path.abspath(os.path.expanduser(uri))))
        if scheme == "file":
            return Output(uri, pafs.LocalFileSystem(), _trimmed("/" + rest.lstrip("/")))
        fs, path = _from_uri(f"{_ALIASES.get(scheme, scheme)}:{rest}")
    except OSError as error:
        raise write_error(error, uri) from error
    return Output(uri, fs, _trimmed(path))


def _from_uri(uri: str) -> tuple[pafs.FileSystem, str]:
    try:
        return pafs.FileSystem.from_uri(uri)  # type: ignore[no-any-return]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as refused:
        try:
            import fsspec

            found: tuple[Any, str] = fsspec.core.url_to_fs(uri)
        except Exception as error:
            raise UsageError(f"no file system is known for {uri!r}: {refused}", advice="check --output") from error
        return pafs.PyFileSystem(pafs.FSSpecHandler(found[0])), found[1]


def _trimmed(path: str) -> str:
    return path.rstrip("/") or "/"
