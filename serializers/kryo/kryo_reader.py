"""The decoder: one Kryo value at a time, by the classes that its bytes name.

Reads what ``Kryo.writeClassAndObject`` wrote, of Kryo 2 (Flink 1) or Kryo 5 (Flink 2), and stops after its last byte.
A value has no length, so a class whose layout is not known ends the reading with :class:`UndecodableError`. Which bytes
a class has is looked up once and kept as a :class:`Type`; ``bodies.py`` has the well-known ones, ``fields.py`` those that
are written field by field.

What comes out are values (``kryo_values.py``) or, of a :class:`Kryo` that ``writes`` JSON, the texts of values.

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

Read = Callable[..., Any]
"""Reads an object: ``read(input, generics=None)``."""

_LARGEST_NAME: Final = 1 << 12


class NotDirectError(Exception):
    """The value has to be read as a value before its JSON can be written (``forms.py``)."""


class Form:
    """A body that makes values and texts alike (``forms.py``).

    :ivar class_name: of the values.
    """

    class_name: str

    def values(self, k: Kryo) -> Body | Scalar:
        """What reads a value."""
        raise NotImplementedError

    def texts(self, k: Kryo, whole: bool = False) -> Body | Scalar:
        """What reads a value as JSON inside of other JSON, with its class where that is not known.

        :param whole: not inside of other JSON, so without the class.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Scalar:
    """In the place of a body: a value without parts; :param read: needs nothing but the bytes."""

    read: Read


class Type:
    """How objects of a class are read.

    :ivar references: a mark comes first: null, new, or the number of an earlier object.
    :ivar body: reads what comes after the mark.
    :ivar is_scalar: whether that is a value without parts, which needs no type arguments.
    :ivar read: reads an object with its mark, if the class has them.
    :ivar read_or_null: reads an object where a null may be.
    :ivar form: what it was made of; ``None`` for a body that can only make values.
    """

    __slots__ = ("body", "form", "is_scalar", "name", "read", "read_or_null", "references")

    def __init__(self, k: Kryo, name: str, references: bool, body: Body | Form) -> None:
        self.name = name
        self.references = references
        self.form = None if callable(body) else body
        found = k.body_of(body)
        self.is_scalar = isinstance(found, Scalar)
        if isinstance(found, Scalar):
            scalar = found.read
            self.body: Body = lambda k, s, slot, generics: scalar(s)
            self.read: Read = _marked_scalar(scalar, self.body, k) if references else scalar
        else:
            self.body = found
            self.read = marked(found, k) if references else lambda s, generics=None: found(k, s, -1, generics)
        self.read_or_null: Read = self.read if references else _nullable(self.read, k.null)


def marked(body: Body, k: Kryo) -> Read:
    """An object behind its mark."""
    null = k.null

    def read(s: Input, generics: Generics = None) -> Any:
        pos, refs = s.pos, s.refs
        if pos < s.end and s.data[pos] == 1:
            s.pos = pos + 1
        else:
            mark = vint(s)
            if mark == 0:
                return null
            if mark != 1:
                return _earlier(s, mark)
        slot, depth = len(refs), s.depth
        if depth >= MAX_DEPTH:
            raise _too_deep(s)
        refs.append(PENDING)
        s.depth = depth + 1
        value = body(k, s, slot, generics)
        s.depth = depth
        refs[slot] = value
        return value

    return read


def _marked_scalar(scalar: Read, body: Body, k: Kryo) -> Read:
    """The same of a value without parts."""
    general = marked(body, k)

    def read(s: Input, generics: Generics = None) -> Any:
        pos = s.pos
        if pos >= s.end or s.data[pos] != 1:
            return general(s, generics)
        s.pos = pos + 1
        if s.depth >= MAX_DEPTH:
            raise _too_deep(s)
        value = scalar(s)
        s.refs.append(value)
        return value

    return read


def _nullable(read: Read, null: Any) -> Read:
    """An object of a class without marks where a null may be."""

    def nullable(s: Input, generics: Generics = None) -> Any:
        start = s.pos
        mark = vint(s)
        if mark > 1:
            raise FormatError(f"the mark {mark} of a value that may be null", expected="0 or 1", offset=start)
        return read(s, generics) if mark else null

    return nullable


