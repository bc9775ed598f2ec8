"""The Java object stream parser, on streams put together by hand after the specification's grammar."""

from __future__ import annotations

import math
import random
import struct

import pytest

from stateextract.errors import FormatError, StateExtractError, TruncatedError, UnsupportedError
from stateextract.files.javastream import (
    JavaArray,
    JavaClass,
    JavaClassDescriptor,
    JavaEnum,
    JavaLimits,
    JavaObject,
    JavaValue,
    java_container,
    java_elements,
    parse_java_stream,
)
from stateextract.files.reader import Reader

HEADER = bytes.fromhex("aced0005")
NULL = b"\x70"
END = b"\x78"


def utf(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">H", len(raw)) + raw


def string(text: str) -> bytes:
    return b"\x74" + utf(text)


def reference(index: int) -> bytes:
    return b"\x71" + struct.pack(">i", 0x7E0000 + index)


def descriptor(
    name: str, fields: bytes = b"", *, n: int = 0, flags: int = 2, uid: int = 1, parent: bytes = NULL
) -> bytes:
    return b"\x72" + utf(name) + struct.pack(">qBH", uid, flags, n) + fields + END + parent


def array_list(*contents: bytes) -> bytes:
    """``java.util.ArrayList``; takes two handles (descriptor, list) before those of its contents."""
    head = descriptor("java.util.ArrayList", b"I" + utf("size"), n=1, flags=3, uid=8683452581122892189)
    size = struct.pack(">i", len(contents))
    return b"\x73" + head + size + b"\x77\x04" + size + b"".join(contents) + END


def parse(body: bytes, limits: JavaLimits | None = None) -> JavaValue:
    reader = Reader(HEADER + body + b"rest")
    value = parse_java_stream(reader, limits)
    assert bytes(reader.bytes(reader.remaining)) == b"rest", "the reader does not stand behind the object"
    return value


INT_NOT_NULL = (  # a real one: the type of an INT NOT NULL column
    b"\x73"
    + descriptor(
        "org.apache.flink.table.types.logical.IntType",
        parent=descriptor(
            "org.apache.flink.table.types.logical.LogicalType",
            b"Z"
            + utf("isNullable")
            + b"L"
            + utf("typeRoot")
            + string("Lorg/apache/flink/table/types/logical/LogicalTypeRoot;"),
            n=2,
        ),
    )
    + b"\x00"
    + b"\x7e"
    + descriptor(
        "org.apache.flink.table.types.logical.LogicalTypeRoot",
        flags=0x12,
        uid=0,
        parent=descriptor("java.lang.Enum", flags=0x12, uid=0),
    )
    + string("INTEGER")
)


def test_simple_contents() -> None:
    assert parse(NULL) is None
    assert parse(string("x")) == "x"
    assert parse(b"\x74\x00\x02\xc0\x80") == "\x00"
    assert parse(b"\x7c" + struct.pack(">q", 70000) + b"y" * 70000) == "y" * 70000
    assert parse(b"\x76" + descriptor("a.B")) == JavaClass("a.B")


def test_object_with_superclass_and_enum() -> None:
    value = parse(INT_NOT_NULL)
    assert isinstance(value, JavaObject)
    assert value.class_name == "org.apache.flink.table.types.logical.IntType"
    root = JavaEnum("org.apache.flink.table.types.logical.LogicalTypeRoot", "INTEGER")
    assert value.fields == {
        "org.apache.flink.table.types.logical.LogicalType": {"isNullable": False, "typeRoot": root},
        "org.apache.flink.table.types.logical.IntType": {},
    }
    assert list(value.fields) == [
        "org.apache.flink.table.types.logical.LogicalType",
        "org.apache.flink.table.types.logical.IntType",
    ]
    assert value.get("typeRoot") == root
    assert value.get("nothing") is None
    assert value.annotations == {}


def test_every_primitive_field() -> None:
    kinds = b"".join(kind.encode() + utf(kind.lower()) for kind in "BCDFIJSZ")
    data = struct.pack(">bHdfiqh?", -2, 0xD83D, -0.0, math.inf, -(2**31), 2**63 - 1, -3, True)
    value = parse(b"\x73" + descriptor("P", kinds, n=8) + data)
    assert isinstance(value, JavaObject)
    fields = value.fields["P"]
    assert fields == {
        "b": -2,
        "c": "\ud83d",
        "d": 0.0,
        "f": math.inf,
        "i": -(2**31),
        "j": 2**63 - 1,
        "s": -3,
        "z": True,
    }
    assert math.copysign(1, fields["d"]) == -1  # type: ignore[arg-type]


def test_handles_count_descriptors_strings_and_objects_in_order_of_appearance() -> None:
    # 0: the descriptor, 1: the type string, 2: the object, 3: "v"; the second field refers to 3.
    fields = b"L" + utf("a") + string("Ljava/lang/String;") + b"L" + utf("b") + reference(1)
    value = parse(b"\x73" + descriptor("P", fields, n=2) + string("v") + reference(3))
    assert isinstance(value, JavaObject)
    assert value.fields == {"P": {"a": "v", "b": "v"}}
    # A reference to the object itself.
    cycle = parse(b"\x73" + descriptor("P", fields, n=2) + reference(2) + NULL)
    assert isinstance(cycle, JavaObject)
    assert cycle.get("a") is cycle
    assert repr(cycle) == "JavaObject('P')"


