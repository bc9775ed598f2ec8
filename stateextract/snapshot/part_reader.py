"""Reading parts of a snapshot's files in this process: bytes to batches that have their dataset's columns.

A part is what a plan says of one file (``parts.py``). Its head is read again here, since state ids differ from file to
file, and the engine decodes the wanted states; batches are brought to the schema that the plan united over all files. Used
by the job's tasks and by Spark's data source; must not know of either, nor of Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from serializers import DescribeContext, load_plugins
from stateextract.columnar.arrow.unite_schemas import cast_batch
from stateextract.columnar.convert.elements import Conversion
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.convert.type_overrides import apply_overrides, parse_override
from stateextract.errors import StateExtractError
from stateextract.files.filesystem import Store, parent
from stateextract.files.prefetch import PrefetchRequest, in_order
from stateextract.metadata.file import read_metadata
from stateextract.metadata.locate import FoundSnapshot, Locator
from stateextract.metadata.model import ChangelogHandle, IncrementalHandle, KeyedStateHandle, SnapshotMetadata
from stateextract.options import JobOptions
from stateextract.snapshot.content import KnownHeaders, read_header
from stateextract.snapshot.headers import StateFile
from stateextract.snapshot.job_type_overrides import OverrideTexts
from stateextract.snapshot.open_files import SnapshotFiles, with_header
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.snapshot.reading import read_options
from stateextract.snapshot.stores import open_store
from stateextract.state.bodies.body import BodyKind
from stateextract.state.counters import Counters, StateCounters
from stateextract.state.header import KeyedHeader
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import Piece

if TYPE_CHECKING:
    from stateextract.rocksdb import RocksDB


class PartReader:
    """Reads parts of one snapshot.

    :param metadata_uri: the snapshot's ``_metadata``; parsed once, and only if a part is more than one file.
    :param options: of the engine, with the context of all operators.
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
        self.options = options
        self._last: tuple[str, ReadOptions] | None = None
        self._headers: KnownHeaders = {}
        found = FoundSnapshot(metadata_uri, parent(metadata_uri), None)
        locator = Locator(found, store or Store(), path_pairs)
        self._files = SnapshotFiles(locator, lambda: self._snapshot[1])
        self.bytes_read = 0
        """Bytes that were read of files of state so far, those of SST files included."""

    def in_order(self, parts: Iterable[Part], targets: Callable[[Part], OperatorTargets]) -> Iterator[Part]:
        """The parts; files of those that come next are opened meanwhile. Each has to be read before the next is taken.

        :param targets: what :meth:`pieces` will be given with a part.
        """

        def coming(part: Part) -> Iterator[PrefetchRequest]:
            with suppress(StateExtractError):  # which is raised when the part is read
                file = self._with_handles(_file(part), part, targets(part))
                yield from self._files.requests(file, part.content, with_header)

        return in_order(self._files.prefetcher, parts, coming)

    def pieces(self, part: Part, targets: OperatorTargets, counters: Counters) -> Iterator[Piece]:
        """The batches of the wanted states, those of one state in the order of the file.

        :param targets: the states, with their schemas and type overrides.
        :raises StateExtractError: with file and operator, its offset counted in the file.
        """
        options = self._options_of(targets)
        file = _file(part)
        try:
            file = self._with_handles(file, part, targets)
            with self._files.opened(file, self._count) as read_at:
                header = read_header(read_at, part.content, options, self._headers)
                file = replace(file, header=header)
                selected = {meta.name for meta in header.states} & set(targets.states)
                for piece in self._files.pieces(
                    read_at, file, part.content, selected, options, counters, part.skip_broadcast_states, self._count
                ):
                    target = targets.states[piece.state]
                    if piece.raw:
                        schema = target.raw_schema or piece.batch.schema
                        yield replace(piece, batch=cast_batch(piece.batch, schema))
                        continue
                    yield replace(piece, batch=_with_overrides(piece.batch, target, piece.state, counters.of(piece.state)))
        except StateExtractError as error:
            raise self._files.with_location(error, file).at(operator=targets.label) from None

    def _options_of(self, targets: OperatorTargets) -> ReadOptions:
        """The options for an operator; those of the last one are kept, since its parts come one after the other."""
        choices = {name: target.choice for name, target in targets.states.items()}
        if self._last is None or self._last[0] != targets.id or self._last[1].choices != choices:
            context = self.options.context.of_operator(targets.id)
            self._last = targets.id, replace(self.options, context=context, choices=choices)
        return self._last[1]

    def database(self, part: Part, targets: OperatorTargets) -> tuple[KeyedHeader, RocksDB]:
        """The header and the database of a part that has one.

        :raises StateExtractError: with file and operator.
        """
        from stateextract.rocksdb import RocksOptions

        file = _file(part)
        try:
            file = self._with_handles(file, part, targets)
            with self._files.opened(file, self._count) as read_at:
                header = read_header(read_at, part.content, self.options, self._headers)
            assert isinstance(header, KeyedHeader)
            engine = "interpreter" if self.options.engine == "interpreter" else "auto"
            options = RocksOptions(self.options.verify_checksums, engine, self.options.policy.max_value_bytes)
            return header, self._files.database(file, self._count, options)
        except StateExtractError as error:
            raise self._files.with_location(error, file).at(operator=targets.label) from None

    def _count(self, size: int) -> None:
        self.bytes_read += size

    @cached_property
    def _snapshot(self) -> tuple[SnapshotMetadata, bytes]:
        return read_metadata(self._files.locator.store, self._files.metadata_uri)

    def _with_handles(self, file: StateFile, part: Part, targets: OperatorTargets) -> StateFile:
        """The file with the subtask's handle, for databases and changelogs. It is in ``_metadata``, which is parsed here rather
        than sent along."""
        if part.content.form is not BodyKind.SST_FILES and part.content.changes is None:
            return file
        operator = next(o for o in self._snapshot[0].operators if o.id == targets.id)
        handle = next(t.managed_keyed for t in operator.subtasks if t.index == part.subtask)
        materialized = _part_with(handle, part.content.key_groups[0])
        return replace(
            file, handle=materialized if isinstance(materialized, IncrementalHandle) else None,
            changelog=handle if isinstance(handle, ChangelogHandle) else None,
        )  # fmt: skip


