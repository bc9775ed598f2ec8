"""``extract``: its options, its report, its exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stateextract.cli.extract import extract as extract_command
from stateextract.errors import EnvironmentProblem
from stateextract.job.execute import Tasks
from stateextract.options import JobOptions, parse_arguments
from stateextract.spark.environment import open_session
from stateextract.spark.job import extract as extract_on_spark
from stateextract.spark.task_progress import watched
from tests.cli.test_cli import CUSTOM, ROOT, Out, out
from tests.cli.test_tables import ORDERS
from tests.job.snapshots import numbered, write_snapshot

__all__ = ["out"]  # a fixture


def test_report_as_text_and_json(out: Out, tmp_path: Path) -> None:
    arguments = ("extract", ORDERS, "--engine", "local", "--workers", "1", "--state", "voucher")
    code, text, err = out(*arguments, "--output", str(tmp_path / "a"))
    assert (code, err) == (0, "")
    assert text.splitlines()[-1] == f"Wrote 5 rows in 1 dataset to {tmp_path / 'a'}."
    assert text.startswith(f"Coverage of {ORDERS}/chk-2/_metadata")
    code, text, err = out(*arguments, "--output", str(tmp_path / "b"), "--format", "json")
    document = json.loads(text)
    assert (code, err) == (0, "")
    assert (document["rows"], document["exit_code"]) == (5, 0)
    assert document["datasets"][0] == {
        "folder": "orders-by-customer/voucher",
        "operator_id": "fd4133d6389433ee6f56e4e3b4210fb7",
        "operator_uid": "orders-by-customer",
        "operator_name": "orders by customer",
        "state_name": "voucher",
        "state_kind": "value",
        "raw": False,
        "rows": 5,
        "files": 1,
    }
    assert document["coverage"] == json.loads((tmp_path / "b" / "_coverage.json").read_text())
    assert pq.read_table(tmp_path / "b" / "orders-by-customer" / "voucher").num_rows == 5


@pytest.mark.spark
def test_on_spark(out: Out, tmp_path: Path, spark: Any) -> None:
    """In the session that there is; without one it starts its own."""
    code, text, err = out("extract", ORDERS, "--state", "voucher", "--output", str(tmp_path / "a"))
    assert (code, err) == (0, "")
    assert text.splitlines()[-1] == f"Wrote 5 rows in 1 dataset to {tmp_path / 'a'}."
    assert pq.read_table(tmp_path / "a" / "orders-by-customer" / "voucher").num_rows == 5


@pytest.mark.spark
def test_spark_says_how_far_it_is(tmp_path: Path, spark: Any) -> None:
    path = write_snapshot(tmp_path / "snap", {"op": {"a": numbered(2000)}}, parallelism=4)
    seen: list[tuple[int, int]] = []

    def on_tasks(tasks: Tasks, done: int) -> None:
        seen.append((tasks.count, done))

    def slowly(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            time.sleep(1.2)
            yield batch

    options = JobOptions(snapshot=str(path), output=str(tmp_path / "out"), split_bytes=300_000)
    tasks = Tasks(lambda shared: pytest.fail("Spark runs no task of ours"), b"", [0] * 4)
    with watched(spark, tasks, on_tasks):
        assert spark.range(0, 4, 1, numPartitions=4).mapInArrow(slowly, "id long").count() == 4
    assert seen
    assert {count for count, _ in seen} == {4}
    assert [done for _, done in seen] == sorted(done for _, done in seen)
    assert extract_on_spark(options, session=spark, on_tasks=on_tasks).exit_code == 0


def test_exit_codes(out: Out, tmp_path: Path) -> None:
    local = ("--engine", "local", "--workers", "1", "--output", str(tmp_path / "out"))
    code, _, err = out("extract", CUSTOM, *local, "--strict")
    assert code == 1
    assert "the serializer's snapshot class is not known" in err
    assert not (tmp_path / "out").exists()
    for choice in ("fail", "skip", "raw"):
        assert out("extract", CUSTOM, *local, "--mode", "overwrite", "--on-undecodable", choice)[0] == 3
    code, _, err = out("extract", ORDERS, *local)
    assert code == 1
    assert "the output is not empty" in err


def test_an_operator_without_state_has_no_rows(out: Out, tmp_path: Path) -> None:
    output = tmp_path / "out"
    code, text, err = out("extract", ORDERS, "--operator", "orders", "--engine", "local", "--output", str(output))
    assert (code, err) == (0, "")
    assert text.splitlines()[-1] == f"Wrote 0 rows in 0 datasets to {output}."
    assert sorted(path.name for path in output.iterdir()) == ["_SUCCESS", "_coverage.json", "_manifest.json"]
    assert out("stats", ORDERS, "--operator", "orders")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "PATH is missing"),
        ([ORDERS], "--output is missing"),
        ([ORDERS, "--snapshot", ORDERS], "given twice"),
        ([ORDERS, "--output", "x", "--workers", "2"], "--workers requires --engine local"),
        ([ORDERS, "--output", "x", "--engine", "local", "--conf", "spark.a=b"], "--conf requires --engine spark"),
        ([ORDERS, "--conf", "a=b"], "'a=b' is not of the form spark.NAME=VALUE"),
        ([ORDERS, "--output", "x", "--split-bytes", "many"], "--split-bytes is 'many'"),
        ([ORDERS, "--output", "x", "--mode", "append"], "'append' is not one of 'error', 'overwrite'"),
    ],
)
def test_wrong_command_lines(out: Out, arguments: list[str], words: str) -> None:
    code, text, err = out("extract", *arguments)
    assert (code, text) == (2, "")
    assert words in err


def test_options_are_those_of_the_job(monkeypatch: pytest.MonkeyPatch, out: Out, tmp_path: Path) -> None:
    """Any command line of extract.py means the same here."""
    seen: list[JobOptions] = []

    def on_spark(options: JobOptions, conf: dict[str, str]) -> Any:
        seen.append(options)
        raise KeyboardInterrupt

    monkeypatch.setattr("stateextract.cli.extract._on_spark", on_spark)
    (tmp_path / "job.toml").write_text('[input]\nstate = ["a"]\n[output]\ncompression = "gzip"\n')
    arguments = [
        "--snapshot", "s", "--output", "o", "--operator", "x", "--operator", "y", "--no-verify-checksums", "--flatten",
        "--split-bytes", "2 MB", "--header-threads", "3", "--mode", "overwrite", "--config", str(tmp_path / "job.toml"),
    ]  # fmt: skip
    assert out("extract", *arguments)[0] == 130
    assert seen == [parse_arguments(arguments)]
    assert seen[0].state == ("a",)
    assert {"operator", "state", "output", "classpath", "publish"} <= {one.name for one in extract_command.params}


IN_PROCESSES = ("--engine", "local", "--workers", "2", "--split-bytes", "4 KB")
"""Two splits of the example: with one, no process is started."""


def workers_of(process: int) -> list[int]:
    """The processes that one began to read splits."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == process and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("whole_group", [True, False])
