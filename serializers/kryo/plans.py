"""Plans for the kernel: what the bytes of most values are, by the classes that a column is made of.

What is read here is what ``resolve.py``, ``bodies.py``, ``containers.py``, ``times.py`` and ``fields.py`` read, of classes that
are common and regular. Where there is nothing for a class (one with a serializer of its own, say), the plan has no case for
it, and the kernel leaves its values to them. So nothing here may be other than there; what is missing costs time only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, Literal

from serializers.classes import ClassModel
from serializers.javatypes import JavaType, of_class_name
from serializers.kryo import bodies, jackson, javakaffee, jdk, scala, scala_names
from serializers.kryo.fields import Scope, WrittenField, object_fields, record_fields
from serializers.kryo.reader import Generics, Kryo
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
from stateextract.columnar.layout.kryo import (
    AnyOf,
    BigNumber,
    Blob,
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
    String,
    Uuid,
    Varying,
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
_COUNTS: Final[dict[str, tuple[Literal["plain"] | int, bool]]] = {
    "CollectionsEmptyListSerializer": (0, False), "CollectionsEmptySetSerializer": (0, False),
    "CollectionsSingletonListSerializer": (1, False), "CollectionsSingletonSetSerializer": (1, False),
    "guava.ImmutableListSerializer": ("plain", False), "guava.ImmutableSetSerializer": ("plain", False),
    "guava.ImmutableSortedSetSerializer": ("plain", True),
}  # fmt: skip
"""Serializers of kryo-serializers that write nothing but elements with their classes: how these are counted, and whether a
comparator comes first."""
_GUAVA: Final = tuple(
    f"com.google.common.collect.{name}"
    for name in ("RegularImmutableList", "SingletonImmutableList", "RegularImmutableSet", "SingletonImmutableSet")
)
_COMMONEST: Final = (
    "java.lang.Integer", "java.lang.String", "java.lang.Long", "java.lang.Double", "java.lang.Boolean", "java.util.ArrayList",
    "java.util.HashMap",
)  # fmt: skip
BOXES: Final = {
    "boolean": "java.lang.Boolean", "byte": "java.lang.Byte", "short": "java.lang.Short", "int": "java.lang.Integer",
    "long": "java.lang.Long", "float": "java.lang.Float", "double": "java.lang.Double", "char": "java.lang.Character",
}  # fmt: skip
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
}
"""Classes that are where another one is declared."""
_MOST: Final = 4000
"""Operations, about, of one place. Lists of lists of many classes would otherwise have programs of any size."""


def plan_of(kryo: Kryo, column: KryoColumn) -> KryoPlan | None:
    """The plan of a column's values; ``None`` where only Python reads them."""
    plans = _Plans(kryo)
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


