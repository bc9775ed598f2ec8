"""Plans for Scala's classes: again what ``chill.py`` reads of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from serializers.javatypes import BY_CODE
from serializers.javatypes import PRIMITIVES as CODES
from serializers.kryo import chill, scala_names
from serializers.kryo.fields import Scope
from serializers.kryo.library_plans import text
from serializers.kryo.shapes import ANY, PRIMITIVES, SCALARS, STRING, KryoColumn, ObjectForm, WrapperForm
from stateextract.columnar.layout.kryo_plan import (
    Absent,
    AnyOf,
    Between,
    Fields,
    FixedNumber,
    JsonScalar,
    Known,
    KryoPlan,
    ObjectOrNull,
    PairEntries,
    Required,
    Varying,
    Wrapped,
)

if TYPE_CHECKING:
    from serializers.kryo.plans import Asked, Plans

_HOLDERS: Final = ("scala.Some", "scala.util.Left", "scala.util.Right", "scala.util.Success", "scala.util.Failure")
_FIXED: Final = {
    "I": (4, "java.lang.Integer", 7), "J": (8, "java.lang.Long", 8), "D": (8, "java.lang.Double", 0),
}  # fmt: skip
"""Numbers of tuples: their bytes, their class, and how JSON has them."""
_HASHED: Final = scala_names.IMMUTABLE + "HashSet$HashSet1"
_ITERABLE: Final = scala_names.WRAPPERS + "IterableWrapper"
_VIEWS: Final = frozenset(
    scala_names.WRAPPERS + name for name in ("SeqWrapper", "JListWrapper", "MapWrapper", "JMapWrapper", "IterableWrapper")
)
_MAP_VIEWS: Final = frozenset(name for name in _VIEWS if "Map" in name)
LISTS: Final = tuple(
    sorted(
        scala_names.LISTS | scala_names.SETS | scala_names.EMPTY_SETS | scala_names.ARRAYS
        | {scala_names.SORTED_SET, _HASHED, *(_VIEWS - _MAP_VIEWS)}
    )
)  # fmt: skip
MAPS: Final = tuple(sorted(scala_names.MAPS | {scala_names.SORTED_MAP} | _MAP_VIEWS))
"""Collections and maps that are where one is declared."""
OTHERS: Final = (
    *_HOLDERS, "scala.None$", "scala.Symbol", "scala.util.matching.Regex", "scala.runtime.BoxedUnit", "scala.math.BigInt",
    "scala.math.BigDecimal", scala_names.IMMUTABLE + "WrappedString", scala_names.MUTABLE + "StringBuilder",
)  # fmt: skip
_STRINGS: Final = {
    scala_names.IMMUTABLE + "WrappedString": "java.lang.String",
    scala_names.MUTABLE + "StringBuilder": "java.lang.StringBuilder",
}
PAIRS: Final = ("scala.Tuple2", *(name for name in scala_names.REGISTERED if name.startswith("scala.Tuple2$")))
_NUMBERS: Final = {"scala.math.BigInt": "java.math.BigInteger", "scala.math.BigDecimal": "java.math.BigDecimal"}


def plan(p: Plans, asked: Asked) -> KryoPlan | None:
    """What a class of Scala's library has."""
    name, scope = asked.name, asked.scope
    if name in scala_names.LISTS or name in scala_names.SETS:
        return p.elements(asked, "plain")
    if name in scala_names.EMPTY_SETS:
        return p.elements(asked, 0)
    if name == scala_names.SORTED_SET:
        return p.elements(asked, "plain", after=p.comparator())
    if name == _HASHED:
        element = p.elements(asked, 1)
        return None if element is None else Between((Varying("zigzag int"),), element)
    if name in scala_names.MAPS or name == scala_names.SORTED_MAP:
        return _map(p, asked)
    if name in scala_names.ARRAYS:
        return _array(p, asked)
    if name in _VIEWS and p.has_scala:
        owner = p.singletons("scala.collection.convert.Wrappers$")
        return p.view(asked, *(() if name == _ITERABLE else (owner,)))
    if name in _HOLDERS:
        return _holder(p, asked)
    if name == "scala.None$":
        return Wrapped(Absent()) if asked.column is ANY or isinstance(asked.column.form, WrapperForm) else None
    if name in ("scala.Symbol", "scala.util.matching.Regex"):
        return text(asked)
    if name == "scala.runtime.BoxedUnit":
        return JsonScalar(name, "constant", names=('"()"',), wrapped=True) if asked.column is ANY else None
    if name in _STRINGS or name in _NUMBERS:
        return _held(p, asked)
    size, specialized = chill.tuple_size(name), chill.SPECIALIZED_NAME.fullmatch(name)
    if specialized is not None:
        size = len(specialized[1])
    if size is not None:
        parts = _parts(asked, size)
        return None if parts is None else _tuple(p, name, parts, scope)
    return Fields(()) if asked.column is ANY and name.startswith("scala.") and name.endswith("$") else None


