"""The same command over Spark Connect: its own process, because one process has either classic Spark or Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stateextract import errors
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROOT = Path(errors.__file__).parents[1]


def _extract(*arguments: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("grpc")
    environment = {**os.environ, "SPARK_REMOTE": "local[2]", "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, str(ROOT / "extract.py"), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
        timeout=900,
        check=False,
    )


def test_a_job_over_connect_brings_its_code_to_the_workers(tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(200)}}, parallelism=4)
    out = tmp_path / "out"
    done = _extract("--snapshot", str(snap), "--output", str(out), "--split-bytes", "260 kB")
    assert done.returncode == 0, done.stderr
    dataset = json.loads((out / "_manifest.json").read_bytes())["datasets"][0]
    rows = [(r["key"], r["value"]) for f in dataset["files"] for r in pq.read_table(out / f["path"]).to_pylist()]
    assert sorted(rows) == [(i, 10 * i) for i in range(200)]
    assert {f["path"].split("-")[1] for f in dataset["files"]} == {"00000", "00001", "00002", "00003"}
    assert "Wrote 200 rows in 1 datasets" in done.stdout


def test_an_error_over_connect_keeps_its_sentence(tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(9)}}, values={"a": UNKNOWN})
    done = _extract("--snapshot", str(snap), "--output", str(tmp_path / "out"))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("extract.py: values of com.example.Shape")
    assert "operator op, state a, key group 0" in last
    assert not (tmp_path / "out").exists()
