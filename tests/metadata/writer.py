"""Writes ``_metadata`` files from the model, as the format's description says: the parser's counterpart."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from stateextract.metadata.model import (
    ChangelogBytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    ChannelStateHandle,
    EmptySegmentHandle,
    FileHandle,
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    MasterState,
    NestedKeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    RelativeHandle,
    SegmentHandle,
    SnapshotMetadata,
    StreamHandle,
    SubtaskState,
)

NULL_PROPERTIES = bytes.fromhex("aced000570")


def u8(value: int) -> bytes:
    return struct.pack(">B", value)


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def i64(*values: int) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


def utf(text: str) -> bytes:
    units = struct.iter_unpack(">H", text.encode("utf-16-be", "surrogatepass"))
    raw = b"".join(b"\xc0\x80" if not unit else chr(unit).encode("utf-8", "surrogatepass") for (unit,) in units)
    return struct.pack(">H", len(raw)) + raw


def counted(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return i32(len(parts)) + b"".join(parts)


def longs(values: tuple[int, ...]) -> bytes:
    return i32(len(values)) + i64(*values)


def stream(handle: StreamHandle | None) -> bytes:
    match handle:
        case None:
            return b"\x00"
        case InlineHandle(name, data):
            return b"\x01" + utf(name) + i32(len(data)) + data
        case FileHandle(size, path):
            return b"\x02" + i64(size) + utf(path)
        case NestedKeyGroupsHandle(first, offsets, inner):
            return b"\x03" + i32(first) + longs(offsets) + stream(inner)
        case RelativeHandle(path, size):
            return b"\x06" + utf(path) + i64(size)
        case SegmentHandle(start, size, scope, path, logical):
            return b"\x0f" + i64(start, size) + i32(["EXCLUSIVE", "SHARED"].index(scope)) + utf(path) + utf(logical)
        case EmptySegmentHandle():
            return b"\x10"
    raise AssertionError(handle)


def keyed(handle: KeyedStateHandle | None) -> bytes:
    if handle is None:
        return b"\x00"
    out = u8(handle.code)
    if isinstance(handle, KeyGroupsHandle):
        out += i32(handle.first) + longs(handle.offsets) + stream(handle.stream)
        return out + utf(handle.handle_id) if handle.code == 12 else out
    if isinstance(handle, IncrementalHandle):
        out += i64(handle.checkpoint_id) + utf(handle.backend_id) + i32(handle.first, handle.count)
        out += i64(handle.checkpointed_size) if handle.code == 11 else b""
        out += stream(handle.meta)
        out += counted(utf(name) + stream(inner) for name, inner in handle.shared)
        out += counted(utf(name) + stream(inner) for name, inner in handle.private)
        return out + utf(handle.handle_id) if handle.code == 11 else out
    out += i32(handle.first, handle.count)
    if isinstance(handle, ChangelogHandle):
        out += i64(handle.checkpointed_size)
        out += counted(map(keyed, handle.materialized)) + counted(map(keyed, handle.increments))
        out += i64(handle.materialization_id)
        out += b"" if handle.checkpoint_id is None else i64(handle.checkpoint_id)
        return out + utf(handle.handle_id)
    if isinstance(handle, ChangelogBytesHandle):
        out += i64(handle.from_sequence, handle.to_sequence)
        out += counted(i32(group, len(data)) + data for group, data in handle.changes)
        return out + utf(handle.handle_id)
    assert isinstance(handle, ChangelogFilesHandle)
    out += counted(i64(offset) + stream(inner) for offset, inner in handle.files)
    out += i64(handle.size, handle.checkpointed_size) + utf(handle.handle_id)
    return out + utf(handle.storage) if handle.code == 13 else out


def operator_handle(handle: OperatorStateHandle | None) -> bytes:
    """The flag in front included."""
    if handle is None:
        return i32(0)
    modes = ["SPLIT_DISTRIBUTE", "UNION", "BROADCAST"]
    states = counted(utf(s.name) + u8(modes.index(s.mode)) + longs(s.offsets) for s in handle.states)
    merged = b""
    if handle.code == 17:
        merged = utf(handle.taskowned_directory) + utf(handle.shared_directory) + u8(handle.empty)
    return i32(1) + u8(handle.code) + states + merged + stream(handle.stream)


def channel(handle: ChannelStateHandle, version: int) -> bytes:
    lead = u8(handle.code) if version >= 6 else b""
    if handle.code in (1, 2):
        (part,) = handle.parts
        numbers = i32(handle.subtask, part.group, part.channel) + longs(part.offsets) + i64(handle.size)
        return lead + numbers + stream(handle.stream)
    merged = counted(i32(p.group, p.channel) + i64(p.size) + longs(p.offsets) for p in handle.parts)
    return lead + i32(handle.subtask) + i64(handle.size) + stream(handle.stream) + i32(len(merged)) + merged


def subtask(state: SubtaskState, version: int) -> bytes:
    out = i64(-1) + i32(0) if version == 2 else b""
    out += operator_handle(state.managed_operator) + operator_handle(state.raw_operator)
    out += keyed(state.managed_keyed) + keyed(state.raw_keyed)
    if version >= 3:
        for channels in (state.input_channels, state.output_channels):
            out += counted(channel(handle, version) for handle in channels)
    if version >= 7:
        out += b"\x00" if state.reference_checkpoint is None else b"\x01" + i64(state.reference_checkpoint)
    return out


def operator(state: OperatorState, version: int) -> bytes:
    out = utf(state.name or "") + utf(state.uid or "") if version >= 5 else b""
    out += bytes.fromhex(state.id) + i32(state.parallelism, state.max_parallelism)
    out += i32(1) if version == 2 else stream(state.coordinator)
    if state.fully_finished:
        return out + i32(-1)
    parts = [i32(-(index + 1)) for index in state.finished_subtasks]
    parts += [i32(task.index) + subtask(task, version) for task in state.subtasks]
    return out + counted(parts)


def master(state: MasterState) -> bytes:
    body = i32(state.version) + utf(state.name) + i32(len(state.data)) + state.data
    return struct.pack(">I", 0xC96B1696) + i32(len(body)) + body


def metadata(snapshot: SnapshotMetadata, properties: bytes = NULL_PROPERTIES) -> bytes:
    out = i32(0x4960672D, snapshot.version) + i64(snapshot.checkpoint_id)
    out += counted(map(master, snapshot.master_states))
    out += counted(operator(state, snapshot.version) for state in snapshot.operators)
    return out + (properties if snapshot.version >= 4 else b"")


def savepoint_properties(form: str, name: str) -> bytes:
    """``CheckpointProperties`` of a savepoint as Java writes them."""
    package = "org.apache.flink.runtime.checkpoint."

    def text(value: str) -> bytes:
        return b"\x74" + utf(value)

    def described(name: str, uid: int, flags: int, fields: list[bytes], parent: bytes = b"\x70") -> bytes:
        return b"\x72" + utf(name) + struct.pack(">qBH", uid, flags, len(fields)) + b"".join(fields) + b"\x78" + parent

    def constant(name: str, value: str) -> bytes:
        parent = described("java.lang.Enum", 0, 0x12, [])
        return b"\x7e" + described(name, 0, 0x12, [], parent) + text(value)

    flags = ("discardCancelled", "discardFailed", "discardFinished", "discardSubsumed", "discardSuspended", "forced")
    fields = [b"Z" + utf(flag) for flag in (*flags, "unclaimed")]
    fields.append(b"L" + utf("checkpointType") + text("Lorg/apache/flink/runtime/checkpoint/SnapshotType;"))
    inner = [
        b"L" + utf("formatType") + text("Lorg/apache/flink/core/execution/SavepointFormatType;"),
        b"L" + utf("name") + text("Ljava/lang/String;"),
    ]
    out = b"\xac\xed\x00\x05\x73" + described(package + "CheckpointProperties", 2, 2, fields) + bytes(7)
    out += b"\x73" + described(package + "SavepointType", -6879297871714708296, 2, inner)
    return out + constant("org.apache.flink.core.execution.SavepointFormatType", form) + text(name)
