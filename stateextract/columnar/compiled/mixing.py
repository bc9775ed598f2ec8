"""The mixer of 64 bits that the hashes of statistics and of comparisons are made with: Murmur3's last steps."""

from __future__ import annotations

import numpy as np

from stateextract.columnar.compiled.compile import compile_kernel

MIX_1, MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_33, _1 = np.uint64(33), np.uint64(1)


def _mix(x: np.uint64) -> np.uint64:
    """Mix 64 bits: each bit of the outcome depends on each of the value. Never 0."""
    x ^= x >> _33
    x *= MIX_1
    x ^= x >> _33
    x *= MIX_2
    x ^= x >> _33
    return x if x != 0 else _1


mix = compile_kernel(_mix)

__all__ = ["MIX_1", "MIX_2", "mix"]
