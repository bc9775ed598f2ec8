"""The plan of a job: what is wanted, what of it can be read, with which schema, and which task reads which bytes.

``make_plan`` finds the snapshot, parses ``_metadata``, reads all heads, takes the inventory, applies the user's choice
and packs key groups into splits. Everything that can be wrong with the request is reported here, before anything is written: a
choice that matches nothing, a state asked for by name that this version cannot read, subtasks whose schemas cannot be
united.

May import metadata, files, state, columnar; must not know of Spark or of how files are published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from serializers import DescribeContext, load_plugins
from stateextract.columnar.arrow.unite_schemas import replaced_in
from stateextract.columnar.decode.decoder import needs_interpreter
from stateextract.errors import StateExtractError, UndecodableError, UnsupportedError, UsageError, expected_error
from stateextract.files.filesystem import Store
from stateextract.job.directory_names import RAW_SUFFIX, operator_folders, state_folders
from stateextract.job.split import pack
from stateextract.metadata.locate import FoundSnapshot
from stateextract.metadata.model import OperatorState, SnapshotMetadata
from stateextract.metadata.operator_lookup import find_operators, operator_label
from stateextract.options import JobOptions
from stateextract.outcome import Status
from stateextract.printable import find_named, lone_surrogates, pluralize, there_is
from stateextract.snapshot.coverage import CANNOT_BE_READ, UNTYPED, CoverageEntry, CoverageReport
from stateextract.snapshot.headers import OnHeaders, StateFile, StateScope, ignore_progress
from stateextract.snapshot.inventory import NamedState, OperatorInventory, master_entries
from stateextract.snapshot.job_type_overrides import JobTypeOverrides, OverrideTexts
from stateextract.snapshot.missing import missing_files
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.snapshot.policies import JobPolicies
from stateextract.snapshot.python_types import StateTypes, checked_by_length
from stateextract.snapshot.reading import choice_of, read_options
from stateextract.snapshot.source import SnapshotSource
from stateextract.state.kinds import COORDINATOR, TIMER
from stateextract.state.operator import BROADCAST
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import (
    ReadOptions,
    StatePolicy,
    certainly_undecodable,
    merged_raw_schema,
    merged_schema,
)
from stateextract.version import VERSION

TIMERS = "timers"
"""Name of the dataset of all timers of an operator."""

COORDINATOR_STATE = "coordinator"
"""Name of the dataset of what an operator's coordinator keeps."""

_READABLE = (Status.DECODED, Status.UNCERTAIN)

# Names that no state can have, for folders.
_ALL_TIMERS, _LIST, _COORDINATOR = "\0timers", "\0operator", "\0coordinator"


@dataclass(frozen=True)
class PlannedState:
    """A state that the job reads.

    :param untyped: why it is certain that only raw bytes can come of it.
    :param dataset: what its dataset is called: after the state, or :data:`TIMERS` for all timers of an operator.
    :param named: the state in its files.
    :param refused: none of its values can be decoded, and the user wants no part of such states.
    """

    operator: int
    name: str
    entry: CoverageEntry
    target: StateTarget
    untyped: UndecodableError | None
    dataset: str
    named: NamedState
    refused: bool = False


@dataclass(frozen=True)
class PlannedCoordinator:
    """State of an operator's coordinator, which is stored whole in ``_metadata``.

    :param folder: of its dataset.
    """

    entry: CoverageEntry
    folder: str
    data: bytes


