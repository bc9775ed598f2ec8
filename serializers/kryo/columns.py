"""Columns for Java types.

:class:`Planner` turns a Java type, as the snapshot or a class model declares it, into a
:class:`KryoColumn`. Where the type fixes nothing (``Object``, interfaces, collections without a type argument) the column is
``struct<class, json>``.

Type arguments are followed as Java means them; how Kryo follows them matters only for bytes (``fields.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from serializers.classes import NOT_DESCRIBED, ClassModel, FieldModel, written_type
from serializers.javatypes import OBJECT_CLASS, JavaType, parse_type
from serializers.kryo import jackson, javakaffee, jdk, protobuf_columns, scala_columns
from serializers.kryo.bodies import BLOB_SERIALIZERS, PROTOBUF_SERIALIZERS
from serializers.kryo.hierarchy import upper_bound
from serializers.kryo.kryo_reader import Kryo
from serializers.kryo.kryo_values import Obj
from serializers.kryo.pojo_fields import ZERO
from serializers.kryo.resolve import registered, undecodable_reason
from serializers.kryo.shapes import (
    ANY,
    BYTES,
    CLASS,
    JODA,
    PRIMITIVES,
    SCALARS,
    STRING,
    KryoColumn,
    KryoField,
    ObjectForm,
    ScalarForm,
    Shaper,
    Shaping,
    list_of,
    map_of,
    misfit,
    text_of,
    wrapper,
)
from serializers.pojo import Columns
from stateextract.columnar.layout import Field, Layout, Struct, Text
from stateextract.errors import StateExtractError, UndecodableError, ValueRefusedError

MAX_COLUMNS: Final = 1000
"""A type with more columns than this becomes JSON."""

_MAX_DEPTH: Final = 12
_WRAPPERS: Final = ("java.util.Optional", "java.util.concurrent.atomic.AtomicReference")

# ---- objects


def _object(declared: str, layout: Struct, parts: Mapping[str, list[KryoField]], labelled: bool) -> KryoColumn:
    """A struct of the fields of several classes."""
    empty = dict.fromkeys(f.name for f in layout.fields)

    def shape(rewritten: Layout) -> Shaper:
        assert isinstance(rewritten, Struct)
        below = {f.name: f.layout for f in rewritten.fields}
        label = text_of(rewritten.fields[0].layout) if labelled else None
        plans = {
            name: [(part.key, part.column, part.content.shape(below[part.column])) for part in fields]
            for name, fields in parts.items()
        }

        def shaper(value: Any, out: Shaping) -> Any:
            if value is None:
                return None
            plan = plans.get(value.class_name) if isinstance(value, Obj) and value.kind == "fields" else None
            if plan is None:
                raise misfit(value, declared)
            row: dict[str, Any] = empty.copy()
            if label is not None:
                row[CLASS] = label(value.class_name, out)
            found = value.value.get
            for key, column, content in plan:
                row[column] = content(found(key), out)
            return row or True

        return shaper

    return KryoColumn(layout, shape, ObjectForm(parts, labelled))


class Planner:
    """Columns by the classes that a decoder knows."""

    def __init__(self, kryo: Kryo) -> None:
        self.kryo = kryo
        self.classes = kryo.classes
        self.columns = 0
        self.not_described: dict[str, None] = {}
        """Classes that values are declared to have and that nothing describes."""
        self.uncertain: dict[str, None] = {}
        """Why else values may not be decodable."""

    def plan(self, type_: JavaType) -> KryoColumn:
        """The column of a declared type; JSON where it would be too wide, or hold a class that is not known."""
        self.columns = 0
        try:
            return self.column(type_)
        except UndecodableError as error:
            self.uncertain[error.message] = None
            return ANY
        except StateExtractError:
            return ANY

    def _open(self, declared: str) -> KryoColumn:
        """The column of a type whose values may be of any class."""
        registered = dict.fromkeys(self.kryo.registrations.ids.values())
        self.not_described |= {n: None for n in registered if (undecodable_reason(self.kryo, n) or ("",))[0] == NOT_DESCRIBED}
        self.uncertain[f"values declared as {declared} may be of any class"] = None
        return ANY

    def column(self, type_: JavaType, above: tuple[str, ...] = ()) -> KryoColumn:
        """The column of a type.

        :param above: classes that the type is in; one that is met again becomes JSON.
        """
        type_ = upper_bound(type_)
        if type_.dimensions:
            return self._array(type_, above)
        name = type_.name
        serializer = registered(self.kryo, name) if name not in SCALARS else None
        if serializer is not None:
            found = self._registered(name, serializer)
            if found is not None:
                return found
        scalar = SCALARS.get(name)
        if scalar is not None:
            return replace(scalar, form=ScalarForm(name))
        if len(above) >= _MAX_DEPTH:
            return ANY
        if name in JODA:
            fields = [Field(key, column.layout) for key, column in JODA[name].items()]
            parts = [KryoField(key, key, column) for key, column in JODA[name].items()]
            return _object(name, Struct(tuple(fields)), {name: parts}, labelled=False)
        if self.kryo.chill:
            found = scala_columns.column(self, type_, above)
            if found is not None:
                return found
        if name == "java.util.BitSet":
            return list_of(PRIMITIVES["int"], name)
        if name in _WRAPPERS:
            return wrapper(self.column(type_.arguments[0], above), name) if type_.arguments else self._open(name)
        if name in jdk.LIST_LIKE or name in jdk.SET_LIKE:
            if len(type_.arguments) != 1:
                return self._open(name)
            return list_of(self.column(type_.arguments[0], above), name, unordered=name in jdk.SET_LIKE)
        if name in jdk.MAP_LIKE:
            if len(type_.arguments) != 2:
                return self._open(name)
            key, value = (self.column(argument, above) for argument in type_.arguments)
            return map_of(key, value, name)
        return self._user_class(type_, above)

    def _registered(self, name: str, serializer: str) -> KryoColumn | None:
        """A class with a serializer of its own has the column of what that writes."""
        model = self.classes.models.get(name)
        if model is not None and model.written:
            return None
        if serializer in BLOB_SERIALIZERS:
            message = self.kryo.protobuf.message(name) if serializer in PROTOBUF_SERIALIZERS else None
            return BYTES if message is None else protobuf_columns.column(message)
        if serializer.endswith(".FieldSerializer") or name in JODA:
            return None
        if javakaffee.factory(serializer) is not None and name in jdk.LIST_LIKE | jdk.SET_LIKE | jdk.MAP_LIKE:
            return None
        return ANY

    def _array(self, type_: JavaType, above: tuple[str, ...]) -> KryoColumn:
        component = type_.component
        if component == JavaType("byte"):
            return replace(BYTES, form=ScalarForm(type_.class_name))
        return list_of(self.column(component, above), type_.class_name)

    def _user_class(self, type_: JavaType, above: tuple[str, ...]) -> KryoColumn:
        name = type_.name
        model = self.classes.get(name)
        if name == OBJECT_CLASS:
            return self._open(name)
        if name in above or name in jackson.CLASSES:
            return ANY
        if model is not None and model.kind == "enum":
            return replace(STRING, form=ScalarForm(name))
        names = self.classes.subclasses(name)
        if model is not None and not self._is_collection(name):
            if model.kind != "interface":
                names = [name, *names]
            if names and len(names) <= MAX_COLUMNS:
                return self._struct(name, names, type_, above)
        reason = undecodable_reason(self.kryo, name)
        if reason is not None and reason[0] == NOT_DESCRIBED and name not in jdk.OPEN:
            self.not_described[name] = None
        elif not names and (name in jdk.OPEN or (model is not None and model.kind == "interface")):
            return self._open(name)
        return ANY

    def _is_collection(self, name: str) -> bool:
        known = (jdk.LIST_LIKE, jdk.SET_LIKE, jdk.MAP_LIKE)
        return any(above in group for above in self.classes.supertypes(name) for group in known)

    def _struct(self, declared: str, names: list[str], type_: JavaType, above: tuple[str, ...]) -> KryoColumn:
        labelled = len(names) > 1
        columns = Columns()
        fields: dict[str, Field] = {}
        parts: dict[str, list[KryoField]] = {}
        for name in names:
            model = self.classes.get(name)
            assert model is not None
            arguments = type_.arguments if name == declared else ()
            found = self._fields(model, arguments, (*above, declared, name))
            named = columns.of_class(
                [(key, column.layout) for key, column in found], None if name == declared else name
            )  # fmt: skip
            parts[name] = []
            for (key, column), field in zip(found, named, strict=True):
                fields.setdefault(field.name, field)
                parts[name].append(KryoField(key, field.name, column))
        label = (Field(CLASS, Text()),) if labelled else ()
        return _object(declared, Struct((*label, *fields.values())), parts, labelled)

    def _fields(
        self, model: ClassModel, arguments: tuple[JavaType, ...], above: tuple[str, ...]
    ) -> list[tuple[str, KryoColumn]]:
        if model.written:
            return [(part.name, self.column(self._written(model, part), above)) for part in model.written]
        found = []
        for f in self.classes.fields(model):
            # Classes that refer to each other in all ways would otherwise have columns without end.
            self.columns += 1
            if self.columns > MAX_COLUMNS:
                raise ValueRefusedError(f"{model.name} and what it holds have more than {MAX_COLUMNS} columns")
            type_ = f.type
            if type_.name == ZERO and type_.arguments:
                type_ = type_.arguments[0]
            elif type_.name == ZERO:
                why = "it is 0 or null in all values that were looked at, and its type is not known"
                self.uncertain[f"the field {f.key} of {model.name} has no column: {why}"] = None
                continue
            type_ = self._substituted(type_, model, f.owner, arguments)
            found.append((f.key, self.column(type_, above)))
        return found

    @staticmethod
    def _written(model: ClassModel, part: FieldModel) -> JavaType:
        """The type of what a serializer of the user's own writes: the field's of that name, or that of how it is written."""
        declared = next((f.type for f in model.fields if f.name == part.name), None)
        return parse_type(declared or written_type(model, part))

    def _substituted(
        self, type_: JavaType, model: ClassModel, owner: ClassModel, arguments: tuple[JavaType, ...]
    ) -> JavaType:
        """A declared type with the type arguments in the place of type parameters."""
        if type_.name in owner.parameters:
            found = self.classes.argument(model, owner, type_.name)
            if found is not None and found.name in model.parameters and not found.dimensions:
                index = model.parameters.index(found.name)
                found = arguments[index] if index < len(arguments) else None
            if found is None or found.name in owner.parameters:
                found = JavaType(OBJECT_CLASS)
            found = upper_bound(found)
            return JavaType(found.name, found.arguments, found.dimensions + type_.dimensions)
        inside = tuple(self._substituted(a, model, owner, arguments) for a in type_.arguments)
        return JavaType(type_.name, inside, type_.dimensions, type_.lower)
