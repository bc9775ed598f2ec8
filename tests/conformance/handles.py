"""The state handles of real snapshots and of Flink's test-harness files, with the bytes behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stateextract.files.filesystem import Store
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import (
    ChangelogHandle,
    IncrementalHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    OperatorStateHandle,
    StreamHandle,
)
from stateextract.metadata.parser import parse_metadata
from tests.conformance.conftest import flink_cases, flink_files
from tests.conformance.harness import parse_harness


@dataclass(frozen=True)
class KeyedFile:
    """A file with a keyed head: where the handle stands, its bytes, and where the head must end."""

    operator: str
    subtask: int
    handle: KeyGroupsHandle | IncrementalHandle
    data: bytes
    header_end: int


def snapshot_folders() -> list[Path]:
    """Every folder with a ``_metadata``."""
    found = [p.parent for root in (flink_files(), flink_cases()) for p in root.rglob("_metadata")]
    return sorted(p for p in found if "expected" not in p.parts)


def harness_files() -> list[Path]:
    """Snapshots that Flink's operator tests wrote without a ``_metadata``."""
    return sorted(p for p in flink_files().glob("flink-*/*-snapshot") if p.is_file())


def keyed_files(folder: Path) -> Iterator[KeyedFile]:
    """All managed keyed handles of a snapshot that have a head, changelogs' materialized parts included."""
    store = Store()
    found = find_snapshot(str(folder), store)
    locator = Locator(found, store)
    metadata = parse_metadata((folder / "_metadata").read_bytes())
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            for handle in _flat(subtask.managed_keyed):
                yield _keyed_file(operator.id, subtask.index, handle, store, locator)


def operators_with_changes(folder: Path) -> set[str]:
    """Operators whose state is partly or wholly in changelog increments, which have no head."""
    return {
        operator.id
        for operator in parse_metadata((folder / "_metadata").read_bytes()).operators
        for subtask in operator.subtasks
        if isinstance(subtask.managed_keyed, ChangelogHandle) and subtask.managed_keyed.increments
    }


def operator_files(folder: Path) -> Iterator[tuple[str, OperatorStateHandle, bytes]]:
    """All managed operator handles of a snapshot with their bytes."""
    store = Store()
    locator = Locator(find_snapshot(str(folder), store), store)
    for operator in parse_metadata((folder / "_metadata").read_bytes()).operators:
        for subtask in operator.subtasks:
            handle = subtask.managed_operator
            if handle is not None and not handle.empty and handle.stream.size:
                yield operator.id, handle, _bytes(handle.stream, store, locator)


def harness_keyed_files(path: Path) -> Iterator[KeyedFile]:
    """The managed keyed handles of a harness file (``OperatorSnapshotUtil`` of Flink's tests)."""
    for handle in parse_harness(path.read_bytes()).managed_keyed:
        for part in _flat(handle):
            yield _keyed_file("", 0, part, None, None)


def _flat(handle: KeyedStateHandle | None) -> Iterator[KeyGroupsHandle | IncrementalHandle]:
    if isinstance(handle, KeyGroupsHandle | IncrementalHandle):
        yield handle
    elif isinstance(handle, ChangelogHandle):
        for part in handle.materialized:
            yield from _flat(part)


def _bytes(stream: StreamHandle, store: Store | None, locator: Locator | None) -> bytes:
    data = getattr(stream, "data", None)
    if data is not None:
        return bytes(data)
    assert store is not None
    assert locator is not None
    location = locator.locate(stream)
    assert location.uri is not None
    return store.read(location.uri)[location.start : location.start + location.size]


def _keyed_file(
    operator: str,
    subtask: int,
    handle: KeyGroupsHandle | IncrementalHandle,
    store: Store | None,
    locator: Locator | None,
) -> KeyedFile:
    if isinstance(handle, IncrementalHandle):
        data = _bytes(handle.meta, store, locator)
        return KeyedFile(operator, subtask, handle, data, len(data))
    data = _bytes(handle.stream, store, locator)
    return KeyedFile(operator, subtask, handle, data, min((o for o in handle.offsets if o > 0), default=len(data)))
