"""Comparisons as a user runs them: published datasets, the summary, processes, the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from stateextract.cli import run
from stateextract.diff.diff_plan import DiffOptions
from stateextract.diff.diff_run import DiffResult, run_diff
from stateextract.errors import FormatError, OutputError, UsageError
from stateextract.job.execute import OnReport, Tasks, in_this_process, processes
from stateextract.metadata.model import InlineHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.options import JobOptions
from tests.diff.pairs import found, golden
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.metadata import writer as metadata_writer

ROWS = numbered(64)
LATER = {**ROWS, 3: [(3, -1), (11, 110), *ROWS[3][2:]], 4: ROWS[4][1:], 5: [*ROWS[5], (69, 690)]}
"""One row changed, one gone, one new."""


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    one = write_snapshot(tmp_path / "a", {"op": {"s": ROWS, "same": ROWS}})
    other = write_snapshot(tmp_path / "b", {"op": {"s": LATER, "same": ROWS}}, parallelism=1, compressed=True)
    return one, other


def compared(pair: tuple[Path, Path], output: Path | None, **more: Any) -> DiffResult:
    one, other = (JobOptions(snapshot=str(path), **more) for path in pair)
    return run_diff(one, other, DiffOptions(), output=None if output is None else str(output))


def rows_of(output: Path, state: str) -> list[dict[str, Any]]:
    rows = ds.dataset(output / "op" / state).to_table().to_pylist()
    return sorted(rows, key=lambda row: row["key"])


def test_changes_are_published(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = compared(pair, out)
    assert rows_of(out, "s") == [
        {"change": "changed", "key": 3, "before": {"value": 30}, "after": {"value": -1}, "changed_fields": ["value"],
         "key_group": 3},
        {"change": "removed", "key": 4, "before": {"value": 40}, "after": None, "changed_fields": [], "key_group": 4},
        {"change": "added", "key": 69, "before": None, "after": {"value": 690}, "changed_fields": [], "key_group": 5},
    ]  # fmt: skip
    # A state without changes is there with its columns.
    assert ds.dataset(out / "op" / "same").schema.names == [
        "change",
        "key",
        "before",
        "after",
        "changed_fields",
        "key_group",
    ]
    assert rows_of(out, "same") == []
    manifest = json.loads((out / "_manifest.json").read_text())
    assert [(d["folder"], d["state_name"], d["rows"]) for d in manifest["datasets"]] == [
        ("op/s", "s", 3),
        ("op/same", "same", 0),
    ]
    (job,) = manifest["jobs"].values()
    assert job["snapshot"].endswith("b/_metadata")
    assert job["options"]["diff-before"].endswith("a/_metadata")
    assert json.loads((out / "_coverage.json").read_text()) == result.document()
    assert (out / "_SUCCESS").exists()
    assert not list(out.glob("_staging*"))


def test_an_output_is_replaced_only_if_asked(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    compared(pair, out)
    with pytest.raises(OutputError, match="not empty"):
        compared(pair, out)
    result = compared((pair[1], pair[0]), out, mode="overwrite", state=("s",))
    assert [row["change"] for row in rows_of(out, "s")] == ["changed", "added", "removed"]
    assert result.manifest is not None
    assert sorted(d.folder for d in result.manifest.datasets) == ["op/s", "op/same"]


def test_where_it_fails_nothing_is_published(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    compared(pair, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    file = pair[1] / "op-0"
    data = bytearray(file.read_bytes())
    data[-30] ^= 1
    file.write_bytes(data)
    with pytest.raises(FormatError):
        compared(pair, out, mode="overwrite", strict=True)
    with pytest.raises(FormatError):
        compared(pair, tmp_path / "other", strict=True)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "other").exists()


def test_processes_find_what_one_process_finds(tmp_path: Path) -> None:
    jobs = [JobOptions(snapshot=golden(f"f23-changes-checkpoint{kind}"), split_bytes=1)
            for kind in ("", "-changelog-rescaled")]  # fmt: skip
    sizes: list[int] = []

    def in_processes(tasks: Tasks, on_report: OnReport) -> None:
        sizes.extend(tasks.sizes)
        processes(2)(tasks, on_report)

    run_in = {"here": in_this_process, "processes": in_processes}
    results = {
        name: run_diff(*jobs, DiffOptions(unit_bytes=2000), execute, str(tmp_path / name))
        for name, execute in run_in.items()
    }
    assert results["here"].document() == results["processes"].document()
    assert len(sizes) > 4
    assert sum(sizes) > 1000
    plain = found(*(job.snapshot for job in jobs))
    for state in plain.plan.states:
        counts = results["here"].counts[state.number]
        assert counts.as_dict() == plain.counts[state.operator_id, state.scope, state.name].as_dict()
        for name in run_in:
            folder = tmp_path / name / state.folder
            rows = sorted(ds.dataset(folder).to_table().to_pylist(), key=repr)
            assert rows == plain.changes_of((state.operator_id, state.scope, state.name))
    with pytest.raises(UsageError, match="--workers is 0"):
        processes(0)


# -- the command line


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["diff", *arguments, "--format", "json", "--workers", "1"])
    return code, json.loads(capsys.readouterr().out)


def test_the_summary_as_json(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    one, other = map(str, pair)
    code, document = _json(capsys, one, other)
    assert (code, document["exit_code"], document["differs"], document["complete"]) == (0, 0, True, True)
    assert document["before"]["snapshot"] == f"{one}/_metadata"
    state, same = document["states"]
    assert state == {
        "operator_id": state["operator_id"], "operator_uid": "op", "operator_name": "name of op", "operator_label": "op",
        "state_name": "s", "state_scope": "keyed", "state_kind": "value",
        "presence": "both", "status": "compared", "reason": None, "way": "full",
        "full_reason": "at least one of the snapshots has its state in files of another kind than RocksDB's and ForSt's",
        "rows_before": 64, "rows_after": 64, "added": 1, "removed": 1,
        "changed": 1, "unchanged": 62, "changed_fields": {"value": 1}, "changed_entries": {}, "schema_changes": [],
        "key_groups_left_out": [], "problems": [], "remarks": [], "adjusted_values": {},
    }  # fmt: skip
    assert document["coordinators"] == []
    assert same["unchanged"] == 64
    assert _json(capsys, one, other, "--exit-code")[0] == 4
    assert _json(capsys, one, other, "--exit-code", "--state", "same")[0] == 0


def test_the_summary_as_text(pair: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["diff", *map(str, pair), "--output", str(out), "--workers", "1"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "operator state kind before after added removed changed changed fields",
        "op s value 64 64 1 1 1 value 1",
        "op same value 64 64 0 0 0",
        f"Wrote 3 changes in 2 datasets to {out}.",
    ]
    assert run(["diff", str(pair[0]), str(pair[0])]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "No difference."


def test_what_could_not_be_compared_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"a": ROWS, "b": ROWS}}, values={"b": UNKNOWN})
    other = write_snapshot(tmp_path / "b", {"op": {"a": ROWS}})
    arguments = ["diff", str(one), str(other), "--on-undecodable", "skip"]
    assert run(arguments) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "op / b: gone: only the earlier snapshot has it.",
        "op / b: not compared: values of com.example.ShapeSerializerSnapshot cannot be decoded: the serializer's "
        "snapshot class is not known.",
        "No difference in what could be compared.",
    ]
    assert run([*arguments, "--exit-code"]) == 3
    assert run(["diff", str(one), str(other), "--on-undecodable", "raw"]) == 2
    nothing = write_snapshot(tmp_path / "c", {"op": {"b": ROWS}}, values={"b": UNKNOWN})
    assert run(["diff", str(nothing), str(nothing)]) == 1
    (tmp_path / "b" / "op-1").unlink()
    assert run(["diff", str(other), str(other)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "Nothing could be compared."


def test_entries_of_maps_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of rows that are there in both; flattened, those of the others are counted too."""
    pair = [golden("f23-changes-checkpoint"), golden("f23-changes-checkpoint-changelog-rescaled")]
    code, document = _json(capsys, *pair, "--operator", "changing", "--state", "texts", "--state", "ttl-map")
    assert code == 0
    entries = {state["state_name"]: state["changed_entries"]["value"] for state in document["states"]}
    assert entries == {
        "texts": {"added": 14, "removed": 0, "changed": 6},
        "ttl-map": {"added": 19, "removed": 4, "changed": 0},
    }
    assert run(["diff", *pair, "--operator", "changing", "--state", "texts"]) == 0
    assert "changing / texts: value: entries of maps that differ: 14 added, 6 changed." in capsys.readouterr().out


