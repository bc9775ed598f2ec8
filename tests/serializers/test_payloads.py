"""Payloads of snapshots that are more than a composition: each is read to its last byte, and no cut one is taken."""

from __future__ import annotations

import struct

import pytest

from serializers import is_fixed_length, read_snapshot
from serializers.scalars import BASE
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

SQL = "org.apache.flink.table.runtime."
TYPES = SQL + "typeutils."
PYTHON = TYPES + "serializers.python."
LINKED = SQL + "sequencedmultisetstate.linked."
AVRO = "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot"
CEP = "org.apache.flink.cep.nfa."
SCALA = "org.apache.flink.table.api.typeutils."
KRYO = "org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializerSnapshot"


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def fstr(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def nested(n: int) -> bytes:
    return i32(1333245, 1, n) + LONG * n


def composite(n: int, outer: bytes = b"", version: int = 1) -> bytes:
    return i32(911108, version) + outer + nested(n)


LONG = utf(f"{BASE}LongSerializer$LongSerializerSnapshot") + i32(3)
JAVA = bytes.fromhex("aced000574000178")
EMPTY_MAP = struct.pack(">qi", 0x4F2C69A3D70, 0)

CASES = {
    "row": (f"{TYPES}RowDataSerializer$RowDataSerializerSnapshot", 3, i32(2) + JAVA * 2 + nested(2)),
    "row with names": (
        f"{TYPES}RowDataSerializer$RowDataSerializerSnapshot",
        4,
        i32(2) + JAVA * 2 + nested(2) + b"\1" + utf("id") + utf("n"),
    ),
    "row of version 4 without names": (
        f"{TYPES}RowDataSerializer$RowDataSerializerSnapshot",
        4,
        i32(1) + JAVA + nested(1) + b"\0",
    ),
    "sorted map": (f"{TYPES}SortedMapSerializerSnapshot", 3, JAVA + nested(2)),
    "row key": (
        f"{LINKED}RowDataKeySerializerSnapshot",
        0,
        i32(3) + b"abc" + i32(0) + LONG,
    ),
    "node": (f"{LINKED}NodeSerializer$NodeSerializerSnapshot", 3, composite(6, version=0)),
    "window key": (f"{TYPES}WindowKeySerializer$WindowKeySerializerSnapshot", 3, composite(1)),
    "linked list of 1.13": (f"{TYPES}LinkedListSerializer$LinkedListSerializerSnapshot", 3, composite(1)),
    "linked list": (f"{TYPES}LinkedListSerializer$LinkedListSerializerSnapshot", 3, composite(1, b"\0", 3)),
    "python array": (f"{PYTHON}ArrayDataSerializer$ArrayDataSerializerSnapshot", 1, JAVA * 2),
    "python map": (f"{PYTHON}MapDataSerializer$BaseMapSerializerSnapshot", 1, JAVA * 4),
    "python decimal": (f"{PYTHON}DecimalDataSerializer$DecimalSerializerSnapshot", 1, i32(10, 2)),
    "python timestamp": (f"{PYTHON}TimestampSerializer$TimestampSerializerSnapshot", 1, i32(3)),
    "python time": (f"{PYTHON}TimeSerializer$TimeSerializerSnapshot", 3, b""),
    "Avro 1": (AVRO, 1, utf('"int"')),
    "Avro 2": (AVRO, 2, utf("x.A") + utf('"int"')),
    "Avro 3": (AVRO, 3, fstr("x.A") + fstr('"int"')),
    "NFA of 1.13": (f"{CEP}NFAStateSerializerSnapshot", 3, composite(3)),
    "NFA": (f"{CEP}NFAStateSerializerSnapshot", 3, composite(3, b"\1", 2)),
    "Scala enumeration": (f"{SCALA}ScalaEnumSerializerSnapshot", 3, utf("x.E") + i32(1) + utf("A") + i32(7)),
    "Scala try": (f"{SCALA}ScalaTrySerializerSnapshot", 3, composite(2, version=2)),
    "Scala collection": (f"{SCALA}TraversableSerializerSnapshot", 3, composite(1, utf("implicitly[Seq]"), 2)),
}


@pytest.mark.parametrize("case", CASES)
def test_payload_is_read_to_its_end(case: str) -> None:
    name, version, payload = CASES[case]
    reader = Reader(utf(name) + i32(version) + payload + b"next")
    snapshot = read_snapshot(reader)
    assert bytes(reader.bytes(reader.remaining)) == b"next"
    assert (snapshot.class_name, snapshot.version) == (name, version)
    assert is_fixed_length(snapshot) is (case == "Scala enumeration")


@pytest.mark.parametrize("case", CASES)
def test_cut_payloads(case: str) -> None:
    name, version, payload = CASES[case]
    data = utf(name) + i32(version) + payload
    for cut in range(len(utf(name)), len(data)):
        with pytest.raises(FormatError):
            read_snapshot(Reader(data[:cut]))


def test_what_was_read() -> None:
    def details(case: str) -> dict[str, object]:
        name, version, payload = CASES[case]
        return dict(read_snapshot(Reader(utf(name) + i32(version) + payload)).details)

    assert details("row with names") == {"types": (JAVA, JAVA), "names": ("id", "n")}
    assert details("Avro 3") == {"class": "x.A", "schema": '"int"'}
    assert details("Avro 1") == {"class": None, "schema": '"int"'}
    assert details("linked list of 1.13") == {"null_mask": False}
    assert details("NFA") == {"previous_timestamp": True}
    assert details("Scala enumeration") == {"class": "x.E", "constants": (("A", 7),)}
    assert details("python decimal") == {"precision": 10, "scale": 2}


@pytest.mark.parametrize("window", ["TimeWindow", "CountWindow", "GlobalWindow"])
def test_sql_windows_are_of_fixed_length(window: str) -> None:
    name = f"{SQL}operators.window.{window}$Serializer${window}SerializerSnapshot"
    assert is_fixed_length(read_snapshot(Reader(utf(name) + i32(3))))
