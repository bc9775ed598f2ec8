"""Statistics of a snapshot: planned like an extract job, read split by split, put together as the document.

Whatever the snapshot holds is in the document, read or not: its entries are those of the coverage report. May import the
job and state; must not know of Spark or of the command line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stateextract.audit.collect import Collected, Key, StatisticsRunner, Work, collect
from stateextract.audit.document import (
    KeyGroup,
    OperatorDocument,
    Owners,
    SchemaField,
    Skew,
    Skews,
    SnapshotDocument,
    StateDocument,
    Statistics,
    Subtask,
    Times,
    Totals,
    Ttl,
)
from stateextract.audit.event_time import clock_note, judged
from stateextract.audit.measure.ages import TimeStatistics
from stateextract.audit.measure.owners import owners_of
from stateextract.audit.measure.state_statistics import MeasureOptions, StateStatistics
from stateextract.errors import UsageError
from stateextract.job.execute import Execute, on_this_machine
from stateextract.job.plan import Plan, PlannedState, make_plan
from stateextract.job.split import SplitContext
from stateextract.metadata.model import OperatorState
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions
from stateextract.outcome import Status
from stateextract.printable import plain_names, replaced
from stateextract.snapshot.coverage import CoverageEntry
from stateextract.snapshot.headers import OnHeaders, ignore_progress
from stateextract.snapshot.uids import read_uids
from stateextract.state.plan_names import operators_of_plan
from stateextract.version import VERSION

UID_SINCE = 5
"""The version of ``_metadata`` that first has uids, that of Flink 2.0."""


@dataclass(frozen=True)
class StatisticsOptions:
    """What statistics contain besides what follows from the snapshot.

    :param as_of_ms: the time that ages are counted to; ``None``: the time of the file ``_metadata``.
    :param ttls: times to live in milliseconds, by ``OPERATOR/STATE``, by state, or for all by ``""``.
    :param top: how many of the biggest keys and values to list.
    """

    as_of_ms: int | None = None
    ttls: Mapping[str, int] = field(default_factory=dict)
    top: int = 10


@dataclass(frozen=True)
class StatisticsPlan:
    """What is to be read, and what of the document is known before.

    :param empty: the document without operators.
    :param owned: the ids of the operators that the job still has; ``None``: not known.
    """

    plan: Plan
    empty: Statistics
    owned: frozenset[str] | None
    work: Work


def statistics(
    options: JobOptions,
    statistics_options: StatisticsOptions | None = None,
    execute: Execute | None = None,
    on_headers: OnHeaders = ignore_progress,
) -> Statistics:
    """The statistics of the states that the options choose.

    :param options: as for an extract job; what it says of rows (``flatten``, columns) does not count. A state that cannot be
        decoded is left out and reported, unless ``on_undecodable`` is ``raw``.
    :param execute: runs the tasks; ``None``: processes of this machine, if there is much to read.
    :param on_headers: as of :func:`stateextract.job.plan.make_plan`.
    :raises StateExtractError: where the snapshot cannot be read.
    :raises UsageError: where the choice, or a time to live, matches nothing.
    """
    planned = plan_statistics(options, statistics_options, on_headers)
    plan = planned.plan
    collected, reader = collect(planned.work, plan.splits, execute or on_this_machine())
    for state in plan.states:
        finalize(state.entry, (state.operator, state.name), collected)

    statistics: dict[int, StateStatistics] = {}

    def state_of(entry: CoverageEntry, operator: OperatorState, key: Key | None) -> StateDocument:
        if key is None:
            return unread(entry)
        state = measured(entry, (operator.parallelism, operator.max_parallelism), key, collected, reader)
        if key in collected.statistics and key not in collected.refused:
            statistics[id(state)] = collected.statistics[key]
        return state

    top = (statistics_options or StatisticsOptions()).top
    operators = judged(operators_of(planned, state_of, lambda of, keys: owners(of, keys, collected, top)), statistics)
    states = [state for operator in operators for state in operator.states]
    totals = Totals(
        len(operators), len(states), sum(s.rows for s in states), sum(s.file_bytes for s in states),
        sum(s.decoded_bytes for s in states),
    )  # fmt: skip
    given = statistics_options is not None and statistics_options.as_of_ms is not None
    note = None if given else clock_note(operators, planned.empty.as_of_ms)
    notes = planned.empty.notes + ([note] if note else [])
    return replace(planned.empty, totals=totals, operators=operators, notes=notes)


def plan_statistics(
    options: JobOptions,
    statistics_options: StatisticsOptions | None = None,
    on_headers: OnHeaders = ignore_progress,
) -> StatisticsPlan:
    """Plan statistics; the parameters are those of :func:`statistics`, and so are the errors."""
    statistics_options = statistics_options or StatisticsOptions()
    on_undecodable = "skip" if options.on_undecodable == "fail" and not options.strict else options.on_undecodable
    options = replace(
        options, flatten=False, key_group_column=True, subtask_column=True, all_copies=False, on_undecodable=on_undecodable
    )
    plan = make_plan(options, on_headers=on_headers)
    taken = _taken(plan)
    as_of = statistics_options.as_of_ms if statistics_options.as_of_ms is not None else taken
    now = int(time.time() * 1000)
    notes = list(plan.coverage.notes)
    for entry in plan.coverage.entries:
        if entry.operator_id is None and entry.status not in (Status.EMPTY, Status.NOT_SELECTED):
            notes.append(f"besides the operators there is {entry.kind} state {entry.state}: {entry.reason}")
    if as_of is None:
        notes.append("the file _metadata has no time: ages are counted to when the statistics were made")
    measure_options = _measure_options(plan, statistics_options, now if as_of is None else as_of, notes)
    context = SplitContext(
        "", "", "", plan.found.metadata_uri, options, plan.operators, describe=plan.describe, size=sum(plan.sizes)
    )
    found, metadata = plan.found, plan.metadata
    kind = metadata.properties.kind if metadata.properties else None
    empty = Statistics(
        VERSION,
        SnapshotDocument(found.metadata_uri, metadata.checkpoint_id, metadata.version, kind, taken, plan.metadata_sha256),
        now if as_of is None else as_of,
        Totals(0, 0, 0, 0, 0), [], notes,
    )  # fmt: skip
    return StatisticsPlan(plan, empty, _owned(plan, options), Work(context.to_bytes(), measure_options))


def _taken(plan: Plan) -> int | None:
    info = plan.store.info(plan.found.metadata_uri)
    return None if info is None or info.mtime is None else int(info.mtime * 1000)


def _measure_options(
    plan: Plan, statistics_options: StatisticsOptions, as_of_ms: int, notes: list[str]
) -> dict[Key, tuple[MeasureOptions, bool]]:
    """How each state is measured, and whether it has a time to live."""
    used: set[str] = set()
    measure_options = {}
    for state in plan.states:
        entry = state.entry
        names = [f"{o}/{state.name}" for o in (entry.uid, entry.operator_name, entry.operator_id) if o]
        given = [name for name in (*names, state.name, "") if name in statistics_options.ttls]
        used |= {*given}
        ttl = statistics_options.ttls[given[0]] if given else None
        has_ttl = _has_ttl(plan, state)
        if given and given[0] and not has_ttl:
            notes.append(
                f"{entry.label}: a time to live is given for {state.name}, which Flink keeps without times of last access"
            )
        measure_options[state.operator, state.name] = MeasureOptions(as_of_ms, ttl, statistics_options.top), has_ttl
    for name in statistics_options.ttls:
        if name and name not in used:
            raise UsageError(
                f"a time to live is given for {name!r}, and no state that is read is called so",
                expected="the name of a state, or OPERATOR/STATE",
            )
    return measure_options


def _has_ttl(plan: Plan, state: PlannedState) -> bool:
    """Whether the state's serializers say that it has a time to live."""
    return any(row.ttl for row in state.named.rows(plan.describe.of_operator(state.entry.operator_id or "")))


