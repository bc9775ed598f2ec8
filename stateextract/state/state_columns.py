"""Columns: what a user gets of a state's entries, and in which order.

``key``, ``namespace`` and, where that is a window, ``window_start`` and ``window_end`` (``window_columns.py``), of sessions
also ``session_start`` and ``session_end``, which come from another state (``sessions.py``), ``value`` (timers:
``timestamp``, ``timestamp_ms``, ``kind``, ``service``), ``last_access`` next to a value with a time to live, ``key_group``,
``subtask``; flattened, a row per element or entry with ``list_index`` or ``map_key``. Operator state: ``value``, ``index``
of lists, ``key``, ``value`` of broadcast maps, ``subtask``.
``state_schema`` says the types, ``build_batch`` makes the batch from a decoder's array.

May import layouts, policies and rows; knows no bytes, no files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from serializers import DescribeContext
from stateextract.columnar.arrow.unite_schemas import merge_schemas
from stateextract.columnar.convert.logical import apply_logical
from stateextract.columnar.convert.policy import Policy, apply_policy
from stateextract.columnar.decode.decoder import BATCH_BYTES, BATCH_ROWS
from stateextract.columnar.layout import Layout, List, Logical, Map, Number, SkippedValue, Struct, Undecodable
from stateextract.state.counters import StateCounters
from stateextract.state.row_layout import RowLayout
from stateextract.state.window_columns import SESSION_COLUMNS, window_types, window_values, with_session_columns

EVENT, PROCESSING = "event", "processing"
_TIMER_STATE = "_timer_state/"

_OPERATOR_KINDS = ("SPLIT_DISTRIBUTE", "UNION", "BROADCAST")

_INSTANT = pa.timestamp("us", "UTC")
_KEY_GROUP = pa.field("key_group", pa.int32())
_TIMER_TIME = Logical(Number(pa.int64()), "epoch_ms", _INSTANT)


OnUndecodable = Literal["fail", "skip", "raw"]


@dataclass(frozen=True)
class StatePolicy:
    """What becomes of values that a column cannot hold, or that cannot be decoded."""

    policy: Policy = Policy()
    on_undecodable: OnUndecodable = "fail"

    def exact(self) -> StatePolicy:
        """The same with strings as bytes, which distinguish what is the same text."""
        return replace(self, policy=replace(self.policy, strings="binary"))


@dataclass(frozen=True)
class ReadOptions:
    """The options of the engine.

    :param on_undecodable: what a value without a known serializer does: stop, lose its state, or leave its bytes.
    :param verify_checksums: check the CRCs of compressed files.
    :param flatten: lists and maps give a row per element or entry.
    :param keep_empty_maps: keep rows of keys whose map is empty, which only native heap files have.
    :param all_copies: of broadcast state, give every subtask's copy and not only one.
    :param columns: by state, the columns to give and what of their structs; ``None``, or a state that is not there: all.
    :param codec: of compressed files.
    :param engine: ``auto``, ``kernel`` or ``interpreter``.
    :param key: only rows with this value in the column ``key`` are wanted; others may come, or be left out.
    :param context: what describing needs next to the serializers' snapshots.
    :param choices: by state, what holds in place of ``policy`` and ``on_undecodable``.
    :param pass_undecodable: a state that is not wanted and cannot be decoded loses the wanted states after it in its key
        groups, whatever ``on_undecodable`` is.
    """

    policy: Policy = Policy()
    on_undecodable: OnUndecodable = "fail"
    verify_checksums: bool = True
    flatten: bool = False
    keep_empty_maps: bool = False
    all_copies: bool = False
    key_group_column: bool = True
    subtask_column: bool = True
    columns: Mapping[str, pa.Schema] | None = None
    codec: str = "snappy"
    batch_rows: int = BATCH_ROWS
    batch_bytes: int = BATCH_BYTES
    engine: str = "auto"
    key: pa.Scalar | None = None
    context: DescribeContext = DescribeContext()
    sessions: bool = True
    choices: Mapping[str, StatePolicy] = field(default_factory=dict)
    pass_undecodable: bool = False

    def of_state(self, name: str) -> ReadOptions:
        choice = self.choices.get(name)
        if choice is None:
            return self
        return replace(self, policy=choice.policy, on_undecodable=choice.on_undecodable, choices={})


def raw_schema(row: RowLayout, options: ReadOptions) -> pa.Schema:
    """Columns of what is kept of a state that cannot be decoded.

    ``key``, ``namespace``, of a map ``map_key``: as far as they can be decoded, which takes pairs that say where a key
    ends; ``key_bytes`` where the key cannot. ``entries`` (at the first part): how many entries of the state the bytes
    hold; ``part`` counts the pieces of one key group's bytes.
    """
    options = options.of_state(row.name)
    columns: list[tuple[str, pa.DataType]] = []
    if row.kind not in (*_OPERATOR_KINDS, "TIMER", "PRIORITY_QUEUE"):
        parts = _key_types(row, options)
        columns = [(name, parts[name]) for name in ("key", "namespace") if name in parts]
        if row.window_columns and "namespace" in parts:
            columns += window_types(row.window_columns, parts["namespace"])
        if "map_key" in parts:
            columns.append(("map_key", parts["map_key"]))
        columns.append(("key_bytes", pa.binary()))
    columns += [
        ("key_group", pa.int32()),
        ("part", pa.int32()),
        ("entries", pa.int64()),
        ("bytes", pa.binary()),
        ("reason", pa.string()),
    ]
    if options.subtask_column:
        columns.append(("subtask", pa.int32()))
    return pa.schema([pa.field(name, type_) for name, type_ in columns])


def _key_types(row: RowLayout, options: ReadOptions) -> dict[str, pa.DataType]:
    """The types of what is in the key of an entry, without what cannot be decoded."""
    layout = apply_policy(row.layout, options.policy)
    assert isinstance(layout, Struct)
    parts = {f.name: f.layout for f in layout.fields}
    value = parts.pop("value")
    if row.kind == "MAP" and isinstance(value, Map):
        parts["map_key"] = value.key
    return {
        name: part.arrow_type
        for name, part in parts.items()
        if part.arrow_type is not None and certainly_undecodable(part) is None
    }


def state_schema(row: RowLayout, options: ReadOptions) -> pa.Schema:
    """The Arrow schema of a state's rows."""
    options = options.of_state(row.name)
    layout = apply_policy(row.layout, options.policy)
    assert isinstance(layout, Struct)
    types = {f.name: f.layout.arrow_type for f in layout.fields if f.layout.arrow_type is not None}
    if row.kind in _OPERATOR_KINDS:
        return _selected(_operator_schema(row.kind, types, options), row, options)
    columns: list[tuple[str, pa.DataType]] = [(name, types[name]) for name in ("key", "namespace") if name in types]
    if row.window_columns and "namespace" in types:
        columns += window_types(row.window_columns, types["namespace"])
    if row.kind == "TIMER":
        columns += [("timestamp", _INSTANT), ("timestamp_ms", pa.int64())]
        if timer_service(row.name):
            columns += [("kind", pa.string()), ("service", pa.string())]
    elif "value" in types:
        value = types["value"]
        if options.flatten and flattens(row):
            if pa.types.is_map(value):
                columns.append(("map_key", value.key_type))
                value = value.item_type
            elif row.kind == "MAP":
                columns.append(("map_key", value.value_type.field("key").type))
                value = value.value_type.field("value").type
            else:
                columns.append(("list_index", pa.int32()))
                value = value.value_type
        if splits_ttl(row, options) and pa.types.is_struct(value):
            columns += [("value", value.field("value").type), ("last_access", value.field("last_access").type)]
        else:
            columns.append(("value", value))
    if options.key_group_column:
        columns.append(("key_group", pa.int32()))
    if options.subtask_column:
        columns.append(("subtask", pa.int32()))
    return _selected(pa.schema([pa.field(name, type_) for name, type_ in columns]), row, options)


