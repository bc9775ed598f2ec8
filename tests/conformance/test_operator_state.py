"""Operator state of Flink's own files and of the cases, against what others read from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pytest

from stateextract.state.state_columns import ReadOptions
from tests.conformance.classes import context_of
from tests.conformance.conftest import flink_cases, flink_files
from tests.conformance.handles import harness_files, snapshot_folders
from tests.conformance.notation import from_expected, from_truth
from tests.conformance.operator_rows import (
    OperatorFile,
    ReadOperatorState,
    harness_operator_files,
    read_operator_files,
    snapshot_operator_files,
)
from tests.conformance.state_rows import rows_of

FLINK = [p for p in snapshot_folders() if p.is_relative_to(flink_files())]
CASES = [p for p in sorted(flink_cases().glob("*")) if p.is_dir()]


def name_of(path: Path) -> str:
    root = flink_files() if path.is_relative_to(flink_files()) else flink_cases()
    return str(path.relative_to(root))


def files_of(path: Path) -> list[OperatorFile]:
    return list(harness_operator_files(path) if path.is_file() else snapshot_operator_files(path))


def flink_states(path: Path) -> dict[tuple[str, str], Any]:
    document = json.loads((flink_files() / "expected" / f"{name_of(path)}.json").read_text())
    return {
        ("" if path.is_file() else operator["id"], state["name"]): state
        for operator in document["operators"]
        for state in operator["states"]
        if state["scope"] == "operator"
    }


Row = tuple[tuple[str, Any], ...]


def row(values: Mapping[str, Any], schema: pa.Schema, notation: Callable[[Any, pa.DataType], Any]) -> Row:
    return tuple(
        (f.name, values[f.name] if f.name in ("index", "subtask") else notation(values[f.name], f.type)) for f in schema
    )


def by_text(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)


def payloads_as_bytes(table: pa.Table) -> pa.Table:
    """Payloads of connectors keep their bytes beside what they mean; the notation has the bytes."""
    at = table.schema.get_field_index("value")
    type_ = table.schema.field(at).type
    if not pa.types.is_struct(type_) or type_.field(0).name != "bytes":
        return table
    return table.set_column(at, "value", pa.compute.struct_field(table["value"], "bytes"))


def check(state: ReadOperatorState, expected: Mapping[str, Any]) -> None:
    assert state.kind == expected["kind"]
    counters = state.counters
    rows = expected["rows"]
    assert (counters.lost_entries, counters.raw_rows, counters.problems) == (0, 0, [])
    table = payloads_as_bytes(state.table())
    assert counters.rows == counters.entries == table.num_rows
    schema = table.schema
    if rows and isinstance(rows[0]["value"], dict) and "java" in rows[0]["value"]:
        # Java serialization becomes a class and JSON, whose notation is its own (docs/types.md).
        assert [r["value"]["class"] for r in table.to_pylist()] == [r["value"]["java"] for r in rows]
        return
    if state.kind == "BROADCAST":
        assert len(counters.copies) == expected["copies"]
        assert expected["copies_equal"]
        assert counters.differing == []
        copies = sorted(int(subtask) for subtask in counters.copies)
        rows = [{**r, "subtask": subtask} for subtask in copies for r in rows]
        assert by_text(rows_of(table)) == by_text(row(r, schema, from_expected) for r in rows)
    else:
        assert rows_of(table) == [row(r, schema, from_expected) for r in rows]


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
@pytest.mark.parametrize("path", [*FLINK, *harness_files()], ids=name_of)
def test_flinks_files(path: Path, engine: str) -> None:
    expected = flink_states(path)
    found = read_operator_files(files_of(path), ReadOptions(
        on_undecodable="raw", engine=engine, all_copies=True, context=context_of(path)
    ))
    assert set(found) == set(expected)
    for key, state in found.items():
        check(state, expected[key])


@pytest.mark.parametrize("path", FLINK, ids=name_of)
def test_each_state_alone(path: Path) -> None:
    """Of uncompressed files only the bytes of the wanted state are read; the rows are the same."""
    files = files_of(path)
    options = ReadOptions(on_undecodable="raw", engine="interpreter", all_copies=True, context=context_of(path))
    whole = read_operator_files(files, options)
    for operator, name in whole:
        alone = read_operator_files([f for f in files if f.operator == operator], options, name)
        assert set(alone) == {(operator, name)}
        assert alone[operator, name].batches == whole[operator, name].batches
        assert alone[operator, name].raw == whole[operator, name].raw
        assert alone[operator, name].counters == whole[operator, name].counters


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_cases(case: Path) -> None:
    truth = json.loads((case / "truth.json").read_text())
    found = read_operator_files(snapshot_operator_files(case / truth["path"]), ReadOptions(all_copies=True))
    expected = {(o["operator_id"], s["name"]): s for o in truth["operators"] for s in o["operator_states"]}
    assert set(found) >= set(expected)
    for key, state in found.items():
        table = payloads_as_bytes(state.table())
        if key not in expected:
            assert table.num_rows == 0
            continue
        assert state.kind == expected[key]["mode"]
        rows: list[Row] = []
        for subtask in expected[key]["subtasks"]:
            for index, value in enumerate(subtask.get("values", ())):
                rows.append(row({"subtask": subtask["subtask"], "index": index, "value": value}, table.schema, from_truth))
            for entry in subtask.get("entries", ()):
                k, v = (entry["key"], entry["value"]) if isinstance(entry, dict) else entry
                rows.append(row({"subtask": subtask["subtask"], "key": k, "value": v}, table.schema, from_truth))
        assert by_text(rows_of(table)) == by_text(rows)
        assert state.counters.differing == []


def test_there_is_something_of_every_kind() -> None:
    """Compressed and not, both heads, and the offsets that Flink 1.18 wrote for compressed lists."""
    seen = set()
    for path in FLINK:
        for file in files_of(path):
            version, compressed = file.data[3], file.data[3] == 6 and file.data[4] == 1
            seen.add((version, compressed))
            for state in file.handle.states:
                seen.add(state.mode)
                if compressed and len(set(state.offsets)) < len(state.offsets):
                    seen.add("1.18")
    assert seen >= {(5, False), (6, False), "SPLIT_DISTRIBUTE", "UNION", "BROADCAST"}
