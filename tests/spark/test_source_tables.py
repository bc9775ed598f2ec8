"""The tables of ``flink-state-metadata``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StringType, StructField, StructType

import stateextract
from stateextract.errors import UsageError
from stateextract.spark.data_sources import FlinkStateMetadataSource
from stateextract.spark.source_options import TABLES
from stateextract.spark.source_tables import SCHEMAS
from tests.golden.test_rows import CASES, DATA
from tests.golden.test_rows import load as expected
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.spark.sources import Loaded, load_metadata, make

ORDERS = Path(__file__).resolve().parents[2] / "examples" / "orders-checkpoint"
CUSTOMERS = "fd4133d6389433ee6f56e4e3b4210fb7"


def rows(path: Path, table: str, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load_metadata(path, table, **options).to_pylist()
    return found


def golden(case: str) -> Path:
    return DATA / case / expected(case)["snapshot"]


def test_operators() -> None:
    found = {row["operator_uid"]: row for row in rows(ORDERS, "operators")}
    assert list(found) == ["sales-per-hour", "orders", "orders-by-customer"]
    assert found["orders-by-customer"] == {
        "checkpoint_id": 2,
        "operator_name": "orders by customer",
        "operator_uid": "orders-by-customer",
        "operator_id": CUSTOMERS,
        "operator_parallelism": 2,
        "operator_max_parallelism": 128,
        "operator_subtask_state_count": 2,
        "operator_coordinator_state_size_in_bytes": 0,
        "operator_total_size_in_bytes": sum(
            r["size_in_bytes"] for r in rows(ORDERS, "files") if r["operator_id"] == CUSTOMERS
        ),
        "operator_fully_finished": False,
        "metadata_version": 6,
        "snapshot_kind": "checkpoint",
        "snapshot_format": None,
        "metadata_path": str(ORDERS / "chk-2" / "_metadata"),
    }
    assert found["orders"]["operator_subtask_state_count"] == 0


def test_columns_are_called_as_in_flink() -> None:
    """``savepoint_metadata`` of Flink 2.1 has these, with dashes."""
    names = SCHEMAS["operators"].names
    assert names[:9] == [
        "checkpoint_id", "operator_name", "operator_uid", "operator_id", "operator_parallelism",
        "operator_max_parallelism", "operator_subtask_state_count", "operator_coordinator_state_size_in_bytes",
        "operator_total_size_in_bytes",
    ]  # fmt: skip
    assert {*SCHEMAS, "snapshots", "coverage", "statistics", "owners", "kafka_offsets"} == set(TABLES)
    assert all(schema.names[:4] == names[:4] for schema in SCHEMAS.values())


def test_snapshots() -> None:
    """The table of all snapshots of a place: the same rows as the command prints."""
    place = Path(__file__).parents[2] / "examples" / "high-availability"
    found = rows(place / "znodes.json", "snapshots")
    assert [(row["checkpoint_id"], row["restore_order"], row["status"], row["shares_files_with"]) for row in found] == [
        (2, 3, "complete", [3, 4]), (3, 2, "complete", [2, 4]), (4, 1, "complete", [2, 3]),
    ]  # fmt: skip
    assert found[0]["completed_at"].isoformat() == "2026-11-29T13:15:36.875000+00:00"
    assert [row["checkpoint_id"] for row in rows(place / "checkpoints", "snapshots", checkpoint="3")] == [3]
    assert rows(place / "checkpoints", "operators", checkpoint="3")[0]["checkpoint_id"] == 3


def test_states() -> None:
    found = {row["state_name"]: row for row in rows(ORDERS, "states") if row["operator_uid"] == "orders-by-customer"}
    assert sorted(found) == [
        "_timer_state/event_user-timers", "_timer_state/processing_user-timers", "cents-by-product", "last-order",
        "order-ids", "voucher",
    ]  # fmt: skip
    voucher = found["voucher"]
    assert {name: voucher[name] for name in SCHEMAS["states"].names[4:]} == {
        "state_name": "voucher",
        "state_kind": "value",
        "state_scope": "keyed",
        "state_role": None,
        "state_ttl": True,
        "state_schema": "struct<key:string,value:string,last_access:timestamp,key_group:int,subtask:int>",
        "form": "heap",
        "handle_count": 2,
        "size_in_bytes": None,
        "status": "decoded",
        "reason": None,
    }
    nameless = [row for row in rows(ORDERS, "states") if row["operator_uid"] == "orders"]
    assert [(row["state_name"], row["status"]) for row in nameless] == [(None, "no state")]


def test_states_that_cannot_be_decoded(tmp_path: Path) -> None:
    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(9), "b": numbered(5)}}, values={"b": UNKNOWN})
    found = {row["state_name"]: row for row in rows(snap, "states")}
    assert (found["a"]["status"], found["b"]["status"]) == ("decoded", "unsupported")
    assert found["b"]["reason"].startswith("values of com.example.Shape")
    (unknown,) = [r for r in rows(snap, "serializers") if r["state_name"] == "b" and r["part"] == "value"]
    assert (unknown["is_known"], unknown["snapshot_class"]) == (False, "com.example.ShapeSerializerSnapshot")


def test_files_and_key_groups_lie_where_they_say() -> None:
    files = [row for row in rows(ORDERS, "files") if row["operator_id"] == CUSTOMERS]
    assert [(row["subtask"], row["first_key_group"], row["last_key_group"]) for row in files] == [
        (0, 0, 63),
        (1, 64, 127),
    ]
    assert {row["handle_role"] for row in files} == {"managed_keyed"}
    for row in files:
        assert row["problem"] is None
        assert Path(row["found_path"]).stat().st_size == row["size_in_bytes"]
        assert Path(row["found_path"]).name == Path(row["file_path"]).name
    groups = [row for row in rows(ORDERS, "key_groups") if row["operator_id"] == CUSTOMERS]
    assert [row["key_group"] for row in groups] == list(range(128))
    for row in groups:
        data = Path(row["file_path"]).read_bytes()[row["file_offset"] :][:4]
        assert int.from_bytes(data, "big") == row["key_group"], "a heap body's key group begins with its number"
    for file in files:
        own = [row for row in groups if row["file_path"] == file["found_path"]]
        ends = [row["file_offset"] + row["size_in_bytes"] for row in own]
        assert [row["file_offset"] for row in own[1:]] == ends[:-1]
        assert ends[-1] == file["size_in_bytes"]


def test_inline_state() -> None:
    case = next(c for c in CASES if expected(c)["storage"] == "inline")
    found = rows(golden(case), "files")
    inline = [row for row in found if row["stream_kind"] == "inline"]
    assert inline
    assert {(row["file_path"], row["found_path"], row["problem"]) for row in inline} == {(None, None, None)}
    assert all(row["size_in_bytes"] > 0 for row in inline)


def test_files_that_are_missing(tmp_path: Path) -> None:
    shutil.copytree(ORDERS, tmp_path / "s")
    gone = sorted((tmp_path / "s" / "chk-2").glob("*-*"))[0]
    gone.unlink()
    missing = [row for row in rows(tmp_path / "s", "files") if row["found_path"] is None]
    assert [Path(row["file_path"]).name for row in missing] == [gone.name]
    assert "pathMap OLD=NEW" in missing[0]["problem"]


def test_serializers() -> None:
    found = [row for row in rows(ORDERS, "serializers") if row["state_name"] == "last-order"]
    top = {row["part"]: row for row in found if row["depth"] == 0}
    assert sorted(top) == ["key", "namespace", "value"]
    assert top["key"]["snapshot_class"].endswith("StringSerializer$StringSerializerSnapshot")
    assert top["value"]["value_class"].endswith("Order")
    assert top["value"]["column_type"].startswith("struct<id: int64, placedAt: timestamp[us, tz=UTC]")
    inner = [row for row in found if row["part"] == "value" and row["depth"] == 1]
    assert [row["position"] for row in inner] == [str(i) for i in range(len(inner))]
    assert len(inner) == 7
    assert all(row["is_known"] for row in found)


@pytest.mark.parametrize("case", CASES)
def test_every_golden_snapshot(case: str) -> None:
    jar = str(DATA.parent / "kryo.jar")
    snapshot = stateextract.open_snapshot(str(golden(case)), classpath=[jar])
    operators = rows(golden(case), "operators")
    assert [o["operator_id"] for o in operators] == [o.id for o in snapshot.operators]
    assert [o["operator_total_size_in_bytes"] for o in operators] == [o.total_size for o in snapshot.operators]
    states = [r for r in rows(golden(case), "states", classpath=jar) if r["state_name"] is not None]
    assert {(r["operator_id"], r["state_scope"], r["state_name"]) for r in states} == {
        (s.operator.id, s.scope, s.name) for s in snapshot.states
    }
    statuses = {(s.operator.id, s.scope, s.name): s.coverage.status for s in snapshot.states}
    for r in states:
        status = statuses[r["operator_id"], r["state_scope"], r["state_name"]]
        assert r["status"] == status
    files = rows(golden(case), "files")
    assert sum(r["size_in_bytes"] for r in files) == sum(o.total_size for o in snapshot.operators)
    assert all(r["problem"] is None for r in files)


def test_some_columns() -> None:
    given = StructType([StructField("operator_id", StringType()), StructField("operator_name", StringType())])
    source = make(FlinkStateMetadataSource, {"path": str(ORDERS)})
    table = Loaded(source, given).table()
    assert table.column_names == ["operator_id", "operator_name"]
    assert table.num_rows == 3
    with pytest.raises(UsageError, match="no column called 'operator_uidhash'"):
        Loaded(source, StructType([StructField("operator_uidhash", StringType())])).table()
    with pytest.raises(UsageError, match=r"table is 'operator'; expected one of snapshots, operators, .* nearest is"):
        load_metadata(ORDERS, "operator")
    with pytest.raises(UsageError, match=r"flink-state-metadata has no option 'wide'\. The source flink-state has it"):
        load_metadata(ORDERS, "states", wide="true")
