"""State of Apache Beam's runner for Flink: the coders that a serializer's snapshot has as Java objects.

``coder_snapshot`` reads the snapshots, ``coders`` the tree of coders, ``coder_layouts`` what they write, ``beam_rows`` Beam's
rows, ``avro_binary`` Avro's encoding. Keys are bytes that the key's coder wrote (``beam_keys``). ``varints`` has what no
layout describes: Beam's variable-length numbers, and what has them in front.
"""

from __future__ import annotations

from serializers.beam.beam_keys import key_coder, with_key_coder

__all__ = ["key_coder", "with_key_coder"]
