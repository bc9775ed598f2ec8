"""Who owns the state: exact where all owners have a counter, and within the stated error where they do not."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateextract import open_snapshot
from stateextract.audit.document import OperatorDocument, Owners
from stateextract.audit.measure import owners
from stateextract.audit.measure import selected_rows as rows
from stateextract.audit.measure.hashes import hashes_of
from stateextract.audit.measure.owners import BYTES, ENTRY, ERROR, ROWS, Counted, owners_of
from stateextract.audit.measure.state_statistics import MeasureOptions, StateStatistics
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.columnar.arrow.json_values import json_value
from stateextract.options import JobOptions
from tests.audit.brute import MEASURED, plain, size
from tests.depth import examples
from tests.golden.expected import DATA, load

CASES = (
    "f113-windows-checkpoint-snappy",
    "f120-changes-canonical-rocksdb-snappy",
    "f120-kinds-checkpoint",
    "f120-sql-checkpoint",
)
Numbers = list[int]


def place(name: str) -> str:
    return str(DATA / name / load(DATA / name)["snapshot"])


# ---- golden snapshots


@pytest.mark.parametrize("name", CASES)
def test_owners_equal_the_plain_way(name: str) -> None:
    document = statistics(JobOptions(snapshot=place(name), out_of_range="null"), StatisticsOptions(as_of_ms=0, top=10))
    snapshot = open_snapshot(place(name), on_undecodable="skip", out_of_range="null")
    checked = 0
    for operator in document.operators:
        plainly = by_owner(snapshot, operator)
        for found, expected in ((operator.keys, plainly["key"]), (operator.windows, plainly["window"])):
            if found is None:
                assert not expected
            else:
                check(found, expected)
                checked += len(found.largest)
    assert checked >= 10


def by_owner(snapshot: Any, operator: OperatorDocument) -> dict[str, dict[str, dict[str, Numbers]]]:
    """Bytes, rows and entries of each key and window, by state."""
    made: dict[str, dict[str, dict[str, Numbers]]] = {
        of: defaultdict(lambda: defaultdict(lambda: [0, 0, 0])) for of in ("key", "window")
    }
    for state in snapshot.states:
        names = state.schema.names
        if state.operator.id != operator.operator_id or "key_group" not in names:
            continue
        bounds = next((of for of in owners_columns() if names and set(of) <= set(names)), ())
        for batch in state.to_batches():
            for i in range(batch.num_rows):
                row = {name: batch.column(name)[i] for name in names}
                amount = sum(size(plain(row[n]), batch.schema.field(n).type) for n in names if n in MEASURED)
                value = plain(row["value"]) if "value" in names else None
                numbers = [amount, 1, len(value) if isinstance(value, list) else 1]
                add(made["key"][repr(json_value(row["key"]))][state.name], numbers)
                if bounds:
                    window = {n.split("_")[1]: json_value(row[n]) for n in bounds}
                    add(made["window"][repr(window)][state.name], numbers)
    return made


def owners_columns() -> tuple[tuple[str, ...], ...]:
    return ("session_start", "session_end"), ("window_start", "window_end"), ("window_end",), ("slice_end",)


def add(to: Numbers, numbers: Numbers) -> None:
    to[:] = [a + b for a, b in zip(to, numbers, strict=True)]


def check(found: Owners, expected: dict[str, dict[str, Numbers]]) -> None:
    totals = {owner: [sum(n) for n in zip(*states.values(), strict=True)] for owner, states in expected.items()}
    ranked = sorted((numbers[0] for numbers in totals.values()), reverse=True)
    assert found.bytes == sum(ranked)
    assert [owner.bytes for owner in found.largest] == ranked[:10]
    assert found.others_at_most == (ranked[10] if len(ranked) > 10 else 0)
    for owner in found.largest:
        states = expected[repr(owner.owner)]
        assert [owner.bytes, owner.rows, owner.entries, owner.error] == [*totals[repr(owner.owner)], 0]
        assert {s.state_name: [s.bytes, s.rows, s.entries] for s in owner.states} == dict(states)


# ---- many owners


def test_many_rows_of_like_size() -> None:
    """More rows come in question than the kernel has room for, in every batch."""
    schema = pa.schema([("key", pa.string()), ("value", pa.list_(pa.int64())), ("key_group", pa.int32())])
    made = StateStatistics(schema, MeasureOptions(0))
    lengths = [[1] * 20_000, [1 + i % 2 for i in range(20_000)], [i % 3 for i in range(20_000)], [3, *[2] * 30_000]]
    for number, batch in enumerate(lengths):
        keys = [f"{number}-{i:05}" for i in range(len(batch))]
        values = [[0] * n for n in batch]
        arrays = [pa.array(c, f.type) for c, f in zip([keys, values, [0] * len(batch)], schema, strict=True)]
        made.add(pa.record_batch(arrays, schema=schema), 0)
    counted = made.owners["key"].finalize()
    sizes = sorted((4 + 7 + 4 + 8 * n for batch in lengths for n in batch), reverse=True)
    assert sorted(counted.counters[BYTES].tolist(), reverse=True) == sizes[:1024] == [39, *[31] * 1023]
    assert counted.bounds.tolist() == [31]
    # Of equal rows those with the smallest hashes.
    every = [f"{number}-{i:05}" for number, batch in enumerate(lengths) for i, n in enumerate(batch) if n == 2]
    smallest = sorted(hashes_of(pa.array(every)).tolist())[:1023]
    assert sorted(counted.hashes.tolist()) == sorted([*smallest, *hashes_of(pa.array(["3-00000"])).tolist()])


MOST, KEPT = 8, 4


@pytest.fixture(params=["kernel", "numpy"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few counters, by either way of adding."""
    monkeypatch.setattr(owners, "MOST", MOST)
    monkeypatch.setattr(owners, "KEPT", KEPT)
    monkeypatch.setattr(owners, "_BOUNDS", 16)
    if request.param == "kernel":
        from stateextract.audit.measure import measure_kernel as kernel

        monkeypatch.setattr(owners, "compiled", lambda size: kernel)
    else:
        monkeypatch.setattr(rows, "compiled", lambda size: None)
        monkeypatch.setattr(owners, "compiled", lambda size: None)


