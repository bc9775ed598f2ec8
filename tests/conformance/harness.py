"""The snapshot files that Flink's own operator tests keep (``*-flinkX.Y-snapshot``): one subtask's handles, no more.

Layout (``OperatorSnapshotUtil`` in Flink's tests)::

    i32 version · legacy stream handle · raw and managed operator handles · raw and managed keyed handles
    · version 3: input and output channel states

each list with an ``i32`` count, −1 for none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from stateextract.files.reader import Reader
from stateextract.metadata.handles import (
    read_channel_handles,
    read_keyed_handle,
    read_operator_handle,
    read_stream_handle,
)
from stateextract.metadata.model import (
    ChannelStateHandle,
    KeyedStateHandle,
    OperatorStateHandle,
    StreamHandle,
)

T = TypeVar("T")


@dataclass(frozen=True)
class HarnessSnapshot:
    version: int
    legacy: StreamHandle | None
    raw_operator: tuple[OperatorStateHandle, ...]
    managed_operator: tuple[OperatorStateHandle, ...]
    raw_keyed: tuple[KeyedStateHandle, ...]
    managed_keyed: tuple[KeyedStateHandle, ...]
    input_channels: tuple[ChannelStateHandle, ...]
    output_channels: tuple[ChannelStateHandle, ...]


def parse_harness(data: bytes) -> HarnessSnapshot:
    """Read a whole file; bytes left over are an error."""
    reader = Reader(data)
    version = reader.i32()
    assert version in (0, 3), f"harness version {version}"
    legacy = read_stream_handle(reader)
    raw_operator, managed_operator = (_list(reader, read_operator_handle) for _ in range(2))
    raw_keyed, managed_keyed = (_list(reader, read_keyed_handle) for _ in range(2))
    channels = [
        read_channel_handles(reader, merged=False, output=output) if version == 3 else () for output in (False, True)
    ]
    assert reader.remaining == 0, f"{reader.remaining} bytes left over at {reader.pos}"
    return HarnessSnapshot(version, legacy, raw_operator, managed_operator, raw_keyed, managed_keyed, *channels)


def _list(reader: Reader, read: Callable[[Reader], T | None]) -> tuple[T, ...]:
    found = [read(reader) for _ in range(max(reader.i32(), 0))]
    return tuple(handle for handle in found if handle is not None)
