"""From what a user points at to ``_metadata``, and from a handle to the file that holds its bytes.

``find_snapshot`` takes a ``_metadata`` file, a snapshot's folder, a job's checkpoint folder (newest complete ``chk-N``)
or the folder above it when there is one job below. ``Locator`` resolves stream handles: inline bytes, paths relative to
the folder of ``_metadata``, absolute paths, and windows of merged files.

Absolute paths break when a snapshot is moved. Tried are, in this order: the user's prefix mapping, a prefix that worked
before, the path itself, the file's name next to ``_metadata``, and the last parts of its path (``shared/x``,
``taskowned/y/x``, ``chk-3/x``, ``<job>/shared/x``, ForSt's ``shared/op_y/db/x``, ``changelog/<job>/dstl/x``) below the
folders above; the path itself comes last where it is in another store than the snapshot. Names of state files are random
UUIDs, so the same name at the same place is the same file. Folders are listed once, and a listing answers for all files in
it. The store of a locator opens only what ``Store.confined`` allows, wherever a path leads.

Source of the layout: ``AbstractFsCheckpointStorageAccess``, ``FsCheckpointStorageAccess``. May import: filesystem,
metadata model. Reads no state.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stateextract.errors import (
    FormatError,
    MissingFileError,
    SnapshotDeletedError,
    SnapshotNotFoundError,
    TruncatedError,
    UnreadableFileError,
)
from stateextract.files.filesystem import DirectoryEntry, Store, join, name_of, normalize, parent, split_uri
from stateextract.metadata.model import (
    EmptySegmentHandle,
    InlineHandle,
    NestedKeyGroupsHandle,
    RelativeHandle,
    SegmentHandle,
    StreamHandle,
)
from stateextract.printable import pluralize

METADATA = "_metadata"
_CHECKPOINT = re.compile(r"chk-(\d+)")
_FOLDERS_LOOKED_INTO = 200
_PREFIXES_KEPT = 16
_UNFINISHED = "an unfinished checkpoint cannot be read: wait for the next one or take a savepoint"
_MOVED = "if the snapshot was moved, set --path-map OLD=NEW for the part of the path that changed"
_NOT_NEXT_TO_METADATA = (
    "it should be in the directory of _metadata: copy it there, or set --path-map OLD=NEW with that directory and the one that "
    "has the file (the checkpoints of a job that claimed a native savepoint name the savepoint's files as if they were in "
    "their own directory; Flink itself cannot restore those)"
)
_ADVICE = "give a _metadata file, its directory, or a job's checkpoint directory (which has chk-N in it)"


@dataclass(frozen=True)
class FoundSnapshot:
    """:param note: what was chosen on the user's behalf, for the report."""

    metadata_uri: str
    directory_uri: str
    note: str | None = None


# -- finding a snapshot


def find_snapshot(path: str, store: Store) -> FoundSnapshot:
    """The snapshot that ``path`` means.

    :raises SnapshotNotFoundError: where there is none, or more than one.
    """
    uri = normalize(path)
    entry = store.info(uri)
    if entry is None:
        raise _nothing_at(uri, store)
    if not entry.is_dir:
        return FoundSnapshot(uri, parent(uri))
    entries = store.list(uri)
    if _metadata_in(entries):
        return FoundSnapshot(join(uri, METADATA), uri)
    numbers = _checkpoints(entries)
    if numbers:
        return _newest(uri, numbers, store)
    if _CHECKPOINT.fullmatch(name_of(uri)):
        raise SnapshotNotFoundError(
            f"{uri} is not a complete checkpoint: it has no {METADATA}; it contains {abbreviate([e.name for e in entries])}",
            advice=_UNFINISHED,
        )
    return _below(uri, entries, store)


def _nothing_at(uri: str, store: Store) -> SnapshotNotFoundError:
    above = parent(uri)
    names: list[str] = []
    try:
        names = [entry.name for entry in store.list(above)]
    except (MissingFileError, UnreadableFileError):
        return SnapshotNotFoundError(f"{uri} does not exist, nor does its parent folder", advice=_ADVICE)
    return SnapshotNotFoundError(f"{uri} does not exist; {above} contains {abbreviate(names)}", advice=_ADVICE)


