"""What connectors' own serializers wrote (``connectors/*.txt``), with the values that their classes print."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serializers.connectors import COMMITTABLE, COORDINATOR, decode_coordinator, decode_payload
from serializers.connectors.payload_forms import fitting
from serializers.context import Evidence

_PLACES = {
    "split": "SourceReaderState", "enumerator": COORDINATOR, "writer": "writer_raw_states", "bucket": "writer_raw_states",
    "committable": COMMITTABLE, "manifest": "streaming_committer_raw_states", "coordinator": COORDINATOR,
    "manifests": "iceberg-files-committer-state",
}  # fmt: skip


@dataclass(frozen=True)
class Payload:
    """One line of a file.

    :param name: what it is: the form's column first, or ``bytes_`` and the place if no form is certain.
    :param raw: in Flink's wrapper: version, length, payload.
    :param value: what the connector's classes read.
    """

    name: str
    raw: bytes
    value: Any

    @property
    def form(self) -> str | None:
        """The column that must have the value."""
        word = self.name.split()[0]
        return None if word.startswith("bytes_") else word.removesuffix("_coordinator")

    @property
    def place(self) -> str:
        """Where forms of this kind are registered."""
        return _PLACES[self.name.split()[0].rsplit("_", 1)[1]]

    @property
    def whole(self) -> bool:
        """Whether the bytes are all that a coordinator keeps, without Flink's wrapper."""
        return "_coordinator" in self.name

    @property
    def version(self) -> int:
        """Of the serializer that wrote it."""
        return int.from_bytes(self.raw[:4], "big")

    @property
    def inner(self) -> bytes:
        """The payload alone."""
        return self.raw[4:] if self.whole else self.raw[8:]

    def decoded(self, inner: bytes | None = None, version: int | None = None, place: str | None = None) -> dict[str, Any]:
        """The forms that the payload has in its place, or these bytes in its stead."""
        data, number = self.inner if inner is None else inner, self.version if version is None else version
        raw = struct.pack(">i", number) + (b"" if self.whole else struct.pack(">i", len(data))) + data
        return decoded(place or self.place, raw, self.whole)


def payloads() -> list[Payload]:
    """The lines of all files."""
    found = []
    for file in sorted((Path(__file__).parent / "connectors").glob("*.txt")):
        for line in file.read_text().splitlines():
            if not line.startswith("#"):
                name, data, value = line.split(" = ", 2)
                found.append(Payload(name, bytes.fromhex(data), json.loads(value)))
    return found


def decoded(place: str, raw: bytes, whole: bool = False) -> dict[str, Any]:
    """The forms that a payload has in a place, by their columns.

    :param whole: of a coordinator, the bytes are all of its state.
    """
    if place == COMMITTABLE:
        return fitting(COMMITTABLE, int.from_bytes(raw[:4], "big"), raw[8:], Evidence(subtask=3))
    in_coordinator = raw if whole else struct.pack(">i", 1) + raw
    value = decode_coordinator(in_coordinator) if place == COORDINATOR else decode_payload(place, raw)
    return {name: part for name, part in value.items() if name not in ("bytes", "version") and part is not None}


def as_printed(value: Any) -> Any:
    """A decoded value as the generators print it: without nulls, offsets of Flink CDC as maps, schemas by their tables."""
    if isinstance(value, dict):
        if isinstance(value.get("json"), str) and "position" in value:
            return as_printed(json.loads(value["json"]))
        return {name: as_printed(part) for name, part in value.items() if part is not None and name != "bytes"}
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, dict) and item.keys() == {"table", "schema"} for item in value):
            return [item["table"] for item in value]
        return [as_printed(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value
