"""Files of one state with different serializers: what Flink restores is one dataset, and the rest is one state less."""

from __future__ import annotations

import datetime
import json
import os
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from stateextract import open_snapshot
from stateextract.columnar.arrow.unite_schemas import cast_batch, merge_schemas
from stateextract.errors import UnsupportedError, ValueRefusedError
from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.options import JobOptions
from stateextract.snapshot.tables import SnapshotTables
from tests.job.snapshots import TUPLE, numbered, write_snapshot
from tests.metadata.writer import utf
from tests.serializers.avro_writer import encode
from tests.writers import flink_writer as flink

_SHARED = Path(__file__).resolve().parents[2].parent / "shared"
REPORTS = Path(os.environ.get("FLINK_REPORTS", _SHARED / "reports"))


def run(snapshot: Path, output: Path, **more: Any) -> JobResult:
    return run_job(JobOptions(snapshot=str(snapshot), output=str(output), **more), in_this_process)


def table(outcome: JobResult, output: Path, state: str) -> pa.Table:
    (dataset,) = [one for one in outcome.datasets if one.state_name == state]
    return ds.dataset([str(output / file.path) for file in dataset.files], format="parquet").to_table()


@pytest.mark.skipif(not (REPORTS / "ttl-on-in-one-subtask").is_dir(), reason="the reports are not there")
@pytest.mark.parametrize("kind", ["canonical", "native"])
class TestTtlOnInOneSubtask:
    """Subtask 0 has the serializers without TTL, subtask 1 those with."""

    def test_extract(self, kind: str, tmp_path: Path) -> None:
        outcome = run(REPORTS / "ttl-on-in-one-subtask" / kind, tmp_path / "out", mode="error")
        assert outcome.exit_code == 0
        values, maps, lists = (
            {row["key"]: row for row in table(outcome, tmp_path / "out", name).to_pylist()} for name in "vml"
        )
        assert [len(rows) for rows in (values, maps, lists)] == [10, 10, 10]
        (new,) = [key for key in values if str(key).endswith("0")]
        (old,) = [key for key in values if str(key).endswith("4")]
        assert (values[new]["value"], values[old]["value"]) == (100, 14)
        assert values[old]["last_access"] is None
        # The README speaks of entries "b", too, which the files do not have.
        assert {k: e["value"] for k, e in maps[new]["value"]} == {"a0": 0, "a1": 100}
        assert {k: e["value"] for k, e in maps[old]["value"]} == {"a1": 4, "a2": 14}
        assert [e["value"] for e in lists[new]["value"]] == ["i0", "i10", "i100"]
        assert [e["value"] for e in lists[old]["value"]] == ["i4", "i14"]
        assert {e["last_access"] for e in lists[old]["value"]} == {e["last_access"] for _, e in maps[old]["value"]} == {None}
        assert all(isinstance(e["last_access"], datetime.datetime) for e in lists[new]["value"])

    def test_every_way_to_read_it(self, kind: str) -> None:
        snapshot = open_snapshot(str(REPORTS / "ttl-on-in-one-subtask" / kind))
        states = {state.name: state for state in snapshot.states}
        assert {name: states[name].count() for name in "vml"} == {"v": 10, "m": 10, "l": 10}
        assert {name: states[name].to_table().num_rows for name in "vml"} == {"v": 10, "m": 10, "l": 10}
        flat = open_snapshot(str(REPORTS / "ttl-on-in-one-subtask" / kind), flatten=True)
        values = next(state for state in flat.states if state.name == "l").to_table()["value"].to_pylist()
        assert sorted(values) == sorted([*(f"i{n}" for n in range(20)), "i100"])


def test_what_cannot_be_united_takes_no_other_state_with_it(tmp_path: Path) -> None:
    states = {"op": {"a": numbered(8), "b": numbered(8)}, "other": {"c": numbered(3)}}
    snapshot = write_snapshot(tmp_path / "s", states, values_by_subtask={("a", 1): TUPLE})
    outcome = run(snapshot, tmp_path / "out")
    a, b, c = outcome.coverage.entries
    assert (a.status, b.status, c.status, outcome.exit_code) == ("unsupported", "decoded", "decoded", 3)
    assert a.reason == (
        "the column 'value' is int64 in one subtask's file and struct<f0: int64> in another's, and no type holds both"
    )
    assert (b.read.rows, c.read.rows) == (8, 3)
    assert not (tmp_path / "out" / "op" / "a").exists()
    for strictly in ({"strict": True}, {"state": ("a",)}, {"state": ("a", "b")}):
        with pytest.raises(UnsupportedError, match="no type holds both") as caught:
            run(snapshot, tmp_path / "strict", **strictly)
        assert (caught.value.operator, caught.value.state) == ("op", "a")
        assert not (tmp_path / "strict").exists()


