"""The bytes of stream handles: files, windows of merged files, inline bytes.

A :class:`DatabaseFile` is what the readers of databases and changelogs open for each handle; :class:`Inline` and
:class:`FileRange` are two ready ones, and :class:`Opener` is the function for a located snapshot. Does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from stateextract.errors import StateExtractError, TruncatedError
from stateextract.files.filesystem import OpenFile
from stateextract.files.prefetch import FilePrefetcher, PrefetchRequest
from stateextract.files.second_thread import done
from stateextract.metadata.locate import Location, Locator
from stateextract.metadata.model import StreamHandle


class DatabaseFile(Protocol):
    """The bytes of one stream handle.

    ``uri`` and ``start`` say, for errors, which physical file they lie in and where they begin there.
    """

    @property
    def uri(self) -> str: ...

    @property
    def start(self) -> int: ...

    @property
    def remote(self) -> bool:
        """A read takes long to begin, so several should be under way at once."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes from ``offset`` on, fewer only at the end."""

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        """As :meth:`read_at`, without waiting for it."""

    def size(self) -> int: ...

    def close(self) -> None: ...


OpenHandle = Callable[[StreamHandle], DatabaseFile]


class Inline:
    """Bytes that are in memory."""

    remote = False

    def __init__(self, data: bytes, uri: str, start: int = 0) -> None:
        self.data = data
        self.uri = uri
        self.start = start

    def read_at(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        return done(lambda: self.read_at(offset, length))

    def size(self) -> int:
        return len(self.data)

    def close(self) -> None:
        pass


class FileRange:
    """``length`` bytes of an open file from ``start`` on."""

    def __init__(self, file: OpenFile, uri: str, start: int, length: int) -> None:
        self.file = file
        self.uri = uri
        self.start = start
        self.length = length
        self.remote = file.remote

    def read_at(self, offset: int, length: int) -> bytes:
        return self.file.read_at(self.start + offset, max(min(length, self.length - offset), 0))

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        return self.file.start_read(self.start + offset, max(min(length, self.length - offset), 0))

    def size(self) -> int:
        return self.length

    def close(self) -> None:
        self.file.close()


class Opener:
    """Opens stream handles of a located snapshot.

    :param inside: URI of the file that holds inline bytes: ``_metadata``.
    :param exact_size: False for changelog files, whose handles state another size than the file has.
    """

    def __init__(self, locator: Locator, files: FilePrefetcher, inside: str = "", *, exact_size: bool = True) -> None:
        self._locator = locator
        self._files = files
        self._inside = inside
        self._exact_size = exact_size

    def __call__(self, handle: StreamHandle) -> DatabaseFile:
        location = self._locator.locate(handle, exact_size=self._exact_size)
        if location.uri is None:
            return Inline(location.inline or b"", self._inside)
        return FileRange(self._files.open(location.uri), location.uri, location.start, location.size)

    def coming(self, handle: StreamHandle, last: int) -> PrefetchRequest | None:
        """The file of a handle that will be opened, of which so many of the last bytes are read first.

        :returns: ``None`` for bytes inside of ``_metadata``, and for what is not there: that is reported when it is opened.
        """
        try:
            location = self._locator.locate(handle, exact_size=self._exact_size)
        except StateExtractError:
            return None
        end = location.start + location.size
        return None if location.uri is None else PrefetchRequest(location.uri, [(end - min(last, location.size), end)])

    def identify(self, handle: StreamHandle) -> tuple[str | bytes, int, int]:
        """The physical file of a handle and where its bytes lie there, or the bytes of an inline one."""
        return identity_of(self._locator.locate(handle, exact_size=self._exact_size))

    def expect(self, handle: StreamHandle, last: int) -> Callable[[], None] | None:
        """Have the file of a handle opened in the background, and its last bytes read.

        :returns: what forgets it, if it is not opened after all; ``None``: files are local, and opened in their turn.
        """
        file = self.coming(handle, last)
        if file is None:
            return nothing
        expected = self._files.expect(file)
        return None if expected is None else partial(self._files.forget, expected)


def nothing() -> None:
    """There is nothing to forget."""


def identity_of(location: Location) -> tuple[str | bytes, int, int]:
    """Equal for the same bytes of the same file, and for equal inline bytes."""
    return location.inline or b"" if location.uri is None else location.uri, location.start, location.size


IdentifyHandle = Callable[[StreamHandle], tuple[str | bytes, int, int]]
"""As :meth:`Opener.identify`."""

ExpectHandle = Callable[[StreamHandle, int], "Callable[[], None] | None"]
"""As :meth:`Opener.expect`."""


@contextmanager
def errors_of(file: DatabaseFile, name: str) -> Iterator[None]:
    """Errors raised inside are about this file; positions in it become positions in the physical file.

    :param name: its local name, for files without a URI of their own.
    """
    try:
        yield
    except StateExtractError as error:
        if error.file is None:
            if error.offset is not None:
                error.offset += file.start
            error.at(file=f"{file.uri} ({name})" if file.uri else name)
        raise


def read_exactly(file: DatabaseFile, offset: int, length: int) -> bytes:
    """``length`` bytes, which the caller knows to lie below the file's stated size."""
    data = file.read_at(offset, length)
    if len(data) != length:
        raise TruncatedError(
            f"the file ends {length - len(data)} bytes early", expected=f"{length} bytes", offset=offset
        )
    return data
