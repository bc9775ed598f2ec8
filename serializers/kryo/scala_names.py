"""The classes of Scala's library by what twitter/chill does with them: their numbers, collections, which are final.

Those of Scala 2.12 (and 2.11, where they are alike). Data only; what is written of them is in ``chill.py``.
"""

from __future__ import annotations

from typing import Final

IMMUTABLE: Final = "scala.collection.immutable."
MUTABLE: Final = "scala.collection.mutable."
WRAPPERS: Final = "scala.collection.convert.Wrappers$"

_SPECIALIZED: Final = ("1$mcJ", "1$mcI", "1$mcD", *(f"2$mc{a}{b}" for a in "JID" for b in "JID"))
REGISTERED: Final = (
    *(WRAPPERS + name for name in ("SeqWrapper", "IteratorWrapper", "MapWrapper", "JListWrapper", "JMapWrapper")),
    "scala.Some", "scala.util.Left", "scala.util.Right", IMMUTABLE + "Vector",
    *(f"{IMMUTABLE}Set$Set{n}" for n in range(1, 5)), IMMUTABLE + "HashSet$HashTrieSet",
    *(f"{IMMUTABLE}Map$Map{n}" for n in range(1, 5)), IMMUTABLE + "HashMap$HashTrieMap",
    IMMUTABLE + "Range$Inclusive", IMMUTABLE + "NumericRange$Inclusive", IMMUTABLE + "NumericRange$Exclusive",
    MUTABLE + "BitSet", MUTABLE + "HashMap", MUTABLE + "HashSet", WRAPPERS + "IterableWrapper",
    *(f"scala.Tuple{n}" for n in range(1, 23)), *(f"scala.Tuple{name}$sp" for name in _SPECIALIZED),
    "scala.Symbol", "scala.reflect.ClassTag", "scala.runtime.BoxedUnit",
)  # fmt: skip
"""Classes in the order of their numbers, from 10 on (``FlinkScalaKryoInstantiator``)."""


def _all(package: str, names: str) -> frozenset[str]:
    return frozenset(package + name for name in names.split())


LISTS: Final = _all(
    IMMUTABLE, "List $colon$colon Nil$ Queue Queue$EmptyQueue$ Vector"
) | _all(MUTABLE, "ListBuffer ArrayBuffer UnrolledBuffer Queue")  # fmt: skip
SETS: Final = _all(
    IMMUTABLE, "Set$Set1 Set$Set2 Set$Set3 Set$Set4 HashSet$HashTrieSet ListSet ListSet$Node ListSet$EmptyListSet$"
) | _all(MUTABLE, "HashSet LinkedHashSet TreeSet BitSet")  # fmt: skip
MAPS: Final = _all(
    IMMUTABLE,
    "Map$EmptyMap$ Map$Map1 Map$Map2 Map$Map3 Map$Map4 Map$WithDefault HashMap HashMap$EmptyHashMap$ HashMap$HashMap1 "
    "HashMap$HashMapCollision1 HashMap$HashTrieMap ListMap ListMap$Node ListMap$EmptyListMap$ IntMap$Nil$ IntMap$Tip "
    "IntMap$Bin LongMap$Nil$ LongMap$Tip LongMap$Bin",
) | _all(
    MUTABLE,
    "HashMap LinkedHashMap ListMap OpenHashMap TreeMap WeakHashMap AnyRefMap LongMap Map$WithDefault",
) | frozenset(["scala.collection.concurrent.TrieMap"])  # fmt: skip
BIT_SETS: Final = _all(IMMUTABLE, "BitSet$BitSet1 BitSet$BitSet2 BitSet$BitSetN")
ARRAYS: Final = frozenset(
    f"{MUTABLE}WrappedArray$of{name}"
    for name in ("Ref", "Byte", "Short", "Char", "Int", "Long", "Float", "Double", "Boolean")
)
# Objects, because no serializer of chill's list is for their class.
EMPTY_SETS: Final = _all(IMMUTABLE, "Set$EmptySet$ HashSet$EmptyHashSet$")
SORTED_SET: Final = IMMUTABLE + "TreeSet"
SORTED_MAP: Final = IMMUTABLE + "TreeMap"

_ANY_COLLECTION: Final = "Traversable Iterable GenTraversable GenIterable TraversableOnce GenTraversableOnce"
LIST_LIKE: Final = LISTS | ARRAYS | _all("scala.collection.", _ANY_COLLECTION + " Seq GenSeq IndexedSeq LinearSeq") | _all(
    IMMUTABLE, "Traversable Iterable Seq IndexedSeq LinearSeq"
) | _all(MUTABLE, "Traversable Iterable Seq IndexedSeq LinearSeq Buffer WrappedArray")  # fmt: skip
SET_LIKE: Final = SETS | EMPTY_SETS | {SORTED_SET} | _all("scala.collection.", "Set GenSet SortedSet") | _all(
    IMMUTABLE, "Set SortedSet HashSet"
) | _all(MUTABLE, "Set SortedSet")  # fmt: skip
MAP_LIKE: Final = MAPS | {SORTED_MAP} | _all("scala.collection.", "Map GenMap SortedMap concurrent.Map") | _all(
    IMMUTABLE, "Map SortedMap"
) | _all(MUTABLE, "Map SortedMap")  # fmt: skip

FINAL: Final = _all(
    "scala.",
    "Some Symbol None$ util.Left util.Right util.Success util.Failure math.BigDecimal math.BigInt runtime.BoxedUnit "
    "concurrent.duration.FiniteDuration collection.concurrent.TrieMap",
) | _all(IMMUTABLE, "$colon$colon Vector Range$Inclusive WrappedString") | _all(
    MUTABLE, "ListBuffer StringBuilder AnyRefMap LongMap"
) | ARRAYS | frozenset(f"scala.Tuple{n}" for n in range(3, 23)) | frozenset(
    name for name in REGISTERED if name.endswith("$sp")
)  # fmt: skip
OPEN: Final = _all(
    "scala.",
    "Option Tuple1 Tuple2 Product Equals Serializable Enumeration Enumeration$Value Enumeration$Val util.Either util.Try "
    "math.Ordering math.Ordered math.Numeric concurrent.duration.Duration util.matching.Regex Function0 Function1 Function2",
) | _all(IMMUTABLE, "Range BitSet") | LIST_LIKE | SET_LIKE | MAP_LIKE  # fmt: skip
