"""``check`` against what Flink did: 350 restores that were really run, where they lie beside the project."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stateextract import open_snapshot
from stateextract.api.check_restore import _job_operators
from stateextract.outcome import Verdict
from stateextract.state.header import VALUE

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


def checked(row: dict[str, Any], against: bool, new: bool, old: bool, **more: Any) -> Verdict:
    """The verdict of the whole job, by some of the inputs."""

    def jars(name: str, wanted: bool) -> list[str]:
        return [str(SHARED / row[name])] if wanted and row[name] else []

    snapshot = open_snapshot(str(SHARED / row["savepoint"]), classpath=jars("old_jar", old))
    fresh = open_snapshot(str(SHARED / row["new_savepoint"])) if against else None
    report = snapshot.check(fresh, classpath=jars("new_jar", new), flink=row["to"], backend=row["backend"], **more)
    return report.verdict


def results(against: bool, new: bool, old: bool, only_jars: bool = False, **more: Any) -> Counter[str]:
    """How many cells are answered as Flink answered, and by cell how many not at all; a wrong answer fails."""
    found: Counter[str] = Counter()
    for row in rows():
        if only_jars and row["new_jar"] is None:
            continue
        verdict = checked(row, against, new, old, **more)
        assert verdict in (truth(row), Verdict.UNKNOWN), (row["id"], row["avro"], verdict, truth(row))
        found["same" if verdict is truth(row) else row["cell"]] += 1
    return found


QUERIES = {"sql_agg_function_changed": 6, "sql_output_reordered": 6}
"""Changes of a query whose types are the same: only the plans would tell them apart."""
FIELDS_OF_KRYO = {
    "kryo_same": 10, "kryo_int_to_string": 4, "kryo_held_registration_added": 8, "kryo_held_registration_removed": 8,
    "kryo_registration_appended": 8,
}  # fmt: skip
"""Fields of generic types, which no snapshot has: only the classes of both jobs decide."""
CLASSES_GONE = {"pojo_field_and_class_removed": 6, "pojo_subclass_unreg_missing": 6}
"""Classes that the old snapshot names and the new one does not need: only the new job's jar shows whether it has them."""


def test_against_a_snapshot_with_the_classes_of_both_jobs() -> None:
    found = results(against=True, new=True, old=True)
    assert found == {"same": 338, **QUERIES}
    assert found["same"] >= 0.95 * found.total()


def test_against_a_snapshot_alone() -> None:
    """All cells are told but those that two snapshots do not decide."""
    assert results(against=True, new=False, old=False) == {"same": 288, **QUERIES, **FIELDS_OF_KRYO, **CLASSES_GONE}


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_two_snapshots_do_not_decide_on_the_fields_of_kryo(version: str) -> None:
    """The serializer snapshots of two changes are equal but for the package, and Flink restores the one and not the other."""

    def serializer(cell: str, which: str) -> list[tuple[str, object]]:
        snapshot = open_snapshot(str(SHARED / "savepoints" / cell / f"{version}-{which}"))
        side = next(side for side in _job_operators(snapshot._opened.source) if side.keys)
        meta = next(metas[0] for (_, _, name), metas in side.states.items() if name == "s")
        details = meta.serializers[VALUE].details
        return [(meta.serializers[VALUE].class_name, details["class"].replace(cell, "")), *(
            (name.replace(cell, ""), len(data) - len(name) if cell in name else data) for name, data in details["registrations"]
        )]  # fmt: skip

    for which in ("rocksdb", "fresh-new-job"):
        assert serializer("kryo_same", which) == serializer("kryo_int_to_string", which)
    verdicts = {
        row["cell"]: truth(row) for row in rows()
        if row["from"] == row["to"] == version and row["avro"] == "both" and row["cell"] in FIELDS_OF_KRYO
    }  # fmt: skip
    assert (verdicts["kryo_same"], verdicts["kryo_int_to_string"]) == (Verdict.AS_IS, Verdict.REFUSED)


def test_classes_of_data_alone() -> None:
    """They have no class that declares a state, so the declarations are taken to be as before, which they are in all of these
    changes. A class that Kryo wrote may be declared otherwise."""
    found = results(against=False, new=True, old=False, only_jars=True)
    assert found["same"] == 153
    assert found["same"] >= 0.7 * found.total()
    assert results(against=False, new=True, old=True, only_jars=True)["same"] == 160


def test_classes_of_data_alone_where_the_user_says_that_nothing_else_changed() -> None:
    assert results(against=False, new=True, old=True, only_jars=True, same_declarations=True) == {"same": 194}


def test_against_a_snapshot_with_the_classes_of_one_job() -> None:
    """None is answered otherwise than Flink did; how many are told is between the two."""
    for new in (True, False):
        assert 288 <= results(against=True, new=new, old=not new)["same"] <= 338


def test_nothing_of_the_new_job_is_no_answer() -> None:
    for row in rows()[::25]:
        assert checked(row, against=False, new=False, old=False) in (truth(row), Verdict.UNKNOWN), row["id"]
