"""A decoder that looks for entries with certain bytes and passes over all others.

Entries have no lengths, so the bytes may also stand inside of other values, and only walking from one entry to the next
tells. This decoder searches a window for the bytes, walks up to where they stand with a program that makes no columns, and
decodes the entry if one begins just there. So walking is as quick as it can be, and no row is made in vain.

What comes out has the bytes at their place; whether it is what was looked for has still to be compared as a value.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from stateextract.columnar.decoder import Decoder, Progress, Stop
from stateextract.columnar.layout import Layout
from stateextract.columnar.policy import Counts
from stateextract.files.block import Block

_MOST_MISSES = 1000
"""So often the bytes may stand where no entry begins; if they are that common, all entries are decoded."""


@dataclass(frozen=True)
class Find:
    """What to look for.

    :param data: the bytes, at least one.
    :param before: how many bytes of an entry stand in front of them, always.
    """

    data: bytes
    before: int = 0


class FindingDecoder:
    """Decodes the entries that have certain bytes.

    :param find: which.
    :param passing: decodes the same entries and keeps nothing of them.
    :param keeping: decodes them.
    """

    def __init__(self, find: Find, passing: Decoder, keeping: Decoder) -> None:
        self.find = find
        self.passing = passing
        self.keeping = keeping
        self.engine = keeping.engine
        self.layout: Layout = keeping.layout
        self.misses = 0
        self.found_any = False

    @property
    def counts(self) -> Counts:
        return self.keeping.counts

    @property
    def rows(self) -> int:
        return self.keeping.rows

    def flush(self) -> pa.Array:
        return self.keeping.flush()

    def flush_wire(self) -> pa.Array:
        return self.keeping.flush_wire()

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        """As any decoder does. ``entries`` are those passed over too, ``rows`` those that were decoded."""
        if self.misses > _MOST_MISSES:
            return self.keeping.decode(data, pos, end, limit)
        base, hay = pos, bytes(data.view[pos:end])
        entries = rows = 0
        while True:
            at = hay.find(self.find.data, pos - base + self.find.before)
            start = base + at - self.find.before if at >= 0 else end
            if start > pos:
                step = self.passing.decode(data, pos, start, limit - entries)
                entries, pos = entries + step.entries, step.pos
                if step.stop is not Stop.NEED_INPUT or at < 0:
                    return Progress(step.stop, entries, pos, step.needed, rows)
            inside = start > pos
            # Bytes inside of an entry, or an entry with them.
            step = (self.passing if inside else self.keeping).decode(data, pos, end, 1)
            entries, pos = entries + step.entries, step.pos
            rows += 0 if inside else step.rows
            if step.stop is not Stop.DONE:
                return Progress(step.stop, entries, pos, step.needed, rows)
            self.misses += inside
            if rows and not self.found_any:
                # The first one is handed over at once: often there is no other.
                self.found_any = True
                return Progress(Stop.FULL, entries, pos, rows=rows)
            if entries == limit:
                return Progress(Stop.DONE, entries, pos, rows=rows)
            if self.misses > _MOST_MISSES:
                return self._all(data, pos, end, limit, entries, rows)

    def _all(self, data: Block, pos: int, end: int, limit: int, entries: int, rows: int) -> Progress:
        step = self.keeping.decode(data, pos, end, limit - entries)
        return Progress(step.stop, entries + step.entries, step.pos, step.needed, rows + step.rows)


__all__ = ["Find", "FindingDecoder"]
