"""The framing of serializer snapshots: the envelopes and the structures that payloads are made of.

Reads a snapshot and everything nested in it, and stops after its last byte. There is no length around a snapshot, so
an unknown class ends the reading with :class:`UndecodableError` and its name in ``SnapshotReader.unknown``, unless the
reader knows which of the usual shapes to take it for, or up to where to skip it (``state/header.py`` tries them). What is
around it keeps its class. The exception are the frames of a ``LinkedOptionalMap``: what cannot be read there is kept as
unknown and skipped.

Flink's classes: ``TypeSerializerSnapshot``, ``TypeSerializerSnapshotSerializationUtil``,
``SimpleTypeSerializerSnapshot``, ``GenericTypeSerializerSnapshot``, ``CompositeTypeSerializerSnapshot``,
``NestedSerializersSnapshotDelegate``, ``LinkedOptionalMapSerializer``. May import the registry and the byte cursor;
knows no value bytes and no files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from serializers.registry import PayloadReader, SerializerSnapshot, find_serializer
from stateextract.errors import FormatError, StateExtractError, UndecodableError, UnsupportedVersionError
from stateextract.files.reader import Reader

COMPOSITE_MAGIC = 911108
DELEGATE_MAGIC = 1333245
DELEGATE_HEAD = DELEGATE_MAGIC.to_bytes(4, "big") + (1).to_bytes(4, "big")
LINKED_OPTIONAL_MAP = 0x4F2C69A3D70
CONFIG_SNAPSHOT_ADAPTER = 0x7A53C4F0

# Java's type extraction never comes near it; without a limit, damaged bytes could exhaust the stack.
MAX_DEPTH = 60

SHAPES = ("nothing", "text", "composite", "nested")
"""What the payload of an unknown snapshot class may be: the shapes of Flink's own base classes."""

SKIPPED = "skipped"
"""``skipped n``: the payload of an unknown class is whatever comes before the ``n``-th place where reading can go on."""


class SnapshotReader(Reader):
    """A reader that carries what reading snapshots needs.

    :ivar shapes: which of :data:`SHAPES` to take payloads of unknown classes for, or ``skipped n``, by position.
    :ivar usual: the same for all that are not in ``shapes``.
    :ivar depth: how deeply nested the current snapshot is.
    :ivar followed: another nested snapshot follows the current one.
    :ivar serializer: the Java-serialized serializer that precedes the current config snapshot.
    :ivar ends: gives the positions where the outermost snapshot may end, in order.
    :ivar unknown: the unknown class that ended the reading; its payload is at ``unknown_at``.
    """

    __slots__ = ("depth", "ends", "followed", "serializer", "shapes", "unknown", "unknown_at", "usual")

    def __init__(
        self,
        data: bytes | bytearray | memoryview,
        pos: int = 0,
        end: int | None = None,
        base: int = 0,
        shapes: Mapping[int, str] | None = None,
        depth: int = 0,
    ) -> None:
        super().__init__(data, pos, end, base)
        self.shapes = {} if shapes is None else shapes
        self.usual = ""
        self.depth = depth
        self.followed = False
        self.serializer = memoryview(b"")
        self.ends: Callable[[], Sequence[int]] = tuple
        self.unknown: str | None = None
        self.unknown_at = -1


def read_snapshot(reader: Reader) -> SerializerSnapshot:
    """A versioned snapshot: ``utf`` class name, ``i32`` version, payload. So are all nested ones written."""
    return _bounded(reader, _versioned)


def read_snapshot_proxy(reader: Reader) -> SerializerSnapshot:
    """A snapshot in its proxy, as state headers hold it: ``i32`` proxy version (2; 1 up to Flink 1.6), then that."""
    return _bounded(reader, _proxied)


def read_unversioned_snapshot(reader: Reader, version_of: Callable[[str], int]) -> SerializerSnapshot:
    """A snapshot without its version: ``utf`` class name, payload; no class of Flink writes one so, but flink-scala-api did.

    :param version_of: the version that the class had when it was written.
    """

    def read(reader: SnapshotReader) -> SerializerSnapshot:
        name = _class_name(reader)
        return _payload(reader, name, version_of(name))

    return _bounded(reader, read)


