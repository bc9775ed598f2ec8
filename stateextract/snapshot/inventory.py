"""Everything in a snapshot that holds state, as entries of the coverage report.

Named states come from the heads of their files, and what has no name (coordinators, channels, what operators wrote into
raw state, master states) is listed with its size. An entry says whether this version reads it; whether the
user wants it is the plan's matter.

Turns values into values; opens nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from serializers import DescribeContext
from serializers.tuples import ROW_SNAPSHOT
from stateextract.errors import StateExtractError
from stateextract.metadata.model import ChangelogHandle, MasterState, OperatorState, SnapshotMetadata
from stateextract.metadata.operator_lookup import by_name
from stateextract.outcome import Status
from stateextract.printable import pluralize
from stateextract.snapshot.coverage import CoverageEntry
from stateextract.snapshot.headers import StateFile, StateScope
from stateextract.state.bodies.body import BodyKind
from stateextract.state.flink_states import PYTHON_STATE, purpose_of
from stateextract.state.header import KeyedHeader
from stateextract.state.kinds import COORDINATOR, kind_word
from stateextract.state.row_layout import RowLayout, row_layout

_READABLE = (
    BodyKind.HEAP, BodyKind.FULL_SNAPSHOT, BodyKind.UNDECIDED, BodyKind.RAW, BodyKind.SST_FILES, BodyKind.CHANGELOG,
    BodyKind.OPERATOR,
)  # fmt: skip
_NOT_YET = "not yet supported"


@dataclass(eq=False)
class NamedState:
    """A state of one operator, over all its files.

    :param name: empty in :attr:`OperatorInventory.nameless`.
    :param problems: why files that contain it, or may contain it, cannot be read.
    """

    name: str
    kind: str
    scope: StateScope = "keyed"
    files: list[StateFile] = field(default_factory=list)
    entry: CoverageEntry | None = None
    problems: list[StateExtractError] = field(default_factory=list)

    @property
    def readable(self) -> bool:
        """Whether all files that hold it have a body that this version reads."""
        return all(file.form in _READABLE for file in self.files)

    def rows(self, context: DescribeContext) -> list[RowLayout]:
        """The layouts of its entries in its files, equal heads once.

        :param context: of its operator.
        """
        headers = {file.header_key: file.header for file in self.files if file.header is not None}
        metas = [(header, meta) for header in headers.values() for meta in header.states if meta.name == self.name]
        return [row_layout(header, meta, context) for header, meta in metas]


@dataclass(eq=False)
class OperatorInventory:
    """One operator.

    :param keyed: keyed states by name; :param lists: operator states by name.
    :param nameless: the states of files whose heads cannot be read, if no other file has their names: one per kind of file.
    :param problems: what is wrong with files that cannot be read, each once.
    :param unread: those files.
    :param entries: for the report, those of named states included.
    :param timers: subtasks whose raw keyed state is one of timers, which have names, or cannot be read.
    :param notes: what a report should say of how it is read.
    """

    operator: OperatorState
    number: int
    keyed: dict[str, NamedState] = field(default_factory=dict)
    lists: dict[str, NamedState] = field(default_factory=dict)
    nameless: list[NamedState] = field(default_factory=list)
    problems: list[StateExtractError] = field(default_factory=list)
    unread: list[StateFile] = field(default_factory=list)
    entries: list[CoverageEntry] = field(default_factory=list)
    timers: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def of_scope(self, scope: StateScope) -> dict[str, NamedState]:
        return self.lists if scope == "operator" else self.keyed

    @property
    def named(self) -> list[NamedState]:
        return [*self.keyed.values(), *self.lists.values()]


def take_inventory(snapshot: SnapshotMetadata, files: Iterable[StateFile]) -> list[OperatorInventory]:
    """The operators in the order of their names."""
    found = [
        OperatorInventory(operator, number, problems=[] if operator.problem is None else [operator.problem])
        for number, operator in enumerate(snapshot.operators)
    ]
    for file in files:
        _add_file(found[file.operator], file)
    for inventory in found:
        for file in inventory.unread:  # when the names in all other files are known
            _add_problems(inventory, file)
        _list_named(inventory)
        _list_nameless(inventory)
        if not inventory.entries:
            reason = "the operator had finished" if inventory.operator.fully_finished else None
            inventory.entries.append(_entry(inventory.operator, None, "-", "-", Status.EMPTY, reason))
    return sorted(found, key=lambda i: by_name(i.operator))


def master_entries(master_states: Iterable[MasterState]) -> list[CoverageEntry]:
    """State of JobManager hooks, which belongs to no operator."""
    return [
        CoverageEntry(None, None, None, state.name, "master", "master state", Status.UNSUPPORTED, _NOT_YET, len(state.data), 1)
        for state in master_states
    ]


def _add_file(inventory: OperatorInventory, file: StateFile) -> None:
    for problem in filter(None, (file.problem, *file.lost.values())):
        if not any(problem is known for known in inventory.problems):
            inventory.problems.append(problem)
    if file.problem is not None or file.lost:
        inventory.unread.append(file)
    if file.note is not None and file.note not in inventory.notes:
        inventory.notes.append(file.note)
    if file.form is BodyKind.RAW:
        inventory.timers.add(file.subtask)
    states = inventory.of_scope(file.scope)
    for name, kind in file.states:
        state = states.setdefault(name, NamedState(name, kind, file.scope))
        # A changelog's head has a state twice if its serializers changed.
        if not state.files or state.files[-1] is not file:
            state.files.append(file)


def _add_problems(inventory: OperatorInventory, file: StateFile) -> None:
    """Note which states cannot be read because of a file.

    If the states in it are not known, these are all states that are in files of its kind. Managed keyed state, raw keyed
    state and operator state are in files of their own, so one of them that cannot be read says nothing of the others.
    """
    states = inventory.of_scope(file.scope)
    for name, error in file.lost.items():
        state = states.setdefault(name, NamedState(name, file.scope, file.scope))
        if not any(file is known for known in state.files):
            state.files.append(file)
        state.problems.append(error)
    if file.problem is None:
        return
    concerned = [states[name] for name in dict.fromkeys(name for name, _ in file.states)]
    if not file.states:
        concerned = [s for s in states.values() if any(_kind(f) is _kind(file) for f in s.files)]
        concerned = concerned or [s for s in inventory.nameless if _kind(s.files[0]) is _kind(file)]
        if not concerned:
            concerned = [NamedState("", "raw" if file.form is BodyKind.RAW else file.scope, file.scope)]
            inventory.nameless += concerned
        for state in concerned:
            state.files.append(file)
    for state in concerned:
        if not any(file.problem is known for known in state.problems):
            state.problems.append(file.problem)


def has_row_key(file: StateFile) -> bool:
    """Whether the keys are Rows of one field, as those of PyFlink's DataStream API are."""
    serializer = file.header.key_serializer if isinstance(file.header, KeyedHeader) else None
    return serializer is not None and serializer.class_name == ROW_SNAPSHOT and len(serializer.nested) == 1


