"""Classes that write themselves, as Flink 2.3 and Hadoop 3.3.6 wrote them, and as the user describes them."""

from __future__ import annotations

from typing import Any

import pytest

from serializers import DescribeContext, SerializerSnapshot, describe, is_fixed_length
from serializers.classes import ClassModels, class_model
from serializers.tuples import RUNTIME
from stateextract.columnar.convert.policy import ChangeCounts, Policy, apply_policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Undecodable
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UsageError
from stateextract.files.block import Block

HADOOP = "org.apache.hadoop.io."
FLINK = "org.apache.flink.types."


def snapshot(class_name: str, kind: str = "Writable") -> SerializerSnapshot:
    return SerializerSnapshot(f"{RUNTIME}{kind}Serializer${kind}SerializerSnapshot", 2, details={"class": class_name})


def context(*entries: dict[str, Any]) -> DescribeContext:
    return DescribeContext(5, ClassModels.of(map(class_model, entries)))


def value(snapshot: SerializerSnapshot, data: str, described: DescribeContext | None = None) -> Any:
    """Decoded whole, and by whatever engine is chosen."""
    raw = bytes.fromhex(data)
    layout = describe(snapshot, described or DescribeContext())
    found, end = interpret(layout, raw, 0, len(raw))
    assert end == len(raw)
    decoder = make_decoder(layout, Policy())
    assert decoder.decode(Block.of(raw), 0, len(raw), 1).entries == 1
    array = decoder.flush()
    assert array.type == layout.arrow_type
    assert array.to_pylist() == [found]
    return found


HADOOPS = [
    ("IntWritable", "fffffffe", -2),
    ("LongWritable", "0000010000000000", 1 << 40),
    ("FloatWritable", "3fc00000", 1.5),
    ("DoubleWritable", "bfe0000000000000", -0.5),
    ("BooleanWritable", "01", True),
    ("ByteWritable", "fd", -3),
    ("ShortWritable", "fed4", -300),
    ("VIntWritable", "00", 0),
    ("VIntWritable", "ff", -1),
    ("VIntWritable", "7f", 127),
    ("VIntWritable", "90", -112),
    ("VIntWritable", "8770", -113),
    ("VIntWritable", "8f80", 128),
    ("VIntWritable", "8fff", 255),
    ("VIntWritable", "8e0100", 256),
    ("VIntWritable", "87ff", -256),
    ("VIntWritable", "860100", -257),
    ("VIntWritable", "8c7fffffff", 2**31 - 1),
    ("VIntWritable", "847fffffff", -(2**31)),
    ("VLongWritable", "8a010000000000", 1 << 40),
    ("VLongWritable", "887fffffffffffffff", 2**63 - 1),
    ("VLongWritable", "807fffffffffffffff", -(2**63)),
    ("VLongWritable", "8780", -129),
    ("NullWritable", "", None),
    ("Text", "0768c3a9f09f9880", "hé😀"),
    ("Text", "00", ""),
    ("Text", "8fc8" + "78" * 200, "x" * 200),
    ("BytesWritable", "00000003010203", b"\1\2\3"),
    ("MD5Hash", "9dd4e461268c8034f5c8564e155c67a6", bytes.fromhex("9dd4e461268c8034f5c8564e155c67a6")),
]


@pytest.mark.parametrize(("name", "data", "expected"), HADOOPS, ids=[f"{n} {d[:18]}" for n, d, _ in HADOOPS])
def test_hadoop(name: str, data: str, expected: Any) -> None:
    assert value(snapshot(HADOOP + name), data) == expected


@pytest.mark.parametrize(("name", "data", "expected"), HADOOPS, ids=[f"{n} {d[:18]}" for n, d, _ in HADOOPS])
def test_cut_short(name: str, data: str, expected: Any) -> None:
    raw = bytes.fromhex(data)
    layout = describe(snapshot(HADOOP + name))
    for length in range(len(raw)):
        with pytest.raises(TruncatedError):
            interpret(layout, raw[:length], 0, length)


def test_numbers_that_their_class_cannot_hold() -> None:
    with pytest.raises(FormatError, match="in 32 bits"):
        value(snapshot(HADOOP + "VIntWritable"), "8b0080000000")
    with pytest.raises(FormatError, match="in 64 bits"):
        value(snapshot(HADOOP + "VLongWritable"), "888000000000000000")
    with pytest.raises(FormatError, match="negative length"):
        value(snapshot(HADOOP + "Text"), "ff")


