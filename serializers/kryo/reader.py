"""The decoder: one Kryo value at a time, by the classes that its bytes name.

Reads what ``Kryo.writeClassAndObject`` wrote, of Kryo 2 (Flink 1) or Kryo 5 (Flink 2), and stops behind its last byte.
A value has no length, so a class whose layout is not known ends the reading with :class:`UndecodableError`. Which bytes
a class has is looked up once and kept as a :class:`Type`; ``bodies.py`` has the well-known ones, ``fields.py`` those that
are written field by field.

Kryo's classes: ``Kryo``, ``util.DefaultClassResolver``, ``util.MapReferenceResolver``. Executes nothing, imports no class
that the bytes name. Knows no Arrow types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from serializers.classes import ClassModels
from serializers.context import Flavour
from serializers.javatypes import of_class_name
from serializers.kryo import jdk
from serializers.kryo.hierarchy import Hierarchy, advice_for
from serializers.kryo.wire import MAX_DEPTH, PENDING, Fixed, Input, string, vint
from serializers.protobuf import NO_TYPES, ProtobufTypes
from stateextract.errors import FormatError, UndecodableError

Generics = Any
"""Type arguments on their way down: Kryo 2 passes classes, Kryo 5 :class:`serializers.kryo.fields.Generic`."""

Body = Callable[["Kryo", Input, int, Generics], Any]
"""Reads what stands behind an object's reference mark: ``body(kryo, input, number of the object or -1, generics)``."""

_LARGEST_NAME: Final = 1 << 12
NOT_DESCRIBED: Final = "Kryo writes neither names nor lengths of fields, and its class is not known"
"""Why a class that is described nowhere cannot be read."""
_MESSAGES: Final = tuple(
    f"com.google.protobuf.{name}"
    for name in (
        "GeneratedMessage", "GeneratedMessageV3", "AbstractMessage", "Message", "AbstractMessageLite", "MessageLite",
        "MessageOrBuilder", "MessageLiteOrBuilder",
    )
)  # fmt: skip
"""What the class of every message of Protobuf is below."""
_WRITTEN: Final = "say what is written in a `written` table of a [[kryo.class]] in the job file (docs/kryo.md)"


@dataclass(frozen=True)
class Type:
    """How objects of a class are read.

    :param references: a mark stands in front: null, new, or the number of an earlier object.
    """

    name: str
    references: bool
    body: Body


@dataclass(frozen=True)
class Registrations:
    """What a serializer snapshot says of classes.

    :param ids: classes by the numbers that stand for them.
    :param serializers: names of the Kryo serializers that single classes were registered with.
    :param defaults: names of the Kryo serializers for a class and all below it, in the order in which Kryo asks them.
    :param earlier: classes that had their serializers before the job's defaults were added.
    """

    ids: Mapping[int, str]
    serializers: Mapping[str, str]
    defaults: Mapping[str, str]
    earlier: frozenset[str] = frozenset()


