"""Which of several snapshots is read: a job's checkpoint by its id, or what Flink would restore from."""

from __future__ import annotations

from collections.abc import Sequence

from stateextract.errors import SnapshotNotFoundError, StateExtractError
from stateextract.files.filesystem import Store, name_of, normalize
from stateextract.files.filesystem import parent as parent_of
from stateextract.metadata.file import read_metadata
from stateextract.metadata.locate import METADATA, FoundSnapshot, abbreviate
from stateextract.options import JobOptions
from stateextract.printable import pluralize
from stateextract.snapshot.checkpoint_list import Folder, is_of, job_of, snapshot_folders
from stateextract.snapshot.high_availability import (
    HighAvailability,
    RestoreOutcome,
    read_high_availability,
    read_storage,
)


def choose_among(options: JobOptions, store: Store) -> FoundSnapshot:
    """The snapshot of a checkpoint or a job, or what high-availability data means.

    :raises SnapshotNotFoundError: where there is none, or more than one.
    """
    found = snapshot_of_data(options, store)
    if found is not None:
        return found
    uri, job = normalize(options.snapshot), options.job
    folders = [one for one in snapshot_folders(uri, store) if not job or is_of(job, one)]
    if not folders and (found := guessed_snapshot(options, store)) is not None:
        return found
    if options.checkpoint:
        return _with_id(uri, store, folders, options.checkpoint)
    newest: dict[str, Folder] = {}
    for one in folders:
        if one.number is not None and one.metadata is not None:
            before = newest.get(job_of(one.uri) or "")
            if before is None or (before.number or 0) < one.number:
                newest[job_of(one.uri) or ""] = one
    if len(newest) == 1:
        ((name, folder),) = newest.items()
        return _chosen(folder, f"the newest complete checkpoint of job {name}")
    raise _none_or_many(f"the newest checkpoint of job {job}", [one.uri for one in newest.values()], folders, uri)


def snapshot_of_data(options: JobOptions, store: Store) -> FoundSnapshot | None:
    """The snapshot that high-availability data at the path means; ``None`` if the path is of something else."""
    data = read_high_availability(options.snapshot, store, options.path_pairs())
    return None if data is None else held_snapshot(data, options.checkpoint, options.job)


def guessed_snapshot(options: JobOptions, store: Store) -> FoundSnapshot | None:
    """The same, guessed from the files below a folder that is neither of a job nor of a snapshot."""
    uri = normalize(options.snapshot)
    entry = store.info(uri)
    data = read_storage(uri, store, options.path_pairs()) if entry is not None and entry.is_dir else None
    return None if data is None else held_snapshot(data, options.checkpoint, options.job)


def _with_id(uri: str, store: Store, folders: Sequence[Folder], checkpoint: int) -> FoundSnapshot:
    matching: list[Folder] = []
    for one in folders:
        number = one.number
        if number is None and one.metadata is not None:  # The folder of a savepoint does not say its id.
            try:
                number = read_metadata(store, one.metadata.uri)[0].checkpoint_id
            except StateExtractError:
                continue
        if number == checkpoint:
            matching.append(one)
    complete = [one for one in matching if one.metadata is not None]
    if len(complete) == 1:
        return _chosen(complete[0], f"checkpoint {checkpoint}")
    if matching and not complete:
        raise SnapshotNotFoundError(
            f"checkpoint {checkpoint} is not complete: {matching[0].uri} has no {METADATA}",
            advice="an unfinished checkpoint cannot be read: wait for the next one or take a savepoint",
        )
    raise _none_or_many(f"checkpoint {checkpoint}", [one.uri for one in complete], folders, uri)


def _none_or_many(what: str, found: Sequence[str], folders: Sequence[Folder], uri: str) -> SnapshotNotFoundError:
    if found:
        return SnapshotNotFoundError(
            f"{pluralize(len(found), 'snapshot', 'is')} {what} at {uri}: {abbreviate(found, 20)}",
            advice="choose one with --job, or by its path",
        )
    there = [one.uri for one in folders if one.metadata is not None]
    return SnapshotNotFoundError(
        f"no snapshot at {uri} is {what}; found {abbreviate(there, 20)}", advice="`stateextract checkpoints` lists them"
    )


def _chosen(folder: Folder, note: str) -> FoundSnapshot:
    assert folder.metadata is not None
    return FoundSnapshot(folder.metadata.uri, folder.uri, f"{name_of(folder.uri)} is {note}")


def held_snapshot(found: HighAvailability, checkpoint: int, job: str) -> FoundSnapshot:
    """The snapshot that Flink would restore from, or the one of an id.

    :raises SnapshotNotFoundError: where there is none, or the data has several jobs.
    """
    jobs = [one for one in found.jobs if one.job_id.startswith(job)]
    with_some = [one for one in jobs if one.checkpoints] or jobs
    if len(with_some) != 1:
        ids = [one.job_id for one in with_some or found.jobs]
        raise SnapshotNotFoundError(
            f"the high-availability data has {len(with_some)} jobs{f' {job}' if job else ''}: {abbreviate(ids, 20)}",
            advice="choose one with --job" if ids else "the store is empty: give the folder of the checkpoints",
            file=found.path,
        )
    answer = with_some[0]
    if not checkpoint:
        held, note = answer.latest, answer.sentence
        if held is None:
            raise SnapshotNotFoundError(answer.sentence, advice=_ADVICE[answer.outcome], file=found.path)
    else:
        matching = [one for one in answer.checkpoints if one.checkpoint_id == checkpoint]
        if not matching:
            ids = [str(one.checkpoint_id) for one in answer.checkpoints]
            raise SnapshotNotFoundError(
                f"the store has no checkpoint {checkpoint} of job {answer.job_id}; it has {abbreviate(ids, 20)}",
                advice="`stateextract checkpoints` lists them",
                file=found.path,
            )
        held, note = matching[-1], f"checkpoint {checkpoint} of job {answer.job_id}"
    problem = held.problem or held.metadata_problem
    if held.metadata_uri is None:
        assert problem is not None
        raise SnapshotNotFoundError(
            f"{note}; its _metadata is not there" if held.metadata_problem is None else note,
            advice="--checkpoint N reads another one, which `stateextract checkpoints` lists; " + (problem.advice or ""),
            file=problem.file,
        )
    return FoundSnapshot(held.metadata_uri, parent_of(held.metadata_uri), note)


_ADVICE = {
    RestoreOutcome.FAILS: "--checkpoint N reads one of the others, which `stateextract checkpoints` lists",
    RestoreOutcome.ENDED: "to read an existing one, set --checkpoint N",
    RestoreOutcome.NOTHING: "give the folder of the checkpoints",
    RestoreOutcome.RESTORES: None,
}
