"""The decoder: one Kryo value at a time, by the classes that its bytes name.

Reads what ``Kryo.writeClassAndObject`` wrote, of Kryo 2 (Flink 1) or Kryo 5 (Flink 2), and stops after its last byte.
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
from serializers.kryo.hierarchy import Hierarchy
from serializers.kryo.wire import MAX_DEPTH, PENDING, Fixed, Input, string, vint
from serializers.protobuf import NO_TYPES, ProtobufTypes
from stateextract.errors import FormatError, UndecodableError

Generics = Any
"""Type arguments on their way down: Kryo 2 passes classes, Kryo 5 :class:`serializers.kryo.fields.Generic`."""

Body = Callable[["Kryo", Input, int, Generics], Any]
"""Reads what comes after an object's reference mark: ``body(kryo, input, number of the object or -1, generics)``."""

_LARGEST_NAME: Final = 1 << 12
@dataclass(frozen=True)
class Type:
    """How objects of a class are read.

    :param references: a mark comes first: null, new, or the number of an earlier object.
    """

    name: str
    references: bool
    body: Body


@dataclass(frozen=True)
class Registrations:
    """What a serializer snapshot says of classes.

    :param ids: classes by the numbers that represent them.
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
    :param resolve: finds how objects of a class are read (``resolve.py``).
    """

    def __init__(
        self,
        flavour: Flavour,
        registrations: Registrations,
        models: ClassModels,
        chill: bool = True,
        protobuf: ProtobufTypes = NO_TYPES,
        *,
        resolve: Callable[[Kryo, str], Type],
    ) -> None:
        self._resolve = resolve
        self.flavour = flavour
        self.chill = chill and flavour == 2
        self.registrations = registrations
        self.protobuf = protobuf
        self.classes = Hierarchy(models, self.chill)
        self.fixed = Fixed(little=flavour == 5)
        self._types: dict[str, Type] = {}
        self._numbered: dict[int, Type] = {}
        self.plans: dict[Any, Any] = {}

    def read(self, data: bytes | memoryview, pos: int, end: int) -> tuple[Any, int]:
        """One value, and the position after it."""
        s = Input(data, pos, end)
        try:
            return self.value(s), s.pos
        except RecursionError:
            # The stack is shared with the caller.
            raise FormatError("objects are nested too deeply", offset=s.pos) from None

    def value(self, s: Input, generics: Generics = None) -> Any:
        """A class, then an object of it."""
        pos = s.pos
        type_ = self._numbered.get(s.data[pos]) if pos < s.end else None
        if type_ is not None:
            s.pos = pos + 1
        else:
            name = self.class_name(s)
            if name is None:
                return None
            type_ = self.type(name)
            if s.pos == pos + 1:
                self._numbered[s.data[pos]] = type_
        return self.object(s, type_, generics) if type_.references else type_.body(self, s, -1, generics)

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
            raise FormatError("an invalid class name", offset=start)
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
        """An object where a null may be, whose class is known."""
        if type_.references:
            return self.object(s, type_, generics)
        start = s.pos
        mark = vint(s)
        if mark > 1:
            raise FormatError(f"the mark {mark} of a value that may be null", expected="0 or 1", offset=start)
        return type_.body(self, s, -1, generics) if mark else None

    def type(self, name: str) -> Type:
        """How objects of a class are read; if that is not known, one that says so when it is met."""
        found = self._types.get(name)
        if found is None:
            found = self._types[name] = self._resolve(self, name)
        return found
