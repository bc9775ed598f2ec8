"""Operator state through a whole job: lists cut into runs of elements, one copy of broadcast maps, and differing copies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import stateextract
from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.metadata.model import InlineHandle, OperatorStateHandle, SubtaskState
from stateextract.options import JobOptions
from tests.state.keyed_writer import i64, write
from tests.state.operator_writer import Lists, simple, string

FORMS = ("plain", "compressed", "1.18", "1.18.0")
LONG, STRING = simple("Long"), simple("String")
RULES = ("rules", STRING, LONG)
SAME = [(string("a"), i64(1)), (string("b"), i64(2))]


def snapshot(folder: Path, form: str, maps: list[list[tuple[bytes, bytes]]]) -> Path:
    """Three subtasks with lists of 0, 1 and 60 elements, and a copy of a broadcast map each."""
    subtasks = []
    for index, count in enumerate((0, 1, 60)):
        elements = [i64(1000 * index + n) for n in range(count)]
        lists = {("split", "SPLIT_DISTRIBUTE", LONG): elements, ("union", "UNION", LONG): elements}
        data, states = Lists(lists, {RULES: maps[index]}, form).write()
        handle = OperatorStateHandle(4, tuple(states), InlineHandle(f"list-{index}", data))
        subtasks.append(SubtaskState(index, managed_operator=handle))
    return write(folder, subtasks)


def job(path: Path, output: Path, **more: Any) -> tuple[JobResult, dict[str, list[dict[str, Any]]]]:
    outcome = run_job(JobOptions(snapshot=str(path), output=str(output), **more), in_this_process)
    return outcome, {d.state_name: pq.read_table(output / d.folder).to_pylist() for d in outcome.manifest.datasets}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("split_bytes", [1, 400_000, 1 << 30])
def test_lists_in_any_number_of_splits(form: str, split_bytes: int, tmp_path: Path) -> None:
    path = snapshot(tmp_path / "chk-1", form, [SAME] * 3)
    outcome, rows = job(path, tmp_path / "out", split_bytes=split_bytes)
    expected = [{"value": 1000, "index": 0, "subtask": 1}]
    expected += [{"value": 2000 + n, "index": n, "subtask": 2} for n in range(60)]
    for name in ("split", "union"):
        assert sorted(rows[name], key=lambda row: (row["subtask"], row["index"])) == expected
    assert sorted(rows["rules"], key=lambda row: row["key"]) == [{"key": "a", "value": 1}, {"key": "b", "value": 2}]
    assert {e.state: e.status for e in outcome.coverage.entries} == dict.fromkeys(
        ("split", "union", "rules"), "decoded"
    )
    # An uncompressed list is read in pieces, by several tasks if they are to be small; a compressed one as a whole.
    files = {d.state_name: len(d.files) for d in outcome.manifest.datasets}
    assert (files["split"] > 2) == (form == "plain" and split_bytes == 1)


@pytest.mark.parametrize("form", FORMS)
def test_copies_that_are_alike_in_another_order(form: str, tmp_path: Path) -> None:
    path = snapshot(tmp_path / "chk-1", form, [SAME, SAME[::-1], SAME])
    outcome, _ = job(path, tmp_path / "out")
    (entry,) = [e for e in outcome.coverage.entries if e.state == "rules"]
    assert (entry.read.problems, entry.read.differing, len(entry.read.copies)) == ([], [], 3)


@pytest.mark.parametrize("form", FORMS)
def test_copies_that_differ(form: str, tmp_path: Path) -> None:
    """One has another value, one an entry less: both are named, in the report and through the API."""
    other = [(string("a"), i64(1)), (string("b"), i64(3))]
    path = snapshot(tmp_path / "chk-1", form, [SAME, other, SAME[:1]])
    outcome, rows = job(path, tmp_path / "out")
    assert sorted((r["key"], r["value"]) for r in rows["rules"]) == [("a", 1), ("b", 2)]
    report = json.loads((tmp_path / "out" / "_coverage.json").read_text())
    (entry,) = [e for e in report["entries"] if e["state_name"] == "rules"]
    problem = (
        "the broadcast state of the subtasks 1, 2 is not that of the first subtask; to read the copy of every "
        "subtask, set --all-copies"
    )
    assert (entry["status"], entry["read"]["problems"]) == ("decoded", [problem])
    state = stateextract.open_snapshot(str(path)).operator("op").state("rules")
    assert state.to_table().num_rows == 2
    assert state.coverage.counters.differing == [1, 2]
    assert state.coverage.counters.problems == [problem]
    _, every = job(path, tmp_path / "all", all_copies=True)
    assert sorted((r["subtask"], r["key"], r["value"]) for r in every["rules"]) == [
        (0, "a", 1), (0, "b", 2), (1, "a", 1), (1, "b", 3), (2, "a", 1),
    ]  # fmt: skip
    assert outcome.exit_code == 0
