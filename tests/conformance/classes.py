"""The classes that Kryo wrote in Flink's files and in the cases, as a user would describe them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from serializers import DescribeContext
from serializers.classes import ClassModels, class_model
from serializers.context import flavour_of
from stateextract.metadata.parser import parse_metadata
from tests.conformance.conftest import flink_files

_TEXT = "java.lang.String"
_ANIMALS = "org.apache.flink.api.java.typeutils.runtime.kryo.KryoPojosForMigrationTests$"

CASES: list[dict[str, Any]] = [
    {"name": "holdout.model.Address", "fields": {"city": _TEXT, "street": _TEXT, "zip": "java.lang.Integer"}},
    {"name": "holdout.model.Color", "constants": ["RED", "GREEN", "BLUE", "ULTRA_VIOLET"]},
    {
        "name": "holdout.model.Shape$Square",
        "superclass": "holdout.model.Shape",
        "fields": {"side": "long", "where": "holdout.model.Address"},
    },
    {"name": "holdout.model.Secret", "fields": {"code": "int", "salts": "long[]", "word": _TEXT}},
    # Its own serializer writes a long and a string.
    {"name": "holdout.model.Money", "written": {"units": "long", "currency": "string"}},
]

ANIMALS: list[dict[str, Any]] = [
    {"name": _ANIMALS + "Animal"},
    {"name": _ANIMALS + "Dog", "superclass": _ANIMALS + "Animal", "fields": {"name": _TEXT}},
]


@cache
def entries() -> list[dict[str, Any]]:
    """All of them, as a user describes them."""
    listed = json.loads((flink_files() / "expected" / "kryo-classes.json").read_text())
    given: list[dict[str, Any]] = [{"name": name, "fields": dict(fields)} for name, fields in listed.items()]
    # The list gives a subclass all its fields; a model says which class they are of.
    event, below = "org.apache.flink.cep.Event", "org.apache.flink.cep.SubEvent"
    given += [{"name": below, "superclass": event, "fields": {"volume": "double"}}]
    return [*given, *CASES, *ANIMALS]


@cache
def models() -> ClassModels:
    """The same as models."""
    return ClassModels.of(map(class_model, entries()))


def context_of(path: Path) -> DescribeContext:
    """The context of a snapshot's folder, or of a file whose name says the release that wrote it."""
    metadata = path / "_metadata"
    if metadata.is_file():
        return DescribeContext(flavour_of(parse_metadata(metadata.read_bytes()).version), models())
    release = re.search(r"(?:flink|-)(\d+)\.\d+", path.name)
    assert release is not None, path
    return DescribeContext(5 if int(release[1]) > 1 else 2, models())
