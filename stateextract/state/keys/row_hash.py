"""The bytes of SQL's keys, written anew from the column's values, and their hash: murmur3 over a ``BinaryRowData``.

Planned SQL jobs make their keys with a ``BinaryRowWriter``, whose output is a function of the values: the kind (always
``+I``) and the null bits, a slot for each field, then the sections in the order of the fields, each padded to 8 bytes. They
are not defined here for fields whose bytes are not a function of their column's value: rows, arrays, maps, RAW, NaN,
text with replaced characters, times with lost digits.

Flink's classes: ``org.apache.flink.table.data.writer.AbstractBinaryWriter``, ``…table.data.binary.BinaryRowData``,
``…table.data.binary.MurmurHashUtils``. May import ``serializers``, the policy and pyarrow.
"""

from __future__ import annotations

import math
import struct
from itertools import product

import pyarrow as pa

from serializers import SerializerSnapshot
from serializers.logical_types import COMPACT_DIGITS, COMPACT_PRECISION, read_logical_type
from serializers.sql_type import LogicalType
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.layout.binary import KIND_BITS
from stateextract.state.keys.java_values import REPLACEMENT, signed, time_nanos, unscaled

_SEED = 42
_MOST = 64
_INLINE = 7
_FIXED = {
    "TINYINT": "<b7x", "SMALLINT": "<h6x", "INTEGER": "<i4x", "BIGINT": "<q", "FLOAT": "<f4x", "DOUBLE": "<d",
    "BOOLEAN": "<?7x", "INTERVAL_YEAR_MONTH": "<i4x", "INTERVAL_DAY_TIME": "<q",
}  # fmt: skip

Slot = tuple[bytes, int | None]
"""What a field writes: the bytes of its slot, or, where there is a length, of its section."""


def row_bytes_hash(data: bytes) -> int:
    """``BinaryRowData.hashCode``: murmur3 of 32 bits, seed 42, over little-endian words."""
    h = _SEED
    for (word,) in struct.iter_unpack("<I", data[: len(data) & ~3]):
        h = mixed(h, word)
    return signed(avalanche(h ^ len(data)))


def mixed(h: int, word: int) -> int:
    """Murmur3's step for one word of 32 bits."""
    k = _rotated(word * 0xCC9E2D51, 15) * 0x1B873593 & 0xFFFFFFFF
    return _rotated(h ^ k, 13) * 5 + 0xE6546B64 & 0xFFFFFFFF


