"""``Optional<X>`` is a nullable X, wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest

from serializers.classes import ClassModels
from serializers.javatypes import parse_type
from serializers.kryo.columns import Planner
from serializers.kryo.kryo_snapshot import registrations
from serializers.kryo.kryo_values import Obj
from serializers.kryo.resolve import kryo_of
from serializers.kryo.shapes import Shaping
from stateextract.columnar.convert.policy import ChangeCounts
from tests.kryo.zoo import snapshot_of

OPTIONAL = "java.util.Optional"


def some(value: Any) -> Obj:
    return Obj(OPTIONAL, "wrapped", value)


@pytest.mark.parametrize(
    ("type_", "column", "value", "shaped"),
    [
        ("Optional<java.lang.Long>", "int64", some(5), 5),
        ("Optional<java.lang.Long>", "int64", some(None), None),
        ("Optional<java.lang.Long>", "int64", None, None),
        ("Optional<java.lang.String>", "string", some("a"), "a"),
        ("Optional<java.util.Optional<java.lang.String>>", "string", some(some(None)), None),
        ("List<java.util.Optional<java.lang.Long>>", "list<item: int64>", Obj("java.util.ArrayList", "list",
         [some(1), some(None)]), [1, None]),
        ("Optional<java.util.List<java.lang.Long>>", "list<item: int64>", some(Obj("java.util.ArrayList", "list", [2])), [2]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [2, 5])
def test_optional(version: Any, type_: str, column: str, value: Any, shaped: Any) -> None:
    kryo = kryo_of(version, registrations(snapshot_of(OPTIONAL), version), ClassModels())
    planned = Planner(kryo).plan(parse_type(f"java.util.{type_}"))
    assert str(planned.layout.arrow_type) == column
    assert planned.shape(planned.layout)(value, Shaping(ChangeCounts())) == shaped
