"""Pickles as plain data: what Python's own module writes is read without it, and nothing is executed."""

from __future__ import annotations

import json
import pickle
import random
import sys
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from types import ModuleType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from stateextract.errors import FormatError, StateExtractError, UnsupportedError
from stateextract.files.pickles import MAX_VALUES, PickleNotes, pickle_json, read_pickle

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


@dataclass
class Point:
    x: int
    tags: list[str]


class Pair(NamedTuple):
    left: int
    right: str


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a, self.b = 1, "two"


class Color(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 3


class Bag(list[int]):
    pass


class Index(dict[str, int]):
    pass


class Keyed:
    def __init__(self, *_: int, **__: int) -> None:
        self.name = "n"

    def __getnewargs_ex__(self) -> tuple[tuple[int], dict[str, int]]:
        return (1,), {"size": 2}

    def __new__(cls, *_: int, **__: int) -> Keyed:
        return super().__new__(cls)


def of_class(name: str, **parts: Any) -> dict[str, Any]:
    return {"$python": f"{__name__}.{name}", **parts}


OBJECTS = [
    (Point(1, ["a"]), of_class("Point", fields={"x": 1, "tags": ["a"]})),
    (Pair(1, "r"), of_class("Pair", args=[1, "r"])),
    (Slots(), of_class("Slots", fields={"a": 1, "b": "two"})),
    (Color.RED, of_class("Color", args=[1])),
    (Level.LOW, of_class("Level", args=[3])),
    (Bag([1, 2]), of_class("Bag", items=[1, 2])),
    (Index(a=1), of_class("Index", entries={"a": 1})),
    (Keyed(1, size=2), of_class("Keyed", args=[1], fields={"size": 2, "name": "n"})),
    (Point, {"$python": f"{__name__}.Point"}),
    ({"n": 1, "unknown": Color.RED}, {"n": 1, "unknown": of_class("Color", args=[1])}),
    (datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC), "2024-02-29T01:02:03+00:00"),
    (datetime(2024, 2, 29, 1, 2, 3, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2024-02-29T01:02:03+05:30"),
    (datetime(2024, 2, 29, 1, 2, 3, tzinfo=ZoneInfo("Europe/Berlin")), "2024-02-29T01:02:03[Europe/Berlin]"),
    (time(1, 2, 3, tzinfo=UTC), "01:02:03+00:00"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (Fraction(-1, 3), "-1/3"),
    (complex(1, -2), "(1-2j)"),
    (defaultdict(list, a=[1]), {"a": [1]}),
    (Counter("aab"), {"a": 2, "b": 1}),
    (deque([1, 2], 5), [1, 2]),
    (np.float64(1.5), 1.5),
    (np.int16(-3), -3),
    (np.bool_(True), True),
    (np.float32("nan"), "NaN"),
    (np.array([[1, 2], [3, 4]], dtype=">i4"), [[1, 2], [3, 4]]),
    (np.asfortranarray([[1.5, 2.5], [3.5, 4.5]]), [[1.5, 2.5], [3.5, 4.5]]),
    (np.zeros((0, 3)), []),
    (np.array(["ab", "c"]), ["ab", "c"]),
    (pd.Timestamp("2024-02-29T01:02:03"), "2024-02-29T01:02:03"),
    (pd.Timestamp("2024-02-29T01:02:03.123456789"), "2024-02-29T01:02:03.123456789"),
    (pd.Timestamp("1969-12-31T23:59:59.5", tz="UTC"), "1969-12-31T23:59:59.500000+00:00"),
    ({Decimal("1"): "a", "1": "b"}, [["1", "a"], ["1", "b"]]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), OBJECTS, ids=lambda v: repr(v)[:30])
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_objects(value: Any, expected: Any, protocol: int) -> None:
    if protocol < 4 and isinstance(value, Keyed):
        return  # Python calls a partial function there: see test_what_a_call_returned
    assert read_pickle(pickle.dumps(value, protocol)) == expected


class Row:
    """As ``pyflink.common.types.Row`` reduces itself."""

    def __init__(self, fields: list[str] | None, values: tuple[Any, ...], kind: int) -> None:
        self.parts = fields, values, kind

    def __reduce__(self) -> Any:
        fields, values, kind = self.parts
        return _create_row, (fields, values, RowKind(kind))


class RowKind(Enum):
    INSERT = 0
    DELETE = 3


def _create_row(*parts: Any) -> None: ...


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Row(["id", "name"], (1, "n"), 0), {"id": 1, "name": "n"}),
        (Row(None, (1, None), 0), [1, None]),
        (Row(["id"], (1,), 3), {"$row_kind": "-D", "id": 1}),
        (Row(None, (1,), 3), {"$row_kind": "-D", "f0": 1}),
    ],
)
def test_rows_of_pyflink(row: Row, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("pyflink.common.types")
    for name in ("pyflink", "pyflink.common"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for thing in (_create_row, RowKind):
        monkeypatch.setattr(thing, "__module__", module.__name__)
        monkeypatch.setattr(module, thing.__name__, thing, raising=False)
    assert read_pickle(pickle.dumps(row, 4)) == expected


def planted(*_: Any) -> None:
    raise AssertionError("a pickle was executed")


class Trap:
    def __init__(self, reduced: Any) -> None:
        self.reduced = reduced

    def __reduce__(self) -> Any:
        return self.reduced


def test_nothing_is_called() -> None:
    """Whatever a pickle calls is shown, and never runs."""
    calls: list[Any] = [
        (planted, ()), (planted, (1,), {"a": 1}), (planted, (), None, iter([1])), (planted, (), None, None, iter([(1, 2)])),
    ]  # fmt: skip
    for reduced in calls:
        assert read_pickle(pickle.dumps(Trap(reduced), 4))["$python"] == f"{__name__}.planted"
    assert read_pickle(b"\x80\x04cbuiltins\neval\n\x8c\x051 + 1\x85R.") == {
        "$python": "builtins.eval", "args": ["1 + 1"],
    }  # fmt: skip
    assert read_pickle(b"\x80\x04cos\nsystem\n.") == {"$python": "os.system"}


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x8c\x01a)R.",  # calls a text
        b"\x80\x04]}b.",  # the state of a list
        b"\x80\x04j\xff\xff\xff\xff.",  # a memo entry that was not written
        b"\x80\x04Nr\xff\xff\xff\xff.",  # a large memo index is only a number
        b"\x80\x04P1\n.",  # a persistent id
        b"\x80\x04\x82\x01.",  # an extension
        b"\x80\x04(ios\nsystem\n.",  # INST
    ],
)
def test_hostile_pickles(data: bytes) -> None:
    if data[2:3] == b"N":
        assert read_pickle(data) is None
        return
    with pytest.raises((UnsupportedError, FormatError)):
        read_pickle(data)