def _holder(p: Plans, asked: Asked) -> KryoPlan | None:
    column, form = asked.column, asked.column.form
    if column is ANY or isinstance(form, WrapperForm):
        return Wrapped(p.any_of(form.inner if isinstance(form, WrapperForm) else ANY, None, asked.scope))
    if not isinstance(form, ObjectForm) or asked.name not in form.parts:
        return None
    (part,) = form.parts[asked.name]
    return Fields(((part.column, p.any_of(part.content, None, asked.scope)),))


def _held(p: Plans, asked: Asked) -> KryoPlan | None:
    """What is in an object of Java's."""
    name, column = asked.name, asked.column
    java = _STRINGS.get(name) or _NUMBERS[name]
    if column is ANY:
        body: KryoPlan | None = replace(p.single_json[java], wrapped=False)
    else:
        body = p.single.get(java) if column.layout == (STRING if name in _STRINGS else SCALARS[java]).layout else None
    if body is None:
        return None
    choice = p.named(java, body)
    if name in _STRINGS:
        content: KryoPlan = Required(Known(choice))
    else:
        rounding = Known(p.named("java.math.RoundingMode", Varying("int", 1, 8)))
        context = Fields(((None, Varying("zigzag int")), (None, rounding)))
        after = (Varying("zigzag int"), Known(p.named("java.math.MathContext", context)))
        content = Between((), Required(AnyOf((choice,))), after if name == "scala.math.BigDecimal" else ())
    return content if name == "scala.math.BigInt" else Wrapped(content)


def _map(p: Plans, asked: Asked) -> KryoPlan | None:
    entry = asked.entry
    if entry is None:
        return None
    choices = []
    for name in PAIRS if p.has_scala else PAIRS[:1]:
        pair = _tuple(p, name, entry, asked.scope)
        if pair is not None:
            (_, key), (_, value) = pair.parts
            key = Required(key) if isinstance(key, ObjectOrNull) else key
            choices.append(p.named(name, Fields((("key", key), ("value", value))), asked.scope))
    after = p.comparator() if asked.name == scala_names.SORTED_MAP else None
    return PairEntries(AnyOf(tuple(choices)), after=after)


def _array(p: Plans, asked: Asked) -> KryoPlan | None:
    """The class of the elements, and the array."""
    element, kind = asked.element, asked.name.partition("$of")[2]
    if element is None:
        return None
    if kind == "Ref":
        names = dict.fromkeys(f"[L{name};" for name in p.component_classes(element) if not name.startswith("["))
        choices = [p.choice(name, asked.column, None, asked.scope) for name in names]
    else:
        numbers = p.numbers(kind.lower(), element)
        choices = [] if numbers is None else [p.named(f"[{CODES[kind.lower()]}", numbers)]
    kept = tuple(choice for choice in choices if choice.body is not None)
    of = Known(p.named("java.lang.Class", p.class_alone(FixedNumber(1, little=False))), nullable=False)
    return Between((of,), Required(AnyOf(kept))) if kept else None


# ---- tuples


def _parts(asked: Asked, size: int) -> tuple[KryoColumn, ...] | None:
    """The columns of a tuple's parts."""
    form = asked.column.form
    if asked.column is ANY:
        return (ANY,) * size
    if not isinstance(form, ObjectForm) or asked.name not in form.parts:
        return None
    return tuple(part.content for part in form.parts[asked.name])


def _tuple(p: Plans, name: str, columns: tuple[KryoColumn, ...], scope: Scope) -> Fields | None:
    specialized = chill.SPECIALIZED_NAME.fullmatch(name)
    parts: list[tuple[str | None, KryoPlan]] = []
    for i, column in enumerate(columns):
        plan: KryoPlan | None
        if specialized is None:
            plan = p.any_of(column, None, scope)
        elif name in scala_names.REGISTERED:
            plan = _fixed(specialized[1][i], column)
        else:
            parts.append((None, AnyOf()))
            plan = p.primitive(BY_CODE[specialized[1][i]], column)
        if plan is None:
            return None
        parts.append((f"_{i + 1}", plan))
    return Fields(tuple(parts))


def _fixed(code: str, column: KryoColumn) -> KryoPlan | None:
    width, name, form = _FIXED[code]
    if column is ANY:
        return JsonScalar(name, "real" if code == "D" else "number", form)
    return FixedNumber(width, little=False) if column.layout == PRIMITIVES[BY_CODE[code]].layout else None
