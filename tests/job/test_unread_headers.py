"""A file whose head cannot be read hides only the states in it: managed keyed, raw keyed and operator state are apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.errors import FormatError, StateExtractError
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.model import InlineHandle, KeyGroupsHandle, OperatorStateHandle, SubtaskState
from stateextract.options import JobOptions
from tests.state.keyed_writer import LONG, Entry, Keyed, State, heap, i64, write
from tests.state.operator_writer import Lists, simple, string, timers, utf

KEYED, LISTS, TIMERS = ("count",), ("offsets", "all", "rules"), ("_timer_state/event_t", "_timer_state/processing_t")
KINDS = {
    "count": "value", "offsets": "list (split)", "all": "list (union)", "rules": "broadcast", **dict.fromkeys(TIMERS, "timer"),
}  # fmt: skip


def snapshot(folder: Path, damage: str, subtasks: tuple[int, ...] = (0, 1)) -> Path:
    """Two subtasks with all three kinds of files; ``damage``: of which one the head is no head."""
    tasks = []
    for index in (0, 1):
        groups = range(2 * index, 2 * index + 2)
        keyed = heap(Keyed([State("count", [Entry(groups[0], i64(index), i64(10 + index))])], groups=groups))
        data, states = Lists(
            {("offsets", "SPLIT_DISTRIBUTE", simple("Long")): [i64(42)], ("all", "UNION", simple("Long")): [i64(1)]},
            {("rules", simple("String"), simple("Long")): [(string("a"), i64(1))]},
        ).write()
        queues = {"t": ([(i64(index), b"\0", 5)], [])}
        void = utf("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot")
        raw = timers(queues, LONG, void + b"\0\0\0\3")
        operator = OperatorStateHandle(4, tuple(states), InlineHandle("list", data))
        raw_keyed = KeyGroupsHandle(3, groups.start, (0, -1), InlineHandle("raw", raw))
        if index in subtasks:
            if damage == "keyed":
                keyed = replace(keyed, stream=InlineHandle("heap", b"\xff" + keyed.stream.data[1:]))
            elif damage == "operator":
                operator = replace(operator, stream=InlineHandle("list", b"\xff" + data[1:]))
            elif damage == "raw":
                raw_keyed = replace(raw_keyed, stream=InlineHandle("raw", raw[:8] + b"\x7f" * 60))
        tasks.append(SubtaskState(index, operator, None, keyed, raw_keyed))
    return write(folder, tasks)


def names_in(damage: str) -> tuple[str, ...]:
    return {"keyed": KEYED, "operator": LISTS, "raw": TIMERS}[damage]


EXPECTED: dict[str, Any] = {
    "count": [10, 11], "offsets": [42, 42], "all": [1, 1], "rules": [1],
    TIMERS[0]: [5, 5], TIMERS[1]: [],
}  # fmt: skip


def values(state: stateextract.State) -> list[Any]:
    return sorted(state.to_table()["timestamp_ms" if state.kind == "timer" else "value"].to_pylist())


@pytest.mark.parametrize("damage", ["keyed", "operator", "raw"])
def test_the_other_files_are_read(damage: str, tmp_path: Path) -> None:
    operator = stateextract.open_snapshot(str(snapshot(tmp_path, damage))).operator("op")
    states = {state.name: state for state in operator.states}
    # Only operator state has its names in _metadata.
    assert set(states) == set(KINDS) if damage == "operator" else {*KINDS, ""} - set(names_in(damage))
    assert {name: state.kind for name, state in states.items()} == {name: KINDS.get(name, damage) for name in states}
    for name, state in states.items():
        if name in ("", *names_in(damage)):
            assert state.coverage.status == "unreadable"
            why = f"is not the version of the header of {damage} state"
            why = "an invalid number of timer services" if damage == "raw" else why
            assert why in str(state.coverage.reason)
            with pytest.raises(FormatError, match=why):
                state.to_table()
            with pytest.raises(FormatError, match=why):
                state.schema  # noqa: B018
        else:
            assert (state.coverage.status, values(state)) == ("decoded", EXPECTED[name])
    assert len(operator.problems) == 2
    assert operator.unnamed == []


@pytest.mark.parametrize("damage", ["keyed", "operator", "raw"])
def test_a_job_reads_what_is_asked_for_by_name(damage: str, tmp_path: Path) -> None:
    path = str(snapshot(tmp_path / "chk-1", damage))
    whole = next(name for name in ("count", "offsets") if name not in names_in(damage))
    outcome = run_job(JobOptions(snapshot=path, output=str(tmp_path / "out"), state=(whole,)), in_this_process)
    assert {e.state: e.read.rows for e in outcome.coverage.entries if e.status == "decoded"} == {whole: 2}
    for name in names_in(damage)[:1] if damage == "operator" else ():
        with pytest.raises(StateExtractError, match="is not the version of the header"):
            run_job(JobOptions(snapshot=path, output=str(tmp_path / "no"), state=(whole, name)), in_this_process)
    # A name that no file is known to contain may be in a file whose states are not known.
    why = "timer services" if damage == "raw" else "is not the version of the header"
    with pytest.raises(StateExtractError, match=why):
        run_job(JobOptions(snapshot=path, output=str(tmp_path / "no"), state=("elsewhere",)), in_this_process)


def test_only_the_lists_in_the_unreadable_file_are_hidden(tmp_path: Path) -> None:
    """Subtask 1 has another list than subtask 0, and its file is sound."""
    names = ("first", "second")
    tasks = []
    for index, name in enumerate(names):
        data, states = Lists({(name, "SPLIT_DISTRIBUTE", simple("Long")): [i64(index)]}).write()
        stream = InlineHandle("list", data if index else b"\xff" + data[1:])
        tasks.append(SubtaskState(index, OperatorStateHandle(4, tuple(states), stream)))
    operator = stateextract.open_snapshot(str(write(tmp_path, tasks))).operator("op")
    found = {state.name: (state.kind, state.coverage.status) for state in operator.states}
    assert found == {"first": ("list (split)", "unreadable"), "second": ("list (split)", "decoded")}
    assert values(operator.state("second")) == [1]


def test_one_subtask_of_two(tmp_path: Path) -> None:
    """Rows of keyed state may be in the file that cannot be read, so none of that kind is whole; the lists are."""
    operator = stateextract.open_snapshot(str(snapshot(tmp_path, "keyed", (0,)))).operator("op")
    assert {state.name: state.coverage.status for state in operator.states} == {
        **dict.fromkeys(KINDS, "decoded"), "count": "unreadable",
    }  # fmt: skip
    assert "is not the version of the header" in str(operator.state("count").coverage.reason)


@pytest.mark.parametrize("damage", ["keyed", "operator", "raw"])
def test_validation_names_the_states(damage: str, tmp_path: Path) -> None:
    snapshot_ = stateextract.open_snapshot(str(snapshot(tmp_path, damage)))
    found = {(f.state, f.kind): f.status for f in snapshot_.validate()}
    sound = {(name, kind): "sound" for name, kind in KINDS.items() if name not in names_in(damage)}
    unread = [(name, KINDS[name]) for name in LISTS] if damage == "operator" else [(None, damage)]
    assert found == {**sound, **dict.fromkeys(unread, "unreadable")}
