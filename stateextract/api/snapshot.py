"""A snapshot and its operators as objects, made by :func:`open_snapshot`.

``_metadata`` is parsed when a snapshot is opened; the heads of state files are read when an operator's states are first
asked for. Decodes nothing itself. May import metadata, heads and files; must not know of Spark or Parquet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import pyarrow as pa

from serializers import load_plugins
from stateextract.api.html import table
from stateextract.api.state import State
from stateextract.api.validation import Finding, OnProgress, Validation
from stateextract.doors import api_door
from stateextract.errors import StateExtractError, UsageError, leaving
from stateextract.files.filesystem import Store
from stateextract.metadata.model import CheckpointProperties, MasterState, OperatorState
from stateextract.metadata.operator_lookup import by_name, find_operators, operator_label
from stateextract.options import JobOptions, SnapshotKeywords, from_keywords, keyword_docs
from stateextract.outcome import Status
from stateextract.printable import find_named, pluralize, there_is
from stateextract.snapshot.describe_contexts import lacking
from stateextract.snapshot.forecast import Forecasts
from stateextract.snapshot.headers import OnHeaders, StateScope, ignore_progress
from stateextract.snapshot.inventory import OperatorInventory
from stateextract.snapshot.job_type_overrides import JobTypeOverrides
from stateextract.snapshot.missing import MissingFiles, missing_files
from stateextract.snapshot.policies import JobPolicies
from stateextract.snapshot.python_types import StateTypes, Suggestion
from stateextract.snapshot.reading import read_options
from stateextract.snapshot.source import SnapshotSource
from stateextract.state.state_columns import ReadOptions, StatePolicy

if TYPE_CHECKING:
    from stateextract.restore.answers import Backend
    from stateextract.restore.two_jobs import Report

Engine = Literal["auto", "kernel", "interpreter"]
PathMap = Mapping[str, str] | Sequence[tuple[str, str]]


@leaving()
def open_snapshot(
    path: str,
    path_map: PathMap | None = None,
    *,
    storage_options: Mapping[str, Mapping[str, Any]] | None = None,
    decoder: Engine = "auto",
    on_headers: OnHeaders = ignore_progress,
    **options: Unpack[SnapshotKeywords],
) -> Snapshot:
    """Open a checkpoint or savepoint.

    Options of which there can be several take one text, too.

    :param path: a ``_metadata`` file, its folder, a job's checkpoint folder (then its newest complete checkpoint), or
        high-availability data (then what Flink would restore from; ``docs/checkpoints.md``); a local path or the URI of a
        store (``docs/object-stores.md`` lists them).
    :param path_map: old and new beginnings of paths, for a snapshot that was moved in a way that is not found by itself.
    :param storage_options: for each scheme the settings of its file system, for example
        ``{"s3": {"endpoint_override": "http://localhost:9000"}}``.
    :param decoder: ``auto`` takes the interpreter for little state and the compiled kernel for much.
    :param on_headers: called with how many of the files' headers were read, and how many there are.
    :raises SnapshotNotFoundError: where there is no snapshot at ``path``, or more than one.
    :raises UsageError: for an option that cannot be right.
    """
    if decoder not in get_args(Engine):
        raise UsageError(f"the option decoder is {decoder!r}", expected=f"one of {', '.join(get_args(Engine))}")
    job = from_keywords(path, {"path_map": path_map, **options})
    store = Store(storage_options, allow=job.allow_store, timeout=job.store_timeout)
    return opened_by(job, store, decoder, on_headers)


open_snapshot.__doc__ = f"{open_snapshot.__doc__}\n{keyword_docs()}"


def opened_by(
    job: JobOptions, store: Store | None = None, decoder: Engine = "auto", on_headers: OnHeaders = ignore_progress
) -> Snapshot:
    """:func:`open_snapshot` by the options of a job."""
    load_plugins(job.plugins)
    source = SnapshotSource(job, store, on_headers)
    options = replace(read_options(job, source.describe()), engine=decoder, pass_undecodable=False)
    overrides = JobTypeOverrides(job.types)
    overrides.refuse_strangers(source.metadata.operators)
    chosen = JobPolicies(job.policies, StatePolicy(options.policy, options.on_undecodable))
    types = StateTypes(source, overrides, job.python_wrapping)
    return Snapshot(OpenedSnapshot(source, options, overrides, types, chosen, job.classpath, job.plan))


def _several(given: str | Sequence[str]) -> Sequence[str]:
    """One text, or several: a text is a sequence of letters, too."""
    return (given,) if isinstance(given, str) else given


@dataclass
class OpenedSnapshot:
    """A snapshot, and what all of it is read with.

    :param classpath: where the job's classes were read from; :param plan: the compiled plan.
    :param pojos_known: the context of ``options`` has what POJO serializers say of classes that Kryo wrote.
    """

    source: SnapshotSource = field(repr=False)
    options: ReadOptions
    overrides: JobTypeOverrides = field(repr=False)
    types: StateTypes = field(repr=False)
    policies: JobPolicies = field(repr=False)
    classpath: tuple[str, ...] = ()
    plan: str = ""
    pojos_known: bool = False

    def inventory(self, operators: Sequence[OperatorState]) -> dict[str, OperatorInventory]:
        """The inventories by operator id. Reads the headers of these operators' files."""
        found, files = self.source.inventory(operators)
        if not self.pojos_known and lacking(self.options.context, files):
            self.pojos_known = True
            whole = len(operators) == len(self.source.metadata.operators)
            self.options = replace(self.options, context=self.source.with_pojos(self.options.context, files, whole))
        return {inventory.operator.id: inventory for inventory in found}