TIMERS = pa.schema([("key", pa.string()), ("timestamp_ms", pa.int64()), ("key_group", pa.int32())])
LISTS = pa.schema([("key", pa.string()), ("value", pa.list_(pa.int32())), ("key_group", pa.int32())])


def figures(schema: pa.Schema, columns: list[list[Any]]) -> StateStatistics:
    made = StateStatistics(schema, MeasureOptions(0))
    made.add(pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema), 0)
    return made


def carried(figures: StateStatistics) -> StateStatistics:
    made = StateStatistics(figures.schema, figures.measure_options)
    made.load(figures.as_dict())
    return made


def within(counted: Counted, true: dict[str, Numbers]) -> None:
    """Hold what is known against what every owner owns."""
    names = counted.labels.to_pylist()
    assert len(set(names)) == len(names)
    for name, numbers in zip(names, counted.counters.T.tolist(), strict=True):
        assert numbers[BYTES] <= true[name][0] <= numbers[BYTES] + numbers[ERROR]
        assert numbers[ROWS] <= true[name][1]
        assert numbers[ENTRY] <= true[name][2]
        if not numbers[ERROR]:
            assert numbers[:3] == true[name]
    for name in set(true) - set(names):
        assert true[name][0] <= counted.bounds_of(hashes_of(pa.array([name])))[0]
    if len(true) <= MOST and not counted.bounds.any():
        assert set(names) == set(true)


