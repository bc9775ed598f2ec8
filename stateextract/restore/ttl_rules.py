"""Time to live: a value with or without a time of last access in front. How long it lives is not in the snapshot.

Flink's classes: ``TtlStateFactory$TtlSerializerSnapshot``, ``TtlAwareSerializerSnapshot`` (Flink 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from serializers.registry import SerializerSnapshot
from serializers.ttl import is_ttl
from stateextract.restore.answers import Answer

if TYPE_CHECKING:
    from stateextract.restore.compare_serializers import Comparer


def switched(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    """TTL is on in one of two snapshots only."""
    what = "time to live was switched on" if is_ttl(new) else "time to live was switched off"
    release = comparer.release
    inside = comparer.compare(_value(new), _value(old), at)
    migrates = None if release is None else release.ttl_migrates
    if migrates:
        return max(inside, Answer.MIGRATION)
    if migrates is None:
        version = "the release of the new job" if release is None else str(release)
        return max(inside, comparer.findings.unknown(
            at, f"{what}: {version} may migrate it or refuse it; 1.20 refuses, 2.3 migrates", "give --flink 2.3"
        ))  # fmt: skip
    return comparer.findings.incompatible(
        at, f"{what}, which {release} refuses", "leave it as it was, or move to Flink 2.3 first"
    )


def _value(snapshot: SerializerSnapshot) -> SerializerSnapshot:
    return snapshot.nested[1] if is_ttl(snapshot) else snapshot
