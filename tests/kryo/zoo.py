"""The classes and vectors that ``generate.py`` makes, and what the tests need to read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from serializers import SerializerSnapshot, read_snapshot
from serializers.classes import ClassModels, class_model
from serializers.kryo.kryo_reader import Kryo
from serializers.kryo.kryo_snapshot import registrations
from serializers.kryo.resolve import kryo_of
from serializers.registry import KRYO_SNAPSHOT
from stateextract.files.filesystem import Store
from stateextract.files.reader import Reader
from stateextract.snapshot.describe_contexts import read_classes

HERE = Path(__file__).parent
JAR = HERE / "zoo.jar"
SCALA_JAR = HERE / "scala-zoo.jar"
FLAVOURS = (2, 5)

_ENTRIES: list[dict[str, Any]] = [
    {"name": "K$E", "constants": ["A", "B", "C"]},
    {"name": "K$C1", "fields": {"v": "int"}},
    {"name": "K$H", "fields": {"a": "java.lang.String", "b": "java.lang.String"}},
    {
        "name": "K$G",
        "fields": {
            "x": "int", "s": "java.lang.String", "l": "java.util.List<java.lang.String>", "o": "java.lang.Object",
            "big": "long", "dd": "double", "boxed": "java.lang.Integer", "nul": "java.lang.Integer",
            "t": "boolean", "sh": "short", "ch": "char", "by": "byte", "fl": "float", "arr": "int[]", "e": "K$E",
            "ns": "java.lang.String",
        },
    },
    {
        "name": "zoo.LibraryVectors$Lines",
        "fields": {
            "words": "com.google.common.collect.ImmutableList<java.lang.String>", "view": "java.util.List<java.lang.String>",
            "at": "org.joda.time.DateTime", "day": "org.joda.time.LocalDate",
        },
    },
    {"name": "org.joda.time.DateTime", "final": True},
    {"name": "org.joda.time.LocalDate", "final": True},
]  # fmt: skip
BY_HAND = ClassModels.of(map(class_model, _ENTRIES))
"""The classes of the vectors that were written before this project."""


@dataclass(frozen=True)
class Vector:
    flavour: int
    name: str
    declared: str
    expected: str
    data: bytes
    snapshot: SerializerSnapshot
    chill: bool = False

    def __str__(self) -> str:
        return f"{self.flavour} {self.name}"

    def kryo(self, models: ClassModels) -> Kryo:
        found = registrations(self.snapshot, self.flavour, chill=self.chill)  # type: ignore[arg-type]
        return kryo_of(self.flavour, found, models, self.chill)  # type: ignore[arg-type]


def snapshot_of(declared: str, defaults: Mapping[str, str] = MappingProxyType({})) -> SerializerSnapshot:
    """A snapshot that registers nothing but the declared class; :param defaults: serializers by class."""
    entries = tuple((name, len(value).to_bytes(2, "big") + value.encode()) for name, value in defaults.items())
    details = {"class": declared, "registrations": ((declared, b""),), "default_serializer_classes": entries}
    return SerializerSnapshot(KRYO_SNAPSHOT, 2, details=details)


def vectors(stem: str) -> list[Vector]:
    """Those of both flavours; only what is called after Scala was written with flink-scala."""
    found = []
    for flavour in FLAVOURS:
        path = HERE / f"{stem}{flavour}.txt"
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            name, declared, expected, data, *rest = line.split("\t")
            snapshot = read_snapshot(Reader(bytes.fromhex(rest[0]))) if rest and rest[0] else snapshot_of(declared)
            found.append(Vector(flavour, name, declared, expected, bytes.fromhex(data), snapshot, stem == "scala"))
    return found


@cache
def models(jar: Path = JAR) -> ClassModels:
    """The classes in a jar."""
    return ClassModels.of(read_classes(str(jar), Store()))
