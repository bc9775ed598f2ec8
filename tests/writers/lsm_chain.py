"""A RocksDB database that lives: writes, flushes, compactions, a restore at another parallelism, and checkpoints of it.

What its checkpoints must hold is kept beside it in dictionaries. Files are written once and named by all later checkpoints that
still need them, as incremental checkpoints do. Keys are ``key group · i64 · void namespace``, of maps with an i64 behind it.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from stateextract.metadata.model import (
    FileHandle,
    IncrementalHandle,
    InlineHandle,
    OperatorState,
    SnapshotMetadata,
    SubtaskState,
)
from tests.metadata import writer
from tests.writers import flink_writer as flink
from tests.writers.sst import DELETE, MERGE, PUT, Entry, Format, SstFile, manifest

GROUPS = 8
STATES = {"value": ("VALUE", flink.LONG), "list": ("LIST", flink.list_of(flink.LONG)),
          "map": ("MAP", flink.map_of(flink.LONG, flink.LONG))}  # fmt: skip
_FORM = Format(block_size=60, restart_interval=3)

Rows = dict[bytes, bytes]
"""What a state holds: values by stored keys."""


@dataclass(frozen=True)
class Part:
    """A file, and how often files were written before it."""

    number: int
    file: SstFile


@dataclass
class Database:
    """The database of one subtask.

    :param first: its first key group; :param stop: the one after its last.
    """

    folder: Path
    first: int
    stop: int
    parts: list[Part] = field(default_factory=list)
    memory: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    deletions: dict[str, list[tuple[bytes, bytes, int]]] = field(default_factory=lambda: defaultdict(list))

    def flush(self) -> None:
        """What was written becomes a file of level 0 of each state."""
        for state in STATES:
            entries, deletions = self.memory.pop(state, []), self.deletions.pop(state, [])
            if entries or deletions:
                self._add(SstFile(0, tuple(entries), tuple(deletions), _FORM, state))

    def compact(self, state: str, expired: Iterable[bytes] = ()) -> None:
        """All files of a state become files of level 1.

        :param expired: keys that the compaction filter drops.
        """
        old = [part.file for part in self.parts if part.file.state == state]
        if not old:
            return
        rows = merged(old)
        for key in expired:
            rows.pop(key, None)
        self.parts = [part for part in self.parts if part.file.state != state]
        newest: dict[bytes, int] = {}
        for entry in (entry for file in old for entry in file.entries):
            newest[entry.key] = max(entry.seqno, newest.get(entry.key, 0))
        keys = sorted(rows)
        for i in range(0, len(keys), 7):
            entries = tuple(Entry(key, newest[key], PUT, rows[key]) for key in keys[i : i + 7])
            self._add(SstFile(1, entries, (), _FORM, state))

    def sink(self, state: str) -> None:
        """The oldest file of level 0 moves to another level as it is, if no file is there."""
        levels = {part.file.level for part in self.parts if part.file.state == state}
        mine = [part for part in self.parts if part.file.state == state and part.file.level == 0]
        if mine and levels == {0}:
            oldest = min(mine, key=lambda part: part.number)
            self.parts[self.parts.index(oldest)] = Part(oldest.number, replace(oldest.file, level=2))

    def handle(self, checkpoint: int, serializers: Mapping[str, tuple[str, bytes]] = STATES) -> IncrementalHandle:
        """An incremental handle on the files."""
        listed = []
        shared = []
        for number, part in enumerate(self.parts, 10):  # numbers within the database change with a restore
            path = self.folder / f"{part.number}.sst"
            size = path.stat().st_size
            listed.append((number, size, part.file))
            shared.append((f"{number:06d}.sst", FileHandle(size, str(path))))
        states = [flink.State(name, kind, value) for name, (kind, value) in serializers.items()]
        private = (("CURRENT", InlineHandle("c", b"MANIFEST-000005\n")),
                   ("MANIFEST-000005", InlineHandle("m", manifest(listed, list(STATES)))))  # fmt: skip
        meta = InlineHandle("meta", flink.head(flink.LONG, states, compressed=False))
        return IncrementalHandle(11, checkpoint, "b", self.first, self.stop - self.first, meta, tuple(shared), private)

    def _add(self, file: SstFile) -> None:
        number = len(list(self.folder.glob("*.sst")))
        self.parts.append(Part(number, file))
        (self.folder / f"{number}.sst").write_bytes(file.bytes())


def merged(files: Sequence[SstFile]) -> Rows:
    """What files hold together."""
    rows: dict[bytes, list[bytes]] = {}
    events: list[tuple[int, Entry | tuple[bytes, bytes]]] = []
    for file in files:
        events += [(entry.seqno, entry) for entry in file.entries]
        events += [(seqno, (begin, end)) for begin, end, seqno in file.deletions]
    for _, event in sorted(events, key=lambda one: one[0]):
        if not isinstance(event, Entry):
            rows = {key: values for key, values in rows.items() if not event[0] <= key < event[1]}
        elif event.kind == PUT:
            rows[event.key] = [event.value]
        elif event.kind == MERGE:
            rows.setdefault(event.key, []).append(event.value)
        else:
            rows.pop(event.key, None)
    return {key: b",".join(values) for key, values in rows.items()}


class Job:
    """A job with some keys, of which it changes some.

    :param folder: of its checkpoints.
    """

    def __init__(self, folder: Path, random: Random, keys: int = 60, parallelism: int = 2) -> None:
        self.folder = folder
        self.random = random
        self.keys = keys
        self.seqno = 0
        (folder / "shared").mkdir(parents=True)
        self.databases = self._databases(parallelism)

    def _databases(self, parallelism: int) -> list[Database]:
        ranges = [flink.key_group_range(i, parallelism, GROUPS) for i in range(parallelism)]
        return [Database(self.folder / "shared", one.start, one.stop) for one in ranges]

    def run(self, writes: int) -> None:
        """Write, flush now and then, compact now and then."""
        random = self.random
        for _ in range(writes):
            self._write()
            if random.random() < 0.05:
                random.choice(self.databases).flush()
            if random.random() < 0.02:
                database, state = random.choice(self.databases), random.choice(list(STATES))
                database.sink(state)
                if random.random() < 0.5:
                    rows = merged([part.file for part in database.parts if part.file.state == state])
                    database.compact(state, random.sample(sorted(rows), len(rows) // 20))

    def rescale(self, parallelism: int) -> None:
        """Go on with each database made of all files of those that have one of its key groups."""
        old, self.databases = self.databases, self._databases(parallelism)
        for database in old:
            database.flush()
        for new in self.databases:
            for one in old:
                if one.first >= new.stop or new.first >= one.stop:
                    continue
                new.parts += one.parts
                for begin, end in ((one.first, new.first), (new.stop, one.stop)):
                    for state in STATES if begin < end else ():
                        self.seqno += 1
                        new.deletions[state].append((bytes([begin]), bytes([end]), self.seqno))
            new.flush()

    def checkpoint(self, number: int, serializers: Mapping[str, tuple[str, bytes]] = STATES) -> Path:
        """Take a checkpoint; its folder."""
        for database in self.databases:
            database.flush()
        subtasks = tuple(SubtaskState(i, managed_keyed=one.handle(number, serializers)) for i, one in enumerate(self.databases))
        operator = OperatorState(
            flink.operator_id("job").hex(), "job", "job", len(self.databases), GROUPS, subtasks=subtasks
        )
        folder = self.folder / f"chk-{number}"
        folder.mkdir()
        (folder / "_metadata").write_bytes(writer.metadata(SnapshotMetadata(6, number, (), (operator,))))
        return folder

    def rows(self) -> dict[str, Rows]:
        """What a checkpoint that is taken now holds."""
        found: dict[str, Rows] = {state: {} for state in STATES}
        for database in self.databases:
            for state in STATES:
                rows = merged([part.file for part in database.parts if part.file.state == state])
                found[state] |= {k: v for k, v in rows.items() if database.first <= k[0] < database.stop}
        return found

    def _write(self) -> None:
        random = self.random
        number = random.randrange(self.keys)
        group = number * 7 % GROUPS
        database = next(one for one in self.databases if one.first <= group < one.stop)
        key = bytes([group]) + struct.pack(">q", number) + b"\0"
        value = struct.pack(">q", random.randrange(3))
        state = random.choice(list(STATES))
        self.seqno += 1
        kind = random.choice([PUT, PUT, MERGE, MERGE, DELETE] if state == "list" else [PUT, PUT, PUT, DELETE])
        if state == "map":
            key += struct.pack(">q", random.randrange(8))
            value = b"\0" + value
        if random.random() < 0.01:  # of several keys, which may begin and end inside of a map
            end = key[:1] + struct.pack(">q", number + random.randrange(1, 20)) + b"\0" + key[10:]
            database.memory[state] = [e for e in database.memory[state] if not key <= e.key < end]
            database.deletions[state].append((key, end, self.seqno))
            return
        database.memory[state].append(Entry(key, self.seqno, kind, b"" if kind == DELETE else value))


__all__ = ["GROUPS", "STATES", "Job", "Rows"]
