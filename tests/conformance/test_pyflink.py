"""State of real PyFlink jobs (``PYFLINK_CASES``): with what ``stateextract types --suggest`` writes, the values of their truth.

Corrected are only types that bytes cannot tell: what has several fields, and numbers that are times.
"""

from __future__ import annotations

import io
import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.api import Snapshot, State
from stateextract.cli import run

CASES = Path(os.environ.get("PYFLINK_CASES", Path(__file__).resolve().parents[3] / "shared" / "pyflink"))
PROCESS, THREAD = "p230-process-rocksdb-savepoint", "p230-thread-hashmap-pickled"
WINDOWS, TABLE = "p120-win-conn-native-snappy", "p230-table-rocksdb"
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
HOUR = 3_600_000  # milliseconds
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not there (PYFLINK_CASES)")

# What cannot be known from bytes: types of several fields, and numbers and texts that mean something else.
CORRECTED = {
    PROCESS: {
        "typed/python-state-big_dec/value": "element(decimal(20,6))",
        "typed/python-state-sql_date/value": "element(date)",
        "typed/python-state-sql_time/value": "element(time)",
        "typed/python-state-sql_timestamp*/value": "element(timestamp[ms])",
        "typed/python-state-object_array/value": "element(list<row<id: int64, name: string, amount: float64>>)",
        "typed/python-state-map_of_list/value": "element(map<int64, list<string>>)",
        "typed/python-state-row/value": "element(row<int32, string, bool>)",
        "typed/python-state-row_named/value": "element(row<id: int64, name: string, amount: float64>)",
        "typed/python-state-row_nested/value": "element(row<r: row<id: int64, name: string, amount: float64>, l: list<row<id: "
        "int64, name: string, amount: float64>>, m: map<string, row<id: int64, name: string, amount: float64>>>)",
        "typed/python-state-tuple/value": "element(tuple<string, int64, date>)",
        "typed/python-state-tuple_nested/value": "element(tuple<tuple<int32, string>, list<int32>, pickle>)",
        "typed/python-state-list_of_tuple/value": "element(list<tuple<string, int64>>)",
    },
    WINDOWS: {
        "w_tumble_reduce/python-state-window-contents/value": "element(tuple<string, int64>)",
        "w_slide_agg/python-state-window-contents/value": "element(tuple<int64, float64>)",
        "keyed_reduce/python-state-_reduce_state*/value": "element(tuple<string, int64>)",
    },
    THREAD: {},
    TABLE: {},
}  # fmt: skip


@cache
def truth(case: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / case / "truth.json").read_text(encoding="utf-8"))
    return found


def path(case: str) -> str:
    return str(CASES / case / truth(case)["path"])


@cache
def opened(case: str, flatten: bool = False) -> Snapshot:
    with redirect_stdout(io.StringIO()) as out:
        assert run(["types", "--suggest", path(case)]) == 0
    types = tomllib.loads(out.getvalue())["types"]
    for place, type_ in CORRECTED[case].items():
        types = {p: t for p, t in types.items() if not _same(p, place)} | {place: type_}
    return stateextract.open_snapshot(path(case), types=types, flatten=flatten)


@cache
def bare(case: str) -> Snapshot:
    """Without any type, as a user opens it first."""
    return stateextract.open_snapshot(path(case))


def _same(place: str, pattern: str) -> bool:
    begin, star, end = pattern.partition("*")
    return place.startswith(begin) and place.endswith(end) if star else place == pattern


def plain(value: Any) -> Any:
    """A value of ours: rows and tuples as lists without their kind, maps as pairs in order, all else as JSON shows it."""
    if isinstance(value, dict):
        return [plain(v) for k, v in value.items() if k != "row_kind"]
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, float) and value != value:
        return "NaN"
    return value.isoformat() if isinstance(value, datetime | date) else value


