"""Serializers of Kryo that no vector has: calendars of the JDK, and those that a plug-in brings."""

from __future__ import annotations

import json
from typing import Any

import pytest

import serializers.kryo
from serializers.classes import ClassModels
from serializers.kryo import bodies, wire
from serializers.kryo.json_texts import json_text
from serializers.kryo.kryo_values import Obj
from tests.kryo.test_vectors import column
from tests.kryo.zoo import Vector, snapshot_of

FLAVOURS = (2, 5)
NAMED, NEW = b"\x01\x00", b"\x01"
"""A class that is written out for the first time, and an object that was not there before."""


def text(value: str) -> bytes:
    """A text of more than one ASCII character."""
    data = value.encode()
    return data[:-1] + bytes([data[-1] | 0x80])


def both(vector: Vector) -> Any:
    """The value as JSON, by objects and by the decoder of columns."""
    value, end = vector.kryo(ClassModels()).read(vector.data, 0, len(vector.data))
    assert end == len(vector.data)
    (row,) = column(vector, ClassModels()).to_pylist()
    assert row["json"] == json_text(value)
    return row["class"], json.loads(row["json"])


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_calendars(flavour: int) -> None:
    """``CalendarSerializer``: zone, milliseconds, three settings, and when the Gregorian calendar begins."""
    settings = b"\x01\x02\x04"
    body = text("Europe/Berlin") + b"\xff" * 9 + settings + wire_long(-12_219_292_800_000)
    data = NAMED + text("java.util.GregorianCalendar") + NEW + body
    vector = Vector(flavour, "calendar", "java.util.Calendar", "", data, snapshot_of("java.util.Calendar"))
    assert both(vector) == (
        "java.util.GregorianCalendar",
        {
            "zone": "Europe/Berlin", "time": {"$class": "java.util.Date", "$value": "1969-12-31T23:59:59.999Z"},
            "lenient": True, "firstDayOfWeek": 2, "minimalDaysInFirstWeek": 4,
        },
    )  # fmt: skip


def wire_long(number: int) -> bytes:
    """A long that may be negative: zigzag, seven bits in a byte."""
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_plug_in(flavour: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PLUGINS", {})
    money = snapshot_of("com.acme.Money", {"com.acme.Money": "com.acme.MoneySerializer"})
    number_of_money = b"\x57"  # 85, of the first class that the job registers
    vector = Vector(flavour, "money", "com.acme.Money", "", number_of_money + NEW + b"\x05" + text("EUR"), money)

    def factory(class_name: str) -> Any:
        def body(k: Any, s: Any, slot: int, generics: Any) -> Obj:
            return Obj(class_name, "fields", {"cents": wire.vint_signed(s), "currency": wire.string(s)})

        return body

    serializers.kryo.register_kryo_serializer("com.acme.MoneySerializer", factory)
    assert both(vector) == ("com.acme.Money", {"cents": 5, "currency": "EUR"})
    with pytest.raises(AttributeError, match="has no attribute 'register_kryo'"):
        serializers.kryo.register_kryo  # noqa: B018