def _earlier(s: Input, mark: int) -> Any:
    """An object that was read before."""
    if mark - 2 >= len(s.refs) or s.refs[mark - 2] is PENDING:
        raise FormatError(f"a reference to object {mark - 2}, which has not been read", offset=s.pos)
    return s.refs[mark - 2]


def _too_deep(s: Input) -> FormatError:
    return FormatError(f"objects are nested more than {MAX_DEPTH} deep", offset=s.pos)


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
    :ivar value: reads a class, then an object of it.
    :ivar classes: what is known of classes.
    :ivar protobuf: what is known of Protobuf's messages.
    :param resolve: finds how objects of a class are read (``resolve.py``).
    """

    writes = False
    """Whether texts come out instead of values."""
    null: Any = None
    """What comes out for null."""

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
        self.resolve = resolve
        self.flavour = flavour
        self.chill = chill and flavour == 2
        self.registrations = registrations
        self.protobuf = protobuf
        self.classes = Hierarchy(models, self.chill)
        self.fixed = Fixed(little=flavour == 5)
        self._types: dict[str, Type] = {}
        self._final: dict[str | None, Type | None] = {None: None}
        self._numbered: dict[int, Type] = {}
        self._expected: dict[int, tuple[bytes, int, Type]] = {}
        self.value = self._value()

    def body_of(self, body: Body | Form) -> Body | Scalar:
        """What reads the body of a class."""
        return body if callable(body) else body.values(self)

    def read(self, data: bytes | memoryview, pos: int, end: int) -> tuple[Any, int]:
        """One value, and the position after it."""
        s = Input(memoryview(data), pos, end)
        try:
            return self.value(s), s.pos
        except RecursionError:
            # The stack is shared with the caller.
            raise FormatError("objects are nested too deeply", offset=s.pos) from None

    def _value(self) -> Read:
        class_reference = self.class_reference
        null = self.null
        reads: dict[int, Read] = {0: lambda s, generics: null}

        def value(s: Input, generics: Generics = None) -> Any:
            pos = s.pos
            if pos < s.end:
                code = s.data[pos]
                read = reads.get(code)
                if read is not None:
                    s.pos = pos + 1
                    return read(s, generics)
            found = class_reference(s)
            if found is None:
                return null
            if s.pos == pos + 1:
                reads[s.data[pos]] = found.read
            return found.read(s, generics)

        return value

    def class_reference(self, s: Input) -> Type | None:
        """How objects of the class are read that comes next; ``None`` for null."""
        pos, data, names = s.pos, s.data, s.names
        if pos < s.end:
            type_ = self._numbered.get(data[pos])
            if type_ is not None:
                s.pos = pos + 1
                return type_
            if data[pos] == 1 and s.end - pos > 2 and (number := data[pos + 1]) < 0x80:
                if number < len(names):
                    s.pos = pos + 2
                    return self.type(names[number])
                expected = self._expected.get(number)
                if expected is not None and number == len(names):
                    # Values are alike, so the same name is often in the same place.
                    written, last, type_ = expected
                    last += pos
                    if last <= s.end and data[pos + 2 : last].tobytes() == written:
                        names.append(type_.name)
                        s.pos = last
                        return type_
        name = self.class_name(s)
        if name is None:
            return None
        type_ = self.type(name)
        if s.pos == pos + 1:
            self._numbered[data[pos]] = type_
        elif s.pos - pos > 2 and data[pos] == 1 and data[pos + 1] < 0x80:
            self._expected[data[pos + 1]] = data[pos + 2 : s.pos].tobytes(), s.pos - pos, type_
        return type_

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

    def type(self, name: str) -> Type:
        """How objects of a class are read; if that is not known, one that says so when it is met."""
        found = self._types.get(name)
        if found is None:
            found = self._types[name] = self.resolve(self, name)
        return found

    def final_type(self, name: str | None) -> Type | None:
        """How objects of a class are read, if it is final, so that they are written without their class."""
        try:
            return self._final[name]
        except KeyError:
            assert name is not None
            found = self._final[name] = self.type(name) if self.classes.is_final(name) else None
            return found
