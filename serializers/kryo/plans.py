"""Plans for the kernel: what the bytes of most values are, by the classes that a column is made of.

What is read here is what ``resolve.py``, ``bodies.py``, ``collection_bodies.py``, ``times.py`` and ``fields.py`` read, of
classes that are common and regular; ``library_plans.py`` and ``scala_plans.py`` have those of libraries. Where there is nothing
for a class, the plan has no case for it, and the kernel leaves its values to them. So nothing here may be other than there;
what is missing costs time only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from serializers.classes import ClassModel
from serializers.javatypes import BOXES, JavaType, of_class_name
from serializers.kryo import bodies, chill, jackson, jdk, library_plans, scala_plans
from serializers.kryo.fields import Scope, WrittenField, object_fields, record_fields
from serializers.kryo.kryo_reader import Generics, Kryo
from serializers.kryo.resolve import registered
from serializers.kryo.shapes import (
    ANY,
    BYTES,
    PRIMITIVES,
    SCALARS,
    STRING,
    KryoColumn,
    KryoField,
    ListForm,
    MapForm,
    ObjectForm,
    ScalarForm,
    WrapperForm,
)
from stateextract.columnar.layout.kryo_plan import (
    AnyOf,
    Between,
    BigNumber,
    Blob,
    ByClass,
    Character,
    Choice,
    Clock,
    Constants,
    Elements,
    Fields,
    FixedNumber,
    FlaggedElements,
    JsonAny,
    JsonRef,
    JsonScalar,
    JsonTable,
    Known,
    KryoPlan,
    MapEntries,
    Moment,
    Numbers,
    ObjectOrNull,
    Optional,
    PairEntries,
    Required,
    String,
    Texts,
    Uuid,
    Varying,
    View,
    Wrapped,
)
from stateextract.errors import StateExtractError

_UTIL: Final = "java.util."
_TIME: Final = "java.time."
_LISTS: Final = tuple(
    _UTIL + name
    for name in (
        "ArrayList", "LinkedList", "HashSet", "LinkedHashSet", "TreeSet", "ArrayDeque", "Arrays$ArrayList",
        "ImmutableCollections$ListN", "ImmutableCollections$List12", "ImmutableCollections$SetN",
        "ImmutableCollections$Set12", "Collections$EmptyList", "Collections$EmptySet", "Collections$SingletonList",
        "Collections$SingletonSet", "PriorityQueue", "Vector", "concurrent.CopyOnWriteArrayList",
        "concurrent.ConcurrentLinkedQueue",
    )
)  # fmt: skip
_MAPS: Final = tuple(
    _UTIL + name
    for name in (
        "HashMap", "LinkedHashMap", "TreeMap", "concurrent.ConcurrentHashMap", "ImmutableCollections$MapN",
        "ImmutableCollections$Map1", "Collections$EmptyMap", "Collections$SingletonMap", "Hashtable", "WeakHashMap",
    )
)  # fmt: skip
"""Collections and maps that are where an interface is declared, the commonest first."""
_GUAVA: Final = tuple(
    f"com.google.common.collect.{name}"
    for name in ("RegularImmutableList", "SingletonImmutableList", "RegularImmutableSet", "SingletonImmutableSet")
)
_COMMONEST: Final = (
    "java.lang.Integer", "java.lang.String", "java.lang.Long", "java.lang.Double", "java.lang.Boolean", "java.util.ArrayList",
    "java.util.HashMap",
)  # fmt: skip
_DESCRIBED: Final = (
    "java.util.concurrent.TimeUnit", _TIME + "DayOfWeek", _TIME + "Month", "java.io.File",
    *(f"{_UTIL}{name}SummaryStatistics" for name in ("Int", "Long", "Double")),
)  # fmt: skip
"""Enums and classes with fields that are not the user's."""
_GENERIC: Final = (
    *(f"org.apache.flink.api.java.tuple.Tuple{n}" for n in (2, 3, 4, 5, 1)), _UTIL + "AbstractMap$SimpleEntry",
    "org.apache.flink.types.Either$Left", "org.apache.flink.types.Either$Right",
)  # fmt: skip
"""The same with type parameters. Where arguments are known, each of them would make a place more, so they have plans only where
none are."""
_HOLDERS: Final = (
    _UTIL + "Optional", *(f"{_UTIL}Optional{name}" for name in ("Int", "Long", "Double")), _UTIL + "EnumSet",
    _UTIL + "RegularEnumSet", _UTIL + "concurrent.atomic.AtomicReference",
)  # fmt: skip
_COMPARATORS: Final = (
    "java.util.Comparators$NaturalOrderComparator", "java.util.Collections$ReverseComparator",
    "java.lang.String$CaseInsensitiveComparator", "com.google.common.collect.NaturalOrdering",
    "com.google.common.collect.ReverseNaturalOrdering",
)  # fmt: skip
_ORDERINGS: Final = tuple(
    f"scala.math.Ordering${name}$"
    for name in ("Int", "Long", "String", "Double", "Short", "Byte", "Char", "Float", "Boolean", "BigInt", "BigDecimal")
)
_CHARSETS: Final = tuple(
    f"sun.nio.cs.{name}" for name in ("UTF_8", "US_ASCII", "ISO_8859_1", "UTF_16", "UTF_16BE", "UTF_16LE")
)
_TEXTS5: Final = ("java.net.URL", _TIME + "ZoneRegion", _TIME + "ZoneId", "java.nio.charset.Charset")
_TEXTS2: Final = ("java.util.regex.Pattern",)
"""Classes that one version of Kryo writes as strings."""
_CALENDARS: Final = (_UTIL + "GregorianCalendar", _UTIL + "Calendar")
_ORDERS: Final = frozenset(["java.util.Comparator", "scala.math.Ordering"])
_NOTHING: Final = Fields(())
_T: Final = JsonScalar("", "constant", names=("T",))
_COMPONENTS: Final = (
    "java.lang.Object", "java.lang.Number", "java.util.UUID", "java.math.BigDecimal", "java.math.BigInteger", "java.util.Date",
    _TIME + "Instant", "java.io.Serializable", "java.lang.Comparable",
)  # fmt: skip
_WIDTHS: Final = {"short": 2, "char": 2, "float": 4, "double": 8}
"""Bytes of the elements of arrays, where they are more than one."""
_MOST_CLASSES: Final = 200
"""Classes that the user describes, beyond which only registered ones are expected in values of no fixed structure."""
_MOST_PLACES: Final = 16
_MOST_BODIES: Final = 2000
_SHORT: Final = 64
"""Kryo 2's strings of ASCII that are shorter, and have two characters at least, end with a byte whose highest bit is set. In
Kryo 5 all class names do."""
_ALSO: Final = {
    "java.lang.CharSequence": ("java.lang.String", "java.lang.StringBuilder"),
    "java.util.TimeZone": ("sun.util.calendar.ZoneInfo",),
    "java.util.EnumSet": ("java.util.RegularEnumSet",),
    "java.nio.charset.Charset": _CHARSETS,
    _TIME + "ZoneId": (_TIME + "ZoneRegion", _TIME + "ZoneOffset"),
    "scala.Option": ("scala.Some", "scala.None$"),
    "scala.util.Try": ("scala.util.Success",),
}
"""Classes that are where another one is declared."""
_MOST: Final = 6000
"""Operations, about, of one place. Lists of lists of many classes would otherwise have programs of any size."""


