"""One unit of a comparison: both sides' rows are read, gathered and compared, state by state. Of an incremental unit only the
rows are read that can differ; if anything of it cannot be read or decoded, it is compared in full.

Where rows of a side could not be decoded (and the options say to go on), what is there and what is not is not known: the
state is then not compared in that key group, and the counts say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from stateextract.columnar.compiled.engines import engine_for
from stateextract.columnar.convert.text import as_text
from stateextract.diff.compare import compare
from stateextract.diff.diff_plan import DiffContext, DiffState, DiffUnit, diff_units, of_key_groups
from stateextract.diff.incremental import segments
from stateextract.diff.row_buffer import SpillingRowBuffer
from stateextract.diff.summary import DiffCounts
from stateextract.errors import StateExtractError, UnsupportedError
from stateextract.job.salvage import Attempt, salvage
from stateextract.snapshot.part_reader import open_reader
from stateextract.snapshot.parts import OperatorTargets, Part
from stateextract.snapshot.reading import choice_of
from stateextract.state.bodies.differing import differing_rows
from stateextract.state.counters import Counters
from stateextract.state.header import KeyedHeader
from stateextract.state.kinds import BROADCAST, TIMER
from stateextract.state.row_layout import row_layout

if TYPE_CHECKING:
    from stateextract.rocksdb import RocksDB
    from stateextract.state.bodies.database import Lookup

_BATCH_BYTES = 8 << 20
_NO_KEY_GROUP = -1
_ADJUSTED = ("sub_microsecond", "out_of_range")  # strings are compared as they are


@dataclass(frozen=True)
class StateDiff:
    """What was found of a state in one part of a unit.

    :param counts: to be added up.
    :param rows: the changes; ``None``: there are none, or they were not asked for.
    """

    state: DiffState
    counts: DiffCounts
    rows: pa.RecordBatch | None = None


class DiffRunner:
    """Compares units in this process."""

    def __init__(self, context: DiffContext) -> None:
        self._context = context
        self._policy = choice_of(context.sides[1].options).policy
        engine = engine_for(context.size)
        self._readers = [
            open_reader(side.options, side.metadata_uri, side.describe, engine=engine, batch_bytes=_BATCH_BYTES)
            for side in context.sides
        ]

    def run(self, unit: DiffUnit) -> Iterator[StateDiff]:
        """Compare a unit.

        :raises StateExtractError: with file, operator, state and key group, where one side cannot be read and the comparison
            is strict.
        """
        states = {n: s for n, s in self._context.of_operator(unit.operator).items() if n in unit.states}
        if not states:
            return
        if unit.cost is None:
            yield from self._compare(unit, states)
            return
        try:
            gathered, all_counters = self._looked_up(unit, states)
        except StateExtractError as error:
            yield from self._in_full(unit, states, str(error))
            return
        with gathered:
            lost = [text for counters in all_counters for name in states if _lost(counters, name)
                    for text in counters.of(name).problems]  # fmt: skip
            if not lost:
                for state in states.values():
                    yield from self._state(unit, state, gathered, all_counters)
        if lost:
            yield from self._in_full(unit, states, lost[0])

    @property
    def bytes_read(self) -> int:
        """Bytes that were read of both snapshots so far."""
        return sum(reader.bytes_read for reader in self._readers)

    def _in_full(self, unit: DiffUnit, states: dict[str, DiffState], reason: str) -> Iterator[StateDiff]:
        """Compare everything in the key groups of a unit, because not everything could be looked up."""
        groups = unit.key_groups or ()
        for state in states.values():
            remark = f"compared in full in the key groups {groups[0]} to {groups[-1]}: {reason}"
            yield StateDiff(state, DiffCounts(remarks=[remark]))
        for part in diff_units(unit.operator, *unit.parts, states, self._context.options.unit_bytes):
            yield from self._compare(part, states)

    def _looked_up(
        self, unit: DiffUnit, states: dict[str, DiffState]
    ) -> tuple[SpillingRowBuffer, tuple[Counters, Counters]]:
        """The rows of both sides that can differ, by the files that these do not share, and what was read."""
        gathered = self._buffer(states)
        all_counters = Counters(), Counters()

        def add(side: int, part: Part, names: Collection[str]) -> None:
            targets = self._targets(side, unit, names)
            for piece in self._readers[side].pieces(part, targets, all_counters[side]):
                gathered.add(side, piece.state, piece.batch)

        try:
            for pair in segments(unit.parts):
                if pair[0] is None or pair[1] is None:
                    for side, only in enumerate(pair):
                        if only is not None:
                            add(side, only, states)
                    continue
                opened = [
                    reader.database(part, self._targets(side, unit, states))
                    for side, (reader, part) in enumerate(zip(self._readers, pair, strict=True))
                    if part is not None
                ]
                for name in states:
                    for lookups in self._differing(unit, name, opened, pair[0]):
                        for side, (part, of_side) in enumerate(zip(pair, lookups, strict=True)):
                            assert part is not None
                            for lookup in of_side:
                                add(side, replace(part, content=replace(part.content, lookup=lookup)), (name,))
        except BaseException:
            gathered.close()
            raise
        return gathered, all_counters

    def _differing(
        self, unit: DiffUnit, name: str, opened: Sequence[tuple[KeyedHeader, RocksDB]], part: Part
    ) -> Iterator[tuple[Sequence[Lookup | None], Sequence[Lookup | None]]]:
        """What is looked up on both sides, some at a time; ``None``: everything."""
        metas = [next((meta for meta in header.states if meta.name == name), None) for header, _ in opened]
        meta = metas[0]
        if meta is None or any(one is None or not database.has(name)
                               for one, (_, database) in zip(metas, opened, strict=True)):  # fmt: skip
            yield [None], [None]
            return
        operator = self._context.sides[0].targets[unit.operator].id
        row = row_layout(opened[0][0], meta, self._context.sides[0].describe.of_operator(operator))
        content = part.content
        databases = [database for _, database in opened]
        try:
            yield from differing_rows(databases, row, self._readers[0].options, content.key_groups, content.max_parallelism)
        except StateExtractError as error:
            raise error.at(state=name) from None

    def _compare(self, unit: DiffUnit, states: dict[str, DiffState]) -> Iterator[StateDiff]:
        gathered, all_counters = salvage(partial(self._gathered, unit, states), self._context.sides[1].options.lenient)
        with gathered:
            lost = [name for name in states if any(_lost(counters, name) for counters in all_counters)]
            for name in lost:
                gathered.drop(name)
            for name, state in states.items():
                if name not in lost:
                    yield from self._state(unit, state, gathered, all_counters)
        yield from self._lost(unit, {name: states[name] for name in lost}, all_counters)

    def _gathered(
        self, unit: DiffUnit, states: dict[str, DiffState], attempt: Attempt
    ) -> tuple[SpillingRowBuffer, tuple[Counters, Counters]]:
        """The rows of both sides, and what was read."""
        all_counters = Counters(), Counters()
        gathered = self._buffer(states)
        try:
            for side, counters in enumerate(all_counters):
                self._read(side, unit, states, counters, gathered, attempt)
        except BaseException:
            gathered.close()
            raise
        for (_, name), error in attempt.refused.items():
            for counters in all_counters:
                counters.of(name).problem(str(error))
                counters.of(name).failure = error.status
        return gathered, all_counters

    def _buffer(self, states: dict[str, DiffState]) -> SpillingRowBuffer:
        hows = {name: state.how for name, state in states.items() if state.how is not None}
        return SpillingRowBuffer(hows, self._context.options.memory_bytes)

    def _targets(self, side: int, unit: DiffUnit, names: Collection[str]) -> OperatorTargets:
        """Some states of a unit's operator as they are read."""
        targets = self._context.sides[side].targets[unit.operator]
        return replace(targets, states={name: t for name, t in targets.states.items() if name in names})

    def _read(
        self,
        side: int,
        unit: DiffUnit,
        states: Collection[str],
        counters: Counters,
        gathered: SpillingRowBuffer,
        attempt: Attempt,
    ) -> None:
        targets = self._targets(side, unit, states)
        reader = self._readers[side]
        for part in reader.in_order(unit.parts[side], lambda _: targets):
            for piece in attempt.pieces(reader, part, targets, counters):
                gathered.add(side, piece.state, piece.batch)

    def _state(
        self, unit: DiffUnit, state: DiffState, gathered: SpillingRowBuffer, all_counters: tuple[Counters, Counters]
    ) -> Iterator[StateDiff]:
        """A state whose rows cannot be compared does not stop the others, unless it has to be compared."""
        assert state.how is not None
        assert state.output is not None
        options, compared = self._context.options, False
        try:
            for before, after in gathered.parts(state.name):
                counts = DiffCounts()
                rows = compare(state.how, before, after, counts, self._context.rows, options.bits)
                compared = True
                yield StateDiff(state, counts, None if rows is None else as_text(rows, state.output, self._policy))
        except (StateExtractError, pa.ArrowInvalid, pa.ArrowCapacityError) as error:
            problem = error if isinstance(error, StateExtractError) else UnsupportedError(
                f"rows cannot be compared: {error}", advice="leave the state out with --state, or compare it flattened"
            )  # fmt: skip
            problem = problem.at(operator=state.label, state=state.name)
            if not self._context.sides[1].options.lenient:
                raise problem from None
            groups = list(unit.key_groups or (_NO_KEY_GROUP,))
            if not compared and len(groups) > 1:
                yield from self._lost(unit, {state.name: state}, all_counters)
            else:
                yield StateDiff(state, DiffCounts(left_out=groups, reasons=[str(problem)]))
            return
        adjusted: dict[str, int] = {}
        for counters in all_counters:
            for name, count in counters.of(state.name).counts.as_dict().items():
                # A timer's time is compared in milliseconds, whether or not there is a date for it.
                if count and name in _ADJUSTED and state.kind != TIMER:
                    adjusted[name] = adjusted.get(name, 0) + count
        remarks = [
            f"the copies that the subtasks {', '.join(map(str, subtasks[:10]))}{', …' if subtasks[10:] else ''} of the "
            f"{which} snapshot have are not that of the first subtask, which was compared"
            for which, counters in zip(("earlier", "later"), all_counters, strict=True)
            if state.kind == BROADCAST and (subtasks := counters.of(state.name).differing)
        ]
        if adjusted or remarks:
            yield StateDiff(state, DiffCounts(adjusted=adjusted, remarks=remarks))

    def _lost(
        self, unit: DiffUnit, states: dict[str, DiffState], all_counters: tuple[Counters, Counters]
    ) -> Iterator[StateDiff]:
        """States of which something could not be decoded: key group by key group, without those concerned."""
        groups = unit.key_groups or ()
        if states and len(groups) > 1:
            for key_group in groups:
                parts = [of_key_groups(side, [key_group]) for side in unit.parts]
                part = DiffUnit(unit.operator, (parts[0], parts[1]), (key_group,), frozenset(states))
                yield from self._compare(part, states)
            return
        for name, state in states.items():
            counts = DiffCounts(left_out=list(groups) or [_NO_KEY_GROUP])
            for counters in all_counters:
                counts.reasons += [text for text in counters.of(name).problems if text not in counts.reasons]
            yield StateDiff(state, counts)


def _lost(counters: Counters, name: str) -> bool:
    read = counters.states.get(name)
    return read is not None and read.incomplete
