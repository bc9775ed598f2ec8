"""``Snapshot.check``: would Flink restore the snapshot into another job?

Brings together what the rules need (``stateextract/restore``): the heads of both snapshots, class files, plans, and values
where nothing else shows it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from serializers.classes import ClassModels
from serializers.context import DescribeContext, flavour_of
from stateextract.api.counting import count_rows, read_together
from stateextract.doors import api_door
from stateextract.errors import StateExtractError, UsageError
from stateextract.metadata.uid import operator_id
from stateextract.outcome import Verdict
from stateextract.restore.answers import BACKENDS, Release
from stateextract.restore.job_classes import JobClasses
from stateextract.restore.two_jobs import JobOperator, Jobs, NewJob, Report, StateCheck, operators_of, release_of
from stateextract.restore.whole_job import check_jobs
from stateextract.snapshot.describe_contexts import read_classes
from stateextract.snapshot.headers import StateScope
from stateextract.snapshot.source import SnapshotSource
from stateextract.state.counters import Counters
from stateextract.state.plan_names import queries_of_plan

if TYPE_CHECKING:
    from stateextract.api.snapshot import Snapshot
    from stateextract.api.state import State

_WITH_ROWS: Final = (Verdict.REFUSED, Verdict.LOSES, Verdict.UNKNOWN)


def check(
    old: Snapshot,
    against: Snapshot | None,
    classpath: Sequence[str],
    plan: str,
    uids: Sequence[str] | None,
    flink: str,
    settings: NewJob,
    values: bool,
) -> Report:
    """The verdicts; the parameters are those of :meth:`Snapshot.check`, but ``settings``, which has some of them."""
    if settings.backend not in (None, *BACKENDS):
        raise UsageError(f"the option backend cannot be {settings.backend!r}", expected="hashmap or rocksdb")
    other = against is not None or classpath or plan or uids is not None or settings.same_declarations
    if settings.same_job and other:
        raise UsageError("the new job cannot be the old one and another", advice="leave --same-job out")
    opened = old._opened
    source = opened.source
    from_flink_1 = flavour_of(source.metadata.version) == 2
    release, assumed = _release(flink, against, from_flink_1)
    new = replace(
        settings,
        operators=None if against is None else {side.state.id: side for side in _job_operators(against._opened.source)},
        owned=_owned(source, plan, uids),
        same_queries=_same_queries(source, opened.plan, plan),
        classes=_classes_of(classpath, source),
        release=release,
    )
    before = _classes_of(opened.classpath, source)
    if classpath and new.classes is None:
        assumed = (*assumed, "Nothing of the new job's classes: the class path has none.")
    asked = _Values(old, opened.classpath if settings.same_job else classpath, release, from_flink_1) if values else None
    report = check_jobs(Jobs(_job_operators(source), new, before, from_flink_1, asked))
    states = _with_sizes(old, report.states) if values else report.states
    return replace(report, states=tuple(map(_worded, states)), assumptions=(*report.assumptions, *assumed))


def _classes_of(classpath: Sequence[str], source: SnapshotSource) -> JobClasses | None:
    """The classes of a class path; ``None`` where there are none, so that it says nothing."""
    classes = JobClasses(classpath, source.user_store) if classpath else None
    return classes if classes is not None and any(True for _ in classes) else None


def _worded(state: StateCheck) -> StateCheck:
    """With options called as where the report is read."""
    door = api_door()
    remarks = (replace(r, reason=door.words(r.reason), advice=door.advice(r.advice) or "") for r in state.remarks)
    return replace(state, remarks=tuple(remarks))


def _job_operators(source: SnapshotSource) -> list[JobOperator]:
    _, files = source.inventory()
    return operators_of(source.metadata.operators, files)


def _release(flink: str, against: Snapshot | None, from_flink_1: bool) -> tuple[Release | None, tuple[str, ...]]:
    if flink:
        found = release_of(flink)
        if found is None:
            raise UsageError(f"the option flink cannot be {flink!r}", expected="a release, as 2.3 or 1.20.5")
        return found, ()
    if against is not None:
        return Release(1 if flavour_of(against.metadata_version) == 2 else 2), ()
    major = 1 if from_flink_1 else 2
    return Release(major), (f"The new job runs on Flink {major}, as the old one did.",)


def _owned(source: SnapshotSource, plan: str, uids: Sequence[str] | None) -> frozenset[str] | None:
    """The ids of the new job's operators, by its plan and uids."""
    if not plan and uids is None:
        return None
    listed = {name for uid in uids or () for name in (operator_id(uid), uid.lower())}
    return frozenset(listed | _queries(source, plan).keys())


def _same_queries(source: SnapshotSource, before: str, after: str) -> frozenset[str]:
    if not before or not after:
        return frozenset()
    old, new = _queries(source, before), _queries(source, after)
    return frozenset(id_ for id_, query in new.items() if old.get(id_) == query)


def _queries(source: SnapshotSource, plan: str) -> dict[str, str]:
    if not plan:
        return {}
    text = source.user_store.read(plan).decode("utf-8", "replace")
    return queries_of_plan(text, source.metadata.operators)


def _with_sizes(old: Snapshot, checks: Sequence[StateCheck]) -> tuple[StateCheck, ...]:
    """The checks, with the number of rows and bytes of states that do not simply restore, and whether they can be extracted."""
    states = {
        number: old.operator(check.operator_id).state(check.state_name, check.state_scope)
        for number, check in enumerate(checks)
        if check.verdict in _WITH_ROWS and check.state_name is not None
    }
    counts = dict(zip(states, count_rows(list(states.values())), strict=True))
    found = list(checks)
    for number, state in states.items():
        count = counts[number]
        rows = count if isinstance(count, int) else None  # the status says that it cannot be read
        found[number] = replace(checks[number], rows=rows, size=state.bytes_of(), status=state.coverage.status)
    return tuple(found)


