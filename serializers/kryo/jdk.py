"""The JDK's classes, as far as Kryo treats them like any class: what they extend, which are final, collections, or written
field by field.

Names, supertypes and constants are those of JDK 17 (``jdk_classes.py``), and those that only JDK 8, 9 and 21 have. Fields are
those of JDK 8 to 21 that are neither static nor transient. Data only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from serializers.classes import ClassModel, FieldModel
from serializers.kryo.jdk_classes import CLASSES

_OTHERS: Final = """\
open util.AbstractList: util.SubList
open util.SubList util.RandomAccess: util.RandomAccessSubList
final util.ImmutableCollections$AbstractImmutableList: util.ImmutableCollections$List0 util.ImmutableCollections$List1
final util.ImmutableCollections$AbstractImmutableList: util.ImmutableCollections$List2
final util.ImmutableCollections$AbstractImmutableSet: util.ImmutableCollections$Set0 util.ImmutableCollections$Set1
final util.ImmutableCollections$AbstractImmutableSet: util.ImmutableCollections$Set2
final util.ImmutableCollections$AbstractImmutableMap: util.ImmutableCollections$Map0
interface util.Collection: util.SequencedCollection
interface util.Set util.SequencedCollection: util.SequencedSet
interface util.Map: util.SequencedMap
open util.List: util.ReverseOrderListView
open util.ReverseOrderListView util.RandomAccess: util.ReverseOrderListView$Rand
open util.Deque: util.ReverseOrderDequeView
open util.SortedSet: util.ReverseOrderSortedSetView
open util.AbstractSet util.SequencedSet: util.LinkedHashSet$1ReverseLinkedHashSetView
open util.AbstractMap util.SequencedMap: util.LinkedHashMap$ReversedLinkedHashMapView
open util.Collections$UnmodifiableCollection util.SequencedCollection: util.Collections$UnmodifiableSequencedCollection
open util.Collections$UnmodifiableSequencedCollection util.SequencedSet: util.Collections$UnmodifiableSequencedSet
open util.Collections$UnmodifiableMap util.SequencedMap: util.Collections$UnmodifiableSequencedMap
open util.Collections$SetFromMap util.SequencedSet: util.Collections$SequencedSetFromMap
"""
"""Lists of JDK 8 and 9, and what JDK 21 brought."""
_ALSO: Final = {
    "util.List": "util.SequencedCollection", "util.Deque": "util.SequencedCollection",
    "util.SortedSet": "util.SequencedSet", "util.LinkedHashSet": "util.SequencedSet",
    "util.SortedMap": "util.SequencedMap", "util.LinkedHashMap": "util.SequencedMap",
}  # fmt: skip
"""Interfaces that JDK 21 gave older classes."""

_GUAVA: Final = {
    "ImmutableCollection": "java.util.AbstractCollection",
    "ImmutableList": "ImmutableCollection java.util.List",
    "ImmutableSet": "ImmutableCollection java.util.Set",
    "ImmutableSortedSet": "ImmutableSet java.util.NavigableSet",
    "ImmutableMap": "java.util.Map",
    "ImmutableBiMap": "ImmutableMap",
    "ImmutableSortedMap": "ImmutableMap java.util.NavigableMap",
    "ImmutableMultimap": "",
    "ImmutableListMultimap": "ImmutableMultimap",
    "ImmutableSetMultimap": "ImmutableMultimap",
    "ImmutableTable": "",
    **dict.fromkeys(
        ("RegularImmutableList", "SingletonImmutableList", "EmptyImmutableList", "ImmutableList$SubList",
         "ImmutableList$ReverseImmutableList", "ImmutableAsList", "RegularImmutableAsList", "Lists$StringAsImmutableList"),
        "ImmutableList",
    ),
    **dict.fromkeys(
        ("RegularImmutableSet", "SingletonImmutableSet", "EmptyImmutableSet", "ImmutableEnumSet", "ImmutableMapKeySet",
         "ImmutableMapEntrySet$RegularEntrySet"),
        "ImmutableSet",
    ),
    **dict.fromkeys(
        ("RegularImmutableSortedSet", "EmptyImmutableSortedSet", "DescendingImmutableSortedSet"), "ImmutableSortedSet"
    ),
    **dict.fromkeys(("RegularImmutableMap", "ImmutableEnumMap", "JdkBackedImmutableMap"), "ImmutableMap"),
    **dict.fromkeys(
        ("RegularImmutableBiMap", "SingletonImmutableBiMap", "EmptyImmutableBiMap", "JdkBackedImmutableBiMap"),
        "ImmutableBiMap",
    ),
    **dict.fromkeys(("RegularImmutableSortedMap", "EmptyImmutableSortedMap"), "ImmutableSortedMap"),
    "EmptyImmutableListMultimap": "ImmutableListMultimap",
    "EmptyImmutableSetMultimap": "ImmutableSetMultimap",
    **dict.fromkeys(
        ("SparseImmutableTable", "DenseImmutableTable", "SingletonImmutableTable", "EmptyImmutableTable"), "ImmutableTable"
    ),
}  # fmt: skip
"""Guava's immutable collections: private classes that the job's code never names, so its snapshots do, and its jar may not."""

_UTIL = "java.util."
_CONCURRENT = "java.util.concurrent."


def _described(table: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """The classes of a table: name, kind, supertypes, constants."""
    for line in table.splitlines():
        head, _, classes = line.partition(":")
        kind, *above = head.split()
        names, _, constants = classes.partition(" |")
        for name in names.split():
            yield name, kind, above, constants.split()


def _supertypes() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, tuple[str, ...]]]]:
    """Direct supertypes, superclasses first; kind and enum constants."""
    above: dict[str, tuple[str, ...]] = {}
    kinds: dict[str, tuple[str, tuple[str, ...]]] = {}
    for name, kind, direct, constants in (*sorted(_described(CLASSES)), *_described(_OTHERS)):
        also = [_ALSO[name]] if name in _ALSO else []
        above[f"java.{name}"] = tuple(f"java.{n}" for n in (*direct, *also))
        kinds[f"java.{name}"] = kind, tuple(constants)
    guava = "com.google.common.collect."
    for name, text in _GUAVA.items():
        above[guava + name] = tuple(n if n.startswith("java.") else guava + n for n in text.split())
    return above, kinds


SUPERTYPES, _KINDS = _supertypes()
"""Direct supertypes of the classes that are known here."""


def ancestors(name: str) -> Iterator[str]:
    """All supertypes of a class of the JDK, nearest first."""
    seen, queue = {name}, [name]
    while queue:
        for above in SUPERTYPES.get(queue.pop(0), ()):
            if above not in seen:
                seen.add(above)
                queue.append(above)
                yield above


def is_jdk(name: str) -> bool:
    """Whether a class comes with Java, so that no jar of a job has it."""
    return name.startswith(("java.", "javax.", "jdk.", "sun.", "com.sun."))


FINAL: Final = frozenset(name for name, (kind, _) in _KINDS.items() if kind in ("final", "enum"))
OPEN: Final = frozenset(SUPERTYPES) - FINAL

_BELOW: Final = {name: {name, *ancestors(name)} for name in SUPERTYPES}
MAP_LIKE: Final = frozenset(n for n, all_ in _BELOW.items() if _UTIL + "Map" in all_) | {_UTIL + "Dictionary"}
SET_LIKE: Final = frozenset(n for n, all_ in _BELOW.items() if _UTIL + "Set" in all_)
LIST_LIKE: Final = frozenset(n for n, all_ in _BELOW.items() if _UTIL + "Collection" in all_) - SET_LIKE
"""Kryo's serializers for collections and maps hold for all classes below ``Collection`` and ``Map``."""

