"""Where pairs of maps begin and end, in both engines: valid ones, and those whose lengths are wrong."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from stateextract.columnar.decode.decoder import Stop
from stateextract.columnar.layout import Bytes, Field, Map, Nullable, Number, Text
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.columnar.search.entry_bounds import EntryBounds, pair_scanner
from stateextract.errors import FormatError
from stateextract.files.block import Block
from tests.writers.flink_writer import flink_string

ENGINES = ("interpreter", "kernel")
TEXT = Text("flink")
MAPS = PairLayout(
    "map",
    (
        Field("key", TEXT), Field("namespace", Bytes(1)),
        Field("value", Map(TEXT, Nullable(Number(pa.int32()), null_if=True))),
    ),
    prefix=1,
    lengths=True,
)  # fmt: skip
AB = flink_string("ab")


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def pair(key: bytes, value: bytes = b"\0" + i32(5)) -> bytes:
    return i32(len(key)) + key + i32(len(value)) + value


def key(length: bytes = bytes([len(AB)]), group: bytes = b"\x01") -> bytes:
    """Key group, key, its length, namespace, its length, user key."""
    return group + AB + length + b"n\x01" + flink_string("u")


GOOD = pair(key())


def scan(data: bytes, engine: str) -> EntryBounds:
    return pair_scanner(MAPS, engine).scan(Block.of(data), 0, len(data), 5)


@pytest.mark.parametrize("engine", ENGINES)
def test_pairs(engine: str) -> None:
    """Where a key begins, a row's part of it ends, and key and value end."""
    for last, stop in ((b"\x01", Stop.DONE), (b"\x81", Stop.LAST)):
        found = scan(GOOD + pair(key(group=last)), engine)
        assert (found.bounds.tolist(), found.stop) == ([[4, 11, 13, 22], [26, 33, 35, 44]], stop)


@pytest.mark.parametrize("engine", ENGINES)
def test_pairs_that_are_cut_off(engine: str) -> None:
    found = scan(GOOD[:-1], engine)
    assert (len(found.bounds), found.stop, found.needed) == (0, Stop.NEED_INPUT, len(GOOD))
    found = scan(GOOD + GOOD[:-1], engine)
    assert (found.bounds.tolist(), found.stop) == ([[4, 11, 13, 22]], Stop.DONE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (i32(-1) + bytes(20), "length"),
        (i32(0, 0), "length"),
        (i32(len(key())) + key() + i32(-2) + bytes(8), "length"),
        (pair(key(length=b"\x07")), "a key or value does not end at its recorded length"),
        (pair(b"\x01" + AB), "a key or value does not end at its recorded length"),
        (pair(b"\x01" + AB[:2]), "a key or value does not end at its recorded length"),
        (pair(b"\x01" + b"\xff" * 5 + b"\x7f"), "string"),
    ],
)
def test_wrong_lengths(wrong: bytes, message: str, engine: str) -> None:
    """What comes before is found first."""
    with pytest.raises(FormatError, match=message) as caught:
        scan(wrong, engine)
    assert caught.value.offset is not None
    assert scan(GOOD + wrong, engine).bounds.tolist() == [[4, 11, 13, 22]]