def _kind(file: StateFile) -> BodyKind:
    return file.form if file.form in (BodyKind.OPERATOR, BodyKind.RAW) else BodyKind.UNDECIDED


def _list_named(inventory: OperatorInventory) -> None:
    operator = inventory.operator
    for state in sorted(inventory.keyed.values(), key=lambda s: s.name):
        _list_state(inventory, state)
    for state in inventory.nameless:
        _list_state(inventory, state)
    for handle in (t.managed_keyed for t in operator.subtasks if t.managed_keyed is not None):
        if not inventory.keyed and not inventory.problems and not isinstance(handle, ChangelogHandle):
            reason = f"{handle.kind} handle: {_NOT_YET}"
            _gather(inventory, "keyed", str(handle.kind), handle.size, reason)
    for state in sorted(inventory.lists.values(), key=lambda s: s.name):
        entry = _list_state(inventory, state)
        for file in state.files:
            if file.content is not None and not file.content.whole:
                entry.size = (entry.size or 0) + sum(p.size for p in file.content.partitions if p.name == state.name)


def _list_state(inventory: OperatorInventory, state: NamedState) -> CoverageEntry:
    form = " and ".join(sorted({file.form.value for file in state.files})) or "operator state"
    kind = kind_word(state.kind)
    entry = _entry(inventory.operator, state.name or None, kind, form, Status.DECODED, None, handles=len(state.files))
    if not state.readable:
        other = next(file for file in state.files if file.form not in _READABLE)
        where = f"{other.form.value} ({other.kind} handle, {other.uri})"
        entry.status, entry.reason = Status.UNSUPPORTED, f"{where}: {_NOT_YET}"
    elif state.problems:
        more = len(state.problems) - 1
        entry.status, entry.reason = state.problems[0].status, str(state.problems[0])
        if more:
            entry.reason += f" {pluralize(more, 'more file', 'is')} missing or unreadable."
    entry.role = purpose_of(state.name, [*inventory.keyed, *inventory.lists])
    if any(map(has_row_key, state.files)) and not state.name.startswith(PYTHON_STATE):
        entry.role = f"PyFlink: {entry.role}" if entry.role else "PyFlink: a value of Python, or one with a type of Java's"
    state.entry = entry
    inventory.entries.append(entry)
    return entry


def _list_nameless(inventory: OperatorInventory) -> None:
    operator = inventory.operator
    if operator.coordinator is not None:
        from serializers.connectors import decode_coordinator, untyped_reason

        size = operator.coordinator.size
        reason = untyped_reason(decode_coordinator(operator.coordinator.data))
        status = Status.RAW if reason else Status.DECODED
        entry = _entry(operator, None, COORDINATOR, "coordinator state", status, reason, size, 1)
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
    inventory.entries.append(_entry(inventory.operator, None, kind, form, Status.UNSUPPORTED, reason, size, 1))


def _entry(
    operator: OperatorState,
    state: str | None,
    kind: str,
    form: str,
    status: Status,
    reason: str | None,
    size: int | None = None,
    handles: int = 0,
) -> CoverageEntry:
    if operator.problem is not None:
        status, reason = Status.UNREADABLE, str(operator.problem)
    return CoverageEntry(operator.id, operator.uid, operator.name, state, kind, form, status, reason, size, handles)
