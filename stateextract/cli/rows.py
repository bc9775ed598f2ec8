"""Rows as tables for people and as JSON for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stateextract.cli.values import text_value
from stateextract.columnar.json_values import json_value

if TYPE_CHECKING:
    from stateextract.job.screen import Screen


def json_rows(table: pa.Table) -> dict[str, Any]:
    """``schema`` and ``rows`` of a document."""
    columns = {name: [json_value(value) for value in table[name]] for name in table.column_names}
    return {
        "schema": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }


def print_rows(table: pa.Table, out: Screen) -> None:
    """A line for each row."""
    from stateextract.cli.screen import Table

    names = table.column_names
    rows = list(zip(*([text_value(value) for value in table[name]] for name in names), strict=True))
    numbers = [f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    out.show(Table(names, rows, numbers, names=(), keys=1, group=False))


__all__ = ["json_rows", "print_rows"]
