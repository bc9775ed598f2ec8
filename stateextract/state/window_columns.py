"""Windows: the meaning of the states of windowed operators, as columns and field names.

The namespace of such a state is its window. Next to the column ``namespace`` are, as instants::

    window_start, window_end    a time window; the end is exclusive
    window_end                  SQL's window joins, ranks and deduplications, and their timers: the window's end, in Flink
                                a bare number
    slice_end                   SQL's window aggregations: the end of the slice that the accumulators are of; a tumbling
                                window has one slice, overlapping windows share theirs

The contents of merging windows also have ``session_start`` and ``session_end``: the session as it is
(``sessions.py``).

Values that Flink wraps for its own use get a form of their own: a window with an evictor keeps stream records, here
structs of ``timestamp`` and ``value``; the set of merging windows keeps pairs, here structs of ``window`` (the session as
it is) and ``state_window`` (the one under which its contents are kept, as its first event opened it).

All of it follows from names and snapshots in one state's meta, so it is the same in every kind of file. Flink's classes:
``WindowOperator``, ``EvictingWindowOperator``, ``MergingWindowSet``; SQL's ``WindowOperator``, ``SlicingWindowOperator``,
``WindowJoinOperator``, ``WindowRankProcessor``. Pure functions of layouts and arrays; knows no bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from serializers import SerializerSnapshot
from serializers.datetime import EPOCH_MS
from serializers.scalars import BASE
from serializers.windows import STREAM_ELEMENT, TIME_WINDOWS, stream_record
from stateextract.columnar.convert.logical import apply_logical
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.layout import Field, Layout, List, Struct, Switch

WINDOW_CONTENTS, MERGING_WINDOWS = "window-contents", "merging-window-set"

SESSION_MAPPING = "session-window-mapping"
"""Merging windows of SQL, from the session to its state window."""

WINDOW_COLUMNS = ("window_start", "window_end")
SESSION_COLUMNS = ("session_start", "session_end")
OF_SESSIONS = {WINDOW_CONTENTS: MERGING_WINDOWS, "window-aggs": SESSION_MAPPING}
"""States of which each row is kept under a state window, and the mapping state that has the sessions."""

_LONG = f"{BASE}LongSerializer$LongSerializerSnapshot"
_SQL = "org.apache.flink.table."
_SLICES = re.compile(r"window-aggs|(agg\d+\$\w+|distinctAcc_\d+)(_null_state)?")
_ENDS = re.compile(
    r"window_rank|window_deduplicate|left-records|right-records|_timer_state/(event|processing)_window-timers"
)


def window_columns(state: str, key: SerializerSnapshot | None, namespace: SerializerSnapshot | None) -> tuple[str, ...]:
    """Names of the columns that say a state's window, in addition to its namespace.

    :param state: the state's name; :param key: snapshot of its keys; :param namespace: of its namespaces.
    """
    if key is None or namespace is None:
        return ()
    if namespace.class_name in TIME_WINDOWS:
        return WINDOW_COLUMNS
    if namespace.class_name == _LONG and key.class_name.startswith(_SQL):
        if _SLICES.fullmatch(state):
            return ("slice_end",)
        if _ENDS.fullmatch(state):
            return ("window_end",)
    return ()


def window_values(names: tuple[str, ...], namespace: pa.Array, counts: ChangeCounts) -> Iterator[tuple[str, pa.Array]]:
    """The columns of these names, out of that of the namespace.

    A window's end beyond the range of instants is null; the namespace has it exactly.
    """
    if names == WINDOW_COLUMNS:
        yield from zip(names, namespace.flatten(), strict=True)
    elif names:
        yield names[0], apply_logical(namespace, EPOCH_MS, Policy(out_of_range="null"), counts)


def window_types(names: tuple[str, ...], namespace: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """Their types, in the same order."""
    if names == WINDOW_COLUMNS:
        yield from zip(names, (field.type for field in namespace), strict=True)
    elif names:
        yield names[0], EPOCH_MS.type


def mapping_state(state: str, namespace: SerializerSnapshot | None, others: Mapping[str, SerializerSnapshot]) -> str | None:
    """The mapping state that has the sessions of a state's rows; ``None`` where its windows do not merge.

    :param namespace: snapshot of the state's namespaces; :param others: of the values of the file's states, by name.
    """
    mapping = OF_SESSIONS.get(state)
    if mapping is None or namespace is None or namespace.class_name not in TIME_WINDOWS or mapping not in others:
        return None
    value = others[mapping]
    pair = value.nested[0].nested if mapping == MERGING_WINDOWS and value.nested else value.nested
    return mapping if len(pair) == 2 and all(part.class_name in TIME_WINDOWS for part in pair) else None


def with_session_columns(schema: pa.Schema, namespace: pa.DataType) -> pa.Schema:
    """The columns of a state with those of its sessions, after those of its windows.

    :param namespace: the type of the windows.
    """
    fields = list(schema)
    index = max((i + 1 for i, f in enumerate(fields) if f.name in ("key", "namespace", *WINDOW_COLUMNS)), default=0)
    bounds = [pa.field(name, namespace.field(i).type) for i, name in enumerate(SESSION_COLUMNS)]
    return pa.schema([*fields[:index], *bounds, *fields[index:]])


def readable_value(state: str, value: SerializerSnapshot, layout: Layout) -> Layout:
    """The layout of a window state's value with names that say what its parts are; of others as it is.

    :param value: snapshot of the whole value; :param layout: its layout as the serializers describe it.
    """
    if not isinstance(layout, List):
        return layout
    element = layout.element
    if state == WINDOW_CONTENTS and isinstance(element, Switch) and value.nested[0].class_name == STREAM_ELEMENT:
        return replace(layout, element=stream_record(element))
    if state == MERGING_WINDOWS and isinstance(element, Struct) and len(element.fields) == 2:
        window, state_window = (field.layout for field in element.fields)
        return replace(layout, element=Struct((Field("window", window), Field("state_window", state_window))))
    return layout