class _Plans:
    def __init__(self, kryo: Kryo) -> None:
        self.kryo = kryo
        self.little = kryo.flavour == 5
        self.ids = {name: number for number, name in kryo.registrations.ids.items()}
        known = kryo.registrations.serializers
        self.library = [name for name in (*known, *_GUAVA) if (registered(kryo, name) or "").startswith(javakaffee.PACKAGE)]
        self.single = self._single()
        self.single_json = self._single_json()
        self.places: dict[Any, AnyOf] = {}
        self.wires: dict[Any, int] = {}
        self.table = JsonTable([], [])
        self.json: dict[Any, JsonAny | JsonRef] = {}
        self.todo: list[Callable[[], None]] = []

    def _number(self, width: int) -> FixedNumber:
        return FixedNumber(width, self.little)

    # ---- places

    def any_of(self, column: KryoColumn, generics: Generics, scope: Scope) -> AnyOf | JsonAny:
        """Where a class reference precedes an object."""
        if column is ANY:
            return self._json_any(self._followed(generics), scope)
        key = (id(column), generics, scope)
        if key not in self.places:
            shared: dict[KryoPlan, KryoPlan] = {}
            choices = []
            for name in self._candidates(column):
                found = self._choice(name, column, generics, scope)
                if found.name and found.body is not None:
                    body = shared.setdefault(found.body, found.body)
                    choices.append(Choice(found.name, found.number, found.wire, body))
            place = AnyOf(tuple(choices))
            self.places[key] = place if _size(place) <= _MOST else AnyOf()
        return self.places[key]

    def _known(self, name: str, column: KryoColumn, generics: Generics, scope: Scope) -> Known:
        """An object of a known class, or null."""
        return Known(self._choice(name, column, generics, scope))

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
            case ListForm():
                is_collection = form.declared in jdk.LIST_LIKE or form.declared in jdk.SET_LIKE
                of_scala = sorted(scala_names.LISTS | scala_names.SETS) if self.kryo.chill else ()
                others = _LISTS if is_collection else of_scala if form.declared.startswith("scala.") else self.library
                yield from dict.fromkeys((form.declared, *others))
            case MapForm():
                yield from dict.fromkeys((form.declared, *_MAPS))
            case ObjectForm():
                yield from form.parts

    def _constants(self, name: str) -> Iterator[str]:
        """The classes of an enum's constants that have bodies."""
        model = self.kryo.classes.get(name)
        if model is not None and model.kind == "enum" and not model.final:
            yield from (f"{name}${i}" for i in range(1, len(model.constants) + 1))

    def _choice(self, name: str, column: KryoColumn, generics: Generics, scope: Scope) -> Choice:
        written = written_name(name, self.kryo.flavour) or b""
        if column is ANY and name == "java.lang.String":
            written = b""  # a map's keys are looked at, and are strings by their number
        try:
            find = self._json_body if column is ANY else self._body
            body = find(name, column, generics, scope)
            wire = self._wire(name, generics, scope) if self.kryo.type(name).references else -1
            return Choice(written, self.ids.get(name), wire, body)
        except StateExtractError:
            return Choice(written, None, self._wire("", None, ()), None)  # which says so when a value is read

    def _wire(self, name: str, generics: Generics, scope: Scope) -> int:
        """A number for what the bytes of an object are."""
        key = (name, None, ()) if name in self.single else (name, self._followed(generics), scope)
        return self.wires.setdefault(key, len(self.wires))

    # ---- what follows a mark

    def _body(self, name: str, column: KryoColumn, generics: Generics, scope: Scope) -> KryoPlan | None:
        """As ``resolve.py`` finds it."""
        k = self.kryo
        model = k.classes.models.get(name)
        if model is not None and model.written:
            return self._written(model, column)
        serializer = registered(k, name)
        if serializer is not None:
            counted = _COUNTS.get(serializer.removeprefix(javakaffee.PACKAGE))
            return None if counted is None else self._elements(column, *counted, scope)
        if name.startswith("["):
            return self._array(of_class_name(name), column, generics, scope)
        if bodies.well_known(k.flavour, name) is not None:
            return self._well_known(name, column, generics, scope)
        if k.chill and scala.body(name) is not None:
            return self._scala(name, column, scope)
        found = k.classes.get(name)
        if found is None or (found.kind == "object" and k.chill):
            return None
        for above in k.classes.supertypes(name):
            if bodies.inherited(k.flavour, above, name) is not None or above in bodies.WRITES_ITSELF:
                return None
        if found.kind == "enum":
            return self._enum(found, column)
        if found.kind == "record" and k.flavour == 5:
            return self._fields(name, record_fields(k, found), column, scope)
        inner, fields = object_fields(k, found, generics, scope)
        return self._fields(name, fields, column, inner)

    def _elements(self, column: KryoColumn, count: Literal["plain"] | int, comparator: bool, scope: Scope) -> KryoPlan | None:
        """Objects with their classes."""
        if column is not ANY and not isinstance(column.form, ListForm):
            return None
        element = column.form.element if isinstance(column.form, ListForm) else ANY
        return Elements(AnyOf() if count == 0 else self.any_of(element, None, scope), count, comparator)

    def _scala(self, name: str, column: KryoColumn, scope: Scope) -> KryoPlan | None:
        """What chill writes of Scala's lists, sets and tuples."""
        if name in scala_names.LISTS or name in scala_names.SETS:
            return self._elements(column, "plain", False, scope)
        size = scala.tuple_size(name)
        if size is None or column is not ANY:
            return None
        return Fields(tuple((f"_{i}", self.any_of(ANY, None, scope)) for i in range(1, size + 1)))

    def _enum(self, model: ClassModel, column: KryoColumn) -> KryoPlan | None:
        if not "".join(model.constants).isascii() or len(model.constants) > 127:
            return None
        if column is ANY:
            return JsonScalar(model.name, "enum", names=tuple(model.constants), wrapped=True)
        return Constants(tuple(model.constants)) if column.layout == STRING.layout else None

    def _fields(self, name: str, fields: list[WrittenField], column: KryoColumn, scope: Scope) -> KryoPlan | None:
        form = column.form
        if column is ANY:
            parts = {field.key: KryoField(field.key, field.key, ANY) for field in fields}
        elif isinstance(form, ObjectForm) and name in form.parts:
            parts = {part.key: part for part in form.parts[name]}
        else:
            return None
        planned = []
        for field in fields:
            part = parts.get(field.key)
            plan = None if part is None else self._field(field, part.content, scope)
            if part is None or plan is None:
                return None
            planned.append((part.column, plan))
        return Fields(tuple(planned), name if isinstance(form, ObjectForm) and form.labelled else None)

    def _field(self, field: WrittenField, column: KryoColumn, scope: Scope) -> KryoPlan | None:
        if field.type.is_primitive:
            return self._primitive(field.type.name, column)
        if field.is_undecided:
            return None
        if field.type.name == "?":
            return AnyOf()
        if self.kryo.classes.is_final(field.static_class):
            return self._known(field.static_class, column, field.generics, scope)
        return self.any_of(column, field.generics, scope)

    def _primitive(self, name: str, column: KryoColumn) -> KryoPlan | None:
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
        planned = []
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

    def _well_known(self, name: str, column: KryoColumn, generics: Generics, scope: Scope) -> KryoPlan | None:
        plan = self.single.get(name)
        if column is ANY:
            if name in jdk.LIST_LIKE or name in jdk.SET_LIKE:
                return self._collection(name, ANY, generics, scope)
            return self._map(name, (ANY, ANY), generics, scope) if name in jdk.MAP_LIKE else None
        if plan is not None:
            expected = STRING.layout if isinstance(plan, String | Uuid) else SCALARS[name].layout
            return plan if column.layout == expected else None
        form = column.form
        if isinstance(form, WrapperForm) and name == form.declared:
            return self._wrapped(name, form.inner, generics, scope)
        if isinstance(form, ListForm) and (name in jdk.LIST_LIKE or name in jdk.SET_LIKE):
            return self._collection(name, form.element, generics, scope)
        if isinstance(form, MapForm) and name in jdk.MAP_LIKE:
            return self._map(name, (form.key, form.value), generics, scope)
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
            "java.util.Currency": String(), "sun.util.calendar.ZoneInfo": String(), "java.net.URI": String(),
            "java.math.BigInteger": BigNumber(scaled=False), "java.math.BigDecimal": BigNumber(scaled=True),
            **dict.fromkeys(("java.util.Date", "java.sql.Date", "java.sql.Time"), Moment("alone")),
            "java.sql.Timestamp": Moment("nanos" if two else "seconds"),
            "java.util.UUID": Uuid(zigzag=two),
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
            "java.util.OptionalInt": Optional(number, always=True),
            "java.util.OptionalLong": Optional(wide, always=True),
            "java.util.OptionalDouble": Optional(self._number(8), always=True),
        }

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

    def _final(self, name: str | None) -> str | None:
        """A type argument whose objects are without their class."""
        return name if name is not None and self.kryo.classes.is_final(name) else None

    def _wrapped(self, name: str, inner: KryoColumn, generics: Generics, scope: Scope) -> KryoPlan:
        two = self.kryo.flavour == 2
        final = None
        if generics and (two or name != _UTIL + "Optional"):
            arguments = generics if two else generics.arguments
            first = arguments[0] if arguments else None
            final = self._final(first if two or first is None else first.name)
        return self.any_of(inner, None, scope) if final is None else self._known(final, inner, None, scope)

    def _collection(self, name: str, element: KryoColumn, generics: Generics, scope: Scope) -> KryoPlan | None:
        short = name.removeprefix(_UTIL)
        if short in ("Collections$EmptyList", "Collections$EmptySet"):
            return Elements(AnyOf(), 0)
        if short in ("Collections$SingletonList", "Collections$SingletonSet"):
            return Elements(self.any_of(element, None, scope), 1)
        sorted_ = name in jdk.SORTED_SETS or name in jdk.QUEUES
        if self.kryo.flavour == 2:
            if short == "Arrays$ArrayList" or not self._is_plain(name, sorted_):
                return None
            final = self._final(generics[0]) if generics else None
            place = self.any_of(element, None, scope) if final is None else self._known(final, element, None, scope)
            return Elements(place, "plain", sorted_)
        fixed = name in jdk.IMMUTABLE_LISTS or name in jdk.IMMUTABLE_SETS
        if not (fixed or short == "Arrays$ArrayList" or self._is_plain(name, sorted_)):
            return None
        arguments = generics.arguments if generics is not None else None
        below = arguments[-1] if arguments else None
        final = self._final(arguments[0].name) if arguments else None
        if final is None:
            return FlaggedElements(None, self.any_of(element, below, scope), not fixed, sorted_)
        exact = self._choice(final, element, below, scope)
        return FlaggedElements(exact, AnyOf(), not fixed, sorted_)

    def _map(self, name: str, columns: tuple[KryoColumn, KryoColumn], generics: Generics, scope: Scope) -> KryoPlan | None:
        short = name.removeprefix(_UTIL)
        if short == "Collections$EmptyMap":
            return MapEntries(AnyOf(), AnyOf(), 0)
        if short == "Collections$SingletonMap":
            return MapEntries(self.any_of(columns[0], None, scope), self.any_of(columns[1], None, scope), 1)
        if self.kryo.flavour == 2:
            sorted_ = short == "TreeMap"
            if not self._is_plain(name, sorted_):
                return None
            places: list[ObjectOrNull] = []
            for i, column in enumerate(columns):
                final = self._final(generics[i]) if generics and len(generics) > i else None
                places.append(
                    self.any_of(column, None, scope) if final is None else self._known(final, column, None, scope)
                )
            return MapEntries(places[0], places[1], "plain", "before" if sorted_ else None)
        fixed, sorted_ = name in jdk.IMMUTABLE_MAPS, name in jdk.SORTED_MAPS
        if not (fixed or self._is_plain(name, sorted_)):
            return None
        arguments = (generics.arguments if generics is not None else None) or ()
        nullable: list[ObjectOrNull] = []
        for i, column in enumerate(columns):
            below = arguments[0 if i == 0 else -1] if arguments else None
            final = self._final(arguments[i].name) if i < len(arguments) else None
            if final is None:
                nullable.append(self.any_of(column, below, scope))
                continue
            nullable.append(Known(self._choice(final, column, below, scope), nullable=not fixed))
        return MapEntries(nullable[0], nullable[1], "null", "after" if sorted_ else None)

    def _is_plain(self, name: str, is_sorted: bool) -> bool:
        """Whether a collection or map is written as most are."""
        return is_sorted or bodies.is_container(self.kryo.flavour, name)

    # ---- arrays

    def _array(self, type_: JavaType, column: KryoColumn, generics: Generics, scope: Scope) -> KryoPlan | None:
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
            number = self._primitive(component.name, element)
            width = {"short": 2, "char": 2, "float": 4, "double": 8}.get(component.name, 1)
            return None if number is None else Numbers(number, width)
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
                found = [self._choice(name, ANY, generics, scope) for name in self._json_classes()]
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
        return dict.fromkeys((*known, *_LISTS, *_MAPS, *users, *self.single_json))

    def _json_body(self, name: str, column: KryoColumn, generics: Generics, scope: Scope) -> KryoPlan | None:
        if name in jackson.CLASSES:
            return None
        k = self.kryo
        model = k.classes.get(name)
        if k.classes.models.get(name) is None and registered(k, name) is None and name in self.single_json:
            return self.single_json[name]
        if model is not None and model.kind == "enum":
            return self._body(name, ANY, generics, scope)
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
                    table.bodies[ref.number] = self._body(name, ANY, generics, scope)

            self.todo.append(plan)
        found = self.json[key]
        assert isinstance(found, JsonRef)
        return found

    def _single_json(self) -> dict[str, JsonScalar]:
        two = self.kryo.flavour == 2
        found = {
            "Integer": ("number", 1), "Long": ("number", 3), "Short": ("number", 6 if self.little else 5),
            "Byte": ("number", 4), "Boolean": ("boolean", 0), "Double": ("real", int(self.little)),
            "Character": ("char", int(self.little)), "String": ("string", 0),
        }  # fmt: skip
        plain = {f"java.lang.{name}": JsonScalar(f"java.lang.{name}", *how) for name, how in found.items()}  # type: ignore[arg-type]
        quoted: dict[str, tuple[Any, int, bool]] = {
            "java.lang.StringBuilder": ("string", 0, False), "java.net.URI": ("string", 0, False),
            "java.util.UUID": ("uuid", int(two), True), "java.util.Date": ("time", 0, True), "java.sql.Date": ("time", 0, True),
            _TIME + "Instant": ("time", 2 if two else 1, True), _TIME + "LocalDate": ("time", 4 if two else 3, True),
            "java.math.BigDecimal": ("big", 1, True),
        }  # fmt: skip
        wrapped = {
            name: JsonScalar(name, kind, form, wrapped=True, quoted=quote) for name, (kind, form, quote) in quoted.items()
        }  # fmt: skip
        return plain | wrapped | {"java.math.BigInteger": JsonScalar("java.math.BigInteger", "big", 0)}


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
        case Elements():
            return 4 + _size(plan.element)
        case MapEntries():
            return 4 + _size(plan.key) + _size(plan.value)
        case FlaggedElements():
            exact = 0 if plan.exact is None else _size(plan.exact.body)
            return 8 + 2 * (exact + _size(plan.element))
    return 1


__all__ = ["plan_of", "written_name"]