@dataclass(frozen=True)
class Plan:
    """What the driver carries out.

    :param operators: for the tasks; ``states`` refers to them by index.
    :param files: by the numbers that parts have.
    :param describe: what describing serializers needs, for the tasks too.
    :param store: opens what the user names.
    :param missing: operators and states that a ``partial`` plan was asked for by name, and that the snapshot does not have.
    :param metadata_sha256: of the bytes of ``_metadata``, in hex.
    """

    found: FoundSnapshot
    metadata: SnapshotMetadata
    coverage: CoverageReport
    operators: Sequence[OperatorTargets]
    states: Sequence[PlannedState]
    files: Sequence[StateFile]
    splits: Sequence[Sequence[Part]]
    describe: DescribeContext
    store: Store
    coordinators: Sequence[PlannedCoordinator] = ()
    missing: Sequence[tuple[str, str]] = ()
    metadata_sha256: str | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of state that each split reads."""
        return tuple(sum(part.content.read_size for part in split) for split in self.splits)


def make_plan(
    options: JobOptions,
    only: Callable[[SnapshotMetadata], OperatorState] | None = None,
    partial: bool = False,
    on_headers: OnHeaders = ignore_progress,
) -> Plan:
    """Plan a job.

    :param only: picks the one operator whose files are looked at; the plan then knows of no other.
    :param partial: the choice may match nothing here.
    :param on_headers: receives how many of the files' heads were read.
    :raises StateExtractError: where the snapshot cannot be read, or not what was asked for by name.
    :raises UsageError: where the choice matches nothing.
    """
    load_plugins(options.plugins)
    source = SnapshotSource(options, on_headers=on_headers)
    metadata, locator = source.metadata, source.locator
    inventory, files = source.inventory(None if only is None else [only(metadata)])
    missing: list[tuple[str, str]] | None = [] if partial else None
    options = _as_stored(options, inventory)
    selected = _choose(inventory, options, missing)
    masters = master_entries(metadata.master_states)
    if options.operator or options.state:
        for entry in masters:
            entry.status, entry.reason = Status.NOT_SELECTED, None
    describe = source.describe()
    describe = source.with_pojos(describe, files, whole=only is None)
    operators, states, numbers, failures = _targets(inventory, selected, options, describe, source)
    coordinators = list(_coordinators(inventory))
    if failures and not states and not coordinators and not partial:
        raise failures[0]
    splits = pack(_parts(files, operators, numbers, options), options.split_bytes)
    notes = _notes(source, inventory, selected)
    unsure = sum(checked_by_length(state.target.overrides) for state in states)
    if unsure:
        notes.append(f"the types of {pluralize(unsure, 'state')} of PyFlink are checked by the length of the bytes only; "
                     "the page PyFlink of the documentation lists the types of equal length")  # fmt: skip
    coverage = CoverageReport(
        VERSION, source.found.metadata_uri, metadata.checkpoint_id, metadata.version,
        metadata.properties.kind if metadata.properties else None,
        [entry for i in inventory for entry in i.entries] + masters,
        locator.relocations, notes,
    )  # fmt: skip
    return Plan(source.found, metadata, coverage, operators, states, files, splits, describe, source.user_store, coordinators,
                missing or (), source.metadata_sha256)  # fmt: skip


def _notes(
    source: SnapshotSource,
    inventory: Sequence[OperatorInventory],
    selected: Sequence[tuple[OperatorInventory, NamedState]],
) -> list[str]:
    notes = source.notes
    for i in inventory:
        if any(i is other for other, _ in selected):
            missing = missing_files([i.operator], source.locator).note
            notes.extend(f"{operator_label(i.operator)}: {note}" for note in (*i.notes, missing) if note is not None)
    return notes


# -- what is wanted


def _as_stored(options: JobOptions, inventory: Sequence[OperatorInventory]) -> JobOptions:
    """The options with the states' names as the files have them, where people see them with replaced letters."""
    names = {entry.state for i in inventory for entry in i.entries if entry.state is not None}
    stored = (find_named(name, names, lambda known: (known,)) or [name] for name in options.state)
    return replace(options, state=tuple(name for found in stored for name in found))


def _choose(
    inventory: Sequence[OperatorInventory], options: JobOptions, missing: list[tuple[str, str]] | None = None
) -> list[tuple[OperatorInventory, NamedState]]:
    """The named states to read; entries of all that is not chosen are marked so.

    :param missing: takes what was asked for and is not there, as ``operator`` or ``state`` and its name; ``None``: that is an
        error, and so is a choice of nothing that can be read.
    """
    chosen = _chosen_operators(inventory, options.operator, missing)
    names = {e.state for i in chosen for e in i.entries if e.state is not None}
    names |= {TIMERS for i in chosen for e in i.entries if e.kind == TIMER}
    names |= {COORDINATOR_STATE for i in chosen for e in i.entries if e.kind == COORDINATOR}
    for name in options.state:
        if name not in names and missing is not None:
            missing.append(("state", name))
        elif name not in names:
            for i in chosen:
                if i.problems:
                    raise i.problems[0]  # of a file that may hold it
            raise UsageError(
                f"no state is called {name!r}{' in the chosen operators' if options.operator else ''}",
                advice=there_is(name, names, "states"),
            )
    selected = []
    for i in inventory:
        for entry in i.entries:
            if entry.status != Status.EMPTY and not (i in chosen and _is_selected(entry, options)):
                entry.status, entry.reason = Status.NOT_SELECTED, None
        if i in chosen:
            _refuse_problems(i, options)
            _read_other_files(i, options)
        selected += [(i, s) for s in i.named if s.entry is not None and s.entry.status in _READABLE]
    coordinators = any(_is_selected_coordinator(e) for i in inventory for e in i.entries)
    if not selected and not coordinators and missing is None:
        for i in chosen:
            if i.problems and not i.named:
                raise i.problems[0]
        if any(entry.status != Status.EMPTY for i in chosen for entry in i.entries):
            raise UnsupportedError("nothing that was chosen can be read by this version", advice=_what_is(inventory))
    _refuse_unread_operators(chosen, selected, options)
    return selected


