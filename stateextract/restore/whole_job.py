"""Would a whole snapshot restore into a new job? Operators and parallelism first, as Flink's job master checks them, then
every state.

What is not known of the new job is taken to be as before, and :attr:`Report.assumptions` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from serializers.registry import parts_of
from serializers.ttl import is_ttl
from stateextract.metadata.model import OperatorState
from stateextract.metadata.operator_lookup import operator_label
from stateextract.outcome import Verdict
from stateextract.restore.answers import BACKENDS, Findings, Phase, Remark, worst
from stateextract.restore.one_state import OneState
from stateextract.restore.two_jobs import (
    ANOTHER_SNAPSHOT,
    JobOperator,
    Jobs,
    Report,
    StateCheck,
    StateKey,
    default_max_parallelism,
)
from stateextract.snapshot.headers import StateScope
from stateextract.state.header import StateMeta
from stateextract.state.kinds import COORDINATOR, kind_word


def check_jobs(jobs: Jobs) -> Report:
    """Check a snapshot against a new job."""
    checks = tuple(check for operator in jobs.old for check in _operator(jobs, operator))
    return Report(checks, tuple(_assumptions(jobs)))


def _assumptions(jobs: Jobs) -> Iterator[str]:
    new = jobs.new
    if any(operator.keys for operator in jobs.old):
        yield "The new job computes the same keys from its input."
    if any(is_ttl(part) for operator in jobs.old for part in parts_of(operator.snapshots())):
        yield "No time to live is shorter than before."
    if new.same_job:
        yield "The new job is the old one: nothing of its classes, states and operators changed."
    elif new.operators is None:
        if new.same_declarations:
            yield "The new job has the same operators, keys and states, with the same types and time to live."
        elif jobs.only_data:
            yield (
                "The class path has no code of a job: the new job has the same operators, keys and states, with the same "
                "types and time to live. Give its whole jar to check that."
            )
        elif new.classes is not None:
            yield "The class path has all classes of the new job, and none of another job."
            yield "Each state that the classes declare is declared by the same operators as before."
            yield "The settings of the new job register the same types and serializers."
        if new.max_parallelism is None:
            yield "The settings of the new job have the same maximum parallelism, or none."


def _operator(jobs: Jobs, operator: JobOperator) -> Iterator[StateCheck]:
    state, findings, gone = operator.state, Findings(), jobs.is_gone(operator)
    (_orphaned if gone else _parallelism)(jobs, operator, findings)
    raw = any(subtask.raw_operator is not None or subtask.raw_keyed is not None for subtask in state.subtasks)
    if not operator.states and not operator.unread and state.coordinator is None and not raw:
        # Without state only its maximum parallelism counts.
        if findings.verdict is Verdict.REFUSED and not gone:
            yield _made(operator, None, None, "-", findings.remarks)
        return
    if not gone and not operator.states:
        jobs.unproven(operator, findings)
    if (findings.remarks and not gone) or not (operator.states or operator.unread):
        yield _made(operator, None, None, COORDINATOR if state.coordinator else "-", findings.remarks)
    for problem in sorted(set(operator.unread)):
        remark = Remark(Verdict.UNKNOWN, None, f"the head of a state file cannot be read: {problem}")
        yield _made(operator, None, None, "-", [remark])
    if raw and not gone:
        remark = Remark(Verdict.UNKNOWN, None, "the operator reads its raw state itself", "test the restore")
        yield _made(operator, None, None, "raw", [remark])
    for key, metas in sorted(operator.states.items(), key=lambda item: item[0]):
        scope, _, name = key
        remarks = findings.remarks if gone else _state(jobs, operator, key, metas)
        yield _made(operator, name, scope, kind_word(metas[0].kind), remarks)


def _made(
    operator: JobOperator, name: str | None, scope: StateScope | None, kind: str, remarks: Sequence[Remark]
) -> StateCheck:
    state = operator.state
    verdict = worst(remark.verdict for remark in remarks)
    phases = [*Phase, None]
    ordered = sorted(remarks, key=lambda r: (r.verdict is not verdict, phases.index(r.phase)))
    phase = ordered[0].phase if ordered and verdict not in (Verdict.AS_IS, Verdict.UNKNOWN) else None
    return StateCheck(
        state.id, state.uid, state.name, operator_label(state), name, scope, kind, verdict, phase, tuple(ordered)
    )


def _orphaned(jobs: Jobs, operator: JobOperator, findings: Findings) -> None:
    """The new job has no operator with this id."""
    state, new = operator.state, jobs.new
    if new.operators is None and state.uid is None and not new.allow_non_restored:
        findings.add(
            Verdict.UNKNOWN, Phase.SUBMIT, f"no uid that was given leads to the operator {state.id}: it had another uid, "
            "or none, and then Flink computes its id from the graph of the job", ANOTHER_SNAPSHOT,
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


def _parallelism(jobs: Jobs, operator: JobOperator, findings: Findings) -> None:
    """Whether its parallelism fits the maximum that is stored."""
    counterpart = (jobs.new.operators or {}).get(operator.state.id)
    now: OperatorState | None = None if counterpart is None else counterpart.state
    stored = operator.state.max_parallelism
    explicit = jobs.new.max_parallelism
    parallelism = jobs.new.parallelism if now is None else now.parallelism
    doubtful = False
    if explicit is None and now is not None and now.max_parallelism != stored:
        explicit = now.max_parallelism
        # A job that sets none has one by its parallelism, which gives way to the stored one.
        doubtful = explicit == default_max_parallelism(now.parallelism)
    text = f"Max parallelism mismatch between checkpoint/savepoint state ({stored}) and new program ({explicit})"
    if parallelism is not None and parallelism > stored:
        findings.add(
            Verdict.REFUSED, Phase.SUBMIT,
            f"IllegalStateException: The maximum parallelism ({stored}) of the restored state is lower than the configured "
            f"parallelism ({parallelism})", f"run the operator with at most {stored} subtasks",
        )  # fmt: skip
    elif explicit and explicit != stored and doubtful:
        findings.add(
            Verdict.UNKNOWN, Phase.SUBMIT, f"{text}, unless the new job sets none and {explicit} is its default",
            f"give --max-parallelism {explicit} if the job sets it, or 0 if it sets none",
        )  # fmt: skip
    elif explicit and explicit != stored:
        findings.add(
            Verdict.REFUSED, Phase.SUBMIT, f"IllegalStateException: {text}",
            f"set the maximum parallelism to {stored}, or leave it out",
        )  # fmt: skip


def _state(jobs: Jobs, operator: JobOperator, key: StateKey, metas: Sequence[StateMeta]) -> list[Remark]:
    """The remarks; where the backend is not known, those of both, or that they differ."""
    backends = BACKENDS if jobs.new.backend is None else (jobs.new.backend,)
    found = [OneState(jobs, backend, operator, key, metas).check() for backend in backends]
    if len({findings.verdict for findings in found}) == 1:
        return found[-1].remarks
    words = "; ".join(f"{backend}: {f.verdict}" for backend, f in zip(backends, found, strict=True))
    text = f"the backend of the new job decides ({words})"
    return [
        Remark(Verdict.UNKNOWN, None, text, "give --backend hashmap or rocksdb"),
        *(replace(r, verdict=Verdict.AS_IS) for f in found for r in f.remarks if r.verdict is f.verdict),
    ]
