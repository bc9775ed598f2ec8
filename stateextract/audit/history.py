"""History: the figures of several snapshots side by side, one row per snapshot, operator and state, in a Parquet file.

Comes of statistics documents; the document itself stands in no row. May import the document only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stateextract.audit.document import Operator, State, Statistics
from stateextract.errors import OutputError, UsageError

_I64, _F64, _TEXT = pa.int64(), pa.float64(), pa.string()
_TIME = pa.timestamp("ms", "UTC")
SCHEMA = pa.schema(
    [
        ("snapshot_path", _TEXT), ("checkpoint_id", _I64), ("taken", _TIME), ("operator_uid_hash", _TEXT),
        ("operator_label", _TEXT), ("state_name", _TEXT), ("state_kind", _TEXT), ("status", _TEXT), ("row_count", _I64),
        ("distinct_keys", _I64), ("file_bytes", _I64), ("decoded_bytes", _I64), ("key_group_skew", _F64),
        ("largest_key_bytes", _I64), ("largest_value_bytes", _I64), ("expired", _I64), ("past", _I64),
    ]
)  # fmt: skip
"""The columns of the dataset."""


@dataclass(frozen=True)
class Growth:
    """A state between two snapshots; 0 rows and bytes where it was not there."""

    operator: str
    state: str
    kind: str
    rows: tuple[int, int]
    decoded_bytes: tuple[int, int]


def table_of(documents: Iterable[Statistics]) -> pa.Table:
    """The rows of documents, in the order of checkpoints."""
    ordered = sorted(documents, key=lambda d: (d.snapshot.taken_ms or 0, d.snapshot.checkpoint_id))
    rows = [_row(document, operator, state) for document in ordered for operator, state in document.states]
    return pa.Table.from_pylist(rows, SCHEMA)


def _row(document: Statistics, operator: Operator, state: State) -> dict[str, Any]:
    skew = state.skew.key_groups if state.skew is not None else None
    values = (
        document.snapshot.path, document.snapshot.checkpoint_id, document.snapshot.taken_ms, operator.operator_id,
        operator.label, state.state, state.kind, state.status, state.rows,
        state.distinct_keys.count if state.distinct_keys is not None else None, state.file_bytes, state.decoded_bytes,
        skew.max_over_mean if skew is not None else None,
        state.biggest_keys[0].bytes if state.biggest_keys else None,
        state.biggest_values[0].bytes if state.biggest_values else None,
        state.ttl.expired if state.ttl is not None else None, state.times.past if state.times is not None else None,
    )  # fmt: skip
    return dict(zip(SCHEMA.names, values, strict=True))


def write_history(documents: Iterable[Statistics], path: str) -> pa.Table:
    """Write the rows of documents as a Parquet file.

    :raises OutputError: where that is impossible.
    """
    table = table_of(documents)
    try:
        pq.write_table(table, path)
    except OSError as error:
        raise OutputError(f"it cannot be written: {error}", file=path) from error
    return table


def read_history(path: str) -> pa.Table:
    """What :func:`write_history` wrote.

    :raises UsageError: where it is something else.
    """
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"{path} is no history: {error}") from error
    if table.schema.names != SCHEMA.names:
        raise UsageError(f"{path} is no history", advice="write it by stateextract history")
    return table


def growth(table: pa.Table) -> Sequence[Growth]:
    """How states changed from the first snapshot to the last."""
    rows = table.to_pylist()
    if not rows:
        return []
    first, last = rows[0]["snapshot_path"], rows[-1]["snapshot_path"]
    found: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    labels = {}
    for row in rows:
        if row["snapshot_path"] in (first, last) and row["state_name"] is not None:
            key = row["operator_uid_hash"], row["state_name"], row["state_kind"]
            labels[key] = row["operator_label"]
            sides = found.setdefault(key, [(0, 0), (0, 0)])
            for side, path in enumerate((first, last)):
                if row["snapshot_path"] == path:
                    sides[side] = row["row_count"], row["decoded_bytes"]
    return [
        Growth(labels[key], key[1], key[2], (a[0], b[0]), (a[1], b[1])) for key, (a, b) in found.items()
    ]  # fmt: skip


__all__ = ["SCHEMA", "Growth", "growth", "read_history", "table_of", "write_history"]