def _is_selected(entry: CoverageEntry, options: JobOptions) -> bool:
    if entry.kind == COORDINATOR:
        return not options.state or COORDINATOR_STATE in options.state
    return not options.state or entry.state in options.state or (entry.kind == TIMER and TIMERS in options.state)


def _chosen_operators(
    inventory: Sequence[OperatorInventory], asked: Sequence[str], missing: list[tuple[str, str]] | None
) -> list[OperatorInventory]:
    if not asked:
        return list(inventory)
    chosen = []
    for name in asked:
        ids = {operator.id for operator in find_operators(name, (i.operator for i in inventory))}
        matching = [i for i in inventory if i.operator.id in ids]
        if not matching and missing is not None:
            missing.append(("operator", name))
        elif not matching:
            known = sorted({operator_label(i.operator) for i in inventory})
            raise UsageError(f"no operator has the uid, name or id {name!r}", advice=there_is(name, known, "operators"))
        chosen += [i for i in matching if i not in chosen]
    return chosen


def _refuse_problems(i: OperatorInventory, options: JobOptions) -> None:
    """What cannot be read of a chosen operator stops a strict job, and if its states were asked for by name."""
    if options.lenient:
        return
    # States that no file is known to contain may be in those whose states are not known.
    unknown = set(options.state) - {state.name for state in i.named}
    if i.operator.problem is not None and not options.state:
        raise i.operator.problem
    asked = [s for s in i.named if s.entry is not None and _is_selected(s.entry, options)]
    for state in (*asked, *(i.nameless if unknown or not options.state else ())):
        for problem in state.problems:
            raise problem
    for entry in i.entries:
        asked_for = entry.state in options.state or (options.strict and not options.state and entry.state is not None)
        if asked_for and entry.status in CANNOT_BE_READ:
            raise UnsupportedError(
                f"the state cannot be read: {entry.reason}", operator=operator_label(i.operator), state=entry.state
            )


def _read_other_files(i: OperatorInventory, options: JobOptions) -> None:
    """Of a state that is in files whose head cannot be read, too, the other files are read."""
    for state in i.named:
        files = [file for file in state.files if file.header is not None and file.content is not None]
        there = any(name == state.name for file in files for name, _ in file.states)
        if state.entry is None or not state.problems or not there or not state.readable:
            continue
        if not _is_selected(state.entry, options):
            continue
        state.entry.status, state.entry.reason = Status.DECODED, None
        for problem in state.problems:
            state.entry.read.problem(str(problem))
        state.entry.read.failure = state.problems[0].status


def _refuse_unread_operators(
    chosen: Sequence[OperatorInventory],
    selected: Sequence[tuple[OperatorInventory, NamedState]],
    options: JobOptions,
) -> None:
    if not options.operator or options.state:
        return
    for i in chosen:
        unread = [e for e in i.entries if e.status in CANNOT_BE_READ]
        read = any(w is i for w, _ in selected) or any(e.status in _READABLE for e in i.entries)
        if unread and not read and i.problems:
            raise i.problems[0]
        if unread and not read:
            raise UnsupportedError(
                f"the operator is selected, and none of its state can be read: {unread[0].reason}",
                operator=operator_label(i.operator),
            )


