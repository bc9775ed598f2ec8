"""Type wishes of a job: from the job file to the Parquet files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from stateextract.errors import UsageError, ValueRefusedError
from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.options import JobOptions, from_lines, parse_file
from tests.job.snapshots import TUPLE, numbered, write_snapshot


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    return write_snapshot(tmp_path / "s", {"op": {"a": numbered(8), "b": numbered(4)}}, values={"b": TUPLE})


def run(snapshot: Path, output: Path, *types: str, **more: Any) -> JobResult:
    return run_job(JobOptions(snapshot=str(snapshot), output=str(output), types=types, **more), in_this_process)


def column(output: Path, state: str, name: str) -> pa.ChunkedArray:
    (folder,) = {path.parent for path in output.rglob("*.parquet") if path.parent.name == state}
    return ds.dataset(folder, format="parquet").to_table()[name]


def test_wishes_reach_the_files(snapshot: Path, tmp_path: Path) -> None:
    run(snapshot, tmp_path / "natural")
    run(snapshot, tmp_path / "wished", "op/a/value=decimal(20,2)", "name of op/b/key=string", "*/b/value=json")
    natural, overridden = (column(tmp_path / run_, "a", "value") for run_ in ("natural", "wished"))
    assert overridden.type == pa.decimal128(20, 2)
    assert sorted(overridden.to_pylist()) == sorted(Decimal(v) for v in natural.to_pylist())
    assert len(overridden) == 8
    assert sorted(column(tmp_path / "wished", "b", "key").to_pylist()) == ["0", "1", "2", "3"]
    assert sorted(column(tmp_path / "wished", "b", "value").to_pylist()) == [f'{{"f0":{10 * i}}}' for i in range(4)]


def test_a_value_that_does_not_fit_stops_a_strict_job(snapshot: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueRefusedError, match="of the column value does not fit the wanted type") as caught:
        run(snapshot, tmp_path / "out", "op/a/value=bool", strict=True)
    assert caught.value.state == "a"
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_a_value_that_does_not_fit_leaves_out_its_state(snapshot: Path, tmp_path: Path) -> None:
    outcome = run(snapshot, tmp_path / "out", "op/a/value=bool", split_bytes=1)  # so that some splits have no such value
    a, b = outcome.coverage.entries
    assert (a.state, a.status, a.read.rows, a.folder) == ("a", "skipped", 0, None)
    assert str(a.reason).startswith("the value 10 of the column value does not fit the wanted type bool")
    assert (b.state, b.status, b.read.rows) == ("b", "decoded", 4)
    assert outcome.exit_code == 3
    assert {path.parent.name for path in (tmp_path / "out").rglob("*.parquet")} == {"b"}
    assert [dataset.state_name for dataset in outcome.datasets] == ["b"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("op/c/value=string", "no selected state has this name"),
        ("other/a/value=string", "no selected state has this name"),
        ("op/a/other=string", "leads nowhere"),
        ("op/a/value=text", "is not a type"),
    ],
)
def test_mistakes(snapshot: Path, tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run(snapshot, tmp_path / "out", line)


def test_job_file() -> None:
    values = parse_file('[types]\n"op/a/value.x" = "decimal(38,10)"\n"o=p/b/key" = "json"\n')
    assert values == {"types": ("op/a/value.x=decimal(38,10)", "o=p/b/key=json")}
    options = JobOptions(snapshot="s", output="o", **values)
    assert from_lines(options.lines()) == options
    with pytest.raises(UsageError, match="Put quotes around"):
        parse_file('[types]\nop.a = "string"\n')
