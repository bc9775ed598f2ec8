"""What the writers write is held against files that Flink wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from serializers import SerializerSnapshot
from stateextract.metadata.model import KeyGroupsHandle, RelativeHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.state.header import parse_header
from tests.writers import flink_writer as flink
from tests.writers.plain import decompress

from .conftest import flink_cases

SIMPLE = {name.split(b"\x00\x00\x00\x03")[0][2:].decode(): name for name in (
    flink.BOOLEAN, flink.INT, flink.LONG, flink.DOUBLE, flink.STRING,
)}  # fmt: skip


def files(case: str) -> Iterator[tuple[KeyGroupsHandle, bytes]]:
    """Keyed files of a case with their handles."""
    for path in sorted(Path(flink_cases(), case).rglob("_metadata")):
        for operator in parse_metadata(path.read_bytes()).operators:
            for subtask in operator.subtasks:
                handle = subtask.managed_keyed
                if isinstance(handle, KeyGroupsHandle) and isinstance(handle.stream, RelativeHandle):
                    yield handle, (path.parent / handle.stream.path).read_bytes()


def snapshot_bytes(snapshot: SerializerSnapshot) -> bytes | None:
    """What our writer writes for a snapshot, as far as it knows the class."""
    if snapshot.class_name in SIMPLE:
        return SIMPLE[snapshot.class_name]
    nested = [snapshot_bytes(n) for n in snapshot.nested]
    known = [n for n in nested if n is not None]
    make = {"ListSerializerSnapshot": flink.list_of, "MapSerializerSnapshot": flink.map_of}
    if snapshot.class_name.endswith(".TupleSerializerSnapshot") and len(known) == len(nested):
        return flink.tuple_of(*known)
    kind = make.get(snapshot.class_name.rpartition(".")[2])
    return kind(*known) if kind is not None and len(known) == len(nested) else None


def test_metas_of_states_are_written_as_flink_writes_them() -> None:
    compared = set()
    for handle, data in files("f230-types-hashmap-checkpoint"):
        for meta in parse_header(data, 0, min(handle.offsets)).states:
            value = snapshot_bytes(meta.serializers["VALUE_SERIALIZER"])
            if value is None or meta.backend_type != "KEY_VALUE":
                continue
            empty = flink.head(flink.LONG, [], compressed=False)
            ours = flink.head(flink.LONG, [flink.State(meta.name, meta.kind, value)], compressed=False)
            assert ours[len(empty) :] in data
            compared.add(meta.name)
    assert compared >= {"bool", "int", "long", "double", "string", "tuple2", "map-null-strings"}


def test_metadata_is_written_as_flink_writes_it() -> None:
    (path,) = Path(flink_cases(), "f230-types-hashmap-checkpoint").rglob("_metadata")
    data = path.read_bytes()
    (operator,) = [o for o in parse_metadata(data).operators if o.uid == "fill"]
    keyed = []
    for subtask in operator.subtasks:
        handle = subtask.managed_keyed
        assert isinstance(handle, KeyGroupsHandle)
        assert isinstance(handle.stream, RelativeHandle)
        stream = handle.stream
        keyed.append(
            flink.KeyedFile(subtask.index, stream.path, stream.size, handle.first, handle.offsets, handle.handle_id)
        )
    ours = flink.metadata(2, [flink.Operator("fill", operator.name or "", 2, 128, keyed)])
    head, properties = 24, 604
    assert ours[: head - 4] == data[: head - 4]
    assert ours[head:-properties] in data
    assert ours[-properties:] == data[-properties:]


def test_flinks_snappy_streams_decompress() -> None:
    groups = 0
    for handle, data in files("f1172-kinds-hashmap-native-zip"):
        states = parse_header(data, 0, min(handle.offsets)).states
        for start, end in zip(handle.offsets, [*handle.offsets[1:], len(data)], strict=True):
            plain = decompress("snappy", data[start + 4 : end])
            # Each stream holds one state: its id first.
            assert len(plain) >= 6 * len(states)
            assert int.from_bytes(plain[:2], "big") < len(states)
            assert data[start + 4 : end].count(flink.STREAM_IDENTIFIER) == len(states)
            if len(plain) == 6 * len(states):
                parts = (plain[at : at + 6] for at in range(0, len(plain), 6))
                assert b"".join(map(flink.compress_snappy_framed, parts)) == data[start + 4 : end]
                groups += 1
    assert groups > 50