def typed(value: Any) -> Any:
    """The same of the truth's notation."""
    if isinstance(value, list):
        return [typed(v) for v in value]
    if not isinstance(value, dict):
        return value
    tag, inner = next(iter(value.items()))
    match tag:
        case "$tuple" | "$row":
            return [typed(v) for v in inner]
        case "$map":
            return [(typed(k), typed(v)) for k, v in inner]
        case "$float":
            return "NaN" if inner == "nan" else float(inner)
        case "$decimal":
            return Decimal(inner)
        case "$bytes":
            return bytes.fromhex(inner)
        case "$instant":
            return (EPOCH + timedelta(seconds=inner[0], microseconds=inner[1] // 1000)).isoformat()
        case "$time":
            return inner[:-3]
        case "$datetime":
            return datetime.fromisoformat(inner).isoformat()
    return inner


def pickled(value: Any) -> Any:
    """The truth's notation as the JSON of a pickle."""
    if isinstance(value, list):
        return [pickled(v) for v in value]
    if not isinstance(value, dict):
        return value
    tag, inner = next(iter(value.items()))
    match tag:
        case "$map":
            pairs = [(pickled(k), pickled(v)) for k, v in inner]
            return dict(pairs) if all(isinstance(k, str) for k, _ in inner) else [list(pair) for pair in pairs]
        case "$row":
            values = [pickled(v) for v in inner]
            return dict(zip(value["names"], values, strict=True)) if value.get("names") else values
        case "$dataclass":
            return {"$python": inner, "fields": {k: pickled(v) for k, v in value["fields"].items()}}
        case "$namedtuple":
            return {"$python": inner, "args": [pickled(v) for v in value["fields"].values()]}
        case "$enum":
            return {"$python": inner[0]}
        case "$float":
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[inner]
        case "$timedelta":
            return str(timedelta(seconds=inner))
        case "$datetime" | "$date" | "$time" | "$decimal" | "$bytes" | "$numpy":
            return inner
    assert tag in ("$tuple", "$set", "$ndarray")
    return [pickled(v) for v in inner]


def of_json(text: str) -> Any:
    """The JSON of a pickle, without modules and the numbers of enums."""

    def named(found: dict[str, Any]) -> dict[str, Any]:
        if "$python" in found:
            found["$python"] = found["$python"].rpartition(".")[2]
            if found["$python"] in ("Color", "Level"):
                del found["args"]
        return found

    return json.loads(text, object_hook=named)


def expected_of(state: dict[str, Any], value: Any) -> Any:
    wish = state["wish"]
    if state["kind"] == "MAP":
        of = [pickled if w == "pickle" else typed for w in wish]
        pairs = [(of[0](k), of[1](v)) for k, v in value["$map"]]
        return dict(pairs) if wish[1] == "pickle" else sorted(pairs)
    convert = pickled if wish == "pickle" else typed
    return [convert(v) for v in value] if state["kind"] == "LIST" else convert(value)


def actual_of(state: dict[str, Any], value: Any) -> Any:
    if state["kind"] == "MAP":
        pairs = [(k, v["value"] if isinstance(v, dict) else v) for k, v in value]
        return {k: of_json(v) for k, v in pairs} if state["wish"][1] == "pickle" else sorted(pairs)
    if state["kind"] == "LIST":
        value = [v["value"] if isinstance(v, dict) and "last_access" in v else v for v in value]
        return [of_json(v) if state["wish"] == "pickle" else plain(v) for v in value]
    if state["wish"] == "pickle":
        return of_json(value)
    if state["wish"].startswith("tuple<tuple<int32"):
        *rest, last = plain(value)
        return [*rest, [tuple(item) for item in json.loads(last).items()]]
    return plain(value)


def states(case: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for operator in truth(case)["operators"]:
        for state in operator["keyed_states"]:
            yield operator["uid"], state


def found_state(case: str, uid: str, name: str) -> State:
    prefix = "" if case == THREAD else "python-state-"
    return opened(case).operator(uid).state(prefix + name)


NAMES = [(case, uid, s["name"]) for case in (PROCESS, THREAD, WINDOWS) if CASES.is_dir() for uid, s in states(case)]


@pytest.mark.parametrize(("case", "uid", "name"), NAMES)
def test_keyed_states(case: str, uid: str, name: str) -> None:
    expected = next(s for u, s in states(case) if (u, s["name"]) == (uid, name))
    state = found_state(case, uid, name)
    table = state.to_table()
    assert (state.coverage.status, state.coverage.complete, state.pyflink) == ("decoded", True, True)
    rows = dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))
    wanted = {row["key"]: expected_of(expected, row["value"]) for row in expected["rows"]}
    found = {key: actual_of(expected, value) for key, value in rows.items()}
    if name in ("set", "frozenset"):
        wanted, found = ({k: sorted(v, key=str) for k, v in of.items()} for of in (wanted, found))
    assert found == wanted
    assert state.coverage.counters.counts.sub_microsecond == (len(rows) if name == "instant_ns" else 0)
    if expected["ttl"] and expected["kind"] == "VALUE":
        assert "last_access" in table.column_names


@pytest.mark.parametrize(("case", "uid", "name"), [n for n in NAMES if n[2] in ("long", "t_long", "dict", "left", "t_map")])
def test_keys_are_found_where_their_hash_leads(case: str, uid: str, name: str) -> None:
    expected = next(s for u, s in states(case) if (u, s["name"]) == (uid, name))
    state = found_state(case, uid, name)
    wrapped = stateextract.open_snapshot(path(case), python_wrapping=True).operator(uid).state(state.name)
    for row in expected["rows"]:
        assert state.get(str(row["key"])).num_rows == 1
        assert state.searched is not None
        assert len(state.searched) == 1
        assert wrapped.get(str(row["key"])).num_rows == 1
        assert wrapped.get(json.dumps({"f0": row["key"]}))["key"].to_pylist() == [{"f0": row["key"], "row_kind": "+I"}]
    assert state.get("99").num_rows == 0
    assert state.searched is None


@pytest.mark.parametrize("case", CORRECTED)
def test_every_key_is_found_in_its_key_group(case: str) -> None:
    """By text, in every keyed state, also windows, sessions and timers; ``Row`` and pickles lead to one key group."""
    keys = {row["key"] for _, state in states(case) for row in state["rows"]}
    keys = keys or {key for key, _, _ in truth(case)["table"]["input"]}
    for state in (state for state in bare(case).states if state.kind != "broadcast"):
        table = state.to_table()
        read, rows = state.coverage.counters.rows, table.to_pylist()
        of_key: dict[Any, list[dict[str, Any]]] = {key: [] for key in keys}
        for row in rows:
            of_key[row["key"]["f0"] if isinstance(row["key"], dict) else row["key"]].append(row)
        assert read == len(rows)
        for key, wanted in of_key.items():
            where = (state.name, key)
            groups = state.key_groups_of(str(key))
            assert groups is not None, where
            assert len(groups) == 1, where
            assert state.get(str(key)).to_pylist() == wanted, where
            if wanted:  # a key without rows is sought in all key groups, where keys may lie elsewhere
                counted = state.coverage.counters
                assert state.searched == groups == {row["key_group"] for row in wanted}, where
                assert (counted.key_groups, counted.rows) == (1, sum(row["key_group"] in groups for row in rows)), where


@pytest.mark.parametrize(
    ("case", "operator", "name", "key", "group", "wanted"),
    [
        (PROCESS, "ttl", "python-state-t_agg", "", 1, [{"key": ""}]),
        (THREAD, "pickled", "neg_int", "2", 1, [{"key": 2}]),
        (WINDOWS, "w_slide_agg", "timers", "東京🎌", 0, [{"key": "東京🎌", "kind": "event"}] * 4),
        (TABLE, "PythonGroupAggregate[6]", "python-state-agg2$mv", "äöü", 1, [{"key": {"f0": "äöü"}}]),
    ],
)
def test_keys_are_found_on_the_command_line(
    case: str, operator: str, name: str, key: str, group: int, wanted: list[dict[str, Any]]
) -> None:
    options = ["--operator", operator, "--state", name, "--key", key, "--format", "json"]
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        assert run(["get", path(case), *options]) == 0
        assert run(["get", path(case), *options[:-2]]) == 0
    assert err.getvalue() == ""  # no note that other key groups were searched
    found, _ = json.JSONDecoder().raw_decode(out.getvalue())
    assert found["key_groups"] == [group]
    assert [{name: row[name] for name in of} for row, of in zip(found["rows"], wanted, strict=True)] == wanted
    assert {row["key_group"] for row in found["rows"]} == {group}


def test_timers_of_a_key_that_has_none_are_sought_in_all_key_groups() -> None:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        assert run(["get", path(WINDOWS), "--operator", "w_slide_agg", "--state", "timers", "--key", "99"]) == 0
    assert out.getvalue() == "No row of 'timers' has this key.\n"
    assert err.getvalue() == (
        "Note: key group 15, which the hash selects, has no such row, so stateextract searched all key groups.\n"
    )


def milliseconds(instant: datetime) -> int:
    return (instant - EPOCH) // timedelta(milliseconds=1)


def spans_of(case: str) -> dict[str, list[tuple[str, int, int]]]:
    """Which windows of which keys are open, by operator: of the truth, and what follows from the input, alike in both cases."""
    rows: list[tuple[str, int, int]] = [tuple(row) for row in truth(TABLE)["table"]["input"]]
    if case == TABLE:
        return {"PythonGroupWindowAggregate[11]": sorted({(k, t - t % HOUR, t - t % HOUR + HOUR) for k, _, t in rows})}
    found = {
        operator["uid"]: sorted((w["key"], *w["window"]) for w in operator["windows"])
        for operator in truth(case)["operators"]
        if any(window["window"] for window in operator.get("windows", []))
    }
    sessions: list[tuple[str, int, int]] = []  # of half an hour
    for key, _, time in sorted(rows, key=lambda row: (row[0], row[2])):
        last = sessions[-1] if sessions else ("", 0, 0)
        merged = last[0] == key and time <= last[2]
        sessions[-1 if merged else len(sessions) :] = [(key, last[1] if merged else time, time + HOUR // 2)]
    return found | {"w_session_proc": sessions, "w_session_reduce": sessions} if case == WINDOWS else found


@pytest.mark.parametrize("case", CORRECTED)
def test_timers(case: str) -> None:
    """One event timer for each open window, at its last millisecond, and for each row that OVER waits with; no others."""
    assert not any(o.get("event_timers") or o.get("processing_timers") for o in truth(case)["operators"])  # these hold none
    wanted: dict[tuple[str, str], list[tuple[str, tuple[int, int] | None, int]]] = {
        (operator, "event"): [(key, (start, end), end - 1) for key, start, end in spans]
        for operator, spans in spans_of(case).items()
    }
    if case == TABLE:
        wanted["PythonOverAggregate[15]", "event"] = [(key, None, time) for key, _, time in truth(TABLE)["table"]["input"]]
    names = {bare(case).operator(name).id: name for name, _ in wanted}
    queues = [state for state in bare(case).states if state.kind == "timer"]
    kinds = {state.name.removeprefix("_timer_state/").partition("_")[0] for state in queues}
    assert kinds == {"event", "processing"}
    found = {}
    for state in queues:
        rows = state.to_table().to_pylist()
        assert (state.coverage.status, state.coverage.complete) == ("decoded", True)
        kind, _, service = state.name.removeprefix("_timer_state/").partition("_")
        assert {(row["kind"], row["service"]) for row in rows} <= {(kind, service)}
        assert [milliseconds(row["timestamp"]) for row in rows] == [row["timestamp_ms"] for row in rows]
        if rows:
            found[names[state.operator.id], kind] = sorted(
                (
                    row["key"]["f0"] if case == TABLE else row["key"],
                    (milliseconds(row["window_start"]), milliseconds(row["window_end"])) if "window_start" in row else None,
                    row["timestamp_ms"],
                )
                for row in rows
            )
    assert found == {place: sorted(timers) for place, timers in wanted.items()}


def test_windows() -> None:
    for operator in truth(WINDOWS)["operators"]:
        if not operator.get("windows"):
            continue
        states = [s for s in opened(WINDOWS).operator(operator["uid"]).states if s.kind == "list"]
        found = []
        for table in (s.to_table() for s in states):
            for row in table.to_pylist():
                window = row.get("namespace")
                span = None if window is None else [milliseconds(window[k]) for k in ("start", "end")]
                value = row["value"]
                found.append((row["key"], span, of_json(value) if isinstance(value, str) else plain(value)))
        wanted = [(w["key"], w["window"], typed(w["value"])) for w in operator["windows"]]
        assert sorted(found, key=repr) == sorted(wanted, key=repr), operator["uid"]


def test_sessions() -> None:
    """Which window a session is kept under needs no type: PyFlink's windows are known."""
    for uid in ("w_session_proc", "w_session_reduce"):
        found = []
        for row in bare(WINDOWS).operator(uid).state("python-state-merging-window-set").to_table().to_pylist():
            for session, kept in row["value"]:
                assert session["start"] <= kept["start"] <= kept["end"] <= session["end"]
                found.append((row["key"], milliseconds(session["start"]), milliseconds(session["end"])))
        assert sorted(found) == spans_of(WINDOWS)[uid]


def test_broadcast() -> None:
    operator = next(o for o in truth(WINDOWS)["operators"] if "broadcast" in o)
    for expected in operator["broadcast"]:
        table = opened(WINDOWS).operator(operator["uid"]).state(f"python-state-{expected['name']}").to_table()
        found = dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))
        pickles = isinstance(next(iter(found.values())), str)
        assert {k: of_json(v) if pickles else v for k, v in found.items()} == {k: pickled(v) for k, v in expected["entries"]}


def test_tables() -> None:
    model = truth(TABLE)["table"]
    operator = opened(TABLE).operator("PythonGroupAggregate[6]")

    def rows(name: str) -> dict[str, Any]:
        table = operator.state(name).to_table()
        return {key["f0"]: value for key, value in zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)}

    accumulators = {key: json.loads(value) for key, value in rows("python-state-accumulators").items()}
    assert {key: value[0] for key, value in accumulators.items()} == {k: v["$row"] for k, v in model["wavg"]}
    assert {key: value[1][1] for key, value in accumulators.items()} == dict(model["concat_n"])
    assert rows("python-state-agg1$lv") == dict(model["concat_listview"])
    assert {k: sorted(v) for k, v in rows("python-state-agg2$mv").items()} == {
        k: sorted(map(tuple, v["$map"])) for k, v in model["dist_mapview"]
    }
    top = opened(TABLE).operator("PythonGroupTableAggregate[20]").state("python-state-accumulators").to_table()
    found = {key["f0"]: json.loads(value) for key, value in zip(top["key"].to_pylist(), top["value"].to_pylist(), strict=True)}
    assert {key: value[0] for key, value in found.items()} == dict(model["top2"])


