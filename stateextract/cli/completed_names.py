"""Names of operators and states for the shell's completion, out of the snapshot that is on the command line.

Never fails: where the snapshot cannot be read there is nothing to complete. Imports nothing heavy before it is asked.
"""

from __future__ import annotations

import os
from typing import Any

import click


def operator_names(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """Uids (else names, else ids) of the operators that begin with what was typed; reads ``_metadata`` only."""
    try:
        from stateextract.api import open_snapshot

        snapshot = open_snapshot(**_snapshot(_given(context)))
        return sorted(o.label for o in snapshot.operators if o.label.startswith(typed))
    except Exception:
        return []


def state_names(context: click.Context, _: click.Parameter, typed: str) -> list[str]:
    """Names of the states of ``--operator``, or of all operators; reads the heads of their files."""
    try:
        from stateextract.api import open_snapshot

        given = _given(context)
        snapshot = open_snapshot(**_snapshot(given))
        operators = [given["operator"]] if isinstance(given["operator"], str) else given["operator"] or ()
        states = [s for name in operators for s in snapshot.operator(name).states] if operators else snapshot.states
        return sorted({s.name for s in states if s.name.startswith(typed)})
    except Exception:
        return []


def _snapshot(given: dict[str, Any]) -> dict[str, Any]:
    """Which snapshot; where there are two, the later one."""
    checkpoint = int(given.get("checkpoint") or given.get("after_checkpoint") or 0)
    return {"path": given.get("path") or given["after"], "checkpoint": checkpoint, "job": given.get("job") or ""}


def _given(context: click.Context) -> dict[str, Any]:
    """What comes before the option whose value is being typed. click forgets it, as that option has none yet."""
    from click.shell_completion import split_arg_string

    words = split_arg_string(os.environ["COMP_WORDS"])[2:]
    at = max(i for i, word in enumerate(words) if word in ("--operator", "--state"))
    with context.command.make_context(context.info_name, words[:at], resilient_parsing=True) as made:
        return made.params
