"""Decoders that wrap another one, choose its input, and return its batches."""

from __future__ import annotations

import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.decode.decoder import Decoder
from stateextract.columnar.decode.pair_decoder import PairDecoder


class DecoderWrapper:
    """What a decoder of entries leaves to the one inside; ``decode`` is its own."""

    def __init__(self, inner: Decoder) -> None:
        self.inner = inner
        self.engine = inner.engine

    @property
    def counts(self) -> ChangeCounts:
        return self.inner.counts

    @counts.setter
    def counts(self, counts: ChangeCounts) -> None:
        self.inner.counts = counts

    @property
    def rows(self) -> int:
        return self.inner.rows

    def flush(self) -> pa.Array:
        return self.inner.flush()


class PairDecoderWrapper:
    """The same for pairs; ``decode`` and ``begin`` are its own."""

    def __init__(self, inner: PairDecoder) -> None:
        self.inner = inner
        self.engine = inner.engine

    @property
    def counts(self) -> ChangeCounts:
        return self.inner.counts

    @property
    def rows(self) -> int:
        return self.inner.rows

    def flush(self, last: bool) -> pa.Array:
        return self.inner.flush(last)
