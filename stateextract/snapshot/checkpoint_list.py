"""All checkpoints and savepoints below a folder, or of high-availability data: what each has, and what they share.

Reads the ``_metadata`` of each and looks for its files; opens no state file. Bytes count once per stream: a file, a part of a
merged one, or what is inside of ``_metadata``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from stateextract.doors import Door
from stateextract.errors import (
    MissingFileError,
    SnapshotNotFoundError,
    StateExtractError,
    UnreadableFileError,
    UsageError,
)
from stateextract.files.filesystem import DirectoryEntry, Store, name_of, normalize, parent
from stateextract.ha.store import JOB_ID
from stateextract.metadata.file import read_metadata
from stateextract.metadata.key_group_assignment import wrong_key_groups
from stateextract.metadata.locate import METADATA, FoundSnapshot, Locator, abbreviate
from stateextract.metadata.model import (
    ChangelogHandle,
    IncrementalHandle,
    OperatorState,
    SegmentHandle,
    SnapshotMetadata,
)
from stateextract.metadata.operator_lookup import operator_label
from stateextract.options import JobOptions
from stateextract.outcome import SnapshotStatus
from stateextract.printable import agreeing, pluralize
from stateextract.snapshot.high_availability import (
    HeldCheckpoint,
    HighAvailability,
    JobAnswer,
    read_high_availability,
    read_standard_input,
    read_storage,
)
from stateextract.snapshot.missing import streams
from stateextract.snapshot.stores import open_store

CHECKPOINT = re.compile(r"chk-(\d{1,19})")
_SAVEPOINT = re.compile(r"savepoint-([0-9a-f]{6})-[0-9a-f]+")
_DEPTH, _FOLDERS = 4, 20_000
_OTHERS = frozenset({"shared", "taskowned", "blob"})

_I32, _I64, _TEXT, _BOOL, _TIME = pa.int32(), pa.int64(), pa.string(), pa.bool_(), pa.timestamp("us", "UTC")
SCHEMA = pa.schema({
    "job_id": _TEXT, "checkpoint_id": _I64, "snapshot_kind": _TEXT, "snapshot_format": _TEXT, "metadata_version": _I32,
    "triggered_at": _TIME, "completed_at": _TIME, "status": _TEXT, "reason": _TEXT, "is_incremental": _BOOL,
    "file_count": _I32, "missing_file_count": _I32, "own_size_in_bytes": _I64, "shared_size_in_bytes": _I64,
    "shares_files_with": pa.list_(_I64), "path": _TEXT, "metadata_path": _TEXT, "restore_order": _I32, "store_entry": _TEXT,
})  # fmt: skip
"""The columns of the table ``snapshots``."""

Stream = tuple[str, int]
"""What is counted once: the path of a file and the position in it."""


@dataclass
class SnapshotRow:
    """One snapshot, or what is left of one.

    :param job_id: 32 hex digits; of a savepoint whose job is not known the first six, which its folder's name has.
    :param completed_at: epoch milliseconds: what Flink recorded, else when ``_metadata`` was written.
    :param shares_files_with: ids of the listed checkpoints that refer to some of its files, in order.
    :param restore_order: 1 for the one that Flink would restore from.
    """

    path: str | None
    metadata_path: str | None = None
    job_id: str | None = None
    checkpoint_id: int | None = None
    snapshot_kind: str | None = None
    snapshot_format: str | None = None
    metadata_version: int | None = None
    triggered_at: int | None = None
    completed_at: int | None = None
    status: SnapshotStatus = SnapshotStatus.COMPLETE
    reason: str | None = None
    is_incremental: bool | None = None
    file_count: int | None = None
    missing_file_count: int | None = None
    own_size_in_bytes: int | None = None
    shared_size_in_bytes: int | None = None
    shares_files_with: list[int] | None = None
    restore_order: int | None = None
    store_entry: str | None = None
    streams: dict[Stream, int] = field(default_factory=dict, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """By the columns of :data:`SCHEMA`; times are ``datetime``."""
        row = {name: getattr(self, name) for name in SCHEMA.names}
        for name in ("triggered_at", "completed_at"):
            row[name] = _time(row[name])
        return row | {"status": str(self.status)}


@dataclass(frozen=True)
class Listing:
    """The snapshots of a place.

    :param jobs: what high-availability data says of them; empty where there is none.
    :param source: ``folder``, or what the high-availability data is.
    """

    path: str
    source: str
    snapshots: tuple[SnapshotRow, ...]
    jobs: tuple[JobAnswer, ...] = ()

    def to_arrow(self) -> pa.Table:
        """The table ``snapshots``."""
        return pa.Table.from_pylist([row.as_dict() for row in self.snapshots], SCHEMA)


def _time(milliseconds: int | None) -> datetime | None:
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def snapshots_of(
    options: JobOptions, store: Store | None = None, door: Door = Door.COMMAND_LINE, data: bytes | None = None
) -> Listing:
    """All snapshots of a directory, or those that high-availability data names.

    :param options: the path, and which checkpoints and jobs are listed.
    :param store: by default that of the options.
    :param door: where reasons are read.
    :param data: high-availability data to read in place of the path.
    :raises StateExtractError: where there is nothing, or it cannot be read.
    """
    job, checkpoint = options.job, options.checkpoint
    store, pairs = store or open_store(options), options.path_pairs()
    if data is None:
        listing = _listing(options.snapshot, store, pairs, door, job)
    else:
        listing = _held(read_standard_input(data, store, pairs), store, pairs, door)
    rows = [row for row in listing.snapshots if (row.job_id or "").startswith(job) and checkpoint in (0, row.checkpoint_id)]
    if checkpoint and listing.snapshots and not rows:
        found = [str(row.checkpoint_id) for row in listing.snapshots if row.checkpoint_id is not None]
        raise SnapshotNotFoundError(f"no snapshot at {listing.path} is checkpoint {checkpoint}; found {abbreviate(found, 20)}")
    jobs = tuple(one for one in listing.jobs if one.job_id.startswith(job))
    return replace(listing, snapshots=tuple(rows), jobs=jobs)


def _listing(path: str, store: Store, path_pairs: Sequence[tuple[str, str]], door: Door, job: str) -> Listing:
    found = read_high_availability(path, store, path_pairs)
    if found is not None:
        return _held(found, store, path_pairs, door)
    uri = normalize(path)
    folders = [one for one in snapshot_folders(uri, store) if not job or is_of(job, one)]
    storage = _storage(uri, store, path_pairs)
    if not folders and storage is not None:
        return _held(storage, store, path_pairs, door)
    if not folders:
        raise SnapshotNotFoundError(
            f"no checkpoint or savepoint at {uri} or in the folders below",
            advice="give a job's checkpoint folder, a folder of jobs or savepoints, or high-availability data",
        )
    rows = [_row(one, store, path_pairs, door) for one in folders]
    _name_jobs(rows)
    rows.sort(key=lambda row: (row.job_id or "", row.checkpoint_id or 0, row.path or ""))
    _compare(rows)
    return Listing(uri, "folder", tuple(rows), storage.jobs if storage is not None else ())


def _storage(uri: str, store: Store, path_pairs: Sequence[tuple[str, str]]) -> HighAvailability | None:
    try:
        entry = store.info(uri)
        return read_storage(uri, store, path_pairs) if entry is not None and entry.is_dir else None
    except (MissingFileError, UnreadableFileError):
        return None


@dataclass(frozen=True)
class Folder:
    """A folder of a snapshot. :param metadata: ``None`` where there is no ``_metadata``, or it is empty."""

    uri: str
    metadata: DirectoryEntry | None

    @property
    def number(self) -> int | None:
        """N of ``chk-N``."""
        match = CHECKPOINT.fullmatch(name_of(self.uri))
        return None if match is None else int(match[1])


def snapshot_folders(uri: str, store: Store) -> list[Folder]:
    """The folders of snapshots at a path and below it, each once; folders that cannot be listed are skipped.

    :raises StateExtractError: where the path itself cannot be listed, or more is below it than is looked into.
    """
    entry = store.info(uri)
    if entry is None:
        raise SnapshotNotFoundError(f"{uri} does not exist", advice="check the path")
    if not entry.is_dir:
        return [Folder(parent(uri), entry)]
    found: list[Folder] = []
    level, listed, seen = [uri], 0, set[str]()
    for depth in range(_DEPTH + 1):
        below: list[str] = []
        # Links lead to folders that are there without them, too.
        for folder in sorted(level, key=store.is_link):
            place = store.place(folder)
            if place in seen:
                continue
            seen.add(place)
            listed += 1
            if listed > _FOLDERS:
                raise UsageError(
                    f"there are more than {pluralize(_FOLDERS, 'folder')} in {uri}",
                    advice="give the path of one job, or of one folder of savepoints",
                )
            try:
                entries = store.list(folder)
            except (MissingFileError, UnreadableFileError):
                if depth == 0:
                    raise
                continue
            # An empty one is being written.
            metadata = next((e for e in entries if e.name == METADATA and not e.is_dir and e.size != 0), None)
            if metadata is not None or CHECKPOINT.fullmatch(name_of(folder)):
                found.append(Folder(folder, metadata))
                continue
            below += [e.uri for e in entries if e.is_dir and e.name not in _OTHERS]
        level = below
    return found


def job_of(folder: str) -> str | None:
    """The job's id by the folder of a snapshot; of a savepoint its first six digits."""
    above = name_of(parent(folder))
    if CHECKPOINT.fullmatch(name_of(folder)) and JOB_ID.fullmatch(above):
        return above
    match = _SAVEPOINT.fullmatch(name_of(folder))
    return None if match is None else match[1]


