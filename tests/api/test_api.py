"""The Python API on golden data: what a snapshot says of itself, lookups, reading in part, errors, lazy imports."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from stateextract.errors import (
    SnapshotNotFoundError,
    StateExtractError,
    UndecodableError,
    UnsupportedError,
    UsageError,
    ValueRefusedError,
)
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions
from tests.job.snapshots import TUPLE, UNKNOWN, numbered, write_snapshot

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "golden" / "data"


def snapshot_path(case: str) -> str:
    return str(DATA / case / json.loads((DATA / case / "expected.json").read_text())["snapshot"])


KINDS = snapshot_path("f20-kinds-native")
MERGED = snapshot_path("f23-kinds-checkpoint-merged")


def made(folder: Path, **options: Any) -> Path:
    """Two operators with states of eighty rows in two files each."""
    states = {"a": numbered(80), "b": numbered(80, factor=100)}
    return write_snapshot(folder / "chk-7", {"first": states, "second": states}, **options)


# ---- what a snapshot says of itself


def test_snapshot() -> None:
    snapshot = stateextract.open_snapshot(KINDS)
    assert snapshot.path == KINDS
    assert snapshot.metadata_path == f"{KINDS}/_metadata"
    assert snapshot.checkpoint_id >= 1
    assert snapshot.properties is not None
    assert (snapshot.properties.kind, snapshot.properties.format) == ("savepoint", "native")
    assert snapshot.note is None
    assert snapshot.relocations == []
    assert snapshot.master_states == ()
    assert repr(snapshot) == f"<Snapshot {KINDS}, checkpoint {snapshot.checkpoint_id}, 2 operators>"


def test_the_newest_checkpoint_of_a_job_is_taken_and_said(tmp_path: Path) -> None:
    made(tmp_path)
    snapshot = stateextract.open_snapshot(str(tmp_path))
    assert snapshot.path == str(tmp_path / "chk-7")
    assert snapshot.note == f"chk-7 is the newest complete checkpoint of 1 in {tmp_path}"


def test_operators() -> None:
    snapshot = stateextract.open_snapshot(KINDS)
    operator = snapshot.operator("all-kinds")
    assert operator is snapshot.operator(operator_id("all-kinds"))
    assert operator is snapshot.operator(operator_id("all-kinds").upper())
    assert operator is snapshot.operator("all kinds by name")
    assert (operator.uid, operator.name) == ("all-kinds", "all kinds by name")
    expected = json.loads((DATA / "f20-kinds-native" / "expected.json").read_text())["operators"]
    wanted = next(o for o in expected if o["uid"] == "all-kinds")
    assert (operator.parallelism, operator.max_parallelism) == (wanted["parallelism"], wanted["max_parallelism"])
    assert operator.subtask_state_count == operator.parallelism
    assert not operator.fully_finished
    assert operator.coordinator_size == 0
    assert operator.total_size == sum(size for *_, size in operator.handles)
    assert operator.problems == []
    source = snapshot.operator("events")
    assert source.states == tuple(s for s in snapshot.states if s.operator is source)


def test_states() -> None:
    expected = json.loads((DATA / "f20-kinds-native" / "expected.json").read_text())
    operator = stateextract.open_snapshot(KINDS).operator("all-kinds")
    wanted = next(o for o in expected["operators"] if o["uid"] == "all-kinds")
    keyed = {s.name: s.kind for s in operator.states if s.scope == "keyed"}
    assert keyed == {s["name"]: s["kind"].lower().replace("timers", "timer") for s in wanted["states"]}
    others = {s.name: s.kind for s in operator.states if s.scope == "operator"}
    modes = {"SPLIT_DISTRIBUTE": "list (split)", "UNION": "list (union)", "BROADCAST": "broadcast"}
    assert others == {s["name"]: modes[s["mode"]] for s in wanted["operator_states"]}
    names = [s.name for s in operator.states]
    assert names == sorted(keyed) + sorted(others)


def test_a_state() -> None:
    state = stateextract.open_snapshot(KINDS).operator("all-kinds").state("ttl-value")
    assert (state.kind, state.scope, state.form, state.size) == ("value", "keyed", "heap", None)
    assert state.schema.names == ["key", "value", "last_access", "key_group", "subtask"]
    assert state.schema.field("last_access").type == pa.timestamp("us", "UTC")
    assert [name.rpartition(".")[2] for name in state.serializers.values()] == [
        "StringSerializer$StringSerializerSnapshot",
        "VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot",
        "TtlStateFactory$TtlSerializerSnapshot",
    ]
    assert state.coverage == stateextract.Coverage("decoded")
    assert len(state.files) == state.handles
    assert all(Path(file).is_file() for file in state.files)


# ---- lookups that fail


def test_unknown_names_are_answered_with_the_nearest(tmp_path: Path) -> None:
    snapshot = stateextract.open_snapshot(str(made(tmp_path)))
    with pytest.raises(UsageError, match=r"^no operator has the uid, name or id 'firs'\. The nearest are 'first'\.$"):
        snapshot.operator("firs")
    with pytest.raises(UsageError, match=r"no state of the operator is called 'c'; in operator first\. The states are"):
        snapshot.operator("first").state("c")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on_undecodable": "ignore"}, "the option on_undecodable is 'ignore'; expected one of fail, skip, raw"),
        ({"decoder": "fast"}, "the option decoder is 'fast'"),
        ({"strings": "drop"}, "the option strings is 'drop'"),
        ({"codec": "zip"}, "the option codec is 'zip'; expected one of snappy, lz4"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        stateextract.open_snapshot(KINDS, **options)


def test_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFoundError):
        stateextract.open_snapshot(str(tmp_path))


def test_operator_state() -> None:
    operator = stateextract.open_snapshot(KINDS).operator("all-kinds")
    state = operator.state("union-list")
    assert (state.scope, state.kind, state.form) == ("operator", "list (union)", "operator state")
    assert state.schema.names == ["value", "index", "subtask"]
    table = state.to_table()
    assert table.num_rows == state.coverage.counters.rows > 0
    for subtask in set(table["subtask"].to_pylist()):
        index = table.filter(pa.compute.equal(table["subtask"], subtask))["index"].to_pylist()
        assert index == list(range(len(index)))


def test_all_timers_of_an_operator() -> None:
    operator = stateextract.open_snapshot(KINDS).operator("all-kinds")
    table = operator.timers().read_all()
    queues = [s for s in operator.states if s.kind == "timer"]
    assert table.num_rows == sum(s.to_table().num_rows for s in queues) > 0
    assert set(table["kind"].to_pylist()) <= {"event", "processing"}
    assert {
        f"_timer_state/{k}_{s}" for k, s in zip(table["kind"].to_pylist(), table["service"].to_pylist(), strict=True)
    } <= {s.name for s in queues}


# ---- reading


def test_batches_come_as_they_are_read(tmp_path: Path) -> None:
    state = stateextract.open_snapshot(str(made(tmp_path))).operator("first").state("a")
    reader = state.to_batches()
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema == state.schema
    assert state.coverage.counters.rows == 0
    first = reader.read_next_batch()
    assert first.column("subtask").unique().to_pylist() == [0]
    assert (state.coverage.counters.rows, state.coverage.complete) == (40, False)
    rest = reader.read_all()
    assert first.num_rows + rest.num_rows == 80
    assert state.coverage.complete
    assert (state.coverage.status, state.coverage.counters.rows, state.coverage.counters.key_groups) == ("decoded", 80, 8)


def test_reading_twice_counts_once(tmp_path: Path) -> None:
    state = stateextract.open_snapshot(str(made(tmp_path))).operator("first").state("a")
    assert state.to_table().equals(state.to_table())
    assert state.coverage.counters.rows == 80


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
@pytest.mark.parametrize("limit", [0, 1, 7, 79, 80, 1000])
def test_limit(tmp_path: Path, limit: int, engine: Any) -> None:
    state = stateextract.open_snapshot(str(made(tmp_path)), decoder=engine).operator("first").state("b")
    table = state.to_table(limit)
    whole = state.to_table()
    assert table.equals(whole.slice(0, limit))
    state.to_table(limit)
    assert state.coverage.complete is (limit > 80)


def test_a_limit_stops_reading(tmp_path: Path) -> None:
    """The second file is not touched: it may even be gone."""
    path = made(tmp_path)
    snapshot = stateextract.open_snapshot(str(path))
    state = snapshot.operator("first").state("a")
    assert state.schema is not None
    (path / "first-1").unlink()
    assert state.to_table(40).num_rows == 40
    with pytest.raises(stateextract.errors.MissingFileError) as caught:
        state.to_table(41)
    assert (caught.value.operator, caught.value.state, caught.value.file) == ("first", "a", str(path / "first-1"))


def test_negative_limit(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the limit is -1"):
        stateextract.open_snapshot(str(made(tmp_path))).operator("first").state("a").to_batches(-1)


def test_columns_that_are_not_wanted(tmp_path: Path) -> None:
    snapshot = stateextract.open_snapshot(str(made(tmp_path)), key_group_column=False, subtask_column=False)
    table = snapshot.operator("first").state("a").to_table()
    assert table.column_names == ["key", "value"]
    assert sorted(table["value"].to_pylist()) == [10 * i for i in range(80)]


def test_a_problem_of_one_operator_leaves_the_other(tmp_path: Path) -> None:
    path = made(tmp_path)
    (path / "first-1").unlink()
    snapshot = stateextract.open_snapshot(str(path))
    assert snapshot.operator("second").state("a").to_table().num_rows == 80
    first = snapshot.operator("first")
    assert [type(p).__name__ for p in first.problems] == ["MissingFileError"]
    assert first.state("a").coverage.status == "missing"
    with pytest.raises(stateextract.errors.MissingFileError):
        first.state("a").to_batches()


def test_schemas_of_subtasks_that_differ(tmp_path: Path) -> None:
    """A tuple in one subtask and a long in the other cannot be one column."""
    path = made(tmp_path, values_by_subtask={("a", 1): TUPLE})
    state = stateextract.open_snapshot(str(path)).operator("first").state("a")
    with pytest.raises(UnsupportedError, match="the column 'value' is int64 in one subtask's file") as caught:
        state.to_batches()
    assert (caught.value.operator, caught.value.state) == ("first", "a")


def test_expected_coverage(tmp_path: Path) -> None:
    path = str(made(tmp_path, values={"a": UNKNOWN}))
    for mode, status in (("fail", "unsupported"), ("skip", "skipped"), ("raw", "raw")):
        coverage = stateextract.open_snapshot(path, on_undecodable=mode).operator("first").state("a").coverage  # type: ignore[arg-type]
        assert coverage.status == status
        assert (coverage.reason or "").startswith("values of com.example.ShapeSerializerSnapshot cannot be decoded")
    with pytest.raises(UndecodableError):
        stateextract.open_snapshot(path).operator("first").state("a").to_batches()


def test_little_is_interpreted_and_much_compiled(tmp_path: Path) -> None:
    """In a new process, because a kernel that is loaded is used for little too."""
    path = made(tmp_path)
    script = f"""
