"""Declarations: the metadata records of a changelog, each of which says what a state id means from there on.

::

    u8   8
    i32  version: 6 up to Flink 1.17, then 7; the bytes are the same
         the state's meta, as a head has it
         key-value state only:
           bool  time to live · if so a Java object (StateTtlConfig), without length
           bool  default value · if so the value, without length
    i16  state id
    u8   backend type: 0 key-value, 3 priority queue

A state with a time to live has no default value, so from the Java object on nothing needs to be understood: the record
ends with a zero, the id and the type. Of a default value only its length matters: it is not state.

The key's serializer is in no declaration but those of timers. :func:`header_of` makes the head of a state file out of
declarations and a key's snapshot, which is how everything else of this package gets to know them. Flink's classes:
``StateChangeLoggerImpl``, ``AbstractStateChangeLogger``, ``StateMetaInfoSnapshotReadersWriters``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from serializers.snapshots import SnapshotReader, read_snapshot
from serializers.windows import TIMER_SNAPSHOT
from stateextract.changelog.records import Operation
from stateextract.errors import FormatError, StateExtractError, UnsupportedVersionError
from stateextract.files import javastream
from stateextract.state.header import VALUE, KeyedHeader, StateMeta, parse_to_end, read_keyed_header, read_state_meta

_VERSIONS = (6, 7)
_HEAD_VERSION = 6
_TYPES = {0: "KEY_VALUE", 3: "PRIORITY_QUEUE"}
_PROXY = struct.pack(">i", 2)
_MAX_STATES = (1 << 15) - 1
_TAIL = struct.calcsize(">??hB")  # bytes after the meta, of a state without time to live and default value

UNKNOWN_KEY = "the-key-serializer-which-the-snapshot-does-not-hold"
"""Class name in the place of a key's snapshot that was not found."""


@dataclass(frozen=True)
class MetadataRecord:
    """What a metadata record says.

    :param state_id: the id that is bound to the state.
    :param meta: the state's meta; :param data: the same as bytes, as they are in the record.
    """

    state_id: int
    meta: StateMeta
    data: bytes


def parse_declaration(record: bytes) -> MetadataRecord:
    """Parse a metadata record.

    :raises StateExtractError: with the offset in the record.
    """
    return parse_to_end(_declaration, record, 0, len(record))


def _declaration(reader: SnapshotReader) -> MetadataRecord:
    operation = reader.u8("an operation")
    if operation != Operation.METADATA:
        raise FormatError(f"operation {operation} among metadata", expected=f"{int(Operation.METADATA)}", offset=0)
    at = reader.offset
    version = reader.i32("the version of a state's meta")
    if version not in _VERSIONS:
        raise UnsupportedVersionError(
            f"version {version} of a state's meta in a changelog", expected=" or ".join(map(str, _VERSIONS)), offset=at
        )
    start = reader.pos
    meta = read_state_meta(reader, _TAIL)
    data = bytes(reader.data[start : reader.pos])
    if meta.backend_type not in _TYPES.values():
        raise FormatError(f"{meta.backend_type} state in a changelog", expected="keyed state", offset=start)
    if meta.backend_type == "KEY_VALUE":
        _skip_extras(reader)
    state_id = reader.i16("a state id")
    at = reader.offset
    kind = reader.u8("a backend type")
    if _TYPES.get(kind) != meta.backend_type:
        raise FormatError(f"backend type {kind} of {meta.backend_type} state {meta.name!r}", offset=at)
    if reader.remaining:
        raise FormatError(f"{reader.remaining} bytes after the meta of state {meta.name!r}", offset=reader.offset)
    if state_id < 0:
        raise FormatError(f"a negative state id {state_id}", offset=at - 2)
    return MetadataRecord(state_id, meta, data)


def _skip_extras(reader: SnapshotReader) -> None:
    """Time to live and default value."""
    at = reader.offset
    if reader.bool("whether a state has a time to live"):
        if bytes(reader.bytes(4, "a time to live")) != javastream.MAGIC:
            raise FormatError("no Java object where the time to live is described", offset=at + 1)
        reader.bytes(reader.remaining - 4, "a time to live")
        at = reader.offset
        if reader.bool("whether a state has a default value"):
            raise FormatError("a state with a time to live and a default value", offset=at)
    elif reader.bool("whether a state has a default value"):
        reader.bytes(reader.remaining - 3, "a default value")


def timer_key(declaration: MetadataRecord) -> bytes | None:
    """The key's snapshot, as a head has it, out of a queue of timers; ``None`` of other states."""
    if declaration.meta.kind != "TIMER":
        return None
    reader = SnapshotReader(declaration.data)
    try:
        # name · i32 type · no options · i32 one serializer: its key · i32 proxy · its class: nested are key and namespace
        reader.utf()
        reader.bytes(12)
        if reader.utf() != VALUE or reader.i32() != 2 or reader.utf() != TIMER_SNAPSHOT:
            return None
        # i32 version · magic and outer version of a composite · magic and version of nested snapshots, their number
        reader.bytes(24)
        start = reader.pos
        read_snapshot(reader)
    except StateExtractError:
        return None
    return _PROXY + bytes(reader.data[start : reader.pos])


def key_of_header(header: KeyedHeader, data: bytes) -> bytes:
    """The key's snapshot as it is in a head of these bytes."""
    start = struct.calcsize(">i?")
    return data[start : header.key_end]


def unknown_key() -> bytes:
    """A snapshot that cannot be read, in the place of the key's."""
    name = UNKNOWN_KEY.encode()
    return _PROXY + struct.pack(">H", len(name)) + name + struct.pack(">i", 1)


def header_of(key: bytes, metas: Iterable[bytes]) -> bytes:
    """The head of a state file that has these states, as bytes.

    :param key: the key's snapshot in its proxy.
    :param metas: of the states, as they are in declarations; equal ones count once.
    """
    states = list(dict.fromkeys(metas))
    if len(states) > _MAX_STATES:
        raise FormatError(f"a changelog of {len(states)} states", expected=f"at most {_MAX_STATES}")
    return struct.pack(">i?", _HEAD_VERSION, False) + key + struct.pack(">h", len(states)) + b"".join(states)


def merged_header(base: KeyedHeader | None, changes: KeyedHeader) -> KeyedHeader:
    """All states of a materialized snapshot and of the changes since; a state whose serializers changed is there twice."""
    if base is None:
        return changes
    more = tuple(meta for meta in changes.states if meta not in base.states)
    return KeyedHeader(base.version, base.compressed, base.key_serializer, base.states + more, base.end, base.key_end)


def parse_changes_header(data: bytes) -> KeyedHeader:
    """The inverse of :func:`header_of`."""
    return parse_to_end(read_keyed_header, data, 0, len(data))
