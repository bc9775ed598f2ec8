"""docs/performance.md is made of benchmarks/results.json, and each benchmark has a section."""

from __future__ import annotations

import importlib
import json

import pytest

from benchmarks.__main__ import BENCHMARKS, PAGE, RESULTS, verdicts
from benchmarks.measuring import Measurement, number
from benchmarks.page import SECTIONS, performance_page


@pytest.mark.skipif(not RESULTS.exists(), reason="there are no results of python -m benchmarks --write-docs")
def test_the_page_is_made_of_the_results() -> None:
    document = json.loads(RESULTS.read_text())
    assert PAGE.read_text(encoding="utf-8") == performance_page(document), (
        "run python -m benchmarks --write-docs --from FILE"
    )
    assert verdicts(document)


def test_each_benchmark_has_a_section_and_a_function() -> None:
    assert tuple(SECTIONS) == BENCHMARKS
    for name in BENCHMARKS:
        assert callable(importlib.import_module(f"benchmarks.{name}").benchmark)


def test_verdicts_and_numbers() -> None:
    assert Measurement("a", "b", 1.0, "s", 2.0).verdict == "met"
    assert Measurement("a", "b", 1.0, "s", 2.0, at_least=True).verdict == "missed"
    assert Measurement("a", "b", 1.0).verdict == ""
    assert [number(v) for v in (0, 0.1234, 1.234, 12.34, 123.4, 12345.6)] == [
        "0",
        "0.123",
        "1.23",
        "12.3",
        "123",
        "12,346",
    ]
