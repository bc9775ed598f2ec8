"""The same command, and the data sources, over Spark Connect: one server, and clients in processes of their own.

One process has either classic Spark or Connect.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stateextract import errors
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.spark import needs_sources

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ROOT = Path(errors.__file__).parents[1]
# Ends when nobody holds its standard input any more.
SERVER = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
spark = builder.config("spark.connect.grpc.binding.port", sys.argv[1]).getOrCreate()
print("ready", flush=True)
sys.stdin.read()
spark.stop()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server of Connect is, which knows nothing of the project."""
    pytest.importorskip("grpc")
    if not list(Path(pytest.importorskip("pyspark").__file__).parent.glob("jars/spark-connect_*.jar")):
        pytest.skip("PySpark 3.5 does not contain the server of Spark Connect")
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_REMOTE")}
    with (folder / "log").open("w") as log, subprocess.Popen(
        [sys.executable, "-c", SERVER, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder,
        env={**own, "PYSPARK_PYTHON": sys.executable},
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "ready\n", (folder / "log").read_text()[-3000:]
        yield f"sc://127.0.0.1:{port}"
        process.stdin.close()


def _client(server: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SPARK_REMOTE": server, "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
        timeout=900,
        check=False,
    )


def _extract(server: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _client(server, str(ROOT / "extract.py"), *arguments)


@needs_sources
def test_data_sources_over_connect(server: str) -> None:
    code = f"""
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
sys.path.insert(0, {str(ROOT)!r})
from stateextract.spark import register
register(spark)
reader = spark.read.format("flink-state").option("operatorUid", "orders-by-customer")
df = reader.option("stateName", "voucher").load({str(ROOT / "examples" / "orders-checkpoint")!r})
print("rows", df.where("key IN ('elif', 'jonas')").count(), df.count())
"""
    done = _client(server, "-c", code)
    assert "rows 2 5" in done.stdout, done.stderr[-3000:]


def test_a_job_over_connect_brings_its_code_to_the_workers(server: str, tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(200)}}, parallelism=4)
    out = tmp_path / "out"
    done = _extract(server, "--snapshot", str(snap), "--output", str(out), "--split-bytes", "260 kB")
    assert done.returncode == 0, done.stderr
    dataset = json.loads((out / "_manifest.json").read_bytes())["datasets"][0]
    rows = [(r["key"], r["value"]) for f in dataset["files"] for r in pq.read_table(out / f["path"]).to_pylist()]
    assert sorted(rows) == [(i, 10 * i) for i in range(200)]
    assert {f["path"].split("-")[1] for f in dataset["files"]} == {"00000", "00001", "00002", "00003"}
    assert "Wrote 200 rows in 1 dataset to" in done.stdout


def test_an_error_over_connect_keeps_its_sentence(server: str, tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(9)}}, values={"a": UNKNOWN})
    done = _extract(server, "--snapshot", str(snap), "--output", str(tmp_path / "out"))
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("extract.py: no selected state can be read: values of com.example.Shape")
    assert "operator op, state a" in last
    assert not (tmp_path / "out").exists()
