"""``check`` against what Flink did: 350 restores that were really run, where they lie beside the project."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stateextract import open_snapshot
from stateextract.outcome import Verdict

SHARED = Path(__file__).resolve().parents[3] / "shared" / "restore"
WORDS = {
    "as-is": Verdict.AS_IS, "migrated": Verdict.MIGRATED, "refused": Verdict.REFUSED, "lost-silently": Verdict.LOSES,
}  # fmt: skip

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the measured restores are not there")


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((SHARED / "matrix.json").read_text(encoding="utf-8"))
    return found


def truth(row: dict[str, Any]) -> Verdict:
    return Verdict.LOSES if row.get("silent_damage") else WORDS[row["verdict"]]


def checked(row: dict[str, Any], against: bool, new: bool, old: bool) -> Verdict:
    """The verdict of the whole job, by some of the inputs."""

    def jars(name: str, wanted: bool) -> list[str]:
        return [str(SHARED / row[name])] if wanted and row[name] else []

    snapshot = open_snapshot(str(SHARED / row["savepoint"]), classpath=jars("old_jar", old))
    fresh = open_snapshot(str(SHARED / row["new_savepoint"])) if against else None
    report = snapshot.check(fresh, classpath=jars("new_jar", new), flink=row["to"], backend=row["backend"])
    return report.verdict


def results(against: bool, new: bool, old: bool, only_jars: bool = False) -> Counter[str]:
    """How many cells are answered as Flink answered, and how many not at all; a wrong answer fails."""
    found: Counter[str] = Counter()
    for row in rows():
        if only_jars and row["new_jar"] is None:
            continue
        verdict = checked(row, against, new, old)
        assert verdict in (truth(row), Verdict.UNKNOWN), (row["id"], row["avro"], verdict, truth(row))
        found["same" if verdict is truth(row) else "unknown"] += 1
    return found


def test_against_a_snapshot_with_the_classes_of_both_jobs() -> None:
    found = results(against=True, new=True, old=True)
    # Two changes of a query whose types are the same: only the plans would tell them apart.
    assert found == {"same": 338, "unknown": 12}


def test_against_a_snapshot_alone() -> None:
    assert results(against=True, new=False, old=False)["same"] >= 288


def test_the_jar_alone() -> None:
    found = results(against=False, new=True, old=False, only_jars=True)
    assert found["same"] >= 0.7 * found.total()


def test_the_jars_of_both_jobs() -> None:
    found = results(against=False, new=True, old=True, only_jars=True)
    assert found == {"same": 194}


def test_nothing_of_the_new_job_is_no_answer() -> None:
    for row in rows()[::25]:
        assert checked(row, against=False, new=False, old=False) in (truth(row), Verdict.UNKNOWN), row["id"]