class Snapshot:
    """A checkpoint or savepoint; made by :func:`open_snapshot`."""

    def __init__(self, opened: OpenedSnapshot) -> None:
        self._opened = opened
        source = opened.source
        self.operators: tuple[Operator, ...] = tuple(Operator(self, o) for o in source.metadata.operators)
        """The operators in the order of ``_metadata``."""

    def __repr__(self) -> str:
        return f"<Snapshot {self.path}, checkpoint {self.checkpoint_id}, {pluralize(len(self.operators), 'operator')}>"

    def _repr_html_(self) -> str:
        return table(
            f"Snapshot {self.path}, checkpoint {self.checkpoint_id}",
            ["operator", "id", "parallelism", "bytes of state"],
            [(o.label, o.id, f"{o.parallelism} of {o.max_parallelism}", f"{o.total_size:,}") for o in self.operators],
        )

    @property
    def path(self) -> str:
        """The folder of ``_metadata``."""
        return self._opened.source.found.directory_uri

    @property
    def metadata_path(self) -> str:
        """The ``_metadata`` file."""
        return self._opened.source.found.metadata_uri

    @property
    def checkpoint_id(self) -> int:
        """Flink's number of the checkpoint."""
        return self._opened.source.metadata.checkpoint_id

    @property
    def metadata_version(self) -> int:
        """Version of the ``_metadata`` format."""
        return self._opened.source.metadata.version

    @property
    def properties(self) -> CheckpointProperties | None:
        """How the snapshot was taken (``kind``, ``format``, ``name``); ``None`` where it does not say so."""
        return self._opened.source.metadata.properties

    @property
    def master_states(self) -> tuple[MasterState, ...]:
        """State of JobManager hooks."""
        return self._opened.source.metadata.master_states

    @property
    def note(self) -> str | None:
        """What was chosen for you or is uncertain, in a sentence; ``None`` if nothing."""
        return api_door().words("; ".join(self._opened.source.notes)) or None

    @property
    def relocations(self) -> list[tuple[str, str]]:
        """Files found elsewhere than the snapshot says: the stored path and where it was, as far as looked for yet."""
        return self._opened.source.locator.relocations

    def missing_files(self) -> MissingFiles:
        """Which files cannot be found. All are looked for, also those that nothing has been read from."""
        return missing_files(self._opened.source.metadata.operators, self._opened.source.locator)

    @property
    @leaving()
    def states(self) -> list[State]:
        """All named states of all operators, those that cannot be read included."""
        self.read_headers()
        return [state for operator in self.operators for state in operator.states]

    @leaving()
    def read_headers(self) -> None:
        """Read the heads of all operators' files at once, which is quicker than one operator after the other."""
        missing = [operator for operator in self.operators if "_inventory" not in vars(operator)]
        if missing:
            found = self._opened.inventory([operator._state for operator in missing])
            for operator in missing:
                vars(operator)["_inventory"] = found[operator.id]

    @leaving()
    def check(
        self,
        against: Snapshot | None = None,
        *,
        classpath: str | Sequence[str] = (),
        plan: str = "",
        uids: Sequence[str] | None = None,
        flink: str = "",
        backend: Backend | None = None,
        max_parallelism: int | None = None,
        parallelism: int | None = None,
        same_job: bool = False,
        same_declarations: bool = False,
        allow_non_restored: bool = False,
        values: bool = True,
    ) -> Report:
        """Say of each state whether Flink would restore it into another job. ``docs/restore.md`` has the rules.

        The classes of the job that wrote the snapshot are those of ``open_snapshot(classpath=…)``, and its compiled plan is
        that of ``plan``.

        :param against: a snapshot of the new job, started from nothing: says most of it.
        :param classpath: jars or folders with the new job's classes.
        :param plan: the new job's compiled plan.
        :param uids: the uids of the new job's operators, all of them.
        :param flink: the release that the new job runs on, for example ``2.3``. Default: what is known from ``against``.
        :param backend: of the new job: ``hashmap`` or ``rocksdb``. Default: both are looked at.
        :param max_parallelism: what the new job sets explicitly; 0: nothing.
        :param parallelism: of the new job's operators, where ``against`` does not say it.
        :param same_job: the new job is the old one, on another release or with other settings.
        :param same_declarations: the new job has the operators, keys and states of the old one, with the same types: only the
            classes of its data may differ.
        :param allow_non_restored: the new job starts with ``allowNonRestoredState``.
        :param values: read values where headers are not enough: subclasses of POJOs, what Kryo wrote, and the rows
            that do not restore.
        :raises UsageError: for an option that cannot be right.
        """
        from stateextract.api.check_restore import check
        from stateextract.restore.two_jobs import NewJob

        settings = NewJob(
            backend=backend, max_parallelism=max_parallelism, parallelism=parallelism, same_job=same_job,
            same_declarations=same_declarations, allow_non_restored=allow_non_restored,
        )  # fmt: skip
        return check(self, against, _several(classpath), plan, uids, flink, settings, values)

    @leaving()
    def kafka_offsets(self, operator: str | None = None) -> pa.Table:
        """Where the job reads on in Kafka, one row for each partition of each source; ``docs/kafka.md`` has the columns.

        What may have offsets and cannot be read is a row without a topic, with its ``status`` and the reason.

        :param operator: only of the operator with this UID, name or operator ID.
        :raises UsageError: where there is none, or more than one.
        """
        from stateextract.api.offset_table import SCHEMA, kafka_offsets

        self.read_headers()
        operators = self.operators if operator is None else (self.operator(operator),)
        return pa.Table.from_pylist(list(kafka_offsets(self, operators)), SCHEMA)

    @leaving()
    def suggested_types(self) -> list[Suggestion]:
        """Types for the bytes of all states of PyFlink, guessed from their first rows; ``docs/pyflink.md`` describes how."""
        self.read_headers()
        return [s for o in sorted(self.operators, key=lambda o: (o.label, o.id)) for t in o.states for s in t._suggestions()]

    def validate(self, on_progress: OnProgress = lambda size, rows: None) -> Iterator[Finding]:
        """Decode every byte of every state, and say of each whether it is sound.

        Goes on after damage: errors are in the findings. They come operator by operator, then those of master state.

        :param on_progress: receives bytes of files and rows as they are read.
        """
        self.read_headers()
        validation = Validation(self._opened, on_progress)
        for operator in sorted(self.operators, key=by_name):
            yield from (finding.worded() for finding in validation.of(operator))
        yield from validation.of_job()

    @leaving()
    def operator(self, name: str) -> Operator:
        """The operator with this UID, name or operator ID.

        :raises UsageError: where there is none, or more than one.
        """
        matching = find_operators(name, self.operators)
        if not matching:
            known = [o.label for o in self.operators]
            raise UsageError(
                f"no operator has the uid, name or id {name!r}", advice=there_is(name, known, "operators")
            )
        if len(matching) > 1:
            ids = ", ".join(o.id for o in matching)
            raise UsageError(f"{len(matching)} operators are called {name!r}", advice=f"select one by its ID: {ids}")
        return matching[0]


