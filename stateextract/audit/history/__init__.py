"""The rows of a history: one for each snapshot, operator and state, with what statistics know of it as columns.

Comes of statistics documents and may import the document only. How rows become files is in ``history_files.py``, what grew
from snapshot to snapshot in ``growth.py``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from stateextract.audit.document import (
    ColumnDocument,
    OperatorDocument,
    Skew,
    SnapshotDocument,
    StateDocument,
    Statistics,
)

READ = ("decoded", "partial")
"""Statuses of states whose statistics say something."""

_I32, _I64, _F64, _TEXT, _BOOL = pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_()
COLUMN = pa.struct(
    [
        ("name", _TEXT), ("type", _TEXT), ("row_count", _I64), ("null_count", _I64), ("null_share", _F64),
        ("nan_count", _I64), ("min", _TEXT), ("max", _TEXT), ("distinct_count", _I64), ("distinct_exact", _BOOL),
        ("quantiles", pa.list_(pa.struct([("q", _F64), ("value", _TEXT)]))),
        ("min_length", _I64), ("mean_length", _F64), ("max_length", _I64),
    ]
)  # fmt: skip
"""The statistics of one column of a state. Values are text: strings as they are, others as in JSON."""

SCHEMA = pa.schema(
    [
        ("snapshot_path", _TEXT), ("checkpoint_id", _I64), ("taken", pa.timestamp("ms", "UTC")), ("as_of_ms", _I64),
        ("operator_id", _TEXT), ("operator_uid", _TEXT), ("operator_label", _TEXT), ("operator_parallelism", _I32),
        ("operator_max_parallelism", _I32), ("state_name", _TEXT), ("state_kind", _TEXT), ("status", _TEXT), ("reason", _TEXT),
        ("row_count", _I64), ("distinct_keys", _I64), ("distinct_keys_exact", _BOOL), ("file_bytes", _I64),
        ("decoded_bytes", _I64), ("entries", _I64), ("overdue", _I64),
        ("key_group_skew", _F64), ("key_group_top_percent_share", _F64), ("subtask_skew", _F64),
        ("subtask_top_percent_share", _F64), ("largest_key_bytes", _I64), ("largest_value_bytes", _I64),
        ("last_accesses", _I64), ("first_access_ms", _I64), ("last_access_ms", _I64), ("ttl_ms", _I64), ("expired", _I64),
        ("times_of", _TEXT), ("first_time_ms", _I64), ("last_time_ms", _I64), ("past", _I64),
        ("progress_ms", _I64), ("past_by_progress", _I64), ("columns", pa.list_(COLUMN)),
    ]
)  # fmt: skip
"""The columns of the dataset. What is not known of a state, as the rows of one that was not read, is null."""


class OfSnapshot(Protocol):
    """Something that is of one snapshot."""

    @property
    def snapshot(self) -> SnapshotDocument: ...


S = TypeVar("S", bound=OfSnapshot)


def in_order(found: Iterable[S]) -> list[S]:
    """From the oldest to the newest: by checkpoint id, then by the time of the file, which a copy may have lost."""
    return sorted(
        found,
        key=lambda one: (one.snapshot.checkpoint_id, one.snapshot.taken_ms or 0, identity(one.snapshot)),
    )


def order_note(ordered: Iterable[OfSnapshot]) -> str | None:
    """What to say if different snapshots have the same checkpoint id."""
    for one, following in pairwise(one.snapshot for one in ordered):
        if following.checkpoint_id == one.checkpoint_id:
            return (
                f"several snapshots have the checkpoint id {one.checkpoint_id}: they are of different jobs, or the job began "
                "anew; they are in the order of their files' times"
            )
    return None


def times_note(ordered: Iterable[OfSnapshot]) -> str | None:
    """What to say if the files' times are not in the order of the checkpoint ids."""
    for one, following in pairwise(one.snapshot for one in ordered):
        if None not in (one.taken_ms, following.taken_ms) and (following.taken_ms or 0) < (one.taken_ms or 0):
            return (
                f"by the times of their files checkpoint {following.checkpoint_id} was written before checkpoint "
                f"{one.checkpoint_id}: the files were copied, or the job began anew"
            )
    return None


def identity(snapshot: SnapshotDocument) -> str:
    """What is the same for every copy of a snapshot: the SHA-256 of its ``_metadata``, else of its path, in hex."""
    return snapshot.metadata_sha256 or hashlib.sha256(snapshot.path.encode("utf-8", "replace")).hexdigest()


def table_of(documents: Iterable[Statistics]) -> pa.Table:
    """The rows of documents, from the oldest snapshot to the newest; those of one in the order of the document."""
    rows = [_row(document, operator, state) for document in in_order(documents) for operator, state in document.states]
    return pa.Table.from_pylist(rows, SCHEMA)


def _row(document: Statistics, operator: OperatorDocument, state: StateDocument) -> dict[str, Any]:
    snapshot, keys, ttl, times = document.snapshot, state.distinct_keys, state.ttl, state.times
    is_read = state.status in READ
    values = (
        _text(snapshot.path), snapshot.checkpoint_id, snapshot.taken_ms, document.as_of_ms,
        _text(operator.operator_id), _text(operator.operator_uid), _text(operator.operator_label),
        operator.operator_parallelism, operator.operator_max_parallelism, _text(state.state_name), _text(state.state_kind),
        _text(state.status), _text(state.reason),
        state.rows if is_read else None, keys.count if keys else None, keys.exact if keys else None,
        # Of what is not read the snapshot may not say the size; the document has 0 then.
        state.file_bytes if is_read or state.file_bytes else None, state.decoded_bytes if is_read else None,
        state.entries if is_read else None, state.overdue if is_read else None,
        *_skew(state.skew.key_groups if state.skew else None), *_skew(state.skew.subtasks if state.skew else None),
        state.biggest_keys[0].bytes if state.biggest_keys else None,
        state.biggest_values[0].bytes if state.biggest_values else None,
        *((ttl.rows_with_time, ttl.min_ms, ttl.max_ms, ttl.ttl_ms, ttl.expired) if ttl else [None] * 5),
        *((_text(times.of), times.min_ms, times.max_ms, times.past) if times else [None] * 4),
        *((times.progress_ms, times.past_by_progress) if times else [None] * 2),
        [_column(column) for column in state.columns] if is_read else None,
    )  # fmt: skip
    return dict(zip(SCHEMA.names, values, strict=True))


def _skew(skew: Skew | None) -> tuple[float | None, float | None]:
    return (None, None) if skew is None else (skew.max_over_mean, skew.top_percent_share)


def _column(column: ColumnDocument) -> dict[str, Any]:
    lengths = column.lengths
    values = (
        _text(column.name), _text(column.type), column.rows, column.nulls, column.null_share, column.nans,
        _value(column.min), _value(column.max),
        *((column.distinct.count, column.distinct.exact) if column.distinct else (None, None)),
        [{"q": quantile.q, "value": _value(quantile.value)} for quantile in column.quantiles],
        *((lengths.min, lengths.mean, lengths.max) if lengths else (None, None, None)),
    )  # fmt: skip
    return dict(zip((field.name for field in COLUMN), values, strict=True))


def _value(value: Any) -> str | None:
    return value if value is None else _text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _text(text: str | None) -> str | None:
    """What Parquet's UTF-8 can hold: a lone surrogate becomes a question mark."""
    return None if text is None else text.encode("utf-8", "replace").decode()
