"""Two tables of one state into the rows that were added, removed and changed.

Which columns make a row's identity follows from its kind (:func:`identity`); the others are its value. Works on Arrow
tables in memory; knows no files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stateextract.columnar.arrow.numpy_views import Bits, Numbers
from stateextract.diff.comparable_types import LAST_ACCESS, Shape
from stateextract.diff.equality import differences
from stateextract.diff.maps import changed_entries
from stateextract.diff.pairing import Pairs, pair_rows
from stateextract.diff.summary import DiffCounts, EntryCounts
from stateextract.errors import ValueRefusedError
from stateextract.state.kinds import LIST_SPLIT, LIST_UNION, QUEUE, TIMER

CHANGE, BEFORE, AFTER, FIELDS, KEY_GROUP = "change", "before", "after", "changed_fields", "key_group"
ADDED, REMOVED, CHANGED = "added", "removed", "changed"

INDEX = "index"  # where an element is in the list of its subtask
_LISTS = (LIST_SPLIT, LIST_UNION, QUEUE)
_VALUES = ("value", LAST_ACCESS)
_CHANGE_TYPE = pa.string()
_FIELDS_TYPE = pa.list_(pa.string())


@dataclass(frozen=True)
class Comparison:
    """How the rows of a state are compared.

    :param schema: of the rows of both sides, united.
    :param shape: of the columns, by name.
    :param identity: columns that say which row it is; :param values: those that may change.
    :param unique: no two rows of a snapshot have the same identity.
    """

    schema: pa.Schema
    shape: Shape
    identity: tuple[str, ...]
    values: tuple[str, ...]
    unique: bool

    @property
    def also_read(self) -> tuple[str, ...]:
        """Columns that follow from the identity: those of windows, a timer's time."""
        return tuple(n for n in self.schema.names if n not in (*self.identity, *self.values, KEY_GROUP, INDEX))

    def output(self, rows: pa.Schema) -> pa.Schema:
        """The schema of changes.

        :param rows: that of the rows, with the names of ``schema`` and types of its own.
        """
        columns = [pa.field(CHANGE, _CHANGE_TYPE)]
        columns += [f for f in rows if f.name in (*self.identity, *self.also_read) and f.name not in self.values]
        shown = self.shown
        if shown:
            value = pa.struct([f for f in rows if f.name in shown])
            columns += [pa.field(BEFORE, value), pa.field(AFTER, value), pa.field(FIELDS, _FIELDS_TYPE)]
        return pa.schema([*columns, *(f for f in rows if f.name == KEY_GROUP)])

    @property
    def shown(self) -> tuple[str, ...]:
        """Columns inside of ``before`` and ``after``."""
        return tuple(n for n in self.schema.names if n in self.values)


def comparison(kind: str, schema: pa.Schema, shape: Shape) -> Comparison:
    """How rows of a kind of state are compared.

    Keyed state: by key and namespace, flattened also by the map's key or the list's index. Broadcast state by its key. The
    elements of operator state have no identity: equal ones are counted on both sides. Timers are a
    set.
    """
    names = [name for name in schema.names if name not in (KEY_GROUP, INDEX)]
    if kind == TIMER:
        identity = [name for name in names if name not in ("timestamp", "window_start", "window_end", "slice_end")]
        return Comparison(schema, shape, tuple(identity), (), True)
    values = tuple(name for name in names if name in _VALUES)
    if kind in _LISTS:
        return Comparison(schema, shape, values, values, False)
    identity = [name for name in names if name in ("key", "namespace", "map_key", "list_index")]
    return Comparison(schema, shape, tuple(identity), values, True)


