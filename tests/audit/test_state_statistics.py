"""Figures of made-up rows: any values, cut into any batches, put together in any order, many rows."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateextract.audit.document import Distinct, StateDocument
from stateextract.audit.measure import distinct, sample
from stateextract.audit.measure import selected_rows as rows
from stateextract.audit.measure.column_statistics import ColumnPath, ColumnStatistics
from stateextract.audit.measure.hashes import hashes_of
from stateextract.audit.measure.state_statistics import MeasureOptions, StateStatistics
from tests.audit.brute import check_column, check_state, paths, plain
from tests.depth import examples

NOW = 1_700_000_000_000
OPTIONS = MeasureOptions(NOW, 86_400_000)
VALUE = pa.struct(
    [
        ("number", pa.int64()), ("small", pa.int16()), ("huge", pa.uint64()), ("ratio", pa.float64()), ("half", pa.float32()),
        ("text", pa.string()), ("data", pa.binary()), ("flag", pa.bool_()), ("amount", pa.decimal128(20, 2)),
        ("at", pa.timestamp("us", "UTC")), ("day", pa.date32()), ("none", pa.null()),
        ("inner", pa.struct([("x", pa.int32()), ("names", pa.list_(pa.string()))])),
        ("counts", pa.map_(pa.string(), pa.int64())),
    ]
)  # fmt: skip
SCHEMA = pa.schema([("key", pa.string()), ("value", VALUE), ("key_group", pa.int32()), ("subtask", pa.int32())])

_maybe = lambda values: st.one_of(st.none(), values)  # noqa: E731
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_floats = st.floats(width=32) | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf])
VALUES = st.fixed_dictionaries(
    {
        "number": _maybe(st.integers(-(1 << 63), (1 << 63) - 1)),
        "small": _maybe(st.integers(-3, 3)),
        "huge": _maybe(st.integers(0, (1 << 64) - 1)),
        "ratio": _maybe(_floats),
        "half": _maybe(_floats),
        "text": _maybe(_texts),
        "data": _maybe(st.binary(max_size=20)),
        "flag": _maybe(st.booleans()),
        "amount": _maybe(st.decimals(Decimal(-(10**15)), Decimal(10**15), places=2)),
        "at": _maybe(st.integers(-(1 << 60), 1 << 60)),
        "day": _maybe(st.integers(-10_000, 10_000)),
        "none": st.none(),
        "inner": _maybe(
            st.fixed_dictionaries(
                {"x": _maybe(st.integers(0, 9)), "names": _maybe(st.lists(_maybe(_texts), max_size=3))}
            )
        ),
        "counts": _maybe(st.lists(st.tuples(_texts, st.integers(0, 9)), max_size=3)),
    }
)


def table_of(values: Sequence[Any]) -> pa.Table:
    """A row per value, keys in the order of their key groups."""
    n = len(values)
    return pa.table(
        {
            "key": pa.array([f"key-{i}" for i in range(n)], pa.string()),
            "value": pa.array(values, VALUE),
            "key_group": pa.array([i * 8 // max(n, 1) for i in range(n)], pa.int32()),
            "subtask": pa.array([i * 2 // max(n, 1) for i in range(n)], pa.int32()),
        },
        schema=SCHEMA,
    )


def figures_of(table: pa.Table, ends: Sequence[int] = ()) -> StateStatistics:
    """The figures of a table that is cut at these rows."""
    made = StateStatistics(table.schema, OPTIONS)
    bounds = [0, *sorted(end for end in ends if end < table.num_rows), table.num_rows]
    for begin, end in itertools.pairwise(bounds):
        for batch in table.slice(begin, end - begin).combine_chunks().to_batches():
            for piece in by_subtask(batch):
                made.add(piece, piece.column("subtask")[0].as_py())
    return made


def by_subtask(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    subtasks = batch.column("subtask").to_pylist()
    cuts = [0, *(i for i in range(1, len(subtasks)) if subtasks[i] != subtasks[i - 1]), len(subtasks)]
    return [batch.slice(a, b - a) for a, b in itertools.pairwise(cuts) if b > a]


def document(figures: StateStatistics) -> dict[str, Any]:
    """What the document has of them."""
    return {
        "rows": figures.rows,
        "bytes": figures.decoded_bytes,
        "keys": figures.distinct_keys,
        "key_groups": dict(sorted(figures.key_groups.items())),
        "subtasks": dict(sorted(figures.subtasks.items())),
        "columns": [asdict(column) for column in figures.document_columns()],
        "biggest": {name: [asdict(big) for big in largest.largest] for name, largest in figures.largest.items()},
        "times": [times and times.histogram for times in (figures.ttl, figures.times)],
    }


def carried(figures: StateStatistics) -> StateStatistics:
    """The figures after their way from a task."""
    made = StateStatistics(figures.schema, figures.measure_options, figures.ttl is not None)
    made.load(figures.as_dict())
    return made


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(VALUES, max_size=12), st.lists(st.integers(1, 11), max_size=3), st.randoms())
def test_any_values_in_any_batches(values: list[Any], ends: list[int], chance: random.Random) -> None:
    table = table_of(values)
    whole = figures_of(table)
    for column, (_, type_, found) in zip(
        whole.document_columns(),
        [found for f in SCHEMA if f.name in ("key", "value")
         for found in paths(f.name, f.type, [plain(v) for v in table[f.name]])],
        strict=True,
    ):  # fmt: skip
        check_column(column, type_, found)
    expected = document(whole)
    assert document(figures_of(table, ends)) == expected
    parts = [carried(figures_of(table.slice(i, 1))) for i in range(len(values))]
    chance.shuffle(parts)
    merged = StateStatistics(SCHEMA, OPTIONS)
    for part in parts:
        merged.merge(part)
    assert document(merged) == expected


ALL = st.one_of(
    st.lists(_maybe(st.integers(-(1 << 63), (1 << 63) - 1))).map(lambda v: pa.array(v, pa.int64())),
    st.lists(_maybe(_floats)).map(lambda v: pa.array(v, pa.float64())),
    st.lists(_maybe(_floats)).map(lambda v: pa.array(v, pa.float32())),
    st.lists(_maybe(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))).map(
        lambda v: pa.array(v, pa.string())
    ),
    st.lists(_maybe(st.binary(max_size=40))).map(lambda v: pa.array(v, pa.binary())),
)


@settings(max_examples=examples(50), deadline=None)
@given(ALL, st.integers(0, 5))
def test_the_kernel_and_numpy_agree(array: pa.Array, skipped: int) -> None:
    array = array.slice(min(skipped, len(array)))
    agree(array)


def agree(array: pa.Array) -> None:
    """Hold the kernel's figures of a column against numpy's."""
    place = ColumnPath(("value",), array.type)
    fast, slow = ColumnStatistics(place), ColumnStatistics(place)
    hashes, quick = np.zeros(len(array), np.uint64), np.zeros(len(array), np.uint64)
    with without_kernel():
        slow.add(array, hashes)
    fast.add(array, quick)
    assert hashes.tolist() == quick.tolist() == hashes_of(array).tolist()
    assert fast.as_dict() == slow.as_dict()


@pytest.mark.parametrize("skipped", [0, 1, 63, 64, 65])
def test_byte_strings_of_every_length(skipped: int) -> None:
    """More of them than a block has; they begin alike, so that their first eight bytes do not tell them apart."""
    chance = random.Random(skipped)
    values = [
        b"\x80prefix\xff"[:length] + bytes([i] * (length - 8)) for length in range(41) for i in (0, 127, 128, 255)
    ]
    chance.shuffle(values)
    agree(pa.array(values, pa.binary()).slice(skipped))
    long = [value for value in values if len(value) >= 8]
    agree(pa.array(long, pa.binary()).slice(skipped))
    with_nulls = [None if chance.random() < 0.3 else value for value in values]
    agree(pa.array(with_nulls, pa.binary()).slice(skipped))
    agree(pa.array([None] * 100 + values[:1], pa.binary()).slice(skipped))


@pytest.mark.parametrize("skipped", [0, 1, 63, 64, 65])
@pytest.mark.parametrize(
    "type_", [pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.date32()]
)
def test_numbers_of_more_than_a_block(type_: pa.DataType, skipped: int) -> None:
    chance = random.Random(skipped)
    if pa.types.is_floating(type_):
        values = [chance.choice([math.nan, -0.0, 0.0, math.inf, -math.inf, 0.5, -3.25]) for _ in range(200)]
    else:
        least = 0 if type_ == pa.uint64() else -(1 << type_.bit_width - 1)
        values = [chance.randrange(least, least + (1 << type_.bit_width)) for _ in range(200)]
    agree(
        pa.array(np.array(values, type_.to_pandas_dtype() if type_ != pa.date32() else np.int32))
        .view(type_)
        .slice(skipped)
    )
    mask = np.array([chance.random() < 0.3 for _ in values])
    raw = np.array(values, type_.to_pandas_dtype() if type_ != pa.date32() else np.int32)
    agree(pa.array(raw, mask=mask).view(type_).slice(skipped))
    agree(pa.array(raw, mask=np.arange(200) != 150).view(type_).slice(skipped))


@contextmanager
def without_kernel() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (
            "distinct", "column_statistics", "measured_arrays", "state_statistics", "selected_rows", "largest", "owners",
        ):  # fmt: skip
            patch.setattr(f"stateextract.audit.measure.{module}.compiled", lambda size: None)
        yield


def test_documents_are_the_same_without_the_kernel() -> None:
    values = [{"text": f"t{i}", "number": i, "ratio": i / 3, "at": i} for i in range(50)]
    table = table_of(values)
    with without_kernel():
        slow = document(figures_of(table))
    assert document(figures_of(table)) == slow


@pytest.fixture(autouse=True)
def _kernel() -> None:
    """Kernels are loaded, so that this one is taken for little data too."""
    import stateextract.columnar.kernel  # noqa: F401

    assert rows.compiled(1 << 30) is not None


def test_hashes_are_what_they_were() -> None:
    """What processes send to each other is put together by them, and estimates stay the same."""
    assert hashes_of(pa.array([0, 1, -1])).tolist() == [1, 12994781566227106604, 7256831767414464289]
    texts = pa.array(["", "a", "abcdefgh", "abcdefghi", "abcdefghijklmnopqrstuvwxyz"])
    expected = [
        8945059440620005536, 6836440383033087212, 3708013356086625565, 12592642642006228274, 15146170912121111509,
    ]  # fmt: skip
    assert hashes_of(texts).tolist() == expected


@pytest.mark.parametrize("different", [1, 4095, 4096, 5000, 100_000, 300_000])
@pytest.mark.parametrize("kind", ["long", "string", "step"])
def test_distinct_is_within_its_error(different: int, kind: str) -> None:
    numbers = np.arange(different, dtype=np.int64)
    array = {
        "long": lambda: pa.array(numbers * 1_000_003 + 7),
        "string": lambda: pa.array(numbers).cast(pa.string()),
        "step": lambda: pa.array(numbers << 42),
    }[kind]()
    schema = pa.schema([("key", pa.int64()), ("value", array.type)])
    figures = StateStatistics(schema, OPTIONS)
    for _ in range(2):
        figures.add(pa.RecordBatch.from_arrays([pa.array(numbers), array], schema=schema), 0)
    found = figures.document_columns()[1].distinct
    assert found is not None
    if different < distinct.K:
        assert found == Distinct(different)
    else:
        assert not found.exact
        assert found.error == distinct.ERROR
        assert abs(found.count - different) <= found.error * different


def test_quantiles_are_within_their_error() -> None:
    rows = 200_000
    chance = np.random.default_rng(3)
    skewed = np.floor(chance.pareto(1.2, rows) * 100).astype(np.int64)
    schema = pa.schema([("key", pa.int64()), ("value", pa.int64())])
    figures = StateStatistics(schema, OPTIONS)
    keys = chance.permutation(rows).astype(np.int64)
    for begin in range(0, rows, 50_000):
        part = slice(begin, begin + 50_000)
        figures.add(pa.RecordBatch.from_arrays([pa.array(keys[part]), pa.array(skewed[part])], schema=schema), 0)
    column = figures.document_columns()[1]
    assert column.rank_error == sample.rank_error(sample.ROWS)
    assert 0.02 < column.rank_error < 0.03
    for quantile in column.quantiles:
        below, upto = (skewed < quantile.value).mean(), (skewed <= quantile.value).mean()
        assert below - column.rank_error <= quantile.q <= upto + column.rank_error


def test_the_order_of_many_rows_does_not_count() -> None:
    rows = 30_000
    chance = np.random.default_rng(5)
    value = pa.array([None if i % 7 == 0 else f"text-{i % 9000}" for i in range(rows)], pa.string())
    schema = pa.schema([("key", pa.string()), ("namespace", pa.int64()), ("value", pa.string())])
    key, namespace = pa.array([f"k{i // 3}" for i in range(rows)]), pa.array([i % 3 for i in range(rows)])
    table = pa.table([key, namespace, value], schema=schema)
    forwards, backwards = StateStatistics(schema, OPTIONS), StateStatistics(schema, OPTIONS)
    for batch in table.to_batches(7000):
        forwards.add(batch, 0)
    parts = []
    for batch in table.take(pa.array(chance.permutation(rows))).combine_chunks().to_batches(11_000):
        part = StateStatistics(schema, OPTIONS)
        part.add(batch, 0)
        parts.append(carried(part))
    for part in reversed(parts):
        backwards.merge(part)
    assert document(forwards) == document(backwards)
    keys = forwards.distinct_keys
    assert keys is not None
    assert not keys.exact
    assert abs(keys.count - 10_000) <= keys.error * 10_000


def test_empty_state() -> None:
    figures = StateStatistics(SCHEMA, OPTIONS)
    assert figures.rows == 0
    assert figures.distinct_keys == Distinct(0)
    assert all(column.min is None and column.null_share == 0 for column in figures.document_columns())
    assert document(carried(figures)) == document(figures)


def test_rows_of_one_size_have_no_biggest() -> None:
    schema = pa.schema([("key", pa.int64()), ("value", pa.int64())])
    figures = StateStatistics(schema, OPTIONS)
    figures.add(pa.RecordBatch.from_arrays([pa.array([1, 2]), pa.array([3, 4])], schema=schema), 0)
    assert figures.largest["key"].largest == figures.largest["value"].largest == []
    assert figures.decoded_bytes == 32


def test_long_extremes_and_keys_are_cut() -> None:
    schema = pa.schema([("key", pa.string()), ("value", pa.binary())])
    figures = StateStatistics(schema, OPTIONS)
    key = "ä" * 1000
    figures.add(pa.RecordBatch.from_arrays([pa.array([key]), pa.array([b"\1" * 1000])], schema=schema), 0)
    columns = figures.document_columns()
    assert columns[0].min == columns[0].max == "ä" * 255 + "…"
    assert columns[1].max == "01" * 255 + "…"
    (big,) = figures.largest["key"].largest
    assert (big.key, big.bytes) == ("ä" * 255 + "…", 2004)


def test_check_state_can_fail() -> None:
    """The plain way is no rubber stamp."""
    table = table_of([{"number": 1}, {"number": 2}])
    figures = figures_of(table)
    state = StateDocument("s", "value", "heap", None, "decoded", None, [], [], figures.rows, 0, figures.decoded_bytes + 1)
    with pytest.raises(AssertionError):
        check_state(state, table, NOW, None, 8)
    with pytest.raises(AssertionError):
        check_state(replace(state, rows=3), table, NOW, None, 8)


def test_lists_without_a_decimal() -> None:
    """In a batch whose lists are all empty there is not one value of their type."""
    schema = pa.schema([("key", pa.list_(pa.decimal128(20, 2))), ("value", pa.int64()), ("key_group", pa.int32())])
    figures = StateStatistics(schema, OPTIONS)
    for keys in ([[], []], [[Decimal("1.50")], []]):
        rows_ = [{"key": key, "value": 1, "key_group": 0} for key in keys]
        figures.add(pa.RecordBatch.from_pylist(rows_, schema=schema), 0)
    assert figures.rows == 4
    key = next(column for column in figures.document_columns() if column.name == "key")
    assert key.lengths is not None
    assert (key.rows, key.lengths.min, key.lengths.max) == (4, 0, 1)
