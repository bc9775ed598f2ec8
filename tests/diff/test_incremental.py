"""Incremental comparisons find what full ones find, over chains of checkpoints; where they cannot be made, that is told."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stateextract.cli.diff import show
from stateextract.diff import incremental
from stateextract.diff.diff_plan import DiffOptions, DiffPlan, make_diff_plan
from stateextract.diff.diff_run import run_diff
from stateextract.diff.diff_task import DiffRunner
from stateextract.diff.summary import DiffCounts
from stateextract.options import JobOptions
from tests.writers import flink_writer as flink
from tests.writers.lsm_chain import STATES, Job, Rows
from tests.writers.sst import PUT, Entry


@dataclass
class Found:
    """A comparison: its plan, its changes by state, their counts, and bytes that were read."""

    plan: DiffPlan
    changes: dict[str, list[str]]
    counts: dict[str, DiffCounts]
    bytes_read: int


def compared(pair: Sequence[Path], options: DiffOptions, **more: Any) -> Found:
    jobs = [JobOptions(snapshot=str(path), **more) for path in pair]
    plan = make_diff_plan(jobs[0], jobs[1], options)
    runner = DiffRunner(plan.context)
    changes: dict[str, list[str]] = {}
    counts: dict[str, DiffCounts] = {}
    for unit in plan.units:
        for one in runner.run(unit):
            name = f"{one.state.label}/{one.state.name}"
            counts.setdefault(name, DiffCounts()).add(one.counts)
            if one.rows is not None:
                changes.setdefault(name, []).extend(map(str, one.rows.to_pylist()))
    return Found(plan, {name: sorted(rows) for name, rows in changes.items()}, counts, runner.bytes_read)


def both_ways(pair: Sequence[Path], unit_bytes: int = 2000, **more: Any) -> tuple[Found, Found]:
    """The pair compared incrementally and in full, with the same changes."""
    some, all_ = (compared(pair, DiffOptions(full=full, unit_bytes=unit_bytes), **more) for full in (False, True))
    assert some.changes == all_.changes
    for name, counts in all_.counts.items():
        found = some.counts.get(name, DiffCounts())
        assert (found.added, found.removed, found.changed) == (counts.added, counts.removed, counts.changed)
        assert (found.fields, found.entries) == (counts.fields, counts.entries)
    return some, all_


def expected(before: Rows, after: Rows, prefix: int | None = None) -> Counter[str]:
    """How many rows were added, removed and changed; those of a map have one key up to a length."""
    one, other = (_rows(side, prefix) for side in (before, after))
    return Counter(
        "added" if key not in one else "removed" if key not in other else "changed"
        for key in one.keys() | other.keys()
        if one.get(key) != other.get(key)
    )


def _rows(side: Rows, prefix: int | None) -> dict[bytes, dict[bytes, bytes]]:
    rows: dict[bytes, dict[bytes, bytes]] = {}
    for key, value in side.items():
        rows.setdefault(key[:prefix], {})[key] = value
    return rows


@pytest.mark.parametrize("seed", range(8))
def test_random_chains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    random = Random(seed)
    writes, parallelism, flatten = (3, 40, 200)[seed % 3], (2, 2, 1, 3)[seed % 4], seed % 2 == 1
    monkeypatch.setattr(incremental, "MOST_UNSHARED", 1.0)
    job = Job(tmp_path / "job", random)
    job.run(300)
    one, before = job.checkpoint(1), job.rows()
    if parallelism != 2:
        job.rescale(parallelism)
    job.run(writes)
    other, after = job.checkpoint(2), job.rows()
    some, _ = both_ways((one, other), flatten=flatten)
    for state in STATES:
        counts = some.counts.get(f"job/{state}", DiffCounts())
        wanted = expected(before[state], after[state], 10 if state == "map" and not flatten else None)
        if not (state == "list" and flatten):
            assert Counter(added=counts.added, removed=counts.removed, changed=counts.changed) == wanted
    assert not any(counts.remarks for counts in some.counts.values())
    assert {state.name: state.incremental for state in some.plan.states} == dict.fromkeys(STATES, True)


def test_a_range_deletion_that_ends_inside_of_a_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All entries of the map are shown, also those before and after the deleted ones, in files that are shared."""
    monkeypatch.setattr(incremental, "MOST_UNSHARED", 1.0)
    job = Job(tmp_path / "job", Random(1), parallelism=1)
    (database,) = job.databases
    maps = [bytes([1]) + n.to_bytes(8, "big") + b"\0" for n in range(3)]
    database.memory["map"] = [
        Entry(key + n.to_bytes(8, "big"), 10 * i + n + 1, PUT, bytes(9)) for i, key in enumerate(maps) for n in range(4)
    ]
    one = job.checkpoint(1)
    database.deletions["map"] = [(maps[0] + (2).to_bytes(8, "big"), maps[1] + (1).to_bytes(8, "big"), 99)]
    other = job.checkpoint(2)
    some, _ = both_ways((one, other))
    assert (some.counts["job/map"].changed, some.counts["job/map"].before) == (2, 3)
    assert some.counts["job/map"].entries["value"].removed == 3
    some, _ = both_ways((one, other), flatten=True)
    assert (some.counts["job/map"].removed, some.counts["job/map"].before) == (3, 3)


