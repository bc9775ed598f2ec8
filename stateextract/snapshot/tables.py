"""Tables of what a snapshot consists of, for Spark's source ``flink-state-metadata`` and the command line.

Columns of operators are called as in Flink's ``savepoint_metadata``, with underscores (and ``operator_id`` for its
``operator-uid-hash``). ``operators`` comes of ``_metadata``
alone; the others read the heads of all state files, and ``files`` looks for each file. Must not know of Spark; decodes no
state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from serializers import DescribeContext, SerializerSnapshot, describe, load_plugins
from serializers.registry import find_serializer
from stateextract.columnar.arrow.sql_names import sql_schema
from stateextract.doors import Door, api_door
from stateextract.errors import StateExtractError, UsageError
from stateextract.metadata.model import (
    ChannelStateHandle,
    OperatorState,
    SegmentHandle,
    StreamHandle,
)
from stateextract.metadata.operator_lookup import find_operators, operator_label
from stateextract.options import JobOptions
from stateextract.printable import there_is
from stateextract.snapshot.coverage import CoverageEntry
from stateextract.snapshot.forecast import Forecast, Forecasts
from stateextract.snapshot.headers import OnHeaders, ignore_progress
from stateextract.snapshot.inventory import NamedState, master_entries
from stateextract.snapshot.missing import streams
from stateextract.snapshot.source import SnapshotSource
from stateextract.state.bodies.body import BodyKind
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import ReadOptions, merged_schema

_I32, _I64, _TEXT, _BOOL = pa.int32(), pa.int64(), pa.string(), pa.bool_()
_OPERATOR = {"checkpoint_id": _I64, "operator_name": _TEXT, "operator_uid": _TEXT, "operator_id": _TEXT}

TableRows = Iterator[dict[str, Any]]

SCHEMAS: dict[str, pa.Schema] = {
    "operators": pa.schema({
        **_OPERATOR, "operator_parallelism": _I32, "operator_max_parallelism": _I32,
        "operator_subtask_state_count": _I32, "operator_coordinator_state_size_in_bytes": _I64,
        "operator_total_size_in_bytes": _I64, "operator_fully_finished": _BOOL, "metadata_version": _I32,
        "snapshot_kind": _TEXT, "snapshot_format": _TEXT, "metadata_path": _TEXT,
    }),
    "states": pa.schema({
        **_OPERATOR, "state_name": _TEXT, "state_kind": _TEXT, "state_scope": _TEXT, "state_role": _TEXT,
        "state_ttl": _BOOL, "state_schema": _TEXT, "form": _TEXT, "handle_count": _I32, "size_in_bytes": _I64,
        "status": _TEXT, "reason": _TEXT,
    }),
    "files": pa.schema({
        **_OPERATOR, "subtask": _I32, "handle_role": _TEXT, "handle_kind": _TEXT, "stream_kind": _TEXT,
        "first_key_group": _I32, "last_key_group": _I32, "local_name": _TEXT, "file_path": _TEXT, "file_offset": _I64,
        "size_in_bytes": _I64, "stream_size_in_bytes": _I64, "found_path": _TEXT, "problem": _TEXT,
    }),
    "key_groups": pa.schema({
        **_OPERATOR, "key_group": _I32, "subtask": _I32, "form": _TEXT, "file_path": _TEXT, "file_offset": _I64,
        "size_in_bytes": _I64,
    }),
    "serializers": pa.schema({
        **_OPERATOR, "state_name": _TEXT, "state_scope": _TEXT, "part": _TEXT, "position": _TEXT, "depth": _I32,
        "snapshot_class": _TEXT, "snapshot_version": _I32, "value_class": _TEXT, "is_known": _BOOL, "column_type": _TEXT,
    }),
}  # fmt: skip
"""The columns of each table."""


class SnapshotTables:
    """A snapshot, and the tables that are made of it.

    :param job: which snapshot, where its files are, and what describing serializers needs.
    :param door: where the problems that a table reports are read; ``None``: that of the Python API.
    :param on_headers: receives how many of the files' heads were read.
    :raises StateExtractError: where there is no snapshot, or none that can be read.
    """

    def __init__(
        self,
        job: JobOptions,
        door: Door | None = None,
        on_headers: OnHeaders = ignore_progress,
    ) -> None:
        load_plugins(job.plugins)
        self._source = SnapshotSource(job, on_headers=on_headers)
        self.found, self.metadata = self._source.found, self._source.metadata
        self._job, self._door = job, door or api_door()

    # -- what the tables are made of

    def _operator(self, operator: OperatorState) -> dict[str, Any]:
        return self._named(operator.id, operator.uid, operator.name)

    def _named(self, id_: str | None, uid: str | None, name: str | None) -> dict[str, Any]:
        values = (self.metadata.checkpoint_id, name, uid, id_)
        return dict(zip(_OPERATOR, values, strict=True))

    # -- the tables

    def operators(self) -> TableRows:
        """A row per operator."""
        properties = self.metadata.properties
        for o in self.metadata.operators:
            yield self._operator(o) | {
                "operator_parallelism": o.parallelism,
                "operator_max_parallelism": o.max_parallelism,
                "operator_subtask_state_count": sum(any(True for _ in t.handles()) for t in o.subtasks),
                "operator_coordinator_state_size_in_bytes": o.coordinator.size if o.coordinator else 0,
                "operator_total_size_in_bytes": sum(use.handle.size for use in o.handles()),
                "operator_fully_finished": o.fully_finished,
                "metadata_version": self.metadata.version,
                "snapshot_kind": properties.kind if properties else None,
                "snapshot_format": properties.format if properties else None,
                "metadata_path": self.found.metadata_uri,
            }

    def states(self) -> TableRows:
        """A row per state, and per form of what has no name."""
        inventories, files = self._source.inventory()
        context = self._source.with_pojos(self._source.describe(), files)
        for inventory in inventories:
            named = {id(state.entry): state for state in (*inventory.named, *inventory.nameless)}
            of_operator = context.of_operator(inventory.operator.id)
            forecasts = Forecasts(of_operator)
            for entry in inventory.entries:
                state = named.get(id(entry))
                rows = [] if state is None else _rows(state, of_operator)
                expected = Forecast(entry.status, entry.reason) if state is None else forecasts.of(state)
                yield self._state(entry, state, rows, expected)
        for entry in master_entries(self.metadata.master_states):
            yield self._state(entry, None, [], Forecast(entry.status, entry.reason))

    def _state(
        self, entry: CoverageEntry, state: NamedState | None, rows: list[RowLayout], expected: Forecast
    ) -> dict[str, Any]:
        return self._named(entry.operator_id, entry.uid, entry.operator_name) | {
            "state_name": entry.state,
            "state_kind": None if entry.kind == "-" else entry.kind,
            "state_scope": None if state is None else state.scope,
            "state_role": entry.role,
            "state_ttl": any(row.ttl for row in rows) if rows else None,
            "state_schema": _schema_of(rows),
            "form": None if entry.form == "-" else entry.form,
            "handle_count": entry.handles,
            "size_in_bytes": entry.size,
            "status": expected.status,
            "reason": self._door.reason(expected.reason),
        }

    def files(self, operator_name: str | None = None) -> TableRows:
        """A row per stream of bytes that a handle refers to: a file, a part of one, or bytes in ``_metadata``.

        ``size_in_bytes`` is what the handle has in it, ``stream_size_in_bytes`` the stream's own size. Handles may share a
        stream, which has the same ``file_path`` and ``file_offset`` then.

        :param operator_name: only of the operator with this UID, name or operator ID.
        :raises UsageError: where there is none.
        """
        operators = self.metadata.operators
        if operator_name is not None:
            operators = tuple(find_operators(operator_name, operators))
            if not operators:
                known = map(operator_label, self.metadata.operators)
                raise UsageError(
                    f"no operator has the uid, name or id {operator_name!r}", advice=there_is(operator_name, known, "operators")
                )
        for operator in operators:
            for use in operator.handles():
                for name, stream, exact in streams(use.handle):
                    groups: range | None = getattr(use.handle, "key_groups", None)
                    yield (
                        self._operator(operator)
                        | self._location(stream, exact)
                        | {
                            # Handles of in-flight data share a file.
                            "size_in_bytes": (use.handle if isinstance(use.handle, ChannelStateHandle) else stream).size,
                            "subtask": use.subtask,
                            "handle_role": use.role,
                            "handle_kind": use.handle.kind,
                            "stream_kind": stream.kind,
                            "first_key_group": groups.start if groups else None,
                            "last_key_group": groups.stop - 1 if groups else None,
                            "local_name": name,
                        }
                    )

    def _location(self, stream: StreamHandle, exact: bool) -> dict[str, Any]:
        row: dict[str, Any] = {
            "file_path": getattr(stream, "path", None),
            "file_offset": stream.start if isinstance(stream, SegmentHandle) else 0,
            "stream_size_in_bytes": stream.size,
        }
        try:
            location = self._source.locator.locate(stream, exact_size=exact)
            row |= {"found_path": location.uri, "stream_size_in_bytes": location.size}
        except StateExtractError as error:
            row["problem"] = str(error.worded(self._door))
        return row

    def key_groups(self) -> TableRows:
        """A row per key group of a file; of canonical savepoints only those with data."""
        for file in self._source.inventory()[1]:
            operator = self.metadata.operators[file.operator]
            database = file.form is BodyKind.SST_FILES
            for r in file.content.ranges if file.content is not None else ():
                yield self._operator(operator) | {
                    "key_group": r.key_group,
                    "subtask": file.subtask,
                    "form": file.form.value,
                    "file_path": file.uri,
                    # A database is many files, of which each may hold something of a key group.
                    "file_offset": None if database else file.start + r.start,
                    "size_in_bytes": None if database else r.end - r.start,
                }

    def serializers(self) -> TableRows:
        """A row per serializer snapshot of a state, those inside of others included."""
        inventories, files = self._source.inventory()
        context = self._source.with_pojos(self._source.describe(), files)
        for inventory in inventories:
            for state in inventory.named:
                for row in _rows(state, context):
                    for part in ("key", "namespace", "value"):
                        snapshot = getattr(row, f"{part}_serializer")
                        if snapshot is not None:
                            for found in _nested(part, snapshot, context):
                                yield self._operator(inventory.operator) | {
                                    "state_name": state.name, "state_scope": state.scope, **found,
                                }  # fmt: skip


def _rows(state: NamedState, context: DescribeContext) -> list[RowLayout]:
    """The layouts of a state; none where a head says what no reader expects, which is the state's status then."""
    try:
        return state.rows(context)
    except Exception:
        return []


def _schema_of(rows: list[RowLayout]) -> str | None:
    """The columns as Spark writes them."""
    if not rows:
        return None
    try:
        return sql_schema(merged_schema(rows, ReadOptions()))
    except StateExtractError:
        return None


def _nested(
    part: str, snapshot: SerializerSnapshot, context: DescribeContext, position: str = "", depth: int = 0
) -> TableRows:
    """A snapshot and those inside of it; ``position``: the way down, by the numbers of nested snapshots."""
    try:
        column = describe(snapshot, context).arrow_type
    except StateExtractError:
        column = None
    value_class = snapshot.details.get("class")
    yield {
        "part": part,
        "position": position,
        "depth": depth,
        "snapshot_class": snapshot.class_name,
        "snapshot_version": snapshot.version,
        "value_class": value_class if isinstance(value_class, str) else None,
        "is_known": find_serializer(snapshot.class_name) is not None and not snapshot.is_unknown,
        "column_type": None if column is None else str(column),
    }
    for i, inner in enumerate(snapshot.nested):
        yield from _nested(part, inner, context, f"{position}.{i}".lstrip("."), depth + 1)
