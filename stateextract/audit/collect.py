"""Statistics of all states of a plan: splits are read as the extract job reads them, and what they give is put together.

What travels to a task and back is bytes: a :class:`Work`, the record of a split (``job/split.py``), and :class:`Collected`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

from stateextract.audit.measure.state_statistics import MeasureOptions, StateStatistics
from stateextract.columnar.compiled.engines import engine_for
from stateextract.errors import StateExtractError
from stateextract.job.execute import Execute, Tasks
from stateextract.job.salvage import Attempt, salvage
from stateextract.job.split import SplitContext, decode_split, encode_split
from stateextract.snapshot.part_reader import open_reader
from stateextract.snapshot.parts import OperatorTargets, Part
from stateextract.state.counters import Counters, StateCounters

Key = tuple[int, str]
"""A state: the number of its operator in the plan, and its name."""

BATCH_ROWS = 1 << 18
"""Rows of a batch at most. It is more than other readers take, as much of what a batch costs does not depend on its rows."""


@dataclass(frozen=True)
class Work:
    """What all splits share.

    :param context: of the job, as bytes; :param states: how each state is measured, and whether it has a time to live.
    """

    context: bytes
    states: dict[Key, tuple[MeasureOptions, bool]]

    def to_bytes(self) -> bytes:
        """For the way to a task."""
        states = [[*key, asdict(measure_options), ttl] for key, (measure_options, ttl) in self.states.items()]
        head = json.dumps(states).encode()
        return len(head).to_bytes(8, "big") + head + self.context

    @classmethod
    def from_bytes(cls, data: bytes) -> Work:
        """The inverse of :meth:`to_bytes`."""
        end = 8 + int.from_bytes(data[:8], "big")
        states = json.loads(data[8:end])
        return cls(data[end:], {(o, name): (MeasureOptions(**values), ttl) for o, name, values, ttl in states})


@dataclass
class Collected:
    """Statistics and tallies of states, of what was read so far.

    :param refused: states that were left out, and why.
    """

    statistics: dict[Key, StateStatistics] = field(default_factory=dict)
    tallies: dict[Key, StateCounters] = field(default_factory=dict)
    refused: dict[Key, StateExtractError] = field(default_factory=dict)

    def merge(self, other: Collected) -> None:
        """Take in what another split gave."""
        for key, statistics in other.statistics.items():
            if key in self.statistics:
                self.statistics[key].merge(statistics)
            else:
                self.statistics[key] = statistics
        for key, counters in other.tallies.items():
            self.tallies.setdefault(key, StateCounters()).add(counters)
        self.refused = {**other.refused, **self.refused}

    def to_bytes(self) -> bytes:
        """For the way back from a task."""
        document = [
            [[*key, statistics.as_dict()] for key, statistics in self.statistics.items()],
            [[*key, counters.as_dict()] for key, counters in self.tallies.items()],
            [[*key, error.as_dict()] for key, error in self.refused.items()],
        ]
        return zlib.compress(json.dumps(document).encode(), 1)


class StatisticsRunner:
    """Reads splits of one snapshot in this process.

    :ivar states: as those of the work.
    """

    def __init__(self, work: Work) -> None:
        context = self._context = SplitContext.from_bytes(work.context)
        self.states = work.states
        self._reader = open_reader(
            context.options, context.metadata_uri, context.describe, engine=engine_for(context.size), batch_rows=BATCH_ROWS
        )

    def add(self, parts: Iterable[Part], collected: Collected, only: Collection[str] | None = None) -> None:
        """Read a split.

        :param only: the names of the states to read; ``None``: all that the work is about.
        :raises StateExtractError: with file, operator and state, where the job is strict.
        """
        collected.merge(salvage(partial(self._read, list(parts), only), self._context.options.lenient))

    def _read(self, parts: Sequence[Part], only: Collection[str] | None, attempt: Attempt) -> Collected:
        collected = Collected()
        for part in self._reader.in_order(parts, self._targets):
            targets = self._targets(part)
            if only is not None:
                targets = replace(targets, states={name: targets.states[name] for name in only})
            counters = Counters()
            for piece in attempt.pieces(self._reader, part, targets, counters):
                if not piece.raw:
                    self._statistics(collected, (part.operator, piece.state)).add(piece.batch, part.subtask)
            for name, read in counters.states.items():
                collected.tallies.setdefault((part.operator, name), StateCounters()).add(read)
            for key, statistics in collected.statistics.items():
                if key[0] == part.operator:
                    statistics.finalize()
        collected.refused = attempt.refused
        return collected

    def _targets(self, part: Part) -> OperatorTargets:
        return self._context.operators[part.operator]

    def _statistics(self, collected: Collected, key: Key) -> StateStatistics:
        known = collected.statistics.get(key)
        if known is None:
            known = collected.statistics[key] = self.empty(key)
        return known

    def empty(self, key: Key) -> StateStatistics:
        """Statistics of a state without rows."""
        measure_options, ttl = self.states[key]
        return StateStatistics(self._context.operators[key[0]].states[key[1]].schema, measure_options, ttl)

    def load(self, data: bytes) -> Collected:
        """What a task gave; the inverse of :meth:`Collected.to_bytes`."""
        statistics, tallies, refused = json.loads(zlib.decompress(data))
        collected = Collected(
            tallies={(o, name): StateCounters.from_dict(t) for o, name, t in tallies},
            refused={(o, name): StateExtractError.from_dict(error) for o, name, error in refused},
        )
        for operator, name, values in statistics:
            made = collected.statistics[operator, name] = self.empty((operator, name))
            made.load(values)
        return collected


def open_work(work: bytes) -> Callable[[int, bytes], bytes]:
    """Open what all tasks share; see :class:`stateextract.job.execute.Tasks`."""
    reader = StatisticsRunner(Work.from_bytes(work))

    def run(_: int, split: bytes) -> bytes:
        collected = Collected()
        reader.add(decode_split(split), collected)
        return collected.to_bytes()

    return run


def prepare() -> None:
    """Compile the kernels of statistics if their machine code is not kept: processes of this machine then find it."""
    from stateextract.audit.measure import measure_kernel as kernel

    for compiled in kernel.KERNELS:
        if compiled.is_usable:
            compiled.prepare()


def collect(work: Work, splits: Sequence[Sequence[Part]], execute: Execute) -> tuple[Collected, StatisticsRunner]:
    """Read all splits.

    :param execute: runs the tasks.
    :returns: what was collected, and a reader of the same work.
    :raises StateExtractError: with file, operator and state.
    """
    sizes = [sum(part.content.read_size for part in split) for split in splits]
    reader, collected = StatisticsRunner(work), Collected()

    def here(number: int, _: bytes) -> bytes:
        reader.add(splits[number], collected)
        return b""

    def on_report(_: int, report: bytes) -> None:
        if report:
            collected.merge(reader.load(report))

    records = [encode_split(split) for split in splits]
    execute(Tasks(open_work, work.to_bytes(), sizes, records, prepare, here), on_report)
    return collected, reader
