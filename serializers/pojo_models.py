"""Subclasses of POJOs that no snapshot describes, by the models of the user's classes.

A subclass that the job did not register is written under its name, by a serializer that Flink makes when it first meets the
class: ``TypeExtractor`` looks at the class, and ``PojoTypeInfo`` sorts its fields and those that it inherits by name. If the
writing serializer had not met it before it was snapshotted, the snapshot does not know it. What is in the bytes then
follows from the class, as far as the types of its fields are those below; a subclass with a field of another type stays
undescribed.

Flink's classes: ``org.apache.flink.api.java.typeutils.{TypeExtractor,PojoTypeInfo}``,
``org.apache.flink.api.java.typeutils.runtime.PojoSerializer#getSubclassSerializer``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from serializers.classes import ClassModel, ClassModels
from serializers.datetime import DATES
from serializers.javatypes import BOXES, JavaType, parse_type
from serializers.names import Names
from serializers.registry import REGISTRY
from serializers.scalars import BASE, NUMBERS
from stateextract.columnar.layout import (
    Bytes,
    Case,
    Field,
    Layout,
    List,
    Logical,
    Nullable,
    Number,
    Skip,
    SkippedValue,
    Struct,
    Switch,
    Text,
    Undecodable,
)

DECLARED_CLASS: Final = Field("", Skip(expect=b"\x02"))
"""The flags of a POJO that is of the declared class."""
_WRITE_THEMSELVES: Final = frozenset(
    {"org.apache.flink.types.Value", "org.apache.flink.core.io.IOReadableWritable", "org.apache.hadoop.io.Writable"}
)

_MAX_LEVELS: Final = 20
_SCALARS: Final[dict[str, Layout]] = {
    **{name: NUMBERS[primitive.capitalize()] for primitive, box in BOXES.items() for name in (primitive, box)},
    "java.lang.String": Text(),
    "java.util.Date": DATES["Date"],
    "java.sql.Date": DATES["SqlDate"],
    "java.sql.Time": DATES["SqlTime"],
    "java.sql.Timestamp": DATES["SqlTimestamp"],
    "java.time.Instant": DATES["Instant"],
    "java.time.LocalDate": DATES["LocalDate"],
    "java.time.LocalTime": DATES["LocalTime"],
    "java.time.LocalDateTime": DATES["LocalDateTime"],
}
_BIG: Final = {"java.math.BigInteger": "BigInt", "java.math.BigDecimal": "BigDec"}


def undescribed_subclasses(
    class_name: str, inherited: Mapping[str, Layout], listed: frozenset[str], models: ClassModels
) -> dict[str, list[tuple[str, Layout]]]:
    """Fields of the subclasses that a snapshot does not list, by class in the order of their names.

    :param class_name: the declared class of a POJO.
    :param inherited: its fields, as the snapshot describes them.
    :param listed: subclasses that the snapshot describes.
    """
    found: dict[str, list[tuple[str, Layout]]] = {}
    for name in sorted(models.below(class_name) - listed):
        fields = _subclass_fields(name, class_name, inherited, models)
        if fields is not None:
            found[name] = fields
    return found


def _subclass_fields(
    name: str, above: str, inherited: Mapping[str, Layout], models: ClassModels
) -> list[tuple[str, Layout]] | None:
    fields = dict(inherited)
    lineage = _lineage(name, above, models)
    base = models.get(above)
    if base is not None and base.parameters:
        return None  # of what type an inherited field is depends on what the subclass makes of the parameters
    for model in lineage:
        if not _is_plain(model) or (model.superclass is not None and parse_type(model.superclass).arguments):
            return None
        for field in model.fields:
            layout = _field(parse_type(field.type), models, 0)
            if layout is None or field.name in fields or field.synthetic:
                return None
            fields[field.name] = layout
    return sorted(fields.items())


def flags_of_a_model(class_name: str) -> Field:
    """The flags of a subclass that only a model knows. Others are those of bytes that another serializer than POJOs' wrote:
    Flink did not take the class for a POJO.
    """
    other = Undecodable(class_name, "its class model is that of a POJO, and Flink did not treat it as one")
    return Field("", SkippedValue(Switch((Case(2, ()), Case(None, (Field("other", other),))))))


def _is_plain(model: ClassModel) -> bool:
    """Whether Flink may take the class for a POJO, and it has no type parameters."""
    interfaces = {parse_type(text).name for text in model.interfaces}
    return model.kind == "class" and not (model.parameters or model.written or interfaces & _WRITE_THEMSELVES)


def _lineage(name: str, above: str, models: ClassModels) -> list[ClassModel]:
    """The models from a class up to before ``above``, which is known to be a superclass."""
    found = []
    while name != above:
        model = models.by_name[name]
        found.append(model)
        assert model.superclass is not None
        name = parse_type(model.superclass).name
    return found


def _field(type_: JavaType, models: ClassModels, level: int) -> Layout | None:
    """A field after its flag of null."""
    layout = _array(type_) if type_.dimensions else _value(type_.name, models, level)
    return None if layout is None else Nullable(layout)


def _array(type_: JavaType) -> Layout | None:
    if type_.dimensions == 1 and type_.name == "byte":
        return Bytes()
    if type_.dimensions == 1 and type_.name in (*BOXES, "java.lang.String"):
        return List(_SCALARS[type_.name])
    return None


def _value(name: str, models: ClassModels, level: int) -> Layout | None:
    if name in _SCALARS:
        return _SCALARS[name]
    if name in _BIG:
        known = REGISTRY[f"{BASE}{_BIG[name]}Serializer${_BIG[name]}SerializerSnapshot"].layout
        assert isinstance(known, Layout)
        return known
    model = models.get(name)
    if model is None or level > _MAX_LEVELS:
        return None
    if model.kind == "enum" and model.constants:
        return Logical(Number(pa.int32()), "labels", pa.string(), model.constants)
    return _nested(model, models, level + 1)


def _nested(model: ClassModel, models: ClassModels, level: int) -> Layout | None:
    """A POJO in a field. Its subclasses are refused, because the snapshot does not describe them."""
    if not _is_plain(model) or not model.fields:
        return None
    if model.superclass not in (None, "java.lang.Object"):
        return None
    fields = []
    names = Names()
    for field in sorted(model.fields, key=lambda f: f.name):
        layout = _field(parse_type(field.type), models, level)
        if layout is None or field.synthetic:
            return None
        fields.append(Field(names.take(field.name), layout))
    return Struct((DECLARED_CLASS, *fields))