def merged_schema(rows: Sequence[RowLayout], options: ReadOptions) -> pa.Schema:
    """The Arrow schema of the rows of one state in several files.

    :param rows: the layouts in the files.
    :raises UnsupportedError: where a column has types that cannot be united.
    """
    schema = merge_schemas(list(dict.fromkeys(state_schema(row, options) for row in rows)))
    row = next((row for row in rows if row.sessions is not None), None)
    if row is None:
        return schema
    namespace = state_schema(row, replace(options, columns=None)).field("namespace").type
    selected = None if options.columns is None else options.columns.get(row.name)
    names = [*schema.names, *(name for name in SESSION_COLUMNS if selected is None or name in selected.names)]
    return pa.schema([field for field in with_session_columns(schema, namespace) if field.name in names])


def merged_raw_schema(rows: Sequence[RowLayout], options: ReadOptions) -> pa.Schema:
    """The same of :func:`raw_schema`."""
    return merge_schemas(list(dict.fromkeys(raw_schema(row, options) for row in rows)))


def _selected(schema: pa.Schema, row: RowLayout, options: ReadOptions) -> pa.Schema:
    selected = None if options.columns is None else options.columns.get(row.name)
    if selected is None:
        return schema
    # The wanted columns may be in other files only, and a batch without columns has no rows.
    return pa.schema([f for f in schema if f.name in selected.names] or [_KEY_GROUP])


