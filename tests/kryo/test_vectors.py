"""Every vector of both flavours: decoded whole, as JSON, and through the layout of its declared class."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from serializers import DescribeContext, describe
from serializers.classes import ClassModels
from serializers.kryo.json_texts import json_text
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError, ValueRefusedError
from stateextract.files.block import Block
from tests.kryo.zoo import BY_HAND, SCALA_JAR, Vector, models, snapshot_of, vectors

SPEC, OURS, SCALA, LIBRARIES = vectors("spec"), vectors("kryo"), vectors("scala"), vectors("libraries")
READ, UNKNOWN = ([v for v in LIBRARIES if v.name.startswith("unknown") is unknown] for unknown in (False, True))
ALL = [(v, BY_HAND) for v in SPEC + READ] + [(v, models()) for v in OURS] + [(v, models(SCALA_JAR)) for v in SCALA]


def column(vector: Vector, classes: ClassModels, policy: Policy = Policy()) -> pa.Array:
    layout = describe(vector.snapshot, DescribeContext(vector.flavour, classes, chill=vector.chill))  # type: ignore[arg-type]
    decoder = make_decoder(layout, policy)
    progress = decoder.decode(Block.of(vector.data), 0, len(vector.data), 1)
    assert (progress.entries, progress.pos) == (1, len(vector.data))
    return decoder.flush()


def value_of(name: str, flavour: int, policy: Policy = Policy()) -> Any:
    vector = next(v for v in OURS if (v.name, v.flavour) == (name, flavour))
    return column(vector, models(), policy).to_pylist()[0]


def test_there_are_many() -> None:
    assert len(SPEC) == 2 * 58
    assert {f: len({v.declared for v in OURS if v.flavour == f}) for f in (2, 5)} == {2: 88, 5: 90}
    assert len(SCALA) == 106
    assert (len(READ), len(UNKNOWN)) == (2 * 79, 2 * 4)


@pytest.mark.parametrize(("vector", "classes"), ALL, ids=str)
def test_json(vector: Vector, classes: ClassModels) -> None:
    value, end = vector.kryo(classes).read(vector.data, 0, len(vector.data))
    assert end == len(vector.data)
    text = "null" if value is None else json_text(value)
    if vector.expected:
        assert json.loads(text) == json.loads(vector.expected)


@pytest.mark.parametrize(("vector", "classes"), ALL, ids=str)
def test_column(vector: Vector, classes: ClassModels) -> None:
    array = column(vector, classes)
    assert len(array) == 1
    if array.type == pa.struct([("class", pa.string()), ("json", pa.string())]) and array[0].is_valid:
        found = array.to_pylist()[0]
        if vector.expected:
            assert json.loads(found["json"]) == json.loads(vector.expected)
    bent = Policy(strings="binary", timestamps="nanoseconds", maps="list")
    assert len(column(vector, classes, bent)) == 1


@pytest.mark.parametrize(("vector", "classes"), ALL, ids=str)
def test_cut(vector: Vector, classes: ClassModels) -> None:
    kryo = vector.kryo(classes)
    for end in range(len(vector.data)):
        with pytest.raises(TruncatedError):
            kryo.read(vector.data, 0, end)


@pytest.mark.parametrize("vector", UNKNOWN, ids=str)
def test_what_only_the_serializer_of_the_job_knows(vector: Vector) -> None:
    """A default for ``Map`` holds for the JDK's maps, too."""
    with pytest.raises(UndecodableError, match=r"LibraryVectors\$MapSer, and only that knows") as caught:
        vector.kryo(BY_HAND).read(vector.data, 0, len(vector.data))
    assert "classpath" not in str(caught.value)


def library(name: str, flavour: int) -> Any:
    vector = next(v for v in READ if (v.name, v.flavour) == (name, flavour))
    return column(vector, BY_HAND)


@pytest.mark.parametrize("flavour", [2, 5])
def test_columns_of_joda(flavour: int) -> None:
    moment = pa.timestamp("us", "UTC")
    at = library("DateTime", flavour)
    assert at.type == pa.struct([("time", moment), ("zone", pa.string()), ("chronology", pa.string())])
    day, time = library("Joda LocalDate", flavour), library("Joda LocalDateTime", flavour)
    assert (day.type, str(day[0])) == (pa.date32(), "2024-02-29")
    assert (time.type, str(time[0])) == (pa.timestamp("us"), "2024-02-29 12:34:56.789000")
    assert library("Joda LocalTime", flavour).to_pylist() == ["23:59:58.007"]
    interval = library("Interval", flavour)
    assert {f.name: f.type for f in interval.type} == {"start": moment, "end": moment, "chronology": pa.string()}
    fields = library("fields", flavour)
    assert {f.name: str(f.type) for f in fields.type} == {
        "words": "list<item: string>", "view": "list<item: string>", "at": str(at.type), "day": "date32[day]",
    }  # fmt: skip
    (row,) = fields.to_pylist()
    assert (row["words"], row["view"], str(row["day"])) == (["a", "b"], ["c"], "2024-02-29")


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
            other = replace(vector, flavour=7 - flavour)
            try:
                other.kryo(models()).read(vector.data, 0, len(vector.data))
            except StateExtractError as error:
                places.append(error.offset)
    assert len(places) > 10
    assert None not in places


# ---- Scala, as chill wrote it


def scala(name: str) -> Vector:
    return next(v for v in SCALA if v.name == name)


ANYTHING = pa.struct([("class", pa.string()), ("json", pa.string())])
CIRCLE = pa.struct([("radius", pa.float64())])


