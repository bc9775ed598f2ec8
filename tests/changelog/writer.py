"""Writes changelogs, and a small model of Flink's state whose every call changes its rows and logs a record.

The model keeps values as the bytes that serializers write. What it holds at any time can be written as a snapshot of any
form (``tests/state/keyed_writer.py``): as what was materialized, and as the checkpoint that a changelog is held against.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stateextract.metadata.model import (
    ChangelogBytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    FileHandle,
    KeyedStateHandle,
)
from tests.state.keyed_writer import LONG, Entry, Keyed, State, i32
from tests.writers.flink_writer import VOID_NAMESPACE, compress_snappy_framed

CLEAR, SET, SET_INTERNAL, ADD, MERGE_NS, ADD_ELEMENT, ADD_OR_UPDATE, REMOVE, METADATA = range(9)

VOID = b"\x00"
TTL_CONFIG = bytes.fromhex("aced000573720001") + b"A" + bytes(11) + b"xp"
"""Stands for the Java object that describes a time to live: nobody looks into it."""

Record = tuple[int, bytes]
"""Key group (-1: metadata) and bytes."""


def declare(
    state: State, state_id: int, key: bytes = LONG, *, version: int = 7, ttl: bool = False, default: bytes | None = None
) -> bytes:
    """A metadata record."""
    record = b"\x08" + i32(version) + state.meta(key)
    if state.kind == "TIMER":
        return record + struct.pack(">hB", state_id, 3)
    record += b"\x01" + TTL_CONFIG if ttl else b"\x00"
    record += b"\x00" if default is None else b"\x01" + default
    return record + struct.pack(">hB", state_id, 0)


def change(operation: int, state_id: int, *parts: bytes) -> bytes:
    """A data record: key, namespace, operands, or the operands of a queue."""
    return struct.pack(">Bh", operation, state_id) + b"".join(parts)


def change_set(records: Iterable[Record]) -> bytes:
    """Records by key group, metadata first; within a key group in the order given."""
    groups: dict[int, list[bytes]] = {}
    for group, data in records:
        groups.setdefault(group, []).append(data)
    out = i32(len(groups))
    for group in sorted(groups, key=lambda g: (g >= 0, -g)):
        out += i32(len(groups[group]), group) + b"".join(i32(len(data)) + data for data in groups[group])
    return out


def changelog_file(sets: Sequence[bytes], compressed: bool = False) -> tuple[bytes, list[int]]:
    """A file, and the offsets of its sets."""
    offsets = [sum(map(len, sets[:i])) for i in range(len(sets))]
    plain = b"".join(sets)
    return (b"\x01" + compress_snappy_framed(plain) if compressed else b"\x00" + plain), offsets


def in_memory(records: Sequence[Record], groups: range) -> ChangelogBytesHandle:
    """An increment inside of ``_metadata``."""
    return ChangelogBytesHandle(groups.start, len(groups), 0, len(records), tuple(records), "memory")


def in_files(
    folder: Path, sets: Sequence[Sequence[Record]], groups: range, *, compressed: bool = False, name: str = "log"
) -> ChangelogFilesHandle:
    """An increment in files: the sets are spread over two files, with foreign and stale sets between them."""
    folder.mkdir(parents=True, exist_ok=True)
    foreign = change_set([(-1, b"\x08foreign"), (groups.start, b"\x63\x00\x09")])
    bodies = [change_set(records) for records in sets]
    places = []
    for number in (0, 1):
        mine = bodies[number::2]
        # Later sets first: the handle says the order.
        data, offsets = changelog_file([foreign, *reversed(mine)], compressed)
        path = folder / f"{name}-{number}"
        path.write_bytes(data)
        stream = FileHandle(len(foreign) + sum(map(len, mine)), str(path))
        places.append([(offset, stream) for offset in reversed(offsets[1:])])
    files = tuple(places[i % 2][i // 2] for i in range(len(bodies)))
    size = sum(len(data) for records in sets for _, data in records)
    return ChangelogFilesHandle(13, groups.start, len(groups), files, size, 0, "files")


def handle(
    groups: range, materialized: Iterable[KeyedStateHandle], increments: Iterable[KeyedStateHandle], code: int = 14
) -> ChangelogHandle:
    """A changelog handle."""
    return ChangelogHandle(
        code, groups.start, len(groups), 0, tuple(materialized), tuple(increments), 1, 7 if code == 14 else None, "id"
    )


@dataclass
class Model:
    """One state: its rows by (key group, key, namespace), and how it is declared.

    Values are bytes; of lists, lists of bytes; of maps, dicts from user key to value or None.
    """

    state: State
    rows: dict[tuple[int, bytes, bytes], Any] = field(default_factory=dict)
    timers: set[tuple[int, int, bytes, bytes]] = field(default_factory=set)


class Job:
    """States of one subtask, with the log of what was done to them since :meth:`materialize`.

    :param merge: what the job's function makes of two values of a reducing state.
    """

    def __init__(self, states: Sequence[State], key: bytes = LONG, groups: range = range(4), most: int = 4) -> None:
        self.states = {state.name: Model(state) for state in states}
        self.key = key
        self.groups = groups
        self.most = most
        self.log: list[Record] = []
        self._ids: dict[str, int] = {}
        self._next = 0

    def keyed(self) -> Keyed:
        """What the states hold, to be written as a snapshot."""
        states = []
        for model in self.states.values():
            entries = [Entry(g, k, time, ns) for g, time, k, ns in sorted(model.timers)]
            for (group, key, namespace), value in model.rows.items():
                written = list(value.items()) if isinstance(value, dict) else value
                entries.append(Entry(group, key, written, namespace))
            states.append(replace(model.state, entries=entries))
        return Keyed(states, self.key, self.groups, self.most)

    def materialize(self) -> Keyed:
        """A new log begins here."""
        self.log, self._ids = [], {}
        return self.keyed()

    def record(self, name: str, group: int, operation: int, *parts: bytes) -> None:
        """Log a record, and the state's metadata before its first one."""
        if name not in self._ids:
            self._ids[name] = self._next
            self._next += 1
            self.log.append((-1, declare(self.states[name].state, self._ids[name], self.key)))
        self.log.append((group, change(operation, self._ids[name], *parts)))

    # -- all kinds

    def clear(self, name: str, group: int, key: bytes, namespace: bytes = VOID) -> None:
        self.states[name].rows.pop((group, key, namespace), None)
        self.record(name, group, CLEAR, key, namespace)

    # -- value, reducing, aggregating

    def set(self, name: str, group: int, key: bytes, value: bytes, namespace: bytes = VOID) -> None:
        model = self.states[name]
        model.rows[group, key, namespace] = value
        self.record(name, group, SET if model.state.kind == "VALUE" else SET_INTERNAL, key, namespace, value)

    def merge(self, name: str, group: int, key: bytes, target: bytes, sources: Sequence[bytes]) -> None:
        """Merge namespaces. Values of reducing states are numbers, and their sum is what they make."""
        rows = self.states[name].rows
        found = [rows.pop((group, key, source)) for source in sources if (group, key, source) in rows]
        if found:
            if (group, key, target) in rows:
                found.insert(0, rows[group, key, target])
            is_list = isinstance(found[0], list)
            rows[group, key, target] = [e for f in found for e in f] if is_list else _sum(found)
        count = i32(len(sources))
        self.record(name, group, MERGE_NS, key, target, target, count, *sources)

    # -- lists

    def update(self, name: str, group: int, key: bytes, elements: Sequence[bytes], namespace: bytes = VOID) -> None:
        rows = self.states[name].rows
        if elements:
            rows[group, key, namespace] = list(elements)
        else:
            rows.pop((group, key, namespace), None)
        self.record(name, group, SET, key, namespace, i32(len(elements)), *elements)

    def add(self, name: str, group: int, key: bytes, element: bytes, namespace: bytes = VOID) -> None:
        rows = self.states[name].rows
        rows[group, key, namespace] = [*rows.get((group, key, namespace), ()), element]
        self.record(name, group, ADD_ELEMENT, key, namespace, element)

    def add_all(self, name: str, group: int, key: bytes, elements: Sequence[bytes], namespace: bytes = VOID) -> None:
        rows = self.states[name].rows
        if elements:
            rows[group, key, namespace] = [*rows.get((group, key, namespace), ()), *elements]
        self.record(name, group, ADD, key, namespace, i32(len(elements)), *elements)

    # -- maps

    def put(self, name: str, group: int, key: bytes, user_key: bytes, value: bytes) -> None:
        self.states[name].rows.setdefault((group, key, VOID), {})[user_key] = value
        self.record(name, group, ADD_OR_UPDATE, key, VOID, user_key, value)

    def put_all(self, name: str, group: int, key: bytes, entries: dict[bytes, bytes | None]) -> None:
        self.states[name].rows.setdefault((group, key, VOID), {}).update(entries)
        written = [k + (b"\x01" if v is None else b"\x00" + v) for k, v in entries.items()]
        self.record(name, group, ADD, key, VOID, i32(len(entries)), *written)

    def remove(self, name: str, group: int, key: bytes, user_key: bytes) -> None:
        rows = self.states[name].rows
        row = rows.get((group, key, VOID))
        if row is not None:
            row.pop(user_key, None)
            if not row:
                del rows[group, key, VOID]
        self.record(name, group, REMOVE, key, VOID, user_key)

    # -- timers

    def register(self, name: str, group: int, time: int, key: bytes, namespace: bytes = VOID) -> None:
        self.states[name].timers.add((group, time, key, namespace))
        self.record(name, group, ADD_ELEMENT, i32(1), timer(time, key, namespace))

    def delete(self, name: str, group: int, time: int, key: bytes, namespace: bytes = VOID) -> None:
        self.states[name].timers.discard((group, time, key, namespace))
        self.record(name, group, REMOVE, timer(time, key, namespace))


def timer(time: int, key: bytes, namespace: bytes) -> bytes:
    """A timer as a queue's element."""
    return struct.pack(">Q", (time & (1 << 64) - 1) ^ 1 << 63) + key + namespace


def _sum(values: Sequence[bytes]) -> bytes:
    return struct.pack(">q", sum(struct.unpack(">q", value)[0] for value in values))


def cut(log: Sequence[Record], pieces: int) -> list[list[Record]]:
    """A log in so many change sets."""
    size = -(-len(log) // pieces) if log else 1
    return [list(log[i : i + size]) for i in range(0, len(log), size)]


__all__ = [
    "VOID", "VOID_NAMESPACE", "Job", "Model", "Record", "change", "change_set", "changelog_file", "cut", "declare", "handle",
    "in_files", "in_memory", "timer",
]  # fmt: skip
