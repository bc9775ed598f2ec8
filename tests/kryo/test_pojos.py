"""Classes that Kryo wrote in one state and a POJO serializer describes in another one, in every form and door.

The bytes are Flink's own (``src/pojo/PojoVectors.java``); the files around them are the tests'.
"""

from __future__ import annotations

import datetime
import uuid
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import stateextract
from stateextract.errors import UndecodableError
from stateextract.job.execute import in_this_process
from stateextract.job.plan import make_plan
from stateextract.job.run import run_job
from stateextract.metadata.model import InlineHandle, OperatorState, OperatorStateHandle, SubtaskState
from stateextract.options import JobOptions
from stateextract.snapshot import kryo_pojos
from stateextract.snapshot.tables import SnapshotTables
from tests.kryo.zoo import HERE
from tests.state.keyed_writer import FORMS, Entry, Keyed, State, i64, write, write_operators
from tests.state.operator_writer import Lists

UTC = datetime.UTC
VERSIONS = {2: 4, 5: 6}
"""Versions of ``_metadata`` of Flink 1.20 and 2.3."""


def order(number: int, rating: int | None, count: int, name: str, place: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "at": datetime.datetime.fromtimestamp(1_700_000_000, UTC) + datetime.timedelta(seconds=number, microseconds=5),
        "code": {"number": count}, "count": count,
        "day": datetime.datetime(1970, 1, 1, tzinfo=UTC) + datetime.timedelta(days=count),
        "id": str(uuid.UUID(int=(0x1234567890ABCDEF + number) << 64 | 0x8EDCBA0987654321)), "name": name,
        "number": number, "paid": count == 3,
        "place": place, "rating": rating, "steps": [count, -1], "unset": "set" if count > 100 else None,
    }  # fmt: skip


ORDERS = [
    order(1, 5, 3, "first", {"city": "Bern", "weight": 1.5}),
    order(-2, None, 300, "", {"city": "Bern", "weight": -0.5}),
    order(1 << 20, 0, -7, "third", None),
    order(0, -1, 0, "é", {"city": None, "weight": 0.0}),
]


def vector(flavour: int, name: str) -> tuple[bytes, bytes, list[bytes]]:
    """The snapshots of the POJO's and of Kryo's serializer, and Kryo's values."""
    for line in (HERE / f"pojo{flavour}.txt").read_text(encoding="utf-8").splitlines():
        found, *parts = line.split("\t")
        if found == name:
            pojo, kryo, *values = map(bytes.fromhex, parts)
            return pojo, kryo, values
    raise AssertionError(name)


def snapshot(folder: Path, flavour: int, form: str, name: str, values: slice = slice(None)) -> Path:
    """Two operators: ``it`` holds the values of Kryo; a state without entries of the other has the POJO serializer."""
    pojo, kryo, data = vector(flavour, name)
    entries = [Entry(n % 4, i64(n), value) for n, value in enumerate(data[values])]
    by_kryo = FORMS[form](Keyed([State("it", entries, value=kryo)]))
    by_pojo = FORMS[form](Keyed([State("other", value=pojo)]))
    operators = [
        OperatorState(f"{n}f" * 16, uid, uid, 1, 4, subtasks=(SubtaskState(0, managed_keyed=handle),))
        for n, (uid, handle) in enumerate((("kryo", by_kryo), ("pojo", by_pojo)))
    ]
    return write_operators(folder, operators, VERSIONS[flavour])


def state_of(path: Path, **options: Any) -> stateextract.State:
    return next(s for s in stateextract.open_snapshot(str(path), **options).states if s.name == "it")


def rows(table: Any) -> list[Any]:
    return [row["value"] for row in sorted(table.to_pylist(), key=lambda row: row["key"])]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("flavour", [2, 5])
def test_every_form(flavour: int, form: str, tmp_path: Path) -> None:
    assert rows(state_of(snapshot(tmp_path / "s", flavour, form, "order")).to_table()) == ORDERS


@pytest.mark.parametrize("flavour", [2, 5])
def test_every_door(flavour: int, tmp_path: Path) -> None:
    path = snapshot(tmp_path / "s", flavour, "canonical", "order")
    options = JobOptions(snapshot=str(path), output=str(tmp_path / "out"))
    outcome = run_job(options, in_this_process)
    written = {d.state_name: pq.read_table(tmp_path / "out" / d.folder) for d in outcome.manifest.datasets}
    assert rows(written["it"]) == ORDERS
    (state,) = [row for row in SnapshotTables(options).states() if row["state_name"] == "it"]
    assert (state["status"], state["reason"]) == ("decoded", None)
    # Where one operator is wanted, the heads of the others are read for its classes.
    assert rows(stateextract.open_snapshot(str(path)).operators[0].state("it").to_table()) == ORDERS
    plan = make_plan(options, only=lambda metadata: metadata.operators[0])
    assert plan.states[0].target.schema == written["it"].schema


