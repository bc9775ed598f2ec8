"""SQL's state in the savepoints of Flink's restore tests: every row of every keyed state, as others read it.

The savepoints hold canonical bodies, one exec node's state each; the compiled plan lies beside. Rows must be those of
``flink-files/expected``, whichever engine decodes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stateextract
from serializers import DescribeContext
from stateextract.metadata.model import KeyGroupsHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.state.bodies.body import BodyKind, body_kind
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import KeyedHeader, parse_header
from stateextract.state.plan_names import names_of_plan
from stateextract.state.row_layout import row_layout
from stateextract.state.state_columns import ReadOptions, state_schema
from stateextract.state.target import FileRead
from tests.conformance.conftest import flink_files
from tests.conformance.handles import KeyedFile, keyed_files
from tests.conformance.notation import same_rows
from tests.conformance.state_rows import ReadState, expected_rows, rows_of

ROOT = flink_files() / "sql-restore-tests"
SAVEPOINTS = sorted(p.parent for p in ROOT.rglob("savepoint/_metadata"))


def name_of(folder: Path) -> str:
    return str(folder.parent.relative_to(ROOT))


def expected_states(folder: Path) -> dict[tuple[str, str], Any]:
    path = flink_files() / "expected" / f"{folder.relative_to(flink_files())}.json"
    operators = json.loads(path.read_text())["operators"]
    return {(o["id"], s["name"]): s for o in operators for s in o["states"] if s["scope"] == "keyed"}


def read_savepoint(folder: Path, options: ReadOptions) -> dict[tuple[str, str], ReadState]:
    """All keyed states, by operator and name."""
    metadata = parse_metadata((folder / "_metadata").read_bytes())
    max_parallelism = {operator.id: operator.max_parallelism for operator in metadata.operators}
    found: dict[tuple[str, str], ReadState] = {}
    for file in keyed_files(folder):
        for name, state in read_file(file, options, max_parallelism[file.operator]):
            known = found.setdefault((file.operator, name), ReadState())
            known.schemas += state.schemas
            known.batches += state.batches
            known.counters.add(state.counters)
    return found


def read_file(file: KeyedFile, options: ReadOptions, max_parallelism: int) -> Iterator[tuple[str, ReadState]]:
    handle, data = file.handle, file.data
    assert isinstance(handle, KeyGroupsHandle)
    head = parse_header(data, 0, file.header_end)

    def read_at(at: int, n: int) -> bytes:
        return data[at : at + n]

    form = body_kind(handle.code, handle.offsets, handle.first, head.compressed, read_at, states=len(head.states))
    assert form is BodyKind.FULL_SNAPSHOT
    starts = [(group, offset) for group, offset in enumerate(handle.offsets, handle.first) if offset]
    ends = [*[offset for _, offset in starts[1:]], len(data)] if starts else []
    ranges = [KeyGroupRange(group, start, end) for (group, start), end in zip(starts, ends, strict=True)]
    counters = Counters()
    states = {meta.name: ReadState([state_schema(row_layout(head, meta), options)]) for meta in head.states}
    for piece in read_key_groups(
        read_at, head, ranges, FileRead(set(states), options, counters, file.subtask), form, max_parallelism
    ):
        assert not piece.raw
        piece.batch.validate(full=True)
        states[piece.state].batches.append(piece.batch)
    for name, state in states.items():
        state.counters = counters.of(name)
    yield from states.items()


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
@pytest.mark.parametrize("folder", SAVEPOINTS, ids=name_of)
def test_rows(folder: Path, engine: str) -> None:
    expected = expected_states(folder)
    found = read_savepoint(folder, ReadOptions(engine=engine))
    assert set(found) == set(expected)
    for key, state in found.items():
        table = state.table()
        assert same_rows(expected_rows(expected[key], table.schema), rows_of(table)) is None, key
        assert (state.counters.rows, state.counters.problems) == (table.num_rows, [])


def test_there_are_all_of_them() -> None:
    assert len(SAVEPOINTS) == 123


# ---- names out of the compiled plans


def plan_of(folder: Path) -> str:
    places = [folder.parent / "plan", folder.parent.parent / "plan"]
    (path,) = next(p for p in places if p.is_dir()).glob("*.json")
    return path.read_text()


def named_types(name: str) -> dict[str, dict[str, str]]:
    """The columns of each state, with the plan's names."""
    folder = ROOT / name / "savepoint"
    metadata = parse_metadata((folder / "_metadata").read_bytes())
    context = DescribeContext(5, names=names_of_plan(plan_of(folder), metadata.operators))
    found = {}
    for file in keyed_files(folder):
        head = parse_header(file.data, 0, file.header_end)
        assert isinstance(head, KeyedHeader)
        for meta in head.states:
            if not meta.name.startswith("_timer_state"):
                schema = row_layout(head, meta, context.of_operator(file.operator)).schema
                found[meta.name] = {f.name: str(f.type) for f in schema}
    return found


