"""Which key groups the subtasks of an operator have, and which handles contradict this.

Source: ``KeyGroupRangeAssignment``. A keyed backend writes its whole range into its handle, also after rescaling, so
the range of a handle is that of a subtask. It need not be that of the same index, because the State Processor API
numbers subtasks in any order. A subtask without keyed state has no handle.
"""

from __future__ import annotations

from typing import NamedTuple

from stateextract.errors import FormatError
from stateextract.metadata.model import KeyedStateHandle, OperatorState


class WrongKeyGroups(NamedTuple):
    """What is wrong with the range of a handle.

    :param readable: the rows of its key groups can be read all the same: only some are missing.
    """

    error: FormatError
    readable: bool


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """The key groups of a subtask (``computeKeyGroupRangeForOperatorIndex``)."""
    first = -(-subtask * max_parallelism // parallelism)
    return range(first, -(-(subtask + 1) * max_parallelism // parallelism))


def wrong_key_groups(operator: OperatorState) -> dict[tuple[int, str], WrongKeyGroups]:
    """What is wrong with the key groups of handles, by subtask and role (``managed_keyed`` or ``raw_keyed``).

    If nothing reported this, rows would be missing, or would come twice.
    """
    found: dict[tuple[int, str], WrongKeyGroups] = {}
    for role in ("managed_keyed", "raw_keyed"):
        handles: list[tuple[int, KeyedStateHandle | None]] = [(task.index, getattr(task, role)) for task in operator.subtasks]
        ranges = {index: handle.key_groups for index, handle in handles if handle is not None}
        for index, groups in ranges.items():
            expected = _nearest(groups, index, operator)
            if groups != expected:
                error = FormatError(
                    f"the state handle of subtask {index} has {_named(groups)}",
                    expected=f"{_named(expected)}, with parallelism {operator.parallelism} and max parallelism "
                    f"{operator.max_parallelism}",
                )
                inside = expected.start <= groups.start < groups.stop <= expected.stop
                found[index, role] = WrongKeyGroups(error, inside)
        read = {index: groups for index, groups in ranges.items() if found.get((index, role), (None, True))[1]}
        for index in _overlapping(read):
            error = FormatError(f"the state handle of subtask {index} has {_named(read[index])}, which another one has too")
            found[index, role] = WrongKeyGroups(error, False)
    return found


def _nearest(groups: range, index: int, operator: OperatorState) -> range:
    """The range of a subtask that a handle's range should equal."""
    parallelism, max_parallelism = operator.parallelism, operator.max_parallelism
    if groups and groups.start < max_parallelism:
        owner = groups.start * parallelism // max_parallelism
        if groups == key_group_range(owner, parallelism, max_parallelism):
            return groups
    return key_group_range(index, parallelism, max_parallelism)


def _overlapping(ranges: dict[int, range]) -> list[int]:
    """The subtasks that share a key group with another one."""
    shared: set[int] = set()
    reach, owner = 0, -1  # how far those so far reach, and which of them
    for start, stop, index in sorted((groups.start, groups.stop, index) for index, groups in ranges.items() if groups):
        if start < reach:
            shared |= {owner, index}
        if stop > reach:
            reach, owner = stop, index
    return [index for index in ranges if index in shared]


def _named(groups: range) -> str:
    if not groups:
        return "no valid key groups"
    return f"key group {groups.start}" if len(groups) == 1 else f"key groups {groups.start}-{groups.stop - 1}"
