"""The JDK's classes, as far as Kryo treats them like any class: which are final, collections, or written field by field.

Fields are those of JDK 8 to 21 that are neither static nor transient. Data only.
"""

from __future__ import annotations

from typing import Final

from serializers.classes import ClassModel, FieldModel

_UTIL = "java.util."
_CONCURRENT = "java.util.concurrent."


def _all(package: str, names: str) -> frozenset[str]:
    return frozenset(package + name for name in names.split())


FINAL: Final = _all(
    "java.",
    "lang.Boolean lang.Byte lang.Character lang.Short lang.Integer lang.Long lang.Float lang.Double lang.String "
    "lang.StringBuilder lang.StringBuffer lang.Class lang.Void lang.Math lang.StackTraceElement "
    "util.UUID util.Locale util.Currency util.Optional util.OptionalInt util.OptionalLong util.OptionalDouble "
    "util.regex.Pattern util.StringJoiner util.Scanner util.concurrent.TimeUnit "
    "net.URI net.URL net.Inet4Address net.Inet6Address math.MathContext math.RoundingMode "
    "time.Duration time.Instant time.LocalDate time.LocalTime time.LocalDateTime time.ZonedDateTime "
    "time.OffsetDateTime time.OffsetTime time.Year time.YearMonth time.MonthDay time.Period time.ZoneOffset "
    "time.DayOfWeek time.Month time.temporal.ChronoUnit time.temporal.ChronoField",
)

OPEN: Final = _all(
    "java.",
    "lang.Object lang.Number lang.Comparable lang.CharSequence lang.Iterable lang.Throwable lang.Exception "
    "lang.RuntimeException lang.Error lang.Enum lang.Record lang.Runnable lang.Cloneable lang.AutoCloseable "
    "io.Serializable io.Externalizable io.File math.BigInteger math.BigDecimal "
    "util.Date sql.Date sql.Time sql.Timestamp util.Calendar util.GregorianCalendar util.TimeZone util.BitSet "
    "util.EnumSet util.EnumMap util.Comparator util.Random util.Iterator util.EventObject "
    "util.Collection util.List util.Set util.SortedSet util.NavigableSet util.Queue util.Deque util.Map "
    "util.SortedMap util.NavigableMap util.AbstractCollection util.AbstractList util.AbstractSet util.AbstractMap "
    "util.AbstractQueue util.AbstractSequentialList util.Dictionary util.RandomAccess "
    "util.concurrent.BlockingQueue util.concurrent.BlockingDeque util.concurrent.ConcurrentMap "
    "util.concurrent.ConcurrentNavigableMap util.concurrent.Callable util.concurrent.Future "
    "util.concurrent.atomic.AtomicBoolean util.concurrent.atomic.AtomicInteger util.concurrent.atomic.AtomicLong "
    "util.concurrent.atomic.AtomicReference util.Map$Entry util.AbstractMap$SimpleEntry "
    "util.AbstractMap$SimpleImmutableEntry net.InetAddress net.SocketAddress net.InetSocketAddress "
    "nio.charset.Charset nio.file.Path text.DateFormat text.SimpleDateFormat text.NumberFormat text.DecimalFormat "
    "time.ZoneId time.Clock time.chrono.Chronology time.chrono.ChronoLocalDate time.temporal.Temporal "
    "time.temporal.TemporalAmount time.temporal.TemporalUnit time.temporal.TemporalAccessor "
    "util.function.Function util.function.Supplier util.function.Predicate util.function.Consumer "
    "util.function.BiFunction",
)

LISTS: Final = _all(
    _UTIL,
    "ArrayList LinkedList Vector Stack ArrayDeque ArrayList$SubList AbstractList$SubList "
    "AbstractList$RandomAccessSubList SubList RandomAccessSubList HashMap$Values LinkedHashMap$LinkedValues "
    "TreeMap$Values Collections$CopiesList Collections$UnmodifiableCollection Collections$UnmodifiableList "
    "Collections$UnmodifiableRandomAccessList Collections$SynchronizedCollection Collections$SynchronizedList "
    "Collections$SynchronizedRandomAccessList Collections$CheckedCollection Collections$CheckedList "
    "Collections$CheckedRandomAccessList",
) | _all(
    _CONCURRENT,
    "CopyOnWriteArrayList ConcurrentLinkedQueue ConcurrentLinkedDeque LinkedBlockingQueue LinkedBlockingDeque "
    "ArrayBlockingQueue PriorityBlockingQueue LinkedTransferQueue DelayQueue",
)
"""Collections that Kryo's ``CollectionSerializer`` writes."""

SETS: Final = _all(
    _UTIL,
    "HashSet LinkedHashSet HashMap$KeySet HashMap$EntrySet LinkedHashMap$LinkedKeySet TreeMap$KeySet "
    "Collections$UnmodifiableSet Collections$UnmodifiableSortedSet Collections$UnmodifiableNavigableSet "
    "Collections$SynchronizedSet Collections$SynchronizedSortedSet Collections$CheckedSet Collections$SetFromMap",
) | _all(_CONCURRENT, "CopyOnWriteArraySet ConcurrentSkipListSet ConcurrentHashMap$KeySetView")

