"""``scripts/matrix``: which pairs it runs, and that the page has its table."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

import pytest

from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def matrix() -> Any:
    loader = SourceFileLoader("matrix", str(ROOT / "scripts" / "matrix"))
    module = module_from_spec(spec_from_loader("matrix", loader))  # type: ignore[arg-type]
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = written
    return module


def test_pairs(matrix: Any) -> None:
    assert matrix.pairs(["3.5", "4.0", "4.3"], ["3.11", "3.13"], False) == [
        ("3.5", "3.11"), ("4.0", "3.11"), ("4.3", "3.11"), ("4.3", "3.13"),
    ]  # fmt: skip
    every = matrix.pairs(list(matrix.RELEASES), list(matrix.PYTHONS), True)
    assert [python for spark, python in every if spark == "3.5"] == ["3.11"]
    assert ("4.0", "3.14") not in every


def test_the_page_has_its_table(matrix: Any) -> None:
    result = {"passed": 38, "failed": 0, "skipped": 3, "seconds": 9, "day": "2026-11-29", "of": ""}
    made = matrix.table_of({"3.5 3.11": result}).splitlines()
    assert "| 3.5.9 | 38 passed, 3 skipped | not run | not run | not run |" in made
    written = matrix.PAGE.read_text(encoding="utf-8").partition(matrix.BEGIN)[2].partition(matrix.END)[0].splitlines()
    rows = len(matrix.RELEASES) + 2
    assert written[:2] == made[:2]
    assert [row.split(" | ")[0] for row in written[2:rows]] == [row.split(" | ")[0] for row in made[2:rows]]
