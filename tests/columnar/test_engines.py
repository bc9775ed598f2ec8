"""Little state is read without compiling, by whoever reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stateextract.audit.statistics import plan_statistics
from stateextract.columnar.compiled.compile import Kernel
from stateextract.columnar.compiled.engines import SMALL, TINY, engine_for
from stateextract.diff.diff_plan import DiffOptions, make_diff_plan
from stateextract.job.execute import in_this_process, processes
from stateextract.job.run import run_job
from stateextract.job.split import SplitContext
from stateextract.job.task import compile_once
from stateextract.options import JobOptions
from stateextract.spark.source_plan import SourcePlan, make_source_plan
from tests.job.snapshots import numbered, write_snapshot


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    def say(value: bool) -> None:
        monkeypatch.setattr(Kernel, "is_kept", property(lambda _: value))

    return say


def test_the_choice(kept: Any) -> None:
    import stateextract.columnar.kernel  # noqa: F401  from here on little is read by it too, if it is kept

    kept(False)
    assert [engine_for(size) for size in (0, TINY, SMALL, SMALL + 1)] == ["interpreter"] * 3 + ["auto"]
    kept(True)
    assert [engine_for(size) for size in (0, TINY, SMALL, SMALL + 1)] == ["auto"] * 4


def test_the_job_does_not_compile_for_little(kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = write_snapshot(tmp_path / "s", {"op": {"a": numbered(80)}})
    rows = {}
    for name, value in (("kernel", True), ("interpreter", False)):
        kept(value)
        if not value:
            monkeypatch.setattr(Kernel, "prepare", lambda self: pytest.fail(f"{self.name} is compiled"))
        outcome = run_job(JobOptions(snapshot=str(snapshot), output=str(tmp_path / name)), in_this_process)
        (entry,) = outcome.coverage.entries
        assert (entry.read.engine, entry.decoded_in_python, entry.read.rows) == (name, False, 80)
        rows[name] = pq.read_table(tmp_path / name / "op" / "a")
    assert rows["kernel"] == rows["interpreter"]
    compile_once(SMALL)
    outcome = run_job(JobOptions(snapshot=str(snapshot), output=str(tmp_path / "two"), split_bytes=1000), processes(2))
    assert outcome.coverage.entries[0].read.rows == 80


def test_everybody_knows_how_much_there_is(tmp_path: Path) -> None:
    """Tasks choose for themselves, by the bytes of all splits."""
    snapshot = str(write_snapshot(tmp_path / "s", {"op": {"a": numbered(80)}}))
    job = JobOptions(snapshot=snapshot)
    size = 80 * 17 + 8 * (4 + 2 + 4)
    assert SplitContext.from_bytes(plan_statistics(job).work.context).size == size
    assert make_diff_plan(job, job, DiffOptions()).context.size == 2 * size
    assert SourcePlan.from_bytes(make_source_plan({"path": snapshot}).for_tasks()).size == size