def test_known_classes_with_unknown_parts() -> None:
    """They are shown by name with what there is, and the rest of the value is read."""
    strange = [
        (b"\x80\x04]cdatetime\ndate\nK\x01\x85Ra.", {"$python": "datetime.date", "args": [1]},
         "datetime.date: unknown arguments"),
        (b"\x80\x04]cuuid\nUUID\n)\x81a.", {"$python": "uuid.UUID"}, None),
        (b"\x80\x04]cuuid\nUUID\n)\x81K\x05ba.", {"$python": "uuid.UUID", "state": 5}, "uuid.UUID: unknown state"),
        (b"\x80\x04]cnumpy\ndtype\nX\x02\x00\x00\x00O8\x85Ra.", {"$python": "numpy.dtype", "args": ["O8"]},
         "numpy.dtype: unknown arguments"),
    ]  # fmt: skip
    for data, expected, reason in strange:
        notes = PickleNotes()
        assert read_pickle(data, notes) == [expected]
        assert (notes.objects, list(notes.reasons)) == ((1, [reason]) if reason else (0, []))


def test_an_array_of_objects() -> None:
    notes = PickleNotes()
    found = read_pickle(pickle.dumps({"a": np.array([None, "x"], dtype=object), "n": 1}, 4), notes)
    assert found["n"] == 1
    assert found["a"]["$python"] == "numpy.ndarray"
    assert found["a"]["state"][-1] == [None, "x"]
    assert "numpy.dtype: unknown arguments" in notes.reasons


def test_what_a_call_returned() -> None:
    """In protocol 2 an object with keywords is made by calling a ``functools.partial``."""
    notes = PickleNotes()
    found = read_pickle(pickle.dumps([Keyed(1, size=2), 7], 2), notes)
    assert found[0]["$python"] == "functools.partial()"
    assert found[0]["args"][0]["args"] == [{"$python": f"{__name__}.Keyed.__new__"}]
    assert found[0]["fields"] == {"name": "n"}
    assert found[1] == 7


def test_objects_are_counted_with_their_classes() -> None:
    notes = PickleNotes()
    assert pickle_json(pickle.dumps([Color.RED, Level.LOW, Color.RED, 1]), notes) is not None
    assert (notes.objects, list(notes.reasons)) == (2, [f"{__name__}.Color", f"{__name__}.Level"])  # one is recalled


def test_an_array_that_would_unfold() -> None:
    """No bytes, and a shape of many empty lists."""
    empty = np.zeros((2**20, 0), dtype="u1")
    found = read_pickle(pickle.dumps(empty, 4))
    assert found["$python"] == "numpy.ndarray"
    assert found["state"][1] == [2**20, 0]


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
        with pytest.raises(UnsupportedError, match="the pickle has more than 100000 values or 100 levels"):
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
    values = [PLAIN, [value for value, _ in OTHERS], [value for value, _ in OBJECTS]]
    sources = [pickle.dumps(values, protocol) for protocol in (4, 5)]
    for _ in range(2_000):
        raw = bytearray(rng.choice(sources))
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        with suppress(StateExtractError):
            read_pickle(bytes(raw))
