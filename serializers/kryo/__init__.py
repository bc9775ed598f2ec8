"""Kryo: values of classes that Flink has no serializer of its own for.

``kryo_snapshot.py`` reads what Flink recorded of a Kryo serializer, ``describe.py`` makes a layout of it: columns by the
declared class (``columns.py``), filled by the decoder (``kryo_reader.py``, ``bodies.py``, ``fields.py``). ``docs/kryo.md`` is
the user's view of it.
"""

from __future__ import annotations

from typing import Any

from serializers.kryo.kryo_snapshot import payload
from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot, current_context, register
from stateextract.columnar.layout import Layout


@register(KRYO_SNAPSHOT, payload=payload)
def _kryo(snapshot: SerializerSnapshot) -> Layout:
    """Most snapshots have no values of Kryo, so what describes them is loaded here."""
    from serializers.kryo.describe import kryo_layout

    return kryo_layout(snapshot, current_context())


def __getattr__(name: str) -> Any:
    if name == "register_kryo_serializer":
        from serializers.kryo.bodies import register_kryo_serializer

        return register_kryo_serializer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