def test_it_is_known_before_anything_is_read(tmp_path: Path) -> None:
    snapshot = write_snapshot(
        tmp_path / "s", {"op": {"a": numbered(8), "b": numbered(8)}}, values_by_subtask={("a", 1): TUPLE}
    )
    opened = open_snapshot(str(snapshot))
    found = {state.name: (str(state.coverage.status), state.coverage.reason) for state in opened.states}
    why = "the column 'value' is int64 in one subtask's file and struct<f0: int64> in another's, and no type holds both"
    assert found == {"a": ("unsupported", why), "b": ("decoded", None)}
    tables = SnapshotTables(JobOptions(snapshot=str(snapshot)))
    rows = {row["state_name"]: (row["status"], row["reason"]) for row in tables.states()}
    assert rows == found
    assert {f.state: (str(f.status), f.rows, f.reason) for f in opened.validate()} == {
        "a": ("not checked", 8, why), "b": ("sound", 8, None),
    }  # fmt: skip
    for read in (lambda s: s.to_table(), lambda s: s.schema, lambda s: s.to_batches().read_all()):
        with pytest.raises(UnsupportedError, match="no type holds both"):
            read(opened.operator("op").state("a"))


def avro(number: str, item: str) -> dict[str, Any]:
    """A record's schema."""
    items = {"type": "array", "items": item}
    return {"type": "record", "name": "R", "fields": [{"name": "n", "type": number}, {"name": "xs", "type": items}]}


