"""One snapshot of the two: its states, and how their rows are read to be compared.

Strings are read as bytes (WTF-8): two keys that differ only in lone surrogates are the same text, and not the same key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from stateextract.diff.comparable_types import Shape, row_shape
from stateextract.job.plan import Plan, PlannedState
from stateextract.options import JobOptions
from stateextract.snapshot.headers import StateScope
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.snapshot.reading import read_options
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import merged_schema


@dataclass(frozen=True)
class SnapshotStates:
    """A snapshot's states.

    :param job: with the user's choices.
    :param last_access: whether a mere change of the last access counts.
    """

    plan: Plan
    job: JobOptions
    last_access: bool

    @cached_property
    def exact(self) -> JobOptions:
        """The options that rows are read with."""
        return replace(self.job, strings="binary")

    @cached_property
    def states(self) -> Mapping[tuple[str, StateScope, str], PlannedState]:
        """Those that are asked for, by operator id, scope and name."""
        return {
            (str(state.entry.operator_id), state.named.scope, state.name): state for state in self.plan.states
        }

    def exact_schema(self, state: PlannedState) -> pa.Schema:
        """The columns of a state as they are read.

        :raises UnsupportedError: where they differ between subtasks and cannot be united.
        """
        options = replace(read_options(self.exact, self.plan.describe), choices={state.name: state.target.choice.exact()})
        return merged_schema(self._rows(state), options)

    def shapes(self, state: PlannedState) -> Iterator[Shape]:
        """Of the columns, by the head of each file."""
        for row in self._rows(state):
            yield row_shape(row, self.job.flatten, self.last_access)

    def targets(self, keys: Sequence[tuple[str, StateScope]]) -> list[OperatorTargets]:
        """For each operator and scope, its states as they are read."""
        by_key: dict[tuple[str, StateScope], dict[str, StateTarget]] = {}
        labels: dict[str, str] = {}
        for (operator, scope, name), state in self.states.items():
            if state.untyped is None:
                target = replace(state.target, schema=self.exact_schema(state), choice=state.target.choice.exact())
                by_key.setdefault((operator, scope), {})[name] = target
                labels[operator] = self.plan.operators[state.operator].label
        return [OperatorTargets(labels.get(key[0], key[0]), by_key.get(key, {}), key[0]) for key in keys]

    def parts(self, operator: str, scope: StateScope) -> list[Part]:
        """What there is to read of an operator's states of one scope."""
        numbers = {s.operator for (o, sc, _), s in self.states.items() if (o, sc) == (operator, scope)}
        return [part for split in self.plan.splits for part in split if part.operator in numbers]

    def _rows(self, state: PlannedState) -> list[RowLayout]:
        return state.named.rows(self.plan.describe.of_operator(str(state.entry.operator_id)))