def test_a_job_that_is_asked_to_end_leaves_nothing(number: int, code: int, whole_group: bool, tmp_path: Path) -> None:
    """As containers are stopped (the first process only), and as a terminal session or a service ends (all processes)."""
    command = [sys.executable, "-m", "stateextract", "extract", ORDERS, *IN_PROCESSES]
    with subprocess.Popen(
        [*command, "--output", str(tmp_path / "out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=ROOT, start_new_session=True,
        # nohup ignores SIGHUP, and its processes inherit that.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as running:  # fmt: skip
        while running.poll() is None and not workers_of(running.pid):
            time.sleep(0.01)
        assert list((tmp_path / "out").glob("_writer-*"))
        (os.killpg if whole_group else os.kill)(running.pid, number)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (code, "")
    # Python's own resource tracker is not prepared for SIGHUP, and complains.
    noisy = number == signal.SIGHUP and whole_group
    assert ("Interrupted.\n" in err if noisy else err.strip() == "Interrupted."), err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.2])
def test_whoever_interrupts_is_told_so_and_no_more(seconds: float, tmp_path: Path) -> None:
    """Also where the processes are still importing; nothing is left."""
    command = [sys.executable, "-m", "stateextract", "extract", ORDERS, *IN_PROCESSES]
    with subprocess.Popen(
        [*command, "--output", str(tmp_path / "out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=ROOT, start_new_session=True,
    ) as running:  # fmt: skip
        while running.poll() is None and not workers_of(running.pid):
            time.sleep(0.01)
        time.sleep(seconds)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err.strip()) == (130, "", "Interrupted.")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("missing", [True, False])
def test_without_spark_the_other_engine_is_named(
    out: Out, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: bool
) -> None:
    """Only then: other problems of Spark are mended by other means, and keep what they say."""

    def refuse(*_: Any) -> None:
        problem = EnvironmentProblem("no Spark", expected="one", file="there", advice="run pip install x")
        raise problem from (ModuleNotFoundError() if missing else None)

    monkeypatch.setattr("stateextract.spark.job.extract", refuse)
    code, text, err = out("extract", ORDERS, "-o", str(tmp_path / "a"))
    more = "; or extract without Spark: --engine local" if missing else ""
    assert (code, text, err) == (1, "", f"Error: no Spark; expected one; in file there. Run pip install x{more}.\n")
    # What is raised where there is none.
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(EnvironmentProblem, match="cannot import pyspark") as caught:
        open_session()
    assert isinstance(caught.value.__cause__, ImportError)