def avalanche(h: int) -> int:
    """Murmur3's last steps on 32 bits."""
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def _rotated(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return (value << bits | value >> 32 - bits) & 0xFFFFFFFF


def binary_row_hashes(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> frozenset[int] | None:
    """The hashes that a row may have; see ``java_hash.java_hashes``."""
    rows = binary_rows(key, serializer, policy)
    return None if rows is None else frozenset(map(row_bytes_hash, rows))


def binary_rows(key: pa.Scalar, serializer: SerializerSnapshot, policy: Policy) -> list[bytes] | None:
    """The bytes that a row may have, of which there are few; ``None``: they are not known.

    :param serializer: a ``RowDataSerializer``'s snapshot.
    """
    types = tuple(map(read_logical_type, serializer.details["types"]))
    if not pa.types.is_struct(key.type) or key.type.num_fields != len(types):
        return None if types else [binary_row([])]
    choices: list[list[Slot | None]] = []
    for i, type_ in enumerate(types):
        slots = _slots(key[i], type_, policy)
        if slots is None:
            return None
        choices.append(slots)
    if math.prod(map(len, choices)) > _MOST:
        return None
    return [binary_row(list(slots)) for slots in product(*choices)]


def binary_row(slots: list[Slot | None]) -> bytes:
    """A row out of what its fields write; ``None`` is null without a section."""
    null_bytes = (KIND_BITS + len(slots) + 63) // 64 * 8
    nulls, fixed, sections = 0, bytearray(), bytearray()
    start = null_bytes + 8 * len(slots)
    for i, slot in enumerate(slots):
        data, size = slot or (b"", None)
        if slot is None:
            nulls |= 1 << KIND_BITS + i
            fixed += bytes(8)
        elif size is None:
            fixed += data
        else:
            if size < 0:  # the section of a null is kept for its next value
                nulls |= 1 << KIND_BITS + i
            fixed += struct.pack("<ii", max(size, 0), start + len(sections))
            sections += data
    return nulls.to_bytes(null_bytes, "little") + bytes(fixed + sections)


def _slots(value: pa.Scalar, type_: LogicalType, policy: Policy) -> list[Slot | None] | None:
    """What a field may write; ``None`` where that is not known."""
    root = type_.root
    if root == "DISTINCT_TYPE" and type_.children:
        return _slots(value, type_.children[0], policy)
    if not value.is_valid and policy.out_of_range == "null" and root.startswith(_TIMES):
        return None  # a time that the column cannot hold
    if root == "DECIMAL" and type_.precision > COMPACT_DIGITS:
        return [_wide_decimal(value, type_)]
    if root.startswith("TIMESTAMP") and type_.precision > COMPACT_PRECISION:
        return _wide_timestamp(value, type_, policy)
    if not value.is_valid:
        known = root in _FIXED or root in _OTHERS or root.startswith("TIMESTAMP_W") or root == "DECIMAL"
        return [None] if known else None
    if root in ("FLOAT", "DOUBLE"):
        number = value.as_py()
        if math.isnan(number):
            return None
        return [(struct.pack(_FIXED[root], n), None) for n in ((0.0, -0.0) if number == 0 else (number,))]
    if root in _FIXED:
        return [(struct.pack(_FIXED[root], value.as_py()), None)]
    if root == "DECIMAL":
        return [(struct.pack("<q", unscaled(value.as_py(), type_.scale)), None)]
    if root.startswith("TIMESTAMP_W"):
        return [(struct.pack("<q", _ticks(value, 1000)), None)]
    return _other(value, root, policy)


_TIMES = ("TIMESTAMP", "TIME_", "DATE")
_OTHERS = frozenset({"CHAR", "VARCHAR", "BINARY", "VARBINARY", "DATE", "TIME_WITHOUT_TIME_ZONE"})


def _other(value: pa.Scalar, root: str, policy: Policy) -> list[Slot | None] | None:
    match root:
        case "DATE":
            return [(struct.pack("<i4x", value.value), None)]
        case "TIME_WITHOUT_TIME_ZONE":
            nanos = time_nanos(value.as_py())
            return None if nanos is None or nanos % 10**6 else [(struct.pack("<i4x", nanos // 10**6), None)]
        case "CHAR" | "VARCHAR":
            text = value.as_py()
            if isinstance(text, str):
                if REPLACEMENT in text and policy.strings != "fail":
                    return None
                text = text.encode()
            return [_section(text)]
        case "BINARY" | "VARBINARY" if pa.types.is_binary(value.type):
            return [_section(value.as_py())]
    return None


def _section(data: bytes) -> Slot:
    if len(data) <= _INLINE:
        return data.ljust(7, b"\0") + bytes([0x80 | len(data)]), None
    return data + bytes(-len(data) % 8), len(data)


def _wide_decimal(value: pa.Scalar, type_: LogicalType) -> Slot:
    if not value.is_valid:
        return bytes(16), -1
    number = unscaled(value.as_py(), type_.scale)
    data = number.to_bytes(((number + (number < 0)).bit_length() + 8) // 8, "big", signed=True)
    return data.ljust(16, b"\0"), len(data)


def _wide_timestamp(value: pa.Scalar, type_: LogicalType, policy: Policy) -> list[Slot | None] | None:
    if not value.is_valid:
        return [(bytes(8), -1)]
    if value.type.unit != "ns" and policy.timestamps != "fail":
        return None  # there may be digits that the column has not, also below those that the type says
    ms, nanos = divmod(_ticks(value, 1) if value.type.unit == "ns" else _ticks(value, 1) * 1000, 10**6)
    return [(struct.pack("<q", ms), nanos)]


def _ticks(value: pa.Scalar, divisor: int) -> int:
    """The timestamp's number, of microseconds divided by that."""
    ticks = int(value.value)
    return ticks // divisor if value.type.unit == "us" or divisor == 1 else ticks // 1000 // divisor
