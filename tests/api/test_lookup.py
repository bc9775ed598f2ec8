"""Single keys and numbers of rows: the same as reading everything, and no more is read than they need."""

from __future__ import annotations

import shutil
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from stateextract.api import State
from stateextract.api import state as state_module
from stateextract.columnar.layout import Text
from stateextract.columnar.search import parallel_skip as passing
from stateextract.columnar.search import searching
from stateextract.columnar.search.key_pattern import Finder
from stateextract.errors import FormatError, MissingFileError, StateExtractError, UsageError
from stateextract.state import engine, target
from stateextract.state.bodies.body import BodyKind
from stateextract.state.keys import lookup
from stateextract.state.keys.lookup import has_key, is_one_key
from stateextract.state.state_columns import ReadOptions
from tests.columnar.reference import encode
from tests.golden.expected import DATA, load
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.writers import flink_writer as flink

CASES = (
    "f20-kinds-native",
    "f117-keys-checkpoint",
    "f120-keys-checkpoint-snappy",
    "f117-changes-canonical-snappy",
    "f117-changes-checkpoint-rocksdb-incremental",
    "f120-changes-checkpoint-changelog-materialized",
    "f113-changes-checkpoint-rocksdb-incremental-rescaled",
    "f120-sqlcore-canonical",
    "f23-windows-native-snappy",
)


def states(case: str) -> list[tuple[State, pa.Table]]:
    folder = DATA / case
    snapshot = stateextract.open_snapshot(str(folder / load(folder)["snapshot"]), out_of_range="null")
    return [(s, s.to_table()) for s in snapshot.states if s.coverage.status == "decoded"]


