"""``stateextract files``: which files a snapshot consists of. The table is that of Spark's ``flink-state-metadata``."""

from __future__ import annotations

from typing import Any

import click

from stateextract.cli.common_options import complain, rows_format_option
from stateextract.cli.selection import operator_option, read_options, snapshot_options
from stateextract.outcome import ExitCode, Status, exit_code
from stateextract.printable import pluralize


@click.command()
@operator_option
@snapshot_options()
@rows_format_option
def files(path: str, operator: str | None, format_: str, **options: Any) -> ExitCode:
    """List the files of the snapshot at PATH: which subtask's, of which key groups, how large, and where they are.

    A line is a stream of bytes that a handle refers to: a file, a part of one, or bytes inside of _metadata. With
    a file that is missing or not as large as it should be the command goes on, and its exit code is 1.
    """
    from stateextract.snapshot.missing import MissingFiles
    from stateextract.snapshot.tables import SCHEMAS, SnapshotTables

    tables = SnapshotTables(read_options(path, options))
    names = SCHEMAS["files"].names
    rows = [{name: row.get(name) for name in names} for row in tables.files(operator)]
    if format_ != "text":
        from stateextract.cli.row_tables import print_document

        print_document(rows, rows, format_)
    else:
        _show(rows, tables.found.metadata_uri)
    missing = {str(row["file_path"] or row["stream_kind"]) for row in rows if row["problem"] is not None}
    if missing:
        every = missing | {row["file_path"] for row in rows if row["file_path"] is not None}
        complain(f"Error: {MissingFiles(len(every), tuple(missing)).sentence}.")
    return exit_code([Status.MISSING if missing else Status.SOUND], check=True)


def _show(rows: list[dict[str, Any]], metadata: str) -> None:
    from stateextract.cli.printing import Cell, TextTable, console, operator_cell
    from stateextract.cli.sizes import text_size

    folder = metadata.rpartition("/")[0] + "/"
    cells = [
        [
            operator_cell(row),
            "" if row["subtask"] is None else str(row["subtask"]),
            row["handle_role"].replace("_", " "),
            row["stream_kind"],
            "" if row["first_key_group"] is None else f"{row['first_key_group']}-{row['last_key_group']}",
            row["local_name"] or "",
            text_size(row["size_in_bytes"]),
            Cell("missing", row["problem"]) if row["problem"] else (row["found_path"] or "in _metadata").removeprefix(folder),
        ]
        for row in rows
    ]
    columns = ["operator", "subtask", "state", "stream", "key groups", "name", "size", "where"]
    out = console()
    out.show(TextTable(columns, cells, ["subtask", "size"], names=["operator", "name", "where"], keys=1))
    # What handles share counts once.
    ranges = [(row["file_path"] or at, row["file_offset"]) for at, row in enumerate(rows)]
    sizes = dict(zip(ranges, (row["stream_size_in_bytes"] for row in rows), strict=True))
    more = f" ({pluralize(len(rows), 'reference')} to them)" if len(rows) > len(sizes) else ""
    out.say(f"\n{pluralize(len(sizes), 'stream')}{more}, {text_size(sum(sizes.values()))}, in {folder}")
