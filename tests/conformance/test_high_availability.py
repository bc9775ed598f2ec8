"""High-availability data of real clusters, whose answers are known: which checkpoint a restart takes, and what it holds."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from stateextract.api import open_snapshot
from stateextract.cli import run
from stateextract.errors import SnapshotNotFoundError

HA = Path(os.environ.get("FLINK_HA", Path(__file__).resolve().parents[3] / "shared" / "ha"))
TRUTH: dict[str, Any] = json.loads((HA / "truth.json").read_text()) if (HA / "truth.json").is_file() else {}
DUMPS = ("znodes.json", "configmaps.json", "configmaps.yaml")
INPUTS = [
    (case, name)
    for case in TRUTH
    for name in (*DUMPS, "ha")
    if (HA / case / name).exists() and (name in DUMPS or "files" in case)
]
if not INPUTS:
    pytest.skip("the high-availability data is not there (FLINK_HA)", allow_module_level=True)


def listed(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = run(["checkpoints", str(path), "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("case", "name"), INPUTS)
def test_answers(case: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    truth, folder = TRUTH[case], HA / case
    code, document = listed(folder / name, capsys)
    assert time.monotonic() - begun < 20
    jobs = {job["job_id"]: job for job in document["jobs"]}
    assert set(jobs) == {job["job_id"] for job in truth["jobs"] if job["in_store"]}
    expected_code = 0
    for job in (job for job in truth["jobs"] if job["in_store"]):
        found = jobs[job["job_id"]]
        assert (found["outcome"], found["restores_checkpoint"]) == (job["outcome"], job["latest"])
        assert found["is_guess"] == (name == "ha")
        assert [one["store_entry"] for one in found["skipped"]] == [one["name"] for one in job["skipped"]]
        for one, why in zip(found["skipped"], job["skipped"], strict=True):
            assert one["reason"].startswith(why["why"])
        for one, right in zip(found["checkpoints"], job["checkpoints"], strict=True):
            check(one, right, folder, name == "ha")
        order = [row["checkpoint_id"] for row in document["snapshots"] if row["restore_order"] == 1]
        if len(jobs) == 1:
            assert order == ([job["latest"]] if job["latest"] is not None else [])
        if job["outcome"] == "fails":
            expected_code = 1
        elif job["skipped"] or any(one.get("metadata_present") is False for one in job["checkpoints"]):
            expected_code = max(expected_code, 3)
    assert code == expected_code


def check(one: dict[str, Any], right: dict[str, Any], folder: Path, guess: bool) -> None:
    if not guess:
        assert one["store_entry"] == right["name"]
    if "error" in right:
        assert one["problem"] is not None
        return
    assert (one["problem"], one["checkpoint_id"]) == (None, right["id"])
    assert os.path.relpath(one["file"], folder) == right["file"]
    assert one["external_pointer"] == right["external_pointer"]
    assert one["stored_metadata_path"] == right["metadata"]
    assert one["snapshot_kind"] == ("savepoint" if right["is_savepoint"] else "checkpoint")
    local = one["metadata_path"]
    assert (local and os.path.relpath(local, folder)) == (right["metadata_local"] if right["metadata_present"] else None)


@pytest.mark.parametrize(("case", "name"), INPUTS)
def test_what_would_be_restored_is_read_like_any_other(case: str, name: str) -> None:
    """Rows of the state that the truth counted, in the snapshot that a restart takes; else an error that says why not."""
    truth, path = TRUTH[case], str(HA / case / name)
    for job in truth["jobs"]:
        restored = next((one for one in job["checkpoints"] if "id" in one and one["id"] == job["latest"]), None)
        if restored is None or not restored["metadata_present"]:
            with pytest.raises(SnapshotNotFoundError) as caught:
                open_snapshot(path, job=job["job_id"])
            assert caught.value.advice
            continue
        snapshot = open_snapshot(path, job=job["job_id"])
        assert snapshot.checkpoint_id == restored["id"]
        assert os.path.relpath(snapshot.metadata_path, HA / case) == restored["metadata_local"]
        assert snapshot.operator("keep").state("text").count() == restored["keyed_rows"]