@pytest.mark.usefixtures("small")
@settings(max_examples=examples(20), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), min_size=1, max_size=60), st.integers(1, 5), st.randoms()
)
def test_the_sketch_keeps_its_error(found: list[tuple[int, int]], parts: int, order: random.Random) -> None:
    keys = ["k" * (i % 7 + 1) + str(i) for i, n in found for _ in range(n)]
    order.shuffle(keys)
    true: dict[str, Numbers] = defaultdict(lambda: [0, 0, 0])
    for key in keys:
        add(true[key], [4 + len(key) + 8, 1, 1])
    shares = [keys[i::parts] for i in range(parts)]
    made = [carried(figures(TIMERS, [share, list(range(len(share))), [0] * len(share)])) for share in shares]
    order.shuffle(made)
    for other in made[1:]:
        made[0].merge(other)
    sketch = made[0].owners["key"].finalize()
    assert len(sketch) <= MOST
    within(sketch, true)
    if len(true) <= MOST:
        assert sorted(sketch.counters[:3].T.tolist()) == sorted(true.values())


@pytest.mark.usefixtures("small")
@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 5), st.randoms())
def test_the_largest_rows_do_not_depend_on_order(lengths: list[int], parts: int, order: random.Random) -> None:
    table = [(f"key-{i}", list(range(n)), 0) for i, n in enumerate(lengths)]
    true = {key: [4 + len(key) + 4 + 4 * len(value), 1, len(value)] for key, value, _ in table}

    def counted() -> Counted:
        order.shuffle(table)
        shares = [share for i in range(parts) if (share := table[i::parts])]
        made = [carried(figures(LISTS, [*map(list, zip(*share, strict=True))])) for share in shares]
        for other in made[1:]:
            made[0].merge(other)
        return made[0].owners["key"].finalize()

    one, other = counted(), counted()
    within(one, true)
    assert sorted(one.hashes.tolist()) == sorted(other.hashes.tolist())
    assert one.bounds.tolist() == other.bounds.tolist()
    kept = KEPT if len(table) > MOST else len(table)
    assert sorted(one.counters[BYTES].tolist(), reverse=True) == sorted((n[0] for n in true.values()), reverse=True)[:kept]


@pytest.mark.usefixtures("small")
def test_several_states_of_many_owners() -> None:
    # Of timers every key has one but the first, which has 100; lists grow with the number of their key.
    timers = [f"{i:02}" for i in range(30)] + ["00"] * 99
    lists = [f"{i:02}" for i in range(20)]
    first = figures(TIMERS, [timers, list(range(len(timers))), [0] * len(timers)])
    other = figures(LISTS, [lists, [[0] * 10 * i for i in range(20)], [0] * 20])
    total = first.decoded_bytes + other.decoded_bytes
    found = owners_of([("timers", first.owners["key"].finalize()), ("lists", other.owners["key"].finalize())], total, 2)
    assert found is not None
    assert found.bytes == 129 * 14 + sum(10 + 40 * i for i in range(20))
    largest, second = found.largest
    assert (largest.owner, second.owner) == ("00", "19")
    # All lists but the largest four have at most 10 + 40 * 16 bytes.
    assert largest.bytes <= 100 * 14 + 10 <= largest.bytes + largest.error
    assert [part.state_name for part in largest.states] == ["timers"]
    assert second.bytes <= 14 + 10 + 40 * 19 <= second.bytes + second.error
    assert found.others_at_most >= 14 + 10 + 40 * 18


@pytest.mark.usefixtures("small")
def test_rows_of_one_size_own_alike() -> None:
    schema = pa.schema([("key", pa.int64()), ("value", pa.int64()), ("key_group", pa.int32())])
    made = figures(schema, [list(range(MOST + 1)), [0] * (MOST + 1), [0] * (MOST + 1)])
    found = owners_of([("numbers", made.owners["key"].finalize())], made.decoded_bytes, 3)
    assert found == Owners(16 * (MOST + 1), 16, [])