def timer_state(kind: str, service: str) -> str:
    """The name under which Flink keeps timers as state."""
    return f"{_TIMER_STATE}{kind}_{service}"


def timer_service(state: str) -> tuple[str, str] | None:
    """Kind and service of the timers in a queue, by the state's name; ``None`` where it is called otherwise."""
    for kind in (EVENT, PROCESSING):
        prefix = timer_state(kind, "")
        if state.startswith(prefix):
            return kind, state.removeprefix(prefix)
    return None


def _operator_schema(kind: str, types: dict[str, pa.DataType], options: ReadOptions) -> pa.Schema:
    columns = [pa.field(name, types[name]) for name in ("key", "value") if name in types]
    if kind != "BROADCAST":
        columns.append(pa.field("index", pa.int64()))
    if options.subtask_column and (kind != "BROADCAST" or options.all_copies):
        columns.append(pa.field("subtask", pa.int32()))
    return pa.schema(columns)


def value_layout(row: RowLayout) -> Layout | None:
    return next((f.layout for f in row.layout.fields if f.name == "value"), None)


def flattens(row: RowLayout) -> bool:
    return row.kind in ("LIST", "MAP") and isinstance(value_layout(row), List | Map)


def splits_ttl(row: RowLayout, options: ReadOptions) -> bool:
    """Whether the value column's struct of last access and value becomes two columns."""
    return row.splits_ttl or (row.ttl and options.flatten and flattens(row))


def certainly_undecodable(layout: Layout) -> Undecodable | None:
    """The part that every single value has and no decoder can decode, if there is one."""
    if isinstance(layout, Undecodable):
        return layout
    if isinstance(layout, Logical | SkippedValue):
        return certainly_undecodable(layout.inner)
    if isinstance(layout, Struct):
        for f in layout.fields:
            part = certainly_undecodable(f.layout)
            if part is not None:
                return part
    return None


