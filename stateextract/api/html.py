"""Tables for notebooks: what ``_repr_html_`` of snapshots, operators and states gives. Names are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stateextract.printable import named

MOST = 100
"""Rows of a table; of more it says how many there are."""


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a title, as HTML; of cells that are ``None`` nothing is shown."""
    from html import escape  # loads the names of all entities

    def line(tag: str, cells: Sequence[object]) -> str:
        texts = ("" if cell is None else escape(named(str(cell))) for cell in cells)
        return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"

    rows = list(rows)
    lines = [line("td", row) for row in rows[:MOST]]
    more = f"<p>and {len(rows) - MOST:,} more</p>" if len(rows) > MOST else ""
    return (
        f"<p>{escape(named(title))}</p><table><thead>{line('th', columns)}</thead><tbody>{''.join(lines)}</tbody></table>{more}"
    )
