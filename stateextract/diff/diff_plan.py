"""The plan of a comparison: which state of one snapshot is which of the other, with which columns, and in which pieces.

Made of the extract job's plans of both snapshots (``job/plan.py``). With the same number of key groups on both sides, a
row and its counterpart are in the same key group, whatever the parallelism and the kind of each snapshot: a *unit* is a run
of key groups of both. Otherwise, and for operator state, a unit is all of an operator. States of databases that share files
are compared incrementally, in units of their own (``incremental.py``).

Strings are read as bytes (WTF-8), so that what text cannot hold is distinguished; rows become text when they are handed over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from serializers import DescribeContext
from stateextract.diff.comparable_types import hidden_at, merged
from stateextract.diff.compare import Comparison, comparison
from stateextract.diff.coordinator_state import CoordinatorPair, coordinator_pairs
from stateextract.diff.incremental import LOOKUP, Sharing, reason_for_full, sharing_of
from stateextract.diff.schemas import RETYPED, SchemaChange, merged_schema, schema_changes
from stateextract.diff.snapshot_states import SnapshotStates
from stateextract.diff.summary import BOTH, GONE, NEW, UNSURE
from stateextract.errors import StateExtractError, UnsupportedError, UsageError
from stateextract.job.directory_names import operator_folders, state_folders
from stateextract.job.plan import Plan, PlannedState, make_plan
from stateextract.options import JobOptions
from stateextract.printable import there_is
from stateextract.snapshot.coverage import CANNOT_BE_READ, CoverageReport
from stateextract.snapshot.headers import OnHeaders, StateScope, ignore_progress
from stateextract.snapshot.parts import OperatorTargets, Part
from stateextract.state.bodies.body import BodyKind
from stateextract.state.kinds import OPERATOR_KINDS

UNIT_BYTES = 16 << 20
"""State of both sides that is compared at once, unless one key group has more."""

_THE_OTHER = {NEW: "earlier", GONE: "later"}
_LIST = "\0operator"  # no state's name ends like that


@dataclass(frozen=True)
class DiffOptions:
    """The options of a comparison, besides those of reading.

    :param last_access: a mere change of the last access counts.
    :param common_fields: fields of values that only one of the snapshots has do not count; otherwise they are null in the
        other one.
    :param full: all rows are compared, also where the snapshots share files.
    :param memory_bytes: rows of both sides that a process holds, about; more go to disk.
    :param unit_bytes: state of both sides that is compared at once; of databases with more, incrementally if that is possible.
    :param bits: how many bits of hashes are looked at; fewer are for tests.
    """

    last_access: bool = False
    common_fields: bool = False
    memory_bytes: int = 128 * 10**6
    full: bool = False
    unit_bytes: int = UNIT_BYTES
    bits: int = 64


@dataclass(frozen=True)
class DiffState:
    """One state of both snapshots, or of one of them.

    :param number: its place among all states; :param operator: number of its operator and scope.
    :param presence: ``both``, ``new`` or ``gone``; ``unsure`` where the snapshot without it cannot be read whole.
    :param how: how rows are compared; ``None``: they are not, and ``reason`` is the reason.
    :param output: the schema of changes.
    :param schema_changes: in which columns and fields the snapshots differ.
    :param folder: of its dataset.
    :param incremental: only rows in files that the snapshots do not share are looked at; otherwise ``full_reason`` says why
        all are, unless the user asked for it, and ``reason_reported`` whether a person could have expected otherwise.
    """

    number: int
    operator: int
    operator_id: str
    uid: str | None
    operator_name: str | None
    name: str
    scope: StateScope
    kind: str
    presence: str
    how: Comparison | None
    output: pa.Schema | None
    schema_changes: tuple[SchemaChange, ...]
    folder: str
    reason: str | None = None
    incremental: bool = False
    full_reason: str | None = None
    reason_reported: bool = False

    @property
    def label(self) -> str:
        """How a person calls the operator."""
        return self.uid or self.operator_name or self.operator_id


@dataclass(frozen=True)
class SnapshotInput:
    """What tasks must know of one snapshot.

    :param targets: by operator of the plan, its states with the columns that they are read with.
    """

    metadata_uri: str
    options: JobOptions
    describe: DescribeContext
    targets: Sequence[OperatorTargets]


@dataclass(frozen=True)
class DiffUnit:
    """What is compared at once.

    :param parts: what of each side's files is read.
    :param key_groups: ``None``: not by key groups.
    :param states: by name.
    :param cost: bytes that are read of it incrementally, about; ``None``: it is read in full.
    """

    operator: int
    parts: tuple[Sequence[Part], Sequence[Part]]
    key_groups: tuple[int, ...] | None
    states: frozenset[str]
    cost: int | None = None

    @property
    def size(self) -> int:
        """Bytes that are read, about."""
        if self.cost is not None:
            return self.cost
        return sum(part.content.read_size for parts in self.parts for part in parts)


@dataclass(frozen=True)
class DiffContext:
    """What all tasks share.

    :param rows: whether changes are wanted, and not only counted.
    :param size: bytes of state of both snapshots.
    """

    sides: tuple[SnapshotInput, SnapshotInput]
    states: Sequence[DiffState]
    options: DiffOptions
    rows: bool = True
    size: int = 0

    def of_operator(self, number: int) -> dict[str, DiffState]:
        """The states of an operator that are compared."""
        return {s.name: s for s in self.states if s.operator == number and s.how is not None}


@dataclass(frozen=True)
class DiffPlan:
    """What is to be compared.

    :param unread: states, and things of operators without a name, that this version cannot read: label, what, and why.
    :param coordinators: of which only the bytes are compared.
    """

    context: DiffContext
    units: Sequence[DiffUnit]
    coverages: tuple[CoverageReport, CoverageReport]
    unread: Sequence[tuple[str, str, str]] = field(default_factory=list)
    coordinators: Sequence[CoordinatorPair] = field(default_factory=list)

    @property
    def states(self) -> Sequence[DiffState]:
        """All states, in the order of operators."""
        return self.context.states


def make_diff_plan(
    before: JobOptions | None,
    after: JobOptions,
    options: DiffOptions = DiffOptions(),
    on_headers: OnHeaders = ignore_progress,
) -> DiffPlan:
    """Plan a comparison.

    :param before: reads the earlier snapshot; :param after: the later one. Both choose the same operators and states.
        ``None``: the later one is compared with nothing, so that all of its rows are added.
    :param on_headers: receives how many of the heads were read, of the earlier snapshot's files and then of the later one's.
    :raises StateExtractError: where a snapshot cannot be read, or not what was asked for by name.
    :raises UsageError: where the choice matches nothing in either.
    """
    given = (before or after, after)
    for job in given:
        _refuse(job)
    # What Python wrote is compared as it is stored: its types are guessed, and may differ.
    jobs = [
        replace(job, subtask_column=False, key_group_column=True, all_copies=False, python_wrapping=True)
        for job in given
    ]
    plans = _plans(jobs, on_headers)
    one, other = (SnapshotStates(plan, job, options.last_access) for plan, job in zip(plans, jobs, strict=True))
    keys = list(dict.fromkeys((operator, scope) for operator, scope, _ in [*one.states, *other.states]))
    states = list(_matched(one, other, keys, options.common_fields))
    parts = [(one.parts(*key) if before is not None else [], other.parts(*key)) for key in keys]
    sharings = [
        sharing_of((one, other), operator, of_operator, options.unit_bytes)
        if scope == "keyed" and not options.full
        else Sharing()
        for (operator, scope), of_operator in zip(keys, parts, strict=True)
    ]
    states = [
        replace(_with_way(state, (one, other), sharings[state.operator], options.full), number=i)
        for i, state in enumerate(states)
    ]
    sides = (
        SnapshotInput(one.plan.found.metadata_uri, one.exact, one.plan.describe, one.targets(keys)),
        SnapshotInput(other.plan.found.metadata_uri, other.exact, other.plan.describe, other.targets(keys)),
    )
    context = DiffContext(sides, states, options, size=sum(sum(plan.sizes) for plan in plans))
    units = [
        unit
        for number, (before_parts, after_parts) in enumerate(parts)
        for unit in _units(number, before_parts, after_parts, context, sharings[number])
    ]
    coverages = plans[0].coverage, plans[1].coverage
    return DiffPlan(context, units, coverages, list(_unread(coverages)), list(coordinator_pairs(*plans)))


def _refuse(job: JobOptions) -> None:
    if job.on_undecodable == "raw":
        raise UsageError(
            "what is kept as raw bytes cannot be compared",
            advice="set --on-undecodable skip, or extract both snapshots",
        )
    if job.types:
        raise UsageError("types of columns cannot be chosen for a comparison", advice="leave [types] out")


def _plans(jobs: Sequence[JobOptions], on_headers: OnHeaders) -> tuple[Plan, Plan]:
    """The plans of both sides. What is named need be in one of them only."""
    one, other = (make_plan(job, partial=True, on_headers=on_headers) for job in jobs)
    entries = [*one.coverage.entries, *other.coverage.entries]
    for kind, name in sorted(set(one.missing) & set(other.missing)):
        if kind == "operator":
            raise UsageError(
                f"no operator of either snapshot has the uid, name or id {name!r}",
                advice=there_is(name, sorted({entry.label for entry in entries if entry.operator_id}), "operators"),
            )
        raise UsageError(
            f"no state of either snapshot is called {name!r}{' in the chosen operators' if jobs[0].operator else ''}",
            advice=there_is(name, sorted({entry.state for entry in entries if entry.state}), "states"),
        )
    return one, other


def _unread(coverages: Sequence[CoverageReport]) -> Iterator[tuple[str, str, str]]:
    found: dict[tuple[str, str], str] = {}
    for entry in (entry for coverage in coverages for entry in coverage.entries if entry.status in CANNOT_BE_READ):
        found.setdefault((entry.label, entry.state or entry.kind), entry.reason or entry.status)
    return ((*what, reason) for what, reason in found.items())


# -- states


def _matched(
    one: SnapshotStates, other: SnapshotStates, keys: Sequence[tuple[str, StateScope]], common_fields: bool
) -> Iterator[DiffState]:
    """The states of both snapshots, by operator, scope and name."""
    operators = {o.id: (o.id, o.uid, o.name) for side in (one, other) for o in side.plan.metadata.operators}
    top = operator_folders(operators.values())
    names: dict[tuple[str, StateScope], dict[str, None]] = {}
    for operator, scope, name in [*other.states, *one.states]:
        names.setdefault((operator, scope), {})[name] = None
    for number, (operator, scope) in enumerate(keys):
        keyed = names.get((operator, "keyed"), {})
        lists = names.get((operator, "operator"), {})
        folders = state_folders([*keyed, *(_in_folder(name, "operator", keyed) for name in lists)])
        for name in sorted(names[operator, scope]):
            folder = f"{top[operator]}/{folders[_in_folder(name, scope, keyed)]}"
            yield _state(one, other, number, (operator, scope, name), folder, common_fields)


def _in_folder(name: str, scope: StateScope, keyed: Mapping[str, None]) -> str:
    """Keyed and operator state may be called alike."""
    return name + _LIST if scope == "operator" and name in keyed else name


def _state(
    one: SnapshotStates, other: SnapshotStates, number: int, key: tuple[str, StateScope, str], folder: str, common_fields: bool
) -> DiffState:
    there = [(side, side.states[key]) for side in (one, other) if key in side.states]
    presence, reason = BOTH, None
    if len(there) < 2:
        presence, reason = _missing(other if there[0][0] is one else one, key, NEW if there[0][0] is other else GONE)
    entry = there[-1][1].entry
    schemas = [state.target.schema for _, state in there]
    changes = schema_changes(schemas[0], schemas[-1])
    how = output = None
    try:
        if reason is not None:
            raise UnsupportedError(reason)
        _refuse_incomparable([state for _, state in there])
        exact = [side.exact_schema(state) for side, state in there]
        shape = merged(shape for side, state in there for shape in side.shapes(state))
        for change in changes if common_fields else ():
            if change.change != RETYPED and change.place[0] == "value":
                shape = hidden_at(shape, change.place)
        how = comparison(entry.kind, merged_schema(exact[0], exact[-1]), shape)
        output = how.output(merged_schema(schemas[0], schemas[-1]))
    except StateExtractError as error:
        if not isinstance(error, UnsupportedError) and not one.job.lenient:
            raise
        how, reason = None, error.message
    uid = next((state.entry.uid for _, state in reversed(there) if state.entry.uid), None)
    return DiffState(
        0, number, key[0], uid, entry.operator_name, key[2], key[1], entry.kind, presence, how, output,
        tuple(changes), folder, reason,
    )  # fmt: skip


_NOT_KEYED = ("operator", "coordinator", "raw", "channel")


def _missing(side: SnapshotStates, key: tuple[str, StateScope, str], presence: str) -> tuple[str, str | None]:
    """Whether a state that a side does not read is not there; or, if that is not known, why it is not compared."""
    operator, scope, name = key
    unread = [e for e in side.plan.coverage.entries if e.status in CANNOT_BE_READ and e.operator_id == operator]
    for entry in unread:
        if entry.state == name and (entry.kind in OPERATOR_KINDS) == (scope == "operator"):
            return BOTH, entry.reason or entry.status
    for entry in unread:
        if scope == "keyed" and entry.kind not in (*OPERATOR_KINDS, *_NOT_KEYED):
            return UNSURE, f"it may be in what cannot be read of the {_THE_OTHER[presence]} snapshot: {entry.reason}"
    return presence, None


def _refuse_incomparable(states: Sequence[PlannedState]) -> None:
    kinds = list(dict.fromkeys(state.entry.kind for state in states))
    if len(kinds) > 1:
        raise UnsupportedError(f"it was {kinds[0]} state and is {kinds[1]} state")
    for state in states:
        if state.entry.read.failure:
            # Rows of the missing files would look like removed ones.
            raise UnsupportedError(state.entry.read.problems[0])
        if state.untyped is not None:
            raise UnsupportedError(state.untyped.message)


# -- units


def _with_way(
    state: DiffState, sides: tuple[SnapshotStates, SnapshotStates], sharing: Sharing, full: bool
) -> DiffState:
    """The state, and whether its rows are compared incrementally."""
    if state.how is None or full:
        return state
    key = state.operator_id, state.scope, state.name
    if state.scope == "operator":
        return replace(state, full_reason="it is operator state")
    if sharing.reason is not None:
        return replace(state, full_reason=sharing.reason, reason_reported=sharing.reported)
    if state.presence != BOTH:
        return replace(state, full_reason="only one of the snapshots has it")
    reason = reason_for_full(sides, (sides[0].states[key], sides[1].states[key]))
    return replace(state, incremental=reason is None, full_reason=reason, reason_reported=reason is not None)


def _units(
    number: int, before: Sequence[Part], after: Sequence[Part], context: DiffContext, sharing: Sharing
) -> Iterator[DiffUnit]:
    """The pieces in which an operator's states are compared."""
    states = context.of_operator(number).values()
    incremental = frozenset(state.name for state in states if state.incremental)
    unit_bytes = context.options.unit_bytes
    yield from diff_units(number, before, after, {state.name for state in states} - incremental, unit_bytes)
    if not incremental:
        return
    databases = [[part for part in side if part.content.form is BodyKind.SST_FILES] for side in (before, after)]
    costs = {r.key_group: 0 for side in databases for part in side for r in part.content.ranges}
    costs |= {key_group: round(LOOKUP * size) for key_group, size in sharing.unshared.items() if key_group in costs}
    for run in _runs(costs, unit_bytes):
        parts = (of_key_groups(databases[0], run), of_key_groups(databases[1], run))
        yield DiffUnit(number, parts, tuple(run), incremental, sum(costs[key_group] for key_group in run))


