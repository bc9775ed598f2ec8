"""The tables of ``docs/spark-sql.md`` are those of the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from stateextract.spark.source_options import DIFF_OPTIONS, METADATA_OPTIONS, STATE_OPTIONS, STREAM_OPTIONS
from stateextract.spark.source_tables import SCHEMAS

ROOT = Path(__file__).resolve().parents[2]
markdown = runpy.run_path(str(ROOT / "scripts" / "spark_options.py"))["markdown"]
PAGE = (ROOT / "docs" / "spark-sql.md").read_text(encoding="utf-8")


def test_tables_of_options() -> None:
    assert markdown(STATE_OPTIONS) in PAGE
    assert markdown(METADATA_OPTIONS) in PAGE
    assert markdown(DIFF_OPTIONS) in PAGE
    streaming = (ROOT / "docs" / "streaming.md").read_text(encoding="utf-8")
    assert streaming.endswith(markdown([option for option in STREAM_OPTIONS if option not in DIFF_OPTIONS]))


def test_the_table_of_options() -> None:
    lines = markdown(STATE_OPTIONS).splitlines()
    assert len(lines) == 2 + len(STATE_OPTIONS)
    assert "| `splitBytes` | `128 MB` | State that one task reads. A key group is never split. |" in lines
    assert (
        "| `wide` | `false` | One row per key and namespace, with a column for each keyed state of the operator. |"
        in lines
    )


@pytest.mark.parametrize("table", SCHEMAS)
def test_columns_of_tables(table: str) -> None:
    (row,) = re.findall(rf"^\| `{table}` \|.*$", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row)[1:] == SCHEMAS[table].names[4:]
