"""High-availability data of jobs: which checkpoints Flink would restore each job from, and where they are.

The data is a dump of ZooKeeper's nodes (JSON), ConfigMaps (JSON or YAML), a ZooKeeper server (``zk://``), a
``completedCheckpoint`` file, or the folder of such files, ``high-availability.storageDir``. Files and folders alone do not say
which checkpoints count, so what follows from them is a guess.

URIs in the data are never opened as they are. A file is looked for where ``--path-map`` says, and by the last parts of its path
below the folders of the data; a :meth:`Store.confined` opens nothing outside of these, of the data's own remote store and of
``--allow-store``.

What Flink does follows ``DefaultCompletedCheckpointStoreUtils.retrieveCompletedCheckpoints``: it reads the file of every entry
that counts, does not start if one of them fails, and restores from the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote

from stateextract.errors import (
    FormatError,
    MissingFileError,
    StateExtractError,
    UnreadableFileError,
)
from stateextract.files.connect import problem_of
from stateextract.files.filesystem import DirectoryEntry, Store, is_remote, join, name_of, normalize, parent, split_uri
from stateextract.files.javastream import MAGIC
from stateextract.ha import ZOOKEEPER
from stateextract.ha.documents import parse_documents
from stateextract.ha.kubernetes import is_config_map, stores_of_config_maps
from stateextract.ha.objects import COMPLETED, CompletedCheckpoint, parse_completed_checkpoint
from stateextract.ha.store import JOB_ID, JobStore, StoreEntry
from stateextract.ha.zookeeper import is_below, is_dump, nodes_of_dump, stores_of_znodes
from stateextract.metadata.file import MOST_BYTES
from stateextract.metadata.locate import METADATA, abbreviate, mapped

STANDARD_INPUT = "standard input"
MOST_DUMP_BYTES = 256 << 20
_LONGEST_TAIL = 8
"""Parts at the end of a path by which a file is looked for: a cluster's id may have several."""
_ANCESTORS = 3
_FOLDERS, _FILES, _DEPTH = 2_000, 10_000, 4
_DIRECT = frozenset({"shared", "taskowned", "blob"})
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(//([^/]*))?(/.*)", re.DOTALL)
_MOVED = (
    "if the files were moved, set --path-map OLD=NEW for the part of the path that changed; if you trust the place that the "
    "data names, set --allow-store to it"
)


class RestoreOutcome(StrEnum):
    """What Flink would do with a job when it starts again."""

    RESTORES = "restores"
    FAILS = "fails"
    NOTHING = "nothing in the store"
    ENDED = "ended"


@dataclass(frozen=True)
class HeldCheckpoint:
    """A checkpoint that the store holds.

    :param file: where its ``completedCheckpoint`` file was found.
    :param problem: why Flink could not read that file; ``completed`` is ``None`` then.
    :param metadata_uri: where its ``_metadata`` was found.
    :param metadata_problem: why it was not.
    """

    entry: StoreEntry
    file: str | None = None
    completed: CompletedCheckpoint | None = None
    problem: StateExtractError | None = None
    metadata_uri: str | None = None
    metadata_problem: StateExtractError | None = None

    @property
    def checkpoint_id(self) -> int | None:
        """The id that the file says, else that of the entry's name."""
        return self.completed.checkpoint_id if self.completed is not None else self.entry.checkpoint_id


@dataclass
class JobAnswer:
    """What the data says of one job.

    :param checkpoints: those that count, the one that Flink restores from last.
    :param skipped: entries that Flink skips.
    :param is_guess: the store was not there, only the files.
    :param notes: what a report should say.
    """

    job_id: str
    location: str
    checkpoints: list[HeldCheckpoint] = field(default_factory=list)
    skipped: list[StoreEntry] = field(default_factory=list)
    is_guess: bool = False
    notes: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def outcome(self) -> RestoreOutcome:
        """What Flink would do."""
        if self.ended:
            return RestoreOutcome.ENDED
        if any(one.problem is not None for one in self.checkpoints) and not self.is_guess:
            return RestoreOutcome.FAILS
        return RestoreOutcome.RESTORES if self.latest is not None else RestoreOutcome.NOTHING

    @property
    def latest(self) -> HeldCheckpoint | None:
        """The checkpoint that Flink would restore from, if it would start."""
        if self.ended or (not self.is_guess and any(one.problem is not None for one in self.checkpoints)):
            return None
        there = [one for one in self.checkpoints if one.completed is not None]
        if self.is_guess:
            there = [one for one in there if one.metadata_uri is not None] or there
        return there[-1] if there else None

    @property
    def restore_order(self) -> list[HeldCheckpoint]:
        """The one that Flink restores from, then those it would take if the ones before were not in the store."""
        latest = self.latest
        if latest is None:
            return []
        others = [one for one in reversed(self.checkpoints) if one.completed is not None and one is not latest]
        return [latest, *others]

    @property
    def sentence(self) -> str:
        """The answer for people."""
        match self.outcome:
            case RestoreOutcome.RESTORES:
                latest = self.latest
                assert latest is not None
                assert latest.completed is not None
                kind = "savepoint" if latest.completed.properties.kind == "savepoint" else "checkpoint"
                text = f"Flink would restore job {self.job_id} from {kind} {latest.checkpoint_id}"
                text = f"Probably {text}, which is a guess: the store is not there, only its files" if self.is_guess else text
                if latest.metadata_problem is not None:
                    file = latest.metadata_problem.file or latest.completed.external_pointer
                    text += f"; its _metadata cannot be read, which Flink does not need and stateextract does: {file}"
                return text
            case RestoreOutcome.FAILS:
                broken = next(one for one in self.checkpoints if one.problem is not None)
                assert broken.problem is not None
                return (
                    f"Flink would not start job {self.job_id}, since it reads the files of all entries and {broken.entry.name} "
                    f"fails: {broken.problem.message}"
                )
            case RestoreOutcome.ENDED:
                return f"Job {self.job_id} has ended, so Flink does not restore it: the job result store has its result"
        return (
            f"The store has no checkpoint of job {self.job_id}: Flink would start it from nothing, or from the snapshot that "
            "it was submitted with"
        )


@dataclass(frozen=True)
class HighAvailability:
    """:param source: what the data is, in a word; :param jobs: by job."""

    path: str
    source: str
    jobs: tuple[JobAnswer, ...]


def read_high_availability(path: str, store: Store, path_pairs: Sequence[tuple[str, str]]) -> HighAvailability | None:
    """The jobs of high-availability data; ``None`` where the path leads to something else.

    :raises StateExtractError: where the data cannot be read.
    """
    if path.startswith(ZOOKEEPER):
        from stateextract.snapshot.zookeeper_server import read_znodes

        nodes, below = read_znodes(path, store.timeout)
        stores = [one for one in stores_of_znodes(nodes) if is_below(one.location, below) or is_below(below, one.location)]
        resolver = Resolver(store, (), path_pairs)
        return HighAvailability(path, "ZooKeeper", tuple(_answer(one, resolver) for one in stores))
    uri = normalize(path)
    entry = store.info(uri)
    if entry is None:
        return None
    if entry.is_dir:
        names = [one.name for one in store.list(uri) if not one.is_dir]
        return read_storage(uri, store, path_pairs) if any(name.startswith(COMPLETED) for name in names) else None
    return _read_file(uri, store, path_pairs)


def read_storage(uri: str, store: Store, path_pairs: Sequence[tuple[str, str]]) -> HighAvailability | None:
    """A guess from the files of ``high-availability.storageDir``, or of a folder that has it; ``None`` where there are none."""
    files = list(_files_below(uri, store))
    if not files:
        return None
    resolver = Resolver(store, _folders_of(uri), path_pairs)
    return HighAvailability(uri, "storage folder", _guesses(files, resolver))


def _read_file(uri: str, store: Store, path_pairs: Sequence[tuple[str, str]]) -> HighAvailability | None:
    if name_of(uri) == METADATA:
        return None
    with store.open(uri) as file:
        first = file.read_at(0, 4096)
        if first.startswith(MAGIC):
            resolver = Resolver(store, _folders_of(parent(uri)), path_pairs)
            found = DirectoryEntry(name_of(uri), uri, False, None, file.size())
            answers = _guesses([found], resolver)
            if not answers:  # Not a file of many: what is wrong with it is the answer.
                resolver.completed(found)
            return HighAvailability(uri, "completedCheckpoint file", answers)
        start = first.lstrip()
        if not start[:1].isascii() or not start or b"\x00" in first:
            return None
        size = file.size()
        if size > MOST_DUMP_BYTES:
            raise FormatError(f"the file has {size} bytes", expected=f"at most {MOST_DUMP_BYTES}", file=uri)
        data = file.read_at(0, size)
    return parse_high_availability(data, uri, Resolver(store, (parent(uri),), path_pairs))


def parse_high_availability(data: bytes, name: str, resolver: Resolver) -> HighAvailability | None:
    """Return the jobs of a dump of ZooKeeper's nodes or of ConfigMaps, ``None`` for bytes that are not text.

    :param name: of the file, for errors.
    :raises StateExtractError: for another text.
    """
    try:
        stores, source = _stores(data.decode("utf-8"))
    except UnicodeDecodeError:
        return None
    except StateExtractError as error:
        raise error.at(
            file=name,
            advice="give a snapshot, a dump of ZooKeeper's nodes, or what kubectl get configmap -o json or -o yaml prints",
        ) from None
    return HighAvailability(name, source, tuple(_answer(one, resolver) for one in stores))


def read_standard_input(data: bytes, store: Store, path_pairs: Sequence[tuple[str, str]]) -> HighAvailability:
    """Return the jobs of high-availability data that a command received. Only ``path_pairs`` and the store name places.

    :raises FormatError: for other data, and for more than a file may have.
    """
    if len(data) > MOST_DUMP_BYTES:
        raise FormatError(f"standard input has more than {MOST_DUMP_BYTES} bytes", advice="write it to a file for each job")
    found = parse_high_availability(data, STANDARD_INPUT, Resolver(store, (), path_pairs))
    if found is None:
        raise FormatError("standard input is not text", expected="what kubectl get configmap -o json or -o yaml prints")
    return found


def _stores(text: str) -> tuple[list[JobStore], str]:
    documents = parse_documents(text)
    if len(documents) == 1 and is_dump(documents[0]):
        return stores_of_znodes(nodes_of_dump(documents[0])), "dump of ZooKeeper"
    if not documents or not all(map(is_config_map, documents)):
        raise FormatError(
            "the file has no high-availability data",
            expected="a list of ZooKeeper's nodes, a ConfigMap, or a list of ConfigMaps",
        )
    return [one for document in documents for one in stores_of_config_maps(document)], "ConfigMaps"


# -- jobs


def _answer(store: JobStore, resolver: Resolver) -> JobAnswer:
    answer = JobAnswer(store.job_id or "", store.location, notes=list(store.notes))
    for entry in store.entries:
        if entry.skipped is not None:
            answer.skipped.append(entry)
        else:
            answer.checkpoints.append(resolver.held(entry))
    for held in answer.checkpoints:
        completed = held.completed
        if completed is None:
            continue
        answer.job_id = answer.job_id or completed.job_id
        if completed.job_id != answer.job_id:
            answer.notes.append(f"the file of {held.entry.name} records the job {completed.job_id}")
        if completed.checkpoint_id != held.entry.checkpoint_id:
            answer.notes.append(f"the file of {held.entry.name} records checkpoint {completed.checkpoint_id}")
        answer.ended = answer.ended or resolver.has_ended(held.file, answer.job_id)
    return answer


def _guesses(files: Sequence[DirectoryEntry], resolver: Resolver) -> tuple[JobAnswer, ...]:
    """Jobs by what their files say; files that cannot be read are of no job."""
    jobs: dict[tuple[str, str], JobAnswer] = {}
    unreadable: list[str] = []
    for file in files:
        try:
            completed = resolver.completed(file)
        except StateExtractError as error:
            unreadable.append(f"{file.uri} cannot be read: {error.message}")
            continue
        folder = parent(file.uri)
        answer = jobs.setdefault((completed.job_id, folder), JobAnswer(completed.job_id, folder, is_guess=True))
        entry = StoreEntry(file.name, completed.checkpoint_id)
        answer.checkpoints.append(resolver.with_metadata(HeldCheckpoint(entry, file.uri, completed)))
        answer.ended = answer.ended or resolver.has_ended(file.uri, completed.job_id)
    for answer in jobs.values():
        answer.checkpoints.sort(key=lambda one: (one.entry.checkpoint_id or 0, one.entry.name))
        answer.notes += unreadable
    return tuple(jobs[key] for key in sorted(jobs))


def _files_below(uri: str, store: Store) -> Iterator[DirectoryEntry]:
    """The ``completedCheckpoint`` files in a folder and below it, by folder."""
    level, seen, found = [uri], 0, 0
    for _ in range(_DEPTH + 1):
        below: list[str] = []
        for folder in level:
            seen += 1
            if seen > _FOLDERS:
                return
            try:
                entries = store.list(folder)
            except (MissingFileError, UnreadableFileError):
                if folder == uri:
                    raise
                continue
            for entry in entries:
                if not entry.is_dir and entry.name.startswith(COMPLETED):
                    found += 1
                    if found > _FILES:
                        return
                    yield entry
                elif entry.is_dir and entry.name not in _DIRECT and not entry.name.startswith(("chk-", "savepoint-")):
                    below.append(entry.uri)
        level = below


def _folders_of(uri: str) -> tuple[str, ...]:
    """A folder of the storage and those above it, since the checkpoints lie next to the storage; never a root."""
    found = [uri]
    for _ in range(_ANCESTORS):
        above = parent(found[-1])
        if parent(above) == above:
            break
        found.append(above)
    return tuple(found)


# -- files


class Resolver:
    """Finds the files that the data names, in the places that the user named.

    :param folders: in which a file may be, by the last parts of its path; the first that has it counts.
    """

    def __init__(self, store: Store, folders: Sequence[str], path_pairs: Sequence[tuple[str, str]]) -> None:
        self.pairs = [(normalize(old), normalize(new)) for old, new in path_pairs]
        self.folders = [normalize(folder) for folder in folders]
        self.store = store.confined(None, *self.folders, *(new for _, new in self.pairs))

    def held(self, entry: StoreEntry) -> HeldCheckpoint:
        """What an entry leads to; what is wrong is in it."""
        if entry.problem is not None:
            return HeldCheckpoint(entry, problem=entry.problem)
        handle, file = entry.handle, None
        assert handle is not None
        try:
            if handle.inline is not None:
                completed = parse_completed_checkpoint(handle.inline)
            else:
                assert handle.uri is not None
                found = self.find(handle.uri, 1)
                file = found.uri
                completed = self.completed(found)
        except StateExtractError as error:
            return HeldCheckpoint(entry, file, problem=error)
        return self.with_metadata(HeldCheckpoint(entry, file, completed))

    def with_metadata(self, held: HeldCheckpoint) -> HeldCheckpoint:
        """The checkpoint with the place of its ``_metadata``."""
        completed = held.completed
        assert completed is not None
        uri: str | None = None
        problem: StateExtractError | None = None
        try:
            if completed.metadata_uri is None:
                raise MissingFileError(
                    "the job keeps no _metadata file of it", advice="set state.checkpoints.dir in the job's configuration"
                )
            # With its folder at least, since all snapshots have a file of that name.
            found = self.find(completed.metadata_uri, 2, METADATA)
            if found.size is not None and found.size != completed.metadata_size:
                raise FormatError(
                    f"the _metadata file has {found.size} bytes", expected=f"{completed.metadata_size}", file=found.uri
                )
            uri = found.uri
        except StateExtractError as error:
            problem = error
        return HeldCheckpoint(held.entry, held.file, completed, None, uri, problem)

    def completed(self, file: DirectoryEntry) -> CompletedCheckpoint:
        """A ``completedCheckpoint`` file.

        :raises StateExtractError: where it cannot be read.
        """
        try:
            with self.store.open(file.uri) as opened:
                size = opened.size()
                if size > MOST_BYTES:
                    raise FormatError(f"the file has {size} bytes", expected=f"at most {MOST_BYTES}")
                # Another file is not read whole.
                first = opened.read_at(0, min(size, 1 << 16))
                if first[:4] != MAGIC:
                    raise FormatError("the file is not a completedCheckpoint", expected="a Java object stream", offset=0)
                rest = opened.read_at(len(first), size - len(first)) if size > len(first) else b""
            return parse_completed_checkpoint(first + rest)
        except StateExtractError as error:
            raise error.at(file=file.uri) from None

    def find(self, uri: str, least: int, name: str | None = None) -> DirectoryEntry:
        """Where a file is.

        :param least: parts at the end of its path that have to be the same.
        :param name: of the file; another one is refused.
        :raises StateExtractError: where it is nowhere, or not to be opened.
        """
        original, parts = _path_of(uri)
        if name is not None and parts[-1] != name:
            raise UnreadableFileError(f"the data names {original} as a {name} file", expected=f"a file named {name}")
        looked: list[str] = []
        refused: UnreadableFileError | None = None
        for candidate in self._candidates(original, parts, least):
            if candidate in looked:
                continue
            try:
                self.store.check(candidate)
                entry = self.store.info(candidate)
            except UnreadableFileError as error:
                refused = refused or error
                continue
            looked.append(candidate)
            if entry is not None and not entry.is_dir:
                return entry
        if not looked and refused is not None:
            raise UnreadableFileError(
                "the data names a file outside of the places that you named, which is not opened", advice=_MOVED, file=original
            )
        raise MissingFileError(
            f"a file that the data names is missing; looked for it at {abbreviate(looked, 3)}", advice=_MOVED, file=original
        )

    def _candidates(self, original: str, parts: Sequence[str], least: int) -> Iterator[str]:
        for old, new in self.pairs:
            yield from mapped(original, old, new)
        if is_remote(original):
            problem = problem_of(*split_uri(original)[:2])
            if problem is not None:
                raise problem.at(file=original)
            yield original
        for folder in self.folders:
            for length in range(min(len(parts), _LONGEST_TAIL), least - 1, -1):
                yield join(folder, *parts[-length:])
        yield original

    def has_ended(self, file: str | None, job_id: str) -> bool:
        """Whether the job result store next to a job's files has the job's result."""
        if file is None or JOB_ID.fullmatch(job_id) is None:
            return False
        folder, cluster = parent(file), ""
        for _ in range(_ANCESTORS):
            cluster = f"{name_of(folder)}/{cluster}" if cluster else name_of(folder)
            folder = parent(folder)
            for name in (f"{job_id}.json", f"{job_id}_DIRTY.json"):
                try:
                    result = join(folder, "job-result-store", cluster, name)
                    self.store.check(result)
                    if self.store.info(result) is not None:
                        return True
                except StateExtractError:
                    continue
        return False


def _path_of(uri: str) -> tuple[str, list[str]]:
    """A URI of the data as this project writes it, and the parts of its path.

    :raises UnreadableFileError: for one that cannot be mapped into a place of the user's.
    """
    match = _URI.fullmatch(uri)
    scheme, authority, path = ("file", "", uri) if match is None else (match[1].lower(), match[3] or "", match[4])
    if match is None and not uri.startswith("/"):
        raise UnreadableFileError(f"{uri[:200]!r} is not the URI of a file")
    path = unquote(path)  # java.net.URI writes a blank as %20
    if scheme == "file" and authority not in ("", "localhost"):
        raise UnreadableFileError(
            f"the data names a file of another host, {authority[:100]!r}, which is not opened", file=uri[:500]
        )
    parts = [part for part in path.split("/") if part]
    if not parts or ".." in parts or "." in parts or "\x00" in path:
        raise UnreadableFileError("the data names a path that is not opened", expected="a path without ..", file=uri[:500])
    return (path if scheme == "file" else normalize(f"{scheme}://{authority}{path}")), parts
