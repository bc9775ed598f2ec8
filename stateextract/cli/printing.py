"""What is printed for people: a console of rich, and tables that stay readable in a pipe.

Imported by commands when they have something to show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.markup import escape

from stateextract.cli.common_options import Settings
from stateextract.screen import UNLIMITED, Cell, Screen, TextTable


def operator_cell(row: Mapping[str, Any]) -> Cell:
    """The operator of a row of a table about a snapshot; what belongs to none is the job's."""
    label = row["operator_uid"] or row["operator_name"] or row["operator_id"] or "(job)"
    return Cell(str(label), of=row["operator_id"])


def console() -> Screen:
    """Standard output; where it is not a terminal, and with ``--wide``, a row stays one line however long."""
    out = Screen(highlight=False, emoji=False)
    context = click.get_current_context(silent=True)
    settings = context.find_object(Settings) if context is not None else None
    if not out.is_terminal or (settings is not None and settings.wide):
        out = Screen(highlight=False, emoji=False, width=UNLIMITED)
    return out


__all__ = ["Cell", "TextTable", "console", "escape", "operator_cell"]
