"""The figures of a state computed the plain way: every row as Python values, all of them in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from stateextract.audit.document import ColumnDocument, StateDocument
from stateextract.columnar.arrow.json_values import json_value

MEASURED = ("key", "namespace", "value", "last_access", "timestamp_ms")
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def plain(scalar: pa.Scalar) -> Any:
    """A value as Python has it; times as their numbers, which have no limits."""
    if not scalar.is_valid:
        return None
    type_ = scalar.type
    if pa.types.is_struct(type_):
        return {f.name: plain(scalar[i]) for i, f in enumerate(type_)}
    if pa.types.is_map(type_):
        return [(plain(entry[0]), plain(entry[1])) for entry in scalar.values or ()]
    if pa.types.is_list(type_):
        return [plain(element) for element in scalar.values or ()]
    if pa.types.is_temporal(type_):
        return scalar.value
    return scalar.as_py()


def size(value: Any, type_: pa.DataType) -> int:
    """The bytes of a value, as ``docs/statistics.md`` counts them."""
    if pa.types.is_struct(type_):
        return sum(size(None if value is None else value[f.name], f.type) for f in type_)
    if pa.types.is_string(type_):
        return 4 + len((value or "").encode())
    if pa.types.is_binary(type_):
        return 4 + len(value or b"")
    if pa.types.is_map(type_):
        return 4 + sum(size(k, type_.key_type) + size(v, type_.item_type) for k, v in value or ())
    if pa.types.is_list(type_):
        return 4 + sum(size(v, type_.value_type) for v in value or ())
    if pa.types.is_boolean(type_):
        return 1
    return 0 if pa.types.is_null(type_) else type_.bit_width // 8


def paths(name: str, type_: pa.DataType, values: list[Any]) -> Iterator[tuple[str, pa.DataType, list[Any]]]:
    """The column, and the fields of structs below it."""
    yield name, type_, values
    if pa.types.is_struct(type_):
        for f in type_:
            yield from paths(f"{name}.{f.name}", f.type, [None if v is None else v[f.name] for v in values])


def canonical(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def shown(value: Any, type_: pa.DataType) -> Any:
    """The JSON of a value, cut as extremes are."""
    scalar = pa.scalar(value + 0.0 if isinstance(value, float) else value, type_)
    made = json_value(scalar)
    if isinstance(value, str) and len(value) > 256:
        return value[:255] + "…"
    if isinstance(value, bytes) and len(value) > 256:
        return value[:255].hex() + "…"
    return made


def check_column(column: ColumnDocument, type_: pa.DataType, values: list[Any], exact: bool = True) -> None:
    """Hold a column's figures against its values.

    :param exact: there are so few values that all are counted and sampled.
    """
    there = [v for v in values if v is not None]
    assert (column.rows, column.nulls) == (len(values), len(values) - len(there)), column
    assert column.null_share == (column.nulls / len(values) if values else 0)
    numbers = [v for v in there if not (isinstance(v, float) and math.isnan(v))]
    if pa.types.is_floating(type_):
        assert column.nans == len(there) - len(numbers)
    else:
        assert column.nans is None
    measured: list[Any] | None = None
    if pa.types.is_string(type_):
        measured = [len(v.encode()) for v in there]
    elif pa.types.is_binary(type_) or pa.types.is_list(type_) or pa.types.is_map(type_):
        measured = [len(v) for v in there]
    nested = pa.types.is_nested(type_)
    if nested or pa.types.is_null(type_):
        assert (column.min, column.max, column.distinct) == (None, None, None)
    else:
        by = (lambda v: v.encode()) if pa.types.is_string(type_) else (lambda v: v)
        if numbers:
            least, most = min(numbers, key=by), max(numbers, key=by)
            assert (column.min, column.max) == (shown(least, type_), shown(most, type_)), column
        else:
            assert (column.min, column.max) == (None, None)
        count = len({canonical(v) for v in there})
        assert column.distinct is not None
        if exact:
            assert column.distinct.exact
            assert column.distinct.count == count, column
        else:
            assert abs(column.distinct.count - count) <= column.distinct.error * count
    lengths = column.lengths
    if measured is None:
        assert lengths is None
        ordered = sorted(canonical(v) for v in numbers) if column.quantiles else []
        check_quantiles([(q.q, q.value) for q in column.quantiles], ordered, type_, column.rank_error, exact)
        quantiled = not nested and (pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_temporal(type_)
                                    or pa.types.is_decimal(type_))  # fmt: skip
        assert bool(column.quantiles) == (quantiled and bool(numbers))
    elif measured:
        assert lengths is not None
        assert (lengths.min, lengths.max) == (min(measured), max(measured))
        assert lengths.mean == sum(measured) / len(measured)
        found = [(q.q, q.value) for q in lengths.quantiles]
        check_quantiles(found, sorted(measured), pa.int64(), column.rank_error, exact)
    else:
        assert lengths is None


def check_quantiles(
    found: list[tuple[float, Any]], ordered: list[Any], type_: pa.DataType, rank_error: float, exact: bool
) -> None:
    """Hold quantiles against the values in order."""
    if not ordered:
        assert not found
        return
    n = len(ordered)
    assert [q for q, _ in found] == list(QUANTILES)
    if exact:
        assert rank_error == 0
        expected = [ordered[max(math.ceil(q * n), 1) - 1] for q in QUANTILES]
        assert [value for _, value in found] == [shown(value, type_) for value in expected]
        return
    for q, value in found:
        below = sum(v < value for v in ordered) / n
        upto = sum(v <= value for v in ordered) / n
        assert below - rank_error <= q <= upto + rank_error, (q, value, below, upto)


def check_state(state: StateDocument, table: pa.Table, as_of_ms: int, ttl_ms: int | None, max_parallelism: int) -> None:
    """Hold a state's figures against its rows.

    :param table: all rows, with ``key_group`` and ``subtask`` as far as the state has them.
    """
    values = {name: [plain(v) for v in table[name]] for name in table.schema.names}
    types = {f.name: f.type for f in table.schema}
    names = [name for name in table.schema.names if name in MEASURED]
    n = table.num_rows
    assert state.rows == n
    rows = [[values[name][i] for name in names] for i in range(n)]
    sizes = [sum(size(v, types[name]) for name, v in zip(names, row, strict=True)) for row in rows]
    assert state.decoded_bytes == sum(sizes)
    if "key_group" in values:
        counts, bytes_ = Counter(values["key_group"]), Counter[int]()
        for group, amount in zip(values["key_group"], sizes, strict=True):
            bytes_[group] += amount
        assert [(g.key_group, g.rows, g.decoded_bytes) for g in state.key_groups] == [
            (group, counts[group], bytes_[group]) for group in sorted(counts)
        ]
        assert state.skew is not None
        skew = state.skew.key_groups
        assert skew is not None
        # As many key groups as can have rows.
        assert state.distinct_keys is not None
        most = max(min(max_parallelism, state.distinct_keys.count), len(counts))
        top = sum(sorted(counts.values(), reverse=True)[: max(math.ceil(most / 100), 1)])
        if n:
            assert skew.max_over_mean == max(counts.values()) * most / n
            assert skew.top_percent_share == top / n
            assert skew.bytes_max_over_mean == max(bytes_.values()) * most / sum(sizes)
        else:
            assert skew.max_over_mean is None
    if "subtask" in values:
        counts = Counter(values["subtask"])
        assert [(s.subtask, s.rows) for s in state.subtasks] == sorted(counts.items())
    assert sum(s.rows for s in state.subtasks) == n
    if "key" in values:
        assert state.distinct_keys is not None
        assert state.distinct_keys.exact
        assert state.distinct_keys.count == len({repr(canonical(v)) for v in values["key"]})
    else:
        assert state.distinct_keys is None
    expected = [found for name in names for found in paths(name, types[name], values[name])]
    assert [column.name for column in state.columns] == [path for path, _, _ in expected]
    for column, (_, type_, found) in zip(state.columns, expected, strict=True):
        check_column(column, type_, found)
    for name, largest in (("key", state.biggest_keys), ("value", state.biggest_values)):
        if name in types and size(None, types[name]) != max((size(v, types[name]) for v in values[name]), default=0):
            measured = [size(v, types[name]) for v in values[name]]
            assert [big.bytes for big in largest] == sorted(measured, reverse=True)[:10]
            keys = [repr(json_value(v)) for v in table["key"]] if "key" in values else ["None"] * n
            for big in largest:
                assert (repr(big.key), big.bytes) in set(zip(keys, measured, strict=True))
    check_times(state, values, types, as_of_ms, ttl_ms)


def check_times(
    state: StateDocument, values: dict[str, list[Any]], types: dict[str, pa.DataType], as_of_ms: int, ttl_ms: int | None
) -> None:
    """Hold last accesses, windows and timers against the rows."""
    times = state.times
    if "timestamp_ms" in values or "window_end" in values:
        assert times is not None
        ends = values.get("session_end", values.get("window_end", []))  # contents of sessions are under other windows
        ms = values.get("timestamp_ms") or [v // 1000 for v in ends if v is not None]
        assert (times.min_ms, times.max_ms) == ((min(ms), max(ms)) if ms else (None, None))
        assert times.past == sum(v <= as_of_ms for v in ms)
        check_bins([(b.from_ms, b.to_ms, b.rows) for b in times.histogram], ms)
    else:
        assert times is None
    if state.ttl is not None:
        ms = last_accesses(values, types)
        assert state.ttl.rows_with_time == len(ms)
        assert state.ttl.expired == (None if ttl_ms is None else sum(v + ttl_ms <= as_of_ms for v in ms))
        check_bins([(b.from_ms, b.to_ms, b.rows) for b in state.ttl.histogram], ms)
    else:
        assert "last_access" not in values


def last_accesses(values: dict[str, list[Any]], types: dict[str, pa.DataType]) -> list[int]:
    if "last_access" in values:
        return [v // 1000 for v in values["last_access"] if v is not None]
    if pa.types.is_map(types["value"]):
        return [item["last_access"] // 1000 for row in values["value"] for _, item in row or ()]
    return [item["last_access"] // 1000 for row in values["value"] for item in row or ()]


def check_bins(bins: list[tuple[int | None, int | None, int]], ms: list[int]) -> None:
    """Every time is in one bin, and no bin at the ends is empty."""
    counted = [
        (a, b, sum((a is None or a <= v) and (b is None or v < b) for v in ms)) for a, b, _ in bins
    ]  # fmt: skip
    assert bins == counted
    assert sum(rows for _, _, rows in bins) == len(ms)
    assert not bins or (bins[0][2] and bins[-1][2])
