"""The rows of keyed state as the engine gives them, and as others wrote them down, in one comparable form.

A row is a tuple of (column, value) in the order of the columns. Rows of Flink's files have key group and subtask, those
of the cases have not; TTL's last access is its own column where it is so in the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stateextract.columnar.arrow.unite_schemas import cast_batch, merge_schemas
from stateextract.metadata.model import KeyGroupsHandle
from stateextract.state.bodies.body import BodyKind, body_kind
from stateextract.state.bodies.heap import key_group_ranges
from stateextract.state.counters import Counters, StateCounters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import parse_header
from stateextract.state.row_layout import row_layout
from stateextract.state.state_columns import ReadOptions, state_schema, timer_service
from stateextract.state.target import FileRead
from tests.conformance.handles import KeyedFile
from tests.conformance.notation import comparable, from_expected, from_truth

Row = tuple[tuple[str, Any], ...]
Notation = Callable[[Any, pa.DataType], Any]


SESSION = ("session_start", "session_end")
"""Columns that come from another state: ``tests/state/test_window_columns.py`` compares them."""


def rows_of(table: pa.Table, without: Sequence[str] = ()) -> list[Row]:
    """The rows of a table."""
    columns = {
        name: [comparable(value, table.schema.field(name).type) for value in table[name]]
        for name in table.column_names
        if name not in without and name not in SESSION
    }
    return [tuple(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def expected_rows(state: Mapping[str, Any], schema: pa.Schema, keep_empty_maps: bool = False) -> list[Row]:
    """What ``flink-files/expected`` lists of a keyed state."""
    return [
        _row({**row, **_kind(state)}, schema, from_expected, timer=row.get("timestamp"))
        for row in state["rows"]
        if keep_empty_maps or not _empty_map(state["kind"], row)
    ]


def truth_rows(state: Mapping[str, Any], schema: pa.Schema, keep_empty_maps: bool = False) -> list[Row]:
    """What a ``truth.json`` or ``expected.json`` lists of a keyed state."""
    timers = state["kind"] == "TIMERS"
    return [
        _row({**row, **_kind(state)}, schema, from_truth, timer=row["value"] if timers else None)
        for row in state["rows"]
        if keep_empty_maps or not _empty_map(state["kind"], row)
    ]


def _kind(state: Mapping[str, Any]) -> dict[str, str]:
    """Columns of timers that say which queue they are in."""
    return dict(zip(("kind", "service"), timer_service(state["name"]) or (), strict=False))


def _empty_map(kind: str, row: Mapping[str, Any]) -> bool:
    value = row.get("value")
    return kind == "MAP" and isinstance(value, dict) and (value.get("map") == [] or value.get("$map") == [])


def _row(row: Mapping[str, Any], schema: pa.Schema, notation: Notation, timer: int | None) -> Row:
    cells: list[tuple[str, Any]] = []
    ttl = "last_access" in schema.names
    for column in schema:
        if column.name in SESSION:
            continue
        if column.name in ("key_group", "subtask"):
            if column.name in row:
                cells.append((column.name, row[column.name]))
        elif column.name == "timestamp":
            assert timer is not None
            # A timer may be set for any long; what no timestamp can hold is null there, and exact in timestamp_ms.
            cells.append(("timestamp", timer * 1000 if -(2**63) <= timer * 1000 < 2**63 else None))
        elif column.name == "timestamp_ms":
            cells.append(("timestamp_ms", timer))
        elif column.name in ("window_start", "window_end", "slice_end"):
            cells.append((column.name, _bound(row["namespace"], column.name) * 1000))
        elif ttl and column.name == "last_access":
            cells.append(("last_access", _ttl(row)["ts"] * 1000))
        elif ttl and column.name == "value":
            cells.append(("value", notation(_ttl(row)["value"], column.type)))
        else:
            cells.append((column.name, notation(row.get(column.name), column.type)))
    if "namespace" not in schema.names:
        assert row.get("namespace") in (None, {"$window": "global"}), row
    return tuple(cells)


def _bound(namespace: Any, column: str) -> int:
    """Start or end of a window in milliseconds; a namespace of SQL's may be a bare number, its end."""
    if not isinstance(namespace, dict):
        return int(namespace)
    start, end = namespace.get("$window") or (namespace["start"], namespace["end"])
    return int(start if column == "window_start" else end)


def _ttl(row: Mapping[str, Any]) -> Mapping[str, Any]:
    value = row["value"]
    return value["$ttl"] if "$ttl" in value else {"ts": value["ttl"], "value": value["value"]}


@dataclass
class ReadState:
    """A state over all heap files of an operator."""

    schemas: list[pa.Schema] = field(default_factory=list)
    batches: list[pa.RecordBatch] = field(default_factory=list)
    counters: StateCounters = field(default_factory=StateCounters)
    key_groups: int = 0

    @property
    def whole(self) -> bool:
        """Every key group was read to its end."""
        return not self.counters.lost_key_groups

    def table(self) -> pa.Table:
        schema = merge_schemas(self.schemas)
        return pa.Table.from_batches([cast_batch(batch, schema) for batch in self.batches], schema)


def read_heap_files(files: Iterable[KeyedFile], options: ReadOptions) -> dict[tuple[str, str], ReadState]:
    """All states of all heap files, each file in one pass; by operator and name."""
    found: dict[tuple[str, str], ReadState] = {}
    for file in files:
        if not isinstance(file.handle, KeyGroupsHandle):
            continue
        data = file.data
        head = parse_header(data, 0, file.header_end)

        def read_at(at: int, n: int, data: bytes = data) -> bytes:
            return data[at : at + n]

        handle = file.handle
        form = body_kind(handle.code, handle.offsets, handle.first, head.compressed, read_at, states=len(head.states))
        if form is not BodyKind.HEAP:
            continue
        ranges = key_group_ranges(handle.first, handle.offsets, len(data))
        counters = Counters()
        for meta in head.states:
            state = found.setdefault((file.operator, meta.name), ReadState())
            state.schemas.append(state_schema(row_layout(head, meta, options.context), options))
            state.key_groups += len(ranges)
        wanted = {meta.name for meta in head.states}
        for piece in read_key_groups(read_at, head, ranges, FileRead(wanted, options, counters, file.subtask)):
            assert not piece.raw
            found[file.operator, piece.state].batches.append(piece.batch)
        for name, part in counters.states.items():
            found[file.operator, name].counters.add(part)
    return found


__all__ = ["ReadState", "Row", "expected_rows", "read_heap_files", "rows_of", "truth_rows"]
