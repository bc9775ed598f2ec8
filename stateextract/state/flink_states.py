"""Roles: what Flink's own operators keep in states whose names say little.

``purpose_of`` is a table by state name, from the descriptors in Flink's operators. Names that users choose are not in it, so
they have no purpose here; where a name of the table is also one that users take (``count``, ``timer``), the kind or another
state of the same operator must bear it out. A pure function of names; reads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from stateextract.state.state_columns import timer_service
from stateextract.state.window_columns import MERGING_WINDOWS, WINDOW_CONTENTS

PYTHON_STATE = "python-state-"
"""What PyFlink puts before the name of a state that a Python process has, in the DataStream API and in tables."""

_ROLES = {
    WINDOW_CONTENTS: "contents of each window",
    MERGING_WINDOWS: "session windows: each with the window under which its contents are kept",
    "session-window-mapping": "session windows: from each to the window under which its contents are kept",
    "window-aggs": "accumulators of each window, or of each slice of overlapping windows",
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
    "data-state": "ranked rows, or the key's row of a changelog",
    "sorted-map": "ranking: numbers of rows by what they are sorted by",
    "Top1-Rank-State": "ranking: the first row",
    "rankEnd": "ranking: how many rows are kept",
    "counterState": "numbers the rows of a key",
    "IntervalJoinLeftTimerState": "interval join: time of the timer that removes left rows",
    "IntervalJoinRightTimerState": "interval join: time of the timer that removes right rows",
    "next-index": "temporal join: number of the next left row",
    "inputState": "OVER aggregation: rows by time",
    "lastTriggeringTsState": "time of the last firing",
    "processedCountState": "OVER aggregation: number of rows that were processed",
    "cleanupTsState": "time of the timer that removes what is old",
    "smallestTSState": "OVER aggregation: time of the oldest row",
    "idState": "OVER aggregation: number of the next row",
    "sortedListState": "OVER aggregation: numbers of rows by what they are sorted by",
    "valueMapState": "OVER aggregation: rows by number",
    "accMapState": "OVER aggregation: accumulators by what is sorted by",
    "rowToSqnState": "sink: sequence numbers by row",
    "sqnToNodeState": "sink: rows by sequence number",
    "highestSqnState": "sink: the highest sequence number",
    "sortState": "rows to be sorted",
    "dataState": "rows to be sorted by time",
    "waiting-to-emit-on-timer": "deduplication: row that a timer emits",
    "already-emitted-state-boolean": "deduplication: whether a row was emitted",
    "session-window-tvf-counter": "session windows: number of the next row",
    "session-window-tvf-acc": "session windows: rows by number",
    "internal-named-timers-map": "process table function: times of the named timers",
    "build-table": "lateral snapshot join: rows of the build side",
    "build-change-buffer": "lateral snapshot join: changes of the build side that wait",
    "probe-buffer": "lateral snapshot join: rows of the probe side that wait",
    "_delta_join_operator_async_wait_state_": "delta join: elements that wait for a lookup",
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
    "next-transactional-id-hint": "next transactional id of a FlinkKafkaProducer",
    "next-transactional-id-hint-v2": "next transactional id of a FlinkKafkaProducer",
    "delayed-messages-buffer": "Stateful Functions: messages that are sent later, by their time",
    "delayed-message-index": "Stateful Functions: time of a message that is sent later, by its cancellation token",
}

# SQL's views of accumulators: a state per aggregate function and field, and per distinct argument.
_VIEWS = (
    (re.compile(r"agg\d+\$\w+"), "view of an accumulator"),
    (re.compile(r"distinctAcc_\d+"), "distinct values of an aggregation, with what counts them"),
    (re.compile(r"(agg\d+\$\w+|distinctAcc_\d+)_null_state"), "the same for the value null"),
    (re.compile(r"multi-join-input-\d+"), "rows of one of a join's inputs"),
    (re.compile(r"input-sort-buffer-data-\d+"), "process table function: rows of an input that wait for their time"),
)

# Flink's triggers keep these, next to the contents of windows.
_TRIGGERS = {
    "count": "trigger: elements since it fired",
    "fire-time": "trigger: time of the next firing in milliseconds",
    "last-element": "trigger: element of the last firing",
    "processing-time-timeout": "trigger: time of the time-out in milliseconds",
}

_ASYNCHRONOUS = "Stateful Functions: messages whose asynchronous operations have not ended"


def purpose_of(state: str, others: Collection[str] = ()) -> str | None:
    """What an operator of Flink keeps in a state of this name.

    :param others: names of the states of the same operator.
    :returns: a few words; ``None`` where the name is the user's own.
    """
    timers = timer_service(state)
    if timers is not None:
        return f"{timers[0]}-time timers of the service {timers[1]}"
    if state.startswith(PYTHON_STATE):
        found = purpose_of(state.removeprefix(PYTHON_STATE), [name.removeprefix(PYTHON_STATE) for name in others])
        return "PyFlink, Python process" + (f": {found}" if found else "")
    if state in _TRIGGERS:
        return _TRIGGERS[state] if WINDOW_CONTENTS in others else None
    if state == "asyncOperations":
        return _ASYNCHRONOUS if "delayed-messages-buffer" in others else None
    return _ROLES.get(state) or next((role for name, role in _VIEWS if name.fullmatch(state)), None)