IMMUTABLE_LISTS: Final = frozenset(
    _UTIL + "ImmutableCollections$" + name for name in ("ListN", "List12", "SubList", "ListItr")
)
IMMUTABLE_SETS: Final = frozenset(_UTIL + "ImmutableCollections$" + name for name in ("SetN", "Set12"))
IMMUTABLE_MAPS: Final = frozenset(_UTIL + "ImmutableCollections$" + name for name in ("MapN", "Map1"))
SORTED_SETS: Final = frozenset([_UTIL + "TreeSet"])
SORTED_MAPS: Final = frozenset([_UTIL + "TreeMap", _CONCURRENT + "ConcurrentSkipListMap"])
ENUM_SETS: Final = frozenset(_UTIL + name for name in ("EnumSet", "RegularEnumSet", "JumboEnumSet"))
QUEUES: Final = frozenset([_UTIL + "PriorityQueue"])


def _model(name: str, parameters: str = "", superclass: str = "java.lang.Object", **fields: str) -> ClassModel:
    found = tuple(FieldModel(n, t) for n, t in fields.items())
    return ClassModel(name, "class", superclass, (), tuple(parameters.split()), found, final=name in FINAL)


_OBJECT = "java.lang.Object"
_ATOMIC = _CONCURRENT + "atomic."
_ARRAYS = {"AtomicIntegerArray": "int[]", "AtomicLongArray": "long[]", "AtomicReferenceArray": "java.lang.Object[]"}
_STATISTICS = {"count": "long", "sum": "long"}

