"""``stateextract count``: how many rows states have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.options import format_option
from stateextract.cli.quick import without_pandas
from stateextract.cli.reading import chosen_states, identity, metered, opened, snapshot_options, state_options
from stateextract.outcome import ExitCode, Status, exit_code
from stateextract.printable import json_document

if TYPE_CHECKING:
    from stateextract.api import State


@click.command()
@state_options
@snapshot_options("flatten", "keep_empty_maps", "all_copies")
@format_option
def count(path: str, operator: str | None, name: str | None, scope: Any, format_: str, **options: Any) -> ExitCode:
    """Count the rows of states of the snapshot at PATH, exactly.

    Without --operator and --state those of every state. Counts that stand in the files are read there; otherwise
    entries are walked without being decoded. A state that cannot be counted is shown with the reason. The exit code is 3 then,
    or 1 if none can be counted.
    """
    without_pandas()
    states = chosen_states(opened(path, options), operator, name, scope)
    documents = []
    for state in states:
        with metered(f"count {state.name}", state):
            documents.append(describe(state))
    if format_ == "json":
        click.echo(json_document(documents, indent=1))
    else:
        from stateextract.cli.screen import console, table

        rows = [
            [
                d["operator_label"],
                d["state_name"] or "(not known)",
                d["state_kind"],
                "" if d["rows"] is None else f"{d['rows']:,}",
                f"{d['status']}: {d['reason']}" if d["reason"] else "",
            ]
            for d in documents
        ]
        columns = ["operator", "state", "kind", "rows", "why not"]
        if not any(d["reason"] for d in documents):
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        console().print(table(columns, rows, ["rows"]))
    return exit_code(d["status"] for d in documents)


def describe(state: State) -> dict[str, Any]:
    """The document of one state; ``rows`` is ``None`` where they cannot be counted, then ``reason`` says the reason."""
    from stateextract.errors import StateExtractError

    rows, why, status = None, None, Status.DECODED
    try:
        rows = state.count()
    except StateExtractError as error:
        why, status = str(error), error.status
    return {
        **identity(state),
        "rows": rows,
        "status": status,
        "reason": why,
    }


__all__ = ["count", "describe"]