def _coordinated(folder: Path, data: bytes | None) -> str:
    """A snapshot whose operator has coordinator state."""
    place = write_snapshot(folder, {"op": {"s": ROWS}}) / "_metadata"
    snapshot = parse_metadata(place.read_bytes())
    coordinator = None if data is None else InlineHandle("c", data)
    operators = tuple(replace(operator, coordinator=coordinator) for operator in snapshot.operators)
    place.write_bytes(metadata_writer.metadata(replace(snapshot, operators=operators)))
    return str(folder)


def test_of_coordinators_the_bytes_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, same, other, none = (
        _coordinated(tmp_path / name, data)
        for name, data in (("one", b"abc"), ("same", b"abc"), ("other", b"abcd"), ("none", None))
    )
    for pair, equal, said, last, sizes in (
        ((one, same), True, "its 3 bytes are the same", "No difference.", (3, 3)),
        ((one, other), False, "its bytes are not the same (3 and 4)", "No difference in what could be compared.", (3, 4)),
        ((one, none), False, "only the earlier snapshot has it", "No difference in what could be compared.", (3, None)),
        ((none, one), False, "only the later snapshot has it", "No difference in what could be compared.", (None, 3)),
    ):
        assert run(["diff", *pair]) == 0
        assert capsys.readouterr().out.splitlines()[-2:] == [f"op: not compared: coordinator state; {said}.", last]
        found, document = _json(capsys, *pair)
        (coordinator,) = document["coordinators"]
        assert (found, document["complete"], document["differs"]) == (0, True, False)
        assert (coordinator["bytes_before"], coordinator["bytes_after"], coordinator["equal"]) == (*sizes, equal)
    assert run(["diff", one, other, "--state", "s"]) == 0
    assert "coordinator" not in capsys.readouterr().out


