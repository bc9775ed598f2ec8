"""``check`` against the project's own restores (``golden.tar.xz``): every change of ``cells.py`` was run in a MiniCluster.

The class path of a job is its whole jar, its classes of data alone, or an empty directory. With none of them may the answer be
"restores" where Flink refused, or where data was lost or changed, but in ``BY_ASSUMPTION``.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from stateextract import open_snapshot
from stateextract.api.snapshot import Snapshot
from stateextract.outcome import Verdict
from stateextract.restore.two_jobs import Report
from tests.restore.cells import cells

ARCHIVE = Path(__file__).parent / "golden.tar.xz"
CELLS = {cell.name: cell for cell in cells()}

with tarfile.open(ARCHIVE) as archive:
    entry = archive.extractfile("rows.json")
    assert entry is not None
    ROWS: list[dict[str, Any]] = json.loads(entry.read())

Path_ = Literal["none", "empty", "data", "jar"]
"""What the class path has."""
RELEASES = list(dict.fromkeys((row["from"], row["to"]) for row in ROWS))
INPUTS: dict[str, tuple[tuple[Path_, ...], bool]] = {
    "jar": (("jar",), False), "both jars": (("jar", "jar"), False), "against": ((), True), "all": (("jar", "jar"), True),
}  # fmt: skip
"""Class paths of the new job and of the old one, and whether there is a snapshot of the new job."""
_ON_KRYO = (
    "kryo_same", "kryo_field_added", "kryo_int_to_long", "kryo_list", "kryo_held_gone", "kryo_field_removed",
    "kryo_field_renamed", "kryo_int_to_string", "kryo_registered", "kryo_no_longer_registered",
)  # fmt: skip
_OUTSIDE = ("state_renamed", "uid_changed", "max_parallelism", "state_not_declared", "oplist_to_broadcast", "oplist_renamed")
_BY_CHANCE = {"kryo_field_removed": 6, "kryo_list": 2, "kryo_held_gone": 2}
UNKNOWN: dict[str, dict[str, int]] = {
    "jar": {
        **dict.fromkeys((*_ON_KRYO, *_OUTSIDE), 6),
        "subclass_gone": 3, "subclass_changed": 3, "registered_now": 3, "pojo_list_field": 2,
    },
    "both jars": {**dict.fromkeys(_OUTSIDE, 6), **_BY_CHANCE},
    "against": {
        **dict.fromkeys(_ON_KRYO, 6), "registered_now": 3, "pojo_list_field": 2,
        **dict.fromkeys(("pojo_class_of_field_gone", "subclass_gone", "subclass_changed", "superclass_replaced"), 6),
        **dict.fromkeys(("state_not_declared_class_gone", "oplist_not_declared_class_gone"), 6),
        **dict.fromkeys(("registered_no_longer", "registered_gone", "kryo_registered_gone"), 6),
    },
    "all": _BY_CHANCE,
}  # fmt: skip
"""How many of the six restores of a change are not known by these inputs, with a reason. A serializer snapshot of Kryo has no
fields. A jar does not show that what it lacks is gone: a state, a uid. The last three depend on the values: Kryo reads a class
that lost its last field by chance, and of a list that Kryo 2 wrote Kryo 5 loses elements or fails."""
BY_ASSUMPTION = {("ttl_on_and_field", "1.20.5")}
"""Changes, and the releases that refuse them, that classes of data do not show: the field is new, and so is the TTL that the
job declares. ``check`` assumes, and says so, that the declarations are as before."""
_AS_BEFORE = "The class path has no code of a job: the new job has the same operators, keys and states"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("restores")
    with tarfile.open(ARCHIVE) as found:
        found.extractall(made, filter="data")
    for side in ("old", "new"):
        for cell in (made / "classes" / side).iterdir():
            shutil.copytree(cell, made / "data" / side / cell.name, ignore=shutil.ignore_patterns("Job*.class"))
    (made / "empty").mkdir()
    return made


_PATHS: tuple[tuple[Path_, ...], ...] = (
    (), ("none", "jar"), ("empty",), ("empty", "jar"), ("data",), ("data", "jar"), ("jar", "data"),
)  # fmt: skip


class Restore:
    """One restore, and what ``check`` says of it by some of the inputs."""

    def __init__(self, folder: Path, row: dict[str, Any]) -> None:
        self.row, self._folder = row, folder
        self._savepoints = folder / "savepoints" / row["cell"]
        self._opened: dict[Path_, Snapshot] = {}
        self._fresh = open_snapshot(str(self._savepoints / f"{row['to']}-fresh"))

    def _classes(self, side: str, given: Path_) -> list[str]:
        folder, cell = self._folder, self.row["cell"]
        return {
            "none": [], "empty": [str(folder / "empty")], "data": [str(folder / "data" / side / cell)],
            "jar": [str(folder / "classes" / side / cell)],
        }[given]  # fmt: skip

    def report(self, new: Path_ = "none", old: Path_ = "none", against: bool = False, **more: Any) -> Report:
        row = self.row
        if old not in self._opened:
            path = str(self._savepoints / f"{row['from']}-{row['backend']}")
            self._opened[old] = open_snapshot(path, classpath=self._classes("old", old))
        return self._opened[old].check(
            self._fresh if against else None, classpath=self._classes("new", new), flink=row["to"], backend=row["backend"],
            **more,
        )  # fmt: skip

    def is_unknown(self, *paths: Any, **more: Any) -> bool:
        """Whether the verdict is not known; one that is not what Flink did fails."""
        report = self.report(*paths, **more)
        verdict = report.verdict
        if paths[:1] == ("data",) and (self.row["cell"], self.row["to"]) in BY_ASSUMPTION:
            assert verdict is Verdict.MIGRATED
            assert any(text.startswith(_AS_BEFORE) for text in report.assumptions)
            return False
        assert verdict in (self.row["truth"], Verdict.UNKNOWN), (self.row, paths, more, verdict)
        return verdict is Verdict.UNKNOWN


def test_the_archive_has_all_changes() -> None:
    assert Counter(row["cell"] for row in ROWS) == dict.fromkeys(CELLS, 6)
    assert {row["truth"] for row in ROWS} == {v.value for v in Verdict} - {Verdict.UNKNOWN.value}
    assert RELEASES == [("1.20.5", "1.20.5"), ("2.3.0", "2.3.0"), ("1.20.5", "2.3.0")]


def test_how_many_are_told() -> None:
    told = {inputs: 1 - sum(cells.values()) / len(ROWS) for inputs, cells in UNKNOWN.items()}
    assert told["jar"] >= 0.8
    assert told["both jars"] >= 0.9
    assert told["against"] >= 0.75
    assert told["all"] >= 0.95


@pytest.mark.parametrize("cell", CELLS)
def test_a_change_is_judged_as_flink_judged_it(folder: Path, cell: str) -> None:
    unknown: Counter[str] = Counter()
    for row in (row for row in ROWS if row["cell"] == cell):
        restore = Restore(folder, row)
        for inputs, (paths, against) in INPUTS.items():
            unknown[inputs] += restore.is_unknown(*paths, against=against)
        restore.is_unknown("data", "data")
        restore.is_unknown("jar", against=True)
        if (row["to"], row["backend"]) == ("1.20.5", "rocksdb"):  # Less depends on the classes than on the release.
            new = CELLS[cell].new
            known = {"uids": ["source", "slow", new.uid, "sink"], "max_parallelism": new.max_parallelism}
            for paths in _PATHS:
                restore.is_unknown(*paths)
                restore.is_unknown(*paths, **known)
            restore.is_unknown("jar", "jar", **known)
            restore.is_unknown("empty", "jar", against=True)
    assert {inputs: n for inputs, n in unknown.items() if n} == {
        inputs: cells[cell] for inputs, cells in UNKNOWN.items() if cell in cells
    }


@pytest.mark.parametrize("cell", [
    cell.name for cell in CELLS.values()
    if replace(cell.old, value="", classes=()) == replace(cell.new, value="", classes=())
])  # fmt: skip
def test_changes_of_classes_only(folder: Path, cell: str) -> None:
    """Where the user says that nothing else changed, classes of data are enough for most."""
    for row in (row for row in ROWS if row["cell"] == cell):
        restore = Restore(folder, row)
        restore.is_unknown("data", same_declarations=True)
        restore.is_unknown("data", "data", same_declarations=True)
