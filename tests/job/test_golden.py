"""Whole jobs over the golden snapshots: as many rows as the Flink jobs wrote, in files that every reader takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow.dataset
import pytest

from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions
from tests.golden.expected import DATA, load

# The files of a claimed savepoint are not where its checkpoint says. golden/test_pyflink.py has the Table API, without uids.
FOLDERS = sorted(
    path
    for path in DATA.iterdir()
    if path.is_dir() and not path.name.endswith("-claimed-savepoint") and "-pyflink-tables-" not in path.name
)
# Four snapshots go through all readers; the others are counted only.
READ_BY_ALL = ("f120-kinds-checkpoint", "f120-types-checkpoint", "f23-windows-native-snappy", "f23-records-checkpoint")


def _extract(folder: Path, output: Path, **more: Any) -> JobResult:
    snapshot = folder / load(folder)["snapshot"]
    # The extremes of the golden rows: dates beyond any column, and (by name) maps with a null key.
    more.setdefault("maps", "list" if "types" in folder.name else "map")
    lenient = {"on_undecodable": "skip", "out_of_range": "null"}
    options = JobOptions(snapshot=str(snapshot), output=str(output), **lenient, **more)
    return run_job(options, in_this_process)


def _counts(outcome: JobResult) -> dict[tuple[str, str], tuple[int, str]]:
    return {
        (str(e.operator_id), str(e.state)): (e.read.rows, e.status) for e in outcome.coverage.entries if e.state is not None
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_every_row_is_there(folder: Path, tmp_path: Path) -> None:
    counts = _counts(_extract(folder, tmp_path / "out"))
    compared = 0
    for operator in load(folder)["operators"]:
        for state in operator["states"] if operator["uid"] else ():
            key = (operator_id(operator["uid"]), state["name"])
            if key not in counts and "changelog" in folder.name:
                # A changelog without a materialized part knows of no state that never changed.
                assert not state["rows"]
                continue
            rows, status = counts[key]
            if status != "decoded":
                continue
            # A key of a MAP state whose map is empty is left out by default.
            empty = [row for row in state["rows"] if state["kind"] == "MAP" and row["value"] == {"$map": []}]
            assert rows == len(state["rows"]) - len(empty), state["name"]
            compared += 1
    assert compared


@pytest.mark.parametrize("name", READ_BY_ALL)
def test_duckdb_and_polars_read_every_dataset(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for dataset in _extract(DATA / name, out).manifest.datasets:
        files = str(out / dataset.folder / "*.parquet")
        assert len(duckdb.sql(f"select * from read_parquet('{files}')").fetchall()) == dataset.rows
        frame = polars.read_parquet(files)
        assert frame.height == dataset.rows
        assert frame.columns == [column["name"] for column in dataset.schema]


@pytest.mark.spark
def test_spark_reads_every_type_of_dataset(tmp_path: Path, spark: Any) -> None:
    """Of datasets with columns of the same types the first one."""
    read = set()
    for name in READ_BY_ALL:
        out = tmp_path / name
        for dataset in _extract(DATA / name, out).manifest.datasets:
            types = tuple(column["type"] for column in dataset.schema)
            if types in read:
                continue
            read.add(types)
            frame = spark.read.parquet(str(out / dataset.folder))
            assert frame.columns == [column["name"] for column in dataset.schema]
            # As Arrow: Python has no dates before the year 1.
            assert frame.toArrow().num_rows == dataset.rows
    assert len(read) > 60


def test_flattened_output_has_a_row_per_element(tmp_path: Path) -> None:
    folder = DATA / "f120-kinds-checkpoint"
    outcome = _extract(folder, tmp_path / "out", flatten=True)
    counts, compared = _counts(outcome), 0
    for operator in load(folder)["operators"]:
        for state in operator["states"]:
            if state["kind"] not in ("LIST", "MAP"):
                continue
            values = [r["value"]["$map"] if isinstance(r["value"], dict) else r["value"] for r in state["rows"]]
            assert counts[operator_id(operator["uid"]), state["name"]] == (sum(map(len, values)), "decoded")
            compared += 1
    assert compared >= 2
    for dataset in outcome.manifest.datasets:
        assert pyarrow.dataset.dataset(tmp_path / "out" / dataset.folder).count_rows() == dataset.rows
