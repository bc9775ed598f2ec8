"""State handles of a ``_metadata`` file: four families over one space of type bytes.

Reads: one handle, its type byte included, from a cursor that stays in the caller's hands. Stops: after the handle's
last byte. Counts are checked against the bytes that are left before anything is made of them, and handles that hold
handles do so to a fixed depth. Each family is one dict from code to function at its end.

Source of the format: ``MetadataV2V3SerializerBase`` (streams, keyed, operator), ``ChannelStateHandleSerializerV1``
and ``V2``. May import: cursor, model, errors. Must never know what is in the files.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from stateextract.errors import FormatError
from stateextract.files.reader import Reader
from stateextract.metadata.model import (
    ChangelogBytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    ChannelPart,
    ChannelStateHandle,
    EmptySegmentHandle,
    FileHandle,
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    NestedKeyGroupsHandle,
    OperatorStateHandle,
    OperatorStatePartition,
    RelativeHandle,
    SegmentHandle,
    StreamHandle,
)

_DEPTH = 8
"""Real handles nest three deep: changelog, key groups, file."""

_SCOPES = {0: "EXCLUSIVE", 1: "SHARED"}
_MODES = {0: "SPLIT_DISTRIBUTE", 1: "UNION", 2: "BROADCAST"}


# -- what handles are made of


def _deeper(reader: Reader, depth: int) -> int:
    if depth >= _DEPTH:
        raise FormatError(f"state handles nested deeper than {_DEPTH}", offset=reader.offset)
    return depth + 1


def _size(reader: Reader, what: str) -> int:
    start = reader.offset
    size = reader.i64(what)
    if size < 0:
        raise FormatError(f"negative {what} {size}", offset=start)
    return size


def _offsets(reader: Reader, what: str) -> tuple[int, ...]:
    n = reader.count(what, 8)
    return struct.unpack(f">{n}q", reader.bytes(8 * n, what))


def _key_group_range(reader: Reader) -> tuple[int, int]:
    return reader.i32("first key group"), reader.i32("number of key groups")


def _key_group_offsets(reader: Reader) -> tuple[int, tuple[int, ...]]:
    return reader.i32("first key group"), _offsets(reader, "key group offsets")


# -- streams


def read_stream_handle(reader: Reader, depth: int = 0) -> StreamHandle | None:
    """``deserializeStreamStateHandle``; None for code 0."""
    start = reader.offset
    code = reader.u8("the type of a stream handle")
    if code == 0:
        return None
    read = _STREAMS.get(code)
    if read is None:
        raise FormatError(f"unknown stream handle type {code}", expected=_codes(_STREAMS), offset=start)
    return read(reader, _deeper(reader, depth))


def _stream(reader: Reader, depth: int) -> StreamHandle:
    start = reader.offset
    handle = read_stream_handle(reader, depth)
    if handle is None:
        raise FormatError("a state handle without bytes", expected=_codes(_STREAMS), offset=start)
    return handle


def _inline(reader: Reader, depth: int) -> StreamHandle:
    name = reader.utf("the name of an inline handle")
    return InlineHandle(name, bytes(reader.bytes(reader.i32("the length of inline state"), "inline state")))


def _file(reader: Reader, depth: int) -> StreamHandle:
    return FileHandle(_size(reader, "file size"), reader.utf("a file's path"))


def _relative(reader: Reader, depth: int) -> StreamHandle:
    return RelativeHandle(reader.utf("a file's relative path"), _size(reader, "file size"))


def _nested_key_groups(reader: Reader, depth: int) -> StreamHandle:
    first, offsets = _key_group_offsets(reader)
    return NestedKeyGroupsHandle(first, offsets, _stream(reader, depth))


def _segment(reader: Reader, depth: int) -> StreamHandle:
    start, size = _size(reader, "segment start"), _size(reader, "segment size")
    position = reader.offset
    scope = _SCOPES.get(reader.i32("a segment's scope"))
    if scope is None:
        raise FormatError("unknown scope of a file segment", expected="0 or 1", offset=position)
    return SegmentHandle(start, size, scope, reader.utf("a segment's path"), reader.utf("a segment's id"))


def _empty_segment(reader: Reader, depth: int) -> StreamHandle:
    return EmptySegmentHandle()


_STREAMS: dict[int, Callable[[Reader, int], StreamHandle]] = {
    1: _inline,
    2: _file,
    3: _nested_key_groups,
    6: _relative,
    15: _segment,
    16: _empty_segment,
}


# -- keyed state


def read_keyed_handle(reader: Reader, depth: int = 0) -> KeyedStateHandle | None:
    """``deserializeKeyedStateHandle``; None for code 0."""
    start = reader.offset
    code = reader.u8("the type of a keyed state handle")
    if code == 0:
        return None
    read = _KEYED.get(code)
    if read is None:
        raise FormatError(f"unknown keyed state handle type {code}", expected=_codes(_KEYED), offset=start)
    return read(reader, code, _deeper(reader, depth))


def _key_groups(reader: Reader, code: int, depth: int) -> KeyedStateHandle:
    first, offsets = _key_group_offsets(reader)
    stream = _stream(reader, depth)
    return KeyGroupsHandle(code, first, offsets, stream, reader.utf("a state handle id") if code == 12 else "")


def _incremental(reader: Reader, code: int, depth: int) -> KeyedStateHandle:
    checkpoint, backend = reader.i64("a checkpoint id"), reader.utf("a backend id")
    first, count = _key_group_range(reader)
    checkpointed = reader.i64("a checkpointed size") if code == 11 else -1
    meta = _stream(reader, depth)
    shared, private = _named_files(reader, depth), _named_files(reader, depth)
    handle_id = reader.utf("a state handle id") if code == 11 else ""
    return IncrementalHandle(code, checkpoint, backend, first, count, meta, shared, private, checkpointed, handle_id)


def _named_files(reader: Reader, depth: int) -> tuple[tuple[str, StreamHandle], ...]:
    n = reader.count("files", 3)
    return tuple((reader.utf("a file's local name"), _stream(reader, depth)) for _ in range(n))


def _changelog(reader: Reader, code: int, depth: int) -> KeyedStateHandle:
    first, count = _key_group_range(reader)
    checkpointed = reader.i64("a checkpointed size")
    materialized = _keyed_list(reader, depth)
    start = reader.offset
    increments = _keyed_list(reader, depth)
    if not all(isinstance(part, ChangelogBytesHandle | ChangelogFilesHandle) for part in increments):
        raise FormatError("the changelog has handles of another kind", expected="types 9, 10, 13", offset=start)
    materialization = reader.i64("a materialization id")
    checkpoint = reader.i64("a checkpoint id") if code == 14 else None
    handle_id = reader.utf("a state handle id")
    return ChangelogHandle(
        code, first, count, checkpointed, materialized, increments, materialization, checkpoint, handle_id
    )


def _keyed_list(reader: Reader, depth: int) -> tuple[KeyedStateHandle, ...]:
    # Flink skips a null in here, and so does this.
    found = [read_keyed_handle(reader, depth) for _ in range(reader.count("keyed state handles"))]
    return tuple(handle for handle in found if handle is not None)


def _changelog_bytes(reader: Reader, code: int, depth: int) -> KeyedStateHandle:
    first, count = _key_group_range(reader)
    start, stop = reader.i64("a sequence number"), reader.i64("a sequence number")
    changes = []
    for _ in range(reader.count("changes", 8)):
        key_group = reader.i32("a change's key group")
        changes.append((key_group, bytes(reader.bytes(reader.i32("a change's length"), "a change"))))
    return ChangelogBytesHandle(first, count, start, stop, tuple(changes), reader.utf("a state handle id"))


def _changelog_files(reader: Reader, code: int, depth: int) -> KeyedStateHandle:
    first, count = _key_group_range(reader)
    n = reader.count("changelog files", 9)
    files = tuple((_size(reader, "changelog offset"), _stream(reader, depth)) for _ in range(n))
    size, checkpointed = _size(reader, "changelog size"), reader.i64("a checkpointed size")
    handle_id = reader.utf("a state handle id")
    storage = reader.utf("a storage identifier") if code == 13 else "filesystem"
    return ChangelogFilesHandle(code, first, count, files, size, checkpointed, handle_id, storage)


_KEYED: dict[int, Callable[[Reader, int, int], KeyedStateHandle]] = {
    3: _key_groups,
    5: _incremental,
    7: _key_groups,
    8: _changelog,
    9: _changelog_bytes,
    10: _changelog_files,
    11: _incremental,
    12: _key_groups,
    13: _changelog_files,
    14: _changelog,
}


# -- operator state


def read_operator_handle(reader: Reader) -> OperatorStateHandle | None:
    """``deserializeOperatorStateHandle``; None for code 0."""
    start = reader.offset
    code = reader.u8("the type of an operator state handle")
    if code == 0:
        return None
    if code not in (4, 17):
        raise FormatError(f"unknown operator state handle type {code}", expected="0, 4, 17", offset=start)
    states = tuple(_operator_state(reader) for _ in range(reader.count("operator states", 7)))
    if code == 4:
        return OperatorStateHandle(code, states, _stream(reader, 1))
    taskowned, shared = reader.utf("a directory"), reader.utf("a directory")
    empty = reader.bool("whether the handle is empty")
    start = reader.offset
    stream = _stream(reader, 1)
    if not isinstance(stream, SegmentHandle | EmptySegmentHandle):
        raise FormatError("merged operator state that is not a file segment", expected="types 15, 16", offset=start)
    return OperatorStateHandle(code, states, stream, taskowned, shared, empty)


def _operator_state(reader: Reader) -> OperatorStatePartition:
    name = reader.utf("the name of an operator state")
    start = reader.offset
    mode = _MODES.get(reader.i8("a distribution mode"))
    if mode is None:
        raise FormatError("unknown distribution mode of an operator state", expected="0, 1 or 2", offset=start)
    return OperatorStatePartition(name, mode, _offsets(reader, "operator state offsets"))


# -- channel state


def read_channel_handles(reader: Reader, merged: bool, output: bool) -> tuple[ChannelStateHandle, ...]:
    """A counted list of input or output channel states.

    :param merged: the form of version 6 on, where a type byte leads each entry and a subtask's channels may share one.
    """
    handles = []
    for _ in range(reader.count("channel states", 22)):
        start = reader.offset
        plain = 2 if output else 1
        code = reader.u8("the type of a channel state") if merged else plain
        if code not in (plain, plain + 2):
            raise FormatError(f"channel state type {code}", expected=f"{plain} or {plain + 2}", offset=start)
        handles.append(_channel(reader, code) if code == plain else _merged_channels(reader, code))
    return tuple(handles)


def _channel(reader: Reader, code: int) -> ChannelStateHandle:
    subtask, group, channel = (reader.i32(what) for what in ("a subtask", "a gate or partition", "a channel"))
    offsets, size = _offsets(reader, "channel state offsets"), _size(reader, "channel state size")
    part = ChannelPart(group, channel, size, offsets)
    return ChannelStateHandle(code, subtask, (part,), size, _stream(reader, 1))


def _merged_channels(reader: Reader, code: int) -> ChannelStateHandle:
    subtask, size = reader.i32("a subtask"), _size(reader, "channel state size")
    stream = _stream(reader, 1)
    n = reader.count("bytes of merged channel state")
    inner = Reader(reader.data, reader.pos, reader.pos + n, reader.base)
    parts = []
    for _ in range(inner.count("merged channels", 20)):
        group, channel = inner.i32("a gate or partition"), inner.i32("a channel")
        # Size and offsets in the other order than in a plain entry.
        part_size, offsets = _size(inner, "channel state size"), _offsets(inner, "channel state offsets")
        parts.append(ChannelPart(group, channel, part_size, offsets))
    if inner.remaining:
        raise FormatError(f"{inner.remaining} bytes after merged channel state", offset=inner.offset)
    reader.bytes(n)
    return ChannelStateHandle(code, subtask, tuple(parts), size, stream)


def _codes(table: Iterable[int]) -> str:
    return "one of " + ", ".join(map(str, sorted(table)))
