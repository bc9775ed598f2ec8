"""Generic types: ``KryoSerializerSnapshot``. Flink compares the class and the registrations, and never the fields.

So every change of fields is "as is" for Flink, and reading goes wrong. The class files of both jobs show whether it does:
Kryo's ``FieldSerializer`` writes the fields of a class sorted by name. A field whose type is open may hold objects of any
class, so then no class of the old job may have changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from serializers.classes import ClassModel
from serializers.javatypes import JavaType, parse_type
from serializers.registry import SerializerSnapshot
from stateextract.restore.answers import Answer, Release
from stateextract.restore.job_classes import JobClasses, is_library

if TYPE_CHECKING:
    from stateextract.restore.compare_serializers import Comparer

GONE_IN_2: Final = b"SpecificInstanceCollectionSerializerForArrayList"
"""Part of the name of a serializer that Flink 1 registers where it finds Avro, and that Flink 2 has not."""

_FINAL: Final = frozenset(
    f"java.lang.{name}"
    for name in ("String", "Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double", "Character")
)
_LISTS: Final = frozenset({f"java.util.{n}" for n in ("List", "ArrayList", "LinkedList", "Collection", "AbstractList")})


def generic(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    """The answer for a generic type; what is not known of its fields goes to the doubts."""
    name = old.details["class"]
    if new.details["class"] != name:
        return comparer.findings.incompatible(
            at, f"the generic type {name} became {new.details['class']}", "keep the class' name and package"
        )
    doubt = None if comparer.same_job else doubt_of_fields(name, comparer.old, comparer.new)
    if doubt is None and comparer.from_flink_1 and is_flink_2(comparer.release):
        doubt = doubt_of_upgrade(name, comparer.old)
    if doubt is not None:
        comparer.findings.doubts.setdefault(name, doubt)
    return Answer.AS_IS


def is_flink_2(release: Release | None) -> bool:
    """Whether the new job runs on Flink 2, as far as it is known."""
    return release is None or release.major >= 2


def doubt_of_fields(name: str, old: JobClasses | None, new: JobClasses | None) -> str | None:
    """Why it is not certain that Kryo reads the fields of a class as they were written; ``None``: it is."""
    if old is None or new is None:
        return f"the fields of {name} are not in a Kryo snapshot, and Flink does not compare them"
    seen, open_type = reachable(name, old)
    for reached in sorted(seen):
        change = _change(reached, old, new)
        if change is not None:
            return change
    if open_type is None:
        return None
    for other in old:
        change = None if other in seen else _change(other, old, new)
        if change is not None:
            return f"{open_type} may hold objects of any class, and {change}"
    return None


def doubt_of_upgrade(name: str, old: JobClasses | None) -> str | None:
    """Why it is not certain that Kryo 5 reads what Kryo 2 wrote of a class."""
    if old is None:
        return "Kryo 5 reads some of what Kryo 2 wrote otherwise: lists lose elements"
    seen, open_type = reachable(name, old)
    library = sorted(reached for reached in seen if reached not in _FINAL and is_library(reached))
    if library:
        lists = [reached for reached in library if reached in _LISTS]
        what = f"{lists[0]} loses elements" if lists else f"{library[0]} may read otherwise"
        return f"{name} holds {(lists or library)[0]}: Kryo 5 reads what Kryo 2 wrote, and {what}"
    return None if open_type is None else f"{open_type} may hold a list, of which Kryo 5 loses elements"


def reachable(name: str, classes: JobClasses) -> tuple[set[str], str | None]:
    """The classes that objects of a class are known to hold, and a field, in words, that may hold any."""
    seen: set[str] = set()
    open_type: str | None = None
    ahead = [JavaType(name)]
    while ahead:
        type_ = ahead.pop()
        ahead += type_.arguments
        if type_.name in seen or type_.is_primitive or type_.name == "?" or len(type_.name) < 2:
            continue
        model = classes.model(type_.name)
        if model is None and type_.name not in _FINAL and not type_.dimensions:
            open_type = open_type or f"a field of the type {type_.name}"
        if model is not None and type_.name != name and model.final is False and model.kind != "enum":
            open_type = open_type or f"a field of the type {type_.name}, which is not final,"
        if model is None and "." not in type_.name:
            continue  # a type parameter
        seen.add(type_.name)
        if model is not None:
            ahead += [parse_type(field.type) for field in model.fields]
            if model.superclass not in (None, "java.lang.Object", "java.lang.Enum", "java.lang.Record"):
                assert model.superclass is not None
                ahead.append(parse_type(model.superclass))
    return seen - {"java.lang.Object"}, open_type


def _change(name: str, old: JobClasses, new: JobClasses) -> str | None:
    before = old.model(name)
    if before is None:
        return None  # of a library
    after = new.model(name)
    if after is None:
        return f"{name} is gone"
    if _shape(before) == _shape(after):
        return None
    fields = {(f.name, f.type) for f in before.fields} ^ {(f.name, f.type) for f in after.fields}
    changed = ", ".join(sorted({field for field, _ in fields}))
    return f"{name} changed ({changed})" if changed else f"{name} changed"


def must_fail(name: str, old: JobClasses, new: JobClasses) -> bool:
    """Whether Kryo reads fields that were not written, or classes that are gone. Fewer fields may pass unnoticed."""
    return any(
        after is None or {(f.name, f.type) for f in after.fields} - {(f.name, f.type) for f in before.fields}
        for before, after in _changes(name, old, new)
    )


def may_mean_other(name: str, old: JobClasses, new: JobClasses) -> bool:
    """Whether values that are read as they were written may not be what the new class declares: a list of other elements."""
    for before, after in _changes(name, old, new):
        types = {f.name: f.type for f in before.fields}
        for field in () if after is None else after.fields:
            pair = {types.get(field.name, field.type), field.type}
            if len(pair) > 1 and not all(parse_type(text).is_primitive for text in pair):
                return True
    return False


def _changes(name: str, old: JobClasses, new: JobClasses) -> Iterator[tuple[ClassModel, ClassModel | None]]:
    """The classes that changed, of those that objects of a class hold or may hold."""
    seen, open_type = reachable(name, old)
    for reached in seen if open_type is None else {*seen, *old}:
        before, after = old.model(reached), new.model(reached)
        if before is not None and (after is None or _shape(before) != _shape(after)):
            yield before, after


def _shape(model: ClassModel) -> ClassModel:
    return replace(model, fields=tuple(sorted(model.fields, key=lambda f: f.name)))
