"""``check`` against the project's own restores (``golden.tar.xz``): every change of ``cells.py`` was run in a MiniCluster."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stateextract import open_snapshot
from stateextract.outcome import Verdict
from tests.restore.cells import cells

ARCHIVE = Path(__file__).parent / "golden.tar.xz"

with tarfile.open(ARCHIVE) as archive:
    entry = archive.extractfile("rows.json")
    assert entry is not None
    ROWS: list[dict[str, Any]] = json.loads(entry.read())

UNKNOWN = {("kryo_list", "1.20.5", "2.3.0")}
"""Flink loses elements; whether Kryo 5 does, or fails, depends on the elements."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("restores")
    with tarfile.open(ARCHIVE) as found:
        found.extractall(made, filter="data")
    return made


def checked(folder: Path, row: dict[str, Any], against: bool, new: bool, old: bool) -> Verdict:
    """The verdict of the whole job, by some of the inputs."""

    def classes(side: str, wanted: bool) -> list[str]:
        place = folder / "classes" / side / row["cell"]
        return [str(place)] if wanted and place.is_dir() else []

    savepoints = folder / "savepoints" / row["cell"]
    snapshot = open_snapshot(str(savepoints / f"{row['from']}-{row['backend']}"), classpath=classes("old", old))
    fresh = open_snapshot(str(savepoints / f"{row['to']}-fresh")) if against else None
    report = snapshot.check(fresh, classpath=classes("new", new), flink=row["to"], backend=row["backend"])
    return report.verdict


def test_the_archive_has_all_changes() -> None:
    assert Counter(row["cell"] for row in ROWS) == dict.fromkeys((cell.name for cell in cells()), 6)
    assert {row["truth"] for row in ROWS} == {v.value for v in Verdict} - {Verdict.UNKNOWN.value}
    assert {(row["from"], row["to"]) for row in ROWS} == {("1.20.5", "1.20.5"), ("2.3.0", "2.3.0"), ("1.20.5", "2.3.0")}


@pytest.mark.parametrize("cell", dict.fromkeys(row["cell"] for row in ROWS))
def test_a_change_is_judged_as_flink_judged_it(folder: Path, cell: str) -> None:
    for row in (row for row in ROWS if row["cell"] == cell):
        unknown = (cell, row["from"], row["to"]) in UNKNOWN
        expected = Verdict.UNKNOWN if unknown else row["truth"]
        assert checked(folder, row, against=True, new=True, old=True) == expected, row
        less = ((True, False, False), (True, True, False)) if row["from"] != row["to"] else ()
        for against, new, old in less:
            found = checked(folder, row, against, new, old)
            assert found in (row["truth"], Verdict.UNKNOWN), (row, against, new, old)
