"""Checkpoints that a streaming query still needs, kept where Flink does not delete them.

A directory of the query has the files of its checkpoints as they are below the folder of all jobs: ``<job>/chk-N``,
``<job>/shared``. On the same file system they are hard links, which take no space as long as Flink has the files too. A file
that incremental checkpoints share is there once.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.fs as pafs

from stateextract.errors import MissingFileError, UsageError
from stateextract.files.filesystem import Store, is_inside, join, name_of, normalize, parent, split_uri
from stateextract.job.output import open_output
from stateextract.job.writer import write_error
from stateextract.metadata.file import read_metadata
from stateextract.metadata.locate import METADATA, FoundSnapshot, Locator, mapped
from stateextract.options import JobOptions
from stateextract.snapshot.checkpoint_list import Stream, locate_streams
from stateextract.snapshot.completed import Completed, completed_checkpoint, completed_checkpoints
from stateextract.snapshot.stores import open_store

_MARK = "_retained-by-stateextract"
_PIECE = 8 << 20


class Retained:
    """The directory.

    :param path: of it: one of this query, which others do not use.
    :param job: reads the checkpoints that Flink writes; its snapshot is the folder of a job, or the one above.
    :raises UsageError: where one of the two directories is in the other, or there is something else in it.
    """

    def __init__(self, path: str, job: JobOptions) -> None:
        self.uri, self._job = normalize(os.path.expanduser(path)), job
        self._path = normalize(job.snapshot)
        self._store = open_store(job)
        self._output = open_output(path, job.store_timeout)
        one, other = split_uri(self.uri), split_uri(self._path)
        if is_inside(one, other) or is_inside(other, one):
            raise UsageError(
                f"of the directories {path} (retainIn) and {job.snapshot} one is inside the other",
                advice="choose another directory for retainIn",
            )
        self._mark()

    def one(self, job: str, number: int) -> Completed | None:
        """A checkpoint that is kept."""
        return completed_checkpoint(self.uri, self._store, job, number)

    def reads(self, kept: Completed) -> JobOptions:
        """Options of a job that reads a kept checkpoint, and its files where they are kept."""
        root, pairs = self._root(kept.job), self._job.path_pairs()
        moved = [(old, there) for old, new in pairs for there in mapped(normalize(new) + "/", root, self.uri)]
        return replace(self._job, snapshot=kept.folder, path_map=((root, self.uri), *moved, *pairs))

    def keep(self, checkpoint: Completed, store: Store) -> bool:
        """Keep a checkpoint; ``False``: Flink deleted it before all of its files were kept."""
        if self.one(*checkpoint.name) is not None:
            return True
        found: dict[Stream, int] = {}
        try:
            metadata, data = read_metadata(store, checkpoint.metadata_uri)
            locator = Locator(
                FoundSnapshot(checkpoint.metadata_uri, checkpoint.folder), store, self._job.path_pairs()
            )
            if locate_streams(metadata, locator, found):
                return False
            folder = f"{checkpoint.job}/{name_of(checkpoint.folder)}"
            for uri in dict.fromkeys(uri for uri, _ in found):
                inside = next(iter(mapped(uri, self._root(checkpoint.job), "/")), None)
                # What is elsewhere, as the files of a savepoint that the job claimed, is looked for next to _metadata.
                self._copy(locator.store, uri, f"{folder}/{name_of(uri)}" if inside is None else inside.strip("/"))
        except MissingFileError:
            return False
        # The last one: with it the checkpoint is complete.
        self._write(f"{folder}/{METADATA}", iter([data]))
        return True

    def forget_all_but(self, names: Collection[tuple[str, int]]) -> None:
        """Delete the other checkpoints, and the files that only they have."""
        kept, needed = [], set()
        for one in completed_checkpoints(self.uri, self._store):
            if one.name not in names:
                self._output.fs.delete_file(self._output.path(f"{one.job}/{name_of(one.folder)}/{METADATA}"))
                continue
            kept.append(f"{one.job}/{name_of(one.folder)}/")
            found: dict[Stream, int] = {}
            locator = Locator(
                FoundSnapshot(one.metadata_uri, one.folder), self._store, self.reads(one).path_pairs()
            )
            locate_streams(read_metadata(self._store, one.metadata_uri)[0], locator, found)
            needed |= {uri for uri, _ in found}
        for relative in self._files():
            if not relative.startswith(tuple(kept)) and join(self.uri, relative) not in needed and relative != _MARK:
                self._output.fs.delete_file(self._output.path(relative))

    def _root(self, job: str) -> str:
        """The folder above the job's."""
        return parent(self._path) if name_of(self._path) == job else self._path

    def _mark(self) -> None:
        """What is in the directory is deleted when it is not needed, so it has to be this source's."""
        if not self._output.exists(self._output.path(_MARK)):
            if next(self._files(), None) is not None:
                raise UsageError(f"the directory {self.uri} (retainIn) is not empty", advice="choose an empty directory")
            self._write(_MARK, iter([b""]))

    def _files(self) -> Iterator[str]:
        """All files, by their paths in the directory."""
        selector = pafs.FileSelector(self._output.root, allow_not_found=True, recursive=True)
        for entry in self._output.fs.get_file_info(selector):
            if entry.type == pafs.FileType.File:
                yield entry.path.removeprefix(self._output.root).lstrip("/")

    def _copy(self, store: Store, uri: str, relative: str) -> None:
        path, size = self._output.path(relative), store.size(uri)
        if self._output.fs.get_file_info(path).size == size:
            return
        source = split_uri(uri)
        if source.scheme == "file" and self._output.fs.type_name == "local":
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.link(source.path, path)
                return
            except FileNotFoundError:
                raise MissingFileError("no such file", file=uri) from None
            except OSError:
                pass  # another file system, or one without links
        with store.open(uri) as file:
            self._write(relative, (file.read_at(at, min(_PIECE, size - at)) for at in range(0, size, _PIECE)))

    def _write(self, relative: str, pieces: Iterator[bytes]) -> None:
        path = self._output.path(relative)
        unfinished = f"{path}.unfinished" if self._output.renames else path
        try:
            self._output.fs.create_dir(os.path.dirname(path), recursive=True)
            with self._output.fs.open_output_stream(unfinished) as stream:
                for piece in pieces:
                    stream.write(piece)
            if self._output.renames:
                self._output.replace(unfinished, path)
        except (OSError, pa.ArrowException) as error:
            raise write_error(error, self.uri) from error
