"""How far a snapshot's own time has come, by which event-time timers and windows are judged next to the clock.

Flink keeps no watermark in snapshots, but for some operators of SQL. What is known is that an element as late as the latest
window's start has arrived, and that the job ran until the latest last access. May import the document and statistics of states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stateextract.audit.document import OperatorDocument, StateDocument, Times
from stateextract.audit.measure.state_statistics import StateStatistics
from stateextract.columnar.arrow.json_values import iso_timestamp

WATERMARK, WINDOW, TIMER, LAST_ACCESS = "watermark", "window start", "timer", "last access"
_EVENT, _PROCESSING = "_timer_state/event_", "_timer_state/processing_"
_DAY = 86_400_000
_UNSET = -(1 << 62)
"""Watermarks below are those of operators that have had none."""


@dataclass(frozen=True)
class ReachedTime:
    """A time that has been reached.

    :param of: what shows it: ``watermark``, ``window start``, ``last access``; ``timer``: only the latest timer is known.
    """

    ms: int
    of: str


def judged(operators: Sequence[OperatorDocument], statistics: Mapping[int, StateStatistics]) -> list[OperatorDocument]:
    """The operators with their windows and timers judged by the snapshot's own progress.

    :param statistics: of the states that were read, by their ``id``.
    """
    states = [state for operator in operators for state in operator.states]
    accesses = [state.ttl.max_ms for state in states if state.ttl is not None and state.ttl.max_ms is not None]
    clock = ReachedTime(max(accesses), LAST_ACCESS) if accesses else None
    own = {operator.operator_id: _event_progress(operator, statistics) for operator in operators}
    known = [progress for progress in own.values() if progress is not None]
    timers = [
        state.times.max_ms
        for state in states
        if state.times is not None and state.times.max_ms is not None and _is(state, _EVENT)
    ]
    latest = max(known, key=lambda one: one.ms) if known else ReachedTime(max(timers), TIMER) if timers else None

    def one(operator: OperatorDocument, state: StateDocument) -> StateDocument:
        of_clock = _is(state, _PROCESSING) or (not _is(state, _EVENT) and _by_clock(operator))
        progress = clock if of_clock else own[operator.operator_id] or latest
        if state.times is None or state.times.min_ms is None or progress is None:
            return state
        return replace(state, times=_judged(state.times, statistics[id(state)], progress))

    return [replace(operator, states=[one(operator, state) for state in operator.states]) for operator in operators]


def clock_note(operators: Sequence[OperatorDocument], as_of_ms: int | None) -> str | None:
    """What to say if the job used its state a day or more after, or last used it a day or more before, the reference time.

    :param as_of_ms: the time of the file ``_metadata``.
    """
    accesses = [s.ttl.max_ms for o in operators for s in o.states if s.ttl is not None and s.ttl.max_ms is not None]
    if as_of_ms is None or not accesses or abs(max(accesses) - as_of_ms) < _DAY:
        return None
    return (
        f"the latest last access is {iso_timestamp(max(accesses), 'ms', True)}, and the file _metadata is of "
        f"{iso_timestamp(as_of_ms, 'ms', True)}: if it is a copy, give the time of the snapshot, to which ages are counted"
    )


def _judged(times: Times, statistics: StateStatistics, progress: ReachedTime) -> Times:
    if progress.of == TIMER:
        # All are before the latest one, which says nothing.
        return replace(times, progress_ms=progress.ms, progress_of=progress.of)
    past, error = statistics.past_at(progress.ms)
    return replace(
        times, progress_ms=progress.ms, progress_of=progress.of, past_by_progress=past, past_by_progress_error=error
    )


def _is(state: StateDocument, prefix: str) -> bool:
    return (state.state_name or "").startswith(prefix)


def _by_clock(operator: OperatorDocument) -> bool:
    """Whether the windows of an operator are of processing time."""
    rows = {p: sum(s.rows for s in operator.states if _is(s, p)) for p in (_EVENT, _PROCESSING)}
    return bool(rows[_PROCESSING]) and not rows[_EVENT]


def _event_progress(operator: OperatorDocument, statistics: Mapping[int, StateStatistics]) -> ReachedTime | None:
    if _by_clock(operator):
        return None
    for state in operator.states:
        if state.state_name == "watermark" and state.state_kind.startswith("list"):
            value = next((c.min for c in state.columns if c.name == "value" and c.type == "int64"), None)
            if isinstance(value, int) and value > _UNSET:
                return ReachedTime(value, WATERMARK)
    starts = [found.latest_start for s in operator.states if (found := statistics.get(id(s))) is not None]
    known = [start for start in starts if start is not None]
    return ReachedTime(max(known), WINDOW) if known else None
