"""``stateextract states``: a line for each state of a snapshot. The table is that of Spark's ``flink-state-metadata``."""

from __future__ import annotations

from typing import Any

import click

from stateextract.cli.common_options import rows_format_option
from stateextract.cli.selection import read_options, snapshot_options
from stateextract.outcome import ExitCode, exit_code
from stateextract.printable import pluralize


@click.command()
@snapshot_options()
@rows_format_option
def states(path: str, format_: str, **options: Any) -> ExitCode:
    """List the states of the snapshot at PATH, one line each.

    What has no name (coordinators, in-flight data) is listed too, with why it is not read.
    """
    from stateextract.cli.progress import HeadersBar
    from stateextract.snapshot.tables import SnapshotTables

    rows = list(SnapshotTables(read_options(path, options), on_headers=HeadersBar()).states())
    code = exit_code((row["status"] for row in rows), forecast=True)
    if format_ != "text":
        from stateextract.cli.row_tables import print_document

        print_document(rows, rows, format_)
        return code
    from stateextract.cli.printing import Cell, TextTable, console, operator_cell
    from stateextract.cli.sizes import text_size

    columns = ["operator", "state", "kind", "form", "files", "size", "status"]
    cells = [
        [
            operator_cell(row),
            row["state_name"] or "",
            row["state_kind"] or "",
            row["form"] or "",
            str(row["handle_count"]),
            "" if row["size_in_bytes"] is None else text_size(row["size_in_bytes"]),
            Cell(row["status"], row["reason"]),
        ]
        for row in rows
    ]
    out = console()
    out.show(TextTable(columns, cells, ["files", "size"]))
    python = sum((row["state_role"] or "").startswith("PyFlink") for row in rows)
    if python:
        out.say(f"\n{pluralize(python, 'state')} of PyFlink. A snapshot does not have the types of their bytes; "
                "stateextract types --suggest PATH guesses them.")  # fmt: skip
    return code
