"""Bodies of collections, maps, arrays and of what holds one value.

A function here makes a *factory*: called with a class name, it gives the body of that class. Kryo's classes:
``serializers.CollectionSerializer``, ``MapSerializer``, ``DefaultArraySerializers``, ``DefaultSerializers.Collections…``,
``OptionalSerializers``; chill's ``ArraysAsListSerializer``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from serializers.javatypes import JavaType
from serializers.kryo import wire
from serializers.kryo.reader import Body, Generics, Kryo
from serializers.kryo.values import Char, Float, Long, Obj, Short
from serializers.kryo.wire import Input
from stateextract.errors import FormatError

Factory = Callable[[str], Body]

def collection2(kind: str, comparator: bool = False) -> Factory:
    """Kryo 2: a count and the elements; without their classes where a type argument is final."""

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            items: list[Any] = []
            obj = Obj(class_name, kind, items)
            if slot >= 0:
                s.refs[slot] = obj
            if comparator:
                k.value(s)
            element = None
            if generics and generics[0] is not None and k.classes.is_final(generics[0]):
                element = k.type(generics[0])
            for _ in range(wire.count(s, "elements")):
                items.append(k.value(s) if element is None else k.object_or_null(s, element))
            return obj

        return body

    return make


def collection5(kind: str, comparator: bool = False, nulls: bool = True) -> Factory:
    """Kryo 5: a flagged count; the class once where all elements have one, or not at all where a type argument is final."""

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            items: list[Any] = []
            obj = Obj(class_name, kind, items)
            if slot >= 0:
                s.refs[slot] = obj
            start = s.pos
            flag, n = wire.flagged_count_or_null(s)
            if n < 0:
                return None
            if comparator:
                k.value(s)
            if n == 0:
                return obj
            arguments = generics.arguments if generics is not None else None
            below = arguments[-1] if arguments else None
            element = None
            if arguments and arguments[0].name is not None and k.classes.is_final(arguments[0].name):
                element, has_null = k.type(arguments[0].name), flag
                if not nulls and flag:
                    raise FormatError("a flag where none is written", offset=start)
            elif flag:
                name = k.class_name(s)
                if name is None:
                    wire.spend(s, n)
                    items.extend([None] * n)
                    return obj
                element, has_null = k.type(name), nulls and wire.boolean(s)
            if n > s.end - s.pos:
                raise wire.truncated(f"{n} elements", start)
            if element is None:
                for _ in range(n):
                    items.append(k.value(s, below))
            elif has_null:
                for _ in range(n):
                    items.append(k.object_or_null(s, element, below))
            else:
                for _ in range(n):
                    items.append(k.object(s, element, below))
            return obj

        return body

    return make


def map2(comparator: bool = False) -> Factory:
    """Kryo 2: a count, keys and values."""

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            pairs: list[tuple[Any, Any]] = []
            obj = Obj(class_name, "map", pairs)
            if slot >= 0:
                s.refs[slot] = obj
            if comparator:
                k.value(s)
            types = [
                k.type(generics[i])
                if generics and len(generics) > i and generics[i] is not None and k.classes.is_final(generics[i])
                else None
                for i in (0, 1)
            ]
            for _ in range(wire.count(s, "entries")):
                key, value = (k.value(s) if t is None else k.object_or_null(s, t) for t in types)
                pairs.append((key, value))
            return obj

        return body

    return make


def map5(comparator: bool = False, nulls: bool = True) -> Factory:
    """Kryo 5: a count plus one, keys and values."""

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            pairs: list[tuple[Any, Any]] = []
            obj = Obj(class_name, "map", pairs)
            if slot >= 0:
                s.refs[slot] = obj
            n = wire.count_or_null(s, "entries")
            if n < 0:
                return None
            if comparator:
                k.value(s)
            arguments = (generics.arguments if generics is not None else None) or ()
            parts = []
            for i in (0, 1):
                name = arguments[i].name if i < len(arguments) else None
                final = k.type(name) if name is not None and k.classes.is_final(name) else None
                parts.append((final, arguments[0 if i == 0 else -1] if arguments else None))
            typed = k.object_or_null if nulls else k.object
            for _ in range(n):
                key, value = (k.value(s, g) if t is None else typed(s, t, g) for t, g in parts)
                pairs.append((key, value))
            return obj

        return body

    return make


def singleton(kind: str) -> Factory:
    """``Collections.singleton…``: the element or entry itself."""

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            if kind == "map":
                key = k.value(s)
                return Obj(class_name, kind, [(key, k.value(s))])
            return Obj(class_name, kind, [k.value(s)])

        return body

    return make


def empty(kind: str) -> Factory:
    """``Collections.empty…``: nothing."""
    return lambda class_name: lambda k, s, slot, generics: Obj(class_name, kind, [])


def enum_set(class_name: str) -> Body:
    """``EnumSetSerializer``: the class once, a count, the constants without marks."""

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        start = s.pos
        name = k.class_name(s)
        if name is None:
            raise FormatError("a set of enum constants without a class", offset=start)
        element = k.type(name)
        n = wire.count(s, "elements")
        return Obj(class_name, "set", [element.body(k, s, -1, None) for _ in range(n)])

    return body


def arrays_as_list2(class_name: str) -> Body:
    """chill's ``ArraysAsListSerializer``: a count, the component class, the elements."""

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        items: list[Any] = []
        obj = Obj(class_name, "list", items)
        s.refs[slot] = obj
        n = wire.count(s, "elements")
        k.class_name(s)
        items.extend(k.value(s) for _ in range(n))
        return obj

    return body


