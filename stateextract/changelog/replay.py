"""Replay: the state of one subtask out of what was materialized and the changes since.

The materialized part streams as it does without changes; what is held in memory are the changes of some key groups, as few
as their number demands: when the overlay has grown to :data:`HELD`, the later half of the key groups is left to another
pass over the log. Changes of a single key group are held whatever they take, and so are materialized values that wait for
others to be put together with (of windows that were merged since).

Puts together log, overlay and base; knows no URIs, no Parquet, no Spark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from stateextract.changelog.base import BaseChanges
from stateextract.changelog.changed_states import ChangedState, changed_state
from stateextract.changelog.declared import header_of, key_of_header, parse_changes_header
from stateextract.changelog.identity import HeapIdentity, PairIdentity, pair_identity
from stateextract.changelog.log import Log
from stateextract.changelog.overlay import Overlay
from stateextract.changelog.pair_writer import PairWriter
from stateextract.columnar.decode.decoder import needs_interpreter
from stateextract.errors import StateExtractError, UndecodableError
from stateextract.state.bodies.changes import Changes
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.engine import prefix_bytes
from stateextract.state.header import KeyedHeader
from stateextract.state.target import FileRead, Piece, advised

HELD = 256 << 20
"""Bytes of memory that the changes of several key groups may take."""

ReadBase = Callable[[Sequence[KeyGroupRange], Collection[str], Changes], Iterator[Piece]]
"""Reads key groups of what was materialized: states by name, under changes."""


@dataclass(frozen=True)
class Materialized:
    """What was materialized.

    :param header: its head.
    :param pairs: its body is one of pairs.
    """

    header: KeyedHeader
    pairs: bool
    read: ReadBase


class Replay:
    """Reads the states of one subtask.

    :param changes_header: the head of the states in the log, as ``declared.header_of`` makes it.
    :param base: what was materialized, if anything.
    """

    def __init__(
        self,
        log: Log,
        changes_header: bytes,
        base: Materialized | None,
        file_read: FileRead,
        max_parallelism: int,
    ) -> None:
        self.log = log
        self.header = parse_changes_header(changes_header)
        self.key = key_of_header(self.header, changes_header)
        self.base = base
        self.selected = file_read.selected
        self.options = file_read.options
        self.counters = file_read.counters
        self.subtask = file_read.subtask
        self.prefix = prefix_bytes(max_parallelism)
        self.held = HELD
        self._declared: dict[bytes, ChangedState] = {}
        self._materialized: dict[str, ChangedState] = {}
        self._identities: dict[ChangedState, HeapIdentity | PairIdentity] = {}

    def read(self, ranges: Sequence[KeyGroupRange]) -> Iterator[Piece]:
        """Read key groups.

        :param ranges: all key groups that are wanted, with where they lie in what was materialized; those that have
            nothing there are empty.
        :yields: batches.
        :raises StateExtractError: with state, key group, file and offset.
        """
        while ranges:
            writer = PairWriter(self.options, self.counters, self.subtask, self.log.with_location)
            overlay, count = self._load([r.key_group for r in ranges], writer)
            now, ranges = ranges[:count], ranges[count:]
            yield from self._read(now, overlay, writer)

    # -- the log

    def _load(self, groups: Sequence[int], writer: PairWriter) -> tuple[Overlay, int]:
        """The changes of the first so many key groups."""
        empty_maps = self.base is None or not self.base.pairs
        most = self.options.policy.max_value_bytes
        overlay = Overlay(self.selected, self._declare, self._identity, empty_maps, most)
        left = set(groups)
        for change in self.log.changes(left):
            if change.key_group >= 0 and change.key_group not in left:
                continue
            try:
                overlay.apply(change)
            except UndecodableError as error:
                choice = self.options.of_state(error.state or "").on_undecodable
                if choice == "fail" or error.state is None or change.key_group < 0:
                    self.log.with_location(error, change.location)
                    raise advised(error) from None
                overlay.give_up(error.state, change, error)
            except StateExtractError as error:
                raise self.log.with_location(error, change.location) from None
            if overlay.held > self.held and len(groups) > 1:
                overlay.measure()
                if overlay.held > self.held:
                    groups = groups[: len(groups) // 2]
                    left.intersection_update(groups)
                    overlay.keep(left)
        for state in overlay.states.values():
            if state.broken is not None:
                self.counters.of(state.name).lost_entries += state.lost
                self.counters.of(state.name).problem(state.broken.message)
                for change in state.refused:
                    writer.refuse(state.broken, state.state, change.key_group, change.location, change.data)
        return overlay, len(groups)

    def _declare(self, meta: bytes) -> ChangedState:
        known = self._declared.get(meta)
        if known is None:
            header = parse_changes_header(header_of(self.key, [meta]))
            known = self._declared[meta] = changed_state(header, header.states[0], self.options.context)
        return known

    def _identity(self, state: ChangedState) -> HeapIdentity | PairIdentity:
        known = self._identities.get(state)
        if known is None:
            pairs = self.base is not None and self.base.pairs
            known = pair_identity(state, self.prefix) if pairs else HeapIdentity(state)
            self._identities[state] = known
        return known

    # -- rows

    def _read(self, ranges: Sequence[KeyGroupRange], overlay: Overlay, writer: PairWriter) -> Iterator[Piece]:
        yield from writer.ready  # what could not be understood of the changes
        changes = BaseChanges(overlay, writer, self._materialized_state, self._identity)
        materialized: set[str] = set()
        if self.base is not None:
            materialized = {meta.name for meta in self.base.header.states}
            # Of a state whose changes cannot be distinguished it is not known which materialized rows still hold.
            decodable = {name for name in self.selected if name not in overlay.states or not overlay.states[name].broken}
            filled = [r for r in ranges if r.end > r.start]
            yield from self.base.read(filled, decodable & materialized, changes) if filled else ()
        ready: deque[Piece] = deque()
        changes.attach(ready)
        changes.finish()
        yield from ready
        self._count(overlay, len(ranges), materialized)

    def _materialized_state(self, name: str) -> ChangedState:
        known = self._materialized.get(name)
        if known is None:
            assert self.base is not None
            header = self.base.header
            meta = next(meta for meta in header.states if meta.name == name)
            known = self._materialized[name] = changed_state(header, meta, self.options.context)
        return known

    def _count(self, overlay: Overlay, groups: int, materialized: Collection[str]) -> None:
        for meta in self.header.states:
            if meta.name not in self.selected:
                continue
            counted = self.counters.of(meta.name)
            if meta.name not in materialized:
                counted.key_groups += groups
            changed = overlay.states.get(meta.name)
            if changed is not None:
                counted.changes += sum(changed.counts.values())
                counted.bytes += sum(changed.sizes.values())
                if not counted.engine:
                    plain = self.options.engine == "interpreter" or needs_interpreter(changed.state.row.layout)
                    counted.engine = "interpreter" if plain else "kernel"
