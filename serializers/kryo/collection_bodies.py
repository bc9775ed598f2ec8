"""Bodies of collections, maps, arrays and of what holds one value.

A function here makes a *factory*: called with a class name, it gives the body of that class. Kryo's classes:
``serializers.CollectionSerializer``, ``MapSerializer``, ``DefaultArraySerializers``, ``DefaultSerializers.Collections…``,
``OptionalSerializers``; chill's ``ArraysAsListSerializer``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from serializers.javatypes import JavaType
from serializers.kryo import wire
from serializers.kryo.forms import Entries, Fill, Holder, Items, Single
from serializers.kryo.json_texts import PLAIN
from serializers.kryo.kryo_reader import Body, Form, Generics, Kryo
from serializers.kryo.kryo_values import Char, Float, Long, Short
from serializers.kryo.wire import Input
from stateextract.errors import FormatError

Factory = Callable[[str], Body | Form]


def collection2(kind: str, comparator: bool = False) -> Factory:
    """Kryo 2: a count and the elements; without their classes where a type argument is final."""

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        if comparator:
            k.value(s)
        element = k.final_type(generics[0]) if generics else None
        read = k.value if element is None else element.read_or_null
        items += [read(s) for _ in range(wire.count(s, "elements"))]
        return True

    return lambda class_name: Items(class_name, kind, fill)


def collection5(kind: str, comparator: bool = False, nulls: bool = True) -> Factory:
    """Kryo 5: a flagged count; the class once where all elements have one, or not at all where a type argument is final."""

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        start = s.pos
        flag, n = wire.flagged_count_or_null(s)
        if n < 0:
            return False
        if comparator:
            k.value(s)
        if n == 0:
            return True
        arguments = generics.arguments if generics is not None else None
        below = arguments[-1] if arguments else None
        element = k.final_type(arguments[0].name) if arguments else None
        read = k.value
        if element is not None:
            if not nulls and flag:
                raise FormatError("a flag where none is written", offset=start)
            read = element.read_or_null if flag else element.read
        elif flag:
            element = k.class_reference(s)
            if element is None:
                wire.spend(s, n)
                items.extend([k.null] * n)
                return True
            read = element.read_or_null if nulls and wire.boolean(s) else element.read
        if n > s.end - s.pos:
            raise wire.truncated(f"{n} elements", start)
        items += [read(s, below) for _ in range(n)]
        return True

    return lambda class_name: Items(class_name, kind, fill)


def map2(comparator: bool = False) -> Factory:
    """Kryo 2: a count, keys and values."""

    def fill(k: Kryo, s: Input, generics: Generics, pairs: list[Any]) -> bool:
        if comparator:
            k.value(s)
        read_key = read_value = k.value
        if generics:
            types = [k.final_type(name) for name in (*generics, None)[:2]]
            read_key, read_value = (k.value if type_ is None else type_.read_or_null for type_ in types)
        for _ in range(wire.count(s, "entries")):
            key = read_key(s)
            pairs.append((key, read_value(s)))
        return True

    return lambda class_name: Entries(class_name, fill)


def map5(comparator: bool = False, nulls: bool = True) -> Factory:
    """Kryo 5: a count plus one, keys and values."""

    def fill(k: Kryo, s: Input, generics: Generics, pairs: list[Any]) -> bool:
        n = wire.count_or_null(s, "entries")
        if n < 0:
            return False
        if comparator:
            k.value(s)
        read_key = read_value = k.value
        of_key = of_value = None
        arguments = generics.arguments if generics is not None else None
        if arguments:
            types = [k.final_type(arguments[i].name) if i < len(arguments) else None for i in (0, 1)]
            read_key, read_value = (
                k.value if type_ is None else type_.read_or_null if nulls else type_.read for type_ in types
            )
            of_key, of_value = arguments[0], arguments[-1]
        for _ in range(n):
            key = read_key(s, of_key)
            pairs.append((key, read_value(s, of_value)))
        return True

    return lambda class_name: Entries(class_name, fill)


def singleton(kind: str) -> Factory:
    """``Collections.singleton…``: the element or entry itself."""

    def fill(k: Kryo, s: Input, generics: Generics, found: list[Any]) -> bool:
        first = k.value(s)
        found.append(first if kind != "map" else (first, k.value(s)))
        return True

    return lambda class_name: _container(class_name, kind, fill)


def empty(kind: str) -> Factory:
    """``Collections.empty…``: nothing."""
    return lambda class_name: _container(class_name, kind, lambda k, s, generics, found: True)


def _container(class_name: str, kind: str, fill: Fill) -> Form:
    """A collection or map that its elements cannot refer to."""
    return Entries(class_name, fill, early=False) if kind == "map" else Items(class_name, kind, fill, early=False)


def enum_set(class_name: str) -> Form:
    """``EnumSetSerializer``: the class once, a count, the constants without marks."""

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        start = s.pos
        name = k.class_name(s)
        if name is None:
            raise FormatError("a set of enum constants without a class", offset=start)
        element = k.type(name)
        for _ in range(wire.count(s, "elements")):
            items.append(element.body(k, s, -1, None))
        return True

    return Items(class_name, "set", fill, early=False)


def arrays_as_list2(class_name: str) -> Form:
    """chill's ``ArraysAsListSerializer``: a count, the component class, the elements."""

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        n = wire.count(s, "elements")
        k.class_name(s)
        for _ in range(n):
            items.append(k.value(s))
        return True

    return Items(class_name, "list", fill)