import sys, stateextract
from stateextract.columnar.compiled import engines
s = stateextract.open_snapshot({str(path)!r}).operator("first").state("a")
assert s.to_table().num_rows == 80 and s.coverage.counters.engine == "interpreter"
assert "numba" not in sys.modules
engines.SMALL = 800
assert s.to_table(3).num_rows == 3 and s.coverage.counters.engine == "interpreter"
assert "numba" not in sys.modules
assert s.to_table(70).num_rows == 70 and s.coverage.counters.engine == "kernel and interpreter"
assert s.to_table().num_rows == 80 and s.coverage.counters.engine == "kernel"
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_merged_files() -> None:
    """Handles that are pieces of one file."""
    operator = stateextract.open_snapshot(MERGED).operator("all-kinds")
    assert {stream for role, _, stream, *_ in operator.handles if role == "managed_keyed"} == {"segment"}
    assert operator.state("value-long").to_table().num_rows > 0


# ---- importing


def test_type_wishes(tmp_path: Path) -> None:
    snapshot = stateextract.open_snapshot(
        str(made(tmp_path, values={"b": TUPLE})),
        types={"first/a/value": "decimal(20,2)", "*/b/value.f0": "string", f"{operator_id('second')}/a/key": "int32"},
    )
    first, second = (snapshot.operator(name) for name in ("first", "second"))
    assert first.state("a").schema.field("value").type == pa.decimal128(20, 2)
    assert first.state("a").schema.field("key").type == pa.int64()
    assert second.state("a").schema.field("key").type == pa.int32()
    table = first.state("a").to_table(limit=3)
    assert table.schema == first.state("a").schema
    assert table["value"].to_pylist() == [Decimal(10 * key) for key in table["key"].to_pylist()]
    nested = second.state("b").to_table()
    assert nested["value"].to_pylist() == [{"f0": str(100 * key)} for key in nested["key"].to_pylist()]
    assert nested.num_rows == 80


