"""Windows and timers judged by how far the snapshot's own time has come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stateextract import open_snapshot
from stateextract.audit.document import Times, Ttl
from stateextract.audit.event_time import LAST_ACCESS, TIMER, WATERMARK, WINDOW, clock_note, judged
from stateextract.audit.measure.state_statistics import MeasureOptions, StateStatistics
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.options import JobOptions
from tests.audit.brute import plain
from tests.audit.test_document import DOCUMENT, STATE
from tests.audit.test_owners import place

ORDERS = "examples/orders-checkpoint"


def test_timers_of_a_job_that_reads_old_events() -> None:
    # By the clock all timers are due, as the events are years old.
    document = statistics(JobOptions(snapshot=ORDERS), StatisticsOptions(as_of_ms=2_000_000_000_000))
    judged = {(o.operator_label, s.state_name): s.times for o, s in document.states if s.times and s.rows}
    three = 1_700_017_200_000  # 2023-11-15T03:00:00Z, when the latest window starts
    assert {key: (t.past, t.progress_ms, t.progress_of, t.past_by_progress) for key, t in judged.items()} == {
        ("orders-by-customer", "_timer_state/event_user-timers"): (50, three, WINDOW, 0),
        ("sales-per-hour", "_timer_state/event_window-timers"): (36, three, WINDOW, 30),
        ("sales-per-hour", "window-contents"): (36, three, WINDOW, 30),
    }


@pytest.mark.parametrize("name", ["f113-windows-checkpoint-snappy", "f120-sql-checkpoint"])
def test_judged_equals_the_plain_way(name: str) -> None:
    document = statistics(JobOptions(snapshot=place(name), out_of_range="null"), StatisticsOptions(as_of_ms=0))
    snapshot = open_snapshot(place(name), on_undecodable="skip", out_of_range="null")
    found: dict[Any, dict[str, list[int]]] = {}
    for state in snapshot.states:
        rows = pa.Table.from_batches(list(state.to_batches()), state.schema)
        found[state.operator.id, state.name] = {n: [plain(v) for v in rows[n]] for n in state.schema.names}
    kinds = set()
    for operator, state in document.states:
        times = state.times
        if times is None or times.past_by_progress is None:
            continue
        columns = found[operator.operator_id, state.state_name]
        ends = columns.get("session_end", columns.get("window_end", []))
        ms = columns.get("timestamp_ms") or [end // 1000 for end in ends if end is not None]
        assert (times.past_by_progress, times.past_by_progress_error) == (sum(v <= times.progress_ms for v in ms), 0)
        kinds.add(times.progress_of)
        if times.progress_of == WATERMARK:
            assert times.progress_ms == min(found[operator.operator_id, "watermark"]["value"])
        elif (operator.operator_id, "window-contents") in found:
            starts = found[operator.operator_id, "window-contents"]
            latest = max(starts.get("session_start", starts.get("window_start", [0])))
            assert latest <= 1000 * times.progress_ms  # of this operator or, without windows, of another
    assert kinds <= {WATERMARK, WINDOW}
    assert kinds


def test_many_timers_are_judged_by_a_sample() -> None:
    n = 50_000
    schema = pa.schema([("key", pa.int64()), ("timestamp_ms", pa.int64()), ("key_group", pa.int32())])
    figures = StateStatistics(schema, MeasureOptions(0))
    figures.add(pa.record_batch([np.arange(n), np.arange(n), np.zeros(n, np.int32)], schema=schema), 0)
    past, error = figures.past_at(19_999)
    assert abs(past - 20_000) <= error < 0.03 * n
    assert figures.past_at(-1)[0] == 0


TIMES = Times("timer", 10, 90, 5, [])


@pytest.mark.parametrize(
    ("name", "access", "progress"),
    [
        ("_timer_state/processing_user-timers", 50, (50, LAST_ACCESS)),
        ("_timer_state/processing_user-timers", None, (None, None)),
        # Nothing but the timers tells of the time of events.
        ("_timer_state/event_user-timers", 50, (90, TIMER)),
    ],
)
def test_what_shows_the_progress(name: str, access: int | None, progress: tuple[Any, Any]) -> None:
    schema = pa.schema([("key", pa.int64()), ("timestamp_ms", pa.int64()), ("key_group", pa.int32())])
    figures = StateStatistics(schema, MeasureOptions(0))
    figures.add(pa.record_batch([[1, 2], [10, 90], [0, 0]], schema=schema), 0)
    timers = replace(STATE, state_name=name, state_kind="timer", ttl=None, times=TIMES, rows=2)
    other = replace(STATE, times=None, ttl=Ttl(1, access, access, []))
    (operator,) = judged([replace(DOCUMENT.operators[0], states=[timers, other])], {id(timers): figures})
    times = operator.states[0].times
    assert times is not None
    assert (times.progress_ms, times.progress_of) == progress
    assert times.past_by_progress == (1 if progress[1] == LAST_ACCESS else None)
    assert clock_note([operator], 60) is None
    note = clock_note([operator], 90_000_000)
    assert (note is None) == (access is None)
    assert note is None or note.startswith("the latest last access is 1970-01-01T00:00:00.05Z, and the file _metadata is of")
