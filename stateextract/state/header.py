"""The head of a state file: which states the file holds, and with which serializers they were written.

Reads ``i32`` version … the last state's meta, and stops there: at the first key group (keyed files) or the first
element (operator files). What is after it belongs to ``heap.py`` and its neighbours.

Serializer snapshots have no length, so nothing after an unknown snapshot class could be read. Where the caller knows
the head's end (the smallest offset of its data), unknown classes are taken for each of the usual shapes in turn, or
skipped up to the next recognisable structure, until the rest of the head ends exactly there. A list or map of them stays
one.

Flink's classes: ``KeyedBackendSerializationProxy``, ``OperatorBackendSerializationProxy``, ``StateMetaInfoSnapshot``,
``StateMetaInfoSnapshotReadersWriters``. May import ``serializers`` and the byte cursor; knows no bodies, does no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from serializers import SerializerSnapshot, read_snapshot_proxy
from serializers.containers import LIST_SNAPSHOT, MAP_SNAPSHOT
from serializers.registry import BEAM
from serializers.snapshots import SHAPES, SKIPPED, SnapshotReader
from serializers.windows import TIMER_SNAPSHOT
from stateextract.errors import FormatError, StateExtractError, UndecodableError, UnsupportedVersionError
from stateextract.files.reader import Reader, decode_modified_utf8
from stateextract.printable import named

BACKEND_TYPES = ("KEY_VALUE", "OPERATOR", "BROADCAST", "PRIORITY_QUEUE", "KEY_VALUE_V2")

KEY, NAMESPACE, VALUE, USER_KEY = "KEY_SERIALIZER", "NAMESPACE_SERIALIZER", "VALUE_SERIALIZER", "USER_KEY_SERIALIZER"
KEYED_STATE_TYPE, DISTRIBUTION_MODE = "KEYED_STATE_TYPE", "OPERATOR_STATE_DISTRIBUTION_MODE"

# Each attempt costs one pass over the head at most; a handful of unknown classes needs some dozens.
MAX_ATTEMPTS = 400
MAX_BYTES = 1 << 26
MAX_ENDS = 6

_COUNT = 2  # bytes of a number of states

T = TypeVar("T")


@dataclass(frozen=True)
class StateMeta:
    """What the head says of one state.

    :param name: its name.
    :param backend_type: Flink's ``BackendStateType``.
    :param kind: ``VALUE``, ``LIST``, ``MAP``, ``REDUCING``, ``AGGREGATING``; ``TIMER`` for a queue of timers, and
        ``PRIORITY_QUEUE`` for another; ``SPLIT_DISTRIBUTE``, ``UNION``, ``BROADCAST`` for operator state.
    :param options: the options as they are now.
    :param serializers: by Flink's key. The value serializer of ``LIST`` and ``MAP`` is that of the whole list or map,
        also for ``KEY_VALUE_V2``, where the file has those of the element, or of user key and user value.
    """

    name: str
    backend_type: str
    kind: str
    options: Mapping[str, str] = field(hash=False)
    serializers: Mapping[str, SerializerSnapshot] = field(hash=False)


@dataclass(frozen=True)
class KeyedHeader:
    """Head of a keyed state file; ``states`` are in the order of their ids. ``key_end``: where the key's snapshot ends."""

    version: int
    compressed: bool
    key_serializer: SerializerSnapshot
    states: tuple[StateMeta, ...]
    end: int
    key_end: int = 0


@dataclass(frozen=True)
class OperatorHeader:
    """Head of an operator state file: list and union states first, then broadcast states."""

    version: int
    compressed: bool
    states: tuple[StateMeta, ...]
    end: int


def parse_header(data: bytes | bytearray | memoryview, pos: int = 0, end: int | None = None) -> KeyedHeader:
    """The head of a keyed state file.

    :param data: the file, or at least its head.
    :param pos: where the head begins.
    :param end: where it must end: the smallest key-group offset that is not 0, or the end of a file that is only a
        head. Without it, an unknown snapshot class is an error.
    :raises UnsupportedVersionError: for heads written before Flink 1.7.
    :raises UndecodableError: where an unknown snapshot class cannot be skipped.
    """
    header = parse_to_end(read_keyed_header, data, pos, end)
    names = [state.name for state in header.states]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FormatError(f"two states are called {named(twice)!r}", offset=header.key_end)
    return header


def parse_operator_header(data: bytes | bytearray | memoryview, pos: int = 0, end: int | None = None) -> OperatorHeader:
    """The head of an operator state file; ``end`` is the smallest offset, or 10 bytes before it if compressed."""
    return parse_to_end(_operator_header, data, pos, end)


