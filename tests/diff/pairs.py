"""Comparisons in this process, for the tests: of golden cases, or of any two snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from stateextract.diff.diff_plan import DiffOptions, DiffPlan, DiffState, make_diff_plan
from stateextract.diff.diff_task import DiffRunner
from stateextract.diff.summary import DiffCounts
from stateextract.metadata.model import InlineHandle, OperatorStateHandle, SubtaskState
from stateextract.options import JobOptions
from tests.conformance.notation import comparable
from tests.golden.expected import DATA, load
from tests.golden.test_rows import expected_row, unwrapped
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
    bytes_read: int = 0

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
    result.bytes_read = runner.bytes_read
    return result


# -- what a job's input says

Change = tuple[Any, str, Any, Any]
"""Identity of a row, what happened to it, and its values before and after, comparable; without values for timers."""


def changes_of_input(output: pa.Schema, before: dict[str, Any], after: dict[str, Any]) -> set[Change]:
    """The changes between two states, as ``expected.json`` has them.

    :param output: columns of the changes.
    """
    kind = before["kind"]
    schema = output if kind == "TIMERS" else output.append(output.field("before").type.field("value"))
    old, new = _rows(before, schema), _rows(after, schema)
    changes: set[Change] = {(identity, "removed", old[identity], None) for identity in old if identity not in new}
    changes |= {(identity, "added", None, new[identity]) for identity in new if identity not in old}
    both = [identity for identity in old if identity in new and old[identity] != new[identity]]
    changes |= {(identity, "changed", old[identity], new[identity]) for identity in both}
    return {(identity, change, None, None) for identity, change, _, _ in changes} if kind == "TIMERS" else changes


def _rows(state: dict[str, Any], schema: pa.Schema) -> dict[Any, Any]:
    """A state's rows by their identity. A map without entries makes none."""
    rows = [row for row in state["rows"] if row["value"] != {"$map": []}]
    cells = [expected_row(row, schema, state["kind"], state["ttl"]) for row in rows]
    if state["kind"] == "TIMERS":
        return dict.fromkeys(cells, ())
    return {cell[:-1]: cell[-1] for cell in cells}


def changes_found(result: Found, key: Key, expected: dict[str, Any]) -> set[Change]:
    """The changes of a state that a comparison found.

    :param expected: the state as ``expected.json`` has it.
    """
    changes: set[Change] = set()
    for batch in result.rows.get(key, []):
        names = [n for n in ("key", "namespace", "timestamp_ms") if n in batch.schema.names]
        for i in range(batch.num_rows):
            identity = tuple(comparable(batch.column(n)[i], batch.schema.field(n).type) for n in names)
            sides = [batch.column(n)[i] for n in ("before", "after")] if expected["kind"] != "TIMERS" else []
            values = [_value(side, expected["ttl"]) if side.is_valid else None for side in sides] or [None, None]
            changes.add((identity, batch.column("change")[i].as_py(), *values))
    return changes


def _value(scalar: Any, ttl: bool) -> Any:
    value = comparable(scalar["value"], scalar.type.field("value").type)
    return unwrapped(value) if ttl else value
