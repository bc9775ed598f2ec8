"""Class models: what of a Java class decides how its fields are written.

Some serializers (Kryo's ``FieldSerializer``) write an object's fields without names, types or lengths, so the bytes say
nothing without the class. A model holds what is needed: fields with their declared types, finality, superclass, enum
constants. Models come from the job file or from class files; whoever makes them, they look the same.

Plain values without any format. Must not know of bytes, layouts or files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Kind = Literal["class", "interface", "enum", "record"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True)
class FieldModel:
    """A field of an object (not static, not transient).

    :param type: its declared type as in Java source, with full names: ``int``, ``com.acme.Money[]``,
        ``java.util.Map<java.lang.String, ? extends com.acme.Money>``. Names of type parameters stand for themselves.
    """

    name: str
    type: str


@dataclass(frozen=True)
class ClassModel:
    """A Java class.

    :param name: binary name, inner classes with ``$``.
    :param superclass: type of the superclass, with type arguments; ``None`` for ``java.lang.Object``.
    :param interfaces: types of the interfaces.
    :param parameters: names of its type parameters.
    :param fields: its own fields, without those of superclasses, in the order of the class.
    :param constants: names of an enum's constants, in order.
    :param final: nothing can be a subclass of it.
    """

    name: str
    kind: Kind = "class"
    superclass: str | None = None
    interfaces: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    fields: tuple[FieldModel, ...] = ()
    constants: tuple[str, ...] = ()
    final: bool = False

    def as_list(self) -> list[Any]:
        """For JSON; the inverse of :meth:`from_list`."""
        return [
            self.name, self.kind, self.superclass, list(self.interfaces), list(self.parameters),
            [[f.name, f.type] for f in self.fields], list(self.constants), self.final,
        ]  # fmt: skip

    @classmethod
    def from_list(cls, values: list[Any]) -> ClassModel:
        """The inverse of :meth:`as_list`."""
        name, kind, superclass, interfaces, parameters, fields, constants, final = values
        return cls(
            name, kind, superclass, tuple(interfaces), tuple(parameters),
            tuple(FieldModel(*pair) for pair in fields), tuple(constants), final,
        )  # fmt: skip


@dataclass(frozen=True)
class ClassModels:
    """Models by class name."""

    by_name: Mapping[str, ClassModel] = field(default_factory=dict, hash=False, repr=False)

    @classmethod
    def of(cls, models: Iterable[ClassModel]) -> ClassModels:
        """Of these; where two have a name in common, the later one."""
        return cls({model.name: model for model in models})

    def get(self, name: str) -> ClassModel | None:
        """The model of a class, if there is one."""
        return self.by_name.get(name)

    def __len__(self) -> int:
        return len(self.by_name)
