"""Scala's classes as twitter/chill writes them, which Flink 1 registers with Kryo 2 (``FlinkScalaKryoInstantiator``).

Flink 1 has flink-scala on its class path by default, and with it chill: classes by the numbers 10 to 72 and by name,
collections as a count and their elements, objects (``MODULE$``) without a body. What a collection is, its serializer
decides: that of the first class below which it is in chill's list. Flink 2 has no such thing; there Scala's classes
are written field by field.

chill's: ``com.twitter.chill.{Traversable,SortedMap,SortedSet,BitSet,WrappedArray,Tuple*,Enumeration,Object}Serializer``;
Flink's: ``org.apache.flink.runtime.types.ScalaCollectionsRegistrar``. The classes' names are in ``scala_names.py``, their
columns in ``scala_columns.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from serializers.kryo import wire
from serializers.kryo.collection_bodies import Factory, empty
from serializers.kryo.fields import as_text
from serializers.kryo.forms import Entries, Holder, Items, Parts, Single
from serializers.kryo.kryo_reader import Body, Form, Generics, Kryo, NotDirectError, Type
from serializers.kryo.kryo_values import Char, Long, Obj, objects
from serializers.kryo.scala_names import (
    ARRAYS,
    BIT_SETS,
    EMPTY_SETS,
    IMMUTABLE,
    LISTS,
    MAPS,
    MUTABLE,
    REGISTERED,
    SETS,
    SORTED_MAP,
    SORTED_SET,
    WRAPPERS,
)
from serializers.kryo.wire import Input
from stateextract.errors import FormatError


def body(name: str) -> Body | Form | None:
    """The body of a class of Scala's library; ``None`` where it is not known."""
    if name in LISTS or name in SETS:
        return _traversable("list" if name in LISTS else "set")(name)
    if name in MAPS:
        return _traversable("map")(name)
    if name in (SORTED_SET, SORTED_MAP):
        return _traversable("set" if name == SORTED_SET else "map", ordered=True)(name)
    if name in BIT_SETS:
        return objects("list", _bits)(name)
    if name in ARRAYS:
        return objects("list", _wrapped_array)(name)
    if name in EMPTY_SETS:
        return empty("set")(name)
    if name in _OTHERS:
        return _OTHERS[name](name)
    specialized = SPECIALIZED_NAME.fullmatch(name)
    if specialized is not None:
        return _specialized(name, specialized[1], registered=name in REGISTERED)
    size = tuple_size(name)
    if size is not None:
        return _values(name, [f"_{i}" for i in range(1, size + 1)])
    return singleton(name) if name.startswith("scala.") and name.endswith("$") else None


def tuple_size(name: str) -> int | None:
    """How many parts a tuple has; ``None`` where the class is none, or is one for primitive parts."""
    found = _TUPLE_NAME.fullmatch(name)
    return None if found is None else int(found[1])


def singleton(name: str) -> Form:
    """chill's ``ObjectSerializer``: nothing is written, as there is only one."""
    return Parts(name, lambda k, generics, scope: (scope, []), early=False)


SPECIALIZED_NAME: Final = re.compile(r"scala\.Tuple[12]\$mc([ZCJID]{1,2})\$sp")
_TUPLE_NAME: Final = re.compile(r"scala\.Tuple([1-9]|1\d|2[0-2])")


# ---- collections


def _traversable(kind: str, ordered: bool = False) -> Factory:
    """A count and the elements, those of a map as pairs; after the count the ordering of sorted ones."""

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        n = wire.count(s, "elements")
        if ordered:
            k.value(s)
        for _ in range(n):
            items.append(_pair(k, s) if kind == "map" else k.value(s))
        return True

    return lambda class_name: Entries(class_name, fill) if kind == "map" else Items(class_name, kind, fill)


def _pair(k: Kryo, s: Input) -> tuple[Any, Any]:
    if k.writes:
        raise NotDirectError
    start = s.pos
    entry = k.value(s)
    if not isinstance(entry, Obj) or entry.kind != "fields" or set(entry.value) != {"_1", "_2"}:
        raise FormatError("an entry of a map that is not a pair", offset=start)
    return entry.value["_1"], entry.value["_2"]


def _bits(k: Kryo, s: Input) -> list[int]:
    """A count, the largest, then each one's distance to the one before."""
    n = wire.count(s, "bits")
    bits: list[int] = []
    if n:
        wire.vint(s)
    for _ in range(n):
        bits.append(wire.vint(s) + (bits[-1] if bits else 0))
    return bits


def _wrapped_array(k: Kryo, s: Input) -> Any:
    """The class of the elements, then the array."""
    k.type("java.lang.Class").read(s)
    start = s.pos
    array = k.value(s)
    if not isinstance(array, Obj) or array.kind not in ("list", "bytes"):
        raise FormatError("a wrapped array without its array", offset=start)
    return list(memoryview(array.value).cast("b")) if array.kind == "bytes" else array.value


def _range(k: Kryo, s: Input) -> range:
    """``Range``, field by field."""
    at = s.pos
    wire.zigzag_int(s)  # end
    is_empty = wire.boolean(s)
    last = wire.zigzag_int(s)
    wire.zigzag_int(s)  # number of elements
    start, step = wire.zigzag_int(s), wire.zigzag_int(s)
    if step == 0:
        raise FormatError("a range whose step is 0", offset=at)
    return range(0) if is_empty else range(start, last + (1 if step > 0 else -1), step)


