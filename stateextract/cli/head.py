"""``stateextract head``: the first rows of a state. Reads no more than they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.options import rows_format_option
from stateextract.cli.quick import without_pandas
from stateextract.cli.reading import (
    MEANING,
    identity,
    metered,
    opened,
    snapshot_options,
    state_options,
    the_operator,
    the_state,
)
from stateextract.errors import UsageError
from stateextract.outcome import ExitCode, exit_code
from stateextract.printable import named, there_is

if TYPE_CHECKING:
    import pyarrow as pa

    from stateextract.api import State


@click.command()
@state_options
@click.option("-n", "--rows", "limit", type=click.IntRange(min=0), default=10, show_default=True, help="How many rows.")
@click.option("--columns", metavar="NAME,…", help="Show these columns only, comma-separated and in this order.")
@click.option("--vertical", is_flag=True, help="Print a line for each value instead of each row.")
@snapshot_options(*MEANING)
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
    state = the_state(the_operator(opened(path, options), operator), name, scope)
    with metered("head", state):
        table = _rows(state, limit)
    if columns:
        table = table.select(_columns(columns, table.column_names))
    if format_ != "text":
        from stateextract.cli.rows import print_document

        document = describe(state, table)
        print_document(document, document["rows"], format_, table.column_names)
    else:
        _show(state, table, limit, vertical)
    return exit_code([state.coverage.status])


def _columns(text: str, known: list[str]) -> list[str]:
    """The columns of ``--columns``.

    :raises UsageError: for one that there is not.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UsageError(f"--columns: no column is called {name!r}", advice=there_is(name, known, "columns"))
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


def describe(state: State, table: pa.Table) -> dict[str, Any]:
    """The document of ``--format json``."""
    from stateextract.cli.rows import json_rows

    return {
        **identity(state),
        "status": state.coverage.status,
        "reason": state.coverage.reason,
        "complete": state.coverage.complete,
        **json_rows(table),
    }


def _show(state: State, table: pa.Table, limit: int, vertical: bool) -> None:
    from stateextract.cli.rows import print_rows
    from stateextract.cli.screen import console

    out = console()
    print_rows(table, out, vertical)
    coverage = state.coverage
    if coverage.complete and table.num_rows < limit:
        out.say(f"\nAll rows of {state.kind} state {named(state.name)}: {table.num_rows:,}.")
    if coverage.reason and coverage.status != "decoded":
        out.say(f"{coverage.status}: {coverage.reason}")


__all__ = ["describe", "head"]
