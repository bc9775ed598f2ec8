"""What only the values of a state show: they are read where class files and snapshots leave a doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from stateextract.outcome import Verdict
from stateextract.restore.answers import Phase
from stateextract.restore.compare_serializers import Comparer
from stateextract.restore.job_classes import JobClasses
from stateextract.restore.kryo_rules import doubt_of_fields, doubt_of_upgrade, is_flink_2, may_mean_other, must_fail
from stateextract.restore.two_jobs import JobOperator, Jobs, classes_in
from stateextract.snapshot.headers import StateScope

BOTH_JARS: Final = "give the classes of both jobs, --classpath and --old-classpath"


@dataclass(frozen=True)
class Doubts:
    """What comparing a state left open.

    :param comparer: has the doubts in its findings, and gets what is found.
    """

    jobs: Jobs
    comparer: Comparer
    operator: JobOperator
    scope: StateScope
    state: str

    def resolve(self) -> None:
        """Read the values, if something depends on them."""
        findings, same_job = self.comparer.findings, self.jobs.new.same_job
        if findings.verdict is Verdict.REFUSED:
            return
        if findings.subclasses and not (self.operator.listed and self.scope == "keyed") and not same_job:
            self._unlisted()
        if findings.doubts:
            self._reread()

    def _reread(self) -> None:
        """What Kryo wrote, where class files leave a doubt: the values are read with the classes of both jobs."""
        jobs, findings, names = self.jobs, self.comparer.findings, list(self.comparer.findings.doubts)
        doubts = "; ".join(findings.doubts.values())
        old = jobs.old_classes
        new = old if jobs.new.same_job else jobs.new.classes
        if jobs.values is None or old is None or new is None:
            findings.unknown("value", doubts, BOTH_JARS)
            return
        found = jobs.values.reread(self.operator.state.id, self.scope, self.state)
        upgrade = jobs.from_flink_1 and is_flink_2(self.comparer.release)
        # What Kryo 5 reads otherwise may fail too, or lose data.
        fails = any(must_fail(n, old, new) and not (upgrade and doubt_of_upgrade(n, old)) for n in names)
        changed = any(doubt_of_fields(n, old, new) is not None for n in names)
        phase = Phase.RESTORE if self.comparer.backend == "hashmap" and self.scope == "keyed" else Phase.FIRST_READ
        if found is Verdict.REFUSED and fails:
            text = f"value: KryoException: reading the values with the new classes fails: {doubts}"
            findings.add(found, phase, text, "put the class back as it was, and move its values to another type")
        elif found is Verdict.LOSES and not changed:
            text = f"reading the values gives others: {doubts}"
            findings.loses("value", text, "take the state out with extract", phase)
        elif found is Verdict.AS_IS and not any(may_mean_other(n, old, new) for n in names):
            text = "value: all values were read with the classes of both jobs, and are equal"
            findings.add(Verdict.AS_IS, None, text)
        else:
            more = {
                Verdict.REFUSED: "reading them with the new classes leaves bytes, which Flink may not notice",
                Verdict.LOSES: "reading them with the new classes fails, or gives other values",
                Verdict.AS_IS: "the values are read, but may not be of the declared type",
            }
            text = f"{doubts}; {more[found] if isinstance(found, Verdict) else found}"
            findings.unknown("value", text, "test the restore")

    def _unlisted(self) -> None:
        """POJOs of subclasses that are in the values and in no snapshot, as HashMap leaves them."""
        jobs, findings, old, new = self.jobs, self.comparer.findings, self.jobs.old_classes, self.comparer.new
        found: frozenset[str] | str = "values were not read"
        if jobs.values is not None:
            found = jobs.values.subclasses(self.operator.state.id, self.scope, self.state)
        if isinstance(found, str):
            names = ", ".join(sorted(findings.subclasses))
            text = f"subclasses of {names} that are not registered are in the values only: {found}"
            findings.unknown("value", text, BOTH_JARS)
            return
        for subclass in sorted(found.difference(classes_in(self.operator.snapshots()))):
            if new is None:
                text = f"whether the new job still has {subclass}, which is in the values, is not known"
                findings.unknown("value", text, "give the new job's jar, --classpath")
            elif not new.has(subclass):
                phase = Phase.RESTORE if self.comparer.backend == "hashmap" else Phase.FIRST_READ
                text = f"RuntimeException: Cannot instantiate class: {subclass}, which is in the values, is gone"
                findings.add(Verdict.REFUSED, phase, f"value: {text}", "put the class back")
            elif old is None:
                text = f"whether the unregistered subclass {subclass} changed is not known"
                findings.unknown("value", text, "give the old job's jar, --old-classpath")
            else:
                self._unlisted_change(subclass, old, new)

    def _unlisted_change(self, subclass: str, old: JobClasses, new: JobClasses) -> None:
        before, after = old.model(subclass), new.model(subclass)
        if before == after:
            return
        findings, advice = self.comparer.findings, "register the subclass in both jobs before it changes"
        added = set(after.fields if after else ()) - set(before.fields if before else ())
        if added and self.comparer.backend == "hashmap":
            text = f"value: EOFException: the unregistered subclass {subclass} has new fields, which its values have not"
            findings.add(Verdict.REFUSED, Phase.RESTORE, text, advice)
        else:
            text = f"the unregistered subclass {subclass} changed, and its values have its old fields"
            findings.unknown("value", text, advice)