def read_keyed_header(reader: SnapshotReader) -> KeyedHeader:
    """The head at the reader's position; in that of a changelog's changes, states may have equal names."""
    version = _version(reader, (6,), "keyed")
    compressed = reader.bool("the compression flag")
    key = _snapshot(reader, _COUNT)
    key_end, start = reader.pos, reader.offset
    count = reader.i16("the number of states")
    if count < 0:
        raise FormatError(f"invalid number of states {count}", offset=start)
    states = tuple(read_state_meta(reader) for _ in range(count))
    if any(str(name).startswith(BEAM) for name in (key.class_name, key.details.get("class"))):
        key, states = _with_key_coder(key, states)
    return KeyedHeader(version, compressed, key, states, reader.pos, key_end)


def _with_key_coder(
    key: SerializerSnapshot, states: tuple[StateMeta, ...]
) -> tuple[SerializerSnapshot, tuple[StateMeta, ...]]:
    """Keys and timers of Beam, with the coder of the keys."""
    from serializers.beam import key_coder, with_key_coder  # most snapshots are not of Beam

    coder = key_coder(key, ((state.name, state.serializers[VALUE]) for state in states))
    if coder is None:
        return key, states

    def of_timers(state: StateMeta) -> StateMeta:
        typed = {**state.serializers, VALUE: with_key_coder(state.serializers[VALUE], coder)}
        return replace(state, serializers=typed)

    return with_key_coder(key, coder), tuple(of_timers(s) if s.kind == "TIMER" else s for s in states)


def _operator_header(reader: SnapshotReader) -> OperatorHeader:
    version = _version(reader, (5, 6), "operator")
    compressed = version >= 6 and reader.bool("the compression flag")
    states: list[StateMeta] = []
    for what in ("list states", "broadcast states"):
        start = reader.offset
        count = reader.i16(f"the number of {what}")
        if count < 0:
            raise FormatError(f"invalid number of {what} {count}", offset=start)
        # The number of broadcast states follows the last list state.
        tails = [0] * (count - 1) + [_COUNT if what == "list states" else 0]
        states.extend(read_state_meta(reader, tail) for tail in tails[:count])
    return OperatorHeader(version, compressed, tuple(states), reader.pos)


def _version(reader: SnapshotReader, accepted: tuple[int, ...], what: str) -> int:
    start = reader.offset
    version = reader.i32(f"the version of the {what} state's head")
    if version in accepted:
        return version
    if 0 < version < accepted[0]:
        raise UnsupportedVersionError(
            f"the {what} state was written by a Flink release before 1.7 (header version {version})",
            expected=" or ".join(f"version {v}" for v in accepted),
            advice="restore the savepoint with Flink 1.16, take a new one there and read that",
            offset=start,
        )
    raise FormatError(
        f"{version} is not the version of the header of {what} state",
        expected=" or ".join(map(str, accepted)),
        offset=start,
    )


def read_state_meta(reader: SnapshotReader, tail: int = 0) -> StateMeta:
    """``StateMetaInfoSnapshot``: what a head, or a changelog, says of one state.

    :param tail: bytes between this and the next state's, or the end.
    """
    name = reader.utf("a state's name")
    start = reader.offset
    ordinal = reader.i32("a state's backend type")
    if not 0 <= ordinal < len(BACKEND_TYPES):
        raise FormatError(f"unknown backend type {ordinal} of the state {name!r}", expected="0 to 4", offset=start)
    options = {
        reader.utf("an option's name"): reader.utf("an option's value")
        for _ in range(reader.count("options of a state", least=4))
    }
    serializers = {}
    for left in reversed(range(reader.count("serializers of a state", least=2))):
        key = reader.utf("a serializer's key")
        serializers[key] = _snapshot(reader, 0 if left else tail)
    return _meta(name, BACKEND_TYPES[ordinal], options, serializers, start)


def _meta(
    name: str, backend_type: str, options: dict[str, str], serializers: dict[str, SerializerSnapshot], offset: int
) -> StateMeta:
    value = serializers.get(VALUE)
    if value is None:
        raise FormatError(f"the state {name!r} has no value serializer", expected=VALUE, offset=offset)
    if backend_type == "PRIORITY_QUEUE":
        kind = "TIMER" if value.class_name == TIMER_SNAPSHOT else "PRIORITY_QUEUE"
    elif backend_type in ("OPERATOR", "BROADCAST"):
        kind = options.get(DISTRIBUTION_MODE, backend_type)
    else:
        kind = options.get(KEYED_STATE_TYPE, "UNKNOWN")
        if NAMESPACE not in serializers:
            raise FormatError(f"the state {name!r} has no namespace serializer", expected=NAMESPACE, offset=offset)
    if backend_type == "KEY_VALUE_V2" and kind == "LIST":
        serializers[VALUE] = SerializerSnapshot(LIST_SNAPSHOT, 3, 1, nested=(value,))
    if backend_type == "KEY_VALUE_V2" and kind == "MAP":
        # Flink 2.0 did not write the user key's serializer.
        user_key = serializers.get(USER_KEY) or SerializerSnapshot(USER_KEY, 0, details={"unknown": "absent"})
        serializers[VALUE] = SerializerSnapshot(MAP_SNAPSHOT, 3, 1, nested=(user_key, value))
    return StateMeta(name, backend_type, kind, options, serializers)


