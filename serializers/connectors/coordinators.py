"""State of operators' coordinators: what the enumerators of sources keep in ``_metadata``.

Class: ``org.apache.flink.runtime.source.coordinator.SourceCoordinatorSerdeUtils``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from serializers.connectors.payload_forms import COORDINATOR, FORMS, MAX_WRAPPERS, PayloadForm, fits, fitting
from serializers.connectors.payload_parts import expect, must_end, read_versioned
from serializers.connectors.payloads import payload_type
from serializers.context import NO_EVIDENCE, NO_PARTITIONS, Evidence
from stateextract.errors import StateExtractError
from stateextract.files.reader import Reader


def coordinator_type() -> pa.DataType:
    """Type of the values of :func:`decode_coordinator`."""
    return payload_type(COORDINATOR)


def untyped_reason(value: dict[str, Any]) -> str | None:
    """Why a value of :func:`decode_coordinator` has nothing but bytes; ``None`` if their form is known, or there are none."""
    if not value["bytes"] or any(value[name] is not None for name in FORMS[COORDINATOR]):
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
    # A wrapper comes before the form of its inner payload.
    named = [*fitting(COORDINATOR, *found)]
    partitions = NO_PARTITIONS.union(*(form.partitions(value) for form, value in _shapes(*found)))
    return Evidence(named[-1] if named else None, partitions)


def shapes_of(raw: bytes) -> frozenset[str]:
    """Names of the forms that a coordinator's state may have, by its bytes alone; without a wrapper's own."""
    found = _payload(raw)
    return frozenset() if found is None else frozenset(form.name for form, _ in _shapes(*found))


def _shapes(version: int, payload: bytes, around: int = 0) -> Iterator[tuple[PayloadForm, Any]]:
    for form, value in fits(COORDINATOR, version, payload):
        if not form.wraps:
            yield form, value
        elif around < MAX_WRAPPERS:
            yield from _shapes(value["version"], value["payload"], around + 1)


def _payload(raw: bytes) -> tuple[int, bytes] | None:
    """Version and payload of an enumerator, or of a coordinator that is not a source's: its first number and the rest."""
    try:
        reader = Reader(raw)
        expect(reader.i32("a version"), (1,))
        version, payload = read_versioned(reader)
        must_end(reader)
    except StateExtractError:
        return _without_wrapper(raw)
    return version, payload


def _without_wrapper(raw: bytes) -> tuple[int, bytes] | None:
    version = int.from_bytes(raw[:4], "big", signed=True)
    rest = raw[4:]
    return (version, rest) if any(form.name in _UNWRAPPED for form, _ in fits(COORDINATOR, version, rest)) else None


_UNWRAPPED = frozenset({"cdc_schemas"})
"""Forms of coordinators that are not a source's, which write no wrapper around their state."""
