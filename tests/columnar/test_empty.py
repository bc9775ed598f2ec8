"""Elements that take no bytes: bounded per row and per batch, by the same number in both engines."""

from __future__ import annotations

import struct as binary
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stateextract
from stateextract.columnar import interpreter, kernel
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import KernelDecoder, Stop, make_decoder
from stateextract.columnar.decode.pair_decoder import make_pair_decoder
from stateextract.columnar.interpreter import MAX_EMPTY
from stateextract.columnar.layout import (
    Field,
    Layout,
    List,
    Logical,
    Map,
    MaskedStruct,
    Null,
    Nullable,
    Python,
    Skip,
    Struct,
    struct,
    values_of,
)
from stateextract.columnar.layout.binary import Framed
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.columnar.search.entry_bounds import entry_scanner
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.block import Block
from tests.depth import examples

ENGINES = ("interpreter", "kernel")
HOSTILE = Path(__file__).resolve().parents[2].parent / "shared" / "hostile"
EMPTY = struct()
ELEMENTS: list[tuple[Layout, int]] = [
    (EMPTY, 1),
    (Null(), 1),
    (Skip(), 1),
    (Skip(expect=b""), 1),
    (MaskedStruct(()), 1),
    (struct(a=Null(), b=EMPTY, c=Skip()), 3),
    (struct(a=struct(a=Null(), b=Null()), b=struct(a=Null(), b=Null())), 4),
    (Logical(Null(), "epoch_day", Null().wire_type), 1),
]  # fmt: skip


def i32(n: int) -> bytes:
    return binary.pack(">i", n)


def varint(n: int) -> bytes:
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def outcome(layout: Layout, data: bytes, engine: str, keep: bool = True) -> tuple[str, Any]:
    """What becomes of one entry: its error with its place, or how far it goes."""
    decoder = make_decoder(layout, Policy(maps="list"), engine=engine, keep=keep)
    try:
        progress = decoder.decode(Block.of(data), 0, len(data), 1)
    except StateExtractError as error:
        return type(error).__name__, error.offset
    return progress.stop.value, progress.pos


def test_one_number_for_both_engines() -> None:
    assert MAX_EMPTY == kernel.MAX_EMPTY == 1 << 20


@pytest.mark.parametrize(("element", "values"), ELEMENTS)
def test_values_of_an_element(element: Layout, values: int) -> None:
    assert (element.least, values_of(element)) == (0, values)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(("element", "values"), ELEMENTS[:7])
