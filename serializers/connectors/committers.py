"""What the committers of sinks keep: committables by checkpoint and subtask, of any connector's form of a committable.

Class: ``org.apache.flink.streaming.runtime.operators.sink.committables.CommittableCollectorSerializer``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors.forms import (
    COMMITTABLE,
    I32,
    I64,
    PayloadForm,
    columns_of,
    expect,
    fitting,
    forms_of,
    listed,
    read_versioned,
    register_form,
    struct_of,
    versioned_list,
)
from serializers.context import Evidence
from stateextract.files.reader import Reader

_MAGIC = 0xB91F252C - (1 << 32)


def _committer(reader: Reader, version: int) -> list[dict[str, Any]]:
    expect(reader.i32("a magic number"), (_MAGIC,))
    if version == 1:
        # Sink V1: committables and nothing else.
        written_by = reader.i32("a version")
        requests = listed(reader, lambda inner: _request(written_by, inner.bytes(inner.remaining), None, None, None))
        return [{"checkpoint_id": None, "subtasks": [_subtask(None, requests, None, None)]}]
    return versioned_list(reader, _checkpoint)


def _checkpoint(reader: Reader) -> dict[str, Any]:
    checkpoint = reader.i64()
    reader.i32("a number of subtasks")
    return {"checkpoint_id": checkpoint, "subtasks": versioned_list(reader, _subtask_of)}


def _subtask_of(reader: Reader) -> dict[str, Any]:
    index = reader.i32("a subtask")
    requests = versioned_list(reader, lambda inner: _request_of(inner, index))
    return _subtask(index, requests, reader.i32("a number of committables"), reader.i32("a number of failures"))


def _subtask(index: int | None, requests: list[Any], expected: int | None, failed: int | None) -> dict[str, Any]:
    return {"subtask": index, "requests": requests, "committables": expected, "failed": failed}


def _request_of(reader: Reader, subtask: int) -> dict[str, Any]:
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
