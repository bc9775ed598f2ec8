"""Reading parts of a snapshot's files in this process: bytes to batches that have their dataset's columns.

A part is what a plan says of one file (``split.py``). Its head is read again here, since state ids differ from file to
file, and the engine decodes the wanted states; batches are brought to the schema that the plan united over all files. Used
by the job's tasks and by Spark's data source; must not know of either, nor of Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pyarrow as pa

from stateextract.changelog.log import Files, Log
from stateextract.columnar.arrow.schema import cast_batch
from stateextract.columnar.convert.type_overrides import apply_overrides, parse_override
from stateextract.errors import MissingFileError, StateExtractError
from stateextract.files.prefetch import PrefetchRequest, FilePrefetcher, in_order
from stateextract.files.filesystem import Store, is_remote, parent
from stateextract.metadata.locate import FoundSnapshot, Locator
from stateextract.files.piece import FilePiece
from stateextract.files.window import READ
from stateextract.snapshot.changelogs import open_log, part_with
from stateextract.job.split import OperatorTargets, Part, StateTarget
from stateextract.metadata.file import read_metadata
from stateextract.metadata.model import ChangelogHandle, IncrementalHandle, KeyedStateHandle, SnapshotMetadata
from stateextract.rocksdb import RocksDB, RocksOptions, first_files, open_rocksdb
from stateextract.rocksdb.access import Opener
from stateextract.state.bodies.body import BodyKind
from stateextract.snapshot.content import read_content, read_head
from stateextract.state.engine import ReadOptions, Counters
from stateextract.state.target import Piece


class PartReader:
    """Reads parts of one snapshot.

    :param metadata_uri: the snapshot's ``_metadata``; parsed once, and only if a part is more than one file.
    :param options: what the engine is told, with the context of all operators.
    :param path_pairs: old and new beginnings of paths.
    :param store: what the user's options allow.
    """

    def __init__(
        self,
        metadata_uri: str,
        options: ReadOptions,
        path_pairs: tuple[tuple[str, str], ...] = (),
        store: Store | None = None,
    ) -> None:
        self._metadata_uri = metadata_uri
        self._options = options
        found = FoundSnapshot(metadata_uri, parent(metadata_uri), None)
        self._locator = Locator(found, store or Store(), path_pairs)
        self._store = self._locator.store
        self._files = FilePrefetcher(self._store)
        self._snapshot: tuple[SnapshotMetadata, bytes] | None = None
        self._changelog_files = Files()

    def in_order(self, parts: Iterable[Part], targets: Callable[[Part], OperatorTargets]) -> Iterator[Part]:
        """The parts; files of those that come next are opened meanwhile. Each has to be read before the next is taken.

        :param targets: what :meth:`pieces` will be given with a part.
        """

        def coming(part: Part) -> Iterator[PrefetchRequest]:
            if not is_remote(part.uri) or part.uri == self._metadata_uri:
                return
            yield PrefetchRequest(part.uri, part.content.beginning(READ)).behind(part.start)
            if part.content.form is BodyKind.SST_FILES and part.content.changes is None:
                with suppress(StateExtractError):  # which is said when the part is read
                    handle, _ = self._handle(part, targets(part))
                    if isinstance(handle, IncrementalHandle):
                        yield from first_files(handle, Opener(self._locator, self._files))

        return in_order(self._files, parts, coming)

    def pieces(self, part: Part, targets: OperatorTargets, tally: Counters) -> Iterator[Piece]:
        """The batches of the wanted states, those of one state in the order of the file.

        :param targets: the states, with their schemas and wishes.
        :raises StateExtractError: with file and operator, its offset counted in the file.
        """
        choices = {name: target.choice for name, target in targets.states.items()}
        options = replace(self._options, context=self._options.context.of_operator(targets.id), choices=choices)
        try:
            with self._files.open(part.uri) as file:
                read_at = FilePiece(file, part.start, part.content.size)
                head = read_head(read_at, part.content, options)
                wanted = {meta.name for meta in head.states} & set(targets.states)
                for piece in read_content(
                    read_at, head, part.content, wanted, options, tally, part.subtask, part.silent,
                    partial(self._database, part, targets), partial(self._log, part, targets),
                ):  # fmt: skip
                    target = targets.states[piece.state]
                    if piece.raw:
                        schema = target.raw_schema or piece.batch.schema
                        yield replace(piece, batch=cast_batch(piece.batch, schema))
                        continue
                    yield replace(piece, batch=_granted(piece.batch, target, piece.state))
        except StateExtractError as error:
            raise self._placed(error, part, targets) from None

    def _database(self, part: Part, targets: OperatorTargets, options: RocksOptions) -> RocksDB:
        """A subtask's database, which has many files."""
        handle, _ = self._handle(part, targets)
        handle = part_with(handle, part.content.key_groups[0])
        assert isinstance(handle, IncrementalHandle)
        open_file = Opener(self._locator, self._files, self._metadata_uri)
        return open_rocksdb(handle, open_file, options, open_file.expect)

    def _log(self, part: Part, targets: OperatorTargets, options: ReadOptions) -> Log:
        """The changes of a subtask since its state was materialized."""
        handle, data = self._handle(part, targets)
        assert isinstance(handle, ChangelogHandle)
        return open_log(
            handle, self._locator, lambda: data, options.codec, options.verify_checksums, self._changelog_files
        )

    def _handle(self, part: Part, targets: OperatorTargets) -> tuple[KeyedStateHandle | None, bytes]:
        """A subtask's handle. It stands in ``_metadata``, which is parsed here rather than sent along."""
        if self._snapshot is None:
            self._snapshot = read_metadata(self._store, self._metadata_uri)
        metadata, data = self._snapshot
        operator = next(o for o in metadata.operators if o.id == targets.id)
        return next(t.managed_keyed for t in operator.subtasks if t.index == part.subtask), data

    def _placed(self, error: StateExtractError, part: Part, targets: OperatorTargets) -> StateExtractError:
        """The error with file and operator, and its offset counted in the file."""
        if error.file is None and error.offset is not None:
            error.offset += part.start
        if isinstance(error, MissingFileError):
            error = self._locator.explain(error)
        return error.at(file=part.uri, operator=targets.label)


def _granted(batch: pa.RecordBatch, target: StateTarget, state: str) -> pa.RecordBatch:
    """A batch with the columns of its dataset, and with the types that the user chose."""
    try:
        if target.overrides:
            batch = cast_batch(batch, target.united or batch.schema)
            batch = apply_overrides(batch, [parse_override(path, type_) for path, type_ in target.overrides])
        return cast_batch(batch, target.schema)
    except StateExtractError as error:
        raise error.at(state=state) from None


__all__ = ["PartReader"]
