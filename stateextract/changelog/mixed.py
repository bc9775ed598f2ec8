"""Lists and maps of which several serializers wrote parts: each part is decoded by its own, and joined as columns.

After a restore with a POJO that evolved, or with TTL switched on, the job appends to lists and puts into maps whose other
elements and entries the log, or what was materialized, has by the serializer before. Flink brings them to the new one
when it restores. Here the parts become columns of their own types, and those are united like the columns of subtasks.

May import what reads pairs, and schemas; knows no operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from stateextract.changelog.changed_states import ChangedState
from stateextract.columnar.arrow.unite_schemas import cast_batch, merge_schemas
from stateextract.errors import StateExtractError
from stateextract.files.window import RangeSource
from stateextract.state.counters import Counters
from stateextract.state.engine import read_entry_pairs
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import Piece

WithLocation: TypeAlias = Callable[[StateExtractError, int], StateExtractError]
"""Adds to an error the position of the change."""


@dataclass(frozen=True)
class MixedRow:
    """A row.

    :param group: its key group; :param place: of the change that it came from.
    :param pairs: for each part a pair of its key and that part of its value, which is not empty.
    :param counts: how many elements or entries each part has.
    """

    group: int
    place: int
    pairs: Sequence[bytes]
    counts: Sequence[int]

    @property
    def size(self) -> int:
        """Bytes of the pairs."""
        return sum(map(len, self.pairs))


def read_mixed(
    states: Sequence[ChangedState],
    lengths: bool,
    rows: Sequence[MixedRow],
    options: ReadOptions,
    counters: Counters,
    subtask: int,
    with_location: WithLocation,
) -> Iterator[Piece]:
    """Decode rows whose parts the same serializers wrote.

    :param states: the state by each of them; :param lengths: the lengths of key and namespace are in the pairs' keys.
    :raises StateExtractError: with the place of the row.
    """
    attempt = Counters()
    counted = attempt.of(states[0].name)
    found: list[list[Piece]] = []
    try:
        for number, state in enumerate(states):
            data = b"".join(row.pairs[number] for row in rows)
            found.append(_read(state, lengths, data, replace(options, key=None), attempt, subtask))
        whole = not counted.lost_entries
        columns = _merged(found) if whole else []
    except StateExtractError as error:
        if len(rows) == 1:
            error.offset = None
            raise with_location(error.at(state=states[0].name, key_group=rows[0].group), rows[0].place) from None
        whole = False
    if not whole and len(rows) > 1:
        # Which row it is shows when each is read alone.
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            yield from read_mixed(states, lengths, half, options, counters, subtask, with_location)
        return
    # What the changes took in their files is counted where they are read.
    counted.bytes = counted.rows = counted.entries = 0
    if whole:
        counted.entries = len(rows)
        for batch in _one_after_the_other(columns, rows) if options.flatten else [_joined(columns)]:
            counted.rows += batch.num_rows
            yield Piece(states[0].name, False, batch)
    else:
        counted.lost_entries = 1
        yield from (piece for pieces in found for piece in pieces if piece.raw)
    counters.add(attempt)


def _read(
    state: ChangedState, lengths: bool, data: bytes, options: ReadOptions, counters: Counters, subtask: int
) -> list[Piece]:
    source = RangeSource(lambda at, n: data[at : at + n], 0, len(data))
    return list(read_entry_pairs(source, state.row, lengths, options, counters, subtask))


def _merged(found: Sequence[Sequence[Piece]]) -> list[pa.RecordBatch]:
    """The batches of each part in one, with the columns of all parts."""
    tables = [pa.Table.from_batches([piece.batch for piece in pieces]) for pieces in found]
    schema = merge_schemas([table.schema for table in tables])
    return [cast_batch(table.combine_chunks().to_batches()[0], schema) for table in tables]


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows, each with what all of its parts have in its value."""
    last = parts[-1]
    if "value" not in last.schema.names:
        return last
    place = last.schema.get_field_index("value")
    return last.set_column(place, last.schema.field(place), _concatenated([part.column(place) for part in parts]))


def _concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    """The lists, or maps, of each row, one after the other."""
    rows = len(arrays[0])
    row_by_row = np.arange(rows * len(arrays)).reshape(len(arrays), rows).T.ravel()
    together = pa.concat_arrays(arrays).take(pa.array(row_by_row))
    offsets = pa.array(np.asarray(together.offsets)[:: len(arrays)])
    if pa.types.is_map(together.type):
        return pa.MapArray.from_arrays(offsets, together.keys, together.items, type=together.type)
    return pa.ListArray.from_arrays(offsets, together.values, type=together.type)


def _one_after_the_other(parts: Sequence[pa.RecordBatch], rows: Sequence[MixedRow]) -> Iterator[pa.RecordBatch]:
    """Of flat rows, each part's; positions in lists go on where the part before ends."""
    counts = np.array([row.counts for row in rows], np.int32)
    before = np.zeros(len(rows), np.int32)
    for number, batch in enumerate(parts):
        place = batch.schema.get_field_index("list_index")
        if place >= 0:
            index = batch.column(place).to_numpy() + np.repeat(before, counts[:, number])
            batch = batch.set_column(place, batch.schema.field(place), pa.array(index, pa.int32()))
        before += counts[:, number]
        yield batch