def is_of(job: str, folder: Folder) -> bool:
    """Whether a snapshot is, or may be, of a job: the folder of a savepoint has only the beginning of the job's id."""
    of = job_of(folder.uri)
    return of is not None and (of.startswith(job) or job.startswith(of))


def _row(folder: Folder, store: Store, path_pairs: Sequence[tuple[str, str]], door: Door) -> SnapshotRow:
    row = SnapshotRow(folder.uri, job_id=job_of(folder.uri), checkpoint_id=folder.number)
    if folder.metadata is None:
        row.snapshot_kind, row.status = "checkpoint", SnapshotStatus.NOT_COMPLETE
        row.reason = f"it has no {METADATA}: the checkpoint is in progress, was aborted, or is being deleted"
        return row
    if folder.metadata.mtime is not None:
        row.completed_at = int(folder.metadata.mtime * 1000)
    _describe(row, folder.metadata.uri, store, path_pairs, door)
    return row


def _describe(
    row: SnapshotRow, metadata_uri: str, store: Store, path_pairs: Sequence[tuple[str, str]], door: Door
) -> None:
    """Fill in what ``_metadata`` says, and which files are there."""
    row.metadata_path = metadata_uri
    try:
        metadata, data = read_metadata(store, metadata_uri)
    except StateExtractError as error:
        row.status = SnapshotStatus.UNREADABLE
        row.reason = str(error.worded(door))
        return
    properties = metadata.properties
    row.checkpoint_id, row.metadata_version = metadata.checkpoint_id, metadata.version
    if properties is not None and properties.kind is not None:
        row.snapshot_kind, row.snapshot_format = properties.kind, properties.format
    elif row.snapshot_kind is None:
        row.snapshot_kind = "checkpoint" if CHECKPOINT.fullmatch(name_of(parent(metadata_uri))) else None
    row.is_incremental = any(_incremental(operator) for operator in metadata.operators)
    row.streams[(metadata_uri, 0)] = len(data)
    locator = Locator(FoundSnapshot(metadata_uri, parent(metadata_uri)), store, tuple(path_pairs))
    missing = locate_streams(metadata, locator, row.streams)
    row.file_count = len({uri for uri, _ in row.streams}) + len(missing)
    row.missing_file_count = len(missing)
    reasons = _contradictions(row, metadata, door)
    if missing:
        row.status = SnapshotStatus.FILES_MISSING
        reasons.append(
            f"{len(missing)} of {pluralize(row.file_count or 0, 'file')} {agreeing(len(missing), 'is')} missing or of "
            f"another size: {abbreviate(missing, 1)} "
            "(`stateextract files` lists them)"
        )
    row.reason = " ".join(reasons) or row.reason


