"""The bytes that Flink 2.3 writes around state: heads, ``_metadata``, key groups, Snappy framing.

Writes only what the generators need: keyed state of the HashMap backend as in a checkpoint. Shares no code with the
reader, so that the two can be held against each other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cramjam
import google_crc32c
import numpy as np

PACKAGE = "org.apache.flink"
TYPEUTILS = f"{PACKAGE}.api.common.typeutils.base"
RUNTIME_TYPEUTILS = f"{PACKAGE}.api.java.typeutils.runtime"

METADATA_MAGIC = 0x4960672D
METADATA_VERSION = 6
HEAD_VERSION = 6
BLOCK = 65536
STREAM_IDENTIFIER = b"\xff\x06\x00\x00sNaPpY"
# Flink 1.16 to 2.3 wrote these same bytes for every checkpoint that is retained on cancellation.
_PROPERTIES = Path(__file__).with_name("checkpoint-properties.bin")


# -- Snappy ------------------------------------------------------------------------------------------------------------


def snappy_chunks(data: bytes | bytearray | memoryview | np.ndarray) -> Iterator[bytes]:
    """Chunks of at most 65536 plain bytes, each as ``SnappyFramedOutputStream`` writes it."""
    plain = np.frombuffer(data, dtype=np.uint8)
    for start in range(0, len(plain), BLOCK):
        block = plain[start : start + BLOCK]
        crc = google_crc32c.value(block)
        masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
        packed = bytes(cramjam.snappy.compress_raw(block.data))
        kind, body = (0x00, packed) if len(packed) / len(block) <= 0.85 else (0x01, block.tobytes())
        yield struct.pack("<II", kind | (len(body) + 4) << 8, masked) + body


def compress_snappy_framed(data: bytes | bytearray | memoryview | np.ndarray) -> bytes:
    """One stream: the identifier, then the chunks."""
    return STREAM_IDENTIFIER + b"".join(snappy_chunks(data))


# -- text and serializer snapshots -------------------------------------------------------------------------------------


def utf(text: str) -> bytes:
    """``DataOutput.writeUTF`` of text without NUL and without characters above U+FFFF."""
    raw = text.encode("utf-8", "surrogatepass")
    return struct.pack(">H", len(raw)) + raw


def flink_string(text: str) -> bytes:
    """``StringValue.writeString``: a varint of units + 1, then a varint per UTF-16 unit."""
    units = np.frombuffer(text.encode("utf-16-le"), dtype="<u2").tolist()
    return b"".join(varint(n) for n in (len(units) + 1, *units))


def varint(n: int) -> bytes:
    """Seven bits a byte, low ones first."""
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def spread_hash(text: str) -> int:
    """``HashMap.hash`` of a string."""
    code = 0
    for unit in np.frombuffer(text.encode("utf-16-le"), dtype="<u2").tolist():
        code = code * 31 + unit & 0xFFFFFFFF
    return code ^ code >> 16


def versioned(class_name: str, version: int, payload: bytes = b"") -> bytes:
    """``TypeSerializerSnapshot.writeVersionedSnapshot``."""
    return utf(class_name) + struct.pack(">i", version) + payload


def proxy(snapshot: bytes) -> bytes:
    """The envelope of the outermost snapshots (``TypeSerializerSnapshotSerializationUtil``)."""
    return struct.pack(">i", 2) + snapshot


def simple(serializer: str) -> bytes:
    """A ``SimpleTypeSerializerSnapshot`` nested in its serializer, such as ``…base.LongSerializer``."""
    return versioned(f"{serializer}${serializer.rpartition('.')[2]}Snapshot", 3)


def composite(class_name: str, outer_version: int, nested: Sequence[bytes], outer: bytes = b"") -> bytes:
    """A ``CompositeTypeSerializerSnapshot``."""
    head = struct.pack(">ii", 911108, outer_version) + outer
    return versioned(class_name, 3, head + struct.pack(">iii", 1333245, 1, len(nested)) + b"".join(nested))


BOOLEAN = simple(f"{TYPEUTILS}.BooleanSerializer")
INT = simple(f"{TYPEUTILS}.IntSerializer")
LONG = simple(f"{TYPEUTILS}.LongSerializer")
DOUBLE = simple(f"{TYPEUTILS}.DoubleSerializer")
STRING = simple(f"{TYPEUTILS}.StringSerializer")
VOID_NAMESPACE = simple(f"{PACKAGE}.runtime.state.VoidNamespaceSerializer")


def list_of(element: bytes) -> bytes:
    """``ListSerializerSnapshot``."""
    return composite(f"{TYPEUTILS}.ListSerializerSnapshot", 1, [element])


def map_of(key: bytes, value: bytes) -> bytes:
    """``MapSerializerSnapshot``."""
    return composite(f"{TYPEUTILS}.MapSerializerSnapshot", 1, [key, value])


def tuple_of(*fields: bytes) -> bytes:
    """``TupleSerializerSnapshot``."""
    name = utf(f"{PACKAGE}.api.java.tuple.Tuple{len(fields)}")
    return composite(f"{RUNTIME_TYPEUTILS}.TupleSerializerSnapshot", 2, fields, name)


def nullable(inner: bytes) -> bytes:
    """``NullableSerializerSnapshot`` without padding."""
    name = f"{RUNTIME_TYPEUTILS}.NullableSerializer$NullableSerializerSnapshot"
    return composite(name, 2, [inner], struct.pack(">i", 0))


def pojo(class_name: str, fields: dict[str, bytes]) -> bytes:
    """``PojoSerializerSnapshot`` without subclasses. The fields must be in order of their names: Flink sorts."""
    if list(fields) != sorted(fields):
        raise ValueError("the fields of a POJO are sorted by name")

    def entry(name: str, snapshot: bytes) -> bytes:
        key = utf(class_name) + utf(name)
        framed = b"".join(b"\x01" + struct.pack(">i", len(frame)) + frame for frame in (key, snapshot))
        return utf(name) + framed

    def linked_map(entries: Sequence[bytes]) -> bytes:
        return struct.pack(">qi", 0x4F2C69A3D70, len(entries)) + b"".join(entries)

    maps = linked_map([entry(*field) for field in fields.items()]) + linked_map([]) + linked_map([])
    return versioned(f"{RUNTIME_TYPEUTILS}.PojoSerializerSnapshot", 2, utf(class_name) + maps)


# -- head of a keyed state file ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """A keyed state as the head names it; its position in the head is its id."""

    name: str
    kind: str
    value: bytes


def head(key: bytes, states: Sequence[State], compressed: bool) -> bytes:
    """``KeyedBackendSerializationProxy``."""
    metas = b"".join(
        utf(state.name)
        + struct.pack(">ii", 0, 1)
        + utf("KEYED_STATE_TYPE")
        + utf(state.kind)
        + struct.pack(">i", 2)
        + utf("VALUE_SERIALIZER")
        + proxy(state.value)
        + utf("NAMESPACE_SERIALIZER")
        + proxy(VOID_NAMESPACE)
        for state in states
    )
    return struct.pack(">i?", HEAD_VERSION, compressed) + proxy(key) + struct.pack(">h", len(states)) + metas


def hash_map_order(names: Sequence[str]) -> list[str]:
    """Names in the order of a ``java.util.HashMap``: the heap backend keeps its states in one, and numbers them so."""
    buckets = 16
    while len(names) > buckets * 3 // 4:
        buckets *= 2
    return sorted(names, key=lambda name: spread_hash(name) & buckets - 1)


# -- _metadata ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KeyedFile:
    """A file of keyed state beside ``_metadata``."""

    subtask: int
    path: str
    size: int
    first_key_group: int
    offsets: Sequence[int]
    handle_id: str


@dataclass(frozen=True)
class Operator:
    """An operator and its keyed state files."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    files: Sequence[KeyedFile]


