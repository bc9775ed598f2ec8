"""A whole database out of a snapshot: its column families, and the pairs of a family as Flink's backend sees them.

``open_rocksdb`` reads CURRENT and MANIFEST of an incremental handle; ``RocksDB.pairs`` gives the pairs of a state's
key groups as a stream in the framing of canonical bodies::

    i32 nk · key · i32 nv · value        in order of key; the key group comes before the key, without flags

with deletes, range deletions and merge operands applied. Memory: some megabytes for each run of files that overlap.
Flink's side: ``RocksIncrementalSnapshotStrategy``, ``RocksNativeFullSnapshotStrategy``; the layout of the handle is
``IncrementalRemoteKeyedStateHandle``. ForSt's snapshots have the same format.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from stateextract.errors import FormatError, MissingFileError, StateExtractError, UnsupportedError, UsageError
from stateextract.files.prefetch import AHEAD, PrefetchRequest
from stateextract.files.window import READ
from stateextract.metadata.locate import abbreviate
from stateextract.metadata.model import IncrementalHandle, StreamHandle
from stateextract.metadata.opener import (
    ExpectHandle,
    IdentifyHandle,
    Opener,
    OpenHandle,
    errors_of,
    nothing,
    read_exactly,
)
from stateextract.printable import pluralize
from stateextract.rocksdb import reference
from stateextract.rocksdb.manifest import Family, LiveFile, parse_current, parse_manifest
from stateextract.rocksdb.pieces import cut
from stateextract.rocksdb.ranges import EVERYTHING, KeyRange, KeyRanges, clipped, meeting
from stateextract.rocksdb.runs import Run, runs_of
from stateextract.rocksdb.table import RangeDeletion, Table, first_read

LARGEST_MANIFEST = 1 << 30

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RocksOptions:
    """:param verify_checksums: check every block and log record.
    :param engine: "kernel", "interpreter" (plain Python), or "auto": the kernel where it is kept or can be compiled.
    :param most: bytes of the largest value that is read; ``None``: any.
    """

    verify_checksums: bool = True
    engine: str = "auto"
    most: int | None = None


class PairSource(ABC):
    """Framed pairs as a :class:`stateextract.files.window.Source`, made by one of the engines, which share this: the runs,
    their range deletions, and pairs that are larger than the room for them.

    :ivar deletions: range deletions of the files that were opened so far: all that begin at or before the last key given out.
    """

    least = 1

    def __init__(self, parts: Sequence[FilesOf], decoder: Any, ranges: KeyRanges) -> None:
        self._tables = []
        self._databases: list[tuple[int, int]] = []
        self.deletions: list[RangeDeletion] = []
        self._runs: list[Run] = []
        runs_of_all = [(part, runs_of([live for live in part.files if meeting(ranges, live)])) for part in parts]
        count = sum(len(runs) for _, runs in runs_of_all)
        for number, (part, runs) in enumerate(runs_of_all):
            self._databases += [(1 << number, part.settles)] * len(runs)
            tables = _Tables(part.database)
            tables.begin(runs)
            self._tables.append(tables)
            self._runs += [Run(files, tables.open, decoder(), ranges, count, self._delete) for files in runs]
        self._rest = memoryview(b"")
        self._finished = False

    def _delete(self, deletions: tuple[RangeDeletion, ...]) -> None:
        self.deletions.extend(deletions)

    @property
    @abstractmethod
    def pairs(self) -> int:
        """Pairs given out so far."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """Entries read from SST files so far: all versions, deletes included."""

    def close(self) -> None:
        self._finished = True
        for tables in self._tables:
            tables.forget()
        for run in self._runs:
            run.close()

    def read_into(self, room: memoryview) -> int:
        """Write the next bytes; a pair may be cut anywhere."""
        if self._rest:
            n = min(len(self._rest), len(room))
            room[:n] = self._rest[:n]
            self._rest = self._rest[n:]
            return n
        if self._finished or not len(room):
            return 0
        n = self._write(room)
        if n:
            return n
        if self._rest:
            return self.read_into(room)
        self.close()
        return 0

    @abstractmethod
    def _write(self, room: memoryview) -> int:
        """Write whole pairs, or set the next one aside as the rest; how many bytes were written."""


class _CompiledSource(PairSource):
    def __init__(self, parts: Sequence[FilesOf], ranges: KeyRanges, keys_only: bool) -> None:
        from stateextract.rocksdb import compiled

        super().__init__(parts, compiled.BatchDecoder, ranges)
        self._merge = compiled.Merge(self._runs, ranges, self._databases if keys_only else None)

    def _delete(self, deletions: tuple[RangeDeletion, ...]) -> None:
        super()._delete(deletions)
        self._merge.pieces = cut(self.deletions)
        self._merge.pieces_changed = True

    def _write(self, room: memoryview) -> int:
        n, needed = self._merge.write(np.frombuffer(room, np.uint8))
        if not n and needed:
            # A pair larger than the room: it is given out in parts.
            large = np.empty(needed, np.uint8)
            n, _ = self._merge.write(large)
            self._rest = large.data[:n]
            return 0
        return n

    @property
    def pairs(self) -> int:
        return self._merge.pairs

    @property
    def entries(self) -> int:
        return self._merge.entries


class _PlainSource(PairSource):
    def __init__(self, parts: Sequence[FilesOf], ranges: KeyRanges, keys_only: bool) -> None:
        super().__init__(parts, reference.PlainDecoder, ranges)
        self._counts = [0] * len(self._runs)
        self._frames: Iterator[bytes] = reference.frames(
            reference.merge(
                self._runs, self._counts, self.deletions, ranges, self._databases if keys_only else None,
                parts[0].database.options.most,
            )
        )
        self._given = 0

    def _write(self, room: memoryview) -> int:
        frame = next(self._frames, None)
        if frame is not None:
            self._given += 1
            self._rest = memoryview(frame)
        return 0

    @property
    def pairs(self) -> int:
        return self._given

    @property
    def entries(self) -> int:
        return sum(self._counts)


class _Tables:
    """Opens the files of a source; of a store that answers late those that come next before their turn."""

    def __init__(self, database: RocksDB) -> None:
        self._database = database
        self._coming: dict[int, LiveFile] = {}
        self._expected: dict[int, Callable[[], None]] = {}
        self._count = 1

    def begin(self, runs: list[list[LiveFile]]) -> None:
        """These files will be opened: the first one of each run, and each other one when the one before it ends."""
        others = sorted((before.largest, live.number, live) for run in runs for before, live in pairwise(run))
        self._coming = {live.number: live for live in (*(run[0] for run in runs), *(live for _, _, live in others))}

    def open(self, live: LiveFile) -> Table:
        while self._coming and len(self._expected) < self._count:
            number = next(iter(self._coming))
            forget = self._database.expect_table(self._coming.pop(number))
            if forget is None:
                self._coming = {}  # they are local
            else:
                self._expected[number] = forget
        self._count = min(2 * self._count, AHEAD)
        self._coming.pop(live.number, None)
        try:
            return self._database.open_table(live)
        finally:
            self._expected.pop(live.number, nothing)()

    def forget(self) -> None:
        """No other file will be opened."""
        self._coming = {}
        for forget in self._expected.values():
            forget()
        self._expected = {}


class RocksDB:
    """The database of one subtask.

    :param files: stream handles by local name.
    :param open_file: opens a stream handle.
    :param identify: says which bytes a stream handle means; ``None``: that does not matter.
    """

    def __init__(
        self,
        handle: IncrementalHandle,
        files: dict[str, StreamHandle],
        families: dict[str, Family],
        open_file: OpenHandle,
        options: RocksOptions,
        expect: ExpectHandle | None = None,
        identify: IdentifyHandle | None = None,
    ) -> None:
        self.handle = handle
        self.column_families = families
        self.options = options
        self._files = files
        self._open_file = open_file
        self._expect = expect
        self._identify = identify

    def local_name(self, live: LiveFile) -> str:
        """The file's name in the database's folder."""
        for name in live.names:
            if name in self._files:
                return name
        raise MissingFileError(
            f"the snapshot does not list {live.names[0]}, which its MANIFEST needs",
            advice="the snapshot is corrupt or incomplete: copy it again",
        )

    def open_table(self, live: LiveFile) -> Table:
        name = self.local_name(live)
        file = self._open_file(self._files[name])
        try:
            with errors_of(file, name):
                return Table(file, live, verify=self.options.verify_checksums, most=self.options.most)
        except BaseException:
            file.close()
            raise

    def expect_table(self, live: LiveFile) -> Callable[[], None] | None:
        """Have a file opened in the background that :meth:`open_table` will be asked for.

        :returns: what forgets it; ``None`` where files are opened in their turn.
        """
        if self._expect is None:
            return None
        try:
            return self._expect(self._files[self.local_name(live)], first_read(live))
        except MissingFileError:
            return nothing  # which is reported when it is opened

    def pairs(
        self,
        name: str,
        first_key_group: int,
        last_key_group: int,
        prefix_bytes: int,
        ranges: Iterable[KeyRange] = EVERYTHING,
        files: Collection[int] | None = None,
    ) -> PairSource:
        """The pairs of a state, of the key groups from first to last (that one included) that belong to the handle.

        :param prefix_bytes: length of the key group before each key: 1 up to a max parallelism of 128, else 2.
        :param ranges: the keys that count, as they are stored.
        :param files: numbers of the files that are read; ``None``: all.
        """
        own = self.handle.key_groups
        bounds = key_range(max(first_key_group, own.start), min(last_key_group, own.stop - 1), prefix_bytes)
        kept = [] if bounds is None else list(clipped(ranges, bounds))
        live = [one for one in self.family(name).files if files is None or one.number in files]
        return _source([FilesOf(self, live)], kept, False)

    def identity(self, live: LiveFile) -> tuple[object, ...]:
        """Equal for files of two databases whose entries and range deletions are the same, and count the same.

        They lie in the same place, and the MANIFESTs agree on what they say about how to read it: a range deletion counts
        within the bounds of its file, and the entries of an ingested file may have its largest number. On which level a file
        is does not matter, since the sequence numbers decide.
        """
        assert self._identify is not None
        where = self._identify(self._files[self.local_name(live)])
        return *where, live.size, live.smallest, live.largest, live.exclusive, live.smallest_seqno, live.largest_seqno

    def streams(self, name: str) -> Iterator[StreamHandle]:
        """The SST files of a state, as far as the handle lists them."""
        for file in (file for live in self.family(name).files for file in live.names):
            if file in self._files:
                yield self._files[file]

    def has(self, name: str) -> bool:
        """Whether there is a column family of a state."""
        return family_name(name) in self.column_families

    def contradictions(self, states: Collection[str]) -> dict[str, StateExtractError]:
        """States that only one of the head and the MANIFEST has. Flink creates a column family for each state it registers.

        :param states: names that the head lists.
        """
        found: dict[str, StateExtractError] = {}
        for name in states:
            if not self.has(name):
                found[name] = self._without_family(name)
        known = set(map(family_name, states))
        for name, family in self.column_families.items():
            if family.files and name not in known:
                files = pluralize(len(family.files), "file")
                found[name] = FormatError(
                    f"the database has {files} of a state {name!r}, which its head does not list",
                    advice="its rows cannot be read without a serializer: copy the snapshot again, or read another one",
                )
        return found

    def unlisted(self) -> StateExtractError | None:
        """What to say of SST files of the handle that the MANIFEST does not list, if there are any. Flink writes live ones."""
        live = {name for family in self.column_families.values() for one in family.files for name in one.names}
        others = sorted(name for name in self._files if name.endswith((".sst", ".ldb")) and name not in live)
        if not others:
            return None
        return FormatError(
            f"the MANIFEST does not list {abbreviate(others)} of the state handle, so rows may be missing",
            advice="the MANIFEST is another one, or was cut short: copy the snapshot again",
        )

    def _without_family(self, name: str) -> FormatError:
        return FormatError(
            f"the database has no column family {name!r}", expected="one of " + abbreviate(sorted(self.column_families))
        )

    def family(self, name: str) -> Family:
        """The column family of a state.

        :raises FormatError: if there is none.
        """
        found = self.column_families.get(family_name(name))
        if found is None:
            raise self._without_family(name)
        return found


def family_name(name: str) -> str:
    """The column family of a state: Java gives RocksDB names in UTF-8, with a question mark for each lone surrogate."""
    return name.encode("utf-8", "replace").decode()


def use_kernel(engine: str) -> bool:
    """Whether that engine is the compiled one."""
    if engine == "auto":
        from stateextract.rocksdb import kernel

        return bool(kernel.merge.is_usable)
    if engine not in ("kernel", "interpreter"):
        raise UsageError(f"unknown engine {engine!r}", expected="auto, kernel or interpreter")
    return engine == "kernel"


class FilesOf(NamedTuple):
    """Some files of a database.

    :param settles: the largest sequence number in all other files of the state. A put or delete that is newer makes what
        they say of its key void.
    """

    database: RocksDB
    files: Sequence[LiveFile]
    settles: int = 0


def keys_of(parts: Sequence[FilesOf], bounds: KeyRange) -> PairSource:
    """The keys that have an entry in some files, whatever it says, each once and in order.

    :param parts: files of one state, of at least one database.
    :returns: pairs whose values are one byte: bit ``i`` is set if the files of part ``i`` settle the key.
    """
    return _source(parts, [bounds], True)


def _source(parts: Sequence[FilesOf], ranges: KeyRanges, keys_only: bool) -> PairSource:
    made = _CompiledSource if use_kernel(parts[0].database.options.engine) else _PlainSource
    return made(parts, ranges, keys_only)


def unshared_files(databases: Sequence[RocksDB], name: str) -> list[FilesOf]:
    """The files of a state that only one of two databases has; what counts as the same file, :meth:`RocksDB.identity` says."""
    files = [{database.identity(live): live for live in database.family(name).files} for database in databases]
    shared = files[0].keys() & files[1].keys()
    return [
        FilesOf(
            database,
            [live for identity, live in mine.items() if identity not in shared],
            max((live.largest_seqno for identity, live in mine.items() if identity in shared), default=-1),
        )
        for database, mine in zip(databases, files, strict=True)
    ]


def key_range(first: int, last: int, prefix_bytes: int) -> KeyRange | None:
    """The keys of the key groups from first to last; ``None``: there are none."""
    if prefix_bytes not in (1, 2):
        raise UsageError(f"a key group cannot have {prefix_bytes} bytes", expected="1 or 2")
    if first > last:
        return None
    end = 1 << 8 * prefix_bytes
    lower = max(first, 0)
    return (
        lower.to_bytes(prefix_bytes, "big") if 0 < lower < end else None,
        (last + 1).to_bytes(prefix_bytes, "big") if 0 <= last + 1 < end else None,
    )


def local_files(handle: IncrementalHandle) -> dict[str, StreamHandle]:
    """The files of a handle's database by their local names.

    :raises UnsupportedError: where one of them says that the database is other than those that Flink's backends write.
    """
    files: dict[str, StreamHandle] = {}
    for name, stream in (*handle.shared, *handle.private):
        if name in files:
            raise FormatError(f"the handle lists {name} twice")
        if name.endswith((".blob", ".log")):
            raise UnsupportedError(
                f"the database has {name}: " + ("values are in blob files" if name.endswith(".blob") else "a write log")
            )
        files[name] = stream
    return files


def first_files(handle: IncrementalHandle, opener: Opener) -> Iterator[PrefetchRequest]:
    """The files of a database that are read first: CURRENT, and the MANIFEST that it names."""
    for name, stream in handle.private:
        if name == "CURRENT" or name.startswith("MANIFEST-"):
            file = opener.coming(stream, stream.size)
            if file is not None:
                yield file if stream.size <= READ else PrefetchRequest(file.uri)


def open_rocksdb(
    handle: IncrementalHandle,
    open_file: OpenHandle,
    options: RocksOptions | None = None,
    expect: ExpectHandle | None = None,
    identify: IdentifyHandle | None = None,
) -> RocksDB:
    """Open the database of an incremental handle: reads CURRENT and MANIFEST, no SST file.

    :param open_file: opens a stream handle for ranged reads (as an ``access.Opener`` does).
    :param expect: has one opened in the background.
    :param identify: says which bytes one means.
    """
    options = options or RocksOptions()
    files = local_files(handle)
    manifest_name = _parsed(files, "CURRENT", open_file, 1 << 10, parse_current)
    families = _parsed(
        files, manifest_name, open_file, LARGEST_MANIFEST, partial(_families, verify=options.verify_checksums)
    )
    # Flink never writes to the family that every database has.
    if not families["default"].files:
        del families["default"]
    return RocksDB(handle, files, families, open_file, options, expect, identify)


def _families(data: bytes, verify: bool) -> dict[str, Family]:
    families: dict[str, Family] = {}
    for family in parse_manifest(data, verify=verify):
        if family.name in families:
            raise FormatError(f"two column families are called {family.name!r}")
        families[family.name] = family
    return families


def _parsed(
    files: dict[str, StreamHandle], name: str, open_file: OpenHandle, most: int, parse: Callable[[bytes], T]
) -> T:
    """What ``parse`` makes of a small file."""
    if name not in files:
        raise MissingFileError(
            f"the snapshot does not list {name}, without which its database cannot be read",
            advice="the snapshot is corrupt or incomplete: copy it again",
        )
    file = open_file(files[name])
    try:
        with errors_of(file, name):
            if file.size() > most:
                raise FormatError(f"{name} has {file.size()} bytes", expected=f"at most {most}")
            return parse(read_exactly(file, 0, file.size()))
    finally:
        file.close()