def _bounded(reader: Reader, read: Callable[[SnapshotReader], SerializerSnapshot]) -> SerializerSnapshot:
    if not isinstance(reader, SnapshotReader):
        own = SnapshotReader(reader.data, reader.pos, reader.end, reader.base)
        snapshot = _bounded(own, read)
        reader.pos = own.pos
        return snapshot
    if reader.depth >= MAX_DEPTH:
        raise FormatError(f"serializer snapshots are nested more than {MAX_DEPTH} deep", offset=reader.offset)
    reader.depth += 1
    try:
        return read(reader)
    except RecursionError:
        # A Java object stream inside has a limit of its own; the stack is shared with the caller.
        raise FormatError("serializer snapshots are nested too deeply", offset=reader.offset) from None
    finally:
        reader.depth -= 1


def _class_name(reader: Reader) -> str:
    start = reader.offset
    name = reader.utf("the class name of a serializer snapshot")
    if not is_class_name(name):
        raise FormatError(f"{name[:80]!r} is not the class name of a serializer snapshot", offset=start)
    return name


_JAVA_CLASS = re.compile(r"[\w$/-]+(\.[\w$/-]+)*")


def is_class_name(name: str) -> bool:
    """Whether this can be a Java class name, inner classes with ``$``."""
    return _JAVA_CLASS.fullmatch(name) is not None


def _versioned(reader: SnapshotReader) -> SerializerSnapshot:
    name = _class_name(reader)
    version = reader.i32("a snapshot version")
    if version == CONFIG_SNAPSHOT_ADAPTER:
        reader.serializer = java_serialized_serializer(reader)
        return _payload(reader, name, reader.i32("a config snapshot version"), old=True)
    return _payload(reader, name, version)


def _proxied(reader: SnapshotReader) -> SerializerSnapshot:
    start = reader.offset
    version = reader.i32("the version of a snapshot proxy")
    if version == 2:
        return _versioned(reader)
    if version == 1:
        name = _class_name(reader)
        return _payload(reader, name, reader.i32("a config snapshot version"), old=True)
    raise FormatError(f"unknown version {version} of a snapshot proxy", expected="2 or 1", offset=start)


def _payload(reader: SnapshotReader, name: str, version: int, old: bool = False) -> SerializerSnapshot:
    known = find_serializer(name)
    if known is not None:
        return (known.payload or simple)(reader, name, version)
    if old and name in CONFIG_SNAPSHOTS:
        return CONFIG_SNAPSHOTS[name](reader, name, version)
    shape = reader.shapes.get(reader.pos, reader.usual)
    if shape in SHAPES:
        return _guessed(reader, name, version, shape)
    if shape.startswith(SKIPPED):
        ends, number = _ends(reader), int(shape.removeprefix(SKIPPED))
        if number < len(ends):
            reader.pos = ends[number]
            return SerializerSnapshot(name, version, details={"unknown": SKIPPED})
    reader.unknown, reader.unknown_at = name, reader.pos
    raise UndecodableError(
        f"the serializer snapshot class {name} is not known, and its end cannot be found",
        advice="describe the class in a plug-in (page Serializers of the documentation)",
        offset=reader.offset,
    )


CONFIG_SNAPSHOTS: dict[str, PayloadReader] = {}
"""Payloads of the classes of Flink up to 1.7 (``TypeSerializerConfigSnapshot``), filled by ``legacy.py``."""


def _guessed(reader: SnapshotReader, name: str, version: int, shape: str) -> SerializerSnapshot:
    details: dict[str, Any] = {"unknown": shape}
    if shape == "nothing":
        return SerializerSnapshot(name, version, details=details)
    if shape == "text":
        details["text"] = reader.utf("the text of an unknown snapshot")
        return SerializerSnapshot(name, version, details=details)
    outer = None
    if shape == "composite":
        _magic(reader, COMPOSITE_MAGIC, "a composite snapshot")
        outer = reader.i32("the outer version of a composite snapshot")
    # They are in the same outermost snapshot, not in one after it.
    within = min((end for end in reader.ends() if end > reader.pos), default=reader.end)
    found = bytes(reader.data[reader.pos : within]).find(DELEGATE_HEAD)
    if found < 0:
        raise FormatError(f"the unknown snapshot {name} has no nested snapshots", offset=reader.offset)
    reader.bytes(found)
    return SerializerSnapshot(name, version, outer, details, nested_snapshots(reader))


_LENGTH_AND_LETTER = re.compile(rb"(?=[\x00\x01][\x00-\xff][A-Za-z_$])")


