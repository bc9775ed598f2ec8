"""Would one state restore, under one backend? Compared with the state of the new job's snapshot, if there is one, else with
what the classes of the new job declare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot, parts_of
from stateextract.outcome import Verdict
from stateextract.restore.answers import Backend, Findings, Phase
from stateextract.restore.by_classes import ByClasses
from stateextract.restore.compare_serializers import Comparer
from stateextract.restore.derive import Derivation, upgraded
from stateextract.restore.doubts import BOTH_JARS, Doubts
from stateextract.restore.job_classes import is_library
from stateextract.restore.loading import Loader
from stateextract.restore.removed import STATES
from stateextract.restore.state_rules import KEY_RULE, check_state, strict
from stateextract.restore.two_jobs import (
    ANOTHER_SNAPSHOT,
    PROOF,
    JobOperator,
    Jobs,
    StateKey,
    classes_in,
    group_of,
)
from stateextract.state.flink_states import purpose_of
from stateextract.state.header import StateMeta
from stateextract.state.kinds import kind_word

_NOT_DECLARED: Final = "the class path has no class of the job's code, and its classes do not show this state's type"

_Keys = tuple[SerializerSnapshot, SerializerSnapshot] | None
"""The serializers of an operator's keys, old and new; ``None`` of operator state."""


