"""Java's ``hashCode`` of a key, from its column's value and the snapshot of its serializer.

A key's column does not always say all that the hash needs, so the answer is a set of hashes, one of which is the key's:
``0.0`` equals ``-0.0`` and hashes differently. ``None`` means that nothing is known: the class' own code computes the hash
(POJOs, records, Avro, Scala, Kryo), it is another one in every JVM (enums, arrays), it
depends on what is not in the snapshot, or digits or characters of the key are not in the column (times below the
microsecond, lone surrogates). The hash of a ``Row`` is likely, and certain where PyFlink made it (:func:`is_certain`).

Java's classes: ``java.lang.*``, ``java.math.*``, ``java.time.*``, ``java.util.*``, ``java.sql.*``; Flink's:
``org.apache.flink.api.java.tuple.Tuple*``, ``org.apache.flink.types.*Value``, ``…types.Either``,
``…table.data.binary.BinaryRowData`` (in ``row_hash.py``).

May import ``serializers``, the policy and pyarrow; knows no key groups, no files.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import product

import pyarrow as pa

from serializers import SerializerSnapshot
from serializers.containers import LIST_SNAPSHOT, MAP_SNAPSHOT, SET_SNAPSHOT
from serializers.scalars import BASE, NUMBERS
from serializers.sql import ROW_DATA_SNAPSHOT, TYPEUTILS
from serializers.tuples import ROW_SNAPSHOT, RUNTIME
from stateextract.columnar.convert.dates import civil_date
from stateextract.columnar.convert.policy import Policy
from stateextract.state.keys.java_values import REPLACEMENT, signed, time_nanos
from stateextract.state.keys.row_hash import binary_row_hashes, row_bytes_hash

PossibleHashes = frozenset[int] | None
"""Signed 32-bit numbers, one of which is the hash; ``None``: it could be any."""
Hasher = Callable[[pa.Scalar, SerializerSnapshot, Policy], PossibleHashes]

_MOST = 64
"""More hashes than this save nothing."""
_BYTES = BASE + "array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"
_CHECKING = "org.apache.flink.api.common.typeutils.SingleThreadAccessCheckingTypeSerializer"
_TUPLES = "org.apache.flink.api.java.tuple.Tuple"


def java_hashes(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy | None = None) -> PossibleHashes:
    """The hashes that a key may have.

    :param key: as it is in the column, of the column's type.
    :param serializer: the snapshot of the key's serializer.
    :param policy: by which the column was made.
    :returns: ``None`` where the hash is not defined, or the column's type is not the serializer's own.
    """
    hasher = _HASHERS.get(serializer.class_name)
    if hasher is None or serializer.is_unknown:
        return None
    if not key.is_valid:
        # It may represent a time that the column cannot hold.
        return None if policy is not None and policy.out_of_range == "null" else frozenset((0,))
    return hasher(key, serializer, policy or Policy())


def is_certain(serializer: SerializerSnapshot) -> bool:
    """Whether the key's hash is one of those that :func:`java_hashes` gives, whatever the job did."""
    return serializer.class_name != ROW_SNAPSHOT


def _folded(value: int) -> int:
    """``Long.hashCode`` of 64 bits."""
    return signed((value ^ value >> 32) & 0xFFFFFFFF)


def _one(value: int) -> PossibleHashes:
    return frozenset((signed(value),))


def _polynomial(codes: Iterable[int], start: int = 0) -> int:
    """``31 * h + c`` over all codes, in 32 bits."""
    return signed(reduce(lambda h, c: (31 * h + c) & 0xFFFFFFFF, codes, start))


def _all(hashes: Sequence[PossibleHashes], join: Callable[[Sequence[int]], int]) -> PossibleHashes:
    """The hashes of a whole from those of its parts."""
    if any(part is None for part in hashes) or math.prod(len(part or ()) for part in hashes) > _MOST:
        return None
    return frozenset(join(parts) for parts in product(*(part or () for part in hashes)))


