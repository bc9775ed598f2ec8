"""What is known of two jobs: the one that wrote a snapshot, and the new one that is to restore it.

The new job can be known from its own snapshot, from its class files, or from its plan and uids. Also the answers: one for
each state, and :class:`Report` for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol

from serializers.registry import SerializerSnapshot, parts_of
from stateextract.metadata.model import OperatorState
from stateextract.outcome import Status, Verdict
from stateextract.restore.answers import Backend, Findings, Phase, Release, Remark, worst
from stateextract.restore.by_classes import ByClasses
from stateextract.restore.declarations import Declarations, read_declarations
from stateextract.restore.derive import Derivation
from stateextract.restore.job_classes import JobClasses
from stateextract.restore.type_extractor import Extractor
from stateextract.snapshot.headers import StateFile, StateScope
from stateextract.state.bodies.body import BodyKind
from stateextract.state.header import KeyedHeader, StateMeta

ANOTHER_SNAPSHOT: Final = "give a snapshot that the new job took after it started without state (--against)"
PROOF: Final = f"{ANOTHER_SNAPSHOT}, its whole jar (--classpath), or --same-declarations if only classes of its data changed"
_DEFAULT_MAX: Final = 128
_UPPER_MAX: Final = 1 << 15

StateKey = tuple[StateScope, str, str]
"""Scope, group and name: states of two groups may have one name."""


class Values(Protocol):
    """What only the values of a state show. Each answer is a text where it cannot be had."""

    def subclasses(self, operator: str, scope: StateScope, state: str) -> frozenset[str] | str:
        """The classes of the POJOs in a state, as far as no snapshot lists them."""

    def reread(self, operator: str, scope: StateScope, state: str) -> Verdict | str:
        """What becomes of the values that Kryo wrote, when they are read with the new job's classes."""

    def rows(self, operator: str, scope: StateScope, state: str) -> int | str:
        """How many rows a state has."""


@dataclass(frozen=True)
class StateCheck:
    """What becomes of one state, or of an operator where ``state_name`` is ``None``.

    :param phase: when it shows first.
    :param remarks: why, what decides first.
    :param rows: how many rows the state has, and ``size`` the bytes of its files, if they were looked up.
    :param status: whether they can be extracted: a word of ``docs/exit-codes.md``.
    """

    operator_id: str
    operator_uid: str | None
    operator_name: str | None
    operator_label: str
    state_name: str | None
    state_scope: StateScope | None
    state_kind: str
    verdict: Verdict
    phase: Phase | None
    remarks: tuple[Remark, ...]
    rows: int | None = None
    size: int | None = None
    status: Status | None = None

    @property
    def reason(self) -> str:
        """All reasons, what decides first."""
        return "; ".join(dict.fromkeys(remark.reason for remark in self.remarks))

    @property
    def advice(self) -> str:
        """What to do, for the reasons that decide."""
        return "; ".join(dict.fromkeys(r.advice for r in self.remarks if r.advice and r.verdict is self.verdict))


