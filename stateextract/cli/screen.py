"""What is printed for people: a console of rich, and tables that stay readable in a pipe.

Imported by commands when they have something to show.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from typing import NoReturn

from rich.markup import escape
from rich.table import Table

from stateextract.job.screen import Screen

_PIPE_WIDTH = 100_000  # what is cut into lines of its own cannot be looked for by grep, or copied


class _Output(Screen):
    """Standard output. That nobody reads it is for the command line to say; rich would end the process on its own."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console() -> Screen:
    """Standard output; where it is not a terminal a row stays one line however long."""
    out = _Output(highlight=False, emoji=False)
    if not out.is_terminal:
        out = _Output(highlight=False, emoji=False, width=_PIPE_WIDTH)
    return out


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> Table:
    """A plain table; ``right`` names the columns of numbers."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        made.add_column(escape(name), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(escape(cell.replace("\n", "\\n")) for cell in row))
    return made


__all__ = ["console", "escape", "table"]