def _java_wrapper(kind: str) -> Factory:
    """``Wrappers$…``, field by field: the object of all wrappers, then what is wrapped."""

    def make(class_name: str) -> Body:
        def read(k: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            k.value(s)
            return _relabelled(class_name, kind, k, s)

        return read

    return make


def _relabelled(class_name: str, kind: str, k: Kryo, s: Input) -> Obj:
    start = s.pos
    inner = k.value(s)
    if not isinstance(inner, Obj) or inner.kind not in (kind, "list", "set"):
        raise FormatError("a wrapped collection that is none", offset=start)
    return Obj(class_name, inner.kind, inner.value)


def _hash_set1(class_name: str) -> Form:
    """A set of one element, field by field: its hash and the element."""

    def fill(k: Kryo, s: Input, generics: Generics, items: list[Any]) -> bool:
        wire.zigzag_int(s)
        items.append(k.value(s))
        return True

    return Items(class_name, "set", fill)


# ---- tuples and what holds one value


def _values(class_name: str, names: list[str]) -> Form:
    return Parts(class_name, lambda k, generics, scope: (scope, [(name, k.value) for name in names]), early=False)


def _specialized(class_name: str, codes: str, registered: bool) -> Form:
    """A tuple of primitives: numbers of fixed width, or, of those that chill does not know, field by field."""

    def part(k: Kryo, code: str) -> Callable[[Input], Any]:
        read: Callable[[Input], Any] = {
            "I": k.fixed.i32 if registered else wire.zigzag_int, "J": k.fixed.i64 if registered else wire.zigzag_long,
            "D": k.fixed.f64, "C": k.fixed.char, "Z": wire.boolean,
        }[code]  # fmt: skip
        type_ = {"I": int, "J": Long, "D": float, "C": Char, "Z": bool}[code]
        made = as_text(k, read, type_) if k.writes or type_ not in (Long, Char) else lambda s: type_(read(s))
        if registered:
            return made

        def behind_null(s: Input) -> Any:
            k.value(s)  # the field of the class above, null
            return made(s)

        return behind_null

    def plan(k: Kryo, generics: Generics, scope: Any) -> Any:
        return scope, [(f"_{i}", part(k, code)) for i, code in enumerate(codes, 1)]

    return Parts(class_name, plan, early=False)


def _text(class_name: str) -> Form:
    return Single(class_name, "text", lambda k: wire.string, nullable=False)


def _final_text(java: str) -> Factory:
    """One field of a final class whose content is text."""

    def read(k: Kryo, s: Input) -> Any:
        found = k.type(java).read_or_null(s)
        return found.value if isinstance(found, Obj) else found

    return objects("text", read)


# ---- numbers, enumerations


def _big_decimal(k: Kryo, s: Input) -> Any:
    """Field by field: Java's number, its hash, the context of its operations."""
    number = _java_number(k, s, "big_decimal")
    wire.zigzag_int(s)
    k.type("java.math.MathContext").read_or_null(s)
    return number


def _java_number(k: Kryo, s: Input, kind: str) -> Any:
    start = s.pos
    number = k.value(s)
    if not isinstance(number, Obj) or number.kind != kind:
        raise FormatError("a number of Scala's without Java's", offset=start)
    return number.value


def _enumeration(k: Kryo, s: Input) -> Any:
    """The enumeration, which is an object, and the value's number."""
    start = s.pos
    name = k.class_name(s)
    if name is None or not name.endswith("$"):
        raise FormatError(f"a value of the enumeration {name}, which is not an object", offset=start)
    owner = Type(k, name, True, singleton(name)).read(s)
    if not isinstance(owner, Obj):
        raise FormatError("a value of no enumeration", offset=start)
    return {"enumeration": owner.class_name[:-1], "id": k.fixed.i32(s)}


_OTHERS: Final[dict[str, Factory]] = {
    **dict.fromkeys(
        ("scala.Some", "scala.util.Left", "scala.util.Right", "scala.util.Success", "scala.util.Failure"),
        lambda class_name: Holder(class_name, lambda k, s, generics: k.value(s)),
    ),
    "scala.None$": lambda class_name: Single(class_name, "wrapped", lambda k: lambda s: None, nullable=False),
    **dict.fromkeys(("scala.Symbol", "scala.util.matching.Regex"), _text),
    "scala.runtime.BoxedUnit": lambda class_name: Single(class_name, "text", lambda k: lambda s: "()"),
    "scala.math.BigDecimal": objects("big_decimal", _big_decimal),
    "scala.math.BigInt": objects("big_integer", lambda k, s: _java_number(k, s, "big_integer")),
    "scala.Enumeration$Val": objects("fields", _enumeration),
    **dict.fromkeys((IMMUTABLE + "Range", IMMUTABLE + "Range$Inclusive"), objects("list", _range)),
    IMMUTABLE + "WrappedString": _final_text("java.lang.String"),
    IMMUTABLE + "HashSet$HashSet1": _hash_set1,
    MUTABLE + "StringBuilder": _final_text("java.lang.StringBuilder"),
    **dict.fromkeys((WRAPPERS + "SeqWrapper", WRAPPERS + "JListWrapper"), _java_wrapper("list")),
    **dict.fromkeys((WRAPPERS + "MapWrapper", WRAPPERS + "JMapWrapper"), _java_wrapper("map")),
    WRAPPERS + "IterableWrapper": lambda class_name: lambda k, s, slot, generics: _relabelled(class_name, "list", k, s),
}