def same(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("case", CASES)
def test_counts_and_keys_are_those_of_all_rows(case: str) -> None:
    looked_up = 0
    for state, table in states(case):
        assert state.count() == table.num_rows, state
        if state.scope == "operator" or not table.num_rows:
            continue
        keys = [value.as_py() for value in table["key"]]
        for key in (keys[0], keys[-1]):
            if key is None or "\ufffd" in repr(key):
                continue
            wanted = table.filter(pa.array([other == key for other in keys]))
            if not wanted.num_rows:  # NaN
                continue
            assert same(state.get(key)) == same(wanted), (state, key)
            groups = state.key_groups_of(key)
            assert groups is None or set(wanted["key_group"].to_pylist()) <= groups
            looked_up += 1
    assert looked_up >= 4


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("few", [1, 3])
def test_searching_leaves_no_row_out(case: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel, which passes over entries without the bytes of a key, finds what reading everything finds."""
    monkeypatch.setattr(state_module, "suited", lambda options, size: replace(options, engine="kernel"))
    monkeypatch.setattr(searching, "FEW", few)
    monkeypatch.setattr(passing, "LEAST", 40)
    monkeypatch.setattr(searching, "_TRIALS", 1 << 30)
    sought: list[bytes] = []
    made = Finder.__init__
    monkeypatch.setattr(Finder, "__init__", lambda self, pattern: (sought.append(pattern), made(self, pattern))[1])
    for state, table in states(case):
        if "key" not in table.column_names:
            continue
        keys = [value.as_py() for value in table["key"]]
        different = list({repr(key): key for key in keys}.values())
        for key in different[:: max(len(different) // 2, 1)]:
            if key is None or "\ufffd" in repr(key) or "nan" in repr(key):
                continue
            wanted = table.filter(pa.array([other == key for other in keys]))
            assert same(state.get(key)) == same(wanted), (state, key)
        absent = {pa.string(): "no key of any row", pa.int64(): 0x7BCDEF0123456789}.get(table.schema.field("key").type)
        assert absent is None or state.get(absent).num_rows == 0
    assert sought


def test_keys_of_many_fields_times_in_nanoseconds_among_them() -> None:
    folder = DATA / "f120-sql-checkpoint"
    snapshot = stateextract.open_snapshot(str(folder / load(folder)["snapshot"]), timestamps="nanoseconds")
    (state,) = (
        s for s in snapshot.states if s.name == "accState" and "timestamp[ns" in str(s.schema.field("key").type)
    )
    keys = state.to_table()["key"].combine_chunks()
    needles = {lookup.key_pattern(state._rows[0], key, state._options.policy) for key in keys} - {None}
    assert needles
    data = b"".join(Path(file).read_bytes() for file in state.files)
    assert all(pattern in data for pattern in needles if pattern is not None)


@pytest.mark.parametrize("compressed", [False, True])
def test_keys_that_are_not_there(compressed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is one whose bytes stand in a value, or across two entries, and what is behind them is still read."""
    monkeypatch.setattr(state_module, "suited", lambda options, size: replace(options, engine="kernel"))
    rows = {0: [(key, key + 1) for key in range(0, 1000, 2)]}
    write_snapshot(tmp_path / "s", {"op": {"a": rows}}, parallelism=1, max_parallelism=1, compressed=compressed)
    state = stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state("a")
    monkeypatch.setattr(searching, "FEW", 10)
    assert state.get(501).num_rows == 0  # a value
    assert state.get(2**40).num_rows == 0
    assert state.get(1 << 24).num_rows == 0
    assert state.get(998).to_pylist() == [{"key": 998, "value": 999, "key_group": 0, "subtask": 0}]


@pytest.mark.parametrize("size", [63, 64, 65, 1000, 1_300_000, pytest.param(3_000_000, marks=pytest.mark.long)])
def test_a_long_key_across_what_is_looked_through_together(size: int, tmp_path: Path) -> None:
    """Behind so many bytes that part of the key lies in one stretch and part in the next."""
    key = "k" * size + "!"
    entries = [b"\0" + encode(Text(), k) + struct.pack(">q", v) for k, v in (("first" * 180_000, 1), (key, 2))]
    rows: dict[int, Any] = {0: entries}
    write_snapshot(tmp_path / "s", {"op": {"a": rows}}, parallelism=1, max_parallelism=1, key=flink.STRING)
    state = stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state("a")
    assert state.get(key).column("value").to_pylist() == [2]
    assert state.get(key[1:]).num_rows == 0


@pytest.mark.parametrize("size", [1, 4, 7])
@pytest.mark.parametrize("step", [1, 3, 7, 8])
def test_bytes_across_stretches_are_found(size: int, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_LOOK", step)
    sought = b"abcdefg"[:size]
    for at in range(30 - size):
        data = bytes(at) + sought + bytes(30 - size - at)
        for start in {0, at // 2, at, at + 1}:
            for stop in {at + size - 1, at + size, min(at + size + 3, 30), 30}:
                found = lookup.is_found(lambda o, n, d=data: d[o : o + n], start, stop, Finder(sought))  # type: ignore[misc]
                assert found == (sought in data[start:stop])


def test_of_a_file_that_ends_early_nothing_is_said() -> None:
    assert lookup.is_found(lambda offset, length: b"", 0, 10, Finder(b"abcd"))


def test_changes_are_looked_at_one_by_one() -> None:
    """A key may stand in the log alone, and what was materialized is not left out for that."""
    options = ReadOptions(key=pa.scalar(1))
    file_read = target.FileRead((), options, engine.Counters(), 0)
    assert engine._own_read(file_read, None).options is options
    assert engine._own_read(file_read, object()).options.key is None  # type: ignore[arg-type]
    folder = DATA / "f120-changes-checkpoint-changelog-materialized"
    snapshot = stateextract.open_snapshot(str(folder / load(folder)["snapshot"]))
    changed = [
        (state, file)
        for state in snapshot.states
        for file in state._named_state.files
        if file.content is not None and file.content.changes is not None and file.content.form is BodyKind.HEAP
    ]
    assert changed
    for state, file in changed:
        assert file.content is not None
        key = pa.scalar("no key of any row", state.schema.field("key").type)
        assert state._holding(file, file.content, key) is file.content


def test_only_states_with_entries_that_are_met_have_a_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bool] = []
    make = target.make_decoder
    monkeypatch.setattr(target, "make_decoder", lambda *a, **more: (made.append(more["keep"]), make(*a, **more))[1])
    states: dict[str, Any] = {f"s{i}": {0: []} for i in range(5)} | {"a": {0: [(1, 1)]}, "b": {0: [(2, 2)]}}
    write_snapshot(tmp_path / "s", {"op": states}, parallelism=1, max_parallelism=1)
    state = stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state("a")
    assert state.to_table().num_rows == 1
    assert sorted(made) == [False, True]


def test_rows_that_are_found_do_not_keep_the_others(tmp_path: Path) -> None:
    rows = {0: [(key, key) for key in range(100_000)]}
    write_snapshot(tmp_path / "s", {"op": {"a": rows}}, parallelism=1, max_parallelism=1)
    found = stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state("a").get(70_000)
    assert found.num_rows == 1
    assert found.get_total_buffer_size() < 200


def test_a_key_group_without_the_bytes_of_a_key_is_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {0: [(key, key) for key in range(200_000)]}
    write_snapshot(tmp_path / "s", {"op": {"a": rows}}, parallelism=1, max_parallelism=1)
    state = stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state("a")
    heard: list[int] = []
    state.on_progress = lambda size, rows: heard.append(size)
    monkeypatch.setattr(state_module, "suited", lambda options, size: replace(options, engine="kernel"))
    assert state.get(-7).num_rows == 0
    assert heard == [state.bytes_of()]
    (tmp_path / "s" / "op-0").unlink()
    with pytest.raises(MissingFileError, match=r"in file .*op-0, operator op, state a"):
        state.get(-7)


@pytest.mark.parametrize("compressed", [False, True])
def test_what_is_behind_the_row_of_a_key_is_not_read(
    compressed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_module, "suited", lambda options, size: replace(options, engine="kernel"))
    rows = {0: [(key, key) for key in range(1 << 20)]}
    write_snapshot(tmp_path / "s", {"op": {"a": rows}}, parallelism=1, max_parallelism=1, compressed=compressed)
    state = stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state("a")
    heard: list[int] = []
    state.on_progress = lambda size, rows: heard.append(size)
    for key, share in ((1000, 0.5), ((1 << 20) - 1, 1.1)):
        heard.clear()
        assert state.get(key).column("value").to_pylist() == [key]
        assert sum(heard) <= share * state.bytes_of()


def test_a_key_of_a_window(tmp_path: Path) -> None:
    orders = stateextract.open_snapshot(str(Path(__file__).parents[2] / "examples" / "orders-checkpoint"))
    contents = orders.operator("sales-per-hour").state("window-contents")
    assert contents.get("tea").num_rows == 6
    (row,) = contents.get("tea", {"start": "2023-11-14T22:00:00Z", "end": "2023-11-14T23:00:00Z"}).to_pylist()
    assert row["value"] == {"f0": 4, "f1": 46}
    assert contents.get("coffee").num_rows == 0
    with pytest.raises(UsageError, match="the state has no namespaces"):
        orders.operator("orders-by-customer").state("voucher").get("elif", "x")


def written(folder: Path, **more: Any) -> State:
    rows = {group: [(key, key) for key in range(400) if key % 8 == group] for group in range(8)}
    write_snapshot(folder, {"op": {"a": rows}}, **more)
    return stateextract.open_snapshot(str(folder)).operator("op").state("a")


def test_other_key_groups_are_not_read(tmp_path: Path) -> None:
    """Bytes of the others that are no rows do not matter; those of the key's own do."""
    state = written(tmp_path / "s", parallelism=1)
    (group,) = state.key_groups_of(17) or ()
    file = tmp_path / "s" / "op-0"
    data = file.read_bytes()
    content = state._named_state.files[0].content
    assert content is not None
    own = next(r for r in content.ranges if r.key_group == group)
    damaged = bytearray(b"\xff" * len(data))
    for start, end in ((0, content.header_end), (own.start, own.end)):
        damaged[start:end] = data[start:end]
    file.write_bytes(damaged)
    found = state.get(17)  # its key group as Flink has it is not where this snapshot keeps it
    assert found.num_rows == (group == 17 % 8)
    heard: list[int] = []
    state.on_progress = lambda size, rows: heard.append(size)
    state.get("17")
    assert 0 < sum(heard) <= own.end - own.start
    with pytest.raises(FormatError):
        state.to_table()
    assert state.to_batches(key_groups={group}).read_all().num_rows == 50


def test_reading_ends_at_the_only_row_of_a_key(tmp_path: Path) -> None:
    """What is wrong behind the batch with the row does not matter."""
    rows = {0: [(key, key) for key in range(150_000)]}
    write_snapshot(tmp_path / "s", {"op": {"a": rows}}, parallelism=1, max_parallelism=1)
    state = stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state("a")
    file = tmp_path / "s" / "op-0"
    content = state._named_state.files[0].content
    assert content is not None
    data = bytearray(file.read_bytes())
    count = content.ranges[0].start + 6  # behind the key group and the number of the state
    data[count : count + 4] = struct.pack(">i", 150_001)
    file.write_bytes(data)
    assert state.key_groups_of(3) == {0}
    assert state.get(3).to_pylist() == [{"key": 3, "value": 3, "key_group": 0, "subtask": 0}]
    with pytest.raises(StateExtractError):
        state.get(149_999)


def test_the_two_zeros_are_keys_in_two_key_groups(tmp_path: Path) -> None:
    """One column value is not always one key."""
    zeros = {4: [(-(1 << 63), 2)], 6: [(0, 1)]}
    write_snapshot(tmp_path / "s", {"op": {"a": zeros}}, parallelism=8, key=flink.DOUBLE)
    state = stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state("a")
    for zero in ("0.0", "-0.0", 0.0):
        assert state.key_groups_of(zero) == {4, 6}
        assert [(row["value"], row["key_group"]) for row in state.get(zero).to_pylist()] == [(2, 4), (1, 6)]


@pytest.mark.parametrize(
    ("value", "type_", "one"),
    [
        (17, pa.int64(), True),
        ("a", pa.string(), True),
        ("a\ufffd", pa.string(), False),
        (b"a", pa.binary(), True),
        (1.5, pa.float64(), False),
        (None, pa.int64(), False),
        (0, pa.timestamp("us", "UTC"), False),
        ({"f0": 1, "f1": "a"}, pa.struct({"f0": pa.int32(), "f1": pa.string()}), True),
        ({"f0": 1, "f1": None}, pa.struct({"f0": pa.int32(), "f1": pa.string()}), False),
        ({"f0": 1, "f1": "\ufffd"}, pa.struct({"f0": pa.int32(), "f1": pa.string()}), False),
    ],
)
def test_values_that_may_stand_for_several_keys(value: Any, type_: pa.DataType, one: bool) -> None:
    assert is_one_key(pa.scalar(value, type_)) is one


def test_keys_that_are_none(tmp_path: Path) -> None:
    state = written(tmp_path / "s")
    with pytest.raises(UsageError, match="'x' is not a key of the type int64"):
        state.get("x")
    with pytest.raises(UsageError, match="'x' is not a key of the type int64"):
        state.key_groups_of("x")


def test_a_key_under_another_type(tmp_path: Path) -> None:
    """Its hash would be that of another type: every key group is read."""
    written(tmp_path / "s")
    snapshot = stateextract.open_snapshot(str(tmp_path / "s"), types={"op/a/key": "string"})
    state = snapshot.operator("op").state("a")
    assert state.key_groups_of("17") is None
    assert [row["value"] for row in state.get("17").to_pylist()] == [17]


def test_counts_stand_in_files(tmp_path: Path) -> None:
    """Nothing behind the count of the first state is read; the second can only be walked to."""
    write_snapshot(tmp_path / "s", {"op": {"a": numbered(100), "b": numbered(60)}}, values={"a": UNKNOWN})
    a, b = (stateextract.open_snapshot(str(tmp_path / "s")).operator("op").state(name) for name in "ab")
    assert a.coverage.status == "unsupported"
    assert a.count() == 100, "although no value can be decoded"
    with pytest.raises(StateExtractError, match="cannot be decoded"):
        b.count()


@pytest.mark.parametrize(
    ("case", "kinds"), [("f20-kinds-native", {"list (split)", "list (union)"}), ("f113-keys-checkpoint", {"broadcast"})]
)
def test_counts_of_operator_state(case: str, kinds: set[str]) -> None:
    listed = [(state, table) for state, table in states(case) if state.scope == "operator"]
    assert {state.kind for state, _ in listed} >= kinds
    for state, table in listed:
        assert state.count() == table.num_rows


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    written(tmp_path / "s")
    shutil.copytree(tmp_path / "s", tmp_path / "t")
    state = stateextract.open_snapshot(str(tmp_path / "t")).operator("op").state("a")
    assert state.count() == 400
    (tmp_path / "t" / "op-1").unlink()
    with pytest.raises(StateExtractError) as caught:
        state.count()
    assert caught.value.file == str(tmp_path / "t" / "op-1")


def test_keys_beyond_pythons_dates() -> None:
    """Arrow's dates go on where Python's end, inside of structs too."""
    days = pa.array([2**31 - 1, 0, None], pa.date32())
    structs = pa.StructArray.from_arrays([days, pa.array([1.0, -0.0, 0.0])], ["day", "number"])
    assert has_key(days, [days[0]]).tolist() == [True, False, False]
    assert has_key(structs, [structs[0]]).tolist() == [True, False, False]
    assert has_key(structs, [structs[0], structs[2]]).tolist() == [True, False, True]
    assert has_key(days, [days[2]]).tolist() == [False, False, True]