def waiting(fields: str) -> str:
    """A stream element around a row."""
    return (
        f"struct<timestamp: int64, record: struct<{fields}, row_kind: string>, watermark: int64, "
        "latency_marked_time: int64, latency_operator: binary, latency_subtask: int32, watermark_status: int32, "
        "backlog: bool, subpartition: int32>"
    )


WINDOWED = (
    "price: decimal128(10, 2), item: string, supplier_id: string, bid_time: timestamp[us], "
    "window_start: timestamp[us], window_end: timestamp[us], row_kind: string"
)
JOINED = "id: string, num: int32, name: string, window_start: timestamp[us], window_end: timestamp[us], row_kind: string"
NAMED = [
    (
        "join_1/join-anti-join", "left-records", "bool",
        "map<struct<deptno: int32, name: string, row_kind: string>, struct<f0: int32, f1: int32>>",
    ),
    ("join_1/join-anti-join", "right-records", "bool", "map<struct<department_num: int32, row_kind: string>, int32>"),
    (
        "changelog-normalize_1/changelog-normalize-source", "deduplicate-state", "struct<a: string>",
        "struct<a: string, b: int32, c: string, row_kind: string>",
    ),
    (
        "deduplicate_1/deduplicate-asc", "deduplicate-state", "struct<product: string>",
        "struct<order_id: int64, user: string, product: string, order_time: int64, event_time: timestamp[us], "
        "row_kind: string>",
    ),
    (
        "interval-join_1/interval-join-event-time", "IntervalJoinRightCache", "struct<id: int32>",
        "map<int64, list<item: struct<f0: struct<order_id: int32, shipment_ts_str: string, shipment_ts: timestamp[us], "
        "row_kind: string>, f1: bool>>>",
    ),
    (
        "temporal-join_1/temporal-join-table-join", "left", "struct<currency: string>",
        "map<int64, struct<amount: int64, currency: string, rowtime: timestamp[us], row_kind: string>>",
    ),
    (
        "temporal-join_1/temporal-join-table-join", "right", "struct<currency: string>",
        "map<int64, struct<currency: string, rate: int64, rowtime: timestamp[us], row_kind: string>>",
    ),
    (
        "sort-limit_1/sort-limit-asc", "data-state-with-append", "bool",
        "map<struct<a: int32, row_kind: string>, list<item: struct<a: int32, b: string, c: int32, row_kind: string>>>",
    ),
    ("rank_1/rank-n-test", "counterState", "struct<a: string>", "int32"),
    (
        "over-aggregate_1/over-aggregate-bounded-non-partitioned-rows", "inputState", "bool",
        "map<int64, list<item: struct<ts: int64, a: int64, b: int32, c: string, rowtime: timestamp[us], $5: int64, "
        "row_kind: string>>>",
    ),
    (
        "temporal-sort_1/temporal-sort-rowtime", "dataState", "bool",
        "map<int64, list<item: struct<int: int32, rowtime: timestamp[us], double: double, row_kind: string>>>",
    ),
    ("window-deduplicate_1/window-deduplicate-asc-cumulate-first-row", "window_deduplicate", "bool",
     f"struct<{WINDOWED}>"),
    (
        "window-rank_1/window-rank-cumulate-tvf-min-top-n", "window_rank", "bool",
        f"map<struct<price: decimal128(10, 2), row_kind: string>, list<item: struct<{WINDOWED}>>>",
    ),
    ("window-join_1/window-join-anti-tumble-event-time", "left-records", "struct<name: string>",
     f"list<item: struct<{JOINED}>>"),
    # Accumulators have no names in a plan; the key has.
    (
        "window-aggregate_1/window-aggregate-cumulate-event-time", "window-aggs", "struct<name: string>",
        "struct<f0: int64, f1: int32, f2: int64, f3: bool, row_kind: string>",
    ),
    (
        "match_1/match-complex", "eventQueuesStateName", "struct<symbol: string>",
        "map<int64, list<item: struct<symbol: string, tstamp: int64, price: int32, tax: int32, "
        "proctime: timestamp[us, tz=UTC], row_kind: string>>>",
    ),
    # The key of a unique key's map is not a sort key, whatever its types.
    (
        "multi-join_1/four-way-complex-preserves-upsert-key-with-restore", "multi-join-input-3",
        "struct<user_id_0: string>",
        "map<struct<f0: string, row_kind: string>, struct<user_id_3: string, location: string, row_kind: string>>",
    ),
    (
        "process-table-function_1/process-multi-input-order-by-restore", "input-sort-buffer-data-1",
        "struct<name: string>",
        "map<int64, list<item: struct<name: string, score: int32, ts: timestamp[us, tz=UTC], row_kind: string>>>",
    ),
    # The key is the sink's primary key; the names are those of the rows that the sink takes.
    (
        "over-aggregate_1/over-aggregate-non-time-range-unbounded-sum-retract-mode-source-sink-primary-key-partition-by-non-pk",
        "values", "struct<val: int64>",
        "list<item: struct<key: string, val: int64, ts: int64, sum_ts: int64, row_kind: string>>",
    ),
    # A left record, a right one, and a watermark, which the left serializer wrote: its record is always null.
    (
        "delta-join_2/delta-join-with-cache", "_delta_join_operator_async_wait_state_", "struct<a1: int32>",
        f"list<item: struct<f0: {waiting('a1: int32, a0: double, a2: string')}, "
        f"f1: {waiting('b0: double, b2: string, b1: int32')}, "
        f"f2: {waiting('f0: int32, f1: double, f2: string')}, f3: int32>>",
    ),
    (
        "sink_2/insert-into-upsert-with-sink-upsert-materializer-writable-metadata", "values", "struct<name: string>",
        "list<item: struct<name: string, score: int64, nameMetadata: string, scoreMetadata: int64, row_kind: string>>",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "state", "key", "value"), NAMED, ids=[f"{n[0]}-{n[1]}" for n in NAMED])
