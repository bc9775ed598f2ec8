"""Connector payloads: what sources and sinks keep as bytes, in operator state of ``byte[]`` and in their coordinators.

``payload_forms`` has what a payload may be and when one is named, ``payload_parts`` what it is made of; each family of
connectors is a module that registers its forms; ``payloads`` and ``coordinators`` read the states. The bytes themselves are
always kept, in the column ``bytes``.

To add a connector, write a module that calls ``register_form``, and import it here.
"""

from serializers.connectors import (
    cdc,
    cdc_schemas,
    committers,
    databases,
    delta,
    file_connector,
    hybrid,
    iceberg,
    kafka,
    paimon,
    queues,
)
from serializers.connectors.coordinators import (
    coordinator_type,
    decode_coordinator,
    evidence_of,
    shapes_of,
    untyped_reason,
)
from serializers.connectors.payload_forms import COMMITTABLE, COORDINATOR, FORMS, PayloadForm, register_form
from serializers.connectors.payloads import decode_payload, payload_layout, payload_type

_FAMILIES = (file_connector, kafka, cdc, cdc_schemas, iceberg, paimon, queues, databases, delta, committers, hybrid)

__all__ = [
    "COMMITTABLE",
    "COORDINATOR",
    "FORMS",
    "PayloadForm",
    "coordinator_type",
    "decode_coordinator",
    "decode_payload",
    "evidence_of",
    "payload_layout",
    "payload_type",
    "register_form",
    "shapes_of",
    "untyped_reason",
]
