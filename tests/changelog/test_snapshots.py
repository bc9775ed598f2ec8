"""Whole snapshots of changelogs: rescaled, in jobs, with what cannot be decoded, with little memory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

import stateextract
from stateextract.changelog import pair_writer as emit
from stateextract.changelog import replay
from stateextract.errors import FormatError, MissingFileError, StateExtractError, UndecodableError, UnsupportedError
from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.metadata.model import KeyedStateHandle, KeyGroupsHandle, SubtaskState
from stateextract.options import JobOptions
from tests.changelog.test_replay import BASES, ENGINES, check, random_job, rows, tables
from tests.changelog.writer import (
    ADD,
    ADD_ELEMENT,
    ADD_OR_UPDATE,
    CLEAR,
    MERGE_NS,
    REMOVE,
    SET,
    SET_INTERNAL,
    VOID,
    Job,
    Record,
    change,
    cut,
    declare,
    handle,
    in_files,
    in_memory,
)
from tests.state.keyed_writer import FORMS, LONG, STRING, Entry, Keyed, State, heap, i32, i64, write
from tests.writers.flink_writer import composite, flink_string, list_of, map_of, pojo, versioned

UNKNOWN = versioned("com.example.ShapeSerializerSnapshot", 1)
ODD = versioned("com.example.ShapeSerializerSnapshot", 1, b"\x00\x00\x01\x02\xac\xed bytes that only the class knows")
TTL = "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot"
TTL_LONG = composite(TTL, 2, [LONG, LONG])
VALUE = State("s", kind="VALUE", value=LONG)


def opened(folder: Path, managed: KeyedStateHandle, **options: Any) -> stateextract.Snapshot:
    path = write(folder, [SubtaskState(0, managed_keyed=managed)])
    return stateextract.open_snapshot(str(path), **{"decoder": "interpreter", **options})


def state(folder: Path, managed: KeyedStateHandle, name: str = "s", **options: Any) -> Any:
    return opened(folder, managed, **options).operator("op").state(name)


def log_of(states: list[State], *records: Record, key: bytes = LONG) -> list[Record]:
    return [*((-1, declare(s, n, key)) for n, s in enumerate(states)), *records]


def over(base: Keyed | None, records: list[Record], form: str = "heap") -> KeyedStateHandle:
    """A changelog. Where nothing was materialized, a queue of timers tells the key's type."""
    if base is None:
        records = [(-1, declare(State("timers", kind="TIMER"), 99)), *records]
    parts = [] if base is None else [FORMS[form](base)]
    return handle(range(4), parts, [in_memory(records, range(4))])


# ---- rescaled