def test_scala_types_of_columns() -> None:
    array = column(scala("Mixed"), models(SCALA_JAR))
    types = {f.name: f.type for f in array.type}
    shape = types.pop("shape")
    assert shape.field("class").type == pa.string()
    assert {f.name for f in shape} == {"class", "radius", "width", "name", "tags", "extra", "corner"}
    assert types.pop("shapes") == pa.list_(shape)
    assert types == {
        "seq": pa.list_(pa.string()), "vector": pa.list_(pa.string()), "set": pa.list_(pa.string()),
        "map": pa.map_(pa.string(), pa.string()), "option": pa.string(),
        "either": pa.struct([("left", pa.string()), ("right", CIRCLE)]),
        "pair": pa.struct([("_1", pa.string()), ("_2", CIRCLE)]), "symbol": pa.string(), "array": pa.list_(pa.string()),
        "any": ANYTHING, "maybe": pa.string(), "numbers": pa.map_(pa.string(), ANYTHING),
        "buffer": pa.list_(pa.string()), "big": pa.string(),
    }  # fmt: skip


def test_scala_columns() -> None:
    (found,) = column(scala("Mixed"), models(SCALA_JAR)).to_pylist()
    shapes, shape = found.pop("shapes"), found.pop("shape")
    assert {k: v for k, v in shape.items() if v is not None} == {"class": "zoo.Nothingness$"}
    assert [{k: v for k, v in s.items() if v is not None} for s in shapes] == [{"class": "zoo.Circle", "radius": 4.5}]
    assert found == {
        "seq": ["s"], "vector": ["v"], "set": ["x"], "map": [("k", "w")], "option": None,
        "either": {"left": None, "right": {"radius": 2.5}}, "pair": {"_1": "p", "_2": {"radius": 3.5}},
        "symbol": "sym", "array": ["a", None], "any": {"class": "scala.collection.immutable.$colon$colon", "json": "[1]"},
        "maybe": "some", "numbers": [("one", {"class": "java.lang.Integer", "json": "1"})], "buffer": ["b"], "big": "1.25",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "type_", "value"),
    [
        ("Tuple2 ID", "struct<_1: int32, _2: double>", {"_1": 1, "_2": -2.5}),
        ("Tuple2 CZ", "struct<_1: string, _2: bool>", {"_1": "c", "_2": True}),
        ("Tuple1", "struct<_1: struct<class: string, json: string>>",
         {"_1": {"class": "java.lang.String", "json": '"a"'}}),
        ("BitSet", "list<item: int32>", [1, 5, 200]),
        ("Range by", "list<item: int32>", [10, 7, 4, 1]),
        ("Option declared", "struct<class: string, json: string>", {"class": "scala.Some", "json": "5"}),
        ("None declared", "struct<class: string, json: string>", {"class": "scala.None$", "json": "null"}),
        ("BigInt", "string", "123456789012345678901234567890"),
        ("Enumeration", "struct<enumeration: string, id: int32>", {"enumeration": "zoo.Weekday", "id": 1}),
        ("Nothingness", "bool", True),
        ("Inner", "struct<text: string, $outer: struct<n: int32>>", {"text": "t", "$outer": {"n": 7}}),
    ],
)  # fmt: skip
def test_scala_column(name: str, type_: str, value: Any) -> None:
    array = column(scala(name), models(SCALA_JAR))
    assert (str(array.type), array.to_pylist()) == (type_, [value])


def test_a_range_of_any_size_is_not_written_out() -> None:
    """Kryo writes four numbers; a column would have two thousand million elements."""
    ids = snapshot_of("scala.collection.immutable.Range")
    data = bytes.fromhex("5701feffffff0f00feffffff0ffeffffff0f0202")
    vector = Vector(2, "", "scala.collection.immutable.Range", "", data, ids, chill=True)
    value, end = vector.kryo(ClassModels()).read(data, 0, len(data))
    assert (end, value.value) == (len(data), range(1, 2**31))
    with pytest.raises(ValueRefusedError, match="more than 4194304 elements"):
        column(vector, ClassModels())
    with pytest.raises(ValueRefusedError, match="parts"):
        json_text(value)


def test_without_scala_its_classes_have_no_numbers() -> None:
    vector = replace(scala("Vector"), chill=False)
    with pytest.raises(UndecodableError, match="the class with the number 18 is not known"):
        vector.kryo(ClassModels()).read(vector.data, 0, len(vector.data))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("1a0101020a", "not a pair"),  # Map1 of a number
        ("1a0101260103018261", "not a pair"),  # Map1 of a Tuple1
        ("1f010a000a0a0200", "step is 0"),
        ("570100", "is not an object"),
        ("0c0100020a", "wrapped collection that is none"),
    ],
)
def test_scala_bodies_that_cannot_be(data: str, words: str) -> None:
    raw = bytes.fromhex(data)
    vector = Vector(2, "", "scala.Enumeration$Val", "", raw, snapshot_of("scala.Enumeration$Val"), chill=True)
    with pytest.raises(FormatError, match=words):
        vector.kryo(ClassModels()).read(raw, 0, len(raw))


def test_a_tuple_of_primitives_has_all_its_parts() -> None:
    """``scala.Tuple2$mcIJ$sp``: an ``int`` and a ``long`` of fixed width, in the place of any value."""
    vector = next(v for v in SCALA if v.name == "Vector")
    data = b"\x42\x01\x03\x02\x02\x02\x04\x02\x06\x14\x01\x03\x02\x02"
    (found,) = column(replace(vector, data=data), models(SCALA_JAR)).to_pylist()
    assert found == {"class": "scala.Tuple2$mcIJ$sp", "json": '{"_1":50463234,"_2":288800009091219970}'}
