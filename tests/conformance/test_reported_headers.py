"""Reported snapshots whose heads were not read rightly (``shared/reports``): each README says what is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.api.counting import count_rows
from tests.conformance.conftest import flink_cases

OPERATOR = "450a0803d49491061345559201191867"
"""The id of the uid ``both``."""


def reported(name: str) -> str:
    """A folder of ``shared/reports``."""
    folder: Path = flink_cases().parent / "reports" / name
    if not folder.is_dir():
        pytest.skip("the reported snapshots are not there")
    return str(folder)


def rows(state: stateextract.State, *columns: str) -> list[tuple[Any, ...]]:
    table = state.to_table()
    return sorted(zip(*(table[column].to_pylist() for column in columns), strict=True))


def raw(state: stateextract.State, *columns: str) -> list[tuple[Any, ...]]:
    table = state.raw_batches().read_all()
    return sorted(zip(*(table[column].to_pylist() for column in columns), strict=True))


def _string(text: str) -> bytes:
    return len(text).to_bytes(4, "big") + text.encode()


def test_raw_map_of_unknown_value() -> None:
    snapshot = stateextract.open_snapshot(reported("raw-map-of-unknown-value/canonical"), on_undecodable="raw")
    both = snapshot.operator(OPERATOR)
    assert rows(both.state("count"), "key", "value") == [("k0", 9), ("k1", 12), ("k2", 15)]
    assert rows(both.state("offsets"), "value") == [(42,)]
    assert raw(both.state("ylib"), "key", "bytes") == [(f"k{i}", _string(f"v{i + 6}")) for i in range(3)]
    # Each entry has its flag: the value is not null.
    assert raw(both.state("zmap"), "key", "map_key", "bytes") == [
        (f"k{i % 3}", f"m{i}", b"\0" + _string(f"w{i}")) for i in (0, 3, 6, 1, 4, 7, 2, 5, 8)
    ]
    assert str(both.state("zmap").schema.field("value").type) == "map<string, binary>"


def test_operator_list_of_an_unknown_serializer() -> None:
    snapshot = stateextract.open_snapshot(reported("operator-list-unknown-serializer/canonical"), on_undecodable="raw")
    both = snapshot.operator(OPERATOR)
    assert both.problems == []
    assert rows(both.state("count"), "key", "value") == [("k0", 9), ("k1", 12), ("k2", 15)]
    assert rows(both.state("offsets"), "value", "index") == [(42, 0)]
    buffer = both.state("buffer")
    assert (buffer.kind, raw(buffer, "bytes")) == ("list (split)", [(_string("a"),), (_string("b"),)])


_NOTE = (
    "Flink 1.18.0 wrote this compressed operator state, which contains an empty state (FLINK-34063). "
    "stateextract reads all of it."
)


def test_compressed_empty_operator_list_that_flink_restores() -> None:
    snapshot = stateextract.open_snapshot(reported("compressed-empty-operator-list/one"))
    operator = snapshot.operator("2e10a607b4c70e691d47ead33ce714c9")
    found = {s.name: (s.kind, s.coverage.status, s.to_table().num_rows) for s in operator.states}
    assert found == {"list-0": ("list (split)", "decoded", 0), "bc-0": ("broadcast", "decoded", 0)}
    assert operator.notes == [_NOTE]


def test_compressed_empty_operator_list_that_flink_does_not_restore() -> None:
    snapshot = stateextract.open_snapshot(reported("compressed-empty-operator-list/three"))
    operator = snapshot.operator("2e10a607b4c70e691d47ead33ce714c9")
    assert {s.name for s in operator.states} == {"list-0", "union-1", "list-2", "bc-0", "bc-1", "bc-2"}
    assert (rows(operator.state("list-0"), "value"), rows(operator.state("bc-0"), "key", "value")) == ([], [])
    for name, prefix in (("union-1", "s1"), ("list-2", "s2")):
        assert rows(operator.state(name), "index", "value") == [(i, f"{prefix}-sub0-item{i}") for i in range(5)]
    for s in (1, 2):
        assert rows(operator.state(f"bc-{s}"), "key", "value") == [(f"k{s}-{i}", 1000 * i + s) for i in range(5)]
    assert operator.notes == [_NOTE + " Flink itself cannot restore this file."]
    counted = dict(zip((s.name for s in operator.states), count_rows(operator.states), strict=True))
    assert counted == {"bc-0": 0, "bc-1": 5, "bc-2": 5, "list-0": 0, "list-2": 5, "union-1": 5}


def test_compressed_empty_operator_list_beside_keyed_state() -> None:
    snapshot = stateextract.open_snapshot(reported("compressed-empty-operator-list/beside-keyed"))
    (empty, full, keyed) = (
        next(o for o in snapshot.operators if o.id.startswith(start)) for start in ("f72d", "da1e", "e7be")
    )
    assert {s.name: s.to_table().num_rows for s in empty.states} == {"list-0": 0, "bc-0": 0}
    for s, name in enumerate(("list-0", "union-1")):
        assert rows(full.state(name), "index", "value") == [(i, f"s{s}-sub0-item{i}") for i in range(5)]
    for s in (0, 1):
        assert rows(full.state(f"bc-{s}"), "key", "value") == [(f"k{s}-{i}", 1000 * i + s) for i in range(5)]
    assert rows(keyed.state("v"), "key", "value") == [(i, i + 10) for i in range(10)]
    assert (full.notes, keyed.notes) == ([], [])


def _changed(name: str, **options: Any) -> stateextract.Operator:
    """The operator with the states, of the checkpoint whose log has two serializers."""
    folder = reported("changelog-schema-changed") + "/flink/state"
    (path,) = Path(folder, f"{name}2-hashmap", "checkpoints").glob("*/chk-4")
    snapshot = stateextract.open_snapshot(str(path), path_map={"/flink/state": folder}, **options)
    return next(o for o in snapshot.operators if {s.name for s in o.states} >= {"v", "m", "l"})


def _restored(name: str, **options: Any) -> stateextract.Operator:
    snapshot = stateextract.open_snapshot(reported(f"changelog-schema-changed/restored-by-flink/{name}"), **options)
    return next(o for o in snapshot.operators if {s.name for s in o.states} >= {"v", "m", "l"})


def _plain(value: Any) -> Any:
    """A value without when it was accessed last, and maps by key.

    A field that a value's serializer did not have is null here. Flink makes an object, whose ``added`` is 0 then.
    """
    if isinstance(value, dict) and "a" in value:
        return value["a"], value["b"], value["added"] or 0, value["addedText"]
    if isinstance(value, dict):
        return _plain(value["value"]) if set(value) == {"last_access", "value"} else {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        items = [_plain(item) for item in value]
        return sorted(items) if items and isinstance(items[0], tuple) and len(items[0]) == 2 else items
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
@pytest.mark.parametrize(("name", "truth"), [("clevo", "evolution"), ("clttl", "ttl")])
def test_changelog_schema_changed(name: str, truth: str, engine: Any, flatten: bool) -> None:
    found, expected = (of(n, decoder=engine, flatten=flatten) for of, n in ((_changed, name), (_restored, truth)))
    for state in ("v", "m", "l"):
        mine, theirs = (
            sorted(
                (tuple(repr(_plain(row.get(c))) for c in ("key", "map_key", "list_index", "value")))
                for row in operator.state(state).to_table().to_pylist()
            )
            for operator in (found, expected)
        )
        assert mine == theirs, state
        assert len({row[0] for row in mine}) == {"clevo": 50, "clttl": 10}[name]
        assert found.state(state).coverage.status == "decoded"


def test_changelog_schema_changed_key_4() -> None:
    operator = _changed("clevo")
    rows_of = {s: {r["key"]: r["value"] for r in operator.state(s).to_table().to_pylist()} for s in ("v", "m", "l")}
    assert _plain(rows_of["v"][4]) == (1004, "two1004", 7028, "new1004")
    assert _plain(rows_of["l"][4]) == [(4, "one4", 0, None), (54, "one54", 0, None), (1004, "two1004", 7028, "new1004")]
    assert [element["gone"] is None for element in rows_of["l"][4]] == [False, False, True]
    assert sorted(key for key, _ in rows_of["m"][4]) == ["a0", "a1", "a2", "b"]


def test_beam() -> None:
    """Names and kinds of all states, and the values that the checkpoint's README tells."""
    snapshot = stateextract.open_snapshot(reported("beam-flink-runner/chk-13"))
    stateful = next(o for o in snapshot.operators if o.id == "f9ab0d6cd105c390d5c39c40bb890dff")
    assert {state.name: state.kind for state in stateful.states} == {
        "_timer_state/event_beam-timer": "timer", "_timer_state/processing_beam-timer": "timer", "ev": "value",
        "names": "list", "pending-timers": "map", "per": "map", "pushed-back-elements": "list", "sortBuffer": "list",
        "sortBufferMinStamp": "value", "total": "value", "watermark-holds": "map", "bundle-buffer-tag": "list (split)",
    }  # fmt: skip
    users = [f"user-{i}" for i in range(5)]
    assert rows(stateful.state("total"), "key", "value") == [(user, 3900 + 40 * i) for i, user in enumerate(users)]
    assert rows(stateful.state("names"), "key", "value") == [
        (user, [f"n{n}" for n in range(i, 40, 5)]) for i, user in enumerate(users)
    ]
    assert [json.loads(value["json"]) for _, value in rows(stateful.state("ev"), "key", "value")] == [
        {"user": user, "amount": 3900 + 40 * i} for i, user in enumerate(users)
    ]
    assert {s.coverage.status for o in snapshot.operators for s in o.states} == {"decoded"}
    others = {(s.name, s.kind) for o in snapshot.operators if o is not stateful for s in o.states}
    assert others == {
        ("bundle-buffer-tag", "list (split)"), ("pushed-back-elements", "list (split)"), ("impulse-emitted", "list (split)"),
    }  # fmt: skip
    assert [o.problems for o in snapshot.operators if o.problems] == []


