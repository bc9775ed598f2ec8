"""Rows as tables for people and as JSON for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stateextract.cli.values import text_value
from stateextract.columnar.json_values import json_value

if TYPE_CHECKING:
    from rich.console import Console


def json_rows(table: pa.Table) -> dict[str, Any]:
    """``schema`` and ``rows`` of a document."""
    columns = {name: [json_value(value) for value in table[name]] for name in table.column_names}
    return {
        "schema": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }


def print_rows(table: pa.Table, out: Console) -> None:
    """A line for each row."""
    from stateextract.cli.screen import table as made

    names = table.column_names
    rows = list(zip(*([text_value(value) for value in table[name]] for name in names), strict=True))
    numbers = [f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    out.print(made(names, rows, numbers))


__all__ = ["json_rows", "print_rows"]