def open_reader(job: JobOptions, metadata_uri: str, describe: DescribeContext, **changes: Any) -> PartReader:
    """A reader by the options of a job, which loads its plug-ins.

    :param describe: what describing serializers needs.
    :param changes: of the engine's options.
    """
    load_plugins(job.plugins)
    options = replace(read_options(job, describe), **changes)
    return PartReader(metadata_uri, options, job.path_pairs(), open_store(job))


def _file(part: Part) -> StateFile:
    content = part.content
    return StateFile(part.operator, part.subtask, "", content.form, part.uri, part.start, content.size, content)


def _with_overrides(batch: pa.RecordBatch, target: StateTarget, state: str, counters: StateCounters) -> pa.RecordBatch:
    """A batch with the columns of its dataset, and with the types that the user chose."""
    try:
        if target.overrides:
            batch = cast_batch(batch, target.merged or batch.schema)
            batch = overridden(batch, target.overrides, target.choice.policy, counters)
        return cast_batch(batch, target.schema)
    except StateExtractError as error:
        raise error.at(state=state) from None


def overridden(batch: pa.RecordBatch, texts: OverrideTexts, policy: Policy, counters: StateCounters) -> pa.RecordBatch:
    """A batch with its type overrides; what was changed to fit is counted.

    :raises ValueRefusedError: a value that the wanted type does not hold exactly.
    """
    fine = policy.timestamps == "nanoseconds"
    conversion = Conversion(policy)
    batch = apply_overrides(batch, [parse_override(path, type_, fine) for path, type_ in texts], conversion)
    notes = conversion.notes
    counters.counts += conversion.counts
    counters.counts.python_objects += notes.objects
    counters.counts.unread_pickles += notes.unread
    for reason in notes.reasons:
        counters.problem(f"pickles: {reason}")
    return batch


def _part_with(handle: KeyedStateHandle | None, key_group: int) -> KeyedStateHandle | None:
    """The handle itself, of a changelog the materialized part that has a key group."""
    if isinstance(handle, ChangelogHandle):
        return next((part for part in handle.materialized if key_group in part.key_groups), None)
    return handle