def _what_is(inventory: Sequence[OperatorInventory]) -> str:
    reasons = {f"{e.label}: {e.reason}" for i in inventory for e in i.entries if e.status in CANNOT_BE_READ}
    return "; ".join(sorted(reasons)[:5]) or "the snapshot contains no state"


# -- schemas and folders


def _targets(
    inventory: Sequence[OperatorInventory],
    selected: Sequence[tuple[OperatorInventory, NamedState]],
    options: JobOptions,
    describe: DescribeContext,
    source: SnapshotSource,
) -> tuple[list[OperatorTargets], list[PlannedState], dict[tuple[int, StateScope], int], list[StateExtractError]]:
    """What to read, the operators' numbers for the tasks by their numbers in the metadata and the scope, and why states are
    not read whose columns are not known.
    """
    top = operator_folders((i.operator.id, i.operator.uid, i.operator.name) for i in inventory)
    numbers: dict[tuple[int, StateScope], int] = {}
    by_operator: list[dict[str, StateTarget]] = []
    chosen: list[OperatorState] = []
    planned = []
    reading = read_options(options, describe)
    overrides = JobTypeOverrides(options.types)
    types = StateTypes(source, overrides, options.python_wrapping)
    failures: list[StateExtractError] = []
    policies = JobPolicies(options.policies, choice_of(options))
    known = {id(state): _columns(i, state, reading, overrides, types, policies, options, failures) for i, state in selected}
    for i in inventory:
        for other in i.named:  # a line may be about a state that is not selected
            overrides.concern(i.operator, other.name)
    overrides.refuse_unused()
    policies.refuse_unused()
    readable = [(i, state, columns) for i, state in selected if (columns := known[id(state)]) is not None]
    for i, state, columns in readable:
        assert state.entry is not None
        queues = {other.schema for j, s, other in readable if j is i and _merged(s, options)}
        dataset = TIMERS if _merged(state, options) and len(queues) == 1 else state.name
        folder = f"{top[i.operator.id]}/{_folder(i, state, dataset)}"
        choice = columns.choice
        if columns.untyped is not None and choice.on_undecodable == "fail":
            if not options.lenient:
                raise columns.untyped.at(
                    operator=operator_label(i.operator), state=state.name,
                    advice="set --on-undecodable to skip or raw to go on without it",
                )  # fmt: skip
            # If it has an entry, all of it is lost.
            choice = replace(choice, on_undecodable="skip")
        target = StateTarget(
            folder, folder + RAW_SUFFIX, columns.schema, columns.overrides, columns.raw, columns.merged,
            choice,
        )  # fmt: skip
        key = (i.number, state.scope)
        if key not in numbers:
            numbers[key] = len(by_operator)
            by_operator.append({})
            chosen.append(i.operator)
        number = numbers[key]
        by_operator[number][state.name] = target
        state.entry.decoded_in_python = columns.decoded_in_python
        state.entry.replaced = lone_surrogates(state.name) + replaced_in(columns.schema)
        planned.append(
            PlannedState(
                number, state.name, state.entry, target, columns.untyped, dataset, state, choice != columns.choice
            )
        )
    operators = [
        OperatorTargets(operator_label(operator), states, operator.id)
        for operator, states in zip(chosen, by_operator, strict=True)
    ]
    return operators, planned, numbers, failures


@dataclass(frozen=True)
class _Columns:
    """The columns of a state over all its files.

    :param merged: before the ``overrides``; ``schema``: with them; ``raw``: of what is kept as bytes.
    :param untyped: why its values can certainly not be decoded.
    :param decoded_in_python: some of its values can be decoded by the interpreter only.
    :param choice: what becomes of its values that a column cannot hold, or that cannot be decoded.
    """

    merged: pa.Schema
    schema: pa.Schema
    overrides: OverrideTexts
    raw: pa.Schema | None
    untyped: UndecodableError | None
    decoded_in_python: bool
    choice: StatePolicy


