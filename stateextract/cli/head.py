"""``stateextract head``: the first rows of a state. Reads no more than they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import rows_format_option
from stateextract.cli.selection import (
    document_of,
    metered,
    opened,
    snapshot_options,
    state_options,
    the_coordinator,
    the_operator,
    the_states,
)
from stateextract.columnar.arrow.without_pandas import without_pandas
from stateextract.errors import UsageError
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, Status, exit_code
from stateextract.printable import named, there_is

if TYPE_CHECKING:
    import pyarrow as pa

    from stateextract.api import Operator, State


@click.command()
@state_options
@click.option("-n", "--rows", "limit", type=click.IntRange(min=0), default=10, show_default=True, help="How many rows.")
@click.option("--columns", metavar="NAME,…", help="Show these columns only, comma-separated and in this order.")
@click.option("--vertical", is_flag=True, help="Print a line for each value instead of each row.")
@snapshot_options(UsedBy.ROWS)
@rows_format_option
def head(
    path: str,
    operator: str | None,
    name: str | None,
    scope: Any,
    limit: int,
    columns: str | None,
    vertical: bool,
    format_: str,
    **options: Any,
) -> ExitCode:
    """Show the first rows of a state of the snapshot at PATH.

    Rows come in the order of the files: by subtask and key group, within a key group in none.
    """
    without_pandas()
    snapshot = opened(path, options)
    coordinator = the_coordinator(snapshot, operator, name)
    if coordinator is None:
        found = _states(the_operator(snapshot, operator), name, scope, limit)
    else:
        found = _FirstRows({**coordinator[0], "complete": True}, coordinator[1])
    table = found.table
    if columns:
        table = table.select(_columns(columns, table.column_names))
    if format_ != "text":
        from stateextract.cli.row_tables import json_rows, print_document

        document = {**found.document, **json_rows(table)}
        print_document(document, document["rows"], format_, table.column_names)
    else:
        _show(found, table, limit, vertical)
    return exit_code([found.document["status"]])


@dataclass
class _FirstRows:
    """The first rows, and which state they are of."""

    document: dict[str, Any]
    table: pa.Table
    untyped: bool = False


def _states(operator: Operator, name: str | None, scope: Any, limit: int) -> _FirstRows:
    """The first rows of a state, or of all timers."""
    import pyarrow as pa

    states = the_states(operator, name, scope)
    tables: list[pa.Table] = []
    for state in states:
        with metered("head", state):
            tables.append(_rows(state, limit - sum(table.num_rows for table in tables)))
    document = {**document_of(states, name), "complete": all(state.coverage.complete for state in states)}
    return _FirstRows(document, pa.concat_tables(tables), any(state.untyped for state in states))


def _columns(text: str, known: list[str]) -> list[str]:
    """The columns of ``--columns``.

    :raises UsageError: for one that is not there, or there twice.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(f"--columns: no column is called {name!r}", advice=there_is(name, known, "columns"))
    if len(set(names)) != len(names):
        twice = max(names, key=names.count)
        raise UsageError(f"--columns names {twice!r} twice", expected="each column once")
    return names


def _rows(state: State, limit: int) -> pa.Table:
    """The first rows; the raw ones of a state of which there are no others."""
    import pyarrow as pa

    if state.coverage.status != "raw":
        return state.to_table(limit)
    reader = state.raw_batches()
    batches: list[pa.RecordBatch] = []
    for batch in reader if limit else ():
        batches.append(batch.slice(0, limit - sum(b.num_rows for b in batches)))
        if sum(b.num_rows for b in batches) >= limit:
            break
    return pa.Table.from_batches(batches, reader.schema)


def _show(found: _FirstRows, table: pa.Table, limit: int, vertical: bool) -> None:
    from stateextract.cli.printing import console
    from stateextract.cli.row_tables import print_rows

    out = console()
    print_rows(table, out, vertical)
    document = found.document
    if document["complete"] and table.num_rows < limit:
        out.say(f"\nAll rows of {document['state_kind']} state {named(document['state_name'])}: {table.num_rows:,}.")
    if document["reason"] and document["status"] != Status.DECODED:
        out.say(f"{document['status']}: {document['reason']}")
    if found.untyped:
        from stateextract.snapshot.coverage import UNTYPED

        out.say(f"Note: {UNTYPED}.")
