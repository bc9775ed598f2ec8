"""How much tests try that take any number of random cases: ``scripts/long`` tries ten times as much as ``scripts/test``."""

from __future__ import annotations

import os

DEPTH = int(os.environ.get("STATEEXTRACT_DEPTH", "1"))


def examples(usually: int) -> int:
    """How many random cases a test tries."""
    return usually * DEPTH


__all__ = ["examples"]