def abbreviate(names: Sequence[str], most: int = 10) -> str:
    """The first few names for a message."""
    shown = ", ".join(names[:most]) or "nothing"
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _metadata_in(entries: Sequence[DirectoryEntry]) -> bool:
    # An empty one is being written.
    return any(entry.name == METADATA and not entry.is_dir and entry.size != 0 for entry in entries)


def _checkpoints(entries: Sequence[DirectoryEntry]) -> list[int]:
    """The N of all ``chk-N``, newest first."""
    matches = (_CHECKPOINT.fullmatch(entry.name) for entry in entries if entry.is_dir)
    return sorted((int(match[1]) for match in matches if match), reverse=True)


def _newest(job: str, numbers: Sequence[int], store: Store) -> FoundSnapshot:
    skipped: list[str] = []
    for number in numbers:
        directory = join(job, f"chk-{number}")
        # Flink deletes old checkpoints at any time, so a folder may be gone by now.
        try:
            complete = _metadata_in(store.list(directory))
        except MissingFileError:
            complete = False
        if complete:
            note = f"chk-{number} is the newest complete checkpoint of {len(numbers)} in {job}"
            if skipped:
                note += f"; skipped, without {METADATA}: {abbreviate(skipped)}"
            return FoundSnapshot(join(directory, METADATA), directory, note)
        skipped.append(f"chk-{number}")
    raise SnapshotNotFoundError(
        f"no complete checkpoint in {job}: no {METADATA} in {abbreviate(skipped)}",
        advice=_UNFINISHED,
    )


def _below(uri: str, entries: Sequence[DirectoryEntry], store: Store) -> FoundSnapshot:
    """``uri`` is neither a snapshot nor a job's folder: look one level down."""
    folders = [entry for entry in entries if entry.is_dir]
    jobs: list[FoundSnapshot] = []
    for folder in folders[:_FOLDERS_LOOKED_INTO]:
        try:
            inside = store.list(folder.uri)
            if _metadata_in(inside):
                note = f"{folder.name} is the only snapshot in {uri}"
                jobs.append(FoundSnapshot(join(folder.uri, METADATA), folder.uri, note))
            elif numbers := _checkpoints(inside):
                jobs.append(_newest(folder.uri, numbers, store))
        except (MissingFileError, UnreadableFileError, SnapshotNotFoundError):
            continue
    if len(jobs) == 1:
        return jobs[0]
    if jobs:
        # Newest last would hide it: the user sees the first few.
        times = {found.metadata_uri: _mtime(found, store) for found in jobs}
        jobs.sort(key=lambda found: times[found.metadata_uri], reverse=True)
        raise SnapshotNotFoundError(
            f"{len(jobs)} jobs or snapshots are in {uri}, newest first: "
            + abbreviate([found.directory_uri.removeprefix(uri).lstrip("/") for found in jobs]),
            advice="give the path of one of them",
        )
    number = min(len(folders), _FOLDERS_LOOKED_INTO)
    looked = "folder" if number == 1 else pluralize(number, "folder")
    raise SnapshotNotFoundError(
        f"no snapshot at {uri}: no {METADATA} in it, no chk-N with one, and none in the {looked} below; "
        f"it contains {abbreviate([entry.name for entry in entries])}",
        advice=_ADVICE,
    )


def _mtime(found: FoundSnapshot, store: Store) -> float:
    entry = store.info(found.metadata_uri)
    return entry.mtime if entry is not None and entry.mtime is not None else 0.0


# -- locating a handle


@dataclass(frozen=True)
class Location:
    """Where the bytes of a stream handle lie.

    :param uri: the physical file; None where the bytes are ``inline``.
    :param start: position of the handle's first byte in that file.
    :param size: how many bytes belong to the handle.
    """

    uri: str | None
    inline: bytes | None = field(repr=False)
    start: int
    size: int