def metadata(checkpoint_id: int, operators: Sequence[Operator]) -> bytes:
    """The ``_metadata`` of a retained checkpoint, version 6 (Flink 2.1 to 2.3), with relative handles."""
    out = [struct.pack(">iiqii", METADATA_MAGIC, METADATA_VERSION, checkpoint_id, 0, len(operators))]
    for operator in operators:
        out.append(utf(operator.name) + utf(operator.uid) + operator_id(operator.uid))
        out.append(struct.pack(">iibi", operator.parallelism, operator.max_parallelism, 0, len(operator.files)))
        out.extend(_subtask(file) for file in operator.files)
    return b"".join(out) + _PROPERTIES.read_bytes()


def _subtask(file: KeyedFile) -> bytes:
    offsets = np.asarray(file.offsets, dtype=">i8").tobytes()
    keyed = struct.pack(">bii", 12, file.first_key_group, len(file.offsets)) + offsets
    stream = b"\x06" + utf(file.path) + struct.pack(">q", file.size)
    # No operator state before it; no raw keyed state and no channel state behind it.
    return struct.pack(">iii", file.subtask, 0, 0) + keyed + stream + utf(file.handle_id) + b"\x00" + bytes(8)


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """Key groups of a subtask (``KeyGroupRangeAssignment``)."""
    first = (subtask * max_parallelism + parallelism - 1) // parallelism
    last = ((subtask + 1) * max_parallelism - 1) // parallelism
    return range(first, last + 1)


def operator_id(uid: str) -> bytes:
    """murmur3 of 128 bits (x64) with seed 0 over the uid, as ``StreamGraphHasherV2`` makes ids."""
    mask = (1 << 64) - 1
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def rotl(x: int, r: int) -> int:
        return (x << r | x >> (64 - r)) & mask

    def fmix(x: int) -> int:
        x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & mask
        x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & mask
        return x ^ x >> 33

    data = uid.encode("utf-8")
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for start in range(0, len(data), 16):
        k1 = int.from_bytes(data[start : start + 8], "little")
        k2 = int.from_bytes(data[start + 8 : start + 16], "little")
        h1 ^= rotl(k1 * c1 & mask, 31) * c2 & mask
        tail = start == whole
        if not tail:
            h1 = ((rotl(h1, 27) + h2) * 5 + 0x52DCE729) & mask
        h2 ^= rotl(k2 * c2 & mask, 33) * c1 & mask
        if not tail:
            h2 = ((rotl(h2, 31) + h1) * 5 + 0x38495AB5) & mask
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & mask
    h2 = (h2 + h1) & mask
    h1, h2 = fmix(h1), fmix(h2)
    h1 = (h1 + h2) & mask
    h2 = (h2 + h1) & mask
    return struct.pack("<QQ", h1, h2)
