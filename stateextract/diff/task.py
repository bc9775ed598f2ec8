"""One unit of a comparison: both sides' rows are read, gathered and compared, state by state.

Where rows of a side could not be decoded (and the user said to go on), what is there and what is not cannot be told: the
state is then not compared in that key group, and the counts say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from serializers import load_plugins
from stateextract.columnar.compiled.engines import engine_for
from stateextract.columnar.convert.text import as_text
from stateextract.diff.compare import compare
from stateextract.diff.plan import DiffContext, DiffState, DiffUnit, of_key_groups
from stateextract.diff.row_buffer import SpillingRowBuffer
from stateextract.diff.summary import Counts
from stateextract.errors import StateExtractError, UnsupportedError
from stateextract.files.filesystem import Store
from stateextract.job.salvage import Attempt, salvage
from stateextract.snapshot.reader import PartReader
from stateextract.snapshot.reading import choice_of, read_options
from stateextract.snapshot.stores import open_store
from stateextract.state.engine import Counters
from stateextract.state.kinds import BROADCAST, TIMER

_BATCH_BYTES = 8 << 20
_NO_KEY_GROUP = -1
_ADJUSTED = ("sub_microsecond", "out_of_range")  # strings are compared as they are


@dataclass(frozen=True)
class Changes:
    """What was found of a state in one part of a unit.

    :param counts: to be added up.
    :param rows: the changes; ``None``: there are none, or they were not asked for.
    """

    state: DiffState
    counts: Counts
    rows: pa.RecordBatch | None = None


class DiffRunner:
    """Compares units in this process.

    :param stores: of both sides.
    """

    def __init__(self, context: DiffContext, stores: tuple[Store, Store] | None = None) -> None:
        self._context = context
        self._policy = choice_of(context.sides[1].options).policy
        self._readers = []
        engine = engine_for(context.size)
        for side, store in zip(context.sides, stores or (None, None), strict=True):
            load_plugins(side.options.plugins)
            options = replace(read_options(side.options, side.describe), engine=engine, batch_bytes=_BATCH_BYTES)
            self._readers.append(
                PartReader(side.metadata_uri, options, side.options.path_pairs(), store or open_store(side.options))
            )

    def run(self, unit: DiffUnit) -> Iterator[Changes]:
        """Compare a unit.

        :raises StateExtractError: with file, operator, state and key group, where one side cannot be read and the comparison
            is strict.
        """
        yield from self._compare(unit, self._context.of_operator(unit.operator))

    def _compare(self, unit: DiffUnit, states: dict[str, DiffState]) -> Iterator[Changes]:
        gathered, all_counters = salvage(partial(self._gathered, unit, states), self._context.sides[1].options.lenient)
        with gathered:
            lost = [name for name in states if any(_lost(counters, name) for counters in all_counters)]
            for name in lost:
                gathered.drop(name)
            for name, state in states.items():
                if name not in lost:
                    yield from self._state(state, gathered, all_counters)
        yield from self._lost(unit, {name: states[name] for name in lost}, all_counters)

    def _gathered(
        self, unit: DiffUnit, states: dict[str, DiffState], attempt: Attempt
    ) -> tuple[SpillingRowBuffer, tuple[Counters, Counters]]:
        """The rows of both sides, and what was read."""
        hows = {name: state.how for name, state in states.items() if state.how is not None}
        all_counters = Counters(), Counters()
        gathered = SpillingRowBuffer(hows, self._context.options.memory_bytes)
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

    def _read(
        self,
        side: int,
        unit: DiffUnit,
        states: Collection[str],
        counters: Counters,
        gathered: SpillingRowBuffer,
        attempt: Attempt,
    ) -> None:
        targets = self._context.sides[side].targets[unit.operator]
        targets = replace(targets, states={name: t for name, t in targets.states.items() if name in states})
        reader = self._readers[side]
        for part in reader.in_order(unit.parts[side], lambda _: targets):
            for piece in attempt.pieces(reader, part, targets, counters):
                gathered.add(side, piece.state, piece.batch)

    def _state(
        self, state: DiffState, gathered: SpillingRowBuffer, all_counters: tuple[Counters, Counters]
    ) -> Iterator[Changes]:
        assert state.how is not None
        assert state.output is not None
        options = self._context.options
        try:
            for before, after in gathered.parts(state.name):
                counts = Counts()
                rows = compare(state.how, before, after, counts, self._context.rows, options.bits)
                yield Changes(state, counts, None if rows is None else as_text(rows, state.output, self._policy))
        except StateExtractError as error:
            raise error.at(operator=state.label, state=state.name) from None
        except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
            raise UnsupportedError(
                f"rows cannot be compared: {error}", operator=state.label, state=state.name,
                advice="leave the state out with --state, or compare it flattened",
            ) from None  # fmt: skip
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
            yield Changes(state, Counts(adjusted=adjusted, remarks=remarks))

    def _lost(self, unit: DiffUnit, states: dict[str, DiffState], all_counters: tuple[Counters, Counters]) -> Iterator[Changes]:
        """States of which something could not be decoded: key group by key group, without those concerned."""
        groups = unit.key_groups or ()
        if states and len(groups) > 1:
            for key_group in groups:
                parts = [of_key_groups(side, [key_group]) for side in unit.parts]
                yield from self._compare(DiffUnit(unit.operator, (parts[0], parts[1]), (key_group,)), states)
            return
        for name, state in states.items():
            counts = Counts(left_out=list(groups) or [_NO_KEY_GROUP])
            for counters in all_counters:
                counts.why += [text for text in counters.of(name).problems if text not in counts.why]
            yield Changes(state, counts)


def _lost(counters: Counters, name: str) -> bool:
    read = counters.states.get(name)
    return read is not None and read.incomplete


__all__ = ["Changes", "DiffRunner"]
