"""Every ``_metadata`` and harness file of Flink at hand, against what is known to be in it."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stateextract.errors import FormatError, StateExtractError
from stateextract.files.filesystem import Store
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import (
    ChangelogFilesHandle,
    ChangelogHandle,
    CheckpointProperties,
    IncrementalHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    SegmentHandle,
    SnapshotMetadata,
    SubtaskState,
)
from stateextract.metadata.parser import parse_metadata
from stateextract.metadata.uid import operator_id

from .conftest import flink_cases, flink_files
from .harness import parse_harness


def _snapshots() -> list[str]:
    root = flink_files()
    return sorted(str(path.parent.relative_to(root)) for path in root.glob("**/_metadata"))


def _cases() -> list[str]:
    return sorted(path.parent.name for path in flink_cases().glob("*/truth.json"))


def _harness_files() -> list[str]:
    root = flink_files()
    return sorted(
        str(path.relative_to(root))
        for module in ("flink-streaming-java", "flink-cep", "flink-fs-tests")
        for path in (root / module).glob("*-snapshot")
    )


def _parse(folder: Path) -> SnapshotMetadata:
    return parse_metadata((folder / "_metadata").read_bytes())


def _expected(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((flink_files() / "expected" / f"{name}.json").read_text())
    return loaded


# -- in the form of expected/**.json


def _handle(handle: KeyedStateHandle | OperatorStateHandle | None) -> dict[str, Any] | None:
    if handle is None:
        return None
    shown: dict[str, Any] = {"code": handle.code, "kind": handle.kind}
    if isinstance(handle, KeyGroupsHandle | OperatorStateHandle):
        shown |= {"bytes": handle.size, "where": handle.stream.code}
    if not isinstance(handle, OperatorStateHandle):
        shown["key_groups"] = [handle.key_groups[0], handle.key_groups[-1]]
    return shown


def _subtask(task: SubtaskState) -> dict[str, Any]:
    return {
        "index": task.index,
        "managed_keyed": _handle(task.managed_keyed),
        "raw_keyed": _handle(task.raw_keyed),
        "managed_operator": _handle(task.managed_operator),
        "raw_operator": _handle(task.raw_operator),
        "channels": [len(task.input_channels), len(task.output_channels)],
    }


def _operator(operator: OperatorState) -> dict[str, Any]:
    return {
        "id": operator.id,
        "uid": operator.uid,
        "name": operator.name,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
        "fully_finished": operator.fully_finished,
        "finished_subtasks": list(operator.finished_subtasks),
        "coordinator_bytes": None if operator.coordinator is None else operator.coordinator.size,
        "subtasks": [_subtask(task) for task in operator.subtasks],
    }


def _properties(properties: CheckpointProperties | None) -> dict[str, Any] | None:
    if properties is None:
        return None
    assert properties.kind is not None
    written = None if properties.format is None else properties.format.upper()
    return {"type": properties.kind.capitalize() + "Type", "name": properties.name, "format": written}


@pytest.mark.parametrize("name", _snapshots())
def test_snapshot(name: str) -> None:
    """To the last byte (the parser refuses any left over), and equal to what an independent reader saw."""
    parsed, expected = _parse(flink_files() / name), _expected(name)
    assert {
        "metadata_version": parsed.version,
        "checkpoint_id": parsed.checkpoint_id,
        "properties": _properties(parsed.properties),
        "master_states": [{"version": m.version, "name": m.name, "size": len(m.data)} for m in parsed.master_states],
    } == {key: expected[key] for key in ("metadata_version", "checkpoint_id", "properties", "master_states")}
    operators = sorted((_operator(operator) for operator in parsed.operators), key=lambda operator: operator["id"])
    assert operators == [
        {key: value for key, value in operator.items() if key not in ("not_read", "errors", "states")}
        for operator in expected["operators"]
    ]
    for operator in parsed.operators:
        assert operator.uid is None or operator_id(operator.uid) == operator.id


@pytest.mark.parametrize("name", _snapshots())
def test_files_of_a_snapshot_are_found(name: str) -> None:
    folder = flink_files() / name
    found = find_snapshot(str(folder), Store())
    locator = Locator(found, Store())
    for operator in _parse(folder).operators:
        for use in operator.handles():
            for stream, exact in _streams(use.handle):
                location = locator.locate(stream, exact_size=exact)
                assert location.inline is not None or location.uri is not None
                assert location.size == stream.size
    assert all(at.startswith(found.directory_uri) for _, at in locator.relocations)


def _smallest_of_each_version() -> list[Path]:
    smallest: dict[int, Path] = {}
    for name in _snapshots():
        path = flink_files() / name / "_metadata"
        version = parse_metadata(path.read_bytes()).version
        if version not in smallest or path.stat().st_size < smallest[version].stat().st_size:
            smallest[version] = path
    return list(smallest.values())


def test_damage_to_real_files() -> None:
    """Cut anywhere, or with bytes changed at random: an error of ours or a snapshot, and soon."""
    seeded = random.Random(1)
    for path in _smallest_of_each_version():
        whole = path.read_bytes()
        for end in sorted(seeded.sample(range(len(whole)), 200)):
            with pytest.raises(FormatError):
                parse_metadata(whole[:end])
        for _ in range(400):
            data = bytearray(whole)
            for _ in range(seeded.choice((1, 1, 1, 8))):
                data[seeded.randrange(len(data))] = seeded.choice((0, 1, 0x7F, 0x80, 0xFF, seeded.randrange(256)))
            with contextlib.suppress(StateExtractError):
                parse_metadata(data)


def test_what_the_snapshots_cover() -> None:
    """The numbers that make the tests above worth something."""
    names = _snapshots()
    assert len(names) >= 226
    versions = Counter(_parse(flink_files() / name).version for name in names)
    assert set(versions) == {2, 3, 4, 5, 6}


@pytest.mark.parametrize("name", _harness_files())
def test_harness_file(name: str) -> None:
    parsed = parse_harness((flink_files() / name).read_bytes())
    (operator,) = _expected(name)["operators"]
    (expected,) = operator["subtasks"]
    assert {
        "index": 0,
        "managed_keyed": _handle(*parsed.managed_keyed or (None,)),
        "raw_keyed": _handle(*parsed.raw_keyed or (None,)),
        "managed_operator": _handle(*parsed.managed_operator or (None,)),
        "raw_operator": _handle(*parsed.raw_operator or (None,)),
        "channels": [len(parsed.input_channels), len(parsed.output_channels)],
    } == expected


def test_there_are_harness_files() -> None:
    assert len(_harness_files()) >= 75


# -- cases with their truth


def _truth(case: str) -> tuple[Path, dict[str, Any]]:
    folder = flink_cases() / case
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return folder / truth["path"], truth


_JAVA_NAMES = {
    3: "KeyGroupsStateHandle",
    4: "OperatorStreamStateHandle",
    7: "KeyGroupsSavepointStateHandle",
    11: "IncrementalRemoteKeyedStateHandle",
    12: "KeyGroupsStateHandle",
    14: "ChangelogStateBackendHandleImpl",
    17: "FileMergingOperatorStreamStateHandle",
}


def _java_name(handle: Any) -> str:
    empty = isinstance(handle, OperatorStateHandle) and handle.empty
    return "Empty" * empty + _JAVA_NAMES[handle.code]


@pytest.mark.parametrize("case", _cases())
def test_case(case: str) -> None:
    folder, truth = _truth(case)
    parsed = _parse(folder)
    assert parsed.checkpoint_id == truth["checkpoint_id"]
    properties = parsed.properties
    major, minor = map(int, truth["flink_version"].split(".")[:2])
    if (major, minor) < (1, 16):
        assert properties is None
    else:
        assert properties is not None
        form = {"checkpoint": (None), "native-savepoint": "native", "canonical-savepoint": "canonical"}[truth["kind"]]
        assert (properties.kind, properties.format) == ("savepoint" if form else "checkpoint", form)
    seen = []
    for operator in parsed.operators:
        uses = operator.handles()
        seen.append(
            {
                "operator_id": operator.id,
                "metadata_uid": operator.uid,
                "metadata_name": operator.name,
                "parallelism": operator.parallelism,
                "max_parallelism": operator.max_parallelism,
                "fully_finished": operator.fully_finished,
                "coordinator_state_bytes": None if operator.coordinator is None else operator.coordinator.size,
                "handles": dict(
                    Counter(f"{use.role}:{_java_name(use.handle)}" for use in uses if use.role != "coordinator")
                ),
            }
        )
    defaults = {
        "metadata_uid": None,
        "metadata_name": None,
        "fully_finished": False,
        "coordinator_state_bytes": None,
        "handles": {},
    }
    wanted = [{key: known.get(key, defaults.get(key)) for key in seen[0]} for known in truth["operators"]]
    assert sorted(seen, key=lambda operator: str(operator["operator_id"])) == wanted
    for known in truth["operators"]:
        assert known["uid"] is None or operator_id(known["uid"]) == known["operator_id"]


@pytest.mark.parametrize("case", _cases())
def test_moved_case_is_found(case: str) -> None:
    """All cases were moved after they were written: each file of theirs is found, with the size its handle says."""
    folder, truth = _truth(case)
    root = flink_cases() / case / truth["path"].split("/")[0]
    found = find_snapshot(str(folder if folder == root else root), Store())
    assert found.directory_uri == str(folder)
    locator = Locator(found, Store())
    used: set[str] = set()
    for operator in _parse(folder).operators:
        for use in operator.handles():
            for stream, exact in _streams(use.handle):
                location = locator.locate(stream, exact_size=exact)
                if location.uri is not None:
                    used.add(location.uri)
                    assert Path(location.uri).stat().st_size >= location.start + location.size
                    assert exact or location.start == 0
    there = {str(path) for path in root.rglob("*") if path.is_file() and path.name != "_metadata"}
    # Files of other checkpoints of the job may lie there too, but nothing beyond the case's folder is used.
    assert used <= there
    for original, at in locator.relocations:
        assert original.startswith("/data/flink/")
        assert Path(original).name == Path(at).name


def _streams(handle: Any) -> list[tuple[Any, bool]]:
    """Stream handles, with whether their size is the file's."""
    if isinstance(handle, ChangelogHandle):
        return [item for part in (*handle.materialized, *handle.increments) for item in _streams(part)]
    return [(stream, not isinstance(handle, ChangelogFilesHandle)) for stream in handle.streams()]


def test_what_the_cases_cover() -> None:
    handles = [
        use.handle for case in _cases() for operator in _parse(_truth(case)[0]).operators for use in operator.handles()
    ]
    codes = {handle.code for handle in handles}
    assert {1, 4, 7, 11, 12, 14, 17} <= codes
    assert any(isinstance(stream, SegmentHandle) for handle in handles for stream in handle.streams())
    assert any(isinstance(handle, IncrementalHandle) and handle.shared for handle in handles)


def test_changelogs_have_both_parts_somewhere() -> None:
    folders = [_truth(case)[0] for case in _cases()] + [flink_files() / name for name in _snapshots()]
    changelogs = [
        use.handle
        for folder in folders
        for operator in _parse(folder).operators
        for use in operator.handles()
        if isinstance(use.handle, ChangelogHandle)
    ]
    assert {part.kind for handle in changelogs for part in handle.materialized} == {"key groups V2"}
    assert {part.kind for handle in changelogs for part in handle.increments} == {"changelog bytes"}
