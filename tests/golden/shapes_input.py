"""The rows of the benchmarks' shapes as input of the job ``shapes``: the same content through Flink."""

from __future__ import annotations

import json
from pathlib import Path

SEED = 7
ROWS = 200
"""Rows of each shape; ``Feeds.java`` emits as many events."""


def write_shapes(path: Path) -> None:
    """One JSON array for each row: shape, row number, key, value (structs as objects, maps as lists of pairs).

    Needs numpy and pyarrow, as the benchmarks do.
    """
    from tests.writers.shapes import SHAPES, rows

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="ascii") as out:
        for shape in SHAPES:
            for number, row in enumerate(rows(shape, SEED, 0, ROWS).to_pylist()):
                out.write(json.dumps([shape, number, row["key"], row["value"]]) + "\n")