def _contradictions(row: SnapshotRow, metadata: SnapshotMetadata, door: Door) -> list[str]:
    """Set the status if ``_metadata`` contradicts itself about operators; returns the first contradiction."""
    first = next(filter(None, map(_contradiction, metadata.operators)), None)
    if first is None:
        return []
    readable = any(o.problem is None and o.handles() for o in metadata.operators)
    row.status = SnapshotStatus.PARTIAL if readable else SnapshotStatus.UNREADABLE
    return [str(first.at(file=row.metadata_path).worded(door))]


def _contradiction(operator: OperatorState) -> StateExtractError | None:
    if operator.problem is not None:
        return operator.problem
    return next((wrong.error.at(operator=operator_label(operator)) for wrong in wrong_key_groups(operator).values()), None)


def locate_streams(metadata: SnapshotMetadata, locator: Locator, found: dict[Stream, int]) -> list[str]:
    """Put the streams of a snapshot into ``found``; returns the paths of those that are missing."""
    missing: dict[str, None] = {}
    for operator in metadata.operators:
        for use in operator.handles():
            for _, stream, exact in streams(use.handle):
                path = getattr(stream, "path", None)
                if path is None:
                    continue  # It is inside of _metadata.
                try:
                    location = locator.locate(stream, exact_size=exact)
                except StateExtractError:
                    missing[path] = None
                    continue
                if location.uri is not None:
                    begin = location.start if isinstance(stream, SegmentHandle) else 0
                    found[(location.uri, begin)] = max(location.size, found.get((location.uri, begin), 0))
    return list(missing)


