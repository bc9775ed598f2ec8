"""Columns that Parquet's encodings of differences make smaller, flat and nested, with nulls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs

from stateextract.job.writer import TaskWriter, WriterOptions


def differences(n: int) -> pa.Table:
    """Random values near each other. ``far`` has no order."""
    random = np.random.default_rng(1)
    near = (10**12 + random.integers(0, 10**6, n)).tolist()
    key = [f"key-{number:08d}" for number in range(n)]
    return pa.table(
        {
            "key": key,
            "near": pa.array([None if i % 7 == 3 else v for i, v in enumerate(near)]),
            "time": pa.array(near, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "day": pa.array([18_000 + i % 30 for i in range(n)], pa.int32()).cast(pa.date32()),
            "far": pa.array(random.integers(-(2**63), 2**63, n)),
            "s": pa.array([{"n": v, "t": k} for v, k in zip(near, key, strict=True)]),
            "l": pa.array([[v, v + i] for i, v in enumerate(near)]),
            "m": pa.array([[(k, v)] for v, k in zip(near, key, strict=True)], pa.map_(pa.string(), pa.int64())),
        }
    )


def write_differences(root: Path, table: pa.Table) -> Path:
    """The file that a task writes of the table."""
    writer = TaskWriter(pafs.LocalFileSystem(), str(root), "part", WriterOptions())
    for batch in table.to_batches():
        writer.add("d", batch)
    (file,) = writer.finish()
    return root / file.path
