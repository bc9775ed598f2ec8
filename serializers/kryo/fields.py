"""Objects that are written field by field: ``FieldSerializer``, ``RecordSerializer``, enums, serializers of the user's own.

All fields that are neither static nor transient, of the class and its superclasses, sorted by name; no names, no count,
no length. A field of a primitive type is its number; one of a final class the object or null; any other a class and an
object of it. Type arguments matter: the elements of a ``List<String>`` are written without their class. How far they
are followed differs between the two flavours, and both are followed here as they do it:

* Kryo 2 knows the erased arguments of the current field, and type parameters by name (``FieldSerializerGenericsUtil``);
* Kryo 5 keeps a stack of generic types, whose last argument leads on (``util.DefaultGenerics``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, NoReturn

from serializers.classes import ClassModel, written_type
from serializers.javatypes import OBJECT_CLASS, JavaType, parse_type
from serializers.kryo import wire
from serializers.kryo.hierarchy import DeclaredField, upper_bound
from serializers.kryo.reader import Body, Generics, Kryo
from serializers.kryo.values import Obj
from serializers.kryo.wire import Input
from stateextract.errors import FormatError, UndecodableError

UNDECIDED: Final = "stateextract.undecided.f"
"""Before the number of a field whose type is being looked for (``kryo_pojos.py``): the reader that meets it reports it."""

ZERO: Final = "stateextract.zero"
"""Type of a field that is one byte 0 in all values that were looked at. Its argument is the type if that is certainly null;
without it, the byte may be a number as well."""

FieldReader = Callable[[Input], Any]
Scope = tuple[tuple[Any, str], ...]


@dataclass(frozen=True)
class Generic:
    """Kryo 5's ``GenericType``: a class, or ``None`` where a type parameter is not known, and its arguments."""

    name: str | None
    arguments: tuple[Generic, ...] | None = None


