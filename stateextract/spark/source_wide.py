"""Wide rows: the keyed states of an operator side by side, a row per key and namespace.

All entries of a key lie in one key group of one subtask's file, so states are joined there and nowhere else. What is held at
once is a run of key groups of at most :data:`RUN_BYTES` in the file, decoded, or one key group that is larger by itself.

Keys must be distinguished exactly to be joined, so strings are read as their UTF-16 units say (as bytes, in WTF-8) and become
text afterwards. Where a key's time lost digits, that cannot be helped, and is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from serializers.names import Names
from stateextract.columnar.arrow.row_numbers import Numbers, row_numbers
from stateextract.columnar.arrow.unite_schemas import cast_batch, merge_schemas
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.convert.text import as_text
from stateextract.errors import StateExtractError, ValueRefusedError
from stateextract.job.plan import Plan, PlannedState
from stateextract.options import JobOptions
from stateextract.snapshot.content import Content
from stateextract.snapshot.part_reader import PartReader
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.snapshot.reading import read_options
from stateextract.state.counters import Counters
from stateextract.state.state_columns import merged_schema
from stateextract.state.window_columns import WINDOW_COLUMNS

RUN_BYTES = 16 << 20
"""Bytes of state that are joined at once, unless one key group has more."""

_IDENTITY = ("key", "namespace")
_SHARED = (*_IDENTITY, *WINDOW_COLUMNS, "slice_end")
_LAST = ("key_group", "subtask")
_OF_STATE = ("value", "last_access")


@dataclass(frozen=True)
class WideColumns:
    """How states become columns.

    :param schema: of the wide rows: key, namespace and window where a state has them; a column per state, and of states
        with a time to live one more for the last access; key_group and subtask.
    :param column_names: by state, which of its columns becomes which.
    :param targets: the states as they are read: strings as bytes.
    :param rows: by state, its columns as they are to be.
    """

    schema: pa.Schema
    column_names: Mapping[str, Mapping[str, str]]
    targets: Mapping[str, StateTarget]
    rows: Mapping[str, pa.Schema]

    def only(self, needed: Collection[str]) -> WideColumns:
        """What of it some of the columns need: every state's keys, since they say which rows there are."""
        column_names, targets, rows = {}, {}, {}
        for name, of_state in self.column_names.items():
            column_names[name] = {column: output_name for column, output_name in of_state.items() if output_name in needed}
            wanted = {*_IDENTITY, *needed} & {*_SHARED, *_LAST} | set(column_names[name])
            rows[name] = pa.schema([f for f in self.rows[name] if f.name in wanted])
            target = self.targets[name]
            targets[name] = replace(target, schema=pa.schema([f for f in target.schema if f.name in wanted]))
        return WideColumns(pa.schema([f for f in self.schema if f.name in needed]), column_names, targets, rows)


def wide_columns(plan: Plan, states: Sequence[PlannedState], job: JobOptions) -> WideColumns:
    """The columns of a wide read.

    :raises UnsupportedError: where keys or namespaces of two states have different types.
    """
    rows = {s.name: s.target.schema for s in states}
    shared, last = (merge_schemas([_part(schema, names) for schema in rows.values()]) for names in (_SHARED, _LAST))
    names = Names([*_SHARED, *_LAST])
    column_names: dict[str, dict[str, str]] = {}
    columns = []
    for name, schema in rows.items():
        column_names[name] = {}
        for column in _OF_STATE:
            if column in schema.names:
                output_name = names.take(name if column == "value" else f"{name}_{column}")
                column_names[name][column] = output_name
                columns.append(pa.field(output_name, schema.field(column).type))
    context = plan.describe.of_operator(plan.operators[states[0].operator].id)
    choices = {s.name: s.target.choice.exact() for s in states}
    options = replace(read_options(job, context), choices=choices)
    targets = {
        s.name: replace(s.target, schema=merged_schema(s.named.rows(context), options), choice=choices[s.name])
        for s in states
    }
    return WideColumns(pa.schema([*_part(shared, _SHARED), *columns, *last]), column_names, targets, rows)


