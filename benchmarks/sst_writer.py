"""Writes RocksDB databases of any size, as Flink's RocksDB backend would upload them, in seconds.

Rows are computed, not stored: row ``i`` has the key ``key group · i64 i · void namespace`` and as its value an array of bytes
with its length in front, which compresses about as well as real records do. A database has one column family with files of
level 1 that hold all rows, and, if asked for, files of level 0 that hold newer versions of some of them. The blocks are
built by a compiled loop.

    python -m benchmarks.sst_writer FOLDER --megabytes 500 --compression snappy
"""

# Numba infers the types of the loop; annotating it would say nothing.
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from stateextract.metadata.model import FileHandle, IncrementalHandle, InlineHandle
from stateextract.rocksdb import checksums
from tests.writers import sst

BLOCK = 4096
FILE = 64 << 20
RESTART_INTERVAL = 16
LARGEST_VALUE = 2000
LARGEST_PAIR = 1 << 16
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
COMPRESSIONS = {"none": sst.NONE, "snappy": sst.SNAPPY, "lz4": sst.LZ4, "zstd": sst.ZSTD}


@dataclass(frozen=True)
class Shape:
    """:param rows: how many keys; ``value``: bytes of each value.
    :param updates: level-0 files, each with a newer version of every ``step``-th key.
    """

    rows: int
    value: int = 100
    groups: int = 128
    updates: int = 0
    step: int = 10
    compression: str = "snappy"
    checksum: int = checksums.XXH3


@njit(cache=True)
def _block(out, row, step, rows, groups, value, seqno, limit):
    """Write one block's entries from ``row`` on; returns (bytes, next row)."""
    pos = 0
    count = 0
    restarts = np.empty(1024, np.int64)
    n_restarts = 0
    last = np.zeros(10, np.uint8)
    key = np.zeros(10, np.uint8)
    while row < rows and pos < limit:
        key[0] = row * groups // rows
        for k in range(8):
            key[1 + k] = (row >> (56 - 8 * k)) & 0xFF
        key[9] = 0
        shared = 0
        if count % RESTART_INTERVAL == 0:
            restarts[n_restarts] = pos
            n_restarts += 1
        else:
            while shared < 10 and key[shared] == last[shared]:
                shared += 1
        out[pos] = shared
        out[pos + 1] = 18 - shared
        pos += 2
        if value < 128:
            out[pos] = value
            pos += 1
        else:
            out[pos] = (value & 0x7F) | 0x80
            out[pos + 1] = value >> 7
            pos += 2
        for k in range(shared, 10):
            out[pos] = key[k]
            pos += 1
        out[pos] = 1
        for k in range(7):
            out[pos + 1 + k] = (seqno >> (8 * k)) & 0xFF
        pos += 8
        word = (np.uint64(row) + np.uint64(seqno)) * GOLDEN
        for k in range(value):
            if k % 16 == 0:
                word = (word ^ (word >> np.uint64(29))) * GOLDEN
            # Half of the bytes repeat, so that Snappy finds something to do.
            out[pos + k] = (word >> np.uint64(8 * (k % 8))) & np.uint64(0xFF) if k % 16 < 8 else 97 + k % 26
        for k in range(4):
            out[pos + k] = ((value - 4) >> (24 - 8 * k)) & 0xFF
        pos += value
        last[:] = key
        count += 1
        row += step
    for k in range(n_restarts):
        for b in range(4):
            out[pos + b] = (restarts[k] >> (8 * b)) & 0xFF
        pos += 4
    for b in range(4):
        out[pos + b] = (n_restarts >> (8 * b)) & 0xFF
    return pos + 4, row, count


@njit(cache=True)
def _put_varint(out, pos, value):
    while value >= 128:
        out[pos] = (value & 0x7F) | 0x80
        pos += 1
        value >>= 7
    out[pos] = value
    return pos + 1


@njit(cache=True)
def _block_of(out, data, starts, row, limit):
    """Write one block of framed pairs from ``starts[row]`` on; returns (bytes, next row)."""
    pos = 0
    count = 0
    restarts = np.empty(4096, np.int64)
    n_restarts = 0
    last, last_size = 0, 0
    while row < len(starts) and pos < limit:
        at = starts[row]
        size = 0
        for k in range(4):
            size = size << 8 | data[at + k]
        key = at + 4
        at = key + size
        value = 0
        for k in range(4):
            value = value << 8 | data[at + k]
        at += 4
        shared = 0
        if count % RESTART_INTERVAL == 0:
            restarts[n_restarts] = pos
            n_restarts += 1
        else:
            while shared < size and shared < last_size and data[key + shared] == data[last + shared]:
                shared += 1
        pos = _put_varint(out, pos, shared)
        pos = _put_varint(out, pos, size - shared + 8)
        pos = _put_varint(out, pos, value)
        for k in range(shared, size):
            out[pos] = data[key + k]
            pos += 1
        out[pos] = 1
        out[pos + 1] = 1
        out[pos + 2 : pos + 8] = 0
        pos += 8
        out[pos : pos + value] = data[at : at + value]
        pos += value
        last, last_size = key, size
        count += 1
        row += 1
    for k in range(n_restarts):
        for b in range(4):
            out[pos + b] = (restarts[k] >> (8 * b)) & 0xFF
        pos += 4
    for b in range(4):
        out[pos + b] = (n_restarts >> (8 * b)) & 0xFF
    return pos + 4, row


