"""The rows of ``shapes.py`` as pairs of key and value: canonical savepoints, and databases for RocksDB's reader.

``Pairs`` gives the pairs of one key group after the other; :func:`write_canonical` makes a savepoint directory of them, as
``flink savepoint`` would write it from the HashMap backend, :func:`write_rocksdb` one with SST files. The rows, and so
what must come out, are those of ``generate.py``.
"""

# Numba infers the types of the loops; annotating them would say nothing.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from benchmarks.sst_writer import COMPRESSIONS, write_sorted
from stateextract.metadata.model import FileHandle, IncrementalHandle, InlineHandle
from tests.writers import flink_writer as flink
from tests.writers import kernels
from tests.writers.shapes import LARGEST_ENTRY, SHAPES, Shape, salts

GROUPS = 128
BUFFER = 8 << 20
LARGEST_ROW = 4 * LARGEST_ENTRY
PREFIX = 1
END = b"\xff\xff"
OPERATOR, STATE = "bench", "state"

Octets = np.ndarray[Any, np.dtype[np.uint8]]


@njit(cache=True)
def _framed(out, pos, entry, start, size):
    """A length and the bytes."""
    pos = kernels._put_4(out, pos, size)
    out[pos : pos + size] = entry[start : start + size]
    return pos + size


