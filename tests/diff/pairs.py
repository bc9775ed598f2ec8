"""Comparisons in this process, for the tests: of golden cases, or of any two snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from stateextract.diff.plan import DiffOptions, DiffPlan, DiffState, make_diff_plan
from stateextract.diff.summary import DiffCounts
from stateextract.diff.task import DiffRunner
from stateextract.metadata.model import InlineHandle, OperatorStateHandle, SubtaskState
from stateextract.options import JobOptions
from tests.golden.expected import DATA, load
from tests.state.keyed_writer import LONG, write
from tests.state.operator_writer import Lists, i64

Key = tuple[str, str, str]
"""Operator id, scope and name of a state."""


@dataclass
class Found:
    """What a comparison found, by state."""

    plan: DiffPlan
    counts: dict[Key, DiffCounts]
    rows: dict[Key, list[pa.RecordBatch]]

    @property
    def states(self) -> dict[Key, DiffState]:
        return {_key(state): state for state in self.plan.states}

    def named(self, name: str) -> Key:
        """The key of the only state of that name."""
        (key,) = [key for key in self.states if key[2] == name]
        return key

    def changes(self, name: str) -> list[dict[str, Any]]:
        """The changes of the only state of that name, in some order that is always the same."""
        return self.changes_of(self.named(name))

    def changes_of(self, key: Key) -> list[dict[str, Any]]:
        """The changes of a state, in some order that is always the same."""
        return sorted((row for batch in self.rows.get(key, []) for row in batch.to_pylist()), key=repr)


def _key(state: DiffState) -> Key:
    return state.operator_id, state.scope, state.name


def golden(case: str) -> str:
    return str(DATA / case / load(DATA / case)["snapshot"])


def copies_of_rules(folder: Path, *copies: dict[int, int]) -> Path:
    """A snapshot with a broadcast state ``rules``, of which each subtask has a copy of its own."""
    subtasks = []
    for number, copy in enumerate(copies):
        entries = [(i64(key), i64(value)) for key, value in copy.items()]
        data, partitions = Lists({}, {("rules", LONG, LONG): entries}).write()
        handle = OperatorStateHandle(4, tuple(partitions), InlineHandle("op", data))
        subtasks.append(SubtaskState(number, managed_operator=handle))
    return write(folder, subtasks)


def found(before: str | Path, after: str | Path, options: DiffOptions = DiffOptions(), **job: Any) -> Found:  # noqa: B008
    one, other = (JobOptions(snapshot=str(path), **job) for path in (before, after))
    plan = make_diff_plan(one, other, options)
    runner = DiffRunner(plan.context)
    result = Found(plan, {_key(state): DiffCounts() for state in plan.states}, {})
    for unit in plan.units:
        for changes in runner.run(unit):
            key = _key(changes.state)
            result.counts[key].add(changes.counts)
            if changes.rows is not None:
                assert changes.rows.schema == changes.state.output
                result.rows.setdefault(key, []).append(changes.rows)
    return result