def avro_snapshot(folder: Path, before: dict[str, Any], after: dict[str, Any], values: list[dict[str, Any]]) -> Path:
    """State of records by two schemas, in the files of the two subtasks; the key of the n-th value is n."""
    class_name = "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot"
    half = len(values) // 2
    written = [encode(before if n < half else after, value) for n, value in enumerate(values)]
    rows = {n * 8 // len(values): [struct.pack(">bq", 0, n) + data] for n, data in enumerate(written)}
    snapshots = {
        ("a", subtask): flink.versioned(class_name, 2) + utf("com.acme.R") + utf(json.dumps(schema))
        for subtask, schema in enumerate((before, after))
    }
    return write_snapshot(folder, {"op": {"a": rows, "b": numbered(8)}}, values_by_subtask=snapshots)


def test_avro_numbers_that_one_subtask_has_widened(tmp_path: Path) -> None:
    """int to long and array<int> to array<double>, as Avro reads them: the job and the Python API give one schema."""
    values = [{"n": 7, "xs": [1, -2, 3]}, {"n": -1, "xs": []}, {"n": 1 << 40, "xs": [0.5]}, {"n": 0, "xs": [2.0]}]
    snapshot = avro_snapshot(tmp_path / "s", avro("int", "int"), avro("long", "double"), values)
    outcome = run(snapshot, tmp_path / "out")
    assert outcome.exit_code == 0
    found = table(outcome, tmp_path / "out", "a").sort_by("key")
    united = pa.struct([("n", pa.int64()), ("xs", pa.list_(pa.field("element", pa.float64())))])
    assert found.schema.field("value").type == united
    assert found["value"].to_pylist() == values
    state = open_snapshot(str(snapshot)).operator("op").state("a")
    assert (str(state.coverage.status), state.coverage.reason) == ("decoded", None)
    assert state.to_table().sort_by("key")["value"].to_pylist() == values


@pytest.mark.parametrize("largest", [2**53, 2**53 + 1])
def test_avro_longs_that_became_doubles(largest: int, tmp_path: Path) -> None:
    """Which value does not fit is only known when it is read; that one may not is known before."""
    values = [{"n": largest, "xs": [1]}, {"n": 0.5, "xs": [2]}]
    snapshot = avro_snapshot(tmp_path / "s", avro("long", "int"), avro("double", "int"), values)
    opened = open_snapshot(str(snapshot))
    found = {state.name: (str(state.coverage.status), state.coverage.reason) for state in opened.states}
    why = (
        "the column 'value.n' is int64 in one subtask's file and double in another's: a whole number beyond 2^53 does not "
        "fit into double"
    )
    assert found == {"a": ("uncertain", why), "b": ("decoded", None)}
    # Nothing is damaged.
    assert {f.state: (str(f.status), f.rows) for f in opened.validate()} == {"a": ("sound", 2), "b": ("sound", 8)}
    outcome = run(snapshot, tmp_path / "out")
    a, b = outcome.coverage.entries
    assert (b.status, b.read.rows) == ("decoded", 8)
    if largest == 2**53:
        assert (a.status, outcome.exit_code) == ("decoded", 0)
        read = table(outcome, tmp_path / "out", "a").sort_by("key")["value"].to_pylist()
        assert [row["n"] for row in read] == [float(2**53), 0.5]
    else:
        assert (a.status, outcome.exit_code) == ("skipped", 3)
        assert a.reason is not None
        assert "Integer value 9007199254740993 not in range" in a.reason
        assert not (tmp_path / "out" / "op" / "a").exists()


def test_an_avro_number_that_became_a_union(tmp_path: Path) -> None:
    """Avro reads it, and no column holds both: known before, and one state less."""
    after = avro("long", "int")
    after["fields"][0]["type"] = ["long", "string"]
    values = [{"n": 7, "xs": [1]}, {"n": (1, "x"), "xs": [2]}]
    snapshot = avro_snapshot(tmp_path / "s", avro("long", "int"), after, values)
    why = (
        "the column 'value.n' is int64 in one subtask's file and struct<long: int64, string: string> in another's, and no "
        "type holds both"
    )
    state = open_snapshot(str(snapshot)).operator("op").state("a")
    assert (str(state.coverage.status), state.coverage.reason) == ("unsupported", why)
    outcome = run(snapshot, tmp_path / "out")
    a, b = outcome.coverage.entries
    assert (a.status, a.reason, b.status, b.read.rows, outcome.exit_code) == ("unsupported", why, "decoded", 8, 3)


_TIME = pa.timestamp("us", "UTC")
_NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


def _ttl(value: pa.DataType) -> pa.DataType:
    return pa.struct([("last_access", _TIME), ("value", value)])


_POJO = pa.struct([("a", pa.int32()), ("b", pa.string())])
_MORE = pa.struct([("a", pa.int64()), ("c", pa.string())])


@pytest.mark.parametrize(
    ("one", "other", "united", "value", "becomes"),
    [
        (pa.int32(), pa.int64(), pa.int64(), 7, 7),
        (pa.int32(), pa.float64(), pa.float64(), 7, 7.0),
        (pa.int64(), pa.float64(), pa.float64(), 7, 7.0),
        (pa.int64(), pa.float32(), pa.float64(), 7, 7.0),
        (pa.float32(), pa.float64(), pa.float64(), 0.5, 0.5),
        (pa.string(), pa.binary(), pa.binary(), "é", "é".encode()),
        (pa.null(), pa.string(), pa.string(), None, None),
        (pa.list_(pa.int32()), pa.list_(pa.float64()), pa.list_(pa.float64()), [1, None], [1.0, None]),
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.int64()),
         [("k", 1)], [("k", 1)]),
        (pa.list_(pa.int64()), pa.list_(_ttl(pa.int64())), pa.list_(_ttl(pa.int64())), [5, None],
         [{"last_access": None, "value": 5}, {"last_access": None, "value": None}]),
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), _ttl(pa.int64())), pa.map_(pa.string(), _ttl(pa.int64())),
         [("k", 1)], [("k", {"last_access": None, "value": 1})]),
        (_POJO, _MORE, pa.struct([("a", pa.int64()), ("b", pa.string()), ("c", pa.string())]),
         {"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": None}),
        (pa.list_(_POJO), pa.list_(_ttl(_MORE)),
         pa.list_(_ttl(pa.struct([("a", pa.int64()), ("c", pa.string()), ("b", pa.string())]))),
         [{"a": 1, "b": "x"}], [{"last_access": None, "value": {"a": 1, "c": None, "b": "x"}}]),
        # A class of the user's that has got a field, and looks like a value with TTL now.
        (pa.list_(pa.struct([("value", pa.int64())])), pa.list_(_ttl(pa.int64())),
         pa.list_(pa.struct([("value", pa.int64()), ("last_access", _TIME)])),
         [{"value": 5}], [{"last_access": None, "value": 5}]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_types_that_unite(
    one: pa.DataType, other: pa.DataType, united: pa.DataType, value: Any, becomes: Any, turned: bool
) -> None:
    schemas = [pa.schema([("key", pa.int64()), ("value", type_)]) for type_ in (one, other)]
    merged = merge_schemas(schemas[::-1] if turned else schemas)
    if not turned:
        assert merged.field("value").type == united
    batch = pa.RecordBatch.from_pylist([{"key": 0}, {"key": 1, "value": value}, {"key": 2, "value": value}], schemas[0])
    for rows in (batch, batch.slice(1)):
        brought = cast_batch(rows, merged)
        assert brought.schema == merged
        assert brought.slice(len(brought) - 2)["value"].to_pylist() == [becomes, becomes]


def test_a_number_that_a_double_does_not_hold_is_refused() -> None:
    merged = merge_schemas([pa.schema([("value", pa.int64())]), pa.schema([("value", pa.float64())])])
    batch = pa.RecordBatch.from_pydict({"value": pa.array([2**53 + 1], pa.int64())})
    with pytest.raises(ValueRefusedError, match="column 'value' does not fit exactly into double"):
        cast_batch(batch, merged)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.int64(), pa.string()), (pa.int64(), pa.bool_()), (pa.list_(pa.int64()), pa.int64()),
        (pa.struct([("a", pa.int64())]), pa.int64()), (pa.date32(), pa.int32()),
        (pa.list_(_ttl(pa.int64())), pa.list_(pa.string())),
    ],
)  # fmt: skip
def test_types_that_do_not_unite(one: pa.DataType, other: pa.DataType) -> None:
    with pytest.raises(UnsupportedError, match="no type holds both"):
        merge_schemas([pa.schema([("value", one)]), pa.schema([("value", other)])])