def build_batch(
    array: pa.Array,
    groups: npt.NDArray[np.int32],
    row: RowLayout,
    schema: pa.Schema,
    options: ReadOptions,
    subtask: int,
    counters: StateCounters,
    flat: bool = False,
) -> pa.RecordBatch:
    """The columns of a batch of entries.

    :param array: the entries as structs of ``key``, ``namespace`` and ``value`` (queues: of their own fields).
    :param groups: the key group of each.
    :param schema: of the rows, by :func:`state_schema`.
    :param counters: what is left out or changed to fit here is counted there.
    :param flat: the rows are flat already: of maps with ``map_key`` and ``value``, of lists with ``list_index`` and
        ``value``.
    """
    columns = _fields_of(array)
    # As ``pa.array(groups)``, without loading NumPy's masked arrays for short commands.
    key_group = pa.Array.from_buffers(pa.int32(), len(groups), [None, pa.py_buffer(groups)])
    if row.kind == "MAP" and not options.keep_empty_maps and not options.flatten:
        columns, key_group = _without_empty_maps(columns, key_group, counters)
    if "timestamp" in columns and row.kind == "TIMER":
        columns["timestamp_ms"] = columns["timestamp"]
        columns["timestamp"] = apply_logical(
            columns["timestamp_ms"], _TIMER_TIME, Policy(out_of_range="null"), counters.counts
        )
    if row.kind == "TIMER":
        for name, text in zip(("kind", "service"), timer_service(row.name) or (), strict=False):
            columns[name] = pa.repeat(pa.scalar(text), len(array))
    if options.flatten and flattens(row) and not flat:
        columns, key_group = _flatten(columns, key_group, row.kind)
    if "value" in columns and splits_ttl(row, options) and pa.types.is_struct(columns["value"].type):
        value = columns["value"]
        columns["last_access"] = value.field(value.type.get_field_index("last_access"))
        columns["value"] = value.field(value.type.get_field_index("value"))
    if row.window_columns and "namespace" in columns:
        columns |= window_values(row.window_columns, columns["namespace"], counters.counts)
    columns["key_group"] = key_group
    if options.subtask_column:
        columns["subtask"] = _repeated(subtask, len(key_group))
    return pa.RecordBatch.from_arrays([columns[f.name] for f in schema], schema=schema)


def _repeated(number: int, count: int) -> pa.Array:
    """A column of one number. Those of the batches of a file share their memory."""
    return _at_least(number, 1 << max(count - 1, 0).bit_length()).slice(0, count)


@lru_cache(maxsize=1)
def _at_least(number: int, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(number, pa.int32()), count)


def build_operator_batch(
    array: pa.Array, index: npt.NDArray[np.int64], row: RowLayout, options: ReadOptions, subtask: int
) -> pa.RecordBatch:
    """The columns of a batch of elements or of entries of a broadcast map.

    :param index: each element's position in its subtask's list.
    """
    columns = _fields_of(array)
    schema = state_schema(row, options)
    columns["index"] = pa.array(index)
    columns["subtask"] = _repeated(subtask, len(array))
    columns.setdefault(_KEY_GROUP.name, pa.nulls(len(array), _KEY_GROUP.type))
    return pa.RecordBatch.from_arrays([columns[f.name] for f in schema], schema=schema)


def _fields_of(array: pa.Array) -> dict[str, pa.Array]:
    """The columns of an array of structs; a struct without any is an array of something else."""
    return {f.name: array.field(i) for i, f in enumerate(array.type)} if pa.types.is_struct(array.type) else {}


def _without_empty_maps(
    columns: dict[str, pa.Array], key_group: pa.Array, counters: StateCounters
) -> tuple[dict[str, pa.Array], pa.Array]:
    offsets = _offsets(columns["value"])
    filled = offsets[1:] != offsets[:-1]
    if filled.all():
        return columns, key_group
    counters.empty_maps += int((~filled).sum())
    mask = pa.array(filled)
    return {name: column.filter(mask) for name, column in columns.items()}, key_group.filter(mask)


def _offsets(array: pa.Array) -> npt.NDArray[np.int32]:
    """The offsets of a list or map array, wherever it was sliced."""
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]


def _flatten(columns: dict[str, pa.Array], key_group: pa.Array, kind: str) -> tuple[dict[str, pa.Array], pa.Array]:
    """One row per element or entry; key and namespace are repeated."""
    value = columns.pop("value")
    offsets = _offsets(value)
    lengths = np.diff(offsets)
    rows = np.repeat(np.arange(len(value)), lengths)
    start, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    flat = {name: column.take(pa.array(rows)) for name, column in columns.items()}
    if pa.types.is_map(value.type):
        flat["map_key"], flat["value"] = value.keys.slice(start, size), value.items.slice(start, size)
    elif kind == "MAP":
        entries = value.values.slice(start, size)
        flat["map_key"], flat["value"] = entries.field(0), entries.field(1)
    else:
        flat["list_index"] = pa.array((np.arange(size) - (offsets[:-1][rows] - start)).astype(np.int32))
        flat["value"] = value.values.slice(start, size)
    return flat, key_group.take(pa.array(rows))