class _Listing:
    """The files of one folder, by name, loaded by the first thread that asks."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.loaded = False
        self.files: dict[str, DirectoryEntry] = {}
        self.unlistable = False
        self.answered = False
        self.problem: UnreadableFileError | None = None


class Locator:
    """Resolves the handles of one snapshot; safe to use from many threads.

    :param store: it may open what the user named; :attr:`store` opens only what the snapshot may refer to.
    :param path_map: pairs of old and new prefix, tried first.
    """

    def __init__(self, found: FoundSnapshot, store: Store, path_map: Sequence[tuple[str, str]] = ()) -> None:
        self.found = found
        self.store = store.confined(found.metadata_uri, *(new for _, new in path_map))
        self.path_map = [(normalize(old), normalize(new)) for old, new in path_map]
        self._lock = threading.Lock()
        self._listings: dict[str, _Listing] = {}
        self._learned: list[tuple[str, str]] = []
        self._relocations: dict[str, str] = {}

    @property
    def relocations(self) -> list[tuple[str, str]]:
        """Every path that was found elsewhere than the snapshot says, with where."""
        with self._lock:
            return sorted(self._relocations.items())

    def locate(self, handle: StreamHandle, *, exact_size: bool = True) -> Location:
        """Find the bytes of a handle.

        :param exact_size: False for changelog files, whose handles give another size than the file has; the location
            then has the file's.
        :raises MissingFileError: if the file is nowhere; ``SnapshotDeletedError`` if all of the snapshot is gone.
        :raises TruncatedError: if the file is shorter than the handle says; ``FormatError`` if it is longer.
        """
        if isinstance(handle, NestedKeyGroupsHandle):
            return self.locate(handle.stream, exact_size=exact_size)
        if isinstance(handle, InlineHandle):
            return Location(None, handle.data, 0, handle.size)
        if isinstance(handle, EmptySegmentHandle):
            return Location(None, b"", 0, 0)
        relative = isinstance(handle, RelativeHandle)
        if not relative and not handle.path:
            raise MissingFileError("the snapshot has no path for a file", file=self.found.metadata_uri)
        # Not join(): only the path of a damaged handle is not below the folder, and then it is simply not there.
        original = normalize(f"{self.found.directory_uri}/{handle.path}" if relative else handle.path)
        entry = self._find(original, relative)
        size = entry.size if entry.size is not None else self.store.size(entry.uri)
        if isinstance(handle, SegmentHandle):
            self._check(entry.uri, size, handle.start + handle.size, "segment ends at byte", exact=False)
            return Location(entry.uri, None, handle.start, handle.size)
        if not exact_size:
            return Location(entry.uri, None, 0, size)
        self._check(entry.uri, size, handle.size, "file has", exact=True)
        return Location(entry.uri, None, 0, size)

    def explain(self, error: MissingFileError) -> MissingFileError:
        """The error to raise for a located file that was gone when it was read."""
        try:
            if isinstance(error, SnapshotDeletedError) or self.store.exists(self.found.metadata_uri):
                return error
        except UnreadableFileError:
            return error
        return SnapshotDeletedError(
            f"the snapshot was deleted while it was read: {self.found.metadata_uri} is gone",
            advice="Flink keeps only the newest checkpoints: read a newer one, a retained one or a savepoint",
            file=error.file,
        )

    def _check(self, uri: str, actual: int, stated: int, what: str, *, exact: bool) -> None:
        if actual < stated:
            raise TruncatedError(
                f"the file has {actual} bytes, but by the snapshot the {what} {stated}",
                advice="the file was cut short: copy it again",
                file=uri,
                offset=actual,
            )
        if exact and actual > stated:
            raise FormatError(f"the file has {actual} bytes, but by the snapshot the {what} {stated}", file=uri)

    def _find(self, original: str, relative: bool) -> DirectoryEntry:
        looked: list[str] = []
        unreadable: UnreadableFileError | None = None
        for candidate in self._candidates(original, relative):
            if candidate in looked:
                continue
            looked.append(candidate)
            try:
                self.store.check(candidate)
                entry = self._entry(candidate)
            except UnreadableFileError as error:
                unreadable = unreadable or error
                continue
            if entry is not None:
                if candidate != original:
                    self._remember(original, candidate)
                return entry
        missing = self.explain(
            MissingFileError(
                f"a file of the snapshot is missing; looked for it at {abbreviate(looked, 12)}",
                advice=_NOT_NEXT_TO_METADATA if relative else _MOVED,
                file=original,
            )
        )
        if unreadable is not None and not isinstance(missing, SnapshotDeletedError):
            raise UnreadableFileError(
                unreadable.message,
                expected=unreadable.expected or f"a readable file, there or at {abbreviate(looked, 12)}",
                advice=unreadable.advice or _MOVED,
                file=original,
            )
        raise missing

    def _candidates(self, original: str, relative: bool) -> Iterator[str]:
        """Where a file may be, likeliest first."""
        for old, new in self.path_map:
            yield from mapped(original, old, new)
        if relative:
            yield original
        for old, new in self._learned:
            yield from mapped(original, old, new)
        directory = self.found.directory_uri
        address, here = split_uri(original), split_uri(directory)
        # A snapshot that lies in another store than its files was most likely moved, and that store may be far.
        same_store = address[:2] == here[:2]
        if same_store:
            yield original
        parts = address.path.strip("/").split("/")
        job = parent(directory)
        yield join(directory, parts[-1])
        # Two parts: shared/x, chk-3/x, savepoint-1/x; three: taskowned/y/x, or <job>/shared/x one level up; four: ForSt's
        # shared/op_y/db/x, or changelog/<job>/dstl/x, where changelogs are kept next to all jobs' checkpoints.
        jobs = parent(job)
        for base, lengths in ((job, (2, 3, 4)), (jobs, (3, 4, 5)), (directory, (2, 3)), (parent(jobs), (4,))):
            for length in lengths:
                if length <= len(parts):
                    yield join(base, *parts[-length:])
        if not same_store:
            yield original

    def _entry(self, uri: str) -> DirectoryEntry | None:
        """The file at ``uri``, by the listing of its folder."""
        folder = parent(uri)
        with self._lock:
            listing = self._listings.setdefault(folder, _Listing())
        with listing.lock:
            if not listing.loaded:
                try:
                    listing.files = {entry.name: entry for entry in self.store.list(folder) if not entry.is_dir}
                except MissingFileError:
                    pass
                except UnreadableFileError:
                    # Files may be readable where their folder may not be listed.
                    listing.unlistable = True
                listing.loaded = True
        if not listing.unlistable:
            return listing.files.get(name_of(uri))
        if listing.problem is not None:
            # A store that cannot be reached takes its time to say so: one question is enough.
            raise listing.problem
        try:
            found = self.store.info(uri)
        except UnreadableFileError as error:
            if not listing.answered:
                listing.problem = error
            raise
        listing.answered = True
        return None if found is None or found.is_dir else found

    def _remember(self, original: str, found: str) -> None:
        old, new = split_uri(original), split_uri(found)
        before, after = old.path.split("/"), new.path.split("/")
        while len(before) > 1 and len(after) > 1 and before[-1] == after[-1]:
            before.pop()
            after.pop()
        prefix = (str(old._replace(path="/".join(before) or "/")), str(new._replace(path="/".join(after) or "/")))
        with self._lock:
            self._relocations[original] = found
            if prefix not in self._learned:
                self._learned = [prefix, *self._learned[: _PREFIXES_KEPT - 1]]


def mapped(uri: str, old: str, new: str) -> Iterator[str]:
    """Where a mapping of ``--path-map`` leads, if it is about the URI."""
    old = old.rstrip("/")
    if uri.startswith(old + "/"):
        yield join(new, uri[len(old) :])
