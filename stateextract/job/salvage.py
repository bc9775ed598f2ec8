"""Reading on where a state cannot be read: the other states are read whole, and of this one what can be.

A task reads states that lie between each other, and an error may come when rows were already given out. So the reading is
repeated (:func:`salvage`): without a state that a policy or an unknown serializer refuses; and after any other error
carefully, that is each part is tried first, and where this fails each key group and state by itself. What cannot be read then
is counted as lost in the counters.

Used by the job's tasks, statistics and comparisons; must not know what they do with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from stateextract.errors import (
    EnvironmentProblem,
    OutputError,
    SnapshotDeletedError,
    StateExtractError,
    UndecodableError,
    UsageError,
    ValueRefusedError,
    expected_error,
)
from stateextract.snapshot.part_reader import PartReader
from stateextract.snapshot.parts import OperatorTargets, Part
from stateextract.state.bodies.body import BodyKind
from stateextract.state.counters import Counters
from stateextract.state.target import Piece

T = TypeVar("T")

_FOR_ALL = (OutputError, UsageError, EnvironmentProblem, SnapshotDeletedError)
"""Errors that are not about one state."""
_REFUSALS = (UndecodableError, ValueRefusedError)
"""Errors about the values of a state, which the user wants whole or not at all."""


@dataclass
class Attempt:
    """One attempt at reading parts.

    :param refused: states that are left out and why, by the number of the operator in the plan and the name.
    :param careful: each part is tried before anything of it is given out.
    """

    refused: dict[tuple[int, str], StateExtractError] = field(default_factory=dict)
    careful: bool = False
    _operator: int = -1

    def pieces(self, reader: PartReader, part: Part, targets: OperatorTargets, counters: Counters) -> Iterator[Piece]:
        """As :meth:`PartReader.pieces`, without what cannot be read."""
        self._operator = part.operator
        names = {name for name in targets.states if (part.operator, name) not in self.refused}
        if not self.careful:
            yield from _read(reader, part, targets, names, counters)
            return
        for unit, readable in _readable(reader, part, targets, names, counters):
            yield from _read(reader, unit, targets, readable, counters)

    def learns(self, error: Exception) -> bool:
        """Whether the next attempt may go better."""
        key = (self._operator, getattr(error, "state", None) or "")
        if isinstance(error, _REFUSALS) and key[1] and key not in self.refused:
            self.refused[key] = error
            return True
        careful, self.careful = self.careful, True
        return not careful


def salvage(read: Callable[[Attempt], T], lenient: bool) -> T:
    """Read something as often as it takes.

    :param read: reads all of it with the attempt's :meth:`Attempt.pieces`; where it fails, nothing remains of what it did.
    :param lenient: states that cannot be read are left out.
    :raises StateExtractError: where reading fails whatever is left out; not ``lenient``: where it fails.
    """
    attempt = Attempt()
    while True:
        try:
            return read(attempt)
        except Exception as error:
            if not lenient or isinstance(error, _FOR_ALL) or not attempt.learns(error):
                raise


def _read(
    reader: PartReader, part: Part, targets: OperatorTargets, names: Collection[str], counters: Counters
) -> Iterator[Piece]:
    if names:
        states = {name: target for name, target in targets.states.items() if name in names}
        yield from reader.pieces(part, replace(targets, states=states), counters)


def _tried(reader: PartReader, part: Part, targets: OperatorTargets, names: Collection[str]) -> StateExtractError | None:
    """Why some states of a part cannot be read; ``None``: they can.

    :raises StateExtractError: where a value of one of them is refused.
    """
    try:
        for _ in _read(reader, part, targets, names, Counters()):
            pass
    except Exception as error:
        if isinstance(error, _FOR_ALL) or (isinstance(error, _REFUSALS) and error.state in names):
            raise
        return expected_error(error).detached()
    return None


def _readable(
    reader: PartReader, part: Part, targets: OperatorTargets, names: Collection[str], counters: Counters
) -> Iterator[tuple[Part, Collection[str]]]:
    """What of a part can be read; what cannot is counted in the counters.

    If all pieces of a part can be read and the part cannot, the error is about what no piece shows: a file has fewer entries
    than it says, for example. Then the error is noted.
    """
    error = _tried(reader, part, targets, names)
    if error is None:
        yield part, names
        return
    known = _losses(counters, names)
    yield from _readable_pieces(reader, part, targets, names, counters, error)
    if _losses(counters, names) == known and _tried(reader, part, targets, names) is not None:
        for name in [name for name in names if name == error.state] or names:
            _note(name, error, counters)


def _losses(counters: Counters, names: Collection[str]) -> list[tuple[int, int, int]]:
    read = [counters.of(name) for name in names]
    return [(one.lost_key_groups, one.lost_entries, len(one.problems)) for one in read]


def _readable_pieces(
    reader: PartReader,
    part: Part,
    targets: OperatorTargets,
    names: Collection[str],
    counters: Counters,
    error: StateExtractError,
) -> Iterator[tuple[Part, Collection[str]]]:
    """:func:`_readable` for less than a part that cannot be read."""
    if len(names) > 1 and error.state in names:
        yield from _readable(reader, part, targets, {str(error.state)}, counters)
        yield from _readable(reader, part, targets, set(names) - {error.state}, counters)
    elif len(names) > 1 and part.content.form is BodyKind.SST_FILES:
        for name in sorted(names):  # each has files of its own
            yield from _readable(reader, part, targets, {name}, counters)
    elif len(part.content.sizes) > 1:
        for i in range(len(part.content.sizes)):
            unit = replace(part, content=part.content.cut(i, i + 1))
            yield from _readable(reader, unit, targets, names, counters)
    elif len(names) > 1:
        for name in sorted(names):
            yield from _readable(reader, part, targets, {name}, counters)
    else:
        for name in names:
            _lose(part, name, error, counters)


def _lose(part: Part, name: str, error: StateExtractError, counters: Counters) -> None:
    read, content = counters.of(name), part.content
    if content.ranges:
        read.lost_key_groups += len(content.ranges)
    else:
        read.lost_entries += sum(len(p.offsets) for p in content.partitions if p.name == name) or 1
    _note(name, error, counters)


def _note(name: str, error: StateExtractError, counters: Counters) -> None:
    read = counters.of(name)
    read.problem(str(error))
    read.failure = read.failure or error.status