@dataclass(frozen=True)
class UnnamedState:
    """State of an operator that has no name of its own.

    :param kind: ``coordinator``, ``raw`` or ``channel``; ``keyed`` for handles of a kind that this version does not read; ``-``
        of an operator whose entry in ``_metadata`` is corrupt.
    :param form: the same in words; :param size: in bytes, if known; :param handles: how many handles.
    :param status: a word of ``docs/exit-codes.md``.
    :param reason: why it is not read; ``None`` of a coordinator, which :attr:`Operator.coordinator` reads.
    """

    kind: str
    form: str
    size: int | None
    handles: int
    status: Status
    reason: str | None


class Operator:
    """An operator of a snapshot."""

    def __init__(self, snapshot: Snapshot, state: OperatorState) -> None:
        self.snapshot = snapshot
        self._state = state
        self.id: str = state.id
        """In hex, as Flink prints it."""
        self.uid: str | None = state.uid
        """As the job set it; stored since Flink 2.0."""
        self.name: str | None = state.name
        """As the job set it; stored since Flink 2.0."""
        self.parallelism: int = state.parallelism
        self.max_parallelism: int = state.max_parallelism
        self.fully_finished: bool = state.fully_finished
        """All subtasks had finished before the snapshot, so there is no state."""
        self.finished_subtasks: tuple[int, ...] = state.finished_subtasks

    def __repr__(self) -> str:
        return f"<Operator {self.label}, parallelism {self.parallelism} of {self.max_parallelism}>"

    def _repr_html_(self) -> str:
        return table(
            f"Operator {self.label}, parallelism {self.parallelism} of {self.max_parallelism}",
            ["state", "kind", "status", "reason"],
            [(s.name, s.kind, s.coverage.status, s.coverage.reason) for s in self.states],
        )

    @property
    def label(self) -> str:
        """uid, else name, else id."""
        return operator_label(self._state)

    @property
    def subtask_state_count(self) -> int:
        """Subtasks that left state."""
        return sum(any(True for _ in subtask.handles()) for subtask in self._state.subtasks)

    @property
    def coordinator_size(self) -> int:
        """Bytes of the coordinator's state."""
        return self._state.coordinator.size if self._state.coordinator else 0

    @property
    def coordinator(self) -> dict[str, Any] | None:
        """What the operator's coordinator keeps: its ``bytes``, and of a source the ``version`` and the form of its
        enumerator, as in the job's dataset ``coordinator``; ``None`` where there is nothing. ``docs/types.md`` has the forms.
        """
        if self._state.coordinator is None:
            return None
        from serializers.connectors import decode_coordinator

        return decode_coordinator(self._state.coordinator.data)

    @property
    def total_size(self) -> int:
        """Bytes of all state that the handles represent, the coordinator's included."""
        return sum(use.handle.size for use in self._state.handles())

    @property
    def handles(self) -> list[tuple[str, str, str, int, int]]:
        """How the state is kept: role, kind of handle, kind of stream, how many, and their bytes."""
        number: Counter[tuple[str, str, str]] = Counter()
        size: Counter[tuple[str, str, str]] = Counter()
        for use in self._state.handles():
            streams = sorted({stream.kind for stream in use.handle.streams()})
            key = (use.role, use.handle.kind, " and ".join(streams) or "-")
            number[key] += 1
            size[key] += use.handle.size
        return [(*key, number[key], size[key]) for key in number]

    @cached_property
    def _inventory(self) -> OperatorInventory:
        return self.snapshot._opened.inventory([self._state])[self.id]

    @cached_property
    def _forecasts(self) -> Forecasts:
        return Forecasts(self.snapshot._opened.options.context.of_operator(self.id))

    @cached_property
    @leaving()
    def states(self) -> tuple[State, ...]:
        """The states by name, first keyed, then operator state. If no header has the names of states, the name is empty."""
        inventory = self._inventory
        named = [State(self, s.entry, s) for s in (*inventory.named, *inventory.nameless) if s.entry is not None]
        read = [o for o in self.snapshot.operators if o is self or "states" in vars(o)]
        unread = [o._state for o in self.snapshot.operators if o not in read or o.problems]
        self.snapshot._opened.overrides.refuse_unused(unread)
        self.snapshot._opened.policies.refuse_unused(unread)
        return tuple(sorted(named, key=lambda s: (s.scope, s.name)))

    @leaving()
    def timers(self) -> pa.RecordBatchReader:
        """All timers of the operator, of every kind and service, whatever state they are kept in.

        :raises UsageError: where it has none, or where those of several services have different columns.
        """
        queues = [state for state in self.states if state.kind == "timer"]
        if not queues:
            raise UsageError("the operator has no timers", operator=self.label)
        if any(state.schema != queues[0].schema for state in queues):
            names = ", ".join(repr(state.name) for state in queues)
            raise UsageError(
                "the timers of the operator have different columns",
                operator=self.label,
                advice=f"read {names} one by one",
            )
        readers = [state.to_batches() for state in queues]
        return pa.RecordBatchReader.from_batches(queues[0].schema, (batch for reader in readers for batch in reader))

    @property
    def unnamed(self) -> list[UnnamedState]:
        """State without a name: coordinators, raw state, in-flight data."""
        listed = [state.entry for state in (*self._inventory.named, *self._inventory.nameless)]  # one may be called ""
        return [
            UnnamedState(e.kind, e.form, e.size, e.handles, e.status, api_door().reason(e.reason))
            for e in self._inventory.entries
            if e.state is None and e.status is not Status.EMPTY and not any(e is known for known in listed)
        ]

    @property
    def notes(self) -> list[str]:
        """What is uncertain of how its state is read, in sentences: a key's type that was found by trial."""
        return list(self._inventory.notes)

    @property
    def problems(self) -> list[StateExtractError]:
        """What is wrong with files that are missing or unreadable."""
        return [problem.worded(api_door()) for problem in self._inventory.problems]

    @leaving()
    def state(self, name: str, scope: StateScope | None = None) -> State:
        """The state of this name.

        :param scope: ``keyed`` or ``operator``, where there is one of each.
        :raises UsageError: where there is none. If a file could not be read that may hold it, the reason instead.
        """
        matching = find_named(name, (s for s in self.states if scope in (None, s.scope)), lambda s: (s.name,))
        if not matching:
            for state in self._inventory.nameless:
                raise state.problems[0]
            known = [s.name for s in self.states if scope in (None, s.scope)]
            raise UsageError(
                f"no {f'{scope} ' if scope else ''}state of the operator is called {name!r}",
                operator=self.label,
                advice=there_is(name, known, "states"),
            )
        if len({s.name for s in matching}) > 1:
            raise UsageError(f"the names of {len(matching)} states of the operator are shown as {name!r}",
                             operator=self.label, advice="read all states of the operator")  # fmt: skip
        if len(matching) > 1:
            raise UsageError(f"the operator has a keyed and an operator state called {name!r}", advice="give the scope")
        return matching[0]
