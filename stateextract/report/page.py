"""The page: one HTML file with its data, its code and its charts in it, which loads nothing else.

What came from a snapshot goes into one block of JSON that cannot end early, and from there into text nodes and canvases only.
The page's Content-Security-Policy names the hashes of the scripts and the style that are in it, and allows nothing else: no
other script, no connection, no picture.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from stateextract.audit.document import Statistics
from stateextract.audit.history.history_files import Recorded
from stateextract.errors import UsageError
from stateextract.report.page_data import page_model
from stateextract.report.page_texts import visible

SCRIPTS = (
    "format.js",
    "dom.js",
    "charts.js",
    "tables.js",
    "sizes.js",
    "owners.js",
    "growth.js",
    "overview.js",
    "state.js",
    "main.js",
)
"""The page's own code, in the order in which one uses the other."""
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def report_page(documents: Sequence[Statistics | Recorded], title: str | None = None) -> str:
    """The page of the newest of these statistics, and of how they came about.

    :param title: what is at its top; by default which snapshot it is.
    :raises UsageError: without any statistics, or for statistics that cannot be.
    """
    model = page_model(documents)
    title = visible(title or _title(model))
    style = _asset("style.css")
    echarts = files("stateextract.report").joinpath("echarts/echarts.js").read_text(encoding="utf-8")
    code = "(() => {\n" + "\n".join(_asset(name) for name in SCRIPTS) + "})();\n"
    policy = (
        f"default-src 'none'; script-src {_digest(echarts)} {_digest(code)}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": html.escape(title),
        "style": style,
        "data": embedded({**model, "title": title}),
        "echarts": echarts,
        "code": code,
    }
    pieces = _asset("page.html").split("%%")
    # Every second piece is a name, so that what is put in is never looked at again.
    return "".join(parts[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def embedded(value: Any) -> str:
    """JSON that may be inside of a ``script`` element: ASCII, without anything that HTML looks for.

    :raises UsageError: for a number that JSON does not have.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    except ValueError as error:
        raise UsageError(f"the statistics document has a figure that is not a number: {error}") from error


def _title(model: dict[str, Any]) -> str:
    snapshot = model["snapshot"]
    return f"{(snapshot['kind'] or 'snapshot').capitalize()} {snapshot['checkpoint_id']}"


def _asset(name: str) -> str:
    return files("stateextract.report").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
