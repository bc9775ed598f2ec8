"""Several states of one operator, with each file read once; and their numbers of rows, for which no entry is decoded.

Depends on states and the engine. A state alone is counted by :meth:`State.count`, which may find its count in the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from stateextract.api.state import State, suited
from stateextract.doors import api_door
from stateextract.errors import StateExtractError, UndecodableError
from stateextract.outcome import Status
from stateextract.snapshot.content import Content
from stateextract.snapshot.headers import StateFile
from stateextract.state.counters import Counters
from stateextract.state.target import Piece

Count = int | StateExtractError
"""Rows of a state, or why they cannot be counted."""

_ROW_COLUMNS = ("key_group", "subtask")
"""Columns that take no decoding."""


def count_rows(states: Sequence[State], on_read: Callable[[int], None] = lambda size: None) -> list[Count]:
    """Count the rows of states, each file once.

    :param on_read: is called with numbers of bytes as they are read.
    :returns: for each state its rows, or the error if they cannot be counted.
    """
    found: dict[State, Count] = {}
    groups: dict[str, list[State]] = {}
    for state in states:
        if state.kind in ("list (split)", "list (union)"):
            found[state] = _alone(state)  # the offsets in _metadata are counted
        else:
            groups.setdefault(f"{state.operator.id} {state.scope}", []).append(state)
    for group in groups.values():
        alone = len(group) == 1 and group[0].coverage.status != Status.UNSUPPORTED
        found |= {group[0]: _alone(group[0])} if alone else _together(group, on_read)
    return [count if isinstance(count, int) else count.worded(api_door()) for count in map(found.__getitem__, states)]


def _alone(state: State) -> Count:
    try:
        return state.count()
    except StateExtractError as error:
        return error.detached()


def _together(states: Sequence[State], on_read: Callable[[int], None]) -> dict[State, Count]:
    """The rows of several states of one operator."""
    found: dict[State, Count] = {}
    readable: dict[str, State] = {}
    undecodable: dict[str, StateExtractError] = {}
    for state in states:
        try:
            state._check_readable()
        except UndecodableError as error:
            undecodable[state.name] = error.detached()  # if it has a row
        except StateExtractError as error:
            found[state] = error.detached()
            continue
        readable[state.name] = state
    columns = {
        name: pa.schema(kept)
        for name, state in readable.items()
        if (kept := [field for field in state.schema if field.name in _ROW_COLUMNS])
    }
    counters = Counters()
    try:
        for _ in read_together(readable, columns, counters, on_read):
            pass
    except StateExtractError:
        # Which states the error concerns shows only if each is read by itself.
        return found | {state: _alone(state) for state in readable.values()}
    for name, state in readable.items():
        counted = counters.of(name)
        found[state] = counted.rows
        if name in undecodable and (counted.rows or counted.incomplete):
            found[state] = undecodable[name]
        elif counted.lost_entries or counted.lost_key_groups:
            text = f"the rows cannot be counted: {counted.problems[0]}"
            found[state] = UndecodableError(text, operator=state.operator.label, state=name)
    return found


def read_together(
    states: Mapping[str, State],
    columns: Mapping[str, pa.Schema],
    counters: Counters,
    on_read: Callable[[int], None] = lambda size: None,
) -> Iterator[Piece]:
    """The batches of several states of one operator and scope, by name; undecodable values are left out, and counted.

    :param columns: the columns of each state that are decoded, if not all.
    :raises StateExtractError: with file and operator; which states it concerns is not known.
    """
    if not states:
        return
    first = next(iter(states.values()))
    options = replace(first._options, on_undecodable="skip", columns=dict(columns) or None)
    found = {id(file): file for state in states.values() for file in state._named_state.files}
    work: list[tuple[StateFile, Content]] = [
        (file, file.content.only(set(states)))
        for file in found.values()
        if file.content is not None and file.header is not None
    ]
    options = suited(options, sum(content.read_size for _, content in work))
    files, given = first._opened.source.files(), set[str]()
    for file, content in files.in_order(work):
        assert file.header is not None
        names = {meta.name for meta in file.header.states} & set(states)
        try:
            with files.opened(file, on_read) as read_at:
                skip_broadcast_states = () if options.all_copies else tuple(given)
                yield from files.pieces(
                    read_at, file, content, names, options, counters, skip_broadcast_states, on_read
                )
        except StateExtractError as error:
            raise files.with_location(error, file) from None
        # A compressed file is read through, so its content has partitions of other states, too.
        given |= {part.name for part in content.partitions if part.name in names and states[part.name].kind == "broadcast"}