# ---- unknown snapshot classes

_WHOLE = "whole"
"""``whole n``: not only an unknown class is skipped, but the outermost snapshot that it is in, up to its ``n``-th end."""


_OPTIONS = (*SHAPES, *(f"{SKIPPED} {n}" for n in range(MAX_ENDS)))
_LAST_OPTIONS = tuple(f"{_WHOLE} {n}" for n in range(MAX_ENDS))
"""Are tried when nothing else leads to the end of the head: more is lost with them."""


def parse_to_end(
    parse: Callable[[SnapshotReader], T], data: bytes | bytearray | memoryview, pos: int, end: int | None
) -> T:
    """Parse once; if a class is unknown and the end known, search for shapes of the unknown classes that end there."""
    pending: list[dict[int, str]] = [{}]
    failure: StateExtractError | None = None
    classes: dict[int, str] = {}
    for _ in range(max(min(MAX_ATTEMPTS, MAX_BYTES // max((end or pos) - pos, 1)), 1)):
        if not pending:
            break
        shapes = pending.pop()
        reader = SnapshotReader(data, pos, end, shapes=shapes)
        try:
            header = parse(reader)
            if end is not None and reader.pos != end:
                raise FormatError(
                    "the header of the state file does not end where its data begins",
                    expected=f"its end at {end}",
                    offset=reader.pos,
                )
            return header
        except StateExtractError as error:
            failure = failure or error
            unknown, offset = reader.unknown, reader.unknown_at
            if unknown is None or offset in shapes or end is None:
                continue
            classes[offset] = unknown
            # Most payloads of one class are alike.
            before = next((shape for at, shape in reversed(shapes.items()) if classes[at] == unknown), None)
            # A stack: the likeliest shape last.
            options = [*(option for option in reversed(_OPTIONS) if option != before), *([before] if before else [])]
            pending.extend({**shapes, offset: option} for option in options)
            pending[:0] = [{**shapes, offset: option} for option in reversed(_LAST_OPTIONS)]
    assert failure is not None
    raise failure


def _snapshot(reader: SnapshotReader, tail: int = 0) -> SerializerSnapshot:
    """A snapshot in its proxy; if one inside cannot be read and all of it is to be skipped, an unknown one in its place.

    :param tail: of the last one before another state, or the end: the bytes between.
    """
    start, depth = reader.pos, reader.depth
    reader.unknown = None
    reader.ends = lambda: _ends(reader, tail)
    try:
        return read_snapshot_proxy(reader)
    except UndecodableError:
        name = reader.unknown
        shape = reader.shapes.get(reader.unknown_at, "")
        if name is None or not shape.startswith(_WHOLE):
            raise
        ends, number = reader.ends(), int(shape.removeprefix(_WHOLE))
        if number >= len(ends):
            raise
        outermost = Reader(reader.data, start + 4, reader.end).utf()
        reader.depth, reader.followed, reader.unknown, reader.pos = depth, False, None, ends[number]
        # Named after the class that is in the way, since that is what a plug-in must bring.
        return SerializerSnapshot(name, 0, details={"unknown": _WHOLE, "inside": outermost})


_NEXT_SERIALIZER = re.compile(
    b"|".join(re.escape(len(key).to_bytes(2, "big") + key.encode()) for key in (KEY, NAMESPACE, VALUE, USER_KEY)).join(
        (b"(?:", b")\x00\x00\x00\x02")
    )
)
_NEXT_STATE = re.compile(
    rb"\x00\x00\x00[\x00-\x04]\x00\x00\x00\x01(?:\x00\x10KEYED_STATE_TYPE|\x00\x20OPERATOR_STATE_DISTRIBUTION_MODE)"
    rb"|\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x10VALUE_SERIALIZER"
)


def _ends(reader: SnapshotReader, tail: int) -> list[int]:
    """The positions after the cursor where the head can go on: a serializer's key, a state's meta, its end."""
    rest = bytes(reader.data[reader.pos : reader.end])
    found = {len(rest)}
    for match in _NEXT_STATE.finditer(rest):
        name = _name_before(rest, match.start())
        if name is not None:
            found.add(name)
    if tail:
        return sorted(reader.pos + offset - tail for offset in found if offset >= tail)
    found.update(match.start() for match in _NEXT_SERIALIZER.finditer(rest))
    return sorted(reader.pos + offset for offset in found)


def _name_before(rest: bytes, end: int) -> int | None:
    """Where a ``writeUTF`` string starts that ends at ``end``; the shortest that fits, of at least one character."""
    for length in range(1, min(end - 1, 4096)):
        start = end - length - 2
        if int.from_bytes(rest[start : start + 2], "big") == length:
            try:
                name = decode_modified_utf8(rest[start + 2 : end])
            except UnicodeDecodeError:
                continue
            if name.isprintable():
                return start
    return None
