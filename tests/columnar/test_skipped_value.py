"""Columns that nobody wants are passed over: what is left is what it would have been, in both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.decode.pair_decoder import make_pair_decoder
from stateextract.columnar.interpreter import has_column
from stateextract.columnar.layout import Bool, Field, List, Map, Nullable, Number, SkippedValue, Struct, Text
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.errors import ValueRefusedError
from stateextract.files.block import Block
from tests.columnar import test_pair_decoder
from tests.columnar.strategies import encode, entries, expected, fields
from tests.depth import examples

_SETTINGS = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
ENGINES = ["kernel", "interpreter"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Struct, list[Any], list[bool]]:
    layout = Struct(draw(fields(3, 1)))
    return layout, draw(entries(layout)), draw(st.lists(st.booleans(), min_size=len(layout.fields)))


def passing(layout: Struct, passed: list[bool]) -> Struct:
    """The struct without the columns of some fields."""
    pairs = zip(layout.fields, passed, strict=False)
    return Struct(tuple(replace(f, layout=SkippedValue(f.layout)) if gone else f for f, gone in pairs))


@pytest.mark.parametrize("engine", ENGINES)
@_SETTINGS
@given(case=cases())
def test_the_other_columns_stay_as_they_are(engine: str, case: tuple[Struct, list[Any], list[bool]]) -> None:
    layout, values, passed = case
    narrow = passing(layout, passed)
    kept = [f.name for f in narrow.fields if has_column(f.layout)]
    data = b"".join(encode(layout, v) for v in values)
    decoder = make_decoder(narrow, Policy(), engine=engine)
    pos = done = 0
    while done < len(values):
        progress = decoder.decode(Block.of(data), pos, len(data), len(values) - done)
        pos, done = progress.pos, done + progress.entries
    assert pos == len(data)
    rows: list[Any] = [True] * len(values)
    if kept:
        rows = [{name: row[name] for name in kept} for row in (expected(layout, v) for v in values)]
    array = decoder.flush_wire()
    assert array.type == narrow.wire_type
    assert repr(array.to_pylist()) == repr(pa.array(rows, narrow.wire_type).to_pylist())


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_passed_over_is_not_refused(engine: str) -> None:
    nulls = Map(Nullable(Text()), Nullable(Bool()))
    data = bytes.fromhex("00000001" + "01" + "0001") + b"\x07"
    whole = make_decoder(Struct((Field("m", nulls), Field("n", Number(pa.int8())))), Policy(), engine=engine)
    narrow = make_decoder(Struct((Field("m", SkippedValue(nulls)), Field("n", Number(pa.int8())))), Policy(), engine=engine)

    def refused() -> None:
        whole.decode(Block.of(data), 0, len(data), 1)
        whole.flush()

    with pytest.raises(ValueRefusedError, match="null key"):
        refused()
    assert narrow.decode(Block.of(data), 0, len(data), 1).pos == len(data)
    assert narrow.flush().to_pylist() == [{"n": 7}]


def test_layouts_without_a_column() -> None:
    passed = SkippedValue(Text())
    assert (passed.wire_type, passed.arrow_type, passed.least) == (None, None, 1)
    assert Struct((Field("a", passed),)).wire_type == pa.bool_()
    assert List(passed).wire_type == pa.list_(pa.bool_())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("flat", [False, True])
def test_pairs_of_maps(engine: str, flat: bool) -> None:
    """Rows need the map, to know where one ends; of its entries nothing is kept."""
    value = Map(SkippedValue(Text()), Nullable(SkippedValue(Number(pa.int32()))))
    layout = PairLayout(
        "map", (Field("key", Text()), Field("namespace", SkippedValue(Bool())), Field("value", value)), 1, False
    )
    pairs = [
        test_pair_decoder.map_pair("a", "x", 1),
        test_pair_decoder.map_pair("a", "y", 2),
        test_pair_decoder.map_pair("b", "x", 3, last=True),
    ]
    data = b"".join(pairs)
    decoder = make_pair_decoder(layout, Policy(), engine, flat=flat)
    decoder.begin(7)
    assert decoder.decode(Block.of(data), 0, len(data), 9).pos == len(data)
    rows = decoder.flush(last=True)
    assert rows.field("key").to_pylist() == (["a", "a", "b"] if flat else ["a", "b"])
    if not flat:
        assert [len(v) for v in rows.field(1).to_pylist()] == [2, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_values_of_pairs_are_passed_over_by_their_length(engine: str) -> None:
    """Whatever is in them, be it damaged."""
    fields = (Field("key", Text()), Field("namespace", SkippedValue(Bool())), Field("value", SkippedValue(Text())))
    layout = PairLayout("value", fields, 1, False)
    data = test_pair_decoder.framed(b"\x87\x02a\x00", b"\xff\xff\xff\xff\xff\xff")
    decoder = make_pair_decoder(layout, Policy(), engine)
    decoder.begin(7)
    assert decoder.decode(Block.of(data), 0, len(data), 9).pos == len(data)
    assert decoder.flush(last=True).to_pylist() == [{"key": "a"}]