def test_class_descriptor_as_object_and_by_reference() -> None:
    value = parse(array_list(descriptor("Q", uid=7), b"\x73" + reference(2)))
    elements = java_elements(value)
    assert elements is not None
    described, made = elements
    assert isinstance(described, JavaClassDescriptor)
    assert (described.name, described.uid, described.flags) == ("Q", 7, 2)
    assert isinstance(made, JavaObject)
    assert made.class_name == "Q"


def test_arrays() -> None:
    ints = parse(b"\x75" + descriptor("[I") + struct.pack(">3i", 2, 1, -1))
    assert isinstance(ints, JavaArray)
    assert (ints.class_name, ints.elements) == ("[I", [1, -1])
    raw = parse(b"\x75" + descriptor("[B") + struct.pack(">i", 3) + b"abc")
    assert isinstance(raw, JavaArray)
    assert raw.elements == b"abc"
    chars = parse(b"\x75" + descriptor("[C") + struct.pack(">iHH", 2, 0x41, 0xE9))
    assert isinstance(chars, JavaArray)
    assert chars.elements == ["A", "é"]
    booleans = parse(b"\x75" + descriptor("[Z") + struct.pack(">i", 2) + b"\x00\x01")
    assert isinstance(booleans, JavaArray)
    assert booleans.elements == [False, True]
    objects = parse(
        b"\x75" + descriptor("[Ljava.lang.Object;") + struct.pack(">i", 3) + string("a") + NULL + reference(2)
    )
    assert isinstance(objects, JavaArray)
    assert objects.elements == ["a", None, "a"]


def test_proxy_class() -> None:
    body = b"\x73\x7d" + struct.pack(">i", 1) + utf("java.util.List") + END
    body += descriptor("java.lang.reflect.Proxy", b"L" + utf("h") + string("Lx;"), n=1) + string("handler")
    value = parse(body)
    assert isinstance(value, JavaObject)
    assert value.fields == {"java.lang.reflect.Proxy": {"h": "handler"}, "": {}}


def test_annotations_keep_block_data_and_objects() -> None:
    value = parse(b"\x73" + descriptor("W", flags=3) + b"\x77\x02ab" + string("x") + b"\x7a\x00\x00\x00\x01c" + END)
    assert isinstance(value, JavaObject)
    assert value.annotations == {"W": [b"ab", "x", b"c"]}
    outside = parse(b"\x73" + descriptor("E", flags=0x0C) + b"\x77\x01z" + END)
    assert isinstance(outside, JavaObject)
    assert outside.annotations == {"E": [b"z"]}


def test_reset_forgets_handles() -> None:
    assert parse(b"\x79" + string("x")) == "x"
    with pytest.raises(FormatError, match="reference to handle 0 of 0"):
        parse(b"\x79" + reference(0))
    with pytest.raises(FormatError, match="unexpected tag 0x79"):
        parse(array_list(b"\x79"))


def test_elements_of_collections() -> None:
    assert java_elements(parse(array_list(string("a"), NULL, string("b")))) == ["a", None, "b"]
    wrapper = descriptor("java.util.Arrays$ArrayList", b"[" + utf("a") + string("[Ljava/lang/Object;"), n=1)
    array = b"\x75" + descriptor("[Ljava.lang.String;") + struct.pack(">i", 1) + string("only")
    assert java_elements(parse(b"\x73" + wrapper + array)) == ["only"]
    immutable = descriptor("java.util.CollSer", b"I" + utf("tag"), n=1, flags=3)
    body = b"\x73" + immutable + struct.pack(">i", 1) + b"\x77\x04" + struct.pack(">i", 1) + string("one") + END
    assert java_elements(parse(body)) == ["one"]
    outer = b"L" + utf("c") + string("Ljava/util/Collection;")
    inner = b"L" + utf("list") + string("Ljava/util/List;")
    unmodifiable = descriptor(
        "java.util.Collections$UnmodifiableList",
        inner,
        n=1,
        parent=descriptor("java.util.Collections$UnmodifiableCollection", outer, n=1),
    )
    # Handles: 0 and 2 the descriptors, 1 and 3 their type strings, 4 the wrapper, 5 the list's descriptor, 6 the list.
    assert java_elements(parse(b"\x73" + unmodifiable + array_list(string("in")) + reference(6))) == ["in"]
    assert java_elements(parse(b"\x73" + descriptor("java.util.Collections$EmptyList"))) == []
    assert java_elements("text") is None
    assert java_elements(parse(b"\x73" + unmodifiable + NULL + reference(4))) is None


