"""The classes of a job: what a class path has, class by class.

Class files are read only when they are asked for. Classes of Java, Scala, Flink and Avro are taken to be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import filterfalse
from typing import Final

from serializers.classes import ClassModel
from serializers.classfile import ClassShape, read_shape
from serializers.javatypes import PRIMITIVES, parse_type
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.filesystem import Store
from stateextract.snapshot.class_path import UnreadClass, class_files

MAX_CLASSES: Final = 400_000
_MAX_LINEAGE: Final = 100

_LIBRARIES: Final = (
    "java.",
    "javax.",
    "scala.",
    "kotlin.",
    "org.apache.flink.",
    "org.apache.avro.",
    "com.twitter.chill.",
)


def is_library(name: str) -> bool:
    """Whether the class comes with Java, Scala, Flink or Avro."""
    return name.startswith(_LIBRARIES)


class JobClasses:
    """The classes of one class path, the first of a name first.

    :param locations: jars and folders of class files.
    :raises StateExtractError: where one cannot be read.
    """

    def __init__(self, locations: Sequence[str], store: Store) -> None:
        self.locations = tuple(locations)
        self._files: dict[str, tuple[str, UnreadClass]] = {}
        self._shapes: dict[str, ClassShape | None] = {}
        for location in locations:
            for file in class_files(location, store):
                self._files.setdefault(file.class_name, (location, file))
                if len(self._files) > MAX_CLASSES:
                    raise FormatError(f"more than {MAX_CLASSES} classes", file=location)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def has(self, name: str) -> bool:
        """Whether the class, or the class of the array's elements, can be loaded."""
        if name.startswith("["):
            name = name.lstrip("[")
            if not name.startswith("L"):
                return True  # an array of primitives
            name = name.removeprefix("L").removesuffix(";")
        return is_library(name) or name in PRIMITIVES or name in self._files

    def shape(self, name: str) -> ClassShape | None:
        """The class of this name, if the class path has it."""
        if name not in self._shapes:
            self._shapes[name] = self._read(name)
        return self._shapes[name]

    def model(self, name: str) -> ClassModel | None:
        shape = self.shape(name)
        return None if shape is None else shape.model

    def with_marks(self, first: bytes, marks: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
        """The job's own classes whose files have the first of these bytes and one of the others, and then those that are
        nested with one of them; those that cannot be read have no bytes."""
        outermost, others = set[str](), []
        for name in filterfalse(is_library, self._files):
            data = self._bytes(name)
            if not data or (first in data and any(mark in data for mark in marks)):
                outermost.add(name.partition("$")[0])
                yield name, data
            else:
                others.append(name)
        for name in others:
            if name.partition("$")[0] in outermost:
                yield name, self._bytes(name)

    def _bytes(self, name: str) -> bytes:
        try:
            return self._files[name][1].read()
        except StateExtractError:
            return b""

    def _read(self, name: str) -> ClassShape | None:
        if name not in self._files:
            return None
        location, file = self._files[name]
        try:
            return read_shape(file.read())
        except StateExtractError as error:
            raise error.at(file=f"{location}!/{name}") from None

    def lineage(self, name: str) -> list[ClassShape] | None:
        """The class and its superclasses, up to those of Java; ``None`` where one of them is missing."""
        found: list[ClassShape] = []
        while True:
            shape = self.shape(name)
            if shape is None or len(found) > _MAX_LINEAGE:
                return None
            found.append(shape)
            superclass = shape.model.superclass
            name = "java.lang.Object" if superclass is None else parse_type(superclass).name
            if name in ("java.lang.Object", "java.lang.Record", "java.lang.Enum"):
                return found
