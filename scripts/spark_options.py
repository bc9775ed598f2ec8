"""The tables of options of the Spark data sources in ``docs/spark-sql.md`` and ``docs/streaming.md``."""

from __future__ import annotations

from collections.abc import Sequence

from stateextract.options import show_size
from stateextract.spark.source_options import Option


def markdown(known: Sequence[Option]) -> str:
    """A table of options for the documentation."""
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for option in known:
        doc = option.doc.replace("|", r"\|")
        if any(option.choices):
            doc += " One of " + ", ".join(f"`{c}`" for c in option.choices if c) + "."
        lines.append(f"| `{option.name}` | {_shown(option)} | {doc} |")
    return "\n".join(lines) + "\n"


def _shown(option: Option) -> str:
    if option.kind == "flag":
        return f"`{str(option.default).lower()}`"
    if option.kind == "bytes":
        return f"`{show_size(option.default)}`"
    return f"`{option.default}`" if option.default not in ("", (), None) else ""