def test_text_that_is_no_utf8() -> None:
    layout = describe(snapshot(HADOOP + "Text"))
    counts = ChangeCounts()
    assert interpret(layout, b"\3a\xff\xfe", 0, 4, counts) == ("a��", 4)
    assert counts == ChangeCounts(malformed_utf8=2)
    binary = apply_policy(layout, Policy(strings="binary"))
    assert interpret(binary, b"\3a\xff\xfe", 0, 4) == (b"a\xff\xfe", 4)
    assert str(binary.arrow_type) == "binary"


@pytest.mark.parametrize("kind", ["Value", "CopyableValue", "Writable"])
def test_an_unknown_class_is_named(kind: str) -> None:
    layout = describe(snapshot("com.acme.Reading", kind))
    assert isinstance(layout, Undecodable)
    assert layout.class_name == "com.acme.Reading"


def test_as_the_user_describes_it() -> None:
    parts = {
        "a": "boolean", "b": "byte", "c": "short", "d": "char", "e": "int", "f": "long", "g": "float", "h": "double",
        "i": "utf", "j": "flink string",
    }  # fmt: skip
    described = context({"name": "com.acme.Reading", "written": parts})
    data = "01ff010200410000000300000000000000043fc000003ff80000000000000002c3a90269"
    found = value(snapshot("com.acme.Reading", "Value"), data, described)
    assert list(found.values()) == [True, -1, 258, "A", 3, 4, 1.5, 1.5, "é", "i"]
    assert make_decoder(describe(snapshot("com.acme.Reading"), described), Policy(), engine="kernel").engine == "kernel"
    hadoop = context({"name": "com.acme.H", "written": {"a": "hadoop text", "b": "hadoop vint", "c": "hadoop vlong"}})
    assert value(snapshot("com.acme.H"), "01618f808780", hadoop) == {"a": "a", "b": 128, "c": -129}


def test_calls_that_belong_to_others() -> None:
    with pytest.raises(UsageError, match="'x' cannot be written as 'varint'"):
        describe(snapshot("A"), context({"name": "A", "written": {"x": "varint"}}))
    kryo = RUNTIME + "kryo.KryoSerializerSnapshot"
    with pytest.raises(UsageError, match="'x' cannot be written as 'utf'"):
        describe(SerializerSnapshot(kryo, 2, details={"class": "A"}), context({"name": "A", "written": {"x": "utf"}}))


def test_lists_and_maps_of_values() -> None:
    described = context(
        {"name": "Names", "superclass": f"{FLINK}ListValue<{FLINK}StringValue>"},
        {"name": "Counts", "superclass": f"{FLINK}MapValue<{FLINK}StringValue, Reading>"},
        {"name": "Reading", "written": {"celsius": "double"}},
        {"name": "Endless", "superclass": f"{FLINK}ListValue<Endless>"},
    )
    assert value(snapshot("Names", "Value"), "00000002016100", described) == ["a", ""]
    found = value(snapshot("Counts", "Value"), "0000000101613ff8000000000000", described)
    assert found == [("a", {"celsius": 1.5})]
    assert value(snapshot("Endless", "Value"), "0000000100000000", described) == [[]]
    for name in ("Names", "Counts"):
        assert isinstance(describe(snapshot(name, "Value")), Undecodable)


def test_fixed_lengths() -> None:
    """``CopyableValueSerializer.getLength`` asks the class; of a user's class nobody knows what it says."""
    lengths = {
        FLINK + "IntValue": True, FLINK + "StringValue": False, FLINK + "NullValue": True, HADOOP + "IntWritable": False,
    }  # fmt: skip
    for name, fixed in lengths.items():
        assert is_fixed_length(snapshot(name, "CopyableValue")) is fixed
    assert not is_fixed_length(snapshot(FLINK + "IntValue", "Value"))


def test_any_bytes_end_in_a_value_or_an_error() -> None:
    for name, _, _ in HADOOPS:
        layout = describe(snapshot(HADOOP + name))
        for first in range(256):
            raw = bytes([first]) * 9
            try:
                _, end = interpret(layout, raw, 0, len(raw))
            except StateExtractError as error:
                end = error.offset or 0
            assert 0 <= end <= len(raw)
