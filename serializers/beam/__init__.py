"""State of Apache Beam's runner for Flink: the coders that a serializer's snapshot has as Java objects.

``snapshot`` reads the snapshots, ``coders`` the tree of coders, ``layouts`` what they write, ``rows`` Beam's rows. Keys are
bytes that Beam's key coder wrote (``keys``). Nothing here decodes more than one value that no layout describes: Beam's
variable-length numbers, and what has them in front.
"""

from __future__ import annotations

from serializers.beam.coders import Coder
from serializers.beam.keys import key_coder, with_key_coder

__all__ = ["Coder", "key_coder", "with_key_coder"]
