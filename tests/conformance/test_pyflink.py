"""State of real PyFlink jobs (``PYFLINK_CASES``): with what ``stateextract types --suggest`` writes, the values of their truth.

Corrected are only types that bytes cannot tell: what has several fields, and numbers that are times.
"""

from __future__ import annotations

import io
import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
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


def test_windows() -> None:
    for operator in truth(WINDOWS)["operators"]:
        if not operator.get("windows"):
            continue
        states = [s for s in opened(WINDOWS).operator(operator["uid"]).states if s.kind == "list"]
        found = []
        for table in (s.to_table() for s in states):
            for row in table.to_pylist():
                window = row.get("namespace")
                span = None if window is None else [(window[k] - EPOCH) // timedelta(milliseconds=1) for k in ("start", "end")]
                value = row["value"]
                found.append((row["key"], span, of_json(value) if isinstance(value, str) else plain(value)))
        wanted = [(w["key"], w["window"], typed(w["value"])) for w in operator["windows"]]
        assert sorted(found, key=repr) == sorted(wanted, key=repr), operator["uid"]


def test_sessions() -> None:
    """Which window a session is kept under needs no type: PyFlink's windows are known."""
    state = next(s for s in opened(WINDOWS).states if s.name == "python-state-merging-window-set")
    for pairs in state.to_table()["value"].to_pylist():
        for session, kept in pairs:
            assert session["start"] <= kept["start"] <= kept["end"] <= session["end"]


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
    bare = stateextract.open_snapshot(path(case)).operator(uid).state(prefix + name).to_table()
    assert bare["value"].to_pylist() == found_state(case, uid, name).to_table()["value"].to_pylist()
    assert all(isinstance(of_json(text), dict) for text in bare["value"].to_pylist())
