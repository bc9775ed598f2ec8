"""A snapshot, opened once for everybody: found, its ``_metadata`` parsed, its files located, their headers read.

The job's plan, the metadata tables and the Python API begin here. Must not know of any of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from serializers import DescribeContext
from stateextract.changelog.log import Files
from stateextract.files.filesystem import Store
from stateextract.metadata.file import read_metadata
from stateextract.metadata.locate import Locator
from stateextract.metadata.model import OperatorState
from stateextract.options import JobOptions
from stateextract.snapshot.choose import choose_snapshot
from stateextract.snapshot.describe import describe_context, entries_of, with_coordinators, with_names
from stateextract.snapshot.files import SnapshotFiles
from stateextract.snapshot.headers import HeaderReader, OnHeaders, StateFile, ignore_progress
from stateextract.snapshot.inventory import OperatorInventory, take_inventory
from stateextract.snapshot.kryo_pojos import lacking, with_pojos
from stateextract.snapshot.stores import open_store


class SnapshotSource:
    """The files of one snapshot.

    :param path: what the user points at: ``_metadata``, its directory, the directory of a job's checkpoints, or
        high-availability data.
    :param checkpoint: the id of one of several snapshots, or 0; :param job: the id of one of several jobs.
    :param path_pairs: old and new beginnings of paths.
    :param codec: of compressed changelog files; :param verify_checksums: check their checksums.
    :param header_threads: threads that read headers; :param on_headers: called with how many were read, and how many there
        are.
    :raises SnapshotNotFoundError: if there is no snapshot, or more than one.
    :raises StateExtractError: if ``_metadata`` cannot be read.
    """

    def __init__(
        self,
        path: str,
        store: Store,
        path_pairs: Sequence[tuple[str, str]] = (),
        *,
        codec: str = "snappy",
        verify_checksums: bool = True,
        header_threads: int = 16,
        on_headers: OnHeaders = ignore_progress,
        checkpoint: int = 0,
        job: str = "",
    ) -> None:
        self.user_store = store
        """The store for what the user names; :attr:`locator` has the one for what the snapshot names."""
        self.found = choose_snapshot(path, store, path_pairs, checkpoint, job)
        self.metadata, self.data = read_metadata(store, self.found.metadata_uri)
        self.locator = Locator(self.found, store, tuple(path_pairs))
        self.path_pairs = tuple(path_pairs)
        self.codec = codec
        self.verify_checksums = verify_checksums
        self.changelog_files = Files()
        """Of changelogs, shared by all readers."""
        self._header_threads = header_threads
        self._on_headers = on_headers

    @classmethod
    def of_options(
        cls, options: JobOptions, store: Store | None = None, on_headers: OnHeaders = ignore_progress
    ) -> SnapshotSource:
        """The snapshot that the options name.

        :param store: in place of the one that the options describe.
        """
        return cls(
            options.snapshot, store or open_store(options), options.path_pairs(), codec=options.codec,
            verify_checksums=options.verify_checksums, header_threads=options.header_threads, on_headers=on_headers,
            checkpoint=options.checkpoint, job=options.job,
        )  # fmt: skip

    def files(self) -> SnapshotFiles:
        """A reader of its files."""
        return SnapshotFiles(self.locator, self.data, self.changelog_files)

    @property
    def metadata_sha256(self) -> str:
        """Of the bytes of ``_metadata``, in hex."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def notes(self) -> list[str]:
        """What was chosen for the user or is uncertain, in sentences."""
        notes = [self.found.note] if self.found.note else []
        notes.extend(self.metadata.notes)
        if not self.metadata.verified and not self.metadata.notes:
            notes.append(
                f"version {self.metadata.version} of _metadata is read by its specification and was never tested "
                "with a real file"
            )
        return notes

    def inventory(
        self, operators: Sequence[OperatorState] | None = None
    ) -> tuple[list[OperatorInventory], list[StateFile]]:
        """What is in the operators' files, by operator, and the files. Reads their headers.

        :param operators: ``None``: all.
        """
        part = self.metadata if operators is None else replace(self.metadata, operators=tuple(operators))
        reader = HeaderReader(part, self.data, self.locator, self.codec, self.verify_checksums)
        files = reader.read(self._header_threads, self._on_headers)
        return take_inventory(part, files), files

    def describe(
        self,
        kryo: str,
        classpath: Sequence[str],
        kryo_classes: Iterable[Mapping[str, Any]],
        protobuf: Sequence[str],
        plan: str,
        names: str,
    ) -> DescribeContext:
        """What describing serializers needs that their snapshots do not contain: classes, names of SQL's fields, partitions."""
        store = self.user_store
        context = describe_context(kryo, self.metadata.version, classpath, kryo_classes, store, protobuf)
        return with_names(with_coordinators(context, self.metadata), self.metadata, plan, names, store)

    def with_pojos(
        self, context: DescribeContext, files: Sequence[StateFile], whole: bool = True
    ) -> DescribeContext:
        """The context with what POJO serializers say of classes that Kryo wrote. Reads values, if a class is not known.

        :param files: those that are to be read; :param whole: they are all of the snapshot.
        """
        if not lacking(context, files):
            return context
        _, everything = ([], files) if whole else self.inventory()
        return with_pojos(
            context, self.metadata, everything, self.found.metadata_uri, self.path_pairs, self.user_store, self.codec
        )

    def describe_by(self, options: JobOptions) -> DescribeContext:
        """:meth:`describe` with the options of a job."""
        classes = entries_of(options.kryo_class)
        return self.describe(options.kryo, options.classpath, classes, options.protobuf, options.plan, options.names)


__all__ = ["SnapshotSource"]