def _columns(
    i: OperatorInventory,
    state: NamedState,
    reading: ReadOptions,
    overrides: JobTypeOverrides,
    types: StateTypes,
    policies: JobPolicies,
    options: JobOptions,
    failures: list[StateExtractError],
) -> _Columns | None:
    """The columns of a state; ``None`` where they are not known, then its entry says why.

    :param failures: takes the error then.

    :raises StateExtractError: where they are not known, and the state was asked for by name.
    """
    choice = policies.of(i.operator, state.name) or choice_of(options)
    reading = replace(reading, policy=choice.policy, on_undecodable=choice.on_undecodable)
    try:
        rows = state.rows(reading.context.of_operator(i.operator.id))
        merged = merged_schema(rows, reading)
        raw = merged_raw_schema(rows, reading) if choice.on_undecodable == "raw" else None
        decoded_in_python = any(needs_interpreter(row.layout) for row in rows)
        untyped = _undecodable(state, rows)
    except Exception as error:
        overrides.concern(i.operator, state.name)
        failure = expected_error(error).at(operator=operator_label(i.operator), state=state.name)
        if not options.lenient:
            raise failure from None
        assert state.entry is not None
        state.entry.status, state.entry.reason = failure.status, failure.message
        failures.append(failure)
        return None
    texts = types.of(i, state, merged, reading)
    schema = types.schema(merged, texts, reading)
    if state.entry is not None and types.is_untyped(state, schema, texts):
        state.entry.read.problem(UNTYPED)
    return _Columns(merged, schema, texts, raw, untyped, decoded_in_python, choice)


def _merged(state: NamedState, options: JobOptions) -> bool:
    """Whether it goes into the operator's dataset of timers, if all of them have the same columns."""
    return state.kind == "TIMER" and state.name not in options.state


def _folder(i: OperatorInventory, state: NamedState, dataset: str) -> str:
    """Below the operator's. Keyed and operator state may be called alike, and a state may be called as the timers are."""
    name = state.name + _LIST * (state.scope == "operator" and state.name in i.keyed)
    return _folders(i)[_ALL_TIMERS if dataset == TIMERS and state.kind == "TIMER" else name]


def _folders(i: OperatorInventory) -> dict[str, str]:
    names: list[str] = [*i.keyed, *(name + _LIST * (name in i.keyed) for name in i.lists)]
    if any(s.kind == "TIMER" for s in i.keyed.values()):
        names.append(_ALL_TIMERS)
    if i.operator.coordinator is not None:
        names.append(_COORDINATOR)
    return state_folders(names)


def _coordinators(inventory: Sequence[OperatorInventory]) -> Iterator[PlannedCoordinator]:
    top = operator_folders((i.operator.id, i.operator.uid, i.operator.name) for i in inventory)
    for i in inventory:
        for entry in i.entries:
            if _is_selected_coordinator(entry) and i.operator.coordinator is not None:
                folder = f"{top[i.operator.id]}/{_folders(i)[_COORDINATOR]}"
                yield PlannedCoordinator(entry, folder, i.operator.coordinator.data)


def _is_selected_coordinator(entry: CoverageEntry) -> bool:
    return entry.kind == COORDINATOR and entry.status in (Status.DECODED, Status.RAW)


def _undecodable(state: NamedState, rows: Sequence[RowLayout]) -> UndecodableError | None:
    """Why its values can certainly not be decoded, if so."""
    part = next(filter(None, (certainly_undecodable(row.layout) for row in rows)), None)
    if part is None:
        return None
    file = state.files[0].uri if state.files else None
    return UndecodableError(f"values of {part.class_name} cannot be decoded: {part.reason}", file=file)


# -- bytes


def _parts(
    files: Sequence[StateFile],
    operators: Sequence[OperatorTargets],
    numbers: Mapping[tuple[int, StateScope], int],
    options: JobOptions,
) -> Iterator[Part]:
    """The files that hold a wanted state."""
    given: set[tuple[int, str]] = set()
    for number, file in enumerate(files):
        operator = numbers.get((file.operator, file.scope))
        if operator is None or file.header is None or file.content is None:
            continue
        states = operators[operator].states
        names = {meta.name for meta in file.header.states if meta.name in states}
        if not names:
            continue
        content = file.content.only(names).finer(options.split_bytes)
        skip_broadcast_states = set()
        for part in content.partitions:
            # Every subtask has a copy of a broadcast state: the first one's is written.
            if part.mode == BROADCAST and part.name in names and not options.all_copies:
                if (operator, part.name) in given:
                    skip_broadcast_states.add(part.name)
                given.add((operator, part.name))
        yield Part(number, operator, file.subtask, file.uri, file.start, content, tuple(sorted(skip_broadcast_states)))
