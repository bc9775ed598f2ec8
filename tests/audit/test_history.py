"""The rows of a history, and what grew from snapshot to snapshot."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateextract.audit.document import Distinct, SnapshotDocument, Statistics, Totals, Ttl
from stateextract.audit.history import SCHEMA, identity, in_order, order_note, table_of, times_note
from stateextract.audit.history.growth import (
    COLUMNS,
    MeasureChange,
    Series,
    Split,
    StateCounts,
    by_growth,
    growth_as_dict,
    series_of,
    split_of,
    total_change,
)
from tests.audit.test_document import DOCUMENT, NAMELESS, STATE


def at(number: int, rows: int | None, **more: Any) -> Statistics:
    """``totals`` with so many rows and ten times the bytes, if any, and another state."""
    states = [] if rows is None else [replace(STATE, rows=rows, decoded_bytes=10 * rows), NAMELESS]
    other = replace(STATE, state_name="other", rows=number, decoded_bytes=number)
    operator = replace(DOCUMENT.operators[0], states=[*states, other], **more)
    snapshot = SnapshotDocument(f"/chk-{number}/_metadata", number, 6, None, 1000 * number)
    return Statistics("0", snapshot, 1000 * number, Totals(1, len(operator.states), 0, 0, 0), [operator])


def growth(*documents: Statistics) -> list[Series]:
    return series_of([table_of([document]).select(list(COLUMNS)) for document in in_order(documents)])


def test_a_row_has_all_that_is_known_of_a_state() -> None:
    (row, nameless) = table_of([DOCUMENT]).to_pylist()
    assert row.pop("columns") == [
        {
            "name": "value.amount", "type": "double", "row_count": 10, "null_count": 4, "null_share": 0.4, "nan_count": 1,
            "min": "-0.5", "max": "Infinity", "distinct_count": 3, "distinct_exact": False,
            "quantiles": [{"q": 0.5, "value": "1.25"}], "min_length": 0, "mean_length": 1.5, "max_length": 7,
        }
    ]  # fmt: skip
    assert row == {
        "snapshot_path": "/s/_metadata", "checkpoint_id": 7, "taken": datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        "as_of_ms": 1_700_000_000_000, "operator_id": "ab", "operator_uid": "totals", "operator_label": "totals",
        "operator_parallelism": 2, "operator_max_parallelism": 128, "state_name": "totals", "state_kind": "value",
        "status": "decoded",
        "reason": None, "row_count": 10, "distinct_keys": 10, "distinct_keys_exact": True, "file_bytes": 100,
        "decoded_bytes": 90, "key_group_skew": 2.5, "key_group_top_percent_share": 0.25, "subtask_skew": None,
        "subtask_top_percent_share": None, "largest_key_bytes": 8, "largest_value_bytes": 9, "last_accesses": 10,
        "first_access_ms": 1, "last_access_ms": 2, "ttl_ms": 1000, "expired": 4, "times_of": "timer", "first_time_ms": None,
        "last_time_ms": None, "past": 0, "entries": None, "overdue": 4, "progress_ms": None, "past_by_progress": None,
    }  # fmt: skip
    # Nobody read it, so of its rows nothing is known, and of its bytes what the snapshot says.
    known = {name: value for name, value in nameless.items() if value is not None}
    assert {name: known[name] for name in [*known][8:]} == {
        "operator_max_parallelism": 128, "state_kind": "channel", "status": "unsupported", "reason": "not yet", "file_bytes": 5,
    }  # fmt: skip


def test_values_that_parquet_cannot_hold() -> None:
    column = replace(STATE.columns[0], min="\ud800", max={"a": ["ä", "\udfff"]})
    state = replace(STATE, state_name="\ud800 alone", columns=[column], distinct_keys=Distinct(2**63 - 1, False, 0.03),
                    ttl=Ttl(1, -(2**63), 2**63 - 1, []))  # fmt: skip
    document = replace(DOCUMENT, operators=[replace(DOCUMENT.operators[0], states=[state])])
    (row,) = table_of([document]).to_pylist()
    assert (row["state_name"], row["columns"][0]["min"], row["columns"][0]["max"]) == (
        "? alone",
        "?",
        '{"a": ["ä", "?"]}',
    )
    assert (row["distinct_keys"], row["first_access_ms"], row["last_access_ms"]) == (2**63 - 1, -(2**63), 2**63 - 1)
    assert (row["ttl_ms"], row["expired"]) == (None, None)


def test_snapshots_are_in_order() -> None:
    table = table_of([at(3, 40), at(1, None), at(2, 7)])
    assert table.schema == SCHEMA
    assert table["checkpoint_id"].to_pylist() == [1, 2, 2, 2, 3, 3, 3]
    assert table["row_count"].to_pylist() == [1, 7, None, 2, 40, None, 3]
    # The times of files do not count, which a copy may have lost: only between snapshots of one id.
    late = replace(at(1, 1), snapshot=SnapshotDocument("/chk-1", 1, 6, None, 99_000))
    lost = replace(at(2, 1), snapshot=SnapshotDocument("/chk-2", 2, 6, None, None))
    again = replace(at(2, 1), snapshot=SnapshotDocument("/again/chk-2", 2, 6, None, 5))
    assert [one.snapshot.checkpoint_id for one in in_order([at(3, 1), late])] == [1, 3]
    assert [one.snapshot.path for one in in_order([late, at(3, 1), at(2, 1), again, lost])] == [
        "/chk-1", "/chk-2", "/again/chk-2", "/chk-2/_metadata", "/chk-3/_metadata",
    ]  # fmt: skip


def test_what_is_said_of_the_order() -> None:
    early = replace(at(3, 1), snapshot=SnapshotDocument("/chk-3", 3, 6, None, 500))
    lost = replace(at(2, 1), snapshot=SnapshotDocument("/chk-2", 2, 6, None, None))
    for note in (order_note, times_note):
        assert note(in_order([at(1, 1), at(2, 1), at(3, 7)])) is None
        assert note(in_order([at(1, 1), lost, early])) is None
    assert times_note(in_order([at(1, 1), at(2, 1), early])) == (
        "by the times of their files checkpoint 3 was written before checkpoint 2: the files were copied, or the job began anew"
    )
    assert order_note(in_order([at(1, 1), lost, at(2, 1)])) == (
        "several snapshots have the checkpoint id 2: they are of different jobs, or the job began anew; they are in the order "
        "of their files' times"
    )


def test_which_snapshot_it_is() -> None:
    one = SnapshotDocument("/a/_metadata", 1, 6, None, 0, "c0ffee")
    assert identity(one) == identity(replace(one, path="/b/_metadata", taken_ms=None)) == "c0ffee"
    unknown = replace(one, metadata_sha256=None)
    assert identity(unknown) != identity(replace(unknown, path="/b/_metadata"))
    assert len(identity(unknown)) == 64


def test_growth() -> None:
    other, totals, nameless = growth(at(3, 40), at(1, None), at(2, 7))
    assert (other.state, other.there, other.values["rows"]) == ("other", [True, True, True], [1, 2, 3])
    assert (other.new, other.gone, other.change("rows"), other.change("file_bytes")) == (
        False, False, MeasureChange(1, 3, 2), MeasureChange(100, 100, 0),
    )  # fmt: skip
    assert (totals.there, totals.values["decoded_bytes"]) == ([False, True, True], [None, 70, 400])
    assert (totals.new, totals.gone, totals.change("decoded_bytes")) == (True, False, MeasureChange(None, 400, 400))
    assert (nameless.state, nameless.kind, nameless.values["file_bytes"]) == (None, "channel", [None, 5, 5])
    # It is new and was not read, so that its rows are not known.
    assert (nameless.new, nameless.change("rows"), nameless.change("file_bytes")) == (
        True, MeasureChange(None, None, None), MeasureChange(None, 5, 5),
    )  # fmt: skip
    assert [one.state for one in by_growth([nameless, other, totals])] == ["totals", "other", None]
    assert growth() == []


def test_what_is_gone_and_what_came_and_went() -> None:
    totals, _, other = growth(at(1, 40), at(2, None))
    assert (totals.gone, totals.change("rows")) == (True, MeasureChange(40, None, -40))
    assert [one.state for one in by_growth([totals, other])] == ["other", "totals"]
    (_, totals, _) = growth(at(1, None), at(2, 7), at(3, None))
    assert (totals.new, totals.gone, totals.change("rows")) == (True, True, MeasureChange(None, None, 0))


def test_an_operator_is_the_same_whatever_it_is_called() -> None:
    renamed = {"operator_uid": "sums", "operator_name": "sums v2", "operator_label": "sums", "operator_parallelism": 8}
    (totals, _, _) = growth(at(1, 1), at(2, 2, **renamed))
    assert (totals.operator_id, totals.operator, totals.values["rows"]) == ("ab", "sums", [1, 2])
    found = growth(at(1, 1), at(2, 2, operator_id="cd"))
    assert [(one.operator_id, one.state, one.values["rows"]) for one in found if one.state == "totals"] == [
        ("ab", "totals", [1, None]), ("cd", "totals", [None, 2]),
    ]  # fmt: skip
    # Keyed and operator state of one name differ in kind.
    document = at(1, 1)
    both = [STATE, replace(STATE, state_kind="broadcast", rows=3)]
    document = replace(document, operators=[replace(document.operators[0], states=both)])
    assert [(one.kind, one.values["rows"]) for one in growth(document)] == [("value", [10]), ("broadcast", [3])]


def test_what_nobody_asked_for_has_no_growth() -> None:
    document = at(2, 7)
    left_out = replace(STATE, state_name="left out", status="not selected", rows=0, decoded_bytes=0, file_bytes=0)
    totals = replace(STATE, status="not selected", rows=0, decoded_bytes=0, file_bytes=0)
    asked = replace(document, operators=[replace(document.operators[0], states=[totals, left_out])])
    found = {one.state: one for one in growth(at(1, 5), asked)}
    assert set(found) == {"totals", "other", None}
    assert (found["totals"].there, found["totals"].change("rows")) == ([True, True], MeasureChange(5, None, None))


def test_nameless_parts_of_one_kind_are_one() -> None:
    document = at(1, None)
    parts = [replace(NAMELESS, file_bytes=size) for size in (5, 7)]
    document = replace(document, operators=[replace(document.operators[0], states=parts)])
    assert [(one.kind, one.values["file_bytes"]) for one in growth(document)] == [("channel", [12])]


def test_as_a_document() -> None:
    documents = [at(1, 4), at(2, 7)]
    found = growth_as_dict([(d.snapshot, d.totals) for d in documents], growth(*documents))
    assert found["snapshots"][1] == {
        "checkpoint_id": 2, "taken_ms": 2000, "path": "/chk-2/_metadata", "states": 3, "rows": 0, "file_bytes": 0,
        "decoded_bytes": 0,
    }  # fmt: skip
    assert found["totals"]["states"] == {"first": 3, "last": 3, "change": 0}
    assert found["states"][0] == {
        "operator_id": "ab", "operator_label": "totals", "state_name": "totals", "state_kind": "value",
        "new": False, "gone": False,
        "rows": {"first": 4, "last": 7, "change": 3}, "file_bytes": {"first": 100, "last": 100, "change": 0},
        "decoded_bytes": {"first": 40, "last": 70, "change": 30}, "split": None,
    }  # fmt: skip
    assert [one["state_name"] for one in found["states"]] == ["totals", "other", None]
    (series, *_) = growth(*documents)
    totals = [replace(document.totals, rows=rows) for document, rows in zip(documents, (4, 7), strict=True)]
    assert total_change("rows", totals, [series]) == MeasureChange(4, 7, 3)
    unread = replace(series, values={**series.values, "rows": [4, None]})
    assert total_change("rows", totals, [unread]) == MeasureChange(4, 7, None)
    never = replace(series, values={**series.values, "rows": [None, None]})
    assert total_change("rows", totals, [never]) == MeasureChange(4, 7, 3)
    assert growth_as_dict([], []) == {"snapshots": [], "totals": {}, "states": []}


@pytest.mark.parametrize(
    ("first", "last", "split"),
    [
        # Twice the keys, of which each has what it had.
        (StateCounts(1000, 10, 50, None), StateCounts(2000, 20, 100, None), Split(1000, 0, 0, 0)),
        # The same keys with three times the entries.
        (StateCounts(1000, 10, 50, None), StateCounts(3000, 10, 150, None), Split(0, 2000, 0, 0)),
        (StateCounts(1000, 10, 50, None), StateCounts(1500, 10, 50, None), Split(0, 0, 500, 0)),
        # 20 bytes for each of 10 more expired entries; of the others each key has 4 instead of 5.
        (StateCounts(1000, 10, 50, 0), StateCounts(1000, 10, 50, 10), Split(0, -200, 0, 200)),
        # One entry for each key: 45 more of the 50 more keys are expired.
        (StateCounts(100, 10, 10, 5), StateCounts(600, 60, 60, 50), Split(50, 0, 0, 450)),
        # All at once: 5 more keys of 100 bytes, one entry of 20 bytes more in each of 15, 75 entries grown to 90, by 2 bytes.
        (StateCounts(1000, 10, 50, None), StateCounts(1980, 15, 90, None), Split(500, 300, 180, 0)),
        # A new state, and one that is gone.
        (StateCounts(0, 0, 0, 0), StateCounts(700, 7, 14, 2), Split(600, 0, 0, 100)),
        (StateCounts(700, 7, 14, None), StateCounts(0, 0, 0, 0), Split(-700, 0, 0, 0)),
        # Without keys all entries are of one.
        (StateCounts(100, None, 10, None), StateCounts(330, None, 30, None), Split(0, 200, 30, 0)),
        (StateCounts(0, None, 0, None), StateCounts(30, None, 3, None), Split(0, 30, 0, 0)),
        # Maps that are empty.
        (StateCounts(40, 10, 0, None), StateCounts(400, 10, 20, None), Split(0, 360, 0, 0)),
    ],
)
def test_why_a_state_grew(first: StateCounts, last: StateCounts, split: Split) -> None:
    assert split_of(first, last) == split


counts = st.tuples(st.integers(1, 10**12), st.integers(1, 10**6), st.integers(0, 10**9), st.floats(0, 1)).map(
    lambda c: StateCounts(c[0], c[1], c[2], int(c[2] * c[3]))
)


@given(counts | st.just(StateCounts(0, 0, 0, 0)), counts | st.just(StateCounts(0, 0, 0, 0)))
def test_the_parts_are_the_change(first: StateCounts, last: StateCounts) -> None:
    assert sum(vars(split_of(first, last)).values()) == last.bytes - first.bytes


def test_the_split_of_states() -> None:
    def snapshot(number: int, entries: int, size: int, expired: int) -> Statistics:
        ttl = Ttl(entries, 1, 2, [], 1000, expired)
        state = replace(STATE, rows=10, decoded_bytes=size, entries=entries, distinct_keys=Distinct(10), ttl=ttl)
        operator = replace(DOCUMENT.operators[0], states=[state])
        of = SnapshotDocument(f"/{number}/_metadata", number, 6, None, number)
        return Statistics("0", of, 0, Totals(1, 1, 10, 0, 0), [operator])

    (one,) = growth(snapshot(1, 50, 1000, 5), snapshot(2, 80, 1800, 25))
    # 20 more expired entries of 20 bytes, 10 more others in the same keys; the rest is size.
    assert one.split == Split(0, 200, 200, 400)