def clipped(part: KeyGroupsHandle, groups: range) -> KeyGroupsHandle:
    """As Flink cuts a handle: fewer offsets, the same file."""
    begin = groups.start - part.first
    return replace(part, first=groups.start, offsets=part.offsets[begin : begin + len(groups)])


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_rescaled(base: str, engine: str, tmp_path: Path) -> None:
    """Two subtasks of four key groups each became three of 3, 3 and 2, which then did more."""
    old = (range(4), range(4, 8))
    new = (range(3), range(3, 6), range(6, 8))
    parts: list[KeyedStateHandle | None] = []
    logs: list[KeyedStateHandle] = []
    expected_rows: dict[str, list[Any]] = {}
    jobs = []
    for number, groups in enumerate(old):
        job, materialized = random_job((base, number), base, True)
        job.groups = groups
        # The jobs of this file's neighbour have key groups 0 to 3.
        shift = groups.start
        for model in job.states.values():
            model.rows = {(g + shift, k, n): v for (g, k, n), v in model.rows.items()}
            model.timers = {(g + shift, *rest) for g, *rest in model.timers}  # type: ignore[misc]
        job.log = [(g if g < 0 else g + shift, data) for g, data in job.log]
        if materialized is not None:
            moved = [
                replace(s, entries=[replace(e, group=e.group + shift) for e in s.entries]) for s in materialized.states
            ]
            parts.append(FORMS[base](replace(materialized, states=moved, groups=groups, max_parallelism=8)))
        logs.append(
            in_memory(job.log, groups)
            if number
            else in_files(tmp_path / "old", cut(job.log, 3), groups, compressed=True)
        )
        jobs.append(job)
    subtasks = []
    for index, groups in enumerate(new):
        mine: list[KeyedStateHandle] = []
        for part, theirs in zip(parts, old, strict=False):
            common = range(max(groups.start, theirs.start), min(groups.stop, theirs.stop))
            if part is not None and len(common):
                mine.append(clipped(part, common) if isinstance(part, KeyGroupsHandle) else part)
        increments = [log for log, theirs in zip(logs, old, strict=True) if set(groups) & set(theirs)]
        later = []
        for group in groups:
            job = jobs[group // 4]
            job.log, job._ids = [], {}
            job.set("value", group, flink_string(f"late {group}"), flink_string("added"))
            later += job.log
        increments.append(in_files(tmp_path / f"new-{index}", [later], groups))
        subtasks.append(SubtaskState(index, managed_keyed=handle(groups, mine, increments)))
    path = write(tmp_path / "found", subtasks, 8)
    snapshot = stateextract.open_snapshot(str(path), decoder=engine, subtask_column=False)  # type: ignore[arg-type]
    for job in jobs:
        keyed = replace(job.keyed(), max_parallelism=8)
        for name, table in tables(tmp_path / f"{job.groups.start}", heap(keyed), 8, decoder=engine).items():
            expected_rows.setdefault(name, []).extend(rows(table.drop_columns("subtask")))
    for found in snapshot.states:
        table = found.to_table()
        assert rows(table) == sorted(expected_rows.pop(found.name), key=repr), found.name
        assert set(table["key_group"].to_pylist()) <= set(range(8))
    assert [name for name, left in expected_rows.items() if left] == []


def test_materialized_parts_are_clipped_without_changes_too(tmp_path: Path) -> None:
    entries = [Entry(g, i64(g), i64(g)) for g in range(4)]
    part = FORMS["RocksDB"](Keyed([replace(VALUE, entries=entries)]))
    managed = [SubtaskState(i, managed_keyed=handle(range(2 * i, 2 * i + 2), [part], [])) for i in range(2)]
    opened = stateextract.open_snapshot(str(write(tmp_path, managed)), decoder="interpreter")
    table = opened.operator("op").state(VALUE.name).to_table()
    assert list(zip(table["key"].to_pylist(), table["subtask"].to_pylist(), strict=True)) == [(0, 0), (1, 0), (2, 1), (3, 1)]


def test_key_groups_without_a_materialized_part(tmp_path: Path) -> None:
    """Only key group 1 was materialized; the log has all of them."""
    base = Keyed([replace(VALUE, entries=[Entry(1, i64(1), i64(1)), Entry(1, i64(5), i64(5))])], groups=range(1, 2))
    records = log_of([VALUE], *((g, change(SET, 0, i64(g), VOID, i64(10 * g))) for g in range(4)))
    found = state(tmp_path, over(base, records)).to_table()
    assert sorted(zip(*(found[c].to_pylist() for c in ("key", "value", "key_group")), strict=True)) == [
        (0, 0, 0), (1, 10, 1), (2, 20, 2), (3, 30, 3), (5, 5, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("changes", [True, False])
def test_two_parts_with_one_key_group_are_refused(changes: bool, tmp_path: Path) -> None:
    part = heap(Keyed([VALUE], groups=range(2)))
    managed = handle(range(4), [part, part], [in_memory(log_of([VALUE]), range(4))] if changes else [])
    (problem,) = opened(tmp_path, managed).operator("op").problems
    assert problem.message == "two materialized parts of a changelog have the same key group"


# ---- kinds of values


@pytest.mark.parametrize("base", BASES)
def test_time_to_live(base: str, tmp_path: Path) -> None:
    """Values, elements and map values carry their time; nothing is filtered."""
    value = State("value", kind="VALUE", value=TTL_LONG)
    elements = State("list", kind="LIST", value=list_of(TTL_LONG))
    entries = State("map", kind="MAP", value=map_of(LONG, TTL_LONG))
    job = Job([value, elements, entries, State("timers", kind="TIMER")])
    job.set("value", 1, i64(1), i64(1000, 1))
    job.add("list", 1, i64(1), i64(1000, 1))
    job.put("map", 1, i64(1), i64(5), i64(1000, 1))
    materialized = job.materialize()
    if base == "nothing":
        job = Job([value, elements, entries, State("timers", kind="TIMER")])
    job.register("timers", 1, 1, i64(1))
    job.set("value", 2, i64(2), i64(2000, 2))
    job.add("list", 1, i64(1), i64(3000, 3))
    job.put_all("map", 1, i64(1), {i64(6): i64(4000, 4), i64(7): None})
    with_ttl = b"\x01\xac\xed\x00\x05java\x00"
    job.log = [(g, d[:-5] + with_ttl + d[-3:] if g < 0 and b"timers" not in d else d) for g, d in job.log]
    parts = [] if base == "nothing" else [FORMS[base](materialized)]
    found = tables(tmp_path / "found", handle(range(4), parts, [in_memory(job.log, range(4))]), 4, decoder="interpreter")
    check(found, tables(tmp_path / "expected", heap(job.keyed()), 4, decoder="interpreter"))
    assert found["value"].column_names == ["key", "value", "last_access", "key_group", "subtask"]


@pytest.mark.parametrize("base", ["heap", "canonical", "RocksDB"])
def test_keys_whose_map_is_empty(base: str, tmp_path: Path) -> None:
    """A heap checkpoint has such rows, others have not; so it is with changelogs over them."""
    maps = State("s", kind="MAP", value=map_of(LONG, LONG))
    put_nothing = change(ADD, 0, i64(1), VOID, i32(0))
    put = change(ADD_OR_UPDATE, 0, i64(2), VOID, i64(1), i64(1))
    managed = over(Keyed([maps]), log_of([maps], (1, put_nothing), (1, put)), base)
    usual = state(tmp_path / "usual", managed)
    assert usual.to_table()["key"].to_pylist() == [2]
    assert usual.coverage.counters.empty_maps == (base == "heap")
    kept = state(tmp_path / "kept", managed, keep_empty_maps=True).to_table()
    assert sorted(kept["key"].to_pylist()) == ([1, 2] if base == "heap" else [2])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_serializer_that_changed(engine: str, tmp_path: Path) -> None:
    """A POJO won a field between what was materialized and the log, and another in the middle of the log."""
    versions = [pojo("com.example.P", dict.fromkeys(names, LONG)) for names in ("a", "ab", "abc")]
    states = [State("s", kind="VALUE", value=v) for v in versions]
    field = [b"\x00" + i64(n) for n in range(10)]
    base = Keyed([replace(states[0], entries=[Entry(0, i64(k), b"\x02" + field[k]) for k in (1, 2, 3)])])
    records: list[Record] = [
        (-1, declare(states[1], 0)), (0, change(SET, 0, i64(2), VOID, b"\x02" + field[4] + field[5])),
        (0, change(SET, 0, i64(4), VOID, b"\x02" + field[4] + field[4])),
        (-1, declare(states[2], 0)), (0, change(SET, 0, i64(3), VOID, b"\x02" + field[6] + field[7] + field[8])),
    ]  # fmt: skip
    found = state(tmp_path, over(base, records), decoder=engine)
    table = found.to_table()
    assert table.schema == found.schema
    assert sorted((r["key"], *r["value"].values()) for r in table.to_pylist()) == [
        (1, 1, None, None), (2, 4, 5, None), (3, 6, 7, 8), (4, 4, 4, None),
    ]  # fmt: skip


def test_elements_of_two_types_in_one_value_are_refused(tmp_path: Path) -> None:
    longs, strings = (State("s", kind="LIST", value=list_of(s)) for s in (LONG, STRING))
    base = Keyed([replace(longs, entries=[Entry(0, i64(1), [i64(1)])])])
    add = (0, change(ADD_ELEMENT, 0, i64(1), VOID, flink_string("x")))
    found = opened(tmp_path / "list", over(base, log_of([strings], add)))
    with pytest.raises(UnsupportedError, match=r"the column 'value.item' is int64 .* and string") as caught:
        found.operator("op").state("s").raw_batches().read_all()
    assert (caught.value.state, caught.value.key_group, caught.value.operator) == ("s", 0, "op")
    # It is no damage.
    assert [(f.state, f.status) for f in found.validate()] == [("s", "not checked")]


OLD_POJO = pojo("com.example.P", {"a": LONG, "gone": LONG})
NEW_POJO = pojo("com.example.P", {"a": LONG, "added": STRING})
"""As a restore with another class makes of it."""


def old_value(a: int, gone: int) -> bytes:
    return b"\x02\x00" + i64(a) + b"\x00" + i64(gone)


def new_value(a: int, added: str) -> bytes:
    return b"\x02\x00" + i64(a) + b"\x00" + flink_string(added)


def shown(value: Any) -> Any:
    """A POJO of either as its fields that are not null."""
    if isinstance(value, dict):
        return {k: v for k, v in value.items() if v is not None}
    return sorted((k, shown(v)) for k, v in value) if value and isinstance(value[0], tuple) else [shown(v) for v in value]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("base", [None, *FORMS])
def test_lists_and_maps_of_a_serializer_that_changed(base: str | None, engine: str, tmp_path: Path) -> None:
    """Their older parts are in what was materialized, in the log, or in both."""
    lists, maps = ([State("l", kind="LIST", value=list_of(p)), State("m", kind="MAP", value=map_of(STRING, p))]
                   for p in (OLD_POJO, NEW_POJO))  # fmt: skip
    x, y, z, w = (flink_string(t) for t in "xyzw")
    (l_old, m_old), (l_new, m_new) = lists, maps
    before = None
    if base is not None:
        before = Keyed([
            replace(l_old, entries=[Entry(0, i64(k), [old_value(k, 1)]) for k in (1, 2, 3, 9)]),
            replace(m_old, entries=[Entry(0, i64(k), [(x, old_value(k, 1)), (y, None)]) for k in (1, 2, 3, 9)]),
        ])  # fmt: skip
    records = [
        (-1, declare(l_old, 0)), (-1, declare(m_old, 1)),
        (0, change(ADD_ELEMENT, 0, i64(1), VOID, old_value(1, 2))), (0, change(SET, 0, i64(4), VOID, i32(1), old_value(4, 2))),
        (0, change(ADD_OR_UPDATE, 1, i64(1), VOID, z, old_value(1, 2))),
        (0, change(ADD_OR_UPDATE, 1, i64(4), VOID, x, old_value(4, 2))),
        (0, change(ADD_OR_UPDATE, 1, i64(4), VOID, y, old_value(4, 3))),
        (-1, declare(l_new, 0)), (-1, declare(m_new, 1)),
        (0, change(ADD_ELEMENT, 0, i64(1), VOID, new_value(1, "n"))),
        (0, change(ADD_ELEMENT, 0, i64(2), VOID, new_value(2, "n"))),
        (0, change(SET, 0, i64(3), VOID, i32(2), new_value(3, "n"), new_value(3, "o"))),
        (0, change(ADD_ELEMENT, 0, i64(4), VOID, new_value(4, "n"))),
        (0, change(ADD_OR_UPDATE, 1, i64(1), VOID, w, new_value(1, "n"))),
        (0, change(ADD_OR_UPDATE, 1, i64(2), VOID, x, new_value(2, "n"))),
        (0, change(REMOVE, 1, i64(3), VOID, x)), (0, change(ADD_OR_UPDATE, 1, i64(3), VOID, z, new_value(3, "n"))),
        (0, change(ADD_OR_UPDATE, 1, i64(4), VOID, z, new_value(4, "n"))), (0, change(REMOVE, 1, i64(4), VOID, x)),
        (0, change(CLEAR, 1, i64(5), VOID)), (0, change(ADD_OR_UPDATE, 1, i64(5), VOID, x, new_value(5, "n"))),
    ]  # fmt: skip
    managed = over(before, records, base or "")
    there = base is not None
    expected_lists = {
        1: [*[{"a": 1, "gone": 1}] * there, {"a": 1, "gone": 2}, {"a": 1, "added": "n"}],
        2: [*[{"a": 2, "gone": 1}] * there, {"a": 2, "added": "n"}],
        3: [{"a": 3, "added": "n"}, {"a": 3, "added": "o"}],
        4: [{"a": 4, "gone": 2}, {"a": 4, "added": "n"}],
        **({9: [{"a": 9, "gone": 1}]} if there else {}),
    }
    kept: dict[str, Any] = {"y": {}} if there else {}
    expected_maps: dict[int, dict[str, Any]] = {
        1: {**({"x": {"a": 1, "gone": 1}} if there else {}), **kept, "z": {"a": 1, "gone": 2}, "w": {"a": 1, "added": "n"}},
        2: {"x": {"a": 2, "added": "n"}, **kept},
        3: {**kept, "z": {"a": 3, "added": "n"}},
        4: {"y": {"a": 4, "gone": 3}, "z": {"a": 4, "added": "n"}},
        5: {"x": {"a": 5, "added": "n"}},
        **({9: {"x": {"a": 9, "gone": 1}, **kept}} if there else {}),
    }
    snapshot = opened(tmp_path / "nested", managed, decoder=engine)
    found = {name: snapshot.operator("op").state(name) for name in "lm"}
    values = {n: {r["key"]: r["value"] for r in s.to_table().to_pylist()} for n, s in found.items()}
    assert {k: shown(v) for k, v in values["l"].items()} == expected_lists
    assert {k: {e: shown(v or {}) for e, v in m} for k, m in values["m"].items()} == expected_maps
    tallies = [s.coverage.counters for s in found.values()]
    assert [(t.rows, t.lost_entries) for t in tallies] == [(len(expected_lists), 0), (len(expected_maps), 0)]
    flat = opened(tmp_path / "flat", managed, decoder=engine, flatten=True).operator("op")
    elements = sorted((r["key"], r["list_index"], repr(shown(r["value"]))) for r in flat.state("l").to_table().to_pylist())
    assert elements == [(k, i, repr(e)) for k, row in sorted(expected_lists.items()) for i, e in enumerate(row)]
    entries = sorted((r["key"], r["map_key"], repr(shown(r["value"] or {}))) for r in flat.state("m").to_table().to_pylist())
    assert entries == sorted((k, e, repr(v)) for k, row in expected_maps.items() for e, v in row.items())
    assert [f.status for f in snapshot.validate() if f.state in ("l", "m")] == ["sound", "sound"]


def test_user_keys_whose_serializer_changed(tmp_path: Path) -> None:
    """Then nobody can tell which entries are replaced. It is known before, it is no damage, and no other state is lost."""
    old, new = (State("s", kind="MAP", value=map_of(key, LONG)) for key in (OLD_POJO, NEW_POJO))
    other = replace(VALUE, name="other", entries=[Entry(0, i64(1), i64(7))])
    base = Keyed([replace(old, entries=[Entry(0, i64(1), [(old_value(1, 1), i64(1))])]), other])
    managed = over(base, log_of([new], (0, change(ADD_OR_UPDATE, 0, i64(1), VOID, new_value(1, "x"), i64(1)))))
    found = opened(tmp_path / "s", managed)
    why = "the serializer of the map's keys changed, so entries before and after cannot be compared"
    states = {s.name: (str(s.coverage.status), s.coverage.reason) for s in found.states}
    assert states == {"other": ("decoded", None), "s": ("uncertain", why)}
    with pytest.raises(UnsupportedError, match="serializer of the map's keys changed") as caught:
        found.operator("op").state("s").to_table()
    assert (caught.value.state, caught.value.operator) == ("s", "op")
    assert {f.state: str(f.status) for f in found.validate()} == {"s": "not checked", "other": "sound"}
    options = JobOptions(snapshot=str(tmp_path / "s"), output=str(tmp_path / "out"))
    outcome = run_job(options, in_this_process)
    assert outcome.exit_code == 3
    other_read, s_read = sorted(outcome.coverage.entries, key=lambda entry: str(entry.state))
    assert (other_read.status, other_read.reason, other_read.read.rows) == ("decoded", None, 1)
    assert (s_read.status, s_read.read.rows) == ("unsupported", 0)
    assert str(s_read.reason).startswith(why)


@pytest.mark.parametrize("policy", ["skip", "raw"])
def test_a_part_of_another_serializer_that_cannot_be_decoded(policy: Any, tmp_path: Path) -> None:
    """The row is lost, and no other."""
    old, new = (State("s", kind="LIST", value=list_of(p)) for p in (OLD_POJO, NEW_POJO))
    base = Keyed([replace(old, entries=[Entry(0, i64(k), [old_value(k, 1)]) for k in range(7)])])
    unknown = b"\x04\x00\x0dcom.example.Q\x00"
    added = [(0, change(ADD_ELEMENT, 0, i64(k), VOID, unknown if k == 3 else new_value(k, "n"))) for k in range(7)]
    found = state(tmp_path, over(base, log_of([new], *added)), on_undecodable=policy)
    table = found.to_table()
    assert sorted(table["key"].to_pylist()) == [0, 1, 2, 4, 5, 6]
    assert {len(value) for value in table["value"].to_pylist()} == {2}
    counters = found.coverage.counters
    assert (counters.rows, counters.lost_entries, counters.raw_rows) == (6, 1, int(policy == "raw"))
    if policy == "raw":
        raw = found.raw_batches().read_all().to_pylist()
        assert [(row["key"], row["bytes"]) for row in raw] == [(3, i32(1) + unknown)]


# ---- what cannot be decoded


def test_values_without_a_serializer(tmp_path: Path) -> None:
    """Each has its length in the log, so the bytes can be told and nothing else is lost."""
    shapes = State("s", kind="VALUE", value=UNKNOWN)
    records = log_of(
        [shapes, replace(VALUE, name="other")],
        (1, change(SET, 0, i64(1), VOID, b"a circle")),
        (2, change(SET, 0, i64(2), VOID, b"a square")),
        (2, change(SET, 0, i64(2), VOID, b"a line")),
        (1, change(SET, 1, i64(3), VOID, i64(4))),
    )
    managed = over(None, records)
    with pytest.raises(UndecodableError, match=r"values of com\.example\.Shape|cannot be decoded"):
        state(tmp_path / "fail", managed).to_table()
    skipped = state(tmp_path / "skip", managed, on_undecodable="skip")
    assert skipped.to_table().num_rows == 0
    assert (skipped.coverage.status, skipped.coverage.counters.lost_entries) == ("skipped", 2)
    raw = state(tmp_path / "raw", managed, on_undecodable="raw").raw_batches().read_all()
    assert sorted(zip(*(raw[c].to_pylist() for c in ("key_group", "key", "bytes")), strict=True)) == [
        (1, 1, b"a circle"),
        (2, 2, b"a line"),
    ]
    other = state(tmp_path / "other", managed, "other", on_undecodable="skip")
    assert (other.to_table()["value"].to_pylist(), other.coverage.status) == ([4], "decoded")


@pytest.mark.parametrize("base", [None, "heap", "canonical", "RocksDB"])
def test_maps_of_values_without_a_serializer(base: str | None, tmp_path: Path) -> None:
    """An unknown class inside of a map's serializer, with a payload in no usual shape, leaves it a map."""
    maps = State("s", kind="MAP", value=map_of(STRING, ODD))
    a, b = flink_string("a"), flink_string("b")
    before = None
    if base is not None:
        before = Keyed([replace(maps, entries=[Entry(2, i64(7), [(a, b"old"), (b, None)])])])
    records = log_of([maps], *((1, change(ADD_OR_UPDATE, 0, i64(k), VOID, b, f"b{k}".encode())) for k in (5, 6)))
    managed = over(before, records, base or "")
    read = state(tmp_path, managed, on_undecodable="raw")
    assert sorted(read.schema.names) == ["key", "key_group", "subtask", "value"]
    raw = read.raw_batches().read_all()
    found = sorted(zip(*(raw[c].to_pylist() for c in ("bytes", "key", "map_key")), strict=True))
    # In heap files nothing says where the value ends: the rest of the key group is one piece.
    rest = b"\0" + i64(7) + i32(2) + a + b"\0old" + b + b"\1"
    old = {None: [], "heap": [(rest, None, None)]}.get(base, [(b"\0old", 7, "a")])
    assert found == sorted([(b"\0b5", 5, "b"), (b"\0b6", 6, "b"), *old])


@pytest.mark.parametrize("base", ["heap", "canonical", "RocksDB"])
def test_keys_of_maps_without_a_serializer(base: str, tmp_path: Path) -> None:
    """Nobody can tell which entry a change is of: then no row of the state is known any more."""
    maps = State("s", kind="MAP", value=map_of(UNKNOWN, LONG))
    put = change(ADD_OR_UPDATE, 0, i64(1), VOID, b"a circle", i64(1))
    clear = change(0, 0, i64(2), VOID)
    numbers = State("numbers", [Entry(1, i64(1), i64(1))], value=LONG)
    managed = over(Keyed([numbers, maps]), log_of([maps], (1, clear), (1, put), (2, put)), base)
    with pytest.raises(UndecodableError) as caught:
        list(state(tmp_path / "fail", managed)._pieces(opened(tmp_path / "x", managed)._opened.options, _tally(), None))
    assert (caught.value.state, caught.value.key_group) == ("s", 1)
    assert caught.value.offset is not None
    skipped = state(tmp_path / "skip", managed, on_undecodable="skip")
    assert skipped.to_table().num_rows == 0
    assert skipped.coverage.counters.lost_entries == 3
    raw = state(tmp_path / "raw", managed, on_undecodable="raw").raw_batches().read_all()
    assert raw["bytes"].to_pylist() == [put, put]
    numbers_found = state(tmp_path / "numbers", managed, "numbers", on_undecodable="skip")
    assert numbers_found.to_table()["value"].to_pylist() == [1]


def _tally() -> Any:
    from stateextract.state.counters import Counters

    return Counters()


def test_a_lost_materialized_part(tmp_path: Path) -> None:
    """A subclass that nobody described stops a heap file's key group: changed rows that need what is lost are lost too."""
    value = pojo("com.example.P", {"a": LONG})
    lists = State("s", kind="LIST", value=list_of(value))
    sound, unknown = b"\x02\x00" + i64(1), b"\x04\x00\x0dcom.example.Q\x00"
    entries = [Entry(0, i64(k), [v]) for k, v in ((1, sound), (2, unknown), (3, sound))]
    entries += [Entry(1, i64(k), [sound]) for k in (4, 5)]
    add = [(g, change(ADD_ELEMENT, 0, i64(k), VOID, sound)) for g, k in ((0, 1), (0, 3), (0, 6), (1, 4))]
    update = (0, change(SET, 0, i64(7), VOID, i32(1), sound))
    managed = over(Keyed([replace(lists, entries=entries)]), log_of([lists], *add, update))
    found = state(tmp_path, managed, on_undecodable="skip")
    table = found.to_table()
    assert sorted((r["key"], len(r["value"])) for r in table.to_pylist()) == [(1, 2), (4, 2), (5, 1), (7, 1)]
    counters = found.coverage.counters
    # Of key 2 on: two that the file counts, and two changed rows of which it is not known whether they were there.
    assert (counters.lost_key_groups, counters.lost_entries) == (1, 4)
    assert "the log changes rows, and their materialized part cannot be read" in counters.problems


def test_merged_windows_whose_value_only_the_job_knows(tmp_path: Path) -> None:
    sums = State("s", kind="REDUCING", value=LONG, namespace=LONG)
    a, b, c = (i64(n) for n in (1, 2, 3))
    merge = (1, change(MERGE_NS, 0, i64(9), a, a, i32(2), b, c))
    both = Keyed([replace(sums, entries=[Entry(1, i64(9), i64(n), i64(n)) for n in (2, 3)])])
    one = Keyed([replace(sums, entries=[Entry(1, i64(9), i64(3), c)])])
    for form in ("heap", "canonical", "RocksDB"):
        alone = state(tmp_path / f"one {form}", over(one, log_of([sums], merge), form)).to_table()
        assert [list(r.values())[:3] for r in alone.to_pylist()] == [[9, 1, 3]]
        managed = over(both, log_of([sums], merge), form)
        with pytest.raises(UndecodableError, match="2 windows were merged") as caught:
            state(tmp_path / f"fail {form}", managed).to_table()
        assert (caught.value.key_group, caught.value.state) == (1, "s")
        assert caught.value.file is not None
        assert caught.value.file.endswith("_metadata")
        skipped = state(tmp_path / f"skip {form}", managed, on_undecodable="skip")
        assert (skipped.to_table().num_rows, skipped.coverage.counters.lost_entries) == (0, 1)
        then = (1, change(SET_INTERNAL, 0, i64(9), a, i64(77)))
        settled = state(tmp_path / f"then {form}", over(both, log_of([sums], merge, then), form)).to_table()
        assert [list(r.values())[:3] for r in settled.to_pylist()] == [[9, 1, 77]]


# ---- damage


def test_a_value_that_is_longer_than_its_serializer_says(tmp_path: Path) -> None:
    records = log_of(
        [VALUE], (1, change(SET, 0, i64(1), VOID, i64(1))), (2, change(SET, 0, i64(2), VOID, i64(1) + b"x"))
    )
    for engine in ENGINES:
        base = heap(Keyed([]))
        managed = handle(range(4), [base], [in_files(tmp_path / f"log {engine}", [records], range(4))])
        with pytest.raises(FormatError, match="does not end at its recorded length") as caught:
            state(tmp_path / engine, managed, decoder=engine).to_table()
        error = caught.value
        assert (error.state, error.key_group, error.operator) == ("s", 2, "op")
        assert error.file == str(tmp_path / f"log {engine}" / "log-0")
        assert error.offset is not None
        assert (tmp_path / f"log {engine}" / "log-0").read_bytes()[error.offset :].startswith(records[2][1])


def test_a_change_of_a_state_that_was_not_declared(tmp_path: Path) -> None:
    records = [*log_of([VALUE]), (1, change(SET, 5, i64(1), VOID, i64(1)))]
    with pytest.raises(FormatError, match="a change of state 5, which was not declared") as caught:
        state(tmp_path, over(None, [*records[:1], (1, change(SET, 0, i64(1), VOID, i64(1))), records[1]])).to_table()
    assert caught.value.offset == (tmp_path / "_metadata").read_bytes().index(records[1][1]) + 1


def test_a_missing_file(tmp_path: Path) -> None:
    managed = handle(range(4), [], [in_files(tmp_path / "log", [log_of([VALUE])], range(4))])
    (tmp_path / "log" / "log-0").unlink()
    (problem,) = opened(tmp_path / "chk-1", managed).operator("op").problems
    assert isinstance(problem, MissingFileError)
    assert problem.file == str(tmp_path / "log" / "log-0")


# ---- little memory


@pytest.mark.parametrize("base", BASES)
def test_key_groups_in_slices(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory does not suffice the log is read several times, and changed rows are decoded in small pieces."""
    passes = []
    load = replay.Replay._load
    monkeypatch.setattr(replay.Replay, "_load", lambda *a: passes.append(result := load(*a)) or result)
    monkeypatch.setattr(replay, "HELD", 1000)
    monkeypatch.setattr(emit, "GATHERED", 100)
    job, materialized = random_job(base, base, False)
    parts = [] if materialized is None else [FORMS[base](materialized)]
    managed = handle(job.groups, parts, [in_files(tmp_path / "log", cut(job.log, 3), job.groups)])
    found = tables(tmp_path / "found", managed, job.most, decoder="interpreter")
    check(found, tables(tmp_path / "expected", heap(job.keyed()), job.most, decoder="interpreter"))
    assert len(passes) == 4 * len(found) - 3 * (base != "nothing")
    assert {count for _, count in passes} == {1, 4} if base != "nothing" else {1}
    counted = opened(tmp_path / "again", managed).operator("op").state("map")
    counted.to_table()
    assert counted.coverage.counters.changes == sum(
        int.from_bytes(data[1:3], "big") == job._ids["map"] for group, data in job.log if group >= 0
    )
    assert counted.coverage.counters.changes > 40


# ---- jobs


def run(tmp_path: Path, path: Path, name: str, **options: Any) -> tuple[JobResult, dict[str, Any]]:
    output = tmp_path / name
    outcome = run_job(JobOptions(snapshot=str(path), output=str(output), **options), in_this_process)
    found = {}
    for dataset in outcome.manifest.datasets:
        found[dataset.state_name] = pyarrow.dataset.dataset(str(output / dataset.folder), format="parquet").to_table()
    return outcome, found


@pytest.mark.parametrize("base", BASES)
def test_a_job(base: str, tmp_path: Path) -> None:
    job, materialized = random_job(base, base, True)
    parts = [] if materialized is None else [FORMS[base](materialized)]
    managed = handle(job.groups, parts, [in_files(tmp_path / "log", cut(job.log, 3), job.groups, compressed=True)])
    path = write(tmp_path / "chk-7", [SubtaskState(0, managed_keyed=managed)])
    expected = run(tmp_path, write(tmp_path / "heap", [SubtaskState(0, managed_keyed=heap(job.keyed()))]), "expected")
    for split_bytes in (10**8, 1):
        outcome, found = run(tmp_path, path, f"out {split_bytes}", split_bytes=split_bytes)
        check(found, expected[1])
        applied = {e.state: e.read.changes for e in outcome.coverage.entries}
        assert sum(applied.values()) == sum(group >= 0 for group, _ in job.log)
        assert all(e.status == "decoded" and e.form == "changelog" for e in outcome.coverage.entries)
        document = json.loads(outcome.coverage.to_json())
        assert {e["state_name"]: e["read"]["changes"] for e in document["entries"]} == applied
        assert outcome.exit_code == 0


def test_the_report_says_how_the_key_was_found(tmp_path: Path) -> None:
    from tests.changelog.test_declared import LONGS, sets

    managed = handle(range(128), [], [in_memory(sets(LONGS), range(128))])
    path = write(tmp_path / "chk-7", [SubtaskState(0, managed_keyed=managed)], 128)
    outcome, found = run(tmp_path, path, "out")
    assert outcome.coverage.notes[1:] == [
        "op: the snapshot does not record the type of the keys: Long was found by trial and fits 20 changes of 20 keys"
    ]
    assert sorted(found["s"]["key"].to_pylist()) == list(range(20))
    outcome, _ = run(tmp_path, path, "nothing", split_bytes=1)
    assert outcome.coverage.entries[0].read.changes == 20


def test_a_job_without_the_key(tmp_path: Path) -> None:
    managed = handle(range(4), [], [in_memory(log_of([VALUE], (1, change(SET, 0, i64(1), VOID, i64(1)))), range(4))])
    path = write(tmp_path / "chk-7", [SubtaskState(0, managed_keyed=managed)])
    with pytest.raises(UnsupportedError, match="none of the common ones fits"):
        run(tmp_path, path, "out", state=("s",))
    with pytest.raises(StateExtractError, match="no selected state can be read"):
        run(tmp_path, path, "all")
