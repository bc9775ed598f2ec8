"""RocksDB's and ForSt's native snapshots: the states of one database, as batches.

A database is many files, so what a task gets is a function that opens it; reading goes state by state, over a range of
key groups. The head is that of the ``meta`` file next to the database. May import ``rocksdb`` and the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from stateextract.columnar.decode.decoder import needs_interpreter
from stateextract.state.bodies.changes import Changes
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.engine import prefix_bytes, read_pair_stream
from stateextract.state.header import KeyedHeader
from stateextract.state.keys.lookup import key_beginning
from stateextract.state.row_layout import RowLayout, row_layout
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead, Piece

if TYPE_CHECKING:
    from stateextract.rocksdb import RocksDB, RocksOptions
    from stateextract.rocksdb.ranges import KeyRange

OpenDatabase: TypeAlias = "Callable[[RocksOptions], RocksDB]"
"""Opens the database of the current subtask."""


@dataclass(frozen=True)
class Lookup:
    """What of a state's pairs is read.

    :param keys: ranges of stored keys.
    :param files: numbers of the files that have all that matters of them; ``None``: all files have.
    """

    keys: Sequence[KeyRange]
    files: frozenset[int] | None = None


def shares(key_groups: range, size: int) -> tuple[KeyGroupRange, ...]:
    """Key groups of a database as ranges of an equal share of its bytes each, which is enough to pack them into tasks."""
    share = max(1, size // max(len(key_groups), 1))
    return tuple(KeyGroupRange(group, i * share, (i + 1) * share) for i, group in enumerate(key_groups))


def read_database(
    open_database: OpenDatabase,
    header: KeyedHeader,
    ranges: Sequence[KeyGroupRange],
    file_read: FileRead,
    max_parallelism: int,
    changes: Changes | None = None,
    lookup: Lookup | None = None,
) -> Iterator[Piece]:
    """Read the key groups from the first to the last of ``ranges``.

    :param changes: made since; ``None``: none.
    :param lookup: what alone is read; ``None``: everything is.
    :raises StateExtractError: with state and offset; of damage in an SST file also with the file.
    """
    options = file_read.options
    engine = "interpreter" if options.engine == "interpreter" else "auto"
    from stateextract.rocksdb import RocksOptions

    most = None if options.flatten else options.policy.max_value_bytes
    database = open_database(RocksOptions(options.verify_checksums, engine, most))
    first, last = ranges[0].key_group, ranges[-1].key_group
    for meta in header.states:
        if meta.name not in file_read.selected:
            continue
        counted = file_read.counters.of(meta.name)
        counted.key_groups += last - first + 1
        row = row_layout(header, meta, options.context)
        if not database.has(meta.name):
            counted.engine = counted.engine or ("interpreter" if needs_interpreter(row.layout) else engine)
            continue
        prefix = prefix_bytes(max_parallelism)
        if lookup is not None:
            source = database.pairs(meta.name, first, last, prefix, lookup.keys, lookup.files)
        else:
            of_key: KeyRange = (None, None) if changes is not None else _bounds(row, options, first, last, prefix)
            source = database.pairs(meta.name, first, last, prefix, [of_key])
        try:
            yield from read_pair_stream(source, row, file_read, max_parallelism, changes)
        finally:
            source.close()


def _bounds(row: RowLayout, options: ReadOptions, first: int, last: int, prefix: int) -> KeyRange:
    """Between which stored keys all rows with the key that is looked for lie, the upper one exclusive; ``None``: any.

    What is stored begins with the key group and the key, so few blocks have them. Elements of queues begin with their time.
    """
    if options.key is None or first != last or row.kind in ("TIMER", "PRIORITY_QUEUE"):
        return None, None
    from stateextract.rocksdb.ranges import following

    lower = first.to_bytes(prefix, "big") + key_beginning(row, options.key, options.of_state(row.name).policy)
    return lower, following(lower)
