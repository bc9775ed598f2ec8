"""Searching decoders: of many entries only those near certain bytes are decoded, the others are only passed over.

Passing over takes much less than decoding, and so does looking for bytes. A searching decoder has the face of the decoder
that it hands entries to, of entries or of pairs. May import decoders; knows neither files nor what the bytes mean.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from stateextract.columnar.around import AroundDecoder, AroundPairDecoder
from stateextract.columnar.decoder import Decoder, Progress, Stop
from stateextract.columnar.needle import Finder
from stateextract.columnar.pair_decoder import PairDecoder
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.block import Block

STRIDE, FINE = 1 << 14, 1 << 8
"""Entries that are passed over together, and those that are decoded together near the needle."""
AnyDecoder: TypeAlias = Decoder | PairDecoder

_TRIALS = 16
"""Strides after which searching ends, if more than half of them were decoded."""


class _Search:
    """What both kinds have in common.

    :param inner: decodes what may be wanted.
    :param passing: passes over entries of the same bytes.
    :param finder: looks for bytes that all wanted entries contain.
    :param gives: rows are given out behind each find.
    """

    def __init__(self, inner: AnyDecoder, passing: AnyDecoder, finder: Finder, gives: bool) -> None:
        self.inner = inner
        self.passing = passing
        self.finder = finder
        self.gives = gives
        self.strides = self.hits = 0

    @property
    def is_worth_it(self) -> bool:
        """Whether what was looked for is rare enough so far."""
        return self.strides < _TRIALS or 2 * self.hits <= self.strides

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        """As the inner decoder does; ``entries`` also counts those that were passed over, ``rows`` does not.

        Stops as if the batch were full behind rows that may be wanted, so that whoever looks for them need not wait.
        """
        entries = rows = 0
        while self.is_worth_it:
            try:
                passed = self.passing.decode(data, pos, end, min(limit - entries, STRIDE))
            except StateExtractError:
                if entries:
                    return Progress(Stop.DONE, entries, pos, rows=rows)
                break  # the inner decoder comes across the same, and keeps the entries before it
            self.strides += 1
            if passed.entries and self.finder.find(data.address + pos, passed.pos - pos) >= 0:
                self.hits += 1
                near = self._near(data, pos, passed)
                entries += near.entries
                rows += near.rows
                if near.stop is not Stop.DONE:
                    return replace(near, entries=entries, rows=rows)
            else:
                entries += passed.entries
            pos = passed.pos
            if passed.stop is not Stop.DONE or entries == limit:
                return replace(passed, entries=entries, rows=rows)
        more = self.inner.decode(data, pos, end, limit - entries)
        return replace(more, entries=entries + more.entries, rows=rows + more.rows)

    def _near(self, data: Block, pos: int, stride: Progress) -> Progress:
        """Decode what of a stride is near the needle.

        :param stride: its end, and how many entries it has, all of which are whole.
        :returns: ``DONE`` where all of it was read and nothing has to be given out.
        """
        entries = rows = 0
        while entries < stride.entries:
            passed = self.passing.decode(data, pos, stride.pos, min(stride.entries - entries, FINE))
            if self.finder.find(data.address + pos, passed.pos - pos) < 0:
                entries += passed.entries
                pos = passed.pos
                continue
            decoded = self.inner.decode(data, pos, passed.pos, passed.entries)
            entries += decoded.entries
            rows += decoded.rows
            pos = decoded.pos
            if decoded.stop in (Stop.FULL, Stop.UNDECODABLE):
                return replace(decoded, entries=entries, rows=rows)
            if decoded.entries != passed.entries or pos != passed.pos:
                raise FormatError("entries end elsewhere when they are passed over", offset=pos)
            if self.gives and (entries < stride.entries or stride.stop is not Stop.LAST):
                return Progress(Stop.FULL, entries, pos, rows=rows)
        return Progress(Stop.DONE, entries, pos, rows=rows)


class SearchingDecoder(AroundDecoder):
    """Searches entries."""

    def __init__(self, inner: Decoder, passing: Decoder, finder: Finder) -> None:
        super().__init__(inner)
        self.decode = _Search(inner, passing, finder, gives=True).decode


class SearchingPairDecoder(AroundPairDecoder):
    """Searches pairs. Of a map only rows are whole that have the needle in each of their pairs, as that of a key is.

    :param merges: rows are maps, the last of which may go on, and is not given out before it is certain that it does not.
    """

    def __init__(self, inner: PairDecoder, passing: PairDecoder, finder: Finder, merges: bool) -> None:
        super().__init__(inner)
        self.passing = passing
        self.decode = _Search(inner, passing, finder, gives=not merges).decode

    def begin(self, key_group: int) -> None:
        self.inner.begin(key_group)
        self.passing.begin(key_group)


__all__ = ["FINE", "STRIDE", "SearchingDecoder", "SearchingPairDecoder"]
