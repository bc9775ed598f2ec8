"""Snapshots that users reported: Kryo's default serializers for classes above those of the JDK, and ``List.of`` in Kryo 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stateextract import State, open_snapshot
from stateextract.errors import UndecodableError

REPORTS = Path(__file__).resolve().parents[2].parent / "shared" / "reports"
DEFAULTS = REPORTS / "kryo-default-serializer-jdk-class"

pytestmark = pytest.mark.skipif(not REPORTS.is_dir(), reason="the reported snapshots are not there")

UNMODIFIABLE = {
    "k0": ("RandomAccessList", '["x0","y"]'),
    "k1": ("Set", '["x1","y"]'),
    "k2": ("Map", '{"x":2}'),
    "k3": ("Collection", '["x3","y"]'),
    "k4": ("List", '["x4","y"]'),
    "k5": ("RandomAccessList", "[]"),
}
VALUES = {
    **{key: {"class": f"java.util.Collections$Unmodifiable{kind}", "json": json} for key, (kind, json) in UNMODIFIABLE.items()},
    **{f"k{n}": {"class": "java.lang.String", "json": f'"s{n}"'} for n in (6, 7, 8)},
}
WRONG = [{"name": "java.util.Collections$UnmodifiableSet", "written": {"kind": "long"}}]
"""A description of a class that does not fit its bytes."""


def state_of(path: Path, uid: str, **options: Any) -> State:
    return open_snapshot(str(path), **options).operator(uid).state("it")


def values_of(state: State) -> dict[str, Any]:
    return {row["key"]: row["value"] for row in state.to_table().to_pylist()}


@pytest.mark.parametrize("form", ["canonical", "native"])
def test_a_default_for_a_superclass(form: str) -> None:
    assert values_of(state_of(DEFAULTS / form, "unmod")) == VALUES


@pytest.mark.parametrize("form", ["canonical", "native"])
def test_it_is_valid(form: str) -> None:
    snapshot = open_snapshot(str(DEFAULTS / form))
    findings = {f.state: f for f in snapshot.validate() if f.operator == snapshot.operator("unmod").label}
    assert (findings["it"].problems, findings["it"].rows) == ([], 9)
    assert not any(f.problems for f in snapshot.validate())


def test_a_default_that_only_the_job_knows() -> None:
    with pytest.raises(UndecodableError, match=r"java.util.HashMap cannot be decoded: .*KinJob\$MapSer"):
        values_of(state_of(DEFAULTS / "map-interface", "map"))
    expected = state_of(DEFAULTS / "map-interface", "map").coverage
    assert expected.status == "uncertain"
    assert expected.reason is not None
    assert "values declared as java.lang.Object may be of any class" in expected.reason
    raw = state_of(DEFAULTS / "map-interface", "map", on_undecodable="raw").raw_batches().read_all().to_pylist()
    assert {row["key"]: "KinJob$MapSer" in row["reason"] for row in raw} == dict.fromkeys(("k0", "k1", "k2", "k3"), True)
    assert {row["key"]: row["bytes"][-1:] for row in raw}["k0"] == b"\0"


def test_a_wrong_description_is_no_damage() -> None:
    """The value's length is known: the others are read, and its bytes can be kept."""
    with pytest.raises(UndecodableError, match="the pair cannot be decoded: a key or value does not end"):
        values_of(state_of(DEFAULTS / "canonical", "unmod", kryo_classes=WRONG))
    state = state_of(DEFAULTS / "canonical", "unmod", kryo_classes=WRONG, on_undecodable="raw")
    assert values_of(state) == {key: value for key, value in VALUES.items() if key != "k1"}
    (lost,) = state.raw_batches().read_all().to_pylist()
    assert (lost["key"], b"x\xb1" in lost["bytes"]) == ("k1", True)
    snapshot = open_snapshot(str(DEFAULTS / "canonical"), kryo_classes=WRONG)
    assert not any(f.problems for f in snapshot.validate())


@pytest.mark.parametrize("uid", ["listof", "unmod"])
def test_list_of(uid: str) -> None:
    values = values_of(state_of(REPORTS / "kryo2-list-of" / "savepoint", uid))
    assert {key: value["json"] for key, value in values.items()} == {f"k{n}": f'["k{n}","b"]' for n in range(6)}
