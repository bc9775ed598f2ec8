"""PyFlink's exchange serializers: what Python's coders write, by both engines."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from serializers import SerializerSnapshot, describe
from serializers.pyflink import of_type
from serializers.sql import TYPEUTILS
from serializers.sql_type import LogicalType
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.layout import Layout, Undecodable
from stateextract.errors import ValueRefusedError
from stateextract.files.block import Block
from tests.serializers.test_vectors import snapshot

ENGINES = ("kernel", "interpreter")
PYTHON = TYPEUTILS + "serializers.python."
ROW = snapshot("S python RowData")
INT = ROW.details["types"][0]


def python(name: str, details: Mapping[str, Any] | None = None) -> SerializerSnapshot:
    return SerializerSnapshot(f"{PYTHON}{name}", 3, details=details or {})


def decode(layout: Layout, data: bytes, engine: str = "interpreter", policy: Policy | None = None) -> Any:
    decoder = make_decoder(layout, policy or Policy(), engine=engine)
    assert decoder.engine == engine
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.entries, progress.pos) == (1, len(data))
    return decoder.flush().to_pylist()[0]


def text(value: str) -> bytes:
    return struct.pack(">i", len(value.encode())) + value.encode()


STRING = python("StringSerializer$StringSerializerSnapshot")
DECIMAL = python("DecimalDataSerializer$DecimalSerializerSnapshot", {"precision": 5, "scale": 2})
CASES: list[tuple[SerializerSnapshot, bytes, Any]] = [
    (STRING, text("é"), "é"),
    (python("BigDecSerializer$BigDecSerializerSnapshot"), text("1E+3"), "1E+3"),
    (python("DateSerializer$DateSerializerSnapshot"), struct.pack(">i", 19782), date(2024, 2, 29)),
    (python("TimeSerializer$TimeSerializerSnapshot"), struct.pack(">i", 3_723_004), "01:02:03.004"),
    (DECIMAL, text("-1.23"), Decimal("-1.23")),
    (DECIMAL, text("1"), Decimal("1.00")),
    (
        python("TimestampSerializer$TimestampSerializerSnapshot", {"precision": 3}),
        struct.pack(">q", 1500), datetime(1970, 1, 1, 0, 0, 1, 500_000),
    ),
    (
        python("TimestampSerializer$TimestampSerializerSnapshot", {"precision": 6}),
        struct.pack(">qi", 1500, 7_000), datetime(1970, 1, 1, 0, 0, 1, 500_007),
    ),
    (
        python("ArrayDataSerializer$ArrayDataSerializerSnapshot", {"java": (INT, INT)}),
        struct.pack(">ibib", 2, 1, 258, 0), [258, None],
    ),
    (
        python("MapDataSerializer$BaseMapSerializerSnapshot", {"java": (INT,) * 4}),
        struct.pack(">iibiib", 2, 1, 0, 5, 2, 1), [(1, 5), (2, None)],
    ),
    # Two bits of the row's kind, then the null bits: -U, not null.
    (ROW, b"\x80" + struct.pack(">i", 7), {"f0": 7, "row_kind": "-U"}),
    (ROW, b"\x20", {"f0": None, "row_kind": "+I"}),
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("snapshot_", "data", "expected"), CASES)
def test_value(snapshot_: SerializerSnapshot, data: bytes, expected: Any, engine: str) -> None:
    assert decode(describe(snapshot_), data, engine) == expected


@pytest.mark.parametrize("digits", ["1000", "1.234", "x", "", "NaN", "1e999999999"])
def test_decimals_that_do_not_fit(digits: str) -> None:
    with pytest.raises(ValueRefusedError, match="does not fit"):
        decode(describe(DECIMAL), text(digits))
    assert decode(describe(DECIMAL), text(digits), policy=Policy(out_of_range="null")) is None


def test_decimals_where_strings_are_bytes() -> None:
    assert decode(describe(DECIMAL), text("1.5"), policy=Policy(strings="binary")) == Decimal("1.50")


def sql(root: str, *children: LogicalType, names: tuple[str, ...] = ()) -> LogicalType:
    return LogicalType(root, root, True, 3, 0, children, names)


def test_types_inside_of_types() -> None:
    inner = sql("ROW", sql("VARCHAR"), sql("BOOLEAN"), names=("a", "b"))
    layout = of_type(sql("ARRAY", sql("MAP", sql("BIGINT"), inner)))
    assert str(layout.arrow_type) == ("list<item: map<int64, struct<a: string, b: bool, row_kind: string>>>")
    data = struct.pack(">ib", 1, 1) + struct.pack(">iqb", 1, 9, 0) + b"\x10" + text("x")
    for engine in ENGINES:
        assert decode(layout, data, engine) == [[(9, {"a": "x", "b": None, "row_kind": "+I"})]]


def test_types_without_a_coder() -> None:
    assert isinstance(of_type(sql("RAW")), Undecodable)
