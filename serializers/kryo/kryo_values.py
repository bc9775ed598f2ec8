"""Values out of Kryo, before they become columns or JSON.

``None``, ``bool``, ``str`` and the numbers represent Java's null, Boolean, String and numbers: a plain ``int`` is an
Integer, a plain ``float`` a Double, and small subclasses mark the others. Everything else is an :class:`Obj`: its class,
a kind that says how its content is held, and the content. One object that is referred to twice is one ``Obj``.

=================  ==================================================================
kind               content
=================  ==================================================================
text               str: UUID, StringBuilder, URI, Currency, Locale, zones, Period, …
big_integer        int
big_decimal        (unscaled int, scale)
date               int: milliseconds since 1970
sql_timestamp      (milliseconds, nanoseconds of the second)
instant, duration  (seconds, nanoseconds)
local_date         (year, month, day)
local_time         (hour, minute, second, nanoseconds)
local_datetime     all seven
bytes              bytes
list, set          list of values
map                list of (key, value)
enum               str, the constant's name
fields             dict of values by field name
wrapped            one value or ``None``: Optional, AtomicReference
message            a message of Protobuf, as the library holds it
opaque             bytes: what only its own class can read
=================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from serializers.kryo.kryo_reader import Body, Kryo
    from serializers.kryo.wire import Input


class Long(int):
    """A ``java.lang.Long``."""

    __slots__ = ()


class Short(int):
    """A ``java.lang.Short``."""

    __slots__ = ()


class Byte(int):
    """A ``java.lang.Byte``."""

    __slots__ = ()


class Float(float):
    """A ``java.lang.Float``."""

    __slots__ = ()


class Char(str):
    """A ``java.lang.Character``."""

    __slots__ = ()


class Obj:
    """An object."""

    __slots__ = ("class_name", "kind", "value")

    def __init__(self, class_name: str, kind: str, value: Any) -> None:
        self.class_name = class_name
        self.kind = kind
        self.value = value

    def __repr__(self) -> str:
        # Objects may refer to each other in circles.
        return f"Obj({self.class_name!r}, {self.kind!r})"


CLASSES: dict[type, str] = {
    bool: "java.lang.Boolean",
    int: "java.lang.Integer",
    Long: "java.lang.Long",
    Short: "java.lang.Short",
    Byte: "java.lang.Byte",
    Float: "java.lang.Float",
    float: "java.lang.Double",
    Char: "java.lang.Character",
    str: "java.lang.String",
}


def class_of(value: Any) -> str:
    """The Java class of a value that is not null."""
    return value.class_name if isinstance(value, Obj) else CLASSES[type(value)]


def objects(kind: str, read: Callable[[Kryo, Input], Any]) -> Callable[[str], Body]:
    """Makes the body of a class whose objects have a content that ``read`` gives."""
    return lambda class_name: lambda k, s, slot, generics: Obj(class_name, kind, read(k, s))