@pytest.mark.parametrize("form", ["heap", "canonical"])
@pytest.mark.parametrize("flavour", [2, 5])
def test_a_field_of_a_type_parameter(flavour: int, form: str, tmp_path: Path) -> None:
    """The snapshot says that it is a string; Kryo writes it with its class."""
    table = state_of(snapshot(tmp_path / "s", flavour, form, "envelope")).to_table()
    assert rows(table) == [{"payload": "one", "size": 11}, {"payload": "two", "size": -12}]


@pytest.mark.parametrize("form", ["heap", "canonical"])
def test_what_stays_unclear_is_not_guessed(form: str, tmp_path: Path) -> None:
    """Flink's order of an enum's constants need not be Java's."""
    path = snapshot(tmp_path / "s", 2, form, "painted")
    with pytest.raises(UndecodableError, match=r"values of zoo.PojoVectors\$\w+ cannot be decoded: .* with classpath"):
        state_of(path).to_table()


@pytest.mark.parametrize("form", ["heap", "canonical"])
@pytest.mark.parametrize("flavour", [2, 5])
def test_fields_that_are_always_0_or_null(flavour: int, form: str, tmp_path: Path) -> None:
    """``int`` of 0 or ``Integer`` of null, one byte either way: such fields have no column. All others have theirs."""
    path = snapshot(tmp_path / "s", flavour, form, "sparse")
    state = state_of(path)
    assert state.coverage.status == "uncertain"
    reasons = str(state.coverage.reason).split("; ")
    without = ("discount", "place", "retries")
    assert [r for r in reasons if "has no column" in r] == [
        f"the field {name} of zoo.PojoVectors$Sparse has no column: it is 0 or null in all values that were looked at, and "
        "its type is not known"
        for name in without
    ]
    assert rows(state.to_table()) == [{"count": n, "ended": None, "note": None} for n in (300, -1)]
    path = snapshot(tmp_path / "z", flavour, form, "zeros")
    zeros = state_of(path)
    assert (zeros.coverage.status, rows(zeros.to_table())) == ("uncertain", [True, True])
    fields = {"a": "int", "b": "java.lang.Integer"}
    described = state_of(path, kryo_classes=[{"name": "zoo.PojoVectors$Zeros", "fields": fields}])
    assert rows(described.to_table()) == [{"a": 0, "b": None}] * 2


@pytest.mark.parametrize("byte", [0, 1])
def test_a_value_after_those_that_did_not_decide(byte: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was one byte 0 in all values that were looked at, and is not later, is an error and no misread."""
    pojo, kryo, data = vector(2, "zeros")
    last = data[0][:-1] + bytes([byte])
    entries = [Entry(n, i64(n), value) for n, value in enumerate([data[0], data[0], last])]
    other = State("other", value=pojo)
    keyed = FORMS["canonical"](Keyed([State("it", entries, value=kryo), other]))
    path = write(tmp_path / "s", [SubtaskState(0, managed_keyed=keyed)])
    (file,) = state_of(path)._named_state.files
    assert file.content is not None
    monkeypatch.setattr(kryo_pojos, "_BYTES", max(file.content.sizes))  # one key group, with one of the values
    if byte:
        with pytest.raises(UndecodableError, match=r"field b has a value, after values that did not decide its type"):
            state_of(path).to_table()
    else:
        assert rows(state_of(path).to_table()) == [True, True, True]


def test_one_value_that_tells_nothing(tmp_path: Path) -> None:
    """All of the others do: the reading is that of all values together."""
    path = snapshot(tmp_path / "s", 2, "canonical", "order", slice(2, 3))
    assert state_of(path).coverage.status == "unsupported"


def test_values_after_damage_are_not_guessed_at(tmp_path: Path) -> None:
    path = snapshot(tmp_path / "s", 2, "canonical", "order")
    data = (path / "_metadata").read_bytes()
    _, _, values = vector(2, "order")
    assert data.count(values[0]) == 1
    at = data.index(values[0]) + len(values[0]) - 20
    (path / "_metadata").write_bytes(data[:at] + bytes([data[at] ^ 0x7F]) * 4 + data[at + 4 :])
    assert state_of(path).coverage.status == "unsupported"


@pytest.mark.parametrize("flavour", [2, 5])
def test_elements_of_operator_state(flavour: int, tmp_path: Path) -> None:
    pojo, kryo, values = vector(flavour, "order")
    proxied = {("it", "SPLIT_DISTRIBUTE", kryo): values, ("other", "SPLIT_DISTRIBUTE", pojo): []}
    data, states = Lists(proxied).write()
    handle = OperatorStateHandle(4, tuple(states), InlineHandle("lists", data))
    operator = OperatorState("0f" * 16, "op", "op", 1, 4, subtasks=(SubtaskState(0, managed_operator=handle),))
    table = state_of(write_operators(tmp_path / "s", [operator], VERSIONS[flavour])).to_table()
    assert [row["value"] for row in sorted(table.to_pylist(), key=lambda row: row["index"])] == ORDERS
