"""One state of a snapshot: its schema, its rows as Arrow batches, and what of it can be had.

Reads the files of the state one after the other, in this process, as batches are taken. Little state is read by the
interpreter, which needs nothing to be loaded first; much by the kernel. May import heads, engine and files; must not
know of Spark or Parquet.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.api.counts import counts_in_files
from stateextract.api.html import table
from stateextract.columnar.arrow.unite_schemas import cast_batch
from stateextract.columnar.compiled import engines
from stateextract.columnar.convert.type_overrides import UNWRAP_ROW
from stateextract.columnar.search.key_pattern import Finder
from stateextract.doors import api_door
from stateextract.errors import StateExtractError, UndecodableError, UnsupportedError, UsageError, leaving
from stateextract.files.filesystem import split_uri
from stateextract.outcome import Status
from stateextract.snapshot.content import Content
from stateextract.snapshot.coverage import CANNOT_BE_READ, CoverageEntry
from stateextract.snapshot.headers import StateFile, StateScope
from stateextract.snapshot.inventory import NamedState
from stateextract.snapshot.job_type_overrides import OverrideTexts
from stateextract.snapshot.open_files import beginning, nothing
from stateextract.snapshot.part_reader import overridden
from stateextract.snapshot.python_types import Suggestion, is_python, suggestions
from stateextract.state.bodies.body import BodyKind
from stateextract.state.counters import Counters, StateCounters
from stateextract.state.flink_states import PYTHON_STATE
from stateextract.state.header import KeyedHeader
from stateextract.state.keys.java_hash import ROW_KINDS, is_certain
from stateextract.state.keys.key_groups import key_scalar
from stateextract.state.keys.lookup import (
    KeyGroupSelector,
    groups_by_serializer,
    has_key,
    is_found,
    is_one_key,
    key_pattern,
)
from stateextract.state.keys.pickled import pickles_of
from stateextract.state.row_layout import RowLayout, row_layout
from stateextract.state.state_columns import ReadOptions, merged_raw_schema, merged_schema
from stateextract.state.target import Piece

if TYPE_CHECKING:
    from stateextract.api.snapshot import Operator

_ONE_ROW = ("value", "list", "map", "reducing", "aggregating")
"""Kinds that have one row of a key and namespace."""
_SERIALIZERS = (("key", "key_serializer"), ("namespace", "namespace_serializer"), ("value", "value_serializer"))


@dataclass(frozen=True)
class Coverage:
    """What of a state can be had, and after reading what was.

    :param status: a word of ``docs/exit-codes.md``. Before reading, it is a forecast.
    :param reason: the reason, where it is not ``decoded``.
    :param counters: what was read so far; counts of rows, bytes, changed values and losses.
    :param complete: whether the state was read to its end.
    """

    status: Status
    reason: str | None = None
    counters: StateCounters = field(default_factory=StateCounters)
    complete: bool = False


class State:
    """A named state of one operator, over all its subtasks."""

    def __init__(self, operator: Operator, entry: CoverageEntry, named: NamedState) -> None:
        self.operator = operator
        self.name: str = entry.state or ""
        """Empty if no header that can be read has the name: the entry is then for all states of such files."""
        self.kind: str = entry.kind
        """``value``, ``list``, ``map``, ``reducing``, ``aggregating`` or ``timer``; ``list (split)``, ``list (union)`` or
        ``broadcast`` for operator state."""
        self.scope: StateScope = named.scope
        self.role: str | None = entry.role
        """What Flink's own operators keep under that name, in a few words; ``None`` where the name is the user's."""
        self.form: str = entry.form
        """How the bytes are kept: ``heap``, ``full snapshot``, ``SST files``, ``changelog``, ``operator state``."""
        self.handles: int = entry.handles
        self.size: int | None = entry.size
        """Bytes, where the snapshot says so. It does not for keyed state, whose files all states share."""
        self._entry = entry
        self._named_state = named
        self._opened = operator.snapshot._opened
        self._files = self._opened.source.files()
        self.on_progress: Callable[[int, int], None] | None = None
        """Receives, while rows are read, how many bytes of the files and how many rows have come since its last call."""
        self.searched: frozenset[int] | None = None
        """The key groups that the last :meth:`get` read; ``None``: all."""
        self._coverage: Coverage | None = None
        self._opened.overrides.concern(operator._state, self.name)
        self._choice = self._opened.policies.of(operator._state, self.name)

    def __repr__(self) -> str:
        return f"<State {self.name!r} ({self.kind}) of {self.operator.label}, {self.coverage.status}>"

    def _repr_html_(self) -> str:
        title = f"State {self.name} ({self.kind}) of {self.operator.label}, {self.coverage.status}"
        try:
            columns = [(field.name, str(field.type)) for field in self.schema]
        except StateExtractError as error:
            return table(title, ["problem"], [(str(error),)])
        return table(title, ["column", "type"], columns)

    @property
    def files(self) -> list[str]:
        """The files that hold it, each once."""
        return list(dict.fromkeys(file.uri for file in self._named_state.files))

    @cached_property
    def _options(self) -> ReadOptions:
        """The snapshot's, with the names for this operator."""
        options = self._opened.options
        if self._choice is not None:
            options = replace(options, policy=self._choice.policy, on_undecodable=self._choice.on_undecodable)
        return replace(options, context=options.context.of_operator(self.operator.id))

    @cached_property
    def _rows(self) -> list[RowLayout]:
        """The layout in each file, equal heads once."""
        return self._named_state.rows(self._options.context)

    @cached_property
    def _override_texts(self) -> OverrideTexts:
        """The user's types, and those that show what Python wrote."""
        return self._opened.types.of(self.operator._inventory, self._named_state, self._merged, self._options)

    def _as_stored(self) -> State:
        """The same state with the types of its serializers, for code that expects these, whatever types the user chose."""
        state = copy(self)
        state.__dict__.pop("schema", None)
        state.__dict__["_override_texts"] = ()
        return state

    @property
    def untyped(self) -> bool:
        """Whether PyFlink wrote it and its type is not known, so that it is shown as bytes."""
        return self._opened.types.is_untyped(self._named_state, self.schema, self._override_texts)

    def _suggestions(self) -> Iterator[Suggestion]:
        if self._rows and self._entry.status not in CANNOT_BE_READ:
            yield from suggestions(
                self._opened.types, self.operator._inventory, self._named_state, self._merged, self._options
            )

    @property
    def pyflink(self) -> bool:
        """Whether PyFlink wrote it: the job's own values are then what Python's coders made of them."""
        return is_python(self.operator._inventory, self._named_state)

    @property
    def serializers(self) -> dict[str, str]:
        """Snapshot classes of the serializers of key, namespace and value, as far as they are in the head."""
        if not self._rows:
            return {}
        found = ((part, getattr(self._rows[0], name)) for part, name in _SERIALIZERS)
        return {part: snapshot.class_name for part, snapshot in found if snapshot is not None}

    @cached_property
    def _merged(self) -> pa.Schema:
        """The columns before the types that the user chose."""
        return merged_schema(self._rows, self._options)

    @cached_property
    @leaving()
    def schema(self) -> pa.Schema:
        """The columns of its rows, the same whichever way the snapshot was taken.

        :raises UnsupportedError: where it is not known.
        """
        if not self._rows:
            self._refuse()
        try:
            return self._opened.types.schema(self._merged, self._override_texts, self._options)
        except StateExtractError as error:
            raise self._named(error) from None

    @property
    def coverage(self) -> Coverage:
        """What of the state can be had; after reading, what was."""
        if self._coverage is None:
            self._coverage = self._expected()
        return replace(self._coverage, reason=api_door().reason(self._coverage.reason))

    def _expected(self) -> Coverage:
        found = self.operator._forecasts.of(self._named_state)
        status = found.status
        if self._entry.status not in CANNOT_BE_READ and status is Status.UNSUPPORTED:
            status = {"fail": Status.UNSUPPORTED, "skip": Status.SKIPPED, "raw": Status.RAW}[self._options.on_undecodable]
        return Coverage(status, found.reason)

    @leaving()
    def to_batches(
        self, limit: int | None = None, *, key_groups: Collection[int] | None = None
    ) -> pa.RecordBatchReader:
        """Its rows. Reading happens as batches are taken; errors that come up then carry file, key group and offset.

        :param limit: stop after that many rows.
        :param key_groups: read only these; ``None``: all. Operator state has none.
        :raises UnsupportedError: where this version cannot read the state.
        """
        self._check_readable()
        if limit is not None and limit < 0:
            raise UsageError(f"the limit is {limit}", expected="a number of rows, at least 0")
        groups = None if key_groups is None else frozenset(key_groups)
        return pa.RecordBatchReader.from_batches(
            self.schema, self._typed(limit, None if groups is None else lambda _: groups)
        )

    @leaving()
    def get(self, key: Any, namespace: Any = None, *, elsewhere: bool = True) -> pa.Table:
        """The rows of a key. Only the key group that can hold it is read, where its hash is known.

        The hash of a ``Row`` is that of its fields by position. If its key group has no such row, the others are read too.

        :param key: a Python value of the key's type, or text; ``docs/python-api.md`` describes how.
        :param namespace: likewise; ``None``: of all namespaces.
        :param elsewhere: whether the other key groups are read too, if the one that the hash leads to has no such row.
        :raises UsageError: if it is not such a value, or the state has no keys or no namespaces.
        """
        keys = self._keys(key)
        matches = [("key", keys)]
        if namespace is not None:
            matches.append(("namespace", [self._scalar("namespace", namespace)]))
        self._check_readable()
        unique = self.kind in _ONE_ROW and not self._options.flatten
        unique &= all(len(values) == 1 and is_one_key(values[0]) for _, values in matches)
        unique &= not any(path.split(".")[0] in dict(matches) for path, _ in self._override_texts)
        unique &= "namespace" not in self.schema.names or namespace is not None
        # An override changes what the column shows, and the bytes are those of what it was before.
        overridden = any(path.split(".")[0] == "key" for path, _ in self._override_texts)
        self.searched = self.key_groups_of(key)
        sought = None if overridden or len(keys) > 1 else keys[0]
        found = self._rows_of(matches, self._groups_of(keys), sought, unique)
        if elsewhere and not found and self.searched is not None and not self._certain:
            self.searched = None
            found = self._rows_of(matches, None, sought, unique)
        return pa.Table.from_batches(found, self.schema)

    def _rows_of(
        self, matches: list[tuple[str, list[pa.Scalar]]], groups: KeyGroupSelector | None, key: pa.Scalar | None, unique: bool
    ) -> list[pa.RecordBatch]:
        found: list[pa.RecordBatch] = []
        for batch in self._typed(None, groups or (lambda _: None), key):
            rows = np.logical_and.reduce([has_key(batch.column(column), values) for column, values in matches])
            if rows.any():
                found.append(_copied(batch, rows))
                if unique:
                    break
        return found

    def _keys(self, key: Any) -> list[pa.Scalar]:
        """The keys that a key represents: a Row without its kind is of any kind, and a pickled key is JSON in any spelling."""
        pickled = any(path.split(".")[0] == "key" and "pickle" in type_ for path, type_ in self._override_texts)
        if pickled and "key" in self.schema.names and pa.types.is_string(self.schema.field("key").type):
            try:
                value = json.loads(key) if isinstance(key, str) else key
                text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            except (TypeError, ValueError):
                text = key
            texts = dict.fromkeys([text, *([key] if isinstance(key, str) else []), json.dumps(key, ensure_ascii=False)])
            return [self._scalar("key", text) for text in texts]
        scalar = self._scalar("key", key)
        type_ = scalar.type
        if not pa.types.is_struct(type_) or type_.num_fields < 2 or type_.field(type_.num_fields - 1).name != "row_kind":
            return [scalar]
        value = scalar.as_py()
        if value is None or value["row_kind"] is not None:
            return [scalar]
        return [pa.scalar({**value, "row_kind": kind}, type_) for kind in ROW_KINDS]

    @property
    def _certain(self) -> bool:
        """Whether keys are in the key groups that their hashes lead to, whatever the job did."""
        headers = (file.header for file in self._named_state.files)
        return all(is_certain(h.key_serializer) for h in headers if isinstance(h, KeyedHeader) and h.key_serializer is not None)

    @leaving()
    def key_groups_of(self, key: Any) -> frozenset[int] | None:
        """The key groups that :meth:`get` reads first for a key; ``None``: all, as the hash of such keys is not known.

        :raises UsageError: where it is not a key of the state.
        """
        of, found = self._groups_of(self._keys(key)), frozenset[int]()
        for file in self._named_state.files:
            groups = of(file.header.key_serializer if isinstance(file.header, KeyedHeader) else None)
            if groups is None:
                return None
            found |= groups
        return found

    def _groups_of(self, keys: list[pa.Scalar]) -> KeyGroupSelector:
        types = [type_ for path, type_ in self._override_texts if path.split(".")[0] == "key" and type_ != UNWRAP_ROW]
        if types == ["pickle"]:
            process = any(state.name.startswith(PYTHON_STATE) for state in self.operator.states)
            likely = next(filter(None, (pickles_of(key.as_py(), process) for key in keys)), [])
            keys = [pa.scalar(data, pa.binary()) for data in likely]
            if not keys:
                return lambda _: None
        elif types:
            return lambda _: None  # the hash is that of the type which Flink has
        return groups_by_serializer(keys, None, self.operator.max_parallelism, self._options.policy, likely=True)

    def _scalar(self, column: str, value: Any) -> pa.Scalar:
        if column not in self.schema.names:
            raise UsageError(f"the state has no {column}s", operator=self.operator.label, state=self.name)
        try:
            return key_scalar(value, self.schema.field(column).type, column)
        except UsageError as error:
            raise self._named(error) from None

    @leaving()
    def count(self) -> int:
        """How many rows it has.

        Read off the counts in the files where these say it, else by walking all entries without decoding them.

        :raises StateExtractError: as :meth:`to_batches`.
        """
        if not self._options.flatten and self._entry.status not in CANNOT_BE_READ:
            known = counts_in_files(self._files, self._named_state)
            if known is not None:
                return known
        self._check_readable()
        # Columns that take no decoding; maps that are broadcast have none.
        columns = [field for field in self.schema if field.name in ("key_group", "subtask")]
        options = replace(self._options, columns={self.name: pa.schema(columns)} if columns else None)
        counters = Counters()
        for _ in self._pieces(options, counters, None):
            pass
        counted = counters.of(self.name)
        if counted.lost_entries or counted.lost_key_groups:
            raise UndecodableError(
                f"the rows cannot be counted: {counted.problems[0]}", operator=self.operator.label, state=self.name
            )
        return counted.rows

    def to_table(self, limit: int | None = None) -> pa.Table:
        """All its rows, or the first ``limit``, in memory."""
        return self.to_batches(limit).read_all()

    @leaving()
    def raw_batches(self) -> pa.RecordBatchReader:
        """What cannot be decoded, as bytes with the reason.

        Where values have lengths (canonical savepoints, RocksDB) a row for each, with its key as far as that can be
        decoded. In files of the HashMap backend they have none: then a row per key group and part, without keys, and of
        an uncompressed file all bytes from the first undecodable value to the end of the key group. ``coverage`` counts
        what is lost, as with :meth:`to_batches`.
        """
        if self._entry.status in CANNOT_BE_READ:
            self._refuse()
        options = replace(self._options, on_undecodable="raw")
        try:
            schema = merged_raw_schema(self._rows, options)
        except StateExtractError as error:
            raise self._named(error) from None
        return pa.RecordBatchReader.from_batches(schema, self._raw(options, schema))

    def _raw(self, options: ReadOptions, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        counters = Counters()
        with self._covering(counters):
            for piece in self._pieces(options, counters, None):
                if piece.raw:
                    yield cast_batch(piece.batch, schema)
            self._complete()

    @contextmanager
    def _covering(self, counters: Counters) -> Iterator[None]:
        """While it is read: at the end, ``coverage`` says what became of it, an error included."""
        self._coverage = replace(self._expected(), counters=counters.of(self.name), complete=False)
        try:
            yield
        except StateExtractError as error:
            self._coverage = replace(self._coverage, status=error.status, reason=error.message)
            raise
        except GeneratorExit:
            self._finalize(counters)
            raise
        self._finalize(counters)

    def _complete(self) -> None:
        assert self._coverage is not None
        self._coverage = replace(self._coverage, complete=True)

    def _finalize(self, counters: Counters) -> None:
        """Take in what became of the state, if no error ended it."""
        assert self._coverage is not None
        read = replace(self._entry, read=counters.of(self.name))
        read.finalize()
        if self._coverage.complete or read.status != self._entry.status:
            self._coverage = replace(self._coverage, status=read.status, reason=read.reason)

    def _check_readable(self) -> None:
        if self._entry.status in CANNOT_BE_READ:
            self._refuse()
        self.schema  # noqa: B018 - raises where the columns of its files cannot be united
        expected = self._expected()
        if expected.status == Status.UNSUPPORTED:
            raise UndecodableError(
                expected.reason or "",
                operator=self.operator.label,
                state=self.name,
                file=self.files[0] if self.files else None,
                advice="set --on-undecodable to raw to get its bytes, or register a serializer as a plug-in",
            )

    def _refuse(self) -> NoReturn:
        for problem in self._named_state.problems:
            raise self._named(copy(problem))
        raise UnsupportedError(
            f"this version cannot read the state: {self._entry.reason}", operator=self.operator.label, state=self.name
        )

    def _typed(
        self, limit: int | None, groups: KeyGroupSelector | None = None, key: pa.Scalar | None = None
    ) -> Iterator[pa.RecordBatch]:
        counters = Counters()
        left = sys.maxsize if limit is None else limit
        with self._covering(counters):
            options = replace(self._options, key=key)
            for piece in self._pieces(options, counters, limit, self._override_texts, groups) if left else ():
                if piece.raw:
                    continue
                batch = cast_batch(piece.batch, self.schema)
                yield batch.slice(0, left)
                left -= batch.num_rows
                if left <= 0:
                    return
            if groups is None and (limit is None or left):
                self._complete()

    # -- bytes

    def _pieces(
        self,
        options: ReadOptions,
        counters: Counters,
        limit: int | None,
        overrides: OverrideTexts = (),
        groups: KeyGroupSelector | None = None,
    ) -> Iterator[Piece]:
        if limit is not None:
            options = replace(options, batch_rows=max(1, min(limit, options.batch_rows)))
        counted = counters.of(self.name)
        read = 0
        work = list(self._work(groups))
        whole = sum(content.read_size for _, content in work)
        # A search for the key's bytes would miss that values before it cannot be decoded.
        certain = options.key is not None and self._expected().status == Status.DECODED
        key = options.key if certain and suited(options, whole).engine != "interpreter" else None
        skip_broadcast_states: tuple[str, ...] = ()
        for file, content in self._files.in_order(work, beginning if limit is None else nothing):
            try:
                kept = content if key is None else self._holding(file, content, key)
                with self._files.opened(file, self._read) as read_at:
                    for part in _portions(kept, engines.SMALL - read if limit is not None else sys.maxsize):
                        read += part.read_size
                        chosen = suited(options, read if limit is not None else whole)
                        before = counted.engine
                        try:
                            for piece in self._files.pieces(
                                read_at, file, part, {self.name}, chosen, counters, skip_broadcast_states, self._read
                            ):
                                if self.on_progress is not None:
                                    self.on_progress(0, piece.batch.num_rows)
                                yield piece if piece.raw or not overrides else self._with_overrides(piece, overrides, counted)
                        finally:
                            if before and before != counted.engine:
                                counted.engine = "kernel and interpreter"
                if (
                    self.kind == "broadcast"
                    and not options.all_copies
                    and any(p.name == self.name for p in content.partitions)
                ):
                    skip_broadcast_states = (self.name,)
            except StateExtractError as error:
                raise self._named(self._files.with_location(error, file)) from None

    def _with_overrides(self, piece: Piece, overrides: OverrideTexts, counters: StateCounters) -> Piece:
        """With its type overrides; their paths are those of the columns of all files together."""
        batch = cast_batch(piece.batch, self._merged)
        return replace(piece, batch=overridden(batch, overrides, self._options.policy, counters))

    def _read(self, size: int) -> None:
        if self.on_progress is not None:
            self.on_progress(size, 0)

    def bytes_of(self, key_groups: Collection[int] | None = None) -> int:
        """Bytes of the files that reading it, or some key groups of it, has to go through."""
        groups = None if key_groups is None else frozenset(key_groups)
        work = self._work(None if groups is None else lambda _: groups)
        return sum(content.read_size for _, content in work)

    def _work(self, groups: KeyGroupSelector | None) -> Iterator[tuple[StateFile, Content]]:
        """The files, and what of each is to be read."""
        for file in self._named_state.files:
            if file.header is None or file.content is None:
                continue
            content = file.content.only({self.name})
            serializer = file.header.key_serializer if isinstance(file.header, KeyedHeader) else None
            matches = None if groups is None else groups(serializer)
            for kept in [content] if matches is None else content.of_key_groups(matches):
                yield file, kept

    def _holding(self, file: StateFile, content: Content, key: pa.Scalar) -> Content:
        """Without the key groups of a local file that certainly have no row of a key.

        Looking for its bytes takes a fifth of the time of skipping entries, and the file lies in memory then.
        """
        plain = content.form in (BodyKind.HEAP, BodyKind.FULL_SNAPSHOT) and content.changes is None
        header = file.header
        if not plain or not isinstance(header, KeyedHeader) or header.compressed or split_uri(file.uri).scheme != "file":
            return content
        meta = next((meta for meta in header.states if meta.name == self.name), None)
        sought = meta and key_pattern(row_layout(header, meta, self._options.context), key, self._options.policy)
        if not sought:
            return content
        finder = Finder(sought)
        with self._files.opened(file) as read_at:
            held = tuple(r for r in content.ranges if is_found(read_at, r.start, r.end, finder))
        self._read(content.read_size - sum(r.end - r.start for r in held))
        return replace(content, ranges=held)

    def _named(self, error: StateExtractError) -> StateExtractError:
        return error.at(operator=self.operator.label, state=self.name or None).worded(api_door())


def _copied(batch: pa.RecordBatch, rows: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    """Those rows of a batch, which need not be kept for them. What filters batches takes longer to load than most lookups."""
    edges = np.flatnonzero(np.diff(rows, prepend=False, append=False)).tolist()
    runs = [batch.slice(start, stop - start) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
    # Of one array alone nothing would be copied.
    parts = zip(*(run.columns for run in [*runs, batch.slice(0, 0)]), strict=True)
    columns = [pa.concat_arrays(list(arrays)) for arrays in parts]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _portions(content: Content, small: int) -> Iterator[Content]:
    """First what together has at most ``small`` bytes, then the rest."""
    size = 0
    sizes = content.sizes
    for at, unit in enumerate(sizes):
        size += unit
        if size > small:
            yield from (content.cut(*bounds) for bounds in ((0, at), (at, len(sizes))) if bounds[0] < bounds[1])
            return
    if sizes:
        yield content


def suited(options: ReadOptions, size: int) -> ReadOptions:
    """The options for reading that many bytes, where they do not say what decodes."""
    return replace(options, engine=engines.engine_for(size)) if options.engine == "auto" else options
