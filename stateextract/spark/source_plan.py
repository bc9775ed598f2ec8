"""The plan of a read of ``flink-state``: which state, with which columns, and which task reads which bytes.

It is the job's plan (``job/plan.py``) of one operator, made when Spark asks for the schema; then it travels as bytes with the
data source through Spark's planning, so that a snapshot's heads are read once for each ``load()`` and not for each query.
Tasks get it without the splits, and one split each.

Must not know of Spark but for the words of its options.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from serializers import DescribeContext, SerializerSnapshot
from stateextract.columnar.convert.policy import Policy
from stateextract.errors import UndecodableError, UnsupportedError, UsageError, leaving
from stateextract.job.plan import Plan, PlannedState, make_plan
from stateextract.job.split import pack
from stateextract.metadata.model import OperatorState, SnapshotMetadata
from stateextract.metadata.operator_lookup import operator_label
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions
from stateextract.outcome import Status
from stateextract.printable import find_named, there_is
from stateextract.snapshot.forecast import Forecasts
from stateextract.snapshot.part_reader import open_reader
from stateextract.snapshot.parts import OperatorTargets, Part
from stateextract.snapshot.reading import choice_of
from stateextract.spark.carried import Carried
from stateextract.spark.source_filters import RowFilter
from stateextract.spark.source_options import DOORS, STATE, STATE_OPTIONS, job_options, parse_options
from stateextract.spark.source_types import only_columns
from stateextract.spark.source_wide import WideColumns, wide_columns
from stateextract.state.counters import Counters, StateCounters
from stateextract.state.flink_states import PYTHON_STATE
from stateextract.state.header import KeyedHeader
from stateextract.state.keys.key_groups import key_scalar
from stateextract.state.keys.lookup import groups_by_serializer
from stateextract.state.kinds import OPERATOR_KINDS, TIMER

_LOG = logging.getLogger("stateextract")
_RAW_ADVICE = "register a serializer as a plug-in, or have the extract job keep its bytes"


@dataclass(frozen=True)
class SourcePlan(Carried):
    """What is read, and how.

    :param job: the options that reading takes.
    :param targets: the states, each with its schema.
    :param schema: the columns that there are, after the option ``columns``.
    :param policy: what strings, times and maps become.
    :param serializers: the key's serializer by number of file; none for operator state.
    :param splits: what each task reads.
    :param given: the schema that Spark expects of batches, once it is known.
    :param filters: rows that do not pass need not be handed over.
    :param keys: rows of others are left out; ``None``: none is.
    :param pushes: whether Spark's filters leave out anything.
    :param size: of a task's plan: bytes of state that all splits read.
    :param wide: of a wide read, how the states' columns make its own.
    """

    job: JobOptions
    metadata_uri: str
    describe: DescribeContext
    targets: OperatorTargets
    max_parallelism: int
    schema: pa.Schema
    policy: Policy
    serializers: Mapping[int, SerializerSnapshot] = field(default_factory=dict)
    splits: Sequence[Sequence[Part]] = ()
    given: pa.Schema | None = None
    filters: Sequence[RowFilter] = ()
    keys: Sequence[pa.Scalar] | None = None
    pushes: bool = False
    wide: WideColumns | None = None
    size: int = 0

    def for_tasks(self) -> bytes:
        """What all tasks share."""
        size = sum(part.content.read_size for split in self.splits for part in split)
        return replace(self, splits=(), serializers={}, size=size).to_bytes()

    def pruned(self, needed: Callable[[SerializerSnapshot | None], frozenset[int] | None]) -> SourcePlan:
        """The plan of some key groups only.

        :param needed: those of a file, by the serializer of its keys; ``None``: all.
        """
        parts = [part for split in self.splits for part in split]
        kept: list[Part] = []
        for part in parts:
            groups = needed(self.serializers[part.file]) if part.file in self.serializers else None
            contents = [part.content] if groups is None else part.content.of_key_groups(groups)
            kept += [replace(part, content=content) for content in contents]
        return self if kept == parts else replace(self, splits=pack(kept, self.job.split_bytes))


@leaving(DOORS[STATE])
def make_source_plan(options: Mapping[str, str]) -> SourcePlan:
    """Plan a read.

    :param options: of the source, as Spark has them.
    :raises StateExtractError: where the snapshot cannot be read, or not what was asked for.
    """
    values = parse_options(options, STATE_OPTIONS, STATE)
    _refuse_contradictions(values)
    job = job_options(values, STATE_OPTIONS, **_choice(values))
    try:
        plan = make_plan(job, lambda metadata: choose_operator(metadata, values))
        if values["wide"]:
            _check_skips(plan, job, plan.states, wide=True)
        states = _chosen(plan, values)
        if not values["wide"]:
            _check_skips(plan, job, states)
        # A query has all rows of a state or none, whatever is left out of the plan.
        return _source_plan(plan, states, replace(job, strict=True), values)
    except UndecodableError as error:
        error.advice = _RAW_ADVICE
        raise


def _refuse_contradictions(values: Mapping[str, Any]) -> None:
    for one, other in (("wide", "readTimers"), ("wide", "flattenCollectionTypes"), ("wide", "types"),
                       ("readTimers", "flattenCollectionTypes")):  # fmt: skip
        if values[one] and values[other]:
            raise UsageError(f"{STATE}: the options {one} and {other} do not go together")
    if values["wide"] and values["stateScope"] == "operator":
        raise UsageError(f"{STATE}: wide is about keyed state", advice="leave stateScope out")
    if values["types"] and not values["stateName"]:
        raise UsageError(f"{STATE}: the option types needs stateName too")


def _choice(values: Mapping[str, Any]) -> dict[str, Any]:
    """The job's options that follow from the source's own."""
    name = values["stateName"]
    names: tuple[str, ...] = (name,) if name else ()
    if values["wide"]:
        names = tuple(part.strip() for part in name.split(",") if part.strip())
    metadata = values["includeMetadata"]
    types = tuple(f"*/{name}/{line}" for line in values["types"])
    return {
        "state": names, "types": types, "key_group_column": metadata, "subtask_column": metadata,
        "strict": values["strict"] or not values["wide"], "python_wrapping": values["pythonWrapping"] or values["wide"],
    }  # fmt: skip


# -- which operator


def choose_operator(metadata: SnapshotMetadata, values: Mapping[str, Any]) -> OperatorState:
    """The operator that the options mean.

    :raises UsageError: where there is none, or more than one.
    """
    asked = {name: values[name] for name in ("operatorUid", "operatorId", "operatorName") if values[name]}
    found = [o for o in metadata.operators if all(_is(o, name, text) for name, text in asked.items())]
    if not asked:
        found = [o for o in found if any(True for subtask in o.subtasks for _ in subtask.handles())]
    if len(found) == 1:
        return found[0]
    what = " and ".join(f"{name} {text!r}" for name, text in asked.items())
    if found and asked:
        raise UsageError(
            f"{len(found)} operators have the {what}",
            advice=f"select one with operatorId: {', '.join(o.id for o in found)}",
        )
    if found:
        raise UsageError(
            f"{len(found)} operators have state",
            advice=f"select one with operatorUid, operatorName or operatorId: {_labels(found)}",
        )
    if not asked:
        raise UsageError("no operator of the snapshot has state")
    raise UsageError(f"no operator has the {what}", advice=_nearest(metadata, asked))


def _is(operator: OperatorState, name: str, text: str) -> bool:
    match name:
        case "operatorUid":
            # Before Flink 2.0 only the hash of a uid was stored.
            return text == operator.uid or (operator.uid is None and operator.id == operator_id(text))
        case "operatorName":
            return text == operator.name
    return text.lower().replace("-", "") == operator.id


def _nearest(metadata: SnapshotMetadata, asked: Mapping[str, str]) -> str:
    operators = metadata.operators
    if "operatorName" in asked and all(o.name is None for o in operators):
        return "snapshots of Flink 1 contain no operator names; set operatorUid or operatorId"
    return there_is(next(iter(asked.values())), sorted(map(operator_label, operators)), "operators")


def _labels(operators: Sequence[OperatorState]) -> str:
    names = sorted(map(operator_label, operators))
    return ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


# -- which states


def _check_skips(plan: Plan, job: JobOptions, states: Sequence[PlannedState], wide: bool = False) -> None:
    """Refuse states of which nothing can be read although undecodable values are skipped, and log which may lack rows.

    No rows look like an empty state, and a merge of them deletes the rows of a table. Only reading all rows shows how many are
    lacking, which the table ``coverage`` does. This runs once for each ``load()``, on the driver.

    :param wide: such a state becomes no column and causes no error.
    :raises UndecodableError: with the reason.
    """
    for state in states:
        if state.target.choice.on_undecodable != "skip" or state.entry.read.failure:
            continue
        read = _first_rows(plan, job, state)
        reason = next(iter(read.problems), "its values cannot be decoded")
        if not read.rows and read.incomplete:
            if not wide:
                raise UndecodableError(
                    f"no value of the state can be read: {reason}",
                    operator=state.entry.label, state=state.name, advice=_RAW_ADVICE,
                )  # fmt: skip
            state.entry.read.problem(reason)
            state.entry.read.failure = Status.SKIPPED
            continue
        found = Forecasts(plan.describe.of_operator(plan.operators[state.operator].id)).of(state.named)
        if read.incomplete or found.status is Status.UNCERTAIN:
            _LOG.warning(
                "%s: values of the state %r that cannot be decoded have no row, because onUndecodable is skip. The table "
                "coverage counts them. %s", STATE, state.name, reason if read.incomplete else found.reason,
            )  # fmt: skip


def _first_rows(plan: Plan, job: JobOptions, state: PlannedState) -> StateCounters:
    """What was read of a state until there was a row."""
    targets = plan.operators[state.operator]
    targets = replace(targets, states={state.name: state.target})
    reader = open_reader(job, plan.found.metadata_uri, plan.describe, batch_rows=1, engine="interpreter")
    counters = Counters()
    for part in (part for split in plan.splits for part in split if part.operator == state.operator):
        for piece in reader.pieces(part, targets, counters):
            if piece.batch.num_rows:
                return counters.of(state.name)
    return counters.of(state.name)


def _chosen(plan: Plan, values: Mapping[str, Any]) -> list[PlannedState]:
    """The states that the options mean: one, or the queues of timers, or all that become columns."""
    if not plan.states:
        raise UsageError("the operator has no keyed state and no operator state")
    timers = [s for s in plan.states if s.entry.kind == TIMER]
    name = values["stateName"]
    if values["readTimers"]:
        return _queues(timers, name)
    scopes = {"keyed": False, "operator": True}
    states = [
        s for s in plan.states
        if not values["stateScope"] or scopes[values["stateScope"]] == (s.entry.kind in OPERATOR_KINDS)
    ]  # fmt: skip
    if values["wide"]:
        return _columns(states, bool(name) or values["strict"])
    if not name:
        states = [s for s in states if s.entry.kind != TIMER]
    elif not find_named(name, states, lambda s: (s.name,)):
        advice = "readTimers reads the timers" if timers else f"stateScope is {values['stateScope']}"
        raise UsageError(f"no state is called {name!r}", advice=advice)
    else:
        states = find_named(name, states, lambda s: (s.name,))
    if len(states) == 1:
        return states
    if name:
        raise UsageError(
            f"there is a keyed state and an operator state called {name!r}",
            advice="set stateScope to keyed or operator",
        )
    if not states:
        raise UsageError("the operator has timers only", advice="readTimers reads them")
    raise UsageError(
        f"the operator has {len(states)} states",
        advice=f"select one with stateName: {', '.join(sorted({s.name for s in states}))}",
    )


def _queues(timers: list[PlannedState], name: str) -> list[PlannedState]:
    if not timers:
        raise UsageError(
            f"{name!r} has no timers" if name else "the operator has no timers", advice="leave out readTimers"
        )
    if any(s.target.schema != timers[0].target.schema for s in timers):
        raise UsageError(
            "the timers of this operator's services have different columns",
            advice=f"select one with stateName: {', '.join(s.name for s in timers)}",
        )
    return timers


def _why(state: PlannedState) -> str:
    reason = state.entry.reason or next(iter(state.entry.read.problems), "its values cannot be decoded")
    return f"{state.name!r}: {reason}"


def _columns(states: list[PlannedState], named: bool) -> list[PlannedState]:
    """The keyed states that a wide read makes columns of."""
    wrong = [s for s in states if named and (s.entry.kind == TIMER or s.entry.kind in OPERATOR_KINDS)]
    if wrong:
        raise UsageError(f"{wrong[0].name!r} cannot become a column: it is not keyed state of values")
    keyed = [s for s in states if s.entry.kind != TIMER and s.entry.kind not in OPERATOR_KINDS]
    unread = [s for s in keyed if s.untyped is not None or s.entry.read.failure]
    if unread and named:
        raise UnsupportedError(
            f"the state {_why(unread[0])}", advice="select with stateName which states become columns, without strict"
        )
    if unread and len(unread) == len(keyed):
        raise UnsupportedError(f"no keyed state of the operator can be read; {_why(unread[0])}")
    for state in unread:
        _LOG.warning("%s: the state becomes no column. %s", STATE, _why(state))
    keyed = sorted((s for s in keyed if s not in unread), key=lambda s: s.name)
    if not keyed:
        raise UsageError("the operator has no keyed state but timers")
    return keyed


# -- what is read


def _source_plan(plan: Plan, states: Sequence[PlannedState], job: JobOptions, values: Mapping[str, Any]) -> SourcePlan:
    number = states[0].operator
    names = {s.name for s in states}
    policy = choice_of(job).policy
    operator = next(o for o in plan.metadata.operators if o.id == plan.operators[number].id)
    targets = OperatorTargets(plan.operators[number].label, {s.name: s.target for s in states}, operator.id)
    splits = [
        [replace(part, operator=0, content=part.content.only(names)) for part in split if part.operator == number]
        for split in plan.splits
    ]
    headers = {part.file: plan.files[part.file].header for split in splits for part in split}
    serializers = {file: header.key_serializer for file, header in headers.items() if isinstance(header, KeyedHeader)}
    schema = states[0].target.schema
    wide = None
    if values["wide"]:
        wide = wide_columns(plan, states, job)
        schema, targets = wide.schema, replace(targets, states=wide.targets)
        job = replace(job, strings="binary")
    if values["columns"]:
        schema = only_columns(schema, values["columns"])
    whole = SourcePlan(
        job, plan.found.metadata_uri, plan.describe, targets, operator.max_parallelism, schema,
        policy, serializers,
        [split for split in splits if split], pushes=values["pushFilters"], wide=wide,
    )  # fmt: skip
    return _asked(whole, wide.schema if wide is not None else states[0].target.schema, values)


def _asked(plan: SourcePlan, columns: pa.Schema, values: Mapping[str, Any]) -> SourcePlan:
    """The plan with the keys and key groups that are asked for.

    :param columns: all that there are.
    """
    keys, groups = values["keys"], values["keyGroups"]
    if keys is None and not groups:
        return plan
    if not plan.serializers:
        raise UsageError("the options keys and keyGroups require keyed state")
    if groups and groups[-1] >= plan.max_parallelism:
        raise UsageError(f"there is no key group {groups[-1]}", expected=f"0 to {plan.max_parallelism - 1}")
    scalars = tuple(key_scalar(key, columns.field("key").type) for key in keys) if keys is not None else None
    numbers = frozenset(groups) if groups else None
    python = any(name.startswith(PYTHON_STATE) for name in plan.targets.states)
    needed = groups_by_serializer(scalars, numbers, plan.max_parallelism, plan.policy, likely=python)
    return replace(plan.pruned(needed), keys=scalars)
