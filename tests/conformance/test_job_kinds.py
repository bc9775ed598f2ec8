"""Whole jobs over Flink's own snapshots: operator state, timers and canonical bodies as datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.options import JobOptions
from tests.conformance.conftest import flink_cases, flink_files

BROADCAST = "new-stateful-broadcast-udf-migration-itcase-flink{}"
PLAIN = "new-stateful-udf-migration-itcase-flink{}"


def job(name: str, output: Path, **more: Any) -> JobResult:
    snapshot = str(flink_files() / "flink-tests" / name)
    return run_job(JobOptions(snapshot=snapshot, output=str(output), on_undecodable="skip", **more), in_this_process)


def expected(name: str) -> list[tuple[str, dict[str, Any]]]:
    document = json.loads((flink_files() / "expected" / "flink-tests" / f"{name}.json").read_text())
    return [(operator["id"], state) for operator in document["operators"] for state in operator["states"]]


@pytest.mark.parametrize("split_bytes", [10**8, 1])
@pytest.mark.parametrize(
    "name",
    [
        BROADCAST.format("1.20-hashmap-savepoint"),
        BROADCAST.format("1.13-rocksdb-savepoint"),
        PLAIN.format("1.17-hashmap-savepoint-native"),
        PLAIN.format("2.3-rocksdb-savepoint"),
    ],
)
def test_every_state_has_its_rows(name: str, split_bytes: int, tmp_path: Path) -> None:
    outcome = job(name, tmp_path / "out", split_bytes=split_bytes)
    rows: dict[tuple[str, str], int] = {}
    timers: dict[str, int] = {}
    for operator, state in expected(name):
        if state["kind"] == "TIMER":
            timers[operator] = timers.get(operator, 0) + len(state["rows"])
        else:
            rows[operator, state["name"]] = len(state["rows"])
    found = {(d.operator_id, d.state_name): d.rows for d in outcome.manifest.datasets}
    together = {(operator, "timers"): n for operator, n in timers.items()}
    assert found == {**rows, **together}
    for dataset in outcome.manifest.datasets:
        table = pyarrow.dataset.dataset(str(tmp_path / "out" / dataset.folder), format="parquet").to_table()
        assert table.num_rows == dataset.rows
        if dataset.state_name == "timers":
            assert {"kind", "service", "timestamp_ms"} <= set(table.column_names)
    by_state = {(e.operator_id, e.state): e for e in outcome.coverage.entries if e.state}
    for operator, state in expected(name):
        entry = by_state[operator, state["name"]]
        assert (entry.status, entry.read.rows, entry.read.problems) == ("decoded", len(state["rows"]), [])
    if split_bytes == 1:
        lists = [d for d in outcome.manifest.datasets if d.state_kind in ("list (split)", "list (union)") and d.rows > 1]
        assert all(source.key_groups == [] for d in lists for source in d.sources)


def test_one_queue_by_its_name_and_all_timers(tmp_path: Path) -> None:
    name = PLAIN.format("1.20-hashmap-checkpoint")
    queues = {s["name"] for _, s in expected(name) if s["kind"] == "TIMER"}
    one = sorted(queues)[0]
    assert {d.state_name for d in job(name, tmp_path / "one", state=(one,)).manifest.datasets} == {one}
    outcome = job(name, tmp_path / "all", state=("timers",))
    assert {d.state_name for d in outcome.manifest.datasets} == {"timers"}
    assert {e.state for e in outcome.coverage.entries if e.status == "decoded"} == queues


def test_all_copies_of_broadcast_state(tmp_path: Path) -> None:
    name = BROADCAST.format("1.20-hashmap-savepoint")
    states = {(o, s["name"]): s for o, s in expected(name) if s["kind"] == "BROADCAST"}
    assert states
    outcome = job(name, tmp_path / "out", all_copies=True, state=tuple({n for _, n in states}))
    for dataset in outcome.manifest.datasets:
        state = states[dataset.operator_id, dataset.state_name]
        assert dataset.rows == len(state["rows"]) * state["copies"]
        assert [c["name"] for c in dataset.schema] == ["key", "value", "subtask"]


def test_copies_that_differ_are_reported() -> None:
    from stateextract.snapshot.coverage import DECODED, CoverageEntry

    entry = CoverageEntry("id", "op", None, "rules", "broadcast", "operator state", DECODED)
    entry.read.copies = {"0": "2:aa", "1": "2:bb", "10": "2:aa"}
    entry.finalize()
    assert entry.status == DECODED
    assert entry.read.problems == [
        "the broadcast state of subtask 1 is not that of the first subtask; to read the copy of every subtask, set "
        "--all-copies"
    ]


def test_an_operator_by_the_uid_that_is_only_stored_as_a_hash(tmp_path: Path) -> None:
    case = flink_cases() / "f1205-pojos-hashmap-canonical-zip"
    truth = json.loads((case / "truth.json").read_text())
    operator = next(o for o in truth["operators"] if o["uid"] and o["keyed_states"])
    options = JobOptions(
        snapshot=str(case / truth["path"]), output=str(tmp_path / "out"), operator=(operator["uid"],), on_undecodable="skip"
    )
    outcome = run_job(options, in_this_process)
    assert {d.operator_id for d in outcome.manifest.datasets} == {operator["operator_id"]}
