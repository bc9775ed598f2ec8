"""Needles are in the bytes of every value that has them, and looking for bytes finds what ``bytes.find`` finds."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stateextract.columnar.search.key_pattern as needles
from stateextract.columnar.layout import (
    Bytes,
    Field,
    Layout,
    Logical,
    MaskedStruct,
    Nullable,
    Number,
    Skip,
    Struct,
    Subclasses,
    Text,
    struct,
)
from stateextract.columnar.layout.binary import BinaryRow
from stateextract.columnar.search.key_pattern import Finder, pattern
from stateextract.files import second_thread as beside
from stateextract.files.block import Block
from tests.columnar.strategies import encode, expected, fields, layouts, values
from tests.columnar.test_pair_decoder import pure
from tests.depth import examples

_SETTINGS = settings(max_examples=examples(75), deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONG, INT = Number(pa.int64()), Number(pa.int32())


@pytest.mark.parametrize(
    ("layout", "value", "found"),
    [
        (LONG, -2, b"\xff" * 7 + b"\xfe"),
        (Number(pa.int64(), flip_sign=True), 5, b"\x80\0\0\0\0\0\0\x05"),
        (Number(pa.int32(), little=True), 258, b"\x02\x01\0\0"),
        (Number(pa.uint32()), 0xFFFFFFFE, b"\xff\xff\xff\xfe"),
        (Number(pa.int16()), 7, None),
        (Number(pa.float64()), 1.0, None),
        (Text("flink"), "abc", b"\x04abc"),
        (Text("value"), "abcd", b"\x04abcd"),
        (Text("utf"), "a\0b", b"\0\4a\xc0\x80b"),
        (Text("utf8"), "é", b"\0\0\0\2\xc3\xa9"),
        (Text("flink"), "ab", None),
        (Text("flink"), "é😀", b"\x04\xe9\x01\xbd\xb0\x03\x80\xbc\x03"),
        (Text("flink"), "x" * 200, b"x" * 64),
        (Text("flink"), "ab\ufffdcd", None),
        (Text("flink"), None, None),
        (Bytes(), b"\1\2", b"\0\0\0\2\1\2"),
        (Bytes(4), b"abcd", b"abcd"),
        (Nullable(INT), 9, b"\0\0\0\0\x09"),
        (Nullable(INT), None, None),
        (Nullable(INT, null_if=False), 9, b"\0\0\0\x09"),
        (struct(a=INT, b=Text("value")), {"a": 1, "b": "xy"}, b"\0\0\0\1\2xy"),
        (struct(a=Skip(expect=b"\7"), b=INT), {"b": 1}, b"\7\0\0\0\1"),
        (struct(a=INT, b=Skip(1), c=Text("value")), {"a": 1, "c": "vwxyz"}, b"\5vwxyz"),
        (struct(a=Number(pa.float64()), b=INT), {"a": 1.0, "b": 1}, b"\0\0\0\1"),
        (MaskedStruct((Field("a", INT), Field("b", Skip(1)), Field("c", LONG))), {"a": 1, "c": 2}, b"\0" * 7 + b"\2"),
        (
            Subclasses("C", (Field("a", Nullable(INT)), Field("b", Nullable(INT)))),
            {"a": 1, "b": 2},
            b"\0\0\0\0\1\0\0\0\0\2",
        ),
        (
            BinaryRow((Field("a", Number(pa.int64(), little=True)), Field("b", Text("utf8")))),
            {"a": 1, "b": "a long name"},
            b"a long name",
        ),
        (BinaryRow((Field("b", Text("utf8")),)), {"b": "name"}, b"name"),
    ],
)
def test_what_is_certain_of_a_value(layout: Layout, value: Any, found: bytes | None) -> None:
    assert pattern(layout, pa.scalar(value, layout.arrow_type)) == found


def test_times_that_python_has_not_are_no_reason_to_fail() -> None:
    time = Logical(LONG, "epoch_ms", pa.timestamp("ns", "UTC"))
    layout = struct(at=time, name=Text("value"))
    assert pattern(time, pa.scalar(1, time.type)) is None
    assert pattern(layout, pa.scalar({"at": pa.scalar(1, time.type), "name": "abc"}, layout.arrow_type)) == b"\3abc"
    year_30_000 = pa.scalar(10**18, pa.timestamp("us"))
    assert pattern(Logical(LONG, "epoch_us", year_30_000.type), year_30_000) is None


@st.composite
def shown(draw: st.DrawFn) -> tuple[Layout, Any]:
    layout = draw(st.one_of(layouts().filter(pure), fields(2, 1).map(Struct).filter(pure)))
    return layout, draw(values(layout))


@_SETTINGS
@given(shown())
def test_a_needle_is_in_the_bytes(case: tuple[Layout, Any]) -> None:
    layout, value = case
    if layout.wire_type is None:
        return
    found = pattern(layout, pa.array([expected(layout, value)], layout.wire_type)[0])
    assert found is None or found in encode(layout, value)


@_SETTINGS
@given(st.data())
def test_finding_is_as_in_python(data: st.DataObject) -> None:
    letters = st.sampled_from([0, 1, 2, 0xFF])
    hay = bytes(data.draw(st.lists(letters, max_size=600)))
    sought = bytes(data.draw(st.lists(letters, min_size=1, max_size=9)))
    block = Block.of(hay)
    assert Finder(sought).find(block.address, len(hay)) == hay.find(sought)


@_SETTINGS
@given(st.data())
def test_two_threads_find_the_same(data: st.DataObject) -> None:
    hay = bytes(data.draw(st.lists(st.sampled_from([0, 1, 2]), min_size=30, max_size=90)))
    sought = bytes(data.draw(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=5)))
    block = Block.of(hay)
    with mock.patch.object(needles, "MUCH", 30), mock.patch.object(beside, "usable_cores", return_value=2):
        assert Finder(sought).find(block.address, len(hay)) == hay.find(sought)


@pytest.mark.parametrize("at", [0, 1, 100, 127, 128, 129, 250, 400 - 9])
def test_nothing_beyond_the_end_is_found(at: int) -> None:
    sought = b"needle\0\0x"
    hay = bytearray(400)
    hay[at : at + 9] = sought
    block = Block.of(hay)
    finder = Finder(sought)
    assert finder.find(block.address, len(hay)) == at
    assert finder.find(block.address, at + 9) == at
    assert finder.find(block.address, at + 8) == -1
    assert finder.find(block.address + at + 1, len(hay) - at - 1) == -1
