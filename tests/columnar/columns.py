"""Columns for the tests of conversions: one layout for each, and what runs them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from stateextract.columnar.convert import big_numbers
from stateextract.columnar.convert.logical import apply_logical
from stateextract.columnar.convert.policy import ChangeCounts, Policy, apply_policy
from stateextract.columnar.layout import (
    BigInteger,
    Layout,
    Logical,
    Number,
    struct,
)
from stateextract.errors import FormatError, ValueRefusedError

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
INT_MIN = -(2**31)
UTC_US, UTC_NS = pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")

I8, I32, I64 = Number(pa.int8()), Number(pa.int32()), Number(pa.int64())
DATE = Logical(I64, "date", UTC_US)
EPOCH_MS = Logical(I64, "epoch_ms", UTC_US)
SQL_TIMESTAMP = Logical(struct(ms=I64, nanos=I32), "sql_timestamp", UTC_US)
INSTANT = Logical(struct(seconds=I64, nanos=I32), "instant", UTC_US)
LOCAL_DATE = Logical(struct(year=I32, month=I8, day=I8), "local_date", pa.date32())
LOCAL_TIME = Logical(struct(hour=I8, minute=I8, second=I8, nanos=I32), "local_time", pa.string())
LOCAL_DATETIME = Logical(
    struct(year=I32, month=I8, day=I8, hour=I8, minute=I8, second=I8, nanos=I32), "local_datetime", pa.timestamp("us")
)
COLOR = Logical(I32, "labels", pa.string(), ("RED", "GREEN", "BLUE"))
BIG_INTEGER = Logical(BigInteger(), "big_integer", pa.string())
BIG_DECIMAL = Logical(BigInteger(scaled=True), "big_decimal", pa.string())


def run(layout: Layout, wire: list[Any], policy: Policy | None = None, counts: ChangeCounts | None = None) -> pa.Array:
    """Convert a column: as it is, as a slice of a longer one, and value by value. The results must be equal."""
    policy, total = policy or Policy(), counts if counts is not None else ChangeCounts()
    layout = apply_policy(layout, policy)
    array = pa.array(wire, type=layout.wire_type)
    array.validate(full=True)
    result = apply_logical(array, layout, policy, total)
    result.validate(full=True)
    assert result.type == layout.arrow_type
    assert len(result) == len(wire)
    for before in (1, 9):
        padded = pa.concat_arrays([pa.nulls(before, array.type), array, pa.nulls(3, array.type)])
        again = apply_logical(padded.slice(before, len(wire)), layout, policy, ChangeCounts())
        again.validate(full=True)
        assert again.equals(result)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(big_numbers, "FEW", len(wire))
        singly = apply_logical(array, layout, policy, ChangeCounts())
        singly.validate(full=True)
        assert singly.equals(result)
    return result


def ticks(array: pa.Array) -> list[int | None]:
    """Timestamps and dates as their bare numbers."""
    width = pa.int32() if array.type == pa.date32() else pa.int64()
    found: list[int | None] = array.cast(width).to_pylist()
    return found


def refused(layout: Layout, wire: Any, policy: Policy | None = None) -> str:
    with pytest.raises(ValueRefusedError) as caught:
        run(layout, [wire], policy)
    return str(caught.value)


def impossible(layout: Layout, wire: Any) -> str:
    with pytest.raises(FormatError) as caught:
        run(layout, [wire])
    return str(caught.value)
