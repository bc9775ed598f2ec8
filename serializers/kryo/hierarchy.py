"""What class models and the JDK's tables say together: finality, supertypes, fields in Kryo's order, type arguments.

Pure look-ups over names. Knows no bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from serializers.classes import ClassModel, ClassModels, FieldModel
from serializers.javatypes import OBJECT_CLASS, PRIMITIVES, JavaType, of_class_name, parse_type
from serializers.kryo import jackson, jdk, scala_names
from serializers.names import simple_name
from stateextract.errors import UndecodableError

_DESCRIBE = "describe this one as a [[kryo.class]] in the job file"

_MAX_LEVELS = 100
_ENUM_CONSTANT = re.compile(r"([^$].*)\$\d+")
_FIELDLESS = (OBJECT_CLASS, "java.lang.Record", "java.util.EventObject", "org.apache.flink.api.java.tuple.Tuple")


def advice_for(name: str, models: ClassModels) -> str:
    """How the class that is missing can be described: no jar of a job has one of the JDK.

    :param models: the classes that the user gave.
    """
    if jdk.is_jdk(name):
        return _DESCRIBE
    give = "add the jar that contains it to" if models.by_name else "give the classes of the job with"
    return f"{give} --classpath, or {_DESCRIBE}"


@dataclass(frozen=True)
class DeclaredField:
    """A field of a class or of a superclass.

    :param key: its name, or, where a subclass has a field of that name, the name with its own class.
    :param owner: the class that declares it.
    """

    key: str
    owner: ClassModel
    field: FieldModel

    @property
    def type(self) -> JavaType:
        """The declared type; type parameters of ``owner`` represent themselves."""
        return parse_type(self.field.type)


class Hierarchy:
    """Classes by name, the user's first.

    :param chill: Flink 1 wrote the values, with chill: Scala's library is that of Scala 2.12, and the synthetic fields
        of inner classes, which refer to the object around, are written too.
    """

    def __init__(self, models: ClassModels, chill: bool = False) -> None:
        self.models = models
        self.chill = chill
        self._below: dict[str, list[str]] | None = None

    def get(self, name: str) -> ClassModel | None:
        """The model of a class; of the class of an enum constant with a body that of the enum."""
        found = self.models.get(name) or jdk.FIELD_BY_FIELD.get(name) or jackson.CLASSES.get(name)
        if found is None:
            constant = _ENUM_CONSTANT.fullmatch(name)
            above = self.get(constant[1]) if constant is not None else None
            return above if above is not None and above.kind == "enum" else None
        return found

    def is_final(self, name: str) -> bool:
        """Java's ``final``; of an array that of its elements' class.

        :raises UndecodableError: where the class is not known.
        """
        type_ = of_class_name(name)
        if type_.name in PRIMITIVES or type_.name in jdk.FINAL:
            return True
        if self.chill and type_.name in scala_names.FINAL:
            return True
        model = self.get(type_.name)
        if model is not None and model.final is not None:
            return model.final
        if self.chill and type_.name in scala_names.OPEN:
            return False
        if type_.name in jdk.OPEN:
            return False
        raise UndecodableError(
            f"whether {type_.name} is final is not known, and Kryo's bytes depend on it",
            advice=advice_for(type_.name, self.models),
        )

    def supertypes(self, name: str) -> Iterator[str]:
        """Names of all superclasses and interfaces that are known, nearest first."""
        seen, queue = {name}, [name]
        while queue:
            for above in self._direct_supertypes(queue.pop(0)):
                if above not in seen:
                    seen.add(above)
                    queue.append(above)
                    yield above

    def _direct_supertypes(self, name: str) -> tuple[str, ...]:
        if name in jdk.SUPERTYPES and self.models.get(name) is None:
            return jdk.SUPERTYPES[name]
        model = self.get(name)
        if model is None:
            return ()
        texts = (*([model.superclass] if model.superclass else ()), *model.interfaces)
        return tuple(parse_type(text).name for text in texts)

    def assignable(self, name: str) -> set[str]:
        """All types that a variable for objects of a class can have, as far as they are known."""
        type_ = of_class_name(name)
        if type_.dimensions:
            found = {name, OBJECT_CLASS, "java.lang.Cloneable", "java.io.Serializable"}
            component = type_.component
            if not component.is_primitive:
                above = self.assignable(component.class_name)
                found |= {"[" + (n if n.startswith("[") else f"L{n};") for n in above}
            return found
        found = {name, OBJECT_CLASS, *self.supertypes(name)}
        model = self.get(name)
        root = {"enum": "java.lang.Enum", "record": "java.lang.Record"}.get("" if model is None else model.kind)
        return found if root is None else found | {root, *self.supertypes(root)}

    def subclasses(self, name: str) -> list[str]:
        """Classes with fields among the user's that are below this one, by name."""
        if self._below is None:
            self._below = {}
            for below in sorted(self.models.by_name):
                if self.models.by_name[below].kind in ("class", "record", "object"):
                    for above in self.supertypes(below):
                        self._below.setdefault(above, []).append(below)
        return self._below.get(name, [])

    def lineage(self, model: ClassModel) -> list[ClassModel]:
        """The class and its superclasses with fields, itself first.

        :raises UndecodableError: where a superclass is not known.
        """
        chain = [model]
        while len(chain) < _MAX_LEVELS:
            text = chain[-1].superclass
            name = OBJECT_CLASS if text is None else parse_type(text).name
            if name in _FIELDLESS:
                return chain
            above = self.get(name)
            if above is None:
                raise UndecodableError(
                    f"the superclass {name} of {model.name} is not known", advice=advice_for(name, self.models)
                )
            chain.append(above)
        raise UndecodableError(f"{model.name} has more than {_MAX_LEVELS} superclasses")

    def fields(self, model: ClassModel) -> list[DeclaredField]:
        """All fields: those of superclasses first, each class' in its own order."""
        found: list[list[DeclaredField]] = []
        taken: set[str] = set()
        for owner in self.lineage(model):
            group = []
            for field in owner.fields:
                if field.synthetic and not self.chill:
                    continue
                key = field.name if field.name not in taken else f"{field.name}_{simple_name(owner.name)}"
                while key in taken:
                    key += "_"
                taken.add(key)
                group.append(DeclaredField(key, owner, field))
            found.append(group)
        return [field for group in reversed(found) for field in group]

    def written_fields(self, model: ClassModel) -> list[DeclaredField]:
        """All fields as ``FieldSerializer`` writes them: by name, where two have one name that of the subclass first."""
        position = {owner.name: i for i, owner in enumerate(self.lineage(model))}
        return sorted(
            self.fields(model),
            key=lambda f: (f.field.name.encode("utf-16-be", "surrogatepass"), position[f.owner.name]),
        )

    def argument(self, model: ClassModel, owner: ClassModel, parameter: str) -> JavaType | None:
        """What a type parameter of a superclass is in a subclass' ``extends`` clauses.

        :returns: a type, which may itself be a type parameter of ``model``; ``None`` where no argument is given.
        """
        chain = self.lineage(model)
        at = next(i for i, step in enumerate(chain) if step.name == owner.name)
        current: JavaType | None = JavaType(parameter)
        for below in reversed(chain[:at]):
            above = chain[chain.index(below) + 1]
            if current is None or current.name not in above.parameters or current.arguments or current.dimensions:
                return current
            arguments = parse_type(below.superclass or OBJECT_CLASS).arguments
            index = above.parameters.index(current.name)
            current = arguments[index] if index < len(arguments) else None
        return current


def upper_bound(type_: JavaType) -> JavaType:
    """What a wildcard represents; another type itself."""
    if type_.name != "?":
        return type_
    if type_.arguments and not type_.lower:
        return type_.arguments[0]
    return JavaType(OBJECT_CLASS)