def _key(row: int, shape: Shape) -> bytes:
    return bytes([row * shape.groups // shape.rows]) + row.to_bytes(8, "big") + b"\0"


class _File:
    """One SST file that grows block by block."""

    def __init__(self, path: Path, shape: Shape) -> None:
        self.path = path
        compression = COMPRESSIONS[shape.compression]
        self.writer = sst.SstWriter(sst.Format(checksum=shape.checksum, compression=compression))
        self.blocks: list[tuple[bytes, tuple[int, int]]] = []
        self.entries = 0

    @property
    def size(self) -> int:
        return len(self.writer.out)

    def add(self, plain: bytes, last: bytes, entries: int) -> None:
        """A block of so many entries, and the last of its keys."""
        self.blocks.append((last, self.writer.add(plain, self.writer.form.compression)))
        self.entries += entries

    def finish(self) -> int:
        """Write the file; its size."""
        return self.path.write_bytes(self.writer.write_blocks(self.blocks, self.entries))


def write_database(folder: Path, shape: Shape) -> IncrementalHandle:
    """Write all files and return a handle on them. The state is called "state"."""
    return write_chain(folder, shape)[-1]


def write_chain(folder: Path, shape: Shape) -> list[IncrementalHandle]:
    """The same, with a handle for the database before the updates and after each of them."""
    folder.mkdir(parents=True, exist_ok=True)
    records = _first_records("state")
    shared: list[tuple[str, Any]] = []

    def run(level: int, step: int, seqno: int) -> None:
        row = 0
        room = np.empty(BLOCK + LARGEST_VALUE + 8192, np.uint8)
        while row < shape.rows:
            file = _File(folder / f"{10 + len(shared):06d}.sst", shape)
            first = row
            while row < shape.rows and file.size < FILE:
                size, following, count = _block(room, row, step, shape.rows, shape.groups, shape.value, seqno, BLOCK)
                file.add(room[:size].tobytes(), _key(following - step, shape), count)
                row = following
            _list_file(records, shared, file, level, seqno, (_key(first, shape), _key(row - step, shape)))

    run(1, 1, 1)
    handles = [_handle(records, shared, shape.groups)]
    for update in range(shape.updates):
        run(0, shape.step, 2 + update)
        handles.append(_handle(records, shared, shape.groups))
    return handles


def write_sorted(
    folder: Path, state: str, parts: Iterable[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]], compression: str
) -> IncrementalHandle:
    """Write given pairs as the files of level 1 of one state, and return a handle on them.

    :param parts: framed pairs, and where each begins, in order of their keys; so must be the parts.
    """
    shape = Shape(1, compression=compression)
    records = _first_records(state)
    shared: list[tuple[str, Any]] = []
    file: _File | None = None
    first = last = b""

    def finish() -> None:
        assert file is not None
        _list_file(records, shared, file, 1, 1, (first, last))

    for data, starts in parts:
        at = 0
        room = np.empty(BLOCK + LARGEST_PAIR, np.uint8)
        while at < len(starts):
            size, following = _block_of(room, data, starts, at, BLOCK)
            if file is None:
                file = _File(folder / f"{10 + len(shared):06d}.sst", shape)
                first = _key_of(data, int(starts[at]))
            last = _key_of(data, int(starts[following - 1]))
            file.add(room[:size].tobytes(), last, following - at)
            at = following
            if file.size >= FILE:
                finish()
                file = None
    if file is not None:
        finish()
    return _handle(records, shared, 128)


def _key_of(data: np.ndarray[Any, Any], start: int) -> bytes:
    size = int.from_bytes(data[start : start + 4].tobytes(), "big")
    return data[start + 4 : start + 4 + size].tobytes()


def _first_records(state: str) -> list[bytes]:
    named = sst.varint(201) + sst.piece(state.encode()) + sst.varint(200) + sst.varint(1)
    return [b"", sst.varint(1) + sst.piece(b"leveldb.BytewiseComparator"), named]


def _list_file(
    records: list[bytes],
    shared: list[tuple[str, Any]],
    file: _File,
    level: int,
    seqno: int,
    bounds: tuple[bytes, bytes],
) -> None:
    """Finish a file and enter it into the MANIFEST."""
    size = file.finish()
    number = 10 + len(shared)
    first, last = (sst.internal_key(key, seqno, sst.PUT) for key in bounds)
    record = sst.live_file(level, number, size, (first, last), (seqno, seqno))
    records.append(record + sst.varint(200) + sst.varint(1))
    shared.append((file.path.name, FileHandle(size, str(file.path))))


def _handle(records: list[bytes], shared: list[tuple[str, Any]], groups: int) -> IncrementalHandle:
    private = (
        ("CURRENT", InlineHandle("current", b"MANIFEST-000005\n")),
        ("MANIFEST-000005", InlineHandle("manifest", sst.log_file(records))),
    )
    return IncrementalHandle(11, 1, "benchmark", 0, groups, InlineHandle("meta", b""), tuple(shared), private)


def main() -> None:
    """Write a database and say how large it is."""
    parser = argparse.ArgumentParser(description="Write a RocksDB database for benchmarks")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=500, help="uncompressed keys and values")
    parser.add_argument("--value", type=int, default=100, help="bytes of a value")
    parser.add_argument("--updates", type=int, default=0, help="level-0 files")
    parser.add_argument("--compression", choices=sorted(COMPRESSIONS), default="snappy")
    given = parser.parse_args()
    rows = (given.megabytes << 20) // (given.value + 10)
    shape = Shape(rows, given.value, updates=given.updates, compression=given.compression)
    handle = write_database(given.folder, shape)
    print(f"{rows} rows, {len(handle.shared)} files, {handle.size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
