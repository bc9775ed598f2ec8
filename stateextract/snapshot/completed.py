"""The complete checkpoints of a job, for callers that look again and again: lists folders, and opens no file."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass

from stateextract.errors import MissingFileError, UnreadableFileError
from stateextract.files.filesystem import Store, join, name_of, normalize, parent
from stateextract.metadata.locate import METADATA
from stateextract.snapshot.checkpoint_list import CHECKPOINT


@dataclass(frozen=True, order=True)
class Completed:
    """A checkpoint that has ``_metadata``. They are ordered by when they completed.

    :param time: of ``_metadata``, in seconds since 1970; 0 where the store has none.
    :param job: name of the folder above: the job's id.
    """

    time: float
    number: int
    job: str
    metadata_uri: str

    @property
    def folder(self) -> str:
        """``chk-N``."""
        return parent(self.metadata_uri)

    @property
    def name(self) -> tuple[str, int]:
        """Its identity: the job's id and the number."""
        return self.job, self.number


def newest_completed(path: str, store: Store) -> Completed | None:
    """The newest checkpoint of a job, or of the job among several that completed one last; ``None``: there is none (yet).

    :param path: a job's checkpoint folder, or the folder above those of several jobs.
    """
    newest = []
    for job, numbers in _jobs(path, store).items():
        found = (_completed(job, number, store) for number in numbers)
        newest += [one for one in [next((one for one in found if one is not None), None)] if one is not None]
    return max(newest, default=None)


def completed_checkpoints(path: str, store: Store, known: Collection[tuple[str, int]] = ()) -> list[Completed]:
    """All complete checkpoints, the oldest first, but those whose :attr:`Completed.name` is known already."""
    found = (
        _completed(job, number, store)
        for job, numbers in _jobs(path, store).items()
        for number in numbers
        if (name_of(job), number) not in known
    )
    return sorted(one for one in found if one is not None)


def completed_checkpoint(path: str, store: Store, job: str, number: int) -> Completed | None:
    """One checkpoint of one of the jobs; ``None``: it is not there, or not complete."""
    uri = normalize(path)
    return _completed(uri if name_of(uri) == job else join(uri, job), number, store)


def _jobs(path: str, store: Store) -> dict[str, list[int]]:
    """The numbers of each job's checkpoints, complete or not, the newest first, by the job's folder."""
    uri = normalize(path)
    found: dict[str, list[int]] = {}
    with contextlib.suppress(MissingFileError):
        entries = [entry for entry in store.list(uri) if entry.is_dir]
        if numbers := _numbers([entry.name for entry in entries]):
            return {uri: numbers}
        for entry in entries:
            with contextlib.suppress(MissingFileError, UnreadableFileError):
                if numbers := _numbers([one.name for one in store.list(entry.uri) if one.is_dir]):
                    found[entry.uri] = numbers
    return found


def _numbers(names: Collection[str]) -> list[int]:
    return sorted((int(match[1]) for match in map(CHECKPOINT.fullmatch, names) if match), reverse=True)


def _completed(job: str, number: int, store: Store) -> Completed | None:
    uri = join(job, f"chk-{number}", METADATA)
    # An empty one is being written; Flink deletes folders at any time.
    with contextlib.suppress(MissingFileError):
        entry = store.info(uri)
        if entry is not None and not entry.is_dir and entry.size != 0:
            return Completed(entry.mtime or 0.0, number, name_of(job), uri)
    return None
