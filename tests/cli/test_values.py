"""Arrow values as JSON: exact, also where Python's own types end."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from stateextract.cli.sizes import text_size
from stateextract.cli.value_texts import text_value
from stateextract.columnar.arrow.json_values import iso_date, iso_timestamp, json_value


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (True, pa.bool_(), "true"),
        (-(2**63), pa.int64(), "-9223372036854775808"),
        (2**63 - 1, pa.int64(), "9223372036854775807"),
        (-0.0, pa.float64(), "-0.0"),
        (float("nan"), pa.float64(), '"NaN"'),
        (float("inf"), pa.float32(), '"Infinity"'),
        (float("-inf"), pa.float64(), '"-Infinity"'),
        (b"\x00\xff", pa.binary(), '"00ff"'),
        (Decimal("12.340"), pa.decimal128(10, 3), '"12.340"'),
        ("é\n", pa.string(), '"\\u00e9\\n"'),
        (None, pa.string(), "null"),
        ([1, None], pa.list_(pa.int32()), "[1, null]"),
        ([(b"a", [1.5])], pa.map_(pa.binary(), pa.list_(pa.float64())), '[{"key": "61", "value": [1.5]}]'),
        ({"a": 1, "b": None}, pa.struct({"a": pa.int8(), "b": pa.string()}), '{"a": 1, "b": null}'),
        (1_700_000_000_123_456, pa.timestamp("us", "UTC"), '"2023-11-14T22:13:20.123456Z"'),
        (-1, pa.timestamp("us"), '"1969-12-31T23:59:59.999999"'),
        (0, pa.timestamp("ns", "UTC"), '"1970-01-01T00:00:00Z"'),
        (2**63 - 1, pa.timestamp("us", "UTC"), '"+294247-01-10T04:00:54.775807Z"'),
        (2**31 - 1, pa.date32(), '"+5881580-07-11"'),
        (-(2**31), pa.date32(), '"-5877641-06-23"'),
    ],
)
def test_json(value: Any, type_: pa.DataType, expected: str) -> None:
    assert json.dumps(json_value(pa.array([value], type_)[0])) == expected


def test_dates_are_pythons() -> None:
    epoch = datetime.date(1970, 1, 1).toordinal()
    for ordinal in (*range(1, 3_652_060, 997), 3_652_059, epoch, 730_179, 730_180):
        assert iso_date(ordinal - epoch) == datetime.date.fromordinal(ordinal).isoformat()


def test_timestamps_are_pythons() -> None:
    for second in range(-(10**10), 10**10, 123_456_789):
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=second)
        assert iso_timestamp(second, "s", False) == moment.isoformat()


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        ("plain", pa.string(), "plain"),
        ("", pa.string(), '""'),
        (" a", pa.string(), '" a"'),
        ("a\tb", pa.string(), '"a\\tb"'),
        ([("k", 1)], pa.map_(pa.string(), pa.int64()), '{"k": 1}'),
        ({"a": [1, 2]}, pa.struct({"a": pa.list_(pa.int8())}), "{a: [1, 2]}"),
        ("x" * 201, pa.string(), "x" * 199 + "…"),
    ],
)
def test_text(value: Any, type_: pa.DataType, expected: str) -> None:
    assert text_value(pa.array([value], type_)[0]) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [(None, "-"), (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_951, "1.0 MB"),
     (128 * 10**6, "128.0 MB"), (5 * 10**12, "5.0 TB"), (5 * 10**15, "5000.0 TB")],
)  # fmt: skip
def test_sizes(size: int | None, expected: str) -> None:
    assert text_size(size) == expected
