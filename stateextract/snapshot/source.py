"""A snapshot, opened once for everybody: found, its ``_metadata`` parsed, its files located, their headers read.

The job's plan, the metadata tables and the Python API begin here. Must not know of any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from serializers import DescribeContext
from stateextract.files.decompressed_files import DecompressedFiles
from stateextract.files.filesystem import Store
from stateextract.metadata.file import read_metadata
from stateextract.metadata.locate import Locator
from stateextract.metadata.model import OperatorState
from stateextract.options import JobOptions
from stateextract.snapshot.choose import choose_snapshot
from stateextract.snapshot.describe_contexts import describe_context, entries_of, lacking, with_coordinators, with_names
from stateextract.snapshot.headers import HeaderReader, OnHeaders, StateFile, ignore_progress
from stateextract.snapshot.inventory import OperatorInventory, take_inventory
from stateextract.snapshot.open_files import SnapshotFiles
from stateextract.snapshot.stores import open_store
from stateextract.snapshot.uids import read_uids, with_uids

if TYPE_CHECKING:
    from stateextract.snapshot.part_reader import PartReader
    from stateextract.state.state_columns import ReadOptions


class SnapshotSource:
    """The files of one snapshot.

    :param options: which snapshot, where its files are, and how they are read.
    :param store: in place of the one that the options describe.
    :param on_headers: called with how many headers were read, and how many there are.
    :raises SnapshotNotFoundError: if there is no snapshot, or more than one.
    :raises StateExtractError: if ``_metadata`` cannot be read.
    """

    def __init__(
        self, options: JobOptions, store: Store | None = None, on_headers: OnHeaders = ignore_progress
    ) -> None:
        self._options = options
        self.user_store = store = store or open_store(options)
        """The store for what the user names; :attr:`locator` has the one for what the snapshot names."""
        self.path_pairs = options.path_pairs()
        self.found = choose_snapshot(options, store)
        self.metadata, self.data = read_metadata(store, self.found.metadata_uri)
        if options.uids:
            self.metadata = with_uids(self.metadata, read_uids(options.uids, store))
        self.locator = Locator(self.found, store, self.path_pairs)
        self.codec = options.codec
        self.verify_checksums = options.verify_checksums
        self.changelog_files = DecompressedFiles()
        """Of changelogs, shared by all readers."""
        self._on_headers = on_headers
        self._plan_notes: list[str] = []

    def files(self) -> SnapshotFiles:
        """A reader of its files."""
        return SnapshotFiles(self.locator, self.data, self.changelog_files)

    def reader(self, options: ReadOptions) -> PartReader:
        """A reader of parts of its files."""
        from stateextract.snapshot.part_reader import PartReader

        return PartReader(self.found.metadata_uri, options, self.path_pairs, self.user_store)

    @property
    def metadata_sha256(self) -> str:
        """Of the bytes of ``_metadata``, in hex."""
        import hashlib  # loads OpenSSL

        return hashlib.sha256(self.data).hexdigest()

    @property
    def notes(self) -> list[str]:
        """What was chosen for the user or is uncertain, in sentences."""
        notes = [self.found.note] if self.found.note else []
        notes += [*self.metadata.notes, *self._plan_notes]
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
        files = reader.read(self._options.header_threads, self._on_headers)
        return take_inventory(part, files), files

    def describe(self) -> DescribeContext:
        """What describing serializers needs that their snapshots do not contain: classes, names of SQL's fields, partitions."""
        options, store = self._options, self.user_store
        classes = entries_of(options.kryo_class)
        context = describe_context(
            options.kryo, self.metadata.version, options.classpath, classes, store, options.protobuf
        )
        context = with_coordinators(context, self.metadata)
        context, self._plan_notes = with_names(context, self.metadata, options.plan, options.names, store)
        return context

    def with_pojos(
        self, context: DescribeContext, files: Sequence[StateFile], whole: bool = True
    ) -> DescribeContext:
        """The context with what POJO serializers say of classes that Kryo wrote. Reads values, if a class is not known.

        :param files: those that are to be read; :param whole: they are all of the snapshot.
        """
        if not lacking(context, files):
            return context
        from stateextract.snapshot.kryo_pojos import with_pojos

        _, everything = ([], files) if whole else self.inventory()
        return with_pojos(context, self.metadata, everything, self.reader, self.codec)
