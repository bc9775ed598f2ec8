"""Columns for the types of Scala's library, of values that chill wrote: Option, Either, tuples, collections.

Scala tells Java of ``List[Int]`` and ``Option[Long]`` no more than ``List<Object>`` and ``Option<Object>``; their elements are
columns of class and JSON.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from serializers.javatypes import BY_CODE, JavaType
from serializers.kryo import scala_names
from serializers.kryo.kryo_values import Obj
from serializers.kryo.shapes import (
    ANY,
    PRIMITIVES,
    SCALARS,
    STRING,
    KryoColumn,
    KryoField,
    ObjectForm,
    ScalarForm,
    Shaper,
    Shaping,
    list_of,
    map_of,
    misfit,
    wrapper,
)
from stateextract.columnar.layout import Field, Layout, Number, Struct, Text, struct

if TYPE_CHECKING:
    from serializers.kryo.columns import Planner

_BIT_SETS: Final = scala_names.BIT_SETS | {scala_names.IMMUTABLE + "BitSet", scala_names.MUTABLE + "BitSet"}
_ONE: Final = ("scala.Option", "scala.Some", "scala.None$")
_TUPLE: Final = re.compile(r"scala\.Tuple(\d+)(?:\$mc([ZCJID]+)\$sp)?")


def _enumerated(value: Any, out: Shaping) -> Any:
    if value is None:
        return None
    if not isinstance(value, Obj) or value.class_name != "scala.Enumeration$Val":
        raise misfit(value, "an Enumeration's value")
    return value.value


_SCALARS: Final = {
    "scala.Symbol": STRING,
    "scala.util.matching.Regex": STRING,
    "scala.collection.immutable.WrappedString": STRING,
    "scala.collection.mutable.StringBuilder": STRING,
    "scala.math.BigInt": SCALARS["java.math.BigInteger"],
    "scala.math.BigDecimal": SCALARS["java.math.BigDecimal"],
    **dict.fromkeys(
        ("scala.Enumeration$Value", "scala.Enumeration$Val"),
        KryoColumn(struct(enumeration=Text("value"), id=Number(pa.int32())), lambda layout: _enumerated),
    ),
    **dict.fromkeys(
        (*_BIT_SETS, "scala.collection.immutable.Range", "scala.collection.immutable.Range$Inclusive"),
        list_of(PRIMITIVES["int"], "integers"),
    ),
}


def column(planner: Planner, type_: JavaType, above: tuple[str, ...]) -> KryoColumn | None:
    """The column of a type of Scala's library; ``None`` where it is none."""
    name, arguments = type_.name, type_.arguments
    if not name.startswith("scala."):
        return None
    if name in _SCALARS:
        found = _SCALARS[name]
        return replace(found, form=found.form or ScalarForm(name))
    inner = [planner.column(argument, above) for argument in arguments]
    if name in _ONE:
        return wrapper(inner[0], name) if inner else ANY
    if name == "scala.util.Either" and len(inner) == 2:
        return _either(inner[0], inner[1])
    if name in scala_names.MAP_LIKE:
        return map_of(inner[0], inner[1], name) if len(inner) == 2 else ANY
    if name in scala_names.LIST_LIKE or name in scala_names.SET_LIKE:
        return list_of(inner[0], name, unordered=name in scala_names.SET_LIKE) if len(inner) == 1 else ANY
    tuple_ = _TUPLE.fullmatch(name)
    if tuple_ is not None:
        if tuple_[2]:
            inner = [PRIMITIVES[BY_CODE[code]] for code in tuple_[2]]
            return _tuple(inner, [name])
        names = [name, *(n for n in scala_names.REGISTERED if n.startswith(f"{name}$"))]
        return _tuple(inner or [ANY] * int(tuple_[1]), names)
    return ANY


def _either(left: KryoColumn, right: KryoColumn) -> KryoColumn:
    """A struct of which one side is filled; what is null on both was a null inside of one."""

    def shape(layout: Layout) -> Shaper:
        assert isinstance(layout, Struct)
        sides = {"scala.util.Left": "left", "scala.util.Right": "right"}
        parts = {f.name: part.shape(f.layout) for part, f in zip((left, right), layout.fields, strict=True)}

        def shaper(value: Any, out: Shaping) -> Any:
            if value is None:
                return None
            if not isinstance(value, Obj) or value.class_name not in sides:
                raise misfit(value, "Either")
            side = sides[value.class_name]
            return {"left": None, "right": None, side: parts[side](value.value, out)}

        return shaper

    parts = {"scala.util.Left": [KryoField("value", "left", left)], "scala.util.Right": [KryoField("value", "right", right)]}
    return KryoColumn(struct(left=left.layout, right=right.layout), shape, ObjectForm(parts, labelled=False))


def _tuple(parts: list[KryoColumn], classes: list[str]) -> KryoColumn:
    names = [f"_{i}" for i in range(1, len(parts) + 1)]

    def shape(layout: Layout) -> Shaper:
        assert isinstance(layout, Struct)
        below = [(name, part.shape(f.layout)) for name, part, f in zip(names, parts, layout.fields, strict=True)]

        def shaper(value: Any, out: Shaping) -> Any:
            if value is None:
                return None
            if not isinstance(value, Obj) or value.kind != "fields" or list(value.value) != names:
                raise misfit(value, f"a tuple of {len(parts)}")
            return {name: part(value.value[name], out) for name, part in below}

        return shaper

    layout = Struct(tuple(Field(name, part.layout) for name, part in zip(names, parts, strict=True)))
    form = [KryoField(name, name, part) for name, part in zip(names, parts, strict=True)]
    return KryoColumn(layout, shape, ObjectForm(dict.fromkeys(classes, form), labelled=False))
