"""The store that a job's options describe. May import files and options."""

from __future__ import annotations

from stateextract.files.filesystem import Store
from stateextract.options import JobOptions


def open_store(options: JobOptions) -> Store:
    """The store that a snapshot is read from: what its files may refer to, and how long an answer may take.

    :raises UsageError: where what is allowed is not a store.
    """
    return Store(allow=options.allow_store, timeout=options.store_timeout)
