"""Writes keyed state in small, in every form that Flink has for it: heap bodies, canonical ones, RocksDB's files.

The same entries go into each form, so that what comes out can be compared. Handles are inline unless a test moves the
bytes elsewhere.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from stateextract.metadata.model import (
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    OperatorState,
    SnapshotMetadata,
    SubtaskState,
)
from tests.metadata import writer as metadata_writer
from tests.writers.flink_writer import LONG, STRING, VOID_NAMESPACE, composite, compress_snappy_framed, proxy, utf
from tests.writers.sst import PUT, SstFile, database
from tests.writers.sst import Entry as Pair

END = b"\xff\xff"
TIMER = "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot"

Value: TypeAlias = "bytes | list[bytes] | list[tuple[bytes, bytes | None]] | int"
"""Of a value; a list's elements; a map's entries; a timer's time."""


@dataclass(frozen=True)
class Entry:
    """One entry, its parts as their serializers write them."""

    group: int
    key: bytes
    value: Value
    namespace: bytes = b"\x00"


@dataclass(frozen=True)
class State:
    """A state: ``value`` and ``namespace`` are serializer snapshots; ``lengths``: those stand in canonical keys."""

    name: str
    entries: Sequence[Entry] = ()
    kind: str = "VALUE"
    value: bytes = LONG
    namespace: bytes = VOID_NAMESPACE
    lengths: bool = False

    def meta(self, key: bytes) -> bytes:
        if self.kind == "TIMER":
            timer = composite(TIMER, 2, [key, self.namespace])
            return utf(self.name) + i32(3, 0, 1) + utf("VALUE_SERIALIZER") + proxy(timer)
        options = i32(0, 1) + utf("KEYED_STATE_TYPE") + utf(self.kind)
        serializers = utf("VALUE_SERIALIZER") + proxy(self.value) + utf("NAMESPACE_SERIALIZER") + proxy(self.namespace)
        return utf(self.name) + options + i32(2) + serializers

    def of(self, group: int) -> list[Entry]:
        return [entry for entry in self.entries if entry.group == group]


@dataclass(frozen=True)
class Keyed:
    """What the keyed state of one subtask is made of."""

    states: Sequence[State]
    key: bytes = LONG
    groups: range = field(default_factory=lambda: range(4))
    max_parallelism: int = 4

    @property
    def prefix(self) -> int:
        return 1 if self.max_parallelism <= 128 else 2


Form: TypeAlias = Callable[[Keyed], KeyedStateHandle]


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def i64(*values: int) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


def head(keyed: Keyed, compressed: bool) -> bytes:
    metas = b"".join(state.meta(keyed.key) for state in keyed.states)
    return struct.pack(">i?", 6, compressed) + proxy(keyed.key) + struct.pack(">h", len(keyed.states)) + metas


def heap(keyed: Keyed, compressed: bool = False, code: int = 12) -> KeyGroupsHandle:
    """A checkpoint or native savepoint of the HashMap backend."""
    data, offsets = bytearray(head(keyed, compressed)), []
    for group in keyed.groups:
        offsets.append(len(data))
        data += i32(group)
        for number, state in enumerate(keyed.states):
            entries = state.of(group)
            body = struct.pack(">Hi", number, len(entries)) + b"".join(map(_heap_entry, entries))
            data += compress_snappy_framed(body) if compressed else body
    stream = InlineHandle("heap", bytes(data))
    return KeyGroupsHandle(code, keyed.groups.start, tuple(offsets), stream, "id" if code == 12 else "")


def _heap_entry(entry: Entry) -> bytes:
    value = entry.value
    if isinstance(value, int):
        return _timer(entry)
    if isinstance(value, bytes):
        return entry.namespace + entry.key + value
    return entry.namespace + entry.key + i32(len(value)) + b"".join(map(_element, value))


def _element(element: bytes | tuple[bytes, bytes | None]) -> bytes:
    return element if isinstance(element, bytes) else element[0] + _flagged(element[1])


def _flagged(value: bytes | None) -> bytes:
    return b"\x01" if value is None else b"\x00" + value


def _timer(entry: Entry) -> bytes:
    assert isinstance(entry.value, int)
    return struct.pack(">Q", (entry.value & (1 << 64) - 1) ^ 1 << 63) + entry.key + entry.namespace