# -- checkpoints that Flink wrote

CHAIN = "examples/high-availability/checkpoints/4619862af4f0e075ffffffffb85d0ae1"
DATA = Path(__file__).parents[1] / "golden" / "data"


def claimed(folder: Path, version: str) -> tuple[Path, Path]:
    """A checkpoint, and one of a job that was restored from it in claim mode, in their folders as Flink had them."""
    case = f"{version}-changes-checkpoint-rocksdb-incremental"
    for one in (case, f"{case}-claimed"):
        shutil.copytree(DATA / one, folder, dirs_exist_ok=True)
    one, other = sorted(folder.glob("*/chk-*"), key=lambda path: int(path.name[4:]))
    return one, other


@pytest.mark.parametrize(("version", "flatten"), [("f120", True), ("f23", False)])
def test_a_job_that_was_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, flatten: bool) -> None:
    """Updates, deletes, list elements, map entries, rows with a time to live, timers and compactions."""
    monkeypatch.setattr(incremental, "MOST_UNSHARED", 1.0)
    some, all_ = both_ways(claimed(tmp_path, version), 20_000, flatten=flatten, operator=("changing", "sessions"))
    ways = {state.name: state.full_reason for state in some.plan.states}
    operator_state = {"split-list": "it is operator state", "union-list": "it is operator state"}
    sessions = {"window-contents": "the bounds of its sessions are in another state"}
    assert {name: reason for name, reason in ways.items() if reason is not None} == operator_state | sessions
    assert {state.full_reason for state in all_.plan.states} == {None}
    label = next(state.label for state in some.plan.states if state.name == "text")
    timers = f"{label}/_timer_state/event_user-timers"
    assert (some.counts[timers].before, all_.counts[timers].before) == (6, 27)
    assert (all_.counts[timers].added, all_.counts[timers].removed) == (11, 6)


def test_checkpoints_of_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "MOST_UNSHARED", 1.0)
    root = Path(__file__).parents[2]
    some, all_ = both_ways([root / CHAIN / f"chk-{number}" for number in (3, 4)], 20_000, operator=("changing",))
    assert Counter(state.full_reason for state in some.plan.states) == {None: 9, "it is operator state": 2}
    assert sum(counts.changed for counts in all_.counts.values()) == 61


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("f23-changes-checkpoint", "f23-changes-native",
         "at least one of the snapshots has its state in files of another kind than RocksDB's and ForSt's"),
        ("f23-changes-checkpoint-rocksdb-incremental", "f23-changes-checkpoint-rocksdb-incremental-restored",
         "the snapshots share no file"),
        ("f23-changes-checkpoint-rocksdb-incremental", "f23-changes-checkpoint-rocksdb-incremental-rescaled",
         "the snapshots share no file"),
        ("f23-changes-checkpoint-rocksdb-changelog-materialized", "f23-changes-checkpoint-rocksdb-incremental",
         "a changelog has more changes than the files"),
        ("f23-changes-checkpoint-rocksdb-incremental", "f23-changes-checkpoint-rocksdb-incremental-merged",
         "the number of key groups changed"),
    ],
)  # fmt: skip
def test_reasons_for_full_comparisons(before: str, after: str, reason: str) -> None:
    jobs = [JobOptions(snapshot=str(DATA / case), state=("text",)) for case in (before, after)]
    plan = make_diff_plan(jobs[0], jobs[1], DiffOptions(unit_bytes=1000))
    assert [(state.incremental, state.full_reason) for state in plan.states] == [(False, reason)]
    assert all(unit.cost is None for unit in plan.units)


