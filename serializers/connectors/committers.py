"""What the committers of sinks keep: committables by checkpoint and subtask, of any connector's form of a committable.

The lists of checkpoints and of subtasks have versions of their own, which Flink changed but not the payload's version 2:

==========================  =====================================================================================
version                     content
==========================  =====================================================================================
checkpoint 0 (Flink 1.15)   id, subtasks
checkpoint 1 (Flink 1.19)   id, number of subtasks, subtasks
subtask 0 (Flink 1.15)      requests, numbers of committables, of drained and of failed ones
subtask 1 (Flink 1.19)      number of the subtask, then as version 0
subtask 2 (Flink 2.0)       as version 1, without the number of drained ones
==========================  =====================================================================================

Class: ``org.apache.flink.streaming.runtime.operators.sink.committables.CommittableCollectorSerializer``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from serializers.connectors.payload_forms import COMMITTABLE, PayloadForm, columns_of, fitting, forms_of, register_form
from serializers.connectors.payload_parts import I32, I64, expect, must_end, read_versioned, struct_of
from serializers.context import Evidence
from stateextract.files.reader import Reader

_MAGIC = 0xB91F252C - (1 << 32)


def _committer(reader: Reader, version: int) -> list[dict[str, Any]]:
    expect(reader.i32("a magic number"), (_MAGIC,))
    if version == 1:
        # Sink V1: committables and nothing else.
        written_by = reader.i32("a version")
        requests = _listed(reader, lambda inner: _request(written_by, inner.bytes(inner.remaining), None, None, None))
        return [{"checkpoint_id": None, "subtasks": [_subtask(None, requests, None, None)]}]
    return _versioned_list(reader, _checkpoint, (0, 1))


def _versioned_list(reader: Reader, read: Callable[[Reader, int], Any], versions: Sequence[int]) -> list[Any]:
    """``i32`` version of the items, then the items. Class: ``SimpleVersionedSerialization.writeVersionAndSerializeList``."""
    version = reader.i32("a version")
    expect(version, versions)
    return _listed(reader, lambda inner: read(inner, version))


def _listed(reader: Reader, read: Callable[[Reader], Any]) -> list[Any]:
    """``i32`` count, then each item in its ``i32`` length."""
    items = []
    for _ in range(reader.count("items", least=4)):
        inner = Reader(reader.bytes(reader.i32("a length"), "an item"))
        items.append(read(inner))
        must_end(inner)
    return items


def _checkpoint(reader: Reader, version: int) -> dict[str, Any]:
    checkpoint = reader.i64()
    if version > 0:
        reader.i32("a number of subtasks")
    return {"checkpoint_id": checkpoint, "subtasks": _versioned_list(reader, _subtask_of, (0, 1, 2))}


def _subtask_of(reader: Reader, version: int) -> dict[str, Any]:
    index = reader.i32("a subtask") if version > 0 else None
    requests = _versioned_list(reader, lambda inner, _: _request_of(inner, index), (0,))
    expected = reader.i32("a number of committables")
    if version < 2:
        reader.i32("a number of drained committables")
    return _subtask(index, requests, expected, reader.i32("a number of failures"))


def _subtask(index: int | None, requests: list[Any], expected: int | None, failed: int | None) -> dict[str, Any]:
    return {"subtask": index, "requests": requests, "committables": expected, "failed": failed}


def _request_of(reader: Reader, subtask: int | None) -> dict[str, Any]:
    version, committable = read_versioned(reader)
    return _request(version, committable, subtask, reader.i32("retries"), reader.i32("a state"))


def _request(
    version: int, committable: bytes | memoryview, subtask: int | None, retries: int | None, state: int | None
) -> dict[str, Any]:
    """A committable, and the one form that it has."""
    found: dict[str, Any] = {"committable": bytes(committable), "version": version, "retries": retries, "state": state}
    found |= dict.fromkeys(form.name for form in forms_of(COMMITTABLE))
    return found | fitting(COMMITTABLE, version, committable, Evidence(subtask=subtask))


def _type() -> pa.DataType:
    fields = [pa.field("committable", pa.binary()), pa.field("version", I32), pa.field("retries", I32), pa.field("state", I32)]
    request = pa.struct([*fields, *columns_of(COMMITTABLE)])
    subtask = struct_of(subtask=I32, requests=pa.list_(request), committables=I32, failed=I32)
    return pa.list_(struct_of(checkpoint_id=I64, subtasks=pa.list_(subtask)))


register_form(
    "streaming_committer_raw_states", PayloadForm("checkpoints", (1, 2), _committer, _type, reason="a magic number")
)
