"""An Airflow DAG: extracts the newest checkpoint of a job each day, and then uses the rows.

The worker needs the command ``stateextract`` on its PATH, not in the Python environment of Airflow.
"""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk import dag, task

_COMPLETE, _INVALID_REQUEST, _INCOMPLETE = 0, 2, 3


def end_task(exit_code: int) -> None:
    """The state of the task by the exit code of ``stateextract``."""
    if exit_code == _INCOMPLETE:
        raise AirflowSkipException("a state was not read as a whole: see _coverage.json")  # tasks after it are skipped too
    if exit_code == _INVALID_REQUEST:
        raise AirflowFailException("the request is invalid: another attempt would fail too")
    if exit_code != _COMPLETE:
        raise AirflowException(f"exit code {exit_code}")  # Airflow tries again


@dag(
    schedule="@daily", start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False,
    params={"snapshot": "examples/orders-checkpoint", "output": "state"},
)  # fmt: skip
def flink_state() -> None:
    """Two tasks: the extract, and what is done with its rows."""

    @task(retries=2)
    def extract(params: dict[str, Any]) -> str:
        command = ["stateextract", "extract", "--engine", "local", "--mode", "overwrite"]
        done = subprocess.run([*command, "--snapshot", params["snapshot"], "--output", params["output"]], check=False)
        end_task(done.returncode)
        return str(params["output"])

    @task
    def count_rows(output: str) -> dict[str, int]:
        manifest = json.loads((Path(output) / "_manifest.json").read_text())
        return {dataset["folder"]: dataset["rows"] for dataset in manifest["datasets"]}

    count_rows(extract())


flink_state()