def test_rows_that_tables_wait_with() -> None:
    waiting: dict[str, dict[int, list[Any]]] = {}
    windows: dict[tuple[str, int], list[Any]] = {}
    for key, number, time in truth(TABLE)["table"]["input"]:
        instant = (EPOCH + timedelta(milliseconds=time)).isoformat()
        waiting.setdefault(key, {})[time] = [[key, number, instant]]
        windows.setdefault((key, time - time % HOUR), []).append([key, instant, number])
    rows = bare(TABLE).operator("PythonOverAggregate[15]").state("inputState").to_table().to_pylist()
    assert {row["key"]["f0"]: {time: plain(of) for time, of in row["value"]} for row in rows} == waiting
    rows = bare(TABLE).operator("PythonGroupWindowAggregate[11]").state("window-input").to_table().to_pylist()
    found = {(row["key"]["f0"], milliseconds(row["window_start"])): plain(row["value"]) for row in rows}
    assert found == windows


def test_flattened() -> None:
    """The shortest path leads to the values in rows of their own, too."""
    state = opened(PROCESS, flatten=True).operator("ttl").state("python-state-t_map")
    table = state.to_table()
    assert table.column_names[:4] == ["key", "map_key", "value", "last_access"]
    expected = next(s for u, s in states(PROCESS) if (u, s["name"]) == ("ttl", "t_map"))
    wanted = {(row["key"], *pair) for row in expected["rows"] for pair in row["value"]["$map"]}
    columns = (table[name].to_pylist() for name in ("key", "map_key", "value"))
    assert {tuple(row) for row in zip(*columns, strict=True)} == {tuple(row) for row in wanted}


@pytest.mark.parametrize(
    ("case", "uid", "name"), [(THREAD, "pickled", "dict"), (PROCESS, "ttl", "t_pick"), (WINDOWS, "ttl", "t_pick")]
)
def test_pickles_without_any_override(case: str, uid: str, name: str) -> None:
    prefix = "" if case == THREAD else "python-state-"
    values = bare(case).operator(uid).state(prefix + name).to_table()["value"].to_pylist()
    assert values == found_state(case, uid, name).to_table()["value"].to_pylist()
    assert all(isinstance(of_json(text), dict) for text in values)
