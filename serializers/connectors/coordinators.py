"""State of operators' coordinators: what the enumerators of sources keep in ``_metadata``.

Class: ``org.apache.flink.runtime.source.coordinator.SourceCoordinatorSerdeUtils``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors.forms import COORDINATOR, FORMS, expect, fits, fitting, must_end, read_versioned
from serializers.connectors.payloads import payload_type
from serializers.context import NO_EVIDENCE, NO_PARTITIONS, Evidence, Partitions
from stateextract.errors import StateExtractError
from stateextract.files.reader import Reader


def coordinator_type() -> pa.DataType:
    """Type of the values of :func:`decode_coordinator`."""
    return payload_type(COORDINATOR)


def untyped_reason(value: dict[str, Any]) -> str | None:
    """Why a value of :func:`decode_coordinator` has nothing but bytes; ``None`` if a form of them is known."""
    if any(value[name] is not None for name in FORMS[COORDINATOR]):
        return None
    return "the form of the coordinator's bytes is not known, so they are kept as they are"


def decode_coordinator(raw: bytes) -> dict[str, Any]:
    """State of an operator's coordinator: ``bytes``, and of a source's the ``version`` and the form of its enumerator.

    A source's is ``i32`` 1, ``i32`` version of the enumerator's serializer, ``i32`` length, what that wrote.
    """
    columns: dict[str, Any] = {"bytes": raw, "version": None} | dict.fromkeys(FORMS[COORDINATOR])
    found = _payload(raw)
    if found is None:
        return columns
    return columns | {"version": found[0]} | fitting(COORDINATOR, *found)


def evidence_of(raw: bytes) -> Evidence:
    """What a coordinator's state says of the splits of its operator.

    Partitions of Kafka are evidence even if the state may be another connector's: a split of the same operator has the same
    topic and number.
    """
    found = _payload(raw)
    if found is None:
        return NO_EVIDENCE
    return _evidence(*found)


def _evidence(version: int, payload: bytes) -> Evidence:
    partitions: Partitions = NO_PARTITIONS
    for form, value in fits(COORDINATOR, version, payload):
        partitions |= _evidence(value["version"], value["payload"]).partitions if form.wraps else form.partitions(value)
    # A wrapper comes before the form of its inner payload.
    named = [*fitting(COORDINATOR, version, payload)]
    return Evidence(named[-1] if named else None, partitions)


def _payload(raw: bytes) -> tuple[int, bytes] | None:
    """Version and payload of an enumerator; ``None`` if the coordinator is not a source's."""
    try:
        reader = Reader(raw)
        expect(reader.i32("a version"), (1,))
        version, payload = read_versioned(reader)
        must_end(reader)
    except StateExtractError:
        return None
    return version, payload
