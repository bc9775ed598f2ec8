"""What happens in Spark's processes for ``flink-state-diff``: the plan of a comparison of one state, and its units in tasks.

The rows are those of ``stateextract diff --output`` (``stateextract/diff``). A task compares some runs of key groups; of
operator state, and of different numbers of key groups, there is one task.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from stateextract.columnar.arrow.unite_schemas import cast_batch
from stateextract.diff.diff_plan import (
    UNIT_BYTES,
    DiffContext,
    DiffOptions,
    DiffPlan,
    DiffState,
    DiffUnit,
    make_diff_plan,
)
from stateextract.diff.diff_run import packed
from stateextract.diff.diff_task import DiffRunner
from stateextract.errors import UnsupportedError, UsageError, leaving
from stateextract.options import JobOptions
from stateextract.spark.carried import Carried
from stateextract.spark.source_options import (
    DIFF,
    DIFF_OPTIONS,
    DOORS,
    Option,
    job_options,
    operator_asked,
    parse_options,
)
from stateextract.spark.source_types import given_schema, spark_schema


@dataclass(frozen=True)
class PlannedDiff(Carried):
    """A comparison.

    :param given: the schema that Spark expects of batches, once it is known.
    """

    context: DiffContext
    splits: Sequence[Sequence[DiffUnit]]
    schema: pa.Schema
    given: pa.Schema | None = None


@leaving(DOORS[DIFF])
def planned(options: Mapping[str, str]) -> tuple[bytes, Any]:
    """A plan, and the ``StructType`` of its rows.

    :raises StateExtractError: where a snapshot cannot be read, or not what was asked for.
    """
    if any(name.lower() == "path" for name in options):
        raise UsageError(
            f"{DIFF}: a path is for streams", advice="use spark.readStream, or give two snapshots as before and after"
        )
    values = parse_options(options, DIFF_OPTIONS, DIFF)
    for name in ("before", "after"):
        if not values[name]:
            raise UsageError(
                f"{DIFF}: there is no {name}", advice="give the paths of two snapshots as before and after"
            )
    after = diff_job({**values, "path": values["after"]}, DIFF_OPTIONS)
    after = replace(after, checkpoint=values["afterCheckpoint"], job=values["job"])
    before = replace(after, snapshot=values["before"], checkpoint=values["beforeCheckpoint"])
    plan, _ = plan_of_state(before, after, values)
    return plan.to_bytes(), spark_schema(plan.schema)


def diff_job(values: Mapping[str, Any], known: Sequence[Option]) -> JobOptions:
    """The options of a job that reads the later snapshot.

    :raises UsageError: where more than one way to name the operator is used.
    """
    states = (values["stateName"],) if values["stateName"] else ()
    return job_options(values, known, operator=operator_asked(values, DIFF), state=states)


def plan_of_state(
    before: JobOptions | None, after: JobOptions, values: Mapping[str, Any]
) -> tuple[PlannedDiff, DiffState]:
    """The comparison of the one state that the options select.

    :param before: ``None``: all rows are added.
    :raises StateExtractError: where a snapshot cannot be read, or the options do not select one state.
    """
    settings = DiffOptions(
        values["lastAccess"], values["commonFields"], after.memory_bytes, values["full"], min(UNIT_BYTES, after.split_bytes)
    )
    plan = make_diff_plan(before, after, settings)
    state = _select_state(plan, values["stateScope"])
    assert state.output is not None
    context = replace(plan.context, states=[state])
    units = [unit for unit in plan.units if unit.operator == state.operator and state.name in unit.states]
    return PlannedDiff(context, packed(units, after.split_bytes), state.output), state


def _select_state(plan: DiffPlan, scope: str) -> DiffState:
    states = [state for state in plan.states if scope in ("", state.scope)]
    if len(states) > 1:
        names = ", ".join(sorted({f"{state.label} / {state.name}" for state in states})[:20])
        raise UsageError(
            f"the options match {len(states)} states",
            advice=f"set operatorUid, stateName and stateScope to select one: {names}",
        )
    if not states:
        raise UsageError(f"the options match no {scope} state")
    if states[0].how is None:
        raise UnsupportedError(
            f"the state cannot be compared: {states[0].reason}", operator=states[0].label, state=states[0].name
        )
    return states[0]


def with_schema(data: bytes, schema: Any) -> bytes:
    """The plan for the schema that Spark goes on with: the source's own, or one that the user gave.

    :raises UsageError: if it is not a partition of this source.
    """
    plan = PlannedDiff.from_bytes(data)
    return replace(plan, given=given_schema(schema, plan.schema)).to_bytes()


def splits(data: bytes) -> list[bytes]:
    """What each task compares."""
    return [pickle.dumps(units) for units in PlannedDiff.from_bytes(data).splits]


def for_tasks(data: bytes) -> bytes:
    """What all tasks share."""
    return replace(PlannedDiff.from_bytes(data), splits=()).to_bytes()


def read(data: bytes, split: bytes, complete: bool = False) -> Iterator[pa.RecordBatch]:
    """The changes in a split, as Spark's schema has them.

    :param complete: raise if something of the state was left out because it cannot be decoded.
    :raises StateExtractError: with file, operator, state, key group and offset.
    """
    plan, runner = _running(data)
    assert plan.given is not None
    units: Sequence[DiffUnit] = pickle.loads(split)
    with leaving(DOORS[DIFF]):
        for unit in units:
            for changes in runner.run(unit):
                if complete and changes.counts.left_out:
                    groups = ", ".join(map(str, changes.counts.left_out))
                    raise UnsupportedError(
                        f"changes of the key groups {groups} cannot be read: {'; '.join(changes.counts.reasons)}",
                        operator=changes.state.label, state=changes.state.name,
                    )  # fmt: skip
                for remark in changes.counts.remarks:
                    # No row can say it. Python shows it once, where the task writes its errors.
                    warnings.warn(f"{changes.state.label} / {changes.state.name}: {DOORS[DIFF].reason(remark)}", stacklevel=2)
                if changes.rows is not None:
                    yield cast_batch(changes.rows, plan.given)


@lru_cache(maxsize=4)
def _running(data: bytes) -> tuple[PlannedDiff, DiffRunner]:
    plan = PlannedDiff.from_bytes(data)
    return plan, DiffRunner(plan.context)
