"""Kryo: values of classes that Flink has no serializer of its own for.

``snapshot.py`` reads what Flink recorded of a Kryo serializer, ``describe.py`` makes a layout of it: columns by the
declared class (``columns.py``), filled by the decoder (``reader.py``, ``bodies.py``, ``fields.py``). ``docs/kryo.md`` is the
user's view of it.
"""

from __future__ import annotations

from serializers.kryo import describe
from serializers.kryo.bodies import register_kryo_serializer

__all__ = ["describe", "register_kryo_serializer"]
