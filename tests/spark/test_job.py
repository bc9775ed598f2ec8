"""The job on Spark: attempts that die, fail, and run twice at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stateextract.errors import FormatError
from stateextract.job.run import JobResult
from stateextract.options import JobOptions
from stateextract.spark.job import extract
from tests.job.differences import differences, write_differences
from tests.job.snapshots import numbered, write_snapshot
from tests.spark.attempts import sabotage

pytestmark = pytest.mark.spark
PLUGIN = "tests.spark.attempts"


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    return write_snapshot(tmp_path / "snap", {"op": {"a": numbered(2000), "b": numbered(20)}}, parallelism=4)


def _extract(spark: Any, snapshot: Path, out: Path, **more: Any) -> JobResult:
    more.setdefault("split_bytes", 300 * 1000)
    return extract(JobOptions(snapshot=str(snapshot), output=str(out), **more), session=spark)


def _check(spark: Any, out: Path) -> None:
    """All rows once: by the manifest, by what lies in the folder, and as Spark reads it."""
    manifest = json.loads((out / "_manifest.json").read_bytes())
    dataset = next(d for d in manifest["datasets"] if d["state_name"] == "a")
    expected = [(i, 10 * i) for i in range(2000)]
    tables = [pq.read_table(out / f["path"]) for f in dataset["files"]]
    rows = [(r["key"], r["value"]) for t in tables for r in t.to_pylist()]
    assert sorted(rows) == expected
    frame = spark.read.parquet(str(out / "op" / "a"))
    assert sorted((r["key"], r["value"]) for r in frame.collect()) == expected
    assert [p.name for p in out.iterdir() if p.name.startswith("_staging")] == []


def test_a_job_on_spark(spark: Any, snapshot: Path, tmp_path: Path) -> None:
    outcome = _extract(spark, snapshot, tmp_path / "out")
    assert outcome.exit_code == 0
    parts = sorted(p.name.split("-")[1] for p in (tmp_path / "out" / "op" / "a").iterdir())
    assert parts == ["00000", "00001", "00002", "00003"], "one task per split"
    _check(spark, tmp_path / "out")


def test_spark_reads_values_that_are_encoded_as_differences(spark: Any, tmp_path: Path) -> None:
    table = differences(20_000)
    frame = spark.read.parquet(str(write_differences(tmp_path, table)))
    # By Spark's vectorized reader of nested columns, and by the other one.
    for vectorized in ("true", "false"):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        try:
            in_order = frame.sort("key")
            # Spark 3.5 has no public name for it.
            found = in_order.toArrow() if hasattr(frame, "toArrow") else pa.Table.from_batches(in_order._collect_as_arrow())
        finally:
            spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
        assert found.cast(table.schema) == table


@pytest.mark.parametrize("publish", ["rename", "direct"])
def test_killed_workers_neither_lose_nor_double_a_row(
    spark: Any, snapshot: Path, tmp_path: Path, publish: str
) -> None:
    sabotage(tmp_path, "kill", [0, 2], times=2)
    _extract(spark, snapshot, tmp_path / "out", publish=publish, plugins=(PLUGIN,))
    assert (tmp_path / "attempt-0-2").exists(), "the worker was killed twice and tried again"
    _check(spark, tmp_path / "out")


@pytest.mark.parametrize("publish", ["rename", "direct"])
def test_doubled_attempts_count_once(spark: Any, snapshot: Path, tmp_path: Path, publish: str) -> None:
    sabotage(tmp_path, "double", [])
    _extract(spark, snapshot, tmp_path / "out", publish=publish, plugins=(PLUGIN,))
    _check(spark, tmp_path / "out")


def test_an_attempt_that_fails_once_is_tried_again(spark: Any, snapshot: Path, tmp_path: Path) -> None:
    sabotage(tmp_path, "fail", [1], times=1)
    _extract(spark, snapshot, tmp_path / "out", plugins=(PLUGIN,))
    _check(spark, tmp_path / "out")


@pytest.mark.parametrize("publish", ["rename", "direct"])
def test_a_job_that_fails_leaves_nothing_and_says_why(
    spark: Any, snapshot: Path, tmp_path: Path, publish: str
) -> None:
    sabotage(tmp_path, "fail", [1], times=99)
    with pytest.raises(FormatError, match="made to fail") as caught:
        _extract(spark, snapshot, tmp_path / "out", publish=publish, plugins=(PLUGIN,))
    assert caught.value.offset == 17
    assert not (tmp_path / "out").exists()


def test_workers_that_die_every_time(spark: Any, snapshot: Path, tmp_path: Path) -> None:
    from stateextract.errors import StateExtractError

    sabotage(tmp_path, "kill", [1], times=99)
    with pytest.raises(StateExtractError, match="the Spark job failed"):
        _extract(spark, snapshot, tmp_path / "out", plugins=(PLUGIN,))
    assert not (tmp_path / "out").exists()


def test_damage_is_reported_with_its_place(spark: Any, snapshot: Path, tmp_path: Path) -> None:
    file = snapshot / "op-3"
    data = bytearray(file.read_bytes())
    data[-38] = 0x7F  # the count of b in the last key group, which has two rows of 17 bytes
    file.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        _extract(spark, snapshot, tmp_path / "out", state=("b",))
    assert (caught.value.file, caught.value.operator, caught.value.key_group) == (str(file), "op", 7)
    assert not (tmp_path / "out").exists()