def diff_units(
    number: int, before: Sequence[Part], after: Sequence[Part], states: Collection[str], unit_bytes: int
) -> Iterator[DiffUnit]:
    """The pieces in which states of an operator are compared in full.

    :param states: by name; of others nothing is read.
    """
    if not states or not (before or after):
        return
    names = frozenset(states)
    parts = [[replace(p, operator=number, content=p.content.only(states)) for p in side] for side in (before, after)]
    parts = [[p for p in side if p.content.sizes] for side in parts]
    keyed = [p.content for side in parts for p in side]
    by_key_group = all(c.ranges and not c.whole for c in keyed) and len({c.max_parallelism for c in keyed}) == 1
    if not by_key_group:
        yield DiffUnit(number, (parts[0], parts[1]), None, names)
        return
    sizes: dict[int, int] = {}
    for content in keyed:
        for key_group, size in zip((r.key_group for r in content.ranges), content.sizes, strict=True):
            sizes[key_group] = sizes.get(key_group, 0) + size
    for run in _runs(sizes, unit_bytes):
        yield DiffUnit(number, (of_key_groups(parts[0], run), of_key_groups(parts[1], run)), tuple(run), names)


def _runs(sizes: Mapping[int, int], unit_bytes: int) -> Iterator[list[int]]:
    """Key groups in their order, in runs of about equal size."""
    total = sum(sizes.values())
    target = total / max(1, -(-total // unit_bytes))
    run: list[int] = []
    filled = 0.0
    for key_group in sorted(sizes):
        size = sizes[key_group]
        if run and filled + size / 2 > target:
            yield run
            run, filled = [], 0.0
        run.append(key_group)
        filled += size
    if run:
        yield run


def of_key_groups(parts: Sequence[Part], wanted: Sequence[int]) -> list[Part]:
    groups = frozenset(wanted)
    return [replace(part, content=content) for part in parts for content in part.content.of_key_groups(groups)]
