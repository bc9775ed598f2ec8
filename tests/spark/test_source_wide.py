"""Wide rows: the states of an operator side by side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as ds
from pyspark.sql.types import LongType, StringType, StructField, StructType

from stateextract.columnar.arrow.row_numbers import row_numbers
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.convert.text import as_text
from stateextract.errors import UnsupportedError, UsageError, ValueRefusedError
from stateextract.snapshot.content import Content
from stateextract.spark import source_wide
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.heap import KeyGroupRange
from tests.golden.test_rows import DATA
from tests.golden.test_rows import load as expected
from tests.job.snapshots import numbered, write_snapshot
from tests.spark.sources import load

ORDERS = Path(__file__).resolve().parents[2] / "examples" / "orders-checkpoint"
IDENTITY = ("key", "namespace")


def golden(case: str) -> Path:
    return DATA / case / expected(case)["snapshot"]


def states_of(path: Path, operator: str, **options: Any) -> list[str]:
    import stateextract

    found = stateextract.open_snapshot(str(path), **options).operator(operator)
    return [s.name for s in found.states if s.scope == "keyed" and s.kind != "timer"]


def identity(row: dict[str, Any]) -> str:
    return repr([row.get(name) for name in IDENTITY])


def joined(path: Path, operator: str, names: list[str], **options: Any) -> dict[str, dict[str, Any]]:
    """What the single states give, by key and namespace; strings as bytes, so that keys are told apart."""
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        for row in load(path, operatorId=operator, stateName=name, strings="binary", **options).table().to_pylist():
            wide = found.setdefault(identity(row), {})
            assert name not in wide
            wide |= {k: v for k, v in row.items() if k not in ("value", "last_access")}
            wide[name] = row["value"]
            if "last_access" in row:
                wide[f"{name}_last_access"] = row["last_access"]
    return found


@pytest.mark.parametrize(
    ("case", "label"),
    [
        ("f23-kinds-native", "all-kinds"),
        ("f23-windows-native-snappy", "session-process"),
        ("f113-keys-checkpoint", "4907b94f5e0cb960935a3e4c0d7415fe"),
        ("f23-async-native-snappy", "async"),
        ("f20-types-checkpoint-snappy", "types-numbers-and-text"),
    ],
)
def test_wide_rows_are_the_states_joined(case: str, label: str) -> None:
    import stateextract

    path = golden(case)
    operator = stateextract.open_snapshot(str(path)).operator(label).id
    names = states_of(path, label)
    assert len(names) > 1
    rows = joined(path, operator, names)
    table = load(path, operatorId=operator, wide=True, strings="binary").table()
    assert set(names) <= set(table.column_names)
    found = {identity(row): row for row in table.to_pylist()}
    assert len(found) == table.num_rows == len(rows)
    for key, row in found.items():
        assert repr({k: v for k, v in row.items() if v is not None}) == repr(
            {k: rows[key][k] for k in row if rows[key].get(k) is not None}
        ), key
    # As text, where two keys may look alike, there are as many rows.
    assert load(path, operatorId=operator, wide=True).table().num_rows == len(rows)


def test_keys_that_look_alike_stay_apart() -> None:
    """The keys of this job end in different lone surrogates, all of which become U+FFFD."""
    table = load(golden("f23-kinds-native"), operatorUid="all-kinds", wide=True).table()
    keys = table["key"].to_pylist()
    assert len(keys) == len(table) > len(set(keys)) or any("\ufffd" in k for k in keys)


def test_schema_and_order_of_columns() -> None:
    schema = load(ORDERS, operatorUid="orders-by-customer", wide=True).schema
    assert schema.fieldNames() == [
        "key", "cents-by-product", "last-order", "order-ids", "voucher", "voucher_last_access", "key_group", "subtask",
    ]  # fmt: skip
    some = load(
        ORDERS, operatorUid="orders-by-customer", wide=True, stateName="voucher, order-ids", includeMetadata=False
    )
    assert some.schema.fieldNames() == ["key", "order-ids", "voucher", "voucher_last_access"]
    windows = load(golden("f23-windows-native-snappy"), operatorUid="session-process", wide=True).schema
    assert windows.fieldNames() == [
        "key", "namespace", "window_start", "window_end", "merging-window-set", "window-contents", "key_group", "subtask",
    ]  # fmt: skip


def test_columns_leave_out_no_row(tmp_path: Path) -> None:
    """A key that only another state has is there all the same."""
    snap = write_snapshot(tmp_path / "s", {"op": {"key": numbered(30), "b": {3: [(100, 7)]}}})
    table = load(snap, wide=True).table()
    assert table.column_names == ["key", "b", "key_2", "key_group", "subtask"], "names that are taken get a number"
    assert table.num_rows == 31
    assert load(snap, wide=True, columns="b").table()["b"].to_pylist().count(None) == 30
    narrow = load(snap, StructType([StructField("b", LongType()), StructField("key", LongType())]), wide=True).table()
    assert narrow.column_names == ["b", "key"]
    assert sorted(narrow["key"].to_pylist()) == [*range(30), 100]
    if not hasattr(ds, "EqualTo"):
        return  # Spark 4.0 has no filter pushdown
    one = load(snap, wide=True, pushFilters=True).table([ds.EqualTo(("b",), 7)])
    assert one.select(["key", "b", "key_2"]).to_pylist() == [{"key": 100, "b": 7, "key_2": None}]


@pytest.mark.parametrize("run_bytes", [1, 200, 1 << 30])
def test_any_size_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_bytes: int) -> None:
    monkeypatch.setattr(source_wide, "RUN_BYTES", run_bytes)
    snap = write_snapshot(
        tmp_path / "s", {"op": {"a": numbered(200, 16), "b": numbered(100, 16, 3)}}, max_parallelism=16
    )
    batches = list(load(snap, wide=True).batches())
    assert len(batches) == {1: 16, 200: 16, 1 << 30: 2}[run_bytes]
    table = pa.Table.from_batches(batches)
    rows = sorted(zip(*(table[name].to_pylist() for name in ("key", "a", "b")), strict=True))
    assert rows == [(i, 10 * i, 3 * i if i < 100 else None) for i in range(200)]


def test_runs_of_key_groups() -> None:
    ranges = tuple(KeyGroupRange(i, 10 * i, 10 * (i + 1)) for i in range(5))
    large = KeyGroupRange(5, 50, 50 + source_wide.RUN_BYTES + 1)
    content = Content(BodyKind.HEAP, 1 << 40, 0, ranges=(*ranges, large, KeyGroupRange(6, large.end, large.end + 10)))
    assert [c.key_groups for c in source_wide.runs(content)] == [(0, 4), (5, 5), (6, 6)]


def test_states_of_different_namespaces_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'_timer_state/event_user-timers' cannot become a column"):
        load(golden("f23-kinds-native"), operatorUid="all-kinds", wide=True, stateName="_timer_state/event_user-timers")
    with pytest.raises(UsageError, match="'rules' cannot become a column: it is not keyed state"):
        load(golden("f113-keys-checkpoint"), operatorUid="rules-join", wide=True, stateName="count,rules")
    different = pa.schema({"namespace": pa.string()}), pa.schema({"namespace": pa.int64()})
    with pytest.raises(UnsupportedError, match="namespace"):
        row_numbers([s.empty_table() for s in different])


# ---- numbers of rows


def numbers(*tables: dict[str, pa.Array]) -> list[list[int]]:
    found, count = row_numbers([pa.table(columns) for columns in tables])
    flat = [n for table in found for n in table.tolist()]
    assert sorted(set(flat)) == list(range(count))
    return [table.tolist() for table in found]


def test_tables_without_rows_or_columns() -> None:
    empty = pa.table({"a": pa.array([], pa.int64())})
    assert [n.tolist() for n in row_numbers([empty, empty])[0]] == [[], []]
    none = pa.table({"a": pa.array([1, 2])}).select([])
    numbers, count = row_numbers([none])
    assert (numbers[0].tolist(), count) == ([0, 0], 1)


def values() -> Iterator[pa.Array]:
    yield pa.array([5, None, 7, 5])
    yield pa.array(["a", None, "", "a"])
    yield pa.array([b"\xed\xa0\x80", None, b"", b"\xed\xa0\x80"])
    yield pa.array([0.0, None, -0.0, 0.0])
    yield pa.array([float("nan"), None, 1.0, float("nan")], pa.float32())
    yield pa.array([True, None, False, True])
    yield pa.array([1, None, 2, 1], pa.timestamp("us", "UTC"))
    yield pa.array([{"x": 1, "y": "a"}, None, {"x": 1, "y": None}, {"x": 1, "y": "a"}])
    yield pa.array([[1, 2], None, [], [1, 2]])
    yield pa.array([[("a", 1)], None, [("a", 2)], [("a", 1)]], pa.map_(pa.string(), pa.int64()))


@pytest.mark.parametrize("array", list(values()), ids=lambda a: str(a.type))
def test_numbers_of_any_type(array: pa.Array) -> None:
    ((a, b, c, d),) = numbers({"key": array})
    assert a == d
    assert len({a, b, c}) == 3
    # The same over two tables.
    one, two = numbers({"key": array.slice(0, 2)}, {"key": array.slice(2)})
    assert one[0] == two[1]
    assert len({*one, *two}) == 3


def test_a_null_struct_is_not_one_of_nulls() -> None:
    array = pa.array([{"x": None}, None, {"x": None}], pa.struct({"x": pa.int64()}))
    ((a, b, c),) = numbers({"key": array})
    assert a == c != b


def test_columns_that_a_table_lacks_are_null_there() -> None:
    key, namespace = pa.array(["a", "b"]), pa.array([None, 1])
    one, two = numbers({"key": key, "namespace": namespace}, {"key": key})
    assert one[0] == two[0]
    assert one[1] != two[1]


# ---- bytes to text


def test_bytes_become_text_again() -> None:
    inner = pa.struct({"s": pa.binary(), "raw": pa.binary()})
    exact = pa.schema({"l": pa.list_(inner), "m": pa.map_(pa.binary(), pa.binary())})
    text = pa.struct({"s": pa.string(), "raw": pa.binary()})
    schema = pa.schema({"l": pa.list_(text), "m": pa.map_(pa.string(), pa.string())})
    lone = "a\ud800b".encode("utf-8", "surrogatepass")
    rows = [
        {"l": [{"s": "é".encode(), "raw": b"\xff"}, None, {"s": None, "raw": None}], "m": [(b"k", b"v"), (b"l", None)]},
        {"l": None, "m": None},
        {"l": [{"s": lone, "raw": lone}], "m": [(b"\xff", lone)]},
    ]
    batch = pa.RecordBatch.from_pylist(rows, exact)
    assert as_text(pa.RecordBatch.from_pylist(rows[:2], exact), schema, Policy(strings="fail")).to_pylist() == [
        {"l": [{"s": "é", "raw": b"\xff"}, None, {"s": None, "raw": None}], "m": [("k", "v"), ("l", None)]},
        {"l": None, "m": None},
    ]
    assert as_text(batch.slice(2), schema, Policy()).to_pylist() == [
        {"l": [{"s": "a\ufffdb", "raw": lone}], "m": [("\ufffd", "a\ufffdb")]}
    ]
    with pytest.raises(ValueRefusedError, match="lone surrogate"):
        as_text(batch, schema, Policy(strings="fail"))
    assert as_text(batch, exact, Policy(strings="binary")) is not None


def test_strings_of_wide_rows_are_as_the_policy_says() -> None:
    options = {"operatorUid": "all-kinds", "wide": True}
    path = golden("f23-kinds-native")
    texts = load(path, **options).table()
    assert texts.schema.field("key").type == pa.string()
    assert load(path, strings="binary", **options).table().schema.field("key").type == pa.binary()
    with pytest.raises(ValueRefusedError, match="lone surrogate"):
        load(path, strings="fail", **options).table()
    assert isinstance(load(path, **options).schema["key"].dataType, StringType)