def _ends(reader: SnapshotReader) -> Sequence[int]:
    """Where the snapshot at the cursor may end: where the next nested one begins, or else where the outermost ends.

    Nested snapshots are the last part of a composite one, so the last of them ends where the outermost does.
    """
    ends = reader.ends()
    if not reader.followed or not ends:
        return ends
    found = []
    for match in _LENGTH_AND_LETTER.finditer(bytes(reader.data[reader.pos : ends[0]])):
        start = reader.pos + match.start()
        peek = Reader(reader.data, start, ends[0])
        try:
            name, version = peek.utf(), peek.i32()
        except StateExtractError:
            continue
        likely = is_class_name(name) and ("." in name or "$" in name)
        if likely and (0 < version < 256 or version == CONFIG_SNAPSHOT_ADAPTER):
            found.append((find_serializer(name) is None, start))
    # Classes that the registry has come first: other names may be part of what is skipped.
    return [start for _, start in sorted(found)]


def _magic(reader: Reader, magic: int, what: str) -> None:
    start = reader.offset
    found = reader.i32(f"the magic number of {what}")
    if found != magic:
        raise FormatError(f"{what} begins with {found:#x}", expected=f"{magic:#x}", offset=start)


def check_version(version: int, accepted: tuple[int, ...], name: str, reader: Reader) -> None:
    """Refuse a snapshot version that is not one of these."""
    if version not in accepted:
        raise UnsupportedVersionError(
            f"version {version} of the serializer snapshot {name} is not known",
            expected=" or ".join(map(str, accepted)),
            offset=reader.offset,
        )


# ---- payloads, to be named in ``register(..., payload=...)``


