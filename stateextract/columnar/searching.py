"""Searching decoders: of many entries only those near certain bytes are decoded, the others are only passed over.

Passing over takes much less than decoding, and so does looking for bytes. A searching decoder has the face of the decoder
that it hands entries to, of entries or of pairs. May import decoders; knows neither files nor what the bytes mean.
"""

from __future__ import annotations

import pyarrow as pa

from stateextract.columnar.decoder import Decoder, Progress, Stop
from stateextract.columnar.layout import Layout
from stateextract.columnar.needle import Finder
from stateextract.columnar.pair_decoder import PairDecoder
from stateextract.columnar.policy import Counts
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.block import Block

STRIDE = 1 << 14
"""Entries that are passed over, or decoded, together."""
_TRIALS = 16
"""Strides after which searching ends, if more than half of them were decoded."""


class _Searching:
    """What both kinds have in common.

    :param inner: decodes what may be wanted.
    :param passing: passes over entries of the same bytes.
    :param finder: looks for bytes that all wanted entries contain.
    """

    def __init__(self, inner: Decoder | PairDecoder, passing: Decoder | PairDecoder, finder: Finder) -> None:
        self.inner = inner
        self.passing = passing
        self.finder = finder
        self.engine = inner.engine
        self.strides = self.hits = 0

    @property
    def rows(self) -> int:
        return self.inner.rows

    @property
    def is_worth_it(self) -> bool:
        """Whether what was looked for is rare enough so far."""
        return self.strides < _TRIALS or 2 * self.hits <= self.strides

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        """As the inner decoder does; ``entries`` also counts those that were passed over, ``rows`` does not."""
        entries = rows = 0
        while self.is_worth_it:
            try:
                passed = self.passing.decode(data, pos, end, min(limit - entries, STRIDE))
            except StateExtractError:
                if entries:
                    return Progress(Stop.DONE, entries, pos, rows=rows)
                break  # the inner decoder comes across the same, and keeps the entries before it
            self.strides += 1
            stop = passed.stop
            if passed.entries and self.finder.find(data.address + pos, passed.pos - pos) >= 0:
                self.hits += 1
                decoded = self.inner.decode(data, pos, passed.pos, passed.entries)
                entries += decoded.entries
                rows += decoded.rows
                if decoded.stop in (Stop.FULL, Stop.UNDECODABLE):
                    return Progress(decoded.stop, entries, decoded.pos, 0, rows, decoded.error)
                if decoded.entries != passed.entries or decoded.pos != passed.pos:
                    raise FormatError("entries end elsewhere when they are passed over", offset=decoded.pos)
            else:
                entries += passed.entries
            pos = passed.pos
            if stop is not Stop.DONE or entries == limit:
                return Progress(stop, entries, pos, passed.needed, rows, passed.error)
        more = self.inner.decode(data, pos, end, limit - entries)
        return Progress(more.stop, entries + more.entries, more.pos, more.needed, rows + more.rows, more.error)


class SearchingDecoder(_Searching):
    """Searches entries."""

    inner: Decoder

    @property
    def counts(self) -> Counts:
        return self.inner.counts

    @counts.setter
    def counts(self, counts: Counts) -> None:
        self.inner.counts = counts

    @property
    def layout(self) -> Layout:
        return self.inner.layout

    def flush(self) -> pa.Array:
        return self.inner.flush()

    def flush_wire(self) -> pa.Array:
        return self.inner.flush_wire()


class SearchingPairDecoder(_Searching):
    """Searches pairs. Of a map only rows are whole that have the needle in each of their pairs, as that of a key is."""

    inner: PairDecoder
    passing: PairDecoder

    @property
    def counts(self) -> Counts:
        return self.inner.counts

    def begin(self, key_group: int) -> None:
        self.inner.begin(key_group)
        self.passing.begin(key_group)

    def flush(self, last: bool) -> pa.Array:
        return self.inner.flush(last)


__all__ = ["STRIDE", "SearchingDecoder", "SearchingPairDecoder"]