class OneState:
    """Checks one state.

    :param key: scope, group and name; :param metas: what the heads of its files say, equal ones once.
    """

    def __init__(
        self, jobs: Jobs, backend: Backend, operator: JobOperator, key: StateKey, metas: Sequence[StateMeta]
    ) -> None:
        new = jobs.new
        self._jobs, self._operator, self._metas = jobs, operator, metas
        self._key, self._scope, self._name = key, key[0], key[2]
        self._comparer = Comparer(
            backend, new.release, jobs.old_classes, new.classes, jobs.from_flink_1,
            same_query=operator.state.id in new.same_queries, same_job=new.same_job,
        )  # fmt: skip
        self._findings = self._comparer.findings

    def check(self) -> Findings:
        """What is found."""
        jobs, comparer, findings = self._jobs, self._comparer, self._findings
        self._load()
        counterpart = (jobs.new.operators or {}).get(self._operator.state.id)
        if counterpart is not None:
            after = counterpart.states.get(self._key)
            if after is None:
                self._without_counterpart(counterpart)
                return findings
            for meta in self._metas:
                for pair in self._keys(counterpart) if self._scope == "keyed" else [None]:
                    check_state(comparer, meta, after[0], pair)
        else:
            if self._scope == "operator" and jobs.from_flink_1:
                self._removed_function()
            if jobs.new.same_job or comparer.same_query:
                self._same()
            else:
                self._by_classes()
                jobs.unproven(self._operator, findings)
        Doubts(jobs, comparer, self._operator, self._scope, self._name).resolve()
        return findings

    def _load(self) -> None:
        new = self._jobs.new
        loader = Loader(new.release, new.classes, self._jobs.named, self._findings, new.same_job)
        for meta in self._metas:
            for part, snapshot in meta.serializers.items():
                loader.load(snapshot, part.removesuffix("_SERIALIZER").lower().replace("_", " "))
        if self._scope == "keyed":
            for key in self._operator.keys:
                loader.load(key, "key")

    def _keys(self, counterpart: JobOperator) -> list[_Keys]:
        return [(old, new) for old in self._operator.keys for new in counterpart.keys]

    # ---- without a snapshot of the new job

    def _same(self) -> None:
        """The same job or query: what its release makes of the same declarations."""
        release = self._comparer.release
        upgrade = self._jobs.from_flink_1 and release is not None and release.major >= 2

        def make(snapshot: SerializerSnapshot) -> SerializerSnapshot:
            return upgraded(snapshot) if upgrade else snapshot

        for meta in self._metas:
            now = replace(meta, serializers={part: make(s) for part, s in meta.serializers.items()})
            for pair in [(key, make(key)) for key in self._operator.keys] if self._scope == "keyed" else [None]:
                check_state(self._comparer, meta, now, pair)

    def _by_classes(self) -> None:
        """What the classes of the new job declare. What they do not prove is not known."""
        jobs, findings = self._jobs, self._findings
        by_classes = jobs.by_classes
        if by_classes is None:
            advice = f"{ANOTHER_SNAPSHOT}, or its jar (--classpath)"
            findings.unknown("state", "no input describes the new job's type of it", advice)
            return
        problems: dict[str, None] = {}
        if jobs.only_data and not self._shows_type():
            problems[_NOT_DECLARED] = None
        trials: list[Findings] = []
        for meta in self._metas:
            for now, keys in self._possible(meta, by_classes, problems):
                trials.append(Findings())
                check_state(replace(self._comparer, findings=trials[-1]), meta, now, keys)
        verdicts = {trial.verdict for trial in trials}
        if len(verdicts) > 1:
            words = ", ".join(sorted(verdicts))
            problems.setdefault(f"the classes of the new job show more than one type of it or of its key ({words})")
        for trial in trials if len(verdicts) == 1 else ():
            findings.include(trial)
        for problem in problems if findings.verdict is not Verdict.REFUSED else ():
            findings.unknown("state", problem, PROOF)

    def _shows_type(self) -> bool:
        """Whether classes of data show what a state's type is now, if its declaration is as before.

        They do if they have a class of its values or keys, and Kryo wrote nothing: whether it writes a class is often declared.
        States that Flink itself declares need none.
        """
        if all(purpose_of(meta.name) is not None or meta.backend_type == "PRIORITY_QUEUE" for meta in self._metas):
            return True
        snapshots = [*self._operator.keys, *self._serializers()]
        has_kryo = any(part.class_name == KRYO_SNAPSHOT for part in parts_of(snapshots))
        return not has_kryo and not set(classes_in(snapshots)).isdisjoint(self._jobs.new.classes or ())

    def _possible(
        self, meta: StateMeta, by_classes: ByClasses, problems: dict[str, None]
    ) -> Iterator[tuple[StateMeta, _Keys]]:
        """What a state and its keys can be in the new job; why that is not proven goes to the problems."""
        names = [name for _, _, name in self._operator.states]
        number = sum((self._scope, group_of(meta), meta.name) in other.states for other in self._jobs.old)
        pairs: list[_Keys] = [None]
        if self._scope == "keyed":
            pairs = []
            for old in self._operator.keys:
                keys = by_classes.keys(old, names)
                pairs += [(old, new) for new in keys.found]
                problems.update(dict.fromkeys(filter(None, [keys.problem])))
        states = by_classes.states(meta, self._scope, number, [pair[1] for pair in pairs if pair is not None])
        problems.update(dict.fromkeys(filter(None, [states.problem])))
        yield from ((now, pair) for now in states.found for pair in pairs)

    def _removed_function(self) -> None:
        """A state whose name is that of a function which Flink 2 does not have."""
        removed, release = STATES.get(self._name), self._comparer.release
        if removed is None or (release is not None and release.major < 2):
            return
        text = f"Flink 2 does not have {removed.what}, which writes this state; its replacement ignores it"
        advice = f"use {removed.instead} in the new job, and take the positions out with extract"
        self._findings.unknown("state", text, advice)

    # ---- the new job's snapshot does not have the state

    def _without_counterpart(self, counterpart: JobOperator) -> None:
        comparer = self._comparer
        for pair in self._keys(counterpart) if self._scope == "keyed" else []:
            if pair is not None:
                strict(comparer, pair[1], pair[0], "key", KEY_RULE)
        self._dropped(counterpart)
        if comparer.backend == "hashmap" and self._scope == "keyed":
            self._read_all_the_same()

    def _dropped(self, counterpart: JobOperator) -> None:
        findings, scope, values = self._findings, self._scope, self._jobs.values
        if counterpart.unread:
            text = "a head of the new job's snapshot cannot be read, so whether it has the state is not known"
            findings.unknown("state", text)
            return
        if values is not None and values.rows(self._operator.state.id, scope, self._name) == 0:
            findings.add(Verdict.AS_IS, None, "the new job has no state of this name, and the old one is empty")
            return
        others = [f"{n!r} ({kind_word(m[0].kind)})" for (s, _, n), m in counterpart.states.items() if s == scope]
        has = f"; its states are {', '.join(others)}" if others else ""
        text = f"the new job has no state of this name and kind, so its values are dropped without an error{has}"
        findings.loses("state", text, "keep the name, or copy the values in the job before it goes", Phase.FIRST_READ)

    def _read_all_the_same(self) -> None:
        """HashMap reads the values of a dropped state too, with the old serializer and the new classes."""
        snapshots = self._serializers()
        if all(is_library(name) or "." not in name for name in classes_in(snapshots)):
            return
        extractor, trial = self._comparer.extractor, replace(self._comparer, findings=Findings())
        if extractor is not None:
            derivation = Derivation(extractor, self._jobs.old_classes)
            for snapshot in snapshots:
                trial.compare(derivation.of(snapshot), snapshot, "value")
        doubtful = trial.findings.doubts or trial.findings.verdict in (Verdict.UNKNOWN, Verdict.REFUSED)
        if extractor is None or doubtful:
            text = "HashMap reads the values of the dropped state with the new classes, which may fail"
            self._findings.unknown("value", text, BOTH_JARS)

    def _serializers(self) -> list[SerializerSnapshot]:
        return [snapshot for meta in self._metas for snapshot in meta.serializers.values()]
