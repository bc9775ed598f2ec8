"""State of operators' coordinators: what the enumerators of sources keep in ``_metadata``.

Only what takes the bytes to the last one, and what no other connector would write so, is typed, as in ``connectors.py``:
state with a magic number, and Kafka's where each partition comes with a status. Version 1 of Kafka's is texts with a number
each, and state without any partition is a count of zero; these are bytes with their version, as number sequences are. The
bytes themselves are always kept. Partitions of all versions are evidence for the splits of the same operator.

Classes: ``org.apache.flink.runtime.source.coordinator.SourceCoordinatorSerdeUtils``,
``org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumStateSerializer``,
``org.apache.flink.connector.file.src.PendingSplitsCheckpointSerializer``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors import (
    FILE_SPLIT,
    I32,
    I64,
    TEXT,
    PayloadForm,
    expect,
    fitting,
    kafka_offsets,
    kafka_partition,
    must_end,
    read_flag,
    read_versioned,
    struct_of,
    try_form,
)
from serializers.context import NO_PARTITIONS, Partitions
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.reader import Reader

_PENDING_MAGIC = 0xDEADBEEF - (1 << 32)


def _kafka_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    """Partitions with a status each, and whether all were looked for once; version 3 has splits in their length.

    Version 1 has partitions and nothing else.
    """
    partitions = []
    count = reader.count("partitions", least=7)
    if version == 1:
        return {"partitions": [kafka_partition(reader) for _ in range(count)]}
    if version == 3:
        expect(reader.i32("a version of splits"), (0,))
    for _ in range(count):
        partition: dict[str, Any] = {"starting_offset": None, "stopping_offset": None}
        if version == 2:
            partition |= kafka_partition(reader)
        else:
            split = Reader(reader.bytes(reader.i32("a length"), "a split"))
            partition |= kafka_partition(split)
            partition |= kafka_offsets(split)
            must_end(split)
        status = reader.i32("a status")
        expect(status, (0, 1))
        partitions.append(partition | {"assigned": status == 0})
    if not partitions:
        raise FormatError("a count of zero, which may be of any connector")
    return {"partitions": partitions, "discovery_finished": read_flag(reader)}


def _file_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    """Splits that no reader has yet, and paths that are done; its own numbers are little-endian."""

    def i32() -> int:
        return int.from_bytes(reader.bytes(4, "a number"), "little", signed=True)

    expect(i32(), (_PENDING_MAGIC,))
    split_version, splits, paths = i32(), i32(), i32()
    # Each has a length of four bytes.
    if min(splits, paths) < 0 or 4 * (splits + paths) > reader.remaining:
        raise FormatError("more splits than bytes")
    pending = []
    for _ in range(splits):
        raw = bytes(reader.bytes(i32(), "a split"))
        pending.append({"bytes": raw, "file_split": try_form(FILE_SPLIT, split_version, raw)})
    done = [bytes(reader.bytes(i32(), "a path")).decode("utf-8", "replace") for _ in range(paths)]
    return {"splits": pending, "processed_paths": done}


ENUMERATORS: tuple[PayloadForm, ...] = (
    PayloadForm(
        "kafka_enumerator", (2, 3), _kafka_enumerator,
        struct_of(
            partitions=pa.list_(
                struct_of(topic=TEXT, partition=I32, assigned=pa.bool_(), starting_offset=I64, stopping_offset=I64)
            ),
            discovery_finished=pa.bool_(),
        ),
    ),
    PayloadForm(
        "file_enumerator", (1,), _file_enumerator,
        struct_of(splits=pa.list_(struct_of(bytes=pa.binary(), file_split=FILE_SPLIT.type)), processed_paths=pa.list_(TEXT)),
    ),
)  # fmt: skip
"""What a source's enumerator may have kept in the state of its coordinator."""

_LISTING = PayloadForm("partitions", (1, 2, 3), _kafka_enumerator, pa.null())

COORDINATOR: pa.DataType = pa.struct(
    [
        pa.field("bytes", pa.binary()), pa.field("version", pa.int32()),
        *(pa.field(form.name, form.type) for form in ENUMERATORS),
    ]
)  # fmt: skip
"""Type of the values of :func:`decode_coordinator`."""


def untyped_reason(value: dict[str, Any]) -> str | None:
    """Why a value of :func:`decode_coordinator` has nothing but bytes; ``None`` if a form of them is known."""
    if any(value[form.name] is not None for form in ENUMERATORS):
        return None
    return "the form of the coordinator's bytes is not known, so they are kept as they are"


def decode_coordinator(raw: bytes) -> dict[str, Any]:
    """State of an operator's coordinator: ``bytes``, and of a source's the ``version`` and the form of its enumerator.

    A source's is ``i32`` 1, ``i32`` version of the enumerator's serializer, ``i32`` length, what that wrote
    (``org.apache.flink.runtime.source.coordinator.SourceCoordinatorSerdeUtils``). Which enumerator it was is recorded
    nowhere, so a form is taken only if it alone takes the bytes to the last one and has what others lack.
    """
    columns: dict[str, Any] = {"bytes": raw, "version": None} | dict.fromkeys(form.name for form in ENUMERATORS)
    try:
        version, payload = _payload(raw)
    except StateExtractError:
        return columns
    return columns | {"version": version} | fitting(ENUMERATORS, version, payload)


def listed_partitions(raw: bytes) -> Partitions:
    """The partitions that a coordinator's state lists, if it has the shape of a Kafka enumerator's.

    Version 1 is enough here, though it is not named: a split of the same operator has the same topic and number.
    """
    try:
        version, payload = _payload(raw)
    except StateExtractError:
        return NO_PARTITIONS
    found = try_form(_LISTING, version, payload)
    return NO_PARTITIONS if found is None else frozenset((p["topic"], p["partition"]) for p in found["partitions"])


def _payload(raw: bytes) -> tuple[int, bytes]:
    reader = Reader(raw)
    expect(reader.i32("a version"), (1,))
    version, payload = read_versioned(reader)
    must_end(reader)
    return version, payload