def test_plan_names(name: str, state: str, key: str, value: str) -> None:
    types = named_types(f"stream-exec-{name}")[state]
    assert (types["key"], types["value"]) == (key, value)


@pytest.mark.parametrize("folder", SAVEPOINTS, ids=name_of)
def test_a_plan_knows_the_operators(folder: Path) -> None:
    """Every operator with SQL's keyed state is a node of the plan beside it, and nothing is named but fields."""
    metadata = parse_metadata((folder / "_metadata").read_bytes())
    rules = names_of_plan(plan_of(folder), metadata.operators)
    assert {operator for operator, _ in expected_states(folder)} <= {rule.operator for rule in rules}


def test_plan_through_the_api() -> None:
    folder = ROOT / "stream-exec-join_1" / "join-anti-join" / "savepoint"
    (plan,) = (folder.parent / "plan").glob("*.json")
    table, plain = (
        next(s for s in stateextract.open_snapshot(str(folder), plan=name).states if s.name == "left-records").to_table()
        for name in (str(plan), "")
    )
    assert table.num_rows > 0
    assert str(table.schema.field("value").type.key_type) == "struct<deptno: int32, name: string, row_kind: string>"
    assert str(plain.schema.field("value").type.key_type) == "struct<f0: int32, f1: string, row_kind: string>"
    rows = [[list(key.values()) for key, _ in row] for t in (table, plain) for row in t["value"].to_pylist()]
    assert rows[: table.num_rows] == rows[table.num_rows :]