def compare(
    how: Comparison, before: pa.RecordBatch, after: pa.RecordBatch, counts: DiffCounts, rows: bool = True, bits: int = 64
) -> pa.RecordBatch | None:
    """Compare all rows of some key groups.

    :param before: rows with the united schema; :param after: likewise.
    :param counts: is added to.
    :param rows: whether the changes are wanted, or only counted.
    :param bits: how many bits of hashes are looked at.
    :returns: the changes, with the schema ``how.output(how.schema)``; ``None`` where there are none or they are not wanted.
    :raises ValueRefusedError: where two rows of a side cannot be distinguished, and must be.
    """
    left, right = _columns(how, before, how.identity), _columns(how, after, how.identity)
    pairs = pair_rows(left, before.num_rows, right, after.num_rows, bits)
    if how.unique and pairs.repeated != (None, None):
        raise _not_unique(how, before, after, pairs)
    found: list[tuple[str, Bits]] = []

    def on_map(path: str, a: pa.Array, b: pa.Array, rows_a: Numbers, rows_b: Numbers, shape: Shape) -> None:
        counts.entries.setdefault(path, EntryCounts()).add(changed_entries(a, b, rows_a, rows_b, shape))

    if not set(how.values) <= set(how.identity):
        for name in how.values:
            column = before.column(name), after.column(name)
            found += differences(*column, pairs.before, pairs.after, how.shape.of(name), name, on_map)
    differ = np.zeros(len(pairs.before), np.bool_)
    for path, bits_ in found:
        differ |= bits_
        count = int(bits_.sum())
        if count:
            counts.fields[path] = counts.fields.get(path, 0) + count
    changed = np.flatnonzero(differ)
    counts.before += before.num_rows
    counts.after += after.num_rows
    counts.added += len(pairs.added)
    counts.removed += len(pairs.removed)
    counts.changed += len(changed)
    if not rows or not (len(changed) or len(pairs.added) or len(pairs.removed)):
        return None
    return _changes(how, before, after, pairs, changed, [(path, mask[changed]) for path, mask in found])


def _columns(how: Comparison, batch: pa.RecordBatch, names: Sequence[str]) -> list[tuple[pa.Array, Shape]]:
    return [(batch.column(name), how.shape.of(name)) for name in names]


def _changes(
    how: Comparison,
    before: pa.RecordBatch,
    after: pa.RecordBatch,
    pairs: Pairs,
    changed: np.ndarray[tuple[int], np.dtype[np.int64]],
    fields: Sequence[tuple[str, Bits]],
) -> pa.RecordBatch:
    """First what was removed, then what was added, then what was changed."""
    n_removed, n_added, n_changed = len(pairs.removed), len(pairs.added), len(changed)
    old = before.take(pa.array(np.concatenate([pairs.removed, pairs.before[changed]])))
    new = after.take(pa.array(np.concatenate([pairs.added, pairs.after[changed]])))
    schema = how.output(how.schema)
    names = pa.array([REMOVED, ADDED, CHANGED]).take(pa.array(np.repeat([0, 1, 2], [n_removed, n_added, n_changed])))
    columns: dict[str, pa.Array] = {CHANGE: names}
    for name in schema.names:
        if name in before.schema.names and name not in how.shown:
            # Of a changed row the later one's; they differ in key_group where the number of key groups changed.
            columns[name] = pa.concat_arrays([old.column(name).slice(0, n_removed), new.column(name)])
    if how.shown:
        value = pa.struct([how.schema.field(name) for name in how.shown])
        none = pa.nulls(n_added, value), pa.nulls(n_removed, value)
        was, is_ = _structs(old, value), _structs(new, value)
        columns[BEFORE] = pa.concat_arrays([was.slice(0, n_removed), none[0], was.slice(n_removed)])
        columns[AFTER] = pa.concat_arrays([none[1], is_])
        columns[FIELDS] = _field_lists(fields, n_removed + n_added, n_changed)
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def _structs(batch: pa.RecordBatch, type_: pa.DataType) -> pa.Array:
    return pa.StructArray.from_arrays([batch.column(f.name) for f in type_], fields=list(type_))


def _field_lists(fields: Sequence[tuple[str, Bits]], others: int, changed: int) -> pa.Array:
    """For each changed row the paths that differ; rows that were added or removed come first and have none."""
    table = np.array([mask for _, mask in fields], np.bool_).reshape(len(fields), changed)
    lengths = np.concatenate([np.zeros(others, np.int64), table.sum(axis=0)])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    paths = np.nonzero(table.T)[1]
    names = pa.array([path for path, _ in fields], pa.string()).take(pa.array(paths))
    return pa.ListArray.from_arrays(pa.array(offsets), names)


def _not_unique(how: Comparison, before: pa.RecordBatch, after: pa.RecordBatch, pairs: Pairs) -> ValueRefusedError:
    batch, row = (before, pairs.repeated[0]) if pairs.repeated[0] is not None else (after, pairs.repeated[1])
    assert row is not None
    group = batch.column(KEY_GROUP)[row].as_py() if KEY_GROUP in batch.schema.names else None
    count = Counter(how.identity)
    return ValueRefusedError(
        f"two rows of one snapshot have the same {' and '.join(count)}, and cannot be distinguished",
        key_group=group,
        advice="where their times differ below the microsecond, set --timestamps to nanoseconds",
    )
