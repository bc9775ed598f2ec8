"""A standalone cluster of Spark: a master and two workers, each a process, and executors that they start.

The executors' Python has the requirements of the project and not the project.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.docs.pages import ROOT
from tests.job.snapshots import numbered, write_snapshot
from tests.packaging.test_wheel import environment_in
from tests.spark.attempts import sabotage
from tests.world.components import running

pyspark = pytest.importorskip("pyspark")
pytestmark = [pytest.mark.world, pytest.mark.slow, pytest.mark.spark]
PROGRAMS = Path(pyspark.__file__).parent / "bin"
WITHOUT_PROJECT = ["env", "-u", "PYTHONPATH", f"SPARK_HOME={PROGRAMS.parent}", "SPARK_LOCAL_IP=127.0.0.1"]
ROWS = [(key, 10 * key) for key in range(2000)]
SPLITS = 8


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def workers_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(environment_in(tmp_path_factory.mktemp("environment") / "venv") / "python")


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the master of a cluster with four slots is."""
    folder = tmp_path_factory.mktemp("cluster")
    start = [*WITHOUT_PROJECT, str(PROGRAMS / "spark-class")]
    settings = {"SPARK_DAEMON_MEMORY": "256m"}
    at = ["--host", "127.0.0.1", "--port", str(free_port()), "--webui-port", "0"]
    with ExitStack() as stack:
        command = [*start, "org.apache.spark.deploy.master.Master", *at]
        server = stack.enter_context(running(command, r"Starting Spark master at (spark://\S+)", env=settings, seconds=180))
        # Spark runs no second attempt on the host of the first one.
        for host in ("127.0.0.1", "127.0.0.2"):
            size = ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / host), "--webui-port", "0"]
            command = [*start, "org.apache.spark.deploy.worker.Worker", "--host", host, *size, server.match[1]]
            stack.enter_context(running(command, "Successfully registered with master", env=settings, seconds=180))
        yield server.match[1]


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    groups = numbered(2000)
    return write_snapshot(tmp_path / "snap", {"op": {"a": groups, "b": numbered(20)}}, parallelism=SPLITS)


def published(out: Path) -> list[tuple[int, int]]:
    """The rows of state ``a``: by the manifest, and the same by what is in the directory."""
    manifest = json.loads((out / "_manifest.json").read_bytes())
    files = next(dataset["files"] for dataset in manifest["datasets"] if dataset["state_name"] == "a")
    assert {out / file["path"] for file in files} == set((out / "op" / "a").glob("*.parquet"))
    assert not list(out.glob("_staging*"))
    return sorted((row["key"], row["value"]) for file in files for row in pq.read_table(out / file["path"]).to_pylist())


@pytest.mark.parametrize("publish", ["rename", "direct"])
def test_an_executor_that_is_killed_and_a_slow_one(
    master: str, workers_python: str, snapshot: Path, tmp_path: Path, publish: str
) -> None:
    sabotage(tmp_path, "kill executor", [0])
    sabotage(tmp_path, "wait", [SPLITS - 1])
    settings = {
        "spark.executor.cores": "2", "spark.executor.memory": "512m", "spark.speculation": "true",
        "spark.speculation.quantile": "0.1", "spark.speculation.multiplier": "1",
        # The plug-in that breaks attempts is the tests' own.
        "spark.executorEnv.PYTHONPATH": str(ROOT),
    }  # fmt: skip
    options = [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [sys.executable, "-c", "from stateextract.spark.submit import main; main()", "--master", master, *options, "--",
         "--snapshot", snapshot, "--output", tmp_path / "out", "--split-bytes", "100 kB", "--publish", publish,
         "--plugins", "tests.spark.attempts"],
        env={**os.environ, "PYSPARK_PYTHON": workers_python, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True,
        text=True, timeout=570, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert published(tmp_path / "out") == ROWS
    assert (tmp_path / "attempt-0-2").exists(), "the split was read again after its executor was killed"
    assert (tmp_path / f"attempt-{SPLITS - 1}-2").exists(), "Spark ran a second attempt at the slow split"


def test_a_connect_server_with_the_cluster(master: str, workers_python: str, snapshot: Path, tmp_path: Path) -> None:
    """The client, the server and the executors are processes; server and executors have not the project."""
    pytest.importorskip("grpc")
    port = str(free_port())
    server = [
        *WITHOUT_PROJECT, f"PYSPARK_PYTHON={workers_python}", str(PROGRAMS / "spark-submit"), "--master", master,
        "--driver-memory", "512m", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--conf", "spark.executor.memory=512m",
        "--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.log.level=INFO", "spark-internal",
    ]  # fmt: skip
    client = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_REMOTE": f"sc://127.0.0.1:{port}"}
    job = ["--snapshot", snapshot, "--output", tmp_path / "out", "--split-bytes", "100 kB"]
    with running(server, "Spark Connect server started", seconds=180):
        done = subprocess.run(
            [sys.executable, ROOT / "extract.py", *job], env=client, cwd=tmp_path, capture_output=True, text=True, timeout=570,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert published(tmp_path / "out") == ROWS
