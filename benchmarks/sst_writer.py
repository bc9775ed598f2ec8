"""Writes RocksDB databases of any size, as Flink's RocksDB backend would upload them, in seconds.

Rows are computed, not stored: row ``i`` has the key ``key group · i64 i · void namespace`` and a value of a given length
that compresses about as well as real records do. A database has one column family with files of level 1 that hold all
rows, and, if asked for, files of level 0 that hold newer versions of some of them. The blocks are built by a compiled
loop.

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

import cramjam
import numpy as np
from numba import njit

from stateextract.metadata.model import FileHandle, IncrementalHandle, InlineHandle
from stateextract.rocksdb import checksums

BLOCK = 4096
FILE = 64 << 20
RESTART_INTERVAL = 16
LARGEST_VALUE = 2000
LARGEST_PAIR = 1 << 16
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
COMPRESSIONS = {"none": 0, "snappy": 1, "lz4": 4, "zstd": 7}


@dataclass(frozen=True)
class Shape:
    """:param rows: how many keys; ``value``: bytes of each value.
    :param updates: level-0 files, each with a newer version of every tenth key.
    """

    rows: int
    value: int = 100
    groups: int = 128
    updates: int = 0
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


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _piece(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _key(row: int, shape: Shape) -> bytes:
    return bytes([row * shape.groups // shape.rows]) + row.to_bytes(8, "big") + b"\0"


def _plain_block(items: list[tuple[bytes, bytes]], *, lengths: bool = True) -> bytes:
    out = bytearray()
    restarts = []
    for key, value in items:
        restarts.append(len(out))
        out += b"\0" + _varint(len(key)) + (_varint(len(value)) if lengths else b"") + key + value
    for restart in restarts:
        out += restart.to_bytes(4, "little")
    return bytes(out + len(restarts).to_bytes(4, "little"))


class _File:
    """One SST file that grows block by block."""

    def __init__(self, path: Path, shape: Shape) -> None:
        self.path = path
        self.shape = shape
        self.out = path.open("wb")
        self.size = 0
        self.index: list[tuple[bytes, bytes]] = []
        self.entries = 0

    def add(self, plain: bytes, *, packed: bool = False) -> bytes:
        stored, kind = plain, 0
        if packed and self.shape.compression != "none":
            kind = COMPRESSIONS[self.shape.compression]
            if kind == 1:
                stored = bytes(cramjam.snappy.compress_raw(plain))
            elif kind == 4:
                stored = _varint(len(plain)) + bytes(cramjam.lz4.compress_block(plain, store_size=False))
            else:
                stored = _varint(len(plain)) + bytes(cramjam.zstd.compress(plain))
            if len(stored) >= len(plain):
                stored, kind = plain, 0
        value = checksums.checksum(self.shape.checksum, stored + bytes([kind]))
        handle = _varint(self.size) + _varint(len(stored))
        self.out.write(stored + bytes([kind]) + value.to_bytes(4, "little"))
        self.size += len(stored) + 5
        return handle

    def finish(self) -> int:
        """Write what stands behind the data blocks; the file's size."""
        index = self.add(_plain_block(self.index, lengths=False))
        properties = {
            b"block.based.table.index.type": bytes(4),
            b"index.key.is.user.key": b"\x01",
            b"index.value.is.delta.encoded": b"\x01",
            b"num.entries": _varint(self.entries),
            b"num.data.blocks": _varint(len(self.index)),
        }
        named = [(b"rocksdb." + name, value) for name, value in properties.items()]
        found = self.add(_plain_block(sorted(named)))
        metaindex = self.add(_plain_block([(b"rocksdb.properties", found)]))
        self.out.write(bytes([self.shape.checksum]) + (metaindex + index).ljust(40, b"\0"))
        self.out.write((5).to_bytes(4, "little") + bytes.fromhex("F7CFF485B741E288"))
        self.size += 53
        self.out.close()
        return self.size


def write_database(folder: Path, shape: Shape) -> IncrementalHandle:
    """Write all files and return a handle on them. The state is called "state"."""
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
                where = file.add(room[:size].tobytes(), packed=True)
                file.index.append((_key(following - step, shape), where))
                file.entries += count
                row = following
            _list_file(records, shared, file, level, seqno, (_key(first, shape), _key(row - step, shape)))

    run(1, 1, 1)
    for update in range(shape.updates):
        run(0, 10, 2 + update)
    return _handle(records, shared, shape.groups)


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
            file.index.append((last, file.add(room[:size].tobytes(), packed=True)))
            file.entries += following - at
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
    named = _varint(201) + _piece(state.encode()) + _varint(200) + _varint(1)
    return [b"", _varint(1) + _piece(b"leveldb.BytewiseComparator"), named]


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
    ends = [_piece(key + (seqno << 8 | 1).to_bytes(8, "little")) for key in bounds]
    records.append(
        _varint(103) + _varint(level) + _varint(number) + _varint(size) + ends[0] + ends[1]
        + _varint(seqno) + _varint(seqno) + _varint(1) + _varint(200) + _varint(1)
    )  # fmt: skip
    shared.append((file.path.name, FileHandle(size, str(file.path))))


def _handle(records: list[bytes], shared: list[tuple[str, Any]], groups: int) -> IncrementalHandle:
    private = (
        ("CURRENT", InlineHandle("current", b"MANIFEST-000005\n")),
        ("MANIFEST-000005", InlineHandle("manifest", _log(records))),
    )
    return IncrementalHandle(11, 1, "benchmark", 0, groups, InlineHandle("meta", b""), tuple(shared), private)


def _log(records: list[bytes]) -> bytes:
    """The MANIFEST: records in fragments that no block border crosses."""
    out = bytearray()
    for record in records:
        begun = False
        while True:
            room = 32768 - len(out) % 32768
            if room < 7:
                out += bytes(room)
                continue
            part, record = record[: room - 7], record[room - 7 :]
            kind = (3 if record else 4) if begun else (2 if record else 1)
            crc = checksums.masked_crc(bytes([kind]) + part)
            out += crc.to_bytes(4, "little") + len(part).to_bytes(2, "little") + bytes([kind]) + part
            begun = True
            if not record:
                break
    return bytes(out)


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
