"""Session windows: the bounds of a session next to its contents, which Flink keeps under another window.

A session grows, and its contents stay under the window of its first element, the *state window*: it is their namespace.
The session itself is in the operator's mapping state, so that is read first, and each row of the contents finds its
session by key and state window. Held are the sessions of the key groups that are read together.

Wraps the reading of one file; knows no bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.errors import StateExtractError
from stateextract.state.counters import Counters
from stateextract.state.header import KeyedHeader
from stateextract.state.row_layout import RowLayout, row_layout
from stateextract.state.state_columns import state_schema
from stateextract.state.target import FileRead, Piece
from stateextract.state.window_columns import OF_SESSIONS, SESSION_COLUMNS, with_session_columns

ReadStates: TypeAlias = Callable[[FileRead], Iterator[Piece]]
"""Reads the selected states of a file."""

_IDENTITY = ("key", "namespace")
_NULL = -(1 << 63)
"""In the place of a bound that is null: no column of times has it."""


class _Sessions:
    """Starts and ends of sessions, in microseconds, found by key, and start and end of their state windows."""

    def __init__(self) -> None:
        self.row_numbers: dict[tuple[Any, Any, Any], int] = {}
        self.bounds: tuple[list[npt.NDArray[np.int64]], ...] = ([], [])

    def add(self, keys: pa.Array, windows: pa.Array, sessions: pa.Array) -> None:
        first = sum(map(len, self.bounds[0]))
        self.row_numbers.update(zip(_identities(keys, windows), range(first, first + len(keys)), strict=True))
        for known, more in zip(self.bounds, _bounds(sessions), strict=True):
            known.append(more)

    def of(self, keys: pa.Array, windows: pa.Array) -> Iterator[pa.Array]:
        """Starts and ends of the sessions of rows; null where there is none."""
        row_number = self.row_numbers.get
        found = np.fromiter((row_number(identity, -1) for identity in _identities(keys, windows)), np.int64, len(keys))
        for known in self.bounds:
            # One more, for rows without a session.
            times = np.concatenate([*known, [_NULL]])[found]
            yield pa.array(times, mask=times == _NULL)


def read_with_sessions(read: ReadStates, header: KeyedHeader, file_read: FileRead) -> Iterator[Piece]:
    """Read the selected states. The contents of sessions get the bounds of their sessions as columns.

    :param header: of what ``read`` reads.
    """
    selected, options = file_read.selected, file_read.options
    columns = dict(options.columns or {})
    contents: dict[str, RowLayout] = {}
    for meta in header.states:
        if meta.name not in selected or meta.name not in OF_SESSIONS or not options.sessions:
            continue
        row = row_layout(header, meta, options.context)
        requested = columns.get(row.name)
        if row.sessions is None or (requested is not None and not {*requested.names} & {*SESSION_COLUMNS}):
            continue
        contents[row.name] = row
        if requested is not None:
            whole = [f for f in state_schema(row, replace(options, columns=None)) if f.name in _IDENTITY]
            columns[row.name] = pa.schema([*(field for field in requested if field.name not in _IDENTITY), *whole])
    if not contents:
        yield from read(file_read)
        return
    known: dict[str, _Sessions] = {}
    for row in contents.values():
        assert row.sessions is not None
        if row.sessions not in known:
            try:
                known[row.sessions] = _sessions(read, row.sessions, file_read)
            except StateExtractError as error:
                known[row.sessions] = _Sessions()
                file_read.counters.of(row.name).problem(f"the bounds of sessions are not known: {error}")
    for piece in read(replace(file_read, options=replace(options, columns=columns or None))):
        row_of = contents.get(piece.state)
        if row_of is None or piece.raw:
            yield piece
            continue
        assert row_of.sessions is not None
        requested = None if options.columns is None else options.columns.get(piece.state)
        yield replace(piece, batch=_with_sessions(piece.batch, known[row_of.sessions], requested))


def _sessions(read: ReadStates, state: str, file_read: FileRead) -> _Sessions:
    """The sessions in a mapping state: a list of pairs, in SQL a map."""
    whole = replace(
        file_read.options, columns=None, flatten=False, key_group_column=False, subtask_column=False, on_undecodable="skip"
    )
    found = _Sessions()
    for piece in read(FileRead((state,), whole, Counters(), file_read.subtask)):
        value = piece.batch.column("value")
        lengths = np.diff(np.asarray(value.offsets))
        keys = piece.batch.column("key").take(pa.array(np.repeat(np.arange(len(value)), lengths)))
        is_map = pa.types.is_map(value.type)
        sessions, windows = (value.keys, value.items) if is_map else value.flatten().flatten()
        found.add(keys, windows, sessions)
    return found


def _bounds(windows: pa.Array) -> list[npt.NDArray[np.int64]]:
    """Starts and ends in microseconds."""
    return [part.cast(pa.int64()).fill_null(_NULL).to_numpy() for part in windows.flatten()]


def _identities(keys: pa.Array, windows: pa.Array) -> Iterator[tuple[Any, Any, Any]]:
    """Key and bounds of windows as something that a dictionary takes."""
    # In Python NaN is not NaN, and 0.0 is -0.0. NumPy makes doubles of numbers among nulls.
    by_text = pa.types.is_nested(keys.type) or pa.types.is_floating(keys.type) or keys.null_count
    plain = map(repr, keys.to_pylist()) if by_text else keys.to_numpy(zero_copy_only=False).tolist()
    return zip(plain, *(bound.tolist() for bound in _bounds(windows)), strict=True)


def _with_sessions(batch: pa.RecordBatch, sessions: _Sessions, requested: pa.Schema | None) -> pa.RecordBatch:
    """A batch of contents with the bounds of their sessions, and only the columns that were asked for."""
    namespace = batch.column("namespace")
    columns = {field.name: batch.column(i) for i, field in enumerate(batch.schema)}
    found = sessions.of(batch.column("key"), namespace)
    for number, (name, bounds) in enumerate(zip(SESSION_COLUMNS, found, strict=True)):
        columns[name] = bounds.cast(namespace.type.field(number).type)
    schema = with_session_columns(batch.schema, namespace.type)
    if requested is not None:
        schema = pa.schema([field for field in schema if field.name in requested.names])
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
