"""Would a whole snapshot restore into a new job? Operators and parallelism first, as Flink's job master checks them, then
every state.

What the new job is can be known from its own snapshot, from its class files, or from its plan and uids; what is not known is
taken to be as before, and :attr:`Report.assumptions` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Protocol

from serializers.kryo.snapshot import KRYO_SNAPSHOT
from serializers.registry import SerializerSnapshot
from serializers.ttl import is_ttl
from stateextract.metadata.model import OperatorState
from stateextract.outcome import Status, Verdict
from stateextract.restore.answers import BACKENDS, Backend, Findings, Phase, Release, Remark, worst
from stateextract.restore.by_classes import ByClasses
from stateextract.restore.classes import JobClasses, is_library
from stateextract.restore.compare import Comparer
from stateextract.restore.declarations import Declarations, read_declarations
from stateextract.restore.derive import Derivation, upgraded
from stateextract.restore.extract import Extractor
from stateextract.restore.kryo import doubt_of_fields, doubt_of_upgrade, is_flink_2, may_mean_other, must_fail
from stateextract.restore.loading import Loader
from stateextract.restore.removed import STATES
from stateextract.restore.state_rules import KEY_RULE, check_state, strict
from stateextract.snapshot.headers import StateFile, StateScope, operator_label
from stateextract.state.bodies.body import BodyKind
from stateextract.state.flink_states import purpose_of
from stateextract.state.header import KeyedHeader, StateMeta
from stateextract.state.kinds import COORDINATOR, kind_word

_MORE: Final = "give a snapshot that the new job took after it started without state (--against)"
_PROOF: Final = f"{_MORE}, its whole jar (--classpath), or --same-declarations if only classes of its data changed"
_BOTH_JARS: Final = "give the classes of both jobs, --classpath and --old-classpath"
_NOT_DECLARED: Final = "the class path has no class of the job's code, and its classes do not show this state's type"
_DEFAULT_MAX: Final = 128
_UPPER_MAX: Final = 1 << 15


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
    states: dict[tuple[StateScope, str, str], list[StateMeta]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    listed: bool = True


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
            job_operator.states.setdefault((file.scope, _group(meta), meta.name), []).append(meta)
    return found


def _group(meta: StateMeta) -> str:
    """States of two groups may have one name."""
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


class Check:
    """Checks one snapshot against one new job.

    :param old_classes: of the job that wrote the snapshot.
    :param from_flink_1: it ran on Flink 1.
    :param values: answers what needs values; ``None``: nothing does.
    """

    def __init__(
        self,
        old: Sequence[JobOperator],
        new: NewJob,
        old_classes: JobClasses | None = None,
        from_flink_1: bool = False,
        values: Values | None = None,
    ) -> None:
        self._old = old
        self._new = new
        self._old_classes = old_classes
        self._from_flink_1 = from_flink_1
        self._values = values
        self._named = frozenset(_named_classes(new.operators or {}))
        self._assumptions: dict[str, None] = {}

    @cached_property
    def _by_class(self) -> ByClasses | None:
        """What the new job's classes prove; ``None``: there are none."""
        new = self._new
        if new.classes is None:
            return None
        extractor = Extractor(new.classes, new.release)
        return ByClasses(self._declarations, extractor, Derivation(extractor, self._old_classes))

    @cached_property
    def _declarations(self) -> Declarations | None:
        """What the new job's classes declare; ``None``: nothing, so they are those of its data alone."""
        new = self._new
        if new.classes is None or new.same_declarations:
            return None
        found = read_declarations(new.classes)
        return found if found.of_job else None

    @property
    def _only_data(self) -> bool:
        """Whether the class path has classes, and none with code of a job."""
        new = self._new
        return new.classes is not None and not new.same_declarations and self._declarations is None

    def _shows_type(self, job_operator: JobOperator, metas: Sequence[StateMeta]) -> bool:
        """Whether classes of data show what a state's type is now, if its declaration is as before.

        They do if they have a class of its values or keys, and Kryo wrote nothing: whether it writes a class is often declared.
        States that Flink itself declares need none.
        """
        if all(purpose_of(meta.name) is not None or meta.backend_type == "PRIORITY_QUEUE" for meta in metas):
            return True
        parts = [*_parts([*job_operator.keys, *(s for meta in metas for s in meta.serializers.values())])]
        named = {name for part in parts for name in _classes_in(part)}
        return all(part.class_name != KRYO_SNAPSHOT for part in parts) and not named.isdisjoint(self._new.classes or ())

    def report(self) -> Report:
        """The verdicts."""
        checks = [check for job_operator in self._old for check in self._operator(job_operator)]
        new = self._new
        if any(job_operator.keys for job_operator in self._old):
            self._assume("The new job computes the same keys from its input.")
        if any(is_ttl(s) for job_operator in self._old for s in _all_snapshots(job_operator)):
            self._assume("No time to live is shorter than before.")
        if new.same_job:
            self._assume("The new job is the old one: nothing of its classes, states and operators changed.")
        elif new.operators is None:
            if new.same_declarations:
                self._assume(
                    "The new job has the same operators, keys and states, with the same types and time to live."
                )
            elif self._only_data:
                self._assume(
                    "The class path has no code of a job: the new job has the same operators, keys and states, with the same "
                    "types and time to live. Give its whole jar to check that."
                )
            elif new.classes is not None:
                self._assume("The class path has all classes of the new job, and none of another job.")
                self._assume("Each state that the classes declare is declared by the same operators as before.")
                self._assume("The settings of the new job register the same types and serializers.")
            if new.max_parallelism is None:
                self._assume("The settings of the new job have the same maximum parallelism, or none.")
        return Report(tuple(checks), tuple(self._assumptions))

    def _assume(self, text: str) -> None:
        self._assumptions.setdefault(text)

    # ---- operators

    def _operator(self, job_operator: JobOperator) -> Iterator[StateCheck]:
        findings = self._graph(job_operator)
        state = job_operator.state
        if not job_operator.states and not job_operator.unread and state.coordinator is None and not _raw(state):
            # Without state only its maximum parallelism counts.
            if findings.verdict is Verdict.REFUSED and not self._is_gone(job_operator):
                yield self._made(job_operator, None, None, "-", findings.remarks)
            return
        gone = self._is_gone(job_operator)
        if not gone and not job_operator.states:
            self._unproven(job_operator, findings)
        if (findings.remarks and not gone) or not (job_operator.states or job_operator.unread):
            yield self._made(
                job_operator, None, None, COORDINATOR if job_operator.state.coordinator else "-", findings.remarks
            )
        for problem in sorted(set(job_operator.unread)):
            remark = Remark(Verdict.UNKNOWN, None, f"the head of a state file cannot be read: {problem}")
            yield self._made(job_operator, None, None, "-", [remark])
        if _raw(job_operator.state) and not gone:
            text = "the operator reads its raw state itself"
            yield self._made(job_operator, None, None, "raw", [Remark(Verdict.UNKNOWN, None, text, "test the restore")])
        for (scope, group, name), metas in sorted(job_operator.states.items(), key=lambda item: item[0]):
            kind = kind_word(metas[0].kind)
            remarks = findings.remarks if gone else self._state(job_operator, (scope, group, name), metas)
            yield self._made(job_operator, name, scope, kind, remarks)

    def _made(
        self,
        job_operator: JobOperator,
        name: str | None,
        scope: StateScope | None,
        kind: str,
        remarks: Sequence[Remark],
    ) -> StateCheck:
        state = job_operator.state
        verdict = worst(remark.verdict for remark in remarks)
        ordered = sorted(remarks, key=lambda r: (r.verdict is not verdict, _order(r.phase)))
        phase = ordered[0].phase if ordered and verdict not in (Verdict.AS_IS, Verdict.UNKNOWN) else None
        return StateCheck(
            state.id, state.uid, state.name, operator_label(state), name, scope, kind, verdict, phase, tuple(ordered)
        )

    def _graph(self, job_operator: JobOperator) -> Findings:
        """Whether the operator is in the new job, and its parallelism fits."""
        new, state, findings = self._new, job_operator.state, Findings()
        if self._is_gone(job_operator):
            self._orphaned(job_operator, findings)
            return findings
        counterpart = None if new.operators is None else new.operators.get(state.id)
        self._parallelism(job_operator, None if counterpart is None else counterpart.state, findings)
        return findings

    def _unproven(self, job_operator: JobOperator, findings: Findings) -> None:
        """What no input shows of an operator: whether the new job has it, and its maximum parallelism."""
        new, state = self._new, job_operator.state
        owned = state.id in {*(new.operators or ()), *(new.owned or ())}
        if new.operators is not None or new.same_job or new.same_declarations or findings.verdict is Verdict.REFUSED:
            return
        if self._by_class is not None:
            for problem in self._by_class.operator_problems(state, owned, new.max_parallelism is not None):
                _not_proven(findings, "operator", problem)
        elif not owned:
            findings.unknown("operator", "no input shows that the new job has it", _PROOF)

    def _is_gone(self, job_operator: JobOperator) -> bool:
        """Whether the new job is known, and nothing of it has the operator's id."""
        operators, owned = self._new.operators, self._new.owned
        if operators is None and owned is None:
            return False
        return job_operator.state.id not in {*(operators or ()), *(owned or ())}

    def _orphaned(self, job_operator: JobOperator, findings: Findings) -> None:
        state, new = job_operator.state, self._new
        if new.operators is None and state.uid is None and not new.allow_non_restored:
            findings.add(
                Verdict.UNKNOWN, Phase.SUBMIT, f"no uid that was given leads to the operator {state.id}: it had another uid, "
                "or none, and then Flink computes its id from the graph of the job", _MORE,
            )  # fmt: skip
        elif new.allow_non_restored:
            text = "the new job has no operator of this id; with allowNonRestoredState its state is dropped"
            findings.loses("operator", text, "give the operator its old uid", Phase.SUBMIT)
        else:
            findings.add(
                Verdict.REFUSED, Phase.SUBMIT,
                f"IllegalStateException: Cannot map checkpoint/savepoint state for operator {state.id} to the new program",
                "give the operator its old uid (setUid, or setUidHash with the id), or drop its state with "
                "allowNonRestoredState",
            )  # fmt: skip

    def _parallelism(self, job_operator: JobOperator, now: OperatorState | None, findings: Findings) -> None:
        stored = job_operator.state.max_parallelism
        explicit = self._new.max_parallelism
        parallelism = self._new.parallelism if now is None else now.parallelism
        doubtful = False
        if explicit is None and now is not None and now.max_parallelism != stored:
            explicit = now.max_parallelism
            # A job that sets none has one by its parallelism, which gives way to the stored one.
            doubtful = explicit == default_max_parallelism(now.parallelism)
        too_many = parallelism is not None and parallelism > stored
        if too_many:
            findings.add(
                Verdict.REFUSED, Phase.SUBMIT,
                f"IllegalStateException: The maximum parallelism ({stored}) of the restored state is lower than the configured "
                f"parallelism ({parallelism})", f"run the operator with at most {stored} subtasks",
            )  # fmt: skip
        elif explicit and explicit != stored:
            text = (
                f"Max parallelism mismatch between checkpoint/savepoint state ({stored}) and new program ({explicit})"
            )
            if doubtful:
                findings.add(
                    Verdict.UNKNOWN, Phase.SUBMIT, f"{text}, unless the new job sets none and {explicit} is its default",
                    f"give --max-parallelism {explicit} if the job sets it, or 0 if it sets none",
                )  # fmt: skip
            else:
                findings.add(
                    Verdict.REFUSED, Phase.SUBMIT, f"IllegalStateException: {text}",
                    f"set the maximum parallelism to {stored}, or leave it out",
                )  # fmt: skip

    # ---- states

    def _state(
        self, job_operator: JobOperator, state_key: tuple[StateScope, str, str], metas: Sequence[StateMeta]
    ) -> list[Remark]:
        """The remarks; where the backend is not known, those of both, or that they differ."""
        backends = BACKENDS if self._new.backend is None else (self._new.backend,)
        found = [self._under(backend, job_operator, state_key, metas) for backend in backends]
        if len({findings.verdict for findings in found}) == 1:
            return found[-1].remarks
        words = "; ".join(f"{backend}: {f.verdict}" for backend, f in zip(backends, found, strict=True))
        text = f"the backend of the new job decides ({words})"
        remarks = [Remark(Verdict.UNKNOWN, None, text, "give --backend hashmap or rocksdb")]
        return [
            *remarks,
            *(replace(r, verdict=Verdict.AS_IS) for f in found for r in f.remarks if r.verdict is f.verdict),
        ]

    def _under(
        self,
        backend: Backend,
        job_operator: JobOperator,
        state_key: tuple[StateScope, str, str],
        metas: Sequence[StateMeta],
    ) -> Findings:
        scope, _, name = state_key
        new = self._new
        comparer = Comparer(
            backend, new.release, self._old_classes, new.classes, self._from_flink_1,
            same_query=job_operator.state.id in new.same_queries, same_job=new.same_job,
        )  # fmt: skip
        findings = comparer.findings
        loader = Loader(new.release, new.classes, self._named, findings, new.same_job)
        for meta in metas:
            for part, snapshot in meta.serializers.items():
                loader.load(snapshot, part.removesuffix("_SERIALIZER").lower().replace("_", " "))
        if scope == "keyed":
            for key in job_operator.keys:
                loader.load(key, "key")
        counterpart = (new.operators or {}).get(job_operator.state.id)
        if counterpart is None and scope == "operator" and self._from_flink_1:
            self._removed_function(comparer.release, name, findings)
        if counterpart is not None:
            after = counterpart.states.get(state_key)
            if after is None:
                key_pairs = [(a, b) for a in job_operator.keys for b in counterpart.keys] if scope == "keyed" else []
                for old_key, new_key in key_pairs:
                    strict(comparer, new_key, old_key, "key", KEY_RULE)
                self._dropped(counterpart, state_key, job_operator.state.id, findings)
                if backend == "hashmap" and scope == "keyed":
                    self._read_all_the_same(comparer, metas)
                return findings
            for meta in metas:
                keys = [(a, b) for a in job_operator.keys for b in counterpart.keys] if scope == "keyed" else [None]
                for pair in keys:
                    check_state(comparer, meta, after[0], pair)
        elif new.same_job or comparer.same_query:
            self._same(comparer, job_operator, scope, metas)
        else:
            self._by_classes(comparer, job_operator, scope, metas)
            self._unproven(job_operator, findings)
        self._ask_values(comparer, job_operator, scope, name)
        return findings

    def _same(
        self, comparer: Comparer, job_operator: JobOperator, scope: StateScope, metas: Sequence[StateMeta]
    ) -> None:
        """The same job or query: what its release makes of the same declarations."""
        upgrade = self._from_flink_1 and comparer.release is not None and comparer.release.major >= 2
        make = upgraded if upgrade else _as_it_is
        for meta in metas:
            now = replace(meta, serializers={part: make(s) for part, s in meta.serializers.items()})
            for pair in [(key, make(key)) for key in job_operator.keys] if scope == "keyed" else [None]:
                check_state(comparer, meta, now, pair)

    def _by_classes(
        self, comparer: Comparer, job_operator: JobOperator, scope: StateScope, metas: Sequence[StateMeta]
    ) -> None:
        """Without a snapshot of the new job: what its classes declare. What they do not prove is not known."""
        findings = comparer.findings
        by_classes = self._by_class
        if by_classes is None:
            findings.unknown(
                "state", "no input describes the new job's type of it", f"{_MORE}, or its jar (--classpath)"
            )
            return
        problems: dict[str, None] = {}
        if self._only_data and not self._shows_type(job_operator, metas):
            problems[_NOT_DECLARED] = None
        trials: list[Findings] = []
        for meta in metas:
            for now, keys in self._possible(job_operator, scope, meta, by_classes, problems):
                trials.append(Findings())
                check_state(replace(comparer, findings=trials[-1]), meta, now, keys)
        verdicts = {trial.verdict for trial in trials}
        if len(verdicts) > 1:
            words = ", ".join(sorted(verdicts))
            problems.setdefault(f"the classes of the new job show more than one type of it or of its key ({words})")
        for trial in trials if len(verdicts) == 1 else ():
            findings.include(trial)
        for problem in problems if findings.verdict is not Verdict.REFUSED else ():
            _not_proven(findings, "state", problem)

    def _possible(
        self,
        job_operator: JobOperator,
        scope: StateScope,
        meta: StateMeta,
        by_classes: ByClasses,
        problems: dict[str, None],
    ) -> Iterator[tuple[StateMeta, tuple[SerializerSnapshot, SerializerSnapshot] | None]]:
        """What a state and its keys can be in the new job; why that is not proven goes to the problems."""
        names = [name for _, _, name in job_operator.states]
        number = sum((scope, *rest) in other.states for other in self._old for rest in [(_group(meta), meta.name)])
        pairs: list[tuple[SerializerSnapshot, SerializerSnapshot] | None] = [None]
        if scope == "keyed":
            pairs = []
            for old in job_operator.keys:
                keys = by_classes.keys(old, names)
                pairs += [(old, new) for new in keys.found]
                problems.update(dict.fromkeys(filter(None, [keys.problem])))
        states = by_classes.states(meta, scope, number, [pair[1] for pair in pairs if pair is not None])
        problems.update(dict.fromkeys(filter(None, [states.problem])))
        yield from ((now, pair) for now in states.found for pair in pairs)

    def _removed_function(self, release: Release | None, name: str, findings: Findings) -> None:
        """A state whose name is that of a function which Flink 2 does not have."""
        removed = STATES.get(name)
        if removed is None or (release is not None and release.major < 2):
            return
        text = f"Flink 2 does not have {removed.what}, which writes this state; its replacement ignores it"
        findings.unknown(
            "state", text, f"use {removed.instead} in the new job, and take the positions out with extract"
        )

    def _dropped(
        self, counterpart: JobOperator, state_key: tuple[StateScope, str, str], operator: str, findings: Findings
    ) -> None:
        scope, _, name = state_key
        if counterpart.unread:
            findings.unknown(
                "state", "a head of the new job's snapshot cannot be read, so whether it has the state is not known"
            )
            return
        rows = "" if self._values is None else self._values.rows(operator, scope, name)
        if rows == 0:
            findings.add(Verdict.AS_IS, None, "the new job has no state of this name, and the old one is empty")
            return
        others = [f"{n!r} ({kind_word(m[0].kind)})" for (s, _, n), m in counterpart.states.items() if s == scope]
        has = f"; its states are {', '.join(others)}" if others else ""
        text = f"the new job has no state of this name and kind, so its values are dropped without an error{has}"
        findings.loses("state", text, "keep the name, or copy the values in the job before it goes", Phase.FIRST_READ)

    def _read_all_the_same(self, comparer: Comparer, metas: Sequence[StateMeta]) -> None:
        """HashMap reads the values of a dropped state too, with the old serializer and the new classes."""
        snapshots = [s for meta in metas for s in meta.serializers.values()]
        if all(is_library(name) or "." not in name for snapshot in snapshots for name in _all_classes(snapshot)):
            return
        extractor, trial = comparer.extractor, replace(comparer, findings=Findings())
        if extractor is not None:
            derivation = Derivation(extractor, self._old_classes)
            for snapshot in snapshots:
                trial.compare(derivation.of(snapshot), snapshot, "value")
        doubtful = trial.findings.doubts or trial.findings.verdict in (Verdict.UNKNOWN, Verdict.REFUSED)
        if extractor is None or doubtful:
            text = "HashMap reads the values of the dropped state with the new classes, which may fail"
            comparer.findings.unknown("value", text, _BOTH_JARS)

    # ---- what only values show

    def _ask_values(self, comparer: Comparer, job_operator: JobOperator, scope: StateScope, name: str) -> None:
        findings, operator = comparer.findings, job_operator.state.id
        if findings.verdict is Verdict.REFUSED:
            return
        if findings.subclasses and not (job_operator.listed and scope == "keyed") and not self._new.same_job:
            listed = frozenset(name for snapshot in _all_snapshots(job_operator) for name in _classes_in(snapshot))
            self._unlisted(comparer, operator, scope, name, listed)
        if findings.doubts:
            self._reread(comparer, operator, scope, name)

    def _reread(self, comparer: Comparer, operator: str, scope: StateScope, name: str) -> None:
        """What Kryo wrote, where class files leave a doubt: the values are read with the classes of both jobs."""
        findings, names = comparer.findings, list(comparer.findings.doubts)
        doubts = "; ".join(findings.doubts.values())
        old = self._old_classes
        new = old if self._new.same_job else self._new.classes
        if self._values is None or old is None or new is None:
            findings.unknown("value", doubts, _BOTH_JARS)
            return
        found = self._values.reread(operator, scope, name)
        upgrade = self._from_flink_1 and is_flink_2(comparer.release)
        # What Kryo 5 reads otherwise may fail too, or lose data.
        fails = any(must_fail(n, old, new) and not (upgrade and doubt_of_upgrade(n, old)) for n in names)
        changed = any(doubt_of_fields(n, old, new) is not None for n in names)
        phase = Phase.RESTORE if comparer.backend == "hashmap" and scope == "keyed" else Phase.FIRST_READ
        if found is Verdict.REFUSED and fails:
            text = f"value: KryoException: reading the values with the new classes fails: {doubts}"
            findings.add(found, phase, text, "put the class back as it was, and move its values to another type")
        elif found is Verdict.LOSES and not changed:
            findings.loses(
                "value", f"reading the values gives others: {doubts}", "take the state out with extract", phase
            )
        elif found is Verdict.AS_IS and not any(may_mean_other(n, old, new) for n in names):
            findings.add(
                Verdict.AS_IS, None, "value: all values were read with the classes of both jobs, and are equal"
            )
        else:
            more = {
                Verdict.REFUSED: "reading them with the new classes leaves bytes, which Flink may not notice",
                Verdict.LOSES: "reading them with the new classes fails, or gives other values",
                Verdict.AS_IS: "the values are read, but may not be of the declared type",
            }
            findings.unknown(
                "value", f"{doubts}; {more[found] if isinstance(found, Verdict) else found}", "test the restore"
            )

    def _unlisted(
        self, comparer: Comparer, operator: str, scope: StateScope, name: str, listed: frozenset[str]
    ) -> None:
        """POJOs of subclasses that are in the values and in no snapshot, as HashMap leaves them."""
        findings = comparer.findings
        found = "values were not read" if self._values is None else self._values.subclasses(operator, scope, name)
        if isinstance(found, str):
            text = (
                f"subclasses of {', '.join(sorted(findings.subclasses))} that are not registered are in the values only"
            )
            findings.unknown("value", f"{text}: {found}", _BOTH_JARS)
            return
        for subclass in sorted(found - listed):
            there = comparer.new.has(subclass) if comparer.new is not None else None
            if there is None:
                text = f"whether the new job still has {subclass}, which is in the values, is not known"
                findings.unknown("value", text, "give the new job's jar, --classpath")
            elif not there:
                phase = Phase.RESTORE if comparer.backend == "hashmap" else Phase.FIRST_READ
                text = f"RuntimeException: Cannot instantiate class: {subclass}, which is in the values, is gone"
                findings.add(Verdict.REFUSED, phase, f"value: {text}", "put the class back")
            elif self._old_classes is None or comparer.new is None:
                text = f"whether the unregistered subclass {subclass} changed is not known"
                findings.unknown("value", text, "give the old job's jar, --old-classpath")
            else:
                self._unlisted_change(comparer, subclass, self._old_classes, comparer.new)

    def _unlisted_change(self, comparer: Comparer, subclass: str, old: JobClasses, new: JobClasses) -> None:
        before, after = old.model(subclass), new.model(subclass)
        if before == after:
            return
        advice = "register the subclass in both jobs before it changes"
        added = set(after.fields if after else ()) - set(before.fields if before else ())
        if added and comparer.backend == "hashmap":
            text = (
                f"value: EOFException: the unregistered subclass {subclass} has new fields, which its values have not"
            )
            comparer.findings.add(Verdict.REFUSED, Phase.RESTORE, text, advice)
        else:
            text = f"the unregistered subclass {subclass} changed, and its values have its old fields"
            comparer.findings.unknown("value", text, advice)