@dataclass(frozen=True)
class Asked:
    """What a plan is asked for: a class whose objects are in a column."""

    name: str
    column: KryoColumn
    generics: Generics
    scope: Scope

    @property
    def element(self) -> KryoColumn | None:
        """The column of a list's elements."""
        form = self.column.form
        return ANY if self.column is ANY else form.element if isinstance(form, ListForm) else None

    @property
    def entry(self) -> tuple[KryoColumn, KryoColumn] | None:
        """The columns of a map's keys and values."""
        form = self.column.form
        return (ANY, ANY) if self.column is ANY else (form.key, form.value) if isinstance(form, MapForm) else None


def plan_of(kryo: Kryo, column: KryoColumn) -> KryoPlan | None:
    """The plan of a column's values; ``None`` where only Python reads them."""
    plans = Plans(kryo)
    place = plans.any_of(column, None, ())
    plans.complete()
    return None if place == AnyOf() else place


def written_name(name: str, flavour: int) -> bytes | None:
    """A class name as Kryo writes it out; ``None`` where that is not simple."""
    if not name.isascii() or len(name) < 2:
        return None
    data = name.encode("ascii")
    if flavour == 5 or len(data) < _SHORT:
        return data[:-1] + bytes([data[-1] | 0x80])
    size = len(data) + 1
    if size < 0x40:
        return bytes([0x80 | size]) + data
    return bytes([0xC0 | size & 0x3F, size >> 6]) + data if size < 1 << 13 else None