@dataclass(frozen=True)
class Report:
    """The answer to the whole question.

    :param states: by operator, as in ``_metadata``.
    :param assumptions: what was taken to be so, in sentences.
    """

    states: tuple[StateCheck, ...]
    assumptions: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Of the whole job: a job restores only if each of its states does."""
        return worst(state.verdict for state in self.states)


@dataclass
class JobOperator:
    """An operator of one of the two jobs.

    :param keys: the serializers of its keys in its files, equal ones once.
    :param states: by scope, backend type and name: what the heads say, equal ones once.
    :param unread: why heads cannot be read.
    :param listed: RocksDB's own files, whose snapshots list the POJO subclasses that were met.
    """

    state: OperatorState
    keys: list[SerializerSnapshot] = field(default_factory=list)
    states: dict[StateKey, list[StateMeta]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    listed: bool = True

    def snapshots(self) -> list[SerializerSnapshot]:
        """The serializers of its keys and states."""
        return [*self.keys, *(s for metas in self.states.values() for meta in metas for s in meta.serializers.values())]


def operators_of(operators: Sequence[OperatorState], files: Iterable[StateFile]) -> list[JobOperator]:
    """The operators with what the heads of their files say."""
    found = [JobOperator(operator) for operator in operators]
    seen: list[set[bytes]] = [set() for _ in operators]
    for file in files:
        job_operator = found[file.operator]
        if file.problem is not None:
            job_operator.unread.append(file.problem.message)
        if file.scope == "keyed" and file.form is not BodyKind.SST_FILES:
            job_operator.listed = False
        if file.header is None or file.header_key in seen[file.operator]:
            continue
        seen[file.operator].add(file.header_key)
        if isinstance(file.header, KeyedHeader) and file.header.key_serializer not in job_operator.keys:
            job_operator.keys.append(file.header.key_serializer)
        for meta in file.header.states:
            job_operator.states.setdefault((file.scope, group_of(meta), meta.name), []).append(meta)
    return found


def group_of(meta: StateMeta) -> str:
    """Where a backend looks a state up by its name: key-value states of one type, or queues."""
    return "QUEUE" if meta.backend_type == "PRIORITY_QUEUE" else meta.backend_type.removesuffix("_V2")


@dataclass
class NewJob:
    """What is known of the new job.

    :param operators: of its snapshot, by id; ``None``: there is none.
    :param owned: ids of its operators by its plan and uids; ``None``: neither was given.
    :param same_queries: ids of operators whose queries are equal in both plans.
    :param max_parallelism: set explicitly; 0: set nowhere; ``None``: not known.
    :param same_job: it is the old job, on another release or with other settings.
    :param same_declarations: it has the operators, keys and states of the old job, and only its classes may differ.
    :param allow_non_restored: state of operators that are gone may be dropped.
    """

    operators: Mapping[str, JobOperator] | None = None
    owned: frozenset[str] | None = None
    same_queries: frozenset[str] = frozenset()
    classes: JobClasses | None = None
    release: Release | None = None
    backend: Backend | None = None
    max_parallelism: int | None = None
    parallelism: int | None = None
    same_job: bool = False
    same_declarations: bool = False
    allow_non_restored: bool = False


@dataclass
class Jobs:
    """Both jobs.

    :param old: the operators of the snapshot.
    :param old_classes: of the job that wrote it; ``None``: not given.
    :param from_flink_1: it ran on Flink 1.
    :param values: answers what needs values; ``None``: nothing does.
    """

    old: Sequence[JobOperator]
    new: NewJob
    old_classes: JobClasses | None = None
    from_flink_1: bool = False
    values: Values | None = None

    @cached_property
    def named(self) -> frozenset[str]:
        """The classes that the new job's snapshot names."""
        operators = (self.new.operators or {}).values()
        return frozenset(name for operator in operators for name in classes_in(operator.snapshots()))

    @cached_property
    def by_classes(self) -> ByClasses | None:
        """What the new job's classes prove; ``None``: there are none."""
        new = self.new
        if new.classes is None:
            return None
        extractor = Extractor(new.classes, new.release)
        return ByClasses(self._declarations, extractor, Derivation(extractor, self.old_classes))

    @cached_property
    def _declarations(self) -> Declarations | None:
        """What the new job's classes declare; ``None``: nothing, so they are those of its data alone."""
        new = self.new
        if new.classes is None or new.same_declarations:
            return None
        found = read_declarations(new.classes)
        return found if found.of_job else None

    @property
    def only_data(self) -> bool:
        """Whether the class path has classes, and none with code of a job."""
        new = self.new
        return new.classes is not None and not new.same_declarations and self._declarations is None

    def is_gone(self, operator: JobOperator) -> bool:
        """Whether the new job is known, and nothing of it has the operator's id."""
        new = self.new
        return not (new.operators is None and new.owned is None) and not self._is_owned(operator)

    def _is_owned(self, operator: JobOperator) -> bool:
        return operator.state.id in {*(self.new.operators or ()), *(self.new.owned or ())}

    def unproven(self, operator: JobOperator, findings: Findings) -> None:
        """Add what no input shows of an operator: whether the new job has it, and its maximum parallelism."""
        new, owned = self.new, self._is_owned(operator)
        if new.operators is not None or new.same_job or new.same_declarations or findings.verdict is Verdict.REFUSED:
            return
        if self.by_classes is not None:
            for problem in self.by_classes.operator_problems(operator.state, owned, new.max_parallelism is not None):
                findings.unknown("operator", problem, PROOF)
        elif not owned:
            findings.unknown("operator", "no input shows that the new job has it", PROOF)


def default_max_parallelism(parallelism: int) -> int:
    """``KeyGroupRangeAssignment.computeDefaultMaxParallelism``."""
    rounded = 1 << (parallelism + parallelism // 2 - 1).bit_length()
    return min(max(rounded, _DEFAULT_MAX), _UPPER_MAX)


def classes_in(snapshots: Iterable[SerializerSnapshot]) -> Iterator[str]:
    """The classes that snapshots name, at any depth."""
    for snapshot in parts_of(snapshots):
        details = snapshot.details
        name = details.get("class")
        if isinstance(name, str):
            yield name
        for part in ("registered", "other", "declared"):
            yield from details.get(part, ())
        yield from (name for name, _ in details.get("registrations", ()))


def release_of(text: str) -> Release | None:
    """``2.3`` or ``1.20.5``; ``None`` where it is not a release."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        return None
    return Release(int(parts[0]), int(parts[1]) if len(parts) > 1 else None)
