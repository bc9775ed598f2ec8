"""Payloads that connectors' own serializers wrote: the values of their own classes, and none is taken for another's."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from serializers.connectors import COMMITTABLE, COORDINATOR
from serializers.connectors.payload_forms import FORMS
from tests.serializers.connector_bytes import Payload, as_printed, payloads

PAYLOADS = payloads()
MANIFESTS = "iceberg-files-committer-state"


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.name)
def test_values_are_those_of_the_connectors_classes(payload: Payload) -> None:
    found = payload.decoded()
    assert list(found) == ([] if payload.form is None else [payload.form])
    if payload.form is not None:
        assert as_printed(found[payload.form]) == as_printed(payload.value)
        # Every value has its column's type.
        pa.array([found[payload.form]], FORMS[payload.place][payload.form].column.type).validate(full=True)


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.name)
def test_damaged_payloads_stay_bytes_or_keep_their_form(payload: Payload) -> None:
    rng, inner = random.Random(7), payload.inner
    # Only their own sink can read the requests of asynchronous sinks; Iceberg's manifest of version 1 is all that there is.
    if payload.form != "async_writer" and not (payload.form == "iceberg_manifests" and payload.version == 1):
        assert not payload.decoded(inner + b"\0")
    for _ in range(15):
        assert_own_form(payload, inner[: rng.randrange(len(inner) or 1)])
    for _ in range(25):
        damaged = bytearray(inner)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        assert_own_form(payload, bytes(damaged))


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.name)
def test_no_payload_is_taken_for_another_connectors(payload: Payload) -> None:
    """Also with the number of another version, and in the other places."""
    for version in range(-1, 10):
        assert_own_form(payload, payload.inner, version)
    for place in {"SourceReaderState", "writer_raw_states", MANIFESTS, COMMITTABLE, COORDINATOR} - {payload.place}:
        assert not payload.decoded(place=place)


def assert_own_form(payload: Payload, inner: bytes, version: int | None = None) -> None:
    """The bytes have no form, or the payload's and a value that its column takes."""
    found = payload.decoded(inner, version)
    assert found.keys() <= {payload.form}
    for name, value in found.items():
        pa.array([value], FORMS[payload.place][name].column.type).validate(full=True)
