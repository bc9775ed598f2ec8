"""The materialized rows under an overlay: what becomes of them as they are read, and which rows are new.

A materialized entry whose row is in the overlay does not come out as it is. If all that the row needs is its own
materialized value (elements were appended, entries put or removed), it is patched at once; if it needs that of others, those
values are held until all have been seen; otherwise it was replaced or removed. :meth:`BaseChanges.finish` gives the rows that
are left in the overlay then. Implements ``state.changes.Changes``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

from stateextract.changelog.change_filter import ChangeFilterDecoder, ChangeFilterPairDecoder
from stateextract.changelog.changed_rows import Found, MapEntry, MapRow, UnresolvedError, ValueRow, Written, joined
from stateextract.changelog.changed_states import LIST, MAP, QUEUE, ChangedState
from stateextract.changelog.identity import GROUP_BYTES, HeapIdentity, PairIdentity
from stateextract.changelog.overlay import Overlay, StateOverlay
from stateextract.changelog.pair_writer import PairWriter
from stateextract.columnar.decode.decoder import Decoder
from stateextract.columnar.decode.pair_decoder import PairDecoder
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.columnar.search.entry_bounds import entry_scanner, pair_scanner
from stateextract.errors import FormatError, UndecodableError, UnsupportedError
from stateextract.state.target import Piece


class BaseChanges:
    """The changes of some key groups, over what was materialized of them.

    :param base: gives a state by the head of what was materialized.
    :param identity: makes the ids of a state's rows.
    """

    def __init__(
        self,
        overlay: Overlay,
        writer: PairWriter,
        base: Callable[[str], ChangedState],
        identity: Callable[[ChangedState], HeapIdentity | PairIdentity],
    ) -> None:
        self.overlay = overlay
        self.writer = writer
        self.base = base
        self.identity = identity
        self.captured: dict[tuple[str, bytes], Found] = {}
        self.needed: dict[str, set[bytes]] = {}
        self.unreadable_groups: set[tuple[str, int]] = set()
        self.maps: list[ChangeFilterPairDecoder] = []

    # -- what the walkers of bodies call

    def attach(self, ready: deque[Piece]) -> None:
        self.writer.ready = ready

    def lost(self, state: str, key_group: int) -> None:
        self.unreadable_groups.add((state, key_group))

    def filter_entries(self, state: str, decoder: Decoder) -> ChangeFilterDecoder | None:
        changed = self._changed(state)
        if changed is None:
            return None
        base = self.base(state)
        fields = [f.layout for f in base.row.layout.fields]
        queue = changed.shape == QUEUE
        key, value = (fields, None) if queue else (fields[:-1], fields[-1])
        scanner = entry_scanner(key, value, self.writer.options.engine)
        met = _nothing if queue else partial(self._met_entry, changed, base)
        return ChangeFilterDecoder(decoder, scanner, changed.queue if queue else changed.rows, met, key)

    def filter_pairs(self, state: str, layout: PairLayout, decoder: PairDecoder) -> PairDecoder:
        changed = self._changed(state)
        if changed is None:
            return decoder
        scanner = pair_scanner(layout, self.writer.options.engine)
        if changed.shape == QUEUE:
            return ChangeFilterPairDecoder(decoder, scanner, changed.queue, _nothing, skip=layout.prefix)
        base = self.base(state)
        rows = changed.rows
        if changed.shape == MAP:
            over = ChangeFilterPairDecoder(
                decoder, scanner, rows, _nothing, partial(self._met_map, changed, base), partial(_includes_base, rows)
            )
            self.maps.append(over)
            return over
        return ChangeFilterPairDecoder(decoder, scanner, rows, partial(self._met_pair, changed, base))

    def _changed(self, state: str) -> StateOverlay | None:
        changed = self.overlay.states.get(state)
        if changed is None or not (changed.rows or changed.queue):
            return None
        base = self.base(state)
        if changed.shape != base.shape:
            raise UnsupportedError(
                f"the state was materialized as {base.row.kind} state and changed as {changed.state.row.kind} state",
                state=state,
            )
        self.needed[state] = set(_needed_by_others(changed))
        return changed

    # -- materialized rows

    def _met_entry(self, changed: StateOverlay, base: ChangedState, row_id: bytes, value: bytes) -> None:
        row = changed.rows[row_id]
        if isinstance(row, MapRow):
            if row.includes_base:
                self._patch_map(base, row_id, row, _map_entries(base, value))
        elif changed.shape == LIST:
            self._met_value(changed, base, row_id, row, lambda: (int.from_bytes(value[:4], "big"), value[4:]))
        else:
            self._met_value(changed, base, row_id, row, lambda: (1, value))

    def _met_pair(self, changed: StateOverlay, base: ChangedState, row_id: bytes, value: bytes) -> None:
        row = changed.rows[row_id]
        assert isinstance(row, ValueRow)
        found = partial(_elements, base, value) if changed.shape == LIST else lambda: (1, value)
        self._met_value(changed, base, row_id, row, found)

    def _met_map(
        self, changed: StateOverlay, base: ChangedState, row_id: bytes, entries: list[tuple[bytes, bytes]]
    ) -> None:
        row = changed.rows[row_id]
        assert isinstance(row, MapRow)
        self._patch_map(base, row_id, row, iter(entries))

    def _met_value(
        self, changed: StateOverlay, base: ChangedState, row_id: bytes, row: ValueRow, found: Callable[[], Found]
    ) -> None:
        try:
            if _appended(row, row_id):
                row.settled = True
                self._write_value(changed, row_id, row, lambda _: found(), base)
            elif row_id in self.needed[changed.name]:
                self.captured[changed.name, row_id] = found()
        except UndecodableError as error:
            row.settled = True
            self._refuse(error, base, row_id, row)

    def _patch_map(
        self, base: ChangedState, row_id: bytes, row: MapRow, entries: Iterator[tuple[bytes, bytes]]
    ) -> None:
        row.settled = True
        found = row.over(entries, base)
        if found is not None:
            self._write_map(base, row, row_id, found)

    # -- what is left

    def finish(self) -> None:
        """All that there is of materialized rows was read: the rows that are new or were put together."""
        for over in self.maps:
            over.finish()
        for changed in self.overlay.states.values():
            for row_id, row in changed.rows.items():
                if not row.settled:
                    self._finish_row(changed, row_id, row)
            for element, group in changed.queue.items():
                if group >= 0:
                    key = group.to_bytes(GROUP_BYTES, "big") + element
                    self.writer.add(changed.state, group, None, key, False, b"")
        self.writer.finish()

    def _finish_row(self, changed: StateOverlay, row_id: bytes, row: ValueRow | MapRow) -> None:
        if isinstance(row, MapRow):
            if row.includes_base and (changed.name, row.group) in self.unreadable_groups:
                self._unreadable_base(changed)
                return
            found = row.over(None, None)
            if found is not None:
                self._write_map(changed.state, row, row_id, found)
            return
        if (changed.name, row.group) in self.unreadable_groups and any(
            (changed.name, part) not in self.captured for part in row.needs()
        ):
            self._unreadable_base(changed)
            return
        base = None
        if any((changed.name, part) in self.captured for part in row.needs()):
            base = self.base(changed.name)
        try:
            self._write_value(changed, row_id, row, lambda part: self.captured.get((changed.name, part)), base)
        except UndecodableError as error:
            self._refuse(error, base or changed.state, row_id, row)

    def _unreadable_base(self, changed: StateOverlay) -> None:
        counters = self.writer.counters.of(changed.name)
        counters.lost_entries += 1
        counters.problem("the log changes rows, and their materialized part cannot be read")

    # -- rows

    def _write_value(
        self,
        changed: StateOverlay,
        row_id: bytes,
        row: ValueRow,
        materialized: Callable[[bytes], Found],
        base: ChangedState | None,
    ) -> None:
        """Put a row together of its parts."""
        location = row.location
        found: list[tuple[ChangedState, list[tuple[int, bytes | bytearray]]]] = []
        for part in row.parts:
            if isinstance(part, Written):
                found.append((part.state, [(part.count, part.data)]))
                location = part.location
            else:
                value = materialized(part)
                if value is not None:
                    assert base is not None
                    found.append((base, [value]))
        if not found:
            return
        if changed.shape == LIST:
            values = []
            for state, pieces in joined(found):
                total = sum(count for count, _ in pieces)
                values.append((state, total.to_bytes(4, "big") + b"".join(data for _, data in pieces)))
            if len(values) > 1:
                self._write_parts(row, row_id, location, values)
            else:
                self._write(values[0][0], row, row_id, location, values[0][1])
        elif len(found) == 1:
            self._write(found[0][0], row, row_id, location, bytes(found[0][1][0][1]))
        else:
            raise UnresolvedError(
                f"{len(found)} windows were merged, and nothing was added since: only the job knows what their values "
                "make together"
            )

    def _write_map(
        self, state: ChangedState, row: MapRow, row_id: bytes, found: list[tuple[ChangedState, list[MapEntry]]]
    ) -> None:
        """A map's row; ``state`` is for one without entries."""
        if len(found) > 1:
            values = [
                (by, len(entries).to_bytes(4, "big") + b"".join(k + v for k, v in entries)) for by, entries in found
            ]
            self._write_parts(row, row_id, row.location, values)
        else:
            by, entries = found[0] if found else (state, None)
            self._write(by, row, row_id, row.location, entries or bytes(4))

    def _write_parts(
        self, row: ValueRow | MapRow, row_id: bytes, location: int, values: list[tuple[ChangedState, bytes]]
    ) -> None:
        """A list or map of which several serializers wrote parts."""
        keys = [(self.identity(state).pair_key(row.group, row_id), self.identity(state).lengths) for state, _ in values]
        parts = [(state, *key, value) for key, (state, value) in zip(keys, values, strict=True)]
        self.writer.add_parts(parts, row.group, location)

    def _write(
        self,
        state: ChangedState,
        row: ValueRow | MapRow,
        row_id: bytes,
        location: int,
        value: bytes | list[tuple[bytes, bytes]],
    ) -> None:
        identity = self.identity(state)
        key = identity.pair_key(row.group, row_id)
        self.writer.add(state, row.group, location, key, identity.lengths, value)

    def _refuse(self, error: UndecodableError, state: ChangedState, row_id: bytes, row: ValueRow) -> None:
        error.offset = None
        key = self.identity(state).pair_key(row.group, row_id)
        self.writer.refuse(error, state, row.group, row.location, len(key).to_bytes(4, "big") + key + bytes(4))


