"""Operator state of ``byte[]``, or of maps to it, in which sources and sinks keep payloads, recognized by the state's name."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors.payload_forms import COMMITTABLE, COORDINATOR, FORMS, columns_of, fitting
from serializers.connectors.payload_parts import must_end, read_versioned
from serializers.context import NO_EVIDENCE, Evidence
from serializers.registry import SerializerSnapshot, describe
from stateextract.columnar.layout import Layout, Map, Nullable, Python
from stateextract.errors import StateExtractError
from stateextract.files.reader import Reader

BYTES = (
    "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"
)

SORTED_MAP = "org.apache.flink.table.runtime.typeutils.SortedMapSerializerSnapshot"
"""With two nested snapshots, of keys and values."""


def payload_layout(state: str, snapshot: SerializerSnapshot, evidence: Evidence = NO_EVIDENCE) -> Layout | None:
    """The layout of a state's elements, if connectors keep payloads in a state of this name; otherwise ``None``.

    :param snapshot: of the elements' serializer.
    :param evidence: what the operator's coordinator says.
    """
    if state not in FORMS or state in (COMMITTABLE, COORDINATOR):
        return None
    if snapshot.class_name == BYTES:
        return _payload(state, evidence)
    if snapshot.class_name == SORTED_MAP and snapshot.nested[1].class_name == BYTES:
        return Map(describe(snapshot.nested[0]), Nullable(_payload(state, evidence)))
    return None


def _payload(state: str, evidence: Evidence) -> Layout:

    def decode(data: memoryview, pos: int, end: int) -> tuple[dict[str, Any], int]:
        reader = Reader(data, pos, end)
        raw = bytes(reader.bytes(reader.i32("the length of bytes"), "bytes"))
        return decode_payload(state, raw, evidence), reader.pos

    return Python(decode, payload_type(state), uncertain=("payloads of connectors that are not known here stay bytes",))


def payload_type(state: str) -> pa.DataType:
    """Type of the values of :func:`decode_payload`, and of :func:`decode_coordinator` with the place of coordinators."""
    return pa.struct([pa.field("bytes", pa.binary()), pa.field("version", pa.int32()), *columns_of(state)])


def decode_payload(state: str, raw: bytes, evidence: Evidence = NO_EVIDENCE) -> dict[str, Any]:
    """``bytes``, the payload's ``version``, and a column for each form, which is null unless the payload certainly has it.

    :param state: the state's name, one of :data:`FORMS`.
    :param raw: the content of the ``byte[]``.
    :param evidence: what the operator's coordinator says.
    """
    columns: dict[str, Any] = {"bytes": raw, "version": None} | dict.fromkeys(FORMS[state])
    try:
        reader = Reader(raw)
        version, payload = read_versioned(reader)
        must_end(reader)
    except StateExtractError:
        return columns
    return columns | {"version": version} | fitting(state, version, payload, evidence)
