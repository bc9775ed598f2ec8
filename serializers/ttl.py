"""State with a time to live.

Flink's classes: ``org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializer`` (and its twin for the asynchronous
state of Flink 2), ``…ttl.TtlAwareSerializer``. A value carries the time of its last access or update in front; how long
it lives is not recorded, and expired values are still there.
"""

from __future__ import annotations

from serializers.datetime import EPOCH_MS
from serializers.registry import SerializerSnapshot, describe, inner, is_fixed_length, register
from serializers.snapshots import check_version, composite, read_snapshot
from stateextract.columnar.layout import Layout, struct
from stateextract.files.reader import Reader

_STATE = "org.apache.flink.runtime.state."

TTL_SNAPSHOTS = (
    _STATE + "ttl.TtlStateFactory$TtlSerializerSnapshot",
    _STATE + "v2.ttl.TtlStateFactory$TtlSerializerSnapshot",
)
TTL_AWARE_SNAPSHOT = _STATE + "ttl.TtlAwareSerializerSnapshot"

LAST_ACCESS = "last_access"
VALUE = "value"


@register(TTL_SNAPSHOTS, payload=composite(2))
def _ttl(snapshot: SerializerSnapshot) -> Layout:
    return struct(last_access=EPOCH_MS, value=describe(snapshot.nested[1]))


def _ttl_aware_payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    check_version(version, (1,), name, reader)
    enabled = reader.bool("isTtlEnabled")
    return SerializerSnapshot(name, version, details={"ttl": enabled}, nested=(read_snapshot(reader),))


register(TTL_AWARE_SNAPSHOT, inner, payload=_ttl_aware_payload, fixed_length=lambda s: is_fixed_length(s.nested[0]))


def unwrapped(snapshot: SerializerSnapshot) -> SerializerSnapshot:
    """The snapshot itself, without the transparent ``TtlAwareSerializer`` around it."""
    while snapshot.class_name == TTL_AWARE_SNAPSHOT and snapshot.nested:
        snapshot = snapshot.nested[0]
    return snapshot


def is_ttl(snapshot: SerializerSnapshot) -> bool:
    """Whether values of this serializer carry a time of last access."""
    return unwrapped(snapshot).class_name in TTL_SNAPSHOTS
