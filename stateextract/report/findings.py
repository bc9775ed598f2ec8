"""What is unusual in a statistics document: the list at the top of the report, by which nothing unread is overlooked.

These are remarks with limits that suit most jobs, no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stateextract.audit.document import OperatorDocument, StateDocument, Statistics
from stateextract.printable import pluralize
from stateextract.state.causes import causes_once, is_caused

UNREAD = ("skipped", "unsupported", "missing", "unreadable")
PARTIAL = ("partial", "raw")
SUBTASK_SKEW = 2.0
"""Rows of the fullest subtask over those of the average one, from which a state is called uneven."""
ROWS_PER_SUBTASK = 100
"""With fewer rows on average chance alone is uneven."""

Note = Callable[[StateDocument], str | None]
"""The finding about a state; ``None``: there is none."""


def findings(statistics: Statistics) -> list[dict[str, Any]]:
    """Groups of remarks: ``level`` (bad, warn or note), ``title``, and ``items`` that name a state or an operator by index.

    The gravest group is first, and in it the largest state. Indexes count as in :attr:`Statistics.states` and
    :attr:`Statistics.operators`.
    """
    states = list(statistics.states)
    operators = statistics.operators
    causes = causes_once((index, (state.reason, *state.problems)) for index, (_, state) in enumerate(states))
    per_subtask = {id(state): state.rows / max(operator.operator_parallelism, 1) for operator, state in states}

    def uneven(state: StateDocument) -> str | None:
        skew = state.skew.subtasks if state.skew else None
        if skew is None or skew.max_over_mean is None or per_subtask[id(state)] < ROWS_PER_SUBTASK:
            return None
        return f"{skew.max_over_mean:.1f} × the average" if skew.max_over_mean >= SUBTASK_SKEW else None

    groups = [
        ("bad", "Not read", _once(_of(states, lambda s: _why(s) if s.status in UNREAD else None), causes)),
        ("bad", "Owned by no operator of the plan", _operators(operators, lambda o: bool(o.unowned))),
        ("warn", "Read in part", _once(_of(states, lambda s: _why(s) if s.status in PARTIAL else None), causes)),
        ("warn", "Read, with something to know", _of(states, _problems)),
        ("warn", "Timers due already", _of(states, lambda s: _past(s, "timer"))),
        ("warn", "Expired, but still there", _of(states, _expired)),
        ("warn", "Uneven across subtasks", _of(states, uneven)),
        ("warn", "Operators without a uid", _operators(operators, lambda o: bool(o.without_uid))),
        ("note", "Windows that have ended", _of(states, lambda s: _past(s, "window_end"))),
    ]
    return [{"level": level, "title": title, "items": items} for level, title, items in groups if items]


def _of(states: Iterable[tuple[OperatorDocument, StateDocument]], note: Note) -> list[dict[str, Any]]:
    noted = [(index, state.file_bytes, note(state)) for index, (_, state) in enumerate(states)]
    noted.sort(key=lambda one: -one[1])
    return [{"state": index, "note": text} for index, _, text in noted if text is not None]


def _once(items: list[dict[str, Any]], causes: Mapping[int, str]) -> list[dict[str, Any]]:
    """The remarks, with each cause once: at the largest state that it makes unreadable.

    :param causes: the causes by the indexes of states.
    """
    kept: dict[str, dict[str, Any]] = {}
    others: dict[str, int] = {}
    for item in items:
        cause = causes.get(item["state"]) if is_caused(item["note"]) else None
        note = cause or item["note"]
        if note in kept:
            # The sentence of a cause has the number.
            others[note] += cause is None
        else:
            kept[note], others[note] = {**item, "note": note}, 0
    return [
        {**item, "note": f"{note} (and {pluralize(others[note], 'more state')})" if others[note] else note}
        for note, item in kept.items()
    ]


def _operators(operators: Iterable[OperatorDocument], is_one: Callable[[OperatorDocument], bool]) -> list[dict[str, Any]]:
    return [{"operator": index, "note": o.operator_id} for index, o in enumerate(operators) if is_one(o)]


def _why(state: StateDocument) -> str:
    return state.reason or next(iter(state.problems), state.status)


def _problems(state: StateDocument) -> str | None:
    if state.status != "decoded" or not state.problems:
        return None
    more = len(state.problems) - 1
    return state.problems[0] + (f" (and {more} more)" if more else "")


def _past(state: StateDocument, of: str) -> str | None:
    times = state.times
    if times is None or times.of != of:
        return None
    if times.progress_of is None:
        return f"{times.past:,} of {state.rows:,}" if times.past else None
    if not times.past_by_progress:
        # The clock says nothing of them.
        return None
    return f"{times.past_by_progress:,} of {state.rows:,} by own progress, {times.past:,} by the clock"


def _expired(state: StateDocument) -> str | None:
    if state.ttl is None or not state.ttl.expired:
        return None
    return f"{state.ttl.expired:,} of {state.ttl.rows_with_time:,}"
