"""Session windows as they are: the bounds of a session beside its contents, which Flink keeps under another window.

A session grows, and its contents stay under the window of its first element, the *state window*: it is their namespace.
The session itself is in the operator's mapping state, so that is read first, and each row of the contents finds its
session by key and state window. Held are the sessions of the key groups that are read together.

Wraps the reading of one file; knows no bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stateextract.errors import StateExtractError
from stateextract.state.columns import ReadOptions, state_schema
from stateextract.state.head import KeyedHead
from stateextract.state.rows import RowLayout, row_layout
from stateextract.state.tally import Tally
from stateextract.state.target import Piece
from stateextract.state.windows import OF_SESSIONS, SESSION_COLUMNS, with_session_columns

Read: TypeAlias = Callable[[Collection[str], ReadOptions, Tally], Iterator[Piece]]
"""Reads states by name."""

_IDENTITY = ("key", "namespace")

Sessions: TypeAlias = dict[tuple[Any, Any, Any], tuple[Any, Any]]
"""Start and end of a session, by key, and start and end of its state window."""


def read_with_sessions(
    read: Read, head: KeyedHead, wanted: Collection[str], options: ReadOptions, tally: Tally
) -> Iterator[Piece]:
    """Read the wanted states, with the bounds of sessions beside the contents of those.

    :param head: of what ``read`` reads.
    """
    columns = dict(options.columns or {})
    contents: dict[str, RowLayout] = {}
    for meta in head.states:
        if meta.name not in wanted or meta.name not in OF_SESSIONS or not options.sessions:
            continue
        row = row_layout(head, meta, options.context)
        asked = columns.get(row.name)
        if row.sessions is None or (asked is not None and not {*asked.names} & {*SESSION_COLUMNS}):
            continue
        contents[row.name] = row
        if asked is not None:
            whole = [f for f in state_schema(row, replace(options, columns=None)) if f.name in _IDENTITY]
            columns[row.name] = pa.schema([*(field for field in asked if field.name not in _IDENTITY), *whole])
    if not contents:
        yield from read(wanted, options, tally)
        return
    known: dict[str, Sessions] = {}
    for row in contents.values():
        assert row.sessions is not None
        if row.sessions not in known:
            try:
                known[row.sessions] = _sessions(read, row.sessions, options)
            except StateExtractError as error:
                known[row.sessions] = {}
                tally.of(row.name).problem(f"the bounds of sessions are not known: {error}")
    for piece in read(wanted, replace(options, columns=columns or None), tally):
        row_of = contents.get(piece.state)
        if row_of is None or piece.raw:
            yield piece
            continue
        assert row_of.sessions is not None
        asked = None if options.columns is None else options.columns.get(piece.state)
        yield replace(piece, batch=_beside(piece.batch, known[row_of.sessions], asked))


def _sessions(read: Read, state: str, options: ReadOptions) -> Sessions:
    """The sessions in a mapping state: a list of pairs, in SQL a map."""
    whole = replace(
        options, columns=None, flatten=False, key_group_column=False, subtask_column=False, on_undecodable="skip"
    )
    found: Sessions = {}
    for piece in read((state,), whole, Tally()):
        if piece.raw:
            continue
        value = piece.batch.column("value")
        lengths = np.diff(np.asarray(value.offsets))
        keys = piece.batch.column("key").take(pa.array(np.repeat(np.arange(len(value)), lengths)))
        is_map = pa.types.is_map(value.type)
        sessions, windows = (value.keys, value.items) if is_map else pc.list_flatten(value).flatten()
        bounds = zip(*_bounds(sessions), strict=True)
        found.update(zip(zip(_keys(keys), *_bounds(windows), strict=True), bounds, strict=True))
    return found


def _bounds(windows: pa.Array) -> tuple[list[Any], list[Any]]:
    """Starts and ends in microseconds."""
    start, end = (part.cast(pa.int64()).to_pylist() for part in windows.flatten())
    return start, end


def _keys(keys: pa.Array) -> list[Any]:
    """The keys as something that a dictionary takes."""
    return [repr(key) for key in keys.to_pylist()] if pa.types.is_nested(keys.type) else keys.to_pylist()


def _beside(batch: pa.RecordBatch, sessions: Sessions, asked: pa.Schema | None) -> pa.RecordBatch:
    """A batch of contents with the bounds of their sessions, and only the columns that were asked for."""
    namespace = batch.column("namespace")
    keys = zip(_keys(batch.column("key")), *_bounds(namespace), strict=True)
    bounds = [sessions.get(key, (None, None)) for key in keys]
    columns = {field.name: batch.column(i) for i, field in enumerate(batch.schema)}
    for number, name in enumerate(SESSION_COLUMNS):
        type_ = namespace.type.field(number).type
        columns[name] = pa.array([found[number] for found in bounds], pa.int64()).cast(type_)
    schema = with_session_columns(batch.schema, namespace.type)
    if asked is not None:
        schema = pa.schema([field for field in schema if field.name in asked.names])
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


__all__ = ["read_with_sessions"]
