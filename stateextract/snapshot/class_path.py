"""The class files of a class path.

A jar's table of contents is read at once, and a class file only when it is asked for, so a large jar costs little. Nothing
is executed.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from serializers.classfile import MAX_BYTES
from stateextract.errors import FormatError, UnreadableFileError
from stateextract.files.filesystem import Store

_MAX_JAR: Final = 1 << 31
_LOCAL_HEADER: Final = struct.Struct("<26xHH")


@dataclass(frozen=True)
class UnreadClass:
    """A class file, not read yet. :param path: inside the jar or the folder."""

    path: str
    _bytes: Callable[[], bytes]

    @property
    def class_name(self) -> str:
        """``com.example.Order``."""
        return self.path.removesuffix(".class").replace("\\", "/").replace("/", ".")

    def read(self) -> bytes:
        """Its bytes; more than ``MAX_BYTES`` where it is too large to be read.

        :raises StateExtractError: without the file's name.
        """
        try:
            return self._bytes()
        except OSError as error:
            raise UnreadableFileError(f"the class cannot be read: {error.strerror}") from None
        except (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError) as error:
            raise FormatError(f"the class cannot be read: {error}") from None


def class_files(location: str, store: Store) -> Iterator[UnreadClass]:
    """The class files of a jar or a folder.

    :param location: a path, or a URI that the store opens (jars only).
    :raises StateExtractError: with the jar.
    """
    folder = Path(location)
    if "://" not in location and folder.is_dir():
        for path in sorted(folder.rglob("*.class")):
            yield UnreadClass(str(path.relative_to(folder)), partial(_head, path))
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
            yield UnreadClass(entry.filename, partial(_entry, data, entry))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _entry(jar: memoryview, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry. ``zipfile`` reads it in small pieces, which takes three times as long for a whole jar."""
    head = jar[entry.header_offset : entry.header_offset + _LOCAL_HEADER.size]
    name, extra = _LOCAL_HEADER.unpack(head)
    start = entry.header_offset + _LOCAL_HEADER.size + name + extra
    raw = jar[start : start + entry.compress_size]
    if entry.compress_type == zipfile.ZIP_STORED:
        found = bytes(raw[: MAX_BYTES + 1])
    elif entry.compress_type == zipfile.ZIP_DEFLATED:
        # The size in the table of contents is a claim.
        found = zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, MAX_BYTES + 1)
    else:
        raise NotImplementedError(f"compression method {entry.compress_type}")
    if len(found) <= MAX_BYTES and zlib.crc32(found) != entry.CRC:
        raise zipfile.BadZipFile("the checksum of the entry is wrong")
    return found
