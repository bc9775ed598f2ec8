"""Chains of incremental checkpoints that Flink wrote: flushes, compactions, rows that expire, restores, another parallelism.

``tests/golden/chains`` has them with the rows of each checkpoint by the job's input. Its state ``expiring`` is the only one
whose rows the input does not say exactly: a compaction drops those that expired whenever it meets them.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import tarfile
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.diff import incremental
from stateextract.diff.diff_plan import DiffOptions
from stateextract.metadata.uid import operator_id
from tests.diff.pairs import Found, Key, changes_found, changes_of_input, found
from tests.golden.expected import DATA
from tests.golden.test_rows import actual_rows, check, expected_row

CHAINS = DATA.parent / "chains"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in CHAINS.glob("*.tar.xz"))
UID, EXPIRING = "chained", "expiring"
CHECKPOINTS = 13
RESTORED, RESCALED = 8, 10
"""The first checkpoints, counted from zero, of the job that was restored, and of the one with another parallelism."""
CONSECUTIVE = [*pairwise(range(CHECKPOINTS))]
RESCALINGS = [(9, 10), (7, 10), (5, 12)]
ALL_OF = "f23-rocksdb"
"""Of the others every second pair is compared."""
WITHOUT_COMPACTIONS = [(0, 1), (1, 2), (2, 3), (5, 6), (8, 9)]
OTHERS = [(0, 3), (3, 4), (2, 5), (0, 9), (7, 8), (7, 12), (10, 12)]
UNIT_BYTES = 100_000
NOTHING_SHARED = "the snapshots share no file"


@cache
def document(name: str) -> Any:
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress((CHAINS / f"{name}.tar.xz").read_bytes()))) as archive:
        member = archive.extractfile("expected.json")
        assert member is not None
        return json.load(member)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The chains' folders by name, unpacked."""
    made = {}
    for name in NAMES:
        made[name] = tmp_path_factory.mktemp(name)
        with tarfile.open(CHAINS / f"{name}.tar.xz") as archive:
            archive.extractall(made[name], filter="data")
    return made


def states(name: str, number: int) -> dict[Key, dict[str, Any]]:
    """What the checkpoint must hold, by state."""
    operators = document(name)["checkpoints"][number]["operators"]
    return {(operator_id(o["uid"]), "keyed", s["name"]): s for o in operators for s in o["states"]}


def path(folders: dict[str, Path], name: str, number: int) -> Path:
    return folders[name] / document(name)["checkpoints"][number]["snapshot"]


@pytest.mark.parametrize("number", [0, RESTORED - 1, RESTORED, RESCALED, CHECKPOINTS - 1])
@pytest.mark.parametrize("name", NAMES)
def test_rows(folders: dict[str, Path], name: str, number: int) -> None:
    operator = stateextract.open_snapshot(str(path(folders, name, number))).operator(UID)
    for state in states(name, number).values():
        ours = operator.state(state["name"])
        if state["name"] != EXPIRING:
            check(ours, state)
            continue
        table = ours.to_table()
        rows = {expected_row(row, table.schema, state["kind"], True) for row in state["rows"]}
        assert {*actual_rows(table, state["kind"], True)} <= rows


@pytest.mark.parametrize("name", NAMES)
def test_compactions_drop_rows_that_expired(folders: dict[str, Path], name: str) -> None:
    """Otherwise the chains would miss their point, for nothing in the job deletes them. Async state of ForSt has no filter."""
    kept = []
    for number in range(CHECKPOINTS):
        table = stateextract.open_snapshot(str(path(folders, name, number))).operator(UID).state(EXPIRING).to_table()
        kept.append({*table["key"].to_pylist()})
    assert any(before - after for before, after in pairwise(kept)) is not name.endswith("-async")


def compared(folders: dict[str, Path], name: str, pair: tuple[int, int], **job: Any) -> tuple[Found, Found]:
    """A pair compared incrementally and in full, with the same changes, which are those of the input."""
    one, other = (path(folders, name, number) for number in pair)
    some, all_ = (
        found(one, other, DiffOptions(full=full, unit_bytes=UNIT_BYTES), operator=(UID,), **job)
        for full in (False, True)
    )
    assert some.plan.unread == []
    for key in all_.states:
        assert some.changes_of(key) == all_.changes_of(key)
        ways = [(c.added, c.removed, c.changed, c.fields, c.entries, c.left_out, c.remarks)
                for c in (some.counts[key], all_.counts[key])]  # fmt: skip
        assert ways[0] == ways[1]
    return some, all_


def check_changes(folders: dict[str, Path], name: str, pair: tuple[int, int]) -> tuple[str | None, float]:
    """Why a pair is compared in full, and how much is read of what a full comparison reads."""
    some, all_ = compared(folders, name, pair)
    before, after = (states(name, number) for number in pair)
    assert {*some.states} == {*before}
    for key, state in some.states.items():
        assert state.output is not None
        changes = changes_found(some, key, before[key])
        if key[2] != EXPIRING:
            assert changes == changes_of_input(state.output, before[key], after[key]), key
    reasons = {state.name: state.full_reason for state in some.plan.states}
    if name.endswith("-async"):
        timers = {state for state in reasons if state.startswith("_timer_state/")}
        assert {reasons.pop(state) for state in timers} <= {
            "not all of it is in RocksDB's or ForSt's files",
            *reasons.values(),
        }
    (reason,) = {*reasons.values()}
    assert {state.incremental for state in some.plan.states if state.name in reasons} == {reason is None}
    assert (reason == NOTHING_SHARED) == uploaded_anew(name, pair)
    return reason, some.bytes_read / all_.bytes_read


def uploaded_anew(name: str, pair: tuple[int, int]) -> bool:
    """Whether Flink uploaded all files again between two checkpoints: after rescaling, and ForSt's after any restore.

    Databases in ForSt's primary directory go on with the files of the checkpoint, also after rescaling.
    """
    firsts = {"f23-forst": (RESTORED, RESCALED), "f23-forst-async": ()}.get(name, (RESCALED,))
    return any(pair[0] < first <= pair[1] for first in firsts)


@pytest.mark.parametrize(
    ("name", "pair"),
    [(name, pair) for name in NAMES for pair in (CONSECUTIVE if name == ALL_OF else CONSECUTIVE[1::2])],
)
def test_changes_between_consecutive_checkpoints(folders: dict[str, Path], name: str, pair: tuple[int, int]) -> None:
    reason, part = check_changes(folders, name, pair)
    if pair in WITHOUT_COMPACTIONS:
        assert reason is None
        assert part < 0.6
    assert reason in (None, NOTHING_SHARED) or re.fullmatch(
        r"[3-9]\d % of the bytes are in files that .*", reason or ""
    )
    assert part < 1.25


@pytest.mark.parametrize(
    ("name", "pair"), [*((ALL_OF, pair) for pair in OTHERS), *(("f23-forst-async", pair) for pair in RESCALINGS)]
)
def test_changes_where_most_is_rewritten(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, name: str, pair: tuple[int, int]
) -> None:
    monkeypatch.setattr(incremental, "MOST_UNSHARED", 1.0)
    reason, _ = check_changes(folders, name, pair)
    assert reason == (NOTHING_SHARED if uploaded_anew(name, pair) else None)


@pytest.mark.long
@pytest.mark.parametrize("pair", [*combinations(range(CHECKPOINTS), 2)])
@pytest.mark.parametrize("name", NAMES)
def test_changes_between_all_checkpoints(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, name: str, pair: tuple[int, int]
) -> None:
    monkeypatch.setattr(incremental, "MOST_UNSHARED", 1.0)
    check_changes(folders, name, pair)
