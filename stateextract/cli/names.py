"""Names of operators and states for the shell's completion, out of the snapshot that stands on the command line.

Never fails: where the snapshot cannot be read there is nothing to complete. Imports nothing heavy before it is asked.
"""

from __future__ import annotations

import click


def operator_names(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """Uids (else names, else ids) of the operators that begin with what was typed; reads ``_metadata`` only."""
    try:
        from stateextract.api import open_snapshot

        snapshot = open_snapshot(context.params["path"])
        return sorted(o.label for o in snapshot.operators if o.label.startswith(typed))
    except Exception:
        return []


def state_names(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """Names of the states of ``--operator``, or of all operators; reads the heads of their files."""
    try:
        from stateextract.api import open_snapshot

        snapshot = open_snapshot(context.params["path"])
        operator = context.params.get("operator")
        states = snapshot.operator(operator).states if operator else snapshot.states
        return sorted({s.name for s in states if s.name.startswith(typed)})
    except Exception:
        return []


__all__ = ["operator_names", "state_names"]