def wrapped(typed: bool) -> Factory:
    """One value.

    :param typed: a field of the type's parameter (as in ``AtomicReference``, and ``Optional`` in Kryo 2), so without
        its class where the type argument is final.
    """

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            obj = Obj(class_name, "wrapped", None)
            s.refs[slot] = obj
            name = _first_argument(k, generics) if typed else None
            final = name is not None and k.classes.is_final(name)
            obj.value = k.object_or_null(s, k.type(name)) if final and name is not None else k.value(s)
            return obj

        return body

    return make


def _first_argument(k: Kryo, generics: Generics) -> str | None:
    if not generics:
        return None
    name: str | None = generics[0] if k.flavour == 2 else generics.arguments[0].name if generics.arguments else None
    return name


def optional_number(field: str, wrap: Callable[[Any], Any]) -> Factory:
    """``OptionalInt`` and its like: whether it is present, then the number if it is."""

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            present = wire.boolean(s)
            return Obj(class_name, "wrapped", wrap(getattr(k.fixed, field)(s)) if present else None)

        return body

    return make


def optional_number2(read: Callable[[Kryo, Input], Any]) -> Factory:
    """The same written field by field, present or not."""

    def make(class_name: str) -> Body:
        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            present = wire.boolean(s)
            value = read(k, s)
            return Obj(class_name, "wrapped", value if present else None)

        return body

    return make


# ---- arrays

_ELEMENTS: Final = {"short": ("h", 2), "char": ("H", 2), "float": ("f", 4), "double": ("d", 8)}


def array(type_: JavaType) -> Body:
    """An array: a count plus one, then the elements."""
    name, component = type_.class_name, type_.component
    if component.is_primitive:
        return _primitives(name, component.name)
    element_name = component.class_name

    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        items: list[Any] = []
        obj = Obj(name, "list", items)
        s.refs[slot] = obj
        n = wire.count_or_null(s, "elements")
        if n < 0:
            return None
        below = generics if k.flavour == 2 else None
        if n and k.classes.is_final(element_name):
            element = k.type(element_name)
            items.extend(k.object_or_null(s, element, below) for _ in range(n))
        else:
            items.extend(k.value(s, below) for _ in range(n))
        return obj

    return body


def _primitives(name: str, element: str) -> Body:
    def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
        code, width = _ELEMENTS.get(element, ("", 1))
        n = wire.count_or_null(s, "elements", width)
        if n < 0:
            return None
        if element == "byte":
            return Obj(name, "bytes", wire.take(s, n, "an array"))
        if element == "boolean":
            return Obj(name, "list", [byte != 0 for byte in wire.take(s, n, "an array")])
        if element == "int":
            return Obj(name, "list", [wire.zigzag_int(s) for _ in range(n)])
        if element == "long":
            return Obj(name, "list", [Long(wire.zigzag_long(s)) for _ in range(n)])
        values = k.fixed.array(s, code, n)
        wrap: Any = {"short": Short, "char": char, "float": Float, "double": float}[element]
        return Obj(name, "list", [wrap(v) for v in values])

    return body


def char(unit: int) -> Char:
    return Char(chr(unit))
