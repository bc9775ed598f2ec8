"""The snapshots of a directory or of a cluster: :func:`list_snapshots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from stateextract.doors import Door
from stateextract.errors import leaving
from stateextract.files.filesystem import Store
from stateextract.options import ListingKeywords, UsedBy, from_keywords, keyword_docs

if TYPE_CHECKING:
    from stateextract.snapshot.checkpoint_list import Listing


@leaving(Door.PYTHON)
def list_snapshots(
    path: str,
    path_map: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
    *,
    storage_options: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Unpack[ListingKeywords],
) -> Listing:
    """List the checkpoints and savepoints below a directory, or those that high-availability data names.

    :param path: a directory of a job, of many jobs or of savepoints; a dump of ZooKeeper's nodes, ConfigMaps as JSON or YAML,
        ``zk://host:2181/flink/cluster``, a ``completedCheckpoint`` file, or the directory of such files.
    :param path_map: old and new beginnings of paths.
    :param storage_options: for each scheme the settings of its file system.
    :returns: ``snapshots``, one for each; ``jobs``, what Flink would do with each job, if the data contains it;
        ``to_arrow()`` makes a table of the snapshots.
    :raises SnapshotNotFoundError: if there is none.
    """
    from stateextract.snapshot.checkpoint_list import snapshots_of

    job = from_keywords(path, {"path_map": path_map, **options}, UsedBy.LISTING, "list_snapshots")
    store = Store(storage_options, allow=job.allow_store, timeout=job.store_timeout)
    return snapshots_of(job, store, Door.PYTHON)


list_snapshots.__doc__ = f"{list_snapshots.__doc__}\n{keyword_docs(UsedBy.LISTING)}"
