"""Decoders that leave out what was changed since: the entries of a body reach the decoder after them but for those.

The entries of a window are cut first, without being decoded, and looked up in the overlay by their bytes. What was changed is
handed to the owner of the changes; the rest is decoded where it lies, one run after the other. Knows no operations.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TypeAlias

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.decode.decoder import Decoder, Progress, Stop
from stateextract.columnar.decode.decoder_wrapper import DecoderWrapper, PairDecoderWrapper
from stateextract.columnar.decode.pair_decoder import PairDecoder
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Layout
from stateextract.columnar.search.entry_bounds import EntryBounds, EntryScanner
from stateextract.errors import FormatError, StateExtractError, UndecodableError
from stateextract.files.block import Block

Met: TypeAlias = Callable[[bytes, bytes], None]
"""Takes the id of a changed row and what comes after it in the body: its materialized value."""

MetMap: TypeAlias = Callable[[bytes, list[tuple[bytes, bytes]]], None]
"""Takes the id of a changed map and its materialized entries: user keys, and values with their flags."""


class ChangeFilterDecoder(DecoderWrapper):
    """Decodes the entries of a heap body that were not changed.

    :param changed: ids of the changed rows; :param met: called with those that come up.
    :param key: layouts of what an id is made of.
    """

    def __init__(
        self, inner: Decoder, scanner: EntryScanner, changed: Container[bytes], met: Met, key: Sequence[Layout]
    ) -> None:
        super().__init__(inner)
        self.scanner = scanner
        self.changed = changed
        self.met = met
        self.key = key

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        entries = rows = 0
        while entries < limit:
            try:
                entry_bounds = self.scanner.scan(data, pos, end, limit - entries)
            except StateExtractError:
                if entries:
                    break  # what came before is reported first
                raise
            if entry_bounds.stop is Stop.NEED_INPUT:
                return Progress(Stop.NEED_INPUT, entries, pos, entry_bounds.needed, rows)
            bounds: list[list[int]] = entry_bounds.bounds.tolist()
            changed = self._changed(data, pos, bounds)
            begin = 0
            for number in (*changed, len(bounds)):
                if number > begin:
                    progress = self.inner.decode(data, pos, bounds[number - 1][1], number - begin)
                    entries, rows, pos = entries + progress.entries, rows + progress.rows, progress.pos
                    if progress.stop is not Stop.DONE:
                        return Progress(progress.stop, entries, pos, progress.needed, rows)
                if number < len(bounds):
                    value_start, stop = bounds[number]
                    self.met(bytes(data.view[pos:value_start]), bytes(data.view[value_start:stop]))
                    pos = stop
                    entries += 1
                begin = number + 1
        return Progress(Stop.DONE, entries, pos, rows=rows)

    def _changed(self, data: Block, pos: int, bounds: list[list[int]]) -> list[int]:
        """The numbers of the changed entries."""
        window = bytes(data.view[pos : bounds[-1][1]])
        changed = self.changed
        found = []
        begin = 0
        for number, (value_start, stop) in enumerate(bounds):
            if window[begin : value_start - pos] in changed:
                found.append(number)
            begin = stop - pos
        return found

    def touches(self, data: Block, pos: int, end: int) -> bool:
        """Whether the entry at ``pos``, the end of which is not there, was changed, or may have been."""
        start = pos
        try:
            for layout in self.key:
                pos = interpret(layout, data.view, pos, end, ChangeCounts())[1]
        except StateExtractError:
            return True
        return bytes(data.view[start:pos]) in self.changed


class ChangeFilterPairDecoder(PairDecoderWrapper):
    """Decodes the pairs that were not changed.

    :param changed: ids of the changed rows; :param met: called with those that come up.
    :param met_map: of maps, called instead of ``met``, once for each row; :param wants: those of which entries matter.
    :param skip: bytes before each key that do not belong to ids (of queues, whose ids are elements).
    """

    def __init__(
        self,
        inner: PairDecoder,
        scanner: EntryScanner,
        changed: Container[bytes],
        met: Met,
        met_map: MetMap | None = None,
        wants: Callable[[bytes], bool] = bool,
        skip: int = 0,
    ) -> None:
        super().__init__(inner)
        self.scanner = scanner
        self.changed = changed
        self.met = met
        self.met_map = met_map
        self.wants = wants
        self.skip = skip
        self.map_id: bytes | None = None
        self.entries: list[tuple[bytes, bytes]] = []

    def begin(self, key_group: int) -> None:
        self.finish()
        self.inner.begin(key_group)

    def finish(self) -> None:
        """No more pairs belong to the current map."""
        if self.map_id is not None and self.met_map is not None:
            row_id, self.map_id = self.map_id, None
            entries, self.entries = self.entries, []
            self.met_map(row_id, entries)

    def decode(self, data: Block, pos: int, end: int, limit: int) -> Progress:
        pairs = rows = 0
        while pairs < limit:
            try:
                entry_bounds = self.scanner.scan(data, pos, end, limit - pairs)
            except UndecodableError as error:
                return Progress(Stop.UNDECODABLE, pairs, pos, rows=rows, error=error)
            if entry_bounds.stop is Stop.NEED_INPUT:
                return Progress(Stop.NEED_INPUT, pairs, pos, entry_bounds.needed, rows)
            bounds: list[list[int]] = entry_bounds.bounds.tolist()
            begin = 0
            for number, row_id in (*self._changed(data, pos, entry_bounds), (len(bounds), b"")):
                if number > begin:
                    progress = self.inner.decode(data, pos, bounds[number - 1][3], number - begin)
                    pairs, rows, pos = pairs + progress.entries, rows + progress.rows, progress.pos
                    if progress.stop not in (Stop.DONE, Stop.LAST):
                        return Progress(progress.stop, pairs, pos, progress.needed, rows, progress.error)
                if number < len(bounds):
                    _, row_end, key_end, pos = bounds[number]
                    self._met(row_id, data, row_end, key_end, pos)
                    pairs += 1
                begin = number + 1
            if entry_bounds.stop is Stop.LAST:
                return Progress(Stop.LAST, pairs, pos, rows=rows)
        return Progress(Stop.DONE, pairs, pos, rows=rows)

    def _changed(self, data: Block, pos: int, entry_bounds: EntryBounds) -> list[tuple[int, bytes]]:
        """The numbers of the changed pairs, with the ids of their rows."""
        bounds = entry_bounds.bounds[:, :2] - pos
        bounds[:, 0] += self.skip
        window = bytes(data.view[pos : int(entry_bounds.bounds[-1, 1])])
        changed = self.changed
        ids = [window[begin:end] for begin, end in bounds.tolist()]
        if entry_bounds.stop is Stop.LAST and not self.skip:
            ids[-1] = bytes([ids[-1][0] & 0x7F]) + ids[-1][1:]
        return [(number, row_id) for number, row_id in enumerate(ids) if row_id in changed]

    def _met(self, row_id: bytes, data: Block, row_end: int, key_end: int, end: int) -> None:
        value = bytes(data.view[key_end + 4 : end])
        if self.met_map is None:
            self.met(row_id, value)
            return
        if not self.wants(row_id):
            return
        if row_id != self.map_id:
            self.finish()
            self.map_id = row_id
        if not value:
            raise FormatError("a map entry without its flag", offset=end)
        self.entries.append((bytes(data.view[row_end:key_end]), value if value[0] == 0 else b"\x01"))
