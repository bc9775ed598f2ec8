"""States of windowed operators: the same readable columns from every kind of snapshot."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stateextract
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.errors import FormatError
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.model import SubtaskState
from stateextract.options import JobOptions
from stateextract.state.counters import Counters
from stateextract.state.flink_states import purpose_of
from tests.state.keyed_writer import FORMS, LONG, STRING, Entry, Keyed, State, i32, i64, write
from tests.writers.flink_writer import (
    DOUBLE,
    VOID_NAMESPACE,
    composite,
    flink_string,
    list_of,
    map_of,
    tuple_of,
    versioned,
)

PACKAGE = "org.apache.flink."
TIME_WINDOW = versioned(
    PACKAGE + "streaming.api.windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot", 3
)
SQL_WINDOW = versioned(PACKAGE + "table.runtime.operators.window.TimeWindow$Serializer$TimeWindowSerializerSnapshot", 3)
SQL_KEY = versioned(
    PACKAGE + "table.runtime.typeutils.BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot", 3, i32(1)
)
ELEMENT = composite(
    PACKAGE + "streaming.runtime.streamrecord.StreamElementSerializer$StreamElementSerializerSnapshot", 1, [STRING]
)
TIME = pa.timestamp("us", tz="UTC")
WINDOW = pa.struct([("start", TIME), ("end", TIME)])
HOUR = 3_600_000
ENGINES = ("interpreter", "kernel")

A, B = flink_string("a"), flink_string("b")


def at(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def window(start: int, end: int) -> dict[str, datetime]:
    return {"start": at(start), "end": at(end)}


def table(folder: Path, form: str, engine: Any, keyed: Keyed, name: str, **options: Any) -> pa.Table:
    """All rows of a state, in the order of key and window."""
    path = write(folder, [SubtaskState(0, managed_keyed=FORMS[form](keyed))])
    snapshot = stateextract.open_snapshot(
        str(path), decoder=engine, key_group_column=False, subtask_column=False, **options
    )
    state = snapshot.operator("op").state(name)
    found = state.to_table()
    assert found.schema == state.schema
    return found


def rows(found: pa.Table) -> list[dict[str, Any]]:
    return sorted(found.to_pylist(), key=lambda row: (str(row["key"]), str(row.get("namespace"))))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_contents_and_what_a_trigger_keeps(form: str, engine: str, tmp_path: Path) -> None:
    first, second = i64(0, HOUR), i64(HOUR, 2 * HOUR)
    contents = [Entry(1, A, i64(10), first), Entry(1, A, i64(20), second), Entry(2, B, i64(30), first)]
    fire = [Entry(1, A, i64(5000), first)]
    keyed = Keyed(
        [
            State("window-contents", contents, "AGGREGATING", LONG, TIME_WINDOW),
            State("fire-time", fire, "REDUCING", LONG, TIME_WINDOW),
        ],
        STRING,
    )
    found = table(tmp_path, form, engine, keyed, "window-contents")
    assert found.schema == pa.schema(
        [
            ("key", pa.string()),
            ("namespace", WINDOW),
            ("window_start", TIME),
            ("window_end", TIME),
            ("value", pa.int64()),
        ]
    )
    expected = [("a", 0, HOUR, 10), ("a", HOUR, 2 * HOUR, 20), ("b", 0, HOUR, 30)]
    assert rows(found) == [
        {"key": k, "namespace": window(s, e), "window_start": at(s), "window_end": at(e), "value": v}
        for k, s, e, v in expected
    ]
    found = table(tmp_path, form, engine, keyed, "fire-time")
    assert [(r["window_start"], r["value"]) for r in found.to_pylist()] == [(at(0), 5000)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_an_evictors_records(form: str, engine: str, tmp_path: Path) -> None:
    """With a time, without one, and with the time that means that none was assigned."""
    records = [b"\x00" + i64(1500) + A, b"\x01" + B, b"\x00" + i64(-(2**63)) + A]
    keyed = Keyed(
        [State("window-contents", [Entry(3, A, records, i64(0, HOUR))], "LIST", list_of(ELEMENT), TIME_WINDOW)], STRING
    )
    found = table(tmp_path, form, engine, keyed, "window-contents")
    assert found.schema.field("value").type == pa.list_(pa.struct([("timestamp", TIME), ("value", pa.string())]))
    assert found["value"].to_pylist() == [
        [
            {"timestamp": at(1500), "value": "a"},
            {"timestamp": None, "value": "b"},
            {"timestamp": None, "value": "a"},
        ]
    ]
    flat = table(tmp_path, form, engine, keyed, "window-contents", flatten=True)
    assert flat.schema.names == ["key", "namespace", "window_start", "window_end", "list_index", "value"]
    assert [(r["list_index"], r["window_end"], r["value"]["value"]) for r in flat.to_pylist()] == [
        (0, at(HOUR), "a"),
        (1, at(HOUR), "b"),
        (2, at(HOUR), "a"),
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_only_records_are_in_windows(form: str, engine: str, tmp_path: Path) -> None:
    watermark = [b"\x02" + i64(7)]
    keyed = Keyed(
        [State("window-contents", [Entry(0, A, watermark, i64(0, 1))], "LIST", list_of(ELEMENT), TIME_WINDOW)], STRING
    )
    with pytest.raises(FormatError) as caught:
        table(tmp_path, form, engine, keyed, "window-contents")
    assert caught.value.state == "window-contents"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_merging_windows(form: str, engine: str, tmp_path: Path) -> None:
    pair = tuple_of(TIME_WINDOW, TIME_WINDOW)
    sessions = [i64(0, 300) + i64(0, 100), i64(1000, 1100) + i64(1000, 1100)]
    keyed = Keyed([State("merging-window-set", [Entry(1, A, sessions)], "LIST", list_of(pair), VOID_NAMESPACE)], STRING)
    found = table(tmp_path, form, engine, keyed, "merging-window-set")
    assert found.schema == pa.schema(
        [("key", pa.string()), ("value", pa.list_(pa.struct([("window", WINDOW), ("state_window", WINDOW)])))]
    )
    assert found["value"].to_pylist() == [
        [
            {"window": window(0, 300), "state_window": window(0, 100)},
            {"window": window(1000, 1100), "state_window": window(1000, 1100)},
        ]
    ]


def test_pairs_of_users_keep_their_names(tmp_path: Path) -> None:
    pair = tuple_of(TIME_WINDOW, TIME_WINDOW)
    keyed = Keyed([State("windows", [Entry(1, A, [i64(0, 1, 0, 1)])], "LIST", list_of(pair))], STRING)
    found = table(tmp_path, "heap", "interpreter", keyed, "windows")
    assert [f.name for f in found.schema.field("value").type.value_type] == ["f0", "f1"]


def sql_key(number: int) -> bytes:
    return i32(8) + i64(number)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_windows_of_sql(form: str, engine: str, tmp_path: Path) -> None:
    """A class of its own, and numbers: the end of a slice or of a window; the session mapping is a map."""
    key = sql_key(1)
    slices = [Entry(1, key, i64(5), i64(HOUR)), Entry(1, key, i64(6), i64(2**63 - 1))]
    states = [
        State("window-aggs", slices, "VALUE", LONG, LONG),
        State("window_rank", [Entry(1, key, i64(7), i64(HOUR))], "VALUE", LONG, LONG),
        State("previous-aggs", [Entry(1, key, i64(8), i64(0, HOUR))], "VALUE", LONG, SQL_WINDOW),
        State("mine", [Entry(1, key, i64(9), i64(HOUR))], "VALUE", LONG, LONG),
        State(
            "session-window-mapping",
            [Entry(1, key, [(i64(0, 300), i64(0, 100))])],
            "MAP",
            map_of(SQL_WINDOW, SQL_WINDOW),
        ),
        State("_timer_state/event_window-timers", [Entry(1, key, HOUR - 1, i64(HOUR))], "TIMER", namespace=LONG),
        State("_timer_state/event_user-timers", [Entry(1, key, HOUR - 1, i64(HOUR))], "TIMER", namespace=LONG),
    ]
    keyed = Keyed(states, SQL_KEY)

    def of(name: str) -> pa.Table:
        return table(tmp_path, form, engine, keyed, name)

    aggs = of("window-aggs")
    assert aggs.schema == pa.schema(
        [("key", pa.binary()), ("namespace", pa.int64()), ("slice_end", TIME), ("value", pa.int64())]
    )
    # The end beyond all times is null as a time, and exact as Flink's number.
    assert {(r["namespace"], r["slice_end"], r["value"]) for r in aggs.to_pylist()} == {
        (HOUR, at(HOUR), 5),
        (2**63 - 1, None, 6),
    }
    assert [(r["window_end"], r["value"]) for r in of("window_rank").to_pylist()] == [(at(HOUR), 7)]
    assert [(r["window_start"], r["window_end"]) for r in of("previous-aggs").to_pylist()] == [(at(0), at(HOUR))]
    assert of("mine").schema.names == ["key", "namespace", "value"]
    assert of("session-window-mapping")["value"].to_pylist() == [[(window(0, 300), window(0, 100))]]
    timers = of("_timer_state/event_window-timers")
    assert timers.schema.names == [
        "key", "namespace", "window_end", "timestamp", "timestamp_ms", "kind", "service",
    ]  # fmt: skip
    assert timers["window_end"].to_pylist() == [at(HOUR)]
    assert "window_end" not in of("_timer_state/event_user-timers").schema.names


def test_numbers_that_are_no_windows(tmp_path: Path) -> None:
    """Names like SQL's under keys that are not SQL's say nothing."""
    keyed = Keyed([State("window-aggs", [Entry(1, i64(1), i64(5), i64(HOUR))], "VALUE", LONG, LONG)])
    assert table(tmp_path, "heap", "interpreter", keyed, "window-aggs").schema.names == ["key", "namespace", "value"]


@pytest.mark.parametrize("form", FORMS)
def test_a_job_writes_the_same_columns(form: str, tmp_path: Path) -> None:
    """Contents with flat lists, and the timers of the operator as one dataset."""
    span = i64(0, HOUR)
    keyed = Keyed(
        [
            State("window-contents", [Entry(1, A, [A, B], span)], "LIST", list_of(STRING), TIME_WINDOW),
            State("_timer_state/event_window-timers", [Entry(1, A, HOUR - 1, span)], "TIMER", namespace=TIME_WINDOW),
            State("_timer_state/processing_window-timers", (), "TIMER", namespace=TIME_WINDOW),
        ],
        STRING,
    )
    path = write(tmp_path / "chk-1", [SubtaskState(0, managed_keyed=FORMS[form](keyed))])
    out = tmp_path / "out"
    outcome = run_job(JobOptions(snapshot=str(path), output=str(out)), in_this_process)
    read = {d.state_name: pq.read_table(out / d.folder).to_pylist() for d in outcome.manifest.datasets}
    where = {"key": "a", "namespace": window(0, HOUR), "window_start": at(0), "window_end": at(HOUR)}
    here = {"key_group": 1, "subtask": 0}
    assert read == {
        "window-contents": [{**where, "value": ["a", "b"], **here}],
        "timers": [
            {
                **where, "timestamp": at(HOUR - 1), "timestamp_ms": HOUR - 1, "kind": "event", "service": "window-timers",
                **here,
            }
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("state", "others", "role"),
    [
        ("window-contents", (), "contents of each window"),
        ("merging-window-set", (), "session windows: each with the window under which its contents are kept"),
        ("session-window-mapping", (), "session windows: from each to the window under which its contents are kept"),
        ("fire-time", ("window-contents",), "trigger: time of the next firing in milliseconds"),
        ("last-element", ("window-contents",), "trigger: element of the last firing"),
        (
            "asyncOperations", ("delayed-messages-buffer",),
            "Stateful Functions: messages whose asynchronous operations have not ended",
        ),
        ("asyncOperations", (), None),
    ],
)  # fmt: skip
def test_roles(state: str, others: Sequence[str], role: str | None) -> None:
    assert purpose_of(state, others) == role


def session_states(kind: str) -> Keyed:
    """Two sessions of key ``a``, one of ``b``, and contents that no session has; in SQL's words or DataStream's."""
    sessions = {A: [(i64(0, 300), i64(0, 100)), (i64(1000, 1100), i64(1000, 1100))], B: [(i64(0, 50), i64(0, 50))]}
    kept = [(A, i64(0, 100), 1), (A, i64(1000, 1100), 2), (B, i64(0, 50), 3), (B, i64(7, 8), 4)]
    window_type, names, key = (
        (SQL_WINDOW, ("session-window-mapping", "window-aggs"), STRING)
        if kind == "SQL"
        else (TIME_WINDOW, ("merging-window-set", "window-contents"), STRING)
    )
    contents = State(names[1], [Entry(1, k, i64(v), w) for k, w, v in kept], "VALUE", LONG, window_type)
    if kind == "SQL":
        mapping = State(
            names[0], [Entry(1, k, list(pairs)) for k, pairs in sessions.items()], "MAP", map_of(window_type, window_type)
        )
        mapping = replace(mapping, entries=[Entry(1, k, [(s, w) for s, w in pairs]) for k, pairs in sessions.items()])
    else:
        pair = tuple_of(window_type, window_type)
        lists = [Entry(1, k, [s + w for s, w in pairs]) for k, pairs in sessions.items()]
        mapping = State(names[0], lists, "LIST", list_of(pair), VOID_NAMESPACE)
    # The mapping comes behind the contents in a key group, and may come before.
    return Keyed([contents, mapping] if kind != "DataStream, mapping first" else [mapping, contents], key)


SESSIONS = [("a", 0, 100, 0, 300, 1), ("a", 1000, 1100, 1000, 1100, 2), ("b", 0, 50, 0, 50, 3), ("b", 7, 8, None, None, 4)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["DataStream", "DataStream, mapping first", "SQL"])
@pytest.mark.parametrize("form", FORMS)
def test_the_bounds_of_sessions(form: str, kind: str, engine: str, tmp_path: Path) -> None:
    keyed = session_states(kind)
    name = "window-aggs" if kind == "SQL" else "window-contents"
    found = table(tmp_path, form, engine, keyed, name)
    bounds = ["window_start", "window_end", "session_start", "session_end"]
    assert found.schema.names == ["key", "namespace", *bounds, "value"]
    assert {found.schema.field(column).type for column in bounds} == {TIME}
    in_order = sorted(found.to_pylist(), key=lambda row: row["value"])
    assert [(r["key"], *(r[c] for c in bounds), r["value"]) for r in in_order] == [
        (k, *(None if t is None else at(t) for t in times), v) for k, *times, v in SESSIONS
    ]


def test_sessions_of_keys_that_are_no_usual_numbers(tmp_path: Path) -> None:
    """To Java, NaN is NaN and 0.0 is not -0.0."""
    keys = [struct.pack(">d", number) for number in (float("nan"), 0.0, -0.0)]
    pair = list_of(tuple_of(TIME_WINDOW, TIME_WINDOW))
    contents = [Entry(1, key, i64(n), i64(0, 9)) for n, key in enumerate(keys)]
    sessions = [Entry(1, key, [i64(0, 10 + n, 0, 9)]) for n, key in enumerate(keys)]
    keyed = Keyed(
        [
            State("window-contents", contents, "VALUE", LONG, TIME_WINDOW),
            State("merging-window-set", sessions, "LIST", pair, VOID_NAMESPACE),
        ],
        DOUBLE,
    )
    found = table(tmp_path, "heap", "interpreter", keyed, "window-contents")
    ends = dict(zip(found["value"].to_pylist(), found["session_end"].to_pylist(), strict=True))
    assert ends == {n: at(10 + n) for n in range(3)}


def test_a_session_without_end(tmp_path: Path) -> None:
    """An end that the column cannot hold is null, as in the mapping state."""
    forever = i64(0, 2**63 - 1)
    pair = list_of(tuple_of(TIME_WINDOW, TIME_WINDOW))
    keyed = Keyed(
        [
            State("window-contents", [Entry(1, A, i64(1), i64(0, 9))], "VALUE", LONG, TIME_WINDOW),
            State("merging-window-set", [Entry(1, A, [forever + i64(0, 9)])], "LIST", pair, VOID_NAMESPACE),
        ],
        STRING,
    )
    found = table(tmp_path, "heap", "interpreter", keyed, "window-contents", out_of_range="null")
    assert found.select(["session_start", "session_end"]).to_pylist() == [{"session_start": at(0), "session_end": None}]


def test_only_the_sessions_that_are_asked_for(tmp_path: Path) -> None:
    """Key and window are read for them, and left out again."""
    path = write(tmp_path / "chk-1", [SubtaskState(0, managed_keyed=FORMS["heap"](session_states("DataStream")))])
    content = stateextract.open_snapshot(str(path)).operator("op").state("window-contents")
    assert content.count() == 4
    assert sorted(content.get("a")["session_end"].to_pylist()) == [at(300), at(1100)]
    wanted = pa.schema([("session_end", TIME), ("value", pa.int64())])
    counters = Counters()
    options = replace(content._options, columns={"window-contents": wanted})
    pieces = [piece.batch for piece in content._pieces(options, counters, None)]
    assert [b.schema.names for b in pieces] == [["session_end", "value"]]
    assert sorted(pieces[0]["value"].to_pylist()) == [1, 2, 3, 4]
    assert counters.of("window-contents").rows == 4


@pytest.mark.parametrize("form", ["heap", "RocksDB"])
def test_statistics_count_sessions_not_state_windows(form: str, tmp_path: Path) -> None:
    path = write(tmp_path / "chk-1", [SubtaskState(0, managed_keyed=FORMS[form](session_states("DataStream")))])
    document = statistics(JobOptions(snapshot=str(path)), StatisticsOptions(as_of_ms=150), in_this_process)
    (state,) = (s for _, s in document.states if s.state_name == "window-contents")
    assert state.times is not None
    # At 150 the state window [0, 100) has ended, and its session [0, 300) has not.
    assert (state.times.of, state.times.min_ms, state.times.max_ms, state.times.past) == ("window_end", 50, 1100, 1)


def test_a_job_writes_the_bounds_of_sessions(tmp_path: Path) -> None:
    path = write(tmp_path / "chk-1", [SubtaskState(0, managed_keyed=FORMS["canonical"](session_states("DataStream")))])
    run_job(JobOptions(snapshot=str(path), output=str(tmp_path / "out"), state=("window-contents",)), in_this_process)
    found = pq.read_table(tmp_path / "out" / "op" / "window-contents")
    assert sorted(str(t) for t in found["session_end"].to_pylist()) == sorted(
        str(None if t is None else at(t)) for t in (300, 1100, 50, None)
    )
