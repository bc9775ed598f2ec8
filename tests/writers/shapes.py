"""What the generated states hold: shapes, their words, and the rows of each as Arrow tables.

Row ``i`` of a shape is a function of the seed, ``i`` and nothing else. Every number in it comes from
``draw(salt, i, c)``, a splitmix64 of row and column ``c``; the texts come from the lists below. ``rows`` makes them
with numpy, apart from ``kernels.py``, which writes the same rows as Flink's bytes: the two check each other.

============  =========================  ==========================================================================
shape         key                        value
============  =========================  ==========================================================================
``long-long`` Long                       Long
``pojo``      String ``user-3fa9c1…``    POJO ``Customer``: boolean, double, String (2 % null), int, long
``map``       String                     MapState<String, Long> of ten entries (1 % null values)
``list``      String                     ListState<Long> of ten elements
``nested``    String                     POJO ``Basket``: a nested POJO (1 in 64 null), a list of up to five
                                         Tuple3<String, Integer, Double>, long
============  =========================  ==========================================================================

The states with String keys share their keys, as the states of one operator do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tests.writers import flink_writer as flink

Numbers = np.ndarray[Any, np.dtype[np.uint64]]

GOLDEN = 0x9E3779B97F4A7C15
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
MASK_48 = (1 << 48) - 1
ODD_1, ODD_2 = 0x5DEECE66D1B3, 0x2545F4914F6D
PREFIX = "user-"
HEX_DIGITS = 12
# Rows that must all lie in one key group carry a number behind their key, searched until the group is right.
TAIL_DIGITS = 6
TAILS = 1 << 24
LARGEST_ENTRY = 1024


def _words(text: str) -> list[str]:
    return text.split()


FIRST_NAMES = _words(
    "Ada Alan Amina Anna Antonio Barbara Björn Carlos Chen Clara Daniel Dmitri Elena Emma Erik Fatima Felix Fiona "
    "Georg Grace Hana Hassan Helen Hugo Ines Isaac Ivan Jack James Jana Joan John José Jürgen Karen Kenji Laura "
    "Lena Leo Liam Linda Łukasz Maria Mark Mary Mia Nadia Nina Noah Oliver Olga Paul Peter Priya Rosa Samuel Sara "
    "Sofia Thomas Tim Vera Victor Wei Ada😀"
)
LAST_NAMES = _words(
    "Andersen Baker Becker Brown Clark Costa Cruz Davis Diaz Dubois Evans Fischer Garcia Gomez Green Haddad Hall "
    "Hansen Hill Hoffman Hopper Ito Ivanova Jackson Jones Kim Klein Kowalski Kumar Larsen Lee Lewis Lopez "
    "Lovelace Martin Mendes Meyer Miller Moore Müller Nguyễn Novak O'Brien Okafor Olsen Patel Perez Petrov Popov "
    "Ricci Rossi Santos Schmidt Silva Singh Smith Suzuki Taylor Turing Weber White Wilson Young 田中"
)
NAMES = [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES]
# A prime number of them, so that any step through the list meets ten different ones.
WORDS = _words(
    "books music garden kitchen shoes toys games sports outdoor office travel health beauty pets baby grocery "
    "jewelry watches tools lighting furniture bedding bath video phones cameras audio software stationery crafts "
    "art"
)
CITIES = _words(
    "Amsterdam Athens Berlin Bogotá Boston Cairo Chicago Delhi Dublin Geneva Hamburg Helsinki Istanbul Kraków "
    "Lagos Lima Lisbon London Madrid Melbourne Milan Nairobi Osaka Oslo Paris Prague Seoul Sydney Toronto Vienna "
    "Zürich 東京"
)
STREETS = [f"{n} {name}" for n in range(1, 65) for name in ("Main Street", "Station Road", "Lange Straße", "Mill Lane")]
SKUS = [f"SKU-{n * 7919 % 1_000_000:06d}" for n in range(4096)]

# Flink keeps the entries of a map state in a java.util.HashMap, and writes them in its order: for up to twelve entries, of
# the low four bits of the keys' spread hash codes, and in the order of insertion where those are the same.
WORD_BUCKETS = [flink.spread_hash(word) & 15 for word in WORDS]

# All texts in one list for the kernel; each kind is addressed by where it begins.
TEXTS = [*NAMES, *WORDS, *CITIES, *STREETS, *SKUS]
FIRST_WORD = len(NAMES)
FIRST_CITY = FIRST_WORD + len(WORDS)
FIRST_STREET = FIRST_CITY + len(CITIES)
FIRST_SKU = FIRST_STREET + len(STREETS)

JAVA_PACKAGE = "com.example.shop"
CUSTOMER = flink.pojo(
    f"{JAVA_PACKAGE}.Customer",
    {
        "active": flink.BOOLEAN,
        "balance": flink.DOUBLE,
        "name": flink.STRING,
        "orders": flink.INT,
        "updated": flink.LONG,
    },
)
ADDRESS = flink.pojo(
    f"{JAVA_PACKAGE}.Address", {"city": flink.STRING, "number": flink.INT, "street": flink.STRING}
)
# The type that Flink 2.x extracts for a POJO's List<T> field, a nullable list of nullable elements. It does so where T is
# a class; a list of tuples has to be given that type by hand (NullableListTypeInfo), or is a generic one.
BASKET = flink.pojo(
    f"{JAVA_PACKAGE}.Basket",
    {
        "address": ADDRESS,
        "items": flink.nullable(
            flink.list_of(flink.nullable(flink.tuple_of(flink.STRING, flink.INT, flink.DOUBLE)))
        ),
        "opened": flink.LONG,
    },
)


@dataclass(frozen=True)
class Shape:
    """A kind of state.

    :param number: tells it to the kernel and separates its values from the other shapes'.
    :param kind: Flink's ``KEYED_STATE_TYPE``.
    :param long_key: the key is a Long, else a String.
    :param value: snapshot of the state's value serializer.
    """

    name: str
    number: int
    kind: str
    long_key: bool
    value: bytes

    @property
    def key(self) -> bytes:
        """Snapshot of the key serializer."""
        return flink.LONG if self.long_key else flink.STRING


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("long-long", 0, "VALUE", True, flink.LONG),
        Shape("pojo", 1, "VALUE", False, CUSTOMER),
        Shape("map", 2, "MAP", False, flink.map_of(flink.STRING, flink.LONG)),
        Shape("list", 3, "LIST", False, flink.list_of(flink.LONG)),
        Shape("nested", 4, "VALUE", False, BASKET),
    )
}

ITEM = pa.struct([("f0", pa.string()), ("f1", pa.int32()), ("f2", pa.float64())])
VALUE_TYPES = {
    "long-long": pa.int64(),
    "pojo": pa.struct(
        [
            ("active", pa.bool_()),
            ("balance", pa.float64()),
            ("name", pa.string()),
            ("orders", pa.int32()),
            ("updated", pa.int64()),
        ]
    ),
    "map": pa.map_(pa.string(), pa.int64()),
    "list": pa.list_(pa.int64()),
    "nested": pa.struct(
        [
            ("address", pa.struct([("city", pa.string()), ("number", pa.int32()), ("street", pa.string())])),
            ("items", pa.list_(ITEM)),
            ("opened", pa.int64()),
        ]
    ),
}


def salts(seed: int, shape: Shape) -> tuple[int, int]:
    """Salt of the keys and salt of the values."""
    mixed = [_mix(np.array([n], dtype=np.uint64)) for n in (seed, seed ^ (shape.number + 1) << 40)]
    return int(mixed[0][0]), int(mixed[1][0])


def _mix(z: Numbers) -> Numbers:
    z = (z ^ z >> np.uint64(30)) * np.uint64(MIX_1)
    z = (z ^ z >> np.uint64(27)) * np.uint64(MIX_2)
    return z ^ z >> np.uint64(31)


def draw(salt: int, i: Numbers, column: int) -> Numbers:
    """A random number for each row ``i``, for one of at most 64 columns."""
    return _mix(np.uint64(salt) + np.uint64(GOLDEN) * (i * np.uint64(64) + np.uint64(column + 1)))


def rows(
    shape: str, seed: int, start: int, n: int, key_group: int | None = None, max_parallelism: int = 128
) -> pa.Table:
    """Rows ``start … start + n − 1`` of a shape: columns ``key`` and ``value``.

    :param key_group: where all rows were put into one key group: its number.
    """
    i = np.arange(start, start + n, dtype=np.uint64)
    key_salt, value_salt = salts(seed, SHAPES[shape])
    make = _LONG_KEYS if SHAPES[shape].long_key else _STRING_KEYS
    key = make[key_group is not None](key_salt, i, key_group or 0, max_parallelism)
    return pa.table({"key": key, "value": _VALUES[shape](value_salt, i)})


# -- keys --------------------------------------------------------------------------------------------------------------


def key_groups(codes: Numbers, max_parallelism: int) -> Numbers:
    """``KeyGroupRangeAssignment.assignToKeyGroup`` of Java hash codes (in the low 32 bits)."""
    mask = np.uint64(0xFFFFFFFF)

    def times(x: Numbers, factor: int) -> Numbers:
        return x * np.uint64(factor) & mask

    def rotl(x: Numbers, r: int) -> Numbers:
        return (x << np.uint64(r) | x >> np.uint64(32 - r)) & mask

    x = times(rotl(times(codes & mask, 0xCC9E2D51), 15), 0x1B873593)
    x = (times(rotl(x, 13), 5) + np.uint64(0xE6546B64)) & mask
    x ^= np.uint64(4)
    x = times(x ^ x >> np.uint64(16), 0x85EBCA6B)
    x = times(x ^ x >> np.uint64(13), 0xC2B2AE35)
    signed = (x ^ x >> np.uint64(16)).astype(np.uint32).view(np.int32).astype(np.int64)
    positive = np.where(signed == -(2**31), 0, np.abs(signed))
    return (positive % max_parallelism).astype(np.uint64)


def _text_codes(chars: np.ndarray[Any, np.dtype[np.uint8]]) -> Numbers:
    code = np.zeros(len(chars), dtype=np.uint64)
    for column in range(chars.shape[1]):
        code = code * np.uint64(31) + chars[:, column].astype(np.uint64) & np.uint64(0xFFFFFFFF)
    return code


def _hex(x: Numbers, digits: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    shifts = np.arange(4 * (digits - 1), -1, -4, dtype=np.uint64)
    nibbles = x[:, None] >> shifts & np.uint64(15)
    return np.frombuffer(b"0123456789abcdef", dtype=np.uint8)[nibbles.astype(np.intp)]


def _prefixed(salt: int, i: Numbers) -> np.ndarray[Any, np.dtype[np.uint8]]:
    mask = np.uint64(MASK_48)
    x = (i ^ np.uint64(salt)) & mask
    x = x * np.uint64(ODD_1) & mask
    x ^= x >> np.uint64(24)
    x = x * np.uint64(ODD_2) & mask
    prefix = np.frombuffer(PREFIX.encode(), dtype=np.uint8)
    return np.hstack([np.broadcast_to(prefix, (len(i), len(prefix))), _hex(x, HEX_DIGITS)])


def _strings(chars: np.ndarray[Any, np.dtype[np.uint8]]) -> pa.Array:
    n, width = chars.shape
    offsets = np.arange(0, (n + 1) * width, width, dtype=np.int32)[: n + 1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(chars))]
    return pa.Array.from_buffers(pa.string(), n, buffers)


def _search(i: Numbers, codes: Any, group: int, max_parallelism: int) -> Numbers:
    """For each row the first tail that brings its key into the group."""
    tails = np.zeros(len(i), dtype=np.uint64)
    left = np.arange(len(i))
    for tail in range(TAILS):
        if not len(left):
            return tails
        found = key_groups(codes(left, tail), max_parallelism) == np.uint64(group)
        tails[left[found]] = tail
        left = left[~found]
    raise ValueError("no key found for the key group")


def _long_keys(salt: int, i: Numbers, group: int, max_parallelism: int) -> pa.Array:
    return pa.array(draw(salt, i, 0).view(np.int64))


def _long_keys_of_group(salt: int, i: Numbers, group: int, max_parallelism: int) -> pa.Array:
    def keys(which: Any, tail: Any) -> Numbers:
        key: Numbers = i[which] * np.uint64(TAILS) + np.asarray(tail, dtype=np.uint64)
        return key

    def codes(which: Any, tail: int) -> Numbers:
        key = keys(which, tail)
        return key ^ key >> np.uint64(32)

    tails = _search(i, codes, group, max_parallelism)
    return pa.array(keys(slice(None), tails).view(np.int64))


def _string_keys(salt: int, i: Numbers, group: int, max_parallelism: int) -> pa.Array:
    return _strings(_prefixed(salt, i))


def _string_keys_of_group(salt: int, i: Numbers, group: int, max_parallelism: int) -> pa.Array:
    start = _prefixed(salt, i)

    def keys(which: Any, tails: Numbers) -> np.ndarray[Any, np.dtype[np.uint8]]:
        part = start[which]
        dash = np.full((len(part), 1), ord("-"), dtype=np.uint8)
        return np.hstack([part, dash, _hex(tails, TAIL_DIGITS)])

    def codes(which: Any, tail: int) -> Numbers:
        return _text_codes(keys(which, np.full(len(which), tail, dtype=np.uint64)))

    return _strings(keys(slice(None), _search(i, codes, group, max_parallelism)))


_LONG_KEYS = (_long_keys, _long_keys_of_group)
_STRING_KEYS = (_string_keys, _string_keys_of_group)

# -- values ------------------------------------------------------------------------------------------------------------


def _modulo(numbers: Numbers, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return (numbers % np.uint64(n)).astype(np.int64)


def _pick(texts: list[str], index: np.ndarray[Any, Any], null: np.ndarray[Any, Any] | None = None) -> pa.Array:
    return pa.array(texts, pa.string()).take(pa.array(index, pa.int64(), mask=null))


def _struct(type_: pa.DataType, columns: list[pa.Array], null: np.ndarray[Any, Any] | None = None) -> pa.Array:
    mask = None if null is None else pa.array(null)
    return pa.StructArray.from_arrays(columns, fields=list(type_), mask=mask)


def _offsets(counts: np.ndarray[Any, Any]) -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())


def _longs(salt: int, i: Numbers) -> pa.Array:
    return pa.array(_modulo(draw(salt, i, 1), 2_000_001) - 1_000_000)


def _customers(salt: int, i: Numbers) -> pa.Array:
    name = draw(salt, i, 3)
    columns = [
        pa.array(draw(salt, i, 1) % np.uint64(8) != 0),
        pa.array((_modulo(draw(salt, i, 2), 20_000_001) - 1_000_000) / 100.0),
        _pick(NAMES, _modulo(name >> np.uint64(8), len(NAMES)), name % np.uint64(50) == 0),
        pa.array(_modulo(draw(salt, i, 4), 1000), pa.int32()),
        pa.array(_modulo(draw(salt, i, 5), 50_000_000_000) + 1_700_000_000_000),
    ]
    return _struct(VALUE_TYPES["pojo"], columns)


def _maps(salt: int, i: Numbers) -> pa.Array:
    first = _modulo(draw(salt, i, 1), len(WORDS))
    step = _modulo(draw(salt, i, 1) >> np.uint64(16), len(WORDS) - 1) + 1
    words = np.stack([(first + j * step) % len(WORDS) for j in range(10)], axis=1)
    order = np.argsort(np.array(WORD_BUCKETS)[words], axis=1, kind="stable")
    words = np.take_along_axis(words, order, axis=1)
    drawn = np.stack([draw(salt, i, 8 + j) for j in range(10)], axis=1)
    numbers = np.take_along_axis(drawn, order, axis=1).ravel()
    values = pa.array(_modulo(numbers >> np.uint64(8), 100_000), mask=numbers % np.uint64(100) == 0)
    return pa.MapArray.from_arrays(_offsets(np.full(len(i), 10)), _pick(WORDS, words.ravel()), values)


def _lists(salt: int, i: Numbers) -> pa.Array:
    numbers = np.stack([draw(salt, i, 8 + j) for j in range(10)], axis=1).ravel()
    return pa.ListArray.from_arrays(_offsets(np.full(len(i), 10)), pa.array(_modulo(numbers, 1_000_000_000_000)))


def _baskets(salt: int, i: Numbers) -> pa.Array:
    null = draw(salt, i, 1) % np.uint64(64) == 0
    address = _struct(
        VALUE_TYPES["nested"].field("address").type,
        [
            _pick(CITIES, _modulo(draw(salt, i, 2), len(CITIES)), null),
            pa.array(_modulo(draw(salt, i, 3), 300).astype(np.int32), mask=null),
            _pick(STREETS, _modulo(draw(salt, i, 4), len(STREETS)), null),
        ],
        null,
    )
    counts = _modulo(draw(salt, i, 5), 6)
    there = np.arange(5)[None, :] < counts[:, None]

    def drawn(first: int) -> Numbers:
        return np.stack([draw(salt, i, first + j) for j in range(5)], axis=1)[there]

    items = _struct(
        ITEM,
        [
            _pick(SKUS, _modulo(drawn(8), len(SKUS))),
            pa.array(_modulo(drawn(16), 20) + 1, pa.int32()),
            pa.array(_modulo(drawn(24), 100_000) / 100.0),
        ],
    )
    opened = pa.array(_modulo(draw(salt, i, 6), 50_000_000_000) + 1_700_000_000_000)
    return _struct(
        VALUE_TYPES["nested"], [address, pa.ListArray.from_arrays(_offsets(counts), items), opened]
    )


_VALUES = {"long-long": _longs, "pojo": _customers, "map": _maps, "list": _lists, "nested": _baskets}
