"""Filters: which key groups are read, which splits there are, and that no row is missing."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as ds

from stateextract.columnar.convert.policy import Policy
from stateextract.files.filesystem import OpenFile, Store
from stateextract.metadata.parser import parse_metadata
from stateextract.spark.source_filters import row_filters, selected_key_groups
from stateextract.state.keys.lookup import has_key
from tests.golden.test_rows import DATA
from tests.golden.test_rows import load as expected
from tests.job.snapshots import write_snapshot
from tests.spark.sources import Loaded, load
from tests.writers.test_generate import groups_of

if not hasattr(ds, "EqualTo"):
    pytest.skip("Spark 4.0 has no filter pushdown for Python data sources", allow_module_level=True)
GROUPS = 16
ROWS = 4000


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """4,000 longs of two states in their key groups, in the files of three subtasks."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for key, group in zip(range(ROWS), groups_of(list(range(ROWS)), GROUPS), strict=True):
        rows.setdefault(group, []).append((key, 10 * key))
    states = {"a": rows, "b": {group: rows[group][:1] for group in rows}}
    folder: Path = tmp_path_factory.mktemp("filters") / "s"
    return write_snapshot(folder, {"op": states}, parallelism=3, max_parallelism=GROUPS)


class Recording:
    """An open file that notes what is read of it."""

    late = False

    def __init__(self, file: OpenFile, uri: str, reads: list[tuple[str, int, int]]) -> None:
        self.file, self.uri, self.reads = file, uri, reads

    def read_at(self, offset: int, length: int) -> bytes:
        data = self.file.read_at(offset, length)
        self.reads.append((Path(self.uri).name, offset, offset + len(data)))
        return data

    def read_into(self, offset: int, room: memoryview) -> int:
        n = self.file.read_into(offset, room)
        self.reads.append((Path(self.uri).name, offset, offset + n))
        return n

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Files and ranges that are read."""
    found: list[tuple[str, int, int]] = []
    real = Store.open
    monkeypatch.setattr(Store, "open", lambda self, uri: Recording(real(self, uri), uri, found))
    return found


def ranges(snapshot: Path) -> dict[int, tuple[str, int, int]]:
    """Where each key group lies: file, first byte, behind its last one."""
    found = {}
    for subtask in parse_metadata((snapshot / "_metadata").read_bytes()).operators[0].subtasks:
        handle: Any = subtask.managed_keyed
        ends = [*handle.offsets[1:], handle.size]
        for group, start, end in zip(handle.key_groups, handle.offsets, ends, strict=True):
            found[group] = (f"op-{subtask.index}", start, end)
    return found


def check_ranges(snapshot: Path, reads: list[tuple[str, int, int]], groups: set[int]) -> None:
    """Exactly these key groups were read, and of each file that has one the head."""
    places = ranges(snapshot)
    heads = {file: min(start for f, start, _ in places.values() if f == file) for file, _, _ in places.values()}
    body = {(file, byte) for file, start, end in reads for byte in range(max(start, heads[file]), end)}
    assert body == {(file, byte) for g in groups for file, start, end in [places[g]] for byte in range(start, end)}
    assert {file for file, _, _ in reads} == {places[g][0] for g in groups}


def task_rows(loaded: Loaded, reads: list[tuple[str, int, int]], *filters: Any) -> list[tuple[int, int]]:
    """Key and key group of the rows that tasks give."""
    reader, partitions = loaded.planned(filters)
    reads.clear()
    found = []
    for partition in partitions:
        for batch in reader.read(partition):
            found += zip(batch.column("key").to_pylist(), batch.column("key_group").to_pylist(), strict=True)
    return found


def state(snapshot: Path, **options: Any) -> Loaded:
    return load(snapshot, operatorUid="op", stateName="a", pushFilters=True, **options)


def test_a_key_reads_its_key_group(snapshot: Path, reads: list[tuple[str, int, int]]) -> None:
    loaded = state(snapshot)
    for key in (0, 17, ROWS - 1):
        (group,) = groups_of([key], GROUPS)
        assert task_rows(loaded, reads, ds.EqualTo(("key",), key)) == [(key, group)]
        check_ranges(snapshot, reads, {group})
    assert len(task_rows(loaded, reads)) == ROWS
    check_ranges(snapshot, reads, set(range(GROUPS)))


def test_several_keys_read_their_key_groups(snapshot: Path, reads: list[tuple[str, int, int]]) -> None:
    keys = [3, 5, 8, 13]
    groups = groups_of(keys, GROUPS)
    rows = task_rows(state(snapshot), reads, ds.In(("key",), (*keys, None)))
    assert sorted(rows) == sorted(zip(keys, groups, strict=True))
    check_ranges(snapshot, reads, set(groups))
    # Both filters have to pass.
    both = ds.In(("key",), tuple(keys)), ds.LessThan(("key_group",), max(groups))
    rows = task_rows(state(snapshot), reads, *both)
    assert {key for key, _ in rows} == {k for k, g in zip(keys, groups, strict=True) if g < max(groups)}
    check_ranges(snapshot, reads, {g for g in groups if g < max(groups)})


def test_a_key_that_is_not_there(snapshot: Path, reads: list[tuple[str, int, int]]) -> None:
    assert task_rows(state(snapshot), reads, ds.EqualTo(("key",), -5)) == []
    check_ranges(snapshot, reads, set(groups_of([-5], GROUPS)))
    nothing = ds.EqualTo(("key",), 5), ds.EqualTo(("key_group",), (groups_of([5], GROUPS)[0] + 1) % GROUPS)
    reader, partitions = state(snapshot).planned(nothing)
    assert partitions == []
    # Spark then makes a partition of its own.
    assert list(reader.read(ds.InputPartition(None))) == []


@pytest.mark.parametrize(
    ("filters", "groups"),
    [
        ([ds.EqualTo(("key_group",), 3)], {3}),
        ([ds.In(("key_group",), (0, 15, 99))], {0, 15}),
        ([ds.GreaterThanOrEqual(("key_group",), 14)], {14, 15}),
        ([ds.GreaterThan(("key_group",), 2), ds.LessThanOrEqual(("key_group",), 5)], {3, 4, 5}),
    ],
)
def test_key_groups(snapshot: Path, reads: list[tuple[str, int, int]], filters: list[Any], groups: set[int]) -> None:
    rows = task_rows(state(snapshot), reads, *filters)
    assert {group for _, group in rows} == groups
    assert len(rows) == sum(group in groups for group in groups_of(list(range(ROWS)), GROUPS))
    check_ranges(snapshot, reads, groups)


@pytest.mark.parametrize(
    "filter_",
    [
        ds.Not(ds.EqualTo(("key",), 5)),
        ds.IsNotNull(("key",)),
        ds.EqualTo(("value",), 50),
        ds.GreaterThan(("key",), 5),
    ],
)
def test_filters_that_leave_every_key_group(snapshot: Path, reads: list[tuple[str, int, int]], filter_: Any) -> None:
    rows = task_rows(state(snapshot), reads, filter_)
    check_ranges(snapshot, reads, set(range(GROUPS)))
    wanted = {"EqualTo": 1, "GreaterThan": ROWS - 6}.get(type(filter_).__name__, ROWS)
    assert len(rows) == wanted


def test_splits_are_packed_anew(snapshot: Path) -> None:
    small = state(snapshot, splitBytes="300 kB")
    assert len(small.planned()[1]) == 4, "opening a file counts like 256 kB"
    few = small.planned([ds.In(("key_group",), (0, 15))])[1]
    assert len(few) == 2
    assert len(state(snapshot).planned([ds.In(("key_group",), (0, 15))])[1]) == 1


def test_filters_leave_out_nothing_unless_asked_for(snapshot: Path, reads: list[tuple[str, int, int]]) -> None:
    """Spark keeps the plan of a query with filters for later ones without."""
    loaded = load(snapshot, operatorUid="op", stateName="a")
    assert len(task_rows(loaded, reads, ds.EqualTo(("key",), 17), ds.EqualTo(("key_group",), 3))) == ROWS
    check_ranges(snapshot, reads, set(range(GROUPS)))


# ---- the options keys and keyGroups


def test_keys_read_their_key_groups(snapshot: Path, reads: list[tuple[str, int, int]]) -> None:
    for keys in ([17], [3, 5, 8, 13], ["17", 17, -5]):
        there = sorted({int(key) for key in keys if int(key) >= 0})
        groups = groups_of(there, GROUPS)
        rows = task_rows(load(snapshot, stateName="a", keys=json.dumps(keys)), reads)
        assert sorted(rows) == sorted(zip(there, groups, strict=True))
        check_ranges(snapshot, reads, set(groups_of([int(key) for key in keys], GROUPS)))


def test_no_keys_have_no_rows(snapshot: Path) -> None:
    for options in ({}, {"keyGroups": "0-7"}, {"wide": True}):
        none = load(snapshot, keys="[]", **({"stateName": "a"} if "wide" not in options else {}), **options)
        assert (none.planned()[1], none.table().num_rows) == ([], 0)


def test_key_groups_by_number(snapshot: Path, reads: list[tuple[str, int, int]]) -> None:
    rows = task_rows(load(snapshot, stateName="a", keyGroups="3, 14-15"), reads)
    assert {group for _, group in rows} == {3, 14, 15}
    assert len(rows) == sum(group in (3, 14, 15) for group in groups_of(list(range(ROWS)), GROUPS))
    check_ranges(snapshot, reads, {3, 14, 15})
    (group,) = groups_of([17], GROUPS)
    both = load(snapshot, stateName="a", keys="[17]", keyGroups=f"0-{group}")
    assert task_rows(both, reads) == [(17, group)]
    other = load(snapshot, stateName="a", keys="[17]", keyGroups=str((group + 1) % GROUPS))
    assert other.planned()[1] == []


def test_keys_are_needed_where_they_are_not_shown(snapshot: Path) -> None:
    assert load(snapshot, stateName="a", keys="[17]", columns="value").table().to_pylist() == [{"value": 170}]
    assert load(snapshot, stateName="a", keys="[17]", includeMetadata=False).table().to_pylist() == [
        {"key": 17, "value": 170}
    ]
    wide = load(snapshot, wide=True, keys="[17, 18]", columns="a").table()
    assert sorted(wide["a"].to_pylist()) == [170, 180]


def test_keys_of_other_types() -> None:
    path = golden("f23-keys-native-snappy")
    for operator in ("by-tuple", "by-pojo", "rules-join"):
        options = {"operatorUid": operator, **({"stateName": "count"} if operator == "rules-join" else {})}
        table = load(path, **options).table()
        for row in table.to_pylist():
            keys = load(path, **options, keys=json.dumps([row["key"]])).table()
            assert row in keys.to_pylist()
            assert all(other["key"] == row["key"] for other in keys.to_pylist())


def test_which_rows_have_a_key() -> None:
    zeros = pa.array([0.0, -0.0, 1.0, None, float("nan")])
    assert has_key(zeros, [pa.scalar(0.0)]).tolist() == [True, True, False, False, False]
    assert has_key(zeros, [pa.scalar(float("nan")), pa.scalar(1.0)]).tolist() == [False, False, True, False, True]
    assert has_key(pa.array(["a", None, "b"]), [pa.scalar("b"), pa.scalar("c")]).tolist() == [False, False, True]
    assert has_key(pa.array([], pa.int64()), [pa.scalar(1)]).tolist() == []


def test_a_narrow_schema_has_its_own_filters(snapshot: Path, reads: list[tuple[str, int, int]]) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    loaded = load(
        snapshot, StructType([StructField("value", LongType())]), operatorUid="op", stateName="a", pushFilters=True
    )  # fmt: skip
    assert loaded.table([ds.EqualTo(("value",), 70)]).to_pylist() == [{"value": 70}]


# ---- keys of other types


def golden(case: str) -> Path:
    return DATA / case / expected(case)["snapshot"]


def test_tuples_field_by_field() -> None:
    loaded = load(golden("f23-keys-native-snappy"), operatorUid="by-tuple", pushFilters=True)
    table = loaded.table()
    key = next(k for k in table["key"].to_pylist() if "\ufffd" not in str(k))
    group = next(r["key_group"] for r in table.to_pylist() if r["key"] == key)
    filters = [ds.EqualTo(("key", "f0"), key["f0"]), ds.In(("key", "f1"), (key["f1"], "no such"))]
    found = loaded.table(filters).to_pylist()
    assert [row["key"] for row in found] == [key]
    kept = wanted(loaded, filters, golden("f23-keys-native-snappy"), "by-tuple")
    assert kept is not None
    assert group in kept
    assert len(kept) <= 2
    assert wanted(loaded, filters[:1], golden("f23-keys-native-snappy"), "by-tuple") is None, "only one of two fields"


def wanted(loaded: Loaded, filters: list[Any], path: Path, operator: str) -> frozenset[int] | None:
    import stateextract

    found = stateextract.open_snapshot(str(path)).operator(operator)
    serializer = found.states[0]._rows[0].key_serializer
    schema = loaded.table().schema
    return selected_key_groups(filters, schema, found.max_parallelism, Policy())(serializer)


def test_keys_whose_hash_is_the_users_are_looked_for_everywhere() -> None:
    loaded = load(golden("f23-keys-native-snappy"), operatorUid="by-pojo", stateName="numbers", pushFilters=True)
    for row in loaded.table().to_pylist():
        filters = [
            ds.IsNull(("key", name)) if value is None else ds.EqualTo(("key", name), value)
            for name, value in row["key"].items()
        ]
        assert row in loaded.table(filters).to_pylist()


def test_every_key_of_every_type_is_found() -> None:
    longs = "4907b94f5e0cb960935a3e4c0d7415fe"
    for options in (
        {"operatorUid": "rules-join", "stateName": "count"},
        {"operatorId": longs, "stateName": "last-third"},
    ):
        loaded = load(golden("f113-keys-checkpoint"), pushFilters=True, **options)
        for row in loaded.table().to_pylist():
            assert row in loaded.table([ds.EqualTo(("key",), row["key"])]).to_pylist(), row


# ---- windows and other rows


def test_windows_leave_out_rows() -> None:
    loaded = load(
        golden("f23-windows-native-snappy"),
        operatorUid="tumbling-reduce",
        pushFilters=True,
        stateName="window-contents",
    )
    table = loaded.table()
    starts = sorted(set(table["window_start"].to_pylist()))
    assert len(starts) > 1
    for path in (("window_start",), ("namespace", "start")):
        found = loaded.table([ds.GreaterThan(path, starts[0])])
        assert found.num_rows == sum(s > starts[0] for s in table["window_start"].to_pylist()) < table.num_rows


def test_comparisons_of_rows() -> None:
    inner = pa.struct({"b": pa.bool_()})
    schema = pa.schema(
        {"i": pa.int32(), "s": pa.string(), "t": pa.timestamp("us", "UTC"), "f": pa.float64(), "r": inner}
    )
    at = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    rows = [
        {"i": 1, "s": "a", "t": at, "f": 0.0, "r": {"b": True}},
        {"i": None, "s": "b", "t": None, "f": 1.0, "r": None},
        {"i": 3, "s": "é", "t": at, "f": 2.0, "r": {"b": False}},
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema)

    def passing(*filters: Any) -> list[int]:
        numbers = pa.array(range(3))
        for f in row_filters(filters, schema):
            numbers = numbers.filter(pa.array([bool(v) for v in f.mask(batch).to_pylist()]))
        return numbers.to_pylist()

    assert passing(ds.EqualTo(("i",), 1)) == [0]
    assert passing(ds.EqualNullSafe(("i",), 1)) == [0]
    assert passing(ds.LessThan(("s",), "é")) == [0, 1]
    assert passing(ds.In(("s",), ("b", "é", None))) == [1, 2]
    assert passing(ds.GreaterThanOrEqual(("t",), at)) == [0, 2]
    assert passing(ds.EqualTo(("r", "b"), True)) == [0]
    # Nothing is said of these: floating point compares otherwise in Spark, and the others are no comparisons.
    for other in (
        ds.EqualTo(("f",), 0.0), ds.EqualNullSafe(("i",), None), ds.IsNull(("i",)), ds.StringContains(("s",), "a"),
        ds.EqualTo(("i",), "text"), ds.EqualTo(("nowhere",), 1), ds.EqualTo(("r", "nowhere"), 1),
    ):  # fmt: skip
        assert row_filters([other], schema) == (), other
