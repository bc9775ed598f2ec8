"""Everything in a snapshot that holds state, as entries of the coverage report.

Keyed states come from the heads of their files, operator states from the handles, and what has no name (coordinators,
channels, raw state, master states) is listed with its size. An entry says whether this version reads it; whether the
user wants it is the plan's matter.

Turns values into values; opens nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from stateextract.errors import StateExtractError
from stateextract.job.coverage import DECODED, EMPTY, UNSUPPORTED, Entry
from stateextract.job.heads import KeyedFile
from stateextract.metadata.model import OperatorState, OperatorStateHandle, SnapshotMetadata
from stateextract.state.body import BodyKind

_READABLE = (BodyKind.HEAP, BodyKind.UNDECIDED)
_NOT_YET = "not yet supported"


@dataclass(eq=False)
class KeyedState:
    """A keyed state of one operator, over all its files."""

    name: str
    kind: str
    files: list[KeyedFile] = field(default_factory=list)
    entry: Entry | None = None

    @property
    def readable(self) -> bool:
        """Whether all files that hold it have a body that this version reads."""
        return all(file.form in _READABLE for file in self.files)


@dataclass(eq=False)
class OperatorInventory:
    """One operator.

    :param keyed: by name.
    :param problems: what is wrong with keyed files whose head could not be read.
    :param entries: for the report, those of keyed states included.
    """

    operator: OperatorState
    number: int
    keyed: dict[str, KeyedState] = field(default_factory=dict)
    problems: list[StateExtractError] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)


def take_inventory(snapshot: SnapshotMetadata, files: Iterable[KeyedFile]) -> list[OperatorInventory]:
    """The operators in the order of their names."""
    found = [OperatorInventory(operator, number) for number, operator in enumerate(snapshot.operators)]
    for file in files:
        _add_file(found[file.operator], file)
    for inventory in found:
        _list_keyed(inventory)
        _list_operator_state(inventory)
        _list_nameless(inventory)
        if not inventory.entries:
            reason = "the operator had finished" if inventory.operator.fully_finished else None
            inventory.entries.append(_entry(inventory.operator, None, "-", "-", EMPTY, reason))
    return sorted(found, key=lambda i: (i.operator.uid or i.operator.name or "", i.operator.id))


def master_entries(snapshot: SnapshotMetadata) -> list[Entry]:
    """State of JobManager hooks, which belongs to no operator."""
    return [
        Entry(None, None, None, state.name, "MASTER", "master state", UNSUPPORTED, _NOT_YET, len(state.data), 1)
        for state in snapshot.master_states
    ]


def _add_file(inventory: OperatorInventory, file: KeyedFile) -> None:
    if file.problem is not None:
        inventory.problems.append(file.problem)
    if file.head is None:
        return
    for meta in file.head.states:
        state = inventory.keyed.setdefault(meta.name, KeyedState(meta.name, meta.kind))
        state.files.append(file)


def _list_keyed(inventory: OperatorInventory) -> None:
    operator = inventory.operator
    for state in sorted(inventory.keyed.values(), key=lambda s: s.name):
        form = " and ".join(sorted({file.form.value for file in state.files}))
        entry = _entry(operator, state.name, state.kind, form, DECODED, None, handles=len(state.files))
        if not state.readable:
            other = next(file for file in state.files if file.form not in _READABLE)
            where = f"{other.form.value} ({other.kind} handle, {other.uri})"
            entry.status, entry.reason = UNSUPPORTED, f"{where}: {_NOT_YET}"
        elif inventory.problems:
            entry.status, entry.reason = UNSUPPORTED, f"another subtask's file: {inventory.problems[0]}"
        state.entry = entry
        inventory.entries.append(entry)
    for problem in inventory.problems:
        inventory.entries.append(_entry(operator, None, "KEYED", "unknown", UNSUPPORTED, str(problem), handles=1))
    for handle in (t.managed_keyed for t in operator.subtasks if t.managed_keyed is not None):
        if not inventory.keyed and not inventory.problems:
            reason = f"{handle.kind} handle: {_NOT_YET}"
            _gather(inventory, "KEYED", str(handle.kind), handle.size, reason)


def _list_operator_state(inventory: OperatorInventory) -> None:
    by_name: dict[str, Entry] = {}
    for subtask in inventory.operator.subtasks:
        handle = subtask.managed_operator
        if handle is None:
            continue
        sizes = _partition_sizes(handle)
        for partition in handle.states:
            entry = by_name.get(partition.name)
            if entry is None:
                reason = f"operator state: {_NOT_YET}"
                entry = by_name[partition.name] = _entry(
                    inventory.operator, partition.name, partition.mode, "operator state", UNSUPPORTED, reason, size=0
                )
            entry.handles += 1
            entry.size = (entry.size or 0) + sizes[partition.name]
    inventory.entries.extend(by_name[name] for name in sorted(by_name))


def _partition_sizes(handle: OperatorStateHandle) -> dict[str, int]:
    """Bytes of each named state: from each of its offsets to the next larger one of any state."""
    bounds = sorted({*(o for p in handle.states for o in p.offsets), handle.size})
    following = dict(pairwise(bounds))
    return {p.name: sum(following.get(o, o) - o for o in p.offsets) for p in handle.states}


def _list_nameless(inventory: OperatorInventory) -> None:
    operator = inventory.operator
    if operator.coordinator is not None:
        _gather(inventory, "COORDINATOR", "coordinator state", operator.coordinator.size, f"coordinator: {_NOT_YET}")
    for subtask in operator.subtasks:
        if subtask.raw_operator is not None and subtask.raw_operator.size:
            _gather(inventory, "RAW", "raw operator state", subtask.raw_operator.size, f"raw state: {_NOT_YET}")
        if subtask.raw_keyed is not None:
            _gather(inventory, "RAW", "raw keyed state", subtask.raw_keyed.size, f"raw state: {_NOT_YET}")
        for channel in (*subtask.input_channels, *subtask.output_channels):
            form = "input channels" if channel in subtask.input_channels else "output channels"
            _gather(inventory, "CHANNEL", form, channel.size, f"in-flight data: {_NOT_YET}")


def _gather(inventory: OperatorInventory, kind: str, form: str, size: int, reason: str) -> None:
    """One entry for all handles of one form."""
    for entry in inventory.entries:
        if entry.state is None and entry.form == form:
            entry.size = (entry.size or 0) + size
            entry.handles += 1
            return
    inventory.entries.append(_entry(inventory.operator, None, kind, form, UNSUPPORTED, reason, size, 1))


def _entry(
    operator: OperatorState,
    state: str | None,
    kind: str,
    form: str,
    status: str,
    reason: str | None,
    size: int | None = None,
    handles: int = 0,
) -> Entry:
    return Entry(operator.id, operator.uid, operator.name, state, kind, form, status, reason, size, handles)
