"""The classes of a job: what a class path has, class by class.

A jar's table of contents is read at once, and class files only as they are asked for, so a large jar costs little. Nothing
is executed. Classes of Java, Scala, Flink and Avro are taken to be there.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import filterfalse
from pathlib import Path
from typing import Final

from serializers.classes import ClassModel
from serializers.classfile import MAX_BYTES, ClassShape, read_shape
from serializers.javatypes import PRIMITIVES, parse_type
from stateextract.errors import FormatError, StateExtractError, UnreadableFileError
from stateextract.files.filesystem import Store

MAX_CLASSES: Final = 400_000
_MAX_JAR: Final = 1 << 31
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


_LOCAL_HEADER: Final = struct.Struct("<26xHH")


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
        self._sources: dict[str, tuple[str, Callable[[], bytes]]] = {}
        self._shapes: dict[str, ClassShape | None] = {}
        for location in locations:
            for name, read in _contents(location, store):
                self._sources.setdefault(name, (location, read))
                if len(self._sources) > MAX_CLASSES:
                    raise FormatError(f"more than {MAX_CLASSES} classes", file=location)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def has(self, name: str) -> bool:
        """Whether the class, or the class of the array's elements, can be loaded."""
        if name.startswith("["):
            name = name.lstrip("[")
            if not name.startswith("L"):
                return True  # an array of primitives
            name = name.removeprefix("L").removesuffix(";")
        return is_library(name) or name in PRIMITIVES or name in self._sources

    def shape(self, name: str) -> ClassShape | None:
        """The class of this name, if the class path has it."""
        if name not in self._shapes:
            self._shapes[name] = self._read(name)
        return self._shapes[name]

    def model(self, name: str) -> ClassModel | None:
        """Its model."""
        shape = self.shape(name)
        return None if shape is None else shape.model

    def with_marks(self, first: bytes, marks: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
        """The job's own classes whose files have the first of these bytes and one of the others, and then those that are
        nested with one of them; those that cannot be read have no bytes."""
        outermost, others = set[str](), []
        for name in filterfalse(is_library, self._sources):
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
            return self._sources[name][1]()
        except (OSError, zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError):
            return b""

    def _read(self, name: str) -> ClassShape | None:
        if name not in self._sources:
            return None
        location, read = self._sources[name]
        where = f"{location}!/{name}"
        try:
            return read_shape(read())
        except StateExtractError as error:
            raise error.at(file=where) from None
        except OSError as error:
            raise UnreadableFileError(f"the class cannot be read: {error.strerror}", file=where) from None
        except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError) as error:
            raise FormatError(f"the class cannot be read: {error}", file=where) from None

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


def _contents(location: str, store: Store) -> Iterator[tuple[str, Callable[[], bytes]]]:
    folder = Path(location)
    if "://" not in location and folder.is_dir():
        for path in sorted(folder.rglob("*.class")):
            yield _class_name(str(path.relative_to(folder))), path.read_bytes
        return
    size = store.size(location)
    if size > _MAX_JAR:
        raise FormatError(f"a jar of {size} bytes", expected=f"at most {_MAX_JAR}", file=location)
    data = memoryview(store.read(location))
    try:
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise FormatError(f"the jar cannot be read: {error}", file=location) from None

    for entry in entries:
        # Classes for later versions of Java are in the same jar as those for all.
        if entry.filename.endswith(".class") and not entry.filename.startswith("META-INF/"):
            yield _class_name(entry.filename), partial(_entry, data, entry)


def _entry(jar: memoryview, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry. ``zipfile`` reads it in small pieces, which takes three times as long for a whole jar."""
    head = jar[entry.header_offset : entry.header_offset + _LOCAL_HEADER.size]
    name, extra = _LOCAL_HEADER.unpack(head)
    start = entry.header_offset + _LOCAL_HEADER.size + name + extra
    raw = jar[start : start + entry.compress_size]
    if entry.compress_type == zipfile.ZIP_STORED:
        found = bytes(raw[: MAX_BYTES + 1])
    elif entry.compress_type == zipfile.ZIP_DEFLATED:
        found = zlib.decompressobj(-zlib.MAX_WBITS).decompress(
            raw, MAX_BYTES + 1
        )  # the size in the directory is a claim
    else:
        raise NotImplementedError(f"compression method {entry.compress_type}")
    if len(found) <= MAX_BYTES and zlib.crc32(found) != entry.CRC:
        raise zipfile.BadZipFile("the checksum of the entry is wrong")
    return found


def _class_name(path: str) -> str:
    return path.removesuffix(".class").replace("\\", "/").replace("/", ".")
