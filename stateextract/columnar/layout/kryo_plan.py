"""Plans: what the bytes of a Kryo value are as long as nothing about it is unusual, for the kernel.

A :class:`Python` layout of Kryo's decodes any value, slowly. Its plan describes the values that are as their classes let
expect: the first object of its kind, of a class that is in the plan. Whatever is not in the plan (a reference to an
earlier object, another class, a number beyond its range) stops the kernel, and Python decodes that one entry.
So a plan leaves out what is rare, but never says anything else than ``Python.decode`` does.

A plan is about one column. :class:`ObjectOrNull` nodes describe where an object or null can be, :class:`KryoPlan` nodes
what follows an object's reference mark. ``None`` in the place of a plan means bytes that only Python reads. May import
nothing of this project; ``program/kryo_program.py`` has what the kernel does for each node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Form = Literal["int", "zigzag int", "long", "zigzag long", "byte", "short", "little short"]


@dataclass(frozen=True)
class KryoPlan:
    """Base of all nodes."""


# ---- single values


@dataclass(frozen=True)
class Varying(KryoPlan):
    """A whole number of any form, which must lie between two bounds, if ``low`` is not above ``high``."""

    form: Form
    low: int = 1
    high: int = 0


@dataclass(frozen=True)
class FixedNumber(KryoPlan):
    """A number of fixed width, or a boolean."""

    width: int
    little: bool


@dataclass(frozen=True)
class String(KryoPlan):
    """Kryo's string, or null."""


@dataclass(frozen=True)
class Character(KryoPlan):
    """One UTF-16 unit."""

    little: bool


@dataclass(frozen=True)
class Constants(KryoPlan):
    """The position of an enum's constant, plus one; 0 is null. Or, if ``exact``, the position itself."""

    names: tuple[str, ...]
    exact: bool = False


@dataclass(frozen=True)
class Uuid(KryoPlan):
    """Two longs: of variable length, or of eight bytes each."""

    form: Literal["little", "zigzag", "big"]


@dataclass(frozen=True)
class Moment(KryoPlan):
    """Milliseconds into the columns ``ms`` and ``nanos``: alone; and nanoseconds of the second; or the same where the
    milliseconds are only whole seconds."""

    form: Literal["alone", "nanos", "seconds"]


@dataclass(frozen=True)
class Clock(KryoPlan):
    """Kryo 5's time of day, whose last parts are left out where they are 0."""


@dataclass(frozen=True)
class Joda(KryoPlan):
    """A date, a time of day or both of the ISO calendar, as kryo-serializers writes Joda's."""

    form: Literal["date", "time", "both"]


@dataclass(frozen=True)
class StringOr(KryoPlan):
    """Kryo's string; where that is empty or null: a text, or null."""

    otherwise: str | None


@dataclass(frozen=True)
class Texts(KryoPlan):
    """A text that is put together of others."""

    parts: tuple[KryoPlan, ...]


@dataclass(frozen=True)
class BigNumber(KryoPlan):
    """A length plus one (0 is null) and the two's complement; :param scaled: then a scale."""

    scaled: bool


@dataclass(frozen=True)
class Blob(KryoPlan):
    """A length, and bytes; :param nullable: the length plus one, and 0 is null."""

    nullable: bool = True


@dataclass(frozen=True)
class Optional(KryoPlan):
    """A boolean, whether there is a number; :param always: the number follows in any case."""

    number: KryoPlan
    always: bool


@dataclass(frozen=True)
class Absent(KryoPlan):
    """No bytes: always null."""


# ---- what has parts


@dataclass(frozen=True)
class Fields(KryoPlan):
    """Parts one after the other.

    :param parts: each with the name of its column; the empty name is the struct itself, ``None`` what is passed over.
    :param label: the class' name, for the column ``class``.
    :param whole: the columns of the struct that have no part here become null.
    """

    parts: tuple[tuple[str | None, KryoPlan], ...]
    label: str | None = None
    whole: bool = True


@dataclass(frozen=True)
class Between(KryoPlan):
    """Parts that are passed over, what is kept, and more parts that are passed over."""

    before: tuple[KryoPlan, ...]
    content: KryoPlan
    after: tuple[KryoPlan, ...] = ()


@dataclass(frozen=True)
class Wrapped(KryoPlan):
    """What holds one value, and is that in its column; as JSON it may have a class of its own."""

    content: KryoPlan


