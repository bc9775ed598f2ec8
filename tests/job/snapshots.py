"""Small snapshots of the HashMap backend for tests of the job: long keys and values, in key groups as the test wants."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.writers import flink_writer as flink

Rows = Sequence[tuple[int, int]]
States = Mapping[str, Mapping[int, Rows]]
"""Rows by key group, by state."""

UNKNOWN = flink.versioned("com.example.ShapeSerializerSnapshot", 1)
"""Snapshot of a serializer that nobody knows. A value written with it is a long all the same."""

TUPLE = flink.tuple_of(flink.LONG)
"""A tuple of one long: the same bytes as a long, another column."""


def write_snapshot(
    folder: Path,
    operators: Mapping[str, States],
    *,
    parallelism: int = 2,
    max_parallelism: int = 8,
    compressed: bool = False,
    key: bytes = flink.LONG,
    values: Mapping[str, bytes] | None = None,
    values_by_subtask: Mapping[tuple[str, int], bytes] | None = None,
    checkpoint: int = 7,
) -> Path:
    """A checkpoint directory.

    :param key: serializer snapshot of the keys, whose bytes are those of a long.
    :param values: serializer snapshot of the values, by state, where it is not that of a long.
    :param values_by_subtask: the same for one subtask only.
    """
    folder.mkdir(parents=True)
    written = []
    for uid, states in operators.items():
        files = []
        for subtask in range(parallelism):
            metas = []
            for name in states:
                value = (values_by_subtask or {}).get((name, subtask)) or (values or {}).get(name, flink.LONG)
                metas.append(flink.State(name, "VALUE", value))
            key_groups = flink.key_group_range(subtask, parallelism, max_parallelism)
            data, offsets = _file(flink.head(key, metas, compressed), states, key_groups, compressed)
            name = f"{uid}-{subtask}"
            (folder / name).write_bytes(data)
            files.append(flink.KeyedFile(subtask, name, len(data), key_groups[0], offsets, name))
        written.append(flink.Operator(uid, f"name of {uid}", parallelism, max_parallelism, files))
    (folder / "_metadata").write_bytes(flink.metadata(checkpoint, written))
    return folder


def _file(head: bytes, states: States, key_groups: range, compressed: bool) -> tuple[bytes, list[int]]:
    data, offsets = bytearray(head), []
    for key_group in key_groups:
        offsets.append(len(data))
        data += struct.pack(">i", key_group)
        for number, by_group in enumerate(states.values()):
            rows = by_group.get(key_group, ())
            entries = (row if isinstance(row, bytes) else struct.pack(">bqq", 0, *row) for row in rows)
            body = struct.pack(">Hi", number, len(rows)) + b"".join(entries)
            data += flink.compress_snappy_framed(body) if compressed else body
    return bytes(data), offsets


def numbered(count: int, max_parallelism: int = 8, factor: int = 10) -> dict[int, list[tuple[int, int]]]:
    """``count`` rows ``(i, factor * i)``, spread over all key groups."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for i in range(count):
        rows.setdefault(i % max_parallelism, []).append((i, factor * i))
    return rows