def test_a_wish_that_does_not_fit_is_an_error_with_a_place(tmp_path: Path) -> None:
    snapshot = stateextract.open_snapshot(str(made(tmp_path)), types={"first/a/value": "bool"})
    with pytest.raises(ValueRefusedError, match="of the column value does not fit the wanted type bool") as caught:
        snapshot.operator("first").state("a").to_table()
    assert (caught.value.operator, caught.value.state) == ("first", "a")
    assert caught.value.file is not None


@pytest.mark.parametrize(
    ("place", "type_", "words"),
    [
        ("first/a/value", "text", "is not a type of a column"),
        ("third/a/value", "string", "no operator has this name"),
        ("first/c/value", "string", "no selected state has this name"),
        ("*/c/value", "string", "no selected state has this name"),
        ("first/a/other", "string", "leads nowhere"),
    ],
)
def test_mistaken_wishes(tmp_path: Path, place: str, type_: str, words: str) -> None:
    path = str(made(tmp_path))
    with pytest.raises(UsageError, match=words):
        _ = [state.schema for state in stateextract.open_snapshot(path, types={place: type_}).states]


def test_a_wish_waits_for_the_operators_that_were_not_asked_for(tmp_path: Path) -> None:
    snapshot = stateextract.open_snapshot(str(made(tmp_path)), types={"second/c/value": "string"})
    assert [state.name for state in snapshot.operator("first").states] == ["a", "b"]
    with pytest.raises(UsageError, match="no selected state has this name"):
        _ = snapshot.operator("second").states