class Plans:
    """Makes the plans of one serializer's columns."""

    def __init__(self, kryo: Kryo) -> None:
        self.kryo = kryo
        self.little = kryo.flavour == 5
        self.ids = {name: number for number, name in kryo.registrations.ids.items()}
        self.library = self._library()
        self.wires: dict[Any, int] = {}
        self.single: dict[str, KryoPlan] = {}
        self.single |= self._single()
        self.single_json = self._single_json()
        self.texts = self._texts2() if kryo.flavour == 2 else self._texts5()
        self.optional_json = self._optional_json()
        self.fields_json = self._fields_json()
        self.places: dict[Any, AnyOf] = {}
        self.table = JsonTable([], [])
        self.json: dict[Any, JsonAny | JsonRef] = {}
        self.has_scala = kryo.chill and any(map(_is_of_scala, kryo.classes.models.by_name.values()))
        self.todo: list[Callable[[], None]] = []

    def _library(self) -> list[str]:
        """Collections and maps with serializers of their own."""
        known = self.kryo.registrations
        names = (*known.serializers, *_GUAVA, *(jdk.SUPERTYPES if known.defaults else ()))
        return [name for name in names if registered(self.kryo, name) is not None]

    def _number(self, width: int) -> FixedNumber:
        return FixedNumber(width, self.little)

    # ---- places

    def any_of(self, column: KryoColumn, generics: Generics, scope: Scope) -> AnyOf | JsonAny:
        """Where a class reference precedes an object."""
        if column is ANY:
            return self._json_any(self._followed(generics), scope)
        key = (id(column), generics, scope)
        if key not in self.places:
            place = AnyOf(self._choices(self._candidates(column), column, generics, scope))
            self.places[key] = place if _size(place) <= _MOST else AnyOf()
        return self.places[key]

    def _choices(
        self, names: Iterable[str], column: KryoColumn, generics: Generics, scope: Scope
    ) -> tuple[Choice, ...]:
        shared: dict[KryoPlan, KryoPlan] = {}
        choices = []
        for name in names:
            found = self.choice(name, column, generics, scope)
            if found.name and found.body is not None:
                body = shared.setdefault(found.body, found.body)
                choices.append(replace(found, body=body))
        return tuple(choices)

    def _known(self, name: str, column: KryoColumn, generics: Generics, scope: Scope) -> Known:
        """An object of a known class, or null."""
        return Known(self.choice(name, column, generics, scope))

    def _candidates(self, column: KryoColumn) -> Iterator[str]:
        """The classes that an object can have which makes a value of a column."""
        form = column.form
        match form:
            case ScalarForm():
                yield form.declared
                yield from _ALSO.get(form.declared, ())
                yield from self._constants(form.declared)
            case WrapperForm():
                yield form.declared
                yield from _ALSO.get(form.declared, ())
            case ListForm() | MapForm():
                yield from dict.fromkeys(self._containers(column))
            case ObjectForm():
                yield from form.parts

    def _containers(self, column: KryoColumn) -> Iterator[str]:
        """The classes of the collections or maps that make a value of a column."""
        form = column.form
        assert isinstance(form, ListForm | MapForm)
        is_map, declared = isinstance(form, MapForm), form.declared
        yield declared
        if declared.startswith("scala."):
            yield from scala_plans.MAPS if is_map else scala_plans.LISTS
        elif is_map or declared in jdk.LIST_LIKE or declared in jdk.SET_LIKE:
            yield from self._containers_of(is_map)
        else:
            yield from self.library

    def _containers_of(self, is_map: bool) -> Iterator[str]:
        """Java's."""
        yield from _MAPS if is_map else _LISTS
        yield from (name for name in self.library if (name in jdk.MAP_LIKE) == is_map)

    def view(self, asked: Asked, *before: KryoPlan) -> KryoPlan | None:
        """Parts that are passed over, and the collection or map that another one is a view of."""
        column, name = asked.column, asked.name
        is_map = name in jdk.MAP_LIKE or name in scala_plans.MAPS
        if column is not ANY:
            return View(before) if isinstance(column.form, MapForm if is_map else ListForm) else None
        key = ("contents", is_map, asked.scope)
        if key not in self.places:
            names = dict.fromkeys(self._containers_of(is_map))
            if name.startswith("scala."):
                names |= dict.fromkeys(scala_plans.MAPS if is_map else scala_plans.LISTS)
            self.places[key] = AnyOf(self._choices(names, column, None, asked.scope))
        return Between(before, Required(self.places[key]))

    def _constants(self, name: str) -> Iterator[str]:
        """The classes of an enum's constants that have bodies."""
        model = self.kryo.classes.get(name)
        if model is not None and model.kind == "enum" and not model.final:
            yield from (f"{name}${i}" for i in range(1, len(model.constants) + 1))

    def choice(self, name: str, column: KryoColumn, generics: Generics, scope: Scope) -> Choice:
        written = written_name(name, self.kryo.flavour) or b""
        if column is ANY and name == "java.lang.String":
            written = b""  # a map's keys are looked at, and are strings by their number
        try:
            find = self._json_body if column is ANY else self._body
            body = find(Asked(name, column, generics, scope))
            wire = self._wire(name, generics, scope) if self.kryo.type(name).references else -1
            return Choice(written, self.ids.get(name), wire, body)
        except StateExtractError:
            return Choice(written, None, self._wire("", None, ()), None)  # which says so when a value is read

    def named(self, name: str, body: KryoPlan, scope: Scope = ()) -> Choice:
        """A class with its plan."""
        wire = self._wire(name, None, scope) if self.kryo.type(name).references else -1
        return Choice(written_name(name, self.kryo.flavour) or b"", self.ids.get(name), wire, body)

    def _wire(self, name: str, generics: Generics, scope: Scope) -> int:
        """A number for what the bytes of an object are."""
        key = (name, None, ()) if name in self.single else (name, self._followed(generics), scope)
        return self.wires.setdefault(key, len(self.wires))

    # ---- what follows a mark

    def _body(self, asked: Asked) -> KryoPlan | None:
        """As ``resolve.py`` finds it."""
        k, name, column, scope = self.kryo, asked.name, asked.column, asked.scope
        model = k.classes.models.get(name)
        if model is not None and model.written:
            return self._written(model, column)
        serializer = registered(k, name)
        if serializer is not None:
            return library_plans.plan(self, serializer, asked)
        if name.startswith("["):
            return self._array(of_class_name(name), asked)
        if bodies.well_known(k.flavour, name) is not None:
            return self.as_class(name, asked)
        if k.chill and chill.body(name) is not None:
            return scala_plans.plan(self, asked)
        found = k.classes.get(name)
        if found is None:
            return None
        if found.kind == "object" and k.chill:
            return self._fields([], asked, scope)
        for above in k.classes.supertypes(name):
            if bodies.inherited(k.flavour, above, name) is not None:
                return self.as_class(above, asked)
            if above in bodies.WRITES_ITSELF:
                return None
        if found.kind == "enum":
            return self._enum(found, column)
        if found.kind == "record" and k.flavour == 5:
            return self._fields(record_fields(k, found), asked, scope)
        return self.object_(found, asked)

    def object_(self, model: ClassModel, asked: Asked) -> KryoPlan | None:
        """What is written field by field."""
        inner, fields = object_fields(self.kryo, model, asked.generics, asked.scope)
        return self._fields(fields, asked, inner)

    def elements(
        self, asked: Asked, count: Literal["plain"] | int, before: AnyOf | None = None, after: AnyOf | None = None
    ) -> Elements | None:
        """Objects with their classes."""
        if asked.element is None:
            return None
        place = AnyOf() if count == 0 else self.any_of(asked.element, None, asked.scope)
        return Elements(place, count, before, after)

    def entries(self, asked: Asked, count: Literal["plain"] | int) -> MapEntries | None:
        """Keys and values with their classes."""
        if asked.entry is None:
            return None
        key, value = (AnyOf() if count == 0 else self.any_of(part, None, asked.scope) for part in asked.entry)
        return MapEntries(key, value, count)

    # ---- classes without objects, objects without content

    def _enums(self, column: KryoColumn, exact: bool, follows: Callable[[KryoPlan], KryoPlan]) -> ByClass:
        """The class of an enum; :param follows: what comes behind it, by the plan of a constant."""
        choices = []
        for name in self._json_classes() if column is ANY else self._candidates(column):
            model = self.kryo.classes.get(name)
            plan = self._enum(model, column, name if exact else None) if model is not None and model.kind == "enum" else None
            if plan is not None:
                choices.append(replace(self.named(name, follows(plan)), wire=-1))
        return ByClass(tuple(choices))

    def enum_set(self, asked: Asked, exact: bool) -> KryoPlan | None:
        """:param exact: of constants: as of :class:`Constants`."""
        if asked.element is None:
            return None
        return self._enums(asked.element, exact, lambda constant: Elements(constant, "plain"))

    def enum_map(self, asked: Asked) -> KryoPlan | None:
        if asked.entry is None:
            return None
        value = self.any_of(asked.entry[1], None, asked.scope)
        return self._enums(asked.entry[0], True, lambda constant: MapEntries(constant, value, "plain"))

    def component_classes(self, element: KryoColumn = ANY) -> dict[str, None]:
        """Classes that arrays commonly have elements of, which are in a column."""
        if element is not ANY:
            return dict.fromkeys(("java.lang.Object", *self._candidates(element)))
        users = self.kryo.classes.models.by_name
        return dict.fromkeys((*_COMMONEST, *_COMPONENTS, *(sorted(users) if len(users) <= _MOST_CLASSES else ())))

    def class_alone(self, body: KryoPlan = _NOTHING) -> ByClass:
        """The class of an array's elements, which is passed over."""
        return ByClass(tuple(replace(self.named(name, body), wire=-1) for name in self.component_classes()))

    def singletons(self, *names: str) -> AnyOf:
        """Objects without content."""
        return AnyOf(tuple(self.named(name, _NOTHING) for name in names))

    def comparator(self) -> AnyOf:
        """What sorted collections are sorted by, where it has no content."""
        if "comparator" not in self.places:
            classes = self.kryo.classes
            names = [name for name in classes.models.by_name if not _ORDERS.isdisjoint(classes.assignable(name))]
            choices = []
            for name in (*_COMPARATORS, *names, *(_ORDERINGS if self.has_scala else ())):
                with suppress(StateExtractError):
                    model = classes.get(name)
                    is_enum = model is not None and model.kind == "enum"
                    body = Varying("int", 1, 1) if is_enum else self._body(Asked(name, ANY, None, ()))
                    if is_enum or body == _NOTHING:
                        choices.append(self.named(name, body or _NOTHING))
            self.places["comparator"] = AnyOf(tuple(choices))
        return self.places["comparator"]

    def _enum(self, model: ClassModel, column: KryoColumn, exact: str | None = None) -> KryoPlan | None:
        """:param exact: the class that has the constants, where their positions are written as they are."""
        if not "".join(model.constants).isascii() or len(model.constants) > 127:
            return None
        if column is ANY:
            return JsonScalar(exact or model.name, "enum", int(exact is not None), tuple(model.constants), wrapped=True)
        return Constants(tuple(model.constants), exact is not None) if column.layout == STRING.layout else None

    def _fields(self, fields: list[WrittenField], asked: Asked, scope: Scope) -> KryoPlan | None:
        name, column, form = asked.name, asked.column, asked.column.form
        if column is ANY:
            parts = {field.key: KryoField(field.key, field.key, ANY) for field in fields}
        elif isinstance(form, ObjectForm) and name in form.parts:
            parts = {part.key: part for part in form.parts[name]}
        else:
            return None
        planned: list[tuple[str | None, KryoPlan]] = []
        for field in fields:
            part = parts.get(field.key)
            plan = None if part is None else self._field(field, part.content, scope)
            if part is None or plan is None:
                return None
            planned.append((part.column, plan))
        return Fields(tuple(planned), name if isinstance(form, ObjectForm) and form.labelled else None)

    def _field(self, field: WrittenField, column: KryoColumn, scope: Scope) -> KryoPlan | None:
        if field.type.is_primitive:
            return self.primitive(field.type.name, column)
        if field.is_undecided:
            return None
        if field.type.name == "?":
            return AnyOf()
        if self.kryo.classes.is_final(field.static_class):
            return self._known(field.static_class, column, field.generics, scope)
        return self.any_of(column, field.generics, scope)

    def primitive(self, name: str, column: KryoColumn) -> KryoPlan | None:
        if column is ANY:
            return self.single_json.get(BOXES[name])
        if column.layout != PRIMITIVES[name].layout:
            return None
        plans: dict[str, KryoPlan] = {
            "int": Varying("zigzag int"), "long": Varying("zigzag long"), "byte": self._number(1),
            "boolean": self._number(1), "short": self._number(2), "float": self._number(4), "double": self._number(8),
            "char": Character(self.little),
        }  # fmt: skip
        return plans[name]

    def _written(self, model: ClassModel, column: KryoColumn) -> KryoPlan | None:
        """What a serializer of the user's own writes."""
        form = column.form
        if not isinstance(form, ObjectForm) or model.name not in form.parts:
            return None
        plans: dict[str, tuple[str, KryoPlan]] = {
            "boolean": ("boolean", self._number(1)), "byte": ("byte", self._number(1)), "short": ("short", self._number(2)),
            "char": ("char", Character(self.little)), "int": ("int", self._number(4)), "long": ("long", self._number(8)),
            "float": ("float", self._number(4)), "double": ("double", self._number(8)), "string": ("char", String()),
            "positive int": ("int", Varying("int")), "varint": ("int", Varying("zigzag int")),
            "positive long": ("long", Varying("long")), "varlong": ("long", Varying("zigzag long")), "object": ("", AnyOf()),
        }  # fmt: skip
        parts = {part.key: part for part in form.parts[model.name]}
        planned: list[tuple[str | None, KryoPlan]] = []
        for written in model.written:
            part = parts[written.name]
            if written.type not in plans:
                return None
            type_, plan = plans[written.type]
            if type_ and part.content.layout != PRIMITIVES[type_].layout:
                return None
            planned.append((part.column, plan))
        return Fields(tuple(planned), model.name if form.labelled else None)

    # ---- the JDK's classes

    def as_class(self, known: str, asked: Asked) -> KryoPlan | None:
        """What a class of the JDK has; that of ``asked`` may be another one that is written alike."""
        column, form = asked.column, asked.column.form
        if column is ANY and known in self.single_json:
            scalar = self.single_json[known]
            return replace(scalar, name=asked.name) if known not in BOXES.values() and known != "java.lang.String" else scalar
        plan = self.single.get(known)
        if column is not ANY and plan is not None:
            expected = SCALARS.get(known, STRING).layout
            return plan if column.layout == expected else None
        if known in self.texts:
            content = self.texts[known]
            return Wrapped(content) if column is ANY else content if column.layout == STRING.layout else None
        if column is ANY and known in self.fields_json:
            return self.fields_json[known]
        if column is ANY and known in self.optional_json:
            return Wrapped(self.optional_json[known])
        if known == "java.util.regex.Pattern":
            return library_plans.pattern(self, asked)
        if known in jdk.ENUM_SETS:
            return self.enum_set(asked, exact=False)
        if known in (_UTIL + "Optional", _UTIL + "concurrent.atomic.AtomicReference"):
            if column is not ANY and not isinstance(form, WrapperForm):
                return None
            return Wrapped(self._wrapped(known, form.inner if isinstance(form, WrapperForm) else ANY, asked))
        if asked.element is not None and (known in jdk.LIST_LIKE or known in jdk.SET_LIKE):
            return self._collection(known, asked.element, asked)
        if asked.entry is not None and known in jdk.MAP_LIKE:
            return self._map(known, asked.entry, asked)
        return None

    def _single(self) -> dict[str, KryoPlan]:
        """Classes of one value."""
        lang, atomic = "java.lang.", "java.util.concurrent.atomic."
        two = self.kryo.flavour == 2
        found: dict[str, KryoPlan] = {
            **{lang + name: plan for name, plan in (
                ("Integer", Varying("zigzag int")), ("Long", Varying("zigzag long")), ("Short", self._number(2)),
                ("Character", Character(self.little)), ("Byte", self._number(1)), ("Boolean", self._number(1)),
                ("Float", self._number(4)), ("Double", self._number(8)), ("String", String()), ("StringBuilder", String()),
                ("StringBuffer", String()),
            )},
            **dict.fromkeys(
                (
                    "java.util.Currency", "java.util.TimeZone", "sun.util.calendar.ZoneInfo", "java.net.URI",
                    *(_TEXTS2 if two else (*_TEXTS5, *_CHARSETS)),
                ),
                String(),
            ),
            "java.math.BigInteger": BigNumber(scaled=False), "java.math.BigDecimal": BigNumber(scaled=True),
            **dict.fromkeys(("java.util.Date", "java.sql.Date", "java.sql.Time"), Moment("alone")),
            "java.sql.Timestamp": Moment("nanos" if two else "seconds"),
            "java.util.UUID": Uuid("zigzag" if two else "little"),
            atomic + "AtomicInteger": Varying("zigzag int"), atomic + "AtomicLong": Varying("zigzag long"),
            atomic + "AtomicBoolean": Varying("zigzag int", 0, 1),
            _TIME + "Year": Varying("zigzag int" if two else "int"),
        }  # fmt: skip
        return found | (self._times2() if two else self._times5())

    def _times2(self) -> dict[str, KryoPlan]:
        number, wide = Varying("zigzag int"), Varying("zigzag long")
        moment = Fields((("nanos", number), ("seconds", wide)))
        date = Fields(
            (("day", Varying("short", 1, 31)), ("month", Varying("short", 1, 12)), ("year", number)), whole=False
        )  # fmt: skip
        time = Fields(
            (
                ("hour", Varying("byte", 0, 23)), ("minute", Varying("byte", 0, 59)),
                ("nanos", Varying("zigzag int", 0, 999_999_999)), ("second", Varying("byte", 0, 59)),
            ),
            whole=False,
        )  # fmt: skip
        return {
            _TIME + "Instant": moment,
            _TIME + "Duration": moment,
            _TIME + "LocalDate": date,
            _TIME + "LocalTime": time,
            _TIME + "LocalDateTime": Fields(
                (("", self._part("LocalDate", date)), ("", self._part("LocalTime", time))), whole=False
            ),
            _TIME + "ZoneRegion": Required(Known(self.named("java.lang.String", String()))),
            "java.util.OptionalInt": Optional(number, always=True),
            "java.util.OptionalLong": Optional(wide, always=True),
            "java.util.OptionalDouble": Optional(self._number(8), always=True),
        }

    def _part(self, name: str, plan: KryoPlan) -> Required:
        """An object of a class of ``java.time`` in another one."""
        return Required(Known(self.named(_TIME + name, plan), nullable=False))

    def _times5(self) -> dict[str, KryoPlan]:
        nanos = Varying("int")
        date = (("year", Varying("int")), ("month", Varying("byte", 1, 12)), ("day", Varying("byte", 1, 31)))
        return {
            _TIME + "Instant": Fields((("seconds", Varying("long")), ("nanos", nanos))),
            _TIME + "Duration": Fields((("seconds", self._number(8)), ("nanos", nanos))),
            _TIME + "LocalDate": Fields(date),
            _TIME + "LocalTime": Clock(),
            _TIME + "LocalDateTime": Fields((*date, ("", Clock())), whole=False),
            "java.util.OptionalInt": Optional(self._number(4), always=False),
            "java.util.OptionalLong": Optional(self._number(8), always=False),
            "java.util.OptionalDouble": Optional(self._number(8), always=False),
        }

    def _texts2(self) -> dict[str, Texts]:
        """Dates and times that are texts in their columns."""

        def part(name: str, content: KryoPlan) -> Required:
            return Required(Known(self.named(name, content), nullable=False))

        date, time, offset = JsonScalar("", "time", 4), JsonScalar("", "clock", 1), JsonScalar("", "offset", 1)
        moment = Texts((part(_TIME + "LocalDate", date), _T, part(_TIME + "LocalTime", time)))
        own_offset = part(_TIME + "ZoneOffset", offset)
        name = Required(Known(self.named("java.lang.String", JsonScalar("", "zone", 0))))
        region = Required(AnyOf((self.named(_TIME + "ZoneRegion", Texts((name,))),)))
        return {
            _TIME + "LocalTime": Texts((time,)),
            _TIME + "LocalDateTime": moment,
            _TIME + "ZoneOffset": Texts((offset,)),
            _TIME + "OffsetDateTime": Texts((part(_TIME + "LocalDateTime", moment), own_offset)),
            _TIME + "ZonedDateTime": Texts((part(_TIME + "LocalDateTime", moment), own_offset, region)),
        }

    def _texts5(self) -> dict[str, Texts]:
        date, time, offset = JsonScalar("", "time", 3), JsonScalar("", "clock", 0), JsonScalar("", "offset", 0)
        return {
            _TIME + "LocalTime": Texts((time,)),
            _TIME + "LocalDateTime": Texts((date, _T, time)),
            _TIME + "ZoneOffset": Texts((offset,)),
            _TIME + "OffsetTime": Texts((time, offset)),
            _TIME + "OffsetDateTime": Texts((date, _T, time, offset)),
            _TIME + "ZonedDateTime": Texts((date, _T, time, JsonScalar("", "zone", 1))),
        }

    def _final(self, name: str | None) -> str | None:
        """A type argument whose objects are without their class."""
        return name if name is not None and self.kryo.classes.is_final(name) else None

    def _wrapped(self, name: str, inner: KryoColumn, asked: Asked) -> ObjectOrNull:
        generics, scope = asked.generics, asked.scope
        two = self.kryo.flavour == 2
        final = None
        if generics and (two or name != _UTIL + "Optional"):
            arguments = generics if two else generics.arguments
            first = arguments[0] if arguments else None
            final = self._final(first if two or first is None else first.name)
        return self.any_of(inner, None, scope) if final is None else self._known(final, inner, None, scope)

    def _collection(self, name: str, element: KryoColumn, asked: Asked) -> KryoPlan | None:
        generics, scope = asked.generics, asked.scope
        short = name.removeprefix(_UTIL)
        if short in ("Collections$EmptyList", "Collections$EmptySet"):
            return self.elements(asked, 0)
        if short in ("Collections$SingletonList", "Collections$SingletonSet"):
            return self.elements(asked, 1)
        is_sorted = name in jdk.SORTED_SETS or name in jdk.QUEUES
        comparator = self.comparator() if is_sorted else None
        if self.kryo.flavour == 2:
            if short == "Arrays$ArrayList":
                return library_plans.arrays_as_list(self, asked)
            if not self._is_plain(name, is_sorted):
                return None
            final = self._final(generics[0]) if generics else None
            place = self.any_of(element, None, scope) if final is None else self._known(final, element, None, scope)
            return Elements(place, "plain", before=comparator)
        fixed = name in jdk.IMMUTABLE_LISTS or name in jdk.IMMUTABLE_SETS
        if not (fixed or short == "Arrays$ArrayList" or self._is_plain(name, is_sorted)):
            return None
        arguments = generics.arguments if generics is not None else None
        below = arguments[-1] if arguments else None
        final = self._final(arguments[0].name) if arguments else None
        if final is None:
            return FlaggedElements(None, self.any_of(element, below, scope), not fixed, comparator)
        exact = self.choice(final, element, below, scope)
        return FlaggedElements(exact, AnyOf(), not fixed, comparator)

    def _map(self, name: str, columns: tuple[KryoColumn, KryoColumn], asked: Asked) -> KryoPlan | None:
        generics, scope = asked.generics, asked.scope
        short = name.removeprefix(_UTIL)
        if short in ("Collections$EmptyMap", "Collections$SingletonMap"):
            return self.entries(asked, int(short == "Collections$SingletonMap"))
        two = self.kryo.flavour == 2
        fixed = not two and name in jdk.IMMUTABLE_MAPS
        is_sorted = short == "TreeMap" if two else name in jdk.SORTED_MAPS
        if not (fixed or self._is_plain(name, is_sorted)):
            return None
        comparator = self.comparator() if is_sorted else None
        arguments = (generics if two else generics.arguments if generics is not None else None) or ()
        places: list[ObjectOrNull] = []
        for i, column in enumerate(columns):
            argument = arguments[i] if i < len(arguments) else None
            below = None if two or not arguments else arguments[0 if i == 0 else -1]
            final = self._final(argument if two or argument is None else argument.name)
            if final is None:
                places.append(self.any_of(column, below, scope))
            else:
                places.append(Known(self.choice(final, column, below, scope), nullable=not fixed))
        if two:
            return MapEntries(places[0], places[1], "plain", before=comparator)
        return MapEntries(places[0], places[1], "null", after=comparator)

    def _is_plain(self, name: str, is_sorted: bool) -> bool:
        """Whether a collection or map is written as most are."""
        return is_sorted or bodies.is_container(self.kryo.flavour, name)

    # ---- arrays

    def numbers(self, primitive: str, element: KryoColumn) -> Numbers | None:
        """An array of primitives."""
        number = self.primitive(primitive, element)
        return None if number is None else Numbers(number, _WIDTHS.get(primitive, 1))

    def _array(self, type_: JavaType, asked: Asked) -> KryoPlan | None:
        column, generics, scope = asked.column, asked.generics, asked.scope
        component = type_.component
        if component == JavaType("byte"):
            return Blob() if column.layout == BYTES.layout else None
        form = column.form
        if column is ANY:
            element = ANY
        elif isinstance(form, ListForm):
            element = form.element
        else:
            return None
        if component.is_primitive:
            return self.numbers(component.name, element)
        below = generics if self.kryo.flavour == 2 else None
        place: ObjectOrNull
        if self.kryo.classes.is_final(component.class_name):
            place = self._known(component.class_name, element, below, scope)
        else:
            place = self.any_of(element, below, scope)
        return Elements(place, "null")

    # ---- JSON

    def complete(self) -> None:
        """Plan what was put off: classes hold each other, so that a body is only named where it is."""
        while self.todo:
            self.todo.pop()()

    def _followed(self, generics: Generics) -> Generics:
        """Type arguments that make a difference."""
        return None if self.kryo.flavour == 5 and generics is not None and generics.arguments is None else generics

    def _json_any(self, generics: Generics, scope: Scope) -> AnyOf | JsonAny:
        """A value of any class, as JSON."""
        key = (generics, scope)
        table = self.table
        if key not in self.json:
            if len(table.places) >= _MOST_PLACES:
                return AnyOf()
            place = self.json[key] = JsonAny(table, len(table.places))
            table.places.append(())

            def choose() -> None:
                names = dict.fromkeys((*self._json_classes(), *(() if generics or scope else _GENERIC)))
                found = [self.choice(name, ANY, generics, scope) for name in names]
                table.places[place.number] = tuple(choice for choice in found if choice.body is not None)

            self.todo.append(choose)
        found = self.json[key]
        assert isinstance(found, JsonAny)
        return found

    def _json_classes(self) -> dict[str, None]:
        """The classes that a value of any class can have in a plan, the commonest first."""
        models = self.kryo.classes.models.by_name
        users = sorted(models) if len(models) <= _MOST_CLASSES else []
        users += [constant for name in users for constant in self._constants(name)]
        known = (*_COMMONEST, *self.kryo.registrations.ids.values(), *self.library)
        of_scala = (*scala_plans.LISTS, *scala_plans.MAPS, *scala_plans.OTHERS) if self.has_scala else ()
        singles = (*self.single_json, *self.texts, *self.fields_json)
        return dict.fromkeys((*known, *_LISTS, *_MAPS, *_HOLDERS, *users, *singles, *_DESCRIBED, *of_scala))

    def _json_body(self, asked: Asked) -> KryoPlan | None:
        name, generics, scope = asked.name, asked.generics, asked.scope
        if name in jackson.CLASSES:
            return None
        k = self.kryo
        model = k.classes.get(name)
        if k.classes.models.get(name) is None and registered(k, name) is None and name in self.single_json:
            return self.single_json[name]
        if model is not None and model.kind == "enum":
            return self._body(asked)
        if model is not None and not model.parameters and k.classes.models.get(name) is model:
            generics = None
        key = (name, self._followed(generics), scope)
        table = self.table
        if key not in self.json:
            if len(table.bodies) >= _MOST_BODIES:
                return None
            ref = self.json[key] = JsonRef(table, len(table.bodies), name)
            table.bodies.append(None)

            def plan() -> None:
                with suppress(StateExtractError):  # which is raised when a value is read
                    table.bodies[ref.number] = self._body(Asked(name, ANY, generics, scope))

            self.todo.append(plan)
        found = self.json[key]
        assert isinstance(found, JsonRef)
        return found

    def _single_json(self) -> dict[str, JsonScalar]:
        two = self.kryo.flavour == 2
        lang, atomic = "java.lang.", "java.util.concurrent.atomic."
        plain: dict[str, tuple[Any, int]] = {
            lang + "Integer": ("number", 1), lang + "Long": ("number", 3), lang + "Short": ("number", 6 if self.little else 5),
            lang + "Byte": ("number", 4), lang + "Boolean": ("boolean", 0), lang + "Double": ("real", int(self.little)),
            lang + "Character": ("char", int(self.little)), lang + "String": ("string", 0), "java.math.BigInteger": ("big", 0),
        }  # fmt: skip
        wrapped: dict[str, tuple[Any, int]] = {
            **dict.fromkeys(
                (
                    lang + "StringBuilder", lang + "StringBuffer", "java.net.URI", "java.util.Currency", "java.util.TimeZone",
                    "sun.util.calendar.ZoneInfo", *(_TEXTS2 if two else (*_TEXTS5, *_CHARSETS)),
                ),
                ("string", 0),
            ),
            "java.util.UUID": ("uuid", int(two)), "java.sql.Timestamp": ("time", 5 if two else 6),
            "java.util.Date": ("time", 0), "java.sql.Date": ("time", 0),
            "java.sql.Time": ("time", 0), _TIME + "Instant": ("time", 2 if two else 1),
            _TIME + "LocalDate": ("time", 4 if two else 3), "java.math.BigDecimal": ("big", 1),
            atomic + "AtomicInteger": ("number", 1), atomic + "AtomicLong": ("number", 3),
            _TIME + "Year": ("number", 1 if two else 0),
        }  # fmt: skip
        quoted = ("uuid", "time", "big")
        return {name: JsonScalar(name, *how) for name, how in plain.items()} | {
            name: JsonScalar(name, *how, wrapped=True, quoted=how[0] in quoted) for name, how in wrapped.items()
        }

    @staticmethod
    def _fields_json() -> dict[str, Fields]:
        """Classes of the JDK that are objects with fields as JSON."""
        text, number = JsonScalar("", "string"), JsonScalar("", "number", 0)
        calendar = Fields((
            ("zone", text), ("time", library_plans.DATE), ("lenient", JsonScalar("", "boolean")), ("firstDayOfWeek", number),
            ("minimalDaysInFirstWeek", number), (None, Varying("zigzag long")),
        ))  # fmt: skip
        address = Fields((("host", text), ("port", number)))
        return {"java.net.InetSocketAddress": address, **dict.fromkeys(_CALENDARS, calendar)}

    def _optional_json(self) -> dict[str, Optional]:
        two = self.kryo.flavour == 2
        forms: dict[str, tuple[Any, int]] = {
            "Int": ("number", 1 if two else 9), "Long": ("number", 3 if two else 10), "Double": ("real", int(self.little)),
        }  # fmt: skip
        return {f"java.util.Optional{name}": Optional(JsonScalar("", *how), always=two) for name, how in forms.items()}


