"""The state handles of real snapshots and of Flink's test-harness files, with the bytes behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conformance.conftest import flink_cases, flink_files

from stateextract.files.filesystem import Store
from stateextract.files.locate import Locator, find_snapshot
from stateextract.files.reader import Reader
from stateextract.metadata.handles import read_keyed_handle, read_operator_handle, read_stream_handle
from stateextract.metadata.model import (
    ChangelogHandle,
    IncrementalHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    OperatorStateHandle,
    StreamHandle,
)
from stateextract.metadata.parser import parse_metadata


@dataclass(frozen=True)
class KeyedFile:
    """A file with a keyed head: where the handle stands, its bytes, and where the head must end."""

    operator: str
    subtask: int
    handle: KeyGroupsHandle | IncrementalHandle
    data: bytes
    head_end: int


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
    reader = Reader(path.read_bytes())
    version = reader.i32()
    read_stream_handle(reader)
    for _ in range(2):
        for _ in range(max(reader.i32(), 0)):
            read_operator_handle(reader)
    for managed in (False, True):
        for _ in range(max(reader.i32(), 0)):
            for handle in _flat(read_keyed_handle(reader)):
                if managed:
                    yield _keyed_file("", 0, handle, None, None)
    assert version in (0, 3)


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
    assert store is not None and locator is not None
    location = locator.locate(stream)
    assert location.uri is not None
    return store.read(location.uri, location.start, location.size)


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