def test_the_most_of_a_row(element: Layout, values: int, keep: bool, engine: str) -> None:
    row = struct(a=List(element), b=Map(Null(), element), c=List(element, blocks=True))
    one, pair = MAX_EMPTY // values, values + 1
    data = i32(one - 2 * pair) + i32(1) + varint(1) + varint(0)
    if engine == "kernel" or (keep and element == EMPTY):  # what is right takes the interpreter seconds
        assert outcome(row, data, engine, keep) == ("done", len(data))
    # One element more than is left, in each of the places: refused before it is made.
    left = MAX_EMPTY - 5 * values
    for at, beyond in (
        (0, i32(one + 1) + i32(0)),
        (4, i32(5) + i32(left // pair + 1)),
        (8, i32(5) + i32(1) + varint((left - pair) // values + 1)),
        (9, i32(5) + i32(1) + varint(2) + varint((left - pair) // values - 1)),
    ):
        assert outcome(row, beyond + varint(0), engine, keep) == ("FormatError", at), at


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(ELEMENTS[:7]),
    st.lists(st.one_of(st.integers(0, 40), st.integers(MAX_EMPTY // 8, 1 << 31 - 1)), min_size=1, max_size=5),
    st.sampled_from(["lists", "nested", "framed"]),
)
def test_both_engines_agree(example: tuple[Layout, int], counts: list[int], shape: str) -> None:
    element, values = example
    counts = [min(count, 0x7FFFFFFF) for count in counts]
    body = b"".join(map(i32, counts))
    if shape == "lists":
        layout: Layout = Struct(tuple(Field(f"f{i}", List(element)) for i in range(len(counts))))
    else:
        layout, body = List(List(element)), i32(len(counts)) + body
        if shape == "framed":
            layout, body = struct(a=Framed(layout)), i32(len(body)) + body
    total, at, found = 0, 0, None
    for i, count in enumerate(counts):
        total += count * values
        if total > MAX_EMPTY:
            at = len(body) - 4 * (len(counts) - i)
            found = ("FormatError", at)
            break
    if found is None:
        found = ("done", len(body))
    assert [outcome(layout, body, engine) for engine in ENGINES] == [found, found]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", ["value", "list", "map"])
def test_pairs(shape: str, engine: str) -> None:
    """The lists of a pair count together, whatever part of it they stand in."""
    inner = List(EMPTY)
    value = {"value": inner, "list": List(inner), "map": Map(inner, Nullable(inner))}[shape]
    layout = PairLayout(shape, (Field("namespace", Skip(0)), Field("key", inner), Field("value", value)), 1, False)

    def pair(in_key: int, in_value: int) -> bytes:
        key = b"\0" + i32(in_key) + (i32(0) if shape == "map" else b"")
        content = (b"\0" if shape == "map" else b"") + i32(in_value)
        if shape == "list":
            content = i32(0) + b"," + content
        return i32(len(key)) + key + i32(len(content)) + content

    for in_key, in_value, sound in ((5, MAX_EMPTY - 5, True), (5, MAX_EMPTY - 4, False), (MAX_EMPTY + 1, 0, False)):
        decoder = make_pair_decoder(layout, Policy(maps="list"), engine)
        data = pair(in_key, in_value)
        if sound:
            assert decoder.decode(Block.of(data), 0, len(data), 1).entries == 1
        else:
            with pytest.raises(FormatError):
                decoder.decode(Block.of(data), 0, len(data), 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_cutter_believes_as_much(engine: str) -> None:
    scanner = entry_scanner([List(EMPTY)], List(EMPTY), engine)
    data = i32(MAX_EMPTY - 1) + i32(1)
    assert scanner.scan(Block.of(data), 0, 8, 1).bounds.tolist() == [[4, 8]]
    with pytest.raises(FormatError):
        scanner.scan(Block.of(i32(MAX_EMPTY) + i32(1)), 0, 8, 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_has_room_for_few_such_rows(engine: str) -> None:
    """A row of four bytes takes 16 kB, so a batch must not take thousands of them."""
    rows, size = 64, 1 << 14
    data = i32(size) * rows
    decoder = make_decoder(struct(a=List(EMPTY)), Policy(), engine=engine, batch_bytes=8 * size)
    pos, done, most = 0, 0, 0
    while done < rows:
        progress = decoder.decode(Block.of(data), pos, len(data), rows - done)
        pos, done = progress.pos, done + progress.entries
        most = max(most, decoder.rows)
        if isinstance(decoder, KernelDecoder) and decoder.arena is not None:
            assert decoder.arena.buffer.size <= 16 * size
        if progress.stop is Stop.FULL or done == rows:
            array = decoder.flush_wire()
            assert array.field(0).value_lengths().to_pylist() == [size] * len(array)
    assert most <= 16


def test_what_only_python_reads_is_counted_where_it_has_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(data: memoryview, pos: int, end: int) -> tuple[int, int]:
        return 7, pos

    def one_byte(data: memoryview, pos: int, end: int) -> tuple[int, int]:
        return data[pos], pos + 1

    monkeypatch.setattr(interpreter, "MAX_EMPTY", 1000)
    assert outcome(List(Python(decode, pa.int64())), i32(1000), "interpreter") == ("done", 4)
    assert outcome(List(Python(decode, pa.int64())), i32(1001), "interpreter") == ("FormatError", 4)
    many = i32(1005) + bytes(1005)
    assert outcome(List(Python(one_byte, pa.int64())), many, "interpreter") == ("done", len(many))


@pytest.mark.skipif(not HOSTILE.is_dir(), reason="the hostile inputs are not there")
@pytest.mark.parametrize("engine", ENGINES)
def test_zero_lists(engine: Any) -> None:
    snapshot = stateextract.open_snapshot(str(HOSTILE / "zero-lists"), decoder=engine)
    (state,) = snapshot.states
    tracemalloc.start()
    with pytest.raises(FormatError, match="that take no bytes; expected at most 1048576 values in a row") as caught:
        state.to_table()
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert (caught.value.state, caught.value.key_group) == (state.name, 0)
