"""Messages of Protobuf and Thrift inside of Kryo: bytes, and columns where a descriptor set is given.

Descriptor sets are built here as protoc would write them; the bytes of messages are written out by hand.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, struct_pb2, timestamp_pb2
from google.protobuf.struct_pb2 import Struct

from serializers import DescribeContext, SerializerSnapshot, describe
from serializers.protobuf import NO_TYPES, ProtobufTypes, java_names
from serializers.registry import KRYO_SNAPSHOT
from stateextract.columnar.convert.policy import ChangeCounts, Policy, apply_policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.interpreter import interpret
from stateextract.errors import FormatError, UsageError, ValueRefusedError
from stateextract.files.block import Block
from stateextract.snapshot.describe_contexts import decode_context, describe_context, encode_context
from tests.kryo.test_limits import mutated, outcomes
from tests.kryo.zoo import Vector, vectors

CHILL = "com.twitter.chill.protobuf.ProtobufSerializer"
MAGRO = "de.javakaffee.kryoserializers.protobuf.ProtobufSerializer"
THRIFT = "com.twitter.chill.thrift.TBaseSerializer"

FIELD = descriptor_pb2.FieldDescriptorProto
TYPES = {name.removeprefix("TYPE_").lower(): number for name, number in FIELD.Type.items()}


def field(name: str, number: int, type_: str, label: str = "optional", **more: Any) -> Any:
    """A field; the type is a scalar's, or ``.a.Message`` or ``enum .a.Enum``."""
    kind, _, ref = type_.rpartition(" ")
    if ref.startswith("."):
        more["type_name"] = ref
    number_of = TYPES[kind or ("message" if ref.startswith(".") else ref)]
    return FIELD(name=name, number=number, type=number_of, label=FIELD.Label.Value(f"LABEL_{label.upper()}"), **more)


def message(name: str, *fields: Any, **more: Any) -> Any:
    return descriptor_pb2.DescriptorProto(name=name, field=fields, **more)


def file(name: str, *messages: Any, **more: Any) -> Any:
    options = descriptor_pb2.FileOptions(**more.pop("options", {}))
    return descriptor_pb2.FileDescriptorProto(name=name, message_type=messages, options=options, **more)


def types(*files: Any) -> ProtobufTypes:
    return ProtobufTypes((descriptor_pb2.FileDescriptorSet(file=files).SerializeToString(),))


KIND = descriptor_pb2.EnumDescriptorProto(
    name="Kind",
    value=[descriptor_pb2.EnumValueDescriptorProto(name=n, number=i) for i, n in enumerate(("NONE", "BIG"))],
)
ENTRY = message(
    "CountsEntry", field("key", 1, "string"), field("value", 2, "int64"),
    options=descriptor_pb2.MessageOptions(map_entry=True),
)  # fmt: skip
LINE_ENTRY = message(
    "LinesEntry", field("key", 1, "int32"), field("value", 2, ".acme.Order.Line"),
    options=descriptor_pb2.MessageOptions(map_entry=True),
)  # fmt: skip
ORDER = message(
    "Order",
    field("id", 1, "int64"), field("name", 2, "string"), field("kind", 3, "enum .acme.Kind"),
    field("maybe", 4, "int32", proto3_optional=True, oneof_index=1),
    field("line", 5, ".acme.Order.Line"), field("items", 6, ".acme.Order.Line", "repeated"),
    field("numbers", 7, "sint32", "repeated"), field("counts", 8, ".acme.Order.CountsEntry", "repeated"),
    field("by_number", 9, ".acme.Order.LinesEntry", "repeated"),
    field("card", 10, "string", oneof_index=0), field("cash", 11, "uint64", oneof_index=0),
    field("raw", 12, "bytes"), field("ratio", 13, "float"), field("exact", 14, "double"), field("flag", 15, "bool"),
    field("big", 16, "fixed64"), field("small", 17, "uint32"),
    nested_type=[message("Line", field("sku", 1, "string"), field("amount", 2, "sfixed64")), ENTRY, LINE_ENTRY],
    oneof_decl=[descriptor_pb2.OneofDescriptorProto(name=n) for n in ("payment", "_maybe")],
)  # fmt: skip
ORDERS = file("acme/order_file.proto", ORDER, package="acme", syntax="proto3", enum_type=[KIND],
              options={"java_package": "com.acme.proto"})  # fmt: skip
