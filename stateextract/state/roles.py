"""Roles: what Flink's own operators keep in states whose names say little.

``role_of`` is a table by state name, from the descriptors in Flink's operators. Names that users choose are not in it, so
nothing is said of them; where a name of the table is also one that users take (``count``, ``timer``), the kind or another
state of the same operator must bear it out. A pure function of names; reads nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from stateextract.state.columns import timer_service

WINDOW_CONTENTS, MERGING_WINDOWS = "window-contents", "merging-window-set"

_ROLES = {
    WINDOW_CONTENTS: "contents of each window; the namespace is the window",
    MERGING_WINDOWS: "session windows: pairs of a logical window and the window under which its contents are kept",
    "session-window-mapping": "session windows: from a logical window to the one under which its contents are kept",
    "window-aggs": "accumulators of each window",
    "previous-aggs": "what was last emitted of each window",
    "window_rank": "ranked rows of each window",
    "window_deduplicate": "kept row of each window",
    "accState": "accumulators of an aggregation",
    "left-records": "rows of a join's left input",
    "right-records": "rows of a join's right input",
    "LEFT_BUFFER": "interval join: left elements by time",
    "RIGHT_BUFFER": "interval join: right elements by time",
    "IntervalJoinLeftCache": "interval join: left rows by time",
    "IntervalJoinRightCache": "interval join: right rows by time",
    "deduplicate-state": "kept row of a deduplication",
    "data-state-with-append": "ranked rows",
    "data-state-with-update": "ranked rows by their unique key",
    "nfaStateName": "pattern matching: partial matches",
    "eventQueuesStateName": "pattern matching: events that wait for their time",
    "sharedBuffer-events": "pattern matching: events that partial matches refer to",
    "sharedBuffer-entries": "pattern matching: edges between events",
    "sharedBuffer-entries-with-lockable-edges": "pattern matching: edges between events",
    "sharedBuffer-events-count": "pattern matching: events by time",
    "SourceReaderState": "splits that a source reader had",
    "writer_raw_states": "state of a sink's writer",
    "streaming_committer_raw_states": "what a sink has yet to commit",
    "bucket-states": "open and pending files of a file sink",
    "max-part-counter": "highest file number of a file sink",
    "_async_wait_operator_state_": "elements that wait for an asynchronous call",
    "_keyed_async_wait_operator_state_": "elements that wait for an asynchronous call",
    "topic-partition-offset-states": "offsets of a Kafka source",
}

# Flink's triggers keep these, beside the contents of windows.
_TRIGGERS = {
    "count": "trigger: elements since it fired",
    "fire-time": "trigger: time of the next firing",
    "last-element": "trigger: element of the last firing",
    "processing-time-timeout": "trigger: time-out",
}


def role_of(state: str, others: Collection[str] = ()) -> str | None:
    """What an operator of Flink keeps in a state of this name.

    :param others: names of the states of the same operator.
    :returns: a few words; ``None`` where the name is the user's own.
    """
    timers = timer_service(state)
    if timers is not None:
        return f"{timers[0]}-time timers of the service {timers[1]}"
    if state in _TRIGGERS:
        return _TRIGGERS[state] if WINDOW_CONTENTS in others else None
    return _ROLES.get(state)


__all__ = ["MERGING_WINDOWS", "WINDOW_CONTENTS", "role_of"]
