"""The output as a folder on some file system: what the driver and the tasks write with.

A local path, or the URI of a store (``files/connect.py``), with Flink's aliases of ``s3://``.
Knows nothing of what is written.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

import pyarrow.fs as pafs

from stateextract.errors import OutputError, StateExtractError, UsageError
from stateextract.files.connect import TIMEOUT, connect, problem_of, within
from stateextract.files.filesystem import is_inside, parent, split_uri
from stateextract.job.writer import write_error
from stateextract.printable import lone_surrogates

_RENAMING = frozenset({"local", "hdfs", "hdfs-native"})


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

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory, by its path on ``fs``."""
        return bool(self.fs.get_file_info(path).type != pafs.FileType.NotFound)

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
            raise OutputError(f"{length} bytes from {offset} were requested, and the store returned {len(data)}", file=path)
        return data

    def write(self, path: str, data: bytes) -> None:
        """A whole file; an existing one is replaced."""
        with self.fs.open_output_stream(path) as stream:
            stream.write(data)

    def replace(self, source: str, target: str) -> None:
        """Rename a file onto another one; of HDFS only hdfs-native does that in one step."""
        if self.fs.type_name == "hdfs" and self.exists(target):
            self.fs.delete_file(target)
        self.fs.move(source, target)

    def remove_if_empty(self) -> None:
        """Remove the folder itself. Only local disks do that without taking what was written into it a moment before."""
        if self.fs.type_name == "local":
            with contextlib.suppress(OSError):
                os.rmdir(self.root)


def open_output(uri: str, timeout: int = TIMEOUT) -> Output:
    """The folder that a URI or local path names; it need not exist.

    :param timeout: seconds that a store has for one answer.
    :raises UsageError: where it is the URI of no store, or has bytes that are not UTF-8, which pyarrow does not take.
    """
    address = split_uri(os.path.expanduser(uri))
    if lone_surrogates(address.path):
        raise UsageError("the path of the output is not text in UTF-8", file=address.path, advice="choose another --output")
    if address.scheme == "file":
        return Output(uri, pafs.LocalFileSystem(), address.path)
    problem = problem_of(address.scheme, address.authority)
    if problem is not None:
        raise UsageError(problem.message, expected=problem.expected, file=uri, advice="check --output")
    try:
        fs, base = within(timeout, lambda: connect(address.scheme, address.authority, {}, timeout), uri)
    except StateExtractError as error:
        raise error.at(file=uri) from None
    except Exception as error:  # the packages of stores raise whatever they like
        raise write_error(error, uri) from error
    return Output(uri, fs, (base.rstrip("/") + address.path).rstrip("/") or "/")


def refuse_inside(output: str, metadata_uri: str) -> None:
    """Refuse an output that is a snapshot's folder, or lies below it, which Flink deletes as a whole.

    :raises UsageError: with both.
    """
    inner, outer = (split_uri(os.path.expanduser(uri)) for uri in (output, parent(metadata_uri)))
    if inner.scheme == outer.scheme == "file":
        inner, outer = (address._replace(path=os.path.realpath(address.path)) for address in (inner, outer))
    if is_inside(inner, outer):
        raise UsageError(
            f"the output {output} is inside the snapshot {parent(metadata_uri)}",
            advice="choose another --output: Flink owns the directory of a snapshot",
        )
