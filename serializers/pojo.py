"""POJOs and Java records, with their subclasses.

Flink's class: ``org.apache.flink.api.java.typeutils.runtime.PojoSerializer``. The snapshot (version 2) holds the class
name and three ``LinkedOptionalMap``s: the fields in wire order, the registered subclasses (their position is the tag in
the bytes), and the other subclasses that the writing serializer had met.

The columns are those of all classes together. A field that a subclass has under the same name with another layout gets
a column named after the subclass; a subclass that is no POJO gets one column under its own name. A field that had been
removed from the class (``missing-field-at-…``) is still in the bytes and keeps that name.
"""

from __future__ import annotations

from serializers.names import Names, java_field, simple_name
from serializers.registry import SerializerSnapshot, describe, register
from serializers.snapshots import check_version, framed_snapshot, linked_optional_map
from serializers.tuples import RUNTIME
from stateextract.columnar.layout import Field, Layout, Nullable, Skip, Subclass, Subclasses
from stateextract.files.reader import Reader

POJO_SNAPSHOT = RUNTIME + "PojoSerializerSnapshot"

_DECLARED_CLASS = Field("", Skip(expect=b"\x02"))


def _payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (2,), name, reader)
    class_name = reader.utf("a POJO's class")
    maps = [linked_optional_map(reader, what) for what in ("POJO fields", "registered subclasses", "other subclasses")]
    names = [tuple(entry.name for entry in entries) for entries in maps]
    return SerializerSnapshot(
        name,
        version,
        details={"class": class_name, "fields": names[0], "registered": names[1], "other": names[2]},
        nested=tuple(framed_snapshot(entry.value, entry.name) for entries in maps for entry in entries),
    )


class _Columns:
    """The columns of all classes of one POJO: which column a field of a class goes to."""

    def __init__(self) -> None:
        self._names = Names((Subclasses.CLASS_FIELD,))
        self._known: dict[str, list[tuple[str, Layout]]] = {}

    def field(self, name: str, layout: Layout, class_name: str | None) -> Field:
        """A field's column: one of the same name with the same layout, or a new one.

        :param class_name: the subclass at hand, which qualifies a name that is taken; ``None``: the declared class.
        """
        columns = self._known.setdefault(name, [])
        for column, known in columns:
            if known == layout:
                return Field(column, layout)
        wanted = java_field(name)
        if columns and class_name is not None:
            wanted = f"{name}_{simple_name(class_name)}"
        column = self._names.take(wanted)
        columns.append((column, layout))
        return Field(column, layout)


@register(POJO_SNAPSHOT, payload=_payload)
def _pojo(snapshot: SerializerSnapshot) -> Layout:
    columns = _Columns()
    details, nested = snapshot.details, iter(snapshot.nested)
    # The iterator runs on: fields, then registered subclasses, then the others.
    fields = tuple(
        columns.field(name, Nullable(describe(value)), None)
        for name, value in zip(details["fields"], nested, strict=False)
    )
    subclasses = []
    for tag, name in [*enumerate(details["registered"]), *((None, name) for name in details["other"])]:
        subclasses.append(Subclass(name, tag, _subclass(columns, name, next(nested))))
    return Subclasses(details["class"], fields, tuple(subclasses))


def _subclass(columns: _Columns, class_name: str, snapshot: SerializerSnapshot) -> tuple[Field, ...]:
    if snapshot.class_name != POJO_SNAPSHOT or snapshot.is_unknown:
        return (columns.field(simple_name(class_name), describe(snapshot), None),)
    names = snapshot.details["fields"]
    return (
        _DECLARED_CLASS,
        *(
            columns.field(name, Nullable(describe(value)), class_name)
            for name, value in zip(names, snapshot.nested, strict=False)
        ),
    )
