"""Statistics in tasks of which each knows all of some states, so that no results have to be merged.

Spark's data sources in Python give rows and cannot gather them again, so one task has to see all splits of a state. A state of
a database or of operator state has its own bytes, and a task of its own; in other files the states of an operator lie between
each other, and are read by one task. Either reads one split after the other, with the memory of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stateextract.audit.collect import Collected, Key, StatisticsRunner, Work
from stateextract.audit.document import OperatorDocument, StateDocument, Statistics
from stateextract.audit.statistics import (
    StatisticsOptions,
    finalize,
    measured,
    operators_of,
    owners,
    plan_statistics,
    unread,
)
from stateextract.metadata.model import OperatorState
from stateextract.options import JobOptions
from stateextract.outcome import Status
from stateextract.snapshot.coverage import CoverageEntry
from stateextract.snapshot.parts import Part
from stateextract.state.bodies.body import BodyKind


@dataclass(frozen=True)
class StatesTask:
    """What one task reads: states of one operator.

    :param operator: without states.
    :param entries: of the coverage report, by state.
    """

    operator: OperatorDocument
    entries: Mapping[Key, CoverageEntry]
    parts: Sequence[Part]

    def measure(self, reader: StatisticsRunner, empty: Statistics) -> Statistics:
        """The document of these states; it has no sums.

        :param reader: of the plan's work; :param empty: the plan's document.
        :raises StateExtractError: with file, operator and state.
        """
        collected = self._collected(reader)
        parallelism = self.operator.operator_parallelism, self.operator.operator_max_parallelism
        states = [measured(entry, parallelism, key, collected, reader) for key, entry in self.entries.items()]
        return replace(empty, operators=[replace(self.operator, states=states)])

    def own(self, reader: StatisticsRunner, top: int) -> OperatorDocument:
        """The operator with its largest owners; errors are those of :meth:`measure`.

        :param top: how many.
        """
        collected = self._collected(reader)
        found = {of: owners(of, self.entries, collected, top) for of in ("key", "window")}
        return replace(self.operator, keys=found["key"], windows=found["window"])

    def cover(self, reader: StatisticsRunner) -> list[CoverageEntry]:
        """The entries of the coverage report after reading the states; parameters and errors are those of :meth:`measure`."""
        self._collected(reader)
        return list(self.entries.values())

    def _collected(self, reader: StatisticsRunner) -> Collected:
        collected = Collected()
        names = {name for _, name in self.entries}
        for part in self.parts:
            reader.add([part], collected, names)
        for key, entry in self.entries.items():
            finalize(entry, key, collected)
        return collected

    def only(self, state: str) -> StatesTask:
        """The task of the states with this name."""
        return replace(self, entries={key: entry for key, entry in self.entries.items() if key[1] == state})


@dataclass(frozen=True)
class StatesPlan:
    """The tasks.

    :param unread: the document of what is not read; ``entries``: the same of the coverage report.
    :param empty: the document without operators.
    """

    work: Work
    empty: Statistics
    unread: Statistics
    tasks: Sequence[StatesTask]
    entries: Sequence[CoverageEntry] = ()


def plan_by_state(
    options: JobOptions,
    statistics_options: StatisticsOptions | None = None,
    by_operator: bool = False,
) -> StatesPlan:
    """Plan statistics in tasks; parameters and errors are those of :func:`stateextract.audit.statistics.statistics`.

    :param by_operator: a task reads all states of an operator.
    """
    planned = plan_statistics(options, statistics_options)
    entries: dict[Key, CoverageEntry] = {}
    of: dict[Key, str] = {}

    def state_of(entry: CoverageEntry, operator: OperatorState, key: Key | None) -> StateDocument | None:
        if key is None:
            return unread(entry)
        entries[key], of[key] = entry, operator.id
        return None

    operators = operators_of(planned, state_of)
    parts = [part for split in planned.plan.splits for part in split]
    bare = {operator.operator_id: replace(operator, states=[]) for operator in operators}
    tasks = [
        StatesTask(bare[of[keys[0]]], {key: entries[key] for key in keys}, mine)
        for keys, mine in _shares(parts, list(entries), by_operator)
    ]
    read = {id(entry) for entry in entries.values()}
    others = [entry for entry in planned.plan.coverage.entries if id(entry) not in read and entry.status != Status.EMPTY]
    return StatesPlan(planned.work, planned.empty, replace(planned.empty, operators=operators), tasks, others)


def _shares(parts: Sequence[Part], keys: Sequence[Key], by_operator: bool) -> Iterator[tuple[list[Key], list[Part]]]:
    """States that are read together, and the parts of files that have them."""
    for operator in dict.fromkeys(number for number, _ in keys):
        own = [key for key in keys if key[0] == operator]
        mine = [part for part in parts if part.operator == operator]
        if by_operator or not all(map(_apart, mine)):
            yield own, mine
            continue
        for key in own:
            contents = [replace(part, content=part.content.only([key[1]])) for part in mine]
            yield [key], [part for part in contents if part.content.sizes]


def _apart(part: Part) -> bool:
    """Whether a state is read without skipping others."""
    content = part.content
    if content.form is BodyKind.SST_FILES:
        return content.changes is None
    return content.form is BodyKind.OPERATOR and not content.whole