@njit(cache=True)
def _pairs_of(kind, out, pos, entry, key_size, end, group, starts, n):
    """The pairs of one heap entry (void namespace, key, value); the key of the last one begins at ``starts[n - 1]``.

    :param kind: 0: a value; 1: a list of longs; 2: a map of short texts to longs.
    """
    count, at = 1, 1 + key_size
    if kind == 2:
        count = 10
        at += 4
    for _ in range(count):
        user_key = 0 if kind != 2 else int(entry[at])  # the length of a short text is one byte: its length and one
        starts[n] = pos
        n += 1
        pos = kernels._put_4(out, pos, PREFIX + key_size + 1 + user_key)
        out[pos] = group
        out[pos + 1 : pos + 1 + key_size] = entry[1 : 1 + key_size]
        pos += 1 + key_size
        out[pos] = 0
        out[pos + 1 : pos + 1 + user_key] = entry[at : at + user_key]
        pos += 1 + user_key
        at += user_key
        if kind == 0:
            pos = _framed(out, pos, entry, at, end - at)
        elif kind == 1:
            size = end - at - 4
            pos = kernels._put_4(out, pos, size + size // 8 - 1)
            for k in range(size // 8):
                if k:
                    out[pos] = 44
                    pos += 1
                out[pos : pos + 8] = entry[at + 4 + 8 * k : at + 12 + 8 * k]
                pos += 8
        else:
            size = 1 if entry[at] else 9
            pos = _framed(out, pos, entry, at, size)
            at += size
    return pos, n


@njit(cache=True)
def _fill(kind, shape, out, rows, k, group, long_key, key_salt, value_salt, text, texts, starts):
    """Pairs of ``rows[k:]`` until ``out`` may be too short for one more row; the next row, the bytes, the pairs."""
    entry = np.empty(LARGEST_ENTRY + 64, np.uint8)
    key_size = 8 if long_key else 1 + len(kernels.KEY_PREFIX) + 12
    pos, n = 0, 0
    while k < len(rows) and pos <= len(out) - LARGEST_ROW:
        _, end = kernels.fill(
            shape, entry, 0, rows, k, k + 1, long_key, key_salt, value_salt, kernels.NO_GROUP, GROUPS, text, texts
        )
        pos, n = _pairs_of(kind, out, pos, entry, key_size, end, group, starts, n)
        k += 1
    return k, pos, n


@dataclass(frozen=True)
class Pairs:
    """The first ``entries`` rows of a shape, in at most 128 key groups."""

    shape: Shape
    entries: int
    seed: int = 1
    key_groups: int = GROUPS

    def groups(self) -> Iterator[tuple[int, Iterator[tuple[Octets, Any]]]]:
        """Each key group with its pairs: framed bytes in pieces of some megabytes, and where each pair begins."""
        shape, key_salt = self.shape, np.uint64(salts(self.seed, self.shape)[0])
        counts = np.zeros(self.key_groups, np.int64)
        kernels.count_groups(shape.long_key, key_salt, self.entries, self.key_groups, counts)
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rows = np.empty(self.entries, np.uint32)
        kernels.collect(shape.long_key, key_salt, self.entries, self.key_groups, 0, ends[:-1].copy(), rows)
        for group in range(self.key_groups):
            yield group, self._pieces(group, rows[ends[group] : ends[group + 1]])

    def _pieces(self, group: int, rows: Any) -> Iterator[tuple[Octets, Any]]:
        shape = self.shape
        kind = {"LIST": 1, "MAP": 2}.get(shape.kind, 0)
        text, texts = kernels.texts()
        key_salt, value_salt = (np.uint64(salt) for salt in salts(self.seed, shape))
        out, starts = np.empty(BUFFER, np.uint8), np.empty(BUFFER // 16, np.int64)
        k = 0
        while k < len(rows):
            k, size, n = _fill(
                kind, shape.number, out, rows, k, group, shape.long_key, key_salt, value_salt, text, texts, starts
            )
            yield out[:size], starts[:n]


def head(shape: Shape, compressed: bool = False) -> bytes:
    """The head of a file with the one state."""
    return flink.head(shape.key, [flink.State(STATE, shape.kind, shape.value)], compressed)


def write_canonical(folder: Path, pairs: Pairs) -> Path:
    """A savepoint directory with one file; a key group without entries would have the offset 0."""
    folder.mkdir(parents=True)
    start = head(pairs.shape)
    offsets, size = [], len(start)
    with (folder / "state").open("wb", buffering=1 << 20) as file:
        file.write(start)
        for _, pieces in pairs.groups():
            offset, waiting = size, None
            for piece, starts in pieces:
                if waiting is None:
                    file.write(b"\x00\x00")
                    size += 2
                else:
                    file.write(waiting)
                # Of the piece behind which none comes, the last pair's key says so.
                waiting, last = piece.tobytes(), int(starts[-1]) + 4
                size += len(waiting)
            if waiting is not None:
                file.write(waiting[:last] + bytes([waiting[last] | 0x80]) + waiting[last + 1 :] + END)
                size += len(END)
            offsets.append(offset if waiting is not None else 0)
    handle = struct.pack(">bii", 7, 0, pairs.key_groups) + np.asarray(offsets, ">i8").tobytes()
    (folder / "_metadata").write_bytes(
        _metadata(handle + b"\x06" + flink.utf("state") + struct.pack(">q", size), pairs)
    )
    return folder


def write_rocksdb(folder: Path, pairs: Pairs, compression: str = "snappy") -> IncrementalHandle:
    """A savepoint directory with a database, all of its files at level 1, and the database's handle."""
    assert compression in COMPRESSIONS
    folder.mkdir(parents=True)
    handle = write_sorted(folder, STATE, _sorted(pairs), compression)
    meta = InlineHandle("meta", head(pairs.shape))
    handle = IncrementalHandle(11, 1, "benchmark", 0, pairs.key_groups, meta, handle.shared, handle.private)
    (folder / "_metadata").write_bytes(_metadata(_incremental(handle), pairs))
    return handle


def _sorted(pairs: Pairs) -> Iterator[tuple[Octets, Any]]:
    """The pairs of each key group in order of their keys: framed bytes, and where each pair begins, in that order."""
    for _, pieces in pairs.groups():
        parts, starts, size = [], [], 0
        for piece, begins in pieces:
            parts.append(piece.copy())
            starts.append(begins + size)
            size += len(piece)
        if parts:
            data, begins = np.concatenate(parts), np.concatenate(starts)
            yield data, begins[np.argsort(_keys(data, begins), kind="stable")]


def _keys(data: Octets, starts: Any) -> Any:
    """The keys as an array of fixed width; none is the beginning of another, so padding changes no order."""
    sizes = np.zeros(len(starts), np.int64)
    for k in range(4):
        sizes = sizes << 8 | data[starts + k]
    width = int(sizes.max())
    out = np.zeros((len(starts), width), np.uint8)
    for k in range(width):
        inside = sizes > k
        out[inside, k] = data[starts[inside] + 4 + k]
    return out.view(f"S{width}").ravel()


def _incremental(handle: IncrementalHandle) -> bytes:
    def stream(one: Any) -> bytes:
        if isinstance(one, FileHandle):
            return b"\x06" + flink.utf(Path(one.path).name) + struct.pack(">q", one.size)
        return b"\x01" + flink.utf(one.name) + struct.pack(">i", len(one.data)) + one.data

    def listed(files: Any) -> bytes:
        return struct.pack(">i", len(files)) + b"".join(flink.utf(name) + stream(one) for name, one in files)

    numbers = struct.pack(">bq", 11, 1) + flink.utf("benchmark") + struct.pack(">iiq", 0, len(handle.key_groups), -1)
    return numbers + stream(handle.meta) + listed(handle.shared) + listed(handle.private) + flink.utf("id")


def _metadata(keyed: bytes, pairs: Pairs) -> bytes:
    """``_metadata`` of version 6 with one subtask that has this keyed handle."""
    operator = flink.utf(OPERATOR) + flink.utf(OPERATOR) + flink.operator_id(OPERATOR)
    operator += (
        struct.pack(">iibi", 1, pairs.key_groups, 0, 1) + struct.pack(">iii", 0, 0, 0) + keyed + b"\x00" + bytes(8)
    )
    start = struct.pack(">iiqii", flink.METADATA_MAGIC, flink.METADATA_VERSION, 1, 0, 1)
    return start + operator + b"\xac\xed\x00\x05\x70"


__all__ = ["GROUPS", "OPERATOR", "SHAPES", "STATE", "Pairs", "head", "write_canonical", "write_rocksdb"]
