"""``docs/catalogs.md``: tables of a Hive metastore and of an Iceberg catalog, created from a snapshot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.docs.pages import ROOT, UPDATE, blocks
from tests.sinks.test_backfill import PAGE as BACKFILL
from tests.sinks.test_backfill import SETTINGS, pyspark_of, pyspark_version

PAGE = ROOT / "docs" / "catalogs.md"


@pytest.mark.world
@pytest.mark.slow
@pytest.mark.spark
def test_the_page(tmp_path: Path) -> None:
    pyspark = pyspark_of(pyspark_version(BACKFILL))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in SETTINGS.items()))
    page = tmp_path / PAGE.name
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.world.clusters.run_catalogs", page],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
        env={
            **{k: v for k, v in os.environ.items() if k not in ("SPARK_HOME", "SPARK_REMOTE")},
            "PYTHONPATH": f"{pyspark}{os.pathsep}{ROOT}", "PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(tmp_path),
        },
    )  # fmt: skip
    if "unresolved dependenc" in done.stderr:
        pytest.skip("Spark cannot fetch the packages of Iceberg and SQLite's driver")
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "\tat " not in line)[-4000:]
    if UPDATE:
        PAGE.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    shown = sum(block.language == "text" for block in blocks(PAGE))
    assert done.stdout.splitlines()[-1] == f"{shown} shown as on the page"
    # In the directories that other programs read, too.
    files = ds.dataset(tmp_path / "warehouse" / "hive" / "last_order", format="parquet", partitioning="hive")
    assert sorted(files.to_table(["customer"])["customer"].to_pylist()) == ["alice", "carmen", "elif", "hiroshi", "jonas"]
    assert (tmp_path / "metastore_db").is_dir()
    assert (tmp_path / "catalog.db").is_file()
