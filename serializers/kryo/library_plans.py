"""Plans for what serializers of libraries write: kryo-serializers', Kryo's own and chill's, by their names.

Each says again what the function of that serializer in ``javakaffee.py`` or ``bodies.py`` reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

from serializers.kryo import bodies, javakaffee, jdk
from serializers.kryo.shapes import ANY, BYTES, SCALARS, STRING, ObjectForm
from stateextract.columnar.layout.kryo_plan import (
    Between,
    Blob,
    Elements,
    Fields,
    Joda,
    JsonScalar,
    Known,
    KryoPlan,
    MapEntries,
    Moment,
    Required,
    String,
    StringOr,
    Uuid,
    Varying,
)

if TYPE_CHECKING:
    from serializers.kryo.plans import Asked, Plans

Make = Callable[["Plans", "Asked"], KryoPlan | None]


def plan(p: Plans, serializer: str, asked: Asked) -> KryoPlan | None:
    """What a class has that the job registered a serializer for; ``None`` where there is nothing for it."""
    if serializer in bodies.PLUGINS:
        return None
    if serializer.startswith(javakaffee.PACKAGE):
        make = _LIBRARY.get(serializer[len(javakaffee.PACKAGE) :])
        return None if make is None else make(p, asked)
    if serializer in bodies.BLOB_SERIALIZERS:
        return Blob(serializer == bodies.NULLABLE_BLOB) if asked.column.layout == BYTES.layout else None
    if serializer == bodies.AVRO_SCHEMA_SERIALIZER:
        return text(asked)
    if serializer == bodies.KRYO + "FieldSerializer":
        model = p.kryo.classes.get(asked.name)
        return None if model is None else p.object_(model, asked)
    known = bodies.written_as(serializer)
    return None if known is None else p.as_class(known, asked)


def text(asked: Asked) -> KryoPlan | None:
    """A string."""
    if asked.column is ANY:
        return JsonScalar(asked.name, "string", wrapped=True)
    return String() if asked.column.layout == STRING.layout else None


# ---- kryo-serializers


def _view(p: Plans, asked: Asked) -> KryoPlan | None:
    low, high = (5, 6) if asked.name in jdk.MAP_LIKE else (0, 4)
    return p.view(asked, Varying("int", low, high))


def arrays_as_list(p: Plans, asked: Asked) -> KryoPlan | None:
    """A count, the class of the array behind it, the elements."""
    element = asked.element
    if element is None:
        return None
    return Elements(p.any_of(element, None, asked.scope), "plain", after=p.class_alone())


def _counted(count: int) -> Make:
    """No element or entry, or one."""
    return lambda p, asked: p.entries(asked, count) if asked.name in jdk.MAP_LIKE else p.elements(asked, count)


def pattern(p: Plans, asked: Asked) -> KryoPlan | None:
    """A string and flags."""
    content = text(asked)
    return None if content is None else Between((), content, (Varying("int"),))


def _uuid(p: Plans, asked: Asked) -> KryoPlan | None:
    if asked.column is ANY:
        return JsonScalar(asked.name, "uuid", 0 if p.little else 2, wrapped=True, quoted=True)
    return Uuid("little" if p.little else "big") if asked.column.layout == STRING.layout else None


def _like(name: str) -> Make:
    """What another class has."""
    return lambda p, asked: p.as_class(name, asked)


def _as_object(name: str) -> Make:
    """An object of another class, without that class."""

    def make(p: Plans, asked: Asked) -> KryoPlan | None:
        choice = p.choice(name, asked.column, None, asked.scope)
        return None if choice.body is None else Required(Known(choice, nullable=False))

    return make


def _table(p: Plans, asked: Asked) -> KryoPlan | None:
    if asked.column is not ANY:
        return None
    place = p.any_of(ANY, None, asked.scope)
    return MapEntries(place, MapEntries(place, place, "plain"), "plain")


def _joda(form: Literal["date", "time", "both"]) -> Make:
    """A date or time of the ISO calendar."""
    return lambda p, asked: Joda(form) if asked.column.layout == SCALARS[asked.name].layout else None


def _joda_fields(*names: str) -> Make:
    """Milliseconds, and texts of which the calendar's is ISO's name if it is empty."""

    def make(p: Plans, asked: Asked) -> KryoPlan | None:
        form = asked.column.form
        texts: dict[str, KryoPlan] = {"chronology": StringOr("ISO"), "zone": StringOr(None)}
        if asked.column is ANY:
            parts: list[tuple[str | None, KryoPlan]] = [(name, texts.get(name, DATE)) for name in names]
            if names[-1] == "zone":  # which is in front of the calendar in the JSON
                parts[-2:] = [(None, texts["chronology"]), parts[-1], ("chronology", _ISO)]
            return Fields(tuple(parts))
        if not isinstance(form, ObjectForm) or asked.name not in form.parts:
            return None
        return Fields(tuple((name, texts.get(name, Moment("alone"))) for name in names))

    return make


DATE: Final = JsonScalar("java.util.Date", "time", wrapped=True, quoted=True)
_ISO: Final = JsonScalar("", "constant", names=('"ISO"',))
_LIBRARY: Final[dict[str, Make]] = {
    **dict.fromkeys(("UnmodifiableCollectionsSerializer", "SynchronizedCollectionsSerializer"), _view),
    "ArraysAsListSerializer": arrays_as_list,
    "EnumMapSerializer": lambda p, asked: p.enum_map(asked),
    "EnumSetSerializer": lambda p, asked: p.enum_set(asked, exact=True),
    "RegexSerializer": pattern,
    "URISerializer": lambda p, asked: text(asked),
    "UUIDSerializer": _uuid,
    "DateSerializer": _like("java.util.Date"),
    **{f"CollectionsEmpty{kind}Serializer": _counted(0) for kind in ("List", "Set", "Map")},
    **{f"CollectionsSingleton{kind}Serializer": _counted(1) for kind in ("List", "Set", "Map")},
    "jodatime.JodaDateTimeSerializer": _joda_fields("time", "chronology", "zone"),
    "jodatime.JodaIntervalSerializer": _joda_fields("start", "end", "chronology"),
    "jodatime.JodaLocalDateSerializer": _joda("date"),
    "jodatime.JodaLocalTimeSerializer": _joda("time"),
    "jodatime.JodaLocalDateTimeSerializer": _joda("both"),
    **dict.fromkeys(
        ("guava.ImmutableListSerializer", "guava.ImmutableSetSerializer"), lambda p, asked: p.elements(asked, "plain")
    ),
    "guava.ImmutableSortedSetSerializer": lambda p, asked: p.elements(asked, "plain", before=p.comparator()),
    "guava.ImmutableMapSerializer": _as_object("java.util.HashMap"),
    "guava.ImmutableSortedMapSerializer": _as_object("java.util.TreeMap"),
    "guava.ImmutableMultimapSerializer": _as_object("com.google.common.collect.ImmutableMap"),
    "guava.ImmutableTableSerializer": _table,
}
"""By the names in kryo-serializers' package. Parts of lists, calendars and bits need to be computed."""
