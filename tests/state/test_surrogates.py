"""Names with lone surrogates: of fields, enum constants, states and operators."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import stateextract
from stateextract.errors import FormatError, UsageError, ValueRefusedError
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.options import JobOptions
from stateextract.snapshot.tables import SnapshotTables
from tests.cli.test_cli import Out, out
from tests.job.snapshots import numbered, write_snapshot
from tests.writers import flink_writer as flink

__all__ = ["out"]  # a fixture

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = ROOT.parent / "shared" / "hostile"
needs_hostile = pytest.mark.skipif(not HOSTILE.is_dir(), reason="the hostile inputs are not there")
ENGINES = ("interpreter", "kernel")

ENUM = flink.versioned(
    f"{flink.TYPEUTILS}.EnumSerializer$EnumSerializerSnapshot", 3,
    flink.utf("a.Color") + struct.pack(">i", 4) + b"".join(map(flink.utf, ("R\ud800", "G", "R\udfff", "R\ufffd"))),
)  # fmt: skip
POJO = flink.pojo("a.P", dict(zip(("x\ud800", "x\ud801", "\ud83e"), (flink.LONG, flink.LONG, ENUM), strict=True)))


def entry(key: int, value: bytes) -> bytes:
    return struct.pack(">bq", 0, key) + value


def pojo_value(one: int, two: int, color: int) -> bytes:
    return b"\x02" + struct.pack(">bqbqbi", 0, one, 0, two, 0, color)


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    rows: dict[int, Any] = {0: [entry(1, pojo_value(2, 3, 0)), entry(2, pojo_value(4, 5, 2)), entry(3, pojo_value(6, 7, 1))]}
    states = {"s\ud800": numbered(4), "p": rows}
    return str(write_snapshot(tmp_path / "s", {"op": states}, values={"p": POJO}, parallelism=1))


@pytest.mark.parametrize("engine", ENGINES)
def test_fields_and_constants(snapshot: str, engine: Any) -> None:
    state = stateextract.open_snapshot(snapshot, decoder=engine).operator("op").state("p")
    rows = state.to_table().sort_by("key").column("value").to_pylist()
    assert rows == [
        {"x\ufffd": 2, "x\ufffd_2": 3, "\ufffd": "R\ufffd_2"},
        {"x\ufffd": 4, "x\ufffd_2": 5, "\ufffd": "R\ufffd_3"},
        {"x\ufffd": 6, "x\ufffd_2": 7, "\ufffd": "G"},
    ]
    with pytest.raises(ValueRefusedError, match="met 2 lone surrogates"):
        stateextract.open_snapshot(snapshot, decoder=engine, strings="fail").operator("op").state("p").to_table()


def test_states_and_operators_are_found_as_they_are_shown(snapshot: str) -> None:
    operator = stateextract.open_snapshot(snapshot).operator("op")
    assert (operator.state("s\ufffd").name, operator.state("s\ufffd").count()) == ("s\ud800", 4)
    with pytest.raises(UsageError, match="no state of the operator is called"):
        operator.state("s\ufffd\ufffd")


def test_two_states_that_look_alike(tmp_path: Path) -> None:
    states = {name: numbered(n) for name, n in (("s\ud800", 4), ("s\ud801", 6), ("s\ufffd", 2))}
    path = write_snapshot(tmp_path / "s", {"op": states})
    operator = stateextract.open_snapshot(str(path)).operator("op")
    assert operator.state("s\ufffd").count() == 2  # the one that is called just that
    assert {operator.state(name).count() for name in ("s\ud800", "s\ud801")} == {4, 6}
    del states["s\ufffd"]
    path = write_snapshot(tmp_path / "t", {"op": states})
    with pytest.raises(UsageError, match="the names of 2 states of the operator are shown as"):
        stateextract.open_snapshot(str(path)).operator("op").state("s\ufffd")


def test_the_job(snapshot: str, tmp_path: Path) -> None:
    outcome = run_job(JobOptions(snapshot=snapshot, output=str(tmp_path / "out"), state=("p", "s\ufffd")), in_this_process)
    entries = {e.state: e for e in outcome.coverage.entries}
    assert {name: (e.replaced, e.read.rows, e.read.counts.lone_surrogates) for name, e in entries.items()} == {
        "p": (3, 3, 2), "s\ud800": (1, 4, 0),
    }  # fmt: skip
    folders = sorted(str(p.parent.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.parquet"))
    assert folders == ["op/p", "op/s"]
    (file,) = (tmp_path / "out" / "op" / "p").glob("*.parquet")
    assert [f.name for f in pq.read_schema(file).field("value").type] == ["x\ufffd", "x\ufffd_2", "\ufffd"]
    for name in ("_coverage.json", "_manifest.json"):
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert "\\ud800" not in text
        assert "s\\ufffd" in text
    (row,) = (r for r in SnapshotTables(JobOptions(snapshot=snapshot)).states() if r["state_name"] == "p")
    assert row["state_schema"].startswith("struct<key:bigint,value:struct<x\ufffd:bigint,x\ufffd_2:bigint,\ufffd:string>")


COMMANDS = ("inspect", "states", "schema", "count", "head", "stats", "validate")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_commands(out: Out, snapshot: str, command: str, form: str) -> None:
    code, text, err = out(command, snapshot, "--format", form, *(["--state", "p"] if command == "head" else []))
    assert (code, err) == (0, "")
    assert "\ufffd" in (json.dumps(json.loads(text), ensure_ascii=False) if form == "json" else text)
    assert not any("\ud800" <= c <= "\udfff" for c in text)
    assert "\\ud8" not in text


@needs_hostile
@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_inputs(engine: Any) -> None:
    def state(case: str, operator: str, name: str) -> Any:
        return stateextract.open_snapshot(str(HOSTILE / case), decoder=engine).operator(operator).state(name)

    field = state("surrogate-field", "op", "s")
    assert str(field.schema.field("value").type) == "struct<f\ufffd: int64>"
    with pytest.raises(FormatError, match="bytes follow the last state of the key group"):
        field.to_table()  # its value is null by its flags, and yet a field follows
    assert state("surrogate-enum", "op", "s").to_table().column("value").to_pylist() == ["A\ufffd"]
    assert state("surrogate-names", "u\ufffd", "s\ufffd").to_table().column("value").to_pylist() == [2]


@needs_hostile
@pytest.mark.parametrize("command", ["stats", "inspect", "validate"])
def test_hostile_names_as_json(out: Out, command: str) -> None:
    code, text, _ = out(command, str(HOSTILE / "surrogate-names"), "--format", "json")
    assert code == 0
    text.encode()
    assert "\\ud800" not in text