def wrapped(typed: bool) -> Factory:
    """One value.

    :param typed: a field of the type's parameter (as in ``AtomicReference``, and ``Optional`` in Kryo 2), so without
        its class where the type argument is final.
    """

    def read(k: Kryo, s: Input, generics: Generics) -> Any:
        final = k.final_type(_first_argument(k, generics)) if typed else None
        return k.value(s) if final is None else final.read_or_null(s)

    return lambda class_name: Holder(class_name, read)


def _first_argument(k: Kryo, generics: Generics) -> str | None:
    if not generics:
        return None
    name: str | None = generics[0] if k.flavour == 2 else generics.arguments[0].name if generics.arguments else None
    return name


def optional_number(field: str, made: Callable[[Any], Any]) -> Factory:
    """``OptionalInt`` and its like: whether it is present, then the number if it is."""

    def reader(k: Kryo) -> Callable[[Input], Any]:
        number = getattr(k.fixed, field)
        return lambda s: made(number(s)) if wire.boolean(s) else None

    return lambda class_name: Single(class_name, "wrapped", reader, nullable=False)


def optional_number2(reader_of: Callable[[Kryo], Callable[[Input], Any]], made: Callable[[Any], Any]) -> Factory:
    """The same written field by field, present or not."""

    def reader(k: Kryo) -> Callable[[Input], Any]:
        number = reader_of(k)

        def read(s: Input) -> Any:
            present, value = wire.boolean(s), number(s)
            return made(value) if present else None

        return read

    return lambda class_name: Single(class_name, "wrapped", reader, nullable=False)


# ---- arrays

_ELEMENTS: Final = {"short": ("h", 2), "char": ("H", 2), "float": ("f", 4), "double": ("d", 8)}


def array(type_: JavaType) -> Form:
    """An array: a count plus one, then the elements."""
    name, component = type_.class_name, type_.component
    if component == JavaType("byte"):
        return Single(name, "bytes", lambda k: _byte_array)
    if component.is_primitive:
        return Items(name, "list", _PRIMITIVES[component.name], early=False)
    element_name = component.class_name

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        n = wire.count_or_null(s, "elements")
        if n < 0:
            return False
        below = generics if k.flavour == 2 else None
        element = k.final_type(element_name) if n else None
        read = k.value if element is None else element.read_or_null
        items += [read(s, below) for _ in range(n)]
        return True

    return Items(name, "list", fill)


def _byte_array(s: Input) -> bytes | None:
    n = wire.count_or_null(s, "elements")
    return None if n < 0 else wire.take(s, n, "an array")


def _numbers(type_: type, width: int, read: Callable[[Kryo, Input, int], Iterable[Any]], made: Any = None) -> Fill:
    """The elements of a primitive array; :param made: makes the type of what was read."""
    write = PLAIN[type_]

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        n = wire.count_or_null(s, "elements", width)
        if n < 0:
            return False
        found = read(k, s, n)
        items.extend(map(write, found) if k.writes else found if made is None else map(made, found))
        return True

    return fill


_PRIMITIVES: Final[dict[str, Fill]] = {
    "boolean": _numbers(bool, 1, lambda k, s, n: [byte != 0 for byte in wire.take(s, n, "an array")]),
    "int": _numbers(int, 1, lambda k, s, n: [wire.zigzag_int(s) for _ in range(n)]),
    "long": _numbers(Long, 1, lambda k, s, n: [wire.zigzag_long(s) for _ in range(n)], Long),
    "short": _numbers(Short, 2, lambda k, s, n: k.fixed.array(s, "h", n), Short),
    "char": _numbers(Char, 2, lambda k, s, n: map(chr, k.fixed.array(s, "H", n)), Char),
    "float": _numbers(Float, 4, lambda k, s, n: k.fixed.array(s, "f", n), Float),
    "double": _numbers(float, 8, lambda k, s, n: k.fixed.array(s, "d", n)),
}
