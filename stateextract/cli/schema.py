"""``stateextract schema``: the columns of states, as Arrow and as Spark have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import format_option
from stateextract.cli.selection import (
    chosen_coordinators,
    chosen_states,
    coordinator_document,
    identity,
    opened,
    snapshot_options,
    state_options,
)
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, exit_code
from stateextract.printable import json_document, named

if TYPE_CHECKING:
    from stateextract.api import Operator, State


@click.command()
@state_options
@snapshot_options(UsedBy.ROWS)
@format_option
def schema(path: str, operator: str | None, name: str | None, scope: Any, format_: str, **options: Any) -> ExitCode:
    """Show the columns of states of the snapshot at PATH, with their Arrow and Spark SQL types.

    Without --operator and --state those of every state. A type that Spark does not have is shown as "-".
    """
    snapshot = opened(path, options)
    documents = [describe_coordinator(one) for one in chosen_coordinators(snapshot, operator, name)]
    documents = documents or [describe(state) for state in chosen_states(snapshot, operator, name, scope)]
    code = exit_code((document["status"] for document in documents), forecast=True)
    if format_ == "json":
        click.echo(json_document(documents, indent=1))
        return code
    from stateextract.cli.printing import TextTable, console, escape

    out = console()
    for number, document in enumerate(documents):
        if number:
            out.print()
        title = f"{named(document['operator_label'])} / {named(document['state_name'] or '(not known)')}"
        out.say(f"[bold cyan]{escape(title)}[/bold cyan]  {document['state_kind']}", markup=True)
        if document["columns"] is None:
            out.say(f"{document['status']}: {document['reason']}")
            continue
        rows = [[c["name"], c["arrow"], c["sql"] or "-"] for c in document["columns"]]
        out.show(TextTable(["column", "Arrow", "Spark SQL"], rows, names=["column"], keys=1))
    return code


def describe_coordinator(operator: Operator) -> dict[str, Any]:
    """The document of the state of an operator's coordinator."""
    from serializers.connectors import coordinator_type
    from stateextract.columnar.arrow.sql_names import sql_type

    columns = [{"name": "value", "arrow": str(coordinator_type()), "sql": sql_type(coordinator_type())}]
    return {**coordinator_document(operator), "columns": columns}


def describe(state: State) -> dict[str, Any]:
    """The document of one state; ``columns`` is ``None`` where they are not known, then ``reason`` says the reason."""
    from stateextract.columnar.arrow.sql_names import sql_type
    from stateextract.errors import StateExtractError

    columns, reason = None, state.coverage.reason
    try:
        columns = [{"name": f.name, "arrow": str(f.type), "sql": sql_type(f.type)} for f in state.schema]
    except StateExtractError as error:
        reason = str(error)
    return {**identity(state), "status": state.coverage.status, "reason": reason, "columns": columns}