JAVA = "com.acme.proto.OrderFile$Order"


def snapshot(declared: str, serializer: str, default: str = "") -> SerializerSnapshot:
    kind = (1).to_bytes(4, "big")
    registered = utf(declared) + (kind + utf(serializer) if not default else (0).to_bytes(4, "big"))
    details: dict[str, Any] = {"class": declared, "registrations": ((declared, registered),)}
    if default:
        details["default_serializer_classes"] = ((default, utf(serializer)),)
    return SerializerSnapshot(KRYO_SNAPSHOT, 2, details=details)


def utf(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode()


def kryo(raw: bytes, plus: int = 0) -> bytes:
    """Class 85, a new object, and the message behind its length."""
    assert len(raw) + plus < 0x80
    return b"\x57\x01" + bytes([len(raw) + plus]) + raw


def decode(raw: bytes, known: ProtobufTypes, declared: str = JAVA, serializer: str = CHILL, **more: Any) -> Any:
    layout = describe(snapshot(declared, serializer, **more), DescribeContext(2, protobuf=known))
    data = kryo(raw)
    value, end = interpret(layout, data, 0, len(data))
    assert end == len(data)
    assert pa.array([value], layout.wire_type).type == layout.wire_type
    return value


def test_types() -> None:
    layout = describe(snapshot(JAVA, CHILL), DescribeContext(2, protobuf=types(ORDERS)))
    line = "struct<sku: string, amount: int64>"
    assert isinstance(layout.arrow_type, pa.StructType)
    assert {f.name: str(f.type) for f in layout.arrow_type} == {
        "id": "int64", "name": "string", "kind": "string", "maybe": "int32", "line": line, "items": f"list<item: {line}>",
        "numbers": "list<item: int32>", "counts": "map<string, int64>", "by_number": f"map<int32, {line}>",
        "card": "string", "cash": "decimal128(20, 0)", "raw": "binary", "ratio": "float", "exact": "double",
        "flag": "bool", "big": "decimal128(20, 0)", "small": "int64", "unknown_fields": "string",
    }  # fmt: skip


EMPTY = {
    "id": 0, "name": "", "kind": "NONE", "maybe": None, "line": None, "items": [], "numbers": [], "counts": [],
    "by_number": [], "card": None, "cash": None, "raw": b"", "ratio": 0.0, "exact": 0.0, "flag": False,
    "big": bytes(9), "small": 0, "unknown_fields": None,
}  # fmt: skip

CASES = [
    ("empty", "", {}),
    ("the largest and smallest", "08ffffffffffffffff7f 8801ffffffff0f 8101ffffffffffffffff",
     {"id": 2**63 - 1, "small": 2**32 - 1, "big": (2**64 - 1).to_bytes(9, "big")}),
    ("negative", "08ffffffffffffffffff01", {"id": -1}),
    ("beyond 2^53", "08818080808080801 0".replace(" ", ""), {"id": 2**53 + 1}),
    ("text and enum", "1203c3a962 1801", {"name": "éb", "kind": "BIG"}),
    ("an enum's number that has no name", "1807", {"kind": "7"}),
    ("optional that is set to its default", "2000", {"maybe": 0}),
    ("an empty message", "2a00", {"line": {"sku": "", "amount": 0}}),
    ("nested", "2a0c 0a0161 11feffffffffffffff", {"line": {"sku": "a", "amount": -2}}),
    ("repeated", "3203 0a0161 3200 3a03 020103",
     {"items": [{"sku": "a", "amount": 0}, {"sku": "", "amount": 0}], "numbers": [1, -1, -2]}),
    ("repeated and not packed", "3802 3801", {"numbers": [1, -1]}),
    ("maps", "4205 0a016b 1005", {"counts": [("k", 5)]}),
    ("maps of messages", "4a07 0803 1203 0a0162", {"by_number": [(3, {"sku": "b", "amount": 0})]}),
    ("one of several", "520163", {"card": "c"}),
    ("another one, at its default", "5800", {"cash": bytes(9)}),
    ("the last one counts", "520163 5805", {"cash": (5).to_bytes(9, "big")}),
    ("bytes and reals", "6202ff00 6d0000c03f 71000000000000e0bf 7801",
     {"raw": b"\xff\0", "ratio": 1.5, "exact": -0.5, "flag": True}),
    ("fields beyond the descriptor", "a00607 a20601ff",
     {"unknown_fields": '[{"path":"","field":100,"wire_type":0,"value":7},'
                        '{"path":"","field":100,"wire_type":2,"value":"/w=="}]'}),
    ("fields beyond the descriptor, inside", "3202 1801 3204 1a020805",
     {"items": [{"sku": "", "amount": 0}] * 2,
      "unknown_fields": '[{"path":"items[0].","field":3,"wire_type":0,"value":1},'
                        '{"path":"items[1].","field":3,"wire_type":2,"value":"CAU="}]'}),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_messages(raw: str, expected: dict[str, Any]) -> None:
    assert decode(bytes.fromhex(raw), types(ORDERS)) == EMPTY | expected


def test_the_longest_numbers_in_their_columns() -> None:
    layout = describe(snapshot(JAVA, CHILL), DescribeContext(2, protobuf=types(ORDERS)))
    data = kryo(bytes.fromhex("8101ffffffffffffffff5805"))
    decoder = make_decoder(layout, Policy())
    assert decoder.decode(Block.of(data), 0, len(data), 1).entries == 1
    (found,) = decoder.flush().to_pylist()
    assert (int(found["big"]), int(found["cash"])) == (2**64 - 1, 5)


def test_without_a_descriptor_set_they_are_bytes() -> None:
    layout = describe(snapshot(JAVA, CHILL), DescribeContext(2))
    assert (layout.arrow_type, interpret(layout, kryo(b"\x08\1"), 0, 5)) == (pa.binary(), (b"\x08\1", 5))
    thrift = describe(snapshot("com.acme.T", THRIFT), DescribeContext(2, protobuf=types(ORDERS)))
    assert (thrift.arrow_type, interpret(thrift, kryo(b"\0"), 0, 4)) == (pa.binary(), (b"\0", 4))


@pytest.mark.parametrize("default", ["com.google.protobuf.Message", "com.google.protobuf.GeneratedMessageV3"])
def test_a_default_serializer_for_all_messages(default: str) -> None:
    assert decode(b"\x08\1", types(ORDERS), default=default) == EMPTY | {"id": 1}


def test_the_serializer_that_writes_nulls() -> None:
    layout = describe(snapshot(JAVA, MAGRO), DescribeContext(2, protobuf=types(ORDERS)))
    assert interpret(layout, kryo(b"\x08\1", plus=1), 0, 5) == (EMPTY | {"id": 1}, 5)
    assert interpret(layout, b"\x57\1\0", 0, 3) == (None, 3)


def in_json(raw: str, known: ProtobufTypes, java: str = JAVA) -> str:
    registrations = snapshot(java, CHILL).details["registrations"]
    details = {"class": "java.lang.Object", "registrations": registrations}
    layout = describe(SerializerSnapshot(KRYO_SNAPSHOT, 2, details=details), DescribeContext(2, protobuf=known))
    data = kryo(bytes.fromhex(raw))
    value, end = interpret(layout, data, 0, len(data))
    assert (end, value["class"]) == (len(data), java)
    return str(value["json"])


def test_in_json() -> None:
    known = types(ORDERS)
    assert in_json("0881808080808080 10 1801 6202ff00 6d0000c07f 4205 0a016b 1005", known) == (
        '{"id":9007199254740993,"kind":"BIG","counts":{"k":5},"raw":"/wA=","ratio":"NaN"}'
    )
    assert in_json("6dcdcc8c3f 719a9999999999f13f", known) == '{"ratio":1.1,"exact":1.1}'
    assert in_json("0801 a00607", known) == ('{"id":1,"$unknown":[{"path":"","field":100,"wire_type":0,"value":7}]}')
    with pytest.raises(FormatError, match=r"4 bytes are not a message of the type acme\.Order"):
        in_json("32040a01", known)


WELL_KNOWN = file(
    "w.proto",
    message(
        "W",
        field("at", 1, ".google.protobuf.Timestamp"), field("long", 2, ".google.protobuf.Int64Value"),
        field("text", 3, ".google.protobuf.StringValue"), field("took", 4, ".google.protobuf.Duration"),
        field("free", 5, ".google.protobuf.Struct"), field("mask", 6, ".google.protobuf.FieldMask"),
        field("any", 7, ".google.protobuf.Any"), field("nothing", 8, ".google.protobuf.Empty"),
        field("times", 9, ".google.protobuf.Timestamp", "repeated"), field("child", 10, ".W"),
        field("flag", 11, ".google.protobuf.BoolValue"),
    ),
    syntax="proto3",
    dependency=[f"google/protobuf/{n}.proto" for n in
                ("timestamp", "wrappers", "duration", "struct", "field_mask", "any", "empty")],
)  # fmt: skip


def test_well_known_types() -> None:
    layout = describe(snapshot("W_", CHILL), DescribeContext(2))
    assert layout.arrow_type == pa.binary()
    java = "WOuterClass$W"
    layout = describe(snapshot(java, CHILL), DescribeContext(5, protobuf=types(WELL_KNOWN)))
    assert isinstance(layout.arrow_type, pa.StructType)
    assert {f.name: str(f.type) for f in layout.arrow_type} == {
        "at": "timestamp[us, tz=UTC]", "long": "int64", "text": "string", "took": "struct<seconds: int64, nanos: int32>",
        "free": "string", "mask": "list<item: string>", "any": "struct<type_url: string, value: binary>", "nothing": "bool",
        "times": "list<item: timestamp[us, tz=UTC]>", "child": "string", "flag": "bool", "unknown_fields": "string",
    }  # fmt: skip
    took = "2216 08ffffffffffffffffff01 10ffffffffffffffffff01"
    raw = f"0a04 0801 1007 1200 1a03 0a0161 {took} 3203 0a0161 4200 4a00 5204 0a020802 5a02 0801"
    found = decode(bytes.fromhex(raw), types(WELL_KNOWN), java)
    assert found == {
        "at": {"seconds": 1, "nanos": 7}, "long": 0, "text": "a", "took": {"seconds": -1, "nanos": -1}, "free": None,
        "mask": ["a"], "any": None, "nothing": True, "times": [{"seconds": 0, "nanos": 0}],
        "child": '{"at":"1970-01-01T00:00:02Z"}', "flag": True, "unknown_fields": None,
    }  # fmt: skip
    assert in_json(raw, types(WELL_KNOWN), java) == (
        '{"at":"1970-01-01T00:00:01.000000007Z","long":0,"text":"a","took":"PT-1.000000001S","mask":["a"],"nothing":{},'
        '"times":["1970-01-01T00:00:00Z"],"child":{"at":"1970-01-01T00:00:02Z"},"flag":true}'
    )


def test_free_form() -> None:
    free = Struct()
    free.update({"k": [1.5, None, True, {"a": "b"}], "n": float("nan")})
    raw = free.SerializeToString()
    message_raw = b"\x2a" + bytes([len(raw)]) + raw
    found = decode(message_raw, types(WELL_KNOWN), "WOuterClass$W")
    assert json.loads(found["free"]) == {"k": [1.5, None, True, {"a": "b"}], "n": "NaN"}


def test_a_timestamp_that_cannot_be() -> None:
    raw = "0a0b10ffffffffffffffffff01"
    with pytest.raises(ValueRefusedError, match="a Timestamp with -1 nanoseconds"):
        decode(bytes.fromhex(raw), types(WELL_KNOWN), "WOuterClass$W")
    with pytest.raises(ValueRefusedError, match="a Timestamp with -1 nanoseconds"):
        in_json(raw, types(WELL_KNOWN), "WOuterClass$W")
    with pytest.raises(ValueRefusedError, match="a Duration of 1 seconds and -1 nanoseconds"):
        in_json("220d 0801 10ffffffffffffffffff01", types(WELL_KNOWN), "WOuterClass$W")


def test_proto2() -> None:
    group = message("Pair", field("a", 1, "int32", "required"))
    two = message(
        "Two", field("id", 1, "int32", "required"), field("text", 2, "string", default_value="x"),
        field("pair", 3, "group .Two.Pair"), field("kind", 4, "enum .Mood", default_value="GOOD"), nested_type=[group],
    )  # fmt: skip
    values = [descriptor_pb2.EnumValueDescriptorProto(name=n, number=i) for n, i in (("BAD", -1), ("GOOD", 1))]
    mood = descriptor_pb2.EnumDescriptorProto(name="Mood", value=values)
    known = types(file("two.proto", two, enum_type=[mood], options={"java_multiple_files": True}))
    assert known.java_classes == ("Two", "Two$Pair")
    # What has a default and is not set is null all the same: the bytes say nothing.
    assert decode(b"\x08\5", known, "Two") == {
        "id": 5, "text": None, "pair": None, "kind": None, "unknown_fields": None,
    }  # fmt: skip
    assert decode(bytes.fromhex("0801 1201 79 1b 0807 1c 20ffffffffffffffffff01".replace(" ", "")), known, "Two") == {
        "id": 1, "text": "y", "pair": {"a": 7}, "kind": "BAD", "unknown_fields": None,
    }  # fmt: skip
    # proto2 does not look at strings, and keeps an enum's number without a name among what it does not know.
    layout = describe(snapshot("Two", CHILL), DescribeContext(2, protobuf=known))
    data, counts = kryo(bytes.fromhex("0801 1203 ff61ff")), ChangeCounts()
    assert interpret(layout, data, 0, len(data), counts)[0]["text"] == "\ufffda\ufffd"
    assert counts.malformed_utf8 == 2
    bent = apply_policy(layout, Policy(strings="binary"))
    assert interpret(bent, data, 0, len(data))[0]["text"] == b"\xffa\xff"
    with pytest.raises(FormatError, match="a string in a message of the type Two is not UTF-8"):
        in_json("0801 1203 ff61ff", known, "Two")
    assert decode(bytes.fromhex("08012009"), known, "Two")["unknown_fields"] == (
        '[{"path":"","field":4,"wire_type":0,"value":9}]'
    )


RANGE = descriptor_pb2.DescriptorProto.ExtensionRange(start=100, end=200)


def test_extensions_are_kept() -> None:
    """They are no fields of the message, and may be called like one."""
    two = message("Two", field("x", 1, "int32"), field("in", 2, ".Two"), extension_range=[RANGE])
    extensions = [
        field("x", 100, "string", extendee=".Two"), field("n", 101, ".Two", "repeated", extendee=".Two"),
    ]  # fmt: skip
    known = types(file("two.proto", two, extension=extensions, options={"java_multiple_files": True}))
    raw = bytes.fromhex("0805 a206026869 aa06020807 aa0603980101".replace(" ", ""))
    found = decode(raw, known, "Two")
    assert (found["x"], json.loads(found["unknown_fields"])) == (5, [
        {"path": "", "field": 100, "extension": "x", "value": "hi"},
        {"path": "", "field": 101, "extension": "n", "value": [{"x": 7}, {}]},
        {"path": "[n][1].", "field": 19, "wire_type": 0, "value": 1},
    ])  # fmt: skip
    assert json.loads(in_json(raw.hex(), known, "Two")) == {
        "x": 5, "[x]": "hi", "[n]": [{"x": 7}, {}],
        "$unknown": [{"path": "[n][1].", "field": 19, "wire_type": 0, "value": 1}],
    }  # fmt: skip
    inner = decode(b"\x12\x05\xa2\x06\x02hi", known, "Two")
    assert '"path":"in.","field":100,"extension":"x","value":"hi"' in inner["unknown_fields"]


def test_groups_inside_of_groups_take_no_more_text_than_bytes() -> None:
    depth = 40
    found = decode(b"\xf3\x07" * (depth // 2) + b"\xf4\x07" * (depth // 2), types(ORDERS))
    (unknown,) = json.loads(found["unknown_fields"])
    assert (unknown["field"], unknown["wire_type"]) == (126, 3)
    assert len(found["unknown_fields"]) < 20 * depth


def test_a_key_of_a_map_that_is_no_utf8() -> None:
    entry = message(
        "KvEntry", field("key", 1, "string"), field("value", 2, "string"),
        options=descriptor_pb2.MessageOptions(map_entry=True),
    )  # fmt: skip
    known = types(file("a.proto", message("M", field("kv", 1, ".M.KvEntry", "repeated"), nested_type=[entry])))
    raw = bytes.fromhex("0a060a01ff120176")
    with pytest.raises(FormatError, match="a key of a map in a Protobuf message is not UTF-8"):
        decode(raw, known, "A$M")
    with pytest.raises(FormatError, match="a key of a map in a Protobuf message is not UTF-8"):
        in_json(raw.hex(), known, "A$M")


def test_fields_called_like_methods() -> None:
    names = ("HasField", "ListFields", "DESCRIPTOR", "WhichOneof")
    fields = [field(name, number, "int32") for number, name in enumerate(names, 1)]
    known = types(file("a.proto", message("M", *fields, field("in", 5, ".M"))))
    found = decode(bytes.fromhex("0801 1002 2004 2a021803"), known, "A$M")
    assert {name: found[name] for name in names} == {"HasField": 1, "ListFields": 2, "DESCRIPTOR": None, "WhichOneof": 4}
    assert found["in"] == '{"DESCRIPTOR":3}'


def test_googles_messages_are_those_of_the_library() -> None:
    """A file that says it is Google's and holds something else changes nothing; the name alone gives no meaning."""
    other = file("google/protobuf/timestamp.proto", message("Timestamp", field("foo", 1, "string")), package="google.protobuf")
    holder = message("M", field("at", 1, ".google.protobuf.Timestamp"))
    known = types(other, file("a.proto", holder, dependency=["google/protobuf/timestamp.proto"]))
    assert decode(bytes.fromhex("0a020807"), known, "A$M")["at"] == {"seconds": 7, "nanos": 0}
    own = file("t.proto", message("Timestamp", field("foo", 1, "int32")), package="google.protobuf")
    known = types(own, file("a.proto", holder, dependency=["t.proto"]))
    assert decode(bytes.fromhex("0a020807"), known, "A$M")["at"] == {"foo": 7}


def test_a_long_chain_of_imports() -> None:
    chain = [file(f"{i}.proto", message(f"M{i}"), dependency=[f"{i + 1}.proto"] if i < 300 else []) for i in range(301)]
    assert len(types(*chain).java_classes) == 301


def test_sets_that_contradict_each_other() -> None:
    one, other = (types(file("m.proto", message(name))).descriptor_sets[0] for name in ("A", "B"))
    assert ProtobufTypes((one, one)).java_classes == ("M$A",)
    with pytest.raises(UsageError, match=r"different files called m\.proto"):
        _ = ProtobufTypes((one, other)).java_classes
    outer = {"java_outer_classname": "O", "java_package": "j"}
    twice = [file(f"{p}.proto", message("M"), package=p, options=outer) for p in ("a", "b")]
    with pytest.raises(UsageError, match=r"a\.M and b\.M are both j\.O\$M in Java"):
        _ = types(*twice).java_classes


@pytest.mark.parametrize(
    ("name", "more", "java"),
    [
        ("a/some_file-2x.proto", {"package": "p.q"}, "p.q.SomeFile2X$M"),
        ("m.proto", {"package": "p"}, "p.MOuterClass$M"),
        ("in.proto", {"package": "p"}, "p.InOuterClass$M"),
        ("x.proto", {"package": "p", "options": {"java_outer_classname": "Out"}}, "p.Out$M"),
        ("x.proto", {"package": "p", "options": {"java_package": "j", "java_multiple_files": True}}, "j.M"),
        ("x.proto", {"options": {"java_package": ""}}, "X$M"),
        ("x.proto", {"package": "p", "edition": 1001, "syntax": "editions"}, "p.M"),
    ],
)
def test_java_names(name: str, more: dict[str, Any], java: str) -> None:
    found = list(java_names(file(name, message("M", nested_type=[message("In")]), **more)))
    package = f"{more['package']}." if "package" in more else ""
    assert found == [(java, f"{package}M"), (f"{java}$In", f"{package}M.In")]


def test_policies_reach_the_fields() -> None:
    layout = describe(snapshot(JAVA, CHILL), DescribeContext(2, protobuf=types(ORDERS)))
    bent = apply_policy(layout, Policy(strings="binary", maps="list"))
    assert isinstance(bent.arrow_type, pa.StructType)
    assert str(bent.arrow_type.field("counts").type) == "list<item: struct<key: binary, value: int64>>"
    data = kryo(bytes.fromhex("120161 42050a016b1005"))
    value, _ = interpret(bent, data, 0, len(data), ChangeCounts())
    assert (value["name"], value["counts"]) == (b"a", [{"key": b"k", "value": 5}])


# ---- descriptor sets as files


def test_descriptor_sets_in_the_context(tmp_path: Path) -> None:
    place = tmp_path / "orders.desc"
    place.write_bytes(types(ORDERS).descriptor_sets[0])
    context = describe_context("2", 3, protobuf=[str(place)])
    again = decode_context(json.loads(json.dumps(encode_context(context))))
    for found in (context, again):
        assert found.protobuf.java_classes == (JAVA, f"{JAVA}$Line")
    assert decode_context(encode_context(describe_context("2", 3))).protobuf is NO_TYPES


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it contains no file"),
        (b"syntax = 'proto3';", "cannot be parsed"),
        (types(file("a.proto", message("A", field("b", 1, ".B")), dependency=["b.proto"])).descriptor_sets[0],
         "b.proto is imported and not there"),
        (types(file("a.proto", dependency=["b.proto"]), file("b.proto", dependency=["a.proto"])).descriptor_sets[0],
         "not a descriptor set"),
        (types(file("a.proto", message("A", field("b", 1, ".Gone")))).descriptor_sets[0], "not a descriptor set"),
    ],
    ids=["empty", "text", "import", "cycle", "unknown type"],
)  # fmt: skip
def test_what_is_no_descriptor_set(tmp_path: Path, data: bytes, words: str) -> None:
    place = tmp_path / "bad.desc"
    place.write_bytes(data)
    with pytest.raises(UsageError, match=words) as caught:
        describe_context("2", 3, protobuf=[str(place)])
    assert caught.value.file == str(place)


def test_mutated_messages() -> None:
    random_ = random.Random(11)
    known = types(ORDERS)
    layout = describe(snapshot(JAVA, CHILL), DescribeContext(2, protobuf=known))
    damaged = (kryo(mutated(bytes.fromhex(raw), random_)) for _, raw, _ in CASES for _ in range(40))
    assert min(outcomes(layout, damaged)) > 50


# ---- what Flink and twitter/chill wrote

MESSAGES = vectors("messages")
GOOGLES = types(
    *(
        descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        for module in (descriptor_pb2, struct_pb2, timestamp_pb2)
    )
)
_VALUE = '{"$class":"com.google.protobuf.DescriptorProtos$EnumValueDescriptorProto","$value":%s}'
BIG = '{"name":"BIG","number":-3}'
WRITTEN = {
    "registered": {"name": "BIG", "number": -3, "options": None, "unknown_fields": None},
    "empty": {"name": None, "number": None, "options": None, "unknown_fields": None},
    "as Object": {"class": "com.google.protobuf.DescriptorProtos$EnumValueDescriptorProto", "json": BIG},
    "in a list": {"class": "java.util.ArrayList", "json": f"[{_VALUE % BIG},{_VALUE % '{}'},{_VALUE % BIG}]"},
    "by interface": {"seconds": -1, "nanos": 7},
    "by superclass": '{"k":1.5}',
    "Thrift": bytes.fromhex("08 0001 00000005 00"),
}


@pytest.mark.parametrize("vector", MESSAGES, ids=str)
def test_what_chill_wrote(vector: Vector) -> None:
    layout = describe(vector.snapshot, DescribeContext(vector.flavour, protobuf=GOOGLES))  # type: ignore[arg-type]
    found, end = interpret(layout, vector.data, 0, len(vector.data))
    assert end == len(vector.data)
    assert found == WRITTEN[vector.name]


def test_chill_wrote_with_both_versions_of_kryo() -> None:
    assert [(v.flavour, v.name) for v in MESSAGES] == [(f, name) for f in (2, 5) for name in WRITTEN]
