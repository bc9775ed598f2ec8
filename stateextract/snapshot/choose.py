"""Which snapshot is read.

Most paths lead to one snapshot. What chooses one of several is loaded for the others.
"""

from __future__ import annotations

from stateextract.errors import SnapshotNotFoundError
from stateextract.files.filesystem import Store, name_of
from stateextract.ha import ZOOKEEPER
from stateextract.metadata.locate import METADATA, FoundSnapshot, find_snapshot
from stateextract.options import JobOptions


def choose_snapshot(options: JobOptions, store: Store) -> FoundSnapshot:
    """The snapshot that a job's options mean.

    :raises SnapshotNotFoundError: where there is none, or more than one.
    """
    if options.checkpoint or options.job or options.snapshot.startswith(ZOOKEEPER):
        from stateextract.snapshot.choose_among import choose_among

        return choose_among(options, store)
    try:
        found = find_snapshot(options.snapshot, store)
    except SnapshotNotFoundError:
        from stateextract.snapshot.choose_among import guessed_snapshot

        guess = guessed_snapshot(options, store)
        if guess is None:
            raise
        return guess
    if name_of(found.metadata_uri) == METADATA:
        return found
    from stateextract.snapshot.choose_among import snapshot_of_data

    # A file of another name may be high-availability data.
    return snapshot_of_data(options, store) or found
