"""Validation: sound snapshots are found sound, and damage is found where it is and nowhere else."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.api import Finding
from stateextract.errors import ChecksumError, FormatError, MissingFileError
from stateextract.metadata.model import SubtaskState
from stateextract.options import JobOptions
from stateextract.snapshot.tables import SnapshotTables
from tests.golden.expected import DATA, load
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.state.keyed_writer import FORMS, STRING, Entry, Keyed, State, i64, write
from tests.writers.flink_writer import flink_string

SOUND = (
    "f20-types-checkpoint-snappy",
    "f113-kinds-checkpoint",
    "f20-kinds-native",
    "f117-changes-canonical-snappy",
    "f120-changes-checkpoint-changelog-materialized",
    "f117-changes-checkpoint-rocksdb-incremental",
    "f23-windows-native-snappy",
)


def validated(path: Path, **options: Any) -> dict[tuple[str, str | None], Finding]:
    return {(f.operator, f.state): f for f in stateextract.open_snapshot(str(path), **options).validate()}


@pytest.mark.parametrize("case", SOUND)
def test_sound_snapshots(case: str) -> None:
    path = DATA / case / load(DATA / case)["snapshot"]
    findings = validated(path)
    assert {f.status for f in findings.values()} == {"sound"}
    states = stateextract.open_snapshot(str(path)).states
    assert {(s.operator.label, s.name) for s in states} == {key for key in findings if key[1] is not None}
    for state in states:
        if state.kind != "broadcast" and "null-key" not in state.name:
            assert findings[state.operator.label, state.name].rows == state.count(), state


@pytest.fixture
def heap(tmp_path: Path) -> Path:
    return write_snapshot(tmp_path / "s", {"op": {"a": numbered(80), "b": numbered(20)}, "other": {"a": numbered(8)}})


def flipped(path: Path, offset: int, data: bytes | None = None) -> None:
    content = bytearray(path.read_bytes())
    new = bytes([content[offset] ^ 0x40]) if data is None else data
    content[offset : offset + len(new)] = new
    path.write_bytes(content)


def statuses(findings: Mapping[tuple[str, str | None], Finding]) -> dict[tuple[str, str | None], str]:
    return {key: f.status for key, f in findings.items()}


def key_group_size(a: int, b: int) -> int:
    """Bytes of a key group with that many rows of two states."""
    return 4 + 2 * 6 + 17 * (a + b)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_too_large_may_be_sound(form: str, tmp_path: Path) -> None:
    rows = [Entry(0, i64(n), flink_string("x" * size)) for n, size in enumerate((10, 9000))]
    keyed = FORMS[form](Keyed([State("large", rows, value=STRING), State("small", [Entry(0, i64(1), i64(1))])]))
    path = write(tmp_path / "s", [SubtaskState(0, managed_keyed=keyed)])
    found = validated(path, max_value_bytes=2000)["op", "large"]
    assert (str(found.status), found.problems) == ("not checked", [])
    assert (found.reason or "").startswith("a value of at least ")
    assert statuses(validated(path)) == {("op", "large"): "sound", ("op", "small"): "sound"}


def test_memory_that_is_too_small_is_no_damage(heap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("stateextract.snapshot.open_files.read_content", failing)
    found = validated(heap)
    assert {str(one.status) for one in found.values()} == {"not checked"}
    assert {(one.reason or "").partition(";")[0] for one in found.values()} == {"there is not enough memory to read it"}


def test_damage_behind_a_sound_state(heap: Path) -> None:
    """The count of b in the last key group, which has two rows."""
    file = heap / "op-1"
    at = len(file.read_bytes()) - 2 * 17 - 4
    flipped(file, at, struct.pack(">i", 3))
    findings = validated(heap)
    assert statuses(findings) == {
        ("op", "a"): "sound", ("op", "b"): "damaged", ("other", "a"): "sound",
    }  # fmt: skip
    assert (findings["op", "a"].rows, findings["op", "b"].rows) == (80, 18)
    (problem,) = findings["op", "b"].problems
    assert isinstance(problem, FormatError)
    assert (problem.file, problem.operator, problem.state, problem.key_group) == (str(file), "op", "b", 7)
    assert problem.offset == at + 4 + 2 * 17


def test_damage_in_front_of_a_sound_state(heap: Path) -> None:
    """Without the count of a nobody finds b in that key group; all others go on."""
    file = heap / "op-1"
    size = key_group_size(10, 2)
    start = len(file.read_bytes()) - 2 * size
    flipped(file, start + 4 + 2, struct.pack(">i", -1))
    findings = validated(heap)
    assert {name: f.status for (operator, name), f in findings.items() if operator == "op"} == {
        "a": "damaged",
        "b": "damaged",
    }
    assert (findings["op", "a"].rows, findings["op", "b"].rows) == (70, 18)
    assert [(p.key_group, p.state) for f in (findings["op", "a"], findings["op", "b"]) for p in f.problems] == [
        (6, "a")
    ] * 2


def test_damage_of_one_table_leaves_rows_of_other_maps_counted_right(tmp_path: Path) -> None:
    """In a database an entry of a map is a pair of its own, and a row is all of them."""
    findings = damaged_database(tmp_path)[0]
    folder = DATA / DATABASE
    sound = stateextract.open_snapshot(str(folder / load(folder)["snapshot"]))
    maps = [state for state in sound.states if state.kind == "map"]
    assert len(maps) >= 2
    for state in maps:
        assert findings[state.operator.label, state.name].rows == state.count()


def test_damage_of_several_key_groups(heap: Path) -> None:
    """Each is named, and none hides another."""
    file = heap / "op-0"
    size = key_group_size(10, 3)
    start = len(file.read_bytes()) - 4 * size
    for group in (0, 2):
        flipped(file, start + group * size, struct.pack(">i", 77))
    findings = validated(heap)
    assert [p.key_group for p in findings["op", "a"].problems] == [0, 2]
    assert findings["op", "a"].rows == 60


def test_checksums(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "s", {"op": {"a": numbered(80), "b": numbered(16)}}, compressed=True)
    file = path / "op-1"
    flipped(file, len(file.read_bytes()) - 3)
    findings = validated(path, verify_checksums=False)
    # What is compressed is decompressed ahead, so the state in front of the damage has it too.
    assert statuses(findings) == {("op", "a"): "damaged", ("op", "b"): "damaged"}
    for finding in findings.values():
        (problem,) = finding.problems
        assert isinstance(problem, ChecksumError)
        assert (problem.file, problem.key_group) == (str(file), 7)
    assert (findings["op", "a"].rows, findings["op", "b"].rows) == (70, 14)


def test_a_missing_file(heap: Path) -> None:
    (heap / "op-1").unlink()
    findings = validated(heap)
    assert statuses(findings) == {
        ("op", "a"): "missing", ("op", "b"): "missing", ("other", "a"): "sound",
    }  # fmt: skip
    for name, rows in (("a", 40), ("b", 12)):
        (problem,) = findings["op", name].problems
        assert isinstance(problem, MissingFileError)
        assert findings["op", name].rows == rows


def test_what_cannot_be_decoded_is_not_damage(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "s", {"op": {"a": numbered(80), "b": numbered(20)}}, values={"b": UNKNOWN})
    findings = validated(path)
    assert statuses(findings) == {("op", "a"): "sound", ("op", "b"): "not checked"}
    assert "com.example.ShapeSerializerSnapshot cannot be decoded" in (findings["op", "b"].reason or "")


DATABASE = "f117-changes-checkpoint-rocksdb-incremental"


def damaged_database(tmp_path: Path) -> tuple[dict[tuple[str, str | None], Finding], Path]:
    """What is found where one table of the state "sum" is damaged, and which file that is."""
    shutil.copytree(DATA / DATABASE, tmp_path / DATABASE)
    path = tmp_path / DATABASE / load(DATA / DATABASE)["snapshot"]
    job = path.parent
    table = next(f for f in SnapshotTables(JobOptions(snapshot=str(path))).files() if f["local_name"] == "000063.sst")
    stored, _, inside = str(table["file_path"]).partition(f"/{job.name}/")
    flipped(job / inside, table["size_in_bytes"] // 2)
    return validated(path, path_map={f"{stored}/{job.name}": str(job)}), job / inside


def test_damage_of_a_database(tmp_path: Path) -> None:
    """Each file of a database is of one state, whatever byte of it is wrong."""
    findings, file = damaged_database(tmp_path)
    assert {f.state for f in findings.values() if f.status != "sound"} == {"sum"}
    (problem,) = next(f.problems for f in findings.values() if f.state == "sum")
    assert isinstance(problem, ChecksumError)
    assert problem.offset is not None
    assert (str(problem.file).split(" ")[0], problem.state) == (str(file), "sum")
