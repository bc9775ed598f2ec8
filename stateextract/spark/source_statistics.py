"""The table ``statistics`` of ``flink-state-metadata``: the rows of a history (``audit/history.py``), read by Spark's tasks."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from stateextract.audit.by_state import StatesPlan, StatesTask, plan_by_state
from stateextract.audit.collect import SplitReader
from stateextract.audit.document import Statistics
from stateextract.audit.durations import moment, times_to_live
from stateextract.audit.history import SCHEMA, table_of
from stateextract.audit.statistics import Question
from stateextract.columnar.schema import conform
from stateextract.errors import StateExtractError, UsageError
from stateextract.spark.source_options import METADATA, METADATA_OPTIONS, in_spark_words, job_options
from stateextract.spark.source_types import arrow_schema, check_given


@dataclass(frozen=True)
class _Planned:
    """What is read.

    :param given: the schema that Spark expects of batches.
    """

    states: StatesPlan
    given: pa.Schema

    def to_bytes(self) -> bytes:
        return zlib.compress(pickle.dumps(self), 6)

    @classmethod
    def from_bytes(cls, data: bytes) -> _Planned:
        """Of bytes that Spark was given by this process's kin, and never of a file's."""
        plan: _Planned = pickle.loads(zlib.decompress(data))
        return plan


def statistics_schema() -> Any:
    """The ``StructType`` of the table."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(SCHEMA)


def planned(values: Mapping[str, Any], schema: Any) -> bytes:
    """A plan.

    :param values: of the options; :param schema: the columns that are wanted, as Spark's ``StructType``.
    :raises StateExtractError: where the snapshot cannot be read, or not what was asked for.
    """
    given = arrow_schema(schema)
    check_given(given, arrow_schema(statistics_schema()))
    operators = tuple(values[name] for name in ("operatorUid", "operatorName", "operatorId") if values[name])
    if len(operators) > 1:
        raise UsageError(
            f"{METADATA}: the operator is said in more than one way", advice="leave all but one of them out"
        )
    states = (values["stateName"],) if values["stateName"] else ()
    where = f"{METADATA}: the option"
    as_of = moment(values["asOf"], f"{where} asOf") if values["asOf"] else None
    question = Question(as_of, times_to_live(values["ttl"], f"{where} ttl"), top=1)
    try:
        plan = plan_by_state(job_options(values, METADATA_OPTIONS, operator=operators, state=states), question)
    except StateExtractError as error:
        raise in_spark_words(error) from None
    return _Planned(plan, given).to_bytes()


def splits(data: bytes) -> list[bytes]:
    """What each task does: read states, or say which are not read."""
    plan = _Planned.from_bytes(data).states
    parts: list[StatesTask | Statistics] = [*plan.tasks]
    if any(True for _ in plan.unread.states):
        parts.append(plan.unread)
    return [zlib.compress(pickle.dumps(part), 6) for part in parts]


def for_tasks(data: bytes) -> bytes:
    """What all tasks share."""
    plan = _Planned.from_bytes(data)
    return replace(plan, states=replace(plan.states, tasks=(), unread=plan.states.empty)).to_bytes()


def read(data: bytes, split: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of some states, as Spark's schema has them.

    :raises StateExtractError: with file, operator, state, key group and offset.
    """
    plan, reader = _running(data)
    part: StatesTask | Statistics = pickle.loads(zlib.decompress(split))
    try:
        document = part if isinstance(part, Statistics) else part.measure(reader, plan.states.empty)
    except StateExtractError as error:
        raise in_spark_words(error) from None
    for batch in table_of([document]).cast(arrow_schema(statistics_schema())).to_batches():
        yield conform(batch, plan.given)


@lru_cache(maxsize=4)
def _running(data: bytes) -> tuple[_Planned, SplitReader]:
    plan = _Planned.from_bytes(data)
    return plan, SplitReader(plan.states.work)


__all__ = ["for_tasks", "planned", "read", "splits", "statistics_schema"]