def enum(model: ClassModel) -> Body:
    """The position of the constant, plus one."""
    constants = model.constants

    def read(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        start = s.pos
        ordinal = wire.vint(s) - 1
        if ordinal == -1:
            return None
        if ordinal >= len(constants):
            raise FormatError(
                f"constant {ordinal} of the enum {model.name}", expected=f"less than {len(constants)}", offset=start
            )
        return Obj(model.name, "enum", constants[ordinal])

    return read


def primitive(k: Kryo, name: str) -> FieldReader:
    """A field of a primitive type."""
    readers: dict[str, FieldReader] = {
        "int": wire.zigzag_int, "long": wire.zigzag_long, "byte": wire.i8, "boolean": wire.boolean,
        "short": k.fixed.i16, "float": k.fixed.f32, "double": k.fixed.f64, "char": lambda s: chr(k.fixed.u16(s)),
    }  # fmt: skip
    return readers[name]


def written(model: ClassModel) -> Body:
    """What a serializer of the user's own writes, as the model says."""
    for part in model.written:
        written_type(model, part)

    def read(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        readers: dict[str, FieldReader] = {
            "boolean": wire.boolean, "byte": wire.i8, "short": k.fixed.i16, "char": lambda s: chr(k.fixed.u16(s)),
            "int": k.fixed.i32, "long": k.fixed.i64, "float": k.fixed.f32, "double": k.fixed.f64,
            "string": wire.string, "positive int": wire.vint_signed, "varint": wire.zigzag_int,
            "positive long": wire.vlong_signed, "varlong": wire.zigzag_long, "object": k.value,
        }  # fmt: skip
        values: dict[str, Any] = {}
        obj = Obj(model.name, "fields", values)
        if slot >= 0:
            s.refs[slot] = obj
        for part in model.written:
            values[part.name] = readers[part.type](s)
        return obj

    return read


def record(k: Kryo, model: ClassModel) -> Body:
    """Kryo 5's ``RecordSerializer``: like fields, but type arguments are not followed."""
    plan: list[tuple[str, FieldReader]] = []

    def read(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        if not plan:
            plan.extend((f.key, _reader(k, f)) for f in record_fields(k, model))
        # The object is made last, so nothing can refer to it from inside.
        return Obj(model.name, "fields", {key: read_field(s) for key, read_field in plan})

    return read


def object_body(k: Kryo, model: ClassModel) -> Body:
    """``FieldSerializer``."""

    def read(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        before = s.scope
        key = (model.name, generics, before)
        found = k.plans.get(key)
        if found is None:
            scope, fields = object_fields(k, model, generics, before)
            found = k.plans[key] = scope, [(f.key, _reader(k, f)) for f in fields]
        scope, plan = found
        values: dict[str, Any] = {}
        obj = Obj(model.name, "fields", values)
        if slot >= 0:
            s.refs[slot] = obj
        s.scope = scope
        for name, read_field in plan:
            values[name] = read_field(s)
        s.scope = before
        return obj

    return read


@dataclass(frozen=True)
class WrittenField:
    """A field as its bytes have it.

    :param class_name: the class that the field's type represents, if that is not simply the type.
    """

    key: str
    type: JavaType
    class_name: str | None = None
    generics: Generics = None

    @property
    def static_class(self) -> str:
        """The class that the field is known to have."""
        return self.class_name or self.type.class_name

    @property
    def is_undecided(self) -> bool:
        return self.type.name.startswith(UNDECIDED) or self.type.name == ZERO


def record_fields(k: Kryo, model: ClassModel) -> list[WrittenField]:
    """The fields of a record, in the order of their bytes."""
    return [WrittenField(f.key, f.type) for f in k.classes.written_fields(model)]


def object_fields(k: Kryo, model: ClassModel, generics: Generics, outer: Scope) -> tuple[Scope, list[WrittenField]]:
    """The fields of an object, in the order of their bytes, and what type parameters represent in them."""
    return (_fields2 if k.flavour == 2 else _fields5)(k, model, generics, outer)


def _reader(k: Kryo, field: WrittenField) -> FieldReader:
    """A field's reader."""
    type_, generics = field.type, field.generics
    if type_.is_primitive:
        return primitive(k, type_.name)
    if type_.name == ZERO:
        return lambda s: _zero(s, field.key)
    if field.is_undecided:
        return lambda s: _undecided(type_.name)
    if type_.name == "?":
        return lambda s: _with_class(k, s)
    if k.classes.is_final(field.static_class):
        final = k.type(field.static_class)
        return lambda s: k.object_or_null(s, final, generics)
    return lambda s: k.value(s, generics)


def _with_class(k: Kryo, s: Input) -> Any:
    """A value behind its class, which a null does not have."""
    start = s.pos
    name = k.class_name(s)
    if name is None:
        return None
    value = k.object(s, k.type(name))
    if value is None:
        raise FormatError(f"a null after the class {name}", offset=start)
    return value


def _undecided(name: str) -> NoReturn:
    raise UndecodableError(f"the type of a field is {name}")


def _zero(s: Input, name: str) -> None:
    if wire.i8(s) != 0:
        raise UndecodableError(
            f"the field {name} has a value, after values that did not decide its type",
            advice="give the classes of the job with --classpath",
        )


def _bound(scope: Scope, key: Any) -> str | None:
    return next((name for known, name in reversed(scope) if known == key), None)


# ---- Kryo 2


def _fields2(
    k: Kryo, model: ClassModel, generics: tuple[str | None, ...] | None, outer: Scope
) -> tuple[Scope, list[WrittenField]]:
    own = _scope2(model, generics, outer)
    scope = outer if own is None else (*outer, *own.items())
    fields = []
    for f in k.classes.written_fields(model):
        type_, arguments = f.type, _arguments2(f.type, f.owner, own)
        class_name = None
        if _is_parameter(type_, f.owner):
            class_name = (own or {}).get(type_.name, OBJECT_CLASS)
        elif type_.dimensions and type_.name in f.owner.parameters:
            class_name = replace(type_, name=OBJECT_CLASS).class_name
        if arguments is not None and (not arguments or arguments[0] is None):
            arguments = None
        fields.append(WrittenField(f.key, type_, class_name, arguments))
    return scope, fields


def _is_parameter(type_: JavaType, owner: ClassModel) -> bool:
    return not type_.dimensions and type_.name in owner.parameters


def _scope2(model: ClassModel, generics: tuple[str | None, ...] | None, outer: Scope) -> dict[str, str] | None:
    """What the class' own type parameters represent, by name; those of superclasses are not followed."""
    if not model.parameters:
        return None
    scope = {}
    for i, parameter in enumerate(model.parameters):
        name = generics[i] if generics is not None and i < len(generics) else _bound(outer, parameter)
        if name is not None:
            scope[parameter] = name
    return scope


def _arguments2(type_: JavaType, owner: ClassModel, scope: dict[str, str] | None) -> tuple[str | None, ...] | None:
    if type_.dimensions:
        # A generic array passes on what its elements' type has; a plain array is not a generic type.
        if type_.name in owner.parameters or type_.arguments:
            return _arguments2(type_.component, owner, scope)
        return None
    if type_.name in owner.parameters:
        name = (scope or {}).get(type_.name)
        return None if name is None else (name,)
    if not type_.arguments:
        return None
    return tuple(_argument2(argument, owner, scope) for argument in type_.arguments)


def _argument2(argument: JavaType, owner: ClassModel, scope: dict[str, str] | None) -> str | None:
    if argument.name == "?":
        return OBJECT_CLASS
    if argument.name in owner.parameters:
        name = (scope or {}).get(argument.name)
        if name is None or not argument.dimensions:
            return name
        return replace(argument, name=name).class_name
    if argument.dimensions and argument.arguments:
        return None
    return argument.class_name


# ---- Kryo 5


def _fields5(k: Kryo, model: ClassModel, generics: Generic | None, outer: Scope) -> tuple[Scope, list[WrittenField]]:
    scope = outer
    if generics is not None and generics.arguments is not None and model.parameters:
        scope = (*outer, *_bindings5(k, model, generics.arguments))
    fields = []
    for f in k.classes.written_fields(model):
        generic = _generic5(k, f.type, f, model, scope)
        class_name = None
        if f.type.name in f.owner.parameters:
            class_name = generic.name or replace(f.type, name=OBJECT_CLASS).class_name
        fields.append(WrittenField(f.key, f.type, class_name, generic))
    return scope, fields


def _bindings5(k: Kryo, model: ClassModel, arguments: tuple[Generic, ...]) -> list[tuple[Any, str]]:
    """Type parameters with their classes: the class' own, and those of superclasses that it passes them to."""
    if len(model.parameters) > len(arguments):
        return []
    found = []
    for parameter, argument in zip(model.parameters, arguments, strict=False):
        if argument.name is None:
            continue
        found.append(((model.name, parameter), argument.name))
        current = parameter
        chain = k.classes.lineage(model)
        for below, above in pairwise(chain):
            passed = parse_type(below.superclass or OBJECT_CLASS).arguments
            index = next((i for i, a in enumerate(passed) if a == JavaType(current)), None)
            if index is None or index >= len(above.parameters):
                break
            current = above.parameters[index]
            found.append(((above.name, current), argument.name))
    return found


def _generic5(k: Kryo, type_: JavaType, f: DeclaredField, model: ClassModel, scope: Scope) -> Generic:
    owner = f.owner
    if type_.name == "?":
        bound = upper_bound(type_)
        if bound.name == OBJECT_CLASS and type_.lower:
            bound = type_.arguments[0]
        resolved = _generic5(k, bound, f, model, scope)
        return Generic(resolved.name)
    if type_.name in owner.parameters:
        static = k.classes.argument(model, owner, type_.name)
        name = None
        if static is not None and static.name not in model.parameters and static.name not in owner.parameters:
            name = upper_bound(static).class_name
        elif not type_.dimensions:
            name = _bound(scope, (owner.name, type_.name))
            if name is None and static is not None:
                name = _bound(scope, (model.name, static.name))
        if name is not None and type_.dimensions:
            return Generic("[" * type_.dimensions + (name if name.startswith("[") else f"L{name};"))
        return Generic(name)
    arguments = tuple(_generic5(k, a, f, model, scope) for a in type_.arguments) if type_.arguments else None
    return Generic(type_.class_name, arguments)
