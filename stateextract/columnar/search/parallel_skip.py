"""Skipping entries, by two threads where there are many of them.

Where an entry ends is only known after reading it, so the second thread begins at a guessed end of an entry near the
middle. The first one has to arrive there exactly, which proves the guess; otherwise what the second one did is thrown away.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from itertools import pairwise, takewhile

from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import KernelDecoder, Progress, Stop, make_decoder
from stateextract.columnar.decode.decoder_wrapper import DecoderWrapper
from stateextract.columnar.layout import Layout
from stateextract.errors import StateExtractError
from stateextract.files.block import Block
from stateextract.files.second_thread import SecondThread

LEAST = 1 << 20
"""Bytes that two threads are worth it for."""

_SAMPLE = 4  # entries by which the next ones are guessed
_PROOF = 16  # entries that must make sense after a guess
_REACH = 1 << 16  # bytes that are looked through for a guess
_GUESSES = 64
_MISSES = 8  # wrong guesses after which none is made any more


class ParallelSkipDecoder(DecoderWrapper):
    """Passes over entries that the kernel can read.

    :param layout: of the entries.
    """

    def __init__(self, layout: Layout, policy: Policy) -> None:
        self.here, self.there = (_skipping(layout, policy) for _ in range(2))
        super().__init__(self.here)
        self.misses = 0
        self.second_thread = SecondThread()

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        """As the decoder of the layout does."""
        if not self.second_thread.is_there or self.here.skips or end - pos < LEAST or self.misses > _MISSES:
            return self.here.decode(data, pos, end, limit)
        border = self._guess(data, pos, end)
        if border < 0:
            self.misses += 1
            return self.here.decode(data, pos, end, limit)
        first, second = self.second_thread.run(
            lambda: self.here.decode(data, pos, border, limit), lambda: self.there.decode(data, border, end, limit)
        )
        later = _result(second)
        if first.stop is not Stop.NEED_INPUT:
            return first
        left = limit - first.entries
        if first.pos != border:
            self.misses += 1
        elif later is not None and later.entries < left:
            return _together(first, later)
        return _together(first, self.here.decode(data, first.pos, end, left))

    def _guess(self, data: Block, pos: int, end: int) -> int:
        """Where an entry may begin near the middle; -1: no idea."""
        borders = [pos]
        for _ in range(_SAMPLE):
            borders.append(self.here.position_after(data, borders[-1], end, 1))
            if borders[-1] < 0:
                return -1
        middle = pos + (end - pos) // 2
        sizes = {b - a for a, b in pairwise(borders)}
        if len(sizes) == 1 and (size := sizes.pop()):
            at = pos + (middle - pos) // size * size
            if self.here.position_after(data, at, end, _PROOF) >= 0:
                return at
        start = _common(*(bytes(data.view[a : min(b, a + 8)]) for a, b in pairwise(borders)))
        near = bytes(data.view[middle : min(middle + _REACH, end)])
        at = -1
        for _ in range(_GUESSES):
            at = near.find(start, at + 1)
            if at < 0:
                break
            if self.here.position_after(data, middle + at, end, _PROOF) >= 0:
                return middle + at
        return -1


def _skipping(layout: Layout, policy: Policy) -> KernelDecoder:
    made = make_decoder(layout, policy, keep=False)
    assert isinstance(made, KernelDecoder)
    return made


def _common(*texts: bytes) -> bytes:
    """What all begin with."""
    same = takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False))
    return bytes(column[0] for column in same)


def _together(first: Progress, second: Progress) -> Progress:
    return replace(second, entries=first.entries + second.entries, rows=first.rows + second.rows)


def _result(passed: Future[Progress]) -> Progress | None:
    try:
        return passed.result()
    except StateExtractError:
        return None  # a wrong guess, or damage, which the caller that gets there says
