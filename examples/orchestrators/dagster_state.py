"""A Dagster asset: the state of a job, extracted from its newest checkpoint, and an asset of its rows.

The process needs the command ``stateextract`` on its PATH, not in the Python environment of Dagster.
"""

import json
import subprocess
from pathlib import Path

import dagster as dg

_COMPLETE, _INVALID_REQUEST, _INCOMPLETE = 0, 2, 3


class Extract(dg.Config):
    """What to extract, and where to."""

    snapshot: str = "examples/orders-checkpoint"
    output: str = "state"


@dg.asset(
    # Assets after this one are not computed if the check fails.
    check_specs=[dg.AssetCheckSpec("complete", asset="flink_state", blocking=True)],
    retry_policy=dg.RetryPolicy(max_retries=2),
)
def flink_state(config: Extract):  # an annotation would be taken for the type of the value
    """The state as Parquet. Exit code 3, something was not read, fails the check ``complete``; other codes fail the run."""
    command = ["stateextract", "extract", "--engine", "local", "--mode", "overwrite"]
    done = subprocess.run([*command, "--snapshot", config.snapshot, "--output", config.output], check=False)
    if done.returncode not in (_COMPLETE, _INCOMPLETE):
        raise dg.Failure(f"exit code {done.returncode}", allow_retries=done.returncode != _INVALID_REQUEST)
    coverage = json.loads((Path(config.output) / "_coverage.json").read_text())
    complete = dg.AssetCheckResult(passed=done.returncode == _COMPLETE, metadata=coverage["summary"])
    return dg.MaterializeResult(value=config.output, metadata={"output": config.output}, check_results=[complete])


@dg.asset
def row_counts(flink_state: str) -> dict[str, int]:
    """How many rows each dataset has."""
    manifest = json.loads((Path(flink_state) / "_manifest.json").read_text())
    return {dataset["folder"]: dataset["rows"] for dataset in manifest["datasets"]}


definitions = dg.Definitions(assets=[flink_state, row_counts])