# ---- single values


def _of_type(*types: pa.DataType) -> Callable[[Callable[[pa.Scalar, Policy], PossibleHashes]], Hasher]:
    """A hasher of columns of these types; of others nothing is known."""

    def decorate(function: Callable[[pa.Scalar, Policy], PossibleHashes]) -> Hasher:
        def hasher(key: pa.Scalar, _: SerializerSnapshot, policy: Policy) -> PossibleHashes:
            return function(key, policy) if key.type in types else None

        return hasher

    return decorate


@_of_type(pa.bool_())
def _boolean(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return _one(1231 if key.as_py() else 1237)


@_of_type(pa.bool_())
def _boolean_value(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return _one(int(key.as_py()))


@_of_type(pa.int8(), pa.int16(), pa.int32())
def _integer(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return _one(key.as_py())


@_of_type(pa.int64())
def _long(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return _one(_folded(key.as_py()))


@_of_type(pa.int64())
def _long_value(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return _one(43 + _folded(key.as_py()))


def _bits(value: float, form: str, nan: int) -> frozenset[int]:
    """``floatToIntBits`` or ``doubleToLongBits``: all NaNs are one; the two zeros are equal and are not."""
    if math.isnan(value):
        return frozenset((nan,))
    values = (0.0, -0.0) if value == 0 else (value,)
    return frozenset(int.from_bytes(struct.pack(form, v), "big", signed=True) for v in values)


@_of_type(pa.float32())
def _float(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return _bits(key.as_py(), ">f", 0x7FC00000)


@_of_type(pa.float64())
def _double(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return frozenset(map(_folded, _bits(key.as_py(), ">d", 0x7FF8 << 48)))


@_of_type(pa.float64())
def _double_value(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return frozenset(signed(31 + _folded(bits)) for bits in _bits(key.as_py(), ">d", 0x7FF8 << 48))


@_of_type(pa.string(), pa.binary())
def _string(key: pa.Scalar, policy: Policy) -> PossibleHashes:
    value = key.as_py()
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None
    elif REPLACEMENT in value and policy.strings != "fail":
        return None
    units = value.encode("utf-16-be", "surrogatepass")
    return _one(_polynomial(code for (code,) in struct.iter_unpack(">H", units)))


def _big_integer_hash(value: int) -> int:
    magnitude = abs(value)
    words = [magnitude >> shift & 0xFFFFFFFF for shift in range(magnitude.bit_length() // 32 * 32, -1, -32)]
    return _polynomial(words) * (-1 if value < 0 else 1)


@_of_type(pa.string())
def _big_integer(key: pa.Scalar, _: Policy) -> PossibleHashes:
    value = _whole(key.as_py())
    return None if value is None else _one(_big_integer_hash(value))


@_of_type(pa.string())
def _big_decimal(key: pa.Scalar, _: Policy) -> PossibleHashes:
    # As BigDecimal.toString() has it: digits, a point, an exponent. The scale counts: 1.0 is not 1.00.
    digits, _, exponent = key.as_py().upper().partition("E")
    before, _, fraction = digits.partition(".")
    unscaled, power = _whole(before + fraction), _whole(exponent or "0")
    if unscaled is None or power is None:
        return None
    return _one(31 * _big_integer_hash(unscaled) + len(fraction) - power)


def _whole(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 4000 else None


# ---- dates and times


def _micros(key: pa.Scalar) -> int:
    return int(key.value) // (1000 if key.type.unit == "ns" else 1)


def _nanos(key: pa.Scalar, policy: Policy) -> int | None:
    """Nanoseconds since 1970; ``None`` where the column may have lost some."""
    if key.type.unit == "ns":
        return int(key.value)
    return None if policy.timestamps == "floor" else int(key.value) * 1000


_UTC = (pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"))
_LOCAL = (pa.timestamp("us"), pa.timestamp("ns"))
_DAY = 86_400 * 10**9


@_of_type(*_UTC)
def _date(key: pa.Scalar, _: Policy) -> PossibleHashes:
    """``java.util.Date`` and all of ``java.sql``: the milliseconds, of timestamps too."""
    return _one(_folded(_micros(key) // 1000))


@_of_type(*_UTC)
def _instant(key: pa.Scalar, policy: Policy) -> PossibleHashes:
    nanos = _nanos(key, policy)
    if nanos is None:
        return None
    seconds, rest = divmod(nanos, 10**9)
    return _one(_folded(seconds) + 51 * rest)


def _local_date_hash(days: int) -> int:
    year, month, day = civil_date(days)
    return signed((year & 0xFFFFF800) ^ ((year << 11) + (month << 6) + day))


@_of_type(pa.date32())
def _local_date(key: pa.Scalar, _: Policy) -> PossibleHashes:
    return _one(_local_date_hash(key.value))


@_of_type(pa.string())
def _local_time(key: pa.Scalar, _: Policy) -> PossibleHashes:
    nanos = time_nanos(key.as_py())
    return None if nanos is None else _one(_folded(nanos))


@_of_type(*_LOCAL)
def _local_date_time(key: pa.Scalar, policy: Policy) -> PossibleHashes:
    nanos = _nanos(key, policy)
    if nanos is None:
        return None
    days, rest = divmod(nanos, _DAY)
    return _one(_local_date_hash(days) ^ _folded(rest))


# ---- composites


def _tuple(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> PossibleHashes:
    """``Tuple1`` … ``Tuple25``; a subclass may have a hash of its own."""
    number = str(serializer.details.get("class", "")).removeprefix(_TUPLES)
    if number != str(len(serializer.nested)) or not pa.types.is_struct(key.type):
        return None
    if key.type.num_fields != len(serializer.nested):
        return None
    parts = [java_hashes(key[i], nested, policy) for i, nested in enumerate(serializer.nested)]
    return _all(parts, _polynomial)


def _row(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> PossibleHashes:
    """``RowUtils.deepHashCodeRow`` of a ``Row`` whose fields have positions, since Flink 1.13.

    A Row whose fields have names only, which a job in Java may make, hashes these names too, and no snapshot has them.

    :param key: the struct of the fields and ``row_kind``, which is null where it may be any; or the one field alone.
    """
    nested = serializer.nested
    fields = [key[i] for i in range(len(nested))] if _is_row(key.type, len(nested)) else [key]
    if len(fields) != len(nested):
        return None
    named = key["row_kind"].as_py() if len(fields) != 1 or _is_row(key.type, 1) else ROW_KINDS[0]
    kinds = range(len(ROW_KINDS)) if named is None else [ROW_KINDS.index(named)] if named in ROW_KINDS else []
    parts = [_inside_row(field, inner, policy) for field, inner in zip(fields, nested, strict=True)]
    values = _all(parts, lambda codes: _polynomial(codes, 1))
    return None if values is None else frozenset(signed(31 * kind + code) for kind in kinds for code in values)


ROW_KINDS = ("+I", "-U", "+U", "-D")


def _is_row(type_: pa.DataType, fields: int) -> bool:
    """Whether a type is the struct of a Row's fields and its kind."""
    return bool(pa.types.is_struct(type_)) and type_.num_fields == fields + 1 and type_.field(fields).name == "row_kind"


def _inside_row(value: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> PossibleHashes:
    """``RowUtils.deepHashCodeInternal``: of a list by its elements, else ``Arrays.deepHashCode`` of an array of it alone."""
    if not value.is_valid:
        return None if policy.out_of_range == "null" else frozenset((0,))
    found: PossibleHashes
    if serializer.class_name == _BYTES:
        if not pa.types.is_binary(value.type):
            return None
        found = frozenset((_polynomial((byte - (byte >> 7 << 8) for byte in value.as_py()), 1),))
    elif serializer.class_name == LIST_SNAPSHOT and pa.types.is_list(value.type):
        inner = [_inside_row(element, serializer.nested[0], policy) for element in value.values]
        return _all(inner, lambda codes: _polynomial(codes, 1))
    else:
        found = java_hashes(value, serializer, policy)
    return None if found is None else frozenset(signed(31 + code) for code in found)


def _nullable(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> PossibleHashes:
    return java_hashes(key, serializer.nested[0], policy)


def _either(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> PossibleHashes:
    """``Either.Left`` and ``Either.Right`` hash as what they hold."""
    if not pa.types.is_struct(key.type) or [f.name for f in key.type] != ["left", "right"]:
        return None
    parts = [(key[i], nested) for i, nested in enumerate(serializer.nested) if key[i].is_valid]
    return java_hashes(*parts[0], policy) if len(parts) == 1 else None


def _list(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> PossibleHashes:
    if not pa.types.is_list(key.type):
        return None
    parts = [java_hashes(element, serializer.nested[0], policy) for element in key.values]
    return _all(parts, lambda codes: _polynomial(codes, 1))


def _set(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> PossibleHashes:
    if not pa.types.is_list(key.type):
        return None
    parts = [java_hashes(element, serializer.nested[0], policy) for element in key.values]
    return _all(parts, lambda codes: signed(sum(codes)))


def _map(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> PossibleHashes:
    if not (pa.types.is_map(key.type) or (pa.types.is_list(key.type) and pa.types.is_struct(key.type.value_type))):
        return None
    entries = [
        _all([java_hashes(entry[i], serializer.nested[i], policy) for i in (0, 1)], lambda codes: codes[0] ^ codes[1])
        for entry in key.values
    ]
    return _all(entries, lambda codes: signed(sum(codes)))


def _binary_row(key: pa.Scalar, _: SerializerSnapshot, __: Policy) -> PossibleHashes:
    """Only the bytes of the row are known, and they are what is hashed."""
    return frozenset((row_bytes_hash(key.as_py()),)) if pa.types.is_binary(key.type) else None


_SIMPLE: dict[str, Hasher] = {
    **dict.fromkeys(("Byte", "Short", "Int"), _integer),
    "Boolean": _boolean, "Long": _long, "Float": _float, "Double": _double, "Char": _string, "String": _string,
    "BigInt": _big_integer, "BigDec": _big_decimal,
    **dict.fromkeys(("Date", "SqlDate", "SqlTime", "SqlTimestamp"), _date),
    "Instant": _instant, "LocalDate": _local_date, "LocalTime": _local_time, "LocalDateTime": _local_date_time,
}  # fmt: skip
_VALUES: dict[str, Hasher] = {
    **{name: _SIMPLE[name] for name in (*NUMBERS, "String")},
    "Boolean": _boolean_value, "Long": _long_value, "Double": _double_value,
}  # fmt: skip
_HASHERS: dict[str, Hasher] = {
    **{f"{BASE}{name}Serializer${name}SerializerSnapshot": hasher for name, hasher in _SIMPLE.items()},
    **{f"{BASE}{name}ValueSerializer${name}ValueSerializerSnapshot": hasher for name, hasher in _VALUES.items()},
    RUNTIME + "TupleSerializerSnapshot": _tuple,
    ROW_SNAPSHOT: _row,
    RUNTIME + "NullableSerializer$NullableSerializerSnapshot": _nullable,
    RUNTIME + "JavaEitherSerializerSnapshot": _either,
    _CHECKING + "$SingleThreadAccessCheckingTypeSerializerSnapshot": _nullable,
    LIST_SNAPSHOT: _list,
    SET_SNAPSHOT: _set,
    MAP_SNAPSHOT: _map,
    ROW_DATA_SNAPSHOT: binary_row_hashes,
    TYPEUTILS + "BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot": _binary_row,
}
