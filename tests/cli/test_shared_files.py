"""Files that handles share count once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.test_cli import ROOT, Out, out

__all__ = ["out"]  # a fixture

SHARED = ROOT.parent / "shared" / "reports" / "unaligned-merged-file-counted-often" / "job"


def of(path: Path) -> str:
    if not path.exists():
        pytest.skip("the reports are not here")
    return str(path)


def test_a_file_that_handles_share_counts_once(out: Out) -> None:
    rows = out.json("files", of(SHARED))
    (shared,) = {row["file_path"] for row in rows if row["handle_kind"].endswith("channels")}
    sharing = [row for row in rows if row["file_path"] == shared]
    assert [row["size_in_bytes"] for row in sharing] == [284_262, 335_981, 31_665, 8, 34_652, 8, 17]
    assert {row["stream_size_in_bytes"] for row in sharing} == {686_597}
    _, text, _ = out("files", str(SHARED))
    assert text.splitlines()[-1].startswith("13 streams (19 references to them), 736.6 kB, in ")
    # As inspect says.
    sizes = sum(o["operator_total_size_in_bytes"] for o in out.json("inspect", str(SHARED))["operators"])
    assert sum(row["size_in_bytes"] for row in rows) == sizes


def test_a_missing_file_that_handles_share_is_one(out: Out, tmp_path: Path) -> None:
    shutil.copytree(of(SHARED), tmp_path / "job")
    next((tmp_path / "job" / "chk-2").glob("*-*")).unlink()
    code, _, err = out("files", str(tmp_path / "job"))
    assert (code, err) == (1, "Error: 1 of 3 files is missing, or not as large as it should be.\n")
    assert "1 of 3 files is missing" in " ".join("".join(out("inspect", str(tmp_path / "job"))[1:]).split())
