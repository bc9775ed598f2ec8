"""Which rows of a state can differ between two databases that share files, found from the other files alone.

A row whose keys are in none of the files that only one of the databases has, and under none of their range deletions, has the
same entries in both, and therefore the same value (page Diff of the documentation has the proof). What is found here is more
than the rows that differ, never less. May import ``rocksdb`` and the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from stateextract.columnar.search.entry_bounds import pair_scanner
from stateextract.errors import TruncatedError
from stateextract.files.window import Window
from stateextract.state.bodies.database import Lookup
from stateextract.state.engine import pair_layout, prefix_bytes
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import ReadOptions

if TYPE_CHECKING:
    from stateextract.rocksdb import RocksDB
    from stateextract.rocksdb.ranges import KeyRange
    from stateextract.rocksdb.table import RangeDeletion

MOST_ROWS = 1 << 15
"""Rows that are looked up together."""

Lookups: TypeAlias = "tuple[list[Lookup], list[Lookup]]"
"""What is read of each of two databases. No row is in two lookups of one database."""


def differing_rows(
    databases: Sequence[RocksDB],
    row: RowLayout,
    options: ReadOptions,
    key_groups: tuple[int, int],
    max_parallelism: int,
) -> Iterator[Lookups]:
    """All rows that can differ, in order of their keys, some at a time.

    :param databases: two, both with the state, in which its rows have the same layout.
    :param key_groups: the first and the last one.
    :raises StateExtractError: with state and offset; of damage in an SST file also with the file.
    """
    from stateextract.rocksdb.lsm import key_range, keys_of, unshared_files
    from stateextract.rocksdb.ranges import clipped, following, united

    prefix = prefix_bytes(max_parallelism)
    bounds = key_range(*key_groups, prefix)
    parts = unshared_files(databases, row.name)
    if bounds is None or not any(part.files for part in parts):
        return
    own = [frozenset(live.number for live in part.files) for part in parts]
    layout = pair_layout(row, prefix)
    if options.flatten and layout.shape == "map":
        layout = replace(layout, shape="value")  # each entry is a row
    of_several = layout.shape == "map"
    scanner = pair_scanner(layout, options.engine)
    source = keys_of(parts, bounds)
    window = Window(source, most=options.policy.max_value_bytes)
    found: list[KeyRange] = []
    settled: list[int] = []  # of each: bits of the databases whose own files say all of it
    lower, upper = bounds

    def lookups(until: bytes | None) -> Lookups:
        # A range deletion can begin or end inside of a map's row, which no key group does.
        deleted = [_of_key_groups(one, prefix) if of_several else (one.begin, one.end) for one in source.deletions]
        deleted = list(clipped(deleted, (lower, until)))
        if deleted:
            everything = [Lookup(united([*found, *deleted]))]
            return everything, everything
        sides = []
        for bit, files in zip((1, 2), own, strict=True):
            of_own = [one for one, bits in zip(found, settled, strict=True) if bits & bit]
            of_all = [one for one, bits in zip(found, settled, strict=True) if not bits & bit]
            sides.append([one for one in (Lookup(of_own, files), Lookup(of_all)) if one.keys])
        return sides[0], sides[1]

    try:
        while True:
            entries = scanner.scan(window.block, window.pos, window.end, MOST_ROWS)
            if not len(entries.bounds):
                if window.need(max(entries.needed, window.end + 1) - window.pos):
                    continue
                if window.end > window.pos:
                    raise TruncatedError("the keys end inside of one", offset=window.offset())
                break
            data = window.block.view
            for start, row_end, key_end, end in entries.bounds.tolist():
                begin = bytes(data[start : row_end if of_several else key_end])
                if not found or (found[-1][1] is not None and begin >= found[-1][1]):
                    found.append((begin, following(begin) if of_several else begin + b"\0"))
                    settled.append(0 if of_several else data[end - 1])
            window.pos = int(entries.bounds[-1, 3])
            if len(found) >= MOST_ROWS:
                # All range deletions that begin before this bound are known, since their files were opened.
                until = found[-1][1]
                yield lookups(until)
                lower, found, settled = until, [], []
                if until is None:
                    return
        yield lookups(upper)
    finally:
        source.close()


def _of_key_groups(deletion: RangeDeletion, prefix: int) -> KeyRange:
    """The range of all key groups that a range deletion reaches into."""
    begin, end = deletion.begin[:prefix].ljust(prefix, b"\0"), deletion.end[:prefix].ljust(prefix, b"\0")
    last = int.from_bytes(end, "big") + (len(deletion.end) > prefix)
    return begin, last.to_bytes(prefix, "big") if last < 1 << 8 * prefix else None
