"""The examples of ``docs/spark-sql.md`` run, show what they say they show, and its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stateextract.spark.source_options import METADATA_OPTIONS, STATE_OPTIONS, markdown
from stateextract.spark.source_tables import SCHEMAS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "spark-sql.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|sql|text)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.spark
def test_examples(spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"spark": spark}
    shown = ""
    compared = 0
    try:
        for language, block in BLOCKS:
            capsys.readouterr()
            if language == "python":
                exec(block, names)
                shown = capsys.readouterr().out
            elif language == "sql":
                frame = spark.sql(block)
                if not block.startswith("CREATE"):
                    frame.show()
                shown = capsys.readouterr().out
            else:
                assert lines(shown) == lines(block)
                compared += 1
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert compared == sum(language == "text" for language, _ in BLOCKS) >= 7


def test_tables_of_options() -> None:
    assert markdown(STATE_OPTIONS) in PAGE
    assert markdown(METADATA_OPTIONS) in PAGE


@pytest.mark.parametrize("table", SCHEMAS)
def test_columns_of_tables(table: str) -> None:
    (row,) = re.findall(rf"^\| `{table}` \|.*$", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row)[1:] == SCHEMAS[table].names[4:]
