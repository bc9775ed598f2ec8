"""The kernel and the interpreter, held to the same values on any layout, any window split and any size of batch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import Decoder, Stop, make_decoder
from stateextract.columnar.layout import Bool, Layout, List, Map, Nullable, Skip, Text
from stateextract.errors import FormatError, StateExtractError, ValueRefusedError
from stateextract.files.block import Block
from tests.columnar.strategies import encode, entries, expected, layouts
from tests.depth import examples

_SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def decode_all(decoder: Decoder, data: bytes, count: int, cuts: list[int]) -> list[pa.Array]:
    """Decode ``count`` entries, showing the decoder the data only up to each cut in turn; as ``heap.py`` does it."""
    batches = []
    pos = done = 0
    for end in [*cuts, len(data)]:
        block = Block.of(data[:end])
        while True:
            progress = decoder.decode(block, pos, end, count - done)
            pos, done = progress.pos, done + progress.entries
            if progress.stop is Stop.FULL:
                batches.append(decoder.flush_wire())
                continue
            break
        if done == count:
            break
        assert progress.stop is Stop.NEED_INPUT
        assert progress.needed > end
        assert progress.needed <= len(data)
    assert (pos, done) == (len(data), count)
    batches.append(decoder.flush_wire())
    return batches


@st.composite
def cases(draw: st.DrawFn) -> tuple[Layout, list[Any], list[int], int]:
    layout = draw(layouts())
    values = draw(entries(layout))
    size = sum(len(encode(layout, v)) for v in values)
    cuts = sorted(draw(st.lists(st.integers(0, size), max_size=4)))
    return layout, values, cuts, draw(st.sampled_from([1, 2, 3, 1 << 16]))


def exactly(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Compared as Arrow arrays bit by bit, NaN and -0.0 included."""
    return pa.array(values, type_)


def same(a: pa.Array, b: pa.Array) -> bool:
    """Equality in which NaN equals NaN and 0.0 is not -0.0."""
    return bool(a.type == b.type and repr(a.to_pylist()) == repr(b.to_pylist()))


@_SETTINGS
@given(cases())
def test_kernel_gives_the_values_on_any_window_split(case: tuple[Layout, list[Any], list[int], int]) -> None:
    layout, values, cuts, batch_rows = case
    data = b"".join(encode(layout, v) for v in values)
    decoder = make_decoder(layout, Policy(), engine="kernel", batch_rows=batch_rows)
    batches = decode_all(decoder, data, len(values), cuts)
    type_ = layout.wire_type or pa.bool_()
    got = pa.concat_arrays([b for b in batches if len(b)] or [pa.array([], batches[-1].type)])
    got.validate(full=True)
    if layout.wire_type is None:
        assert len(got) == len(values)
        return
    want = exactly([expected(layout, v) for v in values], type_)
    assert same(got, want)


@_SETTINGS
@given(cases())
def test_interpreter_gives_the_same(case: tuple[Layout, list[Any], list[int], int]) -> None:
    layout, values, _, batch_rows = case
    data = b"".join(encode(layout, v) for v in values)
    slow = make_decoder(layout, Policy(), engine="interpreter", batch_rows=batch_rows)
    fast = make_decoder(layout, Policy(), engine="kernel", batch_rows=batch_rows)
    block = Block.of(data)
    batches: list[list[pa.Array]] = [[], []]
    for decoder, out in zip((slow, fast), batches, strict=True):
        pos = done = 0
        while done < len(values):
            progress = decoder.decode(block, pos, len(data), len(values) - done)
            pos, done = progress.pos, done + progress.entries
            if progress.stop is Stop.FULL:
                out.append(decoder.flush_wire())
        out.append(decoder.flush_wire())
    tables = [[v for b in out for v in b.to_pylist()] for out in batches]
    assert repr(tables[0]) == repr(tables[1])
    assert slow.counts == fast.counts


@_SETTINGS
@given(cases(), st.data())
def test_corrupt_bytes_end_alike(case: tuple[Layout, list[Any], list[int], int], data: st.DataObject) -> None:
    """Whatever is done to the bytes, both engines give the same entries, or both refuse; and nothing crashes."""
    layout, values, _, _ = case
    raw = bytearray(b"".join(encode(layout, v) for v in values))
    if not raw:
        return
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    block = Block.of(bytes(raw))
    results = []
    for engine in ("kernel", "interpreter"):
        decoder = make_decoder(layout, Policy(maps="list"), engine=engine)
        pos = done = 0
        rows: list[Any] = []
        try:
            while True:
                progress = decoder.decode(block, pos, len(raw), len(values) - done)
                pos, done = progress.pos, done + progress.entries
                rows += decoder.flush_wire().to_pylist()
                # Elements without bytes may be so many that one engine's batch is full and the other's is not.
                if progress.stop is not Stop.FULL:
                    break
            outcome: object = (progress.stop, done, pos)
            kept = repr(rows)
        except StateExtractError:
            outcome, kept = "refused", ""
        results.append((outcome, kept))
    assert results[0] == results[1]


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
@pytest.mark.parametrize("third", ["04", "80", "8000"])
def test_a_character_of_more_than_16_bits(engine: str, third: str) -> None:
    """Its third byte says so. Neither engine waits for a fourth."""
    raw = bytes.fromhex("0380bc0380bc" + third)
    with pytest.raises(FormatError, match="a string that Java does not write") as caught:
        make_decoder(Text("flink"), Policy(), engine=engine).decode(Block.of(raw), 0, len(raw), 1)
    assert caught.value.offset == 6


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
def test_what_is_passed_over_is_never_refused(engine: str) -> None:
    """A map with a null key cannot be kept as a map, and is no reason to fail where nobody wants it."""
    layout = Map(Text(), Nullable(Bool()))
    data = (1).to_bytes(4, "big") + b"\x00" + b"\x00\x01"
    kept = make_decoder(layout, Policy(), engine=engine)
    with pytest.raises(ValueRefusedError, match="null key"):
        decode_all(kept, data, 1, [])
    passed = make_decoder(layout, Policy(), engine=engine, keep=False)
    progress = passed.decode(Block.of(data), 0, len(data), 1)
    assert (progress.stop, progress.pos) == (Stop.DONE, len(data))


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
def test_elements_without_a_value_are_true_behind_a_null_flag_too(engine: str) -> None:
    layout = List(Nullable(Skip(0), null_if=False), null_mask=True)
    data = (2).to_bytes(4, "big") + b"\x40" + b"\x00"  # two elements, the second one null by the mask
    decoder = make_decoder(layout, Policy(), engine=engine)
    decoder.decode(Block.of(data), 0, len(data), 1)
    assert decoder.flush().to_pylist() == [[True, None]]


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
def test_an_element_without_a_column_is_there_whatever_is_null_in_it(engine: str) -> None:
    """Only the list's own mask says that an element is null."""
    layout = List(Nullable(Skip(0)), null_mask=True)
    data = (3).to_bytes(4, "big") + b"\x40" + b"\x01" + b"\x00"  # null inside, null by the mask, neither
    decoder = make_decoder(layout, Policy(), engine=engine)
    assert [b.to_pylist() for b in decode_all(decoder, data, 1, [])] == [[[True, None, True]]]