SORTED = (  # new TreeSet<>(Comparator.reverseOrder()) with "a" and "b"
    "aced0005737200116a6176612e7574696c2e54726565536574dd98509395ed875b0300007870737200276a6176612e7574696c2e436f6c6c"
    "656374696f6e732452657665727365436f6d70617261746f7264048af0534e4ad00200007870770400000002740001627400016178"
)
SINGLE = (  # Collections.singletonList("a")
    "aced0005737200236a6176612e7574696c2e436f6c6c656374696f6e732453696e676c65746f6e4c6973742aef29103ca79b970200014c00"
    "07656c656d656e747400124c6a6176612f6c616e672f4f626a6563743b787074000161"
)


@pytest.mark.parametrize(("data", "kind", "elements"), [(SORTED, "set", ["b", "a"]), (SINGLE, "list", ["a"])])
def test_containers_as_java_writes_them(data: str, kind: str, elements: list[str]) -> None:
    assert java_container(parse_java_stream(Reader(bytes.fromhex(data)))) == (kind, elements)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"\x7b", "broke off with an exception"),
        (b"\x77\x01a", "unexpected tag 0x77"),
        (END, "unexpected tag 0x78"),
        (b"\x00", "unexpected tag 0x00"),
        (reference(0), "reference to handle 0 of 0"),
        (reference(-1), "reference to handle -1 of 0"),
        (b"\x73" + NULL, "an object without a class"),
        (b"\x73" + string("x"), "unexpected tag 0x74"),
        (b"\x73" + descriptor("[I"), "not the class of a plain object"),
        (b"\x73" + descriptor("E", flags=0x12), "not the class of a plain object"),
        (b"\x73" + descriptor("X", flags=6), "contradicting flags"),
        (b"\x73" + descriptor("X", parent=reference(0)), "not a class descriptor"),
        (b"\x73" + descriptor("X", parent=descriptor("X")), "its own superclass"),
        (b"\x73" + descriptor("X", b"Q" + utf("f"), n=1), "unknown type 'Q'"),
        (b"\x73" + descriptor("X", b"L" + utf("f") + string("[x"), n=1), "type '\\[x' of field 'f'"),
        (b"\x73" + descriptor("X", b"L" + utf("f") + NULL, n=1), "is not a string"),
        (b"\x73" + descriptor("X", b"I" + utf("f") + b"J" + utf("f"), n=2), "twice in one class"),
        (b"\x75" + descriptor("I") + bytes(4), "not the class of an array"),
        (b"\x75" + descriptor("[I") + b"\x7f\xff\xff\xff", "invalid number 2147483647"),
        (b"\x75" + descriptor("[I") + b"\xff\xff\xff\xff", "invalid number -1"),
        (b"\x7e" + descriptor("E", flags=2) + string("A"), "not an enum"),
        (b"\x7e" + descriptor("E", flags=0x12) + NULL, "is not a string"),
        (b"\x7c" + struct.pack(">q", -5), "negative length -5"),
        (b"\x7c" + struct.pack(">q", 2) + b"\xff\xff", "not modified UTF-8"),
        (b"\x73" + descriptor("W", flags=3) + b"\x7a\xff\xff\xff\xff", "negative length -1"),
    ],
)
def test_refused(body: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse(body)
    assert caught.value.offset is not None


def test_externalizable_without_blocks_has_no_end() -> None:
    with pytest.raises(UnsupportedError, match="written without its length"):
        parse(b"\x73" + descriptor("E", flags=4))


def test_header_and_position_in_the_file() -> None:
    with pytest.raises(FormatError, match="not a Java object stream") as caught:
        parse_java_stream(Reader(b"xx\xac\xed\x00\x04\x70", pos=2, base=1000))
    assert caught.value.offset == 1002
    with pytest.raises(FormatError, match="unexpected tag 0x01") as caught:
        parse_java_stream(Reader(HEADER + b"\x01", base=1000))
    assert caught.value.offset == 1004


def test_limits() -> None:
    nested = NULL
    for _ in range(40):
        nested = array_list(nested)
    parse(nested)
    for _ in range(400):
        nested = array_list(nested)
    with pytest.raises(FormatError, match="nested deeper than 100"):
        parse(nested)
    with pytest.raises(FormatError, match="more than 5 values"):
        parse(array_list(*[NULL] * 10), JavaLimits(values=5))
    with pytest.raises(FormatError, match="more than 5 values"):
        parse(b"\x75" + descriptor("[S") + struct.pack(">i", 10) + bytes(20), JavaLimits(values=5))


def test_every_prefix_is_an_error() -> None:
    whole = HEADER + INT_NOT_NULL
    parse_java_stream(Reader(whole))
    for end in range(len(whole)):
        with pytest.raises(TruncatedError):
            parse_java_stream(Reader(whole[:end]))


def test_flipped_bytes_raise_only_our_errors() -> None:
    seeded = random.Random(7)
    whole = HEADER + array_list(INT_NOT_NULL, string("x"), NULL)
    failed = 0
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(seeded.choice((1, 1, 2, 4))):
            data[seeded.randrange(len(data))] = seeded.randrange(256)
        try:
            parse_java_stream(Reader(data))
        except StateExtractError:
            failed += 1
    assert 500 < failed < 3000, "most damage is in names and does not show, some must"
