"""Statistics and comparisons on Spark are those of this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from stateextract.audit.history import SCHEMA, table_of
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.diff import DiffOptions, run_diff
from stateextract.errors import FormatError
from stateextract.job.execute import in_this_process
from stateextract.options import JobOptions
from stateextract.spark.job import spark_executor
from stateextract.spark.statistics import spark_statistics, statistics_frame
from tests.job.snapshots import numbered, write_snapshot

pytestmark = pytest.mark.spark


def test_figures_and_table(spark: Any, tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "snap", {"op": {"a": numbered(2000), "b": numbered(20)}}, parallelism=4)
    options, question = JobOptions(snapshot=str(folder), split_bytes=300 * 1000), StatisticsOptions(as_of_ms=0)
    found = spark_statistics(spark, options, question)
    assert found == statistics(options, question, in_this_process)
    assert [(state.state_name, state.rows) for _, state in found.states] == [("a", 2000), ("b", 20)]
    frame = statistics_frame(spark, found)
    assert frame.columns == SCHEMA.names
    assert [row.asDict() for row in frame.select("state_name", "row_count", "decoded_bytes").collect()] == (
        table_of([found]).select(["state_name", "row_count", "decoded_bytes"]).to_pylist()
    )


def test_damage_is_placed(spark: Any, tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "snap", {"op": {"a": numbered(64)}}, parallelism=1)
    data = (folder / "op-0").read_bytes()
    size = 4 + 2 + 4 + 8 * 17  # of the last key group: its number, the state's, a count, rows
    (folder / "op-0").write_bytes(data[:-size] + (99).to_bytes(4, "big") + data[4 - size :])
    with pytest.raises(FormatError) as caught:
        spark_statistics(spark, JobOptions(snapshot=str(folder), strict=True))
    assert (caught.value.operator, caught.value.file) == ("op", str(folder / "op-0"))
    ((_, state),) = spark_statistics(spark, JobOptions(snapshot=str(folder))).states
    assert (state.state_name, state.rows, state.status) == ("a", 56, "partial")


def test_a_comparison(spark: Any, tmp_path: Path) -> None:
    rows = numbered(64)
    later = {**rows, 3: [(3, -1), *rows[3][1:]], 4: rows[4][1:], 5: [*rows[5], (69, 690)]}
    folders = [write_snapshot(tmp_path / name, {"op": {"s": rows}}) for name, rows in (("a", rows), ("b", later))]
    before, after = (JobOptions(snapshot=str(folder), split_bytes=1) for folder in folders)
    executors = {"spark": spark_executor(spark), "here": in_this_process}
    found = {name: run_diff(before, after, DiffOptions(), run, str(tmp_path / name)) for name, run in executors.items()}
    assert found["spark"].document() == found["here"].document()
    (state,) = found["spark"].plan.states
    changes = {name: ds.dataset(tmp_path / name / state.folder).to_table().sort_by("key").to_pylist() for name in executors}
    assert [(row["change"], row["key"]) for row in changes["spark"]] == [("changed", 3), ("removed", 4), ("added", 69)]
    assert changes["spark"] == changes["here"]