def test_evolved_fields_in_text(capsys: pytest.CaptureFixture[str]) -> None:
    pair = [golden("f23-evolution-checkpoint"), golden("f23-evolution-native-restored")]
    assert run(["diff", *pair, "--common-fields", "--state", "account"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "accounts account value 17 17 0 0 11 value.visits 11, value.note 10" in out
    assert (
        "accounts / account: schema: value.legacy removed (int64); value.credit added (double); value.email added (string)."
        in out
    )


def test_a_state_that_is_compared_in_part_has_no_empty_dataset(tmp_path: Path) -> None:
    """No changes would be read as nothing changed, and some key groups could not be compared."""
    one, other = (
        write_snapshot(tmp_path / name, {"op": {"s": numbered(64)}, "fine": {"s": numbered(3)}}, compressed=True)
        for name in ("a", "b")
    )
    file = other / "op-1"
    data = bytearray(file.read_bytes())
    data[-40] ^= 0xFF
    file.write_bytes(data)
    result = compared((one, other), tmp_path / "out")
    assert (result.complete, result.differs) == (False, False)
    assert result.manifest is not None
    assert [dataset.folder for dataset in result.manifest.datasets] == ["fine/s"]
    assert not (tmp_path / "out" / "op").exists()
    (lost,) = [state for state in result.document()["states"] if state["key_groups_left_out"]]
    assert (lost["operator_uid"], lost["status"], len(lost["key_groups_left_out"])) == ("op", "partial", 1)
    assert "op-1" in lost["problems"][0]
