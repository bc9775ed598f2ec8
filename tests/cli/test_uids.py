"""``uids``: names for the operators of Flink 1, whose snapshots have only hashes of their uids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.cli import run
from stateextract.metadata.uid import operator_id
from stateextract.snapshot.source import SnapshotSource
from stateextract.spark.source_options import DIFF_OPTIONS, METADATA_OPTIONS, STATE_OPTIONS, job_options, parse_options

ROOT = Path(__file__).parents[2]
(KINDS,) = (str(p.parent.relative_to(ROOT)) for p in (ROOT / "tests/golden/data/f113-kinds-checkpoint").rglob("_metadata"))
ID = operator_id("all-kinds")
WORKERS = ["--workers", "1"]


@pytest.fixture
def uids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(ROOT)
    path = tmp_path / "uids.txt"
    path.write_text("# those of the job\nall-kinds\nanother\n")
    return str(path)


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_without_uids_there_are_hashes(uids: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert {row["operator_uid"] for row in document(capsys, "states", KINDS)} == {None}


def test_commands(uids: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--uids", uids]
    for command in (["states"], ["files"], ["schema"], ["count"]):
        rows = document(capsys, *command, KINDS, *given)
        assert {row["operator_uid"] for row in rows if row["operator_id"] == ID} == {"all-kinds"}, command
    inspected = document(capsys, "inspect", KINDS, *given)
    assert [o["operator_label"] for o in inspected["operators"] if o["operator_id"] == ID] == ["all-kinds"]
    chosen = ["--operator", "all-kinds", "--state", "value-long"]
    assert document(capsys, "head", KINDS, *given, *chosen)["operator_uid"] == "all-kinds"
    assert document(capsys, "get", KINDS, *given, *chosen, "--key", "plain")["operator_label"] == "all-kinds"
    checked = document(capsys, "validate", KINDS, *given)
    assert "all-kinds" in {state["operator_label"] for state in checked["states"]}
    measured = document(capsys, "stats", KINDS, *given, *chosen, *WORKERS)
    assert [o["operator_uid"] for o in measured["operators"] if o["operator_id"] == ID] == ["all-kinds"]
    compared = document(capsys, "diff", KINDS, KINDS, *given, *chosen, *WORKERS)
    assert {state["operator_label"] for state in compared["states"]} == {"all-kinds"}


def test_the_job_and_its_file(uids: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.toml").write_text(f'[input]\nuids = "{uids}"\nstate = ["value-long"]\n')
    arguments = ["--config", str(tmp_path / "job.toml"), "--engine", "local", *WORKERS, "-o", str(tmp_path / "out")]
    extracted = document(capsys, "extract", KINDS, *arguments)
    assert [(d["operator_uid"], d["folder"]) for d in extracted["datasets"]] == [("all-kinds", "all-kinds/value-long")]


def test_python_and_spark(uids: str) -> None:
    snapshot = stateextract.open_snapshot(KINDS, uids=uids)
    assert {o.id: o.uid for o in snapshot.operators}[ID] == "all-kinds"
    for options in (STATE_OPTIONS, METADATA_OPTIONS, DIFF_OPTIONS):
        values = parse_options({"path": KINDS, "uids": uids} if options is not DIFF_OPTIONS else {"uids": uids}, options, "s")
        job = job_options({"path": KINDS, **values}, options)
        assert {o.id: o.uid for o in SnapshotSource(job).metadata.operators}[ID] == "all-kinds"


def test_a_file_that_cannot_be_read(capsys: pytest.CaptureFixture[str], uids: str) -> None:
    assert run(["states", KINDS, "--uids", f"{uids}-none"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_files_that_windows_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They begin with a byte order mark and have two characters at the end of a line."""
    monkeypatch.chdir(ROOT)

    def written(name: str, *lines: str) -> str:
        (tmp_path / name).write_bytes(("\ufeff" + "".join(f"{line}\r\n" for line in lines)).encode())
        return str(tmp_path / name)

    rows = document(capsys, "states", KINDS, "--uids", written("uids.txt", "all-kinds"))
    assert {row["operator_uid"] for row in rows if row["operator_id"] == ID} == {"all-kinds"}
    shop = ("examples/orders-checkpoint", "--operator", "orders-by-customer", "--state", "order-ids")
    (count,) = document(capsys, "count", *shop, "--config", written("job.toml", "[output]", "flatten = true"))
    assert count["rows"] == 200
    given = ["--names", written("names.json", '{"operator": {}}')]
    assert document(capsys, "count", *shop, *given)[0]["rows"] == 5
    rules = written("rules.toml", "[[rules]]", 'name = "few"', 'state = "voucher"', "max-rows = 1")
    assert run(["audit", shop[0], "--rules", rules]) == 5
