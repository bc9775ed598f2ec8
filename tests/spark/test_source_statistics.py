"""The table ``statistics`` of ``flink-state-metadata`` has the rows of a history, and Spark's tasks read for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from stateextract.audit.document import StateDocument, Statistics
from stateextract.audit.durations import times_to_live
from stateextract.audit.history import SCHEMA, table_of
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.errors import FormatError, UsageError
from stateextract.job.execute import in_this_process
from stateextract.options import JobOptions
from stateextract.spark.data_sources import FlinkStateMetadataSource
from tests.golden.expected import DATA, load
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot
from tests.spark.sources import Loaded, make

ORDERS = str(Path(__file__).resolve().parents[2] / "examples" / "orders-checkpoint")
AS_OF = 1_700_000_000_000
CASES = {
    "f120-kinds-checkpoint": 3,
    "f117-avro-canonical": 2,
    "f120-changes-checkpoint-rocksdb-incremental": 17,
    "f120-changes-checkpoint-rocksdb-changelog-materialized": 6,
}
"""Over kinds of snapshots, with how many tasks there are: one for an operator's keyed state, or for each state of a database;
one for each operator state."""


def table(path: str, given: StructType | None = None, **options: Any) -> tuple[list[dict[str, Any]], int]:
    """The rows, in the order of a document, and how many tasks read for them."""
    source = make(FlinkStateMetadataSource, {"path": path, "table": "statistics", **options})
    loaded = Loaded(source, given)
    return rows_of(loaded.table()), len(loaded.planned()[1])


def rows_of(found: pa.Table) -> list[dict[str, Any]]:
    return sorted(found.to_pylist(), key=str)


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_snapshot(case: str) -> None:
    path = str(DATA / case / load(DATA / case)["snapshot"])
    found, tasks = table(path, asOf=AS_OF, ttl="90d", outOfRange="null")
    job = JobOptions(snapshot=path, out_of_range="null")
    document = statistics(job, StatisticsOptions(AS_OF, times_to_live(["90d"], "")), in_this_process)
    assert found == rows_of(table_of([without_progress(document)]))
    assert tasks == CASES[case]


def without_progress(document: Statistics) -> Statistics:
    """What tasks give that see some states only."""

    def bare(state: StateDocument) -> StateDocument:
        times = state.times
        return replace(state, times=times and replace(times, progress_ms=None, progress_of=None, past_by_progress=None))

    operators = [replace(o, states=[bare(state) for state in o.states]) for o in document.operators]
    return replace(document, operators=operators)


def coverage(path: Path | str, **options: Any) -> dict[tuple[str | None, str | None], dict[str, Any]]:
    loaded = Loaded(make(FlinkStateMetadataSource, {"path": str(path), "table": "coverage", **options}))
    return {(row["operator_uid"], row["state_name"]): row for row in loaded.table().to_pylist()}


def test_the_coverage_is_filled_by_a_read(tmp_path: Path) -> None:
    states = {"a": numbered(9), "b": numbered(5), "c": numbered(9)}
    snap = write_snapshot(tmp_path / "s", {"op": states, "gone": {"d": numbered(3)}, "fine": {"e": numbered(3)}},
                          values={"b": UNKNOWN})  # fmt: skip
    for number in range(2):
        (snap / f"gone-{number}").unlink()
    found = coverage(snap)
    seen = {key: (row["status"], row["row_count"], row["lost_key_groups"]) for key, row in found.items()}
    assert seen == {
        ("op", "a"): ("decoded", 9, 0), ("op", "b"): ("skipped", None, 5), ("op", "c"): ("partial", 3, 5),
        ("gone", None): ("missing", None, 0), ("fine", "e"): ("decoded", 3, 0),
    }  # fmt: skip
    assert "com.example.Shape" in found["op", "b"]["reason"]
    assert "unreadable after state 'b'" in found["op", "c"]["problems"][0]
    assert {row["checkpoint_id"] for row in found.values()} == {7}
    # A state that is asked for by name is a row, too, whatever became of it.
    assert list(coverage(snap, operatorUid="op", stateName="b")) == [("op", "b")]
    with pytest.raises(UsageError, match="asOf is for the table statistics"):
        coverage(snap, asOf="2026-01-01")


@pytest.mark.parametrize("case", ["f120-changes-checkpoint-rocksdb-incremental", "f120-changes-checkpoint-changelog"])
def test_owners(case: str) -> None:
    path = str(DATA / case / load(DATA / case)["snapshot"])
    loaded = Loaded(make(FlinkStateMetadataSource, {"path": path, "table": "owners", "outOfRange": "null"}))
    found = loaded.table().to_pylist()
    job = JobOptions(snapshot=path, out_of_range="null")
    document = statistics(job, StatisticsOptions(AS_OF, top=100), in_this_process)
    expected = {
        (o.operator_id, kind, rank): (owner.bytes, owner.rows, owner.entries, owner.error, owner.key_group, owners.bytes,
                                      [vars(state) for state in owner.states])
        for o in document.operators for kind, owners in (("key", o.keys), ("window", o.windows)) if owners
        for rank, owner in enumerate(owners.largest, 1)
    }  # fmt: skip
    assert len(expected) > 20
    assert {
        (r["operator_id"], r["kind"], r["rank"]): (
            *(r[n] for n in ("bytes", "rows", "entries", "error", "key_group", "operator_bytes")), r["states"]
        )
        for r in found
    } == expected  # fmt: skip
    with pytest.raises(UsageError, match="ttl is for the table statistics"):
        make(FlinkStateMetadataSource, {"path": path, "table": "owners", "ttl": "1d"}).schema()


def test_what_is_asked() -> None:
    found, tasks = table(ORDERS, operatorUid="orders-by-customer", stateName="voucher", asOf="2026-11-28T13:43:25.030Z",
                         ttl="voucher=12h")  # fmt: skip
    assert tasks == 2, "one that reads, and one for what is not selected"
    by_name = {row["state_name"]: row for row in found}
    assert {row["status"] for name, row in by_name.items() if name != "voucher"} == {"not selected"}
    voucher = by_name["voucher"]
    assert (voucher["row_count"], voucher["expired"], voucher["largest_value_bytes"]) == (5, 3, 15)
    given = StructType([StructField("state_name", StringType()), StructField("row_count", LongType())])
    few, _ = table(ORDERS, given, operatorUid="sales-per-hour", stateName="window-contents")
    assert {"state_name": "window-contents", "row_count": 36} in few


def test_what_is_not_decoded_has_its_row(tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "s", {"op": {"a": numbered(9), "b": numbered(5)}}, values={"b": UNKNOWN})
    found = {row["state_name"]: row for row in table(str(folder))[0]}
    expected = table_of([statistics(JobOptions(snapshot=str(folder)), execute=in_this_process)])
    assert list(found.values()) == rows_of(expected)
    assert [(found[name]["status"], found[name]["row_count"]) for name in "ab"] == [("decoded", 9), ("skipped", None)]


def test_damage_is_placed(tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "snap", {"op": {"a": numbered(64)}}, parallelism=1)
    data = (folder / "op-0").read_bytes()
    size = 4 + 2 + 4 + 8 * 17  # of the last key group: its number, the state's, a count, rows
    (folder / "op-0").write_bytes(data[:-size] + (99).to_bytes(4, "big") + data[4 - size :])
    (row,), _ = table(str(folder))
    assert (row["status"], row["row_count"]) == ("partial", 56)
    assert str(folder / "op-0") in row["reason"]
    with pytest.raises(FormatError) as caught:
        table(str(folder), stateName="a")
    assert (caught.value.operator, caught.value.file) == ("op", str(folder / "op-0"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "states", "ttl": "1d"}, "the option ttl is for the table statistics"),
        ({"table": "states", "strings": "replace"}, "the option strings is for the tables coverage, statistics and owners"),
        ({"ttl": "1 day"}, "the option ttl '1 day' is not a duration"),
        ({"asOf": "soon"}, "the option asOf 'soon' is not a time"),
        ({"ttl": "x=1d"}, "a time to live is given for 'x'"),
        ({"operatorUid": "a", "operatorName": "b"}, "operatorUid, operatorId and operatorName exclude each other"),
        ({"operatorUid": "order"}, "no operator has the uid, name or id 'order'"),
    ],
)
def test_mistakes(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        table(ORDERS, **options)


@pytest.mark.spark
def test_in_sql(spark: Any) -> None:
    from stateextract.spark import register

    register(spark)
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW figures USING `flink-state-metadata` OPTIONS (path '{ORDERS}', "
        "table 'statistics', asOf '2023-11-29T00:00:00Z')"
    )
    assert spark.table("figures").columns == SCHEMA.names
    found = spark.sql("SELECT state_name, row_count, past FROM figures WHERE past > 0 ORDER BY state_name").collect()
    assert [tuple(row) for row in found] == [
        ("_timer_state/event_user-timers", 50, 17),
        ("_timer_state/event_window-timers", 36, 36),
        ("window-contents", 36, 36),
    ]
