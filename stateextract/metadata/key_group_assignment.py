"""Which key groups the subtasks of an operator have, and which handles contradict this.

Source: ``KeyGroupRangeAssignment``. A keyed backend writes its whole range into its handle, also after rescaling, so
the range of a handle is that of a subtask. It need not be that of the same index, because the State Processor API
numbers subtasks in any order. A subtask without keyed state has no handle.
"""

from __future__ import annotations

from collections import Counter

from stateextract.errors import FormatError
from stateextract.metadata.model import KeyedStateHandle, OperatorState


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """The key groups of a subtask (``computeKeyGroupRangeForOperatorIndex``)."""
    first = -(-subtask * max_parallelism // parallelism)
    return range(first, -(-(subtask + 1) * max_parallelism // parallelism))


def wrong_key_groups(operator: OperatorState) -> dict[tuple[int, str], FormatError]:
    """What is wrong with the key groups of handles, by subtask and role (``managed_keyed`` or ``raw_keyed``).

    If nothing reported this, rows would be missing, or would come twice.
    """
    found: dict[tuple[int, str], FormatError] = {}
    for role in ("managed_keyed", "raw_keyed"):
        handles: dict[int, KeyedStateHandle | None] = {task.index: getattr(task, role) for task in operator.subtasks}
        owners = Counter(handle.key_groups for handle in handles.values() if handle is not None)
        for index, handle in handles.items():
            if handle is None:
                continue
            groups = handle.key_groups
            expected = _nearest(groups, index, operator)
            if groups != expected:
                found[index, role] = FormatError(
                    f"the state handle of subtask {index} has {_named(groups)}",
                    expected=f"{_named(expected)}, by parallelism {operator.parallelism} of {operator.max_parallelism}",
                )
            elif owners[groups] > 1:
                found[index, role] = FormatError(f"{owners[groups]} subtasks have {_named(groups)}", expected="one")
    return found


def _nearest(groups: range, index: int, operator: OperatorState) -> range:
    """The range of a subtask that a handle's range should equal."""
    parallelism, max_parallelism = operator.parallelism, operator.max_parallelism
    if 0 <= groups.start < max_parallelism and groups:
        owner = groups.start * parallelism // max_parallelism
        if groups == key_group_range(owner, parallelism, max_parallelism):
            return groups
    return key_group_range(index, parallelism, max_parallelism)


def _named(groups: range) -> str:
    if not groups:
        return "no valid key groups"
    return f"key group {groups.start}" if len(groups) == 1 else f"key groups {groups.start}-{groups.stop - 1}"
