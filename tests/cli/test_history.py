"""``stateextract history``: a folder stands for the snapshots in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from stateextract.audit.history import read_history
from stateextract.cli import run

ORDERS = Path(__file__).resolve().parents[2] / "examples" / "orders-checkpoint" / "chk-2"


def test_a_folder_of_snapshots(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("chk-1", "chk-2"):
        shutil.copytree(ORDERS, tmp_path / "job" / name)
    file = str(tmp_path / "history.parquet")
    code = run(["history", str(tmp_path / "job"), "-o", file, "--state", "voucher", "--output", "json"])
    assert code == 0
    grown = {row["state"]: row["rows"] for row in json.loads(capsys.readouterr().out)}
    assert grown["voucher"] == [5, 5]
    table = read_history(file)
    assert len(set(table["snapshot_path"].to_pylist())) == 2
    assert sum(table["row_count"].to_pylist()) == 10
