"""The examples of Airflow and Dagster, run by the libraries themselves, each in its environment.

The tool is a command of another environment. Its exit codes 0 to 3 become states of tasks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.world.components import component

pytestmark = [pytest.mark.world, pytest.mark.slow]
EXAMPLES = ROOT / "examples" / "orchestrators"
AIRFLOW = """
import json, sys
sys.path.insert(0, sys.argv[1])
from airflow_state import flink_state
for conf in json.loads(sys.argv[2]):
    run = flink_state().test(run_conf=conf)
    tasks = {one.task_id: str(getattr(one.state, "value", one.state)) for one in run.get_task_instances()}
    print("RESULT", json.dumps([str(getattr(run.state, "value", run.state)), tasks]))
"""
DAGSTER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import dagster as dg
from dagster_state import flink_state, row_counts
for conf in json.loads(sys.argv[2]):
    config = {"ops": {"flink_state": {"config": conf}}}
    result = dg.materialize([flink_state, row_counts], run_config=config, raise_on_error=False)
    checks = {one.check_name: one.passed for one in result.get_asset_check_evaluations()}
    made = sorted(one.asset_key.to_user_string() for one in result.get_asset_materialization_events())
    retries = sum(event.event_type_value == "STEP_UP_FOR_RETRY" for event in result.all_events)
    rows = result.output_for_node("row_counts") if "row_counts" in made else None
    print("RESULT", json.dumps([result.success, made, checks, retries, rows]))
"""
ROWS = {
    "orders-by-customer/cents-by-product": 5, "orders-by-customer/last-order": 5, "orders-by-customer/order-ids": 5,
    "orders-by-customer/timers": 50, "orders-by-customer/voucher": 5, "sales-per-hour/timers": 36,
    "sales-per-hour/window-contents": 36,
}  # fmt: skip


@pytest.fixture
def runs(tmp_path: Path) -> str:
    """Runs that end with the exit codes 0, 3, 1 and 2."""
    partly = write_snapshot(tmp_path / "partly", {"op": {"a": numbered(9), "b": numbered(9)}}, values={"b": UNKNOWN})
    snapshots = [ROOT / "examples" / "orders-checkpoint", partly, tmp_path / "none", ""]
    return json.dumps([{"snapshot": str(at), "output": str(tmp_path / f"out{n}")} for n, at in enumerate(snapshots)])


def results(name: str, code: str, runs: str, folder: Path) -> list[list[object]]:
    """What a program prints that runs in the environment of a library."""
    programs = component("orchestrators") / name / "bin"
    tool = folder / "bin" / "stateextract"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m stateextract \"$@\"\n")
    tool.chmod(0o755)
    home = folder / "home"
    home.mkdir()
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "AIRFLOW", "DAGSTER"))}
    settings = {
        "PATH": f"{tool.parent}{os.pathsep}{own['PATH']}", "AIRFLOW_HOME": str(home), "DAGSTER_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES), "DAGSTER_DISABLE_TELEMETRY": "1",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False", "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "1",
    }  # fmt: skip
    if name == "dagster":
        (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    else:
        command = [programs / "airflow", "db", "migrate"]
        done = subprocess.run(command, env={**own, **settings}, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    done = subprocess.run(
        [programs / "python", "-c", code, EXAMPLES, runs], env={**own, **settings}, cwd=folder, capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    found = [json.loads(line.removeprefix("RESULT ")) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    assert len(found) == len(json.loads(runs)), (done.stdout[-3000:], done.stderr[-3000:])
    return found


def test_dagster(runs: str, tmp_path: Path) -> None:
    complete, partial, failed, invalid = results("dagster", DAGSTER, runs, tmp_path)
    assert complete == [True, ["flink_state", "row_counts"], {"complete": True}, 0, ROWS]
    assert partial[1:] == [["flink_state"], {"complete": False}, 0, None]
    assert failed == [False, [], {}, 2, None]
    assert invalid == [False, [], {}, 0, None]


def test_airflow(runs: str, tmp_path: Path) -> None:
    complete, partial, failed, invalid = results("apache-airflow", AIRFLOW, runs, tmp_path)
    assert complete == ["success", {"extract": "success", "count_rows": "success"}]
    assert partial[1] == {"extract": "skipped", "count_rows": "skipped"}
    assert failed == ["failed", {"extract": "failed", "count_rows": "upstream_failed"}]
    assert invalid == ["failed", {"extract": "failed", "count_rows": "upstream_failed"}]