def finalize(entry: CoverageEntry, key: Key, collected: Collected) -> None:
    """Fill in what was read of a state."""
    read, error = collected.tallies.get(key), collected.refused.get(key)
    if error is not None:
        entry.refuse(error)
    elif read is not None:
        entry.read.add(read)
    entry.finalize()


def _owned(plan: Plan, options: JobOptions) -> frozenset[str] | None:
    """The ids of the operators that the job still has; ``None``: not known."""
    if not options.uids and not options.plan:
        return None
    uids = read_uids(options.uids, plan.store) if options.uids else []
    owned = {operator_id(uid) for uid in uids}
    owned |= {o.id for o in plan.metadata.operators if o.uid in set(uids)}
    owned |= {uid.lower() for uid in uids}
    if options.plan:
        text = plan.store.read(options.plan).decode("utf-8", "replace")
        owned |= operators_of_plan(text, plan.metadata.operators)
    return frozenset(owned)


def owners(of: str, keys: Iterable[Key], collected: Collected, top: int) -> Owners | None:
    """The largest owners over some states of an operator, those that could not be read left out.

    :param of: ``key`` or ``window``.
    """
    there = [key for key in keys if key in collected.statistics and key not in collected.refused]
    read = [(key[1], collected.statistics[key]) for key in there if of in collected.statistics[key].owners]
    found = [(name, statistics.owners[of].finalize()) for name, statistics in read]
    return owners_of(found, sum(statistics.decoded_bytes for _, statistics in read), top)