def _part(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    return pa.schema([schema.field(name) for name in names if name in schema.names])


def read_wide(
    reader: PartReader, part: Part, targets: OperatorTargets, wide: WideColumns, policy: Policy
) -> Iterator[pa.RecordBatch]:
    """The wide rows of a part.

    :param targets: the states, as ``wide`` has them.
    :param policy: what strings become.
    :yields: batches with the wide schema.
    :raises ValueRefusedError: where keys cannot be distinguished.
    """
    for content in runs(part.content):
        counters = Counters()
        gathered: dict[str, list[pa.RecordBatch]] = {}
        for piece in reader.pieces(replace(part, content=content), targets, counters):
            gathered.setdefault(piece.state, []).append(piece.batch)
        tables = {n: pa.Table.from_batches(batches).combine_chunks() for n, batches in gathered.items()}
        if not tables:
            continue
        try:
            _refuse_unclear(tables, counters)
            yield _joined(tables, wide, policy)
        except StateExtractError as error:
            raise error.at(file=part.uri, operator=targets.label) from None
        except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
            raise ValueRefusedError(
                f"the states of the key groups {content.key_groups[0]} to {content.key_groups[1]} cannot be joined: {error}",
                file=part.uri, operator=targets.label, advice="read the states one by one, without wide",
            ) from None  # fmt: skip


def runs(content: Content) -> Iterator[Content]:
    """Pieces of at most :data:`RUN_BYTES`, of whole key groups; a larger key group is one by itself."""
    if content.whole or not content.ranges:
        yield content
        return
    begin = size = 0
    for i, length in enumerate(content.sizes):
        if size and size + length > RUN_BYTES:
            yield content.cut(begin, i)
            begin, size = i, 0
        size += length
    yield content.cut(begin, len(content.ranges))


def _refuse_unclear(tables: Mapping[str, pa.Table], counters: Counters) -> None:
    """Times that lost digits, or became null, may have made two keys one."""
    counts = sum((counters.of(name).counts for name in tables), ChangeCounts())
    identities = [field.type for table in tables.values() for field in table.schema if field.name in _IDENTITY]
    if (counts.sub_microsecond or counts.out_of_range) and any(map(_has_times, identities)):
        raise ValueRefusedError(
            "times in keys that differ only below the microsecond, or beyond their column's range, cannot be distinguished",
            advice="set --timestamps fail and --out-of-range fail, or read the states one by one, without wide",
        )


def _has_times(type_: pa.DataType) -> bool:
    if pa.types.is_temporal(type_):
        return True
    return pa.types.is_nested(type_) and any(_has_times(type_.field(i).type) for i in range(type_.num_fields))


def _joined(tables: Mapping[str, pa.Table], wide: WideColumns, policy: Policy) -> pa.RecordBatch:
    numbers, count = row_numbers(
        [table.select([n for n in _IDENTITY if n in table.column_names]) for table in tables.values()]
    )
    texts = {
        name: as_text(table.to_batches()[0], wide.rows[name], policy) for name, table in tables.items()
    }  # fmt: skip
    columns: dict[str, pa.Array] = {}
    for (name, batch), rows in zip(texts.items(), numbers, strict=True):
        column_names = _places(rows, count)
        if int(column_names.is_valid().sum().as_py()) != len(rows):
            raise ValueRefusedError("two entries of the state have the same key and namespace", state=name)
        for column, target in wide.column_names[name].items():
            columns[target] = batch.column(column).take(column_names)
    for column in (f.name for f in wide.schema if f.name in (*_SHARED, *_LAST)):
        having = [
            (batch, rows) for batch, rows in zip(texts.values(), numbers, strict=True) if column in batch.schema.names
        ]
        if having:
            schema = pa.schema([f for f in wide.schema if f.name == column])
            parts = [cast_batch(batch.select([column]), schema).column(0) for batch, _ in having]
            column_names = _places(np.concatenate([rows for _, rows in having]), count)
            columns[column] = pa.concat_arrays(parts).take(column_names)
    return pa.RecordBatch.from_arrays(
        [columns[f.name] if f.name in columns else pa.nulls(count, f.type) for f in wide.schema], schema=wide.schema
    )


def _places(numbers: Numbers, count: int) -> pa.Array:
    """For each number where it is first; null where it does not."""
    column_names = np.full(count, -1, np.int64)
    column_names[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return pa.array(column_names, mask=column_names < 0)
