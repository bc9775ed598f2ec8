"""``stateextract history``: a dataset that grows by a file for each snapshot, and growth over all of it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stateextract.audit.history.history_files import read_history
from tests.cli.test_cli import Out, out
from tests.golden.expected import DATA, load

__all__ = ["out"]  # a fixture

CASES = ("f23-changes-checkpoint", "f23-changes-checkpoint-changelog-rescaled")
"""One job after six and after eight phases: a heap and a changelog, from a job at another parallelism before."""
KINDS = {"text": "value", "numbers": "list", "texts": "map"}


@pytest.fixture
def job(tmp_path: Path) -> list[str]:
    """Both snapshots, the one taken an hour after the other."""
    made = []
    for number, case in enumerate(CASES):
        shutil.copytree(DATA / case, tmp_path / case)
        folder = tmp_path / case / load(DATA / case)["snapshot"]
        os.utime(folder / "_metadata", (1_700_000_000 + 3600 * number,) * 2)
        made.append(str(folder))
    return made


def expected(state: str) -> tuple[int, int]:
    """How many rows the job's own input leaves after six and after eight phases."""
    found = [json.loads((DATA / f"changes-{n}.json").read_text())["changing"][state] for n in (6, 8)]
    return len(found[0]), len(found[1])


def files(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def grown(text: str) -> dict[str, Any]:
    return {one["state_name"]: one for one in json.loads(text)["states"]}


def test_a_golden_pair(out: Out, job: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "history"
    choice = [f"--state={name}" for name in (*KINDS, "ttl-map")]
    code, text, _ = out("history", *job, "-o", str(folder), *choice, "--ttl", "ttl-map=1ms", "--format", "json")
    assert code == 0
    found = json.loads(text)
    assert [(s["checkpoint_id"], s["taken_ms"]) for s in found["snapshots"]] == [
        (3, 1_700_000_000_000), (6, 1_700_003_600_000),
    ]  # fmt: skip
    by_state = grown(text)
    assert set(by_state) == {*KINDS, "ttl-map"}
    for name, kind in KINDS.items():
        one, (first, last) = by_state[name], expected(name)
        assert (one["operator_label"], one["state_kind"], one["new"], one["gone"]) == ("changing", kind, False, False)
        assert one["rows"] == {"first": first, "last": last, "change": last - first}
    assert [(name, *expected(name)) for name in KINDS] == [("text", 15, 14), ("numbers", 17, 15), ("texts", 17, 15)]
    sums = [sum(s["rows"][side] for s in found["states"]) for side in ("first", "last", "change")]
    assert found["totals"]["rows"] == dict(zip(("first", "last", "change"), sums, strict=True))
    changes = [one["decoded_bytes"]["change"] for one in found["states"]]
    assert changes == sorted(changes, reverse=True)
    # In the dataset there is what stats knows, as of the moment of each snapshot.
    rows = {(r["checkpoint_id"], r["state_name"]): r for r in pq.read_table(folder).to_pylist()}
    assert {r["as_of_ms"] for r in rows.values()} == {1_700_000_000_000, 1_700_003_600_000}
    assert [(rows[n, "text"]["row_count"], rows[n, "text"]["operator_parallelism"]) for n in (3, 6)] == [(15, 2), (14, 2)]
    assert [c["name"] for c in rows[3, "text"]["columns"]] == ["key", "value"]
    assert rows[3, "ttl-map"]["ttl_ms"] == 1
    assert rows[3, "mean"]["status"] == "not selected"
    assert rows[3, "mean"]["row_count"] is None


def test_a_dataset_grows(out: Out, job: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "history"
    run = ["-o", str(folder), "--state", "text"]
    _, text, _ = out("history", job[0], *run)
    assert text.splitlines()[-1] == f"{folder} has 1 snapshot, checkpoint 3; 1 of them written now."
    before = files(folder)
    shutil.rmtree(job[0])  # what is in the dataset is not read again
    _, text, _ = out("history", job[1], *run)
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["operator", "state", "rows", "first", "last", "change", "decoded", "first", "last", "change"]
    assert lines[1][:5] == ["changing", "text", "15", "14", "-1"]
    assert lines[2][:4] == ["all", "15", "14", "-1"]
    assert text.splitlines()[-1] == f"{folder} has 2 snapshots, checkpoint 3 to checkpoint 6; 1 of them written now."
    after = files(folder)
    assert len(after) == 2
    assert before.items() <= after.items()
    # The same snapshot again replaces its file, unless it is to be left out.
    out("history", job[1], *run)
    again = files(folder)
    assert set(again) == set(after)
    assert again != after
    _, text, _ = out("history", job[1], *run, "--skip-existing")
    assert text.splitlines()[-1].endswith("checkpoint 3 to checkpoint 6; none of them written now.")
    assert files(folder) == again
    # A copy is the same snapshot.
    copy = shutil.copytree(tmp_path / CASES[1], tmp_path / "copy") / Path(job[1]).relative_to(tmp_path / CASES[1])
    assert out("history", str(copy), *run)[0] == 0
    assert set(files(folder)) == set(again)
    assert read_history(str(folder))[1].snapshot.path == f"{copy}/_metadata"


def test_a_folder_of_snapshots(out: Out, job: list[str], tmp_path: Path) -> None:
    both = Path(job[1]).parent
    shutil.copytree(job[0], both / "chk-3")
    (both / "chk-7").mkdir()
    (both / "chk-7" / "_metadata").touch()  # it is being written
    folder = tmp_path / "history"
    code, _, _ = out("history", str(both), "-o", str(folder), "--state", "text", "--workers", "1", "--top", "1")
    assert code == 0
    recorded = read_history(str(folder))
    assert [one.snapshot.checkpoint_id for one in recorded] == [3, 6]
    (state,) = (state for _, state in recorded[1].document().states if state.state_name == "text")
    assert (state.rows, len(state.biggest_values)) == (14, 1)


def test_a_copy_that_lost_its_time(out: Out, job: list[str], tmp_path: Path) -> None:
    os.utime(Path(job[1]) / "_metadata", (1, 1))
    _, text, _ = out("history", *job, "-o", str(tmp_path / "history"), "--state", "text")
    assert text.splitlines()[-2].endswith("checkpoint 3 to checkpoint 6; 2 of them written now.")
    assert text.splitlines()[-1] == (
        "Note: by the times of their files checkpoint 6 was written before checkpoint 3: "
        "the files were copied, or the job began anew."
    )


def test_one_that_cannot_be_read_does_not_stop_the_others(out: Out, job: list[str], tmp_path: Path) -> None:
    (Path(job[0]) / "_metadata").write_bytes(b"nothing")
    folder = tmp_path / "history"
    paths = ("foo://there/x", job[0], str(tmp_path / "none"), job[1])
    for number in ("1", "none"):
        code, text, error = out("history", *paths, "-o", str(folder), "--state", "text", "--skip-existing")
        assert code == (3 if number == "1" else 1)
        assert text.splitlines()[-1] == f"{folder} has 1 snapshot, checkpoint 6; {number} of them written now."
        assert [line.split(":")[0] for line in error.splitlines()] == ["Error"] * 3
        assert "foo:// is not the scheme of a supported store" in error
        assert "none does not exist" in error
        assert f"{job[0]}/_metadata" in error


def test_mistakes(out: Out, job: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "history"
    code, _, error = out("history", job[0], "-o", str(folder), "--ttl", "nothing=1d")
    assert (code, job[0] in error) == (2, True)
    assert "a time to live is given for 'nothing'" in error
    code, _, error = out("history", job[0], "-o", f"{folder}/checkpoint-3.parquet")
    assert (code, "is a file; expected the folder of the dataset" in error) == (2, True)
    folder.mkdir()
    (folder / "other.parquet").write_text("nothing")
    code, _, error = out("history", str(tmp_path / "none"), "-o", str(folder))
    assert (code, "this is not a file of a history" in error) == (2, True)
    code, _, error = out("history", str(tmp_path / "none"), "-o", str(tmp_path / "new"))
    assert (code, "does not exist" in error) == (1, True)
    assert not (tmp_path / "new").exists()
