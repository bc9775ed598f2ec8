"""POJOs and records: ``PojoSerializerSnapshot``.

Fields are matched by name within the class that declares them or its superclasses. A field more or less is a migration; a
field whose type changed is what comparing its serializers says. A renamed field is one less and one more, so its values go.

Of the subclasses, those that the job registered are compared like fields. Those that it did not register are in the
snapshot only if the serializer had met them; Flink goes on using their old layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from serializers.pojo import POJO_SNAPSHOT, REMOVED
from serializers.registry import SerializerSnapshot
from stateextract.outcome import Verdict
from stateextract.restore.answers import Answer, Findings, Phase

if TYPE_CHECKING:
    from stateextract.restore.compare_serializers import Comparer


def pojos(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    """The answer for a POJO."""
    name = old.details["class"]
    if new.details["class"] != name:
        return comparer.findings.incompatible(
            at, f"the POJO {name} became {new.details['class']}", "keep the class' name and package"
        )
    answer = max(_fields(comparer, new, old, at), _registered(comparer, new, old, at))
    if _may_have_subclasses(comparer, name):
        comparer.findings.subclasses.add(name)
    listed = [s for s in old.details["other"] if s not in new.details["registered"]]
    unlisted = [s for s in old.details["registered"] if s not in new.details["registered"]]
    known = subclass_snapshots(old)
    for subclass in (*listed, *unlisted):
        answer = max(answer, _kept_layout(comparer, known[subclass], subclass, at))
    return answer


def pojo_fields(snapshot: SerializerSnapshot) -> Iterator[tuple[str, str, SerializerSnapshot]]:
    """Name, declaring class and serializer of each field."""
    names = snapshot.details["fields"]
    declared = snapshot.details.get("declared") or ("",) * len(names)
    yield from zip(names, declared, snapshot.nested[: len(names)], strict=True)


def subclass_snapshots(snapshot: SerializerSnapshot) -> Mapping[str, SerializerSnapshot]:
    """The serializers of subclasses, registered ones first."""
    details = snapshot.details
    names = (*details["registered"], *details["other"])
    return dict(zip(names, snapshot.nested[len(details["fields"]) :], strict=True))


def _fields(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    findings, name = comparer.findings, old.details["class"]
    after = {field: (declaring, serializer) for field, declaring, serializer in pojo_fields(new)}
    answer, removed, kept = Answer.AS_IS, [], set()
    for field, declaring, serializer in pojo_fields(old):
        if field.startswith(REMOVED) or field not in after:
            removed.append(field)
            continue
        same = _is_same_field(comparer, name, field, declaring, after[field][0])
        if same is None:
            return findings.unknown(
                f"{at}.{field}",
                f"{declaring} declared it, and {after[field][0]} does now: whether the one extends the other is not known",
                "give the new job's jar, --classpath",
            )
        if not same:
            removed.append(field)
            continue
        kept.add(field)
        answer = max(answer, comparer.compare(after[field][1], serializer, f"{at}.{field}"))
    added = [field for field in after if field not in kept]
    if removed and added:
        findings.loses(
            at,
            f"{name}: {_list(removed)} {_is(removed)} gone and {_list(added)} {_is(added)} new; Flink matches fields by name "
            "and declaring class, so a renamed field begins empty",
            "keep the field's name, or copy its values in the job before the field goes",
            Phase.FIRST_READ,
        )
    elif removed:
        findings.add(Verdict.MIGRATED, None, f"{at}: {name} loses {_list(removed)}; the values are dropped")
    elif added:
        text = f"{at}: {name} gets {_list(added)}, with what the constructor sets, else 0 or null"
        findings.add(Verdict.MIGRATED, None, text)
    return max(answer, Answer.MIGRATION) if removed or added else answer


def _is_same_field(comparer: Comparer, name: str, field: str, before: str, after: str) -> bool | None:
    """Whether Flink finds the old field in the new class: the class that declared it, and its superclasses, are searched."""
    if before in (after, name) or not (before and after):
        return True
    if after == name:
        return False  # it moved down, where nothing is searched
    if comparer.new is None:
        return None
    lineage = comparer.new.lineage(before)
    if lineage is None:
        return False if comparer.new.shape(before) is None else None
    declaring = next((s.model.name for s in lineage if any(f.name == field for f in s.model.fields)), None)
    return declaring == after


def _registered(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    before, after = old.details["registered"], new.details["registered"]
    answer = Answer.AS_IS if after[: len(before)] == before and not old.details["other"] else Answer.RECONFIGURED
    known_before, known_after = subclass_snapshots(old), subclass_snapshots(new)
    for subclass in before:
        if subclass in after:
            part = f"{at} ({subclass})"
            answer = max(answer, comparer.compare(known_after[subclass], known_before[subclass], part))
    return answer


def _kept_layout(comparer: Comparer, old: SerializerSnapshot, name: str, at: str) -> Answer:
    """A subclass that the new job does not register, or did not: Flink keeps writing it as before."""
    findings = comparer.findings
    if comparer.same_job:
        return Answer.RECONFIGURED
    extractor = comparer.extractor
    if extractor is None or not extractor.classes.has(name):
        return findings.unknown(
            at, f"whether the unregistered subclass {name} changed is not in any snapshot", "give the jar, --classpath"
        )
    new = extractor.of_class(name)
    if new is None:
        return findings.unknown(at, f"the fields of the unregistered subclass {name} do not follow from its class file")
    answer = replace(comparer, findings=Findings()).compare(new, old, f"{at} ({name})")
    if answer is Answer.AS_IS:
        return Answer.RECONFIGURED
    if old.class_name != POJO_SNAPSHOT or new.class_name != POJO_SNAPSHOT or answer is not Answer.MIGRATION:
        return findings.unknown(at, f"the unregistered subclass {name} changed, and Flink does not compare it")
    lost = {f for f, _, _ in pojo_fields(old)} - {f for f, _, _ in pojo_fields(new)}
    if lost:
        return findings.unknown(at, f"the unregistered subclass {name} lost {_list(sorted(lost))}")
    advice = "register the subclass in both jobs before it changes"
    if comparer.backend == "hashmap":
        return findings.unknown(at, f"the unregistered subclass {name} changed, which HashMap may not read", advice)
    findings.loses(
        at,
        f"the old layout of the unregistered subclass {name} stays in use for good; its new fields are never written",
        advice,
        Phase.FIRST_READ,
    )
    return Answer.RECONFIGURED


def _may_have_subclasses(comparer: Comparer, name: str) -> bool:
    model = None if comparer.new is None else comparer.new.model(name)
    return model is None or not model.final


def _list(names: list[str]) -> str:
    return ", ".join(names)


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