def test_importing_loads_nothing_heavy() -> None:
    script = (
        "import sys, stateextract; packages = {m.split('.')[0] for m in sys.modules}; "
        "print(sorted(packages & {'numpy', 'pyarrow', 'numba', 'click'}))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_public_names() -> None:
    assert set(stateextract.__all__) <= set(dir(stateextract))
    for name in stateextract.__all__:
        assert getattr(stateextract, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = stateextract.nonsense
    assert issubclass(stateextract.StateExtractError, StateExtractError)


@pytest.mark.parametrize(
    ("option", "one"),
    [("classpath", "/no-such"), ("plugins", "no_such"), ("protobuf", "/no-such"), ("allow_stores", "https://no-such")],
)
def test_one_text_in_place_of_a_list(option: str, one: str) -> None:
    """A text is a sequence of letters, too: each letter was looked for, and the folder `/` read."""
    errors = []
    for given in (one, [one], (one,)):
        with pytest.raises((StateExtractError, ImportError)) as caught:
            stateextract.open_snapshot(KINDS, **{option: given})
        errors.append(str(caught.value))
    assert one in errors[0]
    assert len(set(errors)) == 1


def test_one_text_in_place_of_a_list_in_options() -> None:
    options = JobOptions(snapshot="s", classpath="app.jar", operator="orders", state="total")
    assert (options.classpath, options.operator, options.state) == (("app.jar",), ("orders",), ("total",))


def test_coverage_after_an_error() -> None:
    """The forecast, which no read has confirmed, is not what remains."""
    state = stateextract.open_snapshot(str(DATA / "f23-custom-checkpoint")).operator("figures").state("figure")
    assert (state.coverage.status, state.coverage.reason, state.coverage.complete) == ("decoded", None, False)
    with pytest.raises(UndecodableError) as caught:
        state.to_table()
    assert (state.coverage.status, state.coverage.reason) == ("unsupported", caught.value.message)
    assert caught.value.message == (
        "a value of golden.Shape is of the subclass golden.Square, which the serializer's snapshot does not list"
    )
    assert not state.coverage.complete
