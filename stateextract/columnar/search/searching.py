"""Searching decoders: of many entries only those near certain bytes are decoded, the others are only skipped.

Skipping takes much less than decoding, and so does looking for bytes. A searching decoder has the face of the decoder
that it hands entries to, of entries or of pairs. May import decoders; knows neither files nor what the bytes mean.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from stateextract.columnar.decode.decoder import Decoder, Progress, Stop
from stateextract.columnar.decode.decoder_wrapper import DecoderWrapper, PairDecoderWrapper
from stateextract.columnar.decode.pair_decoder import PairDecoder
from stateextract.columnar.search.key_pattern import Finder
from stateextract.errors import StateExtractError
from stateextract.files.block import Block

FEW = 1 << 8
"""Entries that are decoded together from a pattern on."""
AnyDecoder: TypeAlias = Decoder | PairDecoder

_TRIALS = 16
"""Matches after which searching ends, if they are not rare."""
_RARE = 8
"""Of a rare pattern, this many times as many entries are skipped as are decoded."""


class _SearchingBase:
    """What both kinds have in common.

    :param inner: decodes what may be wanted.
    :param skipping: skips entries of the same bytes.
    :param finder: looks for bytes that all wanted entries contain.
    :param gives: rows are given out after each find.
    """

    def __init__(self, inner: AnyDecoder, skipping: AnyDecoder, finder: Finder, gives: bool) -> None:
        self.inner = inner
        self.skipping = skipping
        self.finder = finder
        self.gives = gives
        self.found = self.decoded = self.passed = 0

    @property
    def is_worth_it(self) -> bool:
        """Whether what was looked for is rare enough so far."""
        return self.found < _TRIALS or _RARE * self.decoded <= self.passed

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        """As the inner decoder does; ``entries`` also counts those that were skipped, ``rows`` does not.

        Stops before the entry that a pattern begins in, and as if the batch were full after rows that may be wanted, so
        that a search for them need not wait.
        """
        if not self.is_worth_it:
            return self.inner.decode(data, pos, end, limit)
        place = self.finder.find(data.address + pos, end - pos)
        try:
            passed = self.skipping.decode(data, pos, end if place < 0 else pos + place, limit)
        except StateExtractError:
            # The inner decoder comes across the same, and keeps the entries before it.
            return self.inner.decode(data, pos, end, limit)
        self.passed += passed.entries
        if place < 0 or passed.stop is not Stop.NEED_INPUT:
            return replace(passed, rows=0)
        if passed.entries:
            return Progress(Stop.DONE, passed.entries, passed.pos)
        near = self.inner.decode(data, pos, end, min(limit, FEW))
        self.found += 1
        self.decoded += near.entries
        if self.gives and near.entries and near.stop in (Stop.DONE, Stop.NEED_INPUT):
            return replace(near, stop=Stop.FULL)
        return near


class SearchingDecoder(DecoderWrapper):
    """Searches entries."""

    def __init__(self, inner: Decoder, skipping: Decoder, finder: Finder) -> None:
        super().__init__(inner)
        self.decode = _SearchingBase(inner, skipping, finder, gives=True).decode


class SearchingPairDecoder(PairDecoderWrapper):
    """Searches pairs. Of a map only rows are whole that have the pattern in each of their pairs, as that of a key is.

    :param merges: rows are maps, the last of which may go on, and is not given out before it is certain that it does not.
    """

    def __init__(self, inner: PairDecoder, skipping: PairDecoder, finder: Finder, merges: bool) -> None:
        super().__init__(inner)
        self.skipping = skipping
        self.decode = _SearchingBase(inner, skipping, finder, gives=not merges).decode

    def begin(self, key_group: int) -> None:
        self.inner.begin(key_group)
        self.skipping.begin(key_group)