def _not_proven(findings: Findings, at: str, problem: str) -> None:
    findings.unknown(at, problem, _PROOF)


def _as_it_is(snapshot: SerializerSnapshot) -> SerializerSnapshot:
    return snapshot


def default_max_parallelism(parallelism: int) -> int:
    """``KeyGroupRangeAssignment.computeDefaultMaxParallelism``."""
    rounded = 1 << (parallelism + parallelism // 2 - 1).bit_length()
    return min(max(rounded, _DEFAULT_MAX), _UPPER_MAX)


def _order(phase: Phase | None) -> int:
    return len(Phase) if phase is None else list(Phase).index(phase)


def _raw(state: OperatorState) -> bool:
    return any(subtask.raw_operator is not None or subtask.raw_keyed is not None for subtask in state.subtasks)


def _named_classes(operators: Mapping[str, JobOperator]) -> Iterator[str]:
    for job_operator in operators.values():
        for snapshot in _all_snapshots(job_operator):
            yield from _classes_in(snapshot)


def _all_snapshots(job_operator: JobOperator) -> Iterator[SerializerSnapshot]:
    """The serializers of an operator, with all that is in them."""
    yield from _parts(
        [*job_operator.keys, *(s for metas in job_operator.states.values() for m in metas for s in m.serializers.values())]
    )


def _parts(snapshots: Iterable[SerializerSnapshot]) -> Iterator[SerializerSnapshot]:
    """Snapshots, with all that is in them."""
    ahead = [*snapshots]
    while ahead:
        snapshot = ahead.pop()
        yield snapshot
        ahead += snapshot.nested


def _all_classes(snapshot: SerializerSnapshot) -> Iterator[str]:
    """The classes that a snapshot names, at any depth."""
    yield from _classes_in(snapshot)
    for nested in snapshot.nested:
        yield from _all_classes(nested)


def _classes_in(snapshot: SerializerSnapshot) -> Iterator[str]:
    name = snapshot.details.get("class")
    if isinstance(name, str):
        yield name
    for part in ("registered", "other", "declared"):
        yield from snapshot.details.get(part, ())
    yield from (name for name, _ in snapshot.details.get("registrations", ()))


def release_of(text: str) -> Release | None:
    """``2.3`` or ``1.20.5``; ``None`` where it is not a release."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
        return None
    return Release(int(parts[0]), int(parts[1]) if len(parts) > 1 else None)