def test_flinkx_scala_api() -> None:
    """Case classes and sealed traits of flink-scala-api, as the README of the savepoint tells them."""
    snapshot = stateextract.open_snapshot(reported("flinkx-scala-api/savepoint"))
    orders, events = (snapshot.operator(uid) for uid in ("order", "event"))
    for operator in (orders, events):
        assert rows(operator.state("zcount"), "key", "value") == [(f"k{i}", i) for i in range(6)]
        assert operator.state("it").coverage.status == "decoded"
    assert rows(orders.state("it"), "key", "value") == [
        (
            f"k{i}",
            {
                "_1": f"u{i}", "_2": "12.50", "_3": "n" if i % 2 else None, "_4": [("tea", 2)], "_5": [1, 2],
                "_6": {"left": "l", "right": None} if i % 2 else {"left": None, "right": 3},
            },
        )
        for i in range(6)
    ]  # fmt: skip
    nothing = {"Click": None, "Logout": None, "Purchase": None}
    made = (
        lambda i: {"Click": {"_1": f"c{i}", "_2": i}},
        lambda i: {"Purchase": {"_1": 1.5 * i, "_2": ["a", "b"]}},
        lambda i: {"Logout": True},
    )
    assert rows(events.state("it"), "key", "value") == [(f"k{i}", nothing | made[i % 3](i)) for i in range(6)]
