"""The comparison itself: what must be equal is, and what must differ does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from tests.conformance.notation import Bag, Real, comparable, from_expected, from_truth, same_rows

US = pa.timestamp("us", tz="UTC")
POINT = pa.struct([("class", pa.string()), ("x", pa.int32()), ("x_Sub", pa.string()), ("class_", pa.int32())])


@pytest.mark.parametrize(
    ("type_", "expected", "truth", "ours"),
    [
        (pa.int64(), 2**63 - 1, 2**63 - 1, 2**63 - 1),
        (pa.float64(), {"double": "NaN"}, {"$float": "NaN"}, float("nan")),
        (pa.float64(), {"double": "-0.0"}, -0.0, -0.0),
        (pa.float32(), {"float": "0.10000000149011612"}, 0.10000000149011612, 0.1),
        (pa.float64(), {"double": "-Infinity"}, {"$float": "-Infinity"}, float("-inf")),
        (pa.string(), {"char": "a"}, {"$char": "a"}, "a"),
        (pa.string(), "a\ud800b", "a\ud800b", "a�b"),
        (pa.string(), {"decimal": "1E+3", "scale": -3}, {"$decimal": "1E+3"}, "1E+3"),
        (pa.string(), {"decimal": "0.00", "scale": 2}, {"$decimal": "0.00"}, "0.00"),
        (pa.string(), {"bigint": "-1"}, {"$bigint": "-1"}, "-1"),
        (pa.string(), {"enum": "RED"}, {"$enum": {"class": "C", "name": "RED", "ordinal": 0}}, "RED"),
        (pa.string(), {"local_time": [1, 2, 0, 0], "iso": "01:02"}, {"$localtime": "01:02"}, "01:02:00"),
        (
            pa.string(),
            {"local_time": [1, 2, 3, 500], "iso": ""},
            {"$localtime": "01:02:03.0000005"},
            "01:02:03.000000500",
        ),
        (pa.binary(), {"bytes": "00ff"}, {"$bytes": "00ff"}, b"\x00\xff"),
        (
            US,
            {"instant": [-1, 999_999_999], "iso": ""},
            {"$instant": "1969-12-31T23:59:59.999999999Z"},
            datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        ),
        (US, {"date_ms": -1, "iso": ""}, {"$date_ms": -1}, datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)),
        (
            US,
            {"sql_timestamp": [1500, 500_000_007], "iso": ""},
            {"$sqltimestamp": {"epoch_ms": 1500, "nanos": 500_000_007}},
            datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC),
        ),
        (
            pa.timestamp("us"),
            {"local_datetime": [2024, 2, 29, 1, 2, 3, 4000], "iso": ""},
            {"$localdatetime": "2024-02-29T01:02:03.000004"},
            datetime(2024, 2, 29, 1, 2, 3, 4),
        ),
        (pa.date32(), {"local_date": [2024, 2, 29], "iso": ""}, {"$localdate": "2024-02-29"}, date(2024, 2, 29)),
        (pa.list_(pa.int32()), [2, 1], [2, 1], [2, 1]),
        (pa.list_(pa.int32()), {"set": [1, 2]}, {"$set": [1, 2]}, [2, 1]),
        (
            pa.map_(pa.string(), pa.int32()),
            {"map": [["a", 1], ["b", None]]},
            {"$map": [["b", None], ["a", 1]]},
            [("b", None), ("a", 1)],
        ),
        (
            pa.struct([("f0", pa.int32()), ("f1", pa.string())]),
            {"tuple": [1, None]},
            {"$tuple": [1, None]},
            {"f0": 1, "f1": None},
        ),
        (
            pa.struct([("f0", pa.int32()), ("row_kind", pa.string())]),
            {"row": {"f0": 1}, "kind": "-D"},
            {"$row": {"kind": "-D", "values": [1]}},
            {"f0": 1, "row_kind": "-D"},
        ),
        (
            POINT,
            {"pojo": "a.P$Sub", "fields": {"x": "s", "class": 2}},
            {"$pojo": {"class": "a.P$Sub", "fields": {"class": 2, "x": "s"}}},
            {"class": "a.P$Sub", "x": None, "x_Sub": "s", "class_": 2},
        ),
        (
            pa.struct([("left", pa.int32()), ("right", pa.string())]),
            {"right": "x"},
            {"$right": "x"},
            {"left": None, "right": "x"},
        ),
        (
            pa.struct([("start", US), ("end", US)]),
            {"start": 0, "end": 1000},
            {"$window": [0, 1000]},
            {"start": datetime(1970, 1, 1, tzinfo=UTC), "end": datetime(1970, 1, 1, 0, 0, 1, 0, UTC)},
        ),
        (
            pa.struct([("last_access", US), ("value", pa.int32())]),
            {"ttl": 0, "iso": "", "value": 3},
            {"$ttl": {"ts": 0, "value": 3}},
            {"last_access": datetime(1970, 1, 1, tzinfo=UTC), "value": 3},
        ),
        (pa.bool_(), None, {"$window": "global"}, None),
    ],
)
def test_three_notations(type_: pa.DataType, expected: Any, truth: Any, ours: Any) -> None:
    mine = comparable(ours, type_)
    assert from_expected(expected, type_) == mine
    assert from_truth(truth, type_) == mine
    assert comparable(pa.array([ours], type=type_)[0], type_) == mine


def test_what_differs() -> None:
    assert Real("0.0") != comparable(-0.0, pa.float64())
    assert from_expected([1, 2], pa.list_(pa.int32())) != comparable([2, 1], pa.list_(pa.int32()))
    assert from_expected({"set": [1, 2]}, pa.list_(pa.int32())) != comparable([1, 1], pa.list_(pa.int32()))
    assert Bag((1, 2)) != (1, 2, 2)


def test_a_field_without_a_column() -> None:
    with pytest.raises(KeyError, match="no column for"):
        from_expected({"pojo": "P", "fields": {"y": 1}}, POINT)


def test_rows_as_bags() -> None:
    assert same_rows([(1, Bag((1, 2))), (2, ())], [(2, ()), (1, (2, 1))]) is None
    assert same_rows([(1,), (1,)], [(1,)]) == "2 rows were expected, 1 came"
    assert same_rows([((1, 2),)], [((2, 1),)]) == "expected ((1, 2),), nearest is ((2, 1),)"


def test_moments_beyond_python() -> None:
    far = pa.array([2**62], type=US)
    assert comparable(far[0], US) == 2**62
    assert from_expected({"local_date": [999_999_999, 12, 31], "iso": ""}, pa.date32()) == 365_241_780_471
