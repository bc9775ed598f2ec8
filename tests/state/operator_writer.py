"""Writes operator state files and raw timers in small, the way that Flink does."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import cramjam
import google_crc32c

from stateextract.metadata.model import OperatorStatePartition

IDENTIFIER = b"\xff\x06\x00\x00sNaPpY"
BASE = "org.apache.flink.api.common.typeutils.base."


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def i64(*values: int) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def string(text: str) -> bytes:
    """Flink's ``StringValue`` of short ASCII text."""
    return bytes([len(text) + 1]) + text.encode()


def simple(name: str) -> bytes:
    return utf(f"{BASE}{name}Serializer${name}SerializerSnapshot") + i32(3)


def list_state(name: str, mode: str, value: bytes) -> bytes:
    option = utf("OPERATOR_STATE_DISTRIBUTION_MODE") + utf(mode)
    return utf(name) + i32(1, 1) + option + i32(1) + utf("VALUE_SERIALIZER") + i32(2) + value


def broadcast_state(name: str, key: bytes, value: bytes) -> bytes:
    option = utf("OPERATOR_STATE_DISTRIBUTION_MODE") + utf("BROADCAST")
    serializers = utf("KEY_SERIALIZER") + i32(2) + key + utf("VALUE_SERIALIZER") + i32(2) + value
    return utf(name) + i32(2, 1) + option + i32(2) + serializers


def chunk(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    block = bytes(cramjam.snappy.compress_raw(data))
    body, kind = (block, 0) if len(block) <= 0.85 * len(data) else (data, 1)
    return bytes([kind]) + (len(body) + 4).to_bytes(3, "little") + masked.to_bytes(4, "little") + body


class Stream:
    """Where elements are written.

    As they are, compressed, compressed without a flush at each element (``1.18``: 1.18.1), or so with a stream for each
    state (``1.18.0``).
    """

    def __init__(self, head: bytes, form: str) -> None:
        self.data = head + (b"" if form in ("plain", "1.18.0") else IDENTIFIER)
        self.form = form
        self.pending = b""

    def begin(self) -> None:
        """A state begins."""
        if self.form == "1.18.0":
            self.flush()
            self.data += IDENTIFIER

    def position(self) -> int:
        if self.form == "compressed":
            self.flush()
        return len(self.data)

    def write(self, data: bytes) -> None:
        if self.form == "plain":
            self.data += data
            return
        self.pending += data
        while len(self.pending) >= 65536:
            self.data += chunk(self.pending[:65536])
            self.pending = self.pending[65536:]

    def flush(self) -> None:
        if self.pending:
            self.data += chunk(self.pending)
            self.pending = b""


@dataclass
class Lists:
    """``elements`` of list states by (name, mode, serializer), ``maps`` of broadcast states by (name, key, value)."""

    elements: Mapping[tuple[str, str, bytes], Sequence[bytes]] = field(default_factory=dict)
    maps: Mapping[tuple[str, bytes, bytes], Sequence[tuple[bytes, bytes]]] = field(default_factory=dict)
    form: str = "plain"
    version: int = 6

    def head(self) -> bytes:
        flag = bytes([self.form != "plain"]) if self.version >= 6 else b""
        lists = b"".join(list_state(*key) for key in self.elements)
        maps = b"".join(broadcast_state(*key) for key in self.maps)
        counts = struct.pack(">h", len(self.elements)), struct.pack(">h", len(self.maps))
        return i32(self.version) + flag + counts[0] + lists + counts[1] + maps

    def write(self) -> tuple[bytes, list[OperatorStatePartition]]:
        """The file, and what its handle says."""
        out = Stream(self.head(), self.form)
        states = []
        for (name, mode, _), elements in self.elements.items():
            offsets = []
            out.begin()
            for element in elements:
                offsets.append(out.position())
                out.write(element)
            states.append(OperatorStatePartition(name, mode, tuple(offsets)))
        for (name, _, _), entries in self.maps.items():
            out.begin()
            offset = out.position()
            out.write(i32(len(entries)) + b"".join(k + v for k, v in entries))
            states.append(OperatorStatePartition(name, "BROADCAST", (offset,)))
        out.flush()
        return out.data, states


Timer = tuple[bytes, bytes, int]


def timers(services: Mapping[str, tuple[Sequence[Timer], Sequence[Timer]]], key: bytes, namespace: bytes) -> bytes:
    """A key group of timers in raw keyed state."""
    data = b"\xf1\xcd\x85\x9f" + i32(2, len(services))
    for name, queues in services.items():
        data += utf(name) + key + namespace
        for queue in queues:
            data += i32(len(queue)) + b"".join(k + n + i64(t) for k, n, t in queue)
    return data
