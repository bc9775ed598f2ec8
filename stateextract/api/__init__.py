"""The Python API: a snapshot as an object, its states as Arrow.

Everything runs in this process, with the engine that the Spark job uses; Spark is not needed. ``docs/python-api.md``
shows it.
"""

from __future__ import annotations

from stateextract.api.listing import list_snapshots
from stateextract.api.snapshot import Operator, Snapshot, UnnamedState, open_snapshot
from stateextract.api.state import Coverage, State
from stateextract.api.validation import Finding

__all__ = ["Coverage", "Finding", "Operator", "Snapshot", "State", "UnnamedState", "list_snapshots", "open_snapshot"]