def simple(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``SimpleTypeSerializerSnapshot``: nothing (version 3), or the serializer's class name (version 2)."""
    check_version(version, (3, 2), name, reader)
    if version == 2:
        reader.utf("a serializer's class name")
    return SerializerSnapshot(name, version)


def generic(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """``GenericTypeSerializerSnapshot``: the class of the values, in ``details["class"]``."""
    check_version(version, (2, 1), name, reader)
    return SerializerSnapshot(name, version, details={"class": reader.utf("the class of the values")})


OuterReader = Callable[[Reader, int], dict[str, Any]]


def no_outer(reader: Reader, outer_version: int) -> dict[str, Any]:
    """The outer payload of a composite snapshot that has none."""
    return {}


def outer_class(reader: Reader, outer_version: int) -> dict[str, Any]:
    """An outer payload of one class name, in ``details["class"]``."""
    return {"class": reader.utf("a class name")}


def outer_flag(detail: str, java_name: str, what: str, newest: int) -> OuterReader:
    """An outer payload of a boolean that only the newest version writes. It was true in the version before, false in others."""

    def read(reader: Reader, outer_version: int) -> dict[str, Any]:
        if not 1 <= outer_version <= newest:
            raise UnsupportedVersionError(
                f"outer version {outer_version} of {what} is not known", expected=f"1 to {newest}", offset=reader.offset
            )
        return {detail: reader.bool(java_name) if outer_version == newest else outer_version == newest - 1}

    return read


@dataclass(frozen=True)
class composite:
    """``CompositeTypeSerializerSnapshot``: magic, outer version, outer payload, nested snapshots.

    :param count: how many snapshots must be nested; ``None``: any number.
    :param outer: reads the outer payload: ``outer(reader, outer_version)`` gives the details.
    """

    count: int | None
    outer: OuterReader = no_outer

    def __call__(self, reader: Reader, name: str, version: int) -> SerializerSnapshot:
        check_version(version, (3, 2, 1), name, reader)
        outer_version = version  # versions 1 and 2 (Flink 1.7) have no magic, and no version of their own
        if version == 3:
            _magic(reader, COMPOSITE_MAGIC, f"the composite snapshot {name}")
            outer_version = reader.i32("the outer version of a composite snapshot")
        details = self.outer(reader, outer_version)
        start = reader.offset
        nested = nested_snapshots(reader)
        if self.count is not None and len(nested) != self.count:
            raise FormatError(
                f"the snapshot {name} holds {len(nested)} nested snapshots", expected=str(self.count), offset=start
            )
        return SerializerSnapshot(name, version, outer_version, details, nested)


def nested_snapshots(reader: Reader) -> tuple[SerializerSnapshot, ...]:
    """``NestedSerializersSnapshotDelegate``: magic, version 1, count, versioned snapshots."""
    _magic(reader, DELEGATE_MAGIC, "a list of nested snapshots")
    start = reader.offset
    version = reader.i32("the version of a list of nested snapshots")
    if version != 1:
        raise FormatError(f"unknown version {version} of a list of nested snapshots", expected="1", offset=start)
    count = reader.count("nested snapshots", least=6)
    if not isinstance(reader, SnapshotReader):
        return tuple(read_snapshot(reader) for _ in range(count))
    followed, nested = reader.followed, []
    for left in range(count - 1, -1, -1):
        reader.followed = followed or left > 0
        nested.append(read_snapshot(reader))
    reader.followed = followed
    return tuple(nested)


def delegate(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """A payload that is nested snapshots and nothing else (``EitherSerializerSnapshot`` of old)."""
    return SerializerSnapshot(name, version, nested=nested_snapshots(reader))


@dataclass(frozen=True)
class MapEntryFrames:
    """An entry of a ``LinkedOptionalMap``: its name, and the frames of key and value, ``None`` where absent."""

    name: str
    key: Reader | None
    value: Reader | None


def linked_optional_map(reader: Reader, what: str) -> tuple[MapEntryFrames, ...]:
    """``LinkedOptionalMapSerializer``: named entries in order, keys and values optional and each in a frame."""
    start = reader.offset
    header = reader.i64(f"the header of {what}")
    if header != LINKED_OPTIONAL_MAP:
        raise FormatError(f"{what} begins with {header:#x}", expected=f"{LINKED_OPTIONAL_MAP:#x}", offset=start)
    return tuple(
        MapEntryFrames(reader.utf(f"a name in {what}"), _frame(reader, what), _frame(reader, what))
        for _ in range(reader.count(f"entries of {what}", least=4))
    )


def _frame(reader: Reader, what: str) -> Reader | None:
    if not reader.bool(f"a presence flag in {what}"):
        return None
    start = reader.pos + 4
    reader.bytes(reader.i32(f"the length of a frame in {what}"), what)
    depth = reader.depth if isinstance(reader, SnapshotReader) else 0
    frame = SnapshotReader(reader.data, start, reader.pos, reader.base, depth=depth)
    frame.usual, frame.ends = f"{SKIPPED} 0", lambda: (frame.end,)
    return frame


def framed_snapshot(frame: Reader | None, name: str) -> SerializerSnapshot:
    """The snapshot in a frame of a ``LinkedOptionalMap``; an unknown one where it is absent or cannot be read whole.

    :param name: what to call the snapshot if not even its class can be read.
    """
    if frame is None:
        return SerializerSnapshot(name, 0, details={"unknown": "absent"})
    class_name, version = name, 0
    peek = Reader(frame.data, frame.pos, frame.end, frame.base)
    try:
        class_name, version = _class_name(peek), peek.i32()
        snapshot = read_snapshot(frame)
        if frame.remaining:
            raise FormatError(f"{frame.remaining} bytes are left after a snapshot", offset=frame.offset)
    except StateExtractError as error:
        return SerializerSnapshot(class_name, version, details={"unknown": "framed", "why": error.message})
    return snapshot


def java_serialized_serializer(reader: Reader) -> memoryview:
    """``TypeSerializerSerializationProxy``: the bytes of a Java-serialized serializer, which has its length in front."""
    start = reader.offset
    version = reader.i32("the version of a serializer proxy")
    if version != 1:
        raise FormatError(f"unknown version {version} of a serializer proxy", expected="1", offset=start)
    return reader.bytes(reader.i32("the length of a Java-serialized serializer"), "a Java-serialized serializer")


def flink_string(reader: Reader) -> str | None:
    """``StringValue.readString``: a varint of the UTF-16 units + 1 (0 is null), then one varint per unit."""
    start = reader.offset
    length = _varint(reader)
    if length == 0:
        return None
    if length - 1 > reader.remaining:
        raise FormatError(f"a string of {length - 1} characters cannot follow", offset=start)
    units = b"".join((_varint(reader) & 0xFFFF).to_bytes(2, "little") for _ in range(length - 1))
    return units.decode("utf-16-le", "surrogatepass")


def _varint(reader: Reader) -> int:
    value = shift = 0
    while True:
        byte = reader.u8("a variable-length number")
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
        if shift > 28:
            raise FormatError("a variable-length number has more than five bytes", offset=reader.offset)
