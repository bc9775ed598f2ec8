"""``stateextract kafka-offsets``: where a job reads on in Kafka. The table is that of Spark's ``flink-state-metadata``."""

from __future__ import annotations

from typing import Any

import click

from stateextract.cli.common_options import rows_format_option
from stateextract.cli.selection import opened, operator_option, snapshot_options
from stateextract.outcome import ExitCode, Status, exit_code
from stateextract.printable import pluralize


@click.command("kafka-offsets")
@operator_option
@snapshot_options()
@rows_format_option
def kafka_offsets(path: str, operator: str | None, format_: str, **options: Any) -> ExitCode:
    """List the offsets that the Kafka sources of the snapshot at PATH keep, one line for each partition.

    Next is the offset of the record that Flink reads first after a restore. What may have offsets and cannot be read has a line
    with the reason, and the exit code is 3.
    """
    table = opened(path, options).kafka_offsets(operator)
    rows = table.to_pylist()
    if format_ != "text":
        from stateextract.cli.row_tables import print_document

        print_document(rows, rows, format_, table.column_names)
    else:
        _show(rows)
    return exit_code(Status(row["status"]) for row in rows)


def _show(rows: list[dict[str, Any]]) -> None:
    from stateextract.cli.printing import Cell, TextTable, console, operator_cell

    cells = [
        [
            operator_cell(row),
            row["source"] or "",
            row["cluster_id"] or "",
            row["topic"] or "",
            _text(row["partition"]),
            _text(row["subtask"]),
            row["start_offset_name"] or _text(row["next_offset"]),
            row["stop_offset_name"] or _text(row["stop_offset"]),
            Cell(row["status"], row["reason"]),
        ]
        for row in rows
    ]
    columns = ["operator", "source", "cluster", "topic", "partition", "subtask", "next", "stop", "status"]
    out = console()
    if cells:
        out.show(TextTable(columns, cells, ["partition", "subtask", "next", "stop"], names=["operator", "topic"], keys=1))
    found = [row for row in rows if row["topic"] is not None]
    topics = {(row["cluster_id"], row["topic"]) for row in found}
    lead = "\n" if cells else ""
    out.say(f"{lead}{pluralize(len(found), 'partition')} of {pluralize(len(topics), 'topic')}.")


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
