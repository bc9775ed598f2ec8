"""What happens in Spark's processes for ``flink-state``: planning in two of them, reading in the workers.

``data_sources.py`` calls these functions once the project can be imported; plans come and go as bytes. A worker keeps the
reader of its last plans, since it is given many splits of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from stateextract.columnar.arrow.unite_schemas import cast_batch
from stateextract.columnar.compiled.engines import engine_for
from stateextract.columnar.convert.type_overrides import UNWRAP_TTL
from stateextract.errors import leaving
from stateextract.job.split import decode_split, encode_split
from stateextract.snapshot.part_reader import open_reader
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.spark.source_filters import row_filters, selected_key_groups
from stateextract.spark.source_options import DOORS, STATE
from stateextract.spark.source_plan import SourcePlan, make_source_plan
from stateextract.spark.source_types import given_schema, spark_schema
from stateextract.spark.source_wide import read_wide
from stateextract.state.counters import Counters
from stateextract.state.keys.lookup import has_key


def planned(options: Mapping[str, str]) -> tuple[bytes, Any]:
    """A plan, and the ``StructType`` of its rows."""
    plan = make_source_plan(options)
    return plan.to_bytes(), spark_schema(plan.schema)


def with_schema(data: bytes, schema: Any) -> bytes:
    """The plan for the schema that Spark goes on with: the source's own, or one that the user gave.

    :raises UsageError: if it is not a partition of this source.
    """
    plan = SourcePlan.from_bytes(data)
    return replace(plan, given=given_schema(schema, plan.schema)).to_bytes()


def with_filters(data: bytes, filters: Sequence[Any]) -> bytes:
    """The plan without what cannot pass these filters, as far as that is seen."""
    plan = SourcePlan.from_bytes(data)
    assert plan.given is not None
    wanted = selected_key_groups(filters, plan.given, plan.max_parallelism, plan.policy)
    return replace(plan.pruned(wanted), filters=row_filters(filters, plan.given)).to_bytes()


def pushes(data: bytes) -> bool:
    """Whether filters are to be pushed down."""
    return SourcePlan.from_bytes(data).pushes


def splits(data: bytes) -> list[bytes]:
    """What each task reads."""
    return [encode_split(split) for split in SourcePlan.from_bytes(data).splits]


def for_tasks(data: bytes) -> bytes:
    """What all tasks share."""
    return SourcePlan.from_bytes(data).for_tasks()


def read(data: bytes, split: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of a split, as Spark's schema has them.

    :raises StateExtractError: with file, operator, state, key group and offset.
    """
    reading = _reading(data)
    with leaving(DOORS[STATE]):
        for part in reading.reader.in_order(decode_split(split), lambda _: reading.targets):
            yield from reading.batches(part)


def _splits_ttl(target: StateTarget) -> bool:
    """Whether the column ``last_access`` is made of the stored column ``value``."""
    return any(type_ == UNWRAP_TTL for _, type_ in target.overrides)


class _Reading:
    """Reads the parts of one plan."""

    def __init__(self, plan: SourcePlan) -> None:
        assert plan.given is not None
        self.plan = plan
        self.given = plan.given
        self.needed = {*plan.given.names, *(("key",) if plan.keys is not None else ())}
        self.wide = None if plan.wide is None else plan.wide.only(self.needed)
        self.targets = self._targets()
        columns = {name: target.schema for name, target in self.targets.states.items()}
        self.reader = open_reader(
            plan.job, plan.metadata_uri, plan.describe, columns=columns, engine=engine_for(plan.size)
        )

    def _targets(self) -> OperatorTargets:
        """The states with the columns that are wanted of them."""
        targets = self.plan.targets
        if self.wide is not None:
            return replace(targets, states=self.wide.targets)
        projected = {}
        for name, target in targets.states.items():
            needed = self.needed | ({"value"} if self.needed & {"last_access"} and _splits_ttl(target) else set())
            overrides = tuple((path, t) for path, t in target.overrides if path.split(".")[0] in needed)
            schema = pa.schema(
                [
                    # A type override may be about any field of its column.
                    f
                    if overrides or f.name not in self.given.names
                    else f.with_type(_projected(f.type, self.given.field(f.name).type))
                    for f in target.schema
                    if f.name in needed
                ]
            )
            merged = None
            if target.merged is not None:
                merged = pa.schema([f for f in target.merged if f.name in needed])
            projected[name] = replace(target, schema=schema, overrides=overrides, merged=merged)
        return replace(targets, states=projected)

    def batches(self, part: Part) -> Iterator[pa.RecordBatch]:
        for batch in self._rows(part):
            if self.plan.keys is not None:
                batch = batch.filter(pa.array(has_key(batch.column("key"), self.plan.keys)))
            for row_filter in self.plan.filters:
                batch = batch.filter(row_filter.mask(batch))
            if batch.num_rows:
                yield cast_batch(batch, self.given)

    def _rows(self, part: Part) -> Iterator[pa.RecordBatch]:
        if self.wide is not None:
            yield from read_wide(self.reader, part, self.targets, self.wide, self.plan.policy)
            return
        for piece in self.reader.pieces(part, self.targets, Counters()):
            yield piece.batch


def _projected(have: pa.DataType, given: pa.DataType) -> pa.DataType:
    """The type with those fields of its structs only that another has."""
    if pa.types.is_struct(have) and pa.types.is_struct(given):
        names = [f.name for f in given]
        return pa.struct([f.with_type(_projected(f.type, given.field(f.name).type)) for f in have if f.name in names])
    return have


@lru_cache(maxsize=4)
def _reading(data: bytes) -> _Reading:
    return _Reading(SourcePlan.from_bytes(data))
