"""Outputs: which URIs are one, and which place is none."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from stateextract.cli import run
from stateextract.errors import UsageError
from stateextract.job.output import open_output, refuse_inside
from tests.conftest import ROOT
from tests.stores import put_stores_into_memory


def test_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    put_stores_into_memory(monkeypatch)
    stored = open_output("oss://bucket/x/")
    assert (stored.root, stored.renames) == ("/bucket/x", False)
    assert open_output("hdfs:///x//y/").root == "/x/y"
    stored.fs.create_dir(stored.root)
    stored.write(stored.path("f"), b"data")
    assert stored.read_range(stored.path("f"), 1, 2) == b"at"


@pytest.mark.parametrize(
    "uri", ["memory://bucket/x", "s3://u:p@bucket/x", "s3://bucket?scheme=http/x", "s3:/bucket/x", "http://host/x", "gs:///"]
)
def test_what_is_not_a_store(uri: str) -> None:
    with pytest.raises(UsageError, match=r"(is not the scheme of a supported store|is not a valid authority)") as caught:
        open_output(uri)
    assert caught.value.file == uri


@pytest.mark.parametrize(
    ("output", "metadata", "refused"),
    [
        ("s3a://b/job/chk-1", "s3://b/job/chk-1/_metadata", True),
        ("s3://b/job/chk-1/out/", "s3://b/job/chk-1/_metadata", True),
        ("s3://b/job/chk-10", "s3://b/job/chk-1/_metadata", False),
        ("s3://b/job", "s3://b/job/chk-1/_metadata", False),
        ("s3://c/job/chk-1", "s3://b/job/chk-1/_metadata", False),
        ("{}/chk-1", "{}/chk-1/_metadata", True),
        ("{}/chk-1/out", "{}/chk-1/_metadata", True),
        ("{}/link/out", "file:{}/chk-1/_metadata", True),
        ("{}/chk-1/../out", "{}/chk-1/_metadata", False),
        ("{}/chk-1/out", "{}/link/_metadata", True),
    ],
)
def test_an_output_inside_of_the_snapshot(tmp_path: Path, output: str, metadata: str, refused: bool) -> None:
    (tmp_path / "chk-1").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "chk-1")
    output, metadata = (text.format(tmp_path) for text in (output, metadata))
    with pytest.raises(UsageError, match="is inside the snapshot") if refused else contextlib.nullcontext():
        refuse_inside(output, metadata)


@pytest.mark.parametrize(
    "command",
    [
        ["extract", "SNAPSHOT", "--engine", "local", "-o", "SNAPSHOT/out"],
        ["diff", "SNAPSHOT", "SNAPSHOT", "-o", "SNAPSHOT/out"],
        ["history", "SNAPSHOT", "-o", "SNAPSHOT/out"],
        ["report", "SNAPSHOT", "-o", "SNAPSHOT/report.html"],
        ["stats", "SNAPSHOT", "-o", "SNAPSHOT/stats.json"],
    ],
    ids=lambda command: str(command[0]),
)
def test_commands_write_nothing_into_a_snapshot(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    snapshot = ROOT / "examples" / "orders-checkpoint" / "chk-2"
    before = sorted(snapshot.parent.rglob("*"))
    try:
        assert run([part.replace("SNAPSHOT", str(snapshot)) for part in command]) == 2
        assert f"is inside the snapshot {snapshot}. Choose another --output" in " ".join(capsys.readouterr().err.split())
    finally:
        made = [path for path in sorted(snapshot.parent.rglob("*"), reverse=True) if path not in before]
        for path in made:
            path.rmdir() if path.is_dir() else path.unlink()
    assert made == []