def _incremental(operator: OperatorState) -> bool:
    """Whether keyed state of an operator is that of a database, of which checkpoints share files, or a log of changes."""
    return any(isinstance(task.managed_keyed, IncrementalHandle | ChangelogHandle) for task in operator.subtasks)


def _name_jobs(rows: Sequence[SnapshotRow]) -> None:
    """Complete the job ids of savepoints, of which folders have only the beginning."""
    jobs = {row.job_id for row in rows if row.job_id is not None and len(row.job_id) == 32}
    for row in rows:
        if row.job_id is not None and len(row.job_id) < 32:
            fitting = [job for job in jobs if job.startswith(row.job_id)]
            row.job_id = fitting[0] if len(fitting) == 1 else row.job_id


def _compare(rows: Sequence[SnapshotRow]) -> None:
    """Which bytes are only one snapshot's, and which several share."""
    # A snapshot may be in the listing twice, as two entries of one store.
    distinct = {row.metadata_path: row for row in rows if row.streams}
    users: Counter[Stream] = Counter(stream for row in distinct.values() for stream in row.streams)
    by_stream: defaultdict[Stream, list[str | None]] = defaultdict(list)
    for path, row in distinct.items():
        for stream in row.streams:
            if users[stream] > 1:
                by_stream[stream].append(path)
    for row in rows:
        if not row.streams:
            continue
        shared = [stream for stream in row.streams if users[stream] > 1]
        row.shared_size_in_bytes = sum(row.streams[stream] for stream in shared)
        row.own_size_in_bytes = sum(row.streams.values()) - row.shared_size_in_bytes
        others = {path for stream in shared for path in by_stream[stream]} - {row.metadata_path}
        row.shares_files_with = sorted({id_ for path in others if (id_ := distinct[path].checkpoint_id) is not None})


# -- high availability


def _held(found: HighAvailability, store: Store, path_pairs: Sequence[tuple[str, str]], door: Door) -> Listing:
    rows: list[SnapshotRow] = []
    for job in found.jobs:
        order = {id(held): number for number, held in enumerate(job.restore_order, 1)}
        for held in job.checkpoints:
            row = _held_row(held, store, path_pairs, door)
            row.job_id, row.restore_order = job.job_id or None, order.get(id(held))
            rows.append(row)
        for entry in job.skipped:
            rows.append(
                SnapshotRow(
                    None, job_id=job.job_id or None, checkpoint_id=entry.checkpoint_id, store_entry=entry.name,
                    status=SnapshotStatus.SKIPPED, reason=entry.skipped,
                )
            )  # fmt: skip
    _compare(rows)
    return Listing(found.path, found.source, tuple(rows), found.jobs)


def _held_row(
    held: HeldCheckpoint, store: Store, path_pairs: Sequence[tuple[str, str]], door: Door
) -> SnapshotRow:
    row = SnapshotRow(None, checkpoint_id=held.checkpoint_id, store_entry=held.entry.name)
    completed = held.completed
    problem = held.problem or held.metadata_problem
    if problem is not None:
        row.status = SnapshotStatus.UNREADABLE if held.problem is not None else SnapshotStatus.FILES_MISSING
        row.reason = str(problem.worded(door))
    if completed is None:
        return row
    row.path = completed.external_pointer or None
    row.triggered_at, row.completed_at = completed.triggered, completed.completed
    if held.metadata_uri is not None:
        row.path = parent(held.metadata_uri)
        _describe(row, held.metadata_uri, store, path_pairs, door)
    # Flink restores a checkpoint that a job was started from as a savepoint: what it is says _metadata.
    row.snapshot_kind = row.snapshot_kind or completed.properties.kind
    row.snapshot_format = row.snapshot_format or completed.properties.format
    return row
