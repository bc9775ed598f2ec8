"""Writes small RocksDB databases: SST files in any format, checksum, compression and index, and their MANIFEST.

An independent second description of the format: it shares the checksums with the reader, which ``test_checksums.py``
holds against published values, and nothing else.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import cramjam

from stateextract.metadata.model import IncrementalHandle, InlineHandle
from stateextract.rocksdb import checksums

DELETE, PUT, MERGE, SINGLE_DELETE, RANGE = 0, 1, 2, 7, 15
BINARY, HASH, TWO_LEVEL, FIRST_KEY = 0, 1, 2, 3
NONE, SNAPPY, ZLIB, BZIP2, LZ4, LZ4HC, ZSTD = 0, 1, 2, 3, 4, 5, 7


class Entry(NamedTuple):
    key: bytes
    seqno: int
    kind: int
    value: bytes = b""

    @property
    def internal(self) -> bytes:
        return internal_key(self.key, self.seqno, self.kind)


def internal_key(key: bytes, seqno: int, kind: int) -> bytes:
    return key + (seqno << 8 | kind).to_bytes(8, "little")


@dataclass(frozen=True)
class Format:
    """How an SST file is written."""

    version: int = 5
    checksum: int = checksums.XXH3
    compression: int = SNAPPY
    index_type: int = BINARY
    user_keys: bool = True
    delta: bool = True
    block_size: int = 64
    restart_interval: int = 16
    index_restart_interval: int = 1
    data_hash_index: bool = False
    context: int = 0x1234ABCD
    global_seqno: int | None = None
    merge_operator: bytes = b"StringAppendTESTOperator"


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def piece(data: bytes) -> bytes:
    return varint(len(data)) + data


def handle(offset: int, size: int) -> bytes:
    return varint(offset) + varint(size)


def _shared(a: bytes, b: bytes) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def block(items: Sequence[tuple[bytes, bytes]], interval: int, *, lengths: bool = True, buckets: int = 0) -> bytes:
    """Entries with shared prefixes, then the restart array."""
    out = bytearray()
    restarts = []
    last = b""
    for i, (key, value) in enumerate(items):
        shared = 0
        if i % interval == 0:
            restarts.append(len(out))
        else:
            shared = _shared(last, key)
        out += varint(shared) + varint(len(key) - shared)
        if lengths:
            out += varint(len(value))
        out += key[shared:] + value
        last = key
    for restart in restarts or [0]:
        out += restart.to_bytes(4, "little")
    n = len(restarts or [0])
    if buckets:
        out += bytes(buckets) + buckets.to_bytes(2, "little")
        n |= 1 << 31
    return bytes(out + n.to_bytes(4, "little"))


class SstWriter:
    """Writes one file's bytes."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.out = bytearray()

    def add(self, plain: bytes, compression: int = NONE) -> tuple[int, int]:
        """A block with its trailer; its handle."""
        form = self.form
        stored, kind = compress(plain, compression, form.version), compression
        if not plain:
            stored, kind = plain, NONE
        offset = len(self.out)
        modifier = checksums.modifier(form.context, offset) if form.version >= 6 else 0
        value = checksums.checksum(form.checksum, stored + bytes([kind]), modifier)
        self.out += stored + bytes([kind]) + value.to_bytes(4, "little")
        return offset, len(stored)

    def write(self, entries: Sequence[Entry], deletions: Sequence[tuple[bytes, bytes, int]] = ()) -> bytes:
        """The whole file.

        :param entries: in order: keys rising, for one key the newest first.
        :param deletions: (begin, end, sequence number), in order of begin.
        """
        form = self.form
        blocks: list[tuple[list[Entry], tuple[int, int]]] = []
        group: list[Entry] = []
        size = 0
        for i, entry in enumerate(entries):
            group.append(entry)
            size += len(entry.internal) + len(entry.value) + 3
            if size >= form.block_size or i == len(entries) - 1:
                items = [(one.internal, one.value) for one in group]
                buckets = 3 if form.data_hash_index else 0
                where = self.add(block(items, form.restart_interval, buckets=buckets), form.compression)
                blocks.append((group, where))
                group, size = [], 0
        index = self._index(self._separators(blocks))
        meta: list[tuple[bytes, bytes]] = []
        if deletions:
            items = [(internal_key(begin, seqno, RANGE), end) for begin, end, seqno in deletions]
            meta.append((b"rocksdb.range_del", handle(*self.add(block(items, 1)))))
        return self.finish(index, self._properties(entries, deletions, len(blocks)), meta)

    def write_blocks(self, blocks: Sequence[tuple[bytes, tuple[int, int]]], entries: int) -> bytes:
        """The whole file, whose blocks were added.

        :param blocks: the last key of each, and its handle; :param entries: how many keys there are.
        """
        found = {b"num.entries": varint(entries), b"num.data.blocks": varint(len(blocks))}
        index = self._index([(key, where, b"") for key, where in blocks])
        return self.finish(index, self._named({**self._form(), **found}))

    def finish(
        self, index: tuple[int, int], properties: list[tuple[bytes, bytes]], meta: Sequence[tuple[bytes, bytes]] = ()
    ) -> bytes:
        """Write what is after the index."""
        form, meta = self.form, list(meta)
        meta.append((b"rocksdb.properties", handle(*self.add(block(properties, 1)))))
        if form.version >= 6:
            meta.append((b"rocksdb.index", handle(*index)))
        meta.append((b"fullfilter.rocksdb.BuiltinBloomFilter", handle(0, 0)))
        metaindex = self.add(block(sorted(meta), 1))
        self._footer(metaindex, index)
        return bytes(self.out)

    def _separators(
        self, blocks: list[tuple[list[Entry], tuple[int, int]]]
    ) -> list[tuple[bytes, tuple[int, int], bytes]]:
        form = self.form
        separators: list[bytes] = []
        for i, (group, _) in enumerate(blocks):
            last = group[-1]
            following = blocks[i + 1][0][0] if i + 1 < len(blocks) else None
            key = last.internal
            if following is None:
                key = internal_key(last.key + b"\xff", (1 << 56) - 1, PUT)
            elif following.key != last.key:
                # Shortened: some key from the last one of this block up to, and without, the first one of the next.
                n = _shared(last.key, following.key)
                short = following.key[: n + 1]
                if last.key < short < following.key:
                    key = internal_key(short, (1 << 56) - 1, PUT)
            separators.append(key[:-8] if form.user_keys else key)
        return [(key, where, group[0].internal) for key, (group, where) in zip(separators, blocks, strict=True)]

    def _index(self, rows: list[tuple[bytes, tuple[int, int], bytes]]) -> tuple[int, int]:
        """The index of blocks: the key that ends each, its handle, and its first key."""
        form = self.form
        if form.index_type != TWO_LEVEL:
            return self.add(self._index_block(rows), form.compression)
        tops = []
        for i in range(0, len(rows), 3):
            part = rows[i : i + 3]
            tops.append((part[-1][0], self.add(self._index_block(part), form.compression), b""))
        return self.add(self._index_block(tops), form.compression)

    def _index_block(self, rows: Sequence[tuple[bytes, tuple[int, int], bytes]]) -> bytes:
        form = self.form
        tail = form.index_type == FIRST_KEY
        if not form.delta:
            items = [(key, handle(*where) + (piece(first) if tail else b"")) for key, where, first in rows]
            return block(items, form.index_restart_interval)
        # What follows in an entry depends on whether it shares a prefix, so the values are made to fit.
        items = []
        last = b""
        before = (0, 0)
        for i, (key, where, first) in enumerate(rows):
            shared = 0 if i % form.index_restart_interval == 0 else _shared(last, key)
            if shared and where[0] == before[0] + before[1] + 5:
                change = where[1] - before[1]
                value = varint(2 * change if change >= 0 else -2 * change - 1)
            else:
                assert not shared, "blocks do not lie side by side"
                value = handle(*where)
            items.append((key, value + (piece(first) if tail else b"")))
            last, before = key, where
        return block(items, form.index_restart_interval, lengths=False)

    def _properties(
        self, entries: Sequence[Entry], deletions: Sequence[object], blocks: int
    ) -> list[tuple[bytes, bytes]]:
        form = self.form
        kinds = [entry.kind for entry in entries]
        found = {
            **self._form(),
            b"comparator": b"leveldb.BytewiseComparator",
            b"num.entries": varint(len(entries) + len(deletions)),
            b"num.data.blocks": varint(blocks),
            b"deleted.keys": varint(kinds.count(DELETE) + kinds.count(SINGLE_DELETE) + len(deletions)),
            b"merge.operands": varint(kinds.count(MERGE)),
            b"merge.operator": form.merge_operator,
            b"num.range-deletions": varint(len(deletions)),
            b"raw.key.size": varint(sum(len(entry.internal) for entry in entries)),
            b"raw.value.size": varint(sum(len(entry.value) for entry in entries)),
        }
        if form.global_seqno is not None:
            found[b"external_sst_file.version"] = (2).to_bytes(4, "little")
            found[b"external_sst_file.global_seqno"] = form.global_seqno.to_bytes(8, "little")
        return self._named(found)

    def _form(self) -> dict[bytes, bytes]:
        form = self.form
        return {
            b"block.based.table.index.type": form.index_type.to_bytes(4, "little"),
            b"index.key.is.user.key": varint(int(form.user_keys)),
            b"index.value.is.delta.encoded": varint(int(form.delta)),
        }

    @staticmethod
    def _named(found: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        return sorted((b"rocksdb." + name, value) for name, value in found.items())

    def _footer(self, metaindex: tuple[int, int], index: tuple[int, int]) -> None:
        form = self.form
        handles = handle(*metaindex) + handle(*index)
        if form.version == 0:
            self.out += handles.ljust(40, b"\0") + bytes.fromhex("57FB808B247547DB")
            return
        magic = form.version.to_bytes(4, "little") + bytes.fromhex("F7CFF485B741E288")
        if form.version < 6:
            self.out += bytes([form.checksum]) + handles.ljust(40, b"\0") + magic
            return
        at = len(self.out)
        assert metaindex[0] + metaindex[1] + 5 == at
        start = bytes([form.checksum]) + b"\x3e\x00\x7a\x00"
        rest = form.context.to_bytes(4, "little") + metaindex[1].to_bytes(4, "little") + bytes(24) + magic
        blank = start + bytes(4) + rest
        value = checksums.checksum(form.checksum, blank, checksums.modifier(form.context, at))
        self.out += start + value.to_bytes(4, "little") + rest


def compress(plain: bytes, kind: int, version: int) -> bytes:
    """A block's stored bytes, with the length in front that its compression and format ask for."""
    if kind == NONE:
        return plain
    if kind == SNAPPY:
        return bytes(cramjam.snappy.compress_raw(plain))
    size = varint(len(plain))
    if kind == ZLIB:
        packer = zlib.compressobj(wbits=-15)
        body = packer.compress(plain) + packer.flush()
    elif kind == BZIP2:
        body = bz2.compress(plain)
    elif kind in (LZ4, LZ4HC):
        body = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if version < 2:
            size = len(plain).to_bytes(4, "little") + bytes(4)
    else:
        body = bytes(cramjam.zstd.compress(plain))
    return size + body


# -- the database


@dataclass(frozen=True)
class SstFile:
    """A file to be put into a database; ``entries`` in any order."""

    level: int
    entries: tuple[Entry, ...]
    deletions: tuple[tuple[bytes, bytes, int], ...] = ()
    form: Format = Format()
    state: str = "state"

    def bytes(self) -> bytes:
        ordered = sorted(self.entries, key=lambda entry: (entry.key, -entry.seqno))
        return SstWriter(self.form).write(ordered, sorted(self.deletions))

    def bounds(self) -> tuple[bytes, bytes]:
        """Smallest and largest internal key, range deletions included."""
        ends = [(entry.key, 1, entry.internal) for entry in self.entries]
        ends += [(end, 0, end + b"\x0f" + b"\xff" * 7) for _, end, _ in self.deletions]
        starts = [entry.key for entry in self.entries] + [begin for begin, _, _ in self.deletions]
        return internal_key(min(starts), 0, PUT), max(ends)[2]


def new_file(number: int, size: int, file: SstFile, custom: bytes = b"") -> bytes:
    """The record of a live file (tag 103)."""
    numbers = [entry.seqno for entry in file.entries] + [seqno for _, _, seqno in file.deletions]
    if file.form.global_seqno is not None:
        numbers.append(file.form.global_seqno)
    return live_file(file.level, number, size, file.bounds(), (min(numbers), max(numbers)), custom)


def live_file(
    level: int, number: int, size: int, bounds: tuple[bytes, bytes], seqnos: tuple[int, int], custom: bytes = b""
) -> bytes:
    """The record of a live file (tag 103).

    :param bounds: smallest and largest internal key; :param seqnos: smallest and largest sequence number.
    """
    return (
        varint(103) + varint(level) + varint(number) + varint(size) + piece(bounds[0]) + piece(bounds[1])
        + varint(seqnos[0]) + varint(seqnos[1]) + custom + varint(1)
    )  # fmt: skip


def log_file(records: Sequence[bytes]) -> bytes:
    """Records cut into fragments that no block border crosses."""
    out = bytearray()
    for record in records:
        first = True
        left = record
        while True:
            room = 32768 - len(out) % 32768
            if room < 7:
                out += bytes(room)
                continue
            part, left = left[: room - 7], left[room - 7 :]
            kind = (1 if first else 4) if not left else (2 if first else 3)
            crc = checksums.masked_crc(bytes([kind]) + part)
            out += crc.to_bytes(4, "little") + len(part).to_bytes(2, "little") + bytes([kind]) + part
            first = False
            if not left:
                break
    return bytes(out)


def manifest(files: Sequence[tuple[int, int, SstFile]], states: Sequence[str]) -> bytes:
    """The MANIFEST of (number, size, file) triples."""
    records = [b"", varint(1) + piece(b"leveldb.BytewiseComparator") + varint(8201) + piece(b"\x01")]
    for i, state in enumerate(states):
        records.append(varint(201) + piece(state.encode()) + varint(200) + varint(i + 1))
    for number, size, file in files:
        records.append(
            varint(4)
            + varint(number)
            + new_file(number, size, file)
            + varint(200)
            + varint(1 + states.index(file.state))
        )
    return log_file(records)


def database(
    files: Sequence[SstFile], states: Sequence[str] = ("state",), first: int = 0, count: int = 128
) -> IncrementalHandle:
    """A handle with everything inline."""
    written = [(10 + i, file.bytes(), file) for i, file in enumerate(files)]
    listed = manifest([(number, len(data), file) for number, data, file in written], states)
    private = (
        ("CURRENT", InlineHandle("c", b"MANIFEST-000005\n")),
        ("MANIFEST-000005", InlineHandle("m", listed)),
        ("OPTIONS-000007", InlineHandle("o", b"text")),
    )
    shared = tuple((f"{number:06d}.sst", InlineHandle(f"s{number}", data)) for number, data, _ in written)
    return IncrementalHandle(11, 1, "backend", first, count, InlineHandle("meta", b""), shared, private)


def with_file(base: IncrementalHandle, name: str, data: bytes) -> IncrementalHandle:
    """The same handle with one file replaced."""

    def changed(files: tuple[tuple[str, object], ...]) -> tuple[tuple[str, object], ...]:
        return tuple((one, InlineHandle("x", data) if one == name else stream) for one, stream in files)

    return replace(base, shared=changed(base.shared), private=changed(base.private))  # type: ignore[arg-type]
