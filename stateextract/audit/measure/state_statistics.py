"""Statistics of one state, of as many of its rows as were added: one pass over Arrow batches, in bounded memory.

Parts of a state (files, tasks) are put together by ``merge``, in any order and with the same outcome. ``statistics.py``
makes the document of them. Knows batches as ``state/state_columns.py`` makes them; opens nothing.
"""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.audit.document import Big, ColumnDocument, Distinct
from stateextract.audit.measure.ages import TimeStatistics
from stateextract.audit.measure.column_statistics import ColumnStatistics, add_all, column_paths, parts
from stateextract.audit.measure.distinct import Smallest
from stateextract.audit.measure.hashes import Hashes, combined, hashes_of, mixed
from stateextract.audit.measure.largest import ColumnSizes, Largest, RowSizes, cut
from stateextract.audit.measure.layout import ROW
from stateextract.audit.measure.measured_arrays import Sizer, list_parts, raw_values, valid_at
from stateextract.audit.measure.owners import OwnerSketch, RowOwners, Rows
from stateextract.audit.measure.sample import ALL_HASHES, Sample, quantiles_of, rank_error
from stateextract.audit.measure.selected_rows import Batch, Few, bounds_of, compiled
from stateextract.columnar.arrow.json_values import json_value
from stateextract.columnar.arrow.numpy_views import Numbers, is_list, offsets_of

MEASURED = ("key", "namespace", "value", "last_access", "timestamp_ms")
"""The columns that have statistics, and whose bytes count; the others are made of these, or say where a row was."""

_IDENTITY = ("key", "namespace", "timestamp_ms")
"""Those that identify the rows of keyed state."""
_WINDOWS = (("session_start", "session_end"), ("window_start", "window_end"), ("window_end",), ("slice_end",))
"""The columns that a window is known by, of which the first that are there count."""
_PER_MS = {"ms": 1, "us": 10**3, "ns": 10**6}


@dataclass(frozen=True)
class MeasureOptions:
    """How the rows of a state are measured.

    :param as_of_ms: the time that ages are counted to.
    :param ttl_ms: a time to live, of which the expired are counted.
    :param top: how many of the largest rows to list.
    """

    as_of_ms: int
    ttl_ms: int | None = None
    top: int = 10


