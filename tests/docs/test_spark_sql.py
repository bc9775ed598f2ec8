"""The tables of ``docs/spark-sql.md`` are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stateextract.spark.source_options import DIFF_OPTIONS, METADATA_OPTIONS, STATE_OPTIONS, STREAM_OPTIONS, markdown
from stateextract.spark.source_tables import SCHEMAS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "spark-sql.md").read_text(encoding="utf-8")


def test_tables_of_options() -> None:
    assert markdown(STATE_OPTIONS) in PAGE
    assert markdown(METADATA_OPTIONS) in PAGE
    assert markdown(DIFF_OPTIONS) in PAGE
    streaming = (ROOT / "docs" / "streaming.md").read_text(encoding="utf-8")
    assert streaming.endswith(markdown([option for option in STREAM_OPTIONS if option not in DIFF_OPTIONS]))


@pytest.mark.parametrize("table", SCHEMAS)
def test_columns_of_tables(table: str) -> None:
    (row,) = re.findall(rf"^\| `{table}` \|.*$", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row)[1:] == SCHEMAS[table].names[4:]