def operators_of(
    planned: StatisticsPlan,
    state_of: Callable[[CoverageEntry, OperatorState, Key | None], StateDocument | None],
    largest_of: Callable[[str, Sequence[Key]], Owners | None] = lambda of, keys: None,
) -> list[OperatorDocument]:
    """The operators of the document.

    :param state_of: gives the state of an entry; the key is ``None`` where it is not read.
    :param largest_of: gives the largest owners over the states that are read; ``key`` or ``window`` says which.
    """
    plan, owned = planned.plan, planned.owned
    by_id = {operator.id: operator for operator in plan.metadata.operators}
    entries: dict[str, list[CoverageEntry]] = {}
    for entry in plan.coverage.entries:
        if entry.operator_id is not None:
            entries.setdefault(entry.operator_id, []).append(entry)
    keys = {id(state.entry): (state.operator, state.name) for state in plan.states}
    made = []
    for id_, of_operator in entries.items():
        operator = by_id[id_]
        filled = (entry for entry in of_operator if id(entry) in keys or entry.status != Status.EMPTY)
        states = [s for s in (state_of(entry, operator, keys.get(id(entry))) for entry in filled) if s is not None]
        read = [keys[id(entry)] for entry in of_operator if id(entry) in keys]
        handle_bytes = sum(use.handle.size for use in operator.handles())
        made.append(
            OperatorDocument(
                id_, plain_names(operator.uid), plain_names(operator.name), replaced(operator.uid or operator.name or id_),
                operator.parallelism,
                operator.max_parallelism, handle_bytes, sum(s.file_bytes for s in states), sum(s.rows for s in states),
                None if owned is None else bool(handle_bytes) and id_ not in owned,
                operator.uid is None if plan.metadata.version >= UID_SINCE else None, states,
                largest_of("key", read), largest_of("window", read),
            )
        )  # fmt: skip
    return made


def unread(entry: CoverageEntry) -> StateDocument:
    """The state of an entry that is not read."""
    return StateDocument(
        plain_names(entry.state), entry.kind, entry.form, plain_names(entry.role), entry.status, plain_names(entry.reason),
        [], [], 0, entry.size or 0, 0,
    )  # fmt: skip


def measured(
    entry: CoverageEntry, parallelism: tuple[int, int], key: Key, collected: Collected, reader: StatisticsRunner
) -> StateDocument:
    """The state of an entry that was read and settled.

    :param parallelism: of its operator, and how many key groups there are.
    """
    # Of a state that was refused, other splits have statistics.
    found = None if key in collected.refused else collected.statistics.get(key)
    statistics, (measure_options, _) = found or reader.empty(key), reader.states[key]
    groups = [KeyGroup(k, *statistics.key_groups[k]) for k in sorted(statistics.key_groups)]
    subtasks = [Subtask(k, *statistics.subtasks[k]) for k in sorted(statistics.subtasks)]
    keyed = "key_group" in statistics.schema.names
    # All rows of a key are in one place.
    most = statistics.distinct_keys.count if keyed and statistics.distinct_keys is not None else None
    skew = Skews(
        _skew([(g.rows, g.decoded_bytes) for g in groups], parallelism[1], most) if keyed else None,
        _skew([(s.rows, s.decoded_bytes) for s in subtasks], parallelism[0], most),
    )
    return StateDocument(
        plain_names(entry.state), entry.kind, entry.form, plain_names(entry.role), entry.status, plain_names(entry.reason),
        plain_names(entry.read.problems),
        [SchemaField(f.name, str(f.type)) for f in statistics.schema],
        statistics.rows, entry.read.bytes, statistics.decoded_bytes, statistics.distinct_keys, groups, subtasks, skew,
        statistics.document_columns(), statistics.largest["key"].largest, statistics.largest["value"].largest,
        None if statistics.ttl is None else _ttl(statistics.ttl, measure_options),
        None if statistics.times is None else _times(str(statistics.times_of), statistics.times),
        statistics.entries,
    )  # fmt: skip


def _ttl(times: TimeStatistics, measure_options: MeasureOptions) -> Ttl:
    expired = None if measure_options.ttl_ms is None else times.expired
    return Ttl(times.rows, times.least, times.most, times.histogram, measure_options.ttl_ms, expired)


def _times(of: str, times: TimeStatistics) -> Times:
    return Times(of, times.least, times.most, times.past, times.histogram)


def _skew(parts: Sequence[tuple[int, int]], count: int, keys: int | None) -> Skew | None:
    """How unevenly something lies in ``count`` places, of which ``parts`` are those with rows.

    :param keys: as many places can have rows; ``None``: all.
    """
    if count < 1:
        return None
    if keys is not None:
        count = min(count, keys)
    measures: list[float | None] = []
    for values in ([rows for rows, _ in parts], [size for _, size in parts]):
        total = sum(values)
        if not total:
            measures += [None, None]
            continue
        places = max(count, len(values))
        largest = sorted(values, reverse=True)[: max(-(-places // 100), 1)]
        measures += [max(values) * places / total, sum(largest) / total]
    return Skew(*measures)
