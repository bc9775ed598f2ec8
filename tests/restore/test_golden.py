"""``check`` against the project's own restores (``golden.tar.xz``): every change of ``cells.py`` was run in a MiniCluster."""

from __future__ import annotations

import json
import re
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

RELEASES = list(dict.fromkeys((row["from"], row["to"]) for row in ROWS))
UNKNOWN = {("kryo_list", "1.20.5", "2.3.0"), *(("kryo_field_removed", *release) for release in RELEASES)}
"""Flink loses elements of a list; whether Kryo 5 does, or fails, depends on the elements. A field that a class of Kryo loses
is read by chance: it is the last one."""
BY_CLASSES = {
    cell.name for cell in cells() if re.sub("Object value.*", "", cell.old.job) == re.sub("Object value.*", "", cell.new.job)
}
"""Changes of classes only. With classes only, ``check`` assumes that the job declares the same states, and says so."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("restores")
    with tarfile.open(ARCHIVE) as found:
        found.extractall(made, filter="data")
    return made


def checked(folder: Path, row: dict[str, Any], against: bool, new: bool, old: bool) -> Verdict:
    """The verdict of the whole job, by some of the inputs."""

    def classes(side: str, wanted: bool) -> list[str]:
        given = folder / "classes" / side / row["cell"]
        given.mkdir(parents=True, exist_ok=True)  # A job may have no class of its own left.
        return [str(given)] if wanted else []

    savepoints = folder / "savepoints" / row["cell"]
    snapshot = open_snapshot(str(savepoints / f"{row['from']}-{row['backend']}"), classpath=classes("old", old))
    fresh = open_snapshot(str(savepoints / f"{row['to']}-fresh")) if against else None
    report = snapshot.check(fresh, classpath=classes("new", new), flink=row["to"], backend=row["backend"])
    return report.verdict


def test_the_archive_has_all_changes() -> None:
    assert Counter(row["cell"] for row in ROWS) == dict.fromkeys((cell.name for cell in cells()), 6)
    assert {row["truth"] for row in ROWS} == {v.value for v in Verdict} - {Verdict.UNKNOWN.value}
    assert RELEASES == [("1.20.5", "1.20.5"), ("2.3.0", "2.3.0"), ("1.20.5", "2.3.0")]


@pytest.mark.parametrize("cell", dict.fromkeys(row["cell"] for row in ROWS))
def test_a_change_is_judged_as_flink_judged_it(folder: Path, cell: str) -> None:
    for row in (row for row in ROWS if row["cell"] == cell):
        unknown = (cell, row["from"], row["to"]) in UNKNOWN
        expected = Verdict.UNKNOWN if unknown else row["truth"]
        assert checked(folder, row, against=True, new=True, old=True) == expected, row
        less = [(True, False, False), (True, True, False), (False, True, False), (False, True, True)]
        for against, new, old in less[: 4 if cell in BY_CLASSES else 2]:
            found = checked(folder, row, against, new, old)
            assert found in (row["truth"], Verdict.UNKNOWN), (row, against, new, old)
