"""Every state of every golden snapshot: the data source gives the rows and types of the extract job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from stateextract.job.execute import in_this_process
from stateextract.job.output_manifest import Dataset
from stateextract.job.run import JobResult, run_job
from stateextract.options import JobOptions
from stateextract.outcome import Status
from stateextract.state.kinds import OPERATOR_KINDS
from tests.golden.test_rows import CASES, DATA
from tests.golden.test_rows import load as expected
from tests.spark.sources import load

KRYO_JAR = str(DATA.parent / "kryo.jar")
TIMERS = "all timers of the operator"


def jars(case: str) -> tuple[str, ...]:
    """The job's classes, where types cannot be told without: parsing them takes longer than planning all else."""
    return (KRYO_JAR,) if "-kryo-" in case else ()


def settings(case: str) -> dict[str, Any]:
    """What the golden extremes need: times beyond any column, maps with null keys, values that nobody can read."""
    return {"out_of_range": "null", "on_undecodable": "skip", "maps": "list" if "types" in case else "map"}


def extract(case: str, output: Path, **more: Any) -> JobResult:
    snapshot = str(DATA / case / expected(case)["snapshot"])
    options = JobOptions(snapshot=snapshot, output=str(output), classpath=jars(case), **settings(case), **more)
    return run_job(options, in_this_process)


def source_options(case: str, dataset: Dataset) -> dict[str, Any]:
    """Options of the source that mean the dataset of a job."""
    own = {"".join([h, *(p.capitalize() for p in rest)]): v for (h, *rest), v in
           ((name.split("_"), value) for name, value in settings(case).items())}  # fmt: skip
    options = {"operatorId": dataset.operator_id, "classpath": ",".join(jars(case)), **own}
    if dataset.state_role == TIMERS:
        return options | {"readTimers": True}
    scope = "operator" if dataset.state_kind in OPERATOR_KINDS else "keyed"
    return options | {"stateName": dataset.state_name, "stateScope": scope}


def tables(outcome: JobResult, output: Path) -> Iterator[tuple[Dataset, pa.Table]]:
    """The job's datasets as they were written, in the order of the splits."""
    for dataset in outcome.manifest.datasets:
        files = [pq.ParquetFile(output / f.path).read() for f in sorted(dataset.files, key=lambda f: f.path)]
        yield dataset, pa.concat_tables(files)


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Equal, in any order; NaN is NaN here."""
    if one.equals(other):
        return True
    return sorted(map(repr, one.to_pylist())) == sorted(map(repr, other.to_pylist()))


def check(case: str, output: Path, **more: Any) -> int:
    path = DATA / case / expected(case)["snapshot"]
    compared = 0
    extra = {"flattenCollectionTypes": True} if more else {}
    outcome = extract(case, output, **more)
    skipped = {e.operator_id for e in outcome.coverage.entries if e.status == Status.SKIPPED}
    for dataset, written in tables(outcome, output):
        if dataset.state_role == TIMERS and (extra or (dataset.operator_id in skipped and not dataset.rows)):
            # The source refuses to show no timers where some may be missing.
            continue
        loaded = load(path, **source_options(case, dataset), **extra)
        assert loaded.schema == from_arrow_schema(written.schema.remove_metadata()), dataset
        found = loaded.table()
        assert found.num_rows == dataset.rows
        assert same_rows(found, written.cast(found.schema)), dataset
        compared += 1
    return compared


MARKS = {"-kryo-": pytest.mark.long, **dict.fromkeys(("-types-", "-avro-", "-scala-"), pytest.mark.slow)}
BY_SIZE = [pytest.param(case, marks=[mark for word, mark in MARKS.items() if word in case]) for case in CASES]


@pytest.mark.parametrize("case", BY_SIZE)
def test_rows_and_types_of_the_job(case: str, tmp_path: Path) -> None:
    assert check(case, tmp_path / "out") >= 1


@pytest.mark.parametrize("case", ["f113-kinds-checkpoint", "f23-async-checkpoint"])
def test_flattened(case: str, tmp_path: Path) -> None:
    assert check(case, tmp_path / "out", flatten=True) >= 1


def test_without_a_state_name_where_there_is_one_state() -> None:
    path = DATA / "f23-keys-native-snappy" / expected("f23-keys-native-snappy")["snapshot"]
    assert (
        load(path, operatorUid="by-tuple").table().equals(load(path, operatorUid="by-tuple", stateName="sum").table())
    )
