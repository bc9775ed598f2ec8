from __future__ import annotations

import pytest

from stateextract.state.flink_states import purpose_of


@pytest.mark.parametrize(
    ("state", "others", "words"),
    [
        ("window-contents", (), "contents of each window"),
        ("merging-window-set", (), "session windows"),
        ("count", ("window-contents", "count"), "trigger"),
        ("_timer_state/event_user-timers", (), "event-time timers of the service user-timers"),
        ("_timer_state/processing_window-timers", (), "processing-time timers of the service window-timers"),
        ("accState", (), "accumulators"),
    ],
)
def test_names_of_flinks_operators(state: str, others: tuple[str, ...], words: str) -> None:
    assert words in (purpose_of(state, others) or "")


@pytest.mark.parametrize("state", ["count", "orders", "_timer_state/other", "timers"])
def test_names_of_users(state: str) -> None:
    assert purpose_of(state, ("orders", "count")) is None