class Kryo:
    """Reads values of one serializer.

    :ivar flavour: 2 or 5.
    :ivar chill: Kryo 2 with twitter/chill, as flink-scala brings it: Scala's classes have numbers and serializers.
    :ivar fixed: numbers of fixed width.
    :ivar classes: what is known of classes.
    :ivar protobuf: what is known of Protobuf's messages.
    """

    def __init__(
        self,
        flavour: Flavour,
        registrations: Registrations,
        models: ClassModels,
        chill: bool = True,
        protobuf: ProtobufTypes = NO_TYPES,
    ) -> None:
        self.flavour = flavour
        self.chill = chill and flavour == 2
        self.registrations = registrations
        self.protobuf = protobuf
        self.classes = Hierarchy(models, self.chill)
        self.fixed = Fixed(little=flavour == 5)
        self._types: dict[str, Type] = {}
        self.plans: dict[Any, Any] = {}

    def read(self, data: bytes | memoryview, pos: int, end: int) -> tuple[Any, int]:
        """One value, and the position behind it."""
        s = Input(data, pos, end)
        try:
            return self.value(s), s.pos
        except RecursionError:
            # The stack is shared with whoever called.
            raise FormatError("objects are nested too deeply", offset=s.pos) from None

    def value(self, s: Input, generics: Generics = None) -> Any:
        """A class, then an object of it."""
        name = self.class_name(s)
        return None if name is None else self.object(s, self.type(name), generics)

    def class_name(self, s: Input) -> str | None:
        """A class reference; ``None`` for null."""
        start = s.pos
        code = vint(s)
        if code == 0:
            return None
        if code > 1:
            known = self.registrations.ids.get(code - 2)
            if known is None:
                raise UndecodableError(
                    f"the class with the number {code - 2} is not known: no registration in the snapshot has it",
                    offset=start,
                )
            return known
        number = vint(s)
        if number < len(s.names):
            return s.names[number]
        if number > len(s.names):
            raise FormatError(f"class name {number} follows {len(s.names)} others", offset=start)
        name = string(s)
        if not name or len(name) > _LARGEST_NAME:
            raise FormatError("an impossible class name", offset=start)
        s.names.append(name)
        return name

    def object(self, s: Input, type_: Type, generics: Generics = None) -> Any:
        """An object whose class is known: its reference mark, if the class has them, and its body."""
        if not type_.references:
            return type_.body(self, s, -1, generics)
        mark = vint(s)
        refs = s.refs
        if mark == 1:
            slot = len(refs)
            refs.append(PENDING)
            s.depth += 1
            if s.depth > MAX_DEPTH:
                raise FormatError(f"objects are nested more than {MAX_DEPTH} deep", offset=s.pos)
            value = type_.body(self, s, slot, generics)
            s.depth -= 1
            refs[slot] = value
            return value
        if mark == 0:
            return None
        if mark - 2 >= len(refs) or refs[mark - 2] is PENDING:
            raise FormatError(f"a reference to object {mark - 2}, which has not been read", offset=s.pos)
        return refs[mark - 2]

    def object_or_null(self, s: Input, type_: Type, generics: Generics = None) -> Any:
        """An object where a null may stand, whose class is known."""
        if type_.references:
            return self.object(s, type_, generics)
        start = s.pos
        mark = vint(s)
        if mark > 1:
            raise FormatError(f"the mark {mark} of a value that may be null", expected="0 or 1", offset=start)
        return type_.body(self, s, -1, generics) if mark else None

    def type(self, name: str) -> Type:
        """How objects of a class are read; if nobody knows, one that says so when it is met."""
        found = self._types.get(name)
        if found is None:
            found = self._types[name] = self._resolve(name)
        return found

    # -- which body

    def _resolve(self, name: str) -> Type:
        from serializers.kryo import bodies

        body = self._body(name)
        if body is None:
            reason, advice = self._why_not(name)

            def unknown(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
                raise UndecodableError(f"a value of {name} cannot be decoded: {reason}", advice=advice, offset=s.pos)

            return Type(name, False, unknown)
        if name in bodies.WITHOUT_REFERENCES or (self.flavour == 5 and self._is_enum(name)):
            return Type(name, False, body)
        return Type(name, True, body)

    def _is_enum(self, name: str) -> bool:
        model = self.classes.get(name)
        return model is not None and model.kind == "enum"

    def _body(self, name: str) -> Body | None:
        from serializers.kryo import bodies, containers, fields, scala

        model = self.classes.models.get(name)
        if model is not None and model.written:
            return fields.written(model)
        serializer = self.registered(name)
        if serializer is not None:
            return bodies.of_serializer(self, serializer, name)
        if name.startswith("["):
            return containers.array(of_class_name(name))
        known = bodies.well_known(self.flavour, name)
        if known is None and self.chill:
            known = scala.body(name)
        if known is not None:
            return known
        found = self.classes.get(name)
        if found is None:
            return None
        if found.kind == "object" and self.chill:
            return scala.singleton(name)
        for above in self.classes.supertypes(name):
            inherited = bodies.inherited(self.flavour, above, name)
            if inherited is not None:
                return inherited
            if above in bodies.WRITES_ITSELF:
                return None
        if found.kind == "enum":
            return fields.enum(found)
        if found.kind == "record" and self.flavour == 5:
            return fields.record(self, found)
        return fields.object_body(self, found)

    def registered(self, name: str) -> str | None:
        """The Kryo serializer that the job chose for a class, if it did."""
        known = self.registrations
        exact = known.serializers.get(name)
        if exact is not None or not known.defaults or name in known.earlier:
            return exact
        types = self.classes.assignable(name).union(_MESSAGES if self.protobuf.message(name) is not None else ())
        if "java.lang.Throwable" in types:
            return None  # Flink's own default is the first one
        return next((serializer for above, serializer in known.defaults.items() if above in types), None)

    def _why_not(self, name: str) -> tuple[str, str]:
        """The reason, and what the user can do."""
        serializer = self.registered(name)
        if serializer is not None:
            return f"the job gave it the Kryo serializer {serializer}, and only that knows which bytes it writes", _WRITTEN
        if self.classes.get(name) is not None:
            return "it writes itself (KryoSerializable), and only it knows which bytes", _WRITTEN
        if jdk.is_jdk(name):
            reason = "Kryo writes neither names nor lengths of fields, and those of this class of the JDK are not known here"
            return reason, advice_for(name)
        return NOT_DESCRIBED, advice_for(name)


def undecodable_reason(kryo: Kryo, name: str) -> tuple[str, str] | None:
    """Why no object of a class can be read, and what the user can do; ``None`` if some can."""
    return kryo._why_not(name) if kryo._body(name) is None else None
