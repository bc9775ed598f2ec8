"""Every vector of both flavours: decoded whole, as JSON, and through the layout of its declared class."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from serializers import DescribeContext, describe
from serializers.classes import ClassModels
from serializers.kryo.json import json_text
from stateextract.columnar.decoder import make_decoder
from stateextract.columnar.policy import Policy
from stateextract.errors import StateExtractError, TruncatedError
from stateextract.files.block import Block
from tests.kryo.zoo import BY_HAND, Vector, models, vectors

SPEC, OURS = vectors("spec"), vectors("kryo")
BOTH = [(v, BY_HAND) for v in SPEC] + [(v, models()) for v in OURS]


def column(vector: Vector, classes: ClassModels, policy: Policy = Policy()) -> pa.Array:
    layout = describe(vector.snapshot, DescribeContext(vector.flavour, classes))  # type: ignore[arg-type]
    decoder = make_decoder(layout, policy)
    assert decoder.engine == "interpreter"
    progress = decoder.decode(Block.of(vector.data), 0, len(vector.data), 1)
    assert (progress.entries, progress.pos) == (1, len(vector.data))
    return decoder.flush()


def value_of(name: str, flavour: int, policy: Policy = Policy()) -> Any:
    vector = next(v for v in OURS if (v.name, v.flavour) == (name, flavour))
    return column(vector, models(), policy).to_pylist()[0]


def test_there_are_many() -> None:
    assert len(SPEC) == 2 * 58
    assert {f: len({v.declared for v in OURS if v.flavour == f}) for f in (2, 5)} == {2: 88, 5: 90}


@pytest.mark.parametrize(("vector", "classes"), BOTH, ids=str)
def test_json(vector: Vector, classes: ClassModels) -> None:
    value, end = vector.kryo(classes).read(vector.data, 0, len(vector.data))
    assert end == len(vector.data)
    text = "null" if value is None else json_text(value)
    if vector.expected:
        assert json.loads(text) == json.loads(vector.expected)


@pytest.mark.parametrize(("vector", "classes"), BOTH, ids=str)
def test_column(vector: Vector, classes: ClassModels) -> None:
    array = column(vector, classes)
    assert len(array) == 1
    if array.type == pa.struct([("class", pa.string()), ("json", pa.string())]) and array[0].is_valid:
        found = array.to_pylist()[0]
        if vector.expected:
            assert json.loads(found["json"]) == json.loads(vector.expected)
    bent = Policy(strings="binary", timestamps="nanoseconds", maps="list")
    assert len(column(vector, classes, bent)) == 1


@pytest.mark.parametrize(("vector", "classes"), BOTH, ids=str)
def test_cut(vector: Vector, classes: ClassModels) -> None:
    kryo = vector.kryo(classes)
    for end in range(len(vector.data)):
        with pytest.raises(TruncatedError):
            kryo.read(vector.data, 0, end)


LEAF = {
    "id": -5, "name": "leaf", "tags": ["a", "b", None], "counts": [("k", 1 << 40), ("n", None)], "letter": "é",
    "price": "12.50", "uid": "00000000-0000-0001-0000-000000000002", "color": "GREEN", "op": "ADD", "ints": [1, -1],
    "raw": b"\x01\x02", "items": [{"n": 1, "s": "a"}, None],
    "any": {"class": "java.util.ArrayList", "json": '["x"]'}, "boxed": 7, "ratio": 0.1, "ok": True,
}  # fmt: skip


@pytest.mark.parametrize("flavour", [2, 5])
def test_three_levels_as_columns(flavour: int) -> None:
    found = value_of("Leaf", flavour)
    times = {name: found.pop(name).isoformat() for name in ("at", "day", "when")}
    assert times == {
        "at": "1970-01-01T00:00:01+00:00", "day": "2024-02-29", "when": "1970-01-01T00:00:00.005000+00:00",
    }  # fmt: skip
    assert found == LEAF
    as_base = value_of("Leaf as Base", flavour)
    assert as_base.pop("class") == "zoo.Zoo$Leaf"
    assert {k: v for k, v in as_base.items() if k not in times} == LEAF


def test_types_of_columns() -> None:
    vector = next(v for v in OURS if v.name == "Holder")
    type_ = describe(vector.snapshot, DescribeContext(2, models())).arrow_type
    assert isinstance(type_, pa.StructType)
    anything = pa.struct([("class", pa.string()), ("json", pa.string())])
    assert {f.name: f.type for f in type_ if f.name in ("nested", "numbers", "items", "unknown", "maybe", "raw")} == {
        "nested": pa.list_(pa.list_(pa.string())),
        "numbers": pa.map_(pa.string(), pa.list_(pa.int32())),
        "items": pa.map_(pa.string(), pa.struct([("n", pa.int32()), ("s", pa.string())])),
        "unknown": pa.list_(anything),
        "maybe": pa.string(),
        "raw": pa.struct([
            ("class", pa.string()), ("value", anything), ("list", pa.list_(anything)), ("more", anything),
            ("value_StringBox", pa.string()), ("list_StringBox", pa.list_(pa.string())), ("extra", pa.int32()),
        ]),
    }  # fmt: skip


@pytest.mark.parametrize("flavour", [2, 5])
def test_subclasses_by_name(flavour: int) -> None:
    found = value_of("Drawing", flavour)
    assert [s["class"] for s in found["shapes"]] == ["zoo.Zoo$Square", "zoo.Zoo$Circle"]
    assert found["main"] == {"class": "zoo.Zoo$Circle", "radius": 2.5, "side": None, "fill": None}


@pytest.mark.parametrize("flavour", [2, 5])
def test_the_wrong_flavour_is_an_error_or_another_value_but_no_crash(flavour: int) -> None:
    places = []
    for vector in OURS:
        if vector.flavour == flavour:
            other = Vector(7 - flavour, vector.name, vector.declared, "", vector.data, vector.snapshot)
            try:
                other.kryo(models()).read(vector.data, 0, len(vector.data))
            except StateExtractError as error:
                places.append(error.offset)
    assert len(places) > 10
    assert None not in places
