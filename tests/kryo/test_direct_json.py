"""The JSON that is written while a value is read: the same as that of the value."""

from __future__ import annotations

import random
from typing import Any, NoReturn

import pytest

from serializers.classes import ClassModels
from serializers.kryo.direct import Direct
from serializers.kryo.json_texts import json_text
from serializers.kryo.kryo_reader import Kryo
from serializers.kryo.kryo_snapshot import registrations
from serializers.kryo.kryo_values import class_of
from serializers.kryo.resolve import kryo_of
from serializers.kryo.shapes import ANY, class_and_json_of
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.layout import Python
from stateextract.columnar.value_reader import ValueReader
from tests.kryo.test_limits import mutated
from tests.kryo.test_vectors import ALL
from tests.kryo.writer import MODELS, SERIALIZERS, written
from tests.kryo.zoo import FLAVOURS, Vector, snapshot_of
from tests.writers.flink_writer import varint

NODE = Python(lambda *_: (None, 0), ANY.layout.arrow_type, ANY.layout)


class NotWrittenError(Exception):
    """A value was not written directly."""


def refuse(r: ValueReader, counts: ChangeCounts) -> NoReturn:
    raise NotWrittenError


def is_written(kryo: Kryo, direct: Direct, data: bytes) -> bool:
    """Whether a value was written directly; then class, text and end are those of the value."""
    direct.wait = 0
    reader, counts = ValueReader(data), ChangeCounts()
    try:
        found = direct.decoder(NODE, refuse)(reader, counts)
    except NotWrittenError:
        assert (reader.pos, counts) == (0, ChangeCounts())
        return False
    value, end = kryo.read(data, 0, len(data))
    expected = ChangeCounts()
    assert found == class_and_json_of(ANY.layout)(class_of(value), json_text(value), expected)
    assert (reader.pos, counts) == (end, expected)
    return True


@pytest.mark.parametrize(("vector", "classes"), ALL, ids=str)
def test_vectors(vector: Vector, classes: ClassModels) -> None:
    kryo = vector.kryo(classes)
    direct, random_ = Direct(kryo), random.Random(str(vector))
    is_written(kryo, direct, vector.data)
    for _ in range(5):
        is_written(kryo, direct, mutated(vector.data, random_))
        is_written(kryo, direct, vector.data)


def test_most_are_written() -> None:
    found = [is_written(kryo, Direct(kryo), v.data) for v, classes in ALL for kryo in [v.kryo(classes)]]
    assert sum(found) > 450


@pytest.mark.parametrize("shared", [0.02, 0.4])
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("declared", ["w.Holder", "w.Base", "w.Final", "java.lang.Object"])
def test_graphs(declared: str, flavour: int, shared: float) -> None:
    """Objects that refer to each other, some of them in circles."""
    kryo = kryo_of(flavour, registrations(snapshot_of(declared, SERIALIZERS), flavour), MODELS)  # type: ignore[arg-type]
    direct, random_ = Direct(kryo), random.Random(f"{declared} {flavour} {shared}")
    count = 0
    for _ in range(40):
        data = written(flavour, declared, random_, shared)
        count += is_written(kryo, direct, data)
        is_written(kryo, direct, mutated(data, random_))
    assert count > (3 if declared == "w.Holder" else 10)  # a holder has views and Guava's classes, which are read as objects


def test_too_large() -> None:
    """Each list holds a list and then that list again, so texts double with every level."""
    kryo = kryo_of(2, registrations(snapshot_of("java.util.ArrayList"), 2), ClassModels({}))
    for depth, is_small in ((5, True), (30, False)):
        again = b"".join(b"\x57" + bytes([2 + n]) for n in range(depth, 0, -1))
        nested = b"\x57\x01\x02" * depth + b"\x57\x01\x00" + again
        assert is_written(kryo, Direct(kryo), nested) is is_small


def test_many_class_names() -> None:
    """The number of the 129th name has two bytes; the second value has the names that are known from the first one."""
    kryo = kryo_of(2, registrations(snapshot_of("java.util.ArrayList"), 2), ClassModels({}))
    names = [b"\x01" + varint(n) + b"[" * (n + 1) + bytes([ord("I") | 0x80]) + b"\x00" for n in range(140)]
    data = b"\x57\x01" + varint(len(names)) + b"".join(names)
    for _ in range(2):
        value, end = kryo.read(data, 0, len(data))
        assert (value.value, end) == ([None] * 140, len(data))
        assert is_written(kryo, Direct(kryo), data)


def test_it_waits_after_values_that_it_does_not_write() -> None:
    kryo = kryo_of(2, registrations(snapshot_of("java.util.ArrayList"), 2), ClassModels({}))
    direct = Direct(kryo)
    cycle, empty = b"\x57\x01\x01\x57\x02", b"\x57\x01\x00"
    tried: list[bytes] = []

    def read(data: bytes) -> Any:
        return direct.decoder(NODE, lambda r, counts: tried.append(data))(ValueReader(data), ChangeCounts())

    assert [read(cycle) for _ in range(4)] == [None] * 4
    assert tried == [cycle] * 4
    assert direct.pause > direct.wait >= 1
    found = [read(empty) for _ in range(direct.wait + 2)]
    assert found[-1] == {"class": "java.util.ArrayList", "json": "[]"}
    assert direct.pause == 0