def _nothing(row_id: bytes, value: bytes) -> None:
    """The materialized value does not matter."""


def _includes_base(rows: dict[bytes, ValueRow | MapRow], row_id: bytes) -> bool:
    row = rows[row_id]
    return isinstance(row, MapRow) and row.includes_base


def _appended(row: ValueRow, row_id: bytes) -> bool:
    """Whether the row is its own materialized value with something after it."""
    return bool(row.parts) and row.parts[0] == row_id and all(isinstance(part, Written) for part in row.parts[1:])


def _needed_by_others(changed: StateOverlay) -> Iterator[bytes]:
    """Ids of the rows whose materialized values have to be held."""
    for row_id, row in changed.rows.items():
        if isinstance(row, ValueRow) and not _appended(row, row_id):
            yield from row.needs()


def _map_entries(base: ChangedState, value: bytes) -> Iterator[tuple[bytes, bytes]]:
    """User keys and flagged values of a map as a heap file has it."""
    pos, end = 4, len(value)
    for _ in range(int.from_bytes(value[:4], "big")):
        flag = base.user_key(value, pos, end)
        after = flag + 1
        if value[flag : flag + 1] == b"\0":
            after = base.user_value(value, after, end)
        yield value[pos:flag], value[flag:after]
        pos = after


def _elements(base: ChangedState, value: bytes) -> tuple[int, bytes]:
    """The elements of a list in a pair, without the bytes between them."""
    pos, end = 0, len(value)
    elements = []
    while pos < end:
        after = base.element(value, pos, end)
        elements.append(value[pos:after])
        pos = after + 1
    if pos == end and elements:
        raise FormatError("a list ends after a separator")
    return len(elements), b"".join(elements)
