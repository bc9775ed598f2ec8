"""The columns of POJOs with subclasses, and names that Spark would refuse."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest

from serializers import DescribeContext, SerializerSnapshot, describe, read_snapshot
from serializers.classes import ClassModels, class_model
from serializers.pojo import POJO_SNAPSHOT
from serializers.scalars import BASE
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Subclasses, Undecodable
from stateextract.errors import FormatError, UndecodableError
from stateextract.files.block import Block
from stateextract.files.reader import Reader


def simple(name: str) -> SerializerSnapshot:
    return SerializerSnapshot(f"{BASE}{name}Serializer${name}SerializerSnapshot", 3)


def pojo(
    class_name: str,
    fields: dict[str, SerializerSnapshot],
    registered: dict[str, SerializerSnapshot] | None = None,
    other: dict[str, SerializerSnapshot] | None = None,
) -> SerializerSnapshot:
    registered, other = registered or {}, other or {}
    details = {"class": class_name, "fields": tuple(fields), "registered": tuple(registered), "other": tuple(other)}
    return SerializerSnapshot(
        POJO_SNAPSHOT, 2, details=details, nested=(*fields.values(), *registered.values(), *other.values())
    )


def columns(snapshot: SerializerSnapshot) -> dict[str, str]:
    return {f.name: str(f.type) for f in describe(snapshot).arrow_type}


def test_fields_in_wire_order() -> None:
    assert columns(pojo("A", {"b": simple("Long"), "a": simple("String")})) == {"b": "int64", "a": "string"}


def test_all_classes_share_one_set_of_columns() -> None:
    shape = pojo(
        "x.Shape",
        {"name": simple("String")},
        registered={"x.Circle": pojo("x.Circle", {"name": simple("String"), "r": simple("Double")})},
        other={"x.Shape$Box": pojo("x.Shape$Box", {"name": simple("Int"), "r": simple("Double"), "n": simple("Int")})},
    )
    assert columns(shape) == {
        "class": "string",
        "name": "string",
        "r": "double",
        "name_Box": "int32",
        "n": "int32",
    }
    layout = describe(shape)
    assert isinstance(layout, Subclasses)
    assert [(s.class_name, s.tag, [f.name for f in s.fields]) for s in layout.subclasses] == [
        ("x.Circle", 0, ["", "name", "r"]),
        ("x.Shape$Box", None, ["", "name_Box", "r", "n"]),
    ]
    circle = b"\x08\x00\x02" + b"\x00\x02c" + b"\x00" + struct.pack(">d", 2.5)
    row, end = interpret(layout, circle, 0, len(circle))
    assert end == len(circle)
    assert row == {"class": 1, "name": "c", "r": 2.5, "name_Box": None, "n": None}


def test_enums_of_other_constants_do_not_share_a_column() -> None:
    def enum(*constants: str) -> SerializerSnapshot:
        name = BASE + "EnumSerializer$EnumSerializerSnapshot"
        return SerializerSnapshot(name, 3, details={"class": "E", "constants": constants})

    base = pojo("A", {"e": enum("X", "Y")}, other={"B": pojo("B", {"e": enum("Y", "X")})})
    assert list(columns(base)) == ["class", "e", "e_B"]


def test_names_that_differ_only_in_case() -> None:
    assert list(columns(pojo("A", {"id": simple("Int"), "ID": simple("Int"), "Id": simple("Int")}))) == [
        "id",
        "ID_2",
        "Id_3",
    ]


def test_a_field_called_class() -> None:
    assert list(columns(pojo("A", {"class": simple("Int"), "Class": simple("Int")}))) == ["class_", "Class__2"]


def test_removed_fields_stay() -> None:
    assert list(columns(pojo("A", {"a": simple("Int"), "missing-field-at-1": simple("Int")}))) == [
        "a",
        "missing-field-at-1",
    ]


def test_a_subclass_that_is_no_pojo() -> None:
    kryo = SerializerSnapshot("org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializerSnapshot", 2)
    base = pojo("A", {"a": simple("Int")}, registered={"x.B": kryo, "x.C": simple("String")})
    assert columns(base) == {"class": "string", "a": "int32", "B": "binary", "C": "string"}
    layout = describe(base)
    declared = b"\x02\x00\x00\x00\x00\x07"
    assert interpret(layout, declared, 0, len(declared))[0]["a"] == 7
    with pytest.raises(UndecodableError, match="whether Kryo 2 or Kryo 5"):
        interpret(layout, b"\x08\x00\x01\x02\x03", 0, 5)


# ---- as bytes


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def frame(data: bytes) -> bytes:
    return b"\x01" + struct.pack(">i", len(data)) + data


def linked_map(entries: dict[str, bytes]) -> bytes:
    body = b"".join(utf(name) + b"\x00" + frame(value) for name, value in entries.items())
    return struct.pack(">qi", 0x4F2C69A3D70, len(entries)) + body


def pojo_bytes(fields: dict[str, bytes], registered: dict[str, bytes]) -> bytes:
    head = utf(POJO_SNAPSHOT) + struct.pack(">i", 2) + utf("x.A")
    return head + linked_map(fields) + linked_map(registered) + linked_map({})


INT = utf(f"{BASE}IntSerializer$IntSerializerSnapshot") + struct.pack(">i", 3)


def test_an_unknown_subclass_snapshot_concerns_that_class_only() -> None:
    data = pojo_bytes({"a": INT}, {"x.B": utf("com.acme.BSnapshot") + b"\0\0\0\x07junk"})
    reader = Reader(data)
    snapshot = read_snapshot(reader)
    assert reader.remaining == 0
    assert columns(snapshot) == {"class": "string", "a": "int32", "B": "binary"}
    layout = describe(snapshot)
    assert isinstance(layout, Subclasses)
    unknown = layout.subclasses[0].fields[0].layout
    assert unknown == Undecodable("com.acme.BSnapshot", "the serializer's snapshot class is not known")


def test_a_frame_must_be_filled() -> None:
    snapshot = read_snapshot(Reader(pojo_bytes({"a": INT + b"\0"}, {})))
    assert snapshot.nested[0].details == {"unknown": "framed", "why": "1 bytes are left after a snapshot"}


@pytest.mark.parametrize("cut", range(0, 300, 7))
def test_truncated(cut: int) -> None:
    data = pojo_bytes({"a": INT}, {"x.B": INT})
    assert len(data) > 300
    with pytest.raises(FormatError):
        read_snapshot(Reader(data[:cut]))


def test_a_pojo_without_fields() -> None:
    layout = describe(pojo("A", {}))
    assert layout.arrow_type == pa.bool_()
    assert interpret(layout, b"\x02", 0, 1) == (True, 1)
    assert interpret(layout, b"\x01", 0, 1) == (None, 1)


def test_order_of_classes_met_does_not_change_the_columns() -> None:
    """The map of unregistered subclasses has the order of a hash map."""
    b = pojo("x.B", {"b": simple("Int")})
    c = pojo("x.C", {"c": simple("Int")})
    one = pojo("x.A", {"a": simple("Int")}, other={"x.C": c, "x.B": b})
    two = pojo("x.A", {"a": simple("Int")}, other={"x.B": b, "x.C": c})
    assert describe(one) == describe(two)
    assert list(columns(one)) == ["class", "a", "b", "c"]


def test_a_name_twice_in_damaged_bytes() -> None:
    twice = SerializerSnapshot(
        POJO_SNAPSHOT,
        2,
        details={"class": "A", "fields": ("a", "a"), "registered": (), "other": ()},
        nested=(simple("Int"), simple("Int")),
    )
    assert list(columns(twice)) == ["a", "a_2"]


# ---- subclasses that no snapshot lists

CLASSES = [
    {"name": "x.Square", "superclass": "x.Shape", "fields": {"side": "long", "at": "x.Point", "c": "x.Color"}},
    {"name": "x.Cube", "superclass": "x.Square", "fields": {"deep": "java.lang.Double", "raw": "byte[]", "n": "int[]"}},
    {"name": "x.Point", "fields": {"y": "short", "x": "java.lang.Integer"}},
    {"name": "x.Color", "constants": ["RED", "BLUE"]},
    # Kryo would write the list, so nothing is known of this one.
    {"name": "x.Path", "superclass": "x.Shape", "fields": {"points": "java.util.List<x.Point>"}},
    {"name": "x.Crate", "superclass": "x.Path", "fields": {}},
    {"name": "x.Hidden", "superclass": "x.Shape", "fields": {"name": "int"}},
    {"name": "x.Other", "superclass": "x.Unknown", "fields": {"a": "int"}},
    {"name": "x.Circle", "superclass": "x.Shape", "fields": {"r": "float"}},
]  # fmt: skip
MODELS = ClassModels.of(map(class_model, CLASSES))
SHAPE = pojo(
    "x.Shape", {"name": simple("String")},
    registered={"x.Circle": pojo("x.Circle", {"name": simple("String"), "r": simple("Double")})},
)  # fmt: skip


def test_subclasses_by_class_models() -> None:
    layout = describe(SHAPE, DescribeContext(class_models=MODELS))
    assert isinstance(layout, Subclasses)
    assert {s.class_name: [f.name for f in s.fields if f.name] for s in layout.subclasses} == {
        "x.Circle": ["name", "r"],
        "x.Cube": ["at", "c", "deep", "n", "name", "raw", "side"],
        "x.Square": ["at", "c", "name", "side"],
    }
    assert {f.name: str(f.type) for f in layout.arrow_type} == {
        "class": "string", "name": "string", "r": "double", "at": "struct<x: int32, y: int16>", "c": "string",
        "deep": "double", "n": "list<item: int32>", "raw": "binary", "side": "int64",
    }  # fmt: skip
    assert columns(SHAPE) == {"class": "string", "name": "string", "r": "double"}


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
def test_a_value_of_such_a_subclass(engine: str) -> None:
    layout = describe(SHAPE, DescribeContext(class_models=MODELS))
    # Named; of the declared class; at: there, of its class, x = 15, y = 7; c BLUE; name null; side 9.
    point = "02" + "00" + "0000000f" + "00" + "0007"
    name = b"x.Square"
    data = bytes.fromhex("04" + struct.pack(">H", len(name)).hex() + name.hex() + "02" + "00" + point + "0000000001" + "01"
                         + "00" + struct.pack(">q", 9).hex())  # fmt: skip
    decoder = make_decoder(layout, Policy(), engine=engine)
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.entries, progress.pos, decoder.engine) == (1, len(data), engine)
    (found,) = decoder.flush().to_pylist()
    assert {k: v for k, v in found.items() if v is not None} == {
        "class": "x.Square", "at": {"x": 15, "y": 7}, "c": "BLUE", "side": 9,
    }  # fmt: skip
    # A point of a subclass, or one that Kryo wrote, is not mistaken for a point.
    wrong = data.replace(bytes.fromhex(point), b"\x57" + bytes.fromhex(point)[1:])
    with pytest.raises(FormatError, match="expected 02"):
        make_decoder(layout, Policy(), engine=engine).decode(Block.of(wrong), 0, len(wrong), 1)
    # What Flink did not take for a POJO is no damage, but a value that nobody can decode: here Kryo wrote the class's name.
    other = data[: 3 + len(name)] + b"\x01" + data[4 + len(name) :]
    with pytest.raises(UndecodableError, match=r"x\.Square cannot be decoded: its class model is that of a POJO"):
        make_decoder(layout, Policy(), engine=engine).decode(Block.of(other), 0, len(other), 1)


@pytest.mark.parametrize(
    "models",
    [
        [{"name": "x.Sub", "superclass": "x.Shape", "written": {"a": "int"}}],
        [{"name": "x.Sub", "superclass": "x.Shape", "interfaces": ["org.apache.flink.types.Value"], "fields": {"a": "int"}}],
        [{"name": "x.Sub", "superclass": "x.Shape", "fields": {"a": "x.In"}}, {"name": "x.In", "written": {"b": "int"}}],
        [{"name": "x.Sub", "superclass": "x.Shape<java.lang.Long>", "fields": {"a": "int"}}],
        [{"name": "x.Shape", "parameters": ["T"]}, {"name": "x.Sub", "superclass": "x.Shape", "fields": {"a": "int"}}],
        [
            {"name": "x.Sub", "superclass": "x.Mid<int[]>", "fields": {"a": "int"}},
            {"name": "x.Mid", "superclass": "x.Shape", "parameters": ["T"]},
        ],
    ],
    ids=["writes itself", "a value", "holds what writes itself", "argument", "raw", "argument between"],
)
def test_classes_that_pojos_serializers_do_not_write(models: list[dict[str, Any]]) -> None:
    known = ClassModels.of(map(class_model, models))
    layout = describe(pojo("x.Shape", {"name": simple("String")}), DescribeContext(class_models=known))
    assert isinstance(layout, Subclasses)
    assert layout.subclasses == ()


def test_after_a_field_was_removed_nothing_is_known_of_new_subclasses() -> None:
    evolved = pojo("x.Shape", {"name": simple("String"), "missing-field-at-1": simple("Int")})
    assert columns(evolved) == {"name": "string", "missing-field-at-1": "int32"}
    layout = describe(evolved, DescribeContext(class_models=MODELS))
    assert isinstance(layout, Subclasses)
    assert layout.subclasses == ()
