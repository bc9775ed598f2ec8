"""Passing over entries by two threads ends where one thread does, however the place between them was guessed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import Progress, Stop, make_decoder
from stateextract.columnar.layout import Bytes, Field, Layout, Number, Skip, Struct, Text
from stateextract.columnar.search import parallel_skip as passing
from stateextract.columnar.search.parallel_skip import ParallelSkipDecoder
from stateextract.errors import StateExtractError
from stateextract.files import second_thread as beside
from stateextract.files.block import Block
from tests.columnar.strategies import encode, entries, layouts
from tests.depth import examples

_SETTINGS = settings(max_examples=examples(75), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passing, "LEAST", 2)
    monkeypatch.setattr(beside, "usable_cores", lambda: 2)


def outcome(decoder: Any, data: bytes, pos: int, end: int, limit: int) -> Progress | tuple[str, int | None]:
    try:
        return decoder.decode(Block.of(data), pos, end, limit)
    except StateExtractError as error:
        return type(error).__name__, error.offset


@st.composite
def cases(draw: st.DrawFn) -> tuple[Layout, bytes, int, int, list[int]]:
    """A layout, bytes of entries of it, some of which may be damaged, where they end, how many are wanted, and guesses."""
    layout = draw(layouts())
    values = draw(entries(layout, 12))
    data = bytearray(b"".join(encode(layout, value) for value in values))
    if data and draw(st.booleans()):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    end = draw(st.integers(0, len(data)))
    guesses = st.lists(st.integers(-1, max(len(data) - 1, 0)), min_size=1, max_size=5)
    return layout, bytes(data), end, draw(st.integers(1, len(values) + 3)), draw(guesses)


@_SETTINGS
@given(case=cases())
def test_any_guess(case: tuple[Layout, bytes, int, int, list[int]]) -> None:
    layout, data, end, limit, guesses = case
    one = outcome(make_decoder(layout, Policy(), engine="kernel", keep=False), data, 0, end, limit)
    two = ParallelSkipDecoder(layout, Policy())
    for guess in guesses:
        two._guess = lambda data, pos, end, guess=guess: min(guess, end)  # type: ignore[method-assign, misc]
        assert outcome(two, data, 0, end, limit) == one
    assert outcome(ParallelSkipDecoder(layout, Policy()), data, 0, end, limit) == one


def test_wrong_guesses_come_to_an_end() -> None:
    layout = Struct((Field("key", Text()), Field("value", Number(pa.int64()))))
    data = encode(layout, ["a", 1]) * 10
    decoder = ParallelSkipDecoder(layout, Policy())
    made: list[int] = []
    decoder._guess = lambda data, pos, end: made.append(pos) or 15  # type: ignore[method-assign, func-returns-value]
    for _ in range(20):
        assert decoder.decode(Block.of(data), 0, len(data), 100).entries == 10
    assert len(made) == passing._MISSES + 1


@pytest.mark.parametrize("texts", [["k1", "k2"], ["k" * n for n in range(30)], ["", "\u20ac", "x" * 200]])
def test_good_guesses(texts: list[str]) -> None:
    """Of entries of one size and of different ones the second half is passed over by the other thread."""
    layout = Struct((Field("namespace", Skip(1)), Field("key", Text()), Field("value", Number(pa.int64()))))
    parts = [b"\0" + encode(Text(), text) + (n << 40).to_bytes(8, "big") for n, text in enumerate(texts * 40)]
    data = b"".join(parts)
    ends = [sum(map(len, parts[:n])) for n in range(len(parts))]
    decoder = ParallelSkipDecoder(layout, Policy())
    guess = decoder._guess(Block.of(data), 0, len(data))
    assert guess in ends
    assert abs(guess - len(data) // 2) < 500
    began: list[int] = []
    decode = decoder.there.decode
    decoder.there.decode = lambda *arguments: began.append(arguments[1]) or decode(*arguments)  # type: ignore[method-assign, func-returns-value]
    for limit, stop in ((len(parts), Stop.DONE), (len(parts) + 1, Stop.NEED_INPUT)):
        passed = decoder.decode(Block.of(data), 0, len(data), limit)
        assert (passed.entries, passed.rows, passed.pos, passed.stop) == (len(parts), len(parts), len(data), stop)
    assert (began, decoder.misses) == ([guess, guess], 0)


@pytest.mark.parametrize("limit", [1, 9, 10, 11])
@pytest.mark.parametrize("cut", [0, 1, 16])
def test_entries_of_one_size_are_not_looked_at(limit: int, cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Struct((Field("namespace", Skip(1)), Field("key", Number(pa.int64())), Field("value", Bytes(8))))
    decoder = make_decoder(layout, Policy(), engine="kernel", keep=False)
    monkeypatch.setattr(decoder, "_run", None)
    got = decoder.decode(Block.of(bytes(170)), 0, 170 - cut, limit)
    entries = min(limit, 10 if not cut else 9)
    assert (got.entries, got.pos, got.rows) == (entries, 17 * entries, entries)
    assert got.stop.name == ("DONE" if entries == limit else "NEED_INPUT")
    assert got.needed == (0 if entries == limit else 17 * entries + 17)


def test_entries_that_are_kept_have_rows_even_without_a_column() -> None:
    decoder = make_decoder(Skip(4), Policy(), engine="kernel")
    assert decoder.decode(Block.of(bytes(12)), 0, 12, 3).rows == 3
    assert (decoder.rows, len(decoder.flush_wire())) == (3, 3)