def _is_of_scala(model: ClassModel) -> bool:
    """Whether a class is one of a job in Scala."""
    return any("scala." in type_ for type_ in (*model.interfaces, *(field.type for field in model.fields)))


def _size(plan: KryoPlan | None) -> int:
    """About how many operations a plan has."""
    match plan:
        case JsonAny():
            return 100
        case AnyOf():
            bodies_ = {id(choice.body): choice.body for choice in plan.choices}
            return 1 + len(plan.choices) + sum(map(_size, bodies_.values()))
        case Known():
            return 1 + _size(plan.choice.body)
        case Fields():
            return 1 + sum(_size(part) for _, part in plan.parts)
        case Wrapped():
            return _size(plan.content)
        case Between():
            return sum(map(_size, (*plan.before, plan.content, *plan.after)))
        case Required():
            return _size(plan.place)
        case ByClass():
            return sum(1 + _size(choice.body) for choice in plan.choices)
        case Elements():
            return 4 + _size(plan.element)
        case MapEntries():
            return 4 + _size(plan.key) + _size(plan.value)
        case PairEntries():
            return 4 + _size(plan.pair)
        case FlaggedElements():
            exact = 0 if plan.exact is None else _size(plan.exact.body)
            return 8 + 2 * (exact + _size(plan.element))
    return 1