class StateStatistics:
    """What is known of a state so far.

    :param schema: of its rows, with ``key_group`` and ``subtask`` where there are any.
    :param ttl: whether it has a time to live.
    """

    def __init__(self, schema: pa.Schema, measure_options: MeasureOptions, ttl: bool = False) -> None:
        self.schema, self.measure_options = schema, measure_options
        self.rows = self.decoded_bytes = 0
        names = set(schema.names)
        self._measured = [field for field in schema if field.name in MEASURED]
        self._names = names
        self._sizers = {field.name: Sizer(field.type) for field in self._measured}
        self._nested = {field.name for field in self._measured if pa.types.is_struct(field.type)}
        found = [path for field in self._measured for path in column_paths(field)]
        rows = np.zeros((len(found), ROW), np.int64)
        self.columns = [ColumnStatistics(path, row) for path, row in zip(found, rows, strict=True)]
        self.key_groups: dict[int, list[int]] = {}
        self.subtasks: dict[int, list[int]] = {}
        self._keyed = "key" in names
        # A key has one row where nothing else distinguishes rows.
        self.one_row_per_key = self._keyed and not names & {"namespace", "timestamp_ms"}
        self._keys = Smallest()
        self._rooms: list[Hashes] = []
        self._batch: Batch | None = None
        widths = {name: sizer.width for name, sizer in self._sizers.items()}
        self._fixed = sum(width for width in widths.values() if width is not None)
        self._varying = [name for name, width in widths.items() if width is None]
        self._sampled = [c.sampled for c in self.columns]
        self.largest = {
            name: Largest(measure_options.top if name in names and self._sizers[name].width is None else 0)
            for name in ("key", "value")
        }
        self._window: tuple[str, ...] = ()
        if "key_group" in names:
            self._window = next((of for of in _WINDOWS if names.issuperset(of)), ())
        self.owners: dict[str, RowOwners | OwnerSketch] = {}
        """Of keyed state: ``key``, and where it has windows ``window``."""
        if self._keyed and "key_group" in names and measure_options.top:
            type_ = schema.field("key").type
            width = None if self._varying else self._fixed
            self.owners["key"] = RowOwners(type_, width) if self.one_row_per_key else OwnerSketch(type_)
            if self._window:
                self.owners["window"] = OwnerSketch(pa.struct([_window_field(schema.field(n)) for n in self._window]))
        last_access = ttl and ("last_access" in names or _inner_last_access(schema) is not None)
        self.ttl = TimeStatistics(measure_options.as_of_ms, measure_options.ttl_ms) if last_access else None
        self.times_of = "timer" if "timestamp_ms" in names else "window_end" if "window_end" in names else None
        self.times = TimeStatistics(measure_options.as_of_ms) if self.times_of else None
        end = "session_end" if "session_end" in names else "window_end"
        self._time = "timestamp_ms" if self.times_of == "timer" else end if self.times_of else None
        """The column of the times. Contents of a session are kept under another window, which ends before the session does."""
        self._start = next((name for name in ("session_start", "window_start") if name in names), None)
        self.latest_start: int | None = None
        """Of windows, in milliseconds."""
        self._sample = Sample(self._sample_types)

    @property
    def _sample_types(self) -> list[pa.DataType]:
        """What a sample keeps of a row: of its columns, and its time."""
        return [type_ for type_ in self._sampled if type_ is not None] + [pa.int64()] * (self._time is not None)

    # -- adding

    def add(self, batch: pa.RecordBatch, subtask: int) -> None:
        """Add rows.

        :param subtask: whose file they are from.
        """
        n = batch.num_rows
        if not n:
            return
        self.rows += n
        arrays = {field.name: batch.column(field.name) for field in self._measured}
        leaves: list[pa.Array] = []
        rooms: list[Hashes | None] = []
        identity: list[Hashes] = []
        for name, array in arrays.items():
            tells, nested = self._keyed and name in _IDENTITY, name in self._nested
            if tells:
                identity.append(hashes_of(array) if nested else self._room_for(len(identity), n))
            for part in parts(array) if nested else (array,):
                leaves.append(part)
                rooms.append(identity[-1] if tells and not nested else None)
        bounds, few = self._add_leaves(batch, leaves, rooms, identity)
        self._place(batch, arrays, subtask, bounds)
        if self._keyed and not self.one_row_per_key:
            self._keys.add_hashes(identity[0])
        hashes = combined(identity) if self._keyed else self._element_hashes(batch, subtask)
        self._add_sample(batch, hashes, few, leaves)
        sizes = {name: self._sizes(name, array) for name, array in arrays.items()}
        self._add_largest(batch, arrays, sizes, hashes, few, subtask)
        self._add_owners(batch, arrays, sizes, identity, few)
        self._add_times(batch)

    def _sizes(self, name: str, array: pa.Array) -> ColumnSizes:
        longest = (c.longest_added for c in self.columns if c.is_text and c.column_path.path[0] == name)
        sizer = self._sizers[name]
        return ColumnSizes(array, sizer, sizer.most(longest))

    def _add_leaves(
        self, batch: pa.RecordBatch, leaves: list[pa.Array], rooms: list[Hashes | None], identity: list[Hashes]
    ) -> tuple[Numbers, Few | None]:
        """Add columns and fields of structs.

        :param rooms: where the hashes of each go; :param identity: those that identify rows.
        :returns: where key groups begin, and the last one ends; the rows with a hash that a sample may have, if they are known.
        """
        n = batch.num_rows
        groups = batch.column("key_group") if "key_group" in self._names else None
        kernel = compiled(8 * n * len(leaves)) if leaves else None
        bounds = few = None
        if kernel is not None:
            if self._batch is None:
                self._batch = Batch()
            likely = self._sample.likely(n)
            sifted = len(identity) == 1 and any(room is not None for room in rooms) and likely != ALL_HASHES
            self._batch.describe(groups, identity[0] if sifted else None, likely)
            add_all(self.columns, leaves, rooms, kernel, self._batch.at)
            bounds, few = self._batch.bounds(n), self._batch.few
        else:
            add_all(self.columns, leaves, rooms, None)
        if bounds is None:
            bounds = np.array([0, n]) if groups is None else bounds_of(raw_values(groups))
        return bounds, few

    def _room_for(self, number: int, n: int) -> Hashes:
        """Room for hashes of rows. It is the same for every batch: what was just used is near the processor."""
        while len(self._rooms) <= number:
            self._rooms.append(np.empty(0, np.uint64))
        if len(self._rooms[number]) < n:
            self._rooms[number] = np.empty(n, np.uint64)
        return self._rooms[number][:n]

    def _element_hashes(self, batch: pa.RecordBatch, subtask: int) -> Hashes:
        """Elements of operator state are distinguished by where they are."""
        if "index" not in self._names:
            return combined([hashes_of(batch.column(field.name)) for field in self._measured])
        index = mixed(raw_values(batch.column("index")))
        return combined([index, mixed(np.full(len(index), subtask, np.int64))])

    def _place(self, batch: pa.RecordBatch, arrays: dict[str, pa.Array], subtask: int, bounds: Numbers) -> None:
        """Count rows and bytes where they are."""
        n = batch.num_rows
        before = bounds * self._fixed
        for name in self._varying:
            before += self._sizers[name].before(arrays[name], bounds)
        total = int(before[-1] - before[0])
        _count(self.subtasks, subtask, n, total)
        self.decoded_bytes += total
        if "key_group" in self._names:
            groups = raw_values(batch.column("key_group"))[bounds[:-1]].tolist()
            for group, rows, size in zip(groups, np.diff(bounds).tolist(), np.diff(before).tolist(), strict=True):
                _count(self.key_groups, group, rows, size)

    def _add_sample(
        self, batch: pa.RecordBatch, hashes: Hashes, few: Few | None, leaves: list[pa.Array]
    ) -> None:  # fmt: skip
        chosen = self._sample.chosen(hashes, few)
        if chosen is not None:
            kept = [
                statistics.sample(leaf, chosen)
                for statistics, leaf, type_ in zip(self.columns, leaves, self._sampled, strict=True)
                if type_ is not None
            ]
            if self._time is not None:
                times = batch.column(self._time)
                kept.append((raw_values(times)[chosen] // _per_ms(times.type), valid_at(times, chosen)))
            self._sample.add(hashes[chosen], kept)

    def _add_largest(
        self, batch: pa.RecordBatch, arrays: dict[str, pa.Array], sizes: dict[str, ColumnSizes], hashes: Hashes,
        few: Few | None, subtask: int,
    ) -> None:  # fmt: skip
        def describe(row: int, size: int) -> Big:
            key, namespace = (
                cut(json_value(arrays[name][row])) if name in arrays else None for name in ("key", "namespace")
            )
            group = batch.column("key_group")[row].as_py() if "key_group" in self._names else None
            return Big(key, namespace, group, subtask, size)

        for name, largest in self.largest.items():
            if largest.top:
                largest.add(RowSizes(batch.num_rows, 0, [sizes[name]]), hashes, few, describe)

    def _add_owners(
        self, batch: pa.RecordBatch, arrays: dict[str, pa.Array], sizes: dict[str, ColumnSizes], identity: list[Hashes],
        few: Few | None,
    ) -> None:  # fmt: skip
        """Count what keys and windows own."""
        if not self.owners:
            return
        of_rows = RowSizes(batch.num_rows, self._fixed, [sizes[name] for name in self._varying])
        entries = offsets_of(arrays["value"]) if "value" in arrays and is_list(arrays["value"].type) else None
        for name, owners in self.owners.items():
            if name == "key":
                rows = Rows(identity[0], arrays["key"], batch.column("key_group"), of_rows, entries)
            else:
                windows = pa.StructArray.from_arrays(
                    [batch.column(n) for n in self._window], fields=[_window_field(self.schema.field(n)) for n in self._window]
                )
                # The namespace is the window, but for sessions.
                hashes = hashes_of(windows) if self._window[0] == "session_start" else identity[1]
                rows = Rows(hashes, windows, None, of_rows, entries)
            if isinstance(owners, RowOwners):
                owners.add(rows, few)
            else:
                owners.add(rows)

    def _add_times(self, batch: pa.RecordBatch) -> None:
        if self.ttl is not None:
            self.ttl.add(_last_accesses(batch))
        if self.times is not None:
            self.times.add(_milliseconds(batch.column(self._time)))
        if self._start is not None:
            starts = _milliseconds(batch.column(self._start))
            if len(starts):
                self._started(int(starts.max()))

    def _started(self, ms: int | None) -> None:
        if ms is not None:
            self.latest_start = ms if self.latest_start is None else max(self.latest_start, ms)

    def merge(self, other: StateStatistics) -> None:
        """Take in the statistics of other rows of the same state."""
        self.rows += other.rows
        self.decoded_bytes += other.decoded_bytes
        for mine, theirs in ((self.key_groups, other.key_groups), (self.subtasks, other.subtasks)):
            for number, (rows, size) in theirs.items():
                _count(mine, number, rows, size)
        for column, more in zip(self.columns, other.columns, strict=True):
            column.merge(more)
        self._keys.merge(other._keys)
        self._sample.merge(other._sample)
        for name, largest in self.largest.items():
            largest.merge(other.largest[name])
        self._started(other.latest_start)
        for name, owners in self.owners.items():
            owners.merge(other.owners[name])  # type: ignore[arg-type]
        for statistics, times in ((self.ttl, other.ttl), (self.times, other.times)):
            if statistics is not None and times is not None:
                statistics.merge(times)

    def finalize(self) -> None:
        """Let go of what only adding needs."""
        self._keys.finalize()
        for column in self.columns:
            column.finalize()
        for owners in self.owners.values():
            owners.finalize()
        self._rooms.clear()
        self._batch = None

    # -- the outcome

    @property
    def distinct_keys(self) -> Distinct | None:
        """How many keys there are; ``None`` of state without keys."""
        if not self._keyed:
            return None
        return Distinct(self.rows) if self.one_row_per_key else self._keys.distinct

    @property
    def entries(self) -> int:
        """How many entries of maps and elements of lists there are; another row is one entry."""
        value = next((c for c in self.columns if c.column_path.path == ("value",)), None)
        return value.length_sum if value is not None and is_list(value.column_path.type) else self.rows

    def document_columns(self) -> list[ColumnDocument]:
        """The columns of the document."""
        kept = iter(self._sample.columns())
        made = []
        for statistics, type_ in zip(self.columns, self._sampled, strict=True):
            statistics.finalize()
            values = statistics.rows - statistics.nulls - statistics.nans
            quantiles, error = quantiles_of(next(kept), values) if type_ is not None else ([], 0.0)
            made.append(statistics.column(quantiles, error))
        return made

    def past_at(self, ms: int) -> tuple[int, int]:
        """How many windows or timers are at a time or before, and by how many that may be off in 95 of 100 cases."""
        rows = 0 if self.times is None else self.times.rows
        sampled = self._sample.columns()[-1].drop_null()
        n = len(sampled)
        past = int(np.count_nonzero(raw_values(sampled) <= ms))
        return (past, 0) if n >= rows else (round(past / n * rows), math.ceil(rank_error(n) * rows))

    # -- between processes

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "counts": [self.rows, self.decoded_bytes, self.latest_start],
            "key_groups": [[k, *v] for k, v in self.key_groups.items()],
            "subtasks": [[k, *v] for k, v in self.subtasks.items()],
            "columns": [column.as_dict() for column in self.columns],
            "keys": base64.b64encode(self._keys.hashes.tobytes()).decode(),
            "sample": base64.b64encode(self._sample.to_bytes()).decode(),
            "biggest": {name: largest.as_list() for name, largest in self.largest.items()},
            "owners": {name: owners.as_dict() for name, owners in self.owners.items()},
            "times": [statistics and statistics.as_list() for statistics in (self.ttl, self.times)],
        }

    def load(self, data: dict[str, Any]) -> None:
        """The inverse of :meth:`as_dict`, into statistics that are empty."""
        self.rows, self.decoded_bytes, self.latest_start = data["counts"]
        self.key_groups = {k: v for k, *v in data["key_groups"]}
        self.subtasks = {k: v for k, *v in data["subtasks"]}
        for column, values in zip(self.columns, data["columns"], strict=True):
            column.load(values)
        self._keys = Smallest(np.frombuffer(base64.b64decode(data["keys"]), np.uint64))
        self._sample = Sample.from_bytes(self._sample_types, base64.b64decode(data["sample"]))
        self.largest = {n: Largest.from_list(b.top, data["biggest"][n]) for n, b in self.largest.items()}
        for name, owners in self.owners.items():
            owners.load(data["owners"][name])
        for statistics, values in zip((self.ttl, self.times), data["times"], strict=True):
            if statistics is not None:
                statistics.load(values)


def _count(counts: dict[int, list[int]], number: int, rows: int, size: int) -> None:
    known = counts.setdefault(number, [0, 0])
    known[0] += rows
    known[1] += size


def _window_field(field: pa.Field) -> pa.Field:
    """A window's bound, called as it is in every state."""
    return pa.field("start" if field.name.endswith("start") else "end", field.type)


def _inner_last_access(schema: pa.Schema) -> int | None:
    """Where the last access is in the elements or entries of a list or map."""
    value = schema.field("value").type if "value" in schema.names else pa.null()
    inner = value.item_type if pa.types.is_map(value) else value.value_type if pa.types.is_list(value) else pa.null()
    index = inner.get_field_index("last_access") if pa.types.is_struct(inner) else -1
    return index if index >= 0 else None


def _last_accesses(batch: pa.RecordBatch) -> Numbers:
    if "last_access" in batch.schema.names:
        return _milliseconds(batch.column("last_access"))
    value = batch.column("value")
    index = _inner_last_access(batch.schema)
    assert index is not None
    offsets, children = list_parts(value)
    inner = children[-1].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    return _milliseconds(inner.field(index))


def _milliseconds(array: pa.Array) -> npt.NDArray[np.int64]:
    """Times that are not null, floored."""
    array = array.drop_null() if array.null_count else array
    stored = raw_values(array)
    per_ms = _per_ms(array.type)
    return stored if per_ms == 1 else stored // per_ms


def _per_ms(type_: pa.DataType) -> int:
    return _PER_MS[type_.unit] if pa.types.is_timestamp(type_) else 1


__all__ = ["MEASURED", "MeasureOptions", "StateStatistics"]
