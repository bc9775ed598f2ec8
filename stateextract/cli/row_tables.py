"""Rows as tables for people and as JSON for scripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from stateextract.cli.value_texts import text_value
from stateextract.columnar.arrow.json_values import json_value
from stateextract.printable import LONGEST_TEXT, json_document, named, replaced

if TYPE_CHECKING:
    from stateextract.screen import Screen


def json_rows(table: pa.Table) -> dict[str, Any]:
    """``schema`` and ``rows`` of a document."""
    columns = {name: [json_value(value) for value in table[name]] for name in table.column_names}
    return {
        "schema": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }


def print_document(
    document: Any, rows: Sequence[Mapping[str, Any]], format_: str, columns: Sequence[str] | None = None
) -> None:
    """What scripts read.

    :param document: for ``json``; :param rows: for ``csv`` and ``lines``.
    :param columns: their names, where there may be no row.
    """
    if format_ == "json":
        click.echo(json_document(document, indent=1))
    elif format_ == "lines":
        for row in rows:
            click.echo(json_document(row))
    elif rows or columns:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(replaced, rows[0] if rows else columns or ()))
        writer.writerows([_csv(value) for value in row.values()] for row in rows)
        click.echo(text.getvalue(), nl=False)


def _csv(value: Any) -> str:
    """A value in CSV: text as it is, nothing for null, and everything else as JSON."""
    if value is None:
        return ""
    return replaced(value) if isinstance(value, str) else json_document(value)


def print_rows(table: pa.Table, out: Screen, vertical: bool = False) -> None:
    """A line for each row.

    :param vertical: a line for each value.
    """
    if vertical:
        width = max(map(len, table.column_names), default=0)
        for number in range(table.num_rows):
            out.say(f"row {number + 1}")
            for name in table.column_names:
                out.say(f"  {named(name):{width}}  {text_value(table[name][number], LONGEST_TEXT)}")
        return
    from stateextract.cli.printing import TextTable

    names = table.column_names
    rows = list(zip(*([text_value(value) for value in table[name]] for name in names), strict=True))
    numbers = [f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    out.show(TextTable(names, rows, numbers, names=(), keys=1, group=False))