MAPS: Final = _all(
    _UTIL,
    "HashMap LinkedHashMap Hashtable Properties WeakHashMap IdentityHashMap EnumMap Collections$UnmodifiableMap "
    "Collections$UnmodifiableSortedMap Collections$UnmodifiableNavigableMap Collections$SynchronizedMap "
    "Collections$SynchronizedSortedMap Collections$CheckedMap",
) | _all(_CONCURRENT, "ConcurrentHashMap")

IMMUTABLE_LISTS: Final = frozenset(
    _UTIL + "ImmutableCollections$" + name for name in ("ListN", "List12", "SubList", "ListItr")
)
IMMUTABLE_SETS: Final = frozenset(_UTIL + "ImmutableCollections$" + name for name in ("SetN", "Set12"))
IMMUTABLE_MAPS: Final = frozenset(_UTIL + "ImmutableCollections$" + name for name in ("MapN", "Map1"))

_COLLECTION_TYPES: Final = _all(
    _UTIL,
    "Collection List Queue Deque AbstractCollection AbstractList AbstractQueue AbstractSequentialList",
)
_SET_TYPES: Final = frozenset(_UTIL + name for name in ("Set", "SortedSet", "NavigableSet", "AbstractSet"))
_MAP_TYPES: Final = frozenset(
    [_UTIL + name for name in ("Map", "SortedMap", "NavigableMap", "AbstractMap", "Dictionary")]
    + [_CONCURRENT + "ConcurrentMap", _CONCURRENT + "ConcurrentNavigableMap"]
)

SORTED_SETS: Final = frozenset([_UTIL + "TreeSet"])
SORTED_MAPS: Final = frozenset([_UTIL + "TreeMap", _CONCURRENT + "ConcurrentSkipListMap"])
QUEUES: Final = frozenset([_UTIL + "PriorityQueue"])

LIST_LIKE: Final = _COLLECTION_TYPES | LISTS | QUEUES | IMMUTABLE_LISTS
SET_LIKE: Final = _SET_TYPES | SETS | SORTED_SETS | IMMUTABLE_SETS
MAP_LIKE: Final = _MAP_TYPES | MAPS | SORTED_MAPS | IMMUTABLE_MAPS


def _model(name: str, parameters: str = "", kind: str = "class", **fields: str) -> ClassModel:
    found = tuple(FieldModel(n, t) for n, t in fields.items())
    return ClassModel(name, "class", "java.lang.Object", (), tuple(parameters.split()), found, final=kind == "final")


_OBJECT = "java.lang.Object"

FIELD_BY_FIELD: Final = {
    model.name: model
    for model in (
        _model(_OBJECT),
        _model(_UTIL + "AbstractMap$SimpleEntry", "K V", key="K", value="V"),
        _model(_UTIL + "AbstractMap$SimpleImmutableEntry", "K V", key="K", value="V"),
        _model(_UTIL + "Collections$ReverseComparator"),
        _model(_UTIL + "Collections$ReverseComparator2", "T", cmp="java.util.Comparator<T>"),
        _model("java.lang.String$CaseInsensitiveComparator"),
        ClassModel(_UTIL + "Comparators$NaturalOrderComparator", "enum", constants=("INSTANCE",), final=True),
        ClassModel(_CONCURRENT + "TimeUnit", "enum", final=True, constants=(
            "NANOSECONDS", "MICROSECONDS", "MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS")),
        ClassModel("java.time.DayOfWeek", "enum", final=True, constants=(
            "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")),
        ClassModel("java.time.Month", "enum", final=True, constants=(
            "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER",
            "NOVEMBER", "DECEMBER")),
        ClassModel("java.time.temporal.ChronoUnit", "enum", final=True, constants=(
            "NANOS", "MICROS", "MILLIS", "SECONDS", "MINUTES", "HOURS", "HALF_DAYS", "DAYS", "WEEKS", "MONTHS",
            "YEARS", "DECADES", "CENTURIES", "MILLENNIA", "ERAS", "FOREVER")),
        _model("java.math.MathContext", precision="int", roundingMode="java.math.RoundingMode"),
        ClassModel("java.math.RoundingMode", "enum", final=True, constants=(
            "UP", "DOWN", "CEILING", "FLOOR", "HALF_UP", "HALF_DOWN", "HALF_EVEN", "UNNECESSARY")),
        *(_model(f"org.apache.flink.api.java.tuple.Tuple{n}", " ".join(f"T{i}" for i in range(n)),
                 **{f"f{i}": f"T{i}" for i in range(n)}) for n in range(26)),
        _model("org.apache.flink.types.Either$Left", "L R", value="L"),
        _model("org.apache.flink.types.Either$Right", "L R", value="R"),
    )
}  # fmt: skip
"""Classes whose fields are known here. Flink's tuples are among them: a Kryo object may hold them."""