def canonical(keyed: Keyed, compressed: bool = False, code: int = 7) -> KeyGroupsHandle:
    """A canonical savepoint, or a full snapshot of RocksDB."""
    data, offsets = bytearray(head(keyed, compressed)), []
    for group in keyed.groups:
        states = [(n, _pairs(keyed, state, group)) for n, state in enumerate(keyed.states)]
        states = [(n, pairs) for n, pairs in states if pairs]
        offsets.append(len(data) if states else 0)
        body = b"".join(_run(n, pairs) for n, pairs in states) + (END if states else b"")
        data += compress_snappy_framed(body) if compressed and body else body
    stream = InlineHandle("canonical", bytes(data))
    return KeyGroupsHandle(code, keyed.groups.start, tuple(offsets), stream, "id" if code == 12 else "")


def _run(number: int, pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The pairs of one state; the last one's key says that something else follows."""
    last = len(pairs) - 1
    keys = [bytes([key[0] | 0x80]) + key[1:] if i == last else key for i, (key, _) in enumerate(pairs)]
    written = (i32(len(k)) + k + i32(len(v)) + v for k, (_, v) in zip(keys, pairs, strict=True))
    return number.to_bytes(2, "big") + b"".join(written)


def _pairs(keyed: Keyed, state: State, group: int) -> list[tuple[bytes, bytes]]:
    prefix = group.to_bytes(keyed.prefix, "big")
    found: list[tuple[bytes, bytes]] = []
    for entry in state.of(group):
        value = entry.value
        if isinstance(value, int):
            found.append((prefix + _timer(entry), b""))
            continue
        key = prefix + entry.key + entry.namespace
        if state.lengths:
            key = prefix + entry.key + _length(entry.key) + entry.namespace + _length(entry.namespace)
        if isinstance(value, bytes):
            found.append((key, value))
        elif state.kind == "LIST":
            found.append((key, b",".join(element for element in value if isinstance(element, bytes))))
        else:
            found += [(key + e[0], _flagged(e[1])) for e in value if isinstance(e, tuple)]
    return found


def _length(part: bytes) -> bytes:
    size = len(part)
    out = bytes([size & 0xFF])
    while size := size >> 8:
        out += bytes([size & 0xFF])
    return out


def rocksdb(keyed: Keyed, code: int = 11) -> IncrementalHandle:
    """RocksDB's own files: a file of level 0 for each state that has entries."""
    files = []
    for state in keyed.states:
        pairs = [pair for group in keyed.groups for pair in _pairs(keyed, state, group)]
        entries = tuple(Pair(key, seqno, PUT, value) for seqno, (key, value) in enumerate(pairs, 1))
        if entries:
            files.append(SstFile(0, entries, state=state.name))
    made = database(files, [state.name for state in keyed.states], keyed.groups.start, len(keyed.groups))
    return replace(made, code=code, meta=InlineHandle("meta", head(keyed, False)))


FORMS: dict[str, Form] = {
    "heap": heap,
    "heap compressed": lambda keyed: heap(keyed, True),
    "canonical": canonical,
    "canonical compressed": lambda keyed: canonical(keyed, True),
    "RocksDB": rocksdb,
}


def write(folder: Path, subtasks: Iterable[SubtaskState], max_parallelism: int = 4, **more: object) -> Path:
    """A snapshot of one operator with the uid ``op``."""
    tasks = tuple(subtasks)
    parallelism = max((task.index for task in tasks), default=0) + 1
    operator = OperatorState("0f" * 16, "op", "An operator", parallelism, max_parallelism, subtasks=tasks)
    return write_operators(folder, [replace(operator, **more)])  # type: ignore[arg-type]


def write_operators(folder: Path, operators: Sequence[OperatorState], version: int = 6) -> Path:
    """A snapshot."""
    folder.mkdir(parents=True, exist_ok=True)
    snapshot = SnapshotMetadata(version, 7, (), tuple(operators))
    (folder / "_metadata").write_bytes(metadata_writer.metadata(snapshot))
    return folder


__all__ = [
    "FORMS", "LONG", "STRING", "Entry", "Form", "Keyed", "State", "canonical", "head", "heap", "i32", "i64", "rocksdb", "write",
    "write_operators",
]  # fmt: skip
