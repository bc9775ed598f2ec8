"""Several snapshots side by side: a row per state, and what grew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stateextract.audit.document import Snapshot, Statistics, Totals
from stateextract.audit.history import Growth, growth, read_history, write_history
from stateextract.errors import OutputError, UsageError
from tests.audit.test_document import DOCUMENT, NAMELESS, STATE


def at(number: int, rows: int | None) -> Statistics:
    states = [] if rows is None else [replace(STATE, rows=rows, decoded_bytes=10 * rows), NAMELESS]
    other = replace(STATE, state="other", rows=number, decoded_bytes=number)
    operator = replace(DOCUMENT.operators[0], states=[*states, other])
    return Statistics(
        "0", Snapshot(f"/chk-{number}", number, 6, None, 1000 * number), 0, Totals(1, 1, 0, 0, 0), [operator]
    )


def test_rows_and_growth(tmp_path: Path) -> None:
    file = str(tmp_path / "history.parquet")
    table = write_history([at(3, 40), at(1, None), at(2, 7)], file)
    assert read_history(file) == table
    assert table["checkpoint_id"].to_pylist() == [1, 2, 2, 2, 3, 3, 3]
    row = table.to_pylist()[4]
    assert (row["state_name"], row["row_count"], row["decoded_bytes"], row["distinct_keys"]) == ("totals", 40, 400, 10)
    assert (row["key_group_skew"], row["largest_key_bytes"], row["largest_value_bytes"]) == (2.5, 8, 9)
    assert (row["expired"], row["past"]) == (4, 0)
    assert growth(table) == [
        Growth("totals", "other", "VALUE", (1, 3), (1, 3)),
        Growth("totals", "totals", "VALUE", (0, 40), (0, 400)),
    ]
    assert growth(table.slice(0, 0)) == []


def test_what_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no history"):
        read_history(str(tmp_path / "nothing"))
    with pytest.raises(OutputError, match="cannot be written"):
        write_history([at(1, 1)], str(tmp_path / "no" / "where"))
