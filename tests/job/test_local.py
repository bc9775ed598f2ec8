"""The job without Spark: the same rows as on Spark, and workers that die or fail."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stateextract.errors import EnvironmentProblem, FormatError, UsageError
from stateextract.job.execute import OnReport, RunTask, Tasks, in_this_process, on_this_machine, processes, reports_of
from stateextract.job.run import JobResult, run_job
from stateextract.job.task import SplitReport
from stateextract.options import JobOptions
from stateextract.spark.job import extract
from tests.golden.expected import DATA, load
from tests.job.snapshots import numbered, write_snapshot
from tests.spark.attempts import sabotage

PLUGIN = "tests.spark.attempts"
ALIKE = (
    "f120-kinds-checkpoint",
    "f117-changes-checkpoint-rocksdb-incremental",
    "f117-sqlcore-canonical-snappy",
)


def options(folder: Path, output: Path, **more: Any) -> JobOptions:
    snapshot = str(folder / load(folder)["snapshot"]) if folder.parent == DATA else str(folder)
    return JobOptions(snapshot=snapshot, output=str(output), split_bytes=more.pop("split_bytes", 300_000), **more)


def rows(outcome: JobResult, output: Path) -> dict[str, list[str]]:
    """The rows of every dataset, as text, in any order."""
    return {
        dataset.folder: sorted(repr(row) for f in dataset.files for row in pq.read_table(output / f.path).to_pylist())
        for dataset in outcome.datasets
    }


@pytest.mark.spark
@pytest.mark.parametrize("name", ALIKE)
def test_processes_and_spark_write_the_same(name: str, tmp_path: Path, spark: Any) -> None:
    lenient = {"on_undecodable": "skip", "out_of_range": "null"}
    here = run_job(options(DATA / name, tmp_path / "here", **lenient), processes(2))
    there = extract(options(DATA / name, tmp_path / "there", **lenient), session=spark)
    assert rows(here, tmp_path / "here") == rows(there, tmp_path / "there")
    assert any(rows(here, tmp_path / "here").values())
    assert here.exit_code == there.exit_code
    assert here.coverage.to_json() == there.coverage.to_json()
    parts = [
        [(d.folder, f.path[: len(d.folder) + 11], f.rows) for d in o.datasets for f in d.files] for o in (here, there)
    ]
    assert sorted(parts[0]) == sorted(parts[1]), "the same splits write the same files"


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    return write_snapshot(tmp_path / "snap", {"op": {"a": numbered(2000), "b": numbered(20)}}, parallelism=4)


def test_reports_come_one_by_one(snapshot: Path, tmp_path: Path) -> None:
    seen = []

    def execute(tasks: Tasks, on_report: OnReport) -> None:
        def seeing(number: int, report: bytes) -> None:
            parts = SplitReport.from_bytes(report).parts
            seen.append((number, tasks.count, sum(counters.rows for p in parts for counters in p.counters.states.values())))
            on_report(number, report)

        processes(2)(tasks, seeing)

    outcome = run_job(options(snapshot, tmp_path / "out"), execute)
    assert [(number, count) for number, count, _ in sorted(seen)] == [(split, 4) for split in range(4)]
    assert sum(rows for *_, rows in seen) == 2020
    assert {d.folder: d.rows for d in outcome.datasets} == {"op/a": 2000, "op/b": 20}
    reference = run_job(options(snapshot, tmp_path / "reference"), in_this_process)
    assert rows(outcome, tmp_path / "out") == rows(reference, tmp_path / "reference")


@pytest.mark.parametrize("publish", ["rename", "direct"])
def test_a_worker_that_dies_ends_the_job(snapshot: Path, tmp_path: Path, publish: str) -> None:
    sabotage(tmp_path, "kill", [1], times=99)
    job = options(snapshot, tmp_path / "out", publish=publish, plugins=(PLUGIN,))
    with pytest.raises(EnvironmentProblem, match="one of 2 worker processes ended before its task was done"):
        run_job(job, processes(2))
    assert (tmp_path / "attempt-1-1").exists()
    assert not (tmp_path / "out").exists()


def test_a_task_that_fails_ends_the_job_and_says_why(snapshot: Path, tmp_path: Path) -> None:
    sabotage(tmp_path, "fail", [2], times=99)
    with pytest.raises(FormatError, match="made to fail") as caught:
        run_job(options(snapshot, tmp_path / "out", plugins=(PLUGIN,)), processes(2))
    assert caught.value.offset == 17
    assert not (tmp_path / "out").exists()


def test_there_is_at_least_one_worker() -> None:
    with pytest.raises(UsageError, match="--workers is 0"):
        processes(0)


def test_an_interrupt_in_this_process_leaves_nothing(tmp_path: Path) -> None:
    snapshot = write_snapshot(tmp_path / "snapshot", {"op": {"a": numbered(2000)}}, parallelism=2)

    def interrupted(tasks: Tasks, on_report: OnReport) -> None:
        in_this_process(tasks, lambda number, report: None)
        assert list((tmp_path / "out").glob("_writer-*"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_job(options(snapshot, tmp_path / "out"), interrupted)
    assert not (tmp_path / "out").exists()


def test_what_is_soon_done_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateextract.job.execute.ProcessPoolExecutor", lambda *_, **__: pytest.fail("a process was started"))
    snapshot = write_snapshot(tmp_path / "snapshot", {"op": {"a": numbered(2000)}}, parallelism=2)
    assert run_job(options(snapshot, tmp_path / "out"), on_this_machine()).exit_code == 0


def open_memory(shared: bytes) -> RunTask:
    """A task that reports how its process keeps memory."""
    assert shared == b"shared"
    return lambda number, record: json.dumps([pa.default_memory_pool().backend_name, gc.get_freeze_count() > 0]).encode()


def test_workers_keep_memory_and_do_not_search_modules_for_garbage() -> None:
    here = pa.default_memory_pool().backend_name, gc.get_freeze_count()
    found = reports_of(processes(1), Tasks(open_memory, b"shared", [1, 1]), json.loads)
    assert found == [["system", True]] * 2
    assert (pa.default_memory_pool().backend_name, gc.get_freeze_count()) == here, "only in workers"
