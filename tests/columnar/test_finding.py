"""Keys as bytes, and the entries that have them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateextract.columnar import finding
from stateextract.columnar.decoder import Decoder, Stop, make_decoder
from stateextract.columnar.finding import Find, FindingDecoder
from stateextract.columnar.key_bytes import fixed_size, key_bytes
from stateextract.columnar.layout import (
    Bool,
    Bytes,
    Field,
    Layout,
    List,
    Map,
    Nullable,
    Number,
    Skip,
    Struct,
    Text,
    struct,
)
from stateextract.columnar.policy import Policy
from stateextract.errors import FormatError
from stateextract.files.block import Block
from tests.columnar.strategies import encode, expected, layouts_and_values, lone_surrogates

_SETTINGS = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
INT, LONG = Number(pa.int32()), Number(pa.int64())


# ---- bytes of keys


@_SETTINGS
@given(layouts_and_values())
def test_bytes_are_those_that_were_written(example: tuple[Layout, Any]) -> None:
    layout, value = example
    if layout.arrow_type is None or layout.arrow_type != layout.wire_type:
        return
    found = key_bytes(layout, pa.scalar(expected(layout, value), layout.arrow_type))
    if found is not None:
        assert not lone_surrogates(layout, value)
        assert found == encode(layout, value)


@pytest.mark.parametrize(
    ("layout", "value", "data"),
    [
        (INT, -2, "fffffffe"),
        (Number(pa.int64(), little=True), 1, "0100000000000000"),
        (Text(), "aé\U0001f600", "05 61 e9 01 bd b0 03 80 bc 03"),
        (Text("value"), "ab", "02 61 62"),
        (Text("utf"), "\0é\u20ac", "0007 c080 c3a9 e282ac"),
        (Text("char"), "a", "0061"),
        (Text(as_binary=True), b"\xed\xa0\x80", "02 80 b0 03"),
        (Bytes(), b"\x07", "00000001 07"),
        (Bytes(2), b"\x07\x08", "0708"),
        (struct(a=INT, b=Nullable(Text())), {"a": 1, "b": "x"}, "00000001 00 02 78"),
        (List(INT), [1, 2], "00000002 00000001 00000002"),
    ],
)
def test_bytes_of_keys(layout: Layout, value: Any, data: str) -> None:
    assert key_bytes(layout, pa.scalar(value, layout.arrow_type)) == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("layout", "value"),
    [
        (Number(pa.float64()), 0.0),
        (Number(pa.int64(), flip_sign=True), 1),
        (Text(), "a\ufffd"),
        (Text(), None),
        (Bool(), True),
        (Nullable(INT, null_if=False), 1),
        (Text("utf8"), "a"),
        (Text("utf"), "a" * 65_536),
        (Map(Text(), INT), [("a", 1)]),
        (Nullable(INT), None),
        (Struct((Field("gap", Skip(1)), Field("a", INT))), {"a": 1}),
        (List(INT, null_mask=True), [1]),
    ],
)
def test_bytes_that_are_not_certain(layout: Layout, value: Any) -> None:
    assert key_bytes(layout, pa.scalar(value, layout.arrow_type)) is None


def test_a_key_of_another_type_has_none() -> None:
    assert key_bytes(LONG, pa.scalar(1, pa.int32())) is None


def test_sizes() -> None:
    window = struct(start=LONG, end=LONG)
    layouts = (Skip(1), window, Bytes(3), Bytes(), Text(), Nullable(LONG), struct(a=LONG, b=Text()))
    assert [fixed_size(layout) for layout in layouts] == [1, 16, 3, None, None, None, None]


# ---- entries

ENTRY = struct(namespace=Skip(1), key=Text(), value=List(Text()))


def written(entries: list[tuple[str, list[str]]]) -> bytes:
    out = b""
    for key, value in entries:
        out += b"\0" + text(key) + len(value).to_bytes(4, "big") + b"".join(map(text, value))
    return out


def text(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode("ascii")


def finder(data: bytes, engine: str = "kernel", before: int = 1) -> FindingDecoder:
    passing = make_decoder(ENTRY, Policy(), engine=engine, keep=False)
    return FindingDecoder(Find(data, before), passing, make_decoder(ENTRY, Policy(), engine=engine))


def rows_of(decoder: Decoder, data: bytes, count: int, cuts: list[int]) -> list[dict[str, Any]]:
    """Everything that comes out, the data shown only up to each cut in turn."""
    rows: list[dict[str, Any]] = []
    pos = done = 0
    for end in [*cuts, len(data)]:
        block = Block.of(data[:end])
        while done < count:
            progress = decoder.decode(block, pos, end, count - done)
            pos, done = progress.pos, done + progress.entries
            if progress.stop is Stop.FULL:
                rows += decoder.flush().to_pylist()
                continue
            break
    assert (pos, done) == (len(data), count)
    return rows + decoder.flush().to_pylist()


_words = st.text("ab", max_size=3)
_entries = st.lists(st.tuples(_words, st.lists(_words, max_size=3)), max_size=12)


@_SETTINGS
@given(_entries, _words, st.lists(st.integers(0, 200), max_size=3), st.sampled_from(["kernel", "interpreter"]))
def test_entries_with_the_key_and_no_others(
    entries: list[tuple[str, list[str]]], key: str, cuts: list[int], engine: str
) -> None:
    """The key's bytes stand inside of values, too, and across windows."""
    data = written(entries)
    cuts = sorted(cut for cut in cuts if cut < len(data))
    rows = rows_of(finder(text(key), engine), data, len(entries), cuts)
    assert rows == [{"key": k, "value": v} for k, v in entries if k == key]


def test_bytes_that_are_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then everything is decoded; whoever asked compares the keys."""
    monkeypatch.setattr(finding, "_MOST_MISSES", 3)
    entries = [("x", ["a", "a"])] * 4 + [("a", ["x"])] + [("x", [])]
    rows = rows_of(finder(text("a")), written(entries), len(entries), [])
    assert [row["key"] for row in rows] == ["a", "x"]
    decoder = finder(text("a"))
    decoder.misses = 4
    assert [row["key"] for row in rows_of(decoder, written(entries), len(entries), [])] == [k for k, _ in entries]


def test_the_first_one_is_handed_over_at_once() -> None:
    data = written([("x", []), ("a", ["1"]), ("a", ["2"]), ("y", [])])
    decoder = finder(text("a"))
    first = decoder.decode(Block.of(data), 0, len(data), 4)
    assert (first.stop, first.entries, first.rows) == (Stop.FULL, 2, 1)
    second = decoder.decode(Block.of(data), first.pos, len(data), 2)
    assert (second.stop, second.entries, second.rows, second.pos) == (Stop.DONE, 2, 1, len(data))


def test_damage_in_what_is_passed_over_is_an_error() -> None:
    data = written([("x", []), ("a", [])])[:3] + b"\xff\xff\xff\xff" + written([("a", [])])
    with pytest.raises(FormatError) as caught:
        finder(text("a")).decode(Block.of(data), 0, len(data), 2)
    assert caught.value.offset == 3