class _Values:
    """Answers by reading the old snapshot's values, with the classes of one job or the other."""

    def __init__(self, old: Snapshot, classpath: Sequence[str], release: Release | None, from_flink_1: bool) -> None:
        self._old = old
        self._classpath = classpath
        self._seen: dict[tuple[str, StateScope], dict[str, frozenset[str]]] = {}
        self._kryo: Any = 5 if (release.major >= 2 if release is not None else not from_flink_1) else 2

    def subclasses(self, operator: str, scope: StateScope, state: str) -> frozenset[str] | str:
        """The classes in the values. Few states have any, so first they are read as if there were none."""
        if (operator, scope) not in self._seen:
            self._seen[operator, scope] = self._of_operator(operator, scope)
        seen = self._seen[operator, scope].get(state)
        if seen is not None:
            return seen
        problem = ""
        for with_all in (False, True):  # reading all classes of a large jar takes long
            try:
                snapshot = self._with_all if with_all else self._old
                return frozenset(
                    name
                    for batch in self._state(snapshot, operator, scope, state).to_batches()
                    for name in _classes(batch)
                )
            except StateExtractError as error:
                problem = error.message
        return problem

    def _of_operator(self, operator: str, scope: StateScope) -> dict[str, frozenset[str]]:
        """The classes in the values of each state of an operator, as far as all its values are read; each file is read once."""
        columns = {}
        states = {}
        for state in self._old.operator(operator).states:
            with contextlib.suppress(StateExtractError):
                kept = [field for field in state.schema if state.scope == scope and _has_structs(field.type)]
                if kept:
                    state._check_readable()
                    columns[state.name], states[state.name] = pa.schema(kept), state
        found: dict[str, set[str]] = {name: set() for name in states}
        counters = Counters()
        try:
            for piece in read_together(states, columns, counters):
                if not piece.raw:
                    found[piece.state].update(_classes(piece.batch))
        except StateExtractError:
            return {}  # which state it concerns shows where each is read by itself
        read = {name: counters.of(name) for name in found}
        return {
            name: frozenset(classes)
            for name, classes in found.items()
            if not read[name].lost_entries and not read[name].lost_key_groups
        }

    def reread(self, operator: str, scope: StateScope, state: str) -> Verdict | str:
        """Rows by the classes of the old job against rows by those of the new one."""
        if not self._old._opened.classpath or not self._classpath:
            return "the classes of both jobs are needed to read the values"
        before = _rows(self._state(self._old, operator, scope, state))
        after = _rows(self._state(self._with_new, operator, scope, state))
        while True:
            try:
                first = next(before, None)
            except StateExtractError as error:
                return f"the values cannot be read: {error.message}"
            try:
                second = next(after, None)
            except StateExtractError:
                return Verdict.REFUSED
            if first is None and second is None:
                return Verdict.AS_IS
            if first is None or second is None or _plain(first) != _plain(second):
                return Verdict.LOSES

    def rows(self, operator: str, scope: StateScope, state: str) -> int | str:
        """How many rows the state has."""
        try:
            return self._state(self._old, operator, scope, state).count()
        except StateExtractError as error:
            return error.message

    def _state(self, snapshot: Snapshot, operator: str, scope: StateScope, state: str) -> State:
        return snapshot.operator(operator).state(state, scope)

    @cached_property
    def _with_new(self) -> Snapshot:
        return self._reopened(replace(self._context, class_models=self._models(self._classpath), kryo=self._kryo))

    @cached_property
    def _with_all(self) -> Snapshot:
        models = self._models((*self._old._opened.classpath, *self._classpath))
        return self._reopened(replace(self._context, class_models=models))

    @property
    def _context(self) -> DescribeContext:
        return self._old._opened.options.context

    def _models(self, paths: Sequence[str]) -> ClassModels:
        store = self._old._opened.source.user_store
        # As on a class path, the first of a name counts.
        return ClassModels.of(model for path in reversed(paths) for model in read_classes(path, store))

    def _reopened(self, context: DescribeContext) -> Snapshot:
        opened = self._old._opened
        return type(self._old)(replace(opened, options=replace(opened.options, context=context), pojos_known=True))


def _rows(state: State) -> Iterator[Any]:
    for batch in state.to_batches():
        yield from batch.to_pylist()


def _plain(value: Any) -> Any:
    """A value without the names of fields, which Kryo does not write."""
    if isinstance(value, dict):
        return [_plain(inner) for inner in value.values()]
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _classes(data: pa.RecordBatch | pa.Array) -> Iterator[str]:
    """The texts in the columns ``class`` of structs, at any depth."""
    if isinstance(data, pa.RecordBatch):
        for column in data.columns:
            yield from _classes(column)
    elif pa.types.is_struct(data.type):
        for number, field in enumerate(data.type):
            inner = data.field(number)
            if field.name == "class" and pa.types.is_string(field.type):
                yield from (text for text in inner.unique().to_pylist() if text is not None)
            yield from _classes(inner)
    elif pa.types.is_map(data.type):
        yield from _classes(data.keys)
        yield from _classes(data.items)
    elif pa.types.is_list(data.type):
        yield from _classes(data.values)


def _has_structs(data_type: pa.DataType) -> bool:
    """Whether values can be of POJOs, and so of subclasses."""
    if pa.types.is_struct(data_type):
        return True
    return any(_has_structs(data_type.field(number).type) for number in range(data_type.num_fields))
