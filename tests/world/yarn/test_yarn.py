"""The extract job on YARN, in client and in cluster mode, with HDFS as store and output.

The executors have the requirements in a packed environment, and not the project. In cluster mode that holds for the driver
too, and the URIs have no address: HDFS is that of the configuration that Spark sends along.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stateextract.job.execute import in_this_process
from stateextract.job.output import Output, open_output
from stateextract.job.output_manifest import parse_manifest
from stateextract.job.run import run_job
from stateextract.options import JobOptions
from tests.conftest import ROOT
from tests.world.components import component
from tests.world.hdfs.mini_cluster import MiniCluster, mini_cluster

pyspark = pytest.importorskip("pyspark")
pytestmark = pytest.mark.world

SNAPSHOT = ROOT / "examples" / "orders-checkpoint"
SUBMIT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from stateextract.spark.submit import main; sys.exit(main())"
PACKED = "./packed/bin/python"
CONFIGURATION = "./__spark_conf__/__hadoop_conf__"
MODES = {
    "client": [],
    "cluster": [
        "--deploy-mode", "cluster", "--conf", f"spark.yarn.appMasterEnv.PYSPARK_PYTHON={PACKED}",
        "--conf", f"spark.yarn.appMasterEnv.HADOOP_CONF_DIR={CONFIGURATION}",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    with mini_cluster(tmp_path_factory.mktemp("cluster"), "yarn") as found:
        target = open_output(f"hdfs://{found.address}/orders")
        for file in SNAPSHOT.rglob("*"):
            if file.is_file():
                target.write(target.path(str(file.relative_to(SNAPSHOT))), file.read_bytes())
        yield found


def datasets(output: Output) -> dict[str, list[str]]:
    """By directory: the rows of an output as text, sorted."""
    manifest = parse_manifest(output.read(output.path("_manifest.json")), "_manifest.json")
    found = {}
    for dataset in manifest.datasets:
        files = [pq.read_table(pa.BufferReader(output.read(output.path(file.path)))) for file in dataset.files]
        found[dataset.folder] = sorted(map(str, pa.concat_tables(files).to_pylist()))
    return found


@pytest.mark.parametrize("mode", MODES)
def test_the_job(mode: str, cluster: MiniCluster, tmp_path: Path) -> None:
    packed = component("yarn")
    assert not list((packed / "packed").glob("lib/*/site-packages/*stateextract*"))
    archive = tmp_path / "stateextract.zip"
    subprocess.run([sys.executable, "-m", "stateextract.spark.archive", str(archive)], cwd=ROOT, check=True)
    store = f"hdfs://{cluster.address}" if mode == "client" else "hdfs://"
    jars = Path(pyspark.__file__).parent / "jars"
    command = [
        sys.executable, "-c", SUBMIT, str(ROOT), "--master", "yarn", *MODES[mode], "--py-files", str(archive),
        "--archives", f"{packed}/packed.tar.gz#packed", "--num-executors", "1", "--executor-memory", "512m",
        "--driver-memory", "512m", "--conf", f"spark.executorEnv.PYSPARK_PYTHON={PACKED}",
        "--conf", f"spark.executorEnv.HADOOP_CONF_DIR={CONFIGURATION}", "--conf", f"spark.yarn.jars=local:{jars}/*",
        "--", "--snapshot", f"{store}/orders", "--output", f"{store}/{mode}", "--ship-code", "never",
    ]  # fmt: skip
    variables = {**os.environ, "HADOOP_CONF_DIR": str(cluster.conf), "SPARK_LOCAL_IP": "127.0.0.1"}
    variables.pop("PYTHONPATH", None)  # Spark would send it to the executors
    variables.pop("PYSPARK_PYTHON", None)
    if mode == "client":
        variables["PYSPARK_PYTHON"] = PACKED
    done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-5000:]
    outcome = run_job(JobOptions(snapshot=str(SNAPSHOT), output=str(tmp_path / "here")), in_this_process)
    assert outcome.exit_code == 0
    here = datasets(open_output(str(tmp_path / "here")))
    assert sum(map(len, here.values())) == 142
    assert datasets(open_output(f"hdfs://{cluster.address}/{mode}")) == here
