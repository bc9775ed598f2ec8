"""Pickles as plain data: what Python's own module writes is read without it; everything else gives no value."""

from __future__ import annotations

import json
import pickle
import random
from collections import OrderedDict
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

from stateextract.errors import FormatError, StateExtractError, UnsupportedError
from stateextract.files.pickles import MAX_VALUES, pickle_json, read_pickle

PLAIN = {
    "none": None,
    "bools": [True, False],
    "numbers": [0, 255, 256, 65_536, -1, -(2**31), 2**63, -(2**70), 2**2000],
    "floats": [1.5, -0.0, 1e300],
    "texts": ["", "a", "é€😀", "x" * 300],
    "tuple": (1, (2, 3), (4, 5, 6), (7, 8, 9, 10), ()),
    "nested": {"a": {"b": [{"c": 1}]}},
    "ordered": OrderedDict(z=1, a=2),
}
OTHERS = [
    (b"\0\xff", "00ff"),
    (b"", ""),
    (bytearray(b"ab"), "6162"),
    ({3}, [3]),
    (frozenset({3}), [3]),
    (date(2024, 2, 29), "2024-02-29"),
    (time(1, 2, 3, 4), "01:02:03.000004"),
    (datetime(2024, 2, 29, 1, 2, 3, 999_999), "2024-02-29T01:02:03.999999"),
    (timedelta(1, 2, 3), "1 day, 0:00:02.000003"),
    (Decimal("1.20"), "1.20"),
    (float("nan"), "NaN"),
    (float("-inf"), "-Infinity"),
    ({1: "a", (1, 2): "b"}, [[1, "a"], [[1, 2], "b"]]),
]


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_data(protocol: int) -> None:
    data = pickle.dumps(PLAIN, protocol)
    assert read_pickle(data) == as_json(PLAIN)
    text = pickle_json(data)
    assert text is not None
    assert json.loads(text) == as_json(PLAIN)


@pytest.mark.parametrize(("value", "expected"), OTHERS, ids=lambda v: repr(v)[:30])
@pytest.mark.parametrize("protocol", [4, 5])
def test_other_values(value: Any, expected: Any, protocol: int) -> None:
    assert read_pickle(pickle.dumps(value, protocol)) == expected


def test_one_object_in_two_places() -> None:
    shared = ["x", "x"]
    assert read_pickle(pickle.dumps([shared, shared])) == [shared, shared]


class Own:
    pass


def test_what_is_not_plain() -> None:
    """Functions, own classes, a zone that counts, whatever a pickle could call: refused, and nothing runs."""
    calls = b"\x80\x04cbuiltins\neval\n\x8c\x051 + 1\x85R."
    for data in (
        pickle.dumps(print), pickle.dumps(Own()), pickle.dumps(Own), calls, pickle.dumps(datetime.now(UTC)),
        pickle.dumps(complex(1, 2)),
    ):  # fmt: skip
        with pytest.raises(UnsupportedError):
            read_pickle(data)
        assert pickle_json(data) is None


def test_what_unfolds_beyond_measure() -> None:
    inside: list[Any] = []
    inside.append(inside)
    deep: Any = []
    for _ in range(150):
        deep = [deep]
    wide: Any = []
    for _ in range(20):
        wide = [wide, wide]
    assert MAX_VALUES < 2**20
    for value in (inside, deep, wide):
        with pytest.raises(UnsupportedError, match="beyond measure"):
            read_pickle(pickle.dumps(value))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80", b"\x80\x01N.", b"\x80\x04N", b"\x80\x04.", b"\x80\x04NN.", b"\x80\x04N.N.", b"\x80\x04a.", b"\x80\x04h\0.",
     b"\x80\x04t.", b"\x80\x04NNa.", b"\x80\x04X\xff\xff\xff\x7f.", b"\x80\x04}(Nu.", b"\x80\x04\x8c\x01\xff."],
)  # fmt: skip
def test_damage(data: bytes) -> None:
    with pytest.raises(FormatError):
        read_pickle(data)
    assert pickle_json(data) is None


def test_mutations_raise_only_our_errors() -> None:
    rng = random.Random(7)
    sources = [pickle.dumps([PLAIN, [value for value, _ in OTHERS]], protocol) for protocol in (2, 4)]
    for _ in range(10_000):
        raw = bytearray(rng.choice(sources))
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        with suppress(StateExtractError):
            read_pickle(bytes(raw))
