"""How many processor cores this process may use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """How many processes or threads can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
