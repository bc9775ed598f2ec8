"""The page of ``check``: what would become of each state in the new job, as HTML without scripts.

Takes rows and texts and returns the page. Every text is escaped; the page loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from stateextract.outcome import Verdict
from stateextract.printable import one_line

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;color:#1c2430;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;
border-bottom:1px solid #d8dee6}
td.n{text-align:right;white-space:nowrap}p.a{margin:.2rem 0 0;color:#4a5666}code{display:block;padding:.6rem;background:#f1f4f8;
overflow-wrap:anywhere}.bad{color:#a4161a}.doubt{color:#8a5a00}.good{color:#1b6e3c}
@media(prefers-color-scheme:dark){body{color:#e4e9f0;background:#12161c}th,td{border-color:#333c48}p.a{color:#a9b4c2}
code{background:#1d242d}.bad{color:#ff8c8c}.doubt{color:#f0c060}.good{color:#7bd6a0}}
"""
_CLASSES = {
    Verdict.AS_IS: "good", Verdict.MIGRATED: "good", Verdict.UNKNOWN: "doubt", Verdict.LOSES: "bad", Verdict.REFUSED: "bad",
}  # fmt: skip
_COLUMNS = ("operator", "state", "kind", "verdict", "phase", "rows", "size", "reason, and what to do")


class CheckRow(NamedTuple):
    """One state, in texts."""

    operator: str
    state: str
    kind: str
    verdict: Verdict
    phase: str
    rows: str
    size: str
    reason: str
    advice: str


def check_page(
    title: str, summary: str, rows: Sequence[CheckRow], assumptions: Sequence[str], command: str | None
) -> str:
    """Return the page. :param command: extracts the states that do not restore; ``None``: there are none."""
    lines = "".join(map(_row, rows))
    extract = "" if command is None else f"<h2>Extract what does not restore</h2><code>{_text(command)}</code>"
    assumed = f"<h2>Assumed</h2><ul>{''.join(f'<li>{_text(one)}</li>' for one in assumptions)}</ul>" if assumptions else ""
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><h1>{_text(title)}</h1>'
        f"<p>{_text(summary)}</p><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{extract}{assumed}"
        "</body></html>\n"
    )


def _row(row: CheckRow) -> str:
    plain = "".join(f"<td>{_text(text)}</td>" for text in (row.operator, row.state, row.kind))
    advice = f'<p class="a">What to do: {_text(row.advice)}</p>' if row.advice else ""
    return (
        f'<tr>{plain}<td class="{_CLASSES[row.verdict]}">{_text(row.verdict)}</td><td>{_text(row.phase)}</td>'
        f'<td class="n">{_text(row.rows)}</td><td class="n">{_text(row.size)}</td><td>{_text(row.reason)}{advice}</td></tr>'
    )


def _text(text: str) -> str:
    return escape(one_line(text))
