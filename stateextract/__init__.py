"""Reads Apache Flink's checkpoints and savepoints without Flink.

The Python API begins at :func:`open_snapshot`; ``docs/python-api.md`` shows it. Importing the package loads nothing
heavy: what the names below need is loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stateextract.errors import StateExtractError
from stateextract.version import VERSION as __version__

if TYPE_CHECKING:
    from stateextract.api import Coverage, Operator, Snapshot, State, UnnamedState, list_snapshots, open_snapshot

_LAZY = ("Coverage", "Operator", "Snapshot", "State", "UnnamedState", "list_snapshots", "open_snapshot")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from stateextract import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])


__all__ = [
    "Coverage",
    "Operator",
    "Snapshot",
    "State",
    "StateExtractError",
    "UnnamedState",
    "__version__",
    "list_snapshots",
    "open_snapshot",
]
