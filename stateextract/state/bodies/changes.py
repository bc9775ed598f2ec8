"""What the walkers of bodies have to know of changes that were made since a body was written.

A changelog's reader (``stateextract/changelog``) comes after this; a body without changes has none.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from stateextract.columnar.decode.decoder import Decoder
from stateextract.columnar.decode.pair_decoder import PairDecoder
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.files.block import Block

if TYPE_CHECKING:
    from stateextract.state.target import Piece


class EntriesUnder(Decoder, Protocol):
    """Decodes what was not changed of a state's entries."""

    def touches(self, data: Block, pos: int, end: int) -> bool:
        """Whether the entry at ``pos``, whose end is not there yet, was changed or may have been."""


class Changes(Protocol):
    """Filters what the decoders of a body receive: entries that were changed do not reach them."""

    def attach(self, ready: deque[Piece]) -> None:
        """Changed rows go in there, as soon as there are enough of them."""

    def filter_entries(self, state: str, decoder: Decoder) -> EntriesUnder | None:
        """A decoder that hands to another what was not changed of a state's entries; ``None``: nothing was."""

    def filter_pairs(self, state: str, layout: PairLayout, decoder: PairDecoder) -> PairDecoder:
        """The same for pairs; the decoder itself where nothing was changed."""

    def lost(self, state: str, key_group: int) -> None:
        """Not all entries of the state in that key group can be read."""
