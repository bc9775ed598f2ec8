"""Comparing an old serializer snapshot with a new one, part by part, as ``resolveSchemaCompatibility`` does.

===========================  =====================================================================
family                       rule
===========================  =====================================================================
scalars, dates, windows      one serializer, or incompatible: there is no widening
tuple, row, array, list, …   the same number of parts, and the worst answer of them
tuple, array, case class     the same class, too
enum                         a superset of the constants in any order; a removed one is refused
POJO, record                 ``pojo_rules.py``
Avro                         ``avro_rules.py``
Kryo                         ``kryo_rules.py``: the class; fields only by class files
SQL's rows                   ``sql_rules.py``: the same types; names are not recorded
time to live                 ``ttl_rules.py``: on and off is a migration from 2.3 on, incompatible in 1.x
everything else              the same content, or not known
===========================  =====================================================================

A change of the snapshot class is incompatible. May import the families, which call back through the comparer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from serializers.avro import AVRO_SNAPSHOTS
from serializers.pojo import POJO_SNAPSHOT
from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot, find_serializer
from serializers.ttl import is_ttl, unwrapped
from serializers.tuples import ENUM_SNAPSHOT, NULLABLE_SNAPSHOT, RUNTIME
from stateextract.outcome import Verdict
from stateextract.restore import avro_rules, kryo_rules, pojo_rules, sql_rules, ttl_rules
from stateextract.restore.answers import Answer, Backend, Findings, Release
from stateextract.restore.job_classes import JobClasses
from stateextract.restore.type_extractor import Extractor

Rule = Callable[["Comparer", SerializerSnapshot, SerializerSnapshot, str], Answer]

_ROW: Final = RUNTIME + "RowSerializer$RowSerializerSnapshot"
_FLINK: Final = "org.apache.flink."
_DECISIVE: Final = frozenset({"class", "precision", "scale", "padding", "fields"})
"""Details of composites that have to stay as they are."""


@dataclass
class Comparer:
    """What comparing needs to know.

    :param release: of the new job; ``None``: not known.
    :param backend: of the new job.
    :param old: classes of the old job, where they were given; :param new: those of the new job.
    :param from_flink_1: Flink 1 wrote the snapshot.
    :param same_query: the compiled plans of both jobs say that the operator computes the same.
    :param same_job: the new job has the classes of the old one.
    """

    backend: Backend
    release: Release | None = None
    old: JobClasses | None = None
    new: JobClasses | None = None
    from_flink_1: bool = False
    same_query: bool = False
    same_job: bool = False
    findings: Findings = field(default_factory=Findings)

    @property
    def extractor(self) -> Extractor | None:
        """What says the serializers of the new job's classes."""
        return None if self.new is None else Extractor(self.new, self.release)

    def compare(self, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
        """What Flink answers for the part at ``at``; what is found goes to the findings."""
        new, old = unwrapped(new), unwrapped(old)
        if is_ttl(new) != is_ttl(old):
            return ttl_rules.switched(self, new, old, at)
        if new.is_unknown or old.is_unknown:
            return self._unreadable(new, old, at)
        if new.class_name != old.class_name and {new.class_name, old.class_name} - set(AVRO_SNAPSHOTS):
            advice = "keep the type, or write the state under a new name and migrate it in the job"
            return self.findings.incompatible(at, f"{label(old)} became {label(new)}", advice)
        rule = _FAMILIES.get(old.class_name)
        if rule is not None:
            return rule(self, new, old, at)
        if sql_rules.TYPES & old.details.keys():
            return sql_rules.rows(self, new, old, at)
        if self.same_job and new == old:
            return Answer.AS_IS
        if not old.class_name.startswith(_FLINK) or find_serializer(old.class_name) is None:
            return self.findings.unknown(
                at,
                f"{old.class_name} decides by rules of its own",
                "read its method resolveSchemaCompatibility, or test the restore",
            )
        return self.parts(new, old, at)

    def parts(self, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
        """A composite, or a serializer that is always the same: its content, then the worst answer of its parts."""
        if len(new.nested) != len(old.nested):
            return self.findings.incompatible(
                at, f"{label(old)} has {len(old.nested)} parts, and {len(new.nested)} now"
            )
        changed = sorted(k for k in new.details.keys() | old.details.keys() if new.details.get(k) != old.details.get(k))
        if not _DECISIVE.issuperset(changed):
            return self.findings.unknown(at, f"{', '.join(changed)} of {label(old)} changed", "test the restore")
        if changed:
            changes = "; ".join(f"{key} {old.details.get(key)} became {new.details.get(key)}" for key in changed)
            return self.findings.incompatible(at, f"{short(old.class_name)}: {changes}")
        names = part_names(old)
        pairs = zip(new.nested, old.nested, names, strict=True)
        return max((self.compare(n, o, f"{at}.{name}") for n, o, name in pairs), default=Answer.AS_IS)

    def _unreadable(self, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
        """One of the two is of an unknown class, or could not be derived."""
        if "type" in new.details:
            reason = f"the serializer of {new.details['type']} does not follow from class files alone"
            return self.findings.unknown(at, reason, "give a snapshot of the new job, --against")
        if new.class_name != old.class_name:
            return self.findings.incompatible(at, f"{label(old)} became {label(new)}")
        return self.findings.unknown(at, f"the snapshot of {old.class_name} is not known", "test the restore")


_PARTS: Final = {
    "ListSerializer": ("element",), "ArrayListSerializer": ("element",), "SetSerializer": ("element",),
    "GenericArraySerializer": ("element",), "MapSerializer": ("key", "value"), "TimerSerializer": ("key", "namespace"),
    "TtlSerializer": ("last access", "value"), "JavaEitherSerializer": ("left", "right"),
}  # fmt: skip


def part_names(snapshot: SerializerSnapshot) -> tuple[str, ...]:
    """What the parts of a composite are called."""
    return _PARTS.get(short(snapshot.class_name)) or tuple(f"f{i}" for i in range(len(snapshot.nested)))


def short(class_name: str) -> str:
    """The serializer's name: ``LongSerializer`` of ``LongSerializer$LongSerializerSnapshot``."""
    return class_name.rpartition(".")[2].rpartition("$")[2].removesuffix("Snapshot")


def label(snapshot: SerializerSnapshot) -> str:
    """A serializer as a message calls it, with the class of its values."""
    if snapshot.class_name == NULLABLE_SNAPSHOT and snapshot.nested:
        return label(snapshot.nested[0])
    name = short(snapshot.class_name)
    of = snapshot.details.get("class")
    if isinstance(of, str):
        return f"{name}<{of}>"
    if snapshot.nested and name in _PARTS:
        return f"{name}<{', '.join(map(label, snapshot.nested))}>"
    return name


def _enum(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    findings = comparer.findings
    if new.details["class"] != old.details["class"]:
        return findings.incompatible(at, f"{label(old)} became {label(new)}", "keep the class' name")
    before, after = old.details["constants"], new.details["constants"]
    gone = [constant for constant in before if constant not in after]
    if gone:
        return findings.incompatible(
            at,
            f"IllegalStateException: could not create a restore serializer for enum class {old.details['class']}: "
            f"{', '.join(gone)} is gone, whether in use or not",
            "put the constant back",
        )
    if before == after:
        return Answer.AS_IS
    findings.add(Verdict.AS_IS, None, f"{at}: the enum keeps the old order of its constants, new ones after them")
    return Answer.RECONFIGURED


def _row(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    plain_new, plain_old = (replace(s, details={}) for s in (new, old))
    answer = comparer.parts(plain_new, plain_old, at)
    if answer is not Answer.INCOMPATIBLE and new.details.get("row_kind") != old.details.get("row_kind"):
        answer = max(answer, Answer.MIGRATION)
    kinds = [label(part) for part in old.nested]
    if comparer.same_job:
        return answer
    if answer <= Answer.MIGRATION and len(set(kinds)) < len(kinds):
        twice = next(kind for kind in kinds if kinds.count(kind) > 1)
        return comparer.findings.unknown(
            at,
            f"a Row's names are not in its snapshot, and more than one field has a {twice}: if two of them are swapped, "
            "values come under the wrong name",
            "compare the order of the fields in both jobs",
        )
    return answer


_FAMILIES: dict[str, Rule] = {
    POJO_SNAPSHOT: pojo_rules.pojos,
    KRYO_SNAPSHOT: kryo_rules.generic,
    ENUM_SNAPSHOT: _enum,
    _ROW: _row,
    **dict.fromkeys(AVRO_SNAPSHOTS, avro_rules.schemas),
}
"""Snapshot classes with rules of their own."""