# -- what is not as it should be


@pytest.fixture
def job(tmp_path: Path) -> Job:
    job = Job(tmp_path / "job", Random(3), keys=200)
    job.run(600)
    return job


def test_small_databases_and_unlike_options(job: Job) -> None:
    one = JobOptions(snapshot=str(job.checkpoint(1)))
    job.run(20)
    other = JobOptions(snapshot=str(job.checkpoint(2)))
    assert {state.full_reason for state in make_diff_plan(one, other).states} == {"its files are small"}
    plan = make_diff_plan(one, replace(other, timestamps="nanoseconds"), DiffOptions(unit_bytes=1000))
    assert {state.full_reason for state in plan.states} == {"the snapshots are read with different options"}


def test_serializers_that_changed(job: Job) -> None:
    """The same bytes are other values: every row changed, though the snapshots share all files."""
    paths = [job.checkpoint(1), job.checkpoint(2, STATES | {"value": ("VALUE", flink.DOUBLE)})]
    some, _ = both_ways(paths)
    assert {state.name: state.full_reason for state in some.plan.states} == {
        "value": "its serializers are not the same in both snapshots", "list": None, "map": None,
    }  # fmt: skip
    rows = job.rows()
    not_zero = sum(value != bytes(8) for value in rows["value"].values())
    assert (some.counts["job/value"].before, some.counts["job/value"].changed) == (len(rows["value"]), not_zero)
    assert some.counts.get("job/map", DiffCounts()).before == 0


def test_a_damaged_file_leads_to_the_full_comparison(job: Job, tmp_path: Path) -> None:
    """Then all is as in a full comparison, which leaves out what cannot be read."""
    one = job.checkpoint(1)
    known = set(tmp_path.rglob("*.sst"))
    job.run(40)
    other = job.checkpoint(2)
    path = max(set(tmp_path.rglob("*.sst")) - known, key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[4] ^= 0xFF
    path.write_bytes(data)
    some, all_ = both_ways((one, other))
    left_out = {name: counts.left_out for name, counts in all_.counts.items() if counts.left_out}
    assert len(left_out) == 1
    assert {name: counts.left_out for name, counts in some.counts.items() if counts.left_out} == left_out
    (name,) = left_out
    remark = "compared in full in the key groups"
    assert any(text.startswith(remark) and path.name in text for text in some.counts[name].remarks)


def test_the_summary(job: Job, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    one = job.checkpoint(1)
    job.run(20)
    jobs = [JobOptions(snapshot=str(path)) for path in (one, job.checkpoint(2))]
    result = run_diff(jobs[0], jobs[1], DiffOptions(unit_bytes=1000), output=str(tmp_path / "out"))
    document = json.loads((tmp_path / "out" / "_coverage.json").read_text())
    assert document["bytes_read"] == result.bytes_read > 0
    for state in document["states"]:
        assert (state["way"], state["full_reason"]) == ("incremental", None)
        assert (state["rows_before"], state["rows_after"], state["unchanged"]) == (None, None, None)
    show(result, None)
    printed = capsys.readouterr().out
    assert re.search(r"^job +value +value +- +- +\d", printed, re.MULTILINE)
    assert "Compared 3 of 3 states by the files that the snapshots do not share: read 0." in printed
