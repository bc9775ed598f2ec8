"""Class models: what of a Java class decides how its fields are written.

Some serializers (Kryo's ``FieldSerializer``) write an object's fields without names, types or lengths, so the bytes say
nothing without the class. A model holds what is needed: fields with their declared types, finality, superclass, enum
constants. Models come from the job file or from class files; both look the same.

Plain values without any format. Must not know of bytes, layouts or files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from serializers.javatypes import parse_type
from stateextract.errors import UsageError

ClassKind = Literal["class", "interface", "enum", "record", "object"]
KINDS: tuple[str, ...] = get_args(ClassKind)

WRITTEN = {
    "boolean": "boolean", "byte": "byte", "short": "short", "char": "char", "int": "int", "long": "long",
    "float": "float", "double": "double", "string": "java.lang.String", "positive int": "int", "varint": "int",
    "positive long": "long", "varlong": "long", "object": "java.lang.Object",
}  # fmt: skip
"""What a serializer of the user's own can write, with the Java type of each: ``int`` is ``writeInt(x)``, ``varint``
``writeInt(x, false)``, ``positive int`` ``writeInt(x, true)``, ``object`` ``writeClassAndObject(x)``."""

NOT_DESCRIBED = "Kryo writes neither names nor lengths of fields, and its class is not known"
"""Why a class that is described nowhere cannot be read."""

WRITTEN_ITSELF = ("utf", "flink string", "hadoop text", "hadoop vint", "hadoop vlong")
"""What a class that writes itself (``Value``, ``Writable``) can write besides numbers: ``serializers/writables.py``."""


@dataclass(frozen=True)
class FieldModel:
    """A field of an object (not static, not transient).

    :param type: its declared type as in Java source, with full names: ``int``, ``com.acme.Money[]``,
        ``java.util.Map<java.lang.String, ? extends com.acme.Money>``. Names of type parameters represent themselves.
        ``? extends com.acme.Money``: what it is declared as is not known, but that the values are such, and that they may be
        of several classes for all that the declared type says.
    :param synthetic: the compiler made it, to refer to the object around an inner one.
    """

    name: str
    type: str
    synthetic: bool = False


@dataclass(frozen=True)
class ClassModel:
    """A Java class.

    :param name: binary name, inner classes with ``$``.
    :param kind: an ``object`` is one of Scala, of whose class there is only one.
    :param superclass: type of the superclass, with type arguments; ``None`` for ``java.lang.Object``.
    :param interfaces: types of the interfaces.
    :param parameters: names of its type parameters.
    :param fields: its own fields, without those of superclasses, in the order of the class.
    :param constants: names of an enum's constants, in order.
    :param final: nothing can be a subclass of it; ``None``: that is not known.
    :param written: what a serializer of the user's own writes, in that order: names, and how each is written.
    """

    name: str
    kind: ClassKind = "class"
    superclass: str | None = None
    interfaces: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    fields: tuple[FieldModel, ...] = ()
    constants: tuple[str, ...] = ()
    final: bool | None = False
    written: tuple[FieldModel, ...] = ()

    def as_list(self) -> list[Any]:
        """For JSON; the inverse of :meth:`from_list`."""
        return [
            self.name, self.kind, self.superclass, list(self.interfaces), list(self.parameters),
            [[f.name, f.type, f.synthetic] for f in self.fields], list(self.constants), self.final,
            [[f.name, f.type] for f in self.written],
        ]  # fmt: skip

    @classmethod
    def from_list(cls, values: list[Any]) -> ClassModel:
        """The inverse of :meth:`as_list`."""
        name, kind, superclass, interfaces, parameters, fields, constants, final, written = values
        return cls(
            name, kind, superclass, tuple(interfaces), tuple(parameters),
            tuple(FieldModel(*parts) for parts in fields), tuple(constants), final,
            tuple(FieldModel(*pair) for pair in written),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ClassModels:
    """Models by class name. Two of them are equal only if they are the same, so that comparing them costs nothing."""

    by_name: Mapping[str, ClassModel] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, models: Iterable[ClassModel]) -> ClassModels:
        """Of these; where two have a name in common, the later one."""
        return cls({model.name: model for model in models})

    def get(self, name: str) -> ClassModel | None:
        """The model of a class, if there is one."""
        return self.by_name.get(name)

    def below(self, name: str) -> frozenset[str]:
        """Its subclasses, theirs too, as far as there are models of all classes between."""
        found: set[str] = set()
        ahead = [name]
        while ahead:
            new = self._direct.get(ahead.pop(), frozenset()) - found
            found |= new
            ahead += new
        return frozenset(found)

    @cached_property
    def _direct(self) -> dict[str, frozenset[str]]:
        """The direct subclasses by superclass."""
        found: dict[str, set[str]] = {}
        for model in self.by_name.values():
            if model.superclass is not None:
                found.setdefault(parse_type(model.superclass).name, set()).add(model.name)
        return {name: frozenset(below) for name, below in found.items()}

    def __len__(self) -> int:
        return len(self.by_name)


def written_type(model: ClassModel, part: FieldModel) -> str:
    """The Java type of what a Kryo serializer of the user's own writes.

    :raises UsageError: where Kryo has no such call.
    """
    found = WRITTEN.get(part.type)
    if found is None:
        raise UsageError(
            f"{model.name} is written by Kryo, and {part.name!r} cannot be written as {part.type!r}",
            expected=f"one of {', '.join(WRITTEN)}",
        )
    return found


def class_model(entry: Mapping[str, Any]) -> ClassModel:
    """A model as a person writes it: a table with ``name`` and, as it needs them, the other parts.

    ``fields`` is a table of names and types in the order of the class; a class with ``constants`` is an enum, and final
    unless it says otherwise.

    :raises UsageError: where it is not such a table.
    """
    known = ("name", "kind", "superclass", "interfaces", "parameters", "fields", "constants", "final", "written")
    name = entry.get("name")
    where = f"kryo.class {name!r}" if isinstance(name, str) else "kryo.class"
    if not isinstance(name, str) or not name:
        raise UsageError(f"{where} has no name", expected="the class' binary name, inner classes with $")
    for key in entry:
        if key not in known:
            raise UsageError(f"{where}: {key!r} is unknown", advice=f"known are {', '.join(known)}")
    constants = _names(entry, "constants", where)
    kind = entry.get("kind", "enum" if constants else "class")
    if kind not in KINDS:
        raise UsageError(f"{where}: kind is {kind!r}", expected=f"one of {', '.join(KINDS)}")
    fields, written = _table(entry, "fields", where), _table(entry, "written", where)
    for how in written.values():
        if how not in WRITTEN and how not in WRITTEN_ITSELF:
            expected = f"one of {', '.join((*WRITTEN, *WRITTEN_ITSELF))}"
            raise UsageError(f"{where}: something is written as {how!r}", expected=expected)
    superclass = entry.get("superclass")
    if superclass is not None and not isinstance(superclass, str):
        raise UsageError(f"{where}: superclass is {superclass!r}", expected="a class name")
    final = entry.get("final", kind in ("enum", "record"))
    if not isinstance(final, bool):
        raise UsageError(f"{where}: final is {final!r}", expected="true or false")
    interfaces = _names(entry, "interfaces", where)
    for text in (*fields.values(), *interfaces, *([superclass] if superclass else ())):
        try:
            parse_type(text)
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}", expected=error.expected) from None
    return ClassModel(
        name, kind, superclass, interfaces, _names(entry, "parameters", where),
        tuple(FieldModel(n, t) for n, t in fields.items()), constants, final,
        tuple(FieldModel(n, t) for n, t in written.items()),
    )  # fmt: skip


def _table(entry: Mapping[str, Any], key: str, where: str) -> Mapping[str, str]:
    table = entry.get(key, {})
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise UsageError(f"{where}: {key} is {table!r}", expected="a table of field names and their types")
    return table


def _names(entry: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    names = entry.get(key, [])
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{where}: {key} is {names!r}", expected="a list of names")
    return tuple(names)
