"""Plans as bytes: Spark carries them from one process of its own to the next, and none of them need import the project."""

from __future__ import annotations

import pickle
import zlib
from typing import Self


class Carried:
    """A plan that Spark carries."""

    def to_bytes(self) -> bytes:
        """For the next process."""
        return zlib.compress(pickle.dumps(self), 6)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of :meth:`to_bytes`; of bytes that Spark was given by this process's kin, and never of a file's."""
        plan: Self = pickle.loads(zlib.decompress(data))
        return plan
