"""The reported scripts of ``../shared/hostile``: two jobs that start together, and a killed job with this process's own id.

They run as they are, but for the tasks, which run in this process.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pyarrow.dataset
import pytest

from stateextract.job import execute
from stateextract.job.output_manifest import parse_manifest
from tests.files.test_trust import HOSTILE, ROOT, hostile

SNAPSHOT = str(ROOT / "examples" / "orders-checkpoint")


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(execute, "processes", lambda workers: execute.in_this_process)
    monkeypatch.setattr(sys, "argv", ["repro.py", SNAPSHOT, str(tmp_path / "out")])
    return tmp_path / "out"


def check_whole(output: Path) -> None:
    """Nothing but what the manifest names, with all rows."""
    manifest = parse_manifest((output / "_manifest.json").read_bytes(), "the manifest")
    named = {file.path for dataset in manifest.datasets for file in dataset.files}
    found = {str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()}
    assert found == {*named, "_manifest.json", "_coverage.json", "_SUCCESS"}
    assert {path.name for path in output.iterdir() if path.is_dir()} == {"orders-by-customer", "sales-per-hour"}
    rows = {d.folder: pyarrow.dataset.dataset(output / d.folder).count_rows() for d in manifest.datasets}
    assert rows == {d.folder: d.rows for d in manifest.datasets}
    assert sum(rows.values()) == 142


@hostile
@pytest.mark.parametrize(("publish", "mode"), [("direct", "overwrite"), ("rename", "error")])
def test_race_at_start(publish: str, mode: str, output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second job, which does not see the first one's staging folder, is refused and removes nothing of the first."""
    runpy.run_path(str(HOSTILE / "race-at-start" / "repro.py"))["go"](publish, mode)
    said = capsys.readouterr()
    assert re.findall(r"^[AB] rc \d", said.out, re.MULTILINE) == ["B rc 1", "A rc 0"]
    assert "Error: another job is writing there" in said.err
    assert re.search(
        rf"^{publish} {mode} named 7 missing \[\] unnamed on disk \[\] SUCCESS True$", said.out, re.MULTILINE
    )
    check_whole(output)


@hostile
def test_stale_own_pid(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a killed job left does not stop a process that has the same host name and id, and is gone afterwards."""
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(HOSTILE / "stale-own-pid" / "repro.py"))
    assert ended.value.code == 0
    assert f"Wrote 142 rows in 7 datasets to {output}" in "".join(capsys.readouterr())
    check_whole(output)
