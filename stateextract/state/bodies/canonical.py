"""Canonical bodies: the unified savepoint format, and RocksDB's full snapshots up to Flink 1.15, which are the same bytes.

Behind the head come the key groups that have data, each at its offset (0: it has none) and, in a compressed file, as one
stream::

    u16   state id
    repeat: pair                               pair_programs.py of ``columnar`` says what a pair is
            if its key's first bit is set:
                u16   0xFFFF: end of the key group; else the state id of the pairs that follow

No key group number, no counts. Keys and values have lengths, so a value that cannot be decoded costs its row and nothing
else. Flink's classes: ``FullSnapshotAsyncWriter``, ``FullSnapshotUtil``, ``FullSnapshotRestoreOperation``,
``HeapSavepointRestoreOperation``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Protocol

from stateextract.columnar.decode.decoder import Stop
from stateextract.columnar.decode.pair_decoder import PairDecoder
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError
from stateextract.files.compression import StreamDecoder
from stateextract.files.window import ReadAt, Window
from stateextract.state.bodies import heap
from stateextract.state.bodies.heap import ALL, BodyWalker, KeyGroupRange

_END = 0xFFFF


class PairTarget(Protocol):
    """What becomes of the pairs of one state."""

    name: str
    keep: bool

    @property
    def decoder(self) -> PairDecoder:
        """Decodes the pairs; made when it is needed first."""

    def decoded(self, key_group: int, rows: int, entries: int) -> None:
        """That many pairs of a key group gave that many new rows in the decoder's batch."""

    def large(self, window: Window, key_group: int) -> Generator[None, None, bool] | None:
        """Read the next pair, which is larger than ``heap.LARGE``, part by part, and count it; ``None``: it must be decoded
        as a whole.

        :returns: of the generator: whether the pair says that it is the last one of its state.
        """

    def full(self) -> None:
        """The decoder's batch is full and must be flushed."""

    def finished(self, key_group: int, entries: int, size: int) -> None:
        """The state's pairs in a key group are complete; they took ``size`` bytes."""


class CanonicalWalker(BodyWalker):
    """Walks the key groups of a canonical body.

    :param targets: one per state of the head, by id.
    :param on_pair: called for a pair whose value cannot be decoded, with its bytes; it raises to stop.
    """

    def __init__(
        self,
        read_at: ReadAt,
        targets: Sequence[PairTarget],
        start_decoder: Callable[[], StreamDecoder] | None,
        on_pair: Callable[[int, int, UndecodableError, bytes], None],
        most: int | None,
    ) -> None:
        super().__init__(read_at, start_decoder, most)
        self.targets = targets
        self.on_pair = on_pair

    def _group(self, window: Window, group: KeyGroupRange) -> Iterator[None]:
        return self._plain(window, lambda plain, _: self._states(plain, group.key_group))

    def _states(self, window: Window, key_group: int) -> Generator[None, None, None]:
        seen = set()
        state_id = _u16(window)
        while state_id != _END:
            if state_id >= len(self.targets) or state_id in seen:
                what = "is twice in the key group" if state_id in seen else "is not in the header"
                raise FormatError(f"state id {state_id} {what}", offset=window.offset())
            seen.add(state_id)
            target = self.targets[state_id]
            try:
                yield from read_pairs(window, target, key_group, partial(self.on_pair, state_id, key_group))
            except StateExtractError as error:
                raise error.at(state=target.name) from None
            state_id = _u16(window)
        if window.need(1):
            raise FormatError("bytes follow the end of the key group", offset=window.offset())


def _u16(window: Window) -> int:
    data = window.take(2)
    if data is None:
        raise TruncatedError("the key group ends without its end mark", offset=window.offset())
    return int.from_bytes(data, "big")


def read_pairs(
    window: Window,
    target: PairTarget,
    key_group: int,
    on_pair: Callable[[UndecodableError, bytes], None],
    to_the_end: bool = False,
) -> Iterator[None]:
    """Decode the pairs of one state: up to the one that says it is the last, or to the end of the window's stream."""
    decoder = target.decoder
    decoder.begin(key_group)
    start = window.offset()
    entries = 0
    last = False
    while not last:
        base, end = window.base, window.end
        try:
            progress = decoder.decode(window.block, window.pos, end, ALL)
        except StateExtractError as error:
            error.moved(base)
            raise
        window.pos = progress.pos
        entries += progress.entries
        if progress.entries:
            target.decoded(key_group, progress.rows, progress.entries)
        last = progress.stop is Stop.LAST
        if progress.stop is Stop.FULL:
            target.full()
            yield
        elif progress.stop is Stop.UNDECODABLE:
            assert progress.error is not None
            last = skip(window, progress.error.moved(base), on_pair)
            entries += 1
            yield
        elif progress.stop is Stop.NEED_INPUT:
            size = max(progress.needed, end) - progress.pos
            parts = target.large(window, key_group) if size >= heap.LARGE else None
            if parts is not None:
                last = yield from parts
                entries += 1
                continue
            least = max(progress.needed, end + 1) - progress.pos
            if not window.need(least):
                if to_the_end and window.end == window.pos:
                    break
                raise window.truncated("a pair of key and value", least)
    target.finished(key_group, entries, window.offset() - start)
    yield


def skip(window: Window, error: UndecodableError, on_pair: Callable[[UndecodableError, bytes], None]) -> bool:
    """Skip the current pair, all of which is in the window.

    :returns: whether it says that it is the last one of its state.
    """
    view = window.block.view
    key_end = window.pos + 4 + int.from_bytes(view[window.pos : window.pos + 4], "big")
    end = key_end + 4 + int.from_bytes(view[key_end : key_end + 4], "big")
    pair = bytes(view[window.pos : end])
    window.pos = end
    on_pair(error, pair)
    return pair[4] & 0x80 != 0
