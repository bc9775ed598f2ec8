"""The examples of docs/layouts.md are right, and no node is missing there."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from stateextract.columnar import layout as nodes
from stateextract.columnar.convert.logical import CONVERSIONS
from stateextract.columnar.interpreter import DECODERS, interpret
from stateextract.columnar.layout import binary
from tests.columnar.reference import same

PAGE = (Path(__file__).parents[2] / "docs" / "layouts.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"\| `([^|]+)` `([0-9a-f]+)` → `([^|]+)` \|$", PAGE, re.MULTILINE)
NAMES = {**vars(nodes), **vars(binary), "pa": pa}


@pytest.mark.parametrize(("layout", "data", "value"), EXAMPLES)
def test_example(layout: str, data: str, value: str) -> None:
    raw = bytes.fromhex(data)
    found, pos = interpret(eval(layout, dict(NAMES)), raw, 0, len(raw))
    assert same(found, eval(value, {}))
    assert pos == len(raw)


def test_every_row_is_an_example() -> None:
    lines = PAGE[PAGE.index("| node |") : PAGE.index("**No columns.**")].splitlines()
    rows = [line for line in lines if line.startswith("|") and not line.startswith(("| node |", "|---"))]
    assert len(EXAMPLES) == len(rows)


def test_no_node_and_no_conversion_is_missing() -> None:
    rows = re.findall(r"^\| `(\w+)", PAGE, re.MULTILINE)
    assert {node.__name__ for node in DECODERS} | {"SlotTimestamp"} <= set(rows)
    assert set(CONVERSIONS) <= set(rows)
