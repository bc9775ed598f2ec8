"""Which snapshot classes of a state were skipped."""

from __future__ import annotations

from collections.abc import Iterator

from serializers.registry import SerializerSnapshot
from stateextract.state.header import StateMeta


def unknown_classes(state: StateMeta) -> tuple[str, ...]:
    """Each once."""
    return tuple(dict.fromkeys(name for snapshot in state.serializers.values() for name in _of(snapshot)))


def _of(snapshot: SerializerSnapshot) -> Iterator[str]:
    if snapshot.is_unknown:
        yield snapshot.class_name
    for nested in snapshot.nested:
        yield from _of(nested)
