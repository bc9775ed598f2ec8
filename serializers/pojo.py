"""POJOs and Java records, with their subclasses.

Flink's class: ``org.apache.flink.api.java.typeutils.runtime.PojoSerializer``. The snapshot (version 2) holds the class
name and three ``LinkedOptionalMap``s: the fields in wire order, the registered subclasses (their position is the tag in
the bytes), and the other subclasses that the writing serializer had met.

The columns are those of all classes together. A field that a subclass has under the same name with another layout gets
a column named after the subclass; a subclass that is not a POJO gets one column under its own name. A field that had been
removed from the class (``missing-field-at-…``) is still in the bytes and keeps that name. Subclasses that the snapshot does
not list follow from models of the user's classes, where there are some (``pojo_models.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from serializers.names import Names, java_field, simple_name
from serializers.pojo_models import DECLARED_CLASS, flags_of_a_model, undescribed_subclasses
from serializers.registry import SerializerSnapshot, current_context, describe, register
from serializers.snapshots import check_version, framed_snapshot, linked_optional_map
from serializers.tuples import RUNTIME
from stateextract.columnar.layout import Field, Layout, Nullable, Subclass, Subclasses
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

POJO_SNAPSHOT = RUNTIME + "PojoSerializerSnapshot"

REMOVED = "missing-field-at-"


def _payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (2,), name, reader)
    class_name = reader.utf("a POJO's class")
    maps = [linked_optional_map(reader, what) for what in ("POJO fields", "registered subclasses", "other subclasses")]
    names = [tuple(entry.name for entry in entries) for entries in maps]
    declared = tuple(_declaring_class(entry.key) for entry in maps[0])
    return SerializerSnapshot(
        name,
        version,
        details={
            "class": class_name,
            "fields": names[0],
            "registered": names[1],
            "other": names[2],
            "declared": declared,
        },
        nested=tuple(framed_snapshot(entry.value, entry.name) for entries in maps for entry in entries),
    )


def _declaring_class(frame: Reader | None) -> str:
    """The class that declares a field; empty where the frame does not say it, since values are read without it."""
    try:
        return "" if frame is None else frame.utf()
    except FormatError:
        return ""


class Columns:
    """The columns of all classes of one POJO: which column a field of a class goes to."""

    def __init__(self) -> None:
        self._names = Names((Subclasses.CLASS_FIELD,))
        self._known: dict[str, list[tuple[str, Layout]]] = {}

    def of_class(self, fields: Iterable[tuple[str, Layout]], class_name: str | None) -> tuple[Field, ...]:
        """The fields of one class with their columns: those of the same name and layout, or new ones.

        :param class_name: the current subclass, which qualifies a name that is taken; ``None``: the declared class.
        """
        used: set[str] = set()
        found = []
        for name, layout in fields:
            columns = self._known.setdefault(name, [])
            column = next((c for c, known in columns if known == layout and c not in used), None)
            if column is None:
                qualified = columns and class_name is not None
                column = self._names.take(f"{name}_{simple_name(class_name or '')}" if qualified else java_field(name))
                columns.append((column, layout))
            used.add(column)
            found.append(Field(column, layout))
        return tuple(found)


@register(POJO_SNAPSHOT, payload=_payload)
def _pojo(snapshot: SerializerSnapshot) -> Layout:
    columns = Columns()
    details = snapshot.details
    fields = columns.of_class(_fields(snapshot), None)
    rest = snapshot.nested[len(details["fields"]) :]
    tagged = len(details["registered"])
    classes = [(tag, *pair) for tag, pair in enumerate(zip(details["registered"], rest[:tagged], strict=True))]
    # The others come in the order of a hash map: sorted, so that all files of a state name their columns alike.
    others = sorted(zip(details["other"], rest[tagged:], strict=True), key=lambda pair: pair[0])
    subclasses = [Subclass(name, tag, _subclass(columns, name, value)) for tag, name, value in classes]
    subclasses += [Subclass(name, None, _subclass(columns, name, value)) for name, value in others]
    subclasses += [
        Subclass(name, None, (flags_of_a_model(name), *columns.of_class(own, name)))
        for name, own in _undescribed(snapshot).items()
    ]
    return Subclasses(details["class"], fields, tuple(subclasses))


def _undescribed(snapshot: SerializerSnapshot) -> dict[str, list[tuple[str, Layout]]]:
    models, details = current_context().class_models, snapshot.details
    fields = dict(_fields(snapshot))
    # A new serializer does not write what the old class had.
    if not models or any(name.startswith(REMOVED) for name in fields):
        return {}
    listed = frozenset((*details["registered"], *details["other"]))
    return undescribed_subclasses(details["class"], fields, listed, models)


def _fields(snapshot: SerializerSnapshot) -> Iterator[tuple[str, Layout]]:
    names = snapshot.details["fields"]
    for name, value in zip(names, snapshot.nested[: len(names)], strict=True):
        yield name, Nullable(describe(value))


def _subclass(columns: Columns, class_name: str, snapshot: SerializerSnapshot) -> tuple[Field, ...]:
    if snapshot.class_name != POJO_SNAPSHOT or snapshot.is_unknown:
        return columns.of_class([(simple_name(class_name), describe(snapshot))], None)
    return (DECLARED_CLASS, *columns.of_class(_fields(snapshot), class_name))
