"""What a database must give, by a model that knows nothing of files: versions of keys in a dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stateextract.files.piece import Inline
from stateextract.metadata.model import IncrementalHandle, InlineHandle, StreamHandle
from stateextract.rocksdb import PairSource, RocksDB, RocksOptions, open_rocksdb
from tests.writers.sst import MERGE, PUT, Entry

Pairs = list[tuple[bytes, bytes]]
ENGINES = ("kernel", "interpreter")


def expected(entries: Iterable[Entry], deletions: Sequence[tuple[bytes, bytes, int]] = ()) -> Pairs:
    """Apply the entries in the order in which they were written, oldest first."""
    found: dict[bytes, list[bytes]] = {}
    events: list[tuple[int, Entry | tuple[bytes, bytes]]] = [(entry.seqno, entry) for entry in entries]
    events += [(seqno, (begin, end)) for begin, end, seqno in deletions]
    for _, event in sorted(events, key=lambda one: one[0]):
        if not isinstance(event, Entry):
            for key in [key for key in found if event[0] <= key < event[1]]:
                del found[key]
        elif event.kind == PUT:
            found[event.key] = [event.value]
        elif event.kind == MERGE:
            found.setdefault(event.key, []).append(event.value)
        else:
            found.pop(event.key, None)
    return sorted((key, b",".join(values)) for key, values in found.items())


def open_inline(stream: StreamHandle) -> Inline:
    assert isinstance(stream, InlineHandle)
    return Inline(stream.data, "")


def opened(handle: IncrementalHandle, engine: str = "kernel", *, verify: bool = True) -> RocksDB:
    return open_rocksdb(handle, open_inline, RocksOptions(verify, engine))


def drain(source: PairSource, room: int = 1 << 16) -> Pairs:
    """All pairs of a source, read through a window of ``room`` bytes."""
    buffer = bytearray(room + 64)
    parts = []
    while n := source.read_into(memoryview(buffer)[:room]):
        assert n <= room
        assert not any(buffer[room:]), "bytes after the window were written"
        parts.append(bytes(buffer[:n]))
    data = b"".join(parts)
    pairs: Pairs = []
    pos = 0
    while pos < len(data):
        fields = []
        for _ in range(2):
            size = int.from_bytes(data[pos : pos + 4], "big")
            fields.append(data[pos + 4 : pos + 4 + size])
            assert len(fields[-1]) == size
            pos += 4 + size
        pairs.append((fields[0], fields[1]))
    assert source.pairs == len(pairs)
    return pairs


def read(handle: IncrementalHandle, engine: str = "kernel", *, verify: bool = True, room: int = 1 << 16) -> Pairs:
    """All pairs of the state called "state"."""
    return drain(opened(handle, engine, verify=verify).pairs("state", 0, 127, 1), room)
