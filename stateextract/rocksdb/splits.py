"""Where to split a database that is too large for one task: ranges of key groups of about the same size.

Keys begin with the key group, so a range of key groups is a range of keys, and no user key, list or map lies in two.
Sizes come from the MANIFEST alone: a file's bytes are spread evenly over the key groups between its smallest and its
largest key, which is exact enough where a level has many files. ``exact=True`` reads the indexes of the files that span
several key groups, and then the error is a block.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stateextract.metadata.opener import errors_of
from stateextract.rocksdb import reference
from stateextract.rocksdb.blocks import TRAILER
from stateextract.rocksdb.lsm import RocksDB, use_kernel
from stateextract.rocksdb.manifest import LiveFile

Sizes = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KeyGroupSplit:
    """Key groups from ``first`` to ``last``, that one included, and about how many bytes of SST files they are."""

    first: int
    last: int
    size: int


def key_group_sizes(
    db: RocksDB, prefix_bytes: int, names: Collection[str] | None = None, *, exact: bool = False
) -> Sizes:
    """About how many bytes of SST files each key group of the handle has, in the order of key groups.

    :param names: the states that count; all of them if not given.
    :param exact: read indexes instead of guessing.
    """
    own = db.handle.key_groups
    sizes = np.zeros(len(own), np.float64)
    for name, family in db.column_families.items():
        if names is not None and name not in names:
            continue
        for live in family.files:
            first, last = (_key_group(key, prefix_bytes) for key in (live.smallest, live.largest))
            if live.exclusive and last > first and not live.largest[prefix_bytes:].strip(b"\0"):
                last -= 1  # a range deletion's end, a bare key group that does not belong to the file
            # A rescaled database has keys of other key groups: what is not the handle's is not read.
            low, high = max(first, own.start), min(last, own.stop - 1)
            if low > high:
                continue
            if exact and first < last:
                sizes += _by_index(db, live, prefix_bytes)
            else:
                sizes[low - own.start : high - own.start + 1] += live.size / (last - first + 1)
    return sizes


def propose_splits(
    db: RocksDB,
    prefix_bytes: int,
    target: int,
    names: Collection[str] | None = None,
    *,
    exact: bool = False,
) -> list[KeyGroupSplit]:
    """Cut the handle's key groups into ranges of about ``target`` bytes each, at least one key group long."""
    own = db.handle.key_groups
    sizes = key_group_sizes(db, prefix_bytes, names, exact=exact)
    splits: list[KeyGroupSplit] = []
    first = own.start
    size = 0.0
    for group, more in zip(own, sizes.tolist(), strict=True):
        # Whichever is nearer to the target: with this key group or without it.
        if group > first and size + more > target and (size + more) - target > target - size:
            splits.append(KeyGroupSplit(first, group - 1, round(size)))
            first, size = group, 0.0
        size += more
    if len(own):
        splits.append(KeyGroupSplit(first, own.stop - 1, round(size)))
    return splits


def _key_group(key: bytes, prefix_bytes: int) -> int:
    return int.from_bytes(key[:prefix_bytes].ljust(prefix_bytes, b"\0"), "big")


def _by_index(db: RocksDB, live: LiveFile, prefix_bytes: int) -> Sizes:
    """The file's bytes by the key groups of its blocks."""
    own = db.handle.key_groups
    sizes = np.zeros(len(own), np.float64)
    table = db.open_table(live)
    try:
        with errors_of(table.file, db.local_name(live)):
            for blocks, _ in table.data_blocks(_index_reader(db)):
                groups = blocks[:, 2] if prefix_bytes == 2 else blocks[:, 2] >> 8
                # A separator may be as short as a bare key group: then its block's keys lie before that one. The last
                # separator of a file may follow all keys.
                groups = groups - (blocks[:, 3] <= prefix_bytes)
                groups = np.minimum(groups, _key_group(live.largest, prefix_bytes))
                mine = (groups >= own.start) & (groups < own.stop)
                np.add.at(sizes, groups[mine] - own.start, blocks[mine, 1] + TRAILER)
    finally:
        table.file.close()
    return sizes


def _index_reader(db: RocksDB) -> Any:
    if not use_kernel(db.options.engine):
        return reference.read_index
    from stateextract.rocksdb import compiled

    return compiled.read_index