FIELD_BY_FIELD: Final = {
    model.name: model
    for model in (
        *(ClassModel(name, "enum", constants=constants, final=True)
          for name, (kind, constants) in _KINDS.items() if kind == "enum"),
        _model(_OBJECT),
        _model(_UTIL + "AbstractMap$SimpleEntry", "K V", key="K", value="V"),
        _model(_UTIL + "AbstractMap$SimpleImmutableEntry", "K V", key="K", value="V"),
        _model(_UTIL + "KeyValueHolder", "K V", key="K", value="V"),
        _model(_UTIL + "HashMap$Node", "K V", hash="int", key="K", value="V", next=_UTIL + "HashMap$Node<K, V>"),
        _model(_UTIL + "Collections$ReverseComparator"),
        _model(_UTIL + "Collections$ReverseComparator2", "T", cmp="java.util.Comparator<T>"),
        _model(_UTIL + "Comparators$NullComparator", "T", nullFirst="boolean", real="java.util.Comparator<T>"),
        _model("java.lang.String$CaseInsensitiveComparator"),
        ClassModel(_UTIL + "Comparators$NaturalOrderComparator", "enum", constants=("INSTANCE",), final=True),
        _model("java.math.MathContext", precision="int", roundingMode="java.math.RoundingMode"),
        _model("java.io.File", path="java.lang.String"),
        _model(_UTIL + "IntSummaryStatistics", **_STATISTICS, min="int", max="int"),
        _model(_UTIL + "LongSummaryStatistics", **_STATISTICS, min="long", max="long"),
        _model(_UTIL + "DoubleSummaryStatistics", count="long", sum="double", sumCompensation="double",
               simpleSum="double", min="double", max="double"),
        _model(_UTIL + "Random", seed=_ATOMIC + "AtomicLong", nextNextGaussian="double", haveNextNextGaussian="boolean"),
        *(_model(_ATOMIC + name, "E" if name == "AtomicReferenceArray" else "", array=type_)
          for name, type_ in _ARRAYS.items()),
        _model("com.google.common.collect.NaturalOrdering"),
        _model("com.google.common.collect.ReverseNaturalOrdering"),
        *(_model(f"org.apache.flink.api.java.tuple.Tuple{n}", " ".join(f"T{i}" for i in range(n)),
                 **{f"f{i}": f"T{i}" for i in range(n)}) for n in range(26)),
        _model("org.apache.flink.types.Either$Left", "L R", value="L"),
        _model("org.apache.flink.types.Either$Right", "L R", value="R"),
        # Of FlinkKafkaConsumer's offsets.
        replace(_model("org.apache.flink.streaming.connectors.kafka.internals.KafkaTopicPartition",
                       topic="java.lang.String", partition="int", cachedHash="int"), final=True),
    )
}  # fmt: skip
"""Classes whose fields are known here. Flink's tuples are among them: a Kryo object may hold them."""
