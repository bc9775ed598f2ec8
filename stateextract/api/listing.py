"""All snapshots of a place, made by :func:`list_snapshots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stateextract.doors import Door
from stateextract.errors import leaving
from stateextract.files.connect import TIMEOUT
from stateextract.files.filesystem import Store
from stateextract.snapshot import checkpoints
from stateextract.snapshot.checkpoints import Listing


@leaving(Door.PYTHON)
def list_snapshots(
    path: str,
    path_map: Mapping[str, str] | Sequence[tuple[str, str]] | None = None,
    *,
    storage_options: Mapping[str, Mapping[str, Any]] | None = None,
    allow_stores: str | Sequence[str] = (),
    store_timeout: int = TIMEOUT,
    checkpoint: int = 0,
    job: str = "",
) -> Listing:
    """List the checkpoints and savepoints below a folder, or those that high-availability data names.

    :param path: a folder of a job, of many jobs or of savepoints; a dump of ZooKeeper's nodes, ConfigMaps as JSON or YAML,
        ``zk://host:2181/flink/cluster``, a ``completedCheckpoint`` file, or the folder of such files.
    :param path_map: old and new beginnings of paths.
    :param storage_options: for each scheme the settings of its file system.
    :param allow_stores: other stores whose files the data may name.
    :param store_timeout: seconds that a store has for one answer.
    :param checkpoint: list only those of this id; 0: all.
    :param job: list only those of the jobs whose ids begin with it.
    :returns: ``snapshots``, one for each; ``jobs``, what Flink would do with each job, where the data says it;
        ``to_arrow()`` makes a table of the snapshots.
    :raises SnapshotNotFoundError: where there is none.
    """
    stores = (allow_stores,) if isinstance(allow_stores, str) else allow_stores
    store = Store(storage_options, allow=stores, timeout=store_timeout)
    pairs = tuple(path_map.items() if isinstance(path_map, Mapping) else path_map or ())
    return checkpoints.list_snapshots(path, store, pairs, Door.PYTHON, checkpoint=checkpoint, job=job)


__all__ = ["list_snapshots"]
