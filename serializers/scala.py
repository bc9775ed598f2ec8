"""Scala: the types of the Scala API of Flink 1.x, and the planner's copies of them in 2.x.

Flink's classes: ``org.apache.flink.api.scala.typeutils.*`` (1.x), ``org.apache.flink.table.api.typeutils.*`` (2.x). The
names of a case class' fields are not recorded: they are ``_1``, ``_2``, … as those of a Scala tuple, unless the user gives the
job's classes. A Map is a collection of
tuples, and stays a list of them.
"""

from __future__ import annotations

import re

import pyarrow as pa

from serializers.names import Names
from serializers.registry import SerializerSnapshot, all_fixed_length, current_context, describe, register
from serializers.snapshots import check_version, composite, outer_class
from serializers.tuples import either
from stateextract.columnar.layout import Field, Layout, List, Logical, Null, Nullable, Number, Struct
from stateextract.files.reader import Reader

PACKAGES = ("org.apache.flink.api.scala.typeutils.", "org.apache.flink.table.api.typeutils.")
_COLLECTION = re.compile(r"CanBuildFrom\[\s*(?:\w+\.)*(\w+)\[")


def _named(*names: str) -> tuple[str, ...]:
    """Snapshot classes in both packages."""
    return tuple(package + name for package in PACKAGES for name in names)


@register(
    _named("ScalaCaseClassSerializerSnapshot", "Tuple2CaseClassSerializerSnapshot"),
    payload=composite(None, outer_class),
    fixed_length=all_fixed_length,
)
def _case_class(snapshot: SerializerSnapshot) -> Layout:
    fields = case_class_fields(snapshot)
    return Struct(fields) if fields else Null(0)


def case_class_fields(snapshot: SerializerSnapshot) -> tuple[Field, ...]:
    """The fields, ``_1``, ``_2``, …, or by their names where the user gives the class."""
    model = current_context().class_models.get(snapshot.details.get("class", ""))
    own = [part.name for part in model.fields if not part.synthetic] if model is not None else []
    # What the body of a class defines is a field of it, too.
    names = own if len(own) == len(snapshot.nested) else [f"_{i}" for i in range(1, len(snapshot.nested) + 1)]
    taken = Names()
    return tuple(Field(taken.take(name), describe(nested)) for name, nested in zip(names, snapshot.nested, strict=True))


@register(_named("ScalaOptionSerializerSnapshot"), payload=composite(1))
def option(snapshot: SerializerSnapshot) -> Layout:
    return Nullable(describe(snapshot.nested[0]), null_if=False)


register(_named("ScalaEitherSerializerSnapshot"), either(), payload=composite(2))
register(_named("ScalaTrySerializerSnapshot"), either("value", "failure"), payload=composite(2))


@register(_named("TraversableSerializerSnapshot"), payload=composite(1, outer_class))
def _traversable(snapshot: SerializerSnapshot) -> Layout:
    # The code that makes the builder: implicitly[….CanBuildFrom[Set[String], String, Set[String]]]. Old snapshots have none.
    collection = _COLLECTION.search(snapshot.details.get("class", ""))
    unordered = collection is not None and collection[1].endswith(("Set", "Map"))
    return List(Nullable(describe(snapshot.nested[0]), null_if=False), unordered=unordered)


def _enum_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``ScalaEnumSerializerSnapshot``: the enumeration's class, and its values with their ids."""
    check_version(version, (3,), name, reader)
    class_name = reader.utf("an enumeration's class")
    constants = tuple(
        (reader.utf("an enumeration value"), reader.i32("an enumeration value's id"))
        for _ in range(reader.count("enumeration values", least=6))
    )
    return SerializerSnapshot(name, version, details={"class": class_name, "constants": constants})


@register(_named("ScalaEnumSerializerSnapshot"), payload=_enum_payload, fixed_length=True)
def _enum(snapshot: SerializerSnapshot) -> Layout:
    """Values are written as their ids, which need not count from 0, nor be positive."""
    names = tuple(f"{id_}={name}" for name, id_ in snapshot.details["constants"])
    return Logical(Number(pa.int32()), "labels_by_number", pa.string(), names)


register(_named("UnitSerializer$UnitSerializerSnapshot"), Null(1), fixed_length=True)
register(_named("NothingSerializerSnapshot"), Null(0))
