"""Which snapshot is read.

Most paths lead to one snapshot. What chooses one of several is loaded for the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from stateextract.errors import SnapshotNotFoundError
from stateextract.files.filesystem import Store, name_of
from stateextract.ha import ZOOKEEPER
from stateextract.metadata.locate import METADATA, FoundSnapshot, find_snapshot


def choose_snapshot(
    path: str, store: Store, path_pairs: Sequence[tuple[str, str]] = (), checkpoint: int = 0, job: str = ""
) -> FoundSnapshot:
    """The snapshot that a path means.

    :param checkpoint: the id of one of several; 0: the newest complete one, or the one that Flink would restore from.
    :param job: the id of the job, or the beginning of it, where there are several.
    :raises SnapshotNotFoundError: where there is none, or more than one.
    """
    if checkpoint or job or path.startswith(ZOOKEEPER):
        from stateextract.snapshot.choose_among import choose_among

        return choose_among(path, store, path_pairs, checkpoint, job)
    try:
        found = find_snapshot(path, store)
    except SnapshotNotFoundError:
        from stateextract.snapshot.choose_among import guessed_snapshot

        guess = guessed_snapshot(path, store, path_pairs, 0, "")
        if guess is None:
            raise
        return guess
    if name_of(found.metadata_uri) == METADATA:
        return found
    from stateextract.snapshot.choose_among import snapshot_of_data

    # A file of another name may be high-availability data.
    return snapshot_of_data(path, store, path_pairs, 0, "") or found
