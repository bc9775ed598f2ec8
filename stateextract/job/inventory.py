"""Everything in a snapshot that holds state, as entries of the coverage report.

Named states come from the heads of their files, and what has no name (coordinators, channels, what operators wrote into
raw state, master states) is listed with its size. An entry says whether this version reads it; whether the
user wants it is the plan's matter.

Turns values into values; opens nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stateextract.errors import StateExtractError
from stateextract.job.coverage import DECODED, EMPTY, UNSUPPORTED, Entry
from stateextract.job.heads import Scope, StateFile
from stateextract.metadata.model import ChangelogHandle, OperatorState, SnapshotMetadata
from stateextract.state.body import BodyKind
from stateextract.state.kinds import COORDINATOR, kind_word
from stateextract.state.roles import role_of

_READABLE = (
    BodyKind.HEAP, BodyKind.FULL_SNAPSHOT, BodyKind.UNDECIDED, BodyKind.RAW, BodyKind.SST_FILES, BodyKind.CHANGELOG,
    BodyKind.OPERATOR,
)  # fmt: skip
_NOT_YET = "not yet supported"
_NAMELESS = {BodyKind.RAW: ("raw", "raw keyed state"), BodyKind.OPERATOR: ("operator", "operator state")}
"""Kind and form of files whose states are not known; of others they are keyed."""


@dataclass(eq=False)
class NamedState:
    """A state of one operator, over all its files.

    :param problem: what is wrong with the head of a file that contains it, or may contain it.
    """

    name: str
    kind: str
    scope: Scope = "keyed"
    files: list[StateFile] = field(default_factory=list)
    entry: Entry | None = None
    problem: StateExtractError | None = None

    @property
    def readable(self) -> bool:
        """Whether all files that hold it have a body that this version reads."""
        return all(file.form in _READABLE for file in self.files)


@dataclass(eq=False)
class OperatorInventory:
    """One operator.

    :param keyed: keyed states by name; :param lists: operator states by name.
    :param problems: what is wrong with files whose head could not be read, each once.
    :param unread: those files.
    :param entries: for the report, those of named states included.
    :param timers: subtasks whose raw keyed state is one of timers, which have names, or cannot be read.
    :param notes: what a report should say of how it is read.
    """

    operator: OperatorState
    number: int
    keyed: dict[str, NamedState] = field(default_factory=dict)
    lists: dict[str, NamedState] = field(default_factory=dict)
    problems: list[StateExtractError] = field(default_factory=list)
    unread: list[StateFile] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    timers: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    @property
    def named(self) -> list[NamedState]:
        """All states that have a name."""
        return [*self.keyed.values(), *self.lists.values()]


def take_inventory(snapshot: SnapshotMetadata, files: Iterable[StateFile]) -> list[OperatorInventory]:
    """The operators in the order of their names."""
    found = [OperatorInventory(operator, number) for number, operator in enumerate(snapshot.operators)]
    for file in files:
        _add_file(found[file.operator], file)
    for inventory in found:
        _list_named(inventory)
        _list_nameless(inventory)
        if not inventory.entries:
            reason = "the operator had finished" if inventory.operator.fully_finished else None
            inventory.entries.append(_entry(inventory.operator, None, "-", "-", EMPTY, reason))
    return sorted(found, key=lambda i: (i.operator.uid or i.operator.name or "", i.operator.id))


def master_entries(snapshot: SnapshotMetadata) -> list[Entry]:
    """State of JobManager hooks, which belongs to no operator."""
    return [
        Entry(None, None, None, state.name, "master", "master state", UNSUPPORTED, _NOT_YET, len(state.data), 1)
        for state in snapshot.master_states
    ]


def _add_file(inventory: OperatorInventory, file: StateFile) -> None:
    if file.problem is not None:
        inventory.unread.append(file)
        if not any(file.problem is known for known in inventory.problems):
            inventory.problems.append(file.problem)
    if file.note is not None and file.note not in inventory.notes:
        inventory.notes.append(file.note)
    if file.form is BodyKind.RAW:
        inventory.timers.add(file.subtask)
    states = inventory.lists if file.scope == "operator" else inventory.keyed
    for name, kind in file.states:
        state = states.setdefault(name, NamedState(name, kind, file.scope))
        # A changelog's head has a state twice if its serializers changed.
        if not state.files or state.files[-1] is not file:
            state.files.append(file)


def _problem_of(inventory: OperatorInventory, state: NamedState) -> StateExtractError | None:
    """What is wrong with a file that contains a state, or whose states are not known and which is of the same kind.

    Managed keyed state, raw keyed state and operator state are in files of their own, so one of them that cannot be
    read says nothing of the others.
    """
    if not inventory.unread:
        return None
    own = next((file.problem for file in state.files if file.problem is not None), None)
    kinds = {_kind(file) for file in state.files}
    return own or next((f.problem for f in inventory.unread if not f.states and _kind(f) in kinds), None)


def _kind(file: StateFile) -> BodyKind:
    return file.form if file.form in (BodyKind.OPERATOR, BodyKind.RAW) else BodyKind.UNDECIDED


def _list_named(inventory: OperatorInventory) -> None:
    operator = inventory.operator
    for state in sorted(inventory.keyed.values(), key=lambda s: s.name):
        _list_state(inventory, state)
    for problem in dict.fromkeys(file.problem for file in inventory.unread if not file.states):
        files = [file for file in inventory.unread if file.problem is problem]
        kind, form = _NAMELESS.get(files[0].form, ("keyed", "unknown"))
        inventory.entries.append(_entry(operator, None, kind, form, UNSUPPORTED, str(problem), handles=len(files)))
    for handle in (t.managed_keyed for t in operator.subtasks if t.managed_keyed is not None):
        if not inventory.keyed and not inventory.problems and not isinstance(handle, ChangelogHandle):
            reason = f"{handle.kind} handle: {_NOT_YET}"
            _gather(inventory, "keyed", str(handle.kind), handle.size, reason)
    for state in sorted(inventory.lists.values(), key=lambda s: s.name):
        entry = _list_state(inventory, state)
        for file in state.files:
            if file.content is not None and not file.content.whole:
                entry.size = (entry.size or 0) + sum(p.size for p in file.content.partitions if p.name == state.name)


def _list_state(inventory: OperatorInventory, state: NamedState) -> Entry:
    form = " and ".join(sorted({file.form.value for file in state.files})) or "operator state"
    entry = _entry(inventory.operator, state.name, kind_word(state.kind), form, DECODED, None, handles=len(state.files))
    if not state.readable:
        other = next(file for file in state.files if file.form not in _READABLE)
        where = f"{other.form.value} ({other.kind} handle, {other.uri})"
        entry.status, entry.reason = UNSUPPORTED, f"{where}: {_NOT_YET}"
    state.problem = _problem_of(inventory, state)
    if state.problem is not None:
        own = any(file.problem is state.problem for file in state.files)
        entry.status, entry.reason = UNSUPPORTED, f"{'' if own else 'another file of the operator: '}{state.problem}"
    entry.role = role_of(state.name, [*inventory.keyed, *inventory.lists])
    state.entry = entry
    inventory.entries.append(entry)
    return entry


def _list_nameless(inventory: OperatorInventory) -> None:
    operator = inventory.operator
    if operator.coordinator is not None:
        size = operator.coordinator.size
        entry = _entry(operator, None, COORDINATOR, "coordinator state", DECODED, None, size, 1)
        entry.role = "what the operator's coordinator keeps, of a source its enumerator"
        inventory.entries.append(entry)
    for subtask in operator.subtasks:
        if subtask.raw_operator is not None and subtask.raw_operator.size:
            _gather(inventory, "raw", "raw operator state", subtask.raw_operator.size, f"raw state: {_NOT_YET}")
        if subtask.raw_keyed is not None and subtask.raw_keyed.size and subtask.index not in inventory.timers:
            _gather(inventory, "raw", "raw keyed state", subtask.raw_keyed.size, f"raw state: {_NOT_YET}")
        for channel in (*subtask.input_channels, *subtask.output_channels):
            form = "input channels" if channel in subtask.input_channels else "output channels"
            _gather(inventory, "channel", form, channel.size, f"in-flight data: {_NOT_YET}")


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
