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
from functools import lru_cache
from itertools import pairwise
from typing import Any, NoReturn

from serializers.classes import ClassModel, written_type
from serializers.javatypes import OBJECT_CLASS, JavaType, parse_type
from serializers.kryo import wire
from serializers.kryo.forms import Parts, Single, text_reader
from serializers.kryo.hierarchy import DeclaredField, upper_bound
from serializers.kryo.json_texts import string_text
from serializers.kryo.kryo_reader import Form, Generics, Kryo
from serializers.kryo.pojo_fields import UNDECIDED, ZERO
from serializers.kryo.wire import Input
from stateextract.errors import FormatError, UndecodableError

FieldReader = Callable[[Input], Any]
Scope = tuple[tuple[Any, str], ...]


@dataclass(frozen=True, eq=False)
class Generic:
    """Kryo 5's ``GenericType``: a class, or ``None`` where a type parameter is not known, and its arguments.

    Equal ones are one object (:func:`generic`), so that plans are found quickly by them.
    """

    name: str | None
    arguments: tuple[Generic, ...] | None = None


@lru_cache(maxsize=1 << 14)
def generic(name: str | None, arguments: tuple[Generic, ...] | None = None) -> Generic:
    """The one with a class and arguments."""
    return Generic(name, arguments)


def enum(model: ClassModel) -> Form:
    """The position of the constant, plus one."""
    constants = model.constants

    def read(s: Input) -> str | None:
        start = s.pos
        ordinal = wire.vint(s) - 1
        if ordinal == -1:
            return None
        if ordinal >= len(constants):
            raise FormatError(
                f"constant {ordinal} of the enum {model.name}", expected=f"less than {len(constants)}", offset=start
            )
        return constants[ordinal]

    return Single(model.name, "enum", lambda k: read)


def primitive(k: Kryo, name: str) -> FieldReader:
    """A field of a primitive type."""
    return as_text(k, *{
        "int": (wire.zigzag_int, int), "long": (wire.zigzag_long, int), "byte": (wire.i8, int),
        "boolean": (wire.boolean, bool), "short": (k.fixed.i16, int), "float": (k.fixed.f32, float),
        "double": (k.fixed.f64, float), "char": (k.fixed.char, str),
    }[name])  # fmt: skip


def as_text(k: Kryo, read: FieldReader, type_: type) -> FieldReader:
    """What is read, or, if the reader writes JSON, its text."""
    return text_reader(read, type_) if k.writes else read


def written(model: ClassModel) -> Form:
    """What a serializer of the user's own writes, as the model says."""
    for part in model.written:
        written_type(model, part)

    def plan(k: Kryo, generics: Generics, scope: Scope) -> tuple[Scope, list[tuple[str, FieldReader]]]:
        return scope, [(part.name, _written(k, part.type)) for part in model.written]

    return Parts(model.name, plan)


def _written(k: Kryo, form: str) -> FieldReader:
    if form == "object":
        return k.value
    if form == "string":
        return (lambda s: k.null if (text := wire.string(s)) is None else string_text(text)) if k.writes else wire.string
    fixed, i32, i64 = k.fixed, wire.vint_signed, wire.vlong_signed
    return as_text(k, *{
        "boolean": (wire.boolean, bool), "byte": (wire.i8, int), "short": (fixed.i16, int), "char": (fixed.char, str),
        "int": (fixed.i32, int), "long": (fixed.i64, int), "float": (fixed.f32, float), "double": (fixed.f64, float),
        "positive int": (i32, int), "varint": (wire.zigzag_int, int), "positive long": (i64, int),
        "varlong": (wire.zigzag_long, int),
    }[form])  # fmt: skip


def record(model: ClassModel) -> Form:
    """Kryo 5's ``RecordSerializer``: like fields, but type arguments are not followed."""

    def plan(k: Kryo, generics: Generics, scope: Scope) -> tuple[Scope, list[tuple[str, FieldReader]]]:
        return scope, [(f.key, _reader(k, f)) for f in record_fields(k, model)]

    # The object is made last, so nothing can refer to it from inside.
    return Parts(model.name, plan, early=False)


def object_body(model: ClassModel) -> Form:
    """``FieldSerializer``."""

    def plan(k: Kryo, generics: Generics, scope: Scope) -> tuple[Scope, list[tuple[str, FieldReader]]]:
        inside, fields = object_fields(k, model, generics, scope)
        return inside, [(f.key, _reader(k, f)) for f in fields]

    return Parts(model.name, plan)


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
        return lambda s: _zero(k, s, field.key)
    if field.is_undecided:
        return lambda s: _undecided(type_.name)
    if type_.name == "?":
        return lambda s: _with_class(k, s)
    final = k.final_type(field.static_class)
    read = k.value if final is None else final.read_or_null
    if generics is None or (final is not None and final.is_scalar):
        return read
    return lambda s: read(s, generics)


def _with_class(k: Kryo, s: Input) -> Any:
    """A value behind its class, which a null does not have."""
    start = s.pos
    type_ = k.class_reference(s)
    if type_ is None:
        return k.null
    value = type_.read(s)
    if value == k.null:
        raise FormatError(f"a null after the class {type_.name}", offset=start)
    return value


def _undecided(name: str) -> NoReturn:
    raise UndecodableError(f"the type of a field is {name}")


def _zero(k: Kryo, s: Input, name: str) -> Any:
    if wire.i8(s) != 0:
        raise UndecodableError(
            f"the field {name} has a value, after values that did not decide its type",
            advice="give the classes of the job with --classpath",
        )
    return k.null


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
        followed = _generic5(k, f.type, f, model, scope)
        class_name = None
        if f.type.name in f.owner.parameters:
            class_name = followed.name or replace(f.type, name=OBJECT_CLASS).class_name
        fields.append(WrittenField(f.key, f.type, class_name, followed))
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
        return generic(resolved.name)
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
            return generic("[" * type_.dimensions + (name if name.startswith("[") else f"L{name};"))
        return generic(name)
    arguments = tuple(_generic5(k, a, f, model, scope) for a in type_.arguments) if type_.arguments else None
    return generic(type_.class_name, arguments)
