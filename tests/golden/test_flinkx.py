"""State of flink-scala-api, and trees of Jackson (``frameworks/make_frameworks.py``): every state has the values of its job.

The job (``frameworks/scala/FlinkxJob.scala``) sees the numbers 0 to 5; the number n makes the values of the key ``k<n>``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import stateextract
from serializers import SerializerSnapshot, describe, is_fixed_length, read_snapshot
from serializers.flinkx import FLINKX
from serializers.kryo.json_texts import json_text
from serializers.kryo.kryo_values import Obj
from serializers.scalars import BASE
from stateextract.columnar.convert.conversions import uuid_bytes
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Bytes, Logical, Undecodable
from stateextract.errors import FormatError, UnsupportedVersionError
from stateextract.files.reader import Reader

DATA = Path(__file__).parent / "frameworks" / "data"
CASES = ("scala-1.20.3-hashmap", "scala-1.20.3-rocksdb", "scala-2.0.1-hashmap")
NODE = "com.fasterxml.jackson.databind.node."


def opened(case: str, **options: Any) -> stateextract.Snapshot:
    (checkpoint,) = (DATA / case).glob("chk-*")
    return stateextract.open_snapshot(str(checkpoint), **options)


def _id(a: int, b: int) -> dict[str, int]:
    return {"_1": a, "_2": b}


def _item(name: str, price: str) -> dict[str, str]:
    return {"_1": name, "_2": price}


def _event(n: int) -> dict[str, Any]:
    values: tuple[dict[str, Any], ...] = (
        {"Click": {"_1": f"c{n}", "_2": n}}, {"Purchase": {"_1": 1.5 * n, "_2": ["a", "b"]}}, {"Logout": True},
    )  # fmt: skip
    return {"Click": None, "Purchase": None, "Logout": None} | values[n % 3]


def _order(n: int) -> dict[str, Any]:
    first = None if n == 3 else _item("first", "-1")
    note = None if n % 2 == 0 else "n"
    return {"_1": f"u{n}", "_2": [_item("tea", "12.50"), _item("é", str(n))], "_3": note, "_4": [("x", n)], "_5": first}


def _duration(n: int) -> dict[str, Any]:
    nothing = dict.fromkeys(("length", "unit", "undefined", "infinite", "minus_infinite"))
    values: tuple[dict[str, Any], ...] = (
        {"length": 5, "unit": "SECONDS"}, {"infinite": True}, {"minus_infinite": True}, {"undefined": True},
    )  # fmt: skip
    return nothing | values[n % 4]


def _json(n: int) -> dict[str, Any]:
    return {
        "text": f"é{n}", "int": n, "long": n + (1 << 40), "double": n / 2, "float": 0.25, "short": 7, "true": True,
        "null": None, "bytes": "AQI=", "decimal": 12.5, "big": 1 << 70, "object": {"$class": "a", "empty": {}},
        "list": [1, "two", 3.5, None, False, [n]],
    }  # fmt: skip


EXPECTED: dict[str, Callable[[int], Any]] = {
    "order": _order,
    "event": _event,
    "color": lambda n: ("Red", "Green", "Blue")[n % 3],
    "pair": lambda n: {"_1": None if n == 3 else _id(n, -n), "_2": n + 1},
    "empty": lambda n: True,
    "option": lambda n: None if n % 2 == 0 else n,
    "either": lambda n: {"left": f"l{n}" if n % 2 == 0 else None, "right": None if n % 2 == 0 else n},
    "vector": lambda n: [n / 2, 1.0],
    "set": lambda n: ["a", f"b{n}"],
    "map": lambda n: [{"key": _id(n, 1), "value": "v"}],
    "strings": lambda n: ["s", f"t{n}"],
    "ints": lambda n: [n, 2],
    "ids": lambda n: [_id(n, n)],
    "tuple": lambda n: {"_1": f"t{n}", "_2": n},
    "uuid": lambda n: f"00000000-0000-000{n}-{(-n & (1 << 64) - 1) >> 48:04x}-{-n & (1 << 48) - 1:012x}",
    "bigint": lambda n: str((1 << 70) + n),
    "duration": _duration,
    "finite": lambda n: {"length": n, "unit": "MINUTES"},
    "offset": lambda n: {"local": datetime(2024, 1, 2, 3, 4, n), "offset_seconds": 7200},
    "zone": lambda n: "UTC",
    "enum": lambda n: ("NANOSECONDS", "MICROSECONDS", "MILLISECONDS")[n % 3],
    "sorted-set": lambda n: [n - 10, 3],
    "sorted-map": lambda n: [("a", 1), ("b", n)],
    "buffer": lambda n: ["m", f"n{n}"],
    "mutable-map": lambda n: [("k", n)],
    "by-id": lambda n: [{"key": _id(n, 2), "value": _event(n)}],
}


@pytest.mark.parametrize("case", CASES)
def test_every_type(case: str) -> None:
    operator = opened(case).operator("states")
    for name, value in EXPECTED.items():
        table = operator.state(name).to_table()
        found = dict(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))
        assert found == {f"k{n}": value(n) for n in range(6)}, name
        assert operator.state(name).coverage.status == "decoded"


@pytest.mark.parametrize("case", CASES)
def test_zoned_times(case: str) -> None:
    """The nanoseconds are cut to microseconds, as everywhere."""
    rows = opened(case).operator("states").state("zoned").to_table().to_pylist()
    assert {row["key"]: row["value"] for row in rows} == {
        f"k{n}": {"local": datetime(2024, 1, 2, 3, 4, n), "zone": "Europe/Paris"} for n in range(6)
    }


@pytest.mark.parametrize("case", CASES)
def test_case_classes_as_keys(case: str) -> None:
    rows = opened(case).operator("by-id").state("last").to_table().to_pylist()
    found = sorted((row["key"]["_1"], row["key"]["_2"], row["value"]) for row in rows)
    assert found == [(n - 2, n * 1_000_000_000, n) for n in range(6)]


def test_names_of_fields_by_the_classes() -> None:
    operator = opened("scala-1.20.3-hashmap", classpath=[str(DATA / "flinkx.jar")]).operator("states")
    row = next(r for r in operator.state("order").to_table().to_pylist() if r["key"] == "k1")
    tea, first = ({"name": name, "price": price} for name, price in (("tea", "12.50"), ("first", "-1")))
    items = [tea, {"name": "é", "price": "1"}]
    assert row["value"] == {"user": "u1", "items": items, "note": "n", "counts": [("x", 1)], "first": first}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("decoder", ["kernel", "interpreter"])
def test_trees_of_jackson(case: str, decoder: Any) -> None:
    operator = opened(case, decoder=decoder).operator("states")

    def found(name: str) -> dict[str, tuple[str, Any]]:
        rows = operator.state(name).to_table().to_pylist()
        return {row["key"]: (row["value"]["class"], json.loads(row["value"]["json"])) for row in rows}

    assert found("json-object") == {f"k{n}": (NODE + "ObjectNode", _json(n)) for n in range(6)}
    assert found("json-array") == {f"k{n}": (NODE + "ArrayNode", _json(n)["list"]) for n in range(6)}
    classes = ("ObjectNode", "TextNode", "DoubleNode", "NullNode", "BooleanNode", "ArrayNode")
    assert found("json-any") == {
        f"k{n}": (NODE + name, _json(n)["list"][n] if n else _json(n)) for n, name in enumerate(classes)
    }
    text = operator.state("json-object").to_table()["value"][0].as_py()["json"]
    assert '"decimal":12.50,"big":1180591620717411303424' in text


# ---- snapshots of other releases


def _utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def _i32(*numbers: int) -> bytes:
    return b"".join(n.to_bytes(4, "big", signed=True) for n in numbers)


LONG = BASE + "LongSerializer$LongSerializerSnapshot"
COLLECTION = FLINKX + "CollectionSerializerSnapshot"


def _read(raw: bytes) -> SerializerSnapshot:
    reader = Reader(raw)
    snapshot = read_snapshot(reader)
    assert not reader.remaining
    return snapshot


def test_collection_of_version_1() -> None:
    """Nested snapshots had no version."""
    raw = _utf(COLLECTION) + _i32(1) + _utf(FLINKX + "ListSerializer") + _utf("java.lang.Long") + _utf(LONG)
    layout = describe(_read(raw))
    assert interpret(layout, _i32(1) + (5).to_bytes(8, "big"), 0, 12) == ([5], 12)


def test_sealed_trait_of_version_1() -> None:
    name = FLINKX + "CoproductSerializer$CoproductSerializerSnapshot"
    objects = _utf(FLINKX + "ScalaCaseObjectSerializer$ScalaCaseObjectSerializerSnapshot")
    raw = _utf(name) + _i32(1, 2) + _utf("shop.A$") + _utf("shop.B") + objects + _utf("shop.A$") + _utf(LONG)
    snapshot = _read(raw)
    layout = describe(snapshot)
    assert interpret(layout, b"\0", 0, 1)[0] == {"A": True, "B": None}
    assert interpret(layout, b"\1" + (7).to_bytes(8, "big"), 0, 9)[0] == {"A": None, "B": 7}
    assert interpret(layout, b"\x80", 0, 1)[0] == {"A": None, "B": None}
    assert not is_fixed_length(snapshot)


@pytest.mark.parametrize("name", ["CoproductSerializer$CoproductSerializerSnapshot", "Scala3EnumSerializerSnapshot"])
def test_sealed_trait_with_a_serializer_too_few(name: str) -> None:
    nested = SerializerSnapshot(LONG, 3)
    layout = describe(SerializerSnapshot(FLINKX + name, 3, details={"classes": ("shop.A", "shop.B")}, nested=(nested,)))
    assert layout == Undecodable(FLINKX + name, "it has 2 classes and 1 serializers")


def test_a_uuid_that_is_too_short() -> None:
    node = Logical(Bytes(), "uuid_bytes", pa.string())
    with pytest.raises(FormatError, match="a UUID of 3 bytes"):
        uuid_bytes(pa.array([b"abc"]), np.array([True]), node, SimpleNamespace(policy=Policy(), counts=ChangeCounts()))


def test_an_object_without_the_field_of_a_node_is_not_null() -> None:
    """A class of the user's can have the name of a node of Jackson's, and other fields."""
    assert json_text(Obj(NODE + "TextNode", "fields", {"_value": "a"})) == '"a"'
    assert json_text(Obj(NODE + "TextNode", "fields", {"other": "a"})) == '{"other":"a"}'


def test_unknown_version() -> None:
    with pytest.raises(UnsupportedVersionError):
        _read(_utf(COLLECTION) + _i32(3))


def _case_class(outer_version: int) -> SerializerSnapshot:
    nested = (SerializerSnapshot(LONG, 3),)
    return SerializerSnapshot(FLINKX + "ScalaCaseClassSerializerSnapshot", 3, outer_version, {"class": "a.B"}, nested)


def test_null_of_a_case_class_of_fixed_length() -> None:
    """It has as many bytes as another value; release 2.0 wrote -1 for the number of its fields."""
    layout = describe(_case_class(3))
    for mark in (-1, -(1 << 31)):
        assert interpret(layout, _i32(mark) + bytes(8), 0, 12) == (None, 12)
    assert interpret(layout, _i32(1) + (9).to_bytes(8, "big"), 0, 12) == ({"_1": 9}, 12)


def test_another_number_of_fields_is_an_error() -> None:
    with pytest.raises(FormatError):
        interpret(describe(_case_class(2)), _i32(2) + bytes(8), 0, 12)


def test_ordering_with_a_state_of_its_own() -> None:
    nested = tuple(SerializerSnapshot(LONG, 3) for _ in range(2))
    name = FLINKX + "SortedCollectionSerializerSnapshot"
    assert isinstance(describe(SerializerSnapshot(name, 2, None, {"serializer": "x"}, nested)), Undecodable)