@dataclass(frozen=True)
class Choice:
    """A class that a value can have.

    :param name: as Kryo writes it out; :param number: what represents it, if it was registered.
    :param wire: a number for what its bytes are, or -1 if no mark comes before its objects. Objects that others refer to
        are read again where the number is the same.
    """

    name: bytes
    number: int | None
    wire: int
    body: KryoPlan | None

    @property
    def has_marks(self) -> bool:
        return self.wire >= 0


@dataclass(frozen=True)
class ObjectOrNull(KryoPlan):
    """Where an object can be, or null."""


@dataclass(frozen=True)
class Known(ObjectOrNull):
    """An object whose class is known; :param nullable: there may be a null even if its class has no marks."""

    choice: Choice
    nullable: bool = True


@dataclass(frozen=True)
class AnyOf(ObjectOrNull):
    """A class reference, and an object of that class."""

    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True)
class Required(ObjectOrNull):
    """A place that has no nulls."""

    place: ObjectOrNull


@dataclass(frozen=True)
class View(KryoPlan):
    """Parts that are passed over, then another object of a class of the place that this one is in."""

    before: tuple[KryoPlan, ...]


@dataclass(frozen=True)
class ByClass(KryoPlan):
    """A class reference alone, and what follows it for each class; their ``wire`` is -1."""

    choices: tuple[Choice, ...]


# ---- JSON


@dataclass(eq=False)
class JsonTable:
    """What can be in a value of no fixed structure: the classes of each place, and what follows their objects' marks."""

    places: list[tuple[Choice, ...]]
    bodies: list[KryoPlan | None]


@dataclass(frozen=True)
class JsonAny(ObjectOrNull):
    """A class reference and an object of that class, as class and JSON, or as JSON inside of another value."""

    table: JsonTable
    number: int


@dataclass(frozen=True)
class JsonRef(KryoPlan):
    """What has parts, as JSON: one of the table's bodies; :param name: the class."""

    table: JsonTable
    number: int
    name: str


@dataclass(frozen=True)
class JsonScalar(KryoPlan):
    """A single value as JSON.

    :param form: more about its bytes, as the operation has it.
    :param names: of an enum's constants, or the only text that there is.
    :param wrapped: inside of another value it is in an object with its class; :param quoted: its text is a string.
    """

    name: str
    kind: Literal[
        "number", "real", "boolean", "string", "char", "enum", "uuid", "time", "big", "constant", "clock", "offset", "zone"
    ]  # fmt: skip
    form: int = 0
    names: tuple[str, ...] = ()
    wrapped: bool = False
    quoted: bool = False


@dataclass(frozen=True)
class Numbers(KryoPlan):
    """An array: a length plus one (0 is null), and numbers of at least ``width`` bytes."""

    number: KryoPlan
    width: int


@dataclass(frozen=True)
class Elements(KryoPlan):
    """A collection or an array of objects, of which each element has a place.

    :param count: ``plain``, ``null``: plus one, and 0 is null; or the number of elements where none is written.
    :param before: a place before the count, for what is passed over; :param after: one behind it.
    """

    element: KryoPlan
    count: Literal["plain", "null"] | int
    before: AnyOf | None = None
    after: AnyOf | ByClass | None = None


@dataclass(frozen=True)
class FlaggedElements(KryoPlan):
    """Kryo 5's collection: a count plus one with a flag.

    :param exact: the class of all elements, where it follows from a type argument; then the flag says that there are nulls.
    :param element: else the place of an element; or, where the flag is set, its class is written once.
    :param nulls: whether there may be nulls, so that the flag, or a byte after the class, says so.
    :param after: a place behind the count, for what is passed over.
    """

    exact: Choice | None
    element: AnyOf | JsonAny
    nulls: bool
    after: AnyOf | None = None


@dataclass(frozen=True)
class MapEntries(KryoPlan):
    """A map.

    :param count: and what follows: as of :class:`Elements`.
    """

    key: KryoPlan
    value: KryoPlan
    count: Literal["plain", "null"] | int
    before: AnyOf | None = None
    after: AnyOf | None = None


@dataclass(frozen=True)
class PairEntries(KryoPlan):
    """A map whose entries are objects.

    :param pair: their classes, each with :class:`Fields` ``key`` and ``value``; :param after: as of :class:`Elements`.
    """

    pair: AnyOf
    count: Literal["plain"] = "plain"
    after: AnyOf | None = None
